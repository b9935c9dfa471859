/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of the life cycle that other folders use: actions on a container, its start, its events and its end. A
 * function that returns void logs its failure, and the container's state shows the failure. nm_manager.live owns all
 * containers.
 */

#include "agent/state/manager-state.h"

/*
 * ---- actions.c -------------------------------------------------------------------------------
 *
 * Each function except nm_act_carry_out() journals one action. Outside of a round it also carries out the action
 * immediately. During a round it only notes the action: the round commits all its actions in one transaction, and then
 * calls nm_act_carry_out() for each container. nm_act_admit() is called during a round only.
 */

void nm_act_carry_out(struct nm_live_container *l);
void nm_act_admit(struct nm_live_container *l);
void nm_act_pause(struct nm_live_container *l, bool by_user);
void nm_act_resume(struct nm_live_container *l);
void nm_act_reclaim(struct nm_live_container *l, uint64_t bytes, uint64_t within_usec); /* within_usec 0: no time
                                                                                           limit */
/* Ends the container's processes so that it can run again (nm_container.rerun). */
void nm_act_rerun(struct nm_live_container *l);
/* reason: the container's exit reason. now: sends SIGKILL immediately, without SIGTERM and grace period. */
void nm_act_kill(struct nm_live_container *l, enum nm_exit_reason reason, bool now);
/* Removes a waiting container from the queue and ends it. */
void nm_act_discard(struct nm_live_container *l, enum nm_exit_reason reason);

/* ---- container-start.c ----------------------------------------------------------------------- */

/* Tests whether this host supports the confinement of commands. Returns NULL if out of memory. */
struct nm_starts *nm_starts_new(const char *shim_path);
struct nm_starts *nm_starts_free(struct nm_starts *s);
/* Makes the event source that launches queued containers. Without this source, nm_start_some() launches all of them in
 * one turn. */
int nm_starts_begin(struct nm_manager *m);
bool nm_starts_are_queued(const struct nm_starts *s);
uint32_t nm_starts_n_opportunistic(const struct nm_starts *s); /* number of opportunistic containers in the queue */
/* Returns 0 if nmd can create namespaces for containers, otherwise -errno. */
int nm_starts_confinement(const struct nm_starts *s);
/* Launches containers from the front of the queue of starts until the time of one turn of the event loop is used up. */
void nm_start_some(struct nm_manager *m);
/* Opens the shim's program once, when nmd starts, because a package upgrade replaces the file before it restarts nmd.
 * If the file is missing at nmd's start, later calls try again. Returns the descriptor, which m->starts owns, or
 * -errno. */
int nm_start_open_shim(struct nm_manager *m);

/* ---- container-events.c ---------------------------------------------------------------------- */

/* Creates watches and the sampler, and takes ownership of cg. The caller takes the first sample. */
int nm_container_events_attach(struct nm_live_container *l, struct nm_cgroup *cg);
void nm_container_events_exclude_shim(struct nm_live_container *l); /* excludes the shim's own process from the
                                                                    sampler's figures */
void nm_container_events_launched(struct nm_launch *launch, enum nm_launch_phase phase,
                                  const struct nm_launch_record *r, void *userdata);
/* Handles a scope that systemd stops. Is a nm_cgroup_stopped_cb_t; userdata is the manager. */
void nm_container_events_stopped(const char *container_id, void *userdata);
void nm_container_events_observe(struct nm_live_container *l); /* reads cgroup.events and reacts to changes */

/* ---- container-freeze.c, container-kill.c, container-reclaim.c ------------------------------- */

/* Handles a freeze that did not complete in time, so that the policy cancels it. Logs which process hangs, and records
 * the decision as failed. */
void nm_freeze_given_up(struct nm_live_container *l);
/* Sends a signal to all processes except the shim. If there are many processes, most of them get the signal in later
 * turns of the event loop. A signal requested before the end of this pass is sent after the pass, and only once if it
 * is requested several times. Returns 0 or -errno. */
int nm_kill_signal(struct nm_live_container *l, int signo);
struct nm_reclaim *nm_reclaim_new(void); /* NULL: out of memory */
struct nm_reclaim *nm_reclaim_free(struct nm_reclaim *r);
/* Is called before a container with a running reclaim is killed. Records the amount and speed of the reclaim now,
 * because the killed worker reports no result, and kills the worker. The worker exits as soon as its write to
 * memory.reclaim returns. */
void nm_reclaim_supersede(struct nm_live_container *l);
/* Returns the average speed of the latest reclaims, or 0 if there was no recent reclaim. */
uint64_t nm_reclaim_bytes_per_sec(const struct nm_manager *m);

/* ---- container-end.c ------------------------------------------------------------------------- */

/* Checks whether the container has ended. If the command has ended and processes remain in the cgroup, kills them. If
 * the cgroup is empty, schedules the handling of the end in another turn of the event loop. */
void nm_end_check(struct nm_live_container *l);
/* Calls nm_end_check() for all containers whose shim has gone or that were killed. Is called periodically, because the
 * handling of an end can't be scheduled while memory is short. */
void nm_end_check_all(struct nm_manager *m);
/* Returns whether the container has ended and has no process left, but its end is not handled yet. Returns false if the
 * container's start was given up, since the container will be queued again. */
bool nm_end_is_complete(const struct nm_live_container *l);
/* Sets the members exit_* and message of the container. The source is the shim's record. If there is no record, the
 * function uses the number of OOM kills, nmd's own kill, and the shim's files. */
void nm_end_classify(struct nm_live_container *l);
