/* SPDX-License-Identifier: Apache-2.0 */

/* The head of the queue is too large for the free resources: which containers pass the head, and how long they may
 * delay it. */

#include "tests/unit/policy-fixture.h"

#define G NM_GUARANTEED
#define O NM_OPPORTUNISTIC

static void test_a_head_that_never_fits_does_not_delay_the_containers_behind_it(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *large, *small, *smaller;

    n->settings.backfill_usec = 0;
    n->system_memory = 40;
    large = node_queue(n, O, 70, 5);
    small = node_queue(n, O, 20, 5);
    node_sample(n);
    assert_left_alone(n, large);
    assert_action(n, small, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
    assert_null(node_action(n, small)->on_behalf_of); /* the start of the small container doesn't delay the large one */
    assert_ptr_equal(n->verdict.queue_head, large);
    assert_reason(n->verdict.queue_reason, NM_REASON_NEVER_FITS);
    assert_int_equal(n->verdict.queue_resource, NM_MEMORY);
    assert_reason(nm_policy_queue_reason(&n->verdict, large), NM_REASON_NEVER_FITS);
    node_apply_verdict(n);
    /* The system uses less memory. The large container now fits and is admitted first, as any other head. */
    n->system_memory = 10;
    node_remove(n, small);
    smaller = node_queue(n, O, 20, 5);
    node_sample(n);
    assert_action(n, large, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
    assert_true(node_action(n, large) < node_action(n, smaller));
}

/* A request can also be too large for the CPU that the system leaves unused. */
static void test_a_request_can_be_too_large_for_the_free_cpu(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *large, *small;

    n->system_cpu = 40;
    large = node_queue(n, O, 5, 70);
    small = node_queue(n, O, 5, 20);
    node_sample(n);
    assert_reason(nm_policy_queue_reason(&n->verdict, large), NM_REASON_NEVER_FITS);
    assert_int_equal(n->verdict.queue_resource, NM_CPU);
    assert_action(n, small, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
}

/* The request's memory is over beta. This alone would not prevent an admission on an empty node, so CPU is decisive. */
static void test_the_queue_reason_names_the_decisive_resource(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *large = node_queue(n, O, 98, 70);

    n->system_cpu = 40;
    node_sample(n);
    assert_reason(nm_policy_queue_reason(&n->verdict, large), NM_REASON_NEVER_FITS);
    assert_int_equal(n->verdict.queue_resource, NM_CPU);
}

/* A container behind one that never fits has its own queue reason. */
static void test_a_container_behind_a_head_that_never_fits_has_a_separate_reason(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *large, *next, *last;

    n->system_memory = 40;
    (void)node_run(n, G, 50, 10);
    large = node_queue(n, O, 70, 5);
    next = node_queue(n, O, 55, 5);
    last = node_queue(n, O, 55, 5);
    node_sample(n);
    assert_reason(nm_policy_queue_reason(&n->verdict, large), NM_REASON_NEVER_FITS);
    assert_reason(nm_policy_queue_reason(&n->verdict, next), NM_REASON_OVER_ALPHA);
    assert_reason(nm_policy_queue_reason(&n->verdict, last), NM_REASON_BEHIND_OTHERS);
}

/* A container that is going to end holds 60 %. The head requests 50 %, and a container of 30 % passes the head. */
static struct nm_policy_container *with_passer(struct node *n, struct nm_policy_container **ret_old,
                                               struct nm_policy_container **ret_large)
{
    struct nm_policy_container *small;

    *ret_old = node_run(n, G, 60, 10);
    *ret_large = node_queue(n, O, 50, 5);
    small = node_queue(n, O, 30, 5);
    node_sample(n);
    assert_left_alone(n, *ret_large);
    assert_reason(n->verdict.queue_reason, NM_REASON_WOULD_EXCEED_BETA);
    assert_action(n, small, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
    assert_ptr_equal(node_action(n, small)->on_behalf_of, *ret_large);
    node_apply_verdict(n);
    node_use(small, 30, 5);
    return small;
}

static void test_containers_that_passed_the_head_are_killed_after_a_time_limit(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *old, *large, *small = with_passer(n, &old, &large);
    uint64_t due;

    /* While the head couldn't start even without the container that passed it, the time limit doesn't run. */
    for (int i = 0; i < 60; i++) {
        node_sample(n);
        assert_left_alone(n, small);
    }
    node_remove(n, old);
    node_use(small, 60, 5);
    small->request.memory_bytes = 60 * PERCENT_MEMORY;
    node_sample(n);
    due = n->in.now_usec;
    assert_left_alone(n, large);
    assert_int_equal(n->verdict.wake_usec, due + SECONDS(60));
    (void)node_queue(n, O, 1, 1);
    for (;;) {
        node_sample(n);
        if (node_count(n, NM_ACTION_KILL) > 0)
            break;
        assert_int_equal(n->verdict.n_actions, 0); /* no further container passes the head */
        assert_true(n->in.now_usec < due + SECONDS(60));
    }
    assert_in_range(n->in.now_usec, due + SECONDS(60), due + SECONDS(60) + PERIOD_USEC);
    assert_action(n, small, NM_ACTION_KILL, NM_REASON_ROOM_FOR_HEAD);
    assert_ptr_equal(node_action(n, small)->on_behalf_of, large);
    node_apply_verdict(n);
    for (int i = 0; i < 3 && !node_action(n, large); i++)
        node_sample(n);
    assert_action(n, large, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
}

static void test_kills_for_the_head_do_not_trip_the_breaker(void **state)
{
    struct node *n = *state;
    struct nm_policy_memory memory;
    struct nm_policy_container *old, *large, *small = with_passer(n, &old, &large);

    node_use(small, 60, 5);
    small->request.memory_bytes = 60 * PERCENT_MEMORY;
    node_remove(n, old);
    for (int i = 0; i < 30 && node_count(n, NM_ACTION_KILL) == 0; i++)
        node_sample(n);
    assert_action(n, small, NM_ACTION_KILL, NM_REASON_ROOM_FOR_HEAD);
    nm_policy_get_memory(n->policy, &memory);
    assert_int_equal(memory.breaker_until_usec, 0);
}

static void test_containers_admitted_before_the_head_waited_are_not_killed(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *first = node_run(n, O, 60, 5), *large;

    large = node_queue(n, O, 50, 5);
    for (int i = 0; i < 60; i++) {
        node_sample(n);
        assert_left_alone(n, first);
        assert_left_alone(n, large);
    }
}

static void test_without_backfill_no_container_passes_the_head(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *small;

    n->settings.backfill_usec = 0;
    node_run(n, G, 60, 10);
    (void)node_queue(n, O, 50, 5);
    small = node_queue(n, O, 30, 5);
    node_sample(n);
    assert_left_alone(n, small);
}

static void test_application_masters_and_containers_without_free_cpu_do_not_pass(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *master, *busy, *calm;

    node_run(n, G, 60, 10);
    (void)node_queue(n, O, 50, 60);
    master = node_queue(n, O, 5, 5);
    master->exempt = true;
    busy = node_queue(n, O, 5, 30); /* the sum of CPU is 10 + 60 + 30 */
    calm = node_queue(n, O, 5, 20);
    node_sample(n);
    assert_left_alone(n, master);
    assert_left_alone(n, busy);
    assert_action(n, calm, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
}

#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_setup, node_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_NODE(test_a_head_that_never_fits_does_not_delay_the_containers_behind_it),
        WITH_NODE(test_a_request_can_be_too_large_for_the_free_cpu),
        WITH_NODE(test_the_queue_reason_names_the_decisive_resource),
        WITH_NODE(test_a_container_behind_a_head_that_never_fits_has_a_separate_reason),
        WITH_NODE(test_containers_that_passed_the_head_are_killed_after_a_time_limit),
        WITH_NODE(test_kills_for_the_head_do_not_trip_the_breaker),
        WITH_NODE(test_containers_admitted_before_the_head_waited_are_not_killed),
        WITH_NODE(test_without_backfill_no_container_passes_the_head),
        WITH_NODE(test_application_masters_and_containers_without_free_cpu_do_not_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
