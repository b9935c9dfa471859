/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The simulated node. It contains no rule of the policy. It gives the policy its input, as nmd's manager does, and
 * executes decisions, as the kernel would:
 *
 *   time      advances in steps of a tenth of the sampling period, 100 ms at most; launching, freezing, thawing and
 *             dying take one step each
 *   memory    follows the curve at the container's progress; a paused container keeps its memory. Reclaimed memory is
 *             in swap until the container runs again. The memory is then read back at the speed of a disk, while the
 *             container waits without progress. If memory is reclaimed from a running container, half of this memory
 *             is needed again
 *   CPU       if the demand exceeds the CPUs, the system gets what it had in the recording. Guaranteed containers share
 *             the rest in proportion to their requests (the part that a container doesn't want is given to the others).
 *             Opportunistic containers share the remaining CPU, within the squeeze. A container with less CPU than it
 *             wants is slower in proportion
 *   caches    and threads of one core are shared: guaranteed containers slow down in proportion to the share of the
 *             node's CPUs that opportunistic containers use (interference)
 *   limits    a container that wants more memory than it requested is killed, if the node has memory limits
 *   kernel    if the containers use more memory than the capacity, or all processes use more than the node's memory,
 *             the kernel kills the opportunistic container that was started last, or, without opportunistic
 *             containers, the largest guaranteed one
 *   samples   are taken every period, and immediately if memory grows much or crosses the threshold (nmd's growth
 *             probe, or the kernel's pressure events)
 *
 * The state is constant between two events, so time jumps from one event to the next. The same input gives the same
 * history.
 */

#include "sim/sim-node-use.h"

/* Makes the node of the workload under this configuration. Returns -ERANGE with *ret_message (freed by the caller) if
 * the configuration doesn't fit the node, or -ENOMEM. */
int nm_sim_node_new(const struct nm_workload *load, const struct nm_config *c, struct nm_sim_node **ret,
                    char **ret_message);
struct nm_sim_node *nm_sim_node_free(struct nm_sim_node *w);
NM_DEFINE_CLEANUP(struct nm_sim_node *, nm_sim_node_free)

/* Returns the time of the next event, end_usec at the latest. */
uint64_t nm_sim_node_next(const struct nm_sim_node *w);

/* Advances to the event and executes it. Returns 1 if a decision on w->input is due, 0 if not, or -ENOMEM. */
int nm_sim_node_advance(struct nm_sim_node *w, uint64_t to_usec);

/* Executes the decision on w->input. */
void nm_sim_node_act(struct nm_sim_node *w, const struct nm_policy_verdict *v);
