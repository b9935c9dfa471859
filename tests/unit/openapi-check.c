/* SPDX-License-Identifier: Apache-2.0 */

/*
 * openapi-check SOCKET: compares the OpenAPI document of a running nmd with its real answers, and prints the result as
 * TAP. The program submits small containers and kills them, so don't run it on a production node.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "openapi.h"
#include "rpc/local/client/client.h"

#define TIMEOUT_USEC (30 * NM_USEC_PER_SEC)

struct state {
    const char *socket;
    json_t *doc;
    unsigned n, failed;
};

static const char *media_type(const struct nm_client_answer *a, const char *pattern)
{
    if (strstr(pattern, "/logs") && a->status == 200)
        return "application/octet-stream";
    if (strcmp(pattern, "/v1/events") == 0 && a->status == 200)
        return "application/x-ndjson";
    return strcmp(pattern, "/metrics") == 0 || strcmp(pattern, "/healthz") == 0 ? "text/plain"
           : strcmp(pattern, "/") == 0      ? "text/html"
                                            : "application/json";
}

/* Makes a request, whose answer must have the status `wanted`. Returns the answer's JSON, which the caller drops, or
 * NULL. */
static json_t *ask(struct state *s, const char *method, const char *pattern,
                   const char *id_or_query, const char *body, unsigned wanted)
{
    struct nm_client_request q = {.socket_path = s->socket, .method = method, .body = body};
    struct nm_client_answer a = {};
    const char *brace = strstr(pattern, "{id}");
    char target[256], text[512] = "";
    json_t *j = NULL;
    int r;

    if (brace)
        (void)snprintf(target, sizeof target, "%.*s%s%s", (int)(brace - pattern), pattern,
                       id_or_query, brace + 4);
    else
        (void)snprintf(target, sizeof target, "%s%s", pattern, id_or_query);
    q.target = target;
    r = nm_client_fetch(&q, TIMEOUT_USEC, &a);
    if (r < 0) {
        (void)snprintf(text, sizeof text, "no answer: %s", strerror(-r));
    } else if (a.status != wanted) {
        (void)snprintf(text, sizeof text, "%u instead of %u: %.200s", a.status, wanted, a.body);
    } else {
        const char *type = media_type(&a, pattern);
        if (strcmp(type, "application/json") == 0)
            j = json_loadb(a.body, a.len, 0, NULL);
        if (!j && strcmp(type, "application/json") == 0)
            (void)snprintf(text, sizeof text, "not JSON: %.200s", a.body);
        else if (s->doc)
            (void)openapi_check_answer(s->doc, method, pattern, a.status, type, j, text,
                                       sizeof text);
    }
    s->n++;
    s->failed += *text != '\0';
    printf("%s %u - %s %s: %u as described\n", *text ? "not ok" : "ok", s->n, method, target,
           wanted);
    if (*text)
        printf("# %s\n", text);
    nm_client_answer_done(&a);
    return j;
}

static void try(struct state *s, const char *method, const char *pattern, const char *id_or_query,
                const char *body, unsigned wanted)
{
    json_decref(ask(s, method, pattern, id_or_query, body, wanted));
}

static void check_node(struct state *s)
{
    try(s, "GET", "/", "", NULL, 200);
    try(s, "GET", "/healthz", "", NULL, 200);
    try(s, "GET", "/metrics", "", NULL, 200);
    try(s, "GET", "/v1/version", "", NULL, 200);
    try(s, "GET", "/v1/status", "", NULL, 200);
    try(s, "GET", "/v1/history", "", NULL, 200);
    try(s, "GET", "/v1/config", "", NULL, 200);
    try(s, "GET", "/v1/decisions", "?limit=100", NULL, 200);
    try(s, "GET", "/v1/events", "", NULL, 200);
    try(s, "GET", "/v1/containers", "?all=true", NULL, 200);
    try(s, "GET", "/v1/decisions", "?limit=0", NULL, 400);
    try(s, "POST", "/v1/drain", "", "{\"deadline_usec\":-1}", 400);
    try(s, "POST", "/v1/reload", "", NULL, 200);
    try(s, "POST", "/v1/drain", "", "{}", 200);
    try(s, "POST", "/v1/containers", "", "{\"command\":[\"true\"]}", 503);
    try(s, "POST", "/v1/undrain", "", NULL, 200);
    try(s, "POST", "/v1/close-breaker", "", NULL, 200);
}

static void check_containers(struct state *s)
{
    static const char submit[] =
        "{\"command\":[\"sleep\",\"1000\"],\"execution_type\":\"OPPORTUNISTIC\",\"user\":\"%u\","
        "\"name\":\"openapi-check\",\"memory_bytes\":8388608,\"vcores\":0.01}";
    static const char larger[] =
        "{\"command\":[\"true\"],\"user\":\"%u\",\"memory_bytes\":1000000000000000}";
    static const char missing[] = "no-such-container";
    char body[256];
    json_t *j;

    (void)snprintf(body, sizeof body, submit, geteuid());
    j = ask(s, "POST", "/v1/containers", "", body, 201);
    const char *id = json_string_value(json_object_get(j, "id"));
    if (!id)
        id = missing;
    try(s, "GET", "/v1/containers/{id}", id, NULL, 200);
    try(s, "GET", "/v1/containers/{id}/logs", id, NULL, 200);
    try(s, "GET", "/v1/containers/{id}/decisions", id, NULL, 200);
    try(s, "POST", "/v1/containers/{id}/promote", id, NULL, 200);
    try(s, "POST", "/v1/containers/{id}/demote", id, NULL, 200);
    try(s, "PATCH", "/v1/containers/{id}", id, "{\"memory_bytes\":9437184}", 200);
    try(s, "PATCH", "/v1/containers/{id}", id, "{}", 400);
    try(s, "POST", "/v1/containers/{id}/exec", id, "{\"command\":[\"true\"]}", 426);
    try(s, "POST", "/v1/containers/{id}/kill", id, "{\"now\":true}", 200);
    try(s, "GET", "/v1/containers/{id}/wait", id, NULL, 200);
    try(s, "POST", "/v1/containers/{id}/pause", id, NULL, 409);
    try(s, "POST", "/v1/containers/{id}/remove", id, NULL, 200);
    try(s, "POST", "/v1/containers/{id}/remove", id, NULL, 404);
    try(s, "DELETE", "/v1/containers/{id}", missing, NULL, 404);
    (void)snprintf(body, sizeof body, larger, geteuid());
    try(s, "POST", "/v1/containers", "", body, 422);
    try(s, "POST", "/v1/containers", "", "{\"command\":[]}", 400);
    try(s, "GET", "/v1/containers", "?all=true", NULL, 200);
    try(s, "GET", "/v1/decisions", "", NULL, 200);
    json_decref(j);
}

int main(int argc, char **argv)
{
    struct state s = {.socket = argv[1]};

    if (argc != 2) {
        fprintf(stderr, "usage: openapi-check SOCKET\n");
        return 2;
    }
    s.doc = ask(&s, "GET", "/v1/openapi.json", "", NULL, 200);
    if (s.doc) {
        check_node(&s);
        check_containers(&s);
    }
    printf("1..%u\n", s.n);
    json_decref(s.doc);
    return s.failed > 0;
}
