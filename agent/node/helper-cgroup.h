/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The cgroup of nmd's helper; see nm_manager_place_helper(). */

#include "agent/state/manager-state.h"

struct nm_helper *nm_helper_new(void); /* NULL: out of memory */
struct nm_helper *nm_helper_free(struct nm_helper *h);
bool nm_helper_is_placed(const struct nm_helper *h);
/* Sets the helper's weight again after a change of the capacity, from which it is computed. */
void nm_helper_follow(struct nm_manager *m);
