/* SPDX-License-Identifier: Apache-2.0 */

/* The orders in which victims are chosen, the number of victims, and the squeeze. */

#include "tests/unit/policy-fixture.h"

#define G NM_GUARANTEED
#define O NM_OPPORTUNISTIC
#define N_VICTIMS_MAX 6

struct victim {
    double memory;
    unsigned work; /* seconds of CPU time */
    unsigned app;
    bool protected;
};

#define LATEST NM_VICTIM_REVERSE_ARRIVAL
#define LEAST_WORK NM_VICTIM_LEAST_WORK_LOST
#define FEWEST NM_VICTIM_FEWEST_VICTIMS
#define FAIR NM_VICTIM_APP_FAIR

/* Percent of the memory that the container holds; seconds of CPU time; application; protection by the minimum run
 * time. */
#define H(percent) {(percent), 0, 0, false}
#define W(percent, seconds) {(percent), (seconds), 0, false}
#define A(percent, app) {(percent), 0, (app), false}
#define P(percent) {(percent), 0, 0, true}

static void test_each_order_chooses_its_victims(void **state)
{
    static const struct {
        const char *what;
        enum nm_victim_order order;
        double need;
        size_t n_victims;
        struct victim victims[N_VICTIMS_MAX]; /* victims in the order of their arrival */
        const char *killed;                   /* indexes of the killed containers */
    } cases[] = {
        {"the container started last is killed first", LATEST, 5, 3, {H(10), H(10), H(10)}, "2"},
        {"as many victims as needed", LATEST, 15, 3, {H(10), H(10), H(10)}, "12"},
        {"victims that free exactly enough", LATEST, 20, 3, {H(10), H(10), H(10)}, "12"},
        {"a victim that is not needed in the end is spared", LATEST, 15, 3, {H(20), H(10), H(1)}, "0"},
        {"all containers, if even all do not suffice", LATEST, 90, 3, {H(10), H(10), H(10)}, "012"},
        {"containers without memory to free are skipped", LATEST, 5, 4, {H(10), H(10), H(0), H(0.009)}, "1"},
        {"protected containers are last", LATEST, 15, 3, {H(10), H(10), P(10)}, "01"},
        {"protected containers if the others do not suffice", LATEST, 25, 3, {H(10), H(10), P(10)}, "012"},
        {"an unprotected container that is too small is spared", LATEST, 25, 2, {H(1), P(30)}, "1"},
        {"the container with the least work", LEAST_WORK, 5, 3, {W(10, 30), W(10, 10), W(10, 20)}, "1"},
        {"the two containers with the least work", LEAST_WORK, 15, 3, {W(10, 30), W(10, 10), W(10, 20)}, "12"},
        {"equal work: the container started last", LEAST_WORK, 5, 3, {W(10, 10), W(10, 10), W(10, 20)}, "1"},
        {"one large victim instead of two", FEWEST, 20, 3, {H(25), H(15), H(15)}, "0"},
        {"the smallest victim that suffices", FEWEST, 10, 4, {H(30), H(12), H(20), H(9)}, "1"},
        {"two victims with the least excess", FEWEST, 35, 5, {H(30), H(12), H(20), H(4), H(6)}, "04"},
        {"fewest victims, protected containers spared", FEWEST, 20, 3, {P(25), H(15), H(15)}, "12"},
        {"fewest victims, all needed", FEWEST, 90, 3, {H(5), H(15), H(10)}, "012"},
        {"the application that holds most memory", FAIR, 5, 3, {A(10, 0), A(10, 0), A(15, 1)}, "1"},
        {"after one kill another application holds most memory", FAIR, 20, 3, {A(10, 0), A(10, 0), A(15, 1)}, "12"},
        {"an application with three containers", FAIR, 18, 4, {A(10, 0), A(10, 0), A(10, 0), A(9, 1)}, "12"},
        {"an application that the policy does not know", FAIR, 5, 3, {A(10, 77), A(10, 77), A(15, 1)}, "1"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_policy_container *o[N_VICTIMS_MAX];
        char killed[N_VICTIMS_MAX + 1] = "";
        size_t n_killed = 0;
        void *own = NULL;
        struct node *n;

        node_setup(&own);
        n = own;
        n->settings.victim_order = cases[i].order;
        for (size_t k = 0; k < cases[i].n_victims; k++) {
            const struct victim *v = &cases[i].victims[k];

            o[k] = node_run(n, O, v->memory, 1);
            o[k]->cpu_usage_usec = SECONDS(v->work);
            o[k]->app = v->app;
            o[k]->min_runtime_usec = v->protected ? SECONDS(600) : 0;
            n->system_memory -= v->memory;
        }
        n->system_memory += 95 + cases[i].need;
        node_sample(n);
        for (size_t k = 0; k < cases[i].n_victims; k++)
            if (node_action(n, o[k]))
                killed[n_killed++] = (char)('0' + k);
        if (strcmp(killed, cases[i].killed) != 0)
            fail_msg("%s: killed \"%s\", not \"%s\"", cases[i].what, killed, cases[i].killed);
        node_teardown(&own);
    }
}

static void test_each_candidate_is_listed_with_the_reason_of_its_choice(void **state)
{
    static const enum nm_passed_over expected[] = {NM_PASSED_EXEMPT, NM_PASSED_GIVES_NOTHING,
                                                   NM_PASSED_NOT, NM_PASSED_NOT_NEEDED,
                                                   NM_PASSED_MIN_RUNTIME};
    struct node *n = *state;
    struct nm_policy_container *protected = node_run(n, O, 20, 1);
    const struct nm_policy_action *a;

    (void)node_run(n, O, 20, 1);
    a = NULL;
    protected->min_runtime_usec = SECONDS(600);
    struct nm_policy_container *victim = node_run(n, O, 20, 1);
    (void)node_run(n, O, 0, 1);
    node_run(n, O, 20, 1)->exempt = true;
    n->system_memory = 16;
    node_sample(n);
    a = node_action(n, victim);
    assert_non_null(a);
    assert_int_equal(a->n_candidates, NM_ARRAY_SIZE(expected));
    for (uint32_t i = 0; i < a->n_candidates; i++)
        assert_int_equal(n->verdict.candidates[a->first_candidate + i].passed_over, expected[i]);
}

/* ---- squeeze --------------------------------------------------------------------------------- */

/* Each opportunistic container uses as much CPU as it wants, within the quota. */
static void use_within_quota(struct node *n, struct nm_policy_container *o, double share)
{
    uint64_t quota = n->verdict.squeeze_millicores, wanted = (uint64_t)(share * (double)PERCENT_CPU);

    o->measured.cpu_millicores = NM_MIN(quota, wanted);
}

static void test_cpu_over_beta_causes_a_squeeze_first_and_its_quota_converges(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 10, 20), *o = node_run(n, O, 10, 60);
    uint64_t quota;

    n->settings.can_squeeze = true;
    node_sample(n);
    assert_true(n->verdict.squeeze_millicores == NM_NO_SQUEEZE);
    node_use(g, 10, 50);
    node_sample(n);
    /* U is 110 %, and over beta in one sample. The quota is the middle of 80 and 95, minus 50. */
    assert_int_equal(n->verdict.squeeze_millicores, 375 * PERCENT_CPU / 10);
    assert_int_equal(n->verdict.n_actions, 0);
    quota = n->verdict.squeeze_millicores;
    for (int i = 0; i < 20; i++) {
        use_within_quota(n, o, 60);
        node_sample(n);
        assert_int_equal(n->verdict.squeeze_millicores, quota);
        assert_int_equal(n->verdict.n_actions, 0);
    }
    /* Between alpha and beta the quota stays unchanged. */
    node_use(g, 10, 46);
    node_sample(n);
    assert_int_equal(n->verdict.squeeze_millicores, quota);
    /* When the guaranteed container uses less CPU, the quota is immediately raised to the middle of the thresholds, and
     * removed later. */
    node_use(g, 10, 30);
    use_within_quota(n, o, 60);
    node_sample(n);
    use_within_quota(n, o, 60);
    assert_int_equal(o->measured.cpu_millicores, 575 * PERCENT_CPU / 10);
    node_use(g, 10, 10);
    for (int i = 0; i < 3; i++) {
        use_within_quota(n, o, 60);
        node_sample(n);
    }
    assert_true(n->verdict.squeeze_millicores == NM_NO_SQUEEZE);
}

static void test_a_squeeze_at_its_lowest_quota_is_followed_by_a_pause(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *o[2];

    n->settings.can_squeeze = true;
    (void)node_run(n, G, 10, 96);
    for (size_t i = 0; i < 2; i++)
        o[i] = node_run(n, O, 5, 2);
    node_sample(n);
    assert_int_equal(n->verdict.squeeze_millicores, 2 * n->settings.squeeze_floor_millicores);
    for (size_t i = 0; i < 2; i++)
        o[i]->measured.cpu_millicores = n->settings.squeeze_floor_millicores;
    node_sample(n);
    node_sample(n);
    assert_int_equal(n->verdict.n_actions, 0);
    node_sample(n);
    assert_int_equal(node_count(n, NM_ACTION_PAUSE), 2);
    node_apply_verdict(n);
    /* No running container was left to be squeezed. */
    node_change(n);
    assert_true(n->verdict.squeeze_millicores == NM_NO_SQUEEZE);
}

static void test_no_container_is_admitted_or_resumed_during_a_squeeze(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *g = node_run(n, G, 10, 60), *o = node_run(n, O, 10, 40), *queued, *paused;

    n->settings.can_squeeze = true;
    node_sample(n);
    assert_true(n->verdict.squeeze_millicores != NM_NO_SQUEEZE);
    queued = node_queue(n, O, 1, 1);
    paused = node_paused(n, 1, 1);
    node_use(g, 10, 40);
    use_within_quota(n, o, 40);
    node_change(n);
    assert_left_alone(n, queued);
    assert_left_alone(n, paused);
    assert_reason(n->verdict.queue_reason, NM_REASON_SQUEEZED);
}

/* If the containers' parts of the quota are uneven, some of the quota isn't used. Raising the quota in proportion to
 * the use must not overshoot. */
static void test_the_quota_of_a_squeeze_does_not_overshoot_if_some_is_unused(void **state)
{
    struct node *n = *state;
    struct nm_policy_container *eager = node_run(n, O, 10, 90);
    int over = 0;

    (void)node_run(n, O, 10, 0); /* this container has the other half of the quota and doesn't use it */
    n->settings.can_squeeze = true;
    n->system_cpu = 20;
    for (int i = 0; i < 50; i++) {
        node_sample(n);
        over += n->verdict.in_use.cpu_millicores > 95 * PERCENT_CPU;
        if (i >= 3)
            assert_int_equal(n->verdict.in_use.cpu_millicores, 875 * PERCENT_CPU / 10);
        eager->measured.cpu_millicores =
            n->verdict.squeeze_millicores == NM_NO_SQUEEZE
                ? 90 * PERCENT_CPU
                : NM_MIN(90 * PERCENT_CPU, n->verdict.squeeze_millicores / 2);
        }
    assert_int_equal(n->verdict.n_actions, 0);
    assert_int_equal(over, 1);
}

#define WITH_NODE(test) cmocka_unit_test_setup_teardown(test, node_setup, node_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_order_chooses_its_victims),
        WITH_NODE(test_each_candidate_is_listed_with_the_reason_of_its_choice),
        WITH_NODE(test_cpu_over_beta_causes_a_squeeze_first_and_its_quota_converges),
        WITH_NODE(test_a_squeeze_at_its_lowest_quota_is_followed_by_a_pause),
        WITH_NODE(test_no_container_is_admitted_or_resumed_during_a_squeeze),
        WITH_NODE(test_the_quota_of_a_squeeze_does_not_overshoot_if_some_is_unused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
