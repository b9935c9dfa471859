/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Random clusters through a few looks. Rules that share no code with choose.c judge each choice, by facts about the
 * nodes that the test records independently of nmscale's memory. A failure names its seed:
 *
 *   test-scale-property [SEED]
 */

#include <inttypes.h>

#include "nmscale/choose.h"
#include "tests/unit/scale-model.h"
#include "util/parse.h"

#define HISTORIES 2000
#define N_POLLS 6
#define NODES 12
#define APPS 4
#define GAP (100 * SECOND)

/* The true history, which the test records independently of nmscale's state. */
struct truth {
    uint64_t low_since[NODES];     /* 0: demand was not low at the last look */
    bool was_on[APPS][NODES];      /* the application had a container on the node in one of the looks */
    /* known: the application appeared in a look after the first one, and so is known from its beginning */
    bool alive[APPS], known[APPS];
};

static uint64_t random_state;

static uint64_t any(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

static void make_cluster(struct nm_scale_model *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char name[32];
        struct nm_scale_node *node;

        (void)snprintf(name, sizeof name, "n%zu", i);
        node = model_node(m, name);
        node->free_mb = 1024 * (1 + any(3));
        node->free_vcores = 1 + any(3);
        if (any(4) == 0)
            model_set(&node->label, any(2) ? "gpu" : "fast");
    }
}

static void drop_apps(struct nm_scale_model *m)
{
    for (size_t i = 0; i < m->n_apps; i++) {
        free(m->apps[i].id);
        nm_scale_words_free(m->apps[i].nodes, m->apps[i].n_nodes);
    }
    free(m->apps);
    m->apps = NULL;
    m->n_apps = 0;
}

static void change_nodes(struct nm_scale_model *m)
{
    static const char *const states[] = {"RUNNING", "RUNNING",   "RUNNING", "RUNNING",
                                         "UNHEALTHY", "LOST", "DECOMMISSIONING"};

    for (size_t i = 0; i < m->n_nodes; i++) {
        struct nm_scale_node *n = &m->nodes[i];

        n->free_mb += n->used_mb;
        n->free_vcores += n->used_vcores;
        n->used_mb = n->used_vcores = n->containers = n->queued = 0;
        if (any(6) == 0)
            model_use(n, 512, 1);
        n->queued = any(30) == 0;
        model_set(&n->state, states[any(any(3) ? 1 : NM_ARRAY_SIZE(states))]);
    }
}

static void change_apps(struct nm_scale_model *m, struct truth *t, bool first, bool goes_on)
{
    drop_apps(m);
    for (size_t i = 0; i < APPS; i++) {
        bool was = t->alive[i];
        char id[32], node[32];
        size_t on = any(m->n_nodes);

        t->alive[i] = any(3) != 0;
        if (!t->alive[i]) {
            memset(t->was_on[i], 0, sizeof t->was_on[i]);
            t->known[i] = false;
            continue;
        }
        t->known[i] = was ? t->known[i] && goes_on : !first && goes_on;
        (void)snprintf(id, sizeof id, "app%zu", i);
        (void)snprintf(node, sizeof node, "n%zu:1", on);
        if (any(2))
            t->was_on[i][on] = true;
        model_app(m, id, t->was_on[i][on] ? node : NULL);
    }
}

static void note_nodes(struct truth *t, const struct nm_scale_model *m, uint64_t now, bool goes_on)
{
    for (size_t i = 0; i < m->n_nodes; i++) {
        const struct nm_scale_node *n = &m->nodes[i];
        bool low = nm_streq(n->state, "RUNNING") && !n->containers && !n->queued;

        t->low_since[i] = !low ? 0 : t->low_since[i] && goes_on ? t->low_since[i] : now;
    }
}

static void check_one(const struct nm_scale_model *m, const struct truth *t, const struct nm_scale_rules *rules,
                      const struct nm_scale_node *n, uint64_t now)
{
    size_t i = (size_t)(n - m->nodes);

    assert_true(t->low_since[i] > 0);
    assert_true(now - t->low_since[i] >= rules->idle_for_msec);
    for (size_t a = 0; a < APPS; a++) {
        assert_false(t->alive[a] && t->was_on[a][i]);
        assert_false(t->alive[a] && !t->known[a] && !rules->trust_unknown);
    }
}

/* Returns how many containers of the mean size fit, if they are placed one at a time on the first node with enough
 * room. */
static uint64_t placed(const struct nm_scale_model *m, const bool *gone)
{
    const struct nm_scale_demand *d = &m->demand;
    uint64_t n = 0;

    for (size_t i = 0; i < m->n_nodes; i++) {
        uint64_t mb = m->nodes[i].free_mb, vcores = m->nodes[i].free_vcores;

        if ((gone && gone[i]) || *m->nodes[i].label || !nm_streq(m->nodes[i].state, "RUNNING"))
            continue;
        while (d->containers && mb * d->containers >= d->mb && vcores * d->containers >= d->vcores) {
            mb -= d->mb / d->containers;
            vcores -= d->vcores / d->containers;
            n++;
        }
    }
    return n;
}

static void check_all(const struct nm_scale_model *m, const struct truth *t, const struct nm_scale_rules *rules,
                      const struct nm_scale_verdict *v, uint64_t now)
{
    bool gone[NODES] = {0};
    uint64_t running = 0, given = 0, gpu = 0, gpu_given = 0;

    for (size_t i = 0; i < m->n_nodes; i++) {
        const struct nm_scale_node *n = v[i].node;
        bool give = v[i].reason == NM_SCALE_GIVE, on_gpu = nm_streq(n->label, "gpu");

        assert_false(gone[n - m->nodes]);
        /* nodes that the rules give back come first */
        assert_true(i == 0 || !give || v[i - 1].reason == NM_SCALE_GIVE);
        running += nm_streq(n->state, "RUNNING");
        gpu += nm_streq(n->state, "RUNNING") && on_gpu;
        if (!give)
            continue;
        check_one(m, t, rules, n, now);
        gone[n - m->nodes] = true;
        given++;
        gpu_given += on_gpu;
        assert_true(i == 0 || v[i - 1].node->free_mb <= n->free_mb); /* smaller nodes come first */
    }
    assert_true(given == 0 || running - given >= rules->min_nodes);
    assert_true(gpu_given == 0 || gpu - gpu_given >= rules->min_per_label);
    assert_true(given <= rules->at_most);
    /* Demand that had room before the choice must still have room after it. */
    assert_true(placed(m, gone) >= NM_MIN(placed(m, NULL), m->demand.containers));
}

static uint64_t history(uint64_t seed)
{
    _cleanup_(nm_scale_model_done) struct nm_scale_model m = {0};
    _cleanup_(nm_scale_memory_done) struct nm_scale_memory memory = {0};
    struct truth t = {0};
    uint64_t now = 1000 * SECOND, given = 0;

    random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    make_cluster(&m, 1 + any(NODES));
    for (int i = 0; i < N_POLLS; i++) {
        const struct nm_scale_rules rules = {.idle_for_msec = any(3) * 50 * SECOND,
                                             .min_nodes = any(4),
                                             .min_per_label = any(3),
                                             .at_most = any(2) ? UINT64_MAX : 1 + any(3),
                                             .trust_unknown = any(2)};
        _cleanup_free_ struct nm_scale_verdict *v = NULL;
        uint64_t later = 1 + any(GAP + GAP / 8);
        bool goes_on = i > 0 && later <= GAP;

        now += later;
        change_nodes(&m);
        change_apps(&m, &t, i == 0, goes_on);
        m.demand.containers = any(2) ? 0 : any(6);
        m.demand.mb = m.demand.containers * 512 * (1 + any(3));
        m.demand.vcores = m.demand.containers;
        note_nodes(&t, &m, now, goes_on);
        assert_int_equal(nm_scale_memory_update(&memory, &m, now, GAP), 0);
        assert_int_equal(nm_scale_choose(&m, &memory, &rules, &v), 0);
        check_all(&m, &t, &rules, v, now);
        for (size_t k = 0; k < m.n_nodes; k++)
            given += v[k].reason == NM_SCALE_GIVE;
    }
    return given;
}

static uint64_t only_seed, current_seed;

static int print_seed(void **state)
{
    (void)state;
    print_message("last seed: %" PRIu64 "\n", current_seed);
    return 0;
}

static void test_random_histories_break_no_rule(void **state)
{
    uint64_t given = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        if (only_seed && seed != only_seed)
            continue;
        current_seed = seed;
        given += history(seed);
    }
    /* Rules that never give a node back would pass all the other checks, so the test also counts the nodes given
     * back. */
    if (!only_seed)
        assert_true(given > HISTORIES / 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_random_histories_break_no_rule, print_seed)};

    if (argc > 1 && nm_parse_u64(argv[1], &only_seed) < 0) {
        fprintf(stderr, "usage: test-scale-property [SEED]\n");
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
