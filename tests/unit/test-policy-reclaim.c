/* SPDX-License-Identifier: Apache-2.0 */

/* Memory of running containers is swapped out before a kill, if the swapped memory is likely to suffice. */

#include "tests/unit/policy-fixture.h"

#define G NM_GUARANTEED
#define O NM_OPPORTUNISTIC

/* Makes a node with use just over beta, on which memory of running containers may be reclaimed at 100 MiB/s. */
static struct nm_policy_container *just_over(struct node *n, struct nm_policy_container **ret_young)
{
    struct nm_policy_container *old = node_run(n, O, 16, 10);

    *ret_young = node_run(n, O, 16, 10);
    (void)node_run(n, G, 64, 10);
    n->settings.can_reclaim = true;
    n->settings.reclaim_usec = SECONDS(5);
    n->in.reclaim_bytes_per_sec = PERCENT_MEMORY;
    n->in.node.swap_free_bytes = 50 * PERCENT_MEMORY;
    return old;
}

static void test_memory_of_running_containers_is_reclaimed_before_a_kill(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *young, *old = just_over(n, &young);

    node_sample(n);
    /* The amount is the excess over beta (96 - 95) plus an eighth of the way to alpha. */
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, young, NM_ACTION_RECLAIM, NM_REASON_RUNNING_MEMORY);
    assert_in_range(node_action(n, young)->predicted.memory_bytes, 287 * NM_MIB, 288 * NM_MIB);
    assert_int_equal(node_action(n, young)->within_usec, SECONDS(5));
    young->reclaiming = true;
    young->reclaimed_usec = n->in.now_usec;
    node_pressure(n); /* the reclaim has not ended yet */
    assert_int_equal(n->verdict.n_actions, 0);
    assert_reason(n->verdict.preempt_wait_reason, NM_REASON_SETTLING);
    young->reclaiming = false;
    node_use(young, 14, 10);
    node_pressure(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_reason(n->verdict.preempt_wait_reason, NM_REASON_NONE);
    /* Swapped memory still counts as use, since the container may read it back. */
    young->swapped_bytes = 2 * PERCENT_MEMORY;
    node_change(n);
    assert_int_equal(n->verdict.used.memory_bytes, 96 * PERCENT_MEMORY);
    /* The container has read its memory back: the reclaim was without effect and is not repeated. */
    node_use(young, 16, 10);
    old->reclaimed_usec = n->in.now_usec;
    node_sample(n);
    node_sample(n);
    assert_action(n, young, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    assert_left_alone(n, old);
}

/* The reclaim has freed too little memory. The kill follows without further delay. */
static void test_a_kill_follows_a_reclaim_that_freed_too_little(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *young, *old = just_over(n, &young);

    node_sample(n);
    assert_action(n, young, NM_ACTION_RECLAIM, NM_REASON_RUNNING_MEMORY);
    young->reclaimed_usec = n->in.now_usec;
    node_pressure(n);
    assert_action(n, young, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    assert_left_alone(n, old);
}

/* A reclaim that hangs is aborted when its time is over. */
static void test_a_reclaim_that_hangs_is_aborted(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *young;

    (void)just_over(n, &young);
    node_sample(n);
    young->reclaiming = true;
    young->reclaimed_usec = n->in.now_usec;
    node_sample(n); /* 3 s of the permitted 5 s */
    assert_int_equal(n->verdict.n_actions, 0);
    node_sample(n);
    assert_action(n, young, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

/* Use of memory keeps growing and would reach the limit before the end of the reclaim. */
static void test_fast_growth_of_memory_causes_a_kill_without_a_reclaim(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *young, *g;

    (void)just_over(n, &young);
    g = n->list[2];
    node_sample(n);
    young->reclaiming = true;
    young->reclaimed_usec = n->in.now_usec;
    node_use(g, 64.1, 10);
    node_pressure(n); /* use grows by 0.4 per second, and 3.9 are free */
    assert_int_equal(n->verdict.n_actions, 0);
    node_use(g, 65, 10);
    node_pressure(n); /* use grows by 4 per second, and 3 are free */
    assert_action(n, young, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

static void test_a_reclaim_that_would_free_too_little_is_not_tried(void **state)
{
    struct node *n = *state;
    struct nm_policy_settings settings;
    struct nm_policy_input in;
    struct nm_policy_container *young, *old = just_over(n, &young);

    settings = n->settings;
    in = n->in;
    for (int i = 0; i < 7; i++) {
        n->settings = settings;
        n->in.reclaim_bytes_per_sec = in.reclaim_bytes_per_sec;
        n->in.node.swap_free_bytes = in.node.swap_free_bytes;
        young->exempt = old->exempt = false;
        nm_policy_free(n->policy);
        assert_int_equal(nm_policy_new(&n->policy), 0);
        assert_int_equal(nm_policy_reserve(n->policy, NODE_MAX, 4), 0);
        switch (i) {
        case 0: break; /* only in this case a reclaim suffices */
        case 1: n->settings.reclaim_usec = 0; break;
        case 2: n->settings.can_reclaim = false; break;
        case 3: n->settings.reclaim_usec = SECONDS(2); break; /* 2.9 are needed, at 1 per second */
        case 4: /* if the speed of the swap device is unknown, a low speed is assumed */
            n->in.reclaim_bytes_per_sec = 0;
            n->settings.reclaim_usec = SECONDS(4);
            break;
        case 5: n->in.node.swap_free_bytes = 5 * PERCENT_MEMORY; break; /* twice as much free swap is required */
        case 6: /* half of the container's memory is too little, and the other container is exempt */
            old->exempt = true;
            node_use(young, 5, 10);
            n->system_memory = 11;
            break;
        }
        node_sample(n);
        if (i == 0)
            assert_action(n, young, NM_ACTION_RECLAIM, NM_REASON_RUNNING_MEMORY);
        else
            assert_action(n, young, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    }
}

#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_setup, node_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_NODE(test_memory_of_running_containers_is_reclaimed_before_a_kill),
        WITH_NODE(test_a_kill_follows_a_reclaim_that_freed_too_little),
        WITH_NODE(test_a_reclaim_that_hangs_is_aborted),
        WITH_NODE(test_fast_growth_of_memory_causes_a_kill_without_a_reclaim),
        WITH_NODE(test_a_reclaim_that_would_free_too_little_is_not_tried),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
