/* SPDX-License-Identifier: Apache-2.0 */

/* Ids of Spark's blocks, and the names and places of their files. The places are those of Spark 3.5.6
 * (network-shuffle's ExecutorDiskUtils). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>

#include <cmocka.h>

#include "spark/block.h"
#include "util/macros.h"

static struct nm_spark_block block;
static struct nm_spark_file file;

static void test_ids_are_parsed(void **state)
{
    (void)state;
    assert_int_equal(nm_spark_block_parse(nm_bytes_of("shuffle_1_23_456"), &block), 0);
    assert_int_equal(block.kind, NM_SPARK_BLOCK_SHUFFLE);
    assert_int_equal(block.set, 1);
    assert_int_equal(block.part, 23);
    assert_int_equal(block.first, 456);
    assert_int_equal(block.end, 457);
    assert_int_equal(nm_spark_block_parse(nm_bytes_of("shuffle_2147483647_9223372036854775807_2147483646"), &block), 0);
    assert_int_equal(block.set, INT32_MAX);
    assert_int_equal(block.part, INT64_MAX);
    assert_int_equal(nm_spark_block_parse(nm_bytes_of("rdd_7_8"), &block), 0);
    assert_int_equal(block.kind, NM_SPARK_BLOCK_RDD);
    assert_int_equal(block.set, 7);
    assert_int_equal(block.part, 8);
}

static void test_other_ids_are_refused(void **state)
{
    static const char *const all[] = {
        "", "shuffle", "shuffle_", "shuffle_1", "shuffle_1_2", "shuffle_1_2_", "shuffle_1_2_3_4", "shuffle_1_2_3x",
        "shuffle_-1_2_3", "shuffle_+1_2_3", "shuffle_ 1_2_3", "shuffle_1__3", "shuffle_2147483648_2_3",
        "shuffle_1_9223372036854775808_3", "shuffle_1_2_2147483647", "shuffle_1_2_3/../4", "xshuffle_1_2_3", "rdd_1",
        "rdd_1_2_3", "rdd_1_2147483648", "rdd_99999999999999999999_1", "broadcast_1", "shuffle_1_2_0.data",
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        if (nm_spark_block_parse(nm_bytes_of(all[i]), &block) != -EBADMSG)
            fail_msg("%s should be refused", all[i]);
}

static void test_names_are_made_and_parsed(void **state)
{
    static const struct {
        struct nm_spark_file file;
        const char *name;
    } all[] = {
        {{NM_SPARK_FILE_DATA, 1, 23}, "shuffle_1_23_0.data"},
        {{NM_SPARK_FILE_INDEX, 1, 5000000000}, "shuffle_1_5000000000_0.index"},
        {{NM_SPARK_FILE_ADLER32, 0, 0}, "shuffle_0_0_0.checksum.ADLER32"},
        {{NM_SPARK_FILE_CRC32, 0, 0}, "shuffle_0_0_0.checksum.CRC32"},
        {{NM_SPARK_FILE_CRC32C, INT32_MAX, INT64_MAX}, "shuffle_2147483647_9223372036854775807_0.checksum.CRC32C"},
        {{NM_SPARK_FILE_RDD, 7, 8}, "rdd_7_8"},
    };
    char name[NM_SPARK_FILE_NAME_SIZE];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        nm_spark_file_name(&all[i].file, name);
        assert_string_equal(name, all[i].name);
        assert_int_equal(nm_spark_file_parse(nm_bytes_of(name), &file), 0);
        assert_int_equal(file.kind, all[i].file.kind);
        assert_int_equal(file.set, all[i].file.set);
        assert_int_equal(file.part, all[i].file.part);
    }
}

static void test_other_names_are_refused(void **state)
{
    static const char *const all[] = {
        "", ".", "..", "/etc/passwd", "shuffle_1_2_0", "shuffle_1_2_1.data", "shuffle_1_2_0.data/",
        "../shuffle_1_2_0.data",
        "shuffle_01_2_0.data", "shuffle_1_02_0.data", "rdd_1", "rdd_1_2.data", "rdd_01_2", "rdd_1_2147483648",
        "shuffle_1_2_0.checksum.MD5", "shuffle_1_2_0.checksum", "shuffle_1_2_0.datax", "broadcast_1",
        "shuffleMerged_application_1_0001_1_0_2.data",
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        if (nm_spark_file_parse(nm_bytes_of(all[i]), &file) != -EBADMSG)
            fail_msg("%s should be refused", all[i]);
    assert_int_equal(nm_spark_file_parse((struct nm_bytes){(const uint8_t *)"rdd_1_2\0", 8}, &file), -EBADMSG);
}

static void test_places_are_those_of_spark(void **state)
{
    static const struct {
        const char *name;
        uint32_t n_dirs, n_sub_dirs;
        struct nm_spark_place place;
    } all[] = {
        {"shuffle_1_23_0.data", 1, 64, {0, 0x2e}},
        {"shuffle_1_23_0.data", 3, 64, {2, 0x24}},
        {"shuffle_1_23_0.data", 2, 300, {0, 0x37}},
        {"shuffle_1_23_0.index", 1, 64, {0, 0x16}},
        {"shuffle_1_23_0.index", 3, 64, {2, 0x1c}},
        {"shuffle_1_23_0.index", 2, 300, {0, 0x8b}},
        {"shuffle_0_5000000000_0.data", 1, 64, {0, 0x37}},
        {"shuffle_0_5000000000_0.data", 3, 64, {2, 0x27}},
        {"shuffle_0_5000000000_0.data", 2, 300, {1, 0xb3}},
        {"rdd_7_8", 1, 64, {0, 0x23}},
        {"rdd_7_8", 3, 64, {0, 0x21}},
        {"rdd_7_8", 2, 300, {1, 0x109}},
        {"shuffle_0_0_0.checksum.ADLER32", 1, 64, {0, 0x34}},
        {"shuffle_0_0_0.checksum.ADLER32", 3, 64, {1, 0x11}},
        {"shuffle_0_0_0.checksum.ADLER32", 2, 300, {0, 0x32}},
        {"polygenelubricants", 1, 64, {0, 0x00}}, /* a hash without an absolute value */
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        const struct nm_spark_place p = nm_spark_file_place(all[i].name, all[i].n_dirs, all[i].n_sub_dirs);

        if (p.dir != all[i].place.dir || p.sub_dir != all[i].place.sub_dir)
            fail_msg("%s of %u directories: %u/%02x", all[i].name, all[i].n_dirs, p.dir, p.sub_dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_parsed),
        cmocka_unit_test(test_other_ids_are_refused),
        cmocka_unit_test(test_names_are_made_and_parsed),
        cmocka_unit_test(test_other_names_are_refused),
        cmocka_unit_test(test_places_are_those_of_spark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
