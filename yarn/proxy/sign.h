/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Signs tokens on this node on behalf of the ResourceManager, with the cluster's keys, which all nodes have: a token
 * for a container on some node, and a token with which the container's application connects to that node.
 *
 * A new key reaches the nodes one by one, with their heartbeats. So for a while new tokens are signed with the previous
 * key, which all nodes still accept.
 */

#include "rpc/hadoop/token.h"
#include "util/clock.h"
#include "yarn/ids.h"
#include "yarn/state.h"

/* Time until the last node has received a new key. */
#define NM_YARN_SIGN_SETTLED_USEC (30 * NM_USEC_PER_SEC)

/* When the current key of one kind was first seen. */
struct nm_yarn_seen_key {
    int32_t id;
    bool seen;
    uint64_t since_usec;
};

/* All members but `state` are zero at first. */
struct nm_yarn_signer {
    const struct nm_yarn_state *state; /* holds the keys; must outlive the signer */
    struct nm_yarn_seen_key container, nm;
};

/* The fields of a container token that vary. The tokens are for queued containers without a node label; all other
 * fields are the same. */
struct nm_yarn_grant {
    struct nm_yarn_container_id id;
    const char *submitter, *host;
    int32_t port;
    int64_t memory_mib, created_msec, expires_msec, request_id;
    int32_t vcores, priority;
};

/* now_usec: of a monotonic clock. -ENOKEY: the cluster's key has not been received yet; -ENOMEM. The message is in the
 * arena. */
int nm_yarn_sign_container(struct nm_yarn_signer *s, const struct nm_yarn_grant *g, uint64_t now_usec,
                           struct nm_arena *a, Hadoop__Token **ret);
int nm_yarn_sign_nm(struct nm_yarn_signer *s, const struct nm_yarn_attempt_id *attempt, const char *submitter,
                    const char *host, int32_t port, uint64_t now_usec, struct nm_arena *a, Hadoop__Token **ret);

/* Converts a token to its message, in the arena. -ENOMEM. */
int nm_yarn_token_message(const struct nm_token *t, struct nm_arena *a, Hadoop__Token **ret);
