/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* The deadline and its timer; an earlier one stays if that fails. UINT64_MAX: none. */
int nm_drain_arm(struct nm_manager *m, uint64_t deadline_usec);
/* Also after a restart: an nmd that died in the midst of it is followed by one that finishes it. */
void nm_drain_carry_out(struct nm_manager *m, const struct nm_caller *who);
