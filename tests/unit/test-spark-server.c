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
#include "shuffle/share.h"
#include "spark-fixture.h"
#include "spark/server.h"
#include "spark/session.h"
#include "util/clock.h"
#include "util/macros.h"

#define PATIENCE_MSEC 20000
#define MEMORY_BYTES (UINT64_C(1) << 20)
#define LARGE_BYTES (UINT64_C(24) << 20) /* more than all buffers between server and client */

static struct spark_fixture fixture;
static struct nm_spark_service service;
static struct nm_spark_server *server;
static const struct nm_spark_listen listen_here = {.address = "127.0.0.1:0", .backlog = 16, .keeps_alive = true};
static struct nm_writer message;
static unsigned n_open;

static int set_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN); /* as the program does */
    spark_fixture_new(&fixture);
    spark_fixture_map(&fixture, (const char *const[]){"first", "", "the third", NULL});
    n_open = open_descriptors();
    service = (struct nm_spark_service){};
    assert_int_equal(nm_spark_applications_new(&fixture.locals, -EBADF, &service.applications), 0);
    assert_int_equal(nm_spark_applications_add(service.applications, &fixture.application, (struct nm_bytes){}, true),
                     0);
    assert_int_equal(nm_shuffle_connections_new(16, &service.connections), 0);
    assert_int_equal(nm_shuffle_index_cache_new(&service.index_cache), 0);
    assert_int_equal(nm_spark_data_files_new(16, &service.data_files), 0);
    assert_int_equal(nm_spark_memory_new(MEMORY_BYTES, &service.memory), 0);
    assert_int_equal(nm_spark_guests_new(&service.guests), 0);
    assert_int_equal(nm_spark_server_new(&service, &listen_here, &server, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    server = nm_spark_server_free(server);
    assert_int_equal(atomic_load(&service.count.streams), 0);
    service.connections = nm_shuffle_connections_free(service.connections);
    service.applications = nm_spark_applications_free(service.applications);
    service.index_cache = nm_shuffle_index_cache_free(service.index_cache);
    service.data_files = nm_spark_data_files_free(service.data_files);
    service.memory = nm_spark_memory_free(service.memory); /* these abort if memory was not given back */
    service.guests = nm_spark_guests_free(service.guests);
    nm_writer_done(&message);
    assert_int_equal(open_descriptors(), n_open);
    spark_fixture_done(&fixture);
    return 0;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Calls of the server and the client together. */
static atomic_uint n_opened, n_read, n_sent, n_sent_files;
static unsigned pause_usec; /* of each call that opens a file */
static atomic_uint n_pausing, most_pausing;

/* Pauses as on a slow disk. Notes how many threads have done so at the same time. */
static void pause_for_disk(void)
{
    const unsigned n = ++n_pausing;
    unsigned most = most_pausing;

    while (n > most && !atomic_compare_exchange_weak(&most_pausing, &most, n))
        ;
    usleep(pause_usec);
    n_pausing--;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d);
long __wrap_syscall(long number, long a, long b, long c, long d)
{
    n_opened++; /* only files are opened by syscall() */
    if (pause_usec > 0)
        pause_for_disk();
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

/* ---- the client ----------------------------------------------------------------------------- */

static int dial(void)
{
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons(nm_spark_server_port(server)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void send_all(int fd, const void *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

        assert_true(n > 0);
        data = (const uint8_t *)data + n;
        size -= (size_t)n;
    }
}

/* Sends a frame, or adds it to others if `to` is not NULL. */
static void send_frame(int fd, uint8_t type, const struct nm_writer *content, struct nm_writer *to)
{
    struct nm_writer w = {};

    nm_spark_put_i64(&w, (int64_t)(9 + content->size));
    nm_spark_put_u8(&w, type);
    nm_writer_put(&w, (struct nm_bytes){content->data, content->size});
    if (to)
        nm_writer_put(to, (struct nm_bytes){w.data, w.size});
    else
        send_all(fd, w.data, w.size);
    nm_writer_done(&w);
}

/* Reads so many bytes. Returns how many have arrived when the connection ended, or after PATIENCE_MSEC. */
static size_t receive(int fd, void *to, size_t size)
{
    size_t n = 0;

    while (n < size) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t got;

        if (poll(&p, 1, PATIENCE_MSEC) <= 0)
            fail_msg("nothing has arrived after %zu bytes", n);
        got = recv(fd, (uint8_t *)to + n, size - n, 0);
        if (got <= 0)
            return n;
        n += (size_t)got;
    }
    return n;
}

static uint8_t received[1024];

/* Receives a frame of this type into `received`, without a block. Returns its content. */
static struct nm_bytes receive_frame(int fd, uint8_t type, size_t content)
{
    assert_int_equal(receive(fd, received, 9 + content), 9 + content);
    assert_int_equal(received[8], type);
    return (struct nm_bytes){received + 9, content};
}

static bool has_closed(int fd)
{
    uint8_t byte;

    return receive(fd, &byte, 1) == 0;
}

/* Sends the message in `message` as request 9. */
static void send_call(int fd)
{
    struct nm_writer content = {};

    nm_spark_put_i64(&content, 9);
    nm_spark_put_text(&content, (struct nm_bytes){message.data, message.size});
    send_frame(fd, 3, &content, NULL);
    nm_writer_done(&content);
    nm_writer_done(&message);
}

/* Does the same, and returns the reply's message. */
static struct nm_bytes call(int fd)
{
    struct nm_bytes reply;
    uint64_t size;

    send_call(fd);
    assert_int_equal(receive(fd, received, 8), 8);
    size = nm_spark_frame_size(received);
    assert_true(size > 21 - 1 && size <= sizeof received);
    assert_int_equal(receive(fd, received + 8, size - 8), size - 8);
    assert_int_equal(received[8], 4);
    reply = (struct nm_bytes){received + 21, size - 21};
    return reply;
}

static void register_executor(int fd)
{
    char *b = strdup(spark_fixture_registered(&fixture, 1));

    assert_non_null(b);
    spark_fixture_registration(&message, SPARK_APP, "1",
                               (const char *const[]){b, spark_fixture_registered(&fixture, 0), NULL});
    assert_int_equal(call(fd).size, 0);
    free(b);
}

/* Makes a message that asks for n chunks: the blocks of map 0 for the reducers 0, 1, 2, 0 ... */
static void put_open_blocks(int32_t n)
{
    nm_spark_put_u8(&message, 9);
    nm_spark_put_text(&message, nm_bytes_of(SPARK_APP));
    nm_spark_put_text(&message, nm_bytes_of("1"));
    nm_spark_put_i32(&message, 0);
    nm_spark_put_i32(&message, 1);
    nm_spark_put_i64(&message, 0);
    nm_spark_put_i32(&message, 1);
    nm_spark_put_i32(&message, n);
    for (int32_t i = 0; i < n; i++)
        nm_spark_put_i32(&message, i % 3);
    nm_spark_put_u8(&message, 0);
}

/* Asks for n chunks. Returns their stream. */
static int64_t open_blocks(int fd, int32_t n)
{
    struct nm_bytes reply;
    int64_t stream = -1;
    uint8_t code;

    put_open_blocks(n);
    reply = call(fd);
    assert_int_equal(nm_spark_take_u8(&reply, &code), 0);
    assert_int_equal(code, 3);
    assert_int_equal(nm_spark_take_i64(&reply, &stream), 0);
    return stream;
}

/* Requests chunks at once. */
static void request_chunks(int fd, int64_t stream, int32_t first, int32_t n)
{
    struct nm_writer all = {};

    for (int32_t i = first; i < first + n; i++) {
        struct nm_writer content = {};

        nm_spark_put_i64(&content, stream);
        nm_spark_put_i32(&content, i);
        send_frame(fd, 0, &content, &all);
        nm_writer_done(&content);
    }
    send_all(fd, all.data, all.size);
    nm_writer_done(&all);
}

static void receive_chunk(int fd, int64_t stream, int32_t chunk, const char *expected)
{
    struct nm_bytes content = receive_frame(fd, 1, 12 + strlen(expected));
    int64_t id;
    int32_t number;

    assert_int_equal(nm_spark_frame_size(received), 21 + strlen(expected));
    assert_int_equal(nm_spark_take_i64(&content, &id), 0);
    assert_int_equal(nm_spark_take_i32(&content, &number), 0);
    assert_int_equal(id, stream);
    assert_int_equal(number, chunk);
    assert_true(nm_bytes_equal(content, nm_bytes_of(expected)));
}

static const char *const parts[] = {"first", "", "the third"};

/* Makes the block of map 0 for reducer 0 so large that it is sent in many pieces. */
static void make_large(uint64_t bytes)
{
    char *path = strdup(spark_fixture_path(&fixture, "shuffle_0_0_0.data"));

    assert_non_null(path);
    assert_int_equal(truncate(path, (off_t)bytes), 0);
    free(path);
    spark_fixture_index(&fixture, "shuffle_0_0_0.index", (const int64_t[]){0, (int64_t)bytes}, 2);
}

/* Waits until all connections have ended. */
static bool all_have_ended(void)
{
    for (unsigned i = 0; i < PATIENCE_MSEC / 10; i++) {
        if (nm_shuffle_connections_count(service.connections) == 0)
            return true;
        usleep(10000);
    }
    return false;
}

static void wait_for_count(atomic_uint_fast64_t *count, uint64_t value)
{
    const uint64_t deadline_usec = nm_now_usec() + PATIENCE_MSEC * NM_USEC_PER_MSEC;

    while (atomic_load(count) != value) {
        assert_true(nm_now_usec() < deadline_usec);
        usleep(1000);
    }
}

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

static uint64_t servers_cpu_usec(void)
{
    return nm_sub_u64(nm_clock_usec(CLOCK_PROCESS_CPUTIME_ID), nm_clock_usec(CLOCK_THREAD_CPUTIME_ID));
}

static void book(uint64_t work_usec, uint64_t *ret_wait_usec)
{
    assert_int_equal(nm_spark_applications_charge(service.applications, SPARK_APP, work_usec, nm_now_usec(),
                                                  ret_wait_usec), 0);
}

/* An application that has used its burst gets its share of a CPU, by the price of a block. The real cost is about half
 * of it, but a build for coverage takes twice as long. */
static void test_small_blocks_stay_within_the_share(void **state)
{
    enum { N = 9000 };
    const uint64_t price_usec = 10;
    int fd = dial();
    uint64_t begun_usec, passed_usec, cpu_usec, wait_usec;
    int64_t stream;

    (void)state;
    register_executor(fd);
    stream = open_blocks(fd, N);
    begun_usec = nm_now_usec();
    book(NM_SHUFFLE_BURST_USEC, &wait_usec);
    cpu_usec = servers_cpu_usec();
    request_chunks(fd, stream, 0, N);
    for (int32_t i = 0; i < N; i++)
        receive_chunk(fd, stream, i, parts[i % 3]);
    passed_usec = nm_now_usec() - begun_usec;
    cpu_usec = servers_cpu_usec() - cpu_usec;
    assert_true(passed_usec >= (N - 1) * price_usec * 100 / NM_SHUFFLE_SHARE_PERCENT);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they multiply the CPU time of a block */
    assert_true(cpu_usec < passed_usec * 2 * NM_SHUFFLE_SHARE_PERCENT / 100);
#endif
    nm_close(fd);
}

static void limit_memory(uint64_t bytes)
{
    service.memory = nm_spark_memory_free(service.memory);
    assert_int_equal(nm_spark_memory_new(bytes, &service.memory), 0);
}

/* The prices of some answers are far below their costs, for example of long ones, and of those that are encrypted. The
 * time that they have used is booked, too. */
static void test_work_beyond_its_price_stays_within_the_share(void **state)
{
    enum { N = 150, N_EXECS = 800 };
    uint64_t begun_usec, passed_usec, cpu_usec, wait_usec;
    uint8_t *answer = malloc(1 << 20);
    int fd;

    (void)state;
    assert_non_null(answer);
    limit_memory(64 << 20);
    fd = dial();
    register_executor(fd);
    begun_usec = nm_now_usec();
    book(NM_SHUFFLE_BURST_USEC, &wait_usec);
    cpu_usec = servers_cpu_usec();
    for (unsigned i = 0; i < N; i++) {
        nm_spark_put_u8(&message, 10);
        nm_spark_put_text(&message, nm_bytes_of(SPARK_APP));
        nm_spark_put_i32(&message, N_EXECS);
        for (unsigned k = 0; k < N_EXECS; k++)
            nm_spark_put_text(&message, nm_bytes_of("1"));
        send_call(fd);
        assert_int_equal(receive(fd, answer, 8), 8);
        assert_int_equal(receive(fd, answer + 8, nm_spark_frame_size(answer) - 8), nm_spark_frame_size(answer) - 8);
    }
    passed_usec = nm_now_usec() - begun_usec;
    cpu_usec = servers_cpu_usec() - cpu_usec;
    if (cpu_usec >= passed_usec * 3 * NM_SHUFFLE_SHARE_PERCENT / 200)
        fail_msg("%ju us of CPU time in %ju us", (uintmax_t)cpu_usec, (uintmax_t)passed_usec);
    free(answer);
    nm_close(fd);
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

/* Registers an executor, and receives the first bytes of a large block. Returns the connection. */
static int begin_large_block(void)
{
    int fd = dial();

    make_large(LARGE_BYTES);
    register_executor(fd);
    request_chunks(fd, open_blocks(fd, 1), 0, 1);
    (void)receive_frame(fd, 1, 12);
    return fd;
}

/* Asserts that the rest of the block is not sent, and closes the connection. */
static void assert_cut_off(int fd)
{
    uint8_t *block = malloc(LARGE_BYTES);

    assert_non_null(block);
    assert_true(receive(fd, block, LARGE_BYTES) < LARGE_BYTES);
    assert_true(has_closed(fd));
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

/* Streams that are opened and not used take memory. An application may have three eighths of it. */
static void test_open_streams_have_a_limit_for_the_application(void **state)
{
    enum { N = 20000 }; /* blocks, of 4 bytes each */
    int fds[4];         /* the request of the last stream would fit, but not its list, too */
    const size_t n = NM_ARRAY_SIZE(fds);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        fds[i] = dial();
        register_executor(fds[i]);
    }
    for (size_t i = 0; i < n - 1; i++)
        (void)open_blocks(fds[i], N);
    put_open_blocks(N);
    send_call(fds[n - 1]);
    assert_true(has_closed(fds[n - 1]));
    assert_int_equal(atomic_load(&service.count.refused), 1);
    nm_close(fds[0]);
    nm_close(fds[n - 1]);
    fds[0] = dial();
    wait_for_count(&service.count.streams, n - 2);
    register_executor(fds[0]);
    (void)open_blocks(fds[0], N); /* there is room again */
    for (size_t i = 0; i < n - 1; i++)
        nm_close(fds[i]);
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

/* Answers that a client doesn't read take memory of its application. */
static void test_collected_answers_have_a_limit_for_the_application(void **state)
{
    enum { N = 1000, N_CLIENTS = 6, PART = 16 << 10 };
    const uint64_t deadline_usec = nm_now_usec() + PATIENCE_MSEC * NM_USEC_PER_MSEC;
    int fds[N_CLIENTS];

    (void)state;
    limit_memory(512 << 10);
    nm_spark_applications_share(service.applications, 1000000);
    make_large(3 * PART);
    spark_fixture_index(&fixture, "shuffle_0_0_0.index", (const int64_t[]){0, PART, 2 * PART, 3 * PART}, 4);
    for (unsigned i = 0; i < N_CLIENTS; i++) {
        fds[i] = dial();
        register_executor(fds[i]);
        request_chunks(fds[i], open_blocks(fds[i], N), 0, N);
    }
    while (atomic_load(&service.count.refused) == 0) {
        assert_true(nm_now_usec() < deadline_usec);
        usleep(1000);
    }
    for (unsigned i = 0; i < N_CLIENTS; i++)
        nm_close(fds[i]);
}

/* ---- limits --------------------------------------------------------------------------------- */

#define OTHER_APP "application_1_0002"

/* Restarts the server with so many connections, and another application. */
static void restart_with(unsigned n_connections)
{
    const struct nm_spark_application other = {.id = OTHER_APP, .user = "bob", .uid = geteuid() + 1};

    server = nm_spark_server_free(server);
    service.connections = nm_shuffle_connections_free(service.connections);
    assert_int_equal(nm_shuffle_connections_new(n_connections, &service.connections), 0);
    assert_int_equal(nm_spark_applications_add(service.applications, &other, (struct nm_bytes){}, true), 0);
    assert_int_equal(nm_spark_server_new(&service, &listen_here, &server, NULL), 0);
}

/* Asks for the directories of no executor. */
static void ask(int fd, const char *app)
{
    nm_spark_put_u8(&message, 10);
    nm_spark_put_text(&message, nm_bytes_of(app));
    nm_spark_put_i32(&message, 0);
    assert_int_equal(call(fd).size, 13);
}

/* Returns how many threads an application had at the same time, whose blocks are on a slow disk. */
static unsigned hold_threads(void)
{
    enum { N = 24 };
    int fds[N];
    int64_t streams[N];

    for (unsigned i = 0; i < N; i++) {
        fds[i] = dial();
        register_executor(fds[i]);
        streams[i] = open_blocks(fds[i], 4);
    }
    usleep(2 * NM_SPARK_DATA_FILE_USEC); /* no file is open */
    most_pausing = 0;
    pause_usec = 30000;
    for (unsigned i = 0; i < N; i++)
        request_chunks(fds[i], streams[i], 0, 4);
    for (unsigned i = 0; i < N; i++) {
        receive_chunk(fds[i], streams[i], 0, "first");
        nm_close(fds[i]);
    }
    pause_usec = 0;
    assert_true(all_have_ended());
    return most_pausing;
}

/* An application whose blocks are on a slow disk leaves threads for other applications. On a busy machine, threads that
 * seem blocked are replaced, so the test may need some tries. */
static void test_an_application_has_a_part_of_the_threads(void **state)
{
    unsigned n = UINT_MAX;
    int fd;

    (void)state;
    restart_with(96);
    service.data_files = nm_spark_data_files_free(service.data_files); /* each block opens its files */
    for (unsigned i = 0; i < 5 && n > NM_SHUFFLE_OWNER_THREADS_MAX; i++)
        n = hold_threads();
    assert_true(n > NM_SHUFFLE_OWNER_THREADS_MAX / 2);
    assert_in_range(n, 1, NM_SHUFFLE_OWNER_THREADS_MAX);
    fd = dial();
    ask(fd, OTHER_APP);
    nm_close(fd);
}

static void send_unknown(int fd)
{
    nm_spark_put_u8(&message, 10);
    nm_spark_put_text(&message, nm_bytes_of("application_9_9"));
    nm_spark_put_i32(&message, 0);
    send_call(fd);
}

/* A connection that names only unknown applications is closed, however often it gets an answer. */
static void test_a_connection_without_an_application_is_closed(void **state)
{
    const size_t size = 8 + 4 + strlen("The application is not known to this node");
    uint64_t begun_usec;
    int fd = dial();

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        send_unknown(fd);
        (void)receive_frame(fd, 5, size);
    }
    send_unknown(fd);
    assert_true(has_closed(fd));
    assert_int_equal(atomic_load(&service.count.refused), 1);
    nm_close(fd);
    service.limits.timeout_usec = NM_USEC_PER_SEC;
    fd = dial();
    begun_usec = nm_now_usec();
    for (unsigned i = 0; i < 3; i++) {
        usleep(200000);
        send_unknown(fd);
        (void)receive_frame(fd, 5, size);
    }
    assert_true(has_closed(fd));
    assert_true(nm_now_usec() < begun_usec + NM_USEC_PER_SEC * 3 / 2); /* and not a second after the last answer */
    nm_close(fd);
}

/* Clients without an application wait when their host has used up its CPU time, and are refused when it goes on. Those
 * of applications that are connected are answered. */
static void test_a_host_without_an_application_has_a_part_of_the_time(void **state)
{
    const uint64_t host = nm_spark_guests_host(service.guests, "host 127.0.0.1");
    int known = dial(), fd = dial();

    (void)state;
    register_executor(known);
    nm_spark_guests_owe(service.guests, host, NM_SPARK_GUEST_BURST_USEC + 20000, nm_now_usec());
    send_unknown(fd);
    ask(known, SPARK_APP);
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 50), 0);
    assert_int_equal(receive(fd, received, 8), 8); /* 0.2 s after the request */
    nm_close(fd);
    nm_spark_guests_owe(service.guests, host, NM_USEC_PER_SEC, nm_now_usec());
    fd = dial();
    assert_true(has_closed(fd));
    nm_close(fd);
    ask(known, SPARK_APP);
    nm_close(known);
}

/* The figures of an application are those of its connections. */
static void test_an_application_has_figures(void **state)
{
    struct nm_spark_usage usage = {};
    const uint64_t deadline_usec = nm_now_usec() + PATIENCE_MSEC * NM_USEC_PER_MSEC;
    int64_t stream;
    int fd = dial();

    (void)state;
    register_executor(fd);
    (void)open_blocks(fd, 1);
    stream = open_blocks(fd, 3);
    request_chunks(fd, stream, 0, 3);
    for (int32_t i = 0; i < 3; i++)
        receive_chunk(fd, stream, i, parts[i]);
    while (usage.blocks_ok < 2) { /* at the end of the turn */
        assert_true(nm_now_usec() < deadline_usec);
        assert_int_equal(nm_spark_applications_usage(service.applications, SPARK_APP, &usage), 0);
    }
    assert_memory_equal(&usage, (&(struct nm_spark_usage){.blocks_ok = 2, .sent_bytes = 14, .connections = 1,
                                                          .streams = 1}), sizeof usage);
    nm_close(fd);
    assert_true(all_have_ended());
    assert_int_equal(nm_spark_applications_usage(service.applications, SPARK_APP, &usage), 0);
    assert_memory_equal(&usage, (&(struct nm_spark_usage){.blocks_ok = 2, .sent_bytes = 14}), sizeof usage);
}

static void test_one_host_has_a_part_of_the_connections(void **state)
{
    int fds[6];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(fds); i++) /* of 16, one host may have 4 without an application */
        fds[i] = dial();
    assert_true(has_closed(fds[5]));
    register_executor(fds[0]);
    for (size_t i = 0; i < NM_ARRAY_SIZE(fds); i++)
        nm_close(fds[i]);
}

/* Closing is what makes a client try again (spark.shuffle.maxChunksBeingTransferred). */
static void test_blocks_beyond_the_limit_close_their_connection(void **state)
{
    int first, second, fd;

    (void)state;
    service.limits.chunks = 2;
    first = begin_large_block();
    second = begin_large_block();
    assert_int_equal(atomic_load(&service.count.chunks), 2);
    fd = dial();
    register_executor(fd); /* only blocks count */
    request_chunks(fd, open_blocks(fd, 1), 0, 1);
    assert_true(has_closed(fd));
    nm_close(fd);
    assert_int_equal(atomic_load(&service.count.refused), 1);
    nm_close(first);
    wait_for_count(&service.count.chunks, 1);
    fd = begin_large_block();
    nm_close(fd);
    nm_close(second);
    assert_true(all_have_ended());
    assert_int_equal(atomic_load(&service.count.chunks), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_blocks_are_fetched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pipelined_requests_are_answered_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_small_blocks_take_few_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small_blocks_stay_within_the_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_work_beyond_its_price_stays_within_the_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_replaced_file_is_not_served_for_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_idle_connections_keep_no_file_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bytes_that_arrive_one_by_one_are_a_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_large_block_is_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_that_becomes_shorter_ends_the_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_client_that_vanishes_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clients_that_do_not_read_block_no_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_open_streams_have_a_limit_for_the_application, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_answers_that_are_not_read_stop_the_client, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_frames_end_the_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_uploads_are_discarded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_collected_answers_have_a_limit_for_the_application, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_application_has_a_part_of_the_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_connection_without_an_application_is_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_host_without_an_application_has_a_part_of_the_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_application_has_figures, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_host_has_a_part_of_the_connections, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_blocks_beyond_the_limit_close_their_connection, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_silent_connections_are_closed_after_the_timeout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_application_that_ends_loses_its_connections, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_server_stops_with_open_connections, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
