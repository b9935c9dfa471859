/* SPDX-License-Identifier: Apache-2.0 */

/* The server, with real connections of clients. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "open-descriptors.h"
#include "spark-client.h"
#include "spark/session.h"
#include "util/clock.h"
#include "util/macros.h"

/* ---- calls ---------------------------------------------------------------------------------- */

/* Calls of the server and the client together. */
static atomic_uint n_opened, n_read, n_sent, n_sent_files;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d);
long __wrap_syscall(long number, long a, long b, long c, long d)
{
    n_opened++; /* only files are opened by syscall() */
    return __real_syscall(number, a, b, c, d);
}

#define COUNTED(name, counter, parameters, arguments) \
    ssize_t __real_##name parameters;                 \
    ssize_t __wrap_##name parameters;                 \
    ssize_t __wrap_##name parameters                  \
    {                                                 \
        counter++;                                    \
        return __real_##name arguments;               \
    }

COUNTED(pread, n_read, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
COUNTED(pread64, n_read, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at))
COUNTED(send, n_sent, (int fd, const void *from, size_t size, int flags), (fd, from, size, flags))
COUNTED(sendfile, n_sent_files, (int to, int from, off_t *at, size_t size), (to, from, at, size))
COUNTED(sendfile64, n_sent_files, (int to, int from, off64_t *at, size_t size), (to, from, at, size))

/* ---- conversations -------------------------------------------------------------------------- */

static void test_blocks_are_fetched(void **state)
{
    int fd = dial();
    int64_t stream;

    (void)state;
    register_executor(fd);
    stream = open_blocks(fd, 3);
    for (int32_t i = 0; i < 3; i++) {
        request_chunks(fd, stream, i, 1);
        receive_chunk(fd, stream, i, parts[i]);
    }
    assert_int_equal(atomic_load(&service.count.sent_bytes), 14);
    assert_int_equal(atomic_load(&service.count.streams), 0);
    nm_close(fd);
}

static void test_pipelined_requests_are_answered_in_order(void **state)
{
    enum { N = 3000 };
    int fd = dial();
    int64_t stream;

    (void)state;
    register_executor(fd);
    stream = open_blocks(fd, N); /* a message of 12 kB */
    request_chunks(fd, stream, 0, N);
    for (int32_t i = 0; i < N; i++)
        receive_chunk(fd, stream, i, parts[i % 3]);
    nm_close(fd);
}

/* Blocks of maps that many reducers fetch at the same time take hardly more than a read each. */
static void test_many_small_blocks_take_few_calls(void **state)
{
    enum { N = 3000 };
    int fds[2] = {dial(), dial()};
    int64_t streams[2];

    (void)state;
    usleep(120000); /* the index of a file that has just been written is not kept */
    register_executor(fds[0]);
    for (unsigned i = 0; i < 2; i++)
        streams[i] = open_blocks(fds[i], N);
    n_opened = n_read = n_sent = 0;
    for (unsigned i = 0; i < 2; i++)
        request_chunks(fds[i], streams[i], 0, N);
    for (unsigned i = 0; i < 2; i++)
        for (int32_t k = 0; k < N; k++)
            receive_chunk(fds[i], streams[i], k, parts[k % 3]);
    assert_true(n_opened < 2 * N / 10);
    assert_true(n_read < 2 * N * 2 / 3 + 2 * N / 10); /* a third of the blocks is empty */
    assert_true(n_sent < 2 * N / 10);
    for (unsigned i = 0; i < 2; i++)
        nm_close(fds[i]);
}

/* Another file may replace a data file at any time. The old one is used for at most 20 ms. */
static void test_a_replaced_file_is_not_served_for_long(void **state)
{
    int fd = dial();
    int64_t stream;

    (void)state;
    register_executor(fd);
    stream = open_blocks(fd, 4);
    request_chunks(fd, stream, 0, 1);
    receive_chunk(fd, stream, 0, "first");
    assert_int_equal(unlink(spark_fixture_path(&fixture, "shuffle_0_0_0.data")), 0);
    spark_fixture_map(&fixture, (const char *const[]){"a", "new", "file", NULL});
    usleep(NM_SPARK_DATA_FILE_USEC);
    request_chunks(fd, stream, 1, 2);
    receive_chunk(fd, stream, 1, "new");
    receive_chunk(fd, stream, 2, "file");
    nm_close(fd);
}

static void wait_for_descriptors(unsigned n)
{
    const uint64_t deadline_usec = nm_now_usec() + PATIENCE_MSEC * NM_USEC_PER_MSEC;

    while (open_descriptors() != n) {
        assert_true(nm_now_usec() < deadline_usec);
        usleep(1000);
    }
}

/* An open file would prevent the unmounting of its disk. */
static void test_idle_connections_keep_no_file_open(void **state)
{
    int fd = dial();
    unsigned n;
    int64_t stream;

    (void)state;
    register_executor(fd);
    stream = open_blocks(fd, 2);
    n = open_descriptors();
    request_chunks(fd, stream, 0, 1);
    receive_chunk(fd, stream, 0, "first");
    wait_for_descriptors(n);
    request_chunks(fd, stream, 1, 1);
    receive_chunk(fd, stream, 1, "");
    nm_close(fd);
    assert_true(all_have_ended());
    wait_for_descriptors(n - 2); /* the two ends of the connection */
}

static void test_bytes_that_arrive_one_by_one_are_a_request(void **state)
{
    static const uint8_t call_10[] = {
        0, 0, 0, 0, 0, 0, 0, 48, 3, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 27, 10, 0, 0, 0, 18, 'a', 'p', 'p', 'l', 'i', 'c',
        'a', 't', 'i', 'o', 'n', '_', '1', '_', '0', '0', '0', '1', 0, 0, 0, 0,
    };
    int fd = dial();

    (void)state;
    for (size_t i = 0; i < sizeof call_10; i++) {
        send_all(fd, call_10 + i, 1);
        usleep(1000);
    }
    assert_int_equal(receive_frame(fd, 4, 12 + 13).data[12], 11);
    nm_close(fd);
}

static void test_a_large_block_is_sent(void **state)
{
    const size_t size = LARGE_BYTES;
    uint8_t *block = malloc(size);
    int fd = dial();

    (void)state;
    assert_non_null(block);
    make_large(LARGE_BYTES);
    register_executor(fd);
    n_read = n_sent_files = 0;
    request_chunks(fd, open_blocks(fd, 1), 0, 1);
    (void)receive_frame(fd, 1, 12);
    assert_int_equal(nm_spark_frame_size(received), 21 + LARGE_BYTES);
    assert_int_equal(receive(fd, block, size), size);
    assert_true(n_sent_files > 0);
    assert_true(n_read < 5); /* the block's bytes are not copied */
    assert_memory_equal(block, "firstthe third", 14);
    assert_int_equal(block[size - 1], 0);
    register_executor(fd); /* the connection is still in order */
    free(block);
    nm_close(fd);
}

static void test_a_file_that_becomes_shorter_ends_the_connection(void **state)
{
    int fd = begin_large_block();

    (void)state;
    assert_int_equal(truncate(spark_fixture_path(&fixture, "shuffle_0_0_0.data"), 1000), 0);
    assert_cut_off(fd);
}

static void test_a_client_that_vanishes_leaves_nothing(void **state)
{
    int fd = dial();

    (void)state;
    make_large(LARGE_BYTES);
    register_executor(fd);
    (void)open_blocks(fd, 2); /* a stream that is not used up */
    request_chunks(fd, open_blocks(fd, 1), 0, 1);
    (void)receive_frame(fd, 1, 12);
    nm_close(fd);
    assert_true(all_have_ended());
    assert_int_equal(atomic_load(&service.count.streams), 0);
    assert_int_equal(atomic_load(&service.count.blocks_failed), 1);
}

static void test_clients_that_do_not_read_block_no_others(void **state)
{
    int slow[5], fd;
    int64_t stream;

    (void)state;
    make_large(LARGE_BYTES);
    for (size_t i = 0; i < NM_ARRAY_SIZE(slow); i++) {
        slow[i] = dial();
        register_executor(slow[i]);
        request_chunks(slow[i], open_blocks(slow[i], 1), 0, 1);
    }
    fd = dial();
    spark_fixture_write(&fixture, "rdd_7_8", "cached", 6);
    nm_spark_put_u8(&message, 0);
    nm_spark_put_text(&message, nm_bytes_of(SPARK_APP));
    nm_spark_put_text(&message, nm_bytes_of("1"));
    nm_spark_put_i32(&message, 1);
    nm_spark_put_text(&message, nm_bytes_of("rdd_7_8"));
    stream = (int64_t)be64toh(*(const uint64_t *)memcpy(&(uint64_t){0}, call(fd).data + 1, 8));
    request_chunks(fd, stream, 0, 1);
    receive_chunk(fd, stream, 0, "cached");
    nm_close(fd);
    for (size_t i = 0; i < NM_ARRAY_SIZE(slow); i++)
        nm_close(slow[i]);
}

/* A client that sends requests and doesn't read the answers is not read either. */
static void test_answers_that_are_not_read_stop_the_client(void **state)
{
    struct nm_writer all = {};
    int fd = dial();
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    size_t sent = 0;

    (void)state;
    nm_spark_applications_share(service.applications, 1000000);
    register_executor(fd);
    for (unsigned i = 0; i < 1000; i++) { /* requests of 67 bytes, with answers of 200 */
        struct nm_writer content = {};

        nm_spark_put_i64(&content, i);
        nm_spark_put_i32(&content, 0);
        nm_spark_put_u8(&content, 10);
        nm_spark_put_text(&content, nm_bytes_of(SPARK_APP));
        nm_spark_put_i32(&content, 1);
        nm_spark_put_text(&content, nm_bytes_of("1"));
        send_frame(fd, 3, &content, &all);
        nm_writer_done(&content);
    }
    while (sent < LARGE_BYTES && poll(&p, 1, 1000) > 0) {
        ssize_t n = send(fd, all.data + sent % all.size, all.size - sent % all.size, MSG_NOSIGNAL | MSG_DONTWAIT);

        assert_true(n > 0);
        sent += (size_t)n;
    }
    assert_true(sent < LARGE_BYTES);
    nm_writer_done(&all);
    nm_close(fd);
}

static void test_invalid_frames_end_the_connection(void **state)
{
    static const char *const all[] = {
        "\0\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0\10", "\377\377\377\377\377\377\377\377", "\0\0\0\0\1\0\0\1",
        "GET / HTTP/1.1", "\0\0\0\0\0\0\0\11\33",
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        int fd = dial();

        send_all(fd, all[i], NM_MAX(strlen(all[i]), (size_t)9));
        assert_true(has_closed(fd));
        nm_close(fd);
    }
}

static void test_uploads_are_discarded(void **state)
{
    struct nm_writer content = {};
    uint8_t *upload = calloc(1, 1 << 20);
    int fd = dial();

    (void)state;
    assert_non_null(upload);
    nm_spark_put_i64(&content, 9);
    nm_spark_put_text(&content, nm_bytes_of("meta"));
    nm_spark_put_i64(&content, 1 << 20);
    send_frame(fd, 10, &content, NULL);
    send_all(fd, upload, 1 << 20);
    (void)receive_frame(fd, 5, 8 + 4 + strlen("Cannot handle shuffle block merge"));
    register_executor(fd);
    nm_writer_done(&content);
    free(upload);
    nm_close(fd);
}

static void push(int fd, const char *app)
{
    struct nm_writer meta = {}, content = {};
    struct nm_bytes bytes;

    nm_spark_put_u8(&meta, 12);
    nm_spark_put_text(&meta, nm_bytes_of(app));
    assert_int_equal(nm_writer_result(&meta, &bytes), 0);
    nm_spark_put_i64(&content, 9);
    nm_spark_put_text(&content, bytes);
    nm_spark_put_i64(&content, 5);
    send_frame(fd, 10, &content, NULL);
    send_all(fd, "block", 5);
    nm_writer_done(&meta);
    nm_writer_done(&content);
}

/* An executor pushes many blocks before it fetches the first one over the same connection. */
static void test_refused_pushes_leave_the_connection_to_fetches(void **state)
{
    const size_t refusal_size = 8 + 4 + strlen("Cannot handle shuffle block merge");
    int fd = dial();

    (void)state;
    for (unsigned i = 0; i < 50; i++)
        push(fd, SPARK_APP);
    for (unsigned i = 0; i < 50; i++)
        (void)receive_frame(fd, 5, refusal_size);
    register_executor(fd);
    (void)open_blocks(fd, 1);
    nm_close(fd);
    fd = dial();
    for (unsigned i = 0; i < 8; i++) {
        push(fd, "application_9_9");
        (void)receive_frame(fd, 5, refusal_size);
    }
    push(fd, "application_9_9");
    assert_true(has_closed(fd));
    nm_close(fd);
}

#define TIMEOUT_USEC (2 * NM_USEC_PER_SEC)

/* spark.shuffle.io.connectionTimeout: an idle connection, and one whose client does not read. */
static void test_silent_connections_are_closed_after_the_timeout(void **state)
{
    uint64_t begun_usec;
    int idle, busy, stuck;

    (void)state;
    service.limits.timeout_usec = TIMEOUT_USEC;
    idle = dial();
    busy = dial();
    register_executor(idle);
    begun_usec = nm_now_usec();
    stuck = begin_large_block();
    for (unsigned i = 0; i < 6; i++) {
        register_executor(busy);
        usleep(TIMEOUT_USEC / 5);
    }
    assert_true(has_closed(idle));
    assert_true(nm_now_usec() - begun_usec >= TIMEOUT_USEC);
    register_executor(busy);
    wait_for_count(&service.count.slow, 1); /* at first the kernel may still take bytes that the client doesn't read */
    assert_cut_off(stuck);
    nm_close(idle);
    nm_close(busy);
}

static void test_an_application_that_ends_loses_its_connections(void **state)
{
    int fd = begin_large_block();

    (void)state;
    assert_int_equal(nm_spark_applications_remove(service.applications, SPARK_APP), 0);
    assert_cut_off(fd);
}

static void test_the_server_stops_with_open_connections(void **state)
{
    int idle = dial(), busy = begin_large_block();

    (void)state;
    server = nm_spark_server_free(server);
    assert_true(has_closed(idle));
    nm_close(idle);
    nm_close(busy);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, spark_set_up, spark_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_blocks_are_fetched),
        TEST(test_pipelined_requests_are_answered_in_order),
        TEST(test_many_small_blocks_take_few_calls),
        TEST(test_a_replaced_file_is_not_served_for_long),
        TEST(test_idle_connections_keep_no_file_open),
        TEST(test_bytes_that_arrive_one_by_one_are_a_request),
        TEST(test_a_large_block_is_sent),
        TEST(test_a_file_that_becomes_shorter_ends_the_connection),
        TEST(test_a_client_that_vanishes_leaves_nothing),
        TEST(test_clients_that_do_not_read_block_no_others),
        TEST(test_answers_that_are_not_read_stop_the_client),
        TEST(test_invalid_frames_end_the_connection),
        TEST(test_uploads_are_discarded),
        TEST(test_refused_pushes_leave_the_connection_to_fetches),
        TEST(test_silent_connections_are_closed_after_the_timeout),
        TEST(test_an_application_that_ends_loses_its_connections),
        TEST(test_the_server_stops_with_open_connections),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
