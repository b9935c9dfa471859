/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests whether containers can have separate namespaces on this host. User namespaces may be disabled
 * (user.max_user_namespaces = 0), nmd may run in a container whose seccomp filter refuses them, or nmd may lack a
 * capability. The test is one run of the code that confines containers.
 */

#include "agent/launch/launch.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "agent/launch/shim.h"
#include "util/fault.h"
#include "util/fileio.h"
#include "util/inherited.h"

/* Runs the test in the child. The child closes nmd's end of the channel. With this end open, the child would never read
 * end-of-file, and would wait forever if nmd was killed. */
static _Noreturn void try_in_child(int channel, int nmds_end, pid_t nmd)
{
    (void)close(nmds_end);
    nm_inherited_end_with(nmd);
    _exit(-nm_shim_confine(channel, true) & 0xff);
}

static int serve(int channel, pid_t pid)
{
    struct nm_shim_failure request;
    int status;

    if (read(channel, &request, sizeof request) == sizeof request)
        (void)nm_shim_confine_child(channel, pid);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

int nm_launch_probe_confinement(void)
{
    _cleanup_close_ int ours = -EBADF;
    const pid_t self = getpid();
    int pair[2];
    pid_t pid;

    if (geteuid() != 0)
        return -EPERM;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    ours = pair[0];
    pid = fork();
    if (pid == 0)
        try_in_child(pair[1], ours, self);
    NM_FAULT("confinement-tried");
    (void)close(pair[1]);
    return pid < 0 ? -errno : serve(ours, pid);
}

const char *nm_launch_no_confinement(int error)
{
    assert(error < 0);
    switch (-error) {
    case EPERM:
        return "the kernel refuses user namespaces to nmd, as it does in a chroot";
    case ENOSPC:
        return "user.max_user_namespaces is 0 or used up";
    case EINVAL:
    case ENOSYS:
        return "this kernel has no user namespaces";
    default:
        return strerror(-error);
    }
}
