/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A node's surroundings for nm-shuffle or nm-spark-shuffle, which are started as nmd starts them. Include it after
 * cmocka.h. */

#include <stdint.h>
#include <sys/types.h>

#include "tests/unit/run-until.h"
#include "yarn/conf/settings.h"

#define SECONDS 20
#define APPLICATION "application_1700000000000_0001"

struct fixture {
    char root[40], state[60]; /* root: the local directory, which also has the state directory */
    sd_event *event;
    struct nm_yarn_settings *settings;
    /* one of the services, which the test starts and frees */
    struct nm_yarn_shuffle *shuffle;
    struct nm_yarn_spark *spark;
    char *user;
};

/* The last sentence that was passed to aux_service_report(). */
extern char last_message[400];
void aux_service_report(int level, const char *sentence);

#define RUN_UNTIL(w, condition) RUN_UNTIL_WITHIN(w, SECONDS * NM_USEC_PER_SEC, condition)
#define PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>"

/* Makes the directories, the loop and settings with these properties in XML. The settings have a second local
 * directory, which doesn't exist. */
struct fixture *aux_service_fixture_new(const char *properties);
void aux_service_fixture_free(struct fixture *w);
struct nm_yarn_settings *aux_service_settings(const struct fixture *w, const char *properties);

/* Returns the process that this process has started. A zombie counts as well. */
pid_t find_child(void);
