/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cgroup/cgroup.h"

/*
 * Reclaims `bytes` of the cgroup's memory to swap. Blocks until the reclaim is done, so call this function from a
 * worker process. within_usec: time limit, which the kernel may exceed; 0: continue until no more progress is made.
 * Returns 0, -EAGAIN if only a part was reclaimed, or another error.
 *
 * Lowers memory.swap.max meanwhile and removes that limit afterwards. A worker that is killed leaves the limit low.
 */
int nm_swap_reclaim(const struct nm_cgroup *cg, uint64_t bytes, uint64_t within_usec);
