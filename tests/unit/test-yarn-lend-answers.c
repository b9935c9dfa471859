/* SPDX-License-Identifier: Apache-2.0 */

/* Answers that differ from what the books of lending have asked for: larger containers, and refused calls
 * (yarn/lend/lend.h). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lend-fixture.h"

/* ---- larger containers -------------------------------------------------------------------------- */

static enum nm_lend_verdict grant_of(struct fixture *w, int64_t number, int64_t memory_mib)
{
    struct nm_lend_grant g = opportunistic(number);

    g.size.memory_mib = memory_mib;
    return grant(w, g);
}

static void larger_containers_stay_below_the_limit_of_the_application(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    w->limits.application_memory_mib = 4 * 1024;
    ask(w, 4);
    assert_int_equal(grant_of(w, 1, 1280), NM_LEND_SHOW);
    assert_int_equal(grant_of(w, 2, 1280), NM_LEND_SHOW);
    assert_int_equal(grant_of(w, 3, 1280), NM_LEND_SHOW);
    assert_int_equal(grant_of(w, 4, 1280), NM_LEND_RELEASE);
    assert_int_equal(figures(w).lent_memory_mib, 3 * 1280);
    expect_change(w, 1, 0);
    assert_int_equal(reason_of(w), NM_LEND_APPLICATION_LIMIT);
}

static void larger_containers_stay_below_the_limit_of_the_queue(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    w->limits.queue_memory_left_mib = 4 * 1024;
    ask(w, 4);
    assert_int_equal(grant_of(w, 1, 1280), NM_LEND_RELEASE); /* all four would be too many */
    for (int i = 2; i <= 4; i++)
        assert_int_equal(grant_of(w, i, 1280), NM_LEND_SHOW);
    w->limits.queue_memory_left_mib = 256;
    expect_change(w, 1, 0);
    assert_int_equal(reason_of(w), NM_LEND_QUEUE_LIMIT);
}

static void containers_of_the_size_that_was_asked_for_use_the_limit(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    w->limits.application_memory_mib = w->limits.queue_memory_left_mib = 2 * 1024;
    ask(w, 4);
    assert_int_equal(grant_of(w, 1, 1024), NM_LEND_SHOW);
    assert_int_equal(grant_of(w, 2, 1024), NM_LEND_SHOW);
    assert_int_equal(grant_of(w, 3, 1024), NM_LEND_RELEASE);
}

static void another_size_is_not_taken_for_as_large_as_the_former(void **state)
{
    struct fixture *w = *state;
    const struct nm_yarn_container_id one = id_of(1);
    struct nm_lend_ask smaller = ask_of(20, 4);

    set_mode(w, NM_LEND_ALL);
    w->limits.application_memory_mib = 2 * 1024;
    ask(w, 1);
    assert_int_equal(grant_of(w, 1, 1536), NM_LEND_SHOW);
    assert_true(nm_lend_ended(w->l, &one, false, w->now_usec));
    note_count(w, 4);
    call(w);
    assert_int_equal(figures(w).asked, 1);
    answer(w);
    smaller.size.memory_mib = 512;
    note(w, smaller);
    call(w);
    assert_int_equal(figures(w).asked, 4);
}

/* ---- refused calls ------------------------------------------------------------------------------ */

static void what_a_refused_call_has_set_is_taken_back(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_ask larger = ask_of(20, 7);

    set_overflow(w, 30);
    ask(w, 2);
    w->now_usec += SECONDS(20);
    larger.size.memory_mib = 1000000;
    larger.labelled = true;
    note(w, larger);
    note(w, ask_of(30, 3));
    call(w);
    nm_lend_refused(w->l, w->now_usec);
    assert_int_equal(figures(w).wanted, 2);
    assert_int_equal(view_of(w, 20).wanted, 2);
    assert_int_equal(view_of(w, 20).size.memory_mib, 1024);
    assert_int_equal(view_of(w, 30).wanted, 0);
    expect_no_change(w); /* the master hasn't asked for anything */
    answer(w);
    w->now_usec += SECONDS(10); /* the first two have waited for 30 seconds */
    expect_change(w, 0, 2);
}

/* An earlier call that was answered has set it. */
static void what_an_answered_call_has_set_is_not_taken_back(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    ask(w, 2);
    assert_int_equal(grant(w, opportunistic(1)), NM_LEND_SHOW);
    call(w);
    nm_lend_refused(w->l, w->now_usec);
    assert_int_equal(figures(w).wanted, 1);
    assert_int_equal(figures(w).lent, 1);
}

/* The ResourceManager may have read the opportunistic part of an ask that it refuses. It has no other part. */
static void of_a_refused_ask_only_the_opportunistic_part_is_withdrawn(void **state)
{
    const struct nm_lend_key key = {30, -1};
    struct fixture *w = *state;
    struct nm_lend_ask larger = ask_of(30, 3);

    set_mode(w, NM_LEND_ALL);
    larger.size.memory_mib = 1000000;
    note(w, larger);
    call(w);
    assert_true(nm_lend_has_counts(w->l, &key));
    nm_lend_refused(w->l, w->now_usec);
    for (int i = 0; i < 2; i++) { /* the first answer may be that to the refused call */
        call(w);
        assert_int_equal(w->n, 1);
        assert_int_equal(w->changes[0].size.memory_mib, 1000000);
        assert_true(w->changes[0].only_opportunistic);
        assert_int_equal(w->changes[0].opportunistic, 0);
        answer(w);
    }
    expect_no_change(w);
    assert_false(nm_lend_has_counts(w->l, &key));
}

static void a_key_whose_call_is_refused_backs_off(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    ask(w, 2);
    note_count(w, 3);
    expect_change(w, 0, 3);
    nm_lend_refused(w->l, w->now_usec);
    call(w); /* the guaranteed count waits: it may be the reason */
    assert_int_equal(w->n, 1);
    assert_true(w->changes[0].only_opportunistic);
    assert_int_equal(w->changes[0].opportunistic, 0);
    assert_int_equal(reason_of(w), NM_LEND_BACKS_OFF);
    answer(w);
    w->now_usec += SECONDS(10);
    expect_change(w, 2, 0);
    answer(w);
    w->now_usec += SECONDS(50);
    expect_change(w, 0, 2);
}

/* The master repeats its ask in the call that follows. */
static void the_masters_own_asks_are_not_held_back(void **state)
{
    struct fixture *w = *state;

    set_mode(w, NM_LEND_ALL);
    note_count(w, 3);
    expect_change(w, 0, 3);
    nm_lend_refused(w->l, w->now_usec);
    note_count(w, 3);
    expect_change(w, 3, 0);
    answer(w);
    assert_int_equal(grant(w, guaranteed(1)), NM_LEND_PASS);
    assert_int_equal(figures(w).wanted, 2);
}

/* ---- asks that the ResourceManager has never accepted -------------------------------------------- */

#define INVALID 1000000 /* MiB */

/* A ResourceManager that refuses each call with an ask for INVALID memory. */
struct manager {
    int refusals;
    bool got[64]; /* priorities with a guaranteed or an opportunistic count that it has read */
};

static bool has_invalid(const struct fixture *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->changes[i].size.memory_mib == INVALID && !w->changes[i].only_opportunistic)
            return true;
    return false;
}

static void read_changes(const struct fixture *w, struct manager *m)
{
    for (size_t i = 0; i < w->n; i++)
        m->got[w->changes[i].key.priority] |= w->changes[i].guaranteed > 0 || w->changes[i].opportunistic > 0;
}

/* Makes a call of the master without asks, every second. After a refusal it is repeated without what was added. */
static void make_calls(struct fixture *w, struct manager *m, int n)
{
    for (int i = 0; i < n; i++) {
        w->now_usec += SECONDS(1);
        call(w);
        if (has_invalid(w)) {
            m->refusals++;
            nm_lend_refused(w->l, w->now_usec);
            nm_lend_repeated(w->l);
            call(w);
            assert_false(has_invalid(w));
        }
        read_changes(w, m);
        answer(w);
    }
}

static void note_invalid(struct fixture *w, int32_t priority)
{
    struct nm_lend_ask a = ask_of(priority, 1);

    a.size.memory_mib = INVALID;
    note(w, a);
}

/* The ResourceManager answers a call with the answer to the call before, which had the same response id, and doesn't
 * read its asks. */
static void an_ask_of_a_call_that_was_not_read_keeps_no_others_back(void **state)
{
    struct fixture *w = *state;
    struct manager m = {};

    set_overflow(w, 30);
    ask(w, 2);
    call(w); /* not answered */
    note_invalid(w, 30);
    call(w);
    answer(w);
    make_calls(w, &m, 28);
    assert_false(m.got[20]);
    make_calls(w, &m, 5);
    assert_true(m.got[20]); /* the first two are lent after 30 seconds */
    make_calls(w, &m, 600);
    assert_in_range(m.refusals, 6, 8);
    assert_int_equal(figures(w).wanted, 3);
}

/* nmd is killed during the call. The master sees an exception, and doesn't repeat the ask. */
static void an_ask_from_before_a_restart_keeps_no_others_back(void **state)
{
    struct fixture *w = *state;
    struct manager m = {};

    set_overflow(w, 30);
    ask(w, 2);
    note_invalid(w, 30);
    note_invalid(w, 31);
    note(w, ask_of(40, 1));
    call(w);
    restart(w);
    set_overflow(w, 30);
    make_calls(w, &m, 11);
    assert_false(m.got[40]);
    make_calls(w, &m, 5);
    assert_true(m.got[40]);
    make_calls(w, &m, 25);
    assert_true(m.got[20]);
    make_calls(w, &m, 560);
    assert_in_range(m.refusals, 12, 17);
}

/* The master's own ask is the reason, also for the refusal of the repeated call. So what was added to the call is held
 * back for 10 seconds only. */
static void refused_asks_of_the_master_accuse_no_others(void **state)
{
    struct fixture *w = *state;
    struct manager m = {};

    set_overflow(w, 30);
    ask(w, 2);
    for (int i = 0; i < 5; i++) {
        w->now_usec += SECONDS(61);
        note_invalid(w, 30);
        call(w);
        assert_int_equal(view_of(w, 20).lent_asked, 2); /* with this call */
        nm_lend_refused(w->l, w->now_usec);
        nm_lend_repeated(w->l);
        note_invalid(w, 30);
        call(w);
        nm_lend_refused(w->l, w->now_usec);
        m = (struct manager){};
        make_calls(w, &m, 11);
        assert_int_equal(m.refusals, 0);
        assert_true(m.got[20]);
    }
}

/* An ask that was refused for a while, because large nodes were away. When they are away again, the waits begin with 10
 * seconds. */
static void an_ask_that_is_accepted_later_is_not_suspect_any_more(void **state)
{
    struct fixture *w = *state;
    struct manager m = {};

    set_overflow(w, 30);
    call(w); /* not answered */
    note_invalid(w, 30);
    call(w);
    answer(w);
    make_calls(w, &m, 30);
    assert_int_equal(m.refusals, 3);
    for (int i = 0; i < 20 && !has_invalid(w); i++) {
        w->now_usec += SECONDS(1);
        call(w);
        answer(w);
    }
    assert_true(has_invalid(w));
    make_calls(w, &m, 60); /* the books move it to opportunistic containers and back */
    assert_int_equal(m.refusals, 6);
    assert_int_equal(figures(w).wanted, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, lend_fixture_set_up, lend_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(larger_containers_stay_below_the_limit_of_the_application),
        TEST(larger_containers_stay_below_the_limit_of_the_queue),
        TEST(containers_of_the_size_that_was_asked_for_use_the_limit),
        TEST(another_size_is_not_taken_for_as_large_as_the_former),
        TEST(what_a_refused_call_has_set_is_taken_back),
        TEST(what_an_answered_call_has_set_is_not_taken_back),
        TEST(of_a_refused_ask_only_the_opportunistic_part_is_withdrawn),
        TEST(a_key_whose_call_is_refused_backs_off),
        TEST(the_masters_own_asks_are_not_held_back),
        TEST(an_ask_of_a_call_that_was_not_read_keeps_no_others_back),
        TEST(an_ask_from_before_a_restart_keeps_no_others_back),
        TEST(refused_asks_of_the_master_accuse_no_others),
        TEST(an_ask_that_is_accepted_later_is_not_suspect_any_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
