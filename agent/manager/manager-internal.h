/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions that only the files of this room and tests use. daemon.h, agent.h and status.h declare the manager's
 * interface.
 */

#include "agent/state/manager-state.h"

/* ---- manager-round.c ------------------------------------------------------------------------- */

void nm_round(struct nm_manager *m, enum nm_policy_trigger trigger);
void nm_round_run_requested(struct nm_manager *m); /* runs the round that nm_round_request() has scheduled */

/* ---- recorder.c ------------------------------------------------------------------------------ */

/* A recording of a trace for nmsim, started by nm_manager_record(). */
struct nm_recorder;
void nm_recorder_sample(struct nm_recorder *r); /* records the newest sample; does not allocate memory */
struct nm_recorder *nm_recorder_free(struct nm_recorder *r);
NM_DEFINE_CLEANUP(struct nm_recorder *, nm_recorder_free)
