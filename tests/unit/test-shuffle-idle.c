/* SPDX-License-Identifier: Apache-2.0 */

/* Connections that wait for a request: they become ready or expire, each once, and are refused after the end. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shuffle/idle.h"

#define N 6

static struct nm_shuffle_idle *idle;
static struct nm_shuffle_idle_entry entries[N];
static int clients[N];

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(nm_shuffle_idle_new(&idle), 0);
    for (unsigned i = 0; i < N; i++) {
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        clients[i] = pair[1];
        entries[i] = (struct nm_shuffle_idle_entry){.fd = pair[0], .is_first = i % 2 == 0, .deadline_usec = 100 + i};
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    while (nm_shuffle_idle_expired(idle, UINT64_MAX))
        ;
    idle = nm_shuffle_idle_free(idle);
    for (unsigned i = 0; i < N; i++) {
        close(clients[i]);
        close(entries[i].fd);
    }
    return 0;
}

static bool is_readable(void)
{
    struct pollfd p = {.fd = nm_shuffle_idle_fd(idle), .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

static void add_all(void)
{
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(nm_shuffle_idle_add(idle, &entries[i]), 0);
}

static void test_a_connection_is_ready_when_bytes_arrive_or_it_is_closed(void **state)
{
    (void)state;
    add_all();
    assert_false(is_readable());
    assert_null(nm_shuffle_idle_ready(idle));
    assert_int_equal(write(clients[3], "x", 1), 1);
    assert_true(is_readable());
    assert_ptr_equal(nm_shuffle_idle_ready(idle), &entries[3]);
    assert_null(nm_shuffle_idle_ready(idle)); /* it is reported once, although its byte was not read */
    assert_false(is_readable());
    assert_int_equal(shutdown(clients[0], SHUT_WR), 0);
    assert_ptr_equal(nm_shuffle_idle_ready(idle), &entries[0]);
    entries[3].is_first = false;
    assert_int_equal(nm_shuffle_idle_add(idle, &entries[3]), 0); /* it can be added again */
    assert_ptr_equal(nm_shuffle_idle_ready(idle), &entries[3]);
}

/* The two kinds of connections have deadlines of their own. */
static void test_a_connection_expires_at_its_deadline(void **state)
{
    unsigned n_expired = 0;

    (void)state;
    add_all();
    assert_null(nm_shuffle_idle_expired(idle, 99));
    assert_ptr_equal(nm_shuffle_idle_expired(idle, 100), &entries[0]);
    assert_null(nm_shuffle_idle_expired(idle, 100));
    assert_ptr_equal(nm_shuffle_idle_expired(idle, 101), &entries[1]);
    assert_int_equal(write(clients[2], "x", 1), 1);
    assert_ptr_equal(nm_shuffle_idle_ready(idle), &entries[2]); /* it does not expire any more */
    while (nm_shuffle_idle_expired(idle, 1000))
        n_expired++;
    assert_int_equal(n_expired, N - 3);
}

static void test_a_closed_list_refuses_connections(void **state)
{
    (void)state;
    assert_int_equal(nm_shuffle_idle_add(idle, &entries[0]), 0);
    nm_shuffle_idle_close(idle);
    assert_int_equal(nm_shuffle_idle_add(idle, &entries[1]), -ECANCELED);
    assert_ptr_equal(nm_shuffle_idle_expired(idle, UINT64_MAX), &entries[0]);
    assert_null(nm_shuffle_idle_expired(idle, UINT64_MAX));
}

/* A descriptor that can't be watched is refused, and the connection is not in the list. */
static void test_a_bad_descriptor_is_refused(void **state)
{
    struct nm_shuffle_idle_entry bad = {.fd = -EBADF};

    (void)state;
    assert_int_equal(nm_shuffle_idle_add(idle, &bad), -EBADF);
    assert_null(nm_shuffle_idle_expired(idle, UINT64_MAX));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_connection_is_ready_when_bytes_arrive_or_it_is_closed),
        TEST(test_a_connection_expires_at_its_deadline),
        TEST(test_a_closed_list_refuses_connections),
        TEST(test_a_bad_descriptor_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
