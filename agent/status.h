/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The manager's read-only interface: the node, its containers, decisions and events. */

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
/* Size of the members that nm_manager_get_summary() sets. */
#define NM_STATUS_SUMMARY_SIZE offsetof(struct nm_status, host)
struct nm_status {
    enum nm_node_state state;
    bool drained;                       /* draining and without containers */
    bool drain_until_restart;
    uint64_t drain_deadline_realtime_usec; /* 0: no deadline */
    uint64_t removable_since_realtime_usec; /* time since which the node is removable; 0 if the node is not removable */
    bool healthy;
    char health_reason[200];            /* "" when healthy */
    const struct nm_cgroup_backend *backend;
    struct nm_resources capacity;
    uint32_t capacity_vcores_milli;
    struct nm_resources offered;        /* the part of the capacity in which containers are started; an upstream may
                                           reduce it */
    uint32_t offered_vcores_milli;
    struct nm_resources configured;     /* the configured capacity, which nm_manager_set_size() does not change */
    uint32_t configured_vcores_milli;
    struct nm_resources allocated[2];   /* indexed by execution type */
    uint32_t allocated_vcores_milli[2];
    struct nm_resources used;           /* U: the sum of used_by, reserved and used_by_others */
    struct nm_resources used_by[2];     /* measured use, by execution type */
    struct nm_resources reserved;       /* reserved for containers in warm-up, beyond their measured use */
    struct nm_resources used_by_others; /* use by the rest of the node, beyond the system's reserve */
    struct nm_fractions utilization;    /* U / C */
    struct nm_policy_settings settings;
    uint64_t sample_age_usec, sample_period_usec, sample_cost_usec;
    struct nm_node_sample node;
    uint32_t guaranteed_running, opportunistic_running, paused, queued, completed;
    uint32_t preparing; /* number of containers that are NEW or LOCALIZING */
    uint32_t kept_results; /* ended containers whose owners have not acknowledged the result yet */
    uint32_t queue_length, queue_limit; /* queue_limit: as set by nm_manager_set_queue_limit() */
    enum nm_reason queue_reason;        /* why the head of the queue waits */
    char queue_head_id[NM_ID_SIZE];
    uint64_t squeeze_millicores;
    uint64_t breaker_until_usec;
    uint64_t surge_margin_until_usec; /* end of the surge margin; 0 if there is no margin; same clock as
                                         breaker_until_usec */
    uint64_t started_realtime_usec;

    /* The members from here on are large. nm_manager_get_summary() leaves them unchanged. */
    char host[256];
    char restart_keys[NM_RESTART_KEYS_SIZE]; /* keys that were reloaded but need a restart: "[section] key, ...", or
                                                "" */
    char notes[16][256];                /* one sentence for each missing kernel feature */
    unsigned n_notes;
    struct nm_link_sample links[NM_LINKS_MAX];
    unsigned n_links;
    char over_beta[400]; /* a sentence: why nmd takes no memory back although memory is over its threshold; "" if nmd
                            takes memory back, or if memory is not over its threshold */
    struct nm_counters counters;
    struct nm_histogram reaction_pause, reaction_kill; /* time from cause to effect */
    uint64_t own_rss_bytes, own_cpu_usec;
    struct nm_upstream upstream;
};

void nm_manager_get_status(struct nm_manager *m, struct nm_status *ret);
/* Fills in only the members that nmd has in memory: the state and the health of the node, its sizes and settings, its
 * use, the numbers of containers, the newest sample of the node, and when nmd was started. The other members before
 * `host` are 0, and the members from `host` on are unchanged. */
void nm_manager_get_summary(struct nm_manager *m, struct nm_status *ret);

/* Selects a part of a list, in the order of arrival. */
struct nm_page {
    bool all;       /* include ended containers that are still kept */
    uint64_t after; /* only containers with a larger arrival number (view.seq); 0: from the first */
    unsigned limit; /* maximum number of entries */
};
/* Calls cb for the containers that `who` may see. *ret_more: further containers follow this page. Returns 0 or
 * -ENOMEM. */
typedef void (*nm_manager_container_cb_t)(const struct nm_container *c, void *userdata);
int nm_manager_foreach(struct nm_manager *m, const struct nm_caller *who, const struct nm_page *page,
                       nm_manager_container_cb_t cb, void *userdata, bool *ret_more);
/* Returns whether there is a container with this id that `who` may see. */
bool nm_manager_may_see(struct nm_manager *m, const struct nm_caller *who, const char *id);
int nm_manager_find(struct nm_manager *m, const struct nm_caller *who, const char *id,
                    const struct nm_container **ret, struct nm_problem *ret_problem);
/* Returns why a queued container waits, or NM_REASON_NONE if it isn't queued. */
enum nm_reason nm_manager_queue_reason(struct nm_manager *m, const struct nm_container *c);
/* Returns the container's position in the queue, from 1, or 0 if it isn't queued. */
uint32_t nm_manager_queue_position(struct nm_manager *m, const struct nm_container *c);

/* Calls cb for the decisions about one container (id) or all (NULL), oldest first: the newest `max` decisions with
 * numbers below `before`. */
typedef void (*nm_manager_decision_cb_t)(const struct nm_decision *d, void *userdata);
int nm_manager_foreach_decision(struct nm_manager *m, const struct nm_caller *who, const char *id,
                                uint64_t before, unsigned max, nm_manager_decision_cb_t cb,
                                void *userdata, struct nm_problem *ret_problem);

/* Opens the part of a container's "stdout" or "stderr" that contains the byte `from` of its output, or the first later
 * byte that is still kept. Files outside the log directory and symbolic links are refused. -ENOENT: there is no such
 * file yet. For a container with a log_dir, opens the file there, which must belong to the container's user. If that
 * container has ended without writing this file, opens the output captured before its command ran. */
int nm_manager_open_log(struct nm_manager *m, const struct nm_caller *who, const char *id, const char *stream,
                        uint64_t from, struct nm_output_piece *ret, struct nm_problem *ret_problem);

/* Opens the file with the times at which the log's bytes were written, for nm_output_times_reader. -ENOENT: the times
 * are unknown, or no output was written yet. */
int nm_manager_open_log_times(struct nm_manager *m, const struct nm_caller *who, const char *id, const char *stream,
                              int *ret_fd, struct nm_problem *ret_problem);

/* Returns the finest history that covers span_usec; the longest history covers a day. Each history defines whether
 * at_usec of its points is the time of day or the time since boot. span_usec 0: the last minutes, as configured. */
const struct nm_history *nm_manager_history(const struct nm_manager *m, uint64_t span_usec);

/*
 * How often an opportunistic container of a size would have been killed for memory on this node, by the history of the
 * last day. A start is a point of the history at which the container would have been admitted: use was below the
 * over-allocation threshold, and use and the container's request together did not exceed the preemption threshold. A
 * start counts as exceeded if they did exceed that threshold later, within the given time. Starts whose time isn't over
 * yet are not counted. Points are means over a step, so that shorter surges are not seen: the share is a lower bound.
 */
struct nm_room_record {
    uint64_t step_usec, span_usec; /* span_usec: from the first to the last counted start */
    uint32_t starts, exceeded;
};
void nm_manager_get_room_record(const struct nm_manager *m, uint64_t memory_bytes, uint64_t within_usec,
                                struct nm_room_record *ret);

/* A summary of an application whose containers have ended within the last day. nm_manager_foreach_ended_app() calls cb
 * for the summaries in no particular order, either only for applications of `who`, or for all. `e` is valid during the
 * call. */
struct nm_ended_app {
    char name[NM_NAME_SIZE]; /* "": unused entry */
    uid_t submitter_uid;
    uint64_t first_submitted_usec, last_ended_usec; /* time of day */
    uint64_t succeeded, failed, killed; /* number of ended containers */
    uint64_t cpu_time_usec;
    uint64_t memory_peak_bytes; /* peak of the largest container */
};
typedef void (*nm_manager_app_cb_t)(const struct nm_ended_app *e, void *userdata);
void nm_manager_foreach_ended_app(struct nm_manager *m, const struct nm_caller *who, nm_manager_app_cb_t cb,
                                  void *userdata);
const struct nm_config *nm_manager_config(const struct nm_manager *m);
/* Returns the configuration for `nmctl config`: all keys, and the value that each "auto" has on this node. */
json_t *nm_manager_config_to_json(const struct nm_manager *m);

enum nm_event_kind { NM_EVENT_STATE, NM_EVENT_DECISION, NM_EVENT_NODE };

/* One event. Its pointers are valid during the call. */
struct nm_event {
    uint64_t number;            /* increases by one, also across restarts of nmd */
    uint64_t realtime_usec;
    enum nm_event_kind kind;
    /* STATE: the container; DECISION: the container if it is still known, or NULL */
    const struct nm_container *container;
    enum nm_state from, to;               /* STATE */
    const struct nm_decision *decision;   /* DECISION: a new decision, or one whose outcome became known */
    const char *text;                     /* NODE: "draining", "configuration reloaded", ... */
};

typedef void (*nm_event_cb_t)(const struct nm_event *e, void *userdata);
struct nm_subscription;
int nm_manager_subscribe(struct nm_manager *m, nm_event_cb_t cb, void *userdata,
                         struct nm_subscription **ret);
struct nm_subscription *nm_subscription_free(struct nm_subscription *s);
NM_DEFINE_CLEANUP(struct nm_subscription *, nm_subscription_free)

/* A stored event. The newest events (about 1,000) are kept in memory and on disk, for `nmctl events` and the timeline
 * of the status page. */
struct nm_event_record {
    uint64_t number, realtime_usec;
    enum nm_event_kind kind;
    char container_id[NM_ID_SIZE];
    char container_name[NM_NAME_SIZE];
    uid_t submitter_uid;
    enum nm_execution_type type; /* the container's type after the event */
    enum nm_state from, to;
    uint64_t decision_number;
    enum nm_decision_kind decision_kind;
    char text[240];
    bool is_unsaved; /* the event is not on disk yet, so a crash of nmd could lose it */
};
typedef void (*nm_manager_event_cb_t)(const struct nm_event_record *e, void *userdata);
void nm_manager_foreach_event(struct nm_manager *m, const struct nm_caller *who,
                              uint64_t after_number, nm_manager_event_cb_t cb, void *userdata);
