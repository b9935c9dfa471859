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

#define TEST(f) cmocka_unit_test_setup_teardown(f, lend_fixture_set_up, lend_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_257th_key_is_left_alone_until_another_key_is_idle),
        TEST(keys_with_opportunistic_asks_of_the_master_give_their_places_to_others),
        TEST(after_a_registration_no_key_has_opportunistic_asks_of_the_master),
        TEST(a_key_without_a_place_is_shown_until_it_is_granted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
