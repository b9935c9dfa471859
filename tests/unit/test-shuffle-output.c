/* SPDX-License-Identifier: Apache-2.0 */

/* Outputs of map tasks: which files are used, and which files that a container has put in their place are refused. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <zlib.h>

#include "open-descriptors.h"
#include "shuffle-fixture.h"
#include "util/error.h"
#include "util/fileio.h"

static struct shuffle_fixture fixture;
static struct nm_shuffle_dirs dirs;
static const struct nm_shuffle_lookup lookup = {.dirs = &dirs, .job = &fixture.job};
static struct nm_shuffle_output output;

static int set_up(void **state)
{
    (void)state;
    shuffle_fixture_new(&fixture);
    dirs = (struct nm_shuffle_dirs){
        .names = {shuffle_fixture_local(&fixture, "a"), shuffle_fixture_local(&fixture, "b"), "/no/such/directory"},
        .n = 3};
    shuffle_fixture_output(&fixture, "b", ATTEMPT(0), (const char *const[]){"first", "", "the third", NULL});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free((char *)dirs.names[0]);
    free((char *)dirs.names[1]);
    shuffle_fixture_done(&fixture);
    return 0;
}

static struct nm_shuffle_lengths lengths[3];

static int find_range(uint32_t first, uint32_t n)
{
    return nm_shuffle_output_find(&lookup, nm_bytes_of(ATTEMPT(0)), (struct nm_shuffle_range){first, n}, lengths,
                                  &output, NULL);
}

static int find(uint32_t reduce)
{
    return find_range(reduce, 1);
}

static const char *path_of(const char *name)
{
    return shuffle_fixture_path(&fixture, "b", ATTEMPT(0), name);
}

static void test_an_output_is_found(void **state)
{
    char text[16] = "";
    int fd;

    (void)state;
    assert_int_equal(find(2), 0);
    assert_int_equal(output.dir, 1);
    assert_int_equal(output.part.start_bytes, 5);
    assert_int_equal(output.part.raw_bytes, 18);
    assert_int_equal(output.part.part_bytes, 9);
    assert_int_equal(nm_shuffle_output_open(&lookup, nm_bytes_of(ATTEMPT(0)), &output, &fd), 0);
    assert_int_equal(pread(fd, text, 9, 5), 9);
    assert_string_equal(text, "the third");
    nm_close(fd);
    assert_int_equal(find(1), 0);
    assert_int_equal(output.part.part_bytes, 0);
    assert_int_equal(find(3), -ERANGE);
    assert_int_equal(find(UINT32_MAX), -ERANGE);
    assert_int_equal(nm_shuffle_output_find(&lookup, nm_bytes_of(ATTEMPT(1)), (struct nm_shuffle_range){0, 1}, lengths,
                                            &output, NULL),
                     -ENOENT);
}

/* The lookup returns the data file open, also if its index is in another directory. */
static void test_the_data_file_is_opened_once(void **state)
{
    char text[16] = "", old[512];
    int fd = -1;

    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        assert_int_equal(nm_shuffle_output_find(&lookup, nm_bytes_of(ATTEMPT(0)), (struct nm_shuffle_range){2, 1},
                                                lengths, &output, &fd), 0);
        assert_int_equal(pread(fd, text, 9, 5), 9);
        assert_string_equal(text, "the third");
        nm_close(fd);
        snprintf(old, sizeof old, "%s", path_of("file.out.index"));
        assert_int_equal(nm_mkdir_p(shuffle_fixture_path(&fixture, "a", ATTEMPT(0), ""), 0755), 0);
        if (round == 0)
            assert_int_equal(rename(old, shuffle_fixture_path(&fixture, "a", ATTEMPT(0), "file.out.index")), 0);
    }
}

static int find_kept(struct nm_shuffle_job_dirs *d, const char *attempt)
{
    const struct nm_shuffle_lookup kept = {.dirs = &dirs, .job = &fixture.job, .job_dirs = d};

    return nm_shuffle_output_find(&kept, nm_bytes_of(attempt), (struct nm_shuffle_range){0, 1}, lengths, &output, NULL);
}

/* Directories that stay open make no difference: new outputs are found, and links are not followed. */
static void test_outputs_are_found_in_directories_that_stay_open(void **state)
{
    struct nm_shuffle_job_dirs d = {};
    const unsigned before = open_descriptors();
    char moved[PATH_MAX];

    (void)state;
    assert_int_equal(find_kept(&d, ATTEMPT(0)), 0);
    assert_int_equal(open_descriptors(), before + 1); /* of the two directories that exist, one has outputs */
    assert_int_equal(find_kept(&d, ATTEMPT(1)), -ENOENT);
    shuffle_fixture_output(&fixture, "b", ATTEMPT(1), (const char *const[]){"second", NULL});
    assert_int_equal(find_kept(&d, ATTEMPT(1)), 0);
    assert_int_equal(output.dir, 1);
    shuffle_fixture_output(&fixture, "a", ATTEMPT(2), (const char *const[]){"third", NULL});
    assert_int_equal(find_kept(&d, ATTEMPT(2)), 0);
    assert_int_equal(output.dir, 0);
    assert_int_equal(open_descriptors(), before + 2);
    snprintf(moved, sizeof moved, "%s/moved", fixture.dir);
    assert_int_equal(rename(shuffle_fixture_path(&fixture, "b", ATTEMPT(1), ""), moved), 0);
    assert_int_equal(symlink(moved, shuffle_fixture_path(&fixture, "b", ATTEMPT(1), "")), 0);
    assert_int_equal(find_kept(&d, ATTEMPT(1)), -ELOOP);
    nm_shuffle_job_dirs_close(&d);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(find_kept(&d, ATTEMPT(0)), 0); /* they can be opened again */
    nm_shuffle_job_dirs_close(&d);
}

static void test_a_range_of_parts_is_found(void **state)
{
    (void)state;
    assert_int_equal(find_range(0, 3), 0);
    assert_int_equal(output.part.start_bytes, 0);
    assert_int_equal(output.part.part_bytes, 14);
    assert_int_equal(lengths[0].raw_bytes, 10);
    assert_int_equal(lengths[0].part_bytes, 5);
    assert_int_equal(lengths[1].part_bytes, 0);
    assert_int_equal(lengths[2].part_bytes, 9);
    assert_int_equal(find_range(1, 2), 0); /* the first part of the range is empty */
    assert_int_equal(output.part.start_bytes, 5);
    assert_int_equal(output.part.part_bytes, 9);
    assert_int_equal(lengths[1].part_bytes, 9);
    assert_int_equal(find_range(1, 3), -ERANGE);
    assert_int_equal(find_range(3, 1), -ERANGE);
    assert_int_equal(find_range(2, UINT32_MAX), -ERANGE);
}

/* The lengths are those of the index that matches the data, although the index of another output was read before. */
static void test_a_range_uses_the_index_that_matches_its_data(void **state)
{
    (void)state;
    shuffle_fixture_output(&fixture, "a", ATTEMPT(0), (const char *const[]){"0123456789", "0123456789", "", NULL});
    assert_int_equal(unlink(shuffle_fixture_path(&fixture, "a", ATTEMPT(0), "file.out")), 0);
    assert_int_equal(find_range(0, 3), 0);
    assert_int_equal(output.dir, 1);
    assert_int_equal(output.part.part_bytes, 14);
    assert_int_equal(lengths[0].part_bytes, 5);
    assert_int_equal(lengths[1].part_bytes, 0);
    assert_int_equal(lengths[2].part_bytes, 9);
}

/* A change of any single byte of an index is detected. */
static void test_a_flipped_byte_of_an_index_is_detected(void **state)
{
    (void)state;
    for (long at = 0; at < 3 * 24 + 8; at++) {
        uint8_t good, bad;
        FILE *f = fopen(path_of("file.out.index"), "r");

        assert_non_null(f);
        assert_int_equal(fseek(f, at, SEEK_SET), 0);
        good = (uint8_t)fgetc(f);
        fclose(f);
        bad = good ^ 0x10;
        shuffle_fixture_poke(path_of("file.out.index"), at, &bad, 1);
        assert_int_equal(find(0), -EBADMSG);
        shuffle_fixture_poke(path_of("file.out.index"), at, &good, 1);
        assert_int_equal(find(0), 0);
    }
}

static void test_a_file_shorter_than_its_index_is_refused(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(find(2), 0);
    assert_int_equal(truncate(path_of("file.out"), 13), 0);
    assert_int_equal(nm_shuffle_output_open(&lookup, nm_bytes_of(ATTEMPT(0)), &output, &fd), -EBADMSG);
    assert_int_equal(find(2), -EBADMSG);
    assert_int_equal(find(0), 0);
    assert_int_equal(truncate(path_of("file.out.index"), 79), 0);
    assert_int_equal(find(0), -EBADMSG);
    assert_int_equal(truncate(path_of("file.out.index"), 0), 0);
    assert_int_equal(find(0), -EBADMSG);
}

/* An index with a valid checksum may still refer to bytes before the beginning or after the end of the data. */
static void test_an_index_with_wrong_offsets_is_refused(void **state)
{
    static const int64_t lies[][3] = {{-8, 1, 8},        {0, 1, -1}, {INT64_MAX, 1, 8},
                                      {0, 1, INT64_MAX}, {0, -1, 5}, {10, 1, 5}};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(lies); i++) {
        uint64_t index[4] = {htobe64((uint64_t)lies[i][0]), htobe64((uint64_t)lies[i][1]),
                             htobe64((uint64_t)lies[i][2])};

        index[3] = htobe64(crc32(0, (const Bytef *)index, 24));
        assert_int_equal(truncate(path_of("file.out.index"), sizeof index), 0);
        shuffle_fixture_poke(path_of("file.out.index"), 0, index, sizeof index);
        assert_int_equal(find(0), -EBADMSG);
    }
}

static void test_symlinks_to_an_output_are_not_followed(void **state)
{
    char elsewhere[512];

    (void)state;
    snprintf(elsewhere, sizeof elsewhere, "%s", path_of("file.out"));
    assert_int_equal(rename(elsewhere, path_of("other")), 0);
    assert_int_equal(symlink("other", elsewhere), 0);
    assert_int_equal(find(0), -ELOOP);
}

static void test_a_symlink_in_place_of_a_directory_is_refused(void **state)
{
    char old[512];

    (void)state;
    snprintf(old, sizeof old, "%s", path_of(""));
    assert_int_equal(rename(old, shuffle_fixture_path(&fixture, "b", "moved", "")), 0);
    assert_int_equal(symlink("moved", old), 0);
    assert_int_equal(find(0), -ELOOP);
}

/* Opening a FIFO without O_NONBLOCK would wait for a writer. */
static void test_a_fifo_is_refused_without_a_wait(void **state)
{
    (void)state;
    assert_int_equal(unlink(path_of("file.out.index")), 0);
    assert_int_equal(mkfifo(path_of("file.out.index"), 0644), 0);
    assert_int_equal(find(0), -EPERM);
}

/* A file of another user is refused, also if it is a hard link to that user's file. */
static void test_a_file_of_another_user_is_refused(void **state)
{
    (void)state;
    fixture.job.uid++;
    assert_int_equal(find(0), -EPERM);
}

/* The first directory contains an invalid file with the name of the output. The second directory contains the
 * output. */
static void test_an_output_is_also_found_in_the_second_directory(void **state)
{
    (void)state;
    shuffle_fixture_output(&fixture, "a", ATTEMPT(0), (const char *const[]){"wrong", NULL});
    assert_int_equal(truncate(shuffle_fixture_path(&fixture, "a", ATTEMPT(0), "file.out"), 1), 0);
    assert_int_equal(find(0), 0);
    assert_int_equal(output.dir, 1);
}

/* Moves either the data file or the index file to the other directory. */
static void move_to_a(const char *name)
{
    char old[512];

    snprintf(old, sizeof old, "%s", path_of(name));
    assert_int_equal(nm_mkdir_p(shuffle_fixture_path(&fixture, "a", ATTEMPT(0), ""), 0755), 0);
    assert_int_equal(rename(old, shuffle_fixture_path(&fixture, "a", ATTEMPT(0), name)), 0);
}

/* MapReduce may put data and index on different disks of a node. */
static void test_data_and_index_may_be_in_two_directories(void **state)
{
    char text[16] = "";
    int fd;

    (void)state;
    move_to_a("file.out.index");
    assert_int_equal(find(2), 0);
    assert_int_equal(output.dir, 1);
    assert_int_equal(nm_shuffle_output_open(&lookup, nm_bytes_of(ATTEMPT(0)), &output, &fd), 0);
    assert_int_equal(pread(fd, text, 9, 5), 9);
    assert_string_equal(text, "the third");
    nm_close(fd);
    assert_int_equal(find(3), -ERANGE);
    move_to_a("file.out");
    assert_int_equal(find(2), 0);
    assert_int_equal(output.dir, 0);
    assert_int_equal(rename(shuffle_fixture_path(&fixture, "a", ATTEMPT(0), "file.out.index"),
                            path_of("file.out.index")),
                     0);
    assert_int_equal(find(2), 0);
    assert_int_equal(output.dir, 0);
}

static void test_an_output_without_its_index_is_refused(void **state)
{
    (void)state;
    move_to_a("file.out.index");
    assert_int_equal(truncate(path_of("file.out"), 13), 0);
    assert_int_equal(find(2), -EBADMSG);
    assert_int_equal(unlink(path_of("file.out")), 0);
    assert_int_equal(find(2), -ENOENT);
}

/* A map writes its index last. A request may arrive before that, or its index may be lost. */
static void test_an_output_whose_index_is_missing_does_not_exist(void **state)
{
    (void)state;
    assert_int_equal(unlink(path_of("file.out.index")), 0);
    assert_int_equal(find(0), -ENOENT);
    assert_int_equal(symlink("other", path_of("file.out.index")), 0);
    assert_int_equal(find(0), -ELOOP);
}

/* A directory may appear or be replaced while nm-shuffle is running, for example by a mount. */
static void test_a_directory_that_appears_later_is_used(void **state)
{
    char old[512], new[512];

    (void)state;
    snprintf(old, sizeof old, "%s/b", fixture.dir);
    snprintf(new, sizeof new, "%s/c", fixture.dir);
    assert_int_equal(rename(old, new), 0);
    assert_int_equal(find(0), -ENOENT);
    dirs.names[2] = new;
    assert_int_equal(find(0), 0);
    assert_int_equal(output.dir, 2);
    assert_int_equal(rename(new, old), 0);
    assert_int_equal(find(0), 0);
    assert_int_equal(output.dir, 1);
}

static uint64_t spent_bytes;
static int answer;

static int on_spend(uint64_t bytes, void *userdata)
{
    assert_ptr_equal(userdata, &fixture);
    spent_bytes += bytes;
    return answer;
}

static int find_range_and_pay(uint32_t n)
{
    const struct nm_shuffle_account account = {on_spend, &fixture};
    const struct nm_shuffle_lookup paid = {.dirs = &dirs, .job = &fixture.job, .account = &account};

    spent_bytes = 0;
    return nm_shuffle_output_find(&paid, nm_bytes_of(ATTEMPT(0)), (struct nm_shuffle_range){0, n}, lengths, &output,
                                  NULL);
}

static int find_and_pay(void)
{
    return find_range_and_pay(1);
}

/* The cost of checking an index is charged before the index is read. It is charged only once until the file changes. */
static void test_an_index_is_checked_once_until_it_changes(void **state)
{
    struct stat before, after;
    uint8_t byte = 1;

    (void)state;
    assert_int_equal(nm_shuffle_index_cache_new(&dirs.index_cache), 0);
    answer = -EBUSY;
    assert_int_equal(find_and_pay(), -EBUSY);
    assert_int_equal(find_and_pay(), -EBUSY);
    assert_int_equal(spent_bytes, 3 * 24 + 8);
    answer = 0;
    assert_int_equal(find_and_pay(), 0);
    assert_int_equal(spent_bytes, 3 * 24 + 8);
    assert_int_equal(find_and_pay(), 0);
    assert_int_equal(spent_bytes, 0);
    assert_int_equal(output.part.part_bytes, 5);
    assert_int_equal(find_range_and_pay(3), 0);
    assert_int_equal(spent_bytes, 2 * 24); /* the cost of the further records of the index */
    assert_int_equal(stat(path_of("file.out.index"), &before), 0);
    do { /* a file's timestamp may stay the same for some milliseconds */
        shuffle_fixture_poke(path_of("file.out.index"), 30, &byte, 1);
        assert_int_equal(stat(path_of("file.out.index"), &after), 0);
    } while (after.st_ctim.tv_sec == before.st_ctim.tv_sec && after.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
    assert_int_equal(find_and_pay(), -EBADMSG);
    assert_int_equal(spent_bytes, 3 * 24 + 8);
    assert_int_equal(find_and_pay(), -EBADMSG); /* the result of a failed check isn't remembered */
    assert_int_equal(spent_bytes, 3 * 24 + 8);
    nm_shuffle_index_cache_free(dirs.index_cache);
    dirs.index_cache = NULL;
}

/* Returns how many of the files with these inodes are remembered after all of them were added. The newest file always
 * is. */
static unsigned n_remembered(struct nm_shuffle_index_cache *cache, unsigned n, unsigned stride)
{
    struct stat st = {.st_dev = 7, .st_size = 24};
    unsigned n_known = 0;

    for (unsigned i = 0; i < n; i++) {
        st.st_ino = 1000 + (ino_t)i * stride;
        nm_shuffle_index_cache_add(cache, &st, NULL);
        assert_true(nm_shuffle_index_cache_has(cache, &st));
    }
    for (unsigned i = 0; i < n; i++) {
        st.st_ino = 1000 + (ino_t)i * stride;
        n_known += nm_shuffle_index_cache_has(cache, &st);
    }
    return n_known;
}

/* The number of remembered files is limited. Below the limit almost all are remembered, also if their inodes are at the
 * same place of different groups of ext4. */
static void test_the_number_of_remembered_files_is_limited(void **state)
{
    static const unsigned strides[] = {1, 3, 4, 256, 8192, 16384};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(strides); i++) {
        struct nm_shuffle_index_cache *cache;

        assert_int_equal(nm_shuffle_index_cache_new(&cache), 0);
        assert_true(n_remembered(cache, 3 * NM_SHUFFLE_CACHED_FILES_MAX, strides[i]) <= NM_SHUFFLE_CACHED_FILES_MAX);
        nm_shuffle_index_cache_free(cache);
        assert_int_equal(nm_shuffle_index_cache_new(&cache), 0);
        assert_true(n_remembered(cache, NM_SHUFFLE_CACHED_FILES_MAX / 4, strides[i]) >=
                    NM_SHUFFLE_CACHED_FILES_MAX / 4 * 95 / 100);
        nm_shuffle_index_cache_free(cache);
    }
}

/* A content is used instead of the file until the file changes. So it is parsed although the file's bytes are
 * unreadable here: the test gives the cache a content that differs from the file. */
static void test_a_content_in_memory_is_used(void **state)
{
    struct nm_shuffle_index_content *content;
    struct stat st;

    (void)state;
    assert_int_equal(nm_shuffle_index_cache_new(&dirs.index_cache), 0);
    assert_int_equal(find(0), 0);
    assert_int_equal(stat(path_of("file.out.index"), &st), 0);
    content = nm_shuffle_index_cache_get(dirs.index_cache, &st);
    assert_non_null(content);
    assert_int_equal(content->size_bytes, 3 * 24 + 8);
    content->bytes[23] = 4; /* the first part is one byte shorter */
    (void)nm_shuffle_index_content_release(content);
    assert_int_equal(find(0), 0);
    assert_int_equal(output.part.part_bytes, 4);
    assert_int_equal(find(3), -ERANGE);
    assert_int_equal(find_range(0, 3), -EBADMSG); /* the parts are no longer adjacent */
    assert_int_equal(truncate(path_of("file.out.index"), 79), 0);
    assert_int_equal(find(0), -EBADMSG);
    nm_shuffle_index_cache_free(dirs.index_cache);
    dirs.index_cache = NULL;
}

/* The checks of the path apply although the content is in memory. */
static void test_the_checks_of_an_index_in_memory_are_the_same(void **state)
{
    char index[512], other[512];

    (void)state;
    assert_int_equal(nm_shuffle_index_cache_new(&dirs.index_cache), 0);
    assert_int_equal(find(0), 0);
    fixture.job.uid++;
    assert_int_equal(find(0), -EPERM);
    fixture.job.uid--;
    snprintf(index, sizeof index, "%s", path_of("file.out.index"));
    snprintf(other, sizeof other, "%s", path_of("other"));
    assert_int_equal(rename(index, other), 0);
    assert_int_equal(symlink("other", index), 0);
    assert_int_equal(find(0), -ELOOP);
    assert_int_equal(unlink(index), 0);
    assert_int_equal(find(0), -ENOENT);
    nm_shuffle_index_cache_free(dirs.index_cache);
    dirs.index_cache = NULL;
}

/* The oldest contents are removed from memory first. A content in use counts towards the memory. */
static void test_the_memory_for_contents_is_limited(void **state)
{
    const uint64_t size = NM_SHUFFLE_CACHED_INDEX_MAX, n = NM_SHUFFLE_CACHED_BYTES_MAX / size;
    struct nm_shuffle_index_content *all[NM_SHUFFLE_CACHED_BYTES_MAX / NM_SHUFFLE_CACHED_INDEX_MAX], *more;
    struct nm_shuffle_index_cache *cache;
    struct stat st = {.st_dev = 7, .st_size = 24};

    (void)state;
    assert_null(nm_shuffle_index_cache_reserve(NULL, 1, 24));
    assert_int_equal(nm_shuffle_index_cache_new(&cache), 0);
    assert_null(nm_shuffle_index_cache_reserve(cache, 1, size + 1));
    for (st.st_ino = 0; st.st_ino < n; st.st_ino++) {
        all[st.st_ino] = nm_shuffle_index_cache_reserve(cache, 1, size);
        assert_non_null(all[st.st_ino]);
        nm_shuffle_index_cache_add(cache, &st, all[st.st_ino]);
    }
    st.st_ino = 0;
    more = nm_shuffle_index_cache_get(cache, &st);
    assert_ptr_equal(more, all[0]);
    (void)nm_shuffle_index_content_release(more);
    assert_null(nm_shuffle_index_cache_reserve(cache, 1, 24)); /* all memory is in use */
    assert_null(nm_shuffle_index_cache_get(cache, &st));
    assert_true(nm_shuffle_index_cache_has(cache, &st));
    for (unsigned i = 0; i < n; i++)
        (void)nm_shuffle_index_content_release(all[i]);
    more = nm_shuffle_index_cache_reserve(cache, 1, size);
    assert_non_null(more);
    nm_shuffle_index_cache_add(cache, &st, more);
    (void)nm_shuffle_index_content_release(more);
    more = nm_shuffle_index_cache_get(cache, &st);
    assert_non_null(more);
    (void)nm_shuffle_index_content_release(more);
    nm_shuffle_index_cache_free(cache);
}

/* The contents of a job that has ended give their memory back, except a content in use. Those of other jobs stay. */
static void test_the_contents_of_an_ended_job_are_removed(void **state)
{
    const uint64_t size = NM_SHUFFLE_CACHED_INDEX_MAX, n = NM_SHUFFLE_CACHED_BYTES_MAX / size;
    struct nm_shuffle_index_content *content, *used;
    struct nm_shuffle_index_cache *cache;
    struct stat st = {.st_dev = 7, .st_size = 24};

    (void)state;
    nm_shuffle_index_cache_forget(NULL, 1);
    assert_int_equal(nm_shuffle_index_cache_new(&cache), 0);
    for (st.st_ino = 0; st.st_ino < n; st.st_ino++) {
        content = nm_shuffle_index_cache_reserve(cache, 1 + st.st_ino % 2, size);
        assert_non_null(content);
        nm_shuffle_index_cache_add(cache, &st, content);
        (void)nm_shuffle_index_content_release(content);
    }
    st.st_ino = 0;
    used = nm_shuffle_index_cache_get(cache, &st);
    assert_non_null(used);
    nm_shuffle_index_cache_forget(cache, 1);
    for (uint64_t i = 1; i < n / 2; i++) { /* the content in use is counted, and no content of job 2 is removed */
        content = nm_shuffle_index_cache_reserve(cache, 3, size);
        assert_non_null(content);
        st.st_ino = n + i;
        nm_shuffle_index_cache_add(cache, &st, content);
        (void)nm_shuffle_index_content_release(content);
    }
    for (st.st_ino = 0; st.st_ino < n; st.st_ino++) {
        content = nm_shuffle_index_cache_get(cache, &st);
        assert_int_equal(!!content, st.st_ino % 2);
        (void)nm_shuffle_index_content_release(content);
        assert_true(nm_shuffle_index_cache_has(cache, &st));
    }
    (void)nm_shuffle_index_content_release(used);
    nm_shuffle_index_cache_free(cache);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_output_is_found),
        TEST(test_the_data_file_is_opened_once),
        TEST(test_a_flipped_byte_of_an_index_is_detected),
        TEST(test_a_file_shorter_than_its_index_is_refused),
        TEST(test_an_index_with_wrong_offsets_is_refused),
        TEST(test_symlinks_to_an_output_are_not_followed),
        TEST(test_a_symlink_in_place_of_a_directory_is_refused),
        TEST(test_a_fifo_is_refused_without_a_wait),
        TEST(test_a_file_of_another_user_is_refused),
        TEST(test_an_output_is_also_found_in_the_second_directory),
        TEST(test_data_and_index_may_be_in_two_directories),
        TEST(test_an_output_without_its_index_is_refused),
        TEST(test_an_output_whose_index_is_missing_does_not_exist),
        TEST(test_a_directory_that_appears_later_is_used),
        TEST(test_an_index_is_checked_once_until_it_changes),
        TEST(test_the_number_of_remembered_files_is_limited),
        TEST(test_a_content_in_memory_is_used),
        TEST(test_the_checks_of_an_index_in_memory_are_the_same),
        TEST(test_the_memory_for_contents_is_limited),
        TEST(test_the_contents_of_an_ended_job_are_removed),
        TEST(test_outputs_are_found_in_directories_that_stay_open),
        TEST(test_a_range_of_parts_is_found),
        TEST(test_a_range_uses_the_index_that_matches_its_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
