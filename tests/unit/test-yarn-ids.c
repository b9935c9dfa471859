/* SPDX-License-Identifier: Apache-2.0 */

/* YARN's ids. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/yarn/ids.h"
#include "util/error.h"

static void test_application_and_attempt(void **state)
{
    struct nm_yarn_attempt_id id = {{1410901177871, 1}, 7}, parsed;
    struct nm_yarn_application_id application;
    char text[NM_YARN_ID_SIZE];

    (void)state;
    assert_string_equal(nm_yarn_application_id_format(&id.application, text), "application_1410901177871_0001");
    assert_int_equal(nm_yarn_application_id_parse(text, &application), 0);
    assert_int_equal(application.cluster, id.application.cluster);
    assert_int_equal(application.number, 1);
    assert_string_equal(nm_yarn_attempt_id_format(&id, text), "appattempt_1410901177871_0001_000007");
    assert_int_equal(nm_yarn_attempt_id_parse(text, &parsed), 0);
    assert_int_equal(parsed.application.number, 1);
    assert_int_equal(parsed.number, 7);
    id.application.number = 123456;
    assert_string_equal(nm_yarn_application_id_format(&id.application, text), "application_1410901177871_123456");
    assert_int_equal(nm_yarn_application_id_parse(text, &application), 0);
    assert_int_equal(application.number, 123456);
}

/* The number of epoch 2 is one that a ResourceManager has really given. */
static void test_container(void **state)
{
    static const struct {
        int64_t number;
        const char *text;
    } cases[] = {
        {5, "container_1410901177871_0001_01_000005"},
        {2199023255554, "container_e02_1410901177871_0001_01_000002"},
        {(INT64_C(17) << 40) + 1234567, "container_e17_1410901177871_0001_01_1234567"},
        {(INT64_C(123) << 40) + 5, "container_e123_1410901177871_0001_01_000005"},
        {INT64_MAX, "container_e8388607_1410901177871_0001_01_1099511627775"},
    };
    struct nm_yarn_container_id id = {{{1410901177871, 1}, 1}, 0}, parsed;
    char text[NM_YARN_ID_SIZE];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        id.number = cases[i].number;
        assert_string_equal(nm_yarn_container_id_format(&id, text), cases[i].text);
        assert_int_equal(nm_yarn_container_id_parse(text, &parsed), 0);
        assert_int_equal(parsed.number, id.number);
        assert_int_equal(parsed.attempt.number, 1);
        assert_int_equal(parsed.attempt.application.cluster, 1410901177871);
    }
}

/* Negative ones have a text, which is another's. */
static void test_negative(void **state)
{
    struct nm_yarn_container_id id = {{{1410901177871, 1}, 1}, -1}, parsed;
    struct nm_yarn_container_id most = {{{INT64_MIN, INT32_MIN}, INT32_MIN}, INT64_MAX};
    char text[NM_YARN_ID_SIZE];

    (void)state;
    assert_string_equal(nm_yarn_container_id_format(&id, text), "container_1410901177871_0001_01_1099511627775");
    assert_int_equal(nm_yarn_container_id_parse(text, &parsed), 0);
    assert_int_equal(parsed.number, 1099511627775);
    assert_true(strlen(nm_yarn_container_id_format(&most, text)) < NM_YARN_ID_SIZE - 1);
}

static void test_no_ids(void **state)
{
    static const struct {
        const char *text;
        int error;
    } cases[] = {
        {"", -EINVAL},
        {"container_", -EINVAL},
        {"container_1_0001_01_00005", -EINVAL},
        {"container_1_0001_01_0000005", -EINVAL},
        {"container_1_0001_1_000005", -EINVAL},
        {"container_1_0001_01_000005 ", -EINVAL},
        {"container_1_0001_01_000005_1", -EINVAL},
        {"container_01_0001_01_000005", -EINVAL},
        {"container_-1_0001_01_000005", -EINVAL},
        {"container_+1_0001_01_000005", -EINVAL},
        {"container_e00_1_0001_01_000005", -EINVAL},
        {"container_e1_1_0001_01_000005", -EINVAL},
        {"container_e8388608_1_0001_01_000005", -ERANGE},
        {"container_1_2147483648_01_000005", -ERANGE},
        {"container_1_0001_01_1099511627776", -ERANGE},
        {"container_9223372036854775808_0001_01_000005", -ERANGE},
        {"Container_1_0001_01_000005", -EINVAL},
        {"../container_1_0001_01_000005", -EINVAL},
    };
    struct nm_yarn_container_id id = {.number = 42};
    struct nm_yarn_application_id application;
    struct nm_yarn_attempt_id attempt;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        if (nm_yarn_container_id_parse(cases[i].text, &id) != cases[i].error)
            fail_msg("%s", cases[i].text);
    assert_int_equal(id.number, 42);
    assert_int_equal(nm_yarn_application_id_parse("application_1_1", &application), -EINVAL);
    assert_int_equal(nm_yarn_application_id_parse("appattempt_1_0001", &application), -EINVAL);
    assert_int_equal(nm_yarn_attempt_id_parse("appattempt_1_0001_01", &attempt), -EINVAL);
    assert_int_equal(nm_yarn_attempt_id_parse("appattempt_1_0001", &attempt), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_application_and_attempt),
        cmocka_unit_test(test_container),
        cmocka_unit_test(test_negative),
        cmocka_unit_test(test_no_ids),
    };

    return cmocka_run_group_tests_name("yarn-ids", tests, NULL, NULL);
}
