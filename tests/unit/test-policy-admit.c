/* SPDX-License-Identifier: Apache-2.0 */

/* Estimates, admission of both execution types, queue orders, refusals and shedding. */

#include "tests/unit/policy-fixture.h"

#define G NM_GUARANTEED
#define O NM_OPPORTUNISTIC

/* ---- estimates ------------------------------------------------------------------------------- */

static void test_the_use_of_each_container_is_estimated(void **state)
{
    static const struct {
        const char *what;
        enum nm_state state;
        bool admitted, over_allocation;
        unsigned age_seconds, samples, state_samples;
        double measured, last_cpu, memory, cpu; /* use of a container that requests 20 */
    } cases[] = {
        {"queued", NM_SCHEDULED, false, true, 0, 0, 0, 0, 0, 0, 0},
        {"being launched", NM_SCHEDULED, true, true, 60, 9, 0, 0, 0, 20, 20},
        {"new", NM_RUNNING, true, true, 0, 0, 0, 0, 0, 20, 20},
        {"new and large", NM_RUNNING, true, true, 5, 1, 9, 25, 0, 25, 25},
        {"old, but not sampled often enough", NM_RUNNING, true, true, 60, 2, 9, 5, 0, 20, 20},
        {"sampled, but not old enough", NM_RUNNING, true, true, 14, 9, 9, 5, 0, 20, 20},
        {"warmed up", NM_RUNNING, true, true, 15, 3, 9, 5, 0, 5, 5},
        {"freezing", NM_PAUSING, true, true, 60, 9, 0, 5, 0, 5, 5},
        {"paused", NM_PAUSED, true, true, 60, 9, 0, 5, 0, 5, 0},
        {"paused while warming up", NM_PAUSED, true, true, 5, 1, 0, 5, 0, 20, 0},
        {"resuming", NM_RESUMING, true, true, 60, 9, 0, 5, 15, 5, 15},
        {"just resumed", NM_RUNNING, true, true, 60, 9, 1, 5, 15, 5, 15},
        {"resumed a while ago", NM_RUNNING, true, true, 60, 9, 2, 5, 15, 5, 5},
        {"being killed", NM_KILLING, true, true, 60, 9, 0, 5, 0, 5, 5},
        {"being killed while warming up", NM_KILLING, true, true, 5, 1, 0, 5, 0, 5, 5},
        {"being killed before its first sample", NM_KILLING, true, true, 5, 0, 0, 0, 0, 20, 20},
        {"completed", NM_COMPLETED, true, true, 60, 9, 0, 5, 0, 0, 0},
        {"over-allocation off", NM_RUNNING, true, false, 60, 9, 9, 5, 0, 20, 20},
        {"over-allocation off, large", NM_RUNNING, true, false, 60, 9, 9, 25, 0, 20, 20},
        {"over-allocation off, paused", NM_PAUSED, true, false, 60, 9, 9, 5, 0, 20, 0},
        {"over-allocation off, queued", NM_SCHEDULED, false, false, 60, 9, 9, 5, 0, 0, 0},
    };
    struct node *n = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_policy_container v = *node_queue(n, O, 20, 20);
        struct nm_resources e;

        n->n = n->in.n_views = 0;
        v.state = cases[i].state;
        v.admitted = cases[i].admitted;
        v.started_usec = n->in.now_usec - SECONDS(cases[i].age_seconds);
        v.n_samples = cases[i].samples;
        v.state_samples = cases[i].state_samples;
        v.last_cpu_millicores = (uint64_t)(cases[i].last_cpu * (double)PERCENT_CPU);
        node_use(&v, cases[i].measured, cases[i].measured);
        n->settings.over_allocation = cases[i].over_allocation;
        e = nm_estimate(&n->settings, &v, n->in.now_usec);
        if (e.memory_bytes != (uint64_t)(cases[i].memory * (double)PERCENT_MEMORY) ||
            e.cpu_millicores != (uint64_t)(cases[i].cpu * (double)PERCENT_CPU))
            fail_msg("%s: %llu MiB and %llu millicores", cases[i].what,
                     (unsigned long long)(e.memory_bytes / NM_MIB),
                     (unsigned long long)e.cpu_millicores);
    }
}

static void test_swapped_memory_counts_in_the_estimate(void **state)
{
    static const struct {
        const char *what;
        enum nm_state state;
        bool over_allocation;
        unsigned state_seconds;
        double swapped, memory; /* of a container that requests 20 and has 5 in memory */
    } cases[] = {
        {"resuming", NM_RESUMING, true, 0, 7, 12},
        {"resuming, limited by its memory limit", NM_RESUMING, true, 0, 70, 20},
        {"just resumed", NM_RUNNING, true, 14, 7, 12},
        {"resumed a while ago", NM_RUNNING, true, 15, 7, 5},
        {"paused", NM_PAUSED, true, 0, 7, 5},
        {"over-allocation off", NM_RESUMING, false, 0, 7, 20},
    };
    struct node *n = *state;

    n->settings.memory_limits = true;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_policy_container v = *node_run(n, O, 20, 20);

        n->n = n->in.n_views = 0;
        v.state = cases[i].state;
        v.state_usec = n->in.now_usec - SECONDS(cases[i].state_seconds);
        v.swapped_bytes = (uint64_t)(cases[i].swapped * (double)PERCENT_MEMORY);
        node_use(&v, 5, 5);
        n->settings.over_allocation = cases[i].over_allocation;
        if (nm_estimate(&n->settings, &v, n->in.now_usec).memory_bytes !=
            (uint64_t)(cases[i].memory * (double)PERCENT_MEMORY))
            fail_msg("%s", cases[i].what);
    }
}

static void test_use_of_the_system_counts_as_use_of_the_node(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *v = node_run(n, G, 40, 30);

    n->settings.reserve.memory_bytes = 5 * PERCENT_MEMORY;
    n->system_memory = 15;
    n->system_cpu = 7;
    node_use(v, 20, 10);
    node_sample(n);
    assert_int_equal(n->verdict.used.memory_bytes, 30 * PERCENT_MEMORY);
    assert_int_equal(n->verdict.used.cpu_millicores, 17 * PERCENT_CPU);
    assert_int_equal(n->verdict.sum.memory_bytes, 20 * PERCENT_MEMORY);
}

/* In a CHANGE round the node's figures are older than the last starts and ends. Each start or end counts once. */
static void test_a_change_round_adds_starts_and_ends_since_the_last_sample(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *gone = node_run(n, O, 30, 30), *frozen = node_run(n, O, 20, 20);
    struct nm_policy_container *fresh;

    n->system_memory = n->system_cpu = 10;
    node_sample(n);
    assert_int_equal(n->verdict.used.cpu_millicores, 60 * PERCENT_CPU);

    node_remove(n, gone);
    node_change(n);
    assert_int_equal(n->verdict.used.memory_bytes, 30 * PERCENT_MEMORY);
    assert_int_equal(n->verdict.used.cpu_millicores, 30 * PERCENT_CPU);

    node_enter(n, frozen, NM_PAUSED);
    frozen->pause_deadline_usec = n->in.now_usec + SECONDS(60);
    frozen->user_paused = true;
    node_change(n);
    assert_int_equal(n->verdict.used.memory_bytes, 30 * PERCENT_MEMORY);
    assert_int_equal(n->verdict.used.cpu_millicores, 10 * PERCENT_CPU);

    fresh = node_queue(n, O, 5, 5);
    node_change(n);
    assert_action(n, fresh, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
    node_apply_verdict(n);
    node_change(n);
    assert_int_equal(n->verdict.used.memory_bytes, 35 * PERCENT_MEMORY);
    assert_int_equal(n->verdict.used.cpu_millicores, 15 * PERCENT_CPU);
}

/* ---- the opportunistic rules ----------------------------------------------------------------- */

static void test_opportunistic_containers_are_admitted_by_allocation_or_use(void **state)
{
    static const struct {
        const char *what;
        bool over_allocation;
        double allocated, used_memory, used_cpu; /* figures of one guaranteed container */
        double memory, cpu;                      /* the request of the queued container */
        enum nm_reason admitted, queue_reason;
    } cases[] = {
        {"the request fits", true, 50, 50, 50, 10, 10, NM_REASON_WITHIN_ALLOCATION, NM_REASON_NONE},
        {"the request fits exactly", true, 50, 50, 50, 50, 50, NM_REASON_WITHIN_ALLOCATION,
         NM_REASON_NONE},
        {"memory is allocated, but not used", true, 90, 20, 20, 20, 5, NM_REASON_OVER_ALLOCATION,
         NM_REASON_NONE},
        {"use up to beta exactly", true, 90, 75, 20, 20, 5, NM_REASON_OVER_ALLOCATION, NM_REASON_NONE},
        {"use a little over beta", true, 90, 75.01, 20, 20, 5, NM_REASON_NONE,
         NM_REASON_WOULD_EXCEED_BETA},
        {"CPU over beta", true, 90, 20, 75.01, 5, 20, NM_REASON_NONE, NM_REASON_WOULD_EXCEED_BETA},
        {"memory at alpha", true, 99, 80, 20, 5, 5, NM_REASON_NONE, NM_REASON_OVER_ALPHA},
        {"memory just under alpha", true, 99, 79.99, 20, 5, 5, NM_REASON_OVER_ALLOCATION,
         NM_REASON_NONE},
        {"CPU at alpha", true, 99, 20, 80, 5, 5, NM_REASON_NONE, NM_REASON_OVER_ALPHA},
        {"plain YARN: fits", false, 50, 10, 10, 50, 50, NM_REASON_WITHIN_ALLOCATION,
         NM_REASON_NONE},
        {"plain YARN: use doesn't count", false, 90, 10, 10, 20, 5, NM_REASON_NONE,
         NM_REASON_ALLOCATION_FULL},
        {"plain YARN: full use does not matter", false, 50, 99, 99, 50, 50, NM_REASON_WITHIN_ALLOCATION,
         NM_REASON_NONE},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        void *own = NULL;
        struct nm_policy_container *g, *o;
        struct node *n;

        node_setup(&own);
        n = own;
        n->settings.over_allocation = cases[i].over_allocation;
        g = node_run(n, G, cases[i].allocated, cases[i].allocated);
        node_use(g, cases[i].used_memory, cases[i].used_cpu);
        o = node_queue(n, O, cases[i].memory, cases[i].cpu);
        node_sample(n);
        print_message("%s\n", cases[i].what);
        assert_reason(n->verdict.queue_reason, cases[i].queue_reason);
        if (cases[i].admitted == NM_REASON_NONE) {
            assert_left_alone(n, o);
            assert_ptr_equal(n->verdict.queue_head, o);
        } else {
            assert_action(n, o, NM_ACTION_ADMIT, cases[i].admitted);
        }
        node_teardown(&own);
    }
}

/* The reserve covers the system's use, but not the memory that ended containers left in the slice. This memory reduces
 * the room for containers. */
static void test_memory_left_in_the_slice_by_ended_containers_counts_as_use(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *v = node_run(n, G, 40, 30);

    n->settings.reserve.memory_bytes = 50 * PERCENT_MEMORY;
    n->system_memory = 15;
    n->in.node.slice_unowned_bytes = 12 * PERCENT_MEMORY;
    node_use(v, 40, 10);
    node_sample(n);
    assert_int_equal(n->verdict.used.memory_bytes, 52 * PERCENT_MEMORY);
    n->settings.reserve.memory_bytes = 0; /* without a reserve, this memory is part of the system's use */
    node_sample(n);
    assert_int_equal(n->verdict.used.memory_bytes, 55 * PERCENT_MEMORY);
}

static void test_admission_by_allocation_leaves_room_for_the_system(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_queue(n, O, 60, 10);

    n->system_memory = 45;
    node_sample(n);
    assert_left_alone(n, o);
    assert_reason(n->verdict.queue_reason, NM_REASON_NEVER_FITS);
    n->system_memory = 39;
    node_sample(n);
    assert_action(n, o, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
}

static void test_admissions_of_one_round_take_each_other_into_account(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 90, 90), *o[4];

    node_use(g, 30, 10);
    for (size_t i = 0; i < 4; i++)
        o[i] = node_queue(n, O, 25, 5);
    node_sample(n);
    /* The sum 30 + 25 + 25 reaches alpha: the third container must wait, although it would fit below beta. */
    assert_int_equal(node_count(n, NM_ACTION_ADMIT), 2);
    assert_action(n, o[0], NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
    assert_action(n, o[1], NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
    assert_reason(n->verdict.queue_reason, NM_REASON_OVER_ALPHA);
    assert_ptr_equal(n->verdict.queue_head, o[2]);
    assert_reason(nm_policy_queue_reason(&n->verdict, o[2]), NM_REASON_OVER_ALPHA);
    assert_reason(nm_policy_queue_reason(&n->verdict, o[3]), NM_REASON_BEHIND_OTHERS);
}

static void test_without_backfill_no_container_overtakes_the_head(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *large, *small;

    n->settings.backfill_usec = 0; /* test-policy-pass.c tests backfill */
    node_run(n, G, 70, 10);
    large = node_queue(n, O, 40, 5);
    small = node_queue(n, O, 1, 1);
    node_sample(n);
    assert_left_alone(n, large);
    assert_left_alone(n, small);
}

static void test_a_container_counts_with_its_request_during_the_warm_up(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 90, 10), *first, *second;

    node_use(g, 20, 5);
    first = node_queue(n, O, 50, 5);
    node_sample(n);
    assert_action(n, first, NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
    node_apply_verdict(n);
    second = node_queue(n, O, 50, 5);
    /* A new container uses no memory yet, so its request counts. */
    for (int i = 0; i < 4; i++) {
        node_sample(n);
        assert_left_alone(n, second);
    }
    /* After 15 s and 3 samples the measured use counts. */
    node_sample(n);
    assert_action(n, second, NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
}

/* ---- guaranteed ------------------------------------------------------------------------------ */

static void test_a_guaranteed_container_is_admitted_immediately(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g, *o;

    node_sample(n);
    o = node_queue(n, O, 10, 10);
    g = node_queue(n, G, 95, 95);
    node_change(n);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    /* The guaranteed container was admitted first, though it arrived later. No memory is left for the other one. */
    assert_left_alone(n, o);
}

static void test_a_guaranteed_container_waits_only_for_memory_that_can_be_freed(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g;

    /* The request would raise the total over beta, and the rest is held by guaranteed containers alone. */
    node_run(n, G, 60, 60);
    g = node_queue(n, G, 40, 40);
    node_sample(n);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    assert_reason(n->verdict.guaranteed_reason, NM_REASON_NONE);
}

static void test_containers_being_killed_count_in_the_allocation(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *dying = node_run(n, G, 80, 10), *g, *o = node_queue(n, O, 1, 1);

    node_enter(n, dying, NM_KILLING);
    node_use(dying, 10, 1);
    g = node_queue(n, G, 50, 10);
    node_sample(n);
    assert_left_alone(n, g);
    assert_reason(n->verdict.guaranteed_reason, NM_REASON_GUARANTEED_FULL);
    assert_left_alone(n, o);
    assert_reason(n->verdict.queue_reason, NM_REASON_GUARANTEED_FIRST);
    assert_reason(nm_policy_queue_reason(&n->verdict, g), NM_REASON_GUARANTEED_FULL);
    node_remove(n, dying);
    node_change(n);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
}

/* ---- reasons to admit no container ----------------------------------------------------------- */

static void test_without_a_sample_no_container_is_admitted(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_queue(n, G, 10, 10), *o = node_queue(n, O, 10, 10);

    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_reason(n->verdict.queue_reason, NM_REASON_NO_SAMPLE);
    assert_reason(n->verdict.guaranteed_reason, NM_REASON_NO_SAMPLE);

    node_sample(n);
    n->in.now_usec += n->settings.sample_max_age_usec + 1;
    node_change(n);
    assert_left_alone(n, o);
    n->in.now_usec -= 1;
    node_change(n);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    assert_action(n, o, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
}

static void test_without_cpu_figures_only_guaranteed_containers_start(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_queue(n, G, 10, 10), *o = node_queue(n, O, 10, 10);

    node_sample(n);
    n->in.node.cpu_valid = false;
    node_change(n);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    assert_left_alone(n, o);
    assert_reason(n->verdict.queue_reason, NM_REASON_NO_SAMPLE);
}

static void test_a_draining_or_unhealthy_node_admits_no_container(void **state)
{
    struct node *n = *state;

    (void)node_queue(n, G, 10, 10);
    (void)node_queue(n, O, 10, 10);
    n->in.draining = true;
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_reason(n->verdict.queue_reason, NM_REASON_DRAINING);
    assert_reason(n->verdict.guaranteed_reason, NM_REASON_DRAINING);
    n->in.draining = false;
    n->in.unhealthy = true;
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_reason(n->verdict.queue_reason, NM_REASON_UNHEALTHY);
    n->in.unhealthy = false;
    node_sample(n);
    assert_int_equal(node_count(n, NM_ACTION_ADMIT), 2);
}

static void test_no_queued_container_is_admitted_while_the_uplink_is_busy(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_queue(n, O, 10, 10), *g = node_queue(n, G, 10, 10);

    n->settings.uplink_threshold = 0.9;
    n->in.node.uplink_utilization = 0.91;
    node_sample(n);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    assert_left_alone(n, o);
    assert_reason(n->verdict.queue_reason, NM_REASON_UPLINK);
    n->in.node.uplink_utilization = 0.9;
    node_sample(n);
    assert_action(n, o, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
    n->settings.uplink_threshold = 0;
    n->in.node.uplink_utilization = 1;
    node_sample(n);
    assert_non_null(node_action(n, o));
}

/* ---- queue orders ---------------------------------------------------------------------------- */

static void test_each_queue_order_sorts_the_queue(void **state)
{
    /* Request, expected seconds, application. Application 0 has completed 1 of 2 containers, application 1 has
     * completed 9 of 10. */
    static const struct {
        double memory, cpu;
        unsigned expected, app;
    } queue[] = {{20, 1, 50, 0}, {1, 30, 0, 1}, {10, 10, 5, 0}, {5, 5, 0, 1}};
    static const struct {
        enum nm_queue_order order;
        size_t expected[4];
    } cases[] = {
        {NM_QUEUE_FIFO, {0, 1, 2, 3}},
        {NM_QUEUE_SMALLEST_FIRST, {3, 2, 0, 1}},
        {NM_QUEUE_SHORTEST_EXPECTED_FIRST, {2, 0, 1, 3}},
        {NM_QUEUE_NEARLY_DONE_APP_FIRST, {1, 3, 0, 2}},
    };
    struct node *n = *state;
    struct nm_policy_container *v[4];

    n->apps[0] = (struct nm_policy_app){.completed = 1, .queued = 1};
    n->apps[1] = (struct nm_policy_app){.completed = 9, .running = 1};
    for (size_t i = 0; i < 4; i++) {
        v[i] = node_queue(n, O, queue[i].memory, queue[i].cpu);
        v[i]->expected_usec = SECONDS(queue[i].expected);
        v[i]->app = queue[i].app;
    }
    for (size_t c = 0; c < NM_ARRAY_SIZE(cases); c++) {
        n->settings.queue_order = cases[c].order;
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 4);
        for (size_t i = 0; i < 4; i++)
            assert_ptr_equal(n->verdict.actions[i].target, v[cases[c].expected[i]]);
    }
}

/* ---- shedding and refusals ------------------------------------------------------------------- */

static void test_a_queue_over_its_limit_is_shed(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o[4];

    node_run(n, G, 90, 10);
    n->settings.queue_order = NM_QUEUE_SMALLEST_FIRST;
    for (size_t i = 0; i < 4; i++)
        o[i] = node_queue(n, O, 40 - (double)i, 1);
    n->in.shed_to = 4;
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    n->in.shed_to = 2;
    node_sample(n);
    assert_left_alone(n, o[0]);
    assert_left_alone(n, o[1]);
    assert_action(n, o[2], NM_ACTION_SHED, NM_REASON_SHED);
    assert_action(n, o[3], NM_ACTION_SHED, NM_REASON_SHED);
    /* o[3], the smallest container, was the head of the queue. Now o[1] is the head. */
    assert_ptr_equal(n->verdict.queue_head, o[1]);
    /* The upstream's limit applies even if the sample is missing. */
    n->in.node.valid = false;
    n->in.shed_to = 0;
    node_change(n);
    assert_int_equal(node_count(n, NM_ACTION_SHED), 4);
    assert_null(n->verdict.queue_head);
}

/* An upstream's limit applies to the upstream's containers. Containers that are shed for the limit of the whole queue
 * count for both limits. */
static void test_an_upstreams_limit_sheds_its_containers(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o[5];

    node_run(n, G, 90, 10);
    for (size_t i = 0; i < 5; i++) {
        o[i] = node_queue(n, O, 40, 1);
        o[i]->limited = i % 2 == 0;
    }
    n->in.shed_limited_to = 3;
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    n->in.shed_limited_to = 1;
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 2);
    assert_action(n, o[4], NM_ACTION_SHED, NM_REASON_SHED);
    assert_action(n, o[2], NM_ACTION_SHED, NM_REASON_SHED);
    n->in.shed_to = 3; /* the two newest containers are shed, and one of them is a limited one */
    n->in.shed_limited_to = 0;
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 4);
    assert_left_alone(n, o[1]);
    assert_ptr_equal(n->verdict.queue_head, o[1]); /* the former head was shed */
}

static void test_admitted_containers_are_not_shed(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o[3];

    for (size_t i = 0; i < 3; i++)
        o[i] = node_queue(n, O, 45, 1);
    n->in.shed_to = 1;
    node_sample(n);
    assert_action(n, o[0], NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
    assert_action(n, o[1], NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
    assert_left_alone(n, o[2]);
}

static enum nm_reason check(struct node *n, enum nm_execution_type type, double memory, double cpu,
                            const struct nm_policy_container *self)
{
    struct nm_resources request = {(uint64_t)(memory * (double)PERCENT_MEMORY),
                                   (uint64_t)(cpu * (double)PERCENT_CPU)};

    return nm_policy_check_request(&n->settings, n->list, n->in.n_views, type, &request, false, self);
}

static void test_invalid_requests_are_refused(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *running = node_run(n, G, 60, 10), *waiting = node_queue(n, G, 30, 10), *dying,
                   *o;

    assert_reason(check(n, O, 100.01, 1, NULL), NM_REASON_LARGER_THAN_NODE);
    assert_reason(check(n, G, 1, 100.01, NULL), NM_REASON_LARGER_THAN_NODE);
    assert_reason(check(n, G, 10, 80, NULL), NM_REASON_NONE);
    assert_reason(check(n, G, 10.01, 1, NULL), NM_REASON_GUARANTEED_FULL);
    assert_reason(check(n, G, 10, 80.01, NULL), NM_REASON_GUARANTEED_FULL);
    /* The former request of a container that changes its request is not counted. */
    assert_reason(check(n, G, 70, 10, running), NM_REASON_NONE);
    assert_reason(check(n, G, 70.01, 10, running), NM_REASON_GUARANTEED_FULL);
    dying = node_run(n, G, 10, 10);
    node_enter(n, dying, NM_KILLING);
    assert_reason(check(n, G, 10, 10, NULL), NM_REASON_NONE);

    n->settings.queue_max_length = 2;
    (void)node_queue(n, O, 1, 1);
    assert_reason(check(n, O, 100, 100, NULL), NM_REASON_NONE);
    o = node_queue(n, O, 1, 1);
    assert_reason(check(n, O, 1, 1, NULL), NM_REASON_QUEUE_FULL);
    assert_reason(check(n, G, 1, 1, NULL), NM_REASON_NONE);
    assert_reason(check(n, O, 2, 2, o), NM_REASON_NONE);
    assert_reason(check(n, O, 30, 10, waiting), NM_REASON_QUEUE_FULL);
    assert_reason(check(n, O, 60, 10, running), NM_REASON_NONE);
    /* Containers that are running or admitted don't count as queued. */
    o->admitted = true;
    assert_reason(check(n, O, 1, 1, NULL), NM_REASON_NONE);
}

/* With this queue policy the number of queued containers is unlimited. All queued requests together, including
 * guaranteed ones, must fit the node. Running or admitted containers don't count. */
static void test_a_queue_limited_by_resources_has_no_limit_of_its_length(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *running = node_run(n, O, 90, 90), *o;

    n->settings.queue_policy = NM_QUEUE_BY_RESOURCES;
    n->settings.queue_max_length = 0;
    assert_reason(check(n, O, 100, 100, NULL), NM_REASON_NONE);
    (void)node_queue(n, G, 10, 20);
    o = node_queue(n, O, 40, 30);
    (void)node_queue(n, O, 1, 1);
    assert_reason(check(n, O, 49, 49, NULL), NM_REASON_NONE);
    assert_reason(check(n, O, 49.01, 1, NULL), NM_REASON_QUEUE_FULL);
    assert_reason(check(n, O, 1, 49.01, NULL), NM_REASON_QUEUE_FULL);
    assert_reason(check(n, G, 60, 60, NULL), NM_REASON_NONE);
    assert_reason(check(n, O, 90, 90, o), NM_REASON_NONE); /* the container's own request counts once */
    assert_reason(check(n, O, 90, 90, running), NM_REASON_NONE);
    o->admitted = true;
    assert_reason(check(n, O, 89, 79, NULL), NM_REASON_NONE);
    assert_reason(check(n, O, 89.01, 1, NULL), NM_REASON_QUEUE_FULL);
}

/* A container in preparation counts in the promises or in the queue. It doesn't delay the containers behind it. */
static void test_a_container_in_preparation_counts_but_does_not_delay_others(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_queue(n, G, 60, 10), *o = node_queue(n, O, 40, 10);

    g->state = NM_NEW;
    o->state = NM_LOCALIZING;
    n->settings.queue_max_length = 1;
    n->in.shed_to = 0;
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_int_equal(n->verdict.used.memory_bytes, 0);
    assert_int_equal(n->verdict.queue_reason, NM_REASON_NONE);
    assert_int_equal(n->verdict.guaranteed_reason, NM_REASON_NONE);
    assert_reason(check(n, G, 40.01, 10, NULL), NM_REASON_GUARANTEED_FULL);
    assert_reason(check(n, O, 1, 1, NULL), NM_REASON_QUEUE_FULL);
    assert_reason(check(n, O, 60, 10, g), NM_REASON_QUEUE_FULL); /* g would need room in the queue after a demotion */
    assert_reason(check(n, G, 40, 10, o), NM_REASON_NONE);
    g->state = o->state = NM_SCHEDULED;
    n->in.shed_to = UINT32_MAX;
    node_sample(n);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
}

static void test_sums_of_very_large_requests_do_not_overflow(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *v = node_run(n, G, 10, 10), *o = node_queue(n, O, 10, 10);
    struct nm_resources all = {UINT64_MAX, UINT64_MAX};

    v->request = v->measured = all;
    assert_reason(nm_policy_check_request(&n->settings, n->list, n->in.n_views, G,
                                          &n->settings.capacity, false, NULL),
                  NM_REASON_GUARANTEED_FULL);
    node_run(n, O, 10, 10)->measured = all;
    n->in.now_usec += PERIOD_USEC;
    n->in.node = (struct nm_policy_node){
        .valid = true, .cpu_valid = true, .at_usec = n->in.now_usec, .used = all};
    node_change(n);
    assert_left_alone(n, o);
    assert_int_equal(n->verdict.used.memory_bytes, UINT64_MAX);
}

/* Half of the CPU request must be free if the kernel enforces the promises of CPU. Otherwise all of it must be free. */
static void test_opportunistic_containers_share_cpu_if_the_kernel_enforces_promises(void **state)
{
    static const struct {
        double used, request;
        bool guarded, whole, starts;
    } table[] = {
        {90, 10, true, true, true},   {90, 20, true, true, true},  {90, 22, true, true, false},
        {99, 2, true, true, false}, /* the threshold alpha applies as well */
        {90, 12, false, true, false}, {90, 12, true, false, false},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(table); i++) {
        struct node *n;
        struct nm_policy_container *v;

        assert_int_equal(node_setup(state), 0);
        n = *state;
        n->settings.guard_stall = table[i].guarded;
        n->settings.over_allocation_threshold.cpu = 0.98;
        n->settings.preemption_threshold.cpu = table[i].whole ? 1 : 0.995;
        node_run(n, NM_GUARANTEED, 10, 95);
        node_use(&n->views[0], 10, table[i].used);
        v = node_queue(n, NM_OPPORTUNISTIC, 5, table[i].request);
        node_sample(n);
        if (table[i].starts)
            assert_action(n, v, NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
        else
            assert_left_alone(n, v);
        assert_null(nm_policy_check_invariants(&n->settings, &n->in, &n->verdict));
        assert_int_equal(node_teardown(state), 0);
    }
}

static void test_a_paused_container_has_priority_if_opportunistic_ones_share_cpu(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *v;

    n->settings.guard_stall = true;
    n->settings.over_allocation_threshold.cpu = 0.99;
    n->settings.preemption_threshold.cpu = 1;
    node_run(n, NM_GUARANTEED, 10, 70);
    node_paused(n, 10, 35);
    v = node_queue(n, NM_OPPORTUNISTIC, 5, 10);
    node_sample(n);
    assert_left_alone(n, v);
    assert_reason(n->verdict.queue_reason, NM_REASON_PAUSED_FIRST);
    assert_int_equal(n->verdict.queue_resource, NM_CPU);
}

/* Admitted containers that have not started yet reduce the number of admissions in a round. */
static void test_containers_not_yet_started_limit_further_admissions(void **state)
{
    struct node *n = *state;

    for (size_t i = 0; i < 24; i++)
        (void)node_queue(n, NM_OPPORTUNISTIC, 0.1, 0.1);
    n->settings.queue_max_length = 100;
    n->in.n_starting = 13;
    node_sample(n);
    assert_int_equal(node_count(n, NM_ACTION_ADMIT), 3);
    assert_reason(n->verdict.queue_reason, NM_REASON_NEXT_ROUND);
}

/* The admissions of many tiny containers are spread over several rounds, in queue order, without another sample. */
static void test_admissions_of_a_long_queue_are_spread_over_rounds(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *v[24], *guaranteed;

    for (size_t i = 0; i < 24; i++)
        v[i] = node_queue(n, NM_OPPORTUNISTIC, 0.1, 0.1);
    guaranteed = node_queue(n, NM_GUARANTEED, 1, 1);
    n->settings.queue_max_length = 100;
    node_sample(n);
    assert_int_equal(node_count(n, NM_ACTION_ADMIT), 17);
    assert_action(n, guaranteed, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    assert_non_null(node_action(n, v[15]));
    assert_left_alone(n, v[16]);
    assert_reason(n->verdict.queue_reason, NM_REASON_NEXT_ROUND);
    assert_reason(nm_policy_queue_reason(&n->verdict, v[16]), NM_REASON_NEXT_ROUND);
    assert_reason(nm_policy_queue_reason(&n->verdict, v[17]), NM_REASON_BEHIND_OTHERS);
    assert_true(n->verdict.wake_usec > n->in.now_usec);
    assert_true(n->verdict.wake_usec <= n->in.now_usec + 20 * NM_USEC_PER_MSEC);
    node_apply_verdict(n);
    node_change(n); /* another event requests a round at the same time */
    assert_int_equal(node_count(n, NM_ACTION_ADMIT), 0);
    n->in.now_usec = n->verdict.wake_usec;
    node_change(n);
    assert_int_equal(node_count(n, NM_ACTION_ADMIT), 8);
    assert_non_null(node_action(n, v[16]));
    assert_reason(n->verdict.queue_reason, NM_REASON_NONE);
}

static void test_names_of_orders_and_reasons_are_parsed_as_written(void **state)
{
    enum nm_victim_order victim;
    enum nm_queue_policy policy;
    enum nm_queue_order queue;
    enum nm_reason reason;

    (void)state;
    for (enum nm_reason r = 0; r < NM_REASON_COUNT; r++) {
        assert_non_null(nm_reason_name(r));
        assert_int_equal(nm_reason_from_string(nm_reason_name(r), &reason), 0);
        assert_int_equal(reason, r);
    }
    for (enum nm_victim_order o = NM_VICTIM_REVERSE_ARRIVAL; o <= NM_VICTIM_APP_FAIR; o++) {
        assert_int_equal(nm_victim_order_from_string(nm_victim_order_name(o), &victim), 0);
        assert_int_equal(victim, o);
    }
    for (enum nm_queue_order o = NM_QUEUE_FIFO; o <= NM_QUEUE_NEARLY_DONE_APP_FIRST; o++) {
        assert_int_equal(nm_queue_order_from_string(nm_queue_order_name(o), &queue), 0);
        assert_int_equal(queue, o);
    }
    for (enum nm_queue_policy q = NM_QUEUE_BY_LENGTH; q <= NM_QUEUE_BY_RESOURCES; q++) {
        assert_int_equal(nm_queue_policy_from_string(nm_queue_policy_name(q), &policy), 0);
        assert_int_equal(policy, q);
    }
    assert_int_equal(nm_queue_policy_from_string("BY_RESOURCES", &policy), -EINVAL);
    assert_int_equal(nm_victim_order_from_string("oldest", &victim), -EINVAL);
    assert_int_equal(nm_queue_order_from_string("", &queue), -EINVAL);
    assert_int_equal(nm_reason_from_string("over_alpha", &reason), -EINVAL);
}

#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_setup, node_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_NODE(test_the_use_of_each_container_is_estimated),
        WITH_NODE(test_swapped_memory_counts_in_the_estimate),
        WITH_NODE(test_use_of_the_system_counts_as_use_of_the_node),
        WITH_NODE(test_a_change_round_adds_starts_and_ends_since_the_last_sample),
        cmocka_unit_test(test_opportunistic_containers_are_admitted_by_allocation_or_use),
        WITH_NODE(test_memory_left_in_the_slice_by_ended_containers_counts_as_use),
        WITH_NODE(test_admission_by_allocation_leaves_room_for_the_system),
        WITH_NODE(test_admissions_of_one_round_take_each_other_into_account),
        WITH_NODE(test_without_backfill_no_container_overtakes_the_head),
        WITH_NODE(test_a_container_counts_with_its_request_during_the_warm_up),
        WITH_NODE(test_a_guaranteed_container_is_admitted_immediately),
        WITH_NODE(test_a_guaranteed_container_waits_only_for_memory_that_can_be_freed),
        WITH_NODE(test_containers_being_killed_count_in_the_allocation),
        WITH_NODE(test_without_a_sample_no_container_is_admitted),
        WITH_NODE(test_without_cpu_figures_only_guaranteed_containers_start),
        WITH_NODE(test_a_draining_or_unhealthy_node_admits_no_container),
        WITH_NODE(test_no_queued_container_is_admitted_while_the_uplink_is_busy),
        WITH_NODE(test_a_queue_limited_by_resources_has_no_limit_of_its_length),
        WITH_NODE(test_each_queue_order_sorts_the_queue),
        WITH_NODE(test_a_queue_over_its_limit_is_shed),
        WITH_NODE(test_an_upstreams_limit_sheds_its_containers),
        WITH_NODE(test_admitted_containers_are_not_shed),
        WITH_NODE(test_a_container_in_preparation_counts_but_does_not_delay_others),
        WITH_NODE(test_invalid_requests_are_refused),
        WITH_NODE(test_sums_of_very_large_requests_do_not_overflow),
        cmocka_unit_test(test_opportunistic_containers_share_cpu_if_the_kernel_enforces_promises),
        WITH_NODE(test_a_paused_container_has_priority_if_opportunistic_ones_share_cpu),
        WITH_NODE(test_containers_not_yet_started_limit_further_admissions),
        WITH_NODE(test_admissions_of_a_long_queue_are_spread_over_rounds),
        cmocka_unit_test(test_names_of_orders_and_reasons_are_parsed_as_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
