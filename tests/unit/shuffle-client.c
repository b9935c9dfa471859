/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/hadoop/digest.h"
#include "shuffle-client.h"
#include "util/clock.h"
#include "util/fileio.h"

struct shuffle_client shuffle_client;
char reply[1 << 16];
unsigned shuffle_client_slots = MAX_SLOTS;

int shuffle_client_set_up(void **state)
{
    (void)state;
    shuffle_fixture_new(&shuffle_client.fixture);
    shuffle_client.service = (struct nm_shuffle_service){.request_usec = NM_SHUFFLE_REQUEST_USEC,
                                          .max_kept_files = 8, .drops_cache = true,
                                          .dirs = {.names = {shuffle_fixture_local(&shuffle_client.fixture, "a")},
                                                   .n = 1}};
    assert_int_equal(nm_shuffle_jobs_new(&shuffle_client.service.jobs), 0);
    assert_int_equal(nm_shuffle_index_cache_new(&shuffle_client.service.dirs.index_cache), 0);
    assert_int_equal(nm_shuffle_connections_new(shuffle_client_slots, &shuffle_client.service.connections), 0);
    assert_int_equal(nm_shuffle_jobs_add(shuffle_client.service.jobs, &shuffle_client.fixture.job), 0);
    shuffle_fixture_output(&shuffle_client.fixture, "a", ATTEMPT(0), (const char *const[]){"first", NULL});
    shuffle_fixture_output(&shuffle_client.fixture, "a", ATTEMPT(1), (const char *const[]){"", NULL});
    assert_int_equal(nm_shuffle_server_new(&shuffle_client.service, "127.0.0.1:0", &shuffle_client.server, NULL), 0);
    return 0;
}

int shuffle_client_tear_down(void **state)
{
    (void)state;
    shuffle_client.server = nm_shuffle_server_free(shuffle_client.server);
    assert_true(has_threads(1)); /* a thread that has not quite ended would count for the next test */
    assert_int_equal(nm_shuffle_connections_count(shuffle_client.service.connections), 0);
    nm_shuffle_jobs_free(shuffle_client.service.jobs);
    nm_shuffle_index_cache_free(shuffle_client.service.dirs.index_cache);
    nm_shuffle_connections_free(shuffle_client.service.connections);
    free((char *)shuffle_client.service.dirs.names[0]);
    shuffle_fixture_done(&shuffle_client.fixture);
    return 0;
}

int dial_from(unsigned host)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons(shuffle_client.service.port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl((127u << 24) + host)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

int dial(void)
{
    return dial_from(1);
}

void send_text(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

const char *hash(const char *key, const char *of)
{
    static char text[32];
    uint8_t digest[NM_DIGEST_SIZE];

    assert_int_equal(nm_digest_hmac((const uint8_t *)key, 8, (const uint8_t *)of, strlen(of), digest), 0);
    nm_digest_text(digest, text);
    return text;
}

const char *signed_for(const char *target)
{
    char message[NM_SHUFFLE_HEAD_MAX];

    snprintf(message, sizeof message, "%u%s", shuffle_client.service.port, target);
    return hash((const char *)shuffle_client.fixture.job.key, message);
}

void ask(int fd, const char *target, const char *url_hash)
{
    char head[NM_SHUFFLE_HEAD_MAX];

    snprintf(head, sizeof head,
             "GET %s HTTP/1.1\r\nHost: x\r\nname: mapreduce\r\nversion: 1.0.0\r\nUrlHash: %s\r\n\r\n", target,
             url_hash);
    send_text(fd, head);
}

size_t receive(int fd, size_t most)
{
    uint64_t deadline = nm_now_usec() + PATIENCE_MSEC * NM_USEC_PER_MSEC;
    size_t size = 0;

    assert_true(most < sizeof reply);
    while (size < most) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t n;

        assert_true(nm_now_usec() < deadline);
        assert_true(poll(&p, 1, PATIENCE_MSEC) > 0);
        n = recv(fd, reply + size, most - size, 0);
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    reply[size] = '\0';
    return size;
}

bool reply_begins(const char *with)
{
    if (strncmp(reply, with, strlen(with)) == 0)
        return true;
    print_message("the reply begins: %.200s\n", reply);
    return false;
}

void fetch(const char *target, const char *url_hash)
{
    int fd = dial();

    ask(fd, target, url_hash);
    receive(fd, sizeof reply - 1);
    close(fd);
}

void large_output(uint64_t bytes)
{
    char *part = malloc(bytes + 1);

    assert_non_null(part);
    memset(part, 'x', bytes);
    part[bytes] = '\0';
    shuffle_fixture_output(&shuffle_client.fixture, "a", ATTEMPT(0), (const char *const[]){part, NULL});
    free(part);
}

bool all_connections_have_ended(void)
{
    const uint64_t deadline_usec = nm_now_usec() + 5 * NM_USEC_PER_SEC;

    while (nm_shuffle_connections_count(shuffle_client.service.connections) > 0 && nm_now_usec() < deadline_usec)
        assert_int_equal(usleep(1000), 0);
    return nm_shuffle_connections_count(shuffle_client.service.connections) == 0;
}

unsigned n_threads(void)
{
    char text[4096];
    const char *at;
    unsigned n = 0;

    assert_int_equal(nm_read_file_at(AT_FDCWD, "/proc/self/status", text, sizeof text, NULL), 0);
    at = strstr(text, "Threads:");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "Threads: %u", &n), 1);
    return n;
}

bool has_threads(unsigned n)
{
    const uint64_t deadline_usec = nm_now_usec() + PATIENCE_MSEC * NM_USEC_PER_MSEC;

    while (n_threads() != n && nm_now_usec() < deadline_usec)
        assert_int_equal(usleep(1000), 0);
    return n_threads() == n;
}

void book_work(uint64_t work_usec, uint64_t expected_wait_usec)
{
    uint64_t wait_usec;

    assert_int_equal(nm_shuffle_jobs_charge(shuffle_client.service.jobs, JOB, work_usec, nm_now_usec(), &wait_usec), 0);
    assert_true(wait_usec <= expected_wait_usec);
}

void assert_output_is_sent_to_the_byte(void)
{
    const char *target = TARGET "," ATTEMPT(1);
    /* A Text, vlong 5, vlong 10, vint 0 and the part. An empty part with its own Text and lengths follows. */
    const char body[] = "\x25" ATTEMPT(0) "\x05\x0a\x00" "first" "\x25" ATTEMPT(1) "\x00\x00\x00";
    char expected[512], signature[32];
    int n;

    snprintf(signature, sizeof signature, "%s", signed_for(target));
    fetch(target, signature);
    n = snprintf(expected, sizeof expected,
                 "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\nReplyHash: %s\r\nname: mapreduce\r\n"
                 "version: 1.0.0\r\n\r\n", sizeof body - 1,
                 hash((const char *)shuffle_client.fixture.job.key, signature));
    assert_true(reply_begins(expected));
    assert_memory_equal(reply + n, body, sizeof body);
    assert_int_equal(shuffle_client.service.count.outputs_ok, 2);
    assert_int_equal(shuffle_client.service.count.sent_bytes, 5);
}

void assert_large_output_is_sent(void)
{
    uint64_t bytes = 9 << 20, received = 0;
    int fd = dial();
    size_t n;

    large_output(bytes);
    ask(fd, TARGET, signed_for(TARGET));
    while ((n = receive(fd, sizeof reply - 1)) > 0)
        received += n;
    close(fd);
    assert_true(received > bytes && received < bytes + 512);
    assert_int_equal(shuffle_client.service.count.sent_bytes, bytes);
}

void assert_cut_output_ends_the_connection(void)
{
    uint64_t bytes = 64 << 20, received = 0;
    int fd = dial();
    size_t n;

    large_output(bytes);
    ask(fd, TARGET, signed_for(TARGET));
    received += receive(fd, 1000);
    assert_int_equal(truncate(shuffle_fixture_path(&shuffle_client.fixture, "a", ATTEMPT(0), "file.out"), 1000), 0);
    while ((n = receive(fd, sizeof reply - 1)) > 0)
        received += n;
    close(fd);
    assert_true(received < bytes);
    assert_int_equal(shuffle_client.service.count.outputs_failed, 1);
}
