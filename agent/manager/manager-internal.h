/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions and structs that only the files of agent/manager and the tests use. The manager's interface for other
 * folders is in daemon.h, agent.h and status.h.
 */

#include "agent/state/manager-state.h"

/* ---- manager-round.c ------------------------------------------------------------------------- */

struct nm_round_internal *nm_round_internal_new(void); /* NULL: out of memory */
struct nm_round_internal *nm_round_internal_free(struct nm_round_internal *i);
/* Makes the timer for rounds that the policy wants at a certain time. */
int nm_round_add_wake_timer(struct nm_manager *m);
void nm_round(struct nm_manager *m, enum nm_policy_trigger trigger);
void nm_round_run_requested(struct nm_manager *m); /* runs the round that nm_round_request() requested */

/* ---- recorder.c ------------------------------------------------------------------------------ */

/* A recording: a trace for nmsim. nm_manager_record() starts it. */
struct nm_recorder;
void nm_recorder_sample(struct nm_recorder *r); /* records the newest sample; does not allocate memory */
struct nm_recorder *nm_recorder_free(struct nm_recorder *r);
NM_DEFINE_CLEANUP(struct nm_recorder *, nm_recorder_free)

/* ---- manager.c ------------------------------------------------------------------------------- */

/* Periodic work, and the watch of the state directory. Only manager.c and its tests use this struct. */
struct nm_upkeep {
    sd_event_source *housekeeping, *state_dir;
    uint64_t housekeeping_due_usec;
};
