/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

void nm_freeze_set(struct nm_live_container *l, bool frozen);
/* It was not frozen in time, and policy takes the freeze back: who hangs is told, and the decision's end. */
void nm_freeze_given_up(struct nm_live_container *l);
