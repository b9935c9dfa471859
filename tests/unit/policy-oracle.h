/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What must hold of every round, worked out anew from the views, with none of the policy's code:
 * DESIGN.md section 5 and what agent/policy/policy.h adds. It keeps its own memory of the history (runs
 * over beta, kills, what settles).
 */

#include "tests/unit/policy-world.h"

struct oracle {
    double system[NM_RESOURCE_COUNT];
    bool system_known[NM_RESOURCE_COUNT];
    uint64_t sample_at, judged_at;
    bool judging;
    uint32_t run_over_beta;
    uint32_t quiet[NM_RESOURCE_COUNT]; /* samples since the last victims were gone */
    uint64_t taken_usec[NM_RESOURCE_COUNT];
    bool ever_taken[NM_RESOURCE_COUNT];
    uint64_t kills[256];
    size_t n_kills;
    uint64_t breaker_until, breaker_hold, last_kill;
    char message[400];
};

/* NULL, or what is wrong. Call after nm_policy_decide() and before world_act(). */
const char *oracle_check(struct oracle *o, const struct world *w);
