/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state that the files yarn*.c share. state.c decides which step is due and when. The yarn*.c files carry out the
 * step: they resolve names, connect if there is no connection, send the request, and pass its answer to state.c. At
 * most one request is in progress. A timer starts the next step, and is off while a request is in progress. A heartbeat
 * is sent early if the ResourceManager needs to be informed of a change. The files are layers: tests/style has their
 * order.
 */

#include "rpc/hadoop/client.h"
#include "yarn/node-services.h"
#include "yarn/gpu/discovery.h"
#include "yarn/heartbeat.h"
#include "yarn/labels/descriptor-report.h"
#include "yarn/labels/provider.h"
#include "yarn/node/local-groups.h"
#include "yarn/resolve.h"
#include "yarn/state.h"
#include "yarn/yarn.h"

/* Number of consecutively answered heartbeats that reported no container of the cluster. After this number, a draining
 * node reports that it is unhealthy. If the ResourceManager hasn't processed the end of a container by then, that end
 * is lost. */
#define NM_YARN_EMPTY_BEATS 2u

struct nm_yarn_size {
    bool sized; /* these three members: as in nm_yarn_state */
    int64_t memory_mib;
    int32_t vcores;
};

/* The labels or the attributes of the node. */
struct nm_yarn_described {
    struct nm_yarn_provider *provider; /* NULL: the cluster's files name none */
    struct nm_yarn_descriptor_report report;
    char trouble[300]; /* the trouble of the provider that was last logged */
};

struct nm_yarn_known_gpus {
    struct nm_yarn_gpu_discovery *discovery; /* NULL: the files list the GPUs, or the node offers none */
    uint64_t since_usec; /* start of the discovery */
    size_t n_reported;   /* number in the last registration */
    char trouble[300];   /* the newest reason why the GPUs aren't known; "" if they are */
};

struct nm_yarn {
    sd_event *event;
    struct nm_manager *manager;
    const char *state_dir; /* nmd's state directory */
    const struct nm_yarn_settings *settings;
    nm_yarn_report_t report_cb;
    struct nm_subscription *subscription;
    sd_event_source *timer;
    struct nm_resolve *resolve; /* the lookup in progress; NULL if no lookup is in progress */
    struct nm_hadoop_client *client;
    struct nm_yarn_services *services;

    struct nm_yarn_state state;
    struct nm_yarn_step step; /* the step that the timer will start, or the step in progress */
    uint64_t due_usec;        /* when the timer fires; 0 while the step is in progress */
    bool has_change;          /* a change was reported by nm_yarn_step_on_change() since the last heartbeat began */
    bool repeats;             /* the current heartbeat was already sent before */
    struct nm_yarn_heartbeat_memory memory;
    struct nm_yarn_early early;
    struct nm_yarn_heartbeat report;
    int64_t own_memory_mib; /* nmd's own value for the node's size, as sent with the last registration */
    int32_t own_vcores;
    struct nm_yarn_size size_passed_on; /* the size last passed on to the manager */
    int64_t limit_mib;           /* memory that a draining node offers; 0: the node's full size */
    int64_t limit_reported_mib;  /* value of limit_mib that the last registration contained */
    unsigned empty_beats;        /* number of answered heartbeats since the last container of the cluster was removed */
    char disks_report[NM_YARN_HEALTH_SIZE]; /* the directories that are not good */
    Hadoop__NodeId id;
    char host[256];  /* host name; "" while the name is not known yet */
    int32_t web_port;
    int web_fd; /* listening socket of the web pages until nm_yarn_take_web() is called; -EBADF: not open, or taken */
    uint8_t client_id[16];
    uint32_t random; /* state of nm_yarn_jitter() */
    unsigned attempts; /* number of connection attempts; selects the address to try next */
    unsigned tracker;  /* number of changes to another ResourceManager; selects the ResourceManager to try next */
    bool leaves_rm;    /* the next step is for the next ResourceManager */
    bool well, troubled; /* the state of the connection that was last logged; both false before the first log message */
    uint64_t sent_usec, heartbeat_usec;
    struct nm_yarn_described described[NM_YARN_N_DESCRIPTOR_KINDS];
    struct nm_yarn_known_gpus gpus;
    uint64_t labels_since_usec; /* when the first runs of the providers began; 0 after the first step */
    struct nm_upstream shown;
    struct nm_yarn_local_groups local_groups; /* of users that requests for logs have named */

    void (*on_unregistered)(void *userdata); /* not NULL: the node leaves the cluster */
    void *on_unregistered_userdata;
    sd_event_source *leave_timer;
    uint64_t leave_until_usec;    /* nmd waits until then for the ends of the containers */
    bool is_signed_off; /* the ResourceManager has answered, or can't be reached */
    bool has_left;      /* on_unregistered was called */
};

/* The version of Hadoop whose protocols nmd implements. A ResourceManager may require a minimum version. */
#define NM_YARN_VERSION "3.4.2"

/* ---- yarn-rest.c ---- */
/* The views of the upstream. userdata: the node, or NULL if it belongs to no cluster. */
#define NM_YARN_N_VIEWS 10u
extern const struct nm_upstream_view nm_yarn_views[NM_YARN_N_VIEWS];
/* Returns whether an answer to the query may contain data of users, as far as the cluster's access lists permit it. */
bool nm_yarn_shows_users(const struct nm_yarn *y, const struct nm_upstream_query *q);
/* Returns the size of the node in the cluster. */
void nm_yarn_get_size(const struct nm_yarn *y, const struct nm_status *s, int64_t *ret_memory_mib, int32_t *ret_vcores);

/* ---- yarn-logs.c ---- */
struct nm_yarn_viewer {
    struct nm_manager *manager;
    const struct nm_caller *who;
};
/* Returns whether a viewer (userdata) may see the container. */
bool nm_yarn_may_see(void *userdata, const char *container);
/* A user whom a request over TCP names. */
struct nm_yarn_acl_viewer {
    struct nm_yarn *y;
    const char *user;
};
/* Returns whether the named user (userdata) may view the data of an application: its submitter, the users and groups in
 * its view ACL (NULL: none), and administrators may. */
bool nm_yarn_may_view(void *userdata, const char *submitter, const char *view_acl);
/* Returns whether the query may read the logs of the container q->id. */
bool nm_yarn_logs_may_read(struct nm_yarn *y, const struct nm_upstream_query *q, const struct nm_yarn_log_owner *of);
/* Answers a request for logs. userdata: the node. */
int nm_yarn_logs_page(void *userdata, const struct nm_upstream_query *q, struct nm_upstream_page *ret,
                      struct nm_problem *ret_problem);

/* ---- yarn-jmx.c ---- */
/* Answers a request for /jmx. */
int nm_yarn_jmx(struct nm_yarn *y, const struct nm_upstream_query *q, struct nm_upstream_page *ret);

/* ---- yarn-web.c ---- */
/* The function `page` of the upstream. userdata: the node. */
int nm_yarn_page(void *userdata, const struct nm_upstream_query *q, struct nm_upstream_page *ret,
                 struct nm_problem *ret_problem);

/* ---- yarn-show.c ---- */
/* Registers the node's status, details, metrics, settings and views with the manager. */
void nm_yarn_show(struct nm_yarn *y);
/* Returns the ResourceManager that is currently used. */
const struct nm_yarn_address *nm_yarn_tracker(const struct nm_yarn *y);
/* Logs a change of the connection's state. Repeated failures are logged once. */
void nm_yarn_show_change(struct nm_yarn *y);

/* ---- yarn-size.c ---- */
/* Applies the size that the ResourceManager has set for the node. Is called after each answer. */
void nm_yarn_size_follow(struct nm_yarn *y);
/* Is called before a registration. Drops a size of 0 from the ResourceManager, so that the node offers the configured
 * size. */
void nm_yarn_size_offer(struct nm_yarn *y);
/* Sets the limit for the offered size: a draining node offers only the size of its containers. */
void nm_yarn_size_limit(struct nm_yarn *y, bool is_draining);
/* Restores the size that an earlier nmd has saved. Is called before the first registration. */
void nm_yarn_size_load(struct nm_yarn *y);
/* Drops the ResourceManager's size after the node has unregistered, so that the node registers again with its
 * configured size. */
void nm_yarn_size_drop(struct nm_yarn *y);

/* ---- yarn-labels.c ---- */
int nm_yarn_labels_check(const struct nm_yarn_settings *settings, struct nm_refusals *refusals);
/* Starts the providers. on_change: see struct nm_yarn_provider_params; userdata: the node. */
int nm_yarn_labels_new(struct nm_yarn *y, void (*on_change)(void *userdata), char **ret_message);
void nm_yarn_labels_done(struct nm_yarn *y);
/* Reports new problems of the providers, and their ends. */
void nm_yarn_labels_report_troubles(struct nm_yarn *y);
/* Returns for how long the first registration must wait for the providers' first sets. */
uint64_t nm_yarn_labels_wait_usec(const struct nm_yarn *y);
/* Set the fields of the request, in memory of the arena. */
int nm_yarn_labels_register(struct nm_yarn *y, struct nm_arena *arena, Yarn__RegisterRequest *request);
int nm_yarn_labels_beat(struct nm_yarn *y, struct nm_arena *arena, Yarn__HeartbeatRequest *request);
/* Handle the answer to such a request. */
void nm_yarn_labels_registered(struct nm_yarn *y, const Yarn__RegisterResponse *answer);
void nm_yarn_labels_answered(struct nm_yarn *y, const Yarn__HeartbeatResponse *answer);
/* Adds the members node_labels and node_attributes to the details of the upstream. Returns -ENOMEM on failure. */
int nm_yarn_labels_show(const struct nm_yarn *y, json_t *details);

/* ---- yarn-gpus.c ---- */
/* Checks the program that finds the GPUs. */
int nm_yarn_gpus_check(const struct nm_yarn_settings *settings, struct nm_refusals *refusals);
/* Sets the node's GPUs, or starts their discovery. on_change: called after each attempt; userdata: the node. */
int nm_yarn_gpus_new(struct nm_yarn *y, void (*on_change)(void *userdata));
void nm_yarn_gpus_done(struct nm_yarn *y);
/* Handles the result of an attempt. */
void nm_yarn_gpus_take_change(struct nm_yarn *y);
/* Returns for how long the first registration must wait. */
uint64_t nm_yarn_gpus_wait_usec(const struct nm_yarn *y);
/* Returns whether the number of GPUs differs from that of the last registration, and stores the number for it. */
bool nm_yarn_gpus_have_changed(const struct nm_yarn *y);
void nm_yarn_gpus_report(struct nm_yarn *y);
/* Returns a new reference: an object, or null if the node offers no GPUs. NULL: no memory. */
json_t *nm_yarn_gpus_show(const struct nm_yarn *y, const struct nm_caller *who);
void nm_yarn_gpus_write_metrics(const struct nm_yarn *y, const struct nm_metric_writer *w);

/* ---- yarn-aux-services.c ---- */
/* Returns a new reference: an array with an object for each auxiliary service. NULL: no memory. */
json_t *nm_yarn_aux_services_show(const struct nm_yarn *y);
void nm_yarn_aux_services_write_metrics(const struct nm_yarn *y, const struct nm_metric_writer *w);

/* ---- yarn-steps.c ---- */
/* Returns a random number. It varies waiting times, so that the nodes of a cluster don't act at the same time. */
uint32_t nm_yarn_jitter(struct nm_yarn *y);
void nm_yarn_step_take(struct nm_yarn *y, struct nm_yarn_step step);
/* Handles a failed step. why: the exception from the ResourceManager, or NULL if there is none. */
void nm_yarn_step_failed(struct nm_yarn *y, int error, const struct nm_exception *why);
/* Requests an early heartbeat, because the ResourceManager needs to be informed of a change. userdata: the node. */
void nm_yarn_step_on_change(void *userdata);
/* Starts the due step after `after_usec`. */
void nm_yarn_step_delay(struct nm_yarn *y, uint64_t after_usec);
/* Handle a change of a provider, or of the GPUs: end the wait of the first registration, or send a heartbeat (or a
 * registration) with the change. userdata: the node. */
void nm_yarn_step_on_labels(void *userdata);
void nm_yarn_step_on_gpus(void *userdata);
/* Returns for how long the first registration must wait for labels and GPUs. */
uint64_t nm_yarn_step_wait_usec(const struct nm_yarn *y);

/* ---- yarn-requests.c ---- */
/* Sends the due request on the existing connection. */
void nm_yarn_request_due(struct nm_yarn *y);

/* ---- yarn-connect.c ---- */
int nm_yarn_connect_on_due(sd_event_source *source, uint64_t usec, void *userdata);
/* Passes the node's name on to the node and to the server of cm-server.h. Is called when the name is known. */
void nm_yarn_connect_report_name(struct nm_yarn *y);
