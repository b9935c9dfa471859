/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The nodes that the ResourceManager listed, and what was placed there lately. */

#include "rpc/yarn/allocator/allocator.h"
#include "rpc/yarn/allocator/names.h"

struct nm_alloc_node {
    struct nm_yarn_alloc_node is; /* its texts are its own, and none is NULL */
    uint32_t used;                /* containers out of this heartbeat */
    uint32_t recent;              /* those that its queue may not show yet, the last of them at recent_usec */
    uint64_t recent_usec;
    bool blacklisted;
};

struct nm_alloc_nodes {
    struct nm_alloc_node *list;
    size_t n;
};

void nm_alloc_nodes_done(struct nm_alloc_nodes *nodes);
/* What was placed lately on a host that is in the new list, too, is still known of it. */
int nm_alloc_nodes_set(struct nm_alloc_nodes *nodes, const struct nm_yarn_alloc_node *from, size_t n);

/* A heartbeat begins. */
void nm_alloc_nodes_begin(struct nm_alloc_nodes *nodes, const struct nm_alloc_names *blacklist, uint64_t window_usec,
                          uint64_t now_usec);
/* So many more may be placed there; -1: nobody knows. */
int64_t nm_alloc_node_room(const struct nm_alloc_node *node, int32_t queue_length);
void nm_alloc_node_took(struct nm_alloc_node *node, uint64_t now_usec);
