/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Starts a command. This code runs in the container's first process from the fork to the exec, and in the shim until
 * the exec. Two orders matter. All steps that need root (OOM score, namespaces, groups) precede the change of user. All
 * steps that use names from the user (working directory, the command itself) follow the change of user, so that no path
 * is resolved with root's rights.
 *
 * The kernel kills the command when its shim dies (PR_SET_PDEATHSIG), because without the shim no process could record
 * the command's end. The kernel clears this setting when a set-user-ID program is executed. nmd notices the shim's
 * death through its pidfd and then kills the cgroup.
 */

#include "shim/shim-internal.h"

#include <assert.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "util/become.h"
#include "util/fileio.h"

#define REPORT_FD 3
#define USUAL_DESCRIPTORS 1024

static _Noreturn void fail(int report_fd, enum nm_launch_stage stage, int error)
{
    struct nm_shim_failure f = {.stage = (int32_t)stage, .error = error < 0 ? -error : error};

    /* a message is written completely or not at all; if the shim has died, the message has no receiver */
    ssize_t n = write(report_fd, &f, sizeof f);

    (void)n;
    _exit(125);
}

static int become(const struct nm_shim_spec *spec)
{
    const struct nm_identity who = {spec->uid, spec->gid, spec->account.groups, spec->account.n_groups};

    return nm_become(&who, &(struct nm_become_options){.no_new_privs = spec->no_new_privs});
}

/* Enters a path that the user gave. The path is resolved with the user's rights, and must not lead through the links of
 * /proc into a directory that another process has open. */
static int enter(const char *dir)
{
    _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -EBADF;

    if (root < 0)
        return -errno;
    fd = nm_open_in_root(root, dir, O_PATH | O_DIRECTORY);
    return fd < 0 ? fd : RET_NERRNO(fchdir(fd));
}

static int enter_workdir(const char *workdir, const char *home)
{
    if (*workdir)
        return enter(workdir);
    return enter(home) == 0 ? 0 : RET_NERRNO(chdir("/"));
}

/*
 * Follows execvp's rules, with two differences: PATH is the container's, and a file without "#!" is not run as a shell
 * script (-ENOEXEC). If a file may not be executed and no later directory has an executable file of that name, the
 * error of the first file is returned.
 */
static int exec_in_path(const char *path, char **argv, char **env)
{
    size_t name_len = strlen(argv[0]);
    int error = ENOENT;

    if (strchr(argv[0], '/')) {
        execve(argv[0], argv, env);
        return -errno;
    }
    for (const char *p = path;; p++) {
        size_t len = strcspn(p, ":");
        char file[4096];

        if (len + name_len + 2 <= sizeof file) {
            memcpy(file, p, len);
            file[len] = '/';
            /* an empty entry is the current directory */
            memcpy(file + len + (len > 0), argv[0], name_len + 1);
            execve(file, argv, env);
            if (errno == EACCES)
                error = EACCES;
            else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV &&
                     errno != ELOOP && errno != ENAMETOOLONG && errno != ETIMEDOUT)
                return -errno;
        }
        p += len;
        if (!*p)
            return -error;
    }
}

/* The shim has blocked all signals. Their actions are the default ones already: nmd's child and the spawner set them,
 * and exec resets only handlers. The shim leaves them, as 64 system calls would delay each command. */
static void unblock_signals(void)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int set_oom_score_adj(int value)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%d", value);
    return nm_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", text);
}

/* Keeps only descriptors 0 to 2, the report's descriptor and, until the exec, the descriptors of the namespaces. */
static int arrange_descriptors(const struct nm_shim_stdio *io, int report_fd)
{
    int n = REPORT_FD + 1;

    for (int i = 0; i < 3; i++)
        if (io->fd[i] >= 0 && dup2(io->fd[i], i) < 0)
            return -errno;
    if (report_fd != REPORT_FD && dup3(report_fd, REPORT_FD, O_CLOEXEC) < 0)
        return -errno;
    for (int i = 0; io->namespaces && i < NM_SHIM_N_NAMESPACES; i++, n++)
        if (io->namespaces[i] < 0)
            (void)close(n);
        else if (dup3(io->namespaces[i], n, O_CLOEXEC) < 0)
            return -errno;
    nm_closefrom(n);
    return 0;
}

/* Runs after the OOM score was set, which requires a capability in the host's user namespace. */
static int confine(const struct nm_shim_spec *spec, const struct nm_shim_stdio *io)
{
    static const int namespaces[NM_SHIM_N_NAMESPACES] = {REPORT_FD + 1, REPORT_FD + 2, REPORT_FD + 3};

    if (io->namespaces)
        return nm_shim_join(namespaces);
    return spec->options.confine ? nm_shim_confine(REPORT_FD, spec->options.private_ipc) : 0;
}

/* nmd raises its own soft limit as far as possible. Programs expect the usual limit: select() cannot handle descriptors
 * above it, and some programs close all descriptors up to the limit. A program that needs more can raise it, up to the
 * hard limit. */
static void reset_descriptor_limit(void)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur <= USUAL_DESCRIPTORS)
        return;
    rl.rlim_cur = USUAL_DESCRIPTORS;
    (void)setrlimit(RLIMIT_NOFILE, &rl);
}

/* Lowers the priority of the command's new session if its scheduling class is SCHED_IDLE. The kernel compares classes
 * only within a session (agent/priority.c). musl has no working sched_getscheduler(), so the system call is used. */
static void lower_session(void)
{
    if (syscall(SYS_sched_getscheduler, 0) == SCHED_IDLE)
        (void)nm_write_file_at(AT_FDCWD, "/proc/self/autogroup", "19");
}

/* Makes the settings that precede the change of user. */
static int prepare(const struct nm_shim_spec *spec, bool is_terminal)
{
    int r;

    if (setsid() < 0 || (is_terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0))
        return -errno;
    lower_session();
    /* Without CAP_SYS_RESOURCE the score may be raised but not lowered: the command then keeps the inherited score. */
    r = set_oom_score_adj(spec->options.oom_score_adj);
    if (r < 0 && r != -EACCES && r != -EPERM)
        return r;
    (void)umask(022);
    reset_descriptor_limit();
    return 0;
}

/* Sets up session, user, directory and environment. report_fd, one end of a SOCK_SEQPACKET pair, takes struct
 * nm_shim_failure and is closed by the exec. */
static _Noreturn void run_child(const struct nm_shim_spec *spec, const struct nm_shim_stdio *io, int report_fd,
                                pid_t shim_pid)
{
    char **env;
    int r;

    assert(spec->argv[0] && !(spec->options.confine && spec->uid == 0));
    r = arrange_descriptors(io, report_fd);
    if (r < 0)
        fail(report_fd, NM_LAUNCH_STAGE_LOGS, r);
    r = prepare(spec, io->is_terminal);
    if (r < 0)
        fail(REPORT_FD, NM_LAUNCH_STAGE_SHIM, r);
    r = confine(spec, io);
    if (r < 0)
        fail(REPORT_FD, NM_LAUNCH_STAGE_CONFINE, r);
    r = become(spec);
    if (r < 0)
        fail(REPORT_FD, NM_LAUNCH_STAGE_USER, r);
    /* the signal is set after the change of user, which would clear this setting */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != shim_pid)
        fail(REPORT_FD, NM_LAUNCH_STAGE_SHIM, ESRCH);
    r = nm_shim_env_make(spec, &env);
    if (r < 0)
        fail(REPORT_FD, NM_LAUNCH_STAGE_SHIM, r);
    r = enter_workdir(spec->workdir, spec->account.home);
    if (r < 0)
        fail(REPORT_FD, NM_LAUNCH_STAGE_WORKDIR, r);
    unblock_signals();
    r = exec_in_path(nm_shim_env_find(env, "PATH") ?: "", spec->argv, env);
    fail(REPORT_FD, NM_LAUNCH_STAGE_EXEC, r);
}

/* ---- the shim -------------------------------------------------------------------------------- */

/* Waits until the command runs. The exec closes the channel, so an end-of-file without a message means success. */
static int wait_for_exec(const struct nm_shim_spec *spec, int report_fd, pid_t pid, int *ret_error)
{
    struct nm_shim_failure f = {.stage = NM_LAUNCH_STAGE_COUNT};
    ssize_t n;

    do {
        n = read(report_fd, &f, sizeof f);
        if (n == sizeof f && f.stage == NM_LAUNCH_STAGE_NONE) {
            nm_shim_namespaces_retain(pid, spec->options.private_ipc);
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
        run_child(spec, io, report[1], self);
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
