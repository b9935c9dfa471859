/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

int nm_recovery_run(struct nm_manager *m, char **ret_message);
void nm_recovery_check_orphans(struct nm_manager *m); /* removes vanished orphans from the list */
