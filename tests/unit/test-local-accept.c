/* SPDX-License-Identifier: Apache-2.0 */

/* If accept4() fails because memory or descriptors are missing, the server pauses and then accepts connections
 * again. */

#include "http-fixture.h"

#include <errno.h>
#include <sys/socket.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_server_pauses_after_a_failed_accept, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_an_error_of_one_connection_causes_no_pause,
                                        fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
