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
    uint64_t run_began; /* its first sample */
    uint64_t period, run_period; /* now, and the shortest in the row */
    uint64_t suspended;
    uint32_t awake_samples; /* since it woke last */
    uint32_t quiet[NM_RESOURCE_COUNT]; /* samples since the last victims were gone */
    uint64_t taken_usec[NM_RESOURCE_COUNT];
    bool ever_taken[NM_RESOURCE_COUNT];
    uint64_t gone_usec; /* when the last victims for memory were gone; UINT64_MAX: not yet */
    bool asked_running; /* the last taking of memory was a reclaim of running ones */
    uint64_t moved_usec; /* the latest of: an opportunistic container was admitted or resumed, the last running one
                            ended, the start */
    bool was_active;     /* an opportunistic container ran in the round before */
    uint64_t kills[256];
    size_t n_kills;
    uint64_t breaker_until, breaker_hold, last_kill;
    char message[400];
};

/* NULL, or what is wrong. Call after nm_policy_decide() and before world_act(). */
const char *oracle_check(struct oracle *o, const struct world *w);

/* How long those that have passed the head of the queue have kept it out (policy-oracle-pass.c). */
struct oracle_passing {
    uint64_t head, at, delay;
    bool due;
};

/* How many opportunistic containers are started at once (in there, too). */
struct oracle_starts {
    uint64_t since;
    size_t n;
};

const char *oracle_check_starts(struct oracle_starts *o, const struct world *w);
const char *oracle_check_passing(struct oracle_passing *o, const struct world *w);
