/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

int nm_life_attach(struct nm_live *l, struct nm_cgroup *cg); /* watches and sampler; takes cg */
void nm_life_tell_shim(struct nm_live *l); /* which of its processes that is, to the sampler */
void nm_life_launched(struct nm_launch *launch, enum nm_launch_phase phase,
                      const struct nm_launch_record *r, void *userdata);
/* nm_cgroup_stopped_cb_t, for a manager. */
void nm_life_stopped(const char *container_id, void *userdata);
void nm_life_observe(struct nm_live *l); /* reads cgroup.events and follows */
