/* SPDX-License-Identifier: Apache-2.0 */

/* Preemption: thresholds, the order of measures, settling, kill budget, breaker and deadlines. */

#include "tests/unit/policy-fixture.h"

#define G NM_GUARANTEED
#define O NM_OPPORTUNISTIC

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_memory_over_beta_kills_the_container_started_last(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 60, 10), *old = node_run(n, O, 20, 10),
                   *young = node_run(n, O, 15, 10);
    const struct nm_policy_action *a;

    node_sample(n); /* 95 is equal to beta, not over it */
    assert_int_equal(n->verdict.n_actions, 0);
    node_use(g, 60.5, 10);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, young, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    a = node_action(n, young);
    assert_int_equal(a->resource, NM_MEMORY);
    assert_int_equal(a->predicted.memory_bytes, 15 * PERCENT_MEMORY);
    assert_int_equal(a->used.memory_bytes, 955 * PERCENT_MEMORY / 10);
    assert_int_equal(a->n_candidates, 2);
    assert_ptr_equal(n->verdict.candidates[a->first_candidate].view, young);
    assert_int_equal(n->verdict.candidates[a->first_candidate].passed_over, NM_PASSED_NOT);
    assert_ptr_equal(n->verdict.candidates[a->first_candidate + 1].view, old);
    assert_int_equal(n->verdict.candidates[a->first_candidate + 1].passed_over,
                     NM_PASSED_NOT_NEEDED);
}

static void test_memory_pressure_causes_a_kill_if_a_sample_confirms_it(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 60, 10), *o = node_run(n, O, 20, 10);

    node_pressure(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_use(g, 80, 10);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_pressure(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

static void test_memory_that_is_only_reserved_causes_no_kill(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 90, 10);

    (void)node_run(n, O, 20, 10);
    g->started_usec = n->in.now_usec;
    node_use(g, 10, 10);
    node_sample(n);
    assert_true(n->verdict.used.memory_bytes > 95 * PERCENT_MEMORY);
    assert_int_equal(n->verdict.in_use.memory_bytes, 30 * PERCENT_MEMORY);
    assert_int_equal(n->verdict.n_actions, 0);
}

static void test_guaranteed_and_exempt_containers_are_never_victims(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *master = node_run(n, O, 40, 40);

    (void)node_run(n, G, 60, 60);
    master->exempt = true;
    for (int i = 0; i < 10; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
    }
    assert_int_equal(n->verdict.candidates[0].passed_over, NM_PASSED_EXEMPT);
}

static void test_after_a_kill_the_policy_waits_for_the_victim_and_two_samples(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 60, 10), *old = node_run(n, O, 20, 10),
                   *young = node_run(n, O, 20, 10);

    node_sample(n);
    assert_action(n, young, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    node_enter(n, young, NM_KILLING);
    node_use(g, 76, 10);
    /* While the victim is ending, no other victim is chosen. Without the victim's 20, the use of 96 would still be over
     * beta, but the use may change until the victim has ended. */
    for (int i = 0; i < 3; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
        assert_reason(n->verdict.preempt_wait_reason, NM_REASON_SETTLING);
    }
    node_remove(n, young);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_pressure(n); /* this is not a periodic sample */
    assert_int_equal(n->verdict.n_actions, 0);
    node_sample(n);
    assert_action(n, old, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

/* If use is halfway between beta and the limit, the policy doesn't wait for two samples after a kill. One sample is
 * enough if it was taken after the victim's end. */
static void test_near_the_limit_the_policy_waits_for_only_one_sample(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 60, 10), *old = node_run(n, O, 20, 10),
                   *young = node_run(n, O, 20, 10);

    node_sample(n);
    assert_action(n, young, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    node_enter(n, young, NM_KILLING);
    node_use(g, 79, 10);
    node_pressure(n);
    assert_left_alone(n, old);
    node_remove(n, young);
    node_change(n); /* the victim has ended, but the sample is older than its end */
    assert_left_alone(n, old);
    n->in.now_usec += 100 * NM_USEC_PER_MSEC;
    node_pressure(n);
    assert_action(n, old, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

static void test_a_further_victim_is_chosen_if_the_first_one_does_not_end(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *stuck, *other = node_run(n, O, 40, 10);

    (void)node_run(n, G, 40, 10);
    stuck = node_run(n, O, 20, 10);
    node_sample(n);
    assert_action(n, stuck, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    node_enter(n, stuck, NM_KILLING);
    for (int i = 0; i < 4; i++) { /* 12 s, then two samples to settle: the fourth and the fifth */
        node_sample(n);
        assert_left_alone(n, other);
    }
    node_sample(n);
    assert_action(n, other, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

static void test_memory_of_containers_being_killed_is_credited(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *dying = node_run(n, O, 20, 10), *o = node_run(n, O, 20, 10);

    (void)node_run(n, G, 60, 10);
    node_enter(n, dying, NM_KILLING); /* killed by a user */
    node_sample(n);
    assert_left_alone(n, o);
}

static void test_a_reclaim_comes_before_a_kill(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *paused = node_paused(n, 18, 5), *o = node_run(n, O, 19, 10),
                   *g = node_run(n, G, 60, 10);

    n->settings.can_reclaim = true;
    n->in.node.swap_free_bytes = 50 * PERCENT_MEMORY;
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 1);
    /* The amount is the excess over alpha: 97 - 80. The policy tries a reclaim only once. */
    assert_action(n, paused, NM_ACTION_RECLAIM, NM_REASON_FROZEN_MEMORY);
    assert_int_equal(node_action(n, paused)->predicted.memory_bytes, 17 * PERCENT_MEMORY);
    node_apply_verdict(n);
    /* The reclaim has freed no memory. */
    node_sample(n);
    assert_reason(n->verdict.preempt_wait_reason, NM_REASON_SETTLING);
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    assert_left_alone(n, g);
}

/* The policy waits for the end of a reclaim before it kills, since swapping is slow. The wait is limited, since a
 * reclaim may hang. */
static void test_the_policy_waits_for_a_reclaim(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *paused = node_paused(n, 18, 5), *o = node_run(n, O, 19, 10);

    (void)node_run(n, G, 60, 10);
    n->settings.can_reclaim = true;
    n->in.node.swap_free_bytes = 50 * PERCENT_MEMORY;
    node_sample(n);
    assert_action(n, paused, NM_ACTION_RECLAIM, NM_REASON_FROZEN_MEMORY);
    node_apply_verdict(n);
    paused->reclaiming = true;
    for (int i = 0; i < 4; i++) { /* 12 s; the fourth sample ends the wait */
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
        assert_reason(n->verdict.preempt_wait_reason, NM_REASON_SETTLING);
    }
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

static void test_the_amount_of_a_reclaim_is_limited_by_free_swap(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *paused = node_paused(n, 20, 5), *o = node_run(n, O, 19, 10);

    (void)node_run(n, G, 60, 10);
    n->settings.can_reclaim = true;
    n->in.node.swap_free_bytes = 1 * PERCENT_MEMORY;
    node_sample(n); /* use is 4 over beta; swap has room for 1 */
    assert_action(n, paused, NM_ACTION_RECLAIM, NM_REASON_FROZEN_MEMORY);
    assert_int_equal(node_action(n, paused)->predicted.memory_bytes, 1 * PERCENT_MEMORY);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

static void test_without_swap_a_paused_container_is_killed(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *paused;

    (void)node_run(n, O, 20, 10);
    (void)node_run(n, G, 60, 10);
    paused = node_paused(n, 20, 5);
    n->settings.can_reclaim = true;
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, paused, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

/* ---- CPU ------------------------------------------------------------------------------------- */

static void test_a_pause_needs_consecutive_samples_over_beta(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 10, 60), *old = node_run(n, O, 10, 20),
                   *young = node_run(n, O, 10, 20);

    for (int i = 0; i < 3; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
    }
    node_use(g, 10, 50);
    node_sample(n); /* CPU is not over beta: the count of consecutive samples begins again */
    node_use(g, 10, 60);
    for (int i = 0; i < 3; i++) {
        node_sample(n);
        node_pressure(n); /* not a periodic sample, so this sample isn't counted */
        node_change(n);
        assert_int_equal(n->verdict.n_actions, 0);
    }
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, young, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
    assert_int_equal(node_action(n, young)->consecutive_samples, 4);
    assert_int_equal(node_action(n, young)->predicted.cpu_millicores, 20 * PERCENT_CPU);
    assert_int_equal(node_action(n, young)->predicted.memory_bytes, 0);
    assert_left_alone(n, old);
}

static void test_a_missing_sample_restarts_the_count_of_consecutive_samples(void **state)
{
    struct node *n = *state;

    (void)node_run(n, G, 10, 60);
    (void)node_run(n, O, 10, 40);
    for (int i = 0; i < 3; i++)
        node_sample(n);
    n->in.node.valid = false;
    n->in.trigger = NM_TRIGGER_SAMPLE;
    nm_policy_decide(n->policy, &n->settings, &n->in, &n->verdict);
    for (int i = 0; i < 3; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
    }
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 1);
}

static void test_a_sample_that_is_compared_twice_counts_once(void **state)
{
    struct node *n = *state;

    (void)node_run(n, G, 10, 60);
    (void)node_run(n, O, 10, 40);
    for (int i = 0; i < 3; i++)
        node_sample(n);
    n->in.trigger = NM_TRIGGER_SAMPLE;
    nm_policy_decide(n->policy, &n->settings, &n->in, &n->verdict);
    assert_int_equal(n->verdict.n_actions, 0);
}

static void test_after_a_pause_the_count_of_consecutive_samples_restarts(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *old = node_run(n, O, 10, 30), *young = node_run(n, O, 10, 10);
    int samples = 0;

    (void)node_run(n, G, 10, 61);
    for (int i = 0; i < 4; i++)
        node_sample(n);
    assert_action(n, young, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
    node_apply_verdict(n);
    /* The other opportunistic container now uses the CPU that the pause has freed. */
    node_use(young, 10, 0);
    node_use(old, 10, 39);
    do {
        node_sample(n);
        samples++;
    } while (n->verdict.n_actions == 0 && samples < 20);
    assert_int_equal(samples, 4);
    assert_action(n, old, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
}

static void test_if_pausing_is_disabled_cpu_over_beta_causes_a_kill(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_run(n, O, 10, 40);

    (void)node_run(n, G, 10, 60);
    n->settings.pause_enabled = false;
    for (int i = 0; i < 3; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
    }
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_CPU_OVER_BETA);
}

static void test_if_pausing_is_enabled_no_container_is_killed_for_cpu(void **state)
{
    struct node *n = *state;

    (void)node_run(n, O, 10, 40);
    (void)node_run(n, G, 10, 60);
    n->settings.can_freeze = false;
    for (int i = 0; i < 10; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
    }
}

static void test_thresholds_have_no_effect_if_over_allocation_is_off(void **state)
{
    struct node *n = *state;

    (void)node_run(n, O, 50, 50);
    (void)node_run(n, G, 50, 50);
    n->settings.over_allocation = false;
    n->settings.can_squeeze = true;
    for (int i = 0; i < 10; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
        assert_true(n->verdict.squeeze_millicores == NM_NO_SQUEEZE);
    }
}

/* ---- minimum run time ------------------------------------------------------------------------ */

static void test_a_container_in_its_minimum_run_time_is_spared(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *old = node_run(n, O, 20, 10), *young = node_run(n, O, 20, 10),
                   *g = node_run(n, G, 60, 10);
    const struct nm_policy_action *a;

    young->min_runtime_usec = SECONDS(120);
    node_sample(n);
    assert_left_alone(n, young);
    a = node_action(n, old);
    assert_non_null(a);
    assert_int_equal(n->verdict.candidates[a->first_candidate + 1].passed_over,
                     NM_PASSED_MIN_RUNTIME);
    node_apply_verdict(n);
    /* If the other victims don't suffice, a container within its minimum run time is killed, too. */
    node_use(g, 90, 10);
    node_sample(n);
    node_sample(n);
    assert_action(n, young, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

/* ---- budget and breaker ---------------------------------------------------------------------- */

/* ---- deadlines ------------------------------------------------------------------------------- */

static void test_a_paused_container_is_killed_or_resumed_at_its_deadline(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *busy = node_run(n, G, 10, 90), *o = node_paused(n, 10, 50),
                   *g = node_run(n, G, 10, 1);
    struct nm_policy_container *master = node_paused(n, 5, 5);

    (void)busy;
    master->exempt = master->user_paused = true;
    node_enter(n, g, NM_PAUSED);
    g->user_paused = true;
    g->pause_deadline_usec = n->in.now_usec + SECONDS(30);
    o->pause_deadline_usec = n->in.now_usec + SECONDS(20);
    master->pause_deadline_usec = n->in.now_usec + SECONDS(40);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_int_equal(n->verdict.wake_usec, o->pause_deadline_usec);

    n->in.now_usec = o->pause_deadline_usec;
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_PAUSE_DEADLINE);
    node_apply_verdict(n);
    assert_int_equal(n->verdict.wake_usec, g->pause_deadline_usec);

    /* The end of a pause by a user needs no sample, since no container is killed for it. */
    n->in.now_usec = g->pause_deadline_usec;
    n->in.node.valid = false;
    node_change(n);
    assert_action(n, g, NM_ACTION_RESUME, NM_REASON_PAUSE_EXPIRED);
    n->in.now_usec = master->pause_deadline_usec;
    node_change(n);
    assert_action(n, master, NM_ACTION_RESUME, NM_REASON_PAUSE_EXPIRED);
}

static void test_an_expired_deadline_waits_for_a_sample(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_paused(n, 10, 99);

    n->in.now_usec = o->pause_deadline_usec + 1;
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_true(n->verdict.wake_usec == UINT64_MAX);
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_PAUSE_DEADLINE);
}

static void test_growth_of_use_over_beta_between_samples_is_noticed(void **state)
{
    static const struct {
        double in_use, grown; /* percent of the capacity, with beta at 95 */
        enum nm_growth want;
    } cases[] = {
        {50, 0, NM_GROWTH_SMALL},   {50, 1.5, NM_GROWTH_SMALL},  {50, 1.6, NM_GROWTH_LARGE},
        {50, 45, NM_GROWTH_LARGE},  {50, 45.1, NM_GROWTH_CROSSES}, {94, 1, NM_GROWTH_SMALL},
        {94, 1.1, NM_GROWTH_CROSSES}, {95, 0, NM_GROWTH_SMALL},  {95, 0.01, NM_GROWTH_CROSSES},
        /* use is over beta already, so it doesn't cross beta now, and earlier actions are in progress */
        {96, 1, NM_GROWTH_SMALL},   {96, 2, NM_GROWTH_LARGE},
    };
    const struct node *n = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        assert_int_equal(nm_policy_classify_growth(&n->settings,
                                                   (uint64_t)(cases[i].in_use * (double)PERCENT_MEMORY),
                                                   (uint64_t)(cases[i].grown * (double)PERCENT_MEMORY)),
                         cases[i].want);
}

#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_setup, node_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_NODE(test_memory_over_beta_kills_the_container_started_last),
        WITH_NODE(test_memory_pressure_causes_a_kill_if_a_sample_confirms_it),
        WITH_NODE(test_memory_that_is_only_reserved_causes_no_kill),
        WITH_NODE(test_guaranteed_and_exempt_containers_are_never_victims),
        WITH_NODE(test_after_a_kill_the_policy_waits_for_the_victim_and_two_samples),
        WITH_NODE(test_near_the_limit_the_policy_waits_for_only_one_sample),
        WITH_NODE(test_a_further_victim_is_chosen_if_the_first_one_does_not_end),
        WITH_NODE(test_memory_of_containers_being_killed_is_credited),
        WITH_NODE(test_a_reclaim_comes_before_a_kill),
        WITH_NODE(test_the_policy_waits_for_a_reclaim),
        WITH_NODE(test_the_amount_of_a_reclaim_is_limited_by_free_swap),
        WITH_NODE(test_without_swap_a_paused_container_is_killed),
        WITH_NODE(test_a_pause_needs_consecutive_samples_over_beta),
        WITH_NODE(test_a_missing_sample_restarts_the_count_of_consecutive_samples),
        WITH_NODE(test_a_sample_that_is_compared_twice_counts_once),
        WITH_NODE(test_after_a_pause_the_count_of_consecutive_samples_restarts),
        WITH_NODE(test_if_pausing_is_disabled_cpu_over_beta_causes_a_kill),
        WITH_NODE(test_if_pausing_is_enabled_no_container_is_killed_for_cpu),
        WITH_NODE(test_thresholds_have_no_effect_if_over_allocation_is_off),
        WITH_NODE(test_a_container_in_its_minimum_run_time_is_spared),
        WITH_NODE(test_a_paused_container_is_killed_or_resumed_at_its_deadline),
        WITH_NODE(test_an_expired_deadline_waits_for_a_sample),
        WITH_NODE(test_growth_of_use_over_beta_between_samples_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
