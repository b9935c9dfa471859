/* SPDX-License-Identifier: Apache-2.0 */

/* The server with real connections: the exact bytes of answers, refused connections, and clients that could block
 * it. */

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cmocka.h>
#include <zlib.h>

#include "refusing-system.h"
#include "rpc/hadoop/digest.h"
#include "shuffle-world.h"
#include "shuffle/server.h"
#include "util/clock.h"
#include "util/error.h"

#define MAX_SLOTS 16 /* four of them for unknown clients of one host */
#define JOB_SLOTS 6
#define PATIENCE_MSEC 20000
#define TARGET "/mapOutput?job=" JOB "&reduce=0&map=" ATTEMPT(0)

static struct shuffle_world world;
static struct nm_shuffle_service service;
static struct nm_shuffle_server *server;
static char reply[1 << 16];

static int set_up(void **state)
{
    (void)state;
    test_thread = pthread_self();
    accept_error = thread_error = poll_error = sendfile_error = 0;
    shuffle_world_new(&world);
    service = (struct nm_shuffle_service){.request_usec = NM_SHUFFLE_REQUEST_USEC,
                                          .dirs = {.names = {shuffle_world_local(&world, "a")}, .n = 1}};
    assert_int_equal(nm_shuffle_jobs_new(&service.jobs), 0);
    assert_int_equal(nm_shuffle_checked_new(&service.dirs.checked), 0);
    assert_int_equal(nm_shuffle_connections_new(MAX_SLOTS, &service.connections), 0);
    assert_int_equal(nm_shuffle_jobs_add(service.jobs, &world.job), 0);
    shuffle_world_output(&world, "a", ATTEMPT(0), (const char *const[]){"first", NULL});
    shuffle_world_output(&world, "a", ATTEMPT(1), (const char *const[]){"", NULL});
    assert_int_equal(nm_shuffle_server_new(&service, "127.0.0.1:0", &server, NULL), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    server = nm_shuffle_server_free(server);
    assert_int_equal(nm_shuffle_connections_count(service.connections), 0);
    nm_shuffle_jobs_free(service.jobs);
    nm_shuffle_checked_free(service.dirs.checked);
    nm_shuffle_connections_free(service.connections);
    free((char *)service.dirs.names[0]);
    shuffle_world_done(&world);
    return 0;
}

/* ---- a reducer ---------------------------------------------------------------------------- */

/* Connects from 127.0.0.HOST. */
static int dial_from(unsigned host)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(service.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl((127u << 24) + host)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static int dial(void)
{
    return dial_from(1);
}

static void send_text(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static const char *hash(const char *key, const char *of)
{
    static char text[32];
    uint8_t digest[NM_DIGEST_SIZE];

    assert_int_equal(nm_digest_hmac((const uint8_t *)key, 8, (const uint8_t *)of, strlen(of), digest), 0);
    nm_digest_text(digest, text);
    return text;
}

static const char *signed_for(const char *target)
{
    char message[NM_SHUFFLE_HEAD_MAX];

    snprintf(message, sizeof message, "%u%s", service.port, target);
    return hash((const char *)world.job.key, message);
}

static void ask(int fd, const char *target, const char *url_hash)
{
    char head[NM_SHUFFLE_HEAD_MAX];

    snprintf(head, sizeof head,
             "GET %s HTTP/1.1\r\nHost: x\r\nname: mapreduce\r\nversion: 1.0.0\r\nUrlHash: %s\r\n\r\n", target,
             url_hash);
    send_text(fd, head);
}

/* Reads until the other side closes the connection, or until `most` bytes have arrived. */
static size_t hear(int fd, size_t most)
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

static bool begins(const char *with)
{
    if (strncmp(reply, with, strlen(with)) == 0)
        return true;
    print_message("it begins: %.200s\n", reply);
    return false;
}

/* Sends a request over a new connection and reads the whole reply. */
static void fetch(const char *target, const char *url_hash)
{
    int fd = dial();

    ask(fd, target, url_hash);
    hear(fd, sizeof reply - 1);
    close(fd);
}

static void large_output(uint64_t bytes)
{
    char *part = malloc(bytes + 1);

    assert_non_null(part);
    memset(part, 'x', bytes);
    part[bytes] = '\0';
    shuffle_world_output(&world, "a", ATTEMPT(0), (const char *const[]){part, NULL});
    free(part);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void test_to_the_byte(void **state)
{
    const char *target = TARGET "," ATTEMPT(1);
    /* Text, vlong 5, vlong 10, vint 0, the part; then the same for an empty part. */
    const char body[] = "\x25" ATTEMPT(0) "\x05\x0a\x00" "first" "\x25" ATTEMPT(1) "\x00\x00\x00";
    char expected[512], signature[32];
    int n;

    (void)state;
    snprintf(signature, sizeof signature, "%s", signed_for(target));
    fetch(target, signature);
    n = snprintf(expected, sizeof expected,
                 "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\nReplyHash: %s\r\nname: mapreduce\r\n"
                 "version: 1.0.0\r\n\r\n", sizeof body - 1, hash((const char *)world.job.key, signature));
    assert_true(begins(expected));
    assert_memory_equal(reply + n, body, sizeof body);
    assert_int_equal(service.count.outputs_ok, 2);
    assert_int_equal(service.count.sent_bytes, 5);
}

static void test_kept_alive(void **state)
{
    const char *target = TARGET "&keepAlive=true";
    int fd = dial();
    size_t size;

    (void)state;
    ask(fd, target, signed_for(target));
    ask(fd, target, signed_for(target)); /* both replies may arrive at once */
    size = hear(fd, 80);
    assert_true(begins("HTTP/1.1 200 OK\r\nContent-Length: 46\r\nConnection: keep-alive\r\nKee"));
    ask(fd, TARGET, signed_for(TARGET));
    size_t rest = hear(fd, sizeof reply - 1);
    assert_non_null(memmem(reply, rest, "Connection: close", 17)); /* memmem(), since bodies contain NULs */
    close(fd);
    assert_int_equal(service.count.outputs_ok, 3);
    assert_int_equal(service.count.connections, 1);
    assert_true(size + rest > 3 * 46);
}

static void test_refusals(void **state)
{
    const char *unknown = "/mapOutput?job=job_1_1&reduce=0&map=" ATTEMPT(0), *missing = TARGET "," ATTEMPT(2),
               *beyond = "/mapOutput?job=" JOB "&reduce=1&map=" ATTEMPT(0);

    (void)state;
    fetch(TARGET, hash("7letters", TARGET));
    assert_true(begins("HTTP/1.1 401 Unauthorized\r\n"));
    fetch(TARGET "&x=1", signed_for(TARGET));
    assert_true(begins("HTTP/1.1 401 Unauthorized\r\n"));
    fetch(unknown, signed_for(unknown));
    assert_true(begins("HTTP/1.1 401 Unauthorized\r\n"));
    fetch("/mapOutput", "x");
    assert_true(begins("HTTP/1.1 400 Bad Request\r\n"));
    fetch(missing, signed_for(missing));
    assert_true(begins("HTTP/1.1 500 Internal Server Error\r\n"));
    assert_non_null(
        strstr(reply, "The output of " ATTEMPT(2) " for reducer 0: there is no such output on this node\n"));
    fetch(beyond, signed_for(beyond));
    assert_non_null(strstr(reply, "for reducer 1: it has no part for that reducer\n"));
    assert_int_equal(nm_shuffle_jobs_remove(service.jobs, JOB), 0);
    fetch(TARGET, signed_for(TARGET));
    assert_true(begins("HTTP/1.1 401 Unauthorized\r\n"));
    assert_int_equal(service.count.outputs_ok, 0);
    assert_int_equal(service.count.outputs_failed, 2);
}

static void test_endless_head(void **state)
{
    char line[1025] = "";
    int fd = dial();

    (void)state;
    memset(line, 'a', 1024);
    for (unsigned i = 0; i < NM_SHUFFLE_HEAD_MAX / 1024; i++)
        send_text(fd, line);
    hear(fd, sizeof reply - 1);
    assert_true(begins("HTTP/1.1 431 "));
    close(fd);
}

/* The client sends half a request and stops: the server closes the connection to free its slot. */
static void test_slow_request(void **state)
{
    int fd;

    (void)state;
    service.request_usec = 50 * NM_USEC_PER_MSEC;
    fd = dial();
    send_text(fd, "GET /mapOutput");
    assert_int_equal(hear(fd, sizeof reply - 1), 0);
    close(fd);
}

/* The output is larger than all buffers between server and client. */
static void test_large(void **state)
{
    uint64_t bytes = 9 << 20, come = 0;
    int fd = dial();
    size_t n;

    (void)state;
    large_output(bytes);
    ask(fd, TARGET, signed_for(TARGET));
    while ((n = hear(fd, sizeof reply - 1)) > 0)
        come += n;
    close(fd);
    assert_true(come > bytes && come < bytes + 512);
    assert_int_equal(service.count.sent_bytes, bytes);
}

/* The file is truncated while it is sent. The promised length can't be reached, so the server breaks the connection. */
static void test_cut_while_sent(void **state)
{
    uint64_t bytes = 64 << 20, come = 0;
    int fd = dial();
    size_t n;

    (void)state;
    large_output(bytes);
    ask(fd, TARGET, signed_for(TARGET));
    come += hear(fd, 1000);
    assert_int_equal(truncate(shuffle_world_path(&world, "a", ATTEMPT(0), "file.out"), 1000), 0);
    while ((n = hear(fd, sizeof reply - 1)) > 0)
        come += n;
    close(fd);
    assert_true(come < bytes);
    assert_int_equal(service.count.outputs_failed, 1);
}

/* The file system doesn't support sendfile(): the answer has the same bytes. An I/O error isn't mistaken for that
 * case. */
static void test_without_sendfile(void **state)
{
    static const int lacking[] = {EINVAL, ENOSYS, EOPNOTSUPP, EPERM};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(lacking); i++) {
        sendfile_error = lacking[i];
        service.count.sent_bytes = service.count.outputs_ok = 0;
        test_to_the_byte(state);
    }
    sendfile_error = EIO;
    fetch(TARGET, signed_for(TARGET));
    assert_true(begins("HTTP/1.1 200 OK"));
    assert_null(strstr(reply, "first"));
    sendfile_error = EINVAL;
    service.count.sent_bytes = service.count.outputs_failed = 0;
    test_large(state);
    test_cut_while_sent(state);
}

/* Returns a connection whose client never reads the answer. */
static int stuck(void)
{
    int fd = dial();

    ask(fd, TARGET, signed_for(TARGET));
    hear(fd, 15);
    assert_true(begins("HTTP/1.1 200 OK"));
    return fd;
}

/* One user's reducers get half of the slots. Others may use the rest, and spare slots serve for refusals. */
static void test_slots(void **state)
{
    struct nm_shuffle_job other = {
        .id = "job_1410901177871_0002", .user = "bob", .uid = geteuid() + 1, .key = "8letters", .key_size = 8};
    const char *target = "/mapOutput?job=job_1410901177871_0002&reduce=0&map=" ATTEMPT(0);
    int held[MAX_SLOTS];

    (void)state;
    assert_int_equal(nm_shuffle_jobs_add(service.jobs, &other), 0);
    large_output(16 << 20);
    for (unsigned i = 0; i < JOB_SLOTS; i++)
        held[i] = stuck();
    fetch(TARGET, signed_for(TARGET));
    assert_true(begins("HTTP/1.1 429 Too Many Requests\r\n"));
    assert_non_null(strstr(reply, "Retry-After: 1000\r\n"));
    assert_non_null(strstr(reply, "The job's user already has half of all connections"));
    fetch(target, signed_for(target)); /* bob is admitted, but owns no output here */
    assert_true(begins("HTTP/1.1 500 "));
    while (nm_shuffle_connections_count(service.connections) > JOB_SLOTS)
        assert_int_equal(usleep(1000), 0);
    for (unsigned i = JOB_SLOTS; i < MAX_SLOTS; i++)
        held[i] = dial_from(i);
    while (nm_shuffle_connections_count(service.connections) < MAX_SLOTS)
        assert_int_equal(usleep(1000), 0);
    fetch(target, signed_for(target));
    assert_true(begins("HTTP/1.1 429 Too Many Requests\r\n"));
    assert_non_null(strstr(reply, "All connections are in use"));
    assert_int_equal(service.count.refused, 1);
    for (unsigned i = 0; i < MAX_SLOTS; i++)
        close(held[i]);
}

static int enter(struct nm_shuffle_connections *all, const char *host, unsigned *ret_slot)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), r = nm_shuffle_connections_enter(all, fd, host, ret_slot);

    if (r < 0)
        close(fd);
    return r;
}

/* A user gets half of the slots, and each of the user's jobs three quarters of that half. */
static void test_a_jobs_slots(void **state)
{
    const uid_t alice = 1, bob = 2;
    struct nm_shuffle_connections *all;
    unsigned at[16];

    (void)state;
    assert_int_equal(nm_shuffle_connections_new(NM_ARRAY_SIZE(at), &all), 0);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(at); i++)
        assert_int_equal(enter(all, (const char[]){(char)('a' + (int)i), '\0'}, &at[i]), 0);
    for (unsigned i = 0; i < 6; i++)
        assert_true(nm_shuffle_connections_belongs(all, at[i], alice, "job_1_0001"));
    assert_true(nm_shuffle_connections_belongs(all, at[5], alice, "job_1_0001")); /* again for the same job */
    assert_false(nm_shuffle_connections_belongs(all, at[6], alice, "job_1_0001"));
    assert_true(nm_shuffle_connections_belongs(all, at[6], alice, "job_1_0002"));
    assert_true(nm_shuffle_connections_belongs(all, at[7], alice, "job_1_0003"));
    assert_false(nm_shuffle_connections_belongs(all, at[8], alice, "job_1_0002"));
    assert_true(nm_shuffle_connections_belongs(all, at[8], bob, "job_1_0004"));
    /* A connection may be used for another job. */
    assert_true(nm_shuffle_connections_belongs(all, at[0], alice, "job_1_0002"));
    assert_false(nm_shuffle_connections_belongs(all, at[9], alice, "job_1_0001")); /* the user's half is used up */
    for (unsigned i = 0; i < NM_ARRAY_SIZE(at); i++)
        nm_shuffle_connections_leave(all, at[i]);
    nm_shuffle_connections_free(all);
}

/* A host has a quarter of the slots for connections without a signed request, and half of the spare slots. */
static void test_a_hosts_slots(void **state)
{
    struct nm_shuffle_connections *all;
    unsigned at[64], n = 0;

    (void)state;
    assert_int_equal(nm_shuffle_connections_new(8, &all), 0);
    assert_int_equal(enter(all, "host 192.0.2.1", &at[n++]), 0);
    assert_int_equal(enter(all, "host 192.0.2.1", &at[n++]), 0);
    for (unsigned i = 0; i < NM_SHUFFLE_SPARE_SLOTS / 2; i++)
        assert_int_equal(enter(all, "host 192.0.2.1", &at[n++]), NM_SHUFFLE_CONNECTIONS_E_SPARE);
    assert_int_equal(enter(all, "host 192.0.2.1", &at[n]), -EBUSY);
    assert_int_equal(enter(all, "host 192.0.2.2", &at[n++]), 0);
    assert_true(nm_shuffle_connections_belongs(all, at[0], 1, "job_1_0001")); /* no longer counts for the host */
    assert_int_equal(enter(all, "host 192.0.2.1", &at[n++]), 0);
    while (n > 0)
        nm_shuffle_connections_leave(all, at[--n]);
    nm_shuffle_connections_free(all);
}

/* A host that holds many connections open without a request can't keep other hosts out. */
static void test_strangers(void **state)
{
    int held[MAX_SLOTS + NM_SHUFFLE_SPARE_SLOTS + 4];

    (void)state;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(held); i++) {
        held[i] = dial_from(2);
        send_text(held[i], "GET /mapOutput?job=");
    }
    while (service.count.connections + service.count.refused < NM_ARRAY_SIZE(held))
        assert_int_equal(usleep(1000), 0);
    fetch(TARGET, signed_for(TARGET));
    assert_true(begins("HTTP/1.1 200 OK\r\n"));
    for (unsigned i = 0; i < NM_ARRAY_SIZE(held); i++)
        close(held[i]);
}

/* The end of the server doesn't wait for clients that don't read. */
static void test_end_cuts(void **state)
{
    uint64_t begun;
    int fd;

    (void)state;
    large_output(16 << 20);
    fd = stuck();
    begun = nm_now_usec();
    server = nm_shuffle_server_free(server);
    assert_true(nm_now_usec() - begun < PATIENCE_MSEC * NM_USEC_PER_MSEC);
    close(fd);
}

static void test_addresses(void **state)
{
    static const char *const bad[] = {
        "", ":", "127.0.0.1", "host:1x", "127.0.0.1:", "127.0.0.1:99999", "[::1:1", "nowhere.example:1"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        _cleanup_free_ char *message = NULL;
        struct nm_shuffle_server *other;

        assert_int_equal(nm_shuffle_server_new(&service, bad[i], &other, &message), -EINVAL);
        assert_non_null(strstr(message, "is not an address to listen at"));
    }
}

/* ---- limits of a user's load -------------------------------------------------------------- */

/* Writes the longest valid index: a million reducers whose parts are empty. */
static void long_index(void)
{
    const size_t records = 1000000 * 24;
    uint8_t *index = calloc(1, records + 8);
    uint64_t crc;
    FILE *f = fopen(shuffle_world_path(&world, "a", ATTEMPT(0), "file.out.index"), "w");

    assert_non_null(index);
    assert_non_null(f);
    crc = htobe64(crc32(0, index, (uInt)records));
    memcpy(index + records, &crc, sizeof crc);
    assert_int_equal(fwrite(index, 1, records + 8, f), records + 8);
    assert_int_equal(fclose(f), 0);
    free(index);
}

static uint64_t cpu_usec(void)
{
    struct rusage u;

    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NM_USEC_PER_SEC +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static bool all_have_left(void)
{
    const uint64_t deadline_usec = nm_now_usec() + 5 * NM_USEC_PER_SEC;

    while (nm_shuffle_connections_count(service.connections) > 0 && nm_now_usec() < deadline_usec)
        assert_int_equal(usleep(1000), 0);
    return nm_shuffle_connections_count(service.connections) == 0;
}

/* One request names a map the maximum number of times. Reading and checking the index each time took 3.6 s of CPU
 * time. */
static void test_the_same_map_256_times(void **state)
{
    char target[NM_SHUFFLE_HEAD_MAX] = TARGET;
    uint64_t begun_usec;

    (void)state;
    long_index();
    for (unsigned i = 1; i < NM_SHUFFLE_MAPS_MAX; i++)
        strcat(target, "," ATTEMPT(0));
    begun_usec = cpu_usec();
    fetch(target, signed_for(target));
    assert_true(cpu_usec() - begun_usec < NM_USEC_PER_SEC);
    assert_true(begins("HTTP/1.1 200 OK\r\n"));
    assert_true(all_have_left());
    assert_int_equal(service.count.outputs_ok, NM_SHUFFLE_MAPS_MAX);
    begun_usec = cpu_usec();
    for (unsigned i = 0; i < 100; i++) { /* further requests for the same map */
        assert_true(all_have_left());
        fetch(TARGET, signed_for(TARGET));
    }
    assert_true(all_have_left());
    assert_true(cpu_usec() - begun_usec < NM_USEC_PER_SEC);
    assert_int_equal(service.count.outputs_ok, NM_SHUFFLE_MAPS_MAX + 100);
}

static void book(uint64_t work_usec, uint64_t expected_wait_usec)
{
    uint64_t wait_usec;

    assert_int_equal(nm_shuffle_jobs_book(service.jobs, JOB, work_usec, nm_now_usec(), &wait_usec), 0);
    assert_true(wait_usec <= expected_wait_usec);
}

/* A job that has used up its share waits. A client that disconnects meanwhile frees its slot, and no work is done
 * for it. */
static void test_a_disconnect_ends_the_wait(void **state)
{
    int fd = dial();

    (void)state;
    book(NM_SHUFFLE_BURST_USEC, 0);
    book(5 * NM_USEC_PER_SEC, 0);
    ask(fd, TARGET, signed_for(TARGET));
    while (nm_shuffle_connections_count(service.connections) == 0)
        assert_int_equal(usleep(1000), 0);
    close(fd);
    assert_true(all_have_left());
    assert_int_equal(service.count.outputs_ok, 0);
    assert_int_equal(service.count.outputs_failed, 0);
}

/* Reads the answer for that time. */
static void read_for(int fd, uint64_t usec)
{
    const uint64_t end_usec = nm_now_usec() + usec;

    for (uint64_t now = nm_now_usec(); now < end_usec; now = nm_now_usec()) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (poll(&p, 1, (int)((end_usec - now) / NM_USEC_PER_MSEC) + 1) > 0)
            assert_true(recv(fd, reply, sizeof reply, 0) > 0);
    }
}

/* A disconnect also ends an answer that is being sent, since its bytes are booked in pieces. */
static void test_a_disconnect_ends_the_sending(void **state)
{
    const uint64_t bytes = 64 << 20;
    int fd = dial();

    (void)state;
    large_output(bytes);
    ask(fd, TARGET, signed_for(TARGET));
    hear(fd, 1000);
    assert_true(begins("HTTP/1.1 200 OK\r\n"));
    book(NM_SHUFFLE_BURST_USEC, UINT64_MAX);
    book(5 * NM_USEC_PER_SEC, UINT64_MAX);
    read_for(fd, 500 * NM_USEC_PER_MSEC);
    assert_true(service.count.sent_bytes < bytes);
    assert_int_equal(nm_shuffle_connections_count(service.connections), 1); /* the connection waits for its share */
    close(fd);
    assert_true(all_have_left());
    assert_true(service.count.sent_bytes < bytes);
    assert_int_equal(service.count.outputs_failed, 1);
}

static uint64_t servers_cpu_usec(void)
{
    return nm_sub_u64(nm_clock_usec(CLOCK_PROCESS_CPUTIME_ID), nm_clock_usec(CLOCK_THREAD_CPUTIME_ID));
}

/* Fetches a whole answer over a connection that stays open. */
static void fetch_kept(int fd, const char *target)
{
    const char *length, *end;
    size_t size = 0, whole = 0;

    ask(fd, target, signed_for(target));
    for (const uint64_t deadline = nm_now_usec() + PATIENCE_MSEC * NM_USEC_PER_MSEC; whole == 0 || size < whole;) {
        ssize_t n = recv(fd, reply + size, sizeof reply - 1 - size, 0);

        assert_true(n > 0 && nm_now_usec() < deadline);
        size += (size_t)n;
        reply[size] = '\0';
        assert_true(begins("HTTP/1.1 200 OK\r\n"));
        end = memmem(reply, size, "\r\n\r\n", 4);
        length = strstr(reply, "Content-Length: ");
        if (whole == 0 && end && length)
            whole = (size_t)(end + 4 - reply) + strtoul(length + strlen("Content-Length: "), NULL, 10);
    }
}

/* A job has used its burst and keeps asking for the same map 256 times. The cost of the names alone limits it to its
 * share: such a request causes no further look-ups or checks. */
static void test_the_same_map_again_and_again(void **state)
{
    char target[NM_SHUFFLE_HEAD_MAX] = TARGET;
    uint64_t begun_usec, cpu, passed_usec;
    const unsigned rounds = 40;
    int fd = dial();

    (void)state;
    for (unsigned i = 1; i < NM_SHUFFLE_MAPS_MAX; i++)
        strcat(target, "," ATTEMPT(0));
    strcat(target, "&keepAlive=true");
    begun_usec = nm_now_usec();
    book(NM_SHUFFLE_BURST_USEC, 0);
    cpu = servers_cpu_usec();
    for (unsigned i = 0; i < rounds; i++)
        fetch_kept(fd, target);
    passed_usec = nm_now_usec() - begun_usec;
    cpu = servers_cpu_usec() - cpu;
    close(fd);
    assert_true(all_have_left());
    /* Each request costs at least 5 ms of a quarter of a CPU. The first one doesn't wait for its own cost. */
    assert_true(passed_usec >= (rounds - 1) * 5 * NM_USEC_PER_MSEC * 100 / NM_SHUFFLE_SHARE_PERCENT);
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer multiplies the CPU time */
    assert_true(cpu < passed_usec * 2 * NM_SHUFFLE_SHARE_PERCENT / 100);
#endif
    assert_int_equal(service.count.outputs_ok, (uint64_t)rounds * NM_SHUFFLE_MAPS_MAX);
}

/* Sent bytes are booked as well. Another booking shows the account's state, since it has to wait for all earlier
 * ones. */
static void test_bytes_are_booked(void **state)
{
    const uint64_t bytes = 32 << 20, begun_usec = nm_now_usec();
    const uint64_t price_usec = 32 * 100 + 75; /* 75 for a request of one map */
    uint64_t come = 0, wait_usec;
    size_t n;
    int fd = dial();

    (void)state;
    large_output(bytes);
    book(NM_SHUFFLE_BURST_USEC, 0);
    ask(fd, TARGET, signed_for(TARGET));
    while ((n = hear(fd, sizeof reply - 1)) > 0)
        come += n;
    close(fd);
    assert_true(come > bytes && all_have_left());
    book(NM_SHUFFLE_BURST_USEC, UINT64_MAX);
    assert_int_equal(nm_shuffle_jobs_book(service.jobs, JOB, 0, nm_now_usec(), &wait_usec), 0);
    assert_true(nm_now_usec() + wait_usec >=
                begun_usec + (NM_SHUFFLE_BURST_USEC + price_usec) * 100 / NM_SHUFFLE_SHARE_PERCENT);
}

/* A wait beyond the limit is refused. Another job keeps its own share. */
static void test_a_share_of_work(void **state)
{
    struct nm_shuffle_job other = world.job;
    const char *target = "/mapOutput?job=job_1410901177871_0002&reduce=0&map=" ATTEMPT(2);

    (void)state;
    snprintf(other.id, sizeof other.id, "job_1410901177871_0002");
    assert_int_equal(nm_shuffle_jobs_add(service.jobs, &other), 0);
    book(9 * NM_USEC_PER_SEC, 0);
    fetch(TARGET, signed_for(TARGET));
    assert_true(begins("HTTP/1.1 429 Too Many Requests\r\n"));
    assert_non_null(strstr(reply, "Retry-After: 1000\r\n"));
    fetch(target, signed_for(target));
    assert_non_null(strstr(reply, "there is no such output on this node"));
}

/* ---- failing system calls ----------------------------------------------------------------- */

static bool wait_for(atomic_uint *count, unsigned n)
{
    const uint64_t deadline_usec = nm_now_usec() + PATIENCE_MSEC * NM_USEC_PER_MSEC;

    while (*count < n && nm_now_usec() < deadline_usec)
        assert_int_equal(usleep(1000), 0);
    return *count >= n;
}

/* The failed connection stays in the kernel's queue, so that poll() would wake the acceptor again and again. */
static void test_accept_fails(void **state)
{
    static const int errors[] = {ENOMEM, EMFILE, ENFILE, ENOBUFS, ENOSR};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(errors); i++) {
        int fd;

        accept_error = errors[i];
        fd = dial();
        assert_true(wait_for(&accepts, accepts + 4));
        assert_true(accepted_usec[0] - accepted_usec[2] > 150 * NM_USEC_PER_MSEC);
        accept_error = 0;
        ask(fd, TARGET, signed_for(TARGET));
        hear(fd, sizeof reply - 1);
        assert_true(begins("HTTP/1.1 200 OK\r\n"));
        close(fd);
    }
}

static void test_no_thread(void **state)
{
    int fd;

    (void)state;
    thread_error = EAGAIN;
    fd = dial();
    assert_int_equal(hear(fd, 1), 0);
    close(fd);
    assert_true(all_have_left());
    thread_error = 0;
    fetch(TARGET, signed_for(TARGET));
    assert_true(begins("HTTP/1.1 200 OK\r\n"));
}

/* When poll() fails for lack of memory, the acceptor must neither spin nor end. */
static void test_poll_fails(void **state)
{
    const uint64_t begun_usec = nm_now_usec();
    const unsigned before = failed_polls;

    (void)state;
    poll_error = ENOMEM;
    close(dial());
    assert_true(wait_for(&failed_polls, before + 4));
    assert_true(nm_now_usec() - begun_usec > 150 * NM_USEC_PER_MSEC);
    poll_error = 0;
    fetch(TARGET, signed_for(TARGET));
    assert_true(begins("HTTP/1.1 200 OK\r\n"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_to_the_byte), TEST(test_kept_alive), TEST(test_refusals),       TEST(test_endless_head),
        TEST(test_slow_request), TEST(test_large),     TEST(test_cut_while_sent), TEST(test_without_sendfile),
        TEST(test_slots),
        TEST(test_a_jobs_slots), TEST(test_a_hosts_slots), TEST(test_strangers),
        TEST(test_end_cuts),    TEST(test_addresses),
        TEST(test_the_same_map_256_times), TEST(test_a_disconnect_ends_the_wait), TEST(test_a_share_of_work),
        TEST(test_a_disconnect_ends_the_sending), TEST(test_the_same_map_again_and_again), TEST(test_bytes_are_booked),
        TEST(test_accept_fails), TEST(test_no_thread), TEST(test_poll_fails),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
