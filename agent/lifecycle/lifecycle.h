/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The functions of the life cycle that other rooms use: actions on a container, its start, its events and its end. A
 * function without a result logs its failure, and the container's state shows it. The lists own all live containers.
 */

#include "agent/state/manager-state.h"

/*
 * ---- actions.c -------------------------------------------------------------------------------
 *
 * Each function journals its intent and then carries it out. Inside a round, all intents are first written in one
 * transaction, and nm_act_carry_out() follows.
 */

void nm_act_carry_out(struct nm_live_container *l);
void nm_act_admit(struct nm_live_container *l);
void nm_act_pause(struct nm_live_container *l, bool by_user);
void nm_act_resume(struct nm_live_container *l);
void nm_act_reclaim(struct nm_live_container *l, uint64_t bytes, uint64_t within_usec); /* within_usec 0: no time
                                                                                           limit */
/* Ends the container's processes so that it can run again (nm_container.rerun). */
void nm_act_rerun(struct nm_live_container *l);
/* reason becomes the container's exit reason. now: sends SIGKILL at once. */
void nm_act_kill(struct nm_live_container *l, enum nm_exit_reason reason, bool now);
/* Removes a waiting container from the queue and ends it. */
void nm_act_discard(struct nm_live_container *l, enum nm_exit_reason reason);

/* ---- container-start.c ----------------------------------------------------------------------- */

/* Launches containers from the front of the queue of starts until the time of one turn of the event loop is used up. */
void nm_start_some(struct nm_manager *m);
/* Opens the shim once, when nmd starts, because an upgrade replaces the file before it restarts nmd. If the file was
 * missing then, later calls try again. Returns the descriptor, which the manager owns. */
int nm_start_open_shim(struct nm_manager *m);

/* ---- container-events.c ---------------------------------------------------------------------- */

int nm_container_events_attach(struct nm_live_container *l, struct nm_cgroup *cg); /* creates watches and sampler;
                                                                                      takes ownership of cg */
void nm_container_events_tell_shim(struct nm_live_container *l); /* excludes the shim's own process from the
                                                                    sampler's figures */
void nm_container_events_launched(struct nm_launch *launch, enum nm_launch_phase phase,
                                  const struct nm_launch_record *r, void *userdata);
/* Handles a stopped scope; a nm_cgroup_stopped_cb_t whose userdata is the manager. */
void nm_container_events_stopped(const char *container_id, void *userdata);
void nm_container_events_observe(struct nm_live_container *l); /* reads cgroup.events and reacts to changes */

/* ---- second halves of actions, as far as other rooms use them -------------------------------- */

/* Handles a freeze that the policy takes back because it did not complete in time: logs which process hangs, and closes
 * the decision as failed. */
void nm_freeze_given_up(struct nm_live_container *l);
/* Sends the signal to all processes but the shim: to the first ones now, to the others in later turns. A signal that
 * comes meanwhile is sent after it, once. Returns 0 or -errno. */
int nm_kill_signal(struct nm_live_container *l, int signo);
struct nm_reclaim *nm_reclaim_new(void); /* NULL: out of memory */
struct nm_reclaim *nm_reclaim_free(struct nm_reclaim *r);
/* Prepares the kill of a container with a running reclaim. Records the amount and speed of the reclaim now, because no
 * later report will come. The worker exits as soon as the kernel lets it. */
void nm_reclaim_overtaken(struct nm_live_container *l);
/* Returns the combined speed of the latest reclaims, or 0 if there was no recent reclaim. */
uint64_t nm_reclaim_bytes_per_sec(const struct nm_manager *m);

/* ---- container-end.c ------------------------------------------------------------------------- */

/* Checks whether the container has ended. If so, schedules the handling of its end in another turn of the event loop,
 * and kills processes that the command left behind. */
void nm_end_check(struct nm_live_container *l);
/* Does the same as nm_end_check() for all containers, periodically. This catches ends that could not be scheduled
 * because memory was short. */
void nm_end_check_all(struct nm_manager *m);
/* Returns whether the container has ended and only waits for the turn in which its end is handled, so that no process
 * is left to kill. Returns false for a container whose start was given up, since it goes back into the queue. */
bool nm_end_is_over(const struct nm_live_container *l);
/* Fills in how the container ended (exit_* and message), from the shim's record if there is one, otherwise from other
 * evidence. */
void nm_end_classify(struct nm_live_container *l);
