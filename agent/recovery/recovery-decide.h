/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* These functions handle the newest decision about a container. If an earlier nmd died, this decision may have no
 * outcome yet. */

void nm_recovery_reopen_decision(struct nm_live_container *l); /* call it after the container's state was determined */
void nm_recovery_close_decision(struct nm_manager *m, const char *id, const char *why);
