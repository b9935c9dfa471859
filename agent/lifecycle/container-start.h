/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* nm_start_soon() puts an admitted container into the queue of starts. nm_start_some() launches containers from the
 * front of that queue until the time of one turn of the event loop is used up. */
void nm_start_soon(struct nm_live_container *l);
void nm_start_some(struct nm_manager *m);
bool nm_start_is_due(const struct nm_live_container *l);
/* Removes the container from the queue of starts. Returns false if the container was not in the queue. */
bool nm_start_cancel(struct nm_live_container *l);
/* Opens the shim once, when nmd starts, because an upgrade replaces the file before it restarts nmd. If the file was
 * missing then, later calls try again. Returns the descriptor, which the manager owns. */
int nm_start_open_shim(struct nm_manager *m);
