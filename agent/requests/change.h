/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* nm_manager_change() for a container that has an owner. */
int nm_change_owned(struct nm_live_container *l, const struct nm_change *c, struct nm_problem *ret_problem);
/* nm_manager_move() for such a container. */
int nm_change_place(struct nm_live_container *l, const struct nm_move *move, struct nm_problem *ret_problem);
