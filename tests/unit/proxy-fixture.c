/* SPDX-License-Identifier: Apache-2.0 */

/* See proxy-fixture.h. */

#include "proxy-fixture.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>

#include "loopback.h"
#include "remove-tree.h"
#include "rpc/hadoop/token.h"
#include "util/clock.h"
#include "yarn-tokens.h"

#define PLAIN "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
#define DISTRIBUTED "org.apache.hadoop.yarn.server.api.DistributedSchedulingAMProtocolPB"
#define WAIT_USEC (20 * NM_USEC_PER_SEC)

char proxy_log_message[400];
static char *stages[] = {(char *)FORWARD, NULL};

/* ---- the ResourceManager ---------------------------------------------------------------------- */

static int rm_lookup(void *userdata, struct nm_bytes identifier, struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    struct fixture *w = userdata;

    (void)why;
    (void)snprintf(w->bearer, sizeof w->bearer, "%.*s", (int)identifier.size, (const char *)identifier.data);
    (void)memcpy(ret->password, "secret", 6);
    ret->password_size = 6;
    return 0;
}

static void rm_answer(struct fixture *w, struct nm_hadoop_call *call, const ProtobufCMessage *answer)
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

static Masters__NodeForScheduling *a_node(const struct fixture *w)
{
    static Hadoop__NodeId id;
    static Masters__NodeForScheduling node;

    id = (Hadoop__NodeId)HADOOP__NODE_ID__INIT;
    id.host = (char *)(uintptr_t)(w->listed_host ?: TOKENS_HOST);
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
    struct fixture *w = userdata;
    Masters__NodeForScheduling *nodes[] = {a_node(w)};

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
    if (w->on_register)
        w->on_register(w, &plain);
    rm_answer(w, call, w->settings.distributed ? &m.base : &plain.base);
}

/* A field that the proxy doesn't know: the response id. */
static uint8_t varint[] = {7};
static ProtobufCMessageUnknownField strange = {2, PROTOBUF_C_WIRE_TYPE_VARINT, sizeof varint, varint};

static void note_request(struct fixture *w, const Masters__AllocateRequest *request)
{
    w->asks = request->n_asks;
    w->unknown = request->base.n_unknown_fields;
}

static void rm_allocate(struct nm_hadoop_call *call, void *userdata)
{
    static Hadoop__Token rolled, given = HADOOP__TOKEN__INIT;
    static Masters__NodeToken token, *tokens[] = {&token};
    Masters__DistributedAllocateAnswer m = MASTERS__DISTRIBUTED_ALLOCATE_ANSWER__INIT;
    Masters__AllocateAnswer plain = MASTERS__ALLOCATE_ANSWER__INIT;
    const Masters__AllocateRequest *request;
    struct fixture *w = userdata;
    Masters__NodeForScheduling *nodes[] = {a_node(w)};

    if (w->settings.distributed) {
        const Masters__DistributedAllocateRequest *distributed =
            (const Masters__DistributedAllocateRequest *)nm_hadoop_call_request(call);

        request = distributed->request;
        w->placed = distributed->n_placed;
        for (size_t i = 0; i < distributed->n_placed; i++)
            w->numbers[i] = distributed->placed[i]->id->id;
    } else {
        request = (const Masters__AllocateRequest *)nm_hadoop_call_request(call);
    }
    note_request(w, request);
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
    if (w->gives_token) {
        token = (Masters__NodeToken)MASTERS__NODE_TOKEN__INIT;
        token.node = a_node(w)->id;
        token.token = &given;
        plain.node_tokens = tokens;
        plain.n_node_tokens = 1;
    }
    m.answer = &plain;
    m.nodes = nodes;
    m.n_nodes = 1;
    if (w->on_allocate)
        w->on_allocate(w, request, &plain);
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

void proxy_start_rm(struct fixture *w)
{
    const struct nm_hadoop_server_options o = {.protocols = protocols, .n_protocols = NM_ARRAY_SIZE(protocols),
                                               .lookup = rm_lookup, .userdata = w};

    assert_int_equal(nm_hadoop_server_new(w->event, listen_on_loopback(&w->settings.scheduler.port), &o, &w->rm), 0);
}

void proxy_stop_rm(struct fixture *w)
{
    w->rm = end_rm(w->rm, &w->held);
}

/* ---- the node --------------------------------------------------------------------------------- */

static void report_cb(int level, const char *sentence)
{
    (void)level;
    (void)snprintf(proxy_log_message, sizeof proxy_log_message, "%s", sentence);
}

void proxy_start(struct fixture *w)
{
    const struct nm_yarn_proxy_params params = {
        .event = w->event, .settings = &w->settings, .keys = &w->keys, .state_dir = w->dir,
        .runtime_dir = w->dir, .report_cb = report_cb};
    char *message = NULL;

    if (nm_yarn_proxy_new(&params, &w->proxy, &message) != 0)
        fail_msg("%s", message);
}

void proxy_set_up(struct fixture *w, bool distributed)
{
    *w = (struct fixture){.dir = "/tmp/nmd-test-proxy.XXXXXX"};
    *proxy_log_message = '\0';
    assert_non_null(mkdtemp(w->dir));
    assert_true(sd_event_new(&w->event) >= 0);
    tokens_cluster(&w->keys);
    w->settings = (struct nm_yarn_settings){
        .proxy = true, .distributed = distributed, .proxy_address = {(char *)"127.0.0.1", 0},
        .scheduler = {(char *)"127.0.0.1", 0}, .proxy_stages = stages, .amrm_roll_sec = 86400,
        .am_expiry_usec = 600 * NM_USEC_PER_SEC, .connect_usec = WAIT_USEC, .per_am_heartbeat = -1,
        .queue_max_length = 10};
    proxy_start_rm(w);
    (void)nm_close(listen_on_loopback(&w->settings.proxy_address.port));
    proxy_start(w);
}

static void drop_answer(struct fixture *w)
{
    if (w->answer)
        protobuf_c_message_free_unpacked(w->answer, NULL);
    w->answer = NULL;
}

void proxy_tear_down(struct fixture *w)
{
    drop_answer(w);
    nm_hadoop_client_free(w->client);
    nm_yarn_proxy_free(w->proxy);
    proxy_stop_rm(w);
    nm_token_free(w->ours);
    sd_event_unref(w->event);
    remove_tree(w->dir);
}

/* ---- a master --------------------------------------------------------------------------------- */

static void on_closed(void *userdata, int error, const struct nm_exception *why)
{
    struct fixture *w = userdata;

    (void)error, (void)why;
    w->client = nm_hadoop_client_free(w->client);
}

void proxy_connect_master(struct fixture *w)
{
    const struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons(w->settings.proxy_address.port)};
    const struct nm_hadoop_client_options o = {
        .address = (const struct sockaddr *)&a, .address_size = sizeof a, .protocol = PLAIN, .version = 1,
        .token = w->ours, .closed = on_closed, .userdata = w};

    nm_hadoop_client_free(w->client);
    assert_int_equal(nm_hadoop_client_new(w->event, &o, &w->client), 0);
}

/* Starts the container of the attempt's master, with a token in its credentials. */
int proxy_try_launch(struct fixture *w, int32_t attempt)
{
    const struct nm_token theirs = {nm_bytes_of("first"), nm_bytes_of("secret"), nm_bytes_of(NM_TOKEN_KIND_AMRM),
                                    nm_bytes_of("")};
    struct nm_credential one = {nm_bytes_of(""), theirs};
    struct nm_credentials all = {.tokens = &one, .n_tokens = 1};
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    Yarn__Text wish = YARN__TEXT__INIT, *environment[] = {&wish};
    const Yarn__LaunchContext *launched;
    struct nm_writer writer = {};
    struct nm_bytes packed;
    struct tokens_id t;
    struct nm_arena a;
    int r;

    nm_credentials_write(&all, &writer);
    assert_int_equal(nm_writer_result(&writer, &packed), 0);
    context.has_tokens = 1;
    context.tokens = (ProtobufCBinaryData){packed.size, (uint8_t *)(uintptr_t)packed.data};
    wish.key = (char *)"NMD_LEND";
    wish.value = (char *)w->wish;
    context.environment = environment;
    context.n_environment = w->wish ? 1 : 0;
    tokens_make(&t, 1, attempt, 1, 1);
    nm_arena_init(&a, NM_MIB, NULL);
    if (w->on_begin)
        w->on_begin(false);
    r = nm_yarn_proxy_begin(w->proxy, &t.token, &context, &a, &launched, &w->why);
    if (w->on_begin)
        w->on_begin(true);
    if (r == 0) {
        packed = (struct nm_bytes){launched->tokens.data, launched->tokens.len};
        assert_int_equal(nm_credentials_parse(&a, packed, &all), 0);
        assert_int_equal(all.n_tokens, 1);
        nm_token_free(w->ours);
        assert_int_equal(nm_token_copy(&all.tokens[0].token, &w->ours), 0);
    }
    nm_arena_done(&a);
    nm_writer_done(&writer);
    tokens_done(&t);
    return r;
}

void proxy_launch(struct fixture *w, int32_t attempt)
{
    assert_int_equal(proxy_try_launch(w, attempt), 0);
    proxy_connect_master(w);
}

static void on_reply(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct fixture *w = userdata;

    w->done = true;
    w->error = error;
    w->why = why ? *why : (struct nm_exception){};
    if (answer)
        w->answer = message_copy(answer);
}

void proxy_begin_call(struct fixture *w, const char *method, const ProtobufCMessage *request,
                       const ProtobufCMessageDescriptor *answer)
{
    drop_answer(w);
    w->done = false;
    if (!w->client)
        proxy_connect_master(w);
    assert_int_equal(nm_hadoop_client_call_for(w->client, nm_bytes_of("for whom"), method, request, answer, 0,
                                               WAIT_USEC, on_reply, w), 0);
}

bool proxy_is_done(const struct fixture *w)
{
    return w->done;
}

bool proxy_has_held(const struct fixture *w)
{
    return w->held;
}

void proxy_run_until(struct fixture *w, bool (*condition)(const struct fixture *w))
{
    const uint64_t deadline = nm_now_usec() + WAIT_USEC;

    while (!condition(w)) {
        assert_true(nm_now_usec() < deadline);
        assert_true(sd_event_run(w->event, 100 * NM_USEC_PER_MSEC) >= 0);
    }
}

void proxy_register_master(struct fixture *w)
{
    Masters__Anything m = MASTERS__ANYTHING__INIT;

    m.base.n_unknown_fields = 1;
    m.base.unknown_fields = &strange;
    proxy_begin_call(w, "registerApplicationMaster", &m.base, &masters__register_master_answer__descriptor);
    proxy_run_until(w, proxy_is_done);
    assert_int_equal(w->error, 0);
    assert_int_equal(((Masters__RegisterMasterAnswer *)w->answer)->maximum->memory, 8192);
}

/* Requests one guaranteed container and this number of opportunistic containers. -1: requests no container. */
void proxy_begin_allocate(struct fixture *w, int32_t response_id, int32_t opportunistic)
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
    proxy_begin_call(w, "allocate", &m.base, &masters__allocate_answer__descriptor);
}

const Masters__AllocateAnswer *proxy_allocate(struct fixture *w, int32_t response_id, int32_t opportunistic)
{
    proxy_begin_allocate(w, response_id, opportunistic);
    proxy_run_until(w, proxy_is_done);
    return (const Masters__AllocateAnswer *)w->answer;
}
