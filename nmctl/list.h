/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Table cells that `list` and `top` share. */

#include "nmctl/nmctl.h"
#include "nmctl/table.h"

#include <jansson.h>

/* Adds NR, ID, NAME and TYPE. A narrow terminal omits the id, because users can type the number instead. */
void nm_container_add_names(struct nm_table *t, const json_t *c);
/* Adds STATE: "RUNNING", "QUEUED #2", "LOCALIZING 1 of 3 files", "Succeeded", "Killed (preempted)" */
void nm_container_add_state(struct nm_table *t, const json_t *c);
/* Returns the command in one line; the caller frees it. nmd's list contains only the beginning of a long command,
 * which suffices for a terminal, where it is truncated anyway. If `whole` is true, the complete command is fetched. */
char *nm_container_whole_command(struct nm_ctl *ctl, const json_t *c, bool whole);
/* Removes the containers from the list that don't match --app and --state. */
void nm_container_keep_wanted(const struct nm_args *a, json_t *list);
