/* SPDX-License-Identifier: Apache-2.0 */

/* The limits of the memory that users and applications can make the server keep. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>

#include <cmocka.h>

#include "spark/memory.h"

#define MAX UINT64_C(800)
#define USER (MAX / 2)
#define APP (MAX / 8 * 3)

static struct nm_spark_memory *memory;

static int set_up(void **state)
{
    (void)state;
    return nm_spark_memory_new(MAX, &memory);
}

static int tear_down(void **state)
{
    (void)state;
    memory = nm_spark_memory_free(memory); /* aborts if memory was not given back */
    return 0;
}

static void test_an_application_has_a_part_of_its_users_half(void **state)
{
    (void)state;
    assert_int_equal(nm_spark_memory_take(memory, 1, "a", APP - 1), 0);
    assert_int_equal(nm_spark_memory_take(memory, 1, "a", 2), -EBUSY);
    assert_int_equal(nm_spark_memory_take(memory, 1, "a", 1), 0);
    assert_int_equal(nm_spark_memory_take(memory, 1, "a", 1), -EBUSY);
    assert_int_equal(nm_spark_memory_take(memory, 1, "b", USER - APP), 0);
    assert_int_equal(nm_spark_memory_take(memory, 1, "b", 1), -EBUSY);
    assert_int_equal(nm_spark_memory_take(memory, 2, "a", APP), 0);
    nm_spark_memory_give(memory, 1, "a", 1);
    assert_int_equal(nm_spark_memory_take(memory, 1, "b", 1), 0);
    nm_spark_memory_give(memory, 1, "a", APP - 1);
    nm_spark_memory_give(memory, 1, "b", USER - APP + 1);
    nm_spark_memory_give(memory, 2, "a", APP);
}

static void test_all_users_together_have_a_limit(void **state)
{
    (void)state;
    for (uid_t uid = 1; uid <= 2; uid++)
        assert_int_equal(nm_spark_memory_take(memory, uid, "a", APP), 0);
    assert_int_equal(nm_spark_memory_take(memory, 3, "a", MAX - 2 * APP + 1), -EBUSY);
    assert_int_equal(nm_spark_memory_take(memory, 3, "a", UINT64_MAX), -EBUSY);
    assert_int_equal(nm_spark_memory_take(memory, 3, "a", MAX - 2 * APP), 0);
    assert_int_equal(nm_spark_memory_take(memory, 4, "a", 1), -EBUSY);
    assert_int_equal(nm_spark_memory_take(memory, 4, "a", 0), 0);
    nm_spark_memory_give(memory, 3, "a", MAX - 2 * APP);
    for (uid_t uid = 1; uid <= 2; uid++)
        nm_spark_memory_give(memory, uid, "a", APP);
}

static void test_without_memory_nothing_is_limited(void **state)
{
    (void)state;
    assert_int_equal(nm_spark_memory_take(NULL, 1, "a", UINT64_MAX), 0);
    nm_spark_memory_give(NULL, 1, "a", UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_application_has_a_part_of_its_users_half, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all_users_together_have_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_memory_nothing_is_limited, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
