/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The direct backend over directories of plain files, for tests of it: a mount with controllers, a slice in it, and in
 * that the cgroup of one container, c1. Needs cmocka.h before it.
 */

#include "cgroup/backend.h"
#include "tests/unit/fake-tree.h"

#define SLICE "nmtest.slice"
#define SCOPE "root/" SLICE "/nmtest-c1.scope/"

struct world {
    struct fake_tree dir;
    struct nm_cgroup_backend *b;
    struct nm_cgroup *cg; /* c1 */
    char *message;        /* of a start that failed */
};

/* Setups: the files alone, or with the backend over them. */
int world_alone(void **state);
int world_started(void **state);
int world_teardown(void **state);

/* Starts the backend: its result. */
int world_start(struct world *w);
/* Starts it, has it believe in every feature, and opens c1. */
void world_begin(struct world *w);

/* A file of c1. */
void assert_file(const struct world *w, const char *file, const char *expected);

/* What came of an operation that gives no cgroup. */
struct answer {
    unsigned n_calls;
    int result;
    char message[300];
};

void on_done(int result, struct nm_cgroup *cg, const char *message, void *userdata);

/* One of each kind. */
struct nm_cgroup_limits some_limits(void);
