/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What becomes of properties that nmd doesn't obey. One that asks for what it doesn't do, and that a job would miss or
 * that protects somebody, stops it at its start; one that only adds is warned of once; the rest makes no difference
 * here. A property whose name begins as Hadoop's and nmd's do and that neither knows may be a slip of the pen, and is
 * warned of as well.
 */

#include "util/refusals.h"
#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"

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
/* warn may be NULL. All that nmd can't do as a node goes into the refusals. 0, or -ENOMEM. */
int nm_yarn_rules_check(const struct nm_yarn_conf *c, nm_yarn_warn_t warn, void *userdata,
                        struct nm_refusals *refusals);
