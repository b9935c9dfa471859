/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The history of the node's last day, and summaries of ended applications. */

#include "agent/journal/ended-apps.h"
#include "agent/state/manager-state.h"

/* Reads the files of an earlier nmd in the state directory and logs read errors. Returns -ENOMEM if memory is short. */
int nm_past_load(struct nm_manager *m);
struct nm_past *nm_past_free(struct nm_past *p);

/* Sets the span of the fine history from now on. */
void nm_past_set_span(struct nm_past *p, uint64_t span_usec);
void nm_past_add_point(struct nm_manager *m, const struct nm_history_point *point);
/* Counts the end of a container for its application. */
void nm_past_add_end(struct nm_manager *m, const struct nm_container *c);
/* Returns the history that covers the span; it is valid until the next point. */
const struct nm_history *nm_past_history(const struct nm_manager *m, uint64_t span_usec);
/* Returns the application in place i, from 0 to NM_ENDED_APPS - 1. NULL: the place is empty, or its application ended
 * before since_usec. */
const struct nm_ended_app *nm_past_ended_app(const struct nm_past *p, unsigned i, uint64_t since_usec);
