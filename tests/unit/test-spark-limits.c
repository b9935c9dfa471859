/* SPDX-License-Identifier: Apache-2.0 */

/* What one application, one host, and all of them together may make the server do. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "shuffle/share.h"
#include "spark-client.h"
#include "spark/receiver.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/macros.h"

/* ---- a slow disk ---------------------------------------------------------------------------- */

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
    if (pause_usec > 0) /* only files are opened by syscall() */
        pause_for_disk();
    return __real_syscall(number, a, b, c, d);
}

/* ---- CPU time ------------------------------------------------------------------------------- */

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

static int open_bytes(struct nm_spark_cipher *c, struct nm_bytes wire, struct nm_writer *plain)
{
    (void)c;
    nm_writer_put(plain, wire);
    return 0;
}

static uint64_t pending_bytes(const struct nm_spark_cipher *c)
{
    (void)c;
    return 100;
}

/* Encrypted bytes count, too: a piece of a block, and decrypted bytes that are no whole frame. */
static void test_encrypted_bytes_are_counted(void **state)
{
    static const struct nm_spark_cipher_ops ops = {.open = open_bytes, .memory = pending_bytes};
    struct nm_spark_cipher cipher = {&ops};
    struct nm_spark_receiver r;

    (void)state;
    nm_spark_receiver_init(&r, &service, -EBADF, &fixture.application, 1);
    assert_int_equal(nm_spark_receiver_memory(&r), 0);
    r.end = 30;
    assert_int_equal(nm_spark_receiver_encrypt(&r, &cipher), 0);
    assert_true(nm_spark_receiver_memory(&r) >= 100 + 30);
    nm_spark_receiver_done(&r);
}

/* ---- threads and hosts --------------------------------------------------------------------------------- */

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

#define TEST(f) cmocka_unit_test_setup_teardown(f, spark_set_up, spark_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_small_blocks_stay_within_the_share),
        TEST(test_work_beyond_its_price_stays_within_the_share),
        TEST(test_open_streams_have_a_limit_for_the_application),
        TEST(test_collected_answers_have_a_limit_for_the_application),
        TEST(test_encrypted_bytes_are_counted),
        TEST(test_an_application_has_a_part_of_the_threads),
        TEST(test_a_connection_without_an_application_is_closed),
        TEST(test_a_host_without_an_application_has_a_part_of_the_time),
        TEST(test_an_application_has_figures),
        TEST(test_one_host_has_a_part_of_the_connections),
        TEST(test_blocks_beyond_the_limit_close_their_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
