/* SPDX-License-Identifier: Apache-2.0 */

/* Frames of Spark's transport. The valid frames were written by Spark 3.5.6 (network-common's messages and the layout
 * of its MessageEncoder). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>

#include <cmocka.h>

#include "spark-bytes.h"
#include "spark/frame.h"

static uint8_t buffer[256];
static struct nm_spark_frame frame;

static int parse(const char *hex)
{
    return nm_spark_frame_parse(spark_bytes(hex, buffer, sizeof buffer), &frame);
}

/* Parses a valid frame, and checks its size. */
static void parse_valid(const char *hex)
{
    assert_int_equal(parse(hex), 0);
    assert_int_equal(nm_spark_frame_size(buffer), strlen(hex) / 2);
}

#define CHUNK "000000000000001500000000000000000700000002"
#define RPC "000000000000001803000000000000000900000003616263"
#define STREAM "00000000000000100600000003375f32"
#define ONE_WAY "00000000000000100900000003616263"
#define UPLOAD /* the five bytes of the upload follow it */ \
    "00000000000000210a0000000000000009000000046d6574610000000000000005"
#define MERGED_META \
    "00000000000000330b0000000000000009000000126170706c69636174696f6e5f" \
    "315f30303031000000010000000200000003"

static void test_requests_for_chunks_are_parsed(void **state)
{
    (void)state;
    parse_valid(CHUNK);
    assert_int_equal(frame.type, NM_SPARK_FRAME_CHUNK);
    assert_int_equal(frame.id, 7);
    assert_int_equal(frame.chunk, 2);
    parse_valid(STREAM);
    assert_int_equal(frame.type, NM_SPARK_FRAME_STREAM);
    assert_int_equal(frame.id, 7);
    assert_int_equal(frame.chunk, 2);
    assert_true(nm_bytes_equal(frame.name, nm_bytes_of("7_2")));
    parse_valid("000000000000002b060000001e" "393232333337323033363835343737353830375f32313437343833363437");
    assert_int_equal(frame.id, INT64_MAX);
    assert_int_equal(frame.chunk, INT32_MAX);
}

static void test_messages_are_parsed(void **state)
{
    (void)state;
    parse_valid(RPC);
    assert_int_equal(frame.type, NM_SPARK_FRAME_RPC);
    assert_int_equal(frame.id, 9);
    assert_true(nm_bytes_equal(frame.body, nm_bytes_of("abc")));
    parse_valid(ONE_WAY);
    assert_int_equal(frame.type, NM_SPARK_FRAME_ONE_WAY);
    assert_true(nm_bytes_equal(frame.body, nm_bytes_of("abc")));
}

static void test_the_size_in_a_message_is_ignored(void **state)
{
    (void)state;
    assert_int_equal(parse("0000000000000018030000000000000009" "0000270f" "616263"), 0);
    assert_true(nm_bytes_equal(frame.body, nm_bytes_of("abc")));
}

static void test_requests_of_push_based_shuffle_are_parsed(void **state)
{
    (void)state;
    parse_valid(UPLOAD);
    assert_int_equal(frame.type, NM_SPARK_FRAME_UPLOAD);
    assert_int_equal(frame.id, 9);
    assert_int_equal(frame.upload_bytes, 5);
    assert_true(nm_bytes_equal(frame.body, nm_bytes_of("meta")));
    parse_valid(MERGED_META);
    assert_int_equal(frame.type, NM_SPARK_FRAME_MERGED_META);
    assert_int_equal(frame.id, 9);
}

static void test_the_sizes_of_frames_have_limits(void **state)
{
    static const struct {
        const char *hex;
        uint64_t size;
    } sizes[] = {
        {"0000000000000000", 0}, {"0000000000000008", 0}, {"0000000000000009", 9},
        {"ffffffffffffffff", 0}, {"8000000000000009", 0}, {"0000010000000000", 0},
        {"0000000080000007", 0}, {"0000000080000006", UINT64_C(0x80000006)},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(sizes); i++)
        if (nm_spark_frame_size(spark_bytes(sizes[i].hex, buffer, sizeof buffer).data) != sizes[i].size)
            fail_msg("%s should be %ju", sizes[i].hex, (uintmax_t)sizes[i].size);
}

static void test_a_shorter_frame_is_refused(void **state)
{
    static const struct {
        const char *hex;
        unsigned head; /* bytes that a frame of this type needs */
    } all[] = {{CHUNK, 21}, {RPC, 21}, {STREAM, 16}, {ONE_WAY, 13}, {UPLOAD, 33}, {MERGED_META, 17}};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        struct nm_bytes bytes = spark_bytes(all[i].hex, buffer, sizeof buffer);

        for (bytes.size = 0; bytes.size < all[i].head; bytes.size++)
            assert_int_equal(nm_spark_frame_parse(bytes, &frame), -EBADMSG);
        assert_int_equal(nm_spark_frame_parse(bytes, &frame), 0);
    }
}

static void test_invalid_frames_are_refused(void **state)
{
    static const char *const all[] = {
        "000000000000001a01000000000000000700000002626c6f636b", /* a frame of a server */
        "00000000000000091b",                                     /* an unknown type */
        "0000000000000009ff",
        "000000000000000f06" "00000002375f",                      /* streams: "7_" */
        "000000000000000e06" "0000000137",                        /* "7" */
        "000000000000000f06" "000000025f32",                      /* "_2" */
        "000000000000001106" "00000004372d3332",                  /* "7-32" */
        "000000000000001106" "00000004375f3278",                  /* "7_2x" */
        "000000000000001106" "000000042d375f32",                  /* "-7_2" */
        "000000000000002c060000001f" "30303030303030303030303030303030303030303030303030303030375f32", /* too long */
        "000000000000001006" "00000009375f32",                    /* a text that is longer than the frame */
        "0000000000000010" "06ffffffff" "375f32",                 /* a text with a negative size */
        "0000000000000021" "0a0000000000000009000000046d657461ffffffffffffffff", /* a negative upload */
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        if (parse(all[i]) != -EBADMSG)
            fail_msg("%s should be refused", all[i]);
}

static void test_answers_have_the_bytes_of_spark(void **state)
{
    struct nm_writer w = {};

    (void)state;
    nm_spark_put_chunk(&w, 7, 2, 5);
    nm_writer_put(&w, nm_bytes_of("block"));
    assert_written(&w, "000000000000001a01000000000000000700000002626c6f636b");
    nm_spark_put_stream(&w, nm_bytes_of("7_2"), 5);
    nm_writer_put(&w, nm_bytes_of("block"));
    assert_written(&w, "00000000000000180700000003375f320000000000000005626c6f636b");
    nm_spark_put_reply(&w, 9, nm_bytes_of("xy"));
    assert_written(&w, "0000000000000017040000000000000009000000027879");
}

static void test_failures_have_the_bytes_of_spark(void **state)
{
    struct nm_writer w = {};

    (void)state;
    parse_valid(CHUNK);
    nm_spark_put_failure(&w, &frame, "gone");
    assert_written(&w, "000000000000001d0200000000000000070000000200000004676f6e65");
    parse_valid(STREAM);
    nm_spark_put_failure(&w, &frame, "gone");
    assert_written(&w, "00000000000000180800000003375f3200000004676f6e65");
    parse_valid(RPC);
    nm_spark_put_failure(&w, &frame, "no");
    assert_written(&w, "0000000000000017050000000000000009000000026e6f");
    parse_valid(UPLOAD);
    nm_spark_put_failure(&w, &frame, "no");
    assert_written(&w, "0000000000000017050000000000000009000000026e6f");
    parse_valid(ONE_WAY);
    nm_spark_put_failure(&w, &frame, "no");
    assert_written(&w, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_for_chunks_are_parsed),
        cmocka_unit_test(test_messages_are_parsed),
        cmocka_unit_test(test_the_size_in_a_message_is_ignored),
        cmocka_unit_test(test_requests_of_push_based_shuffle_are_parsed),
        cmocka_unit_test(test_the_sizes_of_frames_have_limits),
        cmocka_unit_test(test_a_shorter_frame_is_refused),
        cmocka_unit_test(test_invalid_frames_are_refused),
        cmocka_unit_test(test_answers_have_the_bytes_of_spark),
        cmocka_unit_test(test_failures_have_the_bytes_of_spark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
