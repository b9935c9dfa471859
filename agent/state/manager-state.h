/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The manager's state, as the rooms of agent/ see it that work on it; nothing outside them includes this header. The
 * manager owns all state and has one method per thing that can happen. The rooms, from the ground up, and one's files
 * are layers: tests/style has the only list of them, and holds that none uses one above it.
 *
 *   state/      this, and what asks for a round
 *   journal/    what nmd knows of containers, decisions and events, in memory and on disk
 *   node/       the node and its cgroups: samples, pressure, limits, shares of disks
 *   lifecycle/  what becomes of one container: the first halves of actions, in which the intent is journalled
 *               (actions.c), the second, in which the kernel is touched, and what containers do by themselves
 *   requests/   what people and owners ask for
 *   recovery/   what an earlier nmd left
 *   manager/    rounds, and the manager's own beginning and end
 *
 * References: a live container is owned by m->lives and points into nothing else that is owned; its view's `owner`
 * points back at it, for the time it is in that list.
 */

#include "agent/daemon.h"
#include "agent/owners.h"
#include "agent/status.h"
#include "agent/upstream.h"
#include "agent/config/settings.h"
#include "agent/health.h"
#include "agent/launch/launch.h"
#include "agent/state/run-phase.h"
#include "agent/state/slice-claim.h"
#include "agent/store/store.h"
#include "util/fair-queue.h"

/* What is left to be done about a container once its intent is in the journal. */
enum nm_todo {
    NM_TODO_NOTHING,
    NM_TODO_LAUNCH,
    NM_TODO_FREEZE,
    NM_TODO_THAW,
    NM_TODO_RECLAIM,
    NM_TODO_TERMINATE,
    NM_TODO_KILL
};

/* What a recording (recorder.c) has told of a container last. */
struct nm_recorded {
    enum nm_execution_type type;
    struct nm_resources request, use;
    bool used; /* `use` was told */
    bool started; /* and that it runs */
};

/* What is known of a container's run and is not true of the next one. */
struct nm_run {
    bool adopted;             /* an earlier nmd has begun it */
    bool stopped;             /* systemd stops its scope, and it wasn't nmd that asked for it */
    bool unkillable;          /* counted as such */
    bool unread_told;         /* that it can't be measured */
    bool oom_reported;            /* why the kernel has killed in it was looked into */
    bool global_oom;             /* it was for want of memory of the slice or the node */
    uint64_t oom_kill_usec;   /* when the kernel was last seen to have killed in it; 0: never */
    uint64_t output_max_bytes; /* of its log, each of two streams */
    struct nm_slice_claim claim;
    struct nm_cgroup_sample sample;
};

/* A container that has not ended, with everything that is needed to run it. */
struct nm_live_container {
    struct nm_manager *m;
    struct nm_container *c;
    uint64_t command_bytes; /* what its command holds, and what its owner keeps with it */
    struct nm_cgroup *cg; /* NULL until its cgroup is there */
    struct nm_cgroup_limits limits;
    enum nm_run_phase phase;
    struct nm_run run;
    struct nm_cgroup_watch *events_watch, *memory_watch;
    struct nm_cgroup_sampler *sampler;
    struct nm_launch *launch;
    int input_fd; /* the connection of its standard input, until its shim has it; 0: none */
    uint16_t rows, columns; /* of a terminal that it is given with that; 0: none */
    enum nm_todo todo;
    struct nm_fair_item start;             /* it is admitted, and waits in m->starts */
    bool start_counts;                /* there, in n_starts: its type may change meanwhile */
    uint64_t reclaim_bytes, reclaim_within_usec, reclaim_begun_usec;
    sd_event_source *kill_timer;      /* grace, then the next look at what was killed */
    uint64_t kill_usec, kill_look_usec; /* the first SIGKILL to all; how long to the next look */
    unsigned n_kills;
    sd_event_source *end_source;      /* the turn in which its end is dealt with */
    sd_event_source *reclaim_child, *reclaim_timer;
    bool reclaim_late;                /* its worker had to be killed */
    bool limits_due;                  /* they have changed since that began */
    bool priority_due;                /* its type has, since its shim was told what its command begins with */
    uint64_t retry_usec;              /* it could not be started: not again before, which is the next sample */
    unsigned limits_in_flight;        /* set_limits calls under way: they hold a pointer to this */
    bool has_copy;                    /* this nmd has written one (container-snapshot.h) */
    bool has_end;
    struct nm_launch_record end;      /* valid with has_end */
    bool decision_open;               /* `decision` waits for its outcome */
    bool regain_due;                  /* the next sample says what was really regained */
    struct nm_resources use_before;   /* at the time of the action */
    struct nm_decision decision;      /* the newest about this container */
    enum nm_decision_kind
        shadow_told; /* shadow mode: what was recorded last, so that it is told once */
    bool shadow_any;
    enum nm_reason queue_told;        /* the reason for waiting that was recorded last, and when */
    uint64_t queue_told_usec;
    struct nm_recorded recorded;
};

/* What the newest sample has shown beside the containers. */
struct nm_sampled {
    uint64_t at_usec, cost_usec;
    struct nm_node_sample node;
    bool node_valid;
    uint64_t slice_left_bytes; /* memory that is charged to the slice, but to none of its containers */
    struct nm_link_sample links[NM_LINKS_MAX];
    unsigned n_links;
    double uplink_utilization;
    uint64_t suspended_usec; /* how long the host has slept since its boot */
    bool woke;               /* it had just woken then: the next sample is due soon */
    uint32_t kernel_kills;   /* of whole containers, for want of memory; the next round is told */
};

#define NM_EVENT_RING 1024
#define NM_DECISIONS_KEPT 20000
#define NM_ENDED_MAX 10000
#define NM_ENDED_PER_USER 2500     /* root's excepted */
#define NM_RESULTS_MAX 5000        /* kept for owners that have not acknowledged them yet */
#define NM_ENDED_COMMAND_BYTES 1024 /* what is kept of a command line */
#define NM_APPS_MAX 4096
#define NM_APP_KEY "app." /* in the journal, with its name */

struct nm_app {
    char name[NM_NAME_SIZE]; /* "" for containers without one */
    uint64_t seen_usec;      /* realtime: a container of it came or went */
    uint64_t mean_run_usec;  /* of those that exited with 0 */
    uint32_t n_runs;
};

/* The configuration's origin, and the node that the settings were worked out for. */
struct nm_settling {
    char *config_path;
    bool config_must_exist;
    const struct nm_config_default *config_defaults;
    struct nm_config *at_start; /* what a restart alone applies is still as it was there; NULL: the one in force */
    uint64_t memory_bytes, usec; /* the node's memory, and since when it is reckoned with */
    uint32_t cpus;
};

/* The journal beside its rows. */
struct nm_journal {
    struct nm_store_opened opened;
    int error; /* the last write's, 0 = fine */
    char boot_id[64];
    uint64_t next_seq; /* of a container */
    char note[320];    /* a sentence for operators about the last recovery; "": there is none */
};

struct nm_decisions {
    uint64_t next;              /* its number */
    struct nm_decision refusal; /* the newest; those that follow may be told with it */
    char name[sizeof(((struct nm_decision *)0)->by_user)]; /* who asked for the newest decision by a person ... */
    uid_t name_uid;
    uint64_t name_usec; /* ... and when that name was looked up; 0: never */
    struct nm_histogram reaction_pause, reaction_kill;
};

struct nm_starts {
    struct nm_fair_queue queue; /* admitted, and to be launched */
    uint32_t n_opportunistic;   /* of them */
    sd_event_source *source;
    char *shim_path;
    int shim_fd; /* negative: why it couldn't be opened */
};

/* Containers that have not ended, in the order of their arrival. */
struct nm_lives {
    struct nm_live_container **all;
    struct nm_policy_container **views; /* the same order */
    size_t n, size;
    void *by_id; /* tsearch tree of struct nm_container, of those that have ended, too */
};

/* Containers that have ended, the oldest first. */
struct nm_ended {
    struct nm_container **all;
    size_t n, size;
    size_t n_results;       /* of those, kept for their owners, ... */
    uint64_t results_bytes; /* ... and what is kept with them */
};

struct nm_apps {
    struct nm_app *all;
    struct nm_policy_app *views; /* the same order */
    size_t n, size;
    bool full_told;
};

/* In the slice, alive, and not known to the journal. */
struct nm_orphans {
    struct nm_cgroup **all;
    size_t n;
};

struct nm_timers {
    sd_event_source *sample, *housekeeping, *state_dir;
    uint64_t sample_due_usec, housekeeping_due_usec;
    uint64_t started_realtime_usec; /* when nmd was started */
};

/* The round that goes on, or the newest one. */
struct nm_round_state {
    sd_event_source *source, *wake_timer;
    unsigned kicks; /* bits of enum nm_policy_trigger: what the round that was kicked is for */
    bool is_on;
    bool shed_due;         /* the queue may be longer than its limit, which was lowered */
    uint64_t cause_usec;   /* the sample or event that set it off */
    uint64_t decided_usec; /* when it looked at the containers */
    struct nm_policy_verdict verdict; /* its pointers are dead after the round */
    enum nm_reason hold;
    char hold_id[NM_ID_SIZE];
    enum nm_reason preempt_hold; /* of the newest round with a sample */
    uint64_t squeeze_millicores;
    enum nm_reason squeeze_reason;
    bool invariant_broken;
};

/* What upstreams have asked for as owners of containers. */
struct nm_owners {
    char limited[16];     /* the owner whose queued containers are limited; "": none is */
    uint32_t queue_limit; /* to so many; UINT32_MAX: any number */
    bool limit_due;       /* it has been told, and nobody has been discarded for it yet */
    char asked[16];       /* the owner who is asked before a container counts as ended; "": none is */
    nm_manager_container_cb_t ask;
    void *ask_userdata;
    const struct nm_upstream_ops *upstream; /* what an upstream shows of itself; NULL: there is none */
    void *upstream_userdata;
};

struct nm_draining {
    bool is_on;
    bool opportunistic;     /* those were not to be waited for */
    bool until_restart;     /* it ends with this nmd, unless that dies amid it */
    bool due;               /* something waits again on a draining node */
    uint64_t deadline_usec; /* absolute, UINT64_MAX: none */
    sd_event_source *timer;
};

struct nm_manager {
    sd_event *event;
    struct nm_config *config;
    char *state_dir, *runtime_dir, *log_dir, *proc_root;
    int confinement; /* 0: containers can have namespaces of their own; else why not */
    struct nm_cgroup_backend *backend;
    struct nm_store *store;
    struct nm_journal journal;
    struct nm_orphans orphans;

    struct nm_policy_settings settings;
    struct nm_settling settling;
    struct nm_task_limits tasks;
    struct nm_policy *policy, *shadow_policy;

    struct nm_lives lives;
    struct nm_ended ended;
    struct nm_apps apps;

    struct nm_sampled sampled;
    struct nm_sampling *sampling;
    struct nm_growth_probe *glance;
    struct nm_pressure *pressure;
    struct nm_timers timers;
    struct nm_health *health;
    struct nm_past *past;

    struct nm_round_state round;
    struct nm_starts starts;
    struct nm_reclaim *reclaim;
    struct nm_helper *helper;
    struct nm_slice *slice;
    struct nm_owners owners;
    struct nm_draining drain;
    struct nm_sessions *sessions;

    struct nm_counters counters;
    uint64_t removable_since_usec; /* realtime; 0: something holds the node */
    struct nm_durable *durable;
    struct nm_decisions decisions;
    struct nm_events *events;
    struct nm_recorder *recorder; /* NULL: nothing is recorded */
};
