/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The node for one ask's next container, and by which rule. */

#include "yarn/allocator/ask-table.h"
#include "yarn/allocator/nodes.h"

/* NULL: there is none in this heartbeat. *ret_why has all but the time that the ask has waited. */
struct nm_alloc_node *nm_alloc_choose(const struct nm_alloc_nodes *nodes, const struct nm_alloc_ask *ask,
                                      const struct nm_yarn_alloc_limits *limits, struct nm_yarn_alloc_why *ret_why);
