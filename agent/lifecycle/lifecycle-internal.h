/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions that only the files of the life cycle and tests use. tests/style has the order of the files, and checks
 * that no file calls one above it.
 */

#include "agent/lifecycle/lifecycle.h"

/* ---- second halves of actions: what actions.c calls once the intent is journalled ------------ */

/* Puts an admitted container into the queue of starts. nm_start_some() launches it. */
void nm_start_soon(struct nm_live_container *l);
bool nm_start_is_due(const struct nm_live_container *l);
/* Removes the container from the queue of starts. Returns false if the container was not in the queue. */
bool nm_start_cancel(struct nm_live_container *l);
void nm_freeze_set(struct nm_live_container *l, bool frozen);
void nm_kill_all(struct nm_live_container *l); /* sends SIGKILL now */
void nm_kill_terminate(struct nm_live_container *l); /* sends SIGTERM, then SIGKILL after the grace period */
/* Starts a worker that reclaims l->reclaim_bytes within l->reclaim_within_usec (0: no time limit). */
void nm_reclaim_start(struct nm_live_container *l);

/* ---- container-end.c ------------------------------------------------------------------------- */

/* Does the same as nm_end_check() for callers that have just seen that the cgroup is empty or gone. */
void nm_end_is_empty(struct nm_live_container *l);
/* Sends SIGKILL to the whole cgroup, and repeats the signal while the cgroup has processes. */
int nm_end_kill(struct nm_live_container *l);
/* Ends a container whose command has not run yet, with the given reason. */
void nm_end_fail_launch(struct nm_live_container *l, enum nm_launch_stage stage, int error, const char *message);
/* Gives a start up for now, for example because the disk is full. When the shim has gone, the container is queued
 * again, and starts no earlier than with the next sample. */
void nm_end_hold_launch(struct nm_live_container *l);
