/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sentences for properties of Hadoop's NodeManager whose value doesn't show how nmd behaves: nmd supports the property,
 * but its function works in another way, or the property has no effect on nmd. rules.h has the functions that nmd
 * doesn't have.
 */

#include <stdbool.h>
#include <stddef.h>

enum nm_migrate_when {
    NM_MIGRATE_IF_SET,   /* the report has the row if a file sets the property */
    NM_MIGRATE_IF_UNSET, /* ... if no file sets it */
    NM_MIGRATE_ALWAYS,
};

struct nm_migrate_behaviour {
    const char *name; /* a property; a name that ends with '.' or '-' stands for all names with that prefix */
    bool differs;     /* false: the operator notices no difference */
    enum nm_migrate_when when;
    const char *why;  /* sentences */
};

extern const struct nm_migrate_behaviour nm_migrate_behaviours[];
extern const size_t nm_migrate_n_behaviours;

/* Returns the row of the name: that of the whole name, otherwise the first row with a prefix of it. NULL: no row. */
const struct nm_migrate_behaviour *nm_migrate_find_behaviour(const char *name);
