/* SPDX-License-Identifier: Apache-2.0 */

/* The predicted size of a JSON text in memory, compared with the memory that the parser uses. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>

#include "rpc/local/json-scan.h"
#include "tests/unit/counted-memory.h"
#include "util/macros.h"

static size_t parse(const char *text, size_t len)
{
    held = peak = 0;
    json_set_alloc_funcs(counted, uncounted);
    json_decref(json_loadb(text, len, JSON_DECODE_ANY, NULL));
    json_set_alloc_funcs(malloc, free);
    assert_int_equal(held, 0);
    return peak;
}

/* Returns `begin`, n times `piece`, and `end`. A '#' in `piece` is replaced by the number of the repetition. */
static char *repeat(const char *begin, const char *piece, const char *end, unsigned n)
{
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    fputs(begin, f);
    for (unsigned i = 0; i < n; i++)
        for (const char *s = piece; *s; s++)
            *s == '#' ? (void)fprintf(f, "%u", i) : (void)fputc(*s, f);
    fputs(end, f);
    (void)fclose(f);
    return text;
}

static void test_the_values_of_a_json_text_are_counted(void **state)
{
    static const struct {
        const char *text;
        size_t n_values, n_containers, depth;
    } cases[] = {
        {"", 0, 0, 0},
        {" \t\r\n", 0, 0, 0},
        {"1", 1, 0, 0},
        {"-1.5e+3", 1, 0, 0},
        {"\"a\"", 1, 0, 0},
        {"[]", 1, 1, 1},
        {"[[],[[]]]", 4, 4, 3},
        {"{\"a\":[1,true,null,\"x\"]}", 7, 2, 2},
        {"\"[[[{{{\"", 1, 0, 0},
        {"[\"\\\"[\",\"\\\\\",[]]", 4, 2, 2},
        {"[\"open", 2, 1, 1},
        {"\"open\\", 1, 0, 0},
        {"]]]][", 1, 1, 1},
        {"[[[[[[", 6, 6, 6},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_json_size s = nm_json_scan(cases[i].text, strlen(cases[i].text));
        assert_int_equal(s.n_values, cases[i].n_values);
        assert_int_equal(s.n_containers, cases[i].n_containers);
        assert_int_equal(s.depth, cases[i].depth);
    }
    assert_int_equal(nm_json_scan("\0", 1).n_values, 0);
    assert_int_equal(nm_json_scan(NULL, 0).n_values, 0);
}

/* The predicted size is never smaller than the memory that is used, and at most a few times as large. */
static void test_the_predicted_memory_of_a_json_text_is_never_too_small(void **state)
{
    static const struct {
        const char *begin, *piece, *end;
    } shapes[] = {
        {"[", "[],", "1]"},
        {"[", "{},", "1]"},
        {"[", "\"\",", "1]"},
        {"[", "\"some words in here, for a change\",", "1]"},
        {"[", "1,", "1]"},
        {"[", "1.5,", "1]"},
        {"[", "true,", "null]"},
        {"{", "\"#\":\"\",", "\"x\":1}"},
        {"{", "\"#\":{},", "\"x\":1}"},
        {"{", "\"a name that is longer #\":1,", "\"x\":1}"},
        {"\"", "0123456789abcdef", "\""},
        {"[\"", "\\u0041", "\"]"},
    };
    static const unsigned numbers[] = {0, 1, 7, 9, 100, 1025, 20000};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(shapes); i++)
        for (size_t k = 0; k < NM_ARRAY_SIZE(numbers); k++) {
            _cleanup_free_ char *text =
                repeat(shapes[i].begin, shapes[i].piece, shapes[i].end, numbers[k]);
            size_t printed = nm_json_scan(text, strlen(text)).tree_bytes,
                   taken = parse(text, strlen(text));
            if (nm_json_scan(text, strlen(text)).n_containers > NM_JSON_CONTAINERS_MAX)
                continue; /* the scan stopped before the end of the text */
            if (printed + 512 < taken || printed > 6 * taken + 512)
                fail_msg("%u times %s: %zu bytes are predicted, %zu are used", numbers[k],
                         shapes[i].piece, printed, taken);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_values_of_a_json_text_are_counted),
        cmocka_unit_test(test_the_predicted_memory_of_a_json_text_is_never_too_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
