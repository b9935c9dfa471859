/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"
#include "agent/priority.h"

/* What its type and request call for, in place. What the slice is promised follows in the next round. */
void nm_limits_apply(struct nm_live_container *l);
void nm_limits_created(struct nm_live_container *l); /* what has changed while its cgroup was being made */
void nm_limits_started(struct nm_live_container *l); /* what its shim could not do, or was told wrongly */
struct nm_cgroup_limits nm_limits_for(const struct nm_manager *m, const struct nm_container *c);
/* After an adoption: whatever differs from what type and request call for. An earlier nmd may have
 * died before it got round to it, or have left a squeeze behind that is nobody's any more. */
void nm_limits_put_right(struct nm_live_container *l);
int nm_limits_oom_score_adj(const struct nm_container *c);
struct nm_priority nm_limits_priority_of(const struct nm_live_container *l);
void nm_limits_set_priority(struct nm_live_container *l); /* of each of its processes */
void nm_limits_set_network(struct nm_live_container *l); /* of the sockets that it makes from now on */
void nm_limits_squeeze(struct nm_manager *m, const struct nm_policy_verdict *verdict);
void nm_limits_check_drift(struct nm_manager *m);
