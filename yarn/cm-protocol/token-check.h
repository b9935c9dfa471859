/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks tokens. Each caller has proven to hold an NMToken, which belongs to one attempt of an application and is valid
 * for this node. A request to start or change a container contains a container token, in which the ResourceManager
 * describes the container. The code is pure. Refusals use the exception classes and texts of Java's NodeManager.
 */

#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/security.pb-c.h"
#include "yarn/exceptions.h"
#include "yarn/cm-protocol/keyring.h"
#include "yarn/cm-protocol/used-tokens.h"

struct nm_yarn_gate {
    const char *host; /* this node's name, as the ResourceManager knows it */
    int32_t port;
    int64_t rm_identifier; /* the ResourceManager whose container tokens are valid; 0 while the node is registering */
    const struct nm_yarn_keyring *keyring;
    const struct nm_yarn_used *used;
};

enum {
    NM_YARN_TOKEN_E_REFUSED = 1, /* refuse the request for this container only */
    NM_YARN_TOKEN_E_INVALID = 2, /* the token is not valid for any caller: refuse the whole call */
};

/* Each function below returns 0, or a positive outcome with *why. */

/* Finds the NMToken's key by the token's identifier. The caller has not yet proven to hold the token. */
int nm_yarn_check_bearer(const struct nm_yarn_gate *g, struct nm_bytes identifier, struct nm_arena *a,
                         const Hadoop__NMTokenIdentifier **ret, const struct nm_yarn_master_key **ret_key,
                         struct nm_exception *why);

/* Checks that the ResourceManager issued this container token for this node. */
int nm_yarn_check_container(const struct nm_yarn_gate *g, const Hadoop__Token *token, struct nm_arena *a,
                            const Hadoop__ContainerTokenIdentifier **ret, struct nm_exception *why);

/* Check whether this caller may start or change the container now. nm_yarn_check_container() has accepted the token. */
int nm_yarn_check_start(const struct nm_yarn_gate *g, const Hadoop__NMTokenIdentifier *caller,
                        const Hadoop__ContainerTokenIdentifier *token, int64_t now_msec, struct nm_exception *why);
int nm_yarn_check_update(const struct nm_yarn_gate *g, const Hadoop__NMTokenIdentifier *caller,
                         const Hadoop__ContainerTokenIdentifier *token, int64_t now_msec, struct nm_exception *why);

/* Checks that the container belongs to the caller's application. The attempt may be another one, because a later
 * attempt manages the containers that an earlier attempt has left. operation: a verb for the message, such as
 * "stop". */
int nm_yarn_check_owner(const Hadoop__NMTokenIdentifier *caller, const Hadoop__ContainerId *id, const char *operation,
                        struct nm_exception *why);
