/* SPDX-License-Identifier: Apache-2.0 */

/* The next step of a node after each answer of its ResourceManager, and after a request without an answer. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/hadoop/arena.h"
#include "util/error.h"
#include "yarn/state.h"

#define RETRY_MAX (30 * NM_USEC_PER_SEC)

static uint8_t key_bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};

struct answers {
    Yarn__RegisterResponse registered;
    Yarn__HeartbeatResponse beat;
    Yarn__MasterKey container_key, nm_key;
    Hadoop__Resource resource;
    Yarn__QueuingLimit limit;
};

static void make_key(Yarn__MasterKey *k, int32_t id)
{
    *k = (Yarn__MasterKey)YARN__MASTER_KEY__INIT;
    k->has_id = k->has_key = 1;
    k->id = id;
    k->key = (ProtobufCBinaryData){sizeof key_bytes, key_bytes};
}

/* Makes the answers of a ResourceManager that works normally. */
static void make_answers(struct answers *a)
{
    a->registered = (Yarn__RegisterResponse)YARN__REGISTER_RESPONSE__INIT;
    a->beat = (Yarn__HeartbeatResponse)YARN__HEARTBEAT_RESPONSE__INIT;
    a->limit = (Yarn__QueuingLimit)YARN__QUEUING_LIMIT__INIT;
    a->resource = (Hadoop__Resource)HADOOP__RESOURCE__INIT;
    make_key(&a->container_key, -7);
    make_key(&a->nm_key, 9);
    a->registered.container_token_key = &a->container_key;
    a->registered.nm_token_key = &a->nm_key;
    a->registered.has_action = a->registered.has_rm_identifier = 1;
    a->registered.action = YARN__ACTION__NORMAL;
    a->registered.rm_identifier = 1410901177871;
    a->registered.rm_version = (char *)"3.4.2";
    a->beat.has_action = a->beat.has_response_id = a->beat.has_next_msec = 1;
    a->beat.action = YARN__ACTION__NORMAL;
    a->beat.response_id = 1;
    a->beat.next_msec = 500;
}

static void assert_step(struct nm_yarn_step step, enum nm_yarn_due task, uint64_t after_usec, bool reconnect)
{
    assert_int_equal(step.task, task);
    assert_int_equal(step.after_usec, after_usec);
    assert_int_equal(step.reconnect, reconnect);
}

/* Makes the state of a node after a registration and n answered heartbeats. */
static void begin(struct nm_yarn_state *s, struct answers *a, int32_t n)
{
    make_answers(a);
    nm_yarn_state_init(s, RETRY_MAX);
    assert_step(nm_yarn_state_registered(s, &a->registered, 0), NM_YARN_HEARTBEAT, 0, false);
    for (int32_t i = 1; i <= n; i++) {
        a->beat.response_id = i;
        assert_step(nm_yarn_state_answered(s, &a->beat, 0), NM_YARN_HEARTBEAT, 500 * NM_USEC_PER_MSEC, false);
        assert_int_equal(s->response_id, i);
    }
}

static void test_heartbeats_follow_the_registration(void **state)
{
    struct nm_yarn_state s;
    struct answers a;

    (void)state;
    begin(&s, &a, 3);
    assert_int_equal(s.phase, NM_YARN_RUNNING);
    assert_int_equal(s.rm_identifier, 1410901177871);
    assert_string_equal(s.rm_version, "3.4.2");
    assert_int_equal(s.keys.container.current.id, -7);
    assert_int_equal(s.keys.container.previous.size, 0);
    assert_int_equal(s.keys.nm.current.id, 9);
    assert_memory_equal(s.keys.nm.current.bytes, key_bytes, sizeof key_bytes);
    assert_int_equal(s.queue_max_length, -1);
    s.response_id = INT32_MAX;
    a.beat.response_id = 0;
    assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_HEARTBEAT, 500 * NM_USEC_PER_MSEC, false);
    assert_int_equal(s.response_id, 0);
}

/* The next key becomes the current key. The ResourceManager repeats the next key until it is in use. After two further
 * keys, the first key is no longer known. */
static void test_the_next_key_becomes_the_current_one(void **state)
{
    struct nm_yarn_state s;
    Yarn__MasterKey next;
    struct answers a;

    (void)state;
    begin(&s, &a, 0);
    for (int32_t i = 1; i <= 4; i++) {
        make_key(&next, -7 + (i + 1) / 2);
        a.beat.container_token_key = &next;
        a.beat.response_id = i;
        (void)nm_yarn_state_answered(&s, &a.beat, 0);
        assert_int_equal(s.keys.container.current.id, -7 + (i + 1) / 2);
        assert_int_equal(s.keys.container.previous.id, -7 + (i + 1) / 2 - 1);
    }
    assert_int_equal(s.keys.nm.current.id, 9);
    next.key.len = NM_YARN_KEY_MAX + 1; /* a key that is too large is ignored */
    next.id = 100;
    a.beat.response_id = 5;
    (void)nm_yarn_state_answered(&s, &a.beat, 0);
    assert_int_equal(s.keys.container.current.id, -5);
}

static void test_lists_in_an_answer_are_applied(void **state)
{
    struct nm_yarn_state s;
    struct answers a;

    (void)state;
    begin(&s, &a, 0);
    a.resource.has_memory = a.resource.has_vcores = 1;
    a.resource.memory = 2048;
    a.resource.vcores = 3;
    a.beat.resource = &a.resource;
    a.limit.has_max_length = a.limit.has_max_wait_msec = 1;
    a.limit.max_length = 5;
    a.limit.max_wait_msec = -1;
    a.beat.queuing_limit = &a.limit;
    a.beat.has_token_sequence = 1;
    a.beat.token_sequence = 42;
    (void)nm_yarn_state_answered(&s, &a.beat, 0);
    assert_int_equal(s.memory_mib, 2048);
    assert_int_equal(s.vcores, 3);
    assert_int_equal(s.queue_max_length, 5);
    assert_int_equal(s.token_sequence, 42);
    /* the size is unchanged until the ResourceManager sets another one; a registration resets the queue limit */
    a.beat.resource = NULL;
    a.beat.queuing_limit = NULL;
    a.beat.response_id = 2;
    (void)nm_yarn_state_answered(&s, &a.beat, 0);
    assert_int_equal(s.memory_mib, 2048);
    assert_int_equal(s.queue_max_length, 5);
    (void)nm_yarn_state_registered(&s, &a.registered, 0);
    assert_int_equal(s.memory_mib, 2048);
    assert_int_equal(s.queue_max_length, -1);
    assert_int_equal(s.token_sequence, 0);
}

/* The interval between heartbeats is limited to a reasonable range. */
static void test_the_interval_between_heartbeats_is_limited(void **state)
{
    static const struct {
        int64_t msec;
        uint64_t usec;
    } cases[] = {{50, 50000}, {1, 10000}, {0, NM_USEC_PER_SEC}, {-1, NM_USEC_PER_SEC}, {86400000, 600000000},
                 {INT64_MAX, NM_USEC_PER_SEC}, {INT64_MIN, NM_USEC_PER_SEC}};
    struct nm_yarn_state s;
    struct answers a;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        begin(&s, &a, 0);
        a.beat.next_msec = cases[i].msec;
        assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_HEARTBEAT, cases[i].usec, false);
    }
}

/* A request without an answer is repeated with the same response id over a new connection. The delays increase up to a
 * maximum, and the node never stops trying. */
static void test_after_a_lost_answer_the_request_is_repeated(void **state)
{
    uint64_t after[] = {1, 2, 4, 8, 16, 30, 30, 30};
    struct nm_yarn_state s;
    struct answers a;

    (void)state;
    begin(&s, &a, 7);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(after); i++) {
        assert_step(nm_yarn_state_failed(&s, -ETIMEDOUT, NULL, 0), NM_YARN_HEARTBEAT, after[i] * NM_USEC_PER_SEC, true);
        assert_int_equal(s.response_id, 7);
        assert_int_equal(s.retries, i + 1);
        assert_string_equal(s.trouble, "Connection timed out");
    }
    a.beat.response_id = 8; /* the ResourceManager answers a duplicate with the same response id */
    assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_HEARTBEAT, 500 * NM_USEC_PER_MSEC, false);
    assert_int_equal(s.failures, 0);
    assert_int_equal(s.retries, 0);
    assert_string_equal(s.trouble, "");
}

/* If there are several ResourceManagers, each of them is tried once before the first delay and between two delays. */
static void test_all_resourcemanagers_are_tried_before_a_delay(void **state)
{
    const uint64_t second = NM_USEC_PER_SEC, next = 100 * NM_USEC_PER_MSEC;
    const uint64_t after[] = {next, next, second, next, next, 2 * second, next, next, 4 * second};
    struct nm_yarn_state s;
    struct answers a;

    (void)state;
    begin(&s, &a, 7);
    s.n_rms = 3;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(after); i++)
        assert_step(nm_yarn_state_failed(&s, -ECONNREFUSED, NULL, 0), NM_YARN_HEARTBEAT, after[i], true);
    assert_in_range(nm_yarn_state_failed(&s, -ECONNREFUSED, NULL, 1023).after_usec, 75000, 76000);
    a.beat.action = YARN__ACTION__RESYNC; /* the new one doesn't know the node */
    assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_REGISTER, 0, false);
    assert_step(nm_yarn_state_registered(&s, &a.registered, 0), NM_YARN_HEARTBEAT, 0, false);
    a.beat.action = YARN__ACTION__NORMAL;
    a.beat.response_id = 1;
    assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_HEARTBEAT, 500 * NM_USEC_PER_MSEC, false);
    assert_step(nm_yarn_state_failed(&s, -ECONNREFUSED, NULL, 0), NM_YARN_HEARTBEAT, next, true);
}

static void test_without_a_resourcemanager_the_node_retries_its_registration(void **state)
{
    struct nm_exception why;
    struct nm_yarn_step step;
    struct nm_yarn_state s;

    (void)state;
    nm_yarn_state_init(&s, 100 * NM_USEC_PER_MSEC);
    for (unsigned i = 0; i < 50; i++)
        assert_step(nm_yarn_state_failed(&s, -ECONNREFUSED, NULL, 0), NM_YARN_REGISTER, 100 * NM_USEC_PER_MSEC, true);
    /* a random part of the delay distributes the retries of many nodes */
    step = nm_yarn_state_failed(&s, -ECONNREFUSED, NULL, 1023);
    assert_in_range(step.after_usec, 75000, 76000);
    nm_exception_set(&why, 0, "java.lang.Whatever", "what");
    step = nm_yarn_state_failed(&s, -EREMOTEIO, &why, 0);
    assert_int_equal(step.reconnect, false); /* the ResourceManager refused the call, so the connection works */
    assert_string_equal(s.trouble, "java.lang.Whatever: what");
}

/* After RESYNC the node registers again immediately and resets the response id. From the second consecutive RESYNC on,
 * the registration is delayed, since the ResourceManager may repeat RESYNC indefinitely. */
static void test_after_a_resync_the_node_registers_again(void **state)
{
    struct nm_yarn_state s;
    struct answers a;

    (void)state;
    begin(&s, &a, 7);
    a.beat.action = YARN__ACTION__RESYNC;
    a.beat.has_response_id = a.beat.has_next_msec = 0;
    a.beat.diagnostics = (char *)"Node not found\nresyncing";
    assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_REGISTER, 0, false);
    assert_int_equal(s.phase, NM_YARN_REGISTERING);
    assert_int_equal(s.rm_identifier, 0);
    assert_string_equal(s.trouble, "the ResourceManager requires the node to register again: Node not found resyncing");
    make_key(&a.container_key, 50);
    assert_step(nm_yarn_state_registered(&s, &a.registered, 0), NM_YARN_HEARTBEAT, 0, false);
    assert_int_equal(s.response_id, 0);
    assert_int_equal(s.keys.container.current.id, 50);
    assert_int_equal(s.keys.container.previous.id, -7);
    for (unsigned i = 0; i < 3; i++) {
        assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_REGISTER, (1u << i) * NM_USEC_PER_SEC, false);
        assert_step(nm_yarn_state_registered(&s, &a.registered, 0), NM_YARN_HEARTBEAT, 0, false);
    }
    make_answers(&a);
    assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_HEARTBEAT, 500 * NM_USEC_PER_MSEC, false);
    a.beat.action = YARN__ACTION__RESYNC;
    assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_REGISTER, 0, false);
}

static void test_after_a_wrong_response_id_the_node_registers_again(void **state)
{
    static const int32_t wrong[] = {0, 7, 9, -1, INT32_MIN, INT32_MAX};
    struct nm_yarn_state s;
    struct answers a;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(wrong); i++) {
        begin(&s, &a, 7);
        a.beat.response_id = wrong[i];
        assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_REGISTER, 0, false);
    }
}

static void test_the_shutdown_action_stops_the_node(void **state)
{
    struct nm_yarn_state s;
    struct answers a;

    (void)state;
    begin(&s, &a, 1);
    a.beat.action = YARN__ACTION__SHUTDOWN;
    a.beat.diagnostics = (char *)"Disallowed NodeManager";
    assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_REST, 0, false);
    assert_int_equal(s.phase, NM_YARN_STOPPED);
    assert_int_equal(s.rm_identifier, 0);
    assert_string_equal(s.trouble, "the ResourceManager told this node to leave the cluster: Disallowed NodeManager");
    nm_yarn_state_init(&s, RETRY_MAX);
    a.registered = (Yarn__RegisterResponse)YARN__REGISTER_RESPONSE__INIT; /* such an answer contains no keys */
    a.registered.has_action = 1;
    a.registered.action = YARN__ACTION__SHUTDOWN;
    assert_step(nm_yarn_state_registered(&s, &a.registered, 0), NM_YARN_REST, 0, false);
    assert_int_equal(s.phase, NM_YARN_STOPPED);
}

/* Messages that are valid, but lack required contents or contain unknown values. */
static void test_an_answer_without_required_contents_is_an_error(void **state)
{
    struct nm_yarn_state s;
    struct answers a;

    (void)state;
    make_answers(&a);
    nm_yarn_state_init(&s, RETRY_MAX);
    a.registered.nm_token_key = NULL;
    assert_step(nm_yarn_state_registered(&s, &a.registered, 0), NM_YARN_REGISTER, NM_USEC_PER_SEC, true);
    a.registered.nm_token_key = &a.nm_key;
    a.nm_key.key.len = 0;
    assert_step(nm_yarn_state_registered(&s, &a.registered, 0), NM_YARN_REGISTER, 2 * NM_USEC_PER_SEC, true);
    a.registered = (Yarn__RegisterResponse)YARN__REGISTER_RESPONSE__INIT;
    assert_step(nm_yarn_state_registered(&s, &a.registered, 0), NM_YARN_REGISTER, 4 * NM_USEC_PER_SEC, true);
    begin(&s, &a, 7);
    a.beat = (Yarn__HeartbeatResponse)YARN__HEARTBEAT_RESPONSE__INIT;
    assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_HEARTBEAT, NM_USEC_PER_SEC, true);
    a.beat.has_action = 1;
    a.beat.action = (Yarn__Action)77;
    assert_step(nm_yarn_state_answered(&s, &a.beat, 0), NM_YARN_HEARTBEAT, 2 * NM_USEC_PER_SEC, true);
    assert_int_equal(s.response_id, 7);
}

/* The node registers again to report a changed size. The registration also removes the size that the ResourceManager
 * has set. */
static void test_after_a_change_of_its_size_the_node_registers_again(void **state)
{
    struct nm_yarn_state s;
    struct answers a;

    (void)state;
    begin(&s, &a, 2);
    a.resource.has_memory = a.resource.has_vcores = 1;
    a.resource.memory = 1024;
    a.resource.vcores = 1;
    a.beat.resource = &a.resource;
    a.beat.response_id = 3;
    (void)nm_yarn_state_answered(&s, &a.beat, 0);
    assert_int_equal(s.memory_mib, 1024);
    assert_step(nm_yarn_state_resized(&s), NM_YARN_REGISTER, 0, false);
    assert_int_equal(s.memory_mib, 0);
    assert_int_equal(s.rm_identifier, 0);
    assert_string_equal(s.trouble, "");
    assert_step(nm_yarn_state_registered(&s, &a.registered, 0), NM_YARN_HEARTBEAT, 0, false);
    assert_int_equal(s.response_id, 0);
}

/* A NUL in diagnostics is replaced by a blank. A NUL in a name makes the message invalid. */
static void test_a_nul_in_diagnostics_is_replaced(void **state)
{
    /* action: SHUTDOWN, diagnostics: "no\0de" */
    static const uint8_t beat[] = {0x20, 2, 0x42, 5, 'n', 'o', 0, 'd', 'e'};
    /* rm_version: "3\0" */
    static const uint8_t version[] = {0x32, 2, '3', 0};
    const Yarn__HeartbeatResponse *m;
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 4096, NULL);
    m = (const Yarn__HeartbeatResponse *)nm_arena_unpack(&a, &yarn__heartbeat_response__descriptor,
                                                         (struct nm_bytes){beat, sizeof beat});
    assert_non_null(m);
    assert_string_equal(m->diagnostics, "no de");
    assert_int_equal(m->action, YARN__ACTION__SHUTDOWN);
    assert_null(nm_arena_unpack(&a, &yarn__register_response__descriptor, (struct nm_bytes){version, sizeof version}));
    nm_arena_done(&a);
    nm_arena_init(&a, 4, NULL); /* the arena has no room for a copy */
    assert_null(nm_arena_unpack(&a, &yarn__heartbeat_response__descriptor, (struct nm_bytes){beat, sizeof beat}));
    nm_arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heartbeats_follow_the_registration),
        cmocka_unit_test(test_the_next_key_becomes_the_current_one),
        cmocka_unit_test(test_lists_in_an_answer_are_applied),
        cmocka_unit_test(test_the_interval_between_heartbeats_is_limited),
        cmocka_unit_test(test_after_a_lost_answer_the_request_is_repeated),
        cmocka_unit_test(test_all_resourcemanagers_are_tried_before_a_delay),
        cmocka_unit_test(test_without_a_resourcemanager_the_node_retries_its_registration),
        cmocka_unit_test(test_after_a_resync_the_node_registers_again),
        cmocka_unit_test(test_after_a_wrong_response_id_the_node_registers_again),
        cmocka_unit_test(test_the_shutdown_action_stops_the_node),
        cmocka_unit_test(test_a_nul_in_diagnostics_is_replaced),
        cmocka_unit_test(test_an_answer_without_required_contents_is_an_error),
        cmocka_unit_test(test_after_a_change_of_its_size_the_node_registers_again),
    };

    return cmocka_run_group_tests_name("yarn-state", tests, NULL, NULL);
}
