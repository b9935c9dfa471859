/* SPDX-License-Identifier: Apache-2.0 */

/* The memory of a container that has used hardly any CPU time: it is kept, and not read in each sample. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "monitor/monitor.h"
#include "tests/unit/sample-fixture.h"

/* Uses CPU time, and compares the sampled memory. */
static void assert_after_cpu(struct fixture *f, unsigned cpu_usec, uint64_t now_usec, uint64_t memory_bytes)
{
    struct nm_cgroup_sample c;

    use_cpu_for(f, cpu_usec);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, now_usec, &c), 0);
    assert_int_equal(c.cpu_usage_usec, f->usage_usec);
    assert_int_equal(c.memory_bytes, memory_bytes);
}

/* In so little CPU time, a process can't get much memory. */
static void test_memory_is_kept_after_little_cpu_time(void **state)
{
    struct fixture *f = *state;

    fake_tree_write(&f->cgroup, "memory.stat", MEMORY_STAT);
    fake_tree_write(&f->cgroup, "memory.current", "7000\n");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, true, f->proc.path, &f->sampler), 0);
    assert_after_cpu(f, 1000, 1000000, 1250);
    fake_tree_write(&f->cgroup, "memory.stat",
                    "anon 500\nshmem 0\ninactive_anon 500\nactive_anon 0\nunevictable 0\n");
    assert_after_cpu(f, 60, 1100000, 1250);
    assert_after_cpu(f, 40, 1200000, 1250);
    assert_after_cpu(f, 1, 1300000, 500); /* the sum of short uses is too long */
    fake_tree_write(&f->cgroup, "memory.stat", MEMORY_STAT);
    assert_after_cpu(f, 1, 1400000, 500);
    fake_tree_write(&f->cgroup, "memory.current", "8000\n"); /* a change is seen, whatever the CPU time */
    assert_after_cpu(f, 1, 1500000, 1250);
    fake_tree_write(&f->cgroup, "memory.stat",
                    "anon 500\nshmem 0\ninactive_anon 500\nactive_anon 0\nunevictable 0\n");
    assert_after_cpu(f, 1, 11499999, 1250);
    assert_after_cpu(f, 1, 11500000, 500);
}

static void test_an_exact_sample_reads_memory_after_any_cpu_time(void **state)
{
    struct fixture *f = *state;

    write_process(f, 10, 100, 0);
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    assert_after_cpu(f, 1000, 1000000, 100 * PAGE);
    write_process(f, 10, 500, 0);
    assert_after_cpu(f, 1, 1100000, 100 * PAGE);
    nm_cgroup_sampler_set_exact(f->sampler, true);
    assert_after_cpu(f, 0, 1200000, 500 * PAGE); /* the CPU time of the earlier sample */
    write_process(f, 10, 600, 0);
    assert_after_cpu(f, 0, 1300000, 500 * PAGE);
    assert_after_cpu(f, 1, 1400000, 600 * PAGE);
    nm_cgroup_sampler_set_exact(f->sampler, false);
    write_process(f, 10, 700, 0);
    assert_after_cpu(f, 1, 1500000, 600 * PAGE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_memory_is_kept_after_little_cpu_time),
        TEST(test_an_exact_sample_reads_memory_after_any_cpu_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
