/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Updates since when the node is removable. Call it when a container or an orphan has appeared or gone. */
void nm_removable_look(struct nm_manager *m);

/* Sets the initial value. Called once, after recovery has read m->removable_since_usec from the journal. */
void nm_removable_recover(struct nm_manager *m);
