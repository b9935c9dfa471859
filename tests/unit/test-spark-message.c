/* SPDX-License-Identifier: Apache-2.0 */

/* Messages of Spark's shuffle service. The valid messages were written by Spark 3.5.6 (network-shuffle's
 * BlockTransferMessage). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>

#include <cmocka.h>

#include "spark-bytes.h"
#include "spark/message.h"

#define APP "000000126170706c69636174696f6e5f315f30303031" /* application_1_0001 */
#define OPEN \
    "00" APP "0000000132000000020000000d73687566666c655f335f345f350000000d73687566666c655f335f365f30"
#define OPEN_RDD "00" APP "000000013200000001000000077264645f375f38"
#define REGISTER \
    "02" APP "0000000131000000010000000d2f612f626c6f636b6d67722d7500000040000000306f72672e6170616368652e737061" \
        "726b2e73687566666c652e736f72742e536f727453687566666c654d616e61676572"
#define REMOVE \
    "07" APP "0000000132000000020000001273687566666c655f335f345f302e64617461000000077264645f375f38"
#define FETCH \
    "09" APP "00000001320000000300000002000000012a05f200000000000000000600000002000000030000000000000001000000" \
        "02000000010000000700"
#define FETCH_BATCH \
    "09" APP "000000013200000003000000020000000000000004000000000000000600000002000000020000000000000003000000" \
        "02000000010000000201"
#define GET_DIRS "0a" APP "0000000200000001310000000132"
#define DIAGNOSE \
    "10" APP "00000001320000000300000000000000040000000500000000000012340000000741444c45523332"
#define PUSH "0c" APP "000000010000000200000003000000040000000500000006"
#define FINALIZE "0d" APP "000000010000000200000003"

static uint8_t buffer[512];
static struct nm_spark_message message;
static const char *why;

static int parse(const char *hex)
{
    why = NULL;
    return nm_spark_message_parse(spark_bytes(hex, buffer, sizeof buffer), &message, &why);
}

static void parse_valid(const char *hex, enum nm_spark_code code)
{
    assert_int_equal(parse(hex), 0);
    assert_int_equal(message.code, code);
    assert_true(nm_bytes_equal(message.app, nm_bytes_of("application_1_0001")));
}

static void assert_text(const char *expected)
{
    assert_true(nm_bytes_equal(nm_spark_texts_next(&message.texts), nm_bytes_of(expected)));
}

static void assert_block(int32_t set, int64_t part, int32_t first, int32_t end)
{
    const struct nm_spark_block b = nm_spark_blocks_next(&message.blocks);

    assert_int_equal(b.kind, NM_SPARK_BLOCK_SHUFFLE);
    assert_int_equal(b.set, set);
    assert_int_equal(b.part, part);
    assert_int_equal(b.first, first);
    assert_int_equal(b.end, end);
}

static void test_a_registration_is_parsed(void **state)
{
    (void)state;
    parse_valid(REGISTER, NM_SPARK_REGISTER);
    assert_true(nm_bytes_equal(message.exec, nm_bytes_of("1")));
    assert_int_equal(message.texts.n, 1);
    assert_text("/a/blockmgr-u");
    assert_int_equal(message.n_sub_dirs, 64);
    assert_true(nm_bytes_equal(message.manager, nm_bytes_of("org.apache.spark.shuffle.sort.SortShuffleManager")));
}

static void test_blocks_of_maps_are_parsed(void **state)
{
    (void)state;
    parse_valid(FETCH, NM_SPARK_FETCH_BLOCKS);
    assert_true(nm_bytes_equal(message.exec, nm_bytes_of("2")));
    assert_int_equal(message.blocks.n_chunks, 4);
    assert_block(3, 5000000000, 0, 1);
    assert_block(3, 5000000000, 1, 2);
    assert_block(3, 5000000000, 2, 3);
    assert_block(3, 6, 7, 8);
    assert_int_equal(message.blocks.n_chunks, 0);
}

static void test_batches_are_parsed(void **state)
{
    (void)state;
    parse_valid(FETCH_BATCH, NM_SPARK_FETCH_BLOCKS);
    assert_int_equal(message.blocks.n_chunks, 2);
    assert_block(3, 4, 0, 3);
    assert_block(3, 6, 1, 2);
}

static void test_ids_of_blocks_are_parsed(void **state)
{
    struct nm_spark_block b;

    (void)state;
    parse_valid(OPEN, NM_SPARK_OPEN_BLOCKS);
    assert_int_equal(message.blocks.n_chunks, 2);
    assert_block(3, 4, 5, 6);
    assert_block(3, 6, 0, 1);
    parse_valid(OPEN_RDD, NM_SPARK_OPEN_BLOCKS);
    b = nm_spark_blocks_next(&message.blocks);
    assert_int_equal(b.kind, NM_SPARK_BLOCK_RDD);
    assert_int_equal(b.set, 7);
    assert_int_equal(b.part, 8);
}

static void test_names_and_executors_are_parsed(void **state)
{
    (void)state;
    parse_valid(REMOVE, NM_SPARK_REMOVE_BLOCKS);
    assert_int_equal(message.texts.n, 2);
    assert_text("shuffle_3_4_0.data");
    assert_text("rdd_7_8");
    parse_valid(GET_DIRS, NM_SPARK_GET_DIRS);
    assert_int_equal(message.texts.n, 2);
    assert_text("1");
    assert_text("2");
}

static void test_a_diagnosis_is_parsed(void **state)
{
    (void)state;
    parse_valid(DIAGNOSE, NM_SPARK_DIAGNOSE);
    assert_int_equal(message.block.set, 3);
    assert_int_equal(message.block.part, 4);
    assert_int_equal(message.block.first, 5);
    assert_int_equal(message.block.end, 6);
    assert_int_equal(message.checksum, 0x1234);
    assert_true(nm_bytes_equal(message.algorithm, nm_bytes_of("ADLER32")));
}

static void test_bytes_after_a_message_are_ignored(void **state)
{
    (void)state;
    parse_valid(REGISTER "00ff", NM_SPARK_REGISTER);
    parse_valid(FETCH "00ff", NM_SPARK_FETCH_BLOCKS);
}

static void test_a_shorter_message_is_refused(void **state)
{
    static const char *const all[] = {OPEN, REGISTER, REMOVE, FETCH, FETCH_BATCH, GET_DIRS, DIAGNOSE};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        struct nm_bytes bytes = spark_bytes(all[i], buffer, sizeof buffer);

        while (bytes.size-- > 0)
            assert_int_equal(nm_spark_message_parse(bytes, &message, &why), -EBADMSG);
    }
}

#define FETCH_OF "09" APP "0000000132"
#define OPEN_OF "00" APP "0000000132"

static void test_invalid_messages_are_refused(void **state)
{
    static const char *const all[] = {
        OPEN_OF "00000000",                                                   /* no blocks */
        OPEN_OF "7fffffff" "0000000d73687566666c655f335f345f35",              /* more texts than bytes */
        OPEN_OF "00000001" "0000000b62726f6164636173745f31",                  /* broadcast_1 */
        OPEN_OF "00000001" "ffffffff",                                        /* a text with a negative size */
        FETCH_OF "00000003" "00000000" "00000000" "00",                       /* no maps */
        FETCH_OF "ffffffff" "00000001" "0000000000000004" "00000001" "00000001" "00000000" "00", /* shuffle -1 */
        FETCH_OF "00000003" "00000001" "ffffffffffffffff" "00000001" "00000001" "00000000" "00", /* map -1 */
        FETCH_OF "00000003" "00000001" "0000000000000004" "00000001" "00000001" "ffffffff" "00", /* reducer -1 */
        FETCH_OF "00000003" "00000001" "0000000000000004" "00000001" "00000001" "7fffffff" "00", /* no end */
        FETCH_OF "00000003" "00000001" "0000000000000004" "00000001" "00000000" "00",            /* an empty list */
        FETCH_OF "00000003" "00000001" "0000000000000004" "00000000" "00",                       /* no list */
        FETCH_OF "00000003" "00000001" "0000000000000004" "00000001" "00000001" "00000000" "01", /* half a batch */
        FETCH_OF "00000003" "00000001" "0000000000000004" "00000001" "00000002" "00000005" "00000004" "01",
        FETCH_OF "00000003" "00000001" "0000000000000004" "00000001" "7fffffff" "00000005" "00000004" "01",
        "10" APP "0000000132" "00000003" "ffffffffffffffff" "00000005" "0000000000001234" "00000007" "41444c45523332",
        "",
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        if (parse(all[i]) != -EBADMSG)
            fail_msg("%s should be refused", all[i]);
}

static void test_messages_for_others_are_refused_in_words(void **state)
{
    (void)state;
    assert_int_equal(parse(PUSH), -EOPNOTSUPP);
    assert_string_equal(why, "Cannot handle shuffle block merge");
    assert_int_equal(parse(FINALIZE), -EOPNOTSUPP);
    assert_string_equal(why, "Cannot handle shuffle block merge");
    assert_int_equal(parse("13"), -EOPNOTSUPP);
    assert_string_equal(why, "Cannot handle shuffle block merge");
    assert_int_equal(parse("04" APP), -EOPNOTSUPP);
    assert_string_equal(why, "Unexpected message: this server has no Mesos");
    assert_int_equal(parse("ea"), -EOPNOTSUPP);
    assert_non_null(why);
    assert_int_equal(parse("03112233445566778800000003"), -EOPNOTSUPP);
    assert_non_null(why);
}

static void test_replies_have_the_bytes_of_spark(void **state)
{
    struct nm_spark_dirs_reply dirs = {};
    struct nm_writer w = {};

    (void)state;
    nm_spark_put_handle(&w, 0x1122334455667788, 3);
    assert_written(&w, "03112233445566778800000003");
    nm_spark_put_removed(&w, 2);
    assert_written(&w, "0800000002");
    nm_spark_dirs_begin(&dirs, nm_bytes_of("1"), 2);
    nm_spark_dirs_add(&dirs, "", "a");
    nm_spark_dirs_add(&dirs, "", "b");
    nm_spark_dirs_begin(&dirs, nm_bytes_of("2"), 1);
    nm_spark_dirs_add(&dirs, "", "c");
    nm_spark_put_dirs(&w, &dirs);
    nm_spark_dirs_done(&dirs);
    assert_written(&w, "0b0000000200000001310000000132000000020000000200000001000000030000"
                       "00022f61000000022f62000000022f63");
    nm_spark_put_cause(&w, NM_SPARK_CAUSE_NONE);
    assert_written(&w, "1103");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_registration_is_parsed),
        cmocka_unit_test(test_blocks_of_maps_are_parsed),
        cmocka_unit_test(test_batches_are_parsed),
        cmocka_unit_test(test_ids_of_blocks_are_parsed),
        cmocka_unit_test(test_names_and_executors_are_parsed),
        cmocka_unit_test(test_a_diagnosis_is_parsed),
        cmocka_unit_test(test_bytes_after_a_message_are_ignored),
        cmocka_unit_test(test_a_shorter_message_is_refused),
        cmocka_unit_test(test_invalid_messages_are_refused),
        cmocka_unit_test(test_messages_for_others_are_refused_in_words),
        cmocka_unit_test(test_replies_have_the_bytes_of_spark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
