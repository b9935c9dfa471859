/* SPDX-License-Identifier: Apache-2.0 */

/* The places of keys in the books of lending (yarn/lend/lend.h). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lend-fixture.h"

static void the_257th_key_is_left_alone_until_another_key_is_idle(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    for (int32_t i = 0; i <= 256; i++)
        note(w, ask_of(i, 1));
    call(w);
    assert_int_equal(w->n, 256);
    answer(w);
    assert_int_equal(view_of(w, 256).reason, NM_LEND_TOO_MANY_KEYS);
    note(w, ask_of(7, 0));
    call(w);
    answer(w);
    note(w, ask_of(256, 2));
    call(w);
    assert_int_equal(w->n, 1);
    assert_int_equal(w->changes[0].key.priority, 256);
    assert_int_equal(w->changes[0].opportunistic, 2);
    assert_int_equal(view_of(w, 256).reason, NM_LEND_LENT);
}

static void note_own(struct fixture *w, int32_t priority, int32_t count)
{
    struct nm_lend_ask a = ask_of(priority, count);

    a.opportunistic = true;
    note(w, a);
}

/* The master asks for opportunistic containers with many keys, and gets them. */
static void keys_with_opportunistic_asks_of_the_master_give_their_places_to_others(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    for (int32_t i = 0; i < 256; i++)
        note_own(w, i, 1);
    call(w);
    answer(w);
    note(w, ask_of(1000, 2));
    call(w);
    assert_int_equal(w->n, 1);
    assert_int_equal(w->changes[0].key.priority, 1000);
    assert_int_equal(w->changes[0].opportunistic, 2);
    answer(w);
    /* it has the place of the first key, which still has opportunistic asks of the master */
    restart(w);
    note(w, ask_of(0, 3));
    set_mode(w, NM_LEND_ALL);
    call(w);
    assert_int_equal(view_of(w, 0).reason, NM_LEND_OWN_OPPORTUNISTIC);
    assert_int_equal(view_of(w, 0).lent_asked, 0);
}

/* The ResourceManager has forgotten them. */
static void after_a_registration_no_key_has_opportunistic_asks_of_the_master(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    for (int32_t i = 0; i < 257; i++) {
        note_own(w, i, 1);
        call(w);
        answer(w);
    }
    nm_lend_registered(w->l);
    w->response_id = 0;
    note(w, ask_of(0, 3)); /* has lost its place */
    note(w, ask_of(5, 3));
    call(w);
    assert_int_equal(view_of(w, 0).lent_asked, 3);
    assert_int_equal(view_of(w, 5).lent_asked, 3);
}

static void a_key_without_a_place_is_shown_until_it_is_granted(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_grant g = guaranteed(1), h = guaranteed(2);

    set_mode(w, NM_LEND_ALL);
    for (int32_t i = 0; i <= 256; i++)
        note(w, ask_of(i, 2));
    call(w);
    answer(w);
    g.key.priority = h.key.priority = 256;
    assert_int_equal(grant(w, g), NM_LEND_PASS);
    assert_int_equal(view_of(w, 256).wanted, 1);
    assert_int_equal(view_of(w, 256).reason, NM_LEND_TOO_MANY_KEYS);
    /* the ResourceManager repeats its answer, so the books don't count the container again */
    assert_true(nm_lend_begin_answer(w->l, w->response_id));
    assert_int_equal(grant(w, g), NM_LEND_PASS);
    assert_int_equal(view_of(w, 256).wanted, 1);
    call(w);
    answer(w);
    assert_int_equal(grant(w, h), NM_LEND_PASS);
    assert_int_equal(view_of(w, 256).wanted, 0);
    assert_int_equal(view_of(w, 256).reason, NM_LEND_LENT);
}

/* ---- back-off after preemptions ----------------------------------------------------------------- */

/* Notes an ask in two calls that are answered. */
static void settle(struct fixture *w, struct nm_lend_ask a)
{
    note(w, a);
    for (int i = 0; i < 2; i++) {
        call(w);
        answer(w);
    }
}

/* Lends a container of this key, which is preempted a second later. The master then needs no further one. */
static void preempt(struct fixture *w, struct nm_lend_key key, int64_t number)
{
    const struct nm_yarn_container_id id = id_of(number);
    struct nm_lend_grant g = opportunistic(number);
    struct nm_lend_ask a = ask_of(0, 1);

    g.key = a.key = key;
    note(w, a);
    call(w);
    answer(w);
    assert_int_equal(grant(w, g), NM_LEND_SHOW);
    w->now_usec += SECONDS(1);
    assert_true(nm_lend_ended(w->l, &id, true, w->now_usec));
    a.count = 0;
    settle(w, a);
}

/* Asks with a key, and returns after how many minutes of back-off a container of it is asked for. */
static uint64_t minutes_until_lent(struct fixture *w, struct nm_lend_key key)
{
    struct nm_lend_ask a = ask_of(0, 1);
    uint64_t minutes = 0;

    a.key = key;
    note(w, a);
    call(w);
    while (figures(w).asked == 0) {
        answer(w);
        w->now_usec += MINUTES(1);
        assert_true(++minutes < 100);
        call(w);
    }
    answer(w);
    a.count = 0;
    settle(w, a);
    return minutes;
}

static struct nm_lend_key key_of(int32_t priority, int64_t request_id)
{
    return (struct nm_lend_key){priority, request_id};
}

/* The master asks for each container with a request id of its own. */
static void a_further_request_id_does_not_avoid_the_back_off(void **state)
{
    static const uint64_t minutes[] = {1, 2, 4, 8, 16, 16};
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    for (int i = 0; i < 6; i++) {
        preempt(w, key_of(20, 100 + i), i + 1);
        assert_int_equal(minutes_until_lent(w, key_of(10, i)), 0); /* another priority */
        assert_int_equal(minutes_until_lent(w, key_of(20, 200 + i)), minutes[i]);
    }
    w->now_usec += MINUTES(30);
    preempt(w, key_of(20, 300), 100);
    assert_int_equal(minutes_until_lent(w, key_of(20, 301)), 1);
}

/* Asks with n further priorities, which then need their places no more. */
static void use_places(struct fixture *w, int32_t first, int32_t n)
{
    for (int32_t count = 1; count >= 0; count--) {
        for (int32_t i = 0; i < n; i++)
            note(w, ask_of(first + i, count));
        for (int i = 0; i < 2; i++) {
            call(w);
            answer(w);
        }
    }
}

static void a_key_keeps_its_place_until_its_back_off_has_decayed(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    preempt(w, key_of(20, -1), 1);
    assert_int_equal(minutes_until_lent(w, key_of(20, -1)), 1);
    preempt(w, key_of(20, -1), 2);
    w->now_usec += MINUTES(3);
    use_places(w, 1000, 256);
    restart(w);
    set_mode(w, NM_LEND_ALL);
    preempt(w, key_of(20, -1), 3);
    assert_int_equal(minutes_until_lent(w, key_of(20, -1)), 4);
}

/* Its container runs on while other keys get all places. */
static void a_container_whose_key_has_lost_its_place_is_preempted(void **state)
{
    const struct nm_yarn_container_id one = id_of(1);
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    ask(w, 1);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_SHOW);
    settle(w, ask_of(20, 0));
    use_places(w, 1000, 256);
    assert_false(nm_lend_knows_key(w->l, &twenty));
    assert_true(nm_lend_ended(w->l, &one, true, w->now_usec));
    assert_int_equal(minutes_until_lent(w, twenty), 1);
}

/* The node preempts a container of each of 256 priorities. Then nmd lends nothing with further priorities for half an
 * hour. */
static void keys_that_back_off_use_up_the_places(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    for (int32_t i = 0; i < 256; i++)
        preempt(w, key_of(i, -1), i + 1);
    w->now_usec += MINUTES(2);
    note(w, ask_of(1000, 1));
    expect_no_change(w);
    assert_int_equal(view_of(w, 1000).reason, NM_LEND_TOO_MANY_KEYS);
    answer(w);
    w->now_usec += MINUTES(30);
    assert_int_equal(minutes_until_lent(w, key_of(1000, -1)), 0);
}

/* ---- opportunistic asks of the master that the ResourceManager or the books don't take ------------- */

/* It asks for opportunistic containers with a key for which there is no place, and later for guaranteed ones. */
static void a_key_is_left_alone_if_the_master_asked_for_opportunistic_containers_without_a_place(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_grant own = opportunistic(1);

    set_mode(w, NM_LEND_ALL);
    for (int32_t i = 0; i < 256; i++)
        note(w, ask_of(i, 1));
    note_own(w, 256, 1);
    call(w);
    answer(w);
    note(w, ask_of(7, 0));
    call(w);
    answer(w);
    note(w, ask_of(256, 2)); /* gets the place of the key 7 */
    restart(w);
    set_mode(w, NM_LEND_ALL);
    call(w);
    assert_int_equal(view_of(w, 256).reason, NM_LEND_OWN_OPPORTUNISTIC);
    answer(w);
    own.key.priority = 256;
    assert_int_equal(grant(w, own), NM_LEND_PASS);
}

/* Lends a key, and begins a call in which the master also asks for opportunistic containers with it. */
static void begin_own(struct fixture *w)
{
    set_mode(w, NM_LEND_ALL);
    ask(w, 3);
    note_own(w, 20, 1);
    expect_change(w, 3, 0);
}

static void an_opportunistic_ask_of_the_master_in_a_refused_call_is_taken_back(void **state)
{
    struct fixture *w = *state;

    begin_own(w);
    nm_lend_refused(w->l, w->now_usec);
    call(w); /* the master gives up its ask: now what was asked for in order to lend it must be withdrawn */
    assert_int_equal(w->n, 1);
    assert_true(w->changes[0].with_opportunistic && w->changes[0].opportunistic == 0);
    answer(w);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_SHOW); /* granted before that */
}

/* The ResourceManager repeats its answer, and ignores the asks of the call. */
static void an_opportunistic_ask_of_the_master_in_a_repeated_call_is_taken_back(void **state)
{
    struct fixture *w = *state;

    begin_own(w);
    assert_true(nm_lend_begin_answer(w->l, w->response_id));
    expect_change(w, 0, 3);
    answer(w);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_SHOW);
}

/* The master's count includes the container of the repeated answer. */
static void a_key_that_gets_its_place_in_a_repeated_call_counts_what_the_answer_granted(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_grant g = guaranteed(1);

    set_mode(w, NM_LEND_ALL);
    for (int32_t i = 0; i <= 256; i++)
        note(w, ask_of(i, 2));
    call(w);
    answer(w);
    note(w, ask_of(7, 0));
    call(w);
    answer(w);
    g.key.priority = 256;
    assert_int_equal(grant(w, g), NM_LEND_PASS);
    for (int i = 0; i < 2; i++) { /* the master hasn't got the answer */
        note(w, ask_of(256, 2));
        call(w);
        assert_true(nm_lend_begin_answer(w->l, w->response_id));
        assert_int_equal(grant(w, g), NM_LEND_PASS);
        assert_int_equal(view_of(w, 256).wanted, 1);
        restart(w);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, lend_fixture_set_up, lend_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_257th_key_is_left_alone_until_another_key_is_idle),
        TEST(keys_with_opportunistic_asks_of_the_master_give_their_places_to_others),
        TEST(after_a_registration_no_key_has_opportunistic_asks_of_the_master),
        TEST(a_key_without_a_place_is_shown_until_it_is_granted),
        TEST(a_further_request_id_does_not_avoid_the_back_off),
        TEST(a_key_keeps_its_place_until_its_back_off_has_decayed),
        TEST(a_container_whose_key_has_lost_its_place_is_preempted),
        TEST(keys_that_back_off_use_up_the_places),
        TEST(a_key_is_left_alone_if_the_master_asked_for_opportunistic_containers_without_a_place),
        TEST(an_opportunistic_ask_of_the_master_in_a_refused_call_is_taken_back),
        TEST(an_opportunistic_ask_of_the_master_in_a_repeated_call_is_taken_back),
        TEST(a_key_that_gets_its_place_in_a_repeated_call_counts_what_the_answer_granted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
