/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Since when the node could be given back. To be called when something has come that holds it, or has gone. */
void nm_removable_look(struct nm_manager *m);

/* Once, after recovery, with what the journal said in m->removable_since_usec. */
void nm_removable_recover(struct nm_manager *m);
