/* SPDX-License-Identifier: Apache-2.0 */

/* Pages of the upstream: rpc/local/stream-page.c and the XML of rpc/local/answer-xml.c. */

#include <sys/socket.h>
#include <unistd.h>

#include "http-fixture.h"
#include "rpc/local/answer-xml.h"
#include "rpc/local/claimed-user.h"

#define FILE_PATH "/ws/v1/node/containers/container_1_0001_01_000001/logs/a%0Ab"

/* ---- pages -------------------------------------------------------------------------------- */

static struct {
    const char *before, *after, *location;
    unsigned status;
    uint64_t from, size;
    bool is_html;
    int fd; /* is duplicated for each page */
} shown;

static int show(const struct nm_upstream_query *q, struct nm_upstream_page *ret)
{
    (void)q;
    *ret = (struct nm_upstream_page){
        .status = shown.status,
        .content_type = "text/plain",
        .before = shown.before ? strdup(shown.before) : NULL,
        .after = shown.after ? strdup(shown.after) : NULL,
        .location = shown.location ? strdup(shown.location) : NULL,
        .fd = shown.fd >= 0 ? dup(shown.fd) : -1,
        .from = shown.from,
        .size = shown.size,
        .is_html = shown.is_html,
    };
    return 0;
}

/* Returns a file without a name that has this text n times. */
static int file_of(const char *text, size_t n)
{
    char path[] = "/tmp/nmd-pages.XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    return fd;
}

static void get(struct fixture *f, struct client *c, const char *target)
{
    client_connect(f, c);
    client_send(c, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target);
    until(c, c->eof);
}

static void assert_page(struct fixture *f, const char *expected)
{
    _cleanup_free_ char *content = NULL;
    struct client c;

    get(f, &c, FILE_PATH);
    assert_int_equal(client_status(&c), shown.status);
    content = client_content(&c);
    assert_string_equal(content, expected);
    client_close(&c);
}

static void begin_with(struct fixture *f, const struct nm_local_server_params *p)
{
    start(f, p);
    memset(&shown, 0, sizeof shown);
    shown.status = 200;
    shown.fd = -1;
    f->m->page = show;
}

static void begin(struct fixture *f)
{
    begin_with(f, NULL);
}

static void test_a_page_has_its_texts_and_the_part_of_the_file(void **state)
{
    struct fixture *f = *state;

    begin(f);
    assert_page(f, "");
    assert_string_equal(f->m->last_query,
                        "/ws/v1/node/containers/{id}/logs/{file} container_1_0001_01_000001 - a\nb - 1");
    shown.before = "head\n";
    assert_page(f, "head\n");
    shown.after = "tail\n";
    assert_page(f, "head\ntail\n");
    shown.fd = file_of("0123456789", 1);
    assert_page(f, "head\ntail\n");
    shown.from = 2;
    shown.size = 3;
    assert_page(f, "head\n234tail\n");
    shown.size = 1000; /* the file has become shorter */
    assert_page(f, "head\n23456789tail\n");
    shown.from = 1000;
    assert_page(f, "head\ntail\n");
    shown.before = NULL;
    shown.from = 0;
    shown.size = 10;
    assert_page(f, "0123456789tail\n");
    close(shown.fd);
}

static void test_a_file_in_a_page_is_escaped(void **state)
{
    struct fixture *f = *state;
    _cleanup_free_ char *content = NULL;
    struct client c;
    size_t n = 0;

    begin(f);
    shown.is_html = true;
    shown.fd = file_of("<a b=\"c&d'\">\xff\n", 1);
    shown.size = 100;
    assert_page(f, "&lt;a b=&quot;c&amp;d'&quot;&gt;\xff\n");
    close(shown.fd);
    shown.fd = file_of("\"\"\"\"\"\"\"\"\"\"", 10000); /* the escape is six times as long */
    shown.size = 100000;
    get(f, &c, FILE_PATH);
    content = client_content(&c);
    for (const char *p = content; strncmp(p, "&quot;", 6) == 0; p += 6)
        n++;
    assert_int_equal(n, 100000);
    assert_int_equal(strlen(content), 600000);
    client_close(&c);
    close(shown.fd);
}

static void test_a_page_has_a_status_and_headers(void **state)
{
    struct fixture *f = *state;
    unsigned n_open;
    struct client c;

    begin(f);
    shown.status = 307;
    shown.location = "http://elsewhere/x?y=1";
    shown.before = "moved";
    get(f, &c, FILE_PATH);
    assert_int_equal(client_status(&c), 307);
    assert_string_equal(client_header(&c, "Location"), "http://elsewhere/x?y=1");
    assert_non_null(strstr(client_header(&c, "Content-Security-Policy"), "default-src 'none'"));
    assert_string_equal(client_header(&c, "X-Content-Type-Options"), "nosniff");
    client_close(&c);
    /* A client that leaves early, and HEAD, leave no file open. */
    shown = (typeof(shown)){.status = 200, .fd = file_of("0123456789", 100000), .size = 1000000};
    turn_for(&c, NM_USEC_PER_SEC / 100);
    n_open = n_open_fds();
    client_connect(f, &c);
    client_send(&c, "HEAD %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", FILE_PATH);
    until(&c, c.eof);
    assert_string_equal(client_body(&c), "");
    client_close(&c);
    client_connect(f, &c);
    client_send(&c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", FILE_PATH);
    until(&c, client_status(&c) == 200);
    client_close(&c);
    client_connect(f, &c);
    until(&c, n_open_fds() <= n_open + 2);
    client_close(&c);
    f->m->page = NULL;
    get(f, &c, "/node/containerlogs/container_1_0001_01_000001/alice/");
    assert_int_equal(client_status(&c), 404);
    assert_string_equal(client_header(&c, "Content-Type"), "application/json");
    client_close(&c);
    close(shown.fd);
}

/* Reads at most n bytes of the answer every 50 ms. Returns whether the server closes the connection in this time. */
static bool is_closed_within(uint64_t usec, struct client *c, size_t n, struct client *other)
{
    const uint64_t end_usec = nm_now_usec() + usec;
    const unsigned n_open = n_open_fds();
    char buf[32768];

    while (n_open_fds() == n_open && nm_now_usec() < end_usec) {
        turn_for(other, 50 * NM_USEC_PER_MSEC);
        (void)!recv(c->fd, buf, n, MSG_DONTWAIT);
    }
    return n_open_fds() < n_open;
}

/* A client may need any time for a large page if it reads each piece in time. libmicrohttpd's own time limit restarts
 * with each byte, and is three seconds longer than the server's. */
static void test_a_page_must_be_read_piece_by_piece(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.timeout_usec = 200 * NM_USEC_PER_MSEC};
    struct client c, other;

    begin_with(f, &p);
    shown.fd = file_of("0123456789", 800000);
    shown.size = 8000000;
    client_connect(f, &other);
    client_send(&other, "GET /v1/events?follow=true HTTP/1.1\r\nHost: x\r\n\r\n"); /* has no time limit */
    client_connect(f, &c);
    client_send(&c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", FILE_PATH);
    until(&other, client_status(&other) == 200);
    turn_for(&other, 50 * NM_USEC_PER_MSEC);
    assert_false(is_closed_within(2 * NM_USEC_PER_SEC, &c, 32768, &other));
    assert_true(is_closed_within(20 * NM_USEC_PER_SEC, &c, 200, &other));
    client_close(&c);
    client_close(&other);
    close(shown.fd);
}

/* ---- the user of a request ---------------------------------------------------------------- */

static void test_the_user_is_in_the_cookie_or_in_the_query(void **state)
{
    static const struct {
        const char *cookie, *query, *user; /* user NULL: none */
    } cases[] = {
        {NULL, NULL, NULL},
        {NULL, "", NULL},
        {NULL, "alice", "alice"},
        {"hadoop.auth=\"u=alice&p=alice&t=simple&e=1&s=x=\"", NULL, "alice"},
        {"hadoop.auth=\"u=alice&p=x\"", "bob", "alice"}, /* as with Hadoop */
        {"hadoop.auth=u=alice", NULL, "alice"},
        {"a=b; hadoop.auth=\"t=simple&u=o.neil$\"; c=d", NULL, "o.neil$"},
        {"hadoop.auth=\"t=simple&u=", "bob", "bob"},
        {"hadoop.auth=", "bob", "bob"},
        {"hadoop.auth=\"&&&\"; u=eve", NULL, NULL},
        {"xhadoop.auth=u=alice", NULL, NULL},
        {"", NULL, NULL},
        {";;; ;", NULL, NULL},
        {NULL, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL},
    };
    char user[NM_CLAIMED_USER_SIZE], cookie[NM_CLAIMED_USER_COOKIE_SIZE];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        assert_int_equal(nm_claimed_user_find(cases[i].cookie, cases[i].query, user), cases[i].user != NULL);
        if (cases[i].user)
            assert_string_equal(user, cases[i].user);
    }
    assert_false(nm_claimed_user_cookie("a;b", cookie));
    assert_false(nm_claimed_user_cookie("a\r\nX: y", cookie));
    assert_false(nm_claimed_user_cookie("", cookie));
    assert_true(nm_claimed_user_cookie("alice", cookie));
    assert_true(nm_claimed_user_find(cookie, NULL, user));
    assert_string_equal(user, "alice");
}

/* Hadoop's clients send OPTIONS with their user first, and then their cookie. */
static void test_options_are_answered_for_routes_of_the_upstream(void **state)
{
    static const char *const others[] = {"/v1/status", "/v1/containers/web", "/"};
    struct fixture *f = *state;
    struct client c;

    begin(f);
    client_connect(f, &c);
    client_send(&c, "OPTIONS %s?user.name=alice HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", FILE_PATH);
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 200);
    assert_string_equal(client_header(&c, "Allow"), "GET, HEAD, OPTIONS");
    assert_string_equal(client_header(&c, "Set-Cookie"),
                        "hadoop.auth=\"u=alice&p=alice&t=simple\"; Path=/; HttpOnly");
    assert_string_equal(client_body(&c), "");
    client_close(&c);
    client_connect(f, &c);
    client_send(&c, "OPTIONS /ws/v1/node?user.name=a%%20b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 200);
    assert_null(client_header(&c, "Set-Cookie"));
    client_close(&c);
    for (size_t i = 0; i < NM_ARRAY_SIZE(others); i++) {
        client_connect(f, &c);
        client_send(&c, "OPTIONS %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", others[i]);
        until(&c, c.eof);
        assert_int_equal(client_status(&c), 405);
        assert_null(strstr(client_header(&c, "Allow"), "OPTIONS"));
        client_close(&c);
    }
}

/* ---- XML ---------------------------------------------------------------------------------- */

static void test_clients_that_prefer_xml_get_xml(void **state)
{
    static const struct {
        const char *accept;
        bool xml;
    } cases[] = {
        {"application/xml", true},
        {"application/json", false},
        {"*/*", false},
        {"text/html", false},
        {"", false},
        {",;,", false},
        {"application/json, application/xml", false},
        {"application/json;q=0.5,application/xml", true},
        {"application/xml; q=0.1", true},
        {"application/xml; q=0.1, */*;q=0.2", false},
        {"APPLICATION/XML;charset=utf-8", true},
        {"application/*;q=0.3, application/xml;q=0.2", false},
        {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true},
        {"application/xml;q=", false},
    };
    struct fixture *f = *state;
    struct client c;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        assert_int_equal(nm_answer_accept_prefers_xml(cases[i].accept), cases[i].xml);
    start(f, NULL);
    f->m->of_upstream = json_pack("{s:{s:{s:s, s:i, s:b, s:n, s:[s,s], s:[{s:s},{s:s}], s:[]}}}", "/ws/v1/node",
                                  "nodeInfo", "text", "a<b>&\x01\r\xc3\xa4\xef\xbf\xbf.\xef\xbf\xbd",
                                  "number", -5, "flag", 1, "nothing", "names", "x", "y",
                                  "items", "id", "1", "id", "2", "none");
    client_connect(f, &c);
    client_send(&c, "GET /ws/v1/node HTTP/1.1\r\nHost: x\r\nAccept: application/xml\r\nConnection: close\r\n\r\n");
    until(&c, c.eof);
    assert_string_equal(client_header(&c, "Content-Type"), "application/xml; charset=utf-8");
    assert_string_equal(client_body(&c),
                        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?><nodeInfo>"
                        "<text>a&lt;b&gt;&amp;\xef\xbf\xbd&#13;\xc3\xa4\xef\xbf\xbd.\xef\xbf\xbd</text>"
                        "<number>-5</number><flag>true</flag><names>x</names><names>y</names>"
                        "<items><id>1</id></items><items><id>2</id></items>"
                        "</nodeInfo>");
    client_close(&c);
    client_connect(f, &c); /* nmd's own routes are always JSON */
    client_send(&c, "GET /v1/version HTTP/1.1\r\nHost: x\r\nAccept: application/xml\r\nConnection: close\r\n\r\n");
    until(&c, c.eof);
    assert_string_equal(client_header(&c, "Content-Type"), "application/json");
    client_close(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_page_has_its_texts_and_the_part_of_the_file),
        TEST(test_a_file_in_a_page_is_escaped),
        TEST(test_a_page_has_a_status_and_headers),
        TEST(test_a_page_must_be_read_piece_by_piece),
        TEST(test_the_user_is_in_the_cookie_or_in_the_query),
        TEST(test_options_are_answered_for_routes_of_the_upstream),
        TEST(test_clients_that_prefer_xml_get_xml),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
