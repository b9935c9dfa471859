/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Watches of a cgroup's events and of pressure. The tests use the real kernel, let files or memory be missing, and
 * remove the cgroup. A named pipe replaces a pressure file, because epoll accepts it in the same way.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cgroup/cgroup.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/fake-tree.h"
#include "tests/unit/own-cgroup.h"
#include "util/clock.h"
#include "util/error.h"

#define DEADLINE_USEC (60 * NM_USEC_PER_SEC)
#define FAIL_ALL (FAIL_MEMORY | FAIL_EVENT | FAIL_OPEN)

static struct {
    int fails[2]; /* results of write() to a pressure file; 0: the trigger is accepted */
    unsigned n_writes;
    char texts[2][64];
} trigger;

ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);

/* Replaces write(). Checks that a pressure trigger is written with its NUL, because the kernel overwrites the last byte
 * of the written text with a NUL. Fails if the test has set trigger.fails. */
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
    int error;

    if (size < 5 || (strncmp(data, "some ", 5) != 0 && strncmp(data, "full ", 5) != 0))
        return __real_write(fd, data, size);
    assert_int_equal(((const char *)data)[size - 1], '\0');
    if (trigger.n_writes >= NM_ARRAY_SIZE(trigger.fails))
        return __real_write(fd, data, size);
    (void)snprintf(trigger.texts[trigger.n_writes], sizeof trigger.texts[0], "%s", (const char *)data);
    error = trigger.fails[trigger.n_writes++];
    if (!error)
        return __real_write(fd, data, size);
    errno = error;
    return -1;
}

struct fixture {
    struct fake_tree dir;
    struct nm_cgroup *cg;
    sd_event *event;
};

static int setup(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);
    char path[80];

    assert_non_null(w);
    memset(&trigger, 0, sizeof trigger);
    fake_tree_init(&w->dir);
    fake_tree_write(&w->dir, "c/cgroup.procs", "");
    fake_tree_write(&w->dir, "c/cgroup.events", "populated 1\nfrozen 0\n");
    fake_tree_write(&w->dir, "c/memory.events", "oom 0\n");
    (void)snprintf(path, sizeof path, "%s/c/cpu.pressure", w->dir.path);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)snprintf(path, sizeof path, "%s/c", w->dir.path);
    assert_int_equal(nm_cgroup_open(path, "c", &w->cg), 0);
    assert_true(sd_event_new(&w->event) >= 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *w = *state;

    nm_cgroup_free(w->cg);
    sd_event_unref(w->event);
    fake_tree_done(&w->dir);
    free(w);
    return 0;
}

static bool is_shortage(int r)
{
    return r == -ENOMEM || r == -EMFILE;
}

static void run_until(sd_event *event, const unsigned *n, unsigned at_least)
{
    uint64_t deadline = nm_now_usec() + DEADLINE_USEC;

    while (*n < at_least && nm_now_usec() < deadline)
        assert_true(sd_event_run(event, 100 * NM_USEC_PER_MSEC) >= 0);
    assert_true(*n >= at_least);
}

/* ---- events ---------------------------------------------------------------------------------- */

struct seen {
    unsigned n;
    bool gone;
};

static void on_change(enum nm_cgroup_watch_kind kind, bool gone, void *userdata)
{
    struct seen *s = userdata;

    (void)kind;
    s->n++;
    s->gone = gone;
}

static void test_a_watch_that_can_not_be_made_is_an_error(void **state)
{
    struct fixture *w = *state;
    struct seen s = {0};
    bool failed = true;

    for (unsigned n = 1; failed; n++) {
        struct nm_cgroup_watch *watch = NULL;
        int r;

        fail_nth(FAIL_ALL, n);
        r = nm_cgroup_watch_new(w->event, w->cg, NM_CGROUP_WATCH_EVENTS, on_change, &s, &watch);
        failed = fail_stop();
        if (!failed)
            assert_int_equal(r, 0);
        assert_true(r == 0 || is_shortage(r));
        assert_true((watch != NULL) == (r == 0));
        assert_null(nm_cgroup_watch_free(watch));
    }
    assert_int_equal(s.n, 0);
    fake_tree_unlink(&w->dir, "c/memory.events");
    assert_int_equal(nm_cgroup_watch_new(w->event, w->cg, NM_CGROUP_WATCH_MEMORY_EVENTS, on_change, &s,
                                         &(struct nm_cgroup_watch *){NULL}),
                     -ENOENT);
}

/* An empty cgroup is reported even if the watch for its removal can't be made. */
static void test_an_empty_cgroup_is_reported_although_its_removal_can_not_be_watched(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_watch *watch = NULL;
    struct seen s = {0};

    assert_int_equal(nm_cgroup_watch_new(w->event, w->cg, NM_CGROUP_WATCH_EVENTS, on_change, &s, &watch), 0);
    fake_tree_write(&w->dir, "c/cgroup.events", "populated 0\nfrozen 0\n");
    fail_nth(FAIL_EVENT, 1);
    run_until(w->event, &s.n, 1);
    (void)fail_stop();
    assert_false(s.gone);
    fake_tree_write(&w->dir, "c/cgroup.events", "populated 0\nfrozen 1\n"); /* the next change makes the second watch */
    run_until(w->event, &s.n, 2);
    fake_tree_write(&w->dir, "sibling", ""); /* the removal of another cgroup isn't reported */
    fake_tree_unlink(&w->dir, "sibling");
    while (sd_event_run(w->event, 20 * NM_USEC_PER_MSEC) > 0)
        continue;
    assert_false(s.gone);
    fake_tree_unlink(&w->dir, "c/cgroup.events");
    assert_int_equal(remove_tree(w->cg->path), 0);
    for (unsigned n = s.n; !s.gone; n++)
        run_until(w->event, &s.n, n + 1);
    assert_null(nm_cgroup_watch_free(watch));
}

/* A cgroup may be removed before the watch is made, while nmd still has its directory open. The watch reports the
 * removal. */
static void test_a_removed_cgroup_is_reported(void **state)
{
    struct nm_cgroup cg = {.dir_fd = -EBADF};
    struct fixture *w = *state;
    struct seen s = {0};
    char path[64];

    make_own_cgroup(path, sizeof path);
    cg.dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cg.path = path;
    assert_true(cg.dir_fd >= 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(nm_cgroup_watch_new(w->event, &cg, NM_CGROUP_WATCH_EVENTS, on_change, &s,
                                         &(struct nm_cgroup_watch *){NULL}),
                     -ENOENT);
    cg.dir_fd = nm_close(cg.dir_fd);
}

/* ---- pressure -------------------------------------------------------------------------------- */

static void on_pressure(void *userdata)
{
    ++*(unsigned *)userdata;
}

static int watch_pressure(struct fixture *w, uint64_t stall_usec, uint64_t window_usec, struct nm_psi_watch **ret)
{
    static unsigned n;

    return nm_psi_watch_new(w->event, w->cg->dir_fd, "cpu.pressure", true, stall_usec, window_usec, on_pressure, &n,
                            ret);
}

static void test_a_pressure_watch_that_can_not_be_made_is_an_error(void **state)
{
    struct fixture *w = *state;
    struct nm_psi_watch *watch = NULL;
    struct nm_psi psi = {.some.total_usec = 77};
    bool failed = true;

    trigger.n_writes = 2; /* all further triggers are accepted */
    for (unsigned n = 1; failed; n++) {
        int r;

        fail_nth(FAIL_ALL, n);
        r = watch_pressure(w, 100000, 1000000, &watch);
        assert_int_equal(r == 0, !(failed = fail_stop()));
        assert_true(r == 0 || is_shortage(r));
        assert_true((watch != NULL) == (r == 0));
        watch = nm_psi_watch_free(watch);
    }
    fake_tree_unlink(&w->dir, "c/cpu.pressure");
    assert_int_equal(watch_pressure(w, 100000, 1000000, &watch), -ENOENT);
    assert_int_equal(nm_psi_read(w->cg->dir_fd, "cpu.pressure", &psi), -ENOENT);
    fake_tree_write(&w->dir, "c/cpu.pressure", "all quiet\n");
    assert_int_equal(watch_pressure(w, 100000, 1000000, &watch), -EPERM); /* epoll's error for a file that can't be
                                                                             watched */
    assert_int_equal(nm_psi_read(w->cg->dir_fd, "cpu.pressure", &psi), -EBADMSG);
    assert_true(psi.some.total_usec == 77 && !watch);
}

/* An unprivileged process can use only windows that are a multiple of 2 s. The stall time is scaled so that the
 * share stays the same. */
static void test_an_unprivileged_process_uses_a_longer_window(void **state)
{
    static const struct {
        int fails[2];
        uint64_t stall_usec, window_usec;
        int r;
        const char *second; /* NULL: no second trigger is written */
    } cases[] = {
        {{EINVAL, 0}, 150000, 1000000, 0, "full 300000 2000000"},
        {{EPERM, 0}, 150000, 3000000, 0, "full 200000 4000000"},
        {{EPERM, EPERM}, 150000, 1000000, -EPERM, "full 300000 2000000"},
        {{EINVAL, EINVAL}, 100000, 1000000, -EINVAL, "full 200000 2000000"},
        {{EINVAL, 0}, 150000, 4000000, -EINVAL, NULL}, /* already a multiple of 2 s */
        {{EOPNOTSUPP, 0}, 150000, 1000000, -EOPNOTSUPP, NULL},
    };
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_psi_watch *watch = NULL;
        char first[64];

        memset(&trigger, 0, sizeof trigger);
        memcpy(trigger.fails, cases[i].fails, sizeof trigger.fails);
        assert_int_equal(watch_pressure(w, cases[i].stall_usec, cases[i].window_usec, &watch), cases[i].r);
        (void)snprintf(first, sizeof first, "full %ju %ju", (uintmax_t)cases[i].stall_usec,
                       (uintmax_t)cases[i].window_usec);
        assert_string_equal(trigger.texts[0], first);
        assert_string_equal(trigger.texts[1], cases[i].second ? cases[i].second : "");
        assert_true((watch != NULL) == (cases[i].r == 0));
        (void)nm_psi_watch_free(watch);
    }
}

/* Starts a process that never sleeps, in that cgroup and on one CPU. */
static pid_t spawn_spinner(const char *procs)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(procs, O_WRONLY | O_CLOEXEC);
        cpu_set_t one, all;
        int cpu = 0;

        alarm(120);
        (void)sched_getaffinity(0, sizeof all, &all);
        while (!CPU_ISSET(cpu, &all))
            cpu++;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (write(fd, "0", 1) != 1 || sched_setaffinity(0, sizeof one, &one) < 0)
            _exit(1);
        for (;;)
            ;
    }
    return pid;
}

/* Pressure of the real kernel is reported while two processes share a CPU. After the removal of the cgroup, the watch
 * does not keep the loop busy. */
static void test_pressure_of_the_real_kernel_is_reported(void **state)
{
    struct fixture *w = *state;
    struct nm_psi_watch *watch = NULL;
    char path[64], procs[96];
    unsigned n = 0;
    pid_t pids[2];
    int fd, r;

    make_own_cgroup(path, sizeof path);
    trigger.n_writes = 2;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = nm_psi_watch_new(w->event, fd, "cpu.pressure", false, 10000, 500000, on_pressure, &n, &watch);
    fd = nm_close(fd);
    if (r < 0) {
        assert_int_equal(rmdir(path), 0);
        print_message("no trigger can be set on cpu.pressure: %s\n", strerror(-r));
        skip();
    }
    (void)snprintf(procs, sizeof procs, "%s/cgroup.procs", path);
    for (int i = 0; i < 2; i++)
        pids[i] = spawn_spinner(procs);
    run_until(w->event, &n, 1);
    for (int i = 0; i < 2; i++) {
        (void)kill(pids[i], SIGKILL);
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    }
    assert_int_equal(rmdir(path), 0);
    n = 0;
    while (sd_event_run(w->event, 50 * NM_USEC_PER_MSEC) > 0)
        assert_true(++n < 1000);
    assert_null(nm_psi_watch_free(watch));
    assert_null(nm_psi_watch_free(NULL));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_watch_that_can_not_be_made_is_an_error),
        TEST(test_an_empty_cgroup_is_reported_although_its_removal_can_not_be_watched),
        TEST(test_a_removed_cgroup_is_reported),
        TEST(test_a_pressure_watch_that_can_not_be_made_is_an_error),
        TEST(test_an_unprivileged_process_uses_a_longer_window),
        TEST(test_pressure_of_the_real_kernel_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
