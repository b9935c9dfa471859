/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Cells that list and top share. */

#include "nmctl/nmctl.h"
#include "nmctl/table.h"

#include <jansson.h>

/* NR, ID, NAME, TYPE. A person types the number, so that the id is what a narrow terminal can spare. */
void nm_container_add_names(struct nm_table *t, const json_t *c);
/* STATE: "RUNNING", "QUEUED #2", "LOCALIZING 1 of 3 files", "Succeeded", "Killed (preempted)" */
void nm_container_add_state(struct nm_table *t, const json_t *c);
/* Takes out of the list what --app and --state don't want. */
void nm_container_keep_wanted(const struct nm_args *a, json_t *list);
