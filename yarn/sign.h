/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Signs tokens on this node on behalf of the ResourceManager, with the cluster's keys, which all nodes have. For each
 * container there are two tokens: the container token for its node, and the NMToken with which the application connects
 * to that node.
 *
 * A new key reaches each node with the node's next heartbeat, and therefore not all nodes at the same time. Until all
 * nodes have the new key, new tokens are signed with the previous key, which all nodes still accept.
 */

#include "rpc/hadoop/token.h"
#include "util/clock.h"
#include "yarn/ids.h"
#include "yarn/master-key.h"

/* Time after which all nodes have received a new key. */
#define NM_YARN_SIGN_SETTLED_USEC (30 * NM_USEC_PER_SEC)

/* The time at which the current key of one kind was first seen. */
struct nm_yarn_current_key {
    int32_t id;
    bool known;
    uint64_t since_usec;
};

/* All members except `keys` are zero at first. */
struct nm_yarn_signer {
    const struct nm_yarn_cluster_keys *keys; /* must outlive the signer */
    int64_t rm_identifier; /* the ResourceManager on whose behalf tokens are signed; 0 while the node is registering */
    struct nm_yarn_current_key container, nm;
};

/* The fields of a container token that vary. The tokens are for queued containers without a node label, so all other
 * fields are always the same. */
struct nm_yarn_grant {
    struct nm_yarn_container_id id;
    const char *submitter, *host;
    int32_t port;
    int64_t memory_mib, created_msec, expires_msec, request_id;
    int32_t vcores, priority;
};

/* now_usec: the time of a monotonic clock. -ENOKEY: the node has not received the cluster's key yet; -ENOMEM. The
 * message is in the arena. */
int nm_yarn_sign_container(struct nm_yarn_signer *s, const struct nm_yarn_grant *g, uint64_t now_usec,
                           struct nm_arena *a, Hadoop__Token **ret);
int nm_yarn_sign_nm(struct nm_yarn_signer *s, const struct nm_yarn_attempt_id *attempt, const char *submitter,
                    const char *host, int32_t port, uint64_t now_usec, struct nm_arena *a, Hadoop__Token **ret);

/* Converts a token to a message in the arena. -ENOMEM. */
int nm_yarn_token_message(const struct nm_token *t, struct nm_arena *a, Hadoop__Token **ret);
