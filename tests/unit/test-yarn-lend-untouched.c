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

/* ---- lending is enabled while a master runs -------------------------------------------------------- */

/* Launches a master while lending is off, and restarts nmd with lending. The master has asked for containers of both
 * kinds before. */
static void enable_lending(struct lend_fixture *l)
{
    lend_set_up(l, false, "all");
    l->w.settings.lending.enabled = false;
    lend_restart(l);
    l->attempt = 1;
    proxy_launch(&l->w, 1);
    lend_register(l);
    lend_want(l, 20, 3);
    lend_ask(l, (struct lend_ask){.priority = 20, .count = 3, .opportunistic = true});
    assert_string_equal(lend_call(l), "20 G * 3, 20 O * 3");
    l->w.settings.lending.enabled = true;
    lend_restart(l);
    lend_run_until(l, &l->type_questions, 1);
    lend_tell_type(l, "MAPREDUCE");
}

static bool may_see(void *userdata, const char *container)
{
    (void)userdata, (void)container;
    return true;
}

/* Returns how many lent containers the status of nmd shows, or -1 if the status has no part about lending. */
static int64_t shown_lent(const struct lend_fixture *l)
{
    json_t *o = nm_yarn_proxy_to_json(l->w.proxy, may_see, NULL, true);
    const json_t *lending = json_object_get(o, "lending");
    const int64_t n = json_is_object(lending) ? json_integer_value(json_object_get(lending, "lent")) : -1;

    assert_non_null(o);
    json_decref(o);
    return n;
}

static bool is_explained(const struct lend_fixture *l, int32_t attempt, int64_t number)
{
    const struct nm_yarn_container_id id = {{{TOKENS_RM, 1}, attempt}, number};
    char text[NM_YARN_ID_SIZE];
    json_t *o = nm_yarn_proxy_show_lending(l->w.proxy, nm_yarn_container_id_format(&id, text), may_see, NULL, true);

    json_decref(o);
    return o;
}

/* Lending is removed from the configuration. What is lent is shown and explained until its end, also after a further
 * restart and to the next attempt. */
static void test_what_is_lent_is_shown_after_lending_was_removed(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    (void)lend_call(&l);
    lend_grant(&l, 2, true);
    lend_grant(&l, 3, true);
    (void)lend_call(&l);
    /* only the former lending needed the proxy; the master that was started then still uses it */
    l.w.settings.lending.enabled = l.w.settings.proxy = false;
    assert_false(nm_yarn_proxy_is_needed(&l.w.settings, l.w.dir)); /* its addresses aren't valid */
    l.w.settings.proxy_possible = true;
    l.w.settings.lending.cluster.rule.mode = NM_LEND_OFF;
    for (int i = 0; i < 2; i++) {
        assert_true(nm_yarn_proxy_is_needed(&l.w.settings, l.w.dir));
        lend_restart(&l);
        assert_int_equal(shown_lent(&l), 2);
        assert_true(is_explained(&l, 1, 2));
    }
    lend_end(&l, 3, 0, "ok");
    (void)lend_call(&l);
    l.previous[l.n_previous++] = (struct lend_container){.number = 2, .attempt = 1, .opportunistic = true};
    lend_launch(&l, 2);
    assert_string_equal(lend_seen_previous(&l), "2 G");
    assert_int_equal(shown_lent(&l), 1);
    lend_restart(&l);
    assert_int_equal(shown_lent(&l), 1);
    assert_true(is_explained(&l, 1, 2));
    l.ended[l.n_ended++] = (struct lend_end){.number = 2, .status = -108, .diagnostics = "x", .attempt = 1};
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; ended 2 -102 G Lent by nmd: x");
    assert_int_equal(shown_lent(&l), 0);
    assert_true(is_explained(&l, 1, 2));
    nm_yarn_proxy_end_application(l.w.proxy, &l.lender->m->attempt.application);
    assert_false(nm_yarn_proxy_is_needed(&l.w.settings, l.w.dir));
    assert_true(is_explained(&l, 1, 2));
    assert_false(nm_yarn_proxy_is_needed(&l.w.settings, "/nonexistent"));
    lend_tear_down(&l);
}

static void find_reason(const struct nm_lend_key_view *v, void *userdata)
{
    *(enum nm_lend_reason *)userdata = v->reason;
}

static void expect_untouched(struct lend_fixture *l, int64_t number)
{
    enum nm_lend_reason reason = NM_LEND_N_REASONS;

    lend_want(l, 20, 5);
    lend_grant(l, number, true);
    lend_grant(l, number + 1, false);
    l->previous[l->n_previous++] = (struct lend_container){.number = number + 2, .opportunistic = true};
    lend_end(l, number + 3, -108, "x");
    assert_string_equal(lend_call(l), "20 G * 5");
    assert_non_null(strstr(lend_seen(l), " O"));
    assert_non_null(strstr(lend_seen(l), " G; ended "));
    assert_non_null(strstr(lend_seen(l), " -108 O x; previous "));
    assert_null(strstr(strstr(lend_seen(l), "; previous "), "G"));
    lend_put_clock_forward(60 * NM_USEC_PER_SEC);
    assert_string_equal(lend_call(l), "");
    nm_lend_each_key(l->lender->books, find_reason, &reason);
    assert_int_equal(reason, NM_LEND_REGISTERED_BEFORE);
    assert_int_equal(lend_figures(l).lent + lend_figures(l).granted + lend_figures(l).released, 0);
}

/* The books don't know what the master asked for before: not that it wants opportunistic containers itself, nor what of
 * its guaranteed asks was not granted. So they leave it alone, also after another restart. */
static void test_a_master_that_registered_before_is_left_alone_until_it_registers(void **state)
{
    struct lend_fixture l;

    (void)state;
    enable_lending(&l);
    expect_untouched(&l, 2);
    lend_restart(&l);
    expect_untouched(&l, 12);
    l.w.refuses = NOT_REGISTERED;
    (void)lend_call(&l);
    l.w.refuses = NULL;
    l.previous[l.n_previous++] = (struct lend_container){.number = 2, .opportunistic = true};
    lend_register(&l);
    assert_string_equal(lend_seen_previous(&l), "2 O"); /* it was the master's own before */
    l.n_asks = 0;
    lend_want(&l, 20, 4);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 4");
    lend_grant(&l, 30, true);
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "30 G");
    lend_tear_down(&l);
}

static void test_a_new_attempt_is_lent_to(void **state)
{
    struct lend_fixture l;

    (void)state;
    enable_lending(&l);
    l.previous[l.n_previous++] = (struct lend_container){.number = 2, .opportunistic = true, .attempt = 1};
    lend_launch(&l, 2);
    assert_string_equal(lend_seen_previous(&l), "2 O");
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 2");
    lend_tear_down(&l);
}

/* The proxy keeps books while it observes. So what the master asked for before is lent. */
static void test_observed_books_are_known_when_lending_is_enabled(void **state)
{
    struct lend_fixture l;

    (void)state;
    launch(&l, "observe", NULL);
    lend_want(&l, 20, 3);
    assert_string_equal(lend_call(&l), "20 G * 3");
    l.w.settings.lending.observes = false;
    assert_int_equal(nm_yarn_lending_parse("all", &l.w.settings.lending.cluster), 0);
    lend_restart(&l);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 3");
    lend_tear_down(&l);
}

/* ---- what is hidden ------------------------------------------------------------------------------- */

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
    lend_confirm_room(&l, TOKENS_HOST, 4096);
    assert_string_equal(lend_call(&l), "; promotes 2/1");
    lend_tear_down(&l);
}

#define MANY 28000u

/* Makes a call with very many asks for "*", which have this number of ids. */
static void make_large_call(struct lend_fixture *l, size_t n_keys)
{
    static uint8_t yes[] = {1};
    static Masters__Ask asks[MANY], *list[MANY];
    ProtobufCMessageUnknownField enforced = {2, PROTOBUF_C_WIRE_TYPE_VARINT, sizeof yes, yes};
    Masters__ExecutionTypeAsked type = MASTERS__EXECUTION_TYPE_ASKED__INIT;
    Hadoop__ResourceValue memory = HADOOP__RESOURCE_VALUE__INIT, cpu = HADOOP__RESOURCE_VALUE__INIT;
    Hadoop__ResourceValue *values[] = {&memory, &cpu};
    Hadoop__Resource size = HADOOP__RESOURCE__INIT;
    Hadoop__Priority priority = HADOOP__PRIORITY__INIT;
    Masters__AllocateRequest m = MASTERS__ALLOCATE_REQUEST__INIT;

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
    for (size_t i = 0; i < n_keys; i++) {
        asks[i] = (Masters__Ask)MASTERS__ASK__INIT;
        asks[i].priority = &priority;
        asks[i].where = (char *)"*";
        asks[i].resource = &size;
        asks[i].type = &type;
        asks[i].has_request_id = asks[i].has_count = asks[i].has_relax = 1;
        asks[i].relax = true;
        asks[i].request_id = (int64_t)i;
        asks[i].count = 1;
    }
    for (size_t i = 0; i < MANY; i++)
        list[i] = &asks[i % n_keys];
    m.asks = list;
    m.n_asks = MANY;
    m.has_response_id = 1;
    proxy_begin_call(&l->w, "allocate", &m.base, &masters__allocate_answer__descriptor);
    proxy_run_until(&l->w, proxy_is_done);
    assert_int_equal(l->w.error, 0);
    assert_int_equal(lend_figures(l).asked, NM_LEND_KEYS_MAX);
}

/* A call that the proxy accepts without lending is accepted with lending, too. A master may have very many asks for
 * "*", each with an id of its own; here they repeat. */
static void test_a_call_with_very_many_asks_is_not_refused(void **state)
{
    struct lend_fixture l;

    (void)state;
    launch(&l, "all", NULL);
    make_large_call(&l, NM_LEND_KEYS_MAX);
    lend_tear_down(&l);
}

/* Asks beyond the limit of the books cost the event loop little: it doesn't walk all keys for each of them. */
static void test_very_many_keys_are_left_out_before_a_search(void **state)
{
    struct lend_fixture l;
    unsigned before;

    (void)state;
    launch(&l, "all", NULL);
    before = lend_walks;
    make_large_call(&l, MANY);
    assert_in_range(lend_walks - before, 1, 20);
    lend_tear_down(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_changes_for_an_application_without_lending),
        cmocka_unit_test(test_observation_changes_nothing_if_calls_are_lost),
        cmocka_unit_test(test_what_is_lent_is_shown_after_lending_was_removed),
        cmocka_unit_test(test_a_master_that_registered_before_is_left_alone_until_it_registers),
        cmocka_unit_test(test_a_new_attempt_is_lent_to),
        cmocka_unit_test(test_observed_books_are_known_when_lending_is_enabled),
        cmocka_unit_test(test_an_attempt_that_does_not_register_hands_on_the_books),
        cmocka_unit_test(test_a_lent_container_that_the_master_updates_looks_guaranteed),
        cmocka_unit_test(test_a_call_with_very_many_asks_is_not_refused),
        cmocka_unit_test(test_very_many_keys_are_left_out_before_a_search),
    };
    sigset_t mask;

    /* As in nmd, the event loop watches the child processes that resolve names. */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
