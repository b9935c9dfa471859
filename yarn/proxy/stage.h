/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A stage of the way between an application's master and the ResourceManager. Each attempt has a chain of them of its
 * own, in the order of stages.c's table and the configuration. A call goes forward through the stages until one takes
 * it, as the last one does, which asks the ResourceManager; what comes back goes through those before it, the last one
 * first.
 *
 * A stage is one file with one struct nm_stage_type, and a line in stages.c.
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

/* What all attempts share; the proxy's. */
struct nm_stage_world {
    sd_event *event;
    const struct nm_yarn_settings *settings;
    struct nm_yarn_signer signer;
    struct nm_yarn_proxy_store keep;
    struct nm_yarn_proxy_stats *shown;
    void (*tell)(int level, const char *sentence);
    unsigned scheduler; /* counts the ResourceManagers that were given up, for one after the other */
};

/* An attempt, as its stages see it. */
struct nm_stage_master {
    struct nm_stage_world *world;
    struct nm_yarn_attempt_id attempt;
    char name[NM_YARN_ID_SIZE];
    struct nm_yarn_container_id container; /* the master's */
    char *submitter;
    struct nm_token *token; /* the ResourceManager's, the last one that it gave */
    unsigned token_changes; /* counts those */
    bool distributed;       /* one of its stages is */
    /* Keeps what is as it is now, for the stages that have something to keep. -errno: it isn't. */
    int (*save)(struct nm_stage_master *m);
};

/* A call on its way. What stages make of it lives in its arena. */
struct nm_stage_call {
    struct nm_stage_master *master;
    enum nm_masters_method method;
    struct nm_arena arena;
    struct nm_quota_account *account; /* the master's, which pays for that; the call may end before it */
    const ProtobufCMessage *request; /* a stage may put another one in its place */
    unsigned at;                     /* the stage that has it */
    int32_t key_id;                  /* of the master's token */
    uint64_t came_usec, taken_usec; /* the latter: by that stage */
    struct nm_hadoop_call *call;
};

enum {
    NM_STAGE_E_TAKEN = 1,   /* it will be answered by nm_stage_answer(), later */
    NM_STAGE_E_REFUSED = 2, /* for *why */
};

struct nm_stage_type {
    const char *name;       /* for people */
    const char *class_name; /* Java's that does the same: how the configuration calls it */
    bool distributed;       /* with it the ResourceManager is asked in the protocol of distributed scheduling */
    /* What is kept of the attempt from before a restart, or NULL: it is new. */
    int (*open)(struct nm_stage_master *m, const struct nm_yarn_stored_master *kept, void **ret);
    /* Calls that it has taken are answered or refused before it ends. */
    void (*close)(void *stage);
    /* 0: it goes on to the next one; one of the above; or -errno. */
    int (*request)(void *stage, struct nm_stage_call *c, struct nm_exception *why);
    /* *answer, which may be replaced; 0, NM_STAGE_E_REFUSED or -errno. NULL: nothing is done. */
    int (*answer)(void *stage, struct nm_stage_call *c, const ProtobufCMessage **answer, struct nm_exception *why);
    /* What there is to be kept, which lives until the next call of the stage. NULL: nothing. */
    int (*keep)(void *stage, struct nm_yarn_stored_master *m);
    /* What there is to see of its asks. NULL: it has none. */
    struct nm_yarn_alloc_figures (*figures)(const void *stage);
};

/* Ends a call that was taken: with an answer, or, where that is NULL, with a refusal. pipeline.c has it. */
void nm_stage_answer(struct nm_stage_call *c, const ProtobufCMessage *answer, const struct nm_exception *why);
