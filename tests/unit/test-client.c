/* SPDX-License-Identifier: Apache-2.0 */

/* The client against fixed replies over a real socket, each reply cut at every byte, and without a server. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fail-nth.h"
#include "fake-nmd.h"
#include "rpc/local/client/client.h"
#include "util/macros.h"

#define TIMEOUT_USEC (20 * NM_USEC_PER_SEC)
#define LENGTH_REPLY "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"a\":\"b c\"}"
#define CHUNKED_REPLY                                                                              \
    "HTTP/1.1 404 Nope\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n7\r\n:\"b "             \
    "c\"}\r\n0\r\n\r\n"

static int fetch(const struct fake_nmd *f, const char *target, struct nm_client_answer *ret)
{
    const struct nm_client_request q = {.socket_path = f->path, .method = "GET", .target = target};

    return nm_client_fetch(&q, TIMEOUT_USEC, ret);
}

static void test_an_answer_may_be_split_at_each_byte(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /length HTTP/1.1\r\n", LENGTH_REPLY, NULL},
        {"GET /chunked HTTP/1.1\r\n", CHUNKED_REPLY, NULL},
    };

    (void)state;
    for (size_t split = 0; split <= strlen(CHUNKED_REPLY); split++) {
        struct nm_client_answer a = {0};
        struct fake_nmd f;

        fake_nmd_start(&f, x, NM_ARRAY_SIZE(x), split);
        assert_int_equal(fetch(&f, "/length", &a), 0);
        assert_int_equal(a.status, 200);
        assert_string_equal(a.body, "{\"a\":\"b c\"}");
        nm_client_answer_done(&a);
        assert_int_equal(fetch(&f, "/chunked", &a), 0);
        assert_int_equal(a.status, 404);
        assert_string_equal(a.body, "{\"a\":\"b c\"}");
        nm_client_answer_done(&a);
        fake_nmd_stop(&f);
    }
}

static void test_a_truncated_answer_is_an_error(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /a", "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"a\"", NULL},
        {"GET /b", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n", NULL},
        {"GET /c", "", NULL},
        {"GET /d", "220 mail.example ESMTP\r\n", NULL},
    };
    static const int expected[] = {-ECONNRESET, -ECONNRESET, -ECONNRESET, -EBADMSG};
    struct fake_nmd f;

    (void)state;
    fake_nmd_start(&f, x, NM_ARRAY_SIZE(x), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(x); i++) {
        struct nm_client_answer a = {.status = 7};

        assert_int_equal(fetch(&f, x[i].request + 4, &a), expected[i]);
        assert_int_equal(a.status, 7); /* a failure leaves the output unchanged */
    }
    fake_nmd_stop(&f);
}

/* A body of nearly a megabyte doesn't fit into the socket's buffer, so the client sends it in pieces. */
static void test_a_large_body_is_sent_in_pieces(void **state)
{
    static const struct fake_exchange x[] = {{"POST /big HTTP", LENGTH_REPLY, NULL}};
    struct nm_client_answer a = {0};
    struct nm_client_request q = {.method = "POST", .target = "/big"};
    struct fake_nmd f;
    size_t n = 900000;
    char *body = malloc(n + 1);

    (void)state;
    assert_non_null(body);
    memset(body, 'x', n);
    body[n] = '\0';
    fake_nmd_start(&f, x, 1, 0);
    q.socket_path = f.path;
    q.body = body;
    assert_int_equal(nm_client_fetch(&q, TIMEOUT_USEC, &a), 0);
    assert_int_equal(a.status, 200);
    nm_client_answer_done(&a);
    fake_nmd_stop(&f);
    free(body);
}

static void test_two_streams_are_read_at_the_same_time(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /out", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nout\r\n0\r\n\r\n",
         NULL},
        {"GET /err", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nerr\r\n0\r\n\r\n",
         NULL},
    };
    static const char *const expected[] = {"out", "err"};
    struct nm_client_answer a[2] = {0};
    struct nm_client *c[2];
    struct fake_nmd f;

    (void)state;
    fake_nmd_start(&f, x, 2, 30);
    for (int i = 0; i < 2; i++) {
        const struct nm_client_request q = {f.path, "GET", x[i].request + 4, NULL};
        assert_int_equal(nm_client_new(&q, nm_client_answer_gather, &a[i], &c[i]), 0);
        assert_int_equal(nm_client_status(c[i]), 0);
    }
    for (int open = 2; open > 0;) {
        struct pollfd p[2];

        for (int i = 0; i < 2; i++)
            p[i] = (struct pollfd){c[i] ? nm_client_fd(c[i]) : -1,
                                   c[i] ? nm_client_events(c[i]) : 0, 0};
        assert_true(poll(p, 2, 20000) > 0);
        for (int i = 0; i < 2; i++) {
            if (!p[i].revents || nm_client_process(c[i]) == 0)
                continue;
            assert_int_equal(nm_client_status(c[i]), 200);
            c[i] = nm_client_free(c[i]);
            open--;
        }
    }
    for (int i = 0; i < 2; i++) {
        assert_string_equal(a[i].body, expected[i]);
        nm_client_answer_done(&a[i]);
    }
    fake_nmd_stop(&f);
}

static void test_a_missing_server_is_an_error(void **state)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX, .sun_path = "/tmp/test-client-dead.sock"};
    struct nm_client_request q = {
        .socket_path = "/nonexistent/nmd.sock", .method = "GET", .target = "/"};
    struct nm_client_answer a;
    char longpath[200];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    assert_int_equal(nm_client_fetch(&q, TIMEOUT_USEC, &a), -ENOENT);
    memset(longpath, 'x', sizeof longpath - 1);
    longpath[sizeof longpath - 1] = '\0';
    q.socket_path = longpath;
    assert_int_equal(nm_client_fetch(&q, TIMEOUT_USEC, &a), -ENAMETOOLONG);
    (void)snprintf(addr.sun_path, sizeof addr.sun_path, "/tmp/test-client-%ld.sock",
                   (long)getpid());
    assert_return_code(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    (void)close(fd);
    q.socket_path = addr.sun_path;
    assert_int_equal(nm_client_fetch(&q, TIMEOUT_USEC, &a), -ECONNREFUSED);
    (void)unlink(addr.sun_path);
}

/* The kernel accepts the connection, but no answer comes. The caller gets an error after its timeout. */
static void test_a_silent_server_is_an_error_after_the_timeout(void **state)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct nm_client_request q = {.method = "GET", .target = "/"};
    struct nm_client_answer a;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    (void)snprintf(addr.sun_path, sizeof addr.sun_path, "/tmp/test-client-%ld.sock",
                   (long)getpid());
    assert_return_code(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_return_code(listen(fd, 1), 0);
    q.socket_path = addr.sun_path;
    assert_int_equal(nm_client_fetch(&q, 50 * NM_USEC_PER_MSEC, &a), -ETIMEDOUT);
    (void)close(fd);
    (void)unlink(addr.sun_path);
}

/* ---- system calls that fail ------------------------------------------------------------------ */

enum call { NO_CALL, SOCKET, CONNECT, SEND, RECV, POLL };

static enum call failing_call; /* the next call of this kind fails once */
static int trouble;

static bool fails(enum call c)
{
    if (failing_call != c)
        return false;
    failing_call = NO_CALL;
    errno = trouble;
    return true;
}

#define WRAP_CALL(call, type, name, parameters, ...) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters \
    { \
        return fails(call) ? -1 : __real_##name(__VA_ARGS__); \
    }

WRAP_CALL(SOCKET, int, socket, (int domain, int type, int protocol), domain, type, protocol)
WRAP_CALL(CONNECT, int, connect, (int fd, const struct sockaddr *sa, socklen_t len), fd, sa, len)
WRAP_CALL(SEND, ssize_t, send, (int fd, const void *buf, size_t n, int flags), fd, buf, n, flags)
WRAP_CALL(RECV, ssize_t, recv, (int fd, void *buf, size_t n, int flags), fd, buf, n, flags)
WRAP_CALL(POLL, int, poll, (struct pollfd * p, nfds_t n, int timeout), p, n, timeout)
/* Also wraps the variants of recv() and poll() that check sizes at run time. */
WRAP_CALL(RECV, ssize_t, __recv_chk, (int fd, void *buf, size_t n, size_t size, int flags), fd, buf, n, size, flags)
WRAP_CALL(POLL, int, __poll_chk, (struct pollfd * p, nfds_t n, int timeout, size_t size), p, n, timeout, size)

static const struct {
    enum call call;
    int error, expected;
} troubles[] = {
    {SOCKET, EMFILE, -EMFILE},
    {CONNECT, EINTR, 0},
    {CONNECT, EAGAIN, -ETIMEDOUT}, /* the backlog of the listener stays full */
    {CONNECT, EACCES, -EACCES},
    {SEND, EINTR, 0},
    {SEND, EAGAIN, 0},
    {SEND, ENOBUFS, -ENOBUFS},
    {RECV, EINTR, 0},
    {RECV, EAGAIN, 0},
    {RECV, ECONNRESET, -ECONNRESET},
    {RECV, ENOMEM, -ENOMEM},
    {POLL, EINTR, 0},
    {POLL, ENOMEM, -ENOMEM},
};

/* ---- upgraded connections --------------------------------------------------------------------- */

#define SWITCHING "HTTP/1.1 101 Switching Protocols\r\nlocation: /v1/containers/c1\r\nUpgrade: x\r\n\r\n"

static int upgrade(const struct fake_nmd *f, const char *target, uint64_t timeout_usec, int *ret_fd,
                   struct nm_client_answer *ret)
{
    const struct nm_client_request q = {.socket_path = f->path, .method = "POST", .target = target, .body = "{}"};

    return nm_client_upgrade(&q, "x", timeout_usec, ret_fd, ret);
}

/* Makes an upgrade with poll(), as a program that also polls other descriptors does. */
static int upgrade_with_poll(const struct fake_nmd *f, const char *target, char ret_location[NM_CLIENT_LOCATION_SIZE])
{
    const struct nm_client_request q = {.socket_path = f->path, .method = "POST", .target = target, .body = "{}"};
    struct nm_client_answer a = {0};
    struct nm_client *c;
    int fd, r = nm_client_new_upgrade(&q, "x", nm_client_answer_gather, &a, &c);

    while (r == 0) {
        struct pollfd p = {nm_client_fd(c), nm_client_events(c), 0};

        assert_int_equal(poll(&p, 1, 20000), 1);
        r = nm_client_process(c);
    }
    assert_int_equal(r, NM_CLIENT_E_SWITCHED);
    assert_null(a.body);
    fd = nm_client_switched(c, ret_location);
    nm_client_free(c);
    return fd;
}

static void expect_hello(int fd)
{
    char buf[16] = "";
    size_t len = 0;

    for (ssize_t n = 1; n != 0 && len < sizeof buf - 1;) {
        struct pollfd p = {fd, POLLIN, 0};

        assert_int_equal(poll(&p, 1, 20000), 1);
        n = recv(fd, buf + len, sizeof buf - 1 - len, 0);
        assert_true(n >= 0);
        len += (size_t)n;
    }
    assert_string_equal(buf, "hello");
    (void)close(fd);
}

/* The client reads no byte after the head, at whichever byte the reply is split. */
static void test_an_upgrade_reads_no_byte_after_the_head(void **state)
{
    static const struct fake_exchange x[] = {{"POST /x HTTP/1.1\r\n", SWITCHING "hello", "{}"}};

    (void)state;
    for (size_t split = 0; split < strlen(SWITCHING "hello"); split += 5) {
        char location[NM_CLIENT_LOCATION_SIZE];
        struct nm_client_answer a = {.status = 7};
        struct fake_nmd f;
        int fd = -1;

        fake_nmd_start(&f, x, 1, split);
        assert_int_equal(upgrade(&f, "/x", TIMEOUT_USEC, &fd, &a), 0);
        assert_int_equal(a.status, 7);
        expect_hello(fd);
        fd = upgrade_with_poll(&f, "/x", location);
        assert_string_equal(location, "/v1/containers/c1");
        expect_hello(fd);
        fake_nmd_stop(&f);
    }
}

static void test_a_refused_upgrade_returns_the_answer(void **state)
{
    static const struct fake_exchange x[] = {
        {"POST /length", LENGTH_REPLY, NULL},
        {"POST /chunked", CHUNKED_REPLY, NULL},
        {"POST /nothing", "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", NULL},
    };
    static const struct {
        const char *target, *body;
        unsigned status;
    } expected[] = {{"/length", "{\"a\":\"b c\"}", 200}, {"/chunked", "{\"a\":\"b c\"}", 404}, {"/nothing", "", 503}};
    struct fake_nmd f;

    (void)state;
    fake_nmd_start(&f, x, NM_ARRAY_SIZE(x), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(expected); i++) {
        const struct nm_client_request q = {f.path, "POST", expected[i].target, NULL};
        struct nm_client_answer a = {0};
        int fd = -7;

        assert_int_equal(nm_client_upgrade(&q, "x", TIMEOUT_USEC, &fd, &a), NM_CLIENT_E_REFUSED);
        assert_int_equal(fd, -7);
        assert_int_equal(a.status, expected[i].status);
        assert_string_equal(a.body, expected[i].body);
        nm_client_answer_done(&a);
    }
    fake_nmd_stop(&f);
}

static void test_a_truncated_answer_to_an_upgrade_is_an_error(void **state)
{
    static char endless[6000];
    const struct fake_exchange x[] = {
        {"POST /head", "HTTP/1.1 101 Sw", NULL},
        {"POST /nothing", "", NULL},
        {"POST /body", "HTTP/1.1 409 No\r\nContent-Length: 12\r\n\r\n{\"a\"", NULL},
        {"POST /mail", "220 mail.example ESMTP\r\n\r\n\r\n", NULL},
        {"POST /endless", endless, NULL},
        {"POST /silence", NULL, NULL},
    };
    static const int expected[] = {-ECONNRESET, -ECONNRESET, -ECONNRESET, -EBADMSG, -E2BIG, -ETIMEDOUT};
    struct fake_nmd f;

    (void)state;
    memset(endless, 'x', sizeof endless - 1);
    fake_nmd_start(&f, x, NM_ARRAY_SIZE(x), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(x); i++) {
        uint64_t timeout = x[i].reply ? TIMEOUT_USEC : 50 * NM_USEC_PER_MSEC;
        struct nm_client_answer a = {.status = 7};
        int fd = -7;

        assert_int_equal(upgrade(&f, x[i].request + 5, timeout, &fd, &a), expected[i]);
        assert_int_equal(fd, -7);
        assert_int_equal(a.status, 7);
    }
    fake_nmd_stop(&f);
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* The client repeats a call whose error is temporary. All other errors are returned to the caller. */
static void test_each_failed_call_is_repeated_or_reported(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /a", LENGTH_REPLY, NULL}, {"POST /x", SWITCHING, NULL}, {"POST /no", LENGTH_REPLY, NULL}};
    struct fake_nmd f;

    (void)state;
    fake_nmd_start(&f, x, NM_ARRAY_SIZE(x), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(troubles); i++) {
        struct nm_client_answer a = {.status = 7};
        int fd = -7;

        trouble = troubles[i].error;
        failing_call = troubles[i].call;
        assert_int_equal(fetch(&f, "/a", &a), troubles[i].expected);
        assert_int_equal(a.status, troubles[i].expected == 0 ? 200 : 7);
        if (troubles[i].expected == 0)
            nm_client_answer_done(&a);
        assert_int_equal(failing_call, NO_CALL);
        failing_call = troubles[i].call;
        assert_int_equal(upgrade(&f, "/x", TIMEOUT_USEC, &fd, &a), troubles[i].expected);
        assert_int_equal(fd >= 0, troubles[i].expected == 0);
        if (fd >= 0)
            (void)close(fd);
        assert_int_equal(failing_call, NO_CALL);
    }
    fake_nmd_stop(&f);
}

/* A server may answer with an error and stop reading before it has the whole request. The client returns this
 * answer. */
static void test_an_answer_before_the_end_of_the_request_is_read(void **state)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct nm_client_request q = {.method = "POST", .target = "/a", .body = "{}"};
    struct nm_client_answer a = {0};
    struct nm_client *c;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), fd, r;

    (void)state;
    (void)snprintf(addr.sun_path, sizeof addr.sun_path, "/tmp/test-client-%ld.sock", (long)getpid());
    assert_return_code(bind(listener, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_return_code(listen(listener, 1), 0);
    q.socket_path = addr.sun_path;
    assert_int_equal(nm_client_new(&q, nm_client_answer_gather, &a, &c), 0);
    fd = accept(listener, NULL, NULL);
    assert_return_code(write(fd, LENGTH_REPLY, strlen(LENGTH_REPLY)), 0);
    (void)close(fd);
    for (r = 0; r == 0;)
        r = nm_client_process(c);
    assert_int_equal(r, NM_CLIENT_E_DONE);
    assert_int_equal(nm_client_status(c), 200);
    assert_string_equal(a.body, "{\"a\":\"b c\"}");
    nm_client_free(c);
    nm_client_answer_done(&a);
    (void)close(listener);
    (void)unlink(addr.sun_path);
}

static int fetch_once(void *userdata)
{
    struct nm_client_answer a = {.status = 7};
    int r = fetch(userdata, "/a", &a);

    assert_int_equal(a.status, r == 0 ? 200 : 7);
    if (r == 0)
        nm_client_answer_done(&a);
    return r;
}

static int upgrade_once(void *userdata)
{
    struct nm_client_answer a = {.status = 7};
    int fd = -7, r = upgrade(userdata, "/no", TIMEOUT_USEC, &fd, &a);

    assert_int_equal(fd, -7);
    assert_int_equal(a.status, r == NM_CLIENT_E_REFUSED ? 200 : 7);
    if (r == NM_CLIENT_E_REFUSED)
        nm_client_answer_done(&a);
    return r == NM_CLIENT_E_REFUSED ? 0 : r;
}

static void test_each_failed_allocation_is_an_error(void **state)
{
    static const struct fake_exchange x[] = {{"GET /a", LENGTH_REPLY, NULL}, {"POST /no", LENGTH_REPLY, NULL}};
    struct nm_client_answer a = {.len = NM_CLIENT_ANSWER_MAX - 3};
    struct fake_nmd f;

    (void)state;
    fake_nmd_start(&f, x, NM_ARRAY_SIZE(x), 0);
    assert_true(fail_each(fetch_once, &f) >= 4);
    assert_true(fail_each(upgrade_once, &f) >= 4);
    fake_nmd_stop(&f);
    assert_int_equal(nm_client_answer_gather("abc", 3, &a), -E2BIG); /* the length of an answer is limited */
    assert_null(a.body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer_may_be_split_at_each_byte),
        cmocka_unit_test(test_a_truncated_answer_is_an_error),
        cmocka_unit_test(test_a_large_body_is_sent_in_pieces),
        cmocka_unit_test(test_two_streams_are_read_at_the_same_time),
        cmocka_unit_test(test_a_missing_server_is_an_error),
        cmocka_unit_test(test_a_silent_server_is_an_error_after_the_timeout),
        cmocka_unit_test(test_an_upgrade_reads_no_byte_after_the_head),
        cmocka_unit_test(test_a_refused_upgrade_returns_the_answer),
        cmocka_unit_test(test_a_truncated_answer_to_an_upgrade_is_an_error),
        cmocka_unit_test(test_each_failed_call_is_repeated_or_reported),
        cmocka_unit_test(test_an_answer_before_the_end_of_the_request_is_read),
        cmocka_unit_test(test_each_failed_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
