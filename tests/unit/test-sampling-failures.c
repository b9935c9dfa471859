/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The cgroup sampler when an allocation or open fails, and when files are malformed: each time the caller's figures are
 * unchanged or right, the failed sample leaves no state, and the next sample is complete.
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
#include "tests/unit/fail-nth.h"
#include "tests/unit/sample-world.h"
#include "util/clock.h"

static bool fork_fails, pipe_fails, children_are_slow;
static unsigned pread_interrupted, waitpid_interrupted;
static pid_t last_child;

pid_t __real_fork(void);
pid_t __wrap_fork(void);
int __real_pipe2(int fds[2], int flags);
int __wrap_pipe2(int fds[2], int flags);
ssize_t __real_pread(int fd, void *buf, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t offset);
ssize_t __wrap___pread_chk(int fd, void *buf, size_t size, off_t offset, size_t buf_size);
pid_t __real_waitpid(pid_t pid, int *status, int flags);
pid_t __wrap_waitpid(pid_t pid, int *status, int flags);

pid_t __wrap_fork(void)
{
    if (fork_fails) {
        errno = EAGAIN;
        return -1;
    }
    return last_child = __real_fork();
}

int __wrap_pipe2(int fds[2], int flags)
{
    errno = EMFILE;
    return pipe_fails ? -1 : __real_pipe2(fds, flags);
}

static bool interrupts(unsigned *n)
{
    if (*n == 0)
        return false;
    --*n;
    errno = EINTR;
    return true;
}

ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t offset)
{
    return interrupts(&pread_interrupted) ? -1 : __real_pread(fd, buf, size, offset);
}

/* The variant that _FORTIFY_SOURCE uses. */
ssize_t __wrap___pread_chk(int fd, void *buf, size_t size, off_t offset, size_t buf_size)
{
    assert_true(size <= buf_size);
    return __wrap_pread(fd, buf, size, offset);
}

pid_t __wrap_waitpid(pid_t pid, int *status, int flags)
{
    if (interrupts(&waitpid_interrupted))
        return -1;
    return children_are_slow && flags & WNOHANG ? 0 : __real_waitpid(pid, status, flags);
}

/* ---- failing allocations and opens ----------------------------------------------------------- */

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

/* Returns how many allocations and opens a sampler needs. */
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

static void test_no_sampler(void **state)
{
    struct fixture *f = *state;

    write_memory_files(f);
    assert_int_equal(make_or_fail(f, true), 1 + 1 + 5);      /* the sampler, cpu.stat and five memory files */
    assert_int_equal(make_or_fail(f, false), 1 + 1 + 2 + 1); /* another allocation and cgroup.procs instead of memory */
    assert_null(nm_cgroup_sampler_free(NULL));
    fake_tree_unlink(&f->cgroup, "cgroup.procs");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), -ENOENT);
}

/* Writes four processes whose pages are shared by half. */
static void write_workers(struct fixture *f)
{
    for (int pid = 10; pid < 14; pid++) {
        write_process(f, pid, 20000, 0);
        write_rollup(f, pid, 12500, 0);
    }
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n11\n12\n13\n");
}

static void test_processes_that_cannot_be_read(void **state)
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
        } else { /* if they can't be remembered, each sample reads them */
            assert_in_range(c.memory_bytes / PAGE, 20000, 80000);
        }
        assert_int_equal(nm_cgroup_sampler_sample(f->sampler, now + 1, &c), 0);
        assert_in_range(c.memory_bytes / PAGE, 20000, 80000);
        f->sampler = nm_cgroup_sampler_free(f->sampler);
    }
}

/* If no process can walk the pages, the sum of the processes counts. */
static void test_no_walk(void **state)
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

/* ---- malformed files ------------------------------------------------------------------------- */

static void spoil(struct fixture *f, const char *file, const char *text)
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

static void mend(struct fixture *f, const char *file, bool is_directory)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%s/it-is-a-directory", file);
    if (is_directory)
        fake_tree_unlink(&f->cgroup, name);
    fake_tree_unlink(&f->cgroup, file);
    write_memory_files(f);
    fake_tree_write(&f->cgroup, "cpu.stat", "usage_usec 1000\n");
}

static void test_bad_files(void **state)
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

        spoil(f, cases[i].file, cases[i].text);
        assert_int_equal(nm_cgroup_sampler_new(&f->cg, true, f->proc.path, &f->sampler), 0);
        for (uint64_t now = 1; now <= 2; now++) { /* the failed read doesn't count as one */
            r = nm_cgroup_sampler_sample(f->sampler, now, &c);
            if (r != expected)
                fail_msg("%s, case %zu: %d", cases[i].file, i, r);
            assert_int_equal(c.at_usec, 7);
        }
        f->sampler = nm_cgroup_sampler_free(f->sampler);
        mend(f, cases[i].file, !cases[i].text);
    }
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, true, f->proc.path, &f->sampler), 0);
}

/* Reads one number of a whole slice, for callers that need nothing else. */
static void test_single_figures(void **state)
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

static void test_bad_processes(void **state)
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
    /* statm exists without status: the process ended between the two reads. */
    fake_tree_unlink(&f->proc, "10/status");
    write_statm(f, 10, 100, 900);
    use_cpu(f);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 11, &c), 0);
    assert_int_equal(c.memory_bytes, 0);
}

/* The list is longer than one read, and a read ends within a number. */
static void test_a_list_of_several_pieces(void **state)
{
    enum { LINES = 40000 };
    struct fixture *f = *state;
    struct nm_cgroup_sample c;
    char *text = malloc(7 * LINES + 1);

    assert_non_null(text);
    for (size_t i = 0; i < LINES; i++)
        (void)snprintf(text + 7 * i, 8, "%06d\n", 10); /* the same process on every line */
    fake_tree_write(&f->cgroup, "cgroup.procs", text);
    free(text);
    write_process(f, 10, 1, 0);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1, &c), 0);
    assert_int_equal(c.memory_bytes / PAGE, LINES);
}

/* ---- many processes ---------------------------------------------------------------------------- */

enum { OPEN_PROCESSES = 64, READS = 128 }; /* of one sample: through kept descriptors, and others */

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

/* Samples, and checks that no more files were opened than allowed. */
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

/* One sample reads a limited number of processes. The others count as before, and grow when their turn comes. */
static void test_one_sample_is_limited(void **state)
{
    enum { N = 1000, SAMPLES = (N - OPEN_PROCESSES + READS - 1) / READS };
    struct fixture *f = *state;
    uint64_t now = 0, pages = 0;

    for (int i = 0; i < N; i++)
        write_process(f, 10 + i, 1, 0);
    write_list(f, 10, N);
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    /* The first sample opens statm and status of the first processes. The rest is estimated. */
    assert_int_equal(sample_pages_within(f, ++now, 2 * OPEN_PROCESSES + READS), N);
    for (int i = 0; i < 4 * SAMPLES; i++)
        assert_int_equal(sample_pages_within(f, ++now, READS), N); /* only completes what is known */
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
    /* The sampler drops the figures of ended processes. It has read all 100 others by now, so it estimates none. */
    write_list(f, 500, 100);
    use_cpu(f);
    assert_int_equal(sample_pages_within(f, ++now, 2 * OPEN_PROCESSES + READS), 300);
}

/* A large process behind many small ones is found, is not multiplied, and never seems to have shrunk. */
static void test_a_large_process_among_many(void **state)
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

/* Processes that come anew all the time don't prevent that older ones are read again. */
static void test_forks_hide_no_growth(void **state)
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

/* If one of many processes can't be read, the memory is unknown until it can, and not just in the sample that tried. */
static void test_one_of_many_cannot_be_read(void **state)
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

static void test_too_many_processes(void **state)
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

/* Each process keeps its own figures, in whatever order they are listed. */
static void test_lists_in_any_order(void **state)
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

        for (int i = 0, at = (int)(seed % N); i < N; i++, at = (at + 7) % N) { /* 7 and N have no common factor */
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

/* ---- more malformed files ---------------------------------------------------------------------- */

/* A user in thousands of groups has a status file in which the relevant lines come late. */
static void test_a_status_with_many_groups(void **state)
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
    /* A status file that ends before the relevant lines doesn't mean a process without memory. */
    text[kept] = '\0';
    fake_tree_write(&f->proc, "10/status", text);
    free(text);
    write_statm(f, 10, 100, 5000);
    use_cpu(f);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 2, &c), -EBADMSG);
}

static void test_a_root_that_is_too_long(void **state)
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

/* ---- walks ----------------------------------------------------------------------------------- */

static const pid_t pid_10 = 10;
static const uint64_t some_bytes = 4096;

static int start_walk(struct fixture *f, struct nm_pagewalk *w)
{
    *w = NM_PAGEWALK_NULL;
    return nm_pagewalk_start(w, f->proc.path, &pid_10, &some_bytes, 1, 0, UINT64_MAX);
}

/* Makes the reader of this file wait for a writer that never comes. */
static void hold_up(struct fixture *f)
{
    char path[128];

    fake_tree_write(&f->proc, "10/here", "");
    (void)snprintf(path, sizeof path, "%s/10/smaps_rollup", f->proc.path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void test_a_walk_is_killed(void **state)
{
    struct fixture *f = *state;
    struct nm_pagewalk_result result = {.others.unique_bytes = 77};
    struct nm_pagewalk w;

    hold_up(f);
    assert_int_equal(start_walk(f, &w), 0);
    assert_int_equal(nm_pagewalk_collect(&w, 0, &result), -EAGAIN);
    assert_int_equal(kill(w.pid, SIGKILL), 0); /* as the kernel's OOM killer might */
    waitpid_interrupted = 2;
    assert_int_equal(nm_pagewalk_collect(&w, 20000, &result), -EIO);
    assert_int_equal(result.others.unique_bytes, 77);
    assert_int_equal(w.pid, 0);
    nm_pagewalk_done(&w); /* the walk is over already */
    assert_int_equal(start_walk(f, &w), 0); /* another walk may begin */
    nm_pagewalk_done(&w);
}

/* Most memory of a forked worker belongs to its parent, too. The share of one that has ended is unknown. */
static void test_a_walk_leaves_out_ended_processes(void **state)
{
    static const pid_t pids[] = {10, 11, 12};
    static const uint64_t bytes[] = {4096, 8192, 16384};
    struct fixture *f = *state;
    struct nm_pagewalk_result result = {0};
    struct nm_pagewalk w = NM_PAGEWALK_NULL;

    fake_tree_write(&f->proc, "10/here", ""); /* a kernel without smaps_rollup; 11 has ended */
    fake_tree_write(&f->proc, "12/smaps_rollup", "Rss: 16 kB\nPss: 1 kB\nPss_Anon: 1 kB\nPss_Shmem: 0 kB\n");
    assert_int_equal(nm_pagewalk_start(&w, f->proc.path, pids, bytes, 3, 0, UINT64_MAX), 0);
    assert_int_equal(nm_pagewalk_collect(&w, 20000, &result), 0);
    assert_int_equal(result.others.resident_bytes, 4096 + 16384);
    assert_int_equal(result.others.unique_bytes, 4096 + 1024);
    assert_int_equal(nm_pagewalk_start(&w, f->proc.path, pids, bytes, 3, 1, 1), 0); /* both groups are walked */
    assert_int_equal(nm_pagewalk_collect(&w, 20000, &result), 0);
    assert_int_equal(result.large.resident_bytes, 4096);
    assert_int_equal(result.others.resident_bytes, 16384);
}

/* The sampler counts nothing as shared after a failed walk, since that could hide used memory. */
static void test_a_samplers_walk_is_killed(void **state)
{
    struct fixture *f = *state;
    uint64_t deadline = nm_now_usec() + 60 * NM_USEC_PER_SEC;
    struct nm_cgroup_sample c;

    hold_up(f);
    write_process(f, 10, 20000, 0);
    write_process(f, 11, 20000, 0);
    fake_tree_write(&f->cgroup, "cgroup.procs", "10\n11\n");
    assert_int_equal(nm_cgroup_sampler_new(&f->cg, false, f->proc.path, &f->sampler), 0);
    assert_int_equal(nm_cgroup_sampler_sample(f->sampler, 1000000, &c), 0);
    assert_int_equal(c.memory_bytes / PAGE, 20000); /* the pages count as shared until the walk is done */
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

/* Freeing gigabytes takes a dying child some time, so that a limited number of children is left to die. Beyond that
 * number the walk waits for the next one, since it would become a zombie that is never collected. */
static void test_children_that_are_slow_to_die(void **state)
{
    struct fixture *f = *state;
    uint64_t deadline = nm_now_usec() + 60 * NM_USEC_PER_SEC;
    struct nm_pagewalk w;

    hold_up(f);
    children_are_slow = true;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(start_walk(f, &w), 0);
        nm_pagewalk_done(&w);
    }
    children_are_slow = false;
    do { /* the next walks collect them */
        assert_int_equal(start_walk(f, &w), 0);
        nm_pagewalk_done(&w);
    } while (has_children() && nm_now_usec() < deadline);
    assert_false(has_children());
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_no_sampler),
        TEST(test_processes_that_cannot_be_read),
        TEST(test_no_walk),
        TEST(test_bad_files),
        TEST(test_single_figures),
        TEST(test_bad_processes),
        TEST(test_a_list_of_several_pieces),
        TEST(test_one_sample_is_limited),
        TEST(test_a_large_process_among_many),
        TEST(test_forks_hide_no_growth),
        TEST(test_one_of_many_cannot_be_read),
        TEST(test_too_many_processes),
        TEST(test_lists_in_any_order),
        TEST(test_a_status_with_many_groups),
        TEST(test_a_root_that_is_too_long),
        TEST(test_a_walk_is_killed),
        TEST(test_a_walk_leaves_out_ended_processes),
        TEST(test_a_samplers_walk_is_killed),
        TEST(test_children_that_are_slow_to_die),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
