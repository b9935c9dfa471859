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
/* Removes the containers from the list that --app and --state exclude. */
void nm_container_keep_wanted(const struct nm_args *a, json_t *list);
