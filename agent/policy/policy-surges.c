/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The times between surges, where the surge margin holds (policy-margin.c). The margin keeps memory free for the next
 * surge. A container that ends before that surge may use this memory.
 *
 * The policy remembers how long guaranteed containers used little memory between the latest surges. From these times it
 * computes the time before which the next surge comes with a probability of at most RISK. Without a surge so far, this
 * time moves on, because short times between surges no longer count. A container that is killed has done half of its
 * work on average. So RISK is twice the share of the work that may be lost.
 *
 * A surge begins when guaranteed containers use more than the mean of their lowest and highest use, since a surge that
 * is lower than the highest one needs memory, too.
 */

#include "agent/policy/round.h"

#define RISK (2 * NM_LOST_SHARE)

static void add_gap(struct nm_policy_margin *m, uint64_t gap_usec)
{
    uint64_t gap_sec = NM_MIN(NM_MAX(gap_usec / NM_USEC_PER_SEC, UINT64_C(1)), (uint64_t)UINT32_MAX);

    memmove(m->gap_sec + 1, m->gap_sec, sizeof(m->gap_sec) - sizeof(m->gap_sec[0]));
    m->gap_sec[0] = (uint32_t)gap_sec;
}

void nm_policy_surges_follow(struct nm_round *r, double share)
{
    struct nm_surges *s = &r->p->surges;
    double peak = (double)r->p->memory.margin.peak_permille / 1000;
    bool lasts;

    s->lowest_share = s->is_known ? NM_MIN(s->lowest_share, share) : share;
    lasts = share + NM_SURGE_TOLERANCE > peak || share > (s->lowest_share + peak) / 2;
    if (lasts && s->ended_usec > 0)
        add_gap(&r->p->memory.margin, nm_sub_u64(r->in->now_usec, s->ended_usec));
    if (lasts)
        s->ended_usec = 0;
    else if (s->is_known && s->lasts)
        s->ended_usec = r->in->now_usec;
    s->lasts = lasts;
    s->is_known = true;
}

void nm_policy_surges_forget(struct nm_round *r)
{
    struct nm_surges *s = &r->p->surges;

    s->is_known = s->lasts = false;
    s->ended_usec = 0;
}

/* Returns the time for which no surge is expected after `passed_usec` without a surge, counted from the end of the last
 * surge. Returns 0 if too few times between surges are as long. */
static uint64_t calm_usec(const struct nm_policy_margin *m, uint64_t passed_usec)
{
    uint64_t longer[NM_SURGE_GAPS];
    uint32_t n = 0;
    double accepted;

    for (uint32_t i = 0; i < NM_SURGE_GAPS && m->gap_sec[i] > 0; i++) {
        uint64_t gap = m->gap_sec[i] * NM_USEC_PER_SEC;
        uint32_t k = n;

        if (gap <= passed_usec)
            continue;
        for (; k > 0 && longer[k - 1] > gap; k--)
            longer[k] = longer[k - 1];
        longer[k] = gap;
        n++;
    }
    /* The probability of a surge before the time with this index is (index + 1/2) / (n + 1). The fractions express that
     * few times are known. */
    accepted = RISK * (n + 1) - 0.5;
    return accepted < 0 ? 0 : longer[NM_MIN((uint32_t)accepted, n - 1)];
}

uint64_t nm_policy_surges_next(const struct nm_policy *p, uint64_t now_usec)
{
    uint64_t ended = p->surges.ended_usec, calm;

    if (ended == 0)
        return 0;
    calm = calm_usec(&p->memory.margin, nm_sub_u64(now_usec, ended));
    return calm > 0 ? nm_add_u64(ended, calm) : 0;
}

uint64_t nm_policy_surges_calm(const struct nm_policy *p)
{
    return calm_usec(&p->memory.margin, 0);
}
