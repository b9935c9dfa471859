/* SPDX-License-Identifier: Apache-2.0 */

/* See spark-client.h. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "open-descriptors.h"
#include "spark-client.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/macros.h"

struct spark_fixture fixture;
struct nm_spark_service service;
struct nm_spark_server *server;
const struct nm_spark_listen listen_here = {.address = "127.0.0.1:0", .backlog = 16, .keeps_alive = true};
struct nm_writer message;
uint8_t received[1024];
const char *const parts[3] = {"first", "", "the third"};
static unsigned n_open;

int spark_set_up(void **state)
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

int spark_tear_down(void **state)
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

/* ---- the client ----------------------------------------------------------------------------- */

int dial(void)
{
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons(nm_spark_server_port(server)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

void send_all(int fd, const void *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

        assert_true(n > 0);
        data = (const uint8_t *)data + n;
        size -= (size_t)n;
    }
}

/* Sends a frame, or adds it to others if `to` is not NULL. */
void send_frame(int fd, uint8_t type, const struct nm_writer *content, struct nm_writer *to)
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
size_t receive(int fd, void *to, size_t size)
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

/* Receives a frame of this type into `received`, without a block. Returns its content. */
struct nm_bytes receive_frame(int fd, uint8_t type, size_t content)
{
    assert_int_equal(receive(fd, received, 9 + content), 9 + content);
    assert_int_equal(received[8], type);
    return (struct nm_bytes){received + 9, content};
}

bool has_closed(int fd)
{
    uint8_t byte;

    return receive(fd, &byte, 1) == 0;
}

/* Sends the message in `message` as request 9. */
void send_call(int fd)
{
    struct nm_writer content = {};

    nm_spark_put_i64(&content, 9);
    nm_spark_put_text(&content, (struct nm_bytes){message.data, message.size});
    send_frame(fd, 3, &content, NULL);
    nm_writer_done(&content);
    nm_writer_done(&message);
}

/* Does the same, and returns the reply's message. */
struct nm_bytes call(int fd)
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

void register_executor(int fd)
{
    char *b = strdup(spark_fixture_registered(&fixture, 1));

    assert_non_null(b);
    spark_fixture_registration(&message, SPARK_APP, "1",
                               (const char *const[]){b, spark_fixture_registered(&fixture, 0), NULL});
    assert_int_equal(call(fd).size, 0);
    free(b);
}

/* Makes a message that asks for n chunks: the blocks of map 0 for the reducers 0, 1, 2, 0 ... */
void put_open_blocks(int32_t n)
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
int64_t open_blocks(int fd, int32_t n)
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
void request_chunks(int fd, int64_t stream, int32_t first, int32_t n)
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

void receive_chunk(int fd, int64_t stream, int32_t chunk, const char *expected)
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

/* Makes the block of map 0 for reducer 0 so large that it is sent in many pieces. */
void make_large(uint64_t bytes)
{
    char *path = strdup(spark_fixture_path(&fixture, "shuffle_0_0_0.data"));

    assert_non_null(path);
    assert_int_equal(truncate(path, (off_t)bytes), 0);
    free(path);
    spark_fixture_index(&fixture, "shuffle_0_0_0.index", (const int64_t[]){0, (int64_t)bytes}, 2);
}

/* Waits until all connections have ended. */
bool all_have_ended(void)
{
    for (unsigned i = 0; i < PATIENCE_MSEC / 10; i++) {
        if (nm_shuffle_connections_count(service.connections) == 0)
            return true;
        usleep(10000);
    }
    return false;
}

void wait_for_count(atomic_uint_fast64_t *count, uint64_t value)
{
    const uint64_t deadline_usec = nm_now_usec() + PATIENCE_MSEC * NM_USEC_PER_MSEC;

    while (atomic_load(count) != value) {
        assert_true(nm_now_usec() < deadline_usec);
        usleep(1000);
    }
}

/* Registers an executor, and receives the first bytes of a large block. Returns the connection. */
int begin_large_block(void)
{
    int fd = dial();

    make_large(LARGE_BYTES);
    register_executor(fd);
    request_chunks(fd, open_blocks(fd, 1), 0, 1);
    (void)receive_frame(fd, 1, 12);
    return fd;
}

/* Asserts that the rest of the block is not sent, and closes the connection. */
void assert_cut_off(int fd)
{
    uint8_t *block = malloc(LARGE_BYTES);

    assert_non_null(block);
    assert_true(receive(fd, block, LARGE_BYTES) < LARGE_BYTES);
    assert_true(has_closed(fd));
    free(block);
    nm_close(fd);
}
