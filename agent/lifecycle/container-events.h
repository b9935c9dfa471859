/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

int nm_container_events_attach(struct nm_live_container *l, struct nm_cgroup *cg); /* creates watches and sampler;
                                                                                      takes ownership of cg */
void nm_container_events_tell_shim(struct nm_live_container *l); /* excludes the shim's own process from the
                                                                    sampler's figures */
void nm_container_events_launched(struct nm_launch *launch, enum nm_launch_phase phase,
                                  const struct nm_launch_record *r, void *userdata);
/* Handles a stopped scope; a nm_cgroup_stopped_cb_t whose userdata is the manager. */
void nm_container_events_stopped(const char *container_id, void *userdata);
void nm_container_events_observe(struct nm_live_container *l); /* reads cgroup.events and reacts to changes */
