/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One request: its client, target, body and answer. Internal to the server and its handlers.
 *
 * A handler returns 0 after it has set an answer, or after it has suspended the connection, in which case the handler
 * is called again. Otherwise it returns a positive nm_agent_outcome with call->problem filled in, or -errno. call.c
 * converts both to an error answer.
 */

#include <microhttpd.h>

#include "agent/agent.h"
#include "agent/status.h"
#include "agent/upstream.h"
#include "rpc/local/answer-text.h"
#include "rpc/local/claimed-user.h"
#include "rpc/local/local-state.h"
#include "rpc/local/routes.h"

#define NM_CALL_BODY_MAX (1u << 20)

struct nm_stream;

struct nm_call {
    struct nm_local_state *host;
    struct nm_manager *manager;
    struct MHD_Connection *connection;
    struct nm_quota_account *account; /* the account of the connection */
    struct nm_caller caller;
    bool is_hadoops; /* the request uses the paths of Hadoop's web services */
    bool tcp; /* TCP connection: read-only, and without private data */
    bool is_head, is_options; /* the method is HEAD, or OPTIONS for a route of the upstream */
    const struct nm_route *route;
    struct nm_target target;
    const char *id, *user, *file; /* the segments that match {id}, {user} and {file} of the route */
    json_t *body;   /* an object, for routes with a body; valid only while the handler runs */

    /* an answer that is sent over a longer time (stream.h) */
    struct nm_stream *stream;
    void (*free_stream)(struct nm_stream *s);
    bool endless; /* the answer follows future events or output, so it has no time limit */

    uint64_t session; /* id of the session that starts when the answer has been sent (handle-exec.c); 0: no session */

    char done_to[NM_ID_SIZE]; /* id of the container, or the node, on which the operation has been completed; "": the
                                 operation hasn't been completed */

    struct MHD_Response *answer;
    unsigned answer_status;
    struct nm_problem problem;

    /* progress of the call */
    bool started, refused_unread;
    bool suspended; /* libmicrohttpd ignores the connection */
    bool its_turn;
    struct nm_turn turn;
    uint64_t went_usec; /* start of the call's last turn */
    int early; /* outcome that was known before the body arrived; 0: no error yet */
    unsigned early_status;
    char allow[64];
    char *data;
    size_t data_len, data_size;
};

struct nm_call *nm_call_new(struct nm_local_state *host, const char *raw_target);
struct nm_call *nm_call_free(struct nm_call *call);

/* The steps of a request, called by libmicrohttpd. All return the result of its access handler. */
enum MHD_Result nm_call_begin(struct nm_call *call, struct MHD_Connection *connection,
                              const char *method);
enum MHD_Result nm_call_take_body(struct nm_call *call, const char *data, size_t len);
enum MHD_Result nm_call_finish(struct nm_call *call);

/* ---- turns ----------------------------------------------------------------------------------- */

/* Returns whether the call may be processed now. Must be called before any expensive work. If it returns false, the
 * time of this run is used up, the connection is suspended, and libmicrohttpd calls again in the call's next turn. */
bool nm_call_begin_turn(struct nm_call *call);
/* Ends the work that began with nm_call_begin_turn(), and charges its time to the user. */
void nm_call_end_turn(struct nm_call *call);
/* Suspends the connection until nm_call_wake(). */
void nm_call_sleep(struct nm_call *call);
/* Enables the timer that gives turns in the next iterations of the event loop, once a waiting request may be
 * processed. */
void nm_call_schedule_turns(struct nm_local_state *h);
/* Requests that the connection is resumed in its next turn. Has no effect on a connection that isn't suspended. */
void nm_call_wake(struct nm_call *call);

/* ---- for handlers ------------------------------------------------------------------------- */

/* Answers with j and takes over its reference. Returns -ENOMEM if j is NULL. */
int nm_call_answer_json(struct nm_call *call, unsigned status, json_t *j);
/* Answers with the text, and frees the text, also on failure. */
int nm_call_answer_text(struct nm_call *call, unsigned status, const char *content_type,
                        struct nm_answer_text *text);
/* Answers with static data. */
int nm_call_answer_static(struct nm_call *call, const char *content_type, const void *data,
                          size_t len);
/* Answers with status 101. The connection then uses `protocol`, which `handler` implements. */
int nm_call_answer_upgrade(struct nm_call *call, const char *protocol, MHD_UpgradeHandler handler);
/* Answers with an existing response, and takes the response over. */
int nm_call_answer(struct nm_call *call, unsigned status, const char *content_type,
                   struct MHD_Response *response);

/* Stores that the operation on this container or on the node has been completed. If sending the answer then fails, the
 * error message must not suggest repeating the request. */
void nm_call_done_to(struct nm_call *call, const char *what);

/* Returns the request as a query for the upstream, which is valid until the end of the handler. buf: for the user that
 * the request names. */
struct nm_upstream_query nm_call_upstream_query(struct nm_call *call, char buf[static NM_CLAIMED_USER_SIZE]);
/* Parse query parameters. A missing parameter leaves *ret unchanged. Return 0 or NM_AGENT_E_INVALID. */
int nm_call_query_bool(struct nm_call *call, const char *name, bool *ret);
int nm_call_query_u64(struct nm_call *call, const char *name, uint64_t min, uint64_t max,
                      uint64_t *ret);
