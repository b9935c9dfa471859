/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Handlers for the node and nmd itself. The page and the API's description are constant and are compiled into nmd
 * (embed.sh), so that no request can read a file by its path.
 */

#include "agent/problem.h"
#include "rpc/local/embedded.h"
#include "rpc/local/handlers.h"
#include "rpc/local/json-make.h"
#include "rpc/local/messages.h"
#include "rpc/local/metrics.h"
#include "util/clock.h"

#include <unistd.h>

#define NODE "the node" /* argument of nm_call_done_to() */

/* Returns whether the caller may see the id of the container at the head of the queue. */
static bool may_know(struct nm_call *call, const char *id)
{
    return call->caller.admin || nm_manager_may_see(call->manager, &call->caller, id);
}

int nm_handle_status(struct nm_call *call)
{
    struct nm_status s;

    nm_manager_get_status(call->manager, &s);
    return nm_call_answer_json(
        call, 200,
        nm_messages_status(&s, nm_realtime_usec() - nm_now_usec(),
                           call->tcp || (*s.queue_head_id && !may_know(call, s.queue_head_id)),
                           nm_manager_upstream_details(call->manager, &call->caller, !call->tcp)));
}

/* Answers with the data that the upstream's function for this route returns. */
int nm_handle_upstream(struct nm_call *call)
{
    char user[NM_CLAIMED_USER_SIZE];
    const struct nm_upstream_query q = nm_call_upstream_query(call, user);
    json_t *answer = NULL;
    int r = nm_manager_query_upstream(call->manager, &q, &answer, &call->problem);

    return r != 0 ? r : nm_call_answer_json(call, 200, answer);
}

int nm_handle_config(struct nm_call *call)
{
    return nm_call_answer_json(call, 200, nm_manager_config_to_json(call->manager));
}

#define DISCARDED_MAX 100 /* maximum number of containers in the list; further containers are only counted */

struct discarded {
    uint64_t n;
    json_t *named;
};

static void discard(const struct nm_container *c, void *userdata)
{
    struct discarded *d = userdata;

    if (!nm_policy_container_is_waiting(&c->view) || d->n++ >= DISCARDED_MAX)
        return;
    d->named = nm_make_append(d->named, NM_OBJECT({"id", nm_make_string(c->id)},
                                                  {"name", nm_make_string_or_null(c->name)}));
}

/* Returns the waiting containers that the drain will discard in this turn of the event loop. The answer lists them,
 * because discarding can't be undone. */
static int find_discarded(struct nm_call *call, json_t **ret)
{
    struct discarded d = {.named = json_array()};
    struct nm_page page = {.limit = UINT32_MAX};
    bool more = false;
    int r = nm_manager_foreach(call->manager, &call->caller, &page, discard, &d, &more);

    if (r != 0) {
        json_decref(d.named);
        return r;
    }
    *ret = NM_OBJECT({"count", nm_make_integer(d.n)}, {"containers", d.named});
    return *ret ? 0 : -ENOMEM;
}

static int answer_drain(struct nm_call *call, json_t *discarded)
{
    struct nm_status s;

    nm_manager_get_status(call->manager, &s);
    return nm_call_answer_json(
        call, 200,
        nm_make_merge(nm_messages_status(&s, nm_realtime_usec() - nm_now_usec(), false,
                                         nm_manager_upstream_details(call->manager, &call->caller, true)),
                      NM_OBJECT({"discarded", discarded})));
}

/* Drains the node. The answer is the node's status, which shows the change. */
int nm_handle_drain(struct nm_call *call)
{
    struct nm_drain_order d;
    json_t *discarded = NULL;
    int r = nm_messages_parse_drain(call->body, &d, &call->problem);

    if (r == 0)
        r = find_discarded(call, &discarded);

    if (r == 0)
        r = nm_manager_drain(call->manager, &call->caller, &d, &call->problem);
    if (r != 0) {
        json_decref(discarded);
        return r;
    }
    nm_call_done_to(call, NODE);
    return answer_drain(call, discarded);
}

static int answer_operation(struct nm_call *call, int r)
{
    if (r != 0)
        return r;
    nm_call_done_to(call, NODE);
    return nm_handle_status(call);
}

int nm_handle_undrain(struct nm_call *call)
{
    int r = nm_messages_parse_empty(call->body, &call->problem);

    if (r == 0)
        r = nm_manager_undrain(call->manager, &call->caller, &call->problem);
    return answer_operation(call, r);
}

int nm_handle_close_breaker(struct nm_call *call)
{
    int r = nm_messages_parse_empty(call->body, &call->problem);

    if (r == 0)
        r = nm_manager_close_breaker(call->manager, &call->caller, &call->problem);
    return answer_operation(call, r);
}

int nm_handle_reload(struct nm_call *call)
{
    int r = nm_messages_parse_empty(call->body, &call->problem);

    if (r == 0)
        r = nm_manager_reload(call->manager, &call->problem);
    return answer_operation(call, r);
}

int nm_handle_version(struct nm_call *call)
{
    return nm_call_answer_json(
        call, 200,
        json_pack("{s:s, s:s, s:i}", "version", NM_VERSION, "api", "v1", "pid", (int)getpid()));
}

int nm_handle_openapi(struct nm_call *call)
{
    return nm_call_answer_static(call, "application/json", nm_embedded_openapi,
                                 nm_embedded_openapi_len);
}

/* Answers health checks of load balancers and watchdogs, which evaluate only the status code. A draining node is
 * healthy. */
int nm_handle_healthz(struct nm_call *call)
{
    struct nm_answer_text a;
    struct nm_status s;

    nm_manager_get_status(call->manager, &s);
    nm_answer_text_begin(&a, call->account);
    if (s.healthy)
        nm_answer_text_add(&a, "ok\n", 3);
    else {
        nm_answer_text_add(&a, s.health_reason, strlen(s.health_reason));
        nm_answer_text_add(&a, "\n", 1);
    }
    return nm_call_answer_text(call, s.healthy ? 200 : 503, "text/plain; charset=utf-8", &a);
}

static void write_upstream(void *userdata, const struct nm_metric_writer *w)
{
    nm_manager_write_upstream_metrics(userdata, w);
}

int nm_handle_metrics(struct nm_call *call)
{
    _cleanup_free_ char *text = NULL;
    struct nm_answer_text a;
    struct nm_status s;
    size_t len;
    int r;

    nm_manager_get_status(call->manager, &s);
    r = nm_metrics_format(&s, write_upstream, call->manager, &text, &len);
    if (r < 0)
        return r;
    nm_answer_text_begin(&a, call->account);
    nm_answer_text_add(&a, text, len);
    return nm_call_answer_text(call, 200, "text/plain; version=0.0.4; charset=utf-8", &a);
}

/* Serves the page. It loads data only from this server; the Content-Security-Policy makes browsers enforce that. */
int nm_handle_page(struct nm_call *call)
{
    int r = nm_call_answer_static(call, "text/html; charset=utf-8", nm_embedded_page,
                                  nm_embedded_page_len);

    if (r == 0)
        (void)MHD_add_response_header(
            call->answer, "Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
            "img-src data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'");
    return r;
}
