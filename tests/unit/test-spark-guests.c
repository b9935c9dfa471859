/* SPDX-License-Identifier: Apache-2.0 */

/* What hosts may do before their clients belong to an application, with a clock of the test. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>

#include <cmocka.h>

#include "spark/guests.h"
#include "util/clock.h"

#define WORK_USEC UINT64_C(400) /* a handshake */

static struct nm_spark_guests *guests;
static uint64_t now_usec;

static int set_up(void **state)
{
    (void)state;
    now_usec = 1000 * NM_USEC_PER_SEC;
    return nm_spark_guests_new(&guests);
}

static int tear_down(void **state)
{
    (void)state;
    guests = nm_spark_guests_free(guests); /* aborts if memory was not given back */
    return 0;
}

/* Books work until it is refused. Returns how much was booked; *ret_wait_usec is how long the last one waits. */
static uint64_t exhaust(uint64_t host, uint64_t *ret_wait_usec)
{
    uint64_t wait_usec, work_usec = 0;

    *ret_wait_usec = 0;
    while (nm_spark_guests_book(guests, host, WORK_USEC, now_usec, &wait_usec) == 0) {
        work_usec += WORK_USEC;
        *ret_wait_usec = wait_usec;
    }
    return work_usec;
}

static void test_a_host_has_a_burst_and_then_its_share(void **state)
{
    uint64_t wait_usec = 1, booked_usec = 0;

    (void)state;
    for (; booked_usec < NM_SPARK_GUEST_BURST_USEC; booked_usec += WORK_USEC) {
        assert_int_equal(nm_spark_guests_book(guests, 1, WORK_USEC, now_usec, &wait_usec), 0);
        assert_int_equal(wait_usec, 0);
    }
    booked_usec += exhaust(1, &wait_usec);
    assert_true(wait_usec > NM_SPARK_GUEST_WAIT_MAX_USEC * 9 / 10 && wait_usec <= NM_SPARK_GUEST_WAIT_MAX_USEC);
    for (unsigned i = 0; i < 10000; i++) { /* 100 seconds */
        uint64_t more_usec = exhaust(1, &wait_usec);

        booked_usec += more_usec;
        now_usec += NM_USEC_PER_SEC / 100;
    }
    assert_true(booked_usec <= NM_SPARK_GUEST_BURST_USEC + 106 * NM_USEC_PER_SEC * NM_SPARK_GUEST_PERCENT / 100);
    assert_true(booked_usec >= NM_SPARK_GUEST_BURST_USEC + 104 * NM_USEC_PER_SEC * NM_SPARK_GUEST_PERCENT / 100);
}

/* A host that has used up its part doesn't delay others: two such hosts are needed to reach the limit of all. */
static void test_a_host_does_not_delay_others(void **state)
{
    uint64_t wait_usec;

    (void)state;
    (void)exhaust(1, &wait_usec);
    assert_int_equal(nm_spark_guests_book(guests, 2, WORK_USEC, now_usec, &wait_usec), 0);
    assert_int_equal(wait_usec, 0);
    for (unsigned i = 0; i < 1000; i++) { /* it goes on */
        now_usec += NM_USEC_PER_SEC / 100;
        (void)exhaust(1, &wait_usec);
        assert_int_equal(nm_spark_guests_book(guests, 2, WORK_USEC, now_usec, &wait_usec), 0);
        assert_int_equal(wait_usec, 0);
    }
}

static void test_all_hosts_together_have_a_limit(void **state)
{
    uint64_t wait_usec, booked_usec = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) { /* 10 seconds */
        for (uint64_t host = 1; host <= 20; host++)
            booked_usec += exhaust(host, &wait_usec);
        now_usec += NM_USEC_PER_SEC / 100;
    }
    assert_true(booked_usec <= NM_SPARK_GUESTS_BURST_USEC + 16 * NM_USEC_PER_SEC * NM_SPARK_GUESTS_PERCENT / 100);
}

static void test_work_that_was_done_is_booked(void **state)
{
    uint64_t wait_usec;

    (void)state;
    nm_spark_guests_owe(guests, 1, NM_SPARK_GUEST_BURST_USEC + WORK_USEC, now_usec);
    assert_int_equal(nm_spark_guests_book(guests, 1, WORK_USEC, now_usec, &wait_usec), 0);
    assert_int_equal(wait_usec, WORK_USEC * 100 / NM_SPARK_GUEST_PERCENT);
}

static void test_a_host_has_a_part_of_the_memory(void **state)
{
    const uint64_t part = NM_SPARK_GUESTS_BYTES_MAX / 8 * 3;

    (void)state;
    assert_int_equal(nm_spark_guests_take(guests, 1, part), 0);
    assert_int_equal(nm_spark_guests_take(guests, 1, 1), -EBUSY);
    assert_int_equal(nm_spark_guests_take(guests, 2, part), 0);
    assert_int_equal(nm_spark_guests_take(guests, 3, part), -EBUSY); /* all together */
    nm_spark_guests_give(guests, 1, part);
    assert_int_equal(nm_spark_guests_take(guests, 3, part), 0);
    nm_spark_guests_give(guests, 2, part);
    nm_spark_guests_give(guests, 3, part);
}

static void test_hosts_have_secret_numbers(void **state)
{
    struct nm_spark_guests *other;

    (void)state;
    assert_int_equal(nm_spark_guests_new(&other), 0);
    assert_true(nm_spark_guests_host(guests, "host 192.0.2.1") != nm_spark_guests_host(guests, "host 192.0.2.2"));
    assert_true(nm_spark_guests_host(guests, "host 192.0.2.1") == nm_spark_guests_host(guests, "host 192.0.2.1"));
    assert_true(nm_spark_guests_host(guests, "host 192.0.2.1") != nm_spark_guests_host(other, "host 192.0.2.1"));
    nm_spark_guests_free(other);
}

static void test_without_guests_nothing_is_limited(void **state)
{
    uint64_t wait_usec = 1;

    (void)state;
    assert_int_equal(nm_spark_guests_book(NULL, 1, UINT32_MAX, now_usec, &wait_usec), 0);
    assert_int_equal(wait_usec, 0);
    nm_spark_guests_owe(NULL, 1, UINT32_MAX, now_usec);
    assert_int_equal(nm_spark_guests_take(NULL, 1, UINT64_MAX), 0);
    nm_spark_guests_give(NULL, 1, UINT64_MAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_host_has_a_burst_and_then_its_share),
        TEST(test_a_host_does_not_delay_others),
        TEST(test_all_hosts_together_have_a_limit),
        TEST(test_work_that_was_done_is_booked),
        TEST(test_a_host_has_a_part_of_the_memory),
        TEST(test_hosts_have_secret_numbers),
        TEST(test_without_guests_nothing_is_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
