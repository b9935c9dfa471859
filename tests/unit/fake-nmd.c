/* SPDX-License-Identifier: Apache-2.0 */

/* See fake-nmd.h. Each server is a child process, and a grandchild serves each connection, so that
 * a client may hold several connections open. */

#include "fake-nmd.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "util/clock.h"
#include "util/macros.h"

#define DEADLINE_USEC (60 * NM_USEC_PER_SEC)

/* Returns whether the headers and Content-Length bytes of body have been received. */
static bool request_is_whole(const char *buf, size_t len)
{
    const char *end = strstr(buf, "\r\n\r\n"), *length = strstr(buf, "Content-Length: ");

    if (!end)
        return false;
    return !length || len >= (size_t)(end + 4 - buf) + strtoul(length + 16, NULL, 10);
}

static void send_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);
        if (sent <= 0)
            _exit(0); /* the client has closed the connection */
        data += sent;
        n -= (size_t)sent;
    }
}

static void wait_until_read(int fd)
{
    uint64_t end = nm_now_usec() + DEADLINE_USEC;
    int unread = 1;

    while (unread > 0 && nm_now_usec() < end) {
        if (ioctl(fd, SIOCOUTQ, &unread) < 0)
            break;
        sched_yield();
    }
}

static void serve(int fd, const struct fake_exchange *x, size_t n, size_t split)
{
    static char request[1 << 20];
    char refusal[1024];
    const struct fake_exchange *found = NULL;
    const char *reply = refusal;
    size_t len = 0;

    request[0] = '\0';
    while (!request_is_whole(request, len)) {
        ssize_t got = recv(fd, request + len, sizeof request - 1 - len, 0);
        if (got <= 0)
            return;
        len += (size_t)got;
        request[len] = '\0';
    }
    for (size_t i = 0; i < n && !found; i++)
        if (strncmp(request, x[i].request, strlen(x[i].request)) == 0 &&
            (!x[i].body || strstr(request, x[i].body)))
            found = &x[i];
    (void)snprintf(refusal, sizeof refusal, "HTTP/1.1 400 Bad\r\n\r\nunexpected: %.800s", request);
    if (found && !found->reply) {
        while (recv(fd, request, sizeof request, 0) > 0)
            ;
        return;
    }
    if (found)
        reply = found->reply;
    len = strlen(reply);
    split = NM_MIN(split, len);
    if (split > 0) {
        send_all(fd, reply, split);
        wait_until_read(fd);
    }
    send_all(fd, reply + split, len - split);
}

static void listen_and_serve(int listener, const struct fake_exchange *x, size_t n, size_t split)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            _exit(1);
        if (fork() == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a child does not inherit this setting */
            serve(fd, x, n, split);
            _exit(0);
        }
        (void)close(fd);
    }
}

void fake_nmd_start(struct fake_nmd *f, const struct fake_exchange *x, size_t n, size_t split)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(f->dir, sizeof f->dir, "/tmp/fake-nmd-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->path, sizeof f->path, "%s/nmd.sock", f->dir);
    (void)snprintf(addr.sun_path, sizeof addr.sun_path, "%s", f->path);
    assert_return_code(bind(listener, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_return_code(listen(listener, 16), 0);
    f->pid = fork();
    assert_true(f->pid >= 0);
    if (f->pid == 0)
        listen_and_serve(listener, x, n, split);
    (void)close(listener);
}

void fake_nmd_stop(struct fake_nmd *f)
{
    (void)kill(f->pid, SIGKILL);
    (void)waitpid(f->pid, NULL, 0);
    (void)unlink(f->path);
    (void)rmdir(f->dir);
}
