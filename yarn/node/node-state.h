/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state that the files of node/ share. The files are layers: tests/style has their order. */

#include "agent/owners.h"
#include "agent/status.h"
#include "agent/upstream.h"
#include "yarn/containers.pb-c.h"
#include "yarn/node/container-table.h"
#include "yarn/state-dir.h"

/* Limits for the list of removed containers. A master still sends a stop request after the ResourceManager has informed
 * it of a container's end. The list makes it possible to answer such a request. */
#define NM_YARN_RECENT_USEC (600 * NM_USEC_PER_SEC)
#define NM_YARN_RECENT_MAX 2048u
#define NM_YARN_ENDED_APPS_MAX 512u
/* Maximum number of containers that ended before the manager accepted them and that wait for the
 * ResourceManager's acknowledgement. */
#define NM_YARN_CONTAINERS_MAX 20000u
/* Limit of container diagnostics in one message, in bytes. A ResourceManager accepts at most 64 MiB per message and
 * serves thousands of nodes, and packing the message blocks the event loop. A further heartbeat
 * sends the rest. */
#define NM_YARN_DIAGNOSTICS_BYTES (1u << 20)

/*
 * State that must survive a restart of nmd and that the manager doesn't store: the applications on the node, and the
 * containers that ended before the manager accepted them. An application is kept after all its containers were
 * removed, since its outputs may still be fetched and the ResourceManager hasn't reported its end yet. Each entry is a
 * file (state-dir.h).
 */
struct nm_yarn_app_store {
    int applications_fd, ends_fd;
};

struct nm_yarn_recent {
    uint64_t hash; /* hash of the container's id as text */
    uint64_t usec;
};

struct nm_yarn_node {
    struct nm_yarn_node_params p;
    struct nm_subscription *subscription;
    sd_event_source *sweep; /* removes containers later, outside of the manager's callbacks */
    /* serve: lets containers get their resources later, also outside of these callbacks. serve_again: does so while
     * containers wait. */
    sd_event_source *serve, *serve_again;
    struct nm_yarn_gpu gpus[NM_YARN_GPUS_MAX]; /* the GPUs that the node offers, sorted by index */
    size_t n_gpus;
    struct nm_yarn_container_table containers;
    struct nm_yarn_app_store app_store;
    bool awaits_ends; /* see nm_yarn_node_set_awaits_ends() */
    bool reported_unhealthy, rm_uses_full_size; /* see nm_yarn_node_set_reported_unhealthy() and
                                                   nm_yarn_node_set_rm_uses_full_size() */
    char host[256]; /* host name; "" while the name is not known yet */
    int32_t port, web_port;
    struct nm_yarn_recent recent[NM_YARN_RECENT_MAX];
    size_t next_recent;
    struct nm_yarn_application_id ended[NM_YARN_ENDED_APPS_MAX];
    size_t next_ended;
    struct nm_yarn_node_figures counted; /* only the members that are counted since the start of nmd */
};

/* The caller's identity that the node uses in calls of the manager. It has all rights on the containers of this
 * owner. */
extern const struct nm_caller nm_yarn_admin;

/* ---- node-store.c ---- */
/* Opens the store. The caller must call nm_yarn_app_store_done(), even if this function fails. */
int nm_yarn_app_store_open(const char *state_dir, struct nm_yarn_app_store *ret);
void nm_yarn_app_store_done(struct nm_yarn_app_store *store);
/* Remove an entry. name: the id as text. Succeed if the entry doesn't exist. */
void nm_yarn_app_store_drop_application(const struct nm_yarn_app_store *store, const char *name);
void nm_yarn_app_store_drop_end(const struct nm_yarn_app_store *store, const char *name);
/* Calls cb for each container that ended early. If cb returns false, the entry is invalid and is removed. */
int nm_yarn_app_store_ends(const struct nm_yarn_app_store *store, nm_yarn_state_file_cb_t cb, void *userdata);
/* Adds a container as nm_yarn_container_table_add() does, and saves that the application is on this node. If saving
 * fails, the application is kept in memory only. */
int nm_yarn_node_add(struct nm_yarn_node *n, struct nm_bytes blob, struct nm_yarn_container **ret);
/* Saves the end of a container that ended early. */
void nm_yarn_container_note_end(const struct nm_yarn_container *i);
/* Inform log aggregation, if the cluster has it, that a container is on this node or has ended. */
void nm_yarn_container_begin_logs(const struct nm_yarn_container *i);
void nm_yarn_container_end_logs(const struct nm_yarn_container *i);
/* Restores the applications that an earlier nmd has saved. */
int nm_yarn_node_load_apps(struct nm_yarn_node *n);
/* Record that a container or an application was removed, and look up such a record. */
void nm_yarn_recent_note(struct nm_yarn_node *n, const char *text, uint64_t now_usec);
bool nm_yarn_recent_has(const struct nm_yarn_node *n, const char *text, uint64_t now_usec);
void nm_yarn_recent_note_app(struct nm_yarn_node *n, const struct nm_yarn_application_id *id);
bool nm_yarn_recent_has_app(const struct nm_yarn_node *n, const struct nm_yarn_application_id *id);

/* ---- node-find.c ---- */
/* Returns the manager's container. NULL: the container was never accepted by the manager, or the manager has removed
 * it. */
const struct nm_container *nm_yarn_container_core(const struct nm_yarn_container *i);
/* Unpacks the record that the manager stores, which contains the newest token. -ESRCH: the manager doesn't have the
 * container. */
int nm_yarn_container_read_record(const struct nm_yarn_container *i, struct nm_yarn_record_version **ret);
/* Returns NM_YARN_REFUSED, and sets *why to a YarnException with this text. */
nm_printf(2, 3) int nm_yarn_refuse(struct nm_exception *why, const char *format, ...);
/* Refuses a request for a container that this node doesn't have. */
int nm_yarn_refuse_unknown(const struct nm_yarn_node *n, const char *text, struct nm_exception *why);
/* Finds a container that hasn't ended. Refuses the request if there is no such container. */
int nm_yarn_find_live(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_yarn_container **ret,
                      struct nm_exception *why);

/* ---- node-aux-services.c ---- */
/* Inform the auxiliary services that are written in Java about a new or adopted container, and about its end. */
void nm_yarn_container_begin_services(const struct nm_yarn_container *i);
void nm_yarn_container_end_services(const struct nm_yarn_container *i);

/* ---- node-messages.c ---- */
/* Adds a line with the time to the container's messages, and drops the oldest lines beyond 1 KiB. Without memory, the
 * new line is lost. */
nm_printf(2, 3) void nm_yarn_container_add_message(struct nm_yarn_container *i, const char *format, ...);

/* ---- node-end.c ---- */
/* Ends a container that never ran, and reports the end. */
void nm_yarn_container_end_early(struct nm_yarn_container *i, int32_t status, const char *why);
/* Reports an end that an earlier nmd has saved. The container never ran. */
void nm_yarn_container_ended_early(struct nm_yarn_container *i, int32_t status, const char *why);
/* Handles the manager's event that the container has ended. */
void nm_yarn_container_ended(struct nm_yarn_container *i, const struct nm_container *c);
/* Removes a container whose end needs no further report. */
void nm_yarn_container_drop(struct nm_yarn_container *i);
/* Removes the ended containers of ended applications, since no further request for these containers is expected. */
void nm_yarn_node_sweep(struct nm_yarn_node *n);
/* Removes the application if it has ended and all its containers were removed. */
void nm_yarn_app_settle(struct nm_yarn_node *n, struct nm_yarn_app *app);

/* ---- node-gpus.c ---- */
/* Returns the GPUs that containers have which haven't ended, as a mask of minor numbers. */
uint64_t nm_yarn_node_held_gpus(const struct nm_yarn_node *n);
/* Returns the number of the node's GPUs that aren't in the mask. */
size_t nm_yarn_node_free_gpus(const struct nm_yarn_node *n, uint64_t held);
/* Assigns the first `number` GPUs that aren't in the mask, and adds them to it. Journals the choice. Returns 0, -errno,
 * or a positive outcome of the manager. */
int nm_yarn_container_assign_gpus(struct nm_yarn_container *i, size_t number, uint64_t *held);
/* Forbids the container all GPUs that it doesn't have, from its next start on. Must be called after an assignment and
 * for each adopted container. */
void nm_yarn_container_restrict(const struct nm_yarn_container *i);
struct nm_yarn_gpu_set nm_yarn_container_gpu_set(const struct nm_yarn_container *i);

/* ---- node-prepare.c ---- */
/* Ends a container whose preparation has failed. */
void nm_yarn_container_fail(struct nm_yarn_container *i, const char *why);
/* Returns a preparation task for this container, without data of auxiliary services. */
struct nm_yarn_task nm_yarn_container_task(const struct nm_yarn_container *i, const Yarn__LaunchContext *context);
void nm_yarn_container_prepare(struct nm_yarn_container *i);
/* Keeps the resources of an adopted container whose preparation has ended. */
void nm_yarn_container_retain(struct nm_yarn_container *i);

/* ---- node-resources.c ---- */
/* Return the amount of the type that the token requests, or that the node offers. In the units of the type. */
int64_t nm_yarn_resource_requested(const Hadoop__ContainerTokenIdentifier *token,
                                   const struct nm_yarn_resource_type *type);
int64_t nm_yarn_resource_offered(const struct nm_yarn_node *n, const struct nm_yarn_resource_type *type);
bool nm_yarn_resource_is_gpu(const struct nm_yarn_node *n, const struct nm_yarn_resource_type *type);
/* Returns whether the token requests a resource of this node beside memory and vcores. */
bool nm_yarn_resource_is_requested(const struct nm_yarn_node *n, const Hadoop__ContainerTokenIdentifier *token);
/* The sums of one type over the containers that have it: that haven't ended, and don't wait for it. */
struct nm_yarn_held {
    int64_t guaranteed, opportunistic;
};
/* Fills in one element for each type of the settings. */
void nm_yarn_resource_sums(const struct nm_yarn_node *n, struct nm_yarn_held held[NM_YARN_RESOURCE_TYPES_MAX]);
/* Returns a sentence if the node has less of a resource than the token requests, which the caller frees. NULL: the node
 * has enough, or there is no memory. */
char *nm_yarn_resource_find_lack(const struct nm_yarn_node *n, const Hadoop__ContainerTokenIdentifier *token);
/* Returns a sentence as above if the container can't change from its token to the other one. */
char *nm_yarn_resource_find_conflict(const struct nm_yarn_container *i, const Hadoop__ContainerTokenIdentifier *to);

/* ---- node-waiting.c ---- */
/* Begins the preparation of a new container, or lets the container wait for its resources. */
void nm_yarn_container_begin(struct nm_yarn_container *i);
/* Marks an adopted container that waits, or that may have waited before the restart of nmd. */
void nm_yarn_container_adopt_wait(struct nm_yarn_container *i, const struct nm_container *c);
/* Gives free resources to the containers that wait. */
void nm_yarn_node_serve(struct nm_yarn_node *n);

/* ---- node-figures.c ---- */
/* Count a change of a container for nm_yarn_node_get_figures(). c: the manager's container, or NULL if the container
 * ended early. */
void nm_yarn_node_count_start(struct nm_yarn_node *n, const struct nm_container *c);
void nm_yarn_node_count_end(struct nm_yarn_node *n, const struct nm_container *c, int32_t status);
/* Drops the counts of the containers of an earlier nmd, and counts those that haven't ended as launched. */
void nm_yarn_node_begin_counts(struct nm_yarn_node *n);

/* ---- node-start.c ---- */
/* Refuses a context that requires a runtime other than the default one. */
int nm_yarn_refuse_runtime(const Yarn__LaunchContext *context, struct nm_exception *why);

/* ---- node-report.c ---- */
/* c: the manager's container, or NULL if the manager doesn't have the container. */
bool nm_yarn_container_is_opportunistic(const struct nm_yarn_container *i, const struct nm_container *c);

/* ---- node-reinit.c ---- */
/* Prepares the next run of a container. The container has ended its former run for a re-initialization and has the
 * state NEW. */
void nm_yarn_container_prepare_reinit(struct nm_yarn_container *i);
/* Decides whether a container whose re-initialized command failed returns to the context that it had before. */
void nm_yarn_container_decide_at_end(struct nm_yarn_container *i, const struct nm_container *c);
