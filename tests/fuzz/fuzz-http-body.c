/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes bodies of requests. An accepted submit request is the same after writing and reading it again. The error of a
 * refused request can be sent, and the client parses the same error.
 */

#include "text.h"

#include "rpc/local/client/request-body.h"
#include "rpc/local/messages.h"

/* Writes a parsed request as a client does, and parses the text. Returns the text. */
static char *write_again(const struct nm_submit *s, struct nm_messages_submit *ret)
{
    struct nm_client_submit again = {
        .command = {.argv = s->argv, .env = s->env, .rows = s->rows, .columns = s->columns},
        .opportunistic = s->type == NM_OPPORTUNISTIC,
        .replace = s->replace,
        .exempt = s->exempt,
        .allow_new_privs = s->allow_new_privs,
        .memory_bytes = s->memory_bytes,
        .vcores_milli = s->vcores_milli,
        .min_runtime_usec = s->min_runtime_usec,
        .expected_usec = s->expected_usec,
        .name = s->name,
        .app = s->app,
        .user = s->user,
        .workdir = s->workdir,
    };
    struct nm_client_bad_string bad;
    struct nm_problem p = {};
    json_t *body;
    char *text;

    while (s->env && s->env[again.command.n_env])
        again.command.n_env++;
    if (nm_client_submit_body(&again, &text, &bad) != 0 ||
        nm_messages_parse_body(text, strlen(text), &body, &p) != 0 || nm_messages_parse_submit(body, ret, &p) != 0)
        abort();
    json_decref(body);
    return text;
}

static void check_problem(const struct nm_problem *p)
{
    struct nm_problem again;
    json_t *j = nm_messages_error(p, NULL);

    if (p->outcome != NM_AGENT_E_INVALID || !*p->message || !j)
        abort();
    if (nm_messages_parse_error(j, &again) < 0 || again.outcome != p->outcome)
        abort();
    json_decref(j);
}

static void check_submit(json_t *body)
{
    _cleanup_(nm_messages_submit_done) struct nm_messages_submit s = {}, again = {}, last = {};
    _cleanup_free_ char *first = NULL, *second = NULL;
    struct nm_problem p = {};

    if (nm_messages_parse_submit(body, &s, &p) != 0) {
        check_problem(&p);
        return;
    }
    first = write_again(&s.submit, &again);
    second = write_again(&again.submit, &last);
    if (strcmp(first, second) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_messages_update update;
    struct nm_drain_order drain;
    struct nm_messages_kill kill;
    struct nm_problem p = {};
    size_t tree_bytes;
    json_t *body;

    if (nm_messages_measure_body((const char *)data, size, &tree_bytes, &p) != 0) {
        check_problem(&p);
        return 0;
    }
    if (nm_messages_parse_body((const char *)data, size, &body, &p) != 0) {
        check_problem(&p);
        return 0;
    }
    check_submit(body);
    if (nm_messages_parse_update(body, &update, &p) != 0)
        check_problem(&p);
    if (nm_messages_parse_kill(body, &kill, &p) != 0)
        check_problem(&p);
    if (nm_messages_parse_drain(body, &drain, &p) != 0)
        check_problem(&p);
    if (nm_messages_parse_empty(body, &p) != 0)
        check_problem(&p);
    json_decref(body);
    return 0;
}
