/* SPDX-License-Identifier: Apache-2.0 */

/* The node's figures in a heartbeat, in YARN's units. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "yarn/heartbeat.h"

static struct nm_status some_status(void)
{
    return (struct nm_status){
        .healthy = true,
        .capacity = {.memory_bytes = 8192 * NM_MIB, .cpu_millicores = 4000},
        .capacity_vcores_milli = 8000,
        .configured = {.memory_bytes = 8192 * NM_MIB, .cpu_millicores = 4000},
        .configured_vcores_milli = 8000,
        .allocated = {[NM_OPPORTUNISTIC] = {.memory_bytes = 1537 * NM_MIB}},
        .allocated_vcores_milli = {[NM_OPPORTUNISTIC] = 2500},
        .used_by = {{.memory_bytes = 300 * NM_MIB, .cpu_millicores = 500},
                    {.memory_bytes = 200 * NM_MIB, .cpu_millicores = 1500}},
        .node = {.memory_total_bytes = 16384 * NM_MIB, .memory_available_bytes = 12384 * NM_MIB,
                 .swap_total_bytes = 1000 * NM_MIB, .swap_free_bytes = 900 * NM_MIB, .n_cpus = 4,
                 .cpu_busy_millicores = 2250, .cpu_valid = true},
        .opportunistic_running = 3,
        .queue_length = 4,
        .queued = 5,
    };
}

static void test_figures_have_the_units_of_hadoop(void **state)
{
    struct nm_status s = some_status();
    struct nm_yarn_heartbeat_memory memory = {0};
    struct nm_yarn_heartbeat r;

    (void)state;
    nm_yarn_heartbeat_make(&r, &memory, &s, 20, 1, 1700000000123456);
    assert_int_equal(r.offered.memory, 8192);
    assert_int_equal(r.offered.vcores, 8);
    assert_int_equal(r.physical.memory, 16384);
    assert_int_equal(r.physical.vcores, 4);
    assert_int_equal(r.status.node_use->memory_mib, 4000);
    assert_int_equal(r.status.node_use->virtual_mib, 4100);
    assert_true(r.status.node_use->cpu > 2.24f && r.status.node_use->cpu < 2.26f);
    assert_int_equal(r.status.containers_use->memory_mib, 500);
    /* two of four CPUs, which are four of eight vcores */
    assert_true(r.status.containers_use->cpu > 3.99f && r.status.containers_use->cpu < 4.01f);
    assert_int_equal(r.status.opportunistic->running, 3);
    assert_int_equal(r.status.opportunistic->memory_gib, 2);
    assert_int_equal(r.status.opportunistic->vcores, 3);
    assert_int_equal(r.status.opportunistic->queued, 4);
    assert_int_equal(r.status.opportunistic->wait_queue_length, 5);
    assert_int_equal(r.status.opportunistic->wait_msec, -1);
    assert_int_equal(r.status.opportunistic->queue_capacity, 20);
    assert_int_equal(r.status.health->reported_msec, 1700000000123);
    s.node.cpu_valid = false;
    nm_yarn_heartbeat_make(&r, &memory, &s, 20, 1, 1);
    assert_true(r.status.node_use->cpu < -0.99f);
}

/* While no container can start, the queue is reported as full. If the ResourceManager saw a short queue, it would send
 * more containers. */
static void test_while_no_container_can_start_the_queue_is_reported_as_full(void **state)
{
    struct nm_status s = some_status();
    struct nm_yarn_heartbeat_memory memory = {0};
    struct nm_yarn_heartbeat r;

    (void)state;
    nm_yarn_heartbeat_note_given_back(&memory, 1000, 500);
    nm_yarn_heartbeat_make(&r, &memory, &s, 20, 1499, 1);
    assert_int_equal(r.opportunistic.wait_queue_length, 20);
    assert_int_equal(r.opportunistic.queued, 4);
    assert_int_equal(r.opportunistic.queue_capacity, 20);
    nm_yarn_heartbeat_make(&r, &memory, &s, 20, 1500, 1);
    assert_int_equal(r.opportunistic.wait_queue_length, 5);
    nm_yarn_heartbeat_note_given_back(&memory, 1000, 500);
    nm_yarn_heartbeat_note_start(&memory);
    nm_yarn_heartbeat_make(&r, &memory, &s, 20, 1001, 1);
    assert_int_equal(r.opportunistic.wait_queue_length, 5);
    s.state = NM_NODE_DRAINING;
    nm_yarn_heartbeat_make(&r, &memory, &s, 20, 1001, 1);
    assert_int_equal(r.opportunistic.wait_queue_length, 20);
}

/* After a refusal the queue is also reported as full. Containers that arrive shortly after this report were sent before
 * the ResourceManager received it. Later containers were sent although the ResourceManager knows of the full queue. */
static void test_after_a_refusal_the_queue_is_reported_as_full(void **state)
{
    const uint64_t arrived = 1000 + NM_YARN_HEARTBEAT_IN_FLIGHT_USEC, long_enough = NM_YARN_HEARTBEAT_NO_ROOM_USEC;
    struct nm_status s = some_status();
    struct nm_yarn_heartbeat_memory memory = {0};
    struct nm_yarn_heartbeat r;

    (void)state;
    assert_false(nm_yarn_heartbeat_note_refused(&memory, 900));
    assert_false(nm_yarn_heartbeat_note_refused(&memory, arrived)); /* no heartbeat has reported the full queue yet */
    memory.no_room_until_usec = 900 + long_enough;
    nm_yarn_heartbeat_make(&r, &memory, &s, 20, 1000, 1);
    assert_int_equal(r.opportunistic.wait_queue_length, 20);
    assert_false(nm_yarn_heartbeat_note_refused(&memory, 1000));
    assert_false(nm_yarn_heartbeat_note_refused(&memory, arrived - 1));
    nm_yarn_heartbeat_make(&r, &memory, &s, 20, arrived - 1, 1);
    assert_true(nm_yarn_heartbeat_note_refused(&memory, arrived));
    nm_yarn_heartbeat_make(&r, &memory, &s, 20, arrived + long_enough - 1, 1);
    assert_int_equal(r.opportunistic.wait_queue_length, 20);

    /* this heartbeat reports that the queue has room again */
    nm_yarn_heartbeat_make(&r, &memory, &s, 20, arrived + long_enough, 1);
    assert_int_equal(r.opportunistic.wait_queue_length, 5);
    assert_false(nm_yarn_heartbeat_note_refused(&memory, arrived + long_enough));
    nm_yarn_heartbeat_make(&r, &memory, &s, 20, arrived + long_enough, 1);
    nm_yarn_heartbeat_note_start(&memory); /* a start of a container also ends the report of a full queue */
    assert_false(nm_yarn_heartbeat_note_refused(&memory, arrived + 2 * long_enough));
    nm_yarn_heartbeat_make(&r, &memory, &s, 20, arrived + 3 * long_enough - 1, 1);
    assert_int_equal(r.opportunistic.wait_queue_length, 20);

    /* A refusal doesn't shorten the time of a report that lasts longer. When a container is given back with a shorter
     * time, this doesn't shorten the time after a refusal either. */
    memory = (struct nm_yarn_heartbeat_memory){.no_room_until_usec = 10 * long_enough};
    assert_false(nm_yarn_heartbeat_note_refused(&memory, 1000));
    assert_int_equal(memory.no_room_until_usec, 10 * long_enough);
    memory.no_room_until_usec = 0;
    assert_false(nm_yarn_heartbeat_note_refused(&memory, 1000));
    nm_yarn_heartbeat_note_given_back(&memory, 2000, 1);
    assert_int_equal(memory.no_room_until_usec, 1000 + long_enough);
}

/* The first sample has not been taken yet. */
static void test_without_a_sample_no_use_is_reported(void **state)
{
    struct nm_status s = {0};
    struct nm_yarn_heartbeat_memory memory = {0};
    struct nm_yarn_heartbeat r;
    size_t size;

    (void)state;
    nm_yarn_heartbeat_make(&r, &memory, &s, UINT32_MAX, 1, 1);
    assert_int_equal(r.status.node_use->memory_mib, 0);
    assert_true(r.status.containers_use->cpu >= 0);
    assert_int_equal(r.status.opportunistic->wait_msec, 0);
    assert_int_equal(r.status.opportunistic->queue_capacity, INT32_MAX);
    size = protobuf_c_message_get_packed_size(&r.status.base);
    assert_true(size > 0);
}

static void test_the_health_of_the_node_is_reported(void **state)
{
    struct nm_status s = some_status();
    struct nm_yarn_heartbeat_memory memory = {0};
    struct nm_yarn_heartbeat r;
    uint64_t now = 1000;

    (void)state;
    s.healthy = false;
    strcpy(s.health_reason, "the disk is full");
    nm_yarn_heartbeat_make(&r, &memory, &s, 0, now, 1);
    assert_true(r.status.health->healthy);
    assert_string_equal(r.status.health->report, "");
    nm_yarn_heartbeat_make(&r, &memory, &s, 0, now + NM_YARN_HEARTBEAT_UNHEALTHY_USEC - 1, 1);
    assert_true(r.status.health->healthy);
    nm_yarn_heartbeat_make(&r, &memory, &s, 0, now + NM_YARN_HEARTBEAT_UNHEALTHY_USEC, 1);
    assert_false(r.status.health->healthy);
    assert_string_equal(r.status.health->report, "the disk is full");
    s.healthy = true;
    nm_yarn_heartbeat_make(&r, &memory, &s, 0, now += 2 * NM_YARN_HEARTBEAT_UNHEALTHY_USEC, 1);
    assert_true(r.status.health->healthy);
    s.healthy = false;
    nm_yarn_heartbeat_make(&r, &memory, &s, 0, now + 1, 1);
    assert_true(r.status.health->healthy);
}

static void test_a_reason_that_prevents_all_starts_is_reported_immediately(void **state)
{
    struct nm_status s = some_status();
    struct nm_yarn_heartbeat_memory memory = {0};
    struct nm_yarn_heartbeat r;

    (void)state;
    nm_yarn_heartbeat_make(&r, &memory, &s, 0, 1000, 1);
    assert_true(r.status.health->healthy);
    nm_yarn_heartbeat_set_out(&r, "no directory is good");
    assert_false(r.status.health->healthy);
    assert_string_equal(r.status.health->report, "no directory is good");
    nm_yarn_heartbeat_make(&r, &memory, &s, 0, 1001, 1);
    assert_true(r.status.health->healthy);
    assert_string_equal(r.status.health->report, "");
}

/* A node with some bad directories is healthy, and its report names them. */
static void test_bad_directories_are_reported_by_a_healthy_node(void **state)
{
    static const char disks[] = "1/3 local-dirs have errors:  [ /d1 : gone ] ";
    struct nm_status s = some_status();
    struct nm_yarn_heartbeat_memory memory = {0};
    struct nm_yarn_heartbeat r;
    uint64_t now = 1000;

    (void)state;
    nm_yarn_heartbeat_make(&r, &memory, &s, 0, now, 1);
    nm_yarn_heartbeat_add_report(&r, "");
    assert_string_equal(r.status.health->report, "");
    nm_yarn_heartbeat_add_report(&r, disks);
    assert_true(r.status.health->healthy);
    assert_string_equal(r.status.health->report, disks);
    s.healthy = false;
    (void)snprintf(s.health_reason, sizeof s.health_reason, "%.20s", disks); /* the status has less room */
    nm_yarn_heartbeat_make(&r, &memory, &s, 0, now, 1);
    nm_yarn_heartbeat_make(&r, &memory, &s, 0, now += NM_YARN_HEARTBEAT_UNHEALTHY_USEC, 1);
    nm_yarn_heartbeat_add_report(&r, disks);
    assert_false(r.status.health->healthy);
    assert_string_equal(r.status.health->report, disks);
    strcpy(s.health_reason, "a script says so");
    nm_yarn_heartbeat_make(&r, &memory, &s, 0, now, 1);
    nm_yarn_heartbeat_add_report(&r, disks);
    assert_string_equal(r.status.health->report, "a script says so;1/3 local-dirs have errors:  [ /d1 : gone ] ");
}

static void test_the_estimated_wait_in_the_queue_is_reported(void **state)
{
    struct nm_yarn_heartbeat_memory m = {0};

    (void)state;
    assert_int_equal(nm_yarn_heartbeat_wait_msec(&m, 0, 0), 0);
    assert_int_equal(nm_yarn_heartbeat_wait_msec(&m, 1, 0), -1);
    nm_yarn_heartbeat_note_run(&m, 10 * NM_USEC_PER_SEC);
    nm_yarn_heartbeat_note_run(&m, 20 * NM_USEC_PER_SEC);
    assert_int_equal(nm_yarn_heartbeat_wait_msec(&m, 0, 2), 0);
    assert_int_equal(nm_yarn_heartbeat_wait_msec(&m, 4, 2), 30000);
    assert_int_equal(nm_yarn_heartbeat_wait_msec(&m, 4, 0), 60000);
    for (unsigned i = 0; i < 100; i++)
        nm_yarn_heartbeat_note_run(&m, NM_USEC_PER_SEC);
    assert_in_range(nm_yarn_heartbeat_wait_msec(&m, 1, 1), 1000, 1010);
    nm_yarn_heartbeat_note_run(&m, UINT64_MAX);
    assert_int_equal(nm_yarn_heartbeat_wait_msec(&m, UINT32_MAX, 1), INT32_MAX);
}

static void test_the_limit_of_the_queue_is_reported(void **state)
{
    struct nm_yarn_heartbeat_memory m = {0};

    (void)state;
    assert_int_equal(nm_yarn_heartbeat_queue_limit(&m, -1, -1, 3), UINT32_MAX);
    assert_int_equal(nm_yarn_heartbeat_queue_limit(&m, 0, -1, 3), 0);
    assert_int_equal(nm_yarn_heartbeat_queue_limit(&m, 7, 1, 3), 7);
    assert_int_equal(nm_yarn_heartbeat_queue_limit(&m, -1, 1000, 3), UINT32_MAX);
    nm_yarn_heartbeat_note_run(&m, 10 * NM_USEC_PER_SEC);
    assert_int_equal(nm_yarn_heartbeat_queue_limit(&m, -1, 60000, 2), 12);
    assert_int_equal(nm_yarn_heartbeat_queue_limit(&m, -1, 60000, 0), 6);
    assert_int_equal(nm_yarn_heartbeat_queue_limit(&m, -1, 9999, 1), 0);
    m.run_usec = 0;
    assert_int_equal(nm_yarn_heartbeat_queue_limit(&m, -1, INT32_MAX, UINT32_MAX), UINT32_MAX);
}

/* Five early heartbeats follow each other without a pause, and each further one waits for its tenth of a second. After
 * half a second without an early heartbeat, five are allowed again, and not more. */
static void test_early_heartbeats_are_limited(void **state)
{
    const uint64_t pause = NM_YARN_EARLY_USEC;
    struct nm_yarn_early e = {0};
    uint64_t now = 1000;

    (void)state;
    for (int round = 0; round < 2; round++, now += 10 * pause) {
        for (unsigned i = 0; i < NM_YARN_EARLY_BURST; i++) {
            assert_int_equal(nm_yarn_early_due(&e, now), now);
            nm_yarn_early_use(&e, now);
        }
        for (unsigned i = 1; i < 20; i++) {
            assert_int_equal(nm_yarn_early_due(&e, now), now + pause);
            nm_yarn_early_use(&e, now); /* is scheduled before it is due */
            now += pause;
        }
    }
    assert_int_equal(nm_yarn_early_due(&(struct nm_yarn_early){0}, 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_have_the_units_of_hadoop),
        cmocka_unit_test(test_while_no_container_can_start_the_queue_is_reported_as_full),
        cmocka_unit_test(test_after_a_refusal_the_queue_is_reported_as_full),
        cmocka_unit_test(test_without_a_sample_no_use_is_reported),
        cmocka_unit_test(test_the_health_of_the_node_is_reported),
        cmocka_unit_test(test_a_reason_that_prevents_all_starts_is_reported_immediately),
        cmocka_unit_test(test_bad_directories_are_reported_by_a_healthy_node),
        cmocka_unit_test(test_the_estimated_wait_in_the_queue_is_reported),
        cmocka_unit_test(test_the_limit_of_the_queue_is_reported),
        cmocka_unit_test(test_early_heartbeats_are_limited),
    };

    return cmocka_run_group_tests_name("yarn-heartbeat", tests, NULL, NULL);
}
