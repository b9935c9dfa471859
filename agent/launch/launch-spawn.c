/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Starting a shim. Everything that it works on goes in as descriptors at fixed numbers (shim.h); it
 * is given no environment, starts in a session of its own and with all signals blocked, so that
 * there is no moment at which a terminal could hit it.
 *
 * Where its cgroup is there already, it is born in it: moving a process there makes the kernel wait
 * until every CPU has noticed (an RCU grace period, 8 to 15 ms), being born there doesn't. Only clone3
 * can do that; posix_spawnattr_setcgroup_np() is younger than the C libraries that we build with.
 * Elsewhere posix_spawn starts it, which copies no page tables, and who makes the cgroup moves it.
 */

#include "agent/launch/launch.h"

#include <linux/sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "agent/launch/launch-internal.h"
#include "agent/launch/shim.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fileio.h"

/* What the shim gets; each is above the numbers that they are given to it under. */
struct handover {
    int socket, spec, dir, logs;
};

#define HANDOVER_NULL {-EBADF, -EBADF, -EBADF, -EBADF}

static void handover_done(struct handover *h)
{
    h->socket = nm_close(h->socket);
    h->spec = nm_close(h->spec);
    h->dir = nm_close(h->dir);
    h->logs = nm_close(h->logs);
}

/* dup2 onto 3, 4, ... must not hit a source that is still to be copied. Takes fd over. */
static int lift(int fd)
{
    int high;

    if (fd < 0 || fd >= NM_SHIM_FD_END)
        return fd;
    high = RET_NERRNO(fcntl(fd, F_DUPFD_CLOEXEC, NM_SHIM_FD_END));
    (void)nm_close(fd);
    return high;
}

/* The shim writes here as root. A directory that somebody else has put in its place, or may put files into, is not
 * ours to use. */
static int open_dir(const char *path)
{
    _cleanup_close_ int fd = -EBADF;
    int r = nm_mkdir_p(path, 0700);

    if (r < 0)
        return r;
    fd = lift(RET_NERRNO(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
    if (fd < 0)
        return fd;
    r = nm_check_private_dir(fd);
    return r < 0 ? r : STEAL_FD(fd);
}

static int make_spec(const struct nm_launch_params *p)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_close_ int fd = -EBADF;
    size_t size, done = 0;
    int r = nm_shim_spec_print(p->command, p->oom_score_adj, &text, &size);

    if (r < 0)
        return r;
    fd = lift(RET_NERRNO(memfd_create("nm-shim-spec", MFD_CLOEXEC)));
    if (fd < 0)
        return fd;
    while (done < size) {
        ssize_t n = write(fd, text + done, size - done);
        if (n < 0)
            return -errno;
        done += (size_t)n;
    }
    return STEAL_FD(fd);
}

static int make_sockets(struct nm_launch *l, struct handover *h)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    l->socket = pair[0];
    h->socket = lift(pair[1]);
    return h->socket < 0 ? h->socket : 0;
}

static int prepare(const struct nm_launch_params *p, struct nm_launch *l, struct handover *h)
{
    h->dir = open_dir(p->container_dir);
    if (h->dir < 0)
        return h->dir;
    /* an earlier attempt's word must not be taken for this one's */
    if (unlinkat(h->dir, NM_LAUNCH_RECORD_FILE, 0) < 0 && errno != ENOENT)
        return -errno;
    if (unlinkat(h->dir, NM_LAUNCH_GATE_FILE, 0) < 0 && errno != ENOENT)
        return -errno;
    h->logs = open_dir(p->log_dir);
    if (h->logs < 0)
        return h->logs;
    h->spec = make_spec(p);
    if (h->spec < 0)
        return h->spec;
    return make_sockets(l, h);
}

/* All of posix_spawn's set-up calls return a positive error. */
static int add_actions(posix_spawn_file_actions_t *a, const struct handover *h)
{
    return posix_spawn_file_actions_addopen(a, STDIN_FILENO, "/dev/null", O_RDWR, 0)
               ?: posix_spawn_file_actions_adddup2(a, STDIN_FILENO, STDOUT_FILENO)
               ?: posix_spawn_file_actions_adddup2(a, STDIN_FILENO, STDERR_FILENO)
               ?: posix_spawn_file_actions_adddup2(a, h->socket, NM_SHIM_FD_SOCKET)
               ?: posix_spawn_file_actions_adddup2(a, h->spec, NM_SHIM_FD_SPEC)
               ?: posix_spawn_file_actions_adddup2(a, h->dir, NM_SHIM_FD_DIR)
               ?: posix_spawn_file_actions_adddup2(a, h->logs, NM_SHIM_FD_LOGS);
}

static int add_attributes(posix_spawnattr_t *attr)
{
    sigset_t all;

    (void)sigfillset(&all);
    return posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK)
               ?: posix_spawnattr_setsigmask(attr, &all);
}

/* In the child, which has a copy of nmd's memory. Returns why the shim can't be executed. */
static int become_shim(const char *path, const struct handover *h, char **argv, char **env)
{
    const int fds[][2] = {{h->socket, NM_SHIM_FD_SOCKET},
                          {h->spec, NM_SHIM_FD_SPEC},
                          {h->dir, NM_SHIM_FD_DIR},
                          {h->logs, NM_SHIM_FD_LOGS}};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t all;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setsid();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            return errno;
    for (size_t i = 0; i < NM_ARRAY_SIZE(fds); i++)
        if (dup2(fds[i][0], fds[i][1]) < 0)
            return errno;
    (void)execve(path, argv, env);
    return errno;
}

/* Speaks in the shim's place, so that nmd hears of it as of any other end before the command. */
static _Noreturn void tell_failure(const struct handover *h, int error)
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
        (void)send(h->socket, text, strlen(text), MSG_NOSIGNAL);
    _exit(127);
}

/*
 * Doesn't wait for the exec, as posix_spawn does: nmd has the limits to set and the journal to write
 * meanwhile, and a process that has just been woken by the end of that wait may not be on a CPU until the shim
 * rests. From the moment of its birth it has the pid, the cgroup and the start time that it will have.
 */
static int spawn_in_cgroup(const struct nm_launch_params *p, const struct handover *h, char **argv,
                           char **env, pid_t *ret)
{
    struct clone_args args = {.flags = CLONE_INTO_CGROUP,
                              .exit_signal = SIGCHLD,
                              .cgroup = (uint64_t)p->cgroup_fd};
    long pid;

    if (access(p->shim_path, X_OK) < 0)
        return -errno;
    pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid < 0)
        return -errno;
    if (pid == 0)
        tell_failure(h, become_shim(p->shim_path, h, argv, env));
    *ret = (pid_t)pid;
    return 0;
}

static int spawn(const struct nm_launch_params *p, const struct handover *h, pid_t *ret)
{
    /* the id is only for people who look at a process list */
    char *argv[] = {(char *)"nm-shim", (char *)p->container_id, NULL}, *env[] = {NULL, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int r;

    env[0] = NM_FAULT_VARIABLE;
    /* Refused (an older kernel, a filter, a cgroup that takes none): then it is moved later. */
    if (p->cgroup_fd >= 0 && spawn_in_cgroup(p, h, argv, env, ret) == 0)
        return 0;
    r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return -r;
    r = posix_spawnattr_init(&attr);
    if (r == 0) {
        r = add_actions(&actions, h) ?: add_attributes(&attr);
        if (r == 0)
            r = posix_spawn(ret, p->shim_path, &actions, &attr, argv, env);
        (void)posix_spawnattr_destroy(&attr);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
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

int nm_launch_new(const struct nm_launch_params *p, nm_launch_cb_t cb, void *userdata,
                  struct nm_launch **ret)
{
    _cleanup_(nm_launch_freep) struct nm_launch *l = NULL;
    _cleanup_(handover_done) struct handover h = HANDOVER_NULL;
    int r;

    r = nm_launch_alloc(p->container_dir, p->event, cb, userdata, &l);
    if (r < 0)
        return r;
    r = prepare(p, l, &h);
    if (r < 0)
        return r;
    r = spawn(p, &h, &l->pid);
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
    r = nm_launch_watch(l);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(l);
    return 0;
}
