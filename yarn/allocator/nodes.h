/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The nodes that the ResourceManager listed, and the recent placements on them. */

#include "yarn/allocator/allocator.h"
#include "yarn/allocator/names.h"

/* Time is counted in quarters of the window. A placement counts in its own quarter and in the four after it. */
#define NM_ALLOC_QUARTERS 5

struct nm_alloc_recent {
    uint64_t quarter; /* the newest quarter, counted from the start of the clock */
    uint32_t count[NM_ALLOC_QUARTERS];
};

struct nm_alloc_node {
    struct nm_yarn_alloc_node is;  /* the node owns these strings, which are never NULL */
    uint32_t used;                 /* containers of this heartbeat */
    struct nm_alloc_recent recent; /* placements that the node's queue may not show yet */
    bool blacklisted;
};

struct nm_alloc_nodes {
    struct nm_alloc_node *list;
    size_t n;
    uint16_t *by_host, *by_rack; /* indices, sorted by host or rack */
};

void nm_alloc_nodes_done(struct nm_alloc_nodes *nodes);
/* Replaces the list. A host that is in both lists keeps its recent placements. */
int nm_alloc_nodes_set(struct nm_alloc_nodes *nodes, const struct nm_yarn_alloc_node *from, size_t n);

/* Set named[i] for each node that is one of these hosts, or in one of these racks that relax locality. A master may
 * name thousands of hosts and racks, so the cost grows with the number of names and not with names times nodes. */
void nm_alloc_nodes_mark_hosts(const struct nm_alloc_nodes *nodes, const struct nm_alloc_names *hosts, bool *named);
void nm_alloc_nodes_mark_racks(const struct nm_alloc_nodes *nodes, const struct nm_alloc_names *racks, bool *named);

/* Starts a heartbeat. */
void nm_alloc_nodes_begin(struct nm_alloc_nodes *nodes, const struct nm_alloc_names *blacklist, uint64_t window_usec,
                          uint64_t now_usec);
/* Returns how many more containers may be placed on the node; -1: unknown. */
int64_t nm_alloc_node_room(const struct nm_alloc_node *node, int32_t queue_length);
/* Counts a container that was placed on the node in the current heartbeat. */
void nm_alloc_node_took(struct nm_alloc_node *node);
