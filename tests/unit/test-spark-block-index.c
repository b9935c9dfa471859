/* SPDX-License-Identifier: Apache-2.0 */

/* Indexes that are kept in memory: they are read once, and never used for other files than those that they were read
 * for. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>

#include <cmocka.h>

#include "open-descriptors.h"
#include "spark-fixture.h"
#include "util/clock.h"
#include "util/macros.h"

#define INDEX "shuffle_0_0_0.index"
#define DATA "shuffle_0_0_0.data"
/* Time until the index of a new file may be kept. */
#define SETTLED_USEC (100 * NM_USEC_PER_MSEC)

static struct spark_fixture fixture;
static struct nm_spark_part part;
static unsigned n_open;
static uint64_t written_usec;

static int set_up(void **state)
{
    (void)state;
    spark_fixture_new(&fixture);
    n_open = open_descriptors();
    assert_int_equal(nm_shuffle_index_cache_new(&fixture.lookup.shared.indexes), 0);
    part = (struct nm_spark_part){.fd = -EBADF};
    written_usec = nm_now_usec();
    spark_fixture_map(&fixture, (const char *const[]){"first", "", "the third", NULL});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nm_spark_part_close(&part);
    fixture.lookup.shared.data_files = nm_spark_data_files_free(fixture.lookup.shared.data_files);
    fixture.lookup.shared.indexes = nm_shuffle_index_cache_free(fixture.lookup.shared.indexes);
    assert_int_equal(open_descriptors(), n_open);
    spark_fixture_done(&fixture);
    return 0;
}

static int find_in(int64_t map, int32_t first, int32_t end)
{
    const struct nm_spark_block block = {NM_SPARK_BLOCK_SHUFFLE, 0, map, first, end};

    nm_spark_part_close(&part);
    return nm_spark_block_open(&fixture.lookup, &block, &part);
}

static int find(int32_t first, int32_t end)
{
    return find_in(0, first, end);
}

static void assert_part(const char *expected)
{
    char text[64] = "";

    assert_int_equal(part.bytes, strlen(expected));
    assert_int_equal(pread(part.fd, text, part.bytes, (off_t)part.start), part.bytes);
    assert_string_equal(text, expected);
}

static void settle(void)
{
    assert_int_equal(usleep(SETTLED_USEC + 20000), 0);
}

static void remove_file(const char *name)
{
    assert_int_equal(unlink(spark_fixture_path(&fixture, name)), 0);
}

/* Without its file, only an index in memory can be used. */
static void test_an_index_is_read_once(void **state)
{
    (void)state;
    settle();
    assert_int_equal(find(0, 1), 0);
    remove_file(INDEX);
    assert_int_equal(find(2, 3), 0);
    assert_part("the third");
    assert_int_equal(find(0, 3), 0);
    assert_part("firstthe third");
    assert_int_equal(find(1, 2), 0);
    assert_int_equal(part.bytes, 0);
    assert_int_equal(find(3, 4), -ERANGE);
    assert_int_equal(find(INT32_MAX - 1, INT32_MAX), -ERANGE);
}

/* Replaces a file as Spark does. */
static void replace(const char *name, const char *by)
{
    char *from = strdup(spark_fixture_path(&fixture, by));

    assert_non_null(from);
    assert_int_equal(rename(from, spark_fixture_path(&fixture, name)), 0);
    free(from);
}

static void test_replaced_files_are_read_again(void **state)
{
    (void)state;
    settle();
    assert_int_equal(find(0, 1), 0);
    spark_fixture_index(&fixture, INDEX ".new", (const int64_t[]){0, 3, 14}, 3);
    spark_fixture_write(&fixture, DATA ".new", "newfurther parts", 14); /* as long as before */
    replace(INDEX, INDEX ".new");
    replace(DATA, DATA ".new");
    assert_int_equal(find(0, 1), 0);
    assert_part("new");
    assert_int_equal(find(1, 2), 0);
    assert_part("further par");
    assert_int_equal(find(2, 3), -ERANGE);
}

static void test_a_file_that_has_changed_is_read_again(void **state)
{
    (void)state;
    settle();
    assert_int_equal(find(0, 1), 0);
    spark_fixture_map(&fixture, (const char *const[]){"one", "two", NULL});
    assert_int_equal(find(1, 2), 0);
    assert_part("two");
    remove_file(DATA);
    assert_int_equal(find(1, 2), -ENOENT);
}

/* The times of a file that has just been changed would not show another change. */
static void test_indexes_of_new_files_are_not_kept(void **state)
{
    (void)state;
    assert_int_equal(find(0, 1), 0);
    assert_part("first");
    if (nm_now_usec() - written_usec >= SETTLED_USEC)
        skip();
    remove_file(INDEX);
    assert_int_equal(find(0, 1), -ENOENT);
}

/* While Spark replaces both files, the index of one map may be beside the data of another. */
static void test_an_index_that_does_not_fit_is_not_kept(void **state)
{
    (void)state;
    spark_fixture_write(&fixture, DATA, "firstthe third and more", 23);
    settle();
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(find(2, 3), 0);
        assert_part("the third");
    }
    remove_file(INDEX);
    assert_int_equal(find(2, 3), -ENOENT);
}

/* A user can give two maps the same data file. */
static void test_hard_links_have_their_own_indexes(void **state)
{
    char *data = strdup(spark_fixture_path(&fixture, DATA));

    (void)state;
    assert_non_null(data);
    assert_int_equal(link(data, spark_fixture_path(&fixture, "shuffle_0_1_0.data")), 0);
    spark_fixture_index(&fixture, "shuffle_0_1_0.index", (const int64_t[]){0, 2, 14}, 3);
    settle();
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(find_in(0, 0, 1), 0);
        assert_part("first");
        assert_int_equal(find_in(1, 0, 1), 0);
        assert_part("fi");
    }
    free(data);
}

static void test_invalid_indexes_are_refused(void **state)
{
    static const struct {
        int64_t offsets[4];
        size_t n;
        int result;
    } all[] = {
        {{0}, 0, -EBADMSG}, {{14}, 1, -ERANGE}, {{5, 0, 14}, 3, -EBADMSG}, {{-5, 0, 14}, 3, -EBADMSG},
        {{0, -1, 14}, 3, -EBADMSG}, {{0, 15, 14}, 3, -EBADMSG}, {{INT64_MIN, 1, 14}, 3, -EBADMSG}, {{0, 14}, 2, 0},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        spark_fixture_map(&fixture, (const char *const[]){"firstthe third", NULL});
        spark_fixture_index(&fixture, INDEX, all[i].offsets, all[i].n);
        settle();
        for (unsigned k = 0; k < 2; k++) /* from the file, and perhaps from memory */
            if (find(0, 1) != all[i].result)
                fail_msg("index %zu should have another result", i);
    }
}

/* ---- the account -------------------------------------------------------------------------- */

static uint64_t spent_bytes;
static bool may_spend;

static bool spend(uint64_t index_bytes, void *userdata)
{
    (void)userdata;
    spent_bytes += index_bytes;
    return may_spend;
}

static void test_the_account_pays_for_an_index_once(void **state)
{
    const struct nm_spark_account account = {.spend = spend};

    (void)state;
    fixture.lookup.shared.account = &account;
    spent_bytes = 0;
    may_spend = false;
    settle();
    assert_int_equal(find(0, 1), 0);
    assert_part("first");
    assert_int_equal(spent_bytes, 32);
    may_spend = true;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(find(0, 1), 0);
    assert_int_equal(spent_bytes, 64); /* the first time, it was refused */
}

/* ---- data files --------------------------------------------------------------------------- */

static void test_a_data_file_is_opened_once(void **state)
{
    (void)state;
    assert_int_equal(nm_spark_data_files_new(2, &fixture.lookup.shared.data_files), 0);
    assert_int_equal(find(0, 1), 0);
    assert_part("first");
    remove_file(DATA);
    assert_int_equal(find(2, 3), 0);
    assert_part("the third");
    assert_int_equal(open_descriptors(), n_open + 1);
    assert_int_equal(usleep(NM_SPARK_DATA_FILE_USEC), 0);
    assert_int_equal(find(2, 3), -ENOENT);
}

static void test_a_part_may_have_its_own_descriptor(void **state)
{
    (void)state;
    assert_int_equal(nm_spark_data_files_new(2, &fixture.lookup.shared.data_files), 0);
    assert_int_equal(find(0, 1), 0);
    assert_non_null(part.file);
    nm_spark_part_own(&part);
    assert_null(part.file);
    nm_spark_data_files_expire(fixture.lookup.shared.data_files, UINT64_MAX);
    assert_part("first");
    assert_int_equal(open_descriptors(), n_open + 1);
    nm_spark_part_own(&part);
    assert_part("first");
    nm_spark_part_close(&part);
    assert_int_equal(open_descriptors(), n_open);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_index_is_read_once),
        TEST(test_replaced_files_are_read_again),
        TEST(test_a_file_that_has_changed_is_read_again),
        TEST(test_indexes_of_new_files_are_not_kept),
        TEST(test_an_index_that_does_not_fit_is_not_kept),
        TEST(test_hard_links_have_their_own_indexes),
        TEST(test_invalid_indexes_are_refused),
        TEST(test_the_account_pays_for_an_index_once),
        TEST(test_a_data_file_is_opened_once),
        TEST(test_a_part_may_have_its_own_descriptor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
