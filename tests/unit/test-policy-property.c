/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Random histories of the policy on a simulated node (policy-simulation.c). Two checks follow every round: an oracle
 * that shares no code with the policy (policy-oracle.c), and nm_policy_check_invariants(). Each history ends with an
 * idle node, on which no container may still be paused, queued or squeezed. In some histories a second policy gets the
 * containers in another order and must make the same decisions.
 *
 *   test-policy-property [--histories N] [--seed S] [--verbose]
 *
 * History number i has the seed S + i. A failure prints the seed of its history. To repeat the failure, run with
 * --histories 1 --seed SEED.
 */

#include <getopt.h>
#include <inttypes.h>
#include <time.h>

#include "tests/unit/policy-oracle.h"
#include "util/parse.h"

struct totals {
    uint64_t histories, rounds, squeezed, actions[NM_ACTION_SHED + 1], reasons[NM_REASON_COUNT],
        requests[NM_REASON_COUNT];
};

static bool verbose;

static const char *const action_names[] = {"admit", "pause", "resume", "reclaim", "kill", "shed"};

static void print_round(const struct simulation *w)
{
    static const char *const triggers[] = {"sample", "look", "pressure", "change"};

    printf("t=%.3f %s valid=%d cpu=%d at=%.3f U=%.0fM/%" PRIu64 "m in use=%.0fM/%" PRIu64 "m\n",
           (double)w->now / 1e6, triggers[w->in.trigger], w->in.node.valid, w->in.node.cpu_valid,
           (double)w->in.node.at_usec / 1e6, (double)w->verdict.used.memory_bytes / (double)NM_MIB,
           w->verdict.used.cpu_millicores, (double)w->verdict.in_use.memory_bytes / (double)NM_MIB,
           w->verdict.in_use.cpu_millicores);
    for (size_t i = 0; i < w->in.n_views; i++) {
        const struct nm_policy_container *v = w->in.views[i];

        printf("   %3" PRIu64 " %-13s %-9s%s%s request=%.0fM/%" PRIu64 "m measured=%.0fM/%" PRIu64
               "m last=%" PRIu64 "\n",
               v->seq, nm_execution_type_name(v->type), nm_state_name(v->state),
               v->admitted ? "*" : " ", v->user_paused ? "u" : " ",
               (double)v->request.memory_bytes / (double)NM_MIB, v->request.cpu_millicores,
               (double)v->measured.memory_bytes / (double)NM_MIB, v->measured.cpu_millicores,
               v->last_cpu_millicores);
    }
    for (size_t i = 0; i < w->verdict.n_actions; i++) {
        const struct nm_policy_action *a = &w->verdict.actions[i];

        printf("   -> %s %" PRIu64 " %s %s predicted=%.0fM/%" PRIu64 "m\n", action_names[a->type],
               a->target->seq, nm_reason_name(a->reason), nm_resource_name(a->resource),
               (double)a->predicted.memory_bytes / (double)NM_MIB, a->predicted.cpu_millicores);
    }
    printf("   holds: %s, %s, %s\n", nm_reason_name(w->verdict.queue_reason),
           nm_reason_name(w->verdict.guaranteed_reason), nm_reason_name(w->verdict.preempt_wait_reason));
}

/* Exchanges the notes of the two policies on the containers' memory. Otherwise the second policy would not see a peak
 * that the first policy has noted already. */
static void exchange_notes(struct simulation *w)
{
    for (size_t i = 0; i < SIMULATION_MAX; i++) {
        struct nm_peak peak = w->all[i].view.peak;

        w->all[i].view.peak = w->all[i].twin_peak;
        w->all[i].twin_peak = peak;
    }
}

/* Passes the containers to the second policy in reverse order. Its actions must be the same. */
static const char *check_order_independence(struct simulation *w, struct nm_policy *twin)
{
    struct nm_policy_container *backwards[SIMULATION_MAX];
    struct nm_policy_input in = w->in;
    struct nm_policy_verdict v;

    for (size_t i = 0; i < in.n_views; i++)
        backwards[i] = w->in.views[in.n_views - 1 - i];
    in.views = backwards;
    exchange_notes(w);
    nm_policy_decide(twin, &w->settings, &in, &v);
    exchange_notes(w);
    if (v.n_actions != w->verdict.n_actions ||
        v.squeeze_millicores != w->verdict.squeeze_millicores)
        return "another order of the views makes another number of actions";
    for (size_t i = 0; i < v.n_actions; i++)
        if (v.actions[i].target != w->verdict.actions[i].target ||
            v.actions[i].type != w->verdict.actions[i].type)
            return "another order of the views makes other actions";
    return NULL;
}

static const char *one_round(struct simulation *w, struct oracle *o, struct oracle_passing *passing,
                             struct oracle_starts *starts, struct nm_policy *twin)
{
    const char *r;

    simulation_next(w);
    nm_policy_decide(w->policy, &w->settings, &w->in, &w->verdict);
    r = oracle_check(o, w);
    if (!r)
        r = oracle_check_passing(passing, w);
    if (!r)
        r = oracle_check_starts(starts, w);
    if (!r)
        r = nm_policy_check_invariants(&w->settings, &w->in, &w->verdict);
    if (!r && twin)
        r = check_order_independence(w, twin);
    if (verbose || r)
        print_round(w);
    if (!r)
        simulation_act(w);
    return r;
}

/* In the idle phase at the end of a history, each queued container must have been admitted, except containers that a
 * user paused. The actions of the last round are applied first. A container that the last round has shed is no longer
 * queued, and the oracle checks whether the policy had to shed it. */
static const char *check_calm(const struct simulation *w)
{
    for (size_t i = 0; i < SIMULATION_MAX; i++) {
        const struct nm_policy_container *v = &w->all[i].view;

        if (!w->all[i].alive)
            continue;
        if (v->state == NM_SCHEDULED && !v->admitted)
            return "a container still waits on an idle node";
        if (v->state == NM_PAUSED && !v->user_paused)
            return "a container is still paused on an idle node";
    }
    return w->verdict.squeeze_millicores != NM_NO_SQUEEZE ? "a squeeze is left on an idle node"
                                                          : NULL;
}

/* With the sanitizers a history takes three times as long. 10,000 are enough for all events to happen. */
#ifdef __SANITIZE_ADDRESS__
#define HISTORIES 10000
#else
#define HISTORIES 100000
#endif
#define ROUNDS 60
#define CALM_ROUNDS 4000

static bool busy(const struct simulation *w)
{
    for (size_t i = 0; i < SIMULATION_MAX; i++)
        if (w->all[i].alive && !(w->all[i].view.state == NM_PAUSED && w->all[i].view.user_paused))
            return true;
    return false;
}

static const char *history(struct simulation *w, struct nm_policy *twin)
{
    struct oracle_passing passing = {0};
    struct oracle_starts starts = {0};
    /* A system sleep before the first round doesn't count, because the policy can't have noticed it. */
    struct oracle o = {.awake_samples = UINT32_MAX / 2, .suspended = UINT64_MAX - NM_USEC_PER_SEC};
    const char *r = NULL;
    unsigned rounds = 20 + (unsigned)simulation_below(w, 2 * ROUNDS);

    if (twin) {
        struct nm_policy_memory memory;

        nm_policy_get_memory(w->policy, &memory);
        nm_policy_set_memory(twin, &memory);
    }
    for (unsigned i = 0; i < rounds && !r; i++)
        r = one_round(w, &o, &passing, &starts, twin);
    simulation_calm(w);
    for (unsigned i = 0; i < CALM_ROUNDS && !r && (i == 0 || busy(w)); i++) {
        simulation_calm(w);
        r = one_round(w, &o, &passing, &starts, twin);
    }
    return r ? r : w->wrong ? w->wrong : check_calm(w);
}

static bool run(uint64_t seed, struct totals *t)
{
    _cleanup_(nm_policy_freep) struct nm_policy *twin = NULL;
    struct simulation w;
    const char *r;

    if (simulation_init(&w, seed) < 0 || nm_policy_reserve(w.policy, SIMULATION_MAX, SIMULATION_APPS) < 0)
        abort();
    if (seed % 8 == 0 &&
        (nm_policy_new(&twin) < 0 || nm_policy_reserve(twin, SIMULATION_MAX, SIMULATION_APPS) < 0))
        abort();
    r = history(&w, twin);
    if (r)
        printf("history with seed %" PRIu64 " is broken in round %" PRIu64 ": %s\n"
               "repeat it with: test-policy-property --histories 1 --seed %" PRIu64 " --verbose\n",
               seed, w.n_rounds, r, seed);
    t->histories++;
    t->rounds += w.n_rounds;
    for (size_t i = 0; i < NM_ARRAY_SIZE(t->actions); i++)
        t->actions[i] += w.n_actions[i];
    for (size_t i = 0; i < NM_REASON_COUNT; i++)
        t->reasons[i] += w.n_reasons[i];
    t->squeezed += w.n_squeezed;
    for (size_t i = 0; i < NM_REASON_COUNT; i++)
        t->requests[i] += w.n_requests[i];
    simulation_done(&w);
    return r == NULL;
}

/* Returns true for reasons that only other parts of nmd use, and not the policy. */
static bool is_of_other_parts(enum nm_reason r)
{
    return r == NM_REASON_NONE || r == NM_REASON_LARGER_THAN_NODE || r == NM_REASON_QUEUE_FULL ||
           r == NM_REASON_QUEUE_KEPT || r == NM_REASON_DRAIN_DEADLINE || r == NM_REASON_USER ||
           r == NM_REASON_KERNEL_OOM || r == NM_REASON_OWNER;
}

/* Prints the totals. Fails if an event never happened, since the test would then prove nothing about this event. */
static bool report(const struct totals *t)
{
    bool all = true;

    printf("%" PRIu64 " histories, %" PRIu64 " rounds (%" PRIu64 " squeezed)\n", t->histories,
           t->rounds, t->squeezed);
    for (size_t i = 0; i < NM_ARRAY_SIZE(t->actions); i++)
        printf("  %-20s %" PRIu64 "\n", action_names[i], t->actions[i]);
    for (enum nm_reason i = 0; i < NM_REASON_COUNT; i++) {
        if (is_of_other_parts(i))
            continue;
        printf("  %-20s %" PRIu64 "%s\n", nm_reason_name(i), t->reasons[i],
               t->reasons[i] == 0 ? "  never happened" : "");
        all = all && t->reasons[i] > 0;
    }
    for (enum nm_reason i = 0; i < NM_REASON_COUNT; i++)
        if (i == NM_REASON_NONE || i == NM_REASON_LARGER_THAN_NODE || i == NM_REASON_GUARANTEED_FULL ||
            i == NM_REASON_QUEUE_FULL || i == NM_REASON_QUEUE_KEPT) {
            printf("  requests: %-20s %" PRIu64 "\n", nm_reason_name(i), t->requests[i]);
            all = all && t->requests[i] > 0;
        }
    return all || t->histories < 10000;
}

static int usage(void)
{
    fprintf(stderr, "usage: test-policy-property [--histories N] [--seed S] [--verbose]\n");
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"histories", required_argument, NULL, 'n'},
        {"seed", required_argument, NULL, 's'},
        {"verbose", no_argument, NULL, 'v'},
        {0},
    };
    uint64_t histories = HISTORIES, seed = 1;
    struct totals t = {0};
    int c;

    while ((c = getopt_long(argc, argv, "n:s:v", options, NULL)) >= 0) {
        if (c == 'v')
            verbose = true;
        else if (c == '?' || nm_parse_u64(optarg, c == 'n' ? &histories : &seed) < 0)
            return usage();
    }
    for (uint64_t i = 0; i < histories; i++)
        if (!run(seed + i, &t))
            return 1;
    return report(&t) ? 0 : 1;
}
