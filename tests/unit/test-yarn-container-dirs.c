/* SPDX-License-Identifier: Apache-2.0 */

/* The directories, files and symlinks of a container, when a disk fails at any of the calls. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail-nth.h"
#include "tests/unit/dirs-fixture.h"
#include "tests/unit/remove-tree.h"
#include "util/fileio.h"

static unsigned n_become; /* number of changes of the file system uid */

int __real_setfsuid(uid_t uid);
int __wrap_setfsuid(uid_t uid);

int __wrap_setfsuid(uid_t uid)
{
    n_become++;
    return __real_setfsuid(uid);
}

/* Makes all directories and files as for the start of a container. Returns 0 or the first error. */
static int make_all(struct fixture *w)
{
    int r = nm_yarn_dirs_make_local(w->fd, &w->owner, true);
    _cleanup_close_ int work = r < 0 ? r : nm_yarn_dirs_open_work(w->fd, &w->owner);

    if (work < 0)
        return work;
    r = nm_yarn_dirs_write(work, &w->owner, "script", "words", 5, 0700);
    if (r >= 0)
        r = make_one_link(work, &w->owner, "sub/link", "/target");
    if (r >= 0)
        r = nm_yarn_dirs_make_log(w->fd, &w->owner);
    return r;
}

#define WORK "usercache/alice/appcache/application_1/container_1"

static void check_made(struct fixture *w)
{
    char text[20];
    struct stat st;

    assert_int_equal(fstatat(w->fd, WORK "/tmp", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_uid, w->owner.as.uid);
    assert_int_equal(fstatat(w->fd, "application_1/container_1", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_uid, w->owner.as.uid);
    assert_int_equal(nm_read_file_at(w->fd, WORK "/script", text, sizeof text, NULL), 0);
    assert_string_equal(text, "words");
    assert_int_equal(fstatat(w->fd, WORK "/script", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_true(exists(w, WORK "/sub/link"));
}

static void remove_all(struct fixture *w)
{
    (void)remove_tree(path_in(w, "usercache"));
    (void)remove_tree(path_in(w, "application_1"));
}

/* If no error was returned, all files and directories must exist. */
static void make_with_failures(void *userdata)
{
    struct fixture *w = userdata;
    int r = make_all(w);
    unsigned kinds = fail_pause();

    assert_int_equal(file_uid(), geteuid()); /* nmd's identity is restored after each failure */
    if (r >= 0)
        check_made(w);
    remove_all(w);
    fail_resume(kinds);
}

static void test_all_directories_of_a_container_are_made_or_an_error_is_returned(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(make_all(w), 0);
    check_made(w);
    assert_int_equal(make_all(w), 0); /* the existing files are replaced */
    remove_all(w);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN | FAIL_MEMORY, make_with_failures, w) > 20);
}

static void test_a_symlink_of_a_resource_stays_inside_and_replaces_only_a_symlink(void **state)
{
    struct fixture *w = *state;
    char target[PATH_MAX];
    ssize_t n;

    assert_int_equal(fchmod(w->fd, 0777), 0);
    assert_int_equal(make_one_link(w->fd, &w->owner, "/etc/x", "/t"), -EINVAL);
    assert_int_equal(make_one_link(w->fd, &w->owner, "..", "/t"), -EINVAL);
    assert_int_equal(make_one_link(w->fd, &w->owner, "a/../b", "/t"), -EINVAL);
    assert_int_equal(make_one_link(w->fd, &w->owner, "1/2/3/4/5/6/7/8/9/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w"
                                   "/x/y", "/t"), -ENAMETOOLONG);
    assert_int_equal(faccessat(w->fd, "1", F_OK, AT_SYMLINK_NOFOLLOW), -1); /* no directory was made */
    assert_int_equal(make_one_link(w->fd, &w->owner, "..a/b..//c", "/t"), 0);
    assert_true(exists(w, "..a/b../c"));
    assert_int_equal(make_one_link(w->fd, &w->owner, "..a/b../c", "/other"), 0);
    n = readlinkat(w->fd, "..a/b../c", target, sizeof target - 1);
    target[NM_MAX(n, 0)] = '\0';
    assert_string_equal(target, "/other");
    /* A symlink doesn't replace a directory, and no temporary file remains. */
    assert_int_equal(make_one_link(w->fd, &w->owner, "..a", "/t"), -EISDIR);
    assert_int_equal(make_one_link(w->fd, &w->owner, "..a/b../c/d", "/t"), -ENOTDIR);
    assert_int_equal(unlinkat(w->fd, "..a/b../c", 0), 0);
    assert_int_equal(unlinkat(w->fd, "..a/b..", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(w->fd, "..a", AT_REMOVEDIR), 0);
    assert_int_equal(rmdir(w->root), 0);
    assert_int_equal(mkdir(w->root, 0755), 0);
}

/* nmd becomes the user once to make all symlinks. It stops at the first invalid one. */
static void test_many_symlinks_are_made_with_one_change_of_user(void **state)
{
    enum { MANY = 100 };
    struct fixture *w = *state;
    struct nm_yarn_link links[MANY];
    char names[MANY][8];
    size_t made;

    assert_int_equal(fchmod(w->fd, 0777), 0);
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof names[i], "%zu", i);
        links[i] = (struct nm_yarn_link){"/t", names[i]};
    }
    n_become = 0;
    assert_int_equal(nm_yarn_dirs_links(w->fd, &w->owner, links, MANY, &made), 0);
    assert_int_equal(made, MANY);
    if (geteuid() == 0)
        assert_int_equal(n_become, 3); /* calls for: become the user, query the uid, return to root */
    assert_true(exists(w, "99"));
    links[7].name = "../7";
    assert_int_equal(nm_yarn_dirs_links(w->fd, &w->owner, links, MANY, &made), -EINVAL);
    assert_int_equal(made, 7);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(unlinkat(w->fd, names[i], 0), 0);
}

static void test_a_directory_that_is_missing_or_of_another_user_is_an_error(void **state)
{
    struct fixture *w = *state;
    uid_t uid = 7;
    gid_t gid = 7;

    assert_int_equal(nm_yarn_dirs_find_owner(w->fd, "none", &uid, &gid), -ENOENT);
    assert_int_equal(uid, 7);
    assert_int_equal(nm_yarn_dirs_find_owner(w->fd, ".", &uid, &gid), 0);
    assert_int_equal(uid, geteuid());
    assert_int_equal(nm_yarn_dirs_open_work(w->fd, &w->owner), -ENOENT);
    /* A file has the name of a log directory. */
    assert_int_equal(nm_write_file_atomic_at(w->fd, "application_1", "x", 0600), 0);
    assert_int_equal(nm_yarn_dirs_make_log(w->fd, &w->owner), -ENOTDIR);
    assert_int_equal(nm_write_file_atomic_at(w->fd, "usercache", "x", 0600), 0);
    assert_int_equal(nm_yarn_dirs_make_local(w->fd, &w->owner, true), -ENOTDIR);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, dirs_fixture_set_up, dirs_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_directories_of_a_container_are_made_or_an_error_is_returned),
        TEST(test_a_symlink_of_a_resource_stays_inside_and_replaces_only_a_symlink),
        TEST(test_many_symlinks_are_made_with_one_change_of_user),
        TEST(test_a_directory_that_is_missing_or_of_another_user_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
