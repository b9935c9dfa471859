/* SPDX-License-Identifier: Apache-2.0 */

/* If accept4() fails because memory or descriptors are missing, the server pauses and then accepts connections
 * again. Clients that connect before the server has started are accepted when it has. */

#include "http-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/local/listen.h"

static int failing_errno; /* 0: accept4() succeeds */
static unsigned n_failed;

int __real_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
    if (failing_errno == 0)
        return __real_accept4(fd, sa, len, flags);
    n_failed++;
    errno = failing_errno;
    return -1;
}

static void test_the_server_pauses_after_a_failed_accept(void **state)
{
    static const int errors[] = {ENOMEM, ENOBUFS, EMFILE, ENFILE, EINVAL};
    struct fixture *f = *state;

    start(f, NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(errors); i++) {
        struct client c;

        failing_errno = errors[i];
        n_failed = 0;
        client_connect(f, &c);
        turn_for(&c, 300 * NM_USEC_PER_MSEC);
        /* one failure after each pause, and one after the reserved descriptor was closed */
        assert_in_range(n_failed, 1, 8);
        failing_errno = 0;
        client_send(&c, "GET /v1/version HTTP/1.1\r\nHost: nmd\r\n\r\n");
        until(&c, client_body(&c));
        assert_int_equal(client_status(&c), 200);
        client_close(&c);
    }
    stop(f);
}

/* An error that concerns one connection only doesn't cause a pause. */
static void test_an_error_of_one_connection_causes_no_pause(void **state)
{
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    failing_errno = ECONNABORTED;
    n_failed = 0;
    client_connect(f, &c);
    turn_for(&c, 20 * NM_USEC_PER_MSEC);
    assert_true(n_failed > 8);
    failing_errno = 0;
    client_close(&c);
    stop(f);
}

/* A client that connects before the server exists gets an answer when the server has started. */
static void test_a_request_waits_until_the_server_has_started(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {};
    char *message = NULL;
    struct client c;

    assert_int_equal(nm_listener_open(f->path, 0600, NULL, &p.listener, &message), 0);
    client_connect(f, &c);
    client_send(&c, "GET /v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    take(&c);
    assert_false(c.eof);
    start(f, &p);
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 200);
    client_close(&c);
    stop(f);
    assert_int_equal(access(f->path, F_OK), -1);
}

static void test_a_listener_removes_only_its_own_file(void **state)
{
    struct fixture *f = *state;
    struct nm_listener *l;
    char *message = NULL;
    int fd;

    assert_int_equal(nm_listener_open(f->path, 0600, "no-such-group", &l, &message), 0);
    assert_int_equal(l->group, NM_LISTEN_NO_GROUP);
    assert_int_equal(unlink(f->path), 0);
    fd = open(f->path, O_WRONLY | O_CREAT, 0600);
    close(fd);
    nm_listener_free(l);
    assert_int_equal(access(f->path, F_OK), 0);
    assert_null(nm_listener_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_server_pauses_after_a_failed_accept, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_an_error_of_one_connection_causes_no_pause,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_a_request_waits_until_the_server_has_started, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_a_listener_removes_only_its_own_file, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
