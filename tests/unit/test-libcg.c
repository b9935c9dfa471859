/* SPDX-License-Identifier: Apache-2.0 */

/* The direct backend with a fake libcgroup. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdint.h>
#include <string.h>

#include "cgroup/libcg.h"
#include "tests/unit/fake-libcgroup.h"
#include "util/error.h"

#define SECOND "nmtest-c2.scope" /* the cgroup of the container c2 */

static bool init(const struct fixture *w)
{
    char root[80];

    (void)snprintf(root, sizeof root, "%s/root", w->dir.path);
    return nm_libcg_init(root);
}

/* ---- starting -------------------------------------------------------------------------------- */

/* If the library fails to start, the backend starts without the library. */
static void test_libcgroup_is_not_used_if_it_fails_to_start(void **state)
{
    struct fixture *w = *state;

    assert_true(init(w));
    fake_libcgroup.init_fails = ECGFAIL;
    assert_false(init(w));
}

static void test_libcgroup_is_not_used_if_it_finds_another_mount(void **state)
{
    struct fixture *w = *state;

    fake_libcgroup.mounted_at = "/sys/fs/cgroup/memory"; /* a version 1 mount beside cgroup2 */
    assert_false(init(w));
    fake_libcgroup.mounts_none = true;
    assert_false(init(w));
    assert_false(nm_libcg_init("/nonexistent/cgroup"));
}

/* The library can't make cgroups without controllers, so the backend avoids the library's reading of all mounts. */
static void test_without_controllers_libcgroup_is_not_started(void **state)
{
    struct fixture *w = *state;

    fake_tree_write(&w->dir, "root/cgroup.controllers", "io rdma\n");
    assert_false(init(w));
    fake_tree_unlink(&w->dir, "root/cgroup.controllers");
    assert_false(init(w));

    assert_int_equal(fake_libcgroup.n_inits, 0);
}

/* Messages of the library go to the log at debug level, and never to stdout. */
static void test_messages_of_libcgroup_are_written_to_the_log(void **state)
{
    char text[2000];

    assert_true(init(*state));
    assert_non_null(fake_libcgroup.logger); /* the backend has set its logger again, because cgroup_init() sets another
                                               one */
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    fake_libcgroup_log("%s", text);
    fake_libcgroup_log("two\nlines\n");
    fake_libcgroup_log("%s", "");
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void test_libcgroup_creates_and_removes_a_cgroup(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = NULL;

    assert_int_equal(w->b->ops->prepare(w->b, "c2", &cg), 0);
    assert_int_equal(fake_libcgroup.n_created, 1);
    assert_string_equal(fake_libcgroup.name, SLICE "/" SECOND);
    assert_true(fake_tree_has(&w->dir, "root/" SLICE "/" SECOND "/cgroup.procs"));

    assert_int_equal(w->b->ops->remove(w->b, cg), 0);
    assert_int_equal(fake_libcgroup.n_deleted, 1);
    assert_false(fake_tree_has(&w->dir, "root/" SLICE "/" SECOND));
    nm_cgroup_free(cg);
}

static void test_libcgroup_writes_limits(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a = {0};

    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);

    assert_int_equal(a.result, 0);
    assert_int_equal(fake_libcgroup.n_modified, 1);
    assert_file(w, "memory.max", "8388608");
    assert_file(w, "cpu.max", "150000 100000");
    assert_file(w, "pids.max", "7");
    assert_int_equal(w->b->ops->set_slice_limits(w->b, &l, on_done, &a), 0);
    assert_string_equal(fake_libcgroup.name, SLICE);
}

/* The library reports success for an existing group, so the backend checks in the kernel whether the group existed. */
static void test_a_cgroup_that_exists_is_not_created(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = NULL;

    assert_int_equal(w->b->ops->prepare(w->b, "c1", &cg), -EEXIST);
    assert_null(cg);
    assert_int_equal(fake_libcgroup.n_created, 0);
}

static void test_each_error_code_of_libcgroup_is_converted_to_an_errno(void **state)
{
    static const struct {
        int ecg, last_errno, expected;
    } cases[] = {
        {0, 0, 0},
        {ECGOTHER, EAGAIN, -EAGAIN},
        {ECGOTHER, 0, -EIO}, /* the library has not saved the errno */
        {ECGROUPNOTEXIST, EAGAIN, -ENOENT},
        {ECGROUPVALUENOTEXIST, 0, -ENOENT},
        {ECGROUPNOTOWNER, 0, -EPERM},
        {ECGROUPNOTALLOWED, 0, -EPERM},
        {ECGNONEMPTY, 0, -EBUSY},
        {ECGINVAL, 0, -EINVAL},
        {ECGROUPNOTMOUNTED, 0, -EOPNOTSUPP},
        {ECGROUPSUBSYSNOTMOUNTED, 0, -EOPNOTSUPP},
        {ECGROUPNOTINITIALIZED, 0, -EOPNOTSUPP},
        {ECGCANTSETVALUE, 0, -EIO},
    };
    static const struct nm_limits_file file = {.controller = "memory", .file = "memory.max", .text = "max"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        fake_libcgroup.fails = cases[i].ecg;
        fake_libcgroup.last_errno = cases[i].last_errno;
        assert_int_equal(nm_libcg_create(SLICE "/c"), cases[i].expected);
        assert_int_equal(nm_libcg_set(SLICE "/c", &file, 1), cases[i].expected);
        assert_int_equal(nm_libcg_remove(SLICE "/c"), cases[i].expected);
    }
}

/* After any failure of the library the backend uses plain files, and reports the error of this second attempt. */
static void test_after_a_failure_of_libcgroup_plain_files_are_used(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct nm_cgroup *cg = NULL;
    struct answer a = {0};

    fake_libcgroup.fails = ECGOTHER;
    fake_libcgroup.last_errno = EINVAL;

    assert_int_equal(w->b->ops->prepare(w->b, "c2", &cg), 0);
    assert_int_equal(w->b->ops->remove(w->b, cg), 0);
    nm_cgroup_free(cg);
    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);
    assert_int_equal(a.result, 0);
    assert_file(w, "memory.max", "8388608");
}

static void test_a_second_failure_with_plain_files_is_reported(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct answer a = {0};

    fake_libcgroup.fails = ECGOTHER;
    fake_libcgroup.last_errno = EINVAL;
    fake_tree_unlink(&w->dir, SCOPE "memory.max");
    fake_tree_write(&w->dir, SCOPE "memory.max/it-is-a-directory", "");

    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);
    assert_int_equal(a.result, -EISDIR);
}

static void test_a_cgroup_that_libcgroup_only_reported_as_created_is_an_error(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = NULL;

    fake_libcgroup.does_nothing = true;
    assert_int_equal(w->b->ops->prepare(w->b, "c2", &cg), -ENOENT);
    assert_null(cg);
}

/* The library reports success for a removal that it has not made. The backend checks this, and removes the group. */
static void test_a_cgroup_that_libcgroup_only_reported_as_removed_is_removed(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = NULL;

    fake_libcgroup.fails = ECGFAIL;
    assert_int_equal(w->b->ops->prepare(w->b, "c2", &cg), 0);
    fake_libcgroup.fails = 0;
    fake_libcgroup.does_nothing = true;

    assert_int_equal(w->b->ops->remove(w->b, cg), 0);
    assert_false(fake_tree_has(&w->dir, "root/" SLICE "/" SECOND));
    nm_cgroup_free(cg);
}

/* ---- failed allocations: the library isn't called with incomplete data ----------------------------- */

static void test_after_a_failed_allocation_no_limit_is_set(void **state)
{
    static const struct nm_limits_file files[] = {
        {.controller = "memory", .file = "memory.max", .text = "max"},
        {.controller = "memory", .file = "memory.low", .text = "0"},
        {.controller = "cpu", .file = "cpu.idle", .text = "1"},
    };
    enum { GROUPS = 1, CONTROLLERS = 2, VALUES = NM_ARRAY_SIZE(files) };
    unsigned failures = 0;
    int r = -ENOMEM;

    (void)state;
    for (; r != 0; failures += r != 0) {
        fake_libcgroup.memory_left = failures + 1;
        r = nm_libcg_set(SLICE "/c", files, NM_ARRAY_SIZE(files));
        assert_int_equal(r, fake_libcgroup.memory_left == 0 ? -ENOMEM : 0);
        assert_int_equal(fake_libcgroup.n_modified, r == 0);
    }
    assert_int_equal(failures, GROUPS + CONTROLLERS + VALUES);
}

static void test_after_a_failed_allocation_no_cgroup_is_created_or_removed(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 2; n++) {
        fake_libcgroup.memory_left = n;
        assert_int_equal(nm_libcg_create(SLICE "/c"), -ENOMEM);
        fake_libcgroup.memory_left = n;
        assert_int_equal(nm_libcg_remove(SLICE "/c"), -ENOMEM);
    }
    assert_true(fake_libcgroup.n_created == 0 && fake_libcgroup.n_deleted == 0);
    fake_libcgroup.memory_left = 0;
    fake_libcgroup.mounts_none = true;
    assert_int_equal(nm_libcg_create(SLICE "/c"), -ENOMEM);
}

#define alone_test(f) cmocka_unit_test_setup_teardown(f, fake_libcgroup_alone, fixture_teardown)
#define started_test(f) cmocka_unit_test_setup_teardown(f, fake_libcgroup_started, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        alone_test(test_libcgroup_is_not_used_if_it_fails_to_start),
        alone_test(test_libcgroup_is_not_used_if_it_finds_another_mount),
        alone_test(test_without_controllers_libcgroup_is_not_started),
        alone_test(test_messages_of_libcgroup_are_written_to_the_log),
        started_test(test_libcgroup_creates_and_removes_a_cgroup),
        started_test(test_libcgroup_writes_limits),
        started_test(test_a_cgroup_that_exists_is_not_created),
        alone_test(test_each_error_code_of_libcgroup_is_converted_to_an_errno),
        started_test(test_after_a_failure_of_libcgroup_plain_files_are_used),
        started_test(test_a_second_failure_with_plain_files_is_reported),
        started_test(test_a_cgroup_that_libcgroup_only_reported_as_created_is_an_error),
        started_test(test_a_cgroup_that_libcgroup_only_reported_as_removed_is_removed),
        alone_test(test_after_a_failed_allocation_no_limit_is_set),
        alone_test(test_after_a_failed_allocation_no_cgroup_is_created_or_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
