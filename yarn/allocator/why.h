/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Why a container was placed where it was, in plain words. */

#include "yarn/allocator/allocator.h"

#define NM_YARN_WHY_SIZE 1536

const char *nm_yarn_alloc_rule_name(enum nm_yarn_alloc_rule rule); /* "node-local", "rack-local", "any" */
const char *nm_yarn_alloc_pass_name(enum nm_yarn_alloc_pass pass); /* as a member of JSON: "other_partition" */

/* One line: "placed on n7:45454, node-local". */
void nm_yarn_why_summary(const struct nm_yarn_placement *p, char *buf, size_t size);
/* Some sentences, a line each: the rule, what of the list was passed over, how long it took. */
void nm_yarn_why_explain(const struct nm_yarn_placement *p, char *buf, size_t size);
