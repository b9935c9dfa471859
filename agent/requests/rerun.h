/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* nm_manager_rerun() of one that is its owner's. */
int nm_rerun_owned(struct nm_live_container *l, const struct nm_rerun *rerun, struct nm_problem *ret_problem);
