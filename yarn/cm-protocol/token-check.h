/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which tokens are good here, and for what. Two kinds come: who calls has proven to bear an NMToken, which is one
 * attempt's of an application for this node; and what is to be started or changed comes with a container token, in
 * which the ResourceManager has written what it is. Pure. What is refused is said as Java's NodeManager says it: the
 * same classes, the same words.
 */

#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/security.pb-c.h"
#include "yarn/exceptions.h"
#include "yarn/cm-protocol/keyring.h"
#include "yarn/cm-protocol/used-tokens.h"

struct nm_yarn_gate {
    const char *host; /* of this node, as the ResourceManager knows it */
    int32_t port;
    int64_t rm_identifier; /* whose container tokens are good; 0: nobody's at the moment */
    const struct nm_yarn_keyring *keyring;
    const struct nm_yarn_used *used;
};

enum {
    NM_YARN_TOKEN_E_REFUSED = 1, /* not this container; other parts of the request have nothing to do with it */
    NM_YARN_TOKEN_E_INVALID = 2, /* a token that nobody may have: nothing of the whole request is done */
};

/* All of these: 0, or a positive outcome with *why. */

/* Whose NMToken this identifier would be, and by which key: that it is, its bearer has yet to prove. */
int nm_yarn_check_bearer(const struct nm_yarn_gate *g, struct nm_bytes identifier, struct nm_arena *a,
                         const Hadoop__NMTokenIdentifier **ret, const struct nm_yarn_master_key **ret_key,
                         struct nm_exception *why);

/* Is this container token the ResourceManager's, for this node? */
int nm_yarn_check_container(const struct nm_yarn_gate *g, const Hadoop__Token *token, struct nm_arena *a,
                            const Hadoop__ContainerTokenIdentifier **ret, struct nm_exception *why);

/* One that is: may this caller start the container now, or change it? */
int nm_yarn_check_start(const struct nm_yarn_gate *g, const Hadoop__NMTokenIdentifier *caller,
                        const Hadoop__ContainerTokenIdentifier *token, int64_t now_msec, struct nm_exception *why);
int nm_yarn_check_update(const struct nm_yarn_gate *g, const Hadoop__NMTokenIdentifier *caller,
                         const Hadoop__ContainerTokenIdentifier *token, int64_t now_msec, struct nm_exception *why);

/* Is the container one of the caller's application? Which attempt of it doesn't matter: a later one looks after what
 * an earlier one has left. deed: "stop", ... */
int nm_yarn_check_owner(const Hadoop__NMTokenIdentifier *caller, const Hadoop__ContainerId *id, const char *deed,
                        struct nm_exception *why);
