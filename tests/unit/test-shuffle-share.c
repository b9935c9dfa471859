/* SPDX-License-Identifier: Apache-2.0 */

/* The CPU time of jobs: alone, beside others, and after others have ended. The clock is the test's, and each job books
 * its next work as soon as it may. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <sched.h>

#include <cmocka.h>

#include "shuffle/share.h"
#include "util/clock.h"
#include "util/macros.h"

#define TOTAL_PERCENT 600u /* eight CPUs */
#define WORK_USEC 1000u
#define JOBS_MAX 40u
#define START_USEC (UINT64_C(7) * NM_USEC_PER_SEC)

struct job {
    struct nm_shuffle_share account;
    uint64_t next_usec, done_usec; /* when the job books again; the work that it has done */
    uint64_t pause_usec;           /* between two bookings */
    uint64_t first_wait_usec;      /* time at which it had to wait for the first time */
};

static struct nm_shuffle_shares shares;
static struct job jobs[JOBS_MAX];
static unsigned n_jobs;

static int set_up(void **state)
{
    (void)state;
    shares = (struct nm_shuffle_shares){.percent = TOTAL_PERCENT};
    (void)memset(jobs, 0, sizeof jobs);
    n_jobs = 0;
    return 0;
}

static struct job *add(uint64_t from_usec, uint64_t pause_usec)
{
    assert_true(n_jobs < JOBS_MAX);
    jobs[n_jobs] = (struct job){.next_usec = from_usec, .pause_usec = pause_usec};
    return &jobs[n_jobs++];
}

static void add_greedy(unsigned n, uint64_t from_usec)
{
    while (n-- > 0)
        (void)add(from_usec, 0);
}

static void book(struct job *job)
{
    const uint64_t now_usec = job->next_usec;
    uint64_t wait_usec = 0;

    if (nm_shuffle_share_book(&shares, &job->account, WORK_USEC, now_usec, &wait_usec) == -EBUSY) {
        job->next_usec += 200 * NM_USEC_PER_MSEC;
        return;
    }
    assert_true(wait_usec <= NM_SHUFFLE_WAIT_MAX_USEC);
    job->done_usec += WORK_USEC;
    job->next_usec = now_usec + wait_usec + job->pause_usec;
    if (wait_usec > 0 && job->first_wait_usec == 0)
        job->first_wait_usec = now_usec;
}

/* Lets all jobs book, in the order of time, until the given time. */
static void run_until(uint64_t end_usec)
{
    for (;;) {
        struct job *next = &jobs[0];

        for (unsigned i = 1; i < n_jobs; i++)
            if (jobs[i].next_usec < next->next_usec)
                next = &jobs[i];
        if (next->next_usec >= end_usec)
            return;
        book(next);
    }
}

/* Returns the percentage of one CPU that the job gets in the next seconds. */
static unsigned measure(struct job *job, uint64_t from_usec, unsigned seconds)
{
    uint64_t before_usec;

    run_until(from_usec);
    before_usec = job->done_usec;
    run_until(from_usec + seconds * NM_USEC_PER_SEC);
    return (unsigned)((job->done_usec - before_usec) * 100 / (seconds * NM_USEC_PER_SEC));
}

static void assert_about(unsigned percent, unsigned expected)
{
    if (percent < expected * 95 / 100 || percent > expected * 105 / 100)
        fail_msg("%u %% instead of %u %%", percent, expected);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void test_a_job_alone_has_what_all_have(void **state)
{
    (void)state;
    add_greedy(1, START_USEC);
    assert_about(measure(&jobs[0], START_USEC + NM_USEC_PER_SEC, 10), TOTAL_PERCENT);
}

static void test_jobs_that_compete_have_equal_parts(void **state)
{
    (void)state;
    add_greedy(3, START_USEC);
    assert_about(measure(&jobs[0], START_USEC + 2 * NM_USEC_PER_SEC, 10), TOTAL_PERCENT / 3);
    assert_about((unsigned)(jobs[1].done_usec * 100 / jobs[0].done_usec), 100);
    assert_about((unsigned)(jobs[2].done_usec * 100 / jobs[0].done_usec), 100);
}

/* However many compete, each has NM_SHUFFLE_SHARE_PERCENT, and not more. */
static void test_each_of_many_jobs_has_the_least_share(void **state)
{
    (void)state;
    add_greedy(JOBS_MAX, START_USEC);
    assert_about(measure(&jobs[7], START_USEC + 8 * NM_USEC_PER_SEC, 10), NM_SHUFFLE_SHARE_PERCENT);
}

/* A job that begins later does its first second of work at once, and the former one has only its part then. */
static void test_a_job_that_begins_gets_its_part_at_once(void **state)
{
    const uint64_t later_usec = START_USEC + 20 * NM_USEC_PER_SEC;
    struct job *later;

    (void)state;
    add_greedy(1, START_USEC);
    later = add(later_usec, WORK_USEC / 4); /* four CPUs */
    run_until(later_usec + 250 * NM_USEC_PER_MSEC);
    assert_int_equal(later->first_wait_usec, 0);
    assert_true(later->done_usec >= 900 * NM_USEC_PER_MSEC);
    assert_about(measure(&jobs[0], later_usec + NM_USEC_PER_SEC, 5), TOTAL_PERCENT / 2);
    assert_about(measure(later, later_usec + 10 * NM_USEC_PER_SEC, 5), TOTAL_PERCENT / 2);
    later->next_usec = UINT64_MAX; /* ends */
    assert_about(measure(&jobs[0], later_usec + 16 * NM_USEC_PER_SEC, 5), TOTAL_PERCENT);
}

/* Jobs that use less than half of the least share have what they want, and don't slow down the one that wants more. */
static void test_jobs_that_fetch_little_slow_down_none(void **state)
{
    (void)state;
    add_greedy(1, START_USEC);
    for (unsigned i = 0; i < 20; i++)
        (void)add(START_USEC, 10 * WORK_USEC); /* a tenth of a CPU */
    assert_about(measure(&jobs[0], START_USEC + 2 * NM_USEC_PER_SEC, 10), TOTAL_PERCENT);
    for (unsigned i = 1; i < n_jobs; i++)
        assert_int_equal(jobs[i].first_wait_usec, 0);
}

static void test_without_a_percentage_each_job_has_the_least_share(void **state)
{
    (void)state;
    shares.percent = 0;
    add_greedy(1, START_USEC);
    assert_about(measure(&jobs[0], START_USEC + 5 * NM_USEC_PER_SEC, 10), NM_SHUFFLE_SHARE_PERCENT);
}

/* What a job alone can book ahead doesn't depend on its share. So beside many others, it takes at most the longest
 * wait. */
static void test_work_is_booked_ahead_only_for_the_longest_wait(void **state)
{
    const uint64_t most_usec =
        NM_SHUFFLE_BURST_USEC + NM_SHUFFLE_WAIT_MAX_USEC * NM_SHUFFLE_SHARE_PERCENT / 100;
    struct nm_shuffle_share account = {};
    uint64_t wait_usec = 0, n = 0;

    (void)state;
    while (nm_shuffle_share_book(&shares, &account, WORK_USEC, START_USEC, &wait_usec) == 0)
        n++;
    assert_in_range(n * WORK_USEC, most_usec, most_usec + WORK_USEC);
    assert_true(wait_usec <= NM_SHUFFLE_WAIT_MAX_USEC * NM_SHUFFLE_SHARE_PERCENT / TOTAL_PERCENT);
    /* a single large piece of work is booked in any case, and later ones wait for it */
    account = (struct nm_shuffle_share){};
    assert_int_equal(nm_shuffle_share_book(&shares, &account, 100 * most_usec, START_USEC, &wait_usec), 0);
    assert_int_equal(wait_usec, 0);
    assert_int_equal(nm_shuffle_share_book(&shares, &account, 1, START_USEC, &wait_usec), -EBUSY);
}

/* Threads read the clock before they get the lock. */
static void test_a_clock_that_is_late_changes_nothing(void **state)
{
    struct nm_shuffle_share account = {};
    uint64_t wait_usec;

    (void)state;
    for (unsigned i = 0; i < 2000; i++) {
        const uint64_t now_usec = START_USEC + NM_SHUFFLE_WINDOW_USEC - (i % 2) * 10;

        assert_int_equal(nm_shuffle_share_book(&shares, &account, WORK_USEC, now_usec, &wait_usec), 0);
    }
    assert_int_equal(shares.n, 1);
    assert_int_equal(shares.window, START_USEC / NM_SHUFFLE_WINDOW_USEC + 1);
    assert_in_range(wait_usec, 999 * NM_USEC_PER_MSEC * 100 / TOTAL_PERCENT, NM_USEC_PER_SEC * 100 / TOTAL_PERCENT);
}

static void test_the_nodes_share_follows_its_cpus(void **state)
{
    cpu_set_t before, one;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(nm_shuffle_share_of_node(), CPU_COUNT(&before) * NM_SHUFFLE_NODE_PERCENT);
    CPU_ZERO(&one);
    for (unsigned i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(nm_shuffle_share_of_node(), NM_SHUFFLE_NODE_PERCENT);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_job_alone_has_what_all_have, set_up),
        cmocka_unit_test_setup(test_jobs_that_compete_have_equal_parts, set_up),
        cmocka_unit_test_setup(test_each_of_many_jobs_has_the_least_share, set_up),
        cmocka_unit_test_setup(test_a_job_that_begins_gets_its_part_at_once, set_up),
        cmocka_unit_test_setup(test_jobs_that_fetch_little_slow_down_none, set_up),
        cmocka_unit_test_setup(test_without_a_percentage_each_job_has_the_least_share, set_up),
        cmocka_unit_test_setup(test_work_is_booked_ahead_only_for_the_longest_wait, set_up),
        cmocka_unit_test_setup(test_a_clock_that_is_late_changes_nothing, set_up),
        cmocka_unit_test_setup(test_the_nodes_share_follows_its_cpus, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
