/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The server of ContainerManagementProtocol on the node's port. Application masters and the ResourceManager send it
 * requests for containers. Other nodes ask it for the node's room, with nmd's own protocol (peer/peer.h). This code
 * decides whether a caller may make a request, with the keys of keyring.h and the checks of token-check.h. node/node.h
 * carries out the request.
 */

#include <systemd/sd-event.h>

#include "yarn/cm-protocol/key-store.h"
#include "yarn/cm-protocol/keyring.h"
#include "yarn/cm-protocol/used-tokens.h"
#include "yarn/node/node.h"

struct nm_yarn_cm_server;

/* Hooks for the start of application masters. If the proxy for application masters is enabled, it sets them. */
struct nm_yarn_master_hooks {
    /* Called before the start of a master. *ret: the launch context with which the master is started. Returns 0, a
     * positive outcome with *why, or -errno. */
    int (*begin)(void *userdata, const Hadoop__ContainerTokenIdentifier *token, const Yarn__LaunchContext *context,
                 struct nm_arena *a, const Yarn__LaunchContext **ret, struct nm_exception *why);
    /* Called if the start fails after begin() has succeeded. */
    void (*abandon)(void *userdata, const Hadoop__ContainerTokenIdentifier *token);
    void *userdata;
};

/* Takes ownership of listen_fd, even if the function fails. keyring, used and node must outlive the server. */
int nm_yarn_cm_server_new(sd_event *event, int listen_fd, struct nm_yarn_keyring *keyring, struct nm_yarn_used *used,
                          struct nm_yarn_node *node, struct nm_yarn_cm_server **ret);
struct nm_yarn_cm_server *nm_yarn_cm_server_free(struct nm_yarn_cm_server *m);
NM_DEFINE_CLEANUP(struct nm_yarn_cm_server *, nm_yarn_cm_server_free)

/* Set the node's address as it is in tokens, and the id of the ResourceManager whose tokens are valid. 0: the node is
 * registering, so no token is valid, and nmd answers start requests with a request to retry. */
void nm_yarn_cm_server_set_node(struct nm_yarn_cm_server *m, const char *host, int32_t port);
void nm_yarn_cm_server_set_rm(struct nm_yarn_cm_server *m, int64_t rm_identifier);

/* Sets the store that saves the keyring. It must outlive the server. If it isn't set, keys are not saved. */
void nm_yarn_cm_server_set_key_store(struct nm_yarn_cm_server *m, struct nm_yarn_key_store *key_store);

/* Copies the hooks. If no hooks are set, masters are started like all other containers. */
void nm_yarn_cm_server_set_master_hooks(struct nm_yarn_cm_server *m, const struct nm_yarn_master_hooks *masters);

/* Carries out the requests in the ResourceManager's answer to a heartbeat. The same answer may arrive twice, so
 * requests that were carried out already, or that name unknown containers and applications, are ignored. A new token of
 * a container is applied as if the application's master had sent it. */
void nm_yarn_apply_response(struct nm_yarn_node *n, struct nm_yarn_cm_server *m, const Yarn__HeartbeatResponse *answer);
