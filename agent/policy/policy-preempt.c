/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Taking back: pause deadlines, memory and CPU over beta, and room for guaranteed containers.
 *
 * What keeps it from overdoing it: a victim counts as gone as soon as it is chosen (pending); then
 * the resource settles, that is, waits until the victims are really gone and some samples have
 * shown the new state; the samples over beta are counted anew after a victim was taken; kills have
 * a budget. What keeps it from waiting for ever: a victim that is not gone after NM_STUCK_USEC is
 * neither credited nor waited for.
 *
 * Room for guaranteed containers doesn't wait for settling or samples: what is pending is exactly
 * credited there.
 */

#include "agent/policy/policy-internal.h"

static void settle(struct nm_round *r, enum nm_resource which)
{
    r->p->quiet[which] = 0;
    r->p->taken_usec[which] = r->in->now_usec;
}

/* Before anything is decided: what does this sample mean for counters? */
void nm_policy_preempt_tick(struct nm_round *r)
{
    struct nm_policy *p = r->p;

    if (r->in->trigger != NM_TRIGGER_SAMPLE || (r->fresh && !r->judging))
        return;
    if (r->cpu_known && r->s->over_allocation && r->in_use[NM_CPU] > r->beta[NM_CPU])
        p->cpu_over++;
    else
        p->cpu_over = 0;
    for (enum nm_resource k = NM_MEMORY; r->fresh && k < NM_RESOURCE_COUNT; k++) {
        bool gone = r->n_pending[k] == 0 || r->in->now_usec - p->taken_usec[k] > NM_STUCK_USEC;

        if (gone && p->quiet[k] < UINT32_MAX)
            p->quiet[k]++;
    }
}

#define LARGE_GROWTH_SHARE 64 /* of the capacity */

enum nm_growth nm_policy_judge_growth(const struct nm_policy_settings *s, uint64_t in_use_bytes,
                                      uint64_t grown_bytes)
{
    uint64_t capacity = s->capacity.memory_bytes;
    uint64_t beta = (uint64_t)((double)capacity * s->preemption_threshold.memory);

    if (grown_bytes > 0 && in_use_bytes <= beta && in_use_bytes + grown_bytes > beta)
        return NM_GROWTH_CROSSES;
    return grown_bytes > capacity / LARGE_GROWTH_SHARE ? NM_GROWTH_LARGE : NM_GROWTH_SMALL;
}

/* ---- budget and breaker ---------------------------------------------------------------------- */

#define MINUTE_USEC (60 * NM_USEC_PER_SEC)

static uint32_t kills_left(const struct nm_round *r)
{
    const struct nm_policy_memory *m = &r->p->memory;
    uint32_t budget = NM_MIN(r->s->kills_per_minute, (uint32_t)NM_ARRAY_SIZE(m->kills_usec)),
             spent = 0;

    for (size_t i = 0; i < NM_ARRAY_SIZE(m->kills_usec); i++)
        if (m->kills_usec[i] > 0 && r->in->now_usec < nm_add_u64(m->kills_usec[i], MINUTE_USEC))
            spent++;
    return (uint32_t)nm_sub_u64(budget, spent);
}

uint64_t nm_policy_preempt_last_kill(const struct nm_policy_memory *m)
{
    uint64_t last = 0;

    for (size_t i = 0; i < NM_ARRAY_SIZE(m->kills_usec); i++)
        last = NM_MAX(last, m->kills_usec[i]);
    return last;
}

void nm_policy_preempt_breaker(struct nm_round *r, uint64_t last_kill_usec)
{
    struct nm_policy_memory *m = &r->p->memory;
    uint64_t most = r->s->breaker_usec * NM_BREAKER_MAX_FACTOR;
    bool again = last_kill_usec > 0 && m->breaker_hold_usec > 0 &&
                 r->in->now_usec <= nm_add_u64(last_kill_usec, 2 * m->breaker_hold_usec);

    if (!r->load_kill)
        return;
    m->breaker_hold_usec = again ? NM_MIN(2 * m->breaker_hold_usec, most) : r->s->breaker_usec;
    m->breaker_until_usec = nm_add_u64(r->in->now_usec, m->breaker_hold_usec);
}

/* ---- carrying a choice into actions ---------------------------------------------------------- */

static void add_pending(struct nm_round *r, uint32_t i, bool kill)
{
    const struct nm_view *v = r->in->views[i];
    const struct nm_resources *estimate = &r->p->estimates[i];

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

/* Whom the next victim serves: guaranteed containers are served in their order, so the first one's
 * part of the need is met first. Walked forward together with the victims. */
struct beneficiary {
    size_t next; /* into p->guaranteed */
    uint64_t claims_after;
};

static struct beneficiary first_beneficiary(const struct nm_round *r, enum nm_resource which)
{
    struct beneficiary b = {.next = r->n_guaranteed - r->n_guaranteed_waiting};

    for (size_t i = b.next + 1; i < r->n_guaranteed; i++)
        b.claims_after = nm_add_u64(
            b.claims_after,
            nm_resources_get(&r->in->views[r->p->guaranteed[i].index]->request, which));
    return b;
}

static const struct nm_view *advance_beneficiary(const struct nm_round *r,
                                                 const struct nm_need *need, uint64_t had,
                                                 struct beneficiary *b)
{
    while (b->next + 1 < r->n_guaranteed && nm_sub_u64(need->amount, b->claims_after) <= had) {
        const struct nm_view *v = r->in->views[r->p->guaranteed[++b->next].index];

        b->claims_after =
            nm_sub_u64(b->claims_after, nm_resources_get(&v->request, need->resource));
    }
    return b->next < r->n_guaranteed ? r->in->views[r->p->guaranteed[b->next].index] : NULL;
}

static struct nm_policy_action *take_one(struct nm_round *r, const struct nm_need *need,
                                         size_t candidate, uint32_t index)
{
    struct nm_policy_action *a =
        nm_policy_add_action(r, need->kill ? NM_ACTION_KILL : NM_ACTION_PAUSE, need->reason, index);

    a->resource = need->resource;
    a->predicted = r->p->candidates[candidate].use;
    a->consecutive_samples = need->consecutive_samples;
    if (!need->by_estimate)
        a->used = (struct nm_resources){r->in_use[NM_MEMORY], r->in_use[NM_CPU]};
    r->p->taken[index] = need->kill ? NM_TAKEN_KILL : NM_TAKEN_PAUSE;
    add_pending(r, index, need->kill);
    if (need->kill)
        nm_policy_record_kill(r, true);
    return a;
}

/* Returns how much will come back. */
static uint64_t take_back(struct nm_round *r, const struct nm_need *need)
{
    size_t first, n = nm_victims_choose(r, need, &first);
    struct beneficiary b = first_beneficiary(r, need->resource);
    uint64_t had = 0;

    for (size_t i = 0; i < n; i++) {
        struct nm_policy_action *a;

        if (r->p->candidates[first + i].passed_over != NM_PASSED_NOT)
            continue;
        a = take_one(r, need, first + i, r->p->victims[i].index);
        a->first_candidate = (uint32_t)first;
        a->n_candidates = (uint32_t)n;
        if (need->reason == NM_REASON_ROOM_FOR_GUARANTEED)
            a->on_behalf_of = advance_beneficiary(r, need, had, &b);
        had = nm_add_u64(had, nm_resources_get(&r->p->candidates[first + i].use, need->resource));
    }
    if (had == 0)
        return 0;
    settle(r, NM_CPU);
    r->p->cpu_over = 0;
    if (need->kill)
        settle(r, NM_MEMORY);
    return had;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static void end_pause(struct nm_round *r, uint32_t i)
{
    struct nm_view *v = r->in->views[i];
    struct nm_policy_action *a;

    if (v->type == NM_GUARANTEED || v->exempt) {
        a = nm_policy_add_action(r, NM_ACTION_RESUME, NM_REASON_PAUSE_EXPIRED, i);
        a->predicted.cpu_millicores = nm_view_resume_cpu(r->s, v);
        r->used[NM_CPU] = nm_add_u64(r->used[NM_CPU], a->predicted.cpu_millicores);
        r->p->taken[i] = NM_TAKEN_RESUME;
        return;
    }
    if (!r->fresh)
        return;
    a = nm_policy_add_action(r, NM_ACTION_KILL, NM_REASON_PAUSE_DEADLINE, i);
    a->predicted.memory_bytes = v->measured.memory_bytes;
    r->p->taken[i] = NM_TAKEN_KILL;
    add_pending(r, i, true);
    if (!v->user_paused)
        nm_policy_record_kill(r, true);
}

void nm_policy_preempt_deadlines(struct nm_round *r)
{
    for (size_t k = 0; k < r->n_paused; k++) {
        uint32_t i = r->p->paused[k].index;

        if (r->in->now_usec >= r->in->views[i]->pause_deadline_usec)
            end_pause(r, i);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * What is frozen can be pushed out to swap without anybody noticing. It is tried once per pause, so
 * each is asked for as much as brings use down to alpha, not just to beta. Returns what should come
 * back.
 */
static uint64_t reclaim(struct nm_round *r)
{
    uint64_t wanted = nm_sub_u64(nm_sub_u64(r->in_use[NM_MEMORY], r->pending_measured[NM_MEMORY]),
                                 r->alpha[NM_MEMORY]);
    uint64_t swap = r->s->can_reclaim ? r->in->node.swap_free_bytes : 0, had = 0;

    for (size_t k = 0; k < r->n_paused; k++) {
        uint32_t i = r->p->paused[k].index;
        struct nm_view *v = r->in->views[i];
        uint64_t most = NM_MIN(v->measured.memory_bytes, swap);
        uint64_t bytes = NM_MIN(most, nm_sub_u64(wanted, had));
        struct nm_policy_action *a;

        if (v->type != NM_OPPORTUNISTIC || v->exempt || v->reclaimed ||
            r->p->taken[i] != NM_TAKEN_NOT || bytes < NM_LEAST_MEMORY_BYTES)
            continue;
        a = nm_policy_add_action(r, NM_ACTION_RECLAIM, NM_REASON_FROZEN_MEMORY, i);
        a->predicted.memory_bytes = bytes;
        a->used = (struct nm_resources){r->in_use[NM_MEMORY], r->in_use[NM_CPU]};
        r->p->taken[i] = NM_TAKEN_RECLAIM;
        had += bytes;
        swap -= bytes;
    }
    if (had > 0)
        settle(r, NM_MEMORY);
    r->pending_estimate[NM_MEMORY] = nm_add_u64(r->pending_estimate[NM_MEMORY], had);
    return had;
}

static void memory_over_beta(struct nm_round *r)
{
    uint64_t expected = nm_sub_u64(r->in_use[NM_MEMORY], r->pending_measured[NM_MEMORY]);
    struct nm_need need = {
        .resource = NM_MEMORY,
        .amount = nm_sub_u64(expected, r->beta[NM_MEMORY]),
        .kill = true,
        .max_victims = kills_left(r),
        .reason = NM_REASON_MEMORY_OVER_BETA,
    };

    if (!r->s->over_allocation || !r->judging || need.amount == 0)
        return;
    if (nm_round_settling(r, NM_MEMORY)) {
        r->v->preempt_hold = NM_REASON_SETTLING;
        return;
    }
    need.amount = nm_sub_u64(need.amount, reclaim(r));
    if (need.amount == 0)
        return;
    if (take_back(r, &need) < need.amount && kills_left(r) == 0)
        r->v->preempt_hold = NM_REASON_KILL_BUDGET;
}

/* U with the claims of waiting guaranteed containers, less what is pending, beyond beta. */
static uint64_t room_missing(const struct nm_round *r, enum nm_resource which)
{
    uint64_t wanted = nm_add_u64(r->used[which], r->claimed[which]);

    if (r->n_guaranteed_waiting == 0)
        return 0;
    return nm_sub_u64(nm_sub_u64(wanted, r->pending_estimate[which]), r->beta[which]);
}

void nm_policy_preempt_memory(struct nm_round *r)
{
    struct nm_need room = {
        .resource = NM_MEMORY,
        .kill = true,
        .by_estimate = true,
        .max_victims = UINT32_MAX,
        .reason = NM_REASON_ROOM_FOR_GUARANTEED,
    };

    memory_over_beta(r);
    room.amount = room_missing(r, NM_MEMORY);
    if (room.amount > 0)
        take_back(r, &room);
}

/* ---- CPU ------------------------------------------------------------------------------------- */

static bool cpu_can_be_had(const struct nm_policy_settings *s)
{
    return !s->pause_enabled || s->can_freeze;
}

static void cpu_over_beta(struct nm_round *r)
{
    uint64_t expected = nm_sub_u64(r->in_use[NM_CPU], r->pending_measured[NM_CPU]);
    struct nm_need need = {
        .resource = NM_CPU,
        .amount = nm_sub_u64(expected, r->beta[NM_CPU]),
        .kill = !r->s->pause_enabled,
        .max_victims = r->s->pause_enabled ? UINT32_MAX : kills_left(r),
        .reason = NM_REASON_CPU_OVER_BETA,
        .consecutive_samples = r->p->cpu_over,
    };

    if (!r->s->over_allocation || !r->judging || r->in->trigger != NM_TRIGGER_SAMPLE ||
        need.amount == 0 || r->p->cpu_over == 0 || r->p->cpu_over < r->s->cpu_samples)
        return;
    if (nm_round_settling(r, NM_CPU)) {
        r->v->preempt_hold = NM_REASON_SETTLING;
        return;
    }
    if (take_back(r, &need) < need.amount && need.kill && kills_left(r) == 0)
        r->v->preempt_hold = NM_REASON_KILL_BUDGET;
}

void nm_policy_preempt_cpu(struct nm_round *r)
{
    struct nm_need room = {
        .resource = NM_CPU,
        .kill = !r->s->pause_enabled,
        .by_estimate = true,
        .max_victims = UINT32_MAX,
        .reason = NM_REASON_ROOM_FOR_GUARANTEED,
    };

    if (!cpu_can_be_had(r->s))
        return;
    cpu_over_beta(r);
    room.amount = room_missing(r, NM_CPU);
    if (room.amount > 0)
        take_back(r, &room);
}
