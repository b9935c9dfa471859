/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tokens that this node signs in the ResourceManager's stead, with the cluster's keys, which all nodes have: for a
 * container on some node, and for its application to talk to that node.
 *
 * A new key reaches the nodes one by one, with their heartbeats. So for a while new tokens are signed with the key
 * before, which all of them still take.
 */

#include "rpc/hadoop/token.h"
#include "util/clock.h"
#include "yarn/ids.h"
#include "yarn/state.h"

/* Until the last node has heard of a new key. */
#define NM_YARN_SIGN_SETTLED_USEC (30 * NM_USEC_PER_SEC)

/* When a kind's current key was first seen. */
struct nm_yarn_seen_key {
    int32_t id;
    bool seen;
    uint64_t since_usec;
};

/* Zeroed at first, but for the state. */
struct nm_yarn_signer {
    const struct nm_yarn_state *state; /* has the keys; it must outlive this */
    struct nm_yarn_seen_key container, nm;
};

/* One of a queue on some node, of no label: what else a container token has is the same for all of these. */
struct nm_yarn_grant {
    struct nm_yarn_container_id id;
    const char *submitter, *host;
    int32_t port;
    int64_t memory_mib, created_msec, expires_msec, request_id;
    int32_t vcores, priority;
};

/* now_usec: of a clock that isn't set. -ENOKEY: there is no key yet; or -ENOMEM. The message is in the arena. */
int nm_yarn_sign_container(struct nm_yarn_signer *s, const struct nm_yarn_grant *g, uint64_t now_usec,
                           struct nm_arena *a, Hadoop__Token **ret);
int nm_yarn_sign_nm(struct nm_yarn_signer *s, const struct nm_yarn_attempt_id *attempt, const char *submitter,
                    const char *host, int32_t port, uint64_t now_usec, struct nm_arena *a, Hadoop__Token **ret);

/* A token as messages have it, in the arena. -ENOMEM. */
int nm_yarn_token_message(const struct nm_token *t, struct nm_arena *a, Hadoop__Token **ret);
