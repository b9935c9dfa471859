/* SPDX-License-Identifier: Apache-2.0 */

/* Lists of processes, membership, states of processes, and subgroups of a container's cgroup, also if calls of the
 * kernel fail. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroup/backend.h"
#include "cgroup/procs.h"
#include "tests/unit/fake-processes.h"
#include "util/error.h"
#include "util/fileio.h"

static void test_a_list_that_cannot_be_read_is_an_error(void **state)
{
    static const struct {
        int fails[4], r;
        unsigned n;
    } cases[] = {
        {{EINTR, EINTR}, 0, 2},
        {{0, EINTR}, 0, 2},
        {{ENODEV}, -ENOENT, 77},  /* the cgroup was removed */
        {{EOPNOTSUPP}, 0, 0},     /* the cgroup is threaded, so cgroup.procs can't be read */
        {{EIO}, -EIO, 77},
        {{0, EIO}, -EIO, 77},
    };
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        unsigned n = 77;

        memcpy(kernel.read_fails, cases[i].fails, sizeof kernel.read_fails);
        kernel.n_reads = 0;
        assert_int_equal(nm_cgroup_n_processes(w->cg, &n), cases[i].r);
        assert_int_equal(n, cases[i].n);
    }
    memset(kernel.read_fails, 0, sizeof kernel.read_fails);
    kernel.fdopendir_fails = ENOMEM;
    assert_int_equal(nm_procs_prune(w->cg->dir_fd), -ENOMEM);
}

static int stop_at_200(pid_t pid, void *userdata)
{
    pid_t *last = userdata;

    *last = pid;
    return pid == 200 ? -ECANCELED : 0;
}

static void test_a_callback_can_stop_the_walk_over_processes(void **state)
{
    struct fixture *w = *state;
    pid_t last = 0;

    assert_int_equal(nm_procs_walk(w->cg->dir_fd, stop_at_200, &last), -ECANCELED);
    assert_int_equal(last, 200);
    fake_tree_write(&w->dir, "cgroup.procs", "100\n200"); /* without the newline at the end, which the kernel always
                                                             writes */
    assert_int_equal(nm_procs_walk(w->cg->dir_fd, stop_at_200, &last), -ECANCELED);
    fake_tree_write(&w->dir, "cgroup.procs", "0\n300\n"); /* a process of another PID namespace is listed as 0 */
    assert_int_equal(nm_procs_walk(w->cg->dir_fd, stop_at_200, &last), 0);
    assert_int_equal(last, 300);
    fake_tree_write(&w->dir, "below/cgroup.procs", "200\n300\n");
    assert_int_equal(nm_procs_walk(w->cg->dir_fd, stop_at_200, &last), -ECANCELED);
    assert_int_equal(last, 200);
    fake_tree_unlink(&w->dir, "below/cgroup.procs"); /* a removed cgroup has no processes */
    assert_int_equal(nm_procs_walk(w->cg->dir_fd, stop_at_200, &last), 0);
}

static void test_a_malformed_list_is_an_error(void **state)
{
    static const char *const lists[] = {"1\n-2\n", "1 2\n", "99999999999999999999\n", "2147483650\n", "x\n"};
    struct fixture *w = *state;
    unsigned n = 77;

    for (size_t i = 0; i < NM_ARRAY_SIZE(lists); i++) {
        fake_tree_write(&w->dir, "cgroup.procs", lists[i]);
        assert_int_equal(nm_cgroup_n_processes(w->cg, &n), -EBADMSG);
        assert_int_equal(n, 77);
    }
}

/* The processes of subgroups are counted only down to a certain depth, but subgroups of any depth are removed. */
static void test_deep_subgroups_are_counted_to_a_limit_and_removed_completely(void **state)
{
    struct fixture *w = *state;
    char name[128] = "", file[160];
    unsigned n = 0;

    for (int depth = 1; depth <= 20; depth++) {
        (void)strcat(name, depth == 1 ? "d" : "/d");
        (void)snprintf(file, sizeof file, "%s/cgroup.procs", name);
        fake_tree_write(&w->dir, file, "7\n");
    }
    assert_int_equal(nm_cgroup_n_processes(w->cg, &n), 0);
    assert_int_equal(n, 2 + 16);
    assert_int_equal(nm_procs_prune(w->cg->dir_fd), -EBUSY); /* plain directories with files in them can't be removed */
    assert_true(fake_tree_has(&w->dir, name));
    for (; *name; *(strrchr(name, '/') ? strrchr(name, '/') : name) = '\0') {
        (void)snprintf(file, sizeof file, "%s/cgroup.procs", name);
        fake_tree_unlink(&w->dir, file);
    }
    assert_int_equal(nm_procs_prune(w->cg->dir_fd), 0);
    assert_false(fake_tree_has(&w->dir, "d"));
}

static void test_empty_subgroups_are_removed(void **state)
{
    static const char *const names[] = {"a/b/c", "a/d", "e", "f/g/h", "f/g/i"};
    struct fixture *w = *state;
    char path[128];

    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", w->dir.path, names[i]);
        assert_int_equal(nm_mkdir_p(path, 0700), 0);
    }
    assert_int_equal(nm_procs_prune(w->cg->dir_fd), 0);
    assert_false(fake_tree_has(&w->dir, "a"));
    assert_false(fake_tree_has(&w->dir, "e"));
    assert_false(fake_tree_has(&w->dir, "f"));
    assert_true(fake_tree_has(&w->dir, "cgroup.procs"));
}

/* One call removes a limited number of cgroups, because nmd has other work. The next call removes the rest. */
static void test_one_call_removes_a_limited_number_of_cgroups(void **state)
{
    enum { N = 1100 };
    struct fixture *w = *state;
    char path[128];

    for (int i = 0; i < N; i++) {
        (void)snprintf(path, sizeof path, "%s/d%d/in", w->dir.path, i);
        assert_int_equal(nm_mkdir_p(path, 0700), 0);
    }
    assert_int_equal(nm_procs_prune(w->cg->dir_fd), -EBUSY);
    assert_int_equal(nm_procs_prune(w->cg->dir_fd), 0);
    for (int i = 0; i < N; i++) {
        (void)snprintf(path, sizeof path, "d%d", i);
        assert_false(fake_tree_has(&w->dir, path));
    }
}

static void test_a_member_is_found_by_the_name_of_its_cgroup(void **state)
{
    static const struct {
        const char *text;
        bool is_member;
    } cases[] = {
        {"0::/nmtest.slice/" NAME "\n", true},
        {"0::/nmtest.slice/" NAME, true},
        {"0::/nmtest.slice/" NAME "/sub\n", true},
        {"1:cpu:/\n0::/" NAME "\n", true},
        {"1:name=0::/" NAME "\n0::/\n", false}, /* the name of a version 1 hierarchy */
        {"1:cpu:/" NAME "\n", false},
        {"0::/other\n1:cpu:/" NAME "\n", false},
        {"0::/x" NAME "\n", false},
        {"0::/" NAME "x\n", false},
        {"0::/x" NAME "/" NAME "\n", true},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        kernel.member = cases[i].text;
        if (nm_procs_is_member(100, NAME) != cases[i].is_member)
            fail_msg("%s", cases[i].text);
    }
    kernel.member = NULL;
    assert_false(nm_procs_is_member(4194303, NAME)); /* no such process exists */
}

static void test_processes_in_uninterruptible_sleep_count_as_hanging(void **state)
{
    static const struct {
        const char *stat;
        bool hangs;
        const char *comm;
    } cases[] = {
        {"1 (a) D 1", true, "a"}, {"1 (a) b) D 1", true, "a) b"}, {"1 (a) S 1", false, ""}, {"1 (D) R 1", false, ""},
        {"1 a D 1", false, ""},   {"1 (a D 1", false, ""},        {"1 )a( D", false, ""},   {"1 (a)D 1", false, ""},
        {"1 a) D", false, ""},
    };
    struct fixture *w = *state;
    char text[16];

    (void)snprintf(text, sizeof text, "%d\n", (int)getpid()); /* the state of this process's threads is read */
    fake_tree_write(&w->dir, "cgroup.procs", text);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_cgroup_leftover_procs s;

        kernel.stat = cases[i].stat;
        assert_int_equal(nm_cgroup_leftover_procs(w->cg, &s), 0);
        assert_int_equal(s.n, 1);
        if (s.n_hanging != cases[i].hangs)
            fail_msg("%s", cases[i].stat);
        assert_string_equal(s.comm, cases[i].comm);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_processes_set_up, fake_processes_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_list_that_cannot_be_read_is_an_error),
        TEST(test_a_callback_can_stop_the_walk_over_processes),
        TEST(test_a_malformed_list_is_an_error),
        TEST(test_deep_subgroups_are_counted_to_a_limit_and_removed_completely),
        TEST(test_empty_subgroups_are_removed),
        TEST(test_one_call_removes_a_limited_number_of_cgroups),
        TEST(test_a_member_is_found_by_the_name_of_its_cgroup),
        TEST(test_processes_in_uninterruptible_sleep_count_as_hanging),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
