/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * agent/'s one public header: what rpc/ and upstreams (yarn/) may use. Requests come in with who
 * asks; answers are plain structs. Everything runs in the event loop's thread.
 */

#include <jansson.h>
#include <systemd/sd-event.h>

#include "agent/config/config.h"
#include "agent/container.h"
#include "agent/decision/decision.h"
#include "agent/launch/output-read.h"
#include "agent/types.h"
#include "monitor/monitor.h"

struct nm_manager;

/* Who asks, from SO_PEERCRED. admin: root, the uid nmd runs as, or a member of the admin group. */
struct nm_caller {
    uid_t uid;
    gid_t gid;
    pid_t pid;
    bool admin;
};

/* ---- refusals ------------------------------------------------------------ */

/* Positive outcomes of requests; each has its HTTP status and nmctl exit code. */
enum nm_agent_outcome {
    NM_AGENT_E_INVALID = 1,   /* a bad value: 400 */
    NM_AGENT_E_FORBIDDEN,     /* may not: 403 */
    NM_AGENT_E_NOT_FOUND,     /* no such container (or not yours): 404 */
    NM_AGENT_E_CONFLICT,      /* not in a state where this is possible: 409 */
    NM_AGENT_E_TOO_LARGE,     /* larger than the node, or guaranteed capacity is taken: 422 */
    NM_AGENT_E_QUEUE_FULL,    /* 429 */
    NM_AGENT_E_UNAVAILABLE,   /* draining, unhealthy, store full, too many containers: 503 */
};

/* Filled in with every outcome: what was wrong, with which value, and what is allowed. */
struct nm_problem {
    enum nm_agent_outcome outcome;
    char thing[48];      /* "memory", "id", "user", ... */
    char value[96];      /* as given, shortened; control characters replaced */
    char message[400];   /* a whole sentence (or two) for a person */
};

/* ---- requests ------------------------------------------------------------ */

/* Strings are the caller's and only read. NULL or 0 = not given. */
struct nm_submit {
    enum nm_execution_type type;
    const char *name, *app;  /* the name: none that a live one has which the same user has submitted by the same owner,
                                unless there is an id as well */
    uint64_t memory_bytes;
    uint32_t vcores_milli;
    const char *const *argv; /* NULL-terminated, at least one */
    const char *const *env;  /* "NAME=value", NULL-terminated, or NULL */
    const char *workdir, *user;
    uint64_t min_runtime_usec;
    uint64_t expected_usec;
    bool exempt;             /* application master: administrators only */
    bool allow_new_privs;    /* administrators only */
    const char *owner;       /* "local" */
    const char *id;          /* the owner's own, which no container has that is still known; NULL: one of nmd's */
    struct nm_blob blob;     /* the owner's as well: journalled with the container, for as long as that lives or is kept
                                for the owner */
    const char *log_dir;     /* of the owner's, absolute and without links: in it the command itself writes the plain
                                files "stdout" and "stderr", as its user. They are what nm_manager_open_log()
                                opens; nmd neither makes, shortens nor deletes what is in there */
    bool cpu_is_share;       /* while it is guaranteed, it is promised its memory only: its CPU is a share of what there
                                is, by weight, and no reason to refuse it or to let it wait */
    bool prepare;            /* it is NEW until nm_manager_prepared() */
    bool replace;            /* see nm_manager_make_way() */
    bool keep_result;        /* how it ended is kept until nm_manager_acknowledge(), whatever else is forgotten */
    int input_fd;            /* a connection that carries its standard input (util/frame.h), which stays the caller's;
                                0: none. It isn't kept over a restart of nmd while the container waits */
    uint16_t rows, columns;  /* of a terminal that it is given, with input_fd only: whoever is there uses it; 0: none */
};

/* All: 0, a positive nm_agent_outcome with *ret_problem filled, or -errno. `id` is an id, or a name
 * that is unique among the live containers that the caller may see (else the newest ended one of
 * that name). */
int nm_manager_submit(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                      const struct nm_container **ret, struct nm_problem *ret_problem);
/* The first half of a submission with `replace`, which takes the name over: if everything else speaks for it, the live
 * container that has the name is ended as nm_manager_kill() does it. ret_id: that one's, whose end is to be waited for;
 * "": the name is free, so that it can be submitted. */
int nm_manager_make_way(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                        char ret_id[NM_ID_SIZE], struct nm_problem *ret_problem);
int nm_manager_pause(struct nm_manager *m, const struct nm_caller *who, const char *id,
                     struct nm_problem *ret_problem);
int nm_manager_resume(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem);
/* now: SIGKILL at once, else SIGTERM and after the grace period SIGKILL. */
int nm_manager_kill(struct nm_manager *m, const struct nm_caller *who, const char *id, bool now,
                    struct nm_problem *ret_problem);

/* Another command in a container that runs: in its cgroup, with its user, directory, environment and namespaces. */
struct nm_exec {
    const char *const *argv; /* NULL-terminated, at least one */
    const char *const *env;  /* "NAME=value", NULL-terminated, or NULL: on top of the container's */
    bool input;              /* what comes over the connection is its standard input, which else is empty */
    uint16_t rows, columns;  /* of the terminal that it is given; 0: none */
};
/*
 * Makes ready what runs it and speaks over client_fd from then on (util/frame.h); the descriptor itself stays the
 * caller's. nm_manager_exec_begin() lets it begin, or nm_manager_exec_drop() gives it up, with that number. Whether it
 * is still there by then is no matter.
 */
int nm_manager_exec(struct nm_manager *m, const struct nm_caller *who, const char *id, const struct nm_exec *e,
                    int client_fd, uint64_t *ret_number, struct nm_problem *ret_problem);
void nm_manager_exec_begin(struct nm_manager *m, uint64_t number);
void nm_manager_exec_drop(struct nm_manager *m, uint64_t number);
/* Of what has ended: its record and its logs go. */
int nm_manager_remove(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem);
int nm_manager_promote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                       struct nm_problem *ret_problem);
int nm_manager_demote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem);
/* memory_bytes and vcores_milli: 0 = leave. */
int nm_manager_update(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      uint64_t memory_bytes, uint32_t vcores_milli, struct nm_problem *ret_problem);
/* Administrators only. No admissions from now on; what still lives at deadline_usec from now
 * (UINT64_MAX: never) is killed; kill_opportunistic: those at once. Draining again changes the
 * deadline. */
int nm_manager_drain(struct nm_manager *m, const struct nm_caller *who, uint64_t deadline_usec,
                     bool kill_opportunistic, struct nm_problem *ret_problem);
int nm_manager_undrain(struct nm_manager *m, const struct nm_caller *who,
                       struct nm_problem *ret_problem);
/* Opportunistic admissions go on at once, though containers were killed for want of room a moment ago. Also fine
 * if nothing held them. */
int nm_manager_close_breaker(struct nm_manager *m, const struct nm_caller *who,
                             struct nm_problem *ret_problem);
/* SIGHUP or an administrator's request: reads the configuration files anew. Refused whole on any
 * error. */
int nm_manager_reload(struct nm_manager *m, struct nm_problem *ret_problem);

/* ---- helpers --------------------------------------------------------------- */

/*
 * Moves a running process of nmd's own, which serves other hosts, into a cgroup beside the slice. Its CPU weight is
 * half of what a guaranteed container of one vcore gets at that level. There is one helper at a time. Its cgroup is
 * removed when the helper or nmd ends. done: 0, or -errno with a reason. It is called once, perhaps before this
 * function returns, and never after the manager has been freed. -EOPNOTSUPP: this host has no CPU weights.
 */
typedef void (*nm_manager_placed_cb_t)(int result, const char *message, void *userdata);
int nm_manager_place_helper(struct nm_manager *m, const char *name, pid_t pid, nm_manager_placed_cb_t done,
                            void *userdata);
bool nm_manager_can_place_helper(const struct nm_manager *m);

/* ---- for owners ----------------------------------------------------------- */

/*
 * Who submits from inside this process (the local socket, an upstream) is the owner of what it submits, under the name
 * that it gave in nm_submit.owner. It may do more to its own containers than the people who use them: `id` is the whole
 * id of one of those, and anybody else's is not found. How they fare it hears by nm_manager_subscribe(): each change of
 * state, from NEW (from NEW to NEW) to COMPLETED, with the container. What there was before nm_manager_foreach_of()
 * tells.
 */

struct nm_end {
    int32_t code;        /* why, in the owner's own numbers, not 0: owner_code of the container, also after a restart */
    const char *message; /* one sentence for people, or NULL */
    bool now;            /* SIGKILL at once, else SIGTERM and after the grace period SIGKILL */
};
/* Whoever ends a container first has said why: of one that is being killed already only `now` is heeded. */
int nm_manager_end(struct nm_manager *m, const char *owner, const char *id, const struct nm_end *e,
                   struct nm_problem *ret_problem);

/* To each process of a container that runs, as it would come from anybody: nothing is recorded, and what the processes
 * make of it is seen when it is (SIGTERM has no grace here). One that is being killed hears it until its grace is over;
 * one that waits or is paused can't: NM_AGENT_E_CONFLICT. SIGKILL is a kill, in whatever state it is. */
int nm_manager_signal(struct nm_manager *m, const char *owner, const char *id, int signo,
                      struct nm_problem *ret_problem);

/* Another type, size and blob, as nm_manager_promote(), _demote(), _update() and _set_blob() have them: all that is
 * given or, if any of it is refused, nothing. NULL and 0 leave what is there. */
struct nm_change {
    const enum nm_execution_type *type;
    uint64_t memory_bytes;
    uint32_t vcores_milli;
    const struct nm_blob *blob;
};
int nm_manager_change(struct nm_manager *m, const char *owner, const char *id, const struct nm_change *c,
                      struct nm_problem *ret_problem);

/* Another blob in the place of nm_submit's, or none: nm_container's `blob` from then on, also after a restart. */
int nm_manager_set_blob(struct nm_manager *m, const char *owner, const char *id, const struct nm_blob *blob,
                        struct nm_problem *ret_problem);

/*
 * A container that was submitted with `prepare` is there, with its promise if it is guaranteed and with its place in
 * the queue if it isn't, but nothing of it begins until its owner has made ready what it needs. That this has begun, or
 * how far it has come, is told with nm_manager_progress(), in a few words: it is LOCALIZING then. In the end it is
 * queued, or ends with a sentence that says why. Meanwhile it can be ended like any other. After a restart of nmd it is
 * NEW again: what was done for it by then is for the owner to find out.
 */
int nm_manager_progress(struct nm_manager *m, const char *owner, const char *id, const char *text,
                        struct nm_problem *ret_problem);
int nm_manager_prepared(struct nm_manager *m, const char *owner, const char *id, struct nm_problem *ret_problem);
int nm_manager_prepare_failed(struct nm_manager *m, const char *owner, const char *id, const char *why,
                              struct nm_problem *ret_problem);

/* Gives a container that is NEW or LOCALIZING another working directory, log_dir (both as in nm_submit) and blob,
 * because the former directory can't be used. A restarted nmd knows the new ones. */
struct nm_move {
    const char *workdir, *log_dir;
    struct nm_blob blob;
};
int nm_manager_move(struct nm_manager *m, const char *owner, const char *id, const struct nm_move *move,
                    struct nm_problem *ret_problem);

/*
 * What runs is ended as a stop ends it, and runs again, with another command or the same: with its id, size, type and
 * place among others, and without a result of what was ended. When nothing of that is left it is NEW, as if it had been
 * submitted with `prepare`, and nm_manager_prepared() lets it begin. An end that somebody else makes meanwhile is its
 * end. Only what is RUNNING; also, by nm_manager_ask_at_end(), what has ended by itself.
 */
struct nm_rerun {
    const char *const *argv, *const *env; /* as in nm_submit; argv NULL: what it had, both */
    const struct nm_blob *blob;           /* in the place of what is kept with it; NULL: that */
};
int nm_manager_rerun(struct nm_manager *m, const char *owner, const char *id, const struct nm_rerun *rerun,
                     struct nm_problem *ret_problem);

/* `ask` is called with each container of this owner that has ended by itself while it ran, before anybody hears of
 * that, with its exit_reason and exit_code: nm_manager_rerun() makes the end none. There is one such owner. NULL: no
 * longer. */
void nm_manager_ask_at_end(struct nm_manager *m, const char *owner,
                           void (*ask)(const struct nm_container *c, void *userdata), void *userdata);

/* An upstream allows so many opportunistic containers of this owner in the queue (UINT32_MAX: any number): of those
 * beyond it the newest are discarded now, as `shed`. Those that come later wait until it is told again: it has more to
 * say when the upstream has heard of them, which would only send again what is discarded at once. Others have nothing
 * to do with it. What has waited in vain for too long ([queue] give-back) is discarded likewise, with
 * NM_REASON_WAITED_TOO_LONG. There is one such upstream; a restarted nmd has to be told anew. */
void nm_manager_set_queue_limit(struct nm_manager *m, const char *owner, uint32_t limit);

/* An upstream wants the node to be of this size (0, each: what the configuration says), until it says something else.
 * A larger node is as large as the host can be; from a smaller one nothing is taken back, and less is given out of the
 * queue. Kept over a reload, and not over a restart. There is one such upstream. */
void nm_manager_set_size(struct nm_manager *m, uint64_t memory_bytes, uint32_t vcores);

/* The owner has told whoever had to know how a container with keep_result ended. Twice is no error. */
int nm_manager_acknowledge(struct nm_manager *m, const char *owner, const char *id, struct nm_problem *ret_problem);

/* All of the owner's that are known, those that live first, each kind in the order in which it came to be: after
 * nm_manager_new(), what an earlier nmd has left. */
void nm_manager_foreach_of(struct nm_manager *m, const char *owner,
                           void (*cb)(const struct nm_container *c, void *userdata), void *userdata);

/* ---- what there is to see ------------------------------------------------ */

/* What is counted by the reason for it as well. */
enum nm_counted {
    NM_COUNT_ADMITTED,
    NM_COUNT_REFUSED,
    NM_COUNT_PAUSED,
    NM_COUNT_RESUMED,
    NM_COUNT_KILLED,
    NM_COUNT_SHED,
    NM_COUNTED,
};

struct nm_counters {
    uint64_t submitted, admitted, refused, completed;
    uint64_t paused, resumed, killed, shed, reclaimed_bytes, running_reclaims; /* by policy */
    uint64_t kernel_oom_kills;
    uint64_t wasted_cpu_usec;    /* CPU time of opportunistic containers that were killed */
    uint64_t samples, late_samples, pressure_events, drift_repairs, unkillable;
    uint64_t by_reason[NM_COUNTED][NM_REASON_COUNT]; /* what an older nmd has counted is in the sums alone */
};

/* Upper bounds of the reaction-time histogram's buckets; the last bucket is everything above. */
#define NM_HISTOGRAM_BUCKETS 12
struct nm_histogram {
    uint64_t count[NM_HISTOGRAM_BUCKETS + 1];
    uint64_t sum_usec, n;
};
extern const uint64_t nm_histogram_bounds_usec[NM_HISTOGRAM_BUCKETS];
void nm_histogram_add(struct nm_histogram *h, uint64_t usec);

/* What application masters ask of whoever is above, where they do so by way of this node. */
enum nm_master_call {
    NM_MASTER_START,    /* one is started here, and given its way */
    NM_MASTER_REGISTER,
    NM_MASTER_ALLOCATE,
    NM_MASTER_FINISH,
    NM_MASTER_RECOVER,  /* of one whose nmd was restarted */
    NM_MASTER_STOP,     /* its end, and the end of what was kept for it */
    NM_MASTER_TOKEN,    /* it was given a new token of whoever is above */
    NM_MASTER_N_CALLS,
};

struct nm_masters {
    bool served;          /* else all below is 0 */
    char address[280];    /* where they ask */
    uint32_t pipelines;   /* attempts whose masters go through here */
    uint64_t outstanding; /* opportunistic containers that wait for a place */
    uint64_t placed_node_local, placed_rack_local, placed_anywhere; /* by this node */
    uint64_t failed[NM_MASTER_N_CALLS];
    struct nm_histogram took[NM_MASTER_N_CALLS]; /* those that did not fail, from request to answer */
    struct nm_histogram added;                   /* of an allocate, without what whoever is above took */
};

/* What the node belongs to, if it does: told by whoever speaks with it. */
struct nm_upstream {
    const char *kind;    /* "yarn", "none"; NULL: as "none" */
    const char *state;   /* a word of its own: "running", ... */
    char address[280];   /* of whoever is above */
    char node[280];      /* what this node is called there; "": nothing yet */
    char trouble[256];   /* why it isn't as it should be; "" */
    uint64_t last_heartbeat_realtime_usec; /* that was answered; 0: none yet */
    uint64_t round_trip_usec;              /* of the newest answer; 0: none yet */
    bool sized;            /* it has said what it counts on, in the next two; else what is configured */
    uint64_t memory_bytes;
    uint32_t vcores;
    uint64_t heartbeats, failures;      /* answered; requests that came to nothing */
    struct nm_histogram heartbeat, rpc; /* from one answered heartbeat to the next; from a request to its answer */
    struct nm_masters masters;
};

enum nm_node_state { NM_NODE_RUNNING, NM_NODE_DRAINING, NM_NODE_SHADOW };
const char *nm_node_state_name(enum nm_node_state s);

struct nm_drift_note {
    uint64_t realtime_usec;
    char container_id[NM_ID_SIZE];
    char file[24];
};

struct nm_status {
    char host[256];
    enum nm_node_state state;
    bool drained;                       /* draining and empty */
    uint64_t drain_deadline_realtime_usec; /* 0: none */
    uint64_t removable_since_realtime_usec; /* nothing holds the node since then; 0: something does */
    bool healthy;
    char health_reason[200];            /* "" when healthy */
    const struct nm_cgroup_backend *backend;
    char notes[16][256];                /* what the kernel doesn't offer here, a sentence each */
    unsigned n_notes;
    struct nm_resources capacity;
    uint32_t capacity_vcores_milli;
    struct nm_resources configured;     /* what the capacity would be without nm_manager_set_size() */
    uint32_t configured_vcores_milli;
    struct nm_resources allocated[2];   /* by execution type */
    uint32_t allocated_vcores_milli[2];
    struct nm_resources used;           /* U: the sum of the next three */
    struct nm_resources used_by[2];     /* measured, by execution type */
    struct nm_resources reserved;       /* for those that warm up, beyond what is measured of them */
    struct nm_resources used_by_others; /* on the node, beyond what is reserved for the system */
    struct nm_fractions utilization;    /* U / C */
    struct nm_policy_settings settings;
    uint64_t sample_age_usec, sample_period_usec, sample_cost_usec;
    struct nm_node_sample node;
    struct nm_link_sample links[NM_LINKS_MAX];
    unsigned n_links;
    uint32_t guaranteed_running, opportunistic_running, paused, queued, completed;
    uint32_t preparing; /* NEW or LOCALIZING */
    uint32_t kept_results; /* of those that have ended: until their owners have acknowledged it */
    uint32_t queue_length, queue_limit; /* the limit: nm_manager_set_queue_limit()'s */
    enum nm_reason hold;                /* why the head of the queue waits */
    char hold_id[NM_ID_SIZE];
    uint64_t squeeze_millicores;
    uint64_t breaker_until_usec;
    uint64_t surge_margin_until_usec; /* 0: none; by the same clock */
    char over_beta[400]; /* a sentence: why nmd takes nothing back over the memory threshold; "": it does, or needn't */
    struct nm_counters counters;
    struct nm_histogram reaction_pause, reaction_kill; /* cause -> effective */
    uint64_t started_realtime_usec;
    uint64_t own_rss_bytes, own_cpu_usec;
    struct nm_upstream upstream;
};

void nm_manager_get_status(struct nm_manager *m, struct nm_status *ret);
/* Fills in the upstream's part of the status. Kind and state are "none" if there is no upstream. */
void nm_manager_get_upstream(struct nm_manager *m, struct nm_upstream *ret);

/* What those who know the upstream's own nodes ask of them, in a path and words that are the upstream's. */
struct nm_upstream_question {
    const struct nm_caller *who;
    bool with_users;          /* else without whose anything is, and without what it has said */
    const char *path;         /* with {id} where an id is; that id, or NULL */
    const char *id;
    const char *state, *user; /* what a list is narrowed to, or NULL */
};

/* Who tells of the upstream from now on: for a status, and settings of its own for `nmctl config` (an array, a new
 * reference, or NULL: no memory). The others may be NULL, and see below. NULL: nobody. */
struct nm_upstream_ops {
    void (*status)(void *userdata, struct nm_upstream *ret);
    json_t *(*config)(void *userdata);
    json_t *(*pipelines)(void *userdata, const struct nm_caller *who, bool with_users);
    json_t *(*placement)(void *userdata, const struct nm_caller *who, const char *id);
    int (*ask)(void *userdata, const struct nm_upstream_question *q, json_t **ret, struct nm_problem *ret_problem);
};
void nm_manager_set_upstream(struct nm_manager *m, const struct nm_upstream_ops *ops, void *userdata);
/* Records an event of the node that an upstream has noticed, and logs it at that level. */
void nm_manager_tell(struct nm_manager *m, int level, const char *text);

/* The attempts whose masters go through this node, as far as `who` may see the master: an array, or NULL: no memory. */
json_t *nm_manager_pipelines(struct nm_manager *m, const struct nm_caller *who, bool with_users);
/* Why this node placed a container where it did, which may be another node: an object, or NULL: there is nothing that
 * `who` may know. */
json_t *nm_manager_placement(struct nm_manager *m, const struct nm_caller *who, const char *id);
/* As a request: *ret is what the upstream's own nodes would answer, as far as `who` may see what it is about. */
int nm_manager_ask_upstream(struct nm_manager *m, const struct nm_upstream_question *q, json_t **ret,
                            struct nm_problem *ret_problem);

/* A part of a list, in the order of arrival. */
struct nm_page {
    bool all;       /* with the ended ones that are still kept */
    uint64_t after; /* only those that arrived after the one of this number (view.seq); 0: from the first */
    unsigned limit; /* no more than that */
};
/* Only what `who` may see. *ret_more: there are others behind. 0 or -ENOMEM. */
typedef void (*nm_manager_container_cb_t)(const struct nm_container *c, void *userdata);
int nm_manager_foreach(struct nm_manager *m, const struct nm_caller *who, const struct nm_page *page,
                       nm_manager_container_cb_t cb, void *userdata, bool *ret_more);
/* Whether there is a container of this id that `who` may see. */
bool nm_manager_may_see(struct nm_manager *m, const struct nm_caller *who, const char *id);
int nm_manager_find(struct nm_manager *m, const struct nm_caller *who, const char *id,
                    const struct nm_container **ret, struct nm_problem *ret_problem);
/* Why a queued container waits; NM_REASON_NONE if it doesn't. */
enum nm_reason nm_manager_hold_reason(struct nm_manager *m, const struct nm_container *c);
/* Position in the queue, from 1; 0 if not queued. */
uint32_t nm_manager_queue_position(struct nm_manager *m, const struct nm_container *c);

/* Decisions about one container (id) or all (NULL), oldest first: the newest `max` of those with numbers below
 * `before`. */
typedef void (*nm_manager_decision_cb_t)(const struct nm_decision *d, void *userdata);
int nm_manager_foreach_decision(struct nm_manager *m, const struct nm_caller *who, const char *id,
                                uint64_t before, unsigned max, nm_manager_decision_cb_t cb,
                                void *userdata, struct nm_problem *ret_problem);

/* Opens the part of a container's "stdout" or "stderr" that has the byte `from` of its output, or the first that is
 * kept after it, beneath the log directory and through no link. -ENOENT: there is no such file yet. Of a container with
 * a log_dir it is the file there, which must be its user's; if it has ended without one, what it said before. */
int nm_manager_open_log(struct nm_manager *m, const struct nm_caller *who, const char *id, const char *stream,
                        uint64_t from, struct nm_output_piece *ret, struct nm_problem *ret_problem);

/* When its bytes were written: a file for nm_output_times_reader. -ENOENT: it isn't known (or nothing was yet). */
int nm_manager_open_log_times(struct nm_manager *m, const struct nm_caller *who, const char *id, const char *stream,
                              int *ret_fd, struct nm_problem *ret_problem);

/* The finest history that goes back so far; the longest one goes back a day. Whether its points' at_usec is the time of
 * day or the time since boot is its own; span_usec 0: the last minutes, as configured. */
const struct nm_history *nm_manager_history(const struct nm_manager *m, uint64_t span_usec);

/* What became of applications whose containers have ended within the last day, in no order; only those that `who` has
 * submitted, or all. `e` is valid during the call. */
struct nm_ended_app {
    char name[NM_NAME_SIZE]; /* "": the entry is empty */
    uid_t submitter_uid;
    uint64_t first_submitted_usec, last_ended_usec; /* by the time of day */
    uint64_t succeeded, failed, killed; /* containers that have ended */
    uint64_t cpu_time_usec;
    uint64_t memory_peak_bytes; /* of the largest one */
};
typedef void (*nm_manager_app_cb_t)(const struct nm_ended_app *e, void *userdata);
void nm_manager_foreach_ended_app(struct nm_manager *m, const struct nm_caller *who, nm_manager_app_cb_t cb,
                                  void *userdata);
const struct nm_config *nm_manager_config(const struct nm_manager *m);
/* For `nmctl config`: all keys, and what each "auto" came to here. */
json_t *nm_manager_config_to_json(const struct nm_manager *m);

/* ---- events -------------------------------------------------------------- */

enum nm_event_kind { NM_EVENT_STATE, NM_EVENT_DECISION, NM_EVENT_NODE };

/* Something happened. Pointers are valid during the call. */
struct nm_event {
    uint64_t number;            /* goes up by one, over restarts of nmd as well */
    uint64_t realtime_usec;
    enum nm_event_kind kind;
    const struct nm_container *container; /* STATE; DECISION if it is still known, else NULL */
    enum nm_state from, to;               /* STATE */
    const struct nm_decision *decision;   /* DECISION: new, or its outcome became known */
    const char *text;                     /* NODE: "draining", "configuration reloaded", ... */
};

typedef void (*nm_event_cb_t)(const struct nm_event *e, void *userdata);
struct nm_subscription;
int nm_manager_subscribe(struct nm_manager *m, nm_event_cb_t cb, void *userdata,
                         struct nm_subscription **ret);
struct nm_subscription *nm_subscription_free(struct nm_subscription *s);
NM_DEFINE_CLEANUP(struct nm_subscription *, nm_subscription_free)

/* The newest events are kept (about 1,000), in memory and on disk, for `nmctl events` and the status page's
 * lanes. */
struct nm_event_record {
    uint64_t number, realtime_usec;
    enum nm_event_kind kind;
    char container_id[NM_ID_SIZE];
    char container_name[NM_NAME_SIZE];
    uid_t submitter_uid;
    enum nm_execution_type type; /* of the container, from then on */
    enum nm_state from, to;
    uint64_t decision_number;
    enum nm_decision_kind decision_kind;
    char text[240];
    bool is_unsaved; /* it isn't on disk yet, and a restart of nmd could lose it */
};
typedef void (*nm_manager_event_cb_t)(const struct nm_event_record *e, void *userdata);
void nm_manager_foreach_event(struct nm_manager *m, const struct nm_caller *who,
                              uint64_t after_number, nm_manager_event_cb_t cb, void *userdata);

/* ---- set-up (nmd.c) ------------------------------------------------------ */

struct nm_manager_params {
    sd_event *event;
    struct nm_config *config;      /* ownership passes */
    const char *config_path;       /* for reload */
    bool config_must_exist;
    const struct nm_config_default *config_defaults; /* of nm_config_load(); they last as long as the manager */
    const char *state_dir;
    const char *runtime_dir;
    const char *slice;
    enum nm_cgroup_backend_kind backend;
    const char *shim_path;
    const char *proc_root;         /* "/proc" */
    const char *node_proc_root; /* meminfo, stat and pressure are read here; "/proc" but in tests */
};

/* Opens store and backend, adopts what lives, takes the first sample. *ret_message: why not, the
 * caller's to free. */
int nm_manager_new(const struct nm_manager_params *p, struct nm_manager **ret, char **ret_message);
/* Would it be refused? The same sentence then, and nothing is made, opened for writing or started; of p, `config` stays
 * the caller's. Beside what new() refuses: a shim that isn't there, without which it starts nothing. With `state_dir`
 * NULL, which is for a directory that is refused already, nothing is said of what would be in it. */
int nm_manager_check(const struct nm_manager_params *p, char **ret_message);
int nm_manager_check_record(const char *path, char **ret_message); /* of nm_manager_record() */
/* Starts timers and watches. */
int nm_manager_start(struct nm_manager *m);
/* Writes a trace of all that happens from now on, for nmsim, until the manager is freed. An earlier
 * trace of that name becomes FILE.1. *ret_message: why not, the caller's to free. Once it is begun,
 * whatever hinders it ends the recording alone. */
int nm_manager_record(struct nm_manager *m, const char *path, char **ret_message);
struct nm_manager *nm_manager_free(struct nm_manager *m);
NM_DEFINE_CLEANUP(struct nm_manager *, nm_manager_free)
