/* SPDX-License-Identifier: Apache-2.0 */

/* Data files that stay open for further blocks: how long, for which blocks, and how many. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "open-descriptors.h"
#include "spark/data-files.h"

#define NOW_USEC UINT64_C(1000000000)
#define MAX 3u

static struct nm_spark_data_files *files;
static struct nm_spark_application application;
static struct nm_spark_dir dir;
static struct nm_spark_data_key key;
static unsigned n_open;

static int set_up(void **state)
{
    (void)state;
    application = (struct nm_spark_application){"application_1_0001", "alice", 1000};
    dir = (struct nm_spark_dir){1, "blockmgr-one"};
    key = (struct nm_spark_data_key){&application, &dir, 2, 3, 4};
    n_open = open_descriptors();
    assert_int_equal(nm_spark_data_files_new(MAX, &files), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    files = nm_spark_data_files_free(files);
    assert_int_equal(open_descriptors(), n_open);
    return 0;
}

/* Adds a file, whose size identifies it. */
static struct nm_spark_data_file *add(off_t size, uint64_t now_usec)
{
    const struct stat st = {.st_size = size};
    int fd = memfd_create("data", MFD_CLOEXEC);
    struct nm_spark_data_file *file;

    assert_true(fd >= 0);
    file = nm_spark_data_files_add(files, &key, fd, &st, now_usec);
    if (file)
        assert_int_equal(file->fd, fd);
    else
        assert_int_equal(close(fd), 0);
    return file;
}

/* Returns the size of the file that is open for the key, or -1. */
static off_t find(uint64_t now_usec)
{
    struct nm_spark_data_file *file = nm_spark_data_files_get(files, &key, now_usec);
    const off_t size = file ? file->st.st_size : -1;

    nm_spark_data_file_release(files, file);
    return size;
}

static void test_a_file_is_used_again_for_a_short_time(void **state)
{
    (void)state;
    assert_int_equal(find(NOW_USEC), -1);
    nm_spark_data_file_release(files, add(10, NOW_USEC));
    assert_int_equal(open_descriptors(), n_open + 1);
    assert_int_equal(find(NOW_USEC), 10);
    assert_int_equal(find(NOW_USEC + NM_SPARK_DATA_FILE_USEC - 1), 10);
    assert_int_equal(find(NOW_USEC + NM_SPARK_DATA_FILE_USEC), -1);
    nm_spark_data_file_release(files, add(11, NOW_USEC + NM_SPARK_DATA_FILE_USEC));
    assert_int_equal(find(NOW_USEC + NM_SPARK_DATA_FILE_USEC), 11);
}

static void test_files_are_closed_after_their_time(void **state)
{
    (void)state;
    nm_spark_data_file_release(files, add(10, NOW_USEC));
    key.part++;
    nm_spark_data_file_release(files, add(11, NOW_USEC + 1));
    nm_spark_data_files_expire(files, NOW_USEC + NM_SPARK_DATA_FILE_USEC - 1);
    assert_int_equal(open_descriptors(), n_open + 2);
    nm_spark_data_files_expire(files, NOW_USEC + NM_SPARK_DATA_FILE_USEC);
    assert_int_equal(open_descriptors(), n_open + 1);
    assert_int_equal(find(NOW_USEC + 1), 11);
    nm_spark_data_files_expire(files, NOW_USEC + 1 + NM_SPARK_DATA_FILE_USEC);
    assert_int_equal(open_descriptors(), n_open);
}

static void test_a_file_in_use_is_closed_by_its_last_user(void **state)
{
    struct nm_spark_data_file *first = add(10, NOW_USEC), *second = nm_spark_data_files_get(files, &key, NOW_USEC);

    (void)state;
    assert_ptr_equal(first, second);
    nm_spark_data_files_expire(files, UINT64_MAX);
    assert_int_equal(find(NOW_USEC), -1);
    assert_int_equal(open_descriptors(), n_open + 1);
    nm_spark_data_file_release(files, first);
    assert_true(fcntl(second->fd, F_GETFD) >= 0);
    nm_spark_data_file_release(files, second);
    assert_int_equal(open_descriptors(), n_open);
}

static void test_the_number_of_files_is_limited(void **state)
{
    const uint64_t later_usec = NOW_USEC + NM_SPARK_DATA_FILE_USEC;
    struct nm_spark_data_file *used = add(0, NOW_USEC);

    (void)state;
    for (unsigned i = 1; i < MAX; i++) {
        key.part++;
        nm_spark_data_file_release(files, add(i, NOW_USEC));
    }
    key.part++;
    assert_null(add(9, later_usec - 1));
    assert_int_equal(find(NOW_USEC), -1);
    for (unsigned i = 1; i < MAX; i++) { /* one is still in use */
        key.part++;
        nm_spark_data_file_release(files, add(10 + i, later_usec));
        assert_int_equal(find(later_usec), 10 + i);
    }
    key.part++;
    assert_null(add(9, later_usec));
    nm_spark_data_file_release(files, used);
    nm_spark_data_file_release(files, add(20, later_usec));
    assert_int_equal(find(later_usec), 20);
}

static void test_other_keys_have_other_files(void **state)
{
    struct nm_spark_application other_application = application;
    struct nm_spark_dir other_dir = dir;

    (void)state;
    nm_spark_data_file_release(files, add(10, NOW_USEC));
    key.application = &other_application;
    key.dir = &other_dir;
    assert_int_equal(find(NOW_USEC), 10);
    (void)strcpy(other_application.id, "application_1_0002");
    assert_int_equal(find(NOW_USEC), -1);
    other_application = application;
    (void)strcpy(other_application.user, "bob");
    assert_int_equal(find(NOW_USEC), -1);
    other_application = application;
    other_application.uid++;
    assert_int_equal(find(NOW_USEC), -1);
    other_application = application;
    other_dir.local++;
    assert_int_equal(find(NOW_USEC), -1);
    other_dir = dir;
    (void)strcpy(other_dir.name, "blockmgr-two");
    assert_int_equal(find(NOW_USEC), -1);
    other_dir = dir;
    key.sub_dir++;
    assert_int_equal(find(NOW_USEC), -1);
    key.sub_dir--;
    key.set++;
    assert_int_equal(find(NOW_USEC), -1);
    key.set--;
    key.part += INT64_C(1) << 40;
    assert_int_equal(find(NOW_USEC), -1);
    key.part -= INT64_C(1) << 40;
    assert_int_equal(find(NOW_USEC), 10);
}

static void test_without_files_none_stays_open(void **state)
{
    const struct stat st = {};

    (void)state;
    assert_null(nm_spark_data_files_add(NULL, &key, STDIN_FILENO, &st, NOW_USEC));
    assert_null(nm_spark_data_files_get(NULL, &key, NOW_USEC));
    assert_null(nm_spark_data_file_release(NULL, NULL));
    nm_spark_data_files_expire(NULL, NOW_USEC);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_file_is_used_again_for_a_short_time),
        TEST(test_files_are_closed_after_their_time),
        TEST(test_a_file_in_use_is_closed_by_its_last_user),
        TEST(test_the_number_of_files_is_limited),
        TEST(test_other_keys_have_other_files),
        TEST(test_without_files_none_stays_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
