/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See stream.h. libmicrohttpd asks for more bytes through a callback; with none to give, the
 * callback suspends its connection and returns 0. A suspended connection isn't watched by the
 * library at all, so that a client that hangs up would go unseen until the next event: each stream
 * watches its socket for EPOLLHUP on its own meanwhile.
 */

#include "rpc/local/stream.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "rpc/local/messages.h"
#include "rpc/local/server-internal.h"
#include "rpc/local/tail.h"

#define BLOCK_SIZE 16384u
#define EVENTS_PER_REFILL 32u
/* Where inotify has no watches left, the file is looked at this often. */
#define POLL_USEC (250 * NM_USEC_PER_MSEC)

enum stream_kind { STREAM_EVENTS, STREAM_LOGS, STREAM_WAIT };

struct nm_streams {
    sd_event *event;
    struct nm_manager *manager;
    struct nm_subscription *subscription; /* one for all of them, however many there are */
    struct nm_stream *first;
    bool stopping;
};

struct nm_stream {
    struct nm_local_server *server;
    struct nm_streams *all;
    struct nm_stream *next, **prev_next;
    enum stream_kind kind;
    struct MHD_Connection *connection;
    struct nm_caller caller;
    bool follow, suspended, gone;
    sd_event_source *hangup;

    uint64_t after; /* events: the last number sent */
    char *pending;  /* events: lines that are ready to be sent */
    size_t pending_len, pending_pos;

    char container_id[NM_ID_SIZE]; /* logs, wait */
    bool completed;
    char name[8]; /* logs: of the file */
    int fd;
    uint64_t tail;
    off_t offset;
    sd_event_source *changed;
};

/* What the ring holds is looked at as a whole, to notice what fell out of it; visible() then
 * filters. */
static const struct nm_caller everything = {.uid = 0, .gid = 0, .pid = 0, .admin = true};

/* ---- all streams -------------------------------------------------------------------------- */

/* Only resumes. What there is to send is fetched when the library asks, so that many events in a
 * row become one piece. */
static void wake(struct nm_stream *s)
{
    if (!s->suspended)
        return;
    s->suspended = false;
    (void)sd_event_source_set_enabled(s->hangup, SD_EVENT_OFF);
    nm_local_server_resume(s->server, s->connection);
}

/* The end is noted in the stream itself: by the time that the library asks, the container may have
 * been forgotten. */
static void on_event(const struct nm_event *e, void *userdata)
{
    struct nm_streams *all = userdata;

    for (struct nm_stream *s = all->first; s; s = s->next) {
        bool mine = e->container && nm_streq(e->container->id, s->container_id);
        if (mine && e->kind == NM_EVENT_STATE && e->to == NM_COMPLETED)
            s->completed = true;
        if (s->kind == STREAM_EVENTS || (mine && (s->kind == STREAM_LOGS || s->completed)))
            wake(s);
    }
}

int nm_streams_new(sd_event *event, struct nm_manager *m, struct nm_streams **ret)
{
    _cleanup_(nm_streams_freep) struct nm_streams *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    s->event = sd_event_ref(event);
    s->manager = m;
    r = nm_manager_subscribe(m, on_event, s, &s->subscription);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(s);
    return 0;
}

struct nm_streams *nm_streams_free(struct nm_streams *s)
{
    if (!s)
        return NULL;
    nm_subscription_free(s->subscription);
    sd_event_unref(s->event);
    free(s);
    return NULL;
}

/* All come once more, see that they are stopped, and end: the library must not be stopped with one
 * suspended. */
void nm_streams_stop(struct nm_streams *s)
{
    s->stopping = true;
    for (struct nm_stream *i = s->first; i; i = i->next)
        wake(i);
}

/* ---- one stream --------------------------------------------------------------------------- */

/* Resumed once more, so that the library finds the connection closed and frees the stream. */
static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_stream *s = userdata;

    (void)source, (void)fd, (void)revents;
    s->gone = true;
    wake(s);
    return 0;
}

static int stream_new(struct nm_call *call, enum stream_kind kind, struct nm_stream **ret)
{
    struct nm_streams *all = nm_local_server_streams(call->server);
    struct nm_stream *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    s->kind = kind;
    s->server = call->server;
    s->connection = call->connection;
    s->caller = call->caller;
    s->fd = -EBADF;
    /* No events asked for: EPOLLHUP and EPOLLERR come unasked, and a client that only half-closed
     * is still there. */
    r = sd_event_add_io(all->event, &s->hangup, nm_local_server_connection(call->connection)->fd, 0,
                        on_hangup, s);
    if (r >= 0)
        r = sd_event_source_set_enabled(s->hangup, SD_EVENT_OFF);
    if (r < 0) {
        sd_event_source_disable_unref(s->hangup);
        free(s);
        return r;
    }
    s->all = all;
    s->next = all->first;
    s->prev_next = &all->first;
    if (s->next)
        s->next->prev_next = &s->next;
    all->first = s;
    *ret = s;
    return 0;
}

struct nm_stream *nm_stream_free(struct nm_stream *s)
{
    if (!s)
        return NULL;
    *s->prev_next = s->next;
    if (s->next)
        s->next->prev_next = s->prev_next;
    sd_event_source_disable_unref(s->hangup);
    sd_event_source_disable_unref(s->changed);
    nm_close(s->fd);
    free(s->pending);
    free(s);
    return NULL;
}

static void suspend(struct nm_stream *s)
{
    s->suspended = true;
    MHD_suspend_connection(s->connection);
    (void)sd_event_source_set_enabled(s->hangup, SD_EVENT_ON);
}

bool nm_stream_stopped(const struct nm_stream *s)
{
    return s->gone || s->all->stopping;
}

const char *nm_stream_container_id(const struct nm_stream *s)
{
    return s->container_id;
}

bool nm_stream_follows(const struct nm_stream *s)
{
    return s->follow;
}

/* Makes the stream the call's answer. size: how much there will be, or MHD_SIZE_UNKNOWN. */
static int answer(struct nm_call *call, struct nm_stream *s, uint64_t size,
                  const char *content_type, MHD_ContentReaderCallback reader)
{
    int r = nm_call_answer(call, 200, content_type,
                           MHD_create_response_from_callback(size, BLOCK_SIZE, reader, s, NULL));

    call->stream = s; /* freed with the call, which outlives the last call of the reader */
    if (r == 0 && s->follow)
        (void)MHD_add_response_header(call->answer, MHD_HTTP_HEADER_CONNECTION, "close");
    return r;
}

/* ---- events ------------------------------------------------------------------------------- */

struct refill {
    struct nm_stream *stream;
    FILE *f;
    unsigned n;
    bool any;
};

/* Somebody else's containers have no events for this reader; those of the node are for all. */
static bool visible(const struct nm_caller *who, const struct nm_event_record *e)
{
    return who->admin || e->kind == NM_EVENT_NODE || e->submitter_uid == who->uid;
}

static void refill_event(const struct nm_event_record *e, void *userdata)
{
    struct refill *f = userdata;
    struct nm_stream *s = f->stream;
    json_t *j;

    if (f->n >= EVENTS_PER_REFILL)
        return;
    if (s->after > 0 && e->number > s->after + 1) {
        (void)fprintf(f->f, "{\"lost\":%llu}\n", (unsigned long long)(e->number - s->after - 1));
        f->n++;
    }
    s->after = e->number;
    f->any = true;
    if (!visible(&s->caller, e))
        return;
    j = nm_messages_event(e);
    if (j && json_dumpf(j, f->f, NM_MESSAGES_DUMP_FLAGS) == 0)
        (void)fputc('\n', f->f);
    json_decref(j);
    f->n++;
}

/* Lines for the next events into s->pending. Returns -ENODATA when there are none yet. */
static int refill(struct nm_stream *s)
{
    struct refill f = {.stream = s};
    int failed;

    free(STEAL_PTR(s->pending));
    s->pending_len = s->pending_pos = 0;
    do {
        f.any = false;
        if (!f.f)
            f.f = open_memstream(&s->pending, &s->pending_len);
        if (!f.f)
            return -ENOMEM;
        nm_manager_foreach_event(s->all->manager, &everything, s->after, refill_event, &f);
    } while (f.any && f.n == 0); /* all of them somebody else's */
    failed = ferror(f.f) | fclose(f.f);
    if (failed)
        return -ENOMEM;
    return s->pending_len > 0 ? 0 : -ENODATA;
}

/* To return 0 is not enough when there is nothing yet: the library would ask again at once, and for
 * ever. It has to be suspended as well. */
static ssize_t read_events(void *userdata, uint64_t pos, char *buf, size_t max)
{
    struct nm_stream *s = userdata;
    size_t n;
    int r = 0;

    (void)pos;
    if (nm_stream_stopped(s))
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (s->pending_pos == s->pending_len)
        r = refill(s);
    if (r == -ENODATA && !s->follow)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (r == -ENODATA) {
        suspend(s);
        return 0;
    }
    if (r < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    n = NM_MIN(max, s->pending_len - s->pending_pos);
    memcpy(buf, s->pending + s->pending_pos, n);
    s->pending_pos += n;
    return (ssize_t)n;
}

static void find_newest(const struct nm_event_record *e, void *userdata)
{
    *(uint64_t *)userdata = e->number;
}

int nm_stream_events(struct nm_call *call, uint64_t after, bool follow)
{
    struct nm_stream *s;
    uint64_t newest = 0;
    int r = stream_new(call, STREAM_EVENTS, &s);

    if (r < 0)
        return r;
    nm_manager_foreach_event(s->all->manager, &everything, 0, find_newest, &newest);
    s->after = after <= newest
                   ? after
                   : 0; /* numbers begin anew with nmd: the reader has seen none of these */
    s->follow = follow;
    return answer(call, s, MHD_SIZE_UNKNOWN, "application/x-ndjson", read_events);
}

/* ---- logs --------------------------------------------------------------------------------- */

static int on_changed(sd_event_source *source, const struct inotify_event *e, void *userdata)
{
    (void)source, (void)e;
    wake(userdata);
    return 0;
}

static int on_poll(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)usec;
    wake(userdata);
    (void)sd_event_source_set_time_relative(source, POLL_USEC);
    return 0;
}

/* Wakes the stream when its file grows. The path leads through the descriptor, so that it is this
 * very file. */
static int watch_file(struct nm_stream *s)
{
    char path[32];
    int r;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", s->fd);
    r = sd_event_add_inotify(s->all->event, &s->changed, path, IN_MODIFY | IN_ATTRIB, on_changed,
                             s);
    if (r >= 0)
        return 0;
    r = sd_event_add_time_relative(s->all->event, &s->changed, CLOCK_MONOTONIC, POLL_USEC, 0,
                                   on_poll, s);
    return r < 0 ? r : sd_event_source_set_enabled(s->changed, SD_EVENT_ON);
}

/* Opens the file if it is there yet. */
static int open_log(struct nm_stream *s, struct nm_problem *ret_problem)
{
    _cleanup_close_ int fd = -EBADF;
    struct stat st;
    int r = nm_manager_open_log(s->all->manager, &s->caller, s->container_id, s->name, &fd,
                                ret_problem);

    if (r != 0)
        return r == -ENOENT ? 0 : r;
    if (fstat(fd, &st) < 0)
        return -errno;
    s->offset = s->tail == UINT64_MAX ? 0 : nm_tail_offset(fd, st.st_size, s->tail);
    s->fd = STEAL_FD(fd);
    return s->follow ? watch_file(s) : 0;
}

/* The next bytes; 0 at the end as it now is. A file that was cut short is read from its new
 * beginning. */
static ssize_t read_more(struct nm_stream *s, char *buf, size_t max)
{
    struct nm_problem problem;
    struct stat st;
    ssize_t n;

    if (s->fd < 0 && open_log(s, &problem) != 0)
        return -1;
    if (s->fd < 0)
        return 0;
    if (s->follow && fstat(s->fd, &st) == 0 && st.st_size < s->offset)
        s->offset = 0;
    n = pread(s->fd, buf, max, s->offset);
    if (n > 0)
        s->offset += n;
    return n;
}

static ssize_t read_logs(void *userdata, uint64_t pos, char *buf, size_t max)
{
    struct nm_stream *s = userdata;
    bool last =
        s->completed || !s->follow; /* asked before reading: what was written until then is read */
    ssize_t n;

    (void)pos;
    if (nm_stream_stopped(s))
        return MHD_CONTENT_READER_END_OF_STREAM;
    n = read_more(s, buf, max);
    if (n > 0)
        return n;
    if (n < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (last)
        return MHD_CONTENT_READER_END_OF_STREAM;
    suspend(s);
    return 0;
}

/* What there is to read now: a reader that doesn't follow must come to an end, however fast the
 * file grows. */
static uint64_t log_size(const struct nm_stream *s)
{
    struct stat st;

    return s->fd >= 0 && fstat(s->fd, &st) == 0 && st.st_size > s->offset
               ? (uint64_t)(st.st_size - s->offset)
               : 0;
}

int nm_stream_logs(struct nm_call *call, const struct nm_stream_logs *p)
{
    const struct nm_container *c;
    struct nm_stream *s;
    int r = nm_manager_find(call->manager, &call->caller, p->container_id, &c, &call->problem);

    if (r != 0)
        return r;
    r = stream_new(call, STREAM_LOGS, &s);
    if (r < 0)
        return r;
    call->stream = s;
    s->follow = p->follow;
    s->tail = p->tail;
    s->completed = c->view.state == NM_COMPLETED;
    memcpy(s->container_id, c->id, sizeof s->container_id);
    (void)snprintf(s->name, sizeof s->name, "%s", p->name);
    r = open_log(s, &call->problem);
    if (r != 0)
        return r;
    return answer(call, s, p->follow ? MHD_SIZE_UNKNOWN : log_size(s), "application/octet-stream",
                  read_logs);
}

/* ---- wait --------------------------------------------------------------------------------- */

/* The handler runs a second time when the connection is resumed, and then has its answer. */
int nm_stream_wait(struct nm_call *call, const struct nm_container *c)
{
    int r = call->stream ? 0 : stream_new(call, STREAM_WAIT, &call->stream);

    if (r < 0)
        return r;
    memcpy(call->stream->container_id, c->id, sizeof call->stream->container_id);
    nm_local_server_connection(call->connection)->deadline_usec = UINT64_MAX;
    suspend(call->stream);
    return 0;
}
