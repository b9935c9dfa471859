/* SPDX-License-Identifier: Apache-2.0 */

/* Clients that read slowly or not at all, with a clock that the test sets. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "spark/sender.h"
#include "util/clock.h"
#include "util/macros.h"

#define PART_BYTES (UINT64_C(16) << 20)
/* Limits of spark/sender.c: the time after which it disconnects a client that reads nothing, and the number of bytes
 * that a client must read per second on average. */
#define GRACE_SEC 60u
#define SLOWEST_BYTES_PER_SEC 16384u

static uint64_t now_usec;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
    (void)clock;
    *ts = (struct timespec){(time_t)(now_usec / NM_USEC_PER_SEC), (long)(now_usec % NM_USEC_PER_SEC * 1000)};
    return 0;
}

struct fixture {
    struct nm_spark_service service;
    struct nm_spark_sender sender;
    int client, server;
};

/* Begins to send a part of a file to a client. The connection belongs to no application, so no share of CPU time is
 * charged for the part. */
static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);
    struct nm_spark_part part = {.bytes = PART_BYTES};
    int pair[2];

    assert_non_null(w);
    now_usec = 1000 * NM_USEC_PER_SEC;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    w->client = pair[0];
    w->server = pair[1];
    part.fd = memfd_create("part", MFD_CLOEXEC);
    assert_true(part.fd >= 0);
    assert_int_equal(ftruncate(part.fd, (off_t)PART_BYTES), 0);
    nm_spark_sender_init(&w->sender, &w->service, w->server, "", 0);
    nm_spark_sender_begin(&w->sender, &part);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    nm_spark_sender_done(&w->sender);
    nm_close(w->client);
    nm_close(w->server);
    free(w);
    return 0;
}

/* Sends until the client must read. Returns the result of the sender. */
static int send_on(struct fixture *w)
{
    return nm_spark_sender_continue(&w->sender, now_usec + NM_USEC_PER_SEC);
}

/* Lets the client read at most so many bytes. Returns how many it has read. */
static size_t read_some(const struct fixture *w, size_t most)
{
    static uint8_t bytes[64 << 10];
    size_t size = 0;
    ssize_t n;

    while (size < most && (n = read(w->client, bytes, NM_MIN(sizeof bytes, most - size))) > 0)
        size += (size_t)n;
    return size;
}

static uint64_t count_slow(struct fixture *w)
{
    return atomic_load(&w->service.count.slow);
}

static void test_a_client_that_reads_nothing_has_a_minute(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(send_on(w), NM_SHUFFLE_E_WAIT);
    assert_int_equal(w->sender.wait.events, POLLOUT);
    assert_int_equal(w->sender.wait.until_usec, now_usec + NM_SPARK_STALLED_USEC);
    now_usec += NM_SPARK_STALLED_USEC;
    assert_int_equal(send_on(w), NM_SHUFFLE_E_WAIT);
    assert_int_equal(w->sender.wait.until_usec, now_usec - NM_SPARK_STALLED_USEC + GRACE_SEC * NM_USEC_PER_SEC);
    now_usec += GRACE_SEC * NM_USEC_PER_SEC - NM_SPARK_STALLED_USEC;
    assert_int_equal(send_on(w), NM_SHUFFLE_E_WAIT);
    assert_int_equal(count_slow(w), 0);
    now_usec++;
    assert_int_equal(send_on(w), -ETIMEDOUT);
    assert_int_equal(count_slow(w), 1);
}

/* A client that pauses is shown as stalled, until it reads again. */
static void test_a_client_that_pauses_is_stalled(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(send_on(w), NM_SHUFFLE_E_WAIT);
    now_usec += NM_SPARK_STALLED_USEC - 1;
    assert_int_equal(send_on(w), NM_SHUFFLE_E_WAIT);
    assert_false(w->sender.is_stalled);
    now_usec++;
    assert_int_equal(send_on(w), NM_SHUFFLE_E_WAIT);
    assert_true(w->sender.is_stalled);
    assert_true(read_some(w, SIZE_MAX) > 0);
    assert_int_equal(send_on(w), NM_SHUFFLE_E_WAIT);
    assert_false(w->sender.is_stalled);
    assert_int_equal(w->sender.done.slow, 0);
    assert_int_equal(w->sender.done.sent_bytes, atomic_load(&w->service.count.sent_bytes));
}

/* The client reads some bytes in each minute, but too few to get the whole part before its deadline. */
static void test_a_client_that_reads_too_slowly_is_disconnected(void **state)
{
    const uint64_t end_usec = now_usec + (GRACE_SEC + PART_BYTES / SLOWEST_BYTES_PER_SEC) * NM_USEC_PER_SEC;
    struct fixture *w = *state;
    int r;

    while ((r = send_on(w)) == NM_SHUFFLE_E_WAIT) {
        assert_true(now_usec <= end_usec);
        assert_true(w->sender.wait.until_usec <= end_usec);
        assert_true(read_some(w, SLOWEST_BYTES_PER_SEC * 50 / 2) > 0); /* half of the least rate */
        now_usec += 50 * NM_USEC_PER_SEC;
    }
    assert_int_equal(r, -ETIMEDOUT);
    assert_true(now_usec > end_usec);
    assert_int_equal(count_slow(w), 1);
    nm_spark_sender_done(&w->sender);
    assert_int_equal(atomic_load(&w->service.count.blocks_failed), 1);
    assert_int_equal(atomic_load(&w->service.count.blocks_ok), 0);
}

static void test_a_client_that_reads_at_the_least_rate_gets_all(void **state)
{
    struct fixture *w = *state;
    uint64_t received = 0;
    int r;

    while ((r = send_on(w)) == NM_SHUFFLE_E_WAIT) {
        received += read_some(w, SLOWEST_BYTES_PER_SEC * 5); /* the socket has room for more */
        now_usec += 5 * NM_USEC_PER_SEC;
    }
    assert_int_equal(r, 0);
    assert_int_equal(received + read_some(w, SIZE_MAX), PART_BYTES);
    assert_int_equal(count_slow(w), 0);
    assert_int_equal(atomic_load(&w->service.count.blocks_ok), 1);
}

/* A turn that is over ends before the client is asked. */
static void test_a_turn_that_is_over_is_no_slow_client(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(nm_spark_sender_continue(&w->sender, now_usec - 1), NM_SHUFFLE_E_TURN);
    assert_int_equal(count_slow(w), 0);
    assert_int_equal(send_on(w), NM_SHUFFLE_E_WAIT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_client_that_reads_nothing_has_a_minute),
        TEST(test_a_client_that_pauses_is_stalled),
        TEST(test_a_client_that_reads_too_slowly_is_disconnected),
        TEST(test_a_client_that_reads_at_the_least_rate_gets_all),
        TEST(test_a_turn_that_is_over_is_no_slow_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
