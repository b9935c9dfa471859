/* SPDX-License-Identifier: Apache-2.0 */

/* See allocator-state.h; allocator.h has the rules. */

#include "yarn/allocator/allocator-state.h"

/* ---- sizes -------------------------------------------------------------------------------------- */

/* Limits the value to the range least..most. The result is a multiple of the increment if the range contains one. */
static int64_t normalise(int64_t value, int64_t least, int64_t most, int64_t increment)
{
    int64_t v = NM_MAX(value, least), up;

    if (increment > 0 && v % increment > 0 && !__builtin_add_overflow(v, increment - v % increment, &up))
        v = up;
    return NM_MIN(v, most);
}

struct nm_yarn_alloc_size nm_yarn_normal_size(const struct nm_yarn_alloc_limits *l, struct nm_yarn_alloc_size size)
{
    return (struct nm_yarn_alloc_size){
        normalise(size.memory_mib, l->min.memory_mib, l->max.memory_mib, l->increment.memory_mib),
        (int32_t)normalise(size.vcores, l->min.vcores, l->max.vcores, l->increment.vcores),
    };
}

bool nm_yarn_ask_is_lent(const struct nm_yarn_alloc_limits *l, const struct nm_yarn_ask_entry *ask)
{
    return l->lends && !(l->is_own && l->is_own(l->userdata, ask->priority, ask->request_id));
}

/* ---- nodes -------------------------------------------------------------------------------------- */

struct view {
    const struct nm_yarn_ask_entry *ask;
    const struct nm_yarn_alloc_limits *limits;
    enum nm_yarn_alloc_rule rule;
    bool is_lent;       /* the container is lent */
    int64_t memory_mib; /* of the container */
    bool named[NM_YARN_ALLOC_NODES_MAX]; /* the nodes that the current rule allows, by index */
};

static void set_rule(struct view *v, const struct nm_yarn_candidates *nodes, enum nm_yarn_alloc_rule rule)
{
    v->rule = rule;
    (void)memset(v->named, rule == NM_YARN_ALLOC_ANY, nodes->n * sizeof v->named[0]);
    if (rule == NM_YARN_ALLOC_NODE_LOCAL)
        nm_yarn_candidates_mark_hosts(nodes, &v->ask->hosts, v->named);
    else if (rule == NM_YARN_ALLOC_RACK_LOCAL)
        nm_yarn_candidates_mark_racks(nodes, &v->ask->racks, v->named);
}

/* Returns the reason why a container would have to wait on the node, by the node's report. */
static enum nm_yarn_skip_reason why_wait(const struct view *v, const struct nm_yarn_candidate *node)
{
    if (node->is_fresh && !node->measure.admits)
        return NM_YARN_SKIP_NOT_ADMITTING;
    if (node->is_fresh && nm_yarn_candidate_unused_mib(node) < v->memory_mib)
        return NM_YARN_SKIP_NO_MEMORY;
    return NM_YARN_N_SKIP_REASONS;
}

/* Returns whether a lent container must not be placed on the node, because the node has not reported its room. */
static bool is_unanswered(const struct view *v, const struct nm_yarn_candidate *node)
{
    return !node->is_fresh && (node->measure.awaited || !v->limits->lends_to_unknown);
}

/* Returns the reason why the node can't be chosen, or NM_YARN_N_SKIP_REASONS if it can be chosen. Reasons that don't
 * change during a heartbeat are checked first. */
static enum nm_yarn_skip_reason why_not(const struct view *v, const struct nm_yarn_candidate *node, bool named)
{
    int64_t room;

    if (node->blacklisted)
        return NM_YARN_SKIP_BLACKLISTED;
    if (!nm_streq(node->is.partition, v->ask->partition ?: ""))
        return NM_YARN_SKIP_OTHER_PARTITION;
    if (!named)
        return NM_YARN_SKIP_ELSEWHERE;
    if (v->is_lent && node->measure.kind == NM_YARN_ALLOC_OTHER)
        return NM_YARN_SKIP_OTHER_KIND;
    if (v->is_lent && is_unanswered(v, node))
        return NM_YARN_SKIP_UNANSWERED;
    if (v->is_lent && node->lendable_mib < v->memory_mib)
        return NM_YARN_SKIP_LENT_LIMIT;
    room = nm_yarn_candidate_room(node, v->limits->fill ? v->limits->queue_length : 0);
    if (v->rule != NM_YARN_ALLOC_NODE_LOCAL && node->used > 0 && (!v->limits->fill || room < 0))
        return NM_YARN_SKIP_USED;
    if (room == 0)
        return NM_YARN_SKIP_FULL;
    return v->is_lent ? why_wait(v, node) : NM_YARN_N_SKIP_REASONS;
}

/* Returns why the node `a` is worse than the node `b`, or NM_YARN_N_SKIP_REASONS if it isn't. Both can be chosen. */
static enum nm_yarn_skip_reason why_worse(const struct view *v, const struct nm_yarn_candidate *a,
                                          const struct nm_yarn_candidate *b)
{
    const enum nm_yarn_skip_reason wait_a = why_wait(v, a), wait_b = why_wait(v, b);

    if ((wait_a == NM_YARN_N_SKIP_REASONS) != (wait_b == NM_YARN_N_SKIP_REASONS))
        return wait_a;
    if (a->used != b->used)
        return a->used > b->used ? NM_YARN_SKIP_BUSIER : NM_YARN_N_SKIP_REASONS;
    return nm_yarn_candidate_unused_mib(a) < nm_yarn_candidate_unused_mib(b) ? NM_YARN_SKIP_LESS_MEMORY
                                                                             : NM_YARN_N_SKIP_REASONS;
}

static struct nm_yarn_candidate *best_of(const struct nm_yarn_candidates *nodes, const struct view *v)
{
    struct nm_yarn_candidate *best = NULL;

    for (size_t i = 0; i < nodes->n; i++)
        if (v->named[i] && (!best || why_worse(v, best, &nodes->list[i]) != NM_YARN_N_SKIP_REASONS) &&
            why_not(v, &nodes->list[i], true) == NM_YARN_N_SKIP_REASONS)
            best = &nodes->list[i];
    return best;
}

static void explain_choice(const struct nm_yarn_candidates *nodes, const struct view *v,
                           const struct nm_yarn_candidate *chosen, struct nm_yarn_alloc_why *ret)
{
    struct nm_yarn_alloc_why why = {
        .rule = v->rule,
        .listed = (uint16_t)nodes->n,
        .position = (uint16_t)(chosen - nodes->list + 1),
        .hosts = (uint32_t)v->ask->hosts.n,
        .racks = (uint32_t)v->ask->racks.n,
    };

    for (const struct nm_yarn_candidate *node = nodes->list; node < chosen; node++) {
        enum nm_yarn_skip_reason reason = why_not(v, node, v->named[node - nodes->list]);

        if (reason == NM_YARN_N_SKIP_REASONS)
            reason = why_worse(v, node, chosen);
        why.skipped[reason == NM_YARN_N_SKIP_REASONS ? NM_YARN_SKIP_BUSIER : reason]++;
    }
    *ret = why;
}

struct nm_yarn_candidate *nm_yarn_choose_candidate(const struct nm_yarn_candidates *nodes,
                                                   const struct nm_yarn_ask_entry *ask,
                                                   const struct nm_yarn_alloc_limits *limits,
                                                   struct nm_yarn_alloc_why *ret_why)
{
    const bool possible[NM_YARN_ALLOC_N_RULES] = {ask->hosts.n > 0, ask->racks.n > 0, ask->relax};
    struct view v;

    v.ask = ask;
    v.limits = limits;
    v.is_lent = nm_yarn_ask_is_lent(limits, ask);
    v.memory_mib = nm_yarn_normal_size(limits, ask->size).memory_mib;
    for (enum nm_yarn_alloc_rule rule = 0; rule < NM_YARN_ALLOC_N_RULES; rule++) {
        struct nm_yarn_candidate *best;

        if (!possible[rule])
            continue;
        set_rule(&v, nodes, rule);
        best = best_of(nodes, &v);
        if (!best)
            continue;
        explain_choice(nodes, &v, best, ret_why);
        return best;
    }
    return NULL;
}
