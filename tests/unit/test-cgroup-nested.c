/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The direct backend below the top of the mount or without root: in a cgroup that is delegated to a user, and in a
 * cgroup whose processes prevent controllers from being enabled. The test uses plain files, and imitates the kernel's
 * "no internal processes" rule and the uid.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "tests/unit/direct-fixture.h"
#include "tests/unit/fail-nth.h"
#include "util/error.h"

static struct {
    uid_t euid;
    const char *own;  /* cgroup of this process; NULL: /proc/self/cgroup has no line for cgroup2 */
    char denied[128]; /* a path that isn't writable */
    unsigned n_refused;
} here;

uid_t __wrap_geteuid(void);
int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_nm_mount_own_cgroup(const char *proc_self_cgroup, char **ret);
int __real_nm_write_file_at(int dir_fd, const char *name, const char *text);
int __wrap_nm_write_file_at(int dir_fd, const char *name, const char *text);

uid_t __wrap_geteuid(void)
{
    return here.euid;
}

int __wrap_access(const char *path, int mode)
{
    if (mode != W_OK)
        return __real_access(path, mode);
    errno = EACCES;
    return here.denied[0] && nm_streq(path, here.denied) ? -1 : 0;
}

int __wrap_nm_mount_own_cgroup(const char *proc_self_cgroup, char **ret)
{
    assert_string_equal(proc_self_cgroup, "/proc/self/cgroup");
    if (!here.own)
        return -ENOENT;
    *ret = strdup(here.own);
    return *ret ? 0 : -ENOMEM;
}

static bool is_inhabited(int dir_fd)
{
    char text[64];

    return nm_read_file_at(dir_fd, "cgroup.procs", text, sizeof text, NULL) >= 0 && text[0] != '\0';
}

/* Moves the processes of the parent cgroup into the cgroup dir_fd. */
static int move_in(int dir_fd)
{
    _cleanup_close_ int fd = openat(dir_fd, "cgroup.procs", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    _cleanup_close_ int above = openat(dir_fd, "../cgroup.procs", O_WRONLY | O_TRUNC | O_CLOEXEC);

    assert_true(fd >= 0 && above >= 0);
    return dprintf(fd, "%d\n", (int)getpid()) > 0 ? 0 : -EIO;
}

/* Enables a controller for child cgroups. text: for instance "+cpu" */
static int enable(int dir_fd, const char *text)
{
    _cleanup_close_ int fd = openat(dir_fd, "cgroup.subtree_control", O_WRONLY | O_APPEND | O_CLOEXEC);

    if (is_inhabited(dir_fd)) {
        here.n_refused++;
        return -EBUSY;
    }
    return fd >= 0 && dprintf(fd, "%s ", text + 1) > 0 ? 0 : -EIO;
}

/* Imitates the kernel: checks the "no internal processes" rule, and moves the writer of "0". */
int __wrap_nm_write_file_at(int dir_fd, const char *name, const char *text)
{
    bool enables = nm_streq(name, "cgroup.subtree_control");
    unsigned kinds;
    int r;

    if (!enables && !(nm_streq(name, "cgroup.procs") && nm_streq(text, "0")))
        return __real_nm_write_file_at(dir_fd, name, text);
    kinds = fail_pause();
    r = enables ? enable(dir_fd, text) : move_in(dir_fd);
    fail_resume(kinds);
    return r;
}

/* Setup of a test: an unprivileged user in a delegated scope. */
static int in_session(void **state)
{
    struct fixture *w;
    int r = fixture_alone(state);

    w = *state;
    memset(&here, 0, sizeof here);
    here.euid = 1000;
    here.own = "/session.scope";
    (void)snprintf(here.denied, sizeof here.denied, "%s/root", w->dir.path);
    fake_tree_write(&w->dir, "root/session.scope/cgroup.controllers", "cpu memory\n");
    fake_tree_write(&w->dir, "root/session.scope/cgroup.subtree_control", "");
    fake_tree_write(&w->dir, "root/session.scope/cgroup.events", "populated 1\nfrozen 0\n");
    fake_tree_write(&w->dir, "root/session.scope/cgroup.procs", "");
    return r;
}

static void populate(const struct fixture *w, const char *name, bool others)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%d\n%s", (int)getpid(), others ? "1\n" : "");
    fake_tree_write(&w->dir, name, text);
}

static void assert_prints(const struct fixture *w, const char *name, const char *expected)
{
    _cleanup_close_ int fd = open(w->dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char text[64];

    assert_int_equal(nm_read_file_at(fd, name, text, sizeof text, NULL), 0);
    assert_string_equal(text, expected);
}

/* ---- users and namespaces -------------------------------------------------------------------- */

static void test_the_slice_is_below_nmds_own_cgroup(void **state)
{
    struct fixture *w = *state;
    char expected[128];

    assert_int_equal(fixture_start(w), 0);
    (void)snprintf(expected, sizeof expected, "%s/root/session.scope/" SLICE, w->dir.path);
    assert_string_equal(w->b->slice_path, expected);
    assert_true(fake_tree_has(&w->dir, "root/session.scope/" SLICE));
    assert_prints(w, "root/session.scope/cgroup.subtree_control", "memory cpu "); /* the controllers that the scope
                                                                                     has */
}

/* In a cgroup namespace the cgroup of this process is shown as the top of the mount. */
static void test_at_the_top_of_a_namespace_the_slice_is_below_the_mount(void **state)
{
    struct fixture *w = *state;
    char expected[128];

    here.own = "/";
    assert_int_equal(fixture_start(w), -EACCES);
    (void)snprintf(expected, sizeof expected, "cgroup %s/root isn't delegated to this user: ", w->dir.path);
    assert_non_null(strstr(w->message, expected));
    assert_null(w->b);
}

static void test_without_a_cgroup_of_nmd_only_a_writable_mount_is_used(void **state)
{
    struct fixture *w = *state;

    here.own = NULL;
    assert_int_equal(fixture_start(w), -ENOENT);
    assert_string_equal(w->message, "/proc/self/cgroup: no cgroup2 entry");
    assert_null(w->b);
    here.denied[0] = '\0'; /* a user who may write to the mount needs no permission there */
    assert_int_equal(fixture_start(w), 0);
}

/* ---- processes that prevent controllers ------------------------------------------------------ */

static void test_nmd_moves_itself_to_a_child_cgroup(void **state)
{
    struct fixture *w = *state;

    populate(w, "root/session.scope/cgroup.procs", false);
    assert_int_equal(fixture_start(w), 0);
    assert_int_equal(here.n_refused, 1);
    assert_true(fake_tree_has(&w->dir, "root/session.scope/nmd-daemon/cgroup.procs"));
    assert_prints(w, "root/session.scope/cgroup.procs", "");
    assert_prints(w, "root/session.scope/cgroup.subtree_control", "memory cpu ");
    /* the child cgroup of an earlier start is used again */
    w->b = nm_cgroup_backend_free(w->b);
    populate(w, "root/session.scope/cgroup.procs", false);
    assert_int_equal(fixture_start(w), 0);
    assert_prints(w, "root/session.scope/cgroup.procs", "");
}

/* nmd doesn't move other processes. nmd starts without controllers then. */
static void test_nmd_does_not_move_other_processes(void **state)
{
    struct fixture *w = *state;

    populate(w, "root/session.scope/cgroup.procs", true);
    assert_int_equal(fixture_start(w), 0);
    assert_int_equal(here.n_refused, 2); /* one per controller */
    assert_false(fake_tree_has(&w->dir, "root/session.scope/nmd-daemon"));
    assert_prints(w, "root/session.scope/cgroup.subtree_control", "");
    assert_false(w->b->feature[NM_CGROUP_MEMORY_LIMITS]);
    assert_non_null(w->b->missing[NM_CGROUP_MEMORY_LIMITS]);
}

static void test_nmd_starts_although_it_can_not_move_itself(void **state)
{
    struct fixture *w = *state;

    populate(w, "root/session.scope/cgroup.procs", false);
    fake_tree_write(&w->dir, "root/session.scope/nmd-daemon", "a file");
    assert_int_equal(fixture_start(w), 0);
    assert_int_equal(here.n_refused, 2);
    w->b = nm_cgroup_backend_free(w->b);
    fake_tree_unlink(&w->dir, "root/session.scope/cgroup.events"); /* the top of the mount has no cgroup.events, and nmd
                                                                      moves no process there */
    fake_tree_unlink(&w->dir, "root/session.scope/nmd-daemon");
    assert_int_equal(fixture_start(w), 0);
    assert_false(fake_tree_has(&w->dir, "root/session.scope/nmd-daemon"));
}

static void test_each_failed_allocation_of_a_move_is_an_error(void **state)
{
    struct fixture *w = *state;
    bool failed = true;

    for (unsigned n = 1; failed; n++) {
        int r;

        populate(w, "root/session.scope/cgroup.procs", false);
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

#define session(f) cmocka_unit_test_setup_teardown(f, in_session, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        session(test_the_slice_is_below_nmds_own_cgroup),
        session(test_at_the_top_of_a_namespace_the_slice_is_below_the_mount),
        session(test_without_a_cgroup_of_nmd_only_a_writable_mount_is_used),
        session(test_nmd_moves_itself_to_a_child_cgroup),
        session(test_nmd_does_not_move_other_processes),
        session(test_nmd_starts_although_it_can_not_move_itself),
        session(test_each_failed_allocation_of_a_move_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
