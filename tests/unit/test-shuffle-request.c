/* SPDX-License-Identifier: Apache-2.0 */

/* Valid and invalid requests of reducers. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "shuffle/request.h"
#include "util/macros.h"

#define HEADERS "Host: node1:13562\r\nname: mapreduce\r\nversion: 1.0.0\r\nUrlHash: abc=\r\n\r\n"
#define MAP "attempt_1_2_m_3_0"

static struct nm_shuffle_request q;
static uint8_t decoded[NM_SHUFFLE_HEAD_MAX];

static int parse(const char *head)
{
    const char *why = NULL;
    int r;

    assert_int_equal(nm_shuffle_head_size(nm_bytes_of(head)), strlen(head));
    r = nm_shuffle_request_parse(nm_bytes_of(head), decoded, &q, &why);
    assert_true((r == 0) == (why == NULL));
    return r;
}

static int get(const char *target)
{
    char head[NM_SHUFFLE_HEAD_MAX];

    snprintf(head, sizeof head, "GET %s HTTP/1.1\r\n" HEADERS, target);
    return parse(head);
}

static void test_a_request_of_hadoops_fetcher_is_parsed(void **state)
{
    const char *target = "/mapOutput?job=job_1410901177871_0001&reduce=17&map=attempt_1410901177871_0001_m_000000_0,"
                         "attempt_1410901177871_0001_m_000012_1&keepAlive=true";

    (void)state;
    assert_int_equal(get(target), 0);
    assert_true(nm_bytes_equal(q.target, nm_bytes_of(target)));
    assert_true(nm_bytes_equal(q.url_hash, nm_bytes_of("abc=")));
    assert_true(nm_bytes_equal(q.job, nm_bytes_of("job_1410901177871_0001")));
    assert_int_equal(q.n_maps, 2);
    assert_true(nm_bytes_equal(q.maps[1], nm_bytes_of("attempt_1410901177871_0001_m_000012_1")));
    assert_int_equal(q.reduce, 17);
    assert_int_equal(q.n_reduces, 1);
    assert_false(q.is_range);
    assert_true(q.keep_alive);
}

static void test_other_notations_of_a_request_are_parsed(void **state)
{
    (void)state;
    assert_int_equal(parse("GET /mapOutput?map=" MAP "&map=" MAP "&reduce=0&job=job_1_2 HTTP/1.0\r\nNAME:mapreduce\r\n"
                           "Version:\t1.0.0 \r\nurlhash: x\r\nContent-Length: 0\r\n\r\n"), 0);
    assert_int_equal(q.n_maps, 2);
    assert_false(q.keep_alive);
    assert_int_equal(get("/mapOutput?job=job_1_2&reduce=2147483647&map=" MAP "&keepAlive=false&more=1&"), 0);
    assert_int_equal(q.reduce, INT32_MAX);
}

/* The fetcher of Tez asks for the output of a task, and for one spill of a pipelined output. */
static void test_a_request_of_tez_is_parsed(void **state)
{
    const char *target = "/mapOutput?job=job_1410901177871_0001&dag=1&reduce=2&map="
                         "attempt_1410901177871_0001_1_00_000000_0_10003,"
                         "attempt_1410901177871_0001_1_00_000001_0_10003_0"
                         "&keepAlive=true";

    (void)state;
    assert_int_equal(get(target), 0);
    assert_true(nm_bytes_equal(q.target, nm_bytes_of(target)));
    assert_int_equal(q.n_maps, 2);
    assert_true(nm_bytes_equal(q.maps[0], nm_bytes_of("attempt_1410901177871_0001_1_00_000000_0_10003")));
    assert_true(nm_bytes_equal(q.maps[1], nm_bytes_of("attempt_1410901177871_0001_1_00_000001_0_10003_0")));
    assert_int_equal(q.reduce, 2);
    assert_true(q.keep_alive);
}

/* Parses ranges of reducers. The shuffle handler of Tez accepts ranges, and that of Hadoop doesn't. Both ends of a
 * range are inclusive. The answer to a range of one reducer has another format than the answer to a single reducer, so
 * is_range distinguishes the two. */
static void test_ranges_are_parsed(void **state)
{
    static const struct {
        const char *reduce;
        uint32_t first, n;
    } good[] = {{"0-3", 0, 4}, {"5-5", 5, 1}, {"007-9", 7, 3}, {"2147483640-2147483647", 2147483640, 8},
                {"0%2D2", 0, 3}, {"%30%2d%32", 0, 3}};
    static const char *const bad[] = {"3-2", "3-0",  "-",   "0-",  "-3",           "0--3", "0-1-2",
                                      "0-x", "0-3,", "0,3", "0 3", "0-2147483648", "0-0-", "3%2D2",
                                      "%2D", "0%2D", "%2D3", "0%2D-3", "0%2D1-2", "0%252D3", "0%2", "0%2F3"};
    char target[256];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(good); i++) {
        snprintf(target, sizeof target, "/mapOutput?job=job_1_2&dag=1&reduce=%s&map=" MAP "&map=" MAP, good[i].reduce);
        assert_int_equal(get(target), 0);
        assert_int_equal(q.reduce, good[i].first);
        assert_int_equal(q.n_reduces, good[i].n);
        assert_true(q.is_range);
        assert_int_equal(q.n_maps, 2);
    }
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        snprintf(target, sizeof target, "/mapOutput?job=job_1_2&dag=1&reduce=%s&map=" MAP, bad[i]);
        if (get(target) != NM_SHUFFLE_BAD_REQUEST)
            fail_msg("%s isn't refused", target);
    }
    assert_int_equal(get("/mapOutput?job=job_1_2&reduce=0-1&reduce=2-3&map=" MAP), NM_SHUFFLE_BAD_REQUEST);
}

/* The number of reducers in a range is limited, whatever the number of maps. */
static void test_too_many_parts_are_refused(void **state)
{
    const char *why = NULL,
               *head = "GET /mapOutput?job=job_1_2&reduce=1-4097&map=" MAP "," MAP " HTTP/1.1\r\n" HEADERS;

    (void)state;
    assert_int_equal(get("/mapOutput?job=job_1_2&reduce=1-4096&map=" MAP), 0);
    assert_int_equal(q.n_reduces, NM_SHUFFLE_PARTS_MAX);
    assert_int_equal(get("/mapOutput?job=job_1_2&reduce=1-2048&map=" MAP "," MAP), 0);
    assert_int_equal(get("/mapOutput?job=job_1_2&reduce=0-2147483647&map=" MAP), NM_SHUFFLE_BAD_REQUEST);
    assert_int_equal(get("/mapOutput?job=job_1_2&reduce=1-4096&map=" MAP "," MAP), 0);
    assert_int_equal(get("/mapOutput?job=job_1_2&reduce=0-4096&map=" MAP "," MAP), NM_SHUFFLE_BAD_REQUEST);
    assert_int_equal(nm_shuffle_request_parse(nm_bytes_of(head), decoded, &q, &why), NM_SHUFFLE_BAD_REQUEST);
    assert_string_equal(why, "Too many parts: a range has at most 4096 reducers");
}

/* Hadoop's shuffle handler accepts these forms of a request, although Hadoop's own fetcher never sends them. */
static void test_forms_that_hadoop_accepts_are_parsed(void **state)
{
    static const char *const good[] = {
        "/?job=job_1_2&reduce=0&map=attempt_1_1_00_000000_0_10003",
        "/shuffle/mapOutput?job=job_1_2&reduce=0&dag=3&vertex=4&map=" MAP "&shuffleVersion=1",
        "/mapOutput?job=job_1_2&reduce=0&map=" MAP ",,",
        "/mapOutput?job=job_1_2&reduce=0&map=&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=007&map=" MAP,
        "/mapOutput?job=job_1_2&dag=1&dag=2&reduce=0&map=" MAP "&keepAlive=true&keepAlive=false",
        "/mapOutput?job=job%5F1_%32&%72educe=%30&m%61p=%61ttempt%5f1_2_m_3_0",
        "/mapOutput?job=job_1_2;reduce=0;map=" MAP,
        "/mapOutput?job=job_1_2&reduce=%2B0&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=0000000000000&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=0&map=" MAP "#frag",
        "/mapOutput?job=job_1_2&reduce=0&map=" MAP "#&reduce=1",
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(good); i++) {
        if (get(good[i]) != 0)
            fail_msg("%s is refused", good[i]);
        assert_int_equal(q.n_maps, 1);
    }
    assert_int_equal(get("/mapOutput?job=job_1_2&reduce=0&map=" MAP "%2C" MAP "%2c" MAP "," MAP), 0);
    assert_int_equal(q.n_maps, 4);
    assert_true(nm_bytes_equal(q.maps[3], nm_bytes_of(MAP)));
}

static void test_invalid_targets_are_refused(void **state)
{
    static const char *const bad[] = {
        "/",
        "/mapOutput",
        "/mapOutput?reduce=0&map=" MAP,
        "/mapOutput?job=job_1_2&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=0",
        "/mapOutput?job=job_1_2&reduce=0&map=",
        "/mapOutput?job=job_1_2&job=job_1_2&reduce=0&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=0&reduce=0&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=2147483648&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=99999999999999999999&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=-1&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=&map=" MAP,
        "/mapOutput?job=job_1_&reduce=0&map=" MAP,
        "/mapOutput?job=job_1_2/..&reduce=0&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=0&map=..",
        "/mapOutput?job=job_1_2&reduce=0&map=" MAP "/../x",
        "/mapOutput?job=job_1_2&reduce=0&map=attempt_1_2",
        "/mapOutput?job=job_1_2&reduce=0&map=attempt_1_2_",
        "/mapOutput?job=job_1_2&reduce=0&map=attempt_1_m_000000_0",
        "/mapOutput?job=job_1_2&reduce=0&map=attempt_1_2_.._3_0",
        "/mapOutput?job=job_1_2&reduce=0&map=attempt_1_2_1%2f..",
        "/mapOutput?job=job_1_2&reduce=0&map=,,",
        "/mapOutput?job=job_1_2&reduce=0&map=%2e%2e",
        "/mapOutput?job=job_1_2&reduce=+0&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=%2B&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=%2B%2B0&map=" MAP,
        "/mapOutput?job=job_1_2&reduce=0&map=" MAP "%2B",
        "/mapOutput?job=job_1_2#&reduce=0&map=" MAP,
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        if (get(bad[i]) != NM_SHUFFLE_BAD_REQUEST)
            fail_msg("%s isn't refused", bad[i]);
    }
}

static void test_too_many_maps_are_refused(void **state)
{
    char target[NM_SHUFFLE_HEAD_MAX] = "/mapOutput?job=job_1_2&reduce=0&map=" MAP;

    (void)state;
    for (unsigned i = 1; i < NM_SHUFFLE_MAPS_MAX; i++)
        strcat(target, "," MAP);
    assert_int_equal(get(target), 0);
    assert_int_equal(q.n_maps, NM_SHUFFLE_MAPS_MAX);
    assert_int_equal(get(strcat(target, "," MAP)), NM_SHUFFLE_BAD_REQUEST);
}

static void test_request_heads_are_parsed(void **state)
{
    const char *target = "/mapOutput?job=job_1_2&reduce=0&map=" MAP;
    static const struct {
        const char *before, *after;
        int status;
    } heads[] = {
        {"POST ", " HTTP/1.1\r\n" HEADERS, NM_SHUFFLE_BAD_METHOD},
        {"GET ", " HTTP/2\r\n" HEADERS, NM_SHUFFLE_BAD_REQUEST},
        {"GET ", "\r\n" HEADERS, NM_SHUFFLE_BAD_REQUEST},
        {"GET ", " HTTP/1.1\r\nversion: 1.0.0\r\nUrlHash: x\r\n\r\n", NM_SHUFFLE_BAD_REQUEST},
        {"GET ", " HTTP/1.1\r\nname: mapreduce\r\nversion: 2.0.0\r\nUrlHash: x\r\n\r\n", NM_SHUFFLE_BAD_REQUEST},
        {"GET ", " HTTP/1.1\r\nname: mapreduce\r\nversion: 1.0.0\r\n\r\n", NM_SHUFFLE_UNAUTHORIZED},
        {"GET ", " HTTP/1.1\r\nContent-Length: 5\r\n" HEADERS, NM_SHUFFLE_BAD_REQUEST},
        {"GET ", " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HEADERS, NM_SHUFFLE_BAD_REQUEST},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(heads); i++) {
        char head[1024];

        snprintf(head, sizeof head, "%s%s%s", heads[i].before, target, heads[i].after);
        if (parse(head) != heads[i].status)
            fail_msg("the result should be %d: %s", heads[i].status, head);
    }
}

static void test_the_end_of_a_request_head_is_found(void **state)
{
    (void)state;
    assert_int_equal(nm_shuffle_head_size(nm_bytes_of("")), 0);
    assert_int_equal(nm_shuffle_head_size(nm_bytes_of("GET / HTTP/1.1\r\n\r")), 0);
    assert_int_equal(nm_shuffle_head_size(nm_bytes_of("\r\n\r\nGET / HTTP/1.1\r\n\r\n")), 4);
}

static void test_the_application_of_a_job_is_found(void **state)
{
    char application[64];

    (void)state;
    nm_shuffle_application_of(nm_bytes_of("job_1410901177871_0001"), application, sizeof application);
    assert_string_equal(application, "application_1410901177871_0001");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_of_hadoops_fetcher_is_parsed),
        cmocka_unit_test(test_other_notations_of_a_request_are_parsed),
        cmocka_unit_test(test_a_request_of_tez_is_parsed),
        cmocka_unit_test(test_forms_that_hadoop_accepts_are_parsed),
        cmocka_unit_test(test_invalid_targets_are_refused),
        cmocka_unit_test(test_too_many_maps_are_refused),
        cmocka_unit_test(test_request_heads_are_parsed),
        cmocka_unit_test(test_the_end_of_a_request_head_is_found),
        cmocka_unit_test(test_the_application_of_a_job_is_found),
        cmocka_unit_test(test_ranges_are_parsed),
        cmocka_unit_test(test_too_many_parts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
