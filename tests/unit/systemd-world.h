/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The systemd backend over a fake systemd (fake-systemd.h), for tests of it. Needs cmocka.h before it. */

#include "cgroup/backend.h"
#include "tests/unit/fake-systemd.h"
#include "tests/unit/fake-tree.h"

#define SLICE "nmtest.slice"

struct world {
    struct fake_tree dir;
    char root[80], socket[112];
    sd_event *event;
    struct fake_systemd *systemd;
    struct nm_cgroup_backend *b;
    char *message; /* of a start that failed */
};

/* Setups: a user's manager at its private socket (alone: the backend isn't started yet), or the system's on its bus. */
int world_alone(void **state);
int world_private(void **state);
int world_bus(void **state);
int world_teardown(void **state);

/* Starts the backend: its result. */
int world_start(struct world *w);

/* What sd_booted() says, and which user this is. */
void world_set_booted(int r);
void world_set_user(uid_t uid);

/* What came of an operation. */
struct answer {
    unsigned n_calls;
    int result;
    struct nm_cgroup *cg;
    char message[300];
};

void on_done(int result, struct nm_cgroup *cg, const char *message, void *userdata);
void run_until_called(struct world *w, const struct answer *a);
/* Runs the loop until systemd has heard that so often. */
void run_until_heard(struct world *w, const char *text, unsigned n);
/* Runs the loop for a moment: what was on its way has arrived. */
void run_a_while(struct world *w);

/* Creates and waits: the result. */
int create(struct world *w, const char *id, struct answer *a);
struct nm_cgroup *created(struct world *w, const char *id);
bool file_says(const struct nm_cgroup *cg, const char *file, const char *text);

/* Removes the directory of a unit, or of the slice, with all in it. */
void drop_cgroup(struct world *w, const char *name);
