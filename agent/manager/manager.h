/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The manager, seen from inside. It owns all state and has one method per thing that can happen;
 * nothing outside this folder and nmd.c includes this header. Its rooms:
 *
 *   manager.c          birth and death, timers, watches, the outer frame of a round
 *   manager-round.c    one round: sample, decide, hand the actions out
 *   manager-act.c      carrying actions out: admit, pause, resume, reclaim, kill
 *   manager-life.c     what containers do by themselves: start, freeze, run out of memory, end
 *   manager-request.c  what people ask for
 *   manager-record.c   decisions, events, subscriptions
 *   manager-memory.c   what outlives a restart beside containers and decisions: counters, the policy's memory, drain
 *   manager-status.c   what there is to see
 *   recovery.c         adopting what an earlier nmd left
 *   recovery-decide.c  what became of its decisions
 *   recorder.c         nmd --record
 *   container-files.c  the directories of containers
 *
 * References: a live container is owned by m->live and points into nothing else that is owned; its
 * view's `owner` points back at it, for the time it is in that list.
 */

#include "agent/agent.h"
#include "agent/config/settings.h"
#include "agent/health.h"
#include "agent/launch/launch.h"
#include "agent/store/store.h"

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
};

/* A container that has not ended, with everything that is needed to run it. */
struct nm_live {
    struct nm_manager *m;
    struct nm_container *c;
    struct nm_cgroup *cg; /* NULL until its cgroup is there */
    struct nm_cgroup_limits limits;
    struct nm_cgroup_watch *events_watch, *memory_watch;
    struct nm_cgroup_sampler *sampler;
    struct nm_cgroup_sample sample;
    struct nm_launch *launch;
    enum nm_todo todo;
    uint64_t reclaim_bytes;
    sd_event_source *kill_timer;      /* grace, then unkillable */
    sd_event_source *end_source;      /* the turn in which its end is dealt with */
    sd_event_source *reclaim_child;
    bool creating;                    /* the backend is at work on its cgroup */
    bool shim_gone;                   /* ENDED was heard, or there never was a shim */
    bool killed;                      /* SIGKILL was sent to the whole cgroup */
    bool unkillable;                  /* counted as such */
    bool doomed;                      /* a kill came while the cgroup was being made */
    bool adopted;
    bool at_gate;                     /* if its shim has run nothing, it goes back into the queue, where it came from */
    unsigned limits_in_flight;        /* set_limits calls under way: they hold a pointer to this */
    bool ending;                      /* its end waits for the next turn of the event loop */
    bool removed;                     /* out of the lists; the last call under way frees it */
    bool has_copy;                    /* this nmd has written one (copy.h) */
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

struct nm_subscription {
    struct nm_manager *m;
    nm_event_cb_t cb;
    void *userdata;
    struct nm_subscription *next;
};

#define NM_EVENT_RING 1024
#define NM_DECISIONS_KEPT 20000
#define NM_ENDED_MAX 10000
#define NM_APPS_MAX 4096

struct nm_app {
    char name[NM_NAME_SIZE]; /* "" for containers without one */
    uint32_t live;           /* live containers that refer to it */
    uint64_t mean_run_usec;  /* of those that exited with 0 */
    uint32_t n_runs;
};

struct nm_manager {
    sd_event *event;
    struct nm_config *config;
    char *config_path, *state_dir, *runtime_dir, *log_dir, *shim_path, *proc_root, *node_proc_root;
    int shim_fd; /* of shim_path; negative: why it couldn't be opened */
    bool config_must_exist;
    struct nm_cgroup_backend *backend;
    struct nm_store *store;
    struct nm_store_opened opened;
    uint64_t next_seq, next_decision, next_event;
    int store_error; /* the last write's, 0 = fine */
    char boot_id[64];
    char recovery_note[320]; /* what an operator should know of the last recovery, "" if nothing */
    struct nm_cgroup **orphans; /* in the slice, alive, and not known to the journal */
    size_t n_orphans;

    struct nm_policy_settings settings;
    struct nm_policy *policy, *shadow_policy;

    struct nm_live **live; /* arrival order */
    struct nm_view **views; /* the same order */
    size_t n_live, live_size;
    struct nm_container **ended; /* oldest first */
    size_t n_ended, ended_size;
    void *by_id; /* tsearch tree of struct nm_container, live and ended */
    struct nm_app *apps;
    struct nm_policy_app *app_views;
    size_t n_apps, apps_size;

    struct nm_node_sampler *node_sampler;
    struct nm_link_sampler *link_sampler;
    struct nm_node_sample node;
    bool node_valid;
    struct nm_link_sample links[NM_LINKS_MAX];
    unsigned n_links;
    double uplink_utilization;
    struct nm_history *history;
    uint64_t sample_cost_usec, last_sample_usec, sample_due_usec;
    uint64_t cpu_event_usec; /* the stall that is being looked into, or 0 */
    uint64_t cause_usec; /* of the round that goes on: the sample or event that set it off */
    sd_event_source *sample_timer, *close_timer, *wake_timer, *round_source, *drain_timer,
        *housekeeping_timer, *cpu_look_timer, *state_dir_watch;
    struct nm_psi_watch *node_memory_psi, *slice_memory_psi, *cpu_psi;
    struct nm_health *health;

    struct nm_policy_verdict
        verdict; /* of the newest round; its pointers are dead after that round */
    enum nm_reason hold;
    char hold_id[NM_ID_SIZE];
    uint64_t squeeze_millicores;
    int slice_cpu_fd, slice_memory_fd; /* the slice's cpu.stat and memory.stat */
    uint64_t glance_usec, glance_cpu_usec; /* the glance before: when, and what all had used by then */
    uint64_t cpu_look_after_usec, cpu_look_pause_usec; /* not again before: the last surge was none */
    uint64_t in_use_millicores;
    uint64_t in_use_bytes; /* in the newest full sample, beside what the node showed then */
    bool shed_due; /* the queue may be longer than its limit, which was lowered */
    bool in_round;
    uint64_t decided_usec; /* when the newest round looked at the containers */
    bool invariant_broken;

    bool draining;
    bool drain_opportunistic;     /* those were not to be waited for */
    uint64_t drain_deadline_usec; /* absolute, UINT64_MAX: none */

    struct nm_counters counters, saved_counters;
    struct nm_policy_memory saved_memory;
    struct nm_histogram reaction_pause, reaction_kill;
    struct nm_event_record *events; /* ring of NM_EVENT_RING */
    struct nm_subscription *subscriptions;
    struct nm_recorder *recorder; /* NULL: nothing is recorded */
    uint64_t started_realtime_usec;
};

/* manager.c */
int nm_manager_add_live(struct nm_manager *m, struct nm_container *c,
                        struct nm_live **ret);  /* takes c */
void nm_manager_remove_live(struct nm_live *l); /* c goes to the ended ones */
void nm_manager_tell_unkillable(struct nm_manager *m); /* health hears how many there are now */
int nm_manager_add_ended(struct nm_manager *m, struct nm_container *c); /* takes c */
void nm_manager_index(struct nm_manager *m, struct nm_container *c);
struct nm_container *nm_manager_by_id(struct nm_manager *m, const char *id);
struct nm_live *nm_manager_live_of(struct nm_manager *m, const struct nm_container *c);
int nm_manager_arm_drain(struct nm_manager *m);
void nm_manager_carry_out_drain(struct nm_manager *m, const struct nm_caller *who);
uint32_t nm_manager_app(struct nm_manager *m, const char *name);
void nm_manager_kick(struct nm_manager *m); /* a round soon: something changed */
int nm_manager_resettle(struct nm_manager *m, struct nm_config *c,
                        char **ret_message); /* settings from c; takes c */
void nm_manager_slice_limits(struct nm_manager *m);
/* Opened once, and at nmd's start: an upgrade puts another file in its place before it restarts nmd. Where it was not
 * there it is looked for again. Returns the descriptor, which stays the manager's. */
int nm_manager_open_shim(struct nm_manager *m);

/* manager-round.c */
void nm_manager_round(struct nm_manager *m, enum nm_policy_trigger trigger);
int nm_manager_sample(struct nm_manager *m); /* node and all containers, afresh */
void nm_live_sample(struct nm_live *l, uint64_t now_usec);

/* glance.c: memory and CPU are followed between two samples */
void nm_glance_look_at_cpu(struct nm_manager *m); /* a stall, or a surge, may have begun */
int nm_glance_start(struct nm_manager *m);
/* after each round, when what it decided has begun; sampled: it had a sample of its own */
void nm_glance_rearm(struct nm_manager *m, const struct nm_policy_verdict *v, bool sampled);
void nm_glance_collect(struct nm_manager *m); /* before all containers are sampled */

/* manager-act.c: each of these journals what is meant and then does it; inside a round, all intents
 * are written in one transaction first, and nm_act_carry_out() follows. */
void nm_act_carry_out(struct nm_live *l);
void nm_act_admit(struct nm_live *l);
void nm_act_pause(struct nm_live *l, bool by_user);
void nm_act_resume(struct nm_live *l);
void nm_act_reclaim(struct nm_live *l, uint64_t bytes);
/* reason becomes the container's exit reason. now: SIGKILL at once. */
void nm_act_kill(struct nm_live *l, enum nm_exit_reason reason, bool now);
void nm_act_discard(struct nm_live *l, enum nm_exit_reason reason); /* from the queue */
void nm_act_limits(struct nm_live *l); /* what its type and request call for, in place */
/* After an adoption: whatever differs from what type and request call for. An earlier nmd may have
 * died before it got round to it, or have left a squeeze behind that is nobody's any more. */
void nm_act_put_right(struct nm_live *l);
void nm_act_priority(struct nm_live *l); /* of each of its processes */
void nm_act_squeeze(struct nm_manager *m, uint64_t total_millicores);
int nm_oom_score_adj(const struct nm_container *c);
void nm_act_check_drift(struct nm_manager *m);

/* manager-life.c */
void nm_life_set_state(struct nm_live *l, enum nm_state to); /* journals and tells */
int nm_life_journal(struct nm_live *l);
int nm_life_copy(struct nm_live *l); /* see copy.h; for those that were launched or have one */
void nm_life_copy_waiting(struct nm_live *l); /* for those that wait and have none yet */
int nm_life_attach(struct nm_live *l, struct nm_cgroup *cg); /* watches and sampler; takes cg */
void nm_life_tell_shim(struct nm_live *l); /* which of its processes that is, to the sampler */
void nm_life_launched(struct nm_launch *launch, enum nm_launch_phase phase,
                      const struct nm_launch_record *r, void *userdata);
void nm_life_count_oom_kills(struct nm_live *l, uint64_t n); /* n: of its whole life */
/* Not now (no room on the disk): back into the queue as soon as nothing is left of the attempt. */
void nm_life_hold_launch(struct nm_live *l);
void nm_life_check_end(struct nm_live *l);
/* Nothing of it is left to be killed: it has ended, and only waits for the turn in which that is dealt with. Not so
 * what couldn't be started, which would then go back into the queue. */
bool nm_life_is_over(const struct nm_live *l);
/* How c ended, by l->end (with has_end), else by what else is known. Fills in exit_* and message. */
void nm_life_judge_end(struct nm_live *l);
void nm_life_fail_launch(struct nm_live *l, enum nm_launch_stage stage, int error,
                         const char *message);
void nm_life_observe(struct nm_live *l); /* reads cgroup.events and follows */

/* manager-record.c */
void nm_record_begin(struct nm_live *l, enum nm_decision_kind kind,
                     const struct nm_policy_action *a, const struct nm_policy_verdict *v,
                     enum nm_reason reason);
void nm_record_by(struct nm_live *l, enum nm_decision_kind kind, enum nm_reason reason,
                  const struct nm_caller *who);
void nm_record_acted(struct nm_live *l);
void nm_record_told(struct nm_live *l); /* acted, and the next nmd must know that, too */
void nm_record_effective(struct nm_live *l);
void nm_record_failed(struct nm_live *l, const char *why);
void nm_record_regained(struct nm_live *l, const struct nm_resources *regained);
void nm_record_refusal(struct nm_manager *m, const struct nm_submit *s,
                       const struct nm_resources *request, enum nm_reason reason);
void nm_record_shadow(struct nm_live *l, enum nm_decision_kind kind,
                      const struct nm_policy_action *a, const struct nm_policy_verdict *v);
void nm_record_state_event(struct nm_live *l, enum nm_state from, enum nm_state to);
void nm_record_node_event(struct nm_manager *m, const char *text);
void nm_record_store_result(struct nm_manager *m, int r);

/* manager-memory.c */
void nm_memory_save(struct nm_manager *m); /* what has changed since; cheap when nothing has */
void nm_memory_save_app(struct nm_manager *m, uint32_t app);
void nm_memory_save_drain(struct nm_manager *m);
void nm_memory_save_all(struct nm_manager *m); /* into a new journal */
void nm_memory_load(struct nm_manager *m);

/* recovery.c */
int nm_recovery_run(struct nm_manager *m, char **ret_message);
void nm_recovery_check_orphans(struct nm_manager *m); /* forgets those that have gone */
void nm_recovery_replace_journal(
    struct nm_manager *m); /* the one in use is damaged: a new one, with all that is known */

/* recovery-decide.c: the newest decision about a container, which an earlier nmd may have left open */
void nm_recovery_reopen_decision(struct nm_live *l); /* once its state is settled */
void nm_recovery_close_decision(struct nm_manager *m, const char *id, const char *why);

/* recorder.c: a trace for nmsim; begun by nm_manager_record() */
struct nm_recorder;
void nm_recorder_sample(struct nm_recorder *r); /* the newest sample; allocates nothing */
struct nm_recorder *nm_recorder_free(struct nm_recorder *r);
NM_DEFINE_CLEANUP(struct nm_recorder *, nm_recorder_free)

/* container-files.c */
#define NM_DIR_SIZE 4096
void nm_manager_container_dir(const struct nm_manager *m, const char *id, char buf[NM_DIR_SIZE]);
typedef void (*nm_files_cb_t)(const char *id, void *userdata);
int nm_files_foreach(const struct nm_manager *m, nm_files_cb_t cb, void *userdata);
void nm_files_forget(struct nm_manager *m, const char *id); /* directory and logs */
