/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The cgroup sampler when an allocation or open() fails, and when files are malformed. Each time the caller's figures
 * are either unchanged or correct, the failed sample leaves no state, and the next sample is complete.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "monitor/procmem.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/sample-fixture.h"

static bool fork_fails, pipe_fails;
static unsigned pread_interrupted; /* number of reads that a signal interrupts */

pid_t __real_fork(void);
pid_t __wrap_fork(void);
int __real_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags);
ssize_t __real_pread(int fd, void *buf, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t offset);
ssize_t __wrap___pread_chk(int fd, void *buf, size_t size, off_t offset, size_t buf_size);

pid_t __wrap_fork(void)
{
    errno = EAGAIN;
    return fork_fails ? -1 : __real_fork();
}

int __wrap_pipe2(int fds[2], int flags)
{
    errno = EMFILE;
    return pipe_fails ? -1 : __real_pipe2(fds, flags);
}

ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t offset)
{
    if (pread_interrupted == 0)
        return __real_pread(fd, buf, size, offset);
    pread_interrupted--;
    errno = EINTR;
    return -1;
}

/* The variant of the function that _FORTIFY_SOURCE uses. */
ssize_t __wrap___pread_chk(int fd, void *buf, size_t size, off_t offset, size_t buf_size)
{
    assert_true(size <= buf_size);
    return __wrap_pread(fd, buf, size, offset);
}

static bool is_shortage(int r)
{
    return r == -ENOMEM || r == -EMFILE;
}

static void write_memory_files(struct fixture *f)
{
    fake_tree_write(&f->cgroup, "memory.stat", MEMORY_STAT);
    fake_tree_write(&f->cgroup, "memory.current", "7000\n");
    fake_tree_write(&f->cgroup, "memory.peak", "9000\n");
    fake_tree_write(&f->cgroup, "memory.swap.current", "70\n");
    fake_tree_write(&f->cgroup, "memory.events", "oom_kill 1\n");
}

/* Returns how many allocations and calls of open() a sampler needs. */
static unsigned make_or_fail(struct fixture *f, bool memory_controller)
{
    unsigned n;
    int r = -ENOMEM;

    for (n = 1; r != 0; n++) {
        fail_nth(FAIL_MEMORY | FAIL_OPEN, n);
        r = nm_cgroup_sampler_new(&f->cg, memory_controller, f->proc.path, &f->sampler);
        assert_int_equal(fail_stop(), r != 0);
        assert_true(r == 0 || is_shortage(r));
        assert_true((f->sampler != NULL) == (r == 0));
    }
    f->sampler = nm_cgroup_sampler_free(f->sampler);
    return n - 2;
}

static void test_a_sampler_is_made_completely_or_not_at_all(void **state)
{
    struct fixture *f = *state;

    write_memory_files(f);
    /* the sampler, cpu.stat and five files of memory figures */
    assert_int_equal(make_or_fail(f, true), 1 + 1 + 5);
    /* another allocation, and cgroup.procs instead of the files of memory figures */
    assert_int_equal(make_or_fail(f, false), 1 + 1 + 2 + 1);
    assert_null(nm_cgroup_sampler_free(NULL));
    fake_tree_unlink(&f->cgroup, "cgroup.procs");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), -ENOENT);
}

/* Writes four processes that share half of their pages. */
static void write_workers(struct fixture *f)
{
    for (int pid = 10; pid < 14; pid++) {
        write_process(f, pid, 20000, 0);
        write_rollup(f, pid, 12500, 0);
    }
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n11\n12\n13\n");
}

static void test_a_failed_read_of_processes_leaves_no_state(void **state)
{
    struct fixture *f = *state;
    uint64_t now = 0;
    bool failed = true;

    write_workers(f);
    for (unsigned n = 1; failed; n++) {
        struct nm_cgroup_sample c = {.at_usec = 7};
        int r;

        use_cpu(f);
        now += 1000000;
        assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
        fail_nth(FAIL_MEMORY | FAIL_OPEN, n);
        r = nm_cgroup_sampler_sample(f->sampler, now, &c);
        failed = fail_stop();
        if (r != 0) {
            assert_int_equal(r, -EMFILE);
            assert_int_equal(c.at_usec, 7);
        } else { /* if the sampler can't remember the processes, it reads them in each sample */
            assert_in_range(c.memory_bytes / PAGE, 20000, 80000);
        }
        assert_int_equal(nm_cgroup_sampler_sample(f->sampler, now + 1, &c), 0);
        assert_in_range(c.memory_bytes / PAGE, 20000, 80000);
        f->sampler = nm_cgroup_sampler_free(f->sampler);
    }
}

/* If no process can walk the pages, the memory is the sum of the processes' memory. */
static void test_without_a_page_walk_the_memory_is_the_sum_of_the_processes(void **state)
{
    struct fixture *f = *state;
    struct nm_cgroup_sample c;

    write_workers(f);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    fork_fails = true;
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1000000, &c), 0);
    assert_int_equal(c.memory_bytes / PAGE, 80000);
    fork_fails = false;
    pipe_fails = true;
    use_cpu(f);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 11000000, &c), 0);
    assert_int_equal(c.memory_bytes / PAGE, 80000);
    pipe_fails = false;
}

static void damage_file(struct fixture *f, const char *file, const char *text)
{
    char name[64];

    fake_tree_unlink(&f->cgroup, file);
    if (text) {
        fake_tree_write(&f->cgroup, file, text);
        return;
    }
    (void)snprintf(name, sizeof name, "%s/it-is-a-directory", file);
    fake_tree_write(&f->cgroup, name, "");
}

static void repair_file(struct fixture *f, const char *file, bool is_directory)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%s/it-is-a-directory", file);
    if (is_directory)
        fake_tree_unlink(&f->cgroup, name);
    fake_tree_unlink(&f->cgroup, file);
    write_memory_files(f);
    fake_tree_write(&f->cgroup, "cpu.stat", "usage_usec 1000\n");
}

static void test_a_malformed_file_leaves_the_figures_unchanged(void **state)
{
    static const struct {
        const char *file, *text;
    } cases[] = {
        {"cpu.stat", "usage_usec\n"}, {"cpu.stat", NULL},          {"memory.stat", "anon x\n"}, {"memory.stat", NULL},
        {"memory.current", "some\n"}, {"memory.current", NULL},    {"memory.peak", "-1\n"},     {"memory.peak", NULL},
        {"memory.swap.current", ""},  {"memory.swap.current", NULL}, {"memory.events", "oom_kill x\n"},
        {"memory.events", NULL},
    };
    struct fixture *f = *state;

    write_memory_files(f);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        int expected = cases[i].text ? -EBADMSG : -EISDIR;
        struct nm_cgroup_sample c = {.at_usec = 7};
        int r;

        damage_file(f, cases[i].file, cases[i].text);
        assert_int_equal(nm_cgroup_sampler_new(&f->cg, true, f->proc.path, &f->sampler), 0);
        for (uint64_t now = 1; now <= 2; now++) { /* the failed read doesn't count as a sample */
            r = nm_cgroup_sampler_sample(f->sampler, now, &c);
            if (r != expected)
                fail_msg("%s, case %zu: %d", cases[i].file, i, r);
            assert_int_equal(c.at_usec, 7);
        }
        f->sampler = nm_cgroup_sampler_free(f->sampler);
        repair_file(f, cases[i].file, !cases[i].text);
    }
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, true, f->proc.path, &f->sampler), 0);
}

/* Reads one number of the slice's cgroup, for callers that need no other figures. */
static void test_one_number_of_a_slices_cgroup_is_read(void **state)
{
    struct fixture *f = *state;
    uint64_t used = 77;
    int fd;

    fake_tree_write(&f->cgroup, "memory.stat", MEMORY_STAT);
    fd = openat(f->cg.dir_fd, "memory.stat", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    pread_interrupted = 2;
    assert_int_equal(nm_cgroup_read_used(fd, &used), 0);
    assert_int_equal(used, 1250);
    assert_int_equal(nm_cgroup_collect(fd), 0);
    fake_tree_write(&f->cgroup, "memory.stat", "anon 1\nanon x\n");
    assert_int_equal(nm_cgroup_read_used(fd, &used), -EBADMSG);
    assert_int_equal(nm_cgroup_read_used(f->cg.dir_fd, &used), -EISDIR);
    assert_int_equal(nm_cgroup_collect(f->cg.dir_fd), -EISDIR);
    assert_int_equal(used, 1250);
    fd = nm_close(fd);
}

static void test_malformed_files_of_a_process_leave_the_figures_unchanged(void **state)
{
    static const struct {
        const char *procs, *statm, *status;
    } cases[] = {
        {"10\nx\n", "9 9 9 9 9 9 9\n", "RssAnon:\t1 kB\n"},
        {"10\n", "many\n", "RssAnon:\t1 kB\n"},
        {"10\n", "9 9 9 9 9 9 9\n", "VmRSS:\t1 kB\nRssAnon:\tmuch\nThreads:\t1\n"},
    };
    struct fixture *f = *state;
    struct nm_cgroup_sample c = {.at_usec = 7};

    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        fake_tree_write(&f->cgroup, "cgroup.procs", cases[i].procs);
        fake_tree_write(&f->proc, "10/statm", cases[i].statm);
        fake_tree_write(&f->proc, "10/status", cases[i].status);
        use_cpu(f);
        assert_int_equal(nm_cgroup_sampler_sample(f->sampler, i + 1, &c), -EBADMSG);
        assert_int_equal(c.at_usec, 7);
    }
    write_process(f, 10, 100, 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 10, &c), 0);
    assert_int_equal(c.memory_bytes / PAGE, 100);
    /* /proc/PID/statm exists and /proc/PID/status doesn't: the process exited between the two reads. */
    fake_tree_unlink(&f->proc, "10/status");
    write_statm(f, 10, 100, 900);
    use_cpu(f);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 11, &c), 0);
    assert_int_equal(c.memory_bytes, 0);
}

/* The list of processes is longer than one read, and the first read ends within a number. */
static void test_a_list_of_processes_longer_than_one_read_is_read_completely(void **state)
{
    enum { LINES = 40000 };
    struct fixture *f = *state;
    struct nm_cgroup_sample c;
    char *text = malloc(7 * LINES + 1);

    assert_non_null(text);
    for (size_t i = 0; i < LINES; i++)
        (void)snprintf(text + 7 * i, 8, "%06d\n", 10); /* each line of the list has the same process */
    fake_tree_write(&f->cgroup, "cgroup.procs", text);
    free(text);
    write_process(f, 10, 1, 0);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    fork_fails = true; /* the estimate of shared memory would detect that all lines are the same process */
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1, &c), 0);
    fork_fails = false;
    assert_int_equal(c.memory_bytes / PAGE, LINES);
}

/* The status file of a process in thousands of groups has the required lines after a long list of groups. */
static void test_a_process_status_with_many_groups_is_read_to_its_end(void **state)
{
    enum { GROUPS = 65536 };
    struct fixture *f = *state;
    struct nm_cgroup_sample c;
    char *text = NULL;
    size_t size, kept;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    (void)fputs("Name:\tRssAnon:\nState:\tR (running)\nGroups:\t", out);
    for (unsigned i = 0; i < GROUPS; i++)
        (void)fprintf(out, "%u ", 4000000000u + i);
    kept = (size_t)ftell(out);
    (void)fprintf(out, "\nVmPeak:\t 9 kB\nVmRSS:\t %d kB\nRssAnon:\t %d kB\nRssFile:\t 0 kB\nRssShmem:\t 0 kB\n"
                       "VmSwap:\t 0 kB\nThreads:\t1\n", (int)(500 * PAGE / 1024), (int)(500 * PAGE / 1024));
    assert_int_equal(fclose(out), 0);
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n");
    write_statm(f, 10, 500, 0);
    fake_tree_write(&f->proc, "10/status", text);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1, &c), 0);
    assert_int_equal(c.memory_bytes / PAGE, 500);
    /* A status file that ends before the required lines must not be read as a process without memory. */
    text[kept] = '\0';
    fake_tree_write(&f->proc, "10/status", text);
    free(text);
    write_statm(f, 10, 100, 5000);
    use_cpu(f);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2, &c), -EBADMSG);
}

static void test_a_proc_path_that_is_too_long_is_an_error(void **state)
{
    struct fixture *f = *state;
    char root[5000];
    struct nm_cgroup_sample c = {.at_usec = 7};

    memset(root, '/', sizeof root - 1);
    root[sizeof root - 1] = '\0';
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, root, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1, &c), -ENAMETOOLONG);
    assert_int_equal(c.at_usec, 7);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_a_sampler_is_made_completely_or_not_at_all),
        TEST(test_a_failed_read_of_processes_leaves_no_state),
        TEST(test_without_a_page_walk_the_memory_is_the_sum_of_the_processes),
        TEST(test_a_malformed_file_leaves_the_figures_unchanged),
        TEST(test_one_number_of_a_slices_cgroup_is_read),
        TEST(test_malformed_files_of_a_process_leave_the_figures_unchanged),
        TEST(test_a_list_of_processes_longer_than_one_read_is_read_completely),
        TEST(test_a_process_status_with_many_groups_is_read_to_its_end),
        TEST(test_a_proc_path_that_is_too_long_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
