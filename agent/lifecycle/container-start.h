/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* nm_start_soon() has an admitted container wait for its turn; nm_start_some() launches the first ones, for the time of
 * one turn of the event loop. */
void nm_start_soon(struct nm_live_container *l);
void nm_start_some(struct nm_manager *m);
bool nm_start_is_due(const struct nm_live_container *l);
/* The container waits no more. Returns false if it did not. */
bool nm_start_cancel(struct nm_live_container *l);
/* Opened once, and at nmd's start: an upgrade puts another file in its place before it restarts nmd. Where it was not
 * there it is looked for again. Returns the descriptor, which stays the manager's. */
int nm_start_open_shim(struct nm_manager *m);
