/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The cgroups of the node: limits of containers, of their slice and of nmd's helper, and reclaim to swap. A function
 * that returns void logs or ignores a failure, because the next drift check repairs the limits.
 */

#include "agent/priority.h"
#include "agent/state/manager-state.h"

/* ---- container-limits.c: limits and priorities of containers --------------------------------- */

/* Sets the cgroup's limits for the container's present type and request. The slice's memory.low is updated in the next
 * round. */
void nm_limits_apply(struct nm_live_container *l);
void nm_limits_created(struct nm_live_container *l); /* applies limits that changed during the cgroup's creation */
/* Sets the priority of the container's processes if the shim could not set it, or has set it for an earlier type of the
 * container. */
void nm_limits_started(struct nm_live_container *l);
struct nm_cgroup_limits nm_cgroup_limits_for_container(const struct nm_manager *m, const struct nm_container *c);
/* Determines the limits of an adopted container. nm_limits_restore() must follow. */
void nm_limits_adopt(struct nm_live_container *l);
/* Restores all limits of an adopted container that differ from the limits that its type and request require. An earlier
 * nmd may have died before it set these limits, or may have set a CPU quota for a squeeze that is over. */
void nm_limits_restore(struct nm_live_container *l);
int nm_limits_oom_score_adj(const struct nm_container *c);
struct nm_priority nm_limits_priority_of(const struct nm_live_container *l);
/* Sets the priority of each process in the container's cgroup. */
void nm_limits_set_priority(struct nm_live_container *l);
/* Sets the network priority of sockets that are created from now on. */
void nm_limits_set_network(struct nm_live_container *l);
struct nm_squeeze *nm_squeeze_new(void); /* NULL: out of memory */
struct nm_squeeze *nm_squeeze_free(struct nm_squeeze *s);
uint64_t nm_squeeze_millicores(const struct nm_squeeze *s); /* NM_NO_SQUEEZE: there is no squeeze */
void nm_limits_squeeze(struct nm_manager *m, const struct nm_policy_verdict *verdict);
void nm_limits_check_drift(struct nm_manager *m);

/* ---- node-slice.c: limits of the slice of all containers ------------------------------------- */

struct nm_slice *nm_slice_new(void); /* NULL: out of memory */
struct nm_slice *nm_slice_free(struct nm_slice *s);

/* Loads the values of memory.low that an earlier nmd has set, and reads the node's limit of tasks. Must be called
 * before the other functions of node-slice.c. */
void nm_slice_begin(struct nm_manager *m);
/* Sets all limits of the slice. Is called at the start, after recovery has found the containers of an earlier nmd, and
 * after a change of the capacity. */
void nm_slice_set(struct nm_manager *m);
/* Sets all limits after the capacity has changed. memory.max is not lowered while more than the new capacity is in use,
 * since the kernel would immediately kill processes. nm_slice_lower() is called after each sample, and lowers
 * memory.max when use is below the new capacity. */
void nm_slice_set_capacity(struct nm_manager *m);
void nm_slice_lower(struct nm_manager *m);
/* Updates the slice's limits if the sum of the claims has changed: a guaranteed container was added, has ended, uses
 * more or less memory, or has changed its type. Without a change, the function makes no system call. */
void nm_slice_follow(struct nm_manager *m);
void nm_slice_check_drift(struct nm_manager *m);

/* ---- helper-cgroup.c: the cgroup of nmd's helper; see nm_manager_attach_helper() -------------- */

struct nm_helper *nm_helper_new(void); /* NULL: out of memory */
struct nm_helper *nm_helper_free(struct nm_helper *h);
bool nm_helper_is_attached(struct nm_helper *h, const char *name);
/* Sets the helper's CPU weight again. The weight is computed from the capacity, so call this function when the capacity
 * changes. */
void nm_helper_follow(struct nm_manager *m);

/* ---- leftover-cgroups.c: removal of cgroups without processes --------------------------------- */

/* Takes ownership of the cgroup, also on failure. */
int nm_cgroup_list_add(struct nm_cgroup_list *l, struct nm_cgroup *cg);

/* Removes the cgroup of a container. Returns 0 also if more cgroups are below it than one call of the backend removes.
 * The rest is removed by nm_cgroups_remove_leftovers(). */
int nm_cgroups_remove(struct nm_manager *m, const struct nm_cgroup *cg);
void nm_cgroups_remove_leftovers(struct nm_manager *m);
void nm_cgroups_free_unowned(struct nm_manager *m);

/* ---- swap-reclaim.c -------------------------------------------------------------------------- */

/*
 * Reclaims `bytes` of the cgroup's memory to swap. Blocks until the reclaim is done, so call this function from a
 * worker process. within_usec: time limit, which a single write of the kernel may exceed; 0: continue until no more
 * memory can be reclaimed. Returns 0, -EAGAIN if only a part was reclaimed, or another error.
 *
 * Lowers memory.swap.max during the reclaim, and removes this limit at the end. If the worker is killed, the caller
 * must remove the limit.
 */
int nm_swap_reclaim(const struct nm_cgroup *cg, uint64_t bytes, uint64_t within_usec);
