/* SPDX-License-Identifier: Apache-2.0 */

/* ContainerManagementProtocol over a port of the loopback interface: the permissions of callers, and the answers. */

#include "hadoop-fixture.h"

#include <errno.h>
#include <sys/socket.h>

#include "fake-yarn-node.h"
#include "yarn/cm-protocol/cm-server.h"
#include "util/clock.h"
#include "message-copy.h"
#include "remove-tree.h"
#include "yarn-tokens.h"

#define PROTOCOL "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"

struct cm_fixture {
    sd_event *event;
    struct nm_yarn_cluster_keys keys;
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_node node;
    struct nm_yarn_cm_server *cm_server;
    struct sockaddr_in address;
    struct nm_hadoop_client *client;
    int64_t later_msec;

    bool done;
    int error;
    struct nm_exception why;
    ProtobufCMessage *answer;
};

static void set_up(struct cm_fixture *w)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof w->address;

    *w = (struct cm_fixture){.address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    assert_int_equal(bind(fd, (struct sockaddr *)&w->address, size), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&w->address, &size), 0);
    assert_true(sd_event_new(&w->event) >= 0);
    tokens_cluster(&w->keys);
    assert_int_equal(nm_yarn_keyring_new(&w->keys, &w->keyring), 0);
    assert_int_equal(nm_yarn_used_new(&w->used), 0);
    assert_int_equal(nm_yarn_cm_server_new(w->event, fd, w->keyring, w->used, &w->node, &w->cm_server), 0);
    nm_yarn_cm_server_set_node(w->cm_server, TOKENS_HOST, TOKENS_PORT);
    nm_yarn_cm_server_set_rm(w->cm_server, TOKENS_RM);
    w->later_msec = (int64_t)(nm_realtime_usec() / 1000) + 600000;
}

static void drop_answer(struct cm_fixture *w)
{
    if (w->answer)
        protobuf_c_message_free_unpacked(w->answer, NULL);
    w->answer = NULL;
}

static void tear_down(struct cm_fixture *w)
{
    drop_answer(w);
    nm_hadoop_client_free(w->client);
    nm_yarn_cm_server_free(w->cm_server);
    nm_yarn_used_free(w->used);
    nm_yarn_keyring_free(w->keyring);
    sd_event_unref(w->event);
}

/* Connects a client that authenticates with the NMToken of t. */
static void connect_as(struct cm_fixture *w, struct tokens_id *t, const struct nm_yarn_master_key *key)
{
    struct nm_hadoop_client_options o = {.address = (struct sockaddr *)&w->address, .address_size = sizeof w->address,
                                         .protocol = PROTOCOL, .version = 1};

    tokens_sign_nm(t, key);
    o.token = t->signed_nm;
    nm_hadoop_client_free(w->client);
    assert_int_equal(nm_hadoop_client_new(w->event, &o, &w->client), 0);
    tokens_done(t);
}

static void on_reply(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct cm_fixture *w = userdata;

    w->done = true;
    w->error = error;
    w->why = why ? *why : (struct nm_exception){};
    if (answer)
        w->answer = message_copy(answer);
}

/* Makes a call. Returns the answer, or NULL after a refusal. The reason of a refusal is in w->why. */
static const void *call(struct cm_fixture *w, const char *method, const ProtobufCMessage *request,
                        const ProtobufCMessageDescriptor *answer)
{
    uint64_t deadline = nm_now_usec() + 20 * NM_USEC_PER_SEC;

    drop_answer(w);
    w->done = false;
    assert_int_equal(
        nm_hadoop_client_call(w->client, method, request, answer, 0, 20 * NM_USEC_PER_SEC, on_reply, w), 0);
    while (!w->done) {
        assert_true(nm_now_usec() < deadline);
        assert_true(sd_event_run(w->event, 100 * NM_USEC_PER_MSEC) >= 0);
    }
    return w->answer;
}

static void assert_calls(struct cm_fixture *w, const char *text)
{
    assert_string_equal(w->node.calls, text);
    w->node.calls[0] = '\0';
}

/* ---- starts ------------------------------------------------------------------------------- */

struct starts {
    Yarn__StartRequest request;
    Yarn__StartOne one[4], *list[4];
    Yarn__LaunchContext context;
    char *command[1];
};

static void begin_starts(struct starts *s)
{
    *s = (struct starts){.request = YARN__START_REQUEST__INIT, .context = YARN__LAUNCH_CONTEXT__INIT,
                         .command = {(char *)"echo"}};
    s->context.command = s->command;
    s->context.n_command = 1;
    s->request.starts = s->list;
}

static void add_start(struct starts *s, Hadoop__Token *token)
{
    size_t i = s->request.n_starts++;

    s->one[i] = (Yarn__StartOne)YARN__START_ONE__INIT;
    s->one[i].context = &s->context;
    s->one[i].token = token;
    s->list[i] = &s->one[i];
}

static const Yarn__StartAnswer *start(struct cm_fixture *w, struct starts *s)
{
    return call(w, "startContainers", &s->request.base, &yarn__start_answer__descriptor);
}

static void test_a_start_request_reaches_the_node(void **state)
{
    struct tokens_id caller, a, b, c;
    const Yarn__StartAnswer *answer;
    struct starts s;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 1, w.later_msec);
    tokens_make(&a, 1, 1, 2, w.later_msec);
    tokens_make(&b, 2, 1, 2, w.later_msec);
    tokens_make(&c, 1, 1, 3, w.later_msec);
    connect_as(&w, &caller, &w.keys.nm.current);
    begin_starts(&s);
    add_start(&s, tokens_sign(&a, &w.keys.container.current));
    add_start(&s, tokens_sign(&b, &w.keys.container.current));
    add_start(&s, tokens_sign(&c, &w.keys.container.current));
    add_start(&s, &a.message); /* the first token is used twice */
    answer = start(&w, &s);
    assert_non_null(answer);
    assert_calls(&w, "start container_1410901177871_0001_01_000002 for ada, 1 bytes, echo\n"
                     "start container_1410901177871_0001_01_000003 for ada, 1 bytes, echo\n");
    assert_int_equal(answer->n_done, 2);
    assert_int_equal(answer->done[1]->id, 3);
    assert_int_equal(answer->n_refused, 2);
    assert_int_equal(answer->refused[0]->id->attempt->application->id, 2);
    assert_string_equal(answer->refused[0]->why->class_name, NM_EXCEPTION_YARN);
    assert_non_null(strstr(answer->refused[1]->why->message, "relaunch"));
    assert_int_equal(answer->n_services, 1);
    assert_int_equal(answer->services[0]->value.len, 4);
    tokens_done(&a);
    tokens_done(&b);
    tokens_done(&c);
    tear_down(&w);
}

/* If one token is forged, the whole call fails and starts no container. */
static void test_a_call_with_a_forged_token_is_refused_as_a_whole(void **state)
{
    struct tokens_id caller, a, b;
    struct starts s;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 1, w.later_msec);
    tokens_make(&a, 1, 1, 2, w.later_msec);
    tokens_make(&b, 1, 1, 3, w.later_msec);
    connect_as(&w, &caller, &w.keys.nm.current);
    begin_starts(&s);
    add_start(&s, tokens_sign(&a, &w.keys.container.current));
    add_start(&s, tokens_sign(&b, &w.keys.nm.current));
    assert_null(start(&w, &s));
    assert_int_equal(w.error, -EREMOTEIO);
    assert_string_equal(w.why.class_name, NM_EXCEPTION_INVALID_TOKEN);
    s.one[1].token = NULL;
    assert_null(start(&w, &s));
    assert_string_equal(w.why.class_name, NM_EXCEPTION_INVALID_TOKEN);
    assert_calls(&w, "");
    s.request.n_starts = 1;
    s.one[0].context = NULL;
    assert_int_equal(start(&w, &s)->n_refused, 1);
    assert_calls(&w, "");
    tokens_done(&a);
    tokens_done(&b);
    tear_down(&w);
}

/* A refusal by the node is reported to the application master, which can use the same token again. */
static void test_a_refused_start_can_be_repeated_with_the_same_token(void **state)
{
    const Yarn__StartAnswer *answer;
    struct tokens_id caller, a;
    struct starts s;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 1, w.later_msec);
    tokens_make(&a, 1, 1, 2, w.later_msec);
    connect_as(&w, &caller, &w.keys.nm.current);
    begin_starts(&s);
    add_start(&s, tokens_sign(&a, &w.keys.container.current));
    nm_yarn_cm_server_set_rm(w.cm_server, 0);
    assert_null(start(&w, &s));
    assert_string_equal(w.why.class_name, NM_EXCEPTION_NOT_YET_READY);
    nm_yarn_cm_server_set_rm(w.cm_server, TOKENS_RM + 1);
    assert_string_equal(start(&w, &s)->refused[0]->why->class_name, NM_EXCEPTION_INVALID_CONTAINER);
    nm_yarn_cm_server_set_rm(w.cm_server, TOKENS_RM);
    assert_calls(&w, "");
    w.node.result = NM_YARN_REFUSED;
    nm_exception_set(&w.node.why, 0, NM_EXCEPTION_INVALID_AUX_SERVICE, "no tea today");
    answer = start(&w, &s);
    assert_string_equal(answer->refused[0]->why->class_name, NM_EXCEPTION_INVALID_AUX_SERVICE);
    assert_string_equal(answer->refused[0]->why->message, "no tea today");
    w.node.result = -ENOSPC;
    assert_non_null(strstr(start(&w, &s)->refused[0]->why->message, "No space left"));
    w.node.result = 0;
    assert_int_equal(start(&w, &s)->n_done, 1);
    tokens_done(&a);
    tear_down(&w);
}

/* A call without room for its containers must be repeated as a whole, and uses up no token. */
static void test_a_call_waits_for_the_containers_of_a_lost_node(void **state)
{
    struct tokens_id caller, a;
    struct starts s;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 1, w.later_msec);
    tokens_make(&a, 1, 1, 2, w.later_msec);
    connect_as(&w, &caller, &w.keys.nm.current);
    begin_starts(&s);
    add_start(&s, tokens_sign(&a, &w.keys.container.current));
    w.node.must_wait_bytes = (uint64_t)a.resource.memory * NM_MIB;
    assert_null(start(&w, &s));
    assert_string_equal(w.why.class_name, NM_EXCEPTION_NOT_YET_READY);
    assert_calls(&w, "");
    w.node.must_wait_bytes++;
    assert_int_equal(start(&w, &s)->n_done, 1);
    tokens_done(&a);
    tear_down(&w);
}

/* If nmd dies after it has accepted a start and before the answer has arrived, the master repeats the call. The next
 * nmd has the container, and answers that it was started. Another application gets no such answer. */
static void test_a_start_whose_answer_was_lost_can_be_repeated(void **state)
{
    struct tokens_id caller, other, a;
    struct starts s;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 1, w.later_msec);
    tokens_make(&other, 2, 1, 1, w.later_msec);
    tokens_make(&a, 1, 1, 2, w.later_msec);
    w.node.adopted = 2;
    connect_as(&w, &caller, &w.keys.nm.current);
    begin_starts(&s);
    add_start(&s, tokens_sign(&a, &w.keys.container.current));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(start(&w, &s)->n_done, 1);
        nm_yarn_cm_server_set_rm(w.cm_server, TOKENS_RM + 1); /* the token was valid for the earlier nmd */
    }
    connect_as(&w, &other, &w.keys.nm.current);
    assert_int_equal(start(&w, &s)->n_refused, 1);
    assert_calls(&w, "");
    tokens_done(&a);
    tear_down(&w);
}

/* The key of an attempt is saved before the attempt learns that its first container was started. */
static void test_the_key_of_an_attempt_is_saved_before_the_answer(void **state)
{
    char dir[] = "/tmp/nmd-test-cm-protocol.XXXXXX", file[80];
    struct nm_yarn_key_store *key_store;
    struct tokens_id caller, a, b;
    struct starts s;
    struct cm_fixture w;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(file, sizeof file, "%s/" NM_YARN_KEY_STORE_FILE, dir);
    set_up(&w);
    assert_int_equal(nm_yarn_key_store_new(dir, &w.keys, w.keyring, w.used, &key_store), 0);
    nm_yarn_cm_server_set_key_store(w.cm_server, key_store);
    tokens_make(&caller, 1, 1, 1, w.later_msec);
    tokens_make(&a, 1, 1, 2, w.later_msec);
    tokens_make(&b, 1, 1, 3, w.later_msec);
    connect_as(&w, &caller, &w.keys.nm.current);
    begin_starts(&s);
    add_start(&s, tokens_sign(&a, &w.keys.container.current));
    assert_int_equal(start(&w, &s)->n_done, 1);
    assert_int_equal(unlink(file), 0);
    begin_starts(&s);
    add_start(&s, tokens_sign(&b, &w.keys.container.current));
    assert_int_equal(start(&w, &s)->n_done, 1);
    assert_int_equal(access(file, F_OK), -1); /* the key is the same */
    tokens_done(&a);
    tokens_done(&b);
    nm_yarn_key_store_free(key_store);
    tear_down(&w);
    remove_tree(dir);
}

/* ---- starts of application masters on a node with a proxy --------------------------------- */

struct masters {
    struct nm_yarn_master_hooks ops;
    unsigned begun, abandoned;
    int result;
    char tokens[40];
};

static int on_begin(void *userdata, const Hadoop__ContainerTokenIdentifier *token, const Yarn__LaunchContext *context,
                    struct nm_arena *a, const Yarn__LaunchContext **ret, struct nm_exception *why)
{
    Yarn__LaunchContext *made = nm_arena_alloc(a, sizeof *made);
    struct masters *m = userdata;

    assert_non_null(made);
    m->begun++;
    (void)snprintf(m->tokens, sizeof m->tokens, "%.*s for %s", (int)context->tokens.len,
                   context->has_tokens ? (const char *)context->tokens.data : "", token->submitter);
    *made = *context;
    made->has_tokens = 1;
    made->tokens = (ProtobufCBinaryData){4, (uint8_t *)"ours"};
    *ret = made;
    nm_exception_set(why, 0, NM_EXCEPTION_YARN, "no token among them");
    return m->result;
}

static void on_abandon(void *userdata, const Hadoop__ContainerTokenIdentifier *token)
{
    struct masters *m = userdata;

    (void)token;
    m->abandoned++;
}

#define MASTER HADOOP__CONTAINER_TOKEN_IDENTIFIER__CONTAINER_TYPE__APPLICATION_MASTER
#define STARTS_MASTER "start container_1410901177871_0001_01_000001 for ada, 1 bytes, echo"

/* An application master is launched with the launch context that the proxy has changed. Other containers are launched
 * with the original context. */
static void test_an_application_master_is_launched_with_the_context_of_the_proxy(void **state)
{
    struct masters m = {.ops = {on_begin, on_abandon, &m}};
    const Yarn__StartAnswer *answer;
    struct tokens_id caller, a, b;
    struct starts s;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 1, w.later_msec);
    tokens_make(&a, 1, 1, 1, w.later_msec);
    tokens_make(&b, 1, 1, 2, w.later_msec);
    a.token.has_container_type = 1;
    a.token.container_type = MASTER;
    connect_as(&w, &caller, &w.keys.nm.current);
    begin_starts(&s);
    s.context.has_tokens = 1;
    s.context.tokens = (ProtobufCBinaryData){6, (uint8_t *)"theirs"};
    add_start(&s, tokens_sign(&a, &w.keys.container.current));
    nm_yarn_cm_server_set_master_hooks(w.cm_server, &m.ops);

    m.result = NM_YARN_REFUSED; /* the proxy refuses: no container is started, and the proxy has no start to abandon */
    answer = start(&w, &s);
    assert_int_equal(answer->n_refused, 1);
    assert_string_equal(answer->refused[0]->why->message, "no token among them");
    assert_calls(&w, "");
    assert_int_equal(m.abandoned, 0);
    m.result = 0;
    w.node.result = -ENOSPC;
    assert_int_equal(start(&w, &s)->n_refused, 1);
    assert_calls(&w, STARTS_MASTER " with ours\n");
    assert_int_equal(m.begun, 2);
    assert_int_equal(m.abandoned, 1);
    w.node.result = 0;

    add_start(&s, tokens_sign(&b, &w.keys.container.current));
    assert_int_equal(start(&w, &s)->n_done, 2);
    assert_calls(&w, STARTS_MASTER " with ours\nstart container_1410901177871_0001_01_000002 for ada, 1 bytes, echo "
                     "with theirs\n");
    assert_string_equal(m.tokens, "theirs for ada");
    assert_int_equal(m.begun, 3);
    assert_int_equal(start(&w, &s)->n_refused, 2); /* a token is valid for only one start */
    assert_int_equal(m.begun, 3);
    assert_int_equal(m.abandoned, 1);
    tokens_done(&a);
    tokens_done(&b);
    tear_down(&w);
}

/* The proxy decides whether an application master without credentials is started. Without a proxy, such an application
 * master is started like any other container. */
static void test_the_proxy_decides_on_an_application_master_without_credentials(void **state)
{
    struct masters m = {.ops = {on_begin, on_abandon, &m}, .result = -EIO};
    struct tokens_id caller, a;
    struct starts s;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 1, w.later_msec);
    tokens_make(&a, 1, 1, 1, w.later_msec);
    a.token.has_container_type = 1;
    a.token.container_type = MASTER;
    connect_as(&w, &caller, &w.keys.nm.current);
    begin_starts(&s);
    add_start(&s, tokens_sign(&a, &w.keys.container.current));
    nm_yarn_cm_server_set_master_hooks(w.cm_server, &m.ops);
    assert_int_equal(start(&w, &s)->n_refused, 1);
    assert_string_equal(m.tokens, " for ada");
    assert_calls(&w, "");
    nm_yarn_cm_server_set_master_hooks(w.cm_server, &(struct nm_yarn_master_hooks){});
    assert_int_equal(start(&w, &s)->n_done, 1);
    assert_calls(&w, STARTS_MASTER "\n");
    tokens_done(&a);
    tear_down(&w);
}

/* ---- authentication ----------------------------------------------------------------------- */

static void assert_caller_refused(struct cm_fixture *w, struct tokens_id *t, const struct nm_yarn_master_key *key,
                                  const char *class_name)
{
    Yarn__Ids request = YARN__IDS__INIT;

    connect_as(w, t, key);
    assert_null(call(w, "stopContainers", &request.base, &yarn__outcome__descriptor));
    assert_int_equal(w->error, -EACCES);
    assert_string_equal(w->why.class_name, class_name);
}

static void test_only_a_valid_token_is_accepted(void **state)
{
    struct tokens_id t;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&t, 1, 1, 1, w.later_msec);
    assert_caller_refused(&w, &t, &w.keys.container.current, NM_EXCEPTION_SASL);
    t.nm.key_id = 77;
    assert_caller_refused(&w, &t, &w.keys.nm.current, NM_EXCEPTION_INVALID_TOKEN);
    t.nm.key_id = TOKENS_NM_KEY;
    t.node.port++;
    assert_caller_refused(&w, &t, &w.keys.nm.current, NM_EXCEPTION_INVALID_TOKEN);
    tokens_make(&t, 1, 1, 1, w.later_msec);
    w.keys.nm.current.size = 0;
    assert_caller_refused(&w, &t, &w.keys.nm.current, NM_EXCEPTION_NOT_YET_READY);
    assert_calls(&w, "");
    tear_down(&w);
}

/* An attempt that has started a container on this node may continue to use its old NMToken key. */
static void test_an_attempt_with_a_container_may_use_its_old_key(void **state)
{
    struct nm_yarn_master_key old = tokens_key(TOKENS_NM_KEY, 50);
    Yarn__Ids request = YARN__IDS__INIT;
    struct tokens_id caller, a;
    struct starts s;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 1, w.later_msec);
    tokens_make(&a, 1, 1, 2, w.later_msec);
    connect_as(&w, &caller, &old);
    begin_starts(&s);
    add_start(&s, tokens_sign(&a, &w.keys.container.current));
    assert_int_equal(start(&w, &s)->n_done, 1);
    tokens_done(&a);
    w.keys.nm.previous = tokens_key(100, 100);
    w.keys.nm.current = tokens_key(101, 110);
    connect_as(&w, &caller, &old);
    assert_non_null(call(&w, "stopContainers", &request.base, &yarn__outcome__descriptor));
    tokens_make(&caller, 1, 2, 1, w.later_msec);
    assert_caller_refused(&w, &caller, &old, NM_EXCEPTION_INVALID_TOKEN);
    tear_down(&w);
}

/* ---- requests about containers of the node ------------------------------------------------ */

static void test_calls_with_incomplete_ids_are_refused(void **state)
{
    Yarn__Ids request = YARN__IDS__INIT;
    struct tokens_id caller, own, other, half;
    Hadoop__ContainerId *list[] = {&own.container, &other.container, &half.container};
    const Yarn__LocalizationAnswer *localization;
    const Yarn__StatusAnswer *statuses;
    const Yarn__Outcome *outcome;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 2, 1, w.later_msec);
    tokens_ids(&own, 1, 1, 7);
    tokens_ids(&other, 2, 1, 7);
    tokens_ids(&half, 1, 1, 7);
    half.container.attempt = NULL;
    connect_as(&w, &caller, &w.keys.nm.current);
    request.ids = list;
    request.n_ids = 3;
    outcome = call(&w, "stopContainers", &request.base, &yarn__outcome__descriptor);
    assert_calls(&w, "stop container_1410901177871_0001_01_000007 with -105\n");
    assert_int_equal(outcome->n_done, 1);
    assert_int_equal(outcome->n_refused, 2);
    assert_int_equal(outcome->refused[0]->id->attempt->application->id, 2);
    statuses = call(&w, "getContainerStatuses", &request.base, &yarn__status_answer__descriptor);
    assert_calls(&w, "status container_1410901177871_0001_01_000007\n");
    assert_int_equal(statuses->n_statuses, 1);
    assert_int_equal(statuses->n_refused, 2);
    localization = call(&w, "getLocalizationStatuses", &request.base, &yarn__localization_answer__descriptor);
    assert_calls(&w, "localization container_1410901177871_0001_01_000007\n");
    assert_int_equal(localization->n_containers, 1);
    assert_int_equal(localization->n_refused, 2);
    w.node.result = NM_YARN_REFUSED;
    nm_exception_set(&w.node.why, 0, NM_EXCEPTION_YARN, "who?");
    request.n_ids = 1;
    statuses = call(&w, "getContainerStatuses", &request.base, &yarn__status_answer__descriptor);
    assert_int_equal(statuses->n_statuses, 0);
    assert_string_equal(statuses->refused[0]->why->message, "who?");
    tear_down(&w);
}

static void ask_for_many(struct cm_fixture *w, size_t n)
{
    Hadoop__ContainerId **list = calloc(n, sizeof *list);
    Yarn__Ids request = YARN__IDS__INIT;
    struct tokens_id own;

    tokens_ids(&own, 1, 1, 7);
    for (size_t i = 0; i < n; i++)
        list[i] = &own.container;
    request.ids = list;
    request.n_ids = n;
    (void)call(w, "getContainerStatuses", &request.base, &yarn__status_answer__descriptor);
    free(list);
}

static void test_too_many_containers_are_refused(void **state)
{
    struct tokens_id caller;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 1, w.later_msec);
    connect_as(&w, &caller, &w.keys.nm.current);
    ask_for_many(&w, 1000);
    assert_int_equal(((Yarn__StatusAnswer *)w.answer)->n_statuses, 1000);
    w.node.calls[0] = '\0';
    ask_for_many(&w, 1001);
    assert_null(w.answer);
    assert_non_null(strstr(w.why.message, "at most 1000"));
    assert_calls(&w, "");
    tear_down(&w);
}

static void test_an_update_request_reaches_the_node(void **state)
{
    Yarn__UpdateRequest request = YARN__UPDATE_REQUEST__INIT;
    struct tokens_id caller, a, b;
    Hadoop__Token *list[2];
    const Yarn__Outcome *outcome;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 1, w.later_msec);
    tokens_make(&a, 1, 1, 2, w.later_msec);
    tokens_make(&b, 2, 1, 2, w.later_msec);
    list[0] = tokens_sign(&a, &w.keys.container.current);
    list[1] = tokens_sign(&b, &w.keys.container.current);
    request.tokens = list;
    request.n_tokens = 2;
    connect_as(&w, &caller, &w.keys.nm.current);
    for (int i = 0; i < 2; i++) {
        outcome = call(&w, i ? "increaseContainersResource" : "updateContainer", &request.base,
                       &yarn__outcome__descriptor);
        assert_int_equal(outcome->n_done, 1);
        assert_int_equal(outcome->n_refused, 1);
        assert_calls(&w, "update container_1410901177871_0001_01_000002 to 1024\n");
    }
    b.message.password.data[0] ^= 1;
    assert_null(call(&w, "updateContainer", &request.base, &yarn__outcome__descriptor));
    assert_string_equal(w.why.class_name, NM_EXCEPTION_INVALID_TOKEN);
    assert_calls(&w, "");
    tokens_done(&a);
    tokens_done(&b);
    tear_down(&w);
}

/* ---- requests for one container ----------------------------------------------------------- */

static void ask(struct cm_fixture *w, const char *method, const ProtobufCMessage *request, const char *calls)
{
    assert_non_null(call(w, method, request, &yarn__nothing__descriptor));
    assert_calls(w, calls);
}

#define OWN "container_1410901177871_0001_01_000007"

static void test_each_request_for_one_container_reaches_the_node(void **state)
{
    Yarn__ReinitializeRequest again = YARN__REINITIALIZE_REQUEST__INIT;
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    Yarn__LocalizeRequest more = YARN__LOCALIZE_REQUEST__INIT;
    Yarn__SignalRequest signal = YARN__SIGNAL_REQUEST__INIT;
    struct tokens_id caller, own;
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 1, w.later_msec);
    tokens_ids(&own, 1, 1, 7);
    connect_as(&w, &caller, &w.keys.nm.current);
    signal.id = more.id = again.id = &own.container;
    signal.command = 2;
    again.context = &context;
    ask(&w, "signalToContainer", &signal.base, "signal " OWN " with 2\n");
    ask(&w, "localize", &more.base, "localize " OWN "\n");
    ask(&w, "reInitializeContainer", &again.base, "reinitialize " OWN "\n");
    ask(&w, "restartContainer", &own.container.base, "restart " OWN "\n");
    ask(&w, "rollbackLastReInitialization", &own.container.base, "roll back " OWN "\n");
    ask(&w, "commitLastReInitialization", &own.container.base, "commit " OWN "\n");
    again.context = NULL;
    assert_null(call(&w, "reInitializeContainer", &again.base, &yarn__nothing__descriptor));
    more.id = NULL;
    assert_null(call(&w, "localize", &more.base, &yarn__nothing__descriptor));
    assert_string_equal(w.why.class_name, NM_EXCEPTION_YARN);
    own.application.id = 2;
    assert_null(call(&w, "restartContainer", &own.container.base, &yarn__nothing__descriptor));
    assert_null(call(&w, "signalToContainer", &signal.base, &yarn__nothing__descriptor));
    assert_calls(&w, "");
    own.application.id = 1;
    w.node.result = NM_YARN_REFUSED;
    nm_exception_set(&w.node.why, 0, NM_EXCEPTION_YARN, "not now");
    assert_null(call(&w, "restartContainer", &own.container.base, &yarn__nothing__descriptor));
    assert_string_equal(w.why.message, "not now");
    tear_down(&w);
}

/* ---- actions that the ResourceManager requests -------------------------------------------- */

static void test_actions_requested_by_the_resourcemanager_reach_the_node(void **state)
{
    Yarn__HeartbeatResponse answer = YARN__HEARTBEAT_RESPONSE__INIT;
    Yarn__SignalRequest signal = YARN__SIGNAL_REQUEST__INIT, *signals[] = {&signal};
    Yarn__Container grown = YARN__CONTAINER__INIT, forged = grown, bare = grown, *updates[] = {&grown, &forged, &bare};
    struct tokens_id own, other, half, a, b;
    Hadoop__ContainerId *containers[] = {&own.container, &half.container, &other.container};
    Hadoop__ApplicationId *applications[] = {&own.application, &half.application};
    struct cm_fixture w;

    (void)state;
    set_up(&w);
    tokens_ids(&own, 1, 1, 7);
    tokens_ids(&other, 2, 1, 8);
    tokens_ids(&half, 3, 1, 9);
    half.application.has_id = 0;
    tokens_make(&a, 1, 1, 7, w.later_msec);
    tokens_make(&b, 1, 1, 8, w.later_msec);
    grown.token = tokens_sign(&a, &w.keys.container.current);
    forged.token = tokens_sign(&b, &w.keys.nm.current);
    signal.id = &own.container;
    signal.command = 1;
    answer.containers_to_end = answer.containers_acknowledged = containers;
    answer.n_containers_to_end = answer.n_containers_acknowledged = 3;
    answer.applications_to_end = applications;
    answer.n_applications_to_end = 2;
    answer.containers_to_signal = signals;
    answer.n_containers_to_signal = 1;
    answer.containers_to_update = updates;
    answer.n_containers_to_update = 3;
    nm_yarn_apply_response(&w.node, w.cm_server, &answer);
    assert_calls(&w, "acknowledge " OWN "\nacknowledge container_1410901177871_0002_01_000008\n"
                     "stop " OWN " with -106\nstop container_1410901177871_0002_01_000008 with -106\n"
                     "end application 1\nsignal " OWN " with 1\nupdate " OWN " to 1024\n");
    tokens_done(&a);
    tokens_done(&b);
    tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_start_request_reaches_the_node),
        cmocka_unit_test(test_a_call_with_a_forged_token_is_refused_as_a_whole),
        cmocka_unit_test(test_a_refused_start_can_be_repeated_with_the_same_token),
        cmocka_unit_test(test_a_call_waits_for_the_containers_of_a_lost_node),
        cmocka_unit_test(test_a_start_whose_answer_was_lost_can_be_repeated),
        cmocka_unit_test(test_the_key_of_an_attempt_is_saved_before_the_answer),
        cmocka_unit_test(test_an_application_master_is_launched_with_the_context_of_the_proxy),
        cmocka_unit_test(test_the_proxy_decides_on_an_application_master_without_credentials),
        cmocka_unit_test(test_only_a_valid_token_is_accepted),
        cmocka_unit_test(test_an_attempt_with_a_container_may_use_its_old_key),
        cmocka_unit_test(test_calls_with_incomplete_ids_are_refused),
        cmocka_unit_test(test_too_many_containers_are_refused),
        cmocka_unit_test(test_an_update_request_reaches_the_node),
        cmocka_unit_test(test_each_request_for_one_container_reaches_the_node),
        cmocka_unit_test(test_actions_requested_by_the_resourcemanager_reach_the_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
