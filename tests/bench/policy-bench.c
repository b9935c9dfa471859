/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Measures the cost of a policy decision on nodes of 10 to 10,000 containers: in nanoseconds, and divided by n log2 n,
 * which must not grow. There are three kinds of rounds, from the usual to the worst:
 *
 *   quiet   all containers run without shortage: a sum over all
 *   queue   half of the containers wait, and the queue's order requires sorting
 *   kill    memory is over beta and victims are chosen (app-fair, the most expensive order)
 *
 * Several small nodes, with 20,000 containers in total, are measured in turns, because the branch predictor would learn
 * the order of the containers of a single one.
 *
 * The reference in the last column is measured in the same run: the C library's qsort() sorts the same number of
 * records, each of a view's size, by one number.
 */

#include <inttypes.h>
#include <math.h>

#include "agent/policy/policy.h"
#include "util/clock.h"

#define N_APPS 64
#define N_VIEWS 20000
#define LEAST_USEC (200 * NM_USEC_PER_MSEC)

enum scene { QUIET, QUEUE, KILL, SCENES };

static const char *const scene_names[SCENES] = {"quiet", "queue", "kill"};

struct bench {
    size_t n, n_nodes, turn;
    struct nm_policy_settings settings;
    struct nm_policy *policy;
    struct nm_policy_container *views, **list;
    struct nm_resources *used; /* per node */
    struct nm_policy_app apps[N_APPS];
    struct nm_policy_input in;
};

static uint64_t rng_state = 1;

static uint64_t rng(void)
{
    rng_state = rng_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return rng_state >> 33;
}

static void init_container(struct nm_policy_container *v, uint64_t seq, enum scene scene)
{
    *v = (struct nm_policy_container){
        .seq = seq,
        .type = seq % 4 == 0 ? NM_GUARANTEED : NM_OPPORTUNISTIC,
        .state = NM_RUNNING,
        .admitted = true,
        .request = {64 * NM_MIB, 100},
        .measured = {(1 + rng() % 64) * NM_MIB, rng() % 100},
        .n_samples = 20,
        .state_samples = 20,
        .state_usec = 1,
        .started_usec = 1 + rng() % 1000000,
        .expected_usec = rng() % 1000000,
        .cpu_usage_usec = rng(),
        .pause_deadline_usec = UINT64_MAX,
        .app = (uint32_t)(rng() % N_APPS),
    };
    if (scene == QUEUE && seq % 2 == 1) {
        v->state = NM_SCHEDULED;
        v->admitted = false;
    }
}

static int bench_init(struct bench *b, size_t n, enum scene scene)
{
    *b = (struct bench){.n = n, .n_nodes = N_VIEWS / n};
    b->views = calloc(N_VIEWS, sizeof(*b->views));
    b->list = calloc(N_VIEWS, sizeof(struct nm_policy_container *));
    b->used = calloc(b->n_nodes, sizeof(*b->used));
    if (!b->views || !b->list || !b->used || nm_policy_new(&b->policy) < 0 ||
        nm_policy_reserve(b->policy, n, N_APPS) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n * b->n_nodes; i++) {
        b->list[i] = &b->views[i];
        init_container(b->list[i], i + 1, scene);
        if (b->list[i]->state != NM_RUNNING)
            continue;
        b->used[i / n].memory_bytes += b->list[i]->measured.memory_bytes;
        b->used[i / n].cpu_millicores += b->list[i]->measured.cpu_millicores;
    }
    b->settings = (struct nm_policy_settings){
        .capacity = {n * 128 * NM_MIB, n * 200},
        .over_allocation = true,
        .over_allocation_threshold = {0.8, 0.8},
        .preemption_threshold = {0.95, 0.95},
        .queue_order = NM_QUEUE_SHORTEST_EXPECTED_FIRST,
        .victim_order = NM_VICTIM_APP_FAIR,
        .pause_enabled = true,
        .pause_deadline_usec = 600 * NM_USEC_PER_SEC,
        .cpu_samples = 4,
        .settle_samples = 2,
        .kills_per_minute = 64,
        .sample_max_age_usec = 6 * NM_USEC_PER_SEC,
        .can_freeze = true,
    };
    if (scene == KILL) /* half of the opportunistic containers must be removed */
        b->settings.capacity.memory_bytes = b->used[0].memory_bytes / 2;
    b->in = (struct nm_policy_input){
        .now_usec = 1000 * NM_USEC_PER_SEC,
        .node = {.valid = true, .cpu_valid = true},
        .n_views = n,
        .apps = b->apps,
        .n_apps = N_APPS,
        .shed_to = UINT32_MAX,
        /* Draining excludes admissions, so that only the sorting is measured. */
        .draining = scene == QUEUE,
    };
    return 0;
}

static void bench_done(struct bench *b)
{
    nm_policy_free(b->policy);
    free(b->used);
    free(b->list);
    free(b->views);
}

/* Advances the time by two minutes, so that neither settling nor the kill budget makes a later round cheaper. */
static void next_round(struct bench *b, struct nm_policy_verdict *v)
{
    struct nm_policy_memory forget = {0};

    b->turn = (b->turn + 1) % b->n_nodes;
    b->in.views = b->list + b->turn * b->n;
    b->in.node.used = b->used[b->turn];
    nm_policy_set_memory(b->policy, &forget);
    b->in.now_usec += 120 * NM_USEC_PER_SEC;
    b->in.node.at_usec = b->in.now_usec;
    b->in.trigger = NM_TRIGGER_SAMPLE;
    nm_policy_decide(b->policy, &b->settings, &b->in, v);
}

static double measure(struct bench *b, enum scene scene)
{
    uint64_t spent = 0, rounds = 0, actions = 0;

    while (spent < LEAST_USEC) {
        struct nm_policy_verdict v;
        uint64_t start;

        /* Lets the actions of the previous round settle; not measured. */
        for (int i = 0; scene == KILL && i < 3; i++) {
            b->settings.capacity.memory_bytes *= 4;
            next_round(b, &v);
            b->settings.capacity.memory_bytes /= 4;
        }
        start = nm_clock_usec(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < (scene == KILL ? 1 : 100); i++, rounds++)
            next_round(b, &v);
        spent += nm_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start;
        actions += v.n_actions;
    }
    if (scene == KILL && actions == 0)
        fprintf(stderr, "policy-bench: no container was killed, so the result is not valid\n");
    return (double)spent * 1000 / (double)rounds;
}

static int by_start(const void *a, const void *b)
{
    const struct nm_policy_container *x = a, *y = b;

    return (x->started_usec > y->started_usec) - (x->started_usec < y->started_usec);
}

static double measure_qsort(struct bench *b)
{
    uint64_t spent = 0, rounds = 0;

    for (; spent < LEAST_USEC; rounds++) {
        uint64_t start;

        for (size_t i = 0; i < b->n; i++)
            b->views[i].started_usec = rng();
        start = nm_clock_usec(CLOCK_THREAD_CPUTIME_ID);
        qsort(b->views, b->n, sizeof(*b->views), by_start);
        spent += nm_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start;
    }
    return (double)spent * 1000 / (double)rounds;
}

int main(void)
{
    static const size_t sizes[] = {10, 100, 1000, 10000};

    printf("cost of one policy decision, in ns (and per n log2 n)\n%10s", "containers");
    for (enum scene s = QUIET; s < SCENES; s++)
        printf(" %12s %9s", scene_names[s], "/n log n");
    printf(" %12s %9s\n", "qsort (ref.)", "/n log n");
    for (size_t i = 0; i < NM_ARRAY_SIZE(sizes); i++) {
        double n_log_n = (double)sizes[i] * log2((double)sizes[i]), ns = 0;
        struct bench b;

        printf("%10zu", sizes[i]);
        for (enum scene s = QUIET; s <= SCENES; s++) {
            if (bench_init(&b, sizes[i], s == SCENES ? QUIET : s) < 0)
                return 1;
            ns = s == SCENES ? measure_qsort(&b) : measure(&b, s);
            bench_done(&b);
            printf(" %12.0f %9.2f", ns, ns / n_log_n);
        }
        printf("\n");
    }
    return 0;
}
