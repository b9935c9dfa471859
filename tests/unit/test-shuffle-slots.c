/* SPDX-License-Identifier: Apache-2.0 */

/* The table of connections: the shares of slots for users, jobs and hosts. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shuffle/connections.h"
#include "shuffle/socket.h"
#include "util/error.h"

static int enter(struct nm_shuffle_connections *all, const char *host, unsigned *ret_slot)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), r = nm_shuffle_connections_enter(all, fd, host, ret_slot);

    if (r < 0)
        close(fd);
    return r;
}

static void test_a_user_gets_half_of_the_slots_and_a_job_three_quarters_of_this_half(void **state)
{
    const uid_t alice = 1, bob = 2;
    struct nm_shuffle_connections *all;
    unsigned at[16];

    (void)state;
    assert_int_equal(nm_shuffle_connections_new(NM_ARRAY_SIZE(at), &all), 0);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(at); i++)
        assert_int_equal(enter(all, (const char[]){(char)('a' + (int)i), '\0'}, &at[i]), 0);
    for (unsigned i = 0; i < 6; i++)
        assert_true(nm_shuffle_connections_belongs(all, at[i], alice, "job_1_0001"));
    /* another connection for the same job */
    assert_true(nm_shuffle_connections_belongs(all, at[5], alice, "job_1_0001"));
    assert_false(nm_shuffle_connections_belongs(all, at[6], alice, "job_1_0001"));
    assert_true(nm_shuffle_connections_belongs(all, at[6], alice, "job_1_0002"));
    assert_true(nm_shuffle_connections_belongs(all, at[7], alice, "job_1_0003"));
    assert_false(nm_shuffle_connections_belongs(all, at[8], alice, "job_1_0002"));
    assert_true(nm_shuffle_connections_belongs(all, at[8], bob, "job_1_0004"));
    /* The same connection may be used for another job later. */
    assert_true(nm_shuffle_connections_belongs(all, at[0], alice, "job_1_0002"));
    /* the user's half of the slots is in use */
    assert_false(nm_shuffle_connections_belongs(all, at[9], alice, "job_1_0001"));
    for (unsigned i = 0; i < NM_ARRAY_SIZE(at); i++)
        nm_shuffle_connections_leave(all, at[i]);
    nm_shuffle_connections_free(all);
}

/* A host may use a quarter of the slots for connections without a signed request, and half of the spare slots. */
static void test_a_host_gets_a_quarter_of_the_slots_for_unsigned_requests(void **state)
{
    struct nm_shuffle_connections *all;
    unsigned at[64], n = 0;

    (void)state;
    assert_int_equal(nm_shuffle_connections_new(8, &all), 0);
    assert_int_equal(enter(all, "host 192.0.2.1", &at[n++]), 0);
    assert_int_equal(enter(all, "host 192.0.2.1", &at[n++]), 0);
    for (unsigned i = 0; i < NM_SHUFFLE_SPARE_SLOTS / 2; i++)
        assert_int_equal(enter(all, "host 192.0.2.1", &at[n++]), NM_SHUFFLE_CONNECTIONS_E_SPARE);
    assert_int_equal(enter(all, "host 192.0.2.1", &at[n]), -EBUSY);
    assert_int_equal(enter(all, "host 192.0.2.2", &at[n++]), 0);
    /* with a signed request, the connection no longer counts for the host */
    assert_true(nm_shuffle_connections_belongs(all, at[0], 1, "job_1_0001"));
    assert_int_equal(enter(all, "host 192.0.2.1", &at[n++]), 0);
    while (n > 0)
        nm_shuffle_connections_leave(all, at[--n]);
    nm_shuffle_connections_free(all);
}

static void test_all_hosts_together_have_a_part_without_signed_requests(void **state)
{
    struct nm_shuffle_connections *all;
    unsigned at[16], n = 0;

    (void)state;
    assert_int_equal(nm_shuffle_connections_new(8, &all), 0);
    nm_shuffle_connections_limit_guests(all, 1, 3);
    assert_int_equal(enter(all, "host 192.0.2.1", &at[n++]), 0);
    assert_int_equal(enter(all, "host 192.0.2.1", &at[n++]), NM_SHUFFLE_CONNECTIONS_E_SPARE);
    assert_int_equal(enter(all, "host 192.0.2.2", &at[n++]), 0);
    assert_int_equal(enter(all, "host 192.0.2.3", &at[n++]), 0);
    assert_int_equal(enter(all, "host 192.0.2.4", &at[n++]), NM_SHUFFLE_CONNECTIONS_E_SPARE);
    assert_true(nm_shuffle_connections_belongs(all, at[0], 1, "job_1_0001"));
    assert_int_equal(enter(all, "host 192.0.2.4", &at[n++]), 0);
    while (n > 0)
        nm_shuffle_connections_leave(all, at[--n]);
    nm_shuffle_connections_free(all);
}

/* Opens n connections of a job. Returns how many of them have small send buffers. */
static unsigned open_many(struct nm_shuffle_connections *all, uid_t uid, const char *job, unsigned n, unsigned *ret_at)
{
    const int small = 2 * NM_SHUFFLE_SMALL_SEND_BUFFER_BYTES;
    unsigned n_small = 0;

    for (unsigned i = 0; i < n; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), bytes;
        socklen_t size = sizeof bytes;

        nm_shuffle_socket_limit(fd);
        assert_int_equal(nm_shuffle_connections_enter(all, fd, "host", &ret_at[i]), 0);
        assert_true(nm_shuffle_connections_belongs(all, ret_at[i], uid, job));
        assert_true(nm_shuffle_connections_belongs(all, ret_at[i], uid, job)); /* the next request */
        assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &size), 0);
        assert_true(bytes == small || bytes == 2 * NM_SHUFFLE_SEND_BUFFER_BYTES);
        n_small += bytes == small;
    }
    return n_small;
}

/* A job, a user, and all of them may have a number of connections with large send buffers. */
static void test_many_connections_have_small_send_buffers(void **state)
{
    enum { JOB = NM_SHUFFLE_JOB_LARGE_MAX, N = NM_SHUFFLE_LARGE_MAX + JOB };
    struct nm_shuffle_connections *all;
    unsigned *at = calloc(2 * N, sizeof *at), n = 0;
    struct rlimit files;
    static const struct {
        uid_t uid;
        const char *job;
        unsigned n, n_small;
    } cases[] = {
        {1, "job_1_0001", JOB + 10, 10}, {1, "job_1_0002", JOB, 0}, {1, "job_1_0003", 5, 5}, /* the user has its part */
        {2, "job_1_0004", JOB, 0},       {3, "job_1_0005", JOB, 0}, {4, "job_1_0006", 5, 5}, /* all have their part */
    };

    (void)state;
    assert_non_null(at);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = NM_MIN(files.rlim_max, (rlim_t)4 * N);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_int_equal(nm_shuffle_connections_new(4 * N, &all), 0);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(cases); n += cases[i++].n)
        assert_int_equal(open_many(all, cases[i].uid, cases[i].job, cases[i].n, at + n), cases[i].n_small);
    nm_shuffle_connections_leave(all, at[0]); /* its place is free for another one */
    assert_int_equal(open_many(all, 4, "job_1_0006", 2, at + n), 1);
    for (unsigned i = 1; i < n + 2; i++)
        nm_shuffle_connections_leave(all, at[i]);
    nm_shuffle_connections_free(all);
    free(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_user_gets_half_of_the_slots_and_a_job_three_quarters_of_this_half),
        cmocka_unit_test(test_a_host_gets_a_quarter_of_the_slots_for_unsigned_requests),
        cmocka_unit_test(test_all_hosts_together_have_a_part_without_signed_requests),
        cmocka_unit_test(test_many_connections_have_small_send_buffers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
