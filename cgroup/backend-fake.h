/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions with which a test controls the fake backend, beside the backend's ops. See backend-fake.c.
 */

#include "cgroup/cgroup.h"

enum nm_fake_op { NM_FAKE_CREATE, NM_FAKE_SET_LIMITS, NM_FAKE_SET_SLICE_LIMITS, NM_FAKE_ATTACH_HELPER,
                  NM_FAKE_REMOVE, NM_FAKE_OP_COUNT };

/* Makes the next operation of this kind end with result r (negative), which its callback receives. remove() has no
 * callback, and returns r. */
void nm_fake_fail_next(struct nm_cgroup_backend *b, enum nm_fake_op op, int r);
/* Returns the number of calls of this operation. */
unsigned nm_fake_n_calls(const struct nm_cgroup_backend *b, enum nm_fake_op op);
/* Makes a feature available if `missing` is NULL; otherwise `missing` is the reason why the feature is missing. At
 * first all features are available except pressure, because there is no fake trigger. */
void nm_fake_set_feature(struct nm_cgroup_backend *b, enum nm_cgroup_feature f,
                         const char *missing);

/* Rewrites cgroup.events, which wakes the watches, as the kernel does when the last process ends. */
int nm_fake_set_events(const struct nm_cgroup *cg, bool populated, bool frozen);
int nm_fake_set_memory_events(const struct nm_cgroup *cg,
                              const struct nm_cgroup_memory_events *events);
/* Reads the last text that was written to a file of the cgroup (cgroup.freeze, cgroup.kill, memory.max, ...). */
int nm_fake_read(const struct nm_cgroup *cg, const char *file, char *buf, size_t size);
