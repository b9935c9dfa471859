/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* A round soon, for this reason, which isn't the periodic sample: that is its timer's alone. Several kicks become one
 * round, for the strongest of them: a look, pressure, a change. */
void nm_round_request(struct nm_manager *m, enum nm_policy_trigger trigger);
