/* SPDX-License-Identifier: Apache-2.0 */

/* A container's output: what its file has, and, if followed, what comes until it has ended. */

#include <sys/inotify.h>

#include "rpc/local/stream.h"

/* Where inotify has no watches left, the file is looked at this often. */
#define POLL_USEC (250 * NM_USEC_PER_MSEC)

static int on_changed(sd_event_source *source, const struct inotify_event *e, void *userdata)
{
    (void)source, (void)e;
    nm_stream_wake(userdata);
    return 0;
}

static int on_poll(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)usec;
    nm_stream_wake(userdata);
    (void)sd_event_source_set_time_relative(source, POLL_USEC);
    return 0;
}

/* Wakes the stream when its file grows, or is replaced as the newest. The path leads through the descriptor, so that it
 * is this very file. */
static int watch_file(struct nm_stream *s)
{
    char path[32];
    int r;

    s->changed = sd_event_source_disable_unref(s->changed);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", s->log.piece.fd);
    r = sd_event_add_inotify(s->call->host->event, &s->changed, path, IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF,
                             on_changed, s);
    if (r >= 0)
        return sd_event_source_set_priority(s->changed, NM_HOST_PRIORITY);
    r = sd_event_add_time_relative(s->call->host->event, &s->changed, CLOCK_MONOTONIC, POLL_USEC, 0,
                                   on_poll, s);
    if (r >= 0)
        r = sd_event_source_set_priority(s->changed, NM_HOST_PRIORITY);
    return r < 0 ? r : sd_event_source_set_enabled(s->changed, SD_EVENT_ON);
}

/* A file that has just been opened is looked at again once it is watched, lest a change fall in between. */
static ssize_t read_more(struct nm_stream *s, char *buf, size_t max)
{
    ssize_t n;
    bool moved;

    do
        n = nm_log_reader_read(&s->log, buf, max, &moved);
    while (moved && s->follow && watch_file(s) >= 0 && n == 0);
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
    if (!nm_call_may_go(s->call))
        return 0;
    n = read_more(s, buf, max);
    nm_call_went(s->call);
    if (n > 0)
        return n;
    if (n < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (last)
        return MHD_CONTENT_READER_END_OF_STREAM;
    nm_stream_sleep(s);
    return 0;
}

int nm_stream_logs(struct nm_call *call, const struct nm_stream_logs *p)
{
    const struct nm_container *c;
    struct nm_stream *s;
    uint64_t size = MHD_SIZE_UNKNOWN;
    bool whole = true;
    int r = nm_manager_find(call->manager, &call->caller, p->container_id, &c, &call->problem);

    if (r != 0)
        return r;
    r = nm_stream_new(call, NM_STREAM_LOGS);
    if (r < 0)
        return r;
    s = call->stream;
    s->follow = p->follow;
    s->completed = c->view.state == NM_COMPLETED;
    memcpy(s->container_id, c->id, sizeof s->container_id);
    nm_log_reader_init(&s->log, call->manager, &call->caller, c->id, p->name);
    s->log.tail = p->tail;
    s->log.from = p->from;
    r = nm_log_reader_open(&s->log, &call->problem);
    if (r == 0 && s->follow && s->log.is_open)
        r = watch_file(s);
    if (r != 0)
        return r;
    if (!s->follow)
        size = nm_log_reader_stop_at_end(&s->log, &whole);
    /* A length is promised where it can be kept. */
    return nm_stream_answer(s, whole || s->completed ? size : MHD_SIZE_UNKNOWN, "application/octet-stream", read_logs);
}
