/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Answers that are sent over a longer time: followed events and logs, the history, pages of the upstream, and the wait
 * for a container's end. The connection is suspended while the stream has no data to send. Events of the manager or
 * changes of a log file resume it.
 *
 * A slow reader uses no additional memory. A stream stores only a position in the manager's ring of events or samples,
 * or in the log file. It doesn't buffer unsent data. An event reader that is slower than the ring receives {"lost":N}
 * for the dropped events. A reader that doesn't read for two minutes is disconnected, unless it follows.
 */

#include <stdio.h>

#include "agent/upstream.h"
#include "rpc/local/call.h"
#include "rpc/local/log-reader.h"

struct nm_streams; /* all streams of a server, with a single subscription to the manager */

int nm_streams_new(sd_event *event, struct nm_manager *m, struct nm_streams **ret);
struct nm_streams *nm_streams_free(struct nm_streams *s);
NM_DEFINE_CLEANUP(struct nm_streams *, nm_streams_free)
/* Resumes all streams. Each stream ends in its next turn. */
void nm_streams_stop(struct nm_streams *s);

enum nm_stream_kind { NM_STREAM_EVENTS, NM_STREAM_HISTORY, NM_STREAM_LOGS, NM_STREAM_PAGE, NM_STREAM_WAIT };

struct nm_stream {
    struct nm_call *call;
    struct nm_stream *next, **prev_next;
    enum nm_stream_kind kind;
    bool follow, gone;
    sd_event_source *hangup;

    char *pending; /* events, history: text ready to be sent */
    size_t pending_len, pending_pos; /* pending_pos of a page: position in its text before or after the file */
    uint64_t after; /* events: number of the last event sent */
    uint64_t next_usec, end_usec; /* history: time range of the points that haven't been sent */
    uint64_t span_usec;           /* history: length of the time range */
    bool begun, ended;            /* history: the text before the points has been sent; the text after the points has
                                     been sent. page: the text before the file, and the file, have been sent */
    bool another;                 /* history: at least one point has been sent */

    char container_id[NM_ID_SIZE]; /* logs, wait */
    bool completed;
    struct nm_log_reader log;
    bool stamped;           /* logs: each line starts with the time at which it was written */
    bool in_line, skipping; /* logs: the position is inside a line, or inside a line that isn't shown */
    struct nm_output_times_reader times;
    sd_event_source *changed;
    struct nm_upstream_page page;
    size_t rationed; /* page: size of its text, which is reserved in the account's quota */
};

/* ---- for the kinds of streams ------------------------------------------------------------- */

/* Creates a stream and stores it as call->stream. The stream is freed with the call. */
int nm_stream_new(struct nm_call *call, enum nm_stream_kind kind);
void nm_stream_free(struct nm_stream *s);
/* Makes the stream the answer of its call. size: number of bytes, or MHD_SIZE_UNKNOWN. The reader callback must first
 * call nm_stream_begin_turn(). */
int nm_stream_answer(struct nm_stream *s, uint64_t size, const char *content_type,
                     MHD_ContentReaderCallback reader);
/* Begins a turn as nm_call_begin_turn() does. Without `follow`, the client must have read the data of this turn within
 * a time limit, or its connection is closed. */
bool nm_stream_begin_turn(struct nm_stream *s);
void nm_stream_sleep(struct nm_stream *s);
void nm_stream_wake(struct nm_stream *s);
/* Returns whether the server is stopping or the client has disconnected. */
bool nm_stream_stopped(const struct nm_stream *s);
/* Returns the next text for a reader from s->pending, which refill() fills when it is empty. refill() returns -ENODATA
 * at the end, or, with `follow`, while no more text exists yet. refill() returns -EAGAIN if more text may be available,
 * but not in this turn of the event loop. It is then called again in a later turn of the account. */
ssize_t nm_stream_read_text(struct nm_stream *s, int (*refill)(struct nm_stream *s, FILE *f), char *buf, size_t max);

/* ---- for handlers ------------------------------------------------------------------------- */

/* Suspends the call until the container has completed. Returns the result that the handler must return; the handler is
 * then called again. `c` must not have ended. In the second call the handler must use stream->container_id, because the
 * name in the request may then belong to another container. */
int nm_stream_wait(struct nm_call *call, const struct nm_container *c);
