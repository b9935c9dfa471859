/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Cells that list and top share. */

#include "nmctl/nmctl.h"
#include "nmctl/table.h"

#include <jansson.h>

/* Adds NR, ID, NAME and TYPE. People can type the number instead of the id, so a narrow terminal leaves out the id. */
void nm_container_add_names(struct nm_table *t, const json_t *c);
/* Adds STATE: "RUNNING", "QUEUED #2", "LOCALIZING 1 of 3 files", "Succeeded", "Killed (preempted)" */
void nm_container_add_state(struct nm_table *t, const json_t *c);
/* Returns the command, which the caller frees, as one line. nmd's list has only the beginning of a long one, which is
 * enough for a terminal, where it is cut anyway: the whole one is fetched if `whole`. */
char *nm_container_whole_command(struct nm_ctl *ctl, const json_t *c, bool whole);
/* Removes the containers from the list that --app and --state exclude. */
void nm_container_keep_wanted(const struct nm_args *a, json_t *list);
