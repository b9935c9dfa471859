/* SPDX-License-Identifier: Apache-2.0 */

/* Bodies of requests: which bodies are accepted, and the exact error messages for all other bodies. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rpc/local/client/request-body.h"
#include "rpc/local/json-make.h"
#include "rpc/local/messages.h"

typedef int (*parser_t)(json_t *body, struct nm_problem *p);

static int as_submit(json_t *body, struct nm_problem *p)
{
    _cleanup_(nm_messages_submit_done) struct nm_messages_submit s = {};

    return nm_messages_parse_submit(body, &s, p);
}

static int as_update(json_t *body, struct nm_problem *p)
{
    struct nm_messages_update u;

    return nm_messages_parse_update(body, &u, p);
}

static int as_kill(json_t *body, struct nm_problem *p)
{
    struct nm_messages_kill k;

    return nm_messages_parse_kill(body, &k, p);
}

static int as_drain(json_t *body, struct nm_problem *p)
{
    struct nm_drain_order d;

    return nm_messages_parse_drain(body, &d, p);
}

static int parse(parser_t parser, const char *text, struct nm_problem *p)
{
    json_t *body = NULL;
    size_t tree_bytes;
    int r = nm_messages_measure_body(text, strlen(text), &tree_bytes, p);

    if (r == 0)
        r = nm_messages_parse_body(text, strlen(text), &body, p);
    if (r == 0)
        r = parser(body, p);
    json_decref(body);
    return r;
}

#define FRACTION "a number of vcores from 0.001 to 1000000 with at most three decimals"
#define BYTES "a whole number of bytes from 1 to 9223372036854775807"
#define USEC "a whole number of microseconds from 0 to 9223372036854775807"
#define WITH(member) "{\"command\":[\"true\"]," member "}"

static const struct {
    parser_t parser;
    const char *body, *thing, *value, *message;
} bad[] = {
    {as_submit, "{", "body", "{",
     "The body is not valid JSON: line 1, column 1: string or '}' expected near end of file."},
    {as_submit, "{\n \"command\": [\"a\",]\n}", "body", "{? \"command\": [\"a\",]",
     "The body is not valid JSON: line 2, column 18: unexpected token near ']'."},
    {as_submit, "{\"name\":\"a\",\"name\":\"b\"}", "body", NULL,
     "The body is not valid JSON: line 1, column 18: duplicate object key near '\"name\"'."},
    {as_submit, "{\"memory_bytes\":99999999999999999999}", "memory_bytes", "99999999999999999999",
     "memory_bytes must be " BYTES ", not 99999999999999999999."},
    {as_submit, "{\"vcores\" : -1e999 }", "vcores", "-1e999",
     "vcores must be " FRACTION ", not -1e999."},
    {as_drain, "{\"deadline_usec\":1e999}", "deadline_usec", "1e999",
     "deadline_usec must be " USEC ", not 1e999."},
    {as_submit, "{\"command\":[1e999]}", "body", "1e999",
     "A number must be at most 9223372036854775807 if it is whole, not 1e999."},
    {as_submit, "99999999999999999999", "body", "99999999999999999999", NULL},
    {as_submit, "{\"name\":\"a\\u0000b\"}", "body", "{\"name\":\"a\\u0000b\"",
     "The body has a NUL character at line 1, column 18; a string must not contain \\u0000."},
    {as_submit, "{} {}", "body", NULL,
     "The body is not valid JSON: line 1, column 4: end of file expected near '{'."},
    {as_submit, "[1]", "body", "[1]", "body must be a JSON object, not [1]."},
    {as_submit, "\"x\"", "body", "x", "body must be a JSON object, not \"x\"."},
    {as_submit, "{}", "command", "",
     "command is missing; it must be an array of one or more strings, the program first."},
    {as_submit, "{\"command\":[]}", "command", "[]",
     "command must be an array of one or more strings, the program first, not []."},
    {as_submit, "{\"command\":\"ls\"}", "command", "ls",
     "command must be an array of one or more strings, the program first, not \"ls\"."},
    {as_submit, "{\"command\":[\"ls\",7]}", "command[1]", "7",
     "command[1] must be a string, not 7."},
    {as_submit, "{\"command\":[\"\"]}", "command[0]", "",
     "command[0] must be the name or path of a program, not \"\"."},
    {as_submit, WITH("\"memory\":1"), "body", "memory",
     "Unknown member \"memory\"; this request allows command, execution_type, name, "
     "app, memory_bytes, "
     "vcores, env, workdir, user, min_runtime_usec, expected_usec, replace, exempt, allow_new_privs, rows, columns."},
    {as_submit, WITH("\"rows\":24"), "rows", "", "Give both rows and columns, or neither of them."},
    {as_submit, WITH("\"rows\":0,\"columns\":80"), "rows", "0", "rows must be a whole number from 1 to 65535, not 0."},
    {as_submit, WITH("\"rows\":24,\"columns\":65536"), "columns", "65536",
     "columns must be a whole number from 1 to 65535, not 65536."},
    {as_submit, WITH("\"memory_bytes\":0"), "memory_bytes", "0",
     "memory_bytes must be " BYTES ", not 0."},
    {as_submit, WITH("\"memory_bytes\":-5"), "memory_bytes", "-5",
     "memory_bytes must be " BYTES ", not -5."},
    {as_submit, WITH("\"memory_bytes\":1.5"), "memory_bytes", "1.5",
     "memory_bytes must be " BYTES ", not 1.5."},
    {as_submit, WITH("\"memory_bytes\":\"1G\""), "memory_bytes", "1G",
     "memory_bytes must be " BYTES ", not \"1G\"."},
    {as_submit, WITH("\"memory_bytes\":null"), "memory_bytes", "null",
     "memory_bytes must be " BYTES ", not null."},
    {as_submit, WITH("\"vcores\":0"), "vcores", "0", "vcores must be " FRACTION ", not 0."},
    {as_submit, WITH("\"vcores\":-1"), "vcores", "-1", "vcores must be " FRACTION ", not -1."},
    {as_submit, WITH("\"vcores\":0.0005"), "vcores", "0.0005",
     "vcores must be " FRACTION ", not 0.0005."},
    {as_submit, WITH("\"vcores\":1.2345"), "vcores", "1.2345",
     "vcores must be " FRACTION ", not 1.2345."},
    {as_submit, WITH("\"vcores\":1e300"), "vcores", "1e300",
     "vcores must be " FRACTION ", not 1e300."},
    {as_submit, WITH("\"vcores\":true"), "vcores", "true",
     "vcores must be " FRACTION ", not true."},
    {as_submit, WITH("\"execution_type\":\"BOTH\""), "execution_type", "BOTH",
     "execution_type must be \"GUARANTEED\" or \"OPPORTUNISTIC\", not \"BOTH\"."},
    {as_submit, WITH("\"name\":5"), "name", "5", "name must be a string, not 5."},
    {as_submit, WITH("\"env\":[\"A=1\"]"), "env", "[\"A=1\"]",
     "env must be an object of strings: {\"NAME\": \"value\"}, not [\"A=1\"]."},
    {as_submit, WITH("\"env\":{\"A\":1}"), "env.A", "1", "env.A must be a string, not 1."},
    {as_submit, WITH("\"env\":{\"A=B\":\"1\"}"), "env", "A=B",
     "A variable's name must not be empty and must not contain '=', as 'A=B' does."},
    {as_submit, WITH("\"env\":{\"\":\"1\"}"), "env", "",
     "A variable's name must not be empty and must not contain '=', as '' does."},
    {as_submit, WITH("\"min_runtime_usec\":-1"), "min_runtime_usec", "-1",
     "min_runtime_usec must be " USEC ", not -1."},
    {as_submit, WITH("\"exempt\":\"yes\""), "exempt", "yes",
     "exempt must be true or false, not \"yes\"."},
    {as_submit, WITH("\"\\u001b[31m\":1"), "body", "?[31m", NULL},
    {as_update, "{}", "body", "", "There is nothing to change: give memory_bytes, vcores or both."},
    {as_update, "{\"name\":\"x\"}", "body", "name",
     "Unknown member \"name\"; this request allows memory_bytes, vcores."},
    {as_kill, "{\"now\":1}", "now", "1", "now must be true or false, not 1."},
    {as_kill, "{\"signal\":9}", "body", "signal",
     "Unknown member \"signal\"; this request allows now."},
    {as_drain, "{\"deadline_usec\":-1}", "deadline_usec", "-1",
     "deadline_usec must be " USEC ", not -1."},
    {nm_messages_parse_empty, "{\"now\":true}", "body", "now",
     "This request takes no members, but has \"now\"."},
};

static void test_invalid_bodies_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        struct nm_problem p = {};
        int r = parse(bad[i].parser, bad[i].body, &p);
        if (r != NM_AGENT_E_INVALID)
            fail_msg("accepted, or refused with another error (%d): %s", r, bad[i].body);
        assert_int_equal(p.outcome, NM_AGENT_E_INVALID);
        assert_string_equal(p.thing, bad[i].thing);
        if (bad[i].value)
            assert_string_equal(p.value, bad[i].value);
        if (bad[i].message)
            assert_string_equal(p.message, bad[i].message);
        assert_true(p.message[0] != '\0');
    }
}

static void test_a_long_value_is_shortened_in_the_error(void **state)
{
    char body[2000] = "{\"command\":[\"true\"],\"name\":[\"";
    struct nm_problem p = {};

    (void)state;
    /* Each character has two bytes. The text must not be cut between the two bytes of a character. */
    for (int i = 0; i < 300; i++)
        strcat(body, "\xc3\xa4");
    strcat(body, "\"]}");
    assert_int_equal(parse(as_submit, body, &p), NM_AGENT_E_INVALID);
    assert_true(strlen(p.value) >= sizeof p.value - 6);
    assert_string_equal(p.value + strlen(p.value) - 3, "...");
    json_t *j = json_string(p.value);
    assert_non_null(j);
    json_decref(j);
}

static void test_a_deeply_nested_body_is_refused(void **state)
{
    _cleanup_free_ char *body = malloc(100001);
    struct nm_problem p = {};

    (void)state;
    memset(body, '[', 100000);
    body[100000] = '\0';
    assert_int_equal(parse(as_submit, body, &p), NM_AGENT_E_INVALID);
    assert_string_equal(p.message,
                        "The body has nested arrays and objects, more than 16 levels deep, which is the maximum.");
}

/* These bodies are refused because their JSON would need too much memory, although most of the texts are small. */
static void test_a_body_that_needs_too_much_memory_is_refused(void **state)
{
    static const struct {
        const char *piece, *message;
    } bombs[] = {
        {"[],", "The body has more than 64 arrays and objects, which is the maximum."},
        {"{},", "The body has more than 64 arrays and objects, which is the maximum."},
        {"\"\",", "The body has more than 40000 values, which is the maximum."},
        {"1,", "The body has more than 40000 values, which is the maximum."},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bombs); i++) {
        _cleanup_free_ char *body = NULL;
        struct nm_problem p = {};
        size_t len;
        FILE *f = open_memstream(&body, &len);

        fputs("{\"command\":[", f);
        for (int k = 0; k < 100000; k++)
            fputs(bombs[i].piece, f);
        fseek(f, -1, SEEK_CUR);
        fputs("]}", f);
        (void)fclose(f);
        assert_int_equal(parse(as_submit, body, &p), NM_AGENT_E_INVALID);
        assert_string_equal(p.thing, "body");
        assert_string_equal(p.message, bombs[i].message);
    }
}

static void test_a_submission_is_parsed_as_it_was_written(void **state)
{
    const char *argv[] = {"/bin/echo", "", "\xc3\xa4 \"x\"\n", NULL},
               *env[] = {"A=1", "B=x=y", "EMPTY="};
    const struct nm_client_submit in = {
        .command = {.argv = argv, .env = env, .n_env = NM_ARRAY_SIZE(env), .term = "xterm", .rows = 24, .columns = 80},
        .opportunistic = true,
        .name = "web",
        .app = "shop",
        .memory_bytes = INT64_MAX,
        .vcores_milli = 1,
        .workdir = "/tmp",
        .user = "nobody",
        .min_runtime_usec = 5,
        .expected_usec = 7,
        .replace = true,
        .exempt = true,
        .allow_new_privs = true,
    };
    _cleanup_(nm_messages_submit_done) struct nm_messages_submit out = {};
    struct nm_client_bad_string unsendable;
    struct nm_problem p;
    json_t *j;
    char *text;
    const struct nm_submit *s = &out.submit;

    (void)state;
    assert_int_equal(nm_client_submit_body(&in, &text, &unsendable), 0);
    assert_int_equal(nm_messages_parse_body(text, strlen(text), &j, &p), 0);
    free(text);
    assert_int_equal(nm_messages_parse_submit(j, &out, &p), 0);
    json_decref(j); /* out holds a separate reference to the JSON value */
    assert_int_equal(s->type, NM_OPPORTUNISTIC);
    assert_string_equal(s->name, "web");
    assert_string_equal(s->app, "shop");
    assert_string_equal(s->workdir, "/tmp");
    assert_string_equal(s->user, "nobody");
    assert_string_equal(s->owner, "local");
    assert_true(s->memory_bytes == INT64_MAX);
    assert_int_equal(s->vcores_milli, 1);
    assert_int_equal(s->min_runtime_usec, 5);
    assert_int_equal(s->expected_usec, 7);
    assert_true(s->replace && s->exempt && s->allow_new_privs);
    assert_int_equal(s->rows, 24);
    assert_int_equal(s->columns, 80);
    assert_string_equal(s->env[0], "TERM=xterm");
    for (int i = 0; i < 3; i++) {
        assert_string_equal(s->argv[i], argv[i]);
        assert_string_equal(s->env[i + 1], env[i]);
    }
    assert_null(s->argv[3]);
    assert_null(s->env[4]);
}

static void test_a_session_is_parsed_as_it_was_written(void **state)
{
    const char *argv[] = {"ls", "-l", NULL};
    const struct nm_client_exec in = {.command = {.argv = argv, .rows = 24, .columns = 80}, .input = true};
    _cleanup_(nm_messages_exec_done) struct nm_messages_exec out = {};
    struct nm_client_bad_string unsendable;
    struct nm_problem p;
    json_t *j;
    char *text;

    (void)state;
    assert_int_equal(nm_client_exec_body(&in, &text, &unsendable), 0);
    assert_int_equal(nm_messages_parse_body(text, strlen(text), &j, &p), 0);
    free(text);
    assert_int_equal(nm_messages_parse_exec(j, &out, &p), 0);
    assert_string_equal(out.exec.argv[1], "-l");
    assert_null(out.exec.argv[2]);
    assert_null(out.exec.env);
    assert_true(out.exec.input);
    assert_int_equal(out.exec.rows, 24);
    assert_int_equal(out.exec.columns, 80);
    json_decref(j);
}

/* JSON can't contain other strings than UTF-8. The client names the string. */
static void test_a_string_that_is_not_utf8_is_not_sent(void **state)
{
    static const char bad_string[] = "\xff", bad_value[] = "A=\xff", bad_name[] = "\xff=1";
    const char *good[] = {"true", NULL}, *wrong[] = {"echo", bad_string, NULL};
    const char *value[] = {bad_value}, *name[] = {bad_name};
    const struct {
        struct nm_client_submit submit;
        const char *what, *string;
    } rows[] = {
        {{.command.argv = wrong}, "the argument", bad_string},
        {{.command = {.argv = good, .env = value, .n_env = 1}}, "the environment variable", bad_value},
        {{.command = {.argv = good, .env = name, .n_env = 1}}, "the environment variable", bad_name},
        {{.command = {.argv = good, .term = bad_string}}, "TERM", bad_string},
        {{.command.argv = good, .name = bad_string}, "name", bad_string},
        {{.command.argv = good, .workdir = bad_string}, "workdir", bad_string},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        struct nm_client_bad_string unsendable;
        char *text;

        assert_int_equal(nm_client_submit_body(&rows[i].submit, &text, &unsendable), -EILSEQ);
        assert_string_equal(unsendable.what, rows[i].what);
        assert_ptr_equal(unsendable.string, rows[i].string);
    }
}

static void test_missing_members_of_a_submission_have_default_values(void **state)
{
    _cleanup_(nm_messages_submit_done) struct nm_messages_submit out = {};
    json_t *body = json_pack("{s:[s]}", "command", "true");
    struct nm_problem p;

    (void)state;
    assert_int_equal(nm_messages_parse_submit(body, &out, &p), 0);
    json_decref(body);
    assert_int_equal(out.submit.type, NM_GUARANTEED);
    assert_null(out.submit.name);
    assert_null(out.submit.env);
    assert_null(out.submit.user);
    assert_int_equal(out.submit.memory_bytes, 0);
    assert_int_equal(out.submit.vcores_milli, 0);
    assert_false(out.submit.exempt || out.submit.replace);
}

static void test_vcores_of_a_submission_are_parsed(void **state)
{
    static const struct {
        const char *body;
        uint32_t milli;
    } good[] = {
        {"{\"vcores\":1}", 1000},
        {"{\"vcores\":0.001}", 1},
        {"{\"vcores\":0.1}", 100},
        {"{\"vcores\":2.675}", 2675},
        {"{\"vcores\":1.0}", 1000},
        {"{\"vcores\":999999.999}", 999999999},
        {"{\"vcores\":1000000}", 1000000000},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(good); i++) {
        struct nm_messages_update u;
        struct nm_problem p;
        json_t *body;
        assert_int_equal(nm_messages_parse_body(good[i].body, strlen(good[i].body), &body, &p), 0);
        assert_int_equal(nm_messages_parse_update(body, &u, &p), 0);
        assert_int_equal(u.vcores_milli, good[i].milli);
        json_decref(body);
    }
}

static void test_missing_members_of_a_drain_have_default_values(void **state)
{
    struct nm_drain_order d;
    struct nm_problem p;
    json_t *body;

    (void)state;
    /* a request without a body counts as one with an empty body */
    assert_int_equal(nm_messages_parse_body("", 0, &body, &p), 0);
    assert_int_equal(nm_messages_parse_drain(body, &d, &p), 0);
    json_decref(body);
    assert_true(d.deadline_usec == UINT64_MAX);
    assert_false(d.kill_opportunistic);
    assert_false(d.until_restart);
    body = json_pack("{s:i, s:b, s:b}", "deadline_usec", 0, "kill_opportunistic", 1, "until_restart", 1);
    assert_int_equal(nm_messages_parse_drain(body, &d, &p), 0);
    json_decref(body);
    assert_true(d.deadline_usec == 0);
    assert_true(d.kill_opportunistic);
    assert_true(d.until_restart);
}

static void test_an_error_is_parsed_as_it_was_written(void **state)
{
    (void)state;
    for (int o = NM_AGENT_E_INVALID; o <= NM_AGENT_E_UNAVAILABLE; o++) {
        struct nm_problem in, out = {};
        json_t *j;
        assert_int_equal(
            nm_messages_problem(&in, (enum nm_agent_outcome)o, "memory", "7", "Too much: %d.", 7),
            o);
        j = nm_messages_error(&in, NULL);
        assert_non_null(j);
        assert_int_equal(nm_messages_parse_error(j, &out), 0);
        assert_int_equal(out.outcome, o);
        assert_string_equal(out.thing, "memory");
        assert_string_equal(out.value, "7");
        assert_string_equal(out.message, "Too much: 7.");
        json_decref(j);
    }
    assert_int_equal(nm_messages_http_status(NM_AGENT_E_QUEUE_FULL), 429);
    assert_int_equal(nm_messages_http_status(-EIO), 500);
    assert_string_equal(nm_messages_error_code(99), "internal");
}

static void test_an_error_in_the_format_of_another_server_is_parsed(void **state)
{
    struct nm_problem p;
    json_t *j = json_pack("{s:s}", "error", "oops");

    (void)state;
    assert_int_equal(nm_messages_parse_error(j, &p), -EBADMSG);
    json_decref(j);
}

static void test_invalid_strings_are_refused(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"plain", "plain"},
        {"\xc3\xa4", "\xc3\xa4"},
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"cut\xe2\x82", "cut\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate code point */
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* an overlong encoding of a slash */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        json_t *j = nm_make_string(cases[i].in);
        assert_non_null(j);
        assert_string_equal(json_string_value(j), cases[i].out);
        json_decref(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_bodies_are_refused),
        cmocka_unit_test(test_a_long_value_is_shortened_in_the_error),
        cmocka_unit_test(test_a_deeply_nested_body_is_refused),
        cmocka_unit_test(test_a_body_that_needs_too_much_memory_is_refused),
        cmocka_unit_test(test_a_submission_is_parsed_as_it_was_written),
        cmocka_unit_test(test_a_session_is_parsed_as_it_was_written),
        cmocka_unit_test(test_a_string_that_is_not_utf8_is_not_sent),
        cmocka_unit_test(test_missing_members_of_a_submission_have_default_values),
        cmocka_unit_test(test_vcores_of_a_submission_are_parsed),
        cmocka_unit_test(test_missing_members_of_a_drain_have_default_values),
        cmocka_unit_test(test_an_error_is_parsed_as_it_was_written),
        cmocka_unit_test(test_an_error_in_the_format_of_another_server_is_parsed),
        cmocka_unit_test(test_invalid_strings_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
