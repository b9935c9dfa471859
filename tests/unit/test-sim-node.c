/* SPDX-License-Identifier: Apache-2.0 */

/* sim/sim-node*.c: the arithmetic of the simulated node. The test makes all decisions itself, instead of the policy.
 * The node has 4 CPUs, 1000 MiB and no reserve. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/sim-node.h"

#define SEC NM_USEC_PER_SEC

struct fixture {
    struct nm_workload *load;
    struct nm_sim_node *w;
    uint32_t kernel_kills; /* number of rounds in which the policy was informed of OOM kills by the kernel */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f || nm_workload_new(&f->load) < 0)
        return -1;
    f->load->header.period_usec = f->load->config->period_usec = SEC;
    f->load->header.memory_bytes = f->load->config->memory_bytes = 1000 * NM_MIB;
    f->load->config->system_reserved_memory_bytes = 0;
    f->load->header.swap_bytes = 100 * NM_MIB;
    f->load->header.n_cpus = 4;
    for (int i = 0; i < NM_CGROUP_FEATURE_COUNT; i++)
        f->load->header.feature[i] = true;
    f->load->duration_usec = 100 * SEC;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    nm_sim_node_free(f->w);
    nm_workload_free(f->load);
    free(f);
    return 0;
}

/* Adds a job whose use always equals its request. */
static void add(struct fixture *f, enum nm_execution_type type, uint64_t mib, uint32_t millicores,
                uint64_t run_sec)
{
    struct nm_sim_job job = {
        .type = type,
        .request = {mib * NM_MIB, 1000},
        .run_usec = run_sec * SEC,
        .end = NM_SIM_JOB_DONE,
        .started = true,
    };
    size_t i;

    assert_int_equal(nm_curve_add(&job.curve, &(struct nm_use){0, mib * NM_MIB, millicores}), 0);
    assert_int_equal(nm_workload_add_job(f->load, &job, &i), 0);
    f->load->jobs[i].number = i + 1;
}

/* Submits the jobs. The simulator's policy makes no decisions here. */
static void begin(struct fixture *f)
{
    char *message = NULL;

    assert_int_equal(nm_workload_finish(f->load), 0);
    assert_int_equal(nm_sim_node_new(f->load, f->load->config, &f->w, &message), 0);
    assert_true(nm_sim_node_advance(f->w, f->w->begin_usec) >= 0);
    f->w->interference = 0; /* so that all times are whole numbers */
}

static void decide(struct fixture *f, const struct nm_policy_action *actions, size_t n,
                   uint64_t squeeze)
{
    struct nm_policy_verdict v = {.actions = actions,
                                  .n_actions = n,
                                  .squeeze_millicores = squeeze,
                                  .wake_usec = UINT64_MAX};

    nm_sim_node_act(f->w, &v);
}

static void act(struct fixture *f, enum nm_action_type type, size_t job)
{
    struct nm_policy_action a = {
        .type = type, .target = &f->w->all[job].view, .reason = NM_REASON_MEMORY_OVER_BETA};

    a.predicted.memory_bytes = 10 * NM_MIB;
    decide(f, &a, 1, f->w->squeeze_millicores);
}

static void until(struct fixture *f, uint64_t usec)
{
    uint64_t to = f->w->begin_usec + usec;

    while (f->w->now_usec < to) {
        uint64_t next = nm_sim_node_next(f->w);
        int r;

        assert_true(next >= f->w->now_usec);
        r = nm_sim_node_advance(f->w, NM_MIN(next, to));
        assert_true(r >= 0);
        f->kernel_kills += r > 0 ? f->w->input.kernel_kills : 0;
    }
    nm_sim_node_settle(f->w);
}

static const struct nm_sim_container *job(const struct fixture *f, size_t i)
{
    return &f->w->all[i];
}

static void test_a_container_alone_ends_after_its_run_time(void **state)
{
    struct fixture *f = *state;

    add(f, NM_OPPORTUNISTIC, 100, 700, 10);
    begin(f);
    assert_int_equal(job(f, 0)->view.state, NM_SCHEDULED);
    until(f, 2 * SEC); /* no job has been admitted yet */
    assert_int_equal(f->w->memory_bytes, 0);
    act(f, NM_ACTION_ADMIT, 0);
    until(f, 2 * SEC + 100000); /* launching a container takes one step */
    assert_int_equal(job(f, 0)->view.state, NM_RUNNING);
    assert_int_equal(f->w->memory_bytes, 100 * NM_MIB);
    until(f, 7 * SEC + 100000);
    assert_int_equal(job(f, 0)->progress_usec, 5 * SEC);
    assert_int_equal(job(f, 0)->cpu_work, 5 * SEC * 700);
    assert_int_equal(job(f, 0)->view.measured.cpu_millicores, 700);
    assert_int_equal(job(f, 0)->view.measured.memory_bytes, 100 * NM_MIB);
    until(f, 12 * SEC);
    assert_int_equal(job(f, 0)->end, NM_SIM_LIVE);
    until(f, 12 * SEC + 100000);
    assert_int_equal(job(f, 0)->end, NM_SIM_DONE);
    assert_int_equal(f->w->memory_bytes, 0);
    assert_int_equal(f->w->got_millicores, 0);
    assert_int_equal(f->w->n_live, 0);
}

/* The guaranteed container uses 3 of 4 CPUs. The two opportunistic containers want 2 CPUs and share 1, so they run at
 * half speed. */
static void test_guaranteed_containers_get_cpu_first(void **state)
{
    struct fixture *f = *state;

    add(f, NM_GUARANTEED, 10, 3000, 50);
    add(f, NM_OPPORTUNISTIC, 10, 1000, 50);
    add(f, NM_OPPORTUNISTIC, 10, 1000, 50);
    begin(f);
    for (size_t i = 0; i < 3; i++)
        act(f, NM_ACTION_ADMIT, i);
    until(f, 10 * SEC + 100000);
    assert_int_equal(job(f, 0)->progress_usec, 10 * SEC);
    for (size_t i = 1; i < 3; i++) {
        assert_in_range(job(f, i)->got, 499, 500);
        assert_in_range(job(f, i)->progress_usec, 10 * SEC / 2 * 99 / 100, 10 * SEC / 2);
    }
    assert_in_range(f->w->got_millicores, 3998, 4000);
    /* After the guaranteed container has ended, both opportunistic containers get all the CPU that they want. */
    until(f, 51 * SEC);
    assert_int_equal(job(f, 0)->end, NM_SIM_DONE);
    assert_int_equal(job(f, 1)->got, 1000);
    assert_int_equal(job(f, 2)->got, 1000);
}

/* A container that wants little CPU gets it. The other containers share the remaining CPU. */
static void test_no_container_gets_more_than_it_wants(void **state)
{
    struct fixture *f = *state;

    add(f, NM_GUARANTEED, 10, 200, 50);
    add(f, NM_GUARANTEED, 10, 3000, 50);
    add(f, NM_GUARANTEED, 10, 3000, 50);
    begin(f);
    for (size_t i = 0; i < 3; i++)
        act(f, NM_ACTION_ADMIT, i);
    until(f, SEC);
    assert_int_equal(job(f, 0)->got, 200);
    assert_in_range(job(f, 1)->got, 1898, 1900);
    assert_in_range(job(f, 2)->got, 1898, 1900);
}

static void test_a_squeeze_limits_opportunistic_containers(void **state)
{
    struct fixture *f = *state;

    add(f, NM_GUARANTEED, 10, 1000, 50);
    add(f, NM_OPPORTUNISTIC, 10, 900, 50);
    add(f, NM_OPPORTUNISTIC, 10, 100, 50);
    begin(f);
    for (size_t i = 0; i < 3; i++)
        act(f, NM_ACTION_ADMIT, i);
    until(f, SEC);
    decide(f, NULL, 0, 600); /* 300 for each container, in proportion to the requests */
    assert_int_equal(job(f, 0)->got, 1000);
    assert_int_equal(job(f, 1)->got, 300);
    assert_int_equal(job(f, 2)->got, 100);
    decide(f, NULL, 0, NM_NO_SQUEEZE);
    assert_int_equal(job(f, 1)->got, 900);
}

static void test_a_paused_container_makes_no_progress(void **state)
{
    struct fixture *f = *state;
    uint64_t progress;

    add(f, NM_OPPORTUNISTIC, 100, 1000, 20);
    begin(f);
    act(f, NM_ACTION_ADMIT, 0);
    until(f, 5 * SEC);
    act(f, NM_ACTION_PAUSE, 0);
    progress = job(f, 0)->progress_usec;
    assert_int_equal(progress, 5 * SEC - 100000);
    assert_int_equal(job(f, 0)->view.last_cpu_millicores, 1000);
    until(f, 30 * SEC);
    assert_int_equal(job(f, 0)->view.state, NM_PAUSED);
    assert_int_equal(job(f, 0)->view.pause_deadline_usec,
                     f->w->begin_usec + 5 * SEC + f->w->settings.pause_deadline_usec);
    assert_int_equal(job(f, 0)->progress_usec, progress);
    assert_int_equal(f->w->memory_bytes, 100 * NM_MIB);
    assert_int_equal(f->w->got_millicores, 0);
    act(f, NM_ACTION_RECLAIM, 0);
    assert_int_equal(f->w->memory_bytes, 90 * NM_MIB);
    assert_int_equal(f->w->swapped_bytes, 10 * NM_MIB);
    act(f, NM_ACTION_RESUME, 0);
    until(f, 31 * SEC);
    assert_int_equal(job(f, 0)->view.state, NM_RUNNING);
    assert_int_equal(f->w->memory_bytes, 100 * NM_MIB);
    assert_int_equal(f->w->swapped_bytes, 0);
    /* One step for the thaw, and one step for the memory to come back from swap. */
    assert_int_equal(job(f, 0)->swapping_in_usec, 100000);
    assert_int_equal(job(f, 0)->progress_usec, progress + 31 * SEC - 30 * SEC - 200000);
}

/* While memory comes back from swap, the container makes no progress and its memory grows gradually. */
static void test_memory_in_swap_returns_slowly(void **state)
{
    struct fixture *f = *state;
    uint64_t progress;

    f->load->header.swap_bytes = 1000 * NM_MIB;
    add(f, NM_OPPORTUNISTIC, 500, 1000, 20);
    begin(f);
    act(f, NM_ACTION_ADMIT, 0);
    until(f, 5 * SEC);
    act(f, NM_ACTION_PAUSE, 0);
    progress = job(f, 0)->progress_usec;
    until(f, 6 * SEC);
    for (int i = 0; i < 30; i++) /* the memory comes back in pieces of 10 MiB */
        act(f, NM_ACTION_RECLAIM, 0);
    assert_int_equal(f->w->swapped_bytes, 300 * NM_MIB);
    act(f, NM_ACTION_RESUME, 0);
    until(f, 7 * SEC);
    nm_sim_node_sample(f->w);
    assert_int_equal(job(f, 0)->view.state, NM_RUNNING);
    assert_int_equal(job(f, 0)->view.measured.memory_bytes, 290 * NM_MIB);
    assert_int_equal(job(f, 0)->view.swapped_bytes, 210 * NM_MIB);
    assert_int_equal(f->w->got_millicores, 0);
    assert_int_equal(job(f, 0)->progress_usec, progress);
    until(f, 10 * SEC);
    assert_int_equal(f->w->memory_bytes, 500 * NM_MIB);
    assert_int_equal(job(f, 0)->swapping_in_usec, 3 * SEC);
    assert_int_equal(job(f, 0)->progress_usec, progress + 10 * SEC - 9 * SEC - 100000);
}

/* Starts and ends of other containers change the speed of the node. The time in which memory comes back from swap is
 * unchanged. */
static void test_other_containers_do_not_delay_memory_that_returns_from_swap(void **state)
{
    struct fixture *f = *state;

    f->load->header.swap_bytes = 1000 * NM_MIB;
    add(f, NM_GUARANTEED, 500, 1000, 50);
    add(f, NM_OPPORTUNISTIC, 10, 2000, 50);
    begin(f);
    f->w->interference = 0.2;
    act(f, NM_ACTION_ADMIT, 0);
    until(f, 5 * SEC);
    act(f, NM_ACTION_PAUSE, 0);
    until(f, 6 * SEC);
    for (int i = 0; i < 30; i++) /* the memory comes back in pieces of 10 MiB */
        act(f, NM_ACTION_RECLAIM, 0);
    act(f, NM_ACTION_RESUME, 0);
    until(f, 7 * SEC);
    assert_int_equal(f->w->swapped_bytes, 210 * NM_MIB);
    act(f, NM_ACTION_ADMIT, 1);
    until(f, 10 * SEC);
    assert_true(f->w->speed < 1);
    assert_int_equal(f->w->swapped_bytes, 0);
    assert_int_equal(job(f, 0)->swapping_in_usec, 3 * SEC);
}

static void test_a_killed_container_holds_memory_until_it_ends(void **state)
{
    struct fixture *f = *state;

    add(f, NM_OPPORTUNISTIC, 100, 1000, 20);
    begin(f);
    act(f, NM_ACTION_ADMIT, 0);
    until(f, 5 * SEC);
    act(f, NM_ACTION_KILL, 0);
    assert_int_equal(job(f, 0)->view.state, NM_KILLING);
    assert_int_equal(f->w->memory_bytes, 100 * NM_MIB);
    until(f, 5 * SEC + 100000);
    assert_int_equal(f->w->memory_bytes, 0);
    assert_int_equal(job(f, 0)->end, NM_SIM_PREEMPTED);
    assert_int_equal(job(f, 0)->cpu_work, (5 * SEC - 100000) * 1000);
}

/* Use is 1100 of 1000 MiB. The kernel kills the opportunistic container that started last. It kills a guaranteed
 * container only if no opportunistic container is left. */
static void test_the_kernel_kills_the_container_started_last(void **state)
{
    struct fixture *f = *state;

    add(f, NM_GUARANTEED, 600, 100, 50);
    add(f, NM_OPPORTUNISTIC, 300, 100, 50);
    add(f, NM_OPPORTUNISTIC, 200, 100, 50);
    begin(f);
    for (size_t i = 0; i < 2; i++)
        act(f, NM_ACTION_ADMIT, i);
    until(f, SEC);
    act(f, NM_ACTION_ADMIT, 2);
    until(f, 2 * SEC);
    assert_int_equal(job(f, 2)->end, NM_SIM_OOM);
    assert_int_equal(job(f, 1)->end, NM_SIM_LIVE);
    assert_int_equal(f->w->memory_bytes, 900 * NM_MIB);
    assert_int_equal(f->w->guaranteed_oom, 0);
    assert_int_equal(f->kernel_kills, 1); /* the policy is informed once of the OOM kill */
}

static void test_each_container_stays_within_its_own_limit(void **state)
{
    struct fixture *f = *state;

    add(f, NM_OPPORTUNISTIC, 100, 100, 50);
    assert_int_equal(nm_curve_add(&f->load->jobs[0].curve, &(struct nm_use){5 * SEC, 101 * NM_MIB, 100}), 0);
    begin(f);
    act(f, NM_ACTION_ADMIT, 0);
    until(f, 4 * SEC);
    assert_int_equal(job(f, 0)->end, NM_SIM_LIVE);
    until(f, 6 * SEC);
    assert_int_equal(job(f, 0)->end, NM_SIM_LIMIT);
    assert_int_equal(f->kernel_kills, 0); /* the node had enough memory, although a container exceeded its limit */
    assert_int_equal(f->w->memory_bytes, 0);
}

/* Half of the CPUs run opportunistic containers, so half of the interference of 0.2 applies. */
static void test_interference_through_caches_slows_containers(void **state)
{
    struct fixture *f = *state;

    add(f, NM_GUARANTEED, 10, 1000, 50);
    add(f, NM_OPPORTUNISTIC, 10, 2000, 50);
    begin(f);
    f->w->interference = 0.2;
    act(f, NM_ACTION_ADMIT, 0);
    act(f, NM_ACTION_ADMIT, 1);
    until(f, 10 * SEC + 100000);
    nm_sim_node_settle(f->w);
    assert_in_range(job(f, 0)->progress_usec, 9 * SEC, 9 * SEC + 200000);
    assert_int_equal(job(f, 1)->progress_usec, 10 * SEC);
}

static void test_without_limits_a_guaranteed_container_is_killed(void **state)
{
    struct fixture *f = *state;

    add(f, NM_GUARANTEED, 600, 100, 50);
    add(f, NM_GUARANTEED, 300, 100, 50);
    f->load->jobs[1].curve.points[0].memory_bytes = 500 * NM_MIB; /* the use is more than the request */
    begin(f);
    f->w->settings.memory_limits = false;
    for (size_t i = 0; i < 2; i++)
        act(f, NM_ACTION_ADMIT, i);
    until(f, SEC);
    assert_int_equal(f->w->guaranteed_oom, 1);
    assert_int_equal(job(f, 0)->end, NM_SIM_OOM);
    assert_int_equal(job(f, 1)->end, NM_SIM_LIVE);
}

/* If a paused container ends without a resume, the time since the pause counts as paused time. */
static void test_pauses_end_with_the_container(void **state)
{
    struct fixture *f = *state;

    add(f, NM_GUARANTEED, 600, 100, 50);
    add(f, NM_OPPORTUNISTIC, 100, 100, 50);
    add(f, NM_OPPORTUNISTIC, 100, 100, 50);
    assert_int_equal(nm_curve_add(&f->load->jobs[0].curve,
                                  &(struct nm_use){20 * SEC, 950 * NM_MIB, 100}),
                     0);
    begin(f);
    f->w->settings.memory_limits = false;
    for (size_t i = 0; i < 3; i++)
        act(f, NM_ACTION_ADMIT, i);
    until(f, 5 * SEC);
    act(f, NM_ACTION_PAUSE, 1);
    act(f, NM_ACTION_PAUSE, 2);
    until(f, 10 * SEC);
    act(f, NM_ACTION_KILL, 1);
    until(f, 10 * SEC + 100000);
    assert_int_equal(job(f, 1)->end, NM_SIM_PREEMPTED);
    assert_int_equal(job(f, 1)->paused_total_usec, 5 * SEC + 100000);
    until(f, 15 * SEC);
    assert_int_equal(job(f, 2)->end, NM_SIM_LIVE);
    until(f, 25 * SEC); /* meanwhile the guaranteed container has grown, so the kernel kills a container */
    assert_int_equal(job(f, 2)->end, NM_SIM_OOM);
    assert_in_range(job(f, 2)->paused_total_usec, 14 * SEC, 16 * SEC);
}

/* When memory grows over beta between two samples, a round runs before the next sample. */
static void test_growth_of_memory_is_noticed(void **state)
{
    struct fixture *f = *state;
    struct nm_use more = {2500000, 960 * NM_MIB, 100};
    struct nm_policy_verdict v = {.squeeze_millicores = NM_NO_SQUEEZE, .wake_usec = UINT64_MAX};
    bool noticed = false;

    add(f, NM_OPPORTUNISTIC, 100, 100, 50);
    assert_int_equal(nm_curve_add(&f->load->jobs[0].curve, &more), 0);
    begin(f);
    f->w->settings.memory_limits = false;
    act(f, NM_ACTION_ADMIT, 0);
    v.allocated_opportunistic.memory_bytes = 100 * NM_MIB;
    v.in_use.memory_bytes = 100 * NM_MIB;
    while (f->w->now_usec < f->w->begin_usec + 3 * SEC) {
        uint64_t since = nm_sim_node_next(f->w) - f->w->begin_usec;

        if (nm_sim_node_advance(f->w, nm_sim_node_next(f->w)) > 0) {
            noticed = noticed || (f->w->input.trigger == NM_TRIGGER_PRESSURE && since % SEC != 0 &&
                                  f->w->input.node.at_usec == f->w->now_usec);
            nm_sim_node_act(f->w, &v);
        }
    }
    assert_true(noticed);
}

static void test_refused_containers_are_removed(void **state)
{
    struct fixture *f = *state;

    add(f, NM_GUARANTEED, 900, 100, 50);
    add(f, NM_GUARANTEED, 200, 100, 50);
    add(f, NM_OPPORTUNISTIC, 2000, 100, 50);
    begin(f);
    assert_int_equal(job(f, 1)->end, NM_SIM_REFUSED);
    assert_int_equal(job(f, 2)->end, NM_SIM_REFUSED);
    assert_int_equal(f->w->n_live, 1);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_container_alone_ends_after_its_run_time),
        TEST(test_guaranteed_containers_get_cpu_first),
        TEST(test_no_container_gets_more_than_it_wants),
        TEST(test_a_squeeze_limits_opportunistic_containers),
        TEST(test_a_paused_container_makes_no_progress),
        TEST(test_memory_in_swap_returns_slowly),
        TEST(test_other_containers_do_not_delay_memory_that_returns_from_swap),
        TEST(test_a_killed_container_holds_memory_until_it_ends),
        TEST(test_the_kernel_kills_the_container_started_last),
        TEST(test_each_container_stays_within_its_own_limit),
        TEST(test_interference_through_caches_slows_containers),
        TEST(test_without_limits_a_guaranteed_container_is_killed),
        TEST(test_pauses_end_with_the_container),
        TEST(test_growth_of_memory_is_noticed),
        TEST(test_refused_containers_are_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
