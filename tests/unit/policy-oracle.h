/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks the rules of agent/policy/policy.h for each round. The oracle computes all figures from the views, without the
 * policy's code, and keeps a separate history (runs of samples over beta, kills, time since the last victims were
 * gone).
 */

#include "tests/unit/policy-simulation.h"

struct oracle {
    double system[NM_RESOURCE_COUNT];
    bool system_known[NM_RESOURCE_COUNT];
    uint64_t sample_at, compared_at;
    bool has_new_sample;
    uint32_t run_over_beta;
    uint64_t run_began; /* first sample of the run over beta */
    uint64_t period, run_period; /* the present sampling period, and the shortest period in the run */
    uint64_t suspended;
    uint32_t awake_samples; /* samples since the node woke from its last suspend */
    uint32_t quiet[NM_RESOURCE_COUNT]; /* samples since the last victims were gone */
    uint64_t taken_usec[NM_RESOURCE_COUNT];
    bool ever_taken[NM_RESOURCE_COUNT];
    uint64_t gone_usec; /* when the last victims for memory were gone; UINT64_MAX: not yet */
    bool asked_running; /* memory was last taken by a reclaim from running containers */
    uint64_t moved_usec; /* when an opportunistic container was last admitted or resumed, the last running one
                            ended, or the test started, whichever is latest */
    bool was_active;     /* an opportunistic container was running in the previous round */
    uint64_t kills[256];
    size_t n_kills;
    uint64_t breaker_until, breaker_hold, last_kill;
    char message[400];
};

/* Returns NULL, or the rule that is broken. Call it after nm_policy_decide() and before simulation_act(). */
const char *oracle_check(struct oracle *o, const struct simulation *w);

/* The time for which containers that passed the head of the queue have kept the head waiting (policy-oracle-pass.c). */
struct oracle_passing {
    uint64_t head, at, delay;
    bool due;
};

/* The number of opportunistic containers that were started within 20 ms (policy-oracle-pass.c). */
struct oracle_starts {
    uint64_t since;
    size_t n;
};

const char *oracle_check_starts(struct oracle_starts *o, const struct simulation *w);
const char *oracle_check_passing(struct oracle_passing *o, const struct simulation *w);
