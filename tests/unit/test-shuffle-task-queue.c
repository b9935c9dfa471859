/* SPDX-License-Identifier: Apache-2.0 */

/* The turns and the limits of users and owners, in the queue itself and in a server whose hostile clients use a disk
 * that does not respond. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shuffle-client.h"
#include "shuffle/pool.h"
#include "shuffle/task-queue.h"
#include "util/error.h"

/* ---- the queue ---------------------------------------------------------------------------- */

static struct nm_shuffle_task *put_many(struct nm_shuffle_queue *q, unsigned n, unsigned n_users, unsigned n_owners)
{
    struct nm_shuffle_task *tasks = calloc(n, sizeof *tasks);

    assert_non_null(tasks);
    for (unsigned i = 0; i < n; i++) {
        tasks[i].owner = (struct nm_shuffle_owner){i % n_users, i / n_users % n_owners + 1};
        assert_int_equal(nm_shuffle_queue_put(q, &tasks[i]), 0);
    }
    return tasks;
}

/* Marks the threads of the tasks that were taken before as blocked. Then takes tasks until the queue gives none. */
static unsigned take_all(struct nm_shuffle_queue *q, struct nm_shuffle_holder **holders, unsigned n_before)
{
    unsigned n = n_before;

    for (unsigned i = 0; i < n_before; i++)
        nm_shuffle_queue_block(q, holders[i]);
    while (nm_shuffle_queue_take(q, &holders[n]))
        n++;
    assert_false(nm_shuffle_queue_is_ready(q));
    return n - n_before;
}

/* The limits of an owner and of a user, while their threads work and when all that run are blocked. */
static void test_owners_and_users_have_limits(void **state)
{
    enum { N = 2 * NM_SHUFFLE_BLOCKED_THREADS_MAX };
    static const struct {
        unsigned n_owners, at_first, at_all;
    } cases[] = {
        {1, NM_SHUFFLE_OWNER_THREADS_MAX, NM_SHUFFLE_OWNER_BLOCKED_THREADS_MAX},
        {2, NM_SHUFFLE_USER_THREADS_MAX, 2 * NM_SHUFFLE_OWNER_BLOCKED_THREADS_MAX},
        {50, NM_SHUFFLE_USER_THREADS_MAX, NM_SHUFFLE_USER_BLOCKED_THREADS_MAX},
    };

    (void)state;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        static struct nm_shuffle_holder *holders[N];
        struct nm_shuffle_queue *q;
        struct nm_shuffle_task *tasks;
        unsigned n, n_all = 0;

        assert_int_equal(nm_shuffle_queue_new(N, &q), 0);
        tasks = put_many(q, N, 1, cases[i].n_owners);
        assert_int_equal(nm_shuffle_queue_ready(q), cases[i].at_first);
        n_all = take_all(q, holders, 0);
        assert_int_equal(n_all, cases[i].at_first);
        assert_false(nm_shuffle_queue_may_run(q, (struct nm_shuffle_owner){0, 1}));
        assert_true(nm_shuffle_queue_may_run(q, (struct nm_shuffle_owner){1, 1}));
        for (unsigned blocked = 0; (n = take_all(q, holders + blocked, n_all - blocked)) > 0; n_all += n)
            blocked = n_all;
        assert_int_equal(n_all, cases[i].at_all);
        for (unsigned k = 0; k < n_all; k++) { /* all threads end, and run the rest one by one */
            nm_shuffle_queue_end(q, holders[k], true);
            while (nm_shuffle_queue_take(q, &holders[k]))
                nm_shuffle_queue_end(q, holders[k], false);
        }
        assert_int_equal(nm_shuffle_queue_waiting(q), 0);
        (void)nm_shuffle_queue_free(q);
        free(tasks);
    }
}

static void test_too_many_tasks_are_refused(void **state)
{
    struct nm_shuffle_task more = {.owner = {100, 1}}, same = {.owner = {3, 1}}, *tasks;
    struct nm_shuffle_holder *holder;
    struct nm_shuffle_queue *q;

    (void)state;
    assert_int_equal(nm_shuffle_queue_new(10, &q), 0);
    tasks = put_many(q, 10, 10, 1);
    assert_int_equal(nm_shuffle_queue_put(q, &more), -ENOBUFS);
    assert_int_equal(nm_shuffle_queue_put(q, &same), 0); /* takes no memory */
    assert_ptr_equal(nm_shuffle_queue_take(q, &holder), &tasks[0]);
    nm_shuffle_queue_end(q, holder, false);
    assert_int_equal(nm_shuffle_queue_put(q, &more), 0);
    for (unsigned n = 0; n < 11; n++) {
        assert_non_null(nm_shuffle_queue_take(q, &holder));
        nm_shuffle_queue_end(q, holder, false);
    }
    assert_null(nm_shuffle_queue_take(q, &holder));
    (void)nm_shuffle_queue_free(q);
    free(tasks);
}

enum { N_USERS = 5, N_OWNERS = 6, N_TASKS = 300, N_RUNNING = 40 };

struct running {
    struct nm_shuffle_task *task;
    struct nm_shuffle_holder *holder;
    bool is_blocked;
};

static void assert_limits(const struct running *running)
{
    unsigned users[N_USERS] = {}, owners[N_USERS][N_OWNERS] = {};

    for (unsigned i = 0; i < N_RUNNING; i++) {
        if (!running[i].task || running[i].is_blocked)
            continue;
        assert_true(++users[running[i].task->owner.user] <= NM_SHUFFLE_USER_THREADS_MAX);
        assert_true(++owners[running[i].task->owner.user][running[i].task->owner.id - 1] <=
                    NM_SHUFFLE_OWNER_THREADS_MAX);
    }
}

static void step(struct nm_shuffle_queue *q, struct running *running, struct nm_shuffle_task *task)
{
    struct running *at = &running[rand() % N_RUNNING];

    if (!task->worker && rand() % 2) {
        task->owner = (struct nm_shuffle_owner){(unsigned)rand() % N_USERS, (unsigned)rand() % N_OWNERS + 1};
        assert_int_equal(nm_shuffle_queue_put(q, task), 0);
        task->worker = (struct nm_shuffle_worker *)task; /* waits or runs */
    } else if (!at->task) {
        const bool is_ready = nm_shuffle_queue_is_ready(q);

        at->task = nm_shuffle_queue_take(q, &at->holder);
        at->is_blocked = false;
        assert_int_equal(at->task != NULL, is_ready);
    } else if (!at->is_blocked && rand() % 4 == 0) {
        nm_shuffle_queue_block(q, at->holder);
        at->is_blocked = true;
    } else {
        nm_shuffle_queue_end(q, at->holder, at->is_blocked);
        at->task->worker = NULL;
        *at = (struct running){};
    }
}

/* In any order of calls, the limits hold, and each task runs. */
static void test_random_tasks_keep_the_limits(void **state)
{
    struct nm_shuffle_task tasks[N_TASKS] = {};
    struct running running[N_RUNNING] = {};
    struct nm_shuffle_holder *holder;
    struct nm_shuffle_queue *q;

    (void)state;
    srand(1);
    assert_int_equal(nm_shuffle_queue_new(N_TASKS, &q), 0);
    for (unsigned n = 0; n < 200000; n++) {
        step(q, running, &tasks[rand() % N_TASKS]);
        assert_limits(running);
    }
    for (unsigned i = 0; i < N_RUNNING; i++)
        if (running[i].task)
            nm_shuffle_queue_end(q, running[i].holder, running[i].is_blocked);
    while (nm_shuffle_queue_take(q, &holder))
        nm_shuffle_queue_end(q, holder, false);
    assert_int_equal(nm_shuffle_queue_waiting(q), 0);
    (void)nm_shuffle_queue_free(q);
}

/* ---- the server --------------------------------------------------------------------------- */

/* Half of the connections are for one user, and three quarters of these for one job. */
#define SLOTS 1024
#define JOB_CONNECTIONS (SLOTS / 8 * 3)
#define USER_CONNECTIONS (SLOTS / 2)

static const char *slow_path; /* opening a directory with this in its path takes as long as the disk does not respond */
static atomic_uint n_held;
static atomic_bool disk_responds;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, const char *path, long c, long d);
long __wrap_syscall(long number, long a, const char *path, long c, long d)
{
    if (slow_path && strstr(path, slow_path)) { /* the server only opens files by syscall() */
        n_held++;
        while (!disk_responds)
            usleep(1000);
    }
    return __real_syscall(number, a, path, c, d);
}

static int set_up(void **state)
{
    shuffle_client_slots = SLOTS;
    n_held = 0;
    disk_responds = false;
    return shuffle_client_set_up(state);
}

static int tear_down(void **state)
{
    disk_responds = true;
    slow_path = NULL;
    return shuffle_client_tear_down(state);
}

/* Sends the requests of a user whose disk does not respond, for some jobs. */
static void ask_for_slow(const char *user, unsigned n_jobs, int *fds, unsigned n)
{
    struct nm_shuffle_job job = shuffle_client.fixture.job;
    char target[200];

    job.uid += strcmp(user, job.user) != 0;
    (void)snprintf(job.user, sizeof job.user, "%s", user);
    for (unsigned i = 0; i < n_jobs; i++) {
        (void)snprintf(job.id, sizeof job.id, "job_1410901177871_7%03u", i);
        assert_int_equal(nm_shuffle_jobs_add(shuffle_client.service.jobs, &job), 0);
    }
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(target, sizeof target, "/mapOutput?job=job_1410901177871_7%03u&reduce=0&map=" ATTEMPT(0),
                       i % n_jobs);
        fds[i] = dial_from(i / 40 + 2);
        ask(fds[i], target, signed_for(target));
    }
}

/* Returns how many requests had a thread when an output of another job was sent. */
static unsigned held_before_output(void)
{
    while (n_held < NM_SHUFFLE_OWNER_THREADS_MAX)
        assert_int_equal(usleep(1000), 0);
    fetch(TARGET, signed_for(TARGET));
    assert_true(reply_begins("HTTP/1.1 200 OK"));
    return n_held;
}

static void end_slow(const int *fds, unsigned n)
{
    disk_responds = true;
    for (unsigned i = 0; i < n; i++) {
        receive(fds[i], sizeof reply - 1);
        assert_true(reply_begins("HTTP/1.1 500 "));
        close(fds[i]);
    }
    slow_path = NULL;
    assert_true(all_connections_have_ended());
}

/* A job whose disk does not respond delays no other job of the same user. In the order of their arrival, the output
 * would be sent only after all requests had a thread. */
static void test_one_job_leaves_threads_to_another(void **state)
{
    int fds[JOB_CONNECTIONS];

    (void)state;
    slow_path = "application_1410901177871_7000";
    ask_for_slow(shuffle_client.fixture.job.user, 1, fds, NM_ARRAY_SIZE(fds));
    assert_in_range(held_before_output(), 1, NM_ARRAY_SIZE(fds) / 2);
    end_slow(fds, NM_ARRAY_SIZE(fds));
}

/* A user with many jobs, each of which has only a few threads, leaves threads to other users. On a busy machine,
 * threads that are blocked are replaced before the output is sent, so the test may need some tries. */
static void test_one_user_leaves_threads_to_another(void **state)
{
    int fds[USER_CONNECTIONS];
    unsigned n = UINT_MAX;

    (void)state;
    for (unsigned i = 0; i < 5 && n > NM_SHUFFLE_USER_THREADS_MAX; i++) {
        n_held = 0;
        disk_responds = false;
        slow_path = "usercache/mallory";
        ask_for_slow("mallory", 100, fds, NM_ARRAY_SIZE(fds));
        n = held_before_output();
        end_slow(fds, NM_ARRAY_SIZE(fds));
    }
    assert_in_range(n, 1, NM_SHUFFLE_USER_THREADS_MAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owners_and_users_have_limits),
        cmocka_unit_test(test_too_many_tasks_are_refused),
        cmocka_unit_test(test_random_tasks_keep_the_limits),
        TEST(test_one_job_leaves_threads_to_another),
        TEST(test_one_user_leaves_threads_to_another),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
