/* SPDX-License-Identifier: Apache-2.0 */

/* localize/worker/remove-tree.c: directory trees that are built to prevent their removal. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>

#include "localize/worker/remove-tree.h"
#include "tests/unit/remove-tree.h"
#include "util/macros.h"

static char directory[] = "/tmp/nmd-test-remove-tree.XXXXXX";
static int top = -EBADF;

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return top < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    top = nm_close(top);
    return remove_tree(directory);
}

static void make_file(int dir_fd, const char *name)
{
    _cleanup_close_ int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);

    assert_true(fd >= 0);
}

static bool exists(const char *name)
{
    return faccessat(top, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void test_a_directory_tree_is_removed(void **state)
{
    _cleanup_close_ int fd = -EBADF;

    (void)state;
    assert_int_equal(nm_remove_tree_at(top, "absent"), 0);
    make_file(top, "file");
    assert_int_equal(nm_remove_tree_at(top, "file"), 0);
    assert_false(exists("file"));
    assert_int_equal(mkdirat(top, "tree", 0700), 0);
    fd = openat(top, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make_file(fd, "a");
    assert_int_equal(mkdirat(fd, "empty", 0), 0);
    assert_int_equal(mkdirat(fd, "full", 0700), 0);
    make_file(fd, "full/b");
    assert_int_equal(fchmodat(fd, "full", 0, 0), 0);
    assert_int_equal(nm_remove_tree_at(top, "tree"), 0);
    assert_false(exists("tree"));
}

static void test_a_removal_does_not_follow_symlinks(void **state)
{
    _cleanup_close_ int fd = -EBADF;

    (void)state;
    assert_int_equal(mkdirat(top, "kept", 0700), 0);
    make_file(top, "kept/file");
    assert_int_equal(symlinkat("kept", top, "link"), 0);
    assert_int_equal(nm_remove_tree_at(top, "link"), 0);
    assert_int_equal(mkdirat(top, "tree", 0700), 0);
    fd = openat(top, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(symlinkat("../kept", fd, "up"), 0);
    assert_int_equal(symlinkat("/", fd, "root"), 0);
    assert_int_equal(nm_remove_tree_at(top, "tree"), 0);
    assert_false(exists("tree"));
    assert_true(exists("kept/file"));
}

/* Makes a directory tree whose paths are longer than the kernel permits, and which is deeper than the number of open
 * files that a process may have. */
static void test_a_tree_deeper_than_the_longest_path_is_removed(void **state)
{
    _cleanup_close_ int fd = dup(top);

    (void)state;
    for (int i = 0; i < 3000; i++) {
        int next;

        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        make_file(fd, "f");
        next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        assert_int_equal(close(fd), 0);
        fd = next;
    }
    assert_int_equal(nm_remove_tree_at(top, "d"), 0);
    assert_false(exists("d"));
}

/* Entries that already have the names to which remove-tree moves directories don't prevent the removal. */
static void test_existing_entries_with_the_names_of_moves_do_not_prevent_a_removal(void **state)
{
    _cleanup_close_ int fd = dup(top);

    (void)state;
    for (int i = 0; i < 100; i++) {
        int next;

        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        assert_int_equal(close(fd), 0);
        fd = next;
        if (i == 0)
            for (int n = 0; n < 3; n++) {
                char name[32];

                (void)snprintf(name, sizeof name, ".nmd-deep-%d", n);
                make_file(fd, name);
            }
    }
    assert_int_equal(nm_remove_tree_at(top, "d"), 0);
    assert_false(exists("d"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_directory_tree_is_removed),
        cmocka_unit_test(test_a_removal_does_not_follow_symlinks),
        cmocka_unit_test(test_a_tree_deeper_than_the_longest_path_is_removed),
        cmocka_unit_test(test_existing_entries_with_the_names_of_moves_do_not_prevent_a_removal),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
