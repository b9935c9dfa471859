/* SPDX-License-Identifier: Apache-2.0 */

/* util/parse.h: one table per parser. Each row has a text and its expected result. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "util/macros.h"
#include "util/parse.h"

#define UNTOUCHED 0xdeadbeefu

struct row {
    const char *text;
    int result;
    uint64_t value; /* this value is valid if the result is 0 */
};

static void check(const struct row *row, int result, uint64_t value)
{
    uint64_t expected = row->result == 0 ? row->value : UNTOUCHED;

    if (result != row->result || value != expected)
        fail_msg("\"%s\": got %d and %ju, expected %d and %ju", row->text, result, (uintmax_t)value,
                 row->result, (uintmax_t)expected);
}

static void test_numbers_are_parsed(void **state)
{
    static const struct row rows[] = {
        {"0", 0, 0},
        {"42", 0, 42},
        {"007", 0, 7},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0},
        {"99999999999999999999999", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"1.0", -EINVAL, 0},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        uint64_t v = UNTOUCHED;
        int r = nm_parse_u64(rows[i].text, &v);
        check(&rows[i], r, v);
    }
}

static void test_digits_are_parsed_up_to_the_next_character(void **state)
{
    static const struct {
        struct row row;
        const char *rest;
    } rows[] = {
        {{"42", 0, 42}, ""},
        {{"42 kB", 0, 42}, " kB"},
        {{"007.5", 0, 7}, ".5"},
        {{"18446744073709551615\n", 0, UINT64_MAX}, "\n"},
        {{"18446744073709551616\n", -ERANGE, 0}, "18446744073709551616\n"},
        {{"", -EINVAL, 0}, ""},
        {{" 1", -EINVAL, 0}, " 1"},
        {{"-1", -EINVAL, 0}, "-1"},
        {{"\xb2", -EINVAL, 0}, "\xb2"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        const char *text = rows[i].row.text;
        uint64_t v = UNTOUCHED;
        int r = nm_parse_digits(&text, &v);

        check(&rows[i].row, r, v);
        assert_string_equal(text, rows[i].rest);
    }
}

static void test_numbers_of_a_given_length_are_parsed(void **state)
{
    uint64_t v = UNTOUCHED;

    (void)state;
    assert_int_equal(nm_parse_sized("8080/", 4, &v), 0);
    assert_int_equal(v, 8080);
    assert_int_equal(nm_parse_sized("8080/", 5, &v), -EINVAL);
    assert_int_equal(nm_parse_sized("8080", 0, &v), -EINVAL);
    assert_int_equal(nm_parse_sized("18446744073709551616", 20, &v), -ERANGE);
    assert_int_equal(v, 8080);
}

static void test_lists_of_numbers_are_parsed(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        uint64_t numbers[3];
    } rows[] = {
        {"1 2 3", 3, {1, 2, 3}},
        {" 1\t2  3\n", 3, {1, 2, 3}},
        {"1 2 3 4 x", 3, {1, 2, 3}},
        {"18446744073709551615 0 1", 3, {UINT64_MAX, 0, 1}},
        {"1 2", 2, {1, 2, UNTOUCHED}},
        {"1 18446744073709551616 3", 1, {1, UNTOUCHED, UNTOUCHED}},
        {"1 -2 3", 1, {1, UNTOUCHED, UNTOUCHED}},
        {"1 2x 3", 1, {1, UNTOUCHED, UNTOUCHED}},
        {"", 0, {UNTOUCHED, UNTOUCHED, UNTOUCHED}},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        uint64_t v[3] = {UNTOUCHED, UNTOUCHED, UNTOUCHED};

        assert_int_equal(nm_parse_numbers(rows[i].text, v, 3), rows[i].n);
        assert_memory_equal(v, rows[i].numbers, sizeof v);
    }
}

static void test_names_of_an_enum_are_found(void **state)
{
    static const char *const names[] = {"red", "green"};
    enum colour { RED, GREEN } c = RED;

    (void)state;
    assert_int_equal(NM_PARSE_NAME(names, "green", &c), 0);
    assert_int_equal(c, GREEN);
    assert_int_equal(NM_PARSE_NAME(names, "Red", &c), -EINVAL);
    assert_int_equal(NM_PARSE_NAME(names, "", &c), -EINVAL);
    assert_int_equal(c, GREEN);
}

static void test_modes_are_parsed(void **state)
{
    static const struct row rows[] = {
        {"755", 0, 0755},
        {"0644", 0, 0644},
        {"01777", 0, 01777},
        {"77777", 0, 077777},
        {"000", 0, 0},
        {"", -EINVAL, 0},
        {"7", -EINVAL, 0},
        {"75", -EINVAL, 0},
        {"000755", -EINVAL, 0},
        {"758", -EINVAL, 0},
        {"0x1ff", -EINVAL, 0},
        {"-755", -EINVAL, 0},
        {" 755", -EINVAL, 0},
        {"755 ", -EINVAL, 0},
        {"u=rwx", -EINVAL, 0},
    };
    uint64_t v = UNTOUCHED;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        int r = nm_parse_mode(rows[i].text, 3, 5, &v);

        check(&rows[i], r, v);
        v = UNTOUCHED;
    }
    assert_int_equal(nm_parse_mode("0", 1, 4, &v), 0);
    assert_int_equal(v, 0);
    assert_int_equal(nm_parse_mode("1755", 1, 4, &v), 0);
    assert_int_equal(v, 01755);
    assert_int_equal(nm_parse_mode("01755", 1, 4, &v), -EINVAL);
    assert_int_equal(v, 01755);
    assert_int_equal(nm_parse_mode("1777777777777777777777", 1, 21, &v), -EINVAL);
    assert_int_equal(nm_parse_mode("777777777777777777777", 1, 21, &v), 0);
    assert_int_equal(v, UINT64_MAX >> 1);
}

static void test_sizes_are_parsed(void **state)
{
    static const struct row rows[] = {
        {"1", 0, 1},
        {"1048576", 0, 1048576},
        {"512M", 0, UINT64_C(512) << 20},
        {"512 MiB", 0, UINT64_C(512) << 20},
        {"512MB", 0, UINT64_C(512) << 20},
        {"1.5G", 0, UINT64_C(1536) << 20},
        {"0.5K", 0, 512},
        {"1B", 0, 1},
        {"2TiB", 0, UINT64_C(2) << 40},
        {"8388607T", 0, UINT64_C(8388607) << 40},
        {"8388608T", -ERANGE, 0}, /* 2^63 */
        {"16777215.9999T", -ERANGE, 0},
        {"16777216T", -ERANGE, 0}, /* 2^64: the multiplication by the unit overflows */
        {"9223372036854775807", 0, INT64_MAX},
        {"9223372036854775808", -ERANGE, 0},
        {"0", -ERANGE, 0},
        {"0.0001K", -ERANGE, 0}, /* the value is less than one byte */
        {"", -EINVAL, 0},
        {"M", -EINVAL, 0},
        {"-1M", -EINVAL, 0},
        {"1m", -EINVAL, 0},
        {"1.M", -EINVAL, 0},
        {".5M", -EINVAL, 0},
        {"1,5M", -EINVAL, 0},
        {"1MM", -EINVAL, 0},
        {"1M ", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
        {"inf", -EINVAL, 0},
        {"nan", -EINVAL, 0},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        uint64_t v = UNTOUCHED;
        int r = nm_parse_size(rows[i].text, &v);
        check(&rows[i], r, v);
    }
}

static void test_durations_are_parsed(void **state)
{
    static const struct row rows[] = {
        {"0", 0, 0},
        {"3", 0, 3000000},
        {"3s", 0, 3000000},
        {"3 sec", 0, 3000000},
        {"250ms", 0, 250000},
        {"500us", 0, 500},
        {"2min", 0, 120000000},
        {"2m", 0, 120000000},
        {"1.5h", 0, UINT64_C(5400) * 1000000},
        {"1d", 0, UINT64_C(86400) * 1000000},
        {"0.000001s", 0, 1},
        {"9223372036854s", 0, UINT64_C(9223372036854) * 1000000},
        {"9223372036855s", -ERANGE, 0},
        /* The whole part alone fits into 64 bits. The sum of the whole part and the fraction doesn't fit. */
        {"213503982.9999d", -ERANGE, 0},
        {"213503983d", -ERANGE, 0},
        {"s", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"-3s", -EINVAL, 0},
        {"3 seconds", -EINVAL, 0},
        {"3s 5ms", -EINVAL, 0},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        uint64_t v = UNTOUCHED;
        int r = nm_parse_duration(rows[i].text, &v);
        check(&rows[i], r, v);
    }
}

static void test_vcores_are_parsed(void **state)
{
    static const struct row rows[] = {
        {"1", 0, 1000},
        {"0.5", 0, 500},
        {"0.001", 0, 1},
        {"2.250", 0, 2250},
        {"1000000", 0, 1000000000},
        {"1000001", -ERANGE, 0},
        {"18446744073709551616", -ERANGE, 0},
        {"0", -ERANGE, 0},
        {"0.000", -ERANGE, 0},
        {"0.0001", -EINVAL, 0},
        {"1.0000000001", -EINVAL, 0},
        {"1.", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"1 vcore", -EINVAL, 0},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        uint32_t v = UNTOUCHED;
        int r = nm_parse_vcores(rows[i].text, &v);
        check(&rows[i], r, v);
    }
}

static void test_booleans_are_parsed(void **state)
{
    static const struct row rows[] = {
        {"yes", 0, 1},
        {"true", 0, 1},
        {"on", 0, 1},
        {"1", 0, 1},
        {"no", 0, 0},
        {"off", 0, 0},
        {"false", 0, 0},
        {"0", 0, 0},
        {"", -EINVAL, 0},
        {"YES", -EINVAL, 0},
        {"2", -EINVAL, 0},
        {"yes ", -EINVAL, 0},
        {"enabled", -EINVAL, 0},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        bool b = true;
        int r = nm_parse_bool(rows[i].text, &b);
        check(&rows[i], r, r == 0 ? b : UNTOUCHED);
    }
}

static void test_fractions_are_parsed(void **state)
{
    static const struct {
        const char *text;
        int result;
        double value;
    } rows[] = {
        {"0", 0, 0},          {"1", 0, 1},
        {"0.8", 0, 0.8},      {"80%", 0, 0.8},
        {"100%", 0, 1},       {"0.5%", 0, 0.005},
        {"1.01", -ERANGE, 0}, {"101%", -ERANGE, 0},
        {"", -EINVAL, 0},     {"%", -EINVAL, 0},
        {"-0.1", -EINVAL, 0}, {"0,8", -EINVAL, 0},
        {"80 %", -EINVAL, 0}, {"80%%", -EINVAL, 0},
        {"nan", -EINVAL, 0},  {"18446744073709551616", -ERANGE, 0},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        double v = -1;
        int r = nm_parse_fraction(rows[i].text, &v);
        if (r != rows[i].result || v != (r == 0 ? rows[i].value : -1))
            fail_msg("\"%s\": got %d and %g", rows[i].text, r, v);
    }
}

static void test_valid_names_are_accepted_and_invalid_ones_refused(void **state)
{
    static const char *const good[] = {
        "a",
        "A-1",
        "job_7.x",
        "_x",
        "0", /* a name of 63 letters: */
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    static const char *const bad[] = {
        "",
        ".",
        "..",
        ".hidden",
        "-rf",
        "a/b",
        "a b",
        "a\n",
        "a\x1b[31m",
        "\xc3\xa9",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(good); i++)
        if (!nm_name_is_valid(good[i]))
            fail_msg("\"%s\" was refused", good[i]);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++)
        if (nm_name_is_valid(bad[i]))
            fail_msg("\"%s\" was accepted", bad[i]);
}

static void test_invalid_names_of_users_are_refused(void **state)
{
    static const char *const good[] = {"a", "alice", "alice@corp.example", "_svc", ".a", "HOST$", "0", "a-b",
                                       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa$"};
    static const char *const bad[] = {"", ".", "..", "$", "@a", "-a", "a$b", "a$$", "a/b", "CORP\\a", "a b", "a,b",
                                      "a:b", "a\n", "a\"", "a`b`", "\xc3\xa9",
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(good); i++)
        if (!nm_user_name_is_valid(good[i]))
            fail_msg("\"%s\" was refused", good[i]);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++)
        if (nm_user_name_is_valid(bad[i]))
            fail_msg("\"%s\" was accepted", bad[i]);
}

static void test_values_are_formatted(void **state)
{
    static const struct {
        uint64_t value;
        const char *text;
    } sizes[] =
        {
            {0, "0 B"},
            {1023, "1023 B"},
            {1024, "1.0 KiB"},
            {1536, "1.5 KiB"},
            {102348, "99.9 KiB"},
            {102349, "100 KiB"}, /* 99.95 KiB */
            {1048063, "1023 KiB"},
            {1048064, "1.0 MiB"}, /* 1023.5 KiB */
            {UINT64_C(200) << 20, "200 MiB"},
            {UINT64_C(5) << 40, "5.0 TiB"},
        },
      durations[] = {
          {0, "0us"},          {999, "999us"},
          {250000, "250ms"},   {3000000, "3s"},
          {1500000, "1.5s"},   {59000000, "59s"},
          {1049999, "1s"},     {1050000, "1.1s"},
          {1949999, "1.9s"},   {1950000, "2s"},
          {59949999, "59.9s"}, {59950000, "1m00s"},
          {60999999, "1m00s"},
          {61000000, "1m01s"}, {UINT64_C(3660) * 1000000, "1h01m"},
      };
    char buf[32];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(sizes); i++)
        assert_string_equal(nm_format_size(sizes[i].value, buf, sizeof buf), sizes[i].text);
    for (size_t i = 0; i < NM_ARRAY_SIZE(durations); i++)
        assert_string_equal(nm_format_duration(durations[i].value, buf, sizeof buf),
                            durations[i].text);
    assert_string_equal(nm_format_size_down(UINT64_C(1073741823), buf, sizeof buf), "1023 MiB");
    assert_string_equal(nm_format_size_down(UINT64_C(8106127359), buf, sizeof buf), "7.5 GiB"); /* 7.549... */
    /* one byte less than 7.6 units */
    assert_string_equal(nm_format_size_down(UINT64_C(8160437862), buf, sizeof buf), "7.5 GiB");
    assert_string_equal(nm_format_size_down(1023, buf, sizeof buf), "1023 B");
    assert_string_equal(nm_format_size_down(1048575, buf, sizeof buf), "1023 KiB");
    assert_string_equal(nm_format_size_down(102399, buf, sizeof buf), "99.9 KiB");
    assert_string_equal(nm_format_size(UINT64_MAX, buf, 4), "167"); /* the text is cut at the end of the buffer */
}

static void test_percentages_are_formatted(void **state)
{
    static const struct {
        double fraction, beside;
        const char *text;
    } cases[] = {
        {0.95, -1, "95 %"},      {0.8125, -1, "81.2 %"},   {1.69, 0.95, "169 %"},  {0.952, 0.95, "95.2 %"},
        {0.9504, 0.95, "95.04 %"}, {0.95004, 0.95, "95.004 %"}, {0.95, 0.95, "95 %"}, {0, -1, "0 %"},
    };
    char buf[32];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        assert_string_equal(nm_format_percent(cases[i].fraction, cases[i].beside, buf, sizeof buf), cases[i].text);
    assert_string_equal(nm_plural(1), "");
    assert_string_equal(nm_plural(0), "s");
    assert_string_equal(nm_plural(1.001), "s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_parsed),
        cmocka_unit_test(test_digits_are_parsed_up_to_the_next_character),
        cmocka_unit_test(test_numbers_of_a_given_length_are_parsed),
        cmocka_unit_test(test_lists_of_numbers_are_parsed),
        cmocka_unit_test(test_names_of_an_enum_are_found),
        cmocka_unit_test(test_modes_are_parsed),
        cmocka_unit_test(test_sizes_are_parsed),
        cmocka_unit_test(test_durations_are_parsed), cmocka_unit_test(test_vcores_are_parsed),
        cmocka_unit_test(test_booleans_are_parsed),
        cmocka_unit_test(test_fractions_are_parsed),
        cmocka_unit_test(test_valid_names_are_accepted_and_invalid_ones_refused),
        cmocka_unit_test(test_invalid_names_of_users_are_refused),
        cmocka_unit_test(test_values_are_formatted),
        cmocka_unit_test(test_percentages_are_formatted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
