/* SPDX-License-Identifier: Apache-2.0 */

/* What the books of lending ask for: how much of each ask is lent, and what is sent to the ResourceManager
 * (yarn/lend/lend.h). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fail-nth.h"
#include "lend-fixture.h"

/* ---- modes -------------------------------------------------------------------------------------- */

static void without_a_rule_all_asks_pass_as_they_are(void **state)
{
    struct fixture *w = *state;

    note_count(w, 5);
    expect_no_change(w);
    assert_int_equal(reason_of(w), NM_LEND_IS_OFF);
    answer(w);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    assert_int_equal(figures(w).wanted, 4);
}

static void all_is_lent_at_once(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    note_count(w, 5);
    expect_change(w, 0, 5);
    assert_int_equal(reason_of(w), NM_LEND_LENT);
    assert_int_equal(figures(w).asked, 5);
    assert_int_equal(figures(w).asked_memory_mib, 5 * 1024);
}

static void a_heartbeat_without_changes_sends_and_allocates_nothing(void **state)
{
    struct fixture *w = *state;
    uint64_t revision;

    set_mode(w, NM_LEND_ALL);
    lend(w, 3);
    ask(w, 2);
    revision = nm_lend_revision(w->l);
    fail_nth(FAIL_MEMORY, 1);
    w->now_usec += SECONDS(1);
    expect_no_change(w);
    answer(w);
    assert_false(fail_stop());
    assert_int_equal(nm_lend_revision(w->l), revision);
}

static void overflow_lends_what_has_waited(void **state)
{
    struct fixture *w = *state;

    set_overflow(w, 30);
    note_count(w, 5);
    expect_no_change(w);
    answer(w);
    w->now_usec += SECONDS(29);
    expect_no_change(w);
    assert_int_equal(reason_of(w), NM_LEND_WAITS);
    answer(w);
    w->now_usec += SECONDS(1);
    expect_change(w, 0, 5);
}

static void overflow_counts_the_time_of_each_rise_of_the_count(void **state)
{
    struct fixture *w = *state;

    set_overflow(w, 30);
    ask(w, 3);
    w->now_usec += SECONDS(10);
    ask(w, 5);
    w->now_usec += SECONDS(20);
    expect_change(w, 2, 3);
    answer(w);
    w->now_usec += SECONDS(10);
    expect_change(w, 0, 5);
}

static void a_lower_count_removes_the_newest(void **state)
{
    struct fixture *w = *state;

    set_overflow(w, 30);
    ask(w, 3);
    w->now_usec += SECONDS(20);
    ask(w, 5);
    ask(w, 2);
    ask(w, 5);
    w->now_usec += SECONDS(10);
    expect_change(w, 3, 2);
}

static void a_guaranteed_container_satisfies_the_oldest_that_is_not_lent(void **state)
{
    struct fixture *w = *state;

    set_overflow(w, 30);
    ask(w, 2);
    w->now_usec += SECONDS(20);
    ask(w, 4);
    w->now_usec += SECONDS(10);
    expect_change(w, 2, 2);
    answer(w);
    w->now_usec += SECONDS(1);
    expect_no_change(w);
    answer(w);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    expect_no_change(w);
    assert_int_equal(figures(w).asked, 2);
    assert_int_equal(figures(w).wanted, 3);
}

/* The newest rise that is kept takes the later ones, so nothing is lent early. */
static void rises_of_a_count_are_bounded(void **state)
{
    struct fixture *w = *state;

    set_overflow(w, 30);
    for (int32_t i = 1; i <= 20; i++) {
        ask(w, i);
        w->now_usec += SECONDS(1);
    }
    w->now_usec += SECONDS(10 + 7); /* 30 s after the eighth */
    expect_change(w, 13, 7);
    answer(w);
    w->now_usec += SECONDS(12);
    expect_change(w, 0, 20);
}

static void percent_lends_a_part_of_all_that_was_ever_asked_for(void **state)
{
    struct fixture *w = *state;

    set_percent(w, 25);
    note_count(w, 10);
    expect_change(w, 8, 2);
    answer(w);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    assert_int_equal(grant(w, guaranteed(2)), NM_LEND_PASS);
    assert_int_equal(grant(w, opportunistic(3)), NM_LEND_SHOW);
    assert_int_equal(grant(w, opportunistic(4)), NM_LEND_SHOW);
    note_count(w, 6); /* what is left: 25 % of 10 were lent */
    expect_change(w, 6, 0);
    answer(w);
    note_count(w, 10);
    expect_change(w, 9, 1); /* 25 % of 14 are 3 */
}

/* As Spark does after each stage, and Tez after each DAG of a session. */
static void percent_lends_a_part_of_each_ask_after_the_former_one_was_withdrawn(void **state)
{
    struct fixture *w = *state;

    set_percent(w, 50);
    for (int i = 0; i < 4; i++) {
        note_count(w, 10);
        expect_change(w, 5, 5);
        answer(w);
        for (int k = 1; k <= 5; k++)
            assert_int_equal(grant(w, opportunistic(10 * i + k)), NM_LEND_SHOW);
        note_count(w, 5);
        expect_change(w, 5, 0);
        answer(w);
        if (i == 2) { /* the withdrawal is refused, so this is the same ask */
            note_count(w, 0);
            call(w);
            nm_lend_refused(w->l, w->now_usec);
            w->now_usec += SECONDS(60);
            call(w);
            answer(w);
            assert_int_equal(figures(w).wanted, 5);
            assert_int_equal(figures(w).asked, 0);
        }
        note_count(w, 0);
        call(w);
        answer(w);
    }
}

static void a_lower_rule_takes_back_what_was_not_granted(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    ask(w, 5);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_SHOW);
    set_mode(w, NM_LEND_OFF);
    expect_change(w, 4, 0);
    answer(w);
    expect_no_change(w);
    assert_true(nm_lend_is_lent(w->l, &(struct nm_yarn_container_id){{{1410901177871, 7}, 1}, 1}));
}

/* Without a grant, the application would neither be lent anything nor be in the line for guaranteed containers. */
static void what_is_not_granted_for_a_minute_is_guaranteed_for_a_minute(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    lend(w, 2);
    ask(w, 2);
    w->now_usec += SECONDS(59);
    expect_no_change(w);
    answer(w);
    w->now_usec += SECONDS(1);
    expect_change(w, 2, 0);
    answer(w);
    assert_int_equal(reason_of(w), NM_LEND_BACKS_OFF);
    w->now_usec += SECONDS(59);
    expect_no_change(w);
    answer(w);
    w->now_usec += SECONDS(1);
    expect_change(w, 0, 2);
}

/* ---- what is left alone ------------------------------------------------------------------------- */

static void expect_left_alone(struct fixture *w, struct nm_lend_ask asked, enum nm_lend_reason reason)
{
    set_mode(w, NM_LEND_ALL);
    note(w, asked);
    expect_no_change(w);
    assert_int_equal(reason_of(w), reason);
    answer(w);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
}

static void asks_for_a_label_are_left_alone(void **state)
{
    struct nm_lend_ask a = ask_of(20, 5);

    a.labelled = true;
    expect_left_alone(*state, a, NM_LEND_LABEL);
}

static void asks_for_certain_nodes_only_are_left_alone(void **state)
{
    struct nm_lend_ask a = ask_of(20, 5);

    a.relax = false;
    expect_left_alone(*state, a, NM_LEND_STRICT);
}

static void asks_for_other_resources_are_left_alone(void **state)
{
    struct nm_lend_ask a = ask_of(20, 5);

    a.other_resources = true;
    expect_left_alone(*state, a, NM_LEND_OTHER_RESOURCES);
}

static void a_key_that_gets_a_label_takes_back_its_opportunistic_count_alone(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_ask a = ask_of(20, 5);

    set_mode(w, NM_LEND_ALL);
    ask(w, 5);
    a.labelled = true;
    note(w, a);
    call(w);
    assert_int_equal(w->n, 1);
    assert_true(w->changes[0].only_opportunistic && w->changes[0].with_opportunistic);
    assert_int_equal(w->changes[0].opportunistic, 0);
    answer(w);
    expect_no_change(w);
    note_count(w, 5);
    expect_change(w, 0, 5);
}

static void keys_with_opportunistic_asks_of_the_master_are_left_alone(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_ask a = ask_of(20, 2);

    set_mode(w, NM_LEND_ALL);
    a.opportunistic = true;
    note(w, a);
    note_count(w, 5);
    expect_no_change(w);
    assert_int_equal(reason_of(w), NM_LEND_OWN_OPPORTUNISTIC);
    answer(w);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_PASS);
    assert_int_equal(figures(w).wanted, 5);
    assert_int_equal(figures(w).lent, 0);
}

/* The master's own ask follows in the same call, and sets its count. */
static void the_first_opportunistic_ask_of_a_master_ends_the_lending_of_its_key(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_ask a = ask_of(20, 2);

    set_mode(w, NM_LEND_ALL);
    ask(w, 5);
    assert_true(nm_lend_is_asked(w->l, &a.key));
    a.opportunistic = true;
    note(w, a);
    assert_false(nm_lend_is_asked(w->l, &a.key));
    expect_change(w, 5, 0);
    assert_false(nm_lend_is_asked(w->l, &a.key));
    expect_change(w, 5, -1); /* a further call without an answer must not replace the master's count */
}

static void hosts_and_racks_say_only_where(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_ask a = ask_of(20, 5);

    set_mode(w, NM_LEND_ALL);
    a.any = false;
    note(w, a);
    expect_no_change(w);
    assert_int_equal(figures(w).keys, 0);
}

static void invalid_asks_are_ignored(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_ask a = ask_of(20, -1), b = ask_of(20, 1), c = ask_of(20, 1);

    set_mode(w, NM_LEND_ALL);
    b.size.memory_mib = INT64_MAX;
    c.size.vcores = -1;
    note(w, a);
    note(w, b);
    note(w, c);
    expect_no_change(w);
    assert_int_equal(figures(w).keys, 0);
}

static void request_ids_are_separate_keys(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_ask a = ask_of(20, 2);

    set_mode(w, NM_LEND_ALL);
    a.key.request_id = 4;
    note(w, a);
    note_count(w, 1);
    call(w);
    assert_int_equal(w->n, 2);
    assert_int_equal(w->changes[0].key.request_id, -1);
    assert_int_equal(w->changes[0].opportunistic, 1);
    assert_int_equal(w->changes[1].key.request_id, 4);
    assert_int_equal(w->changes[1].opportunistic, 2);
}

/* ---- calls -------------------------------------------------------------------------------------- */

static void the_changes_of_a_call_without_an_answer_are_sent_again(void **state)
{
    struct fixture *w = *state;

    set_overflow(w, 30);
    ask(w, 5);
    w->now_usec += SECONDS(30);
    expect_change(w, 0, 5);
    expect_change(w, 0, 5);
    answer(w); /* perhaps to the first call, so that the ResourceManager has not read the second one */
    expect_change(w, 0, 5);
    answer(w);
    expect_no_change(w);
}

static void another_size_takes_back_what_was_asked_for_with_the_former_size(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_ask a = ask_of(20, 5);

    set_mode(w, NM_LEND_ALL);
    ask(w, 3);
    a.size.memory_mib = 2048;
    note(w, a);
    for (int i = 0; i < 3; i++) { /* the first call isn't answered, so the answer of the second one is uncertain */
        call(w);
        assert_int_equal(w->n, 2);
        assert_true(w->changes[0].only_opportunistic);
        assert_int_equal(w->changes[0].size.memory_mib, 1024);
        assert_int_equal(w->changes[0].opportunistic, 0);
        assert_false(w->changes[1].only_opportunistic);
        assert_int_equal(w->changes[1].size.memory_mib, 2048);
        assert_int_equal(w->changes[1].opportunistic, 5);
        if (i > 0)
            answer(w);
    }
    expect_no_change(w);
}

/* ---- names --------------------------------------------------------------------------------------- */

static void names_are_different(void **state)
{
    (void)state;
    for (int i = 0; i < NM_LEND_N_REASONS; i++)
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(nm_lend_reason_name(i), nm_lend_reason_name(j));
            assert_string_not_equal(nm_lend_reason_text(i), nm_lend_reason_text(j));
        }
    for (int i = 0; i < NM_LEND_N_MODES; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(nm_lend_mode_name(i), nm_lend_mode_name(j));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, lend_fixture_set_up, lend_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_rule_all_asks_pass_as_they_are),
        TEST(all_is_lent_at_once),
        TEST(a_heartbeat_without_changes_sends_and_allocates_nothing),
        TEST(overflow_lends_what_has_waited),
        TEST(overflow_counts_the_time_of_each_rise_of_the_count),
        TEST(a_lower_count_removes_the_newest),
        TEST(a_guaranteed_container_satisfies_the_oldest_that_is_not_lent),
        TEST(rises_of_a_count_are_bounded),
        TEST(percent_lends_a_part_of_all_that_was_ever_asked_for),
        TEST(percent_lends_a_part_of_each_ask_after_the_former_one_was_withdrawn),
        TEST(a_lower_rule_takes_back_what_was_not_granted),
        TEST(what_is_not_granted_for_a_minute_is_guaranteed_for_a_minute),
        TEST(asks_for_a_label_are_left_alone),
        TEST(asks_for_certain_nodes_only_are_left_alone),
        TEST(asks_for_other_resources_are_left_alone),
        TEST(a_key_that_gets_a_label_takes_back_its_opportunistic_count_alone),
        TEST(keys_with_opportunistic_asks_of_the_master_are_left_alone),
        TEST(the_first_opportunistic_ask_of_a_master_ends_the_lending_of_its_key),
        TEST(hosts_and_racks_say_only_where),
        TEST(invalid_asks_are_ignored),
        TEST(request_ids_are_separate_keys),
        TEST(the_changes_of_a_call_without_an_answer_are_sent_again),
        TEST(another_size_takes_back_what_was_asked_for_with_the_former_size),
        TEST(names_are_different),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
