/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Starts a shim: with the spawner (spawner.c) if the account of the command's user is known, and otherwise with a fork
 * of nmd, which looks the account up. The shim is a child of nmd and has the same descriptors in both cases.
 *
 * All files that the shim uses are passed as descriptors with fixed numbers (shim.h). The shim has no
 * environment. It starts in a new session with all signals blocked, so that a terminal can never send it a signal.
 *
 * If the container's cgroup exists already, clone3() creates the shim in this cgroup. To move an existing process there
 * takes 8 to 15 ms, because the kernel waits for an RCU grace period. If the cgroup does not exist or clone3() is not
 * possible, the shim is forked, and the code that creates the cgroup moves the shim.
 *
 * nmd does not wait for the exec of the shim (as vfork() would), for three reasons. The cgroup may be frozen. nmd can
 * set limits and write the journal meanwhile. And after the exec, nmd may not get a CPU until the shim sleeps. The
 * child's pid, cgroup and start time don't change at the exec. Because nmd has only one thread, the child is a complete
 * copy of nmd and may do slow work: it queries the name services.
 *
 * nmd keeps the shim's program open. While nmd is running, a package upgrade may replace the file with a version that
 * reads a different spec.
 */

#include "agent/launch/launch.h"

#include <assert.h>
#include <linux/sched.h>
#include <pwd.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "agent/launch/launch-internal.h"
#include "agent/launch/shim.h"
#include "util/become.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fileio.h"
#include "util/inherited.h"
#include "util/parse.h"

/* The descriptors for the shim. lift() has moved each to a number above the fixed numbers of shim.h. So dup2() in
 * arrange() does not overwrite a descriptor that arrange() has not duplicated yet. */
struct handover {
    int dir, logs, socket, input, spec; /* `input` and `spec` may be missing; a fork of nmd makes a missing spec */
};

#define HANDOVER_NULL {-EBADF, -EBADF, -EBADF, -EBADF, -EBADF}

static void handover_done(struct handover *h)
{
    h->dir = nm_close(h->dir);
    h->logs = nm_close(h->logs);
    h->socket = nm_close(h->socket);
    h->input = nm_close(h->input);
    h->spec = nm_close(h->spec);
}

/* Duplicates fd to a number above `floor`, closes fd and returns the new number. */
static int lift(int fd, int floor)
{
    int high;

    if (fd < 0 || fd > floor)
        return fd;
    high = RET_NERRNO(fcntl(fd, F_DUPFD_CLOEXEC, floor + 1));
    (void)nm_close(fd);
    return high;
}

/* Opens a directory in which the shim writes as root. Refuses a directory that belongs to another user, or that another
 * user can write to. */
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
    /* Remove the record of an earlier start, so that it is not read as the record of this start. */
    r = nm_launch_drop_at(h->dir);
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

/* Closes all other descriptors in the child. While the child waits for a slow name service, it must not keep a client's
 * connection or a lock of nmd open. */
static void close_others(const struct handover *h, int shim)
{
    const int input = NM_MAX(h->input, h->socket), spec = NM_MAX(h->spec, input);
    const int keep[] = {h->dir, h->logs, h->socket, input, spec, shim};
    int from = STDERR_FILENO + 1;

    for (size_t i = 0; i < NM_ARRAY_SIZE(keep); from = keep[i++] + 1)
        if (keep[i] > from)
            (void)close_range((unsigned)from, (unsigned)keep[i] - 1, 0);
    nm_closefrom(from);
}

/*
 * ---- the command's account -------------------------------------------------------------------
 *
 * Name services may be slow (sockets, a network). So the child that becomes the shim queries them, in parallel to nmd's
 * preparations, and nmd's event loop never does. The child queries them before it executes the shim, because nmd has
 * already loaded the services' libraries. The shim would have to load these libraries for each container, and keep them
 * in memory while the command runs.
 */

/* Returns whether the user is given as a number. A uid without an account may be given as a number (for example a uid
 * that has an account only inside a container image, or with an unprivileged nmd). */
static bool is_number_of(const char *user, uid_t uid)
{
    uint64_t v;

    return nm_parse_u64(user, &v) == 0 && v == uid;
}

/* Returns whether the lookup failed. For a user that does not exist, name services return various values of errno. The
 * values listed here mean that there was no answer. */
static bool is_trouble(int error)
{
    return error == EIO || error == EMFILE || error == ENFILE || error == ENOMEM;
}

static int find_passwd(const struct nm_command *c, struct passwd **ret)
{
    struct passwd *pw;

    errno = 0;
    pw = getpwnam(c->user);
    if (!pw && is_number_of(c->user, c->uid)) {
        errno = 0;
        pw = getpwuid(c->uid);
        if (!pw)
            return 0;
    }
    if (!pw)
        return is_trouble(errno) ? -errno : -ENOENT;
    /* nmd has checked the permissions of the uid in the command, so an account with another uid is refused */
    if (pw->pw_uid != c->uid || pw->pw_gid != c->gid)
        return -ESTALE;
    *ret = pw;
    return 0;
}

static char *given(char *value, char *fallback)
{
    return value && *value ? value : fallback;
}

/*
 * Looks up the command's user in the name services. Only for a process that will exec another program: the strings are
 * in libc's buffers, and no memory is freed. If the account can't be used, sets `error`: ENOENT (no such user), ESTALE
 * (the account's uid or gid differs from the command's), or the errno of the failed lookup.
 */
static struct nm_shim_account find_account(const struct nm_command *c)
{
    struct nm_shim_account a = {.name = c->user, .home = (char *)"/", .shell = (char *)"/bin/sh"};
    struct passwd *pw = NULL;
    int r = find_passwd(c, &pw);

    if (pw) {
        a.name = given(pw->pw_name, a.name);
        a.home = given(pw->pw_dir, a.home);
        a.shell = given(pw->pw_shell, a.shell);
    }
    /* only root can change groups */
    if (r >= 0 && geteuid() == 0)
        r = nm_groups_find(a.name, c->gid, &a.groups, &a.n_groups);
    a.error = -r;
    return a;
}

/* ---- starting the shim ----------------------------------------------------------------------- */

static int make_spec_file(int floor)
{
    return lift(RET_NERRNO(memfd_create("nm-shim-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING)), floor);
}

static int write_spec(const struct nm_launch_params *p, const struct nm_shim_session *session,
                      const struct nm_shim_account *account, int fd)
{
    const struct nm_shim_options options = {
        .oom_score_adj = p->oom_score_adj,
        .output_max_bytes = p->output_max_bytes,
        /* Namespaces don't confine root, nor a process that may gain root's privileges. */
        .confine = p->confine && p->command->uid != 0 && p->command->no_new_privs,
        .private_ipc = p->private_ipc,
        .has_input = p->input_fd > 0,
        .rows = p->rows,
        .columns = p->columns,
        .session = session ? *session : (struct nm_shim_session){0},
    };
    _cleanup_free_ char *text = NULL;
    size_t size;
    int r = nm_shim_spec_print(p->command, account, &options, &text, &size);

    if (r >= 0)
        r = nm_write_all(fd, text, size);
    return r < 0 ? r : RET_NERRNO(fcntl(fd, F_ADD_SEALS, NM_LAUNCH_SPEC_SEALS));
}

/* Runs in the child. */
static int make_spec(const struct nm_launch_params *p, const struct nm_shim_session *session, const struct handover *h)
{
    const struct nm_shim_account account = find_account(p->command);
    const int fd = h->spec >= 0 ? h->spec : make_spec_file(NM_SHIM_FD_END);
    const int r = fd < 0 ? fd : write_spec(p, session, &account, fd);

    return r < 0 ? r : fd;
}

/* Duplicates the descriptors for the shim to the fixed numbers of shim.h. */
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

/* Runs in the child. Returns only if the shim cannot be executed, with the error. */
static int become_shim(const struct nm_launch_params *p, const struct nm_shim_session *session,
                       const struct handover *h)
{
    /* the container's id is only shown in process lists; the shim does not evaluate it */
    char *argv[] = {(char *)NM_SHIM_NAME, (char *)p->container_id, NULL}, *env[] = {NM_FAULT_VARIABLE, NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), last = NM_MAX(h->socket, h->input), shim, r;
    sigset_t all;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    nm_inherited_reset_dispositions();
    (void)setsid();
    (void)prctl(PR_SET_NAME, NM_SHIM_NAME);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            return -errno;
    shim = fcntl(p->shim_fd, F_DUPFD_CLOEXEC, NM_MAX(last, h->spec) + 1);
    if (shim < 0)
        return -errno;
    close_others(h, shim);
    r = make_spec(p, session, h);
    if (r < 0)
        return r;
    r = arrange(h, r);
    if (r < 0)
        return r;
    (void)fexecve(shim, argv, env);
    return -errno;
}

/* Sends the record that a shim would send after a failed start, so that nmd handles this failure in the same way. */
static _Noreturn void send_failure(const struct handover *h, int error)
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
    /* If clone3() was refused (an older kernel, a seccomp filter, or a cgroup that accepts no processes), fork the
     * shim. It is moved into the cgroup later. */
    return pid < 0 ? fork() : (pid_t)pid;
}

static int fork_shim(const struct nm_launch_params *p, const struct nm_shim_session *session, const struct handover *h,
                     struct nm_launch *l)
{
    pid_t pid;

    assert(h->dir >= 0 && h->logs > h->dir && h->socket > h->logs);
    pid = fork_into(p->cgroup_fd, &l->started_in_cgroup);
    if (pid < 0)
        return -errno;
    if (pid == 0)
        send_failure(h, become_shim(p, session, h));
    l->pid = pid;
    return 0;
}

/* Returns 0, -errno, or NM_SPAWNER_E_NO_SHIM. */
static int ask_spawner(const struct nm_launch_params *p, const struct nm_shim_account *account,
                       const struct handover *h, struct nm_launch *l)
{
    _cleanup_close_ int spec = make_spec_file(NM_SHIM_FD_END);
    struct nm_spawn_request q = {.has_input = h->input >= 0, .has_cgroup = p->cgroup_fd >= 0};
    int fds[NM_SPAWN_FDS_MAX] = {h->socket, spec, h->dir, h->logs}, r;
    size_t n = NM_SPAWN_FDS_MIN;

    if (spec < 0)
        return spec;
    r = write_spec(p, NULL, account, spec);
    if (r < 0)
        return r;
    if (q.has_input)
        fds[n++] = h->input;
    if (q.has_cgroup)
        fds[n++] = p->cgroup_fd;
    (void)snprintf(q.id, sizeof q.id, "%s", p->container_id);
    r = nm_spawner_spawn(p->spawner, p->shim_fd, &q, fds, n, &l->pid);
    l->started_in_cgroup = r == 0 && q.has_cgroup;
    return r;
}

/* Notes that the child of this launch looks the account up. Without memory or a descriptor the next launch will look it
 * up, too. */
static void begin_lookup(const struct nm_launch_params *p, const struct nm_accounts_stamp *stamp, struct handover *h,
                         struct nm_launch *l)
{
    l->lookup.user = strdup(p->command->user);
    if (!l->lookup.user)
        return;
    h->spec = make_spec_file(NM_MAX(h->socket, h->input));
    l->lookup.spawner = p->spawner;
    l->lookup.stamp = *stamp;
}

/* Gets the shim's pidfd and start time. The shim is a child of nmd and was not reaped, so its pid can't be reused
 * yet. */
static int identify(struct nm_launch *l)
{
    l->pidfd = RET_NERRNO(pidfd_open(l->pid, 0));
    if (l->pidfd < 0)
        return l->pidfd;
    l->is_child = true;
    nm_launch_advance(l, NM_SHIM_AT_GATE);
    return nm_launch_read_start_ticks(l->pid, &l->start_ticks);
}

static int watch(struct nm_launch *l)
{
    int r;

    NM_FAULT("shim-forked");
    r = identify(l);
    if (r < 0) {
        /* without a pidfd (too many open files), kill the shim: its gate is closed, so the command has not run */
        if (!l->is_child) {
            (void)kill(l->pid, SIGKILL);
            (void)waitpid(l->pid, NULL, 0);
        }
        return r;
    }
    return nm_launch_watch(l);
}

/* Discards the failure that a shim has sent before the spawner failed as well. */
static void discard_messages(const struct nm_launch *l)
{
    char text[NM_LAUNCH_RECORD_SIZE];

    while (recv(l->socket, text, sizeof text, MSG_DONTWAIT) > 0)
        ;
}

static int spawn(const struct nm_launch_params *p, struct handover *h, struct nm_launch *l)
{
    const struct nm_shim_account *account = NULL;
    struct nm_accounts_stamp stamp;
    int r = NM_SPAWNER_E_NO_SHIM;

    if (p->shim_fd < 0)
        return p->shim_fd;
    if (p->spawner) {
        stamp = nm_accounts_stamp();
        account = nm_accounts_find(&p->spawner->accounts, p->command, &stamp);
    }
    if (account) {
        r = ask_spawner(p, account, h, l);
        if (r != NM_SPAWNER_E_NO_SHIM)
            return r;
        discard_messages(l);
    } else if (p->spawner) {
        begin_lookup(p, &stamp, h, l);
    }
    r = fork_shim(p, NULL, h, l);
    l->lookup.spec_fd = STEAL_FD(h->spec);
    return r;
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
    r = spawn(p, &h, l);
    if (r < 0)
        return r;
    r = watch(l);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(l);
    return 0;
}

/* Starts a session. A session has no directory for a record, so its shim uses the descriptor numbers of the two
 * directories for the client's connection and the container's shim. */
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
        r = p->shim_fd < 0 ? p->shim_fd : fork_shim(p, session, &h, l);
    if (r >= 0)
        r = watch(l);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(l);
    return 0;
}
