/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Looks whether the container has ended. If it has, its end is handled in a turn of its own; processes that the command
 * left behind are killed. */
void nm_end_check(struct nm_live_container *l);
/* The same, for callers that have just seen the cgroup empty, or gone. */
void nm_end_is_empty(struct nm_live_container *l);
/* The same for all containers, now and then: one whose end found no memory for its turn gets it then. */
void nm_end_check_all(struct nm_manager *m);
/* Sends SIGKILL to the whole cgroup, and again for as long as it holds processes. */
int nm_end_kill(struct nm_live_container *l);
/* Returns whether the container has ended and only waits for the turn in which its end is handled, so that there is
 * nothing to kill. False for one whose start was given up: it goes back into the queue. */
bool nm_end_is_over(const struct nm_live_container *l);
/* Fills in how the container ended (exit_* and message): from the shim's record if there is one, else from what else is
 * known. */
void nm_end_classify(struct nm_live_container *l);
/* Ends a container of which nothing has run yet, with the reason. */
void nm_end_fail_launch(struct nm_live_container *l, enum nm_launch_stage stage, int error, const char *message);
/* Gives a start up for now (the disk is full, say): when the shim has gone, the container is queued again, and starts
 * no earlier than with the next sample. */
void nm_end_hold_launch(struct nm_live_container *l);
