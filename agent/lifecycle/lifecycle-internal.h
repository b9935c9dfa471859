/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions that only the files of agent/lifecycle and the tests use. The files are layers: tests/style has their
 * order, and checks that no file calls a function of a higher layer.
 */

#include "agent/lifecycle/lifecycle.h"

/* ---- functions that actions.c calls after it has journalled an action ------------------------ */

/* The queue of starts, and the program that they use. Only container-start.c and its tests use this struct. */
struct nm_starts {
    struct nm_fair_queue queue; /* containers that are admitted and wait for their launch */
    uint32_t n_opportunistic;   /* number of opportunistic containers in `queue` */
    sd_event_source *source;
    char *shim_path;
    int shim_fd;     /* negative: -errno of the failed open */
    struct nm_spawner *spawner;
    int confinement; /* 0: nmd can create namespaces for containers; otherwise -errno */
};

/* Puts an admitted container into the queue of starts. nm_start_some() launches the container later. */
void nm_start_soon(struct nm_live_container *l);
bool nm_start_is_due(const struct nm_live_container *l);
/* Removes the container from the queue of starts. Returns false if the container was not in the queue. */
bool nm_start_cancel(struct nm_live_container *l);
void nm_freeze_set(struct nm_live_container *l, bool frozen);
void nm_kill_all(struct nm_live_container *l); /* sends SIGKILL immediately */
void nm_kill_terminate(struct nm_live_container *l); /* sends SIGTERM, then SIGKILL after the grace period */
/* Starts a worker that reclaims l->reclaim_worker.bytes within l->reclaim_worker.within_usec (0: no time limit). */
void nm_reclaim_start(struct nm_live_container *l);

/* ---- container-end.c ------------------------------------------------------------------------- */

/* Does the same as nm_end_check(). The caller has just found that the cgroup is empty or removed. */
void nm_end_is_empty(struct nm_live_container *l);
/* Sends SIGKILL to the whole cgroup, and repeats the signal while the cgroup has processes. */
int nm_end_kill(struct nm_live_container *l);
/* Ends a container whose command has not run yet, with the given reason. */
void nm_end_fail_launch(struct nm_live_container *l, enum nm_launch_stage stage, int error, const char *message);
/* Gives a start up because of a temporary problem, for example a full disk. After the shim has exited, the container is
 * queued again, and does not start before the next sample. */
void nm_end_withdraw_launch(struct nm_live_container *l);
