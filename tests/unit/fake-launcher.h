/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of yarn/node/: in the place of launch/ is what does nothing. What it is asked for is noted, and ready
 * when the test says so. Needs cmocka.h before it.
 */

#include "tests/unit/manager-world.h"
#include "yarn/launch/launcher.h"
#include "yarn/node/node.h"

struct nm_yarn_preparation {
    struct nm_yarn_preparation_listener listener;
    const Yarn__LaunchContext *context;
    bool is_running, links, failed; /* links: it was nm_yarn_launcher_localize() */
};

struct fake_launcher {
    struct nm_yarn_preparation *newest; /* NULL: that is over */
    unsigned n_preparations, ended_containers, ended_applications;
    unsigned n_news, n_no_room, n_forgotten; /* what the node has told */
    char told[1000];              /* what it has told the log, the newest */
    bool sent_all_the_same;       /* what it hears when it has no room: the ResourceManager knew */
    bool shuffles;                /* it serves map outputs, too; so often it was told of an application and its end: */
    unsigned shuffle_added, shuffle_ended;
    const char *no_place;         /* why there is none; NULL: there is */
    const char *elsewhere;        /* other directory for a container whose own one has failed; NULL: none */
    const char *submitter;        /* whose containers come to be prepared */
};
extern struct fake_launcher fake_launcher;

void fake_launcher_reset(void); /* nothing has been asked of it yet */
/* A node on this manager, in the cluster of tests/unit/yarn-tokens.h. */
struct nm_yarn_node *fake_launcher_node(struct manager_world *w);
/* The same, as nm_yarn_node_new() has it: it isn't told yet where it is. */
int fake_launcher_try_node(struct manager_world *w, struct nm_yarn_node **ret);
