/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes whole sessions of clients that have a token, at both ports. One port is that of ContainerManagementProtocol,
 * with a signed NMToken and signed container tokens. The other port is that of the proxy, which serves
 * ApplicationMasterProtocol and calls a ResourceManager. The preamble, SASL with the valid key, and the connection
 * context are correct unless the input changes them, so that each method is reached. An input is a protobuf message:
 *
 *   1 varint  port: 0 containers, 1 masters, 2 masters with distributed scheduling
 *   2 bytes   an identifier for the NMToken, which replaces the valid identifier and is signed, too
 *   3 bytes   the preamble
 *   4 bytes   ... fields that are added to the messages of SASL, and that override their fields
 *   5 bytes   fields added after the connection context
 *   6 bytes   ... a call: 1 varint method, 2 bytes message, 3 bytes after RpcRequest, 4 bytes after RequestHeader,
 *             5 varint: 1 wait for the answer, 6 bytes the content of a frame that replaces the call
 *   7 varint  properties of the node and of the ResourceManager, as bits: enum PROPERTY_... below
 *
 * Container tokens without a password are signed.
 */

#include "tests/unit/proxy-fixture.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include "rpc-peer.h"
#include "rpc/hadoop/digest.h"
#include "rpc/hadoop/packet.h"
#include "rpc/hadoop/sasl.h"
#include "tests/unit/fake-yarn-node.h"
#include "tests/unit/yarn-tokens.h"
#include "util/clock.h"
#include "yarn/cm-protocol/cm-server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum input {
    INPUT_PORT = 1, INPUT_IDENTIFIER, INPUT_PREAMBLE, INPUT_SASL, INPUT_CONTEXT, INPUT_CALL, INPUT_PROPERTIES,
};
enum call_input { CALL_METHOD = 1, CALL_MESSAGE, CALL_REQUEST, CALL_HEADER, CALL_WAIT, CALL_FRAME };
enum { PROPERTY_REFUSES = 1, PROPERTY_FAILS = 2, PROPERTY_MASTERS = 4, PROPERTY_UNREGISTERED = 8, PROPERTY_ROLLS = 16,
       PROPERTY_GIVES_TOKEN = 32, PROPERTY_REFUSES_MASTERS = 64 };

#define CONTAINERS "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
#define MASTERS "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
#define FOREVER_MSEC INT64_C(9999999999999)
#define CALLS_MAX 64u

static const char *const container_methods[] = {
    "startContainers", "stopContainers", "getContainerStatuses", "updateContainer", "increaseContainersResource",
    "signalToContainer", "localize", "getLocalizationStatuses", "reInitializeContainer", "restartContainer",
    "rollbackLastReInitialization", "commitLastReInitialization", "noSuchMethod"};
static const char *const master_methods[] = {
    "registerApplicationMaster", "allocate", "finishApplicationMaster", "noSuchMethod"};

struct session {
    struct nm_bytes input;
    struct peer peer;
    const struct nm_token *token;
    const char *protocol;
    const char *const *methods;
    size_t n_methods;
    bool clean;  /* the input doesn't change the preamble, SASL or the connection context */
    bool fatal;  /* the server has reported a fatal error */
    unsigned n_calls, n_answers;
    bool answered[CALLS_MAX];
};

static struct nm_bytes get_bytes(struct nm_bytes message, uint32_t number, size_t n)
{
    struct nm_bytes bytes = {};

    (void)wire_get_bytes(message, number, n, &bytes);
    return bytes;
}

/* ---- the beginning of a session ----------------------------------------------------------- */

static struct wire_out rpc_request(int32_t call_id, struct nm_bytes more)
{
    static uint8_t client[NM_PROTOCOL_CLIENT_ID_SIZE] = "a fuzzing client";
    Hadoop__RpcRequest m = HADOOP__RPC_REQUEST__INIT;

    m.has_kind = m.has_operation = m.has_retry_count = 1;
    m.kind = HADOOP__RPC_REQUEST__KIND__PROTOCOL_BUFFER;
    m.call_id = call_id;
    m.client_id = (ProtobufCBinaryData){sizeof client, client};
    return peer_message(&m.base, more);
}

static void send_after_header(struct session *s, int32_t call_id, struct nm_bytes message)
{
    _cleanup_(wire_out_done) struct wire_out header = rpc_request(call_id, (struct nm_bytes){});

    peer_send(&s->peer, (struct nm_bytes[]){wire_bytes(&header), message}, 2);
}

static void send_preamble(struct session *s)
{
    static const uint8_t right[NM_HADOOP_FRAME_PREAMBLE_SIZE] = {'h', 'r', 'p', 'c', NM_HADOOP_FRAME_VERSION, 0,
                                                                 NM_HADOOP_FRAME_AUTH_SASL};
    struct nm_bytes bytes = {right, sizeof right};

    if (wire_get_bytes(s->input, INPUT_PREAMBLE, 0, &bytes))
        s->clean = false;
    wire_put(&s->peer.out, bytes);
}

/* Parses a packet as a server's answer. *ret_rest: the data after the header. */
static Hadoop__RpcResponse *take_response(const struct wire_out *frame, struct nm_bytes *ret_rest)
{
    struct nm_bytes message;

    *ret_rest = wire_bytes(frame);
    must(nm_packet_next(ret_rest, &message) == 0);
    return hadoop__rpc_response__unpack(NULL, message.size, message.data);
}

/* Returns the server's next message of SASL. NULL: the server has refused the client or has closed the connection. */
static Hadoop__RpcSasl *read_sasl(struct session *s)
{
    _cleanup_(wire_out_done) struct wire_out frame = {};
    Hadoop__RpcSasl *sasl = NULL;
    struct nm_bytes rest, message;
    Hadoop__RpcResponse *h;

    if (!peer_frame(&s->peer, &frame))
        return NULL;
    h = take_response(&frame, &rest);
    must(h);
    if (h->status == HADOOP__RPC_RESPONSE__STATUS__SUCCESS) {
        must(nm_packet_next(&rest, &message) == 0);
        sasl = hadoop__rpc_sasl__unpack(NULL, message.size, message.data);
        must(sasl);
    }
    hadoop__rpc_response__free_unpacked(h, NULL);
    return sasl;
}

static void send_sasl(struct session *s, size_t n, const Hadoop__RpcSasl *m)
{
    struct nm_bytes more = {};
    struct wire_out message;

    if (wire_get_bytes(s->input, INPUT_SASL, n, &more))
        s->clean = false;
    message = peer_message(&m->base, more);
    send_after_header(s, NM_PROTOCOL_SASL, wire_bytes(&message));
    wire_out_done(&message);
}

static bool run_sasl(struct session *s, struct nm_sasl_client *client)
{
    const Hadoop__RpcSasl *out = nm_sasl_client_begin(client);
    struct nm_exception why;
    int r = 0;

    for (size_t n = 0; r == 0; n++) {
        Hadoop__RpcSasl *in;

        if (out)
            send_sasl(s, n, out);
        in = read_sasl(s);
        if (!in)
            return false;
        r = nm_sasl_client_step(client, in, &out, &why);
        hadoop__rpc_sasl__free_unpacked(in, NULL);
    }
    return r == NM_SASL_E_DONE;
}

static bool authenticate(struct session *s)
{
    static Gsasl *library;
    struct nm_sasl_client *client;
    bool in;

    must(library || gsasl_init(&library) == GSASL_OK);
    must(nm_sasl_client_new(library, s->token, false, &client) == 0);
    send_preamble(s);
    in = run_sasl(s, client);
    nm_sasl_client_free(client);
    return in;
}

static void send_context(struct session *s)
{
    Hadoop__ConnectionContext m = HADOOP__CONNECTION_CONTEXT__INIT;
    struct nm_bytes more = {};
    struct wire_out message;

    m.protocol = (char *)(uintptr_t)s->protocol;
    if (wire_get_bytes(s->input, INPUT_CONTEXT, 0, &more))
        s->clean = false;
    message = peer_message(&m.base, more);
    send_after_header(s, NM_PROTOCOL_CONTEXT, wire_bytes(&message));
    wire_out_done(&message);
}

/* ---- calls -------------------------------------------------------------------------------- */

/* Sets the correct password of a token without a password. */
static void sign(Hadoop__Token *t, uint8_t password[NM_DIGEST_SIZE])
{
    const struct nm_yarn_master_key key = tokens_key(TOKENS_CONTAINER_KEY, 10);

    must(nm_digest_hmac(key.bytes, key.size, t->identifier.data ?: password, t->identifier.len, password) == 0);
    free(t->password.data);
    t->password = (ProtobufCBinaryData){NM_DIGEST_SIZE, malloc(NM_DIGEST_SIZE)};
    must(t->password.data);
    (void)memcpy(t->password.data, password, NM_DIGEST_SIZE);
}

static bool sign_if_bare(Hadoop__Token *t)
{
    uint8_t password[NM_DIGEST_SIZE] = {};

    if (!t || t->password.len > 0)
        return false;
    sign(t, password);
    return true;
}

static bool sign_all(ProtobufCMessage *m)
{
    bool changed = false;

    if (m->descriptor == &yarn__start_request__descriptor) {
        const Yarn__StartRequest *request = (const Yarn__StartRequest *)m;

        for (size_t i = 0; i < request->n_starts; i++)
            changed |= sign_if_bare(request->starts[i]->token);
    } else {
        const Yarn__UpdateRequest *request = (const Yarn__UpdateRequest *)m;

        for (size_t i = 0; i < request->n_tokens; i++)
            changed |= sign_if_bare(request->tokens[i]);
    }
    return changed;
}

static const ProtobufCMessageDescriptor *type_with_tokens(const char *method)
{
    if (nm_streq(method, "startContainers"))
        return &yarn__start_request__descriptor;
    if (nm_streq(method, "updateContainer") || nm_streq(method, "increaseContainersResource"))
        return &yarn__update_request__descriptor;
    return NULL;
}

/* Returns the message byte for byte as in the input, unless tokens in the message must be signed. */
static struct wire_out call_message(const char *method, struct nm_bytes bytes)
{
    const ProtobufCMessageDescriptor *type = type_with_tokens(method);
    ProtobufCMessage *m = type ? protobuf_c_message_unpack(type, NULL, bytes.size, bytes.data) : NULL;
    struct wire_out o = {};

    if (m && sign_all(m))
        o = peer_message(m, (struct nm_bytes){});
    else
        wire_put(&o, bytes);
    if (m)
        protobuf_c_message_free_unpacked(m, NULL);
    return o;
}

static void send_call(struct session *s, struct nm_bytes call)
{
    const char *method = s->methods[wire_get_varint(call, CALL_METHOD, 0) % s->n_methods];
    Hadoop__RequestHeader m = HADOOP__REQUEST_HEADER__INIT;
    struct nm_bytes of_request = get_bytes(call, CALL_REQUEST, 0), of_header = get_bytes(call, CALL_HEADER, 0), frame;
    struct wire_out request, header, message;

    if (wire_get_bytes(call, CALL_FRAME, 0, &frame)) {
        const uint8_t head[] = {(uint8_t)(frame.size >> 24), (uint8_t)(frame.size >> 16), (uint8_t)(frame.size >> 8),
                                (uint8_t)frame.size};

        s->clean = false;
        wire_put(&s->peer.out, (struct nm_bytes){head, sizeof head});
        wire_put(&s->peer.out, frame);
        return;
    }
    s->clean = s->clean && of_request.size == 0 && of_header.size == 0;
    m.method = (char *)(uintptr_t)method;
    m.protocol = (char *)(uintptr_t)s->protocol;
    m.version = 1;
    request = rpc_request((int32_t)s->n_calls++, of_request);
    header = peer_message(&m.base, of_header);
    message = call_message(method, get_bytes(call, CALL_MESSAGE, 0));
    peer_send(&s->peer, (struct nm_bytes[]){wire_bytes(&request), wire_bytes(&header), wire_bytes(&message)}, 3);
    wire_out_done(&request);
    wire_out_done(&header);
    wire_out_done(&message);
}

/* Reads an answer. Each call must be answered once, unless the connection ends. */
static void read_answer(struct session *s)
{
    _cleanup_(wire_out_done) struct wire_out frame = {};
    struct nm_bytes rest;
    Hadoop__RpcResponse *h;

    if (!peer_frame(&s->peer, &frame))
        return;
    h = take_response(&frame, &rest);
    must(h);
    if (h->status == HADOOP__RPC_RESPONSE__STATUS__FATAL) {
        s->fatal = true;
    } else if (s->clean) {
        must(h->call_id < s->n_calls && !s->answered[h->call_id]);
        s->answered[h->call_id] = true;
    }
    s->n_answers++;
    hadoop__rpc_response__free_unpacked(h, NULL);
}

static void read_answers(struct session *s)
{
    while (s->clean && !s->fatal && !s->peer.ended && s->n_answers < s->n_calls)
        read_answer(s);
    /* If the input changes more than the calls, the number of answers is not known. */
    while (!s->clean && peer_turn(&s->peer, NM_USEC_PER_MSEC))
        while (peer_has_frame(&s->peer))
            read_answer(s);
}

static void run_calls(struct session *s)
{
    struct nm_bytes call;

    for (size_t i = 0; i < CALLS_MAX && wire_get_bytes(s->input, INPUT_CALL, i, &call); i++) {
        send_call(s, call);
        if (wire_get_varint(call, CALL_WAIT, 0))
            read_answers(s);
    }
    read_answers(s);
    must(!s->clean || s->fatal || s->n_answers == s->n_calls);
}

/* Runs a session. Calls without an answer are dropped with the connection. */
static void run_session(struct session *s, sd_event *event, int fd)
{
    peer_init(&s->peer, event, fd);
    if (authenticate(s)) {
        send_context(s);
        run_calls(s);
    } else {
        must(!s->clean);
    }
    (void)shutdown(fd, SHUT_WR);
    while (peer_turn(&s->peer, 0))
        ;
    peer_done(&s->peer);
    while (sd_event_run(event, 0) > 0)
        ;
}

/* ---- the node's port ---------------------------------------------------------------------- */

static int begin_master(void *userdata, const Hadoop__ContainerTokenIdentifier *token,
                        const Yarn__LaunchContext *context, struct nm_arena *a, const Yarn__LaunchContext **ret,
                        struct nm_exception *why)
{
    (void)userdata, (void)a, (void)why;
    must(token && token->submitter);
    *ret = context;
    return 0;
}

static void abandon_master(void *userdata, const Hadoop__ContainerTokenIdentifier *token)
{
    (void)userdata;
    must(token);
}

static int connect_here(struct sockaddr_un *sa, socklen_t size)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    must(fd >= 0 && connect(fd, (struct sockaddr *)sa, size) == 0);
    return fd;
}

/* Makes an NMToken with the input's identifier, or with that of attempt 1 of application 1, and with the matching
 * password. */
static struct nm_token *make_nm_token(struct session *s, const struct nm_yarn_master_key *key)
{
    struct nm_token token = {.kind = nm_bytes_of(NM_TOKEN_KIND_NM), .service = nm_bytes_of("")}, *ret;
    uint8_t password[NM_DIGEST_SIZE];
    struct tokens_id t;

    tokens_make(&t, 1, 1, 1, FOREVER_MSEC);
    if (!wire_get_bytes(s->input, INPUT_IDENTIFIER, 0, &token.identifier)) {
        tokens_sign_nm(&t, key);
        return t.signed_nm;
    }
    s->clean = false;
    must(nm_digest_hmac(key->bytes, key->size, token.identifier.data, token.identifier.size, password) == 0);
    token.password = (struct nm_bytes){password, sizeof password};
    must(nm_token_copy(&token, &ret) == 0);
    return ret;
}

static void at_containers(struct session *s, uint64_t how)
{
    const struct nm_yarn_master_hooks masters = {begin_master, abandon_master, NULL};
    struct nm_yarn_node node = {
        .result = how & PROPERTY_REFUSES ? NM_YARN_REFUSED : how & PROPERTY_FAILS ? -ENOSPC : 0,
    };
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_cm_server *cm_server;
    struct nm_yarn_cluster_keys keys;
    struct nm_yarn_used *used;
    struct nm_token *token;
    struct sockaddr_un sa;
    sd_event *event;
    socklen_t size;

    nm_exception_set(&node.why, 0, NM_EXCEPTION_YARN, "not now");
    tokens_cluster(&keys);
    must(sd_event_new(&event) >= 0 && nm_yarn_keyring_new(&keys, &keyring) == 0 && nm_yarn_used_new(&used) == 0);
    must(nm_yarn_cm_server_new(event, peer_listen(&sa, &size), keyring, used, &node, &cm_server) == 0);
    nm_yarn_cm_server_set_node(cm_server, TOKENS_HOST, TOKENS_PORT);
    nm_yarn_cm_server_set_rm(cm_server, how & PROPERTY_UNREGISTERED ? 0 : TOKENS_RM);
    if (how & PROPERTY_MASTERS)
        nm_yarn_cm_server_set_master_hooks(cm_server, &masters);
    s->token = token = make_nm_token(s, &keys.nm.current);
    s->protocol = CONTAINERS;
    s->methods = container_methods;
    s->n_methods = NM_ARRAY_SIZE(container_methods);
    run_session(s, event, connect_here(&sa, size));
    nm_yarn_cm_server_free(cm_server);
    nm_yarn_used_free(used);
    nm_yarn_keyring_free(keyring);
    nm_token_free(token);
    sd_event_unref(event);
}

/* ---- the proxy's port --------------------------------------------------------------------- */

static int connect_to_proxy(const struct fixture *w)
{
    const struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port = htons(w->settings.proxy_address.port)};
    const struct linger at_once = {.l_onoff = 1};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    /* Without SO_LINGER, thousands of connections in TIME_WAIT would use up the ports. */
    must(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0 &&
         connect(fd, (const struct sockaddr *)&sa, sizeof sa) == 0);
    return fd;
}

static void at_masters(struct session *s, bool distributed, uint64_t how)
{
    struct fixture w;

    proxy_set_up(&w, distributed);
    w.rolls = how & PROPERTY_ROLLS;
    w.gives_token = how & PROPERTY_GIVES_TOKEN;
    w.refuses = how & PROPERTY_REFUSES_MASTERS ? NOT_REGISTERED : NULL;
    must(proxy_try_launch(&w, 1) == 0);
    s->token = w.ours;
    s->protocol = MASTERS;
    s->methods = master_methods;
    s->n_methods = NM_ARRAY_SIZE(master_methods);
    run_session(s, w.event, connect_to_proxy(&w));
    proxy_tear_down(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct session s = {.input = {data, size}, .clean = true};
    uint64_t port = wire_get_varint(s.input, INPUT_PORT, 0), how = wire_get_varint(s.input, INPUT_PROPERTIES, 0);

    if (port % 3 == 0)
        at_containers(&s, how);
    else
        at_masters(&s, port % 3 == 2, how);
    return 0;
}
