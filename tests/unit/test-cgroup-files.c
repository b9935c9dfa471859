/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The direct backend, and what reads a cgroup's files, over directories of plain files: what it writes where there are
 * controllers, what it makes of files that aren't as they should be, and of what can't be had.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/direct-world.h"
#include "tests/unit/fail-nth.h"
#include "util/clock.h"
#include "util/error.h"

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_limits(void **state)
{
    struct world *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a = {0};

    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);
    assert_true(a.n_calls == 1 && a.result == 0);
    assert_file(w, "memory.max", "8388608");
    assert_file(w, "cpu.max", "150000 100000");
    assert_file(w, "cpu.weight", "250");
    assert_file(w, "pids.max", "7");
    assert_file(w, "memory.oom.group", "1");
    assert_file(w, "io.weight", "default 10");
    assert_int_equal(nm_cgroup_check_drift(w->b, w->cg, &l), 0); /* which reads them back */
    fake_tree_write(&w->dir, SCOPE "io.weight", "default 11\n");
    fake_tree_write(&w->dir, SCOPE "cpu.max", "140000 100000\n");
    assert_int_equal(nm_cgroup_check_drift(w->b, w->cg, &l),
                     1 << NM_CGROUP_DRIFT_IO_WEIGHT | 1 << NM_CGROUP_DRIFT_CPU_QUOTA);
}

static void test_what_is_not_there_is_not_set(void **state)
{
    struct world *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a = {0};

    fake_tree_unlink(&w->dir, SCOPE "memory.oom.group"); /* younger than its controller */
    w->b->feature[NM_CGROUP_PIDS] = w->b->feature[NM_CGROUP_IO_WEIGHT] = false;
    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);
    assert_int_equal(a.result, 0);
    assert_file(w, "memory.max", "8388608");
    assert_file(w, "pids.max", "");
    assert_file(w, "io.weight", "");
}

static void test_a_limit_that_is_refused(void **state)
{
    struct world *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a = {0};

    fake_tree_unlink(&w->dir, SCOPE "memory.max");
    fake_tree_write(&w->dir, SCOPE "memory.max/it-is-a-directory", "");
    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);
    assert_int_equal(a.result, -EISDIR);
    assert_non_null(strstr(a.message, "setting the limits of nmtest-c1.scope: Is a directory"));
    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, NULL, NULL), 0); /* nobody asked for the answer */
}

/* Nothing of one is left when it can't be completed: the plain directory has no files to set. */
static void test_a_creation_is_undone(void **state)
{
    struct world *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a = {0};

    assert_int_equal(w->b->ops->create(w->b, "c2", "", getpid(), &l, on_done, &a), 0);
    assert_true(a.n_calls == 1 && a.result < 0);
    assert_non_null(strstr(a.message, "setting its limits nmtest-c2.scope: "));
    assert_false(fake_tree_has(&w->dir, "root/" SLICE "/nmtest-c2.scope"));
    a = (struct answer){0};
    assert_int_equal(w->b->ops->create(w->b, "c1", "", getpid(), &l, on_done, &a), 0);
    assert_int_equal(a.result, -EEXIST); /* somebody's: it has something in it */
    assert_non_null(strstr(a.message, "isn't empty"));
    assert_int_equal(w->b->ops->create(w->b, "no/name", "", getpid(), &l, on_done, &a), -EINVAL);
}

/* ---- what is read ---------------------------------------------------------------------------- */

static void test_files_that_are_not_as_they_should_be(void **state)
{
    static const struct {
        const char *file, *text;
    } cases[] = {
        {"memory.max", "many\n"},  {"cpu.max", "max\n"},          {"cpu.max", "x 100000\n"}, {"cpu.max", "max 0\n"},
        {"cpu.weight", "\n"},      {"io.weight", "defaults 1\n"}, {"io.weight", "default x\n"},
        {"memory.oom.group", "-"},
    };
    struct world *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a;
    uint64_t v = 77;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        char name[128];

        assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);
        (void)snprintf(name, sizeof name, SCOPE "%s", cases[i].file);
        fake_tree_write(&w->dir, name, cases[i].text);
        if (nm_cgroup_check_drift(w->b, w->cg, &l) != -EBADMSG)
            fail_msg("%s of %s", cases[i].file, cases[i].text);
    }
    assert_int_equal(nm_cgroup_read_swap(w->cg, &v), -EOPNOTSUPP); /* there is no such file */
    fake_tree_write(&w->dir, SCOPE "memory.swap.current", "much\n");
    assert_int_equal(nm_cgroup_read_swap(w->cg, &v), -EBADMSG);
    assert_int_equal(v, 77);
    fake_tree_write(&w->dir, SCOPE "memory.swap.current", "4096\n");
    assert_int_equal(nm_cgroup_read_swap(w->cg, &v), 0);
    assert_int_equal(v, 4096);
}

/* ---- survivors ------------------------------------------------------------------------------- */

/* A parent in vfork() is in state D for as long as its child lives. */
static pid_t hanging(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        pid_t parent = getpid();

        alarm(60);
        if (vfork() == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* or it would outlive the test */
            if (getppid() == parent) /* which may be killed before that */
                (void)pause();
            _exit(0);
        }
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void test_survivors(void **state)
{
    struct world *w = *state;
    uint64_t deadline = nm_now_usec() + 60 * NM_USEC_PER_SEC;
    struct nm_cgroup_survivors s;
    char text[160], expected[160];
    pid_t pid;

    (void)snprintf(text, sizeof text, "%d\n", (int)getpid());
    fake_tree_write(&w->dir, SCOPE "cgroup.procs", text);
    assert_int_equal(nm_cgroup_survivors(w->cg, &s), 0);
    assert_true(s.n == 1 && s.n_hanging == 0);
    nm_cgroup_survivors_print(&s, text, sizeof text);
    assert_string_equal(text, "1 of its processes is there, though none hangs in the kernel");

    pid = hanging();
    (void)snprintf(text, sizeof text, "%d\n%d\n4194303\n", (int)getpid(), (int)pid); /* the last has gone */
    fake_tree_write(&w->dir, SCOPE "cgroup.procs", text);
    do
        assert_int_equal(nm_cgroup_survivors(w->cg, &s), 0);
    while (s.n_hanging == 0 && nm_now_usec() < deadline);
    assert_true(s.n == 3 && s.n_hanging == 1 && s.hanging == pid);
    nm_cgroup_survivors_print(&s, text, sizeof text);
    (void)snprintf(expected, sizeof expected,
                   "1 of its processes hangs in the kernel (state D), %d (test-cgroup-fil) for one",
                   (int)pid);
    assert_string_equal(text, expected);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    s = (struct nm_cgroup_survivors){.n = 2};
    nm_cgroup_survivors_print(&s, text, sizeof text);
    assert_string_equal(text, "2 of its processes are there, though none hangs in the kernel");
    fake_tree_write(&w->dir, SCOPE "cgroup.procs", "");
    fake_tree_unlink(&w->dir, SCOPE "cgroup.procs");
    assert_int_equal(nm_cgroup_survivors(w->cg, &s), -ENOENT); /* the cgroup itself has gone */
}

/* ---- what can't be had ----------------------------------------------------------------------- */

static void test_starts_that_fail(void **state)
{
    struct world *w = *state;
    bool failed = true;

    for (unsigned n = 1; failed; n++) {
        int r;

        fail_nth(FAIL_MEMORY | FAIL_OPEN, n);
        r = world_start(w);
        failed = fail_stop();
        if (r != 0 && ((r != -ENOMEM && r != -EMFILE) || w->b))
            fail_msg("the %uth: %d", n, r);
        w->b = nm_cgroup_backend_free(w->b);
        free(w->message);
        w->message = NULL;
    }
}

static void test_operations_that_fail(void **state)
{
    struct world *w = *state;
    struct nm_cgroup_limits l = some_limits();
    bool failed = true;

    for (unsigned n = 1; failed; n++) {
        struct answer set = {0}, slice = {0};
        struct nm_cgroup *cg = NULL;
        int r;

        fail_nth(FAIL_MEMORY | FAIL_OPEN, n);
        assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &set), 0);
        assert_int_equal(w->b->ops->set_slice_limits(w->b, &NM_CGROUP_LIMITS_NONE, on_done, &slice), 0);
        r = w->b->ops->prepare(w->b, "c3", &cg);
        failed = fail_stop();
        assert_true(set.n_calls == 1 && slice.n_calls == 1);
        assert_true((cg != NULL) == (r == 0));
        assert_int_equal(fake_tree_has(&w->dir, "root/" SLICE "/nmtest-c3.scope"), r == 0); /* or it is undone */
        if (r == 0)
            assert_int_equal(w->b->ops->remove(w->b, cg), 0);
        nm_cgroup_free(cg);
    }
}

static void test_no_root(void **state)
{
    struct world *w = *state;
    struct nm_cgroup_backend_params params = {
        .kind = NM_CGROUP_BACKEND_DIRECT, .slice = SLICE, .cgroup_root = "/nonexistent/cgroup"};

    assert_int_equal(nm_cgroup_backend_new(&params, &w->b, &w->message), -ENOENT);
    assert_non_null(strstr(w->message, "making the slice /nonexistent/cgroup/nmtest.slice: "));
    free(w->message);
    w->message = NULL;
    params.slice = "two--steps.slice";
    assert_int_equal(nm_cgroup_backend_new(&params, &w->b, &w->message), -EINVAL);
    assert_non_null(strstr(w->message, "two--steps.slice"));
}

#define started(f) cmocka_unit_test_setup_teardown(f, world_started, world_teardown)
#define alone(f) cmocka_unit_test_setup_teardown(f, world_alone, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        started(test_limits),
        started(test_what_is_not_there_is_not_set),
        started(test_a_limit_that_is_refused),
        started(test_a_creation_is_undone),
        started(test_files_that_are_not_as_they_should_be),
        started(test_survivors),
        alone(test_starts_that_fail),
        started(test_operations_that_fail),
        alone(test_no_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
