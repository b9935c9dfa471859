/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One replay from beginning to end, and what came of it. "In use" is what the containers use and
 * what the system uses beyond its reserve, as a share of the capacity; means are over time.
 */

#include "sim/world.h"

#define NM_SIM_BUCKETS 300 /* points of the curves that are plotted */

/* A stretch of time, for plots. */
struct nm_sim_bucket {
    uint64_t usec; /* how much of it was seen */
    double memory, cpu, memory_most, memory_allocated; /* shares of the capacity */
    double opportunistic;                              /* running */
    uint32_t kills;
};

struct nm_sim_jobs {
    uint64_t submitted, refused, done, preempted, oom, limit, running, waiting; /* the first is the sum */
    /* until the start; until the trace's end for opportunistic ones that were refused or never started */
    double wait_mean_usec, wait_p95_usec;
    double slowdown_mean; /* of those that are done: time since the start to time at full speed */
    double slowdown_p99; /* of those that run, over all their time: at which speed they get on */
    double work_done, work_open, work_lost; /* CPU-seconds: of the done, the living, the killed */
    double time_done, time_lost;            /* container-seconds, without pauses */
};

struct nm_sim_result {
    char name[64];
    struct nm_policy_settings settings;
    uint64_t duration_usec, period_usec;

    double memory_mean, memory_p95, memory_most, cpu_mean, cpu_p95;
    double memory_over_beta, cpu_over_beta; /* share of the time */
    double memory_allocated, cpu_allocated; /* mean share of the capacity; may be above 1 */
    struct nm_sim_jobs jobs[2];             /* by type */

    uint64_t kills[NM_REASON_COUNT]; /* by the policy, why */
    uint64_t n_kills, n_pauses, n_resumes, n_reclaims, n_admissions;
    double paused_sec, swap_in_sec; /* paused; waiting for what was in swap */
    uint64_t oom_opportunistic, oom_guaranteed;

    double oracle_cpu_sec; /* opportunistic work that somebody could have done who knows all that comes */

    uint64_t n_violations;
    char first_violation[160];
    uint64_t first_violation_usec;

    uint64_t rounds[NM_TRIGGER_CHANGE + 1]; /* by trigger */
    uint64_t n_rounds;
    uint64_t n_decisions; /* containers judged, over all rounds */
    uint64_t spent_usec;  /* real time of the replay */

    struct nm_sim_bucket buckets[NM_SIM_BUCKETS];
    unsigned n_buckets;
};

/* What became of job i: called at the end for every one, if given. */
typedef void (*nm_sim_job_cb_t)(const struct nm_sim_container *c, uint64_t begin_usec,
                                void *userdata);

/* Replays the workload under the configuration. `ret` is large: not for the stack of a thread.
 * Fails as nm_world_new() does. */
int nm_sim_run(const struct nm_workload *load, const struct nm_config *config, const char *name,
               nm_sim_job_cb_t cb, void *userdata, struct nm_sim_result *ret, char **ret_message);

/* CPU-seconds that were not for nothing. */
double nm_sim_useful_work(const struct nm_sim_result *r);
/* Opportunistic work that was not for nothing, as a share of the oracle's; 0 if there was none to do. */
double nm_sim_oracle_share(const struct nm_sim_result *r);
/* Share of the CPU time of opportunistic containers that was lost with them; 0 if there was none. */
double nm_sim_lost_share(const struct nm_sim_result *r);
