/* SPDX-License-Identifier: Apache-2.0 */

/* Helpers for all stages of a round. */

#include "agent/policy/round.h"

struct nm_policy_action *nm_policy_add_action(struct nm_round *r, enum nm_action_type type,
                                              enum nm_reason reason, uint32_t index)
{
    struct nm_policy_action *a = &r->p->actions[r->n_actions++];

    assert(r->n_actions <= r->in->n_views); /* at most one action per container */
    *a = (struct nm_policy_action){
        .type = type,
        .reason = reason,
        .target = r->in->views[index],
        .used = {r->used[NM_MEMORY], r->used[NM_CPU]},
    };
    return a;
}

/* Records a kill in place of the oldest recorded kill. `load`: the node's load caused the kill, rather than a person or
 * a guaranteed container. */
void nm_policy_record_kill(struct nm_round *r, bool load)
{
    uint64_t *kills = r->p->memory.kills_usec;
    size_t oldest = 0;

    for (size_t i = 1; i < NM_ARRAY_SIZE(r->p->memory.kills_usec); i++)
        if (kills[i] < kills[oldest])
            oldest = i;
    kills[oldest] = r->in->now_usec;
    r->load_kill = r->load_kill || load;
}

static bool comes_after(const struct nm_round *r, const struct nm_policy_container *v,
                        const struct nm_policy_container *head)
{
    uint64_t a[2], b[2];

    nm_queue_keys(r->s, r->in, v, a);
    nm_queue_keys(r->s, r->in, head, b);
    return a[0] != b[0] ? a[0] > b[0] : a[1] > b[1];
}

bool nm_policy_has_passed(const struct nm_round *r, const struct nm_policy_container *v,
                          const struct nm_policy_container *head)
{
    return v->passed && v->type == NM_OPPORTUNISTIC && !v->exempt && nm_policy_container_placed(v) &&
           v->started_usec >= head->submitted_usec && comes_after(r, v, head);
}
