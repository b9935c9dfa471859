/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nmd --record FILE: records requests, states and samples as a trace for nmsim. See trace.h for the format.
 *
 * A recording must not delay or stop nmd. Events are collected in a buffer, which is written to the file every 5 s or
 * when it has 64 KiB. Memory is allocated when a container is submitted, but never during a sample. If the file can't
 * be written (a full disk) or exceeds 4 GiB, nmd cuts it after its last complete line, logs one message, and continues
 * without the recording.
 */

#include "agent/manager/manager-internal.h"

#include <assert.h>
#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>

#include "agent/trace.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/parse.h"

#define FLUSH_BYTES (64 * 1024)
#define FLUSH_USEC (5 * NM_USEC_PER_SEC)
#define FILE_BYTES_MAX (UINT64_C(4) << 30)

struct nm_recorder {
    struct nm_manager *m;
    struct nm_subscription *subscription;
    int fd;
    char *path;
    struct nm_trace_buffer buffer;
    uint64_t begun_usec, flushed_usec;
    uint64_t written_bytes; /* size of the complete lines in the file */
};

/* The container's state as last written to the recording. */
struct nm_recorded {
    enum nm_execution_type type;
    struct nm_resources request, use;
    bool used; /* `use` was written */
    bool started; /* the start was written */
};

/* ---- the file ------------------------------------------------------------ */

/* Ends the recording after an error. nmd continues without a recording. The recorder stays subscribed to events, but
 * ignores them. */
static void give_up(struct nm_recorder *r, const char *why)
{
    char size[32];

    (void)!ftruncate(r->fd, (off_t)r->written_bytes);
    r->fd = nm_close(r->fd);
    nm_warning("the recording to %s has ended after %s: %s; the file can be replayed, and nmd keeps running without a "
               "recording",
               r->path, nm_format_size(r->written_bytes, size, sizeof size), why);
}

static void flush(struct nm_recorder *r)
{
    struct nm_trace_buffer *b = &r->buffer;
    size_t at = 0;

    if (r->fd < 0)
        return;
    while (at < b->len) {
        ssize_t n = write(r->fd, b->text + at, b->len - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            give_up(r, n < 0 ? strerror(errno) : "no bytes could be written");
            break;
        }
        at += (size_t)n;
    }
    r->written_bytes += at;
    b->len = 0;
    r->flushed_usec = nm_now_usec();
    if (r->fd >= 0 && r->written_bytes > FILE_BYTES_MAX)
        give_up(r, "it has become too large");
}

static void flush_if_due(struct nm_recorder *r)
{
    if (r->buffer.len > FLUSH_BYTES || nm_now_usec() - r->flushed_usec > FLUSH_USEC)
        flush(r);
}

/* Checks an existing file. Returns 0 for an empty file, and 1 for an earlier recording. Refuses all other files, so
 * that they are not overwritten. */
static int check_file(int fd, const char *path, char **ret_message)
{
    static const char magic[] = "{\"nmd_trace\":";
    char head[sizeof magic] = "";
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return nm_fail(ret_message, -EINVAL, "--record %s: it must be a regular file", path);
    if (st.st_size == 0)
        return 0;
    if (pread(fd, head, sizeof magic - 1, 0) < 0)
        return -errno;
    if (!nm_streq(head, magic))
        return nm_fail(ret_message, -EEXIST,
                       "--record %s: the file exists and is not a trace; name another file, or remove it",
                       path);
    return 1;
}

static int set_aside(const char *path)
{
    char aside[PATH_MAX];

    if ((size_t)snprintf(aside, sizeof aside, "%s.1", path) >= sizeof aside)
        return -ENAMETOOLONG;
    return rename(path, aside) < 0 ? -errno : 1;
}

static int open_file(const char *path, char **ret_message)
{
    /* with O_NONBLOCK, open() does not wait for a reader if the file is a FIFO */
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_APPEND;
    _cleanup_close_ int fd = open(path, flags, 0640);
    int r;

    if (fd < 0)
        return -errno;
    r = check_file(fd, path, ret_message);
    if (r > 0)
        r = set_aside(path);
    if (r < 0)
        return r;
    if (r > 0) {
        fd = nm_close(fd);
        fd = open(path, flags | O_EXCL, 0640);
    }
    if (fd < 0 || fchmod(fd, 0640) < 0) /* the file's group may read it, whatever the umask is */
        return -errno;
    return STEAL_FD(fd);
}

/* ---- events -------------------------------------------------------------- */

/* Begins a line. Returns false if the recording has ended. Then the caller must not write. */
static bool begin(struct nm_recorder *r, const char *event, const struct nm_container *c)
{
    if (r->fd < 0)
        return false;
    nm_trace_begin(&r->buffer, nm_now_usec() - r->begun_usec, event);
    if (c)
        nm_trace_put(&r->buffer, "c", c->view.seq);
    return true;
}

static void put_event(struct nm_recorder *r, const char *event, const struct nm_container *c)
{
    if (!begin(r, event, c))
        return;
    nm_trace_end(&r->buffer);
    flush_if_due(r);
}

static int remember(struct nm_live_container *l)
{
    if (!l->recorded) /* an earlier recording may have left it */
        l->recorded = calloc(1, sizeof *l->recorded);
    if (!l->recorded)
        return -ENOMEM;
    *l->recorded = (struct nm_recorded){.type = l->c->view.type, .request = l->c->view.request};
    return 0;
}

/* Returns whether the container's submission was recorded. A container that is being prepared is recorded only when it
 * enters the queue. */
static bool is_reported(const struct nm_live_container *l)
{
    return l->recorded;
}

/* Records the submission of a container. For a container that ran before the recording began, includes its run time, so
 * that a replay does not treat the container as new. Reserves memory for the container's row in each sample. */
static void report_submit(struct nm_recorder *r, struct nm_live_container *l)
{
    const struct nm_container *c = l->c;
    uint64_t now = nm_now_usec(), ran = UINT64_MAX;
    int rc;

    if (r->fd < 0)
        return;
    if (c->view.state >= NM_RUNNING)
        ran = nm_sub_u64(now, c->view.started_usec);
    rc = nm_trace_reserve(&r->buffer, FLUSH_BYTES, r->m->live.n + 16);
    if (rc >= 0)
        rc = remember(l);
    if (rc < 0) {
        give_up(r, strerror(-rc));
        return;
    }
    nm_trace_begin_submit(&r->buffer, now - r->begun_usec, &c->view, c->name, c->app, ran);
    nm_trace_end(&r->buffer);
    flush_if_due(r);
    if (c->view.state == NM_PAUSED)
        put_event(r, "pause", c);
    else if (c->view.state == NM_KILLING)
        put_event(r, "kill", c);
}

/* Records the start once. If a container runs again, the trace has no second start, and a replay sees a container that
 * uses less for some time. */
static void report_start(struct nm_recorder *r, struct nm_live_container *l)
{
    if (!l->recorded->started)
        put_event(r, "start", l->c);
    l->recorded->started = true;
}

static void report_end(struct nm_recorder *r, const struct nm_container *c)
{
    if (!begin(r, "end", c))
        return;
    nm_trace_put_word(&r->buffer, "reason", nm_exit_reason_name(c->exit_reason));
    nm_trace_put(&r->buffer, "memory", c->memory_peak_bytes);
    nm_trace_put(&r->buffer, "cpu_usec", c->view.cpu_usage_usec);
    nm_trace_end(&r->buffer);
    flush_if_due(r);
}

/* Records a refused request, which another configuration might have accepted. */
static void report_refused(struct nm_recorder *r, const struct nm_decision *d)
{
    if (!begin(r, "refused", NULL))
        return;
    nm_trace_put_word(&r->buffer, "type", nm_execution_type_name(d->type));
    nm_trace_put(&r->buffer, "memory", d->request.memory_bytes);
    nm_trace_put(&r->buffer, "cpu", d->request.cpu_millicores);
    if (d->container_name[0])
        nm_trace_put_word(&r->buffer, "name", d->container_name);
    nm_trace_put_word(&r->buffer, "reason", nm_reason_name(d->reason));
    nm_trace_end(&r->buffer);
    flush_if_due(r);
}

/* Handles an event of the manager: a refusal or a change of state. The recorder is a normal subscriber. */
static void on_event(const struct nm_event *e, void *userdata)
{
    struct nm_recorder *r = userdata;
    struct nm_live_container *l;

    if (e->kind == NM_EVENT_DECISION && e->decision->kind == NM_DECISION_REFUSE)
        report_refused(r, e->decision);
    if (e->kind != NM_EVENT_STATE)
        return;
    l = e->container->view.owner;
    if (e->to == NM_SCHEDULED && e->from < NM_SCHEDULED && !is_reported(l))
        report_submit(r, l);
    else if (!is_reported(l))
        return;
    else if (e->to == NM_COMPLETED)
        report_end(r, e->container);
    else if (e->to == NM_KILLING)
        put_event(r, "kill", e->container);
    else if (e->to == NM_PAUSED)
        put_event(r, "pause", e->container);
    else if (e->to == NM_RUNNING && e->from != NM_SCHEDULED)
        put_event(r, "resume", e->container);
    else if (e->to == NM_RUNNING)
        report_start(r, l);
}

/* ---- samples ------------------------------------------------------------- */

/* Records a promotion, demotion or change of size. Such changes cause no event, so they are detected at the next
 * sample. */
static void report_change(struct nm_recorder *r, struct nm_live_container *l)
{
    const struct nm_policy_container *v = &l->c->view;
    struct nm_recorded *last = l->recorded;

    if (!is_reported(l))
        return;
    if (v->type == last->type && v->request.memory_bytes == last->request.memory_bytes &&
        v->request.cpu_millicores == last->request.cpu_millicores)
        return;
    last->type = v->type;
    last->request = v->request;
    if (!begin(r, "change", l->c))
        return;
    nm_trace_put_word(&r->buffer, "type", nm_execution_type_name(v->type));
    nm_trace_put(&r->buffer, "memory", v->request.memory_bytes);
    nm_trace_put(&r->buffer, "cpu", v->request.cpu_millicores);
    nm_trace_end(&r->buffer);
    flush_if_due(r);
}

/* Writes a container's row only if its use has changed since the last row. So most samples have no row for most
 * containers. */
static void put_use(struct nm_recorder *r, struct nm_live_container *l)
{
    const struct nm_policy_container *v = &l->c->view;
    struct nm_recorded *last = l->recorded;

    if (!is_reported(l) || v->state < NM_RUNNING || v->state > NM_KILLING)
        return;
    if (last->used && v->measured.memory_bytes == last->use.memory_bytes &&
        v->measured.cpu_millicores == last->use.cpu_millicores)
        return;
    last->used = true;
    last->use = v->measured;
    nm_trace_put_row(&r->buffer,
                     (const uint64_t[]){v->seq, v->measured.memory_bytes,
                                        v->measured.cpu_millicores, v->cpu_usage_usec},
                     4);
}

/* Writes a sample. Omits a sample without the node's memory and CPU use, since a replay could not decide on such a
 * sample. */
void nm_recorder_sample(struct nm_recorder *r)
{
    const struct nm_manager *m = r->m;
    const struct nm_node_sample *n = &m->sampled.node;

    assert(r && r->m);
    if (r->fd < 0 || !m->sampled.node_valid)
        return;
    for (size_t i = 0; i < m->live.n; i++)
        report_change(r, m->live.all[i]);
    (void)begin(r, "sample", NULL);
    nm_trace_put(&r->buffer, "memory",
                 nm_sub_u64(n->memory_total_bytes, n->memory_available_bytes));
    if (n->cpu_valid)
        nm_trace_put(&r->buffer, "cpu", n->cpu_busy_millicores);
    nm_trace_put(&r->buffer, "swap_free", n->swap_free_bytes);
    nm_trace_begin_rows(&r->buffer, "use");
    for (size_t i = 0; i < m->live.n; i++)
        put_use(r, m->live.all[i]);
    nm_trace_end_rows(&r->buffer);
    nm_trace_end(&r->buffer);
    flush_if_due(r);
}

/* ---- life cycle ---------------------------------------------------------- */

static int put_header(struct nm_recorder *r)
{
    const struct nm_manager *m = r->m;
    struct nm_trace_header h = {
        .recorded_usec = nm_realtime_usec(),
        .period_usec = m->config->period_usec,
        .memory_bytes = m->sampled.node.memory_total_bytes,
        .swap_bytes = m->sampled.node.swap_total_bytes,
        .n_cpus = m->sampled.node.n_cpus,
    };
    _cleanup_free_ char *text = NULL;
    size_t len;
    int rc;

    memcpy(h.feature, m->backend->feature, sizeof h.feature);
    if (gethostname(h.host, sizeof h.host) < 0)
        h.host[0] = '\0';
    h.host[sizeof h.host - 1] = '\0';
    rc = nm_trace_header_text(&h, m->config, &text);
    if (rc < 0)
        return rc;
    len = strlen(text);
    for (size_t at = 0; at < len;) {
        ssize_t n = write(r->fd, text + at, len - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += (size_t)n;
    }
    r->written_bytes = len;
    return 0;
}

/* Subscribes to events, and then records the live containers. No container is missed or recorded twice, since no events
 * occur between these two steps. */
static int begin_recording(struct nm_recorder *r, const char *path, char **ret_message)
{
    int rc;

    r->path = strdup(path);
    if (!r->path)
        return -ENOMEM;
    r->fd = open_file(path, ret_message);
    if (r->fd < 0)
        return r->fd;
    rc = put_header(r);
    if (rc >= 0)
        rc = nm_trace_reserve(&r->buffer, FLUSH_BYTES, 0);
    if (rc >= 0)
        rc = nm_manager_subscribe(r->m, on_event, r, &r->subscription);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < r->m->live.n; i++)
        if (!nm_policy_container_in_preparation(r->m->live.views[i]))
            report_submit(r, r->m->live.all[i]);
    return 0;
}

static int refuse(const char *path, int r, char **ret_message)
{
    return *ret_message ? r : nm_fail(ret_message, r, "--record %s: can't be written: %s", path, strerror(-r));
}

int nm_manager_check_record(const char *path, char **ret_message)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    _cleanup_free_ char *copy = strdup(path);
    int r = fd < 0 ? -errno : 0;

    *ret_message = NULL;
    if (!copy)
        return -ENOMEM;
    if (r == 0)
        r = check_file(fd, path, ret_message);
    if (r == -ENOENT || r > 0) /* the file is missing, or is an earlier recording that will be renamed: the directory
                                  must be writable */
        r = RET_NERRNO(faccessat(AT_FDCWD, dirname(copy), W_OK | X_OK, AT_EACCESS));
    else if (r == 0)
        r = RET_NERRNO(faccessat(AT_FDCWD, path, W_OK, AT_EACCESS));
    return r < 0 ? refuse(path, r, ret_message) : 0;
}

int nm_manager_record(struct nm_manager *m, const char *path, char **ret_message)
{
    _cleanup_(nm_recorder_freep) struct nm_recorder *r = calloc(1, sizeof *r);
    int rc;

    assert(path && !m->recorder);
    *ret_message = NULL;
    if (!r)
        return -ENOMEM;
    r->fd = -EBADF;
    r->m = m;
    r->begun_usec = r->flushed_usec = nm_now_usec();
    rc = begin_recording(r, path, ret_message);
    if (rc < 0)
        return refuse(path, rc, ret_message);
    m->recorder = STEAL_PTR(r);
    return 0;
}

/* Ends a recording with the event "stop". If nmd is killed, the recording has no "stop", but can still be replayed. */
struct nm_recorder *nm_recorder_free(struct nm_recorder *r)
{
    if (!r)
        return NULL;
    if (r->subscription) {
        put_event(r, "stop", NULL);
        flush(r);
        nm_subscription_free(r->subscription);
    }
    nm_close(r->fd);
    nm_trace_buffer_done(&r->buffer);
    free(r->path);
    free(r);
    return NULL;
}
