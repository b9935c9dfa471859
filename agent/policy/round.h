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
 * The files are layers, and none uses one above it (tests/style has their order): policy-types.h, ordering, round and
 * estimate; victims, policy-fit; then the stages, of which policy-take.c carries out what others choose; policy.c is
 * above all of them.
 *
 * Amounts of both resources are arrays indexed by enum nm_resource here, so that every rule is
 * written once.
 */

#include <assert.h>

#include "agent/policy/ordering.h"
#include "agent/policy/policy-types.h"

/* A victim that is not gone after this long, nor has let go of anything meanwhile, is stuck (an
 * uninterruptible process, say): what it holds is no longer reckoned to come back, and nobody waits
 * for it. Real kills and freezes take milliseconds, but a hundred GiB a minute. */
#define NM_STUCK_USEC (10 * NM_USEC_PER_SEC)

/* Whoever hangs in the kernel for ten seconds seldom comes back within the next ten, and each try
 * costs its siblings as long. */
#define NM_FREEZE_AGAIN_USEC (300 * NM_USEC_PER_SEC)

/* The first sample after the host has slept may still show the sleep. */
#define NM_WAKE_SAMPLES 2U

/* A timer may be late by this part of a period. */
#define NM_JITTER_SHARE 8

/* A victim must bring back at least this much of what is short, else it would be hurt for
 * nothing. */
#define NM_LEAST_MEMORY_BYTES (1 * NM_MIB)
#define NM_LEAST_CPU_MILLICORES UINT64_C(10)

/* The first sample after a resume covers an interval in which the container was still frozen for a
 * part. */
#define NM_RESUME_SAMPLES 2

#define NM_BREAKER_MAX_FACTOR 2

/* A sample that was taken this long after the newest victim was gone shows the node without it. */
#define NM_GONE_USEC (50 * NM_USEC_PER_MSEC)

/* The first sample after a victim is gone still shows what it used during a part of the
 * interval. */
#define NM_LEAST_SETTLE_SAMPLES 2U

/* Of the CPU that an opportunistic container asks for, so much must be free where it may share the rest with others
 * of its kind: one part in so many. Jobs use three quarters of what they ask for, most of them; by nmsim, a half
 * slows them by 3 % and fills what a whole one leaves idle (4 to 5 % of the CPUs), and nothing at all slows by 14 %. */
#define NM_CPU_FREE_PART 2

/* What a wait in the queue is, at most, in give_back_usec: since something opportunistic started last, while one runs;
 * and in all. */
#define NM_GIVE_BACK_BUSY 10U
#define NM_GIVE_BACK_MOST 20U

/* Opportunistic containers that are started before nmd looks at the node again, and how long that may wait. A start
 * takes nmd a few milliseconds in which it does nothing else, and memory is glanced at every 20 ms: a queue of a
 * thousand tiny ones, all at once, would make it blind and deaf for seconds. */
#define NM_STARTS_AT_ONCE 16U
#define NM_STARTS_PAUSE_USEC (20 * NM_USEC_PER_MSEC)

/* A running container whose memory was reclaimed is left alone for so long: policy-reclaim.c. */
#define NM_RECLAIM_AGAIN_USEC (60 * NM_USEC_PER_SEC)

enum nm_taken { NM_TAKEN_NOT, NM_TAKEN_PAUSE, NM_TAKEN_RECLAIM, NM_TAKEN_KILL, NM_TAKEN_RESUME };

/* What the guard against stalls remembers (policy-stall.c). */
struct nm_stall_guard {
    uint64_t quota_millicores; /* NM_NO_SQUEEZE: none */
    uint64_t ceiling_millicores; /* below this it may be loosened boldly */
    uint32_t over;             /* samples in a row with a stall */
    uint32_t blind;            /* samples in a row that say nothing of anybody's */
    uint32_t calm;             /* samples in a row without, while there is a quota */
    uint32_t patience;         /* how many of those it takes to loosen it */
    bool loosened;             /* and it was */
    uint64_t not_before_usec, backoff_usec; /* after one that was in vain */
    uint64_t seq;              /* of the container that began it */
    uint32_t stall_permille, base_permille;
};

/* What opportunistic work has cost lately (policy-margin.c). */
struct nm_margin {
    double work_usec, lost_usec; /* CPU time; what is long ago counts less */
    uint64_t counted_usec, surprised_usec;
};

/* The first in the queue that could start some day, and what those that have passed it cost it. */
struct nm_policy_head {
    uint64_t seq; /* 0: none */
    bool due;     /* only they keep it out */
    uint64_t at_usec, delay_usec; /* as of; for so long, in all */
};

struct nm_policy {
    /* memory between rounds */
    struct nm_policy_memory memory;
    bool system_known[NM_RESOURCE_COUNT];
    uint64_t system[NM_RESOURCE_COUNT]; /* in use at node level, beyond reserve and containers */
    uint64_t system_at_usec;            /* the sample that said so */
    uint64_t judged_at_usec;            /* the newest sample that was held against the thresholds */
    uint32_t cpu_over;                  /* consecutive samples with CPU over beta */
    uint64_t cpu_over_usec;             /* the first of them */
    uint32_t quiet[NM_RESOURCE_COUNT]; /* samples since the newest victims were gone */
    uint64_t taken_usec[NM_RESOURCE_COUNT];
    uint64_t gone_usec; /* when the newest victims for memory were gone; UINT64_MAX: not yet */
    uint64_t squeeze_millicores; /* by the thresholds */
    struct nm_stall_guard guard;
    struct nm_margin margin;
    struct nm_policy_head head;
    uint64_t moved_usec;  /* the latest of: an opportunistic container was admitted or resumed, the last running one
                             ended, this policy began */
    bool was_active;      /* an opportunistic container ran in the round before */
    uint64_t starts_usec; /* since then ... */
    uint32_t n_starts;    /* ... so many opportunistic ones were admitted */
    uint64_t suspended_usec; /* in the round before; UINT64_MAX: there was none */
    uint32_t awake_samples;  /* with all figures, since the host woke */

    uint64_t grown_from, grown_at_usec, growth_per_sec; /* memory in use, and what it grows by */
    uint64_t reclaim_until_usec; /* memory of running containers is being reclaimed; 0: it isn't */

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
    uint64_t measured[NM_RESOURCE_COUNT]; /* the part of U that was */
    uint64_t
        pending_measured[NM_RESOURCE_COUNT]; /* will come back from victims, by what was measured */
    uint64_t pending_estimate[NM_RESOURCE_COUNT]; /* the same, as U counts it */
    uint32_t n_pending[NM_RESOURCE_COUNT];
    uint32_t n_reclaiming;
    uint64_t allocated[2][NM_RESOURCE_COUNT]; /* by execution type */
    uint64_t promised[NM_RESOURCE_COUNT];     /* to guaranteed ones, of what they are allocated */
    uint64_t guaranteed_measured, guaranteed_estimate; /* memory */
    uint64_t opportunistic_unused;            /* memory that was asked for, beyond the estimate */
    bool shares_cpu; /* an opportunistic one may start on a part of the CPU that it asks for */
    uint64_t margin;                          /* memory that is kept free for a surge */
    uint64_t lost_usec;                       /* CPU time of those that this round kills */
    bool surprised;                           /* some of them because memory was over beta */
    uint64_t opportunistic_cpu;               /* measured, of those that run */
    uint64_t squeeze_millicores;              /* the tighter of both quotas */
    size_t n_queue, n_guaranteed, n_paused, n_pausing, n_opportunistic_active;
    size_t n_guaranteed_waiting; /* the last ones of `guaranteed` */
    size_t n_actions, n_candidates;
    bool load_kill; /* a kill that the node's load caused: counts for the breaker */
};

/* What is short, and how it may be had. */
struct nm_need {
    enum nm_resource resource;
    uint64_t amount;
    bool kill;        /* else freeze */
    bool reclaim;     /* neither: to swap, while it runs */
    bool by_estimate; /* credit victims as U counts them, not as measured */
    uint32_t max_victims;
    enum nm_reason reason;
    uint32_t consecutive_samples;
    const struct nm_policy_container *head; /* only from those that have passed it */
};

static inline uint64_t nm_mul_u64(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline uint64_t nm_fraction_of(uint64_t capacity, double fraction)
{
    return (uint64_t)((double)capacity * fraction);
}

static inline bool nm_policy_container_queued(const struct nm_policy_container *v)
{
    return v->state == NM_SCHEDULED && !v->admitted;
}

/* Holds resources, or is about to. */
static inline bool nm_policy_container_placed(const struct nm_policy_container *v)
{
    return v->state >= NM_SCHEDULED && v->state <= NM_KILLING && !nm_policy_container_queued(v);
}

/* Of a guaranteed one, or one that would be: must so much of it be free, or is it a share of what there is? */
static inline bool nm_policy_container_reserves(const struct nm_policy_container *v, enum nm_resource which)
{
    return which != NM_CPU || !v->cpu_is_share;
}

/* What it is promised, then. */
static inline uint64_t nm_policy_container_promise(const struct nm_policy_container *v, enum nm_resource which)
{
    return nm_policy_container_reserves(v, which) ? nm_resources_get(&v->request, which) : 0;
}

/* What a paused container will use again: see "Resume" in policy.h. */
static inline uint64_t nm_policy_container_resume_cpu(const struct nm_policy_settings *s,
                                                      const struct nm_policy_container *v)
{
    return s->over_allocation ? v->last_cpu_millicores : v->request.cpu_millicores;
}

/* And what of its memory comes back from swap then: no more than its limit lets in. */
static inline uint64_t nm_policy_container_returning(const struct nm_policy_settings *s,
                                                     const struct nm_policy_container *v)
{
    uint64_t most = nm_sub_u64(v->request.memory_bytes, v->measured.memory_bytes);

    return s->memory_limits ? NM_MIN(v->swapped_bytes, most) : v->swapped_bytes;
}

/* Nothing has come of a kill or a freeze for far too long. */
static inline bool nm_policy_container_stuck(const struct nm_policy_container *v, uint64_t now_usec)
{
    uint64_t since = NM_MAX(v->state_usec, v->state == NM_KILLING ? v->shrunk_usec : 0);

    return since > 0 && nm_sub_u64(now_usec, since) >= NM_STUCK_USEC;
}

static inline bool nm_round_settling(const struct nm_round *r, enum nm_resource which)
{
    return r->p->quiet[which] < NM_MAX(r->s->settle_samples, NM_LEAST_SETTLE_SAMPLES);
}

/* More than all CPUs are never in use. */
static inline bool nm_round_takes_cpu(const struct nm_round *r)
{
    return r->beta[NM_CPU] < nm_add_u64(r->capacity[NM_CPU], r->s->reserve.cpu_millicores);
}

static inline bool nm_round_cpu_over(const struct nm_round *r)
{
    return r->in_use[NM_CPU] > r->beta[NM_CPU] && nm_round_takes_cpu(r);
}

/* With over-allocation off there is nothing that a sample could still show. */
static inline bool nm_round_any_settling(const struct nm_round *r)
{
    return r->s->over_allocation &&
           (nm_round_settling(r, NM_MEMORY) || nm_round_settling(r, NM_CPU));
}

/* round.c */
struct nm_policy_action *nm_policy_add_action(struct nm_round *r, enum nm_action_type type,
                                              enum nm_reason reason, uint32_t index);
void nm_policy_record_kill(struct nm_round *r, bool load);
uint64_t nm_policy_squeeze_floor(const struct nm_round *r); /* of all together */
bool nm_policy_has_passed(const struct nm_round *r, const struct nm_policy_container *v,
                          const struct nm_policy_container *head);

/* policy-preempt.c */
void nm_policy_preempt_tick(struct nm_round *r);
void nm_policy_preempt_deadlines(struct nm_round *r);
void nm_policy_preempt_memory(struct nm_round *r);
void nm_policy_preempt_cpu(struct nm_round *r);
void nm_policy_preempt_breaker(struct nm_round *r);

/* policy-margin.c: before and after anything is taken back. */
void nm_policy_margin(struct nm_round *r);
void nm_policy_margin_surprise(struct nm_round *r);

/* policy-reclaim.c */
void nm_policy_reclaim_tick(struct nm_round *r); /* how fast does use grow? */
/* Returns what should come back. */
uint64_t nm_policy_reclaim_frozen(struct nm_round *r);
/* Are those that run asked to give back so much and some more? */
bool nm_policy_reclaim_running(struct nm_round *r, uint64_t over_bytes);
/* That was tried, and what is over now must be had in another way. Tells it once. */
bool nm_policy_reclaim_is_over(struct nm_round *r);

/* policy-take.c: a resource begins to settle; a victim's part is reckoned to come back. */
void nm_policy_settle(struct nm_round *r, enum nm_resource which);
void nm_policy_add_pending(struct nm_round *r, uint32_t i, bool kill);
/* Returns how much will come back. */
uint64_t nm_policy_take_back(struct nm_round *r, const struct nm_need *need);

/* policy-pass.c. nm_policy_hold_head(): the first that waits; may others pass it? nm_policy_may_pass(): this one? */
bool nm_policy_never_fits(const struct nm_round *r, const struct nm_policy_container *v,
                          enum nm_resource *ret_resource);
bool nm_policy_hold_head(struct nm_round *r, const struct nm_policy_container *head,
                         const struct nm_resources *set_aside);
bool nm_policy_may_pass(const struct nm_round *r, const struct nm_policy_container *v,
                        const struct nm_policy_container *head,
                        const struct nm_resources *set_aside);

/* policy-squeeze.c */
void nm_policy_squeeze(struct nm_round *r);

/* policy-stall.c: returns the quota that it takes, or NM_NO_SQUEEZE */
uint64_t nm_policy_stall(struct nm_round *r);

/* policy-admit.c */
void nm_policy_admit_guaranteed(struct nm_round *r);
void nm_policy_admit_remaining_guaranteed(struct nm_round *r);
void nm_policy_admit_resume(struct nm_round *r);
void nm_policy_admit_queue(struct nm_round *r);
void nm_policy_admit_shed(struct nm_round *r);
/* When the first of those that wait is given back; UINT64_MAX: never. */
uint64_t nm_policy_next_give_back(const struct nm_round *r);

/* victims.c: puts the candidates for a need in order and marks the chosen ones in the verdict's
 * candidates, which begin at *ret_first; p->victims are the same ones in the same order. Returns
 * how many. */
size_t nm_victims_choose(struct nm_round *r, const struct nm_need *need, size_t *ret_first);

/* policy-fit.c. By either rule, beside what is set aside for the paused (or NULL). */
bool nm_policy_fits(const struct nm_round *r, const struct nm_policy_container *v,
                    const struct nm_resources *set_aside);
bool nm_policy_fits_plain(const struct nm_round *r, const struct nm_policy_container *v,
                          const struct nm_resources *set_aside);
bool nm_policy_fits_beside_surge(const struct nm_round *r, const struct nm_policy_container *v);
/* Why it doesn't by one of them, and on what; NM_REASON_NONE: it does. */
enum nm_reason nm_policy_over_allocation_hold(const struct nm_round *r, const struct nm_policy_container *v,
                                              const struct nm_resources *set_aside, enum nm_resource *ret_resource);
enum nm_reason nm_policy_plain_hold(const struct nm_round *r, const struct nm_policy_container *v,
                                    enum nm_resource *ret_resource);
enum nm_resource nm_policy_tightest(const struct nm_round *r, const struct nm_policy_container *v);
