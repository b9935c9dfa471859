/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes paths and queries of requests, including the route table. The message of a refusal must be printable. */

#include "text.h"

#include "rpc/local/messages.h"
#include "rpc/local/handlers.h"
#include "rpc/local/routes.h"

static void check_printable(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 0x7f)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PATCH", "DELETE", "PUT"};
    _cleanup_free_ char *raw = fuzz_text(data, size);
    const struct nm_route *route;
    struct nm_problem p = {};
    struct nm_target t;
    char allow[64];
    struct nm_route_words words;

    if (nm_target_parse(raw, &t, &p) != 0) {
        if (p.outcome != NM_AGENT_E_INVALID || !*p.message)
            abort();
        check_printable(p.message);
        check_printable(p.value);
        return 0;
    }
    for (unsigned i = 0; i < t.n_segments; i++)
        if (!t.has_control)
            check_printable(t.segments[i]);
    for (unsigned i = 0; i < t.n_query; i++) {
        check_printable(t.query[i].name);
        if (nm_target_query(&t, t.query[i].name) != t.query[i].value)
            abort();
    }
    for (size_t i = 0; i < NM_ARRAY_SIZE(methods); i++) {
        if (nm_routes_find(nm_routes, nm_n_routes, methods[i], &t, &route, &words, allow, sizeof allow) != 0)
            continue;
        for (unsigned k = 0; k < t.n_query; k++)
            (void)nm_routes_takes_query(route, t.query[k].name);
    }
    nm_target_done(&t);
    return 0;
}
