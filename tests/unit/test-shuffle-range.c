/* SPDX-License-Identifier: Apache-2.0 */

/* Requests for ranges of reducers, answered as the shuffle handler of Tez does: the exact bytes, the charged cost, and
 * the reasons for which an answer ends early. */

#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "rpc/hadoop/digest.h"
#include "rpc/hadoop/writable.h"
#include "shuffle-fixture.h"
#include "shuffle/answer.h"
#include "util/clock.h"
#include "util/error.h"

#define PORT 13562
#define PATIENCE_MSEC 20000
#define TARGET "/mapOutput?job=" JOB "&dag=1&reduce="
#define HEAD(n, lengths) "\x25" ATTEMPT(n) lengths

static struct shuffle_fixture fixture;
static struct nm_shuffle_service service;
static uint8_t reply[4 << 20];
static size_t reply_size;

/* A request, and the thread that answers it. */
static struct {
    char head[NM_SHUFFLE_HEAD_MAX];
    pthread_t thread;
    unsigned slot;
    int fds[2]; /* the sockets of the reducer and of the server */
    int result;
} asked;

static int set_up(void **state)
{
    (void)state;
    shuffle_fixture_new(&fixture);
    service = (struct nm_shuffle_service){
        .port = PORT, .dirs = {.names = {"/no/such/directory", shuffle_fixture_local(&fixture, "a")}, .n = 2}};
    assert_int_equal(nm_shuffle_jobs_new(&service.jobs), 0);
    assert_int_equal(nm_shuffle_index_cache_new(&service.dirs.index_cache), 0);
    assert_int_equal(nm_shuffle_connections_new(4, &service.connections), 0);
    assert_int_equal(nm_shuffle_jobs_add(service.jobs, &fixture.job), 0);
    shuffle_fixture_output(&fixture, "a", ATTEMPT(0), (const char *const[]){"first", "", "the third", "4", NULL});
    shuffle_fixture_output(&fixture, "a", ATTEMPT(1), (const char *const[]){"", "", "", "", NULL});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nm_shuffle_jobs_free(service.jobs);
    nm_shuffle_index_cache_free(service.dirs.index_cache);
    nm_shuffle_connections_free(service.connections);
    free((char *)service.dirs.names[1]);
    shuffle_fixture_done(&fixture);
    return 0;
}

/* ---- the reducer's side ------------------------------------------------------------------- */

static int answer_wholly(void)
{
    _cleanup_(nm_shuffle_answer_freep) struct nm_shuffle_answer *a = NULL;
    struct nm_shuffle_wait wait;
    int r = nm_shuffle_answer_new(&service, asked.fds[1], asked.slot, nm_bytes_of(asked.head), &a);

    while (r == 0 && ((r = nm_shuffle_answer_continue(a, &wait)) == NM_SHUFFLE_E_WAIT || r == NM_SHUFFLE_E_TURN))
        r = r == NM_SHUFFLE_E_TURN ? 0 : nm_shuffle_wait_in_thread(asked.fds[1], &wait, UINT64_MAX);
    return r;
}

static void *answer(void *arg)
{
    (void)arg;
    asked.result = answer_wholly();
    nm_shuffle_connections_leave(service.connections, asked.slot); /* closes the reducer's connection */
    return NULL;
}

static void ask(const char *target)
{
    char message[NM_SHUFFLE_HEAD_MAX], hash[32];
    uint8_t digest[NM_DIGEST_SIZE];

    snprintf(message, sizeof message, "%d%s", PORT, target);
    assert_int_equal(nm_digest_hmac(fixture.job.key, 8, (const uint8_t *)message, strlen(message), digest), 0);
    nm_digest_text(digest, hash);
    assert_true(snprintf(asked.head, sizeof asked.head,
                         "GET %s HTTP/1.1\r\nname: mapreduce\r\nversion: 1.0.0\r\nUrlHash: %s\r\n\r\n", target,
                         hash) < (int)sizeof asked.head);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, asked.fds), 0);
    assert_int_equal(fcntl(asked.fds[1], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(nm_shuffle_connections_enter(service.connections, asked.fds[1], "host", &asked.slot), 0);
    assert_int_equal(pthread_create(&asked.thread, NULL, answer, NULL), 0);
}

static struct nm_bytes end_of(const char *what)
{
    const uint8_t *at = memmem(reply, reply_size, what, strlen(what));

    assert_non_null(at);
    return (struct nm_bytes){at + strlen(what), (size_t)(reply + reply_size - at) - strlen(what)};
}

/* Returns the body of a complete answer, and checks the body's length against the header. */
static struct nm_bytes fetch(const char *target)
{
    struct nm_bytes body;
    ssize_t n;

    ask(target);
    for (reply_size = 0;; reply_size += (size_t)n) {
        struct pollfd p = {.fd = asked.fds[0], .events = POLLIN};

        assert_true(reply_size < sizeof reply && poll(&p, 1, PATIENCE_MSEC) > 0);
        n = recv(asked.fds[0], reply + reply_size, sizeof reply - reply_size, 0);
        if (n <= 0)
            break;
    }
    close(asked.fds[0]);
    assert_int_equal(pthread_join(asked.thread, NULL), 0);
    body = end_of("\r\n\r\n");
    assert_int_equal(body.size, strtoul((const char *)end_of("Content-Length: ").data, NULL, 10));
    return body;
}

static bool is_answer(const char *target, const char *body, size_t size)
{
    struct nm_bytes received = fetch(target);

    return memcmp(reply, "HTTP/1.1 200 OK\r\n", 17) == 0 &&
           nm_bytes_equal(received, (struct nm_bytes){(const uint8_t *)body, size});
}

static bool is_refused(const char *target, const char *why)
{
    struct nm_bytes received = fetch(target);

    if (memcmp(reply, "HTTP/1.1 500 ", 13) == 0 && nm_bytes_equal(received, nm_bytes_of(why)))
        return true;
    print_message("%s: %.*s\n", target, (int)received.size, (const char *)received.data);
    return false;
}

/* ---- tests -------------------------------------------------------------------------------- */

/* The body has for each map: the number of parts; for each part a Text, the vlong of its length, the vlong of its
 * uncompressed length and the vint of its reducer; then the contents of the parts. */
static void test_the_answer_to_a_range_has_the_exact_bytes(void **state)
{
    const char some[] = "\x03" HEAD(0, "\x00\x00\x01") HEAD(0, "\x09\x12\x02") HEAD(0, "\x01\x02\x03") "the third4"
                        "\x03" HEAD(1, "\x00\x00\x01") HEAD(1, "\x00\x00\x02") HEAD(1, "\x00\x00\x03");
    const char all[] = "\x04" HEAD(0, "\x05\x0a\x00") HEAD(0, "\x00\x00\x01") HEAD(0, "\x09\x12\x02")
                       HEAD(0, "\x01\x02\x03") "firstthe third4";
    const char one[] = "\x01" HEAD(0, "\x09\x12\x02") "the third", as_hadoop[] = HEAD(0, "\x09\x12\x02") "the third";

    (void)state;
    assert_true(is_answer(TARGET "1-3&map=" ATTEMPT(0) "&map=" ATTEMPT(1), some, sizeof some - 1));
    assert_int_equal(asked.result, NM_SHUFFLE_E_CLOSE);
    assert_int_equal(service.count.outputs_ok, 2);
    assert_int_equal(service.count.sent_bytes, 10);
    assert_true(is_answer(TARGET "0-3&map=" ATTEMPT(0) "&keepAlive=true", all, sizeof all - 1));
    assert_int_equal(asked.result, 0);
    assert_true(is_answer(TARGET "2-2&map=" ATTEMPT(0), one, sizeof one - 1));
    assert_true(is_answer(TARGET "2&map=" ATTEMPT(0), as_hadoop, sizeof as_hadoop - 1));
}

static void test_one_map_may_be_named_twice_in_a_request(void **state)
{
    const char twice[] = "\x02" HEAD(1, "\x00\x00\x02") HEAD(1, "\x00\x00\x03")
                         "\x02" HEAD(0, "\x09\x12\x02") HEAD(0, "\x01\x02\x03") "the third4"
                         "\x02" HEAD(0, "\x09\x12\x02") HEAD(0, "\x01\x02\x03") "the third4";

    (void)state;
    assert_true(is_answer(TARGET "2-3&map=" ATTEMPT(1) "," ATTEMPT(0) "," ATTEMPT(0), twice, sizeof twice - 1));
}

static void test_a_range_beyond_the_index_is_refused(void **state)
{
    (void)state;
    assert_true(is_refused(TARGET "1-4&map=" ATTEMPT(0),
                           "The output of " ATTEMPT(0)
                           " for reducers 1-4: it does not have parts for all of these reducers\n"));
    assert_true(is_refused(TARGET "2147483647-2147483647&map=" ATTEMPT(0),
                           "The output of " ATTEMPT(0) " for reducer 2147483647: it has no part for that reducer\n"));
    assert_int_equal(service.count.outputs_failed, 2);
}

/* Parts that aren't adjacent in the file can be fetched one by one, but not as a range. */
static void test_parts_that_are_not_adjacent_are_sent_only_one_by_one(void **state)
{
    uint64_t index[] = {0, htobe64(1), htobe64(5), htobe64(6), htobe64(1), htobe64(4), 0};
    const char second[] = HEAD(0, "\x04\x01\x01") "he t";
    const char *path = shuffle_fixture_path(&fixture, "a", ATTEMPT(0), "file.out.index");

    (void)state;
    index[6] = htobe64(crc32(0, (const Bytef *)index, 48));
    assert_int_equal(truncate(path, sizeof index), 0);
    shuffle_fixture_poke(path, 0, index, sizeof index);
    assert_true(is_answer(TARGET "1&map=" ATTEMPT(0), second, sizeof second - 1));
    assert_true(is_refused(TARGET "0-1&map=" ATTEMPT(0), "The output of " ATTEMPT(0) " for reducers 0-1: its index "
                                                         "doesn't match its checksum or its file\n"));
}

/* ---- limits of a user's load -------------------------------------------------------------- */

static void charge(uint64_t work_usec)
{
    uint64_t wait_usec;

    assert_int_equal(nm_shuffle_jobs_charge(service.jobs, JOB, work_usec, nm_now_usec(), &wait_usec), 0);
}

static void test_the_longest_range_is_sent(void **state)
{
    struct nm_bytes body;
    int64_t n;

    (void)state;
    shuffle_fixture_empty_index(&fixture, "a", ATTEMPT(0), 12000);
    body = fetch(TARGET "7000-11095&map=" ATTEMPT(0));
    assert_int_equal(nm_writable_vint(&body, &n), 0);
    assert_int_equal(n, NM_SHUFFLE_PARTS_MAX);
    for (int64_t reduce = 7000; reduce < 11096; reduce++) {
        struct nm_bytes map;
        int64_t part_bytes, raw_bytes, number;

        assert_int_equal(nm_writable_bytes(&body, &map), 0);
        assert_true(nm_bytes_equal(map, nm_bytes_of(ATTEMPT(0))));
        assert_int_equal(nm_writable_vint(&body, &part_bytes), 0);
        assert_int_equal(nm_writable_vint(&body, &raw_bytes), 0);
        assert_int_equal(nm_writable_vint(&body, &number), 0);
        assert_int_equal(part_bytes, 0);
        assert_int_equal(raw_bytes, 0);
        assert_int_equal(number, reduce);
    }
    assert_int_equal(body.size, 0);
}

/* Checks the headers of one map's range. The first part has the given number of bytes, and the other parts are
 * empty. */
static void take_heads(struct nm_bytes *body, const char *name, int64_t n_reduces, int64_t wanted_bytes)
{
    int64_t n;

    assert_int_equal(nm_writable_vint(body, &n), 0);
    assert_int_equal(n, n_reduces);
    for (int64_t reduce = 0; reduce < n_reduces; reduce++) {
        struct nm_bytes map;
        int64_t part_bytes, raw_bytes, number;

        assert_int_equal(nm_writable_bytes(body, &map), 0);
        assert_true(nm_bytes_equal(map, nm_bytes_of(name)));
        assert_int_equal(nm_writable_vint(body, &part_bytes), 0);
        assert_int_equal(nm_writable_vint(body, &raw_bytes), 0);
        assert_int_equal(nm_writable_vint(body, &number), 0);
        assert_int_equal(number, reduce);
        assert_int_equal(part_bytes, reduce == 0 ? wanted_bytes : 0);
    }
}

/* Writes the output of a map for n reducers. Only the part of the first reducer has contents. */
static void first_of_many(const char *name, const char *text, uint32_t n)
{
    const char *parts[3001];

    assert_true(n < NM_ARRAY_SIZE(parts));
    for (uint32_t i = 0; i < n; i++)
        parts[i] = i == 0 ? text : "";
    parts[n] = NULL;
    shuffle_fixture_output(&fixture, "a", name, parts);
}

/* The buffer holds the lengths of the parts of one map at a time. The answer is complete in spite of this. */
static void test_more_parts_than_the_buffer_holds_are_sent(void **state)
{
    static const char *const names[] = {ATTEMPT(0), ATTEMPT(1), ATTEMPT(0), ATTEMPT(2)};
    static const char *const texts[] = {"first", "", "first", "the third"};
    struct nm_bytes body;

    (void)state;
    first_of_many(ATTEMPT(0), "first", 3000);
    first_of_many(ATTEMPT(1), "", 3000);
    first_of_many(ATTEMPT(2), "the third", 3000);
    body = fetch(TARGET "0-2999&map=" ATTEMPT(0) "," ATTEMPT(1) "," ATTEMPT(0) "," ATTEMPT(2));
    assert_int_equal(memcmp(reply, "HTTP/1.1 200 OK\r\n", 17), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++) {
        const size_t size = strlen(texts[i]);

        take_heads(&body, names[i], 3000, (int64_t)size);
        assert_true(nm_bytes_equal(nm_bytes_take(&body, size), nm_bytes_of(texts[i])));
    }
    assert_int_equal(body.size, 0);
}

/* The cost of each part is charged, also if a map is named twice. A further charge shows the account's state, since it
 * must wait for all earlier ones. */
static void test_the_cost_of_each_part_is_charged(void **state)
{
    char target[NM_SHUFFLE_HEAD_MAX] = TARGET "0-15&map=" ATTEMPT(0);
    const uint64_t begun_usec = nm_now_usec();
    const uint64_t price_usec = 256 * 5 + 256 * 16; /* the cost of the names in the request and of their parts */
    uint64_t wait_usec;

    (void)state;
    for (unsigned i = 1; i < NM_SHUFFLE_MAPS_MAX; i++)
        strcat(target, "," ATTEMPT(0));
    shuffle_fixture_empty_index(&fixture, "a", ATTEMPT(0), 16);
    charge(NM_SHUFFLE_BURST_USEC);
    fetch(target);
    assert_int_equal(memcmp(reply, "HTTP/1.1 200 OK\r\n", 17), 0);
    charge(NM_SHUFFLE_BURST_USEC);
    assert_int_equal(nm_shuffle_jobs_charge(service.jobs, JOB, 0, nm_now_usec(), &wait_usec), 0);
    assert_true(nm_now_usec() + wait_usec >=
                begun_usec + (NM_SHUFFLE_BURST_USEC + price_usec) * 100 / NM_SHUFFLE_SHARE_PERCENT);
}

/* The request ends when the reducer disconnects while the request waits. nm-shuffle then neither reads the range nor
 * charges its cost. */
static void test_a_request_that_waits_ends_when_the_reducer_disconnects(void **state)
{
    const uint64_t begun_usec = nm_now_usec();
    uint64_t wait_usec;

    (void)state;
    shuffle_fixture_empty_index(&fixture, "a", ATTEMPT(0), NM_SHUFFLE_PARTS_MAX);
    charge(NM_SHUFFLE_BURST_USEC);
    charge(5 * NM_USEC_PER_SEC); /* the request must wait for this time */
    ask(TARGET "0-4095&map=" ATTEMPT(0));
    assert_int_equal(usleep(50000), 0);
    close(asked.fds[0]);
    assert_int_equal(pthread_join(asked.thread, NULL), 0);
    assert_int_equal(asked.result, -ECONNRESET);
    assert_true(nm_now_usec() - begun_usec < 10 * NM_USEC_PER_SEC);
    assert_int_equal(service.count.outputs_ok, 0);
    assert_int_equal(service.count.outputs_failed, 0);
    assert_int_equal(nm_shuffle_jobs_charge(service.jobs, JOB, 0, nm_now_usec(), &wait_usec), 0);
    assert_true(nm_now_usec() + wait_usec < begun_usec + 5 * 4 * NM_USEC_PER_SEC + 100 * NM_USEC_PER_MSEC);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_answer_to_a_range_has_the_exact_bytes),
        TEST(test_one_map_may_be_named_twice_in_a_request),
        TEST(test_a_range_beyond_the_index_is_refused),
        TEST(test_parts_that_are_not_adjacent_are_sent_only_one_by_one),
        TEST(test_the_longest_range_is_sent),
        TEST(test_the_cost_of_each_part_is_charged),
        TEST(test_a_request_that_waits_ends_when_the_reducer_disconnects),
        TEST(test_more_parts_than_the_buffer_holds_are_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
