/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The cgroup of nmd's helper; see nm_manager_place_helper(). */

#include "agent/manager/manager-state.h"

/* The capacity has changed, and with it the weight. */
void nm_helper_follow(struct nm_manager *m);
