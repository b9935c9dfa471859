/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Declarations shared by the policy's files: the memory between rounds, the workspace, and the state of one round. No
 * file outside agent/policy/ includes this header.
 *
 * A round runs through these stages in order. Each stage sees the decisions of the earlier stages:
 *
 *   survey (policy.c)        computes sums over all views, the system's share, pending gains
 *   deadlines                ends pauses that have lasted too long
 *   guaranteed, first half   admits the containers that fit; the other containers claim their room
 *   memory, then CPU         takes resources back on thresholds, and for the claims
 *   guaranteed, second half  starts the containers for which no more can be taken back
 *   resume, queue, shedding
 *
 * The files are layers: tests/style has their order. policy-take.c carries out the choices of the stages.
 *
 * Amounts of both resources are arrays indexed by enum nm_resource here, so that every rule is
 * written once.
 */

#include <assert.h>

#include "agent/policy/ordering.h"
#include "agent/policy/policy-types.h"

/* A victim that has neither ended nor released memory for this long is stuck, for example in an uninterruptible system
 * call. Its memory no longer counts as pending, and the policy no longer waits for it. Normal kills and freezes take
 * milliseconds, but freeing a hundred GiB takes a minute. */
#define NM_STUCK_USEC (10 * NM_USEC_PER_SEC)

/* A process that hangs in the kernel for ten seconds seldom returns within the next ten seconds, and each attempt to
 * freeze stops its siblings for that time. */
#define NM_FREEZE_AGAIN_USEC (300 * NM_USEC_PER_SEC)

/* The first sample after the host has slept may still show the sleep. */
#define NM_WAKE_SAMPLES 2U

/* A timer may be late by a period divided by this number. */
#define NM_JITTER_DIVISOR 8

/* A victim must yield at least this much of the scarce resource; otherwise it would be harmed without benefit. */
#define NM_LEAST_MEMORY_BYTES (1 * NM_MIB)
#define NM_LEAST_CPU_MILLICORES UINT64_C(10)

/* The container was still frozen for a part of the interval of the first sample after a resume. */
#define NM_RESUME_SAMPLES 2

#define NM_BREAKER_MAX_FACTOR 2

/* The share of the opportunistic work that surges may cost before the surge margin holds. */
#define NM_LOST_SHARE 0.07

/* A surge lasts at least while guaranteed containers use their peak share less this tolerance. */
#define NM_SURGE_TOLERANCE 0.06

/* A container may run longer than expected by the expected time divided by this number. */
#define NM_LATE_DIVISOR 3

/* A sample taken at least this long after the end of the newest victim shows the node without the victim's use. */
#define NM_SETTLE_USEC (50 * NM_USEC_PER_MSEC)

/* The interval of the first sample after a victim has ended still includes some of the victim's use. */
#define NM_LEAST_SETTLE_SAMPLES 2U

/* The requested CPU of an opportunistic container, divided by this number, must be free where the container may share
 * the rest with other opportunistic containers. Most jobs use three quarters of their request. In nmsim, requiring a
 * half slows jobs by 3 % and fills CPUs that a full request leaves idle (4 to 5 %). Requiring no free CPU slows jobs by
 * 14 %. */
#define NM_CPU_FREE_PART 2

/* Maximum waits in the queue, in units of give_back_usec: since the last opportunistic start while an opportunistic
 * container runs, and in total. */
#define NM_GIVE_BACK_BUSY 10U
#define NM_GIVE_BACK_MOST 20U

/* Number of opportunistic starts before nmd looks at the node again, and the time until nmd may start more. A start
 * keeps nmd busy for a few milliseconds, while memory must be checked every 20 ms. Starting a queue of a thousand tiny
 * containers without a pause would block these checks for seconds. */
#define NM_STARTS_AT_ONCE 16U
#define NM_STARTS_PAUSE_USEC (20 * NM_USEC_PER_MSEC)

/* Memory that a container takes at most before memory of killed containers is free again. The kernel frees pages
 * several times as fast as a new process can touch them, and a JVM needs a second for this amount. */
#define NM_START_BYTES (128 * NM_MIB)

/* After a reclaim, a running container is not reclaimed again for this time (policy-reclaim.c). */
#define NM_RECLAIM_AGAIN_USEC (60 * NM_USEC_PER_SEC)

enum nm_taken { NM_TAKEN_NOT, NM_TAKEN_PAUSE, NM_TAKEN_RECLAIM, NM_TAKEN_KILL, NM_TAKEN_RESUME };

/* State of the guard against stalls (policy-squeeze.c). */
struct nm_stall_guard {
    uint64_t quota_millicores; /* NM_NO_SQUEEZE: no quota */
    uint64_t ceiling_millicores; /* below this the quota may be doubled */
    uint32_t over;             /* samples in a row with a stall */
    uint32_t blind;            /* samples in a row without a stall figure of any container */
    uint32_t calm;             /* samples in a row without a stall while a quota is set */
    uint32_t patience;         /* calm samples needed to loosen the quota */
    bool loosened;             /* the quota has been loosened */
    /* no new quota is set before this time; delay to add after a quota that did not help */
    uint64_t not_before_usec, backoff_usec;
    uint64_t seq;              /* arrival number of the container whose stall began the quota */
    uint32_t stall_permille, base_permille;
};

/* Recent cost of surges for opportunistic work (policy-margin.c). */
struct nm_margin {
    double work_usec, lost_usec; /* CPU time; older amounts count less */
    uint64_t counted_usec, surprised_usec;
};

#define NM_AGE_CLASSES 6

/* What is known about the later growth of opportunistic containers, for each class of ages (policy-growth.c). */
struct nm_late_growth {
    double unused_bytes[NM_AGE_CLASSES], grown_bytes[NM_AGE_CLASSES]; /* older amounts count less */
    uint64_t learned_usec;
};

/* The surge that lasts or has ended, while the surge margin holds (policy-surges.c). */
struct nm_surges {
    bool is_known, lasts; /* is_known: at least one sample; lasts: the last sample was in a surge */
    uint64_t ended_usec;  /* end of the last surge; 0 if it is not known, or while a surge lasts */
    double lowest_share;
};

/* The first queued container that could start at some time, and the delay caused by containers that passed it. */
struct nm_policy_head {
    uint64_t seq; /* 0: no container */
    bool due;     /* only the passing containers keep the head from starting */
    uint64_t at_usec, delay_usec; /* time of the last update; total delay until then */
};

struct nm_policy {
    /* memory between rounds */
    struct nm_policy_memory memory;
    bool system_known[NM_RESOURCE_COUNT];
    uint64_t system[NM_RESOURCE_COUNT]; /* use at node level beyond the reserve and the containers */
    uint64_t system_at_usec;            /* time of the sample from which `system` was computed */
    uint64_t compared_at_usec;          /* time of the newest sample that was compared with the thresholds */
    uint32_t cpu_over;                  /* consecutive samples with CPU over beta */
    uint64_t cpu_over_usec;             /* time of the first of these samples */
    uint32_t quiet[NM_RESOURCE_COUNT]; /* samples since the newest victims have ended */
    uint64_t taken_usec[NM_RESOURCE_COUNT];
    uint64_t victims_ended_usec; /* end of the newest victims for memory; UINT64_MAX while they have not ended */
    uint64_t squeeze_millicores; /* quota set by the CPU threshold */
    struct nm_stall_guard guard;
    struct nm_margin margin;
    struct nm_late_growth growth;
    struct nm_surges surges;
    struct nm_policy_head head;
    uint64_t moved_usec;  /* the latest of: admission or resume of an opportunistic container, end of the last running
                             opportunistic container, start of this policy */
    bool was_active;      /* an opportunistic container ran in the round before */
    uint64_t starts_usec; /* start of the interval for n_starts */
    uint32_t n_starts;    /* opportunistic admissions in that interval */
    uint64_t suspended_usec; /* time that the host had slept as of the previous round; UINT64_MAX: there was no round */
    uint32_t awake_samples;  /* complete samples since the host woke */

    uint64_t grown_from, grown_at_usec, growth_per_sec; /* memory in use, time at which it was read, and its growth */
    uint64_t reclaim_until_usec; /* end of the reclaim of running containers; 0 if no reclaim is in progress */

    /* workspace, grown by nm_policy_reserve() */
    size_t views_max, apps_max;
    struct nm_resources *estimates; /* indexed like input.views, as is `taken` */
    uint8_t *taken;                 /* enum nm_taken */
    uint64_t *credits;              /* amount of the scarce resource that each victim would yield */
    struct nm_sort_entry *queue, *guaranteed, *paused, *victims, *scratch;
    struct nm_policy_action *actions;
    struct nm_policy_candidate *candidates;
    uint64_t *app_held;                       /* indexed by application, plus one entry for containers without an
                                                 application */
    uint32_t *app_head, *app_heap, *app_next; /* app_next by index into `victims` */
};

struct nm_round {
    struct nm_policy *p;
    const struct nm_policy_settings *s;
    const struct nm_policy_input *in;
    struct nm_policy_verdict *v;
    bool fresh;     /* there is a sample that is not stale */
    bool cpu_known; /* the sample has a CPU figure */
    bool has_new_sample; /* the sample is fresh, and no earlier round has compared it with the thresholds, so that no
                            sample counts twice */
    uint64_t capacity[NM_RESOURCE_COUNT], alpha[NM_RESOURCE_COUNT], beta[NM_RESOURCE_COUNT];
    uint64_t used[NM_RESOURCE_COUNT];    /* U; grows with admissions and resumes */
    uint64_t claimed[NM_RESOURCE_COUNT]; /* claims of guaranteed containers that wait for resources */
    uint64_t in_use[NM_RESOURCE_COUNT];
    uint64_t measured[NM_RESOURCE_COUNT]; /* the measured part of U */
    uint64_t
        pending_measured[NM_RESOURCE_COUNT]; /* amount expected from victims, by measured use */
    uint64_t pending_estimate[NM_RESOURCE_COUNT]; /* amount expected from victims, as U counts it */
    uint32_t n_pending[NM_RESOURCE_COUNT];
    uint32_t n_reclaiming;
    uint32_t n_slow; /* victims whose memory becomes free slowly: by a reclaim, or after a grace period */
    uint64_t allocated[2][NM_RESOURCE_COUNT]; /* indexed by execution type */
    uint64_t promised[NM_RESOURCE_COUNT];     /* the part of allocated[NM_GUARANTEED] that is promised */
    uint64_t guaranteed_measured, guaranteed_estimate; /* memory */
    uint64_t surge_usec;                      /* time before which no surge is expected; 0: not known */
    bool shares_cpu; /* an opportunistic container may start with only a part of its CPU request free */
    uint64_t surge_growth; /* memory by which all containers that will run in the next surge will use more than now */
    uint64_t lent;         /* memory of the containers that are expected to end before the next surge */
    uint64_t margin;       /* memory kept free for a surge: surge_growth - lent, or 0 */
    uint64_t lost_usec;                       /* CPU time of the containers that this round kills */
    bool surprised;                           /* this round kills because memory was over beta */
    uint64_t opportunistic_cpu;               /* measured use of running opportunistic containers */
    uint64_t squeeze_millicores;              /* the tighter of the two quotas */
    size_t n_queue, n_guaranteed, n_paused, n_pausing, n_opportunistic_active;
    size_t n_guaranteed_waiting; /* number of waiting containers, at the end of `guaranteed` */
    size_t n_actions, n_candidates;
    bool load_kill; /* this round has a kill that the node's load caused, so the breaker is set */
};

/* The resource that is short, and how it may be taken back. */
struct nm_need {
    enum nm_resource resource;
    uint64_t amount;
    bool kill;        /* true: kill; false: freeze */
    bool reclaim;     /* the method is neither kill nor freeze: reclaim to swap while the container runs */
    bool by_estimate; /* victims are credited as U counts them, not as measured */
    uint32_t max_victims;
    enum nm_reason reason;
    uint32_t consecutive_samples;
    const struct nm_policy_container *head; /* not NULL: only containers that passed this container are victims */
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

/* Returns whether the container holds resources, or is about to hold them. */
static inline bool nm_policy_container_placed(const struct nm_policy_container *v)
{
    return v->state >= NM_SCHEDULED && v->state <= NM_KILLING && !nm_policy_container_queued(v);
}

/* Returns whether a guaranteed container needs its request of this resource to be free. CPU may be a share by weight
 * instead. For an opportunistic container the answer is about the time after a promotion. */
static inline bool nm_policy_container_reserves(const struct nm_policy_container *v, enum nm_resource which)
{
    return which != NM_CPU || !v->cpu_is_share;
}

/* Returns the amount that the container is promised while it is guaranteed. */
static inline uint64_t nm_policy_container_promise(const struct nm_policy_container *v, enum nm_resource which)
{
    return nm_policy_container_reserves(v, which) ? nm_resources_get(&v->request, which) : 0;
}

/* Returns the CPU that a paused container will use after a resume: see "Resume" in policy.h. */
static inline uint64_t nm_policy_container_resume_cpu(const struct nm_policy_settings *s,
                                                      const struct nm_policy_container *v)
{
    return s->over_allocation ? v->last_cpu_millicores : v->request.cpu_millicores;
}

/* Returns the memory that will return from swap after a resume, at most up to the container's limit. */
static inline uint64_t nm_policy_container_returning(const struct nm_policy_settings *s,
                                                     const struct nm_policy_container *v)
{
    uint64_t most = nm_sub_u64(v->request.memory_bytes, v->measured.memory_bytes);

    return s->memory_limits ? NM_MIN(v->swapped_bytes, most) : v->swapped_bytes;
}

/* Returns whether a kill or freeze has made no progress for NM_STUCK_USEC. */
static inline bool nm_policy_container_stuck(const struct nm_policy_container *v, uint64_t now_usec)
{
    uint64_t since = NM_MAX(v->state_usec, v->state == NM_KILLING ? v->shrunk_usec : 0);

    return since > 0 && nm_sub_u64(now_usec, since) >= NM_STUCK_USEC;
}

static inline bool nm_round_settling(const struct nm_round *r, enum nm_resource which)
{
    return r->p->quiet[which] < NM_MAX(r->s->settle_samples, NM_LEAST_SETTLE_SAMPLES);
}

/* Returns whether the CPU threshold applies. CPU use can't exceed all CPUs, so a threshold at or above them has no
 * effect. */
static inline bool nm_round_takes_cpu(const struct nm_round *r)
{
    return r->beta[NM_CPU] < nm_add_u64(r->capacity[NM_CPU], r->s->reserve.cpu_millicores);
}

static inline bool nm_round_cpu_over(const struct nm_round *r)
{
    return r->in_use[NM_CPU] > r->beta[NM_CPU] && nm_round_takes_cpu(r);
}

/* Returns whether any resource settles now. With over-allocation off, samples are not used, so no resource settles. */
static inline bool nm_round_any_settling(const struct nm_round *r)
{
    return r->s->over_allocation &&
           (nm_round_settling(r, NM_MEMORY) || nm_round_settling(r, NM_CPU));
}

/* Adds an action to the round's verdict. */
static inline struct nm_policy_action *nm_policy_add_action(struct nm_round *r, enum nm_action_type type,
                                                            enum nm_reason reason, uint32_t index)
{
    struct nm_policy_action *a = &r->p->actions[r->n_actions++];

    assert(r->n_actions <= r->in->n_views); /* at most one action per container */
    *a = (struct nm_policy_action){
        .type = type,
        .reason = reason,
        .target = r->in->views[index],
        .used = {r->used[NM_MEMORY], r->used[NM_CPU]},
    };
    return a;
}

/* policy-preempt.c */
void nm_policy_preempt_tick(struct nm_round *r);
void nm_policy_preempt_deadlines(struct nm_round *r);
void nm_policy_preempt_memory(struct nm_round *r);
void nm_policy_preempt_cpu(struct nm_round *r);
void nm_policy_update_breaker(struct nm_round *r);

/* Returns the part of an amount that still counts after this time. The weight of older figures about surges and their
 * costs halves in two hours. Approximates an exponential decay, since a sampling interval is far shorter. */
static inline double nm_policy_remaining(uint64_t elapsed_usec)
{
    const double half_life_usec = 7200.0 * NM_USEC_PER_SEC;

    return (double)elapsed_usec < half_life_usec ? 1 - (double)elapsed_usec / (half_life_usec * 1.4427) : 0;
}

/* Returns the time at which a container that starts now, or has started, has certainly ended if it is not late; or
 * UINT64_MAX if its run time is not known. People underestimate run times more often than they overestimate them. */
static inline uint64_t nm_policy_end_usec(const struct nm_policy_container *v, uint64_t now_usec)
{
    uint64_t begin = nm_policy_container_queued(v) ? now_usec : v->started_usec;

    return v->expected_usec == 0 ? UINT64_MAX
                                 : nm_add_u64(begin, nm_add_u64(v->expected_usec, v->expected_usec / NM_LATE_DIVISOR));
}

/* Returns whether the container is expected to end before the next surge. A container that is late may run for any
 * time, a paused container does not come closer to its end, and application masters are never victims. */
static inline bool nm_policy_ends_before_surge(const struct nm_round *r, const struct nm_policy_container *v)
{
    uint64_t end = nm_policy_end_usec(v, r->in->now_usec);

    return r->surge_usec > 0 && !v->exempt && v->state != NM_PAUSING && v->state != NM_PAUSED &&
           end > r->in->now_usec && end <= r->surge_usec;
}

/* policy-growth.c: learns from a sample; returns the memory that a running container will use beyond its estimate */
void nm_policy_growth_learn(struct nm_round *r);
uint64_t nm_policy_growth_expected(const struct nm_round *r, uint32_t i);

/* policy-surges.c: notes whether a surge lasts, by the share of the guaranteed promises in use; forgets that because
 * the margin has ended; returns the time before which no surge is expected, or 0; returns how long no surge is expected
 * after the end of a surge, or 0 */
void nm_policy_surges_follow(struct nm_round *r, double share);
void nm_policy_surges_forget(struct nm_round *r);
uint64_t nm_policy_surges_next(const struct nm_policy *p, uint64_t now_usec);
uint64_t nm_policy_surges_calm(const struct nm_policy *p);

/* policy-margin.c: called before and after resources are taken back */
void nm_policy_margin(struct nm_round *r);
void nm_policy_margin_surprise(struct nm_round *r);

/* policy-reclaim.c */
void nm_policy_reclaim_tick(struct nm_round *r); /* updates the growth rate of memory use */
/* Reclaims memory of paused containers. Returns the expected gain. */
uint64_t nm_policy_reclaim_frozen(struct nm_round *r);
/* Reclaims over_bytes and a margin from the memory of running containers. Returns false if a reclaim is not
 * worthwhile. */
bool nm_policy_reclaim_running(struct nm_round *r, uint64_t over_bytes);
/* Returns true, once, when a reclaim of running containers is over, so that the remaining excess must be taken back in
 * another way. */
bool nm_policy_reclaim_is_over(struct nm_round *r);

/* policy-take.c: starts settling of a resource, and counts a victim's expected gain */
void nm_policy_settle(struct nm_round *r, enum nm_resource which);
void nm_policy_add_pending(struct nm_round *r, uint32_t i, bool kill);
/* Records a kill in place of the oldest recorded kill. load: the node's load caused the kill, rather than a person or a
 * guaranteed container. */
void nm_policy_record_kill(struct nm_round *r, bool load);
/* Takes back the resources that the need asks for. Returns the expected gain. */
uint64_t nm_policy_take_back(struct nm_round *r, const struct nm_need *need);

/* policy-pass.c: nm_policy_head_may_be_passed() returns whether others may pass the head of the queue,
 * nm_policy_may_pass() whether one container may pass it */
bool nm_policy_never_fits(const struct nm_round *r, const struct nm_policy_container *v,
                          enum nm_resource *ret_resource);
bool nm_policy_head_may_be_passed(struct nm_round *r, const struct nm_policy_container *head,
                                  const struct nm_resources *set_aside);
bool nm_policy_may_pass(const struct nm_round *r, const struct nm_policy_container *v,
                        const struct nm_policy_container *head,
                        const struct nm_resources *set_aside);

/* policy-squeeze.c */
void nm_policy_squeeze(struct nm_round *r);

/* policy-admit.c */
void nm_policy_admit_guaranteed(struct nm_round *r);
void nm_policy_admit_remaining_guaranteed(struct nm_round *r);
void nm_policy_admit_resume(struct nm_round *r);
void nm_policy_admit_queue(struct nm_round *r);
void nm_policy_admit_shed(struct nm_round *r);
/* Returns when the next queued container is given back; UINT64_MAX: never. */
uint64_t nm_policy_next_give_back(const struct nm_round *r);

/* victims.c: nm_policy_has_passed() returns whether v was admitted ahead of the head of the queue */
bool nm_policy_has_passed(const struct nm_round *r, const struct nm_policy_container *v,
                          const struct nm_policy_container *head);
/* Sorts the candidates for a need and marks the chosen ones in the verdict's candidates, which begin at *ret_first.
 * p->victims has the same containers in the same order. Returns the number of candidates. */
size_t nm_victims_choose(struct nm_round *r, const struct nm_need *need, size_t *ret_first);

/* policy-fit.c: returns whether v fits by any rule, or by the plain rule only, beside the resources set aside for
 * paused containers (or NULL) */
bool nm_policy_fits(const struct nm_round *r, const struct nm_policy_container *v,
                    const struct nm_resources *set_aside);
bool nm_policy_fits_plain(const struct nm_round *r, const struct nm_policy_container *v,
                          const struct nm_resources *set_aside);
/* Returns the first resource in which v, which does not fit by the plain rule, breaks it. */
enum nm_resource nm_policy_plain_obstacle(const struct nm_round *r, const struct nm_policy_container *v);
bool nm_policy_fits_beside_surge(const struct nm_round *r, const struct nm_policy_container *v);
/* Returns the largest memory request with which a container with a negligible CPU request would fit. */
uint64_t nm_policy_room(const struct nm_round *r, const struct nm_resources *set_aside);
/* Return why v does not fit by the rule that the function's name contains, and the resource concerned.
 * nm_policy_over_allocation_reason() returns NM_REASON_NONE if v fits; nm_policy_plain_reason() is only for a v that
 * does not fit. */
enum nm_reason nm_policy_over_allocation_reason(const struct nm_round *r, const struct nm_policy_container *v,
                                                const struct nm_resources *set_aside, enum nm_resource *ret_resource);
enum nm_reason nm_policy_plain_reason(const struct nm_round *r, const struct nm_policy_container *v,
                                      enum nm_resource *ret_resource);
enum nm_resource nm_policy_tightest(const struct nm_round *r, const struct nm_policy_container *v);
