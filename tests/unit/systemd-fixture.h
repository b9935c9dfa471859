/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The systemd backend over a fake systemd (fake-systemd.h), for tests of the backend. Include it after cmocka.h. */

#include "cgroup/backend.h"
#include "tests/unit/cgroup-answer.h"
#include "tests/unit/fake-systemd.h"
#include "tests/unit/fake-tree.h"

#define SLICE "nmtest.slice"

struct fixture {
    struct fake_tree dir;
    char root[80], socket[112];
    sd_event *event;
    struct fake_systemd *systemd;
    struct nm_cgroup_backend *b;
    char *message; /* why the start failed */
};

/* Setups: fixture_private() starts the backend on a user manager's private socket, fixture_bus() on the system bus.
 * fixture_alone() makes a user manager, but does not start the backend. */
int fixture_alone(void **state);
int fixture_private(void **state);
int fixture_bus(void **state);
int fixture_teardown(void **state);

/* Starts the backend and returns its result. */
int fixture_start(struct fixture *w);

/* Set the return values of sd_booted() and geteuid(). */
void fixture_set_booted(int r);
void fixture_set_user(uid_t uid);

void run_until_called(struct fixture *w, const struct answer *a);
/* Runs the loop until n calls that systemd received match the text. */
void run_until_received(struct fixture *w, const char *text, unsigned n);
/* Runs the loop for a short time, so that messages that were sent arrive. */
void run_a_while(struct fixture *w);

/* Creates a cgroup, waits, and returns the result. created() asserts success and returns the cgroup. */
int create(struct fixture *w, const char *id, struct answer *a);
struct nm_cgroup *created(struct fixture *w, const char *id);
bool file_contains(const struct nm_cgroup *cg, const char *file, const char *text);

/* Removes the directory of a unit or of the slice with its content. */
void drop_cgroup(struct fixture *w, const char *name);
