/* SPDX-License-Identifier: Apache-2.0 */

/* What the books of lending would lend, while they only observe (nm_lend_limits.observes). The decisions are those of
 * lending. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lend-fixture.h"

/* ---- counts -------------------------------------------------------------------------------------- */

static void observing_counts_what_would_be_lent(void **state)
{
    struct fixture *w = *state;

    set_overflow(w, 30);
    w->limits.observes = true;
    ask(w, 3);
    w->now_usec += SECONDS(30);
    expect_no_change(w);
    answer(w);
    assert_int_equal(figures(w).observed, 3);
    assert_int_equal(figures(w).observed_memory_mib, 3 * 1024);
    assert_int_equal(figures(w).asked, 0);
    w->now_usec += SECONDS(10);
    expect_no_change(w);
    answer(w);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    assert_int_equal(figures(w).observed_memory_mib_sec, 3 * 1024 * 10);
    ask(w, 2);
    w->now_usec += SECONDS(10);
    expect_no_change(w);
    assert_int_equal(figures(w).observed, 3);
    assert_int_equal(figures(w).observed_memory_mib_sec, 3 * 1024 * 10 + 2 * 1024 * 10);
}

static void observed_time_is_packed_once_a_minute(void **state)
{
    struct fixture *w = *state;
    uint64_t revision;

    set_mode(w, NM_LEND_ALL);
    w->limits.observes = true;
    ask(w, 1);
    w->now_usec += SECONDS(1);
    expect_no_change(w);
    answer(w);
    w->now_usec += SECONDS(1);
    expect_no_change(w);
    answer(w);
    revision = nm_lend_revision(w->l);
    w->now_usec += SECONDS(1);
    expect_no_change(w);
    answer(w);
    assert_int_equal(nm_lend_revision(w->l), revision);
    w->now_usec += SECONDS(60);
    expect_no_change(w);
    assert_int_not_equal(nm_lend_revision(w->l), revision);
    restart(w);
    assert_int_equal(figures(w).observed_memory_mib_sec, 1024 * 63);
    assert_int_equal(figures(w).observed, 1);
}

/* ---- the decisions of lending --------------------------------------------------------------------- */

static uint32_t startable_now(void *userdata, const struct nm_lend_size *size)
{
    (void)size;
    return *(const uint32_t *)userdata;
}

static void observe(struct fixture *w, uint32_t *startable)
{
    set_overflow(w, 30);
    w->limits.observes = true;
    w->limits.startable = startable ? startable_now : NULL;
    w->limits.userdata = startable;
}

/* Makes a call after some seconds, and checks how many containers would be lent now, and would have been lent. */
static void expect_observed(struct fixture *w, uint64_t seconds, uint32_t now, uint64_t all)
{
    w->now_usec += SECONDS(seconds);
    expect_no_change(w);
    answer(w);
    assert_int_equal(figures(w).observed_now, now);
    assert_int_equal(view_of(w, 20).observed, now);
    assert_int_equal(figures(w).observed_now_memory_mib, now * 1024);
    assert_int_equal(figures(w).observed, all);
    assert_int_equal(figures(w).observed_memory_mib, all * 1024);
}

/* Each call adds what nodes can start then. What would have been lent stays, and isn't counted again. */
static void no_more_is_observed_than_nodes_can_start(void **state)
{
    struct fixture *w = *state;
    uint32_t startable = 0;

    observe(w, &startable);
    ask(w, 5);
    expect_observed(w, 31, 0, 0);
    assert_int_equal(reason_of(w), NM_LEND_NO_ROOM);
    startable = 2;
    expect_observed(w, 1, 2, 2);
    startable = 0;
    expect_observed(w, 1, 2, 2);
    assert_int_equal(reason_of(w), NM_LEND_NO_ROOM);
    startable = 1;
    expect_observed(w, 1, 3, 3);
    startable = 9;
    expect_observed(w, 1, 5, 5);
    assert_int_equal(reason_of(w), NM_LEND_LENT);
    startable = NM_LEND_STARTABLE_UNKNOWN;
    expect_observed(w, 1, 5, 5);
    ask(w, 6);
    expect_observed(w, 31, 5, 5);
    startable = 1;
    expect_observed(w, 1, 6, 6);
}

/* The time ends with the ResourceManager's grant, or when the master doesn't want the container any more. */
static void an_observed_container_waits_until_it_is_granted(void **state)
{
    struct fixture *w = *state;
    uint32_t startable = 2;

    observe(w, &startable);
    ask(w, 5);
    expect_observed(w, 30, 2, 2);
    startable = 0;
    expect_observed(w, 10, 2, 2);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    expect_observed(w, 10, 1, 2);
    assert_int_equal(figures(w).observed_memory_mib_sec, 2 * 1024 * 10 + 1024 * 10);
    note_count(w, 0);
    expect_observed(w, 10, 0, 2);
    assert_int_equal(figures(w).observed_memory_mib_sec, 2 * 1024 * 10 + 1024 * 10);
}

/* Containers that would have been lent count for the limits of the application and of the queue, as lent ones do. */
static void limits_hold_for_all_that_is_observed(void **state)
{
    struct fixture *w = *state;
    uint32_t startable = 9;

    observe(w, &startable);
    w->limits.application_memory_mib = 3 * 1024;
    ask(w, 5);
    expect_observed(w, 30, 3, 3);
    assert_int_equal(reason_of(w), NM_LEND_APPLICATION_LIMIT);
    expect_observed(w, 10, 3, 3);
    w->limits.application_memory_mib = -1;
    w->limits.queue_memory_left_mib = 1024; /* the caller has subtracted the three */
    expect_observed(w, 10, 4, 4);
    assert_int_equal(reason_of(w), NM_LEND_QUEUE_LIMIT);
    w->limits.queue_memory_left_mib = 0;
    expect_observed(w, 10, 4, 4);
    w->limits.queue_memory_left_mib = -1;
    w->limits.node_memory_mib = 4096;
    w->limits.node_memory_left_mib = 1023; /* of the node with most room */
    expect_observed(w, 10, 4, 4);
    assert_int_equal(reason_of(w), NM_LEND_NODE_LIMIT);
    w->limits.node_memory_left_mib = 1024;
    expect_observed(w, 10, 5, 5);
}

static void at_most_4096_containers_are_observed(void **state)
{
    struct fixture *w = *state;

    observe(w, NULL);
    ask(w, 5000);
    expect_observed(w, 30, 4096, 4096);
    expect_observed(w, 30, 4096, 4096);
    nm_lend_registered(w->l);
    note(w, ask_of(10, 5000));
    call(w);
    answer(w);
    w->now_usec += SECONDS(31);
    call(w);
    assert_int_equal(view_of(w, 10).observed, 0);
    restart(w); /* the master has not repeated the first ask yet, and the books are valid */
}

static void observed_shares_are_those_of_the_mode(void **state)
{
    struct fixture *w = *state;
    uint32_t startable = 1;

    observe(w, &startable);
    set_percent(w, 50);
    ask(w, 4);
    expect_observed(w, 1, 2, 2); /* the call that asked has observed one */
    expect_observed(w, 1, 2, 2);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    expect_observed(w, 1, 1, 2);
}

static void what_is_left_alone_is_not_observed(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_ask strict = ask_of(20, 3);

    observe(w, NULL);
    strict.relax = false;
    note(w, strict);
    expect_observed(w, 0, 0, 0);
    expect_observed(w, 60, 0, 0);
    assert_int_equal(reason_of(w), NM_LEND_STRICT);
    nm_lend_set_rule(w->l, &(struct nm_lend_rule){.mode = NM_LEND_OFF});
    note_count(w, 3);
    expect_observed(w, 60, 0, 0);
    assert_int_equal(reason_of(w), NM_LEND_IS_OFF);
}

/* Before nmd was set to observe, it has lent. Its back-off after a preemption goes on. */
static void a_back_off_holds_while_observing(void **state)
{
    struct fixture *w = *state;
    const struct nm_yarn_container_id id = id_of(1);

    set_mode(w, NM_LEND_ALL);
    lend(w, 1);
    assert_true(nm_lend_ended(w->l, &id, true, w->now_usec));
    observe(w, NULL);
    note_count(w, 1);
    w->now_usec += SECONDS(31);
    call(w);
    assert_int_equal(figures(w).observed, 0);
    assert_int_equal(reason_of(w), NM_LEND_BACKS_OFF);
    w->now_usec += SECONDS(30);
    call(w);
    assert_int_equal(figures(w).observed, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, lend_fixture_set_up, lend_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(observing_counts_what_would_be_lent),
        TEST(observed_time_is_packed_once_a_minute),
        TEST(no_more_is_observed_than_nodes_can_start),
        TEST(an_observed_container_waits_until_it_is_granted),
        TEST(limits_hold_for_all_that_is_observed),
        TEST(at_most_4096_containers_are_observed),
        TEST(observed_shares_are_those_of_the_mode),
        TEST(what_is_left_alone_is_not_observed),
        TEST(a_back_off_holds_while_observing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
