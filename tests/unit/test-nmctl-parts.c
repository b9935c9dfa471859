/* SPDX-License-Identifier: Apache-2.0 */

/* The parts of nmctl's output: tables, bars, texts for a terminal, suggestions, JSON paths. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>

#include "nmctl/cli.h"
#include "nmctl/container-json.h"
#include "agent/policy/policy.h"
#include "nmctl/json.h"
#include "nmctl/nmctl.h"
#include "nmctl/message.h"
#include "nmctl/term.h"
#include "util/macros.h"
#include "util/option.h"

static const struct nm_term plain = {.width = 0}, utf8 = {.utf8 = true},
                            colored = {.utf8 = true, .color = true};

/* Returns what `statement` prints to f. */
#define PRINTED(text, statement) \
    do { \
        size_t _size; \
        FILE *f = open_memstream(&(text), &_size); \
        assert_non_null(f); \
        statement; \
        assert_int_equal(fclose(f), 0); \
    } while (0)

static void check_table(unsigned width, const char *expected)
{
    static const struct nm_column columns[] = {
        {"ID", false, 0, 0}, {"SIZE", true, 0, 0}, {"COMMAND", false, 4, 0}};
    struct nm_term term = {.width = width};
    struct nm_table *t = nm_table_new(columns, 3);
    _cleanup_free_ char *text = NULL;

    nm_table_add(t, NM_STYLE_NONE, "a");
    nm_table_add(t, NM_STYLE_GOOD, "%d", 7);
    nm_table_add(t, NM_STYLE_NONE, "make all check");
    nm_table_add(t, NM_STYLE_NONE, "long-id");
    nm_table_add(t, NM_STYLE_BAD, "12345");
    nm_table_add(t, NM_STYLE_NONE, "x\033[31m\ny");
    assert_int_equal(nm_table_rows(t), 2);
    PRINTED(text, nm_table_print(t, f, &term, 0));
    assert_string_equal(text, expected);
    nm_table_free(t);
}

static void test_a_table_has_aligned_columns(void **state)
{
    (void)state;
    check_table(0, "ID        SIZE  COMMAND\n"
                   "a            7  make all check\n"
                   "long-id  12345  x?[31m?y\n");
    check_table(24, "ID        SIZE  COMMAND\n"
                    "a            7  make al~\n"
                    "long-id  12345  x?[31m?y\n");
    /* The terminal is narrower than the columns that can't be cut: these texts stay complete, and rows are wider than
     * the terminal. */
    check_table(5, "ID        SIZE  COMMAND\n"
                   "a            7  mak~\n"
                   "long-id  12345  x?[~\n");
}

/* An id is never cut. The other columns are shortened in a fixed order, by no more characters than necessary. */
static void check_spared(unsigned width, const char *expected)
{
    static const struct nm_column columns[] = {
        {"ID", false, 0, 0}, {"NAME", false, 2, 2},    {"STATE", false, 5, 0},
        {"AGE", true, 0, 3}, {"COMMAND", false, 4, 1}};
    struct nm_term term = {.width = width};
    struct nm_table *t = nm_table_new(columns, NM_ARRAY_SIZE(columns));
    _cleanup_free_ char *text = NULL;

    for (size_t i = 0; i < NM_ARRAY_SIZE(columns); i++)
        nm_table_add(t, NM_STYLE_NONE, "%s",
                     (const char *[]){"container_e17_1410901177871_0001_01_000005", "map", "LOCALIZING 1 of 3", "7s",
                                      "bash x"}[i]);
    PRINTED(text, nm_table_print(t, f, &term, 0));
    assert_string_equal(text, expected);
    nm_table_free(t);
}

static void check_wrapping_table(unsigned width, const char *expected)
{
    static const struct nm_column columns[] = {
        {"KEY", false, 0, 0}, {"N", true, 0, 0}, {"MEANING", false, NM_COLUMN_WRAPS, 0}};
    struct nm_term term = {.width = width};
    struct nm_table *t = nm_table_new(columns, 3);
    _cleanup_free_ char *text = NULL;

    nm_table_add(t, NM_STYLE_NONE, "a.key");
    nm_table_add(t, NM_STYLE_NONE, "7");
    nm_table_add(t, NM_STYLE_DIM, "what it means is told in more words than a line has");
    nm_table_add(t, NM_STYLE_NONE, "b");
    nm_table_add(t, NM_STYLE_NONE, "12");
    nm_table_add(t, NM_STYLE_DIM, "little");
    PRINTED(text, nm_table_print(t, f, &term, 0));
    assert_string_equal(text, expected);
    nm_table_free(t);
}

/* A column of sentences is never cut, even on a narrow terminal. */
static void test_a_column_of_sentences_is_never_cut(void **state)
{
    (void)state;
    check_wrapping_table(0, "KEY     N  MEANING\n"
                            "a.key   7  what it means is told in more words than a line has\n"
                            "b      12  little\n");
    check_wrapping_table(45, "KEY     N  MEANING\n"
                             "a.key   7  what it means is told in more\n"
                             "           words than a line has\n"
                             "b      12  little\n");
    check_wrapping_table(30, "KEY     N\n"
                             "a.key   7\n"
                             "    what it means is told in\n"
                             "    more words than a line has\n"
                             "b      12\n"
                             "    little\n");
}

static void test_the_most_important_columns_are_cut_last(void **state)
{
    (void)state;
    check_spared(60, "ID                                          NAME  STATE  AGE\n"
                 "container_e17_1410901177871_0001_01_000005  map   LOCA~   7s\n");
    check_spared(50, "ID                                          STATE\n"
                 "container_e17_1410901177871_0001_01_000005  LOCAL~\n");
    check_spared(20, "ID                                          STATE\n"
                 "container_e17_1410901177871_0001_01_000005  LOCA~\n");
}

static void test_a_bar_shows_use_and_thresholds(void **state)
{
    struct nm_bar b = {
        .parts = {0.3, 0.2, 0.1}, .alpha = 0.75, .beta = 0.95, .top = 1, .width = 20};
    char *text = NULL;

    (void)state;
    PRINTED(text, nm_bar_print(&b, f, &plain));
    assert_string_equal(text, "######====++...|...|");
    free(text);
    PRINTED(text, nm_bar_print(&b, f, &utf8));
    assert_string_equal(text, "██████▓▓▓▓▒▒···│···│");
    free(text);
    PRINTED(text, nm_bar_print_scale(&b, f, &plain));
    assert_string_equal(text, "               a   b");
    free(text);
    /* The node is over-subscribed: the scale extends beyond the capacity, and threshold marks stay visible where the
     * bar covers them. */
    b = (struct nm_bar){.parts = {1.0, 0.5, 0}, .alpha = 0.8, .beta = 0, .top = 2, .width = 20};
    PRINTED(text, nm_bar_print(&b, f, &plain));
    assert_string_equal(text, "########|#=====.....");
    free(text);
    b.parts[0] = 0.2;
    b.parts[1] = 0;
    PRINTED(text, nm_bar_print(&b, f, &plain));
    assert_string_equal(text, "##......|.:.........");
    free(text);
    PRINTED(text, nm_bar_print_legend(f, &colored));
    assert_non_null(strstr(text, "\033[0m guaranteed"));
    free(text);
}

static void test_a_text_is_cut_to_columns(void **state)
{
    char text[32];

    (void)state;
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip();
    (void)strcpy(text, "päuse");
    assert_int_equal(nm_term_columns(text), 5);
    nm_term_cut(&utf8, text, 5);
    assert_string_equal(text, "päuse");
    nm_term_cut(&utf8, text, 3);
    assert_string_equal(text, "pä…");
    (void)strcpy(text, "a\xff\x1b"
                       "b\xc3");
    assert_string_equal(nm_term_clean(text), "a??b?");
    (void)setlocale(LC_CTYPE, "C");
}

static void check_wrapped(const char *text, unsigned width, unsigned indent, const char *expected)
{
    _cleanup_free_ char *got = NULL;
    unsigned lines = 0, wanted = 0;

    PRINTED(got, lines = nm_term_wrap(f, text, width, indent));
    assert_string_equal(got, expected);
    for (const char *p = expected; *p; p++)
        wanted += *p == '\n';
    assert_int_equal(lines, wanted);
}

static void test_a_text_is_wrapped_between_words(void **state)
{
    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    check_wrapped("", 10, 2, "");
    check_wrapped("as it is, however long\n", 0, 2, "as it is, however long\n");
    check_wrapped("one two three\n\nfour\n", 8, 2, "one two\n  three\n\nfour\n");
    /* a line has no blanks at its start or end */
    check_wrapped("one  two  three\nfour  \n", 5, 1, "one\n two\n thre\n e\nfour\n");
    check_wrapped("no newline", 80, 0, "no newline\n");
    check_wrapped("exactly8\n", 8, 2, "exactly8\n");
    check_wrapped("aaaaaaaaaaaa b", 5, 1, "aaaaa\n aaaa\n aaa\n b\n");
    check_wrapped("    indented line\n", 10, 4, "    indent\n    ed\n    line\n");
    /* Colour sequences have no width. Width is counted in characters, not in bytes. */
    check_wrapped("\033[1mone\033[0m \033[31mtwo\033[0m three", 7, 0, "\033[1mone\033[0m \033[31mtwo\033[0m\nthree\n");
    check_wrapped("··· ··· ···", 7, 0, "··· ···\n···\n");
    check_wrapped("ends in half a sequence \033[3", 80, 0, "ends in half a sequence \033[3\n");
}

static void test_the_nearest_word_is_suggested(void **state)
{
    static const char *const words[] = {"run", "status", "list", "pause", "resume", "kill", "top"};

    (void)state;
    assert_string_equal(nm_nearest_word("lsit", words, NM_ARRAY_SIZE(words)), "list");
    assert_string_equal(nm_nearest_word("stat", words, NM_ARRAY_SIZE(words)), "status");
    assert_string_equal(nm_nearest_word("resmue", words, NM_ARRAY_SIZE(words)), "resume");
    assert_string_equal(nm_nearest_word("kil", words, NM_ARRAY_SIZE(words)), "kill");
    assert_null(nm_nearest_word("foo", words, NM_ARRAY_SIZE(words)));
    assert_null(nm_nearest_word("an-absurdly-long-word-that-nobody-means-to-type", words,
                                   NM_ARRAY_SIZE(words)));
}

/* A message of two lines needs at least as many rows after its terminal has become narrower, and at most as many rows
 * after the terminal has become wider. */
static void test_a_message_takes_more_rows_on_a_narrower_terminal(void **state)
{
    static const struct {
        const char *text;
        unsigned width, rows;
    } cases[] = {
        {"", 10, 0},           {"\n", 10, 1},      {"0123456789\n", 10, 1}, {"0123456789\n", 9, 2},
        {"0123456789\n", 5, 2}, {"0123456789\n", 0, 1}, {"0123456789\n  234\n", 4, 5}, {"0123456789\n  234\n", 80, 2},
        {"\033[1;31m0123\033[0m\n", 4, 1}, {"0123", 3, 2},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        assert_int_equal(nm_term_rows(cases[i].text, cases[i].width), cases[i].rows);
}

static void test_values_at_paths_are_read_from_json(void **state)
{
    json_t *j = json_loads(
        "{\"a\":{\"b\":{\"n\":7,\"r\":1.5,\"big\":1e30,\"minus\":-4,\"s\":\"x\",\"t\":true,"
        "\"null\":null}}}",
        0, NULL);

    (void)state;
    assert_int_equal(nm_json_u64(j, "a.b.n"), 7);
    assert_int_equal(nm_json_u64(j, "a.b.r"), 1);
    assert_int_equal(nm_json_u64(j, "a.b.big"), INT64_MAX);
    assert_int_equal(nm_json_u64(j, "a.b.minus"), 0);
    assert_int_equal(nm_json_u64(j, "a.b.s"), 0);
    assert_int_equal(nm_json_u64(j, "a.x.n"), 0);
    assert_int_equal(nm_json_u64(NULL, "a"), 0);
    assert_string_equal(nm_json_str(j, "a.b.s"), "x");
    assert_string_equal(nm_json_str(j, "a.b.n"), "");
    assert_true(nm_json_bool(j, "a.b.t"));
    assert_false(nm_json_bool(j, "a.b.n"));
    assert_true(nm_json_has(j, "a.b.n"));
    assert_false(nm_json_has(j, "a.b.null"));
    json_decref(j);
}

static void reserve(json_t *status)
{
    json_t *node = json_object_get(status, "node");

    assert_int_equal(json_object_set_new(node, "warmup_usec", json_integer(15000000)), 0);
    assert_int_equal(json_object_set_new(node, "capacity", json_pack("{s:i}", "cpu_millicores", 2000)), 0);
    assert_int_equal(json_object_set_new(node, "reserved", json_pack("{s:i}", "cpu_millicores", 1200)), 0);
}

static void unreserve(json_t *status)
{
    (void)json_object_del(json_object_get(status, "node"), "reserved");
    (void)json_object_del(json_object_get(status, "node"), "capacity");
}

static void test_the_reason_of_a_wait_contains_the_amounts(void **state)
{
    json_t *c = json_pack("{s:i, s:i}", "vcores", 1, "cpu_request_millicores", 1000);
    json_t *status = json_loads("{\"node\":{\"utilization\":{\"memory\":0.7,\"cpu\":0.93},"
                                "\"over_allocation_threshold\":{\"memory\":0.8,\"cpu\":0.85},"
                                "\"preemption_threshold\":{\"memory\":0.9,\"cpu\":0.95}}}",
                                0, NULL);
    char text[400];

    (void)state;
    nm_queue_reason_text("over-alpha", NULL, status, text, sizeof text);
    assert_string_equal(text, "93 % of the node's CPU is used or reserved, over the over-allocation threshold of 85 %");
    reserve(status);
    nm_queue_reason_text("over-alpha", NULL, status, text, sizeof text);
    assert_string_equal(text, "93 % of the node's CPU is used or reserved, over the over-allocation threshold of 85 % "
                              "(60 % is only reserved, for up to 15s after a start, until the use of the started "
                              "containers is known)");
    nm_queue_reason_text("would-exceed-beta", c, status, text, sizeof text);
    assert_string_equal(text, "CPU used or reserved is at 93 % of capacity, and with the 1 vcore that it asks for "
                              "would be at 143 %, over the limit of 95 % (60 % is only reserved, for up to 15s after a "
                              "start, until the use of the started containers is known)");
    json_decref(c);
    unreserve(status);
    nm_queue_reason_text("over-alpha", NULL, NULL, text, sizeof text);
    assert_string_equal(text, "the sum of used and reserved resources is over the over-allocation threshold");
    nm_queue_reason_text("would-exceed-beta", NULL, status, text, sizeof text);
    assert_string_equal(text, "with its request the node would exceed a limit: without it, memory is at 70 % of "
                              "capacity (limit 90 %) and CPU at 93 % (limit 95 %)");
    for (int r = NM_REASON_BEHIND_OTHERS; r < NM_REASON_COUNT; r++) {
        bool holds = r <= NM_REASON_SQUEEZED || r == NM_REASON_KILL_BUDGET || r == NM_REASON_SETTLING;

        nm_queue_reason_text(nm_reason_name((enum nm_reason)r), NULL, status, text, sizeof text);
        if (holds && !strchr(text, ' '))
            fail_msg("there is no text for the queue reason %s", text);
    }
    nm_queue_reason_text("", NULL, status, text, sizeof text);
    assert_string_equal(text, "");
    nm_queue_reason_text("a-later-word", NULL, status, text, sizeof text);
    assert_string_equal(text, "a-later-word");
    json_decref(status);
}

/* Use and request together exceed the limit. The text states their sum, with enough digits to show that the sum differs
 * from the limit. */
static void test_the_reason_states_the_sum_of_use_and_request(void **state)
{
    static const struct {
        const char *container, *text;
    } cases[] = {
        {"{\"memory_bytes\":4080218931,\"vcores\":1,\"cpu_request_millicores\":1000}",
         "memory is at 0.2 % of capacity, and with the 3.8 GiB that it asks for would be at 95.2 %, "
         "over the limit of 95 %"},
        {"{\"memory_bytes\":4073345000,\"vcores\":1,\"cpu_request_millicores\":1000}",
         "memory is at 0.2 % of capacity, and with the 3.8 GiB that it asks for would be at 95.04 %, "
         "over the limit of 95 %"},
        {"{\"memory_bytes\":1,\"vcores\":1,\"cpu_request_millicores\":1000}",
         "CPU used or reserved is at 75.5 % of capacity, and with the 1 vcore that it asks for would be at 100.5 %, "
         "over the limit of 95 %"},
        {"{\"memory_bytes\":1,\"vcores\":1.5,\"cpu_request_millicores\":3000}",
         "CPU used or reserved is at 75.5 % of capacity, and with the 1.5 vcores that it asks for would be at 150.5 %, "
         "over the limit of 95 %"},
        {"{\"memory_bytes\":1,\"vcores\":0.1,\"cpu_request_millicores\":100}",
         "with its request the node would exceed a limit: without it, memory is at 0.2 % of capacity (limit 95 %) and "
         "CPU at 75.5 % (limit 95 %)"},
    };
    json_t *status = json_loads("{\"node\":{\"utilization\":{\"memory\":0.002,\"cpu\":0.755},"
                                "\"capacity\":{\"memory_bytes\":4294967296,\"cpu_millicores\":4000},"
                                "\"reserved\":{\"memory_bytes\":0,\"cpu_millicores\":500},"
                                "\"preemption_threshold\":{\"memory\":0.95,\"cpu\":0.95}}}", 0, NULL);
    char text[256];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        json_t *c = json_loads(cases[i].container, 0, NULL);

        nm_queue_reason_text("would-exceed-beta", c, status, text, sizeof text);
        assert_string_equal(text, cases[i].text);
        json_decref(c);
    }
    json_decref(status);
}

/* Two causes have the same text: the request alone exceeds the limit, or the request exceeds it together with the use
 * of other containers. */
static void test_a_request_too_large_alone_or_with_others_has_the_same_text(void **state)
{
    static const struct {
        const char *container, *others, *text;
    } cases[] = {
        {"{\"memory_bytes\":1,\"vcores\":2,\"cpu_request_millicores\":2000}", "10",
         "with the 2 vcores that it asks for, it would not fit even if no other container ran: CPU would be at 100.5 %"
         ", over the limit of 95 % (of 2 cores, 0.01 are used by others on the node); up to 1.89 vcores fit; smaller "
         "containers pass it meanwhile"},
        {"{\"memory_bytes\":1,\"vcores\":1,\"cpu_request_millicores\":500}", "1980",
         "with the 1 vcore that it asks for, it would not fit even if no other container ran: CPU would be at 124 %, "
         "over the limit of 95 % (of 2 cores, 1.98 are used by others on the node); no request fits until others use "
         "less"},
        {"{\"memory_bytes\":4294967296,\"vcores\":2,\"cpu_request_millicores\":2000}", "10",
         "with the 4.0 GiB of memory that it asks for, it would not fit even if no other container ran: memory would "
         "be at 125 %, over the limit of 95 % (of 4.0 GiB, 1.0 GiB are used by others on the node); CPU would not "
         "suffice, either; smaller containers pass it meanwhile"},
        /* memory in use is over 95 % */
        {"{\"memory_bytes\":3113851290,\"vcores\":2,\"cpu_request_millicores\":2000}", "10",
         "with the 2 vcores that it asks for, it would not fit even if no other container ran: CPU would be at 100.5 %"
         ", over the limit of 95 % (of 2 cores, 0.01 are used by others on the node); up to 1.89 vcores fit; smaller "
         "containers pass it meanwhile"},
        {"{\"memory_bytes\":3328599654,\"vcores\":1,\"cpu_request_millicores\":500}", "0",
         "with the 3.1 GiB of memory that it asks for, it would not fit even if no other container ran: memory would "
         "be at 102.5 %, over the limit of 95 % (of 4.0 GiB, 1.0 GiB are used by others on the node); up to 2.7 GiB "
         "fits; smaller containers pass it meanwhile"},
        {"{\"memory_bytes\":1,\"vcores\":1,\"cpu_request_millicores\":500}", "0",
         "its request would not fit beside the use of other processes even if no other container ran; smaller "
         "containers pass it meanwhile"},
    };
    char text[512], json[512];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        json_t *c = json_loads(cases[i].container, 0, NULL), *status;

        (void)snprintf(json, sizeof json,
                       "{\"node\":{\"capacity\":{\"memory_bytes\":4294967296,\"cpu_millicores\":2000},"
                       "\"used_by\":{\"others\":{\"memory_bytes\":1073741824,\"cpu_millicores\":%s}},"
                       "\"preemption_threshold\":{\"memory\":0.95,\"cpu\":0.95}}}", cases[i].others);
        status = json_loads(json, 0, NULL);
        nm_queue_reason_text("never-fits", c, status, text, sizeof text);
        assert_string_equal(text, cases[i].text);
        json_decref(c);
        json_decref(status);
    }
}

static void test_a_command_is_quoted_for_the_shell(void **state)
{
    json_t *c = json_loads("{\"command\":[\"sh\",\"-c\",\"echo 'a'\",\"\"]}", 0, NULL);
    _cleanup_free_ char *text = nm_container_command(c);

    (void)state;
    assert_string_equal(text, "sh -c 'echo '\\''a'\\''' ''");
    json_decref(c);
}

/* Checks that getopt can parse the table of options, and that no option has two meanings. */
static void test_the_table_of_verbs_is_valid(void **state)
{
    (void)state;
    for (const struct nm_verb *v = nm_verb_tables.verbs; v->name; v++) {
        assert_ptr_equal(nm_args_find_verb(&nm_verb_tables, v->name), v);
        assert_non_null(v->run);
        assert_true(v->min_operands == 0 || v->missing);
        for (const struct nm_option *a = v->options; a && a->name; a++) {
            assert_true((a->type == &nm_option_flag) == (a->arg == NULL));
            for (const struct nm_option *b = a + 1; b->name; b++)
                assert_true(!nm_streq(a->name, b->name) && (!a->brief || a->brief != b->brief));
            for (const struct nm_option *b = nm_verb_tables.global_options; b->name; b++)
                assert_true(!nm_streq(a->name, b->name) && (!a->brief || a->brief != b->brief));
        }
    }
    assert_null(nm_args_find_verb(&nm_verb_tables, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_table_has_aligned_columns),
        cmocka_unit_test(test_the_most_important_columns_are_cut_last),
        cmocka_unit_test(test_a_bar_shows_use_and_thresholds),
        cmocka_unit_test(test_a_column_of_sentences_is_never_cut),
        cmocka_unit_test(test_a_text_is_cut_to_columns),
        cmocka_unit_test(test_the_nearest_word_is_suggested),
        cmocka_unit_test(test_a_text_is_wrapped_between_words),
        cmocka_unit_test(test_a_message_takes_more_rows_on_a_narrower_terminal),
        cmocka_unit_test(test_values_at_paths_are_read_from_json),
        cmocka_unit_test(test_the_reason_of_a_wait_contains_the_amounts),
        cmocka_unit_test(test_the_reason_states_the_sum_of_use_and_request),
        cmocka_unit_test(test_a_request_too_large_alone_or_with_others_has_the_same_text),
        cmocka_unit_test(test_a_command_is_quoted_for_the_shell), cmocka_unit_test(test_the_table_of_verbs_is_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
