/* SPDX-License-Identifier: Apache-2.0 */

/* yarn/node/log-text.c, yarn/node/acl.c and yarn/node/local-groups.c: the formats of answers about log files, access
 * control lists, and the groups of accounts. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/unit/described.h"
#include "util/fileio.h"
#include "util/macros.h"
#include "yarn/node/acl.h"
#include "yarn/node/local-groups.h"
#include "yarn/node/log-text.h"

#define ID "container_1_0001_01_000002"
#define AT 1700000000
#define AT_TEXT "Tue Nov 14 22:13:20 +0000 2023"

static const struct nm_yarn_log_text text = {ID, "alice", "node07", 4711, true};

/* ---- parts -------------------------------------------------------------------------------- */

static void test_parts_are_counted_from_both_ends(void **state)
{
    static const struct {
        const char *count;
        uint64_t size, from, n;
    } cases[] = {
        {NULL, 15, 0, 15}, {"", 15, 0, 15},  {"0", 15, 0, 0},      {"-0", 15, 15, 0},  {"1", 15, 0, 1},
        {"15", 15, 0, 15}, {"16", 15, 0, 15}, {"-5", 15, 10, 5},   {"-15", 15, 0, 15}, {"-16", 15, 0, 15},
        {"5", 0, 0, 0},    {"-5", 0, 0, 0},
        {"9223372036854775807", 15, 0, 15}, {"-9223372036854775808", 15, 0, 15},
    };
    static const char *const invalid[] = {"x", "1.5", "+3", " 3", "-", "--3", "3-", "9223372036854775808",
                                          "-9223372036854775809", "99999999999999999999"};
    struct nm_yarn_log_part p;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        assert_int_equal(nm_yarn_log_part_by_count(cases[i].size, cases[i].count, &p), 0);
        assert_int_equal(p.from, cases[i].from);
        assert_int_equal(p.size, cases[i].n);
    }
    for (size_t i = 0; i < NM_ARRAY_SIZE(invalid); i++)
        assert_int_equal(nm_yarn_log_part_by_count(15, invalid[i], &p), -EINVAL);
}

static void test_parts_are_given_by_their_ends(void **state)
{
    static const struct {
        const char *start, *end;
        uint64_t size;
        int result;
        uint64_t from, n; /* with -ERANGE: the positions */
    } cases[] = {
        {NULL, NULL, 15, 0, 0, 15},        {NULL, NULL, 10000, 0, 5904, 4096}, {"", "", 10000, 0, 5904, 4096},
        {"0", NULL, 10000, 0, 0, 10000},   {"-4", NULL, 15, 0, 11, 4},         {"3", "5", 15, 0, 3, 2},
        {"3", "-2", 15, 0, 3, 10},         {"-99", "99", 15, 0, 0, 15},        {"3", "-99", 15, 0, 3, 12},
        {"15", NULL, 15, 0, 15, 0},        {"16", NULL, 15, -ERANGE, 16, 15},  {"9", "3", 15, -ERANGE, 9, 3},
        {"x", NULL, 15, -EINVAL, 0, 0},    {"1", "y", 15, -EINVAL, 0, 0},      {NULL, NULL, 0, 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_yarn_log_part p = {};
        uint64_t start = 0, end = 0;
        int r = nm_yarn_log_part_by_range(cases[i].size, cases[i].start, cases[i].end, &p, &start, &end);

        assert_int_equal(r, cases[i].result);
        assert_int_equal(r == -ERANGE ? start : p.from, cases[i].from);
        assert_int_equal(r == -ERANGE ? end : p.size, cases[i].n);
    }
}

/* ---- web services ------------------------------------------------------------------------- */

static void assert_text(char *found, const char *expected)
{
    assert_non_null(found);
    assert_string_equal(found, expected);
    free(found);
}

static void test_the_list_of_files_is_that_of_hadoop(void **state)
{
    struct nm_yarn_log_file all[] = {
        {(char *)(uintptr_t) "a\nb\"<", 0, AT},
        {(char *)(uintptr_t) "bad\xff", 1, AT},
        {(char *)(uintptr_t) "\xc3\xa4", UINT64_C(21474836483), AT},
    };
    struct nm_yarn_log_files files = {.all = all, .n = 3};

    (void)state;
    assert_answer("HadoopContainerLogs", nm_yarn_log_list(&text, &files),
                  "{\"containerLogsInfo\":{\"containerLogInfo\":["
                  "{\"fileName\":\"a\\nb\\\"<\",\"fileSize\":\"0\",\"lastModifiedTime\":\"" AT_TEXT "\"},"
                  "{\"fileName\":\"\xc3\xa4\",\"fileSize\":\"21474836483\",\"lastModifiedTime\":\"" AT_TEXT "\"}],"
                  "\"logAggregationType\":\"LOCAL\",\"containerId\":\"" ID "\",\"nodeId\":\"node07:4711\"}}");
    files = (struct nm_yarn_log_files){.more = true};
    assert_answer("HadoopContainerLogs", nm_yarn_log_list(&text, &files),
                  "{\"containerLogsInfo\":{\"logAggregationType\":\"LOCAL\",\"containerId\":\"" ID
                  "\",\"nodeId\":\"node07:4711\",\"more\":true}}");
    assert_answer("HadoopContainerLogs", nm_yarn_log_list(&text, NULL), NULL);
}

static void test_a_file_has_the_head_and_trailer_of_hadoop(void **state)
{
    const struct nm_yarn_log_file f = {NULL, 15, AT};
    struct nm_yarn_log_text ended = text;

    (void)state;
    ended.is_running = false;
    assert_text(nm_yarn_log_before(&text, "a b", &f),
                "Container: " ID " on node07:4711\nLogAggregationType: LOCAL\n"
                "================================================================\n"
                "LogType:a b\nLogLastModifiedTime:" AT_TEXT "\nLogLength:15\nLogContents:\n");
    assert_text(nm_yarn_log_after(&text, "empty"),
                "End of LogType:empty.This log file belongs to a running container (" ID
                ") and so may not be complete.\n"
                "**********************************************************************\n\n");
    /* Java counts UTF-16 units: one for the umlaut, two for the emoji, and one for the byte that is no character. */
    assert_text(nm_yarn_log_after(&ended, "\xc3\xa4\xf0\x9f\x98\x80\xff"),
                "End of LogType:\xc3\xa4\xf0\x9f\x98\x80\xff.\n"
                "*********************************************************************\n\n");
}

/* ---- pages -------------------------------------------------------------------------------- */

#define HEAD(id) \
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Logs for " id "</title>\n" \
    "<style>body{font-family:sans-serif}h1{font-size:120%}</style>\n</head>\n<body>\n<h1>Logs for " id "</h1>\n"
#define END "</body>\n</html>\n"

static void test_pages_escape_names(void **state)
{
    struct nm_yarn_log_file all[] = {{(char *)(uintptr_t) "a<b>\"&'/\n\xff%", 7, AT}};
    struct nm_yarn_log_files files = {.all = all, .n = 1, .more = true};
    struct nm_yarn_log_text t = text;
    const struct nm_yarn_log_part part = {2, 5}, whole = {0, 7};

    (void)state;
    t.owner = "o.neil$";
    assert_text(nm_yarn_log_page(&t, &files),
                HEAD(ID) "<h2>Local Logs:</h2>\n<p>\n<a href=\"/node/containerlogs/" ID
                         "/o.neil%24/a%3Cb%3E%22%26%27%2F%0A%FF%25/?start=-4096\">a&#60;b&#62;&#34;&#38;&#39;/\n"
                         "\xef\xbf\xbd% : Total file length is 7 bytes.</a>\n"
                         "<p>There are more files. The page has the first 1 that were found.</p>\n" END);
    assert_text(nm_yarn_log_page(&text, NULL),
                HEAD(ID) "<h2>Local Logs:</h2>\n<p>No logs available for container " ID "</p>\n" END);
    assert_text(nm_yarn_log_page_before(&text, "a&b", &all[0], &part),
                HEAD(ID) "<p>\nShowing 5 bytes. Click\n<a href=\"/node/containerlogs/" ID
                         "/alice/a%26b/?start=0\">here</a>\nfor full log\n<pre>\n");
    assert_text(nm_yarn_log_page_before(&text, "a", &all[0], &whole), HEAD(ID) "<pre>\n");
    assert_text(nm_yarn_log_page_message("<x>", "a < b"), HEAD("&#60;x&#62;") "<p>a &#60; b</p>\n" END);
    assert_text(nm_yarn_log_segment("\xc3\xa4/.."), "%C3%A4%2F..");
}

/* ---- access control lists ----------------------------------------------------------------- */

static void test_access_control_lists_are_those_of_hadoop(void **state)
{
    static const struct {
        const char *acl, *user;
        bool allowed;
    } cases[] = {
        {NULL, "a", false},     {"", "a", false},      {" ", "a", false},  {"*", "a", true},   {" * ", "a", true},
        {"a", "a", true},       {"a", "b", false},     {"a,b", "b", true}, {"a b", "b", false}, {" a", "a", false},
        {"ab", "a", false},     {"a", "ab", false},    {"*a", "b", false}, {",a,", "a", true}, {"a,,b", "", false},
        {"a,b c,d", "b", true}, {"a b,*", "c", false},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        assert_int_equal(nm_yarn_acl_has_user(cases[i].acl, cases[i].user), cases[i].allowed);
}

/* The files are read once for each name, until one of them changes. Many names don't use more memory. */
static void check_memory(struct nm_yarn_local_groups *g, int fd, const char *dir)
{
    unsigned long long n = g->n_reads;
    char name[20];

    assert_int_equal(n, 4); /* ann, bob, eve and "" */
    assert_string_equal(nm_yarn_local_groups_find(g, "bob", dir), "staff");
    assert_int_equal(g->n_reads, n);
    assert_int_equal(nm_write_file_atomic_at(fd, "group", "staff:x:50:eve\nother:x:60:eve\nthree:x:3:\n", 0600), 0);
    assert_string_equal(nm_yarn_local_groups_find(g, "bob", dir), "");
    assert_string_equal(nm_yarn_local_groups_find(g, "eve", dir), "staff,other,three");
    assert_int_equal(g->n_reads, n + 2);
    for (unsigned i = 0; i < 2 * NM_YARN_LOCAL_GROUPS_MAX; i++) {
        (void)snprintf(name, sizeof name, "user%u", i);
        assert_string_equal(nm_yarn_local_groups_find(g, name, dir), "");
    }
    assert_string_equal(nm_yarn_local_groups_find(g, "eve", dir), "staff,other,three");
    assert_int_equal(g->n_reads, n + 3 + 2 * NM_YARN_LOCAL_GROUPS_MAX);
    assert_string_equal(nm_yarn_local_groups_find(g, "eve", "/nonexistent"), "");
}

static void test_groups_of_local_accounts_are_found(void **state)
{
    static const struct {
        const char *acl, *user;
        bool allowed;
    } cases[] = {
        {"x staff", "ann", true}, {"x staff", "bob", true}, {"x staff", "eve", false}, {" a,staff", "bob", true},
        {"staff", "ann", false},  {"x ", "ann", false},     {NULL, "ann", false},      {"x other", "ann", false},
        {" staff", "", false},    {"x none", "ann", false},
    };
    struct nm_yarn_local_groups g = {};
    char dir[] = "/tmp/nmd-acl.XXXXXX";
    int fd;

    (void)state;
    assert_non_null(mkdtemp(dir));
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(nm_write_file_atomic_at(fd, "passwd", "ann:x:1:50:::\nbob:x:2:2:::\neve:x:3:3:::\n", 0600), 0);
    assert_int_equal(nm_write_file_atomic_at(fd, "group", "staff:x:50:bob,dan\nother:x:60:\nthree:x:3:\n", 0600), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        assert_int_equal(nm_yarn_acl_has_group_of(cases[i].acl, nm_yarn_local_groups_find(&g, cases[i].user, dir)),
                         cases[i].allowed);
    assert_true(nm_yarn_acl_has_groups("x staff") && nm_yarn_acl_has_groups(" staff"));
    assert_false(nm_yarn_acl_has_groups("x ") || nm_yarn_acl_has_groups("x") || nm_yarn_acl_has_groups(NULL));
    check_memory(&g, fd, dir);
    nm_yarn_local_groups_done(&g);
    assert_int_equal(unlinkat(fd, "passwd", 0), 0);
    assert_int_equal(unlinkat(fd, "group", 0), 0);
    close(fd);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_counted_from_both_ends),
        cmocka_unit_test(test_parts_are_given_by_their_ends),
        cmocka_unit_test(test_the_list_of_files_is_that_of_hadoop),
        cmocka_unit_test(test_a_file_has_the_head_and_trailer_of_hadoop),
        cmocka_unit_test(test_pages_escape_names),
        cmocka_unit_test(test_access_control_lists_are_those_of_hadoop),
        cmocka_unit_test(test_groups_of_local_accounts_are_found),
    };

    setenv("TZ", "UTC", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
