/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The namespaces of a running container (agent/launch/shim-confine.c creates them).
 *
 * A session in the container enters the same namespaces. Otherwise the session's processes and the container's
 * processes could not trace each other (jstack, debuggers). The session gets the namespaces from the container's shim,
 * which has opened them before its child's exec. The session must not use the present namespaces of the command,
 * because the command may have created others: the creator of a user namespace has all capabilities in it, and so could
 * control root's process that enters the namespace.
 */

#include "shim/shim-internal.h"

#include <linux/magic.h>
#include <sched.h>
#include <sys/vfs.h>

#include "util/fileio.h"

void nm_shim_namespaces_retain(pid_t pid, bool private_ipc)
{
    static const char *const names[NM_SHIM_N_NAMESPACES] = {"user", "mnt", "ipc"};

    for (int i = 0; i < NM_SHIM_N_NAMESPACES - !private_ipc; i++) {
        _cleanup_close_ int fd = -EBADF;
        char path[40];

        (void)snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, names[i]);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            (void)dup3(fd, NM_SHIM_FD_NAMESPACES + i, O_CLOEXEC);
    }
}

/* Opens a namespace that the shim keeps open. The new descriptor's number is above the numbers that a shim's child
 * uses. */
static int open_namespace(pid_t shim_pid, int number)
{
    _cleanup_close_ int fd = -EBADF;
    struct statfs st;
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)shim_pid, number);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    if (fstatfs(fd, &st) < 0 || st.f_type != NSFS_MAGIC)
        return -EBADF;
    return RET_NERRNO(fcntl(fd, F_DUPFD_CLOEXEC, NM_SHIM_FD_NAMESPACES));
}

/* Opens the namespaces. The pid may have been reused, so the shim's pidfd is checked afterwards: if the shim has not
 * exited, all files were those of the shim. */
int nm_shim_namespaces_find(pid_t shim_pid, int shim_pidfd, int ret[NM_SHIM_N_NAMESPACES])
{
    struct pollfd p = {.fd = shim_pidfd, .events = POLLIN};
    int fds[NM_SHIM_N_NAMESPACES], r = 0;

    for (int i = 0; i < NM_SHIM_N_NAMESPACES; i++)
        fds[i] = open_namespace(shim_pid, NM_SHIM_FD_NAMESPACES + i);
    if (poll(&p, 1, 0) != 0)
        r = -ESRCH;
    else if (fds[0] < 0 || fds[1] < 0)
        r = fds[0] < 0 ? fds[0] : fds[1];
    for (int i = 0; i < NM_SHIM_N_NAMESPACES; i++)
        if (r < 0)
            (void)nm_close(fds[i]);
        else
            ret[i] = fds[i];
    return r;
}

/* Enters the user namespace first, because this gives the process the capability to enter the other namespaces.
 * become() in shim-child.c drops the capability. */
int nm_shim_join(const int namespaces[NM_SHIM_N_NAMESPACES])
{
    static const int kinds[NM_SHIM_N_NAMESPACES] = {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWIPC};

    for (int i = 0; i < NM_SHIM_N_NAMESPACES; i++) {
        if (fcntl(namespaces[i], F_GETFD) < 0 && i == NM_SHIM_N_NAMESPACES - 1)
            continue; /* the container has no separate IPC namespace */
        if (setns(namespaces[i], kinds[i]) < 0)
            return -errno;
    }
    return 0;
}
