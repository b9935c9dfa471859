/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The simulated node's state, and its containers' use of resources. This is the lower layer of sim-node.h, without
 * triggers, rounds and decisions.
 */

#include "sim/workload.h"

/* How a job ended in the simulation. */
enum nm_sim_end {
    NM_SIM_LIVE,
    NM_SIM_REFUSED,
    NM_SIM_DONE,
    NM_SIM_PREEMPTED, /* the policy killed the job */
    NM_SIM_OOM,       /* the kernel killed the job: the slice or the node was out of memory */
    NM_SIM_LIMIT,     /* the kernel killed the job at its own limit, which is the job's request */
    NM_SIM_END_COUNT,
};

struct nm_sim_container {
    struct nm_policy_container view;
    const struct nm_sim_job *job;
    size_t slot;            /* index in the arrays of struct nm_sim_node */
    size_t cursor;          /* index in the curve */
    uint64_t progress_usec, settled_usec; /* progress as of settled_usec */
    uint64_t cpu_work;      /* usec * millicores, as of settled_usec */
    uint64_t sampled_work, sampled_usec;
    uint64_t memory_bytes, swapped_bytes; /* memory in use; memory in swap */
    uint64_t cold_bytes; /* part of swapped_bytes that the container no longer needs */
    uint32_t wanted, got;   /* current CPU in millicores */
    uint64_t running_usec;  /* time when the container's command began; 0: the command hasn't begun */
    uint64_t paused_total_usec;
    uint64_t swapping_in_usec; /* time spent waiting for swap */
    enum nm_sim_end end;
    enum nm_reason killed_for;
    bool at_limit;          /* the container wanted more memory than its limit */
    uint64_t ended_usec;
};

/* The CPU that a running container may get in a division. */
struct nm_cpu_claim {
    struct nm_sim_container *container;
    double weight;
    double most; /* millicores that the container wants, limited by its quota */
};

struct nm_sim_node {
    const struct nm_workload *load;
    struct nm_policy_settings settings;
    uint64_t period_usec, step_usec;
    bool growth_probe;
    struct nm_policy *policy;

    uint64_t begin_usec, now_usec, end_usec; /* simulated clock; begin_usec is time 0 of the workload */
    uint64_t next_sample_usec, wake_usec;
    size_t next_job, next_change, next_system;

    struct nm_sim_container *all; /* one container per job, in the jobs' order */
    struct nm_policy_container **views;       /* live containers, by arrival */
    uint64_t *change_usec;        /* for each view: time of its next event */
    struct nm_cpu_claim *claims;  /* workspace of a division, with as many elements as views */
    uint64_t first_change_usec;   /* lower bound of the times in change_usec */
    size_t n_live, live_size;
    struct nm_policy_app *apps;

    struct nm_use system; /* use of the system now */
    uint64_t memory_bytes, swapped_bytes; /* memory of all containers: in use; in swap */
    uint64_t wanted[2];                   /* millicores that all containers want, by type */
    bool contended, stale_shares, changed;
    uint64_t squeeze_millicores;
    uint64_t got_millicores; /* CPU that all containers get */
    double interference;     /* slowdown of guaranteed containers if opportunistic containers use the rest of the
                                node */
    double speed;            /* current speed of guaranteed containers */
    bool memory_grew;
    uint32_t kernel_kills; /* number of kills by the kernel since the last round */
    uint64_t in_use_bytes, opportunistic_bytes; /* memory according to the last verdict */

    struct nm_policy_node node; /* the newest sample */
    struct nm_policy_input input;
    uint64_t guaranteed_oom;
    uint64_t ignored_changes;
};

static inline struct nm_sim_container *nm_sim_container_of(const struct nm_policy_container *v)
{
    return v->owner;
}

/* Rounds a time up to the end of its step. */
uint64_t nm_sim_node_on_grid(const struct nm_sim_node *w, uint64_t at_usec);

/* Updates progress and CPU time of live containers to the current time. */
void nm_sim_node_settle(struct nm_sim_node *w);

static inline void nm_sim_node_set_change(struct nm_sim_node *w, const struct nm_sim_container *c,
                                          uint64_t at_usec)
{
    w->change_usec[c->slot] = at_usec;
    if (at_usec < w->first_change_usec)
        w->first_change_usec = at_usec;
}
void nm_sim_node_set_use(struct nm_sim_node *w, struct nm_sim_container *c, uint64_t memory_bytes,
                         uint32_t wanted);
void nm_sim_node_settle_one(struct nm_sim_node *w, struct nm_sim_container *c);
void nm_sim_node_schedule(struct nm_sim_node *w, struct nm_sim_container *c);
void nm_sim_node_share_cpu(struct nm_sim_node *w);
void nm_sim_node_sample(struct nm_sim_node *w);
bool nm_sim_node_needs_sample(const struct nm_sim_node *w);
bool nm_sim_node_over_limit(const struct nm_sim_node *w, uint64_t *ret_excess);
