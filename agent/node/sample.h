/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Returns -errno if the node's figures below proc_root can't be read. */
int nm_sampling_new(const char *proc_root, uint64_t uplink_speed_mbit, struct nm_sampling **ret);
struct nm_sampling *nm_sampling_free(struct nm_sampling *s);
NM_DEFINE_CLEANUP(struct nm_sampling *, nm_sampling_free)

/* Returns whether another sample outside the period is affordable now. A sample of many containers takes milliseconds,
 * as does one of large containers without a memory controller. At most a twentieth of the time is spent on such
 * samples. */
bool nm_sample_is_affordable(const struct nm_manager *m, uint64_t now_usec);

int nm_sample_all(struct nm_manager *m); /* samples the node and all containers */
int nm_sample_node(struct nm_manager *m); /* samples only the node, into m->sampled */
/* Reads only the node's memory figures, into *ret. */
int nm_sample_memory(const struct nm_manager *m, uint64_t now_usec, struct nm_node_sample *ret);
void nm_sample_live(struct nm_live_container *l, uint64_t now_usec);
/* n: oom kills in the container's whole life; ooms: how many its own limit caused, or NM_LAUNCH_OOMS_UNKNOWN */
void nm_sample_count_oom_kills(struct nm_live_container *l, uint64_t n, uint64_t ooms);
/* Opens the slice's cpu.stat and memory.stat, which stay open. Called at the start and when the slice was recreated. */
void nm_sample_open_slice(struct nm_manager *m);
/* Returns in *ret_usec the CPU time that the slice has used. *ret_slice: a number that changes when the slice is
 * recreated. Returns a negative value if there is no slice. */
int nm_sample_slice_cpu(struct nm_manager *m, uint64_t *ret_usec, unsigned *ret_slice);
/* Returns whether the kernel has oom-killed in the container since the last call. If so, counts and logs it. */
bool nm_sample_find_oom_kill(struct nm_live_container *l);
/* Returns whether the kernel has oom-killed in the container recently, so that it is about to end. The kernel may act
 * before the kill that was decided on an older sample. */
bool nm_sample_was_oom_killed(struct nm_live_container *l);
