/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the policy's own files share: its memory between rounds, the workspace, and the state of one
 * round. Nothing outside agent/policy/ includes this.
 *
 * A round runs through its stages in this order, each of which sees what those before it decided:
 *
 *   survey (policy.c)        sums over all views, the system's share, what is pending
 *   deadlines                pauses that have lasted too long
 *   guaranteed, first half   those that fit are admitted; the others claim their room
 *   memory, then CPU         taken back on thresholds, and for the claims
 *   guaranteed, second half  those for whom nothing more can be had start at once
 *   resume, queue, shedding
 *
 * Amounts of both resources are arrays indexed by enum nm_resource here, so that every rule is
 * written once.
 */

#include <assert.h>

#include "agent/policy/ordering.h"
#include "agent/policy/policy.h"

/* A victim that is not gone after this long is stuck (an uninterruptible process, say): what it
 * holds is no longer reckoned to come back, and nobody waits for it. Real kills and freezes take
 * milliseconds. */
#define NM_STUCK_USEC (10 * NM_USEC_PER_SEC)

/* A victim must bring back at least this much of what is short, else it would be hurt for
 * nothing. */
#define NM_LEAST_MEMORY_BYTES (1 * NM_MIB)
#define NM_LEAST_CPU_MILLICORES UINT64_C(10)

/* The first sample after a resume covers an interval in which the container was still frozen for a
 * part. */
#define NM_RESUME_SAMPLES 2

#define NM_BREAKER_MAX_FACTOR 8

/* The first sample after a victim is gone still shows what it used during a part of the
 * interval. */
#define NM_LEAST_SETTLE_SAMPLES 2U

enum nm_taken { NM_TAKEN_NOT, NM_TAKEN_PAUSE, NM_TAKEN_RECLAIM, NM_TAKEN_KILL, NM_TAKEN_RESUME };

struct nm_policy {
    /* memory between rounds */
    struct nm_policy_memory memory;
    bool system_known[NM_RESOURCE_COUNT];
    uint64_t system[NM_RESOURCE_COUNT]; /* in use at node level, beyond reserve and containers */
    uint64_t system_at_usec;            /* the sample that said so */
    uint64_t judged_at_usec;            /* the newest sample that was held against the thresholds */
    uint32_t cpu_over;                  /* consecutive samples with CPU over beta */
    uint32_t quiet[NM_RESOURCE_COUNT]; /* samples since the newest victims were gone */
    uint64_t taken_usec[NM_RESOURCE_COUNT];
    uint64_t squeeze_millicores;

    /* workspace, grown by nm_policy_reserve() */
    size_t views_max, apps_max;
    struct nm_resources *estimates; /* by index into input.views, like `taken` */
    uint8_t *taken;                 /* enum nm_taken */
    uint64_t *credits;              /* what a victim would bring of what is short */
    struct nm_sort_entry *queue, *guaranteed, *paused, *victims, *scratch;
    struct nm_policy_action *actions;
    struct nm_policy_candidate *candidates;
    uint64_t *app_held;                       /* by application, one more for "none" */
    uint32_t *app_head, *app_heap, *app_next; /* app_next by index into `victims` */
};

struct nm_round {
    struct nm_policy *p;
    const struct nm_policy_settings *s;
    const struct nm_policy_input *in;
    struct nm_policy_verdict *v;
    bool fresh;     /* there is a sample, and it is not stale */
    bool cpu_known; /* and it has a CPU figure */
    bool judging;   /* a fresh sample that no round has judged yet: none counts twice */
    uint64_t capacity[NM_RESOURCE_COUNT], alpha[NM_RESOURCE_COUNT], beta[NM_RESOURCE_COUNT];
    uint64_t used[NM_RESOURCE_COUNT];    /* U; grows with admissions and resumes */
    uint64_t claimed[NM_RESOURCE_COUNT]; /* by guaranteed containers that wait for room */
    uint64_t in_use[NM_RESOURCE_COUNT];
    uint64_t
        pending_measured[NM_RESOURCE_COUNT]; /* will come back from victims, by what was measured */
    uint64_t pending_estimate[NM_RESOURCE_COUNT]; /* the same, as U counts it */
    uint32_t n_pending[NM_RESOURCE_COUNT];
    uint64_t allocated[2][NM_RESOURCE_COUNT]; /* by execution type */
    uint64_t opportunistic_cpu;               /* measured, of those that run */
    size_t n_queue, n_guaranteed, n_paused, n_opportunistic_active;
    size_t n_guaranteed_waiting; /* the last ones of `guaranteed` */
    size_t n_actions, n_candidates;
    bool load_kill; /* a kill that the node's load caused: counts for the breaker */
};

/* What is short, and how it may be had. */
struct nm_need {
    enum nm_resource resource;
    uint64_t amount;
    bool kill;        /* else freeze */
    bool by_estimate; /* credit victims as U counts them, not as measured */
    uint32_t max_victims;
    enum nm_reason reason;
    uint32_t consecutive_samples;
};

static inline uint64_t nm_add_u64(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t nm_fraction_of(uint64_t capacity, double fraction)
{
    return (uint64_t)((double)capacity * fraction);
}

static inline bool nm_view_queued(const struct nm_view *v)
{
    return v->state == NM_SCHEDULED && !v->admitted;
}

/* Holds resources, or is about to. */
static inline bool nm_view_placed(const struct nm_view *v)
{
    return v->state >= NM_SCHEDULED && v->state <= NM_KILLING && !nm_view_queued(v);
}

/* What a paused container will use again: see "Resume" in policy.h. */
static inline uint64_t nm_view_resume_cpu(const struct nm_policy_settings *s,
                                          const struct nm_view *v)
{
    return s->over_allocation ? v->last_cpu_millicores : v->request.cpu_millicores;
}

static inline bool nm_round_settling(const struct nm_round *r, enum nm_resource which)
{
    return r->p->quiet[which] < NM_MAX(r->s->settle_samples, NM_LEAST_SETTLE_SAMPLES);
}

/* With over-allocation off there is nothing that a sample could still show. */
static inline bool nm_round_any_settling(const struct nm_round *r)
{
    return r->s->over_allocation &&
           (nm_round_settling(r, NM_MEMORY) || nm_round_settling(r, NM_CPU));
}

/* policy.c */
struct nm_policy_action *nm_policy_add_action(struct nm_round *r, enum nm_action_type type,
                                              enum nm_reason reason, uint32_t index);
void nm_policy_record_kill(struct nm_round *r, bool load);

/* policy-preempt.c */
void nm_policy_preempt_tick(struct nm_round *r);
void nm_policy_preempt_deadlines(struct nm_round *r);
void nm_policy_preempt_memory(struct nm_round *r);
void nm_policy_preempt_cpu(struct nm_round *r);
void nm_policy_preempt_breaker(struct nm_round *r, uint64_t last_kill_usec);
uint64_t nm_policy_preempt_last_kill(const struct nm_policy_memory *m);

/* policy-squeeze.c */
void nm_policy_squeeze(struct nm_round *r);

/* policy-admit.c */
void nm_policy_admit_guaranteed(struct nm_round *r);
void nm_policy_admit_remaining_guaranteed(struct nm_round *r);
void nm_policy_admit_resume(struct nm_round *r);
void nm_policy_admit_queue(struct nm_round *r);
void nm_policy_admit_shed(struct nm_round *r);

/* victims.c: puts the candidates for a need in order and marks the chosen ones in the verdict's
 * candidates, which begin at *ret_first; p->victims are the same ones in the same order. Returns
 * how many. */
size_t nm_victims_choose(struct nm_round *r, const struct nm_need *need, size_t *ret_first);
