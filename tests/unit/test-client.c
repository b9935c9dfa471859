/* SPDX-License-Identifier: Apache-2.0 */

/* The client against canned replies over a real socket, each cut at every byte, and against nobody
 * at all. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fake-nmd.h"
#include "rpc/local/client.h"
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

static void test_split_everywhere(void **state)
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

static void test_cut_short(void **state)
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
        assert_int_equal(a.status, 7); /* outputs are untouched on failure */
    }
    fake_nmd_stop(&f);
}

/* Nearly a megabyte doesn't fit into the socket's buffer: it goes out piece by piece. */
static void test_large_body(void **state)
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

static void test_two_streams_side_by_side(void **state)
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

static void test_nobody_there(void **state)
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

/* Accepted by the kernel, never answered: the caller is told, in the time that it gave. */
static void test_silence(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_everywhere), cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_large_body),       cmocka_unit_test(test_two_streams_side_by_side),
        cmocka_unit_test(test_nobody_there),     cmocka_unit_test(test_silence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
