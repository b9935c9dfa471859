/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How much opportunistic work somebody could have done who knows all that comes. */

#include "agent/policy/policy.h"
#include "sim/workload.h"

/* *ret: CPU-seconds. `refused`: by job, those that the replay refused; of guaranteed ones these don't run
 * here, either. Or -ENOMEM. */
int nm_oracle_cpu_sec(const struct nm_workload *load, const struct nm_policy_settings *s,
                      const bool *refused, uint64_t step_usec, double *ret);
