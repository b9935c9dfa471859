/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Logs of containers when one of the system calls fails. Lost output is counted and reported, later output is written,
 * and no log exceeds its limit. The output of a command is read to its end even if its log can't be shortened.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/launch/output-read.h"
#include "agent/launch/output.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/failing-calls.h"
#include "tests/unit/limit-files.h"
#include "tests/unit/remove-tree.h"
#include "util/macros.h"

#define LIMIT NM_OUTPUT_MIN_BYTES
#define PIECE 10000
#define N_PIECES 20 /* three times the limit of the log */
#define END "the end\n"
#define KEPT 4000 /* bytes that remain of a shortened log */

static char dir[64];
static int dir_fd;

static void make_dir(void)
{
    strcpy(dir, "/tmp/nm-test-output-XXXXXX");
    assert_non_null(mkdtemp(dir));
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir_fd >= 0);
}

static void drop_dir(void)
{
    (void)close(dir_fd);
    assert_int_equal(remove_tree(dir), 0);
}

struct trouble {
    const char *call; /* NULL: the call that opens a file fails */
    int error;
    const char *next; /* another call that fails afterwards, or NULL */
};

static const char *next_call;

static void fail_next_call(void)
{
    call_has_failed = NULL;
    fail_call(next_call, 1, ENOSPC);
}

static void begin_trouble(const struct trouble *t, unsigned n)
{
    next_call = t->next;
    call_has_failed = t->next ? fail_next_call : NULL;
    if (t->call)
        fail_call(t->call, n, t->error);
    else
        fail_nth(FAIL_OPEN, n);
}

static bool end_trouble(const struct trouble *t)
{
    return t->call ? fail_call_stop() : fail_stop();
}

static void write_pieces(struct nm_output *o)
{
    static char piece[PIECE];

    memset(piece, 'x', sizeof piece);
    piece[PIECE - 1] = '\n';
    for (int i = 0; i < N_PIECES; i++)
        nm_output_write(o, piece, sizeof piece);
}

/* Reads the last bytes of the newest file as a string. */
static void read_tail(char *buf, size_t size)
{
    int fd = openat(dir_fd, "stdout", O_RDONLY | O_CLOEXEC);
    ssize_t n;
    off_t end;

    assert_true(fd >= 0);
    end = lseek(fd, 0, SEEK_END);
    n = pread(fd, buf, size - 1, end > (off_t)size - 1 ? end - (off_t)size + 1 : 0);
    assert_true(n >= 0);
    buf[n] = '\0';
    (void)close(fd);
}

static void check_log(uint64_t lost)
{
    char tail[300];

    read_tail(tail, sizeof tail);
    assert_true(strlen(tail) >= strlen(END));
    assert_string_equal(tail + strlen(tail) - strlen(END), END);
    assert_true(lost <= N_PIECES * PIECE);
    assert_true(nm_output_disk_bytes(dir_fd) <= LIMIT + 32768);
}

static bool write_log(const struct trouble *t, unsigned n)
{
    struct nm_output o;
    bool failed;

    make_dir();
    assert_int_equal(nm_output_open(dir_fd, "stdout", LIMIT, &o), 0);
    begin_trouble(t, n);
    write_pieces(&o);
    failed = end_trouble(t);
    if (!failed)
        assert_int_equal(o.lost_total, 0);
    nm_output_write(&o, END, strlen(END));
    nm_output_close(&o);
    check_log(o.lost_total);
    drop_dir();
    return failed;
}

static void test_a_failed_write_loses_only_the_output_of_this_write(void **state)
{
    static const struct trouble troubles[] = {
        {NULL, 0, NULL},      {"write", ENOSPC, NULL}, {"write", EINTR, NULL}, {"renameat", ENOSPC, NULL},
        {"fstat", EIO, NULL}, {"unlinkat", EIO, NULL}, {"pread", EIO, NULL},   {"ftruncate", EIO, NULL},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(troubles); i++)
        for (unsigned n = 1; write_log(&troubles[i], n); n++)
            ;
}

/* Lost output is reported before the next output, or when the log is closed. */
static void test_lost_output_is_reported(void **state)
{
    char tail[300];
    struct nm_output o;

    (void)state;
    make_dir();
    assert_int_equal(nm_output_open(dir_fd, "stdout", 0, &o), 0);
    nm_output_write(&o, "begun", 5);
    o.times.apart_usec = UINT64_C(3600) * 1000000; /* prevents a separate write of another output time */
    for (unsigned n = 1; n <= 2; n++) {
        fail_call("write", n, ENOSPC);
        nm_output_write(&o, "lost", 4);
        assert_true(fail_call_stop());
    }
    assert_true(o.lost_total >= 4);
    nm_output_close(&o);
    read_tail(tail, sizeof tail);
    assert_non_null(strstr(tail, "bytes of output are missing here: No space left on device]\n"));
    assert_memory_equal(tail, "begun\n[nmd: ", 12);
    drop_dir();
}

/* A write that fails because of the process' limit on file sizes is reported with this limit, and not as a full
 * disk. */
static void test_a_write_beyond_the_file_size_limit_of_the_process_is_reported(void **state)
{
    char tail[300];
    struct nm_output o;

    (void)state;
    make_dir();
    assert_int_equal(nm_output_open(dir_fd, "stdout", 0, &o), 0);
    nm_output_write(&o, "some", 4);
    o.times.apart_usec = UINT64_C(3600) * 1000000; /* prevents another output time in this log */
    limit_files(10);
    nm_output_write(&o, "more than fits", 14);
    assert_int_equal(o.error, -EFBIG);
    assert_int_equal(ftruncate(o.fd, 4), 0); /* makes some bytes free again */
    o.size = 4;
    /* a line about the lost output precedes this text, and only a part of the line fits */
    nm_output_write(&o, "again", 5);
    assert_int_equal(o.error, -EFBIG);
    limit_files(RLIM_INFINITY);
    nm_output_close(&o);
    read_tail(tail, sizeof tail);
    assert_memory_equal(tail, "some\n[nmd: ", 11);
    assert_non_null(strstr(tail, "bytes of output are missing here: File too large]\n"));
    drop_dir();
}

static uint64_t open_piece(uint64_t from, struct nm_output_piece *ret)
{
    struct stat st;

    assert_int_equal(nm_output_piece_open(dir_fd, "stdout", from, ret), 0);
    assert_int_equal(fstat(ret->fd, &st), 0);
    return (uint64_t)st.st_size;
}

/* Checks that the log still has the bytes that are to be kept. */
static void check_end(void)
{
    struct nm_output_piece oldest, newest;
    char end[sizeof END] = "";
    uint64_t size;

    (void)open_piece(0, &oldest);
    size = open_piece(UINT64_MAX, &newest);
    assert_int_equal(pread(newest.fd, end, strlen(END), (off_t)(size - strlen(END))), strlen(END));
    assert_string_equal(end, END);
    assert_true(newest.base + size - newest.head - oldest.base >= KEPT);
    (void)close(oldest.fd);
    (void)close(newest.fd);
}

/* After a failed call the log is unchanged, or is shortened, and its end is not lost. The next attempt succeeds. */
static bool shorten_log(const struct trouble *t, unsigned n, uint64_t limit)
{
    struct nm_output_piece p;
    struct nm_output o;
    bool failed;
    int64_t r;

    make_dir();
    assert_int_equal(nm_output_open(dir_fd, "stdout", limit, &o), 0);
    write_pieces(&o);
    nm_output_write(&o, END, strlen(END));
    nm_output_close(&o);
    begin_trouble(t, n);
    r = nm_output_shorten(dir_fd, KEPT);
    failed = end_trouble(t);
    assert_true(failed || r > 0);
    check_end();
    assert_true(nm_output_shorten(dir_fd, KEPT) >= 0);
    check_end();
    assert_true(nm_output_disk_bytes(dir_fd) <= 16384);
    assert_int_equal(nm_output_piece_open(dir_fd, "stdout", 0, &p), 0);
    (void)close(p.fd);
    drop_dir();
    return failed;
}

static void test_after_a_failed_call_a_log_can_still_be_shortened(void **state)
{
    static const struct trouble troubles[] = {
        {NULL, 0, NULL},         {"fstat", EIO, NULL},       {"pread", EIO, NULL},    {"ftruncate", EIO, NULL},
        {"write", EIO, NULL},    {"renameat", EIO, NULL},    {"unlinkat", EIO, NULL}, {"pwrite", EIO, NULL},
        {"write", ENOSPC, NULL}, {"write", ENOSPC, "pwrite"}, {"write", ENOSPC, "ftruncate"},
    };
    static const uint64_t limits[] = {0, LIMIT}; /* the log consists of one file, or of two files */

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(troubles); i++)
        for (size_t k = 0; k < NM_ARRAY_SIZE(limits); k++)
            for (unsigned n = 1; shorten_log(&troubles[i], n, limits[k]); n++)
                ;
}

static void test_a_log_is_not_shortened_if_memory_can_not_be_allocated(void **state)
{
    struct nm_output o;
    bool failed = true;

    (void)state;
    make_dir();
    assert_int_equal(nm_output_open(dir_fd, "stdout", 0, &o), 0);
    write_pieces(&o);
    nm_output_close(&o);
    for (unsigned n = 1; failed; n++) {
        int64_t r;

        fail_nth(FAIL_MEMORY, n);
        r = nm_output_shorten(dir_fd, KEPT);
        failed = fail_stop();
        assert_true(failed ? r == -ENOMEM && nm_output_disk_bytes(dir_fd) >= N_PIECES * PIECE : r > 0);
    }
    drop_dir();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failed_write_loses_only_the_output_of_this_write),
        cmocka_unit_test(test_lost_output_is_reported),
        cmocka_unit_test(test_a_write_beyond_the_file_size_limit_of_the_process_is_reported),
        cmocka_unit_test(test_after_a_failed_call_a_log_can_still_be_shortened),
        cmocka_unit_test(test_a_log_is_not_shortened_if_memory_can_not_be_allocated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
