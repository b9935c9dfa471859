/* SPDX-License-Identifier: Apache-2.0 */

/* The reasons to stop admissions after kills: the kill budget, the breaker, and the surge margin. The last tests are
 * about guaranteed containers whose CPU is a share. Such containers don't wait for free CPU. */

#include "tests/unit/policy-fixture.h"

#define G NM_GUARANTEED
#define O NM_OPPORTUNISTIC

static void test_the_kill_budget_limits_kills_per_minute(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o[4], *g = node_run(n, G, 20, 1);

    n->settings.kills_per_minute = 2;
    for (size_t i = 0; i < 4; i++)
        o[i] = node_run(n, O, 20, 1);
    node_use(g, 75, 1);
    node_sample(n); /* memory is 60 over beta, so that three victims are needed */
    assert_int_equal(node_count(n, NM_ACTION_KILL), 2);
    assert_action(n, o[3], NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    assert_action(n, o[2], NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    assert_reason(n->verdict.preempt_wait_reason, NM_REASON_KILL_BUDGET);
    node_apply_verdict(n);
    for (int i = 1; i < 20; i++) { /* 57 s */
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
        assert_reason(n->verdict.preempt_wait_reason, i < 2 ? NM_REASON_SETTLING : NM_REASON_KILL_BUDGET);
    }
    node_sample(n);
    assert_action(n, o[1], NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

static void test_a_kill_trips_the_breaker(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 80, 1), *o = node_run(n, O, 20, 1), *queued;
    uint64_t killed_at, hold = 30;

    for (int round = 0; round < 6; round++) {
        node_use(g, 80, 1);
        node_sample(n);
        assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
        node_apply_verdict(n);
        killed_at = n->in.now_usec;
        node_use(g, 10, 1);
        queued = node_queue(n, O, 20, 1);
        do {
            node_sample(n);
            if (n->in.now_usec < killed_at + SECONDS(hold) &&
                n->in.now_usec > killed_at + 3 * PERIOD_USEC)
                assert_reason(n->verdict.queue_reason, NM_REASON_BREAKER);
            if (n->verdict.n_actions == 0)
                assert_int_equal(n->verdict.wake_usec, killed_at + SECONDS(hold));
        } while (n->verdict.n_actions == 0);
        assert_int_equal(n->in.now_usec, killed_at + SECONDS(hold));
        assert_action(n, queued, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
        node_apply_verdict(n);
        node_use(queued, 20, 1);
        queued->n_samples = 20;
        o = queued;
        /* The stop lasts 30 s, then 60 s, then 60 s again. It is doubled only once. */
        hold = NM_MIN(2 * hold, UINT64_C(60));
    }
    /* After a long time without a kill, the next stop lasts 30 s again. */
    n->in.now_usec += SECONDS(121);
    node_use(g, 80, 1);
    node_sample(n);
    node_apply_verdict(n);
    killed_at = n->in.now_usec;
    queued = node_queue(n, O, 20, 1);
    node_use(g, 10, 1);
    while (n->in.now_usec < killed_at + SECONDS(27)) {
        node_sample(n);
        assert_left_alone(n, queued);
    }
    node_sample(n);
    assert_action(n, queued, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
}

/* A kill that makes room for a guaranteed container doesn't trip the breaker, since the node's load didn't cause the
 * kill. */
static void test_a_kill_for_a_guaranteed_container_does_not_trip_the_breaker(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_run(n, O, 60, 1), *g, *queued;

    node_sample(n);
    g = node_queue(n, G, 60, 1);
    node_change(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_ROOM_FOR_GUARANTEED);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    node_apply_verdict(n);
    queued = node_queue(n, O, 10, 1);
    for (int i = 0; i < 3 && !(i > 0 && node_action(n, queued)); i++) {
        node_sample(n);
        assert_true(n->verdict.queue_reason != NM_REASON_BREAKER);
    }
    assert_action(n, queued, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
}

static void test_a_tripped_breaker_can_be_closed_by_a_request(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 80, 1), *o = node_run(n, O, 20, 1), *queued;

    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    node_apply_verdict(n);
    node_use(g, 10, 1);
    queued = node_queue(n, O, 20, 1);
    for (int i = 0; i < 4; i++)
        node_sample(n);
    assert_reason(n->verdict.queue_reason, NM_REASON_BREAKER);
    assert_true(nm_policy_close_breaker(n->policy, n->in.now_usec));
    node_change(n);
    assert_action(n, queued, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
    assert_false(nm_policy_close_breaker(n->policy, n->in.now_usec));
}

/* OOM kills by the kernel stop admissions as nmd's own kills do, and for longer if the OOM kills repeat. They don't
 * count in the kill budget, since an OOM kill shows that nmd has reacted too slowly. */
static void test_oom_kills_by_the_kernel_trip_the_breaker(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 50, 1), *o = node_run(n, O, 20, 1), *queued;

    n->settings.kills_per_minute = 1;
    n->in.kernel_kills = 3;
    node_pressure(n);
    n->in.kernel_kills = 0;
    queued = node_queue(n, O, 10, 1);
    node_sample(n);
    assert_left_alone(n, queued);
    assert_reason(n->verdict.queue_reason, NM_REASON_BREAKER);
    assert_int_equal(n->verdict.wake_usec, n->in.now_usec - PERIOD_USEC + SECONDS(30));
    node_use(g, 80, 1);
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    node_apply_verdict(n);
    node_use(g, 50, 1);
    /* this kill is within twice the duration of the first stop, so the next stop lasts longer */
    n->in.now_usec += SECONDS(31);
    n->in.kernel_kills = 1;
    node_change(n);
    n->in.kernel_kills = 0;
    node_sample(n);
    assert_reason(n->verdict.queue_reason, NM_REASON_BREAKER);
    assert_true(n->verdict.wake_usec > n->in.now_usec + SECONDS(30));
}

static void test_a_kill_at_the_deadline_of_a_users_pause_does_not_trip_the_breaker(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_paused(n, 10, 10), *queued;

    o->user_paused = true;
    o->pause_deadline_usec = n->in.now_usec;
    queued = node_queue(n, O, 10, 10);
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_PAUSE_DEADLINE);
    assert_action(n, queued, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
}

/* A surge has destroyed nearly all work of the opportunistic containers. The policy then keeps memory free for the next
 * surge, for the configured time. */
static void test_a_surge_that_destroys_much_work_creates_a_margin(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 60, 1), *o = node_run(n, O, 40, 50), *queued;
    uint64_t surged;

    n->settings.margin_usec = SECONDS(600);
    n->settings.breaker_usec = 0;
    node_use(g, 20, 1);
    for (int i = 0; i < 30; i++)
        node_sample(n);
    assert_int_equal(n->verdict.margin_bytes, 0);
    o->cpu_usage_usec = SECONDS(1000);
    node_use(g, 58, 1);
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    surged = n->in.now_usec;
    node_apply_verdict(n);
    node_use(g, 20, 1);
    queued = node_queue(n, O, 38, 1);
    while (n->in.now_usec + PERIOD_USEC < surged + SECONDS(600)) {
        node_sample(n);
        assert_left_alone(n, queued);
        if (n->in.now_usec > surged + SECONDS(12))
            assert_reason(n->verdict.queue_reason, NM_REASON_SURGE_MARGIN);
        assert_int_equal(n->verdict.margin_until_usec, surged + SECONDS(600));
    }
    node_sample(n);
    assert_action(n, queued, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
}

/* A kill that destroys little work is an accepted cost of over-allocation. It creates no margin. */
static void test_a_kill_that_destroys_little_work_creates_no_margin(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 60, 1), *o = node_run(n, O, 40, 50);

    n->settings.margin_usec = SECONDS(600);
    node_use(g, 20, 1);
    for (int i = 0; i < 30; i++)
        node_sample(n);
    o->cpu_usage_usec = 1; /* compared with 90 s of work on half of the node */
    node_use(g, 58, 1);
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    node_apply_verdict(n);
    node_use(g, 20, 1);
    node_sample(n);
    assert_int_equal(n->verdict.margin_bytes, 0);
}

static bool takes(const struct node *n, double memory, double cpu)
{
    struct nm_resources request = {(uint64_t)(memory * (double)PERCENT_MEMORY), (uint64_t)(cpu * (double)PERCENT_CPU)};

    return nm_policy_queue_takes(n->policy, &n->settings, n->list, n->in.n_views, &request, 0, n->in.now_usec);
}

static void hold_margin(struct node *n, uint64_t until_usec)
{
    const struct nm_policy_memory m = {
        .margin = {.until_usec = until_usec, .hold_usec = SECONDS(600), .peak_permille = 900}};

    nm_policy_set_memory(n->policy, &m);
}

/* Guaranteed and running containers don't count, whatever they request. */
static void test_half_of_the_queue_is_kept_for_dense_containers_while_the_margin_holds(void **state)
{
    struct node *n = *state;

    n->settings.queue_max_length = 4;
    (void)node_run(n, O, 1, 20);
    (void)node_queue(n, G, 1, 20);
    (void)node_queue(n, O, 10, 10);
    hold_margin(n, n->in.now_usec + 1);
    assert_true(takes(n, 10, 1)); /* the first half is for all containers */
    (void)node_queue(n, O, 2, 4);
    assert_false(takes(n, 10, 9));
    assert_true(takes(n, 20, 20)); /* one of two waiting containers is denser */
    (void)node_queue(n, O, 1, 3);
    assert_false(takes(n, 10, 20));
    assert_false(takes(n, 2, 5.9)); /* one of three is denser */
    assert_true(takes(n, 2, 6));    /* equal containers are taken */
    hold_margin(n, n->in.now_usec);
    assert_true(takes(n, 10, 1)); /* no memory is kept free now */
    n->settings.queue_max_length = 0;
    assert_true(takes(n, 10, 1)); /* nm_policy_check_request() compares the length without a margin */
}

/* A queue that is limited by the sum of the requests has no half. */
static void test_a_queue_limited_by_resources_takes_all_containers(void **state)
{
    struct node *n = *state;

    n->settings.queue_policy = NM_QUEUE_BY_RESOURCES;
    n->settings.queue_max_length = 0;
    hold_margin(n, n->in.now_usec + 1);
    assert_true(takes(n, 10, 1));
}

static void test_the_state_of_the_policy_survives_a_restart(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *queued;
    struct nm_policy_memory m;

    (void)node_run(n, G, 80, 1);
    (void)node_run(n, O, 20, 1);
    n->settings.kills_per_minute = 1;
    node_sample(n);
    assert_int_equal(node_count(n, NM_ACTION_KILL), 1);
    node_apply_verdict(n);
    nm_policy_get_memory(n->policy, &m);
    n->policy = nm_policy_free(n->policy);
    assert_int_equal(nm_policy_new(&n->policy), 0);
    assert_int_equal(nm_policy_reserve(n->policy, NODE_MAX, NM_ARRAY_SIZE(n->apps)), 0);
    nm_policy_set_memory(n->policy, &m);

    queued = node_queue(n, O, 1, 1);
    node_sample(n);
    assert_left_alone(n, queued);
    assert_reason(n->verdict.queue_reason, NM_REASON_BREAKER);
    (void)node_run(n, O, 20, 1);
    node_sample(n);
    assert_int_equal(node_count(n, NM_ACTION_KILL), 0);
    assert_reason(n->verdict.preempt_wait_reason, NM_REASON_KILL_BUDGET);
}

#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_setup, node_teardown)

/* ---- guaranteed containers whose CPU is a share ---------------------------------------------- */

static enum nm_reason check(const struct node *n, enum nm_execution_type type, double memory, double cpu)
{
    struct nm_resources request = {(uint64_t)(memory * (double)PERCENT_MEMORY),
                                   (uint64_t)(cpu * (double)PERCENT_CPU)};

    return nm_policy_check_request(&n->settings, n->list, n->in.n_views, type, &request, false, NULL);
}

/* A container whose CPU is a share reduces only the memory that can be promised. Only the memory of its own request is
 * checked. */
static void test_a_container_with_a_cpu_share_is_checked_for_memory_only(void **state)
{
    struct node *n = *state;
    struct nm_resources large = {10 * PERCENT_MEMORY, 400 * PERCENT_CPU}, all = {100 * PERCENT_MEMORY, 1};
    struct nm_policy_container *share = node_run(n, G, 60, 400), *o;

    share->cpu_is_share = true;
    assert_reason(check(n, G, 10, 100), NM_REASON_NONE);
    assert_reason(check(n, G, 10, 100.01), NM_REASON_LARGER_THAN_NODE);
    (void)node_run(n, G, 20, 80);
    assert_reason(check(n, G, 10, 20.01), NM_REASON_GUARANTEED_FULL);
    o = node_run(n, O, 10, 300);
    assert_reason(nm_policy_check_request(&n->settings, n->list, n->in.n_views, G, &large, true, NULL),
                  NM_REASON_NONE);
    assert_reason(nm_policy_check_request(&n->settings, n->list, n->in.n_views, G, &all, true, NULL),
                  NM_REASON_GUARANTEED_FULL);
    assert_reason(nm_policy_check_request(&n->settings, n->list, n->in.n_views, G, &o->request, true, o),
                  NM_REASON_NONE);
    assert_reason(nm_policy_check_request(&n->settings, n->list, n->in.n_views, O, &large, true, NULL),
                  NM_REASON_LARGER_THAN_NODE);
}

/* Containers with CPU shares start whatever amount of CPU is allocated or in use. Containers with promised CPU wait
 * only for CPU that is promised to other containers. */
static void test_containers_with_cpu_shares_start_whatever_cpu_is_used(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_run(n, O, 10, 90), *shares[4], *g;

    for (size_t i = 0; i < NM_ARRAY_SIZE(shares); i++) {
        shares[i] = node_queue(n, G, 10, 300);
        shares[i]->cpu_is_share = true;
    }
    node_sample(n);
    for (size_t i = 0; i < NM_ARRAY_SIZE(shares); i++)
        assert_action(n, shares[i], NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    assert_left_alone(n, o);
    node_apply_verdict(n);
    node_remove(n, o);
    node_sample(n);
    assert_true(n->verdict.used.cpu_millicores >= 1200 * PERCENT_CPU);
    assert_int_equal(n->verdict.allocated_guaranteed.cpu_millicores, 1200 * PERCENT_CPU);
    g = node_queue(n, G, 10, 100);
    node_sample(n);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_NODE(test_the_kill_budget_limits_kills_per_minute),
        WITH_NODE(test_a_kill_trips_the_breaker),
        WITH_NODE(test_a_kill_for_a_guaranteed_container_does_not_trip_the_breaker),
        WITH_NODE(test_a_tripped_breaker_can_be_closed_by_a_request),
        WITH_NODE(test_oom_kills_by_the_kernel_trip_the_breaker),
        WITH_NODE(test_a_kill_at_the_deadline_of_a_users_pause_does_not_trip_the_breaker),
        WITH_NODE(test_a_surge_that_destroys_much_work_creates_a_margin),
        WITH_NODE(test_a_kill_that_destroys_little_work_creates_no_margin),
        WITH_NODE(test_half_of_the_queue_is_kept_for_dense_containers_while_the_margin_holds),
        WITH_NODE(test_a_queue_limited_by_resources_takes_all_containers),
        WITH_NODE(test_the_state_of_the_policy_survives_a_restart),
        WITH_NODE(test_a_container_with_a_cpu_share_is_checked_for_memory_only),
        WITH_NODE(test_containers_with_cpu_shares_start_whatever_cpu_is_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
