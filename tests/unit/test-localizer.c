/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests localize/localizer.h with real workers. They fetch with a command that counts its calls. If the test runs as
 * root, the workers run as the user nobody, otherwise as the user of the test.
 */

#include "tests/unit/localizer-fixture.h"

#include <errno.h>
#include <signal.h>

#include "tests/unit/remove-tree.h"
#include "util/fileio.h"

static void test_a_resource_is_fetched_once_for_all_requests(void **state)
{
    struct fixture *w = *state;
    _cleanup_free_ char *target = NULL, *wanted = NULL;
    struct owner a, b, c;
    struct stat st;

    ask(w, &a, "x:f-10");
    ask(w, &b, "x:f-10");
    RUN_UNTIL(w, a.ended && b.ended);
    ask(w, &c, "x:f-10");
    RUN_UNTIL(w, c.ended);
    assert_int_equal(a.result, 0);
    assert_int_equal(b.result, 0);
    assert_int_equal(c.result, 0);
    assert_int_equal(count_log(w), 1);
    assert_true(a.progress > 0);
    target = nm_localizer_target(a.request, 0);
    wanted = print("%s/usercache/alice/filecache/10", w->local);
    assert_string_equal(target, wanted);
    assert_int_equal(fstatat(w->root_fd, "local/usercache/alice/filecache/10/f-10", &st, 0), 0);
    assert_int_equal(st.st_uid, worker_uid());
    assert_int_equal(st.st_mode & 07777, 0500);
    assert_int_equal(nm_localizer_bytes(w->localizer), 10);
    give_back(&a);
    give_back(&b);
    give_back(&c);
}

/* A resource that another request has begun to fetch counts as fetched. Two equal names in a request are one
 * resource. */
static void test_statistics_count_resources_as_fetched_or_cached(void **state)
{
    static const char *const uris[] = {"x:f-10", "x:g-20", "x:f-10"};
    struct nm_localizer_counts n;
    struct fixture *w = *state;
    struct owner a, b = {0}, c;

    ask(w, &a, "x:f-10");
    assert_int_equal(try_ask(w, &b, NM_VISIBILITY_PRIVATE, uris, 3), 0);
    RUN_UNTIL(w, a.ended && b.ended);
    ask(w, &c, "x:f-10");
    RUN_UNTIL(w, c.ended);
    nm_localizer_count(b.request, &n);
    assert_int_equal(n.n_fetched, 2);
    assert_int_equal(n.fetched_bytes, 30);
    assert_int_equal(n.n_cached, 0);
    assert_int_equal(n.cached_bytes, 0);
    assert_true(n.usec >= 300 * NM_USEC_PER_MSEC); /* the duration of the fetch command */
    nm_localizer_count(c.request, &n);
    assert_int_equal(n.n_fetched, 0);
    assert_int_equal(n.fetched_bytes, 0);
    assert_int_equal(n.n_cached, 1);
    assert_int_equal(n.cached_bytes, 10);
    give_back(&a);
    give_back(&b);
    give_back(&c);
}

static void test_each_visibility_has_a_separate_directory(void **state)
{
    static const char *const uris[] = {"x:f-10", "x:g-20"};
    struct fixture *w = *state;
    struct owner public = {0}, application = {0};
    struct stat st;

    assert_int_equal(try_ask(w, &public, NM_VISIBILITY_PUBLIC, uris, 2), 0);
    assert_int_equal(try_ask(w, &application, NM_VISIBILITY_APPLICATION, uris, 1), 0);
    RUN_UNTIL(w, public.ended && application.ended);
    assert_int_equal(public.result, 0);
    assert_int_equal(count_log(w), 3);
    assert_int_equal(fstatat(w->root_fd, "local/filecache/11/g-20", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0555);
    assert_true(exists(w, "local/usercache/alice/appcache/application_1_0001/filecache/12/f-10"));
    give_back(&public);
    give_back(&application);
    nm_localizer_end_application(w->localizer, "alice", "application_1_0001");
    RUN_UNTIL(w, nm_localizer_bytes(w->localizer) == 30);
    assert_false(exists(w, "local/usercache/alice/appcache/application_1_0001/filecache/12"));
    assert_true(exists(w, "local/filecache/11"));
}

static void test_a_failed_fetch_is_reported(void **state)
{
    struct fixture *w = *state;
    struct owner a, b;

    ask(w, &a, "x:bad");
    ask(w, &b, "x:bad");
    RUN_UNTIL(w, a.ended && b.ended);
    assert_int_equal(a.result, -EIO);
    assert_non_null(strstr(a.message, "x:bad: the fetch command sh ended with status 1: broken"));
    assert_string_equal(a.message, b.message);
    assert_int_equal(count_log(w), 1);
    give_back(&a);
    give_back(&b);
    ask(w, &a, "x:bad");
    RUN_UNTIL(w, a.ended);
    assert_int_equal(count_log(w), 2);
    assert_int_equal(a.ended, 1);
    give_back(&a);
}

static void test_an_invalid_request_is_refused(void **state)
{
    static const char *const uris[] = {"x:f-\xff"};
    const struct nm_localizer_listener listener = {.ended = on_ended};
    const struct nm_localizer_user dots = {.name = "..", .application = "a"};
    struct fixture *w = *state;
    struct owner a = {0};

    assert_int_equal(nm_localizer_request(w->localizer, &dots, NULL, 0, &listener, &a.request), -EINVAL);
    assert_int_equal(try_ask(w, &a, NM_VISIBILITY_PRIVATE, uris, 1), -EINVAL);
    assert_null(a.request);
    assert_int_equal(try_ask(w, &a, NM_VISIBILITY_PRIVATE, uris, 0), 0);
    RUN_UNTIL(w, a.ended);
    assert_int_equal(a.result, 0);
    give_back(&a);
}

static void test_the_least_recently_used_resource_is_removed(void **state)
{
    struct fixture *w = *state;
    struct owner a, b, c;

    ask(w, &a, "x:a-400");
    ask(w, &b, "x:b-400");
    ask(w, &c, "x:c-400");
    RUN_UNTIL(w, a.ended && b.ended && c.ended);
    assert_int_equal(nm_localizer_bytes(w->localizer), 1200);
    give_back(&b);
    give_back(&a);
    give_back(&c);
    RUN_UNTIL(w, nm_localizer_bytes(w->localizer) == 800);
    assert_false(exists(w, "local/usercache/alice/filecache/11"));
    assert_true(exists(w, "local/usercache/alice/filecache/10"));
    assert_false(exists(w, "state/11"));
}

/* A fetch that no request waits for is killed with all its processes, and its incomplete files are removed. */
static void test_a_fetch_that_no_request_waits_for_is_killed(void **state)
{
    struct fixture *w = *state;
    struct owner a, b;
    pid_t pid;

    ask(w, &a, "x:hang-1");
    ask(w, &b, "x:hang-1");
    RUN_UNTIL(w, has_written_pid(w, &pid));
    give_back(&a);
    assert_int_equal(kill(pid, 0), 0);
    assert_true(exists(w, "local/usercache/alice/filecache/10_tmp"));
    give_back(&b);
    RUN_UNTIL(w, kill(pid, 0) < 0);
    RUN_UNTIL(w, !exists(w, "state/10"));
    assert_false(exists(w, "local/usercache/alice/filecache/10_tmp"));
    assert_int_equal(b.ended, 0);
}

/* One account may use two of three workers. Queued fetches that no request needs any more are never started. */
static void test_one_user_gets_two_of_three_workers(void **state)
{
    struct fixture *w = *state;
    struct owner a, b, c, d;

    ask(w, &a, "x:hang-1");
    ask(w, &b, "x:hang-2");
    ask(w, &c, "x:hang-3");
    ask(w, &d, "x:d-5");
    RUN_UNTIL(w, count_log(w) == 2);
    give_back(&c);
    assert_int_equal(d.ended, 0);
    give_back(&a);
    RUN_UNTIL(w, d.ended);
    assert_int_equal(d.result, 0);
    assert_int_equal(count_log(w), 3);
    give_back(&b);
    give_back(&d);
}

/* ---- fetches with the user's own rights ------------------------------------------------------------------------- */

#define GROUP 54321 /* a group whose only member is the account "member" */

int __real_getgrouplist(const char *user, gid_t group, gid_t *groups, int *n);
int __wrap_getgrouplist(const char *user, gid_t group, gid_t *groups, int *n);

int __wrap_getgrouplist(const char *user, gid_t group, gid_t *groups, int *n)
{
    if (!nm_streq(user, "member"))
        return __real_getgrouplist(user, group, groups, n);
    groups[0] = group;
    groups[1] = GROUP;
    return *n = 2;
}

/* A file that the container's command could read through a supplementary group is fetched. Another account with the
 * same uid doesn't get the rights of this account. */
static void test_a_file_readable_through_a_supplementary_group_is_fetched(void **state)
{
    static const char *const accounts[] = {"member", "nobody"};
    struct fixture *w = *state;
    _cleanup_free_ char *uri = print("file://%s/shared", w->root);
    _cleanup_close_ int fd = openat(w->root_fd, "shared", O_CREAT | O_WRONLY | O_CLOEXEC, 0640);
    struct stat st;

    if (geteuid() != 0)
        skip();
    assert_int_equal(fchown(fd, 0, GROUP), 0);
    assert_int_equal(fstat(fd, &st), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(accounts); i++) {
        const struct nm_localizer_user user = {"alice", "application_1_0001", NOBODY, NOBODY, accounts[i]};
        const enum nm_visibility visibility = i == 0 ? NM_VISIBILITY_PRIVATE : NM_VISIBILITY_APPLICATION;
        const struct nm_localizer_resource res = {.visibility = visibility,
                                                  .uri = uri,
                                                  .type = "FILE",
                                                  .timestamp_msec = (uint64_t)st.st_mtim.tv_sec * 1000 +
                                                                    (uint64_t)st.st_mtim.tv_nsec / 1000000};
        struct owner o = {0};
        const struct nm_localizer_listener listener = {.ended = on_ended, .userdata = &o};

        assert_int_equal(nm_localizer_request(w->localizer, &user, &res, 1, &listener, &o.request), 0);
        RUN_UNTIL(w, o.ended);
        assert_string_equal(i == 0 ? o.message : strstr(o.message, "Permission denied") ?: o.message,
                            i == 0 ? "" : "Permission denied");
        give_back(&o);
    }
}

/* Starts as many endless fetches as possible, PRIVATE and PUBLIC, as a user that also stops its workers with
 * SIGSTOP. */
static void begin_to_hog(struct fixture *w, struct owner own[4], struct owner public[2])
{
    pid_t pid;

    for (size_t i = 0; i < 4; i++) {
        _cleanup_free_ char *hang = print("x:hang-%zu", i);

        if (i < 2) {
            public[i] = (struct owner){0};
            assert_int_equal(try_ask(w, &public[i], NM_VISIBILITY_PUBLIC, (const char *const *)&hang, 1), 0);
        }
        ask(w, &own[i], hang);
    }
    RUN_UNTIL(w, count_log(w) == 2); /* one user's share of three workers, including workers for PUBLIC resources */
    assert_true(has_written_pid(w, &pid));
    assert_int_equal(kill(-getpgid(pid), SIGSTOP), 0);
}

static uint64_t start_as_bob(struct fixture *w, const char *own_uri, const char *public_uri)
{
    const uid_t bob = geteuid() == 0 ? NOBODY - 1 : geteuid();
    const uint64_t begun_usec = nm_now_usec();
    struct owner own = {0}, public = {0};

    assert_int_equal(ask_as(w, "bob", bob, &own, NM_VISIBILITY_PRIVATE, &own_uri, 1), 0);
    assert_int_equal(ask_as(w, "bob", bob, &public, NM_VISIBILITY_PUBLIC, &public_uri, 1), 0);
    RUN_UNTIL(w, own.ended && public.ended);
    assert_int_equal(own.result, 0);
    assert_int_equal(public.result, 0);
    give_back(&own);
    give_back(&public);
    return nm_now_usec() - begun_usec;
}

static void empty_log(struct fixture *w)
{
    _cleanup_close_ int fd = openat(w->root_fd, "log", O_WRONLY | O_TRUNC | O_CLOEXEC);

    assert_true(fd >= 0);
}

/* Many fetches of one user don't delay the fetch of another user. */
static void test_fetches_of_one_user_do_not_delay_another(void **state)
{
    struct fixture *w = *state;
    struct owner own[4], public[2];
    uint64_t alone_usec = start_as_bob(w, "x:a-5", "x:b-5"), beside_usec;

    empty_log(w);
    begin_to_hog(w, own, public);
    beside_usec = start_as_bob(w, "x:c-5", "x:d-5");
    /* two seconds are permitted in any case, because a busy host may be slow */
    if (beside_usec > NM_MAX(2 * alone_usec, 2 * NM_USEC_PER_SEC))
        fail_msg("alone %ju us, beside another user's %ju us", (uintmax_t)alone_usec, (uintmax_t)beside_usec);
    for (size_t i = 0; i < NM_ARRAY_SIZE(own); i++)
        give_back(&own[i]);
    for (size_t i = 0; i < NM_ARRAY_SIZE(public); i++)
        give_back(&public[i]);
}

static void on_removed(void *userdata)
{
    *(bool *)userdata = true;
}

/* A removal doesn't wait for the fetches of the same user, even if they use all of the user's slots. The fetches don't
 * wait for the removal. */
static void test_a_removal_does_not_wait_for_fetches_of_its_user(void **state)
{
    struct fixture *w = *state;
    struct owner own[4], public[2];
    _cleanup_free_ char *first = print("%s/old/10", w->root), *second = print("%s/old/11", w->root);
    const char *const paths[] = {first, second};
    bool is_removed = false;

    assert_int_equal(mkdirat(w->root_fd, "old", 0755), 0);
    assert_int_equal(mkdirat(w->root_fd, "old/10", 0755), 0);
    assert_int_equal(mkdirat(w->root_fd, "old/11", 0755), 0);
    if (geteuid() == 0)
        assert_int_equal(fchownat(w->root_fd, "old", NOBODY, NOBODY, 0), 0);
    begin_to_hog(w, own, public);
    assert_int_equal(nm_localizer_remove(w->localizer, "alice", worker_uid(), w->params.public_gid, paths, 2,
                                         on_removed, &is_removed), 0);
    RUN_UNTIL(w, is_removed);
    assert_false(exists(w, "old/10") || exists(w, "old/11"));
    for (size_t i = 0; i < NM_ARRAY_SIZE(own); i++)
        give_back(&own[i]);
    for (size_t i = 0; i < NM_ARRAY_SIZE(public); i++)
        give_back(&public[i]);
}

/* A worker that its user has stopped with SIGSTOP is killed. A worker with a slow server or a slow command isn't
 * killed. */
static void test_a_stopped_worker_is_killed(void **state)
{
    struct fixture *w = *state;
    struct owner stopped, slow;
    pid_t pid;

    w->localizer = nm_localizer_free(w->localizer);
    w->params.silent_usec = 2 * NM_USEC_PER_SEC;
    start(w);
    ask(w, &stopped, "x:hang-1");
    RUN_UNTIL(w, has_written_pid(w, &pid));
    ask(w, &slow, "x:hang-2");
    RUN_UNTIL(w, count_log(w) == 2);
    assert_int_equal(kill(-getpgid(pid), SIGSTOP), 0);
    RUN_UNTIL(w, stopped.ended);
    assert_int_equal(stopped.result, -EIO);
    assert_non_null(strstr(stopped.message, "nm-localizer made no progress for 2 seconds"));
    RUN_UNTIL(w, kill(pid, 0) < 0);
    assert_int_equal(slow.ended, 0);
    give_back(&stopped);
    RUN_UNTIL(w, !exists(w, "state/10"));
    give_back(&slow);
}

/* ---- lost resources --------------------------------------------------------------------------------------------- */

/* A resource whose fetch is being cancelled isn't given to a new request while the worker is still running. */
static void test_a_resource_whose_fetch_is_being_cancelled_is_fetched_again(void **state)
{
    struct fixture *w = *state;
    struct owner a, b;

    ask(w, &a, "x:f-10");
    RUN_UNTIL(w, count_log(w) == 1);
    give_back(&a);
    ask(w, &b, "x:f-10");
    RUN_UNTIL(w, b.ended);
    assert_string_equal(b.message, "");
    assert_int_equal(b.result, 0);
    assert_int_equal(count_log(w), 2);
    assert_true(exists(w, "local/usercache/alice/filecache/11/f-10"));
    RUN_UNTIL(w, !exists(w, "state/10"));
    give_back(&b);
}

static void remove_file(struct fixture *w)
{
    assert_int_equal(unlinkat(w->root_fd, "local/usercache/alice/filecache/10/f-10", 0), 0);
}

static void cut_file(struct fixture *w)
{
    _cleanup_close_ int fd = openat(w->root_fd, "local/usercache/alice/filecache/10/f-10", O_RDONLY | O_CLOEXEC);

    assert_int_equal(fchmod(fd, 0700), 0);
    (void)nm_close(fd);
    fd = openat(w->root_fd, "local/usercache/alice/filecache/10/f-10", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, 3), 0);
}

/* Removes all files of the resource except an empty directory. */
static void replace_by_empty_directory(struct fixture *w)
{
    assert_int_equal(fchmodat(w->root_fd, "local/usercache/alice/filecache/10", 0700, 0), 0);
    remove_file(w);
    assert_int_equal(mkdirat(w->root_fd, "local/usercache/alice/filecache/10/f-10", 0700), 0);
}

/* Removes files by age, as cleaners of temporary files do. They keep directories that are younger. */
static void leave_directories(struct fixture *w)
{
    static const char *const dirs[] = {"local/usercache/alice/filecache/10/f-10/a",
                                       "local/usercache/alice/filecache/10/f-10/a/b",
                                       "local/usercache/alice/filecache/10/f-10/c"};
    struct stat st;

    assert_int_equal(fstatat(w->root_fd, "local/usercache/alice/filecache/10", &st, 0), 0);
    replace_by_empty_directory(w);
    assert_int_equal(fchownat(w->root_fd, "local/usercache/alice/filecache/10/f-10", st.st_uid, st.st_gid, 0), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(dirs); i++) {
        assert_int_equal(mkdirat(w->root_fd, dirs[i], 0700), 0);
        assert_int_equal(fchownat(w->root_fd, dirs[i], st.st_uid, st.st_gid, 0), 0);
    }
}

static void make_many_directories(struct fixture *w)
{
    char path[120];
    struct stat st;

    assert_int_equal(fstatat(w->root_fd, "local/usercache/alice/filecache/10", &st, 0), 0);
    replace_by_empty_directory(w);
    for (unsigned i = 0; i < 300; i++) {
        (void)snprintf(path, sizeof path, "local/usercache/alice/filecache/10/f-10/%u", i);
        assert_int_equal(mkdirat(w->root_fd, path, 0755), 0);
        assert_int_equal(fchownat(w->root_fd, path, st.st_uid, st.st_gid, 0), 0);
    }
    assert_int_equal(fchownat(w->root_fd, "local/usercache/alice/filecache/10/f-10", st.st_uid, st.st_gid, 0), 0);
}

static void remove_all(struct fixture *w)
{
    _cleanup_free_ char *path = print("%s/local/usercache/alice", w->root);

    (void)remove_tree(path);
}

static void replace_by_link(struct fixture *w)
{
    assert_int_equal(fchmodat(w->root_fd, "local/usercache/alice/filecache/10", 0700, 0), 0);
    remove_file(w);
    assert_int_equal(symlinkat("/etc/passwd", w->root_fd, "local/usercache/alice/filecache/10/f-10"), 0);
}

/* A cleaner of temporary files has removed the resource. A container that already uses the resource isn't affected. The
 * next request fetches the resource again. The note on disk records this for the next nmd. */
static void test_a_resource_removed_from_the_disk_is_fetched_again(void **state)
{
    static void (*const ways[])(struct fixture *) = {cut_file, replace_by_empty_directory, leave_directories,
                                                  make_many_directories, replace_by_link, remove_all};
    struct fixture *w = *state;
    struct owner a, b, c;

    for (size_t i = 0; i < NM_ARRAY_SIZE(ways); i++) {
        if (i > 0) {
            (void)fixture_tear_down(state);
            (void)fixture_set_up(state);
            w = *state;
        }
        ask(w, &a, "x:f-10");
        RUN_UNTIL(w, a.ended);
        assert_true(nm_localizer_check(a.request, 0, "f-10"));
        ways[i](w);
        ask(w, &b, "x:f-10");
        RUN_UNTIL(w, b.ended);
        assert_int_equal(b.result, 0);
        assert_int_equal(count_log(w), 2);
        assert_true(exists(w, "local/usercache/alice/filecache/11/f-10"));
        assert_true(nm_localizer_is_available(a.request, 0)); /* the resource was present at the time of this request */
        give_back(&a);
        give_back(&b);
        RUN_UNTIL(w, !exists(w, "state/10"));
        w->localizer = nm_localizer_free(w->localizer);
        start(w);
        ask(w, &c, "x:f-10");
        RUN_UNTIL(w, c.ended);
        assert_int_equal(count_log(w), 2);
        give_back(&c);
    }
}

/* The resource has more directories than the check reads, and each has a file. The first file that is found is
 * enough. */
static void test_a_resource_with_many_directories_is_not_taken_for_empty(void **state)
{
    struct fixture *w = *state;
    char path[120];
    struct owner a, b;

    ask(w, &a, "x:f-10");
    RUN_UNTIL(w, a.ended);
    make_many_directories(w);
    for (unsigned i = 0; i < 300; i++) {
        _cleanup_close_ int fd = -EBADF;

        (void)snprintf(path, sizeof path, "local/usercache/alice/filecache/10/f-10/%u/file", i);
        fd = openat(w->root_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
    }
    assert_true(nm_localizer_check(a.request, 0, "f-10"));
    give_back(&a);
    ask(w, &b, "x:f-10");
    RUN_UNTIL(w, b.ended);
    assert_int_equal(count_log(w), 1);
    give_back(&b);
}

/* The resource is removed after nmd has answered the request and before the container uses the resource. */
static void test_a_resource_removed_after_its_request_was_answered_is_reported(void **state)
{
    struct fixture *w = *state;
    struct owner a, b;

    ask(w, &a, "x:f-10");
    RUN_UNTIL(w, a.ended);
    assert_int_equal(fchmodat(w->root_fd, "local/usercache/alice/filecache/10", 0700, 0), 0);
    remove_file(w);
    assert_false(nm_localizer_check(a.request, 0, "f-10"));
    ask(w, &b, "x:f-10");
    give_back(&a);
    RUN_UNTIL(w, b.ended);
    assert_int_equal(b.result, 0);
    assert_int_equal(count_log(w), 2);
    give_back(&b);
}

static unsigned n_progress;
static char reported[600];

static void on_reported(int level, const char *sentence)
{
    (void)level;
    n_progress++;
    (void)snprintf(reported, sizeof reported, "%s", sentence);
}

/* Removes the write permission of the parent directory, so that the files in the target can be removed but not the
 * target. */
static void set_undeletable(struct fixture *w, bool is)
{
    const char *above = "local/usercache/alice/filecache";
    const uid_t owner = is ? geteuid() : worker_uid();

    assert_int_equal(fchownat(w->root_fd, above, owner, (gid_t)-1, 0), 0);
    assert_int_equal(fchmodat(w->root_fd, above, is ? 0555 : 0755, 0), 0);
}

/* A failed removal is repeated later. The failure is reported once. */
static void test_a_failed_removal_is_repeated(void **state)
{
    static const char *const uris[] = {"x:a-1", "x:b-1"};
    struct fixture *w = *state;
    struct owner a = {0};

    w->localizer = nm_localizer_free(w->localizer);
    w->params.report_cb = on_reported;
    w->params.retry_first_usec = 50 * NM_USEC_PER_MSEC;
    start(w);
    n_progress = 0;
    assert_int_equal(try_ask(w, &a, NM_VISIBILITY_PRIVATE, uris, 2), 0);
    RUN_UNTIL(w, a.ended);
    assert_int_equal(a.result, 0);
    set_undeletable(w, true);
    nm_localizer_set_room(w->localizer, 0);
    give_back(&a);
    RUN_UNTIL(w, n_progress > 0);
    assert_non_null(strstr(reported, "/usercache/alice/filecache/1"));
    assert_non_null(strstr(reported, "; nmd retries at intervals"));
    for (int i = 0; i < 5; i++)
        assert_true(sd_event_run(w->event, 100 * NM_USEC_PER_MSEC) >= 0);
    assert_int_equal(nm_localizer_bytes(w->localizer), 2); /* the bytes count until the files have been removed */
    set_undeletable(w, false);
    RUN_UNTIL(w, nm_localizer_bytes(w->localizer) == 0);
    assert_false(exists(w, "local/usercache/alice/filecache/10"));
    assert_false(exists(w, "local/usercache/alice/filecache/11"));
    assert_int_equal(n_progress, 1);
}

/* Starts the localizer again with this pause before a removal is repeated, and fetches a resource. */
static void fetch_one(struct fixture *w, uint64_t pause_usec)
{
    struct owner a;

    w->localizer = nm_localizer_free(w->localizer);
    w->params.report_cb = on_reported;
    w->params.retry_first_usec = pause_usec;
    start(w);
    n_progress = 0;
    ask(w, &a, "x:f-10");
    RUN_UNTIL(w, a.ended);
    assert_int_equal(a.result, 0);
    give_back(&a);
}

static void run_for(struct fixture *w, uint64_t usec)
{
    const uint64_t end_usec = nm_now_usec() + usec;

    while (nm_now_usec() < end_usec)
        assert_true(sd_event_run(w->event, usec / 5) >= 0);
}

/* The localizer neither tries removals nor reports failed ones while its local directory can't be used. */
static void test_removals_wait_until_the_local_directory_is_usable(void **state)
{
    struct fixture *w = *state;

    fetch_one(w, 0);
    assert_int_equal(nm_localizer_set_usable(w->localizer, false), 0);
    nm_localizer_set_room(w->localizer, 0);
    run_for(w, 300 * NM_USEC_PER_MSEC);
    assert_int_equal(n_progress, 0);
    assert_int_equal(nm_localizer_bytes(w->localizer), 10);
    assert_true(exists(w, "local/usercache/alice/filecache/10"));
    assert_int_equal(nm_localizer_set_usable(w->localizer, true), 0);
    RUN_UNTIL(w, nm_localizer_bytes(w->localizer) == 0);
    assert_false(exists(w, "local/usercache/alice/filecache/10"));
    assert_int_equal(n_progress, 0);
}

/* The disk is unmounted, and nmd has not noticed it yet. A worker finds no files where they were. They are removed when
 * the disk is back, without a pause. */
static void test_files_on_an_unmounted_disk_are_removed_when_it_is_back(void **state)
{
    struct fixture *w = *state;

    fetch_one(w, 2 * SECONDS * NM_USEC_PER_SEC);
    assert_int_equal(renameat(w->root_fd, "local", w->root_fd, "unmounted"), 0);
    assert_int_equal(mkdirat(w->root_fd, "local", 0755), 0);
    nm_localizer_set_room(w->localizer, 0);
    RUN_UNTIL(w, n_progress > 0);
    assert_non_null(strstr(reported, "can't remove resource 10 in /tmp/"));
    assert_non_null(strstr(reported, "its disk isn't mounted"));
    assert_int_equal(nm_localizer_set_usable(w->localizer, false), 0);
    run_for(w, 300 * NM_USEC_PER_MSEC);
    assert_int_equal(nm_localizer_bytes(w->localizer), 10);
    assert_true(exists(w, "state/10"));
    assert_int_equal(unlinkat(w->root_fd, "local", AT_REMOVEDIR), 0);
    assert_int_equal(renameat(w->root_fd, "unmounted", w->root_fd, "local"), 0);
    assert_int_equal(nm_localizer_set_usable(w->localizer, true), 0);
    RUN_UNTIL(w, nm_localizer_bytes(w->localizer) == 0);
    assert_false(exists(w, "local/usercache/alice/filecache/10"));
    assert_false(exists(w, "state/10"));
    assert_int_equal(n_progress, 1);
}

static void test_fetched_resources_survive_a_restart_of_nmd(void **state)
{
    struct fixture *w = *state;
    struct owner a, b;

    ask(w, &a, "x:f-10");
    RUN_UNTIL(w, a.ended);
    give_back(&a);
    w->localizer = nm_localizer_free(w->localizer);
    start(w);
    ask(w, &a, "x:f-10");
    RUN_UNTIL(w, a.ended);
    assert_int_equal(a.result, 0);
    assert_int_equal(count_log(w), 1);
    give_back(&a);
    /* an incomplete fetch, as after a crash of nmd, is removed, and its directory's number isn't used again */
    ask(w, &b, "x:hang-1");
    RUN_UNTIL(w, count_log(w) == 2);
    give_back(&b);
    w->localizer = nm_localizer_free(w->localizer);
    assert_true(exists(w, "state/11"));
    start(w);
    RUN_UNTIL(w, !exists(w, "state/11"));
    assert_false(exists(w, "local/usercache/alice/filecache/11_tmp"));
    assert_true(exists(w, "local/usercache/alice/filecache/10"));
    /* after a reboot all resources are removed */
    w->localizer = nm_localizer_free(w->localizer);
    w->params.boot_id = "next boot";
    start(w);
    RUN_UNTIL(w, nm_localizer_bytes(w->localizer) == 0);
    assert_false(exists(w, "local/usercache/alice/filecache/10"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_resource_is_fetched_once_for_all_requests),
        TEST(test_statistics_count_resources_as_fetched_or_cached),
        TEST(test_each_visibility_has_a_separate_directory),
        TEST(test_a_failed_fetch_is_reported),
        TEST(test_an_invalid_request_is_refused),
        TEST(test_the_least_recently_used_resource_is_removed),
        TEST(test_a_fetch_that_no_request_waits_for_is_killed),
        TEST(test_one_user_gets_two_of_three_workers),
        TEST(test_a_file_readable_through_a_supplementary_group_is_fetched),
        TEST(test_fetches_of_one_user_do_not_delay_another),
        TEST(test_a_removal_does_not_wait_for_fetches_of_its_user),
        TEST(test_a_stopped_worker_is_killed),
        TEST(test_a_resource_whose_fetch_is_being_cancelled_is_fetched_again),
        TEST(test_a_resource_removed_from_the_disk_is_fetched_again),
        TEST(test_a_resource_with_many_directories_is_not_taken_for_empty),
        TEST(test_a_resource_removed_after_its_request_was_answered_is_reported),
        TEST(test_a_failed_removal_is_repeated),
        TEST(test_removals_wait_until_the_local_directory_is_usable),
        TEST(test_files_on_an_unmounted_disk_are_removed_when_it_is_back),
        TEST(test_fetched_resources_survive_a_restart_of_nmd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
