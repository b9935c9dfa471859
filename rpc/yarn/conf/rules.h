/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What becomes of properties that nmd doesn't obey. One that asks for what it doesn't do, and that a job would miss or
 * that protects somebody, stops it at its start; one that only adds is warned of once; the rest makes no difference
 * here. A property of a node's that isn't Hadoop's at all may be a slip of the pen, and is warned of as well.
 */

#include "rpc/yarn/conf/conf.h"
#include "rpc/yarn/conf/properties.h"

/* Something that is said once, at the start. */
typedef void (*nm_yarn_warn_t)(const char *sentence, void *userdata);

enum nm_yarn_fate {
    NM_YARN_UNKNOWN,
    NM_YARN_OBEYED,
    NM_YARN_STOPS, /* where its value asks for something */
    NM_YARN_WARNS, /* likewise */
    NM_YARN_IDLE,
};

/* One that is obeyed may stop nmd with some values all the same. */
enum nm_yarn_fate nm_yarn_rules_fate(const char *name);

int nm_yarn_rules_set_defaults(struct nm_yarn_conf *c);
/* warn may be NULL. -EOPNOTSUPP and *ret_message: nmd can't be such a node. */
int nm_yarn_rules_check(const struct nm_yarn_conf *c, nm_yarn_warn_t warn, void *userdata, char **ret_message);
