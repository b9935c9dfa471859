/* SPDX-License-Identifier: Apache-2.0 */

/* Checks of TCP connections before libmicrohttpd gets them: the head of an HTTP request, the permitted host names, and
 * the limit on connections per host. */

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "far-hosts.h"
#include "http-fixture.h"
#include "rpc/local/head.h"
#include "rpc/local/host-names.h"

/* ---- heads of requests -------------------------------------------------------------------- */

#define BEGIN "GET / HTTP/1.1\r\nHost: a\r\n"

static const struct {
    int outcome;
    const char *head;
    size_t size;
} heads[] = {
#define HEAD(outcome, text) {outcome, text, sizeof text - 1}
    HEAD(0, BEGIN "\r\n"),
    HEAD(0, BEGIN "Accept: a, b\t;c\r\nX:\r\n\r\n"),
    HEAD(0, BEGIN "Content-Length: 5\r\n\r\nabcde"),
    HEAD(0, BEGIN "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n"),
    HEAD(0, BEGIN "X: \xc3\xa4\r\n\r\n"),
    HEAD(0, "GET / HTTP/1.0\r\n\r\n"),
    HEAD(0, "GET /?a=b HTTP/1.0\r\nContent-Length: 0\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "nonsense\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET /\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET /  HTTP/1.1\r\nHost: a\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET / x HTTP/1.1\r\nHost: a\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, " GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET / HTTP/1.2\r\nHost: a\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET / HTTP/1.2\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET / http/1.1\r\nHost: a\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET / HTTP/0.9\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    /* libmicrohttpd skips empty lines. It would then answer the request after them, whose head hasn't been checked. */
    HEAD(NM_HEAD_E_BAD, "\r\n" BEGIN "\r\n"),
    HEAD(NM_HEAD_E_BAD, "\r\n\r\n" BEGIN "\r\n"),
    HEAD(NM_HEAD_E_BAD, "\r\n\r\n\r\n" BEGIN "\r\n"),
    HEAD(NM_HEAD_E_BAD, "\n\n" BEGIN "\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET / HTTP/1.1\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Content-Length: 5\r\ncontent-length: 5\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Content-Length: +5\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Content-Length:\r\n\r\n"),
    HEAD(0, BEGIN "Content-Length: 00000000000000000000000000005\r\n\r\n"),
    HEAD(0, BEGIN "Content-Length: 9223372036854775807\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Content-Length: 9223372036854775808\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Content-Length: 18446744073709551615\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Content-Length: 18446744073709551616\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Content-Length: 99999999999999999999999999999\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Content-Length: 5, 5\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Transfer-Encoding: chunked, identity\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "X: a\r\n b\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET / HTTP/1.1\r\n\tHost: a\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "X: a\0b\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "\0"),
    HEAD(NM_HEAD_E_BAD, BEGIN "X: a\rY: b\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET / HTTP/1.1\nHost: a\n\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "Host: a\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, "GET / HTTP/1.1\r\nHost : a\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN "X\r\n\r\n"),
    HEAD(NM_HEAD_E_BAD, BEGIN ": a\r\n\r\n"),
#undef HEAD
};

static void test_invalid_request_heads_are_refused(void **state)
{
    struct nm_head head;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(heads); i++) {
        bool was_bad = false;

        print_message("# %zu\n", i);
        assert_int_equal(nm_head_check(heads[i].head, heads[i].size, &head), heads[i].outcome);
        assert_int_equal(heads[i].outcome == NM_HEAD_E_BAD, head.why != NULL);
        /* passes each prefix of the head in a buffer of exactly its size */
        for (size_t n = 0; n < heads[i].size; n++) {
            char *part = malloc(n + (n == 0));
            int r;

            assert_non_null(part);
            memcpy(part, heads[i].head, n);
            r = nm_head_check(part, n, &head);
            free(part);
            assert_true(r == NM_HEAD_E_PARTIAL || r == heads[i].outcome);
            assert_true(!was_bad || r == NM_HEAD_E_BAD);
            was_bad = r == NM_HEAD_E_BAD;
        }
    }
}

/* ---- host names --------------------------------------------------------------------------- */

static void test_a_request_head_may_be_split_at_each_byte(void **state)
{
    static const struct {
        const char *value, *name;
    } cases[] = {
        {"node07", "node07"}, {"node07:8042", "node07"}, {"node07.:8042", "node07"}, {"[::1]:8042", "::1"},
        {"[::1]", "::1"},     {"127.0.0.1:", "127.0.0.1"}, {"", NULL},      {":80", NULL},
        {"[::1", NULL},       {"[::1]x", NULL},          {"a:b", NULL},     {"::1", NULL},
        {"a:80:80", NULL},    {"[]:80", NULL},           {".", NULL},       {"12345678901234567890", NULL},
        {"a:1", "a"},         {"a:65535", "a"},          {"a:00080", "a"},  {"a:65536", NULL},
        {"a:0", NULL},        {"a:99999999", NULL},      {"a:000080", NULL}, {"[::1]:0", NULL},
        {"[::1]:65536", NULL}, {"[::1]:4294967297", NULL}, {"a:+80", NULL}, {"a:80 ", NULL},
    };
    char name[16];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        bool good = nm_names_split(cases[i].value, strlen(cases[i].value), name, sizeof name);

        assert_int_equal(good, cases[i].name != NULL);
        if (good)
            assert_string_equal(name, cases[i].name);
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_only_names_of_this_host_are_permitted(void **state)
{
    static const char *const ours[] = {"localhost", "LOCALHOST", "node07",   "Node07.example.com", "alias",
                                       "node07.a.org", "node07.b.org", "more",  "198.51.100.7",       "127.0.0.1",
                                       "127.1.2.3", "::1", "::ffff:127.0.0.1"};
    static const char *const others[] = {"evil.example", "node08", "example.com", "node07.evil.example", "b.org",
                                         "198.51.100.8", "0.0.0.0", "::", "127.1", "2130706433", ""};
    struct fixture *f = *state;
    char hosts[128], resolv[128];
    struct nm_names *n;

    (void)snprintf(hosts, sizeof hosts, "%s/hosts", f->dir);
    (void)snprintf(resolv, sizeof resolv, "%s/resolv", f->dir);
    write_file(hosts, "127.0.0.1 localhost\n# 1.2.3.4 node07 evil.example\n127.0.1.1 node07.example.com node07\talias\n"
                      "10.0.0.8 node08 b.example.com # node07 evil.example\n");
    write_file(resolv, "nameserver 127.0.0.53\n  search a.org b.org.\noptions edns0\n");
    assert_int_equal(nm_names_new(&n), 0);
    assert_int_equal(nm_names_add_from(n, "node07", hosts, resolv), 0);
    assert_int_equal(nm_names_add_from(n, "node07", "/nonexistent", "/nonexistent"), 0);
    assert_int_equal(nm_names_add(n, " more, 198.51.100.7,,0.0.0.0 ::"), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(ours); i++)
        assert_true(nm_names_have(n, ours[i]));
    for (size_t i = 0; i < NM_ARRAY_SIZE(others); i++)
        assert_false(nm_names_have(n, others[i]));
    nm_names_free(n);
    (void)unlink(hosts);
    (void)unlink(resolv);
}

/* ---- browsers on the socket --------------------------------------------------------------- */

static void test_requests_by_web_pages_of_other_origins_are_refused(void **state)
{
    static const struct {
        const char *origin, *host;
        int outcome;
    } cases[] = {
        {NULL, NULL, 0},
        {NULL, "", 0},
        {NULL, "nmd", 0},
        {NULL, "localhost:8042", 0},
        {NULL, "127.0.0.1:8042", 0},
        {NULL, "10.1.2.3", 0},
        {NULL, "[::1]:8042", 0},
        {NULL, "node07.example.com:8042", 0},
        {NULL, "evil.example", NM_BROWSER_E_HOST},
        {NULL, "evil.example.:8042", NM_BROWSER_E_HOST},
        {NULL, "node07.example.com.evil.example", NM_BROWSER_E_HOST},
        {NULL, "a b:c:d", NM_BROWSER_E_HOST},
        {"http://localhost:8042", "localhost:8042", 0},
        {"https://localhost:8042", "LOCALHOST:8042", 0},
        {"http://localhost:8043", "localhost:8042", NM_BROWSER_E_ORIGIN},
        {"http://localhost", "localhost:8042", NM_BROWSER_E_ORIGIN},
        {"http://evil.example", "localhost:8042", NM_BROWSER_E_ORIGIN},
        {"http://evil.example", NULL, NM_BROWSER_E_ORIGIN},
        {"http://evil.example", "evil.example", NM_BROWSER_E_HOST},
        {"null", "localhost:8042", NM_BROWSER_E_ORIGIN},
        {"", "localhost:8042", NM_BROWSER_E_ORIGIN},
        {"localhost:8042", "localhost:8042", NM_BROWSER_E_ORIGIN},
        {"file://", "", NM_BROWSER_E_ORIGIN},
    };
    struct nm_names *n;

    (void)state;
    assert_int_equal(nm_names_new(&n), 0);
    assert_int_equal(nm_names_add(n, "node07.example.com"), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        print_message("# %zu\n", i);
        assert_int_equal(nm_browser_check(n, cases[i].origin, cases[i].host), cases[i].outcome);
    }
    nm_names_free(n);
}

/* ---- the server's connections ------------------------------------------------------------- */

int __wrap_accept4(int fd, struct sockaddr *sa, socklen_t *size, int flags)
{
    return accept_from_afar(fd, sa, size, flags);
}

/* Connects from the address 127.0.0.N, which the server counts as a separate host (far-hosts.h). */
static void connect_from(struct fixture *f, struct client *c, unsigned last_byte)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000000u + last_byte)};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)nm_local_server_tcp_port(f->server))};

    *c = (struct client){.f = f, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .data = calloc(1, 1)};
    assert_int_equal(bind(c->fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(c->fd, (struct sockaddr *)&to, sizeof to), 0);
}

static int ask(struct fixture *f, unsigned last_byte, const char *host)
{
    struct client c;
    int status;

    connect_from(f, &c, last_byte);
    client_send(&c, "GET /v1/version HTTP/1.1\r\nHost: %s\r\n\r\n", host);
    until(&c, c.eof); /* each connection carries one request */
    status = client_status(&c);
    client_close(&c);
    return status;
}

static void test_requests_with_the_host_header_of_another_host_are_refused(void **state)
{
    static const char *const good[] = {"127.0.0.1:1", "localhost", "[::1]", "scraped.example:80", "198.51.100.1",
                                       "node.of.the.cluster:8042", "added.later"};
    static const char *const bad[] = {"evil.example", "127.0.0.1.evil.example:80", "", "198.51.100.2"};
    struct nm_local_server_params p = {.http_address = "0", .http_hosts = "scraped.example 198.51.100.1"};
    struct fixture *f = *state;

    start(f, &p);
    assert_int_equal(nm_local_server_add_hosts(f->server, "added.later"), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(good); i++)
        assert_int_equal(ask(f, 1, good[i]), 200);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++)
        assert_int_equal(ask(f, 1, bad[i]), 421);
    /* on the UNIX socket the server doesn't check the Host header */
    assert_int_equal(request(f, "GET", "/v1/version", NULL, NULL), 200);
}

/* Sends a request in pieces, a request together with the next one, and requests with an invalid byte, which the server
 * refuses as soon as it reads the invalid byte. */
static void test_requests_that_arrive_in_pieces_are_answered(void **state)
{
    static const char request[] = "GET /v1/version HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct nm_local_server_params p = {.http_address = "0"};
    struct fixture *f = *state;
    struct client c;

    start(f, &p);
    connect_from(f, &c, 1);
    for (const char *at = request; *at; at++) {
        client_send(&c, "%c", *at);
        turn(&c);
    }
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 200);
    client_close(&c);
    connect_from(f, &c, 1);
    client_send(&c, "%sGET /v1/version HTTP/1.1\r\nHost: evil.example\r\n\r\n", request);
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 200);
    assert_null(strstr(c.data + 9, "HTTP/1.1 ")); /* the server doesn't answer the second request */
    client_close(&c);
    for (size_t i = 0; i < NM_ARRAY_SIZE(heads); i++) {
        if (heads[i].outcome != NM_HEAD_E_BAD)
            continue;
        connect_from(f, &c, 1);
        assert_int_equal(send(c.fd, heads[i].head, heads[i].size, MSG_NOSIGNAL), heads[i].size);
        until(&c, c.eof);
        assert_int_equal(client_status(&c), 400);
        client_close(&c);
    }
    connect_from(f, &c, 1); /* a client that disconnects in the middle of its request */
    client_send(&c, "GET /v1");
    turn(&c);
    (void)shutdown(c.fd, SHUT_WR);
    until(&c, c.eof);
    client_close(&c);
    connect_from(f, &c, 1); /* a client that is still connected when the server stops */
    client_send(&c, "GET /v1");
    turn(&c);
    stop(f);
    client_close(&c);
}

/* Opens n connections from this host. Each sends half of a request: a part of the head or of the body. */
static void hold(struct fixture *f, struct client *c, size_t n, unsigned host, const char *half)
{
    for (size_t i = 0; i < n; i++) {
        connect_from(f, &c[i], host);
        client_send(&c[i], "%s", half);
        turn(&c[i]);
    }
    for (size_t i = 0; i < n; i++)
        turn(&c[i]);
}

static unsigned count_open(struct client *c, size_t n)
{
    unsigned open = 0;

    for (size_t i = 0; i < n; i++) {
        turn(&c[i]);
        open += !c[i].eof;
    }
    return open;
}

static const char *const halves[] = {"GET /v1/version HTTP/1.1\r\nHo",
                                     "GET /v1/version HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n"};

/* One host that sends half requests gets at most a quarter of the TCP connections, and only until the timeout. A
 * further connection of this host replaces its oldest connection. */
static void test_one_host_gets_at_most_a_quarter_of_the_connections(void **state)
{
    struct nm_local_server_params p = {
        .http_address = "0", .max_connections = 512, .timeout_usec = 2 * NM_USEC_PER_SEC};
    struct fixture *f = *state;
    struct client c[40];

    start(f, &p);
    for (size_t k = 0; k < NM_ARRAY_SIZE(halves); k++) {
        hold(f, c, NM_ARRAY_SIZE(c), 2, halves[k]);
        assert_int_equal(count_open(c, NM_ARRAY_SIZE(c)), 16);
        assert_int_equal(ask(f, 1, "localhost"), 200);
        assert_int_equal(ask(f, 2, "localhost"), 200);
        for (size_t i = 0; i < NM_ARRAY_SIZE(c); i++) {
            until(&c[i], c[i].eof);
            assert_int_equal(client_status(&c[i]), i < 25 ? 503 : 408);
            client_close(&c[i]);
        }
    }
}

/* Clients open all permitted TCP connections with half requests, from one loopback address or from many addresses.
 * Other clients can still connect. */
static void test_connections_with_incomplete_requests_do_not_block_new_connections(void **state)
{
    struct nm_local_server_params p = {.http_address = "0", .max_connections = 512};
    struct fixture *f = *state;
    struct client c[64];

    start(f, &p);
    for (size_t k = 0; k < NM_ARRAY_SIZE(halves); k++) {
        for (unsigned host = 0; host < 4; host++)
            hold(f, c + host * 16, 16, 2 + host, halves[k]);
        assert_int_equal(count_open(c, NM_ARRAY_SIZE(c)), 64);
        for (unsigned i = 0; i < 6; i++)
            assert_int_equal(ask(f, 1 + i, "localhost"), 200);
        for (size_t i = 0; i < NM_ARRAY_SIZE(c); i++)
            client_close(&c[i]);
        for (unsigned i = 0; i < 20; i++)
            assert_int_equal(ask(f, 9, "localhost"), 200);
    }
}

/* A request with two Content-Length headers is refused on the UNIX socket, too. */
static void test_two_content_lengths_are_refused_on_the_unix_socket(void **state)
{
    static const char *const both[] = {"Content-Length: 2\r\nContent-Length: 3\r\n",
                                       "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"};
    struct fixture *f = *state;

    start(f, NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(both); i++) {
        struct client c;

        client_connect(f, &c);
        client_send(&c, "POST /v1/drain HTTP/1.1\r\nHost: x\r\n%s\r\n{}", both[i]);
        until(&c, c.eof);
        assert_int_equal(client_status(&c), 400);
        client_close(&c);
    }
}

/* On the UNIX socket a user sees only the user's own applications. TCP clients see all applications, without the names
 * of their users. */
static void test_a_user_sees_only_its_own_applications(void **state)
{
    struct fixture *f = *state;
    json_t *j;

    start(f, NULL);
    f->m->ended_app = (struct nm_ended_app){.name = "job", .submitter_uid = 54321, .killed = 1};
    assert_int_equal(request(f, "GET", "/v1/applications", NULL, &j), 200);
    assert_int_equal(json_array_size(json_object_get(j, "applications")), 1);
    json_decref(j);
    if (geteuid() != 0)
        return;
    assert_int_equal(request_as(f, 54321, "GET", "/v1/applications", NULL, &j), 200);
    assert_int_equal(json_array_size(json_object_get(j, "applications")), 1);
    json_decref(j);
    assert_int_equal(request_as(f, 54322, "GET", "/v1/applications", NULL, &j), 200);
    assert_int_equal(json_array_size(json_object_get(j, "applications")), 0);
    json_decref(j);
}

/* A request with a forbidden origin or host is refused with this reason even if it has other errors, and it isn't
 * carried out. */
static void test_a_forbidden_origin_is_reported_before_other_errors(void **state)
{
    static const struct {
        const char *head;
        int status;
    } cases[] = {
        {"GET /v1/status HTTP/1.1\r\nHost: localhost:1\r\n", 200},
        {"GET /v1/status HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://localhost:1\r\n", 200},
        {"GET /v1/status HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://localhost:2\r\n", 403},
        {"GET /v1/status HTTP/1.1\r\nHost: evil.example\r\n", 421},
        {"GET /nothing HTTP/1.1\r\nHost: evil.example\r\n", 421},
        {"POST /v1/drain HTTP/1.1\r\nHost: localhost:1\r\nOrigin: null\r\nContent-Type: text/plain\r\n"
         "Content-Length: 2\r\n", 403},
        {"POST /v1/nothing HTTP/1.1\r\nHost: localhost:1\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n", 404},
    };
    struct fixture *f = *state;

    start(f, NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        char request[512];
        struct client c;

        print_message("# %zu\n", i);
        (void)snprintf(request, sizeof request, "%sConnection: close\r\n\r\n%s", cases[i].head,
                       strstr(cases[i].head, "POST") ? "{}" : "");
        client_connect(f, &c);
        client_send(&c, "%s", request);
        until(&c, c.eof);
        assert_int_equal(client_status(&c), cases[i].status);
        client_close(&c);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_request_heads_are_refused),
        cmocka_unit_test(test_a_request_head_may_be_split_at_each_byte),
        cmocka_unit_test(test_requests_by_web_pages_of_other_origins_are_refused),
        TEST(test_only_names_of_this_host_are_permitted),
        TEST(test_requests_with_the_host_header_of_another_host_are_refused),
        TEST(test_requests_that_arrive_in_pieces_are_answered),
        TEST(test_one_host_gets_at_most_a_quarter_of_the_connections),
        TEST(test_connections_with_incomplete_requests_do_not_block_new_connections),
        TEST(test_two_content_lengths_are_refused_on_the_unix_socket),
        TEST(test_a_user_sees_only_its_own_applications),
        TEST(test_a_forbidden_origin_is_reported_before_other_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
