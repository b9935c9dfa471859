/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the methods of manage.h share: who calls, and what becomes of each container that is named. */

#include "rpc/hadoop/server.h"
#include "yarn/cm-protocol/manage.h"
#include "yarn/cm-protocol/token-check.h"
#include "yarn/node/node.h"

/* Containers that one call may name. Application masters name one at a time. */
#define NM_MANAGE_MAX 1000u

struct nm_yarn_manage {
    struct nm_hadoop_server *server;
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_node *node;
    struct nm_yarn_used *used;
    struct nm_yarn_gate gate;
    struct nm_yarn_masters masters; /* begin NULL: there is nobody */
    char host[256];
};

/* Whose call it is; NULL: the call is refused. */
const Hadoop__NMTokenIdentifier *nm_manage_caller(struct nm_hadoop_call *call);

/* Ends the call. */
void nm_manage_refuse(struct nm_hadoop_call *call, const char *class_name, const char *message);
void nm_manage_refuse_answer(struct nm_hadoop_call *call); /* there is no room for it */

/* What became of each. */
struct nm_manage_outcome {
    struct nm_arena *arena;
    Hadoop__ContainerId **done;
    Yarn__Refused **refused;
    size_t n, n_done, n_refused;
};

/* For n containers. False: they are too many, or there is no room; the call is refused. */
bool nm_manage_outcome_init(struct nm_manage_outcome *o, struct nm_hadoop_call *call, size_t n);
/* r: 0, a positive outcome for *why, or -errno. -ENOMEM: there is no room for the answer. */
int nm_manage_note(struct nm_manage_outcome *o, const Hadoop__ContainerId *id, int r, struct nm_exception *why);
/* -errno becomes words. */
void nm_manage_explain(int r, struct nm_exception *why);
