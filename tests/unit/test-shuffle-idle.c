/* SPDX-License-Identifier: Apache-2.0 */

/* Connections that wait: they become ready or expire, each once, and are refused after the end. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
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
        entries[i] = (struct nm_shuffle_idle_entry){.fd = pair[0], .events = EPOLLIN, .deadline_usec = 100 + i};
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
    assert_int_equal(nm_shuffle_idle_add(idle, &entries[3]), 0); /* it can be added again */
    assert_ptr_equal(nm_shuffle_idle_ready(idle), &entries[3]);
}

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

/* The kinds of waits have different lengths, so connections do not expire in the order of their addition. Some
 * connections end their wait before. */
static void test_the_earliest_deadline_expires_first(void **state)
{
    static struct nm_shuffle_idle_entry many[200];
    static int pairs[NM_ARRAY_SIZE(many)][2];
    struct nm_shuffle_idle_entry *entry;
    unsigned n_ready = 0;

    (void)state;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(many); i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i]), 0);
        many[i] = (struct nm_shuffle_idle_entry){.fd = pairs[i][0], .deadline_usec = 1000 + i * 37 % 200};
        assert_int_equal(nm_shuffle_idle_add(idle, &many[i]), 0);
    }
    for (unsigned i = 0; i < NM_ARRAY_SIZE(many); i += 3)
        close(pairs[i][1]);
    for (; (entry = nm_shuffle_idle_ready(idle)); n_ready++)
        assert_true((entry - many) % 3 == 0 && entry->ready_events & EPOLLRDHUP);
    assert_int_equal(n_ready, (NM_ARRAY_SIZE(many) + 2) / 3);
    for (uint64_t usec = 1000; usec < 1000 + NM_ARRAY_SIZE(many); usec++) {
        entry = nm_shuffle_idle_expired(idle, usec);
        assert_true(!entry || (entry->deadline_usec == usec && (entry - many) % 3 != 0));
        n_ready += entry != NULL;
    }
    assert_int_equal(n_ready, NM_ARRAY_SIZE(many));
    for (unsigned i = 0; i < NM_ARRAY_SIZE(many); i++) {
        close(pairs[i][0]);
        if (i % 3 != 0)
            close(pairs[i][1]);
    }
}

/* Bytes do not end the wait of a connection that waits only for the time or for room in the socket. */
static void test_a_connection_waits_for_its_events(void **state)
{
    (void)state;
    entries[0].events = 0;
    entries[1].events = EPOLLOUT;
    add_all();
    assert_int_equal(write(clients[0], "x", 1), 1);
    assert_ptr_equal(nm_shuffle_idle_ready(idle), &entries[1]);
    assert_int_equal(entries[1].ready_events, EPOLLOUT);
    assert_null(nm_shuffle_idle_ready(idle));
    assert_ptr_equal(nm_shuffle_idle_expired(idle, 100), &entries[0]);
    assert_int_equal(entries[0].ready_events, 0);
    close(clients[0]); /* the connection does not wait any more */
    clients[0] = dup(clients[1]);
    assert_null(nm_shuffle_idle_ready(idle));
    assert_int_equal(nm_shuffle_idle_add(idle, &entries[0]), 0);
    assert_ptr_equal(nm_shuffle_idle_ready(idle), &entries[0]);
}

/* The loop sleeps until the next deadline, so an earlier one of another thread must wake it. */
static void test_an_earlier_deadline_wakes_the_loop(void **state)
{
    (void)state;
    assert_int_equal(nm_shuffle_idle_next(idle, 90), 90);
    add_all();
    assert_false(is_readable());
    assert_int_equal(nm_shuffle_idle_next(idle, 200), 100);
    assert_ptr_equal(nm_shuffle_idle_expired(idle, 100), &entries[0]);
    assert_int_equal(nm_shuffle_idle_next(idle, 200), 101);
    assert_false(is_readable());
    assert_int_equal(nm_shuffle_idle_add(idle, &entries[0]), 0);
    assert_true(is_readable());
    assert_null(nm_shuffle_idle_ready(idle));
    assert_false(is_readable());
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
        TEST(test_the_earliest_deadline_expires_first),
        TEST(test_a_connection_waits_for_its_events),
        TEST(test_an_earlier_deadline_wakes_the_loop),
        TEST(test_a_closed_list_refuses_connections),
        TEST(test_a_bad_descriptor_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
