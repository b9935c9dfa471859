/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small simulated node for the property test: containers arrive, use what they like, are
 * launched, frozen, killed and resumed with delays and failures, samples go missing, people
 * interfere, the system makes noise. One seed makes one history. The world carries the policy's
 * actions out and knows no rule; policy-oracle.c knows the rules.
 */

#include "agent/policy/policy.h"

#define WORLD_MAX 64
#define WORLD_APPS 4

struct inhabitant {
    struct nm_policy_container view;
    bool alive;
    uint64_t memory_target, cpu_demand; /* what it would like to use */
    uint64_t memory_now, cpu_now, swapped_now;
    uint64_t work_left_usec; /* of running, at any speed */
    uint64_t due_usec;       /* when the state it is passing through ends */
    bool fails;              /* ... and whether it ends badly */
    uint64_t reclaim_due_usec;
};

struct world {
    uint64_t rng;
    struct nm_policy_settings settings;
    struct nm_policy *policy;
    uint64_t now, next_sample, period;
    struct inhabitant all[WORLD_MAX];
    struct nm_policy_container *views[WORLD_MAX];
    struct nm_policy_app apps[WORLD_APPS];
    uint64_t next_seq;
    struct nm_policy_node node;
    uint64_t system_memory, system_cpu, system_memory_mean, system_cpu_mean, cpus;
    uint64_t squeeze;
    double miss, meddle, arrive, reload, sleep; /* how often */
    uint64_t suspended; /* how long it has slept in all */
    bool crowded; /* opportunistic work makes guaranteed containers wait for CPUs */
    uint64_t reclaim_bytes_per_sec;
    bool phases; /* all use swings together: quiet, then everybody at once */
    bool draining, unhealthy, calm;
    uint32_t shed_to, shed_limited_to, kernel_kills;
    struct nm_policy_input in;
    struct nm_policy_verdict verdict;
    /* bookkeeping for the report */
    const char *wrong; /* a request was taken that can't be, or refused that could */
    uint64_t n_requests[NM_REASON_COUNT]; /* by why they were refused */
    uint64_t n_rounds, n_actions[NM_ACTION_SHED + 1], n_reasons[NM_REASON_COUNT], n_squeezed;
};

uint64_t world_random(struct world *w);
uint64_t world_below(struct world *w, uint64_t n); /* 0 .. n-1 */
bool world_chance(struct world *w, double p);

int world_init(struct world *w, uint64_t seed);
void world_done(struct world *w);

/* Goes on to the next thing that happens and fills w->in; the caller lets the policy decide and
 * then calls world_act(). */
void world_next(struct world *w);
void world_act(struct world *w);

/* From now on nothing new comes, nobody meddles, all samples arrive, and what runs ends soon. */
void world_calm(struct world *w);
