/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Explains in plain words why a container was placed on its node. */

#include "yarn/allocator/allocator.h"

#define NM_YARN_WHY_SIZE 1536

const char *nm_yarn_alloc_rule_name(enum nm_yarn_alloc_rule rule); /* "node-local", "rack-local", "any" */
const char *nm_yarn_alloc_pass_name(enum nm_yarn_alloc_pass pass); /* name of a JSON member: "other_partition" */

/* Writes one line: "placed on n7:45454, node-local". */
void nm_yarn_why_summary(const struct nm_yarn_placement *p, char *buf, size_t size);
/* Writes several sentences, one per line: the rule, which nodes of the list were passed over, and the waiting time. */
void nm_yarn_why_explain(const struct nm_yarn_placement *p, char *buf, size_t size);
