/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What there is to see of the node, its containers, decisions and events, for whoever shows it. */

#include <jansson.h>

#include "agent/caller.h"
#include "agent/config/config.h"
#include "agent/container.h"
#include "agent/counters.h"
#include "agent/decision/decision.h"
#include "agent/launch/output-read.h"
#include "agent/upstream.h"
#include "monitor/monitor.h"

enum nm_node_state { NM_NODE_RUNNING, NM_NODE_DRAINING, NM_NODE_SHADOW };
const char *nm_node_state_name(enum nm_node_state s);

struct nm_drift_note {
    uint64_t realtime_usec;
    char container_id[NM_ID_SIZE];
    char file[24];
};

#define NM_RESTART_KEYS_SIZE 400
struct nm_status {
    char host[256];
    enum nm_node_state state;
    bool drained;                       /* draining and empty */
    bool drain_until_restart;
    char restart_keys[NM_RESTART_KEYS_SIZE]; /* reloaded, but only a restart applies them: "[section] key, ..."; "" */
    uint64_t drain_deadline_realtime_usec; /* 0: none */
    uint64_t removable_since_realtime_usec; /* nothing holds the node since then; 0: something does */
    bool healthy;
    char health_reason[200];            /* "" when healthy */
    const struct nm_cgroup_backend *backend;
    char notes[16][256];                /* what the kernel doesn't offer here, a sentence each */
    unsigned n_notes;
    struct nm_resources capacity;
    uint32_t capacity_vcores_milli;
    struct nm_resources offered;        /* the part of it up to which more is started; an upstream may want less */
    uint32_t offered_vcores_milli;
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
