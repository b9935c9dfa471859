/* SPDX-License-Identifier: Apache-2.0 */

/* localize/localizer.h: a container with the maximum number of resources doesn't cause a long turn of the event
 * loop. */

#include "tests/unit/localizer-fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "util/fileio.h"

#define N 8192
#define PATIENCE_USEC (300 * NM_USEC_PER_SEC) /* long enough for sanitizers and a busy host */
#define PIECE 64
/* Maximum number of calls in one turn. A turn handles a few pieces of the list. Each resource of a piece costs one
 * call, which sets the time of a note, removes the note, or reads it. */
#define CALLS_MAX (3 * PIECE)

/* ---- counters of nmd's system calls ----------------------------------------------------------------------------- */

static unsigned n_calls, most_calls, n_saved, n_forks;
static unsigned n_progress, most_progress; /* calls of the callback that reports progress */
static pid_t worker;               /* the worker that was started last */

int __real_utimensat(int fd, const char *path, const struct timespec times[2], int flags);
int __wrap_utimensat(int fd, const char *path, const struct timespec times[2], int flags);
int __real_fstatat(int fd, const char *path, struct stat *st, int flags);
int __wrap_fstatat(int fd, const char *path, struct stat *st, int flags);
int __real_unlinkat(int fd, const char *path, int flags);
int __wrap_unlinkat(int fd, const char *path, int flags);
pid_t __real_fork(void);
pid_t __wrap_fork(void);

int __wrap_utimensat(int fd, const char *path, const struct timespec times[2], int flags)
{
    n_calls++;
    n_saved++;
    return __real_utimensat(fd, path, times, flags);
}

int __wrap_fstatat(int fd, const char *path, struct stat *st, int flags)
{
    n_calls++;
    return __real_fstatat(fd, path, st, flags);
}

int __wrap_unlinkat(int fd, const char *path, int flags)
{
    n_calls++;
    return __real_unlinkat(fd, path, flags);
}

pid_t __wrap_fork(void)
{
    pid_t pid = __real_fork();

    n_forks++;
    worker = pid;
    return pid;
}

static void end_turn(void)
{
    most_calls = NM_MAX(most_calls, n_calls);
    most_progress = NM_MAX(most_progress, n_progress);
    n_calls = n_progress = 0;
}

#define RUN_TURNS_UNTIL(w, condition) \
    do { \
        const uint64_t _end_usec = nm_now_usec() + PATIENCE_USEC; \
        end_turn(); \
        while (!(condition)) { \
            assert_true(nm_now_usec() < _end_usec); \
            assert_true(sd_event_run((w)->event, 20 * NM_USEC_PER_MSEC) >= 0); \
            end_turn(); \
        } \
    } while (0)

/* ---- many resources --------------------------------------------------------------------------------------------- */

/* Requests the same file N times, each time with another pattern. A pattern has no effect on a file that isn't an
 * archive. */
static void ask_many(struct fixture *w, struct owner *o, enum nm_visibility visibility, bool fails)
{
    const struct nm_localizer_user user = {
        .name = "alice", .application = "application_1_0001", .uid = worker_uid(), .gid = w->params.public_gid};
    const struct nm_localizer_listener listener = {.progress = on_progress, .ended = on_ended, .userdata = o};
    struct nm_localizer_resource *list = calloc(N, sizeof *list);
    _cleanup_free_ char *uri = print("file://%s/one", w->root);
    char(*patterns)[16] = calloc(N, sizeof *patterns);
    struct stat st;

    assert_non_null(list);
    assert_non_null(patterns);
    assert_int_equal(__real_fstatat(w->root_fd, "one", &st, 0), 0);
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(patterns[i], sizeof patterns[i], "%zu", i);
        list[i] = (struct nm_localizer_resource){
            .visibility = visibility,
            .uri = uri,
            .type = "PATTERN",
            .pattern = patterns[i],
            .timestamp_msec = fails ? 1
                                    : (uint64_t)st.st_mtim.tv_sec * 1000 + (uint64_t)st.st_mtim.tv_nsec / 1000000,
            .name = "one",
        };
    }
    *o = (struct owner){0};
    assert_int_equal(nm_localizer_request(w->localizer, &user, list, N, &listener, &o->request), 0);
    free(list);
    free(patterns);
}

static int set_up(void **state)
{
    struct fixture *w;
    int fd;

    (void)fixture_set_up(state);
    w = *state;
    fd = openat(w->root_fd, "one", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, "1", 1), 1);
    (void)close(fd);
    w->localizer = nm_localizer_free(w->localizer);
    w->params.cache_max_bytes = 2 * N;
    start(w);
    RUN_TURNS_UNTIL(w, true);
    n_calls = most_calls = n_forks = n_progress = most_progress = 0;
    return 0;
}

static void check_turns(void)
{
    print_message("at most %u calls in a turn, %u workers\n", most_calls, n_forks);
    assert_true(most_calls <= CALLS_MAX);
    most_calls = n_forks = 0;
}

/* All resources are fetched, are found at the next request, and are removed. */
static void test_all_resources_are_fetched_found_and_removed(void **state)
{
    struct fixture *w = *state;
    struct nm_localizer_counts counts;
    struct owner o;

    ask_many(w, &o, NM_VISIBILITY_PRIVATE, false);
    RUN_TURNS_UNTIL(w, o.ended);
    assert_string_equal(o.message, "");
    assert_int_equal(o.result, 0);
    nm_localizer_count(o.request, &counts);
    assert_int_equal(counts.n_fetched, N);
    assert_true(n_forks <= N / PIECE + 1);
    check_turns();
    give_back(&o);
    ask_many(w, &o, NM_VISIBILITY_PRIVATE, false);
    RUN_TURNS_UNTIL(w, o.ended);
    nm_localizer_count(o.request, &counts);
    assert_int_equal(counts.n_cached, N);
    check_turns();
    give_back(&o);
    nm_localizer_set_room(w->localizer, 0);
    RUN_TURNS_UNTIL(w, nm_localizer_bytes(w->localizer) == 0);
    /* nmd starts only as many workers as needed, and not one for each resource */
    assert_true(n_forks <= N / 8);
    check_turns();
    assert_false(exists(w, "state/10"));
}

static bool nothing_is_noted(struct fixture *w)
{
    _cleanup_closedir_ DIR *d = NULL;
    unsigned n = 0;

    d = opendir(w->state);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    return n == 0;
}

/* The first failure ends the request. For the resources that still wait, nmd starts no worker and writes no file. */
static void test_the_first_failed_fetch_ends_the_request(void **state)
{
    static const enum nm_visibility all[] = {NM_VISIBILITY_APPLICATION, NM_VISIBILITY_PUBLIC};
    struct fixture *w = *state;
    struct owner o;

    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        n_saved = 0;
        ask_many(w, &o, all[i], true);
        RUN_TURNS_UNTIL(w, o.ended);
        assert_int_equal(o.result, -EIO);
        give_back(&o);
        RUN_TURNS_UNTIL(w, nothing_is_noted(w));
        print_message("%u files were written\n", n_saved);
        assert_in_range(n_saved, 1, N / 8);
        check_turns();
    }
}

/* The request is cancelled immediately. Its remaining resources are never fetched, and they don't prevent nmd's
 * exit. */
static void test_a_cancelled_request_starts_no_more_fetches(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    ask_many(w, &o, NM_VISIBILITY_PRIVATE, false);
    give_back(&o);
    RUN_TURNS_UNTIL(w, !exists(w, "state/10") && !exists(w, "state/73"));
    assert_int_equal(o.ended, 0);
    assert_false(exists(w, "state/100"));
    check_turns();
    ask_many(w, &o, NM_VISIBILITY_PRIVATE, false);
    RUN_TURNS_UNTIL(w, exists(w, "state/300"));
    give_back(&o);
}

/* ---- one resource with many names ------------------------------------------------------------------------------- */

#define FLOOD_LINES 1000 /* maximum number of lines that a worker may send in one piece */

static void on_reported(struct nm_localizer_request *request, const struct nm_localizer_progress *progress,
                        void *userdata)
{
    on_progress(request, progress, userdata);
    n_progress++;
    assert_int_equal(progress->n_done, 0);
    assert_int_equal(progress->n, N);
}

static void ask_names(struct fixture *w, struct owner *o, enum nm_visibility visibility, const char *uri)
{
    const struct nm_localizer_user user = {
        .name = "alice", .application = "application_1_0001", .uid = worker_uid(), .gid = w->params.public_gid};
    const struct nm_localizer_listener listener = {.progress = on_reported, .ended = on_ended, .userdata = o};
    struct nm_localizer_resource *list = calloc(N, sizeof *list);
    const uint64_t begun_usec = nm_now_usec();

    assert_non_null(list);
    for (size_t i = 0; i < N; i++)
        list[i] = (struct nm_localizer_resource){
            .visibility = visibility, .uri = uri, .type = "FILE", .name = uri + strlen("x:")};
    *o = (struct owner){0};
    n_progress = most_progress = n_forks = 0;
    assert_int_equal(nm_localizer_request(w->localizer, &user, list, N, &listener, &o->request), 0);
    free(list);
    /* waits until all resources have been requested */
    RUN_TURNS_UNTIL(w, n_forks > 0 && nm_now_usec() > begun_usec + NM_USEC_PER_SEC);
    assert_int_equal(n_forks, 1);
}

/* Writes into the worker's pipe while nmd doesn't read it, as any process of the same user can. */
static void flood(unsigned lines)
{
    static const char line[] = "{\"resource\":0,\"state\":\"fetching\",\"bytes\":1,\"total\":2}\n";
    _cleanup_free_ char *path = print("/proc/%d/fd/1", worker);
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    unsigned n = 0;

    assert_true(fd >= 0);
    while (n < lines && write(fd, line, sizeof line - 1) == sizeof line - 1)
        n++;
    assert_true(n > FLOOD_LINES / 2);
}

/* Each turn of the event loop reports progress to the request at most once. All its resources are complete when the
 * fetch is complete. */
static void test_each_turn_of_the_event_loop_reports_progress_at_most_once(void **state)
{
    static const enum nm_visibility all[] = {NM_VISIBILITY_PRIVATE, NM_VISIBILITY_PUBLIC};
    struct fixture *w = *state;
    struct nm_localizer_counts counts;
    struct owner o;

    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        ask_names(w, &o, all[i], "x:grow-4");
        flood(FLOOD_LINES);
        RUN_TURNS_UNTIL(w, o.ended);
        print_message("progress was reported %u times, at most %u times in a turn\n", o.progress, most_progress);
        assert_string_equal(o.message, "");
        assert_int_equal(o.result, 0);
        assert_int_equal(most_progress, 1);
        assert_in_range(o.progress, 1, 200); /* progress was reported several times a second */
        for (size_t k = 0; k < N; k++) {
            _cleanup_free_ char *target = nm_localizer_target(o.request, k);

            assert_true(nm_localizer_is_available(o.request, k) && target);
        }
        nm_localizer_count(o.request, &counts);
        assert_int_equal(counts.n_fetched, 1);
        give_back(&o);
    }
    nm_localizer_set_room(w->localizer, 0);
    RUN_TURNS_UNTIL(w, nm_localizer_bytes(w->localizer) == 0);
    check_turns();
}

/* A killed worker has left a full pipe. nmd reads it in one turn of the event loop. */
static void test_the_pipe_of_a_killed_worker_is_read_in_one_turn(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    ask_names(w, &o, NM_VISIBILITY_PRIVATE, "x:hang-1");
    n_progress = most_progress = 0;
    flood(UINT32_MAX);
    assert_int_equal(kill(worker, SIGKILL), 0);
    RUN_TURNS_UNTIL(w, o.ended);
    print_message("progress was reported at most %u times in a turn\n", most_progress);
    assert_int_equal(o.result, -EIO);
    assert_non_null(strstr(o.message, "x:hang-1: nm-localizer was killed by signal 9"));
    assert_true(most_progress <= 1);
    give_back(&o);
    RUN_TURNS_UNTIL(w, !exists(w, "state/10"));
    check_turns();
}

/* A failed fetch fails for all resources of the request. The fetch of the next request succeeds for all of them. A
 * fetch ends when its request is cancelled. */
static void test_a_failed_fetch_is_repeated_for_the_next_request(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    ask_names(w, &o, NM_VISIBILITY_APPLICATION, "x:bad");
    RUN_TURNS_UNTIL(w, o.ended);
    assert_int_equal(o.result, -EIO);
    assert_int_equal(o.ended, 1);
    give_back(&o);
    RUN_TURNS_UNTIL(w, !exists(w, "state/10"));
    ask_names(w, &o, NM_VISIBILITY_APPLICATION, "x:hang-1");
    assert_int_equal(kill(worker, 0), 0);
    give_back(&o);
    RUN_TURNS_UNTIL(w, kill(worker, 0) < 0);
    RUN_TURNS_UNTIL(w, !exists(w, "state/11"));
    assert_int_equal(o.ended, 0);
    check_turns();
}

#define TEST_MANY(f) cmocka_unit_test_setup_teardown(f, set_up, fixture_tear_down)

/* ---- many removals ---------------------------------------------------------------------------------------------- */

#define REMOVALS 100

static void count_ended(void *userdata)
{
    ++*(unsigned *)userdata;
}

/* The directories of a user's containers that end together are removed by a few workers, not by one for each. Those of
 * another user have a worker of their own, because it has other rights. */
static void test_waiting_removals_share_workers(void **state)
{
    struct fixture *w = *state;
    unsigned ended = 0;

    assert_int_equal(mkdirat(w->root_fd, "old", 0755), 0);
    if (geteuid() == 0)
        assert_int_equal(fchownat(w->root_fd, "old", worker_uid(), w->params.public_gid, 0), 0);
    for (int i = 0; i < REMOVALS; i++) {
        _cleanup_free_ char *name = print("old/%d", i), *path = print("%s/old/%d", w->root, i);

        assert_int_equal(mkdirat(w->root_fd, name, 0755), 0);
        assert_int_equal(nm_localizer_remove(w->localizer, i == 50 ? "bob" : "alice", worker_uid(),
                                             w->params.public_gid, (const char *const[]){path}, 1, count_ended,
                                             &ended), 0);
    }
    n_forks = 0;
    RUN_TURNS_UNTIL(w, ended == REMOVALS);
    assert_int_equal(n_forks, 3); /* 64, 35 and 1 */
    for (int i = 0; i < REMOVALS; i++) {
        _cleanup_free_ char *name = print("old/%d", i);

        assert_false(exists(w, name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_MANY(test_all_resources_are_fetched_found_and_removed),
        TEST_MANY(test_the_first_failed_fetch_ends_the_request),
        TEST_MANY(test_a_cancelled_request_starts_no_more_fetches),
        TEST_MANY(test_each_turn_of_the_event_loop_reports_progress_at_most_once),
        TEST_MANY(test_the_pipe_of_a_killed_worker_is_read_in_one_turn),
        TEST_MANY(test_a_failed_fetch_is_repeated_for_the_next_request),
        TEST_MANY(test_waiting_removals_share_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
