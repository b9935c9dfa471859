/* SPDX-License-Identifier: Apache-2.0 */

/* A server of Hadoop's RPC whose peers are not Hadoop clients, or are faulty clients. */

#include "hadoop-fixture.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "rpc/hadoop/security.pb-c.h"
#include "util/clock.h"
#include "util/error.h"

#define MSEC NM_USEC_PER_MSEC

static void put(int fd, const void *data, size_t size)
{
    assert_int_equal(send(fd, data, size, MSG_NOSIGNAL), size);
}

static void put_frame(int fd, struct nm_packet_frame *f)
{
    put(fd, f->data, f->size);
    free(f);
}

/* ---- answers to invalid first bytes ------------------------------------------------------- */

/* Asserts that the bytes are exactly one packet, which is a fatal answer with this detail and class. */
static void assert_fatal(const uint8_t *data, size_t size, int detail, const char *class_name)
{
    struct nm_bytes packet = {data + 4, size - 4}, message;
    Hadoop__RpcResponse *h;

    assert_true(size > 4);
    assert_int_equal((size_t)data[2] << 8 | data[3], size - 4);
    assert_int_equal(nm_packet_next(&packet, &message), 0);
    assert_int_equal(packet.size, 0);
    h = hadoop__rpc_response__unpack(NULL, message.size, message.data);
    assert_non_null(h);
    assert_int_equal((int32_t)h->call_id, -1);
    assert_int_equal(h->status, HADOOP__RPC_RESPONSE__STATUS__FATAL);
    assert_int_equal(h->ipc_version, 9);
    assert_int_equal(h->error_detail, detail);
    assert_string_equal(h->exception_class, class_name);
    hadoop__rpc_response__free_unpacked(h, NULL);
}

static void test_a_wrong_preamble_is_refused(void **state)
{
    static const struct {
        bool secure;
        const char *bytes;
        size_t size;
        int detail;
        const char *class_name;
    } cases[] = {
        {false, "hrpc\x08\0\0", 7, NM_EXCEPTION_FATAL_VERSION, NM_EXCEPTION_VERSION},
        {false, "SSH-2.0-x\r\n", 11, NM_EXCEPTION_FATAL_VERSION, NM_EXCEPTION_VERSION},
        {false, "\x16\x03\x01\x02\0\x01\0\x01\xfc", 9, NM_EXCEPTION_FATAL_VERSION, NM_EXCEPTION_VERSION},
        {true, "hrpc\x09\0\0", 7, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_ACCESS},
        {true, "hrpc\x09\0\x51", 7, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_ACCESS},
        {false, "hrpc\x09\0\0\0\0\0\1x", 12, NM_EXCEPTION_FATAL_REQUEST, NM_EXCEPTION_SERVER},
        {true, "hrpc\x09\0\xdf\0\0\0\2\1x", 13, NM_EXCEPTION_FATAL_REQUEST, NM_EXCEPTION_SERVER},
        /* a call with the id -3 instead of SASL's id; a packet whose message exceeds the packet */
        {true, "hrpc\x09\0\xdf\0\0\0\x0b\x08\x08\2\x10\0\x18\5\x22\0\2\x10\1", 22, NM_EXCEPTION_FATAL_REQUEST,
         NM_EXCEPTION_SERVER},
        {true, "hrpc\x09\0\xdf\0\0\0\x0b\x08\x08\2\x10\1\x18\x41\x22\0\2\x10\1", 22, NM_EXCEPTION_FATAL_HEADER,
         NM_EXCEPTION_SERVER},
    };
    uint8_t answer[2048];

    (void)state;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct fixture f;
        size_t n;
        int fd;

        print_message("# %u\n", i);
        fixture_set_up(&f, NULL, cases[i].secure);
        fd = fixture_connect(&f);
        put(fd, cases[i].bytes, cases[i].size);
        n = fixture_read_to_end(&f, fd, answer, sizeof answer);
        assert_fatal(answer, n, cases[i].detail, cases[i].class_name);
        close(fd);
        fixture_run_until_gone(&f);
        fixture_tear_down(&f);
    }
}

static void test_a_browser_gets_a_readable_answer(void **state)
{
    uint8_t answer[2048];
    struct fixture f;
    int fd;

    (void)state;
    fixture_set_up(&f, NULL, true);
    fd = fixture_connect(&f);
    put(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27);
    (void)fixture_read_to_end(&f, fd, answer, sizeof answer);
    assert_int_equal(strncmp((char *)answer, "HTTP/1.1 404 ", 13), 0);
    assert_non_null(strstr((char *)answer, "Content-Type: text/plain"));
    assert_non_null(strstr((char *)answer, "Hadoop's RPC"));
    close(fd);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* Before authentication, a frame is refused if its length is 0 or above 16 KiB. */
static void test_before_authentication_a_frame_that_is_too_long_is_refused(void **state)
{
    static const struct nm_bytes cases[] = {
        {(const uint8_t *)"hrpc\x09\0\0\x7f\xff\xff\xff", 11},
        {(const uint8_t *)"hrpc\x09\0\0\xff\xff\xff\xff", 11},
        {(const uint8_t *)"hrpc\x09\0\0\0\0\x40\1", 11}, /* 16 KiB + 1 */
        {(const uint8_t *)"hrpc\x09\0\0\0\0\0\0", 11},
    };
    uint8_t answer[64];

    (void)state;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct fixture f;
        int fd;

        fixture_set_up(&f, NULL, false);
        fd = fixture_connect(&f);
        put(fd, cases[i].data, cases[i].size);
        assert_int_equal(fixture_read_to_end(&f, fd, answer, sizeof answer), 0);
        close(fd);
        fixture_run_until_gone(&f);
        fixture_tear_down(&f);
    }
}

/* ---- a whole session in pieces ------------------------------------------------------------ */

static size_t append(uint8_t *to, size_t n, struct nm_packet_frame *f)
{
    memcpy(to + n, f->data, f->size);
    n += f->size;
    free(f);
    return n;
}

static struct nm_packet_frame *call_frame_with(int32_t id, const char *method, const char *host)
{
    struct nm_protocol_id pid = {.call = id, .retry = 3, .client_size = 16, .client = "0123456789abcde"};
    Hadoop__RequestHeader header = HADOOP__REQUEST_HEADER__INIT;
    Hadoop__NodeId request = HADOOP__NODE_ID__INIT;
    struct nm_packet_frame *f;

    header.method = (char *)method;
    header.protocol = (char *)FIXTURE_PROTOCOL;
    header.version = 1;
    request.host = (char *)host;
    assert_int_equal(nm_protocol_request(&pid, &header.base, &request.base, &f), 0);
    return f;
}

static struct nm_packet_frame *call_frame(int32_t id, const char *method)
{
    return call_frame_with(id, method, "h");
}

static struct nm_packet_frame *context_frame(void)
{
    struct nm_protocol_id id = {.call = NM_PROTOCOL_CONTEXT, .retry = -1};
    Hadoop__ConnectionContext context = HADOOP__CONNECTION_CONTEXT__INIT;
    struct nm_packet_frame *f;

    assert_int_equal(nm_protocol_request(&id, NULL, &context.base, &f), 0);
    return f;
}

static size_t session(uint8_t *to)
{
    struct nm_protocol_id ping = {.call = NM_PROTOCOL_PING, .retry = -1};
    struct nm_packet_frame *f;
    size_t n = 7;

    memcpy(to, "hrpc\x09\0\0", 7);
    n = append(to, n, context_frame());
    n = append(to, n, call_frame(0, "echo"));
    assert_int_equal(nm_protocol_request(&ping, NULL, NULL, &f), 0);
    n = append(to, n, f);
    return append(to, n, call_frame(1, "echo"));
}

static void one_session(struct fixture *f, const uint8_t *bytes, size_t size, size_t cut, unsigned n_echoes)
{
    uint8_t answer[512];
    int fd = fixture_connect(f);
    size_t n;

    for (size_t i = 0; i < size && cut == 0; i++) {
        put(fd, bytes + i, 1);
        fixture_run_ready(f);
    }
    if (cut > 0) {
        put(fd, bytes, cut);
        fixture_run_ready(f);
        put(fd, bytes + cut, size - cut);
    }
    fixture_run_until(f, &f->n_echoes, n_echoes);
    shutdown(fd, SHUT_WR);
    n = fixture_read_to_end(f, fd, answer, sizeof answer);
    /* two answers of the same size: each has a header with both ids, and the message */
    assert_int_equal(n % 2, 0);
    assert_int_equal(answer[3], n / 2 - 4);
    assert_non_null(memmem(answer, n / 2, "0123456789abcde", 16));
    assert_memory_equal(answer + n - 4, "\x03\x0a\x01h", 4);
    close(fd);
}

static void test_a_session_may_arrive_in_pieces_of_any_size(void **state)
{
    uint8_t bytes[1024];
    size_t size = session(bytes);
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, false);
    for (size_t cut = 0; cut < size; cut++)
        one_session(&f, bytes, size, cut, 2 * ((unsigned)cut + 1));
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* When a connection ends, after any byte, the server frees all resources of the connection. */
static void test_all_resources_of_a_truncated_session_are_freed(void **state)
{
    uint8_t bytes[1024];
    size_t size = session(bytes);
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, false);
    for (size_t n = 0; n < size; n++) {
        int fd = fixture_connect(&f);

        if (n > 0)
            put(fd, bytes, n);
        fixture_run_ready(&f);
        close(fd);
    }
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* In each attempt another byte of the session is wrong. Whether the server refuses the connection or not, it keeps
 * running and frees the state of the connection. */
static void test_the_server_keeps_running_after_a_damaged_session(void **state)
{
    uint8_t bytes[1024], answer[2048];
    size_t size = session(bytes);
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, false);
    for (size_t i = 0; i < size; i++)
        for (unsigned k = 0; k < 3; k++) {
            uint8_t was = bytes[i];
            int fd = fixture_connect(&f);

            bytes[i] = k == 0 ? (uint8_t)~was : k == 1 ? 0 : (uint8_t)(was + 1);
            put(fd, bytes, size);
            shutdown(fd, SHUT_WR);
            (void)fixture_read_to_end(&f, fd, answer, sizeof answer);
            close(fd);
            bytes[i] = was;
        }
    fixture_run_until_gone(&f);
    f.n_echoes = 0;
    one_session(&f, bytes, size, 1, 2);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* ---- time --------------------------------------------------------------------------------- */

static const struct nm_hadoop_server_options short_times = {
    .handshake_usec = 100 * MSEC, .frame_usec = 100 * MSEC, .stall_usec = 100 * MSEC, .idle_usec = 100 * MSEC};

/* A client that stops sending is disconnected. It stops before the preamble, within the preamble, before the connection
 * context, within a frame, or when it is idle. */
static void test_a_client_that_stops_sending_is_disconnected(void **state)
{
    uint8_t bytes[1024], answer[512];
    size_t lengths[5] = {0, 3, 7, 0, 0}, size = session(bytes);

    (void)state;
    lengths[3] = size - 3;
    lengths[4] = size;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(lengths); i++) {
        struct fixture f;
        int fd;

        fixture_set_up(&f, &short_times, false);
        fd = fixture_connect(&f);
        if (lengths[i] > 0)
            put(fd, bytes, lengths[i]);
        (void)fixture_read_to_end(&f, fd, answer, sizeof answer);
        close(fd);
        fixture_run_until_gone(&f);
        fixture_tear_down(&f);
    }
}

static void test_a_connection_with_an_open_call_is_not_idle(void **state)
{
    uint64_t until = nm_now_usec() + 400 * MSEC;
    struct fixture f;
    int fd;

    (void)state;
    fixture_set_up(&f, &short_times, false);
    fd = fixture_connect(&f);
    put(fd, "hrpc\x09\0\0", 7);
    put_frame(fd, context_frame());
    put_frame(fd, call_frame(0, "hold"));
    fixture_run_until(&f, &f.n_held, 1);
    while (nm_now_usec() < until)
        assert_true(sd_event_run(f.event, 10 * MSEC) >= 0);
    assert_int_equal(nm_hadoop_server_connections(f.server), 1);
    nm_hadoop_call_answer(f.held[0], nm_hadoop_call_request(f.held[0]));
    f.n_held = 0;
    fixture_run_until_gone(&f); /* after the answer the connection is idle */
    close(fd);
    fixture_tear_down(&f);
}

/* A client sends calls and never reads. The answers are charged to the client's account. When the account is full, the
 * client is disconnected. */
static void test_a_client_that_never_reads_is_disconnected(void **state)
{
    const struct nm_hadoop_server_options options = {.stall_usec = 200 * MSEC, .bytes_max = 4 << 20};
    uint64_t deadline = nm_now_usec() + 20 * NM_USEC_PER_SEC;
    struct nm_packet_frame *call;
    char host[60001];
    struct fixture f;
    int fd;

    (void)state;
    memset(host, 'h', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    call = call_frame_with(0, "echo", host);
    fixture_set_up(&f, &options, false);
    fd = fixture_connect(&f);
    put(fd, "hrpc\x09\0\0", 7);
    put_frame(fd, context_frame());
    fixture_run_ready(&f);
    assert_int_equal(nm_hadoop_server_connections(f.server), 1);
    do {
        ssize_t n = send(fd, call->data + call->sent, call->size - call->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0)
            call->sent = (call->sent + (size_t)n) % call->size;
        assert_true(sd_event_run(f.event, MSEC) >= 0);
        assert_true(nm_now_usec() < deadline);
    } while (nm_hadoop_server_connections(f.server) > 0);
    assert_true(f.n_echoes > 2);
    free(call);
    close(fd);
    fixture_tear_down(&f);
}

#define N_LATE 150
#define FIRST_ID 1000 /* all ids from this number on are encoded in the same number of bytes */

/* A client sends calls, and reads only when it can't send any more. The client gets each answer complete and in
 * order. */
static void test_a_client_that_reads_late_gets_all_answers(void **state)
{
    uint64_t deadline = nm_now_usec() + 60 * NM_USEC_PER_SEC;
    size_t got = 0, wanted = SIZE_MAX;
    unsigned n_sent = 0, stuck = 0;
    struct nm_packet_frame *call;
    char host[60001];
    struct fixture f;
    uint8_t *answers;
    int fd;

    (void)state;
    memset(host, 'h', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    answers = malloc(N_LATE * (sizeof host + 200));
    assert_non_null(answers);
    fixture_set_up(&f, NULL, false);
    fd = fixture_connect(&f);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){128 << 10}, sizeof(int)), 0);
    put(fd, "hrpc\x09\0\0", 7);
    put_frame(fd, context_frame());
    call = call_frame_with(FIRST_ID, "echo", host);
    while (got < wanted) {
        ssize_t n = n_sent == N_LATE ? 0 : send(fd, call->data + call->sent, call->size - call->sent, MSG_DONTWAIT);

        stuck = n > 0 ? 0 : stuck + 1;
        call->sent += n > 0 ? (size_t)n : 0;
        if (call->sent == call->size) {
            free(call);
            call = call_frame_with(FIRST_ID + (int32_t)++n_sent, "echo", host);
        }
        n = stuck < 50 ? 0 : recv(fd, answers + got, N_LATE * (sizeof host + 200) - got, MSG_DONTWAIT);
        got += n > 0 ? (size_t)n : 0;
        if (got > 4)
            wanted = N_LATE * (4 + ((size_t)answers[1] << 16 | (size_t)answers[2] << 8 | answers[3]));
        assert_true(sd_event_run(f.event, n > 0 ? 0 : MSEC) >= 0);
        assert_true(nm_now_usec() < deadline);
    }
    assert_int_equal(f.n_echoes, N_LATE);
    for (size_t i = 0; i < N_LATE; i++) {
        const uint8_t *answer = answers + i * (wanted / N_LATE);

        assert_memory_equal(answer, answers, 4);
        assert_memory_equal(answer + wanted / N_LATE - sizeof host + 1, host, sizeof host - 1);
    }
    free(call);
    free(answers);
    close(fd);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* ---- limits on connections ---------------------------------------------------------------- */

struct outcome {
    unsigned n;
    int error;
};

static void on_reply(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct outcome *o = userdata;

    (void)answer, (void)why;
    o->n++;
    o->error = error;
}

static unsigned n_open(struct fixture *f, const int *fds, unsigned n)
{
    unsigned open = 0;

    fixture_run_ready(f);
    for (unsigned i = 0; i < n; i++) {
        struct pollfd p = {.fd = fds[i], .events = POLLIN};
        open += poll(&p, 1, 0) == 0;
    }
    return open;
}

/* Connections without a token from one address may use at most a quarter of all connections. Authenticated connections
 * are not counted in this quarter. */
static void test_one_address_may_use_a_quarter_of_the_connections(void **state)
{
    const struct nm_hadoop_server_options options = {.connections_max = 64};
    struct nm_hadoop_client_options known = {.token = &fixture_token};
    struct nm_hadoop_client *clients[20];
    struct outcome o = {};
    struct fixture f;
    int fds[100];

    (void)state;
    fixture_set_up(&f, &options, true);
    for (unsigned i = 0; i < 15; i++) {
        Hadoop__NodeId request = HADOOP__NODE_ID__INIT;

        clients[i] = fixture_client(&f, &known);
        request.host = (char *)"h";
        assert_int_equal(nm_hadoop_client_call(clients[i], "echo", &request.base, &hadoop__node_id__descriptor, 0,
                                               20 * NM_USEC_PER_SEC, on_reply, &o),
                         0);
        fixture_run_until(&f, &o.n, i + 1);
        assert_int_equal(o.error, 0);
    }
    for (unsigned i = 0; i < NM_ARRAY_SIZE(fds); i++)
        fds[i] = fixture_connect(&f);
    assert_int_equal(n_open(&f, fds, NM_ARRAY_SIZE(fds)), 16);
    assert_int_equal(nm_hadoop_server_connections(f.server), 31);
    /* authenticated clients still work */
    for (unsigned i = 0; i < 15; i++) {
        Hadoop__NodeId request = HADOOP__NODE_ID__INIT;

        assert_int_equal(nm_hadoop_client_call(clients[i], "echo", &request.base, &hadoop__node_id__descriptor, 0,
                                               20 * NM_USEC_PER_SEC, on_reply, &o),
                         0);
    }
    fixture_run_until(&f, &o.n, 30);
    assert_int_equal(o.error, 0);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(fds); i++)
        close(fds[i]);
    for (unsigned i = 0; i < 15; i++)
        nm_hadoop_client_free(clients[i]);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

static int connect_from(const struct sockaddr *from, const struct sockaddr *to, socklen_t size)
{
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, from, size), 0);
    assert_int_equal(connect(fd, to, size), 0);
    return fd;
}

/* The limit of a quarter counts a host's connections over IPv4 and IPv6 together. Each host has its own limit. */
static void test_the_limit_of_a_host_counts_ipv4_and_ipv6_together(void **state)
{
    static const struct nm_hadoop_protocol none = {FIXTURE_PROTOCOL, 1, NULL, 0};
    const struct nm_hadoop_server_options options = {.protocols = &none, .n_protocols = 1, .connections_max = 32};
    struct sockaddr_in6 any = {.sin6_family = AF_INET6}, loopback = {.sin6_family = AF_INET6};
    struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
    socklen_t size = sizeof any;
    struct fixture f;
    int fds[30], fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)state;
    loopback.sin6_addr = in6addr_loopback;
    if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int)) < 0 ||
        bind(fd, (struct sockaddr *)&loopback, size) < 0) {
        print_message("skipped: there is no IPv6 here\n");
        (void)close(fd);
        skip();
    }
    (void)close(fd);
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&any, size), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&any, &size), 0);
    fixture_set_up(&f, NULL, false);
    nm_hadoop_server_free(f.server);
    assert_int_equal(nm_hadoop_server_new(f.event, fd, &options, &f.server), 0);
    to.sin_port = any.sin6_port;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (unsigned i = 0; i < 10; i++) {
        struct sockaddr_in6 here = loopback;

        here.sin6_port = any.sin6_port;
        fds[i] = connect_from((struct sockaddr *)&loopback, (struct sockaddr *)&here, sizeof here);
    }
    assert_int_equal(n_open(&f, fds, 10), 8);
    for (unsigned i = 10; i < 15; i++) {
        from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
        fds[i] = connect_from((struct sockaddr *)&from, (struct sockaddr *)&to, sizeof to);
    }
    assert_int_equal(n_open(&f, fds, 15), 13);
    for (unsigned i = 15; i < 30; i++) { /* clients without a token may use half of all connections */
        from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 2);
        fds[i] = connect_from((struct sockaddr *)&from, (struct sockaddr *)&to, sizeof to);
    }
    assert_int_equal(n_open(&f, fds, 30), 16);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(fds); i++)
        close(fds[i]);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* Two hosts that send no bytes use all connections for clients without a token. The server then ends such connections
 * after a shorter time. While only one client is connected, it has the full time for its handshake. */
static void test_silent_hosts_occupy_all_connections_only_for_a_short_time(void **state)
{
    const struct nm_hadoop_server_options options = {.connections_max = 32, .handshake_usec = 8 * NM_USEC_PER_SEC};
    struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
    socklen_t size = sizeof to;
    struct fixture f;
    uint64_t begun;
    int fds[16], client;

    (void)state;
    fixture_set_up(&f, &options, false);
    client = fixture_connect(&f);
    assert_int_equal(getpeername(client, (struct sockaddr *)&to, &size), 0);
    for (begun = nm_now_usec(); nm_now_usec() - begun < 3 * NM_USEC_PER_SEC / 2;)
        assert_true(sd_event_run(f.event, 10 * MSEC) >= 0);
    assert_int_equal(nm_hadoop_server_connections(f.server), 1);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(fds); i++) {
        from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + i / 8);
        fds[i] = connect_from((struct sockaddr *)&from, (struct sockaddr *)&to, sizeof to);
    }
    assert_true(n_open(&f, fds, NM_ARRAY_SIZE(fds)) >= 8);
    for (begun = nm_now_usec(); nm_hadoop_server_connections(f.server) > 8;) {
        assert_true(nm_now_usec() - begun < 6 * NM_USEC_PER_SEC);
        assert_true(sd_event_run(f.event, 10 * MSEC) >= 0);
    }
    for (unsigned i = 0; i < NM_ARRAY_SIZE(fds); i++)
        close(fds[i]);
    close(client);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* If a client can't be accepted, the listening socket remains readable. The event loop must not spin because of this,
 * and must serve the client when a descriptor is available again. */
static void test_the_loop_does_not_spin_when_descriptors_are_missing(void **state)
{
    Hadoop__NodeId request = HADOOP__NODE_ID__INIT;
    struct nm_hadoop_client_options known = {.token = &fixture_token};
    struct nm_hadoop_client *c;
    struct rlimit old, few;
    struct outcome o = {};
    unsigned turns = 0;
    struct fixture f;
    uint64_t end;
    int fd;

    (void)state;
    fixture_set_up(&f, NULL, true);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    c = fixture_client(&f, &known);
    request.host = (char *)"h";
    assert_int_equal(nm_hadoop_client_call(c, "echo", &request.base, &hadoop__node_id__descriptor, 0,
                                           20 * NM_USEC_PER_SEC, on_reply, &o),
                     0);
    few = old;
    fd = dup(0); /* the lowest free descriptor: all below it are used */
    few.rlim_cur = (rlim_t)fd;
    close(fd);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (end = nm_now_usec() + 250 * MSEC; nm_now_usec() < end; turns++)
        assert_true(sd_event_run(f.event, 250 * MSEC) >= 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_in_range(turns, 1, 30);
    assert_int_equal(o.n, 0);
    fixture_run_until(&f, &o.n, 1);
    assert_int_equal(o.error, 0);
    nm_hadoop_client_free(c);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wrong_preamble_is_refused),
        cmocka_unit_test(test_a_browser_gets_a_readable_answer),
        cmocka_unit_test(test_before_authentication_a_frame_that_is_too_long_is_refused),
        cmocka_unit_test(test_a_session_may_arrive_in_pieces_of_any_size),
        cmocka_unit_test(test_all_resources_of_a_truncated_session_are_freed),
        cmocka_unit_test(test_the_server_keeps_running_after_a_damaged_session),
        cmocka_unit_test(test_a_client_that_stops_sending_is_disconnected),
        cmocka_unit_test(test_a_connection_with_an_open_call_is_not_idle),
        cmocka_unit_test(test_a_client_that_never_reads_is_disconnected),
        cmocka_unit_test(test_a_client_that_reads_late_gets_all_answers),
        cmocka_unit_test(test_one_address_may_use_a_quarter_of_the_connections),
        cmocka_unit_test(test_the_limit_of_a_host_counts_ipv4_and_ipv6_together),
        cmocka_unit_test(test_silent_hosts_occupy_all_connections_only_for_a_short_time),
        cmocka_unit_test(test_the_loop_does_not_spin_when_descriptors_are_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
