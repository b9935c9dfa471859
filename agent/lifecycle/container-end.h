/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Checks whether the container has ended. If so, schedules the handling of its end in another turn of the event loop,
 * and kills processes that the command left behind. */
void nm_end_check(struct nm_live_container *l);
/* Does the same as nm_end_check() for callers that have just seen that the cgroup is empty or gone. */
void nm_end_is_empty(struct nm_live_container *l);
/* Does the same as nm_end_check() for all containers, periodically. This catches ends that could not be scheduled
 * because memory was short. */
void nm_end_check_all(struct nm_manager *m);
/* Sends SIGKILL to the whole cgroup, and repeats the signal while the cgroup has processes. */
int nm_end_kill(struct nm_live_container *l);
/* Returns whether the container has ended and only waits for the turn in which its end is handled, so that no process
 * is left to kill. Returns false for a container whose start was given up, since it goes back into the queue. */
bool nm_end_is_over(const struct nm_live_container *l);
/* Fills in how the container ended (exit_* and message), from the shim's record if there is one, otherwise from other
 * evidence. */
void nm_end_classify(struct nm_live_container *l);
/* Ends a container whose command has not run yet, with the given reason. */
void nm_end_fail_launch(struct nm_live_container *l, enum nm_launch_stage stage, int error, const char *message);
/* Gives a start up for now, for example because the disk is full. When the shim has gone, the container is queued
 * again, and starts no earlier than with the next sample. */
void nm_end_hold_launch(struct nm_live_container *l);
