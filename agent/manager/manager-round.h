/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

void nm_round(struct nm_manager *m, enum nm_policy_trigger trigger);
void nm_round_run_requested(struct nm_manager *m); /* runs the round that nm_round_request() has scheduled */
