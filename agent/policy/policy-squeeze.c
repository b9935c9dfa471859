/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The squeeze: one CPU quota for all running opportunistic containers together. The quota takes effect within one
 * scheduler period, harms less than a freeze and is easily undone, so it is tried first.
 *
 * The controller aims for the middle between alpha and beta. `own` is the CPU use of opportunistic
 * containers during the last interval, `others` all other use:
 *
 *   over beta            quota = middle - others. The quota is a cap, so use can't exceed the
 *                        middle unless the others grow: one step is enough.
 *   between              unchanged. This dead band prevents oscillation: no quota moves use out of
 *                        the band by itself.
 *   under alpha          quota * (middle - others) / own, at most doubled, at least middle - others.
 *                        The step is proportional because the quota is divided among the containers:
 *                        a container that needs more than its part may be throttled although the sum
 *                        is not used up. After the step, use is at the middle again.
 *   each could have      lifted, when the quota's even part for each container is the whole node.
 *   the whole node       The quota of containers that don't use it doubles with every sample, so it
 *                        is lifted after a few. A quota above the node's capacity is possible:
 *                        divided among one busy container and nine that sleep, only the part of the
 *                        busy one matters.
 *
 * The quota changes only with a CPU sample. A second quota exists for stalls of guaranteed containers
 * (policy-stall.c); the tighter quota applies.
 */

#include "agent/policy/round.h"

static uint64_t loosened(uint64_t quota, uint64_t room, uint64_t own)
{
    double step = own > 0 ? (double)room / (double)own : 2;

    assert(quota != NM_NO_SQUEEZE);
    if (step < 1)
        return quota;
    return (uint64_t)((double)quota * NM_MIN(step, 2.0));
}

static void steer(struct nm_round *r)
{
    struct nm_policy *p = r->p;
    uint64_t own = r->opportunistic_cpu, others = nm_sub_u64(r->in_use[NM_CPU], own);
    uint64_t middle = r->alpha[NM_CPU] + (r->beta[NM_CPU] - r->alpha[NM_CPU]) / 2;
    uint64_t room = nm_sub_u64(middle, others);

    if (nm_round_cpu_over(r))
        p->squeeze_millicores = NM_MIN(p->squeeze_millicores, room);
    else if (p->squeeze_millicores != NM_NO_SQUEEZE && r->in_use[NM_CPU] < r->alpha[NM_CPU])
        p->squeeze_millicores = NM_MAX(loosened(p->squeeze_millicores, room, own), room);
}

static void apply_bounds(struct nm_round *r)
{
    struct nm_policy *p = r->p;

    if (p->squeeze_millicores != NM_NO_SQUEEZE)
        p->squeeze_millicores = NM_MAX(p->squeeze_millicores, nm_policy_squeeze_floor(r));
    if (p->squeeze_millicores / NM_MAX(r->n_opportunistic_active, (size_t)1) >= r->capacity[NM_CPU])
        p->squeeze_millicores = NM_NO_SQUEEZE;
}

void nm_policy_squeeze(struct nm_round *r)
{
    uint64_t stall;

    if (!r->s->can_squeeze || !r->s->over_allocation || r->n_opportunistic_active == 0)
        r->p->squeeze_millicores = NM_NO_SQUEEZE;
    else if (r->in->trigger != NM_TRIGGER_PRESSURE && r->judging && r->cpu_known)
        steer(r);
    apply_bounds(r);
    stall = nm_policy_stall(r);
    r->squeeze_millicores = NM_MIN(r->p->squeeze_millicores, stall);
    r->v->squeeze_millicores = r->squeeze_millicores;
    if (r->squeeze_millicores != NM_NO_SQUEEZE)
        r->v->squeeze_reason = stall < r->p->squeeze_millicores ? NM_REASON_GUARANTEED_STALLED
                                                                : NM_REASON_CPU_OVER_BETA;
}
