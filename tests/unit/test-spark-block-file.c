/* SPDX-License-Identifier: Apache-2.0 */

/* Blocks in the files of executors: which directories may be registered, which parts are found, and which files that a
 * container has put in their place are refused. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "open-descriptors.h"
#include "spark-fixture.h"
#include "util/macros.h"

#define INDEX "shuffle_0_0_0.index"
#define DATA "shuffle_0_0_0.data"

static struct spark_fixture fixture;
static struct nm_spark_part part;
static unsigned n_open;

static int set_up(void **state)
{
    (void)state;
    spark_fixture_new(&fixture);
    spark_fixture_map(&fixture, (const char *const[]){"first", "", "the third", NULL});
    part = (struct nm_spark_part){.fd = -EBADF};
    n_open = open_descriptors();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nm_close(part.fd);
    assert_int_equal(open_descriptors(), n_open);
    spark_fixture_done(&fixture);
    return 0;
}

static int find(int32_t first, int32_t end)
{
    const struct nm_spark_block block = {NM_SPARK_BLOCK_SHUFFLE, 0, 0, first, end};

    part.fd = nm_close(part.fd);
    return nm_spark_block_open(&fixture.lookup, &block, &part);
}

static int find_rdd(int32_t set, int64_t partition)
{
    const struct nm_spark_block block = {.kind = NM_SPARK_BLOCK_RDD, .set = set, .part = partition};

    part.fd = nm_close(part.fd);
    return nm_spark_block_open(&fixture.lookup, &block, &part);
}

static void assert_part(const char *expected)
{
    char text[64] = "";

    assert_int_equal(part.bytes, strlen(expected));
    assert_int_equal(pread(part.fd, text, part.bytes, (off_t)part.start), part.bytes);
    assert_string_equal(text, expected);
}

/* ---- what is found ------------------------------------------------------------------------ */

static void test_blocks_are_found(void **state)
{
    (void)state;
    assert_int_equal(find(0, 1), 0);
    assert_part("first");
    assert_int_equal(find(2, 3), 0);
    assert_part("the third");
    assert_int_equal(find(0, 3), 0);
    assert_part("firstthe third");
    spark_fixture_write(&fixture, "rdd_7_8", "cached", 6);
    assert_int_equal(find_rdd(7, 8), 0);
    assert_part("cached");
}

static void test_an_empty_block_needs_no_data(void **state)
{
    (void)state;
    assert_int_equal(find(1, 2), 0);
    assert_int_equal(part.bytes, 0);
    assert_int_equal(unlink(spark_fixture_path(&fixture, DATA)), 0);
    assert_int_equal(find(1, 2), 0);
    assert_int_equal(part.bytes, 0);
    assert_int_equal(find(0, 0), 0);
    assert_int_equal(part.bytes, 0);
}

static void test_missing_blocks_are_reported(void **state)
{
    (void)state;
    assert_int_equal(find(3, 4), -ERANGE);
    assert_int_equal(find(0, 4), -ERANGE);
    assert_int_equal(find(INT32_MAX - 1, INT32_MAX), -ERANGE);
    assert_int_equal(find_rdd(7, 9), -ENOENT);
    assert_int_equal(unlink(spark_fixture_path(&fixture, DATA)), 0);
    assert_int_equal(find(0, 1), -ENOENT);
    assert_int_equal(unlink(spark_fixture_path(&fixture, INDEX)), 0);
    assert_int_equal(find(0, 1), -ENOENT);
    fixture.dirs[0].local = fixture.dirs[1].local = 2; /* the node has fewer local directories now */
    assert_int_equal(find(0, 1), -ENOENT);
}

/* ---- descriptors of directories ------------------------------------------------------------- */

static struct nm_spark_open_dirs open_dirs;

static void test_lookups_share_descriptors_of_directories(void **state)
{
    (void)state;
    fixture.lookup.shared.open_dirs = &open_dirs;
    assert_int_equal(find(0, 1), 0);
    assert_in_range(open_dirs.n, 1, 2); /* the index and the data are in any of two directories */
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(find(2, 3), 0);
        assert_part("the third");
        assert_int_equal(open_descriptors(), n_open + open_dirs.n + 1);
    }
    part.fd = nm_close(part.fd);
    nm_spark_open_dirs_close(&open_dirs);
    assert_int_equal(open_descriptors(), n_open);
}

/* An executor may register other directories at any time. */
static void test_descriptors_of_other_directories_are_not_used(void **state)
{
    (void)state;
    fixture.lookup.shared.open_dirs = &open_dirs;
    assert_int_equal(find(0, 1), 0);
    (void)strcpy(fixture.dirs[0].name, "blockmgr-three");
    (void)strcpy(fixture.dirs[1].name, "blockmgr-four");
    assert_int_equal(find(0, 1), -ENOENT);
    spark_fixture_map(&fixture, (const char *const[]){"another", NULL});
    assert_int_equal(find(0, 1), 0);
    assert_part("another");
    nm_spark_open_dirs_close(&open_dirs);
}

static void test_there_are_few_descriptors_of_directories(void **state)
{
    char text[16];

    (void)state;
    fixture.lookup.shared.open_dirs = &open_dirs;
    for (unsigned i = 0; i < 3 * NM_SPARK_OPEN_DIRS_MAX; i++) {
        (void)snprintf(text, sizeof text, "blockmgr-%u", i);
        (void)strcpy(fixture.dirs[0].name, text);
        (void)strcpy(fixture.dirs[1].name, text);
        spark_fixture_map(&fixture, (const char *const[]){text, NULL});
        assert_int_equal(find(0, 1), 0);
        assert_part(text);
        assert_int_equal(open_descriptors(), n_open + open_dirs.n + 1);
    }
    assert_int_equal(open_dirs.n, NM_SPARK_OPEN_DIRS_MAX);
    nm_spark_open_dirs_close(&open_dirs);
}

/* ---- what containers have put there --------------------------------------------------------- */

static void test_invalid_indexes_are_refused(void **state)
{
    static const struct {
        int64_t offsets[4];
        size_t n;
        int result;
    } all[] = {
        {{0}, 0, -EBADMSG},
        {{0}, 1, -ERANGE},
        {{5, 0}, 2, -EBADMSG},
        {{-5, 0}, 2, -EBADMSG},
        {{0, -1}, 2, -EBADMSG},
        {{0, INT64_MAX}, 2, -EBADMSG},
        {{INT64_MIN, INT64_MIN + 5}, 2, -EBADMSG},
        {{0, 15}, 2, -EBADMSG},
        {{10, 15}, 2, -EBADMSG},
        {{0, 14}, 2, 0},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        spark_fixture_index(&fixture, INDEX, all[i].offsets, all[i].n);
        if (find(0, 1) != all[i].result)
            fail_msg("index %zu should have another result", i);
    }
    spark_fixture_write(&fixture, INDEX, "123456789", 9);
    assert_int_equal(find(0, 1), -EBADMSG);
}

static void test_links_are_not_followed(void **state)
{
    char *path = strdup(spark_fixture_path(&fixture, DATA)), *moved;

    (void)state;
    assert_non_null(path);
    assert_true(asprintf(&moved, "%s.moved", path) > 0);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(moved, path), 0);
    assert_int_equal(find(0, 1), -ELOOP);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0644), 0);
    assert_int_equal(find(0, 1), -EPERM);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(find(0, 1), -EPERM);
    free(path);
    free(moved);
}

/* Replaces a directory on the way to the file by a link to it. `depth` names are after it in the path. */
static void replace_by_link(unsigned depth)
{
    char *path = strdup(spark_fixture_path(&fixture, DATA)), *moved;

    assert_non_null(path);
    while (depth-- > 0)
        *strrchr(path, '/') = '\0';
    assert_true(asprintf(&moved, "%s.moved", path) > 0);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(moved, path), 0);
    assert_true(find(0, 1) == -ELOOP || find(0, 1) == -ENOENT);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rename(moved, path), 0);
    assert_int_equal(find(0, 1), 0);
    free(path);
    free(moved);
}

static void test_directories_that_are_links_are_refused(void **state)
{
    (void)state;
    for (unsigned depth = 1; depth <= 6; depth++) /* %02x, blockmgr-*, application, appcache, user, usercache */
        replace_by_link(depth);
}

static void test_files_of_other_users_are_refused(void **state)
{
    (void)state;
    spark_fixture_write(&fixture, "rdd_7_8", "cached", 6);
    fixture.application.uid++;
    assert_int_equal(find(0, 1), -EPERM);
    assert_int_equal(find_rdd(7, 8), -EPERM);
}

/* ---- registered directories ----------------------------------------------------------------- */

static struct nm_spark_dir dir;

/* Parses a path. LOCAL at its start stands for a local directory. */
static int parse(const char *text, const char *local)
{
    const bool has_local = text[0] == '@';
    char path[512];

    snprintf(path, sizeof path, "%s%s", has_local ? local : "", text + has_local);
    return nm_spark_dir_parse(&fixture.locals, &fixture.application, nm_bytes_of(path), &dir);
}

#define LOCAL "@"
#define BELOW "/usercache/alice/appcache/" SPARK_APP "/"

static void test_directories_of_the_application_are_accepted(void **state)
{
    (void)state;
    assert_int_equal(parse(LOCAL BELOW "blockmgr-5bb0fa64-4c91-4cf4-b2b3-8b3c3d5d6f0a", fixture.locals.names[1]), 0);
    assert_int_equal(dir.local, 1);
    assert_string_equal(dir.name, "blockmgr-5bb0fa64-4c91-4cf4-b2b3-8b3c3d5d6f0a");
    assert_int_equal(parse(LOCAL BELOW "blockmgr-x", fixture.locals.names[0]), 0);
    assert_int_equal(dir.local, 0);
}

static void test_local_directories_may_be_links(void **state)
{
    char link[96], slashes[100];

    (void)state;
    snprintf(link, sizeof link, "%s/link", fixture.dir);
    assert_int_equal(symlink(fixture.locals.names[1], link), 0);
    snprintf(slashes, sizeof slashes, "%s//", link);
    fixture.locals.names[0] = slashes;
    fixture.locals.n = 1;
    assert_int_equal(parse(LOCAL BELOW "blockmgr-x", link), 0);
    assert_int_equal(parse(LOCAL BELOW "blockmgr-x", fixture.local_names[1]), 0);
    assert_int_equal(dir.local, 0);
}

static void test_other_directories_are_refused(void **state)
{
    static const char *const all[] = {
        "", LOCAL, "/etc", "/etc" BELOW "blockmgr-x", LOCAL "/." BELOW "blockmgr-x",
        LOCAL "/../b" BELOW "blockmgr-x", LOCAL "/" BELOW "blockmgr-x", LOCAL BELOW, LOCAL BELOW "blockmgr-",
        LOCAL BELOW "blockmgr-x/", LOCAL BELOW "blockmgr-../x", LOCAL BELOW "blockmgr-x.y",
        LOCAL BELOW "blockmgr-x y", LOCAL BELOW "x", LOCAL BELOW "..", "blockmgr-x",
        LOCAL BELOW "../" SPARK_APP "/blockmgr-x", LOCAL "/usercache/bob/appcache/" SPARK_APP "/blockmgr-x",
        LOCAL "/usercache/alice/appcache/application_1_0002/blockmgr-x", LOCAL "/x" BELOW "blockmgr-x",
        "." BELOW "blockmgr-x", BELOW "blockmgr-x",
        LOCAL BELOW "blockmgr-5bb0fa64-4c91-4cf4-b2b3-8b3c3d5d6f0a-5bb0fa64-4c91-4cf4-b2b3",
    };
    struct nm_bytes path;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        if (parse(all[i], fixture.locals.names[0]) != -EINVAL)
            fail_msg("%s should be refused", all[i]);
    path = nm_bytes_of(spark_fixture_registered(&fixture, 0));
    path.size++; /* with the NUL */
    assert_int_equal(nm_spark_dir_parse(&fixture.locals, &fixture.application, path, &dir), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_blocks_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_empty_block_needs_no_data, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_blocks_are_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lookups_share_descriptors_of_directories, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors_of_other_directories_are_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_there_are_few_descriptors_of_directories, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_indexes_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_are_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directories_that_are_links_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_of_other_users_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directories_of_the_application_are_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_local_directories_may_be_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_directories_are_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
