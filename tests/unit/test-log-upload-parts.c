/* SPDX-License-Identifier: Apache-2.0 */

/* The parts of nm-log-uploader without I/O: names, reports, work, memory, selection of files. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "aggregate/upload-names.h"
#include "aggregate/upload-protocol.h"
#include "aggregate/worker/upload-memory.h"
#include "aggregate/worker/upload-select.h"
#include "aggregate/worker/upload-work.h"
#include "util/error.h"
#include "util/fileio.h"

#define APPLICATION "application_1700000000000_10042"
#define CONTAINER "container_1700000000000_10042_01_000001"

/* ---- names ----------------------------------------------------------------------------------- */

static void test_directories_have_hadoops_layout(void **state)
{
    static const char *const expected[] = {
        "/tmp/logs", "/tmp/logs/alice", "/tmp/logs/alice/bucket-logs-tfile", "/tmp/logs/alice/bucket-logs-tfile/0042",
        "/tmp/logs/alice/bucket-logs-tfile/0042/" APPLICATION};

    (void)state;
    for (unsigned i = 0; i <= NM_UPLOAD_DEPTH; i++) {
        _cleanup_free_ char *dir = nm_upload_names_dir("/tmp/logs", "alice", "logs-tfile", APPLICATION, i);
        _cleanup_free_ char *slash = nm_upload_names_dir("/tmp/logs//", "alice", "logs-tfile", APPLICATION, i);

        assert_string_equal(dir, expected[i]);
        assert_string_equal(slash, expected[i]);
    }
    {
        _cleanup_free_ char *root = nm_upload_names_dir("/", "alice", "x", APPLICATION, 1);

        assert_string_equal(root, "/alice");
    }
}

static void test_names_of_a_node_are_recognized(void **state)
{
    static const struct {
        const char *name;
        bool is_found;
        uint64_t msec;
    } names[] = {
        {"node01_8041", true, 0},      {"node01_8041_1700000000123", true, 1700000000123},
        {"node01_8041.tmp", false, 0}, {"node01_8041_17.tmp", false, 0},
        {"node01_80412", false, 0},    {"node01_8041-checksum", false, 0},
        {"node02_8041", false, 0},     {"node01", false, 0},
        {"", false, 0},                {"node01_8041_", false, 0},
    };
    _cleanup_free_ char *plain = nm_upload_names_file("node01:8041", 0);
    _cleanup_free_ char *timed = nm_upload_names_file("node01:8041", 1700000000123);

    (void)state;
    assert_string_equal(plain, "node01_8041");
    assert_string_equal(timed, "node01_8041_1700000000123");
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++) {
        uint64_t msec = 7;

        assert_int_equal(nm_upload_names_is_file_of(names[i].name, "node01:8041", &msec), names[i].is_found);
        assert_int_equal(msec, names[i].is_found ? names[i].msec : 7);
    }
}

static void test_invalid_ids_are_refused(void **state)
{
    static const char *const applications[] = {"", "application_1", "application_1_", "application_1_2x",
                                               "application_1_2/..", "container_1_2", "application_x_2"};
    static const char *const nodes[] = {"", "node", ":1", "node:", "node:x", "node:70000", "a/b:1", "..:1", "a b:1"};
    static const char *const suffixes[] = {"", "a/b", "/"};

    (void)state;
    assert_true(nm_upload_names_is_application(APPLICATION));
    assert_true(nm_upload_names_is_node("node01.example:8041"));
    assert_true(nm_upload_names_is_suffix("logs-tfile"));
    for (size_t i = 0; i < NM_ARRAY_SIZE(applications); i++)
        assert_false(nm_upload_names_is_application(applications[i]));
    for (size_t i = 0; i < NM_ARRAY_SIZE(nodes); i++)
        assert_false(nm_upload_names_is_node(nodes[i]));
    for (size_t i = 0; i < NM_ARRAY_SIZE(suffixes); i++)
        assert_false(nm_upload_names_is_suffix(suffixes[i]));
}

/* ---- reports --------------------------------------------------------------------------------- */

static int parse_reply(const char *text, struct nm_upload_reply *ret)
{
    return nm_upload_reply_parse(text, strlen(text), ret);
}

static void test_reports_are_parsed(void **state)
{
    struct nm_upload_reply reply;

    (void)state;
    assert_int_equal(parse_reply("{\"state\":\"uploading\",\"bytes\":1,\"total\":2}", &reply), 0);
    assert_int_equal(reply.state, NM_UPLOAD_UPLOADING);
    assert_int_equal(reply.bytes, 1);
    assert_int_equal(reply.total_bytes, 2);
    assert_string_equal(reply.text, "");
    nm_upload_reply_done(&reply);
    assert_int_equal(parse_reply("{\"state\":\"note\",\"text\":\"a\"}", &reply), 0);
    assert_int_equal(reply.state, NM_UPLOAD_NOTE);
    assert_string_equal(reply.text, "a");
    nm_upload_reply_done(&reply);
    assert_int_equal(parse_reply("{\"state\":\"done\",\"bytes\":5,\"files\":3,\"name\":\"n\"}", &reply), 0);
    assert_int_equal(reply.state, NM_UPLOAD_DONE);
    assert_int_equal(reply.n_files, 3);
    assert_string_equal(reply.name, "n");
    nm_upload_reply_done(&reply);
    assert_int_equal(
        parse_reply("{\"state\":\"failed\",\"error\":\"e\",\"temporary\":true,\"full\":false}", &reply), 0);
    assert_int_equal(reply.state, NM_UPLOAD_FAILED);
    assert_true(reply.is_temporary);
    assert_false(reply.is_full);
    assert_string_equal(reply.text, "e");
    nm_upload_reply_done(&reply);
}

static void test_forged_reports_are_refused(void **state)
{
    static const char *const bad[] = {
        "", "{}", "[]", "{\"state\":\"done\"}", "{\"state\":\"finished\"}", "{\"state\":1}",
        "{\"state\":\"uploading\",\"bytes\":-1,\"total\":2}", "{\"state\":\"note\",\"text\":\"a\",\"more\":1}",
        "{\"state\":\"done\",\"bytes\":5,\"files\":-3,\"name\":\"n\"}", "{\"state\":\"note\",\"text\":\"a\"} x",
        "{\"state\":\"done\",\"bytes\":5,\"files\":131073,\"name\":\"n\"}",
        "{\"state\":\"failed\",\"error\":\"e\"}", "{\"state\":\"note\",\"state\":\"note\",\"text\":\"a\"}"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        struct nm_upload_reply reply = {.bytes = 99};

        assert_int_equal(parse_reply(bad[i], &reply), -EBADMSG);
        assert_int_equal(reply.bytes, 99);
    }
}

/* ---- work ------------------------------------------------------------------------------------ */

#define HEAD "{\"application\":\"" APPLICATION "\",\"user\":\"alice\",\"node\":\"n:1\",\"suffix\":\"s\","
#define BODY "\"format\":\"TFile\",\"log_dirs\":[\"/l\"],\"containers\":[{\"id\":\"" CONTAINER "\",\"running\":true}],"
#define TAIL "\"remote\":\"hdfs://c/tmp/logs/\",\"upload_msec\":5"

static int parse_work(const char *text, struct nm_upload_work *ret, char **ret_message)
{
    return nm_upload_work_parse(text, strlen(text), ret, ret_message);
}

static void test_work_is_parsed(void **state)
{
    _cleanup_(nm_upload_work_done) struct nm_upload_work work = {0};
    _cleanup_free_ char *message = NULL;

    (void)state;
    assert_int_equal(parse_work(HEAD BODY TAIL ",\"rolling\":true,\"max_files\":30,\"exclude\":\"x\",\"name_nodes\":"
                                               "{\"c\":[\"http://h:1\"]},\"limits\":{\"seconds\":7}}",
                                &work, &message), 0);
    assert_string_equal(work.remote.path, "/tmp/logs");
    assert_string_equal(work.remote.host, "c");
    assert_int_equal(work.remote.scheme, NM_URI_HDFS);
    assert_int_equal(work.n_containers, 1);
    assert_true(work.containers[0].is_running);
    assert_string_equal(work.log_dirs[0], "/l");
    assert_true(work.is_rolling);
    assert_false(work.is_final);
    assert_false(work.is_indexed);
    assert_int_equal(work.max_files, 30);
    assert_string_equal(work.exclude, "x");
    assert_string_equal(work.rolled_exclude, "");
    assert_int_equal(work.time_usec, 7 * NM_USEC_PER_SEC);
    assert_int_equal(work.idle_usec, 60 * NM_USEC_PER_SEC);
}

static void test_work_that_only_prepares_needs_no_application(void **state)
{
    _cleanup_(nm_upload_work_done) struct nm_upload_work work = {0};

    (void)state;
    assert_int_equal(parse_work("{\"prepare\":true,\"remote\":\"file:///srv/logs\",\"remote_owner\":\"yarn\"}", &work,
                                NULL), 0);
    assert_true(work.prepares);
    assert_string_equal(work.remote_owner, "yarn");
    assert_string_equal(work.remote.path, "/srv/logs");
}

static void test_invalid_work_is_refused(void **state)
{
    static const struct {
        const char *text, *reason;
    } bad[] = {
        {"", "not valid JSON"},
        {"{}", "remote"},
        {HEAD BODY TAIL ",\"more\":1}", "unknown member: more"},
        {HEAD BODY "\"remote\":\"http://h/x\",\"upload_msec\":5}", "can't be uploaded to http://h/x"},
        {HEAD BODY "\"remote\":\"s3a://h/x\",\"upload_msec\":5}", "can't be uploaded to s3a://h/x"},
        {HEAD BODY "\"remote\":\"logs\",\"upload_msec\":5}", "invalid URI"},
        {HEAD BODY "\"remote\":\"file:///x\",\"upload_msec\":0}", "must be above 0"},
        {HEAD BODY "\"remote\":\"file:///x\"}", "upload_msec"},
        {HEAD BODY TAIL ",\"user\":\"../bob\"}", "duplicate"},
        {HEAD BODY TAIL ",\"name_nodes\":{\"c\":[]}}", "no list of strings for c"},
        {HEAD BODY TAIL ",\"name_nodes\":[]}", "not an object"},
        {HEAD BODY TAIL ",\"limits\":{\"seconds\":-1}}", "\"seconds\" must be"},
        {HEAD BODY TAIL ",\"limits\":{\"attempts\":1}}", "attempts"},
        {HEAD "\"format\":\"IFile\",\"log_dirs\":[],\"containers\":[]," TAIL "}", "must be TFile or IndexedFile"},
        {HEAD "\"format\":\"TFile\",\"log_dirs\":[\"l\"],\"containers\":[]," TAIL "}", "not an absolute path"},
        {HEAD "\"format\":\"TFile\",\"log_dirs\":[],\"containers\":[{\"id\":\"..\"}]," TAIL "}", "id of a container"},
        {HEAD "\"format\":\"TFile\",\"log_dirs\":[],\"containers\":[{\"id\":\"a/b\"}]," TAIL "}", "id of a container"},
        {HEAD "\"format\":\"TFile\",\"log_dirs\":[],\"containers\":[{\"run\":1}]," TAIL "}", "container is invalid"},
        {"{\"application\":\"a\",\"user\":\"alice\",\"node\":\"n:1\",\"suffix\":\"s\"," BODY TAIL "}",
         "of an application"},
        {"{\"application\":\"" APPLICATION "\",\"user\":\"../b\",\"node\":\"n:1\",\"suffix\":\"s\"," BODY TAIL "}",
         "\"user\""},
        {"{\"application\":\"" APPLICATION "\",\"user\":\"b\",\"node\":\"n\",\"suffix\":\"s\"," BODY TAIL "}",
         "HOST:PORT"},
        {"{\"application\":\"" APPLICATION "\",\"user\":\"b\",\"node\":\"n:1\",\"suffix\":\"/\"," BODY TAIL "}",
         "suffix"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        struct nm_upload_work work = {.upload_msec = 99};
        _cleanup_free_ char *message = NULL;

        assert_int_equal(parse_work(bad[i].text, &work, &message), -EBADMSG);
        assert_int_equal(work.upload_msec, 99);
        assert_non_null(message);
        if (!strstr(message, bad[i].reason))
            fail_msg("not because of '%s': %s", bad[i].reason, message);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_a_memory_is_printed_and_parsed(void **state)
{
    struct nm_upload_memory memory = {0}, again = {0};
    _cleanup_free_ char *text = NULL;
    size_t size = 0;

    (void)state;
    assert_int_equal(nm_upload_memory_set_upload(&memory, 5, "n_1_5", 100, 60, 2), 0);
    assert_int_equal(nm_upload_memory_add(&memory, CONTAINER, 9, 50, UINT64_MAX), 0);
    assert_int_equal(nm_upload_memory_add(&memory, "other", 3, 10, 4), 0);
    assert_int_equal(nm_upload_memory_print(&memory, &text, &size), 0);
    assert_int_equal(nm_upload_memory_parse(text, size, &again), 0);
    assert_int_equal(again.upload_msec, 5);
    assert_int_equal(again.remote_bytes, 100);
    assert_int_equal(again.log_bytes, 60);
    assert_int_equal(again.n_files, 2);
    assert_string_equal(again.remote_name, "n_1_5");
    assert_int_equal(again.n, 2);
    assert_int_equal(again.entries[0].inode, 3);
    assert_int_equal(nm_upload_memory_search(&again, 9), 1);
    assert_string_equal(again.entries[1].container, CONTAINER);
    assert_true(again.entries[1].bytes == 50 && again.entries[1].fingerprint == UINT64_MAX);
    for (size_t cut = 0; cut + 1 < size; cut++) { /* the last newline isn't needed */
        struct nm_upload_memory partial = {.n_files = 99};

        assert_int_equal(nm_upload_memory_parse(text, cut, &partial), -EBADMSG);
        assert_int_equal(partial.n_files, 99);
    }
    nm_upload_memory_done(&memory);
    nm_upload_memory_done(&again);
}

static void test_the_size_of_a_memory_is_limited(void **state)
{
    struct nm_upload_memory memory = {0};
    int r = 0;

    (void)state;
    for (size_t i = 0; i < NM_UPLOAD_MEMORY_MAX_ENTRIES; i++)
        r |= nm_upload_memory_add(&memory, CONTAINER, i, 0, 0);
    assert_int_equal(r, 0);
    assert_int_equal(memory.n_containers, 1);
    assert_int_equal(nm_upload_memory_add(&memory, CONTAINER, 1, 0, 0), -E2BIG);
    nm_upload_memory_done(&memory);
}

static void test_a_fingerprint_distinguishes_contents(void **state)
{
    char path[] = "/tmp/nmd-test-fingerprint.XXXXXX", text[10000];
    _cleanup_close_ int fd = mkstemp(path);
    uint64_t first, second;

    (void)state;
    memset(text, 'x', sizeof text);
    assert_true(fd >= 0 && unlink(path) == 0);
    assert_int_equal(nm_write_all(fd, text, sizeof text), 0);
    assert_int_equal(nm_upload_fingerprint(fd, 9000, &first), 0);
    assert_int_equal(nm_write_all(fd, text, sizeof text), 0);
    assert_int_equal(nm_upload_fingerprint(fd, 9000, &second), 0);
    assert_true(first == second); /* more bytes at the end make no difference */
    assert_int_equal(nm_pwrite_all(fd, "y", 1, 8999), 0);
    assert_int_equal(nm_upload_fingerprint(fd, 9000, &second), 0);
    assert_true(first != second);
    assert_int_equal(nm_pwrite_all(fd, "x", 1, 8999), 0);
    assert_int_equal(nm_pwrite_all(fd, "y", 1, 0), 0);
    assert_int_equal(nm_upload_fingerprint(fd, 9000, &second), 0);
    assert_true(first != second);
    assert_int_equal(ftruncate(fd, 8000), 0);
    assert_int_equal(nm_pwrite_all(fd, "x", 1, 0), 0);
    assert_int_equal(nm_upload_fingerprint(fd, 9000, &second), 0);
    assert_true(first != second);
}

/* ---- selection ------------------------------------------------------------------------------- */

static void test_patterns_select_files(void **state)
{
    static const struct {
        const char *include, *exclude, *rolled_include, *rolled_exclude, *name;
        bool is_running, is_selected;
    } cases[] = {
        {"", "", "", "", "stdout", false, true},
        {"", "", "", "", "stdout", true, false},
        {"out", "", "", "", "stdout", false, true}, /* it is found, not matched as a whole */
        {"^out", "", "", "", "stdout", false, false},
        {"std.*", "err$", "", "", "stderr", false, false},
        {"std.*", "err$", "", "", "stdout", false, true},
        {"", "", "syslog", "", "syslog.1", true, true},
        {"", "", "syslog", "", "stdout", true, false},
        {"", "", "syslog", "\\.\\d", "syslog.1", true, false},
        {"stdout", "", "syslog", "", "syslog.1", false, true}, /* rolled files of ended containers, too */
        {"", "syslog", "syslog", "", "syslog.1", false, true},
        {"[", "", "", "", "stdout", false, true}, /* an invalid pattern hides no logs */
        {"", "[", "", "", "stdout", false, true},
        {"", "", "[", "", "stdout", true, false},
        {"(a|a)*[bd]", "", "", "", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false, true},
    };
    _cleanup_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        const struct nm_upload_work work = {.include = cases[i].include, .exclude = cases[i].exclude,
                                            .rolled_include = cases[i].rolled_include,
                                            .rolled_exclude = cases[i].rolled_exclude};
        struct nm_upload_report report = {.fd = null};
        struct nm_upload_select select;

        assert_int_equal(nm_upload_select_init(&select, &work, &report), 0);
        if (nm_upload_select_match(&select, cases[i].name, cases[i].is_running) != cases[i].is_selected)
            fail_msg("case %zu: %s", i, cases[i].name);
        nm_upload_select_done(&select);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directories_have_hadoops_layout),
        cmocka_unit_test(test_names_of_a_node_are_recognized),
        cmocka_unit_test(test_invalid_ids_are_refused),
        cmocka_unit_test(test_reports_are_parsed),
        cmocka_unit_test(test_forged_reports_are_refused),
        cmocka_unit_test(test_work_is_parsed),
        cmocka_unit_test(test_work_that_only_prepares_needs_no_application),
        cmocka_unit_test(test_invalid_work_is_refused),
        cmocka_unit_test(test_a_memory_is_printed_and_parsed),
        cmocka_unit_test(test_the_size_of_a_memory_is_limited),
        cmocka_unit_test(test_a_fingerprint_distinguishes_contents),
        cmocka_unit_test(test_patterns_select_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
