/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sampling: reads the use of the node and of the containers. Between two samples, growth of use and pressure events may
 * request a round. Amounts are in bytes and millicores, times in microseconds of CLOCK_BOOTTIME. Functions return 0 or
 * -errno.
 */

#include "agent/state/manager-state.h"

/* ---- sample.c -------------------------------------------------------------------------------- */

/* Returns -errno if the files below proc_root with the node's use can't be read. */
int nm_sampling_new(const char *proc_root, uint64_t uplink_speed_mbit, struct nm_sampling **ret);
struct nm_sampling *nm_sampling_free(struct nm_sampling *s);
NM_DEFINE_CLEANUP(struct nm_sampling *, nm_sampling_free)

/* Returns whether an additional sample before the end of the sampling period is affordable now. At most a twentieth of
 * the time is spent on such samples: a sample takes milliseconds if there are many containers, or if containers have
 * many processes and no memory controller. */
bool nm_sample_is_affordable(const struct nm_manager *m, uint64_t now_usec);

/* Samples the node and all containers. exact: also reads the memory of containers that used very little CPU time. */
int nm_sample_all(struct nm_manager *m, bool exact);
int nm_sample_node(struct nm_manager *m); /* samples only the node, into m->sampled */
/* Reads only the node's memory figures, into *ret. */
int nm_sample_memory(const struct nm_manager *m, uint64_t now_usec, struct nm_node_sample *ret);
void nm_sample_live(struct nm_live_container *l, uint64_t now_usec);
/* Updates the container's number of oom kills. n: number of processes that the kernel has oom-killed in the container
 * since its start. ooms: how often the container's own limit caused an oom kill, or NM_LAUNCH_OOMS_UNKNOWN. */
void nm_sample_count_oom_kills(struct nm_live_container *l, uint64_t n, uint64_t ooms);
/* Opens the slice's cpu.stat and memory.stat and keeps them open. Is called at the start and after the slice was
 * recreated. */
void nm_sample_open_slice(struct nm_manager *m);
/* Returns in *ret_usec the CPU time that the slice has used. *ret_slice: a number that changes when the slice is
 * recreated. Returns a negative value if there is no slice. */
int nm_sample_slice_cpu(struct nm_manager *m, uint64_t *ret_usec, unsigned *ret_slice);
/* Returns whether the kernel has oom-killed a process of the container since the last call. Counts and logs such
 * kills. */
bool nm_sample_find_oom_kill(struct nm_live_container *l);
/* Returns whether the kernel has recently oom-killed a process of the container, so that the container is about to end.
 * Callers check this before a kill that was decided on an older sample. */
bool nm_sample_was_oom_killed(struct nm_live_container *l);

/* ---- growth-probe.c: memory and CPU between two samples -------------------------------------- */

struct nm_growth_probe *nm_growth_probe_new(void); /* NULL: out of memory */
struct nm_growth_probe *nm_growth_probe_free(struct nm_growth_probe *g);
/* Returns when the current CPU stall or surge began, or 0 if the probe has seen no stall and no surge. */
uint64_t nm_growth_probe_event_usec(const struct nm_growth_probe *g);
int nm_growth_probe_start(struct nm_manager *m);
/* Takes two CPU samples. Is called when a stall or a surge may have begun. */
void nm_growth_probe_check_cpu(struct nm_manager *m);
/* Arms the probe's timer again. Is called after a round has started its actions. sampled: the round took its own
 * sample. */
void nm_growth_probe_rearm(struct nm_manager *m, const struct nm_policy_verdict *v, bool sampled);
void nm_growth_probe_again(struct nm_manager *m); /* arms the timer again after a skipped round */

/* ---- pressure.c: pressure events of node and slice ------------------------------------------- */

struct nm_pressure *nm_pressure_new(void); /* NULL: out of memory */
struct nm_pressure *nm_pressure_free(struct nm_pressure *p);
/* Opens the slice's pressure files again if the slice was recreated. Is called periodically. */
void nm_pressure_follow_slice(struct nm_manager *m);
void nm_pressure_watch(struct nm_manager *m); /* replaces the watches, using the current settings */
