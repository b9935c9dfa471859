/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes the clients of a ResourceManager with a hostile ResourceManager. The clients are a node that registers, sends
 * heartbeats and carries out the orders in their answers, and the proxy with calls of an application master. The input
 * has the replies of the ResourceManager in SASL and to calls. The input is a protobuf message:
 *
 *   1 varint  the client: 0 a node with a token, 1 a node without one, 2 the proxy, 3 the proxy with distributed
 *             scheduling
 *   2 bytes   ... the reply to the next packet: 1 varint form: 0 a header and the message, 1 the correct message of
 *             SASL followed by the message, 2 the message is the frame's whole content; 2 bytes message; 3 bytes added
 *             after RpcResponse, which override it; 4 varint: 1 the next reply is sent together with this reply
 *
 * After the last reply, the ResourceManager closes the connection.
 */

#include "tests/unit/proxy-fixture.h"

#include <errno.h>
#include <sys/un.h>

#include "rpc-peer.h"
#include "rpc/hadoop/packet.h"
#include "tests/unit/fake-yarn-node.h"
#include "tests/unit/loopback.h"
#include "tests/unit/yarn-tokens.h"
#include "util/clock.h"
#include "yarn/cm-protocol/cm-server.h"
#include "yarn/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum input { INPUT_WHO = 1, INPUT_REPLY };
enum reply_input { REPLY_HOW = 1, REPLY_MESSAGE, REPLY_HEADER, REPLY_CONTINUE };
enum how { HOW_MESSAGE, HOW_SASL, HOW_FRAME };

#define TRACKER "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
#define WAIT_USEC (60 * NM_USEC_PER_SEC)
#define REPLIES_MAX 64u

/* ---- the ResourceManager ------------------------------------------------------------------ */

struct hostile {
    struct nm_bytes input;
    sd_event *event;
    int listen_fd;
    struct peer peer; /* fd < 0: not connected */
    bool greeted;     /* the client's preamble has arrived */
    size_t n_replies;
    struct nm_sasl_server *sasl;
};

static int look_up(void *userdata, struct nm_bytes identifier, struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    (void)userdata, (void)identifier, (void)why;
    (void)memcpy(ret->password, "secret", 6);
    ret->password_size = 6;
    return 0;
}

static void hang_up(struct hostile *h)
{
    peer_done(&h->peer);
    h->sasl = nm_sasl_server_free(h->sasl);
}

static bool has_replies(const struct hostile *h)
{
    struct nm_bytes reply;

    return h->n_replies < REPLIES_MAX && wire_get_bytes(h->input, INPUT_REPLY, h->n_replies, &reply);
}

static bool accept_one(struct hostile *h)
{
    static Gsasl *library;
    int fd;

    if (h->peer.fd >= 0 || !has_replies(h))
        return false;
    fd = accept4(h->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return false;
    must(library || gsasl_init(&library) == GSASL_OK);
    peer_init(&h->peer, h->event, fd);
    must(nm_sasl_server_new(library, look_up, NULL, &h->sasl) == 0);
    h->greeted = false;
    return true;
}

static bool take_preamble(struct hostile *h)
{
    struct wire_out *in = &h->peer.in;

    if (!h->greeted && in->size >= NM_HADOOP_FRAME_PREAMBLE_SIZE) {
        in->size -= NM_HADOOP_FRAME_PREAMBLE_SIZE;
        (void)memmove(in->data, in->data + NM_HADOOP_FRAME_PREAMBLE_SIZE, in->size);
        h->greeted = true;
    }
    return h->greeted;
}

/* Returns the answer of a correct server, which may be empty. */
static struct wire_out answer_sasl(struct hostile *h, struct nm_bytes packet, struct nm_bytes more)
{
    const Hadoop__RpcSasl *out = NULL;
    struct wire_out o = {};
    struct nm_exception why;
    struct nm_bytes message;
    Hadoop__RpcSasl *in;

    if (nm_packet_next(&packet, &message) < 0)
        return o;
    in = hadoop__rpc_sasl__unpack(NULL, message.size, message.data);
    if (in && nm_sasl_server_step(h->sasl, in, &out, &why) >= 0 && out)
        o = peer_message(&out->base, more);
    if (in)
        hadoop__rpc_sasl__free_unpacked(in, NULL);
    return o;
}

static struct wire_out response_to(const Hadoop__RpcRequest *request, struct nm_bytes more)
{
    Hadoop__RpcResponse m = HADOOP__RPC_RESPONSE__INIT;

    m.call_id = (uint32_t)request->call_id;
    m.has_ipc_version = m.has_client_id = 1;
    m.ipc_version = NM_HADOOP_FRAME_VERSION;
    m.client_id = request->client_id;
    return peer_message(&m.base, more);
}

static void put_frame(struct peer *p, struct nm_bytes content)
{
    const uint8_t head[] = {(uint8_t)(content.size >> 24), (uint8_t)(content.size >> 16), (uint8_t)(content.size >> 8),
                            (uint8_t)content.size};

    wire_put(&p->out, (struct nm_bytes){head, sizeof head});
    wire_put(&p->out, content);
}

static void reply_to(struct hostile *h, const Hadoop__RpcRequest *request, struct nm_bytes packet,
                     struct nm_bytes reply)
{
    struct wire_out header, message = {};
    uint64_t how = wire_get_varint(reply, REPLY_HOW, HOW_MESSAGE);
    struct nm_bytes given = {}, of_header = {};
    bool has_message = wire_get_bytes(reply, REPLY_MESSAGE, 0, &given);

    if (how == HOW_FRAME) {
        put_frame(&h->peer, given);
        return;
    }
    (void)wire_get_bytes(reply, REPLY_HEADER, 0, &of_header);
    header = response_to(request, of_header);
    if (how == HOW_SASL) {
        message = answer_sasl(h, packet, given);
        has_message = true;
    } else {
        wire_put(&message, given);
    }
    peer_send(&h->peer, (struct nm_bytes[]){wire_bytes(&header), wire_bytes(&message)}, 1 + has_message);
    wire_out_done(&header);
    wire_out_done(&message);
}

/* Answers a packet with the next reply, or with several replies. */
static void answer(struct hostile *h, struct nm_bytes packet)
{
    Hadoop__RpcRequest *request;
    struct nm_bytes message, reply;
    bool goes_on = true;

    must(nm_packet_next(&packet, &message) == 0);
    request = hadoop__rpc_request__unpack(NULL, message.size, message.data);
    must(request);
    if (request->call_id != NM_PROTOCOL_CONTEXT && request->call_id != NM_PROTOCOL_PING) {
        if (!has_replies(h))
            hang_up(h);
        for (; goes_on && has_replies(h); h->n_replies++) {
            (void)wire_get_bytes(h->input, INPUT_REPLY, h->n_replies, &reply);
            reply_to(h, request, packet, reply);
            goes_on = wire_get_varint(reply, REPLY_CONTINUE, 0);
        }
    }
    hadoop__rpc_request__free_unpacked(request, NULL);
}

/* Makes one turn of both sides. False: both sides are idle. */
static bool turn(struct hostile *h)
{
    _cleanup_(wire_out_done) struct wire_out frame = {};
    bool busy = accept_one(h);
    int r;

    if (h->peer.fd < 0) {
        r = sd_event_run(h->event, busy ? 0 : NM_USEC_PER_MSEC);
        must(r >= 0);
        return busy || r > 0;
    }
    busy |= peer_turn(&h->peer, NM_USEC_PER_MSEC);
    if (take_preamble(h) && peer_has_frame(&h->peer) && peer_frame(&h->peer, &frame)) {
        answer(h, wire_bytes(&frame));
        return true;
    }
    if (h->peer.ended)
        hang_up(h);
    return busy;
}

static void hostile_done(struct hostile *h)
{
    hang_up(h);
    h->listen_fd = nm_close(h->listen_fd);
}

/* ---- a node ------------------------------------------------------------------------------- */

struct node {
    sd_event *event;
    struct nm_yarn_state state;
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_cm_server *cm_server;
    struct nm_yarn_node fake;
    struct nm_hadoop_client *client;
    bool waits, closed;
};

static void on_closed(void *userdata, int error, const struct nm_exception *why)
{
    struct node *n = userdata;

    (void)error, (void)why;
    must(!n->closed && !n->waits);
    n->closed = true;
}

static void check(const struct nm_yarn_step *step)
{
    must(step->task == NM_YARN_REGISTER || step->task == NM_YARN_HEARTBEAT || step->task == NM_YARN_REST);
}

static bool is_success(struct node *n, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    must(n->waits && (error == 0) == (answer != NULL) && (error != -EREMOTEIO || why));
    n->waits = false;
    if (error == 0)
        return true;
    check(&(struct nm_yarn_step){nm_yarn_state_failed(&n->state, error, why, 1).task, 0, false});
    return false;
}

static void on_registered(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct node *n = userdata;
    struct nm_yarn_step step;

    if (!is_success(n, error, answer, why))
        return;
    step = nm_yarn_state_registered(&n->state, (const Yarn__RegisterResponse *)answer, 1);
    check(&step);
    must(n->state.memory_mib >= 0 && n->state.memory_mib <= NM_YARN_MEMORY_MIB_MAX);
    must(n->state.keys.container.current.size <= NM_YARN_KEY_MAX && n->state.vcores <= NM_YARN_VCORES_MAX);
    nm_yarn_cm_server_set_rm(n->cm_server, n->state.rm_identifier);
}

static void on_heartbeat(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct node *n = userdata;
    struct nm_yarn_step step;

    if (!is_success(n, error, answer, why))
        return;
    step = nm_yarn_state_answered(&n->state, (const Yarn__HeartbeatResponse *)answer, 1);
    check(&step);
    if (n->state.phase == NM_YARN_RUNNING && n->state.failures == 0)
        nm_yarn_apply_response(&n->fake, n->cm_server, (const Yarn__HeartbeatResponse *)answer);
}

static void ask(struct node *n)
{
    Yarn__RegisterRequest registration = YARN__REGISTER_REQUEST__INIT;
    Yarn__HeartbeatRequest beat = YARN__HEARTBEAT_REQUEST__INIT;
    int r;

    n->fake.calls[0] = '\0';
    if (n->state.phase == NM_YARN_RUNNING)
        r = nm_hadoop_client_call(n->client, "nodeHeartbeat", &beat.base, &yarn__heartbeat_response__descriptor, 0,
                                  WAIT_USEC, on_heartbeat, n);
    else
        r = nm_hadoop_client_call(n->client, "registerNodeManager", &registration.base,
                                  &yarn__register_response__descriptor, 0, WAIT_USEC, on_registered, n);
    n->waits = r == 0;
    must(r == 0 || r == -ENOTCONN);
}

static void node_begin(struct node *n)
{
    struct sockaddr_un sa;
    socklen_t size;

    *n = (struct node){};
    nm_yarn_state_init(&n->state, NM_USEC_PER_SEC);
    must(sd_event_new(&n->event) >= 0 && nm_yarn_keyring_new(&n->state.keys, &n->keyring) == 0 &&
         nm_yarn_used_new(&n->used) == 0 &&
         nm_yarn_cm_server_new(n->event, peer_listen(&sa, &size), n->keyring, n->used, &n->fake, &n->cm_server) == 0);
    nm_yarn_cm_server_set_node(n->cm_server, TOKENS_HOST, TOKENS_PORT);
}

static void node_end(struct node *n)
{
    nm_hadoop_client_free(n->client);
    nm_yarn_cm_server_free(n->cm_server);
    nm_yarn_used_free(n->used);
    nm_yarn_keyring_free(n->keyring);
    sd_event_unref(n->event);
}

/* Makes one call after the other, until the connection ends. The connection ends at the latest after the last reply, or
 * when both sides are idle. */
static void run_node(struct node *n, struct hostile *h)
{
    const uint64_t deadline = nm_now_usec() + WAIT_USEC;

    while (!n->closed) {
        must(nm_now_usec() < deadline);
        if (!n->waits)
            ask(n);
        if (!turn(h) && h->peer.fd >= 0)
            hang_up(h);
    }
    must(!n->waits);
}

static void as_node(struct nm_bytes input, bool secure)
{
    const struct nm_token token = {nm_bytes_of("first"), nm_bytes_of("secret"), nm_bytes_of(NM_TOKEN_KIND_NM),
                                   nm_bytes_of("")};
    struct hostile h = {.input = input, .peer.fd = -EBADF};
    struct nm_hadoop_client_options o;
    struct sockaddr_un sa;
    struct node n;
    socklen_t size;

    node_begin(&n);
    h.event = n.event;
    h.listen_fd = peer_listen(&sa, &size);
    o = (struct nm_hadoop_client_options){
        .address = (struct sockaddr *)&sa, .address_size = size, .protocol = TRACKER, .version = 1, .user = "nmd",
        .token = secure ? &token : NULL, .accepts_simple_auth = true, .closed = on_closed, .userdata = &n};
    must(nm_hadoop_client_new(n.event, &o, &n.client) == 0);
    if (!has_replies(&h))
        h.listen_fd = nm_close(h.listen_fd); /* no server listens on the address */
    run_node(&n, &h);
    node_end(&n);
    hostile_done(&h);
}

/* ---- the proxy ---------------------------------------------------------------------------- */

static void call_next(struct fixture *w, unsigned n)
{
    Masters__Anything m = MASTERS__ANYTHING__INIT;

    w->done = false;
    if (n == 0)
        proxy_begin_call(w, "registerApplicationMaster", &m.base, &masters__register_master_answer__descriptor);
    else if (n < 4)
        proxy_begin_allocate(w, (int32_t)n - 1, n == 1 ? 3 : -1);
    else
        proxy_begin_call(w, "finishApplicationMaster", &m.base, &masters__anything__descriptor);
}

/* Runs the proxy. The proxy would wait long for the answer to a call, so the run ends when both sides are idle. */
static void as_proxy(struct nm_bytes input, bool distributed)
{
    struct hostile h = {.input = input, .peer.fd = -EBADF};
    unsigned n = 0, still = 0;
    struct fixture w;

    proxy_set_up(&w, distributed);
    proxy_stop_rm(&w);
    h.event = w.event;
    h.listen_fd = listen_on_loopback(&w.settings.scheduler.port);
    must(proxy_try_launch(&w, 1) == 0);
    call_next(&w, n++);
    while (still < 3) {
        still = turn(&h) ? 0 : still + 1;
        if (w.done && n < 5)
            call_next(&w, n++);
    }
    proxy_tear_down(&w);
    hostile_done(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct nm_bytes input = {data, size};
    uint64_t who = wire_get_varint(input, INPUT_WHO, 0) % 4;

    if (who < 2)
        as_node(input, who == 0);
    else
        as_proxy(input, who == 3);
    return 0;
}
