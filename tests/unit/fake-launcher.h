/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of yarn/node/: a fake launcher stands in for yarn/launch/. The fake launcher only records the requests. The
 * test decides when a preparation is ready. Include it after cmocka.h.
 */

#include "tests/unit/manager-fixture.h"
#include "tests/unit/yarn-tokens.h"
#include "yarn/launch/launcher.h"
#include "yarn/node/node.h"

struct nm_yarn_preparation {
    struct nm_yarn_preparation_listener listener;
    const Yarn__LaunchContext *context;
    bool retains, fetches, links; /* nm_yarn_launcher_retain(), _fetch() or _localize() made the preparation */
    bool failed;
};

struct fake_launcher {
    struct nm_yarn_preparation *newest; /* the newest preparation; NULL if it was freed */
    unsigned n_preparations, ended_containers, ended_applications;
    unsigned n_updates, n_no_room, n_ended_callbacks; /* numbers of calls of the node's callbacks */
    char reported[1000];          /* the node's newest message for the log */
    bool sent_although_full;      /* result of no_room(): whether the ResourceManager knew that the node is full */
    bool shuffles;                /* the node serves map outputs; the next members count added and ended applications */
    unsigned shuffle_added, shuffle_ended;
    const char *no_dirs;          /* the reason why no directory is usable; NULL: a directory is usable */
    const char *elsewhere;        /* the directory to which a container moves when its own one failed, or NULL */
    const char *submitter;        /* the submitter that each preparation must have */
    bool (*is_known)(const char *application, void *userdata); /* of the node, with its argument */
    void *is_known_userdata;
    char view_acl[100];           /* the ACL of the last ended application that has one; "": none */
};
extern struct fake_launcher fake_launcher;

/* Starts a manager for real processes (manager-fixture.h) and restores the fake launcher's state before the first
 * request. The teardown is manager_fixture_tear_down_real(). */
int fake_launcher_set_up(void **state);
void fake_launcher_reset(void); /* restores the state before the first request */
/* Returns a node on this manager, in the cluster of yarn-tokens.h. */
struct nm_yarn_node *fake_launcher_node(struct manager_fixture *w);
/* Calls nm_yarn_node_new() as fake_launcher_node() does, and returns the result of nm_yarn_node_new(). The node has no
 * address yet. */
int fake_launcher_try_node(struct manager_fixture *w, struct nm_yarn_node **ret);
