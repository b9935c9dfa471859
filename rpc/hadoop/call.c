/* SPDX-License-Identifier: Apache-2.0 */

/* Calls of an open connection (server-state.h): passes requests to methods, and sends their answers. */

#include <assert.h>
#include <errno.h>

#include "rpc/hadoop/fields.h"
#include "rpc/hadoop/server-state.h"
#include "util/clock.h"

/* Room for the caller's identifier and name, and for answers much larger than their requests. */
#define ANSWER_ROOM (256u << 10)

struct nm_hadoop_call {
    struct nm_server_connection *connection; /* NULL: the connection has ended */
    struct nm_hadoop_call *next, **prev_next;
    struct nm_quota_account *account;
    struct nm_protocol_id id;
    struct nm_arena arena;
    const ProtobufCMessage *request;
    struct nm_bytes identifier; /* the memory of identifier and user is in the arena */
    const char *user;
};

const ProtobufCMessage *nm_hadoop_call_request(const struct nm_hadoop_call *call)
{
    return call->request;
}

struct nm_bytes nm_hadoop_call_identifier(const struct nm_hadoop_call *call)
{
    return call->identifier;
}

const char *nm_hadoop_call_user(const struct nm_hadoop_call *call)
{
    return call->user;
}

struct nm_bytes nm_hadoop_call_context(const struct nm_hadoop_call *call)
{
    return call->id.caller_context;
}

struct nm_quota_account *nm_hadoop_call_account(const struct nm_hadoop_call *call)
{
    return call->account;
}

struct nm_arena *nm_hadoop_call_arena(struct nm_hadoop_call *call)
{
    return &call->arena;
}

/* ---- the end of a call -------------------------------------------------------------------- */

static void unlink_call(struct nm_hadoop_call *call)
{
    struct nm_server_connection *c = call->connection;

    if (!c)
        return;
    *call->prev_next = call->next;
    if (call->next)
        call->next->prev_next = call->prev_next;
    call->connection = NULL;
    assert(c->n_calls > 0);
    if (c->n_calls-- == NM_SERVER_CALLS_MAX)
        nm_wire_pause(&c->wire, false);
    c->since_usec = nm_now_usec();
}

static void free_call(struct nm_hadoop_call *call)
{
    unlink_call(call);
    nm_arena_done(&call->arena);
    nm_quota_account_unref(call->account);
    free(call);
}

void nm_server_orphan_calls(struct nm_server_connection *c)
{
    for (struct nm_hadoop_call *call = c->calls, *next; call; call = next) {
        next = call->next;
        call->connection = NULL;
    }
    c->calls = NULL;
    c->n_calls = 0;
}

static void send_error(struct nm_server_connection *c, const struct nm_protocol_id *id, const struct nm_exception *why)
{
    struct nm_packet_frame *f;
    int r = nm_protocol_error(id, why, &f);

    if (r < 0)
        nm_wire_abort(&c->wire, r);
    else
        nm_wire_send(&c->wire, f);
}

static bool can_answer(const struct nm_hadoop_call *call)
{
    return call->connection && call->connection->phase == NM_SERVER_OPEN;
}

void nm_hadoop_call_answer(struct nm_hadoop_call *call, const ProtobufCMessage *answer)
{
    struct nm_packet_frame *f;

    if (can_answer(call)) {
        int r = nm_protocol_answer(&call->id, answer, &f);

        if (r < 0)
            nm_wire_abort(&call->connection->wire, r);
        else
            nm_wire_send(&call->connection->wire, f);
    }
    free_call(call);
}

/* Refuses a call. Replaces a missing detail, and a detail that would end the connection. */
void nm_hadoop_call_refuse(struct nm_hadoop_call *call, const struct nm_exception *why)
{
    struct nm_exception e = *why;

    if (e.detail <= 0 || nm_protocol_is_fatal(&e))
        e.detail = NM_EXCEPTION_APPLICATION;
    if (can_answer(call))
        send_error(call->connection, &call->id, &e);
    free_call(call);
}

/* ---- start of a call ------------------------------------------------------------------------- */

static const struct nm_hadoop_protocol *find_protocol(const struct nm_hadoop_server *s, const Hadoop__RequestHeader *h,
                                                      struct nm_exception *why)
{
    const struct nm_hadoop_protocol *p = NULL;

    for (size_t i = 0; i < s->o.n_protocols; i++)
        if (nm_streq(s->o.protocols[i].name, h->protocol))
            p = &s->o.protocols[i];
    if (!p)
        nm_exception_set(why, NM_EXCEPTION_DETAIL_NO_PROTOCOL, NM_EXCEPTION_NO_PROTOCOL,
                         "Unknown protocol: %.200s", h->protocol);
    else if (h->version != p->version) {
        nm_exception_set(why, NM_EXCEPTION_DETAIL_VERSION, NM_EXCEPTION_VERSION,
                         "Protocol %s has version %llu here, not %llu.", p->name, (unsigned long long)p->version,
                         (unsigned long long)h->version);
        p = NULL;
    }
    return p;
}

static const struct nm_hadoop_method *find_method(const struct nm_hadoop_server *s, const Hadoop__RequestHeader *h,
                                                  struct nm_exception *why)
{
    const struct nm_hadoop_protocol *p = find_protocol(s, h, why);

    if (!p)
        return NULL;
    for (size_t i = 0; i < p->n_methods; i++)
        if (nm_streq(p->methods[i].name, h->method))
            return &p->methods[i];
    nm_exception_set(why, NM_EXCEPTION_DETAIL_NO_METHOD, NM_EXCEPTION_NO_METHOD,
                     "Unknown method %.100s called on %s protocol.", h->method, p->name);
    return NULL;
}

/* Formats the reason why a request couldn't be unpacked. */
static void explain_unreadable(const struct nm_hadoop_method *method, struct nm_bytes message, struct nm_exception *why)
{
    char path[128];

    if (nm_fields_have_nul(method->request, message, path, sizeof path))
        nm_exception_set(why, NM_EXCEPTION_RPC_SERVER, NM_EXCEPTION_SERVER,
                         "The call to %s is refused: its field %s contains NUL, and the text after NUL would be lost.",
                         method->name, path);
    else
        nm_exception_set(why, NM_EXCEPTION_RPC_SERVER, NM_EXCEPTION_SERVER,
                         "The request of the call to %s is not a valid %s, or it is too large.", method->name,
                         method->request->short_name);
}

/* Parses the packet after its header: the method and the request. Returns NULL and *why on failure. */
static const struct nm_hadoop_method *read_request(struct nm_hadoop_call *call, struct nm_bytes packet,
                                                   struct nm_exception *why)
{
    const Hadoop__RequestHeader *header = NULL;
    const struct nm_hadoop_method *method;
    struct nm_bytes message = {};

    if (nm_packet_next(&packet, &message) == 0)
        header = (const Hadoop__RequestHeader *)nm_arena_unpack(&call->arena, &hadoop__request_header__descriptor,
                                                                message);
    if (!header) {
        nm_exception_set(why, NM_EXCEPTION_RPC_SERVER, NM_EXCEPTION_SERVER,
                         "The call has no valid header with protocol and method.");
        return NULL;
    }
    method = find_method(call->connection->server, header, why);
    if (!method)
        return NULL;
    if (nm_packet_next(&packet, &message) == 0 && packet.size == 0)
        call->request = nm_arena_unpack(&call->arena, method->request, message);
    if (!call->request) {
        explain_unreadable(method, message, why);
        return NULL;
    }
    return method;
}

static int copy_caller(struct nm_hadoop_call *call)
{
    const struct nm_server_connection *c = call->connection;
    struct nm_bytes id = c->sasl ? nm_sasl_server_identifier(c->sasl) : (struct nm_bytes){};
    size_t user_size = strlen(c->user) + 1;
    uint8_t *copy = nm_arena_alloc(&call->arena, id.size + user_size);

    if (!copy)
        return -ENOMEM;
    (void)memcpy(copy, c->user, user_size);
    call->user = (const char *)copy;
    if (id.size > 0)
        (void)memcpy(copy + user_size, id.data, id.size);
    call->identifier = (struct nm_bytes){copy + user_size, id.size};
    return 0;
}

static void link_call(struct nm_server_connection *c, struct nm_hadoop_call *call)
{
    call->connection = c;
    call->next = c->calls;
    call->prev_next = &c->calls;
    if (call->next)
        call->next->prev_next = &call->next;
    c->calls = call;
    if (++c->n_calls == NM_SERVER_CALLS_MAX)
        nm_wire_pause(&c->wire, true);
    c->since_usec = nm_now_usec();
}

/* Creates a call with memory for the request, the caller, and an answer of moderate size. */
static int new_call(struct nm_server_connection *c, size_t packet_size, struct nm_hadoop_call **ret)
{
    struct nm_hadoop_call *call = calloc(1, sizeof *call);

    if (!call)
        return -ENOMEM;
    call->account = nm_quota_account_ref(c->wire.account);
    nm_arena_init(&call->arena, nm_arena_limit(packet_size) + ANSWER_ROOM, call->account);
    link_call(c, call);
    *ret = call;
    return 0;
}

int nm_server_packet(struct nm_server_connection *c, struct nm_bytes packet)
{
    const struct nm_hadoop_method *method;
    const Hadoop__RpcRequest *header;
    struct nm_hadoop_call *call;
    struct nm_exception why;
    int r = new_call(c, packet.size, &call);

    if (r < 0)
        return r;
    r = nm_server_header(&call->arena, &packet, &header, &call->id, &why);
    if (r < 0) {
        free_call(call);
        nm_greeting_refuse(c, &why);
        return 0;
    }
    if (call->id.call < 0) { /* a ping has no answer; other special messages are invalid here */
        r = call->id.call == NM_PROTOCOL_PING ? 0 : -EBADMSG;
        free_call(call);
        return r;
    }
    method = read_request(call, packet, &why);
    if (method && copy_caller(call) < 0) {
        method = NULL;
        nm_exception_set(&why, NM_EXCEPTION_RPC_SERVER, NM_EXCEPTION_RETRY,
                         "The server has no memory for this call at the moment; try again.");
    }
    if (method)
        method->handle(call, c->server->o.userdata);
    else
        nm_hadoop_call_refuse(call, &why);
    return 0;
}
