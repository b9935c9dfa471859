/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of localize/localizer.h: a localizer with real workers, which fetch by a command that logs each call. If
 * the test runs as root, workers run as the user nobody, otherwise as the user of the test.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "localize/localizer.h"
#include "tests/unit/run-until.h"
#include "util/clock.h"

#define SECONDS 20
#define NOBODY 65534
#define RUN_UNTIL(w, condition) RUN_UNTIL_WITHIN(w, SECONDS * NM_USEC_PER_SEC, condition)
#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_set_up, fixture_tear_down)

/* The directory /tmp/X has local/, state/ and the log of the command. */
struct fixture {
    char root[32];
    int root_fd;
    sd_event *event;
    json_t *settings;
    struct nm_localizer_params params;
    struct nm_localizer *localizer;
    char *local, *state;
};

/* The owner of a request, and the results that its callbacks got. */
struct owner {
    struct nm_localizer_request *request;
    int ended, result;
    unsigned progress;
    char message[512];
};

char *print(const char *format, ...) nm_printf(1, 2);
uid_t worker_uid(void);
int fixture_set_up(void **state);
int fixture_tear_down(void **state);
void start(struct fixture *w); /* starts the localizer with w->params */

/* Callbacks, whose userdata is the struct owner. */
void on_progress(struct nm_localizer_request *request, const struct nm_localizer_progress *progress, void *userdata);
void on_ended(struct nm_localizer_request *request, int result, const char *message, void *userdata);

/*
 * URIs: x:N makes a file of N bytes and writes a line to the log. x:hang-N writes its PID to the log and does not end.
 * x:bad fails. x:grow-N writes to a temporary file for N seconds and then renames it to the target.
 */
int ask_as(struct fixture *w, const char *name, uid_t uid, struct owner *o, enum nm_visibility visibility,
           const char *const *uris, size_t n);
int try_ask(struct fixture *w, struct owner *o, enum nm_visibility visibility, const char *const *uris, size_t n);
void ask(struct fixture *w, struct owner *o, const char *uri); /* asks for a private resource of alice */
void give_back(struct owner *o);

unsigned count_log(struct fixture *w);
bool has_written_pid(struct fixture *w, pid_t *pid);
bool exists(struct fixture *w, const char *name);
