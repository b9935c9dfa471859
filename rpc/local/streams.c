/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Handlers of answers that are sent over a longer time: until a container has ended (wait), for as long as the client
 * wants (followed logs and events), or because they are long (history). The handlers check the request. stream.c
 * suspends a connection and resumes it when there is data.
 */

#include "rpc/local/handlers.h"

#include <assert.h>
#include "rpc/local/messages.h"
#include "rpc/local/stream.h"

/* Waits for a container. Called for the request, and again when the container has completed or the wait is
 * cancelled. */
int nm_handle_wait(struct nm_call *call)
{
    const char *id = call->stream ? call->stream->container_id : call->id;
    const struct nm_container *c;
    int r;

    /* a request that arrives while the server stops must not be suspended: libmicrohttpd would abort */
    if (call->host->stopping || (call->stream && nm_stream_stopped(call->stream)))
        return nm_messages_problem(&call->problem, NM_AGENT_E_UNAVAILABLE, "nmd", "",
                                   "nmd is stopping; containers keep running. Try again when nmd is back.");
    r = nm_manager_find(call->manager, &call->caller, id, &c, &call->problem);
    if (r != 0)
        return r;
    if (c->view.state != NM_COMPLETED)
        return nm_stream_wait(call, c);
    assert(!call->suspended);
    if (call->stream)
        nm_stream_free(call->stream);
    return nm_handle_answer_container(call, 200, c->id);
}

int nm_handle_logs(struct nm_call *call)
{
    const char *stream = nm_target_query(&call->target, "stream");
    struct nm_stream_logs p = {.tail = UINT64_MAX};
    const struct nm_container *c;
    int r;

    if (!stream)
        stream = "stdout";
    if (!nm_streq(stream, "stdout") && !nm_streq(stream, "stderr"))
        return nm_messages_problem(&call->problem, NM_AGENT_E_INVALID, "stream", stream,
                                   "stream must be stdout or stderr, not \"%s\".", stream);
    r = nm_call_query_bool(call, "follow", &p.follow);
    if (r == 0)
        r = nm_call_query_u64(call, "tail", 0, INT64_MAX, &p.tail);
    if (r == 0)
        r = nm_call_query_u64(call, "from", 0, INT64_MAX, &p.from);
    if (r == 0)
        r = nm_call_query_u64(call, "since_usec", 0, INT64_MAX, &p.since_usec);
    if (r == 0)
        r = nm_call_query_bool(call, "timestamps", &p.stamped);
    if (r == 0)
        r = nm_manager_find(call->manager, &call->caller, call->id, &c, &call->problem);
    if (r != 0)
        return r;
    p.name = stream;
    p.container_id = c->id;
    return nm_stream_logs(call, &p);
}

int nm_handle_events(struct nm_call *call)
{
    bool follow = false;
    uint64_t after = 0;
    int r = nm_call_query_bool(call, "follow", &follow);

    if (r == 0)
        r = nm_call_query_u64(call, "after", 0, INT64_MAX, &after);
    if (r != 0)
        return r;
    if (follow && call->tcp)
        return nm_messages_problem(&call->problem, NM_AGENT_E_FORBIDDEN, "follow", "true",
                                   "Events can't be followed over TCP; use the UNIX socket.");
    return nm_stream_events(call, after, follow);
}

#define DAY_USEC (24 * 3600 * NM_USEC_PER_SEC)

int nm_handle_history(struct nm_call *call)
{
    uint64_t span_usec = 0;
    int r = nm_call_query_u64(call, "span_usec", 1, DAY_USEC, &span_usec);

    return r != 0 ? r : nm_stream_history(call, span_usec);
}
