/* SPDX-License-Identifier: Apache-2.0 */

/* See policy-oracle-facts.h. */

#include "tests/unit/policy-oracle-facts.h"

#include <math.h>

double facts_returning(const struct facts *f, const struct nm_policy_container *v)
{
    double room = fmax(0, (double)v->request.memory_bytes - (double)v->measured.memory_bytes);

    if (!f->s->over_allocation)
        return 0;
    return f->s->memory_limits ? fmin((double)v->swapped_bytes, room) : (double)v->swapped_bytes;
}

double facts_estimate(const struct facts *f, const struct nm_policy_container *v, int k)
{
    bool warm = v->state == NM_SCHEDULED || v->n_samples < f->s->warmup_samples ||
                f->in->now_usec < v->started_usec + f->s->warmup_usec;
    double e = get(&v->measured, k);

    if (queued(v) || (v->state == NM_PAUSED && k == NM_CPU))
        return 0;
    if (!f->s->over_allocation)
        return get(&v->request, k);
    if (v->state == NM_KILLING ? v->n_samples == 0 : warm)
        e = fmax(e, get(&v->request, k));
    if (k == NM_MEMORY &&
        (v->state == NM_RESUMING ||
         (v->state == NM_RUNNING &&
          (v->state_samples < 2 || f->in->now_usec < NM_MAX(v->state_usec, v->reclaimed_usec) + f->s->warmup_usec))))
        e = fmax(e, get(&v->measured, k) + facts_returning(f, v));
    if (k == NM_CPU &&
        (v->state == NM_RESUMING || (v->state == NM_RUNNING && v->state_samples < 2)))
        e = fmax(e, (double)v->last_cpu_millicores);
    return e;
}

static void gather_view(struct facts *f, const struct nm_policy_container *v, double shown[2])
{
    if (nm_policy_container_in_preparation(v))
        return; /* no round concerns this container */
    if (queued(v)) {
        f->n_queued += v->type == NM_OPPORTUNISTIC;
        f->n_guaranteed_queued += v->type == NM_GUARANTEED;
        return;
    }
    if (v->type == NM_OPPORTUNISTIC && v->state != NM_PAUSED && v->state != NM_KILLING)
        f->n_active++;
    for (int k = 0; k < 2; k++) {
        bool pending =
            (v->state == NM_KILLING || (v->state == NM_PAUSING && k == NM_CPU)) && !stuck(f, v);

        shown[k] += get(&v->measured, k);
        f->used[k] += facts_estimate(f, v, k);
        f->in_use[k] += k == NM_CPU && v->state == NM_PAUSED ? 0 : get(&v->measured, k);
        f->allocated[k] += get(&v->request, k);
        if (v->type == NM_GUARANTEED)
            f->promised[k] += promise(v, k);
        if (pending) {
            f->n_pending[k]++;
            f->pending_measured[k] += get(&v->measured, k);
            f->pending_estimate[k] += facts_estimate(f, v, k);
        }
    }
}

bool facts_ends_before_surge(const struct facts *f, const struct nm_policy_container *v)
{
    return f->v->surge_usec > 0 && v->expected_usec > 0 && !v->exempt &&
           f->in->now_usec + v->expected_usec + v->expected_usec / 3 <= f->v->surge_usec;
}

void facts_gather(struct oracle *o, struct facts *f, const struct simulation *w)
{
    const struct nm_policy_node *node = &w->in.node;
    double shown[2] = {0};

    *f = (struct facts){.w = w, .s = &w->settings, .in = &w->in, .v = &w->verdict};
    f->fresh = node->valid && w->in.now_usec - node->at_usec <= w->settings.sample_max_age_usec;
    f->cpu_known = f->fresh && node->cpu_valid;
    for (int k = 0; k < 2; k++) {
        double a = k == NM_MEMORY ? f->s->over_allocation_threshold.memory
                                  : f->s->over_allocation_threshold.cpu;
        double b =
            k == NM_MEMORY ? f->s->preemption_threshold.memory : f->s->preemption_threshold.cpu;

        f->capacity[k] = get(&f->s->capacity, k);
        f->alpha[k] = f->s->over_allocation ? floor(f->capacity[k] * a) : f->capacity[k];
        f->beta[k] = f->s->over_allocation ? floor(f->capacity[k] * b) : f->capacity[k];
        f->offered[k] = get(&f->s->offered, k) > 0 ? get(&f->s->offered, k) : f->capacity[k];
        f->queue_alpha[k] = f->s->over_allocation ? floor(f->offered[k] * a) : f->offered[k];
        f->queue_beta[k] = f->s->over_allocation ? floor(f->offered[k] * b) : f->offered[k];
    }
    for (size_t i = 0; i < w->in.n_views; i++)
        gather_view(f, w->in.views[i], shown);
    for (int k = 0; k < 2; k++) {
        bool anew = node->valid && (node->at_usec != o->sample_at || !o->system_known[k]);

        if (anew && (k == NM_MEMORY || node->cpu_valid)) {
            o->system[k] =
                fmax(0, fmax(0, get(&node->used, k) - get(&f->s->reserve, k)) - shown[k]);
            if (k == NM_MEMORY)
                o->system[k] = fmax(o->system[k], (double)node->slice_unowned_bytes);
            o->system_known[k] = true;
        }
        f->in_use[k] += o->system[k];
        f->used[k] += f->s->over_allocation ? o->system[k] : 0;
    }
}
