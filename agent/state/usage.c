/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the node is used for at the moment, as a status and the history tell it: measured by containers, reserved for
 * those that warm up, and used by others. The three add up to the policy's own estimate of its last round, so that what
 * is shown is what was decided on.
 */

#include "agent/state/usage.h"

#include <assert.h>

/* What is admitted counts as allocated from that moment on, though its command may not have
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
        if (v->state != NM_PAUSED) /* its last sample may be from before */
            ret->used_by[v->type].cpu_millicores += v->measured.cpu_millicores;
    }
    ret->completed = (uint32_t)m->ended.n;
    ret->kept_results = (uint32_t)m->ended.n_results;
}

/* What U has beyond what is measured now. Containers may have come or gone since the round that it is of. */
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
