/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ContainerManagementProtocol with too little memory for a call, at each point of the call. Each call ends once, with a
 * complete answer or with a refusal after which the caller can retry. A valid token is never reported as invalid. The
 * test replaces the server by one without connections.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail-nth.h"
#include "fake-yarn-node.h"
#include "rpc/hadoop/digest.h"
#include "rpc/hadoop/server.h"
#include "util/clock.h"
#include "yarn-tokens.h"
#include "yarn/exceptions.h"
#include "yarn/cm-protocol/cm-call.h"

/* ---- a server ----------------------------------------------------------------------------- */

struct nm_hadoop_server {
    struct nm_hadoop_server_options options;
};

struct nm_hadoop_call {
    struct nm_arena arena;
    const ProtobufCMessage *request;
    struct nm_bytes identifier;
    unsigned n_answers, n_refusals;
    size_t answer_size;
    struct nm_exception why;
};

int nm_hadoop_server_new(sd_event *event, int listen_fd, const struct nm_hadoop_server_options *options,
                         struct nm_hadoop_server **ret)
{
    struct nm_hadoop_server *s = malloc(sizeof *s);

    (void)event;
    (void)close(listen_fd);
    if (!s)
        return -ENOMEM;
    s->options = *options;
    *ret = s;
    return 0;
}

struct nm_hadoop_server *nm_hadoop_server_free(struct nm_hadoop_server *s)
{
    free(s);
    return NULL;
}

const ProtobufCMessage *nm_hadoop_call_request(const struct nm_hadoop_call *call)
{
    return call->request;
}

struct nm_bytes nm_hadoop_call_identifier(const struct nm_hadoop_call *call)
{
    return call->identifier;
}

struct nm_arena *nm_hadoop_call_arena(struct nm_hadoop_call *call)
{
    return &call->arena;
}

void nm_hadoop_call_answer(struct nm_hadoop_call *call, const ProtobufCMessage *answer)
{
    call->n_answers++;
    call->answer_size = protobuf_c_message_get_packed_size(answer); /* checks that the answer is complete */
}

void nm_hadoop_call_refuse(struct nm_hadoop_call *call, const struct nm_exception *why)
{
    call->n_refusals++;
    call->why = *why;
}

/* ---- the data of a test ------------------------------------------------------------------- */

struct fixture {
    struct nm_yarn_cluster_keys keys;
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_node node;
    struct nm_yarn_cm_server *cm_server;
    struct tokens_id caller, good, strange;
    Hadoop__ContainerId *ids[2];
    /* the call that is tested */
    const char *method;
    const ProtobufCMessage *request;
    size_t size; /* size of the answer if the memory isn't limited */
};

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    tokens_cluster(&w->keys);
    assert_int_equal(nm_yarn_keyring_new(&w->keys, &w->keyring), 0);
    assert_int_equal(nm_yarn_used_new(&w->used), 0);
    assert_int_equal(nm_yarn_cm_server_new(NULL, -EBADF, w->keyring, w->used, &w->node, &w->cm_server), 0);
    nm_yarn_cm_server_set_node(w->cm_server, TOKENS_HOST, TOKENS_PORT);
    nm_yarn_cm_server_set_rm(w->cm_server, TOKENS_RM);
    tokens_make(&w->caller, 1, 1, 1, INT64_MAX);
    tokens_make(&w->good, 1, 1, 7, INT64_MAX);
    tokens_make(&w->strange, 2, 1, 8, INT64_MAX);
    tokens_sign_nm(&w->caller, &w->keys.nm.current);
    (void)tokens_sign(&w->good, &w->keys.container.current);
    (void)tokens_sign(&w->strange, &w->keys.container.current);
    w->ids[0] = &w->good.container;
    w->ids[1] = &w->strange.container;
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    tokens_done(&w->caller);
    tokens_done(&w->good);
    tokens_done(&w->strange);
    nm_yarn_cm_server_free(w->cm_server);
    nm_yarn_used_free(w->used);
    nm_yarn_keyring_free(w->keyring);
    free(w);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static void handle(struct fixture *w, struct nm_hadoop_call *call)
{
    const struct nm_hadoop_protocol *p = w->cm_server->server->options.protocols;

    w->node.calls[0] = '\0';
    for (size_t i = 0; i < p->n_methods; i++)
        if (nm_streq(p->methods[i].name, w->method)) {
            p->methods[i].handle(call, w->cm_server);
            return;
        }
    fail_msg("there is no method %s", w->method);
}

/* Makes the call. Returns the size of its answer, or 0 after a refusal, whose reason is stored in *ret_why. */
static size_t call_with(struct fixture *w, size_t limit, struct nm_exception *ret_why)
{
    struct nm_hadoop_call call = {.request = w->request, .identifier = w->caller.signed_nm->identifier};
    unsigned kinds;

    nm_arena_init(&call.arena, limit, NULL);
    handle(w, &call);
    kinds = fail_pause();
    nm_arena_done(&call.arena);
    assert_int_equal(call.n_answers + call.n_refusals, 1);
    *ret_why = call.why;
    /* Removes all tokens from the table of used tokens, so that each attempt is the first one with its token. */
    if (nm_streq(w->method, "startContainers")) {
        nm_yarn_used_free(w->used);
        assert_int_equal(nm_yarn_used_new(&w->used), 0);
        w->cm_server->used = w->used;
        w->cm_server->gate.used = w->used;
    }
    fail_resume(kinds);
    return call.n_answers ? call.answer_size : 0;
}

static void call_without_memory(void *userdata)
{
    struct fixture *w = userdata;
    struct nm_exception why;
    size_t size = call_with(w, NM_MIB, &why);

    if (size == 0)
        assert_true(nm_streq(why.class_name, NM_EXCEPTION_RETRY) || nm_streq(why.class_name, NM_EXCEPTION_YARN));
    else if (!nm_streq(w->method, "startContainers") && !nm_streq(w->method, "updateContainer"))
        assert_int_equal(size, w->size);
}

/* Repeats the call with arenas of increasing size until one is large enough. Then repeats the call with failing
 * allocations. */
static void each(struct fixture *w, const char *method, const ProtobufCMessage *request)
{
    struct nm_exception why;
    unsigned refused = 0;

    w->method = method;
    w->request = request;
    w->size = call_with(w, NM_MIB, &why);
    for (size_t limit = 0; call_with(w, limit, &why) != w->size; limit += 16) {
        assert_true(limit < 100000);
        refused++;
    }
    assert_true(refused > 10);
    assert_true(fail_each_of(FAIL_MEMORY, call_without_memory, w) > 0);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void test_a_call_for_several_containers_without_memory_is_an_error(void **state)
{
    Yarn__Ids request = YARN__IDS__INIT;
    struct fixture *w = *state;

    request.ids = w->ids; /* one of the two ids is answered, and the other one is refused */
    request.n_ids = 2;
    each(w, "stopContainers", &request.base);
    each(w, "getContainerStatuses", &request.base);
    each(w, "getLocalizationStatuses", &request.base);
}

static void test_a_request_without_memory_is_an_error(void **state)
{
    Yarn__ReinitializeRequest again = YARN__REINITIALIZE_REQUEST__INIT;
    Yarn__LocalizeRequest more = YARN__LOCALIZE_REQUEST__INIT;
    Yarn__SignalRequest signal = YARN__SIGNAL_REQUEST__INIT;
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    struct nm_exception why;
    struct fixture *w = *state;

    again.id = more.id = signal.id = w->ids[0];
    again.context = &context;
    w->method = "restartContainer";
    w->request = &w->ids[0]->base;
    assert_int_equal(call_with(w, 0, &why), 0);
    assert_string_equal(why.class_name, NM_EXCEPTION_RETRY);
    assert_string_equal(w->node.calls, "");
    w->method = "reInitializeContainer";
    w->request = &again.base;
    assert_int_equal(call_with(w, 0, &why), 0);
    assert_string_equal(why.class_name, NM_EXCEPTION_RETRY);
    w->method = "localize";
    w->request = &more.base;
    assert_int_equal(call_with(w, 0, &why), 0);
    w->method = "signalToContainer";
    w->request = &signal.base;
    assert_int_equal(call_with(w, 0, &why), 0);
    assert_string_equal(w->node.calls, "");
}

static void test_a_start_without_memory_starts_no_container(void **state)
{
    Yarn__StartRequest request = YARN__START_REQUEST__INIT;
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    Yarn__StartOne one[] = {YARN__START_ONE__INIT, YARN__START_ONE__INIT}, *list[] = {&one[0], &one[1]};
    struct fixture *w = *state;

    one[0].context = one[1].context = &context;
    one[0].token = &w->good.message;
    one[1].token = &w->strange.message;
    request.starts = list;
    request.n_starts = 2;
    each(w, "startContainers", &request.base);
}

static void test_an_update_without_memory_does_not_change_the_container(void **state)
{
    Yarn__UpdateRequest request = YARN__UPDATE_REQUEST__INIT;
    struct fixture *w = *state;
    Hadoop__Token *tokens[] = {&w->good.message, &w->strange.message};

    request.tokens = tokens;
    request.n_tokens = 2;
    each(w, "updateContainer", &request.base);
}

/* The number of containers in a call is limited, whatever the size of the arena. */
static void test_too_many_containers_are_refused(void **state)
{
    Yarn__UpdateRequest update = YARN__UPDATE_REQUEST__INIT;
    Yarn__StartRequest start = YARN__START_REQUEST__INIT;
    struct fixture *w = *state;
    struct nm_exception why;

    update.n_tokens = start.n_starts = NM_CM_CONTAINERS_MAX + 1;
    w->method = "updateContainer";
    w->request = &update.base;
    assert_int_equal(call_with(w, NM_MIB, &why), 0);
    assert_string_equal(why.message, "A call may name at most 1000 containers.");
    w->method = "startContainers";
    w->request = &start.base;
    assert_int_equal(call_with(w, NM_MIB, &why), 0);
    assert_string_equal(why.message, "A call may name at most 1000 containers.");
    nm_yarn_cm_server_set_rm(w->cm_server, 0);
    update.n_tokens = 0;
    w->method = "updateContainer";
    w->request = &update.base;
    assert_int_equal(call_with(w, NM_MIB, &why), 0);
    assert_string_equal(why.class_name, NM_EXCEPTION_NOT_YET_READY);
}

/* ---- authentication ----------------------------------------------------------------------- */

static void look_up(void *userdata)
{
    struct fixture *w = userdata;
    struct nm_sasl_bearer bearer = {.password_size = 77};
    struct nm_exception why;
    int r = w->cm_server->server->options.lookup(w->cm_server, w->caller.signed_nm->identifier, &bearer, &why);

    if (r < 0) {
        assert_int_equal(r, -EKEYREJECTED);
        assert_string_equal(why.class_name, NM_EXCEPTION_RETRY);
        return;
    }
    assert_int_equal(bearer.password_size, NM_DIGEST_SIZE);
    assert_memory_equal(bearer.password, w->caller.signed_nm->password.data, NM_DIGEST_SIZE);
    assert_string_equal(bearer.user, "appattempt_1410901177871_0001_000001");
}

/* A lack of memory isn't reported as an invalid token, since a caller can't get another token. */
static void test_a_lack_of_memory_is_not_reported_as_an_invalid_token(void **state)
{
    assert_true(fail_each_of(FAIL_MEMORY, look_up, *state) > 0);
}

static int make(void *userdata)
{
    struct nm_yarn_cm_server *const untouched = userdata, *m = untouched;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int r = nm_yarn_cm_server_new(NULL, fd, NULL, NULL, NULL, &m);

    assert_int_equal(fcntl(fd, F_GETFD), -1); /* nm_yarn_cm_server_new() takes over the descriptor, also if it fails */
    if (r < 0)
        assert_ptr_equal(m, untouched);
    else
        nm_yarn_cm_server_free(m);
    return r;
}

static void test_a_server_without_memory_is_not_made(void **state)
{
    assert_int_equal(fail_each(make, *state), 2);
}

/* ---- keys --------------------------------------------------------------------------------- */

static int remember(void *userdata)
{
    struct fixture *w = userdata;
    const uint64_t changes = nm_yarn_keyring_changes(w->keyring);
    int r = nm_yarn_keyring_add(w->keyring, &w->caller.nm);

    assert_int_equal(nm_yarn_keyring_changes(w->keyring), changes + (r == 0));
    return r;
}

static void test_a_key_without_memory_is_not_remembered(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(fail_each(remember, w), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_call_for_several_containers_without_memory_is_an_error),
        TEST(test_a_request_without_memory_is_an_error),
        TEST(test_a_start_without_memory_starts_no_container),
        TEST(test_an_update_without_memory_does_not_change_the_container),
        TEST(test_too_many_containers_are_refused),
        TEST(test_a_lack_of_memory_is_not_reported_as_an_invalid_token),
        TEST(test_a_server_without_memory_is_not_made),
        TEST(test_a_key_without_memory_is_not_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
