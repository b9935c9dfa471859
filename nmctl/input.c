/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See input.h. Reading a terminal or pipe may block forever, while the parent polls three other descriptors. Therefore
 * a child process reads the input. The child process ends with its parent. The connection is then closed, which ends
 * the command's input.
 */

#include "nmctl/input.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "util/error.h"
#include "util/frame.h"
#include "util/inherited.h"

static int send_all(int fd, const struct nm_frame *f)
{
    for (size_t sent = 0; sent < f->len;) {
        ssize_t n = send(fd, f->data + sent, f->len - sent, MSG_NOSIGNAL);
        struct pollfd p = {.fd = fd, .events = POLLOUT};

        if (n >= 0)
            sent += (size_t)n;
        else if (errno == EAGAIN)
            (void)poll(&p, 1, -1);
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

/* Waits until the shim has acknowledged the last input. */
static int wait_until_taken(int fd)
{
    struct nm_frame f = {0};
    int r = 0;

    while (r == 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t n = recv(fd, f.data + f.len, nm_frame_wants(&f), 0);

        if (n > 0)
            r = nm_frame_took(&f, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            (void)poll(&p, 1, -1);
        else if (n == 0 || errno != EINTR)
            return -ECONNRESET;
    }
    return r == NM_FRAME_E_WHOLE && nm_frame_type(&f) == NM_FRAME_TAKEN ? 0 : -EBADMSG;
}

static _Noreturn void pass_on(int fd)
{
    static struct nm_frame f;
    ssize_t n;

    do {
        do
            n = read(STDIN_FILENO, f.data + NM_FRAME_HEAD, NM_FRAME_MAX);
        while (n < 0 && errno == EINTR);
        nm_frame_make(&f, NM_FRAME_INPUT, n > 0 ? (size_t)n : 0);
    } while (send_all(fd, &f) == 0 && n > 0 && wait_until_taken(fd) == 0);
    _exit(0);
}

/* Starts the child process. The signals that the parent handles are blocked in the parent and stay blocked in the
 * child. */
pid_t nm_input_start(int fd)
{
    pid_t parent = getpid(), pid = fork();

    if (pid == 0) {
        nm_inherited_end_with(parent);
        pass_on(fd);
    }
    return pid < 0 ? -errno : pid;
}

void nm_input_stop(pid_t pid)
{
    if (pid <= 0)
        return;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
