/* SPDX-License-Identifier: Apache-2.0 */

/* The ids of YARN as text. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/error.h"
#include "yarn/ids.h"

static void test_ids_of_applications_and_attempts_are_formatted(void **state)
{
    struct nm_yarn_attempt_id id = {{1410901177871, 1}, 7};
    struct nm_yarn_application_id application;
    char text[NM_YARN_ID_SIZE];

    (void)state;
    assert_string_equal(nm_yarn_application_id_format(&id.application, text), "application_1410901177871_0001");
    assert_int_equal(nm_yarn_application_id_parse(text, &application), 0);
    assert_int_equal(application.cluster, id.application.cluster);
    assert_int_equal(application.number, 1);
    assert_string_equal(nm_yarn_attempt_id_format(&id, text), "appattempt_1410901177871_0001_000007");
    id.application.number = 123456;
    assert_string_equal(nm_yarn_application_id_format(&id.application, text), "application_1410901177871_123456");
    assert_int_equal(nm_yarn_application_id_parse(text, &application), 0);
    assert_int_equal(application.number, 123456);
}

/* The container number of epoch 2 was assigned by a real ResourceManager. */
static void test_ids_of_containers_are_formatted(void **state)
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
    struct nm_yarn_container_id id = {{{1410901177871, 1}, 1}, 0};
    char text[NM_YARN_ID_SIZE];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        id.number = cases[i].number;
        assert_string_equal(nm_yarn_container_id_format(&id, text), cases[i].text);
    }
}

/* A negative container number has the same text as a certain positive number. */
static void test_a_negative_container_number_has_the_text_of_a_positive_one(void **state)
{
    struct nm_yarn_container_id id = {{{1410901177871, 1}, 1}, -1};
    struct nm_yarn_container_id most = {{{INT64_MIN, INT32_MIN}, INT32_MIN}, INT64_MAX};
    char text[NM_YARN_ID_SIZE];

    (void)state;
    assert_string_equal(nm_yarn_container_id_format(&id, text), "container_1410901177871_0001_01_1099511627775");
    assert_true(strlen(nm_yarn_container_id_format(&most, text)) < NM_YARN_ID_SIZE - 1);
}

/* Numbers count down from the number that the ResourceManager gives. No text is used twice, whatever the epoch. */
static void test_container_numbers_count_down_and_no_text_is_used_twice(void **state)
{
    const int64_t epoch = INT64_C(1) << 40;
    struct nm_yarn_container_id id = {{{1410901177871, 1}, 1}, 0};
    char text[NM_YARN_ID_SIZE], before[NM_YARN_ID_SIZE] = "";
    int64_t start = 0, last = start;

    (void)state;
    /* epoch 0: positive numbers; an nmd that used negative ones continues with their distance */
    assert_int_equal(nm_yarn_container_number_below(0, 0), epoch - 1);
    assert_int_equal(nm_yarn_container_number_below(0, epoch - 1), epoch - 2);
    assert_int_equal(nm_yarn_container_number_below(0, -1), epoch - 2);
    assert_int_equal(nm_yarn_container_number_below(epoch, epoch), epoch - 1);
    assert_int_equal(nm_yarn_container_number_below(epoch, epoch - 1), epoch - 2);
    assert_int_equal(nm_yarn_container_number_below(epoch, -8), epoch - 9);
    assert_int_equal(nm_yarn_container_number_below(3 * epoch, epoch - 9), 3 * epoch - 10);
    for (unsigned i = 0; i < 400; i++) {
        if (i % 100 == 0)
            start = i / 100 * epoch;
        id.number = last = nm_yarn_container_number_below(start, last);
        assert_true(last > 0 && last < NM_MAX(start, epoch) && last >= NM_MAX(start, epoch) - 400);
        (void)nm_yarn_container_id_format(&id, text);
        /* The part of the text without the epoch decreases by one, so that it is never used twice. */
        assert_true(!*before || strcmp(strrchr(text, '_'), strrchr(before, '_')) < 0);
        (void)strcpy(before, text);
    }
}

static void test_invalid_ids_are_refused(void **state)
{
    static const struct {
        const char *text;
        int error;
    } cases[] = {
        {"", -EINVAL},
        {"application_", -EINVAL},
        {"application_1_001", -EINVAL},
        {"application_1_1", -EINVAL},
        {"application_1_00001", -EINVAL},
        {"application_1_0001 ", -EINVAL},
        {"application_1_0001_01", -EINVAL},
        {"application_01_0001", -EINVAL},
        {"application_-1_0001", -EINVAL},
        {"application_+1_0001", -EINVAL},
        {"application_1_2147483648", -ERANGE},
        {"application_9223372036854775808_0001", -ERANGE},
        {"Application_1_0001", -EINVAL},
        {"../application_1_0001", -EINVAL},
        {"appattempt_1_0001", -EINVAL},
    };
    struct nm_yarn_application_id id = {.number = 42};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        if (nm_yarn_application_id_parse(cases[i].text, &id) != cases[i].error)
            fail_msg("%s", cases[i].text);
    assert_int_equal(id.number, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_of_applications_and_attempts_are_formatted),
        cmocka_unit_test(test_ids_of_containers_are_formatted),
        cmocka_unit_test(test_a_negative_container_number_has_the_text_of_a_positive_one),
        cmocka_unit_test(test_container_numbers_count_down_and_no_text_is_used_twice),
        cmocka_unit_test(test_invalid_ids_are_refused),
    };

    return cmocka_run_group_tests_name("yarn-ids", tests, NULL, NULL);
}
