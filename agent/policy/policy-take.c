/* SPDX-License-Identifier: Apache-2.0 */

/* Turns a choice of victims into actions. policy-preempt.c describes the rules that limit these actions. */

#include "agent/policy/round.h"

void nm_policy_settle(struct nm_round *r, enum nm_resource which)
{
    assert(which < NM_RESOURCE_COUNT);
    r->p->quiet[which] = 0;
    r->p->taken_usec[which] = r->in->now_usec;
    if (which == NM_MEMORY)
        r->p->victims_ended_usec = UINT64_MAX;
}

void nm_policy_add_pending(struct nm_round *r, uint32_t i, bool kill)
{
    const struct nm_policy_container *v = r->in->views[i];
    const struct nm_resources *estimate = &r->p->estimates[i];

    assert(i < r->in->n_views && nm_policy_container_placed(v));
    if (v->state != NM_PAUSED && v->state != NM_PAUSING) {
        r->pending_measured[NM_CPU] =
            nm_add_u64(r->pending_measured[NM_CPU], v->measured.cpu_millicores);
        r->pending_estimate[NM_CPU] =
            nm_add_u64(r->pending_estimate[NM_CPU], estimate->cpu_millicores);
        r->n_pending[NM_CPU]++;
    }
    if (!kill)
        return;
    r->pending_measured[NM_MEMORY] =
        nm_add_u64(r->pending_measured[NM_MEMORY], v->measured.memory_bytes);
    r->pending_estimate[NM_MEMORY] =
        nm_add_u64(r->pending_estimate[NM_MEMORY], estimate->memory_bytes);
    r->n_pending[NM_MEMORY]++;
}

/* The guaranteed container for which the next victim makes room. Guaranteed containers are served in order: the need of
 * the first container is met first. This position advances together with the victims. */
struct beneficiary {
    size_t next; /* index into p->guaranteed */
    uint64_t claims_after;
};

static struct beneficiary first_beneficiary(const struct nm_round *r, enum nm_resource which)
{
    struct beneficiary b = {.next = r->n_guaranteed - r->n_guaranteed_waiting};

    for (size_t i = b.next + 1; i < r->n_guaranteed; i++)
        b.claims_after = nm_add_u64(b.claims_after,
                                    nm_policy_container_promise(r->in->views[r->p->guaranteed[i].index], which));
    return b;
}

static const struct nm_policy_container *advance_beneficiary(const struct nm_round *r,
                                                             const struct nm_need *need, uint64_t gained,
                                                             struct beneficiary *b)
{
    while (b->next + 1 < r->n_guaranteed && nm_sub_u64(need->amount, b->claims_after) <= gained) {
        const struct nm_policy_container *v = r->in->views[r->p->guaranteed[++b->next].index];

        b->claims_after = nm_sub_u64(b->claims_after, nm_policy_container_promise(v, need->resource));
    }
    return b->next < r->n_guaranteed ? r->in->views[r->p->guaranteed[b->next].index] : NULL;
}

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

static void record_kill(struct nm_round *r, enum nm_reason reason, uint32_t index)
{
    nm_policy_record_kill(r, reason != NM_REASON_ROOM_FOR_GUARANTEED);
    r->surprised = r->surprised || reason == NM_REASON_MEMORY_OVER_BETA;
    r->lost_usec = nm_add_u64(r->lost_usec, r->in->views[index]->cpu_usage_usec);
}

static struct nm_policy_action *take_one(struct nm_round *r, const struct nm_need *need,
                                         size_t candidate, uint32_t index)
{
    struct nm_policy_action *a =
        nm_policy_add_action(r, need->kill ? NM_ACTION_KILL : NM_ACTION_PAUSE, need->reason, index);

    /* No container is taken twice, and guaranteed containers are never taken. */
    assert(r->p->taken[index] == NM_TAKEN_NOT && r->in->views[index]->type == NM_OPPORTUNISTIC);
    a->resource = need->resource;
    a->predicted = r->p->candidates[candidate].use;
    a->consecutive_samples = need->consecutive_samples;
    if (!need->by_estimate)
        a->used = (struct nm_resources){r->in_use[NM_MEMORY], r->in_use[NM_CPU]};
    r->p->taken[index] = need->kill ? NM_TAKEN_KILL : NM_TAKEN_PAUSE;
    nm_policy_add_pending(r, index, need->kill);
    if (need->kill && !need->head) /* kills for the head are limited by backfill_usec, not by the budget */
        record_kill(r, need->reason, index);
    return a;
}

uint64_t nm_policy_take_back(struct nm_round *r, const struct nm_need *need)
{
    size_t first, n = nm_victims_choose(r, need, &first);
    struct beneficiary b = first_beneficiary(r, need->resource);
    uint64_t gained = 0;

    for (size_t i = 0; i < n; i++) {
        struct nm_policy_action *a;

        if (r->p->candidates[first + i].passed_over != NM_PASSED_NOT)
            continue;
        a = take_one(r, need, first + i, r->p->victims[i].index);
        a->first_candidate = (uint32_t)first;
        a->n_candidates = (uint32_t)n;
        if (need->reason == NM_REASON_ROOM_FOR_GUARANTEED)
            a->on_behalf_of = advance_beneficiary(r, need, gained, &b);
        else
            a->on_behalf_of = need->head;
        gained = nm_add_u64(gained, nm_resources_get(&r->p->candidates[first + i].use, need->resource));
    }
    if (gained == 0)
        return 0;
    nm_policy_settle(r, NM_CPU);
    r->p->cpu_over = 0;
    if (need->kill) {
        nm_policy_settle(r, NM_MEMORY);
        r->p->reclaim_until_usec = 0; /* the kill's settling covers the reclaim, too */
    }
    return gained;
}
