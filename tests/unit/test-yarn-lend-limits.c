/* SPDX-License-Identifier: Apache-2.0 */

/* Limits of what the books of lending ask for: those of the application, its queue and the nodes, and what can start
 * now (yarn/lend/lend.h). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lend-fixture.h"

static void an_application_is_lent_its_limit_at_most(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    w->limits.application_memory_mib = 3 * 1024 + 512;
    note_count(w, 5);
    expect_change(w, 2, 3);
    assert_int_equal(reason_of(w), NM_LEND_APPLICATION_LIMIT);
    answer(w);
    for (int64_t i = 1; i <= 3; i++)
        assert_int_equal(grant(w, opportunistic(i)), NM_LEND_SHOW);
    expect_no_change(w);
    answer(w);
    assert_true(nm_lend_ended(w->l, &(struct nm_yarn_container_id){{{1410901177871, 7}, 1}, 2}, false, w->now_usec));
    expect_change(w, 1, 1);
}

static void a_limit_of_0_lends_nothing(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    w->limits.application_memory_mib = 0;
    note_count(w, 5);
    expect_no_change(w);
    assert_int_equal(reason_of(w), NM_LEND_APPLICATION_LIMIT);
}

static void a_queue_is_lent_what_is_left_in_addition(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    w->limits.queue_memory_left_mib = 2 * 1024;
    note_count(w, 5);
    expect_change(w, 3, 2);
    assert_int_equal(reason_of(w), NM_LEND_QUEUE_LIMIT);
    answer(w);
    w->limits.queue_memory_left_mib = 0; /* what is asked for counts already */
    expect_no_change(w);
    answer(w);
    w->limits.queue_memory_left_mib = 1024;
    expect_change(w, 2, 3);
}

static void nothing_is_lent_while_each_node_has_its_limit(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_grant far = opportunistic(9);

    set_mode(w, NM_LEND_ALL);
    lend(w, 2);
    w->limits.node_memory_mib = 2 * 1024;
    note_count(w, 2);
    expect_change(w, 2, 0);
    assert_int_equal(reason_of(w), NM_LEND_NODE_LIMIT);
    answer(w);
    w->limits.node_memory_mib = -1;
    expect_change(w, 0, 2);
    answer(w);
    far.host = "two";
    assert_int_equal(grant(w, far), NM_LEND_SHOW);
    w->limits.node_memory_mib = 2 * 1024; /* the second node has one container */
    expect_no_change(w);
    assert_int_equal(figures(w).asked, 1);
}

/* The proxy chooses the nodes, and knows that another one has room. */
static void a_full_node_does_not_matter_if_another_one_has_room(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    lend(w, 2);
    w->limits.node_memory_mib = 2 * 1024;
    w->limits.node_memory_left_mib = INT64_MAX; /* there is no list of nodes */
    note_count(w, 2);
    expect_change(w, 0, 2);
    answer(w);
    w->limits.node_memory_left_mib = 1023;
    expect_change(w, 2, 0);
    assert_int_equal(reason_of(w), NM_LEND_NODE_LIMIT);
    answer(w);
    w->limits.node_memory_left_mib = 1024;
    expect_change(w, 0, 2);
    w->limits.node_memory_mib = 1023;
    call(w);
    assert_int_equal(reason_of(w), NM_LEND_NODE_LIMIT);
}

/* The memory of a node on which containers can start. */
static uint32_t startable_of_8000_mib(void *userdata, const struct nm_lend_size *size)
{
    (void)userdata;
    return (uint32_t)(8000 / size->memory_mib);
}

static uint32_t nothing_startable(void *userdata, const struct nm_lend_size *size)
{
    (void)userdata;
    (void)size;
    return 0;
}

static uint32_t unknown_startable(void *userdata, const struct nm_lend_size *size)
{
    (void)userdata;
    (void)size;
    return NM_LEND_STARTABLE_UNKNOWN;
}

/* After a restart of nmd, the nodes aren't known for some calls. */
static void shares_stay_while_it_is_not_known_what_can_start(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    w->limits.startable = unknown_startable;
    note_count(w, 3);
    expect_no_change(w);
    assert_int_equal(reason_of(w), NM_LEND_NO_ROOM);
    answer(w);
    w->limits.startable = startable_of_8000_mib;
    expect_change(w, 0, 3);
    answer(w);
    w->limits.startable = unknown_startable;
    expect_no_change(w);
    answer(w);
    note_count(w, 5);
    expect_change(w, 2, 3);
    answer(w);
    note_count(w, 1);
    expect_change(w, 0, 1);
    answer(w);
    set_mode(w, NM_LEND_OFF);
    expect_change(w, 1, 0);
}

/* What can't start now stays in the line for guaranteed containers. Each size takes its part of the memory. */
static void only_what_can_start_is_lent(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_ask large = ask_of(30, 2);

    set_mode(w, NM_LEND_ALL);
    w->limits.startable = nothing_startable;
    note_count(w, 3);
    expect_no_change(w);
    assert_int_equal(reason_of(w), NM_LEND_NO_ROOM);
    answer(w);
    w->limits.startable = startable_of_8000_mib;
    note_count(w, 9);
    expect_change(w, 2, 7);
    answer(w);
    note_count(w, 2);
    expect_change(w, 0, 2);
    answer(w);
    large.size.memory_mib = 3000; /* 5952 MiB are left for it */
    note(w, large);
    call(w);
    assert_int_equal(view_of(w, 20).lent_asked, 2);
    assert_int_equal(view_of(w, 30).lent_asked, 1);
    assert_int_equal(view_of(w, 30).reason, NM_LEND_NO_ROOM);
}

static uint32_t count_questions(void *userdata, const struct nm_lend_size *size)
{
    (void)size;
    return ++*(unsigned *)userdata;
}

static void nodes_are_not_asked_without_need(void **state)
{
    struct fixture *w = *state;
    unsigned questions = 0;

    w->limits.startable = count_questions;
    w->limits.userdata = &questions;
    set_mode(w, NM_LEND_OFF);
    note_count(w, 3);
    call(w);
    set_overflow(w, 30);
    call(w);
    assert_int_equal(questions, 0);
    w->now_usec += SECONDS(31);
    call(w);
    assert_int_equal(questions, 1);
}

/* The ask may have been made before, and the opportunistic containers may be the master's own. */
static void books_that_begin_late_lend_nothing_until_the_registration(void **state)
{
    struct fixture *w = *state;

    nm_lend_begin_late(w->l);
    set_mode(w, NM_LEND_ALL);
    note_count(w, 3);
    expect_no_change(w);
    assert_int_equal(reason_of(w), NM_LEND_REGISTERED_BEFORE);
    answer(w);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_PASS);
    assert_int_equal(grant(w, guaranteed(2)), NM_LEND_PASS);
    assert_int_equal(view_of(w, 20).wanted, 2);
    w->limits.observes = true;
    expect_no_change(w);
    assert_int_equal(figures(w).observed, 0);
    w->limits.observes = false;
    restart(w);
    assert_true(nm_lend_is_late(w->l));
    set_mode(w, NM_LEND_OFF);
    expect_no_change(w);
    assert_int_equal(reason_of(w), NM_LEND_IS_OFF);
    set_mode(w, NM_LEND_ALL);
    expect_no_change(w);
    nm_lend_registered(w->l);
    assert_false(nm_lend_is_late(w->l));
    note_count(w, 2);
    expect_change(w, 0, 2);
}

static void a_node_limit_below_the_size_lends_nothing(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    w->limits.node_memory_mib = 1023;
    note_count(w, 2);
    expect_no_change(w);
    assert_int_equal(reason_of(w), NM_LEND_NODE_LIMIT);
}

/* In the order of priorities, the reducers of MapReduce would come before its maps, for which they wait. */
static void the_key_that_has_waited_longest_is_lent_first(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    w->limits.application_memory_mib = 3 * 1024;
    note(w, ask_of(20, 2));
    w->now_usec += SECONDS(1);
    note(w, ask_of(10, 2));
    call(w);
    assert_int_equal(view_of(w, 20).lent_asked, 2);
    assert_int_equal(view_of(w, 10).lent_asked, 1);
}

static void at_most_4096_containers_are_lent_and_asked_for(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    lend(w, 100);
    note_count(w, 5000);
    expect_change(w, 1004, 3996);
    assert_int_equal(reason_of(w), NM_LEND_APPLICATION_LIMIT);
}

static void nothing_more_is_lent_while_a_lent_container_is_queued(void **state)
{
    struct fixture *w = *state;
    const struct nm_yarn_container_id id = {{{1410901177871, 7}, 1}, 1};

    set_mode(w, NM_LEND_ALL);
    lend(w, 1);
    ask(w, 2);
    nm_lend_set_running(w->l, &id, false);
    assert_int_equal(figures(w).waiting, 1);
    w->now_usec += SECONDS(3); /* a start takes a moment */
    expect_no_change(w);
    w->now_usec += 1;
    expect_change(w, 2, 0);
    assert_int_equal(reason_of(w), NM_LEND_QUEUED);
    answer(w);
    nm_lend_set_running(w->l, &id, true);
    expect_change(w, 0, 2);
    assert_int_equal(figures(w).waiting, 0);
}

/* Asks the nodes that are due, and notes the answer of host "one", unless it is dead. */
static void ask_nodes(struct fixture *w, bool answers)
{
    struct nm_lend_node nodes[4];

    if (nm_lend_nodes_to_ask(w->l, w->now_usec, nodes, 4) > 0 && answers)
        assert_int_equal(nm_lend_set_room(w->l, &(struct nm_lend_node_room){"one", 4501, {}, w->now_usec}), 0);
}

/* Lends the container 1, which waits in the queue of host "one". */
static void queue_one(struct fixture *w)
{
    const struct nm_yarn_container_id one = id_of(1);

    set_mode(w, NM_LEND_ALL);
    lend(w, 1);
    note_count(w, 2);
    nm_lend_set_running(w->l, &one, false);
    w->now_usec += SECONDS(10);
}

/* Puts the clock forward, and asks the nodes every 5 seconds. Returns whether something is lent then. */
static bool lends_after(struct fixture *w, uint64_t seconds, bool answers)
{
    for (uint64_t i = 0; i < seconds; i += 5) {
        ask_nodes(w, answers);
        w->now_usec += SECONDS(5);
    }
    note(w, ask_of(++w->priority, 1)); /* each call uses a new key, so that only the busy queue can prevent lending */
    call(w);
    answer(w);
    if (view_of(w, w->priority).reason != NM_LEND_LENT)
        assert_int_equal(view_of(w, w->priority).reason, NM_LEND_QUEUED);
    return view_of(w, w->priority).reason == NM_LEND_LENT;
}

static void the_queue_of_a_node_that_answers_is_waited_for_without_limit(void **state)
{
    struct fixture *w = *state;

    queue_one(w);
    assert_false(lends_after(w, 3600, true));
    assert_false(lends_after(w, 90, false)); /* it is restarted */
    assert_false(lends_after(w, 3600, true));
    restart(w);
    set_mode(w, NM_LEND_ALL);
    assert_false(lends_after(w, 90, false));
    for (int i = 0; i < 9; i++) { /* it answers, but not with its room */
        nm_lend_set_answered(w->l, "one", 4501);
        assert_false(lends_after(w, 90, false));
    }
}

/* The ResourceManager reports the end of the container only after ten minutes. */
static void the_queue_of_a_node_that_does_not_answer_is_waited_for_90_s(void **state)
{
    const struct nm_yarn_container_id two = id_of(2);
    struct fixture *w = *state;

    queue_one(w);
    assert_false(lends_after(w, 90, false));
    assert_true(lends_after(w, 5, false));
    /* Without distributed scheduling, the ResourceManager may choose the node again. */
    assert_int_equal(grant(w, opportunistic(2)), NM_LEND_SHOW);
    w->now_usec += SECONDS(10);
    assert_false(lends_after(w, 80, false));
    assert_true(lends_after(w, 5, false));
    assert_false(lends_after(w, 10, true)); /* the node is back */
    nm_lend_set_running(w->l, &two, false);
    assert_false(lends_after(w, 90, false));
    w->now_usec -= MINUTES(2); /* the clock is set back */
    assert_false(lends_after(w, 90, false));
    assert_true(lends_after(w, 5, false));
}

/* A Java NodeManager doesn't say what it runs. */
static void a_container_of_which_nothing_is_known_is_not_queued(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    lend(w, 1);
    w->now_usec += MINUTES(1);
    note_count(w, 2);
    expect_change(w, 0, 2);
}
#define TEST(f) cmocka_unit_test_setup_teardown(f, lend_fixture_set_up, lend_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_application_is_lent_its_limit_at_most),
        TEST(a_limit_of_0_lends_nothing),
        TEST(a_queue_is_lent_what_is_left_in_addition),
        TEST(nothing_is_lent_while_each_node_has_its_limit),
        TEST(books_that_begin_late_lend_nothing_until_the_registration),
        TEST(a_full_node_does_not_matter_if_another_one_has_room),
        TEST(only_what_can_start_is_lent),
        TEST(shares_stay_while_it_is_not_known_what_can_start),
        TEST(nodes_are_not_asked_without_need),
        TEST(a_node_limit_below_the_size_lends_nothing),
        TEST(the_key_that_has_waited_longest_is_lent_first),
        TEST(at_most_4096_containers_are_lent_and_asked_for),
        TEST(nothing_more_is_lent_while_a_lent_container_is_queued),
        TEST(the_queue_of_a_node_that_answers_is_waited_for_without_limit),
        TEST(the_queue_of_a_node_that_does_not_answer_is_waited_for_90_s),
        TEST(a_container_of_which_nothing_is_known_is_not_queued),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
