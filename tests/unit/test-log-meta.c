/* SPDX-License-Identifier: Apache-2.0 */

/* IndexedFile and its index, META: their bytes, uploads that are appended, and former indexes that are refused. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <nettle/sha2.h>

#include "aggregate/format/log-meta.h"
#include "aggregate/format/log-writer.h"
#include "tests/unit/fail-nth.h"

#define CLASS "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController$"
#define STRING "\x74\0\x12Ljava/lang/String;"

static const struct nm_log_meta meta = {"ada", "n:1", " ", "bob"};

static void test_a_meta_has_these_bytes(void **state)
{
    /* The numbers of the handles begin with 0, which is 7e0000 in the stream. */
    static const char expected[] = "\xac\xed\0\x05"
        "\x73\x72\0\x6e" CLASS "IndexedLogsMeta" "\0\0\0\x01\x44\x3d\xe9\x2d" "\x02\0\x06" /* 0 */
        "I\0\x07version" "L\0\x04" "acls\x74\0\x0fLjava/util/Map;"                          /* 1 */
        "L\0\x0c" "compressName" STRING "L\0\x08logMetas\x74\0\x10Ljava/util/List;"           /* 2, 3 */
        "L\0\x06nodeId" STRING "L\0\x04user" STRING "\x78\x70"                                /* 4, 5; 6: the object */
        "\0\0\0\x01"
        "\x73\x72\0\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16\x60\xd1\x03\0\x02" /* 7; 8 */
        "F\0\x0aloadFactorI\0\x09threshold\x78\x70"
        "\x3f\x40\0\0" "\0\0\0\x0c" "\x77\x08\0\0\0\x10\0\0\0\x02"
        "\x7e\x72\0\x38org.apache.hadoop.yarn.api.records.ApplicationAccessType\0\0\0\0\0\0\0\0\x12\0\0\x78" /* 9 */
        "\x72\0\x0ejava.lang.Enum\0\0\0\0\0\0\0\0\x12\0\0\x78\x70" /* 10; 11: the constant */
        "\x74\0\x08VIEW_APP" "\x74\0\x01 "                       /* 12, 13 */
        "\x7e\x71\0\x7e\0\x09\x74\0\x0aMODIFY_APP" "\x74\0\x03" "bob" /* 14, 15, 16 */
        "\x78"
        "\x74\0\x04none" /* 17 */
        "\x73\x72\0\x13java.util.ArrayList\x78\x81\xd2\x1d\x99\xc7\x61\x9d\x03\0\x01" /* 18; 19 */
        "I\0\x04size\x78\x70" "\0\0\0\x01" "\x77\x04\0\0\0\x01"
        "\x73\x72\0\x7b" CLASS "IndexedPerAggregationLogMeta" "\0\0\0\0\xea\x34\x55\xcf" "\x02\0\x03" /* 20 */
        "J\0\x0fuploadTimeStampL\0\x08logMetas\x74\0\x0fLjava/util/Map;"                               /* 21 */
        "L\0\x15remoteNodeLogFileName" STRING "\x78\x70"                                               /* 22; 23 */
        "\0\0\x01\x8b\xcf\xe5\x68\0"
        "\x73\x71\0\x7e\0\x07" "\x3f\x40\0\0" "\0\0\0\x0c" "\x77\x08\0\0\0\x10\0\0\0\x01" /* 24 */
        "\x74\0\x02" "c1"                                                               /* 25 */
        "\x73\x71\0\x7e\0\x12" "\0\0\0\x02" "\x77\x04\0\0\0\x02"                        /* 26 */
        "\x73\x72\0\x71" CLASS "IndexedFileLogMeta" "\0\0\0\0\0\0\0\x01" "\x02\0\x06"   /* 27 */
        "J\0\x12" "fileCompressedSizeJ\0\x08" "fileSizeJ\0\x10lastModifiedTimeJ\0\x0astartIndex"
        "L\0\x0b" "containerId" STRING "L\0\x08" "fileName" STRING "\x78\x70" /* 28, 29; 30 */
        "\0\0\0\0\0\0\0\x05" "\0\0\0\0\0\0\0\x05" "\0\0\0\0\0\0\0\x63" "\0\0\0\0\0\0\0\x20"
        "\x74\0\x02" "c1" "\x74\0\x03" "out"
        "\x73\x71\0\x7e\0\x1b" /* refers to 27 */
        "\0\0\0\0\0\0\0\x07" "\0\0\0\0\0\0\0\x07" "\0\0\0\0\0\0\0\x64" "\0\0\0\0\0\0\0\x25"
        "\x74\0\x02" "c1" "\x74\0\x03" "err"
        "\x78\x78" "\x74\0\x03n_1"
        "\x78" "\x74\0\x03n:1" "\x74\0\x03" "ada";
    static const struct nm_log_meta_file files[] = {{"c1", "out", 32, 5, 99}, {"c1", "err", 37, 7, 100}};
    struct nm_log_meta_upload upload = {"n_1", 1700000000000, files, 2};
    struct nm_log_buffer b = {};

    (void)state;
    assert_int_equal(nm_log_meta_write(&meta, (struct nm_log_meta_former){}, &upload, &b), 0);
    for (size_t i = 0; i < NM_MIN(b.size, sizeof expected - 1); i++)
        if (b.data[i] != (uint8_t)expected[i])
            fail_msg("byte %zu", i);
    assert_int_equal(b.size, sizeof expected - 1);
    nm_log_buffer_done(&b);
}

/* ---- appended uploads -------------------------------------------------------------------------- */

/* Writes a META with n uploads of three containers. */
static struct nm_log_buffer meta_of(unsigned n)
{
    static const struct nm_log_meta_file files[] = {{"c1", "out", 32, 5, 99}, {"c1", "err", 37, 7, 100},
                                                    {"c2", "out", 44, 0, 98}, {"c3", "out", 44, 1, 97}};
    struct nm_log_meta_former former = {};
    struct nm_log_buffer b = {};

    for (unsigned i = 0; i < n; i++) {
        struct nm_log_meta_upload upload = {"n_1", 1700000000000 + i, files, i % 5};
        struct nm_log_buffer next = {};

        assert_int_equal(nm_log_meta_write(&meta, former, &upload, &next), 0);
        nm_log_buffer_done(&b);
        b = next;
        former = (struct nm_log_meta_former){b.data, b.size};
    }
    return b;
}

static void test_a_meta_is_continued_many_times(void **state)
{
    struct nm_log_buffer b = meta_of(200), one_less = meta_of(199);
    struct nm_log_meta_former former = {b.data, b.size};
    size_t n_differ = 0;

    (void)state;
    assert_int_equal(nm_log_meta_check(&meta, former), 0);
    /* Up to the end of the former list, only the length of the list differs, which a list has twice. */
    for (size_t i = 0; i + 14 < one_less.size; i++)
        n_differ += b.data[i] != one_less.data[i];
    assert_int_equal(n_differ, 2);
    /* A class that is described once costs nothing in further uploads. */
    assert_in_range(b.size - one_less.size, 100, 400);
    nm_log_buffer_done(&b);
    nm_log_buffer_done(&one_less);
}

static void test_a_cut_meta_is_refused(void **state)
{
    struct nm_log_buffer b = meta_of(6);

    (void)state;
    for (size_t size = 0; size < b.size; size++) {
        uint8_t *cut = malloc(size + 1); /* the sanitizers find reads beyond the end */

        assert_non_null(cut);
        memcpy(cut, b.data, size);
        cut = realloc(cut, NM_MAX(size, (size_t)1));
        assert_int_equal(nm_log_meta_check(&meta, (struct nm_log_meta_former){cut, size}), -EBADMSG);
        free(cut);
    }
    nm_log_buffer_put(&b, "x", 1);
    assert_int_equal(nm_log_meta_check(&meta, (struct nm_log_meta_former){b.data, b.size}), -EBADMSG);
    nm_log_buffer_done(&b);
}

static void test_a_meta_of_another_application_is_refused(void **state)
{
    static const struct nm_log_meta others[] = {
        {"eve", "n:1", " ", "bob"}, {"ada", "n:2", " ", "bob"}, {"ada", "n:1", "bob", "bob"}, {"ada", "n:1", " ", ""}};
    struct nm_log_buffer b = meta_of(1);
    struct nm_log_meta_former former = {b.data, b.size};

    (void)state;
    assert_int_equal(nm_log_meta_check(&meta, former), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(others); i++)
        assert_int_equal(nm_log_meta_check(&others[i], former), -EBADMSG);
    nm_log_buffer_done(&b);
}

/* Any changed byte is either refused, or belongs to a number or a text. Then the next META has the change too. */
static void test_a_changed_meta_stays_readable(void **state)
{
    static const struct nm_log_meta_file file = {"c1", "out", 50, 5, 99};
    struct nm_log_meta_upload upload = {"n_1", 1, &file, 1};
    struct nm_log_buffer b = meta_of(5);
    unsigned n_accepted = 0, n_refused = 0;

    (void)state;
    for (size_t i = 0; i < b.size; i++) {
        struct nm_log_buffer next = {};

        b.data[i] ^= 1;
        if (nm_log_meta_write(&meta, (struct nm_log_meta_former){b.data, b.size}, &upload, &next) == 0) {
            n_accepted++;
            assert_int_equal(nm_log_meta_check(&meta, (struct nm_log_meta_former){next.data, next.size}), 0);
        } else {
            n_refused++;
        }
        nm_log_buffer_done(&next);
        b.data[i] ^= 1;
    }
    assert_true(n_accepted > 100 && n_refused > 1000);
    nm_log_buffer_done(&b);
}

static int write_after_former(void *userdata)
{
    static const struct nm_log_meta_file file = {"c1", "out", 50, 5, 99};
    struct nm_log_meta_upload upload = {"n_1", 1, &file, 1};
    struct nm_log_buffer *b = userdata, next = {};
    int r = nm_log_meta_write(&meta, (struct nm_log_meta_former){b->data, b->size}, &upload, &next);

    nm_log_buffer_done(&next);
    return r;
}

static void test_each_failed_allocation_is_reported(void **state)
{
    struct nm_log_buffer b = meta_of(3);

    (void)state;
    assert_true(fail_each(write_after_former, &b) > 2);
    nm_log_buffer_done(&b);
}

/* ---- whole files ------------------------------------------------------------------------------- */

static int append(void *userdata, const void *data, size_t n, char **ret_message)
{
    struct nm_log_buffer *b = userdata;

    (void)ret_message;
    nm_log_buffer_put(b, data, n);
    return b->error;
}

static uint32_t number_at(const uint8_t *data)
{
    return (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
}

/* Returns the last META of a file, and checks what follows it. */
static struct nm_log_meta_former last_meta(const struct nm_log_buffer *file, const uint8_t *id)
{
    const uint8_t *tail = file->data + file->size - NM_LOG_INDEXED_TAIL_SIZE;
    uint32_t size = number_at(tail);

    assert_memory_equal(tail + 4, id, NM_LOG_INDEXED_ID_SIZE);
    assert_true(size <= file->size - NM_LOG_INDEXED_TAIL_SIZE);
    return (struct nm_log_meta_former){tail - size, size};
}

static void write_logs(struct nm_log_writer *w)
{
    static const char *const ids[] = {"c2", "c1", "c2"}; /* a container is announced again */

    for (size_t i = 0; i < NM_ARRAY_SIZE(ids); i++) {
        assert_int_equal(nm_log_writer_container(w, ids[i], NULL), 0);
        assert_int_equal(nm_log_writer_file(w, "empty", 0, 99, NULL), 0);
        assert_int_equal(nm_log_writer_file(w, i == 0 ? "x" : "y", 5, 99, NULL), 0);
        assert_int_equal(nm_log_writer_data(w, "01", 2, NULL), 0);
        assert_int_equal(nm_log_writer_data(w, "234", 3, NULL), 0);
    }
    assert_int_equal(nm_log_writer_end(w, NULL), 0);
}

/* The uploads of a file, whose index must list each log at its place. */
static void test_uploads_are_appended_to_a_file(void **state)
{
    struct nm_log_params p = {.format = NM_LOG_INDEXED, .application = "application_1_0001", .owner = "ada",
        .node = "n:1", .view_acl = "", .modify_acl = "bob", .remote_name = "n_1"};
    struct nm_log_buffer file = {}, expected = {};
    struct nm_log_sink sink = {append, &file};
    uint8_t id[SHA256_DIGEST_SIZE];
    struct sha256_ctx sha;

    (void)state;
    sha256_init(&sha);
    sha256_update(&sha, strlen(p.application), (const uint8_t *)p.application);
    sha256_digest(&sha, sizeof id, id);
    for (unsigned i = 0; i < 3; i++) {
        struct nm_log_buffer former = {}, next = {};
        struct nm_log_writer *w = NULL;
        uint64_t at;

        p.upload_msec = 1000 + i;
        p.offset_bytes = file.size;
        if (i > 0)
            nm_log_buffer_put(&former, last_meta(&file, id).data, last_meta(&file, id).size);
        p.former_meta = former.data;
        p.former_meta_size = former.size;
        assert_int_equal(nm_log_writer_new(&p, &sink, &w), 0);
        assert_int_equal(file.size, p.offset_bytes);
        write_logs(w);
        nm_log_writer_free(w);
        nm_log_buffer_done(&former);

        at = i == 0 ? sizeof id : p.offset_bytes;
        assert_memory_equal(file.data, id, sizeof id);
        assert_memory_equal(file.data + at, "012340123401234", 15);
        struct nm_log_meta_file files[] = {{"c1", "empty", at + 5, 0, 99}, {"c1", "y", at + 5, 5, 99},
            {"c2", "empty", at, 0, 99}, {"c2", "x", at, 5, 99}, {"c2", "empty", at + 10, 0, 99},
            {"c2", "y", at + 10, 5, 99}};
        struct nm_log_meta_upload upload = {"n_1", p.upload_msec, files, NM_ARRAY_SIZE(files)};

        assert_int_equal(nm_log_meta_write(&meta, (struct nm_log_meta_former){expected.data, expected.size}, &upload,
                                           &next), 0);
        nm_log_buffer_done(&expected);
        expected = next;
        assert_int_equal(last_meta(&file, id).size, expected.size);
        assert_memory_equal(last_meta(&file, id).data, expected.data, expected.size);
        assert_int_equal(file.size, at + 15 + expected.size + NM_LOG_INDEXED_TAIL_SIZE);
    }
    nm_log_buffer_done(&file);
    nm_log_buffer_done(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_meta_has_these_bytes),
        cmocka_unit_test(test_a_meta_is_continued_many_times),
        cmocka_unit_test(test_a_cut_meta_is_refused),
        cmocka_unit_test(test_a_meta_of_another_application_is_refused),
        cmocka_unit_test(test_a_changed_meta_stays_readable),
        cmocka_unit_test(test_each_failed_allocation_is_reported),
        cmocka_unit_test(test_uploads_are_appended_to_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
