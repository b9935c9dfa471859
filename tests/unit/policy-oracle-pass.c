/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Checks agent/policy/policy-pass.c. A passer is a container that was admitted before the head of the queue, although
 * it arrived later. While the head would fit without its passers, no further container may pass the head. The head may
 * wait in this state for settings.backfill_usec at most. In some rounds the oracle does not check these two rules (see
 * is_not_checked()), and starts to count the head's delay again from 0. The policy keeps counting. So the policy may
 * kill passers earlier than the oracle requires, but not later.
 */

#include <inttypes.h>

#include "tests/unit/policy-oracle.h"

static bool placed(const struct nm_policy_container *v)
{
    return v->state >= NM_SCHEDULED && v->state <= NM_KILLING && (v->state != NM_SCHEDULED || v->admitted);
}

static bool has_passed(const struct nm_policy_container *v, const struct nm_policy_container *head)
{
    return placed(v) && v->passed && !v->exempt && v->type == NM_OPPORTUNISTIC && v->seq > head->seq &&
           v->started_usec >= head->submitted_usec;
}

static double part(const struct nm_resources *r, int k)
{
    return k == NM_MEMORY ? (double)r->memory_bytes : (double)r->cpu_millicores;
}

/* Returns whether the head would fit without the containers that passed it. The sums include the containers that this
 * round admitted before the head was considered, but not containers that pass the head in this round. */
static bool fits_without_passers(const struct simulation *w, const struct nm_policy_container *head)
{
    const struct nm_policy_settings *s = &w->settings;
    bool any = false, plain = true, over = s->over_allocation;
    double theirs[2] = {0}, asked[2] = {0}, all[2] = {0};

    for (size_t i = 0; i < w->in.n_views; i++) {
        const struct nm_policy_container *v = w->in.views[i];

        for (int k = 0; k < 2 && placed(v); k++)
            all[k] += part(&v->request, k);
        if (!has_passed(v, head))
            continue;
        any = true;
        theirs[NM_MEMORY] += (double)nm_estimate(s, v, w->in.now_usec).memory_bytes;
        asked[NM_MEMORY] += (double)v->request.memory_bytes;
    }
    for (size_t i = 0; i < w->verdict.n_actions; i++)
        if (w->verdict.actions[i].type == NM_ACTION_ADMIT && !w->verdict.actions[i].on_behalf_of)
            for (int k = 0; k < 2; k++)
                all[k] += part(&w->verdict.actions[i].target->request, k);
    for (int k = 0; k < 2; k++) {
        double c = part(&s->offered, k) > 0 ? part(&s->offered, k) : part(&s->capacity, k);
        double used = part(&w->verdict.queue_used, k) - theirs[k];
        double alpha = k == NM_MEMORY ? s->over_allocation_threshold.memory : s->over_allocation_threshold.cpu;
        double beta = k == NM_MEMORY ? s->preemption_threshold.memory : s->preemption_threshold.cpu;
        double after = used + part(&head->request, k);

        beta = s->over_allocation ? (double)(uint64_t)(c * beta) : c;
        alpha = (double)(uint64_t)(c * alpha);
        plain = plain && all[k] - asked[k] + part(&head->request, k) <= c && used < beta && after <= c;
        over = over && used < alpha && after <= beta;
    }
    return any && (plain || over);
}

static bool is_not_checked(const struct simulation *w)
{
    if (w->settings.queue_order != NM_QUEUE_FIFO || w->verdict.margin_bytes + w->verdict.surge_usec > 0)
        return true;
    for (size_t i = 0; i < w->in.n_views; i++)
        if (w->in.views[i]->state == NM_PAUSED || w->in.views[i]->state == NM_KILLING)
            return true;
    switch (w->verdict.queue_reason) {
    case NM_REASON_OVER_ALPHA:
    case NM_REASON_WOULD_EXCEED_BETA:
    case NM_REASON_ALLOCATION_FULL:
        return false;
    default:
        return true;
    }
}

static const char *check_actions(const struct simulation *w, const struct nm_policy_container *due, bool *ret_cleared)
{
    for (size_t i = 0; i < w->verdict.n_actions; i++) {
        const struct nm_policy_action *a = &w->verdict.actions[i];
        const struct nm_policy_container *head = a->on_behalf_of;

        if (a->type == NM_ACTION_ADMIT && head && (w->settings.backfill_usec == 0 || a->target->exempt))
            return "a container that must not pass the head passes it";
        if (a->type == NM_ACTION_ADMIT && head && head == due)
            return "a container passes a head that only passers keep out";
        if (a->reason != NM_REASON_ROOM_FOR_HEAD)
            continue;
        *ret_cleared = true;
        if (!head || head->state != NM_SCHEDULED || head->admitted || !a->target->passed ||
            (w->settings.queue_order == NM_QUEUE_FIFO && !has_passed(a->target, head)))
            return "a container is killed for a head that it has not passed";
        if (w->in.now_usec < head->submitted_usec + w->settings.backfill_usec)
            return "a container that passed another one is killed too early";
    }
    return NULL;
}

const char *oracle_check_passing(struct oracle_passing *o, const struct simulation *w)
{
    const struct nm_policy_container *head = w->verdict.queue_head;
    bool away = is_not_checked(w), due = !away && fits_without_passers(w, head), cleared = false;
    const char *r = check_actions(w, due ? head : NULL, &cleared);

    if (r)
        return r;
    if (away || cleared || head->seq != o->head)
        *o = (struct oracle_passing){.head = away || cleared ? 0 : head->seq, .due = due, .at = w->in.now_usec};
    if (due && o->due)
        o->delay += w->in.now_usec - o->at;
    o->due = due;
    o->at = w->in.now_usec;
    /* a passer that uses less than 1 MiB need not be killed */
    if (due && w->settings.backfill_usec > 0 && o->delay >= w->settings.backfill_usec)
        for (size_t i = 0; i < w->in.n_views; i++)
            if (has_passed(w->in.views[i], head) &&
                nm_estimate(&w->settings, w->in.views[i], w->in.now_usec).memory_bytes >= NM_MIB)
                return "a head whose passers keep it out waits for longer than backfill_usec";
    return NULL;
}

/* Checks that at most 16 opportunistic containers start within 20 ms. The policy must request a round within 20 ms for
 * a container that this limit holds back, because the next sample would come too late. */
const char *oracle_check_starts(struct oracle_starts *o, const struct simulation *w)
{
    if (o->since == 0 || w->in.now_usec >= o->since + 20 * NM_USEC_PER_MSEC)
        *o = (struct oracle_starts){.since = w->in.now_usec};
    for (size_t i = 0; i < w->verdict.n_actions; i++)
        o->n += w->verdict.actions[i].type == NM_ACTION_ADMIT &&
                w->verdict.actions[i].target->type == NM_OPPORTUNISTIC;
    if (o->n > 16)
        return "more than 16 opportunistic containers are started within 20 ms";
    if (w->verdict.queue_reason == NM_REASON_NEXT_ROUND && o->n < 16)
        return "a container that could start now is held for the next round";
    if (w->verdict.queue_reason == NM_REASON_NEXT_ROUND &&
        (w->verdict.wake_usec <= w->in.now_usec || w->verdict.wake_usec > w->in.now_usec + 20 * NM_USEC_PER_MSEC))
        return "no round within 20 ms for a container that waits for the next round";
    return NULL;
}
