/* SPDX-License-Identifier: Apache-2.0 */

/* The server for map outputs: the exact bytes of answers, refused requests, and clients that try to block the
 * server. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shuffle-client.h"
#include "shuffle/socket.h"
#include "util/clock.h"
#include "util/error.h"

static void test_an_output_is_sent_with_the_exact_bytes(void **state)
{
    (void)state;
    assert_output_is_sent_to_the_byte();
}

/* Reads an answer that ends with the part "first". */
static void receive_first(int fd)
{
    size_t size = 0;

    while (size < 5 || memcmp(reply + size - 5, "first", 5) != 0) {
        ssize_t n = recv(fd, reply + size, sizeof reply - size, 0);

        assert_true(n > 0);
        size += (size_t)n;
    }
    assert_true(reply_begins("HTTP/1.1 200 OK\r\n"));
}

/* A connection has a thread only while it has a request. Afterwards it can still be used. */
static void test_an_idle_connection_has_no_thread(void **state)
{
    const char *target = TARGET "&keepAlive=true";
    const unsigned before = n_threads();
    int idle[2] = {dial(), dial()};

    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < NM_ARRAY_SIZE(idle); i++) {
            ask(idle[i], target, signed_for(target));
            receive_first(idle[i]);
        }
        assert_true(has_threads(before));
    }
    assert_int_equal(nm_shuffle_connections_count(shuffle_client.service.connections), 2);
    close(idle[0]); /* the server closes the other one when it is freed */
    while (nm_shuffle_connections_count(shuffle_client.service.connections) > 1)
        assert_int_equal(usleep(1000), 0);
    assert_int_equal(shuffle_client.service.count.outputs_ok, 6);
    shuffle_client.server = nm_shuffle_server_free(shuffle_client.server);
    assert_int_equal(recv(idle[1], reply, sizeof reply, 0), 0);
    close(idle[1]);
}

/* Files that were found stay open until they are sent. Beyond the limit they are opened again. */
static void test_the_answer_is_the_same_with_any_number_of_kept_files(void **state)
{
    (void)state;
    for (unsigned max = 0; max <= 3; max++) {
        shuffle_client.service.max_kept_files = max;
        shuffle_client.service.count.sent_bytes = shuffle_client.service.count.outputs_ok = 0;
        assert_output_is_sent_to_the_byte();
        assert_true(all_connections_have_ended());
        assert_int_equal(shuffle_client.service.n_kept_files, 0);
    }
}

/* The second of the two outputs does not exist. */
static void test_a_refused_request_closes_the_files_that_it_kept(void **state)
{
    (void)state;
    fetch(TARGET "," ATTEMPT(2), signed_for(TARGET "," ATTEMPT(2)));
    assert_true(reply_begins("HTTP/1.1 500 "));
    assert_true(all_connections_have_ended());
    assert_int_equal(shuffle_client.service.n_kept_files, 0);
}

static void test_an_output_larger_than_all_buffers_is_sent(void **state)
{
    (void)state;
    assert_large_output_is_sent();
}

static void test_a_file_truncated_while_it_is_sent_ends_the_connection(void **state)
{
    (void)state;
    assert_cut_output_ends_the_connection();
}

static void test_a_connection_is_kept_alive(void **state)
{
    const char *target = TARGET "&keepAlive=true";
    int fd = dial();
    size_t size;

    (void)state;
    ask(fd, target, signed_for(target));
    ask(fd, target, signed_for(target)); /* both replies may arrive in one read */
    size = receive(fd, 80);
    assert_true(reply_begins("HTTP/1.1 200 OK\r\nContent-Length: 46\r\nConnection: keep-alive\r\nKee"));
    ask(fd, TARGET, signed_for(TARGET));
    size_t rest = receive(fd, sizeof reply - 1);
    /* memmem() instead of strstr(), since the bodies contain NUL bytes */
    assert_non_null(memmem(reply, rest, "Connection: close", 17));
    close(fd);
    assert_int_equal(shuffle_client.service.count.outputs_ok, 3);
    assert_int_equal(shuffle_client.service.count.connections, 1);
    assert_true(size + rest > 3 * 46);
}

static void test_a_request_with_a_wrong_signature_is_refused(void **state)
{
    const char *of_unknown_job = "/mapOutput?job=job_1_1&reduce=0&map=" ATTEMPT(0);
    const struct {
        const char *target, *hashed_with_key, *hashed;
    } cases[] = {
        {TARGET, "7letters", TARGET},
        {TARGET "&x=1", NULL, TARGET},
        {of_unknown_job, NULL, of_unknown_job},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        fetch(cases[i].target, cases[i].hashed_with_key ? hash(cases[i].hashed_with_key, cases[i].hashed)
                                                        : signed_for(cases[i].hashed));
        assert_true(reply_begins("HTTP/1.1 401 Unauthorized\r\n"));
    }
    fetch("/mapOutput", "x");
    assert_true(reply_begins("HTTP/1.1 400 Bad Request\r\n"));
    assert_int_equal(shuffle_client.service.count.outputs_ok, 0);
}

static void test_an_output_that_does_not_exist_is_an_error(void **state)
{
    const char *missing = TARGET "," ATTEMPT(2), *beyond = "/mapOutput?job=" JOB "&reduce=1&map=" ATTEMPT(0);

    (void)state;
    fetch(missing, signed_for(missing));
    assert_true(reply_begins("HTTP/1.1 500 Internal Server Error\r\n"));
    assert_non_null(
        strstr(reply, "The output of " ATTEMPT(2) " for reducer 0: there is no such output on this node\n"));
    fetch(beyond, signed_for(beyond));
    assert_non_null(strstr(reply, "for reducer 1: it has no part for that reducer\n"));
    assert_int_equal(shuffle_client.service.count.outputs_ok, 0);
    assert_int_equal(shuffle_client.service.count.outputs_failed, 2);
}

static void test_a_request_for_a_removed_job_is_refused(void **state)
{
    uint64_t number;

    (void)state;
    assert_int_equal(nm_shuffle_jobs_remove(shuffle_client.service.jobs, JOB, &number), 0);
    fetch(TARGET, signed_for(TARGET));
    assert_true(reply_begins("HTTP/1.1 401 Unauthorized\r\n"));
    assert_int_equal(shuffle_client.service.count.outputs_ok, 0);
}

static void test_a_request_head_without_an_end_is_refused(void **state)
{
    char line[1025] = "";
    int fd = dial();

    (void)state;
    memset(line, 'a', 1024);
    for (unsigned i = 0; i < NM_SHUFFLE_HEAD_MAX / 1024; i++)
        send_text(fd, line);
    receive(fd, sizeof reply - 1);
    assert_true(reply_begins("HTTP/1.1 431 "));
    close(fd);
}

/* The client sends half a request and then no more data. The server closes the connection to free its slot. */
static void test_an_incomplete_request_frees_its_slot_after_a_timeout(void **state)
{
    int fd;

    (void)state;
    shuffle_client.service.request_usec = 50 * NM_USEC_PER_MSEC;
    fd = dial();
    send_text(fd, "GET /mapOutput");
    assert_int_equal(receive(fd, sizeof reply - 1), 0);
    close(fd);
}

/* Returns a connection whose client doesn't read the answer. */
static int dial_without_reading(void)
{
    int fd = dial();

    ask(fd, TARGET, signed_for(TARGET));
    receive(fd, 15);
    assert_true(reply_begins("HTTP/1.1 200 OK"));
    return fd;
}

/* The reducers of one user get half of the slots. Other users may use the other half. The spare slots are used to
 * refuse requests. */
static void test_one_user_gets_half_of_the_slots(void **state)
{
    struct nm_shuffle_job other = {
        .id = "job_1410901177871_0002", .user = "bob", .uid = geteuid() + 1, .key = "8letters", .key_size = 8};
    const char *target = "/mapOutput?job=job_1410901177871_0002&reduce=0&map=" ATTEMPT(0);
    int held[MAX_SLOTS];

    (void)state;
    assert_int_equal(nm_shuffle_jobs_add(shuffle_client.service.jobs, &other), 0);
    large_output(16 << 20);
    for (unsigned i = 0; i < JOB_SLOTS; i++)
        held[i] = dial_without_reading();
    fetch(TARGET, signed_for(TARGET));
    assert_true(reply_begins("HTTP/1.1 429 Too Many Requests\r\n"));
    assert_non_null(strstr(reply, "Retry-After: 1000\r\n"));
    assert_non_null(strstr(reply, "The job's user already has half of all connections"));
    fetch(target, signed_for(target)); /* the server accepts bob's request, but bob has no output here */
    assert_true(reply_begins("HTTP/1.1 500 "));
    while (nm_shuffle_connections_count(shuffle_client.service.connections) > JOB_SLOTS)
        assert_int_equal(usleep(1000), 0);
    for (unsigned i = JOB_SLOTS; i < MAX_SLOTS; i++)
        held[i] = dial_from(i);
    while (nm_shuffle_connections_count(shuffle_client.service.connections) < MAX_SLOTS)
        assert_int_equal(usleep(1000), 0);
    fetch(target, signed_for(target));
    assert_true(reply_begins("HTTP/1.1 429 Too Many Requests\r\n"));
    assert_non_null(strstr(reply, "All connections are in use"));
    assert_int_equal(shuffle_client.service.count.refused, 1);
    for (unsigned i = 0; i < MAX_SLOTS; i++)
        close(held[i]);
}

/* Another host can connect although one host holds many connections open without a request. */
static void test_open_connections_of_one_host_do_not_block_another_host(void **state)
{
    int held[MAX_SLOTS + NM_SHUFFLE_SPARE_SLOTS + 4];

    (void)state;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(held); i++) {
        held[i] = dial_from(2);
        send_text(held[i], "GET /mapOutput?job=");
    }
    while (shuffle_client.service.count.connections + shuffle_client.service.count.refused < NM_ARRAY_SIZE(held))
        assert_int_equal(usleep(1000), 0);
    fetch(TARGET, signed_for(TARGET));
    assert_true(reply_begins("HTTP/1.1 200 OK\r\n"));
    for (unsigned i = 0; i < NM_ARRAY_SIZE(held); i++)
        close(held[i]);
}

/* The server stops without waiting for clients that don't read. */
static void test_the_server_stops_without_waiting_for_clients(void **state)
{
    uint64_t begun;
    int fd;

    (void)state;
    large_output(16 << 20);
    fd = dial_without_reading();
    begun = nm_now_usec();
    shuffle_client.server = nm_shuffle_server_free(shuffle_client.server);
    assert_true(nm_now_usec() - begun < PATIENCE_MSEC * NM_USEC_PER_MSEC);
    close(fd);
}

static void test_an_address_without_host_or_port_is_refused(void **state)
{
    static const char *const bad[] = {
        "", ":", "127.0.0.1", "host:1x", "127.0.0.1:", "127.0.0.1:99999", "[::1:1", "nowhere.example:1"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        _cleanup_free_ char *message = NULL;
        struct nm_shuffle_server *other;

        assert_int_equal(nm_shuffle_server_new(&shuffle_client.service, bad[i], &other, &message), -EINVAL);
        assert_non_null(strstr(message, "is not an address to listen at"));
    }
}

/* Returns the server's side of a connection: the server is in this process. */
static int server_side_of(int client)
{
    struct sockaddr_in own, peer;

    for (int fd = 3; fd < 1024; fd++) {
        socklen_t size = sizeof own, peer_size = sizeof peer;

        assert_int_equal(getsockname(client, (struct sockaddr *)&own, &size), 0);
        if (fd != client && getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0 &&
            peer.sin_family == AF_INET && peer.sin_port == own.sin_port)
            return fd;
    }
    fail_msg("the server has no such connection");
    return -EBADF;
}

static int option_of(int fd, int option)
{
    int value;
    socklen_t size = sizeof value;

    assert_int_equal(getsockopt(fd, SOL_SOCKET, option, &value, &size), 0);
    return value;
}

/* Connects, with a window so small that most of an answer stays in the server's socket. */
static int dial_with_small_window(void)
{
    const struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(shuffle_client.service.port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){1}, sizeof(int)), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* The server does not let the kernel keep more for a connection, whether the client reads or not. */
static void test_the_buffers_of_a_connection_have_limits(void **state)
{
    int fd = dial(), server_fd;
    size_t n, kept, most = 0;

    (void)state;
    large_output(32 << 20);
    ask(fd, TARGET, signed_for(TARGET));
    receive(fd, 1000);
    server_fd = server_side_of(fd);
    for (unsigned i = 0; i < 300; i++) {
        usleep(i < 20 ? 10000 : 0);
        kept = nm_shuffle_socket_unread(server_fd);
        most = NM_MAX(most, kept);
        n = receive(fd, sizeof reply - 1);
        assert_true(n > 0);
    }
    assert_int_equal(option_of(server_fd, SO_SNDBUF), 2 * NM_SHUFFLE_SEND_BUFFER_BYTES);
    assert_int_equal(option_of(server_fd, SO_RCVBUF), 2 * NM_SHUFFLE_RECEIVE_BUFFER_BYTES);
    assert_in_range(most, 1, 2 * NM_SHUFFLE_SEND_BUFFER_BYTES + (64 << 10));
    close(fd);
    assert_true(all_connections_have_ended());
}

/* A reducer reads the end of its answer slowly. Its connection counts until then. */
static void test_a_connection_counts_until_its_answer_is_read(void **state)
{
    const uint64_t bytes = 100 << 10;
    uint64_t received = 0;
    int fd = dial_with_small_window();
    size_t n;

    (void)state;
    large_output(bytes);
    ask(fd, TARGET, signed_for(TARGET));
    while (shuffle_client.service.count.outputs_ok == 0)
        assert_int_equal(usleep(1000), 0);
    usleep(2500000); /* longer than LINGER_USEC */
    assert_int_equal(nm_shuffle_connections_count(shuffle_client.service.connections), 1);
    while ((n = receive(fd, sizeof reply - 1)) > 0)
        received += n;
    assert_true(received > bytes && received < bytes + 512);
    assert_true(all_connections_have_ended());
    close(fd);
}

/* The kernel would keep the rest of the answer for minutes, and the connection would not count any more. */
static void test_an_answer_is_discarded_when_its_connection_ends(void **state)
{
    int fd = dial_with_small_window();
    ssize_t n;

    (void)state;
    large_output(1 << 20);
    ask(fd, TARGET, signed_for(TARGET));
    while (shuffle_client.service.count.sent_bytes == 0)
        assert_int_equal(usleep(1000), 0);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_true(all_connections_have_ended());
    while ((n = recv(fd, reply, sizeof reply, 0)) > 0)
        ;
    assert_int_equal(n, -1);
    assert_int_equal(errno, ECONNRESET);
    close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, shuffle_client_set_up, shuffle_client_tear_down)

/* Sends until the server closes the connection. */
static void *flood(void *fd)
{
    static const char text[4096] = {'x'};

    while (send(*(const int *)fd, text, sizeof text, MSG_NOSIGNAL) > 0)
        ;
    return NULL;
}

/* The server reads what a refused client sends, so that the client gets the answer, but only for a second. */
static void test_refused_clients_that_keep_sending_do_not_block_the_server(void **state)
{
    pthread_t threads[8];
    int fds[NM_ARRAY_SIZE(threads)];

    (void)state;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(threads); i++) {
        fds[i] = dial_from(i + 1);
        assert_int_equal(send(fds[i], "X\r\n\r\n", 5, MSG_NOSIGNAL), 5);
        assert_int_equal(pthread_create(&threads[i], NULL, flood, &fds[i]), 0);
    }
    fetch(TARGET, signed_for(TARGET));
    assert_true(reply_begins("HTTP/1.1 200 OK"));
    for (unsigned i = 0; i < NM_ARRAY_SIZE(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        close(fds[i]);
    }
    assert_true(all_connections_have_ended());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_output_is_sent_with_the_exact_bytes),
        TEST(test_an_idle_connection_has_no_thread),
        TEST(test_the_answer_is_the_same_with_any_number_of_kept_files),
        TEST(test_a_refused_request_closes_the_files_that_it_kept),
        TEST(test_an_output_larger_than_all_buffers_is_sent),
        TEST(test_a_file_truncated_while_it_is_sent_ends_the_connection),
        TEST(test_a_connection_is_kept_alive),
        TEST(test_a_request_with_a_wrong_signature_is_refused),
        TEST(test_an_output_that_does_not_exist_is_an_error),
        TEST(test_a_request_for_a_removed_job_is_refused),
        TEST(test_a_request_head_without_an_end_is_refused),
        TEST(test_an_incomplete_request_frees_its_slot_after_a_timeout),
        TEST(test_one_user_gets_half_of_the_slots),
        TEST(test_open_connections_of_one_host_do_not_block_another_host),
        TEST(test_refused_clients_that_keep_sending_do_not_block_the_server),
        TEST(test_the_buffers_of_a_connection_have_limits),
        TEST(test_a_connection_counts_until_its_answer_is_read),
        TEST(test_an_answer_is_discarded_when_its_connection_ends),
        TEST(test_the_server_stops_without_waiting_for_clients),
        TEST(test_an_address_without_host_or_port_is_refused),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
