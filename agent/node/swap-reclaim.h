/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cgroup/cgroup.h"

/*
 * Has so much less of it in use; blocks until then, so that it is for a worker. within_usec: no longer than this, as
 * far as the kernel lets it; 0: until nothing moves any more. 0, -EAGAIN for a part of it, or another error.
 *
 * Meanwhile memory.swap.max is low, and afterwards there is none. One that was killed leaves it low.
 */
int nm_swap_reclaim(const struct nm_cgroup *cg, uint64_t bytes, uint64_t within_usec);
