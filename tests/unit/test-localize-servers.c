/* SPDX-License-Identifier: Apache-2.0 */

/* Complete runs of localize/worker/worker.h, each in a separate process, against web servers and name nodes. Some of
 * these servers are malicious. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <inttypes.h>

#include "localize/worker/fetch.h"
#include "localize/worker/http.h"
#include "tests/unit/canned-server.h"
#include "tests/unit/worker-run.h"
#include "util/clock.h"

static struct canned_server server;

#define FILLER_64 "................................................................"
#define FILLER_1024 \
    FILLER_64 FILLER_64 FILLER_64 FILLER_64 FILLER_64 FILLER_64 FILLER_64 FILLER_64 \
    FILLER_64 FILLER_64 FILLER_64 FILLER_64 FILLER_64 FILLER_64 FILLER_64 FILLER_64
#define EXCEPTION(status, class) \
    "HTTP/1.1 " status "\r\nContent-Type: application/json\r\n\r\n" \
    "{\"RemoteException\":{\"exception\":\"" class "\",\"message\":\"words\\nstack\"}}"
#define FILE_STATUS(type, length, mode) \
    "HTTP/1.1 200 OK\r\n\r\n{\"FileStatus\":{\"type\":\"" type "\",\"length\":" length \
    ",\"modificationTime\":" MODIFIED ",\"permission\":\"" mode "\"}}"

#define LIST(entries) "HTTP/1.1 200 OK\r\n\r\n{\"FileStatuses\":{\"FileStatus\":[" entries "]}}"
#define ENTRY(name, type, length, mode) \
    "{\"pathSuffix\":\"" name "\",\"type\":\"" type "\",\"length\":" length \
    ",\"modificationTime\":1,\"permission\":\"" mode "\"}"

/* The server's replies. The server acts as name node, data node and web server at the same time; /s is a standby name
 * node. */
static void make_table(unsigned port, struct canned *table)
{
    const struct canned rows[] = {
        {"GET /good ", "HTTP/1.1 200 OK\r\nLast-Modified: Tue, 14 Nov 2023 22:13:20 GMT\r\n\r\nhello", 0},
        {"GET /short ", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", 0},
        {"GET /busy ", "HTTP/1.1 503 Later\r\n\r\n", 0},
        {"GET /moved ", print("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%u/good\r\n\r\n", port), 0},
        {"GET /round ", "HTTP/1.1 302 Found\r\nLocation: /round\r\n\r\n", 0},
        {"GET /to-file ", "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n", 0},
        {"GET /large ", print("HTTP/1.1 200 OK\r\n\r\n%0100000d", 7), 0},
        {"GET /hang ", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", CANNED_HANG},
        {"GET /endless ", "HTTP/1.1 200 OK\r\n\r\n" FILLER_1024, CANNED_ENDLESS},
        {"GET /headers ", "HTTP/1.1 200 OK\r\nX: " FILLER_1024, CANNED_ENDLESS},
        {"GET /refuses-long ", "HTTP/1.1 404 No\r\n\r\n" FILLER_1024, CANNED_ENDLESS},
        {"GET /garbage ", "SSH-2.0-OpenSSH\r\n", 0},
        {"GET /s/webhdfs/v1/", EXCEPTION("403 Forbidden", "StandbyException"), 0},
        {"GET /webhdfs/v1/d/a%20b?op=GETFILESTATUS&user.name=alice", FILE_STATUS("FILE", "5", "644"), 0},
        {"GET /webhdfs/v1/d/a%20b?op=OPEN&user.name=alice",
         print("HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:%u/good?datanode\r\n\r\n", port), 0},
        {"GET /good?datanode", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 0},
        {"GET /webhdfs/v1/d?op=GETFILESTATUS", FILE_STATUS("DIRECTORY", "0", "711"), 0},
        {"GET /webhdfs/v1/?op=GETFILESTATUS", FILE_STATUS("DIRECTORY", "0", "755"), 0},
        {"GET /webhdfs/v1/shut/a?op=GETFILESTATUS", FILE_STATUS("FILE", "5", "644"), 0},
        {"GET /webhdfs/v1/shut?op=GETFILESTATUS", FILE_STATUS("DIRECTORY", "0", "700"), 0},
        {"GET /webhdfs/v1/long?op=GETFILESTATUS", FILE_STATUS("FILE", "6", "644"), 0},
        {"GET /webhdfs/v1/long?op=OPEN", "HTTP/1.1 200 OK\r\n\r\nhello", 0},
        {"GET /webhdfs/v1/tree?op=GETFILESTATUS", FILE_STATUS("DIRECTORY", "0", "755"), 0},
        {"GET /webhdfs/v1/tree?op=LISTSTATUS",
         LIST(ENTRY("a b", "FILE", "5", "644") "," ENTRY("sub", "DIRECTORY", "0", "755")), 0},
        {"GET /webhdfs/v1/tree/a%20b?op=OPEN", "HTTP/1.1 200 OK\r\n\r\nhello", 0},
        {"GET /webhdfs/v1/tree/sub?op=LISTSTATUS",
         LIST(ENTRY("empty", "DIRECTORY", "0", "755") "," ENTRY("c", "FILE", "3", "640")), 0},
        {"GET /webhdfs/v1/tree/sub/empty?op=LISTSTATUS", LIST(""), 0},
        {"GET /webhdfs/v1/tree/sub/c?op=OPEN", "HTTP/1.1 200 OK\r\n\r\nabc", 0},
        {"GET /webhdfs/v1/trap?op=GETFILESTATUS", FILE_STATUS("DIRECTORY", "0", "755"), 0},
        {"GET /webhdfs/v1/trap?op=LISTSTATUS", LIST(ENTRY("..", "FILE", "5", "644")), 0},
        {"GET /webhdfs/v1/deep?op=GETFILESTATUS", FILE_STATUS("DIRECTORY", "0", "755"), 0},
        {"GET /webhdfs/v1/deep", LIST(ENTRY("d", "DIRECTORY", "0", "755")), 0},
        {"GET /webhdfs/v1/broken?op=GETFILESTATUS", FILE_STATUS("DIRECTORY", "0", "755"), 0},
        {"GET /webhdfs/v1/broken?op=LISTSTATUS", LIST(ENTRY("c", "FILE", "6", "644")), 0},
        {"GET /webhdfs/v1/broken/c?op=OPEN", "HTTP/1.1 200 OK\r\n\r\nhello", 0},
        {"GET /webhdfs/v1/mine?op=GETFILESTATUS", EXCEPTION("403 Forbidden", "AccessControlException"), 0},
        {"GET /webhdfs/v1/d/odd?op=GETFILESTATUS",
         "HTTP/1.1 400 Bad Request\r\n\r\n{\"RemoteException\":{\"exception\":\"IllegalArgumentException\",\"message\":"
         "\"Invalid value: 'alice' does not belong to the domain ^[A-Z]$\"}}", 0},
        {"GET /webhdfs/v1/none?op=GETFILESTATUS", EXCEPTION("404 Not Found", "FileNotFoundException"), 0},
        {"GET /o/webhdfs/v1/", EXCEPTION("404 Not Found", "FileNotFoundException"), 0},
        {"GET /p/webhdfs/v1/", EXCEPTION("403 Forbidden", "AccessControlException"), 0},
        {"GET /webhdfs/v1/copies?op=GETFILESTATUS", FILE_STATUS("FILE", "5", "644"), 0},
        {"GET /webhdfs/v1/copies?op=OPEN&user.name=alice&excludedatanodes=localhost,127.0.0.1,127.0.0.7 ",
         print("HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:%u/good?datanode\r\n\r\n", port), 0},
        {"GET /webhdfs/v1/copies?op=OPEN&user.name=alice&excludedatanodes=localhost,127.0.0.1 ",
         print("HTTP/1.1 307 There\r\nLocation: http://127.0.0.7:%u/short\r\n\r\n", port), 0},
        {"GET /webhdfs/v1/copies?op=OPEN&user.name=alice ",
         "HTTP/1.1 307 There\r\nLocation: http://localhost:1/x\r\n\r\n", 0},
        {"GET /webhdfs/v1/copy?op=GETFILESTATUS", FILE_STATUS("FILE", "5", "644"), 0},
        {"GET /webhdfs/v1/copy?op=OPEN&user.name=alice ",
         "HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:1/x\r\n\r\n", 0},
        {"GET /webhdfs/v1/copy?op=OPEN&user.name=alice&excludedatanodes=127.0.0.1 ",
         EXCEPTION("403 Forbidden", "IOException"), 0},
        {"GET /webhdfs/v1/six?op=GETFILESTATUS", FILE_STATUS("FILE", "5", "644"), 0},
        {"GET /webhdfs/v1/six?op=OPEN", "HTTP/1.1 307 There\r\nLocation: http://[::1]:1/x\r\n\r\n", 0},
        {"GET /webhdfs/v1/bad?op=GETFILESTATUS", "HTTP/1.1 200 OK\r\n\r\n{}", 0},
        {NULL, NULL, 0},
    };

    _Static_assert(NM_ARRAY_SIZE(rows) <= CANNED_MAX, "more rows than the server has room for");
    memcpy(table, rows, sizeof rows);
}

static int set_up(void **state)
{
    (void)state;
    server = canned_start(make_table);
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    canned_stop(&server);
    return 0;
}

/* Fetches from the test's server, without a second attempt unless `top` sets one. */
static void fetch_http(const char *path, uint64_t timestamp, const char *top)
{
    _cleanup_free_ char *uri = print("http://127.0.0.1:%u/%s", server.port, path);
    _cleanup_free_ char *more = print("\"type\":\"FILE\",\"timestamp\":%" PRIu64, timestamp);

    fetch(uri, more, top);
}

/* Fetches from the name service c, which has a dead, a standby and an active name node. */
static void fetch_hdfs(const char *path, const char *more)
{
    _cleanup_free_ char *uri = print("hdfs://c/%s", path);
    _cleanup_free_ char *top = print("\"user\":\"alice\",\"limits\":{\"attempts\":1},\"name_nodes\":{\"c\":["
                                     "\"http://127.0.0.1:1\",\"http://127.0.0.1:%u/s\",\"http://127.0.0.1:%u\"]},",
                                     server.port, server.port);

    fetch(uri, more, top);
}

/* swebhdfs uses a separate list of name nodes. Without this list swebhdfs uses TLS, whatever the cluster's policy. */
static void test_swebhdfs_uses_a_separate_list_of_name_nodes(void **state)
{
    _cleanup_free_ char *top = print("\"user\":\"alice\",\"limits\":{\"attempts\":1},\"name_nodes\":{\"c\":["
                                     "\"http://127.0.0.1:1\"],\"swebhdfs://c\":[\"http://127.0.0.1:%u\"]},",
                                     server.port);
    _cleanup_free_ char *uri = print("swebhdfs://127.0.0.1:%u/d/a%%20b", server.port);
    _cleanup_free_ char *base = print("https://127.0.0.1:%u: ", server.port);

    (void)state;
    fetch(uri, "\"type\":\"FILE\",\"timestamp\":0", top);
    assert_failed(base);
    fetch("swebhdfs://127.0.0.9/d/x", "\"type\":\"FILE\",\"timestamp\":0", top);
    assert_failed("https://127.0.0.9:9871: ");
    /* without a separate list, swebhdfs uses the cluster's name nodes, and TLS */
    fetch("swebhdfs://c/d/a%20b", "\"type\":\"FILE\",\"timestamp\":0",
          "\"user\":\"alice\",\"limits\":{\"attempts\":1},\"webhdfs\":{\"https\":true},"
          "\"name_nodes\":{\"c\":[\"https://127.0.0.1:1\"]},");
    assert_failed("https://127.0.0.1:1: ");
    fetch("swebhdfs:///d/x", "\"type\":\"FILE\",\"timestamp\":0", top);
    assert_failed("has none for swebhdfs:");
    fetch("swebhdfs://c/d/a%20b", "\"type\":\"FILE\",\"timestamp\":1700000000123", top);
    assert_done("10/a b", "hello");
}

static void test_a_file_is_fetched_over_http(void **state)
{
    (void)state;
    fetch_http("good", 0, ONCE);
    assert_done("10/good", "hello");
    assert_non_null(strstr(output, "\"state\":\"fetching\""));
}

/* The list of a directory's files may be large. */
static void test_a_large_answer_is_kept_in_memory(void **state)
{
    _cleanup_(nm_http_freep) struct nm_http *http = NULL;
    _cleanup_free_ char *url = print("http://127.0.0.1:%u/large", server.port), *message = NULL;
    struct nm_http_request request = {.url = url, .fd = -EBADF, .most_bytes = 100000, .deadline_usec = UINT64_MAX,
                                      .idle_usec = NM_USEC_PER_SEC};
    struct nm_http_answer answer;

    (void)state;
    assert_int_equal(nm_http_new("test", &http), 0);
    assert_int_equal(nm_http_perform(http, &request, &answer, NULL), 0);
    assert_int_equal(answer.text_size, 100000);
    assert_int_equal(answer.text[99999], '7');
    request.most_bytes = 99999;
    assert_int_equal(nm_http_perform(http, &request, &answer, &message), -EFBIG);
    assert_string_equal(message, "the server sends more than the allowed 99999 bytes");
}

static void test_a_file_with_another_modification_time_is_refused(void **state)
{
    (void)state;
    fetch_http("good", 1700000000001, ONCE);
    assert_failed("its modification time is 1700000000000, expected 1700000000001");
    fetch_http("moved", 1700000000000, ONCE);
    assert_done("10/moved", "hello");
}

static void test_an_http_error_is_reported(void **state)
{
    (void)state;
    fetch_http("none", 0, ONCE);
    assert_failed("Empty reply");
    fetch_http("refuses-long", 0, ONCE);
    assert_failed("more than the allowed 65536 bytes");
    fetch_http("busy", 0, "\"limits\":{\"attempts\":2},");
    assert_failed("HTTP 503 (attempt 2)");
    fetch_http("short", 0, ONCE);
    assert_failed("127.0.0.1");
    fetch_http("garbage", 0, ONCE);
    assert_failed("127.0.0.1");
    fetch("http://127.0.0.1:1/x", RESOURCE("FILE"), ONCE);
    assert_failed("Failed to connect");
}

static void test_redirects_are_followed_up_to_a_limit(void **state)
{
    (void)state;
    fetch_http("round", 0, ONCE);
    assert_failed("redirects");
    fetch_http("to-file", 0, ONCE);
    assert_failed("to-file");
}

static void test_a_fetch_from_a_malicious_server_fails(void **state)
{
    (void)state;
    fetch_http("endless", 0, "\"limits\":{\"fetch_bytes\":1000000},");
    assert_failed("more than the allowed 1000000 bytes");
    fetch_http("headers", 0, ONCE);
    assert_failed("127.0.0.1");
}

static void test_a_fetch_from_a_server_that_sends_no_data_fails(void **state)
{
    uint64_t before_usec = nm_now_usec();

    (void)state;
    fetch_http("hang", 0, "\"limits\":{\"attempts\":1,\"idle_seconds\":1},");
    assert_failed("too slow");
    fetch_http("hang", 0, "\"limits\":{\"attempts\":4,\"seconds\":1},");
    assert_failed("timed out");
    assert_true(nm_now_usec() - before_usec < 30 * NM_USEC_PER_SEC);
}

static void test_a_file_is_fetched_from_hdfs(void **state)
{
    (void)state;
    fetch_hdfs("d/a%20b", RESOURCE("FILE") ",\"public\":true");
    assert_done("10/a b", "hello");
}

static void test_a_directory_is_fetched_from_hdfs(void **state)
{
    (void)state;
    fetch_hdfs("tree", RESOURCE("FILE"));
    assert_done("10/tree/a b", "hello");
    assert_done("10/tree/sub/c", "abc");
    assert_true(exists("10/tree/sub/empty"));
    assert_int_equal(mode_of("10/tree/sub"), 0700);
    assert_int_equal(mode_of("10/tree/sub/c"), 0500);
    assert_non_null(strstr(output, "\"state\":\"done\",\"bytes\":8}"));
}

static void test_an_invalid_directory_listing_of_hdfs_is_refused(void **state)
{
    (void)state;
    fetch_hdfs("tree", RESOURCE("FILE") ",\"public\":true");
    assert_failed("tree/sub/c: the resource is PUBLIC, but not all users may read this path");
    fetch_hdfs("trap", RESOURCE("FILE"));
    assert_failed("not a WebHDFS directory listing");
    fetch_hdfs("deep", RESOURCE("FILE"));
    assert_failed("directories are nested more than 64 levels deep");
    fetch_hdfs("broken", RESOURCE("FILE"));
    assert_failed("broken/c: received 5 bytes, but the file has 6");
}

static void test_an_error_of_hdfs_is_reported(void **state)
{
    (void)state;
    fetch_hdfs("d/a%20b", "\"type\":\"FILE\",\"timestamp\":1");
    assert_failed("changed after the job was submitted");
    fetch_hdfs("d", RESOURCE("FILE") ",\"public\":true");
    assert_failed("not all users may read it; run hdfs dfs -chmod o+rx on it");
    fetch_hdfs("shut/a", RESOURCE("FILE") ",\"public\":true");
    assert_failed("not all users may enter /shut");
    fetch_hdfs("long", RESOURCE("FILE"));
    assert_failed("received 5 bytes, but the file has 6");
    fetch_hdfs("mine", RESOURCE("FILE"));
    assert_failed("AccessControlException: words\"");
    fetch_hdfs("none", RESOURCE("FILE"));
    assert_failed("FileNotFoundException");
    fetch_hdfs("bad", RESOURCE("FILE"));
    assert_failed("not a WebHDFS file status");
    fetch("hdfs:///x", RESOURCE("FILE"), "");
    assert_failed("the URI has no name node, and the default file system of the cluster (fs.defaultFS) has none for "
                  "hdfs:");
    fetch_hdfs("d/odd", RESOURCE("FILE"));
    assert_failed("dfs.webhdfs.user.provider.user.pattern in hdfs-site.xml");
}

/* A name node redirects to a data node on this host, unless the request names this data node as failed. */
static void test_failed_data_nodes_are_excluded_from_the_next_request(void **state)
{
    (void)state;
    fetch_hdfs("copies", RESOURCE("FILE"));
    assert_done("10/copies", "hello");
}

/* If all data nodes have failed, the error says so. The next attempt begins with all data nodes again. */
static void test_the_failure_of_all_data_nodes_is_reported(void **state)
{
    static const char *const paths[] = {"copy", "six"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(paths); i++) {
        _cleanup_free_ char *uri = print("webhdfs://127.0.0.1:%u/%s", server.port, paths[i]);

        fetch(uri, RESOURCE("FILE"), "\"user\":\"alice\",\"limits\":{\"attempts\":2},");
        assert_failed("port 1");
        assert_failed("(attempt 2)");
    }
}

/* /o is an observer name node whose state is older than the active one's, /p is an observer that refuses requests. */
static void test_an_observer_name_node_with_old_state_is_skipped(void **state)
{
    static const struct {
        const char *second, *failure; /* part of the error message; NULL: the fetch succeeds */
    } cases[] = {{"", NULL}, {"/p", "AccessControlException"}, {"/s", "FileNotFoundException"},
                 {"/o", "FileNotFoundException"}};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *top = print("\"user\":\"alice\"," ONCE "\"name_nodes\":{\"c\":["
                                         "\"http://127.0.0.1:%u/o\",\"http://127.0.0.1:%u%s\"]},",
                                         server.port, server.port, cases[i].second);

        fetch("hdfs://c/d/a%20b", RESOURCE("FILE"), top);
        if (cases[i].failure)
            assert_failed(cases[i].failure);
        else
            assert_done("10/a b", "hello");
        (void)tear_down_root(NULL);
        (void)set_up_root(NULL);
    }
}

/* After one name node has reported that the file doesn't exist, nm-localizer waits only briefly for another name node
 * that hangs. */
static void test_a_second_name_node_that_hangs_delays_an_error_only_briefly(void **state)
{
    _cleanup_close_ int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof in;
    _cleanup_free_ char *top = NULL;
    uint64_t begun_usec = nm_now_usec();

    (void)state;
    assert_int_equal(bind(silent, (struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(listen(silent, 8), 0);
    assert_int_equal(getsockname(silent, (struct sockaddr *)&in, &len), 0);
    top = print("\"user\":\"alice\"," ONCE
                "\"name_nodes\":{\"c\":[\"http://127.0.0.1:%u/o\",\"http://127.0.0.1:%u\"]},",
                server.port, ntohs(in.sin_port));
    fetch("hdfs://c/d/a%20b", RESOURCE("FILE"), top);
    assert_failed("FileNotFoundException");
    /* less than the 60 s without data that nm-localizer otherwise waits */
    assert_true(nm_now_usec() - begun_usec < 30 * NM_USEC_PER_SEC);
}

/* The test's server doesn't support TLS, so a fetch with TLS fails. nm-localizer sets the trusted certificates before
 * the fetch fails. */
static void test_a_fetch_with_tls_from_a_server_without_tls_fails(void **state)
{
    _cleanup_free_ char *uri = print("webhdfs://127.0.0.1:%u/d/a%%20b", server.port);

    (void)state;
    fetch(uri, RESOURCE("FILE"), "\"webhdfs\":{\"https\":true}," ONCE);
    assert_failed("https://127.0.0.1");
    fetch(uri, RESOURCE("FILE"), "\"webhdfs\":{\"https\":true,\"ca_file\":\"/none.pem\"}," ONCE);
    assert_failed("/none.pem");
}

static void test_a_fetch_with_only_standby_name_nodes_is_an_error(void **state)
{
    _cleanup_free_ char *top = print(
        "\"limits\":{\"attempts\":2},\"name_nodes\":{\"c:8020\":[\"http://127.0.0.1:%u/s\"]},", server.port);

    (void)state;
    fetch("hdfs://c:8020/x", RESOURCE("FILE"), top);
    assert_failed("StandbyException: words (attempt 2)");
}

/* A failover of name nodes takes longer than the attempts for a single server. */
static void test_several_name_nodes_get_more_attempts(void **state)
{
    static const struct {
        const char *uri;
        unsigned attempts;
    } cases[] = {
        {"hdfs://two/x", 15}, {"webhdfs://two/x", 15}, {"hdfs:/x", 15},  {"hdfs://one:8020/x", 4},
        {"hdfs://none/x", 4}, {"http://two/x", 4},     {"file:/two", 4}, {"s3a://two/x", 4},
    };
    json_auto_t *name_nodes = json_pack("{s:[s, s], s:[s, s], s:[s]}", "two", "http://a:1", "http://b:1", "hdfs:",
                                        "http://a:1", "http://b:1", "one:8020", "http://c:1");
    struct nm_work work = {};
    const struct nm_fetch f = {.work = &work, .hdfs = {.name_nodes = name_nodes}};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_uri uri;

        assert_int_equal(nm_uri_parse(cases[i].uri, &uri, NULL), 0);
        work.limits.attempts = 0;
        assert_int_equal(nm_fetch_attempts(&f, &uri), cases[i].attempts);
        work.limits.attempts = 2;
        assert_int_equal(nm_fetch_attempts(&f, &uri), 2);
        nm_uri_done(&uri);
    }
}

static void test_a_file_is_fetched_over_webhdfs(void **state)
{
    _cleanup_free_ char *uri = print("webhdfs://127.0.0.1:%u/d/a%%20b", server.port);

    (void)state;
    fetch(uri, RESOURCE("FILE"), "\"user\":\"alice\"," ONCE);
    assert_done("10/a b", "hello");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_root, tear_down_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_swebhdfs_uses_a_separate_list_of_name_nodes),
        TEST(test_a_file_is_fetched_over_http),
        TEST(test_a_large_answer_is_kept_in_memory),
        TEST(test_a_file_with_another_modification_time_is_refused),
        TEST(test_an_http_error_is_reported),
        TEST(test_redirects_are_followed_up_to_a_limit),
        TEST(test_a_fetch_from_a_malicious_server_fails),
        TEST(test_a_fetch_from_a_server_that_sends_no_data_fails),
        TEST(test_a_file_is_fetched_from_hdfs),
        TEST(test_a_directory_is_fetched_from_hdfs),
        TEST(test_an_invalid_directory_listing_of_hdfs_is_refused),
        TEST(test_an_error_of_hdfs_is_reported),
        TEST(test_failed_data_nodes_are_excluded_from_the_next_request),
        TEST(test_the_failure_of_all_data_nodes_is_reported),
        TEST(test_an_observer_name_node_with_old_state_is_skipped),
        TEST(test_a_second_name_node_that_hangs_delays_an_error_only_briefly),
        TEST(test_a_fetch_with_tls_from_a_server_without_tls_fails),
        TEST(test_a_fetch_with_only_standby_name_nodes_is_an_error),
        TEST(test_several_name_nodes_get_more_attempts),
        TEST(test_a_file_is_fetched_over_webhdfs),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
