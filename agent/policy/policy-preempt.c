/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Preemption: pause deadlines, memory and CPU over beta, and room for guaranteed containers.
 *
 * Four rules prevent taking back too much. A victim's resources count as free as soon as it is chosen (pending). Then
 * the resource settles: no more is taken until the victims have ended and some samples show the new state. The count of
 * consecutive samples over beta starts again after each victim. Kills have a budget. Waiting is bounded, too: a victim
 * that has not ended after NM_STUCK_USEC is neither credited nor waited for.
 *
 * Memory must not settle for too long. If use exceeds the middle between beta and the capacity, the kernel could start
 * to kill before two samples were taken. In that range a single sample taken after the victims' end is enough.
 *
 * Room for guaranteed containers needs no settling or samples, because its computation credits pending resources
 * exactly.
 */

#include "agent/policy/round.h"

/* Counts the consecutive samples over beta. A sample that comes early, because a timer catches up after a delay, is not
 * counted. */
static void count_over_beta(struct nm_round *r)
{
    struct nm_policy *p = r->p;
    bool over = r->cpu_known && r->s->over_allocation && nm_round_cpu_over(r);
    uint64_t at = r->in->node.at_usec, period = r->s->period_usec, passed;

    if (!over) {
        p->cpu_over = r->in->trigger == NM_TRIGGER_SAMPLE ? 0 : p->cpu_over;
        return;
    }
    if (p->cpu_over == 0) {
        p->cpu_over = 1;
        p->cpu_over_usec = at;
        return;
    }
    passed = nm_add_u64(nm_sub_u64(at, p->cpu_over_usec), period / NM_JITTER_DIVISOR);
    if (r->in->trigger == NM_TRIGGER_SAMPLE && passed >= p->cpu_over * period)
        p->cpu_over++;
}

/* Returns whether all victims have ended. The effect of a worker's reclaim is known only when the reclaim is complete.
 * Therefore a running reclaim counts as a victim that has not ended, for at most NM_STUCK_USEC. */
static bool all_ended(const struct nm_round *r, enum nm_resource which)
{
    bool reclaiming = which == NM_MEMORY && r->n_reclaiming > 0;

    return r->n_pending[which] == 0 &&
           (!reclaiming || r->in->now_usec - r->p->taken_usec[which] > NM_STUCK_USEC);
}

/* Updates the counters for this sample, before any decision. */
void nm_policy_preempt_tick(struct nm_round *r)
{
    struct nm_policy *p = r->p;
    bool counts = r->in->trigger == NM_TRIGGER_SAMPLE;

    if (p->victims_ended_usec == UINT64_MAX && all_ended(r, NM_MEMORY))
        p->victims_ended_usec = r->in->now_usec;
    if ((!counts && r->in->trigger != NM_TRIGGER_EXTRA_SAMPLE) || (r->fresh && !r->has_new_sample))
        return;
    count_over_beta(r);
    if (counts && r->cpu_known && p->awake_samples < UINT32_MAX)
        p->awake_samples++;
    for (enum nm_resource k = NM_MEMORY; counts && r->fresh && k < NM_RESOURCE_COUNT; k++)
        if (all_ended(r, k) && p->quiet[k] < UINT32_MAX)
            p->quiet[k]++;
}

#define LARGE_GROWTH_DIVISOR 64 /* growth is large if it exceeds the capacity divided by this number */

enum nm_growth nm_policy_classify_growth(const struct nm_policy_settings *s, uint64_t in_use_bytes,
                                         uint64_t grown_bytes)
{
    uint64_t capacity = s->capacity.memory_bytes;
    uint64_t beta = (uint64_t)((double)capacity * s->preemption_threshold.memory);

    if (grown_bytes > 0 && in_use_bytes <= beta && in_use_bytes + grown_bytes > beta)
        return NM_GROWTH_CROSSES;
    return grown_bytes > capacity / LARGE_GROWTH_DIVISOR ? NM_GROWTH_LARGE : NM_GROWTH_SMALL;
}

/* ---- budget and breaker ---------------------------------------------------------------------- */

#define MINUTE_USEC (60 * NM_USEC_PER_SEC)

static uint32_t kills_remaining(const struct nm_round *r)
{
    const struct nm_policy_memory *m = &r->p->memory;
    uint32_t budget = NM_MIN(r->s->kills_per_minute, (uint32_t)NM_ARRAY_SIZE(m->kills_usec)),
             spent = 0;

    for (size_t i = 0; i < NM_ARRAY_SIZE(m->kills_usec); i++)
        if (m->kills_usec[i] > 0 && r->in->now_usec < nm_add_u64(m->kills_usec[i], MINUTE_USEC))
            spent++;
    return (uint32_t)nm_sub_u64(budget, spent);
}

/* Sets the breaker after a kill by the policy or the kernel. The hold began with the previous kill. If `again` is true,
 * this kill follows within two holds of the previous kill. */
void nm_policy_update_breaker(struct nm_round *r)
{
    struct nm_policy_memory *m = &r->p->memory;
    uint64_t most = r->s->breaker_usec * NM_BREAKER_MAX_FACTOR;
    bool again = m->breaker_hold_usec > 0 &&
                 r->in->now_usec <= nm_add_u64(m->breaker_until_usec, m->breaker_hold_usec);

    if (!r->load_kill && r->in->kernel_kills == 0)
        return;
    m->breaker_hold_usec = again ? NM_MIN(2 * m->breaker_hold_usec, most) : r->s->breaker_usec;
    m->breaker_until_usec = nm_add_u64(r->in->now_usec, m->breaker_hold_usec);
}

bool nm_policy_close_breaker(struct nm_policy *p, uint64_t now_usec)
{
    bool was_open = p->memory.breaker_until_usec > now_usec;

    p->memory.breaker_until_usec = p->memory.breaker_hold_usec = 0;
    return was_open;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static void end_pause(struct nm_round *r, uint32_t i)
{
    struct nm_policy_container *v = r->in->views[i];
    struct nm_policy_action *a;

    assert(v->state == NM_PAUSED);
    if (v->type == NM_GUARANTEED || v->exempt) {
        a = nm_policy_add_action(r, NM_ACTION_RESUME, NM_REASON_PAUSE_EXPIRED, i);
        a->predicted.cpu_millicores = nm_policy_container_resume_cpu(r->s, v);
        a->predicted.memory_bytes = r->s->over_allocation ? nm_policy_container_returning(r->s, v) : 0;
        r->used[NM_CPU] = nm_add_u64(r->used[NM_CPU], a->predicted.cpu_millicores);
        r->used[NM_MEMORY] = nm_add_u64(r->used[NM_MEMORY], a->predicted.memory_bytes);
        r->p->taken[i] = NM_TAKEN_RESUME;
        return;
    }
    if (!r->fresh)
        return;
    a = nm_policy_add_action(r, NM_ACTION_KILL, NM_REASON_PAUSE_DEADLINE, i);
    a->predicted.memory_bytes = v->measured.memory_bytes;
    r->p->taken[i] = NM_TAKEN_KILL;
    nm_policy_add_pending(r, i, true);
    if (!v->user_paused)
        nm_policy_record_kill(r, true);
}

/* Resumes containers that can't be frozen, so that these containers keep running as before. Their CPU already counts as
 * in use. */
static void give_up_freezes(struct nm_round *r)
{
    struct nm_sort_entry *stuck = r->p->victims;
    size_t n = 0;

    for (uint32_t i = 0; r->n_pausing > 0 && i < r->in->n_views; i++) {
        const struct nm_policy_container *v = r->in->views[i];

        if (v->state == NM_PAUSING && nm_policy_container_stuck(v, r->in->now_usec))
            stuck[n++] = (struct nm_sort_entry){.k = {v->seq}, .index = i};
    }
    nm_sort(stuck, r->p->scratch, n);
    for (size_t k = 0; k < n; k++) {
        (void)nm_policy_add_action(r, NM_ACTION_RESUME, NM_REASON_FREEZE_HANGS, stuck[k].index);
        r->p->taken[stuck[k].index] = NM_TAKEN_RESUME;
    }
}

/* Returns whether the host woke recently. While the host slept, no container could be resumed. Containers that were
 * paused just before the sleep can't be resumed until the resources have settled. */
static bool just_woken(struct nm_round *r)
{
    struct nm_policy *p = r->p;

    if (r->in->suspended_usec > nm_add_u64(p->suspended_usec, NM_USEC_PER_SEC))
        p->awake_samples = 0;
    p->suspended_usec = r->in->suspended_usec;
    return p->awake_samples <= NM_MAX(r->s->settle_samples, NM_WAKE_SAMPLES);
}

void nm_policy_preempt_deadlines(struct nm_round *r)
{
    give_up_freezes(r);
    if (just_woken(r))
        return;
    for (size_t k = 0; k < r->n_paused; k++) {
        uint32_t i = r->p->paused[k].index;

        if (r->in->now_usec >= r->in->views[i]->pause_deadline_usec)
            end_pause(r, i);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool can_settle(const struct nm_round *r, uint64_t in_use)
{
    uint64_t brink = r->beta[NM_MEMORY] + (r->capacity[NM_MEMORY] - r->beta[NM_MEMORY]) / 2;

    return in_use <= brink || r->p->victims_ended_usec == UINT64_MAX ||
           r->in->node.at_usec < nm_add_u64(r->p->victims_ended_usec, NM_SETTLE_USEC);
}

static void memory_over_beta(struct nm_round *r)
{
    uint64_t expected = nm_sub_u64(r->in_use[NM_MEMORY], r->pending_measured[NM_MEMORY]);
    struct nm_need need = {
        .resource = NM_MEMORY,
        .amount = nm_sub_u64(expected, r->beta[NM_MEMORY]),
        .kill = true,
        .max_victims = kills_remaining(r),
        .reason = NM_REASON_MEMORY_OVER_BETA,
    };
    bool tried = nm_policy_reclaim_is_over(r);
    uint64_t gained;

    if (!r->s->over_allocation || !r->has_new_sample || need.amount == 0)
        return;
    if (nm_round_settling(r, NM_MEMORY) && !tried && can_settle(r, expected)) {
        r->v->preempt_wait_reason = NM_REASON_SETTLING;
        return;
    }
    gained = nm_policy_reclaim_frozen(r);
    need.amount = nm_sub_u64(need.amount, gained);
    if (gained > 0)
        nm_policy_settle(r, NM_MEMORY);
    if (need.amount == 0)
        return;
    if (!tried && nm_policy_reclaim_running(r, need.amount)) {
        nm_policy_settle(r, NM_MEMORY);
        return;
    }
    if (nm_policy_take_back(r, &need) < need.amount && kills_remaining(r) == 0)
        r->v->preempt_wait_reason = NM_REASON_KILL_BUDGET;
}

/* Returns by how much U and the claims of waiting guaranteed containers exceed beta, less pending resources. */
static uint64_t room_missing(const struct nm_round *r, enum nm_resource which)
{
    uint64_t wanted = nm_add_u64(r->used[which], r->claimed[which]);

    if (r->n_guaranteed_waiting == 0 || r->claimed[which] == 0)
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
        nm_policy_take_back(r, &room);
}

/* ---- CPU ------------------------------------------------------------------------------------- */

static bool can_take_cpu(const struct nm_policy_settings *s)
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
        .max_victims = r->s->pause_enabled ? UINT32_MAX : kills_remaining(r),
        .reason = NM_REASON_CPU_OVER_BETA,
        .consecutive_samples = r->p->cpu_over,
    };

    if (!r->s->over_allocation || !r->has_new_sample || r->in->trigger == NM_TRIGGER_PRESSURE ||
        need.amount == 0 || r->p->cpu_over == 0 || r->p->cpu_over < r->s->cpu_samples)
        return;
    if (nm_round_settling(r, NM_CPU)) {
        r->v->preempt_wait_reason = NM_REASON_SETTLING;
        return;
    }
    if (nm_policy_take_back(r, &need) < need.amount && need.kill && kills_remaining(r) == 0)
        r->v->preempt_wait_reason = NM_REASON_KILL_BUDGET;
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

    if (!can_take_cpu(r->s))
        return;
    cpu_over_beta(r);
    room.amount = room_missing(r, NM_CPU);
    if (room.amount > 0)
        nm_policy_take_back(r, &room);
}
