/* SPDX-License-Identifier: Apache-2.0 */

/* Answers that take a long time: a wait for a container's end, and followed logs and events. Also clients that
 * disconnect before the end of the answer. */

#include "counted-memory.h"
#include "http-fixture.h"

#include <sys/socket.h>
#include <sys/stat.h>


#define ALICE 54321
#define BOB 54322
#define PERIOD_USEC (3 * NM_USEC_PER_SEC)

/* ---- wait --------------------------------------------------------------------------------- */

static void test_a_wait_returns_at_the_end_of_the_container(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.timeout_usec = 300 * NM_USEC_PER_MSEC};
    struct nm_container *con, *newer;
    struct client c;
    json_t *j;

    start(f, &p);
    con = fake_manager_add(f->m, "web", 0);
    client_connect(f, &c);
    client_send(&c, "GET /v1/containers/web/wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    turn_for(&c, 1500 * NM_USEC_PER_MSEC); /* longer than any timeout */
    assert_false(c.eof);
    assert_int_equal(c.len, 0);
    fake_manager_set_state(f->m, con, NM_KILLING);
    turn_for(&c, 20000);
    assert_int_equal(c.len, 0);
    /* another container gets the name before the first container ends */
    strcpy(con->name, "old");
    newer = fake_manager_add(f->m, "web", 0);
    con->exit_code = 3;
    fake_manager_set_state(f->m, con, NM_COMPLETED);
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 200);
    j = json_loads(client_body(&c), 0, NULL);
    assert_string_equal(json_string_value(json_object_get(j, "id")), con->id);
    assert_int_equal(json_integer_value(json_object_get(j, "exit_code")), 3);
    json_decref(j);
    client_close(&c);
    assert_int_equal(newer->view.state, NM_RUNNING);
    assert_int_equal(request(f, "GET", "/v1/containers/old/wait", NULL, NULL),
                     200); /* the container has ended, so the answer comes immediately */
}

static void test_a_client_may_disconnect_during_a_wait(void **state)
{
    struct fixture *f = *state;
    struct client c[50], other;
    unsigned before;

    start(f, NULL);
    fake_manager_add(f->m, "web", 0);
    client_connect(f, &other);
    turn(&other);
    before = n_open_fds();
    for (int i = 0; i < 50; i++) {
        client_connect(f, &c[i]);
        client_send(&c[i], "GET /v1/containers/web/wait HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    until(&other, n_open_fds() == before + 100);
    turn_for(&other, 50000);
    for (int i = 0; i < 50; i++)
        client_close(&c[i]);
    until(&other, n_open_fds() == before); /* the server frees the wait of a disconnected client */
    client_close(&other);
}

static void test_a_client_that_sends_no_more_still_gets_the_answer_to_a_wait(void **state)
{
    struct fixture *f = *state;
    struct nm_container *con;
    struct client c;

    start(f, NULL);
    con = fake_manager_add(f->m, "web", 0);
    client_connect(f, &c);
    client_send(&c, "GET /v1/containers/web/wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    turn_for(&c, 50000);
    assert_int_equal(shutdown(c.fd, SHUT_WR), 0); /* the client sends no more, but still reads */
    turn_for(&c, 50000);
    assert_false(c.eof);
    fake_manager_set_state(f->m, con, NM_COMPLETED);
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 200);
    client_close(&c);
}

/* ---- logs --------------------------------------------------------------------------------- */

static void test_a_log_is_sent(void **state)
{
    static const struct {
        const char *query, *content;
    } cases[] = {
        {"", "one\ntwo\nthree\n"},
        {"?tail=1", "three\n"},
        {"?tail=2&stream=stdout", "two\nthree\n"},
        {"?tail=3", "one\ntwo\nthree\n"},
        {"?tail=99", "one\ntwo\nthree\n"},
        {"?tail=0", ""},
        {"?stream=stderr", ""},
    };
    struct fixture *f = *state;
    struct nm_container *con;
    char got[256];

    start(f, NULL);
    con = fake_manager_add(f->m, "web", 0);
    assert_int_equal(get_logs(f, "/v1/containers/web/logs", got, sizeof got),
                     200); /* no file yet */
    assert_string_equal(got, "");
    append_log(f, con, "one\ntwo\nthree\n");
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        char target[128];
        (void)snprintf(target, sizeof target, "/v1/containers/web/logs%s", cases[i].query);
        assert_int_equal(get_logs(f, target, got, sizeof got), 200);
        assert_string_equal(got, cases[i].content);
    }
    append_log(f, con, "unfinished");
    assert_int_equal(get_logs(f, "/v1/containers/web/logs?tail=1", got, sizeof got), 200);
    assert_string_equal(got, "unfinished");
}

static void test_a_large_log_is_sent_in_pieces(void **state)
{
    struct fixture *f = *state;
    struct nm_container *con;
    struct client c;
    char line[101];
    const char *body;

    start(f, NULL);
    con = fake_manager_add(f->m, "web", 0);
    memset(line, 'x', 99);
    strcpy(line + 99, "\n");
    for (int i = 0; i < 60000; i++) /* 6 MB, which is more than the server reads to find the last lines */
        append_log(f, con, line);
    client_connect(f, &c);
    client_send(&c, "GET /v1/containers/web/logs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    until(&c, c.eof);
    assert_int_equal(c.len - (size_t)(client_body(&c) - c.data), 6000000);
    client_close(&c);
    client_connect(f, &c);
    client_send(
        &c,
        "GET /v1/containers/web/logs?tail=1000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    until(&c, c.eof);
    assert_int_equal(c.len - (size_t)(client_body(&c) - c.data), 100000);
    client_close(&c);
    client_connect(f, &c);
    client_send(
        &c,
        "GET /v1/containers/web/logs?tail=59999 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    until(&c, c.eof);
    body = client_body(&c);
    assert_int_equal(c.len - (size_t)(body - c.data), 4 << 20);
    client_close(&c);
}

static void test_a_followed_log_is_sent_as_it_grows(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.timeout_usec = 300 * NM_USEC_PER_MSEC};
    struct nm_container *con;
    struct client c;

    start(f, &p);
    con = fake_manager_add(f->m, "web", 0);
    con->view.state = NM_SCHEDULED;
    follow(f, &c, "/v1/containers/web/logs?follow=true"); /* the container hasn't started: no file */
    turn_for(&c, 1500 * NM_USEC_PER_MSEC);                /* longer than any timeout */
    assert_false(c.eof);
    append_log(f, con, "first\n");
    fake_manager_set_state(f->m, con, NM_RUNNING);
    until(&c, strstr(c.data, "first\n"));
    append_log(f, con, "second\n");
    until(&c, strstr(c.data, "second\n"));
    append_log(f, con, "last\n");
    fake_manager_set_state(f->m, con, NM_COMPLETED);
    until(&c, c.eof);
    assert_content(&c, "first\nsecond\nlast\n");
    assert_non_null(strstr(c.data, "\r\n0\r\n\r\n")); /* the stream ends with the last chunk */
    client_close(&c);
    follow(f, &c, "/v1/containers/web/logs?follow=true&tail=1"); /* the container has ended already */
    until(&c, c.eof);
    assert_content(&c, "last\n");
    client_close(&c);
}

static void test_a_truncated_log_is_followed(void **state)
{
    struct fixture *f = *state;
    struct nm_container *con;
    char path[256];
    struct client c;

    start(f, NULL);
    con = fake_manager_add(f->m, "web", 0);
    append_log(f, con, "before the cut\n");
    follow(f, &c, "/v1/containers/web/logs?follow=true");
    until(&c, strstr(c.data, "cut\n"));
    (void)snprintf(path, sizeof path, "%s/%s.stdout", f->dir, con->id);
    assert_int_equal(truncate(path, 0), 0);
    turn_for(&c, 20000);
    append_log(f, con, "after\n");
    until(&c, strstr(c.data, "after\n"));
    client_close(&c);
}

/* The file isn't the file that the shim has made. The manager reports this immediately, or later while the log is
 * followed. */
static void test_a_log_that_is_not_a_file_is_refused(void **state)
{
    struct fixture *f = *state;
    struct nm_container *con;
    struct client c;
    char got[512];

    start(f, NULL);
    con = fake_manager_add(f->m, "web", 0);
    follow(f, &c, "/v1/containers/web/logs?follow=true"); /* no file yet */
    f->m->log_is_strange = true;
    assert_int_equal(get_logs(f, "/v1/containers/web/logs", got, sizeof got), 409);
    assert_non_null(strstr(got, "not read"));
    assert_int_equal(get_logs(f, "/v1/containers/web/logs?follow=true", got, sizeof got), 409);
    fake_manager_set_state(f->m, con, NM_RUNNING);
    until(&c, c.eof);
    client_close(&c);
}

static void test_logs_of_other_users_are_refused(void **state)
{
    struct fixture *f = *state;

    if (geteuid() != 0)
        skip();
    start(f, NULL);
    append_log(f, fake_manager_add(f->m, "bobs", BOB), "secret\n");
    assert_int_equal(request_as(f, ALICE, "GET", "/v1/containers/bobs/logs", NULL, NULL), 404);
    assert_int_equal(request_as(f, BOB, "GET", "/v1/containers/bobs/logs", NULL, NULL), 200);
}

/* ---- events ------------------------------------------------------------------------------- */

static void test_events_are_sent_as_they_happen(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.timeout_usec = 300 * NM_USEC_PER_MSEC};
    struct nm_container *con;
    struct client c;
    unsigned lines = 0;
    char *text, *rest, *line;

    start(f, &p);
    con = fake_manager_add(f->m, "web", 0);
    fake_manager_note(f->m, "begun");
    fake_manager_set_state(f->m, con, NM_PAUSING);
    follow(f, &c, "/v1/events?follow=true");
    assert_string_equal(client_header(&c, "Content-Type"), "application/x-ndjson");
    until(&c, strstr(c.data, "PAUSING"));
    turn_for(&c, 1500 * NM_USEC_PER_MSEC);
    assert_false(c.eof);
    fake_manager_set_state(f->m, con, NM_PAUSED);
    until(&c, strstr(c.data, "PAUSED"));
    stop(f); /* ends the stream with the last chunk */
    until(&c, c.eof);
    rest = text = client_content(&c);
    while ((line = strsep(&rest, "\n")) && *line) {
        json_t *j = json_loads(line, 0, NULL);
        assert_non_null(j);
        assert_int_equal(json_integer_value(json_object_get(j, "number")), ++lines);
        json_decref(j);
    }
    assert_int_equal(lines, 3);
    free(text);
    client_close(&c);
}

static void test_events_with_higher_numbers_are_sent(void **state)
{
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    for (int i = 0; i < 5; i++)
        fake_manager_note(f->m, "x");
    follow(f, &c, "/v1/events?after=3");
    until(&c, strstr(c.data, "\r\n0\r\n\r\n"));
    assert_null(strstr(c.data, "\"number\":3"));
    assert_non_null(strstr(c.data, "\"number\":4"));
    assert_non_null(strstr(c.data, "\"number\":5"));
    assert_null(strstr(c.data, "lost"));
    client_close(&c);
    follow(f, &c, "/v1/events?after=900"); /* a number from before a restart of nmd, so all events are sent */
    until(&c, strstr(c.data, "\r\n0\r\n\r\n"));
    assert_non_null(strstr(c.data, "\"number\":1"));
    client_close(&c);
}

static void test_the_loss_of_older_events_is_reported(void **state)
{
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    for (int i = 0; i < FAKE_RING + 20; i++)
        fake_manager_note(f->m, "x");
    follow(f, &c, "/v1/events?after=5");
    until(&c, strstr(c.data, "\r\n0\r\n\r\n"));
    assert_non_null(strstr(c.data, "{\"lost\":15}\n{\"number\":21,"));
    client_close(&c);
}

/* For a slow reader the server keeps only the reader's position. The reader is informed of the events that it
 * missed. */
static void test_a_slow_reader_is_informed_of_missed_events(void **state)
{
    struct fixture *f = *state;
    struct client c;
    char text[200], *got;
    uint64_t reported = 0, lost = 0;

    start(f, NULL);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    follow(f, &c, "/v1/events?follow=true");
    for (int i = 0; i < 20000; i++) {
        fake_manager_note(f->m, text);
        (void)sd_event_run(f->event, 0);
    }
    fake_manager_note(f->m, "the end");
    until(&c, strstr(c.data, "the end"));
    got = client_content(&c);
    for (const char *p = got; (p = strstr(p, "{\"number\"")); p++)
        reported++;
    for (const char *p = got; (p = strstr(p, "{\"lost\":")); p++)
        lost += strtoull(p + 8, NULL, 10);
    free(got);
    assert_true(lost > 0);
    assert_int_equal(reported + lost, 20001);
    client_close(&c);
}

static void test_events_of_other_users_are_not_sent(void **state)
{
    struct fixture *f = *state;
    struct nm_container *alices, *bobs;
    struct client c;

    if (geteuid() != 0)
        skip();
    start(f, NULL);
    alices = fake_manager_add(f->m, "alices", ALICE);
    bobs = fake_manager_add(f->m, "bobs", BOB);
    fake_manager_set_state(f->m, bobs, NM_PAUSING);
    client_connect_as(f, &c, ALICE, ALICE);
    client_send(&c, "GET /v1/events?follow=true HTTP/1.1\r\nHost: x\r\n\r\n");
    for (int i = 0; i < 200; i++)
        fake_manager_set_state(f->m, bobs, i % 2 ? NM_PAUSED : NM_RUNNING);
    turn_for(&c, 50000);
    fake_manager_set_state(f->m, alices, NM_PAUSING);
    until(&c, strstr(c.data, "alices"));
    assert_null(strstr(c.data, "bobs"));
    assert_null(strstr(c.data, bobs->id));
    client_close(&c);
}

static void test_a_client_may_disconnect_during_a_stream_of_events(void **state)
{
    struct fixture *f = *state;
    struct client c[50], other;
    unsigned before;

    start(f, NULL);
    client_connect(f, &other);
    turn(&other);
    before = n_open_fds();
    for (int i = 0; i < 50; i++)
        follow(f, &c[i], "/v1/events?follow=true");
    for (int i = 0; i < 50; i++)
        client_close(&c[i]);
    until(&other, n_open_fds() == before);
    client_close(&other);
}

/* ---- history ------------------------------------------------------------------------------ */

static void sampled(struct fixture *f, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i <= to; i++)
        nm_history_add(f->m->history,
                       &(struct nm_history_point){.at_usec = i * NM_USEC_PER_SEC, .realtime_usec = i});
}

/* Starts with the longest possible history. */
static void start_with_long_history(struct fixture *f)
{
    sampled(f, 1, 601);
    start(f, NULL);
}

/* Returns the number of points, and checks the times of the first and the last one. 0: any time. */
static size_t n_points(const struct client *c, json_int_t first, json_int_t last)
{
    _cleanup_free_ char *text = client_content(c);
    json_error_t e;
    json_t *j = json_loads(text, 0, &e), *points = json_object_get(j, "points");
    size_t n = json_array_size(points);

    if (!j)
        fail_msg("%s at %d of %s", e.text, e.position, text);
    assert_int_equal(client_status(c), 200);
    assert_int_equal(json_integer_value(json_object_get(j, "step_usec")), NM_USEC_PER_SEC);
    if (first > 0)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(points, 0), "time_usec")), first);
    if (last > 0)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(points, n - 1), "time_usec")), last);
    json_decref(j);
    return n;
}

static void get_history_of(struct fixture *f, struct client *c, const char *query)
{
    client_connect(f, c);
    client_send(c, "GET /v1/history%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", query);
}

static void get_history(struct fixture *f, struct client *c)
{
    get_history_of(f, c, "");
}

/* The requested span ends at the newest point, and is exact to the microsecond. */
static void test_a_requested_span_of_the_history_ends_at_the_newest_point(void **state)
{
    static const struct {
        const char *query;
        unsigned n; /* 0: refused */
    } cases[] = {
        {"?span_usec=1", 1},         {"?span_usec=1000000", 1},   {"?span_usec=1000001", 2},
        {"?span_usec=99000001", 100}, {"?span_usec=86400000000", 201},
        {"?span_usec=0", 0},         {"?span_usec=86400000001", 0}, {"?span_usec=1h", 0},
    };
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    sampled(f, 1, 201);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        print_message("%s\n", cases[i].query);
        get_history_of(f, &c, cases[i].query);
        until(&c, c.eof);
        if (cases[i].n > 0)
            assert_int_equal(n_points(&c, 0, 201), cases[i].n);
        else
            assert_int_equal(client_status(&c), 400);
        client_close(&c);
    }
}

static void test_the_history_is_sent(void **state)
{
    static const unsigned n[] = {0, 1, 15, 16, 17, 32, 201};
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(n); i++) {
        sampled(f, nm_history_n(f->m->history) + 1, n[i]);
        get_history(f, &c);
        until(&c, c.eof);
        assert_int_equal(n_points(&c, n[i] > 0, n[i]), n[i]);
        client_close(&c);
    }
}

/* The answer with the longest history is made in pieces. A client that requests it repeatedly therefore uses little
 * memory and doesn't delay other clients. */
static void test_a_long_history_is_made_in_pieces(void **state)
{
    struct fixture *f = *state;
    struct client c, other;

    start_with_long_history(f);
    get_history(f, &c);
    client_connect(f, &other);
    json_set_alloc_funcs(counted, uncounted);
    until(&c, client_body(&c) && c.len > 5000);
    client_send(&other, "GET /v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    until(&other, other.eof);
    assert_false(c.eof);
    until(&c, c.eof);
    json_set_alloc_funcs(malloc, free);
    assert_int_equal(held, 0);
    assert_in_range(peak, 1000, 64 << 10);
    assert_int_equal(n_points(&c, 1, 601), 601);
    client_close(&c);
    client_close(&other);
}

/* Points that the ring drops before a slow reader has read them are omitted. Points that are added after the request
 * are not sent. */
static void test_a_slow_reader_does_not_get_dropped_points(void **state)
{
    struct fixture *f = *state;
    struct client c, other;

    start_with_long_history(f);
    get_history(f, &c);
    client_connect(f, &other);
    turn_for(&other, 300 * NM_USEC_PER_MSEC); /* until the socket's buffer is full */
    sampled(f, 602, 1190);
    until(&c, c.eof);
    assert_in_range(n_points(&c, 1, 601), 12, 600);
    client_close(&c);
    client_close(&other);
}

static void test_a_client_may_disconnect_while_it_reads_the_history(void **state)
{
    struct fixture *f = *state;
    struct client c[20], other;
    unsigned before;

    start_with_long_history(f);
    client_connect(f, &other);
    turn(&other);
    before = n_open_fds();
    for (int i = 0; i < 20; i++) {
        get_history(f, &c[i]);
        until(&c[i], client_body(&c[i]));
    }
    for (int i = 0; i < 20; i++)
        client_close(&c[i]);
    until(&other, n_open_fds() == before);
    client_close(&other);
}

static void test_the_stop_of_the_server_ends_streams(void **state)
{
    struct fixture *f = *state;
    struct nm_container *con;
    struct client events, logs, wait;

    start(f, NULL);
    con = fake_manager_add(f->m, "web", 0);
    append_log(f, con, "x\n");
    follow(f, &events, "/v1/events?follow=true");
    follow(f, &logs, "/v1/containers/web/logs?follow=true");
    client_connect(f, &wait);
    client_send(&wait, "GET /v1/containers/web/wait HTTP/1.1\r\nHost: x\r\n\r\n");
    turn_for(&wait, 50000);
    stop(f);
    until(&wait, wait.eof);
    until(&logs, logs.eof);
    until(&events, events.eof);
    assert_int_equal(client_status(&wait), 503);
    fake_manager_set_state(f->m, con, NM_COMPLETED); /* all connections have been closed by the server */
    client_close(&wait);
    client_close(&logs);
    client_close(&events);
}

/* libmicrohttpd reads the request only when the server is already being stopped. */
static void test_a_request_during_the_stop_of_the_server_is_ended(void **state)
{
    struct fixture *f = *state;
    struct client c;
    unsigned before;

    start(f, NULL);
    fake_manager_add(f->m, "web", 0);
    before = n_open_fds();
    client_connect(f, &c);
    until(&c, n_open_fds() == before + 2);
    client_send(&c, "GET /v1/containers/web/wait HTTP/1.1\r\nHost: x\r\n\r\n");
    stop(f);
    until(&c, c.eof);
    client_close(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_wait_returns_at_the_end_of_the_container),
        TEST(test_a_client_may_disconnect_during_a_wait),
        TEST(test_a_client_that_sends_no_more_still_gets_the_answer_to_a_wait),
        TEST(test_a_log_is_sent),
        TEST(test_a_large_log_is_sent_in_pieces),
        TEST(test_a_followed_log_is_sent_as_it_grows),
        TEST(test_a_truncated_log_is_followed),
        TEST(test_a_log_that_is_not_a_file_is_refused),
        TEST(test_logs_of_other_users_are_refused),
        TEST(test_events_are_sent_as_they_happen),
        TEST(test_events_with_higher_numbers_are_sent),
        TEST(test_the_loss_of_older_events_is_reported),
        TEST(test_a_slow_reader_is_informed_of_missed_events),
        TEST(test_events_of_other_users_are_not_sent),
        TEST(test_a_client_may_disconnect_during_a_stream_of_events),
        TEST(test_the_history_is_sent),
        TEST(test_a_requested_span_of_the_history_ends_at_the_newest_point),
        TEST(test_a_long_history_is_made_in_pieces),
        TEST(test_a_slow_reader_does_not_get_dropped_points),
        TEST(test_a_client_may_disconnect_while_it_reads_the_history),
        TEST(test_the_stop_of_the_server_ends_streams),
        TEST(test_a_request_during_the_stop_of_the_server_is_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
