/* SPDX-License-Identifier: Apache-2.0 */

/* The server for map outputs when accept4(), pthread_create(), poll(), preadv2() or sendfile() fails. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "refusing-system.h"
#include "shuffle-client.h"
#include "util/clock.h"

static int set_up(void **state)
{
    test_thread = pthread_self();
    accept_error = thread_error = poll_error = preadv2_error = sendfile_error = 0;
    sequential_advices = drop_advices = 0;
    return shuffle_client_set_up(state);
}

static bool wait_for(atomic_uint *count, unsigned n)
{
    const uint64_t deadline_usec = nm_now_usec() + PATIENCE_MSEC * NM_USEC_PER_MSEC;

    while (*count < n && nm_now_usec() < deadline_usec)
        assert_int_equal(usleep(1000), 0);
    return *count >= n;
}

static void test_without_sendfile_the_answer_has_the_same_bytes(void **state)
{
    static const int lacking[] = {EINVAL, ENOSYS, EOPNOTSUPP, EPERM};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(lacking); i++) {
        sendfile_error = lacking[i];
        shuffle_client.service.count.sent_bytes = shuffle_client.service.count.outputs_ok = 0;
        assert_output_is_sent_to_the_byte();
    }
}

static void test_without_sendfile_a_large_output_is_sent_and_a_truncated_one_ends_the_connection(void **state)
{
    (void)state;
    sendfile_error = EINVAL;
    assert_large_output_is_sent();
    assert_cut_output_ends_the_connection();
}

static void test_an_error_of_the_disk_is_not_treated_as_missing_sendfile(void **state)
{
    (void)state;
    sendfile_error = EIO;
    large_output(sizeof reply / 2); /* a short part is sent without sendfile() */
    fetch(TARGET, signed_for(TARGET));
    assert_true(reply_begins("HTTP/1.1 200 OK"));
    assert_null(strstr(reply, "xxx"));
    assert_int_equal(shuffle_client.service.count.outputs_failed, 1);
}

/* Fetches a part, and checks how often nm-shuffle told the kernel to read ahead, and to drop the part. */
static void assert_advices(int error, uint64_t bytes, unsigned expected)
{
    int fd;

    preadv2_error = error;
    sequential_advices = drop_advices = 0;
    large_output(bytes);
    fd = dial();
    ask(fd, TARGET, signed_for(TARGET));
    while (receive(fd, sizeof reply - 1) > 0)
        ;
    close(fd);
    assert_true(all_connections_have_ended());
    assert_int_equal(sequential_advices, expected);
    assert_int_equal(drop_advices, expected);
}

/* The kernel reads further ahead for a part, and the part is removed from the page cache, only if it had to be read
 * from the disk, and if it is large. preadv2() fails with EAGAIN for such a part. Other errors, as of a file system
 * without RWF_NOWAIT, do not show that. */
static void test_only_a_large_part_from_the_disk_is_read_ahead_and_dropped(void **state)
{
    (void)state;
    assert_advices(EAGAIN, 1 << 20, 1);
    assert_advices(EAGAIN, 10 << 10, 0);
    assert_advices(EOPNOTSUPP, 1 << 20, 0);
    assert_advices(0, 1 << 20, 0); /* the file has just been written */
    shuffle_client.service.drops_cache = false;
    assert_advices(EAGAIN, 1 << 20, 0);
}

/* The connection that can't be accepted stays in the kernel's queue, so poll() would wake the accepting thread again
 * and again. */
static void test_the_accepting_thread_pauses_after_a_failed_accept(void **state)
{
    static const int errors[] = {ENOMEM, EMFILE, ENFILE, ENOBUFS, ENOSR};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(errors); i++) {
        int fd;

        accept_error = errors[i];
        fd = dial();
        assert_true(wait_for(&accepts, accepts + 4));
        assert_true(accepted_usec[0] - accepted_usec[2] > 150 * NM_USEC_PER_MSEC);
        accept_error = 0;
        ask(fd, TARGET, signed_for(TARGET));
        receive(fd, sizeof reply - 1);
        assert_true(reply_begins("HTTP/1.1 200 OK\r\n"));
        close(fd);
    }
}

static void test_a_connection_for_which_no_thread_can_be_made_is_closed(void **state)
{
    int fd;

    (void)state;
    thread_error = EAGAIN;
    fd = dial();
    ask(fd, TARGET, signed_for(TARGET));
    assert_int_equal(receive(fd, 1), 0);
    close(fd);
    assert_true(all_connections_have_ended());
    thread_error = 0;
    fetch(TARGET, signed_for(TARGET));
    assert_true(reply_begins("HTTP/1.1 200 OK\r\n"));
}

/* When poll() fails for lack of memory, the accepting thread must neither loop without a pause nor exit. */
static void test_the_accepting_thread_pauses_after_a_failed_poll(void **state)
{
    const uint64_t begun_usec = nm_now_usec();
    const unsigned before = failed_polls;

    (void)state;
    poll_error = ENOMEM;
    close(dial());
    assert_true(wait_for(&failed_polls, before + 4));
    assert_true(nm_now_usec() - begun_usec > 150 * NM_USEC_PER_MSEC);
    poll_error = 0;
    fetch(TARGET, signed_for(TARGET));
    assert_true(reply_begins("HTTP/1.1 200 OK\r\n"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, shuffle_client_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_without_sendfile_the_answer_has_the_same_bytes),
        TEST(test_without_sendfile_a_large_output_is_sent_and_a_truncated_one_ends_the_connection),
        TEST(test_an_error_of_the_disk_is_not_treated_as_missing_sendfile),
        TEST(test_only_a_large_part_from_the_disk_is_read_ahead_and_dropped),
        TEST(test_the_accepting_thread_pauses_after_a_failed_accept),
        TEST(test_a_connection_for_which_no_thread_can_be_made_is_closed),
        TEST(test_the_accepting_thread_pauses_after_a_failed_poll),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
