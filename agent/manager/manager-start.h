/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/manager/manager-state.h"

void nm_start_launch(struct nm_live *l);
/* Opened once, and at nmd's start: an upgrade puts another file in its place before it restarts nmd. Where it was not
 * there it is looked for again. Returns the descriptor, which stays the manager's. */
int nm_start_open_shim(struct nm_manager *m);
