/* SPDX-License-Identifier: Apache-2.0 */

/* Complete runs of localize/worker/worker.h, each in a separate process, with files, archives and commands. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <archive.h>
#include <archive_entry.h>
#include <sys/resource.h>

#include "tests/unit/worker-run.h"

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static void make_source(const char *name, const char *text)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = 1700000000, .tv_nsec = 123456789}};
    _cleanup_free_ char *path = path_of(name);
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(nm_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(futimens(fd, times), 0);
}

static void fetch_file(const char *name, const char *more)
{
    _cleanup_free_ char *uri = print("file://%s/%s", root, name);

    fetch(uri, more, "");
}

static void test_a_file_is_copied(void **state)
{
    (void)state;
    make_source("a b", "text");
    fetch_file("a%20b", RESOURCE("FILE"));
    assert_done("10/a b", "text");
    assert_non_null(strstr(output, "{\"resource\":0,\"state\":\"done\",\"bytes\":4}"));
    assert_int_equal(mode_of("10"), 0700);
    assert_int_equal(mode_of("10/a b"), 0500);
}

static void test_a_public_file_is_readable_by_all(void **state)
{
    _cleanup_free_ char *open_dir = path_of("open"), *shut = path_of("shut");

    (void)state;
    assert_int_equal(mkdir(open_dir, 0711), 0);
    assert_int_equal(mkdir(shut, 0700), 0);
    make_source("open/a", "text");
    make_source("shut/a", "text");
    fetch_file("shut/a", RESOURCE("FILE") ",\"public\":true");
    assert_failed("not all users may enter /tmp/nmd-test-localize");
    fetch_file("open/a", RESOURCE("FILE") ",\"public\":true");
    assert_done("10/a", "text");
    assert_int_equal(mode_of("10"), 0755);
    assert_int_equal(mode_of("10/a"), 0555);
}

static void test_a_missing_file_is_reported(void **state)
{
    _cleanup_free_ char *fifo = path_of("fifo");

    (void)state;
    make_source("a", "text");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    fetch_file("none", RESOURCE("FILE"));
    assert_failed("No such file or directory");
    fetch_file("fifo", RESOURCE("FILE"));
    assert_failed("only files and directories can be fetched");
    fetch_file("a", "\"type\":\"FILE\",\"timestamp\":1700000000124");
    assert_failed("changed after the job was submitted: its modification time is 1700000000123, expected "
                  "1700000000124");
    fetch("file://elsewhere/etc/passwd", RESOURCE("FILE"), "");
    assert_failed("invalid URI of a file");
    fetch("nonsense", RESOURCE("FILE"), "");
    assert_failed("invalid URI of a file");
}

static void make_dir(const char *name, mode_t mode)
{
    _cleanup_free_ char *path = path_of(name);

    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* Sets the modification time of the directory. This must follow the creation of all its files, which changes the
 * time. */
static void set_mtime(const char *name)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = 1700000000, .tv_nsec = 123456789}};
    _cleanup_free_ char *path = path_of(name);

    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void make_link(const char *name, const char *to)
{
    _cleanup_free_ char *path = path_of(name);

    assert_int_equal(symlink(to, path), 0);
}

/* A directory is fetched with all its content, whatever type the resource has. The directory's name could be that of an
 * archive. */
static void test_a_directory_is_copied(void **state)
{
    (void)state;
    make_dir("d.zip", 0755);
    make_dir("d.zip/sub", 0700);
    make_dir("d.zip/sub/empty", 0755);
    make_source("d.zip/a", "text");
    make_source("d.zip/sub/b c", "other");
    make_link("d.zip/link", "sub/b c");
    make_link("d.zip/nothing", "none");
    set_mtime("d.zip");
    fetch_file("d.zip", RESOURCE("ARCHIVE"));
    assert_done("10/d.zip/a", "text");
    assert_done("10/d.zip/sub/b c", "other");
    assert_done("10/d.zip/link", "other");
    assert_non_null(strstr(output, "\"state\":\"done\",\"bytes\":14}"));
    assert_true(exists("10/d.zip/sub/empty"));
    assert_false(exists("10/d.zip/nothing"));
    assert_int_equal(mode_of("10/d.zip"), 0700);
    assert_int_equal(mode_of("10/d.zip/sub"), 0700);
    assert_int_equal(mode_of("10/d.zip/sub/b c"), 0500);
}

static void test_a_public_directory_is_readable_by_all(void **state)
{
    (void)state;
    make_dir("d", 0755);
    make_dir("d/sub", 0755);
    make_source("d/sub/a", "text");
    set_mtime("d");
    fetch_file("d", RESOURCE("FILE") ",\"public\":true");
    assert_done("10/d/sub/a", "text");
    assert_int_equal(mode_of("10/d/sub"), 0755);
    assert_int_equal(mode_of("10/d/sub/a"), 0555);
}

/* A PUBLIC directory must be readable by all users, with all its content, and must not contain links. */
static void test_a_public_directory_with_private_files_is_refused(void **state)
{
    _cleanup_free_ char *sub = path_of("d/sub"), *file = path_of("d/sub/a"), *link = path_of("d/link");

    (void)state;
    make_dir("d", 0755);
    make_dir("d/sub", 0711);
    make_source("d/sub/a", "text");
    set_mtime("d");
    fetch_file("d", RESOURCE("FILE") ",\"public\":true");
    assert_failed("d/sub: the resource is PUBLIC, but not all users may read this path; run chmod o+rx on it");
    assert_int_equal(chmod(sub, 0755), 0);
    assert_int_equal(chmod(file, 0640), 0);
    fetch_file("d", RESOURCE("FILE") ",\"public\":true");
    assert_failed("d/sub/a: the resource is PUBLIC, but not all users may read this path; run chmod o+r on it");
    assert_int_equal(chmod(file, 0644), 0);
    make_link("d/link", "sub/a");
    set_mtime("d");
    fetch_file("d", RESOURCE("FILE") ",\"public\":true");
    assert_failed("d/link: it is a symbolic link, and PUBLIC resources may not contain symbolic links");
    assert_int_equal(unlink(link), 0);
    set_mtime("d");
    fetch_file("d", RESOURCE("FILE") ",\"public\":true");
    assert_done("10/d/sub/a", "text");
}

static void fetch_limited(const char *name, const char *limits)
{
    _cleanup_free_ char *uri = print("file://%s/%s", root, name), *top = print("\"limits\":{%s},", limits);

    fetch(uri, RESOURCE("FILE"), top);
}

/* Tests a directory that contains itself, a directory with more entries than permitted, and a directory with a special
 * file. */
static void test_a_directory_with_invalid_content_is_refused(void **state)
{
    _cleanup_free_ char *fifo = path_of("d/fifo"), *circle = path_of("d/circle");

    (void)state;
    make_dir("d", 0755);
    make_source("d/a", "text");
    make_source("d/b", "text");
    set_mtime("d");
    fetch_limited("d", "\"entries\":1");
    assert_failed("the resource has more files and directories than the limit of 1");
    fetch_limited("d", "\"fetch_bytes\":7");
    assert_failed("File too large");
    fetch_limited("d", "\"fetch_bytes\":8,\"entries\":2");
    assert_done("10/d/a", "text");
    tear_down_root(state);
    set_up_root(state);
    make_dir("d", 0755);
    make_link("d/circle", ".");
    set_mtime("d");
    fetch_file("d", RESOURCE("FILE"));
    assert_failed("circle/circle");
    assert_int_equal(unlink(circle), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    set_mtime("d");
    fetch_file("d", RESOURCE("FILE"));
    assert_failed("d/fifo: it is a device or a pipe");
    fetch_file("d", "\"type\":\"FILE\",\"timestamp\":1");
    assert_failed("changed after the job was submitted");
}

/* System calls that some file systems don't support. These calls fail if is_poor is set. */
static bool is_poor;
#define WRAP_LACKING(type, error, name, parameters, ...) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters \
    { \
        if (!is_poor) \
            return __real_##name(__VA_ARGS__); \
        errno = error; \
        return -1; \
    }
WRAP_LACKING(int, EINVAL, renameat2, (int from_fd, const char *from, int to_fd, const char *to, unsigned flags),
             from_fd, from, to_fd, to, flags)
WRAP_LACKING(ssize_t, EOPNOTSUPP, copy_file_range,
             (int from, off64_t *at, int to, off64_t *to_at, size_t size, unsigned flags), from, at, to, to_at, size,
             flags)
WRAP_LACKING(ssize_t, EINVAL, sendfile, (int to, int from, off_t *at, size_t size), to, from, at, size)
WRAP_LACKING(ssize_t, EINVAL, sendfile64, (int to, int from, off64_t *at, size_t size), to, from, at, size)

static void test_files_are_copied_where_fast_copies_are_not_supported(void **state)
{
    (void)state;
    make_source("a", "text");
    is_poor = true;
    fetch_file("a", RESOURCE("FILE"));
    assert_done("10/a", "text");
    fetch_file("a", RESOURCE("FILE"));
    is_poor = false;
    assert_int_equal(status, NM_WORKER_SOME_FAILED);
    assert_non_null(strstr(output, "File exists"));
    assert_true(exists("10/a")); /* the existing file is unchanged */
}

/* A jar with a pattern becomes a directory that contains the unpacked files and the jar. */
static void test_a_jar_with_a_pattern_is_unpacked(void **state)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = 1700000000, .tv_nsec = 123456789}};
    static const char *const names[] = {"lib/a", "META-INF/b"};
    _cleanup_free_ char *path = path_of("job.jar");
    struct archive *a = archive_write_new();

    (void)state;
    assert_int_equal(archive_write_set_format_zip(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++) {
        struct archive_entry *e = archive_entry_new();

        archive_entry_set_pathname(e, names[i]);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_size(e, 4);
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        assert_int_equal(archive_write_data(a, "text", 4), 4);
        archive_entry_free(e);
    }
    assert_int_equal(archive_write_free(a), ARCHIVE_OK);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    fetch_file("job.jar", RESOURCE("PATTERN") ",\"pattern\":\"(?:classes/|lib/).*\"");
    assert_done("10/job.jar/lib/a", "text");
    assert_true(exists("10/job.jar/job.jar"));
    assert_false(exists("10/job.jar/META-INF"));
    assert_int_equal(mode_of("10/job.jar/job.jar"), 0500);
}

/* A file whose name isn't that of an archive is copied and not unpacked. */
static void test_a_file_whose_name_is_not_that_of_an_archive_is_copied(void **state)
{
    (void)state;
    make_source("words.txt", "text");
    make_source("words.zip", "text");
    fetch_file("words.zip", RESOURCE("ARCHIVE"));
    assert_failed("can't unpack the archive");
    fetch_file("words.txt", RESOURCE("ARCHIVE"));
    assert_done("10/words.txt", "text");
}

static void test_invalid_targets_of_resources_are_refused(void **state)
{
    _cleanup_free_ char *left = path_of("10_tmp/d"), *tmp = path_of("10_tmp"), *work = NULL;

    (void)state;
    make_source("a", "text");
    assert_int_equal(mkdir(tmp, 0700), 0);
    assert_int_equal(mkdir(left, 0), 0);
    fetch_file("a", RESOURCE("FILE"));
    assert_done("10/a", "text");
    /* the target exists already */
    fetch_file("a", RESOURCE("FILE"));
    assert_int_equal(status, NM_WORKER_SOME_FAILED);
    assert_non_null(strstr(output, "File exists"));
    assert_true(exists("10/a"));
    work = print("{\"resources\":[{\"uri\":\"file://%s/a\"," RESOURCE("FILE") ",\"target\":\"%s/a/10\"}]}", root,
                 root);
    run(work);
    assert_int_equal(status, NM_WORKER_SOME_FAILED);
    assert_non_null(strstr(output, "can't write"));
}

static void test_missing_parent_directories_are_made(void **state)
{
    _cleanup_free_ char *work = print("{\"resources\":[{\"uri\":\"file://%s/a\"," RESOURCE("FILE")
                                      ",\"target\":\"%s/x/y/10\"}]}", root, root);

    (void)state;
    make_source("a", "text");
    run(work);
    assert_done("x/y/10/a", "text");
    assert_int_equal(mode_of("x"), 0710);
}

static void test_directory_trees_are_removed(void **state)
{
    _cleanup_free_ char *work =
        print("{\"removals\":[\"%s/10\",\"%s/none/11\",\"%s/a/12\"],\"resources\":[]}", root, root, root);
    _cleanup_free_ char *unfinished = path_of("10_tmp");

    (void)state;
    make_source("a", "text");
    fetch_file("a", RESOURCE("FILE"));
    assert_done("10/a", "text");
    assert_int_equal(mkdir(unfinished, 0), 0);
    run(work);
    assert_int_equal(status, NM_WORKER_SOME_FAILED);
    assert_non_null(strstr(output, "{\"removal\":0,\"state\":\"done\",\"bytes\":0}"));
    assert_non_null(strstr(output, "{\"removal\":1,\"state\":\"done\",\"bytes\":0}"));
    assert_non_null(strstr(output, "{\"removal\":2,\"state\":\"failed\""));
    assert_false(exists("10"));
    assert_false(exists("10_tmp"));
    assert_true(exists("a"));
}

/* The failure of one resource doesn't prevent the fetch of the other resources. */
static void test_a_failed_resource_does_not_prevent_the_fetch_of_others(void **state)
{
    _cleanup_free_ char *work =
        print("{\"resources\":[{\"uri\":\"file://%s/none\"," RESOURCE("FILE") ",\"target\":\"%s/11\"},"
              "{\"uri\":\"file://%s/a\"," RESOURCE("FILE") ",\"target\":\"%s/10\"}]}", root, root, root, root);

    (void)state;
    make_source("a", "text");
    run(work);
    assert_int_equal(status, NM_WORKER_SOME_FAILED);
    assert_non_null(strstr(output, "{\"resource\":0,\"state\":\"failed\""));
    assert_non_null(strstr(output, "{\"resource\":1,\"state\":\"done\",\"bytes\":4}"));
    assert_true(exists("10/a"));
}

/* A check of a fetched tree fails only if files are missing. An unreadable list of files is no reason to fetch the
 * resource again. */
static void test_a_check_of_a_tree_fails_only_for_missing_files(void **state)
{
    _cleanup_free_ char *work = print("{\"checks\":[\"%s/10\",\"%s/none/11\"],\"resources\":[]}", root, root);
    _cleanup_free_ char *file = path_of("10/d/a"), *list = path_of("10/.nmd-list");

    (void)state;
    make_dir("d", 0755);
    make_source("d/a", "text");
    set_mtime("d");
    fetch_file("d", RESOURCE("FILE"));
    assert_done("10/d/a", "text");
    assert_non_null(strstr(output, "\"listed\":true"));
    assert_int_equal(mode_of("10/.nmd-list"), 01400);
    run(work);
    assert_int_equal(status, NM_WORKER_SOME_FAILED);
    assert_non_null(strstr(output, "{\"check\":0,\"state\":\"done\",\"bytes\":0}"));
    assert_non_null(strstr(output, "{\"check\":1,\"state\":\"failed\""));
    assert_int_equal(unlink(file), 0);
    run(work);
    assert_non_null(strstr(output, "{\"check\":0,\"state\":\"failed\",\"error\":\"d/a was removed\"}"));
    /* an invalid list gives no information about the files */
    assert_int_equal(chmod(list, 0600), 0);
    assert_int_equal(truncate(list, 0), 0);
    assert_int_equal(nm_write_file_at(AT_FDCWD, list, "nonsense"), 0);
    run(work);
    assert_non_null(strstr(output, "{\"check\":0,\"state\":\"done\",\"bytes\":0}"));
}

static void test_a_check_of_a_single_file_needs_no_list_of_files(void **state)
{
    (void)state;
    make_source("a", "text");
    fetch_file("a", RESOURCE("FILE"));
    assert_done("10/a", "text");
    assert_null(strstr(output, "listed"));
    assert_false(exists("10/.nmd-list"));
}

static void test_an_invalid_work_list_is_refused(void **state)
{
    (void)state;
    run("nonsense");
    assert_int_equal(status, NM_WORKER_NO_WORK);
    assert_string_equal(output, "");
}

#define COMMAND(script) "\"commands\":{\"x\":[\"sh\",\"-c\",\"" script "\",\"sh\",\"{uri}\",\"--to={target}\"]},"

static void test_a_resource_is_fetched_with_the_configured_command(void **state)
{
    (void)state;
    fetch("x://b/{target}/a", RESOURCE("FILE"), COMMAND("echo noise; printf %s \\\"$1\\\" >\\\"${2#--to=}\\\""));
    assert_done("10/a", "x://b/\\{target\\}/a");
    assert_null(strstr(output, "noise"));
}

/* Hadoop's shell doesn't decode names, and it interprets patterns in them. The target must have a name that is valid at
 * the end of a URI. */
static void test_a_fetch_command_gets_a_valid_name(void **state)
{
    static const struct {
        const char *uri, *name, *shell;
    } cases[] = {
        {"x://u@b:1/d%20e/a%3Db%2Bc", "a=b+c", "x://u@b:1/d e/a=b+c"},
        {"x:///%C3%BC", "\xc3\xbc", "x:///\xc3\xbc"},
        {"x:/a%25b", "a%b", "x:/a%b"},
        {"x://[::1]/x%5B1%5D%5E", "x[1]^", "x://[::1]/x\\[1\\]\\^"},
        {"x://b/%7Ba%2Cb%7D%5C%2A%3F", "{a,b}\\*?", "x://b/\\{a,b\\}\\\\\\*\\?"},
        {"x://b/-rf%20%24%28id%29%27%22%3B", "-rf $(id)'\";", "x://b/-rf $(id)'\";"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *at = print("10/%s", cases[i].name), *target = path_of("10");
        _cleanup_free_ char *wanted = print("%s %s %s/10_tmp/.fetched C.UTF-8", cases[i].shell, cases[i].uri, root);

        fetch(cases[i].uri, RESOURCE("FILE"),
              "\"commands\":{\"x\":[\"sh\",\"-c\",\"printf %s \\\"$1 $2 $3 $LC_ALL\\\" >\\\"$3\\\"\",\"sh\","
              "\"{uri}\",\"{encoded-uri}\",\"{target}\"]},");
        assert_done(at, wanted);
        assert_int_equal(remove_tree(target), 0);
    }
    fetch("x://b/d%00/a", RESOURCE("FILE"), COMMAND(":"));
    assert_failed("the path contains a NUL");
}

/* The environment of a fetch command has Hadoop's user, the cluster's settings, and a memory limit that differs from
 * that of the worker. */
static void test_a_fetch_command_has_the_clusters_environment(void **state)
{
    static const struct {
        const char *limits, *data;
    } cases[] = {
        {"", "unlimited"},
/* AddressSanitizer's shadow memory exceeds any limit, so the worker couldn't start a command */
#ifndef __SANITIZE_ADDRESS__
        {"\"limits\":{\"command_memory_bytes\":1099511627776},", "1073741824"},
#endif
    };
    /* sanitizers map much memory */
    const struct rlimit ours = {.rlim_cur = (rlim_t)1 << 50, .rlim_max = RLIM_INFINITY};
    struct rlimit before;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    if (before.rlim_max != RLIM_INFINITY)
        skip();
    assert_int_equal(setrlimit(RLIMIT_DATA, &ours), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *wanted = print("alice /j /c %s", cases[i].data), *target = path_of("10");
        _cleanup_free_ char *top = print("%s\"user\":\"alice\","
                                         "\"environment\":{\"JAVA_HOME\":\"/j\",\"HADOOP_CONF_DIR\":\"/c\"},"
                                         COMMAND("echo $HADOOP_USER_NAME $JAVA_HOME $HADOOP_CONF_DIR $(ulimit -S -d) "
                                                 "| tr -d '\\n' >\\\"${2#--to=}\\\""), cases[i].limits);

        fetch("x://b/a", RESOURCE("FILE"), top);
        assert_done("10/a", wanted);
        assert_int_equal(remove_tree(target), 0);
    }
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
}

static void test_a_failed_fetch_command_is_reported(void **state)
{
    (void)state;
    fetch("x://b/a", RESOURCE("FILE"), "");
    assert_failed("this node can't fetch x: URIs");
    fetch("x://b/a", RESOURCE("FILE"), COMMAND("echo no such bucket >&2; exit 3"));
    assert_failed("ended with status 3: no such bucket");
    fetch("x://b/a", RESOURCE("FILE"), COMMAND("kill -9 $$"));
    assert_failed("ended with signal 9: it printed no reason");
    fetch("x://b/a", RESOURCE("FILE"), COMMAND(":"));
    assert_failed("made no file");
    fetch("x://b/a", RESOURCE("FILE"), COMMAND("ln -s /etc/passwd \\\"${2#--to=}\\\""));
    assert_failed("made no file");
    fetch("x://b/a", RESOURCE("FILE"), "\"commands\":{\"x\":[\"/none\"]},");
    assert_failed("can't start the fetch command /none");
}

static void test_a_fetch_command_that_writes_too_many_bytes_is_killed(void **state)
{
    (void)state;
    fetch("x://b/a", RESOURCE("FILE"), "\"limits\":{\"seconds\":1}," COMMAND("exec sleep 1000"));
    assert_failed("the fetch command takes too long");
    fetch("x://b/a", RESOURCE("FILE"),
          "\"limits\":{\"fetch_bytes\":1000,\"unpacked_bytes\":1000000},"
          COMMAND("exec cat /dev/zero >\\\"${2#--to=}\\\""));
    assert_failed("the fetch command");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_root, tear_down_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_file_is_copied),
        TEST(test_a_public_file_is_readable_by_all),
        TEST(test_a_missing_file_is_reported),
        TEST(test_a_jar_with_a_pattern_is_unpacked),
        TEST(test_files_are_copied_where_fast_copies_are_not_supported),
        TEST(test_a_file_whose_name_is_not_that_of_an_archive_is_copied),
        TEST(test_invalid_targets_of_resources_are_refused),
        TEST(test_a_failed_resource_does_not_prevent_the_fetch_of_others),
        TEST(test_missing_parent_directories_are_made),
        TEST(test_directory_trees_are_removed),
        TEST(test_a_check_of_a_tree_fails_only_for_missing_files),
        TEST(test_a_check_of_a_single_file_needs_no_list_of_files),
        TEST(test_an_invalid_work_list_is_refused),
        TEST(test_a_directory_is_copied),
        TEST(test_a_public_directory_is_readable_by_all),
        TEST(test_a_public_directory_with_private_files_is_refused),
        TEST(test_a_directory_with_invalid_content_is_refused),
        TEST(test_a_resource_is_fetched_with_the_configured_command),
        TEST(test_a_fetch_command_gets_a_valid_name),
        TEST(test_a_fetch_command_has_the_clusters_environment),
        TEST(test_a_failed_fetch_command_is_reported), TEST(test_a_fetch_command_that_writes_too_many_bytes_is_killed),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
