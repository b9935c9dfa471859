/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reclaim to swap instead of a kill: first memory of frozen containers, then of running containers.
 *
 * A running victim that loses a part of its pages survives and slows down; a killed container loses all its work. But
 * a kill returns memory with certainty and within a fraction of a second. So running containers are reclaimed only
 * where the figures predict success:
 *
 *   - swap has twice the wanted space. The wanted amount reaches a little below beta, because
 *     otherwise the next page would exceed beta again;
 *   - at the speed of the latest reclaims, less the growth of use, the reclaim takes no longer than
 *     reclaim_usec, and less than half of the time in which the growth would reach the capacity,
 *     where the kernel kills;
 *   - no victim loses more than half of its memory; the rest is assumed to be its working set;
 *   - no victim was reclaimed within NM_RECLAIM_AGAIN_USEC. If use exceeds beta again so soon, the
 *     container has loaded its pages again, and another reclaim would not help.
 *
 * Then the whole amount is reclaimed in one round, from the containers that would be killed, in their order. When the
 * reclaim has ended or timed out, or use grows faster than memory is reclaimed, containers are killed for the rest
 * without waiting for samples to settle.
 *
 * Room for a guaranteed container is made by kills alone, because the container waits and kills are
 * faster.
 */

#include "agent/policy/round.h"

/* Speed that is assumed until a reclaim was measured. Any disk suitable for swap is faster. */
#define ASSUMED_BYTES_PER_SEC (64 * NM_MIB)
/* Maximum number of simultaneous reclaims, because each reclaim has a worker process. */
#define MAX_AT_ONCE 8
/* A shorter reclaim is not worth the start of its worker process. */
#define LEAST_USEC (200 * NM_USEC_PER_MSEC)
/* beta - alpha divided by this number is reclaimed beyond the need. */
#define MARGIN_DIVISOR 8
/* Growth is averaged over at least this time, since a single jump may not continue. In a surge, use continues to jump,
 * as the next two or three extra samples show. */
#define GROWTH_USEC (250 * NM_USEC_PER_MSEC)

/* Returns a * b / c without overflow of the product; saturates. */
static uint64_t scaled(uint64_t a, uint64_t b, uint64_t c)
{
    unsigned __int128 x = c > 0 ? (unsigned __int128)a * b / c : UINT64_MAX;

    return x > UINT64_MAX ? UINT64_MAX : (uint64_t)x;
}

void nm_policy_reclaim_tick(struct nm_round *r)
{
    struct nm_policy *p = r->p;
    uint64_t now = r->in_use[NM_MEMORY], elapsed;

    if (!r->has_new_sample)
        return;
    elapsed = nm_sub_u64(r->in->node.at_usec, p->grown_at_usec);
    if (p->grown_at_usec > 0)
        p->growth_per_sec = scaled(nm_sub_u64(now, p->grown_from), NM_USEC_PER_SEC,
                                   NM_MAX(elapsed, GROWTH_USEC));
    if (p->grown_at_usec > 0 && elapsed < GROWTH_USEC && now >= p->grown_from)
        return;
    p->grown_from = now;
    p->grown_at_usec = r->in->node.at_usec;
}

/* Returns the time until memory use reaches the capacity, where the kernel OOM-kills, if use keeps growing at
 * p->growth_per_sec. UINT64_MAX: use doesn't grow. */
static uint64_t time_left(const struct nm_round *r)
{
    uint64_t room = nm_sub_u64(r->capacity[NM_MEMORY], r->in_use[NM_MEMORY]);

    return r->p->growth_per_sec > 0 ? scaled(room, NM_USEC_PER_SEC, r->p->growth_per_sec) : UINT64_MAX;
}

/*
 * Reclaims memory of frozen containers, which a reclaim does not slow down. Such a reclaim is tried once per pause, so
 * it aims for alpha, not just for beta. Returns the expected gain.
 */
uint64_t nm_policy_reclaim_frozen(struct nm_round *r)
{
    uint64_t wanted = nm_sub_u64(nm_sub_u64(r->in_use[NM_MEMORY], r->pending_measured[NM_MEMORY]),
                                 r->alpha[NM_MEMORY]);
    uint64_t swap = r->s->can_reclaim ? r->in->node.swap_free_bytes : 0, gained = 0;

    for (size_t k = 0; k < r->n_paused; k++) {
        uint32_t i = r->p->paused[k].index;
        struct nm_policy_container *v = r->in->views[i];
        uint64_t most = NM_MIN(v->measured.memory_bytes, swap);
        uint64_t bytes = NM_MIN(most, nm_sub_u64(wanted, gained));
        struct nm_policy_action *a;

        if (v->type != NM_OPPORTUNISTIC || v->exempt || v->reclaimed ||
            r->p->taken[i] != NM_TAKEN_NOT || bytes < NM_LEAST_MEMORY_BYTES)
            continue;
        a = nm_policy_add_action(r, NM_ACTION_RECLAIM, NM_REASON_FROZEN_MEMORY, i);
        a->predicted.memory_bytes = bytes;
        a->used = (struct nm_resources){r->in_use[NM_MEMORY], r->in_use[NM_CPU]};
        r->p->taken[i] = NM_TAKEN_RECLAIM;
        gained += bytes;
        swap -= bytes;
        r->n_slow++;
    }
    r->pending_estimate[NM_MEMORY] = nm_add_u64(r->pending_estimate[NM_MEMORY], gained);
    return gained;
}

/* Returns whether swap has enough space and the reclaim would end in time. */
static bool is_worth_trying(const struct nm_round *r, uint64_t bytes, uint64_t *ret_within_usec)
{
    uint64_t speed = r->in->reclaim_bytes_per_sec ? r->in->reclaim_bytes_per_sec
                                                  : ASSUMED_BYTES_PER_SEC;
    uint64_t takes = scaled(bytes, NM_USEC_PER_SEC, nm_sub_u64(speed, r->p->growth_per_sec));

    if (!r->s->can_reclaim || bytes > r->in->node.swap_free_bytes / 2 ||
        takes > r->s->reclaim_usec || takes > time_left(r) / 2)
        return false;
    *ret_within_usec = NM_MIN(NM_MAX(2 * takes, LEAST_USEC), r->s->reclaim_usec);
    return r->s->reclaim_usec > 0;
}

static uint64_t sum_of_chosen(const struct nm_round *r, size_t first, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = first; i < first + n; i++)
        if (r->p->candidates[i].passed_over == NM_PASSED_NOT)
            sum = nm_add_u64(sum, r->p->candidates[i].use.memory_bytes);
    return sum;
}

static struct nm_policy_action *add_reclaim(struct nm_round *r, uint32_t i, uint64_t bytes)
{
    struct nm_policy_action *a =
        nm_policy_add_action(r, NM_ACTION_RECLAIM, NM_REASON_RUNNING_MEMORY, i);

    a->predicted.memory_bytes = bytes;
    a->used = (struct nm_resources){r->in_use[NM_MEMORY], r->in_use[NM_CPU]};
    r->p->taken[i] = NM_TAKEN_RECLAIM;
    return a;
}

bool nm_policy_reclaim_running(struct nm_round *r, uint64_t over_bytes)
{
    struct nm_need need = {
        .resource = NM_MEMORY,
        .amount = nm_add_u64(over_bytes, (r->beta[NM_MEMORY] - r->alpha[NM_MEMORY]) / MARGIN_DIVISOR),
        .reclaim = true,
        .max_victims = MAX_AT_ONCE,
    };
    uint64_t within;
    size_t first, n;

    if (!is_worth_trying(r, need.amount, &within))
        return false;
    n = nm_victims_choose(r, &need, &first);
    if (sum_of_chosen(r, first, n) < need.amount) {
        r->n_candidates = first; /* the candidates of the kills reuse these entries */
        return false;
    }
    for (size_t i = 0; i < n && need.amount > 0; i++) {
        uint64_t bytes = NM_MIN(r->p->candidates[first + i].use.memory_bytes, need.amount);
        struct nm_policy_action *a;

        if (r->p->candidates[first + i].passed_over != NM_PASSED_NOT)
            continue;
        a = add_reclaim(r, r->p->victims[i].index, bytes);
        a->within_usec = within;
        a->first_candidate = (uint32_t)first;
        a->n_candidates = (uint32_t)n;
        need.amount -= bytes;
    }
    r->p->reclaim_until_usec = nm_add_u64(r->in->now_usec, within);
    return true;
}

bool nm_policy_reclaim_is_over(struct nm_round *r)
{
    uint64_t until = r->p->reclaim_until_usec, now = r->in->now_usec;

    if (until == 0 || !r->has_new_sample ||
        (r->n_reclaiming > 0 && now < until && time_left(r) > until - now))
        return false;
    r->p->reclaim_until_usec = 0;
    return true;
}
