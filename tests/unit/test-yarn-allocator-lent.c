/* SPDX-License-Identifier: Apache-2.0 */

/* What the allocator says of lent containers before it places them, and the room that several masters share. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "yarn/allocator/allocator.h"

static const struct nm_yarn_alloc_node three[] = {
    {"one", 4501, NULL, NULL, NULL, -1}, {"two", 4502, NULL, NULL, NULL, -1}, {"six", 4503, NULL, NULL, NULL, -1}};

struct fixture {
    struct nm_yarn_allocator *a;
    struct nm_yarn_alloc_limits limits;
    uint64_t now_usec;
    struct nm_yarn_alloc_measure measures[3]; /* of the nodes of `three` */
    const struct nm_yarn_alloc_node *found[8];
    struct nm_yarn_alloc_size size;
};

static void look_up(void *userdata, const struct nm_yarn_alloc_node *node, struct nm_yarn_alloc_measure *ret)
{
    const struct fixture *w = userdata;

    *ret = w->measures[node->port - 4501];
}

static void measure(struct fixture *w)
{
    nm_yarn_allocator_set_limits(w->a, &w->limits);
    nm_yarn_allocator_measure(w->a, w->now_usec, look_up, w);
}

/* The i-th node has this much unused memory now. */
static void tell(struct fixture *w, size_t i, int64_t unused_mib)
{
    w->measures[i] = (struct nm_yarn_alloc_measure){.kind = NM_YARN_ALLOC_NMD, .measured = true, .admits = true,
                                                    .unused_memory_mib = unused_mib, .at_usec = w->now_usec};
}

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    assert_int_equal(nm_yarn_allocator_new(&w->a), 0);
    w->limits = (struct nm_yarn_alloc_limits){.min = {1024, 1}, .max = {8192, 4}, .increment = {1024, 1},
                                              .per_heartbeat = -1, .queue_length = 10, .window_usec = 800000,
                                              .lends = true};
    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, three, 3), 0);
    w->now_usec = 1000 * NM_USEC_PER_SEC;
    for (size_t i = 0; i < 3; i++)
        tell(w, i, 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    nm_yarn_allocator_free(w->a);
    free(w);
    return 0;
}

static size_t try(struct fixture *w, size_t n)
{
    w->size = (struct nm_yarn_alloc_size){512, 1};
    return nm_yarn_allocator_try(w->a, &w->size, w->now_usec, w->found, n);
}

static size_t place(struct fixture *w, int32_t count)
{
    const struct nm_yarn_ask ask = {
        .priority = 20, .request_id = -1, .size = {512, 1}, .count = count, .where = "*", .relax = true};
    const struct nm_yarn_placement *placed;
    size_t n;

    assert_int_equal(
        nm_yarn_allocator_ask(w->a, &(struct nm_yarn_alloc_request){.asks = &ask, .n_asks = 1}, w->now_usec), 0);
    assert_int_equal(nm_yarn_allocator_allocate(w->a, w->now_usec, &placed, &n), 0);
    return n;
}

static uint32_t startable(const struct fixture *w)
{
    return nm_yarn_allocator_startable(w->a, (struct nm_yarn_alloc_size){512, 1}, w->now_usec);
}

/* ---- nodes ---------------------------------------------------------------------------------------- */

static void test_the_nodes_of_a_heartbeat_are_found_without_a_placement(void **state)
{
    struct fixture *w = *state;

    tell(w, 0, 1024);
    tell(w, 1, 1023);
    tell(w, 2, 4096);
    measure(w);
    assert_int_equal(try(w, 8), 2); /* one on each node */
    assert_string_equal(w->found[0]->host, "six");
    assert_string_equal(w->found[1]->host, "one");
    assert_int_equal(w->size.memory_mib, 1024);
    assert_int_equal(try(w, 1), 1);
    w->limits.fill = true;
    measure(w);
    assert_int_equal(try(w, 8), 5);
    assert_string_equal(w->found[0]->host, "six");
    assert_string_equal(w->found[1]->host, "one");
    for (size_t i = 2; i < 5; i++)
        assert_string_equal(w->found[i]->host, "six");
    assert_int_equal(try(w, 8), 5);
    assert_int_equal(place(w, 8), 5);
    assert_int_equal(try(w, 8), 0);
}

static void test_an_answer_is_awaited_while_no_node_is_known(void **state)
{
    struct fixture *w = *state;

    for (size_t i = 0; i < 3; i++)
        w->measures[i] = (struct nm_yarn_alloc_measure){};
    measure(w);
    assert_false(nm_yarn_allocator_is_awaiting(w->a, w->now_usec));
    w->measures[1].awaited = true;
    measure(w);
    assert_true(nm_yarn_allocator_is_awaiting(w->a, w->now_usec));
    tell(w, 2, 0);
    measure(w);
    assert_false(nm_yarn_allocator_is_awaiting(w->a, w->now_usec));
    assert_true(nm_yarn_allocator_is_awaiting(w->a, w->now_usec + NM_YARN_ALLOC_FRESH_USEC));
}

/* ---- shared room ---------------------------------------------------------------------------------- */

/* The memory that others have claimed is not used. This allocator's own placements are part of it. */
static void test_room_is_shared_with_other_masters(void **state)
{
    struct fixture *w = *state;

    w->limits.fill = true;
    tell(w, 0, 4096);
    w->measures[0].claimed_mib = 2048;
    measure(w);
    assert_int_equal(startable(w), 2);
    assert_int_equal(place(w, 1), 1);
    assert_int_equal(startable(w), 1);
    w->measures[0].claimed_mib = 3072;
    measure(w);
    assert_int_equal(startable(w), 1);
    assert_int_equal(place(w, 4), 1);
    assert_int_equal(startable(w), 0);
    measure(w); /* without the claim of the second one, which this allocator remembers itself */
    assert_int_equal(startable(w), 1);
    w->measures[0].claimed_mib = 5000;
    measure(w);
    assert_int_equal(startable(w), 0);
}

/* What would be lent restricts what else would be lent, but no real placement. */
static void test_observed_containers_take_no_real_room(void **state)
{
    struct fixture *w = *state;

    w->limits.fill = true;
    tell(w, 0, 4096);
    w->measures[0].observed_mib = 3000;
    measure(w);
    assert_int_equal(startable(w), 1);
    assert_int_equal(try(w, 8), 1);
    assert_int_equal(place(w, 8), 4);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_the_nodes_of_a_heartbeat_are_found_without_a_placement),
        TEST(test_an_answer_is_awaited_while_no_node_is_known),
        TEST(test_room_is_shared_with_other_masters),
        TEST(test_observed_containers_take_no_real_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
