/* SPDX-License-Identifier: Apache-2.0 */

/* Uploads that continue earlier ones: appended to an IndexedFile, without a memory, and given up. */

#include "log-uploader-fixture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

/* ---- IndexedFile ----------------------------------------------------------------------------- */

#define INDEXED DIR_OF_APPLICATION "/n_1_10"
#define MARK DIR_OF_APPLICATION "/n_1-checksum"

static void test_uploads_are_appended_to_an_indexed_file(void **state)
{
    (void)state;
    format = "IndexedFile";
    for (uint64_t i = 1; i <= 4; i++) {
        _cleanup_free_ char *line = nm_strdup_printf("line %" PRIu64 "\n", i);
        _cleanup_free_ char *bytes = NULL;

        add_log("syslog", line);
        upload(10 * i, RUNNING ",\"max_files\":1");
        bytes = nm_strdup_printf("\"bytes\":%" PRIu64 ",\"files\":1,\"name\":\"n_1_10\"", size_of(INDEXED));
        assert_output(bytes);
        assert_int_equal(count_remote(line), 1);
        assert_false(exists(MARK));
    }
    assert_int_equal(mode_of(INDEXED), 0640);
    upload(40, RUNNING);
    assert_output("\"name\":\"n_1_10\"");
    assert_int_equal(count_remote("line 4\n"), 1);
    upload(50, ENDED ",\"rolling\":true,\"final\":true");
    assert_output("\"files\":0");
}

/* Other access lists need another index. A file that was removed or damaged isn't continued. */
static void test_another_indexed_file_is_begun(void **state)
{
    _cleanup_free_ char *first = path_of(INDEXED), *third = path_of(DIR_OF_APPLICATION "/n_1_30");

    (void)state;
    format = "IndexedFile";
    add_log("syslog", "line 1\n");
    upload(10, RUNNING);
    assert_int_equal(unlink(first), 0);
    add_log("syslog", "line 2\n");
    upload(20, RUNNING);
    assert_output("\"name\":\"n_1_20\"");
    add_log("syslog", "line 3\n");
    upload(30, RUNNING ",\"view_acl\":\"bob\"");
    assert_output("\"name\":\"n_1_30\"");
    assert_int_equal(truncate(third, 50), 0);
    add_log("syslog", "line 4\n");
    upload(40, RUNNING ",\"view_acl\":\"bob\"");
    assert_output("\"name\":\"n_1_40\"");
    assert_int_equal(count_remote("line 2\n"), 1);
    assert_int_equal(count_remote("line 4\n"), 1);
}

static void test_a_mark_has_the_length_of_the_valid_part(void **state)
{
#ifdef NM_FAULT_INJECTION
    static const uint8_t first[] = "\0\0\0\6n_1_10\0\0\0\0\0\0\0\0";
    _cleanup_free_ char *path = path_of(MARK);
    _cleanup_free_ uint8_t *mark = NULL, *again = NULL;
    uint64_t bytes;
    size_t size;

    (void)state;
    format = "IndexedFile";
    add_log("syslog", "line 1\n");
    upload_until(10, RUNNING, "upload-written");
    assert_int_equal(nm_read_regular_at(AT_FDCWD, path, 100, &mark, &size), 0);
    assert_int_equal(size, sizeof first - 1);
    assert_memory_equal(mark, first, size);
    /* an attempt was killed while it replaced the mark: the file may be incomplete, so it is written again */
    assert_int_equal(truncate(path, 0), 0);
    upload_until(10, RUNNING, "upload-written");
    assert_int_equal(size_of(MARK), sizeof first - 1);
    /* nmd has lost its state: the incomplete file must not remain without a mark */
    upload(20, RUNNING);
    assert_false(exists(INDEXED));
    assert_false(exists(MARK));
    assert_int_equal(count_remote("line 1\n"), 1);
    bytes = size_of(DIR_OF_APPLICATION "/n_1_20");
    add_log("syslog", "line 2\n");
    upload_until(30, RUNNING, "upload-written");
    assert_true(size_of(DIR_OF_APPLICATION "/n_1_20") > bytes);
    assert_int_equal(nm_read_regular_at(AT_FDCWD, path, 100, &again, &size), 0);
    assert_int_equal(again[size - 2] << 8 | again[size - 1], bytes);
    upload(30, RUNNING);
    assert_output("\"name\":\"n_1_20\"");
    assert_false(exists(MARK));
#else
    (void)state;
    skip();
#endif
}

static void test_an_interrupted_append_is_completed(void **state)
{
#ifdef NM_FAULT_INJECTION
    static const char *const steps[] = {"upload-pending", "upload-renamed", "upload-committed"};

    (void)state;
    format = "IndexedFile";
    add_log("syslog", "line 0\n");
    upload(10, RUNNING);
    for (size_t i = 0; i < NM_ARRAY_SIZE(steps); i++) {
        _cleanup_free_ char *line = nm_strdup_printf("line of %s\n", steps[i]);

        add_log("syslog", line);
        upload_until(20 + i, RUNNING, steps[i]);
        assert_int_equal(status, -SIGKILL);
        upload(20 + i, RUNNING);
        assert_output("\"name\":\"n_1_10\"");
        assert_int_equal(count_remote(line), 1);
        assert_false(exists(MARK));
        assert_false(exists(MEMORY ".pending"));
    }
#else
    (void)state;
    skip();
#endif
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_a_damaged_memory_repeats_logs(void **state)
{
    _cleanup_free_ char *memory = path_of(MEMORY);

    (void)state;
    add_log("syslog", "line 1\n");
    upload(10, RUNNING);
    assert_int_equal(truncate(memory, 20), 0);
    upload(20, RUNNING);
    assert_output("may be uploaded again");
    assert_int_equal(count_remote("line 1\n"), 2);
}

/* A directory takes the place of the file that the memory is written to. Only the last upload continues without it. */
static void test_the_last_upload_needs_no_memory(void **state)
{
    _cleanup_free_ char *work = make_work(10, "/remote", RUNNING);

    (void)state;
    add_log("syslog", "line 1\n");
    make_dir(MEMORY ".pending.tmp", 0700);
    run(work, NULL);
    assert_int_equal(status, NM_UPLOADER_FAILED);
    assert_output("can't write .nmd-uploaded.pending");
    assert_int_equal(count_remote("line 1\n"), 0);
    upload(10, ENDED ",\"rolling\":true,\"final\":true");
    assert_output("can't write .nmd-uploaded.pending");
    assert_int_equal(count_remote("line 1\n"), 1);
    upload(10, ENDED ",\"rolling\":true,\"final\":true");
    assert_int_equal(count_remote("line 1\n"), 1);
}

/* Without rolling, the file gets the name with the time, by which a repeated upload recognizes it. */
static void test_a_name_with_a_time_replaces_the_memory(void **state)
{
    static const char *const formats[] = {"TFile", "IndexedFile"};

    (void)state;
    make_dir(MEMORY ".pending.tmp", 0700);
    for (uint64_t i = 0; i < NM_ARRAY_SIZE(formats); i++) {
        _cleanup_free_ char *file = nm_strdup_printf(DIR_OF_APPLICATION "/n_1_%" PRIu64, 10 + i);

        format = formats[i];
        add_log("stdout", "line\n");
        upload(10 + i, ENDED ",\"final\":true");
        assert_output("can't write .nmd-uploaded.pending");
        assert_true(exists(file));
        assert_false(exists(DIR_OF_APPLICATION "/n_1"));
        upload(10 + i, ENDED ",\"final\":true");
        assert_false(exists(DIR_OF_APPLICATION "/n_1"));
        assert_false(exists(DIR_OF_APPLICATION "/n_1.tmp"));
    }
    assert_int_equal(count_remote("line\n"), 3); /* without a memory, the second upload has the first line, too */
}

/* ---- abandoned uploads ----------------------------------------------------------------------- */

static void abandon(uint64_t msec, const char *more)
{
    _cleanup_free_ char *all = nm_strdup_printf("\"abandoned\":true,%s", more);

    upload_until(msec, all, NULL);
}

static void test_the_remains_of_an_abandoned_upload_are_removed(void **state)
{
#ifdef NM_FAULT_INJECTION
    (void)state;
    add_log("stdout", "one line\n");
    abandon(5, ENDED);
    assert_int_equal(status, NM_UPLOADER_FAILED);
    assert_output("the upload was given up");
    assert_false(exists("remote/alice"));
    upload_until(5, ENDED, "upload-written");
    assert_true(exists(DIR_OF_APPLICATION "/n_1.tmp"));
    abandon(5, ENDED);
    assert_int_equal(status, NM_UPLOADER_FAILED);
    assert_false(exists(DIR_OF_APPLICATION "/n_1.tmp"));
    assert_false(exists(DIR_OF_APPLICATION "/n_1"));
    upload_until(5, ENDED, "upload-pending");
    abandon(5, ENDED);
    assert_int_equal(status, NM_UPLOADER_FAILED);
    assert_false(exists(DIR_OF_APPLICATION "/n_1.tmp"));
    assert_false(exists(MEMORY ".pending"));
#else
    (void)state;
    skip();
#endif
}

static void test_a_completed_upload_is_not_abandoned(void **state)
{
#ifdef NM_FAULT_INJECTION
    (void)state;
    add_log("stdout", "one line\n");
    upload_until(5, ENDED, "upload-renamed");
    abandon(5, ENDED);
    assert_int_equal(status, NM_UPLOADER_DONE);
    assert_output("\"files\":1,\"name\":\"n_1\"");
    add_log("stdout", "another line\n");
    make_dir(MEMORY ".pending.tmp", 0700);
    upload(6, ENDED ",\"final\":true");
    abandon(6, ENDED);
    assert_int_equal(status, NM_UPLOADER_DONE);
    assert_output("\"name\":\"n_1_6\"");
    assert_int_equal(count_remote("another line\n"), 1);
#else
    (void)state;
    skip();
#endif
}

/* A mark beside complete uploads stays, since what is behind them isn't valid. */
static void test_an_abandoned_indexed_file_is_removed_if_it_is_new(void **state)
{
#ifdef NM_FAULT_INJECTION
    (void)state;
    format = "IndexedFile";
    add_log("syslog", "line 1\n");
    upload_until(10, RUNNING, "upload-written");
    assert_true(exists(INDEXED) && exists(MARK));
    abandon(10, RUNNING);
    assert_int_equal(status, NM_UPLOADER_FAILED);
    assert_false(exists(INDEXED) || exists(MARK));
    upload(10, RUNNING);
    add_log("syslog", "line 2\n");
    upload_until(20, RUNNING, "upload-written");
    abandon(20, RUNNING);
    assert_int_equal(status, NM_UPLOADER_FAILED);
    assert_true(exists(INDEXED) && exists(MARK));
    upload(30, RUNNING);
    assert_int_equal(count_remote("line 1\n"), 1);
    assert_false(exists(MARK));
#else
    (void)state;
    skip();
#endif
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_uploads_are_appended_to_an_indexed_file),
        TEST(test_another_indexed_file_is_begun),
        TEST(test_a_mark_has_the_length_of_the_valid_part),
        TEST(test_an_interrupted_append_is_completed),
        TEST(test_a_damaged_memory_repeats_logs),
        TEST(test_the_last_upload_needs_no_memory),
        TEST(test_a_name_with_a_time_replaces_the_memory),
        TEST(test_the_remains_of_an_abandoned_upload_are_removed),
        TEST(test_a_completed_upload_is_not_abandoned),
        TEST(test_an_abandoned_indexed_file_is_removed_if_it_is_new),
    };

    return cmocka_run_group_tests(tests, set_up_group, NULL);
}
