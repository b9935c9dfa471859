/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The simulated node. It knows no rule of the policy: it hands over what there is to see, as
 * nmd's manager does, and carries out what is decided, as the kernel would:
 *
 *   time      goes in steps of a tenth of the sampling period, 100 ms at most; launching, freezing,
 *             thawing and dying take one each
 *   memory    is what the curve says at the container's progress; a paused one keeps its own; what
 *             was reclaimed is in swap until it runs again, and comes back then at the speed of a
 *             disk, while the container waits for it and gets nothing done; of what is reclaimed while
 *             it runs, one half is missed
 *   CPU       when more is wanted than there is, the system gets what it had in the recording,
 *             guaranteed containers share the rest in proportion to their requests (what one
 *             doesn't want goes to the others), and opportunistic ones share what is left then,
 *             within the squeeze. Who gets less than it wants gets on slower by as much
 *   caches    and threads of one core are shared: guaranteed containers get on slower in proportion to
 *             the share of the node's CPUs that opportunistic ones use (interference)
 *   limits    one that wants more memory than it asked for is killed for it, where there are limits
 *   kernel    when the containers hold more than the capacity, or all together more than the node,
 *             it kills: the latest-started opportunistic container, and if there is none, the
 *             largest guaranteed one
 *   samples   are taken every period, and at once when memory grows much or crosses the threshold
 *             (nmd's glances, or the kernel's pressure events)
 *
 * Between two things that happen nothing changes, so time jumps from one to the next. Everything is
 * in whole numbers: the same input gives the same history.
 */

#include "sim/world-use.h"

/* The node of the workload under this configuration. -ERANGE with *ret_message when it doesn't fit
 * the node (the caller's to free), or -ENOMEM. */
int nm_world_new(const struct nm_workload *load, const struct nm_config *c, struct nm_world **ret,
                 char **ret_message);
struct nm_world *nm_world_free(struct nm_world *w);
NM_DEFINE_CLEANUP(struct nm_world *, nm_world_free)

/* When the next thing happens, end_usec at the latest. */
uint64_t nm_world_next(const struct nm_world *w);

/* Lets it happen. 1: there is something to decide, and w->input says what; 0: there isn't; or
 * -ENOMEM. */
int nm_world_advance(struct nm_world *w, uint64_t to_usec);

/* Carries out what was decided on w->input. */
void nm_world_act(struct nm_world *w, const struct nm_policy_verdict *v);
