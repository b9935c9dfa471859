/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The spawner: creates the shims of nmd, as nmd's children. A fork copies the page tables of the process, and then both
 * processes copy each page that they write. For nmd, with its libraries and its heap, this was more than a third of a
 * launch. The spawner is a static program without a heap. It stays in nmd's cgroup with nmd's priority, so nmd can wait
 * for its answer. Only the new shim lives in the container's cgroup, which may be frozen, out of CPU time or short of
 * memory. For the same reason nmd does not use vfork() or CLONE_VM: nmd would wait for a process in that cgroup, and
 * the kernel's OOM killer kills all processes that share the memory of its victim.
 *
 * The spawner ends with nmd: nmd's end of the socket is closed, or PR_SET_PDEATHSIG, which nmd's child has set.
 */

#include "shim/shim-internal.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "util/clock.h"
#include "util/fault.h"
#include "util/fileio.h"

union control {
    struct cmsghdr head;
    char room[CMSG_SPACE(NM_SPAWN_FDS_MAX * sizeof(int))];
};

/* Returns the number of descriptors that the message has, or -EBADMSG if they don't have the shim's numbers. */
static int check_fds(struct msghdr *message)
{
    const struct cmsghdr *c = CMSG_FIRSTHDR(message);
    int fds[NM_SPAWN_FDS_MAX], n;

    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
        (message->msg_flags & (MSG_CTRUNC | MSG_TRUNC)))
        return -EBADMSG;
    n = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof *fds);
    memcpy(fds, CMSG_DATA(c), (size_t)n * sizeof *fds);
    for (int i = 0; i < n; i++)
        if (fds[i] != NM_SHIM_FD_SOCKET + i)
            return -EBADMSG;
    return n;
}

/* Sends the record that a shim would send after a failed start, so that nmd handles this failure in the same way. */
static _Noreturn void send_failure(int error)
{
    const struct nm_launch_record r = {
        .phase = NM_LAUNCH_ENDED,
        .failed_stage = NM_LAUNCH_STAGE_SHIM,
        .failed_errno = error,
        .ended_usec = nm_now_usec(),
        .ended_realtime_usec = nm_realtime_usec(),
    };
    char text[NM_LAUNCH_RECORD_SIZE];

    if (nm_launch_record_print(&r, text, sizeof text) >= 0)
        (void)send(NM_SHIM_FD_SOCKET, text, strlen(text), MSG_NOSIGNAL);
    _exit(127);
}

static _Noreturn void become_shim(const struct nm_spawn_request *q, int cgroup_fd)
{
    char *argv[] = {(char *)NM_SHIM_NAME, (char *)q->id, NULL}, *env[] = {NM_FAULT_VARIABLE, NULL};

    (void)setsid();
    (void)prctl(PR_SET_NAME, NM_SHIM_NAME);
    if (cgroup_fd >= 0)
        (void)close(cgroup_fd);
    (void)fexecve(NM_SPAWNER_FD_PROGRAM, argv, env);
    send_failure(errno);
}

/* Creates a shim as a child of nmd. The kernel sends nmd the same signal for its end as for this process's end. */
static int32_t spawn(const struct nm_spawn_request *q, int n_fds)
{
    const int cgroup_fd = q->has_cgroup ? NM_SHIM_FD_SOCKET + n_fds - 1 : -EBADF;
    struct clone_args args = {.flags = CLONE_PARENT};
    long pid;

    if (n_fds != NM_SPAWN_FDS_MIN + q->has_input + q->has_cgroup)
        return -EBADMSG;
    if (q->has_cgroup) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)cgroup_fd;
    }
    pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0)
        become_shim(q, cgroup_fd);
    return pid < 0 ? -errno : (int32_t)pid;
}

static void close_received(void)
{
    if (syscall(SYS_close_range, NM_SHIM_FD_SOCKET, NM_SPAWNER_FD_SOCKET - 1, 0) < 0)
        for (int fd = NM_SHIM_FD_SOCKET; fd < NM_SPAWNER_FD_SOCKET; fd++)
            (void)close(fd);
}

/* Handles one request. Returns false if nmd has closed the connection. */
static bool serve(void)
{
    struct nm_spawn_request q;
    union control control;
    struct iovec data = {&q, sizeof q};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n = recvmsg(NM_SPAWNER_FD_SOCKET, &message, 0);
    int32_t answer;
    int n_fds;

    if (n <= 0)
        return n < 0 && errno == EINTR;
    n_fds = check_fds(&message);
    answer = n == sizeof q && n_fds > 0 && memchr(q.id, '\0', sizeof q.id) ? spawn(&q, n_fds) : -EBADMSG;
    close_received();
    return send(NM_SPAWNER_FD_SOCKET, &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer;
}

int nm_shim_spawner(void)
{
    for (int fd = NM_SPAWNER_FD_SOCKET; fd < NM_SPAWNER_FD_END; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
            return 1;
    (void)prctl(PR_SET_NAME, NM_SPAWNER_NAME);
    while (serve())
        ;
    return 0;
}
