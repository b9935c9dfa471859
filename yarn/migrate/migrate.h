/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * nmd --migrate-check reads a cluster's files and reports to an operator of Hadoop's NodeManager what to set, what
 * differs and what stays the same on a node with nmd. It examines only the files: it needs no root and no
 * ResourceManager, asks no host, and changes nothing. The sentences are those of --check-config and `nmctl config`
 * (rules.h, properties.h, suggestions.h), and those of behaviour.h.
 */

#include <stdio.h>

#include <jansson.h>

#include "yarn/migrate/report.h"

/* ---- gather.c ----------------------------------------------------------------------------- */

/* Fills the report, which must be empty and which the caller frees. On failure, *ret_message has sentences, one per
 * line. */
int nm_migrate_gather(const char *dir, struct nm_migrate_report *ret, char **ret_message);

/* ---- print.c ------------------------------------------------------------------------------ */

void nm_migrate_print(FILE *out, const char *dir, const struct nm_migrate_report *r);
/* Returns the report as an object, or NULL if there is no memory. */
json_t *nm_migrate_to_json(const char *dir, const struct nm_migrate_report *r);

/* ---- migrate.c ---------------------------------------------------------------------------- */

/* Prints the report about the files in `dir` to stdout. Returns the exit status: 0 if nothing must be set, 1 if a value
 * must be set or is refused, 2 after a message if the files can't be read or the report can't be printed. */
int nm_migrate_run(const char *dir, bool as_json);
