/* SPDX-License-Identifier: Apache-2.0 */

/* Time in preemption: periodic and extra samples, victims that make no progress, and system sleep. */

#include "tests/unit/policy-fixture.h"

#define G NM_GUARANTEED
#define O NM_OPPORTUNISTIC

/* ---- samples and their periods ---------------------------------------------------------------- */

static void test_extra_cpu_samples_within_a_period_do_not_count(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_run(n, O, 10, 40);

    (void)node_run(n, G, 10, 60);
    for (int i = 0; i < 20; i++) { /* all extra samples are within one sampling period */
        node_extra_sample(n, 50 * NM_USEC_PER_MSEC);
        assert_left_alone(n, o);
    }
    for (int i = 0; i < 3; i++) {
        assert_left_alone(n, o);
        node_sample(n);
    }
    assert_action(n, o, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
    assert_int_equal(node_action(n, o)->consecutive_samples, 4);
}

/* Timers catch up after a delay, so that two samples may be closer than a period. Such samples don't count as full
 * periods. */
static void test_consecutive_samples_must_cover_full_periods(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_run(n, O, 10, 40);
    uint64_t first;

    (void)node_run(n, G, 10, 60);
    node_sample(n);
    first = n->in.now_usec;
    while (node_count(n, NM_ACTION_PAUSE) == 0) {
        n->in.now_usec -= PERIOD_USEC - 100 * NM_USEC_PER_MSEC;
        node_sample(n);
        assert_true(n->in.now_usec < first + SECONDS(20));
    }
    assert_action(n, o, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
    assert_true(n->in.now_usec - first >= 3 * PERIOD_USEC - PERIOD_USEC / 8);
    assert_true(n->in.now_usec - first <= 3 * PERIOD_USEC);
}

static void test_an_extra_cpu_sample_below_beta_does_not_restart_the_count(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 10, 60), *o = node_run(n, O, 10, 40);

    for (int i = 0; i < 3; i++) {
        node_sample(n);
        node_use(g, 10, 20);
        n->in.now_usec -= SECONDS(1);
        node_extra_sample(n, SECONDS(1));
        node_use(g, 10, 60);
    }
    node_sample(n);
    assert_action(n, o, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
}

static void test_an_extra_cpu_sample_is_enough_if_one_sample_is_required(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_run(n, O, 10, 40);

    n->settings.cpu_samples = 1;
    (void)node_run(n, G, 10, 60);
    node_extra_sample(n, 50 * NM_USEC_PER_MSEC);
    assert_action(n, o, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
}

static void test_extra_cpu_samples_do_not_end_the_wait_after_an_action(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_run(n, O, 40, 10);

    (void)node_run(n, G, 30, 10);
    (void)node_run(n, O, 30, 10);
    node_sample(n);
    assert_int_equal(node_count(n, NM_ACTION_KILL), 1);
    node_apply_verdict(n);
    node_use(o, 66, 10);
    for (int i = 0; i < 20; i++) {
        node_extra_sample(n, 10 * NM_USEC_PER_MSEC);
        assert_left_alone(n, o);
    }
    node_sample(n);
    assert_left_alone(n, o);
    node_sample(n);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
}

/* ---- victims without progress ----------------------------------------------------------------- */

/* The victim frees 4 % of the node's memory in each period. The policy waits until the victim has ended, however long
 * this takes. */
static void test_a_shrinking_victim_is_not_stuck(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *victim, *other = node_run(n, O, 10, 10);

    (void)node_run(n, G, 20, 10);
    victim = node_run(n, O, 70, 10);
    node_sample(n);
    assert_action(n, victim, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    node_enter(n, victim, NM_KILLING);
    for (double left = 70; left > 0; left -= 4) {
        node_use(victim, left, 0);
        node_use(other, 80 - left, 10); /* use of the node stays constant meanwhile */
        node_sample(n);
        assert_left_alone(n, other);
    }
}

static void test_a_victim_that_stops_shrinking_is_stuck(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *victim, *other = node_run(n, O, 10, 10);
    int samples = 0;

    (void)node_run(n, G, 20, 10);
    victim = node_run(n, O, 70, 10);
    node_sample(n);
    node_enter(n, victim, NM_KILLING);
    for (double left = 70; left > 50; left -= 4) {
        node_use(victim, left, 0);
        node_use(other, 80 - left, 10);
        node_sample(n);
        assert_left_alone(n, other);
    }
    while (!node_action(n, other) && samples++ < 20)
        node_sample(n);
    assert_action(n, other, NM_ACTION_KILL, NM_REASON_MEMORY_OVER_BETA);
    assert_in_range(samples, 3, 7);
}

static void test_after_a_freeze_that_hangs_another_container_is_paused(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *other = node_run(n, O, 10, 30), *v = node_run(n, O, 10, 30);
    uint64_t began;

    (void)node_run(n, G, 10, 40);
    for (int i = 0; i < 4; i++)
        node_sample(n);
    assert_action(n, v, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
    node_enter(n, v, NM_PAUSING);
    began = n->in.now_usec;
    node_change(n);
    assert_left_alone(n, v);
    assert_int_equal(n->verdict.wake_usec, began + SECONDS(10));
    n->in.now_usec = began + SECONDS(10);
    n->in.node.valid = false; /* this resume needs no new sample */
    node_change(n);
    assert_action(n, v, NM_ACTION_RESUME, NM_REASON_FREEZE_HANGS);
    v->freeze_failed_usec = n->in.now_usec;
    node_apply_verdict(n);
    /* Another container is paused next, since the freeze of the first container has just failed. */
    for (int i = 0; i < 3; i++) {
        node_sample(n);
        assert_left_alone(n, other);
        assert_left_alone(n, v);
    }
    node_sample(n);
    assert_action(n, other, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
    assert_left_alone(n, v);
    node_enter(n, other, NM_PAUSING);
    node_use(v, 10, 60);
    for (uint64_t until = n->in.now_usec + SECONDS(280); n->in.now_usec < until;) {
        node_enter(n, other, NM_PAUSED);
        other->pause_deadline_usec = UINT64_MAX - 1;
        other->last_cpu_millicores = 30 * PERCENT_CPU;
        node_sample(n);
        assert_left_alone(n, v);
    }
    for (int i = 0; i < 20 && !node_action(n, v); i++)
        node_sample(n);
    assert_action(n, v, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
}

/* ---- system sleep ----------------------------------------------------------------------------- */

static void test_after_a_system_sleep_containers_are_resumed_before_deadlines_count(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *v = node_paused(n, 10, 30), *late = node_paused(n, 10, 30);

    node_change(n);
    n->in.suspended_usec = SECONDS(3600);
    n->in.now_usec += SECONDS(3600);
    assert_true(v->pause_deadline_usec < n->in.now_usec);
    (void)node_run(n, G, 10, 60);
    node_sample(n); /* there is room for one of the paused containers */
    assert_action(n, v, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
    assert_left_alone(n, late);
    node_apply_verdict(n);
    node_use(v, 10, 30);
    for (int i = 0; i < 2; i++) {
        node_sample(n);
        assert_left_alone(n, late);
    }
    node_sample(n); /* there is no room for the other paused container */
    assert_action(n, late, NM_ACTION_KILL, NM_REASON_PAUSE_DEADLINE);
}

/* The container was paused just before the system sleep. The policy waits for the pause to settle, and this wait is
 * longer than the time that a container is granted after a sleep. */
static void test_a_system_sleep_while_a_pause_settles_does_not_kill_the_container(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *busy = node_run(n, G, 10, 60), *v = node_run(n, O, 10, 40);

    n->settings.settle_samples = 6;
    for (int i = 0; i < 10 && v->state == NM_RUNNING; i++) {
        node_sample(n);
        node_apply_verdict(n);
    }
    assert_int_equal(v->state, NM_PAUSED);
    node_use(busy, 10, 5);
    n->in.suspended_usec = SECONDS(3600);
    n->in.now_usec += SECONDS(3600);
    assert_true(v->pause_deadline_usec < n->in.now_usec);
    for (int i = 0; i < 10 && v->state == NM_PAUSED; i++) {
        node_sample(n);
        assert_int_equal(node_count(n, NM_ACTION_KILL), 0);
        node_apply_verdict(n);
    }
    assert_int_equal(v->state, NM_RUNNING);
}

#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_setup, node_teardown)

/* ---- old samples ------------------------------------------------------------------------------- */

/* If the files of a container can't be read, its use may have grown. The request of the container counts again. */
static void test_a_container_that_can_not_be_measured_counts_with_its_request(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *blind = node_run(n, G, 60, 60), *small;

    node_use(blind, 5, 5);
    node_sample(n);
    assert_int_equal(n->verdict.used.memory_bytes, 5 * PERCENT_MEMORY);
    blind->unread_usec = n->in.now_usec;
    node_sample(n);
    node_sample(n); /* the maximum age of a sample */
    assert_int_equal(n->verdict.used.memory_bytes, 5 * PERCENT_MEMORY);
    small = node_queue(n, O, 45, 5);
    node_sample(n);
    assert_left_alone(n, small);
    assert_int_equal(n->verdict.used.memory_bytes, 60 * PERCENT_MEMORY);
    assert_int_equal(n->verdict.used.cpu_millicores, 60 * PERCENT_CPU);
    blind->unread_usec = 0;
    node_sample(n);
    assert_action(n, small, NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
}

/* The last measured use is above the request, so it continues to count. */
static void test_a_container_that_can_not_be_measured_counts_with_its_last_higher_use(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *blind = node_run(n, O, 10, 10);

    node_use(blind, 30, 20);
    blind->unread_usec = n->in.now_usec;
    for (int i = 0; i < 4; i++)
        node_sample(n);
    assert_int_equal(n->verdict.used.memory_bytes, 30 * PERCENT_MEMORY);
    assert_int_equal(n->verdict.used.cpu_millicores, 20 * PERCENT_CPU);
}

/* A container that can't start on this node is given back to its upstream, which can place it on another node. A local
 * container stays queued. */
static void test_a_container_that_can_not_start_is_given_back_to_its_upstream(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *ours, *its, *late;

    n->settings.give_back_usec = SECONDS(60);
    n->system_cpu = 99;
    ours = node_queue(n, O, 5, 5);
    its = node_queue(n, O, 5, 5);
    its->limited = true;
    for (int i = 0; i < 19; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
        assert_true(n->verdict.wake_usec <= its->state_usec + SECONDS(63));
    }
    late = node_queue(n, O, 5, 5);
    late->limited = true;
    for (int i = 0; i < 3 && n->verdict.n_actions == 0; i++)
        node_sample(n);
    assert_action(n, its, NM_ACTION_SHED, NM_REASON_WAITED_TOO_LONG);
    assert_left_alone(n, ours);
    assert_left_alone(n, late);
    assert_ptr_equal(n->verdict.queue_head, ours);
}

/* A limited container waits longer while the end of a running container could make room for it. This wait has a limit,
 * too. */
static void test_a_limited_container_is_given_back_later(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *its;
    unsigned rounds = 0;

    n->settings.give_back_usec = SECONDS(30);
    (void)node_run(n, O, 5, 5);
    n->system_cpu = 90;
    its = node_queue(n, O, 5, 5);
    its->limited = true;
    for (; rounds < 200 && (n->verdict.n_actions == 0 || rounds == 0); rounds++)
        node_sample(n);
    assert_action(n, its, NM_ACTION_SHED, NM_REASON_WAITED_TOO_LONG);
    assert_in_range(rounds, 100, 102);
}

/* A container isn't given back in the round in which the last running container has ended, since the node has free
 * resources now. */
static void test_no_container_is_given_back_when_the_last_running_one_ends(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *its, *runs;
    unsigned rounds = 0;

    n->settings.give_back_usec = SECONDS(30);
    runs = node_run(n, O, 5, 5);
    n->system_cpu = 99;
    its = node_queue(n, O, 5, 5);
    its->limited = true;
    for (int i = 0; i < 60; i++) { /* three minutes: six times the maximum wait on an empty node */
        node_sample(n);
        assert_left_alone(n, its);
    }
    node_remove(n, runs);
    for (; rounds < 60 && (n->verdict.n_actions == 0 || rounds == 0); rounds++)
        node_sample(n);
    assert_action(n, its, NM_ACTION_SHED, NM_REASON_WAITED_TOO_LONG);
    assert_in_range(rounds, 10, 12);
    node_remove(n, its);
    /* The queued container is admitted when there is room for it. */
    its = node_queue(n, O, 5, 5);
    its->limited = true;
    runs = node_run(n, O, 5, 5);
    for (int i = 0; i < 60; i++) {
        node_sample(n);
        assert_left_alone(n, its);
    }
    node_remove(n, runs);
    n->system_cpu = 0;
    for (int i = 0; i < 3 && n->verdict.n_actions == 0; i++)
        node_sample(n);
    assert_int_equal(node_count(n, NM_ACTION_SHED), 0);
    assert_int_equal(node_count(n, NM_ACTION_ADMIT), 1);
}

/* Starts a small local container, after ending the former small container. */
static void start_small(struct node *n, struct nm_policy_container **small)
{
    if (*small && (*small)->state == NM_RUNNING)
        node_remove(n, *small);
    n->n = *small ? n->n - 1 : n->n; /* reuses the array element of the former container */
    *small = node_queue(n, O, 20, 5);
    node_sample(n);
    node_apply_verdict(n);
    assert_int_equal((*small)->state, NM_RUNNING);
    node_use(*small, 20, 5);
}

/* Returns for how many seconds the container `its` waits while a small container starts every three seconds. */
static unsigned waits_beside_small_ones(struct node *n, const struct nm_policy_container *its)
{
    struct nm_policy_container *small = NULL;

    for (unsigned seconds = 3; seconds < 3600; seconds += 3) {
        start_small(n, &small);
        if (node_action(n, its)) {
            assert_action(n, its, NM_ACTION_SHED, NM_REASON_WAITED_TOO_LONG);
            return seconds;
        }
    }
    return 0; /* `its` is never given back */
}

/* Containers that fit pass a container that never fits. Their starts don't prolong its wait. */
static void test_starts_of_other_containers_do_not_delay_giving_back(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *its;

    n->settings.give_back_usec = SECONDS(30);
    n->system_memory = 40;
    its = node_queue(n, O, 70, 5);
    its->limited = true;
    node_sample(n);
    assert_reason(nm_policy_queue_reason(&n->verdict, its), NM_REASON_NEVER_FITS);
    assert_true(n->verdict.wake_usec <= its->state_usec + SECONDS(33));
    assert_in_range(waits_beside_small_ones(n, its), 297, 300);
}

/* A container that will fit later waits longer while other containers pass it. This wait has a limit, too. */
static void test_the_wait_while_other_containers_pass_is_limited(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *its, *ours;

    n->settings.give_back_usec = SECONDS(30);
    (void)node_run(n, G, 60, 10);
    its = node_queue(n, O, 50, 5);
    its->limited = true;
    ours = node_queue(n, O, 50, 5);
    node_sample(n);
    assert_reason(nm_policy_queue_reason(&n->verdict, its), NM_REASON_WOULD_EXCEED_BETA);
    assert_in_range(waits_beside_small_ones(n, its), 597, 600);
    for (int i = 0; i < 10; i++)
        node_sample(n);
    assert_left_alone(n, ours);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_NODE(test_a_container_that_can_not_start_is_given_back_to_its_upstream),
        WITH_NODE(test_a_limited_container_is_given_back_later),
        WITH_NODE(test_no_container_is_given_back_when_the_last_running_one_ends),
        WITH_NODE(test_a_container_that_can_not_be_measured_counts_with_its_request),
        WITH_NODE(test_a_container_that_can_not_be_measured_counts_with_its_last_higher_use),
        WITH_NODE(test_starts_of_other_containers_do_not_delay_giving_back),
        WITH_NODE(test_the_wait_while_other_containers_pass_is_limited),
        WITH_NODE(test_extra_cpu_samples_within_a_period_do_not_count),
        WITH_NODE(test_consecutive_samples_must_cover_full_periods),
        WITH_NODE(test_an_extra_cpu_sample_below_beta_does_not_restart_the_count),
        WITH_NODE(test_an_extra_cpu_sample_is_enough_if_one_sample_is_required),
        WITH_NODE(test_extra_cpu_samples_do_not_end_the_wait_after_an_action),
        WITH_NODE(test_a_shrinking_victim_is_not_stuck),
        WITH_NODE(test_a_victim_that_stops_shrinking_is_stuck),
        WITH_NODE(test_after_a_freeze_that_hangs_another_container_is_paused),
        WITH_NODE(test_after_a_system_sleep_containers_are_resumed_before_deadlines_count),
        WITH_NODE(test_a_system_sleep_while_a_pause_settles_does_not_kill_the_container),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
