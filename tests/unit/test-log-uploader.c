/* SPDX-License-Identifier: Apache-2.0 */

/* Complete runs of aggregate/worker/uploader.h, each in a separate process: uploads to a directory, interrupted at each
 * step, with growing and replaced files and with hostile directories, and answers of name nodes. */

#include "log-uploader-fixture.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>

#include "aggregate/worker/upload-stream.h"
#include "config.h"
#include "tests/unit/canned-server.h"
#include "tests/unit/remove-tree.h"

static struct canned_server server;

/* ---- uploads --------------------------------------------------------------------------------- */

static void test_an_upload_has_hadoops_layout_and_modes(void **state)
{
    (void)state;
    add_log("stdout", "one line\n");
    add_log("stderr", "");
    upload(5, ENDED);
    assert_output("\"files\":2,\"name\":\"n_1\"");
    assert_int_equal(mode_of("remote/alice"), 0770);
    assert_int_equal(mode_of(DIR_OF_APPLICATION), 0770);
    assert_int_equal(mode_of(DIR_OF_APPLICATION "/n_1"), 0640);
    assert_false(exists(DIR_OF_APPLICATION "/n_1.tmp"));
    assert_int_equal(count_remote("one line\n"), 1);
    assert_int_equal(count_remote("stderr"), 1);
    assert_true(exists(MEMORY));
    assert_false(exists(MEMORY ".pending"));
}

static void test_nothing_is_made_without_logs(void **state)
{
    (void)state;
    upload(5, ENDED);
    assert_output("\"files\":0,\"name\":\"\"");
    assert_false(exists("remote/alice"));
    upload(5, "\"containers\":[{\"id\":\"" OTHER "\"}]");
    assert_output("\"files\":0,\"name\":\"\"");
}

static void test_a_repeated_upload_is_done_once(void **state)
{
    (void)state;
    add_log("stdout", "one line\n");
    upload(5, ENDED);
    upload(5, ENDED);
    assert_output("\"files\":1,\"name\":\"n_1\"");
    assert_int_equal(count_remote("one line\n"), 1);
    upload(6, ENDED);
    assert_output("\"files\":0");
    add_log("stdout", "another line\n");
    upload(7, ENDED);
    assert_output("\"name\":\"n_1_7\"");
    assert_int_equal(count_remote("one line\n"), 1);
    assert_int_equal(count_remote("another line\n"), 1);
}

static void test_logs_of_all_directories_are_uploaded_in_order(void **state)
{
    _cleanup_free_ char *path = path_of("l2/" APPLICATION "/" CONTAINER);
    _cleanup_free_ char *file = path_of("l2/" APPLICATION "/" CONTAINER "/a-log");
    _cleanup_free_ char *remote = path_of(DIR_OF_APPLICATION "/n_1");
    _cleanup_free_ uint8_t *bytes = NULL;
    size_t size;

    (void)state;
    add_log("b-log", "second");
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(write_new(file, "first"), 0);
    upload(5, ENDED);
    assert_int_equal(nm_read_regular_at(AT_FDCWD, remote, 1 << 20, &bytes, &size), 0);
    assert_true(memmem(bytes, size, "first", 5) < memmem(bytes, size, "second", 6));
    assert_non_null(memmem(bytes, size, "first", 5));
}

/* Dies at each step, also twice, and finishes in the next run. The logs are then uploaded exactly once. */
static void test_an_interrupted_upload_is_neither_lost_nor_doubled(void **state)
{
#ifdef NM_FAULT_INJECTION
    static const char *const steps[] = {"upload-dirs", "upload-written", "upload-pending", "upload-renamed",
                                        "upload-committed"};
    static const char *const kinds[] = {ENDED, ENDED ",\"rolling\":true,\"final\":true", RUNNING};
    uint64_t msec = 1000;

    (void)state;
    for (size_t kind = 0; kind < NM_ARRAY_SIZE(kinds); kind++)
        for (size_t i = 0; i < NM_ARRAY_SIZE(steps); i++) {
            _cleanup_free_ char *line = nm_strdup_printf("line %zu of %s\n", kind, steps[i]);
            const uint64_t other = i % 2; /* the second run may have another identity: nmd has lost its state */

            add_log("stdout", line);
            msec += 10;
            upload_until(msec, kinds[kind], steps[i]);
            assert_int_equal(status, -SIGKILL);
            upload_until(msec, kinds[kind], "upload-renamed");
            upload(msec + other, kinds[kind]);
            assert_int_equal(count_remote(line), 1);
            assert_false(exists(MEMORY ".pending"));
            assert_false(exists(DIR_OF_APPLICATION "/n_1.tmp"));
        }
#else
    (void)state;
    skip();
#endif
}

/* ---- rolling --------------------------------------------------------------------------------- */

static void test_later_uploads_contain_only_what_is_new(void **state)
{
    _cleanup_free_ char *from = log_path("syslog"), *to = log_path("syslog.1");

    (void)state;
    add_log("syslog", "line 1\n");
    add_log("stdout", "");
    upload(10, RUNNING);
    assert_output("\"files\":2,\"name\":\"n_1_10\"");
    upload(20, RUNNING);
    assert_output("\"files\":0,\"name\":\"\"");
    add_log("syslog", "line 2\n");
    upload(30, RUNNING);
    assert_output("\"files\":1,\"name\":\"n_1_30\"");
    /* the log is rotated after more lines */
    add_log("syslog", "line 3\n");
    assert_int_equal(rename(from, to), 0);
    add_log("syslog", "line 4\n");
    upload(40, RUNNING);
    assert_output("\"files\":2");
    upload(50, ENDED ",\"rolling\":true,\"final\":true");
    assert_output("\"files\":0");
    for (char line[] = "line 1\n"; line[5] <= '4'; line[5]++)
        assert_int_equal(count_remote(line), 1);
}

static void test_a_replaced_file_is_uploaded_whole(void **state)
{
    _cleanup_free_ char *path = log_path("syslog");

    (void)state;
    add_log("syslog", "the old log\n");
    upload(10, RUNNING);
    /* the same inode, and more bytes than before */
    assert_int_equal(truncate(path, 0), 0);
    add_log("syslog", "a new log that is longer than the old one\n");
    upload(20, RUNNING);
    assert_int_equal(count_remote("a new log that is longer than the old one\n"), 1);
    /* a new file, which may get the inode number of the old one */
    assert_int_equal(unlink(path), 0);
    add_log("syslog", "a third log, whose length is above that of each of the others\n");
    upload(30, RUNNING);
    assert_int_equal(count_remote("a third log, whose length is above that of each of the others\n"), 1);
    assert_int_equal(truncate(path, 0), 0);
    add_log("syslog", "short\n");
    upload(40, RUNNING);
    assert_int_equal(count_remote("short\n"), 1);
}

static void test_other_containers_are_remembered(void **state)
{
    (void)state;
    add_log("syslog", "line 1\n");
    upload(10, RUNNING);
    upload(20, "\"rolling\":true,\"containers\":[]");
    upload(30, RUNNING);
    assert_output("\"files\":0");
    assert_int_equal(count_remote("line 1\n"), 1);
}

static void test_the_oldest_files_are_removed(void **state)
{
    _cleanup_free_ char *foreign = path_of(DIR_OF_APPLICATION "/m_1_5");

    (void)state;
    for (uint64_t i = 1; i <= 5; i++) {
        _cleanup_free_ char *line = nm_strdup_printf("line %" PRIu64 "\n", i);

        add_log("syslog", line);
        upload(i, RUNNING ",\"max_files\":3");
        if (i == 1)
            assert_int_equal(write_new(foreign, "another node's"), 0);
    }
    assert_int_equal(count_remote("line 1\n") + count_remote("line 2\n"), 0);
    assert_int_equal(count_remote("line 3\n") + count_remote("line 4\n") + count_remote("line 5\n"), 3);
    assert_true(exists(DIR_OF_APPLICATION "/m_1_5"));
}

/* ---- hostile directories --------------------------------------------------------------------- */

static void test_only_regular_files_are_uploaded(void **state)
{
    _cleanup_free_ char *fifo = log_path("fifo"), *dir = log_path("dir"), *link = log_path("link"),
                        *odd = log_path("a\nb\xff");
    _cleanup_free_ char *other = path_of("l1/" APPLICATION "/" OTHER);

    (void)state;
    add_log("stdout", "one line\n");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(symlink("/etc/hostname", link), 0);
    assert_int_equal(write_new(odd, "odd name"), 0);
    assert_int_equal(symlink(CONTAINER, other), 0);
    upload(5, "\"containers\":[{\"id\":\"" CONTAINER "\"},{\"id\":\"" OTHER "\"}]");
    assert_output("\"files\":2,");
    assert_output("fifo of " CONTAINER " is left out");
    assert_output("link of " CONTAINER " is left out");
    assert_output(OTHER " is left out");
    assert_int_equal(count_remote("one line\n"), 1);
    assert_int_equal(count_remote("a?b\xef\xbf\xbd"), 1);
}

static void test_a_directory_of_another_user_is_refused(void **state)
{
    _cleanup_free_ char *link = path_of("remote/alice");

    (void)state;
    add_log("stdout", "one line\n");
    make_dir("elsewhere", 0777);
    assert_int_equal(symlink("../elsewhere", link), 0);
    upload_until(5, ENDED, NULL);
    assert_int_equal(status, NM_UPLOADER_FAILED);
    assert_output("\"temporary\":false");
    if (geteuid() != 0)
        return;
    assert_int_equal(unlink(link), 0);
    make_dir("remote/alice", 0777);
    assert_int_equal(chown(link, 65534, 65534), 0);
    upload_until(5, ENDED, NULL);
    assert_int_equal(status, NM_UPLOADER_FAILED);
    assert_output("is not a directory of the user alice");
    assert_output("\"temporary\":false");
}

/* Makes a plan, changes the files, and reads the bytes. */
static char *read_changed(void (*change)(void), struct nm_upload_stream_sums *ret_sums)
{
    _cleanup_free_ char *text = make_work(5, "/remote", ENDED), *bytes = calloc(1, 1 << 20);
    _cleanup_(nm_upload_work_done) struct nm_upload_work work = {0};
    _cleanup_(nm_upload_plan_done) struct nm_upload_plan plan = {0};
    _cleanup_(nm_upload_stream_freep) struct nm_upload_stream *stream = NULL;
    _cleanup_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct nm_upload_report report = {.fd = null};
    const struct nm_upload_memory memory = {0};
    const struct nm_upload_stream_to to = {.remote_name = "n_1"};
    char *all = calloc(1, 1 << 20);
    size_t size = 0, again = 0;
    ssize_t n;

    assert_int_equal(nm_upload_work_parse(text, strlen(text), &work, NULL), 0);
    assert_int_equal(nm_upload_plan_make(&work, &memory, UINT64_MAX, &report, &plan, NULL), 0);
    assert_int_equal(nm_upload_stream_new(&work, &plan, &to, &report, &stream), 0);
    change();
    while ((n = nm_upload_stream_read(stream, all + size, 7)) > 0)
        size += (size_t)n;
    assert_int_equal(n, 0);
    *ret_sums = nm_upload_stream_sums(stream);
    assert_int_equal(ret_sums->remote_bytes, size);
    /* another data node gets the same bytes */
    assert_int_equal(nm_upload_stream_restart(stream), 0);
    while ((n = nm_upload_stream_read(stream, bytes + again, 4096)) > 0)
        again += (size_t)n;
    assert_int_equal(again, size);
    assert_memory_equal(bytes, all, size);
    for (size_t i = 0; i < size; i++)
        all[i] = all[i] ? all[i] : '0';
    return all;
}

static void shorten(void)
{
    _cleanup_free_ char *path = log_path("stdout");

    assert_int_equal(truncate(path, 4), 0);
}

static void grow(void)
{
    add_log("stdout", "more");
}

static void replace(void)
{
    _cleanup_free_ char *path = log_path("stdout"), *kept = log_path("kept");

    assert_int_equal(rename(path, kept), 0);
    add_log("stdout", "1234567");
}

static void test_a_file_that_becomes_shorter_is_padded(void **state)
{
    struct nm_upload_stream_sums sums;
    _cleanup_free_ char *bytes = NULL;

    (void)state;
    add_log("stdout", "1234567");
    bytes = read_changed(shorten, &sums);
    assert_non_null(strstr(bytes, "1234000"));
    assert_int_equal(sums.log_bytes, 7);
}

static void test_a_file_that_grows_has_the_announced_size(void **state)
{
    struct nm_upload_stream_sums sums;
    _cleanup_free_ char *bytes = NULL;

    (void)state;
    add_log("stdout", "1234567");
    bytes = read_changed(grow, &sums);
    assert_non_null(strstr(bytes, "1234567"));
    assert_null(strstr(bytes, "more"));
}

static void test_a_file_that_is_replaced_is_left_out(void **state)
{
    struct nm_upload_stream_sums sums;
    _cleanup_free_ char *bytes = NULL;

    (void)state;
    add_log("stdout", "1234567");
    bytes = read_changed(replace, &sums);
    assert_null(strstr(bytes, "1234567"));
    assert_int_equal(sums.n_files, 0);
}

/* ---- remote directory ------------------------------------------------------------------------ */

static void test_the_remote_directory_is_made(void **state)
{
    _cleanup_free_ char *work = nm_strdup_printf("{\"prepare\":true,\"remote\":\"file://%s/a/b/logs/\"}", root);
    _cleanup_free_ char *made = path_of("a/b/logs"), *upload_there = make_work(5, "/a/b/logs", ENDED);

    (void)state;
    add_log("stdout", "one line\n");
    run(upload_there, NULL);
    assert_output("doesn't exist\",\"temporary\":true,\"full\":false}");
    run(work, NULL);
    assert_int_equal(status, NM_UPLOADER_DONE);
    assert_int_equal(mode_of("a/b/logs"), 01777);
    assert_int_equal(mode_of("a/b"), 0755);
    assert_null(strstr(output, "note"));
    run(upload_there, NULL);
    assert_int_equal(status, NM_UPLOADER_DONE);
    assert_int_equal(chmod(made, 0755), 0);
    run(work, NULL);
    assert_output("is 0755 instead of 1777");
    assert_int_equal(mode_of("a/b/logs"), 0755);
    assert_int_equal(remove_tree(made), 0);
    assert_int_equal(write_new(made, ""), 0);
    run(work, NULL);
    assert_output("is not a directory\",\"temporary\":false");
}

#define EXCEPTION(http, class, text) \
    "HTTP/1.1 " http "\r\nContent-Type: application/json\r\n\r\n" \
    "{\"RemoteException\":{\"exception\":\"" class "\",\"message\":\"" text "\"}}"

static void make_table(unsigned port, struct canned *table)
{
    const struct canned rows[] = {
        {"GET /webhdfs/v1/denied/", EXCEPTION("403 Forbidden", "AccessControlException", "no"), 0},
        {"GET /webhdfs/v1/standby/", EXCEPTION("403 Forbidden", "StandbyException", "no"), 0},
        {"GET /webhdfs/v1/safe/", EXCEPTION("403 Forbidden", "SafeModeException", "no"), 0},
        {"GET /webhdfs/v1/quota/", EXCEPTION("403 Forbidden", "DSQuotaExceededException", "no"), 0},
        {"GET /webhdfs/v1/space/",
         EXCEPTION("403 Forbidden", "IOException", "File could only be written to 0 of the 1 nodes"), 0},
        {"GET /webhdfs/v1/odd/", "HTTP/1.1 200 OK\r\n\r\n{}", 0},
        {"GET /webhdfs/v1/none", EXCEPTION("404 Not Found", "FileNotFoundException", "no"), 0},
        {NULL, NULL, 0},
    };

    (void)port;
    memcpy(table, rows, sizeof rows);
}

static void test_answers_of_name_nodes_are_classified(void **state)
{
    static const struct {
        const char *dir, *end;
    } cases[] = {
        {"denied", "AccessControlException: no\",\"temporary\":false,\"full\":false}"},
        {"standby", "StandbyException: no\",\"temporary\":true,\"full\":false}"},
        {"safe", "SafeModeException: no\",\"temporary\":true,\"full\":false}"},
        {"quota", "DSQuotaExceededException: no\",\"temporary\":true,\"full\":true}"},
        {"space", "\"temporary\":true,\"full\":true}"},
        {"odd", "not that of WebHDFS\",\"temporary\":true,\"full\":false}"},
        {"none", "doesn't exist\",\"temporary\":true,\"full\":false}"},
    };

    (void)state;
    server = canned_start(make_table);
    add_log("stdout", "one line\n");
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *remote = nm_strdup_printf("webhdfs://127.0.0.1:%u/%s/logs", server.port, cases[i].dir);
        _cleanup_free_ char *work = make_work(5, remote, ENDED);

        run(work, NULL);
        assert_int_equal(status, NM_UPLOADER_FAILED);
        assert_output(cases[i].end);
    }
    canned_stop(&server);
}

static void test_invalid_work_has_its_own_status(void **state)
{
    (void)state;
    run("{}", NULL);
    assert_int_equal(status, NM_UPLOADER_NO_WORK);
    assert_string_equal(output, "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_upload_has_hadoops_layout_and_modes),
        TEST(test_nothing_is_made_without_logs),
        TEST(test_a_repeated_upload_is_done_once),
        TEST(test_logs_of_all_directories_are_uploaded_in_order),
        TEST(test_an_interrupted_upload_is_neither_lost_nor_doubled),
        TEST(test_later_uploads_contain_only_what_is_new),
        TEST(test_a_replaced_file_is_uploaded_whole),
        TEST(test_other_containers_are_remembered),
        TEST(test_the_oldest_files_are_removed),
        TEST(test_only_regular_files_are_uploaded),
        TEST(test_a_directory_of_another_user_is_refused),
        TEST(test_a_file_that_becomes_shorter_is_padded),
        TEST(test_a_file_that_grows_has_the_announced_size),
        TEST(test_a_file_that_is_replaced_is_left_out),
        TEST(test_the_remote_directory_is_made),
        TEST(test_answers_of_name_nodes_are_classified),
        TEST(test_invalid_work_has_its_own_status),
    };

    return cmocka_run_group_tests(tests, set_up_group, NULL);
}
