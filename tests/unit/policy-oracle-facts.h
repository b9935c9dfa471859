/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The facts that the oracle's rules use. These facts are gathered from a round's input before the rules are checked. */

#include "tests/unit/policy-oracle.h"

struct facts {
    const struct simulation *w;
    const struct nm_policy_settings *s;
    const struct nm_policy_input *in;
    const struct nm_policy_verdict *v;
    bool fresh, cpu_known;
    double capacity[2], alpha[2], beta[2];
    double offered[2], queue_alpha[2], queue_beta[2]; /* limits for admissions from the queue */
    double used[2];    /* U before this round's actions */
    double in_use[2];
    double pending_measured[2], pending_estimate[2];
    double allocated[2], promised[2];
    size_t n_pending[2], n_active, n_queued, n_guaranteed_queued;
};

static inline double get(const struct nm_resources *r, int k)
{
    return k == NM_MEMORY ? (double)r->memory_bytes : (double)r->cpu_millicores;
}

/* Returns the promise of a guaranteed container. For a queued container this is the promise after its admission. */
static inline double promise(const struct nm_policy_container *v, int k)
{
    return k == NM_CPU && v->cpu_is_share ? 0 : get(&v->request, k);
}

static inline bool queued(const struct nm_policy_container *v)
{
    return v->state == NM_SCHEDULED && !v->admitted;
}

static inline bool stuck(const struct facts *f, const struct nm_policy_container *v)
{
    uint64_t since = v->state == NM_KILLING ? NM_MAX(v->state_usec, v->shrunk_usec) : v->state_usec;

    return f->in->now_usec - since >= 10 * NM_USEC_PER_SEC;
}

static inline double resume_cpu(const struct facts *f, const struct nm_policy_container *v)
{
    return f->s->over_allocation ? (double)v->last_cpu_millicores
                                 : (double)v->request.cpu_millicores;
}

/* Returns the amount of swapped memory that returns when the container runs again, up to its memory limit. */
double facts_returning(const struct facts *f, const struct nm_policy_container *v);
/* Returns whether a container that starts now ends before the surge that the verdict expects, even if it takes a third
 * longer than expected. */
bool facts_ends_before_surge(const struct facts *f, const struct nm_policy_container *v);
double facts_estimate(const struct facts *f, const struct nm_policy_container *v, int k);
void facts_gather(struct oracle *o, struct facts *f, const struct simulation *w);
