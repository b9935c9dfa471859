/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One request: who asks, what for, its body, and the answer. Internal to the server and its
 * handlers.
 *
 * A handler returns 0 when it has set an answer (or has suspended the connection and will be called
 * again), a positive nm_agent_outcome with call->problem filled, or -errno; the two latter become
 * an error answer in one place.
 */

#include <microhttpd.h>

#include "agent/agent.h"
#include "agent/status.h"
#include "rpc/local/answer.h"
#include "rpc/local/host.h"
#include "rpc/local/target.h"

#define NM_CALL_BODY_MAX (1u << 20)

struct nm_stream;

struct nm_call {
    struct nm_host *host;
    struct nm_manager *manager;
    struct MHD_Connection *connection;
    struct nm_quota_account *account; /* the connection's */
    struct nm_caller caller;
    bool is_hadoops; /* what was asked for is of Hadoop's own interface */
    bool tcp; /* reads only, and answers without what is private */
    const struct nm_route *route;
    struct nm_target target;
    const char *id; /* of the route's {id} */
    json_t *body;   /* an object, for routes that take one; only while the handler runs */

    /* an answer that takes its time (stream.h) */
    struct nm_stream *stream;
    void (*free_stream)(struct nm_stream *s);
    bool endless; /* for as long as the client likes */

    uint64_t session; /* what waits for its answer to have been sent (exec.c); 0: nothing */

    char done_to[NM_ID_SIZE]; /* what was asked for has been done; "": it hasn't */

    struct MHD_Response *answer;
    unsigned answer_status;
    struct nm_problem problem;

    /* how far it got */
    bool started, refused_unread;
    bool suspended; /* the library doesn't look at the connection */
    bool its_turn;
    struct nm_turn turn;
    uint64_t went_usec; /* when it was last allowed to */
    int early; /* an outcome that was clear before the body had come */
    unsigned early_status;
    char allow[64];
    char *data;
    size_t data_len, data_size;
};

struct nm_call *nm_call_new(struct nm_host *host, const char *raw_target);
struct nm_call *nm_call_free(struct nm_call *call);

/* The steps of a request as libmicrohttpd goes through them. All return what its access handler
 * must. */
enum MHD_Result nm_call_begin(struct nm_call *call, struct MHD_Connection *connection,
                              const char *method);
enum MHD_Result nm_call_take_body(struct nm_call *call, const char *data, size_t len);
enum MHD_Result nm_call_finish(struct nm_call *call);

/* ---- its turn ----------------------------------------------------------------------------- */

/* To be asked before anything is done that costs time. False: this run has none left, so the
 * connection is suspended, and the library asks again when it is the call's turn. */
bool nm_call_may_go(struct nm_call *call);
/* What was begun then is done: its time is the user's. */
void nm_call_went(struct nm_call *call);
/* Suspends the connection until nm_call_wake(). */
void nm_call_sleep(struct nm_call *call);
/* Has it resumed in its turn. Nothing happens to one that isn't asleep. */
void nm_call_wake(struct nm_call *call);

/* ---- for handlers ------------------------------------------------------------------------- */

/* Answers with j and takes its reference; NULL: -ENOMEM. */
int nm_call_answer_json(struct nm_call *call, unsigned status, json_t *j);
/* Answers with what has been written, and ends it; on failure, too. */
int nm_call_answer_text(struct nm_call *call, unsigned status, const char *content_type,
                        struct nm_answer *text);
/* Answers with bytes that live as long as the program. */
int nm_call_answer_static(struct nm_call *call, const char *content_type, const void *data,
                          size_t len);
/* Answers that the connection speaks `protocol` from now on, and is dealt with by `handler`. */
int nm_call_answer_upgrade(struct nm_call *call, const char *protocol, MHD_UpgradeHandler handler);
/* Answers with a response made elsewhere, and takes it. */
int nm_call_answer(struct nm_call *call, unsigned status, const char *content_type,
                   struct MHD_Response *response);

/* What was asked for has been done, to this container or to the node: what fails now is the answer alone, and "try
 * again" would be bad advice. */
void nm_call_done_to(struct nm_call *call, const char *what);

/* Query parameters; a missing one leaves *ret as it is. 0 or NM_AGENT_E_INVALID. */
int nm_call_query_bool(struct nm_call *call, const char *name, bool *ret);
int nm_call_query_u64(struct nm_call *call, const char *name, uint64_t min, uint64_t max,
                      uint64_t *ret);
