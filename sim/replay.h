/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One replay from beginning to end, and its result. "In use" means the use by containers and by the system beyond its
 * reserve, as a share of the capacity. Means are weighted by time.
 */

#include "agent/policy/policy.h"
#include "sim/workload.h"
#include "sim/sim-node.h"

#define NM_SIM_BUCKETS 300 /* points of the curves that are plotted */

/* An interval of time, for plots. */
struct nm_sim_bucket {
    uint64_t usec; /* time accounted in the interval */
    double memory, cpu, memory_most, memory_allocated; /* shares of the capacity */
    double opportunistic;                              /* mean number of running opportunistic containers */
    uint32_t kills;
};

struct nm_sim_jobs {
    /* `submitted` is the sum of the other numbers */
    uint64_t submitted, refused, done, preempted, oom, limit, running, waiting;
    /* wait until the start, or until the trace's end for opportunistic jobs that were refused or never started */
    double wait_mean_usec, wait_p95_usec;
    double slowdown_mean; /* time since the start of jobs that are done, relative to their time at full speed */
    double slowdown_p99; /* 99th percentile of the slowdown of running jobs, over their whole running time */
    double work_done, work_open, work_lost; /* CPU-seconds of jobs that are done, of live jobs, and of killed jobs */
    double time_done, time_lost;            /* container-seconds, without pauses */
};

struct nm_sim_result {
    char name[64];
    struct nm_policy_settings settings;
    uint64_t duration_usec, period_usec;

    double memory_mean, memory_p95, memory_most, cpu_mean, cpu_p95;
    double memory_over_beta, cpu_over_beta; /* share of the time */
    double memory_allocated, cpu_allocated; /* mean share of the capacity; may be above 1 */
    struct nm_sim_jobs jobs[2];             /* one element per execution type */

    uint64_t kills[NM_REASON_COUNT]; /* kills by the policy, by reason */
    uint64_t n_kills, n_pauses, n_resumes, n_reclaims, n_admissions;
    double paused_sec, swap_in_sec; /* container-seconds in pauses, and waiting for swap */
    uint64_t oom_opportunistic, oom_guaranteed;

    double oracle_cpu_sec; /* opportunistic work that would be possible with knowledge of the future */

    uint64_t n_violations;
    char first_violation[160];
    uint64_t first_violation_usec;

    uint64_t rounds[NM_TRIGGER_CHANGE + 1]; /* numbers of rounds, by trigger */
    uint64_t n_rounds;
    uint64_t n_decisions; /* number of containers that were evaluated, summed over all rounds */
    uint64_t spent_usec;  /* real time of the replay */

    struct nm_sim_bucket buckets[NM_SIM_BUCKETS];
    unsigned n_buckets;
};

/* Is called, if given, at the end of the replay for every job with its outcome. */
typedef void (*nm_sim_job_cb_t)(const struct nm_sim_container *c, uint64_t begin_usec,
                                void *userdata);

/* Replays the workload under the configuration. `ret` is too large for a thread's stack. Returns the errors of
 * nm_sim_node_new(). */
int nm_sim_run(const struct nm_workload *load, const struct nm_config *config, const char *name,
               nm_sim_job_cb_t cb, void *userdata, struct nm_sim_result *ret, char **ret_message);

/* Returns the CPU-seconds of work that wasn't lost. */
double nm_sim_useful_work(const struct nm_sim_result *r);
/* Returns the opportunistic work that wasn't lost, as a share of the oracle's work; 0 if the oracle has no such
 * work. */
double nm_sim_oracle_share(const struct nm_sim_result *r);
/* Returns the share of the opportunistic containers' CPU time that was lost by kills; 0 if they used no CPU time. */
double nm_sim_lost_share(const struct nm_sim_result *r);

/* ---- oracle.c -------------------------------------------------------------------------------- */

/* Computes how much opportunistic work could have been done with knowledge of the future, in CPU-seconds. `refused`:
 * for each job, whether the replay refused it. Guaranteed jobs that were refused don't run here either. Returns 0 or
 * -ENOMEM. */
int nm_oracle_cpu_sec(const struct nm_workload *load, const struct nm_policy_settings *s,
                      const bool *refused, uint64_t step_usec, double *ret);
