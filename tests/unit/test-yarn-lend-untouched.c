/* SPDX-License-Identifier: Apache-2.0 */

/* The stage that lends must not change the calls of a master to which nothing is lent. The second part tests what the
 * stage hides from a master to which containers are lent. */

#include "lend-stage-fixture.h"

#include <signal.h>

#include "util/clock.h"
#include "yarn-tokens.h"

static void launch(struct lend_fixture *l, const char *rule, const char *wish)
{
    lend_set_up(l, false, rule);
    l->w.wish = wish;
    lend_launch(l, 1);
}

/* Calls are refused and repeated, and nmd is restarted. The ResourceManager gets what the master sends, and the master
 * sees what the ResourceManager grants, even if it is more than the master wants. */
static void check_that_nothing_changes(const char *rule, const char *wish)
{
    struct lend_fixture l;

    launch(&l, rule, wish);
    lend_want(&l, 20, 3);
    assert_string_equal(lend_call(&l), "20 G * 3");
    lend_want(&l, 20, 3);
    lend_want(&l, 30, 1);
    assert_string_equal(lend_call_again(&l), "20 G * 3, 30 G * 1");
    assert_string_equal(lend_call(&l), "");
    l.w.refuses = NM_EXCEPTION_RETRY;
    lend_want(&l, 20, 6);
    assert_string_equal(lend_call(&l), "20 G * 6");
    l.w.refuses = NULL;
    lend_restart(&l);
    l.n_asks = 0;
    lend_want(&l, 20, 1);
    for (int64_t i = 2; i < 6; i++)
        lend_grant(&l, i, false);
    assert_string_equal(lend_call_again(&l), "20 G * 1");
    assert_string_equal(lend_seen(&l), "2 G, 3 G, 4 G, 5 G");
    assert_string_equal(lend_call(&l), "");
    assert_string_equal(lend_call(&l), "");
    assert_int_equal(lend_figures(&l).released, 0);
    lend_tear_down(&l);
}

static void test_nothing_changes_for_an_application_without_lending(void **state)
{
    (void)state;
    check_that_nothing_changes("all", "off");
}

static void test_observation_changes_nothing_if_calls_are_lost(void **state)
{
    (void)state;
    check_that_nothing_changes("observe", NULL);
}

/* The second attempt ends before it registers. The third one, to which nothing is lent, still knows what was lent to
 * the first one. */
static void test_an_attempt_that_does_not_register_hands_on_the_books(void **state)
{
    struct lend_fixture l;

    (void)state;
    launch(&l, "all", NULL);
    lend_want(&l, 20, 1);
    (void)lend_call(&l);
    lend_grant(&l, 2, true);
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "2 G");
    l.w.wish = "off";
    l.attempt = 2;
    proxy_launch(&l.w, 2);
    l.attempt = 3;
    proxy_launch(&l.w, 3);
    l.previous[l.n_previous++] = (struct lend_container){.number = 2, .opportunistic = true, .attempt = 1};
    l.previous[l.n_previous++] = (struct lend_container){.number = 3, .opportunistic = true, .attempt = 1};
    lend_register(&l);
    assert_string_equal(lend_seen_previous(&l), "2 G, 3 O");
    lend_tear_down(&l);
}

/* A master may ask for another size of a container that is lent. The promotion then names the new version. */
static void test_a_lent_container_that_the_master_updates_looks_guaranteed(void **state)
{
    struct lend_fixture l;

    (void)state;
    launch(&l, "all", NULL);
    lend_want(&l, 20, 1);
    (void)lend_call(&l);
    lend_grant(&l, 2, true);
    l.headroom = 8192;
    (void)lend_call(&l);
    l.updated[l.n_updated++] = (struct lend_container){.number = 2, .version = 1, .opportunistic = true, .update = 1};
    l.updated[l.n_updated++] = (struct lend_container){.number = 3, .version = 1, .opportunistic = true, .update = 1};
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; updated 2, 3 O");
    lend_put_clock_forward(6 * NM_USEC_PER_SEC);
    lend_run_until(&l, &l.room_questions, l.room_questions + !lend_has_room_question(&l));
    lend_tell_room(&l, TOKENS_HOST, 4096, true);
    assert_string_equal(lend_call(&l), "; promotes 2/1");
    lend_tear_down(&l);
}

#define MANY 28000u
#define KEYS 256

/* A call that the proxy accepts without lending is accepted with lending, too. A master may have very many asks for
 * "*", each with an id of its own; here they repeat. */
static void test_a_call_with_very_many_asks_is_not_refused(void **state)
{
    static uint8_t yes[] = {1};
    static Masters__Ask asks[KEYS], *list[MANY];
    ProtobufCMessageUnknownField enforced = {2, PROTOBUF_C_WIRE_TYPE_VARINT, sizeof yes, yes};
    Masters__ExecutionTypeAsked type = MASTERS__EXECUTION_TYPE_ASKED__INIT;
    Hadoop__ResourceValue memory = HADOOP__RESOURCE_VALUE__INIT, cpu = HADOOP__RESOURCE_VALUE__INIT;
    Hadoop__ResourceValue *values[] = {&memory, &cpu};
    Hadoop__Resource size = HADOOP__RESOURCE__INIT;
    Hadoop__Priority priority = HADOOP__PRIORITY__INIT;
    Masters__AllocateRequest m = MASTERS__ALLOCATE_REQUEST__INIT;
    struct lend_fixture l;

    (void)state;
    memory.name = (char *)"memory-mb";
    cpu.name = (char *)"vcores";
    memory.has_value = cpu.has_value = 1;
    memory.value = cpu.value = 1;
    size.has_memory = size.has_vcores = priority.has_priority = 1;
    size.memory = 512;
    size.vcores = 1;
    size.values = values;
    size.n_values = NM_ARRAY_SIZE(values);
    type.base.n_unknown_fields = 1;
    type.base.unknown_fields = &enforced;
    for (int i = 0; i < KEYS; i++) {
        asks[i] = (Masters__Ask)MASTERS__ASK__INIT;
        asks[i].priority = &priority;
        asks[i].where = (char *)"*";
        asks[i].resource = &size;
        asks[i].type = &type;
        asks[i].has_request_id = asks[i].has_count = asks[i].has_relax = 1;
        asks[i].relax = true;
        asks[i].request_id = i;
        asks[i].count = 1;
    }
    for (size_t i = 0; i < MANY; i++)
        list[i] = &asks[i % KEYS];
    m.asks = list;
    m.n_asks = MANY;
    m.has_response_id = 1;
    launch(&l, "all", NULL);
    proxy_begin_call(&l.w, "allocate", &m.base, &masters__allocate_answer__descriptor);
    proxy_run_until(&l.w, proxy_is_done);
    assert_int_equal(l.w.error, 0);
    assert_int_equal(lend_figures(&l).asked, KEYS);
    lend_tear_down(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_changes_for_an_application_without_lending),
        cmocka_unit_test(test_observation_changes_nothing_if_calls_are_lost),
        cmocka_unit_test(test_an_attempt_that_does_not_register_hands_on_the_books),
        cmocka_unit_test(test_a_lent_container_that_the_master_updates_looks_guaranteed),
        cmocka_unit_test(test_a_call_with_very_many_asks_is_not_refused),
    };
    sigset_t mask;

    /* As in nmd, the event loop watches the child processes that resolve names. */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
