/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Answers that take their time: events and logs that are followed, and the wait for a container's
 * end. While there is nothing to send the connection is suspended; what happens in the manager, or
 * to a log file, wakes it.
 *
 * A slow reader costs no memory: a stream keeps a position, in the manager's ring of events or in
 * the log file, and not what is yet to be sent. An event reader that falls behind the ring is told
 * {"lost":N}.
 */

#include "agent/agent.h"

struct nm_call;
struct nm_stream;
struct nm_streams; /* all streams of a server, and its one subscription to the manager */

int nm_streams_new(sd_event *event, struct nm_manager *m, struct nm_streams **ret);
struct nm_streams *nm_streams_free(struct nm_streams *s);
NM_DEFINE_CLEANUP(struct nm_streams *, nm_streams_free)
/* Ends every stream at its next turn, and wakes them all for it. */
void nm_streams_stop(struct nm_streams *s);

struct nm_stream *nm_stream_free(struct nm_stream *s);

/* These set the call's answer. All return what a handler returns. */

/* Events after number `after` (0: all that are kept); follow: and then those to come. */
int nm_stream_events(struct nm_call *call, uint64_t after, bool follow);

struct nm_stream_logs {
    const char *name;         /* "stdout" or "stderr" */
    const char *container_id; /* as the manager knows it */
    bool follow;
    uint64_t tail; /* newest lines to begin with; UINT64_MAX: all */
};
int nm_stream_logs(struct nm_call *call, const struct nm_stream_logs *p);

/* Suspends the call until the container has completed; its handler is then called again. `c` is
 * alive. */
int nm_stream_wait(struct nm_call *call, const struct nm_container *c);
/* In that second turn: is the server about to stop, or the client gone? And which container was it?
 * The name in the request may by then stand for another. */
bool nm_stream_stopped(const struct nm_stream *s);
const char *nm_stream_container_id(const struct nm_stream *s);

/* Does it go on for as long as the client likes? */
bool nm_stream_follows(const struct nm_stream *s);
