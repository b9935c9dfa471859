/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The policy: a pure function from (settings, its own small memory, views of all live containers,
 * the node's sample, now) to a list of actions. No clock, no I/O, no logging, and no allocation in
 * nm_policy_decide(): its workspace is grown beforehand by nm_policy_reserve(). The daemon, the
 * tests, the fuzzer and the simulator run this same code.
 *
 * The rules are DESIGN.md section 5, with these points settled here:
 *
 *  - Estimated use U_r = max(sum of estimates, node-level use beyond the reserve + what warm-up
 *    reserves and the node can't show yet). Worked out as sum of estimates + "system": what the
 *    newest sample showed in use at node level beyond the reserve and beyond what it showed in the
 *    containers. The system part is remembered until the next sample, the estimates are of this
 *    very moment: so in a CHANGE round a container that has ended since the sample takes its use
 *    with it, one that was admitted counts with its request, and a frozen one's CPU is free at
 *    once.
 *  - Reservations never make victims: what is held against beta before anything is taken back is
 *    the use that was really measured (verdict.in_use), without warm-up. Only the room for a
 *    guaranteed container is reckoned with U.
 *  - A container leaves its warm-up when warmup_usec have passed *and* it has warmup_samples
 *    samples.
 *  - With over-allocation off, U is the sum of requests, both thresholds are 1, and nothing is
 *    taken back except to make room for a guaranteed container: plain YARN.
 *  - The plain rule ("total allocation + request <= C") also wants U < beta*C and U + request <= C
 *    for every resource: what the system around the containers uses is not there to be given away.
 *  - Nothing, guaranteed or not, is admitted without a fresh sample, and nothing is killed without
 *    one: not even at its pause deadline. Opportunistic containers also need its CPU figure
 *    (cpu_valid).
 *  - Memory and CPU are taken back on their thresholds only in SAMPLE and PRESSURE rounds (CPU:
 *    SAMPLE); room for a guaranteed container is made in any round.
 *  - Each resource settles by itself: a freeze never delays a kill for memory. While one settles,
 *    or a squeeze is on, nothing opportunistic is admitted or resumed.
 *  - The kill budget holds back kills for memory and CPU over beta. Kills that make room for a
 *    guaranteed container or end a pause at its deadline are not held back (requests and clock
 *    bound them), but are counted. A pause that a person began is that person's affair: its end
 *    counts for neither budget nor breaker.
 *  - Resume: CPU U + last use <= beta*C, CPU U < alpha*C, memory in use <= beta*C; strictly in
 *    arrival order. A container that used nearly all CPU would wait for its deadline even on an
 *    idle node: it is let go again when no other opportunistic container runs, CPU U < alpha*C/2
 *    and a sixteenth of its pause deadline is over.
 *  - Paused containers have the first claim on CPU: a queued one is admitted only beside what the
 *    paused ones will use when resumed (each at most its request, so that one that burst can't
 *    block the queue).
 *  - With pausing on, CPU never kills. With it off, what would have been paused is killed.
 *  - A container inside its minimum run time is passed over as a victim while any other will do.
 *    Application masters (exempt) are never victims.
 *  - squeeze: as soon as CPU is over beta once, opportunistic containers together get a CPU quota
 *    that brings use back to between alpha and beta, with a floor for each; only if CPU stays over
 *    beta for cpu_samples samples are containers frozen. It is lifted when they no longer use what
 *    it leaves them. Needs the cpu controller (can_squeeze). policy-squeeze.c describes the
 *    controller.
 */

#include "agent/types.h"

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

struct nm_policy_settings {
    struct nm_resources capacity; /* C: what the node offers */
    struct nm_resources reserve;  /* node-level use that belongs to the system and is not charged to
                                     C */
    bool over_allocation;
    struct nm_fractions over_allocation_threshold; /* alpha */
    struct nm_fractions preemption_threshold;      /* beta */
    uint64_t warmup_usec;
    uint32_t warmup_samples;
    uint32_t queue_max_length; /* opportunistic containers waiting; guaranteed ones are not
                                  counted */
    enum nm_queue_order queue_order;
    enum nm_victim_order victim_order;
    bool pause_enabled; /* off: what would be paused is killed, once the CPU rule holds */
    uint64_t pause_deadline_usec;
    uint32_t cpu_samples;    /* consecutive samples over beta before CPU is taken back (default
                                4) */
    uint32_t settle_samples; /* samples to wait after victims are gone (default 2, at least 2) */
    uint32_t kills_per_minute;  /* 0: none for memory or CPU over beta; above 64 counts as 64 */
    uint64_t breaker_usec;      /* no opportunistic admission for this long after a policy kill;
                                   doubles, up to eightfold, while kills keep coming within twice
                                   the hold; 0: none */
    uint64_t sample_max_age_usec; /* older than this is stale */
    double uplink_threshold;    /* no opportunistic admission above it; 0: links are not looked
                                   at */
    uint64_t squeeze_floor_millicores; /* per container */
    bool can_freeze, can_reclaim, can_squeeze; /* what the backend offers here */
};

/* What the policy sees of one live container (SCHEDULED .. KILLING). The manager embeds it and
 * keeps it current; policy only reads it. */
struct nm_view {
    uint64_t seq; /* arrival number, unique */
    enum nm_execution_type type;
    enum nm_state state;
    bool admitted;    /* SCHEDULED, but its launch is under way: counts as in warm-up */
    bool exempt;      /* application master */
    bool user_paused; /* paused by a person: not resumed by policy */
    bool reclaimed;   /* memory.reclaim was already tried during this pause */
    bool reclaiming;  /* and is still at work: memory doesn't settle before, within reason */
    struct nm_resources request;
    struct nm_resources measured; /* last sample; 0 before the first */
    uint32_t n_samples;           /* since its start */
    uint32_t state_samples;       /* sampling rounds since it entered `state`, whether or not it
                                     could be read */
    uint64_t state_usec;          /* when it entered `state` */
    uint64_t submitted_usec;
    uint64_t started_usec; /* admission time; 0 while queued */
    uint64_t paused_usec;
    uint64_t pause_deadline_usec;      /* absolute; UINT64_MAX only while not paused */
    uint64_t last_cpu_millicores;      /* use just before the newest pause; kept after the resume */
    uint64_t cpu_usage_usec;           /* CPU time consumed so far: the work that a kill loses */
    uint64_t min_runtime_usec;
    uint64_t expected_usec;            /* expected run time; 0: unknown */
    uint32_t app;                      /* index into the apps array */
    void *owner;                       /* the manager's container; opaque here */
};

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
    uint64_t swap_free_bytes;
    double uplink_utilization;
};

enum nm_policy_trigger {
    NM_TRIGGER_SAMPLE,   /* a periodic sample: counts for the consecutive-sample rule and for
                            settling */
    NM_TRIGGER_PRESSURE, /* a pressure event, confirmed by the fresh sample that is passed in */
    NM_TRIGGER_CHANGE,   /* something else changed (submit, exit, resume): same sample as before */
};

struct nm_policy_input {
    enum nm_policy_trigger trigger;
    uint64_t now_usec;
    struct nm_policy_node node;
    struct nm_view *const *views; /* all live containers, any order */
    size_t n_views;
    const struct nm_policy_app *apps;
    size_t n_apps;
    bool draining; /* no admissions at all */
    bool unhealthy;
    uint32_t shed_to; /* a queuing limit that was lowered, by the upstream or here; UINT32_MAX: none */
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
    NM_REASON_ALLOCATION_FULL,       /* over-allocation off and no allocation left */
    NM_REASON_NO_SAMPLE,             /* sample missing or stale */
    NM_REASON_BREAKER,               /* held after kills */
    NM_REASON_UPLINK,                /* uplink saturated */
    NM_REASON_DRAINING,
    NM_REASON_UNHEALTHY,
    NM_REASON_WAITING_FOR_VICTIMS,   /* a guaranteed container waits for its room */
    NM_REASON_GUARANTEED_FIRST,      /* a guaranteed container is waiting */
    NM_REASON_PAUSED_FIRST,          /* the room belongs to paused containers */
    NM_REASON_SQUEEZED,              /* opportunistic containers are held to a CPU quota */
    /* refused */
    NM_REASON_LARGER_THAN_NODE,
    NM_REASON_GUARANTEED_FULL,       /* guaranteed allocations would exceed C */
    NM_REASON_QUEUE_FULL,
    /* taken back */
    NM_REASON_MEMORY_OVER_BETA,
    NM_REASON_CPU_OVER_BETA,
    NM_REASON_ROOM_FOR_GUARANTEED,
    NM_REASON_PAUSE_DEADLINE,
    NM_REASON_KILL_BUDGET,           /* a kill was due, but the budget is spent (held) */
    NM_REASON_SETTLING,              /* waits for the last victims to be gone and two samples */
    NM_REASON_SHED,
    NM_REASON_DRAIN_DEADLINE,
    /* given back */
    NM_REASON_BELOW_THRESHOLD,       /* resumed: there is room again */
    NM_REASON_PAUSE_EXPIRED,         /* a guaranteed container paused by a person is resumed at its
                                        deadline */
    NM_REASON_FROZEN_MEMORY,         /* reclaim of a paused container's memory */
    NM_REASON_USER,                  /* a person asked for it */
    NM_REASON_COUNT,
};

/* Why a candidate was not chosen. */
enum nm_passed_over {
    NM_PASSED_NOT,          /* it was chosen */
    NM_PASSED_NOT_NEEDED,   /* enough was found before it */
    NM_PASSED_EXEMPT,       /* application master */
    NM_PASSED_MIN_RUNTIME,  /* inside its minimum run time */
    NM_PASSED_GIVES_NOTHING /* would free none of what is short */
};

struct nm_policy_candidate {
    const struct nm_view *view;
    struct nm_resources use; /* what it was credited with */
    enum nm_passed_over passed_over;
};

struct nm_policy_action {
    enum nm_action_type type;
    enum nm_reason reason;
    enum nm_resource resource;       /* the one that tipped it */
    struct nm_view *target;
    const struct nm_view *on_behalf_of; /* the guaranteed container that needs the room, or NULL */
    struct nm_resources used;        /* U as this decision saw it; for *_OVER_BETA what was really
                                        in use */
    struct nm_resources predicted;   /* regained by taking back; taken by admit and resume */
    uint32_t consecutive_samples;    /* CPU rule */
    uint32_t first_candidate, n_candidates; /* into verdict.candidates, in the order considered */
};

#define NM_NO_SQUEEZE UINT64_MAX

struct nm_policy_verdict {
    struct nm_resources used;        /* U */
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
    enum nm_reason hold;             /* why the head of the queue waits; NM_REASON_NONE if nothing
                                        waits */
    const struct nm_view *hold_view; /* that head: opportunistic, first in the queue order */
    enum nm_resource hold_resource;  /* the one that is short, where the reason is about one */
    struct nm_resources hold_used;   /* U with this round's admissions, which that head was held against */
    enum nm_reason guaranteed_hold;  /* the same for the first guaranteed container that waits */
    const struct nm_view *guaranteed_hold_view;
    enum nm_reason preempt_hold;     /* why a taking-back that is due waits (SETTLING, KILL_BUDGET),
                                        or NONE */
    uint64_t wake_usec;              /* look again at this time even if nothing happens; UINT64_MAX:
                                        no need */
};

struct nm_policy; /* its memory between rounds, and the workspace */

int nm_policy_new(struct nm_policy **ret);
struct nm_policy *nm_policy_free(struct nm_policy *p);
NM_DEFINE_CLEANUP(struct nm_policy *, nm_policy_free)
/* Grows the workspace for n live containers. The only function here that allocates. */
int nm_policy_reserve(struct nm_policy *p, size_t n_views, size_t n_apps);

/* One round. Admissions of one round see each other. Never fails: with views beyond what was
 * reserved it asserts. */
void nm_policy_decide(struct nm_policy *p, const struct nm_policy_settings *s,
                      const struct nm_policy_input *in, struct nm_policy_verdict *ret);

/* Why this queued container waits, by the verdict of the round before: BEHIND_OTHERS and
 * GUARANTEED_FIRST for those that are not the head. NM_REASON_NONE for one that doesn't wait. */
enum nm_reason nm_policy_hold_reason(const struct nm_policy_verdict *verdict,
                                     const struct nm_view *v);

/* May this request be taken at all? NM_REASON_NONE, or why it is refused (LARGER_THAN_NODE,
 * GUARANTEED_FULL, QUEUE_FULL). Dying guaranteed containers don't count: the new one waits for
 * them. `self`: a live container whose own request is not counted (update, promotion, demotion), or
 * NULL. */
enum nm_reason nm_policy_check_request(const struct nm_policy_settings *s,
                                       struct nm_view *const *views, size_t n_views,
                                       enum nm_execution_type type,
                                       const struct nm_resources *request,
                                       const struct nm_view *self);

/* What becomes of memory between two samples is seen at node level alone, which is cheap to look at. Does that it has
 * grown, since the newest sample, call for another sample at once? nmd's glances and the simulator go by this. */
enum nm_growth {
    NM_GROWTH_SMALL,
    NM_GROWTH_LARGE,  /* a good piece of the capacity, wherever it leads */
    NM_GROWTH_CROSSES /* the preemption threshold, if all of it is the containers' */
};
enum nm_growth nm_policy_judge_growth(const struct nm_policy_settings *s, uint64_t in_use_bytes,
                                      uint64_t grown_bytes);

/* The estimate of one container (agent/policy/estimate.c), for status and tests. */
struct nm_resources nm_estimate(const struct nm_policy_settings *s, const struct nm_view *v,
                                uint64_t now_usec);
bool nm_estimate_in_warmup(const struct nm_policy_settings *s, const struct nm_view *v,
                           uint64_t now_usec);

/* The cheap invariants, checked after every round at run time and in the property tests: NULL, or a
 * sentence saying which one is broken. */
const char *nm_policy_check_invariants(const struct nm_policy_settings *s,
                                       const struct nm_policy_input *in,
                                       const struct nm_policy_verdict *v);

/* The policy's memory that must survive a restart: time and number of recent kills, breaker. */
struct nm_policy_memory {
    uint64_t breaker_until_usec;
    uint64_t breaker_hold_usec;
    uint64_t kills_usec[64]; /* a ring of the newest kill times, 0: none */
};
void nm_policy_get_memory(const struct nm_policy *p, struct nm_policy_memory *ret);
void nm_policy_set_memory(struct nm_policy *p, const struct nm_policy_memory *m);

const char *nm_victim_order_name(enum nm_victim_order o);
int nm_victim_order_from_string(const char *s, enum nm_victim_order *ret);
const char *nm_queue_order_name(enum nm_queue_order o);
int nm_queue_order_from_string(const char *s, enum nm_queue_order *ret);
const char *nm_reason_name(enum nm_reason r); /* "over-alpha", ... for JSON */
int nm_reason_from_string(const char *s, enum nm_reason *ret);
