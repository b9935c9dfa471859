/* SPDX-License-Identifier: Apache-2.0 */

/* The history's ring, and the file-system sampler. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "monitor/monitor.h"
#include "tests/unit/fail-nth.h"

static void add(struct nm_history *h, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i <= to; i++)
        nm_history_add(h, &(struct nm_history_point){.at_usec = i});
}

static void assert_range(const struct nm_history *h, uint64_t from, uint64_t to)
{
    assert_int_equal(nm_history_n(h), to - from + 1);
    for (uint64_t i = from; i <= to; i++)
        assert_int_equal(nm_history_get(h, (unsigned)(i - from))->at_usec, i);
    assert_null(nm_history_get(h, nm_history_n(h)));
}

#define SPAN UINT64_C(6000) /* 600 steps of 10 us */

/* The points cover the span if there are several samples per step, one sample per step, or one sample in several
 * steps. */
static void test_the_points_of_the_history_cover_the_span(void **state)
{
    static const uint64_t periods[] = {1, 3, 10, 11, 47, 2500};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(periods); i++) {
        _cleanup_(nm_history_freep) struct nm_history *h = NULL;
        uint64_t at = 0, step = NM_MAX(periods[i], UINT64_C(10));

        assert_int_equal(nm_history_new(SPAN, &h), 0);
        assert_int_equal(nm_history_step_usec(h), 10);
        for (at = 0; at < 5 * SPAN; at += periods[i])
            nm_history_add(h, &(struct nm_history_point){.at_usec = at});
        at -= periods[i];
        assert_int_equal(nm_history_get(h, nm_history_n(h) - 1)->at_usec, at);
        assert_in_range(nm_history_get(h, 0)->at_usec, at - SPAN, at - SPAN + step);
        for (unsigned k = 1; k < nm_history_n(h); k++)
            assert_true(nm_history_get(h, k - 1)->at_usec / 10 < nm_history_get(h, k)->at_usec / 10);
    }
}

/* Bursts of samples between the regular samples don't displace older points. */
static void test_bursts_of_samples_displace_no_older_points(void **state)
{
    _cleanup_(nm_history_freep) struct nm_history *h = NULL;

    (void)state;
    assert_int_equal(nm_history_new(SPAN, &h), 0);
    for (uint64_t at = 0; at <= SPAN; at += 30)
        for (uint64_t look = 0; look < (at % 600 == 0 ? 30 : 1); look++)
            nm_history_add(h, &(struct nm_history_point){.at_usec = at + look});
    assert_in_range(nm_history_get(h, 0)->at_usec, 0, 40);
}

/* Amounts of a step are the mean of its samples, without rounding errors that add up. Counts are those of the newest
 * sample, and the cost is the highest cost of a sample. */
static void test_amounts_of_a_step_are_the_mean_of_its_samples(void **state)
{
    _cleanup_(nm_history_freep) struct nm_history *h = NULL;
    const struct nm_history_point *p;

    (void)state;
    assert_int_equal(nm_history_new(SPAN, &h), 0);
    nm_history_add(h, &(struct nm_history_point){.at_usec = 5, .use[NM_HISTORY_RESERVED] = {77, 77}});
    for (unsigned i = 0; i < 10; i++)
        nm_history_add(h, &(struct nm_history_point){.at_usec = 10 + i, .queued = (uint16_t)i,
                                                     .sample_cost_usec = 20 - i,
                                                     .pressure = {[NM_HISTORY_CPU_SOME] = (uint16_t)(20 - i)},
                                                     .use[NM_HISTORY_RESERVED] = {i < 9 ? 1 : 11, 3 * i}});
    assert_int_equal(nm_history_n(h), 2);
    p = nm_history_get(h, 1);
    assert_int_equal(p->at_usec, 19);
    assert_int_equal(p->use[NM_HISTORY_RESERVED].memory_bytes, 2);
    assert_int_equal(p->use[NM_HISTORY_RESERVED].cpu_millicores, 13);
    assert_int_equal(p->queued, 9);
    assert_int_equal(p->sample_cost_usec, 20);
    assert_int_equal(p->pressure[NM_HISTORY_CPU_SOME], 20);
    assert_int_equal(nm_history_get(h, 0)->use[NM_HISTORY_RESERVED].memory_bytes, 77);
}

static void test_a_change_of_the_span_keeps_the_points_of_the_history(void **state)
{
    _cleanup_(nm_history_freep) struct nm_history *h = NULL;

    (void)state;
    assert_int_equal(nm_history_new(0, &h), -EINVAL);
    assert_null(h);
    assert_int_equal(nm_history_new(600, &h), 0);
    add(h, 1, 700); /* the ring has wrapped */
    assert_range(h, 100, 700);
    assert_int_equal(nm_history_set_span(h, 300), 0);
    assert_range(h, 400, 700);
    assert_int_equal(nm_history_set_span(h, 0), -EINVAL);
    assert_int_equal(nm_history_set_span(h, 6000), 0);
    add(h, 701, 1000);
    assert_int_equal(nm_history_get(h, 0)->at_usec, 409);
    assert_int_equal(nm_history_get(h, nm_history_n(h) - 1)->at_usec, 1000);
}

static void test_the_first_point_since_a_time_is_found(void **state)
{
    _cleanup_(nm_history_freep) struct nm_history *h = NULL;

    (void)state;
    assert_int_equal(nm_history_new(9, &h), 0);
    assert_int_equal(nm_history_since(h, 0), 0);
    add(h, 1, 17); /* the points from 8 to 17 are kept */
    assert_int_equal(nm_history_since(h, 0), 0);
    assert_int_equal(nm_history_since(h, 8), 0);
    assert_int_equal(nm_history_since(h, 9), 1);
    assert_int_equal(nm_history_since(h, 17), 9);
    assert_int_equal(nm_history_since(h, 18), 10);
}

/* A step is a whole number of microseconds. If the span has more steps than the ring has points, the newest points are
 * kept. */
static void test_a_span_that_is_no_multiple_of_its_steps_has_enough_points(void **state)
{
    _cleanup_(nm_history_freep) struct nm_history *h = NULL;

    (void)state;
    assert_int_equal(nm_history_new(1199, &h), 0);
    assert_int_equal(nm_history_step_usec(h), 1);
    add(h, 1, 3000);
    assert_range(h, 3000 - 601, 3000);
}

static int change_span(void *userdata)
{
    return nm_history_set_span(userdata, SPAN / 2);
}

static void test_each_failed_allocation_is_an_error(void **state)
{
    _cleanup_(nm_history_freep) struct nm_history *h = NULL;

    (void)state;
    assert_int_equal(nm_history_new(0, &h), -EINVAL);
    assert_int_equal(nm_history_new(SPAN, &h), 0);
    nm_history_add(h, &(struct nm_history_point){.at_usec = 5});
    fail_nth(FAIL_MEMORY, 1);
    assert_int_equal(nm_history_set_span(h, SPAN / 2), -ENOMEM);
    assert_true(fail_stop());
    assert_int_equal(nm_history_step_usec(h), 10); /* the step is unchanged */
    assert_range(h, 5, 5);                         /* the content is unchanged */
    assert_int_equal(fail_each(change_span, h), 1);
    assert_int_equal(nm_history_step_usec(h), 5);
}

static void test_the_use_of_a_file_system_is_sampled(void **state)
{
    struct nm_disk_sample d = {0};

    (void)state;
    assert_int_equal(nm_disk_sample("/", &d), 0);
    assert_true(d.total_bytes > 0);
    assert_true(d.available_bytes <= d.total_bytes);
    assert_true(d.available_inodes <= d.total_inodes);
    assert_int_equal(nm_disk_sample("/nonexistent", &d), -ENOENT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_points_of_the_history_cover_the_span),
        cmocka_unit_test(test_bursts_of_samples_displace_no_older_points),
        cmocka_unit_test(test_amounts_of_a_step_are_the_mean_of_its_samples),
        cmocka_unit_test(test_a_change_of_the_span_keeps_the_points_of_the_history),
        cmocka_unit_test(test_the_first_point_since_a_time_is_found),
        cmocka_unit_test(test_a_span_that_is_no_multiple_of_its_steps_has_enough_points),
        cmocka_unit_test(test_each_failed_allocation_is_an_error),
        cmocka_unit_test(test_the_use_of_a_file_system_is_sampled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
