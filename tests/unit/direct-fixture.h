/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The direct backend over directories of plain files, for tests of this backend: a mount with controllers, a slice in
 * the mount, and the cgroup of one container, c1, in the slice. Include it after cmocka.h.
 */

#include "cgroup/backend.h"
#include "tests/unit/fake-tree.h"

#define SLICE "nmtest.slice"
#define SCOPE "root/" SLICE "/nmtest-c1.scope/"

struct fixture {
    struct fake_tree dir;
    struct nm_cgroup_backend *b;
    struct nm_cgroup *cg; /* c1 */
    char *message;        /* why the start failed */
};

/* Setups of a test: fixture_alone() makes only the files, fixture_started() also starts the backend. */
int fixture_alone(void **state);
int fixture_started(void **state);
int fixture_teardown(void **state);

/* Starts the backend and returns its result. */
int fixture_start(struct fixture *w);
/* Starts the backend, sets all its features to available, and opens c1. */
void fixture_begin(struct fixture *w);

/* Asserts that a file of c1 has this text. */
void assert_file(const struct fixture *w, const char *file, const char *expected);

/* Result of an operation whose callback, on_done(), gets no cgroup. */
struct answer {
    unsigned n_calls;
    int result;
    char message[300];
};

void on_done(int result, struct nm_cgroup *cg, const char *message, void *userdata);

/* Returns limits in which each kind of limit is set. */
struct nm_cgroup_limits some_limits(void);
