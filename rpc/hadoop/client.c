/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See client.h. Callbacks of the client's owner run inside callbacks of the wire, and may free the client. In this case
 * the client is only marked as freed, and its wire is aborted. The memory is released when the wire has ended.
 */

#include "rpc/hadoop/client.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "rpc/hadoop/sasl.h"
#include "rpc/hadoop/wire.h"
#include "util/clock.h"

enum phase { CONNECTING, SASL, OPEN, CLOSED };

struct call {
    struct call *next;
    int32_t id;
    uint64_t due_usec;
    const ProtobufCMessageDescriptor *answer;
    struct nm_packet_frame *frame; /* the call's frame, kept until the server has accepted the client */
    nm_hadoop_reply reply;
    void *userdata;
};

struct nm_hadoop_client {
    struct nm_wire wire; /* first member; the wire is valid from the established connection to the connection's end */
    struct nm_hadoop_client_options o;
    char *protocol, *user;
    struct nm_token *token;
    struct nm_protocol_id id; /* the member `call` is the id of the next call */
    sd_event *event;
    sd_event_source *connecting, *timer;
    int fd; /* socket, used while connecting */
    int early_error;
    enum phase phase;
    Gsasl *library;
    struct nm_sasl_client *sasl;
    struct call *calls, **calls_end; /* calls in progress, oldest first */
    uint64_t connect_due_usec, spoke_usec;
    uint64_t armed_usec; /* when the timer fires; UINT64_MAX: the timer is off */
    struct nm_exception why; /* the server's reason if it refused the client; may be empty */
    bool refused;
    unsigned depth; /* number of owner's callbacks that are running */
    bool freed;
};

static struct nm_hadoop_client *of_wire(struct nm_wire *w)
{
    return (struct nm_hadoop_client *)w;
}

/* ---- time --------------------------------------------------------------------------------- */

static uint64_t next_due(const struct nm_hadoop_client *c)
{
    uint64_t due = UINT64_MAX;

    if (c->early_error < 0)
        return 0;
    if (c->phase < OPEN)
        due = c->connect_due_usec;
    else if (c->phase == OPEN && c->calls)
        due = nm_add_u64(c->spoke_usec, c->o.ping_usec);
    for (const struct call *call = c->calls; call; call = call->next)
        due = NM_MIN(due, call->due_usec);
    return due;
}

/* Arms the timer, unless it fires earlier anyway: on_timer() then arms it again. So a client with a short call per
 * second doesn't change its timer with each call and each answer. */
static void rearm(struct nm_hadoop_client *c)
{
    uint64_t due = c->phase == CLOSED ? UINT64_MAX : next_due(c);

    if (due >= c->armed_usec)
        return;
    c->armed_usec = due;
    (void)sd_event_source_set_time(c->timer, due);
    (void)sd_event_source_set_enabled(c->timer, SD_EVENT_ONESHOT);
}

/* ---- the end ------------------------------------------------------------------------------ */

static void free_call(struct call *call)
{
    free(call->frame);
    free(call);
}

static struct call *take_call(struct nm_hadoop_client *c, struct call **p)
{
    struct call *call = *p;

    *p = call->next;
    if (!*p)
        c->calls_end = p;
    return call;
}

static void finish_call(struct nm_hadoop_client *c, struct call *call, int error, const ProtobufCMessage *answer,
                        const struct nm_exception *why)
{
    if (!c->freed)
        call->reply(call->userdata, error, answer, why);
    free_call(call);
}

static void release_client(struct nm_hadoop_client *c)
{
    while (c->calls)
        free_call(take_call(c, &c->calls));
    sd_event_source_disable_unref(c->connecting);
    sd_event_source_disable_unref(c->timer);
    (void)nm_close(c->fd);
    nm_wire_done(&c->wire);
    nm_sasl_client_free(c->sasl);
    if (c->library)
        gsasl_done(c->library);
    nm_token_free(c->token);
    free(c->protocol);
    free(c->user);
    sd_event_unref(c->event);
    free(c);
}

static void leave_callback(struct nm_hadoop_client *c)
{
    assert(c->depth > 0);
    if (--c->depth == 0 && c->freed)
        release_client(c);
}

/* Closes the connection. Must not be called inside the wire's callbacks, except ended(). */
static void close_connection(struct nm_hadoop_client *c, int error, const struct nm_exception *why)
{
    if (c->phase == CLOSED)
        return;
    c->phase = CLOSED;
    c->early_error = 0;
    c->connecting = sd_event_source_disable_unref(c->connecting);
    c->fd = nm_close(c->fd);
    nm_wire_done(&c->wire);
    (void)sd_event_source_set_enabled(c->timer, SD_EVENT_OFF);
    c->armed_usec = UINT64_MAX;
    if (error == 0 && c->calls)
        error = -ECONNRESET;
    c->depth++;
    while (c->calls)
        finish_call(c, take_call(c, &c->calls), error, NULL, why);
    if (!c->freed && c->o.closed)
        c->o.closed(c->o.userdata, error, why);
    leave_callback(c);
}

static void on_ended(struct nm_wire *w, int error)
{
    struct nm_hadoop_client *c = of_wire(w);

    if (c->freed)
        release_client(c);
    else
        close_connection(c, error, c->refused ? &c->why : NULL);
}

struct nm_hadoop_client *nm_hadoop_client_free(struct nm_hadoop_client *c)
{
    if (!c)
        return NULL;
    c->freed = true;
    if (c->depth == 0)
        release_client(c);
    else if (c->wire.ops)
        nm_wire_abort(&c->wire, -ECANCELED);
    return NULL;
}

/* ---- calls -------------------------------------------------------------------------------- */

static void send_frame(struct nm_hadoop_client *c, struct nm_packet_frame *f)
{
    c->spoke_usec = nm_now_usec();
    nm_wire_send(&c->wire, f);
}

bool nm_hadoop_client_is_open(const struct nm_hadoop_client *c)
{
    return c->phase == OPEN;
}

static int build_call(struct nm_hadoop_client *c, struct nm_bytes context, const char *method,
                      const ProtobufCMessage *request, int retry, struct nm_packet_frame **ret)
{
    Hadoop__RequestHeader header = HADOOP__REQUEST_HEADER__INIT;
    int r;

    header.method = (char *)method;
    header.protocol = c->protocol;
    header.version = c->o.version;
    c->id.retry = retry;
    c->id.caller_context = context;
    r = nm_protocol_request(&c->id, &header.base, request, ret);
    c->id.caller_context = (struct nm_bytes){}; /* the context's memory belongs to the caller */
    return r;
}

int nm_hadoop_client_call_for(struct nm_hadoop_client *c, struct nm_bytes context, const char *method,
                              const ProtobufCMessage *request, const ProtobufCMessageDescriptor *answer, int retry,
                              uint64_t timeout_usec, nm_hadoop_reply reply, void *userdata)
{
    struct call *call;
    int r;

    if (c->phase == CLOSED || c->early_error < 0)
        return -ENOTCONN;
    call = calloc(1, sizeof *call);
    if (!call)
        return -ENOMEM;
    r = build_call(c, context, method, request, retry, &call->frame);
    if (r < 0) {
        free(call);
        return r;
    }
    call->id = c->id.call;
    call->due_usec = nm_add_u64(nm_now_usec(), timeout_usec);
    call->answer = answer;
    call->reply = reply;
    call->userdata = userdata;
    c->id.call = (c->id.call + 1) & INT32_MAX;
    *c->calls_end = call;
    c->calls_end = &call->next;
    if (c->phase == OPEN)
        send_frame(c, STEAL_PTR(call->frame));
    rearm(c);
    return 0;
}

int nm_hadoop_client_call(struct nm_hadoop_client *c, const char *method, const ProtobufCMessage *request,
                          const ProtobufCMessageDescriptor *answer, int retry, uint64_t timeout_usec,
                          nm_hadoop_reply reply, void *userdata)
{
    return nm_hadoop_client_call_for(c, (struct nm_bytes){}, method, request, answer, retry, timeout_usec, reply,
                                     userdata);
}

static struct call **find_call(struct nm_hadoop_client *c, int32_t id)
{
    struct call **p = &c->calls;

    while (*p && (*p)->id != id)
        p = &(*p)->next;
    return *p ? p : NULL;
}

/* ---- answers ------------------------------------------------------------------------------ */

static int fail(struct nm_hadoop_client *c, const struct nm_exception *why, int error)
{
    c->why = *why;
    c->refused = true;
    return error;
}

/* Sends the context and the calls that were made before the server accepted the client. */
static int send_context(struct nm_hadoop_client *c)
{
    struct nm_protocol_id id = {.call = NM_PROTOCOL_CONTEXT, .retry = -1};
    Hadoop__ConnectionContext__User user = HADOOP__CONNECTION_CONTEXT__USER__INIT;
    Hadoop__ConnectionContext context = HADOOP__CONNECTION_CONTEXT__INIT;
    struct nm_packet_frame *f;
    int r;

    user.effective = c->user;
    context.user = c->user ? &user : NULL;
    context.protocol = c->protocol;
    r = nm_protocol_request(&id, NULL, &context.base, &f);
    if (r < 0)
        return r;
    c->phase = OPEN;
    send_frame(c, f);
    for (struct call *call = c->calls; call; call = call->next)
        if (call->frame)
            send_frame(c, STEAL_PTR(call->frame));
    rearm(c);
    return 0;
}

static int send_sasl(struct nm_hadoop_client *c, const Hadoop__RpcSasl *out)
{
    struct nm_protocol_id id = {.call = NM_PROTOCOL_SASL, .retry = -1};
    struct nm_packet_frame *f;
    int r = nm_protocol_request(&id, NULL, &out->base, &f);

    if (r == 0)
        send_frame(c, f);
    return r;
}

static int step_sasl(struct nm_hadoop_client *c, const Hadoop__RpcSasl *in)
{
    const Hadoop__RpcSasl *out = NULL;
    struct nm_exception why;
    int r = nm_sasl_client_step(c->sasl, in, &out, &why), r2 = 0;

    if (r < 0)
        return r == -EACCES ? fail(c, &why, r) : r;
    if (out)
        r2 = send_sasl(c, out);
    return r2 < 0 || r == 0 ? r2 : send_context(c);
}

static int take_answer(struct nm_hadoop_client *c, struct call **p, struct nm_arena *a, struct nm_bytes packet)
{
    const ProtobufCMessage *answer = NULL;
    struct nm_bytes message;

    if (nm_packet_next(&packet, &message) == 0 && packet.size == 0)
        answer = nm_arena_unpack(a, (*p)->answer, message);
    if (!answer)
        return -EBADMSG;
    finish_call(c, take_call(c, p), 0, answer, NULL);
    rearm(c);
    return 0;
}

/* Returns an exception's text. The text may contain any byte, because it may quote any input. A NUL in it must neither
 * truncate the text nor end the connection. */
static const char *text_of(struct nm_arena *a, const ProtobufCBinaryData *message)
{
    char *text = nm_arena_text(a, (struct nm_bytes){message->data, message->len});

    for (size_t i = 0; text && i < message->len; i++)
        if (!text[i])
            text[i] = ' ';
    return text;
}

static int take_refusal(struct nm_hadoop_client *c, struct call **p, struct nm_arena *a, const Hadoop__RpcResponse *h)
{
    struct nm_exception why;

    nm_exception_receive(&why, h->has_error_detail ? h->error_detail : 0, h->exception_class,
                         text_of(a, &h->error_message));
    if (h->status == HADOOP__RPC_RESPONSE__STATUS__FATAL || c->phase != OPEN)
        return fail(c, &why, h->status == HADOOP__RPC_RESPONSE__STATUS__FATAL &&
                                     why.detail != NM_EXCEPTION_FATAL_UNAUTHORIZED && c->phase == OPEN
                                 ? -EREMOTEIO
                                 : -EACCES);
    if (p) {
        finish_call(c, take_call(c, p), -EREMOTEIO, NULL, &why);
        rearm(c);
    }
    return 0;
}

static bool is_ours(const struct nm_hadoop_client *c, const Hadoop__RpcResponse *h)
{
    return h->client_id.len == 0 || (h->client_id.len == c->id.client_size &&
                                     memcmp(h->client_id.data, c->id.client, c->id.client_size) == 0);
}

static int take_packet(struct nm_hadoop_client *c, struct nm_arena *a, struct nm_bytes packet)
{
    const Hadoop__RpcResponse *h = NULL;
    const Hadoop__RpcSasl *sasl = NULL;
    struct nm_bytes message;
    struct call **p;

    if (nm_packet_next(&packet, &message) == 0)
        h = (const Hadoop__RpcResponse *)nm_arena_unpack(a, &hadoop__rpc_response__descriptor, message);
    if (!h)
        return -EBADMSG;
    p = find_call(c, (int32_t)h->call_id);
    if (h->status != HADOOP__RPC_RESPONSE__STATUS__SUCCESS)
        return take_refusal(c, p, a, h);
    if (c->phase == SASL) {
        if ((int32_t)h->call_id == NM_PROTOCOL_SASL && nm_packet_next(&packet, &message) == 0 && packet.size == 0)
            sasl = (const Hadoop__RpcSasl *)nm_arena_unpack(a, &hadoop__rpc_sasl__descriptor, message);
        return sasl ? step_sasl(c, sasl) : -EBADMSG;
    }
    if (!is_ours(c, h))
        return -EBADMSG;
    return p ? take_answer(c, p, a, packet) : 0; /* no call with this id: the call has timed out */
}

static int on_frame(struct nm_wire *w, struct nm_bytes packet)
{
    struct nm_hadoop_client *c = of_wire(w);
    struct nm_arena a;
    int r;

    nm_arena_init(&a, nm_arena_limit(packet.size), NULL);
    c->depth++;
    r = take_packet(c, &a, packet);
    c->depth--; /* if the owner has freed the client, the wire was aborted, and on_ended() releases the memory */
    nm_arena_done(&a);
    return r;
}

static const struct nm_wire_ops wire_ops = {.frame = on_frame, .ended = on_ended};

/* ---- the beginning ------------------------------------------------------------------------ */

static int send_preamble(struct nm_hadoop_client *c)
{
    const uint8_t preamble[] = {
        'h', 'r', 'p', 'c', NM_HADOOP_FRAME_VERSION, 0,
        c->token ? NM_HADOOP_FRAME_AUTH_SASL : NM_HADOOP_FRAME_AUTH_NONE};
    struct nm_packet_frame *f = malloc(sizeof *f + sizeof preamble);

    if (!f)
        return -ENOMEM;
    *f = (struct nm_packet_frame){.size = sizeof preamble};
    (void)memcpy(f->data, preamble, sizeof preamble);
    send_frame(c, f);
    return 0;
}

/* Limits the time for which sent data may be unacknowledged. Otherwise the kernel repeats it at growing intervals, so
 * that the connection still waits for minutes when a network works again, or when another server has replaced this one
 * after the death of its host. A server that is only slow acknowledges the data. */
static void limit_silence(int fd, uint64_t usec)
{
    unsigned int msec = (unsigned int)NM_MIN(usec / NM_USEC_PER_MSEC, (uint64_t)INT_MAX);

    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &msec, sizeof msec);
}

static int greet(struct nm_hadoop_client *c)
{
    int one = 1, r;

    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    limit_silence(c->fd, c->o.connect_usec);
    r = nm_wire_init(&c->wire, &wire_ops, c->event, c->o.priority, STEAL_FD(c->fd), NULL, c->o.frame_max);
    if (r >= 0)
        r = send_preamble(c);
    if (r < 0 || !c->token)
        return r < 0 ? r : send_context(c);
    c->phase = SASL;
    if (gsasl_init(&c->library) != GSASL_OK)
        return -ENOMEM;
    r = nm_sasl_client_new(c->library, c->token, c->o.accepts_simple_auth, &c->sasl);
    return r < 0 ? r : send_sasl(c, nm_sasl_client_begin(c->sasl));
}

static int on_connected(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_hadoop_client *c = userdata;
    socklen_t size = sizeof(int);
    int error = 0, r;

    (void)source, (void)revents;
    r = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? -errno : -error;
    c->connecting = sd_event_source_disable_unref(c->connecting);
    if (r == 0)
        r = greet(c);
    if (r < 0)
        close_connection(c, r, NULL);
    return 0;
}

static int begin_connect(struct nm_hadoop_client *c)
{
    c->fd = socket(c->o.address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0 || (connect(c->fd, c->o.address, c->o.address_size) < 0 && errno != EINPROGRESS))
        return -errno;
    return 0;
}

/* ---- time and lifetime -------------------------------------------------------------------- */

static void give_up_calls(struct nm_hadoop_client *c, uint64_t now)
{
    struct call **p = &c->calls;

    while (*p && !c->freed) {
        if ((*p)->due_usec > now) {
            p = &(*p)->next;
            continue;
        }
        finish_call(c, take_call(c, p), -ETIMEDOUT, NULL, NULL);
        p = &c->calls; /* start at the front again, because the callback may have made calls */
    }
}

static void send_ping(struct nm_hadoop_client *c)
{
    struct nm_protocol_id id = c->id;
    struct nm_packet_frame *f;

    id.call = NM_PROTOCOL_PING;
    id.retry = -1;
    if (nm_protocol_request(&id, NULL, NULL, &f) == 0)
        send_frame(c, f);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_hadoop_client *c = userdata;
    uint64_t now = nm_now_usec();

    (void)source, (void)usec;
    c->armed_usec = UINT64_MAX;
    c->depth++;
    if (c->early_error < 0)
        close_connection(c, c->early_error, NULL);
    else if (c->phase < OPEN && c->connect_due_usec <= now)
        close_connection(c, -ETIMEDOUT, NULL);
    else
        give_up_calls(c, now);
    if (!c->freed && c->phase == OPEN && c->calls && nm_add_u64(c->spoke_usec, c->o.ping_usec) <= now)
        send_ping(c);
    if (!c->freed)
        rearm(c);
    leave_callback(c);
    return 0;
}

static int copy_options(struct nm_hadoop_client *c, const struct nm_hadoop_client_options *o)
{
    c->o = *o;
    c->o.connect_usec = o->connect_usec ?: 20 * NM_USEC_PER_SEC;
    c->o.ping_usec = o->ping_usec ?: 60 * NM_USEC_PER_SEC;
    c->o.frame_max = o->frame_max ?: 64 * NM_MIB;
    c->protocol = strdup(o->protocol);
    c->user = o->user ? strdup(o->user) : NULL;
    if (!c->protocol || (o->user && !c->user))
        return -ENOMEM;
    c->id.client_size = sizeof c->id.client;
    if (o->client_id)
        (void)memcpy(c->id.client, o->client_id, sizeof c->id.client);
    else if (getrandom(c->id.client, sizeof c->id.client, 0) != sizeof c->id.client)
        return -EIO;
    return o->token ? nm_token_copy(o->token, &c->token) : 0;
}

static int add_sources(struct nm_hadoop_client *c)
{
    int r = sd_event_add_time(c->event, &c->timer, CLOCK_BOOTTIME, 0, NM_USEC_PER_MSEC, on_timer, c);

    if (r >= 0)
        r = sd_event_source_set_priority(c->timer, c->o.priority);
    if (r >= 0 && c->early_error == 0)
        r = sd_event_add_io(c->event, &c->connecting, c->fd, EPOLLOUT, on_connected, c);
    if (r >= 0 && c->connecting)
        r = sd_event_source_set_priority(c->connecting, c->o.priority);
    return NM_MIN(r, 0);
}

int nm_hadoop_client_new(sd_event *event, const struct nm_hadoop_client_options *options,
                         struct nm_hadoop_client **ret)
{
    _cleanup_(nm_hadoop_client_freep) struct nm_hadoop_client *c = calloc(1, sizeof *c);
    int r;

    assert(options->user || options->token);
    if (!c)
        return -ENOMEM;
    c->fd = -EBADF;
    c->armed_usec = UINT64_MAX;
    c->calls_end = &c->calls;
    c->event = sd_event_ref(event);
    r = copy_options(c, options);
    if (r < 0)
        return r;
    c->early_error = begin_connect(c);
    c->connect_due_usec = nm_add_u64(nm_now_usec(), c->o.connect_usec);
    r = add_sources(c);
    if (r < 0)
        return r;
    rearm(c);
    *ret = STEAL_PTR(c);
    return 0;
}
