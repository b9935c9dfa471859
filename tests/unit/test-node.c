/* SPDX-License-Identifier: Apache-2.0 */

/* The sampler of the node with a fake /proc, and once with the real /proc. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "monitor/monitor.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/fake-tree.h"
#include "util/clock.h"

#define MEMINFO \
    "MemTotal: 1000 kB\nMemAvailable: 400 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\nAnonPages: 50 kB\nShmem: 7 kB\n"

static void write_ticks(const struct fake_tree *proc, unsigned busy, unsigned idle, unsigned iowait)
{
    char text[128];

    (void)snprintf(text, sizeof text, "cpu  %u 0 0 %u %u 0 0 0 0 0\ncpu0 0\ncpu1 0\nintr 1\n", busy,
                   idle, iowait);
    fake_tree_write(proc, "stat", text);
}

static void test_the_cpu_use_is_measured_between_two_samples(void **state)
{
    static const struct {
        const char *what;
        uint64_t now_usec;
        unsigned busy, idle, iowait;
        bool valid;
        uint32_t millicores;
    } steps[] = {
        {"first", 1000000, 100, 1000, 0, false, 0},
        {"half busy", 2000000, 200, 1100, 0, true, 1000},
        {"waiting for disks is idle", 3000000, 200, 1100, 200, true, 0},
        {"too soon: as before", 3001000, 250, 1100, 200, true, 0},
        {"measured from the older base", 4000000, 400, 1100, 200, true, 2000},
        {"clock has not advanced: as before", 4000000, 500, 1500, 200, true, 2000},
        {"idle time goes back a little", 5000000, 500, 1099, 200, true, 2000},
        {"busy time goes back", 6000000, 100, 2000, 200, false, 0},
        {"idle time goes back a lot", 7000000, 200, 1000, 200, false, 0},
        {"no tick has passed", 8000000, 200, 1000, 200, true, 0},
        {"clock is set back", 7000000, 300, 1100, 200, false, 0},
        {"next sample after the clock was set back", 8000000, 400, 1400, 200, true, 500},
    };
    _cleanup_(nm_node_sampler_freep) struct nm_node_sampler *s = NULL;
    struct fake_tree proc;

    (void)state;
    fake_tree_init(&proc);
    fake_tree_write(&proc, "meminfo", MEMINFO);
    fake_tree_write(&proc, "stat", "");
    assert_int_equal(nm_node_sampler_new(proc.path, &s), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(steps); i++) {
        struct nm_node_sample n;

        write_ticks(&proc, steps[i].busy, steps[i].idle, steps[i].iowait);
        /* A sample of memory alone doesn't change the interval of the CPU figures. */
        assert_int_equal(nm_node_sampler_sample_memory(s, steps[i].now_usec, &n), 0);
        assert_int_equal(n.memory_held_bytes, 57 << 10);
        assert_int_equal(n.n_cpus, 0);
        assert_int_equal(nm_node_sampler_sample(s, steps[i].now_usec, &n), 0);
        assert_int_equal(n.at_usec, steps[i].now_usec);
        assert_int_equal(n.n_cpus, 2);
        if (n.cpu_valid != steps[i].valid || n.cpu_busy_millicores != steps[i].millicores)
            fail_msg("%s: valid %d, %u millicores", steps[i].what, n.cpu_valid,
                     n.cpu_busy_millicores);
    }
    fake_tree_done(&proc);
}

static void test_memory_and_pressure_are_sampled(void **state)
{
    _cleanup_(nm_node_sampler_freep) struct nm_node_sampler *s = NULL;
    struct nm_node_sample n = {.at_usec = 5};
    struct fake_tree proc;

    (void)state;
    fake_tree_init(&proc);
    fake_tree_write(&proc, "meminfo", MEMINFO);
    write_ticks(&proc, 1, 1, 1);
    fake_tree_write(&proc, "pressure/memory",
                    "some avg10=12.50 avg60=0.00 avg300=0.00 total=5\n"
                    "full avg10=3.25 avg60=0.00 avg300=0.00 total=1\n");
    assert_int_equal(nm_node_sampler_new(proc.path, &s), 0);
    assert_int_equal(nm_node_sampler_sample(s, 1, &n), 0);
    assert_int_equal(n.memory_total_bytes, 1000 << 10);
    assert_int_equal(n.memory_available_bytes, 400 << 10);
    assert_int_equal(n.memory_held_bytes, 57 << 10);
    assert_int_equal(n.swap_total_bytes, 100 << 10);
    assert_int_equal(n.swap_free_bytes, 60 << 10);
    assert_true(n.memory_pressure_some_avg10 == 12.5);
    assert_true(n.memory_pressure_full_avg10 == 3.25);
    assert_true(n.cpu_pressure_some_avg10 == 0); /* the file doesn't exist in this case */

    /* Memory in pools of huge pages can't be allocated as single pages. */
    fake_tree_write(&proc, "meminfo", MEMINFO "HugePages_Total: 50\nHugepagesize: 2 kB\nHugetlb: 300 kB\n");
    assert_int_equal(nm_node_sampler_sample(s, 1, &n), 0);
    assert_int_equal(n.memory_total_bytes, 700 << 10);
    assert_int_equal(n.hugetlb_bytes, 300 << 10);
    assert_int_equal(n.memory_available_bytes, 400 << 10);
    assert_int_equal(nm_node_sampler_sample_memory(s, 1, &n), 0);
    assert_int_equal(n.memory_total_bytes, 700 << 10);
    fake_tree_write(&proc, "meminfo", MEMINFO);

    /* A malformed file is an error, and the sample stays unchanged. */
    fake_tree_write(&proc, "meminfo", "MemTotal: 5 kB\n");
    assert_int_equal(nm_node_sampler_sample(s, 2, &n), -EBADMSG);
    assert_int_equal(nm_node_sampler_sample_memory(s, 2, &n), -EBADMSG);
    assert_int_equal(n.at_usec, 1);
    fake_tree_done(&proc);
}

/* A CPU that goes offline or comes online changes the sum of idle times. The interval in which this happens has no CPU
 * rate. */
static void test_an_interval_in_which_the_number_of_cpus_changes_has_no_cpu_rate(void **state)
{
    _cleanup_(nm_node_sampler_freep) struct nm_node_sampler *s = NULL;
    struct nm_node_sample n;
    struct fake_tree proc;

    (void)state;
    fake_tree_init(&proc);
    fake_tree_write(&proc, "meminfo", MEMINFO);
    write_ticks(&proc, 100, 1000, 0);
    assert_int_equal(nm_node_sampler_new(proc.path, &s), 0);
    assert_int_equal(nm_node_sampler_sample(s, 1000000, &n), 0);
    fake_tree_write(&proc, "stat", "cpu  200 0 0 5000 0 0 0 0 0 0\ncpu0 0\nintr 1\n");
    assert_int_equal(nm_node_sampler_sample(s, 2000000, &n), 0);
    assert_int_equal(n.n_cpus, 1);
    assert_false(n.cpu_valid);
    fake_tree_write(&proc, "stat", "cpu  250 0 0 5050 0 0 0 0 0 0\ncpu0 0\nintr 1\n");
    assert_int_equal(nm_node_sampler_sample(s, 3000000, &n), 0);
    assert_true(n.cpu_valid);
    assert_int_equal(n.cpu_busy_millicores, 500);
    fake_tree_done(&proc);
}

static void test_a_missing_proc_directory_is_an_error(void **state)
{
    struct nm_node_sampler *s = NULL;
    struct fake_tree proc;

    (void)state;
    assert_int_equal(nm_node_sampler_new("/nonexistent", &s), -ENOENT);
    fake_tree_init(&proc);
    fake_tree_write(&proc, "meminfo", MEMINFO);
    assert_int_equal(nm_node_sampler_new(proc.path, &s), -ENOENT);
    assert_null(s);
    fake_tree_done(&proc);
}

static int make_one(void *userdata)
{
    struct nm_node_sampler *s = NULL;
    const struct fake_tree *proc = userdata;
    int r = nm_node_sampler_new(proc->path, &s);

    assert_true((s != NULL) == (r == 0));
    (void)nm_node_sampler_free(s);
    return r;
}

static void test_each_failed_allocation_is_an_error(void **state)
{
    struct fake_tree proc;

    (void)state;
    fake_tree_init(&proc);
    fake_tree_write(&proc, "meminfo", MEMINFO);
    fake_tree_write(&proc, "stat", "");
    assert_int_equal(fail_each(make_one, &proc), 1);
    fake_tree_unlink(&proc, "meminfo");
    assert_int_equal(make_one(&proc), -ENOENT);
    fake_tree_done(&proc);
}

/* A sample succeeds without the pressure files. If one of the other files is missing, the sample fails. */
static void test_only_the_pressure_files_of_proc_may_be_missing(void **state)
{
    _cleanup_(nm_node_sampler_freep) struct nm_node_sampler *s = NULL;
    struct nm_node_sample n = {.at_usec = 5};
    struct fake_tree proc;

    (void)state;
    fake_tree_init(&proc);
    fake_tree_write(&proc, "meminfo", MEMINFO);
    fake_tree_write(&proc, "stat/it-is-a-directory", "");
    fake_tree_write(&proc, "pressure/memory/it-is-a-directory", "");
    fake_tree_write(&proc, "pressure/cpu", "none\n");
    assert_int_equal(nm_node_sampler_new(proc.path, &s), 0);
    assert_int_equal(nm_node_sampler_sample(s, 1, &n), -EISDIR);
    assert_int_equal(n.at_usec, 5);
    s = nm_node_sampler_free(s);
    fake_tree_unlink(&proc, "stat/it-is-a-directory");
    fake_tree_unlink(&proc, "stat");
    fake_tree_write(&proc, "stat", "cpu  some\n");
    assert_int_equal(nm_node_sampler_new(proc.path, &s), 0);
    assert_int_equal(nm_node_sampler_sample(s, 1, &n), -EBADMSG);
    assert_int_equal(n.at_usec, 5);
    write_ticks(&proc, 1, 1, 1);
    assert_int_equal(nm_node_sampler_sample(s, 1, &n), 0);
    assert_true(n.memory_pressure_some_avg10 == 0 && n.cpu_pressure_some_avg10 == 0);
    s = nm_node_sampler_free(s);
    fake_tree_unlink(&proc, "meminfo");
    fake_tree_write(&proc, "meminfo/it-is-a-directory", "");
    assert_int_equal(nm_node_sampler_new(proc.path, &s), 0);
    assert_int_equal(nm_node_sampler_sample_memory(s, 2, &n), -EISDIR);
    assert_int_equal(n.at_usec, 1);
    fake_tree_done(&proc);
}

/* The limit of tasks is the smaller of two kernel figures. If one of them is missing or invalid, there is no limit of
 * tasks. */
static void test_the_limit_of_tasks_is_the_smaller_of_two_kernel_figures(void **state)
{
    static const struct {
        const char *threads, *pids;
        int r;
        uint64_t max;
    } cases[] = {
        {"1000\n", "32768\n", 0, 1000}, {"100000\n", "32768\n", 0, 32768},
        {"some\n", "32768\n", -EBADMSG, 77}, {"1000\n", "-1\n", -EBADMSG, 77},
        {NULL, "32768\n", -ENOENT, 77}, {"1000\n", NULL, -ENOENT, 77},
    };
    uint64_t max;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct fake_tree proc;

        fake_tree_init(&proc);
        if (cases[i].threads)
            fake_tree_write(&proc, "sys/kernel/threads-max", cases[i].threads);
        if (cases[i].pids)
            fake_tree_write(&proc, "sys/kernel/pid_max", cases[i].pids);
        max = 77;
        assert_int_equal(nm_tasks_max(proc.path, &max), cases[i].r);
        assert_int_equal(max, cases[i].max);
        fake_tree_done(&proc);
    }
    assert_int_equal(nm_tasks_max("/nonexistent", &max), -ENOENT);
}

static void test_a_sample_of_the_real_proc_is_plausible(void **state)
{
    _cleanup_(nm_node_sampler_freep) struct nm_node_sampler *s = NULL;
    struct nm_node_sample n;

    (void)state;
    assert_int_equal(nm_node_sampler_new("/proc", &s), 0);
    assert_int_equal(nm_node_sampler_sample(s, nm_now_usec(), &n), 0);
    assert_false(n.cpu_valid);
    assert_int_equal(n.n_cpus, sysconf(_SC_NPROCESSORS_ONLN));
    assert_int_equal(n.memory_total_bytes,
                     (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    assert_in_range(n.memory_available_bytes, 1, n.memory_total_bytes);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_cpu_use_is_measured_between_two_samples),
        cmocka_unit_test(test_memory_and_pressure_are_sampled),
        cmocka_unit_test(test_an_interval_in_which_the_number_of_cpus_changes_has_no_cpu_rate),
        cmocka_unit_test(test_a_missing_proc_directory_is_an_error),
        cmocka_unit_test(test_each_failed_allocation_is_an_error),
        cmocka_unit_test(test_only_the_pressure_files_of_proc_may_be_missing),
        cmocka_unit_test(test_the_limit_of_tasks_is_the_smaller_of_two_kernel_figures),
        cmocka_unit_test(test_a_sample_of_the_real_proc_is_plausible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
