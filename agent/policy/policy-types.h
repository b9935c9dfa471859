/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Input and output of a round of the policy. policy.h describes the rules. */

#include "agent/types.h"

struct nm_policy; /* the policy's state between rounds, and its workspace */

enum nm_victim_order {
    NM_VICTIM_REVERSE_ARRIVAL, /* "reverse-arrival": the latest-started first (default) */
    NM_VICTIM_LEAST_WORK_LOST, /* "least-work-lost": the container with the least CPU time first */
    NM_VICTIM_FEWEST_VICTIMS,  /* "fewest-victims": the smallest sufficient set, then the least excess */
    NM_VICTIM_APP_FAIR,        /* "app-fair": the latest-started container of the application that holds the most
                                  of the scarce resource */
};

enum nm_queue_order {
    NM_QUEUE_FIFO,                    /* "fifo" (default) */
    NM_QUEUE_SMALLEST_FIRST,          /* "smallest-first": by the dominant share of the request */
    NM_QUEUE_SHORTEST_EXPECTED_FIRST, /* "shortest-expected-first": containers of unknown run time last, by arrival */
    NM_QUEUE_NEARLY_DONE_APP_FIRST,   /* "nearly-done-app-first": by the application's share of completed containers */
};

/* The kind of limit that applies to the queue. */
enum nm_queue_policy {
    NM_QUEUE_BY_LENGTH,    /* "by-length": the number of opportunistic containers (default) */
    NM_QUEUE_BY_RESOURCES, /* "by-resources": the sum of the queued requests must fit the node */
};

struct nm_policy_settings {
    struct nm_resources capacity; /* C: the resources that the node offers */
    /* part of C that is offered to queued containers, if an upstream wants a smaller node; running containers may still
     * use all of C. 0, for each resource: all of that resource is offered */
    struct nm_resources offered;
    struct nm_resources reserve;  /* node-level use that belongs to the system and is not charged to C */
    bool over_allocation;
    struct nm_fractions over_allocation_threshold; /* alpha */
    struct nm_fractions preemption_threshold;      /* beta */
    uint64_t warmup_usec;
    uint32_t warmup_samples;
    uint32_t queue_max_length; /* maximum of queued opportunistic containers; guaranteed containers are not counted */
    enum nm_queue_policy queue_policy;
    enum nm_queue_order queue_order;
    /* a `limited` container is given back to its upstream when it has waited for this time and no opportunistic
     * container has started since. While an opportunistic container runs, the wait is NM_GIVE_BACK_BUSY times as long.
     * A container is given back after NM_GIVE_BACK_MOST times this time in any case. 0: never */
    uint64_t give_back_usec;
    uint64_t backfill_usec; /* how long containers that passed a larger head of the queue may delay the head; 0: no
                               container may pass */
    enum nm_victim_order victim_order;
    bool pause_enabled; /* false: the policy kills instead of pausing, after cpu_samples */
    uint64_t pause_deadline_usec;
    uint32_t cpu_samples;    /* consecutive samples over beta before CPU is taken back (default 4) */
    uint32_t settle_samples; /* number of samples to wait for after victims have ended (default 2, at least 2) */
    uint32_t kills_per_minute;  /* limits kills for memory or CPU over beta. 0: no such kills; above 64 counts as 64 */
    uint64_t breaker_usec;      /* time for which opportunistic admissions stop after a policy kill. The time doubles if
                                   the next kill follows within twice this time; 0: no breaker */
    uint64_t period_usec;         /* time between two samples */
    uint64_t sample_max_age_usec; /* an older sample is stale */
    uint64_t margin_usec;       /* how long memory is kept free for the next surge after surges that cost too much
                                   work; 0: never */
    double uplink_threshold;    /* no opportunistic admission above this utilization; 0: links are ignored */
    uint64_t squeeze_floor_millicores; /* minimum quota per container */
    bool guard_stall;    /* stalls of guaranteed containers cause a squeeze of opportunistic containers */
    double stall_margin; /* how far a container's stall may exceed its stall without opportunistic work; 1: no limit */
    bool can_freeze, can_reclaim, can_squeeze; /* features of the cgroup backend on this node */
    uint64_t reclaim_usec; /* maximum time of a reclaim of running containers' memory, which takes the place of a kill;
                              0: such memory is not reclaimed */
    bool memory_limits; /* the kernel limits each container's memory to its request */
};

/* The policy's notes on the CPU stall of one guaranteed container, kept in its view. All 0: the stall is not known. */
struct nm_stall {
    uint64_t at_usec;       /* time of the sample that was evaluated last */
    uint32_t base_permille; /* stall (waiting for CPUs) without opportunistic work */
    bool has_base;
    uint32_t next_permille; /* values of base_permille and has_base from the next sample on */
    bool has_next_base;
};

/* The policy's notes on the memory of one opportunistic container, kept in its view (policy-growth.c). */
struct nm_peak {
    uint64_t bytes;     /* highest use since the policy began to learn from this container */
    uint32_t n_classes; /* number of classes of ages that the container has entered */
    bool known;
};

/* The policy's view of one live container (NEW .. KILLING). Before SCHEDULED only the container's promise counts. The
 * manager embeds the view and keeps it current. The policy only reads it, except for `stall` and `peak`. */
struct nm_policy_container {
    uint64_t seq; /* arrival number, unique */
    enum nm_execution_type type;
    enum nm_state state;
    /* The policy has admitted the container. While the container is SCHEDULED, its launch is in progress, and it counts
     * as in warm-up. Not a state of its own: clients see SCHEDULED until the command runs. */
    bool admitted;
    bool exempt;      /* application master */
    bool cpu_is_share; /* while the container is guaranteed, its CPU is a share by weight and is not promised */
    bool user_paused; /* a person has paused the container, so the policy does not resume it */
    bool limited;     /* belongs to an upstream that limits its own queued containers
                         (nm_policy_input.shed_limited_to) and takes them back to place them elsewhere */
    bool passed;      /* was admitted ahead of a larger head of the queue */
    bool reclaimed;   /* memory.reclaim was already tried during this pause */
    /* a reclaim is still running: counts as a victim that has not ended, up to a time limit */
    bool reclaiming;
    uint64_t reclaimed_usec; /* time of the last reclaim while the container ran; 0 if there was no such reclaim */
    struct nm_resources request;
    struct nm_resources measured; /* use in the last sample; 0 before the first */
    uint64_t swapped_bytes;       /* memory in swap, in the last sample */
    uint32_t n_samples;           /* number of samples since the start */
    /* time of the last measurement, if the container can't be measured now; 0 if the container can be measured */
    uint64_t unread_usec;
    uint32_t state_samples;       /* number of sampling rounds, including failed rounds, since the change to `state` */
    uint64_t state_usec;          /* time of the change to `state` */
    uint64_t kill_deadline_usec;  /* KILLING: time at which SIGKILL follows SIGTERM; 0: SIGKILL immediately */
    uint64_t shrunk_usec, shrunk_bytes; /* KILLING: progress of the container's end, see
                                           nm_policy_container_note_progress() */
    uint64_t freeze_failed_usec;  /* time of the last freeze that was given up; 0 if no freeze was given up */
    uint64_t submitted_usec;
    uint64_t started_usec; /* admission time; 0 while queued */
    uint64_t paused_usec;
    uint64_t pause_deadline_usec;      /* absolute; UINT64_MAX only while not paused */
    uint64_t last_cpu_millicores;      /* CPU use just before the newest pause; kept after the resume */
    bool stall_known; /* stall_permille is valid */
    uint32_t stall_permille; /* how long the container waited for CPUs, as a share of the last sampling interval */
    struct nm_stall stall;
    struct nm_peak peak;
    uint64_t cpu_usage_usec;           /* CPU time since the start: the work that a kill would lose */
    uint64_t min_runtime_usec;
    uint64_t expected_usec;            /* expected run time; 0 if unknown */
    uint32_t app;                      /* index into the apps array */
    void *owner;                       /* the manager's container; opaque here */
};

/* Returns whether the container's owner still prepares it. Such a container has only its promise or its position in the
 * queue. */
static inline bool nm_policy_container_in_preparation(const struct nm_policy_container *v)
{
    return v->state < NM_SCHEDULED;
}

/* Returns whether the container has not begun to start: it is being prepared, or it waits in the queue. */
static inline bool nm_policy_container_is_waiting(const struct nm_policy_container *v)
{
    return v->state <= NM_SCHEDULED && !v->admitted;
}

struct nm_policy_app {
    uint32_t completed, running, queued;
};

/* Node-level figures of the newest sample. valid = false: there is no sample, so no container is admitted or killed. */
struct nm_policy_node {
    bool valid;
    bool cpu_valid;
    uint64_t at_usec;
    struct nm_resources used; /* MemTotal - MemAvailable, and busy millicores; includes the reserve */
    uint64_t slice_unowned_bytes; /* memory charged to the slice but not to its containers, such as memory that ended
                                     containers leave behind */
    uint64_t swap_free_bytes;
    double uplink_utilization;
};

enum nm_policy_trigger {
    NM_TRIGGER_SAMPLE,       /* a periodic sample; it counts for the consecutive-sample rule and for settling */
    NM_TRIGGER_EXTRA_SAMPLE, /* an extra CPU sample between two periodic samples, because CPU use may be surging */
    NM_TRIGGER_PRESSURE,     /* a pressure event, confirmed by a fresh sample */
    NM_TRIGGER_CHANGE,       /* another change (submit, exit, resume), with the same sample as before */
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
    uint32_t n_starting; /* opportunistic containers that are admitted but not started yet */
    bool draining; /* no admissions */
    bool unhealthy;
    uint64_t reclaim_bytes_per_sec; /* speed of the latest reclaims; 0 if there was no recent reclaim */
    uint32_t kernel_kills; /* containers that the kernel has oom-killed since the previous round because the slice or
                              the node, and not their own limit, was out of memory */
    uint32_t shed_to; /* the queue's limit if the limit was lowered; UINT32_MAX if it was not lowered */
    uint32_t shed_limited_to; /* maximum of `limited` containers in the queue, set by an upstream; UINT32_MAX: any
                                 number */
};

enum nm_action_type {
    NM_ACTION_ADMIT,
    NM_ACTION_PAUSE,
    NM_ACTION_RESUME,
    NM_ACTION_RECLAIM, /* reclaims `predicted.memory_bytes` of a container's memory */
    NM_ACTION_KILL,
    NM_ACTION_SHED,
};

/* Why an action was taken, a request was refused, or the head of the queue waits. decision-phrases.c has one sentence
 * for each reason. */
enum nm_reason {
    NM_REASON_NONE,
    /* reasons to admit */
    NM_REASON_GUARANTEED,            /* the container is guaranteed, and fits */
    NM_REASON_WITHIN_ALLOCATION,     /* plain rule: the sum of all requests fits */
    NM_REASON_OVER_ALLOCATION,       /* measured use leaves room */
    /* reasons to hold a container in the queue */
    NM_REASON_BEHIND_OTHERS,         /* other containers are ahead of this container in the queue */
    NM_REASON_OVER_ALPHA,            /* U >= alpha*C */
    NM_REASON_WOULD_EXCEED_BETA,     /* U + request > beta*C */
    /* the container is too large beside the system's own use; other containers pass it */
    NM_REASON_NEVER_FITS,
    NM_REASON_ALLOCATION_FULL,       /* over-allocation is off and the allocation is full */
    NM_REASON_NO_SAMPLE,             /* the sample is missing or stale */
    NM_REASON_BREAKER,               /* the breaker holds admissions after kills */
    NM_REASON_UPLINK,                /* the uplink is saturated */
    NM_REASON_DRAINING,
    NM_REASON_UNHEALTHY,
    NM_REASON_WAITING_FOR_VICTIMS,   /* a guaranteed container waits until victims have made room */
    NM_REASON_GUARANTEED_FIRST,      /* a guaranteed container is waiting */
    NM_REASON_PAUSED_FIRST,          /* the resources are kept for paused containers */
    NM_REASON_SURGE_MARGIN,          /* the container fits now, but not during a surge like the recent surges */
    NM_REASON_SQUEEZED,              /* a CPU quota limits opportunistic containers */
    NM_REASON_NEXT_ROUND,            /* the limit of simultaneous starts is reached */
    /* reasons to refuse a request */
    NM_REASON_LARGER_THAN_NODE,
    NM_REASON_GUARANTEED_FULL,       /* guaranteed allocations would exceed C */
    NM_REASON_QUEUE_FULL,
    NM_REASON_QUEUE_KEPT,            /* the rest of the queue is kept for containers with more CPU per memory */
    /* reasons to take resources back */
    NM_REASON_MEMORY_OVER_BETA,
    NM_REASON_CPU_OVER_BETA,
    /* guaranteed containers wait for CPUs longer than without opportunistic containers */
    NM_REASON_GUARANTEED_STALLED,
    NM_REASON_ROOM_FOR_GUARANTEED,
    NM_REASON_ROOM_FOR_HEAD,         /* the victim had passed a larger container, which has waited long enough */
    NM_REASON_PAUSE_DEADLINE,
    NM_REASON_KILL_BUDGET,           /* a kill is due, but kills-per-minute is used up */
    NM_REASON_SETTLING,              /* the policy waits until the last victims have ended and two samples were taken */
    NM_REASON_SHED,
    NM_REASON_WAITED_TOO_LONG,       /* the container is given back to its upstream after a long wait in the queue */
    NM_REASON_DRAIN_DEADLINE,
    /* reasons to resume, to reclaim, and other reasons */
    NM_REASON_BELOW_THRESHOLD,       /* the container is resumed because there is room again */
    NM_REASON_PAUSE_EXPIRED,         /* a guaranteed container paused by a person is resumed at its deadline */
    NM_REASON_FREEZE_HANGS,          /* a freeze did not complete, and is undone */
    NM_REASON_FROZEN_MEMORY,         /* reclaim of a paused container's memory */
    NM_REASON_RUNNING_MEMORY,        /* reclaim of a running container's memory instead of a kill */
    NM_REASON_USER,                  /* a person asked for the action */
    NM_REASON_KERNEL_OOM,            /* the kernel's OOM killer ended the container, but not because of the container's
                                        own limit */
    NM_REASON_OWNER,                 /* the container's owner asked for the action */
    NM_REASON_COUNT,
};

/* Why a candidate was not chosen. */
enum nm_passed_over {
    NM_PASSED_NOT,          /* the candidate was chosen */
    NM_PASSED_NOT_NEEDED,   /* the candidates before it were sufficient */
    NM_PASSED_EXEMPT,       /* the candidate is an application master */
    NM_PASSED_MIN_RUNTIME,  /* the candidate is inside its minimum run time */
    NM_PASSED_GIVES_NOTHING, /* the candidate would free no amount of the resource that is short */
    NM_PASSED_FREEZE_HANGS  /* a freeze of the candidate failed recently */
};

struct nm_policy_candidate {
    const struct nm_policy_container *view;
    struct nm_resources use; /* the resources that this victim is expected to yield */
    enum nm_passed_over passed_over;
};

struct nm_policy_action {
    enum nm_action_type type;
    enum nm_reason reason;
    enum nm_resource resource;       /* the resource that determined the decision */
    struct nm_policy_container *target;
    const struct nm_policy_container *on_behalf_of; /* the container that needs the resources; for an ADMIT, the larger
                                                       container that the admitted container passes; or NULL */
    struct nm_resources used;        /* U at this decision; for *_OVER_BETA the use without reservations */
    struct nm_resources predicted;   /* amount gained by taking back, or used by an admission or a resume */
    uint64_t within_usec;            /* reclaim of a running container: the reclaim ends after this time in any case */
    uint32_t consecutive_samples;    /* CPU rule: samples in a row over beta */
    uint32_t first_candidate, n_candidates; /* range in verdict.candidates, in the order considered */
};

#define NM_NO_SQUEEZE UINT64_MAX

struct nm_policy_verdict {
    struct nm_resources used;        /* U: the sum of `measured`, `others` and reservations */
    struct nm_resources measured;    /* measured use of containers */
    struct nm_resources others;      /* use by the rest of the node */
    struct nm_resources sum;         /* sum of the estimates alone */
    struct nm_resources in_use;      /* use without reservations and without the CPU of paused containers */
    struct nm_resources allocated_guaranteed, allocated_opportunistic; /* running, paused, ending */
    const struct nm_policy_action *actions; /* in the order of execution; valid until the next nm_policy_decide() */
    size_t n_actions;
    const struct nm_policy_candidate *candidates;
    size_t n_candidates;
    uint64_t squeeze_millicores;     /* quota of all opportunistic containers together, or NM_NO_SQUEEZE */
    enum nm_reason squeeze_reason;   /* reason of the tighter quota: CPU_OVER_BETA or GUARANTEED_STALLED; NM_REASON_NONE
                                        without a squeeze */
    /* the container whose stall began the current squeeze, if it still exists; or NULL */
    const struct nm_policy_container *stall_view;
    uint32_t stall_permille, stall_base_permille; /* stall of stall_view at the beginning of the squeeze, and its stall
                                                     without opportunistic work */
    uint64_t margin_bytes;           /* memory kept free for a surge; 0 if no memory is kept free */
    uint64_t margin_until_usec;
    uint64_t margin_peak_permille;   /* expected use in a surge, as a share of the guaranteed promises */
    uint64_t surge_usec;             /* time before which no surge is expected; 0 if it is not known */
    enum nm_reason queue_reason;     /* why the head of the queue waits; NM_REASON_NONE if the queue is empty */
    const struct nm_policy_container *queue_head; /* the head: the first opportunistic container in the queue order */
    enum nm_resource queue_resource; /* the scarce resource, if the reason concerns one */
    struct nm_resources queue_used;  /* U including this round's admissions, against which the head was checked */
    /* if the head never fits: the first container behind the head that could start later, and why that container waits;
     * NULL if there is no such container */
    const struct nm_policy_container *queue_next;
    enum nm_reason queue_next_reason;
    enum nm_reason guaranteed_reason; /* as `queue_reason`, for the first guaranteed container that waits */
    const struct nm_policy_container *guaranteed_head;
    enum nm_reason hold_reason; /* why no opportunistic container of any size is admitted; NM_REASON_NONE: containers
                                   that fit are admitted */
    uint64_t room_bytes; /* memory for further opportunistic containers after this round, beside those in the queue; it
                            doesn't depend on hold_reason */
    enum nm_reason preempt_wait_reason; /* why due preemption waits (SETTLING, KILL_BUDGET); NM_REASON_NONE if no
                                           preemption waits */
    uint64_t wake_usec;                 /* time of the next round if no event triggers an earlier round; UINT64_MAX if
                                           no round is needed */
};

#define NM_SURGE_GAPS 16

/* State of the surge margin (policy-margin.c): the margin's duration, the share of the promises that the margin covers,
 * and how long guaranteed containers used little memory between the latest surges. */
struct nm_policy_margin {
    uint64_t until_usec, hold_usec;
    uint64_t peak_permille;
    uint32_t gap_sec[NM_SURGE_GAPS]; /* the newest first; 0: no such time yet */
};

/* The policy's memory that is kept across restarts: times of recent kills, breaker and surge margin. */
struct nm_policy_memory {
    uint64_t breaker_until_usec;
    uint64_t breaker_hold_usec;
    struct nm_policy_margin margin;
    uint64_t kills_usec[64]; /* a ring of the newest kill times; 0: empty entry */
};

/* A class for the growth of memory in use since the newest sample. The growth is measured at node level only, since
 * such a measurement takes little time. nmd's growth probe and the simulator use this class to decide whether to take
 * another sample immediately. */
enum nm_growth {
    NM_GROWTH_SMALL,
    NM_GROWTH_LARGE,  /* a large part of the capacity, at any level of use */
    NM_GROWTH_CROSSES /* reaches the preemption threshold if containers cause all the growth */
};

/* Updates the progress of a container that is being killed; call this function after each measurement of v. The policy
 * keeps waiting for a container that has released a substantial part of its memory within the last NM_STUCK_USEC. */
void nm_policy_container_note_progress(struct nm_policy_container *v, uint64_t now_usec);

enum nm_growth nm_policy_classify_growth(const struct nm_policy_settings *s, uint64_t in_use_bytes,
                                         uint64_t grown_bytes);

/* Returns the estimate of one container (agent/policy/estimate.c), for status and tests. */
struct nm_resources nm_estimate(const struct nm_policy_settings *s, const struct nm_policy_container *v,
                                uint64_t now_usec);
bool nm_estimate_in_warmup(const struct nm_policy_settings *s, const struct nm_policy_container *v,
                           uint64_t now_usec);

/* Closes the breaker, so that admissions continue immediately. Returns whether the breaker was holding admissions. */
bool nm_policy_close_breaker(struct nm_policy *p, uint64_t now_usec);
