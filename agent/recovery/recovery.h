/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Adopts the containers of an earlier nmd when nmd starts. */

#include "agent/state/manager-state.h"

/* Returns 0 or -errno. If the cgroups can't be listed, *ret_message has the reason. The caller frees *ret_message. */
int nm_recovery_run(struct nm_manager *m, char **ret_message);
void nm_recovery_check_orphans(struct nm_manager *m); /* removes vanished orphans from the list */
