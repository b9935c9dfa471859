/* SPDX-License-Identifier: Apache-2.0 */

/* Valid UTF-8, according to the table in the Unicode standard. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/macros.h"
#include "util/utf8.h"

static void test_the_number_of_bytes_of_a_character_is_found(void **state)
{
    static const struct {
        const char *text;
        size_t size;
    } texts[] = {
        {"a", 1}, {"\x7f", 1}, {"\xc2\x80", 2}, {"\xdf\xbf", 2}, {"\xe0\xa0\x80", 3}, {"\xed\x9f\xbf", 3},
        {"\xee\x80\x80", 3}, {"\xf0\x90\x80\x80", 4}, {"\xf4\x8f\xbf\xbf", 4},
        /* Invalid: a lone continuation byte, overlong encodings, surrogates, code points beyond the last one, truncated
         * characters. */
        {"\x80", 0}, {"\xc0\xaf", 0}, {"\xc1\xbf", 0}, {"\xe0\x9f\xbf", 0}, {"\xed\xa0\x80", 0},
        {"\xf0\x8f\xbf\xbf", 0}, {"\xf4\x90\x80\x80", 0}, {"\xf5\x80\x80\x80", 0}, {"\xff", 0},
        {"\xc3", 0}, {"\xe2\x82", 0}, {"\xf0\x9f\x98", 0}, {"\xc3(", 0},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(texts); i++)
        assert_int_equal(nm_utf8_size(texts[i].text), texts[i].size);
}

static void test_a_prefix_ends_between_two_characters(void **state)
{
    (void)state;
    assert_int_equal(nm_utf8_prefix(""), 0);
    assert_int_equal(nm_utf8_prefix("abc"), 3);
    assert_int_equal(nm_utf8_prefix("a\xc3\xa9"), 3);
    assert_int_equal(nm_utf8_prefix("a\xc3\xa9\xc3"), 3);
    assert_int_equal(nm_utf8_prefix("a\xe2\x82"), 1);
    assert_int_equal(nm_utf8_prefix("\xff" "abc"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_number_of_bytes_of_a_character_is_found),
        cmocka_unit_test(test_a_prefix_ends_between_two_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
