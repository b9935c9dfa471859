/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides about properties that nmd doesn't support. A property may request a function that nmd doesn't have. If jobs
 * depend on the function or it protects users, nmd refuses to start. If the function is optional, nmd warns once. All
 * other properties have no effect on a node. nmd also warns of a property that has a prefix of Hadoop or nmd but is
 * defined by neither, because its name may be misspelt.
 */

#include "util/error.h"
#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"

/* Reports a warning, once at the start. */
typedef void (*nm_yarn_warn_t)(const char *sentence, void *userdata);

enum nm_yarn_property_support {
    NM_YARN_PROPERTY_UNKNOWN,        /* neither Hadoop nor nmd defines the property */
    NM_YARN_PROPERTY_SUPPORTED,      /* nmd uses the value */
    NM_YARN_PROPERTY_REFUSED,        /* nmd refuses to start if the value requests a missing function */
    NM_YARN_PROPERTY_WARNED,         /* nmd warns if the value requests a missing function */
    NM_YARN_PROPERTY_WITHOUT_EFFECT, /* the property has no effect on a node */
};

/* Returns how nmd treats a property. Some values of a supported property can also prevent the start of nmd. */
enum nm_yarn_property_support nm_yarn_rules_support(const char *name);

int nm_yarn_rules_set_defaults(struct nm_yarn_conf *c);

/* A property that requests a function which this node doesn't have. */
struct nm_yarn_violation {
    const char *name, *value; /* value: the whole value, after substitutions */
    const char *file;         /* NULL: the value is the default */
    const char *allowed;      /* description of the allowed values; "": there is none */
    const char *why;          /* a sentence without a full stop */
    bool fatal;               /* nmd refuses to start */
};

/* Receives a violation, whose texts are valid only during the call. Returns 0 or a negative errno, which ends the
 * search. */
typedef int (*nm_yarn_violation_t)(const struct nm_yarn_violation *v, void *userdata);

/* Calls found_cb for each violation, in the order of the rules. Adds a refusal for each value that can't be expanded.
 * Returns 0, -ENOMEM or the error of found_cb. */
int nm_yarn_rules_find(const struct nm_yarn_conf *c, nm_yarn_violation_t found_cb, void *userdata,
                       struct nm_refusals *refusals);

/* Where violations are reported. */
struct nm_yarn_check {
    nm_yarn_warn_t warn; /* may be NULL */
    void *userdata;
    struct nm_refusals *refusals;
};
/* Reports a violation as a warning or a refusal. check: a struct nm_yarn_check. */
int nm_yarn_rules_report(const struct nm_yarn_violation *v, void *check);
/* Adds a refusal for each requested function that this node doesn't have. warn may be NULL. Returns 0 or -ENOMEM. */
int nm_yarn_rules_check(const struct nm_yarn_conf *c, nm_yarn_warn_t warn, void *userdata,
                        struct nm_refusals *refusals);

/* Returns true if Hadoop itself defines this property "yarn.*" in any of the releases 3.3, 3.4 and 3.5
 * (hadoop-names.c). */
bool nm_yarn_is_hadoop_name(const char *name);
