/* SPDX-License-Identifier: Apache-2.0 */

/* Logs with times, logs in two files, and logs that are cut while a client reads them. */

#include "http-fixture.h"

#include <fcntl.h>

#include "agent/launch/output-times.h"
#include "rpc/local/log-reader.h"

#define WEB "/v1/containers/web/logs"
#define SEC UINT64_C(1000000)
#define FIRST_SEC UINT64_C(1000000000) /* 2001-09-09T01:46:40Z */
#define HEAD "nm: 8 bytes were cut\n"

static void log_path(struct fixture *f, const char *name, char path[256])
{
    (void)snprintf(path, 256, "%s/%s.%s", f->dir, f->m->containers[0]->id, name);
}

/* Writes a new file and renames it, as the shim does when the file is full. */
static void write_file(struct fixture *f, const char *name, const void *data, size_t n)
{
    char path[256], new[256];
    FILE *file;

    log_path(f, name, path);
    log_path(f, "new", new);
    file = fopen(new, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(new, path), 0);
}

static void write_log(struct fixture *f, const char *name, const char *text)
{
    write_file(f, name, text, strlen(text));
}

/* Writes the times of these offsets of the output. The times are one second apart. */
static void write_times(struct fixture *f, const uint64_t *offsets, size_t n)
{
    struct nm_output_point p[8];

    assert_true(n <= 8);
    for (size_t i = 0; i < n; i++)
        p[i] = (struct nm_output_point){offsets[i], (FIRST_SEC + i) * SEC};
    write_file(f, "stdout.times", p, n * sizeof *p);
}

static void begin(struct fixture *f)
{
    fake_manager_add(f->m, "web", 0);
    start(f, NULL);
}

static void assert_log(struct fixture *f, const char *query, int status, const char *content)
{
    _cleanup_free_ char *chunks = NULL;
    char target[128];
    struct client c;

    (void)snprintf(target, sizeof target, WEB "%s", query);
    client_connect(f, &c);
    client_send(&c, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target);
    until(&c, c.eof);
    assert_int_equal(client_status(&c), status);
    if (client_header(&c, "Transfer-Encoding"))
        chunks = client_content(&c);
    if (content)
        assert_string_equal(chunks ? chunks : client_body(&c), content);
    client_close(&c);
}

static void assert_position(struct fixture *f, const char *query, const char *expected)
{
    char target[128];
    const char *got;
    struct client c;

    (void)snprintf(target, sizeof target, WEB "%s", query);
    client_connect(f, &c);
    client_send(&c, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target);
    until(&c, c.eof);
    got = client_header(&c, "Nmd-Log-Position");
    assert_true(!got == !expected);
    if (got)
        assert_string_equal(got, expected);
    client_close(&c);
}

/* ---- times ----------------------------------------------------------------------------------- */

#define T0 "2001-09-09T01:46:40.000Z "
#define T1 "2001-09-09T01:46:41.000Z "
#define T2 "2001-09-09T01:46:42.000Z "
#define UNKNOWN "-                        "

static void test_log_lines_have_timestamps_on_request(void **state)
{
    struct fixture *f = *state;

    begin(f);
    assert_log(f, "?timestamps=true", 200, "");
    write_log(f, "stdout", "one\ntwo\nthree");
    assert_log(f, "?timestamps=true", 200, UNKNOWN "one\n" UNKNOWN "two\n" UNKNOWN "three");
    write_times(f, (uint64_t[]){0, 6}, 2); /* a line has the time at which its first byte was written */
    assert_log(f, "?timestamps=true", 200, T0 "one\n" T0 "two\n" T1 "three");
    write_times(f, (uint64_t[]){4, 8}, 2);
    assert_log(f, "?timestamps=true", 200, UNKNOWN "one\n" T0 "two\n" T1 "three");
    /* a line that is read from its middle has no time */
    assert_log(f, "?timestamps=true&from=4", 200, T0 "two\n" T1 "three");
    assert_log(f, "?timestamps=true&from=5", 200, "wo\n" T1 "three");
    assert_log(f, "?timestamps=true&from=13", 200, "");
    assert_log(f, "?timestamps=true&from=99", 200, "");
    assert_log(f, "?timestamps=true&tail=1", 200, T1 "three");
    assert_position(f, "?timestamps=true&from=5", "5");
}

static void test_log_lines_since_a_time_are_selected(void **state)
{
    struct fixture *f = *state;

    begin(f);
    assert_log(f, "?since_usec=1", 200, ""); /* the command has written no output */
    write_log(f, "stdout", "");
    assert_log(f, "?since_usec=1", 200, "");
    write_log(f, "stdout", "one\ntwo\nthree\n");
    assert_log(f, "?since_usec=1", 409, NULL); /* 409: the log has no times */
    write_times(f, (uint64_t[]){0, 4, 8}, 3);
    assert_log(f, "?since_usec=1", 200, "one\ntwo\nthree\n");
    assert_log(f, "?since_usec=1000000001000000", 200, "two\nthree\n");
    assert_log(f, "?since_usec=1000000001000001&timestamps=true", 200, T2 "three\n");
    assert_log(f, "?since_usec=1000000003000000", 200, "");
    /* a line that begins before the time is omitted, and the position of the first line isn't known yet */
    write_times(f, (uint64_t[]){0, 6}, 2);
    assert_log(f, "?since_usec=1000000001000000", 200, "three\n");
    assert_position(f, "?since_usec=1000000001000000", NULL);
    write_times(f, (uint64_t[]){0, 10}, 2);
    assert_log(f, "?since_usec=1000000001000000", 200, "");
    /* the newest lines begin after the time, so they are the result */
    write_times(f, (uint64_t[]){0, 4}, 2);
    assert_log(f, "?since_usec=1000000001000000&tail=1", 200, "three\n");
    assert_log(f, "?since_usec=1000000001000000&tail=3", 200, "two\nthree\n");
}

/* Returns the number of reads of this process so far. */
static uint64_t n_reads(void)
{
    FILE *f = fopen("/proc/self/io", "re");
    unsigned long n = 0;
    char line[128];

    assert_non_null(f);
    while (fgets(line, sizeof line, f) && sscanf(line, "syscr: %lu", &n) != 1)
        ;
    (void)fclose(f);
    return n;
}

/* A line that begins before the time isn't shown. This line may be very long, so the server skips it in pieces, and
 * serves other clients meanwhile. */
static void test_a_line_that_began_earlier_is_skipped(void **state)
{
    enum { LONG = 256 << 20, READS = LONG / 4096 };
    struct fixture *f = *state;
    uint64_t before, most = 0;
    struct client c;
    char path[256];

    begin(f);
    write_log(f, "stdout", "");
    write_times(f, (uint64_t[]){0, 4}, 2);
    log_path(f, "stdout", path);
    assert_int_equal(truncate(path, LONG), 0);
    append_log(f, f->m->containers[0], "\nlast\n");
    client_connect(f, &c);
    client_send(&c, "GET " WEB "?since_usec=1000000001000000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    while (!c.eof) {
        before = n_reads();
        turn(&c);
        most = NM_MAX(most, n_reads() - before);
    }
    assert_in_range(most, 1, READS / 4); /* the client's reads are limited in each turn of the loop */
    assert_content(&c, "last\n");
    client_close(&c);
    /* the stream also continues if all output after the long line is written later */
    assert_int_equal(truncate(path, LONG), 0);
    follow(f, &c, WEB "?follow=true&since_usec=1000000001000000");
    append_log(f, f->m->containers[0], "x\nmore\n");
    fake_manager_set_state(f->m, f->m->containers[0], NM_COMPLETED);
    until(&c, c.eof);
    assert_content(&c, "more\n");
    client_close(&c);
}

static void test_a_request_for_times_of_a_log_without_valid_times_is_refused(void **state)
{
    struct fixture *f = *state;

    begin(f);
    write_log(f, "stdout", "one\n");
    f->m->times_are_strange = true;
    assert_log(f, "?timestamps=true", 409, NULL);
    assert_log(f, "?since_usec=1", 409, NULL);
    assert_log(f, "", 200, "one\n");
}

/* The file of times is made, and later replaced, while the log is followed. */
static void test_a_followed_log_has_times(void **state)
{
    struct fixture *f = *state;
    struct client c;

    begin(f);
    follow(f, &c, WEB "?follow=true&timestamps=true");
    write_log(f, "stdout", "one\n");
    write_times(f, (uint64_t[]){0}, 1);
    fake_manager_set_state(f->m, f->m->containers[0], NM_RUNNING);
    until(&c, strstr(c.data, "one\n"));
    write_times(f, (uint64_t[]){0, 4}, 2);
    append_log(f, f->m->containers[0], "two\n");
    until(&c, strstr(c.data, "two\n"));
    append_log(f, f->m->containers[0], "thr");
    until(&c, strstr(c.data, "thr"));
    append_log(f, f->m->containers[0], "ee\n");
    fake_manager_set_state(f->m, f->m->containers[0], NM_COMPLETED);
    until(&c, c.eof);
    assert_content(&c, T0 "one\n" T1 "two\n" T1 "three\n");
    client_close(&c);
}

/* ---- two files ------------------------------------------------------------------------------- */

static void test_a_log_of_two_files_is_joined(void **state)
{
    struct fixture *f = *state;

    begin(f);
    write_log(f, "stdout.0", "one\ntwo\n");
    write_log(f, "stdout", HEAD "three\nfour\n");
    /* if both files exist, no line is added between their contents */
    assert_log(f, "", 200, "one\ntwo\nthree\nfour\n");
    assert_log(f, "?from=4", 200, "two\nthree\nfour\n");
    assert_log(f, "?from=8", 200, "three\nfour\n");
    assert_log(f, "?from=14", 200, "four\n");
    assert_log(f, "?tail=1", 200, "four\n");
    assert_log(f, "?tail=2", 200, "three\nfour\n");
    assert_log(f, "?tail=3", 200, "two\nthree\nfour\n");
    assert_log(f, "?tail=9", 200, "one\ntwo\nthree\nfour\n");
    assert_log(f, "?tail=0", 200, "");
    write_times(f, (uint64_t[]){0, 4, 8}, 3);
    assert_log(f, "?tail=3&timestamps=true", 200, T1 "two\n" T2 "three\n" T2 "four\n");
    assert_log(f, "?since_usec=1000000001000000", 200, "two\nthree\nfour\n");
    assert_log(f, "?since_usec=1000000002000000", 200, "three\nfour\n");
    assert_log(f, "?from=10&timestamps=true", 200, "ree\n" T2 "four\n");
}

/* The beginning of the first file was cut. The client gets the remaining output with a line that reports the cut, and
 * the position of the remaining output. */
static void test_a_cut_log_reports_the_cut(void **state)
{
    struct fixture *f = *state;

    begin(f);
    write_log(f, "stdout.8", HEAD "three\nfour\n"); /* as nmd shortens a log after the container's end */
    assert_log(f, "", 200, HEAD "three\nfour\n");
    assert_log(f, "?from=3", 200, HEAD "three\nfour\n");
    assert_log(f, "?from=8", 200, "three\nfour\n");
    assert_log(f, "?tail=2", 200, "three\nfour\n");
    assert_log(f, "?tail=9", 200, "three\nfour\n");
    assert_position(f, "", NULL);
    assert_position(f, "?from=14", "14");
    write_times(f, (uint64_t[]){0, 4}, 2);
    assert_log(f, "?since_usec=1000000001000000&timestamps=true", 200, T1 HEAD T1 "three\n" T1 "four\n");
}

/* A new file of the log begins while the log is followed. No output is sent twice, and a cut is reported. */
static void test_a_followed_log_continues_in_its_next_file_without_loss(void **state)
{
    struct fixture *f = *state;
    char from[256], to[256];
    struct client c;

    begin(f);
    write_log(f, "stdout", "one\ntwo\n");
    follow(f, &c, WEB "?follow=true");
    until(&c, strstr(c.data, "two\n"));
    log_path(f, "stdout", from);
    log_path(f, "stdout.0", to);
    assert_int_equal(rename(from, to), 0);
    turn_for(&c, 20000); /* for a short time the newest file doesn't exist */
    write_log(f, "stdout", HEAD "three\n");
    fake_manager_set_state(f->m, f->m->containers[0], NM_PAUSED);
    until(&c, strstr(c.data, "three\n"));
    append_log(f, f->m->containers[0], "four\n");
    until(&c, strstr(c.data, "four\n"));
    fake_manager_set_state(f->m, f->m->containers[0], NM_COMPLETED);
    until(&c, c.eof);
    assert_content(&c, "one\ntwo\nthree\nfour\n");
    client_close(&c);
}

/* A log is cut while a slow client reads it. The client is disconnected or gets fewer bytes, but never wrong bytes. */
static void test_a_slow_reader_of_a_cut_log_gets_no_wrong_output(void **state)
{
    static char text[2 << 20];
    struct fixture *f = *state;
    struct client c, other;
    char path[256];

    begin(f);
    memset(text, 'x', sizeof text);
    write_file(f, "stdout", text, sizeof text);
    client_connect(f, &c);
    client_send(&c, "GET " WEB " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    client_connect(f, &other);
    turn_for(&other, 50000); /* until the socket's buffer is full */
    log_path(f, "stdout", path);
    assert_int_equal(truncate(path, 0), 0);
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 200);
    assert_in_range(c.len, 1000, sizeof text); /* fewer bytes than announced, which the client can detect */
    assert_non_null(client_header(&c, "Content-Length"));
    client_close(&c);
    client_close(&other);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void test_invalid_queries_are_refused(void **state)
{
    static const struct {
        const char *query, *thing;
    } bad[] = {
        {"?follow=perhaps", "follow"},        {"?tail=-1", "tail"},
        {"?from=1k", "from"},                 {"?since_usec=yesterday", "since_usec"},
        {"?timestamps=1%20", "timestamps"},   {"?from=9223372036854775808", "from"},
        {"?stream=", "stream"},               {"?tail", "tail"},
    };
    struct fixture *f = *state;

    begin(f);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        char target[128];
        json_t *j;

        (void)snprintf(target, sizeof target, WEB "%s", bad[i].query);
        assert_int_equal(request(f, "GET", target, NULL, &j), 400);
        assert_error(j, "invalid", bad[i].thing, NULL);
    }
}

/* The file has been truncated, so the last lines can't be found. */
static void test_the_tail_of_a_truncated_file_is_empty(void **state)
{
    struct fixture *f = *state;
    uint64_t lines = 2;
    char path[256];
    int fd;

    begin(f);
    write_log(f, "stdout", "one\ntwo\nthree\n");
    log_path(f, "stdout", path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(nm_tail_offset(fd, 0, 100, false, &lines), 100);
    assert_int_equal(nm_tail_offset(fd, 0, 14, false, &lines), 4);
    (void)close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_log_lines_have_timestamps_on_request),
        TEST(test_log_lines_since_a_time_are_selected),
        TEST(test_a_line_that_began_earlier_is_skipped),
        TEST(test_a_request_for_times_of_a_log_without_valid_times_is_refused),
        TEST(test_a_followed_log_has_times),
        TEST(test_a_log_of_two_files_is_joined),
        TEST(test_a_cut_log_reports_the_cut),
        TEST(test_a_followed_log_continues_in_its_next_file_without_loss),
        TEST(test_a_slow_reader_of_a_cut_log_gets_no_wrong_output),
        TEST(test_invalid_queries_are_refused),
        TEST(test_the_tail_of_a_truncated_file_is_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
