/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The cgroup sampler with fake memory files, and its fallback that reads processes. For the fallback a fake
 * cgroup.procs names fake processes (exact figures) or real processes (workers that share pages). A real cgroup is
 * used, too, if this process may make a cgroup.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "monitor/monitor.h"
#include "tests/unit/own-cgroup.h"
#include "tests/unit/sample-fixture.h"
#include "util/clock.h"

/* ---- with the memory controller -------------------------------------------------------------- */

static void test_the_memory_is_read_from_the_cgroups_files(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_sample c;

    fake_tree_write(&f->cgroup, "memory.stat", MEMORY_STAT);
    fake_tree_write(&f->cgroup, "memory.peak", "9000\n");
    fake_tree_write(&f->cgroup, "memory.swap.current", "70\n");
    fake_tree_write(&f->cgroup, "memory.events",
                    "low 0\nhigh 0\nmax 3\noom 2\noom_kill 1\noom_group_kill 0\n");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, true, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1000000, &c), 0);
    assert_int_equal(c.at_usec, 1000000);
    assert_int_equal(c.memory_bytes, 1250);
    assert_int_equal(c.memory_peak_bytes, 9000);
    assert_int_equal(c.swap_bytes, 70);
    assert_int_equal(c.oom_kills, 1);
    assert_false(c.from_proc);
    assert_false(c.cpu_valid);
    assert_int_equal(c.cpu_usage_usec, 1000);

    fake_tree_write(&f->cgroup, "cpu.stat", "usage_usec 1501000\nthrottled_usec 30\n");
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2000000, &c), 0);
    assert_true(c.cpu_valid);
    assert_int_equal(c.cpu_millicores, 1500);
    assert_int_equal(c.cpu_throttled_usec, 30);
}

#define PRESSURE(total) \
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=" total "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n"

static void test_the_stall_time_is_sampled(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_sample c;

    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_watch_stall(f->sampler, &f->cg, true), -EOPNOTSUPP);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1000000, &c), 0);
    assert_false(c.stall_known);
    fake_tree_write(&f->cgroup, "cpu.pressure", PRESSURE("5000"));
    assert_int_equal(nm_cgroup_sampler_watch_stall(f->sampler, &f->cg, true), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2000000, &c), 0);
    assert_false(c.stall_known); /* there is no earlier value */
    fake_tree_write(&f->cgroup, "cpu.pressure", PRESSURE("25000"));
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2100000, &c), 0);
    assert_false(c.stall_known); /* the interval is too short */
    fake_tree_write(&f->cgroup, "cpu.pressure", PRESSURE("130000"));
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2500000, &c), 0);
    assert_true(c.stall_known);
    assert_int_equal(c.stall_permille, 250);
    fake_tree_write(&f->cgroup, "cpu.pressure", PRESSURE("130000"));
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2700000, &c), 0);
    assert_true(c.stall_known); /* for a short interval the earlier value is repeated, because otherwise
                                   EXTRA_SAMPLE rounds could leave each sample without a value */
    assert_int_equal(c.stall_permille, 250);
    fake_tree_write(&f->cgroup, "cpu.pressure", PRESSURE("9130000")); /* the stall time can't exceed the interval */
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 3500000, &c), 0);
    assert_int_equal(c.stall_permille, 1000);
    fake_tree_write(&f->cgroup, "cpu.pressure", "some nonsense\n");
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 4500000, &c), 0);
    assert_false(c.stall_known);
    assert_int_equal(nm_cgroup_sampler_watch_stall(f->sampler, &f->cg, false), 0);
    fake_tree_write(&f->cgroup, "cpu.pressure", PRESSURE("9130000"));
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 5500000, &c), 0);
    assert_false(c.stall_known);
}

static void test_the_memory_of_an_idle_cgroup_is_sampled(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_sample c;

    fake_tree_write(&f->cgroup, "memory.stat", MEMORY_STAT);
    fake_tree_write(&f->cgroup, "memory.current", "7000\n");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, true, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1000000, &c), 0);
    assert_int_equal(c.memory_bytes, 1250);
    /* No CPU time was used and memory.current is the same: memory.stat isn't read. */
    fake_tree_write(&f->cgroup, "memory.stat",
                    "anon 500\nshmem 0\ninactive_anon 500\nactive_anon 0\nunevictable 0\n");
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2000000, &c), 0);
    assert_int_equal(c.memory_bytes, 1250);
    assert_int_equal(c.at_usec, 2000000);
    /* A lower memory.current, as after the reclaim of a paused container, is detected by the next sample. */
    fake_tree_write(&f->cgroup, "memory.current", "6000\n");
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 3000000, &c), 0);
    assert_int_equal(c.memory_bytes, 500);
    fake_tree_write(&f->cgroup, "memory.stat", MEMORY_STAT);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 12999999, &c), 0);
    assert_int_equal(c.memory_bytes, 500);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 13000000, &c), 0);
    assert_int_equal(c.memory_bytes, 1250);
}

static void write_seldom(struct fixture *f, const char *current, const char *peak,
                         const char *swap, const char *events)
{
    fake_tree_write(&f->cgroup, "memory.current", current);
    fake_tree_write(&f->cgroup, "memory.peak", peak);
    fake_tree_write(&f->cgroup, "memory.swap.current", swap);
    fake_tree_write(&f->cgroup, "memory.events", events);
}

static void assert_seldom(struct fixture *f, uint64_t now_usec, uint64_t peak, uint64_t swap,
                          uint64_t oom_kills)
{
    struct nm_cgroup_sample c;

    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, now_usec, &c), 0);
    assert_int_equal(c.memory_peak_bytes, peak);
    assert_int_equal(c.swap_bytes, swap);
    assert_int_equal(c.oom_kills, oom_kills);
}

static void test_figures_that_rarely_change_are_rarely_read(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_sample c;

    fake_tree_write(&f->cgroup, "memory.stat", MEMORY_STAT);
    write_seldom(f, "1000000\n", "1100000\n", "0\n", "oom_kill 0\n");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, true, f->proc.path, &f->sampler), 0);
    assert_seldom(f, 1000000, 1100000, 0, 0);
    /* A small change: only memory.stat is read, and memory.current raises the peak, too. */
    write_seldom(f, "1200000\n", "1250000\n", "5\n", "oom_kill 1\n");
    fake_tree_write(&f->cgroup, "memory.stat",
                    "anon 500\nshmem 0\ninactive_anon 500\nactive_anon 0\nunevictable 0\n");
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2000000, &c), 0);
    assert_int_equal(c.memory_bytes, 500);
    assert_seldom(f, 3000000, 1200000, 0, 0);
    /* Several small changes add up to a large one. */
    write_seldom(f, "1300000\n", "1350000\n", "5\n", "oom_kill 1\n");
    assert_seldom(f, 4000000, 1350000, 5, 1);
    /* A large decrease: the OOM killer killed, or memory was swapped out. */
    write_seldom(f, "900000\n", "1400000\n", "7\n", "oom_kill 2\n");
    assert_seldom(f, 5000000, 1400000, 7, 2);
    /* Without a large change the files are read again after some seconds. */
    write_seldom(f, "900001\n", "1500000\n", "8\n", "oom_kill 3\n");
    assert_seldom(f, 14999999, 1400000, 8, 2); /* swap is read at each sample while the cgroup uses swap */
    write_seldom(f, "900002\n", "1500000\n", "8\n", "oom_kill 3\n");
    assert_seldom(f, 15000000, 1500000, 8, 3);
}

/* Pages that zswap holds compressed use memory, but less than uncompressed. */
static void test_pages_in_zswap_count_with_their_compressed_size(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_sample c;

    fake_tree_write(&f->cgroup, "memory.stat", MEMORY_STAT "zswap 30\nzswapped 70\n");
    fake_tree_write(&f->cgroup, "memory.swap.current", "70\n");
    fake_tree_write(&f->cgroup, "memory.current", "7000\n");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, true, f->proc.path, &f->sampler), 0);
    for (uint64_t t = 1; t <= 2; t++) { /* the second time the files are unchanged */
        assert_int_equal(nm_cgroup_sampler_sample(f->sampler, t * 1000000, &c), 0);
        assert_int_equal(c.swap_bytes, 70);
        assert_int_equal(c.zswap_bytes, 30);
    }
}

static void test_optional_memory_files_of_a_cgroup_may_be_missing(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_sample c;

    fake_tree_write(&f->cgroup, "memory.stat", MEMORY_STAT);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, true, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1, &c), 0);
    assert_int_equal(c.memory_peak_bytes, 1250);
    assert_int_equal(c.swap_bytes, 0);
    assert_int_equal(c.oom_kills, 0);
    /* Without memory.peak the highest sample is the peak. */
    fake_tree_write(&f->cgroup, "memory.stat",
                    "anon 5\nshmem 0\ninactive_anon 5\nactive_anon 0\nunevictable 0\n");
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2, &c), 0);
    assert_int_equal(c.memory_bytes, 5);
    assert_int_equal(c.memory_peak_bytes, 1250);
}

static void test_without_the_memory_controller_files_in_proc_are_read(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_sample c;

    assert_int_equal(nm_cgroup_sampler_new(&f->cg, true, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1, &c), 0);
    assert_true(c.from_proc);
}

static void test_a_malformed_file_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_sample c = {.at_usec = 7};

    fake_tree_write(&f->cgroup, "memory.stat", "anon x\n");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, true, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1, &c), -EBADMSG);
    assert_int_equal(c.at_usec, 7);
}

static void test_a_removed_cgroup_is_an_error(void **state)
{
    struct fixture *f = *state;

    fake_tree_unlink(&f->cgroup, "cpu.stat");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), -ENOENT);
    assert_null(f->sampler);
}

/* ---- from fake processes --------------------------------------------------------------------- */

static uint64_t sample_idle_pages(struct fixture *f, uint64_t now_usec)
{
    struct nm_cgroup_sample c;

    if (!f->sampler)
        assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, now_usec, &c), 0);
    assert_true(c.from_proc);
    return c.memory_bytes / PAGE;
}

static uint64_t sample_pages(struct fixture *f, uint64_t now_usec)
{
    use_cpu(f);
    return sample_idle_pages(f, now_usec);
}

static void test_processes_that_start_and_end_are_sampled(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(sample_pages(f, 1), 0);
    write_process(f, 10, 500, 100);
    write_process(f, 11, 50, 0);
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n11\n");
    assert_int_equal(sample_pages(f, 2), 650);
    /* Another process comes first in the list. The known processes are found at their new positions. */
    write_process(f, 9, 1, 0);
    fake_tree_write(&f->cgroup, "cgroup.procs", "9\n10\n11\n");
    assert_int_equal(sample_pages(f, 3), 651);
    fake_tree_write(&f->cgroup, "cgroup.procs", "11\n");
    assert_int_equal(sample_pages(f, 4), 50);
    /* The process is listed, but has ended before its files are read. */
    fake_tree_write(&f->cgroup, "cgroup.procs", "11\n12\n");
    assert_int_equal(sample_pages(f, 5), 50);
    fake_tree_write(&f->cgroup, "cgroup.procs", "");
    assert_int_equal(sample_pages(f, 6), 0);
}

/* Pages that return from swap aren't visible in statm. */
static void test_pages_that_return_from_swap_are_counted(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_sample c;

    write_statm(f, 10, 1000, 0);
    write_status(f, 10, 1000 * PAGE / 1024, 0, 800);
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n");
    assert_int_equal(sample_pages(f, 1), 1000);
    write_statm(f, 10, 1100, 0);
    write_status(f, 10, 1100 * PAGE / 1024, 0, 400);
    use_cpu(f);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2, &c), 0);
    assert_int_equal(c.memory_bytes / PAGE, 1100);
    assert_int_equal(c.swap_bytes, 400 * 1024);
}

static void test_the_growth_of_a_process_is_detected(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_sample c;

    write_process(f, 10, 1000, 1000);
    write_status(f, 10, 1000 * PAGE / 1024, 200 * PAGE / 1024, 0); /* 800 pages are files */
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n");
    assert_int_equal(sample_pages(f, 1), 1200);
    /* Anonymous memory grows: statm is enough. */
    write_statm(f, 10, 5000, 1000);
    assert_int_equal(sample_pages(f, 2), 5200);
    /* Shared memory grows. Only the file status shows whether the pages are files or shmem. */
    write_statm(f, 10, 5000, 3000);
    write_status(f, 10, 5000 * PAGE / 1024, 2200 * PAGE / 1024, 0);
    assert_int_equal(sample_pages(f, 3), 7200);
    /* Anonymous memory shrinks: it was swapped out. */
    write_statm(f, 10, 3000, 3000);
    write_status(f, 10, 3000 * PAGE / 1024, 2200 * PAGE / 1024, 2000 * PAGE / 1024);
    use_cpu(f);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 4, &c), 0);
    assert_int_equal(c.memory_bytes, 5200 * PAGE);
    assert_int_equal(c.swap_bytes, 2000 * PAGE);
    assert_int_equal(c.memory_peak_bytes, 7200 * PAGE);
}

static void test_an_idle_cgroup_is_read_rarely(void **state)
{
    struct fixture *f = *state;

    write_process(f, 10, 100, 0);
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n");
    assert_int_equal(sample_pages(f, 1000000), 100);
    /* The cgroup used no CPU time, so the process isn't read, and its change is not detected. A real process uses
     * CPU time to change its memory. */
    write_process(f, 10, 500, 0);
    assert_int_equal(sample_idle_pages(f, 2000000), 100);
    /* The cgroup used CPU time, so the process is read. */
    assert_int_equal(sample_pages(f, 3000000), 500);
    /* The cgroup was idle for so long that its pages may have been swapped out, so the process is read. */
    write_process(f, 10, 20, 0);
    assert_int_equal(sample_idle_pages(f, 12999999), 500);
    assert_int_equal(sample_idle_pages(f, 13000000), 20);
}

static void test_the_memory_of_the_shim_does_not_count(void **state)
{
    struct fixture *f = *state;

    write_process(f, 10, 30, 0);
    write_process(f, 11, 100, 0);
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n11\n");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    nm_cgroup_sampler_set_shim(f->sampler, 10);
    assert_int_equal(sample_pages(f, 1000000), 130);
    /* The shim may still be initializing, so it is read. */
    write_process(f, 10, 40, 0);
    assert_int_equal(sample_pages(f, 2000000), 140);
    /* Two samples of the shim were equal, so it isn't read any more. Other processes are read as before. */
    assert_int_equal(sample_pages(f, 3000000), 140);
    write_process(f, 10, 41, 0);
    write_process(f, 11, 200, 0);
    assert_int_equal(sample_pages(f, 4000000), 240);
    assert_int_equal(sample_pages(f, 12999999), 240);
    assert_int_equal(sample_pages(f, 13000000), 241);
    /* If the shim's memory has changed, the shim is read again. A process that is no longer the shim is read, too. */
    assert_int_equal(sample_pages(f, 14000000), 241);
    write_process(f, 10, 50, 0);
    assert_int_equal(sample_pages(f, 15000000), 241);
    nm_cgroup_sampler_set_shim(f->sampler, 0);
    assert_int_equal(sample_pages(f, 16000000), 250);
}

/* Samples until the number of pages is in the range, because a page table walk takes some time. Fails with the last
 * number. */
static void assert_pages_in(struct fixture *f, uint64_t now_usec, uint64_t min, uint64_t max)
{
    const uint64_t deadline = nm_now_usec() + 20 * NM_USEC_PER_SEC;
    uint64_t pages;

    do
        pages = sample_pages(f, now_usec);
    while ((pages < min || pages > max) && nm_now_usec() < deadline);
    assert_in_range(pages, min, max);
}

static void remove_rollup(struct fixture *f, int pid)
{
    char name[32];

    (void)snprintf(name, sizeof name, "%d/smaps_rollup", pid);
    fake_tree_unlink(&f->proc, name);
}

static void test_shared_pages_count_once(void **state)
{
    struct fixture *f = *state;
    uint64_t now = 1000000;

    /* Four workers with 20,000 resident pages each; half of the pages are shared. */
    for (int pid = 10; pid < 14; pid++) {
        write_process(f, pid, 20000, 0);
        write_rollup(f, pid, 12500, 0);
    }
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n11\n12\n13\n");
    assert_pages_in(f, now, 50000, 50000);
    /* A small growth doesn't cause another walk, but is added. */
    write_process(f, 10, 20500, 0);
    assert_int_equal(sample_pages(f, now + 1000000), 50500);
    /* The workers write to all shared pages, which no resident figure shows. A walk after ten seconds detects this. */
    for (int pid = 10; pid < 14; pid++)
        write_rollup(f, pid, 20500, 0);
    assert_int_equal(sample_pages(f, now + 9000000), 50500);
    assert_pages_in(f, now + 10000000, 80500, 80500);
    /* If the kernel doesn't permit the walk, the sum is used. */
    for (int pid = 10; pid < 14; pid++)
        write_rollup(f, pid, 12500, 0);
    assert_pages_in(f, now + 20000000, 49000, 51000);
    for (int pid = 10; pid < 14; pid++)
        remove_rollup(f, pid);
    assert_pages_in(f, now + 30000000, 80500, 80500);
}

/* Processes that start or end change the result by their own memory at most. */
static void test_small_processes_change_the_result_by_their_own_memory_at_most(void **state)
{
    struct fixture *f = *state;

    for (int pid = 10; pid < 14; pid++) {
        write_process(f, pid, 20000, 0);
        write_rollup(f, pid, 12500, 0);
    }
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n11\n12\n13\n");
    assert_pages_in(f, 1000000, 50000, 50000);
    for (int pid = 14; pid < 20; pid++)
        write_process(f, pid, 10, 0);
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n");
    assert_in_range(sample_pages(f, 2000000), 50000, 50060);
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n11\n12\n13\n");
    assert_int_equal(sample_pages(f, 3000000), 50000);
}

static void test_a_cgroup_is_never_smaller_than_its_largest_process(void **state)
{
    struct fixture *f = *state;

    /* There is one large process and a small one. The sampler does not start a page table walk, although its result
     * would be half of the sum here, because a walk is expensive. */
    write_process(f, 10, 50000, 0);
    write_process(f, 11, 500, 0);
    write_rollup(f, 10, 25000, 0);
    write_rollup(f, 11, 250, 0);
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n11\n");
    assert_int_equal(sample_pages(f, 1000000), 50500);
    /* The pages are also shared with processes outside the cgroup. The result is never less than the memory of the
     * largest process. */
    write_process(f, 11, 40000, 0);
    write_rollup(f, 10, 5000, 0);
    write_rollup(f, 11, 5000, 0);
    assert_pages_in(f, 2000000, 50000, 50000);
}

/* A file that blocks its reader (here a pipe without a writer) doesn't block the sampler. */
static void test_a_blocked_walk_does_not_block_the_sampler(void **state)
{
    struct fixture *f = *state;
    char path[128];

    for (int pid = 10; pid < 12; pid++) {
        write_process(f, pid, 20000, 0);
        (void)snprintf(path, sizeof path, "%s/%d/smaps_rollup", f->proc.path, pid);
        assert_int_equal(mkfifo(path, 0600), 0);
    }
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n11\n");
    assert_int_equal(sample_pages(f, 1000000), 20000); /* without a result, memory counts as shared */
    assert_int_equal(sample_pages(f, 10999999), 20000);
    assert_int_equal(sample_pages(f, 11000000), 40000); /* after a limited time, memory counts as not shared */
    assert_int_equal(sample_idle_pages(f, 60000000), 40000);
    /* The teardown frees the sampler, which must not wait for the child. */
}

static void test_many_processes_are_sampled(void **state)
{
    struct fixture *f = *state;
    char text[20 * 1500];
    size_t len = 0;

    /* The list has more processes than the sampler keeps descriptors for, and more than it reads. The order of the list
     * changes. */
    for (int pid = 1; pid <= 1500; pid++) {
        write_process(f, pid, 1, 0);
        len += (size_t)snprintf(text + len, sizeof text - len, "%d\n", pid);
    }
    fake_tree_write(&f->cgroup, "cgroup.procs", text);
    assert_int_equal(sample_pages(f, 1), 1500);
    len = 0;
    for (int pid = 300; pid > 0; pid--)
        len += (size_t)snprintf(text + len, sizeof text - len, "%d\n", pid);
    fake_tree_write(&f->cgroup, "cgroup.procs", text);
    assert_int_equal(sample_pages(f, 2), 300);
    assert_int_equal(sample_pages(f, 3), 300);
}

static void test_processes_of_subgroups_count(void **state)
{
    struct fixture *f = *state;
    struct stat st;

    write_process(f, 10, 100, 0);
    write_process(f, 11, 20, 0);
    write_process(f, 12, 3, 0);
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n");
    fake_tree_write(&f->cgroup, "a/cgroup.procs", "11\n");
    fake_tree_write(&f->cgroup, "a/b/cgroup.procs", "12\n");
    assert_int_equal(fstat(f->cg.dir_fd, &st), 0);
    if (st.st_nlink <= 2) { /* btrfs and overlayfs don't count links as kernfs does */
        print_message("the file system of /tmp doesn't count subdirectories\n");
        skip();
    }
    assert_int_equal(sample_pages(f, 1), 123);
}

/* ---- from real processes --------------------------------------------------------------------- */

static pid_t spawn_worker(char *shared, size_t size)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        volatile char sum = 0;

        for (size_t i = 0; i < size; i += 4096)
            sum = (char)(sum + shared[i]);
        (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return pid;
}

static void test_forked_workers_of_the_real_kernel_count_once(void **state)
{
    enum { WORKERS = 4, SIZE = 64 << 20 };
    struct fixture *f = *state;
    char *shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid_t pids[WORKERS];
    char text[128];
    struct nm_cgroup_sample c;
    int len;

    assert_ptr_not_equal(shared, MAP_FAILED);
    memset(shared, 1, SIZE);
    len = snprintf(text, sizeof text, "%d\n", (int)getpid());
    for (size_t i = 0; i < WORKERS; i++) {
        pids[i] = spawn_worker(shared, SIZE);
        len += snprintf(text + len, sizeof text - (size_t)len, "%d\n", (int)pids[i]);
    }
    fake_tree_write(&f->cgroup, "cgroup.procs", text);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, "/proc", &f->sampler), 0);
    /* Shared pages count once, not five times. The margin covers the rest of the process, which is large with a
     * sanitizer. */
    assert_pages_in(f, nm_now_usec(), SIZE / PAGE, 2 * SIZE / PAGE);
    for (size_t i = 0; i < WORKERS; i++) {
        assert_int_equal(kill(pids[i], SIGKILL), 0);
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    }
    assert_int_equal(munmap(shared, SIZE), 0);

    use_cpu(f);
    /* The workers are dead: reads of their kept descriptors fail, and only this process is left. */
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, nm_now_usec(), &c), 0);
    assert_in_range(c.memory_bytes, PAGE, SIZE);
}

enum { LIVING_SIZE = 64 << 20 };

/* Waits until the first thread is a zombie, and reports this state. */
static void *outlive_first_thread(void *arg)
{
    const int ready = *(int *)arg;
    char name[64], text[512] = "";
    void *memory = mmap(NULL, LIVING_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(memory, 1, LIVING_SIZE);
    (void)snprintf(name, sizeof name, "/proc/%d/stat", (int)getpid());
    while (!strstr(text, ") Z ")) {
        int fd = open(name, O_RDONLY | O_CLOEXEC);
        ssize_t n = read(fd, text, sizeof text - 1);

        text[NM_MAX(n, 0)] = '\0';
        (void)close(fd);
        (void)poll(NULL, 0, 1);
    }
    (void)!write(ready, "x", 1);
    for (;;)
        pause();
    return NULL;
}

/* A process whose first thread has ended still uses its memory, which the sampler counts. */
static void test_the_memory_of_a_process_without_its_first_thread_counts(void **state)
{
    struct fixture *f = *state;
    char text[32], byte;
    int ready[2];
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        pthread_t thread;

        (void)alarm(60); /* ends this process if a check fails in it */
        if (pthread_create(&thread, NULL, outlive_first_thread, &ready[1]) != 0)
            _exit(1);
        pthread_exit(NULL);
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)snprintf(text, sizeof text, "%d\n", (int)pid);
    fake_tree_write(&f->cgroup, "cgroup.procs", text);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, "/proc", &f->sampler), 0);
    assert_pages_in(f, nm_now_usec(), LIVING_SIZE / PAGE, 3 * LIVING_SIZE / PAGE);
    use_cpu(f);
    assert_pages_in(f, nm_now_usec(), LIVING_SIZE / PAGE, 3 * LIVING_SIZE / PAGE);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The memory isn't read from threads that have ended. If no living thread is found, the memory is unknown. */
static void test_the_memory_of_a_process_is_read_from_a_living_thread(void **state)
{
    static const char ended[] = "Name:\tx\nState:\tZ (zombie)\nThreads:\t40\n";
    struct fixture *f = *state;
    struct nm_cgroup_sample c;
    char name[32];

    fake_tree_write(&f->cgroup, "cgroup.procs", "7\n");
    fake_tree_write(&f->proc, "7/statm", "0 0 0 0 0 0 0\n");
    fake_tree_write(&f->proc, "7/status", ended);
    fake_tree_write(&f->proc, "7/task/7/status", ended);
    fake_tree_write(&f->proc, "7/task/8/status", ended);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, NM_USEC_PER_SEC, &c), -EBADMSG);
    fake_tree_write(&f->proc, "7/task/9/status", "VmRSS:\t9 kB\nRssAnon:\t4096 kB\nRssShmem:\t0 kB\n"
                                                 "VmSwap:\t0 kB\nThreads:\t40\n");
    use_cpu(f);
    assert_int_equal(sample_pages(f, 2), (4096 << 10) / PAGE);
    fake_tree_write(&f->proc, "7/task/9/status", ended);
    for (int i = 10; i < 40; i++) {
        (void)snprintf(name, sizeof name, "7/task/%d/status", i);
        fake_tree_write(&f->proc, name, ended);
    }
    use_cpu(f);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 3 * NM_USEC_PER_SEC, &c), -EBADMSG);
}

/* Enters the cgroup and never sleeps. */
static pid_t spawn_spinner(const struct nm_cgroup *cg, const cpu_set_t *on)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = openat(cg->dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

        if (write(fd, "0", 1) != 1 || sched_setaffinity(0, sizeof *on, on) < 0)
            _exit(1);
        for (;;)
            ;
    }
    return pid;
}

static cpu_set_t one_cpu(void)
{
    cpu_set_t all, one;
    int cpu = 0;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return one;
}

/* Two processes that never sleep share one CPU, so that one of them always waits. The time until they start to run
 * depends on the host. */
static void watch_real_stall(struct nm_cgroup_sampler *s, const struct nm_cgroup *cg)
{
    uint64_t end = nm_now_usec() + 20 * NM_USEC_PER_SEC;
    struct nm_cgroup_sample c;
    cpu_set_t one = one_cpu();
    pid_t pids[2];
    int r = nm_cgroup_sampler_watch_stall(s, cg, true);

    if (r == -EOPNOTSUPP) {
        print_message("the cgroup has no cpu.pressure\n");
        return;
    }
    assert_int_equal(r, 0);
    for (int i = 0; i < 2; i++)
        pids[i] = spawn_spinner(cg, &one);
    do {
        (void)poll(NULL, 0, 200);
        assert_int_equal(nm_cgroup_sampler_sample(s, nm_now_usec(), &c), 0);
    } while (!(c.stall_known && c.stall_permille >= 500) && nm_now_usec() < end);
    for (int i = 0; i < 2; i++) {
        (void)kill(pids[i], SIGKILL);
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    }
    assert_true(c.stall_known);
    assert_in_range(c.stall_permille, 500, 1000);
}

static void test_a_real_cgroup_is_sampled(void **state)
{
    _cleanup_(nm_cgroup_sampler_freep) struct nm_cgroup_sampler *s = NULL;
    char path[64];
    struct nm_cgroup cg = {.dir_fd = -EBADF};
    struct nm_cgroup_sample c;
    int stat_fd;

    (void)state;
    make_own_cgroup(path, sizeof path);
    cg.dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(cg.dir_fd >= 0);
    stat_fd = openat(cg.dir_fd, "cpu.stat", O_RDONLY | O_CLOEXEC);
    assert_true(stat_fd >= 0);
    assert_int_equal(nm_cgroup_sampler_new(&cg, true, "/proc", &s), 0);
    assert_int_equal(nm_cgroup_collect(stat_fd), 0);
    assert_int_equal(nm_cgroup_sampler_sample(s, nm_now_usec(), &c), 0);
    assert_int_equal(c.cpu_usage_usec, 0);
    assert_int_equal(c.memory_bytes, 0);
    watch_real_stall(s, &cg);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(nm_cgroup_collect(stat_fd), -ENOENT);
    (void)nm_close(stat_fd);
    assert_int_equal(nm_cgroup_sampler_sample(s, nm_now_usec(), &c), -ENOENT);
    s = nm_cgroup_sampler_free(s);
    assert_int_equal(nm_cgroup_sampler_new(&cg, true, "/proc", &s), -ENOENT);
    cg.dir_fd = nm_close(cg.dir_fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_the_memory_is_read_from_the_cgroups_files),
        TEST(test_the_stall_time_is_sampled),
        TEST(test_the_memory_of_an_idle_cgroup_is_sampled),
        TEST(test_figures_that_rarely_change_are_rarely_read),
        TEST(test_pages_in_zswap_count_with_their_compressed_size),
        TEST(test_pages_that_return_from_swap_are_counted),
        TEST(test_optional_memory_files_of_a_cgroup_may_be_missing),
        TEST(test_without_the_memory_controller_files_in_proc_are_read),
        TEST(test_a_malformed_file_is_an_error),
        TEST(test_a_removed_cgroup_is_an_error),
        TEST(test_processes_that_start_and_end_are_sampled),
        TEST(test_the_growth_of_a_process_is_detected),
        TEST(test_an_idle_cgroup_is_read_rarely),
        TEST(test_the_memory_of_the_shim_does_not_count),
        TEST(test_shared_pages_count_once),
        TEST(test_small_processes_change_the_result_by_their_own_memory_at_most),
        TEST(test_a_cgroup_is_never_smaller_than_its_largest_process),
        TEST(test_a_blocked_walk_does_not_block_the_sampler),
        TEST(test_many_processes_are_sampled),
        TEST(test_processes_of_subgroups_count),
        TEST(test_forked_workers_of_the_real_kernel_count_once),
        TEST(test_the_memory_of_a_process_without_its_first_thread_counts),
        TEST(test_the_memory_of_a_process_is_read_from_a_living_thread),
        cmocka_unit_test(test_a_real_cgroup_is_sampled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
