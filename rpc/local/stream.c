/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See stream.h. libmicrohttpd requests data through a callback. If no data is available, the callback suspends its
 * connection and returns 0. libmicrohttpd doesn't watch a suspended connection, and would notice a disconnect only
 * after the next event. Each stream therefore watches its socket for EPOLLHUP while the connection is suspended.
 */

#include "rpc/local/stream.h"

#include <assert.h>
#include <sys/epoll.h>

#include "agent/launch/output-times.h"
#include "rpc/local/connections.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/loop.h"

#define BLOCK_SIZE 16384u

struct nm_streams {
    sd_event *event;
    struct nm_manager *manager;
    struct nm_subscription *subscription; /* one subscription for all streams */
    struct nm_stream *first;
};

/* ---- all streams -------------------------------------------------------------------------- */

/* Resumes the connection, but doesn't collect data. Data is collected when libmicrohttpd requests it, so that several
 * events are sent in one piece. */
void nm_stream_wake(struct nm_stream *s)
{
    (void)sd_event_source_set_enabled(s->hangup, SD_EVENT_OFF);
    nm_call_wake(s->call);
}

void nm_stream_sleep(struct nm_stream *s)
{
    nm_call_sleep(s->call);
    (void)sd_event_source_set_enabled(s->hangup, SD_EVENT_ON);
}

/* Handles an event. The stream itself stores that the container has ended, because the manager may have removed the
 * container before libmicrohttpd requests data. */
static void on_event(const struct nm_event *e, void *userdata)
{
    struct nm_streams *all = userdata;

    for (struct nm_stream *s = all->first; s; s = s->next) {
        bool mine = e->container && nm_streq(e->container->id, s->container_id);
        if (mine && e->kind == NM_EVENT_STATE && e->to == NM_COMPLETED)
            s->completed = true;
        if (s->kind == NM_STREAM_EVENTS || (mine && (s->kind == NM_STREAM_LOGS || s->completed)))
            nm_stream_wake(s);
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

/* Resumes all streams, which then detect that the server is stopping, and end. libmicrohttpd must not be stopped while
 * connections are suspended. */
void nm_streams_stop(struct nm_streams *s)
{
    for (struct nm_stream *i = s->first; i; i = i->next)
        nm_stream_wake(i);
}

/* ---- one stream --------------------------------------------------------------------------- */

/* Resumes the connection once more, so that libmicrohttpd detects the disconnect and frees the stream. */
static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_stream *s = userdata;

    (void)source, (void)fd, (void)revents;
    s->gone = true;
    nm_stream_wake(s);
    return 0;
}

/* Watches no events explicitly: epoll always reports EPOLLHUP and EPOLLERR. A client that closed only one direction of
 * the connection is still connected. */
static int watch_hangup(struct nm_stream *s)
{
    int fd = nm_connection_of(s->call->connection)->fd;
    int r = sd_event_add_io(s->call->host->event, &s->hangup, fd, 0, on_hangup, s);

    if (r >= 0)
        r = sd_event_source_set_priority(s->hangup, NM_LOOP_WORK);
    return r < 0 ? r : sd_event_source_set_enabled(s->hangup, SD_EVENT_OFF);
}

int nm_stream_new(struct nm_call *call, enum nm_stream_kind kind)
{
    struct nm_streams *all = call->host->streams;
    struct nm_stream *s = calloc(1, sizeof *s);
    int r;

    assert(all && !call->stream);
    if (!s)
        return -ENOMEM;
    s->kind = kind;
    s->call = call;
    s->log.piece.fd = -EBADF;
    s->page = NM_UPSTREAM_PAGE_NULL;
    nm_output_times_reader_init(&s->times, -EBADF);
    r = watch_hangup(s);
    if (r < 0) {
        sd_event_source_disable_unref(s->hangup);
        free(s);
        return r;
    }
    s->next = all->first;
    s->prev_next = &all->first;
    if (s->next)
        s->next->prev_next = &s->next;
    all->first = s;
    call->stream = s; /* freed with the call; the call outlives the reader's callbacks */
    call->free_stream = nm_stream_free;
    return 0;
}

void nm_stream_free(struct nm_stream *s)
{
    assert(s->call->stream == s);
    s->call->stream = NULL;
    *s->prev_next = s->next;
    if (s->next)
        s->next->prev_next = s->prev_next;
    sd_event_source_disable_unref(s->hangup);
    sd_event_source_disable_unref(s->changed);
    nm_log_reader_done(&s->log);
    nm_output_times_reader_done(&s->times);
    nm_upstream_page_done(&s->page);
    if (s->rationed > 0)
        nm_quota_account_give(s->call->account, s->rationed);
    free(s->pending);
    free(s);
}

bool nm_stream_stopped(const struct nm_stream *s)
{
    return s->gone || s->call->host->stopping;
}

/* libmicrohttpd asks for more data when the client's side has taken over all earlier data. Its own time limit restarts
 * with each byte, so a client could keep a stream open, with its file and its text, by reading a byte now and then. */
bool nm_stream_begin_turn(struct nm_stream *s)
{
    const struct nm_local_state *host = s->call->host;

    if (!s->follow)
        nm_connection_of(s->call->connection)->deadline_usec =
            nm_now_usec() + NM_HOST_SEND_TIMEOUTS * host->timeout_usec;
    return nm_call_begin_turn(s->call);
}

int nm_stream_answer(struct nm_stream *s, uint64_t size, const char *content_type,
                     MHD_ContentReaderCallback reader)
{
    struct nm_call *call = s->call;
    /* libmicrohttpd would end the answer to HEAD with an empty chunk, which isn't part of it. */
    const bool is_empty = call->is_head && size == MHD_SIZE_UNKNOWN;
    int r = nm_call_answer(call, 200, content_type,
                           is_empty ? MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT)
                                    : MHD_create_response_from_callback(size, BLOCK_SIZE, reader, s, NULL));

    call->endless = s->follow && !is_empty;
    if (r == 0 && call->endless)
        (void)MHD_add_response_header(call->answer, MHD_HTTP_HEADER_CONNECTION, "close");
    return r;
}

/* ---- text ------------------------------------------------------------------------------------ */

static int refill_pending(struct nm_stream *s, int (*refill)(struct nm_stream *s, FILE *f))
{
    FILE *f;
    int r;

    free(STEAL_PTR(s->pending));
    s->pending_len = s->pending_pos = 0;
    f = open_memstream(&s->pending, &s->pending_len);
    if (!f)
        return -ENOMEM;
    r = refill(s, f);
    if (ferror(f) | fclose(f))
        return -ENOMEM;
    assert(r != 0 || s->pending_len > 0);
    return r;
}

/* Reads text. If no text is available yet, suspends the connection. If the function only returned 0, libmicrohttpd
 * would call it again immediately and continuously. */
ssize_t nm_stream_read_text(struct nm_stream *s, int (*refill)(struct nm_stream *s, FILE *f), char *buf, size_t max)
{
    size_t n;
    int r = 0;

    if (nm_stream_stopped(s))
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (!nm_stream_begin_turn(s))
        return 0;
    if (s->pending_pos == s->pending_len)
        r = refill_pending(s, refill);
    nm_call_end_turn(s->call);
    if (r == -ENODATA && !s->follow)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (r == -ENODATA) {
        nm_stream_sleep(s);
        return 0;
    }
    if (r == -EAGAIN) {
        nm_call_sleep(s->call);
        nm_call_wake(s->call);
        return 0;
    }
    if (r < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    n = NM_MIN(max, s->pending_len - s->pending_pos);
    memcpy(buf, s->pending + s->pending_pos, n);
    s->pending_pos += n;
    return (ssize_t)n;
}

/* ---- wait --------------------------------------------------------------------------------- */

/* Suspends the call the first time. When the call is resumed, the handler runs again and sets the answer. */
int nm_stream_wait(struct nm_call *call, const struct nm_container *c)
{
    int r = call->stream ? 0 : nm_stream_new(call, NM_STREAM_WAIT);

    if (r < 0)
        return r;
    memcpy(call->stream->container_id, c->id, sizeof call->stream->container_id);
    nm_connection_of(call->connection)->deadline_usec = UINT64_MAX;
    nm_stream_sleep(call->stream);
    return 0;
}
