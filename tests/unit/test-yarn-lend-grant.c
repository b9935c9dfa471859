/* SPDX-License-Identifier: Apache-2.0 */

/* How the books of lending count what the ResourceManager grants, and what the master is shown; ends, registrations
 * and restarts of nmd (yarn/lend/lend.h). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "fail-nth.h"
#include "lend-fixture.h"

static bool ended(struct fixture *w, int64_t number, bool preempted)
{
    const struct nm_yarn_container_id id = id_of(number);

    return nm_lend_ended(w->l, &id, preempted, w->now_usec);
}

static void repeat_answer(struct fixture *w)
{
    assert_true(nm_lend_begin_answer(w->l, w->response_id));
}

/* ---- lent containers ---------------------------------------------------------------------------- */

static void a_lent_container_is_shown_and_counted(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_grant g = opportunistic(1);

    set_mode(w, NM_LEND_ALL);
    ask(w, 3);
    w->now_usec += SECONDS(5);
    g.size.memory_mib = 1536; /* the ResourceManager rounds sizes up */
    assert_int_equal(grant(w, g), NM_LEND_SHOW);
    assert_true(is_lent(w, 1));
    assert_int_equal(figures(w).lent, 1);
    assert_int_equal(figures(w).lent_memory_mib, 1536);
    assert_int_equal(figures(w).granted, 1);
    assert_int_equal(figures(w).wanted, 2);
    assert_int_equal(figures(w).asked, 2);
    assert_int_equal(figures(w).oldest_since_usec, w->now_usec);
    assert_int_equal(history_of(w, 1).asked_usec, SECONDS(1000));
    assert_int_equal(history_of(w, 1).lent_usec, SECONDS(1005));
    assert_int_equal(history_of(w, 1).mode, NM_LEND_ALL);
    assert_int_equal(view_of(w, 20).lent, 1);
    expect_no_change(w); /* the ResourceManager has counted the container, too */
}

static void a_repeated_answer_shows_the_same_and_counts_nothing(void **state)
{
    struct fixture *w = *state;

    set_percent(w, 50);
    ask(w, 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
        assert_int_equal(grant(w, opportunistic(2)), NM_LEND_SHOW);
        assert_int_equal(figures(w).wanted, 2);
        assert_int_equal(figures(w).granted, 1);
        if (i == 1)
            restart(w);
        repeat_answer(w);
    }
    assert_true(ended(w, 2, false));
    repeat_answer(w);
    assert_int_equal(grant(w, opportunistic(2)), NM_LEND_SHOW);
    assert_int_equal(figures(w).granted, 1);
}

/* The master repeats a call if it doesn't get the answer, with counts that don't know of the answer. The
 * ResourceManager then doesn't read the asks of the call, and repeats its answer. */
static void a_repeated_call_does_not_ask_for_what_was_granted(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    ask(w, 5);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_SHOW);
    assert_int_equal(grant(w, opportunistic(2)), NM_LEND_SHOW);
    note_count(w, 5);
    call(w);
    repeat_answer(w);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_SHOW);
    assert_int_equal(grant(w, opportunistic(2)), NM_LEND_SHOW);
    assert_int_equal(figures(w).wanted, 3);
    expect_change(w, 0, 3);
}

static enum nm_lend_mode mode_of(const struct fixture *w, int64_t number)
{
    const struct nm_yarn_container_id id = id_of(number);
    struct nm_lend_history h;

    assert_true(nm_lend_find_history(w->l, &id, &h));
    return h.mode;
}

/* The rule may change while the call is under way. After a restart of nmd, the rule isn't known at first. */
static void a_container_is_lent_by_the_mode_that_has_asked_for_it(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    note_count(w, 4);
    call(w);
    set_mode(w, NM_LEND_OFF);
    answer(w);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_SHOW);
    assert_int_equal(mode_of(w, 1), NM_LEND_ALL);
    call(w); /* withdraws the rest, which is granted before */
    restart(w);
    answer(w);
    assert_int_equal(grant(w, opportunistic(2)), NM_LEND_SHOW);
    assert_int_equal(mode_of(w, 2), NM_LEND_ALL);
    set_percent(w, 100);
    call(w);
    set_overflow(w, 30);
    answer(w);
    assert_int_equal(grant(w, opportunistic(3)), NM_LEND_SHOW);
    restart(w);
    assert_int_equal(mode_of(w, 1), NM_LEND_ALL);
    assert_int_equal(mode_of(w, 3), NM_LEND_PERCENT);
}

/* Books that an earlier nmd has packed don't say the mode of a share. The rule at the time of the grant is taken. */
static void books_without_the_modes_of_keys_are_restored(void **state)
{
    struct fixture *w = *state;

    w->l = nm_lend_free(w->l);
    assert_int_equal(nm_lend_restore(nm_bytes_of("\x0a\x11\x08\x28\x10\x01\x1a\x05\x08\x80\x08\x10\x01\x22\x02"
                                                 "\x10\x02\x28\x02"), &w->l), 0);
    assert_int_equal(figures(w).asked, 2);
    set_mode(w, NM_LEND_ALL);
    answer(w);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_SHOW);
    assert_int_equal(mode_of(w, 1), NM_LEND_ALL);
}

static void more_than_was_asked_for_is_released(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    lend(w, 2);
    assert_int_equal(grant(w, opportunistic(3)), NM_LEND_RELEASE);
    assert_false(is_lent(w, 3));
    assert_int_equal(figures(w).released, 1);
    repeat_answer(w);
    assert_int_equal(grant(w, opportunistic(3)), NM_LEND_RELEASE);
    assert_int_equal(figures(w).released, 1);
    assert_int_equal(figures(w).lent, 2);
}

static void a_container_that_is_too_small_is_released_and_the_key_backs_off(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_grant g = opportunistic(1);

    set_mode(w, NM_LEND_ALL);
    ask(w, 2);
    g.size.memory_mib = 512;
    assert_int_equal(grant(w, g), NM_LEND_RELEASE);
    expect_change(w, 2, 0);
    assert_int_equal(reason_of(w), NM_LEND_BACKS_OFF);
    answer(w);
    w->now_usec += MINUTES(1);
    expect_change(w, 0, 2);
}

static void a_container_whose_ask_was_withdrawn_is_used_if_it_is_wanted(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    ask(w, 3);
    set_mode(w, NM_LEND_OFF);
    expect_change(w, 3, 0);
    answer(w);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_SHOW);
    assert_int_equal(figures(w).wanted, 2);
    expect_change(w, 2, -1); /* the ResourceManager still had 3 */
}

static void unknown_opportunistic_containers_pass(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    answer(w);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_PASS);
    assert_int_equal(grant(w, guaranteed(2)), NM_LEND_PASS);
}

static void containers_of_an_earlier_attempt_are_adopted_once(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_grant g = opportunistic(1);

    g.id.attempt.number = 9;
    set_mode(w, NM_LEND_ALL);
    ask(w, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(nm_lend_adopt(w->l, &g, w->now_usec), 0);
    assert_int_equal(figures(w).lent, 1);
    assert_int_equal(figures(w).wanted, 2);
    assert_true(nm_lend_ended(w->l, &g.id, true, w->now_usec));
    assert_int_equal(nm_lend_adopt(w->l, &g, w->now_usec), 0);
    restart(w);
    assert_int_equal(figures(w).lent, 0);
    assert_int_equal(figures(w).granted, 0);
    assert_int_equal(figures(w).adopted, 1);
    assert_int_equal(figures(w).preempted, 1);
}

static bool knows(const struct fixture *w, int64_t number)
{
    const struct nm_yarn_container_id id = id_of(number);

    return nm_lend_knows(w->l, &id);
}

/* Replaces the books by new ones with the containers of the former. */
static void copy_books(struct fixture *w, const struct nm_lend *newer)
{
    struct nm_lend *former = w->l;

    assert_int_equal(nm_lend_new(&w->l), 0);
    assert_int_equal(nm_lend_copy_containers(w->l, former, newer), 0);
    nm_lend_free(former);
}

static void the_containers_of_an_earlier_attempt_are_copied(void **state)
{
    struct fixture *w = *state;
    const struct nm_yarn_container_id ended = id_of(2);
    _cleanup_(nm_lend_freep) struct nm_lend *newer = NULL;
    const struct nm_lend_grant g = opportunistic(3);

    set_mode(w, NM_LEND_ALL);
    lend(w, 3);
    assert_true(nm_lend_ended(w->l, &ended, true, w->now_usec));
    copy_books(w, NULL);
    restart(w);
    assert_true(knows(w, 1) && knows(w, 2) && knows(w, 3));
    assert_int_equal(figures(w).lent, 2);
    assert_int_equal(figures(w).keys, 0);
    assert_int_equal(nm_lend_new(&newer), 0);
    assert_int_equal(nm_lend_adopt(newer, &g, w->now_usec), 0);
    copy_books(w, newer);
    assert_true(knows(w, 1) && knows(w, 2) && !knows(w, 3));
    assert_int_equal(nm_lend_copy_containers(w->l, newer, NULL), 0);
    assert_int_equal(nm_lend_copy_containers(w->l, newer, NULL), 0);
    assert_int_equal(figures(w).lent, 2);
}

/* Of the rest, the newest histories are kept. */
static void at_most_4096_containers_of_earlier_attempts_are_copied_as_lent(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_lend_freep) struct nm_lend *other = NULL;
    struct nm_lend_grant g;

    assert_int_equal(nm_lend_new(&other), 0);
    for (int64_t i = 1; i <= 4096; i++) {
        g = opportunistic(10000 + i);
        assert_int_equal(nm_lend_adopt(other, &g, w->now_usec), 0);
    }
    set_mode(w, NM_LEND_ALL);
    lend(w, 2);
    assert_int_equal(nm_lend_copy_containers(w->l, other, NULL), 0);
    restart(w);
    assert_int_equal(figures(w).lent, 4096);
    assert_true(knows(w, 1) && knows(w, 10001) && knows(w, 14094) && knows(w, 14096));
}

/* ---- guaranteed containers ---------------------------------------------------------------------- */

/* The ResourceManager had granted a container when the books moved the ask. */
static void if_a_guaranteed_container_comes_late_the_last_opportunistic_one_is_released(void **state)
{
    struct fixture *w = *state;

    set_overflow(w, 30);
    ask(w, 2);
    w->now_usec += SECONDS(30);
    expect_change(w, 0, 2);
    answer(w);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    assert_int_equal(grant(w, opportunistic(2)), NM_LEND_SHOW);
    assert_int_equal(grant(w, opportunistic(3)), NM_LEND_RELEASE);
    assert_int_not_equal(reason_of(w), NM_LEND_REFUSED);
}

/* A count that the books send is absolute. It asks again for a container that was granted just before. */
static void what_the_books_have_asked_for_twice_is_corrected_and_released(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    w->limits.application_memory_mib = 2 * 1024;
    ask(w, 4); /* 2 and 2 */
    w->limits.application_memory_mib = 1024;
    expect_change(w, 3, 1);
    answer(w);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    assert_int_equal(grant(w, opportunistic(2)), NM_LEND_SHOW);
    expect_change(w, 2, 0); /* the ResourceManager has 3 */
    answer(w);
    assert_int_equal(grant(w, guaranteed(3)), NM_LEND_PASS);
    assert_int_equal(grant(w, guaranteed(4)), NM_LEND_PASS);
    assert_int_equal(figures(w).wanted, 0);
    assert_int_equal(grant(w, guaranteed(5)), NM_LEND_RELEASE);
    repeat_answer(w);
    assert_int_equal(grant(w, guaranteed(3)), NM_LEND_PASS);
    assert_int_equal(grant(w, guaranteed(5)), NM_LEND_RELEASE);
    assert_int_equal(figures(w).released, 1);
}

/* This also happens without lending: frameworks release such a container. */
static void a_container_that_the_master_no_longer_wants_passes(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_OFF);
    ask(w, 2);
    ask(w, 0);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
}

static void if_opportunistic_asks_are_granted_as_guaranteed_nothing_is_lent(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    ask(w, 3);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    assert_int_equal(figures(w).wanted, 2);
    assert_int_equal(figures(w).asked, 2);
    /* No opportunistic count is sent: it would replace the guaranteed one. */
    expect_change(w, 2, -1);
    assert_int_equal(reason_of(w), NM_LEND_REFUSED);
    answer(w);
    note(w, ask_of(10, 4));
    expect_no_change(w);
    assert_int_equal(view_of(w, 10).reason, NM_LEND_REFUSED);
    restart(w);
    nm_lend_registered(w->l); /* perhaps with another ResourceManager */
    set_mode(w, NM_LEND_ALL);
    note_count(w, 2);
    expect_change(w, 0, 2);
}

/* Then the ResourceManager has kept the opportunistic count only. */
static void as_long_as_no_opportunistic_container_was_granted_asks_are_repeated(void **state)
{
    struct fixture *w = *state;

    set_percent(w, 50);
    ask(w, 4);
    w->now_usec += SECONDS(29);
    expect_no_change(w);
    answer(w);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    assert_int_equal(grant(w, guaranteed(2)), NM_LEND_PASS);
    w->now_usec += SECONDS(1);
    expect_change(w, 0, 2);
    answer(w);
    expect_no_change(w);
    answer(w);
    assert_int_equal(grant(w, guaranteed(3)), NM_LEND_PASS);
    expect_change(w, 1, -1);
    assert_int_equal(reason_of(w), NM_LEND_REFUSED);
}

/* A container that was allocated before may look like this, too. */
static void if_it_only_looked_like_that_opportunistic_counts_are_withdrawn_later(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    ask(w, 3);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    expect_change(w, 2, -1);
    assert_int_equal(reason_of(w), NM_LEND_REFUSED);
    answer(w);
    note_count(w, 0);
    expect_change(w, 0, -1);
    answer(w);
    expect_no_change(w);
    restart(w);
    set_mode(w, NM_LEND_ALL);
    call(w);
    answer(w);
    assert_int_equal(grant(w, opportunistic(2)), NM_LEND_RELEASE);
    expect_change(w, 0, 0);
    answer(w);
    expect_no_change(w);
    note_count(w, 2);
    expect_change(w, 0, 2);
}

/* The ResourceManager ignores a repeated call. The books can't send the count of this key, so the ResourceManager still
 * has the former one. */
static void a_guaranteed_container_that_a_repeated_call_left_asked_for_refuses_nothing(void **state)
{
    struct nm_lend_ask labelled = ask_of(20, 1);
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    labelled.labelled = true;
    note(w, labelled);
    call(w);
    answer(w);
    labelled.count = 0;
    note(w, labelled);
    call(w);
    repeat_answer(w);
    for (int i = 0; i < 3; i++) {
        expect_no_change(w);
        answer(w);
    }
    note_count(w, 2);
    expect_change(w, 0, 2);
    answer(w);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    expect_change(w, 0, 1);
    assert_int_equal(reason_of(w), NM_LEND_LENT);
}

/* ---- ends --------------------------------------------------------------------------------------- */

static void ends_are_counted_once(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    lend(w, 3);
    w->now_usec += SECONDS(10);
    for (int i = 0; i < 2; i++) {
        assert_true(ended(w, 1, false));
        assert_true(ended(w, 2, true));
        assert_false(ended(w, 77, true));
        assert_int_equal(figures(w).ended, 1);
        assert_int_equal(figures(w).preempted, 1);
        assert_int_equal(figures(w).lent, 1);
    }
    assert_true(history_of(w, 2).preempted);
    assert_int_equal(history_of(w, 2).ended_usec, w->now_usec);
    assert_false(is_lent(w, 2));
    assert_true(is_lent(w, 3));
}

static uint64_t back_off_minutes(struct fixture *w, int64_t number)
{
    ask(w, 1);
    (void)grant(w, opportunistic(number));
    assert_true(ended(w, number, true));
    return (view_of(w, 20).backs_off_until_usec - w->now_usec) / MINUTES(1);
}

static void a_key_backs_off_longer_after_each_preemption(void **state)
{
    static const uint64_t minutes[] = {1, 2, 4, 8, 16, 16};
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(minutes); i++) {
        assert_int_equal(back_off_minutes(w, (int64_t)i), minutes[i]);
        note_count(w, 1);
        call(w);
        assert_int_equal(w->n > 0 ? w->changes[0].opportunistic : 0, 0);
        assert_int_equal(reason_of(w), NM_LEND_BACKS_OFF);
        answer(w);
        w->now_usec += MINUTES(minutes[i]);
        call(w);
        assert_int_equal(reason_of(w), NM_LEND_LENT);
        answer(w);
    }
    w->now_usec += MINUTES(30 - 16);
    assert_int_equal(back_off_minutes(w, 100), 1);
}

static void preemptions_at_the_same_time_count_as_one(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    lend(w, 3);
    assert_true(ended(w, 1, true));
    assert_true(ended(w, 2, true));
    w->now_usec += SECONDS(30);
    assert_true(ended(w, 3, true)); /* the time starts again */
    assert_int_equal(view_of(w, 20).backs_off_until_usec, w->now_usec + MINUTES(1));
}

static void another_key_is_lent_while_one_backs_off(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    lend(w, 1);
    assert_true(ended(w, 1, true));
    note(w, ask_of(10, 1));
    call(w);
    assert_int_equal(view_of(w, 10).lent_asked, 1);
}

static void the_newest_1024_former_containers_are_known(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_container_id first = id_of(1);
    struct nm_lend_history h;

    set_mode(w, NM_LEND_ALL);
    lend(w, 1025);
    for (int64_t i = 1; i <= 1025; i++)
        assert_true(ended(w, i, false));
    assert_false(nm_lend_find_history(w->l, &first, &h));
    assert_int_equal(history_of(w, 2).lent_usec, w->now_usec);
    restart(w);
    assert_false(ended(w, 1, false));
    assert_true(ended(w, 2, false));
    assert_true(ended(w, 1025, false));
}

/* ---- registration and restart ------------------------------------------------------------------- */

static void after_a_registration_asks_have_waited_since_they_were_first_made(void **state)
{
    struct fixture *w = *state;

    set_overflow(w, 30);
    lend(w, 0);
    ask(w, 3);
    w->now_usec += SECONDS(29);
    nm_lend_registered(w->l);
    w->response_id = 0;
    assert_int_equal(figures(w).wanted, 0);
    expect_no_change(w);
    ask(w, 4);
    assert_int_equal(figures(w).wanted, 4);
    w->now_usec += SECONDS(1);
    expect_change(w, 1, 3);
}

static void lent_containers_stay_lent_after_a_registration(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    lend(w, 2);
    nm_lend_registered(w->l);
    assert_true(is_lent(w, 1));
    assert_int_equal(figures(w).lent, 2);
    assert_false(nm_lend_begin_answer(w->l, w->response_id)); /* ids begin again */
}

/* nmd may have been killed before or after the call reached the ResourceManager. */
static void after_a_restart_unanswered_changes_are_sent_again(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    note_count(w, 3);
    expect_change(w, 0, 3);
    restart(w);
    set_mode(w, NM_LEND_ALL);
    for (int i = 0; i < 2; i++) { /* the first answer may be a repeated one */
        expect_change(w, 0, 3);
        answer(w);
    }
    expect_no_change(w);
}

static void all_of_it_survives_a_restart(void **state)
{
    struct fixture *w = *state;
    const struct nm_yarn_container_id second = id_of(2), third = id_of(3);

    set_mode(w, NM_LEND_ALL);
    lend(w, 4);
    nm_lend_set_running(w->l, &second, true);
    nm_lend_set_running(w->l, &third, false);
    assert_true(ended(w, 1, true));
    ask(w, 2);
    restart(w);
    assert_int_equal(figures(w).lent, 3);
    assert_int_equal(figures(w).waiting, 1);
    assert_int_equal(figures(w).preempted, 1);
    assert_int_equal(figures(w).wanted, 2);
    assert_int_equal(figures(w).lent_memory_mib, 3 * 1024);
    assert_true(history_of(w, 2).running && !history_of(w, 2).queued);
    assert_true(history_of(w, 3).queued && !history_of(w, 3).running);
    assert_true(history_of(w, 1).preempted && !history_of(w, 1).queued);
    assert_false(history_of(w, 4).running || history_of(w, 4).queued);
    assert_int_equal(view_of(w, 20).backs_off_until_usec, w->now_usec + MINUTES(1));
    assert_true(nm_lend_begin_answer(w->l, 1)); /* the answer that granted the containers */
}

static void no_bytes_are_empty_books(void **state)
{
    struct fixture *w = *state;

    nm_lend_free(w->l);
    w->l = NULL;
    assert_int_equal(nm_lend_restore((struct nm_bytes){}, &w->l), 0);
    assert_int_equal(figures(w).keys, 0);
    restart(w);
}

static void damaged_books_are_refused(void **state)
{
    /* a message that is too short; two equal keys; a key that lends what isn't wanted; a mode that
     * doesn't exist */
    static const char *const texts[] = {"\x0a\x7f", "\x0a\x02\x08\x02\x0a\x02\x08\x02", "\x0a\x02\x28\x01",
                                        "\x0a\x03\xb8\x01\x04"};
    struct nm_lend *l = NULL;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(texts); i++)
        assert_int_equal(nm_lend_restore(nm_bytes_of(texts[i]), &l), -EBADMSG);
    assert_null(l);
}

/* ---- memory ------------------------------------------------------------------------------------- */

static int try_everything(void *userdata)
{
    _cleanup_(nm_lend_freep) struct nm_lend *l = NULL, *restored = NULL, *copy = NULL;
    _cleanup_free_ uint8_t *packed = NULL;
    const struct nm_lend_ask a = ask_of(20, 1);
    const struct nm_lend_grant g = opportunistic(1), more = opportunistic(2);
    const struct nm_lend_change *changes;
    enum nm_lend_verdict verdict;
    struct fixture *w = userdata;
    size_t size, n;
    int r = nm_lend_new(&l);

    if (r < 0)
        return r;
    nm_lend_set_rule(l, &(struct nm_lend_rule){.mode = NM_LEND_ALL});
    r = nm_lend_ask(l, &a, 1, 1);
    if (r == 0)
        r = nm_lend_plan(l, &w->limits, 1, &changes, &n);
    if (r == 0)
        r = nm_lend_granted(l, &g, 1, &verdict);
    if (r == 0)
        r = nm_lend_granted(l, &more, 1, &verdict);
    if (r == 0)
        r = nm_lend_set_room(l, &(struct nm_lend_node_room){"two", 1, {1, 1}, 1});
    if (r == 0)
        r = nm_lend_pack(l, &packed, &size);
    if (r == 0)
        r = nm_lend_restore((struct nm_bytes){packed, size}, &restored);
    if (r == 0)
        r = nm_lend_new(&copy);
    if (r == 0)
        r = nm_lend_copy_containers(copy, restored, NULL);
    return r;
}

/* The caller refuses the master's call, so that the answer is repeated. */
static void without_memory_a_container_is_counted_in_the_repeated_answer(void **state)
{
    struct fixture *w = *state;
    const struct nm_lend_grant first = opportunistic(1);
    enum nm_lend_verdict verdict;

    set_mode(w, NM_LEND_ALL);
    ask(w, 3);
    fail_nth(FAIL_MEMORY, 1);
    assert_int_equal(nm_lend_granted(w->l, &first, w->now_usec, &verdict), -ENOMEM);
    assert_true(fail_stop());
    assert_int_equal(grant(w, opportunistic(2)), NM_LEND_SHOW);
    repeat_answer(w);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_SHOW);
    assert_int_equal(grant(w, opportunistic(2)), NM_LEND_SHOW);
    assert_int_equal(figures(w).wanted, 1);
    assert_int_equal(figures(w).granted, 2);
}

static void each_failed_allocation_is_reported(void **state)
{
    assert_true(fail_each(try_everything, *state) > 10);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, lend_fixture_set_up, lend_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_lent_container_is_shown_and_counted),
        TEST(a_repeated_answer_shows_the_same_and_counts_nothing),
        TEST(a_repeated_call_does_not_ask_for_what_was_granted),
        TEST(a_container_is_lent_by_the_mode_that_has_asked_for_it),
        TEST(books_without_the_modes_of_keys_are_restored),
        TEST(more_than_was_asked_for_is_released),
        TEST(a_container_that_is_too_small_is_released_and_the_key_backs_off),
        TEST(a_container_whose_ask_was_withdrawn_is_used_if_it_is_wanted),
        TEST(unknown_opportunistic_containers_pass),
        TEST(containers_of_an_earlier_attempt_are_adopted_once),
        TEST(the_containers_of_an_earlier_attempt_are_copied),
        TEST(at_most_4096_containers_of_earlier_attempts_are_copied_as_lent),
        TEST(if_a_guaranteed_container_comes_late_the_last_opportunistic_one_is_released),
        TEST(what_the_books_have_asked_for_twice_is_corrected_and_released),
        TEST(a_container_that_the_master_no_longer_wants_passes),
        TEST(if_opportunistic_asks_are_granted_as_guaranteed_nothing_is_lent),
        TEST(as_long_as_no_opportunistic_container_was_granted_asks_are_repeated),
        TEST(if_it_only_looked_like_that_opportunistic_counts_are_withdrawn_later),
        TEST(a_guaranteed_container_that_a_repeated_call_left_asked_for_refuses_nothing),
        TEST(ends_are_counted_once),
        TEST(a_key_backs_off_longer_after_each_preemption),
        TEST(preemptions_at_the_same_time_count_as_one),
        TEST(another_key_is_lent_while_one_backs_off),
        TEST(the_newest_1024_former_containers_are_known),
        TEST(after_a_registration_asks_have_waited_since_they_were_first_made),
        TEST(lent_containers_stay_lent_after_a_registration),
        TEST(after_a_restart_unanswered_changes_are_sent_again),
        TEST(all_of_it_survives_a_restart),
        TEST(no_bytes_are_empty_books),
        TEST(damaged_books_are_refused),
        TEST(without_memory_a_container_is_counted_in_the_repeated_answer),
        TEST(each_failed_allocation_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
