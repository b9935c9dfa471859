/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Chooses the node for the next container of one ask, and returns the rule that led to this node. */

#include "yarn/allocator/ask-table.h"
#include "yarn/allocator/nodes.h"

/* Returns NULL if no node is left in this heartbeat. Fills *ret_why but for the time that the ask has waited. */
struct nm_alloc_node *nm_alloc_choose(const struct nm_alloc_nodes *nodes, const struct nm_alloc_ask *ask,
                                      const struct nm_yarn_alloc_limits *limits, struct nm_yarn_alloc_why *ret_why);
