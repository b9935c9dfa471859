/* SPDX-License-Identifier: Apache-2.0 */

/* The start of the HTTP server. In each attempt another allocation, or another call for a descriptor, fails. */

#include "http-fixture.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fail-nth.h"
#include "rpc/local/listen.h"

#define ALL_KINDS (FAIL_MEMORY | FAIL_EVENT | FAIL_OPEN)

static int try_server(struct fixture *f, const struct nm_local_server_params *p, unsigned n, bool *ret_refused)
{
    struct nm_local_server *s = NULL;
    char *message = NULL;
    int r;

    fail_nth(ALL_KINDS, n);
    r = nm_local_server_new(f->event, f->m, p, &s, &message);
    *ret_refused = fail_stop();
    if (r < 0) {
        assert_null(s);
        assert_int_equal(r, -ENOMEM);
    } else
        assert_null(message);
    free(message);
    nm_local_server_free(s);
    return r;
}

static void test_a_failed_start_leaves_neither_file_nor_descriptor(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.socket_path = f->path, .socket_mode = 0600, .http_address = "0"};
    unsigned before, n;
    bool refused;

    assert_int_equal(try_server(f, &p, 0, &refused), 0); /* the loop opens a descriptor for its first timer, and keeps
                                                            it */
    before = n_open_fds();
    for (refused = true, n = 1; refused; n++) {
        int r = try_server(f, &p, n, &refused);

        assert_true(refused || r == 0);
        assert_int_equal(access(f->path, F_OK), -1);
        assert_int_equal(n_open_fds(), before);
    }
    assert_true(n > 12);
}

/* If the start fails, an inherited socket remains open, and the caller still owns it. */
static void test_after_a_failed_start_the_caller_owns_the_inherited_socket(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    struct nm_local_server_params p = {0};
    bool refused = true;

    strcpy(sa.sun_path, f->path);
    for (unsigned n = 1; refused; n++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

        assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
        assert_int_equal(listen(fd, 1), 0);
        p.listen_fd = fd;
        r = try_server(f, &p, n, &refused);
        assert_int_equal(fcntl(fd, F_GETFD) >= 0, r < 0);
        if (r < 0)
            (void)close(fd);
        assert_int_equal(unlink(f->path), 0);
    }
}

/* The same holds for a socket that was opened before the server (nm_listener_open()). */
static void test_after_a_failed_start_the_caller_owns_the_listener(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {0};
    bool refused = true;

    for (unsigned n = 1; refused; n++) {
        char *message = NULL;
        int r;

        assert_int_equal(nm_listener_open(f->path, 0600, NULL, &p.listener, &message), 0);
        r = try_server(f, &p, n, &refused);
        assert_int_equal(access(f->path, F_OK), r < 0 ? 0 : -1);
        if (r < 0)
            nm_listener_free(p.listener);
    }
}

static void test_an_inherited_number_that_is_no_open_descriptor_is_an_error(void **state)
{
    struct fixture *f = *state;
    const struct nm_local_server_params p = {.listen_fd = 1 << 20}; /* no descriptor has this number */
    struct nm_local_server *s = NULL;
    char *message = NULL;

    assert_int_equal(nm_local_server_new(f->event, f->m, &p, &s, &message), -EBADF);
    assert_null(s);
    assert_non_null(strstr(message, "inherited socket 1048576: "));
    free(message);
}

/* Returns a listening socket of a free port, and its address. */
static int listen_on_loopback(struct sockaddr_in *ret)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t len = sizeof *ret;

    *ret = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(fd, (struct sockaddr *)ret, len), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &len), 0);
    return fd;
}

/* Clients of an additional socket have the permissions of TCP only. */
static void assert_has_permissions_of_tcp(struct fixture *f, const struct sockaddr_in *at)
{
    struct client c = {.f = f, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .data = calloc(1, 1)};

    assert_int_equal(connect(c.fd, (const struct sockaddr *)at, sizeof *at), 0);
    client_send(&c, "GET /v1/config HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 403);
    client_close(&c);
}

static void test_an_additional_socket_is_served_and_closed(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_in at;
    int fd = listen_on_loopback(&at);

    start(f, NULL);
    assert_int_equal(nm_local_server_listen(f->server, fd), 0);
    assert_has_permissions_of_tcp(f, &at);
    stop(f);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void test_an_additional_socket_that_can_not_be_watched_is_closed(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_in at;
    int fd = listen_on_loopback(&at), r;

    start(f, NULL);
    fail_nth(ALL_KINDS, 1);
    r = nm_local_server_listen(f->server, fd);
    assert_true(fail_stop());
    assert_int_equal(r, -ENOMEM);
    stop(f);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_failed_start_leaves_neither_file_nor_descriptor),
        TEST(test_after_a_failed_start_the_caller_owns_the_inherited_socket),
        TEST(test_after_a_failed_start_the_caller_owns_the_listener),
        TEST(test_an_inherited_number_that_is_no_open_descriptor_is_an_error),
        TEST(test_an_additional_socket_is_served_and_closed),
        TEST(test_an_additional_socket_that_can_not_be_watched_is_closed),
    };

    json_set_alloc_funcs(malloc, free); /* malloc() and free() are wrapped in this test and can fail */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
