/* SPDX-License-Identifier: Apache-2.0 */

/* See worker-process.h. */

#include "localize/worker-process.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "localize/localizer.h"
#include "localize/worker-protocol.h"
#include "util/become.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/inherited.h"
#include "util/loop.h"

#define FREE_MSEC 2000
#define READ_BYTES 1024U /* bytes to read in one turn: two dozen lines of a worker */
#define PIPE_READS 72    /* number of reads of READ_BYTES, which is more than a pipe holds */
/* Rate limit for the lines of a worker's report. On average a worker may write two lines in each report interval. The
 * burst limit is LINES_AT_ONCE, the number of lines that fit into the pipe while nmd is delayed, plus extra_lines. */
#define LINE_USEC (NM_WORKER_REPORT_INTERVAL_USEC / 2)
#define LINES_AT_ONCE 1280U

struct nm_worker_process {
    struct nm_worker_process_params params;
    pid_t pid; /* 0: the process has been reaped */
    int pidfd, lines_fd;
    sd_event_source *lines_source, *end_source;
    char line[NM_WORKER_REPORT_LINE_MAX_BYTES + 1];
    size_t size;
    uint64_t credit_usec, most_credit_usec, paid_usec; /* allowance for lines, in time; paid_usec: last update of the
                                                          allowance */
    bool has_overrun, has_ended;
};

/* Kills the process group and reaps the worker. Until the worker is reaped, its zombie prevents the group's number from
 * being reused. */
static int end_group(struct nm_worker_process *w)
{
    int status = 0;

    (void)kill(-w->pid, SIGKILL);
    (void)kill(w->pid, SIGKILL); /* the process may not have its own group yet */
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
    w->pid = 0;
    return status;
}

/* Kills the worker and waits a short time. A process that waits for a disk may exit much later. In this case init reaps
 * it. */
static void end_now(struct nm_worker_process *w)
{
    struct pollfd end = {.fd = w->pidfd, .events = POLLIN};

    nm_worker_process_kill(w);
    if (w->pidfd < 0 || poll(&end, 1, FREE_MSEC) > 0)
        (void)end_group(w);
}

struct nm_worker_process *nm_worker_process_free(struct nm_worker_process *w)
{
    if (!w)
        return NULL;
    (void)sd_event_source_disable_unref(w->lines_source);
    (void)sd_event_source_disable_unref(w->end_source);
    if (w->pid > 0)
        end_now(w);
    (void)nm_close(w->pidfd);
    (void)nm_close(w->lines_fd);
    free(w);
    return NULL;
}

void nm_worker_process_kill(struct nm_worker_process *w)
{
    if (w->pid <= 0)
        return;
    (void)kill(-w->pid, SIGKILL);
    (void)kill(w->pid, SIGKILL);
}

/* Charges the worker for a line, or for a read that completes no line, because any process of the user can write into
 * the worker's pipe. Returns false if the worker has exceeded its allowance. */
static bool pay(struct nm_worker_process *w)
{
    const uint64_t now_usec = nm_clock_usec(CLOCK_MONOTONIC);

    w->credit_usec = nm_add_u64(w->credit_usec, nm_sub_u64(now_usec, w->paid_usec));
    w->credit_usec = NM_MIN(w->credit_usec, w->most_credit_usec);
    w->paid_usec = now_usec;
    w->has_overrun = w->credit_usec < LINE_USEC;
    w->credit_usec = nm_sub_u64(w->credit_usec, LINE_USEC);
    return !w->has_overrun;
}

/* Reads from the pipe and handles each complete line. Returns 0 if the pipe is empty. */
static int read_lines(struct nm_worker_process *w)
{
    bool has_line = false;
    char *end;
    ssize_t n = read(w->lines_fd, w->line + w->size, NM_MIN(sizeof w->line - 1 - w->size, READ_BYTES));

    if (n < 0 && errno == EINTR)
        return 1;
    if (n <= 0)
        return 0;
    w->size += (size_t)n;
    while ((end = memchr(w->line, '\n', w->size))) {
        size_t length = (size_t)(end - w->line);

        if (!pay(w))
            return 0;
        has_line = true;
        w->params.line(w->line, length, w->has_ended, w->params.userdata);
        w->size -= length + 1;
        memmove(w->line, end + 1, w->size);
    }
    if (w->size == sizeof w->line - 1)
        w->size = 0; /* too long for a line of a worker */
    return has_line || pay(w);
}

/* Reads once per turn, so that a worker that writes without end takes no more time of the event loop than others. */
static int on_lines(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_worker_process *w = userdata;

    (void)source, (void)fd;
    if (!(revents & EPOLLIN))
        return sd_event_source_set_enabled(w->lines_source, SD_EVENT_OFF);
    (void)read_lines(w);
    if (!w->has_overrun)
        return 0;
    (void)sd_event_source_set_enabled(w->lines_source, SD_EVENT_OFF);
    w->params.overran(w->params.userdata);
    return 0;
}

/* Explains the worker's end for the log and for diagnostics. The worker has already reported failures of its items in
 * its lines. */
static void explain(const char *name, int status, char *reason, size_t size)
{
    if (WIFSIGNALED(status))
        (void)snprintf(reason, size, "%s was killed by signal %d", name, WTERMSIG(status));
    else
        (void)snprintf(reason, size, "%s exited with status %d", name, WEXITSTATUS(status));
}

/* Handles the worker's end. Also kills its process group: children of a fetch command may still run, but their results
 * can't be used. */
static int on_end(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_worker_process *w = userdata;
    char reason[64];

    (void)source, (void)fd, (void)revents;
    (void)sd_event_source_set_enabled(w->end_source, SD_EVENT_OFF);
    explain(w->params.name, end_group(w), reason, sizeof reason);
    w->has_ended = true;
    /* Read the last lines, but no more than the pipe can hold, because another process may continue to write to the
     * pipe. */
    for (int i = 0; i < PIPE_READS && !w->has_overrun && read_lines(w) > 0; i++)
        ;
    (void)sd_event_source_set_enabled(w->lines_source, SD_EVENT_OFF);
    w->params.ended(reason, w->params.userdata);
    return 0;
}

/* ---- in the child ---- */

/* Switches to the user, with the same groups as the container's command. The groups are looked up in the child process,
 * because nmd's event loop must not wait for name services. */
static int become_user(const struct nm_worker_process_params *p)
{
    struct nm_identity who = {.uid = p->uid, .gid = p->gid};
    gid_t *groups = NULL;
    int r = 0;

    if (geteuid() == 0) {
        r = p->account ? nm_groups_find(p->account, p->gid, &groups, &who.n_groups)
                       : nm_groups_find_uid(p->uid, p->gid, &groups, &who.n_groups);
        who.groups = groups;
    }
    return r < 0 ? r : nm_become(&who, &(struct nm_become_options){.no_new_privs = true});
}

/* Removes nmd's priority and protection from the OOM killer. nmd must respond on a full node, but the work is less
 * important than running containers. */
static void reset_priorities(void)
{
    (void)setpriority(PRIO_PROCESS, 0, 0);
    (void)nm_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "500");
}

/* Limits memory, because an archive or a server's answer could otherwise use all memory. Sets only the soft limit,
 * because a command may have another limit (fetch-command.c). */
static void limit(const struct nm_worker_process_params *p)
{
    const struct rlimit memory = {.rlim_cur = p->most_memory_bytes, .rlim_max = RLIM_INFINITY};
    const struct rlimit files = {.rlim_cur = 1024, .rlim_max = 1024};

    (void)setrlimit(RLIMIT_DATA, &memory);
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

static _Noreturn void become_worker(const struct nm_worker_process_params *p, int work_fd, int lines_fd, pid_t nmd)
{
    char *argv[] = {(char *)p->name, NULL};
    char *env[] = {(char *)"PATH=" NM_LOCALIZER_PATH,
                   (char *)"LC_ALL=C.UTF-8", NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), program;

    nm_inherited_end_with(nmd); /* the worker ends with nmd, because its work has no use without nmd */
    nm_inherited_reset_signals();
    (void)setsid();
    /* dup2() is called for all descriptors before any of them is closed */
    if (null < 0 || dup2(work_fd, STDIN_FILENO) < 0 || dup2(lines_fd, STDOUT_FILENO) < 0 ||
        dup2(null, STDERR_FILENO) < 0)
        _exit(126);
    program = dup3(p->program_fd, STDERR_FILENO + 1, O_CLOEXEC);
    if (program < 0 && p->program_fd != STDERR_FILENO + 1)
        _exit(126);
    nm_closefrom(STDERR_FILENO + 2);
    reset_priorities();
    if (become_user(p) < 0)
        _exit(126);
    limit(p); /* after the look-up of groups, which uses memory copied from nmd */
    if (chdir("/") < 0)
        _exit(126);
    (void)fexecve(STDERR_FILENO + 1, argv, env);
    _exit(127);
}

/* ---- in nmd ---- */

/* Writes the work into a memfd. A pipe would have to be written in pieces from the event loop. */
static int make_work(const char *program, const char *text)
{
    _cleanup_close_ int fd = -EBADF;
    char name[64];
    int r;

    (void)snprintf(name, sizeof name, "%s-work", program);
    fd = memfd_create(name, MFD_CLOEXEC);
    r = fd < 0 ? -errno : nm_write_all(fd, text, strlen(text));
    if (r >= 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    return r < 0 ? r : STEAL_FD(fd);
}

static int spawn(struct nm_worker_process *w)
{
    _cleanup_close_ int work = make_work(w->params.name, w->params.work), write_end = -EBADF;
    const pid_t self = getpid();
    int pair[2];

    if (work < 0)
        return work;
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -errno;
    w->lines_fd = pair[0];
    write_end = pair[1];
    if (fcntl(w->lines_fd, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    w->pid = fork();
    if (w->pid < 0) {
        w->pid = 0;
        return -errno;
    }
    if (w->pid == 0)
        become_worker(&w->params, work, write_end, self);
    w->pidfd = RET_NERRNO(pidfd_open(w->pid, 0));
    return w->pidfd < 0 ? w->pidfd : 0;
}

static int watch(struct nm_worker_process *w)
{
    int r = sd_event_add_io(w->params.event, &w->lines_source, w->lines_fd, EPOLLIN, on_lines, w);

    if (r < 0)
        return r;
    r = sd_event_add_io(w->params.event, &w->end_source, w->pidfd, EPOLLIN, on_end, w);
    if (r < 0)
        return r;
    /* A user controls the number of lines, and nmd may have to write to the disk for each line. Because of the low
     * priority, requests to nmd are processed in between. */
    (void)sd_event_source_set_priority(w->lines_source, NM_LOOP_WORK);
    (void)sd_event_source_set_priority(w->end_source, NM_LOOP_WORK);
    (void)sd_event_source_set_description(w->lines_source, "worker-lines");
    (void)sd_event_source_set_description(w->end_source, "worker-end");
    return 0;
}

int nm_worker_process_new(const struct nm_worker_process_params *p, struct nm_worker_process **ret)
{
    _cleanup_(nm_worker_process_freep) struct nm_worker_process *w = calloc(1, sizeof *w);
    int r;

    assert(p->event && p->program_fd >= 0 && p->work && p->name && p->line && p->ended && p->overran);
    if (!w)
        return -ENOMEM;
    w->pidfd = w->lines_fd = -EBADF;
    w->params = *p;
    w->credit_usec = w->most_credit_usec = (LINES_AT_ONCE + p->extra_lines) * LINE_USEC;
    w->paid_usec = nm_clock_usec(CLOCK_MONOTONIC);
    r = spawn(w);
    if (r >= 0)
        r = watch(w);
    if (r < 0)
        return r;
    w->params.work = NULL; /* the worker has a copy of the work */
    *ret = STEAL_PTR(w);
    return 0;
}
