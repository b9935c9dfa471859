/* SPDX-License-Identifier: Apache-2.0 */

/* nmscale/choose.h: each reason to keep a node, the order in which nodes are given back, and the decision that nodes
 * are needed again. */

#include "nmscale/choose.h"
#include "tests/unit/scale-model.h"

static const struct nm_scale_rules rules = {.idle_for_msec = 60 * SECOND, .min_per_label = 1, .at_most = UINT64_MAX};

struct model {
    struct nm_scale_model model;
    struct nm_scale_memory memory;
    struct nm_scale_verdict *verdicts;
    uint64_t now;
};

static int set_up(void **state)
{
    struct model *w = calloc(1, sizeof *w);

    w->now = 1000 * SECOND;
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct model *w = *state;

    free(w->verdicts);
    nm_scale_model_done(&w->model);
    nm_scale_memory_done(&w->memory);
    free(w);
    return 0;
}

static void observe(struct model *w, uint64_t later)
{
    w->now += later;
    assert_int_equal(nm_scale_memory_update(&w->memory, &w->model, w->now, 600 * SECOND), 0);
}

static void choose(struct model *w, const struct nm_scale_rules *r)
{
    free(w->verdicts);
    w->verdicts = NULL;
    assert_int_equal(nm_scale_choose(&w->model, &w->memory, r, &w->verdicts), 0);
}

static const struct nm_scale_verdict *verdict(const struct model *w, const char *node)
{
    for (size_t i = 0; i < w->model.n_nodes; i++)
        if (nm_streq(w->verdicts[i].node->host, node))
            return &w->verdicts[i];
    fail_msg("no verdict about %s", node);
    return NULL;
}

static void expect(const struct model *w, const char *node, enum nm_scale_reason reason)
{
    const struct nm_scale_verdict *v = verdict(w, node);

    if (v->reason != reason)
        fail_msg("%s: %s, not %s", node, nm_scale_reason_name(v->reason), nm_scale_reason_name(reason));
}

/* Checks that these nodes are given back, in this order: "a b". */
static void expect_given(const struct model *w, const char *names)
{
    char got[512] = "";

    for (size_t i = 0; i < w->model.n_nodes && w->verdicts[i].reason == NM_SCALE_GIVE; i++)
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? " " : "", w->verdicts[i].node->host);
    assert_string_equal(got, names);
}

static void test_a_node_is_removable_after_its_idle_time(void **state)
{
    struct model *w = *state;

    model_node(&w->model, "a");
    observe(w, 0);
    choose(w, &rules);
    expect(w, "a", NM_SCALE_IDLE_SHORT);
    observe(w, 60 * SECOND - 1);
    choose(w, &rules);
    expect(w, "a", NM_SCALE_IDLE_SHORT);
    observe(w, 1);
    choose(w, &rules);
    expect(w, "a", NM_SCALE_GIVE);
    assert_int_equal(verdict(w, "a")->since_msec, 1000 * SECOND);
}

/* The node was used meanwhile, so its idle time begins again. */
static void test_use_of_a_node_restarts_its_idle_time(void **state)
{
    struct model *w = *state;
    struct nm_scale_node *n = model_node(&w->model, "a");

    observe(w, 0);
    model_use(n, 1024, 1);
    observe(w, 50 * SECOND);
    choose(w, &rules);
    expect(w, "a", NM_SCALE_IN_USE);
    n->containers = n->used_mb = n->used_vcores = 0;
    observe(w, 50 * SECOND);
    choose(w, &rules);
    expect(w, "a", NM_SCALE_IDLE_SHORT);
}

static void test_a_long_time_between_observations_restarts_the_idle_time(void **state)
{
    struct model *w = *state;

    model_node(&w->model, "a");
    observe(w, 0);
    observe(w, 600 * SECOND + 1);
    choose(w, &rules);
    expect(w, "a", NM_SCALE_IDLE_SHORT);
}

static void test_a_clock_set_back_restarts_the_idle_time(void **state)
{
    struct model *w = *state;

    model_node(&w->model, "a");
    observe(w, 0);
    w->now -= 500 * SECOND;
    observe(w, 0);
    choose(w, &rules);
    expect(w, "a", NM_SCALE_IDLE_SHORT);
    assert_int_equal(verdict(w, "a")->since_msec, 500 * SECOND);
}

static void test_only_running_nodes_are_given_back(void **state)
{
    static const char *const states[] = {
        "DECOMMISSIONING", "DECOMMISSIONED", "UNHEALTHY", "LOST", "SHUTDOWN", "NEW", "x"};
    struct model *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(states); i++)
        model_set(&model_node(&w->model, states[i])->state, states[i]);
    observe(w, 0);
    observe(w, 100 * SECOND);
    choose(w, &rules);
    for (size_t i = 0; i < NM_ARRAY_SIZE(states); i++)
        expect(w, states[i], NM_SCALE_NOT_RUNNING);
}

/* Each of these figures alone makes a node count as used. Hadoop's REST interface reports them separately. */
static void test_a_node_in_use_is_kept(void **state)
{
    struct model *w = *state;

    model_node(&w->model, "containers")->containers = 1;
    model_node(&w->model, "memory")->used_mb = 1;
    model_node(&w->model, "vcores")->used_vcores = 1;
    model_node(&w->model, "opportunistic")->opportunistic = 1;
    model_node(&w->model, "queued")->queued = 1;
    observe(w, 0);
    observe(w, 100 * SECOND);
    choose(w, &rules);
    for (size_t i = 0; i < w->model.n_nodes; i++)
        assert_int_equal(w->verdicts[i].reason, NM_SCALE_IN_USE);
}

static void test_nodes_that_share_a_host_are_kept(void **state)
{
    struct model *w = *state;

    model_node(&w->model, "a");
    model_set(&model_node(&w->model, "a2")->host, "a");
    model_node(&w->model, "b");
    model_set(&w->model.nodes[model_node(&w->model, "b-old") - w->model.nodes].host, "b");
    model_set(&w->model.nodes[3].state, "LOST");
    observe(w, 0);
    observe(w, 100 * SECOND);
    choose(w, &rules);
    expect(w, "a", NM_SCALE_SHARED_HOST);
    expect_given(w, "b"); /* the lost node "b-old" on the same host doesn't count as another node */
}

static void test_the_least_useful_node_is_given_back_first(void **state)
{
    struct model *w = *state;
    struct nm_scale_node *n;

    model_use(model_node(&w->model, "late"), 1, 1);
    model_node(&w->model, "b");
    model_node(&w->model, "a");
    n = model_node(&w->model, "few");
    n->free_vcores = 4;
    n = model_node(&w->model, "small");
    n->free_mb = 1024;
    observe(w, 0);
    n = &w->model.nodes[0];
    *n = (struct nm_scale_node){.id = n->id, .host = n->host, .http = n->http, .label = n->label, .state = n->state,
                                .free_mb = 10240, .free_vcores = 10};
    observe(w, 10 * SECOND);
    observe(w, 100 * SECOND);
    choose(w, &rules);
    expect_given(w, "small few a b late");
}

static void test_a_minimum_number_of_nodes_is_kept(void **state)
{
    struct model *w = *state;
    struct nm_scale_rules r = rules;

    model_node(&w->model, "a");
    model_node(&w->model, "b");
    model_node(&w->model, "c");
    model_use(model_node(&w->model, "d"), 1024, 1);
    model_set(&model_node(&w->model, "lost")->state, "LOST");
    observe(w, 0);
    observe(w, 100 * SECOND);
    r.min_nodes = 2;
    choose(w, &r);
    expect_given(w, "a b");
    expect(w, "c", NM_SCALE_MIN_NODES);
    r.min_nodes = 4; /* the lost node doesn't count for the minimum */
    choose(w, &r);
    expect_given(w, "");
    r.min_nodes = 0;
    r.at_most = 1;
    choose(w, &r);
    expect_given(w, "a");
    expect(w, "b", NM_SCALE_AT_MOST);
}

static void test_a_minimum_number_of_nodes_is_kept_in_each_partition(void **state)
{
    struct model *w = *state;
    struct nm_scale_rules r = rules;

    for (int i = 0; i < 3; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "g%d", i);
        model_set(&model_node(&w->model, name)->label, "gpu");
    }
    model_node(&w->model, "x");
    observe(w, 0);
    observe(w, 100 * SECOND);
    choose(w, &r);
    expect_given(w, "g0 g1 x");
    expect(w, "g2", NM_SCALE_MIN_LABEL);
    r.min_per_label = 0;
    choose(w, &r);
    expect_given(w, "g0 g1 g2 x");
}

/* Demand in a partition keeps nodes of this partition only. It brings back nodes of this partition that are being given
 * back. */
static void test_demand_counts_only_in_its_partition(void **state)
{
    struct model *w = *state;
    struct nm_scale_rules r = rules;
    const struct nm_scale_capacity g1 = {.id = "g1:1", .label = "gpu"}, x = {.id = "x:1", .label = ""};

    r.min_per_label = 0;
    model_set(&model_node(&w->model, "g0")->label, "gpu");
    model_set(&model_node(&w->model, "g1")->label, "gpu");
    model_node(&w->model, "x");
    w->model.waiting = calloc(1, sizeof *w->model.waiting);
    assert_non_null(w->model.waiting);
    w->model.waiting[0] = (struct nm_scale_waiting){.label = model_copy("gpu"), .mb = 10240, .vcores = 10};
    w->model.n_waiting = 1;
    observe(w, 0);
    observe(w, 100 * SECOND);
    choose(w, &r);
    expect_given(w, "g0 x");
    expect(w, "g1", NM_SCALE_DEMAND);
    assert_false(nm_scale_demand_has_returned(&w->model, &g1, 1)); /* node g0 has room for the demand */
    w->model.waiting[0].vcores++;
    choose(w, &r);
    expect_given(w, "x");
    assert_true(nm_scale_demand_has_returned(&w->model, &g1, 1));
    assert_false(nm_scale_demand_has_returned(&w->model, &x, 1));
}

static void test_a_node_with_data_of_an_application_is_kept(void **state)
{
    struct model *w = *state;

    model_node(&w->model, "a");
    model_node(&w->model, "b");
    observe(w, 0);
    /* the application begins after the first look, so nmscale knows all its nodes */
    model_app(&w->model, "app1", "a:1");
    observe(w, 10 * SECOND);
    nm_scale_words_free(w->model.apps[0].nodes, 1);
    w->model.apps[0].nodes = NULL;
    w->model.apps[0].n_nodes = 0;
    observe(w, 100 * SECOND);
    choose(w, &rules);
    expect(w, "a", NM_SCALE_HAS_DATA);
    assert_string_equal(verdict(w, "a")->app, "app1");
    expect_given(w, "b");
    w->model.n_apps = 0; /* the application has ended */
    observe(w, SECOND);
    w->model.n_apps = 1;
    choose(w, &rules);
    expect_given(w, "a b");
}

/* The application began before nmscale, so nmscale doesn't know on which nodes it has run. */
static void test_a_node_that_may_have_data_is_kept(void **state)
{
    struct model *w = *state;
    struct nm_scale_rules r = rules;

    model_node(&w->model, "a");
    model_app(&w->model, "app1", NULL);
    observe(w, 0);
    observe(w, 100 * SECOND);
    choose(w, &r);
    expect(w, "a", NM_SCALE_UNKNOWN_DATA);
    r.trust_unknown = true;
    choose(w, &r);
    expect_given(w, "a");
}

/* nmscale knows the application from its beginning, but one query about the application failed. */
static void test_after_a_failed_query_a_node_may_have_data(void **state)
{
    struct model *w = *state;

    model_node(&w->model, "a");
    observe(w, 0);
    model_app(&w->model, "app1", NULL);
    observe(w, 10 * SECOND);
    w->model.apps[0].seen = false;
    observe(w, 50 * SECOND);
    w->model.apps[0].seen = true;
    observe(w, 50 * SECOND);
    choose(w, &rules);
    expect(w, "a", NM_SCALE_UNKNOWN_DATA);
}

static void test_an_application_without_containers_keeps_no_node(void **state)
{
    struct model *w = *state;

    model_node(&w->model, "a");
    model_app(&w->model, "app1", NULL)->fresh = true;
    observe(w, 0);
    observe(w, 100 * SECOND);
    choose(w, &rules);
    expect_given(w, "a");
}

static void test_the_report_of_a_node_about_its_data_is_used(void **state)
{
    struct model *w = *state;
    char ended[] = "ended", app1[] = "app1", *kept[] = {ended, app1};
    struct nm_scale_answer answers[] = {
        {.reported = NM_SCALE_REPORTED, .apps = kept, .n_apps = 2},
        {.reported = NM_SCALE_REPORTED, .apps = kept, .n_apps = 1},
        {.reported = NM_SCALE_SILENT},
    };

    model_node(&w->model, "keeps");
    model_node(&w->model, "clear");
    model_node(&w->model, "silent");
    model_app(&w->model, "app1", "clear:1"); /* the node reports that it has no data of the application any more */
    observe(w, 0);
    observe(w, 100 * SECOND);
    w->model.answers = answers;
    choose(w, &rules);
    w->model.answers = NULL;
    expect(w, "keeps", NM_SCALE_HAS_DATA);
    expect(w, "silent", NM_SCALE_NODE_SILENT);
    expect_given(w, "clear");
}

static void test_nodes_that_the_demand_needs_are_kept(void **state)
{
    struct model *w = *state;

    model_node(&w->model, "a");
    model_node(&w->model, "b");
    model_node(&w->model, "c");
    observe(w, 0);
    observe(w, 100 * SECOND);
    w->model.demand = (struct nm_scale_demand){.containers = 15, .mb = 15 * 1024, .vcores = 15};
    choose(w, &rules);
    expect_given(w, "a");
    expect(w, "b", NM_SCALE_DEMAND);
    /* The request is larger than any node, so it keeps no node. */
    w->model.demand = (struct nm_scale_demand){.containers = 1, .mb = 20480, .vcores = 1};
    choose(w, &rules);
    expect_given(w, "a b c");
}

static void test_demand_brings_back_nodes_that_are_being_given_back(void **state)
{
    struct model *w = *state;
    const struct nm_scale_capacity b = {.id = "b:1", .label = "", .mb = 10240, .vcores = 10};

    model_node(&w->model, "a");
    model_set(&model_node(&w->model, "b")->state, "DECOMMISSIONING");
    assert_false(nm_scale_demand_has_returned(&w->model, &b, 1));
    w->model.demand = (struct nm_scale_demand){.containers = 10, .mb = 10240, .vcores = 10};
    assert_false(nm_scale_demand_has_returned(&w->model, &b, 1)); /* node a has room for the demand */
    w->model.demand = (struct nm_scale_demand){.containers = 11, .mb = 11 * 1024, .vcores = 11};
    assert_true(nm_scale_demand_has_returned(&w->model, &b, 1));
    w->model.demand = (struct nm_scale_demand){.containers = 1, .mb = 10241, .vcores = 1};
    assert_false(nm_scale_demand_has_returned(&w->model, &b, 1)); /* node b has no room for the demand either */
    /* node b doesn't count as room for the demand before nmscale has brought it back */
    model_set(&w->model.nodes[1].state, "RUNNING");
    w->model.demand = (struct nm_scale_demand){.containers = 11, .mb = 11 * 1024, .vcores = 11};
    assert_true(nm_scale_demand_has_returned(&w->model, &b, 1));
}

static void test_only_requests_that_fit_a_node_count_as_demand(void **state)
{
    const struct nm_scale_demand none = {0}, odd = {.containers = 3, .mb = 10, .vcores = 3};
    const struct nm_scale_demand no_size = {.containers = 4};

    (void)state;
    assert_int_equal(nm_scale_fits(&none, 100, 100), 0);
    assert_int_equal(nm_scale_fits(&odd, 8, 100), 2); /* 10 / 3 is rounded up to 4 per container */
    assert_int_equal(nm_scale_fits(&odd, 7, 100), 1);
    assert_int_equal(nm_scale_fits(&odd, 1000, 2), 2);
    assert_int_equal(nm_scale_fits(&odd, 1000, 1000), 3);
    assert_int_equal(nm_scale_fits(&no_size, 0, 0), 4);
}

static void test_each_reason_has_a_name_and_a_sentence(void **state)
{
    char word[] = "gpu";
    const struct nm_scale_node n = {.id = word, .state = word, .label = word};
    char text[512];

    (void)state;
    for (unsigned i = 0; i < NM_SCALE_REASONS; i++) {
        const struct nm_scale_verdict v = {.node = &n, .reason = (enum nm_scale_reason)i, .app = "app1"};

        text[0] = '\0';
        assert_true(strlen(nm_scale_reason_text(&v, &rules, 0, text, sizeof text)) > 8);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(nm_scale_reason_name((enum nm_scale_reason)i),
                                    nm_scale_reason_name((enum nm_scale_reason)k));
    }
}

#define FIXTURE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_a_node_is_removable_after_its_idle_time),
        FIXTURE_TEST(test_use_of_a_node_restarts_its_idle_time),
        FIXTURE_TEST(test_a_long_time_between_observations_restarts_the_idle_time),
        FIXTURE_TEST(test_a_clock_set_back_restarts_the_idle_time),
        FIXTURE_TEST(test_only_running_nodes_are_given_back),
        FIXTURE_TEST(test_a_node_in_use_is_kept),
        FIXTURE_TEST(test_nodes_that_share_a_host_are_kept),
        FIXTURE_TEST(test_the_least_useful_node_is_given_back_first),
        FIXTURE_TEST(test_a_minimum_number_of_nodes_is_kept),
        FIXTURE_TEST(test_a_minimum_number_of_nodes_is_kept_in_each_partition),
        FIXTURE_TEST(test_demand_counts_only_in_its_partition),
        FIXTURE_TEST(test_a_node_with_data_of_an_application_is_kept),
        FIXTURE_TEST(test_a_node_that_may_have_data_is_kept),
        FIXTURE_TEST(test_after_a_failed_query_a_node_may_have_data),
        FIXTURE_TEST(test_an_application_without_containers_keeps_no_node),
        FIXTURE_TEST(test_the_report_of_a_node_about_its_data_is_used),
        FIXTURE_TEST(test_nodes_that_the_demand_needs_are_kept),
        FIXTURE_TEST(test_demand_brings_back_nodes_that_are_being_given_back),
        cmocka_unit_test(test_only_requests_that_fit_a_node_count_as_demand),
        cmocka_unit_test(test_each_reason_has_a_name_and_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
