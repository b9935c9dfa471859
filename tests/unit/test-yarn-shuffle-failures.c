/* SPDX-License-Identifier: Apache-2.0 */

/* The start of nm-shuffle, its jobs and its restarts, when each call fails once. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fail-nth.h"
#include "tests/unit/shuffle-service-fixture.h"

static void start_with_failures(void *userdata)
{
    struct fixture *w = userdata;
    char *message = NULL;
    int r = try_service(w, &message);
    unsigned kinds = fail_pause();

    if (r < 0) {
        assert_null(w->shuffle);
        assert_true(!message || *message);
    } else {
        assert_true(port_of(w) > 0);
        w->shuffle = nm_yarn_shuffle_free(w->shuffle);
    }
    assert_int_equal(find_child(), 0);
    free(message);
    fail_resume(kinds);
}

/* A start either succeeds completely or fails. A later start knows all jobs. */
static void test_a_failed_start_of_nm_shuffle_loses_no_job(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(add_job(w, w->user, KEY), 0);
    w->shuffle = nm_yarn_shuffle_free(w->shuffle);
    assert_true(fail_each_of(FAIL_MEMORY, start_with_failures, w) > 5);
    assert_true(fail_each_of(FAIL_PROCESS | FAIL_EVENT, start_with_failures, w) > 5);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, start_with_failures, w) > 5);
    start_service(w);
    RUN_UNTIL(w, request_status(w, KEY) == KNOWN);
}

static void add_with_failures(void *userdata)
{
    struct fixture *w = userdata;
    int r = add_job(w, w->user, KEY);
    unsigned kinds = fail_pause();

    if (r < 0) {
        assert_int_equal(r, -ENOMEM);
        assert_int_equal(add_job(w, w->user, KEY), 0); /* as for the next container of the application */
    }
    RUN_UNTIL(w, request_status(w, KEY) == KNOWN);
    fail_resume(kinds);
    nm_yarn_shuffle_end_application(w->shuffle, APPLICATION);
    kinds = fail_pause();
    RUN_UNTIL(w, request_status(w, KEY) == UNKNOWN);
    /* makes a new object, since restarts are delayed after the process has ended several times */
    w->shuffle = nm_yarn_shuffle_free(w->shuffle);
    start_service(w);
    fail_resume(kinds);
}

/* Whatever call fails, accepted jobs are served and ended jobs are not served. */
static void test_accepted_jobs_are_served_whatever_call_fails(void **state)
{
    struct fixture *w = *state;

    assert_true(fail_each_of(FAIL_MEMORY, add_with_failures, w) > 5);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, add_with_failures, w) > 2);
}

/* The start is repeated until it succeeds. Then the jobs are added. */
static void test_a_failed_restart_of_nm_shuffle_is_repeated(void **state)
{
    struct fixture *w = *state;
    const uint16_t port = port_of(w);

    for (unsigned n = 1; n <= 2; n++) {
        const pid_t pid = find_child();

        last_message[0] = '\0';
        assert_int_equal(kill(pid, SIGKILL), 0);
        RUN_UNTIL(w, *last_message);
        assert_string_equal(last_message, "nm-shuffle was killed by signal 9; restarting it");
        assert_int_equal(add_job(w, w->user, n == 1 ? KEY : "other"), 0);
        fail_nth(FAIL_PROCESS, n);
        RUN_UNTIL(w, find_child() != 0 && request_status(w, n == 1 ? KEY : "other") == KNOWN);
        assert_true(fail_stop());
        assert_int_equal(port_of(w), port);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, shuffle_service_set_up, shuffle_service_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_failed_start_of_nm_shuffle_loses_no_job),
        TEST(test_accepted_jobs_are_served_whatever_call_fails),
        TEST(test_a_failed_restart_of_nm_shuffle_is_repeated),
    };

    (void)signal(SIGPIPE, SIG_IGN); /* as in nmd */
    json_set_alloc_funcs(malloc, free); /* for the wrappers in fail-nth.c */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
