/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The simulated node's state, and what its containers use: the lower half of world.h, which knows of no
 * trigger, round or decision.
 */

#include "sim/workload.h"

/* How it ended in the simulation. */
enum nm_sim_end {
    NM_SIM_LIVE,
    NM_SIM_REFUSED,
    NM_SIM_DONE,
    NM_SIM_PREEMPTED, /* killed by the policy */
    NM_SIM_OOM,       /* killed by the kernel, for want of memory of the slice or the node */
    NM_SIM_LIMIT,     /* killed by the kernel at its own limit, which is its request */
    NM_SIM_END_COUNT,
};

struct nm_sim_container {
    struct nm_policy_container view;
    const struct nm_job *job;
    size_t slot;            /* in the world's arrays */
    size_t cursor;          /* in the curve */
    uint64_t progress_usec, settled_usec; /* the one as of the other */
    uint64_t cpu_work;      /* usec * millicores, as of settled_usec */
    uint64_t sampled_work, sampled_usec;
    uint64_t memory_bytes, swapped_bytes; /* held; of the curve's, in swap */
    uint64_t cold_bytes; /* of what is in swap, what nobody misses */
    uint32_t wanted, got;   /* millicores, now */
    uint64_t running_usec;  /* when its command began; 0: not yet */
    uint64_t paused_total_usec;
    uint64_t swapping_in_usec; /* time that went by in waiting for what was in swap */
    enum nm_sim_end end;
    enum nm_reason killed_for;
    bool at_limit;          /* it wanted more than its limit */
    uint64_t ended_usec;
};

struct nm_world {
    const struct nm_workload *load;
    struct nm_policy_settings settings;
    uint64_t period_usec, step_usec;
    bool glance;
    struct nm_policy *policy;

    uint64_t begin_usec, now_usec, end_usec; /* clock; begin is time 0 of the workload */
    uint64_t next_sample_usec, wake_usec;
    size_t next_job, next_change, next_system;

    struct nm_sim_container *all; /* one per job, in their order */
    struct nm_policy_container **views;       /* the live ones, by arrival */
    uint64_t *change_usec;        /* beside views: when the next thing happens to it */
    uint64_t first_change_usec;   /* no later than the first of them */
    size_t n_live, live_size;
    struct nm_policy_app *apps;

    struct nm_use system; /* now */
    uint64_t memory_bytes, swapped_bytes; /* of all containers */
    uint64_t wanted[2];                   /* millicores, by type */
    bool contended, stale_shares, changed;
    uint64_t squeeze_millicores;
    uint64_t got_millicores; /* of all containers */
    double interference;     /* how much slower guaranteed ones are beside a node full of others */
    double speed;            /* what is left of theirs now */
    bool memory_grew;
    uint32_t kernel_kills; /* since the newest round */
    uint64_t in_use_bytes, opportunistic_bytes; /* of the newest verdict */

    struct nm_policy_node node; /* the newest sample */
    struct nm_policy_input input;
    uint64_t guaranteed_oom;
    uint64_t ignored_changes;
};

static inline struct nm_sim_container *nm_sim_container_of(const struct nm_policy_container *v)
{
    return v->owner;
}

/* In which step a time of the clock falls, as the end of that. */
uint64_t nm_world_on_grid(const struct nm_world *w, uint64_t at_usec);

/* Brings progress and CPU time of the live ones up to now. */
void nm_world_settle(struct nm_world *w);

static inline void nm_world_set_change(struct nm_world *w, const struct nm_sim_container *c,
                                       uint64_t at_usec)
{
    w->change_usec[c->slot] = at_usec;
    if (at_usec < w->first_change_usec)
        w->first_change_usec = at_usec;
}
void nm_world_set_use(struct nm_world *w, struct nm_sim_container *c, uint64_t memory_bytes,
                      uint32_t wanted);
void nm_world_settle_one(struct nm_world *w, struct nm_sim_container *c);
void nm_world_schedule(struct nm_world *w, struct nm_sim_container *c);
void nm_world_share_cpu(struct nm_world *w);
void nm_world_sample(struct nm_world *w);
bool nm_world_worth_a_sample(const struct nm_world *w);
bool nm_world_over_limit(const struct nm_world *w, uint64_t *ret_excess);
