/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Handlers for containers. Each handler parses the request (messages.h), calls the manager for the operation, and
 * answers with the new state of the container, so that the client needs no second request. The manager checks which
 * containers a user may see and change. A container of another user gives the same error as a container that doesn't
 * exist.
 *
 * A handler returns 0 after setting an answer, or an error as in util/error.h, with call->problem for the message.
 * call.c makes the error answer.
 */

#include "rpc/local/handlers.h"

#include <assert.h>
#include <inttypes.h>

#include "rpc/local/connections.h"
#include "rpc/local/messages.h"
#include "rpc/local/stream.h"
#include "util/clock.h"
#include "util/frame.h"

/* Maximum number of items in an answer, so that no answer takes long. Clients request further items separately. */
#define LIST_MAX 250
#define DECISIONS_MAX 100

/* A list that is being written. Each item is serialized as soon as it is available. */
struct list {
    struct nm_call *call;
    struct nm_answer_text answer;
    unsigned n;
    uint64_t last; /* arrival number of the last item */
};

static void begin(struct list *l, const char *text)
{
    nm_answer_text_begin(&l->answer, l->call->account);
    nm_answer_text_add(&l->answer, text, strlen(text));
}

static void append(struct list *l, json_t *item)
{
    assert(l->answer.account); /* between begin() and the end of the list */
    if (l->n++ > 0)
        nm_answer_text_add(&l->answer, ",", 1);
    nm_answer_text_add_json(&l->answer, item);
}

static int end(struct list *l, const char *text)
{
    assert(l->answer.account && !l->call->answer);
    nm_answer_text_add(&l->answer, text, strlen(text));
    return nm_call_answer_text(l->call, 200, "application/json", &l->answer);
}

/* Computes the difference between the clocks for each container, because CLOCK_REALTIME may have been set meanwhile. */
static json_t *container_json(struct nm_call *call, const struct nm_container *c, bool listed)
{
    struct nm_messages_container_extra x = {
        .queue_position = nm_manager_queue_position(call->manager, c),
        .queue_reason = nm_manager_queue_reason(call->manager, c),
        .boot_to_realtime_usec = nm_realtime_usec() - nm_now_usec(),
        .redacted = call->tcp,
        .listed = listed,
    };

    return nm_messages_container(c, &x);
}

static void list_container(const struct nm_container *c, void *userdata)
{
    struct list *l = userdata;

    assert(c->view.seq > l->last); /* must be in order, or the next part would omit some */
    append(l, container_json(l->call, c, true));
    l->last = c->view.seq;
}

/* Adds a Link header with the address of the next part (RFC 8288), for clients that don't count the items. */
static void link_to_next(const struct list *l, const struct nm_page *page)
{
    char link[160];

    (void)snprintf(link, sizeof link, "</v1/containers?%slimit=%u&after=%" PRIu64 ">; rel=\"next\"",
                   page->all ? "all=true&" : "", page->limit, l->last);
    (void)MHD_add_response_header(l->call->answer, MHD_HTTP_HEADER_LINK, link);
}

int nm_handle_list(struct nm_call *call)
{
    struct list l = {.call = call};
    struct nm_page page = {.limit = LIST_MAX};
    uint64_t limit = LIST_MAX;
    bool more = false;
    int r = nm_call_query_bool(call, "all", &page.all);

    if (r == 0)
        r = nm_call_query_u64(call, "limit", 1, LIST_MAX, &limit);
    if (r == 0)
        r = nm_call_query_u64(call, "after", 0, INT64_MAX, &page.after);
    if (r != 0)
        return r;
    assert(limit >= 1 && limit <= LIST_MAX);
    page.limit = (unsigned)limit;
    begin(&l, "[");
    r = nm_manager_foreach(call->manager, &call->caller, &page, list_container, &l, &more);
    if (r != 0) {
        nm_answer_text_done(&l.answer);
        return r;
    }
    r = end(&l, "]\n");
    if (r == 0 && more)
        link_to_next(&l, &page);
    return r;
}

int nm_handle_answer_container(struct nm_call *call, unsigned status, const char *id)
{
    const struct nm_container *c;
    int r = nm_manager_find(call->manager, &call->caller, id, &c, &call->problem);

    if (r != 0)
        return r;
    return nm_call_answer_json(call, status, container_json(call, c, false));
}

int nm_handle_show(struct nm_call *call)
{
    return nm_handle_answer_container(call, 200, call->id);
}

/* Begins a submission with `replace`. The answer waits until the name is free, and then the request is handled again.
 * The container isn't started if the client has disconnected or nmd is stopping, because no client would wait for the
 * container. */
static int replace_begin(struct nm_call *call, const struct nm_submit *s, bool *ret_wait)
{
    char id[NM_ID_SIZE] = "";
    const struct nm_container *c;
    int r;

    if (call->host->stopping || (call->stream && nm_stream_stopped(call->stream)))
        return nm_messages_problem(&call->problem, NM_AGENT_E_UNAVAILABLE, "nmd", "",
                                   "nmd is stopping and did not start the container; try again when nmd runs again.");
    r = nm_manager_replace_begin(call->manager, &call->caller, s, id, &call->problem);
    *ret_wait = r == 0 && id[0];
    if (*ret_wait) {
        r = nm_manager_find(call->manager, &call->caller, id, &c, &call->problem);
        return r == 0 ? nm_stream_wait(call, c) : r;
    }
    if (call->stream)
        nm_stream_free(call->stream);
    return r;
}

/* Waits for a container. Is called for the request, and again when the container has completed or the wait is
 * cancelled. */
int nm_handle_wait(struct nm_call *call)
{
    const char *id = call->stream ? call->stream->container_id : call->id;
    const struct nm_container *c;
    int r;

    /* a request that arrives while the server stops must not be suspended, because libmicrohttpd would abort */
    if (call->host->stopping || (call->stream && nm_stream_stopped(call->stream)))
        return nm_messages_problem(&call->problem, NM_AGENT_E_UNAVAILABLE, "nmd", "",
                                   "nmd is stopping; containers keep running. Try again when nmd runs again.");
    r = nm_manager_find(call->manager, &call->caller, id, &c, &call->problem);
    if (r != 0)
        return r;
    if (c->view.state != NM_COMPLETED)
        return nm_stream_wait(call, c);
    assert(!call->suspended);
    if (call->stream)
        nm_stream_free(call->stream);
    return nm_handle_answer_container(call, 200, c->id);
}

int nm_handle_submit(struct nm_call *call)
{
    _cleanup_(nm_messages_submit_done) struct nm_messages_submit s = {};
    const struct nm_container *c;
    bool input = nm_exec_wants_upgrade(call), wait = false;
    int r = nm_messages_parse_submit(call->body, &s, &call->problem);

    if (r == 0 && s.submit.rows > 0 && !input)
        r = nm_messages_problem(&call->problem, NM_AGENT_E_INVALID, "Upgrade", "",
                                "rows and columns need a connection that is switched to the container's terminal: send "
                                "the headers 'Connection: Upgrade' and 'Upgrade: " NM_FRAME_PROTOCOL "', as nmctl "
                                "does.");
    if (r == 0 && s.submit.replace)
        r = replace_begin(call, &s.submit, &wait);
    if (wait)
        return r;
    if (r == 0 && input)
        s.submit.input_fd = nm_connection_of(call->connection)->fd;
    if (r == 0)
        r = nm_manager_submit(call->manager, &call->caller, &s.submit, &c, &call->problem);
    if (r != 0)
        return r;
    nm_call_done_to(call, c->id);
    r = input ? nm_exec_answer_input(call) : nm_handle_answer_container(call, 201, c->id);
    if (r == 0) {
        char location[sizeof "/v1/containers/" + NM_ID_SIZE];
        (void)snprintf(location, sizeof location, "/v1/containers/%s", c->id);
        (void)MHD_add_response_header(call->answer, MHD_HTTP_HEADER_LOCATION, location);
    }
    return r;
}

/* Applies an operation to the container that call->id names, and answers with the container's state. Looks up the id
 * first, because after the operation the name may belong to another container or to no container. */
static int act(struct nm_call *call, int (*operation)(struct nm_call *call, const char *id))
{
    const struct nm_container *c;
    char id[NM_ID_SIZE];
    int r = nm_manager_find(call->manager, &call->caller, call->id, &c, &call->problem);

    if (r != 0)
        return r;
    assert(call->id && call->body);
    memcpy(id, c->id, sizeof id);
    r = operation(call, id);
    if (r != 0)
        return r;
    nm_call_done_to(call, id);
    return nm_handle_answer_container(call, 200, id);
}

static int do_update(struct nm_call *call, const char *id)
{
    struct nm_messages_update u = {};
    int r = nm_messages_parse_update(call->body, &u, &call->problem);

    if (r != 0)
        return r;
    return nm_manager_update(call->manager, &call->caller, id, u.memory_bytes, u.vcores_milli,
                             &call->problem);
}

static int do_pause(struct nm_call *call, const char *id)
{
    int r = nm_messages_parse_empty(call->body, &call->problem);

    return r != 0 ? r : nm_manager_pause(call->manager, &call->caller, id, &call->problem);
}

static int do_resume(struct nm_call *call, const char *id)
{
    int r = nm_messages_parse_empty(call->body, &call->problem);

    return r != 0 ? r : nm_manager_resume(call->manager, &call->caller, id, &call->problem);
}

static int do_promote(struct nm_call *call, const char *id)
{
    int r = nm_messages_parse_empty(call->body, &call->problem);

    return r != 0 ? r : nm_manager_promote(call->manager, &call->caller, id, &call->problem);
}

static int do_demote(struct nm_call *call, const char *id)
{
    int r = nm_messages_parse_empty(call->body, &call->problem);

    return r != 0 ? r : nm_manager_demote(call->manager, &call->caller, id, &call->problem);
}

static int do_kill(struct nm_call *call, const char *id)
{
    struct nm_messages_kill k;
    int r = nm_messages_parse_kill(call->body, &k, &call->problem);

    if (r == 0)
        r = nm_call_query_bool(call, "now", &k.now);
    return r != 0 ? r : nm_manager_kill(call->manager, &call->caller, id, k.now, &call->problem);
}

int nm_handle_update(struct nm_call *call)
{
    return act(call, do_update);
}

int nm_handle_pause(struct nm_call *call)
{
    return act(call, do_pause);
}

int nm_handle_resume(struct nm_call *call)
{
    return act(call, do_resume);
}

int nm_handle_promote(struct nm_call *call)
{
    return act(call, do_promote);
}

int nm_handle_demote(struct nm_call *call)
{
    return act(call, do_demote);
}

int nm_handle_kill(struct nm_call *call)
{
    return act(call, do_kill);
}

/* Answers with the container's state before the removal, because the container doesn't exist afterwards. */
int nm_handle_remove(struct nm_call *call)
{
    const struct nm_container *c;
    char id[NM_ID_SIZE];
    json_t *was;
    int r = nm_manager_find(call->manager, &call->caller, call->id, &c, &call->problem);

    if (r == 0)
        r = nm_messages_parse_empty(call->body, &call->problem);
    if (r != 0)
        return r;
    memcpy(id, c->id, sizeof id);
    was = container_json(call, c, false);
    if (!was)
        return -ENOMEM;
    r = nm_manager_remove(call->manager, &call->caller, id, &call->problem);
    if (r != 0) {
        json_decref(was);
        return r;
    }
    nm_call_done_to(call, id);
    return nm_call_answer_json(call, 200, was);
}

/* ---- decisions ---------------------------------------------------------------------------- */

/* Removes containers of other users from a decision's candidates. */
static void leave_out_foreign(struct nm_call *call, struct nm_decision *d)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < d->n_candidates; i++)
        if (nm_manager_may_see(call->manager, &call->caller, d->candidates[i].id))
            d->candidates[n++] = d->candidates[i];
    d->n_candidates = n;
    if (!nm_manager_may_see(call->manager, &call->caller, d->on_behalf_of))
        d->on_behalf_of[0] = '\0';
}

/* Adds a decision. TCP clients may see the decisions about all containers (connections.c), but no names of users. */
static void list_decision(const struct nm_decision *d, void *userdata)
{
    struct list *l = userdata;
    struct nm_decision mine;

    if (l->call->caller.admin) {
        append(l, nm_messages_decision(d, l->call->tcp));
        return;
    }
    mine = *d;
    leave_out_foreign(l->call, &mine);
    append(l, nm_messages_decision(&mine, false));
}

int nm_handle_decisions(struct nm_call *call)
{
    struct list l = {.call = call};
    uint64_t limit = DECISIONS_MAX, before = UINT64_MAX;
    int r = nm_call_query_u64(call, "limit", 1, DECISIONS_MAX, &limit);

    if (r == 0)
        r = nm_call_query_u64(call, "before", 1, INT64_MAX, &before);
    if (r != 0)
        return r;
    begin(&l, "{\"decisions\":[");
    r = nm_manager_foreach_decision(call->manager, &call->caller, call->id, before, (unsigned)limit,
                                    list_decision, &l, &call->problem);
    if (r != 0) {
        nm_answer_text_done(&l.answer);
        return r;
    }
    return end(&l, "]}\n");
}

/* ---- applications -------------------------------------------------------------------------- */

static void list_application(const struct nm_ended_app *e, void *userdata)
{
    struct list *l = userdata;

    append(l, nm_messages_ended_app(e, l->call->tcp));
}

/* Lists all ended applications in one answer. Their number is limited. */
int nm_handle_applications(struct nm_call *call)
{
    struct list l = {.call = call};

    begin(&l, "{\"applications\":[");
    nm_manager_foreach_ended_app(call->manager, &call->caller, list_application, &l);
    return end(&l, "]}\n");
}
