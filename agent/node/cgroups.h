/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The cgroups of the node: limits of containers, of their slice and of nmd's helper, and reclaim to swap. A function
 * without a result logs or ignores a failure, because the next drift check repairs limits.
 */

#include "agent/priority.h"
#include "agent/state/manager-state.h"

/* ---- container-limits.c: limits and priorities of containers --------------------------------- */

/* Sets the cgroup's limits to what the container's type and request require. The slice's promise is updated in the next
 * round. */
void nm_limits_apply(struct nm_live_container *l);
void nm_limits_created(struct nm_live_container *l); /* applies changes made while the cgroup was being created */
/* Sets what the shim could not set or has set from outdated values. */
void nm_limits_started(struct nm_live_container *l);
struct nm_cgroup_limits nm_limits_for(const struct nm_manager *m, const struct nm_container *c);
/* Restores all limits of an adopted container that differ from the limits that its type and request require. An earlier
 * nmd may have died before it set these limits, or may have left the quota of a squeeze that no longer exists. */
void nm_limits_put_right(struct nm_live_container *l);
int nm_limits_oom_score_adj(const struct nm_container *c);
struct nm_priority nm_limits_priority_of(const struct nm_live_container *l);
/* Sets the priority of each process in the container's cgroup. */
void nm_limits_set_priority(struct nm_live_container *l);
/* Sets the network priority of sockets that are created from now on. */
void nm_limits_set_network(struct nm_live_container *l);
void nm_limits_squeeze(struct nm_manager *m, const struct nm_policy_verdict *verdict);
void nm_limits_check_drift(struct nm_manager *m);

/* ---- node-slice.c: limits of the slice of all containers ------------------------------------- */

struct nm_slice *nm_slice_new(void); /* NULL: out of memory */
struct nm_slice *nm_slice_free(struct nm_slice *s);

/* Loads the requests of an earlier nmd and the node's limits of tasks. Call this function before the other functions of
 * this file. */
void nm_slice_begin(struct nm_manager *m);
/* Sets all limits of the slice. Called at the start, once the containers of an earlier nmd are known, and after a
 * change of the capacity. */
void nm_slice_set(struct nm_manager *m);
/* Sets all limits after the capacity has changed. memory.max stays while more than the new capacity is in use, since
 * the kernel would kill at once; nm_slice_lower(), which is called after each sample, lowers memory.max as soon as less
 * is in use. */
void nm_slice_set_capacity(struct nm_manager *m);
void nm_slice_lower(struct nm_manager *m);
/* Updates the slice's limits after a guaranteed container has come, ended, grown, shrunk or changed its type. The call
 * is cheap without such a change. */
void nm_slice_follow(struct nm_manager *m);
void nm_slice_check_drift(struct nm_manager *m);

/* ---- helper-cgroup.c: the cgroup of nmd's helper; see nm_manager_place_helper() -------------- */

struct nm_helper *nm_helper_new(void); /* NULL: out of memory */
struct nm_helper *nm_helper_free(struct nm_helper *h);
bool nm_helper_is_placed(const struct nm_helper *h);
/* Sets the helper's weight again after a change of the capacity, from which it is computed. */
void nm_helper_follow(struct nm_manager *m);

/* ---- swap-reclaim.c -------------------------------------------------------------------------- */

/*
 * Reclaims `bytes` of the cgroup's memory to swap. Blocks until the reclaim is done, so call this function from a
 * worker process. within_usec: time limit, which the kernel may exceed; 0: continue until no more progress is made.
 * Returns 0, -EAGAIN if only a part was reclaimed, or another error.
 *
 * Lowers memory.swap.max meanwhile and removes that limit afterwards. A worker that is killed leaves the limit low.
 */
int nm_swap_reclaim(const struct nm_cgroup *cg, uint64_t bytes, uint64_t within_usec);
