/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The choice of victims. From all opportunistic containers that could yield an amount of the scarce resource, just as
 * many as needed are chosen, in the configured order:
 *
 *  1. Candidates are sorted. Candidates inside their minimum run time come last in every order.
 *  2. Candidates are chosen from the front until the need is met.
 *  3. Chosen candidates that turn out to be unnecessary (a later candidate yields much more) are
 *     spared again, beginning with the last one of the order.
 *
 * "fewest-victims" chooses the largest candidates first, because this order gives the smallest number of victims. Then
 * the last victim is exchanged for the smallest candidate that still suffices. (The least excess over all sets of that
 * size is a subset-sum problem; for one victim the result is exact.) "app-fair" keeps the applications in a heap, since
 * an application's holdings shrink with every victim. The run time is O(n log n).
 */

#include "agent/policy/round.h"

/* Bits of nm_sort_entry.note in p->victims; the application is stored above them. After sorting, consecutive entries
 * refer to containers at scattered addresses, so values needed again are kept in the entry or in p->credits. */
enum {
    CHOSEN = 1 << 0,
    PROTECTED = 1 << 1,
    GIVES_NOTHING = 1 << 2,
    EXEMPT = 1 << 3,
    FREEZE_HANGS = 1 << 4,
    APP_SHIFT = 5
};
#define UNUSABLE (GIVES_NOTHING | EXEMPT | FREEZE_HANGS)

static bool in_minimum_run_time(const struct nm_policy_container *v, uint64_t now_usec)
{
    return v->min_runtime_usec > 0 && now_usec < nm_add_u64(v->started_usec, v->min_runtime_usec);
}

static bool freeze_hung_lately(const struct nm_policy_container *v, uint64_t now_usec)
{
    return v->freeze_failed_usec > 0 &&
           now_usec < nm_add_u64(v->freeze_failed_usec, NM_FREEZE_AGAIN_USEC);
}

static bool reclaimed_lately(const struct nm_policy_container *v, uint64_t now_usec)
{
    return v->reclaiming || (v->reclaimed_usec > 0 &&
                             now_usec < nm_add_u64(v->reclaimed_usec, NM_RECLAIM_AGAIN_USEC));
}

static bool comes_after(const struct nm_round *r, const struct nm_policy_container *v,
                        const struct nm_policy_container *head)
{
    uint64_t a[2], b[2];

    nm_queue_keys(r->s, r->in, v, a);
    nm_queue_keys(r->s, r->in, head, b);
    return a[0] != b[0] ? a[0] > b[0] : a[1] > b[1];
}

bool nm_policy_has_passed(const struct nm_round *r, const struct nm_policy_container *v,
                          const struct nm_policy_container *head)
{
    return v->passed && v->type == NM_OPPORTUNISTIC && !v->exempt && nm_policy_container_placed(v) &&
           v->started_usec >= head->submitted_usec && comes_after(r, v, head);
}

static bool is_candidate(const struct nm_round *r, const struct nm_need *need, uint32_t i)
{
    const struct nm_policy_container *v = r->in->views[i];

    if (v->type != NM_OPPORTUNISTIC || !nm_policy_container_placed(v) || v->state == NM_KILLING ||
        r->p->taken[i] != NM_TAKEN_NOT)
        return false;
    if (need->head && !nm_policy_has_passed(r, v, need->head))
        return false;
    return need->kill || v->state == NM_RUNNING; /* memory of frozen containers was reclaimed already */
}

static struct nm_resources victim_credit(const struct nm_round *r, const struct nm_need *need,
                                         uint32_t i)
{
    const struct nm_policy_container *v = r->in->views[i];
    struct nm_resources credit = need->by_estimate ? r->p->estimates[i] : v->measured;

    /* The last sample of a frozen container may still show CPU use from before the freeze. */
    if (v->state == NM_PAUSED)
        credit.cpu_millicores = 0;
    if (need->reclaim) {
        credit.cpu_millicores = 0;
        credit.memory_bytes = reclaimed_lately(v, r->in->now_usec) ? 0 : credit.memory_bytes / 2;
    } else if (!need->kill) {
        credit.memory_bytes = 0;
    }
    return credit;
}

static uint64_t least_useful(enum nm_resource r)
{
    return r == NM_MEMORY ? NM_LEAST_MEMORY_BYTES : NM_LEAST_CPU_MILLICORES;
}

static uint64_t credit_of(const struct nm_round *r, const struct nm_sort_entry *e)
{
    return r->p->credits[e->index];
}

static uint64_t order_key(const struct nm_round *r, const struct nm_policy_container *v, uint64_t credit)
{
    switch (r->s->victim_order) {
    case NM_VICTIM_LEAST_WORK_LOST:
        return v->cpu_usage_usec;
    case NM_VICTIM_FEWEST_VICTIMS:
        return ~credit;
    case NM_VICTIM_REVERSE_ARRIVAL:
    case NM_VICTIM_APP_FAIR:
        break;
    }
    return ~v->started_usec;
}

static struct nm_sort_entry entry(struct nm_round *r, const struct nm_need *need, uint32_t i)
{
    const struct nm_policy_container *v = r->in->views[i];
    struct nm_resources use = victim_credit(r, need, i);
    uint64_t credit = nm_resources_get(&use, need->resource);
    uint32_t app = (uint32_t)NM_MIN((size_t)v->app, r->in->n_apps);
    struct nm_sort_entry e = {
        .k = {order_key(r, v, credit), ~v->seq}, .index = i, .note = app << APP_SHIFT};

    r->p->credits[i] = credit;
    if (v->exempt)
        e.note |= EXEMPT;
    if (credit < least_useful(need->resource))
        e.note |= GIVES_NOTHING;
    if (!need->kill && !need->reclaim && freeze_hung_lately(v, r->in->now_usec))
        e.note |= FREEZE_HANGS;
    return e;
}

/* Appends to the n existing entries the candidates that are (or are not) inside their minimum run time. */
static size_t collect(struct nm_round *r, const struct nm_need *need, bool protected, size_t n)
{
    size_t first = n;

    for (uint32_t i = 0; i < r->in->n_views; i++) {
        if (!is_candidate(r, need, i) ||
            in_minimum_run_time(r->in->views[i], r->in->now_usec) != protected)
            continue;
        r->p->victims[n] = entry(r, need, i);
        r->p->victims[n++].note |= protected ? PROTECTED : 0;
    }
    nm_sort(r->p->victims + first, r->p->scratch, n - first);
    return n;
}

/* ---- app-fair -------------------------------------------------------------------------------- */

#define NO_ENTRY UINT32_MAX

/* The application that holds more comes first. Between applications that hold the same amount, the application with the
 * earlier next victim comes first. */
static bool app_before(const struct nm_policy *p, uint32_t a, uint32_t b)
{
    if (p->app_held[a] != p->app_held[b])
        return p->app_held[a] > p->app_held[b];
    return p->app_head[a] < p->app_head[b];
}

static void sift_down(struct nm_policy *p, size_t n, size_t i)
{
    for (;;) {
        size_t first = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (app_before(p, p->app_heap[child], p->app_heap[first]))
                first = child;
        if (first == i)
            return;
        uint32_t swap = p->app_heap[i];
        p->app_heap[i] = p->app_heap[first];
        p->app_heap[first] = swap;
        i = first;
    }
}

static uint32_t app_of(const struct nm_sort_entry *e)
{
    return e->note >> APP_SHIFT;
}

/* Chains the entries from..to, which are in reverse order of arrival, by application. Returns the heap's size. */
static size_t chain_by_app(struct nm_round *r, size_t from, size_t to)
{
    struct nm_policy *p = r->p;
    size_t n_heap = 0;

    for (size_t a = 0; a <= r->in->n_apps; a++)
        p->app_head[a] = NO_ENTRY;
    for (size_t i = to; i-- > from;) {
        uint32_t app = app_of(&p->victims[i]);

        p->app_next[i] = p->app_head[app];
        p->app_head[app] = (uint32_t)i;
    }
    for (uint32_t a = 0; a <= r->in->n_apps; a++)
        if (p->app_head[a] != NO_ENTRY)
            p->app_heap[n_heap++] = a;
    for (size_t i = n_heap / 2; i-- > 0;)
        sift_down(p, n_heap, i);
    return n_heap;
}

static void order_by_app_range(struct nm_round *r, size_t from, size_t to)
{
    struct nm_policy *p = r->p;
    size_t n_heap = chain_by_app(r, from, to);

    for (size_t out = from; n_heap > 0; out++) {
        uint32_t app = p->app_heap[0];
        const struct nm_sort_entry *e = &p->victims[p->app_head[app]];

        p->scratch[out] = *e;
        p->app_held[app] = nm_sub_u64(p->app_held[app], e->note & UNUSABLE ? 0 : credit_of(r, e));
        p->app_head[app] = p->app_next[p->app_head[app]];
        if (p->app_head[app] == NO_ENTRY)
            p->app_heap[0] = p->app_heap[--n_heap];
        sift_down(p, n_heap, 0);
    }
    memcpy(p->victims + from, p->scratch + from, (to - from) * sizeof(*p->victims));
}

static void order_by_app(struct nm_round *r, size_t n_open, size_t n)
{
    for (size_t a = 0; a <= r->in->n_apps; a++)
        r->p->app_held[a] = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t app = app_of(&r->p->victims[i]);

        r->p->app_held[app] = nm_add_u64(r->p->app_held[app], credit_of(r, &r->p->victims[i]));
    }
    order_by_app_range(r, 0, n_open);
    order_by_app_range(r, n_open, n);
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Chooses the victims with the index `from` to `to` - 1, in this order, until the need is met. Returns the amount still
 * missing. */
static uint64_t take(struct nm_round *r, const struct nm_need *need, uint64_t missing, size_t from,
                     size_t to, uint32_t *n_chosen)
{
    for (size_t i = from; i < to && missing > 0 && *n_chosen < need->max_victims; i++) {
        struct nm_sort_entry *e = &r->p->victims[i];

        if (e->note & UNUSABLE)
            continue;
        e->note |= CHOSEN;
        ++*n_chosen;
        missing = nm_sub_u64(missing, credit_of(r, e));
    }
    return missing;
}

/* Returns by how much the chosen victims exceed the need. */
static uint64_t excess(const struct nm_round *r, const struct nm_need *need, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        if (r->p->victims[i].note & CHOSEN)
            sum = nm_add_u64(sum, credit_of(r, &r->p->victims[i]));
    return nm_sub_u64(sum, need->amount);
}

static void spare(struct nm_round *r, const struct nm_need *need, size_t n)
{
    uint64_t left = excess(r, need, n);

    for (size_t i = n; i-- > 0;) {
        struct nm_sort_entry *e = &r->p->victims[i];

        if (e->note & CHOSEN && credit_of(r, e) <= left) {
            e->note &= ~(uint32_t)CHOSEN;
            left -= credit_of(r, e);
        }
    }
}

/* Within from..to, largest first: replaces the smallest chosen victim by the smallest candidate that still meets the
 * need. */
static void exchange_last(struct nm_round *r, const struct nm_need *need, size_t from, size_t to,
                          size_t n)
{
    struct nm_sort_entry *e = r->p->victims;
    uint64_t left = excess(r, need, n);
    size_t last = to;

    for (size_t i = from; i < to; i++)
        if (e[i].note & CHOSEN)
            last = i;
    if (last == to)
        return;
    for (size_t i = to; i-- > last + 1;) {
        if (e[i].note & UNUSABLE || credit_of(r, &e[last]) - credit_of(r, &e[i]) > left)
            continue;
        e[last].note &= ~(uint32_t)CHOSEN;
        e[i].note |= CHOSEN;
        return;
    }
}

static void choose(struct nm_round *r, const struct nm_need *need, size_t n_open, size_t n)
{
    uint32_t n_chosen = 0;
    uint64_t missing = take(r, need, need->amount, 0, n_open, &n_chosen);
    bool only_open = missing == 0;

    if (!only_open)
        missing = take(r, need, missing, n_open, n, &n_chosen);
    if (missing > 0)
        return;
    spare(r, need, n);
    if (r->s->victim_order == NM_VICTIM_FEWEST_VICTIMS)
        exchange_last(r, need, only_open ? 0 : n_open, only_open ? n_open : n, n);
}

static enum nm_passed_over why_passed_over(uint32_t note)
{
    if (note & CHOSEN)
        return NM_PASSED_NOT;
    if (note & EXEMPT)
        return NM_PASSED_EXEMPT;
    if (note & FREEZE_HANGS)
        return NM_PASSED_FREEZE_HANGS;
    if (note & GIVES_NOTHING)
        return NM_PASSED_GIVES_NOTHING;
    return note & PROTECTED ? NM_PASSED_MIN_RUNTIME : NM_PASSED_NOT_NEEDED;
}

size_t nm_victims_choose(struct nm_round *r, const struct nm_need *need, size_t *ret_first)
{
    struct nm_policy *p = r->p;
    size_t n_open = collect(r, need, false, 0), n = collect(r, need, true, n_open);

    if (r->s->victim_order == NM_VICTIM_APP_FAIR)
        order_by_app(r, n_open, n);
    choose(r, need, n_open, n);
    *ret_first = r->n_candidates;
    for (size_t i = 0; i < n; i++) {
        const struct nm_sort_entry *e = &p->victims[i];

        p->candidates[r->n_candidates++] = (struct nm_policy_candidate){
            .view = r->in->views[e->index],
            .use = victim_credit(r, need, e->index),
            .passed_over = why_passed_over(e->note),
        };
    }
    return n;
}
