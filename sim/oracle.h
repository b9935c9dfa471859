/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How much opportunistic work could have been done with knowledge of the future. */

#include "agent/policy/policy.h"
#include "sim/workload.h"

/* Computes the work in CPU-seconds. `refused`: per job, whether the replay refused it; refused guaranteed jobs don't
 * run here, either. Returns 0 or -ENOMEM. */
int nm_oracle_cpu_sec(const struct nm_workload *load, const struct nm_policy_settings *s,
                      const bool *refused, uint64_t step_usec, double *ret);
