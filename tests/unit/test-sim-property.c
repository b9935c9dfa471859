/* SPDX-License-Identifier: Apache-2.0 */

/* Complete replays: with each order of victims, no generated workload breaks a rule of the policy, each job ends in
 * exactly one way, and the same input produces the same history. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/generate.h"
#include "sim/replay.h"

/* With the sanitizers a replay takes four times as long. */
#ifdef __SANITIZE_ADDRESS__
#define SEEDS 1
#else
#define SEEDS 3
#endif

static struct nm_workload *generated(enum nm_generate_kind kind, uint64_t seed, uint64_t minutes)
{
    struct nm_generate_params p = NM_GENERATE_DEFAULTS;
    struct nm_workload *w;

    p.kind = kind;
    p.seed = seed;
    p.duration_usec = minutes * 60 * NM_USEC_PER_SEC;
    assert_int_equal(nm_generate(&p, &w), 0);
    return w;
}

static void replay(const struct nm_workload *w, const struct nm_config *c,
                   struct nm_sim_result *ret)
{
    char *message = NULL;
    int r = nm_sim_run(w, c, "case", NULL, NULL, ret, &message);

    if (r < 0)
        fail_msg("%s", message ? message : strerror(-r));
}

static void assert_sane(const struct nm_workload *w, const struct nm_sim_result *r)
{
    uint64_t all = 0, kills = 0;

    if (r->n_violations > 0)
        fail_msg("%s: %s", w->title, r->first_violation);
    for (int t = 0; t < 2; t++) {
        const struct nm_sim_jobs *j = &r->jobs[t];

        all += j->submitted;
        kills += j->preempted;
        assert_int_equal(j->submitted, j->refused + j->done + j->preempted + j->oom + j->limit +
                                           j->running + j->waiting);
        assert_true(j->slowdown_mean >= 1 || j->done == 0);
    }
    assert_int_equal(all, w->n_jobs);
    /* A kill may not have ended yet, or the kernel may have killed the container first. */
    assert_true(kills <= r->n_kills);
    assert_int_equal(r->jobs[NM_GUARANTEED].preempted, 0);
    assert_true(r->n_rounds >= w->duration_usec / r->period_usec);
    assert_true(r->memory_mean <= r->memory_most && r->memory_mean > 0);
    assert_true(r->cpu_mean > 0 && r->cpu_mean <= 1.001);
}

static void test_replays_break_no_rule(void **state)
{
    struct nm_sim_result *r = calloc(1, sizeof *r);

    (void)state;
    assert_non_null(r);
    for (int k = 0; k < NM_GENERATE_COUNT; k++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct nm_workload *w = generated((enum nm_generate_kind)k, seed, 90);

            for (int v = NM_VICTIM_REVERSE_ARRIVAL; v <= NM_VICTIM_APP_FAIR; v++)
                for (int how = 0; how < 4; how++) {
                    w->config->victim_order = (enum nm_victim_order)v;
                    w->config->queue_order = (enum nm_queue_order)((v + how) % 4);
                    w->config->pause = how != 1;
                    w->config->squeeze = how != 2;
                    w->config->growth_probe = how != 2;
                    w->config->over_allocation = how != 3;
                    replay(w, w->config, r);
                    assert_sane(w, r);
                }
            nm_workload_free(w);
        }
    free(r);
}

static void test_the_same_input_has_the_same_history(void **state)
{
    struct nm_workload *w = generated(NM_GENERATE_ADVERSARIAL, 4, 120);
    struct nm_sim_result *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);

    (void)state;
    assert_true(a && b);
    replay(w, w->config, a);
    replay(w, w->config, b);
    assert_true(a->n_kills > 0 && a->n_pauses > 0 && a->rounds[NM_TRIGGER_PRESSURE] > 0);
    a->spent_usec = b->spent_usec = 0;
    assert_memory_equal(a, b, sizeof *a);
    free(a);
    free(b);
    nm_workload_free(w);
}

/* With over-allocation more work is done, and with a higher alpha more than with a lower alpha. */
static void test_over_allocation_completes_more_work(void **state)
{
    struct nm_workload *w = generated(NM_GENERATE_STEADY, 1, 240);
    struct nm_sim_result *off = calloc(1, sizeof *off), *timid = calloc(1, sizeof *timid),
                         *bold = calloc(1, sizeof *bold);

    (void)state;
    assert_true(off && timid && bold);
    w->config->over_allocation = false;
    replay(w, w->config, off);
    w->config->over_allocation = true;
    w->config->over_allocation_threshold = (struct nm_fractions){0.5, 0.5};
    replay(w, w->config, timid);
    w->config->over_allocation_threshold = (struct nm_fractions){0.9, 0.9};
    replay(w, w->config, bold);
    assert_true(nm_sim_useful_work(timid) > nm_sim_useful_work(off));
    /* The mean wait is longest without over-allocation, although the fewest jobs are admitted without it. */
    assert_true(off->jobs[NM_OPPORTUNISTIC].wait_mean_usec > timid->jobs[NM_OPPORTUNISTIC].wait_mean_usec);
    assert_true(timid->jobs[NM_OPPORTUNISTIC].wait_mean_usec > bold->jobs[NM_OPPORTUNISTIC].wait_mean_usec);
    assert_true(nm_sim_useful_work(bold) > 1.2 * nm_sim_useful_work(timid));
    /* Interference through shared resources is part of the model. The slowdown must not exceed it. */
    assert_true(bold->jobs[NM_GUARANTEED].slowdown_mean < 1.02 + NM_SIM_INTERFERENCE);
    assert_int_equal(bold->oom_guaranteed, 0);
    free(off);
    free(timid);
    free(bold);
    nm_workload_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replays_break_no_rule),
        cmocka_unit_test(test_the_same_input_has_the_same_history),
        cmocka_unit_test(test_over_allocation_completes_more_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
