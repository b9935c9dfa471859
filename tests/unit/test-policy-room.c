/* SPDX-License-Identifier: Apache-2.0 */

/* Use of freed resources: paused containers are resumed, and opportunistic containers are killed or paused to make room
 * for guaranteed containers. Also the room that a verdict publishes. */

#include "tests/unit/policy-fixture.h"

#define G NM_GUARANTEED
#define O NM_OPPORTUNISTIC

/* ---- resume ---------------------------------------------------------------------------------- */

static void test_containers_are_resumed_in_order_of_arrival(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 10, 60), *first, *second, *third, *paused_by_user;

    first = node_paused(n, 5, 20);
    paused_by_user = node_paused(n, 5, 1);
    paused_by_user->user_paused = true;
    second = node_paused(n, 5, 30);
    third = node_paused(n, 5, 5);
    node_use(g, 10, 80);
    node_sample(n); /* use is equal to alpha */
    assert_int_equal(n->verdict.n_actions, 0);
    node_use(g, 10, 60);
    node_sample(n);
    /* 60 + 20 reaches alpha, so another 30 wouldn't fit. The third container must not be resumed before the second
     * one. */
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
    assert_left_alone(n, paused_by_user);
}

/* The sample was taken before the container was resumed, so it doesn't contain the container's use. The next rounds
 * must add this use. */
static void test_the_use_of_a_resumed_container_is_reserved(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *first, *second;

    (void)node_run(n, G, 10, 40);
    first = node_paused(n, 5, 45);
    second = node_paused(n, 5, 45);
    node_sample(n);
    assert_action(n, first, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
    assert_left_alone(n, second);
    node_apply_verdict(n);
    node_change(n);
    assert_left_alone(n, second);
    node_use(first, 5, 10); /* the container ran for only a part of the interval of the sample */
    node_sample(n);
    assert_left_alone(n, second);
}

static void test_a_paused_container_is_not_resumed_before_the_pause_has_settled(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_run(n, O, 10, 40), *g = node_run(n, G, 10, 60);

    for (int i = 0; i < 4; i++)
        node_sample(n);
    assert_action(n, o, NM_ACTION_PAUSE, NM_REASON_CPU_OVER_BETA);
    node_apply_verdict(n);
    node_use(o, 10, 0);
    for (int i = 0; i < 20; i++) {
        node_sample(n);
        assert_int_equal(n->verdict.n_actions, 0);
    }
    /* The container is resumed as soon as its use fits, but not before the pause has settled. */
    node_use(g, 10, 50);
    node_sample(n);
    assert_action(n, o, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
}

static void test_no_container_is_resumed_while_the_policy_waits_after_an_action(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o = node_run(n, O, 10, 40), *g = node_run(n, G, 10, 60);

    for (int i = 0; i < 4; i++)
        node_sample(n);
    node_apply_verdict(n);
    node_use(o, 10, 0);
    node_use(g, 10, 10);
    (void)node_queue(n, O, 1, 1);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_reason(n->verdict.queue_reason, NM_REASON_SETTLING);
    node_sample(n);
    assert_int_equal(node_count(n, NM_ACTION_RESUME), 1);
    assert_int_equal(node_count(n, NM_ACTION_ADMIT), 1);
}

static void test_a_resume_comes_before_an_admission(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 95, 30), *paused = node_paused(n, 5, 40), *queued;

    node_use(g, 10, 50);
    queued = node_queue(n, O, 5, 10);
    node_sample(n);
    /* 50 + 40 + 10 is over beta. The paused container is resumed, and the queued container waits. */
    assert_action(n, paused, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
    assert_left_alone(n, queued);
    /* The room of a paused container that can't be resumed yet isn't used for another container. 60 + 10 would fit, but
     * the paused container with 40 would then have to wait longer. */
    node_use(g, 10, 60);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_reason(n->verdict.queue_reason, NM_REASON_PAUSED_FIRST);
    /* The policy reserves no CPU for a container that a user paused. */
    paused->user_paused = true;
    node_sample(n);
    assert_action(n, queued, NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
}

static void test_a_paused_container_that_used_all_cpu_is_resumed_when_alone(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *hog = node_paused(n, 5, 100), *small;

    hog->request.cpu_millicores = 10 * PERCENT_CPU;
    n->in.now_usec += SECONDS(30);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    /* The former use of a paused container doesn't delay other containers. */
    small = node_queue(n, O, 5, 10);
    node_change(n);
    assert_action(n, small, NM_ACTION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
    node_apply_verdict(n);
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

static void test_a_paused_container_that_is_promoted_is_resumed(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *v = node_paused(n, 5, 90);

    (void)node_run(n, G, 10, 90);
    v->type = G;
    node_sample(n);
    assert_action(n, v, NM_ACTION_RESUME, NM_REASON_GUARANTEED);
    v->user_paused = true;
    node_sample(n);
    assert_left_alone(n, v);
}

/* While the node is draining, no container is admitted. Paused containers are resumed, since they have started
 * already. */
static void test_paused_containers_are_resumed_while_draining(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *paused = node_paused(n, 10, 20), *g = node_queue(n, G, 10, 10);

    n->in.draining = true;
    node_sample(n);
    assert_action(n, paused, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
    assert_left_alone(n, g);
}

static void test_no_container_is_resumed_while_memory_is_full(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 95, 10), *o = node_paused(n, 1, 10);

    o->exempt = true; /* prevents that the policy kills the paused container for its memory */
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_use(g, 90, 10); /* use is over alpha, but a resume uses no more memory than the container already holds */
    node_sample(n);
    assert_action(n, o, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
}

/* A paused container that is resumed reads its swapped memory back. If it is resumed too early, its memory raises use
 * over beta again and leads to a kill. */
static void test_no_container_is_resumed_without_room_for_its_swap(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 78, 10), *paused = node_paused(n, 5, 10), *later;

    paused->request.memory_bytes = 30 * PERCENT_MEMORY;
    paused->swapped_bytes = 13 * PERCENT_MEMORY;
    later = node_paused(n, 1, 1);
    node_sample(n); /* 84 are in use, and the container will read 13 back from swap */
    assert_left_alone(n, paused);
    assert_left_alone(n, later); /* containers are resumed in the order of arrival */
    node_use(g, 76, 10);
    node_sample(n);
    assert_action(n, paused, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
    assert_int_equal(node_action(n, paused)->predicted.memory_bytes, 13 * PERCENT_MEMORY);
    assert_action(n, later, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
}

/* Samples don't contain memory that a resumed container will read back from swap. The policy must reserve this memory
 * until the container has read it. */
static void test_memory_that_a_resumed_container_reads_from_swap_is_reserved(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 60, 10), *paused = node_paused(n, 10, 10), *next;

    paused->request.memory_bytes = 30 * PERCENT_MEMORY;
    paused->swapped_bytes = 15 * PERCENT_MEMORY;
    next = node_paused(n, 1, 1);
    next->request.memory_bytes = 30 * PERCENT_MEMORY;
    next->swapped_bytes = 10 * PERCENT_MEMORY;
    node_sample(n);
    assert_action(n, paused, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
    assert_left_alone(n, next); /* 71 + 15 + 10 */
    node_apply_verdict(n);
    node_use(paused, 12, 10);
    paused->swapped_bytes = 13 * PERCENT_MEMORY;
    node_sample(n);
    node_sample(n);
    node_sample(n);
    node_sample(n); /* after 12 s the container may still read memory back from swap */
    assert_int_equal(n->verdict.used.memory_bytes, 86 * PERCENT_MEMORY);
    assert_int_equal(n->verdict.in_use.memory_bytes, 73 * PERCENT_MEMORY);
    assert_left_alone(n, next);
    node_sample(n); /* the reservation ends after 15 s */
    assert_int_equal(n->verdict.used.memory_bytes, 73 * PERCENT_MEMORY);
    assert_action(n, next, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
    assert_left_alone(n, g);
}

/* Room that was made by swapping a container out isn't given to the next container, since the swapped container may
 * read its memory back. */
static void test_no_container_is_admitted_into_room_made_by_swapping(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 40, 85), *paused = node_paused(n, 10, 20), *o;

    g->request = (struct nm_resources){70 * PERCENT_MEMORY, 85 * PERCENT_CPU};
    paused->request.memory_bytes = 60 * PERCENT_MEMORY;
    paused->swapped_bytes = 30 * PERCENT_MEMORY;
    paused->user_paused = true; /* the policy reserves memory, but no CPU, for a container that a user paused */
    o = node_queue(n, O, 16, 1);
    node_use(g, 40, 10);
    node_sample(n); /* 50 are in use, 16 are requested, and the paused container may read 30 back from swap */
    assert_left_alone(n, o);
    assert_reason(n->verdict.queue_reason, NM_REASON_PAUSED_FIRST);
    assert_int_equal(n->verdict.queue_resource, NM_MEMORY);
    o->request.memory_bytes = 15 * PERCENT_MEMORY;
    node_sample(n);
    assert_action(n, o, NM_ACTION_ADMIT, NM_REASON_OVER_ALLOCATION);
}

/* A container's memory limit is its request, so it reads back no more than its request, whatever amount is in swap. */
static void test_swapped_memory_counts_up_to_the_memory_limit(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *paused = node_paused(n, 10, 10);

    paused->request.memory_bytes = 12 * PERCENT_MEMORY;
    paused->swapped_bytes = 90 * PERCENT_MEMORY;
    node_sample(n);
    assert_left_alone(n, paused);
    n->settings.memory_limits = true;
    node_sample(n);
    assert_action(n, paused, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
    assert_int_equal(node_action(n, paused)->predicted.memory_bytes, 2 * PERCENT_MEMORY);
}

/* ---- room for guaranteed containers ---------------------------------------------------------- */

static void test_only_as_many_victims_as_needed_make_room_for_a_guaranteed_container(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g, *o[4];

    for (size_t i = 0; i < 4; i++)
        o[i] = node_run(n, O, 20, 20);
    node_sample(n);
    g = node_queue(n, G, 30, 40);
    node_change(n);
    /* Memory: 80 + 30 - 95 = 15, so one container is killed. CPU: 80 + 40 - 20 - 95 = 5, so one more container is
     * paused. */
    assert_int_equal(n->verdict.n_actions, 3);
    assert_action(n, o[3], NM_ACTION_KILL, NM_REASON_ROOM_FOR_GUARANTEED);
    assert_action(n, o[2], NM_ACTION_PAUSE, NM_REASON_ROOM_FOR_GUARANTEED);
    assert_ptr_equal(node_action(n, o[3])->on_behalf_of, g);
    assert_ptr_equal(node_action(n, o[2])->on_behalf_of, g);
    /* The node has room for the start beside the victims, so the guaranteed container doesn't wait for their end. */
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    assert_reason(n->verdict.guaranteed_reason, NM_REASON_NONE);

    /* There are no further victims while these two victims are ending. */
    node_enter(n, g, NM_RUNNING);
    g->admitted = true;
    g->started_usec = n->in.now_usec;
    node_enter(n, o[3], NM_KILLING);
    node_enter(n, o[2], NM_PAUSING);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
}

/* Where the victims' memory leaves no room for a start, the guaranteed container waits for their end. */
static void test_a_guaranteed_container_waits_for_victims_on_a_full_node(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g, *o[2] = {node_run(n, O, 50, 1), node_run(n, O, 44, 1)};

    node_sample(n);
    g = node_queue(n, G, 30, 1);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, o[1], NM_ACTION_KILL, NM_REASON_ROOM_FOR_GUARANTEED);
    assert_reason(n->verdict.guaranteed_reason, NM_REASON_WAITING_FOR_VICTIMS);
    node_enter(n, o[1], NM_KILLING);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_remove(n, o[1]);
    node_change(n);
    /* It is admitted in the same round in which the last victim has ended. */
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
}

/* Each start beside victims takes a part of the room. Starts of earlier rounds count until a sample shows their
 * memory. */
static void test_starts_beside_victims_are_bounded_by_the_free_memory(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g[4], *o[2] = {node_run(n, O, 10, 1), node_run(n, O, 82, 1)};

    node_sample(n);
    for (size_t i = 0; i < 4; i++)
        g[i] = node_queue(n, G, 20, 1);
    node_change(n);
    /* 3 % is free below beta, and a start takes 1.28 %. */
    assert_int_equal(n->verdict.n_actions, 3);
    assert_action(n, o[1], NM_ACTION_KILL, NM_REASON_ROOM_FOR_GUARANTEED);
    assert_action(n, g[0], NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    assert_action(n, g[1], NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    assert_reason(n->verdict.guaranteed_reason, NM_REASON_WAITING_FOR_VICTIMS);
    assert_ptr_equal(n->verdict.guaranteed_head, g[2]);
    for (size_t i = 0; i < 2; i++) {
        node_enter(n, g[i], NM_RUNNING);
        g[i]->admitted = true;
        g[i]->started_usec = n->in.now_usec;
    }
    node_enter(n, o[1], NM_KILLING);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_remove(n, o[1]);
    node_change(n);
    assert_int_equal(node_count(n, NM_ACTION_ADMIT), 2);
}

/* A container in its grace period may keep its memory for the whole period. */
static void test_a_guaranteed_container_waits_for_a_victim_in_its_grace_period(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g, *o = node_run(n, O, 80, 1);

    node_sample(n);
    node_enter(n, o, NM_KILLING);
    o->kill_deadline_usec = n->in.now_usec + SECONDS(5);
    g = node_queue(n, G, 30, 1);
    node_change(n);
    assert_int_equal(n->verdict.n_actions, 0);
    assert_reason(n->verdict.guaranteed_reason, NM_REASON_WAITING_FOR_VICTIMS);
    n->in.now_usec = o->kill_deadline_usec;
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 1);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
}

static void test_room_is_made_for_several_guaranteed_containers(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g[2], *o[4];

    for (size_t i = 0; i < 4; i++)
        o[i] = node_run(n, O, 20, 1);
    node_sample(n);
    g[0] = node_queue(n, G, 30, 1); /* 15 are missing: o[3] is the victim */
    g[1] = node_queue(n, G, 30, 1); /* 45 are missing for both containers: o[2] and o[1] are victims, too */
    node_change(n);
    assert_int_equal(node_count(n, NM_ACTION_KILL), 3);
    assert_left_alone(n, o[0]);
    assert_ptr_equal(node_action(n, o[3])->on_behalf_of, g[0]);
    assert_ptr_equal(node_action(n, o[2])->on_behalf_of, g[1]);
    assert_ptr_equal(node_action(n, o[1])->on_behalf_of, g[1]);
    assert_action(n, g[0], NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
    assert_action(n, g[1], NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
}

static void test_no_container_is_killed_if_kills_can_not_make_enough_room(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g, *o = node_run(n, O, 10, 1), *master = node_run(n, O, 30, 1);

    master->exempt = true;
    node_sample(n);
    g = node_queue(n, G, 90, 1);
    node_change(n);
    /* 30 + 90 is over beta, but there is no further victim. */
    assert_int_equal(n->verdict.n_actions, 2);
    assert_action(n, o, NM_ACTION_KILL, NM_REASON_ROOM_FOR_GUARANTEED);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
}

static void test_the_reserved_memory_of_a_victim_counts_as_room(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g, *o[3];

    for (size_t i = 0; i < 3; i++) {
        o[i] = node_run(n, O, 30, 1);
        o[i]->started_usec = n->in.now_usec + i;
        node_use(o[i], 1, 1);
    }
    node_sample(n);
    g = node_queue(n, G, 30, 1);
    node_change(n);
    /* U is 90, and all of it is reserved. The end of one victim's reservation is enough. */
    assert_int_equal(n->verdict.n_actions, 2);
    assert_action(n, o[2], NM_ACTION_KILL, NM_REASON_ROOM_FOR_GUARANTEED);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
}

static void test_the_kill_budget_does_not_limit_kills_for_guaranteed_containers(void **state)
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

static void test_room_for_guaranteed_containers_is_made_if_over_allocation_is_off(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g, *o[3];

    n->settings.over_allocation = false;
    n->settings.pause_enabled = false;
    for (size_t i = 0; i < 3; i++) {
        o[i] = node_run(n, O, 30, 30);
        node_use(o[i], 1, 1);
    }
    node_sample(n);
    g = node_queue(n, G, 10, 40);
    node_change(n);
    /* CPU: 90 + 40 - 100 = 30, and pausing is disabled. */
    assert_int_equal(n->verdict.n_actions, 2);
    assert_action(n, o[2], NM_ACTION_KILL, NM_REASON_ROOM_FOR_GUARANTEED);
    assert_action(n, g, NM_ACTION_ADMIT, NM_REASON_GUARANTEED);
}

static void test_without_a_sample_no_room_is_made_for_guaranteed_containers(void **state)
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
    assert_int_equal(node_count(n, NM_ACTION_KILL), 1);
}

#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_setup, node_teardown)

/* ---- a smaller capacity of the node ---------------------------------------------------------- */

/* If the node offers less, no container is killed for it, and paused containers are resumed. Fewer queued containers
 * are admitted until the node offers more again. */
static void test_no_container_is_killed_if_the_node_offers_less(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *runs = node_run(n, O, 60, 50), *paused = node_paused(n, 5, 10), *waits =
        node_queue(n, O, 5, 5);

    n->settings.offered = (struct nm_resources){30 * PERCENT_MEMORY, 30 * PERCENT_CPU};
    node_sample(n);
    assert_left_alone(n, runs);
    assert_action(n, paused, NM_ACTION_RESUME, NM_REASON_BELOW_THRESHOLD);
    assert_left_alone(n, waits);
    assert_reason(n->verdict.queue_reason, NM_REASON_OVER_ALPHA);
    node_apply_verdict(n);
    n->settings.offered = n->settings.capacity;
    for (int i = 0; i < 5 && !node_action(n, waits); i++)
        node_sample(n);
    assert_int_equal(node_action(n, waits)->type, NM_ACTION_ADMIT);
}

/* ---- the room that is published -------------------------------------------------------------- */

struct room_case {
    double guaranteed, guaranteed_use, opportunistic, paused, system, cpu;
    bool over_allocation, surges;
};

/* Returns a node in this state, after a round. */
static struct node *node_with_room(const struct room_case *c)
{
    struct nm_policy_memory memory = {};
    struct node *n;

    assert_int_equal(node_setup((void **)&n), 0);
    n->settings.over_allocation = c->over_allocation;
    if (c->surges) {
        n->settings.margin_usec = SECONDS(3600);
        memory.margin = (struct nm_policy_margin){
            .until_usec = n->in.now_usec + SECONDS(600), .hold_usec = SECONDS(600), .peak_permille = 900};
        nm_policy_set_memory(n->policy, &memory);
    }
    n->system_memory = c->system;
    if (c->guaranteed > 0)
        node_use(node_run(n, G, c->guaranteed, 1), c->guaranteed_use, c->cpu);
    if (c->opportunistic > 0)
        (void)node_run(n, O, c->opportunistic, 1);
    if (c->paused > 0)
        node_paused(n, c->paused, 0)->user_paused = true;
    node_sample(n);
    return n;
}

static bool is_admitted_beside(const struct room_case *c, uint64_t memory_bytes)
{
    struct node *n = node_with_room(c);
    struct nm_policy_container *v = node_queue(n, O, 0, 0);
    bool admitted;

    v->request.memory_bytes = memory_bytes;
    node_change(n);
    admitted = node_action(n, v) != NULL;
    (void)node_teardown((void **)&n);
    return admitted;
}

/* A container that requests exactly the room is admitted, and one that requests a byte more is not. */
static void test_the_published_room_is_what_would_be_admitted(void **state)
{
    static const struct room_case cases[] = {
        {0, 0, 0, 0, 0, 0, true, false},      {50, 10, 0, 0, 0, 10, true, false},  {90, 10, 0, 0, 5, 10, true, false},
        {100, 10, 0, 0, 0, 10, true, false},  {50, 50, 20, 0, 0, 10, true, false}, {50, 79, 0, 0, 0, 10, true, false},
        {40, 20, 40, 10, 0, 10, true, false}, {60, 20, 10, 0, 0, 10, true, true},  {100, 90, 0, 0, 0, 10, true, false},
        {50, 10, 0, 0, 0, 10, false, false},  {60, 10, 30, 0, 0, 10, false, false}, {60, 10, 0, 0, 0, 85, true, false},
        {100, 10, 0, 0, 0, 96, true, false},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct node *n = node_with_room(&cases[i]);
        const uint64_t room = n->verdict.room_bytes;
        const enum nm_reason hold = n->verdict.hold_reason;

        (void)node_teardown((void **)&n);
        if (hold == NM_REASON_NONE && room > 0 && !is_admitted_beside(&cases[i], room))
            fail_msg("case %zu: a container of the size of the room (%llu) is not admitted", i,
                     (unsigned long long)room);
        if (is_admitted_beside(&cases[i], room + 1))
            fail_msg("case %zu: there is more room than %llu", i, (unsigned long long)room);
    }
}

static void test_the_reason_that_holds_all_containers_is_published(void **state)
{
    struct node *n = *state;

    node_sample(n);
    assert_int_equal(n->verdict.hold_reason, NM_REASON_NONE);
    assert_int_equal(n->verdict.room_bytes, 100 * PERCENT_MEMORY); /* by the plain rule, also above beta */
    n->in.draining = true;
    node_change(n);
    assert_int_equal(n->verdict.hold_reason, NM_REASON_DRAINING);
    n->in.draining = false;
    n->in.now_usec += SECONDS(60);
    node_change(n);
    assert_int_equal(n->verdict.hold_reason, NM_REASON_NO_SAMPLE);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_NODE(test_no_container_is_killed_if_the_node_offers_less),
        WITH_NODE(test_containers_are_resumed_in_order_of_arrival),
        WITH_NODE(test_the_use_of_a_resumed_container_is_reserved),
        WITH_NODE(test_a_paused_container_is_not_resumed_before_the_pause_has_settled),
        WITH_NODE(test_no_container_is_resumed_while_the_policy_waits_after_an_action),
        WITH_NODE(test_a_resume_comes_before_an_admission),
        WITH_NODE(test_a_paused_container_that_used_all_cpu_is_resumed_when_alone),
        WITH_NODE(test_a_paused_container_that_is_promoted_is_resumed),
        WITH_NODE(test_paused_containers_are_resumed_while_draining),
        WITH_NODE(test_no_container_is_resumed_while_memory_is_full),
        WITH_NODE(test_no_container_is_resumed_without_room_for_its_swap),
        WITH_NODE(test_memory_that_a_resumed_container_reads_from_swap_is_reserved),
        WITH_NODE(test_no_container_is_admitted_into_room_made_by_swapping),
        WITH_NODE(test_swapped_memory_counts_up_to_the_memory_limit),
        WITH_NODE(test_only_as_many_victims_as_needed_make_room_for_a_guaranteed_container),
        WITH_NODE(test_a_guaranteed_container_waits_for_victims_on_a_full_node),
        WITH_NODE(test_starts_beside_victims_are_bounded_by_the_free_memory),
        WITH_NODE(test_a_guaranteed_container_waits_for_a_victim_in_its_grace_period),
        WITH_NODE(test_room_is_made_for_several_guaranteed_containers),
        WITH_NODE(test_no_container_is_killed_if_kills_can_not_make_enough_room),
        WITH_NODE(test_the_reserved_memory_of_a_victim_counts_as_room),
        WITH_NODE(test_the_kill_budget_does_not_limit_kills_for_guaranteed_containers),
        WITH_NODE(test_room_for_guaranteed_containers_is_made_if_over_allocation_is_off),
        WITH_NODE(test_without_a_sample_no_room_is_made_for_guaranteed_containers),
        cmocka_unit_test(test_the_published_room_is_what_would_be_admitted),
        WITH_NODE(test_the_reason_that_holds_all_containers_is_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
