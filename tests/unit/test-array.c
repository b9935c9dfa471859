/* SPDX-License-Identifier: Apache-2.0 */

/* util/array.h */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fail-nth.h"
#include "util/array.h"

static void test_an_array_grows_for_one_more_element(void **state)
{
    _cleanup_free_ uint64_t *numbers = NULL;
    unsigned size = 0, n = 0, moves = 0;

    (void)state;
    for (; n < 1000; n++) {
        unsigned before = size;

        assert_int_equal(NM_ARRAY_ROOM(numbers, n, size), 0);
        assert_true(size > n);
        moves += size != before;
        numbers[n] = n;
    }
    assert_int_equal(moves, 8); /* 8, 16, ... 1024 */
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(numbers[i], i);
}

/* A failed resize keeps the elements, and the array can still be used. */
static void test_a_failed_resize_keeps_the_elements(void **state)
{
    _cleanup_free_ uint64_t *numbers = NULL;
    const uint64_t *before;
    size_t size = 4;

    (void)state;
    assert_int_equal(NM_ARRAY_RESIZE(numbers, size), 0);
    before = numbers;
    numbers[3] = 3;
    fail_nth(FAIL_MEMORY, 1);
    assert_int_equal(NM_ARRAY_RESIZE(numbers, 2 * size), -ENOMEM);
    assert_true(fail_stop());
    fail_nth(FAIL_MEMORY, 1);
    assert_int_equal(NM_ARRAY_ROOM(numbers, 4, size), -ENOMEM);
    assert_true(fail_stop());
    assert_int_equal(size, 4);
    assert_ptr_equal(numbers, before);
    assert_int_equal(numbers[3], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_array_grows_for_one_more_element),
        cmocka_unit_test(test_a_failed_resize_keeps_the_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
