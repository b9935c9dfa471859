/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* -errno: the node's own figures below proc_root can't be read. */
int nm_sampling_new(const char *proc_root, uint64_t uplink_speed_mbit, struct nm_sampling **ret);
struct nm_sampling *nm_sampling_free(struct nm_sampling *s);
NM_DEFINE_CLEANUP(struct nm_sampling *, nm_sampling_free)

/* A sample reads all of each container, which takes milliseconds where there are many, or big ones without a memory
 * controller: out of turn no more than a twentieth of the time is spent on it. Is that time over since the newest? */
bool nm_sample_is_affordable(const struct nm_manager *m, uint64_t now_usec);

int nm_sample_all(struct nm_manager *m); /* node and all containers, afresh */
int nm_sample_node(struct nm_manager *m); /* the node alone, into m->node */
/* The node's memory alone, into *ret. */
int nm_sample_memory(const struct nm_manager *m, uint64_t now_usec, struct nm_node_sample *ret);
void nm_sample_live(struct nm_live_container *l, uint64_t now_usec);
/* n: of its whole life; ooms: how often its own limit was the reason, or NM_LAUNCH_OOMS_UNKNOWN */
void nm_sample_count_oom_kills(struct nm_live_container *l, uint64_t n, uint64_t ooms);
/* The slice's cpu.stat and memory.stat stay open. At the start, and again when the slice is another. */
void nm_sample_open_slice(struct nm_manager *m);
/* All CPU time that the slice has used, and a number that is another one when the slice is. Negative: it is not
 * there. */
int nm_sample_slice_cpu(struct nm_manager *m, uint64_t *ret_usec, unsigned *ret_slice);
/* Has the kernel killed in it since the last look? Then that is counted and told. */
bool nm_sample_find_oom_kill(struct nm_live_container *l);
/* Lately, so that it is about to end: the kernel may be quicker than the sample that a kill was decided on. */
bool nm_sample_was_oom_killed(struct nm_live_container *l);
