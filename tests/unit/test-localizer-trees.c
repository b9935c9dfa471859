/* SPDX-License-Identifier: Apache-2.0 */

/* Tests localize/localizer.h when another process changes a cached directory tree. Real workers copy the tree from this
 * host. */

#include "tests/unit/localizer-fixture.h"

#include <sys/stat.h>

#include "tests/unit/remove-tree.h"
#include "util/fileio.h"

#define TARGET "local/usercache/alice/filecache/"

/* Number of forks. A check without a worker forks no process. */
static unsigned n_forks;

pid_t __real_fork(void);
pid_t __wrap_fork(void);

pid_t __wrap_fork(void)
{
    n_forks++;
    return __real_fork();
}

static void write_at(struct fixture *w, const char *name, const char *text)
{
    _cleanup_close_ int fd = openat(w->root_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(nm_write_all(fd, text, strlen(text)), 0);
}

static void make_source(struct fixture *w)
{
    static const char *const dirs[] = {"src", "src/bin", "src/lib"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(dirs); i++)
        assert_int_equal(mkdirat(w->root_fd, dirs[i], 0755), 0);
    write_at(w, "src/bin/x", "bin");
    write_at(w, "src/lib/old.jar", "four");
    write_at(w, "src/lib/new.jar", "four");
    assert_int_equal(symlinkat("old.jar", w->root_fd, "src/lib/link.jar"), 0);
}

/* Starts a localizer that doesn't check a tree again for `usec` after a check. */
static void start_with(struct fixture *w, uint64_t usec)
{
    w->localizer = nm_localizer_free(w->localizer);
    w->params.checked_usec = usec;
    start(w);
}

static void ask_for_tree(struct fixture *w, const char *name, uid_t uid, enum nm_visibility visibility, struct owner *o)
{
    const struct nm_localizer_user user = {
        .name = name, .application = "application_1_0001", .uid = uid, .gid = w->params.public_gid};
    const struct nm_localizer_listener listener = {.progress = on_progress, .ended = on_ended, .userdata = o};
    _cleanup_free_ char *uri = print("file://%s/src", w->root);
    struct nm_localizer_resource res = {.visibility = visibility, .uri = uri, .type = "FILE", .name = "src"};
    struct stat st;

    assert_int_equal(fstatat(w->root_fd, "src", &st, 0), 0);
    res.timestamp_msec = (uint64_t)st.st_mtim.tv_sec * 1000 + (uint64_t)st.st_mtim.tv_nsec / 1000000;
    *o = (struct owner){0};
    assert_int_equal(nm_localizer_request(w->localizer, &user, &res, 1, &listener, &o->request), 0);
    assert_int_equal(o->ended, 0);
}

static void ask_as_alice(struct fixture *w, struct owner *o)
{
    ask_for_tree(w, "alice", worker_uid(), NM_VISIBILITY_PRIVATE, o);
}

/* Requests the tree, and returns whether nmd supplies the cached directory with this number. */
static bool gets(struct fixture *w, unsigned number)
{
    _cleanup_free_ char *wanted = print("%s/usercache/alice/filecache/%u", w->local, number), *target = NULL;
    struct owner o;

    ask_as_alice(w, &o);
    RUN_UNTIL(w, o.ended);
    assert_string_equal(o.message, "");
    target = nm_localizer_target(o.request, 0);
    assert_true(nm_localizer_check(o.request, 0, "src"));
    give_back(&o);
    return nm_streq(target, wanted);
}

static void remove_at(struct fixture *w, const char *name)
{
    assert_int_equal(unlinkat(w->root_fd, name, 0), 0);
}

static void remove_old(struct fixture *w)
{
    remove_at(w, TARGET "10/src/lib/old.jar");
}

static void remove_link(struct fixture *w)
{
    remove_at(w, TARGET "10/src/lib/link.jar");
}

/* Removes old files and restores the modification times of their directories, as systemd-tmpfiles does. */
static void remove_and_hide(struct fixture *w)
{
    struct stat st;

    assert_int_equal(fstatat(w->root_fd, TARGET "10/src/lib", &st, 0), 0);
    remove_old(w);
    assert_int_equal(
        utimensat(w->root_fd, TARGET "10/src/lib", (struct timespec[]){st.st_atim, st.st_mtim}, 0), 0);
}

static void remove_directory(struct fixture *w)
{
    remove_at(w, TARGET "10/src/bin/x");
    assert_int_equal(unlinkat(w->root_fd, TARGET "10/src/bin", AT_REMOVEDIR), 0);
}

static void cut_one(struct fixture *w)
{
    assert_int_equal(fchmodat(w->root_fd, TARGET "10/src/lib/new.jar", 0700, 0), 0);
    write_at(w, TARGET "10/src/lib/new.jar", "cut");
}

static void replace_one(struct fixture *w)
{
    remove_old(w);
    assert_int_equal(symlinkat("new.jar", w->root_fd, TARGET "10/src/lib/old.jar"), 0);
}

static void remove_list(struct fixture *w)
{
    remove_at(w, TARGET "10/.nmd-list");
}

/* A container that uses the incomplete tree keeps it. For the next request nmd fetches the tree again. A restarted nmd
 * also finds the tree incomplete. */
static void test_an_incomplete_tree_is_fetched_again(void **state)
{
    static void (*const ways[])(struct fixture *) = {remove_old, remove_link, remove_and_hide, remove_directory,
                                                  cut_one,    replace_one, remove_list};
    struct fixture *w = *state;

    for (size_t i = 0; i < 2 * NM_ARRAY_SIZE(ways); i++) {
        struct owner a;

        if (i > 0) {
            (void)fixture_tear_down(state);
            (void)fixture_set_up(state);
            w = *state;
        }
        make_source(w);
        start_with(w, 1);
        assert_true(gets(w, 10));
        if (i % 2 == 1)
            start_with(w, 1);
        ask_as_alice(w, &a);
        RUN_UNTIL(w, a.ended);
        ways[i / 2](w);
        assert_true(gets(w, 11));
        assert_true(exists(w, TARGET "10/src"));
        assert_true(exists(w, TARGET "11/src/lib/old.jar"));
        give_back(&a);
        RUN_UNTIL(w, !exists(w, "state/10"));
        assert_true(gets(w, 11));
    }
}

/* A container may write into its user's tree. Additional files and files that have grown don't make the tree
 * invalid. */
static void test_a_tree_with_additional_files_counts_as_complete(void **state)
{
    struct fixture *w = *state;

    make_source(w);
    start_with(w, 1);
    assert_true(gets(w, 10));
    assert_int_equal(mkdirat(w->root_fd, TARGET "10/src/lib/__pycache__", 0755), 0);
    write_at(w, TARGET "10/src/lib/__pycache__/x.pyc", "x");
    assert_int_equal(fchmodat(w->root_fd, TARGET "10/src/lib/new.jar", 0700, 0), 0);
    write_at(w, TARGET "10/src/lib/new.jar", "longer than before");
    assert_true(gets(w, 10));
    remove_old(w);
    assert_true(gets(w, 11));
}

/* The note is that of an earlier nmd, which wrote no lists of files. The tree then counts as complete unless it is
 * empty. */
static void test_a_tree_without_a_list_of_files_is_complete_unless_empty(void **state)
{
    struct fixture *w = *state;

    make_source(w);
    start_with(w, 1);
    assert_true(gets(w, 10));
    w->localizer = nm_localizer_free(w->localizer);
    remove_list(w);
    assert_int_equal(fchmodat(w->root_fd, "state/10", 0600, 0), 0);
    start(w);
    n_forks = 0;
    assert_true(gets(w, 10));
    remove_old(w);
    assert_true(gets(w, 10));
    assert_int_equal(n_forks, 0);
}

/* A cached file is checked without a worker. A tree that was found complete a moment ago isn't checked again. */
static void test_only_the_check_of_a_tree_starts_a_worker(void **state)
{
    struct fixture *w = *state;
    struct owner a, b;

    make_source(w);
    start_with(w, 1);
    ask(w, &a, "x:f-10");
    RUN_UNTIL(w, a.ended);
    give_back(&a);
    n_forks = 0;
    ask(w, &a, "x:f-10");
    RUN_UNTIL(w, a.ended);
    give_back(&a);
    assert_int_equal(n_forks, 0);
    assert_true(gets(w, 11));
    n_forks = 0;
    ask_as_alice(w, &a);
    ask_as_alice(w, &b);
    RUN_UNTIL(w, a.ended && b.ended);
    assert_int_equal(n_forks, 1);
    give_back(&a);
    give_back(&b);
    start_with(w, 3600 * NM_USEC_PER_SEC);
    assert_true(gets(w, 11)); /* the tree is checked again after a restart */
    n_forks = 0;
    assert_true(gets(w, 11));
    assert_int_equal(n_forks, 0);
}

/* The check of a PUBLIC tree runs as the user whose request comes first in the queues. Each user has a queue. */
static void test_a_public_tree_is_checked_as_the_user_who_comes_first(void **state)
{
    const uid_t bob = geteuid() == 0 ? NOBODY - 1 : geteuid();
    struct fixture *w = *state;
    struct owner a, b;

    make_source(w);
    remove_at(w, "src/lib/link.jar"); /* a PUBLIC resource may have no links */
    start_with(w, 1);
    ask_for_tree(w, "alice", worker_uid(), NM_VISIBILITY_PUBLIC, &a);
    RUN_UNTIL(w, a.ended);
    assert_int_equal(a.result, 0);
    give_back(&a);
    remove_at(w, "local/filecache/10/src/lib/old.jar");
    ask_for_tree(w, "alice", worker_uid(), NM_VISIBILITY_PUBLIC, &a);
    ask_for_tree(w, "bob", bob, NM_VISIBILITY_PUBLIC, &b);
    RUN_UNTIL(w, a.ended && b.ended);
    assert_int_equal(a.result, 0);
    assert_int_equal(b.result, 0);
    assert_true(exists(w, "local/filecache/11/src/lib/old.jar"));
    assert_false(exists(w, "local/filecache/12"));
    give_back(&a);
    give_back(&b);
}

/* The user's fetches use all of the user's slots, and the request is cancelled before the check of its tree. */
static void test_a_request_that_waits_for_a_check_can_be_cancelled(void **state)
{
    struct fixture *w = *state;
    struct owner hang[3], a, b;

    make_source(w);
    start_with(w, 1);
    assert_true(gets(w, 10));
    for (size_t i = 0; i < NM_ARRAY_SIZE(hang); i++) {
        _cleanup_free_ char *uri = print("x:hang-%zu", i);

        ask(w, &hang[i], uri);
    }
    RUN_UNTIL(w, count_log(w) == 2);
    ask_as_alice(w, &a);
    ask_as_alice(w, &b);
    give_back(&a);
    RUN_UNTIL(w, b.ended);
    assert_int_equal(b.result, 0);
    give_back(&b);
    ask_as_alice(w, &a);
    give_back(&a);
    ask_as_alice(w, &a);
    give_back(&a); /* cancels the request also during the check by a worker */
    for (size_t i = 0; i < NM_ARRAY_SIZE(hang); i++)
        give_back(&hang[i]);
}

/* If the worker can't be started or is killed, the tree counts as complete, so that the container can start. */
static void test_a_tree_counts_as_complete_if_its_check_fails(void **state)
{
    struct fixture *w = *state;

    make_source(w);
    start_with(w, 1);
    assert_true(gets(w, 10));
    w->params.program = "/bin/false";
    start_with(w, 1);
    assert_true(gets(w, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_incomplete_tree_is_fetched_again),
        TEST(test_a_tree_with_additional_files_counts_as_complete),
        TEST(test_a_tree_without_a_list_of_files_is_complete_unless_empty),
        TEST(test_only_the_check_of_a_tree_starts_a_worker),
        TEST(test_a_public_tree_is_checked_as_the_user_who_comes_first),
        TEST(test_a_request_that_waits_for_a_check_can_be_cancelled),
        TEST(test_a_tree_counts_as_complete_if_its_check_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
