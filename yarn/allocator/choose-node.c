/* SPDX-License-Identifier: Apache-2.0 */

/* See allocator-state.h; allocator.h has the rules. */

#include "yarn/allocator/allocator-state.h"

struct view {
    const struct nm_yarn_ask_entry *ask;
    const struct nm_yarn_alloc_limits *limits;
    enum nm_yarn_alloc_rule rule;
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
    room = nm_yarn_candidate_room(node, v->limits->fill ? v->limits->queue_length : 0);
    if (v->rule != NM_YARN_ALLOC_NODE_LOCAL && node->used > 0 && (!v->limits->fill || room < 0))
        return NM_YARN_SKIP_USED;
    return room == 0 ? NM_YARN_SKIP_FULL : NM_YARN_N_SKIP_REASONS;
}

static struct nm_yarn_candidate *best_of(const struct nm_yarn_candidates *nodes, const struct view *v)
{
    struct nm_yarn_candidate *best = NULL;

    for (size_t i = 0; i < nodes->n; i++)
        if (v->named[i] && (!best || nodes->list[i].used < best->used) &&
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
