/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See admin-script.h. The process is watched through a pidfd, because with SIGCHLD nmd would have to block the signal
 * and would also reap the children of other modules. The process group is killed while its leader is still a zombie,
 * because the kernel may reuse the group's number after the leader has been reaped.
 */

#include "agent/admin-script.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "agent/priority.h"
#include "util/fileio.h"
#include "util/inherited.h"

#define ARGS_MAX 64u
#define PIPE_SIZE (64u << 10)

struct nm_admin_script {
    nm_admin_script_cb_t cb;
    void (*line_cb)(const char *line, void *userdata);
    void *userdata;
    pid_t pid; /* pid of the script, also the number of its process group; 0 when reaped */
    int pidfd, output_fd;
    sd_event_source *exit_source, *output_source, *timer_source;
    size_t n_read, output_max;
    char line[NM_ADMIN_SCRIPT_LINE_MAX + 1];
    size_t line_len; /* length of the current line; the rest of a longer line is dropped */
    struct nm_script_verdict verdict;
};

/* Keeps the first line that begins with ERROR as printable text, because it is logged and shown. */
static void note_error(struct nm_script_verdict *v, const char *line)
{
    size_t n = 0;

    if (v->error[0] || strncmp(line, "ERROR", 5) != 0)
        return;
    for (; line[n] && n < sizeof v->error - 1; n++)
        v->error[n] = (char)(isprint((unsigned char)line[n]) ? line[n] : '?');
    v->error[n] = '\0';
}

static void end_line(struct nm_admin_script *s)
{
    assert(s);
    s->line[s->line_len] = '\0';
    note_error(&s->verdict, s->line);
    if (s->line_cb && !s->verdict.timed_out)
        s->line_cb(s->line, s->userdata);
    s->line_len = 0;
}

static void take_output(struct nm_admin_script *s, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\n')
            end_line(s);
        else if (s->line_len < sizeof s->line - 1)
            s->line[s->line_len++] = text[i] ?: '?';
    }
}

static void close_output(struct nm_admin_script *s)
{
    s->output_source = sd_event_source_disable_unref(s->output_source);
    s->output_fd = nm_close(s->output_fd);
}

/* Reads the available output, but in one turn of the event loop no more than a pipe holds. */
static void read_output(struct nm_admin_script *s)
{
    char buf[4096];

    for (unsigned i = 0; s->output_fd >= 0 && i <= PIPE_SIZE / sizeof buf; i++) {
        ssize_t n = read(s->output_fd, buf, sizeof buf);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n > 0) {
            take_output(s, buf, (size_t)n);
            s->n_read += (size_t)n;
        }
        s->verdict.is_cut = s->n_read >= s->output_max;
        if (n <= 0 || s->verdict.is_cut)
            close_output(s);
    }
}

static int on_output(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)source;
    (void)fd;
    (void)revents;
    read_output(userdata);
    return 0;
}

static void kill_group(struct nm_admin_script *s)
{
    if (s->pid > 0)
        (void)kill(-s->pid, SIGKILL);
}

static void reap(struct nm_admin_script *s)
{
    siginfo_t info = {0};

    if (s->pid <= 0 || waitid(P_PIDFD, (id_t)s->pidfd, &info, WEXITED | WNOHANG) < 0 ||
        info.si_pid == 0)
        return;
    s->pid = 0;
    if (info.si_code == CLD_EXITED)
        s->verdict.exit_code = info.si_status;
    else
        s->verdict.exit_signal = info.si_status;
}

static int on_exit_of_script(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_admin_script *s = userdata;

    (void)source;
    (void)fd;
    (void)revents;
    kill_group(s);
    reap(s);
    read_output(s);
    if (s->line_len > 0)
        end_line(s);
    close_output(s);
    s->exit_source = sd_event_source_disable_unref(s->exit_source);
    s->timer_source = sd_event_source_disable_unref(s->timer_source);
    s->verdict.has_ended = true;
    s->cb(&s->verdict, s->userdata);
    return 0;
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_admin_script *s = userdata;

    (void)source;
    (void)usec;
    s->verdict.timed_out = true;
    kill_group(s);
    read_output(s);
    close_output(s);
    /* Report the time-out now, not only at the script's end: a script that hangs in the kernel may never end. */
    s->cb(&s->verdict, s->userdata);
    return 0;
}

static int prepare_actions(posix_spawn_file_actions_t *actions, int output)
{
    int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    if (r == 0)
        r = posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    if (r == 0)
        r = posix_spawn_file_actions_addchdir_np(actions, "/");
    return -r;
}

static int check_dir_of(const char *path)
{
    _cleanup_free_ char *dir = strdup(path);
    _cleanup_close_ int fd = -EBADF;

    if (!dir)
        return -ENOMEM;
    fd = open(dirname(dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : nm_check_parent_dirs(fd);
}

/* Checks the interpreter of a script that begins with "#!". Binaries have no such line, and an unreadable file may
 * still be executable. The kernel refuses to run empty files and other text. */
static int check_interpreter(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char line[256] = "", *begin = line + 2;
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);

    if (n < 0)
        return 0;
    if (strncmp(line, "#!", 2) != 0)
        return n == 0 || isprint((unsigned char)line[0]) || isspace((unsigned char)line[0]) ? -ENOEXEC : 0;
    line[strcspn(line, "\n")] = '\0';
    begin += strspn(begin, " \t");
    begin[strcspn(begin, " \t")] = '\0';
    return *begin == '/' ? RET_NERRNO(faccessat(AT_FDCWD, begin, X_OK, AT_EACCESS)) : 0;
}

/* Checks the path and, if the path is a symbolic link, also the target of the link. */
int nm_admin_script_check(const char *path)
{
    _cleanup_free_ char *real = realpath(path, NULL);
    struct stat st;
    int r;

    if (!real || stat(real, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EACCES;
    if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return -EPERM;
    r = check_dir_of(path);
    if (r == 0)
        r = check_dir_of(real);
    if (r >= 0)
        r = RET_NERRNO(faccessat(AT_FDCWD, real, X_OK, AT_EACCESS));
    return r < 0 ? r : check_interpreter(real);
}

/* Starts the script in a session of its own, so that nmd can kill its process group, and so that its autogroup (see
 * sched(7)) doesn't have nmd's priority. */
static int spawn(const char *path, char *const *args, int output, pid_t *ret_pid)
{
    static char *const environment[] = {
        (char *)"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        (char *)"LANG=C.UTF-8", NULL};
    char *argv[ARGS_MAX + 2] = {(char *)path};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid;
    int r;

    assert(path && output >= 0);
    for (size_t i = 0; args && args[i]; i++) {
        if (i == ARGS_MAX)
            return -E2BIG;
        argv[i + 1] = args[i];
    }
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return -ENOMEM;
    }
    r = prepare_actions(&actions, output);
    if (r == 0)
        r = nm_inherited_spawn_signals(&attributes, POSIX_SPAWN_SETSID);
    if (r == 0)
        r = -posix_spawn(&pid, path, &actions, &attributes, argv, environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (r < 0)
        return r;
    /* The script must not inherit nmd's nice value and OOM protection. Set the nice value for the whole group, because
     * the script may have forked already. */
    if (getpriority(PRIO_PROCESS, 0) < 0)
        (void)setpriority(PRIO_PGRP, (id_t)pid, 0);
    (void)nm_priority_set(pid, &(struct nm_priority){.oom_score_adj = 0});
    *ret_pid = pid;
    return 0;
}

/* Runs the function in a child, in a process group of its own, as a script does. */
static int spawn_function(const struct nm_admin_script_params *p, int output, pid_t *ret_pid)
{
    const pid_t parent = getpid();
    const pid_t pid = fork();
    FILE *f;
    int status;

    if (pid < 0)
        return -errno;
    if (pid > 0) {
        *ret_pid = pid;
        return 0;
    }
    nm_inherited_end_with(parent);
    nm_inherited_reset_signals();
    (void)setsid();
    if (dup2(output, STDOUT_FILENO) < 0 || !(f = fdopen(STDOUT_FILENO, "w")))
        _exit(EXIT_FAILURE);
    closefrom(STDERR_FILENO + 1);
    status = p->function(f, p->userdata);
    _exit(fflush(f) == 0 ? status : EXIT_FAILURE);
}

static int watch(struct nm_admin_script *s, sd_event *event, uint64_t timeout_usec)
{
    int r = sd_event_add_io(event, &s->output_source, s->output_fd, EPOLLIN, on_output, s);

    if (r >= 0)
        r = sd_event_add_io(event, &s->exit_source, s->pidfd, EPOLLIN, on_exit_of_script, s);
    if (r >= 0)
        r = sd_event_add_time_relative(event, &s->timer_source, CLOCK_BOOTTIME, timeout_usec,
                                       10 * NM_USEC_PER_MSEC, on_timeout, s);
    if (r < 0)
        return r;
    (void)sd_event_source_set_description(s->output_source, "script output");
    (void)sd_event_source_set_description(s->exit_source, "script exit");
    (void)sd_event_source_set_description(s->timer_source, "script timeout");
    return 0;
}

/* Kills and reaps a script whose end can't be watched, so that failed attempts don't leave zombies. The script has
 * hardly begun, so waitpid() returns soon. */
static void kill_unwatched(struct nm_admin_script *s)
{
    kill_group(s);
    (void)waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

int nm_admin_script_new(sd_event *event, const struct nm_admin_script_params *p, struct nm_admin_script **ret)
{
    _cleanup_(nm_admin_script_freep) struct nm_admin_script *s = calloc(1, sizeof *s);
    _cleanup_close_ int write_fd = -EBADF;
    int fds[2], r;

    assert(event && !p->path == !!p->function && p->timeout_usec > 0);
    if (!s)
        return -ENOMEM;
    s->pidfd = s->output_fd = -EBADF;
    r = p->path ? nm_admin_script_check(p->path) : 0;
    if (r < 0)
        return r;
    s->cb = p->cb;
    s->line_cb = p->line_cb;
    s->userdata = p->userdata;
    s->output_max = p->output_max ?: NM_ADMIN_SCRIPT_OUTPUT_MAX;
    s->verdict.exit_code = -1;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    s->output_fd = fds[0];
    write_fd = fds[1];
    /* Set O_NONBLOCK only at nmd's end of the pipe, because the script's own writes must not return EAGAIN. */
    if (fcntl(s->output_fd, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    r = p->path ? spawn(p->path, p->args, write_fd, &s->pid) : spawn_function(p, write_fd, &s->pid);
    if (r < 0)
        return r;
    s->pidfd = pidfd_open(s->pid, 0);
    r = s->pidfd < 0 ? -errno : watch(s, event, p->timeout_usec);
    if (r < 0) {
        kill_unwatched(s);
        return r;
    }
    *ret = STEAL_PTR(s);
    return 0;
}

bool nm_admin_script_is_running(const struct nm_admin_script *s)
{
    return s->pid > 0;
}

struct nm_admin_script *nm_admin_script_free(struct nm_admin_script *s)
{
    if (!s)
        return NULL;
    kill_group(s);
    reap(s); /* reaps the script if it has ended already; otherwise init reaps it after nmd has ended */
    s->exit_source = sd_event_source_disable_unref(s->exit_source);
    s->timer_source = sd_event_source_disable_unref(s->timer_source);
    close_output(s);
    s->pidfd = nm_close(s->pidfd);
    free(s);
    return NULL;
}
