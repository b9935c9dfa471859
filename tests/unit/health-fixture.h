/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Real scripts in a directory of the test and a real event loop, with the results that callbacks received. No test
 * sleeps: the loop runs until a condition is true. Include it after cmocka.h. */

#include "agent/admin-script.h"
#include "agent/health.h"
#include "tests/unit/run-until.h"
#include "util/clock.h"

#define DEADLINE_USEC (60 * NM_USEC_PER_SEC)

struct health_fixture {
    char directory[64];
    sd_event *event;
    struct nm_config *config;
    /* results that the callbacks received */
    unsigned n_verdicts;
    struct nm_script_verdict verdict;
    unsigned n_changes;
    bool healthy;
    char reason[NM_HEALTH_REASON_SIZE];
};

#define RUN_UNTIL(w, condition) RUN_UNTIL_WITHIN(w, DEADLINE_USEC, condition)

int health_fixture_set_up(void **state);
int health_fixture_tear_down(void **state);

/* Writes an executable file. */
void write_script(const char *path, const char *text);

/* Makes <directory>/<name> with these lines after "#!/bin/sh". Each script needs its own file, because the file of a
 * running script can't be written. */
const char *make_script(struct health_fixture *f, const char *name, const char *lines, char *path,
                          size_t size);

/* Records a verdict in userdata, which is a struct health_fixture. */
void on_verdict(const struct nm_script_verdict *v, void *userdata);
