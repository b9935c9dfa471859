/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What goes into a round of the policy, and what comes out of it; policy.h has the rules. */

#include "agent/types.h"

struct nm_policy; /* its memory between rounds, and the workspace */

enum nm_victim_order {
    NM_VICTIM_REVERSE_ARRIVAL, /* "reverse-arrival": latest-started first (default) */
    NM_VICTIM_LEAST_WORK_LOST, /* "least-work-lost": least CPU time used so far */
    NM_VICTIM_FEWEST_VICTIMS,  /* "fewest-victims": the smallest set that suffices, then the least
                                  excess */
    NM_VICTIM_APP_FAIR,        /* "app-fair": from the application that holds the most, its
                                  latest-started */
};

enum nm_queue_order {
    NM_QUEUE_FIFO,                    /* "fifo" (default) */
    NM_QUEUE_SMALLEST_FIRST,          /* "smallest-first": dominant share of the request */
    NM_QUEUE_SHORTEST_EXPECTED_FIRST, /* "shortest-expected-first": unknown ones after the known, by
                                         arrival */
    NM_QUEUE_NEARLY_DONE_APP_FIRST,   /* "nearly-done-app-first": highest completed share of the
                                         application */
};

/* How much may wait. */
enum nm_queue_policy {
    NM_QUEUE_BY_LENGTH,    /* "by-length": so many opportunistic containers (default) */
    NM_QUEUE_BY_RESOURCES, /* "by-resources": what all that wait ask for fits the node */
};

struct nm_policy_settings {
    struct nm_resources capacity; /* C: what the node offers */
    struct nm_resources offered;  /* the part of C that the queue is held against, where an upstream wants a smaller
                                     node: what runs may use all of C. 0, each: all of it */
    struct nm_resources reserve;  /* node-level use that belongs to the system and is not charged to
                                     C */
    bool over_allocation;
    struct nm_fractions over_allocation_threshold; /* alpha */
    struct nm_fractions preemption_threshold;      /* beta */
    uint64_t warmup_usec;
    uint32_t warmup_samples;
    uint32_t queue_max_length; /* opportunistic containers waiting; guaranteed ones are not
                                  counted */
    enum nm_queue_policy queue_policy;
    enum nm_queue_order queue_order;
    uint64_t give_back_usec; /* what is `limited` goes back to its upstream when it has waited so long and nothing
                                opportunistic has started meanwhile, NM_GIVE_BACK_BUSY times as long while some
                                runs, and in any case after NM_GIVE_BACK_MOST times as long; 0: never */
    uint64_t backfill_usec; /* for so long may those that have passed a larger head of the queue hold it up;
                               0: none passes */
    enum nm_victim_order victim_order;
    bool pause_enabled; /* off: what would be paused is killed, once the CPU rule holds */
    uint64_t pause_deadline_usec;
    uint32_t cpu_samples;    /* consecutive samples over beta before CPU is taken back (default
                                4) */
    uint32_t settle_samples; /* samples to wait after victims are gone (default 2, at least 2) */
    uint32_t kills_per_minute;  /* 0: none for memory or CPU over beta; above 64 counts as 64 */
    uint64_t breaker_usec;      /* no opportunistic admission for this long after a policy kill;
                                   twice as long while kills keep coming within twice
                                   the hold; 0: none */
    uint64_t period_usec;         /* between two samples */
    uint64_t sample_max_age_usec; /* older than this is stale */
    uint64_t margin_usec;       /* how long room is kept for the next surge after surges that cost
                                   too much work; 0: never */
    double uplink_threshold;    /* no opportunistic admission above it; 0: links are not looked
                                   at */
    uint64_t squeeze_floor_millicores; /* per container */
    bool guard_stall;    /* the stall of guaranteed containers squeezes opportunistic ones */
    double stall_margin; /* by how much it may rise above what it is without those; 1: any */
    bool can_freeze, can_reclaim, can_squeeze; /* what the backend offers here */
    uint64_t reclaim_usec; /* memory of running containers is reclaimed, in place of a kill, where that takes no
                              longer; 0: never */
    bool memory_limits; /* and the kernel holds each container to its request */
};

/* The policy's own notes on one guaranteed container, kept in its view. All 0: nothing is known. */
struct nm_stall {
    uint64_t at_usec;       /* of the sample that was looked at last */
    uint32_t base_permille; /* how much it waits for CPUs when no opportunistic work is to blame */
    bool learnt;
    uint32_t next_permille; /* what base_permille is for the next sample, and `learnt` */
    bool next_learnt;
};

/* What the policy sees of one live container (NEW .. KILLING; of what isn't SCHEDULED yet only the promise counts). The
 * manager embeds it and keeps it current; policy only reads it, but for `stall`. */
struct nm_policy_container {
    uint64_t seq; /* arrival number, unique */
    enum nm_execution_type type;
    enum nm_state state;
    bool admitted;    /* SCHEDULED, but its launch is under way: counts as in warm-up */
    bool exempt;      /* application master */
    bool cpu_is_share; /* while it is guaranteed: its CPU is a share by weight, and was never promised */
    bool user_paused; /* paused by a person: not resumed by policy */
    bool limited;     /* an upstream's, which limits how many of its own may wait (nm_policy_input.shed_limited_to) and
                         takes them back to place them elsewhere */
    bool passed;      /* was admitted past a larger one at the head of the queue */
    bool reclaimed;   /* memory.reclaim was already tried during this pause */
    bool reclaiming;  /* it is still at work: memory doesn't settle before, within reason */
    uint64_t reclaimed_usec; /* when memory was reclaimed while it ran; 0: never */
    struct nm_resources request;
    struct nm_resources measured; /* last sample; 0 before the first */
    uint64_t swapped_bytes;       /* likewise: what would be memory, and is in swap */
    uint32_t n_samples;           /* since its start */
    uint64_t unread_usec;         /* it can't be measured now, and `measured` is of then; 0: it can */
    uint32_t state_samples;       /* sampling rounds since it entered `state`, whether or not it
                                     could be read */
    uint64_t state_usec;          /* when it entered `state` */
    uint64_t shrunk_usec, shrunk_bytes; /* of a dying one: see nm_policy_container_note_progress() */
    uint64_t freeze_failed_usec;  /* when a freeze of it was given up; 0: never */
    uint64_t submitted_usec;
    uint64_t started_usec; /* admission time; 0 while queued */
    uint64_t paused_usec;
    uint64_t pause_deadline_usec;      /* absolute; UINT64_MAX only while not paused */
    uint64_t last_cpu_millicores;      /* use just before the newest pause; kept after the resume */
    bool stall_known; /* the newest sample says how long it waited for CPUs, as ... */
    uint32_t stall_permille; /* ... a share of the time since the sample before */
    struct nm_stall stall;
    uint64_t cpu_usage_usec;           /* CPU time consumed so far: the work that a kill loses */
    uint64_t min_runtime_usec;
    uint64_t expected_usec;            /* expected run time; 0: unknown */
    uint32_t app;                      /* index into the apps array */
    void *owner;                       /* the manager's container; opaque here */
};

/* Its owner makes ready what it needs: it holds its promise or its place in the queue, and nothing else. */
static inline bool nm_policy_container_is_prepared(const struct nm_policy_container *v)
{
    return v->state < NM_SCHEDULED;
}

/* Nothing of it has begun: it is prepared, or it waits. */
static inline bool nm_policy_container_is_waiting(const struct nm_policy_container *v)
{
    return v->state <= NM_SCHEDULED && !v->admitted;
}

struct nm_policy_app {
    uint32_t completed, running, queued;
};

/* Node-level figures of the newest sample. valid = false: there is none (fail-safe). */
struct nm_policy_node {
    bool valid;
    bool cpu_valid;
    uint64_t at_usec;
    struct nm_resources used; /* MemTotal - MemAvailable; busy millicores; reserve not yet taken
                                 off */
    uint64_t slice_left_bytes; /* charged to the slice and to none of its containers: what ended ones left */
    uint64_t swap_free_bytes;
    double uplink_utilization;
};

enum nm_policy_trigger {
    NM_TRIGGER_SAMPLE,   /* a periodic sample: counts for the consecutive-sample rule and for
                            settling */
    NM_TRIGGER_LOOK,     /* a sample of CPU between two periodic ones, because it may be surging */
    NM_TRIGGER_PRESSURE, /* a pressure event, confirmed by the fresh sample that is passed in */
    NM_TRIGGER_CHANGE,   /* something else changed (submit, exit, resume): same sample as before */
};

struct nm_policy_input {
    enum nm_policy_trigger trigger;
    uint64_t now_usec;
    uint64_t suspended_usec; /* how long the host has slept since it was booted */
    struct nm_policy_node node;
    struct nm_policy_container *const *views; /* all live containers, any order */
    size_t n_views;
    const struct nm_policy_app *apps;
    size_t n_apps;
    uint32_t n_starting; /* opportunistic ones that were admitted, and not started yet */
    bool draining; /* no admissions at all */
    bool unhealthy;
    uint64_t reclaim_bytes_per_sec; /* what the latest reclaims brought; 0: there were none lately */
    uint32_t kernel_kills; /* containers that the kernel has ended since the round before, for want of memory of the
                              slice or the node, and not for their own limit */
    uint32_t shed_to; /* the queue's limit, if that was lowered; UINT32_MAX: it wasn't */
    uint32_t shed_limited_to; /* what an upstream allows of those that are `limited`; UINT32_MAX: any number */
};

enum nm_action_type {
    NM_ACTION_ADMIT,
    NM_ACTION_PAUSE,
    NM_ACTION_RESUME,
    NM_ACTION_RECLAIM, /* memory of a paused container, `predicted.memory_bytes` of it */
    NM_ACTION_KILL,
    NM_ACTION_SHED,
};

/* Why an action was taken, a request refused, or the head of the queue held. One sentence each in
 * decision.c. */
enum nm_reason {
    NM_REASON_NONE,
    /* admitted */
    NM_REASON_GUARANTEED,            /* guaranteed, and it fits */
    NM_REASON_WITHIN_ALLOCATION,     /* plain rule: all allocations fit */
    NM_REASON_OVER_ALLOCATION,       /* measured use leaves room */
    /* held in the queue */
    NM_REASON_BEHIND_OTHERS,         /* not at the head of the queue */
    NM_REASON_OVER_ALPHA,            /* U >= alpha*C */
    NM_REASON_WOULD_EXCEED_BETA,     /* U + request > beta*C */
    NM_REASON_NEVER_FITS,            /* too large beside what the system holds; others pass it */
    NM_REASON_ALLOCATION_FULL,       /* over-allocation off and no allocation left */
    NM_REASON_NO_SAMPLE,             /* sample missing or stale */
    NM_REASON_BREAKER,               /* held after kills */
    NM_REASON_UPLINK,                /* uplink saturated */
    NM_REASON_DRAINING,
    NM_REASON_UNHEALTHY,
    NM_REASON_WAITING_FOR_VICTIMS,   /* a guaranteed container waits for its room */
    NM_REASON_GUARANTEED_FIRST,      /* a guaranteed container is waiting */
    NM_REASON_PAUSED_FIRST,          /* the room belongs to paused containers */
    NM_REASON_SURGE_MARGIN,          /* it fits now, but not beside a surge as the last ones were */
    NM_REASON_SQUEEZED,              /* opportunistic containers are held to a CPU quota */
    NM_REASON_NEXT_ROUND,            /* as many as may start at once are being started */
    /* refused */
    NM_REASON_LARGER_THAN_NODE,
    NM_REASON_GUARANTEED_FULL,       /* guaranteed allocations would exceed C */
    NM_REASON_QUEUE_FULL,
    /* taken back */
    NM_REASON_MEMORY_OVER_BETA,
    NM_REASON_CPU_OVER_BETA,
    NM_REASON_GUARANTEED_STALLED,    /* guaranteed containers wait for CPUs more than without
                                        opportunistic ones */
    NM_REASON_ROOM_FOR_GUARANTEED,
    NM_REASON_ROOM_FOR_HEAD,         /* it had passed a larger one, which has waited long enough */
    NM_REASON_PAUSE_DEADLINE,
    NM_REASON_KILL_BUDGET,           /* a kill was due, but the budget is spent (held) */
    NM_REASON_SETTLING,              /* waits for the last victims to be gone and two samples */
    NM_REASON_SHED,
    NM_REASON_WAITED_TOO_LONG,       /* given back to its upstream: nothing lets it start here */
    NM_REASON_DRAIN_DEADLINE,
    /* given back */
    NM_REASON_BELOW_THRESHOLD,       /* resumed: there is room again */
    NM_REASON_PAUSE_EXPIRED,         /* a guaranteed container paused by a person is resumed at its
                                        deadline */
    NM_REASON_FREEZE_HANGS,          /* its freeze did not come to an end, and is taken back */
    NM_REASON_FROZEN_MEMORY,         /* reclaim of a paused container's memory */
    NM_REASON_RUNNING_MEMORY,        /* reclaim of a running one's, in place of a kill */
    NM_REASON_USER,                  /* a person asked for it */
    NM_REASON_KERNEL_OOM,            /* the kernel's OOM killer took it, and not for its own limit */
    NM_REASON_OWNER,                 /* whoever brought it in asked for it */
    NM_REASON_COUNT,
};

/* Why a candidate was not chosen. */
enum nm_passed_over {
    NM_PASSED_NOT,          /* it was chosen */
    NM_PASSED_NOT_NEEDED,   /* enough was found before it */
    NM_PASSED_EXEMPT,       /* application master */
    NM_PASSED_MIN_RUNTIME,  /* inside its minimum run time */
    NM_PASSED_GIVES_NOTHING, /* would free none of what is short */
    NM_PASSED_FREEZE_HANGS  /* could not be frozen a while ago */
};

struct nm_policy_candidate {
    const struct nm_policy_container *view;
    struct nm_resources use; /* what it was credited with */
    enum nm_passed_over passed_over;
};

struct nm_policy_action {
    enum nm_action_type type;
    enum nm_reason reason;
    enum nm_resource resource;       /* the one that tipped it */
    struct nm_policy_container *target;
    const struct nm_policy_container *on_behalf_of; /* the container that needs the room; of an ADMIT, the larger one
                                           that it passes; or NULL */
    struct nm_resources used;        /* U as this decision saw it; for *_OVER_BETA what was really
                                        in use */
    struct nm_resources predicted;   /* regained by taking back; taken by admit and resume */
    uint64_t within_usec;            /* of a running one's reclaim: it ends then, whatever it has brought */
    uint32_t consecutive_samples;    /* CPU rule */
    uint32_t first_candidate, n_candidates; /* into verdict.candidates, in the order considered */
};

#define NM_NO_SQUEEZE UINT64_MAX

struct nm_policy_verdict {
    struct nm_resources used;        /* U: what is measured of containers, ... */
    struct nm_resources measured;    /* ... of which this is that, ... */
    struct nm_resources others;      /* ... and this in use by the rest of the node; what is left is reserved */
    struct nm_resources sum;         /* sum of the estimates alone */
    struct nm_resources in_use;      /* really in use: no reservations, no CPU of paused
                                        containers */
    struct nm_resources allocated_guaranteed, allocated_opportunistic; /* running, paused and
                                                                          dying */
    const struct nm_policy_action *actions; /* in the order to be carried out; valid until the next
                                               decide */
    size_t n_actions;
    const struct nm_policy_candidate *candidates;
    size_t n_candidates;
    uint64_t squeeze_millicores;     /* quota of all opportunistic containers together, or
                                        NM_NO_SQUEEZE */
    enum nm_reason squeeze_reason;   /* CPU_OVER_BETA or GUARANTEED_STALLED, whichever is tighter;
                                        NONE without a squeeze */
    /* whose stall began the squeeze that goes on, if still there; or NULL */
    const struct nm_policy_container *stall_view;
    uint32_t stall_permille, stall_base_permille; /* and its figures then */
    uint64_t margin_bytes;           /* kept free beyond what is used, for a surge; 0: nothing */
    uint64_t margin_until_usec;
    uint64_t margin_peak_permille;   /* of what guaranteed containers were promised, how much a surge takes */
    enum nm_reason hold;             /* why the head of the queue waits; NM_REASON_NONE if nothing
                                        waits */
    const struct nm_policy_container *hold_view; /* that head: opportunistic, first in the queue order */
    enum nm_resource hold_resource;  /* the one that is short, where the reason is about one */
    struct nm_resources hold_used;   /* U with this round's admissions, which that head was held against */
    enum nm_reason guaranteed_hold;  /* the same for the first guaranteed container that waits */
    const struct nm_policy_container *guaranteed_hold_view;
    enum nm_reason preempt_hold;     /* why a taking-back that is due waits (SETTLING, KILL_BUDGET),
                                        or NONE */
    uint64_t wake_usec;              /* look again at this time even if nothing happens; UINT64_MAX:
                                        no need */
};

/* The surge margin (policy-margin.c): how long it holds, and for how much of what is promised. */
struct nm_policy_margin {
    uint64_t until_usec, hold_usec;
    uint64_t peak_permille;
};

/* The policy's memory that must survive a restart: time and number of recent kills, breaker. */
struct nm_policy_memory {
    uint64_t breaker_until_usec;
    uint64_t breaker_hold_usec;
    struct nm_policy_margin margin;
    uint64_t kills_usec[64]; /* a ring of the newest kill times, 0: none */
};

/* What becomes of memory between two samples is seen at node level alone, which is cheap to look at. Does that it has
 * grown, since the newest sample, call for another sample at once? nmd's glances and the simulator go by this. */
enum nm_growth {
    NM_GROWTH_SMALL,
    NM_GROWTH_LARGE,  /* a good piece of the capacity, wherever it leads */
    NM_GROWTH_CROSSES /* the preemption threshold, if all of it is the containers' */
};

/* To be called whenever v was measured. A dying container that has let go of a good piece since it was
 * called last is getting on, and is waited for. */
void nm_policy_container_note_progress(struct nm_policy_container *v, uint64_t now_usec);

enum nm_growth nm_policy_judge_growth(const struct nm_policy_settings *s, uint64_t in_use_bytes,
                                      uint64_t grown_bytes);

/* The estimate of one container (agent/policy/estimate.c), for status and tests. */
struct nm_resources nm_estimate(const struct nm_policy_settings *s, const struct nm_policy_container *v,
                                uint64_t now_usec);
bool nm_estimate_in_warmup(const struct nm_policy_settings *s, const struct nm_policy_container *v,
                           uint64_t now_usec);

/* Admissions go on at once. Returns whether they were held by it. */
bool nm_policy_close_breaker(struct nm_policy *p, uint64_t now_usec);
