/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ContainerManagementProtocol, on the node's port: whom application masters and the ResourceManager ask for containers.
 * Here it is decided who may ask for what (keyring.h has the keys, token checks are pure in token-check.h); what is
 * asked is node/node.h's.
 */

#include <systemd/sd-event.h>

#include "yarn/cm-protocol/keyring.h"
#include "yarn/cm-protocol/used-tokens.h"
#include "yarn/node/node.h"

struct nm_yarn_manage;

/* Who has a hand in the start of applications' masters: the proxy, where there is one. */
struct nm_yarn_masters {
    /* *ret: what it is started with instead. 0, a positive outcome with *why, or -errno. */
    int (*begin)(void *userdata, const Hadoop__ContainerTokenIdentifier *token, const Yarn__LaunchContext *context,
                 struct nm_arena *a, const Yarn__LaunchContext **ret, struct nm_exception *why);
    /* It couldn't be started after all. */
    void (*abandon)(void *userdata, const Hadoop__ContainerTokenIdentifier *token);
    void *userdata;
};

/* listen_fd is the server's from now on, also on failure; keyring, used and node must outlive it. */
int nm_yarn_manage_new(sd_event *event, int listen_fd, struct nm_yarn_keyring *keyring, struct nm_yarn_used *used,
                       struct nm_yarn_node *node, struct nm_yarn_manage **ret);
struct nm_yarn_manage *nm_yarn_manage_free(struct nm_yarn_manage *m);
NM_DEFINE_CLEANUP(struct nm_yarn_manage *, nm_yarn_manage_free)

/* Which node this is, for what tokens say; and the ResourceManager whose tokens are good: 0, none at the moment (it is
 * being registered at), and who wants to start something is asked to come again. */
void nm_yarn_manage_set_node(struct nm_yarn_manage *m, const char *host, int32_t port);
void nm_yarn_manage_set_rm(struct nm_yarn_manage *m, int64_t rm_identifier);

/* Copied. Without it masters are started as all others are. */
void nm_yarn_manage_set_masters(struct nm_yarn_manage *m, const struct nm_yarn_masters *masters);

/* What the ResourceManager sends a new token for, on its own: the same as if the application's master came with it. The
 * node may have heard of it already. 0, a positive outcome with *why, or -errno. */
int nm_yarn_manage_update(struct nm_yarn_manage *m, const Hadoop__Token *token, struct nm_arena *arena,
                          struct nm_exception *why);
