/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Starting a shim. Everything that it works on goes in as descriptors at fixed numbers (shim.h); it
 * is given no environment, starts in a session of its own and with all signals blocked, so that
 * there is no moment at which a terminal could hit it.
 *
 * Where its cgroup is there already, it is born in it: moving a process there makes the kernel wait
 * until every CPU has noticed (an RCU grace period, 8 to 15 ms), being born there doesn't. Only clone3
 * can do that. Elsewhere it is forked, and who makes the cgroup moves it.
 *
 * nmd doesn't wait for the exec: it has the limits to set and the journal to write meanwhile, and a
 * process that has just been woken by the end of that wait may not be on a CPU until the shim rests.
 * From the moment of its birth the child has the pid, the cgroup and the start time that it will have.
 * It is a whole copy of nmd (which has one thread), so it may do what is slow: ask the name services.
 *
 * The shim's program is one that nmd holds open: an upgrade replaces it by one that reads another spec, perhaps, while
 * this nmd still runs.
 */

#include "agent/launch/launch.h"

#include <assert.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "agent/launch/launch-internal.h"
#include "agent/launch/shim.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fileio.h"

/* What the shim gets. Each is above the numbers that it is given to it under, and above the one before. */
struct handover {
    int dir, logs, socket, input; /* the last may be missing */
};

#define HANDOVER_NULL {-EBADF, -EBADF, -EBADF, -EBADF}

static void handover_done(struct handover *h)
{
    h->dir = nm_close(h->dir);
    h->logs = nm_close(h->logs);
    h->socket = nm_close(h->socket);
    h->input = nm_close(h->input);
}

/* Takes fd over; returns it under a number that is above `floor`. */
static int lift(int fd, int floor)
{
    int high;

    if (fd < 0 || fd > floor)
        return fd;
    high = RET_NERRNO(fcntl(fd, F_DUPFD_CLOEXEC, floor + 1));
    (void)nm_close(fd);
    return high;
}

/* The shim writes here as root. A directory that somebody else has put in its place, or may put files into, is not
 * ours to use. */
static int open_dir(const char *path, int floor)
{
    _cleanup_close_ int fd = -EBADF;
    int r = nm_mkdir_p(path, 0700);

    if (r < 0)
        return r;
    fd = lift(RET_NERRNO(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)), floor);
    if (fd < 0)
        return fd;
    r = nm_check_private_dir(fd);
    return r < 0 ? r : STEAL_FD(fd);
}

static int make_sockets(struct nm_launch *l, struct handover *h)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    l->socket = pair[0];
    h->socket = lift(pair[1], h->logs);
    return h->socket < 0 ? h->socket : 0;
}

static int prepare(const struct nm_launch_params *p, struct nm_launch *l, struct handover *h)
{
    int r;

    h->dir = open_dir(p->container_dir, NM_SHIM_FD_END);
    if (h->dir < 0)
        return h->dir;
    /* an earlier attempt's word must not be taken for this one's */
    r = nm_launch_forget_at(h->dir);
    if (r < 0)
        return r;
    h->logs = open_dir(p->log_dir, h->dir);
    if (h->logs < 0)
        return h->logs;
    r = make_sockets(l, h);
    if (r < 0 || p->input_fd <= 0)
        return r;
    h->input = RET_NERRNO(fcntl(p->input_fd, F_DUPFD_CLOEXEC, h->socket + 1));
    return h->input < 0 ? h->input : 0;
}

/* What a slow name service holds up must not hold a client's connection or a lock of nmd's as well. */
static void close_others(const struct handover *h, int shim)
{
    const int keep[] = {h->dir, h->logs, h->socket, h->input >= 0 ? h->input : h->socket, shim};
    int from = STDERR_FILENO + 1;

    for (size_t i = 0; i < NM_ARRAY_SIZE(keep); from = keep[i++] + 1)
        if (keep[i] > from)
            (void)close_range((unsigned)from, (unsigned)keep[i] - 1, 0);
    nm_closefrom(from);
}

static int make_spec(const struct nm_launch_params *p, const struct nm_shim_session *session)
{
    const struct nm_shim_account account = nm_launch_account_find(p->command);
    const struct nm_shim_terms terms = {
        .oom_score_adj = p->oom_score_adj,
        .output_max_bytes = p->output_max_bytes,
        /* root has no need of others to get out, and who may gain root's rights neither */
        .confine = p->confine && p->command->uid != 0 && p->command->no_new_privs,
        .private_ipc = p->private_ipc,
        .has_input = p->input_fd > 0,
        .rows = p->rows,
        .columns = p->columns,
        .session = session ? *session : (struct nm_shim_session){0},
    };
    _cleanup_free_ char *text = NULL;
    _cleanup_close_ int fd = -EBADF;
    size_t size;
    int r = nm_shim_spec_print(p->command, &account, &terms, &text, &size);

    if (r < 0)
        return r;
    fd = lift(RET_NERRNO(memfd_create("nm-shim-spec", MFD_CLOEXEC)), NM_SHIM_FD_END);
    if (fd < 0)
        return fd;
    r = nm_write_all(fd, text, size);
    return r < 0 ? r : STEAL_FD(fd);
}

/* Onto the numbers that shim.h names, on which none of them lies. */
static int arrange(const struct handover *h, int spec)
{
    const int fds[][2] = {{h->input, NM_SHIM_FD_INPUT},
                          {h->socket, NM_SHIM_FD_SOCKET},
                          {spec, NM_SHIM_FD_SPEC},
                          {h->dir, NM_SHIM_FD_DIR},
                          {h->logs, NM_SHIM_FD_LOGS}};

    for (size_t i = 0; i < NM_ARRAY_SIZE(fds); i++)
        if (fds[i][0] >= 0 && dup2(fds[i][0], fds[i][1]) < 0)
            return -errno;
    return 0;
}

/* In the child. Returns why the shim can't be executed. */
static int become_shim(const struct nm_launch_params *p, const struct nm_shim_session *session,
                       const struct handover *h)
{
    /* the id is only for people who look at a process list */
    char *argv[] = {(char *)NM_SHIM_NAME, (char *)p->container_id, NULL}, *env[] = {NM_FAULT_VARIABLE, NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), shim, r;
    sigset_t all;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, NM_SHIM_NAME);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            return -errno;
    shim = fcntl(p->shim_fd, F_DUPFD_CLOEXEC, NM_MAX(h->socket, h->input) + 1);
    if (shim < 0)
        return -errno;
    close_others(h, shim);
    r = make_spec(p, session);
    if (r < 0)
        return r;
    r = arrange(h, r);
    if (r < 0)
        return r;
    (void)fexecve(shim, argv, env);
    return -errno;
}

/* Speaks in the shim's place, so that nmd hears of it as of any other end before the command. */
static _Noreturn void tell_failure(const struct handover *h, int error)
{
    const struct nm_launch_record r = {
        .phase = NM_LAUNCH_ENDED,
        .failed_stage = NM_LAUNCH_STAGE_SHIM,
        .failed_errno = -error,
        .ended_usec = nm_now_usec(),
        .ended_realtime_usec = nm_realtime_usec(),
    };
    char text[NM_LAUNCH_RECORD_SIZE];

    if (nm_launch_record_print(&r, text, sizeof text) >= 0)
        (void)send(h->socket, text, strlen(text), MSG_NOSIGNAL);
    _exit(127);
}

static pid_t fork_into(int cgroup_fd, bool *ret_born_inside)
{
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)cgroup_fd};
    long pid = cgroup_fd >= 0 ? syscall(SYS_clone3, &args, sizeof args) : -1;

    *ret_born_inside = pid >= 0;
    /* Refused (an older kernel, a filter, a cgroup that takes none): then it is moved later. */
    return pid < 0 ? fork() : (pid_t)pid;
}

static int spawn(const struct nm_launch_params *p, const struct nm_shim_session *session, const struct handover *h,
                 struct nm_launch *l)
{
    pid_t pid;

    assert(h->dir >= 0 && h->logs > h->dir && h->socket > h->logs);
    if (p->shim_fd < 0)
        return p->shim_fd;
    pid = fork_into(p->cgroup_fd, &l->born_inside);
    if (pid < 0)
        return -errno;
    if (pid == 0)
        tell_failure(h, become_shim(p, session, h));
    NM_FAULT("shim-forked");
    l->pid = pid;
    return 0;
}

/* pid is our child and not yet reaped, so it can't be another's by now. */
static int identify(struct nm_launch *l)
{
    l->pidfd = RET_NERRNO(pidfd_open(l->pid, 0));
    if (l->pidfd < 0)
        return l->pidfd;
    l->is_child = l->has_gate = true;
    return nm_launch_read_start_ticks(l->pid, &l->start_ticks);
}

static int start(const struct nm_launch_params *p, const struct nm_shim_session *session, const struct handover *h,
                 struct nm_launch *l)
{
    int r = spawn(p, session, h, l);

    if (r < 0)
        return r;
    r = identify(l);
    if (r < 0) {
        if (!l->is_child) { /* no pidfd (too many files are open): the gate is shut, so it only has
                               to go */
            (void)kill(l->pid, SIGKILL);
            (void)waitpid(l->pid, NULL, 0);
        }
        return r;
    }
    return nm_launch_watch(l);
}

int nm_launch_new(const struct nm_launch_params *p, nm_launch_cb_t cb, void *userdata,
                  struct nm_launch **ret)
{
    _cleanup_(nm_launch_freep) struct nm_launch *l = NULL;
    _cleanup_(handover_done) struct handover h = HANDOVER_NULL;
    int r;

    assert(p->command && p->command->argv && cb);
    r = nm_launch_alloc(p->container_dir, p->event, cb, userdata, &l);
    if (r < 0)
        return r;
    r = prepare(p, l, &h);
    if (r < 0)
        return r;
    r = start(p, NULL, &h, l);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(l);
    return 0;
}

/* What it is told all comes over the gate's socket: there is nothing in its directory. */
int nm_launch_session_new(const struct nm_launch_params *p, const struct nm_shim_session *session, int shim_pidfd,
                          int client_fd, nm_launch_cb_t cb, void *userdata, struct nm_launch **ret)
{
    _cleanup_(nm_launch_freep) struct nm_launch *l = NULL;
    _cleanup_(handover_done) struct handover h = HANDOVER_NULL;
    int r;

    assert(p->command && session->shim_pid > 1 && client_fd >= 0 && cb);
    r = nm_launch_alloc("", p->event, cb, userdata, &l);
    if (r < 0)
        return r;
    l->is_session = true;
    h.dir = RET_NERRNO(fcntl(client_fd, F_DUPFD_CLOEXEC, NM_SHIM_FD_END + 1));
    if (h.dir < 0)
        return h.dir;
    h.logs = RET_NERRNO(fcntl(shim_pidfd, F_DUPFD_CLOEXEC, h.dir + 1));
    if (h.logs < 0)
        return h.logs;
    r = make_sockets(l, &h);
    if (r >= 0)
        r = start(p, session, &h, l);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(l);
    return 0;
}
