/* SPDX-License-Identifier: Apache-2.0 */

/* nm_json_text() returns the whole text, or NULL if memory runs out. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fail-nth.h"
#include "util/json-text.h"
#include "util/macros.h"

/* A buffer that doubles must grow for a name, for a value and for punctuation. */
#define LONG_NAME "a name that is longer than the first buffer of jansson"

struct expected {
    size_t flags;
    const char *value, *text;
};

static const struct expected all[] = {
    {JSON_COMPACT, "{}", "{}"},
    {JSON_COMPACT, "[]", "[]"},
    {JSON_COMPACT, "{\"" LONG_NAME "\": 1, \"b\": {\"" LONG_NAME "\": [true, null]}}",
     "{\"" LONG_NAME "\":1,\"b\":{\"" LONG_NAME "\":[true,null]}}"},
    {JSON_INDENT(1) | JSON_SORT_KEYS, "{\"b\": 1, \"a\": [\"c\"]}", "{\n \"a\": [\n  \"c\"\n ],\n \"b\": 1\n}"},
    {JSON_COMPACT | JSON_REAL_PRECISION(12), "[0.1]", "[0.1]"},
    {0, "[\"\\u0000\", \"\\n\"]", "[\"\\u0000\", \"\\n\"]"},
    {JSON_ENCODE_ANY, "\"" LONG_NAME "\"", "\"" LONG_NAME "\""},
};

struct attempt {
    const struct expected *expected;
    const json_t *value;
};

/* Compares the text, if there is one, even if an allocation has failed. */
static int try_text(void *userdata)
{
    const struct attempt *a = userdata;
    _cleanup_free_ char *text = nm_json_text(a->value, a->expected->flags);

    if (!text)
        return -ENOMEM;
    assert_string_equal(text, a->expected->text);
    return 0;
}

static void test_the_text_is_whole_or_there_is_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        json_t *value = json_loads(all[i].value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

        assert_non_null(value);
        assert_true(fail_each(try_text, &(struct attempt){&all[i], value}) > 0);
        json_decref(value);
    }
}

/* Texts around the size of the first buffer, in one piece and in many. */
static void test_long_texts(void **state)
{
    (void)state;
    for (size_t n = 4080; n <= 4110; n++) {
        char expected[4200] = "[\"";
        json_t *value = json_array();

        memset(expected + 2, 'x', n);
        memcpy(expected + 2 + n, "\",[],[],[]]", sizeof "\",[],[],[]]");
        assert_int_equal(json_array_append_new(value, json_stringn(expected + 2, n)), 0);
        for (int i = 0; i < 3; i++)
            assert_int_equal(json_array_append_new(value, json_array()), 0);
        const struct expected e = {JSON_COMPACT, NULL, expected};
        assert_true(fail_each(try_text, &(struct attempt){&e, value}) > 0);
        json_decref(value);
    }
}

static void test_a_value_that_could_not_be_made_has_no_text(void **state)
{
    (void)state;
    assert_null(nm_json_text(NULL, JSON_COMPACT));
    assert_null(nm_json_text(NULL, JSON_ENCODE_ANY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_text_is_whole_or_there_is_none),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_a_value_that_could_not_be_made_has_no_text),
    };

    json_set_alloc_funcs(malloc, free); /* these allocation functions of the test fail */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
