/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Schedules a round in a later turn of the event loop. Several requests become one round, for the strongest trigger:
 * LOOK, then PRESSURE, then CHANGE. SAMPLE is not allowed, because only the sampling timer starts those rounds. */
void nm_round_request(struct nm_manager *m, enum nm_policy_trigger trigger);
