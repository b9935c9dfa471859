/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The room of the nodes that the ResourceManager lists, as the nodes themselves have reported it (peer/peer.h). All
 * masters of this node share the table, so a node is asked at most every five seconds, and only while a master has
 * outstanding asks, or asks that could be lent. A Java NodeManager is recognized by its refusal, and is not asked again
 * for ten minutes.
 */

#include "yarn/allocator/allocator.h"
#include "yarn/peer/peer.h"

/* Maximum number of nodes. Further nodes replace the ones that were not looked up for the longest time. */
#define NM_NODE_ROOMS_MAX 1024u
#define NM_NODE_ROOMS_ASK_USEC (5 * NM_USEC_PER_SEC)
/* Time for which the first answer of a node is awaited. */
#define NM_NODE_ROOMS_AWAIT_USEC (2 * NM_USEC_PER_SEC)
/* Time from a placement until the container uses its node: the master must get it and start it first. */
#define NM_NODE_ROOMS_CLAIM_USEC (3 * NM_USEC_PER_SEC)

struct nm_node_rooms;

/* peers must outlive *ret. observes: the masters only observe what would be lent. */
int nm_node_rooms_new(struct nm_peers *peers, bool observes, struct nm_node_rooms **ret);
struct nm_node_rooms *nm_node_rooms_free(struct nm_node_rooms *all);
NM_DEFINE_CLEANUP(struct nm_node_rooms *, nm_node_rooms_free)

/* Returns what is known of the node, and asks it on behalf of the caller if this is due. The clock of the measurement's
 * time is that of nm_steady_usec(). Without memory, the node's room counts as unknown. */
void nm_node_rooms_look_up(struct nm_node_rooms *all, const struct nm_peer_caller *caller, const char *host,
                           int32_t port, struct nm_yarn_alloc_measure *ret);

/* Notes that a master of this node has placed a container on a node that was looked up. All masters of this node see
 * its memory as claimed, until an answer of the node may include it. So two masters don't use the same room. */
void nm_node_rooms_claim(struct nm_node_rooms *all, const char *host, int32_t port, int64_t memory_mib);

/* Adds to the memory of the containers that would have been lent there ("observe"), or subtracts from it. The node is
 * told with the next question, so that the masters of other nodes learn it, too. */
void nm_node_rooms_observe(struct nm_node_rooms *all, const char *host, int32_t port, int64_t memory_mib);
