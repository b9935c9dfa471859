/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How much of its unused memory an opportunistic container will use until its end. Most containers never use all of
 * their requests, so a request says too little about the memory that a container needs in the next surge.
 *
 * The policy learns this while the surge margin holds (policy-margin.c). Growth depends on age: most of it comes soon
 * after the start. So there is one figure for each class of ages: warm-up to twice the warm-up, and so on. When a
 * container enters a class, its unused memory is added to the class. When its peak grows later, the growth is added to
 * all classes that it has entered. The ratio is the part of unused memory that containers of this age use later. Older
 * figures count less. Each class begins with a little memory that was unused and was used later, so that the part is 1
 * until the figures of several containers are known.
 */

#include "agent/policy/round.h"

/* The memory with which each class begins, as a part of the capacity. A class needs several times as much to have an
 * effect. */
#define PRIOR_DIVISOR 32

static uint32_t age_class(const struct nm_round *r, const struct nm_policy_container *v)
{
    uint64_t age = nm_sub_u64(r->in->now_usec, v->started_usec), begin = NM_MAX(r->s->warmup_usec, UINT64_C(1));
    uint32_t n = 0;

    for (; n < NM_AGE_CLASSES && age >= begin; n++)
        begin = nm_mul_u64(begin, 2);
    return n;
}

/* The sums of one sample. They are integers, so that the order of the containers does not matter. */
struct seen {
    uint64_t unused_bytes[NM_AGE_CLASSES], grown_bytes[NM_AGE_CLASSES];
};

static void learn_from(const struct nm_round *r, struct nm_policy_container *v, struct seen *seen)
{
    struct nm_peak *peak = &v->peak;
    uint64_t now = v->measured.memory_bytes, grown = nm_sub_u64(now, peak->bytes);
    uint32_t n = age_class(r, v);

    /* The earlier growth of a container that was older at its first sample is not known. */
    if (!peak->known) {
        *peak = (struct nm_peak){.bytes = now, .n_classes = n, .known = true};
        return;
    }
    for (uint32_t i = 0; i < peak->n_classes; i++)
        seen->grown_bytes[i] = nm_add_u64(seen->grown_bytes[i], grown);
    peak->bytes = nm_add_u64(peak->bytes, grown);
    for (; peak->n_classes < n; peak->n_classes++)
        seen->unused_bytes[peak->n_classes] = nm_add_u64(seen->unused_bytes[peak->n_classes],
                                                         nm_sub_u64(v->request.memory_bytes, peak->bytes));
}

void nm_policy_growth_learn(struct nm_round *r)
{
    struct nm_late_growth *g = &r->p->growth;
    double left = nm_policy_remaining(nm_sub_u64(r->in->now_usec, g->learned_usec));
    struct seen seen = {0};

    if (!r->has_new_sample || r->in->trigger != NM_TRIGGER_SAMPLE)
        return;
    for (size_t i = 0; i < r->in->n_views; i++) {
        struct nm_policy_container *v = r->in->views[i];

        if (v->type == NM_OPPORTUNISTIC && v->state == NM_RUNNING && v->n_samples > 0)
            learn_from(r, v, &seen);
    }
    for (size_t i = 0; i < NM_AGE_CLASSES; i++) {
        g->unused_bytes[i] = g->unused_bytes[i] * left + (double)seen.unused_bytes[i];
        g->grown_bytes[i] = g->grown_bytes[i] * left + (double)seen.grown_bytes[i];
    }
    g->learned_usec = r->in->now_usec;
}

uint64_t nm_policy_growth_expected(const struct nm_round *r, uint32_t i)
{
    const struct nm_policy_container *v = r->in->views[i];
    const struct nm_late_growth *g = &r->p->growth;
    uint64_t estimate = r->p->estimates[i].memory_bytes, peak = NM_MAX(estimate, v->peak.bytes);
    uint64_t unused = nm_sub_u64(v->request.memory_bytes, peak);
    double prior = (double)r->capacity[NM_MEMORY] / PRIOR_DIVISOR;

    if (v->peak.n_classes > 0) {
        uint32_t k = v->peak.n_classes - 1;
        double part = (g->grown_bytes[k] + prior) / (g->unused_bytes[k] + prior);

        unused = nm_fraction_of(unused, NM_MIN(part, 1.0));
    }
    return nm_add_u64(peak - estimate, unused);
}
