/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* A recording of a trace for nmsim, started by nm_manager_record(). */
struct nm_recorder;
void nm_recorder_sample(struct nm_recorder *r); /* records the newest sample; does not allocate memory */
struct nm_recorder *nm_recorder_free(struct nm_recorder *r);
NM_DEFINE_CLEANUP(struct nm_recorder *, nm_recorder_free)
