/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/manager/manager-state.h"

/* What was admitted is launched in this order, as much of it in one turn of the event loop as goes into it. */
void nm_start_soon(struct nm_live *l);
void nm_start_some(struct nm_manager *m);
/* Whether it stood there still; it is launched no more then. */
bool nm_start_cancel(struct nm_live *l);
/* Opened once, and at nmd's start: an upgrade puts another file in its place before it restarts nmd. Where it was not
 * there it is looked for again. Returns the descriptor, which stays the manager's. */
int nm_start_open_shim(struct nm_manager *m);
