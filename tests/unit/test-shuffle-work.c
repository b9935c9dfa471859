/* SPDX-License-Identifier: Apache-2.0 */

/* The work that requests of a job cost the server: the job's share of the time, waits for this share, and clients that
 * disconnect during the wait. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shuffle-client.h"
#include "util/clock.h"
#include "util/error.h"

static uint64_t cpu_usec(void)
{
    struct rusage u;

    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NM_USEC_PER_SEC +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* One request names the same map the maximum number of times. When the index was read and checked each time, such a
 * request took 3.6 s of CPU time. */
static void test_one_map_named_256_times_is_checked_once(void **state)
{
    char target[NM_SHUFFLE_HEAD_MAX] = TARGET;
    uint64_t begun_usec;

    (void)state;
    shuffle_fixture_empty_index(&shuffle_client.fixture, "a", ATTEMPT(0), 1000000); /* writes the longest valid index */
    for (unsigned i = 1; i < NM_SHUFFLE_MAPS_MAX; i++)
        strcat(target, "," ATTEMPT(0));
    begun_usec = cpu_usec();
    fetch(target, signed_for(target));
    assert_true(cpu_usec() - begun_usec < NM_USEC_PER_SEC);
    assert_true(reply_begins("HTTP/1.1 200 OK\r\n"));
    assert_true(all_connections_have_ended());
    assert_int_equal(shuffle_client.service.count.outputs_ok, NM_SHUFFLE_MAPS_MAX);
    begun_usec = cpu_usec();
    for (unsigned i = 0; i < 100; i++) { /* further requests for the same map */
        assert_true(all_connections_have_ended());
        fetch(TARGET, signed_for(TARGET));
    }
    assert_true(all_connections_have_ended());
    assert_true(cpu_usec() - begun_usec < NM_USEC_PER_SEC);
    assert_int_equal(shuffle_client.service.count.outputs_ok, NM_SHUFFLE_MAPS_MAX + 100);
}

/* A job that has used up its share must wait. A client that disconnects during the wait frees its slot, and the server
 * doesn't process its request. */
static void test_a_disconnect_ends_the_wait_for_a_share(void **state)
{
    int fd = dial();

    (void)state;
    book_work(NM_SHUFFLE_BURST_USEC, 0);
    book_work(5 * NM_USEC_PER_SEC, 0);
    ask(fd, TARGET, signed_for(TARGET));
    while (nm_shuffle_connections_count(shuffle_client.service.connections) == 0)
        assert_int_equal(usleep(1000), 0);
    close(fd);
    assert_true(all_connections_have_ended());
    assert_int_equal(shuffle_client.service.count.outputs_ok, 0);
    assert_int_equal(shuffle_client.service.count.outputs_failed, 0);
}

/* Reads the answer for `usec`. */
static void read_for(int fd, uint64_t usec)
{
    const uint64_t end_usec = nm_now_usec() + usec;

    for (uint64_t now = nm_now_usec(); now < end_usec; now = nm_now_usec()) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (poll(&p, 1, (int)((end_usec - now) / NM_USEC_PER_MSEC) + 1) > 0)
            assert_true(recv(fd, reply, sizeof reply, 0) > 0);
    }
}

/* A disconnect also ends an answer that is being sent, since the server charges the bytes in pieces. */
static void test_a_disconnect_ends_an_answer_that_is_being_sent(void **state)
{
    const uint64_t bytes = 64 << 20;
    int fd = dial();

    (void)state;
    large_output(bytes);
    ask(fd, TARGET, signed_for(TARGET));
    receive(fd, 1000);
    assert_true(reply_begins("HTTP/1.1 200 OK\r\n"));
    book_work(NM_SHUFFLE_BURST_USEC, UINT64_MAX);
    book_work(5 * NM_USEC_PER_SEC, UINT64_MAX);
    read_for(fd, 500 * NM_USEC_PER_MSEC);
    assert_true(shuffle_client.service.count.sent_bytes < bytes);
    /* The connection waits for the share of its job. */
    assert_int_equal(nm_shuffle_connections_count(shuffle_client.service.connections), 1);
    close(fd);
    assert_true(all_connections_have_ended());
    assert_true(shuffle_client.service.count.sent_bytes < bytes);
    assert_int_equal(shuffle_client.service.count.outputs_failed, 1);
}

static uint64_t servers_cpu_usec(void)
{
    return nm_sub_u64(nm_clock_usec(CLOCK_PROCESS_CPUTIME_ID), nm_clock_usec(CLOCK_THREAD_CPUTIME_ID));
}

/* Fetches a complete answer over a connection that stays open. */
static void fetch_kept(int fd, const char *target)
{
    const char *length, *end;
    size_t size = 0, whole = 0;

    ask(fd, target, signed_for(target));
    for (const uint64_t deadline = nm_now_usec() + PATIENCE_MSEC * NM_USEC_PER_MSEC; whole == 0 || size < whole;) {
        ssize_t n = recv(fd, reply + size, sizeof reply - 1 - size, 0);

        assert_true(n > 0 && nm_now_usec() < deadline);
        size += (size_t)n;
        reply[size] = '\0';
        assert_true(reply_begins("HTTP/1.1 200 OK\r\n"));
        end = memmem(reply, size, "\r\n\r\n", 4);
        length = strstr(reply, "Content-Length: ");
        if (whole == 0 && end && length)
            whole = (size_t)(end + 4 - reply) + strtoul(length + strlen("Content-Length: "), NULL, 10);
    }
}

/* A job has used its burst, and keeps sending requests that name the same map 256 times. The cost of the names alone
 * limits the job to its share, since these requests cause no further look-ups or checks. */
static void test_repeated_requests_of_a_job_stay_within_its_share(void **state)
{
    char target[NM_SHUFFLE_HEAD_MAX] = TARGET;
    uint64_t begun_usec, cpu, passed_usec;
    const unsigned rounds = 160;
    int fd = dial();

    (void)state;
    for (unsigned i = 1; i < NM_SHUFFLE_MAPS_MAX; i++)
        strcat(target, "," ATTEMPT(0));
    strcat(target, "&keepAlive=true");
    begun_usec = nm_now_usec();
    book_work(NM_SHUFFLE_BURST_USEC, 0);
    cpu = servers_cpu_usec();
    for (unsigned i = 0; i < rounds; i++)
        fetch_kept(fd, target);
    passed_usec = nm_now_usec() - begun_usec;
    cpu = servers_cpu_usec() - cpu;
    close(fd);
    assert_true(all_connections_have_ended());
    /* Each request costs at least 5 us for each name, of a share of a quarter of a CPU. The first request doesn't wait
     * for its own cost. */
    assert_true(passed_usec >= (rounds - 1) * NM_SHUFFLE_MAPS_MAX * UINT64_C(5) * 100 / NM_SHUFFLE_SHARE_PERCENT);
#ifndef __SANITIZE_ADDRESS__ /* a sanitizer multiplies the CPU time of the request */
    assert_true(cpu < passed_usec * 2 * NM_SHUFFLE_SHARE_PERCENT / 100);
#endif
    assert_int_equal(shuffle_client.service.count.outputs_ok, (uint64_t)rounds * NM_SHUFFLE_MAPS_MAX);
}

/* Sent bytes are charged as well. A further charge shows the account's state, since it must wait for all earlier
 * ones. */
static void test_sent_bytes_are_charged(void **state)
{
    const uint64_t bytes = 32 << 20, begun_usec = nm_now_usec();
    const uint64_t price_usec = 32 * 100 + 50; /* 50 for a request that names one map */
    uint64_t received = 0, wait_usec;
    size_t n;
    int fd = dial();

    (void)state;
    large_output(bytes);
    book_work(NM_SHUFFLE_BURST_USEC, 0);
    ask(fd, TARGET, signed_for(TARGET));
    while ((n = receive(fd, sizeof reply - 1)) > 0)
        received += n;
    close(fd);
    assert_true(received > bytes && all_connections_have_ended());
    book_work(NM_SHUFFLE_BURST_USEC, UINT64_MAX);
    assert_int_equal(nm_shuffle_jobs_charge(shuffle_client.service.jobs, JOB, 0, nm_now_usec(), &wait_usec), 0);
    assert_true(nm_now_usec() + wait_usec >=
                begun_usec + (NM_SHUFFLE_BURST_USEC + price_usec) * 100 / NM_SHUFFLE_SHARE_PERCENT);
}

/* A request that would wait beyond the limit is refused. Another job isn't affected. */
static void test_a_job_beyond_its_share_is_refused(void **state)
{
    struct nm_shuffle_job other = shuffle_client.fixture.job;
    const char *target = "/mapOutput?job=job_1410901177871_0002&reduce=0&map=" ATTEMPT(2);

    (void)state;
    snprintf(other.id, sizeof other.id, "job_1410901177871_0002");
    assert_int_equal(nm_shuffle_jobs_add(shuffle_client.service.jobs, &other), 0);
    book_work(9 * NM_USEC_PER_SEC, 0);
    fetch(TARGET, signed_for(TARGET));
    assert_true(reply_begins("HTTP/1.1 429 Too Many Requests\r\n"));
    assert_non_null(strstr(reply, "Retry-After: 1000\r\n"));
    fetch(target, signed_for(target));
    assert_non_null(strstr(reply, "there is no such output on this node"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, shuffle_client_set_up, shuffle_client_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_map_named_256_times_is_checked_once),
        TEST(test_a_disconnect_ends_the_wait_for_a_share),
        TEST(test_a_disconnect_ends_an_answer_that_is_being_sent),
        TEST(test_repeated_requests_of_a_job_stay_within_its_share),
        TEST(test_sent_bytes_are_charged),
        TEST(test_a_job_beyond_its_share_is_refused),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
