/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A child process walks over the pages of processes. The tests cover child processes that are killed, processes that
 * end during the walk, and child processes that exit slowly.
 */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "monitor/pagewalk.h"
#include "monitor/procmem.h"
#include "tests/unit/sample-fixture.h"
#include "util/clock.h"

static bool children_end_slowly;
static unsigned waitpid_interrupted; /* number of calls that a signal interrupts */
static pid_t last_child;

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __real_waitpid(pid_t pid, int *status, int flags);
pid_t __wrap_waitpid(pid_t pid, int *status, int flags);

pid_t __wrap_fork(void)
{
    return last_child = __real_fork();
}

pid_t __wrap_waitpid(pid_t pid, int *status, int flags)
{
    if (waitpid_interrupted > 0) {
        waitpid_interrupted--;
        errno = EINTR;
        return -1;
    }
    return children_end_slowly && flags & WNOHANG ? 0 : __real_waitpid(pid, status, flags);
}

static const pid_t pid_10 = 10;
static const uint64_t some_bytes = 4096;

static int start_walk(struct fixture *f, struct nm_pagewalk *w)
{
    *w = NM_PAGEWALK_NULL;
    return nm_pagewalk_start(w, f->proc.path, &pid_10, &some_bytes, 1, 0, UINT64_MAX);
}

/* Makes the reader of this file wait for a writer that doesn't exist. */
static void block_reader(struct fixture *f)
{
    char path[128];

    fake_tree_write(&f->proc, "10/here", "");
    (void)snprintf(path, sizeof path, "%s/10/smaps_rollup", f->proc.path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void test_a_killed_walk_leaves_the_result_unchanged(void **state)
{
    struct fixture *f = *state;
    struct nm_pagewalk_result result = {.others.unique_bytes = 77};
    struct nm_pagewalk w;

    block_reader(f);
    assert_int_equal(start_walk(f, &w), 0);
    assert_int_equal(nm_pagewalk_collect(&w, 0, &result), -EAGAIN);
    assert_int_equal(kill(w.pid, SIGKILL), 0); /* as the kernel's OOM killer might kill the child process */
    waitpid_interrupted = 2;
    assert_int_equal(nm_pagewalk_collect(&w, 20000, &result), -EIO);
    assert_int_equal(result.others.unique_bytes, 77);
    assert_int_equal(w.pid, 0);
    nm_pagewalk_done(&w); /* the walk has already ended */
    assert_int_equal(start_walk(f, &w), 0); /* another walk can begin */
    nm_pagewalk_done(&w);
}

/* A forked worker shares most of its memory with its parent. How much memory a process shared is unknown after it has
 * ended. */
static void test_ended_processes_are_left_out_of_a_walk(void **state)
{
    static const pid_t pids[] = {10, 11, 12};
    static const uint64_t bytes[] = {4096, 8192, 16384};
    struct fixture *f = *state;
    struct nm_pagewalk_result result = {0};
    struct nm_pagewalk w = NM_PAGEWALK_NULL;

    /* process 10 has no smaps_rollup, as on older kernels; process 11 has ended */
    fake_tree_write(&f->proc, "10/here", "");
    fake_tree_write(&f->proc, "12/smaps_rollup", "Rss: 16 kB\nPss: 1 kB\nPss_Anon: 1 kB\nPss_Shmem: 0 kB\n");
    assert_int_equal(nm_pagewalk_start(&w, f->proc.path, pids, bytes, 3, 0, UINT64_MAX), 0);
    assert_int_equal(nm_pagewalk_collect(&w, 20000, &result), 0);
    assert_int_equal(result.others.resident_bytes, 4096 + 16384);
    assert_int_equal(result.others.unique_bytes, 4096 + 1024);
    /* both groups of processes are walked */
    assert_int_equal(nm_pagewalk_start(&w, f->proc.path, pids, bytes, 3, 1, 1), 0);
    assert_int_equal(nm_pagewalk_collect(&w, 20000, &result), 0);
    assert_int_equal(result.large.resident_bytes, 4096);
    assert_int_equal(result.others.resident_bytes, 16384);
}

/* After a failed walk the sampler must not subtract shared memory, because a wrong estimate could hide memory that is
 * in use. */
static void test_after_a_killed_walk_no_memory_counts_as_shared(void **state)
{
    struct fixture *f = *state;
    uint64_t deadline = nm_now_usec() + 60 * NM_USEC_PER_SEC;
    struct nm_cgroup_sample c;

    block_reader(f);
    write_process(f, 10, 20000, 0);
    write_process(f, 11, 20000, 0);
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n11\n");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1000000, &c), 0);
    assert_int_equal(c.memory_bytes / PAGE, 20000); /* the pages count as shared until the walk has ended */
    assert_int_equal(kill(last_child, SIGKILL), 0);
    do
        assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2000000, &c), 0);
    while (c.memory_bytes / PAGE == 20000 && nm_now_usec() < deadline);
    assert_int_equal(c.memory_bytes / PAGE, 40000);
}

static bool has_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* The exit of a child process takes some time while the kernel frees gigabytes of its memory. nmd doesn't wait for up
 * to a limited number of such children. Beyond this number the walk waits for the next child, since the child would
 * otherwise become a zombie that is never reaped. */
static void test_child_processes_that_exit_slowly_are_reaped_later(void **state)
{
    struct fixture *f = *state;
    uint64_t deadline = nm_now_usec() + 60 * NM_USEC_PER_SEC;
    struct nm_pagewalk w;

    block_reader(f);
    children_end_slowly = true;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(start_walk(f, &w), 0);
        nm_pagewalk_done(&w);
    }
    children_end_slowly = false;
    do { /* the next walks reap these children */
        assert_int_equal(start_walk(f, &w), 0);
        nm_pagewalk_done(&w);
    } while (has_children() && nm_now_usec() < deadline);
    assert_false(has_children());
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_a_killed_walk_leaves_the_result_unchanged),
        TEST(test_ended_processes_are_left_out_of_a_walk),
        TEST(test_after_a_killed_walk_no_memory_counts_as_shared),
        TEST(test_child_processes_that_exit_slowly_are_reaped_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
