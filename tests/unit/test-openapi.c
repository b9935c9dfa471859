/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compares openapi.json with the code: paths, methods, parameters and permissions with the route table, members of
 * requests with the parser, and the described answers with the answers. openapi-check compares the answers of a running
 * daemon.
 */

#include "http-fixture.h"

#include "openapi.h"
#include "rpc/local/embedded.h"
#include "rpc/local/messages.h"
#include "rpc/local/handlers.h"
#include "yarn/node/rest.h"

static json_t *description(void)
{
    json_error_t e;
    json_t *j = json_loadb((const char *)nm_embedded_openapi, nm_embedded_openapi_len,
                           JSON_REJECT_DUPLICATES, &e);

    if (!j)
        fail_msg("line %d: %s", e.line, e.text);
    return j;
}

static bool described_flag(const json_t *operation, const char *name)
{
    return json_is_true(json_object_get(operation, name));
}

static void compare_parameters(const struct nm_route *r, const json_t *operation)
{
    const json_t *p;
    unsigned n = *r->query ? 1 : 0;
    size_t i;

    for (const char *s = r->query; *s; s++)
        n += *s == ' ';
    json_array_foreach(
        json_object_get(operation, "parameters"), i,
        p) if (!nm_routes_takes_query(r, json_string_value(json_object_get(p, "name"))))
        fail_msg("%s: the route has no parameter %s", r->pattern,
                 json_string_value(json_object_get(p, "name")));
    if (json_array_size(json_object_get(operation, "parameters")) != n)
        fail_msg("%s: a parameter is not described", r->pattern);
}

static void test_each_route_is_described_in_openapi_json(void **state)
{
    json_t *doc = description();

    (void)state;
    for (size_t i = 0; i < nm_n_routes; i++) {
        const struct nm_route *r = &nm_routes[i];
        char method[16] = "";
        for (size_t k = 0; r->method[k]; k++)
            method[k] = (char)(r->method[k] | 0x20);
        json_t *path = json_object_get(json_object_get(doc, "paths"), r->pattern);
        json_t *operation = json_object_get(path, method);
        if (!operation)
            fail_msg("%s %s is not described", r->method, r->pattern);
        compare_parameters(r, operation);
        assert_int_equal(described_flag(operation, "x-nm-tcp"), (r->flags & NM_ROUTE_TCP) != 0);
        assert_int_equal(described_flag(operation, "x-nm-admin"), (r->flags & NM_ROUTE_ADMIN) != 0);
        assert_int_equal(json_object_get(operation, "requestBody") != NULL,
                         (r->flags & NM_ROUTE_BODY) != 0);
    }
    json_decref(doc);
}

static void test_each_described_route_exists(void **state)
{
    json_t *doc = description(), *path, *operation;
    const char *pattern, *method;
    size_t n = 0;

    (void)state;
    json_object_foreach(json_object_get(doc, "paths"), pattern, path)
    {
        json_object_foreach(path, method, operation) n += !nm_streq(method, "parameters");
        assert_int_equal(json_object_get(path, "parameters") != NULL,
                         strstr(pattern, "{id}") != NULL);
    }
    assert_int_equal(n, nm_n_routes);
    json_decref(doc);
}

/* The parser accepts every described member of a submit request, and the description has every member of the parser. */
static void test_each_described_member_of_a_submission_is_accepted(void **state)
{
    json_t *doc = description(), *schema, *body, *v, *other;
    struct nm_messages_submit s;
    struct nm_problem p;
    const char *name;
    char text[200];
    size_t i;

    (void)state;
    schema =
        json_object_get(json_object_get(json_object_get(doc, "components"), "schemas"), "Submit");
    json_object_foreach(json_object_get(schema, "properties"), name, v)
    {
        const char *type = json_string_value(json_object_get(v, "type"));
        body = json_pack("{s:[s]}", "command", "true");
        if (nm_streq(type, "string"))
            json_object_set_new(body, name, json_string("GUARANTEED"));
        else if (nm_streq(type, "boolean"))
            json_object_set_new(body, name, json_true());
        else if (nm_streq(type, "object"))
            json_object_set_new(body, name, json_pack("{s:s}", "A", "1"));
        else if (!nm_streq(type, "array"))
            json_object_set_new(body, name, json_integer(nm_streq(name, "memory_bytes") ? 1 << 20 : 1));
        json_array_foreach(json_object_get(json_object_get(schema, "dependentRequired"), name), i, other)
        {
            /* Both the parser and the description refuse a member without the other member that it requires. */
            assert_int_equal(nm_messages_parse_submit(body, &s, &p), NM_AGENT_E_INVALID);
            assert_int_equal(openapi_check_request(doc, "POST", "/v1/containers", body, text, sizeof text), -EBADMSG);
            json_object_set_new(body, json_string_value(other), json_integer(1));
        }
        if (nm_messages_parse_submit(body, &s, &p) != 0)
            fail_msg("%s: %s", name, p.message);
        if (openapi_check_request(doc, "POST", "/v1/containers", body, text, sizeof text) != 0)
            fail_msg("%s", text);
        nm_messages_submit_done(&s);
        json_decref(body);
    }
    body = json_pack("{s:[s], s:i}", "command", "true", "nothing", 1);
    (void)nm_messages_parse_submit(body, &s, &p);
    json_object_foreach(json_object_get(schema, "properties"), name, v)
        assert_non_null(strstr(p.message, name));
    assert_int_equal(openapi_check_request(doc, "POST", "/v1/containers", body, text, sizeof text),
                     -EBADMSG);
    json_decref(body);
    json_decref(doc);
}

/* ---- answers -------------------------------------------------------------------------------- */

static void check(struct fixture *f, json_t *doc, const char *method, const char *pattern,
                  const char *target, const char *body)
{
    struct client c;
    char text[512], type[128];
    json_t *j = NULL;

    client_connect(f, &c);
    client_send(&c,
                "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
                method, target, body ? strlen(body) : 0, body ? body : "");
    until(&c, c.eof);
    (void)snprintf(type, sizeof type, "%s", client_header(&c, "Content-Type"));
    if (nm_streq(type, "application/json"))
        j = json_loads(client_body(&c), 0, NULL);
    if (openapi_check_answer(doc, method, pattern, (unsigned)client_status(&c), type, j, text,
                             sizeof text) < 0)
        fail_msg("%s", text);
    json_decref(j);
    client_close(&c);
}

#define PLACED "container_1_1_01_1099511627775"
#define LENT \
    "\"lent\":1,\"lent_memory_bytes\":2,\"queued\":0,\"asked\":0,\"asked_memory_bytes\":0,\"wanted\":3," \
    "\"granted\":1,\"adopted\":0,\"lent_again\":0,\"promoted\":0,\"preempted\":0,\"ended\":0," \
    "\"released\":0,\"observed\":0,\"observed_memory_bytes\":0,\"observed_memory_byte_seconds\":0"
#define LENT_TO \
    "{" LENT ",\"rule\":\"all\",\"source\":\"user\",\"wish_invalid\":false," \
    "\"registered_before\":false,\"unsaved\":false," \
    "\"queue\":\"q\",\"application_type\":\"TEZ\",\"oldest_since_usec\":1," \
    "\"keys_total\":1,\"keys\":[{\"priority\":20," \
    "\"request_id\":-1,\"memory_bytes\":1,\"vcores\":1,\"wanted\":3,\"asked\":0,\"lent\":1,\"observed\":0," \
    "\"since_usec\":1,\"reason\":\"strict\",\"reason_text\":\"r\",\"backs_off_until_usec\":null}]}"
#define LENDING_TOTALS \
    "{" LENT ",\"attempt_ended\":0,\"observes\":false,\"oldest_usec\":1," \
    "\"held\":{\"lent\":0,\"off\":0,\"registered_before\":0," \
    "\"label\":0,\"strict\":0,\"placement\":0,\"other_resources\":0,\"own_opportunistic\":0,\"too_many_keys\":0," \
    "\"waits\":0,\"backs_off\":0,\"queued\":0,\"application_limit\":0,\"queue_limit\":0," \
    "\"node_limit\":0,\"no_room\":0,\"refused\":0},\"queues\":[{\"queue\":\"q\"," \
    "\"applications\":1,\"lent\":1,\"lent_memory_bytes\":2,\"queued\":0,\"wanted\":3,\"promoted\":0," \
    "\"preempted\":0}],\"record\":{\"memory_bytes\":1,\"within_usec\":1,\"starts\":1,\"exceeded\":0," \
    "\"step_usec\":1,\"span_usec\":1}}"
#define LENDING \
    "{\"container_id\":\"" PLACED "\",\"attempt_id\":\"a\",\"time_usec\":1,\"application\":" LENT_TO "," \
    "\"container\":{\"priority\":20,\"request_id\":-1,\"memory_bytes\":1,\"vcores\":1,\"mode\":\"all\"," \
    "\"state\":\"running\",\"asked_usec\":1,\"lent_usec\":1,\"adopted_usec\":null,\"promoted_usec\":null," \
    "\"demoted_usec\":null,\"ended_usec\":null}," \
    "\"summary\":\"s\",\"explanation\":\"e\"}"
#define PIPELINE \
    "{\"attempt_id\":\"appattempt_1_0001_000001\",\"master_id\":\"container_1_0001_01_000001\",\"user\":\"u\"," \
    "\"state\":\"running\",\"asks\":1,\"outstanding\":2,\"nodes\":3,\"blacklisted\":0,\"placed\":" \
    "{\"node_local\":0,\"rack_local\":0,\"anywhere\":1},\"since_usec\":1,\"last_allocate_usec\":null," \
    "\"lending\":" LENT_TO "}"
#define CALLS "{\"answered\":0,\"failed\":0}"
#define MASTERS \
    "{\"address\":\"n1:8049\",\"attempts\":1,\"outstanding\":0,\"placed\":{\"node_local\":0,\"rack_local\":0," \
    "\"anywhere\":0},\"calls\":{\"start\":" CALLS ",\"register\":" CALLS ",\"allocate\":" CALLS ",\"finish\":" CALLS \
    ",\"recover\":" CALLS ",\"stop\":" CALLS ",\"token\":" CALLS "},\"lending\":" LENDING_TOTALS \
    ",\"pipelines\":[" PIPELINE "]}"
#define PLACEMENT \
    "{\"container_id\":\"" PLACED "\",\"attempt_id\":\"a\",\"node\":\"n:1\",\"rule\":\"any\",\"memory_bytes\":1," \
    "\"vcores\":1,\"priority\":20,\"request_id\":-1,\"listed\":1,\"position\":1,\"passed\":{\"blacklisted\":0," \
    "\"other_partition\":0,\"elsewhere\":0,\"used\":0,\"full\":0,\"busier\":0,\"other_kind\":0,\"unanswered\":0," \
    "\"not_admitting\":0,\"no_memory\":0,\"less_memory\":0,\"lent_limit\":0},\"hosts\":0,\"racks\":0," \
    "\"waited_usec\":0,\"realtime_usec\":1,\"summary\":\"s\",\"explanation\":\"e\"}"

/* Returns the answers of Hadoop's REST interface, built in the same way as in yarn/. */
static json_t *answers_of_upstream(void)
{
    const struct nm_yarn_rest_node node = {.host = "n1", .port = 1, .report = "", .resource_types = "",
                                           .yarn_version = "3", .version = "1"};
    const struct nm_yarn_rest_container one = {.id = PLACED, .state = "RUNNING", .log_files = json_null(),
                                               .host = "n1", .port = 1};
    json_t *list = json_pack("[o]", nm_yarn_rest_container(&one));

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:{s:o}, s:{s:o}}", "/v1/lending/{id}", json_loads(LENDING, 0, NULL),
                     "/ws/v1/node", nm_yarn_rest_node(&node),
                     "/ws/v1/node/info", nm_yarn_rest_node(&node), "/ws/v1/node/apps",
                     nm_yarn_rest_list("apps", "app", json_array(), false), "/ws/v1/node/containers",
                     nm_yarn_rest_list("containers", "container", list, true), "/ws/v1/node/apps/{id}", "app",
                     nm_yarn_rest_application("a", "RUNNING", "u", json_pack("[s]", PLACED)),
                     "/ws/v1/node/containers/{id}", "container", nm_yarn_rest_container(&one));
}

static void fill(struct fixture *f)
{
    struct nm_history_point point = {.realtime_usec = 1};
    struct nm_decision d = {.number = 1,
                            .kind = NM_DECISION_KILL,
                            .outcome = NM_OUTCOME_DONE,
                            .reason = NM_REASON_MEMORY_OVER_BETA,
                            .capacity = {1000, 1000},
                            .container_id = "container_1_000001",
                            .n_candidates = 1,
                            .n_candidates_total = 1,
                            .regained_known = true};
    struct nm_container *c;

    strcpy(d.candidates[0].id, "container_1_000001");
    f->m->decisions[f->m->n_decisions++] = d;
    nm_history_add(f->m->history, &point);
    fake_manager_add(f->m, "web", 0);
    fake_manager_add(f->m, "waits", 0)->view.state = NM_SCHEDULED;
    c = fake_manager_add(f->m, "paused", 0);
    c->view.state = NM_PAUSED;
    c->view.paused_usec = c->view.pause_deadline_usec = 1;
    c = fake_manager_add(f->m, "ended", 0);
    fake_manager_set_state(f->m, c, NM_COMPLETED);
    f->m->status.queue_reason = NM_REASON_OVER_ALPHA;
    strcpy(f->m->status.queue_head_id, "container_1_000002");
    f->m->status.breaker_until_usec = 1;
    f->m->status.squeeze_millicores = 5;
    f->m->status.upstream = (struct nm_upstream){.kind = "yarn", .state = "running", .address = "rm:8031",
                                               .memory_bytes = 1};
    f->m->details = json_loads("{\"masters\":" MASTERS "}", 0, NULL);
    f->m->placement = json_loads(PLACEMENT, 0, NULL);
    f->m->of_upstream = answers_of_upstream();
    f->m->status.n_links = 1;
}

static void test_each_answer_matches_its_description(void **state)
{
    struct fixture *f = *state;
    json_t *doc = description();

    start(f, NULL);
    for (int filled = 0; filled < 2; filled++) {
        check(f, doc, "GET", "/", "/", NULL);
        check(f, doc, "GET", "/healthz", "/healthz", NULL);
        check(f, doc, "GET", "/metrics", "/metrics", NULL);
        check(f, doc, "GET", "/v1/version", "/v1/version", NULL);
        check(f, doc, "GET", "/v1/openapi.json", "/v1/openapi.json", NULL);
        check(f, doc, "GET", "/v1/status", "/v1/status", NULL);
        check(f, doc, "GET", "/v1/placements/{id}", "/v1/placements/" PLACED, NULL);
        check(f, doc, "GET", "/v1/lending/{id}", "/v1/lending/" PLACED, NULL);
        check(f, doc, "GET", "/v1/history", "/v1/history", NULL);
        check(f, doc, "GET", "/v1/config", "/v1/config", NULL);
        check(f, doc, "GET", "/v1/decisions", "/v1/decisions", NULL);
        check(f, doc, "GET", "/v1/events", "/v1/events", NULL);
        check(f, doc, "GET", "/v1/containers", "/v1/containers?all=true", NULL);
        check(f, doc, "POST", "/v1/containers", "/v1/containers",
              filled ? "{\"command\":[\"x\"]}" : "{}");
        check(f, doc, "GET", "/v1/containers/{id}", "/v1/containers/web", NULL);
        check(f, doc, "PATCH", "/v1/containers/{id}", "/v1/containers/web", "{\"vcores\":1}");
        check(f, doc, "POST", "/v1/containers/{id}/pause", "/v1/containers/web/pause", NULL);
        check(f, doc, "GET", "/v1/containers/{id}/wait", "/v1/containers/ended/wait", NULL);
        check(f, doc, "GET", "/v1/containers/{id}/logs", "/v1/containers/ended/logs", NULL);
        check(f, doc, "GET", "/v1/containers/{id}/decisions", "/v1/containers/web/decisions", NULL);
        check(f, doc, "POST", "/v1/drain", "/v1/drain", NULL);
        check(f, doc, "GET", "/ws/v1/node", "/ws/v1/node", NULL);
        check(f, doc, "GET", "/ws/v1/node/info", "/ws/v1/node/info/", NULL);
        check(f, doc, "GET", "/ws/v1/node/apps", "/ws/v1/node/apps?state=x&user=y&more=z", NULL);
        assert_string_equal(f->m->last_query, "/ws/v1/node/apps - x y 1");
        check(f, doc, "GET", "/ws/v1/node/apps/{id}", "/ws/v1/node/apps/a%20b", NULL);
        assert_string_equal(f->m->last_query, "/ws/v1/node/apps/{id} a b - - 1");
        check(f, doc, "GET", "/ws/v1/node/apps/{id}", "/ws/v1/node/apps/%", NULL);
        check(f, doc, "GET", "/ws/v1/node/containers", "/ws/v1/node/containers", NULL);
        check(f, doc, "GET", "/ws/v1/node/containers/{id}", "/ws/v1/node/containers/" PLACED, NULL);
        check(f, doc, "GET", "/ws/v1/node", "/ws/v1/node/none", NULL);
        if (!filled)
            fill(f);
    }
    json_decref(doc);
}

/* Tests the checker of this test: it must find each of these errors. */
static void test_the_checker_of_answers_finds_each_error(void **state)
{
    static const struct {
        const char *json, *found;
    } cases[] = {
        {"{\"version\":\"1\",\"api\":\"v1\",\"pid\":1}", ""},
        {"{\"version\":\"1\",\"api\":\"v1\"}", "Version: pid is missing"},
        {"{\"version\":\"1\",\"api\":\"v1\",\"pid\":\"1\"}", "Version.pid: is no integer"},
        {"{\"version\":\"1\",\"api\":null,\"pid\":1}", "Version.api: is null"},
        {"{\"version\":\"1\",\"api\":\"v1\",\"pid\":1,\"x\":1}", "Version.x: not described"},
        {"{\"version\":\"1\",\"api\":\"v1\",\"pid\":-1}", "Version.pid: -1 is out of range"},
        {"[]", "Version: is no object"},
    };
    json_t *doc = description();

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        char text[256] = "";
        json_t *j = json_loads(cases[i].json, 0, NULL);
        assert_int_equal(openapi_check_schema(doc, "Version", j, text, sizeof text),
                         i == 0 ? 0 : -EBADMSG);
        assert_string_equal(text, cases[i].found);
        json_decref(j);
    }
    json_decref(doc);
}

static void test_each_event_matches_its_description(void **state)
{
    struct nm_event_record e = {.number = 1, .kind = NM_EVENT_STATE, .decision_number = 1};
    json_t *doc = description();
    char text[256];

    (void)state;
    for (int kind = NM_EVENT_STATE; kind <= NM_EVENT_NODE; kind++) {
        e.kind = (enum nm_event_kind)kind;
        json_t *j = nm_messages_event(&e);
        if (openapi_check_schema(doc, "Event", j, text, sizeof text) < 0)
            fail_msg("%s", text);
        json_decref(j);
    }
    json_decref(doc);
}

/* Checks all enum values that answers can contain. */
static void test_each_value_of_an_enum_is_described(void **state)
{
    json_t *doc = description(), *j;
    char text[256];

    (void)state;
    for (int r = NM_REASON_NONE; r < NM_REASON_COUNT; r++) {
        j = json_string(nm_reason_name((enum nm_reason)r));
        if (openapi_check_schema(doc, "Reason", j, text, sizeof text) < 0)
            fail_msg("%s", text);
        json_decref(j);
    }
    for (int k = 0; k < NM_DECISION_KIND_COUNT; k++) {
        struct nm_decision d = {.kind = (enum nm_decision_kind)k, .capacity = {1, 1}};
        j = nm_messages_decision(&d, false);
        if (openapi_check_schema(doc, "Decision", j, text, sizeof text) < 0)
            fail_msg("%s", text);
        json_decref(j);
    }
    for (int e = NM_EXIT_EXITED; e < NM_EXIT_REASON_COUNT; e++) {
        struct nm_container c = {.view.state = NM_COMPLETED, .exit_reason = (enum nm_exit_reason)e};
        j = nm_messages_container(&c, &(struct nm_messages_container_extra){});
        if (openapi_check_schema(doc, "Container", j, text, sizeof text) < 0)
            fail_msg("%s", text);
        json_decref(j);
    }
    json_decref(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_route_is_described_in_openapi_json),
        cmocka_unit_test(test_each_described_route_exists),
        cmocka_unit_test(test_each_described_member_of_a_submission_is_accepted),
        cmocka_unit_test_setup_teardown(test_each_answer_matches_its_description, fixture_setup, fixture_teardown),
        cmocka_unit_test(test_the_checker_of_answers_finds_each_error),
        cmocka_unit_test(test_each_event_matches_its_description),
        cmocka_unit_test(test_each_value_of_an_enum_is_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
