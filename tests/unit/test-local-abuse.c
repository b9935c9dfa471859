/* SPDX-License-Identifier: Apache-2.0 */

/* The HTTP server and clients that stall, send floods of requests, don't read, or send invalid data. Other clients must
 * be served as usual. */

#include "http-fixture.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include "agent/problem.h"

#define ALICE 54321
#define BOB 54322

static void test_slow_clients_are_disconnected(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.timeout_usec = 400 * NM_USEC_PER_MSEC};
    struct client silent, half, trickle, body;
    uint64_t end;

    start(f, &p);
    client_connect(f, &silent);
    client_connect(f, &half);
    client_send(&half, "GET /v1/st");
    client_connect(f, &trickle);
    client_send(&trickle, "GET /v1/status HTTP/1.1\r\n");
    client_connect(f, &body);
    client_send(&body, "POST /v1/containers HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
    end = nm_now_usec() + DEADLINE_USEC;
    while (!silent.eof || !half.eof || !trickle.eof || !body.eof) {
        assert_true(nm_now_usec() < end);
        if (!trickle.eof) /* sends single bytes, which must not keep the connection open */
            (void)send(trickle.fd, "X", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        turn_for(&trickle, 50000);
        turn(&silent);
        turn(&half);
        turn(&body);
        assert_int_equal(request(f, "GET", "/v1/version", NULL, NULL),
                         200); /* other clients are served */
    }
    for (size_t i = 0; i < 4; i++) {
        struct client *const all[] = {&silent, &half, &trickle, &body};
        assert_int_equal(client_status(all[i]), 408);
        assert_non_null(strstr(all[i]->data, "\"thing\":\"request\""));
        assert_non_null(strstr(all[i]->data, "all of it must arrive within 0.4 s"));
    }
    client_close(&silent);
    client_close(&half);
    client_close(&trickle);
    client_close(&body);
}

/* An idle connection is closed without an answer such as 408. Otherwise a client that sends a request at the same
 * moment would read this as the answer to its request. */
static void test_an_idle_connection_is_closed(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.timeout_usec = 100 * NM_USEC_PER_MSEC};
    struct client c;

    start(f, &p);
    client_connect(f, &c);
    client_send(&c, "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n");
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 200);
    assert_null(strstr(c.data, " 408 "));
    client_close(&c);
}

static void test_a_client_that_does_not_read_is_disconnected(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.timeout_usec = 200 * NM_USEC_PER_MSEC};
    struct client c, other;
    unsigned before;

    start(f, &p);
    for (int i = 0; i < 2000; i++)
        fake_manager_add(f->m, "x", 0);
    client_connect(f, &other);
    turn(&other);
    before = n_open_fds();
    client_connect(f, &c);
    client_send(&c, "GET /v1/containers HTTP/1.1\r\nHost: x\r\n\r\n");
    until(&other, n_open_fds() == before + 2);                         /* the descriptor of the client and that of the
                                                                          server */
    until(&other, n_open_fds() == before + 1 - (other.eof ? 1u : 0u)); /* only the descriptor of the client, because the
                                                                          server has closed the connection */
    client_close(&c);
    client_close(&other);
}

static void test_invalid_requests_are_refused(void **state)
{
    static const char *const garbage[] = {
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "\x16\x03\x01\x02\x01",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: x\r\n\r\nzz\r\n"};
    struct fixture *f = *state;
    struct nm_local_server_params p = {.timeout_usec = 300 * NM_USEC_PER_MSEC};
    struct client c;
    char block[16385];

    start(f, &p);
    for (size_t i = 0; i < NM_ARRAY_SIZE(garbage); i++) {
        client_connect(f, &c);
        client_send(&c, "%s", garbage[i]);
        (void)shutdown(c.fd, SHUT_WR);
        until(&c, c.eof);
        client_close(&c);
    }
    /* a head that is larger than any buffer */
    memset(block, 'a', sizeof block - 1);
    block[sizeof block - 1] = '\0';
    client_connect(f, &c);
    client_send(&c, "GET /%s HTTP/1.1\r\nHost: x\r\n\r\n", block);
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 414);
    client_close(&c);
    client_connect(f, &c);
    client_send(&c, "GET / HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", block);
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 431);
    client_close(&c);
    assert_int_equal(request(f, "GET", "/v1/version", NULL, NULL), 200);
}

static void raise_fd_limit(void)
{
    struct rlimit l;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
    l.rlim_cur = NM_MIN(l.rlim_max, (rlim_t)8192);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
    if (l.rlim_cur < 4096)
        skip();
}

static void test_connections_beyond_the_limit_are_refused(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.max_connections = 1000};
    static struct client c[1200];
    unsigned served = 0, refused = 0, before;

    raise_fd_limit();
    start(f, &p);
    before = n_open_fds();
    for (int i = 0; i < 1200; i++) {
        client_connect(f, &c[i]);
        turn(&c[i]); /* the length of the listen queue is limited */
    }
    until(&c[0], n_open_fds() == before + 2200);
    for (int i = 0; i < 1200; i++)
        client_send(&c[i], "GET /v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < 1200; i++) {
        until(&c[i], c[i].eof);
        served += client_status(&c[i]) == 200;
        refused += client_status(&c[i]) == 503;
        if (client_status(&c[i]) == 503)
            assert_error(json_loads(client_body(&c[i]), 0, NULL), "unavailable", "connection",
                         NULL);
        client_close(&c[i]);
    }
    assert_int_equal(served, 1000);
    assert_int_equal(refused, 200);
    client_connect(f, &c[0]);
    until(&c[0], n_open_fds() <= before + 2); /* no descriptor is left open */
    client_close(&c[0]);
    assert_int_equal(request(f, "GET", "/v1/version", NULL, NULL), 200);
}

static void test_one_user_can_not_use_all_connections(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.max_connections = 64};
    struct client c[64];
    int status;

    if (geteuid() != 0)
        skip(); /* only root can connect as another user */
    start(f, &p);
    for (int i = 0; i < 32; i++) {
        client_connect_as(f, &c[i], ALICE, ALICE);
        turn(&c[i]);
    }
    for (int i = 0; i < 32; i++) {
        turn(&c[i]);
        assert_int_equal(c[i].eof, i >= 16); /* a user may have a quarter of all connections */
    }
    status = request_as(f, BOB, "GET", "/v1/version", NULL, NULL);
    assert_int_equal(status, 200);
    for (int i = 0; i < 32; i++)
        client_close(&c[i]);
}

static void test_the_loop_does_not_spin_when_descriptors_are_missing(void **state)
{
    struct fixture *f = *state;
    struct rlimit old, few;
    struct client c, later;
    int fd;

    start(f, NULL);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    client_connect(f, &c);
    client_send(&c, "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n");
    few = old;
    fd = dup(0); /* the lowest free descriptor: all below it are used */
    few.rlim_cur = (rlim_t)fd;
    close(fd);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    until(&c, c.eof);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(client_status(&c), 503);
    client_close(&c);
    client_connect(f, &later);
    client_close(&later);
    assert_int_equal(request(f, "GET", "/v1/version", NULL, NULL), 200);
}

static void test_the_memory_of_unread_answers_is_limited(void **state)
{
    struct fixture *f = *state;
    static struct client c[220];
    unsigned refused = 0;

    raise_fd_limit();
    start(f, NULL);
    for (int i = 0; i < 260; i++) { /* about 300 KB as JSON, which is more than a socket buffers */
        struct nm_container *con = fake_manager_add(f->m, "x", 0);
        memset(con->name, 'n', sizeof con->name - 1);
        memset(con->app, 'a', sizeof con->app - 1);
        memset(con->message, 'm', sizeof con->message - 1);
    }
    for (int i = 0; i < 220; i++) {
        client_connect(f, &c[i]);
        client_send(&c[i], "GET /v1/containers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        for (int k = 0; k < 20 && sd_event_run(f->event, 2000) > 0; k++) /* the server answers, but the client does not
                                                                            read */
            continue;
    }
    for (int i = 0; i < 220; i++) {
        until(&c[i], c[i].eof);
        refused += client_status(&c[i]) == 503;
        client_close(&c[i]);
    }
    assert_in_range(refused, 5, 200);
    assert_int_equal(request(f, "GET", "/v1/containers", NULL, NULL), 200);
}

static int count(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)usec;
    ++*(unsigned *)userdata;
    (void)sd_event_source_set_time_relative(source, 10 * NM_USEC_PER_MSEC);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* The incomplete bodies of one user use all memory that this user may have. Bodies of other users are still
 * accepted. */
static void test_the_memory_of_incomplete_bodies_is_limited_per_user(void **state)
{
    static char body[900001];
    static struct client c[32];
    struct fixture *f = *state;
    unsigned refused = 0;

    if (geteuid() != 0)
        skip(); /* only root can connect as another user */
    raise_fd_limit();
    start(f, NULL);
    memset(body, ' ', sizeof body - 1);
    for (int i = 0; i < 32; i++) {
        client_connect_as(f, &c[i], ALICE, ALICE);
        client_send(&c[i], "POST /v1/containers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                           "Content-Length: 900002\r\n\r\n%s", body);
    }
    /* the largest request has a body of a quarter of a megabyte, and an answer */
    body[0] = '{';
    strcpy(body + sizeof body - 24, "\"command\":[\"true\"]}");
    assert_int_equal(request_as(f, BOB, "POST", "/v1/containers", body, NULL), 201);
    assert_int_equal(request_as(f, ALICE, "GET", "/v1/version", NULL, NULL), 200);
    for (int i = 0; i < 32; i++) {
        client_send(&c[i], "{}"); /* completes the body, which isn't JSON */
        until(&c[i], c[i].eof);
        refused += client_status(&c[i]) == 503;
        client_close(&c[i]);
    }
    assert_in_range(refused, 12, 28);
    assert_int_equal(request_as(f, ALICE, "POST", "/v1/containers", body, NULL), 201);
}

/* A hundred slow requests of a user delay the next request of this user, but no request of another user. */
static void test_requests_of_users_take_turns(void **state)
{
    static struct client c[100];
    struct fixture *f = *state;

    if (geteuid() != 0)
        skip();
    start(f, NULL);
    f->m->slow_usec = 5 * NM_USEC_PER_MSEC;
    for (int i = 0; i < 100; i++) {
        client_connect_as(f, &c[i], ALICE, ALICE);
        client_send(&c[i], "GET /v1/containers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    }
    assert_int_equal(request_as(f, BOB, "GET", "/v1/version", NULL, NULL), 200);
    assert_in_range(f->m->n_listed, 0, 20); /* the other requests still wait */
    for (int i = 0; i < 100; i++) {
        until(&c[i], c[i].eof);
        assert_int_equal(client_status(&c[i]), 200);
        client_close(&c[i]);
    }
}

/* A flood of slow requests must not delay timers, because samples of the node are taken by a timer. */
static void test_a_flood_of_requests_does_not_delay_timers(void **state)
{
    struct fixture *f = *state;
    struct client c[40];
    sd_event_source *source = NULL;
    unsigned ticks = 0;

    start(f, NULL);
    f->m->slow_usec = 10 * NM_USEC_PER_MSEC;
    for (int i = 0; i < 40; i++) {
        client_connect(f, &c[i]);
        client_send(&c[i], "GET /v1/containers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    }
    assert_true(
        sd_event_add_time_relative(f->event, &source, CLOCK_MONOTONIC, 0, 1, count, &ticks) >= 0);
    for (int i = 0; i < 40; i++)
        until(&c[i], c[i].eof);
    sd_event_source_disable_unref(source);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(client_status(&c[i]), 200);
        client_close(&c[i]);
    }
    assert_true(ticks >= 4); /* once or twice if the loop served all requests in one turn */
}

static void test_the_stop_of_the_server_ends_waiting_requests(void **state)
{
    struct fixture *f = *state;
    struct client c[20];

    start(f, NULL);
    f->m->slow_usec = 20 * NM_USEC_PER_MSEC;
    for (int i = 0; i < 20; i++) {
        client_connect(f, &c[i]);
        client_send(&c[i], "GET /v1/containers HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    turn_for(&c[0], 60000);
    stop(f);
    for (int i = 0; i < 20; i++)
        client_close(&c[i]);
}

/* ---- disconnects and invalid bodies ---------------------------------------------------------- */

/* Sends the first n bytes of a request and disconnects, before or after the server has read them. */
static void leave_at(struct fixture *f, const char *request, size_t n)
{
    struct client c;

    client_connect(f, &c);
    client_send(&c, "%.*s", (int)n, request);
    if (n % 2)
        turn(&c);
    client_close(&c);
}

/* A client disconnects after the first, the second, ... byte of a request. The server frees the client's data, and
 * carries out either the complete request or no part of it. */
static void test_a_client_may_disconnect_at_each_byte(void **state)
{
    static const char *const requests[] = {
        "POST /v1/containers HTTP/1.1\r\nHost: x\r\nContent-Length: 22\r\n\r\n{\"command\":[\"true\"]}  ",
        "POST /v1/containers/web/exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: nm-session\r\n"
        "Content-Length: 18\r\n\r\n{\"command\":[\"ls\"]}",
        "GET /v1/events?follow=true HTTP/1.1\r\nHost: x\r\n\r\nGET",
        "GET /v1/containers/web/wait HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /v1/containers/web/logs?follow=true&timestamps=true HTTP/1.1\r\nHost: x\r\n\r\n",
    };
    struct fixture *f = *state;
    struct client other;
    unsigned before;

    fake_manager_add(f->m, "web", 0);
    start(f, NULL);
    assert_int_equal(request(f, "GET", "/v1/containers/web/logs?follow=false", NULL, NULL), 200);
    client_connect(f, &other);
    turn(&other);
    before = n_open_fds();
    for (size_t i = 0; i < NM_ARRAY_SIZE(requests); i++)
        for (size_t n = 0; n <= strlen(requests[i]); n++) {
            leave_at(f, requests[i], n);
            until(&other, n_open_fds() == before);
            assert_true(f->m->n_done == 0 || i > 0 || n == strlen(requests[i]));
        }
    assert_in_range(f->m->n_done, 0, 1);
    assert_int_equal(f->m->client_fd, -EBADF);
    client_send(&other, "GET /v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    until(&other, other.eof);
    assert_int_equal(client_status(&other), 200);
    client_close(&other);
}

static const struct {
    const char *method, *target, *good;
} actions[] = {
    {"POST", "/v1/containers", "{\"command\":[\"true\"]}"},
    {"PATCH", "/v1/containers/web", "{\"vcores\":1}"},
    {"DELETE", "/v1/containers/web", ""},
    {"POST", "/v1/containers/web/pause", ""},
    {"POST", "/v1/containers/web/resume", "{}"},
    {"POST", "/v1/containers/web/promote", ""},
    {"POST", "/v1/containers/web/demote", ""},
    {"POST", "/v1/containers/web/kill", "{\"now\":true}"},
    {"POST", "/v1/containers/web/remove", ""},
    {"POST", "/v1/drain", "{\"deadline_usec\":1}"},
    {"POST", "/v1/undrain", ""},
    {"POST", "/v1/close-breaker", ""},
    {"POST", "/v1/reload", ""},
};

static char *repeated(const char *begin, const char *piece, size_t n, const char *end)
{
    char *text = malloc(strlen(begin) + n * strlen(piece) + strlen(end) + 1), *to;

    assert_non_null(text);
    to = stpcpy(text, begin);
    while (n-- > 0)
        to = stpcpy(to, piece);
    (void)strcpy(to, end);
    return text;
}

/* A body that can't be parsed, or that is too large, has no effect. */
static void test_an_invalid_body_has_no_effect(void **state)
{
    struct fixture *f = *state;
    char *const bodies[] = {
        repeated("{\"nonsense\":0", "", 0, "}"),
        repeated("{\"command\":", "[", 17, ""),
        repeated("{\"command\":[", "[],", 64, "[]]}"),
        repeated("{\"command\":[", "0,", 40000, "0]}"),
        repeated("[]", "", 0, ""),
        repeated("{\"command\":[\"\\ud800\"]}", "", 0, ""),
        repeated("{\"now\":true,\"now\":false}", "", 0, ""),
        repeated("{\"vcores\":1", "0", 400, "}"),
        repeated("\xff\xfe", "", 0, ""),
    };

    fake_manager_add(f->m, "web", 0);
    start(f, NULL);
    for (size_t k = 0; k < NM_ARRAY_SIZE(bodies); k++) {
        for (size_t i = 0; i < NM_ARRAY_SIZE(actions); i++) {
            json_t *j;

            if (request(f, actions[i].method, actions[i].target, bodies[k], &j) != 400)
                fail_msg("%s %s: %s", actions[i].method, actions[i].target, bodies[k]);
            assert_string_equal(json_string_value(json_object_get(json_object_get(j, "error"), "code")), "invalid");
            json_decref(j);
        }
        free(bodies[k]);
    }
    assert_int_equal(f->m->n_done, 0);
    assert_string_equal(f->m->last_id, "");
}

/* A small JSON body may need a large tree in memory. The memory of the tree is charged to the quota, and returned when
 * the tree is freed. */
static void test_the_memory_of_parsed_bodies_is_limited(void **state)
{
    static char body[1000001];
    static struct client c[23];
    struct fixture *f = *state;
    char *tree = repeated("{\"command\":[", "\"\",", 39000, "\"\"]}");
    json_t *j;

    start(f, NULL);
    memset(body, ' ', sizeof body - 1);
    /* Each body lacks one byte, so nmd keeps it. 23 buffers of about 1 MiB leave 1 MiB of the account's 24 MiB. */
    for (size_t i = 0; i < NM_ARRAY_SIZE(c); i++) {
        client_connect(f, &c[i]);
        client_send(&c[i], "POST /v1/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 1000001\r\n\r\n%s", body);
    }
    assert_int_equal(request(f, "POST", "/v1/containers", "{\"command\":[\"true\"]}", NULL), 201);
    assert_int_equal(request(f, "POST", "/v1/containers", tree, &j), 503);
    assert_error(j, "unavailable", "memory", NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(c); i++)
        client_close(&c[i]);
    assert_int_equal(request(f, "GET", "/v1/version", NULL, NULL), 200);
    assert_int_equal(request(f, "POST", "/v1/containers", tree, &j), 400); /* "" isn't a program */
    assert_error(j, "invalid", "command[0]", NULL);
    free(tree);
}

/* Input that a client sends before the answer is refused. It must not be taken as the end of input. */
static void test_input_before_the_answer_is_refused(void **state)
{
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    client_connect(f, &c);
    client_send(&c, "POST /v1/containers HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: nm-session\r\n"
                    "Content-Length: 19\r\n\r\n{\"command\":[\"cat\"]}I\1");
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 101);
    assert_string_equal(client_body(&c), "");
    client_close(&c);
}

/* For each kind of request, the manager's refusal is sent to the client. */
static void test_a_refusal_of_the_manager_reaches_the_client(void **state)
{
    struct fixture *f = *state;

    fake_manager_add(f->m, "web", 0);
    start(f, NULL);
    (void)nm_problem_set(&f->m->refusal, NM_AGENT_E_UNAVAILABLE, "journal", "full", "There is no room.");
    for (size_t i = 0; i < NM_ARRAY_SIZE(actions); i++) {
        json_t *j;

        assert_int_equal(request(f, actions[i].method, actions[i].target, actions[i].good, &j), 503);
        assert_error(j, "unavailable", "journal", "There is no room.");
        if (strstr(actions[i].target, "web")) {
            assert_int_equal(request(f, actions[i].method, "/v1/containers/webs", actions[i].good, &j),
                             strcmp(actions[i].method, "POST") == 0 ? 405 : 404);
            json_decref(j);
        }
    }
    f->m->refusal.outcome = 0;
    assert_int_equal(f->m->n_done, 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(actions); i++)
        assert_true(request(f, actions[i].method, actions[i].target, actions[i].good, NULL) / 100 == 2);
    assert_int_equal(f->m->n_done, NM_ARRAY_SIZE(actions));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_slow_clients_are_disconnected),
        TEST(test_an_idle_connection_is_closed),
        TEST(test_a_client_that_does_not_read_is_disconnected),
        TEST(test_invalid_requests_are_refused),
        TEST(test_connections_beyond_the_limit_are_refused),
        TEST(test_one_user_can_not_use_all_connections),
        TEST(test_the_loop_does_not_spin_when_descriptors_are_missing),
        TEST(test_the_memory_of_unread_answers_is_limited),
        TEST(test_the_memory_of_incomplete_bodies_is_limited_per_user),
        TEST(test_requests_of_users_take_turns),
        TEST(test_a_flood_of_requests_does_not_delay_timers),
        TEST(test_the_stop_of_the_server_ends_waiting_requests),
        TEST(test_a_client_may_disconnect_at_each_byte),
        TEST(test_an_invalid_body_has_no_effect),
        TEST(test_the_memory_of_parsed_bodies_is_limited),
        TEST(test_input_before_the_answer_is_refused),
        TEST(test_a_refusal_of_the_manager_reaches_the_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
