/* SPDX-License-Identifier: Apache-2.0 */

/* Starts a command: the shim's part from the fork to the exec. */

#include "agent/launch/shim.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Waits until the command runs. The exec closes the channel, so an end-of-file without a message means success. */
static int wait_for_exec(const struct nm_shim_spec *spec, int report_fd, pid_t pid, int *ret_error)
{
    struct nm_shim_failure f = {.stage = NM_LAUNCH_STAGE_COUNT};
    ssize_t n;

    do {
        n = read(report_fd, &f, sizeof f);
        if (n == sizeof f && f.stage == NM_LAUNCH_STAGE_NONE) {
            nm_shim_namespaces_hold(pid, spec->terms.private_ipc);
            if (nm_shim_confine_child(report_fd, pid) < 0) /* the child must not wait forever */
                (void)shutdown(report_fd, SHUT_WR);
        }
    } while (n < 0 ? errno == EINTR : n == sizeof f && f.stage == NM_LAUNCH_STAGE_NONE);
    if (n == 0)
        return NM_LAUNCH_STAGE_NONE;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *ret_error = n == sizeof f ? f.error : EIO;
    return n == sizeof f ? f.stage : NM_LAUNCH_STAGE_SHIM;
}

static int start(const struct nm_shim_spec *spec, const struct nm_shim_stdio *io, pid_t *ret_pid, int *ret_error)
{
    int report[2], stage;
    pid_t self = getpid(), pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0) {
        *ret_error = errno;
        return NM_LAUNCH_STAGE_SHIM;
    }
    pid = fork();
    if (pid == 0)
        nm_shim_child(spec, io, report[1], self);
    *ret_error = errno;
    (void)close(report[1]);
    stage = pid < 0 ? NM_LAUNCH_STAGE_SHIM : wait_for_exec(spec, report[0], pid, ret_error);
    (void)close(report[0]);
    *ret_pid = pid;
    return stage;
}

int nm_shim_start(const struct nm_shim_spec *spec, const struct nm_shim_stdio *io, pid_t *ret_pid, int *ret_error)
{
    int stage = start(spec, io, ret_pid, ret_error);

    for (int i = 0; i < 3; i++)
        if (io->fd[i] >= 0 && !(i > 0 && io->fd[i] == io->fd[i - 1]))
            (void)close(io->fd[i]);
    for (int i = 0; io->namespaces && i < NM_SHIM_N_NAMESPACES; i++)
        if (io->namespaces[i] >= 0)
            (void)close(io->namespaces[i]);
    return stage;
}

/* Drops all other capabilities; from here on the shim only waits and writes. */
void nm_shim_drop_capabilities(uint32_t keep)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {0};

    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (keep != 0)
        (void)syscall(SYS_capget, &head, caps);
    for (size_t i = 0; i < NM_ARRAY_SIZE(caps); i++) {
        caps[i].inheritable = 0;
        caps[i].effective = caps[i].permitted &= i == 0 ? keep : 0;
    }
    (void)syscall(SYS_capset, &head, caps);
}
