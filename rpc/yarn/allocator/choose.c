/* SPDX-License-Identifier: Apache-2.0 */

/* See choose.h; allocator.h has the rules. */

#include "rpc/yarn/allocator/choose.h"

struct view {
    const struct nm_alloc_ask *ask;
    const struct nm_yarn_alloc_limits *limits;
    enum nm_yarn_alloc_rule rule;
};

static bool is_named(const struct view *v, const struct nm_alloc_node *node)
{
    const struct nm_alloc_name *rack;

    switch (v->rule) {
    case NM_YARN_ALLOC_NODE_LOCAL:
        return nm_alloc_names_find(&v->ask->hosts, node->is.host);
    case NM_YARN_ALLOC_RACK_LOCAL:
        rack = nm_alloc_names_find(&v->ask->racks, node->is.rack);
        return rack && rack->relax;
    case NM_YARN_ALLOC_ANY:
    case NM_YARN_ALLOC_N_RULES:
        break;
    }
    return v->ask->relax;
}

/* NM_YARN_ALLOC_N_PASSES: it may be taken. What holds for a whole heartbeat is asked first. */
static enum nm_yarn_alloc_pass why_not(const struct view *v, const struct nm_alloc_node *node)
{
    int64_t room = nm_alloc_node_room(node, v->limits->fill ? v->limits->queue_length : 0);

    if (node->blacklisted)
        return NM_YARN_ALLOC_BLACKLISTED;
    if (!nm_streq(node->is.partition, v->ask->partition ?: ""))
        return NM_YARN_ALLOC_OTHER_PARTITION;
    if (!is_named(v, node))
        return NM_YARN_ALLOC_ELSEWHERE;
    if (v->rule != NM_YARN_ALLOC_NODE_LOCAL && node->used > 0 && (!v->limits->fill || room < 0))
        return NM_YARN_ALLOC_USED;
    return room == 0 ? NM_YARN_ALLOC_FULL : NM_YARN_ALLOC_N_PASSES;
}

static struct nm_alloc_node *best_of(const struct nm_alloc_nodes *nodes, const struct view *v)
{
    struct nm_alloc_node *best = NULL;

    for (size_t i = 0; i < nodes->n; i++)
        if ((!best || nodes->list[i].used < best->used) && why_not(v, &nodes->list[i]) == NM_YARN_ALLOC_N_PASSES)
            best = &nodes->list[i];
    return best;
}

static void say_why(const struct nm_alloc_nodes *nodes, const struct view *v, const struct nm_alloc_node *chosen,
                    struct nm_yarn_alloc_why *ret)
{
    struct nm_yarn_alloc_why why = {
        .rule = v->rule,
        .listed = (uint16_t)nodes->n,
        .position = (uint16_t)(chosen - nodes->list + 1),
        .hosts = (uint32_t)v->ask->hosts.n,
        .racks = (uint32_t)v->ask->racks.n,
    };

    for (const struct nm_alloc_node *node = nodes->list; node < chosen; node++) {
        enum nm_yarn_alloc_pass pass = why_not(v, node);

        why.passed[pass == NM_YARN_ALLOC_N_PASSES ? NM_YARN_ALLOC_BUSIER : pass]++;
    }
    *ret = why;
}

struct nm_alloc_node *nm_alloc_choose(const struct nm_alloc_nodes *nodes, const struct nm_alloc_ask *ask,
                                      const struct nm_yarn_alloc_limits *limits, struct nm_yarn_alloc_why *ret_why)
{
    const bool possible[NM_YARN_ALLOC_N_RULES] = {ask->hosts.n > 0, ask->racks.n > 0, ask->relax};

    for (enum nm_yarn_alloc_rule rule = 0; rule < NM_YARN_ALLOC_N_RULES; rule++) {
        const struct view v = {ask, limits, rule};
        struct nm_alloc_node *best = possible[rule] ? best_of(nodes, &v) : NULL;

        if (!best)
            continue;
        say_why(nodes, &v, best, ret_why);
        return best;
    }
    return NULL;
}
