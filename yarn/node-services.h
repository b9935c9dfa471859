/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* All that a node needs to run the cluster's containers, made and taken apart in the right order. */

#include "yarn/launch/launcher.h"
#include "yarn/launch/shuffle-service.h"
#include "yarn/cm-protocol/key-store.h"
#include "yarn/cm-protocol/keyring.h"
#include "yarn/cm-protocol/manage.h"
#include "yarn/node/node.h"
#include "yarn/proxy/proxy.h"

struct nm_yarn_services_params {
    sd_event *event;
    struct nm_manager *manager;
    const struct nm_yarn_settings *settings;
    struct nm_yarn_state *state; /* of the keys: what an earlier nmd knew of them is put there */
    const char *localizer_program, *shuffle_program, *state_dir, *runtime_dir;
    void (*tell)(int level, const char *sentence);
    void (*news)(void *userdata); /* the ResourceManager should hear something now */
    bool (*no_room)(void *userdata); /* as in nm_yarn_node_params */
    void *userdata;
};

struct nm_yarn_services {
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_launcher *launcher;
    struct nm_yarn_shuffle *shuffle; /* or NULL: the cluster has none */
    struct nm_yarn_node *node;
    struct nm_yarn_manage *manage;
    struct nm_yarn_proxy *proxy; /* or NULL: the cluster wants none */
    void (*news)(void *userdata);
    bool (*no_room)(void *userdata);
    void *userdata;
    struct nm_yarn_kept *kept;
};

/* listen_fd is its own from now on, also on failure. *ret_message: why not, or NULL. */
int nm_yarn_services_new(const struct nm_yarn_services_params *params, int listen_fd, struct nm_yarn_services **ret,
                         char **ret_message);
/* Would it be refused? Of params `settings` and the programs; nothing is made. */
int nm_yarn_services_check(const struct nm_yarn_services_params *params, bool may_be_ours, char **ret_message);
struct nm_yarn_services *nm_yarn_services_free(struct nm_yarn_services *h);
NM_DEFINE_CLEANUP(struct nm_yarn_services *, nm_yarn_services_free)

/* Now and then, when keys or tokens may have changed: what is new of them outlives nmd. */
void nm_yarn_services_keep(struct nm_yarn_services *h);
