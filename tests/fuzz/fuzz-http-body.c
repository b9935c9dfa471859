/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes bodies of requests. An accepted submit request is the same after writing and reading it again. The error of a
 * refused request can be sent, and the client parses the same error.
 */

#include "text.h"

#include "rpc/local/messages.h"

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
    _cleanup_(nm_messages_submit_done) struct nm_messages_submit s = {}, again = {};
    struct nm_problem p = {};
    json_t *first, *second;

    if (nm_messages_parse_submit(body, &s, &p) != 0) {
        check_problem(&p);
        return;
    }
    first = nm_messages_submit(&s.submit);
    if (!first || nm_messages_parse_submit(first, &again, &p) != 0)
        abort();
    second = nm_messages_submit(&again.submit);
    if (!json_equal(first, second))
        abort();
    json_decref(first);
    json_decref(second);
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
