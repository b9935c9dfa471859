/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Processes a request from its first line to its answer. libmicrohttpd calls in three steps: the headers have arrived
 * (begin), a piece of the body has arrived (take_body), the request is complete (finish). Most errors are known in the
 * first step. An answer in the first step would make libmicrohttpd close the connection, so the answer is sent in the
 * last step. Only a body whose announced length is too large is refused in the first step.
 */

#include "rpc/local/call.h"

#include <assert.h>
#include <strings.h>

#include "rpc/local/answer-xml.h"
#include "rpc/local/connections.h"
#include "rpc/local/messages.h"
#include "rpc/local/host-names.h"
#include "util/clock.h"
#include "util/parse.h"

#define HADOOPS "/ws/" /* prefix of the paths of Hadoop's web services, which use Hadoop's error format */

/* ---- turns ----------------------------------------------------------------------------------- */

static void resume(struct nm_turn *t)
{
    struct nm_call *call = (struct nm_call *)((char *)t - offsetof(struct nm_call, turn));

    assert(call->suspended);
    call->suspended = false;
    call->its_turn = true;
    MHD_resume_connection(call->connection);
}

void nm_call_sleep(struct nm_call *call)
{
    assert(call->started && !call->suspended);
    call->suspended = true;
    MHD_suspend_connection(call->connection);
}

void nm_call_schedule_turns(struct nm_local_state *h)
{
    uint64_t due = nm_quota_due_usec(h->quota), now = nm_now_usec();

    assert(h->turns);
    if (due == UINT64_MAX)
        return;
    (void)sd_event_source_set_time_relative(h->turns, nm_sub_u64(due, now));
    (void)sd_event_source_set_enabled(h->turns, SD_EVENT_ONESHOT);
}

void nm_call_wake(struct nm_call *call)
{
    if (!call->suspended || call->turn.account)
        return;
    nm_turn_wait(&call->turn, call->account);
    nm_call_schedule_turns(call->host);
}

/* Returns whether a request of this account may be processed now: both this run and the account have time left. */
static bool has_time(const struct nm_local_state *h, const struct nm_quota_account *a)
{
    uint64_t now = nm_now_usec();

    return h->stopping ||
           (now - h->run_started_usec < NM_HOST_RUN_USEC && nm_quota_account_is_free(a, now));
}

bool nm_call_begin_turn(struct nm_call *call)
{
    if (call->its_turn || has_time(call->host, call->account)) {
        call->its_turn = false;
        call->went_usec = nm_now_usec();
        return true;
    }
    nm_call_sleep(call);
    nm_call_wake(call);
    return false;
}

void nm_call_end_turn(struct nm_call *call)
{
    uint64_t now = nm_now_usec();

    assert(call->went_usec > 0);
    nm_quota_account_charge(call->account, nm_sub_u64(now, call->went_usec), now);
}

/* ---- construction and destruction ------------------------------------------------------------ */

/* Creates a call. Only the target of the request is known yet. An error in the target is stored in `early` and reported
 * in the last step, like all errors that are found earlier. */
struct nm_call *nm_call_new(struct nm_local_state *host, const char *raw_target)
{
    struct nm_call *call = calloc(1, sizeof *call);

    assert(host->manager && host->routes);
    if (!call)
        return NULL;
    call->host = host;
    call->manager = host->manager;
    call->turn.run_turn = resume;
    call->is_hadoops = strncmp(raw_target, HADOOPS, strlen(HADOOPS)) == 0;
    call->early = nm_target_parse(raw_target, &call->target, &call->problem);
    return call;
}

/* Frees the received body as soon as it isn't needed, because sending the answer may take minutes. */
static void drop_data(struct nm_call *call)
{
    if (call->data_size > 0)
        nm_quota_account_give(call->account, call->data_size);
    free(STEAL_PTR(call->data));
    call->data_len = call->data_size = 0;
}

struct nm_call *nm_call_free(struct nm_call *call)
{
    if (!call)
        return NULL;
    assert(!call->body && !call->answer && (call->started || call->data_size == 0));
    nm_turn_cancel(&call->turn);
    if (call->stream)
        call->free_stream(call->stream);
    if (call->session != 0)
        nm_manager_exec_drop(call->manager, call->session);
    drop_data(call);
    nm_target_done(&call->target);
    free(call);
    return NULL;
}

/* ---- answers ------------------------------------------------------------------------------ */

int nm_call_answer(struct nm_call *call, unsigned status, const char *content_type,
                   struct MHD_Response *response)
{
    assert(!call->answer);
    if (!response)
        return -ENOMEM;
    call->answer = response;
    call->answer_status = status;
    /* If no memory is left, a header may be missing. The answer is still correct. */
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    return 0;
}

int nm_call_answer_upgrade(struct nm_call *call, const char *protocol, MHD_UpgradeHandler handler)
{
    struct MHD_Response *response = MHD_create_response_for_upgrade(handler, call);

    if (!response || MHD_add_response_header(response, MHD_HTTP_HEADER_UPGRADE, protocol) != MHD_YES) {
        if (response)
            MHD_destroy_response(response);
        return -ENOMEM;
    }
    call->answer = response;
    call->answer_status = MHD_HTTP_SWITCHING_PROTOCOLS;
    return 0;
}

int nm_call_answer_text(struct nm_call *call, unsigned status, const char *content_type,
                        struct nm_answer_text *text)
{
    struct MHD_Response *response;
    int r = nm_answer_text_end(text, &response);

    nm_answer_text_done(text);
    return r < 0 ? r : nm_call_answer(call, status, content_type, response);
}

int nm_call_answer_json(struct nm_call *call, unsigned status, json_t *j)
{
    struct nm_answer_text a;

    nm_answer_text_begin(&a, call->account);
    if (call->is_hadoops && nm_answer_wants_xml(call->connection)) {
        nm_answer_text_add_xml(&a, j);
        return nm_call_answer_text(call, status, "application/xml; charset=utf-8", &a);
    }
    nm_answer_text_add_json(&a, j);
    nm_answer_text_add(&a, "\n", 1); /* makes a shell's prompt begin on a new line */
    return nm_call_answer_text(call, status, "application/json", &a);
}

int nm_call_answer_static(struct nm_call *call, const char *content_type, const void *data,
                          size_t len)
{
    return nm_call_answer(
        call, 200, content_type,
        MHD_create_response_from_buffer(len, (void *)data, MHD_RESPMEM_PERSISTENT));
}

/* ---- errors ------------------------------------------------------------------------------- */

void nm_call_done_to(struct nm_call *call, const char *what)
{
    (void)snprintf(call->done_to, sizeof call->done_to, "%s", what);
}

/* Returns the message for an internal failure, which the client didn't cause. */
static const char *failure(struct nm_call *call, int r)
{
    if (*call->done_to) {
        (void)nm_messages_problem(&call->problem, NM_AGENT_E_UNAVAILABLE, "nmd", call->done_to,
                                  "The request was carried out (%s), but nmd could not send the result: %s.",
                                  call->done_to, strerror(-r));
        return "internal";
    }
    if (r == -ENOBUFS || r == -ENOMEM) {
        (void)nm_messages_problem(&call->problem, NM_AGENT_E_UNAVAILABLE, "memory", "",
                                  "nmd uses too much memory for other clients at the moment; try again.");
        return NULL;
    }
    (void)nm_messages_problem(&call->problem, NM_AGENT_E_UNAVAILABLE, "nmd", "",
                              "nmd could not carry out the request: %s.", strerror(-r));
    return "internal";
}

/* Converts the return value of a handler (or of begin) to an error answer. */
static int answer_error(struct nm_call *call, int r)
{
    const char *code = NULL;
    unsigned status = call->early_status ? call->early_status : nm_messages_http_status(r);

    if (r < 0) {
        code = failure(call, r);
        status = code ? 500 : 503;
    }
    /* 413 has the same error code as 422, with which nmd refuses a container that is too large for the node. */
    if (status == 413)
        code = "too-large";
    call->problem.outcome = r > 0 ? (enum nm_agent_outcome)r : call->problem.outcome;
    if (call->is_hadoops)
        r = nm_call_answer_json(call, status, nm_messages_remote_exception(&call->problem));
    else
        r = nm_call_answer_json(call, status, nm_messages_error(&call->problem, code));
    if (r == 0 && status == 405)
        (void)MHD_add_response_header(call->answer, MHD_HTTP_HEADER_ALLOW, call->allow);
    return r;
}

/* Queues the answer in libmicrohttpd. Every answer must be read within the time limit. A stream sets the limit for each
 * of its pieces, if it has one. */
static enum MHD_Result send_answer(struct nm_call *call)
{
    struct nm_connection *c = nm_connection_of(call->connection);
    enum MHD_Result r;

    c->has_request = true;
    c->deadline_usec = call->stream ? UINT64_MAX : nm_now_usec() + NM_HOST_SEND_TIMEOUTS * call->host->timeout_usec;
    if (call->endless)
        (void)MHD_set_connection_option(call->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
    if (call->tcp) /* the gate checks only the first request of a connection */
        (void)MHD_add_response_header(call->answer, MHD_HTTP_HEADER_CONNECTION, "close");
    r = MHD_queue_response(call->connection, call->answer_status, call->answer);
    MHD_destroy_response(call->answer);
    call->answer = NULL;
    return r;
}

static enum MHD_Result conclude(struct nm_call *call, int r)
{
    if (r != 0)
        r = answer_error(call, r);
    if (r != 0)
        return MHD_NO; /* no memory for an error answer: libmicrohttpd closes the connection */
    if (!call->answer)
        return MHD_YES; /* the connection is suspended; libmicrohttpd calls this function again */
    return send_answer(call);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Stores the HTTP status of the answer, which may differ from the status of the outcome. Returns the outcome. */
static int fail_with_status(struct nm_call *call, unsigned status, enum nm_agent_outcome outcome)
{
    call->early_status = status;
    return (int)outcome;
}

static int find_route(struct nm_call *call, const char *method)
{
    struct nm_problem *p = &call->problem;
    struct nm_route_words words = {};
    int r = nm_routes_find(call->host->routes, call->host->n_routes, method, &call->target,
                           &call->route, &words, call->allow, sizeof call->allow);

    /* Hadoop's clients send OPTIONS before their first request. */
    if (r == NM_ROUTES_E_NO_METHOD && nm_streq(method, "OPTIONS")) {
        call->is_options = nm_routes_find(call->host->routes, call->host->n_routes, "GET", &call->target, &call->route,
                                          &words, call->allow, sizeof call->allow) == 0 &&
                           (call->route->flags & NM_ROUTE_UPSTREAM);
        r = call->is_options ? 0 : nm_routes_find(call->host->routes, call->host->n_routes, method, &call->target,
                                                  &call->route, &words, call->allow, sizeof call->allow);
    }
    call->id = words.id;
    call->user = words.user;
    call->file = words.file;
    if (r == NM_ROUTES_E_NO_PATH)
        return nm_messages_problem(
            p, NM_AGENT_E_NOT_FOUND, "path", call->target.path,
            "There is no such path; /v1/openapi.json lists all paths.");
    if (r == NM_ROUTES_E_NO_METHOD) {
        (void)nm_messages_problem(p, NM_AGENT_E_INVALID, "method", method, "%s allows %s only.",
                                  call->target.path, call->allow);
        return fail_with_status(call, 405, NM_AGENT_E_INVALID);
    }
    if (call->target.has_control && !(call->route->flags & NM_ROUTE_FILE))
        return nm_messages_problem(p, NM_AGENT_E_INVALID, "path", call->target.path,
                                   "The path has an invalid %%-escape or a control character.");
    if (call->id && !(call->route->flags & NM_ROUTE_UPSTREAM) && !nm_name_is_valid(call->id))
        return nm_messages_problem(
            p, NM_AGENT_E_INVALID, "id", call->id,
            "An id or name has 1 to 63 of the characters A-Z a-z 0-9 . _ - and does not "
            "begin with '.' or '-'.");
    return 0;
}

static int check_query(struct nm_call *call)
{
    const struct nm_route *route = call->route;

    for (unsigned i = 0; i < call->target.n_query && !(route->flags & NM_ROUTE_UPSTREAM); i++) {
        const char *name = call->target.query[i].name;
        if (nm_routes_takes_query(route, name))
            continue;
        return nm_messages_problem(
            &call->problem, NM_AGENT_E_INVALID, name, call->target.query[i].value,
            *route->query ? "Unknown query parameter \"%s\"; allowed: %s."
                          : "Unknown query parameter \"%s\"; none is allowed%s.",
            name, route->query);
    }
    return 0;
}

/* Checks the rights for the route. The manager checks the rights for the container and decides which of the container's
 * data a user may see. */
static int check_right(struct nm_call *call)
{
    if (call->tcp && !(call->route->flags & NM_ROUTE_TCP))
        return nm_messages_problem(&call->problem, NM_AGENT_E_FORBIDDEN, "path", call->target.path,
                                   "This path is not served over TCP; use the UNIX socket.");
    if ((call->route->flags & NM_ROUTE_ADMIN) && !call->caller.admin)
        return nm_messages_problem(
            &call->problem, NM_AGENT_E_FORBIDDEN, "path", call->target.path,
            "Only root and members of the admin group may do this; you are uid %u.",
            (unsigned)call->caller.uid);
    return 0;
}

/* Checks the media type and the announced length. A body whose announced length is too large isn't read. */
static int check_body_headers(struct nm_call *call)
{
    const char *type = MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_CONTENT_TYPE);
    const char *length = MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND,
                                                     MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t n = 0;

    if (length && (nm_parse_u64(length, &n) < 0 || n > NM_CALL_BODY_MAX)) {
        call->refused_unread = true;
        (void)nm_messages_problem(&call->problem, NM_AGENT_E_TOO_LARGE, "body", length,
                                  "The body has %s bytes; at most %u are allowed.", length,
                                  NM_CALL_BODY_MAX);
        return fail_with_status(call, 413, NM_AGENT_E_TOO_LARGE);
    }
    if (n > 0 && type && strncasecmp(type, "application/json", strcspn(type, "; \t")) != 0) {
        (void)nm_messages_problem(
            &call->problem, NM_AGENT_E_INVALID, "Content-Type", type,
            "The body must be JSON, with the header Content-Type: application/json.");
        return fail_with_status(call, 415, NM_AGENT_E_INVALID);
    }
    return 0;
}

static enum MHD_Result count_framing(void *userdata, enum MHD_ValueKind kind, const char *name, const char *value)
{
    unsigned *n = userdata;

    (void)kind, (void)value;
    n[0] += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    n[1] += strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
    return MHD_YES;
}

/* Refuses a request whose length is ambiguous. libmicrohttpd uses the first of two lengths, and ignores a length in a
 * chunked request, so the start of the next request would be ambiguous. Over TCP the gate has already checked the
 * length (head.h). */
static int check_framing(struct nm_call *call)
{
    unsigned n[2] = {};

    (void)MHD_get_connection_values(call->connection, MHD_HEADER_KIND, count_framing, n);
    if (n[0] + n[1] <= 1)
        return 0;
    call->refused_unread = true;
    (void)nm_messages_problem(&call->problem, NM_AGENT_E_INVALID, "body", "",
                              "The request gives the length of its body more than once (Content-Length, "
                              "Transfer-Encoding).");
    return fail_with_status(call, 400, NM_AGENT_E_INVALID);
}

static const char *header(struct nm_call *call, const char *name)
{
    return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

/* Refuses requests from pages other than nmd's. Over TCP the gate has already checked Host, and the interface is
 * read-only. */
static int check_browser(struct nm_call *call)
{
    const char *origin = header(call, MHD_HTTP_HEADER_ORIGIN), *host = header(call, MHD_HTTP_HEADER_HOST);
    int r = call->tcp ? 0 : nm_browser_check(call->host->names, origin, host);

    if (r == NM_BROWSER_E_ORIGIN)
        return nm_messages_problem(&call->problem, NM_AGENT_E_FORBIDDEN, "Origin", origin,
                                   "A browser sent this request from a page of %s, which isn't nmd's. nmd's own page "
                                   "is at / of the address that leads to its socket.", origin);
    if (r != NM_BROWSER_E_HOST)
        return 0;
    (void)nm_messages_problem(&call->problem, NM_AGENT_E_INVALID, "Host", host,
                              "The request's Host is neither an address, nor a name without a dot, nor a name of this "
                              "node; use localhost, or add the Host to http-hosts in section interface of nmd.conf.");
    return fail_with_status(call, 421, NM_AGENT_E_INVALID);
}

/* Checks everything that is known from the head of a request. The order of the checks gives the most helpful error:
 * first a path that doesn't exist, then a missing right, then an invalid parameter. */
enum MHD_Result nm_call_begin(struct nm_call *call, struct MHD_Connection *connection,
                              const char *method)
{
    const struct nm_connection *c = nm_connection_of(connection);
    unsigned body_status;
    int r = call->early, body;

    assert(!call->started && c->host == call->host);
    call->started = true;
    call->connection = connection;
    call->account = c->account;
    call->caller = c->caller;
    call->tcp = c->tcp;
    call->is_head = nm_streq(method, "HEAD");
    body = check_framing(call);
    if (body == 0)
        body = check_body_headers(call);
    if (body != 0 && call->refused_unread)
        return conclude(call, body);
    body_status = call->early_status;
    call->early_status = 0;
    if (r == 0)
        r = check_browser(call);
    if (r == 0)
        r = find_route(call, method);
    if (r == 0)
        r = check_right(call);
    if (r == 0)
        r = check_query(call);
    if (r == 0) {
        r = body;
        call->early_status = body_status;
    }
    call->early = r;
    return MHD_YES;
}

/* Doubles the buffer, so that a body that arrives in small pieces isn't copied for each piece. Reserves the quota
 * before the allocation, because malloc() itself doesn't limit users. */
static int grow_data(struct nm_call *call, size_t wanted)
{
    size_t doubled = NM_MAX(call->data_size * 2, (size_t)1024), size = NM_MAX(wanted, doubled);
    char *data;

    assert(size > call->data_size);
    if (!nm_quota_account_take(call->account, size - call->data_size))
        return -ENOBUFS;
    data = realloc(call->data, size);
    if (!data) {
        nm_quota_account_give(call->account, size - call->data_size);
        return -ENOMEM;
    }
    call->data = data;
    call->data_size = size;
    return 0;
}

/* Stores a piece of the body. After an error the rest of the body is read and discarded, because libmicrohttpd accepts
 * no answer before the end of the body. */
enum MHD_Result nm_call_take_body(struct nm_call *call, const char *data, size_t len)
{
    if (call->early != 0)
        return MHD_YES;
    if (call->data_len + len > NM_CALL_BODY_MAX) {
        (void)nm_messages_problem(&call->problem, NM_AGENT_E_TOO_LARGE, "body", "",
                                  "The body has more than the %u bytes that are allowed.",
                                  NM_CALL_BODY_MAX);
        call->early = fail_with_status(call, 413, NM_AGENT_E_TOO_LARGE);
        return MHD_YES;
    }
    if (call->data_len + len > call->data_size)
        call->early = grow_data(call, call->data_len + len);
    if (call->early != 0)
        return MHD_YES;
    memcpy(call->data + call->data_len, data, len);
    call->data_len += len;
    return MHD_YES;
}

/* Parses the complete body. Incomplete JSON can't be checked. */
static int parse_body(struct nm_call *call)
{
    if (!(call->route->flags & NM_ROUTE_BODY))
        return call->data_len == 0 ? 0
                                   : nm_messages_problem(&call->problem, NM_AGENT_E_INVALID, "body",
                                                         "", "This request takes no body.");
    return nm_messages_parse_body(call->data, call->data_len, &call->body, &call->problem);
}

/* Answers OPTIONS for a route of the upstream. A request that names its user gets a cookie, which later requests
 * send. */
static int answer_options(struct nm_call *call)
{
    const char *user = nm_target_query(&call->target, "user.name");
    char cookie[NM_CLAIMED_USER_COOKIE_SIZE];
    int r = nm_call_answer_static(call, "text/plain;charset=utf-8", "", 0);

    if (r < 0)
        return r;
    (void)MHD_add_response_header(call->answer, MHD_HTTP_HEADER_ALLOW, "GET, HEAD, OPTIONS");
    if (user && nm_claimed_user_cookie(user, cookie))
        (void)MHD_add_response_header(call->answer, MHD_HTTP_HEADER_SET_COOKIE, cookie);
    return 0;
}

/* Parses and checks the body, and answers, without returning to the event loop. Only one JSON tree therefore exists at
 * a time, regardless of the number of clients. The tree is charged to the user's quota while it exists. */
static int handle(struct nm_call *call)
{
    size_t tree = 0;
    int r = nm_messages_measure_body(call->data, call->data_len, &tree, &call->problem);

    if (r != 0)
        return r;
    if (!nm_quota_account_take(call->account, tree))
        return -ENOBUFS;
    r = parse_body(call);
    if (!(call->route->flags & NM_ROUTE_AGAIN))
        drop_data(call);
    if (r == 0)
        r = call->is_options ? answer_options(call) : call->route->handler(call);
    if (!call->suspended)
        drop_data(call);
    json_decref(STEAL_PTR(call->body));
    nm_quota_account_give(call->account, tree);
    return r;
}

/* Handles the complete request. libmicrohttpd calls it again after each suspension. */
enum MHD_Result nm_call_finish(struct nm_call *call)
{
    enum MHD_Result r;

    assert(call->started && !call->answer);
    if (!nm_call_begin_turn(call))
        return MHD_YES;
    r = conclude(call, call->early != 0 ? call->early : handle(call));
    nm_call_end_turn(call);
    return r;
}

/* ---- query parameters --------------------------------------------------------------------- */

/* Parses a boolean. If the parameter is missing, *ret keeps the default value that the caller has stored. */
int nm_call_query_bool(struct nm_call *call, const char *name, bool *ret)
{
    const char *value = nm_target_query(&call->target, name);

    if (!value || nm_parse_bool(value, ret) == 0)
        return 0;
    return nm_messages_problem(&call->problem, NM_AGENT_E_INVALID, name, value,
                               "%s must be true or false, not \"%s\".", name, value);
}

int nm_call_query_u64(struct nm_call *call, const char *name, uint64_t min, uint64_t max,
                      uint64_t *ret)
{
    const char *value = nm_target_query(&call->target, name);
    uint64_t v;

    if (!value)
        return 0;
    if (nm_parse_u64(value, &v) == 0 && v >= min && v <= max) {
        *ret = v;
        return 0;
    }
    return nm_messages_problem(&call->problem, NM_AGENT_E_INVALID, name, value,
                               "%s must be a whole number from %llu to %llu, not \"%s\".", name,
                               (unsigned long long)min, (unsigned long long)max, value);
}

static const char *parameter(const void *request, const char *name)
{
    const struct nm_call *call = request;

    return nm_target_query(&call->target, name);
}

struct nm_upstream_query nm_call_upstream_query(struct nm_call *call, char buf[static NM_CLAIMED_USER_SIZE])
{
    const bool has_user = nm_claimed_user_find(header(call, MHD_HTTP_HEADER_COOKIE), parameter(call, "user.name"), buf);

    return (struct nm_upstream_query){
        .who = &call->caller,
        .with_users = !call->tcp,
        .path = call->route->pattern,
        .id = call->id,
        .state = parameter(call, "state"),
        .user = parameter(call, "user"),
        .claimed_user = has_user ? buf : NULL,
        .parameter = parameter,
        .request = call,
        .owner = call->user,
        .file = call->file,
        .raw_query = call->target.raw_query,
        .accept = header(call, MHD_HTTP_HEADER_ACCEPT),
    };
}
