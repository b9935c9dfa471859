/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Implements nm_manager_rerun() for a container whose owner was checked. */
int nm_rerun_owned(struct nm_live_container *l, const struct nm_rerun *rerun, struct nm_problem *ret_problem);
