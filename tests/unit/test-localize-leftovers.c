/* SPDX-License-Identifier: Apache-2.0 */

/* localize/leftovers.h: which failed removals are tried again, when, and how many at a time. */

#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "localize/leftovers.h"
#include "tests/unit/run-until.h"
#include "util/clock.h"

#define FIRST_USEC (20 * NM_USEC_PER_MSEC)
#define MOST_USEC (80 * NM_USEC_PER_MSEC)
#define N 1000U

struct fixture {
    sd_event *event;
    struct nm_leftovers *leftovers;
    uint64_t ids[4 * N], at_usec[4 * N]; /* the ids of the attempts, and the times of the attempts */
    size_t n;
    const char *user; /* the user whose attempts report their results from within retry() */
    bool fails_at_once;
};

static void on_retry(uint64_t id, void *userdata)
{
    struct fixture *w = userdata;

    assert_true(w->n < NM_ARRAY_SIZE(w->ids));
    w->ids[w->n] = id;
    w->at_usec[w->n++] = nm_now_usec();
    if (w->fails_at_once)
        assert_int_equal(nm_leftovers_put(w->leftovers, w->user, id), 0);
}

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);
    struct nm_leftovers_params params = {.first_usec = FIRST_USEC, .most_usec = MOST_USEC, .retry = on_retry};

    assert_non_null(w);
    assert_true(sd_event_new(&w->event) >= 0);
    params.event = w->event;
    params.userdata = w;
    assert_int_equal(nm_leftovers_new(&params, &w->leftovers), 0);
    w->user = "alice";
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    (void)nm_leftovers_free(w->leftovers);
    (void)sd_event_unref(w->event);
    free(w);
    return 0;
}

#define RUN_UNTIL(w, condition) RUN_UNTIL_WITHIN(w, 20 * NM_USEC_PER_SEC, condition)

/* Adds n items of this user. Only the first item of a user is reported as the user's first. */
static void put(struct fixture *w, const char *user, uint64_t first, uint64_t n)
{
    for (uint64_t id = first; id < first + n; id++)
        assert_int_equal(nm_leftovers_put(w->leftovers, user, id), id == first ? NM_LEFTOVERS_E_FIRST : 0);
}

/* A round has a limited number of attempts. The next pause begins after the last result. Items that failed go to the
 * end of the list. */
static void test_each_round_of_removals_has_a_limited_number_of_attempts(void **state)
{
    struct fixture *w = *state;

    put(w, "alice", 1, 20);
    RUN_UNTIL(w, w->n > 0);
    assert_int_equal(w->n, NM_LEFTOVERS_ROUND);
    for (size_t i = 0; i < NM_LEFTOVERS_ROUND; i++) {
        assert_int_equal(w->ids[i], 1 + i);
        if (i > 0)
            assert_int_equal(nm_leftovers_put(w->leftovers, "alice", w->ids[i]), 0);
    }
    nm_leftovers_gone(w->leftovers, "alice", 99); /* this id has never failed */
    assert_int_equal(sd_event_run(w->event, 3 * FIRST_USEC), 0);
    assert_int_equal(w->n, NM_LEFTOVERS_ROUND); /* one attempt hasn't reported its result yet */
    nm_leftovers_gone(w->leftovers, "alice", 1);
    RUN_UNTIL(w, w->n > NM_LEFTOVERS_ROUND);
    for (size_t i = 0; i < NM_LEFTOVERS_ROUND; i++) {
        assert_int_equal(w->ids[NM_LEFTOVERS_ROUND + i], 9 + i);
        nm_leftovers_gone(w->leftovers, "alice", 9 + i);
    }
    RUN_UNTIL(w, w->n > 2 * NM_LEFTOVERS_ROUND);
    assert_int_equal(w->ids[2 * NM_LEFTOVERS_ROUND + 4], 2);
}

/* The pauses between attempts grow up to a maximum, and a success resets them. A user without items is forgotten. */
static void test_pauses_between_attempts_grow_up_to_a_maximum(void **state)
{
    struct fixture *w = *state;
    uint64_t begun_usec = nm_now_usec();

    w->fails_at_once = true;
    put(w, "alice", 1, 2);
    RUN_UNTIL(w, w->n >= 10);
    assert_true(w->at_usec[0] >= begun_usec + FIRST_USEC);
    assert_true(w->at_usec[2] >= w->at_usec[0] + 2 * FIRST_USEC);
    assert_true(w->at_usec[4] >= w->at_usec[2] + 4 * FIRST_USEC);
    assert_true(w->at_usec[6] >= w->at_usec[4] + MOST_USEC);
    assert_true(w->at_usec[8] >= w->at_usec[6] + MOST_USEC);
    w->fails_at_once = false;
    RUN_UNTIL(w, w->n >= 12);
    nm_leftovers_gone(w->leftovers, "alice", 1);
    assert_int_equal(nm_leftovers_put(w->leftovers, "alice", 2), 0);
    begun_usec = nm_now_usec();
    RUN_UNTIL(w, w->n == 13);
    assert_true(w->at_usec[12] >= begun_usec + FIRST_USEC);
    nm_leftovers_gone(w->leftovers, "alice", 2);
    put(w, "alice", 1, 1); /* the first item is tried again */
}

/* A restart starts a round without a pause, unless the attempts of the last round have not reported their results. */
static void test_a_restart_starts_a_round_at_once(void **state)
{
    struct fixture *w = *state;

    put(w, "alice", 1, 1);
    for (size_t n = 1; n <= 3; n++) {
        RUN_UNTIL(w, w->n == n);
        assert_int_equal(nm_leftovers_put(w->leftovers, "alice", 1), 0);
    }
    nm_leftovers_restart(w->leftovers);
    assert_true(sd_event_run(w->event, FIRST_USEC) > 0);
    assert_int_equal(w->n, 4);
    nm_leftovers_restart(w->leftovers);
    assert_int_equal(sd_event_run(w->event, 3 * FIRST_USEC), 0);
    assert_int_equal(w->n, 4); /* the attempt is still in progress */
    assert_int_equal(nm_leftovers_put(w->leftovers, "alice", 1), 0);
    RUN_UNTIL(w, w->n == 5);
}

/* The items of one user don't delay the items of another user. */
static void test_items_of_one_user_do_not_delay_items_of_other_users(void **state)
{
    struct fixture *w = *state;
    uint64_t bobs = 0;

    w->fails_at_once = true;
    put(w, "alice", 1, N);
    put(w, "bob", N + 1, 1);
    w->fails_at_once = false;
    RUN_UNTIL(w, w->n > NM_LEFTOVERS_ROUND);
    for (size_t i = 0; i < w->n; i++)
        bobs += w->ids[i] == N + 1;
    assert_int_equal(bobs, 1);
    assert_int_equal(w->n, NM_LEFTOVERS_ROUND + 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_each_round_of_removals_has_a_limited_number_of_attempts),
        TEST(test_pauses_between_attempts_grow_up_to_a_maximum),
        TEST(test_a_restart_starts_a_round_at_once),
        TEST(test_items_of_one_user_do_not_delay_items_of_other_users),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
