/* SPDX-License-Identifier: Apache-2.0 */

/* The history's ring, and the file-system sampler, which is as small. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "monitor/monitor.h"

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

static void test_ring(void **state)
{
    _cleanup_(nm_history_freep) struct nm_history *h = NULL;

    (void)state;
    assert_int_equal(nm_history_new(9, 1, &h), 0); /* 10 points */
    assert_int_equal(nm_history_n(h), 0);
    assert_null(nm_history_get(h, 0));
    add(h, 1, 10);
    assert_range(h, 1, 10);
    add(h, 11, 11);
    assert_range(h, 2, 11);
    add(h, 12, 34);
    assert_range(h, 25, 34);
}

static void test_resize(void **state)
{
    _cleanup_(nm_history_freep) struct nm_history *h = NULL;

    (void)state;
    assert_int_equal(nm_history_new(9, 1, &h), 0);
    add(h, 1, 13); /* the ring has wrapped */
    assert_int_equal(nm_history_resize(h, 9, 3), 0);
    assert_range(h, 10, 13);
    assert_int_equal(nm_history_resize(h, 5, 1), 0);
    add(h, 14, 15);
    assert_range(h, 10, 15);
    add(h, 16, 16);
    assert_range(h, 11, 16);
    assert_int_equal(nm_history_resize(h, 5, 0), -EINVAL);
    assert_range(h, 11, 16);
}

static void test_bounds(void **state)
{
    _cleanup_(nm_history_freep) struct nm_history *h = NULL;

    (void)state;
    assert_int_equal(nm_history_new(1, 0, &h), -EINVAL);
    assert_null(h);
    assert_int_equal(nm_history_new(UINT64_MAX, 1, &h), 0);
    add(h, 1, 7000);
    assert_range(h, 1000, 7000); /* 6001 points at most */
}

static void test_since(void **state)
{
    _cleanup_(nm_history_freep) struct nm_history *h = NULL;

    (void)state;
    assert_int_equal(nm_history_new(9, 1, &h), 0);
    assert_int_equal(nm_history_since(h, 0), 0);
    add(h, 1, 17); /* 8 to 17 are left, and the ring begins in the middle */
    assert_int_equal(nm_history_since(h, 0), 0);
    assert_int_equal(nm_history_since(h, 8), 0);
    assert_int_equal(nm_history_since(h, 9), 1);
    assert_int_equal(nm_history_since(h, 17), 9);
    assert_int_equal(nm_history_since(h, 18), 10);
}

static void test_disk(void **state)
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
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_since),
        cmocka_unit_test(test_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
