/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The proxy of application masters over loopback ports: between a master, which has nothing but what it was launched
 * with, and a ResourceManager that says what a test wants.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>

#include "remove-tree.h"
#include "rpc/hadoop/client.h"
#include "rpc/hadoop/credentials.h"
#include "rpc/yarn/proxy/proxy.h"
#include "util/clock.h"
#include "message-copy.h"
#include "yarn-tokens.h"

#define PLAIN "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
#define DISTRIBUTED "org.apache.hadoop.yarn.server.api.DistributedSchedulingAMProtocolPB"
#define NOT_REGISTERED "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
#define FORWARD "org.apache.hadoop.yarn.server.nodemanager.amrmproxy.DefaultRequestInterceptor"
#define WAIT_USEC (20 * NM_USEC_PER_SEC)

struct world {
    char dir[64];
    sd_event *event;
    struct nm_yarn_settings settings;
    struct nm_yarn_state state;
    struct nm_yarn_proxy *proxy;
    struct nm_token *ours; /* the master's */
    struct nm_hadoop_client *client;
    /* what it heard last */
    bool done;
    int error;
    struct nm_exception why;
    ProtobufCMessage *answer;
    /* the ResourceManager, and what it heard last */
    struct nm_hadoop_server *rm;
    const char *refuses; /* NULL: it answers */
    bool holds, rolls;
    struct nm_hadoop_call *held;
    unsigned calls;
    size_t asks, unknown, placed;
    int64_t numbers[16];
    char bearer[32], context[32]; /* the identifier's first bytes; the caller's */
    int64_t id_start;
};

static char *stages[] = {(char *)FORWARD, NULL};

/* ---- the ResourceManager ---------------------------------------------------------------------- */

static int rm_lookup(void *userdata, struct nm_bytes identifier, struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    struct world *w = userdata;

    (void)why;
    (void)snprintf(w->bearer, sizeof w->bearer, "%.*s", (int)identifier.size, (const char *)identifier.data);
    (void)memcpy(ret->password, "secret", 6);
    ret->password_size = 6;
    return 0;
}

static void rm_answer(struct world *w, struct nm_hadoop_call *call, const ProtobufCMessage *answer)
{
    const struct nm_bytes context = nm_hadoop_call_context(call);
    struct nm_exception why;

    w->calls++;
    (void)snprintf(w->context, sizeof w->context, "%.*s", (int)context.size, (const char *)context.data);
    if (w->refuses) {
        nm_exception_set(&why, NM_EXCEPTION_APPLICATION, w->refuses, "No.");
        nm_hadoop_call_refuse(call, &why);
    } else if (w->holds) {
        w->held = call;
    } else {
        nm_hadoop_call_answer(call, answer);
    }
}

static Masters__NodeForScheduling *a_node(void)
{
    static Hadoop__NodeId id;
    static Masters__NodeForScheduling node;

    id = (Hadoop__NodeId)HADOOP__NODE_ID__INIT;
    id.host = (char *)TOKENS_HOST;
    id.has_port = 1;
    id.port = TOKENS_PORT;
    node = (Masters__NodeForScheduling)MASTERS__NODE_FOR_SCHEDULING__INIT;
    node.id = &id;
    node.rack = (char *)"/default-rack";
    return &node;
}

static void rm_register(struct nm_hadoop_call *call, void *userdata)
{
    Masters__DistributedRegisterAnswer m = MASTERS__DISTRIBUTED_REGISTER_ANSWER__INIT;
    Masters__RegisterMasterAnswer plain = MASTERS__REGISTER_MASTER_ANSWER__INIT;
    Hadoop__Resource least = HADOOP__RESOURCE__INIT, most = HADOOP__RESOURCE__INIT;
    Masters__NodeForScheduling *nodes[] = {a_node()};
    struct world *w = userdata;

    w->unknown = nm_hadoop_call_request(call)->n_unknown_fields;
    least.has_memory = least.has_vcores = most.has_memory = most.has_vcores = 1;
    least.memory = 1024;
    most.memory = 8192;
    least.vcores = 1;
    most.vcores = 8;
    plain.maximum = &most;
    m.answer = &plain;
    m.minimum = &least;
    m.maximum = &most;
    m.has_token_expiry_msec = m.has_container_id_start = 1;
    m.token_expiry_msec = 600000;
    m.container_id_start = w->id_start;
    m.nodes = nodes;
    m.n_nodes = 1;
    rm_answer(w, call, w->settings.distributed ? &m.base : &plain.base);
}

/* A field that the proxy doesn't know: the response id. */
static uint8_t varint[] = {7};
static ProtobufCMessageUnknownField strange = {2, PROTOBUF_C_WIRE_TYPE_VARINT, sizeof varint, varint};

static void note_request(struct world *w, const Masters__AllocateRequest *request)
{
    w->asks = request->n_asks;
    w->unknown = request->base.n_unknown_fields;
}

static void rm_allocate(struct nm_hadoop_call *call, void *userdata)
{
    static Hadoop__Token rolled;
    Masters__DistributedAllocateAnswer m = MASTERS__DISTRIBUTED_ALLOCATE_ANSWER__INIT;
    Masters__AllocateAnswer plain = MASTERS__ALLOCATE_ANSWER__INIT;
    Masters__NodeForScheduling *nodes[] = {a_node()};
    struct world *w = userdata;

    if (w->settings.distributed) {
        const Masters__DistributedAllocateRequest *request =
            (const Masters__DistributedAllocateRequest *)nm_hadoop_call_request(call);

        note_request(w, request->request);
        w->placed = request->n_placed;
        for (size_t i = 0; i < request->n_placed; i++)
            w->numbers[i] = request->placed[i]->id->id;
    } else {
        note_request(w, (const Masters__AllocateRequest *)nm_hadoop_call_request(call));
    }
    plain.base.n_unknown_fields = 1;
    plain.base.unknown_fields = &strange;
    if (w->rolls) {
        rolled = (Hadoop__Token)HADOOP__TOKEN__INIT;
        rolled.identifier = (ProtobufCBinaryData){6, (uint8_t *)"second"};
        rolled.password = (ProtobufCBinaryData){6, (uint8_t *)"secret"};
        rolled.kind = (char *)NM_TOKEN_KIND_AMRM;
        rolled.service = (char *)"";
        plain.master_token = &rolled;
    }
    m.answer = &plain;
    m.nodes = nodes;
    m.n_nodes = 1;
    rm_answer(w, call, w->settings.distributed ? &m.base : &plain.base);
}

static void rm_finish(struct nm_hadoop_call *call, void *userdata)
{
    Masters__Anything m = MASTERS__ANYTHING__INIT;

    rm_answer(userdata, call, &m.base);
}

static const struct nm_hadoop_method plain_methods[] = {
    {"registerApplicationMaster", &masters__anything__descriptor, rm_register},
    {"allocate", &masters__allocate_request__descriptor, rm_allocate},
    {"finishApplicationMaster", &masters__anything__descriptor, rm_finish},
};
static const struct nm_hadoop_method distributed_methods[] = {
    {"registerApplicationMasterForDistributedScheduling", &masters__anything__descriptor, rm_register},
    {"allocateForDistributedScheduling", &masters__distributed_allocate_request__descriptor, rm_allocate},
    {"finishApplicationMaster", &masters__anything__descriptor, rm_finish},
};
static const struct nm_hadoop_protocol protocols[] = {
    {PLAIN, 1, plain_methods, NM_ARRAY_SIZE(plain_methods)},
    {DISTRIBUTED, 1, distributed_methods, NM_ARRAY_SIZE(distributed_methods)},
};

/* A listening socket on a loopback port: that one, or 0: any. */
static int listen_on(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(*port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
    socklen_t size = sizeof a;

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static void start_rm(struct world *w)
{
    const struct nm_hadoop_server_options o = {.protocols = protocols, .n_protocols = NM_ARRAY_SIZE(protocols),
                                               .lookup = rm_lookup, .userdata = w};

    assert_int_equal(nm_hadoop_server_new(w->event, listen_on(&w->settings.scheduler.port), &o, &w->rm), 0);
}

/* Nobody hears what it still had to say. */
static void stop_rm(struct world *w)
{
    struct nm_exception why;

    if (w->held) {
        nm_exception_set(&why, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_RETRY, "It goes.");
        nm_hadoop_call_refuse(w->held, &why);
        w->held = NULL;
    }
    w->rm = nm_hadoop_server_free(w->rm);
}

/* ---- the node --------------------------------------------------------------------------------- */

static void tell(int level, const char *sentence)
{
    (void)level, (void)sentence;
}

static void start_proxy(struct world *w)
{
    const struct nm_yarn_proxy_params params = {
        .event = w->event, .settings = &w->settings, .state = &w->state, .state_dir = w->dir, .tell = tell};
    char *message = NULL;

    if (nm_yarn_proxy_new(&params, &w->proxy, &message) != 0)
        fail_msg("%s", message);
}

static void set_up(struct world *w, bool distributed)
{
    *w = (struct world){.dir = "/tmp/nmd-test-proxy.XXXXXX"};
    assert_non_null(mkdtemp(w->dir));
    assert_true(sd_event_new(&w->event) >= 0);
    tokens_state(&w->state);
    w->state.queue_max_length = -1;
    w->settings = (struct nm_yarn_settings){
        .proxy = true, .distributed = distributed, .proxy_address = {(char *)"127.0.0.1", 0},
        .scheduler = {(char *)"127.0.0.1", 0}, .proxy_stages = stages, .amrm_roll_sec = 86400,
        .am_expiry_usec = 600 * NM_USEC_PER_SEC, .connect_usec = WAIT_USEC, .per_am_heartbeat = -1,
        .queue_max_length = 10};
    start_rm(w);
    (void)nm_close(listen_on(&w->settings.proxy_address.port));
    start_proxy(w);
}

static void drop_answer(struct world *w)
{
    if (w->answer)
        protobuf_c_message_free_unpacked(w->answer, NULL);
    w->answer = NULL;
}

static void tear_down(struct world *w)
{
    drop_answer(w);
    nm_hadoop_client_free(w->client);
    nm_yarn_proxy_free(w->proxy);
    stop_rm(w);
    nm_token_free(w->ours);
    sd_event_unref(w->event);
    remove_tree(w->dir);
}

/* ---- a master --------------------------------------------------------------------------------- */

static void on_closed(void *userdata, int error, const struct nm_exception *why)
{
    struct world *w = userdata;

    (void)error, (void)why;
    w->client = nm_hadoop_client_free(w->client);
}

static void connect_master(struct world *w)
{
    const struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons(w->settings.proxy_address.port)};
    const struct nm_hadoop_client_options o = {
        .address = (const struct sockaddr *)&a, .address_size = sizeof a, .protocol = PLAIN, .version = 1,
        .token = w->ours, .closed = on_closed, .userdata = w};

    nm_hadoop_client_free(w->client);
    assert_int_equal(nm_hadoop_client_new(w->event, &o, &w->client), 0);
}

/* Its container is started: it has what is in its credentials then. */
static void launch(struct world *w, int32_t attempt)
{
    const struct nm_token theirs = {nm_bytes_of("first"), nm_bytes_of("secret"), nm_bytes_of(NM_TOKEN_KIND_AMRM),
                                    nm_bytes_of("")};
    struct nm_credential one = {nm_bytes_of(""), theirs};
    struct nm_credentials all = {.tokens = &one, .n_tokens = 1};
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    const Yarn__LaunchContext *launched;
    struct nm_writer writer = {};
    struct nm_exception why;
    struct nm_bytes packed;
    struct tokens_id t;
    struct nm_arena a;

    nm_credentials_write(&all, &writer);
    assert_int_equal(nm_writer_result(&writer, &packed), 0);
    context.has_tokens = 1;
    context.tokens = (ProtobufCBinaryData){packed.size, (uint8_t *)(uintptr_t)packed.data};
    tokens_make(&t, 1, attempt, 1, 1);
    nm_arena_init(&a, NM_MIB, NULL);
    assert_int_equal(nm_yarn_proxy_begin(w->proxy, &t.token, &context, &a, &launched, &why), 0);
    packed = (struct nm_bytes){launched->tokens.data, launched->tokens.len};
    assert_int_equal(nm_credentials_parse(&a, packed, &all), 0);
    assert_int_equal(all.n_tokens, 1);
    nm_token_free(w->ours);
    assert_int_equal(nm_token_copy(&all.tokens[0].token, &w->ours), 0);
    nm_arena_done(&a);
    nm_writer_done(&writer);
    tokens_done(&t);
    connect_master(w);
}

static void on_reply(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct world *w = userdata;

    w->done = true;
    w->error = error;
    w->why = why ? *why : (struct nm_exception){};
    if (answer)
        w->answer = message_copy(answer);
}

static void begin_call(struct world *w, const char *method, const ProtobufCMessage *request,
                       const ProtobufCMessageDescriptor *answer)
{
    drop_answer(w);
    w->done = false;
    if (!w->client)
        connect_master(w);
    assert_int_equal(nm_hadoop_client_call_for(w->client, nm_bytes_of("for whom"), method, request, answer, 0,
                                               WAIT_USEC, on_reply, w), 0);
}

static bool is_done(const struct world *w)
{
    return w->done;
}

static bool has_held(const struct world *w)
{
    return w->held;
}

static void run_until(struct world *w, bool (*condition)(const struct world *w))
{
    const uint64_t deadline = nm_now_usec() + WAIT_USEC;

    while (!condition(w)) {
        assert_true(nm_now_usec() < deadline);
        assert_true(sd_event_run(w->event, 100 * NM_USEC_PER_MSEC) >= 0);
    }
}

static void register_master(struct world *w)
{
    Masters__Anything m = MASTERS__ANYTHING__INIT;

    m.base.n_unknown_fields = 1;
    m.base.unknown_fields = &strange;
    begin_call(w, "registerApplicationMaster", &m.base, &masters__register_master_answer__descriptor);
    run_until(w, is_done);
    assert_int_equal(w->error, 0);
    assert_int_equal(((Masters__RegisterMasterAnswer *)w->answer)->maximum->memory, 8192);
}

/* One guaranteed container, and so many opportunistic ones. -1: nothing is asked for. */
static void begin_allocate(struct world *w, int32_t response_id, int32_t opportunistic)
{
    static ProtobufCMessageUnknownField progress = {5, PROTOBUF_C_WIRE_TYPE_32BIT, 4, (uint8_t *)"abcd"};
    Masters__AllocateRequest m = MASTERS__ALLOCATE_REQUEST__INIT;
    Masters__ExecutionTypeAsked type = MASTERS__EXECUTION_TYPE_ASKED__INIT;
    Masters__Ask asks[] = {MASTERS__ASK__INIT, MASTERS__ASK__INIT}, *list[] = {&asks[0], &asks[1]};
    Hadoop__Resource size = HADOOP__RESOURCE__INIT;
    Hadoop__Priority priority = HADOOP__PRIORITY__INIT;

    size.has_memory = size.has_vcores = type.has_execution_type = priority.has_priority = 1;
    size.memory = 512;
    size.vcores = 1;
    priority.priority = 20;
    type.execution_type = 2;
    for (size_t i = 0; i < 2; i++) {
        asks[i].where = (char *)"*";
        asks[i].resource = &size;
        asks[i].priority = &priority;
        asks[i].has_count = 1;
        asks[i].count = 1;
    }
    asks[1].type = &type;
    asks[1].count = opportunistic;
    m.asks = list;
    m.n_asks = opportunistic < 0 ? 0 : 2;
    m.has_response_id = 1;
    m.response_id = response_id;
    m.base.n_unknown_fields = 1;
    m.base.unknown_fields = &progress;
    begin_call(w, "allocate", &m.base, &masters__allocate_answer__descriptor);
}

static const Masters__AllocateAnswer *allocate(struct world *w, int32_t response_id, int32_t opportunistic)
{
    begin_allocate(w, response_id, opportunistic);
    run_until(w, is_done);
    return (const Masters__AllocateAnswer *)w->answer;
}

/* ---- what goes through ------------------------------------------------------------------------ */

static void test_forward(void **state)
{
    const Masters__AllocateAnswer *answer;
    Masters__Anything m = MASTERS__ANYTHING__INIT;
    struct world w;

    (void)state;
    set_up(&w, false);
    launch(&w, 1);
    register_master(&w);
    assert_int_equal(w.unknown, 1);
    assert_string_equal(w.bearer, "first");
    answer = allocate(&w, 0, 3);
    assert_non_null(answer);
    assert_string_equal(w.context, "for whom");
    assert_int_equal(w.asks, 2);
    assert_int_equal(w.unknown, 1);
    assert_int_equal(answer->base.n_unknown_fields, 1);
    assert_int_equal(answer->base.unknown_fields[0].tag, 2);
    assert_null(answer->master_token);
    begin_call(&w, "finishApplicationMaster", &m.base, &masters__anything__descriptor);
    run_until(&w, is_done);
    assert_int_equal(w.error, 0);
    tear_down(&w);
}

static void test_distribute(void **state)
{
    const Masters__AllocateAnswer *answer;
    struct world w;

    (void)state;
    set_up(&w, true);
    launch(&w, 1);
    register_master(&w);
    answer = allocate(&w, 0, 3);
    assert_non_null(answer);
    assert_int_equal(w.asks, 1);
    assert_int_equal(w.unknown, 1);
    assert_int_equal(w.placed, 1); /* one for each host */
    assert_int_equal(w.numbers[0], -1);
    assert_int_equal(answer->n_containers, 1);
    assert_int_equal(answer->containers[0]->id->id, -1);
    assert_int_equal(answer->containers[0]->resource->memory, 1024);
    assert_int_equal(answer->containers[0]->execution_type, 2);
    assert_int_equal(answer->n_node_tokens, 1);
    assert_int_equal(answer->base.n_unknown_fields, 1);
    answer = allocate(&w, 1, -1);
    assert_int_equal(answer->containers[0]->id->id, -2);
    answer = allocate(&w, 2, -1);
    assert_int_equal(answer->containers[0]->id->id, -3);
    answer = allocate(&w, 3, -1);
    assert_int_equal(answer->n_containers, 0);
    assert_int_equal(answer->n_node_tokens, 0);
    tear_down(&w);
}

/* All at once, as far as a queue has room: in the node's eyes, and in the ResourceManager's. */
static void test_fill(void **state)
{
    const Masters__AllocateAnswer *answer;
    struct world w;

    (void)state;
    set_up(&w, true);
    w.settings.fill_nodes = true;
    launch(&w, 1);
    register_master(&w);
    w.state.queue_max_length = 4; /* told with a heartbeat since */
    answer = allocate(&w, 0, 12);
    assert_int_equal(answer->n_containers, 4);
    w.state.queue_max_length = 100;
    answer = allocate(&w, 1, -1);
    assert_int_equal(answer->n_containers, 6);
    assert_int_equal(answer->containers[5]->id->id, -10);
    tear_down(&w);
}

/* What the ResourceManager gives is the proxy's: a master never has it, and the next connection is made with it. */
static void test_rolled(void **state)
{
    const Masters__AllocateAnswer *answer;
    struct world w;

    (void)state;
    set_up(&w, true);
    launch(&w, 1);
    register_master(&w);
    w.rolls = true;
    answer = allocate(&w, 0, -1);
    assert_null(answer->master_token);
    w.rolls = false;
    assert_non_null(allocate(&w, 1, -1));
    assert_string_equal(w.bearer, "second");
    w.proxy = nm_yarn_proxy_free(w.proxy);
    start_proxy(&w);
    w.client = nm_hadoop_client_free(w.client);
    (void)memset(w.bearer, 0, sizeof w.bearer);
    assert_non_null(allocate(&w, 2, -1));
    assert_string_equal(w.bearer, "second");
    tear_down(&w);
}

/* ---- what is forged --------------------------------------------------------------------------- */

static void test_strangers(void **state)
{
    static const struct nm_yarn_attempt_id first = {{TOKENS_RM, 1}, 1}, nobody = {{TOKENS_RM, 9}, 1};
    struct nm_yarn_master_key key = tokens_key(12345, 1);
    struct world w;

    (void)state;
    set_up(&w, true);
    launch(&w, 1);
    for (unsigned i = 0; i < 2; i++) {
        nm_token_free(w.ours);
        assert_int_equal(nm_yarn_local_token(&key, i == 0 ? &first : &nobody, &w.ours), 0);
        connect_master(&w);
        assert_null(allocate(&w, 0, -1));
        assert_int_equal(w.error, -EACCES);
        assert_string_equal(w.why.class_name, NM_EXCEPTION_INVALID_TOKEN);
    }
    assert_int_equal(w.calls, 0);
    tear_down(&w);
}

/* The former attempt may have a connection still. */
static void test_second_attempt(void **state)
{
    struct nm_hadoop_client *former;
    struct nm_token *token;
    struct world w;

    (void)state;
    set_up(&w, true);
    launch(&w, 1);
    register_master(&w);
    assert_int_equal(allocate(&w, 0, 5)->n_containers, 1);
    former = STEAL_PTR(w.client);
    assert_int_equal(nm_token_copy(w.ours, &token), 0);
    launch(&w, 2);
    register_master(&w);
    assert_int_equal(allocate(&w, 0, -1)->n_containers, 0); /* the asks were the former's */
    assert_int_equal(allocate(&w, 1, 1)->containers[0]->id->attempt->attempt, 2);
    assert_int_equal(w.numbers[0], -1);
    w.client = nm_hadoop_client_free(w.client);
    w.client = former;
    assert_null(allocate(&w, 1, -1));
    assert_string_equal(w.why.class_name, NM_EXCEPTION_INVALID_TOKEN);
    nm_token_free(w.ours);
    w.ours = token;
    connect_master(&w);
    assert_null(allocate(&w, 1, -1));
    assert_int_equal(w.error, -EACCES);
    tear_down(&w);
}

/* ---- who goes and comes back ------------------------------------------------------------------ */

/* While the ResourceManager is away a call waits, and nothing else does. */
static void test_rm_away(void **state)
{
    uint64_t away_until_usec;
    struct world w;

    (void)state;
    set_up(&w, true);
    launch(&w, 1);
    register_master(&w);
    stop_rm(&w);
    begin_allocate(&w, 0, 1);
    away_until_usec = nm_now_usec() + 500 * NM_USEC_PER_MSEC;
    while (nm_now_usec() < away_until_usec) {
        assert_true(sd_event_run(w.event, 20 * NM_USEC_PER_MSEC) >= 0);
        assert_false(w.done);
    }
    start_rm(&w);
    run_until(&w, is_done);
    assert_int_equal(w.error, 0);
    assert_int_equal(w.placed, 1);
    assert_int_equal(w.numbers[0], -1);
    assert_int_equal(((Masters__AllocateAnswer *)w.answer)->n_containers, 1);
    tear_down(&w);
}

/* It has been started anew, in another epoch, and knows nobody: the master registers again, and asks for all again. */
static void test_rm_anew(void **state)
{
    struct world w;

    (void)state;
    set_up(&w, true);
    launch(&w, 1);
    register_master(&w);
    assert_int_equal(allocate(&w, 0, 2)->n_containers, 1);
    w.refuses = NOT_REGISTERED;
    assert_null(allocate(&w, 1, -1));
    assert_string_equal(w.why.class_name, NOT_REGISTERED);
    w.refuses = NULL;
    w.id_start = INT64_C(1) << 40;
    register_master(&w);
    assert_int_equal(allocate(&w, 0, 1)->n_containers, 1);
    /* -2 was on its way, and nobody has heard of it. */
    assert_int_equal(w.numbers[0], (INT64_C(1) << 40) - 3);
    assert_int_equal(allocate(&w, 1, -1)->n_containers, 0);
    tear_down(&w);
}

/* nmd dies when the ResourceManager has heard of a container and the master hasn't: it is the same one that it gets. */
static void test_nmd_anew(void **state)
{
    struct world w;

    (void)state;
    set_up(&w, true);
    launch(&w, 1);
    register_master(&w);
    w.holds = true;
    begin_allocate(&w, 0, 3);
    run_until(&w, has_held);
    w.proxy = nm_yarn_proxy_free(w.proxy);
    w.client = nm_hadoop_client_free(w.client);
    stop_rm(&w);
    start_rm(&w);
    w.holds = false;
    start_proxy(&w);
    assert_int_equal(allocate(&w, 0, 3)->n_containers, 1);
    assert_int_equal(((Masters__AllocateAnswer *)w.answer)->containers[0]->id->id, -1);
    assert_int_equal(allocate(&w, 1, -1)->containers[0]->id->id, -2);
    assert_int_equal(allocate(&w, 2, -1)->containers[0]->id->id, -3);
    w.proxy = nm_yarn_proxy_free(w.proxy);
    w.client = nm_hadoop_client_free(w.client);
    start_proxy(&w);
    assert_int_equal(allocate(&w, 3, 1)->n_containers, 0); /* no nodes are listed yet */
    assert_int_equal(allocate(&w, 4, -1)->containers[0]->id->id, -4);
    tear_down(&w);
}

static bool lives(void *userdata, const struct nm_yarn_application_id *application)
{
    assert_int_equal(application->number, 1);
    return *(const bool *)userdata;
}

static unsigned pipelines_of(const struct world *w)
{
    struct nm_masters m;

    nm_yarn_proxy_show(w->proxy, &m);
    return m.pipelines;
}

/* What was kept of an application that the node has no more is worth nothing. */
static void test_strays(void **state)
{
    bool there = true;
    struct world w;

    (void)state;
    set_up(&w, true);
    launch(&w, 1);
    register_master(&w);
    w.proxy = nm_yarn_proxy_free(w.proxy);
    start_proxy(&w);
    nm_yarn_proxy_end_strays(w.proxy, lives, &there);
    assert_int_equal(pipelines_of(&w), 1);
    there = false;
    nm_yarn_proxy_end_strays(w.proxy, lives, &there);
    assert_int_equal(pipelines_of(&w), 0);
    w.proxy = nm_yarn_proxy_free(w.proxy);
    start_proxy(&w); /* nor is it there after another restart */
    assert_int_equal(pipelines_of(&w), 0);
    tear_down(&w);
}

/* ---- what there is to see --------------------------------------------------------------------- */

static bool everything(void *userdata, const char *master)
{
    (void)userdata, (void)master;
    return true;
}

static bool nothing(void *userdata, const char *master)
{
    (void)userdata;
    assert_string_equal(master, "container_1410901177871_0001_01_000001");
    return false;
}

static void test_shown(void **state)
{
    struct nm_masters m;
    struct world w;
    json_t *list, *place;

    (void)state;
    set_up(&w, true);
    launch(&w, 1);
    register_master(&w);
    assert_int_equal(allocate(&w, 0, 3)->n_containers, 1);
    nm_yarn_proxy_show(w.proxy, &m);
    assert_true(m.served);
    assert_int_equal(m.pipelines, 1);
    assert_int_equal(m.outstanding, 2);
    assert_int_equal(m.placed_anywhere, 1);
    assert_int_equal(m.took[NM_MASTER_START].n, 1);
    assert_int_equal(m.took[NM_MASTER_ALLOCATE].n, 1);
    assert_int_equal(m.added.n, 1);
    list = nm_yarn_proxy_show_pipelines(w.proxy, everything, NULL, true);
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "state")), "running");
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "user")), "ada");
    json_decref(list);
    list = nm_yarn_proxy_show_pipelines(w.proxy, nothing, NULL, true);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    place = nm_yarn_proxy_show_placement(w.proxy, "container_1410901177871_0001_01_1099511627775", everything, NULL);
    assert_string_equal(json_string_value(json_object_get(place, "rule")), "any");
    json_decref(place);
    assert_null(nm_yarn_proxy_show_placement(w.proxy, "container_1410901177871_0001_01_1099511627775", nothing, NULL));
    tear_down(&w);
}

/* A class of somebody's own is named, and nmd doesn't start. */
static void test_unknown_stage(void **state)
{
    static char *unknown[] = {(char *)"org.example.Mine", (char *)FORWARD, NULL};
    static char *no_end[] = {(char *)"org.apache.hadoop.yarn.server.nodemanager.scheduler.DistributedScheduler", NULL};
    const struct nm_stage_type *types[NM_STAGES_MAX];
    struct nm_yarn_settings s = {.proxy_stages = unknown};
    char *message = NULL;
    size_t n;

    (void)state;
    assert_int_equal(nm_stages_choose(&s, types, &n, &message), -EOPNOTSUPP);
    assert_non_null(strstr(message, "interceptor-class.pipeline = 'org.example.Mine'"));
    free(message);
    s.proxy_stages = no_end;
    assert_int_equal(nm_stages_choose(&s, types, &n, &message), -EOPNOTSUPP);
    assert_non_null(strstr(message, "the last stage"));
    free(message);
    s = (struct nm_yarn_settings){.distributed = true, .proxy_stages = stages};
    assert_int_equal(nm_stages_choose(&s, types, &n, &message), 0);
    assert_int_equal(n, 2);
    assert_string_equal(types[0]->name, "distribute");
    assert_string_equal(types[1]->name, "forward");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),     cmocka_unit_test(test_distribute),
        cmocka_unit_test(test_fill),        cmocka_unit_test(test_rolled),
        cmocka_unit_test(test_strangers),   cmocka_unit_test(test_second_attempt),
        cmocka_unit_test(test_rm_away),     cmocka_unit_test(test_rm_anew),
        cmocka_unit_test(test_nmd_anew),    cmocka_unit_test(test_strays),
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_unknown_stage),
    };

    sigset_t mask;

    /* As nmd has it: the loop hears of children, which ask the name services. */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
