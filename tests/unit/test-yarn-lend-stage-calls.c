/* SPDX-License-Identifier: Apache-2.0 */

/* The stage that lends: calls that fail, and restarts of nmd and of the ResourceManager. */

#include "lend-stage-fixture.h"

#include <signal.h>

#include "util/clock.h"

#define HOUR (60 * 60 * NM_USEC_PER_SEC)
#define INVALID_REQUEST "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"

/* The stage has changed an ask on its own in a call that the ResourceManager didn't answer. The master repeats the call
 * without asks. */
static void test_a_change_is_repeated_until_it_is_answered(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "overflow:30");
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    (void)lend_call(&l);
    lend_put_clock_forward(31 * NM_USEC_PER_SEC);
    l.w.refuses = NM_EXCEPTION_RETRY;
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 2");
    assert_string_equal(lend_seen(&l), "no answer");
    assert_string_equal(lend_call_again(&l), "20 G * 0, 20 O * 2");
    lend_restart(&l);
    l.w.refuses = NULL;
    assert_string_equal(lend_call_again(&l), "20 G * 0, 20 O * 2");
    /* the ResourceManager may have answered an earlier call, so the stage repeats its asks once */
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 2");
    assert_string_equal(lend_call(&l), "");
    lend_tear_down(&l);
}

/* The ResourceManager refuses a call because of one ask, and applies no ask of this call. A master that doesn't repeat
 * these asks must be able to make further calls. */
static void test_asks_of_a_refused_call_are_not_repeated(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 1);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 1");
    l.w.refuses = INVALID_REQUEST;
    lend_want(&l, 20, 4);
    lend_ask(&l, (struct lend_ask){.priority = 30, .count = 2, .memory = 1000000});
    /* sent once more as the master has asked, but without what the first try has asked for as opportunistic */
    assert_string_equal(lend_call(&l), "20 O * 0, 30 O * 0 of 1000000, 20 G * 4, 30 G * 2 of 1000000");
    assert_string_equal(lend_seen(&l), "no answer");
    l.w.refuses = NULL;
    l.n_asks = 0;
    /* the ResourceManager has the guaranteed asks of the call before, but may have read the opportunistic ones of this
     * call. Nothing is lent for a minute. The ask that it refuses isn't sent again. */
    assert_string_equal(lend_call_again(&l), "20 O * 0, 30 O * 0 of 1000000");
    lend_put_clock_forward(11 * NM_USEC_PER_SEC);
    assert_string_equal(lend_call(&l), "20 O * 0, 30 O * 0 of 1000000, 20 G * 1");
    assert_string_equal(lend_call(&l), "");
    assert_int_equal(lend_figures(&l).wanted, 1);
    lend_put_clock_forward(61 * NM_USEC_PER_SEC);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 1");
    lend_tear_down(&l);
}

/* The asks before the first call without an answer are those that the ResourceManager has. */
static void test_asks_of_a_lost_and_then_refused_call_are_not_repeated(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 1);
    (void)lend_call(&l);
    l.w.refuses = NM_EXCEPTION_RETRY;
    lend_want(&l, 20, 5);
    (void)lend_call(&l);
    l.w.refuses = INVALID_REQUEST;
    lend_want(&l, 20, 4);
    (void)lend_call_again(&l);
    l.w.refuses = NULL;
    l.n_asks = 0;
    lend_put_clock_forward(11 * NM_USEC_PER_SEC);
    assert_string_equal(lend_call_again(&l), "20 O * 0, 20 G * 1");
    lend_tear_down(&l);
}

/* nmd was restarted, and the ResourceManager refuses the first call. The stage still knows all asks from before the
 * restart. */
static void test_a_refused_call_after_a_restart(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 2");
    (void)lend_call(&l);
    lend_restart(&l);
    l.w.refuses = INVALID_REQUEST;
    lend_ask(&l, (struct lend_ask){.priority = 30, .count = 1, .memory = 1000000});
    assert_string_equal(lend_call(&l), "20 O * 0, 30 O * 0 of 1000000, 30 G * 1 of 1000000");
    l.w.refuses = NULL;
    l.n_asks = 0;
    lend_put_clock_forward(11 * NM_USEC_PER_SEC);
    /* the key backs off for a minute, so the stage asks for guaranteed containers only */
    assert_string_equal(lend_call_again(&l), "20 O * 0, 30 O * 0 of 1000000, 20 G * 2");
    lend_tear_down(&l);
}

static unsigned n_reads;

/* Refuses containers of more than 256 MiB: the larger nodes have left the cluster. */
static void refuse_added(struct lend_fixture *l, const Masters__AllocateRequest *request)
{
    n_reads++;
    l->w.refuses = NULL;
    for (size_t i = 0; i < request->n_asks; i++)
        if (request->asks[i]->type->execution_type != 2)
            l->w.refuses = INVALID_REQUEST;
}

/* The master makes a call without asks, and the stage adds one, which the ResourceManager refuses. The master must not
 * see this refusal. */
static void test_a_refused_addition_is_left_out(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 2");
    /* the ResourceManager has granted nothing for a minute, so the stage asks for guaranteed containers again */
    lend_put_clock_forward(61 * NM_USEC_PER_SEC);
    n_reads = 0;
    l.on_call = refuse_added;
    l.decides = true;
    assert_string_equal(lend_call(&l), "20 O * 0");
    assert_string_equal(lend_seen(&l), "");
    assert_int_equal(n_reads, 2);
    assert_string_equal(lend_call(&l), "20 O * 0");
    assert_string_equal(lend_call(&l), "");
    assert_int_equal(n_reads, 4);
    lend_put_clock_forward(11 * NM_USEC_PER_SEC);
    assert_string_equal(lend_call(&l), "");
    assert_string_equal(lend_seen(&l), "");
    assert_int_equal(n_reads, 6);
    l.on_call = NULL;
    lend_put_clock_forward(11 * NM_USEC_PER_SEC);
    assert_string_equal(lend_call(&l), "20 G * 2");
    lend_tear_down(&l);
}

/* nmd is killed while the ResourceManager handles a call. */
static void test_nmd_is_restarted_during_a_call(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 3);
    l.w.holds = true;
    lend_begin_call(&l);
    proxy_run_until(&l.w, proxy_has_held);
    l.w.proxy = nm_yarn_proxy_free(l.w.proxy);
    l.w.client = nm_hadoop_client_free(l.w.client);
    proxy_stop_rm(&l.w);
    proxy_start_rm(&l.w);
    l.w.holds = false;
    proxy_start(&l.w);
    lend_grant(&l, 2, true);
    assert_string_equal(lend_call_again(&l), "20 G * 0, 20 O * 3");
    assert_string_equal(lend_seen(&l), "2 G");
    lend_restart(&l);
    assert_int_equal(lend_figures(&l).lent, 1);
    assert_int_equal(lend_figures(&l).granted, 1);
    lend_end(&l, 2, -108, "x");
    lend_grant(&l, 3, true);
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "3 G; ended 2 -102 G Lent by nmd: x");
    assert_string_equal(l.lender->queue, "root.a");
    assert_string_equal(l.lender->type, "MAPREDUCE");
    lend_tear_down(&l);
}

/* The clock is an hour earlier after a restart. The ask waits for 30 seconds, and a preemption counts for a
 * limited time. */
static void test_a_clock_that_was_set_back_does_not_delay_lending(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "overflow:30");
    lend_put_clock_forward(2 * HOUR);
    lend_launch(&l, 1);
    lend_want(&l, 20, 1);
    (void)lend_call(&l);
    lend_put_clock_forward(-HOUR);
    lend_restart(&l);
    (void)lend_call(&l);
    lend_put_clock_forward(31 * NM_USEC_PER_SEC);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 1");
    lend_grant(&l, 2, true);
    (void)lend_call(&l);
    lend_end(&l, 2, -108, "x");
    lend_want(&l, 20, 1);
    (void)lend_call(&l);
    lend_put_clock_forward(-(HOUR / 2));
    lend_restart(&l);
    (void)lend_call(&l);
    lend_put_clock_forward(17 * 60 * NM_USEC_PER_SEC);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 1");
    lend_tear_down(&l);
}

/* The wish of the application is known after a restart, too. */
static void test_the_wish_survives_a_restart(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    l.w.wish = "percent:50";
    lend_launch(&l, 1);
    lend_restart(&l);
    lend_want(&l, 20, 4);
    assert_string_equal(lend_call(&l), "20 G * 2, 20 O * 2");
    lend_tear_down(&l);
}

/* The ResourceManager was restarted. The master registers again and repeats its asks. Lent containers stay lent. */
static void test_a_restart_of_the_resourcemanager(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 3);
    (void)lend_call(&l);
    lend_grant(&l, 2, true);
    (void)lend_call(&l);
    l.w.refuses = NOT_REGISTERED;
    (void)lend_call(&l);
    l.w.refuses = NULL;
    lend_register(&l);
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 2");
    assert_int_equal(lend_figures(&l).lent, 1);
    lend_end(&l, 2, -108, "x");
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; ended 2 -102 G Lent by nmd: x");
    lend_tear_down(&l);
}

/* A restarted ResourceManager refuses the first call of each master, because the master must register again. The stage
 * doesn't take this refusal for one of the asks: it lends at once after the registration. But a key whose container was
 * preempted still backs off. */
static void test_a_registration_ends_the_wait_after_a_refused_call(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 30, 1);
    (void)lend_call(&l);
    lend_grant(&l, 2, true);
    l.granted[0].priority = 30;
    (void)lend_call(&l);
    lend_end(&l, 2, -108, "x");
    (void)lend_call(&l);
    l.w.refuses = NOT_REGISTERED;
    lend_want(&l, 20, 3);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 3");
    l.w.refuses = NULL;
    lend_register(&l);
    l.n_asks = 0;
    lend_want(&l, 20, 3);
    lend_want(&l, 30, 1);
    assert_string_equal(lend_call(&l), "20 G * 0, 30 G * 1, 20 O * 3");
    lend_tear_down(&l);
}

/* ---- requests with placement constraints ---------------------------------------------------------- */

static void find_key(const struct nm_lend_key_view *v, void *userdata)
{
    struct nm_lend_key_view *found = userdata;

    if (v->key.priority == found->key.priority)
        *found = *v;
}

static struct nm_lend_key_view key_at(const struct lend_fixture *l, int32_t priority)
{
    struct nm_lend_key_view found = {.key = {priority, 0}};

    nm_lend_each_key(l->lender->books, find_key, &found);
    return found;
}

static void place(struct lend_fixture *l, struct lend_placement placement)
{
    l->placements[l->n_placements++] = placement;
}

/* They pass unchanged, and are counted as not lent. The others are lent. */
static void test_placement_requests_pass_and_are_counted(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    place(&l, (struct lend_placement){.priority = 5, .count = 3, .id = 7});
    place(&l, (struct lend_placement){.priority = 6, .count = 2});
    place(&l, (struct lend_placement){.priority = 7, .count = 2, .id = 9, .opportunistic = true});
    place(&l, (struct lend_placement){.priority = 8, .count = 2, .damaged = true});
    lend_want(&l, 20, 1);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 1; placements 4");
    assert_int_equal(key_at(&l, 5).key.request_id, 7);
    assert_int_equal(key_at(&l, 5).wanted, 3);
    assert_int_equal(key_at(&l, 5).size.memory_mib, 512);
    assert_int_equal(key_at(&l, 5).reason, NM_LEND_PLACEMENT);
    assert_int_equal(key_at(&l, 6).key.request_id, 0);
    assert_int_equal(key_at(&l, 8).wanted, 0);
    lend_restart(&l);
    lend_grant(&l, 2, false);
    l.granted[0].priority = 5;
    l.granted[0].id = 7;
    lend_grant(&l, 3, true);
    l.granted[1].priority = 7;
    l.granted[1].id = 9;
    l.rejected[l.n_rejected++] = (struct lend_placement){.priority = 6, .count = 1};
    l.rejected[l.n_rejected++] = (struct lend_placement){.priority = 20, .count = 1};
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 1");
    assert_string_equal(lend_seen(&l), "2 G, 3 O; rejected 2");
    assert_int_equal(key_at(&l, 5).wanted, 2);
    assert_int_equal(key_at(&l, 6).wanted, 1);
    assert_int_equal(key_at(&l, 20).wanted, 1);
    place(&l, (struct lend_placement){.priority = 5, .count = 0, .id = 7});
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 1; placements 1");
    assert_int_equal(key_at(&l, 5).wanted, 0);
    lend_tear_down(&l);
}

/* The ResourceManager doesn't support them, and refuses the call. */
static void test_a_refused_placement_request_is_not_counted(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    l.w.refuses = INVALID_REQUEST;
    place(&l, (struct lend_placement){.priority = 5, .count = 3});
    assert_string_equal(lend_call(&l), "; placements 1");
    l.w.refuses = NULL;
    l.n_placements = 0;
    assert_string_equal(lend_call(&l), "");
    assert_int_equal(lend_figures(&l).wanted, 0);
    lend_tear_down(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_change_is_repeated_until_it_is_answered),
        cmocka_unit_test(test_asks_of_a_refused_call_are_not_repeated),
        cmocka_unit_test(test_asks_of_a_lost_and_then_refused_call_are_not_repeated),
        cmocka_unit_test(test_a_refused_call_after_a_restart),
        cmocka_unit_test(test_a_refused_addition_is_left_out),
        cmocka_unit_test(test_nmd_is_restarted_during_a_call),
        cmocka_unit_test(test_a_clock_that_was_set_back_does_not_delay_lending),
        cmocka_unit_test(test_the_wish_survives_a_restart),
        cmocka_unit_test(test_a_restart_of_the_resourcemanager),
        cmocka_unit_test(test_a_registration_ends_the_wait_after_a_refused_call),
        cmocka_unit_test(test_placement_requests_pass_and_are_counted),
        cmocka_unit_test(test_a_refused_placement_request_is_not_counted),
    };
    sigset_t mask;

    /* As in nmd, the event loop watches the child processes that resolve names. */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

