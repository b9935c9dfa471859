/* SPDX-License-Identifier: Apache-2.0 */

/* localize/pattern/pattern.h: regular expressions match as in java.util.regex, or are refused with a reason. The
 * expected results are those of java.util.regex (40-hdfs compares them with Java). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "localize/pattern/pattern.h"
#include "util/macros.h"

/* Names, separated by blanks. Java matches the first n names. */
struct row {
    const char *pattern, *names;
    unsigned n;
};

static const struct row rows[] = {
    {"(?:classes/|lib/).*", "lib/a.jar classes/ xlib/a.jar META-INF/lib/", 2},
    {"lib/.*", "lib/\xff\xfe lib/\xc3\xbc lib", 2},
    {"lib/", "lib/ lib/\xff", 1},
    {"[a-z&&[^b]]", "a z b A", 2},
    {"[a-z&&[^b]&&[^c]]+", "ad zz b c abd", 2},
    {"[a-z&&bcd]", "b c a ", 2},
    {"[a-c[x-z]]*", "abcxyz b m", 2},
    {"[0-9[a-f]&&[^5]]", "4 a 5 g", 2},
    {"[\\w&&[^\\d_]]", "a Z 1 _ \xc3\xbc", 2},
    {"[\\p{Alpha}&&[^\\p{Upper}]]", "a z Z 1", 2},
    {"[]a]", "] a b", 2},
    {"[^]a]", "b ] a", 1},
    {"[a&b]", "& a c", 2},
    {"[\\w-.]+", "a-b. x a,b", 2},
    {"[a-]", "- a b", 2},
    {"[\\]\\[^]", "] [ ^ a", 3},
    {"[\\Qa-c]\\E]", "- ] a c b", 4},
    {"\\Qa.b*\\E", "a.b* axb", 1},
    {"a\\Qb\\E*c", "ac abbc bc", 2},
    {"(?i)lib-[a-f]k", "LIB-CK lib-ck lib-gk lib-c\xe2\x84\xaa", 2},
    {"(?i:\xc3\xbc)X", "\xc3\xbcX \xc3\x9cX \xc3\xbcx", 1},
    {"(?i)[^a]", "b A a", 1},
    {"a(?i:b)c", "aBc abc abC", 2},
    {"a(?i)b|c", "aB C A", 2},
    {"(?-i)a", "a A", 1},
    {"\\x41\\u0042\\x{43}\\0104\\cE", "ABCD\x05 abcde", 1},
    {"\\uD83D\\uDE00", "\xf0\x9f\x98\x80 x", 1},
    {".", "\xf0\x9f\x98\x80 a ab \xc2\x85 \xe2\x80\xa8", 2},
    {"(?s).", "\xc2\x85 \xe2\x80\xa8 ab", 2},
    {"\\d+\\.\\d+", "1.0 \xd9\xa1.0", 1},
    {"\\p{Lu}\\p{Ll}*", "Abc \xc3\x9c abc", 2},
    {"\\p{L}+\\P{L}", "a1 \xc3\xbc- ab", 2},
    {"\\pL", "a 1", 1},
    {"\\p{Punct}", "! ~ a \xc2\xa7", 2},
    {"\\P{Punct}", "a \xc2\xa7 ! ~", 2},
    {"^lib/.*$", "lib/x xlib/x", 1},
    {"a{2,3}?b++", "aab aaabb ab", 2},
    {"(a|b)\\1", "aa bb ab", 2},
    {"(?<x>a)(?=b)b(?!c).", "abd abc", 1},
    {"(?>a*)ab", "ab aab", 0},
    {"(?<=^)x|(?<!a)y", "x y xy", 2},
    {"\\bx\\b", "x xx", 1},
    {"a|", "a b", 1},
    {"a}]", "a}] a", 1},
    {"(?:)", "a", 0},
};

static void test_patterns_match_as_in_java(void **state)
{
    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        _cleanup_(nm_pattern_freep) struct nm_pattern *p = NULL;
        _cleanup_free_ char *message = NULL, *names = strdup(rows[i].names);
        unsigned n = 0;

        if (nm_pattern_new(rows[i].pattern, &p, &message) != 0)
            fail_msg("%s", message);
        for (char *rest = names, *name; (name = strsep(&rest, " ")) && *name; n++)
            if (nm_pattern_match(p, name) != (n < rows[i].n))
                fail_msg("%s and %s", rows[i].pattern, name);
    }
}

static void test_invalid_patterns_are_refused(void **state)
{
    static const char *const bad[] = {
        "(", ")", "a)", "(?", "(?<1>a)", "(?P<a>b)", "(?'a'b)", "(?|a|b)", "(?#c)", "(?R)", "(?1)", "(*FAIL)",
        "(?x)a b", "(?m)^a", "(?u)a", "(?d).", "(?U)a", "*a", "a**", "a{2}{3}", "a{,2}", "a{", "{1}", "^*", "(?=a)*",
        "\\b+", "\\", "\\E", "\\K", "\\C", "\\R", "\\X", "\\N", "\\N{DIGIT ONE}", "\\y", "\\k<a>", "\\1", "(a\\1)",
        "(a)\\11", "(?i)(a)\\1", "\\p{IsLatin}", "\\p{InGreek}", "\\p{javaLowerCase}", "\\p{Foo}", "\\p{L", "\\p",
        "(?i)\\p{Lu}", "(?i)\\p{Lower}", "\\x4", "\\x{}", "\\x{110000}", "\\x{D800}", "\\uD800", "\\uD83Dx", "\\0",
        "\\08", "\\c", "[", "[]", "[a", "[^a&&b]", "[^a[b]]", "[a&&]", "[&&a]", "[a&&&b]", "[a&&[b]c]", "[b-a]",
        "[a-\\d]", "[a-[b]]", "[\\v-x]", "[\\b]", "[[[[[[[[[[a]]]]]]]]]]", "(?<=a*)b", "\\b{g}", "a{70000}",
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        _cleanup_(nm_pattern_freep) struct nm_pattern *p = NULL;
        _cleanup_free_ char *message = NULL;

        if (nm_pattern_new(bad[i], &p, &message) != -EINVAL)
            fail_msg("%s was accepted", bad[i]);
        if (!message || !strstr(message, bad[i]) || !strstr(message, "can't use the pattern '"))
            fail_msg("%s: %s", bad[i], message);
        assert_null(p);
    }
}

/* Each match has a time limit. A match that exceeds the limit is an error, not a result. */
static void test_a_pattern_that_exceeds_the_time_limit_is_an_error(void **state)
{
    _cleanup_(nm_pattern_freep) struct nm_pattern *slow = NULL, *word = NULL;

    (void)state;
    assert_int_equal(nm_pattern_new("(a+)+[xy]", &slow, NULL), 0);
    assert_int_equal(nm_pattern_match(slow, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), -ETIMEDOUT);
    assert_int_equal(nm_pattern_new("lib\\b.*", &word, NULL), 0);
    assert_int_equal(nm_pattern_match(word, "lib\xc3\xbc"), -EILSEQ);
}

static void test_a_pattern_that_is_too_long_is_refused(void **state)
{
    char deep[300] = "", longer[5000] = "";
    struct nm_pattern *p = NULL;
    _cleanup_free_ char *first = NULL, *second = NULL;

    (void)state;
    (void)memset(deep, '(', 100);
    (void)memset(deep + 100, ')', 100);
    (void)memset(longer, 'a', sizeof longer - 1);
    assert_int_equal(nm_pattern_new(deep, &p, &first), -EINVAL);
    assert_non_null(strstr(first, "nested too deeply"));
    assert_int_equal(nm_pattern_new(longer, &p, &second), -EINVAL);
    assert_non_null(strstr(second, "longer than"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns_match_as_in_java),
        cmocka_unit_test(test_invalid_patterns_are_refused),
        cmocka_unit_test(test_a_pattern_that_exceeds_the_time_limit_is_an_error),
        cmocka_unit_test(test_a_pattern_that_is_too_long_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
