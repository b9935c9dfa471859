/* SPDX-License-Identifier: Apache-2.0 */

/* localize/: parsing of the worker's input, and of the names in this input. The test fetches no resource. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "localize/name-nodes.h"
#include "localize/worker/entry-name.h"
#include "localize/worker/unpack.h"
#include "localize/worker/uri.h"
#include "localize/worker/webhdfs.h"
#include "localize/worker/work.h"
#include "util/macros.h"

#define RESOURCE(more) "{\"uri\":\"file:/a\",\"type\":\"FILE\",\"timestamp\":5,\"target\":\"/t/10\"" more "}"
#define WORK(resource) "{\"resources\":[" resource "]}"

static int parse(const char *text, struct nm_work *work, char **message)
{
    return nm_work_parse(text, strlen(text), work, message);
}

static void test_a_work_list_is_parsed(void **state)
{
    _cleanup_(nm_work_done) struct nm_work work = {0};

    (void)state;
    assert_int_equal(parse("{\"user\":\"alice\",\"name_nodes\":{\"c\":[\"http://a:1\",\"http://b:1\"]},"
                           "\"commands\":{\"s3a\":[\"get\",\"{uri}\"]},\"limits\":{\"fetch_bytes\":77,\"seconds\":2,"
                           "\"attempts\":1},\"resources\":[" RESOURCE("") ","
                           "{\"uri\":\"hdfs://c/j.jar\",\"type\":\"PATTERN\",\"pattern\":\".*\",\"timestamp\":0,"
                           "\"public\":true,\"target\":\"/t/11\"}]}",
                           &work, NULL), 0);
    assert_string_equal(work.user, "alice");
    assert_int_equal(work.limits.fetch_bytes, 77);
    assert_int_equal(work.limits.time_usec, 2 * NM_USEC_PER_SEC);
    assert_int_equal(work.limits.attempts, 1);
    assert_int_equal(work.limits.entries, 1000000);
    assert_int_equal(work.n_resources, 2);
    assert_string_equal(work.resources[0].uri, "file:/a");
    assert_int_equal(work.resources[0].type, NM_WORK_RESOURCE_FILE);
    assert_int_equal(work.resources[0].timestamp_msec, 5);
    assert_false(work.resources[0].is_public);
    assert_null(work.resources[0].pattern);
    assert_int_equal(work.resources[1].type, NM_WORK_RESOURCE_PATTERN);
    assert_string_equal(work.resources[1].pattern, ".*");
    assert_true(work.resources[1].is_public);
}

static void test_an_invalid_work_list_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"resources\":{}}",
        "{\"resources\":[],\"resources\":[]}",
        "{\"resources\":[],\"other\":1}",
        "{\"resources\":[],\"user\":1}",
        "{\"resources\":[],\"name_nodes\":[]}",
        "{\"resources\":[],\"name_nodes\":{\"c\":[]}}",
        "{\"resources\":[],\"name_nodes\":{\"c\":[1]}}",
        "{\"resources\":[],\"commands\":{\"s3\":[\"\"]}}",
        "{\"resources\":[],\"limits\":{\"ratio\":0}}",
        "{\"resources\":[],\"limits\":{\"seconds\":9223372036854775807}}",
        "{\"resources\":[],\"limits\":{\"seconds\":\"1\"}}",
        "{\"resources\":[],\"limits\":3}",
        WORK("1"),
        WORK(RESOURCE(",\"other\":1")),
        WORK(RESOURCE(",\"pattern\":\"x\"")),
        WORK(RESOURCE(",\"public\":1")),
        WORK("{\"uri\":\"file:/a\",\"type\":\"FILE\",\"timestamp\":-1,\"target\":\"/t/10\"}"),
        WORK("{\"uri\":\"file:/a\",\"type\":\"DIR\",\"timestamp\":1,\"target\":\"/t/10\"}"),
        WORK("{\"uri\":\"file:/a\",\"type\":\"FILE\",\"timestamp\":1,\"target\":\"t/10\"}"),
        WORK("{\"uri\":\"file:/a\",\"type\":\"FILE\",\"timestamp\":1,\"target\":\"/t/\"}"),
        WORK("{\"uri\":\"file:/a\",\"type\":\"FILE\",\"timestamp\":1,\"target\":\"/t/..\"}"),
        WORK("{\"uri\":\"file:/a\\u0000b\",\"type\":\"FILE\",\"timestamp\":1,\"target\":\"/t/10\"}"),
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(texts); i++) {
        _cleanup_free_ char *message = NULL;
        struct nm_work work = {.n_resources = 99};

        if (parse(texts[i], &work, &message) != -EBADMSG)
            fail_msg("accepted as a work list: %s", texts[i]);
        assert_non_null(message);
        assert_int_equal(work.n_resources, 99);
    }
}

/* Names of hosts are compared without regard to case, names of services with regard to case. */
static void test_host_names_ignore_case_and_service_names_do_not(void **state)
{
    static const struct {
        const char *prefix, *host;
        unsigned port;
        bool is_exact;
        const char *found; /* NULL: no name node is found */
    } cases[] = {
        {"", "ns", 0, false, "service"},       {"", "NS", 0, false, NULL},
        {"", "Nn", 9000, false, "first"},      {"", "nn", 9001, false, "second"},
        {"", "NN", 9001, false, "second"},     {"", "NN", 8020, false, "first"},
        {"", "NN", 0, false, "first"},         {"", "NN", 9870, true, NULL},
        {"", "nn", 9870, true, NULL},          {"", "n", 9000, false, NULL},
        {"swebhdfs://", "NN", 0, false, "tls"}, {"", "ns", 8020, false, "service"},
    };
    json_t *all = json_pack("{s:s, s:s, s:s, s:s, s:s}", "ns", "service", "nn", "first", "nn:9000", "first", "nn:9001",
                            "second", "swebhdfs://nn:9000", "tls");

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        json_t *found = nm_name_nodes_find(all, cases[i].prefix, cases[i].host, cases[i].port, cases[i].is_exact);

        assert_int_equal(found != NULL, cases[i].found != NULL);
        if (found)
            assert_string_equal(json_string_value(found), cases[i].found);
    }
    json_decref(all);
}

static void test_uris_are_parsed(void **state)
{
    static const struct {
        const char *text;
        enum nm_uri_scheme scheme;
        const char *host;
        unsigned port;
        const char *path, *name;
    } cases[] = {
        {"file:///a/b", NM_URI_FILE, NULL, 0, "/a/b", "b"},
        {"file:/a/b", NM_URI_FILE, NULL, 0, "/a/b", "b"},
        {"FILE:///a%20b", NM_URI_FILE, NULL, 0, "/a b", "a b"},
        {"http://h/x?y=/z", NM_URI_HTTP, "h", 0, "/x", "x"},
        {"https://h:8443/a/../x", NM_URI_HTTP, "h", 8443, "/a/../x", "x"},
        {"hdfs://nn:8020/user/alice/job.jar", NM_URI_HDFS, "nn", 8020, "/user/alice/job.jar", "job.jar"},
        {"webhdfs://[::1]:9870/x", NM_URI_WEBHDFS, "[::1]", 9870, "/x", "x"},
        {"webhdfs://[0:0:0::1]:9870/x", NM_URI_WEBHDFS, "[::1]", 9870, "/x", "x"},
        {"hdfs://[2001:DB8::2]/x", NM_URI_HDFS, "[2001:db8::2]", 0, "/x", "x"},
        {"hdfs://[FE80::1%25eth0]:8020/x", NM_URI_HDFS, "[fe80::1]", 8020, "/x", "x"},
        {"hdfs:///user/a%20b.jar", NM_URI_HDFS, NULL, 0, "/user/a b.jar", "a b.jar"},
        {"HDFS:/user/x", NM_URI_HDFS, NULL, 0, "/user/x", "x"},
        {"webhdfs:///a/../x", NM_URI_WEBHDFS, NULL, 0, "/a/../x", "x"},
        {"SWebHDFS://nn:9871/x", NM_URI_WEBHDFS, "nn", 9871, "/x", "x"},
        {"s3a://bucket_1/a/b%2Bc", NM_URI_OTHER, NULL, 0, NULL, "b+c"},
        {"wasb:x", NM_URI_OTHER, NULL, 0, NULL, "x"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_(nm_uri_done) struct nm_uri uri = {0};

        if (nm_uri_parse(cases[i].text, &uri, NULL) != 0)
            fail_msg("not accepted as a URI: %s", cases[i].text);
        assert_int_equal(uri.scheme, cases[i].scheme);
        assert_int_equal(uri.has_tls, nm_streq(uri.word, "swebhdfs"));
        assert_string_equal(uri.host ? uri.host : "", cases[i].host ? cases[i].host : "");
        assert_int_equal(uri.port, cases[i].port);
        assert_string_equal(uri.path ? uri.path : "", cases[i].path ? cases[i].path : "");
        assert_string_equal(uri.name, cases[i].name);
    }
}

static void test_invalid_uris_are_refused(void **state)
{
    static const char *const texts[] = {
        "",           "/a/b",        "a b:/x",    "file:///",      "file:///a/",    "hdfs://h",      "hdfs://h/a/..",
        "http://h/.", "file:///a%00", "s3:",      "s3:/a/",        "s3://a/%2e%2e", "s3://a/x%2Fy",  "s3://a/x%00y",
        "1s:/x",      "hdfs://h:99999/x", "file:///a%0ab", "file:///a%2F", "http://h/%2e%2e", "http:///h/x",
        "https:/h/x", "hdfs://:8020/x", "hdfs:x", "hdfs:///", "hdfs://u@/x",
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(texts); i++) {
        _cleanup_free_ char *message = NULL;
        struct nm_uri uri = {.port = 99};

        if (nm_uri_parse(texts[i], &uri, &message) != -EINVAL)
            fail_msg("accepted as a URI: %s", texts[i]);
        assert_non_null(message);
        assert_int_equal(uri.port, 99);
    }
}

static void test_a_redirect_in_a_webhdfs_reply_is_parsed(void **state)
{
    _cleanup_free_ char *mended = NULL;

    (void)state;
    assert_int_equal(nm_webhdfs_fix_location("http://d:1/w?op=OPEN&user.name=a%2540c%2524&o=0", "a@c$", &mended), 1);
    assert_string_equal(mended, "http://d:1/w?op=OPEN&user.name=a%40c%24&o=0");
    assert_int_equal(nm_webhdfs_fix_location("http://d:1/w?user.name=a%40c", "a@c", &mended), 0);
    assert_int_equal(nm_webhdfs_fix_location("http://d:1/w?user.name=a%2540cd", "a@c", &mended), 0);
    assert_int_equal(nm_webhdfs_fix_location("http://d:1/w?user.name=alice", "alice", &mended), 0);
    assert_int_equal(nm_webhdfs_fix_location("http://d:1/w?op=OPEN", "a@c", &mended), 0);
    assert_int_equal(nm_webhdfs_fix_location("http://d:1/user.name=a%2540c", "a@c", &mended), 0);
    assert_int_equal(nm_webhdfs_fix_location("http://d:1/w", NULL, &mended), 0);
}

#define STATUS(type, length, modified, mode) \
    "{\"FileStatus\":{\"accessTime\":1,\"type\":\"" type "\",\"length\":" length ",\"modificationTime\":" modified \
    ",\"permission\":\"" mode "\"}}"

static void test_a_file_status_in_a_webhdfs_reply_is_parsed(void **state)
{
    static const char *const bad[] = {
        "", "{}", "{\"FileStatus\":{}}", STATUS("FILE", "-1", "1", "644"), STATUS("FILE", "1", "-1", "644"),
        STATUS("FILE", "1", "1", "689"), STATUS("FILE", "1", "1", ""), STATUS("SYMLINK", "1", "1", "777"),
        STATUS("FILE", "\"1\"", "1", "644"), STATUS("FILE", "1", "1", "17777")};
    struct nm_webhdfs_status status;

    (void)state;
#define PARSE(text) nm_webhdfs_parse_status(text, strlen(text), &status)
    assert_int_equal(PARSE(STATUS("FILE", "24930", "1700000000123", "644")), 0);
    assert_false(status.is_directory);
    assert_int_equal(status.length_bytes, 24930);
    assert_int_equal(status.modified_msec, 1700000000123);
    assert_int_equal(status.mode, 0644);
    assert_int_equal(PARSE(STATUS("DIRECTORY", "0", "0", "1777")), 0);
    assert_true(status.is_directory);
    assert_int_equal(status.mode, 0777);
    status.mode = 99;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++)
        assert_int_equal(PARSE(bad[i]), -EBADMSG);
    assert_int_equal(status.mode, 99);
#undef PARSE
}

#define LIST(entries) "{\"FileStatuses\":{\"FileStatus\":[" entries "]}}"
#define ENTRY(name) \
    "{\"pathSuffix\":" name ",\"type\":\"FILE\",\"length\":1,\"modificationTime\":2,\"permission\":\"644\"}"

/* Names in a listing that would lead out of the directory are refused. */
static void test_names_in_a_webhdfs_listing_stay_inside_the_directory(void **state)
{
    static const char *const bad[] = {
        "", "[]", "{}", "{\"FileStatuses\":{}}", "{\"FileStatuses\":{\"FileStatus\":{}}}", LIST("1"), LIST("{}"),
        LIST(ENTRY("\"\"")), LIST(ENTRY("\".\"")), LIST(ENTRY("\"..\"")), LIST(ENTRY("\"a/b\"")), LIST(ENTRY("\"/a\"")),
        LIST(ENTRY("7")), LIST(ENTRY("\"a\"") ",{\"pathSuffix\":\"b\"}"), LIST(ENTRY("\"a\\u0000b\""))};
    static const char good[] = LIST(ENTRY("\"a b\"") "," ENTRY("\"...\""));
    struct nm_webhdfs_list list = {.n = 99};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++)
        if (nm_webhdfs_parse_list(bad[i], strlen(bad[i]), &list) != -EBADMSG)
            fail_msg("%s", bad[i]);
    assert_int_equal(list.n, 99);
    assert_int_equal(nm_webhdfs_parse_list(good, strlen(good), &list), 0);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.all[0].name, "a b");
    assert_string_equal(list.all[1].name, "...");
    assert_int_equal(list.all[1].status.modified_msec, 2);
    nm_webhdfs_list_done(&list);
    assert_int_equal(nm_webhdfs_parse_list(LIST(""), strlen(LIST("")), &list), 0);
    assert_int_equal(list.n, 0);
    nm_webhdfs_list_done(&list);
}

static void test_the_error_in_a_webhdfs_reply_is_reported(void **state)
{
    static const char standby[] = "{\"RemoteException\":{\"exception\":\"StandbyException\",\"javaClassName\":\"x\","
                                  "\"message\":\"Operation category READ is not supported in state standby\"}}";
    _cleanup_free_ char *class = NULL, *text = NULL, *url = NULL, *part = NULL;

    (void)state;
    assert_int_equal(nm_webhdfs_parse_exception(standby, strlen(standby), &class, &text), 0);
    assert_string_equal(class, "StandbyException");
    assert_int_equal(strncmp(text, "Operation", 9), 0);
    assert_int_equal(nm_webhdfs_parse_exception("{}", 2, &class, &text), -EBADMSG);
    assert_int_equal(nm_webhdfs_url("http://h:1", "/a b/c?d&e", strlen("/a b/c?d&e"), "OPEN", "al&ice", &url), 0);
    assert_string_equal(url, "http://h:1/webhdfs/v1/a%20b/c%3Fd%26e?op=OPEN&user.name=al%26ice");
    assert_int_equal(nm_webhdfs_url("http://h:1", "/a/b", 2, "GETFILESTATUS", NULL, &part), 0);
    assert_string_equal(part, "http://h:1/webhdfs/v1/a?op=GETFILESTATUS");
}

static void assert_clean(const char *name, const char *expected)
{
    char path[PATH_MAX];

    assert_int_equal(nm_entry_name_normalize(name, path), 0);
    assert_string_equal(path, expected);
}

static void test_names_that_lead_out_of_the_directory_are_refused(void **state)
{
    char path[PATH_MAX] = "untouched", deep[2 * NM_ENTRY_NAME_MAX_DEPTH + 3] = "";

    (void)state;
    assert_int_equal(nm_entry_name_normalize("../x", path), -EXDEV);
    assert_int_equal(nm_entry_name_normalize("/..", path), -EXDEV);
    assert_int_equal(nm_entry_name_normalize("a/b/../../../x", path), -EXDEV);
    for (int i = 0; i <= NM_ENTRY_NAME_MAX_DEPTH; i++)
        (void)strcat(deep, "d/");
    assert_int_equal(nm_entry_name_normalize(deep, path), -ENAMETOOLONG);
    assert_string_equal(path, "untouched");
    assert_int_equal(nm_entry_name_normalize(deep + 2, path), 0);
    assert_clean("./a//b/./..c/", "a/b/..c");
    assert_clean("./", "");
    assert_clean("/etc/passwd", "etc/passwd");
    assert_clean("a/../b", "b");
    assert_clean("a/bc/../../d/..", "");
    assert_clean("a/bc/../d", "a/d");
}

static void test_links_that_lead_out_of_the_directory_are_refused(void **state)
{
    (void)state;
    assert_true(nm_entry_link_is_safe("b"));
    assert_true(nm_entry_link_is_safe("./x//y..z/"));
    assert_false(nm_entry_link_is_safe(".."));
    assert_false(nm_entry_link_is_safe("a/../b"));
    assert_false(nm_entry_link_is_safe("/etc"));
    assert_false(nm_entry_link_is_safe(""));
}

static void test_archives_are_recognized_by_name(void **state)
{
    (void)state;
    assert_int_equal(nm_archive_kind("a.JAR"), NM_ARCHIVE_JAR);
    assert_int_equal(nm_archive_kind("a.zip"), NM_ARCHIVE_ZIP);
    assert_int_equal(nm_archive_kind("a.tar.gz"), NM_ARCHIVE_TAR);
    assert_int_equal(nm_archive_kind("a.Tgz"), NM_ARCHIVE_TAR);
    assert_int_equal(nm_archive_kind("a.tar.xz"), NM_ARCHIVE_TAR);
    assert_int_equal(nm_archive_kind("a.tar.bz2"), NM_ARCHIVE_NONE);
    assert_int_equal(nm_archive_kind(".jar"), NM_ARCHIVE_NONE);
    assert_int_equal(nm_archive_kind("jar"), NM_ARCHIVE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_work_list_is_parsed),
        cmocka_unit_test(test_an_invalid_work_list_is_refused),
        cmocka_unit_test(test_a_redirect_in_a_webhdfs_reply_is_parsed),
        cmocka_unit_test(test_uris_are_parsed),
        cmocka_unit_test(test_host_names_ignore_case_and_service_names_do_not),
        cmocka_unit_test(test_invalid_uris_are_refused),
        cmocka_unit_test(test_a_file_status_in_a_webhdfs_reply_is_parsed),
        cmocka_unit_test(test_names_in_a_webhdfs_listing_stay_inside_the_directory),
        cmocka_unit_test(test_the_error_in_a_webhdfs_reply_is_reported),
        cmocka_unit_test(test_names_that_lead_out_of_the_directory_are_refused),
        cmocka_unit_test(test_links_that_lead_out_of_the_directory_are_refused),
        cmocka_unit_test(test_archives_are_recognized_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
