/* SPDX-License-Identifier: Apache-2.0 */

/* Each HTTP reply is parsed whole, in two pieces that are split at every possible position, and byte by byte. The
 * results must be the same. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "rpc/local/client/reply.h"
#include "util/macros.h"

#define OK "HTTP/1.1 200 OK\r\n"

static const struct {
    const char *bytes;
    int end;         /* the result after the last byte (NM_REPLY_E_DONE may be returned earlier) */
    int eof;         /* the result when the peer closes the connection */
    unsigned status; /* valid if the reply is complete */
    const char *body;
} cases[] = {
    {OK "Content-Length: 5\r\n\r\nhello", NM_REPLY_E_DONE, NM_REPLY_E_DONE, 200, "hello"},
    {OK "content-length:5  \r\n\r\nhello", NM_REPLY_E_DONE, NM_REPLY_E_DONE, 200, "hello"},
    {OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", NM_REPLY_E_DONE, NM_REPLY_E_DONE,
     200, "hello"},
    {"HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n", NM_REPLY_E_DONE, NM_REPLY_E_DONE, 404,
     ""},
    {"HTTP/1.1 204\r\n\r\n", NM_REPLY_E_DONE, NM_REPLY_E_DONE, 204, ""},
    {"HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 2\r\n\r\nok", NM_REPLY_E_DONE,
     NM_REPLY_E_DONE, 200, "ok"},
    {OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0A;x=y\r\n0123456789\r\n0\r\n\r\n",
     NM_REPLY_E_DONE, NM_REPLY_E_DONE, 200, "abc0123456789"},
    {OK "Transfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\nTrailer: x\r\n\r\n", NM_REPLY_E_DONE,
     NM_REPLY_E_DONE, 200, "a"},
    {OK "X: y\r\n\r\nuntil the end", 0, NM_REPLY_E_DONE, 200, "until the end"},
    /* truncated replies */
    {"", 0, -ECONNRESET, 0, NULL},
    {OK, 0, -ECONNRESET, 0, NULL},
    {OK "Content-Length: 5\r\n\r\nhell", 0, -ECONNRESET, 0, NULL},
    {OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 0, -ECONNRESET, 0, NULL},
    {OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", 0, -ECONNRESET, 0, NULL},
    /* invalid or ambiguous HTTP replies */
    {"SSH-2.0-OpenSSH_9.2\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {"HTTP/2 200 OK\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {"HTTP/1.1 20 OK\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {"HTTP/1.1 2000\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {"HTTP/1.1 099 x\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {"HTTP/1.1 200 OK\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "Bad Header: x\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK " folded: x\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "no colon\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "A: \001\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "A: b\rc\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "Content-Length: -1\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "Content-Length: 1x\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "Content-Length:\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "Content-Length: 9999999999999999999\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "Content-Length: 5\r\nContent-Length: 6\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "Transfer-Encoding: gzip\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {OK "Transfer-Encoding: chunked\r\n\r\n1000000000000000\r\n", -EBADMSG, -EBADMSG, 0, NULL},
    {"HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n", -EBADMSG, -EBADMSG, 0, NULL},
};

struct sink {
    char body[64];
    size_t len;
};

static int gather(const char *data, size_t n, void *userdata)
{
    struct sink *s = userdata;

    assert_true(n > 0 && s->len + n < sizeof s->body);
    memcpy(s->body + s->len, data, n);
    s->len += n;
    s->body[s->len] = '\0';
    return 0;
}

/* Passes each piece in memory of exactly its size, so that a sanitizer finds any read beyond the piece. */
static int feed(struct nm_reply *r, const char *data, size_t n)
{
    char *copy = malloc(n ? n : 1);
    int e;

    assert_non_null(copy);
    memcpy(copy, data, n);
    e = nm_reply_feed(r, copy, n);
    free(copy);
    return e;
}

static void check(size_t i, size_t first, size_t step)
{
    struct sink s = {0};
    struct nm_reply r;
    size_t n = strlen(cases[i].bytes);
    int e = 0;

    nm_reply_init(&r, gather, &s);
    for (size_t at = 0; at < n && e == 0;) {
        size_t piece = at == 0 && first > 0 ? NM_MIN(first, n) : NM_MIN(step, n - at);
        e = feed(&r, cases[i].bytes + at, piece);
        at += piece;
    }
    if (e != cases[i].end)
        fail_msg("case %zu split at %zu: got %d, not %d", i, first, e, cases[i].end);
    assert_int_equal(nm_reply_feed_eof(&r), cases[i].eof);
    if (cases[i].eof == NM_REPLY_E_DONE) {
        assert_int_equal(r.status, cases[i].status);
        assert_string_equal(s.body, cases[i].body);
    }
}

static void test_a_reply_may_be_split_at_each_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        check(i, 0, 1);
        for (size_t first = 1; first <= strlen(cases[i].bytes) + 1; first++)
            check(i, first, SIZE_MAX);
    }
}

static void test_after_an_error_the_parser_returns_the_same_error(void **state)
{
    struct sink s = {0};
    struct nm_reply r;

    (void)state;
    nm_reply_init(&r, gather, &s);
    assert_int_equal(feed(&r, "nonsense\r\n", 10), -EBADMSG);
    assert_int_equal(feed(&r, "HTTP/1.1 200 OK\r\n\r\n", 19), -EBADMSG);
}

static void test_a_reply_that_exceeds_a_limit_is_refused(void **state)
{
    struct sink s = {0};
    struct nm_reply r;
    int e = 0;

    (void)state;
    nm_reply_init(&r, gather, &s);
    assert_int_equal(nm_reply_feed(&r, OK, strlen(OK)), 0);
    for (int i = 0; i <= NM_REPLY_LINE_MAX && e == 0; i++)
        e = nm_reply_feed(&r, "a", 1);
    assert_int_equal(e, 0); /* one byte over the limit of a line: this byte could still be the CR */
    assert_int_equal(nm_reply_feed(&r, "a", 1), -E2BIG);

    nm_reply_init(&r, gather, &s);
    assert_int_equal(nm_reply_feed(&r, OK, strlen(OK)), 0);
    e = 0;
    for (int i = 1; i < NM_REPLY_LINES_MAX; i++)
        assert_int_equal(nm_reply_feed(&r, "A: b\r\n", 6), 0);
    assert_int_equal(nm_reply_feed(&r, "A: b\r\n", 6), -E2BIG);
}

/* A reply that follows a container's log for hours may have any number of chunks. */
static void test_a_reply_may_have_any_number_of_chunks(void **state)
{
    struct sink s = {0};
    struct nm_reply r;

    (void)state;
    nm_reply_init(&r, gather, &s);
    assert_int_equal(nm_reply_feed(&r, OK "Transfer-Encoding: chunked\r\n\r\n", strlen(OK) + 30),
                     0);
    for (int i = 0; i < 10000; i++) {
        s.len = 0;
        assert_int_equal(nm_reply_feed(&r, "2\r\nok\r\n", 7), 0);
    }
    assert_int_equal(nm_reply_feed(&r, "0\r\n\r\n", 5), NM_REPLY_E_DONE);
}

/* A header for the position in a log must be a number. An invalid header is ignored, since the reply is useful without
 * the position. */
static void test_an_invalid_position_of_a_log_is_ignored(void **state)
{
    static const struct {
        const char *value;
        bool known;
    } given[] = {{"12345", true}, {"999999999999999999", true}, {"1000000000000000000", false}, {"-1", false},
                 {"12x", false},  {"", false}};
    struct sink s = {0};
    struct nm_reply r;
    char bytes[128];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(given); i++) {
        nm_reply_init(&r, gather, &s);
        (void)snprintf(bytes, sizeof bytes, OK "Content-Length: 0\r\n" NM_REPLY_LOG_POSITION ": %s\r\n\r\n",
                       given[i].value);
        assert_int_equal(nm_reply_feed(&r, bytes, strlen(bytes)), NM_REPLY_E_DONE);
        assert_int_equal(r.has_log_position, given[i].known);
        if (given[i].known)
            assert_int_equal(r.log_position, strtoull(given[i].value, NULL, 10));
    }
}

static int refuse(const char *data, size_t n, void *userdata)
{
    (void)data;
    (void)n;
    (void)userdata;
    return -ENOSPC;
}

static void test_an_error_of_the_body_callback_is_returned(void **state)
{
    struct nm_reply r;

    (void)state;
    nm_reply_init(&r, refuse, NULL);
    assert_int_equal(nm_reply_feed(&r, OK "\r\nx", strlen(OK) + 3), -ENOSPC);
    assert_int_equal(nm_reply_feed_eof(&r), -ENOSPC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_reply_may_be_split_at_each_byte),
        cmocka_unit_test(test_after_an_error_the_parser_returns_the_same_error),
        cmocka_unit_test(test_a_reply_that_exceeds_a_limit_is_refused),
        cmocka_unit_test(test_a_reply_may_have_any_number_of_chunks),
        cmocka_unit_test(test_an_invalid_position_of_a_log_is_ignored),
        cmocka_unit_test(test_an_error_of_the_body_callback_is_returned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
