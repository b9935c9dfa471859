/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The surge margin: memory kept free, in addition to alpha and beta, on a node where surges of
 * guaranteed containers have recently cost much opportunistic work.
 *
 * A surprise is a kill for memory over beta, or an OOM kill by the kernel. Most nodes have a surprise from time to
 * time, and lose a few per cent of the opportunistic work. This loss is acceptable, because keeping memory free all day
 * would cost more. But if surges recur, containers started between them are nearly always killed by the next surge. The
 * lost work distinguishes the two cases. It is the CPU time of killed containers, as a share of all CPU time of
 * opportunistic containers in the last hours. The weight of each hour halves after COUNT_HALF_LIFE_USEC.
 *
 *   at a surprise    If the share is above LOST_SHARE the margin holds, for margin_usec at first and twice as long
 *                    after each surprise that the margin did not prevent, up to MOST_FACTOR times. If the share is
 *                    lower, a margin that still holds continues. If no margin holds, it now holds half as long as last
 *                    time, or not at all if this is shorter than margin_usec.
 *   while it holds   Guaranteed containers count with the largest share of their requests that they have used,
 *                    opportunistic containers with the memory that they are expected to use later (policy-growth.c). So
 *                    an admitted container has enough memory in most surges. While a surge lasts, the margin's time
 *                    starts again. Containers that are expected to end before the next surge don't count
 *                    (policy-surges.c). The second half of the queue is for these containers, and for those that use
 *                    the scarce memory best (policy.h).
 *
 * From the lower PACKED_LOST_SHARE on, opportunistic containers no longer share CPUs (policy.h): each additional
 * container would be another victim of the next surge.
 *
 * A node without surges is over-allocated again when the margin's time has passed.
 */

#include "agent/policy/round.h"

#define PACKED_LOST_SHARE 0.012 /* keeps the lost share below 2 % */
#define MOST_FACTOR 4
/* Surprises within this time of each other belong to one surge. */
#define ONE_SURGE_USEC (120 * NM_USEC_PER_SEC)
/* The share is meaningful only after opportunistic containers have used all of the node's CPUs for this long in total.
 * Otherwise the first kill of the day would count as half of all work. */
#define LEAST_WORK_USEC (30 * NM_USEC_PER_SEC)

static void count_work(struct nm_round *r)
{
    struct nm_margin *m = &r->p->margin;
    uint64_t now = r->in->now_usec;
    uint64_t elapsed = nm_sub_u64(now, m->counted_usec);
    double left = nm_policy_remaining(elapsed);

    if (!r->has_new_sample || r->in->trigger != NM_TRIGGER_SAMPLE)
        return;
    if (m->counted_usec > 0) {
        m->work_usec = m->work_usec * left + (double)elapsed * (double)r->opportunistic_cpu / 1000;
        m->lost_usec *= left;
    }
    m->counted_usec = now;
}

/* Returns the share of the guaranteed promises that is in use. */
static double share_in_use(const struct nm_round *r)
{
    uint64_t promised = r->allocated[NM_GUARANTEED][NM_MEMORY];

    return promised > 0 ? (double)r->guaranteed_measured / (double)promised : 0;
}

static void extend_margin(struct nm_round *r)
{
    struct nm_policy_margin *m = &r->p->memory.margin;
    uint64_t until = nm_add_u64(r->in->now_usec, m->hold_usec);

    assert(r->s->margin_usec > 0);
    /* update in steps, because each change is journalled */
    if (until > nm_add_u64(m->until_usec, m->hold_usec / 16))
        m->until_usec = until;
}

/* Computes the memory that must be free now, so that a surge does not need the memory of opportunistic containers. */
static void sum_up_surge(struct nm_round *r)
{
    uint64_t promised = r->allocated[NM_GUARANTEED][NM_MEMORY];
    uint64_t surge = nm_fraction_of(promised, (double)r->p->memory.margin.peak_permille / 1000);

    r->surge_growth = nm_sub_u64(surge, r->guaranteed_estimate);
    for (uint32_t i = 0; i < r->in->n_views; i++) {
        const struct nm_policy_container *v = r->in->views[i];

        if (v->type != NM_OPPORTUNISTIC || !nm_policy_container_placed(v) || v->state == NM_KILLING)
            continue;
        if (nm_policy_ends_before_surge(r, v))
            r->lent = nm_add_u64(r->lent, r->p->estimates[i].memory_bytes);
        else
            r->surge_growth = nm_add_u64(r->surge_growth, nm_policy_growth_expected(r, i));
    }
    r->margin = nm_sub_u64(r->surge_growth, r->lent);
}

/* Returns whether more than this share of the work is lost. */
static bool costs_more_than(const struct nm_round *r, double share)
{
    const struct nm_margin *m = &r->p->margin;
    double least = (double)r->capacity[NM_CPU] / 1000 * (double)LEAST_WORK_USEC;

    assert(share > 0 && m->work_usec >= 0 && m->lost_usec >= 0);
    return m->work_usec >= least && m->lost_usec > share * m->work_usec;
}

/* Returns whether opportunistic containers may share CPUs. Where the kernel gives them only idle CPU time and the CPU
 * threshold does not apply, they delay only each other. */
static bool may_share_cpu(const struct nm_round *r)
{
    return r->s->over_allocation && r->s->guard_stall && !nm_round_takes_cpu(r) &&
           !costs_more_than(r, PACKED_LOST_SHARE);
}

void nm_policy_margin(struct nm_round *r)
{
    struct nm_policy_margin *m = &r->p->memory.margin;
    uint64_t most = nm_mul_u64(r->s->margin_usec, MOST_FACTOR);
    double share = share_in_use(r);

    count_work(r);
    r->shares_cpu = may_share_cpu(r);
    if (!r->s->over_allocation || r->s->margin_usec == 0)
        *m = (struct nm_policy_margin){0};
    /* the values may be from a time when margin_usec was larger */
    m->hold_usec = NM_MIN(m->hold_usec, most);
    m->until_usec = NM_MIN(m->until_usec, nm_add_u64(r->in->now_usec, most));
    if (r->in->now_usec >= m->until_usec) {
        nm_policy_surges_forget(r);
        return;
    }
    if (r->has_new_sample) {
        m->peak_permille = NM_MAX(m->peak_permille, (uint64_t)(share * 1000));
        nm_policy_surges_follow(r, share);
        if (share + NM_SURGE_TOLERANCE > (double)m->peak_permille / 1000)
            extend_margin(r);
    }
    nm_policy_growth_learn(r);
    r->surge_usec = nm_policy_surges_next(r->p, r->in->now_usec);
    sum_up_surge(r);
    r->v->surge_usec = r->surge_usec;
    r->v->margin_bytes = r->margin;
    r->v->margin_until_usec = m->until_usec;
    r->v->margin_peak_permille = m->peak_permille;
}

void nm_policy_margin_surprise(struct nm_round *r)
{
    struct nm_policy_margin *m = &r->p->memory.margin;
    uint64_t now = r->in->now_usec, most = nm_mul_u64(r->s->margin_usec, MOST_FACTOR);
    bool same = r->p->margin.surprised_usec > 0 &&
                now < nm_add_u64(r->p->margin.surprised_usec, ONE_SURGE_USEC);

    r->p->margin.lost_usec += (double)r->lost_usec;
    if ((!r->surprised && r->in->kernel_kills == 0) || !r->s->over_allocation || r->s->margin_usec == 0)
        return;
    r->p->margin.surprised_usec = now;
    if (costs_more_than(r, NM_LOST_SHARE))
        m->hold_usec = same ? NM_MAX(m->hold_usec, r->s->margin_usec)
                            : NM_MIN(NM_MAX(nm_mul_u64(m->hold_usec, 2), r->s->margin_usec), most);
    else if (!same && now >= m->until_usec)
        m->hold_usec = m->hold_usec / 2 < r->s->margin_usec ? 0 : m->hold_usec / 2;
    if (now >= m->until_usec)
        m->peak_permille = 0;
    m->peak_permille = NM_MAX(m->peak_permille, (uint64_t)(share_in_use(r) * 1000));
    extend_margin(r);
}
