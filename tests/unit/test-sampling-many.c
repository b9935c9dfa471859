/* SPDX-License-Identifier: Apache-2.0 */

/* The cgroup sampler with hundreds or thousands of processes. One sample reads only a limited number of them. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "monitor/procmem.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/sample-fixture.h"

/* limits for one sample: reads through descriptors that stay open, and other reads */
enum { OPEN_PROCESSES = 64, READS = 128 };

pid_t __wrap_fork(void);

/* The sampler uses a child process to find shared memory, and the result could arrive at any time. So there are no
 * child processes in this test. */
pid_t __wrap_fork(void)
{
    errno = EAGAIN;
    return -1;
}

static void write_list(struct fixture *f, int first, int n)
{
    char *text = malloc(16 * (size_t)n + 1);
    size_t len = 0;

    assert_non_null(text);
    for (int i = 0; i < n; i++)
        len += (size_t)snprintf(text + len, 16, "%d\n", first + i);
    fake_tree_write(&f->cgroup, "cgroup.procs", text);
    free(text);
}

/* Takes a sample, and checks that it opened no more files than allowed. */
static uint64_t sample_pages_within(struct fixture *f, uint64_t now_usec, unsigned max)
{
    struct nm_cgroup_sample c;
    int r;

    fail_nth(FAIL_OPEN, max + 1);
    r = nm_cgroup_sampler_sample(f->sampler, now_usec, &c);
    if (fail_stop())
        fail_msg("a sample opens more than %u files", max);
    assert_int_equal(r, 0);
    return c.memory_bytes / PAGE;
}

/* One sample reads a limited number of processes. The other processes count with their former figures until a later
 * sample reads them. */
static void test_one_sample_reads_a_limited_number_of_processes(void **state)
{
    enum { N = 1000, SAMPLES = (N - OPEN_PROCESSES + READS - 1) / READS };
    struct fixture *f = *state;
    uint64_t now = 0, pages = 0;

    for (int i = 0; i < N; i++)
        write_process(f, 10 + i, 1, 0);
    write_list(f, 10, N);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    /* The first sample opens statm and status of the first processes. It estimates the figures of the other
     * processes. */
    assert_int_equal(sample_pages_within(f, ++now, 2 * OPEN_PROCESSES + READS), N);
    for (int i = 0; i < 4 * SAMPLES; i++)
        /* reads only the processes that have only been estimated */
        assert_int_equal(sample_pages_within(f, ++now, READS), N);
    assert_int_equal(sample_pages_within(f, ++now, 0), N);

    for (int i = 0; i < N; i++)
        write_process(f, 10 + i, 3, 0);
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t before = pages;

        use_cpu(f);
        pages = sample_pages_within(f, ++now, READS);
        assert_true(pages >= N && pages > before);
    }
    assert_int_equal(pages, 3 * N);
    /* The sampler drops the figures of ended processes. It has read the 100 remaining processes by now, so it doesn't
     * estimate any of them. */
    write_list(f, 500, 100);
    use_cpu(f);
    assert_int_equal(sample_pages_within(f, ++now, 2 * OPEN_PROCESSES + READS), 300);
}

/* A large process among many small ones is found. Its memory isn't multiplied by the estimate, and never seems to
 * shrink. */
static void test_a_large_process_among_many_is_found(void **state)
{
    enum { N = 2000, LARGE = 1000000 };
    struct fixture *f = *state;
    uint64_t now = 0, pages = 0;
    bool found = false;

    for (int i = 0; i < N; i++)
        write_process(f, 10 + i, 1, 0);
    write_process(f, 10 + N - 200, LARGE, 0);
    write_list(f, 10, N);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    for (int i = 0; i < 100; i++) {
        use_cpu(f);
        pages = sample_pages_within(f, ++now, i == 0 ? 2 * OPEN_PROCESSES + READS : READS);
        assert_true(pages == N || pages == N - 1 + LARGE);
        assert_true(!found || pages == N - 1 + LARGE);
        found = pages > N;
    }
    assert_true(found);
}

/* Although new processes appear all the time, older processes are read again. */
static void test_new_processes_do_not_hide_the_growth_of_older_ones(void **state)
{
    enum { OLD = 200, NEW = 500 };
    struct fixture *f = *state;
    uint64_t now = 0, pages = 0;

    for (int i = 0; i < OLD; i++)
        write_process(f, 10 + i, 1, 0);
    write_list(f, 10, OLD);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    (void)sample_pages_within(f, ++now, 1000);
    assert_int_equal(sample_pages_within(f, ++now, READS), OLD);
    write_process(f, 10 + OLD - 1, 100000, 0);
    for (int round = 0; round < 4; round++) {
        char text[8 * (OLD + NEW) + 1];
        size_t len = 0;

        for (int i = 0; i < OLD; i++)
            len += (size_t)snprintf(text + len, sizeof text - len, "%d\n", 10 + i);
        for (int i = 0; i < NEW; i++) {
            int pid = 1000 + NEW * round + i;

            write_process(f, pid, 1, 0);
            len += (size_t)snprintf(text + len, sizeof text - len, "%d\n", pid);
        }
        fake_tree_write(&f->cgroup, "cgroup.procs", text);
        use_cpu(f);
        pages = sample_pages_within(f, ++now, READS);
    }
    assert_int_equal(pages, OLD - 1 + 100000 + NEW);
}

/*
 * If one of many processes can't be read, the memory of the cgroup is unknown until the process can be read. It is not
 * unknown in just the one sample that tried to read the process.
 */
static void test_one_unreadable_process_makes_the_cgroups_memory_unknown(void **state)
{
    enum { N = 600, BAD = 10 + 400 };
    struct fixture *f = *state;
    struct nm_cgroup_sample c;
    uint64_t now = 0;
    char name[32];
    int r = 0;

    for (int i = 0; i < N; i++)
        write_process(f, 10 + i, 1, 0);
    write_list(f, 10, N);
    (void)snprintf(name, sizeof name, "%d/status", BAD);
    fake_tree_write(&f->proc, name, "VmRSS:\t1 kB\nRssAnon:\tmuch\nThreads:\t1\n");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    for (int i = 0; i < 20 && r == 0; i++)
        r = nm_cgroup_sampler_sample(f->sampler, ++now, &c);
    for (int i = 0; i < 20; i++)
        assert_int_equal(nm_cgroup_sampler_sample(f->sampler, ++now, &c), -EBADMSG);
    write_process(f, BAD, 1, 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, ++now, &c), 0);
    assert_int_equal(c.memory_bytes / PAGE, N);
}

static void test_too_many_processes_are_an_error(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_sample c = {.at_usec = 7};

    write_process(f, 1, 1, 0);
    write_list(f, 1, 65536 + 1);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1, &c), -E2BIG);
    assert_int_equal(c.at_usec, 7);
    write_list(f, 1, 1);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2, &c), 0);
    assert_int_equal(c.memory_bytes / PAGE, 1);
}

/* Each process keeps its figures, whatever the order in which the kernel lists the processes. */
static void test_each_process_keeps_its_figures_in_any_order(void **state)
{
    enum { N = 150 };
    struct fixture *f = *state;
    unsigned seed = 1;

    for (int pid = 1; pid <= N; pid++)
        write_process(f, pid, (uint64_t)pid, 0);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    for (uint64_t now = 1; now <= 100; now++) {
        char text[8 * N + 1] = "";
        size_t len = 0;
        uint64_t sum = 0;

        /* a step of 7 visits all processes, since 7 and N have no common factor */
        for (int i = 0, at = (int)(seed % N); i < N; i++, at = (at + 7) % N) {
            seed = seed * 1103515245 + 12345;
            if (seed >> 16 & 1)
                continue;
            sum += (uint64_t)at + 1;
            len += (size_t)snprintf(text + len, sizeof text - len, "%d\n", at + 1);
        }
        fake_tree_write(&f->cgroup, "cgroup.procs", text);
        use_cpu(f);
        assert_int_equal(sample_pages_within(f, now, 1000), sum);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_one_sample_reads_a_limited_number_of_processes),
        TEST(test_a_large_process_among_many_is_found),
        TEST(test_new_processes_do_not_hide_the_growth_of_older_ones),
        TEST(test_one_unreadable_process_makes_the_cgroups_memory_unknown),
        TEST(test_too_many_processes_are_an_error),
        TEST(test_each_process_keeps_its_figures_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
