/* SPDX-License-Identifier: Apache-2.0 */

/* Client and server of Hadoop's RPC in one event loop. */

#include "hadoop-fixture.h"

#include <errno.h>
#include <sys/socket.h>

#include "rpc/hadoop/security.pb-c.h"

struct outcome {
    unsigned n;
    int error;
    char host[64];
    struct nm_exception why;
    struct nm_hadoop_client **free_it;
};

static void on_reply(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct outcome *o = userdata;

    o->n++;
    o->error = error;
    o->why = why ? *why : (struct nm_exception){};
    o->host[0] = '\0';
    if (error == 0)
        (void)snprintf(o->host, sizeof o->host, "%s", ((const Hadoop__NodeId *)answer)->host);
    if (o->free_it)
        *o->free_it = nm_hadoop_client_free(*o->free_it);
}

static void on_closed(void *userdata, int error, const struct nm_exception *why)
{
    on_reply(userdata, error < 0 ? error : 1, NULL, why);
}

static int call_for(struct nm_hadoop_client *c, const char *method, const char *host, uint64_t timeout,
                    struct outcome *o)
{
    Hadoop__NodeId request = HADOOP__NODE_ID__INIT;

    request.host = (char *)host;
    return nm_hadoop_client_call(c, method, &request.base, &hadoop__node_id__descriptor, 0, timeout, on_reply, o);
}

/* The caller context is also sent for a call that waits until the connection is open. The context is sent for one call
 * only. */
static void test_the_caller_context_is_sent_with_one_call(void **state)
{
    struct nm_hadoop_client_options options = {};
    Hadoop__NodeId request = HADOOP__NODE_ID__INIT;
    struct nm_hadoop_client *c;
    struct outcome o = {};
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, false);
    c = fixture_client(&f, &options);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(nm_hadoop_client_call_for(c, nm_bytes_of(i == 0 ? "a job" : ""), "echo", &request.base,
                                                   &hadoop__node_id__descriptor, 0, 20 * NM_USEC_PER_SEC, on_reply,
                                                   &o), 0);
        fixture_run_until(&f, &o.n, i + 1);
        assert_int_equal(o.error, 0);
        assert_int_equal(f.last_context_size, i == 0 ? 5 : 0);
    }
    nm_hadoop_client_free(c);
    fixture_tear_down(&f);
}

static void call(struct nm_hadoop_client *c, const char *method, const char *host, struct outcome *o)
{
    assert_int_equal(call_for(c, method, host, 20 * NM_USEC_PER_SEC, o), 0);
}

static void echo_once(bool secure, const struct nm_token *token, bool accepts_simple_auth)
{
    struct nm_hadoop_client_options options = {.token = token, .accepts_simple_auth = accepts_simple_auth};
    struct outcome o = {};
    struct nm_hadoop_client *c;
    struct fixture f;

    fixture_set_up(&f, NULL, secure);
    c = fixture_client(&f, &options);
    call(c, "echo", "before we are let in", &o);
    fixture_run_until(&f, &o.n, 1);
    assert_int_equal(o.error, 0);
    assert_string_equal(o.host, "before we are let in");
    assert_true(nm_hadoop_client_is_open(c));
    call(c, "echo", "and after", &o);
    fixture_run_until(&f, &o.n, 2);
    assert_string_equal(o.host, "and after");
    assert_string_equal(f.last_user, secure ? "bearer" : token ? "" : "tester");
    assert_int_equal(f.last_identifier_size, secure ? 8 : 0);
    assert_int_equal(f.last_context_size, 0);
    nm_hadoop_client_free(c);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

static void test_a_call_gets_its_answer(void **state)
{
    (void)state;
    echo_once(false, NULL, false);
}

static void test_a_client_with_a_token_is_authenticated(void **state)
{
    (void)state;
    echo_once(true, &fixture_token, false);
}

/* The client has a token, and the server doesn't require tokens. */
static void test_a_client_with_a_token_accepts_a_server_that_requires_none(void **state)
{
    (void)state;
    echo_once(false, &fixture_token, true);
}

/* Asserts that a refused client gets the reason for its calls and for the connection. */
static void assert_client_refused(bool secure, const struct nm_token *token, const char *class_name)
{
    struct outcome o = {}, end = {};
    struct nm_hadoop_client_options options = {.token = token, .closed = on_closed, .userdata = &end};
    struct nm_hadoop_client *c;
    struct fixture f;

    fixture_set_up(&f, NULL, secure);
    c = fixture_client(&f, &options);
    call(c, "echo", "x", &o);
    fixture_run_until(&f, &end.n, 1);
    assert_int_equal(o.n, 1);
    assert_int_equal(o.error, -EACCES);
    assert_string_equal(o.why.class_name, class_name);
    assert_int_equal(end.error, -EACCES);
    assert_string_equal(end.why.class_name, class_name);
    assert_int_equal(call_for(c, "echo", "x", NM_USEC_PER_SEC, &o), -ENOTCONN);
    assert_int_equal(f.n_echoes, 0);
    nm_hadoop_client_free(c);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

static void test_a_refused_client_gets_the_reason(void **state)
{
    struct nm_token unknown = fixture_token, wrong = fixture_token;

    (void)state;
    unknown.identifier = nm_bytes_of("somebody else");
    wrong.password = nm_bytes_of("01234567890123456780");
    assert_client_refused(true, &unknown, NM_EXCEPTION_INVALID_TOKEN);
    assert_client_refused(true, &wrong, NM_EXCEPTION_SASL);
    assert_client_refused(true, NULL, NM_EXCEPTION_ACCESS);
    assert_client_refused(false, &fixture_token, NM_EXCEPTION_SASL); /* refused by the client, which wants to
                                                                      authenticate */
}

/* The identity of a client with a token is the user of the token, not the name that the client sends. */
static void test_the_identity_is_that_of_the_token(void **state)
{
    struct outcome o = {}, end = {};
    struct nm_hadoop_client_options options = {
        .token = &fixture_token, .user = "mallory", .closed = on_closed, .userdata = &end,
    };
    struct nm_hadoop_client *c;
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, true);
    c = fixture_client(&f, &options);
    call(c, "echo", "x", &o);
    fixture_run_until(&f, &end.n, 1);
    assert_int_equal(o.n, 1);
    assert_int_equal(end.error, -EACCES);
    assert_string_equal(end.why.class_name, NM_EXCEPTION_ACCESS);
    assert_non_null(strstr(end.why.message, "bearer"));
    assert_int_equal(f.n_echoes, 0);
    nm_hadoop_client_free(c);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* The owner of a token may use a quarter of all connections. The client of a further connection is told to retry, and
 * the existing connections remain open. */
static void test_the_owner_of_a_token_may_use_a_quarter_of_the_connections(void **state)
{
    const struct nm_hadoop_server_options few = {.connections_max = 8};
    struct outcome o[3] = {}, end = {};
    struct nm_hadoop_client_options options = {.token = &fixture_token, .closed = on_closed, .userdata = &end};
    struct nm_hadoop_client *c[3];
    struct fixture f;

    (void)state;
    fixture_set_up(&f, &few, true);
    for (unsigned i = 0; i < 3; i++) {
        c[i] = fixture_client(&f, &options);
        call(c[i], "echo", "x", &o[i]);
        fixture_run_until(&f, &o[i].n, 1);
        assert_int_equal(o[i].error, i < 2 ? 0 : -EACCES);
    }
    assert_string_equal(o[2].why.class_name, NM_EXCEPTION_RETRY);
    fixture_run_until(&f, &end.n, 1);
    call(c[0], "echo", "still here", &o[0]);
    fixture_run_until(&f, &o[0].n, 2);
    assert_string_equal(o[0].host, "still here");
    for (unsigned i = 0; i < 3; i++)
        nm_hadoop_client_free(c[i]);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* A connection may have CALLS_MAX calls open. The server does not read further calls until calls were answered. All
 * calls are answered in the end. */
static void test_calls_beyond_the_limit_wait(void **state)
{
    enum { CALLS_MAX = 32, N = CALLS_MAX + 8 };
    struct nm_hadoop_client_options options = {};
    struct nm_hadoop_client *c;
    struct outcome o = {};
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, false);
    c = fixture_client(&f, &options);
    for (unsigned i = 0; i < N; i++)
        call(c, "hold", "x", &o);
    fixture_run_until(&f, &f.n_held, CALLS_MAX);
    fixture_run_ready(&f);
    assert_int_equal(f.n_held, CALLS_MAX);
    while (o.n < N) {
        unsigned answered = o.n + 1;

        fixture_run_until(&f, &f.n_held, 1); /* a waiting call may still be on its way */
        f.n_held--;
        nm_hadoop_call_answer(f.held[f.n_held], nm_hadoop_call_request(f.held[f.n_held]));
        fixture_run_until(&f, &o.n, answered);
        fixture_run_ready(&f);
        assert_true(f.n_held <= CALLS_MAX);
        assert_int_equal(o.error, 0);
    }
    nm_hadoop_client_free(c);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* The server refuses calls without calling a method. The connection remains usable after each such call. */
static void test_a_connection_remains_usable_after_a_refused_call(void **state)
{
    static const struct {
        const char *protocol, *method;
        uint64_t version;
        const char *class_name;
        int detail;
    } cases[] = {
        {FIXTURE_PROTOCOL, "shout", 1, NM_EXCEPTION_NO_METHOD, NM_EXCEPTION_DETAIL_NO_METHOD},
        {"test.Nobody", "echo", 1, NM_EXCEPTION_NO_PROTOCOL, NM_EXCEPTION_DETAIL_NO_PROTOCOL},
        {FIXTURE_PROTOCOL, "echo", 2, NM_EXCEPTION_VERSION, NM_EXCEPTION_DETAIL_VERSION},
        {FIXTURE_PROTOCOL, "refuse", 1, "java.lang.Whatever", NM_EXCEPTION_APPLICATION},
    };
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, false);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_hadoop_client_options options = {.protocol = cases[i].protocol, .version = cases[i].version};
        struct nm_hadoop_client *c = fixture_client(&f, &options);
        struct outcome o = {};

        for (unsigned k = 1; k <= 2; k++) {
            call(c, cases[i].method, "java.lang.Whatever", &o);
            fixture_run_until(&f, &o.n, k);
            assert_int_equal(o.error, -EREMOTEIO);
            assert_string_equal(o.why.class_name, cases[i].class_name);
            assert_int_equal(o.why.detail, cases[i].detail);
            assert_true(*o.why.message);
        }
        nm_hadoop_client_free(c);
    }
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* A later call may be answered before an earlier call. A call without an answer in time fails, and its late answer is
 * ignored. */
static void test_calls_may_be_answered_in_another_order(void **state)
{
    struct nm_hadoop_client_options options = {};
    struct outcome first = {}, second = {}, late = {}, after = {};
    Hadoop__NodeId answer = HADOOP__NODE_ID__INIT;
    struct nm_hadoop_client *c;
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, false);
    c = fixture_client(&f, &options);
    call(c, "hold", "first", &first);
    call(c, "hold", "second", &second);
    assert_int_equal(call_for(c, "hold", "late", 50 * NM_USEC_PER_MSEC, &late), 0);
    fixture_run_until(&f, &f.n_held, 3);
    fixture_run_until(&f, &late.n, 1);
    assert_int_equal(late.error, -ETIMEDOUT);
    for (unsigned i = 3; i-- > 0;) {
        answer.host = (char *)(i == 0 ? "1" : i == 1 ? "2" : "3");
        nm_hadoop_call_answer(f.held[i], &answer.base);
        if (i == 1) {
            fixture_run_until(&f, &second.n, 1);
            assert_int_equal(first.n, 0);
        }
    }
    f.n_held = 0;
    fixture_run_until(&f, &first.n, 1);
    assert_string_equal(first.host, "1");
    assert_string_equal(second.host, "2");
    assert_int_equal(late.n, 1);
    call(c, "echo", "after", &after);
    fixture_run_until(&f, &after.n, 1);
    assert_string_equal(after.host, "after");
    nm_hadoop_client_free(c);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* A client makes more calls than a connection may have open. All calls are answered. */
static void test_all_calls_beyond_the_limit_are_answered(void **state)
{
    struct nm_hadoop_client_options options = {};
    struct outcome o = {};
    struct nm_hadoop_client *c;
    unsigned n = 200;
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, false);
    c = fixture_client(&f, &options);
    for (unsigned i = 0; i < n; i++)
        call(c, i % 2 ? "hold" : "echo", "x", &o);
    for (unsigned n_answered = 0; n_answered < n / 2;) {
        fixture_run_until(&f, &f.n_held, 1);
        fixture_run_ready(&f);
        assert_true(f.n_held <= 32);
        for (; f.n_held > 0; n_answered++) {
            struct nm_hadoop_call *held = f.held[--f.n_held];
            nm_hadoop_call_answer(held, nm_hadoop_call_request(held));
        }
    }
    fixture_run_until(&f, &o.n, n);
    assert_int_equal(o.error, 0);
    assert_int_equal(f.n_echoes, n / 2);
    nm_hadoop_client_free(c);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* A large request and its answer are sent in many pieces. */
static void test_a_large_request_is_sent_in_pieces(void **state)
{
    struct nm_hadoop_client_options options = {.token = &fixture_token};
    const size_t size = 3 << 20;
    struct outcome o = {};
    struct nm_hadoop_client *c;
    char *host = malloc(size + 1);
    struct fixture f;

    (void)state;
    memset(host, 'h', size);
    host[size] = '\0';
    fixture_set_up(&f, NULL, true);
    c = fixture_client(&f, &options);
    call(c, "echo", host, &o);
    fixture_run_until(&f, &o.n, 1);
    assert_int_equal(o.error, 0);
    assert_int_equal(strlen(o.host), sizeof o.host - 1);
    /* a call that is larger than the server accepts */
    host = realloc(host, 5 << 20);
    memset(host, 'h', (5 << 20) - 1);
    host[(5 << 20) - 1] = '\0';
    call(c, "echo", host, &o);
    fixture_run_until(&f, &o.n, 2);
    assert_true(o.error < 0);
    free(host);
    nm_hadoop_client_free(c);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

/* A callback frees its client, while other calls of the client are open on both sides. */
static void test_a_callback_can_free_its_client(void **state)
{
    struct nm_hadoop_client *c;
    struct outcome o = {.free_it = &c}, never = {};
    struct nm_hadoop_client_options options = {.closed = on_closed, .userdata = &never};
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, false);
    c = fixture_client(&f, &options);
    call(c, "hold", "never answered", &never);
    call(c, "echo", "x", &o);
    fixture_run_until(&f, &o.n, 1);
    assert_null(c);
    fixture_run_until_gone(&f);
    assert_int_equal(f.n_held, 1); /* the server's method still has the call, but its answer can't be sent to the
                                      client */
    nm_hadoop_call_answer(f.held[0], nm_hadoop_call_request(f.held[0]));
    f.n_held = 0;
    /* the callback that reports a timeout frees its client */
    c = fixture_client(&f, &options);
    assert_int_equal(call_for(c, "hold", "x", 30 * NM_USEC_PER_MSEC, &o), 0);
    fixture_run_until(&f, &o.n, 2);
    assert_int_equal(o.error, -ETIMEDOUT);
    fixture_run_until_gone(&f);
    assert_int_equal(never.n, 0);
    fixture_tear_down(&f);
}

static void test_the_end_of_the_server_fails_open_calls(void **state)
{
    struct outcome o = {}, end = {};
    struct nm_hadoop_client_options options = {.closed = on_closed, .userdata = &end};
    struct nm_hadoop_client *c;
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, false);
    c = fixture_client(&f, &options);
    call(c, "hold", "x", &o);
    fixture_run_until(&f, &f.n_held, 1);
    nm_hadoop_call_answer(f.held[0], nm_hadoop_call_request(f.held[0]));
    f.n_held = 0;
    f.server = nm_hadoop_server_free(f.server);
    fixture_run_until(&f, &end.n, 1);
    nm_hadoop_client_free(c);
    /* no server listens on the port now */
    o = (struct outcome){};
    c = fixture_client(&f, &options);
    call(c, "echo", "x", &o);
    fixture_run_until(&f, &end.n, 2);
    assert_int_equal(o.error, -ECONNREFUSED);
    assert_int_equal(end.error, -ECONNREFUSED);
    nm_hadoop_client_free(c);
    fixture_tear_down(&f);
}

/* The server accepts the connection and sends no bytes. The client waits for the greeting only for a limited time. */
static void test_a_client_closes_its_connection_to_a_silent_server(void **state)
{
    struct outcome o = {}, end = {};
    struct nm_hadoop_client_options options = {
        .token = &fixture_token, .closed = on_closed, .userdata = &end, .connect_usec = 50 * NM_USEC_PER_MSEC};
    struct nm_hadoop_client *c;
    struct fixture f;
    int fd;

    (void)state;
    fixture_set_up(&f, NULL, true);
    nm_hadoop_server_free(f.server);
    f.server = NULL;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&f.address, sizeof f.address), 0);
    assert_int_equal(listen(fd, 4), 0);
    c = fixture_client(&f, &options);
    call(c, "echo", "x", &o);
    fixture_run_until(&f, &end.n, 1);
    assert_int_equal(o.error, -ETIMEDOUT);
    nm_hadoop_client_free(c);
    close(fd);
    fixture_tear_down(&f);
}

static void test_a_ping_keeps_the_connection_open(void **state)
{
    struct nm_hadoop_client_options options = {.ping_usec = 20 * NM_USEC_PER_MSEC};
    struct outcome held = {}, clock = {}, o = {};
    struct nm_hadoop_client *c;
    struct fixture f;

    (void)state;
    fixture_set_up(&f, NULL, false);
    c = fixture_client(&f, &options);
    call(c, "hold", "x", &held);
    assert_int_equal(call_for(c, "hold", "clock", 200 * NM_USEC_PER_MSEC, &clock), 0);
    fixture_run_until(&f, &clock.n, 1); /* the client has sent some pings meanwhile */
    call(c, "echo", "still there", &o);
    fixture_run_until(&f, &o.n, 1);
    assert_int_equal(o.error, 0);
    nm_hadoop_client_free(c);
    fixture_run_until_gone(&f);
    fixture_tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_caller_context_is_sent_with_one_call),
        cmocka_unit_test(test_a_call_gets_its_answer),
        cmocka_unit_test(test_a_client_with_a_token_is_authenticated),
        cmocka_unit_test(test_a_client_with_a_token_accepts_a_server_that_requires_none),
        cmocka_unit_test(test_a_refused_client_gets_the_reason),
        cmocka_unit_test(test_the_identity_is_that_of_the_token),
        cmocka_unit_test(test_the_owner_of_a_token_may_use_a_quarter_of_the_connections),
        cmocka_unit_test(test_calls_beyond_the_limit_wait),
        cmocka_unit_test(test_a_connection_remains_usable_after_a_refused_call),
        cmocka_unit_test(test_calls_may_be_answered_in_another_order),
        cmocka_unit_test(test_all_calls_beyond_the_limit_are_answered),
        cmocka_unit_test(test_a_large_request_is_sent_in_pieces),
        cmocka_unit_test(test_a_callback_can_free_its_client),
        cmocka_unit_test(test_the_end_of_the_server_fails_open_calls),
        cmocka_unit_test(test_a_client_closes_its_connection_to_a_silent_server),
        cmocka_unit_test(test_a_ping_keeps_the_connection_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
