/* SPDX-License-Identifier: Apache-2.0 */

/* See resolve.h. The child process writes its result to a pipe with a single write(). */

#include "yarn/resolve.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "util/fileio.h"
#include "util/inherited.h"

#define PATIENCE_SEC 30

struct nm_resolve {
    nm_resolve_cb_t cb;
    void *userdata;
    sd_event_source *child;
    int fd;
};

_Static_assert(sizeof(struct nm_resolved) <= PIPE_BUF, "an answer goes through a pipe at once");

struct nm_resolve *nm_resolve_free(struct nm_resolve *r)
{
    if (!r)
        return NULL;
    sd_event_source_disable_unref(r->child); /* kills the child process */
    (void)nm_close(r->fd);
    free(r);
    return NULL;
}

/* ---- in the child ------------------------------------------------------------------------- */

static void take_address(struct nm_resolved *r, const struct addrinfo *a, uint16_t port)
{
    struct sockaddr_storage *to = &r->addresses[r->n];

    if (r->n == NM_RESOLVED_MAX || (a->ai_family != AF_INET && a->ai_family != AF_INET6))
        return;
    (void)memcpy(to, a->ai_addr, a->ai_addrlen);
    if (a->ai_family == AF_INET)
        ((struct sockaddr_in *)to)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)to)->sin6_port = htons(port);
    r->sizes[r->n++] = a->ai_addrlen;
}

static void ask(const char *host, uint16_t port, struct nm_resolved *r)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME};
    struct addrinfo *list = NULL;
    char own[HOST_NAME_MAX + 1] = "localhost";

    if (!host) {
        (void)gethostname(own, sizeof own);
        own[sizeof own - 1] = '\0';
    }
    (void)snprintf(r->name, sizeof r->name, "%s", host ?: own);
    r->error = getaddrinfo(host ?: own, NULL, &hints, &list);
    if (r->error == 0 && list && list->ai_canonname)
        (void)snprintf(r->name, sizeof r->name, "%s", list->ai_canonname);
    for (const struct addrinfo *a = r->error == 0 ? list : NULL; a; a = a->ai_next)
        take_address(r, a, port);
    if (list)
        freeaddrinfo(list);
}

/* Does the lookup in the child process. The child process must close all of nmd's descriptors, since a lock that is
 * held after nmd's exit would prevent the next nmd from starting. */
static _Noreturn void work(pid_t nmd, const char *host, uint16_t port, int fd)
{
    struct nm_resolved r = {};
    sigset_t none;

    nm_inherited_end_with(nmd);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(fd, STDERR_FILENO + 1) < 0)
        _exit(1);
    nm_closefrom(STDERR_FILENO + 2);
    (void)alarm(PATIENCE_SEC);
    ask(host, port, &r);
    _exit(nm_write_all(STDERR_FILENO + 1, (const char *)&r, sizeof r) < 0);
}

/* ---- in nmd ------------------------------------------------------------------------------- */

static int on_exit_of_child(sd_event_source *source, const siginfo_t *si, void *userdata)
{
    struct nm_resolved answer;
    struct nm_resolve *r = userdata;

    (void)source, (void)si;
    if (read(r->fd, &answer, sizeof answer) != sizeof answer)
        answer = (struct nm_resolved){.error = EAI_AGAIN};
    r->child = sd_event_source_disable_unref(r->child);
    r->cb(&answer, r->userdata);
    return 0;
}

int nm_resolve_new(sd_event *event, const char *host, uint16_t port, nm_resolve_cb_t cb, void *userdata,
                   struct nm_resolve **ret)
{
    _cleanup_(nm_resolve_freep) struct nm_resolve *r = calloc(1, sizeof *r);
    _cleanup_close_ int write_end = -EBADF;
    const pid_t self = getpid();
    int fds[2], error;
    pid_t pid;

    if (!r)
        return -ENOMEM;
    *r = (struct nm_resolve){.cb = cb, .userdata = userdata, .fd = -EBADF};
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    r->fd = fds[0];
    write_end = fds[1];
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        work(self, host, port, write_end);
    error = sd_event_add_child(event, &r->child, pid, WEXITED, on_exit_of_child, r);
    if (error >= 0)
        error = sd_event_source_set_child_process_own(r->child, true);
    if (error < 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return error;
    }
    *ret = STEAL_PTR(r);
    return 0;
}
