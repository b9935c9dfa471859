/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Fills in the counts of containers, their allocations, and the parts of U, and no other members of *ret. */
void nm_usage_fill(const struct nm_manager *m, struct nm_status *ret);
