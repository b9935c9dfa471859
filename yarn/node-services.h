/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* All objects that a node needs to run the cluster's containers. They are created and freed in the order of their
 * dependencies. */

#include "yarn/launch/aux-host.h"
#include "yarn/launch/launcher.h"
#include "yarn/launch/shuffle-service.h"
#include "yarn/launch/spark-service.h"
#include "yarn/logs/logs.h"
#include "yarn/cm-protocol/key-store.h"
#include "yarn/cm-protocol/keyring.h"
#include "yarn/cm-protocol/cm-server.h"
#include "yarn/node/node.h"
#include "yarn/proxy/proxy.h"

struct nm_yarn_services_params {
    sd_event *event;
    struct nm_manager *manager;
    const struct nm_yarn_settings *settings;
    struct nm_yarn_cluster_keys *keys; /* keys that an earlier nmd has saved are restored into `keys` */
    const char *localizer_program, *uploader_program, *shuffle_program, *spark_program, *shim_program;
    const char *state_dir, *runtime_dir;
    void (*report_cb)(int level, const char *sentence);
    void (*on_change)(void *userdata); /* called when the ResourceManager should get a heartbeat immediately */
    bool (*no_room)(void *userdata); /* same as in nm_yarn_node_params */
    void *userdata;
};

struct nm_yarn_services {
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_launcher *launcher;
    struct nm_yarn_shuffle *shuffle; /* NULL if the cluster doesn't use nm-shuffle */
    struct nm_yarn_spark *spark;     /* NULL if the cluster doesn't use nm-spark-shuffle */
    struct nm_yarn_aux_host *aux_host; /* NULL if no auxiliary service runs in Java */
    struct nm_yarn_logs *logs;       /* NULL if the cluster doesn't aggregate logs */
    struct nm_yarn_node *node;
    struct nm_yarn_cm_server *cm_server;
    struct nm_yarn_proxy *proxy; /* NULL if the cluster doesn't use the proxy */
    void (*on_change)(void *userdata);
    bool (*no_room)(void *userdata);
    void *userdata;
    struct nm_yarn_key_store *key_store;
};

/* Takes ownership of listen_fd, even if the function fails. *ret_message: the reason for a failure, or NULL. */
int nm_yarn_services_new(const struct nm_yarn_services_params *params, int listen_fd, struct nm_yarn_services **ret,
                         char **ret_message);
/* Checks whether nm_yarn_services_new() would fail, without side effects. Uses only `settings` and the program paths of
 * params. */
int nm_yarn_services_check(const struct nm_yarn_services_params *params, bool may_be_ours, char **ret_message);
struct nm_yarn_services *nm_yarn_services_free(struct nm_yarn_services *h);
NM_DEFINE_CLEANUP(struct nm_yarn_services *, nm_yarn_services_free)

/* Passes on the id of the ResourceManager whose tokens are valid (0 while the node is registering), and its limit of
 * the nodes' queues (-1: no limit). */
void nm_yarn_services_set_rm(struct nm_yarn_services *h, int64_t rm_identifier, int32_t queue_max_length);

/* Saves changed keys and tokens, so that they survive a restart of nmd. Must be called regularly. */
void nm_yarn_services_save(struct nm_yarn_services *h);
