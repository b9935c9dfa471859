/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a test can do to the fake backend beyond its ops. See backend-fake.c.
 */

#include "cgroup/cgroup.h"

enum nm_fake_op { NM_FAKE_CREATE, NM_FAKE_SET_LIMITS, NM_FAKE_SET_SLICE_LIMITS, NM_FAKE_PLACE_HELPER,
                  NM_FAKE_OP_COUNT };

/* The next such operation ends with result r (negative), through its callback. */
void nm_fake_fail_next(struct nm_cgroup_backend *b, enum nm_fake_op op, int r);
/* How often such an operation was asked for. */
unsigned nm_fake_n_calls(const struct nm_cgroup_backend *b, enum nm_fake_op op);
/* Features are all there at first, but pressure (there is no fake trigger). */
void nm_fake_set_feature(struct nm_cgroup_backend *b, enum nm_cgroup_feature f,
                         const char *missing);

/* Rewrites cgroup.events, which wakes the watches: what the kernel would do when the last process
 * ends. */
int nm_fake_set_events(const struct nm_cgroup *cg, bool populated, bool frozen);
int nm_fake_set_memory_events(const struct nm_cgroup *cg,
                              const struct nm_cgroup_memory_events *events);
/* The last text written to one of its files (cgroup.freeze, cgroup.kill, memory.max, ...). */
int nm_fake_read(const struct nm_cgroup *cg, const char *file, char *buf, size_t size);
