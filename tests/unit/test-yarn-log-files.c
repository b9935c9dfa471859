/* SPDX-License-Identifier: Apache-2.0 */

/* yarn/launch/log-files.c: lists of log files, and log files that are opened, in directories that a user may change. */

#include "launcher-fixture.h"

#include <errno.h>
#include <sys/stat.h>

#include "tests/unit/open-descriptors.h"
#include "util/clock.h"
#include "yarn/launch/log-files.h"

/* Makes the container's directories, and runs the command as the container's user in the log directory. */
static void write_logs(struct fixture *w, const char *command)
{
    struct owner o;
    char text[2000];

    (void)snprintf(text, sizeof text, "cd <LOG_DIR> && rm -rf * && { %s; }", command);
    set_command(w, text);
    prepare_all(w, &o);
    assert_string_equal(o.message, "");
    assert_int_equal(run(w), 0);
    give_back(&o);
}

static void assert_listed(struct fixture *w, const char *names)
{
    struct nm_yarn_log_files files;
    char found[400] = "";

    assert_int_equal(nm_yarn_log_files_read(w->launcher, APPLICATION, CONTAINER, &files), 0);
    assert_false(files.more);
    for (size_t i = 0; i < files.n; i++)
        (void)snprintf(found + strlen(found), sizeof found - strlen(found), "%s:%llu ", files.all[i].name,
                       (unsigned long long)files.all[i].size);
    assert_string_equal(found, names);
    nm_yarn_log_files_done(&files);
}

/* Returns the content of the file, or NULL if it can't be opened. */
static const char *content_of(struct fixture *w, const char *name)
{
    static char text[100];
    struct nm_yarn_log_file f;
    int fd = -EBADF, r = nm_yarn_log_files_open(w->launcher, APPLICATION, CONTAINER, name, &fd, &f);
    ssize_t n;

    if (r < 0) {
        assert_int_equal(r, -ENOENT);
        assert_int_equal(fd, -EBADF);
        return NULL;
    }
    n = read(fd, text, sizeof text - 1);
    assert_int_equal(n, f.size);
    text[n] = '\0';
    close(fd);
    return text;
}

static void test_regular_files_are_listed_and_opened(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_log_files files;

    assert_int_equal(nm_yarn_log_files_read(w->launcher, APPLICATION, CONTAINER, &files), -ENOENT);
    assert_null(content_of(w, "stdout"));
    write_logs(w, "printf abc >stdout; : >empty; printf x >'a b'; "
                  "printf y >$'new\\nline'; touch -d @1700000000 stdout");
    assert_listed(w, "a b:1 empty:0 new\nline:1 stdout:3 ");
    assert_string_equal(content_of(w, "stdout"), "abc");
    assert_string_equal(content_of(w, "new\nline"), "y");
    assert_string_equal(content_of(w, "empty"), "");
    assert_null(content_of(w, "missing"));
    assert_int_equal(nm_yarn_log_files_read(w->launcher, APPLICATION, CONTAINER, &files), 0);
    assert_int_equal(files.all[3].modified_sec, 1700000000);
    nm_yarn_log_files_done(&files);
    assert_int_equal(nm_yarn_log_files_read(w->launcher, APPLICATION, "container_2", &files), -ENOENT);
    assert_int_equal(nm_yarn_log_files_read(w->launcher, "application_9", CONTAINER, &files), -ENOENT);
}

/* Neither links nor special files nor other directories are shown, whatever their names are. */
static void test_other_files_are_neither_listed_nor_opened(void **state)
{
    static const char *const names[] = {"link", "near", "dir", "fifo", "sub/inner", "..", ".", "", "/etc/passwd",
                                        "../" CONTAINER "/stdout", "dir/../stdout", "loop", "dirlink"};
    struct fixture *w = *state;
    unsigned n_open;

    write_logs(w, "printf abc >stdout; ln -s /etc/passwd link; ln -s stdout near; mkfifo fifo; mkdir dir sub; "
                  "echo x >sub/inner; ln -s loop loop; ln -s / dirlink");
    n_open = open_descriptors();
    assert_listed(w, "stdout:3 ");
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++)
        assert_null(content_of(w, names[i]));
    assert_int_equal(open_descriptors(), n_open);
}

/* The user owns the application's directory, and may replace the container's directory by a link. */
static void test_a_replaced_directory_is_not_followed(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_log_files files;

    write_logs(w, "printf abc >stdout; cd .. && mv " CONTAINER " moved && ln -s moved " CONTAINER);
    assert_int_equal(nm_yarn_log_files_read(w->launcher, APPLICATION, CONTAINER, &files), -ENOENT);
    assert_null(content_of(w, "stdout"));
}

/* A file that only root can read isn't readable, because nmd opens it with the user's rights. */
static void test_files_are_opened_with_the_rights_of_the_user(void **state)
{
    struct fixture *w = *state;
    int fd;

    if (geteuid() != 0)
        skip();
    write_logs(w, "printf abc >stdout");
    fd = openat(w->root_fd, LOG_DIR "/root", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_null(content_of(w, "root"));
    assert_string_equal(content_of(w, "stdout"), "abc");
}

static void test_lists_are_bounded(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_log_files files;

    write_logs(w, "seq -f f%05.0f 3000 | xargs touch; printf abc >stdout");
    assert_int_equal(nm_yarn_log_files_read(w->launcher, APPLICATION, CONTAINER, &files), 0);
    assert_true(files.more);
    assert_int_equal(files.n, NM_YARN_LOG_FILES_MAX);
    for (size_t i = 1; i < files.n; i++)
        assert_true(strcmp(files.all[i - 1].name, files.all[i].name) < 0);
    nm_yarn_log_files_done(&files);
    assert_string_equal(content_of(w, "stdout"), "abc"); /* a file can be opened even if the list doesn't have it */
    write_logs(w, "seq -f d%05.0f 3000 | xargs mkdir");
    assert_int_equal(nm_yarn_log_files_read(w->launcher, APPLICATION, CONTAINER, &files), 0);
    assert_true(files.more);
    assert_int_equal(files.n, 0);
    nm_yarn_log_files_done(&files);
}

/* Logs that nmd leaves to the operator keep their submitter and ACL, until somebody removes them. */
static void test_the_submitter_of_kept_logs_is_known(void **state)
{
    struct fixture *w = *state;
    const char *acl = NULL;

    start(w, "");
    write_logs(w, "printf abc >stdout");
    nm_yarn_launcher_end_application(w->launcher, "alice@corp$", APPLICATION);
    nm_yarn_launcher_keep_view_acl(w->launcher, APPLICATION, "bob");
    nm_yarn_launcher_release_logs(w->launcher, APPLICATION, NM_YARN_LOGS_KEEP);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned turn = 0; turn < 20; turn++)
            assert_true(sd_event_run(w->event, 10000) >= 0);
        assert_string_equal(nm_yarn_log_files_submitter(w->launcher, APPLICATION, &acl), "alice@corp$");
        assert_string_equal(acl, "bob");
        assert_string_equal(content_of(w, "stdout"), "abc");
        start(w, "");
    }
    assert_int_equal(renameat(w->root_fd, "logs/" APPLICATION, w->root_fd, "taken away"), 0);
    start(w, "");
    assert_null(nm_yarn_log_files_submitter(w->launcher, APPLICATION, &acl));
}

/* The submitter and the ACL are known from the application's end until its logs are removed, also after a restart. */
static void test_the_submitter_of_an_ended_application_is_known(void **state)
{
    static const char retain[] =
        "<property><name>yarn.nodemanager.log.retain-seconds</name><value>2</value></property>";
    struct fixture *w = *state;
    const char *acl = NULL;
    char large[1000];

    start(w, retain);
    assert_null(nm_yarn_log_files_submitter(w->launcher, APPLICATION, &acl));
    write_logs(w, "printf abc >stdout");
    nm_yarn_launcher_keep_view_acl(w->launcher, APPLICATION, "bob"); /* it hasn't ended yet */
    nm_yarn_launcher_end_application(w->launcher, "alice@corp$", APPLICATION);
    assert_string_equal(nm_yarn_log_files_submitter(w->launcher, APPLICATION, &acl), "alice@corp$");
    assert_null(acl);
    nm_yarn_launcher_keep_view_acl(w->launcher, APPLICATION, "bob \"staff\"");
    start(w, retain);
    assert_string_equal(nm_yarn_log_files_submitter(w->launcher, APPLICATION, &acl), "alice@corp$");
    assert_string_equal(acl, "bob \"staff\"");
    memset(large, 'a', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    nm_yarn_launcher_keep_view_acl(w->launcher, APPLICATION, large);
    assert_non_null(nm_yarn_log_files_submitter(w->launcher, APPLICATION, &acl));
    assert_null(acl);
    assert_string_equal(content_of(w, "stdout"), "abc");
    RUN_UNTIL(w, !nm_yarn_log_files_submitter(w->launcher, APPLICATION, &acl));
    assert_null(content_of(w, "stdout"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_regular_files_are_listed_and_opened),
        TEST(test_other_files_are_neither_listed_nor_opened),
        TEST(test_a_replaced_directory_is_not_followed),
        TEST(test_files_are_opened_with_the_rights_of_the_user),
        TEST(test_lists_are_bounded),
        TEST(test_the_submitter_of_kept_logs_is_known),
        TEST(test_the_submitter_of_an_ended_application_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
