/* SPDX-License-Identifier: Apache-2.0 */

/* The stall guard: guaranteed containers that wait for CPUs because opportunistic containers use them. */

#include "tests/unit/policy-fixture.h"

#define G NM_GUARANTEED
#define O NM_OPPORTUNISTIC

/* Sets up a node on which use of CPU causes no action, so that only stalls cause actions. */
static int guarded_setup(void **state)
{
    struct node *n;

    assert_int_equal(node_setup(state), 0);
    n = *state;
    n->settings.can_squeeze = n->settings.guard_stall = true;
    n->settings.stall_margin = 0.05;
    n->settings.over_allocation_threshold.cpu = 0.99;
    n->settings.preemption_threshold.cpu = 1;
    node_sample(n);
    return 0;
}

/* Takes one sample in which g waited for a CPU during this share of the time. */
static void stall(struct node *n, struct nm_policy_container *g, uint32_t permille)
{
    g->stall_known = true;
    g->stall_permille = permille;
    node_sample(n);
}

static bool squeezed(const struct node *n)
{
    return n->verdict.squeeze_millicores != NM_NO_SQUEEZE;
}

static void use(struct node *n, struct nm_policy_container *o, double share)
{
    o->measured.cpu_millicores = NM_MIN((uint64_t)(share * (double)PERCENT_CPU), n->verdict.squeeze_millicores);
}

static void test_opportunistic_containers_are_squeezed_until_a_stall_ends(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 10, 30), *o = node_run(n, O, 10, 0);

    stall(n, g, 20); /* the base of the comparison: no opportunistic container uses CPU */
    stall(n, g, 30);
    use(n, o, 70);
    for (int i = 0; i < 10; i++) { /* the stall is within the margin above the base */
        stall(n, g, 75);
        assert_false(squeezed(n));
    }
    stall(n, g, 200);
    assert_false(squeezed(n)); /* one sample with a stall is not enough */
    stall(n, g, 250);
    assert_int_equal(n->verdict.squeeze_millicores, 35 * PERCENT_CPU);
    assert_reason(n->verdict.squeeze_reason, NM_REASON_GUARANTEED_STALLED);
    assert_ptr_equal(n->verdict.stall_view, g);
    assert_int_equal(n->verdict.stall_permille, 250);
    assert_in_range(n->verdict.stall_base_permille, 20, 30);
    assert_int_equal(n->verdict.n_actions, 0);
    use(n, o, 70);
    stall(n, g, 150); /* the squeeze isn't sufficient yet */
    assert_in_range(n->verdict.squeeze_millicores, 17 * PERCENT_CPU, 18 * PERCENT_CPU);
    for (int i = 0; i < 60 && squeezed(n); i++) {
        use(n, o, 70);
        stall(n, g, 40);
    }
    assert_false(squeezed(n));
    assert_reason(n->verdict.squeeze_reason, NM_REASON_NONE);
    assert_null(n->verdict.stall_view);
}

/* A stall can have causes within the container itself. Only a squeeze shows whether it has. */
static void test_a_stall_with_a_cause_within_the_container_is_recognized(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 10, 30), *o = node_run(n, O, 10, 70);
    unsigned held = 0, began = 0;

    for (int i = 0; i < 1200; i++) { /* one hour */
        bool before = squeezed(n);

        use(n, o, 70);
        stall(n, g, 400 + (uint32_t)i % 3); /* the stall is independent of the other containers */
        held += squeezed(n);
        began += squeezed(n) && !before;
        if (squeezed(n))
            assert_int_equal(n->verdict.squeeze_millicores, n->settings.squeeze_floor_millicores);
    }
    assert_int_equal(began, 1);
    assert_in_range(held, 1, 3);
    /* A stall beyond the part that the container itself causes is noticed. */
    use(n, o, 70);
    stall(n, g, 480);
    stall(n, g, 480);
    assert_true(squeezed(n));
}

/* The stall of a container grows without influence of opportunistic containers. Each growth causes one squeeze to find
 * this out. Such squeezes become rare. */
static void test_squeezes_without_effect_become_rare(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 10, 30), *o = node_run(n, O, 10, 70);
    unsigned began = 0;

    for (int i = 0; i < 1200; i++) {
        bool before = squeezed(n);

        use(n, o, 70);
        stall(n, g, i / 20 % 2 ? 10 : 10 + (uint32_t)i * 3 / 4);
        began += squeezed(n) && !before;
    }
    assert_in_range(began, 1, 15);
}

/* The policy finds the amount of CPU that opportunistic containers can use without a stall. The quota doesn't
 * oscillate. */
static void test_the_quota_of_a_squeeze_settles_at_a_value_without_a_stall(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 10, 30), *o = node_run(n, O, 10, 0);
    unsigned stalled = 0;
    uint64_t got = 0;

    stall(n, g, 0);
    for (int i = 0; i < 400; i++) {
        uint64_t own;

        use(n, o, 70);
        own = o->measured.cpu_millicores;
        got += own;
        /* Use of up to 40 % of the node's CPU causes no stall. Any further use causes a stall that grows with the
         * use. */
        stall(n, g, (uint32_t)(nm_sub_u64(own, 40 * PERCENT_CPU) * 10 / PERCENT_CPU));
        stalled += g->stall_permille > 50;
    }
    assert_in_range(stalled, 1, 40);
    assert_in_range(got / 400, 30 * PERCENT_CPU, 46 * PERCENT_CPU);
}

static void test_a_stall_pauses_and_kills_no_container(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 10, 30), *waiting;

    (void)node_run(n, O, 10, 30);
    for (int i = 0; i < 4; i++)
        stall(n, g, 900);
    assert_true(squeezed(n));
    waiting = node_queue(n, O, 5, 5);
    stall(n, g, 900);
    for (int i = 0; i < 20; i++) {
        if (squeezed(n)) {
            assert_left_alone(n, waiting);
            assert_reason(n->verdict.queue_reason, NM_REASON_SQUEEZED);
        }
        assert_int_equal(node_count(n, NM_ACTION_PAUSE) + node_count(n, NM_ACTION_KILL), 0);
        stall(n, g, 900);
    }
}

static void test_stalls_of_starting_and_opportunistic_containers_do_not_count(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *young = node_run(n, G, 10, 10), *unread = node_run(n, G, 10, 10),
                   *other = node_run(n, O, 10, 70);

    young->started_usec = n->in.now_usec; /* a starting container also waits for resources other than CPU */
    other->stall_known = true;
    for (int i = 0; i < 4; i++) {
        other->stall_permille = 900;
        unread->stall_permille = 900;
        stall(n, young, 900);
        assert_false(squeezed(n));
    }
    young->started_usec = 0;
    n->settings.guard_stall = false;
    for (int i = 0; i < 4; i++) {
        stall(n, young, 900);
        assert_false(squeezed(n));
    }
    n->settings.guard_stall = true;
    n->settings.stall_margin = 1;
    for (int i = 0; i < 4; i++) {
        stall(n, young, 1000);
        assert_false(squeezed(n));
    }
}

/* A squeeze ends when the stalled container has ended, since the effect of the squeeze can't be measured any more. */
static void test_a_squeeze_ends_when_the_stalled_container_ends(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 10, 30), *o = node_run(n, O, 10, 60);

    for (int i = 0; i < 3 && !squeezed(n); i++)
        stall(n, g, 300);
    assert_true(squeezed(n));
    node_remove(n, g);
    for (int i = 0; i < 8; i++) {
        use(n, o, 60);
        node_sample(n);
    }
    assert_false(squeezed(n));
}

/* The containers are measured at slightly different times, so the sum of their use may exceed the capacity. */
static void test_cpu_use_of_a_full_node_is_not_over_a_beta_of_one(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 10, 30);

    (void)node_run(n, O, 10, 71);
    stall(n, g, 0);
    for (int i = 0; i < 10; i++) {
        stall(n, g, 0);
        assert_false(squeezed(n));
        assert_int_equal(n->verdict.n_actions, 0);
    }
    /* With a reserve, the node has more CPU than its capacity, so the measured use can really exceed the capacity. */
    n->settings.reserve.cpu_millicores = 10 * PERCENT_CPU;
    stall(n, g, 0);
    assert_true(squeezed(n));
    assert_reason(n->verdict.squeeze_reason, NM_REASON_CPU_OVER_BETA);
}

#define GUARDED(test) cmocka_unit_test_setup_teardown(test, guarded_setup, node_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        GUARDED(test_opportunistic_containers_are_squeezed_until_a_stall_ends),
        GUARDED(test_a_stall_with_a_cause_within_the_container_is_recognized),
        GUARDED(test_squeezes_without_effect_become_rare),
        GUARDED(test_the_quota_of_a_squeeze_settles_at_a_value_without_a_stall),
        GUARDED(test_a_stall_pauses_and_kills_no_container),
        GUARDED(test_stalls_of_starting_and_opportunistic_containers_do_not_count),
        GUARDED(test_a_squeeze_ends_when_the_stalled_container_ends),
        GUARDED(test_cpu_use_of_a_full_node_is_not_over_a_beta_of_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
