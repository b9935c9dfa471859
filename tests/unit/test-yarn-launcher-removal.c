/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The removal of files by yarn/launch/launcher.h: after the end of containers and applications, with failures, and of
 * applications that no node knows.
 */

#include "launcher-fixture.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail-nth.h"
#include "util/fileio.h"

#define P(name, value) "<property><name>" name "</name><value>" value "</value></property>"
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static void put_file(struct fixture *w, const char *name, const char *text)
{
    int fd = openat(w->root_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(nm_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(close(fd), 0);
}

/* Prepares the container, and gives its resources back, as at its end. */
static void make_files(struct fixture *w)
{
    struct owner o;

    prepare_all(w, &o);
    assert_int_equal(o.result, 0);
    give_back(&o);
}

/* ---- ends ------------------------------------------------------------------------------------ */

#define SECOND_DIR "second/usercache/alice@corp$/appcache/" APPLICATION
#define NOTE "state/ended/" APPLICATION
#define WITHOUT_LOGS P("yarn.nodemanager.log.retain-seconds", "0")

static void end_application(struct fixture *w)
{
    nm_yarn_launcher_end_application(w->launcher, "alice@corp$", APPLICATION);
}

static void test_a_removal_with_invalid_names_removes_no_file(void **state)
{
    struct fixture *w = *state;

    set_command(w, "true");
    make_files(w);
    nm_yarn_launcher_end_application(w->launcher, "../alice@corp$", APPLICATION);
    nm_yarn_launcher_end_application(w->launcher, "alice@corp$", "..");
    nm_yarn_launcher_end_container(w->launcher, "alice@corp$", APPLICATION, "../" APPLICATION);
    assert_false(exists(w, NOTE));
    end_application(w);
    RUN_UNTIL(w, !exists(w, APP_DIR));
}

/* With a delay of -1 the files are never removed, for debugging. */
static void test_with_a_delay_of_minus_one_files_are_never_removed(void **state)
{
    struct fixture *w = *state;

    start(w, P("yarn.nodemanager.delete.debug-delay-sec", "-1"));
    set_command(w, "true");
    make_files(w);
    nm_yarn_launcher_end_container(w->launcher, "alice@corp$", APPLICATION, CONTAINER);
    end_application(w);
    RUN_UNTIL(w, !exists(w, NOTE));
    assert_true(exists(w, WORK_DIR "/launch_container.sh"));
}

static void test_damaged_notes_of_ended_applications_are_ignored(void **state)
{
    static const char *const bad[] = {
        "", "{", "[]", "{\"submitter\": \"alice@corp$\"}", "{\"submitter\": \"..\", \"ended_usec\": 1}",
        "{\"submitter\": \"alice@corp$\", \"ended_usec\": -1}", "{\"submitter\": 7, \"ended_usec\": 1}",
    };
    struct fixture *w = *state;

    set_command(w, "true");
    make_files(w);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        put_file(w, NOTE, bad[i]);
        start(w, "");
        for (int turn = 0; turn < 3; turn++)
            assert_true(sd_event_run(w->event, 0) >= 0);
        assert_true(exists(w, WORK_DIR));
        assert_int_equal(unlinkat(w->root_fd, NOTE, 0), 0);
    }
    put_file(w, NOTE, "{\"submitter\": \"alice@corp$\", \"ended_usec\": 1}");
    start(w, "");
    RUN_UNTIL(w, !exists(w, APP_DIR));
}

/* On a full disk the note that an application has ended can't be written. The running nmd removes the application's
 * files all the same. */
static void test_files_are_removed_although_the_note_can_not_be_written(void **state)
{
    struct fixture *w = *state;

    set_command(w, "true");
    make_files(w);
    assert_int_equal(unlinkat(w->root_fd, "state/ended", AT_REMOVEDIR), 0);
    end_application(w);
    RUN_UNTIL(w, !exists(w, APP_DIR) && !exists(w, SECOND_DIR));
}

/* Files that the user can't remove are left, and their removal is repeated later. All other files are removed. */
static void test_a_failed_removal_is_repeated(void **state)
{
    struct fixture *w = *state;

    if (geteuid() != 0)
        skip();
    set_command(w, "true");
    make_files(w);
    assert_int_equal(mkdirat(w->root_fd, WORK_DIR "/roots", 0700), 0);
    put_file(w, WORK_DIR "/roots/file", "x");
    nm_yarn_launcher_end_container(w->launcher, "alice@corp$", APPLICATION, CONTAINER);
    RUN_UNTIL(w, !exists(w, WORK_DIR "/launch_container.sh") && !exists(w, SECOND_DIR "/" CONTAINER));
    end_application(w);
    RUN_UNTIL(w, !exists(w, SECOND_DIR));
    for (int turn = 0; turn < 20; turn++)
        assert_true(sd_event_run(w->event, 10000) >= 0);
    assert_true(exists(w, WORK_DIR "/roots/file"));
    assert_true(exists(w, NOTE));
    /* The first retries follow soon. */
    assert_int_equal(fchownat(w->root_fd, WORK_DIR "/roots", w->uid, w->gid, 0), 0);
    RUN_UNTIL(w, !exists(w, APP_DIR));
}

/* The number of open files has reached its limit while nmd looks for the files. */
static void test_files_that_can_not_be_looked_up_are_removed_later(void **state)
{
    struct fixture *w = *state;
    struct rlimit limit, none;

    start(w, WITHOUT_LOGS);
    set_command(w, "true");
    make_files(w);
    end_application(w);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int turn = 0; turn < 10; turn++)
        assert_true(sd_event_run(w->event, 1000) >= 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(exists(w, APP_DIR));
    RUN_UNTIL(w, !exists(w, NOTE));
    assert_false(exists(w, APP_DIR));
    assert_false(exists(w, SECOND_DIR));
}

/* A master has started another container after the end of its application, for example of an nmd that was restarted in
 * between. The logs are kept for hours, so the first end is still in the queue. */
static void test_an_application_that_ends_again_is_removed_again(void **state)
{
    struct fixture *w = *state;

    set_command(w, "true");
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            start(w, "");
        make_files(w);
        nm_yarn_launcher_end_container(w->launcher, "alice@corp$", APPLICATION, CONTAINER);
        end_application(w);
        RUN_UNTIL(w, !exists(w, APP_DIR) && !exists(w, SECOND_DIR));
        assert_true(exists(w, NOTE));
        assert_true(exists(w, LOG_DIR));
    }
}

/* Containers often end together with their application. A process for each of them and each directory would delay the
 * removal of other files of their user. */
static void test_one_process_removes_all_files_of_an_application(void **state)
{
    enum { CALLS = 3 }; /* for one process: fork(), pipe2() and pidfd_open() */
    struct fixture *w = *state;

    set_command(w, "true");
    make_files(w);
    assert_true(exists(w, SECOND_DIR "/" CONTAINER));
    fail_nth(FAIL_PROCESS, CALLS + 1);
    nm_yarn_launcher_end_container(w->launcher, "alice@corp$", APPLICATION, CONTAINER);
    end_application(w);
    RUN_UNTIL(w, !exists(w, APP_DIR) && !exists(w, SECOND_DIR));
    assert_false(fail_stop());
}

/* ---- files of unknown applications -------------------------------------------------------- */

#define CACHE "usercache/alice@corp$/appcache/"
#define STRAY "application_1600000000000_0007"

static bool is_known(const char *application, void *userdata)
{
    (void)userdata;
    return nm_streq(application, APPLICATION);
}

static void make_stray(struct fixture *w, const char *dir)
{
    assert_int_equal(mkdirat(w->root_fd, dir, 0700), 0);
    if (geteuid() == 0)
        assert_int_equal(fchownat(w->root_fd, dir, w->uid, w->gid, 0), 0);
}

static void test_files_of_unknown_applications_are_removed(void **state)
{
    struct fixture *w = *state;
    char why[300];

    set_command(w, "true");
    make_files(w);
    start(w, P("yarn.nodemanager.disk-health-checker.interval-ms", "1000"));
    make_stray(w, "local/" CACHE STRAY);
    make_stray(w, "local/" CACHE STRAY "/blockmgr");
    make_stray(w, "second/" CACHE STRAY);
    make_stray(w, "second/" CACHE "application_none");
    for (int turn = 0; turn < 10; turn++)
        assert_true(sd_event_run(w->event, 1000) >= 0);
    assert_true(exists(w, "local/" CACHE STRAY)); /* no node knows yet which applications there are */
    nm_yarn_launcher_set_known(w->launcher, is_known, NULL);
    nm_yarn_launcher_allow_removals(w->launcher);
    RUN_UNTIL(w, !exists(w, "local/" CACHE STRAY) && !exists(w, "second/" CACHE STRAY));
    assert_non_null(strstr(reported, "/local has files of 1 applications that this node doesn't know any more"));
    assert_true(exists(w, WORK_DIR));
    assert_true(exists(w, SECOND_DIR));
    assert_true(exists(w, "second/" CACHE "application_none"));

    /* A disk was away when the application's files were removed, and is back later. */
    assert_int_equal(renameat(w->root_fd, "second", w->root_fd, "away"), 0);
    RUN_UNTIL(w, nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why) && strstr(why, "1/2 local-dirs"));
    make_stray(w, "away/" CACHE STRAY);
    assert_int_equal(renameat(w->root_fd, "away", w->root_fd, "second"), 0);
    RUN_UNTIL(w, nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why) && !exists(w, "second/" CACHE STRAY));
    assert_true(exists(w, SECOND_DIR));
}

/* Users decide how many directories they make. */
static void test_the_search_for_unknown_applications_is_limited(void **state)
{
    struct fixture *w = *state;
    char name[100];
    unsigned n_left = 0;

    set_command(w, "true");
    make_files(w);
    start(w, P("yarn.nodemanager.delete.debug-delay-sec", "3600"));
    for (unsigned i = 0; i < 1100; i++) {
        (void)snprintf(name, sizeof name, "local/" CACHE "application_1600000000000_%04u", i + 1);
        make_stray(w, name);
    }
    nm_yarn_launcher_set_known(w->launcher, is_known, NULL);
    nm_yarn_launcher_allow_removals(w->launcher);
    RUN_UNTIL(w, sscanf(strstr(reported, " of ") ?: "", " of %u ", &n_left) == 1);
    assert_in_range(n_left, 900, 1000);
}

/* The files are kept for the configured time. Then they are removed with only the rights of their user. */
static void test_files_are_kept_for_the_configured_time(void **state)
{
    static const char more[] = WITHOUT_LOGS P("yarn.nodemanager.delete.debug-delay-sec", "2");
    struct fixture *w = *state;

    start(w, more);
    set_command(w, "true");
    make_files(w);
    put_file(w, LOG_DIR "/roots", "x");
    if (geteuid() == 0)
        assert_int_equal(fchownat(w->root_fd, LOG_DIR, 0, 0, 0), 0);
    nm_yarn_launcher_end_container(w->launcher, "alice@corp$", APPLICATION, CONTAINER);
    nm_yarn_launcher_end_container(w->launcher, "alice@corp$", APPLICATION, "container_of_none");
    end_application(w);
    for (int turn = 0; turn < 3; turn++)
        assert_true(sd_event_run(w->event, 0) >= 0);
    assert_true(exists(w, WORK_DIR));
    RUN_UNTIL(w, !exists(w, APP_DIR) && !exists(w, SECOND_DIR));
    if (geteuid() == 0) {
        for (int turn = 0; turn < 20; turn++)
            assert_true(sd_event_run(w->event, 10000) >= 0);
        assert_true(exists(w, LOG_DIR "/roots"));
        assert_true(exists(w, NOTE)); /* the removal of this file will be repeated */
    } else {
        RUN_UNTIL(w, !exists(w, NOTE));
    }
}

/* A local directory fails after the files were removed from it. The logs are removed in time. */
static void test_logs_do_not_wait_for_a_local_directory_that_fails_later(void **state)
{
    static const char more[] = P("yarn.nodemanager.log.retain-seconds", "3")
        P("yarn.nodemanager.disk-health-checker.interval-ms", "1000");
    struct fixture *w = *state;
    char why[300];

    start(w, more);
    set_command(w, "true");
    make_files(w);
    nm_yarn_launcher_end_container(w->launcher, "alice@corp$", APPLICATION, CONTAINER);
    end_application(w);
    RUN_UNTIL(w, !exists(w, APP_DIR) && !exists(w, SECOND_DIR));
    assert_true(exists(w, LOG_DIR));
    assert_int_equal(renameat(w->root_fd, "second", w->root_fd, "elsewhere"), 0);
    RUN_UNTIL(w, nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why) && strstr(why, "1/2 local-dirs"));
    assert_true(exists(w, LOG_DIR));
    RUN_UNTIL(w, !exists(w, NOTE));
    assert_false(exists(w, LOG_DIR));
}

static void end_with_failures(void *userdata)
{
    struct fixture *w = userdata;
    unsigned kinds = fail_pause();

    make_files(w);
    fail_resume(kinds);
    nm_yarn_launcher_end_container(w->launcher, "alice@corp$", APPLICATION, CONTAINER);
    end_application(w);
    for (int turn = 0; turn < 3; turn++)
        assert_true(sd_event_run(w->event, 0) >= 0);
    kinds = fail_pause();
    /* the next nmd continues the removals that have a note; for an end without a note, it receives the end again */
    start(w, WITHOUT_LOGS);
    end_application(w);
    RUN_UNTIL(w, !exists(w, APP_DIR) && !exists(w, SECOND_DIR) && !exists(w, NOTE));
    fail_resume(kinds);
}

static void test_a_failed_end_of_an_application_is_repeated(void **state)
{
    struct fixture *w = *state;

    set_command(w, "true");
    start(w, WITHOUT_LOGS);
    assert_true(fail_each_of(FAIL_MEMORY, end_with_failures, w) > 5);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, end_with_failures, w) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_removal_with_invalid_names_removes_no_file),
        TEST(test_with_a_delay_of_minus_one_files_are_never_removed),
        TEST(test_damaged_notes_of_ended_applications_are_ignored),
        TEST(test_files_are_removed_although_the_note_can_not_be_written),
        TEST(test_a_failed_removal_is_repeated),
        TEST(test_files_that_can_not_be_looked_up_are_removed_later),
        TEST(test_an_application_that_ends_again_is_removed_again),
        TEST(test_one_process_removes_all_files_of_an_application),
        TEST(test_files_of_unknown_applications_are_removed),
        TEST(test_the_search_for_unknown_applications_is_limited),
        TEST(test_files_are_kept_for_the_configured_time),
        TEST(test_logs_do_not_wait_for_a_local_directory_that_fails_later),
        TEST(test_a_failed_end_of_an_application_is_repeated),
    };

    json_set_alloc_funcs(malloc, free); /* for the wrappers in fail-nth.c */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
