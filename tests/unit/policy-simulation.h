/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small simulated node for the property test. Containers arrive, use random amounts, and are launched, frozen, killed
 * and resumed with delays and failures. Samples go missing, administrators interfere, and the system's use varies. Each
 * seed gives one history. The simulation carries out the policy's actions and checks no rule. policy-oracle.c checks
 * the rules.
 */

#include "agent/policy/policy.h"

#define SIMULATION_MAX 64
#define SIMULATION_APPS 4

struct sim_container {
    struct nm_peak twin_peak; /* the notes of the second policy on this container */
    struct nm_policy_container view;
    bool alive;
    uint64_t memory_target, cpu_demand; /* the container's use without limits */
    uint64_t memory_now, cpu_now, swapped_now;
    uint64_t work_left_usec; /* time left in RUNNING, whatever the container's speed */
    uint64_t due_usec;       /* when a transitional state such as PAUSING ends */
    bool fails;              /* whether the transition that is due at due_usec fails */
    uint64_t reclaim_due_usec;
};

struct simulation {
    uint64_t rng;
    struct nm_policy_settings settings;
    struct nm_policy *policy;
    uint64_t now, next_sample, period;
    struct sim_container all[SIMULATION_MAX];
    struct nm_policy_container *views[SIMULATION_MAX];
    struct nm_policy_app apps[SIMULATION_APPS];
    uint64_t next_seq;
    struct nm_policy_node node;
    uint64_t system_memory, system_cpu, system_memory_mean, system_cpu_mean, cpus;
    uint64_t squeeze;
    double miss, interfere, arrive, reload, sleep; /* probabilities */
    uint64_t suspended; /* total time of suspends */
    bool crowded; /* opportunistic work makes guaranteed containers wait for CPUs */
    uint64_t reclaim_bytes_per_sec;
    bool phases; /* the use of all containers changes together: low, then high */
    bool draining, unhealthy, calm;
    uint32_t shed_to, shed_limited_to, kernel_kills;
    struct nm_policy_input in;
    struct nm_policy_verdict verdict;
    /* figures for the test's report */
    const char *wrong; /* why a request was wrongly accepted or refused; NULL if all were right */
    uint64_t n_requests[NM_REASON_COUNT]; /* numbers of requests by the reason of the refusal */
    uint64_t n_rounds, n_actions[NM_ACTION_SHED + 1], n_reasons[NM_REASON_COUNT], n_squeezed;
};

uint64_t simulation_random(struct simulation *w);
uint64_t simulation_below(struct simulation *w, uint64_t n); /* returns a random number from 0 to n-1 */
bool simulation_chance(struct simulation *w, double p);

int simulation_init(struct simulation *w, uint64_t seed);
void simulation_done(struct simulation *w);

/* Advances to the next event and fills in w->in. The caller then calls nm_policy_decide() and simulation_act(). */
void simulation_next(struct simulation *w);
void simulation_act(struct simulation *w);

/* Ends arrivals, interference and missing samples from now on, and makes running containers end soon. */
void simulation_calm(struct simulation *w);
