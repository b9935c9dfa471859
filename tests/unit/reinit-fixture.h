/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A container of YARN on a complete manager with a real journal, shims and commands, for tests of the requests for a
 * running container. The launcher is fake. The test decides when resources are available. Include it after cmocka.h.
 */

#include "tests/unit/fake-launcher.h"

#define SLEEPS "exec sleep 1000"
#define OTHER_COMMAND "exec sleep 2000"

/* A launch context with a command and with resources, and the memory for its parts. */
struct context {
    Yarn__LaunchContext context;
    char *command;
    Yarn__NamedResource resources[4], *list[4];
    Yarn__LocalResource value;
};

struct reinit_fixture {
    struct manager_fixture *w;
    struct nm_yarn_node *n;
    struct nm_live_container *l;
    struct tokens_id ids;
    struct nm_exception why;
};

/* Makes a launch context with a command, or NULL, and with resources of these names, or NULL. */
Yarn__LaunchContext *make_context(struct context *c, const char *command, const char *const *names);

bool is_new(const struct nm_live_container *l);

/* Ends the newest preparation with success, and waits until the container runs. */
void finish_preparation(struct reinit_fixture *o);

/* Starts a container with the resources a and b, and waits until it runs. */
void start_container(struct reinit_fixture *o, struct manager_fixture *w, bool opportunistic, const char *command);

/* Requests of the container's owner. They return the result, and leave the reason of a refusal in o->why. */
int request_reinit(struct reinit_fixture *o, Yarn__LaunchContext *context, bool auto_commit);

int request_localization(struct reinit_fixture *o, Yarn__LaunchContext *context);

/* Ends the newest localization with this result. */
void finish_fetching(int result);

/* Waits until the running command has ended. by_force: kills the command first. */
void wait_for_end(struct reinit_fixture *o, bool by_force);

/* Kills the command. Asserts that the container then runs this command. */
void assert_runs_again(struct reinit_fixture *o, const char *command);

/* Returns the status that the master gets. The caller ends the arena. */
Yarn__ContainerStatus *container_status(struct reinit_fixture *o, struct nm_arena *arena);

/* Asserts that the container is running or queued, with this sub-state and these words in its diagnostics. */
void assert_diagnostics(struct reinit_fixture *o, int32_t sub_state, const char *words);

void assert_ended(struct reinit_fixture *o, int32_t exit_status, const char *words);

/* expected: for instance "a=2 b=2" */
void assert_localized(struct reinit_fixture *o, const char *expected);

/* The requests with the parameters that most tests use. */
int request_restart(struct reinit_fixture *o);
int request_roll_back(struct reinit_fixture *o);
int request_commit(struct reinit_fixture *o);
int request_reinitialize(struct reinit_fixture *o);
int request_localize(struct reinit_fixture *o);

/* Asserts that the request was refused with these words in the reason. */
void assert_refused(const struct reinit_fixture *o, int r, const char *words);
