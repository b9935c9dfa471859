/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The manager's state. Only the rooms of agent/ (its folders) that work on this state include this header. The manager
 * owns all state and has one function per kind of event. Rooms and their files are layers: docs/ARCHITECTURE.md
 * describes the rooms, and tests/style has the order of their files.
 *
 * State that one file alone works on is private to that file: the structs below have only a pointer to it. The file has
 * a function to make it and a function to free it, which manager.c calls.
 *
 * References: m->live owns the live containers. A live container has no pointers to other owned objects. Its view's
 * `owner` points back at the live container as long as the container is in that list.
 */

#include "agent/daemon.h"
#include "agent/owners.h"
#include "agent/status.h"
#include "agent/upstream.h"
#include "agent/config/settings.h"
#include "agent/health.h"
#include "agent/launch/launch.h"
#include "agent/state/run-phase.h"
#include "agent/store/store.h"
#include "util/fair-queue.h"

/* The action that was journalled for a container and must still be carried out. */
enum nm_todo {
    NM_TODO_NOTHING,
    NM_TODO_LAUNCH,
    NM_TODO_FREEZE,
    NM_TODO_THAW,
    NM_TODO_RECLAIM,
    NM_TODO_TERMINATE,
    NM_TODO_KILL
};

/* The part of a guaranteed container's promised memory that the slice must protect now. All zeros at the container's
 * start. */
struct nm_slice_claim {
    uint64_t promised_bytes, bytes;
    uint64_t peak_bytes, since_usec; /* the largest claim needed since the time since_usec */
    uint64_t charged_bytes, seen_usec; /* memory.current and time of the newest evaluated sample */
};

/* State of one run of a container. It is reset before the next run. */
struct nm_run {
    bool adopted;             /* an earlier nmd began the run */
    /* systemd stops the container's scope without a request of nmd. A cause of the end and not a phase: the message may
     * arrive in each phase with a cgroup, and the next phases are the same with it and without it. */
    bool stopped;
    bool unkillable;          /* the container is counted as unkillable */
    bool unread_logged;       /* nmd has logged that it can't measure the container */
    bool oom_reported;        /* the cause of the container's oom kills was determined */
    bool global_oom;          /* the slice or the node was out of memory, not only the container */
    uint64_t oom_kill_usec;   /* time of the last oom kill that nmd saw; 0 if nmd saw no oom kill */
    uint64_t output_max_bytes; /* limit of the container's log, for stdout and for stderr each */
    struct nm_slice_claim claim;
    struct nm_cgroup_sample sample;
};

/* A kill, from SIGTERM to the end of the container. */
struct nm_kill {
    sd_event_source *timer; /* end of the grace period; after SIGKILL, the next check of the container */
    uint64_t begun_usec;    /* time of the first SIGKILL to all processes */
    uint64_t check_usec;    /* interval until the next check */
    unsigned n;             /* how often SIGKILL was sent */
};

/* The signals that nmd sends to all processes of a container. */
struct nm_signals {
    struct nm_procs_pass *pass; /* pass over all processes (cgroup/procs.h) */
    int sent;                   /* the signal that `pass` sends */
    uint64_t due;               /* signals to send after `pass`; bit 0: signal 1 */
};

/* The worker that reclaims memory of a container, and its task. */
struct nm_reclaim_worker {
    uint64_t bytes, within_usec; /* within_usec 0: no time limit */
    uint64_t begun_usec;
    sd_event_source *child, *timer;
    bool late; /* the worker exceeded its time limit and was killed */
};

/* Shadow mode: the last recorded decision, so that it is recorded once. */
struct nm_shadow_recorded {
    enum nm_decision_kind kind;
    bool any;
};

/* The last recorded reason for waiting. */
struct nm_queue_recorded {
    enum nm_reason reason;
    uint64_t usec; /* time of the record */
};

/* Entry in m->starts while the container is admitted and waits for its launch. */
struct nm_start_entry {
    struct nm_fair_item item;
    bool counts; /* the container counts as opportunistic in the queue, even if its type changes */
};

/* A container that has not ended, with all data that is needed to run it. */
struct nm_live_container {
    struct nm_manager *m;
    struct nm_container *c;
    uint64_t command_bytes; /* size of the container's command and of its owner's blob */
    struct nm_cgroup *cg; /* NULL until the cgroup exists */
    struct nm_cgroup_limits limits;
    enum nm_run_phase phase;
    struct nm_run run;
    struct nm_cgroup_watch *events_watch, *memory_watch;
    struct nm_cgroup_sampler *sampler;
    struct nm_launch *launch;
    int input_fd; /* connection of the command's standard input, closed once the shim has a copy; 0: no connection */
    uint16_t rows, columns; /* size of the command's terminal, used with input_fd; 0 if there is no terminal */
    enum nm_todo todo;
    struct nm_start_entry start;
    struct nm_kill kill;
    sd_event_source *end_source;      /* runs the handling of the container's end in a later turn of the event loop */
    struct nm_procs_pass *priority_pass; /* pass over all processes of the container (cgroup/procs.h) */
    struct nm_signals signals;
    struct nm_reclaim_worker reclaim_worker;
    bool restore_due;                 /* the limits that an earlier nmd has set must still be compared */
    bool limits_due;                  /* the limits have changed since the cgroup's creation began */
    bool priority_due;                /* the type has changed since the shim got the command's priority */
    uint64_t retry_usec;              /* earliest time of the next attempt after a failed start: the next sample */
    unsigned limits_in_flight;        /* number of set_limits calls in progress; each holds a pointer to this struct */
    bool has_snapshot;                /* this nmd process has written the container's snapshot (container-snapshot.h) */
    bool has_end;
    struct nm_launch_record end;      /* valid with has_end */
    bool decision_open;               /* `decision` waits for its outcome */
    bool regain_due;                  /* the next sample shows how much the action has really freed */
    struct nm_resources use_before;   /* use at the time of the action */
    struct nm_decision decision;      /* the newest decision about this container */
    struct nm_shadow_recorded shadow;
    struct nm_queue_recorded queue_recorded;
    struct nm_recorded *recorded;     /* owned; NULL: the container is in no recording (recorder.c) */
};

/* The newest sample, without the figures of the containers, which struct nm_live_container has. */
struct nm_sampled {
    uint64_t at_usec, cost_usec;
    struct nm_node_sample node;
    bool node_valid;
    uint64_t slice_unowned_bytes; /* memory charged to the slice but not to its containers */
    struct nm_link_sample links[NM_LINKS_MAX];
    unsigned n_links;
    double uplink_utilization;
    uint64_t suspended_usec; /* how long the host has slept since its boot */
    bool woke;               /* the host has just resumed from sleep, so the next sample is due soon */
    uint32_t kernel_kills;   /* oom kills of whole containers, reported to the next round */
};

#define NM_EVENT_RING 1024
#define NM_DECISIONS_MAX 20000
#define NM_ENDED_MAX 10000
#define NM_ENDED_PER_USER 2500     /* per user; does not apply to root */
#define NM_RESULTS_MAX 5000        /* results kept for owners that have not acknowledged them yet */
#define NM_ENDED_COMMAND_BYTES 1024 /* longest command line kept for an ended container */
#define NM_APPS_MAX 4096
#define NM_APP_KEY "app." /* prefix of an application's key in the journal, before the application's name */

struct nm_app {
    char name[NM_NAME_SIZE]; /* "" for containers without an application */
    uint64_t seen_usec;      /* realtime of the last start or end of one of the application's containers */
    uint64_t mean_run_usec;  /* mean run time of containers that exited with 0 */
    uint32_t n_runs;
};

/* The journal's state in memory. Its rows are in SQLite. */
struct nm_journal {
    struct nm_store_opened opened;
    int error; /* errno of the last write; 0 if the write succeeded */
    char boot_id[64];
    uint64_t next_seq; /* arrival number of the next container */
    char note[320];    /* a sentence for administrators about the last recovery, or "" */
};

/* Containers that have not ended, sorted by arrival. */
struct nm_live_containers {
    struct nm_live_container **all;
    struct nm_policy_container **views; /* in the same order */
    size_t n;
};

/* Containers that have ended, the oldest first. */
struct nm_ended {
    struct nm_container **all;
    size_t n;
    size_t n_results;       /* number of results kept for their owners */
    uint64_t results_bytes; /* size of the data kept with these results */
    uint64_t log_bytes;     /* total size of the logs, as far as they were measured */
};

struct nm_apps {
    struct nm_app *all;
    struct nm_policy_app *views; /* in the same order */
    size_t n;
};

struct nm_cgroup_list {
    struct nm_cgroup **all;
    size_t n;
};

/* Cgroups in the slice that belong to no live container. */
struct nm_unowned_cgroups {
    struct nm_cgroup_list orphans;   /* have processes, but the journal does not know them */
    struct nm_cgroup_list leftovers; /* of ended containers, and not removed completely yet */
};

struct nm_timers {
    sd_event_source *sample;
    uint64_t sample_due_usec;
    bool is_idle; /* sample_due_usec is later than usual, because the node had no container at the last sample */
    struct nm_upkeep *upkeep; /* manager.c */
    sd_event_source *restore; /* recovery-limits.c */
    uint64_t started_realtime_usec; /* when nmd was started */
};

/* The current round, or the newest one. */
struct nm_round_state {
    sd_event_source *source;
    struct nm_round_internal *internal; /* manager-round.c */
    unsigned triggers; /* bits of enum nm_policy_trigger: the reasons for the requested round */
    bool is_on;
    bool shed_due;         /* the queue's limit was lowered, so the queue may be too long */
    uint64_t cause_usec;   /* time of the sample or event that caused the round */
    uint64_t decided_usec; /* time at which the round read the containers' state */
    struct nm_policy_verdict verdict; /* its pointers are invalid after the round */
    enum nm_reason queue_reason;
    char queue_head_id[NM_ID_SIZE];
    enum nm_reason preempt_wait_reason; /* verdict's preempt_wait_reason of the newest round with a sample */
    struct nm_squeeze *squeeze; /* container-limits.c */
};

/* Limits and callbacks that owners of containers have set. */
struct nm_owners {
    char limited[16];     /* owner whose number of queued containers is limited; "" if no owner has a limit */
    uint32_t queue_limit; /* limit of the owner in `limited`; UINT32_MAX: any number */
    bool limit_due;       /* the limit was set, and no round has applied it yet */
    /* owner whose containers are passed to `ask` before they count as ended; "" if no owner has this callback */
    char asked[16];
    nm_manager_container_cb_t ask;
    void *ask_userdata;
    struct nm_registered_upstream *upstream; /* manager-status.c */
};

struct nm_draining {
    bool is_on;
    bool opportunistic;     /* opportunistic containers are killed immediately */
    bool until_restart;     /* a normal restart of nmd ends the drain; a crash of nmd does not */
    bool due;               /* a container was queued again during the drain, so the next round must end it */
    uint64_t deadline_usec; /* absolute; UINT64_MAX: no deadline */
    sd_event_source *timer;
};

struct nm_manager {
    sd_event *event;
    struct nm_config *config;
    char *state_dir, *runtime_dir, *log_dir, *proc_root;
    struct nm_cgroup_backend *backend;
    struct nm_store *store;
    struct nm_journal journal;
    struct nm_unowned_cgroups unowned;

    struct nm_policy_settings settings;
    struct nm_settings_basis *settings_basis;
    struct nm_task_limits tasks;
    struct nm_policy *policy, *shadow_policy;

    struct nm_live_containers live;
    struct nm_ended ended;
    struct nm_apps apps;
    struct nm_lists *lists; /* allocated sizes of the three lists, and the index over all containers */

    struct nm_sampled sampled;
    struct nm_sampling *sampling;
    struct nm_growth_probe *growth_probe;
    struct nm_pressure *pressure;
    struct nm_timers timers;
    struct nm_health *health;
    struct nm_saved_history *saved_history;

    struct nm_round_state round;
    struct nm_starts *starts;
    struct nm_reclaim *reclaim;
    struct nm_helper *helper;
    struct nm_slice *slice;
    struct nm_owners owners;
    struct nm_draining drain;
    struct nm_sessions *sessions;

    struct nm_counters counters;
    uint64_t removable_since_usec; /* realtime; 0 if the node is not removable */
    struct nm_durable *durable;
    struct nm_decisions *decisions;
    struct nm_events *events;
    struct nm_recorder *recorder; /* NULL: no recording */
};

/* ---- the use of the node by containers -------------------------------------------------------- */

/* Fills in the counts of containers, their allocations, and the parts of U. Leaves all other members of *ret
 * unchanged. */
void nm_usage_fill(const struct nm_manager *m, struct nm_status *ret);
/* Updates the time since which the node is removable. Must be called after a container or an orphan appears or is
 * removed. */
void nm_removable_update(struct nm_manager *m);
/* Sets the initial value of that time. Is called once, after recovery has read m->removable_since_usec from the
 * journal. */
void nm_removable_recover(struct nm_manager *m);

/* ---- the request for a round ------------------------------------------------------------------ */

/* Schedules a round in a later turn of the event loop. Several requests before that turn lead to one round with the
 * strongest trigger: EXTRA_SAMPLE is stronger than PRESSURE, and PRESSURE is stronger than CHANGE. SAMPLE is not
 * allowed, because only the sampling timer starts SAMPLE rounds. */
void nm_round_request(struct nm_manager *m, enum nm_policy_trigger trigger);
