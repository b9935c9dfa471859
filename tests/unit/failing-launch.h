/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Launches with a shim in which the nth call of one function fails (failing-shim.c), and with a peer on the shim's
 * connection. The command writes a mark into a file when it runs. Link with launch-fixture.c.
 */

#include "tests/unit/launch-fixture.h"
#include "util/frame.h"

#define MOST_CALLS 24 /* maximum number of tested calls of one function; not all of the shim's 64 resets of signals are
                         tested */

struct failing_call {
    const char *call;
    int error;
};

/* What a peer has received on the connection. */
struct received {
    bool is_over, has_end;
    struct nm_frame in;
    struct nm_frame_end end;
    char output[256];
    size_t n;
};

/* Returns a script that runs the command `before`, writes the mark of a run, and then runs the command `after`. The
 * script is valid until the next call. */
const char *mark_run(const char *before, const char *after);

/* Returns the id of the failing shim's container. The id names the call that fails. */
const char *failing_shim_id(void);

/* Prepares a shim whose nth call fails, and a command that writes a mark when it runs. */
void prepare_failing_shim(struct fixture *w, const struct failing_call *t, unsigned n);

bool has_failed(void);

bool has_run(void);

void assert_end_is_consistent(struct fixture *w, const char *expected_output);

/* Returns the maximum number of calls to test. For malloc() the number is 1, because the shim allocates memory once.
 * Later allocations belong to the coverage runtime, which would abort without memory. */
unsigned most_of(const struct failing_call *t);

/* Runs the shim repeatedly: first with the first call failing, then with the second, until no call fails any more.
 * Returns the number of failed calls. */
unsigned run_with_each_failure(struct fixture *w, const struct failing_call *t, void (*run_it)(struct fixture *w));

/* Reads the connection until both the shim and the connection have ended. */
void receive_all(struct fixture *w, int fd, const unsigned *n_ended, struct received *h);

void send_input(int fd, const char *text);

void begin_container(struct fixture *w);

void end_container(struct fixture *w);
