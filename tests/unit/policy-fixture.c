/* SPDX-License-Identifier: Apache-2.0 */

/* A node for the policy's unit tests; see policy-fixture.h. */

#include "tests/unit/policy-fixture.h"

static struct nm_resources percent(double memory, double cpu)
{
    return (struct nm_resources){(uint64_t)(memory * (double)PERCENT_MEMORY),
                                 (uint64_t)(cpu * (double)PERCENT_CPU)};
}

int node_setup(void **state)
{
    struct node *n = calloc(1, sizeof(*n));

    assert_non_null(n);
    n->settings = (struct nm_policy_settings){
        .capacity = percent(100, 100),
        .over_allocation = true,
        .over_allocation_threshold = {0.8, 0.8},
        .preemption_threshold = {0.95, 0.95},
        .warmup_usec = SECONDS(15),
        .warmup_samples = 3,
        .queue_max_length = 10,
        .backfill_usec = SECONDS(60),
        .pause_enabled = true,
        .pause_deadline_usec = SECONDS(600),
        .cpu_samples = 4,
        .settle_samples = 2,
        .kills_per_minute = 20,
        .breaker_usec = SECONDS(30),
        .period_usec = PERIOD_USEC,
        .sample_max_age_usec = 2 * PERIOD_USEC,
        .squeeze_floor_millicores = 50,
        .can_freeze = true,
    };
    n->in = (struct nm_policy_input){
        .now_usec = SECONDS(1000),
        .views = n->list,
        .apps = n->apps,
        .n_apps = NM_ARRAY_SIZE(n->apps),
        .shed_to = UINT32_MAX,
        .shed_limited_to = UINT32_MAX,
    };
    assert_int_equal(nm_policy_new(&n->policy), 0);
    assert_int_equal(nm_policy_reserve(n->policy, NODE_MAX, NM_ARRAY_SIZE(n->apps)), 0);
    *state = n;
    return 0;
}

int node_teardown(void **state)
{
    struct node *n = *state;

    n->policy = nm_policy_free(n->policy);
    free(n);
    return 0;
}

struct nm_policy_container *node_queue(struct node *n, enum nm_execution_type type, double memory, double cpu)
{
    struct nm_policy_container *v = &n->views[n->n];

    assert_true(n->n < NODE_MAX);
    *v = (struct nm_policy_container){
        .seq = n->n + 1,
        .type = type,
        .state = NM_SCHEDULED,
        .state_usec = n->in.now_usec,
        .request = percent(memory, cpu),
        .submitted_usec = n->in.now_usec,
        .pause_deadline_usec = UINT64_MAX,
    };
    n->n++;
    n->list[n->in.n_views++] = v;
    return v;
}

struct nm_policy_container *node_run(struct node *n, enum nm_execution_type type, double memory, double cpu)
{
    struct nm_policy_container *v = node_queue(n, type, memory, cpu);

    v->state = NM_RUNNING;
    v->admitted = true;
    v->started_usec = n->in.now_usec - SECONDS(60) + v->seq;
    v->n_samples = v->state_samples = 20;
    node_use(v, memory, cpu);
    return v;
}

void node_use(struct nm_policy_container *v, double memory, double cpu)
{
    v->measured = percent(memory, cpu);
}

struct nm_policy_container *node_paused(struct node *n, double memory, double last_cpu)
{
    struct nm_policy_container *v = node_run(n, NM_OPPORTUNISTIC, memory, last_cpu);

    node_enter(n, v, NM_PAUSED);
    v->state_samples = 5;
    v->paused_usec = n->in.now_usec;
    v->pause_deadline_usec = n->in.now_usec + n->settings.pause_deadline_usec;
    v->last_cpu_millicores = v->measured.cpu_millicores;
    v->measured.cpu_millicores = 0;
    return v;
}

void node_enter(struct node *n, struct nm_policy_container *v, enum nm_state state)
{
    v->state = state;
    v->state_usec = n->in.now_usec;
    v->state_samples = 0;
}

void node_remove(struct node *n, const struct nm_policy_container *v)
{
    for (size_t i = 0; i < n->in.n_views; i++)
        if (n->list[i] == v) {
            memmove(&n->list[i], &n->list[i + 1], (n->in.n_views - i - 1) * sizeof(n->list[0]));
            n->in.n_views--;
            return;
        }
    fail_msg("the node has no container %llu", (unsigned long long)v->seq);
}

static void decide(struct node *n, enum nm_policy_trigger trigger)
{
    const char *broken;

    n->in.trigger = trigger;
    nm_policy_decide(n->policy, &n->settings, &n->in, &n->verdict);
    broken = nm_policy_check_invariants(&n->settings, &n->in, &n->verdict);
    if (broken)
        fail_msg("invariant: %s", broken);
}

static void new_sample(struct node *n)
{
    struct nm_resources used = percent(n->system_memory, n->system_cpu);

    for (size_t i = 0; i < n->in.n_views; i++) {
        n->list[i]->state_samples++;
        n->list[i]->n_samples += n->list[i]->state >= NM_RUNNING;
        nm_policy_container_note_progress(n->list[i], n->in.now_usec);
        used.memory_bytes += n->list[i]->measured.memory_bytes;
        used.cpu_millicores += n->list[i]->measured.cpu_millicores;
    }
    n->in.node.valid = n->in.node.cpu_valid = true;
    n->in.node.at_usec = n->in.now_usec;
    n->in.node.used = used;
}

void node_sample(struct node *n)
{
    n->in.now_usec += PERIOD_USEC;
    new_sample(n);
    decide(n, NM_TRIGGER_SAMPLE);
}

void node_pressure(struct node *n)
{
    n->in.now_usec += NM_USEC_PER_MSEC;
    new_sample(n);
    decide(n, NM_TRIGGER_PRESSURE);
}

void node_extra_sample(struct node *n, uint64_t after_usec)
{
    n->in.now_usec += after_usec;
    new_sample(n);
    decide(n, NM_TRIGGER_EXTRA_SAMPLE);
}

void node_change(struct node *n)
{
    decide(n, NM_TRIGGER_CHANGE);
}

static void apply_action(struct node *n, const struct nm_policy_action *a)
{
    struct nm_policy_container *v = a->target;

    switch (a->type) {
    case NM_ACTION_ADMIT:
        node_enter(n, v, NM_RUNNING);
        v->admitted = true;
        v->passed = a->on_behalf_of != NULL;
        v->started_usec = n->in.now_usec;
        break;
    case NM_ACTION_PAUSE:
        v->last_cpu_millicores = v->measured.cpu_millicores;
        node_enter(n, v, NM_PAUSED);
        v->paused_usec = n->in.now_usec;
        v->pause_deadline_usec = n->in.now_usec + n->settings.pause_deadline_usec;
        break;
    case NM_ACTION_RESUME:
        node_enter(n, v, NM_RUNNING);
        v->pause_deadline_usec = UINT64_MAX;
        break;
    case NM_ACTION_RECLAIM:
        v->reclaimed = true;
        break;
    case NM_ACTION_KILL:
    case NM_ACTION_SHED:
        node_remove(n, v);
        break;
    }
}

void node_apply_verdict(struct node *n)
{
    for (size_t i = 0; i < n->verdict.n_actions; i++)
        apply_action(n, &n->verdict.actions[i]);
}

const struct nm_policy_action *node_action(const struct node *n, const struct nm_policy_container *v)
{
    for (size_t i = 0; i < n->verdict.n_actions; i++)
        if (n->verdict.actions[i].target == v)
            return &n->verdict.actions[i];
    return NULL;
}

size_t node_count(const struct node *n, enum nm_action_type type)
{
    size_t count = 0;

    for (size_t i = 0; i < n->verdict.n_actions; i++)
        count += n->verdict.actions[i].type == type;
    return count;
}
