/* SPDX-License-Identifier: Apache-2.0 */

/* The threads that answer requests: their number, and requests that must wait but occupy no thread. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "shuffle-client.h"
#include "shuffle/pool.h"
#include "util/clock.h"
#include "util/error.h"

#define SLOTS 128
#define N_WAITING 40 /* more than threads, and fewer than the connections of one job */
#define BYTES (UINT64_C(16) << 20) /* more than the buffers between server and client have */

/* ---- the pool ----------------------------------------------------------------------------- */

static atomic_uint n_begun, n_run;
static atomic_bool may_end;

static void run(struct nm_shuffle_task *task)
{
    (void)task;
    n_begun++;
    while (!may_end)
        assert_int_equal(usleep(1000), 0);
    n_run++;
}

static int pool_new(void (*function)(struct nm_shuffle_task *task), struct nm_shuffle_pool **ret)
{
    return nm_shuffle_pool_new(function, 500, ret);
}

/* Gives each task a user of its own. */
static void separate(struct nm_shuffle_task *tasks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tasks[i].owner = (struct nm_shuffle_owner){i + 1, 1};
}

static void test_the_number_of_threads_is_limited(void **state)
{
    struct nm_shuffle_task tasks[100] = {};
    const unsigned before = n_threads();
    struct nm_shuffle_pool *pool;

    (void)state;
    separate(tasks, NM_ARRAY_SIZE(tasks));
    assert_int_equal(pool_new(run, &pool), 0);
    assert_true(nm_shuffle_pool_has_room(pool));
    for (unsigned i = 0; i < NM_ARRAY_SIZE(tasks); i++)
        assert_int_equal(nm_shuffle_pool_submit(pool, &tasks[i]), 0);
    assert_true(has_threads(before + NM_SHUFFLE_THREADS_MAX));
    assert_false(nm_shuffle_pool_has_room(pool));
    may_end = true;
    assert_true(has_threads(before)); /* they end when they have had no task for a time */
    assert_int_equal(n_run, NM_ARRAY_SIZE(tasks));
    assert_true(nm_shuffle_pool_has_room(pool));
    may_end = false;
    assert_int_equal(nm_shuffle_pool_submit(pool, &tasks[0]), 0); /* a new thread starts */
    may_end = true;
    pool = nm_shuffle_pool_free(pool);
    assert_true(has_threads(before));
    assert_int_equal(n_run, NM_ARRAY_SIZE(tasks) + 1);
    assert_int_equal(n_begun, n_run);
}

/* A task of a blocked disk keeps its thread until the disk responds. */
static void test_blocked_threads_do_not_stop_other_tasks(void **state)
{
    struct nm_shuffle_task tasks[100] = {};
    const uint64_t begun_usec = nm_now_usec();
    const unsigned before = n_threads();
    struct nm_shuffle_pool *pool;

    (void)state;
    separate(tasks, NM_ARRAY_SIZE(tasks));
    n_begun = n_run = 0;
    may_end = false;
    assert_int_equal(pool_new(run, &pool), 0);
    assert_false(nm_shuffle_pool_relieve(pool));
    for (unsigned i = 0; i < NM_ARRAY_SIZE(tasks); i++)
        assert_int_equal(nm_shuffle_pool_submit(pool, &tasks[i]), 0);
    while (n_begun < NM_SHUFFLE_THREADS_MAX)
        assert_int_equal(usleep(1000), 0);
    assert_true(nm_shuffle_pool_relieve(pool)); /* the last task was begun just now, so no thread is started */
    while (n_begun < NM_ARRAY_SIZE(tasks)) {
        (void)nm_shuffle_pool_relieve(pool);
        assert_int_equal(usleep(1000), 0);
    }
    /* all of the last 84 tasks are begun by new threads, 16 at a time */
    assert_true(nm_now_usec() - begun_usec >= 6 * NM_SHUFFLE_BLOCKED_USEC);
    assert_int_equal(n_run, 0);
    assert_false(nm_shuffle_pool_relieve(pool));
    may_end = true;
    (void)nm_shuffle_pool_free(pool);
    assert_int_equal(n_run, NM_ARRAY_SIZE(tasks));
    assert_true(has_threads(before)); /* the next test counts threads */
}

/* A thread of a slow disk is replaced although other threads begin tasks again and again. */
static void test_slow_threads_are_replaced_while_others_work(void **state)
{
    struct nm_shuffle_task tasks[NM_SHUFFLE_THREADS_MAX + 4] = {};
    const unsigned before = n_threads();
    struct nm_shuffle_pool *pool;
    uint64_t begun_usec;

    (void)state;
    separate(tasks, NM_ARRAY_SIZE(tasks));
    n_begun = n_run = 0;
    may_end = false;
    assert_int_equal(pool_new(run, &pool), 0);
    for (unsigned i = 0; i < NM_SHUFFLE_THREADS_MAX; i++)
        assert_int_equal(nm_shuffle_pool_submit(pool, &tasks[i]), 0);
    while (n_begun < NM_SHUFFLE_THREADS_MAX)
        assert_int_equal(usleep(1000), 0);
    begun_usec = nm_now_usec();
    while (nm_now_usec() < begun_usec + NM_SHUFFLE_BLOCKED_USEC)
        assert_int_equal(usleep(1000), 0);
    for (unsigned i = NM_SHUFFLE_THREADS_MAX; i < NM_ARRAY_SIZE(tasks); i++)
        assert_int_equal(nm_shuffle_pool_submit(pool, &tasks[i]), 0);
    assert_true(nm_shuffle_pool_relieve(pool));
    assert_true(has_threads(before + NM_ARRAY_SIZE(tasks)));
    while (n_begun < NM_ARRAY_SIZE(tasks))
        assert_int_equal(usleep(1000), 0);
    may_end = true;
    (void)nm_shuffle_pool_free(pool);
    assert_true(has_threads(before));
}

static void wait_for_begun(unsigned n)
{
    while (n_begun < n)
        assert_int_equal(usleep(1000), 0);
}

/* An owner with many tasks leaves threads for the tasks of others, which do not wait behind its tasks. */
static void test_an_owner_has_a_part_of_the_threads(void **state)
{
    struct nm_shuffle_task many[50] = {}, other[2] = {};
    const unsigned before = n_threads();
    struct nm_shuffle_pool *pool;

    (void)state;
    n_begun = n_run = 0;
    may_end = false;
    assert_int_equal(pool_new(run, &pool), 0);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(many); i++) {
        many[i].owner = (struct nm_shuffle_owner){1, 7};
        assert_int_equal(nm_shuffle_pool_submit(pool, &many[i]), 0);
    }
    wait_for_begun(NM_SHUFFLE_OWNER_THREADS_MAX);
    usleep(50000);
    assert_int_equal(n_begun, NM_SHUFFLE_OWNER_THREADS_MAX);
    assert_false(nm_shuffle_pool_has_room(pool));
    for (unsigned i = 0; i < NM_ARRAY_SIZE(other); i++) {
        other[i].owner = (struct nm_shuffle_owner){1, 8 + i};
        assert_int_equal(nm_shuffle_pool_submit(pool, &other[i]), 0);
    }
    wait_for_begun(NM_SHUFFLE_OWNER_THREADS_MAX + NM_ARRAY_SIZE(other));
    may_end = true;
    (void)nm_shuffle_pool_free(pool);
    assert_int_equal(n_run, NM_ARRAY_SIZE(many) + NM_ARRAY_SIZE(other));
    assert_true(has_threads(before));
}

static uint64_t order[12];
static atomic_uint n_ordered;
static struct nm_shuffle_task *first; /* ends before the others */

static void run_in_order(struct nm_shuffle_task *task)
{
    n_begun++;
    while (task->owner.id < 100 && task != first && !may_end)
        assert_int_equal(usleep(1000), 0);
    while (task == first && n_run == 0)
        assert_int_equal(usleep(1000), 0);
    if (task->owner.id >= 100)
        order[n_ordered++] = task->owner.id;
}

/* Checks the order in which one thread runs tasks with these owners. All other threads are held meanwhile. */
static void assert_order(const struct nm_shuffle_owner *owners, const uint64_t *expected)
{
    struct nm_shuffle_task holding[NM_SHUFFLE_THREADS_MAX] = {}, tasks[NM_ARRAY_SIZE(order)] = {};
    const unsigned before = n_threads();
    struct nm_shuffle_pool *pool;

    n_begun = n_run = n_ordered = 0;
    may_end = false;
    first = &holding[0];
    assert_int_equal(pool_new(run_in_order, &pool), 0);
    separate(holding, NM_ARRAY_SIZE(holding));
    for (unsigned i = 0; i < NM_ARRAY_SIZE(holding); i++)
        assert_int_equal(nm_shuffle_pool_submit(pool, &holding[i]), 0);
    wait_for_begun(NM_ARRAY_SIZE(holding));
    for (unsigned i = 0; i < NM_ARRAY_SIZE(tasks); i++) {
        tasks[i].owner = owners[i];
        assert_int_equal(nm_shuffle_pool_submit(pool, &tasks[i]), 0);
    }
    n_run = 1;
    wait_for_begun(NM_ARRAY_SIZE(holding) + NM_ARRAY_SIZE(tasks));
    may_end = true;
    (void)nm_shuffle_pool_free(pool);
    assert_int_equal(n_ordered, NM_ARRAY_SIZE(tasks));
    assert_memory_equal(order, expected, sizeof order);
    assert_true(has_threads(before));
}

/* The owners of waiting tasks take turns, whatever the number of their tasks. */
static void test_owners_take_turns(void **state)
{
    static const uint64_t ids[NM_ARRAY_SIZE(order)] = {100, 100, 100, 100, 100, 100, 100, 100, 101, 101, 101, 102},
                          expected[NM_ARRAY_SIZE(order)] = {100, 101, 102, 100, 101, 100, 101, 100, 100, 100, 100, 100};
    struct nm_shuffle_owner owners[NM_ARRAY_SIZE(order)];

    (void)state;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(owners); i++)
        owners[i] = (struct nm_shuffle_owner){50, ids[i]};
    assert_order(owners, expected);
}

/* A user has one turn, whatever the number of its owners. */
static void test_users_take_turns(void **state)
{
    static const struct nm_shuffle_owner owners[NM_ARRAY_SIZE(order)] = {
        {50, 100}, {50, 101}, {50, 102}, {50, 103}, {50, 104}, {50, 100}, {50, 101}, {50, 102},
        {51, 200}, {51, 200}, {51, 201}, {52, 300}};
    static const uint64_t expected[NM_ARRAY_SIZE(order)] = {100, 200, 300, 101, 201, 102, 200, 103, 104, 100, 101, 102};

    (void)state;
    assert_order(owners, expected);
}

/* The owners of one user together leave threads to other users. */
static void test_a_user_has_a_part_of_the_threads(void **state)
{
    struct nm_shuffle_task many[50] = {}, other[NM_SHUFFLE_THREADS_MAX - NM_SHUFFLE_USER_THREADS_MAX] = {};
    const unsigned before = n_threads();
    struct nm_shuffle_pool *pool;

    (void)state;
    n_begun = n_run = 0;
    may_end = false;
    assert_int_equal(pool_new(run, &pool), 0);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(many); i++) {
        many[i].owner = (struct nm_shuffle_owner){1, i + 1};
        assert_int_equal(nm_shuffle_pool_submit(pool, &many[i]), 0);
    }
    wait_for_begun(NM_SHUFFLE_USER_THREADS_MAX);
    usleep(50000);
    assert_int_equal(n_begun, NM_SHUFFLE_USER_THREADS_MAX);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(other); i++) {
        other[i].owner = (struct nm_shuffle_owner){2, i + 1};
        assert_int_equal(nm_shuffle_pool_submit(pool, &other[i]), 0);
    }
    wait_for_begun(NM_SHUFFLE_USER_THREADS_MAX + NM_ARRAY_SIZE(other));
    may_end = true;
    (void)nm_shuffle_pool_free(pool);
    assert_int_equal(n_run, NM_ARRAY_SIZE(many) + NM_ARRAY_SIZE(other));
    assert_true(has_threads(before));
}

static atomic_uint n_continued;
static struct nm_shuffle_pool *continuing;

/* A task that changes its owner in its thread, or must be submitted again. */
static void run_and_continue(struct nm_shuffle_task *task)
{
    if (task->owner.user == NM_SHUFFLE_GUESTS) {
        task->owner = (struct nm_shuffle_owner){1, 7};
        if (!nm_shuffle_pool_may_continue(continuing, task)) {
            assert_int_equal(nm_shuffle_pool_submit(continuing, task), 0);
            return;
        }
        n_continued++;
    }
    run(task);
}

/* The threads of a task count for its new owner. */
static void test_a_task_may_change_its_owner(void **state)
{
    struct nm_shuffle_task tasks[40] = {};
    const unsigned before = n_threads();

    (void)state;
    n_begun = n_run = n_continued = 0;
    may_end = false;
    assert_int_equal(pool_new(run_and_continue, &continuing), 0);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(tasks); i++) {
        tasks[i].owner = (struct nm_shuffle_owner){NM_SHUFFLE_GUESTS, i + 1};
        assert_int_equal(nm_shuffle_pool_submit(continuing, &tasks[i]), 0);
        if (i < 4)
            wait_for_begun(i + 1);
    }
    wait_for_begun(NM_SHUFFLE_OWNER_THREADS_MAX);
    usleep(50000);
    assert_int_equal(n_begun, NM_SHUFFLE_OWNER_THREADS_MAX);
    assert_in_range(n_continued, 4, NM_SHUFFLE_THREADS_MAX / 2);
    may_end = true;
    continuing = nm_shuffle_pool_free(continuing);
    assert_int_equal(n_run, NM_ARRAY_SIZE(tasks));
    assert_true(has_threads(before));
}

/* Blocked threads of an owner are replaced, but it can't get all threads that the process may have. */
static void test_blocked_threads_of_an_owner_are_limited(void **state)
{
    enum { N = NM_SHUFFLE_OWNER_BLOCKED_THREADS_MAX + 50 };
    struct nm_shuffle_task *many = calloc(N, sizeof *many), other = {.owner = {1, 8}};
    const unsigned before = n_threads();
    struct nm_shuffle_pool *pool;

    (void)state;
    assert_non_null(many);
    n_begun = n_run = 0;
    may_end = false;
    assert_int_equal(pool_new(run, &pool), 0);
    for (unsigned i = 0; i < N; i++) {
        many[i].owner = (struct nm_shuffle_owner){1, 7};
        assert_int_equal(nm_shuffle_pool_submit(pool, &many[i]), 0);
    }
    for (uint64_t end_usec = UINT64_MAX; nm_now_usec() < end_usec; usleep(1000)) {
        (void)nm_shuffle_pool_relieve(pool);
        if (n_begun == NM_SHUFFLE_OWNER_BLOCKED_THREADS_MAX && end_usec == UINT64_MAX)
            end_usec = nm_now_usec() + 2 * NM_SHUFFLE_BLOCKED_USEC;
    }
    assert_int_equal(n_begun, NM_SHUFFLE_OWNER_BLOCKED_THREADS_MAX);
    assert_int_equal(nm_shuffle_pool_submit(pool, &other), 0);
    wait_for_begun(NM_SHUFFLE_OWNER_BLOCKED_THREADS_MAX + 1);
    may_end = true;
    (void)nm_shuffle_pool_free(pool);
    assert_int_equal(n_run, N + 1);
    assert_true(has_threads(before));
    free(many);
}

/* ---- the server --------------------------------------------------------------------------- */

static int set_up(void **state)
{
    shuffle_client_slots = SLOTS;
    return shuffle_client_set_up(state);
}

/* Adds another job, which has no outputs. */
static const char *other_target(void)
{
    struct nm_shuffle_job other = shuffle_client.fixture.job;

    snprintf(other.id, sizeof other.id, "job_1410901177871_0002");
    assert_int_equal(nm_shuffle_jobs_add(shuffle_client.service.jobs, &other), 0);
    return "/mapOutput?job=job_1410901177871_0002&reduce=0&map=" ATTEMPT(0);
}

/* Reducers that do not read occupy no thread, so other requests are answered. Each of them gets its answer later. */
static void test_reducers_that_do_not_read_occupy_no_thread(void **state)
{
    const unsigned before = n_threads();
    int held[N_WAITING];

    (void)state;
    large_output(BYTES);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(held); i++) {
        held[i] = dial_from(i / 10 + 1);
        ask(held[i], TARGET, signed_for(TARGET));
        receive(held[i], 15);
        assert_true(reply_begins("HTTP/1.1 200 OK"));
    }
    assert_true(n_threads() <= before + NM_SHUFFLE_THREADS_MAX);
    assert_true(has_threads(before));
    fetch("/mapOutput?job=" JOB "&reduce=0&map=" ATTEMPT(1),
          signed_for("/mapOutput?job=" JOB "&reduce=0&map=" ATTEMPT(1)));
    assert_true(reply_begins("HTTP/1.1 200 OK"));
    for (unsigned i = 0; i < NM_ARRAY_SIZE(held); i += 13) {
        uint64_t received = 15;

        for (size_t n; (n = receive(held[i], sizeof reply - 1)) > 0;)
            received += n;
        assert_true(received > BYTES && received < BYTES + 512);
    }
    for (unsigned i = 0; i < NM_ARRAY_SIZE(held); i++)
        close(held[i]);
    assert_true(all_connections_have_ended());
    assert_int_equal(shuffle_client.service.count.outputs_ok, 1 + (N_WAITING + 12) / 13);
    assert_int_equal(shuffle_client.service.count.outputs_failed, N_WAITING - (N_WAITING + 12) / 13);
}

/* The requests of a job without a share occupy no thread, and are answered when it has a share again. */
static void test_requests_that_wait_for_a_share_occupy_no_thread(void **state)
{
    const uint64_t begun_usec = nm_now_usec();
    const unsigned before = n_threads();
    const char *other = other_target();
    int held[N_WAITING];

    (void)state;
    book_work(NM_SHUFFLE_BURST_USEC, 0);
    book_work(750 * NM_USEC_PER_MSEC, 0); /* three seconds of a share */
    for (unsigned i = 0; i < NM_ARRAY_SIZE(held); i++) {
        held[i] = dial_from(i / 10 + 1);
        ask(held[i], TARGET, signed_for(TARGET));
    }
    while (shuffle_client.service.count.connections < N_WAITING)
        assert_int_equal(usleep(1000), 0);
    assert_true(has_threads(before));
    assert_int_equal(shuffle_client.service.count.outputs_ok, 0);
    fetch(other, signed_for(other));
    assert_true(reply_begins("HTTP/1.1 500 "));
    assert_true(nm_now_usec() - begun_usec < 3 * NM_USEC_PER_SEC);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(held); i++) {
        receive(held[i], sizeof reply - 1);
        assert_true(reply_begins("HTTP/1.1 200 OK"));
        close(held[i]);
    }
    assert_true(nm_now_usec() - begun_usec >= 3 * NM_USEC_PER_SEC);
    assert_int_equal(shuffle_client.service.count.outputs_ok, N_WAITING);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, shuffle_client_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_number_of_threads_is_limited),
        cmocka_unit_test(test_blocked_threads_do_not_stop_other_tasks),
        cmocka_unit_test(test_slow_threads_are_replaced_while_others_work),
        cmocka_unit_test(test_an_owner_has_a_part_of_the_threads),
        cmocka_unit_test(test_owners_take_turns),
        cmocka_unit_test(test_users_take_turns),
        cmocka_unit_test(test_a_user_has_a_part_of_the_threads),
        cmocka_unit_test(test_a_task_may_change_its_owner),
        cmocka_unit_test(test_blocked_threads_of_an_owner_are_limited),
        TEST(test_reducers_that_do_not_read_occupy_no_thread),
        TEST(test_requests_that_wait_for_a_share_occupy_no_thread),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
