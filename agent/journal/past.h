/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The node's last day, and what became of applications that have ended. */

#include "agent/journal/ended-apps.h"
#include "agent/state/manager-state.h"

/* Reads what an earlier nmd has left in the state directory; what can't be read there is told. -ENOMEM. */
int nm_past_load(struct nm_manager *m);
struct nm_past *nm_past_free(struct nm_past *p);

/* How long the fine history reaches back, from now on. */
void nm_past_set_span(struct nm_past *p, uint64_t span_usec);
void nm_past_add_point(struct nm_manager *m, const struct nm_history_point *point);
/* Counts the end of one of an application's containers. */
void nm_past_add_end(struct nm_manager *m, const struct nm_container *c);
/* The one that reaches back that far; it is valid until the next point. */
const struct nm_history *nm_past_history(const struct nm_manager *m, uint64_t span_usec);
/* Returns the application in place i, from 0 to NM_ENDED_APPS - 1. NULL: the place is empty, or its application ended
 * before since_usec. */
const struct nm_ended_app *nm_past_ended_app(const struct nm_past *p, unsigned i, uint64_t since_usec);
