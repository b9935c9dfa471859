/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The nodes that the ResourceManager listed, and what was placed there lately. */

#include "yarn/allocator/allocator.h"
#include "yarn/allocator/names.h"

/* Time goes in quarters of the window: what was placed counts in its own and the four after it. */
#define NM_ALLOC_QUARTERS 5

struct nm_alloc_recent {
    uint64_t quarter; /* the newest, counted from the clock's beginning */
    uint32_t count[NM_ALLOC_QUARTERS];
};

struct nm_alloc_node {
    struct nm_yarn_alloc_node is;  /* its texts are its own, and none is NULL */
    uint32_t used;                 /* containers out of this heartbeat */
    struct nm_alloc_recent recent; /* those that its queue may not show yet */
    bool blacklisted;
};

struct nm_alloc_nodes {
    struct nm_alloc_node *list;
    size_t n;
    uint16_t *by_host, *by_rack; /* indices, in the order of these names */
};

void nm_alloc_nodes_done(struct nm_alloc_nodes *nodes);
/* What was placed lately on a host that is in the new list, too, is still known of it. */
int nm_alloc_nodes_set(struct nm_alloc_nodes *nodes, const struct nm_yarn_alloc_node *from, size_t n);

/* Sets named[i] of each node that is one of these hosts, or in one of these racks that relax locality. A master names
 * thousands: what that costs goes by their number, and not by that times the nodes'. */
void nm_alloc_nodes_mark_hosts(const struct nm_alloc_nodes *nodes, const struct nm_alloc_names *hosts, bool *named);
void nm_alloc_nodes_mark_racks(const struct nm_alloc_nodes *nodes, const struct nm_alloc_names *racks, bool *named);

/* A heartbeat begins. */
void nm_alloc_nodes_begin(struct nm_alloc_nodes *nodes, const struct nm_alloc_names *blacklist, uint64_t window_usec,
                          uint64_t now_usec);
/* So many more may be placed there; -1: nobody knows. */
int64_t nm_alloc_node_room(const struct nm_alloc_node *node, int32_t queue_length);
/* In the heartbeat that has begun. */
void nm_alloc_node_took(struct nm_alloc_node *node);
