/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ContainerManagementProtocol on the node's port: the server to which application masters and the ResourceManager send
 * requests for containers. This code decides who may request what (keyring.h has the keys, token-check.h has the
 * checks, which are pure). node/node.h carries the requests out.
 */

#include <systemd/sd-event.h>

#include "yarn/cm-protocol/keyring.h"
#include "yarn/cm-protocol/used-tokens.h"
#include "yarn/node/node.h"

struct nm_yarn_cm_server;

/* Hooks for the start of application masters. The proxy sets them, where it is enabled. */
struct nm_yarn_masters {
    /* Called before the start. *ret: the context to start the master with instead. Returns 0, a positive outcome with
     * *why, or -errno. */
    int (*begin)(void *userdata, const Hadoop__ContainerTokenIdentifier *token, const Yarn__LaunchContext *context,
                 struct nm_arena *a, const Yarn__LaunchContext **ret, struct nm_exception *why);
    /* Called if the start failed after begin(). */
    void (*abandon)(void *userdata, const Hadoop__ContainerTokenIdentifier *token);
    void *userdata;
};

/* Takes ownership of listen_fd, also on failure. keyring, used and node must outlive the server. */
int nm_yarn_cm_server_new(sd_event *event, int listen_fd, struct nm_yarn_keyring *keyring, struct nm_yarn_used *used,
                          struct nm_yarn_node *node, struct nm_yarn_cm_server **ret);
struct nm_yarn_cm_server *nm_yarn_cm_server_free(struct nm_yarn_cm_server *m);
NM_DEFINE_CLEANUP(struct nm_yarn_cm_server *, nm_yarn_cm_server_free)

/* Set the node's address as tokens name it, and the id of the ResourceManager whose tokens are valid. 0: no
 * ResourceManager's tokens are valid at the moment, because the node is registering. Start requests are then answered
 * with a request to retry. */
void nm_yarn_cm_server_set_node(struct nm_yarn_cm_server *m, const char *host, int32_t port);
void nm_yarn_cm_server_set_rm(struct nm_yarn_cm_server *m, int64_t rm_identifier);

/* Copies the hooks. Without them, masters are started like all other containers. */
void nm_yarn_cm_server_set_masters(struct nm_yarn_cm_server *m, const struct nm_yarn_masters *masters);

/* Carries out the requests in the ResourceManager's answer to a heartbeat. An answer may arrive twice. Requests that
 * were carried out already, or that name unknown objects, are ignored. A new token of a container is applied as if the
 * application's master had sent it. */
void nm_yarn_apply_response(struct nm_yarn_node *n, struct nm_yarn_cm_server *m, const Yarn__HeartbeatResponse *answer);
