/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides about properties that nmd doesn't support. If a property requests a function that nmd lacks, and jobs depend
 * on it or it protects users, nmd refuses to start. If the function is optional, nmd warns once. The other properties
 * have no effect on a node. A property with a prefix of Hadoop or nmd that both don't know may be misspelt, so nmd
 * warns of it as well.
 */

#include "util/error.h"
#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"

/* Reports a warning, once at the start. */
typedef void (*nm_yarn_warn_t)(const char *sentence, void *userdata);

enum nm_yarn_fate {
    NM_YARN_UNKNOWN,
    NM_YARN_OBEYED,
    NM_YARN_STOPS, /* nmd refuses to start if the value requests something */
    NM_YARN_WARNS, /* nmd warns if the value requests something */
    NM_YARN_IDLE,
};

/* Returns the fate of a property. Some values of an obeyed property can stop nmd nevertheless. */
enum nm_yarn_fate nm_yarn_rules_fate(const char *name);

int nm_yarn_rules_set_defaults(struct nm_yarn_conf *c);
/* Adds everything that this node can't do to the refusals. warn may be NULL. Returns 0 or -ENOMEM. */
int nm_yarn_rules_check(const struct nm_yarn_conf *c, nm_yarn_warn_t warn, void *userdata,
                        struct nm_refusals *refusals);

/* Returns true if Hadoop itself defines this property "yarn.*" in any of the releases 3.3, 3.4 and 3.5
 * (hadoop-names.c). */
bool nm_yarn_is_hadoop_name(const char *name);
