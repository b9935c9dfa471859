/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Answers that take their time: events and logs that are followed, the history, which is long, and
 * the wait for a container's end. While there is nothing to send the connection is suspended; what
 * happens in the manager, or to a log file, wakes it.
 *
 * A slow reader costs no memory: a stream keeps a position, in the manager's rings of events or of
 * samples or in the log file, and not what is yet to be sent. An event reader that falls behind the
 * ring is told {"lost":N}.
 */

#include <stdio.h>

#include "rpc/local/call.h"
#include "rpc/local/log-reader.h"

struct nm_streams; /* all streams of a server, and its one subscription to the manager */

int nm_streams_new(sd_event *event, struct nm_manager *m, struct nm_streams **ret);
struct nm_streams *nm_streams_free(struct nm_streams *s);
NM_DEFINE_CLEANUP(struct nm_streams *, nm_streams_free)
/* Ends every stream at its next turn, and wakes them all for it. */
void nm_streams_stop(struct nm_streams *s);

enum nm_stream_kind { NM_STREAM_EVENTS, NM_STREAM_HISTORY, NM_STREAM_LOGS, NM_STREAM_WAIT };

struct nm_stream {
    struct nm_call *call;
    struct nm_stream *next, **prev_next;
    enum nm_stream_kind kind;
    bool follow, gone;
    sd_event_source *hangup;

    char *pending; /* events, history: text that is ready to be sent */
    size_t pending_len, pending_pos;
    uint64_t after; /* events: the last number sent */
    uint64_t next_usec, end_usec; /* history: points from here on have not been sent, and up to there are to be */
    uint64_t span_usec;           /* history: how far back */
    bool begun, ended;            /* history: what goes before the points has been sent, and what goes after them */
    bool another;                 /* history: a point has been sent */

    char container_id[NM_ID_SIZE]; /* logs, wait */
    bool completed;
    struct nm_log_reader log;
    bool stamped;           /* logs: a time before each line */
    bool in_line, skipping; /* and where the stream is: in a line, and in one that isn't wanted */
    struct nm_output_times_reader times;
    sd_event_source *changed;
};

/* ---- for the kinds of streams ------------------------------------------------------------- */

/* Becomes call->stream, and is freed with the call. */
int nm_stream_new(struct nm_call *call, enum nm_stream_kind kind);
void nm_stream_free(struct nm_stream *s);
/* Makes the stream its call's answer. size: how much there will be, or MHD_SIZE_UNKNOWN. The reader
 * begins with nm_call_may_go(). */
int nm_stream_answer(struct nm_stream *s, uint64_t size, const char *content_type,
                     MHD_ContentReaderCallback reader);
void nm_stream_sleep(struct nm_stream *s);
void nm_stream_wake(struct nm_stream *s);
/* Is the server about to stop, or the client gone? */
bool nm_stream_stopped(const struct nm_stream *s);
/* The next piece of text, for readers: out of s->pending, and when that is used up out of what
 * refill() writes. -ENODATA of it: there is no more, or, with `follow`, none yet. -EAGAIN: there may be more to read,
 * but not in this turn of the event loop; a later one of its account's calls refill() again. */
ssize_t nm_stream_read_text(struct nm_stream *s, int (*refill)(struct nm_stream *s, FILE *f), char *buf, size_t max);

/* ---- for handlers ------------------------------------------------------------------------- */

/* These set the call's answer. All return what a handler returns. */

/* Events after number `after` (0: all that are kept); follow: and then those to come. */
int nm_stream_events(struct nm_call *call, uint64_t after, bool follow);

/* The node's last span_usec, as many points as there are now; 0: the last minutes. */
int nm_stream_history(struct nm_call *call, uint64_t span_usec);

struct nm_stream_logs {
    const char *name;         /* "stdout" or "stderr" */
    const char *container_id; /* as the manager knows it */
    bool follow;
    uint64_t from; /* byte of the output to begin with */
    uint64_t tail; /* newest lines to begin with; UINT64_MAX: as `from` says */
    uint64_t since_usec; /* CLOCK_REALTIME: no lines from before; 0: all */
    bool stamped;  /* each line with the time at which it was written */
};
int nm_stream_logs(struct nm_call *call, const struct nm_stream_logs *p);

/* Suspends the call until the container has completed; its handler is then called again. `c` is
 * alive. In that second turn the container is the one of stream->container_id: the name in the
 * request may by then stand for another. */
int nm_stream_wait(struct nm_call *call, const struct nm_container *c);
