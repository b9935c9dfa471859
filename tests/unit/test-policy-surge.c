/* SPDX-License-Identifier: Apache-2.0 */

/* The surge margin on a node whose surges recur: the policy learns how long guaranteed containers use little memory
 * between two surges, and lends this memory to containers that are expected to end before the next surge. */

#include "tests/unit/policy-fixture.h"

#define G NM_GUARANTEED
#define O NM_OPPORTUNISTIC

/* Makes a node on which a surge has just ended. The guaranteed container has used 54 % of the node and uses 10 % now.
 * The latest surges came 300 s after the end of the previous surge, or later. */
static struct nm_policy_container *node_after_surge(struct node *n)
{
    const struct nm_policy_memory m = {
        .margin = {.until_usec = n->in.now_usec + SECONDS(2000),
                   .hold_usec = SECONDS(600),
                   .peak_permille = 900,
                   .gap_sec = {400, 300, 500, 350}},
    };
    struct nm_policy_container *g = node_run(n, G, 60, 1);

    n->settings.margin_usec = SECONDS(600);
    nm_policy_set_memory(n->policy, &m);
    node_use(g, 54, 1);
    node_sample(n);
    assert_int_equal(n->verdict.surge_usec, 0);
    node_use(g, 10, 1);
    node_sample(n);
    assert_int_equal(n->verdict.surge_usec, n->in.now_usec + SECONDS(300));
    return g;
}

static struct nm_policy_container *node_queue_for(struct node *n, double memory, uint64_t expected_usec)
{
    struct nm_policy_container *v = node_queue(n, O, memory, 1);

    v->expected_usec = expected_usec;
    return v;
}

static void sample_until(struct node *n, uint64_t until_usec)
{
    while (n->in.now_usec < until_usec)
        node_sample(n);
}

/* All three containers fit now, but not beside a surge. A run may take a third longer than expected. */
static void test_a_container_that_ends_before_the_next_surge_starts(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *unknown, *longer, *shorter;

    (void)node_after_surge(n);
    unknown = node_queue_for(n, 45, 0);
    longer = node_queue_for(n, 45, SECONDS(227));
    shorter = node_queue_for(n, 45, SECONDS(225));
    node_change(n);
    assert_left_alone(n, unknown);
    assert_reason(n->verdict.queue_reason, NM_REASON_SURGE_MARGIN);
    assert_left_alone(n, longer);
    assert_action(n, shorter, NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
}

static void test_a_container_that_would_end_too_late_waits(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_after_surge(n), *o;
    uint64_t ended_usec = n->in.now_usec;

    sample_until(n, ended_usec + SECONDS(150));
    o = node_queue_for(n, 45, SECONDS(120));
    for (int i = 0; i < 60; i++) {
        node_sample(n);
        assert_left_alone(n, o);
        assert_reason(n->verdict.queue_reason, NM_REASON_SURGE_MARGIN);
    }
    /* The next surge has come, and has ended. */
    node_use(g, 54, 1);
    node_sample(n);
    assert_int_equal(n->verdict.surge_usec, 0);
    node_use(g, 10, 1);
    node_sample(n);
    assert_action(n, o, NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
}

/* A container that ends before the surge does not need memory in the surge. When it is late, it counts again. */
static void test_a_container_that_is_late_counts_in_the_surge(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o, *queued;
    uint64_t late;

    (void)node_after_surge(n);
    o = node_queue_for(n, 30, SECONDS(30));
    node_change(n);
    assert_action(n, o, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
    node_apply_verdict(n);
    late = n->in.now_usec + SECONDS(40);
    node_use(o, 30, 1);
    node_sample(n);
    assert_int_equal(n->verdict.margin_bytes, 14 * PERCENT_MEMORY); /* 54 - 10 - 30 */
    queued = node_queue_for(n, 40, 0);
    node_change(n);
    assert_action(n, queued, NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
    sample_until(n, late);
    assert_int_equal(n->verdict.margin_bytes, 44 * PERCENT_MEMORY);
    assert_left_alone(n, queued);
    assert_reason(n->verdict.queue_reason, NM_REASON_SURGE_MARGIN);
}

/* The second half of the queue is for containers with more CPU per memory, and for those that end between surges. */
static void test_the_whole_queue_is_for_containers_that_end_between_surges(void **state)
{
    struct node *n = *state;
    const struct nm_resources request = {20 * PERCENT_MEMORY, PERCENT_CPU};
    static const struct {
        unsigned expected_sec;
        bool taken;
    } cases[] = {{0, false}, {226, false}, {225, true}, {1, true}};

    (void)node_after_surge(n);
    n->settings.queue_max_length = 4;
    for (int i = 0; i < 2; i++)
        (void)node_queue(n, O, 1, 20);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        assert_int_equal(nm_policy_queue_takes(n->policy, &n->settings, n->list, n->in.n_views, &request,
                                               SECONDS(cases[i].expected_sec), n->in.now_usec), cases[i].taken);
    for (int i = 0; i < 2; i++)
        (void)node_queue(n, O, 1, 20);
    assert_false(nm_policy_queue_takes(n->policy, &n->settings, n->list, n->in.n_views, &request, SECONDS(1),
                                       n->in.now_usec));
}

/* Application masters are never victims, so lent memory could not be taken back from them. */
static void test_an_application_master_gets_no_lent_memory(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *master;

    (void)node_after_surge(n);
    master = node_queue_for(n, 45, SECONDS(100));
    master->exempt = true;
    node_change(n);
    assert_left_alone(n, master);
    master->exempt = false;
    node_change(n);
    assert_action(n, master, NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
}

/* The first container of the queue waits until the surges are over. A container that has passed it and ends soon is not
 * killed for it. */
static void test_a_container_that_ends_before_the_surge_is_not_killed_for_the_head(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *head, *passer;

    (void)node_after_surge(n);
    n->settings.backfill_usec = SECONDS(6);
    head = node_queue_for(n, 70, 0);
    passer = node_queue_for(n, 45, SECONDS(150));
    node_change(n);
    assert_action(n, passer, NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
    node_apply_verdict(n);
    assert_true(passer->passed);
    node_use(passer, 45, 1);
    for (int i = 0; i < 30; i++) {
        node_sample(n);
        assert_left_alone(n, passer);
        assert_left_alone(n, head);
    }
}

/* Three times are needed. The shortest of the latest eight counts. */
static void test_the_time_between_surges_is_learned(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 60, 1);
    const struct nm_policy_memory m = {
        .margin = {.until_usec = n->in.now_usec + SECONDS(600), .hold_usec = SECONDS(600), .peak_permille = 900}};
    static const unsigned samples[] = {100, 60, 80, 40, 120};
    static const unsigned expected[] = {0, 0, 0, 60, 40, 40};

    n->settings.margin_usec = SECONDS(600);
    nm_policy_set_memory(n->policy, &m);
    for (size_t i = 0; i <= NM_ARRAY_SIZE(samples); i++) {
        uint64_t known;

        node_use(g, 54, 1);
        node_sample(n);
        assert_int_equal(n->verdict.surge_usec, 0);
        node_use(g, 10, 1);
        node_sample(n);
        known = nm_sub_u64(n->verdict.surge_usec, n->in.now_usec);
        assert_int_equal(known / PERIOD_USEC, expected[i]);
        for (unsigned k = 1; i < NM_ARRAY_SIZE(samples) && k < samples[i]; k++)
            node_sample(n);
    }
}

/* Runs a container of 10 % of the node from its start to the end of its warm-up, and until it is twice as old. Later it
 * uses the second amount. Returns the memory that it is then expected to use in addition. */
static double expected_later(struct node *n, double warm, double later)
{
    struct nm_policy_container *o = node_run(n, O, 10, 1);
    uint64_t margin;

    o->started_usec = n->in.now_usec;
    node_use(o, warm, 1);
    sample_until(n, n->in.now_usec + SECONDS(30));
    node_use(o, later, 1);
    node_sample(n);
    margin = n->verdict.margin_bytes - 44 * PERCENT_MEMORY; /* without the growth of the guaranteed container */
    node_remove(n, o);
    return (double)margin / (double)PERCENT_MEMORY;
}

/* Containers that never use their whole requests are expected to use ever less of the rest, and containers that grow
 * are expected to use more of it. */
static void test_later_use_is_learned(void **state)
{
    struct node *n = *state;
    double first, last = 0, grown = 0;

    (void)node_after_surge(n);
    first = expected_later(n, 4, 4);
    assert_true(first > 1.5 && first < 3); /* of 6 that are unused */
    for (int i = 0; i < 10; i++)
        last = expected_later(n, 4, 4);
    assert_true(last < 0.5);
    for (int i = 0; i < 10; i++)
        grown = expected_later(n, 4, 8);
    assert_true(grown > 0.5 && grown < 2); /* of 2 that are unused */
}

/* Use that falls only a little is not the end of a surge. */
static void test_a_surge_ends_when_much_less_memory_is_used(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_after_surge(n);

    node_use(g, 54, 1);
    node_sample(n);
    node_use(g, 45, 1);
    node_sample(n);
    assert_int_equal(n->verdict.surge_usec, 0);
    node_use(g, 30, 1);
    node_sample(n);
    assert_true(n->verdict.surge_usec > 0);
}

#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_setup, node_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_NODE(test_a_container_that_ends_before_the_next_surge_starts),
        WITH_NODE(test_a_container_that_would_end_too_late_waits),
        WITH_NODE(test_the_whole_queue_is_for_containers_that_end_between_surges),
        WITH_NODE(test_an_application_master_gets_no_lent_memory),
        WITH_NODE(test_a_container_that_is_late_counts_in_the_surge),
        WITH_NODE(test_a_container_that_ends_before_the_surge_is_not_killed_for_the_head),
        WITH_NODE(test_the_time_between_surges_is_learned),
        WITH_NODE(test_later_use_is_learned),
        WITH_NODE(test_a_surge_ends_when_much_less_memory_is_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
