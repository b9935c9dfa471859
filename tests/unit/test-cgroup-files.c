/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The direct backend and the functions that read a cgroup's files, on directories of plain files. The tests check which
 * files are written with and without controllers, and how wrong, missing and unreadable files are handled.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cgroup/procs.h"
#include "tests/unit/direct-fixture.h"
#include "tests/unit/fail-nth.h"
#include "util/clock.h"
#include "util/error.h"

static bool is_member;
static bool swappiness_is_known = true;

bool __real_nm_procs_is_member(pid_t pid, const char *name);
bool __wrap_nm_procs_is_member(pid_t pid, const char *name);
int __real_nm_write_file_at(int dir_fd, const char *name, const char *text);
int __wrap_nm_write_file_at(int dir_fd, const char *name, const char *text);

bool __wrap_nm_procs_is_member(pid_t pid, const char *name)
{
    return is_member || __real_nm_procs_is_member(pid, name);
}

int __wrap_nm_write_file_at(int dir_fd, const char *name, const char *text)
{
    return !swappiness_is_known && strchr(text, '=') ? -EINVAL : __real_nm_write_file_at(dir_fd, name, text);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_each_limit_is_written_to_its_file(void **state)
{
    struct fixture *w = *state;
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
    assert_int_equal(nm_cgroup_check_drift(w->b, w->cg, &l), 0); /* the check reads the values back */
    fake_tree_write(&w->dir, SCOPE "io.weight", "default 11\n");
    fake_tree_write(&w->dir, SCOPE "cpu.max", "140000 100000\n");
    assert_int_equal(nm_cgroup_check_drift(w->b, w->cg, &l),
                     1 << NM_CGROUP_DRIFT_IO_WEIGHT | 1 << NM_CGROUP_DRIFT_CPU_QUOTA);
}

static void test_limits_without_a_file_are_not_set(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a = {0};

    fake_tree_unlink(&w->dir, SCOPE "memory.oom.group"); /* older kernels with the memory controller lack this file */
    w->b->feature[NM_CGROUP_PIDS] = w->b->feature[NM_CGROUP_IO_WEIGHT] = false;
    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);
    assert_int_equal(a.result, 0);
    assert_file(w, "memory.max", "8388608");
    assert_file(w, "pids.max", "");
    assert_file(w, "io.weight", "");
}

static void test_a_refused_limit_is_reported(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a = {0};

    fake_tree_unlink(&w->dir, SCOPE "memory.max");
    fake_tree_write(&w->dir, SCOPE "memory.max/it-is-a-directory", "");
    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);
    assert_int_equal(a.result, -EISDIR);
    assert_non_null(strstr(a.message, "can't set the limits of nmtest-c1.scope: Is a directory"));
    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, NULL, NULL), 0); /* the callback may be NULL */
}

/* A failed creation leaves no cgroup. Here the creation fails because a new plain directory has no files for limits. */
static void test_a_failed_creation_leaves_no_cgroup(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a = {0};

    assert_int_equal(w->b->ops->create(w->b, "c2", "", getpid(), &l, on_done, &a), 0);
    assert_true(a.n_calls == 1 && a.result < 0);
    assert_non_null(strstr(a.message, "can't set the limits of nmtest-c2.scope: "));
    assert_false(fake_tree_has(&w->dir, "root/" SLICE "/nmtest-c2.scope"));
    a = (struct answer){0};
    assert_int_equal(w->b->ops->create(w->b, "c1", "", getpid(), &l, on_done, &a), 0);
    assert_int_equal(a.result, -EEXIST); /* the cgroup is in use: it isn't empty */
    assert_non_null(strstr(a.message, "isn't empty"));
    assert_int_equal(w->b->ops->create(w->b, "no/name", "", getpid(), &l, on_done, &a), -EINVAL);
}

/* A process that was born in its cgroup is killed if the limits can't be set. Otherwise the process would wait at its
 * gate for ever. */
static void test_a_process_whose_limits_fail_is_killed(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a = {0};

    fake_tree_write(&w->dir, SCOPE "cgroup.kill", "");
    fake_tree_unlink(&w->dir, SCOPE "memory.max");
    fake_tree_write(&w->dir, SCOPE "memory.max/it-is-a-directory", "");
    is_member = true;
    assert_int_equal(w->b->ops->create(w->b, "c1", "", getpid(), &l, on_done, &a), 0);
    assert_int_equal(a.result, -EISDIR);
    assert_non_null(strstr(a.message, "can't set the limits of nmtest-c1.scope: "));
    assert_file(w, "cgroup.kill", "1");
    fake_tree_unlink(&w->dir, SCOPE "memory.max/it-is-a-directory");
    a = (struct answer){0};
    assert_int_equal(w->b->ops->create(w->b, "c7", "", getpid(), &l, on_done, &a), 0); /* the process has ended */
    assert_int_equal(a.result, -ENOENT);
    is_member = false;
}

static void test_a_failed_removal_reports_the_reason(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = NULL;

    assert_int_equal(w->b->ops->remove(w->b, w->cg), -EBUSY); /* a plain directory with plain files in it can't be
                                                                 removed */
    fake_tree_write(&w->dir, SCOPE "sub/cgroup.procs", "1\n");
    assert_int_equal(w->b->ops->remove(w->b, w->cg), -EBUSY);
    assert_int_equal(w->b->ops->prepare(w->b, "c2", &cg), 0);
    assert_int_equal(rmdir(cg->path), 0);
    assert_int_equal(w->b->ops->remove(w->b, cg), 0); /* another process has removed it already */
    fake_tree_write(&w->dir, "root/" SLICE "/nmtest-c2.scope", "a file");
    assert_int_equal(w->b->ops->remove(w->b, cg), -ENOTDIR);
    nm_cgroup_free(cg);
}

static void ignore(struct nm_cgroup *cg, const char *id, void *userdata)
{
    (void)id;
    ++*(unsigned *)userdata;
    nm_cgroup_free(cg);
}

/* The backend makes the removed slice again with its limits, and makes the container's cgroup in the slice. */
static void test_a_removed_slice_is_made_again_with_its_limits(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct nm_cgroup *cg = NULL;
    struct answer a = {0};
    char path[128];
    unsigned n = 0;

    (void)snprintf(path, sizeof path, "%s/root/" SLICE, w->dir.path);
    for (enum nm_cgroup_feature f = 0; f < NM_CGROUP_FEATURE_COUNT; f++)
        w->b->feature[f] = false; /* a new plain directory has no files for limits */
    assert_int_equal(w->b->ops->set_slice_limits(w->b, &l, on_done, &a), 0);
    assert_int_equal(remove_tree(path), 0);
    assert_int_equal(w->b->ops->list(w->b, ignore, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(w->b->ops->prepare(w->b, "c2", &cg), 0);
    cg = nm_cgroup_free(cg);
    assert_int_equal(w->b->ops->list(w->b, ignore, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(remove_tree(path), 0);
    assert_int_equal(w->b->ops->set_slice_limits(w->b, &l, on_done, &a), 0);
    assert_int_equal(a.result, 0);
    assert_true(fake_tree_has(&w->dir, "root/" SLICE));
    assert_int_equal(remove_tree(path), 0);
    fake_tree_write(&w->dir, "root/" SLICE, "a file");
    assert_int_equal(w->b->ops->set_slice_limits(w->b, &l, on_done, &a), 0);
    assert_int_equal(a.result, -ENOTDIR);
    assert_int_equal(w->b->ops->list(w->b, ignore, &n), -ENOTDIR);
    assert_int_equal(w->b->ops->prepare(w->b, "c3", &cg), -ENOTDIR);
    assert_null(cg);
    fake_tree_unlink(&w->dir, "root/" SLICE);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void test_an_invalid_cgroup_file_is_an_error(void **state)
{
    static const struct {
        const char *file, *text;
    } cases[] = {
        {"memory.max", "many\n"},  {"cpu.max", "max\n"},          {"cpu.max", "x 100000\n"}, {"cpu.max", "max 0\n"},
        {"cpu.weight", "\n"},      {"io.weight", "defaults 1\n"}, {"io.weight", "default x\n"},
        {"memory.oom.group", "-"},
    };
    struct fixture *w = *state;
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
    assert_int_equal(nm_cgroup_read_swap(w->cg, &v), -EOPNOTSUPP); /* the file doesn't exist */
    fake_tree_write(&w->dir, SCOPE "memory.swap.current", "much\n");
    assert_int_equal(nm_cgroup_read_swap(w->cg, &v), -EBADMSG);
    assert_int_equal(v, 77);
    fake_tree_write(&w->dir, SCOPE "memory.swap.current", "4096\n");
    assert_int_equal(nm_cgroup_read_swap(w->cg, &v), 0);
    assert_int_equal(v, 4096);
}

/* A missing file of a limit gives -EOPNOTSUPP, except for io.weight and pids.max, which are optional. */
static void test_a_missing_file_of_a_limit_is_reported(void **state)
{
    static const struct {
        const char *file;
        int r; /* result of the check without the file */
    } cases[] = {
        {"memory.max", -EOPNOTSUPP}, {"cpu.max", -EOPNOTSUPP}, {"cpu.weight", -EOPNOTSUPP},
        {"memory.oom.group", -EOPNOTSUPP}, {"io.weight", 0}, {"pids.max", 0},
    };
    struct fixture *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        char name[128];

        assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);
        (void)snprintf(name, sizeof name, SCOPE "%s", cases[i].file);
        fake_tree_unlink(&w->dir, name);
        assert_int_equal(nm_cgroup_check_drift(w->b, w->cg, &l), cases[i].r);
        fake_tree_write(&w->dir, name, "");
    }
    assert_string_equal(nm_cgroup_drift_file(NM_CGROUP_DRIFT_CPU_QUOTA), "cpu.max");
    assert_string_equal(nm_cgroup_drift_file(NM_CGROUP_DRIFT_COUNT), "unknown");
    assert_string_equal(nm_cgroup_feature_name(NM_CGROUP_FEATURE_COUNT), "unknown");
}

/* On a kernel without cpu.idle, nmd sets the lowest weight instead. With cpu.idle, cpu.weight of an idle group reads as
 * 0. "No limit" differs from a very high limit. */
static void test_drift_of_the_cpu_limits_depends_on_cpu_idle(void **state)
{
    static const struct {
        bool has_idle, is_idle;
        uint64_t quota;
        const char *weight, *idle, *max;
        int drift;
    } cases[] = {
        {true, true, NM_CGROUP_NONE, "0", "1", "max 100000", 0},
        {true, true, NM_CGROUP_NONE, "0", "0", "max 100000", 1 << NM_CGROUP_DRIFT_CPU_IDLE},
        {false, true, NM_CGROUP_NONE, "1", "0", "max 100000", 0},
        {false, true, NM_CGROUP_NONE, "250", "0", "max 100000", 1 << NM_CGROUP_DRIFT_CPU_WEIGHT},
        {true, false, NM_CGROUP_NONE, "250", "0", "150000 100000", 1 << NM_CGROUP_DRIFT_CPU_QUOTA},
        {true, false, 1500, "250", "0", "max 100000", 1 << NM_CGROUP_DRIFT_CPU_QUOTA},
        {true, false, 1500, "250", "0", "15000 10000", 0}, /* the same rate */
        {true, false, 1500, "250", "0", "150000 x", -EBADMSG},
        {true, false, 1500, "250", "0", "150000 0", -EBADMSG},
    };
    struct fixture *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a;

    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        w->b->feature[NM_CGROUP_CPU_IDLE] = cases[i].has_idle;
        l.cpu_idle = cases[i].is_idle;
        l.cpu_quota_millicores = cases[i].quota;
        fake_tree_write(&w->dir, SCOPE "cpu.weight", cases[i].weight);
        fake_tree_write(&w->dir, SCOPE "cpu.idle", cases[i].idle);
        fake_tree_write(&w->dir, SCOPE "cpu.max", cases[i].max);
        if (nm_cgroup_check_drift(w->b, w->cg, &l) != cases[i].drift)
            fail_msg("case %zu: %d", i, nm_cgroup_check_drift(w->b, w->cg, &l));
    }
    w->b->feature[NM_CGROUP_CPU_WEIGHT] = false; /* without the feature nmd sets no value, so no drift is reported */
    assert_int_equal(nm_cgroup_check_drift(w->b, w->cg, &l), 0);
}

static void test_drift_of_the_slice_is_reported(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a;
    uint64_t v = 77;

    assert_int_equal(nm_cgroup_slice_read_max(w->b, &v), -EOPNOTSUPP);
    assert_int_equal(nm_cgroup_slice_check_drift(w->b, &l), -EOPNOTSUPP);
    assert_int_equal(v, 77);
    for (enum nm_cgroup_drift d = 0; d < NM_CGROUP_DRIFT_COUNT; d++) {
        char name[64];

        (void)snprintf(name, sizeof name, "root/" SLICE "/%s", nm_cgroup_drift_file(d));
        fake_tree_write(&w->dir, name, "");
    }
    assert_int_equal(w->b->ops->set_slice_limits(w->b, &l, on_done, &a), 0);
    assert_int_equal(nm_cgroup_slice_check_drift(w->b, &l), 0);
    assert_int_equal(nm_cgroup_slice_read_max(w->b, &v), 0);
    assert_int_equal(v, 8 << 20);
    fake_tree_write(&w->dir, "root/" SLICE "/cpu.weight", "1"); /* set by an administrator */
    fake_tree_write(&w->dir, "root/" SLICE "/memory.max", "max");
    assert_int_equal(nm_cgroup_slice_check_drift(w->b, &l), 1 << NM_CGROUP_DRIFT_MEMORY_MAX);
}

/* Functions that write and read files of a cgroup independently of the backend that made it. */
static void test_files_are_written_without_the_backend(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_memory_events e = {.oom = 77};
    bool is_frozen = true;

    assert_int_equal(nm_cgroup_read_freeze(w->cg, &is_frozen), -EOPNOTSUPP);
    assert_true(is_frozen);
    fake_tree_write(&w->dir, SCOPE "cgroup.freeze", "0\n");
    assert_int_equal(nm_cgroup_read_freeze(w->cg, &is_frozen), 0);
    assert_false(is_frozen);
    assert_int_equal(nm_cgroup_read_memory_events(w->cg, &e), 0); /* without the memory controller all counts are 0 */
    assert_int_equal(e.oom, 0);
    fake_tree_write(&w->dir, SCOPE "memory.events", "oom 3\n");
    assert_int_equal(nm_cgroup_read_memory_events(w->cg, &e), 0);
    assert_int_equal(e.oom, 3);
    nm_cgroup_lift_cpu_limits(w->cg);
    assert_file(w, "cpu.max", "max");
    assert_file(w, "cpu.idle", "0");
    assert_file(w, "cpu.weight", "10000");
    fake_tree_write(&w->dir, SCOPE "memory.swap.max", "");
    assert_int_equal(nm_cgroup_set_swap_max(w->cg, 4096), 0);
    assert_file(w, "memory.swap.max", "4096");
    fake_tree_write(&w->dir, SCOPE "memory.swap.max", "");
    assert_int_equal(nm_cgroup_set_swap_max(w->cg, NM_CGROUP_NONE), 0);
    assert_file(w, "memory.swap.max", "max");
    fake_tree_unlink(&w->dir, SCOPE "memory.events");
    fake_tree_write(&w->dir, SCOPE "memory.events/it-is-a-directory", "");
    assert_int_equal(nm_cgroup_read_memory_events(w->cg, &e), -EISDIR);
    assert_int_equal(e.oom, 3);
}

/* Linux before 6.8 doesn't accept swappiness in memory.reclaim, so the request is repeated without it. */
static void test_a_reclaim_is_repeated_without_swappiness(void **state)
{
    struct fixture *w = *state;

    fake_tree_write(&w->dir, SCOPE "memory.reclaim", "");
    assert_int_equal(nm_cgroup_reclaim(w->cg, 4096), 0);
    assert_file(w, "memory.reclaim", "4096 swappiness=200");
    fake_tree_write(&w->dir, SCOPE "memory.reclaim", "");
    swappiness_is_known = false;
    assert_int_equal(nm_cgroup_reclaim(w->cg, 8192), 0);
    swappiness_is_known = true;
    assert_file(w, "memory.reclaim", "8192");
    fake_tree_unlink(&w->dir, SCOPE "memory.reclaim");
    assert_int_equal(nm_cgroup_reclaim(w->cg, 4096), -EOPNOTSUPP);
}

/* ---- leftover processes ---------------------------------------------------------------------- */

/* Starts a process that hangs: the parent in vfork() is in state D until its child ends. */
static pid_t hanging(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        pid_t parent = getpid();

        alarm(60);
        if (vfork() == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* otherwise the child could outlive the test */
            if (getppid() == parent) /* the parent may have been killed before prctl() */
                (void)pause();
            _exit(0);
        }
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void test_leftover_processes_are_described(void **state)
{
    struct fixture *w = *state;
    uint64_t deadline = nm_now_usec() + 60 * NM_USEC_PER_SEC;
    struct nm_cgroup_leftover_procs s;
    char text[160], expected[160];
    pid_t pid;

    (void)snprintf(text, sizeof text, "%d\n", (int)getpid());
    fake_tree_write(&w->dir, SCOPE "cgroup.procs", text);
    assert_int_equal(nm_cgroup_leftover_procs(w->cg, &s), 0);
    assert_true(s.n == 1 && s.n_hanging == 0);
    nm_cgroup_leftover_procs_print(&s, text, sizeof text);
    assert_string_equal(text, "1 of its processes still exists, but no process hangs in the kernel");

    pid = hanging();
    (void)snprintf(text, sizeof text, "%d\n%d\n4194303\n", (int)getpid(), (int)pid); /* no process has the last id */
    fake_tree_write(&w->dir, SCOPE "cgroup.procs", text);
    do
        assert_int_equal(nm_cgroup_leftover_procs(w->cg, &s), 0);
    while (s.n_hanging == 0 && nm_now_usec() < deadline);
    assert_true(s.n == 3 && s.n_hanging == 1 && s.hanging == pid);
    nm_cgroup_leftover_procs_print(&s, text, sizeof text);
    (void)snprintf(expected, sizeof expected,
                   "1 of its processes hangs in the kernel (state D), for example %d (test-cgroup-fil)",
                   (int)pid);
    assert_string_equal(text, expected);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    s = (struct nm_cgroup_leftover_procs){.n = 2};
    nm_cgroup_leftover_procs_print(&s, text, sizeof text);
    assert_string_equal(text, "2 of its processes still exist, but no process hangs in the kernel");
    fake_tree_write(&w->dir, SCOPE "cgroup.procs", "");
    fake_tree_unlink(&w->dir, SCOPE "cgroup.procs");
    assert_int_equal(nm_cgroup_leftover_procs(w->cg, &s), -ENOENT); /* the cgroup was removed */
}

/* ---- failures -------------------------------------------------------------------------------- */

static void test_a_failed_start_reports_the_reason(void **state)
{
    struct fixture *w = *state;
    bool failed = true;

    for (unsigned n = 1; failed; n++) {
        int r;

        fail_nth(FAIL_MEMORY | FAIL_OPEN, n);
        r = fixture_start(w);
        failed = fail_stop();
        if (r != 0 && ((r != -ENOMEM && r != -EMFILE) || w->b))
            fail_msg("the %uth: %d", n, r);
        w->b = nm_cgroup_backend_free(w->b);
        free(w->message);
        w->message = NULL;
    }
}

static void test_a_failed_operation_reports_the_reason(void **state)
{
    struct fixture *w = *state;
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
        assert_int_equal(fake_tree_has(&w->dir, "root/" SLICE "/nmtest-c3.scope"), r == 0); /* undone after a failure */
        if (r == 0)
            assert_int_equal(w->b->ops->remove(w->b, cg), 0);
        nm_cgroup_free(cg);
    }
}

static void test_a_missing_cgroup_root_is_an_error(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_backend_params params = {
        .kind = NM_CGROUP_BACKEND_DIRECT, .slice = SLICE, .cgroup_root = "/nonexistent/cgroup"};

    if (geteuid() == 0) {
        assert_int_equal(nm_cgroup_backend_new(&params, &w->b, &w->message), -ENOENT);
        assert_non_null(strstr(w->message, "can't create the slice /nonexistent/cgroup/nmtest.slice: "));
    } else { /* a user's slice is made below the user's own cgroup, which this root lacks */
        assert_int_equal(nm_cgroup_backend_new(&params, &w->b, &w->message), -EACCES);
        assert_non_null(strstr(w->message, "cgroup /nonexistent/cgroup"));
    }
    free(w->message);
    w->message = NULL;
    params.slice = "two--steps.slice";
    assert_int_equal(nm_cgroup_backend_new(&params, &w->b, &w->message), -EINVAL);
    assert_non_null(strstr(w->message, "two--steps.slice"));
}

#define started(f) cmocka_unit_test_setup_teardown(f, fixture_started, fixture_teardown)
#define alone(f) cmocka_unit_test_setup_teardown(f, fixture_alone, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        started(test_each_limit_is_written_to_its_file),
        started(test_limits_without_a_file_are_not_set),
        started(test_a_refused_limit_is_reported),
        started(test_a_failed_creation_leaves_no_cgroup),
        started(test_a_process_whose_limits_fail_is_killed),
        started(test_a_failed_removal_reports_the_reason),
        started(test_a_removed_slice_is_made_again_with_its_limits),
        started(test_a_missing_file_of_a_limit_is_reported),
        started(test_drift_of_the_cpu_limits_depends_on_cpu_idle),
        started(test_drift_of_the_slice_is_reported),
        started(test_files_are_written_without_the_backend),
        started(test_a_reclaim_is_repeated_without_swappiness),
        started(test_an_invalid_cgroup_file_is_an_error),
        started(test_leftover_processes_are_described),
        alone(test_a_failed_start_reports_the_reason),
        started(test_a_failed_operation_reports_the_reason),
        alone(test_a_missing_cgroup_root_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
