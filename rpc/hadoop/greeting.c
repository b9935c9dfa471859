/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Handles the start of a connection (server-state.h, protocol.h). A server that authenticates clients by tokens
 * requires SASL. A server that doesn't authenticate clients answers NEGOTIATE with SUCCESS, as the ResourceManager of a
 * cluster without security does.
 */

#include "rpc/hadoop/server-state.h"

#include <errno.h>

#include <nettle/sha2.h>

#include "util/clock.h"

/* Answer to an HTTP client that uses the wrong port, such as a browser. */
static const char http_answer[] =
    "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    "This port is for Hadoop's RPC, not for HTTP. Pages and figures of this node are on its web port.\n";

void nm_greeting_refuse(struct nm_server_connection *c, const struct nm_exception *why)
{
    static const struct nm_protocol_id no_call = {.call = NM_PROTOCOL_NO_CALL, .retry = -1};
    struct nm_packet_frame *f;

    c->phase = NM_SERVER_ENDING;
    c->since_usec = nm_now_usec();
    if (nm_protocol_error(&no_call, why, &f) == 0)
        nm_wire_send(&c->wire, f);
    nm_wire_finish(&c->wire);
}

static void send_text(struct nm_server_connection *c, const char *text)
{
    size_t size = strlen(text);
    struct nm_packet_frame *f = malloc(sizeof *f + size);

    c->phase = NM_SERVER_ENDING;
    c->since_usec = nm_now_usec();
    if (f) {
        *f = (struct nm_packet_frame){.size = size};
        (void)memcpy(f->data, text, size);
        nm_wire_send(&c->wire, f);
    }
    nm_wire_finish(&c->wire);
}

int nm_greeting_preamble(struct nm_server_connection *c, struct nm_bytes start)
{
    struct nm_exception why;
    uint8_t auth;

    if (memcmp(start.data, "GET ", 4) == 0) {
        send_text(c, http_answer);
        return 0;
    }
    if (start.size < NM_HADOOP_FRAME_PREAMBLE_SIZE || start.data[4] != NM_HADOOP_FRAME_VERSION) {
        nm_exception_set(&why, NM_EXCEPTION_FATAL_VERSION, NM_EXCEPTION_VERSION,
                         "This server supports only version %d of Hadoop's RPC.", NM_HADOOP_FRAME_VERSION);
        nm_greeting_refuse(c, &why);
        return 0;
    }
    auth = start.data[6];
    if (auth == NM_HADOOP_FRAME_AUTH_SASL) {
        c->phase = NM_SERVER_SASL;
        return c->server->o.lookup
                   ? nm_sasl_server_new(c->server->library, c->server->o.lookup, c->server->o.userdata, &c->sasl)
                   : 0;
    }
    if (auth == NM_HADOOP_FRAME_AUTH_NONE && !c->server->o.lookup) {
        c->phase = NM_SERVER_CONTEXT;
        return 0;
    }
    nm_exception_set(&why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_ACCESS,
                     auth == NM_HADOOP_FRAME_AUTH_NONE
                         ? "SIMPLE authentication is not enabled. Available: [TOKEN]"
                         : "Unknown authentication protocol; the preamble's last byte must be 0 or 0xdf.");
    nm_greeting_refuse(c, &why);
    return 0;
}

int nm_server_header(struct nm_arena *a, struct nm_bytes *packet, const Hadoop__RpcRequest **ret,
                     struct nm_protocol_id *ret_id, struct nm_exception *why)
{
    const Hadoop__RpcRequest *h = NULL;
    struct nm_bytes message;

    if (nm_packet_next(packet, &message) == 0)
        h = (const Hadoop__RpcRequest *)nm_arena_unpack(a, &hadoop__rpc_request__descriptor, message);
    if (!h || (h->client_id.len != 0 && h->client_id.len != NM_PROTOCOL_CLIENT_ID_SIZE)) {
        nm_exception_set(why, NM_EXCEPTION_FATAL_REQUEST, NM_EXCEPTION_SERVER,
                         "The packet doesn't begin with a header of Hadoop's RPC.");
        return -EBADMSG;
    }
    if (!h->has_operation || h->operation != HADOOP__RPC_REQUEST__OPERATION__FINAL_PACKET || !h->has_kind ||
        h->kind != HADOOP__RPC_REQUEST__KIND__PROTOCOL_BUFFER) {
        nm_exception_set(why, NM_EXCEPTION_FATAL_HEADER, NM_EXCEPTION_SERVER,
                         "Only whole packets (rpcOp 0) of protobuf messages (rpcKind 2) are supported.");
        return -EBADMSG;
    }
    *ret_id = (struct nm_protocol_id){.call = h->call_id, .retry = h->retry_count, .client_size = h->client_id.len};
    if (h->has_caller_context)
        ret_id->caller_context = (struct nm_bytes){h->caller_context.data, h->caller_context.len};
    if (h->client_id.len > 0)
        (void)memcpy(ret_id->client, h->client_id.data, h->client_id.len);
    *ret = h;
    return 0;
}

/* ---- SASL --------------------------------------------------------------------------------- */

static int send_sasl(struct nm_server_connection *c, const Hadoop__RpcSasl *out)
{
    static const struct nm_protocol_id id = {.call = NM_PROTOCOL_SASL, .retry = -1};
    struct nm_packet_frame *f;
    int r = nm_protocol_answer(&id, &out->base, &f);

    if (r == 0)
        nm_wire_send(&c->wire, f);
    return r;
}

/* Marks the client as authenticated. From now on the account of its token is charged. All clients with this token share
 * the account. */
static int make_known(struct nm_server_connection *c)
{
    struct nm_bytes id = nm_sasl_server_identifier(c->sasl);
    uint8_t digest[SHA256_DIGEST_SIZE];
    struct sha256_ctx ctx;
    struct nm_quota_account *account;
    char name[64] = "token ";
    int r;

    sha256_init(&ctx);
    sha256_update(&ctx, id.size, id.data);
    sha256_digest(&ctx, sizeof digest, digest);
    for (unsigned i = 0; i < 16; i++)
        (void)snprintf(name + 6 + 2 * i, sizeof name - 6 - 2 * i, "%02x", digest[i]);
    r = nm_quota_account_of(c->server->quota, name, false, &account);
    if (r < 0)
        return r;
    if (nm_quota_account_connections(account) >= c->server->o.connections_max / 4) {
        struct nm_exception why;

        nm_quota_account_unref(account);
        nm_exception_set(&why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_RETRY,
                         "This token's bearer already has %u connections; close some.",
                         c->server->o.connections_max / 4);
        nm_greeting_refuse(c, &why);
        return 0;
    }
    nm_quota_account_leave(c->wire.account);
    r = nm_wire_belongs_to(&c->wire, account, NM_PROTOCOL_UNAUTHENTICATED_MAX);
    nm_quota_account_enter(c->wire.account);
    if (r < 0) {
        nm_quota_account_unref(account);
        return r;
    }
    c->server->n_unauthenticated--;
    c->is_unauthenticated = false;
    c->phase = NM_SERVER_CONTEXT;
    return 0;
}

static int step_sasl(struct nm_server_connection *c, const Hadoop__RpcSasl *in)
{
    Hadoop__RpcSasl simple = HADOOP__RPC_SASL__INIT;
    const Hadoop__RpcSasl *out;
    struct nm_exception why;
    int r, r2;

    if (!c->sasl) { /* the server doesn't authenticate clients */
        simple.state = HADOOP__RPC_SASL__STATE__SUCCESS;
        c->phase = NM_SERVER_CONTEXT;
        return send_sasl(c, &simple);
    }
    r = nm_sasl_server_step(c->sasl, in, &out, &why);
    if (r == -EACCES) {
        nm_greeting_refuse(c, &why);
        return 0;
    }
    if (r < 0)
        return r;
    r2 = send_sasl(c, out);
    if (r2 < 0 || r != NM_SASL_E_DONE)
        return r2;
    return make_known(c);
}

/* ---- the context -------------------------------------------------------------------------- */

/* Returns whether the client may use this user name. A client with a token must use the token's user. */
static bool may_call_itself(const struct nm_server_connection *c, const char *user)
{
    return !c->sasl || !user || !*user || nm_streq(user, nm_sasl_server_user(c->sasl));
}

static int take_context(struct nm_server_connection *c, const Hadoop__ConnectionContext *context)
{
    const char *user = context->user ? context->user->effective : NULL;
    struct nm_exception why;

    if (!may_call_itself(c, user)) {
        nm_exception_set(&why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_ACCESS,
                         "The token belongs to %s and can't be used as %s.", nm_sasl_server_user(c->sasl), user);
        nm_greeting_refuse(c, &why);
        return 0;
    }
    c->user = strdup(c->sasl ? nm_sasl_server_user(c->sasl) : user ?: "");
    if (!c->user)
        return -ENOMEM;
    if (c->is_unauthenticated) { /* without SASL only the context identifies the client */
        c->server->n_unauthenticated--;
        c->is_unauthenticated = false;
    }
    c->wire.in.max = c->server->o.frame_max;
    c->phase = NM_SERVER_OPEN;
    c->since_usec = nm_now_usec();
    return 0;
}

/* Parses the second message of a packet. The packet must contain no further message. */
static const ProtobufCMessage *only_message(struct nm_arena *a, struct nm_bytes *packet,
                                            const ProtobufCMessageDescriptor *type)
{
    struct nm_bytes message;

    if (nm_packet_next(packet, &message) < 0 || packet->size > 0)
        return NULL;
    return nm_arena_unpack(a, type, message);
}

int nm_greeting_packet(struct nm_server_connection *c, struct nm_bytes packet)
{
    bool sasl = c->phase == NM_SERVER_SASL;
    int32_t wanted = sasl ? NM_PROTOCOL_SASL : NM_PROTOCOL_CONTEXT;
    const ProtobufCMessage *m = NULL;
    const Hadoop__RpcRequest *header;
    struct nm_protocol_id id;
    struct nm_exception why;
    struct nm_arena a;
    int r;

    nm_arena_init(&a, nm_arena_limit(packet.size), c->wire.account);
    r = nm_server_header(&a, &packet, &header, &id, &why);
    if (r == 0 && id.call == wanted)
        m = only_message(&a, &packet, sasl ? &hadoop__rpc_sasl__descriptor : &hadoop__connection_context__descriptor);
    if (r == 0 && !m)
        nm_exception_set(&why, NM_EXCEPTION_FATAL_REQUEST, NM_EXCEPTION_SERVER, "%s was expected here (call id %d).",
                         sasl ? "A SASL message" : "The connection's context", (int)wanted);
    if (!m) {
        nm_arena_done(&a);
        nm_greeting_refuse(c, &why);
        return 0;
    }
    r = sasl ? step_sasl(c, (const Hadoop__RpcSasl *)m) : take_context(c, (const Hadoop__ConnectionContext *)m);
    nm_arena_done(&a);
    return r;
}
