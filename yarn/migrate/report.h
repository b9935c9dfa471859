/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The report of nmd --migrate-check: entries in three groups. */

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

enum nm_migrate_group {
    NM_MIGRATE_SET,     /* the operator has to change the value, or to decide about it */
    NM_MIGRATE_DIFFERS, /* nmd behaves in another way than Hadoop's NodeManager */
    NM_MIGRATE_SAME,
    NM_MIGRATE_N_GROUPS
};

/* How urgent an entry of the group NM_MIGRATE_SET is. */
enum nm_migrate_need {
    NM_MIGRATE_REFUSED,   /* nmd refuses to start */
    NM_MIGRATE_NEEDED,    /* most jobs fail */
    NM_MIGRATE_SUGGESTED, /* jobs run, but the value is seldom wanted */
    NM_MIGRATE_NO_NEED    /* for the other groups */
};

/* The texts are printable. */
struct nm_migrate_entry {
    enum nm_migrate_group group;
    enum nm_migrate_need need;
    char *name;  /* NULL: the sentence is not about a single property */
    char *value; /* NULL: no file sets the property, and it has no default */
    char *file;  /* NULL: the value is the default */
    char *set_to; /* the suggested value; NULL: none */
    char *sentence;
};

struct nm_migrate_report {
    struct nm_migrate_entry *entries;
    size_t n, room;
    size_t n_others; /* number of properties that a NodeManager doesn't use */
};

/* Adds an entry with copies of the texts. Returns 0 or -ENOMEM. */
int nm_migrate_report_add(struct nm_migrate_report *r, const struct nm_migrate_entry *e);
/* Returns whether the report has an entry about the property. refused: only entries with NM_MIGRATE_REFUSED count. */
bool nm_migrate_report_has(const struct nm_migrate_report *r, const char *name, bool refused);
/* Sorts by group, need and name. Entries without a name come first. */
void nm_migrate_report_sort(struct nm_migrate_report *r);
void nm_migrate_report_done(struct nm_migrate_report *r);

/* Returns 1 if an entry is refused or needed, otherwise 0. */
int nm_migrate_report_status(const struct nm_migrate_report *r);
