/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The functions that handle the methods of cm-server.h's protocol, and the code that they share. The shared code
 * determines the identity of the caller, and collects the outcome for each container of a call. The userdata of each
 * method is a struct nm_yarn_cm_server. */

#include "rpc/hadoop/server.h"
#include "yarn/cm-protocol/cm-server.h"
#include "yarn/cm-protocol/observers.h"
#include "yarn/cm-protocol/token-check.h"
#include "yarn/node/node.h"

/* Maximum number of containers that one call may name. Application masters name one container per call. */
#define NM_CM_CONTAINERS_MAX 1000u

struct nm_yarn_cm_server {
    struct nm_hadoop_server *server;
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_node *node;
    struct nm_yarn_used *used;
    struct nm_yarn_key_store *key_store; /* NULL: keys are not saved */
    struct nm_yarn_gate gate;
    struct nm_yarn_master_hooks masters; /* see nm_yarn_cm_server_set_master_hooks(); begin is NULL if no hooks are
                                            set */
    char host[256];
    struct nm_observers observers;
};

/* ---- shared: cm-call.c -------------------------------------------------------------------- */

/* Returns the NMToken of the caller, or NULL after refusing the call. */
const Hadoop__NMTokenIdentifier *nm_cm_caller(struct nm_hadoop_call *call);

/* Refuses the call, which ends it. */
void nm_cm_refuse(struct nm_hadoop_call *call, const char *class_name, const char *message);
/* Refuses the call because the answer doesn't fit into the arena of the call. The message asks the caller to name fewer
 * containers. */
void nm_cm_refuse_answer(struct nm_hadoop_call *call);

/* The outcomes of one call for all containers that the call names. */
struct nm_cm_outcome {
    struct nm_arena *arena;
    Hadoop__ContainerId **done;
    Yarn__Refused **refused;
    size_t n, n_done, n_refused;
};

/* Prepares for n containers. Returns false after it has refused the call, because n is too large or there is no
 * memory. */
bool nm_cm_outcome_init(struct nm_cm_outcome *o, struct nm_hadoop_call *call, size_t n);
/* Adds the outcome for one container. r: 0, a positive outcome for *why, or -errno. Returns -ENOMEM if the answer
 * doesn't fit into its arena. */
int nm_cm_note(struct nm_cm_outcome *o, const Hadoop__ContainerId *id, int r, struct nm_exception *why);
/* Fills *why with a description of -errno. */
void nm_cm_explain(int r, struct nm_exception *why);

/* ---- methods with container tokens: cm-start.c -------------------------------------------- */

void nm_cm_start(struct nm_hadoop_call *call, void *userdata);
void nm_cm_update(struct nm_hadoop_call *call, void *userdata);

/* Applies a container token with which the ResourceManager, and not a master, changes a container. Returns 0, a
 * positive outcome with *why, or -errno. */
int nm_cm_update_one(struct nm_yarn_cm_server *m, const Hadoop__Token *token, struct nm_arena *a,
                     struct nm_exception *why);

/* ---- methods that name existing containers: cm-containers.c ------------------------------- */

void nm_cm_stop(struct nm_hadoop_call *call, void *userdata);
void nm_cm_statuses(struct nm_hadoop_call *call, void *userdata);
void nm_cm_localizations(struct nm_hadoop_call *call, void *userdata);

/* The methods that name one container. A refusal ends the whole call. */
void nm_cm_signal(struct nm_hadoop_call *call, void *userdata);
void nm_cm_localize(struct nm_hadoop_call *call, void *userdata);
void nm_cm_reinitialize(struct nm_hadoop_call *call, void *userdata);
void nm_cm_restart(struct nm_hadoop_call *call, void *userdata);
void nm_cm_roll_back(struct nm_hadoop_call *call, void *userdata);
void nm_cm_commit(struct nm_hadoop_call *call, void *userdata);

/* ---- nmd's own protocol: cm-room.c -------------------------------------------------------- */

void nm_cm_room(struct nm_hadoop_call *call, void *userdata);
