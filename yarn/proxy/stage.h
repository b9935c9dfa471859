/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A stage processes the calls between an application's master and the ResourceManager. Each attempt has its own chain
 * of stages. The table in stages.c and the configuration determine their order. A call passes through the stages until
 * a stage takes it. The last stage takes every call, and calls the ResourceManager. The answer passes through the
 * earlier stages in reverse order.
 *
 * A stage consists of one file with a struct nm_stage_type, a declaration at the end of this header, and a line in
 * stages.c.
 */

#include <systemd/sd-event.h>

#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/server.h"
#include "yarn/allocator/allocator.h"
#include "yarn/conf/settings.h"
#include "yarn/exceptions.h"
#include "yarn/ids.h"
#include "yarn/peer/peer.h"
#include "yarn/proxy/lend-view.h"
#include "yarn/proxy/node-rooms.h"
#include "yarn/proxy/proxy-store.h"
#include "yarn/proxy/masters.pb-c.h"
#include "yarn/proxy/proxy-stats.h"
#include "yarn/sign.h"

/* Events of lending that are logged at most once in a while. */
enum nm_lender_event {
    NM_LENDER_FIRST,
    NM_LENDER_PROMOTED,
    NM_LENDER_PREEMPTED,
    NM_LENDER_REFUSED,
    NM_LENDER_UNKNOWN,
    NM_LENDER_NOT_SAVED,
    NM_LENDER_NOT_RESTORED,
    NM_LENDER_N_EVENTS,
};

/* The data that the stages for lending share. Only their own files use it (lend-*.c). */
struct nm_lenders {
    struct nm_lender *first; /* the list of all lenders, from which the totals of queues are computed */
    uint64_t logged_usec[NM_LENDER_N_EVENTS];
    unsigned left_out[NM_LENDER_N_EVENTS]; /* sentences that were not logged since then */
    /* With "observe" and without distributed scheduling: the nodes on which something would be lent. */
    struct nm_yarn_alloc_node *seen; /* has room for NM_YARN_ALLOC_NODES_MAX nodes */
    size_t n_seen, replaced;
    bool has_new;
    struct nm_yarn_allocator *nodes;
};

enum nm_masters_method {
    NM_MASTERS_REGISTER, /* request Anything, answer RegisterMasterAnswer */
    NM_MASTERS_ALLOCATE, /* request AllocateRequest, answer AllocateAnswer */
    NM_MASTERS_FINISH,   /* request Anything, answer Anything */
    NM_MASTERS_N_METHODS,
};

/* The data of the proxy that all attempts share. */
struct nm_stage_context {
    sd_event *event;
    const struct nm_yarn_settings *settings;
    struct nm_yarn_signer signer;
    int32_t queue_max_length; /* limit of the nodes' queues that the ResourceManager has sent; -1: no limit */
    struct nm_yarn_proxy_store store;
    struct nm_yarn_proxy_stats *stats;
    void (*report_cb)(int level, const char *sentence);
    struct nm_peers *peers; /* calls to other nodes, and to the ResourceManager's port for clients */
    struct nm_lenders lenders;
    struct nm_node_rooms *rooms;
    unsigned scheduler; /* number of changes to another ResourceManager; selects the one to use */
};

/* The data of an attempt that its stages use. */
struct nm_stage_master {
    struct nm_stage_context *context;
    struct nm_yarn_attempt_id attempt;
    char name[NM_YARN_ID_SIZE];
    struct nm_yarn_container_id container; /* the master's own container */
    char *submitter;
    char *wish; /* NMD_LEND of the master's launch environment; NULL: not set */
    struct nm_token *token; /* the ResourceManager's newest token */
    unsigned token_changes; /* number of tokens received from the ResourceManager */
    bool distributed;       /* the chain contains the stage for distributed scheduling */
    /* The books of the stage that lends, or NULL if nothing is lent. Opportunistic asks may be lent asks of a master
     * that asked for guaranteed containers. Valid while that stage, or a later one, handles a call. */
    const struct nm_lend *lends;
    /* While it is only observed what would be lent: the memory in MiB of the containers that a node would run. NULL:
     * the chain has no stage that lends. */
    int64_t (*observed_on)(const void *observer, const char *host, int32_t port);
    const void *observer; /* the first argument */
    /* That of the stage for distributed scheduling, or NULL if the chain doesn't contain it. */
    struct nm_distribute *distribute;
    /* Saves the current state of all stages. Returns 0 or -errno. */
    int (*save)(struct nm_stage_master *m);
};

/* A call in progress. The call's arena contains the data that stages make for the call. */
struct nm_stage_call {
    struct nm_stage_master *master;
    enum nm_masters_method method;
    struct nm_arena arena;
    struct nm_quota_account *account; /* the master's account, charged for the arena's memory; may outlive the call */
    const ProtobufCMessage *request; /* a stage may replace it */
    unsigned at;                     /* index of the current stage */
    int32_t key_id;                  /* key of the master's token */
    bool is_repeated;                /* the ResourceManager has refused the call with what a stage had added */
    uint64_t came_usec, taken_usec; /* time of arrival; time at which the current stage took the call */
    struct nm_hadoop_call *call;
};

enum {
    NM_STAGE_E_TAKEN = 1,   /* the stage has taken the call and will call nm_stage_answer() later */
    NM_STAGE_E_REFUSED = 2, /* the call is refused with *why */
};

struct nm_stage_type {
    const char *name;       /* name of the stage in logs */
    const char *class_name; /* name of the stage in the configuration: the Java class with the same function */
    bool distributed;       /* the ResourceManager must be called with the protocol of distributed scheduling */
    /* Creates the stage's state. kept: the attempt's state that an earlier nmd has saved, or NULL for a new attempt. */
    int (*open)(struct nm_stage_master *m, const struct nm_yarn_stored_master *kept, void **ret);
    /* Frees the state. All calls that the stage has taken must have been answered or refused before. */
    void (*close)(void *stage);
    /* Handles a call. Returns 0 to pass the call on, one of the outcomes above, or -errno. */
    int (*request)(void *stage, struct nm_stage_call *c, struct nm_exception *why);
    /* Handles an answer, and may replace *answer. Returns 0, NM_STAGE_E_REFUSED or -errno. NULL: the stage passes
     * answers on unchanged. */
    int (*answer)(void *stage, struct nm_stage_call *c, const ProtobufCMessage **answer, struct nm_exception *why);
    /* Notes that the ResourceManager has answered a call with an exception, so that it has not applied it. Returns
     * whether the stage had added to the call what the master has not asked for. If the exception is about an ask, the
     * call is then repeated once, and the stage adds as little as possible. NULL: there is nothing to take back. */
    bool (*refused)(void *stage, const struct nm_stage_call *c);
    /* Sets the stage's fields of *m, which is then saved. The fields may point into the stage's memory, which must stay
     * unchanged until another function of the stage is called. NULL: the stage has no state to save. */
    int (*keep)(void *stage, struct nm_yarn_stored_master *m);
    /* Returns figures about the asks. NULL: the stage has no asks. */
    struct nm_yarn_alloc_figures (*figures)(const void *stage);
    /* Takes over what a new attempt needs from the stage of the attempt before it, which then ends. NULL: nothing. */
    void (*inherit)(void *stage, const void *former);
    /* Returns what the status shows of lending. NULL: the stage lends nothing. */
    void (*lending)(const void *stage, struct nm_yarn_lend_view *ret);
};

/* Ends a call that a stage has taken, with an answer, or with a refusal if `answer` is NULL. Is defined in
 * pipeline-call.c. */
void nm_stage_answer(struct nm_stage_call *c, const ProtobufCMessage *answer, const struct nm_exception *why);
/* Ends a call that a stage has taken, with the exception that the ResourceManager has answered, or passes the call
 * through all stages again. */
void nm_stage_refuse(struct nm_stage_call *c, const struct nm_exception *why);

/* ---- the stages, and their choice: stages.c ----------------------------------------------- */

/*
 * Lending. Asks for a part of the guaranteed containers of a master as opportunistic ones, while the ResourceManager
 * doesn't grant them, and shows them to the master as guaranteed (lend/lend.h).
 */
extern const struct nm_stage_type nm_stage_lend;

/* Note a node that may run opportunistic containers. address: "host:port", or NULL. */
void nm_lenders_note_node(struct nm_stage_context *c, const char *host, int32_t port);
void nm_lenders_note_address(struct nm_stage_context *c, const char *address);
/* Frees the nodes. There must be no lender any more. */
void nm_lenders_done(struct nm_lenders *all);

/*
 * Distributed scheduling. Removes the opportunistic asks from a master's calls, and places their containers on the
 * nodes that the ResourceManager lists (allocator/). The forwarded call reports the placements to the ResourceManager,
 * and the answer to the call reports them to the master.
 */
extern const struct nm_stage_type nm_stage_distribute;

struct nm_distribute;
int64_t nm_distribute_lendable_mib(const struct nm_distribute *d); /* nm_yarn_allocator_lendable_mib() */
/* Looks up what the listed nodes have said last, and asks them if it is time. */
void nm_distribute_look_up_rooms(struct nm_distribute *d);
/* Returns nm_yarn_allocator_startable() by what was looked up last. Nothing can start before the master has registered.
 * NM_LEND_STARTABLE_UNKNOWN: nmd was restarted, and the ResourceManager has not sent the nodes or the cluster's keys
 * since, or no node has answered yet. */
uint32_t nm_distribute_startable(const struct nm_distribute *d, struct nm_yarn_alloc_size size);
/* nm_yarn_allocator_try() */
size_t nm_distribute_try(const struct nm_distribute *d, struct nm_yarn_alloc_size *size,
                         const struct nm_yarn_alloc_node **ret, size_t n);

/*
 * The last stage. It calls the ResourceManager with the token that the ResourceManager issued for the attempt. Each
 * attempt has its own connection. If the ResourceManager can't be reached, calls wait for a limited time. The answer
 * then asks the master to retry. The event loop is not blocked meanwhile. If there are several ResourceManagers, the
 * stage finds the active one.
 */
extern const struct nm_stage_type nm_stage_forward;

#define NM_STAGES_MAX 8u

/* Chooses the chain of stages: lending and distributed scheduling first if they are enabled, then the stages that the
 * property lists by Java class names. *ret has room for NM_STAGES_MAX stages. -EOPNOTSUPP and *ret_message: a stage
 * doesn't exist, or the order is invalid. */
int nm_stages_choose(const struct nm_yarn_settings *s, const struct nm_stage_type **ret, size_t *ret_n,
                     char **ret_message);
