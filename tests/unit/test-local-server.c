/* SPDX-License-Identifier: Apache-2.0 */

/* The HTTP server: valid and invalid requests, permissions, and sockets. */

#include "http-fixture.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "rpc/local/handlers.h"

#define ALICE 54321
#define BOB 54322

static void need_root(void)
{
    if (geteuid() != 0) {
        print_message("skipped: only root can connect as another user\n");
        skip();
    }
}

/* ---- requests ----------------------------------------------------------------------------- */

static void test_each_read_request_is_answered(void **state)
{
    static const char *const targets[] = {"/v1/version",
                                          "/v1/status",
                                          "/v1/history",
                                          "/v1/config",
                                          "/v1/decisions",
                                          "/v1/containers",
                                          "/v1/containers?all=true",
                                          "/v1/containers/web",
                                          "/v1/containers/container_1_000001/decisions?limit=5",
                                          "/v1/openapi.json"};
    struct fixture *f = *state;

    start(f, NULL);
    fake_manager_add(f->m, "web", 0);
    f->m->decisions[f->m->n_decisions++] =
        (struct nm_decision){.number = 1,
                             .kind = NM_DECISION_ADMIT,
                             .reason = NM_REASON_GUARANTEED,
                             .container_id = "container_1_000001",
                             .capacity = {1000, 1000}};
    for (size_t i = 0; i < NM_ARRAY_SIZE(targets); i++) {
        json_t *j;
        if (request(f, "GET", targets[i], NULL, &j) != 200)
            fail_msg("%s", targets[i]);
        json_decref(j);
    }
    assert_int_equal(request(f, "GET", "/", NULL, NULL), 200);
    assert_int_equal(request(f, "GET", "/metrics", NULL, NULL), 200);
    assert_int_equal(request(f, "GET", "/v1/events", NULL, NULL), 200);
}

static void test_each_answer_has_its_headers(void **state)
{
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    client_connect(f, &c);
    client_send(&c, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    until(&c, c.eof);
    assert_string_equal(client_header(&c, "Content-Type"),
                        "text/plain; version=0.0.4; charset=utf-8");
    assert_string_equal(client_header(&c, "Cache-Control"), "no-store");
    assert_string_equal(client_header(&c, "X-Content-Type-Options"), "nosniff");
    client_close(&c);
    client_connect(f, &c);
    client_send(&c, "HEAD /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 200);
    assert_string_equal(client_header(&c, "Content-Type"), "application/json");
    assert_string_equal(client_body(&c), "");
    client_close(&c);
}

static void test_invalid_requests_are_refused(void **state)
{
    static const struct {
        const char *method, *target, *body;
        int status;
        const char *code, *thing, *message;
    } cases[] = {
        {"GET", "/nowhere", NULL, 404, "not-found", "path",
         "There is no such path; /v1/openapi.json lists all paths."},
        {"GET", "/v1/containers/web/nothing", NULL, 404, "not-found", "path", NULL},
        {"GET", "/v1", NULL, 404, "not-found", "path", NULL},
        {"GET", "/v1/status/", NULL, 404, "not-found", "path", NULL},
        {"DELETE", "/v1/status", NULL, 405, "invalid", "method",
         "/v1/status allows GET, HEAD only."},
        {"PUT", "/v1/containers/web", "{}", 405, "invalid", "method",
         "/v1/containers/web allows GET, HEAD, PATCH, DELETE only."},
        {"BREW", "/v1/status", NULL, 405, "invalid", "method", NULL},
        {"GET", "/v1/status?verbose=1", NULL, 400, "invalid", "verbose",
         "Unknown query parameter \"verbose\"; none is allowed."},
        {"GET", "/v1/events?from=1", NULL, 400, "invalid", "from",
         "Unknown query parameter \"from\"; allowed: follow after."},
        {"GET", "/v1/events?after=-1", NULL, 400, "invalid", "after", NULL},
        {"GET", "/v1/decisions?limit=0", NULL, 400, "invalid", "limit",
         "limit must be a whole number from 1 to 100, not \"0\"."},
        {"GET", "/v1/decisions?limit=1&limit=2", NULL, 400, "invalid", "limit", NULL},
        {"GET", "/v1/containers?all=maybe", NULL, 400, "invalid", "all",
         "all must be true or false, not \"maybe\"."},
        {"GET", "/v1/containers/a%00b", NULL, 400, "invalid", "path", NULL},
        {"GET", "/v1/containers/a%2fb", NULL, 400, "invalid", "id", NULL},
        {"GET", "/v1/containers/..", NULL, 400, "invalid", "id", NULL},
        {"GET", "/v1/containers/", NULL, 400, "invalid", "id", NULL},
        {"GET", "/v1/containers/nobody", NULL, 404, "not-found", "id",
         "There is no container nobody."},
        {"GET", "/v1/containers/web/logs?stream=stdin", NULL, 400, "invalid", "stream",
         "stream must be stdout or stderr, not \"stdin\"."},
        {"GET", "/v1/status", "{}", 400, "invalid", "body", "This request takes no body."},
        {"POST", "/v1/containers", "{\"command\":", 400, "invalid", "body", NULL},
        {"POST", "/v1/containers", "{\"command\":[\"true\"],\"memory\":1}", 400, "invalid", "body",
         NULL},
        {"POST", "/v1/containers/web/pause", "{\"now\":true}", 400, "invalid", "body",
         "This request takes no members, but has \"now\"."},
        {"PATCH", "/v1/containers/web", "{}", 400, "invalid", "body", NULL},
        {"POST", "/v1/containers/web/kill", "{\"now\":\"yes\"}", 400, "invalid", "now", NULL},
    };
    struct fixture *f = *state;

    start(f, NULL);
    fake_manager_add(f->m, "web", 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        json_t *j;
        int status = request(f, cases[i].method, cases[i].target, cases[i].body, &j);
        if (status != cases[i].status)
            fail_msg("%s %s: %d", cases[i].method, cases[i].target, status);
        assert_error(j, cases[i].code, cases[i].thing, cases[i].message);
    }
}

static void test_the_answer_to_a_wrong_method_names_the_allowed_methods(void **state)
{
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    client_connect(f, &c);
    client_send(&c, "DELETE /v1/containers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 405);
    assert_string_equal(client_header(&c, "Allow"), "GET, HEAD, POST");
    client_close(&c);
}

static void test_a_body_of_another_media_type_is_refused(void **state)
{
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    client_connect(f, &c);
    client_send(&c, "POST /v1/containers HTTP/1.1\r\nHost: x\r\nContent-Type: "
                    "application/x-www-form-urlencoded\r\n"
                    "Content-Length: 2\r\nConnection: close\r\n\r\n{}");
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 415);
    assert_error(json_loads(client_body(&c), 0, NULL), "invalid", "Content-Type",
                 "The body must be JSON, with the header Content-Type: application/json.");
    client_close(&c);
    client_connect(f, &c);
    client_send(
        &c,
        "POST /v1/drain HTTP/1.1\r\nHost: x\r\nContent-Type: Application/JSON; charset=utf-8\r\n"
        "Content-Length: 2\r\nConnection: close\r\n\r\n{}");
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 200);
    client_close(&c);
}

static void test_refusals_of_the_manager_are_passed_on(void **state)
{
    static const struct {
        enum nm_agent_outcome outcome;
        int status;
        const char *code;
    } cases[] = {
        {NM_AGENT_E_INVALID, 400, "invalid"},         {NM_AGENT_E_FORBIDDEN, 403, "forbidden"},
        {NM_AGENT_E_NOT_FOUND, 404, "not-found"},     {NM_AGENT_E_CONFLICT, 409, "conflict"},
        {NM_AGENT_E_TOO_LARGE, 422, "too-large"},     {NM_AGENT_E_QUEUE_FULL, 429, "queue-full"},
        {NM_AGENT_E_UNAVAILABLE, 503, "unavailable"},
    };
    struct fixture *f = *state;

    start(f, NULL);
    f->m->refusal = (struct nm_problem){.thing = "memory", .value = "9G", .message = "Too much."};
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        json_t *j;
        f->m->refusal.outcome = cases[i].outcome;
        assert_int_equal(request(f, "POST", "/v1/containers", "{\"command\":[\"true\"]}", &j),
                         cases[i].status);
        assert_error(j, cases[i].code, "memory", "Too much.");
    }
}

static void test_a_submission_returns_the_id_of_the_container(void **state)
{
    static const char body[] =
        "{\"command\":[\"sleep\",\"9\"],\"execution_type\":\"OPPORTUNISTIC\",\"name\":\"job\","
        "\"memory_bytes\":1048576,\"vcores\":0.25}";
    struct fixture *f = *state;
    struct client c;
    json_t *j;

    start(f, NULL);
    client_connect(f, &c);
    client_send(&c,
                "POST /v1/containers HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "
                "application/json\r\n"
                "Content-Length: %zu\r\n\r\n%s",
                strlen(body), body);
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 201);
    assert_string_equal(client_header(&c, "Location"), "/v1/containers/container_1_000001");
    j = json_loads(client_body(&c), 0, NULL);
    assert_string_equal(json_string_value(json_object_get(j, "id")), "container_1_000001");
    assert_string_equal(json_string_value(json_object_get(j, "execution_type")), "OPPORTUNISTIC");
    assert_true(json_number_value(json_object_get(j, "vcores")) == 0.25);
    json_decref(j);
    client_close(&c);
}

static void ask_for_command(struct client *c, const char *protocol, const char *body, const char *behind)
{
    client_send(c,
                "POST /v1/containers/web/exec HTTP/1.1\r\nHost: nmd\r\nConnection: Upgrade\r\nUpgrade: %s\r\n"
                "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s%s",
                protocol, strlen(body), body, behind);
}

/* The connection is passed to the command. nmd has then closed its own descriptor of the connection. */
static void test_an_executed_command_gets_the_connection(void **state)
{
    static const char body[] = "{\"command\":[\"ls\",\"-l\"],\"env\":{\"A\":\"1\"},\"rows\":24,\"columns\":80}";
    struct fixture *f = *state;
    struct client c;
    unsigned n;

    start(f, NULL);
    fake_manager_add(f->m, "web", 0);
    n = n_open_fds();
    client_connect(f, &c);
    ask_for_command(&c, "nm-session", body, "");
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 101);
    assert_string_equal(client_header(&c, "Upgrade"), "nm-session");
    assert_string_equal(f->m->last_id, "web");
    assert_string_equal(f->m->exec_words, "ls A=1 0 24x80");
    assert_memory_equal(client_body(&c), "X\0\0\4\0\3\0\0", 8);
    client_close(&c);
    assert_int_equal(n_open_fds(), n);
}

static void test_a_submission_with_input_gets_the_connection(void **state)
{
    static const char body[] = "{\"command\":[\"cat\"],\"name\":\"reads\",\"rows\":24,\"columns\":80}";
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    client_connect(f, &c);
    client_send(&c,
                "POST /v1/containers HTTP/1.1\r\nHost: nmd\r\nConnection: Upgrade\r\nUpgrade: nm-session\r\n"
                "Content-Length: %zu\r\n\r\n%s",
                strlen(body), body);
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 101);
    assert_true(f->m->had_input);
    assert_int_equal(f->m->rows, 24);
    assert_int_equal(f->m->columns, 80);
    assert_string_equal(client_header(&c, "Location"), "/v1/containers/container_1_000001");
    client_close(&c);
    assert_int_equal(request(f, "POST", "/v1/containers", "{\"command\":[\"cat\"]}", NULL), 201);
    assert_false(f->m->had_input);
    /* a container without a session has no input */
    assert_int_equal(request(f, "POST", "/v1/containers", body, NULL), 400);
}

/* A client that sends input before it has the answer is refused. Bytes that arrived together with the request are never
 * passed to the command. */
static void test_input_before_the_answer_is_refused(void **state)
{
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    fake_manager_add(f->m, "web", 0);
    client_connect(f, &c);
    ask_for_command(&c, "nm-session", "{\"command\":[\"cat\"],\"input\":true}", "I\1");
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 101);
    assert_string_equal(f->m->exec_words, "cat - 1 0x0");
    assert_string_equal(client_body(&c), "");
    assert_int_equal(f->m->client_fd, -EBADF);
    client_close(&c);
}

static void test_a_refused_command_gets_an_answer(void **state)
{
    static const struct {
        const char *protocol, *body, *thing;
        int status;
    } bad[] = {
        {"websocket", "{\"command\":[\"ls\"]}", "Upgrade", 426},
        {"nm-session", "{}", "command", 400},
        {"nm-session", "{\"command\":[\"\"]}", "command[0]", 400},
        {"nm-session", "{\"command\":[\"ls\"],\"rows\":24}", "rows", 400},
        {"nm-session", "{\"command\":[\"ls\"],\"rows\":0,\"columns\":1}", "rows", 400},
        {"nm-session", "{\"command\":[\"ls\"],\"rows\":1,\"columns\":65536}", "columns", 400},
        {"nm-session", "{\"command\":[\"ls\"],\"env\":{\"A=\":\"\"}}", "env", 400},
        {"nm-session", "{\"command\":[\"ls\"],\"user\":\"root\"}", "body", 400},
    };
    struct fixture *f = *state;

    start(f, NULL);
    fake_manager_add(f->m, "web", 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        struct client c;

        client_connect(f, &c);
        ask_for_command(&c, bad[i].protocol, bad[i].body, "");
        until(&c, client_status(&c) > 0 && client_body(&c) && strchr(client_body(&c), '\n'));
        assert_int_equal(client_status(&c), bad[i].status);
        assert_error(json_loads(client_body(&c), 0, NULL), "invalid", bad[i].thing, NULL);
        client_close(&c);
    }
    assert_string_equal(f->m->exec_words, "");
}

static void test_each_action_is_passed_to_the_manager(void **state)
{
    static const char *const actions[] = {"pause", "resume", "promote", "demote", "kill"};
    struct fixture *f = *state;
    json_t *j;

    start(f, NULL);
    fake_manager_add(f->m, "web", 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(actions); i++) {
        char target[64];
        (void)snprintf(target, sizeof target, "/v1/containers/web/%s", actions[i]);
        f->m->last_id[0] = '\0';
        assert_int_equal(request(f, "POST", target, NULL, &j), 200);
        assert_string_equal(f->m->last_id, "container_1_000001");
        assert_string_equal(json_string_value(json_object_get(j, "name")), "web");
        json_decref(j);
    }
    assert_false(f->m->last_now);
    assert_int_equal(request(f, "POST", "/v1/containers/web/kill", "{\"now\":true}", NULL), 200);
    assert_true(f->m->last_now);
    assert_int_equal(request(f, "DELETE", "/v1/containers/web", NULL, NULL), 200);
    assert_false(f->m->last_now);
    assert_int_equal(request(f, "DELETE", "/v1/containers/web?now=true", NULL, NULL), 200);
    assert_true(f->m->last_now);
    assert_int_equal(
        request(f, "PATCH", "/v1/containers/web", "{\"memory_bytes\":5,\"vcores\":1.5}", NULL),
        200);
    assert_int_equal(f->m->last_u64, 5);
    assert_int_equal(f->m->last_u32, 1500);
    assert_int_equal(
        request(f, "POST", "/v1/drain", "{\"deadline_usec\":9,\"until_restart\":true}", NULL),
        200);
    assert_int_equal(f->m->last_u64, 9);
    assert_false(f->m->last_now);
    assert_true(f->m->last_until_restart);
    assert_string_equal(f->m->last_id, "drain");
    assert_int_equal(request(f, "POST", "/v1/undrain", NULL, NULL), 200);
    assert_string_equal(f->m->last_id, "undrain");
    assert_int_equal(request(f, "POST", "/v1/close-breaker", NULL, NULL), 200);
    assert_string_equal(f->m->last_id, "close-breaker");
    assert_int_equal(request(f, "POST", "/v1/reload", NULL, NULL), 200);
    assert_string_equal(f->m->last_id, "reload");
}

static void test_a_connection_serves_several_requests(void **state)
{
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    client_connect(f, &c);
    for (int i = 0; i < 3; i++) {
        free(c.data);
        c.data = calloc(1, 1);
        c.len = 0;
        /* an error in between must not close the connection */
        client_send(&c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", i == 1 ? "/nowhere" : "/v1/version");
        until(&c, strstr(c.data, "}\n"));
        assert_int_equal(client_status(&c), i == 1 ? 404 : 200);
        assert_false(c.eof);
    }
    client_send(&c,
                "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/version HTTP/1.1\r\nHost: x\r\n"
                "Connection: close\r\n\r\n");
    until(&c, c.eof);
    client_close(&c);
}

/* ---- bodies ------------------------------------------------------------------------------- */

static void test_an_announced_body_that_is_too_large_is_refused(void **state)
{
    struct fixture *f = *state;
    struct client c;

    start(f, NULL);
    client_connect(f, &c);
    client_send(&c, "POST /v1/containers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                    "Content-Length: 1048577\r\n\r\n");
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 413);
    assert_error(json_loads(client_body(&c), 0, NULL), "too-large", "body",
                 "The body has 1048577 bytes; at most 1048576 are allowed.");
    client_close(&c);
}

static void test_a_chunked_body_that_is_too_large_is_refused(void **state)
{
    struct fixture *f = *state;
    struct client c;
    char block[4097];

    start(f, NULL);
    memset(block, ' ', sizeof block - 1);
    block[sizeof block - 1] = '\0';
    client_connect(f, &c);
    client_send(&c, "POST /v1/containers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                    "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < 300 && !c.eof; i++)
        client_send(&c, "1000\r\n%s\r\n", block);
    client_send(&c, "0\r\n\r\n");
    until(&c, c.eof);
    assert_int_equal(client_status(&c), 413);
    client_close(&c);
}

static void test_the_largest_body_is_accepted(void **state)
{
    _cleanup_free_ char *body = malloc((1 << 20) + 1);
    struct fixture *f = *state;

    start(f, NULL);
    memset(body, ' ', 1 << 20);
    memcpy(body, "{\"command\":[\"true\"]", 19);
    body[(1 << 20) - 1] = '}';
    body[1 << 20] = '\0';
    assert_int_equal(request(f, "POST", "/v1/containers", body, NULL), 201);
}

/* ---- permissions -------------------------------------------------------------------------- */

static void test_a_user_sees_only_its_own_containers(void **state)
{
    struct fixture *f = *state;
    json_t *j;

    need_root();
    start(f, NULL);
    fake_manager_add(f->m, "alices", ALICE);
    fake_manager_add(f->m, "bobs", BOB);
    assert_int_equal(request_as(f, ALICE, "GET", "/v1/containers", NULL, &j), 200);
    assert_int_equal(f->m->caller.uid, ALICE);
    assert_int_equal(f->m->caller.gid, ALICE);
    assert_false(f->m->caller.admin);
    assert_int_equal(json_array_size(j), 1);
    json_decref(j);
    assert_int_equal(request_as(f, ALICE, "GET", "/v1/containers/bobs", NULL, &j), 404);
    assert_error(j, "not-found", "id", NULL);
    assert_int_equal(request_as(f, ALICE, "POST", "/v1/containers/bobs/kill", NULL, NULL), 404);
    assert_int_equal(request_as(f, ALICE, "POST", "/v1/drain", NULL, &j), 403);
    assert_error(j, "forbidden", "path",
                 "Only root and members of the admin group may do this; you are uid 54321.");
    assert_int_equal(request_as(f, ALICE, "POST", "/v1/reload", NULL, NULL), 403);
    assert_int_equal(request(f, "GET", "/v1/containers", NULL, &j), 200);
    assert_true(f->m->caller.admin);
    assert_int_equal(json_array_size(j), 2);
    json_decref(j);
}

static void test_a_member_of_the_group_is_an_administrator(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.admin_group = "daemon"}; /* gid 1 on Debian */
    struct client c;
    struct stat st;

    need_root();
    start(f, &p);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_gid, 1);
    client_connect_as(f, &c, ALICE, 1);
    client_send(&c, "GET /v1/containers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    until(&c, c.eof);
    assert_int_equal(f->m->caller.uid, ALICE);
    assert_true(f->m->caller.admin);
    client_close(&c);
    assert_int_equal(request_as(f, ALICE, "GET", "/v1/containers", NULL, NULL), 200);
    assert_false(f->m->caller.admin);
}

/* A user who reads a decision about its own container doesn't see ids of other users' containers. */
static void test_a_decision_shows_a_user_no_containers_of_other_users(void **state)
{
    struct fixture *f = *state;
    struct nm_decision *d = &f->m->decisions[0];
    json_t *j;
    char *text;

    need_root();
    start(f, NULL);
    fake_manager_add(f->m, "mine", ALICE);
    fake_manager_add(f->m, "theirs", BOB);
    *d = (struct nm_decision){.number = 1,
                              .kind = NM_DECISION_PAUSE,
                              .reason = NM_REASON_CPU_OVER_BETA,
                              .resource = NM_CPU,
                              .container_id = "container_1_000001",
                              .capacity = {1000, 1000},
                              .on_behalf_of = "container_1_000002",
                              .n_candidates = 2,
                              .n_candidates_total = 2};
    strcpy(d->candidates[0].id, "container_1_000002");
    strcpy(d->candidates[0].name, "theirs");
    strcpy(d->candidates[1].id, "container_1_000001");
    strcpy(d->candidates[1].name, "mine");
    f->m->n_decisions = 1;
    assert_int_equal(request_as(f, ALICE, "GET", "/v1/containers/mine/decisions", NULL, &j), 200);
    text = json_dumps(j, 0);
    assert_null(strstr(text, "theirs"));
    assert_null(strstr(text, "container_1_000002"));
    assert_non_null(strstr(text, "mine"));
    free(text);
    json_decref(j);
    assert_int_equal(request(f, "GET", "/v1/containers/mine/decisions", NULL, &j), 200);
    text = json_dumps(j, 0);
    assert_non_null(strstr(text, "theirs"));
    free(text);
    json_decref(j);
}

/* ---- sockets ------------------------------------------------------------------------------ */

static void expect_failure(struct fixture *f, const struct nm_local_server_params *p, int error,
                           const char *words)
{
    struct nm_local_server *s = NULL;
    char *message = NULL;

    assert_int_equal(nm_local_server_new(f->event, f->m, p, &s, &message), error);
    assert_null(s);
    assert_non_null(message);
    if (!strstr(message, words))
        fail_msg("\"%s\" does not say \"%s\"", message, words);
    free(message);
}

static void test_only_a_socket_without_a_listener_is_replaced(void **state)
{
    struct fixture *f = *state;
    struct nm_local_server_params p = {.socket_path = f->path, .socket_mode = 0660};
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    char longest[200];
    struct stat st;
    int fd;

    /* a socket without a listener is replaced */
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(sa.sun_path, f->path);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
    close(fd);
    start(f, &p);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0660);
    assert_int_equal(request(f, "GET", "/v1/version", NULL, NULL), 200);
    /* a socket with a listener isn't replaced */
    expect_failure(f, &p, -EADDRINUSE, "in use by process ");
    assert_int_equal(request(f, "GET", "/v1/version", NULL, NULL), 200);
    stop(f);
    assert_int_equal(stat(f->path, &st), -1);
    /* a file that isn't a socket isn't removed */
    fd = open(f->path, O_WRONLY | O_CREAT, 0600);
    close(fd);
    expect_failure(f, &p, -EEXIST, "is not a socket");
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(unlink(f->path), 0);
    memset(longest, 'x', sizeof longest - 1);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    p.socket_path = longest;
    expect_failure(f, &p, -ENAMETOOLONG, "at most 107 are allowed");
    p.socket_path = "/nonexistent/nmd.sock";
    expect_failure(f, &p, -ENOENT, "/nonexistent/nmd.sock");
}

static void test_an_inherited_socket_is_served(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct nm_local_server_params p = {.listen_fd = fd};
    char *message = NULL;

    strcpy(sa.sun_path, f->path);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
    assert_int_equal(listen(fd, 10), 0);
    assert_int_equal(nm_local_server_new(f->event, f->m, &p, &f->server, &message), 0);
    assert_int_equal(request(f, "GET", "/v1/version", NULL, NULL), 200);
    stop(f);
    assert_int_equal(access(f->path, F_OK), 0); /* the owner of an inherited socket removes its path */
}

/* ---- TCP ---------------------------------------------------------------------------------- */

static int tcp_request(struct fixture *f, const char *method, const char *target, char *body,
                       size_t size)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)nm_local_server_tcp_port(f->server))};
    struct client c = {.f = f, .fd = socket(AF_INET, SOCK_STREAM, 0), .data = calloc(1, 1)};
    int status;

    assert_int_equal(connect(c.fd, (struct sockaddr *)&sa, sizeof sa), 0);
    client_send(&c, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", method, target);
    until(&c, c.eof);
    status = client_status(&c);
    if (body)
        (void)snprintf(body, size, "%s", client_body(&c));
    client_close(&c);
    return status;
}

static void test_over_tcp_only_reads_are_permitted(void **state)
{
    static const char *const refused[] = {"/v1/config", "/v1/containers/web",
                                          "/v1/containers/web/logs", "/v1/containers/web/wait",
                                          "/v1/events?follow=true"};
    struct fixture *f = *state;
    struct nm_local_server_params p = {.http_address = "0"};
    struct nm_container *c;
    char body[65536];

    start(f, &p);
    c = fake_manager_add(f->m, "web", 0);
    c->command.argv = nm_strv_pack((const char *[]){"--password=hunter2"}, 1);
    assert_int_equal(tcp_request(f, "GET", "/", body, sizeof body), 200);
    assert_non_null(strstr(body, "<title>nmd</title>"));
    assert_int_equal(tcp_request(f, "GET", "/metrics", NULL, 0), 200);
    f->m->details_with_users = true;
    assert_int_equal(tcp_request(f, "GET", "/v1/status", NULL, 0), 200);
    assert_false(f->m->details_with_users);
    assert_int_equal(tcp_request(f, "GET", "/v1/containers", body, sizeof body), 200);
    assert_non_null(strstr(body, "\"name\":\"web\""));
    assert_null(strstr(body, "hunter2"));
    assert_int_equal(tcp_request(f, "GET", "/v1/containers/web/decisions", NULL, 0), 200);
    for (size_t i = 0; i < NM_ARRAY_SIZE(refused); i++)
        assert_int_equal(tcp_request(f, "GET", refused[i], NULL, 0), 403);
    f->m->last_id[0] = '\0';
    assert_int_equal(tcp_request(f, "POST", "/v1/drain", NULL, 0), 403);
    assert_int_equal(tcp_request(f, "DELETE", "/v1/containers/web", NULL, 0), 403);
    assert_string_equal(f->m->last_id, "");
}

static void test_an_invalid_address_is_refused(void **state)
{
    static const char *const bad[] = {"example.org:80", "127.0.0.1:http", "127.0.0.1:99999",
                                      "300.1.1.1:80", "x"};
    struct fixture *f = *state;
    struct nm_local_server_params p = {.socket_path = f->path, .socket_mode = 0600};

    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        p.http_address = bad[i];
        expect_failure(f, &p, -EINVAL, "127.0.0.1:8042");
    }
    p.http_address = "[::1]:0";
    start(f, &p);
    assert_true(nm_local_server_tcp_port(f->server) > 0);
    stop(f);
    p.http_address = "localhost:0";
    start(f, &p);
    assert_true(nm_local_server_tcp_port(f->server) > 0);
}

/* ---- lists -------------------------------------------------------------------------------- */

/* A list is sent in parts. Each part except the last has the target for the next part. Long members of a container are
 * omitted. */
static void test_a_long_list_is_sent_in_parts(void **state)
{
    static const char *const words[] = {"sh", "-c", "0123456789012345678901234567890123456789",
                                        "0123456789012345678901234567890123456789",
                                        "0123456789012345678901234567890123456789"};
    struct fixture *f = *state;
    char target[128] = "/v1/containers?limit=100";
    struct client c;
    json_t *j;

    start(f, NULL);
    for (int i = 0; i < 260; i++)
        fake_manager_add(f->m, "x", 0)->command.argv = nm_strv_pack(words, NM_ARRAY_SIZE(words));
    for (unsigned n = 0; n < 260; n += 100) {
        client_connect(f, &c);
        client_send(&c, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target);
        until(&c, c.eof);
        assert_int_equal(client_status(&c), 200);
        j = json_loads(client_body(&c), 0, NULL);
        assert_int_equal(json_array_size(j), NM_MIN(100u, 260 - n));
        assert_int_equal(json_array_size(json_object_get(json_array_get(j, 0), "command_head")), 5);
        assert_null(json_object_get(json_array_get(j, 0), "command"));
        assert_null(json_object_get(json_array_get(j, 0), "workdir"));
        json_decref(j);
        if (n < 200) {
            const char *link = client_header(&c, "Link");
            assert_non_null(link);
            assert_int_equal(sscanf(link, "<%127[^>]>; rel=\"next\"", target), 1);
        } else
            assert_null(client_header(&c, "Link"));
        client_close(&c);
    }
    assert_int_equal(request(f, "GET", "/v1/containers", NULL, &j), 200);
    assert_int_equal(json_array_size(j), 250);
    json_decref(j);
    assert_int_equal(request(f, "GET", "/v1/containers?limit=251", NULL, NULL), 400);
    assert_int_equal(request(f, "GET", "/v1/containers?after=260", NULL, &j), 200);
    assert_int_equal(json_array_size(j), 0);
    json_decref(j);
    assert_int_equal(request(f, "GET", "/v1/containers/container_1_000001", NULL, &j), 200);
    assert_int_equal(json_array_size(json_object_get(j, "command")), NM_ARRAY_SIZE(words));
    json_decref(j);
}

/* ---- routes ------------------------------------------------------------------------------- */

static void test_each_route_is_found_by_its_method_and_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < nm_n_routes; i++) {
        const struct nm_route *r = &nm_routes[i], *found;
        struct nm_route_words words;
        char allow[64], path[128], *brace;
        struct nm_target t;
        struct nm_problem p;
        strcpy(path, r->pattern);
        if ((brace = strstr(path, "{id}")))
            memcpy(brace, "abcd", 4);
        assert_int_equal(!!(r->flags & NM_ROUTE_FILE), strstr(path, "{file}") != NULL);
        assert_int_equal(nm_target_parse(path, &t, &p), 0);
        assert_int_equal(nm_routes_find(nm_routes, nm_n_routes, r->method, &t, &found, &words, allow, sizeof allow), 0);
        assert_ptr_equal(found, r);
        assert_int_equal(words.user != NULL, strstr(path, "{user}") != NULL);
        assert_string_equal(words.id ?: "", brace ? "abcd" : "");
        assert_string_equal(words.file ?: "{file}", "{file}");
        /* routes that are available over TCP must only read */
        if (r->flags & NM_ROUTE_TCP)
            assert_string_equal(r->method, "GET");
        nm_target_done(&t);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_route_is_found_by_its_method_and_path),
        TEST(test_each_read_request_is_answered),
        TEST(test_a_long_list_is_sent_in_parts),
        TEST(test_each_answer_has_its_headers),
        TEST(test_invalid_requests_are_refused),
        TEST(test_the_answer_to_a_wrong_method_names_the_allowed_methods),
        TEST(test_a_body_of_another_media_type_is_refused),
        TEST(test_refusals_of_the_manager_are_passed_on),
        TEST(test_a_submission_returns_the_id_of_the_container),
        TEST(test_an_executed_command_gets_the_connection),
        TEST(test_a_submission_with_input_gets_the_connection),
        TEST(test_input_before_the_answer_is_refused),
        TEST(test_a_refused_command_gets_an_answer),
        TEST(test_each_action_is_passed_to_the_manager),
        TEST(test_a_connection_serves_several_requests),
        TEST(test_an_announced_body_that_is_too_large_is_refused),
        TEST(test_a_chunked_body_that_is_too_large_is_refused),
        TEST(test_the_largest_body_is_accepted),
        TEST(test_a_user_sees_only_its_own_containers),
        TEST(test_a_member_of_the_group_is_an_administrator),
        TEST(test_a_decision_shows_a_user_no_containers_of_other_users),
        TEST(test_only_a_socket_without_a_listener_is_replaced),
        TEST(test_an_inherited_socket_is_served),
        TEST(test_over_tcp_only_reads_are_permitted),
        TEST(test_an_invalid_address_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
