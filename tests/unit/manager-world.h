/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of agent/manager/: a whole manager on the fake backend, in a temporary directory, on a node whose figures
 * are the test's own. Its timers aren't started: a round comes when the test asks for one. Needs cmocka.h before it.
 */

#include "agent/state/manager-state.h"
#include "tests/unit/fake-tree.h"

#define MIB (UINT64_C(1) << 20)
#define MANAGER_WORLD_DEADLINE_USEC (60 * NM_USEC_PER_SEC)

extern const struct nm_caller manager_world_admin;
/* What nm_manager_drain() takes, for a drain that lasts. */
#define manager_world_drain(usec) (&(struct nm_drain_order){.deadline_usec = (usec)})

struct manager_world {
    struct fake_tree tree;
    sd_event *event;
    struct nm_manager *m;
    unsigned n_stat; /* how often the node's CPU time was written */
    char config[96], state[96], run[96], proc[96]; /* paths in it */
};

int manager_world_set_up(void **state); /* 4 CPUs, 1000 MiB, a container of 64 MiB and 1 vcore as the default */
int manager_world_tear_down(void **state);
/* For real processes: nothing about this machine keeps the node from starting them, and at the end none of them lives.
 * The fake cgroups keep nobody, and a shim that sees its command's end writes into the directory that is to be
 * removed. */
int manager_world_set_up_real(void **state);
int manager_world_tear_down_real(void **state);
/* Starts nmd, with its second sample, from which on CPU use is known. The next is due in an hour: what a test wants to
 * happen, it makes happen. */
void manager_world_start(struct manager_world *w);
void manager_world_node(struct manager_world *w, uint64_t mib, unsigned cpus);
void manager_world_configure(struct manager_world *w, const char *text);
/* What an nmd is begun with here. The configuration is read, and whoever begins one has it. */
void manager_world_params(struct manager_world *w, struct nm_manager_params *ret);
/* Ends nmd, if there is one, and begins it anew with what it finds; the fake cgroups have gone with the former. */
void manager_world_restart(struct manager_world *w);
/* Another nmd is told a story, in a process of its own, and dies of SIGKILL at the step (fault.h); NULL: when the story
 * is over. The next one is begun with manager_world_restart(). */
void manager_world_die(struct manager_world *w, const char *step, void (*story)(struct manager_world *w));
/* Until nothing is left to be done in the event loop. */
void manager_world_settle(struct manager_world *w);
/* Until it is so, one turn of the loop at a time. */
typedef bool (*manager_world_cond_t)(const struct nm_live_container *l);
void manager_world_wait(struct manager_world *w, const struct nm_live_container *l, manager_world_cond_t is);
/* With a cgroup, as if it had been launched: 64 MiB and 1 vcore. */
struct nm_live_container *manager_world_add(struct manager_world *w, const char *name, enum nm_execution_type type,
                                            enum nm_state state);
/* By a request, journalled: it waits for a round. */
struct nm_live_container *manager_world_submit(struct manager_world *w, const char *name, enum nm_execution_type type,
                                               const char *const argv[]);
/* As it stands there, but for the user, who is the test's. */
struct nm_live_container *manager_world_submit_as(struct manager_world *w, const struct nm_submit *s);
int manager_world_try(struct manager_world *w, const struct nm_submit *s, const struct nm_container **ret,
                      struct nm_problem *ret_problem);
/* For manager_world_wait(): its end was heard, or has been dealt with already. */
bool manager_world_shim_is_gone(const struct nm_live_container *l);
struct nm_live_container *manager_world_find(const struct manager_world *w, const char *name);

void assert_file(const struct nm_live_container *l, const char *file, const char *expected);
