/* SPDX-License-Identifier: Apache-2.0 */

/* Limits on the memory and the turns of users. Each user gets a share, however much other users have taken. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/quota.h"

#define MEGA (UINT64_C(1) << 20)

static struct nm_quota_account *account(struct nm_quota *r, unsigned user, bool privileged)
{
    struct nm_quota_account *a;
    char who[32];

    (void)snprintf(who, sizeof who, "user %u", user);
    assert_int_equal(nm_quota_account_of(r, who, privileged, &a), 0);
    return a;
}

static unsigned take_all(struct nm_quota_account *a)
{
    unsigned n = 0;

    while (nm_quota_account_take(a, MEGA / 4))
        n++;
    return n;
}

static void drop(struct nm_quota_account *a)
{
    nm_quota_account_give(a, nm_quota_account_bytes(a));
    nm_quota_account_unref(a);
}

/* The first user can take half of the memory, the next one a quarter, then an eighth, and so on. Each further user
 * still gets some memory. */
static void test_each_further_user_gets_a_smaller_share(void **state)
{
    struct nm_quota_account *users[8], *root;
    struct nm_quota *r;
    unsigned last = 0;

    (void)state;
    assert_int_equal(nm_quota_new(64 * MEGA, &r), 0);
    for (unsigned i = 0; i < 8; i++) {
        unsigned n = take_all(users[i] = account(r, 1000 + i, false));
        assert_true(n > 0);
        assert_true(i == 0 || n <= last);
        last = n;
    }
    assert_int_equal(nm_quota_account_bytes(users[0]), 16 * MEGA);
    assert_int_equal(nm_quota_account_bytes(users[1]), 8 * MEGA);
    root = account(r, 0, true); /* administrators have a separate half of the memory */
    assert_true(nm_quota_account_take(root, 32 * MEGA));
    assert_false(nm_quota_account_take(root, 1));
    for (unsigned i = 0; i < 8; i++)
        drop(users[i]);
    users[0] = account(r, 1000, false);
    assert_int_equal(take_all(users[0]), 64); /* released bytes are available again */
    drop(users[0]);
    drop(root);
    assert_null(nm_quota_free(r));
}

static void test_accounts_are_charged_and_released(void **state)
{
    struct nm_quota_account *a, *b;
    struct nm_quota *r;

    (void)state;
    assert_int_equal(nm_quota_new(MEGA, &r), 0);
    a = account(r, 7, false);
    b = account(r, 7, false);
    assert_ptr_equal(a, b);
    nm_quota_account_enter(a);
    assert_int_equal(nm_quota_account_connections(b), 1);
    nm_quota_account_leave(b);
    nm_quota_account_unref(b);
    b = account(r, 8, false);
    assert_ptr_not_equal(a, b);
    nm_quota_account_unref(b);
    /* An administrator has a separate account, although the uid is the same. The administrator's account may take all
     * of the administrators' half. An ordinary user may take half of the ordinary users' half. */
    b = account(r, 7, true);
    assert_ptr_not_equal(a, b);
    assert_true(nm_quota_account_take(b, MEGA / 2));
    assert_true(nm_quota_account_take(a, MEGA / 4));
    assert_false(nm_quota_account_take(a, MEGA / 4));
    drop(b);
    nm_quota_account_give(a, MEGA / 4);
    nm_quota_account_unref(a);
    nm_quota_free(r);
}

/* ---- turns of users ----------------------------------------------------------------------- */

static struct nm_turn *gone[64];
static unsigned n_gone;

static void run_turn(struct nm_turn *t)
{
    gone[n_gone++] = t;
}

/* Ten requests of one user are waiting when a request of another user arrives. The new request is second. */
static void test_requests_of_different_users_take_turns(void **state)
{
    struct nm_turn many[10] = {}, one = {.run_turn = run_turn}, two = {.run_turn = run_turn};
    struct nm_quota_account *a, *b;
    struct nm_quota *r;

    (void)state;
    assert_int_equal(nm_quota_new(MEGA, &r), 0);
    a = account(r, 1, false);
    b = account(r, 2, false);
    assert_int_equal(nm_quota_due_usec(r), UINT64_MAX);
    for (unsigned i = 0; i < 10; i++) {
        many[i].run_turn = run_turn;
        nm_turn_wait(&many[i], a);
    }
    nm_turn_wait(&one, b);
    nm_turn_wait(&two, b);
    nm_turn_cancel(&many[1]);
    n_gone = 0;
    while (nm_quota_next_turn(r, 1))
        continue;
    assert_int_equal(n_gone, 11);
    assert_ptr_equal(gone[0], &many[0]);
    assert_ptr_equal(gone[1], &one);
    assert_ptr_equal(gone[2], &many[2]);
    assert_ptr_equal(gone[3], &two);
    for (unsigned i = 4; i < 11; i++)
        assert_ptr_equal(gone[i], &many[i - 1]);
    assert_int_equal(nm_quota_due_usec(r), UINT64_MAX);
    /* An account can queue requests again after all its queued requests were cancelled, beginning with the last one. */
    nm_turn_wait(&one, a);
    nm_turn_cancel(&one);
    nm_turn_cancel(&one);
    nm_turn_wait(&two, a);
    nm_turn_wait(&one, b);
    nm_turn_cancel(&one);
    nm_turn_wait(&one, a);
    nm_turn_cancel(&one);
    nm_turn_wait(&one, a);
    n_gone = 0;
    while (nm_quota_next_turn(r, 1))
        continue;
    assert_int_equal(n_gone, 2);
    assert_ptr_equal(gone[1], &one);
    nm_quota_account_unref(a);
    nm_quota_account_unref(b);
    nm_quota_free(r);
}

/* A user whose requests have used time waits for a multiple of this time. Other users don't wait. */
static void test_a_user_whose_requests_used_time_waits(void **state)
{
    struct nm_turn one = {.run_turn = run_turn}, two = {.run_turn = run_turn}, three = {.run_turn = run_turn};
    struct nm_quota_account *a, *b, *root;
    struct nm_quota *r;

    (void)state;
    assert_int_equal(nm_quota_new(MEGA, &r), 0);
    a = account(r, 1, false);
    b = account(r, 2, false);
    root = account(r, 0, true);
    assert_true(nm_quota_account_is_free(a, 1000));
    nm_quota_account_charge(a, 10, 1000);
    nm_quota_account_charge(a, 10, 1000);
    nm_quota_account_charge(root, 1000, 1000);
    assert_false(nm_quota_account_is_free(a, 1000 + 20 * NM_QUOTA_PAUSE - 1));
    assert_true(nm_quota_account_is_free(a, 1000 + 20 * NM_QUOTA_PAUSE));
    assert_true(nm_quota_account_is_free(b, 1000));
    assert_true(nm_quota_account_is_free(root, 1000));
    nm_turn_wait(&one, a);
    assert_int_equal(nm_quota_due_usec(r), 1000 + 20 * NM_QUOTA_PAUSE);
    nm_turn_wait(&two, b);
    nm_turn_wait(&three, b);
    assert_false(nm_quota_account_is_free(b, 1000)); /* a request doesn't overtake the queued ones of its user */
    n_gone = 0;
    while (nm_quota_next_turn(r, 1001))
        continue;
    assert_int_equal(n_gone, 2);
    assert_true(nm_quota_next_turn(r, 1000 + 20 * NM_QUOTA_PAUSE));
    assert_ptr_equal(gone[2], &one);
    nm_quota_account_unref(a);
    nm_quota_account_unref(b);
    nm_quota_account_unref(root);
    nm_quota_free(r);
}

/* ---- measured time ---------------------------------------------------------------------------- */

static void work_for(uint64_t usec)
{
    const uint64_t until_usec = nm_now_usec() + usec;

    while (nm_now_usec() < until_usec)
        ;
}

/* Time in which a request waits, for example for a disk, counts as used. */
static void test_time_in_which_a_request_waits_counts_as_used(void **state)
{
    const struct nm_cost begun = nm_cost_now();
    struct nm_cost now;

    (void)state;
    (void)usleep(30000);
    now = nm_cost_now();
    assert_true(nm_cost_usec(&begun, &now) >= 30000);
    assert_int_equal(nm_cost_usec(&now, &now), 0);
}

/* Three other processes run on the same CPU. Only the time in which this process ran counts as used. */
static void test_time_used_by_other_processes_does_not_count(void **state)
{
    struct nm_cost begun, now;
    pid_t others[3];
    cpu_set_t one;

    (void)state;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(others); i++) {
        others[i] = fork();
        assert_true(others[i] >= 0);
        for (; others[i] == 0;)
            work_for(NM_USEC_PER_SEC);
    }
    begun = nm_cost_now();
    work_for(NM_USEC_PER_SEC);
    now = nm_cost_now();
    for (size_t i = 0; i < NM_ARRAY_SIZE(others); i++) {
        (void)kill(others[i], SIGKILL);
        assert_int_equal(waitpid(others[i], NULL, 0), others[i]);
    }
    assert_true(now.wall_usec - begun.wall_usec >= NM_USEC_PER_SEC);
    assert_in_range(nm_cost_usec(&begun, &now), 1000, NM_USEC_PER_SEC * 3 / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_further_user_gets_a_smaller_share),
        cmocka_unit_test(test_accounts_are_charged_and_released),
        cmocka_unit_test(test_requests_of_different_users_take_turns),
        cmocka_unit_test(test_a_user_whose_requests_used_time_waits),
        cmocka_unit_test(test_time_in_which_a_request_waits_counts_as_used),
        cmocka_unit_test(test_time_used_by_other_processes_does_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
