/* SPDX-License-Identifier: Apache-2.0 */

/* nmctl/top.h: filters, sort orders and scrolling, and the keys that change them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "nmctl/screen.h"
#include "nmctl/top.h"
#include "util/clock.h"
#include "util/macros.h"

#define C(number, name, user, type, cpu, memory)                                                    \
    "{\"number\":" number ",\"id\":\"container_1_" number "\",\"name\":\"" name "\",\"user\":\"" user "\","          \
    "\"execution_type\":\"" type "\",\"state\":\"RUNNING\",\"state_text\":\"RUNNING\",\"cpu_used_millicores\":" cpu    \
    ",\"memory_used_bytes\":" memory ",\"command_head\":[\"python3\",\"Run " name ".py\"]}"

static json_t *containers(void)
{
    json_t *list = json_loads("[" C("1", "web", "alice", "GUARANTEED", "500", "10") ","
                              C("2", "batch", "bob", "OPPORTUNISTIC", "900", "20") ","
                              C("12", "batch-b", "alice", "OPPORTUNISTIC", "500", "30") "]", 0, NULL);

    assert_non_null(list);
    return list;
}

/* Returns the numbers of the displayed containers, in the order of display: "2 1 12". */
static const char *shown(struct nm_top *t, const json_t *list)
{
    static char text[256];
    size_t len = 0;

    text[0] = '\0';
    nm_top_take(t, list);
    for (size_t i = 0; i < t->n; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%d", i > 0 ? " " : "",
                                (int)json_integer_value(json_object_get(t->containers[i], "number")));
    return text;
}

static void type(struct nm_top *t, const char *keys)
{
    for (; *keys; keys++)
        assert_true(nm_top_key(t, *keys));
}

static void test_a_filter_selects_containers(void **state)
{
    static const struct {
        const char *filter, *numbers;
    } cases[] = {
        {"", "1 12 2"},
        {"alice", "1 12"},
        {"ALICE oppor", "12"},
        {"batch", "12 2"},
        {"2", "12 2"},
        {"12", "12"},
        {"1", "1 12 2"}, /* all ids contain "1", so the filter selects all containers */
        {"run  web.PY", "1"},
        {"!bob", "1 12"},
        {"!bob !guaranteed", "12"},
        {"nobody", ""},
        {"RUNNING", "1 12 2"},
    };
    struct nm_top t = {.sort = "age"};
    json_t *list = containers();

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        (void)snprintf(t.filter, sizeof t.filter, "%s", cases[i].filter);
        if (strcmp(shown(&t, list), cases[i].numbers) != 0)
            fail_msg("'%s': %s, not %s", cases[i].filter, shown(&t, list), cases[i].numbers);
        assert_int_equal(t.n_all, 3);
    }
    nm_top_done(&t);
    json_decref(list);
}

static void test_each_sort_key_sorts_by_its_column(void **state)
{
    struct nm_top t = {.sort = "cpu"};
    json_t *list = containers();

    (void)state;
    assert_string_equal(shown(&t, list), "2 1 12"); /* containers with equal values are sorted by id */
    type(&t, "r");
    assert_string_equal(shown(&t, list), "1 12 2");
    type(&t, "m");
    assert_string_equal(shown(&t, list), "1 2 12");
    type(&t, "r");
    assert_string_equal(shown(&t, list), "12 2 1");
    type(&t, "P");
    assert_string_equal(t.sort, "cpu");
    type(&t, "n");
    assert_string_equal(shown(&t, list), "2 12 1");
    type(&t, ">");
    assert_string_equal(t.sort, "cpu"); /* the key wraps from the last column to the first */
    type(&t, "<");
    assert_string_equal(t.sort, "name");
    assert_false(nm_top_key(&t, 'q'));
    assert_false(nm_top_key(&t, 'x'));
    nm_top_done(&t);
    json_decref(list);
}

static void test_a_filter_can_be_typed(void **state)
{
    struct nm_top t = {.sort = "cpu", .first = 2};

    (void)state;
    type(&t, "/quick");
    assert_true(t.editing);
    /* the filter applies while the user types; q is a letter here and doesn't quit */
    assert_string_equal(t.filter, "quick");
    assert_int_equal(t.first, 0);
    type(&t, "\177\177\r");
    assert_false(t.editing);
    assert_string_equal(t.filter, "qui");
    type(&t, "/x");
    assert_true(nm_top_key(&t, NM_KEY_ESCAPE));
    assert_false(t.editing);
    assert_string_equal(t.filter, "qui");
    assert_true(nm_top_key(&t, '/'));
    assert_true(nm_top_key(&t, 0x15));
    assert_true(nm_top_key(&t, 0xc3)); /* Backspace removes both bytes of a letter that has two bytes */
    assert_true(nm_top_key(&t, 0xa9));
    type(&t, "\177");
    assert_string_equal(t.filter, "");
    for (int i = 0; i < 2 * NM_TOP_FILTER_SIZE; i++)
        type(&t, "y");
    assert_int_equal(strlen(t.filter), NM_TOP_FILTER_SIZE - 1);
    type(&t, "\r");
    assert_true(nm_top_key(&t, NM_KEY_ESCAPE));
    assert_string_equal(t.filter, "");
}

/* Keys are handled between two screens, after the containers of the last screen have been freed. */
static void test_keys_scroll_rows_whose_containers_have_been_freed(void **state)
{
    struct nm_top t = {.sort = "cpu"};
    json_t *list = containers();

    (void)state;
    nm_top_take(&t, list);
    nm_top_fit(&t, 1);
    nm_top_done(&t);
    json_decref(list);
    assert_true(nm_top_key(&t, NM_KEY_DOWN));
    assert_int_equal(t.first, 1);
    assert_true(nm_top_key(&t, NM_KEY_END));
    assert_int_equal(t.first, 2);
}

static void test_keys_scroll_the_rows_and_change_the_period(void **state)
{
    struct nm_top t = {.sort = "cpu", .n = 25, .period_usec = NM_USEC_PER_SEC};

    (void)state;
    nm_top_fit(&t, 10);
    assert_true(nm_top_key(&t, NM_KEY_UP));
    assert_int_equal(t.first, 0);
    assert_true(nm_top_key(&t, NM_KEY_DOWN));
    assert_true(nm_top_key(&t, NM_KEY_PAGE_DOWN));
    assert_int_equal(t.first, 11);
    assert_true(nm_top_key(&t, NM_KEY_PAGE_DOWN));
    assert_int_equal(t.first, 15); /* the last page is completely filled with rows */
    t.n = 20;                      /* five containers have ended since then */
    nm_top_fit(&t, 10);
    assert_int_equal(t.first, 10);
    assert_true(nm_top_key(&t, NM_KEY_HOME));
    assert_true(nm_top_key(&t, NM_KEY_END));
    assert_int_equal(t.first, 10);
    nm_top_fit(&t, 30);
    assert_int_equal(t.first, 0);

    type(&t, "+");
    assert_int_equal(t.period_usec, NM_USEC_PER_SEC / 2);
    type(&t, "++++++++");
    assert_int_equal(t.period_usec, 100 * NM_USEC_PER_MSEC);
    type(&t, "--------------------");
    assert_int_equal(t.period_usec, 60 * NM_USEC_PER_SEC);

    type(&t, "h");
    assert_true(t.help);
    type(&t, "m"); /* this key only closes the help */
    assert_false(t.help);
    assert_string_equal(t.sort, "cpu");
    type(&t, "?");
    assert_false(nm_top_key(&t, 'q'));
}

/* Decodes the byte sequences that terminals send for keys, including several sequences in one read. */
static void test_byte_sequences_of_keys_are_decoded(void **state)
{
    static const struct {
        const char *data;
        int key;
        size_t used;
    } cases[] = {
        {"q", 'q', 1},           {"qq", 'q', 1},           {"\033[A", NM_KEY_UP, 3},        {"\033OB", NM_KEY_DOWN, 3},
        {"\033[5~", NM_KEY_PAGE_UP, 4}, {"\033[6~q", NM_KEY_PAGE_DOWN, 4}, {"\033[1~", NM_KEY_HOME, 4},
        {"\033[F", NM_KEY_END, 3}, {"\033", NM_KEY_ESCAPE, 1}, {"\033q", NM_KEY_ESCAPE, 1},
        {"\033[1;5Cq", NM_KEY_OTHER, 6},
        {"\033[24~", NM_KEY_OTHER, 5}, {"\033[~", NM_KEY_OTHER, 3}, {"\xc3\xa9", 0xc3, 1}, {"\033[", NM_KEY_ESCAPE, 1},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        size_t used = 0;

        assert_int_equal(nm_screen_decode(cases[i].data, strlen(cases[i].data), &used), cases[i].key);
        assert_int_equal(used, cases[i].used);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_filter_selects_containers),
        cmocka_unit_test(test_each_sort_key_sorts_by_its_column),
        cmocka_unit_test(test_a_filter_can_be_typed),
        cmocka_unit_test(test_keys_scroll_the_rows_and_change_the_period),
        cmocka_unit_test(test_byte_sequences_of_keys_are_decoded),
        cmocka_unit_test(test_keys_scroll_rows_whose_containers_have_been_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
