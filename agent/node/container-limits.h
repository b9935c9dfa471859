/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"
#include "agent/priority.h"

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
