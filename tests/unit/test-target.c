/* SPDX-License-Identifier: Apache-2.0 */

/* Paths and queries of HTTP requests. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rpc/local/routes.h"

/* Writes the parts of a request target as one string: "a|b?x=1&y=". */
static void show(const struct nm_target *t, char *buf, size_t size)
{
    size_t n = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < t->n_segments; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", i > 0 ? "|" : "", t->segments[i]);
    for (unsigned i = 0; i < t->n_query; i++)
        n += (size_t)snprintf(buf + n, size - n, "%c%s=%s", i > 0 ? '&' : '?', t->query[i].name,
                              t->query[i].value);
}

static void test_valid_request_targets_are_parsed(void **state)
{
    static const struct {
        const char *raw, *shown;
    } cases[] = {
        {"/", ""},
        {"/v1/status", "v1|status"},
        {"/v1/status?", "v1|status"},
        {"/v1/containers/?all=true", "v1|containers|?all=true"},
        {"/v1/c/a%2fb", "v1|c|a/b"},
        {"/a%3Fb%26c?x%3d=%26", "a?b&c?x==&"},
        {"/a?x&y=&z=1=2", "a?x=&y=&z=1=2"},
        {"/a?&&x=1", "a?x=1"},
        {"/%41%7a", "Az"},
        {"/a+b?q=a+b", "a+b?q=a+b"},
        {"/%C3%A4", "\xc3\xa4"},
        {"//", "|"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_target t;
        struct nm_problem p;
        char shown[256];
        assert_int_equal(nm_target_parse(cases[i].raw, &t, &p), 0);
        show(&t, shown, sizeof shown);
        assert_string_equal(shown, cases[i].shown);
        nm_target_done(&t);
    }
}

static void test_invalid_request_targets_are_refused(void **state)
{
    static const struct {
        const char *raw, *message;
    } cases[] = {
        {"", "The path must begin with '/'."},
        {"v1", "The path must begin with '/'."},
        {"http://x/v1", "The path must begin with '/'."},
        {"*", "The path must begin with '/'."},
        {"/%", "The path has an invalid %-escape or a control character."},
        {"/%4", "The path has an invalid %-escape or a control character."},
        {"/%zz", "The path has an invalid %-escape or a control character."},
        {"/a%00b", "The path has an invalid %-escape or a control character."},
        {"/a\nb", "The path has an invalid %-escape or a control character."},
        {"/a?x=%0A", "The path has an invalid %-escape or a control character."},
        {"/a?%7f=1", "The path has an invalid %-escape or a control character."},
        {"/a?x=%1", "The path has an invalid %-escape or a control character."},
        {"/a?x=1&x=2", "The query parameter x is given twice."},
        {"/1/2/3/4/5/6/7/8/9",
         "The path has more than 8 parts or the query more than 8 parameters."},
        {"/?a&b&c&d&e&f&g&h&i",
         "The path has more than 8 parts or the query more than 8 parameters."},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_target t;
        struct nm_problem p;
        assert_int_equal(nm_target_parse(cases[i].raw, &t, &p), NM_AGENT_E_INVALID);
        assert_string_equal(p.message, cases[i].message);
    }
}

/* The name of a file may have control characters. The caller checks whether the route has a file. */
static void test_escaped_control_characters_are_reported(void **state)
{
    struct nm_target t;
    struct nm_problem p;

    (void)state;
    assert_int_equal(nm_target_parse("/a%0Ab?x=1", &t, &p), 0);
    assert_true(t.has_control);
    assert_string_equal(t.segments[0], "a\nb");
    assert_string_equal(t.path, "/a%0Ab");
    assert_string_equal(t.raw_query, "x=1");
    nm_target_done(&t);
    assert_int_equal(nm_target_parse("/a%20b?", &t, &p), 0);
    assert_false(t.has_control);
    assert_string_equal(t.raw_query, "");
    nm_target_done(&t);
}

static void test_words_of_a_route_are_found(void **state)
{
    static const struct nm_route routes[] = {
        {"GET", "/a/{id}", 0, "", NULL},
        {"GET", "/a/{id}/{user}", NM_ROUTE_UPSTREAM, "", NULL},
        {"GET", "/a/{id}/{user}/{file}", NM_ROUTE_UPSTREAM | NM_ROUTE_FILE, "", NULL},
    };
    static const struct {
        const char *raw, *id, *user, *file; /* id NULL: there is no such path */
    } cases[] = {
        {"/a/1", "1", NULL, NULL},      {"/a/1/", NULL, NULL, NULL},       {"/a/1/u", "1", "u", NULL},
        {"/a/1/u/", "1", "u", NULL},    {"/a/1/u/f", "1", "u", "f"},       {"/a/1/u/f%2Fg/", "1", "u", "f/g"},
        {"/a/1//f", NULL, NULL, NULL},  {"/a/1/u//", NULL, NULL, NULL},    {"/a/1/u/f/g", NULL, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_route_words words = {};
        const struct nm_route *found;
        struct nm_target t;
        struct nm_problem p;
        char allow[64];
        int r;

        assert_int_equal(nm_target_parse(cases[i].raw, &t, &p), 0);
        r = nm_routes_find(routes, NM_ARRAY_SIZE(routes), "GET", &t, &found, &words, allow, sizeof allow);
        assert_int_equal(r, cases[i].id ? 0 : NM_ROUTES_E_NO_PATH);
        if (r == 0) {
            assert_string_equal(words.id, cases[i].id);
            assert_string_equal(words.user ?: "", cases[i].user ?: "");
            assert_string_equal(words.file ?: "", cases[i].file ?: "");
        }
        nm_target_done(&t);
    }
}

static void test_a_request_target_that_is_too_long_is_refused(void **state)
{
    char raw[NM_TARGET_MAX + 2];
    struct nm_target t;
    struct nm_problem p;

    (void)state;
    memset(raw, 'a', sizeof raw);
    raw[0] = '/';
    raw[NM_TARGET_MAX] = '\0';
    assert_int_equal(nm_target_parse(raw, &t, &p), 0);
    nm_target_done(&t);
    raw[NM_TARGET_MAX] = 'a';
    raw[NM_TARGET_MAX + 1] = '\0';
    assert_int_equal(nm_target_parse(raw, &t, &p), NM_AGENT_E_INVALID);
    assert_string_equal(p.message,
                        "The path with its query is 2001 bytes long; at most 2000 are allowed.");
}

static void test_queries_are_parsed(void **state)
{
    struct nm_target t;
    struct nm_problem p;

    (void)state;
    assert_int_equal(nm_target_parse("/v1/events?follow=true&after=7", &t, &p), 0);
    assert_string_equal(nm_target_query(&t, "follow"), "true");
    assert_string_equal(nm_target_query(&t, "after"), "7");
    assert_null(nm_target_query(&t, "aft"));
    nm_target_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_request_targets_are_parsed),
        cmocka_unit_test(test_invalid_request_targets_are_refused),
        cmocka_unit_test(test_escaped_control_characters_are_reported),
        cmocka_unit_test(test_words_of_a_route_are_found),
        cmocka_unit_test(test_a_request_target_that_is_too_long_is_refused),
        cmocka_unit_test(test_queries_are_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
