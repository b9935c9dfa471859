/* SPDX-License-Identifier: Apache-2.0 */

/* See shuffle-process.h. */

#include "yarn/launch/shuffle-process.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <jansson.h>

#include "util/autogroup.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/inherited.h"
#include "util/loop.h"

#define LINE_MAX_SIZE (20u << 10) /* metadata of NM_YARN_AUX_METADATA_MAX bytes in hexadecimal fit */
#define LAST_SIZE 300
#define UNSENT_MAX (16u << 20)

/* Splits the output of a pipe into lines. */
struct lines {
    int fd;
    sd_event_source *source;
    char text[LINE_MAX_SIZE];
    size_t size;
};

struct nm_yarn_shuffle_process {
    struct nm_yarn_shuffle_process_params params;
    pid_t pid; /* 0: the process has exited and was reaped */
    int pidfd, in_fd;
    sd_event_source *in_source, *end_source;
    struct lines out, err;
    char *unsent; /* bytes that could not be written to the pipe yet */
    size_t unsent_size;
    bool is_listening;
    char last[LAST_SIZE]; /* last line that the process wrote to its standard error */
};

/* ---- in the child ------------------------------------------------------------------------- */

/* Resets the priorities that nmd has set for itself so that it responds on busy nodes. nm-shuffle serves other hosts
 * and must not have them. */
static void reset_priorities(uint64_t most_files, int nice)
{
    struct rlimit files;

    (void)setpriority(PRIO_PROCESS, 0, nice);
    (void)nm_autogroup_set_own_nice(nice);
    (void)nm_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "0");
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = NM_MIN(files.rlim_max, (rlim_t)most_files);
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

static _Noreturn void become(const struct nm_yarn_shuffle_process_params *p, int in, int out, int err, pid_t nmd)
{
    static const char *const usual[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", NULL};
    char *const *env = (char *const *)(p->env ?: usual);
    int program;

    /* nm-shuffle exits at the end of its input. A stopped nm-shuffle (SIGSTOP) doesn't read its input, and would keep
     * its port. */
    nm_inherited_end_with(nmd);
    nm_inherited_reset_signals();
    (void)setsid();
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(126);
    program = p->path ? 0 : dup3(p->program_fd, STDERR_FILENO + 1, O_CLOEXEC);
    if (program < 0 && p->program_fd != STDERR_FILENO + 1)
        _exit(126);
    nm_closefrom(STDERR_FILENO + (p->path ? 1 : 2));
    reset_priorities(p->most_files, p->nice);
    if (chdir("/") < 0 || (p->as && nm_become(p->as, &(struct nm_become_options){.no_new_privs = true}) < 0))
        _exit(126);
    if (p->path)
        (void)execve(p->path, (char *const *)p->argv, env);
    else
        (void)fexecve(STDERR_FILENO + 1, (char *const *)p->argv, env);
    _exit(127);
}

/* Kills a process whose input can't be written. Its end is handled like any other end, and the next process gets all
 * jobs. */
static int give_up(struct nm_yarn_shuffle_process *p)
{
    if (p->pid > 0)
        (void)kill(p->pid, SIGKILL);
    if (p->unsent)
        explicit_bzero(p->unsent, p->unsent_size);
    p->unsent_size = 0;
    return -EPIPE;
}

/* ---- output ------------------------------------------------------------------------------- */

static uint64_t count_of(const json_t *o, const char *name)
{
    return (uint64_t)NM_MAX(json_integer_value(json_object_get(o, name)), (json_int_t)0);
}

/* Reads the figures of an application. Returns whether it has a valid id, which becomes a part of sentences. */
static bool read_usage(const json_t *o, struct nm_yarn_shuffle_usage *ret)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *id = json_string_value(json_object_get(o, "application"));

    if (!id || !*id || strlen(id) >= sizeof ret->application || id[strspn(id, allowed)])
        return false;
    *ret = (struct nm_yarn_shuffle_usage){
        .outputs_ok = count_of(o, "outputs_ok"),
        .outputs_failed = count_of(o, "outputs_failed"),
        .sent_bytes = count_of(o, "sent_bytes"),
        .slow = count_of(o, "slow"),
        .connections = count_of(o, "open"),
        .streams = count_of(o, "streams"),
        .stalled = count_of(o, "stalled"),
    };
    (void)strcpy(ret->application, id);
    return true;
}

static void handle_top(struct nm_yarn_shuffle_process *p, const json_t *array)
{
    struct nm_yarn_shuffle_usage top[NM_YARN_SHUFFLE_TOP_MAX];
    const json_t *o;
    size_t i, n = 0;

    json_array_foreach(array, i, o)
        if (n < NM_ARRAY_SIZE(top))
            n += read_usage(o, &top[n]);
    p->params.listed(top, n, p->params.userdata);
}

/* Passes the figures of nm-shuffle's answer on. nm-shuffle's answers to other lines have no figures. */
static void handle_figures(struct nm_yarn_shuffle_process *p, const json_t *answer)
{
    const struct nm_yarn_shuffle_figures f = {
        .outputs_ok = count_of(answer, "outputs_ok"),
        .outputs_failed = count_of(answer, "outputs_failed"),
        .sent_bytes = count_of(answer, "sent_bytes"),
        .refused = count_of(answer, "refused"),
        .slow = count_of(answer, "slow"),
        .connections = count_of(answer, "open"),
        .executors = count_of(answer, "executors"),
        .streams = count_of(answer, "streams"),
        .stalled = count_of(answer, "stalled"),
    };
    const json_t *ended = json_object_get(answer, "ended");
    struct nm_yarn_shuffle_usage usage;

    if (ended) {
        if (p->params.forgotten && read_usage(ended, &usage))
            p->params.forgotten(&usage, p->params.userdata);
        return;
    }
    if (p->params.listed && json_object_get(answer, "top"))
        handle_top(p, json_object_get(answer, "top"));
    if (json_object_size(answer) > 0)
        p->params.counted(&f, p->params.userdata);
}

/* Handles a line of output. If the line can't be parsed, for example for lack of memory, it may have been the
 * "listening" line, so the process is killed. */
static void handle_line(struct nm_yarn_shuffle_process *p, const char *line)
{
    json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, NULL), *value;

    if (!o && p->params.other)
        (void)snprintf(p->last, sizeof p->last, "%.*s", LAST_SIZE - 1, line); /* a message of the virtual machine */
    else if (!o && !p->is_listening)
        (void)give_up(p);
    if ((value = json_object_get(o, "listening")) && json_integer_value(value) > 0 &&
        json_integer_value(value) <= UINT16_MAX) {
        p->is_listening = true;
        p->params.listening((uint16_t)json_integer_value(value), p->params.userdata);
    } else if ((value = json_object_get(o, "error")) && json_is_string(value))
        p->params.refused(json_string_value(value), p->params.userdata);
    else if ((value = json_object_get(o, "ok")))
        handle_figures(p, value);
    else if (o && p->params.other)
        p->params.other(o, p->params.userdata);
    json_decref(o);
}

/* Reads lines. Returns true if there was input. A line that is too long is handled in pieces, none of which is a valid
 * line. */
static bool read_lines(struct nm_yarn_shuffle_process *p, struct lines *l)
{
    ssize_t n = read(l->fd, l->text + l->size, sizeof l->text - 1 - l->size);
    char *end;

    if (n <= 0)
        return n < 0 && errno == EINTR;
    l->size += (size_t)n;
    l->text[l->size] = '\0';
    while ((end = strchr(l->text, '\n')) || l->size == sizeof l->text - 1) {
        size_t used = end ? (size_t)(end - l->text) + 1 : l->size;

        if (end)
            *end = '\0';
        if (l == &p->err)
            (void)snprintf(p->last, sizeof p->last, "%.*s", LAST_SIZE - 1, l->text);
        else
            handle_line(p, l->text);
        l->size -= used;
        memmove(l->text, l->text + used, l->size + 1);
    }
    return true;
}

static int on_lines(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_yarn_shuffle_process *p = userdata;
    struct lines *l = fd == p->err.fd ? &p->err : &p->out;

    if (!read_lines(p, l) && (revents & (EPOLLHUP | EPOLLERR)))
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
    return 0;
}

/* ---- input -------------------------------------------------------------------------------- */

/* Writes as many bytes as the pipe takes without blocking. */
static int write_unsent(struct nm_yarn_shuffle_process *p)
{
    while (p->unsent_size > 0) {
        ssize_t n = write(p->in_fd, p->unsent, p->unsent_size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        p->unsent_size -= (size_t)n;
        memmove(p->unsent, p->unsent + n, p->unsent_size);
        explicit_bzero(p->unsent + p->unsent_size, (size_t)n); /* the bytes contain keys */
    }
    return 0;
}

static int arm(struct nm_yarn_shuffle_process *p)
{
    return sd_event_source_set_enabled(p->in_source, p->unsent_size > 0 ? SD_EVENT_ON : SD_EVENT_OFF);
}

static int on_room(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_yarn_shuffle_process *p = userdata;

    (void)source, (void)fd, (void)revents;
    if (write_unsent(p) < 0)
        (void)give_up(p);
    return arm(p);
}

int nm_yarn_shuffle_process_send(struct nm_yarn_shuffle_process *p, const char *line)
{
    const size_t size = strlen(line);
    char *larger = NULL;

    if (p->pid == 0)
        return -EPIPE;
    if (p->unsent_size + size + 1 <= UNSENT_MAX)
        larger = malloc(p->unsent_size + size + 1); /* realloc() could leave a copy of keys in freed memory */
    if (!larger)
        return give_up(p);
    if (p->unsent_size > 0)
        memcpy(larger, p->unsent, p->unsent_size);
    memcpy(larger + p->unsent_size, line, size);
    larger[p->unsent_size + size] = '\n';
    if (p->unsent)
        explicit_bzero(p->unsent, p->unsent_size);
    free(p->unsent);
    p->unsent = larger;
    p->unsent_size += size + 1;
    return write_unsent(p) < 0 ? give_up(p) : arm(p);
}

/* ---- end ---------------------------------------------------------------------------------- */

/* Reaps the process. Before that, the kernel doesn't reuse its pid. */
static int reap(struct nm_yarn_shuffle_process *p)
{
    int status = 0;

    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    p->pid = 0;
    return status;
}

void nm_yarn_shuffle_process_last(struct nm_yarn_shuffle_process *p, char *buf, size_t size)
{
    while (read_lines(p, &p->err))
        ;
    if (*p->last)
        (void)snprintf(buf, size, "%s", p->last);
}

static int on_end(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_yarn_shuffle_process *p = userdata;
    char last[LAST_SIZE] = "", why[LAST_SIZE + 100];
    const char *name = p->params.name ?: "nm-shuffle";
    int status = reap(p);

    (void)source, (void)fd, (void)revents;
    (void)sd_event_source_set_enabled(p->end_source, SD_EVENT_OFF);
    nm_yarn_shuffle_process_last(p, last, sizeof last);
    if (WIFSIGNALED(status))
        (void)snprintf(why, sizeof why, "%s was killed by signal %d", name, WTERMSIG(status));
    else
        (void)snprintf(why, sizeof why, "%s exited with status %d%s%s", name, WEXITSTATUS(status),
                       *last ? ": " : "", last);
    p->params.ended(why, p->params.userdata);
    return 0;
}

pid_t nm_yarn_shuffle_process_pid(const struct nm_yarn_shuffle_process *p)
{
    return p->pid;
}

/* Sets the nice value of the process group, which contains only this process. With PRIO_PGRP the kernel changes all
 * threads, with PRIO_PROCESS only one thread. */
int nm_yarn_shuffle_process_set_nice(struct nm_yarn_shuffle_process *p, int nice)
{
    if (p->pid <= 0)
        return -ESRCH;
    (void)nm_autogroup_set_nice(p->pid, nice);
    return RET_NERRNO(setpriority(PRIO_PGRP, (id_t)p->pid, nice));
}

void nm_yarn_shuffle_process_wait(struct nm_yarn_shuffle_process *p, uint64_t timeout_usec)
{
    const uint64_t end_usec = nm_now_usec() + timeout_usec;

    while (!p->is_listening) {
        struct pollfd fds[] = {{.fd = p->out.fd, .events = POLLIN}, {.fd = p->pidfd, .events = POLLIN}};
        const uint64_t left_usec = nm_sub_u64(end_usec, nm_now_usec());

        if (left_usec == 0 || (poll(fds, NM_ARRAY_SIZE(fds), (int)(left_usec / 1000) + 1) < 0 && errno != EINTR))
            return;
        if (!read_lines(p, &p->out) && (fds[1].revents & POLLIN))
            return;
    }
}

/* ---- start -------------------------------------------------------------------------------- */

static int make_pipe(int *ret_read, int *ret_write)
{
    int pair[2];

    if (pipe2(pair, O_CLOEXEC) < 0)
        return -errno;
    *ret_read = pair[0];
    *ret_write = pair[1];
    return 0;
}

static int spawn(struct nm_yarn_shuffle_process *p)
{
    _cleanup_close_ int in = -EBADF, out = -EBADF, err = -EBADF;
    const pid_t nmd = getpid();
    int r = make_pipe(&in, &p->in_fd);

    if (r >= 0)
        r = make_pipe(&p->out.fd, &out);
    if (r >= 0)
        r = make_pipe(&p->err.fd, &err);
    if (r < 0)
        return r;
    if (fcntl(p->in_fd, F_SETFL, O_NONBLOCK) < 0 || fcntl(p->out.fd, F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(p->err.fd, F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    p->pid = fork();
    if (p->pid == 0)
        become(&p->params, in, out, err, nmd);
    if (p->pid < 0) {
        p->pid = 0;
        return -errno;
    }
    p->pidfd = RET_NERRNO(pidfd_open(p->pid, 0));
    return p->pidfd < 0 ? p->pidfd : 0;
}

static int watch(struct nm_yarn_shuffle_process *p)
{
    sd_event *e = p->params.event;
    int r = sd_event_add_io(e, &p->out.source, p->out.fd, EPOLLIN, on_lines, p);

    if (r >= 0)
        r = sd_event_add_io(e, &p->err.source, p->err.fd, EPOLLIN, on_lines, p);
    if (r >= 0)
        r = sd_event_add_io(e, &p->in_source, p->in_fd, EPOLLOUT, on_room, p);
    if (r >= 0)
        r = sd_event_source_set_enabled(p->in_source, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_io(e, &p->end_source, p->pidfd, EPOLLIN, on_end, p);
    /* the output of the process must be handled before its end */
    return r < 0 ? r : sd_event_source_set_priority(p->end_source, NM_LOOP_LATE);
}

int nm_yarn_shuffle_process_new(const struct nm_yarn_shuffle_process_params *params,
                                struct nm_yarn_shuffle_process **ret)
{
    _cleanup_(nm_yarn_shuffle_process_freep) struct nm_yarn_shuffle_process *p = calloc(1, sizeof *p);
    int r;

    assert(params->listening && params->refused && params->counted && params->ended);
    if (!p)
        return -ENOMEM;
    p->params = *params;
    p->pidfd = p->in_fd = p->out.fd = p->err.fd = -EBADF;
    r = spawn(p);
    if (r >= 0)
        r = watch(p);
    if (r < 0)
        return r;
    p->params.argv = p->params.env = NULL; /* the caller's arrays are not used after this function */
    *ret = STEAL_PTR(p);
    return 0;
}

/* Kills the process. The process would also exit at the end of its input, but later, and the next process needs the
 * port immediately. */
struct nm_yarn_shuffle_process *nm_yarn_shuffle_process_free(struct nm_yarn_shuffle_process *p)
{
    if (!p)
        return NULL;
    (void)sd_event_source_disable_unref(p->in_source);
    (void)sd_event_source_disable_unref(p->end_source);
    (void)sd_event_source_disable_unref(p->out.source);
    (void)sd_event_source_disable_unref(p->err.source);
    if (p->pid > 0) {
        (void)kill(p->pid, SIGKILL);
        (void)reap(p);
    }
    (void)nm_close(p->pidfd);
    (void)nm_close(p->in_fd);
    (void)nm_close(p->out.fd);
    (void)nm_close(p->err.fd);
    if (p->unsent)
        explicit_bzero(p->unsent, p->unsent_size);
    free(p->unsent);
    free(p);
    return NULL;
}
