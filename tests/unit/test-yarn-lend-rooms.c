/* SPDX-License-Identifier: Apache-2.0 */

/* The room of nodes: what is lent and what would be lent ("observe") is what nodes can start. The proxy is the real
 * one, and the nodes give the answers that a test sets. */

#include "lend-stage-fixture.h"

#include <signal.h>

#include "util/clock.h"
#include "yarn-tokens.h"

#define MINUTE (60 * NM_USEC_PER_SEC)

static struct nm_node_rooms *rooms_of(const struct lend_fixture *l)
{
    return l->lender->m->context->rooms;
}

static struct nm_yarn_alloc_measure room_of(const struct lend_fixture *l, const char *host)
{
    const struct nm_peer_caller caller = {.attempt = l->lender->m->attempt, .submitter = "ada"};
    struct nm_yarn_alloc_measure m = {};

    nm_node_rooms_look_up(rooms_of(l), &caller, host, TOKENS_PORT, &m);
    return m;
}

/* Calls until the node is asked again, and lets it answer. */
static void renew_room(struct lend_fixture *l, const char *host, int64_t memory_mib)
{
    lend_put_clock_forward(6 * NM_USEC_PER_SEC);
    (void)lend_call(l);
    lend_tell_room(l, host, memory_mib, true);
}

/* ---- claims --------------------------------------------------------------------------------------- */

/* Another master of this node has placed containers a moment ago. The node doesn't know them yet. */
static void test_room_that_another_master_has_claimed_is_not_lent(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, true, "all");
    l.w.settings.fill_nodes = true;
    lend_launch(&l, 1);
    lend_want(&l, 20, 5);
    (void)lend_call(&l);
    lend_tell_room(&l, TOKENS_HOST, 4096, true);
    nm_node_rooms_claim(rooms_of(&l), TOKENS_HOST, TOKENS_PORT, 3072);
    assert_string_equal(lend_call(&l), "20 G * 4");
    assert_int_equal(l.w.placed, 1);
    assert_int_equal(room_of(&l, TOKENS_HOST).claimed_mib, 4096); /* with its own one, for the other master */
    assert_string_equal(lend_call(&l), "");
    assert_int_equal(l.w.placed, 0);
    renew_room(&l, TOKENS_HOST, 3072);
    assert_int_equal(room_of(&l, TOKENS_HOST).claimed_mib, 0);
    assert_string_equal(lend_call(&l), "20 G * 1");
    assert_int_equal(l.w.placed, 3);
    lend_tear_down(&l);
}

/* A repeated call has asked for another opportunistic container, but only gets the ones of the first call. Then nmd is
 * restarted, and knows the nodes again after some calls. Until then, asks stay as they are. */
static void test_asks_stay_until_the_nodes_are_known_after_a_restart(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, true, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 3);
    (void)lend_call(&l);
    lend_tell_room(&l, TOKENS_HOST, 4096, true);
    assert_string_equal(lend_call(&l), "20 G * 2");
    assert_int_equal(l.w.placed, 1);
    assert_string_equal(lend_call_again(&l), "20 G * 1");
    assert_int_equal(lend_figures(&l).asked, 1);
    lend_restart(&l);
    for (unsigned i = 0; i < 2; i++) { /* the nodes aren't listed; they are, but have not answered */
        (void)lend_call(&l);
        assert_int_equal(lend_figures(&l).asked, 1);
        assert_int_equal(l.w.placed, 0);
    }
    lend_tell_room(&l, TOKENS_HOST, 4096, true);
    (void)lend_call(&l);
    assert_int_equal(l.w.placed, 1);
    assert_int_equal(lend_figures(&l).lent, 2);
    lend_tear_down(&l);
}

/* ---- observing ------------------------------------------------------------------------------------ */

/* fill: a call may place several containers on a node. */
static void set_up_observing(struct lend_fixture *l, bool distributed, bool fill)
{
    lend_set_up(l, distributed, "observe");
    l->w.settings.lending.central = false;
    l->w.settings.fill_nodes = fill;
    lend_launch(l, 1);
}

/* The ResourceManager's smallest container has 1024 MiB. Room that a container would use isn't counted again. */
static void test_observed_containers_have_room_on_nodes(void **state)
{
    struct lend_fixture l;

    (void)state;
    set_up_observing(&l, true, true);
    lend_want(&l, 20, 5);
    assert_string_equal(lend_call(&l), "20 G * 5");
    lend_put_clock_forward(31 * NM_USEC_PER_SEC);
    assert_string_equal(lend_call(&l), "");
    assert_int_equal(lend_figures(&l).observed, 0);
    lend_tell_room(&l, TOKENS_HOST, 2560, true);
    for (unsigned i = 0; i < 3; i++) {
        assert_string_equal(lend_call(&l), "");
        assert_int_equal(lend_figures(&l).observed, 2);
    }
    assert_int_equal(room_of(&l, TOKENS_HOST).observed_mib, 2048);
    renew_room(&l, TOKENS_HOST, 3072);
    assert_string_equal(lend_call(&l), "");
    assert_int_equal(lend_figures(&l).observed, 3);
    assert_int_equal(l.w.placed, 0);
    lend_tear_down(&l);
}

/* After a grant, the container would have been promoted, and its room is free for others. */
static void test_a_grant_frees_the_room_of_an_observed_container(void **state)
{
    struct lend_fixture l;

    (void)state;
    set_up_observing(&l, true, false);
    lend_want(&l, 20, 2);
    (void)lend_call(&l);
    lend_put_clock_forward(31 * NM_USEC_PER_SEC);
    (void)lend_call(&l);
    lend_tell_room(&l, TOKENS_HOST, 4096, true);
    (void)lend_call(&l);
    (void)lend_call(&l);
    assert_int_equal(lend_figures(&l).observed_now, 2); /* one on each node in each call */
    assert_int_equal(room_of(&l, TOKENS_HOST).observed_mib, 2048);
    lend_grant(&l, 2, false);
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "2 G");
    (void)lend_call(&l);
    assert_int_equal(lend_figures(&l).observed_now, 1);
    assert_int_equal(room_of(&l, TOKENS_HOST).observed_mib, 1024);
    lend_restart(&l); /* the nodes have to answer again */
    (void)lend_call(&l);
    (void)lend_call(&l);
    assert_int_equal(lend_figures(&l).observed_now, 1);
    lend_tell_room(&l, TOKENS_HOST, 4096, true);
    (void)lend_call(&l);
    assert_int_equal(room_of(&l, TOKENS_HOST).observed_mib, 1024);
    assert_int_equal(lend_figures(&l).observed, 2);
    lend_tear_down(&l);
}

static void test_observation_keeps_the_limit_of_a_node(void **state)
{
    struct lend_fixture l;

    (void)state;
    set_up_observing(&l, true, true);
    l.w.settings.lending.node_max_mib = 2100;
    lend_want(&l, 20, 5);
    (void)lend_call(&l);
    lend_put_clock_forward(31 * NM_USEC_PER_SEC);
    (void)lend_call(&l);
    lend_tell_room(&l, TOKENS_HOST, 8192, true);
    (void)lend_call(&l);
    (void)lend_call(&l);
    assert_int_equal(lend_figures(&l).observed, 2);
    l.w.listed_host = "far";
    (void)lend_call(&l);
    (void)lend_call(&l);
    lend_tell_room(&l, "far", 8192, true);
    (void)lend_call(&l);
    assert_int_equal(lend_figures(&l).observed, 4);
    lend_tear_down(&l);
}

static void test_observation_keeps_the_limit_of_a_queue(void **state)
{
    struct nm_lender other = {.memory_mib = 1024, .queue = (char *)"root.a"};
    struct nm_lender *own;
    struct lend_fixture l;

    (void)state;
    set_up_observing(&l, true, true);
    l.w.settings.lending.queue_max_mib = 2048;
    own = l.lender;
    other.m = own->m;
    nm_lender_enlist(&other); /* which the fixture takes for the newest one */
    l.lender = own;
    lend_want(&l, 20, 5);
    (void)lend_call(&l);
    lend_put_clock_forward(31 * NM_USEC_PER_SEC);
    (void)lend_call(&l);
    lend_tell_room(&l, TOKENS_HOST, 8192, true);
    for (unsigned i = 0; i < 2; i++) {
        (void)lend_call(&l);
        assert_int_equal(lend_figures(&l).observed, 2);
    }
    nm_lender_delist(&other);
    (void)lend_call(&l);
    assert_int_equal(lend_figures(&l).observed, 4);
    lend_tear_down(&l);
}

/* What the master itself asks for is placed as without nmd.lending, also on nodes that would lend all their room. */
static void test_observation_does_not_change_opportunistic_containers(void **state)
{
    struct lend_fixture l;

    (void)state;
    set_up_observing(&l, true, false);
    lend_want(&l, 20, 1);
    (void)lend_call(&l);
    lend_put_clock_forward(31 * NM_USEC_PER_SEC);
    (void)lend_call(&l);
    lend_tell_room(&l, TOKENS_HOST, 1024, true);
    (void)lend_call(&l);
    assert_int_equal(lend_figures(&l).observed, 1);
    lend_ask(&l, (struct lend_ask){.priority = 19, .count = 1, .opportunistic = true});
    (void)lend_call(&l);
    assert_int_equal(l.w.placed, 1);
    assert_string_equal(lend_seen(&l), "1099511627775 O");
    lend_tear_down(&l);
}

/* The ResourceManager lists no nodes then. The proxy knows its own one and those of granted containers. */
static void test_observation_without_distributed_scheduling_asks_the_nodes_it_has_seen(void **state)
{
    struct lend_fixture l;

    (void)state;
    set_up_observing(&l, false, false);
    lend_want(&l, 20, 6);
    (void)lend_call(&l);
    lend_put_clock_forward(MINUTE);
    (void)lend_call(&l);
    assert_int_equal(lend_figures(&l).observed, 0);
    lend_tell_room(&l, TOKENS_HOST, 1024, true);
    for (unsigned i = 1; i < 4; i++) {
        assert_string_equal(lend_call(&l), "");
        assert_int_equal(lend_figures(&l).observed, NM_MIN(i, 2u)); /* containers of 512 MiB */
    }
    l.granted[l.n_granted++] = (struct lend_container){.number = 2, .host = "far"};
    (void)lend_call(&l);
    assert_int_equal(lend_figures(&l).observed_now, 1);
    lend_put_clock_forward(NM_USEC_PER_SEC);
    (void)lend_call(&l);
    lend_tell_room(&l, "far", 600, true);
    (void)lend_call(&l);
    (void)lend_call(&l);
    assert_int_equal(room_of(&l, "far").observed_mib, 512);
    lend_tear_down(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room_that_another_master_has_claimed_is_not_lent),
        cmocka_unit_test(test_asks_stay_until_the_nodes_are_known_after_a_restart),
        cmocka_unit_test(test_observed_containers_have_room_on_nodes),
        cmocka_unit_test(test_a_grant_frees_the_room_of_an_observed_container),
        cmocka_unit_test(test_observation_keeps_the_limit_of_a_node),
        cmocka_unit_test(test_observation_keeps_the_limit_of_a_queue),
        cmocka_unit_test(test_observation_does_not_change_opportunistic_containers),
        cmocka_unit_test(test_observation_without_distributed_scheduling_asks_the_nodes_it_has_seen),
    };
    sigset_t mask;

    /* As in nmd, the event loop watches the child processes that resolve names. */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
