/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state that the files behind peer.h share. The files are layers: tests/style has their order.
 *
 * A call waits in its link until the node's name is resolved. Then the client of rpc/hadoop has the call. If a link
 * fails, all its calls fail. Calls end only in callbacks of the event loop, never in a function of peer.h.
 */

#include "rpc/hadoop/client.h"
#include "util/clock.h"
#include "yarn/peer/peer.h"
#include "yarn/resolve.h"

#define NM_PEER_NODES_MAX 1024u
#define NM_PEER_LINKS_MAX 64u
#define NM_PEER_LINK_CALLS_MAX 16u /* of one link */
#define NM_PEER_QUESTIONS_MAX 256u /* to the ResourceManager */
#define NM_PEER_HOST_MAX 255u
#define NM_PEER_REMEMBER_USEC (600 * NM_USEC_PER_SEC)
#define NM_PEER_RETRY_USEC (10 * NM_USEC_PER_SEC) /* time until an unreachable node is tried again */
#define NM_PEER_IDLE_USEC (10 * NM_USEC_PER_SEC)
/* Time for one call. The timer ticks once a second, so a call ends within 10 s. */
#define NM_PEER_CALL_USEC (9 * NM_USEC_PER_SEC)

/* ---- nodes: peer-nodes.c ------------------------------------------------------------------ */

/* What is remembered of a node. */
struct nm_peer_node {
    struct nm_peers *all;
    char host[NM_PEER_HOST_MAX + 1];
    int32_t port;
    enum nm_peer_kind kind;
    uint64_t known_until_usec; /* `kind` is valid until then */
    uint64_t retry_usec;       /* the node could not be reached, and is not tried before this time */
    uint64_t used_usec;
    struct nm_resolve *resolve;     /* the lookup in progress */
    struct nm_resolved *addresses;  /* NULL: not known */
    unsigned attempts;              /* number of connections; selects the address to try next */
    unsigned n_links;
    struct nm_peer_node *next; /* in the bucket */
};

struct nm_peer_node *nm_peer_nodes_find(const struct nm_peers *all, const char *host, int32_t port);
/* Returns the node, and adds it if necessary, in place of the node that was not used for the longest time. -EINVAL: the
 * host or the port is invalid; -ENOMEM. */
int nm_peer_nodes_get(struct nm_peers *all, const char *host, int32_t port, uint64_t now_usec,
                      struct nm_peer_node **ret);
void nm_peer_nodes_done(struct nm_peers *all);
enum nm_peer_kind nm_peer_node_kind(const struct nm_peer_node *n, uint64_t now_usec);
void nm_peer_node_set_kind(struct nm_peer_node *n, enum nm_peer_kind kind, uint64_t now_usec);
void nm_peer_node_set_unreachable(struct nm_peer_node *n, uint64_t now_usec);

/* ---- calls to nodes: peer-link.c ---------------------------------------------------------- */

enum nm_peer_protocol { NM_PEER_PROTOCOL_ROOM, NM_PEER_PROTOCOL_CONTAINERS };

struct nm_peer_call {
    struct nm_peers *all;
    struct nm_peer_link *link; /* NULL: the call has ended, and its callback is due */
    struct nm_peer_call *next;
    uint64_t due_usec;
    void *userdata;
    bool forgotten; /* no callback */
    int error;      /* of a call that has ended */
    char host[NM_PEER_HOST_MAX + 1];
    int32_t port;
    /* Sends the call by the link's client. Returns 0 or -errno. */
    int (*send)(struct nm_peer_call *c, struct nm_hadoop_client *client);
    /* Passes the result to the caller. answer and why may be NULL. */
    void (*finish)(struct nm_peer_call *c, int error, const ProtobufCMessage *answer, const struct nm_exception *why);
    /* of a question about a node's room */
    struct nm_yarn_container_id *ids;
    size_t n_ids;
    uint64_t observer;
    int64_t observed_mib;
    nm_peer_room_cb_t on_room;
    /* of an update */
    struct nm_yarn_container_id id;
    struct nm_token *token;
    nm_peer_update_cb_t on_update;
};

/* A connection to a node, on behalf of one attempt. */
struct nm_peer_link {
    struct nm_peer_link *next;
    struct nm_peer_node *node;
    struct nm_yarn_attempt_id attempt;
    enum nm_peer_protocol protocol;
    struct nm_token *token;
    struct nm_hadoop_client *client; /* NULL: the node's name is being resolved */
    bool reached;                    /* the node has answered a call */
    uint64_t used_usec;
    struct nm_peer_call *calls;
    unsigned n_calls;
};

struct nm_peer_call *nm_peer_call_free(struct nm_peer_call *c);
NM_DEFINE_CLEANUP(struct nm_peer_call *, nm_peer_call_free)
/* The reply function of all calls. */
void nm_peer_call_on_reply(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why);

/* Begins a call. On success, takes the call over. -EBUSY, -EHOSTUNREACH and others: see nm_peers_ask_room(). */
int nm_peer_links_call(struct nm_peers *all, const struct nm_peer_caller *caller, struct nm_peer_node *node,
                       enum nm_peer_protocol protocol, struct nm_peer_call *c);
/* Ends calls whose time is over, and closes connections that are not used. */
void nm_peer_links_tick(struct nm_peers *all, uint64_t now_usec);
void nm_peer_links_forget(struct nm_peers *all, const void *userdata);
void nm_peer_links_done(struct nm_peers *all);

/* ---- the ResourceManager: peer-rm.c ------------------------------------------------------- */

struct nm_peer_question {
    struct nm_peers *all;
    struct nm_peer_question *next;
    struct nm_yarn_application_id id;
    nm_peer_application_cb_t cb;
    void *userdata;
    uint64_t due_usec;
    bool sent;
    int error; /* as in struct nm_peer_call */
    char *type, *queue; /* of the application's report */
    bool is_reported;   /* the report has come, and the question is about the queue now */
};

struct nm_peer_rm {
    struct nm_hadoop_client *client;
    struct nm_resolve *resolve;
    unsigned which;    /* number of changes to another ResourceManager; selects the one to use */
    unsigned tried;    /* number of ResourceManagers that were tried since the last answer */
    unsigned attempts; /* number of connections; selects the address to try next */
    uint64_t retry_usec, used_usec;
    struct nm_peer_question *questions, *ended;
    unsigned n_questions;
};

void nm_peer_rm_tick(struct nm_peers *all, uint64_t now_usec);
void nm_peer_rm_forget(struct nm_peers *all, const void *userdata);
void nm_peer_rm_done(struct nm_peers *all);

/* ---- peer.c ------------------------------------------------------------------------------- */

#define NM_PEER_BUCKETS 256u

struct nm_peers {
    struct nm_peers_params p;
    sd_event_source *timer; /* off while there are no connections */
    struct nm_peer_node *buckets[NM_PEER_BUCKETS];
    unsigned n_nodes;
    struct nm_peer_link *links;
    unsigned n_links;
    struct nm_peer_call *ended; /* calls that have failed and whose callbacks are due */
    struct nm_peer_rm rm;
};

/* Makes the timer tick in a second, if it is off. */
static inline void nm_peers_start_timer(struct nm_peers *all)
{
    if (sd_event_source_get_enabled(all->timer, NULL) > 0)
        return;
    (void)sd_event_source_set_time_relative(all->timer, NM_USEC_PER_SEC);
    (void)sd_event_source_set_enabled(all->timer, SD_EVENT_ONESHOT);
}
