/* SPDX-License-Identifier: Apache-2.0 */

/* The shim's ends of the pipes or of the terminal that are the command's standard descriptors, and the reaping of the
 * shim's children. */

#include "shim/shim-internal.h"

#include <assert.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

/* Gives a pipe or terminal to the command's user, because the command may open it again by its name (/dev/stdout). */
static int give(const struct nm_shim_spec *spec, int fd)
{
    if (geteuid() == spec->uid && getegid() == spec->gid)
        return 0;
    return RET_NERRNO(fchown(fd, spec->uid, spec->gid));
}

int nm_shim_pipe_open(const struct nm_shim_spec *spec, int ours, int *ret_ours, int *ret_other)
{
    int ends[2], r;

    assert(ours == 0 || ours == 1);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    r = give(spec, ends[!ours]);
    if (r == 0)
        r = RET_NERRNO(fcntl(ends[ours], F_SETFL, O_NONBLOCK));
    if (r < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return r;
    }
    *ret_ours = ends[ours];
    *ret_other = ends[!ours];
    return 0;
}

/* Opens the user's side through the other side and not by its name in /dev/pts, which may be another instance's. */
int nm_shim_terminal_open(const struct nm_shim_spec *spec, int *ret_master, int *ret_slave)
{
    _cleanup_close_ int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK), slave = -EBADF;
    int locked = 0, r;

    if (master < 0 || ioctl(master, TIOCSPTLCK, &locked) < 0)
        return -errno;
    slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        return -errno;
    r = give(spec, slave);
    if (r < 0)
        return r;
    nm_shim_terminal_resize(master, spec->options.rows, spec->options.columns);
    *ret_master = STEAL_FD(master);
    *ret_slave = STEAL_FD(slave);
    return 0;
}

void nm_shim_terminal_resize(int master, uint16_t rows, uint16_t columns)
{
    const struct winsize w = {.ws_row = rows, .ws_col = columns};

    (void)ioctl(master, TIOCSWINSZ, &w);
}

int nm_shim_reap(pid_t pid, int *ret_status, struct rusage *ret_usage)
{
    for (;;) {
        int status;
        struct rusage usage;
        pid_t p = wait4(-1, &status, WNOHANG, &usage);

        if (p == pid) {
            *ret_status = status;
            *ret_usage = usage;
            return 1;
        }
        if (p <= 0)
            return p == 0 ? 0 : -errno;
    }
}

int nm_shim_children_open(void)
{
    sigset_t mask;

    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD); /* already blocked, like all other signals */
    return RET_NERRNO(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
}

/* Consumes the signal. One signal may stand for several ended children. */
void nm_shim_children_drain(int fd)
{
    struct signalfd_siginfo si;

    while (read(fd, &si, sizeof si) > 0)
        ;
}
