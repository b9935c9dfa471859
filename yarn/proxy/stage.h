/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A stage between an application's master and the ResourceManager. Each attempt has its own chain of stages, in the
 * order of the table in stages.c and of the configuration. A call passes forward through the stages until a stage takes
 * it. The last stage takes every call and calls the ResourceManager. The answer passes back through the earlier stages
 * in reverse order.
 *
 * A stage is one file with one struct nm_stage_type, a declaration at the end of this header, and a line in stages.c.
 */

#include <systemd/sd-event.h>

#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/server.h"
#include "yarn/conf/settings.h"
#include "yarn/exceptions.h"
#include "yarn/ids.h"
#include "yarn/proxy/proxy-store.h"
#include "yarn/proxy/masters.pb-c.h"
#include "yarn/proxy/proxy-stats.h"
#include "yarn/proxy/sign.h"

enum nm_masters_method {
    NM_MASTERS_REGISTER, /* Anything -> RegisterMasterAnswer */
    NM_MASTERS_ALLOCATE, /* AllocateRequest -> AllocateAnswer */
    NM_MASTERS_FINISH,   /* Anything -> Anything */
    NM_MASTERS_N_METHODS,
};

/* The part of the proxy that all attempts share. */
struct nm_stage_world {
    sd_event *event;
    const struct nm_yarn_settings *settings;
    struct nm_yarn_signer signer;
    struct nm_yarn_proxy_store store;
    struct nm_yarn_proxy_stats *stats;
    void (*tell)(int level, const char *sentence);
    unsigned scheduler; /* counts the ResourceManagers given up, so that each is tried in turn */
};

/* An attempt, as its stages see it. */
struct nm_stage_master {
    struct nm_stage_world *world;
    struct nm_yarn_attempt_id attempt;
    char name[NM_YARN_ID_SIZE];
    struct nm_yarn_container_id container; /* the master's own container */
    char *submitter;
    struct nm_token *token; /* the ResourceManager's newest token */
    unsigned token_changes; /* counts the tokens received */
    bool distributed;       /* one of the stages does distributed scheduling */
    /* Saves the current state of all stages. Returns 0 or -errno. */
    int (*save)(struct nm_stage_master *m);
};

/* A call in progress. The call's arena holds the data that stages make for it. */
struct nm_stage_call {
    struct nm_stage_master *master;
    enum nm_masters_method method;
    struct nm_arena arena;
    struct nm_quota_account *account; /* the master's account, which is charged for the arena; may outlive the call */
    const ProtobufCMessage *request; /* a stage may replace it */
    unsigned at;                     /* index of the current stage */
    int32_t key_id;                  /* key of the master's token */
    uint64_t came_usec, taken_usec; /* times of arrival, and when the current stage took the call */
    struct nm_hadoop_call *call;
};

enum {
    NM_STAGE_E_TAKEN = 1,   /* nm_stage_answer() answers the call later */
    NM_STAGE_E_REFUSED = 2, /* the call is refused with *why */
};

struct nm_stage_type {
    const char *name;       /* name for logs */
    const char *class_name; /* name in the configuration: the Java class of the same function */
    bool distributed;       /* the ResourceManager is called with the protocol of distributed scheduling */
    /* Creates the stage's state. kept: the attempt's saved state from before a restart, or NULL for a new attempt. */
    int (*open)(struct nm_stage_master *m, const struct nm_yarn_stored_master *kept, void **ret);
    /* Frees the state. All calls that the stage has taken are answered or refused before. */
    void (*close)(void *stage);
    /* Handles a call. Returns 0 to pass it on, one of the values above, or -errno. */
    int (*request)(void *stage, struct nm_stage_call *c, struct nm_exception *why);
    /* Handles an answer, and may replace *answer. Returns 0, NM_STAGE_E_REFUSED or -errno. NULL: answers pass
     * unchanged. */
    int (*answer)(void *stage, struct nm_stage_call *c, const ProtobufCMessage **answer, struct nm_exception *why);
    /* Adds the state to be saved, which is valid until the next call of the stage. NULL: no state. */
    int (*keep)(void *stage, struct nm_yarn_stored_master *m);
    /* Returns figures of the asks. NULL: the stage has no asks. */
    struct nm_yarn_alloc_figures (*figures)(const void *stage);
};

/* Ends a call that a stage has taken: with an answer, or with a refusal if `answer` is NULL. Defined in pipeline.c. */
void nm_stage_answer(struct nm_stage_call *c, const ProtobufCMessage *answer, const struct nm_exception *why);

/* ---- the stages, and their choice: stages.c ----------------------------------------------- */

/*
 * Distributed scheduling: takes the opportunistic asks out of a master's calls, and places them on the nodes that the
 * ResourceManager lists (allocator/). The same call reports the placements to the ResourceManager, and the call's
 * answer reports them to the master.
 */
extern const struct nm_stage_type nm_stage_distribute;

/*
 * The last stage: calls the ResourceManager, on a connection of its own per attempt, with the token that the
 * ResourceManager issued for the attempt. If the ResourceManager can't be reached, calls wait for a while and are then
 * answered so that the master retries. The event loop is not blocked meanwhile. If there are several ResourceManagers,
 * the stage finds the active one.
 */
extern const struct nm_stage_type nm_stage_forward;

#define NM_STAGES_MAX 8u

/* Chooses the chain: distributed scheduling first if it is enabled, then the stages of the property, given as Java
 * class names. *ret has room for NM_STAGES_MAX stages. -EOPNOTSUPP and *ret_message: a stage doesn't exist, or the
 * order is invalid. */
int nm_stages_choose(const struct nm_yarn_settings *s, const struct nm_stage_type **ret, size_t *ret_n,
                     char **ret_message);
