/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Implements nm_manager_change() for a container whose owner was checked. */
int nm_change_owned(struct nm_live_container *l, const struct nm_change *c, struct nm_problem *ret_problem);
/* Implements nm_manager_move() for a container whose owner was checked. */
int nm_change_place(struct nm_live_container *l, const struct nm_move *move, struct nm_problem *ret_problem);
