/* SPDX-License-Identifier: Apache-2.0 */

/* How often an opportunistic container would have been killed, by the node's history. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/requests/requests-internal.h"
#include "agent/status.h"
#include "monitor/monitor.h"

#define STEP (10 * NM_USEC_PER_SEC)

/* A node of 1000 bytes, with thresholds of 80 % and 95 %, and a container of 100 bytes that runs for three steps. */
static const struct nm_room_limits limits = {100, 800, 950, 3 * STEP};

/* Counts the starts in a history with these uses, one for each step. */
static struct nm_room_record count(const uint64_t *used, size_t n, const struct nm_room_limits *l)
{
    struct nm_history *h;
    struct nm_room_record r;

    assert_int_equal(nm_history_new(600 * STEP, &h), 0);
    for (size_t i = 0; i < n; i++) {
        struct nm_history_point p = {.at_usec = 100 * STEP + i * STEP};

        /* all parts count */
        p.use[NM_HISTORY_USED_BY_GUARANTEED].memory_bytes = used[i] / 2;
        p.use[NM_HISTORY_USED_BY_OTHERS].memory_bytes = used[i] - used[i] / 2;
        p.use[NM_HISTORY_ALLOCATED_GUARANTEED].memory_bytes = 5000; /* allocations are not use */
        nm_history_add(h, &p);
    }
    nm_room_record_count(h, l, &r);
    nm_history_free(h);
    return r;
}

static void test_a_history_without_a_whole_run_has_no_starts(void **state)
{
    static const uint64_t used[] = {100, 100, 100, 100};
    struct nm_room_record r = count(used, 0, &limits);

    (void)state;
    assert_int_equal(r.starts, 0);
    assert_int_equal(r.span_usec, 0);
    assert_int_equal(r.step_usec, STEP);
    r = count(used, 3, &limits);
    assert_int_equal(r.starts, 0);
    r = count(used, 4, &limits);
    assert_int_equal(r.starts, 1);
    assert_int_equal(r.exceeded, 0);
}

static void test_a_surge_ends_the_runs_that_it_meets(void **state)
{
    static const uint64_t used[] = {100, 100, 100, 100, 100, 900, 100, 100, 100, 100};
    const struct nm_room_record r = count(used, NM_ARRAY_SIZE(used), &limits);

    (void)state;
    /* Starts at 0 to 4 and 6. Those at 2, 3 and 4 meet the surge at 5. */
    assert_int_equal(r.starts, 6);
    assert_int_equal(r.exceeded, 3);
    assert_int_equal(r.span_usec, 6 * STEP);
}

static void test_there_is_no_start_on_a_full_node(void **state)
{
    static const uint64_t busy[] = {800, 800, 800, 800, 800}, full[] = {790, 860, 860, 860, 860};
    struct nm_room_record r = count(busy, NM_ARRAY_SIZE(busy), &limits);
    const struct nm_room_limits large = {200, 800, 950, 3 * STEP};

    (void)state;
    assert_int_equal(r.starts, 0); /* use is not below the first threshold */
    r = count(full, NM_ARRAY_SIZE(full), &limits);
    assert_int_equal(r.starts, 1);
    assert_int_equal(r.exceeded, 1);
    r = count(full, NM_ARRAY_SIZE(full), &large);
    assert_int_equal(r.starts, 0); /* use and request together exceed the second threshold at once */
}

static void test_use_up_to_the_threshold_does_no_harm(void **state)
{
    static const uint64_t used[] = {100, 850, 850, 850}, more[] = {100, 100, 100, 851};

    (void)state;
    assert_int_equal(count(used, NM_ARRAY_SIZE(used), &limits).exceeded, 0);
    assert_int_equal(count(more, NM_ARRAY_SIZE(more), &limits).exceeded, 1); /* the last point still counts */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_history_without_a_whole_run_has_no_starts),
        cmocka_unit_test(test_a_surge_ends_the_runs_that_it_meets),
        cmocka_unit_test(test_there_is_no_start_on_a_full_node),
        cmocka_unit_test(test_use_up_to_the_threshold_does_no_harm),
    };

    return cmocka_run_group_tests_name("room-record", tests, NULL, NULL);
}
