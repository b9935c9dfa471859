/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of the rooms of agent/: a whole manager on the fake backend, in a temporary directory, on a node whose
 * figures the test sets. The manager's timers are not started: a round runs when the test asks for one. Include it
 * after cmocka.h.
 */

#include "agent/state/manager-state.h"
#include "tests/unit/fake-tree.h"

#define MIB (UINT64_C(1) << 20)
#define MANAGER_FIXTURE_DEADLINE_USEC (60 * NM_USEC_PER_SEC)

extern const struct nm_caller manager_fixture_admin;
/* An argument of nm_manager_drain() for a drain that persists when nmd restarts. */
#define manager_fixture_drain(usec) (&(struct nm_drain_order){.deadline_usec = (usec)})

struct manager_fixture {
    struct fake_tree tree;
    sd_event *event;
    struct nm_manager *m;
    unsigned n_stat; /* how often proc/stat was written */
    char config[96], state[96], run[96], proc[96]; /* paths in the tree */
};

int manager_fixture_set_up(void **state); /* a node with 4 CPUs and 1000 MiB */
int manager_fixture_tear_down(void **state);
/* Setup and teardown for real processes. The setup turns the check for free disk space off, since this machine's disks
 * must not keep the node from starting containers. The teardown kills the processes, because the fake cgroups kill no
 * process, and waits for the shims, because a shim writes its command's end into the directory that is to be
 * removed. */
int manager_fixture_set_up_real(void **state);
int manager_fixture_tear_down_real(void **state);
/* Calls manager_fixture_set_up_real() and manager_fixture_start(). */
int manager_fixture_set_up_started(void **state);
/* Starts the manager's timers and waits for the second sample, after which CPU use is known. The next sample is due in
 * an hour, so that rounds run only when the test asks for them. */
void manager_fixture_start(struct manager_fixture *w);
void manager_fixture_node(struct manager_fixture *w, uint64_t mib, unsigned cpus);
void manager_fixture_configure(struct manager_fixture *w, const char *text);
/* Fills in the parameters of a manager for this fixture, and reads the configuration. nm_manager_new() takes
 * ownership. */
void manager_fixture_params(struct manager_fixture *w, struct nm_manager_params *ret);
/* Frees the manager, if there is one, with its fake cgroups, and makes a new manager on the same files. */
void manager_fixture_restart(struct manager_fixture *w);
/* Runs story() with a new manager in a child process, which dies of SIGKILL at the fault step (fault.h). step NULL:
 * dies after the story. The caller then calls manager_fixture_restart(). */
void manager_fixture_die(struct manager_fixture *w, const char *step, void (*story)(struct manager_fixture *w));
/* Runs the event loop until no event is ready. */
void manager_fixture_settle(struct manager_fixture *w);
/* Runs the event loop until is(l) is true. */
typedef bool (*manager_fixture_cond_t)(const struct nm_live_container *l);
void manager_fixture_wait(struct manager_fixture *w, const struct nm_live_container *l, manager_fixture_cond_t is);
/* Writes a file into the directory of a container, as a shim or an earlier manager leaves it. */
void manager_fixture_leave_file(struct manager_fixture *w, const char *id, const char *file, const char *text);
/* Adds a container of 64 MiB and 1 vcore in this state, with a cgroup, as if it had been launched. */
struct nm_live_container *manager_fixture_add(struct manager_fixture *w, const char *name, enum nm_execution_type type,
                                              enum nm_state state);
/* Submits a container of 64 MiB and 1 vcore. The container is in the journal and waits for a round. */
struct nm_live_container *manager_fixture_submit(struct manager_fixture *w, const char *name,
                                                 enum nm_execution_type type,
                                                 const char *const argv[]);
/* Submit the container s, but for the user who runs the test. */
struct nm_live_container *manager_fixture_submit_as(struct manager_fixture *w, const struct nm_submit *s);
int manager_fixture_try(struct manager_fixture *w, const struct nm_submit *s, const struct nm_container **ret,
                        struct nm_problem *ret_problem);
/* Returns whether the shim's end was received or is already handled. A condition for manager_fixture_wait(). */
bool manager_fixture_shim_is_gone(const struct nm_live_container *l);
struct nm_live_container *manager_fixture_find(const struct manager_fixture *w, const char *name);
/* Returns the value of an SQL expression for a container's row in a table of the journal. */
int64_t manager_fixture_journalled(const struct manager_fixture *w, const char *table, const char *expression,
                                   const char *id);

void assert_file(const struct nm_live_container *l, const char *file, const char *expected);
