/* SPDX-License-Identifier: Apache-2.0 */

/*
 * yarn/launch/launcher.h with failures: without memory or descriptors, with disks that fail at each call, with missing
 * users and directories, and with files that users have put in the way.
 */

#include "launcher-fixture.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail-nth.h"
#include "tests/unit/remove-tree.h"
#include "util/fileio.h"
#include "yarn/launch/log-files.h"

#define P(name, value) "<property><name>" name "</name><value>" value "</value></property>"
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static void put_file(struct fixture *w, const char *name, const char *text)
{
    int fd = openat(w->root_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(nm_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(close(fd), 0);
}

/* ---- start of the launcher ---------------------------------------------------------------- */

/* Starts the launcher and stops it again. A message is returned only with an error. */
static int begin(struct fixture *w)
{
    char *message = NULL;
    int r = try_start(w, &message);
    unsigned kinds = fail_pause();

    if (r < 0)
        assert_null(w->launcher);
    assert_true(!message || (*message && r < 0));
    free(message);
    w->launcher = nm_yarn_launcher_free(w->launcher);
    fail_resume(kinds);
    return r;
}

static void begin_without_memory(void *userdata)
{
    int r = begin(userdata);

    assert_true(r == 0 || r == -ENOMEM);
}

static void begin_with_failures(void *userdata)
{
    assert_true(begin(userdata) <= 0);
}

static void test_a_failed_start_of_the_launcher_leaves_no_resources(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    add_file(w, "a", "a", "kept", 1);
    set_command(w, "true");
    prepare_all(w, &o);
    give_back(&o);
    /* an entry that the next start must find */
    nm_yarn_launcher_end_application(w->launcher, "bob", "application_1_0007");
    w->launcher = nm_yarn_launcher_free(w->launcher);
    assert_true(fail_each_of(FAIL_MEMORY, begin_without_memory, w) > 10);
    assert_true(fail_each_of(FAIL_EVENT | FAIL_PROCESS, begin_with_failures, w) > 0);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, begin_with_failures, w) > 20);
    /* All state of the former launcher still exists. */
    assert_int_equal(try_start(w, NULL), 0);
    prepare_all(w, &o);
    assert_string_equal(o.message, "");
    assert_int_equal(o.result, 0);
    assert_true(exists(w, WORK_DIR "/launch_container.sh"));
    give_back(&o);
}

static void refused(struct fixture *w, const char *more, int error, const char *sentence)
{
    char *message = NULL;

    w->launcher = nm_yarn_launcher_free(w->launcher);
    (void)nm_yarn_settings_free(w->settings);
    w->settings = read_settings(w, more);
    assert_int_equal(nm_yarn_launcher_check(w->settings, "./nm-localizer", NULL, &message), error);
    assert_non_null(strstr(message, sentence));
    free(message);
    message = NULL;
    assert_int_equal(try_start(w, &message), error);
    assert_non_null(strstr(message, sentence));
    free(message);
    assert_null(w->launcher);
}

/* nmd --check-config and a start report the same error. */
static void test_the_check_reports_the_error_of_a_start(void **state)
{
    struct fixture *w = *state;
    char *message = NULL;

    assert_int_equal(nm_yarn_launcher_check(w->settings, "./nm-localizer", NULL, NULL), 0);
    assert_int_equal(nm_yarn_launcher_check(w->settings, "/no/nm-localizer", NULL, &message), -ENOENT);
    assert_non_null(strstr(message, "with /no/nm-localizer: No such file or directory"));
    free(message);
    refused(w, P("yarn.nodemanager.linux-container-executor.nonsecure-mode.user-pattern", "[a"), -EINVAL,
            "nonsecure-mode.user-pattern: ");
    refused(w, P("yarn.nodemanager.local-dirs", "/dev/null,/dev/null/x"), -ENOTDIR,
            "The directory /dev/null can't be used: Not a directory");
    refused(w, P("yarn.nodemanager.log-dirs", "/dev/null/x"), -ENOTDIR, "The directory /dev/null/x can't be used");
    if (geteuid() != 0)
        return;
    /* Hadoop's LinuxContainerExecutor requires that nmd runs as root. */
    assert_int_equal(seteuid(w->uid), 0);
    refused(w, P("yarn.nodemanager.container-executor.class",
                 "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor"), -EPERM,
            "so nmd must run as root");
    assert_int_equal(seteuid(0), 0);
}

static void test_an_unknown_version_of_java_does_not_prevent_a_start(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    assert_int_equal(setenv("JAVA_HOME", w->root, 1), 0);
    reported[0] = '\0';
    start(w, P("nmd.yarn.java-version", "0"));
    set_command(w, "echo <ADD_OPENS> >opens");
    prepare_all(w, &o);
    assert_int_equal(run(w), 0);
    assert_string_equal(text_of(w, WORK_DIR "/opens"), "\n"); /* the version of Java can't be found */
    give_back(&o);
    put_file(w, "release", "JAVA_VERSION=\"21\"\n");
    start(w, P("nmd.yarn.java-version", "0"));
    assert_string_equal(reported, "");
    assert_int_equal(unsetenv("JAVA_HOME"), 0);
    prepare_all(w, &o);
    assert_int_equal(run(w), 0);
    assert_non_null(strstr(text_of(w, WORK_DIR "/opens"), "--add-opens"));
    give_back(&o);
    start(w, P("nmd.yarn.java-version", "0"));
    assert_non_null(strstr(reported, "JAVA_HOME isn't set for nmd"));
}

/* One of two disks fails. The failure is reported, and the other directory stays in use with its cache of resources. */
static void test_a_directory_on_a_failed_disk_is_reported(void **state)
{
    struct nm_yarn_container_dirs dirs;
    struct fixture *w = *state;
    struct owner o;
    char path[PATH_MAX], why[300];

    w->launcher = nm_yarn_launcher_free(w->launcher);
    (void)snprintf(path, sizeof path, "%s/local", w->root);
    assert_int_equal(remove_tree(path), 0);
    put_file(w, "local", "");
    start(w, "");
    assert_true(strstr(reported, "Containers don't use ") && strstr(reported, "/local: Not a directory"));
    assert_int_equal(nm_yarn_launcher_choose_dirs(w->launcher, &dirs, NULL), 0);
    assert_non_null(strstr(dirs.local_dir, "/second"));
    assert_true(nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    add_file(w, "a", "a", "x", 2);
    set_command(w, "env >env");
    w->local_dir = "second";
    prepare_all(w, &o);
    assert_string_equal(o.message, "");
    assert_true(exists(w, "second/usercache/alice@corp$/appcache/" APPLICATION "/" CONTAINER "/launch_container.sh"));
    give_back(&o);
    w->local_dir = "local"; /* this container got its directory while the disk was good */
    prepare_all(w, &o);
    assert_int_equal(o.result, -ENODEV);
    assert_true(strstr(o.message, "Can't make the container's directory in ") &&
                strstr(o.message, "/local: Not a directory"));
    give_back(&o);
    prepare_so(w, &o, LINK);
    RUN_UNTIL(w, o.ended);
    assert_int_equal(o.result, -ENODEV);
    give_back(&o);
    start(w, P("yarn.nodemanager.disk-health-checker.min-healthy-disks", "0.9"));
    assert_false(nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    assert_non_null(strstr(why, "1/2 local-dirs have errors:  [ "));
    assert_non_null(strstr(why, "/local : Not a directory ] "));
}

/* ---- preparation of a container ----------------------------------------------------------- */

static int ready(struct fixture *w, enum way way)
{
    struct owner o;
    int r = try_to_prepare(w, &o, way);
    unsigned kinds;

    if (r < 0)
        return r;
    RUN_UNTIL(w, o.ended);
    kinds = fail_pause();
    if (o.result < 0) {
        const char *why = NULL;
        int32_t shown = nm_yarn_preparation_state(o.p, 0, &why);

        assert_true(*o.message);
        assert_true(shown == 2 || (shown == 3 && *why)); /* the resource isn't reported as pending */
    }
    give_back(&o);
    fail_resume(kinds);
    return o.result;
}

/* The preparation either fails with a message, or all files exist. */
static void prepare_with_failures(void *userdata)
{
    struct fixture *w = userdata;
    int r = ready(w, MAKE);
    unsigned kinds = fail_pause();
    char path[PATH_MAX];

    if (r >= 0) {
        check_mode(w, WORK_DIR "/tmp", w->uid, 0710);
        check_mode(w, LOG_DIR, w->uid, 0710);
        check_mode(w, WORK_DIR "/launch_container.sh", w->uid, 0700);
        check_mode(w, WORK_DIR "/container_tokens", w->uid, 0600);
        assert_non_null(strstr(text_of(w, WORK_DIR "/launch_container.sh"), "exec /bin/bash -c \"cat a\"\n"));
        assert_string_equal(text_of(w, WORK_DIR "/container_tokens"), "tokens");
    }
    (void)snprintf(path, sizeof path, "%s/" APP_DIR, w->root);
    (void)remove_tree(path);
    (void)snprintf(path, sizeof path, "%s/logs/" APPLICATION, w->root);
    (void)remove_tree(path);
    fail_resume(kinds);
}

static void test_a_preparation_fails_with_a_message_or_is_complete(void **state)
{
    struct fixture *w = *state;

    add_file(w, "a", "a", "hello", 2);
    set_command(w, "cat a");
    w->context.tokens = (ProtobufCBinaryData){6, (uint8_t *)"tokens"};
    w->service_size = 4000; /* more than one block of the arena */
    assert_true(fail_each_of(FAIL_MEMORY, prepare_with_failures, w) > 10);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, prepare_with_failures, w) > 20);
    /* these resources have the same source as those of the launcher */
    assert_int_equal(fail_each_of(FAIL_EVENT, prepare_with_failures, w), 0);
    assert_int_equal(ready(w, MAKE), 0);
    assert_int_equal(run(w), 0);
}

static void link_with_failures(void *userdata)
{
    struct fixture *w = userdata;
    int r = ready(w, LINK);
    unsigned kinds = fail_pause();

    if (r >= 0)
        assert_string_equal(text_of(w, WORK_DIR "/deep/b"), "more");
    (void)unlinkat(w->root_fd, WORK_DIR "/deep/b", 0);
    (void)unlinkat(w->root_fd, WORK_DIR "/deep", AT_REMOVEDIR);
    fail_resume(kinds);
}

static void test_a_symlink_that_can_not_be_made_ends_the_preparation(void **state)
{
    struct fixture *w = *state;

    set_command(w, "true");
    assert_int_equal(ready(w, MAKE), 0);
    add_file(w, "deep/b", "b", "more", 3);
    assert_true(fail_each_of(FAIL_MEMORY, link_with_failures, w) > 5);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, link_with_failures, w) > 5);
    assert_int_equal(ready(w, LINK), 0);
    assert_string_equal(text_of(w, WORK_DIR "/deep/b"), "more");
}

static void test_a_missing_user_ends_the_preparation(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    free(w->user);
    w->user = strdup("no-such-user");
    set_command(w, "true");
    prepare_all(w, &o);
    assert_int_equal(o.result, -ENOENT);
    assert_string_equal(o.message, "The user no-such-user doesn't exist on this node any more");
    give_back(&o);
}

#define MAKING "Can't make the container's directory in "

/* The message to the application names the failed step and the directory. */
static void test_the_message_names_the_failed_step(void **state)
{
    static const struct {
        const char *blocking, *step, *words;
    } cases[] = {
        {"local/usercache/alice@corp$", MAKING, "/local: Not a directory"},
        {"logs/" APPLICATION, MAKING, "/logs: Not a directory"},
        {WORK_DIR "/launch_container.sh", "Can't write the container's script: ", "Is a directory"},
    };
    struct fixture *w = *state;
    char path[PATH_MAX];
    struct owner o;

    set_command(w, "true");
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        const bool is_script = i == 2;

        if (is_script) {
            assert_int_equal(ready(w, MAKE), 0);
            assert_int_equal(unlinkat(w->root_fd, cases[i].blocking, 0), 0);
            assert_int_equal(mkdirat(w->root_fd, cases[i].blocking, 0755), 0);
        } else {
            put_file(w, cases[i].blocking, "");
        }
        prepare_all(w, &o);
        assert_true(strstr(o.message, cases[i].step) == o.message && strstr(o.message, cases[i].words));
        give_back(&o);
        (void)snprintf(path, sizeof path, "%s/%s", w->root, cases[i].blocking);
        assert_int_equal(remove_tree(path), 0);
    }
}

/* The progress counts resources, and for large resources also bytes. A worker that ends before nmd reads its progress
 * has reported none, as may happen on a busy machine, so the test tries several files. */
static void test_progress_counts_resources_and_bytes(void **state)
{
    const size_t size = 3 * 1000 * 1000;
    char *text = malloc(size + 1);
    struct fixture *w = *state;
    struct owner o;

    assert_non_null(text);
    (void)memset(text, 'x', size);
    text[size] = '\0';
    add_file(w, "a", "a", "hello", 2);
    set_command(w, "true");
    prepare_all(w, &o);
    assert_string_equal(o.progress, "0 of 1 resources");
    give_back(&o);
    for (unsigned i = 0; i < 20 && !strstr(o.progress, " MB"); i++) {
        char name[12];

        (void)snprintf(name, sizeof name, "b%u", i);
        w->context.n_resources = 1;
        add_file(w, name, name, text, 2);
        prepare_all(w, &o);
        give_back(&o);
    }
    assert_int_equal(strncmp(o.progress, "1 of 2 resources, ", 18), 0);
    assert_non_null(strstr(o.progress, " of 3 MB"));
    free(text);
}

/* ---- diagnostics from the logs ------------------------------------------------------------ */

static const char *diagnostics(struct fixture *w, size_t limit)
{
    static char text[4000];
    struct nm_arena arena;
    char logs[PATH_MAX];

    (void)snprintf(logs, sizeof logs, "%s/logs", w->root);
    nm_arena_init(&arena, limit, NULL);
    (void)snprintf(text, sizeof text, "%s",
                   nm_yarn_launcher_diagnostics(w->launcher, logs, APPLICATION, CONTAINER, &arena));
    nm_arena_done(&arena);
    return text;
}

/* The last output is found among many files whose names match the pattern. */
static void test_the_last_output_is_found_among_many_files(void **state)
{
    struct fixture *w = *state;
    char command[PATH_MAX + 100];
    struct owner o;

    set_command(w, "true");
    prepare_all(w, &o);
    assert_int_equal(run(w), 0);
    give_back(&o);
    (void)snprintf(command, sizeof command,
                   "umask 022; cd %s/" LOG_DIR " && seq -f stderr%%g 10000 | xargs touch && echo it >stderr", w->root);
    assert_int_equal(system(command), 0);
    fail_nth(FAIL_FILES, 300);
    assert_non_null(strstr(diagnostics(w, NM_MIB), "Last bytes of stderr:\nit\n"));
    assert_false(fail_stop()); /* fewer system calls were made */
}

static size_t count_logs(struct fixture *w)
{
    struct nm_yarn_log_files files = {};
    size_t n;

    (void)nm_yarn_log_files_read(w->launcher, APPLICATION, CONTAINER, &files);
    n = files.n;
    nm_yarn_log_files_done(&files);
    return n;
}

#define PATTERN(value) P("yarn.nodemanager.container.stderr.pattern", value)
#define STARS_64 "****************************************************************"
#define STARS_256 STARS_64 STARS_64 STARS_64 STARS_64
#define TAIL(value) P("yarn.nodemanager.container.stderr.tail.bytes", value)

static void test_the_diagnostics_are_from_files_that_match_the_pattern(void **state)
{
    static const struct {
        const char *more, *words;
    } cases[] = {
        {PATTERN("{*stderr,*STDERR}") TAIL("4"), "Last bytes of STDERR:\nnew\nLast"},
        {PATTERN("*rr"), "Last bytes of stderr:\nold\n"},
        {PATTERN("{*err"), ""},
        {PATTERN("{}"), ""},
        {PATTERN("{"), ""},
        {PATTERN("{none,std*}"), "Last bytes of stderr:\nold\n"},
        {PATTERN("{empty,*.link,*.dir,*.pipe}"), ""},
        /* nmd compares the whole alternative with a name, however long it is: here 256 stars and a name */
        {PATTERN("{none," STARS_256 "STDERR}"), "Last bytes of STDERR:\nnew\n"},
        {PATTERN("{" STARS_256 "none}"), ""},
        {TAIL("0"), ""},
    };
    struct fixture *w = *state;
    struct owner o;

    set_command(w, "cd <LOG_DIR>; echo old >stderr; touch -d '2 hours ago' stderr; echo new >STDERR; "
                   "touch -d '1 hour ago' STDERR; touch empty; ln -s stderr a.link; mkdir a.dir; mkfifo a.pipe");
    prepare_all(w, &o);
    assert_int_equal(run(w), 0);
    give_back(&o);
    assert_int_equal(unlinkat(w->root_fd, LOG_DIR "/prelaunch.err", 0), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        start(w, cases[i].more);
        assert_int_equal(strncmp(diagnostics(w, NM_MIB), cases[i].words, i == 0 ? 25 : 1000), 0);
    }
}

/* If a call fails, the last output in the diagnostics is shorter or empty, and nmd returns to its own identity. */
static void diagnostics_with_failures(void *userdata)
{
    struct fixture *w = userdata;
    const char *words = diagnostics(w, NM_MIB);

    assert_true(!*words || strncmp(words, "Last bytes of ", 14) == 0);
    assert_true(count_logs(w) <= 5);
}

static void test_errors_in_reading_diagnostics_do_not_prevent_the_containers_end(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    start(w, "");
    set_command(w, "echo words ><LOG_DIR>/stderr; echo early >&2");
    prepare_all(w, &o);
    assert_int_equal(run(w), 0);
    give_back(&o);
    assert_true(fail_each_of(FAIL_MEMORY, diagnostics_with_failures, w) > 2);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, diagnostics_with_failures, w) > 5);
    for (size_t limit = 0; strlen(diagnostics(w, limit)) < strlen(diagnostics(w, NM_MIB)); limit += 16)
        assert_true(limit < 10000);
    assert_string_equal(diagnostics(w, NM_MIB),
                        "Last bytes of prelaunch.err:\nearly\nLast bytes of stderr:\nwords\n");
    if (geteuid() == 0) { /* files that the user can't read aren't reported to the application */
        assert_int_equal(fchownat(w->root_fd, LOG_DIR "/stderr", 0, 0, 0), 0);
        assert_int_equal(fchmodat(w->root_fd, LOG_DIR "/stderr", 0600, 0), 0);
        assert_string_equal(diagnostics(w, NM_MIB), "Last bytes of prelaunch.err:\nearly\n");
    }
    assert_int_equal(fchmodat(w->root_fd, LOG_DIR, 0300, 0), 0);
    assert_string_equal(diagnostics(w, NM_MIB), "");
    assert_int_equal(count_logs(w), 0);
    assert_int_equal(fchmodat(w->root_fd, LOG_DIR, 0700, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_failed_start_of_the_launcher_leaves_no_resources),
        TEST(test_the_check_reports_the_error_of_a_start),
        TEST(test_an_unknown_version_of_java_does_not_prevent_a_start),
        TEST(test_a_directory_on_a_failed_disk_is_reported),
        TEST(test_a_preparation_fails_with_a_message_or_is_complete),
        TEST(test_a_symlink_that_can_not_be_made_ends_the_preparation),
        TEST(test_a_missing_user_ends_the_preparation),
        TEST(test_the_message_names_the_failed_step),
        TEST(test_progress_counts_resources_and_bytes),
        TEST(test_the_last_output_is_found_among_many_files),
        TEST(test_the_diagnostics_are_from_files_that_match_the_pattern),
        TEST(test_errors_in_reading_diagnostics_do_not_prevent_the_containers_end),
    };

    json_set_alloc_funcs(malloc, free); /* for the wrappers in fail-nth.c */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
