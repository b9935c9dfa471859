/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The node's current use, for the status and the history: measured use of containers, reservations for warm-ups, and
 * use by the rest of the node. These three parts add up to U of the policy's last round, so the display matches the
 * decisions.
 */

#include "agent/state/usage.h"

#include <assert.h>

/* Counts containers and their use. An admitted container counts as allocated at once, even before its command has
 * started. */
static void fill_containers(const struct nm_manager *m, struct nm_status *ret)
{
    for (size_t i = 0; i < m->lives.n; i++) {
        const struct nm_container *c = m->lives.all[i]->c;
        const struct nm_policy_container *v = &c->view;

        if (nm_policy_container_is_prepared(v)) {
            ret->preparing++;
            continue;
        }
        if (nm_policy_container_is_waiting(v)) {
            ret->queued++;
            ret->queue_length += v->type == NM_OPPORTUNISTIC;
            continue;
        }
        if (v->state == NM_PAUSED || v->state == NM_PAUSING)
            ret->paused++;
        else if (v->type == NM_GUARANTEED)
            ret->guaranteed_running++;
        else
            ret->opportunistic_running++;
        ret->allocated[v->type].memory_bytes += v->request.memory_bytes;
        ret->allocated[v->type].cpu_millicores += v->request.cpu_millicores;
        ret->allocated_vcores_milli[v->type] += c->vcores_milli;
        ret->used_by[v->type].memory_bytes += v->measured.memory_bytes;
        if (v->state != NM_PAUSED) /* the last sample may be from before the pause */
            ret->used_by[v->type].cpu_millicores += v->measured.cpu_millicores;
    }
    ret->completed = (uint32_t)m->ended.n;
    ret->kept_results = (uint32_t)m->ended.n_results;
}

/* Computes the reserved part of U: U less the measured use. Containers may have come or gone since the round that
 * computed U. */
static void fill_reserved(struct nm_status *ret)
{
    const struct nm_resources *by = ret->used_by, *others = &ret->used_by_others;

    ret->reserved.memory_bytes =
        nm_sub_u64(ret->used.memory_bytes, by[0].memory_bytes + by[1].memory_bytes + others->memory_bytes);
    ret->reserved.cpu_millicores =
        nm_sub_u64(ret->used.cpu_millicores, by[0].cpu_millicores + by[1].cpu_millicores + others->cpu_millicores);
}

void nm_usage_fill(const struct nm_manager *m, struct nm_status *ret)
{
    assert(m && ret);
    ret->used = m->round.verdict.used;
    ret->used_by_others = m->round.verdict.others;
    fill_containers(m, ret);
    fill_reserved(ret);
}
