/* SPDX-License-Identifier: Apache-2.0 */

/* Times at which a command wrote its output. The times are recorded, thinned out when there are too many of them, and
 * found by position. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/launch/output-read.h"
#include "tests/unit/failing-calls.h"
#include "tests/unit/remove-tree.h"
#include "util/macros.h"

#define LOG_MAX 65536 /* a log of this size has 256 recorded times */
#define POINTS 256

static char dir[64];
static int dir_fd;

/* The clock that the tested code reads, in microseconds. */
static uint64_t now_usec;
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
    (void)clock;
    *ts = (struct timespec){(time_t)(now_usec / 1000000), (long)(now_usec % 1000000 * 1000)};
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/nm-output-times.XXXXXX");
    now_usec = UINT64_C(1795544927000000);
    if (!mkdtemp(dir))
        return -1;
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)close(dir_fd);
    return remove_tree(dir);
}

static void note(struct nm_output_times *t, uint64_t offset, uint64_t kept_from)
{
    nm_output_times_note(t, dir_fd, "stdout", LOG_MAX, offset, kept_from);
}

static int open_times(void)
{
    int fd = -EBADF;

    assert_int_equal(nm_output_times_open(dir_fd, "stdout", &fd), 0);
    return fd;
}

static off_t size_on_disk(void)
{
    struct stat st;

    assert_int_equal(fstatat(dir_fd, "stdout.times", &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_size;
}

static void test_the_time_at_which_a_byte_was_written_is_found(void **state)
{
    struct nm_output_times t = NM_OUTPUT_TIMES_NULL;
    struct nm_output_times_reader r;
    uint64_t first = now_usec;
    int fd;

    (void)state;
    assert_int_equal(nm_output_times_open(dir_fd, "stdout", &fd), -ENOENT);
    note(&t, 0, 0);
    now_usec += 500; /* so short after the last write that both writes get the same time */
    note(&t, 10, 0);
    now_usec += 1000;
    note(&t, 20, 0);
    now_usec -= 5000000; /* the clock is set back by five seconds */
    note(&t, 30, 0);
    nm_output_times_close(&t);
    nm_output_times_reader_init(&r, open_times());
    assert_int_equal(nm_output_times_of(&r, 0), first);
    assert_int_equal(nm_output_times_of(&r, 19), first);
    assert_int_equal(nm_output_times_of(&r, 20), first + 1500);
    assert_int_equal(nm_output_times_of(&r, 29), first + 1500);
    assert_int_equal(nm_output_times_of(&r, 1000), first + 1500 - 5000000);
    nm_output_times_reader_done(&r);
    /* The search compares with the last recorded time, even if the clock was set back before it. */
    fd = open_times();
    assert_int_equal(nm_output_times_since(fd, first + 1), UINT64_MAX);
    assert_int_equal(nm_output_times_since(fd, first - 5000000), 0);
    assert_int_equal(close(fd), 0);
}

static void test_a_byte_before_the_first_recorded_time_has_no_time(void **state)
{
    struct nm_output_times t = NM_OUTPUT_TIMES_NULL;
    struct nm_output_times_reader r;
    uint64_t first = now_usec;

    (void)state;
    nm_output_times_reader_init(&r, -EBADF);
    assert_int_equal(nm_output_times_of(&r, 5), 0);
    assert_true(nm_output_times_reader_is_old(&r));
    note(&t, 7, 0);
    nm_output_times_reader_init(&r, open_times());
    assert_false(nm_output_times_reader_is_old(&r));
    assert_int_equal(nm_output_times_of(&r, 5), 0);
    assert_int_equal(nm_output_times_of(&r, 8), first);
    now_usec += 10000;
    note(&t, 9, 0);
    assert_int_equal(nm_output_times_of(&r, 9), first + 10000);
    nm_output_times_reader_done(&r);
    nm_output_times_close(&t);
}

/* The number of recorded times stays within its limit, however long the command writes. No recorded time is too
 * late. */
static void test_the_number_of_recorded_times_is_limited(void **state)
{
    struct nm_output_times t = NM_OUTPUT_TIMES_NULL;
    struct nm_output_times_reader r;
    uint64_t first = now_usec;

    (void)state;
    for (uint64_t i = 0; i < 100 * POINTS; i++) {
        note(&t, i * 10, 0);
        now_usec += 1000;
        assert_true(size_on_disk() <= (off_t)(POINTS * sizeof(struct nm_output_point)));
    }
    nm_output_times_reader_init(&r, open_times());
    for (uint64_t i = 0; i < 100 * POINTS; i++) {
        uint64_t at = nm_output_times_of(&r, i * 10), real = first + i * 1000;

        assert_true(at >= first && at <= real);
        assert_true(real - at <= 100 * POINTS * 1000 * 4 / POINTS);
    }
    nm_output_times_reader_done(&r);

    nm_output_times_shorten(dir_fd, "stdout");
    assert_true(size_on_disk() <= (off_t)(NM_OUTPUT_TIMES_KEPT * sizeof(struct nm_output_point)));
    nm_output_times_close(&t);
}

/* When the beginning of a log is cut, the recorded times of this part are removed. The other recorded times stay
 * exact. */
static void test_cutting_a_log_removes_the_recorded_times_of_the_cut_part(void **state)
{
    struct nm_output_times t = NM_OUTPUT_TIMES_NULL;
    struct nm_output_times_reader r;
    uint64_t last = 0;

    (void)state;
    for (uint64_t i = 0; i < 100 * POINTS; i++) {
        note(&t, i * 10, i < 100 ? 0 : (i - 100) * 10);
        last = now_usec;
        now_usec += 1000;
    }
    nm_output_times_reader_init(&r, open_times());
    for (uint64_t i = 100 * POINTS - 100; i < 100 * POINTS; i++)
        assert_int_equal(nm_output_times_of(&r, i * 10), last - (100 * POINTS - 1 - i) * 1000);
    nm_output_times_reader_done(&r);
    nm_output_times_close(&t);
}

static void note_until_thinned(struct nm_output_times *t)
{
    for (uint64_t i = 0; i < 3 * POINTS; i++) {
        note(t, i * 10, i * 5);
        now_usec += 1000;
    }
}

/* A failed call may lose recorded times. It must not record a wrong time or leave a file behind. */
static void test_a_failed_call_records_no_wrong_time(void **state)
{
    static const char *const calls[] = {"write", "pread", "fstat", "renameat"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(calls); i++)
        for (unsigned n = 1;; n += 1 + n / 10) {
            struct nm_output_times t = NM_OUTPUT_TIMES_NULL;
            struct nm_output_times_reader r;
            uint64_t first = now_usec;
            bool failed;

            fail_call(calls[i], n, EIO);
            note_until_thinned(&t);
            failed = fail_call_stop();
            nm_output_times_close(&t);
            assert_true(size_on_disk() <= (off_t)(POINTS * sizeof(struct nm_output_point)));
            assert_true(faccessat(dir_fd, ".stdout.times.new", F_OK, 0) < 0);
            nm_output_times_reader_init(&r, open_times());
            for (uint64_t k = 0; k < 3 * POINTS; k++)
                assert_true(nm_output_times_of(&r, k * 10) <= first + k * 1000 || k < POINTS);
            nm_output_times_reader_done(&r);
            nm_output_times_shorten(dir_fd, "stdout");
            assert_int_equal(unlinkat(dir_fd, "stdout.times", 0), 0);
            if (!failed)
                break;
        }
}

/* If the last recorded times of a log can't be kept, the log has no recorded times, since the older ones belong to
 * other bytes. */
static void test_a_log_whose_last_recorded_times_are_lost_has_none(void **state)
{
    static const char *const calls[] = {"pread", "pwrite", "ftruncate"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(calls); i++) {
        struct nm_output_times t = NM_OUTPUT_TIMES_NULL;
        int fd;

        for (uint64_t k = 0; k < 2 * NM_OUTPUT_TIMES_KEPT; k++, now_usec += 2000000)
            nm_output_times_note(&t, dir_fd, "stdout", 0, k, 0);
        nm_output_times_close(&t);
        fail_call(calls[i], 1, EIO);
        nm_output_times_shorten(dir_fd, "stdout");
        assert_true(fail_call_stop());
        assert_int_equal(nm_output_times_open(dir_fd, "stdout", &fd), -ENOENT);
    }
}

/* After nm-shim was killed, nmd appends to the file of recorded times that nm-shim wrote. An incomplete record in the
 * file is ignored. */
static void test_nmd_continues_the_file_of_a_killed_shim(void **state)
{
    struct nm_output_times t = NM_OUTPUT_TIMES_NULL;
    struct nm_output_times_reader r;
    uint64_t first = now_usec;

    (void)state;
    note(&t, 0, 0);
    nm_output_times_close(&t);
    now_usec += 2000000;
    note(&t, 100, 0);
    nm_output_times_close(&t);
    nm_output_times_reader_init(&r, open_times());
    assert_int_equal(nm_output_times_of(&r, 99), first);
    assert_int_equal(nm_output_times_of(&r, 100), first + 2000000);
    nm_output_times_reader_done(&r);

    assert_int_equal(unlinkat(dir_fd, "stdout.times", 0), 0);
    assert_int_equal(symlinkat("/etc/passwd", dir_fd, "stdout.times"), 0);
    note(&t, 200, 0);
    assert_true(t.fd < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_time_at_which_a_byte_was_written_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_byte_before_the_first_recorded_time_has_no_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_number_of_recorded_times_is_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cutting_a_log_removes_the_recorded_times_of_the_cut_part,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failed_call_records_no_wrong_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_log_whose_last_recorded_times_are_lost_has_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nmd_continues_the_file_of_a_killed_shim, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
