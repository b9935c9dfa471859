/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The cluster's containers and applications on this node, with the data that the manager doesn't hold. Application
 * masters (whose tokens cm-server.h has checked) and the ResourceManager's answers (yarn.c) make the same kinds of
 * requests. The manager's events are translated and reported to the ResourceManager until the ResourceManager
 * acknowledges them.
 *
 * Each container of the cluster is an nm_container with the owner NM_YARN_OWNER. The nm_container's id is the text of
 * YARN's id, and its blob is a Record of containers.proto. Functions that can refuse a request return 0,
 * NM_YARN_REFUSED with *why for the sender of the request, or -errno.
 */

#include <jansson.h>
#include <systemd/sd-event.h>

#include "agent/owners.h"
#include "agent/upstream.h"
#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/security.pb-c.h"
#include "yarn/conf/settings.h"
#include "yarn/containers.pb-c.h"
#include "yarn/exceptions.h"
#include "yarn/ids.h"
#include "yarn/launch/rate.h"
#include "yarn/tracker.pb-c.h"

#define NM_YARN_OWNER "yarn"
#define NM_YARN_REFUSED 1

/* YARN's ContainerExitStatus. */
enum nm_yarn_exit {
    NM_YARN_INVALID = -1000, /* the container hasn't ended, or its resources could not be localized */
    NM_YARN_ABORTED = -100,
    NM_YARN_DISKS_FAILED = -101,
    NM_YARN_PREEMPTED = -102,
    NM_YARN_OVER_VIRTUAL_MEMORY = -103,
    NM_YARN_OVER_MEMORY = -104,
    NM_YARN_KILLED_BY_MASTER = -105,
    NM_YARN_KILLED_BY_RM = -106,
    NM_YARN_KILLED_AFTER_APP = -107,
    NM_YARN_KILLED_BY_NODE = -108, /* Hadoop's KILLED_BY_CONTAINER_SCHEDULER */
};

struct nm_yarn_node;
struct nm_yarn_launcher; /* launch/launcher.h */
struct nm_yarn_shuffle;  /* launch/shuffle-service.h */
struct nm_yarn_spark;    /* launch/spark-service.h */
struct nm_yarn_aux_host; /* launch/aux-host.h */
struct nm_yarn_logs;     /* logs/logs.h */

struct nm_yarn_node_params {
    sd_event *event;
    struct nm_manager *manager;
    const struct nm_yarn_settings *settings;
    struct nm_yarn_launcher *launcher;
    struct nm_yarn_shuffle *shuffle; /* NULL if the cluster doesn't use nm-shuffle */
    struct nm_yarn_spark *spark;     /* NULL if the cluster doesn't use nm-spark-shuffle */
    struct nm_yarn_aux_host *aux_host; /* NULL if no auxiliary service runs in Java */
    struct nm_yarn_logs *logs;       /* NULL if the cluster doesn't aggregate logs */
    const char *state_dir;           /* nmd's state directory */
    /* Called when a container has ended and the ResourceManager should get a heartbeat immediately. */
    void (*on_change)(void *userdata);
    /* Called when the start of an opportunistic container is refused for lack of room. The next heartbeats then report
     * a full queue, so that the ResourceManager places the next containers on other nodes. Returns true if the
     * ResourceManager has sent this container although heartbeats have reported a full queue for a while. */
    bool (*no_room)(void *userdata);
    /* Called when an application has ended on this node, so that the callee can drop the application's keys and other
     * data. */
    void (*application_ended)(const struct nm_yarn_application_id *id, void *userdata);
    void *userdata;
    /* Logs a sentence when the node refuses to start a container, since no list and no event of nmd contains a refused
     * container. May be NULL. */
    void (*report_cb)(int level, const char *sentence);
};

/* Creates the node, and restores this owner's containers that an earlier nmd has left. All objects that params point to
 * must outlive the node. */
int nm_yarn_node_new(const struct nm_yarn_node_params *params, struct nm_yarn_node **ret);
struct nm_yarn_node *nm_yarn_node_free(struct nm_yarn_node *n);
NM_DEFINE_CLEANUP(struct nm_yarn_node *, nm_yarn_node_free)

/* Sets whether the ResourceManager may have given up containers of this node and not told the node yet. It does so if
 * it had lost the node: it then uses their resources from the node's first heartbeat on, and sends the list of these
 * containers with a later answer. */
void nm_yarn_node_set_awaits_ends(struct nm_yarn_node *n, bool awaits_ends);
/* Returns whether guaranteed containers of this size must be sent later, because they have no room before those have
 * ended. */
bool nm_yarn_node_must_wait(const struct nm_yarn_node *n, uint64_t memory_bytes);
/* Sets whether the ResourceManager has been informed that the node is unhealthy, and so sends no more containers. */
void nm_yarn_node_set_reported_unhealthy(struct nm_yarn_node *n, bool reported_unhealthy);
/* Sets whether the ResourceManager still uses the full size of a draining node, because the ResourceManager has its own
 * value for the node's size. */
void nm_yarn_node_set_rm_uses_full_size(struct nm_yarn_node *n, bool rm_uses_full_size);

/* Sets the address that containers find in their environment: the node's name, its port, and its web port. Must be
 * called before the first start. */
void nm_yarn_node_set_address(struct nm_yarn_node *n, const char *host, int32_t port, int32_t web_port);

/* ---- requests ------------------------------------------------------------------------------------------------- */

/* Starts a container. The caller has verified the tokens: they were issued by this cluster for this node, and haven't
 * expired. The ids in messages have all their parts. */
int nm_yarn_node_start(struct nm_yarn_node *n, struct nm_bytes identifier,
                       const Hadoop__ContainerTokenIdentifier *token, const Yarn__LaunchContext *context,
                       struct nm_exception *why);
/* Returns whether an earlier nmd has accepted the start with this token's identifier. That nmd may have died before it
 * answered, so the master may send the start again. */
bool nm_yarn_node_has_adopted(const struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_bytes identifier);
/* Calls cb with the token of each container. */
void nm_yarn_node_foreach_token(const struct nm_yarn_node *n,
                                void (*cb)(const Hadoop__ContainerTokenIdentifier *token, void *userdata),
                                void *userdata);
/* Changes the size or the type of the container to that of the token. Refuses a token whose version isn't higher than
 * that of the container's token. */
int nm_yarn_node_update(struct nm_yarn_node *n, struct nm_bytes identifier,
                        const Hadoop__ContainerTokenIdentifier *token, struct nm_exception *why);
/* Ends a container with code and message. Succeeds if the container has ended already. */
int nm_yarn_node_stop(struct nm_yarn_node *n, const Hadoop__ContainerId *id, enum nm_yarn_exit code,
                      const char *message, struct nm_exception *why);
/* Carries out a SignalContainerCommand. As in Hadoop, the call succeeds even if the container can't receive the
 * signal. */
int nm_yarn_node_signal(struct nm_yarn_node *n, const Hadoop__ContainerId *id, int32_t command,
                        struct nm_exception *why);
int nm_yarn_node_status(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_arena *arena,
                        Yarn__ContainerStatus **ret, struct nm_exception *why);
/* Handle the requests of YARN's services for a running container: localize more resources, run another command, or
 * return to the former command. */
int nm_yarn_node_localize(struct nm_yarn_node *n, const Yarn__LocalizeRequest *r, struct nm_exception *why);
int nm_yarn_node_localization(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_arena *arena,
                              Yarn__ContainerLocalization **ret, struct nm_exception *why);
int nm_yarn_node_restart(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why);
int nm_yarn_node_reinitialize(struct nm_yarn_node *n, const Yarn__ReinitializeRequest *r, struct nm_exception *why);
int nm_yarn_node_roll_back(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why);
int nm_yarn_node_commit(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why);

/* Returns the metadata of each auxiliary service. The answer to a start request contains this metadata. */
int nm_yarn_node_services(struct nm_yarn_node *n, struct nm_arena *arena, Yarn__Data ***ret, size_t *ret_n);

/* ---- queries ------------------------------------------------------------------------------------------------ */

/* The rights of a viewer. all: the viewer may see every container; otherwise the containers that may_see() accepts.
 * with_users: the viewer may see the data of users, if may_view() accepts the application or is NULL: the user and the
 * diagnostics of containers, and the address of their logs, which contains the user. with_log_files: the viewer may
 * see the names of log files. */
struct nm_yarn_view_rights {
    bool all, with_users, with_log_files;
    bool (*may_see)(void *userdata, const char *container);
    bool (*may_view)(void *view_userdata, const char *submitter, const char *view_acl);
    void *userdata, *view_userdata;
};
/* Return new references in the format of a NodeManager's web services (rest.h). NULL: no memory. A list has at most
 * NM_YARN_LIST_MAX items. Items that haven't ended come first. A member states whether items are left out. state, user:
 * return only items with this state or user; NULL: return items with any state or user. */
#define NM_YARN_LIST_MAX 500u
json_t *nm_yarn_node_show_containers(struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights);
json_t *nm_yarn_node_show_applications(struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights,
                                       const char *state, const char *user);
/* Return one item by its id. False: there is no item with this id, or the viewer may not see the item. */
bool nm_yarn_node_show_container(struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights, const char *id,
                                 json_t **ret);
bool nm_yarn_node_show_application(struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights,
                                   const struct nm_yarn_application_id *id, json_t **ret);

/* The node's data about the logs of a container. */
struct nm_yarn_log_owner {
    char application[96];               /* the application's id (NM_YARN_ID_SIZE) */
    const char *submitter, *view_acl;   /* NULL: not known. Valid until the event loop runs again. */
    bool is_running;
};
/* Returns data about the logs of the container. The text of its id must be valid (rest.h). */
void nm_yarn_node_find_log_owner(struct nm_yarn_node *n, const char *container, struct nm_yarn_log_owner *ret);

/* Figures for monitoring, with the meaning of Hadoop's NodeManagerMetrics. */
struct nm_yarn_node_figures {
    /* Containers since nmd was started. `launched` also counts containers that nmd found running at its start. */
    uint64_t launched, succeeded, failed, killed, rolled_back;
    struct nm_yarn_rate launch; /* time from the admission of a container to its running command */
    /* Containers that haven't ended. A paused container also counts as running. */
    uint32_t n_applications, n, initing, reiniting, running, paused;
    uint32_t queued_guaranteed, queued_opportunistic, started_opportunistic;
    int64_t memory_mib, vcores, opportunistic_memory_mib, opportunistic_vcores; /* what containers requested;
                                                                        opportunistic: only those that have started */
    uint64_t used_bytes, swapped_bytes, cpu_millicores; /* measured use */
};
void nm_yarn_node_get_figures(const struct nm_yarn_node *n, struct nm_yarn_node_figures *ret);

/* What further containers the node would take. Memory is in MiB. */
struct nm_yarn_node_room {
    /* As in struct nm_room of agent/upstream.h. A node that accepts no containers has no free and no unused memory. */
    int64_t memory_mib, guaranteed_free_memory_mib, unused_memory_mib;
    int32_t vcores, guaranteed_free_vcores;
    int32_t queue_length, queue_max;
    bool admits;
};
void nm_yarn_node_get_room(const struct nm_yarn_node *n, struct nm_yarn_node_room *ret);
/* Returns whether the node has this container, and the container is not being ended. *ret_running: it has started.
 * *ret_guaranteed: the ResourceManager's newest token for it says so, also if nmctl has changed it since. */
bool nm_yarn_node_has_container(const struct nm_yarn_node *n, const Hadoop__ContainerId *id, bool *ret_running,
                                bool *ret_guaranteed);

/* ---- the ResourceManager ---------------------------------------------------------------------------------------- */

/* Returns true if the node has containers or files of this application. */
bool nm_yarn_node_has_application(const struct nm_yarn_node *n, const struct nm_yarn_application_id *id);
/* Ends the application on this node: ends the application's containers, and then removes its files. Further calls have
 * no effect. */
void nm_yarn_node_end_application(struct nm_yarn_node *n, const Hadoop__ApplicationId *id);
/* Removes an ended container, because the ResourceManager has received its end or doesn't know the container. */
void nm_yarn_node_acknowledge(struct nm_yarn_node *n, const Hadoop__ContainerId *id);
/* Writes the statuses of all containers into a heartbeat. Ends that don't fit into one message are sent with the next
 * heartbeat. */
int nm_yarn_node_report(struct nm_yarn_node *n, struct nm_arena *arena, Yarn__NodeStatus *status);
/* Records that the ResourceManager has answered the heartbeat with a new response id. Requests another heartbeat if
 * ends are left to report. */
void nm_yarn_node_reported(struct nm_yarn_node *n);
/* Returns true if every container of the cluster has ended and the ResourceManager has answered a heartbeat with its
 * end. */
bool nm_yarn_node_is_empty(const struct nm_yarn_node *n);
/* Returns whether a container of the cluster hasn't ended. */
bool nm_yarn_node_has_live(const struct nm_yarn_node *n);
/* Returns the memory that the ResourceManager has allocated to running guaranteed containers. Containers that are being
 * ended don't count, since the ResourceManager has released their memory. */
uint64_t nm_yarn_node_promised_mib(const struct nm_yarn_node *n);
/* Sets the GPUs that the node offers, sorted by index. */
void nm_yarn_node_set_gpus(struct nm_yarn_node *n, const struct nm_yarn_gpu *list, size_t n_list);
/* Returns a new reference to an array of the node's GPUs, with the containers that have them. A container that the
 * viewer may not see is only counted as one. NULL: no memory. */
json_t *nm_yarn_node_show_gpus(const struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights);
/* Returns the GPUs as Hadoop's web service of the resource yarn.io/gpu does (class NMGpuResourceInfo). As for a
 * NodeManager with a list of GPUs in its files, the figures of nvidia-smi are null. NULL: no memory. */
json_t *nm_yarn_node_show_gpu_resource(const struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights);
/* Returns how many of the node's GPUs containers have. */
size_t nm_yarn_node_n_assigned_gpus(const struct nm_yarn_node *n);
/* Adds the countable resources beside memory and vcores that the node offers. */
int nm_yarn_node_offer_resources(const struct nm_yarn_node *n, struct nm_arena *arena, Hadoop__Resource *r);
/* Returns a new reference to an array: each such resource, its amount on the node, and the sums of what containers have
 * that haven't ended. NULL: no memory. */
json_t *nm_yarn_node_show_resources(const struct nm_yarn_node *n);
/* Writes all containers and applications into a registration. */
int nm_yarn_node_report_all(struct nm_yarn_node *n, struct nm_arena *arena, Yarn__RegisterRequest *request);
/* Ends all containers. Is called when a ResourceManager without recovery has restarted, because it doesn't know the
 * containers any more. */
void nm_yarn_node_end_all(struct nm_yarn_node *n, enum nm_yarn_exit code, const char *message);
/* Ends all applications on this node, and their containers. Is called when the node leaves the cluster for good,
 * because the ResourceManager doesn't report ends of applications to it any more. As with Hadoop's NodeManager, the
 * logs are then uploaded, and the files removed. */
void nm_yarn_node_leave(struct nm_yarn_node *n, const char *message);
