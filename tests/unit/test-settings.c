/* SPDX-License-Identifier: Apache-2.0 */

/* agent/config/settings.h: the values that "auto" stands for, units, and error messages with their numbers. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/config/settings.h"

#define GIB (UINT64_C(1) << 30)

struct fixture {
    struct nm_config *config;
    struct nm_node_sample node;
    struct nm_cgroup_backend backend;
    struct nm_policy_settings settings;
    char *message;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f || nm_config_new_defaults(&f->config) < 0)
        return -1;
    f->node.memory_total_bytes = 16 * GIB;
    f->node.n_cpus = 8;
    for (unsigned i = 0; i < NM_CGROUP_FEATURE_COUNT; i++)
        f->backend.feature[i] = true;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    nm_config_free(f->config);
    free(f->message);
    free(f);
    return 0;
}

static int resolve(struct fixture *f)
{
    free(f->message);
    return nm_config_policy_settings(f->config, &f->node, &f->backend, &f->settings, &f->message);
}

/* A node of 2 GiB can have about 15,000 tasks. This is less than the fixed limit of 16384 tasks for one container. */
static void test_the_limit_of_tasks_follows_the_size_of_the_node(void **state)
{
    static const struct {
        uint64_t configured, node, slice, container;
    } rows[] = {
        {0, 15000, 11250, 5625},
        {0, 1 << 22, 3 << 20, 16384},
        {0, 0, NM_CGROUP_NONE, 16384},
        {0, 1, 1, 1},
        {20000, 15000, 11250, 20000}, /* the limit of tasks in the slice applies as well */
        {NM_CGROUP_NONE, 15000, 11250, NM_CGROUP_NONE},
        {7, 0, NM_CGROUP_NONE, 7},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        struct nm_task_limits l;

        f->config->pids_max = rows[i].configured;
        l = nm_settings_tasks(f->config, rows[i].node);
        assert_int_equal(l.slice, rows[i].slice);
        assert_int_equal(l.container, rows[i].container);
    }
}

static void test_the_automatic_reserve_follows_the_size_of_the_node(void **state)
{
    static const struct {
        uint64_t total, reserve;
    } rows[] = {
        {256 * NM_MIB, 128 * NM_MIB}, /* limited to half of the node */
        {GIB, 256 * NM_MIB},          /* not less than 256 MiB */
        {20 * GIB, GIB},              /* 5 % of the node */
        {1024 * GIB, 2 * GIB},        /* not more than 2 GiB */
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        f->node.memory_total_bytes = rows[i].total;
        assert_int_equal(resolve(f), 0);
        assert_int_equal(f->settings.reserve.memory_bytes, rows[i].reserve);
        assert_int_equal(f->settings.capacity.memory_bytes, rows[i].total - rows[i].reserve);
    }
}

static void test_capacity_and_reserve_add_up_to_the_whole_node(void **state)
{
    struct fixture *f = *state;

    f->config->system_reserved_memory_bytes = 0;
    assert_int_equal(resolve(f), 0);
    assert_int_equal(f->settings.capacity.memory_bytes, 16 * GIB);
    assert_int_equal(f->settings.reserve.memory_bytes, 0);
    /* If a capacity is configured, the reserve is the memory beyond it. */
    f->config->memory_bytes = 4 * GIB;
    assert_int_equal(resolve(f), 0);
    assert_int_equal(f->settings.capacity.memory_bytes, 4 * GIB);
    assert_int_equal(f->settings.reserve.memory_bytes, 12 * GIB);
    /* A capacity that equals the whole node is valid if no reserve is configured. */
    f->config->system_reserved_memory_bytes = UINT64_MAX;
    f->config->memory_bytes = 16 * GIB;
    assert_int_equal(resolve(f), 0);
    assert_int_equal(f->settings.reserve.memory_bytes, 0);
}

static void expect_refused(struct fixture *f, const char *message)
{
    struct nm_policy_settings before = f->settings;

    assert_int_equal(resolve(f), -ERANGE);
    assert_string_equal(f->message, message);
    assert_memory_equal(&before, &f->settings, sizeof before);
}

static void test_a_capacity_above_the_node_is_refused(void **state)
{
    struct fixture *f = *state;

    f->config->memory_bytes = 64 * GIB;
    expect_refused(f, "[node] memory = 64.0 GiB: larger than this node's 16.0 GiB");
    f->config->memory_bytes = 15 * GIB;
    f->config->system_reserved_memory_bytes = 2 * GIB;
    expect_refused(f, "[node] memory = 15.0 GiB: with system-reserved-memory = 2.0 GiB larger than "
                      "this node's 16.0 GiB");
    f->config->memory_bytes = 14 * GIB;
    assert_int_equal(resolve(f), 0);
    f->config->memory_bytes = 0;
    f->config->system_reserved_memory_bytes = 16 * GIB;
    expect_refused(f, "[node] system-reserved-memory = 16.0 GiB: leaves nothing for containers, "
                      "this node has 16.0 GiB");
    f->config->system_reserved_memory_bytes = UINT64_MAX;
    f->config->system_reserved_vcores_milli = 8000;
    expect_refused(f, "[node] system-reserved-vcores = 8: leaves nothing for containers, this node "
                      "has 8 vcores on 8 CPUs");
    f->config->memory_bytes = 64 * GIB; /* both errors are reported */
    expect_refused(f, "[node] memory = 64.0 GiB: larger than this node's 16.0 GiB\n"
                      "[node] system-reserved-vcores = 8: leaves nothing for containers, this node "
                      "has 8 vcores on 8 CPUs");
}

/* A valid configured capacity is reduced when the node becomes smaller, and grows with the node again. */
static void test_a_configured_capacity_shrinks_with_the_node(void **state)
{
    struct fixture *f = *state;
    struct nm_policy_settings s;

    f->config->system_reserved_memory_bytes = 2 * GIB;
    f->config->memory_bytes = 12 * GIB;
    f->config->system_reserved_vcores_milli = 2000;
    assert_int_equal(nm_config_follow_node(f->config, &f->node, &f->backend, &s), 0);
    assert_int_equal(s.capacity.memory_bytes, 12 * GIB);
    assert_int_equal(s.capacity.cpu_millicores, 6000);
    f->node.memory_total_bytes = 10 * GIB;
    f->node.n_cpus = 4;
    assert_int_equal(nm_config_follow_node(f->config, &f->node, &f->backend, &s), 0);
    assert_int_equal(s.capacity.memory_bytes, 8 * GIB);
    assert_int_equal(s.reserve.memory_bytes, 2 * GIB);
    assert_int_equal(s.capacity.cpu_millicores, 2000);
    f->node.memory_total_bytes = 2 * GIB;
    f->node.n_cpus = 1;
    assert_int_equal(nm_config_follow_node(f->config, &f->node, &f->backend, &s), 0);
    assert_int_equal(s.capacity.memory_bytes, GIB);
    assert_int_equal(s.capacity.cpu_millicores, 500);
    f->config->memory_bytes = 0;
    f->node.memory_total_bytes = 20 * GIB;
    f->config->system_reserved_memory_bytes = UINT64_MAX;
    assert_int_equal(nm_config_follow_node(f->config, &f->node, &f->backend, &s), 0);
    assert_int_equal(s.capacity.memory_bytes, 19 * GIB);
    f->node.n_cpus = 0;
    assert_int_equal(nm_config_follow_node(f->config, &f->node, &f->backend, &s), -ENODATA);
}

/* A larger size that an upstream sets takes effect up to the size of the host. A smaller size reduces the offer to new
 * containers, while the capacity for the running containers stays unchanged. */
static void test_a_size_set_by_an_upstream_is_limited_by_the_host(void **state)
{
    struct fixture *f = *state;
    struct nm_resources configured;
    uint32_t vcores_milli;

    f->config->memory_bytes = 12 * GIB;
    f->config->wanted_memory_bytes = 14 * GIB;
    f->config->wanted_vcores = 10;
    assert_int_equal(resolve(f), 0);
    assert_int_equal(f->settings.capacity.memory_bytes, 14 * GIB);
    assert_int_equal(f->settings.reserve.memory_bytes, 2 * GIB);
    assert_int_equal(f->settings.offered.memory_bytes, 14 * GIB);
    assert_int_equal(f->settings.capacity.cpu_millicores, 8000);
    assert_int_equal(f->settings.offered.cpu_millicores, 8000);
    assert_int_equal(nm_settings_vcore_millicores(f->config, &f->node, 1000), 800);
    assert_int_equal(nm_settings_configured(f->config, &f->node, &configured, &vcores_milli), 0);
    assert_int_equal(configured.memory_bytes, 12 * GIB);
    assert_int_equal(vcores_milli, 8000);

    f->config->wanted_memory_bytes = 100 * GIB;
    assert_int_equal(resolve(f), 0);
    assert_int_equal(f->settings.capacity.memory_bytes, 16 * GIB - 16 * GIB / 20);

    f->config->wanted_memory_bytes = 4 * GIB;
    f->config->wanted_vcores = 2;
    assert_int_equal(resolve(f), 0);
    assert_int_equal(f->settings.capacity.memory_bytes, 12 * GIB);
    assert_int_equal(f->settings.offered.memory_bytes, 4 * GIB);
    assert_int_equal(f->settings.capacity.cpu_millicores, 8000);
    assert_int_equal(f->settings.offered.cpu_millicores, 2000);
    assert_int_equal(nm_settings_vcore_millicores(f->config, &f->node, 1000), 1000);
}

static void test_without_a_sample_the_capacity_is_unknown(void **state)
{
    struct fixture *f = *state;

    f->node.memory_total_bytes = 0;
    assert_int_equal(resolve(f), -ENODATA);
    assert_null(f->message);
    f->node.memory_total_bytes = GIB;
    f->node.n_cpus = 0;
    assert_int_equal(resolve(f), -ENODATA);
}

static void test_the_cpu_capacity_follows_the_number_of_cpus(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(resolve(f), 0);
    assert_int_equal(f->settings.capacity.cpu_millicores, 8000);
    assert_int_equal(f->settings.reserve.cpu_millicores, 0);
    f->config->vcores = 16; /* a vcore is half a CPU */
    f->config->system_reserved_vcores_milli = 1000;
    assert_int_equal(resolve(f), 0);
    assert_int_equal(f->settings.capacity.cpu_millicores, 7500);
    assert_int_equal(f->settings.reserve.cpu_millicores, 500);
    assert_int_equal(f->settings.squeeze_floor_millicores, 25);
}

static void test_vcores_are_shares_of_the_cpus(void **state)
{
    struct fixture *f = *state;
    uint64_t sum = 0;

    assert_int_equal(nm_settings_vcore_millicores(f->config, &f->node, 1500), 1500);
    f->config->vcores = 3; /* a vcore is 2666.67 millicores */
    for (int i = 0; i < 3; i++)
        sum += nm_settings_vcore_millicores(f->config, &f->node, 1000);
    assert_in_range(sum, 7997, 8000);
    assert_int_equal(nm_settings_vcore_millicores(f->config, &f->node, 3000), 8000);
    assert_int_equal(nm_settings_millicores_vcores(f->config, &f->node, 8000), 3000);
    f->config->vcores = 100000;
    assert_int_equal(nm_settings_vcore_millicores(f->config, &f->node, 1), 1);
    assert_int_equal(nm_settings_vcore_millicores(f->config, &f->node, 0), 0);
    f->node.n_cpus = 0;
    assert_int_equal(nm_settings_millicores_vcores(f->config, &f->node, 8000), 0);
}

/* A feature is off if the backend doesn't support it, or if the configuration disables it. */
static void test_a_feature_needs_support_of_the_backend_and_the_configuration(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(resolve(f), 0);
    assert_true(f->settings.can_freeze && f->settings.can_reclaim && f->settings.can_squeeze);
    f->backend.feature[NM_CGROUP_SWAP] = false;
    assert_int_equal(resolve(f), 0);
    assert_false(f->settings.can_reclaim);
    f->backend.feature[NM_CGROUP_SWAP] = true;
    f->backend.feature[NM_CGROUP_RECLAIM] = false;
    f->backend.feature[NM_CGROUP_CPU_WEIGHT] = false;
    f->backend.feature[NM_CGROUP_FREEZE] = false;
    assert_int_equal(resolve(f), 0);
    assert_false(f->settings.can_freeze || f->settings.can_reclaim || f->settings.can_squeeze);
    f->backend.feature[NM_CGROUP_RECLAIM] = f->backend.feature[NM_CGROUP_CPU_WEIGHT] = true;
    f->config->reclaim = f->config->squeeze = f->config->pause = false;
    assert_int_equal(resolve(f), 0);
    assert_false(f->settings.can_reclaim || f->settings.can_squeeze || f->settings.pause_enabled);
}

static void test_the_other_settings_have_the_values_of_the_configuration(void **state)
{
    struct fixture *f = *state;

    f->config->queue_max_length = 77;
    f->config->kills_per_minute = 5;
    f->config->victim_order = NM_VICTIM_APP_FAIR;
    f->config->queue_order = NM_QUEUE_SMALLEST_FIRST;
    f->config->uplink_threshold = 0.5;
    assert_int_equal(resolve(f), 0);
    assert_true(f->settings.over_allocation);
    assert_true(f->settings.over_allocation_threshold.memory == 0.8);
    assert_true(f->settings.preemption_threshold.memory == 0.95);
    assert_int_equal(f->settings.warmup_usec, 15 * NM_USEC_PER_SEC);
    assert_int_equal(f->settings.warmup_samples, 3);
    assert_int_equal(f->settings.queue_max_length, 77);
    assert_int_equal(f->settings.kills_per_minute, 5);
    assert_int_equal(f->settings.victim_order, NM_VICTIM_APP_FAIR);
    assert_int_equal(f->settings.queue_order, NM_QUEUE_SMALLEST_FIRST);
    assert_int_equal(f->settings.cpu_samples, 4);
    assert_int_equal(f->settings.settle_samples, 2);
    assert_int_equal(f->settings.pause_deadline_usec, 600 * NM_USEC_PER_SEC);
    assert_int_equal(f->settings.breaker_usec, 10 * NM_USEC_PER_SEC);
    assert_true(f->settings.uplink_threshold == 0.5);
    /* A sample is stale after three sampling periods, but not before two seconds. */
    assert_int_equal(f->settings.sample_max_age_usec, 9 * NM_USEC_PER_SEC);
    f->config->period_usec = 100 * NM_USEC_PER_MSEC;
    assert_int_equal(resolve(f), 0);
    assert_int_equal(f->settings.sample_max_age_usec, 2 * NM_USEC_PER_SEC);
}

/* The CPU thresholds are high if the kernel enforces the promises of CPU. The note about each value states this
 * reason. */
static void test_the_automatic_cpu_thresholds_depend_on_features_of_the_kernel(void **state)
{
    static const enum nm_cgroup_feature needed[] = {NM_CGROUP_CPU_WEIGHT, NM_CGROUP_CPU_IDLE,
                                                    NM_CGROUP_PRESSURE};
    const struct nm_task_limits tasks = {.slice = 10000, .container = 5000};
    struct nm_config_note notes[NM_SETTINGS_NOTES_MAX];
    struct fixture *f = *state;
    const char *why;

    assert_int_equal(resolve(f), 0);
    assert_true(f->settings.over_allocation_threshold.cpu == 0.99);
    assert_true(f->settings.preemption_threshold.cpu == 1);
    assert_true(f->settings.guard_stall);
    assert_true(nm_settings_cpu_is_guarded(f->config, &f->backend, &why));
    assert_non_null(strstr(why, "cpu.idle"));
    assert_int_equal(nm_settings_notes(f->config, &f->node, &f->backend, &f->settings, &tasks, notes), 8);
    assert_string_equal(notes[3].name, "cpu-threshold");
    assert_string_equal(notes[3].value, "0.99");
    assert_string_equal(notes[4].value, "1");
    assert_string_equal(notes[1].value, "8");
    assert_string_equal(notes[5].section, "queue");
    assert_string_equal(notes[5].value, "375"); /* of the limit of 500 for all users */
    assert_string_equal(notes[6].section, "containers");
    assert_string_equal(notes[6].value, "500"); /* of the limit of 2000 for all users */
    assert_string_equal(notes[7].name, "pids-max");
    assert_string_equal(notes[7].value, "5000");
    assert_non_null(strstr(notes[7].why, "three eighths"));
    for (size_t i = 0; i < NM_ARRAY_SIZE(needed); i++) {
        f->backend.feature[needed[i]] = false;
        assert_int_equal(resolve(f), 0);
        assert_true(f->settings.over_allocation_threshold.cpu == 0.8);
        assert_true(f->settings.preemption_threshold.cpu == 0.95);
        assert_false(f->settings.guard_stall);
        assert_false(nm_settings_cpu_is_guarded(f->config, &f->backend, &why));
        assert_non_null(strstr(why, "low: "));
        f->backend.feature[needed[i]] = true;
    }
    f->config->squeeze = false;
    assert_int_equal(resolve(f), 0);
    assert_true(f->settings.preemption_threshold.cpu == 0.95);
    f->config->squeeze = true;
    f->config->stall_margin = 1;
    assert_int_equal(resolve(f), 0);
    assert_true(f->settings.preemption_threshold.cpu == 0.95);
    f->config->stall_margin = 0.1;
    f->config->preemption_threshold.cpu = 0.9; /* a configured value is used and needs no note */
    assert_int_equal(resolve(f), 0);
    assert_true(f->settings.preemption_threshold.cpu == 0.9);
    assert_true(f->settings.over_allocation_threshold.cpu == 0.8);
    assert_int_equal(nm_settings_notes(f->config, &f->node, &f->backend, &f->settings, &tasks, notes), 7);
    f->config->queue_max_per_user = f->config->max_per_user = 3;
    f->config->pids_max = 100;
    assert_int_equal(nm_settings_notes(f->config, &f->node, &f->backend, &f->settings, &tasks, notes), 4);
}

int main(void)
{
#define WITH_FIXTURE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(test_the_limit_of_tasks_follows_the_size_of_the_node),
        WITH_FIXTURE(test_the_automatic_reserve_follows_the_size_of_the_node),
        WITH_FIXTURE(test_capacity_and_reserve_add_up_to_the_whole_node),
        WITH_FIXTURE(test_a_capacity_above_the_node_is_refused),
        WITH_FIXTURE(test_without_a_sample_the_capacity_is_unknown),
        WITH_FIXTURE(test_the_cpu_capacity_follows_the_number_of_cpus),
        WITH_FIXTURE(test_vcores_are_shares_of_the_cpus),
        WITH_FIXTURE(test_the_automatic_cpu_thresholds_depend_on_features_of_the_kernel),
        WITH_FIXTURE(test_a_feature_needs_support_of_the_backend_and_the_configuration),
        WITH_FIXTURE(test_the_other_settings_have_the_values_of_the_configuration),
        WITH_FIXTURE(test_a_configured_capacity_shrinks_with_the_node),
        WITH_FIXTURE(test_a_size_set_by_an_upstream_is_limited_by_the_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
