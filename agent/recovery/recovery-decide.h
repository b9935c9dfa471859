/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* These functions handle the newest decision about a container, which an earlier nmd may have left open. */

void nm_recovery_reopen_decision(struct nm_live_container *l); /* call it once the container's state is known */
void nm_recovery_close_decision(struct nm_manager *m, const char *id, const char *why);
