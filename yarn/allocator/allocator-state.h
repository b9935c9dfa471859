/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The private state behind allocator.h, shared by allocator.c and pack.c. */

#include "yarn/allocator/ask-table.h"
#include "yarn/allocator/nodes.h"

struct nm_yarn_allocator {
    struct nm_alloc_table asks;
    struct nm_alloc_names blacklist;
    struct nm_alloc_nodes nodes;
    bool has_limits;
    struct nm_yarn_alloc_limits limits;
    uint64_t blacklist_changes;
    struct nm_yarn_placement *placed; /* the placements of the last heartbeat */
    size_t placed_allocated;
    uint64_t placed_by_rule[NM_YARN_ALLOC_N_RULES];
};
