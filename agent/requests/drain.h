/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Sets the deadline and its timer. On failure the previous deadline stays. UINT64_MAX: no deadline. */
int nm_drain_arm(struct nm_manager *m, uint64_t deadline_usec);
/* Ends the containers that a drain does not wait for. Also called after a restart, because the earlier nmd may have
 * died in the middle of this work. */
void nm_drain_carry_out(struct nm_manager *m, const struct nm_caller *who);
