/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

void nm_freeze_set(struct nm_live_container *l, bool frozen);
/* Handles a freeze that the policy takes back because it did not complete in time: logs which process hangs, and closes
 * the decision as failed. */
void nm_freeze_given_up(struct nm_live_container *l);
