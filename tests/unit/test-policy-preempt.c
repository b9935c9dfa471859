/* SPDX-License-Identifier: Apache-2.0 */

/* Taking back and giving back: thresholds, the ladder, settling, budget, breaker, deadlines,
 * resume, room. */

#include "tests/unit/policy-fixture.h"

#define G NM_GUARANTEED
#define O NM_OPPORTUNISTIC

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_memory_over_beta_kills_the_latest(void **state)
{
    struct node *n = *state;
    struct nm_view *g = node_run(n, G, 60, 10), *old = node_run(n, O, 20, 10),
                   *young = node_run(n, O, 15, 10);
    const struct nm_policy_action *a;

    node_sample(n); /* 95: at beta is not over */
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

static void test_pressure_acts_at_once_if_the_sample_confirms(void **state)
{
    struct node *n = *state;
    struct nm_view *g = node_run(n, G, 60, 10), *o = node_run(n, O, 20, 10);

    node_pressure(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_use(g, 80, 10);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_pressure(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

static void test_reservations_make_no_victims(void **state)
{
    struct node *n = *state;
    struct nm_view *g = node_run(n, G, 90, 10);

    (void)node_run(n, O, 20, 10);
    g->started_usec = n->in.now_usec;
    node_use(g, 10, 10);
    node_sample(n);
    assert_true(n->verdict.used.memory_bytes > 95 * PERCENT_MEMORY);
    assert_int_equal(n->verdict.in_use.memory_bytes, 30 * PERCENT_MEMORY);
    assert_int_equal(n->verdict.n_actions, 0);
}

static void test_guaranteed_and_exempt_are_never_victims(void **state)
{
    struct node *n = *state;
    struct nm_view *master = node_run(n, O, 40, 40);

    (void)node_run(n, G, 60, 60);
    master->exempt = true;
    for (int i = 0; i < 10; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
    }
    assert_int_equal(n->verdict.candidates[0].passed_over, NM_PASSED_EXEMPT);
}

static void test_settling_after_a_kill(void **state)
{
    struct node *n = *state;
    struct nm_view *g = node_run(n, G, 60, 10), *old = node_run(n, O, 20, 10),
                   *young = node_run(n, O, 20, 10);

    node_sample(n);
    assert_action(n, young, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    node_enter(n, young, NM_KILLING);
    node_use(g, 90, 10);
    /* As long as it lives, nobody else is taken: 110 - 20 would be over, too, but that may still
     * change. */
    for (int i = 0; i < 3; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
        assert_reason(n->verdict.preempt_hold, NM_REASON_SETTLING);
    }
    node_remove(n, young);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_pressure(n); /* is no periodic sample */
    assert_int_equal(n->verdict.n_actions, 0);
    node_sample(n);
    assert_action(n, old, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

static void test_stuck_victim_is_given_up(void **state)
{
    struct node *n = *state;
    struct nm_view *stuck, *other = node_run(n, O, 40, 10);

    (void)node_run(n, G, 40, 10);
    stuck = node_run(n, O, 20, 10);
    node_sample(n);
    assert_action(n, stuck, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    node_enter(n, stuck, NM_KILLING);
    for (int i = 0; i < 4; i++) { /* 12 s; then two samples to settle, which are the 4th and 5th */
        node_sample(n);
        assert_left_alone(n, other);
    }
    node_sample(n);
    assert_action(n, other, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

static void test_the_already_dying_are_credited(void **state)
{
    struct node *n = *state;
    struct nm_view *dying = node_run(n, O, 20, 10), *o = node_run(n, O, 20, 10);

    (void)node_run(n, G, 60, 10);
    node_enter(n, dying, NM_KILLING); /* by a person */
    node_sample(n);
    assert_left_alone(n, o);
}

static void test_reclaim_before_kill(void **state)
{
    struct node *n = *state;
    struct nm_view *paused = node_paused(n, 18, 5), *o = node_run(n, O, 19, 10),
                   *g = node_run(n, G, 60, 10);

    n->settings.can_reclaim = true;
    n->in.node.swap_free_bytes = 50 * PERCENT_MEMORY;
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 1);
    /* Down to alpha: 97 - 80. It is tried only once. */
    assert_action(n, paused, NM_ACTION_RECLAIM, NM_REASON_FROZEN_MEMORY);
    assert_int_equal(node_action(n, paused)->predicted.memory_bytes, 17 * PERCENT_MEMORY);
    node_obey(n);
    /* It brought nothing. */
    node_sample(n);
    assert_reason(n->verdict.preempt_hold, NM_REASON_SETTLING);
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    assert_left_alone(n, g);
}

static void test_reclaim_is_bounded_by_swap(void **state)
{
    struct node *n = *state;
    struct nm_view *paused = node_paused(n, 20, 5), *o = node_run(n, O, 19, 10);

    (void)node_run(n, G, 60, 10);
    n->settings.can_reclaim = true;
    n->in.node.swap_free_bytes = 1 * PERCENT_MEMORY;
    node_sample(n); /* 4 over: swap holds 1 of it */
    assert_action(n, paused, NM_ACTION_RECLAIM, NM_REASON_FROZEN_MEMORY);
    assert_int_equal(node_action(n, paused)->predicted.memory_bytes, 1 * PERCENT_MEMORY);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

static void test_without_swap_the_frozen_may_die(void **state)
{
    struct node *n = *state;
    struct nm_view *paused;

    (void)node_run(n, O, 20, 10);
    (void)node_run(n, G, 60, 10);
    paused = node_paused(n, 20, 5);
    n->settings.can_reclaim = true;
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, paused, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

/* ---- CPU ------------------------------------------------------------------------------------- */

static void test_cpu_needs_samples_in_a_row(void **state)
{
    struct node *n = *state;
    struct nm_view *g = node_run(n, G, 10, 60), *old = node_run(n, O, 10, 20),
                   *young = node_run(n, O, 10, 20);

    for (int i = 0; i < 3; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
    }
    node_use(g, 10, 50);
    node_sample(n); /* not over: begins anew */
    node_use(g, 10, 60);
    for (int i = 0; i < 3; i++) {
        node_sample(n);
        node_pressure(n); /* doesn't count */
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

static void test_missing_sample_breaks_the_row(void **state)
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

static void test_one_sample_counts_once(void **state)
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

static void test_cpu_settles_and_counts_anew(void **state)
{
    struct node *n = *state;
    struct nm_view *old = node_run(n, O, 10, 30), *young = node_run(n, O, 10, 10);
    int samples = 0;

    (void)node_run(n, G, 10, 61);
    for (int i = 0; i < 4; i++)
        node_sample(n);
    assert_action(n, young, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
    node_obey(n);
    /* The other one takes what came free. */
    node_use(young, 10, 0);
    node_use(old, 10, 39);
    do {
        node_sample(n);
        samples++;
    } while (n->verdict.n_actions == 0 && samples < 20);
    assert_int_equal(samples, 4);
    assert_action(n, old, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
}

static void test_pausing_off_kills(void **state)
{
    struct node *n = *state;
    struct nm_view *o = node_run(n, O, 10, 40);

    (void)node_run(n, G, 10, 60);
    n->settings.pause_enabled = false;
    for (int i = 0; i < 3; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
    }
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_CPU_OVER_BETA);
}

static void test_pausing_on_never_kills_for_cpu(void **state)
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

static void test_thresholds_mean_nothing_without_over_allocation(void **state)
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

static void test_minimum_run_time(void **state)
{
    struct node *n = *state;
    struct nm_view *old = node_run(n, O, 20, 10), *young = node_run(n, O, 20, 10),
                   *g = node_run(n, G, 60, 10);
    const struct nm_policy_action *a;

    young->min_runtime_usec = SECONDS(120);
    node_sample(n);
    assert_left_alone(n, young);
    a = node_action(n, old);
    assert_non_null(a);
    assert_int_equal(n->verdict.candidates[a->first_candidate + 1].passed_over,
                     NM_PASSED_MIN_RUNTIME);
    node_obey(n);
    /* Where no other will do, it goes, too. */
    node_use(g, 90, 10);
    node_sample(n);
    node_sample(n);
    assert_action(n, young, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

/* ---- budget and breaker ---------------------------------------------------------------------- */

static void test_kill_budget(void **state)
{
    struct node *n = *state;
    struct nm_view *o[4], *g = node_run(n, G, 20, 1);

    n->settings.kills_per_minute = 2;
    for (size_t i = 0; i < 4; i++)
        o[i] = node_run(n, O, 20, 1);
    node_use(g, 75, 1);
    node_sample(n); /* 60 over: three would have to go */
    assert_int_equal(node_count(n, NM_ACTION_KILL), 2);
    assert_action(n, o[3], NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    assert_action(n, o[2], NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    assert_reason(n->verdict.preempt_hold, NM_REASON_KILL_BUDGET);
    node_obey(n);
    for (int i = 1; i < 20; i++) { /* 57 s */
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
        assert_reason(n->verdict.preempt_hold, i < 2 ? NM_REASON_SETTLING : NM_REASON_KILL_BUDGET);
    }
    node_sample(n);
    assert_action(n, o[1], NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

static void test_breaker(void **state)
{
    struct node *n = *state;
    struct nm_view *g = node_run(n, G, 80, 1), *o = node_run(n, O, 20, 1), *queued;
    uint64_t killed_at, hold = 30;

    for (int round = 0; round < 6; round++) {
        node_use(g, 80, 1);
        node_sample(n);
        assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
        node_obey(n);
        killed_at = n->in.now_usec;
        node_use(g, 10, 1);
        queued = node_queue(n, O, 20, 1);
        do {
            node_sample(n);
            if (n->in.now_usec < killed_at + SECONDS(hold) &&
                n->in.now_usec > killed_at + 3 * PERIOD_USEC)
                assert_reason(n->verdict.hold, NM_REASON_BREAKER);
            if (n->verdict.n_actions == 0)
                assert_int_equal(n->verdict.wake_usec, killed_at + SECONDS(hold));
        } while (n->verdict.n_actions == 0);
        assert_int_equal(n->in.now_usec, killed_at + SECONDS(hold));
        assert_action(n, queued, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
        node_obey(n);
        node_use(queued, 20, 1);
        queued->n_samples = 20;
        o = queued;
        /* 30, 60, 120, 240, 240: eightfold at most. */
        hold = NM_MIN(2 * hold, UINT64_C(240));
    }
    /* A long time without a kill, and it starts small again. */
    n->in.now_usec += SECONDS(481);
    node_use(g, 80, 1);
    node_sample(n);
    node_obey(n);
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

static void test_memory_of_the_policy_survives(void **state)
{
    struct node *n = *state;
    struct nm_view *queued;
    struct nm_policy_memory m;

    (void)node_run(n, G, 80, 1);
    (void)node_run(n, O, 20, 1);
    n->settings.kills_per_minute = 1;
    node_sample(n);
    assert_int_equal(node_count(n, NM_ACTION_KILL), 1);
    node_obey(n);
    nm_policy_get_memory(n->policy, &m);
    n->policy = nm_policy_free(n->policy);
    assert_int_equal(nm_policy_new(&n->policy), 0);
    assert_int_equal(nm_policy_reserve(n->policy, NODE_MAX, NM_ARRAY_SIZE(n->apps)), 0);
    nm_policy_set_memory(n->policy, &m);

    queued = node_queue(n, O, 1, 1);
    node_sample(n);
    assert_left_alone(n, queued);
    assert_reason(n->verdict.hold, NM_REASON_BREAKER);
    (void)node_run(n, O, 20, 1);
    node_sample(n);
    assert_int_equal(node_count(n, NM_ACTION_KILL), 0);
    assert_reason(n->verdict.preempt_hold, NM_REASON_KILL_BUDGET);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static void test_pause_deadline(void **state)
{
    struct node *n = *state;
    struct nm_view *busy = node_run(n, G, 10, 90), *o = node_paused(n, 10, 50),
                   *g = node_run(n, G, 10, 1);
    struct nm_view *master = node_paused(n, 5, 5);

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
    node_obey(n);
    assert_int_equal(n->verdict.wake_usec, g->pause_deadline_usec);

    /* Even without a sample: nobody is hurt by it. */
    n->in.now_usec = g->pause_deadline_usec;
    n->in.node.valid = false;
    node_change(n);
    assert_action(n, g, NM_ACTION_RESUME, NM_REASON_PAUSE_EXPIRED);
    n->in.now_usec = master->pause_deadline_usec;
    node_change(n);
    assert_action(n, master, NM_ACTION_RESUME, NM_REASON_PAUSE_EXPIRED);
}

static void test_deadline_waits_for_a_sample(void **state)
{
    struct node *n = *state;
    struct nm_view *o = node_paused(n, 10, 99);

    n->in.now_usec = o->pause_deadline_usec + 1;
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_true(n->verdict.wake_usec == UINT64_MAX);
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_PAUSE_DEADLINE);
}

static void test_end_of_a_persons_pause_trips_no_breaker(void **state)
{
    struct node *n = *state;
    struct nm_view *o = node_paused(n, 10, 10), *queued;

    o->user_paused = true;
    o->pause_deadline_usec = n->in.now_usec;
    queued = node_queue(n, O, 10, 10);
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_PAUSE_DEADLINE);
    assert_action(n, queued, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
}

/* ---- resume ---------------------------------------------------------------------------------- */

static void test_resume_in_order_of_arrival(void **state)
{
    struct node *n = *state;
    struct nm_view *g = node_run(n, G, 10, 60), *first, *second, *third, *person;

    first = node_paused(n, 5, 20);
    person = node_paused(n, 5, 1);
    person->user_paused = true;
    second = node_paused(n, 5, 30);
    third = node_paused(n, 5, 5);
    node_use(g, 10, 80);
    node_sample(n); /* at alpha */
    assert_int_equal(n->verdict.n_actions, 0);
    node_use(g, 10, 60);
    node_sample(n);
    /* 60 + 20 is alpha, and 30 wouldn't fit; the third doesn't overtake. */
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, first, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
    assert_int_equal(node_action(n, first)->predicted.cpu_millicores, 20 * PERCENT_CPU);
    node_use(g, 10, 40);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 2);
    assert_left_alone(n, third);
    node_use(g, 10, 10);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 3);
    assert_ptr_equal(n->verdict.actions[0].target, first);
    assert_ptr_equal(n->verdict.actions[1].target, second);
    assert_ptr_equal(n->verdict.actions[2].target, third);
    assert_left_alone(n, person);
}

/* The figure of the sample doesn't show the resumed one yet: it must not be overlooked in the next
 * rounds. */
static void test_resume_is_remembered(void **state)
{
    struct node *n = *state;
    struct nm_view *first, *second;

    (void)node_run(n, G, 10, 40);
    first = node_paused(n, 5, 45);
    second = node_paused(n, 5, 45);
    node_sample(n);
    assert_action(n, first, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
    assert_left_alone(n, second);
    node_obey(n);
    node_change(n);
    assert_left_alone(n, second);
    node_use(first, 5, 10); /* seen for a part of the interval only */
    node_sample(n);
    assert_left_alone(n, second);
}

static void test_pause_is_not_undone_at_once(void **state)
{
    struct node *n = *state;
    struct nm_view *o = node_run(n, O, 10, 40), *g = node_run(n, G, 10, 60);

    for (int i = 0; i < 4; i++)
        node_sample(n);
    assert_action(n, o, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
    node_obey(n);
    node_use(o, 10, 0);
    for (int i = 0; i < 20; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
    }
    /* At once when there is room, but not before the pause has settled. */
    node_use(g, 10, 50);
    node_sample(n);
    assert_action(n, o, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
}

static void test_no_resume_while_settling(void **state)
{
    struct node *n = *state;
    struct nm_view *o = node_run(n, O, 10, 40), *g = node_run(n, G, 10, 60);

    for (int i = 0; i < 4; i++)
        node_sample(n);
    node_obey(n);
    node_use(o, 10, 0);
    node_use(g, 10, 10);
    (void)node_queue(n, O, 1, 1);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_reason(n->verdict.hold, NM_REASON_SETTLING);
    node_sample(n);
    assert_int_equal(node_count(n, NM_ACTION_RESUME), 1);
    assert_int_equal(node_count(n, NM_ACTION_ADMIT), 1);
}

static void test_resume_before_admission(void **state)
{
    struct node *n = *state;
    struct nm_view *g = node_run(n, G, 95, 30), *paused = node_paused(n, 5, 40), *queued;

    node_use(g, 10, 50);
    queued = node_queue(n, O, 5, 10);
    node_sample(n);
    /* 50 + 40 + 10 is over beta: the paused one goes on, the new one waits. */
    assert_action(n, paused, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
    assert_left_alone(n, queued);
    /* And if it can't go on yet, its room is not given away: 60 + 10 would fit, but then 40 would
     * have to wait on. */
    node_use(g, 10, 60);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_reason(n->verdict.hold, NM_REASON_PAUSED_FIRST);
    /* A person's pause claims nothing. */
    paused->user_paused = true;
    node_sample(n);
    assert_action(n, queued, NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
}

static void test_hog_alone_is_let_go_again(void **state)
{
    struct node *n = *state;
    struct nm_view *hog = node_paused(n, 5, 100), *small;

    hog->request.cpu_millicores = 10 * PERCENT_CPU;
    n->in.now_usec += SECONDS(30);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    /* Others aren't kept out by what it once used. */
    small = node_queue(n, O, 5, 10);
    node_change(n);
    assert_action(n, small, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
    node_obey(n);
    n->in.now_usec = hog->paused_usec + n->settings.pause_deadline_usec / 16;
    node_sample(n);
    assert_left_alone(n, hog);
    node_remove(n, small);
    n->system_cpu = 41;
    node_sample(n);
    assert_left_alone(n, hog);
    n->system_cpu = 39;
    node_sample(n);
    assert_action(n, hog, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
}

static void test_promoted_while_paused(void **state)
{
    struct node *n = *state;
    struct nm_view *v = node_paused(n, 5, 90);

    (void)node_run(n, G, 10, 90);
    v->type = G;
    node_sample(n);
    assert_action(n, v, NM_ACTION_RESUME, NM_REASON_GUARANTEED);
    v->user_paused = true;
    node_sample(n);
    assert_left_alone(n, v);
}

static void test_no_resume_into_full_memory(void **state)
{
    struct node *n = *state;
    struct nm_view *g = node_run(n, G, 95, 10), *o = node_paused(n, 1, 10);

    o->exempt = true; /* so that it isn't killed for memory */
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_use(g, 90, 10); /* over alpha, but it takes no more memory than it holds already */
    node_sample(n);
    assert_action(n, o, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
}

/* ---- room for guaranteed containers ---------------------------------------------------------- */

static void test_room_takes_what_is_needed(void **state)
{
    struct node *n = *state;
    struct nm_view *g, *o[4];

    for (size_t i = 0; i < 4; i++)
        o[i] = node_run(n, O, 20, 20);
    node_sample(n);
    g = node_queue(n, G, 30, 40);
    node_change(n);
    /* Memory: 80 + 30 - 95 = 15, one dies. CPU: 80 + 40 - 20 - 95 = 5, one more is paused. */
    assert_int_equal(n->verdict.n_actions, 2);
    assert_action(n, o[3], NM_ACTION_KILL, NM_REASON_ROOM_FOR_GUARANTEED);
    assert_action(n, o[2], NM_ACTION_PAUSE, NM_REASON_ROOM_FOR_GUARANTEED);
    assert_ptr_equal(node_action(n, o[3])->on_behalf_of, g);
    assert_ptr_equal(node_action(n, o[2])->on_behalf_of, g);
    assert_reason(n->verdict.guaranteed_hold, NM_REASON_WAITING_FOR_VICTIMS);

    /* While they go, nobody else is taken. */
    node_enter(n, o[3], NM_KILLING);
    node_enter(n, o[2], NM_PAUSING);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_remove(n, o[3]);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_enter(n, o[2], NM_PAUSED);
    o[2]->pause_deadline_usec = n->in.now_usec + SECONDS(600);
    o[2]->last_cpu_millicores = o[2]->measured.cpu_millicores;
    node_change(n);
    /* In the very round in which the last one is gone. */
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
}

static void test_room_for_several(void **state)
{
    struct node *n = *state;
    struct nm_view *g[2], *o[4];

    for (size_t i = 0; i < 4; i++)
        o[i] = node_run(n, O, 20, 1);
    node_sample(n);
    g[0] = node_queue(n, G, 30, 1); /* 15 short: o[3] */
    g[1] = node_queue(n, G, 30, 1); /* 45 short in all: o[2] and o[1] more */
    node_change(n);
    assert_int_equal(node_count(n, NM_ACTION_KILL), 3);
    assert_left_alone(n, o[0]);
    assert_ptr_equal(node_action(n, o[3])->on_behalf_of, g[0]);
    assert_ptr_equal(node_action(n, o[2])->on_behalf_of, g[1]);
    assert_ptr_equal(node_action(n, o[1])->on_behalf_of, g[1]);
    node_remove(n, o[3]);
    node_enter(n, o[2], NM_KILLING);
    node_enter(n, o[1], NM_KILLING);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, g[0], NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    assert_ptr_equal(n->verdict.guaranteed_hold_view, g[1]);
}

static void test_room_that_cannot_be_had(void **state)
{
    struct node *n = *state;
    struct nm_view *g, *o = node_run(n, O, 10, 1), *master = node_run(n, O, 30, 1);

    master->exempt = true;
    node_sample(n);
    g = node_queue(n, G, 90, 1);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_ROOM_FOR_GUARANTEED);
    node_obey(n);
    node_change(n);
    /* 30 + 90 is over, but there is nobody left. */
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
}

static void test_room_credits_reservations(void **state)
{
    struct node *n = *state;
    struct nm_view *g, *o[3];

    for (size_t i = 0; i < 3; i++) {
        o[i] = node_run(n, O, 30, 1);
        o[i]->started_usec = n->in.now_usec + i;
        node_use(o[i], 1, 1);
    }
    node_sample(n);
    g = node_queue(n, G, 30, 1);
    node_change(n);
    /* U is 90, as reserved: one reservation given up is enough. */
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, o[2], NM_ACTION_KILL, NM_REASON_ROOM_FOR_GUARANTEED);
    (void)g;
}

static void test_room_is_not_held_by_the_budget(void **state)
{
    struct node *n = *state;

    n->settings.kills_per_minute = 0;
    (void)node_run(n, O, 50, 1);
    (void)node_run(n, O, 30, 1);
    node_sample(n);
    (void)node_queue(n, G, 90, 1);
    node_change(n);
    assert_int_equal(node_count(n, NM_ACTION_KILL), 2);
}

static void test_room_in_plain_yarn(void **state)
{
    struct node *n = *state;
    struct nm_view *g, *o[3];

    n->settings.over_allocation = false;
    n->settings.pause_enabled = false;
    for (size_t i = 0; i < 3; i++) {
        o[i] = node_run(n, O, 30, 30);
        node_use(o[i], 1, 1);
    }
    node_sample(n);
    g = node_queue(n, G, 10, 40);
    node_change(n);
    /* CPU: 90 + 40 - 100 = 30, and pausing is off. */
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, o[2], NM_ACTION_KILL, NM_REASON_ROOM_FOR_GUARANTEED);
    node_obey(n);
    node_change(n);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
}

static void test_no_room_is_made_blindly(void **state)
{
    struct node *n = *state;

    (void)node_run(n, O, 90, 1);
    node_sample(n);
    (void)node_queue(n, G, 90, 1);
    n->in.node.valid = false;
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    n->in.node.valid = true;
    n->in.draining = true;
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    n->in.draining = false;
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 1);
}

#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_setup, node_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_NODE(test_memory_over_beta_kills_the_latest),
        WITH_NODE(test_pressure_acts_at_once_if_the_sample_confirms),
        WITH_NODE(test_reservations_make_no_victims),
        WITH_NODE(test_guaranteed_and_exempt_are_never_victims),
        WITH_NODE(test_settling_after_a_kill),
        WITH_NODE(test_stuck_victim_is_given_up),
        WITH_NODE(test_the_already_dying_are_credited),
        WITH_NODE(test_reclaim_before_kill),
        WITH_NODE(test_reclaim_is_bounded_by_swap),
        WITH_NODE(test_without_swap_the_frozen_may_die),
        WITH_NODE(test_cpu_needs_samples_in_a_row),
        WITH_NODE(test_missing_sample_breaks_the_row),
        WITH_NODE(test_one_sample_counts_once),
        WITH_NODE(test_cpu_settles_and_counts_anew),
        WITH_NODE(test_pausing_off_kills),
        WITH_NODE(test_pausing_on_never_kills_for_cpu),
        WITH_NODE(test_thresholds_mean_nothing_without_over_allocation),
        WITH_NODE(test_minimum_run_time),
        WITH_NODE(test_kill_budget),
        WITH_NODE(test_breaker),
        WITH_NODE(test_memory_of_the_policy_survives),
        WITH_NODE(test_pause_deadline),
        WITH_NODE(test_deadline_waits_for_a_sample),
        WITH_NODE(test_end_of_a_persons_pause_trips_no_breaker),
        WITH_NODE(test_resume_in_order_of_arrival),
        WITH_NODE(test_resume_is_remembered),
        WITH_NODE(test_pause_is_not_undone_at_once),
        WITH_NODE(test_no_resume_while_settling),
        WITH_NODE(test_resume_before_admission),
        WITH_NODE(test_hog_alone_is_let_go_again),
        WITH_NODE(test_promoted_while_paused),
        WITH_NODE(test_no_resume_into_full_memory),
        WITH_NODE(test_room_takes_what_is_needed),
        WITH_NODE(test_room_for_several),
        WITH_NODE(test_room_that_cannot_be_had),
        WITH_NODE(test_room_credits_reservations),
        WITH_NODE(test_room_is_not_held_by_the_budget),
        WITH_NODE(test_room_in_plain_yarn),
        WITH_NODE(test_no_room_is_made_blindly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
