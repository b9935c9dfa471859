/* SPDX-License-Identifier: Apache-2.0 */

/* Requests for a running container when memory can't be allocated, when there are too many requests or messages, and
 * with many resources. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/fail-nth.h"
#include "tests/unit/reinit-fixture.h"
#include "util/clock.h"
#include "util/utf8.h"
#include "yarn/node/node-state.h"

/* After each failed allocation the request fails and the container keeps running. In the end the request succeeds. */
static void request_in_spite_of_failures(struct reinit_fixture *o, int (*operation)(struct reinit_fixture *o))
{
    int r = -ENOMEM;

    for (unsigned n = 1; r != 0; n++) {
        bool failed;

        fail_nth(FAIL_MEMORY, n);
        r = operation(o);
        failed = fail_stop();
        assert_true(r == 0 || (r == -ENOMEM && failed));
        if (r != 0)
            assert_diagnostics(o, 2, "");
    }
}

/* The resources have been fetched, but a failed allocation prevents that they are recorded. The request is repeated
 * until it succeeds. */
static void fetch_in_spite_of_failures(struct reinit_fixture *o, int (*operation)(struct reinit_fixture *o))
{
    bool failed = true;

    request_in_spite_of_failures(o, operation);
    for (unsigned n = 1; failed; n++) {
        fail_nth(FAIL_MEMORY, n);
        finish_fetching(0);
        failed = fail_stop() && !o->l->c->rerun;
        if (failed)
            assert_int_equal(operation(o), 0);
    }
}

static void test_each_request_succeeds_after_failed_allocations(void **state)
{
    struct reinit_fixture o;

    start_container(&o, *state, false, SLEEPS);
    fetch_in_spite_of_failures(&o, request_localize);
    request_in_spite_of_failures(&o, request_restart);
    assert_runs_again(&o, SLEEPS);
    assert_localized(&o, "d=2 a=2 b=2");
    fetch_in_spite_of_failures(&o, request_reinitialize);
    assert_runs_again(&o, OTHER_COMMAND);
    assert_localized(&o, "b=2 c=2 d=2 a=2");
    request_in_spite_of_failures(&o, request_roll_back);
    assert_runs_again(&o, SLEEPS);
    assert_int_equal(request_reinitialize(&o), 0);
    finish_fetching(0);
    assert_runs_again(&o, OTHER_COMMAND);
    request_in_spite_of_failures(&o, request_commit);
    assert_refused(&o, request_commit(&o), "Nothing to Commit !!");
    nm_yarn_node_free(o.n);
}

static void test_localization_requests_during_one_run_are_limited(void **state)
{
    struct reinit_fixture o;

    start_container(&o, *state, false, SLEEPS);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(request_localize(&o), 0);
        finish_fetching(0);
    }
    assert_refused(&o, request_localize(&o),
                   "Resources were localized for container container_1410901177871_0001_01_000005 64 times since it "
                   "began to run, which is the maximum on this node.");
    assert_int_equal(request_reinitialize(&o), NM_YARN_REFUSED);
    assert_int_equal(request_restart(&o), 0); /* a restart of the container resets the number */
    assert_runs_again(&o, SLEEPS);
    assert_int_equal(request_localize(&o), 0);
    nm_yarn_node_free(o.n);
}

/* ---- messages ----------------------------------------------------------------------------------- */

#define MESSAGES_MAX 1024

/* Lets a localization fail with this message. The caller calls fail_stop(). */
static void fail_localization(struct reinit_fixture *o, const char *message, unsigned failing_allocation)
{
    struct nm_yarn_preparation *p;

    assert_int_equal(request_localize(o), 0);
    p = fake_launcher.newest;
    p->failed = true;
    fail_nth(FAIL_MEMORY, failing_allocation);
    p->listener.ended(p, -EIO, message, p->listener.userdata);
}

static void test_messages_are_kept_without_memory_for_another_one(void **state)
{
    struct reinit_fixture o;
    bool failed = true;

    start_container(&o, *state, false, SLEEPS);
    fail_localization(&o, "the first message", 0);
    (void)fail_stop();
    for (unsigned n = 1; failed; n++) {
        fail_localization(&o, "the second message", n);
        failed = fail_stop();
        assert_diagnostics(&o, 2, "the first message");
    }
    assert_diagnostics(&o, 2, "the second message");
    nm_yarn_node_free(o.n);
}

/* The oldest lines are dropped. A line that alone exceeds the limit is cut between two characters. */
static void test_the_length_of_all_messages_is_limited(void **state)
{
    char message[2 * MESSAGES_MAX + 1] = "";
    struct reinit_fixture o;
    const char *all;

    start_container(&o, *state, false, SLEEPS);
    for (int n = 0; n < 30; n++) {
        (void)snprintf(message, sizeof message, "This is message %d.", n);
        fail_localization(&o, message, 0);
        (void)fail_stop();
        assert_diagnostics(&o, 2, message);
    }
    all = o.n->containers.first->messages;
    assert_in_range(strlen(all), MESSAGES_MAX - 100, MESSAGES_MAX);
    assert_int_equal(all[0], '[');
    assert_non_null(strstr(all, "This is message 28.\n"));
    for (size_t n = 0; n + 2 < sizeof message; n += 2)
        strcpy(message + n, "\xc3\xa4");
    for (int n = 0; n < 2; n++) {
        fail_localization(&o, message + n, 0);
        (void)fail_stop();
        all = o.n->containers.first->messages;
        assert_in_range(strlen(all), n == 0 ? MESSAGES_MAX - 1 : 4, MESSAGES_MAX);
        assert_int_equal(nm_utf8_prefix(all), strlen(all));
        assert_string_equal(all + strlen(all) - 4, "...\n");
    }
    nm_yarn_node_free(o.n);
}

#define MANY 8000u

/* Makes MANY resources whose names begin with this letter. The caller frees the list. */
static Yarn__NamedResource *make_many(Yarn__LaunchContext *context, char letter)
{
    static Yarn__LocalResource value = YARN__LOCAL_RESOURCE__INIT;
    Yarn__NamedResource *all = calloc(MANY, sizeof *all);
    char (*names)[24] = calloc(MANY, sizeof *names);

    *context = (Yarn__LaunchContext)YARN__LAUNCH_CONTEXT__INIT;
    context->resources = calloc(MANY, sizeof(*context->resources));
    assert_true(all && names && context->resources);
    context->n_resources = MANY;
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof names[i], "%c-resource-%u", letter, i);
        all[i] = (Yarn__NamedResource)YARN__NAMED_RESOURCE__INIT;
        all[i].key = names[i];
        all[i].value = &value;
        context->resources[i] = &all[i];
    }
    return all;
}

/* Returns the CPU time that the event loop needs to record MANY fetched resources. */
static uint64_t usec_of_many(struct reinit_fixture *o, char letter)
{
    struct timespec before, after;
    Yarn__LaunchContext context;
    Yarn__NamedResource *all = make_many(&context, letter);

    assert_int_equal(request_localization(o, &context), 0);
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before), 0);
    finish_fetching(0);
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after), 0);
    free(all[0].key);
    free(context.resources);
    free(all);
    return (uint64_t)(after.tv_sec - before.tv_sec) * NM_USEC_PER_SEC + (uint64_t)after.tv_nsec / 1000 -
           (uint64_t)before.tv_nsec / 1000;
}

/* The time to merge two long lists is proportional to the sum of their lengths, and not to the product. The lists are
 * merged in the event loop, and the container's user determines their lengths. */
static void test_two_long_lists_of_resources_are_merged_in_linear_time(void **state)
{
    struct reinit_fixture o;
    uint64_t few, many;

    start_container(&o, *state, false, SLEEPS);
    few = usec_of_many(&o, 'x');
    many = usec_of_many(&o, 'y');
    assert_int_equal(o.n->containers.first->record->context->n_resources, 2 * MANY + 2);
    assert_in_range(many, 0, 4 * few + 50 * NM_USEC_PER_MSEC);
    nm_yarn_node_free(o.n);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_launcher_set_up, manager_fixture_tear_down_real)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_each_request_succeeds_after_failed_allocations),
        TEST(test_localization_requests_during_one_run_are_limited),
        TEST(test_messages_are_kept_without_memory_for_another_one),
        TEST(test_the_length_of_all_messages_is_limited),
        TEST(test_two_long_lists_of_resources_are_merged_in_linear_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
