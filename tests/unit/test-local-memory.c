/* SPDX-License-Identifier: Apache-2.0 */

/* The HTTP server without memory or descriptors, at each place once. A client is answered, refused or disconnected,
 * but never gets a part of an answer as if it were complete. Nothing leaks, and the next client is served. */

#include "http-fixture.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "fail-nth.h"
#include "rpc/local/messages.h"

#define ALL (FAIL_MEMORY | FAIL_EVENT | FAIL_OPEN)

/* ---- other allocations ----------------------------------------------------------------------- */

FILE *__real_open_memstream(char **text, size_t *len);
FILE *__wrap_open_memstream(char **text, size_t *len);
struct MHD_Response *__real_MHD_create_response_from_buffer(size_t size, void *buffer, enum MHD_ResponseMemoryMode m);
struct MHD_Response *__wrap_MHD_create_response_from_buffer(size_t size, void *buffer, enum MHD_ResponseMemoryMode m);
struct MHD_Response *__real_MHD_create_response_from_buffer_with_free_callback_cls(
    size_t size, void *buffer, MHD_ContentReaderFreeCallback done, void *userdata);
struct MHD_Response *__wrap_MHD_create_response_from_buffer_with_free_callback_cls(
    size_t size, void *buffer, MHD_ContentReaderFreeCallback done, void *userdata);
struct MHD_Response *__real_MHD_create_response_from_callback(uint64_t size, size_t block,
                                                              MHD_ContentReaderCallback reader, void *userdata,
                                                              MHD_ContentReaderFreeCallback done);
struct MHD_Response *__wrap_MHD_create_response_from_callback(uint64_t size, size_t block,
                                                              MHD_ContentReaderCallback reader, void *userdata,
                                                              MHD_ContentReaderFreeCallback done);
struct MHD_Response *__real_MHD_create_response_for_upgrade(MHD_UpgradeHandler handler, void *userdata);
struct MHD_Response *__wrap_MHD_create_response_for_upgrade(MHD_UpgradeHandler handler, void *userdata);
enum MHD_Result __real_MHD_add_response_header(struct MHD_Response *r, const char *name, const char *value);
enum MHD_Result __wrap_MHD_add_response_header(struct MHD_Response *r, const char *name, const char *value);

FILE *__wrap_open_memstream(char **text, size_t *len)
{
    return fail_here(FAIL_MEMORY) ? NULL : __real_open_memstream(text, len);
}

struct MHD_Response *__wrap_MHD_create_response_from_buffer(size_t size, void *buffer, enum MHD_ResponseMemoryMode m)
{
    return fail_here(FAIL_MEMORY) ? NULL : __real_MHD_create_response_from_buffer(size, buffer, m);
}

struct MHD_Response *__wrap_MHD_create_response_from_buffer_with_free_callback_cls(
    size_t size, void *buffer, MHD_ContentReaderFreeCallback done, void *userdata)
{
    return fail_here(FAIL_MEMORY)
               ? NULL
               : __real_MHD_create_response_from_buffer_with_free_callback_cls(size, buffer, done, userdata);
}

struct MHD_Response *__wrap_MHD_create_response_from_callback(uint64_t size, size_t block,
                                                              MHD_ContentReaderCallback reader, void *userdata,
                                                              MHD_ContentReaderFreeCallback done)
{
    return fail_here(FAIL_MEMORY) ? NULL
                                  : __real_MHD_create_response_from_callback(size, block, reader, userdata, done);
}

struct MHD_Response *__wrap_MHD_create_response_for_upgrade(MHD_UpgradeHandler handler, void *userdata)
{
    return fail_here(FAIL_MEMORY) ? NULL : __real_MHD_create_response_for_upgrade(handler, userdata);
}

enum MHD_Result __wrap_MHD_add_response_header(struct MHD_Response *r, const char *name, const char *value)
{
    return fail_here(FAIL_MEMORY) ? MHD_NO : __real_MHD_add_response_header(r, name, value);
}

/* ---- requests -------------------------------------------------------------------------------- */

struct ask {
    const char *method, *target, *body;
    int status;
    const char *upgrade; /* value of the header Upgrade, or NULL */
    bool waits;          /* waits for the container's end */
};

static void ask(struct fixture *f, struct client *c, const struct ask *a)
{
    const char *body = a->body ? a->body : "";

    client_connect(f, c);
    client_send(c,
                "%s %s HTTP/1.1\r\nHost: x\r\nConnection: %s\r\n%s%s%sContent-Type: application/json\r\n"
                "Content-Length: %zu\r\n\r\n%s",
                a->method, a->target, a->upgrade ? "Upgrade" : "close", a->upgrade ? "Upgrade: " : "",
                a->upgrade ? a->upgrade : "", a->upgrade ? "\r\n" : "", strlen(body), body);
}

/* Does the same as turn() of the fixture, without failures in the fixture itself. Returns the result of
 * sd_event_run(). */
static int armed_turn(struct client *c, unsigned kinds)
{
    int r;

    fail_resume(kinds);
    r = sd_event_run(c->f->event, 1000);
    (void)fail_pause();
    assert_true(r >= 0);
    take(c);
    return r;
}

/* Serves until the connection has ended. A client that waits for the container's end gets it after all else is done.
 * Returns whether the nth allocation was refused. */
static bool serve(struct client *c, const struct ask *a, unsigned n)
{
    struct nm_container *con = c->f->m->containers[0];
    uint64_t end = nm_now_usec() + DEADLINE_USEC;
    unsigned kinds;

    fail_nth(ALL, n);
    kinds = fail_pause();
    while (!c->eof) {
        int r = armed_turn(c, kinds);

        if (nm_now_usec() > end)
            fail_msg("no end with refusal %u; so far: %s", n, c->data);
        if (a->upgrade && client_body(c) && client_status(c) != 101)
            (void)shutdown(c->fd, SHUT_WR); /* after a refusal the server would keep the connection for the next
                                               request */
        if (r == 0 && a->waits && con->view.state != NM_COMPLETED)
            fake_manager_set_state(c->f->m, con, NM_COMPLETED);
    }
    return fail_stop();
}

static void assert_json(const char *text)
{
    json_error_t e;
    json_t *j = json_loads(text, 0, &e);

    if (!j)
        fail_msg("%s in %s", e.text, text);
    json_decref(j);
}

/* Returns the content of a complete answer. NULL: the answer was cut off, which the client can detect. */
static char *whole_content(const struct client *c)
{
    char *content;

    if (!client_header(c, "Transfer-Encoding")) {
        content = strdup(client_body(c));
        if (client_header(c, "Content-Length"))
            assert_int_equal(strlen(content), strtoul(client_header(c, "Content-Length"), NULL, 10));
        return content;
    }
    return strstr(c->data, "\r\n0\r\n\r\n") ? client_content(c) : NULL;
}

/* jansson reports a failed allocation for a string as a mistake in the text, and the caller can't distinguish the
 * two. */
static bool is_parsers_mistake(const struct ask *a, int status)
{
    return a->body && status == 400;
}

/* done: the action was carried out, but its result could not be shown. */
static void assert_refusal(const struct ask *a, int status, const char *content, bool done)
{
    assert_int_equal(strstr(content, "The request was carried out") != NULL, done);
    if (strncmp(a->target, "/ws/", 4) == 0)
        assert_non_null(strstr(content, "\"RemoteException\""));
    else if (status == 400)
        assert_error(json_loads(content, 0, NULL), "invalid", "body", NULL);
    else if (status == 503)
        assert_error(json_loads(content, 0, NULL), "unavailable", "memory", NULL);
    else
        assert_error(json_loads(content, 0, NULL), "internal", "nmd", NULL);
}

/* Returns the content of a good and complete answer, or NULL. */
static char *check_answer(const struct client *c, const struct ask *a, bool refused, bool done)
{
    const char *type = client_header(c, "Content-Type");
    bool is_json = type && strstr(type, "/json");
    int status = client_status(c);
    char *content;

    if (status != a->status &&
        !(refused && (status == 0 || status == 500 || status == 503 || is_parsers_mistake(a, status))))
        fail_msg("%s %s: %s", a->method, a->target, c->data);
    if (status == 0) {
        assert_int_equal(c->len, 0);
        return NULL;
    }
    content = whole_content(c);
    assert_true(content || refused);
    if (content && is_json)
        assert_json(content);
    if (status == a->status)
        return content;
    assert_refusal(a, status, content, done);
    free(content);
    return NULL;
}

static void forget_new_containers(struct nm_manager *m)
{
    while (m->n_containers > 1)
        nm_container_free(m->containers[--m->n_containers]);
    m->containers[0]->view.state = NM_RUNNING;
}

/* Makes one request whose nth allocation is refused. Returns the content of a good and complete answer, or NULL. */
static char *refuse(struct fixture *f, const struct ask *a, unsigned n, bool *ret_refused)
{
    unsigned n_done = f->m->n_done;
    struct client c;
    char *content;

    ask(f, &c, a);
    *ret_refused = serve(&c, a, n);
    content = check_answer(&c, a, *ret_refused, f->m->n_done > n_done);
    client_close(&c);
    forget_new_containers(f->m);
    return content;
}

/* Returns the number of possible refusals of the request. same: each complete answer has the same content. */
static unsigned each_refusal(struct fixture *f, const struct ask *a, bool same)
{
    const struct ask version = {"GET", "/v1/version", NULL, 200, NULL, false};
    bool refused;
    _cleanup_free_ char *good = refuse(f, a, 0, &refused);
    unsigned before = n_open_fds(), n;

    for (refused = true, n = 1; refused; n++) {
        _cleanup_free_ char *got = refuse(f, a, n, &refused);

        if (same && got)
            assert_string_equal(got, good);
        free(refuse(f, &version, 0, &(bool){false}));
        assert_int_equal(n_open_fds(), before);
    }
    return n - 2;
}

/* Adds one object of each kind that a request can return, or that has lists in it. */
static void furnish(struct fixture *f)
{
    static const char *const argv[] = {"sh", "-c", "exit \xff", NULL};
    struct nm_container *con = fake_manager_add(f->m, "web", 0);

    con->command.argv = nm_strv_pack(argv, 3);
    con->started_realtime_usec = nm_realtime_usec();
    f->m->decisions[f->m->n_decisions++] = (struct nm_decision){
        .number = 1, .kind = NM_DECISION_PAUSE, .reason = NM_REASON_CPU_OVER_BETA, .resource = NM_CPU,
        .container_id = "container_1_000001", .capacity = {1000, 1000}, .n_candidates = 1, .n_candidates_total = 1,
    };
    strcpy(f->m->decisions[0].candidates[0].id, "container_1_000001");
    f->m->details = json_pack("{s:{s:[{s:s, s:s}]}}", "masters", "pipelines", "application", "application_1_1", "user",
                              "alice");
    f->m->placement = json_pack("{s:s}", "container_id", "container_1");
    f->m->status.n_notes = 1;
    strcpy(f->m->status.notes[0], "a note");
    f->m->status.n_links = 1;
    strcpy(f->m->status.links[0].name, "eth0");
    f->m->status.upstream.kind = "yarn";
    f->m->status.upstream.state = "running";
    fake_manager_note(f->m, "begun");
    fake_manager_note(f->m, "went on");
    for (uint64_t i = 1; i <= 18; i++)
        nm_history_add(f->m->history,
                       &(struct nm_history_point){.at_usec = i * NM_USEC_PER_SEC, .realtime_usec = i});
    append_log(f, con, "one\ntwo\n");
}

static void test_requests(void **state)
{
    static const struct ask all[] = {
        {"GET", "/v1/version", NULL, 200, NULL, false},
        {"GET", "/v1/status", NULL, 200, NULL, false},
        {"GET", "/v1/config", NULL, 200, NULL, false},
        {"GET", "/v1/openapi.json", NULL, 200, NULL, false},
        {"GET", "/", NULL, 200, NULL, false},
        {"GET", "/healthz", NULL, 200, NULL, false},
        {"GET", "/metrics", NULL, 200, NULL, false},
        {"GET", "/v1/placements/container_1", NULL, 200, NULL, false},
        {"GET", "/v1/decisions", NULL, 200, NULL, false},
        {"GET", "/v1/containers?all=true&limit=1", NULL, 200, NULL, false},
        {"GET", "/v1/containers/web", NULL, 200, NULL, false},
        {"GET", "/v1/nowhere", NULL, 404, NULL, false},
        {"GET", "/ws/v1/nowhere", NULL, 404, NULL, false},
        {"POST", "/v1/containers/web/kill", "{\"now\":tru", 400, NULL, false},
        {"POST", "/v1/containers", "{\"command\":[1]}", 400, NULL, false},
        {"POST", "/v1/containers", "{\"command\":[\"true\"],\"env\":{\"A\":\"1\",\"B\":2}}", 400, NULL, false},
        {"POST", "/v1/containers", "{\"command\":[\"true\"],\"env\":{\"A\":\"1\"},\"vcores\":1}", 201, NULL, false},
        {"POST", "/v1/containers", "{\"command\":[\"true\"],\"rows\":1,\"columns\":1}", 101, "nm-session", false},
        {"POST", "/v1/containers", "{\"command\":[\"true\"],\"name\":\"web\",\"replace\":true}", 201, NULL, true},
        {"POST", "/v1/containers/web/exec", "{\"command\":[\"ls\"],\"env\":{\"A\":\"1\"}}", 101, "nm-session", false},
        {"POST", "/v1/containers/web/pause", NULL, 200, NULL, false},
        {"PATCH", "/v1/containers/web", "{\"vcores\":1}", 200, NULL, false},
        {"DELETE", "/v1/containers/web", NULL, 200, NULL, false},
        {"POST", "/v1/containers/web/remove", NULL, 200, NULL, false},
        {"POST", "/v1/undrain", "{}", 200, NULL, false},
        {"POST", "/v1/drain", "{\"kill_opportunistic\":true}", 200, NULL, false},
    };
    struct fixture *f = *state;

    furnish(f);
    start(f, NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        assert_true(each_refusal(f, &all[i], false) >= 5);
}

/* A complete answer to a drain names the queued container. */
static void test_drain_with_waiting(void **state)
{
    static const struct ask drain = {"POST", "/v1/drain", "{}", 200, NULL, false};
    struct fixture *f = *state;

    furnish(f);
    f->m->status.queue_reason = NM_REASON_BEHIND_OTHERS;
    start(f, NULL);
    for (unsigned n = 1; n <= 300; n++) {
        _cleanup_free_ char *got = NULL;

        f->m->containers[0]->view.state = NM_SCHEDULED;
        got = refuse(f, &drain, n, &(bool){false});
        if (got)
            assert_non_null(strstr(got, "{\"count\":1,\"containers\":[{\"id\":\"container_1_000001\""));
    }
}

static void test_streams(void **state)
{
    static const struct ask all[] = {
        {"GET", "/v1/events", NULL, 200, NULL, false},
        {"GET", "/v1/events?after=1", NULL, 200, NULL, false},
        {"GET", "/v1/containers/web/wait", NULL, 200, NULL, true},
        {"GET", "/v1/history", NULL, 200, NULL, false},
        {"GET", "/v1/containers/web/logs", NULL, 200, NULL, false},
        {"GET", "/v1/containers/web/logs?tail=1", NULL, 200, NULL, false},
        {"GET", "/v1/containers/web/logs?timestamps=true", NULL, 200, NULL, false},
        {"GET", "/v1/containers/web/logs?from=4&follow=true", NULL, 200, NULL, true},
        {"GET", "/v1/containers/web/logs?from=4&follow=true&timestamps=true", NULL, 200, NULL, true},
    };
    struct fixture *f = *state;

    furnish(f);
    start(f, NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        assert_true(each_refusal(f, &all[i], !strstr(all[i].target, "/wait")) >= 5);
}

/* Whichever allocation of a followed stream fails: it is cut off, or later output still arrives. */
static void test_followed_on(void **state)
{
    static const struct ask a = {"GET", "/v1/containers/web/logs?follow=true", NULL, 200, NULL, false};
    struct fixture *f = *state;
    struct nm_container *con;
    bool refused = true;

    furnish(f);
    con = f->m->containers[0];
    start(f, NULL);
    for (unsigned n = 1; refused; n++) {
        struct client c;
        char path[256];
        unsigned kinds;

        (void)snprintf(path, sizeof path, "%s/%s.stdout", f->dir, con->id);
        assert_int_equal(truncate(path, 8), 0);
        ask(f, &c, &a);
        fail_nth(ALL, n);
        kinds = fail_pause();
        until(&c, armed_turn(&c, kinds) == 0 && (c.eof || strstr(c.data, "two\n")));
        refused = fail_stop();
        append_log(f, con, "three\n");
        until(&c, c.eof || strstr(c.data, "three\n"));
        assert_true(refused || !c.eof);
        client_close(&c);
    }
}

/* ---- the other direction --------------------------------------------------------------------- */

/* A client without memory for its request sends none, instead of a wrong one. */
static void test_submission(void **state)
{
    struct nm_submit s = {
        .argv = (const char *const[]){"sh", "-c", "exit \xff", NULL},
        .env = (const char *const[]){"A=1", "B", "C=\xff", NULL},
        .name = "web", .app = "shop", .workdir = "/", .user = "alice", .memory_bytes = 1, .vcores_milli = 1500,
        .min_runtime_usec = 1, .expected_usec = 1, .rows = 24, .columns = 80,
        .replace = true, .exempt = true, .allow_new_privs = true,
    };
    struct nm_messages_submit got;
    struct nm_problem problem;
    json_t *j = nm_messages_submit(&s);
    bool refused = true;

    (void)state;
    for (unsigned n = 1; refused; n++) {
        json_t *other;

        fail_nth(ALL, n);
        other = nm_messages_submit(&s);
        refused = fail_stop();
        assert_true(other || refused);
        if (other)
            assert_true(json_equal(other, j));
        json_decref(other);
    }
    assert_int_equal(nm_messages_parse_submit(j, &got, &problem), 0);
    json_decref(j);
    assert_string_equal(got.submit.argv[2], "exit \xef\xbf\xbd");
    assert_string_equal(got.submit.env[1], "B=");
    assert_string_equal(got.submit.user, "alice");
    assert_int_equal(got.submit.vcores_milli, 1500);
    assert_int_equal(got.submit.columns, 80);
    assert_true(got.submit.replace && got.submit.exempt && got.submit.allow_new_privs);
    nm_messages_submit_done(&got);
}

/* ---- the server itself ----------------------------------------------------------------------- */

static int try_server(struct fixture *f, const struct nm_local_server_params *p, unsigned n, bool *ret_refused)
{
    struct nm_local_server *s = NULL;
    char *message = NULL;
    int r;

    fail_nth(ALL, n);
    r = nm_local_server_new(f->event, f->m, p, &s, &message);
    *ret_refused = fail_stop();
    if (r < 0) {
        assert_null(s);
        assert_int_equal(r, -ENOMEM);
    } else
        assert_null(message);
    free(message);
    nm_local_server_free(s);
    return r;
}

static void test_start(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.socket_path = f->path, .socket_mode = 0600, .http_address = "0"};
    unsigned before, n;
    bool refused;

    assert_int_equal(try_server(f, &p, 0, &refused), 0); /* timers make the loop open a descriptor of its own */
    before = n_open_fds();
    for (refused = true, n = 1; refused; n++) {
        int r = try_server(f, &p, n, &refused);

        assert_true(refused || r == 0);
        assert_int_equal(access(f->path, F_OK), -1);
        assert_int_equal(n_open_fds(), before);
    }
    assert_true(n > 12);
}

/* An inherited socket stays open and its caller's if the start fails. */
static void test_start_with_inherited(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    struct nm_local_server_params p = {0};
    bool refused = true;

    strcpy(sa.sun_path, f->path);
    for (unsigned n = 1; refused; n++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

        assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
        assert_int_equal(listen(fd, 1), 0);
        p.listen_fd = fd;
        r = try_server(f, &p, n, &refused);
        assert_int_equal(fcntl(fd, F_GETFD) >= 0, r < 0);
        if (r < 0)
            (void)close(fd);
        assert_int_equal(unlink(f->path), 0);
    }
}

static void test_start_with_what_is_no_socket(void **state)
{
    struct fixture *f = *state;
    const struct nm_local_server_params p = {.listen_fd = 1 << 20}; /* a number without a descriptor */
    struct nm_local_server *s = NULL;
    char *message = NULL;

    assert_int_equal(nm_local_server_new(f->event, f->m, &p, &s, &message), -EBADF);
    assert_null(s);
    assert_non_null(strstr(message, "inherited socket 1048576: "));
    free(message);
}

/* The server owns another socket also if it can't be watched, and closes it. */
static void test_another_socket(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sa;

    for (unsigned n = 0; n <= 1; n++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

        sa.sin_port = 0;
        assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
        assert_int_equal(listen(fd, 1), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
        start(f, NULL);
        fail_nth(ALL, n);
        r = nm_local_server_listen(f->server, fd);
        assert_int_equal(fail_stop(), n == 1);
        assert_int_equal(r, n == 1 ? -ENOMEM : 0);
        if (r == 0) {
            struct client c = {.f = f, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .data = calloc(1, 1)};

            assert_int_equal(connect(c.fd, (struct sockaddr *)&sa, sizeof sa), 0);
            client_send(&c, "GET /v1/config HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            until(&c, c.eof);
            assert_int_equal(client_status(&c), 403); /* the permissions of TCP, and no more */
            client_close(&c);
        }
        stop(f);
        assert_int_equal(fcntl(fd, F_GETFD), -1);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_requests),
        TEST(test_drain_with_waiting),
        TEST(test_streams),
        TEST(test_followed_on),
        cmocka_unit_test(test_submission),
        TEST(test_start),
        TEST(test_start_with_inherited),
        TEST(test_start_with_what_is_no_socket),
        TEST(test_another_socket),
    };

    json_set_alloc_funcs(malloc, free); /* the test's functions, which fail */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
