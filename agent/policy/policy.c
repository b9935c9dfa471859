/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One round of the policy: the survey of all views, then the stages in the order of round.h. Also the policy's creation
 * and end, and the check of new requests.
 */

#include "agent/policy/policy.h"
#include "agent/policy/round.h"
#include "util/array.h"

#define CANDIDATE_LISTS 5 /* two lists per resource (over beta, and room for guaranteed containers), and one list for
                             the queue's head */

int nm_policy_new(struct nm_policy **ret)
{
    struct nm_policy *p = calloc(1, sizeof(*p));

    assert(ret);
    if (!p)
        return -ENOMEM;
    p->squeeze_millicores = NM_NO_SQUEEZE;
    p->guard.quota_millicores = NM_NO_SQUEEZE;
    p->quiet[NM_MEMORY] = p->quiet[NM_CPU] = p->awake_samples = UINT32_MAX;
    p->suspended_usec = UINT64_MAX;
    *ret = p;
    return 0;
}

struct nm_policy *nm_policy_free(struct nm_policy *p)
{
    if (!p)
        return NULL;
    free(p->estimates);
    free(p->taken);
    free(p->credits);
    free(p->queue);
    free(p->guaranteed);
    free(p->paused);
    free(p->victims);
    free(p->scratch);
    free(p->actions);
    free(p->candidates);
    free(p->app_held);
    free(p->app_head);
    free(p->app_heap);
    free(p->app_next);
    free(p);
    return NULL;
}

static int grow_for_views(struct nm_policy *p, size_t n)
{
    int r = 0;

    r = r < 0 ? r : NM_ARRAY_RESIZE(p->estimates, n);
    r = r < 0 ? r : NM_ARRAY_RESIZE(p->taken, n);
    r = r < 0 ? r : NM_ARRAY_RESIZE(p->credits, n);
    r = r < 0 ? r : NM_ARRAY_RESIZE(p->queue, n);
    r = r < 0 ? r : NM_ARRAY_RESIZE(p->guaranteed, n);
    r = r < 0 ? r : NM_ARRAY_RESIZE(p->paused, n);
    r = r < 0 ? r : NM_ARRAY_RESIZE(p->victims, n);
    r = r < 0 ? r : NM_ARRAY_RESIZE(p->scratch, n);
    r = r < 0 ? r : NM_ARRAY_RESIZE(p->actions, n);
    r = r < 0 ? r : NM_ARRAY_RESIZE(p->candidates, n * CANDIDATE_LISTS);
    return r < 0 ? r : NM_ARRAY_RESIZE(p->app_next, n);
}

static int grow_for_apps(struct nm_policy *p, size_t n)
{
    int r = 0;

    r = r < 0 ? r : NM_ARRAY_RESIZE(p->app_held, n + 1);
    r = r < 0 ? r : NM_ARRAY_RESIZE(p->app_head, n + 1);
    return r < 0 ? r : NM_ARRAY_RESIZE(p->app_heap, n + 1);
}

int nm_policy_reserve(struct nm_policy *p, size_t n_views, size_t n_apps)
{
    int r;

    if (n_views > p->views_max) {
        size_t n = NM_MAX(n_views, p->views_max + p->views_max / 2);

        r = grow_for_views(p, n);
        if (r < 0)
            return r;
        p->views_max = n;
    }
    if (n_apps > p->apps_max || !p->app_held) {
        size_t n = NM_MAX(n_apps, p->apps_max + p->apps_max / 2);

        r = grow_for_apps(p, n);
        if (r < 0)
            return r;
        p->apps_max = n;
    }
    return 0;
}

void nm_policy_get_memory(const struct nm_policy *p, struct nm_policy_memory *ret)
{
    assert(p && ret);
    *ret = p->memory;
}

void nm_policy_set_memory(struct nm_policy *p, const struct nm_policy_memory *m)
{
    assert(p && m);
    p->memory = *m;
}

/* ---- the survey ------------------------------------------------------------------------------ */

static void set_limits(struct nm_round *r, const struct nm_resources *of)
{
    const struct nm_policy_settings *s = r->s;

    for (enum nm_resource k = NM_MEMORY; k < NM_RESOURCE_COUNT; k++) {
        uint64_t c = nm_resources_get(of, k) ?: nm_resources_get(&s->capacity, k);
        double alpha = nm_fractions_get(&s->over_allocation_threshold, k);
        double beta = nm_fractions_get(&s->preemption_threshold, k);

        r->capacity[k] = c;
        r->alpha[k] = s->over_allocation ? nm_fraction_of(c, alpha) : c;
        r->beta[k] = s->over_allocation ? nm_fraction_of(c, beta) : c;
        assert(r->alpha[k] <= r->beta[k]);
    }
}

static void add_resources(uint64_t sum[NM_RESOURCE_COUNT], const struct nm_resources *what)
{
    sum[NM_MEMORY] = nm_add_u64(sum[NM_MEMORY], what->memory_bytes);
    sum[NM_CPU] = nm_add_u64(sum[NM_CPU], what->cpu_millicores);
}

static void add_promise(uint64_t sum[NM_RESOURCE_COUNT], const struct nm_policy_container *v)
{
    for (enum nm_resource k = NM_MEMORY; k < NM_RESOURCE_COUNT; k++)
        sum[k] = nm_add_u64(sum[k], nm_policy_container_promise(v, k));
}

static void survey_pending(struct nm_round *r, const struct nm_policy_container *v,
                           const struct nm_resources *estimate)
{
    r->n_reclaiming += v->reclaiming;
    r->n_slow += v->reclaiming;
    r->n_pausing += v->state == NM_PAUSING;
    if ((v->state != NM_KILLING && v->state != NM_PAUSING) || nm_policy_container_stuck(v, r->in->now_usec))
        return;
    r->n_pending[NM_CPU]++;
    r->pending_measured[NM_CPU] =
        nm_add_u64(r->pending_measured[NM_CPU], v->measured.cpu_millicores);
    r->pending_estimate[NM_CPU] = nm_add_u64(r->pending_estimate[NM_CPU], estimate->cpu_millicores);
    if (v->state != NM_KILLING)
        return;
    r->n_slow += r->in->now_usec < v->kill_deadline_usec;
    r->n_pending[NM_MEMORY]++;
    r->pending_measured[NM_MEMORY] =
        nm_add_u64(r->pending_measured[NM_MEMORY], v->measured.memory_bytes);
    r->pending_estimate[NM_MEMORY] =
        nm_add_u64(r->pending_estimate[NM_MEMORY], estimate->memory_bytes);
}

static void list_view(struct nm_round *r, uint32_t i)
{
    const struct nm_policy_container *v = r->in->views[i];
    struct nm_sort_entry *e = NULL;

    if (nm_policy_container_queued(v) && v->type == NM_OPPORTUNISTIC) {
        e = &r->p->queue[r->n_queue++];
        *e = (struct nm_sort_entry){.index = i};
        nm_queue_keys(r->s, r->in, v, e->k);
        return;
    }
    if (nm_policy_container_queued(v))
        e = &r->p->guaranteed[r->n_guaranteed++];
    else if (v->state == NM_PAUSED)
        e = &r->p->paused[r->n_paused++];
    if (e)
        *e = (struct nm_sort_entry){.k = {v->seq}, .index = i};
}

/* Adds one view to the sums. shown: sums of the containers' own samples, which the node's sample includes. */
static void survey_view(struct nm_round *r, uint32_t i, uint64_t shown[NM_RESOURCE_COUNT])
{
    const struct nm_policy_container *v = r->in->views[i];
    struct nm_resources *estimate = &r->p->estimates[i];
    struct nm_resources in_use = v->measured;

    assert(v->type == NM_GUARANTEED || v->type == NM_OPPORTUNISTIC);
    *estimate = nm_estimate(r->s, v, r->in->now_usec);
    r->p->taken[i] = NM_TAKEN_NOT;
    list_view(r, i);
    if (!nm_policy_container_placed(v))
        return;
    add_resources(shown, &v->measured);
    add_resources(r->used, estimate);
    add_resources(r->allocated[v->type], &v->request);
    if (v->type == NM_GUARANTEED) {
        add_promise(r->promised, v);
        r->guaranteed_measured = nm_add_u64(r->guaranteed_measured, v->measured.memory_bytes);
        r->guaranteed_estimate = nm_add_u64(r->guaranteed_estimate, estimate->memory_bytes);
    }
    if (v->state == NM_PAUSED)
        in_use.cpu_millicores = 0;
    add_resources(r->in_use, &in_use);
    for (enum nm_resource k = NM_MEMORY; k < NM_RESOURCE_COUNT; k++)
        r->measured[k] =
            nm_add_u64(r->measured[k], NM_MIN(nm_resources_get(&in_use, k), nm_resources_get(estimate, k)));
    survey_pending(r, v, estimate);
    if (v->type == NM_OPPORTUNISTIC && v->state != NM_PAUSED && v->state != NM_KILLING) {
        r->n_opportunistic_active++;
        r->opportunistic_cpu = nm_add_u64(r->opportunistic_cpu, v->measured.cpu_millicores);
    }
}

/* Computes the system's share once per sample, from measurements of the same time, and keeps it until the
 * next sample. */
static void survey_system(struct nm_round *r, const uint64_t shown[NM_RESOURCE_COUNT])
{
    struct nm_policy *p = r->p;
    const struct nm_policy_node *node = &r->in->node;
    bool new_sample = node->valid && node->at_usec != p->system_at_usec;

    for (enum nm_resource k = NM_MEMORY; k < NM_RESOURCE_COUNT; k++) {
        uint64_t beyond =
            nm_sub_u64(nm_resources_get(&node->used, k), nm_resources_get(&r->s->reserve, k));

        if ((new_sample || !p->system_known[k]) && node->valid &&
            (k != NM_CPU || node->cpu_valid)) {
            p->system[k] = nm_sub_u64(beyond, shown[k]);
            /* The reserve covers the system's use, but not memory that ended containers left in the slice. */
            if (k == NM_MEMORY)
                p->system[k] = NM_MAX(p->system[k], node->slice_unowned_bytes);
            p->system_known[k] = true;
        }
        r->in_use[k] = nm_add_u64(r->in_use[k], p->system[k]);
        if (r->s->over_allocation)
            r->used[k] = nm_add_u64(r->used[k], p->system[k]);
    }
    if (new_sample)
        p->system_at_usec = node->at_usec;
}

static void survey(struct nm_round *r)
{
    const struct nm_policy_node *node = &r->in->node;
    uint64_t shown[NM_RESOURCE_COUNT] = {0};

    r->fresh =
        node->valid && nm_sub_u64(r->in->now_usec, node->at_usec) <= r->s->sample_max_age_usec;
    r->cpu_known = r->fresh && node->cpu_valid;
    r->has_new_sample =
        r->fresh && r->in->trigger != NM_TRIGGER_CHANGE && node->at_usec != r->p->compared_at_usec;
    if (r->has_new_sample)
        r->p->compared_at_usec = node->at_usec;
    set_limits(r, &r->s->capacity);
    for (uint32_t i = 0; i < r->in->n_views; i++)
        survey_view(r, i, shown);
    r->v->sum = (struct nm_resources){r->used[NM_MEMORY], r->used[NM_CPU]};
    survey_system(r, shown);
    nm_sort(r->p->paused, r->p->scratch, r->n_paused);
}

/* ---- one round ------------------------------------------------------------------------------- */

static uint64_t first_freeze_timeout(const struct nm_round *r)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; r->n_pausing > 0 && i < r->in->n_views; i++)
        if (r->in->views[i]->state == NM_PAUSING)
            first = NM_MIN(first, nm_add_u64(r->in->views[i]->state_usec, NM_STUCK_USEC));
    return first;
}

/* Returns the next time at which a round is needed although no event triggers it. A deadline that has already passed is
 * handled with the next sample. */
static uint64_t next_wake(const struct nm_round *r)
{
    uint64_t now = r->in->now_usec, wake = UINT64_MAX, freeze = first_freeze_timeout(r);

    if (freeze > now)
        wake = freeze;
    if (r->p->head.due && r->s->backfill_usec > 0)
        wake = NM_MIN(wake, nm_add_u64(now, nm_sub_u64(r->s->backfill_usec, r->p->head.delay_usec)));
    if (r->v->queue_reason == NM_REASON_NEXT_ROUND)
        wake = NM_MIN(wake, nm_add_u64(r->p->starts_usec, NM_STARTS_PAUSE_USEC));
    for (size_t k = 0; k < r->n_paused; k++) {
        uint64_t deadline = r->in->views[r->p->paused[k].index]->pause_deadline_usec;

        if (deadline > now)
            wake = NM_MIN(wake, deadline);
    }
    if (nm_policy_next_give_back(r) > now)
        wake = NM_MIN(wake, nm_policy_next_give_back(r));
    if (r->n_queue > 0 && r->p->memory.breaker_until_usec > now)
        wake = NM_MIN(wake, r->p->memory.breaker_until_usec);
    if (r->n_queue > 0 && r->p->memory.margin.until_usec > now)
        wake = NM_MIN(wake, r->p->memory.margin.until_usec);
    return wake;
}

static void publish(struct nm_round *r)
{
    struct nm_policy_verdict *v = r->v;

    v->in_use = (struct nm_resources){r->in_use[NM_MEMORY], r->in_use[NM_CPU]};
    v->used = (struct nm_resources){r->used[NM_MEMORY], r->used[NM_CPU]};
    v->measured = (struct nm_resources){r->measured[NM_MEMORY], r->measured[NM_CPU]};
    if (r->s->over_allocation)
        v->others = (struct nm_resources){r->p->system[NM_MEMORY], r->p->system[NM_CPU]};
    v->allocated_guaranteed = (struct nm_resources){r->allocated[NM_GUARANTEED][NM_MEMORY],
                                                    r->allocated[NM_GUARANTEED][NM_CPU]};
    v->allocated_opportunistic = (struct nm_resources){r->allocated[NM_OPPORTUNISTIC][NM_MEMORY],
                                                       r->allocated[NM_OPPORTUNISTIC][NM_CPU]};
}

void nm_policy_decide(struct nm_policy *p, const struct nm_policy_settings *s,
                      const struct nm_policy_input *in, struct nm_policy_verdict *ret)
{
    struct nm_round r = {.p = p, .s = s, .in = in, .v = ret};

    assert(in->n_views == 0 || in->views);
    assert(p->app_held && in->n_views <= p->views_max && in->n_apps <= p->apps_max);
    *ret = (struct nm_policy_verdict){.actions = p->actions, .candidates = p->candidates};
    survey(&r);
    publish(&r);
    nm_policy_preempt_tick(&r);
    nm_policy_margin(&r);
    nm_policy_reclaim_tick(&r);
    nm_policy_squeeze(&r);
    nm_policy_preempt_deadlines(&r);
    nm_policy_admit_guaranteed(&r);
    nm_policy_preempt_memory(&r);
    nm_policy_preempt_cpu(&r);
    nm_policy_update_breaker(&r);
    nm_policy_margin_surprise(&r);
    nm_policy_admit_remaining_guaranteed(&r);
    nm_policy_admit_resume(&r);
    set_limits(&r, &s->offered); /* a smaller offer limits admission only; no container is preempted because of it */
    nm_policy_admit_queue(&r);
    nm_policy_admit_shed(&r);
    ret->n_actions = r.n_actions;
    ret->n_candidates = r.n_candidates;
    assert(r.n_candidates <= in->n_views * CANDIDATE_LISTS);
    ret->wake_usec = next_wake(&r);
}

enum nm_reason nm_policy_queue_reason(const struct nm_policy_verdict *verdict,
                                      const struct nm_policy_container *v)
{
    if (!nm_policy_container_queued(v))
        return NM_REASON_NONE;
    if (v->type == NM_GUARANTEED)
        return v == verdict->guaranteed_head ? verdict->guaranteed_reason
                                                  : NM_REASON_BEHIND_OTHERS;
    if (v == verdict->queue_head || verdict->queue_reason == NM_REASON_GUARANTEED_FIRST)
        return verdict->queue_reason;
    if (v == verdict->queue_next)
        return verdict->queue_next_reason;
    return NM_REASON_BEHIND_OTHERS;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void add_to(struct nm_resources *sum, uint64_t memory_bytes, uint64_t cpu_millicores)
{
    sum->memory_bytes = nm_add_u64(sum->memory_bytes, memory_bytes);
    sum->cpu_millicores = nm_add_u64(sum->cpu_millicores, cpu_millicores);
}

void nm_policy_get_claims(struct nm_policy_container *const *views, size_t n_views,
                          const struct nm_policy_container *self,
                          struct nm_policy_claims *ret)
{
    *ret = (struct nm_policy_claims){0};
    assert(views || n_views == 0);
    for (size_t i = 0; i < n_views; i++) {
        const struct nm_policy_container *v = views[i];

        if (v == self || v->state >= NM_KILLING)
            continue;
        if (v->type == NM_GUARANTEED)
            add_to(&ret->guaranteed, nm_policy_container_promise(v, NM_MEMORY), nm_policy_container_promise(v, NM_CPU));
        else if (nm_policy_container_is_waiting(v))
            ret->queued++;
        if (nm_policy_container_is_waiting(v))
            add_to(&ret->waiting, v->request.memory_bytes, v->request.cpu_millicores);
    }
}

static bool is_larger(const struct nm_resources *what, const struct nm_resources *capacity, bool reserves_cpu)
{
    return what->memory_bytes > capacity->memory_bytes ||
           (reserves_cpu && what->cpu_millicores > capacity->cpu_millicores);
}

static bool queue_has_room(const struct nm_policy_settings *s, const struct nm_policy_claims *claims,
                           const struct nm_resources *request)
{
    struct nm_resources sum = claims->waiting;

    if (s->queue_policy == NM_QUEUE_BY_LENGTH)
        return claims->queued < s->queue_max_length;
    add_to(&sum, request->memory_bytes, request->cpu_millicores);
    return !is_larger(&sum, &s->capacity, true);
}

enum nm_reason nm_policy_check_request(const struct nm_policy_settings *s,
                                       struct nm_policy_container *const *views, size_t n_views,
                                       enum nm_execution_type type,
                                       const struct nm_resources *request, bool cpu_is_share,
                                       const struct nm_policy_container *self)
{
    const bool reserves_cpu = type != NM_GUARANTEED || !cpu_is_share;
    struct nm_policy_claims claims;

    assert(s && request);
    if (is_larger(request, &s->capacity, reserves_cpu))
        return NM_REASON_LARGER_THAN_NODE;
    nm_policy_get_claims(views, n_views, self, &claims);
    if (type == NM_GUARANTEED) {
        add_to(&claims.guaranteed, request->memory_bytes, request->cpu_millicores);
        return is_larger(&claims.guaranteed, &s->capacity, reserves_cpu) ? NM_REASON_GUARANTEED_FULL : NM_REASON_NONE;
    }
    /* Only a new container, or a container that is demoted while it waits, takes a place in the queue. */
    if (self && (!nm_policy_container_is_waiting(self) || self->type == NM_OPPORTUNISTIC))
        return NM_REASON_NONE;
    return queue_has_room(s, &claims, request) ? NM_REASON_NONE : NM_REASON_QUEUE_FULL;
}

/* Returns whether a requests more CPU per memory than b. */
static bool is_denser(const struct nm_resources *a, const struct nm_resources *b)
{
    return (unsigned __int128)a->cpu_millicores * b->memory_bytes >
           (unsigned __int128)b->cpu_millicores * a->memory_bytes;
}

bool nm_policy_queue_takes(const struct nm_policy *p, const struct nm_policy_settings *s,
                           struct nm_policy_container *const *views, size_t n_views,
                           const struct nm_resources *request, uint64_t expected_usec, uint64_t now_usec)
{
    uint64_t queued = 0, denser = 0;
    const struct nm_policy_container new = {.state = NM_SCHEDULED, .expected_usec = expected_usec};
    bool is_short = nm_policy_end_usec(&new, 0) <= nm_policy_surges_calm(p);

    assert(p && s && request && (views || n_views == 0));
    if (now_usec >= p->memory.margin.until_usec || s->queue_policy != NM_QUEUE_BY_LENGTH)
        return true;
    for (size_t i = 0; i < n_views; i++) {
        const struct nm_policy_container *v = views[i];

        if (v->type != NM_OPPORTUNISTIC || !nm_policy_container_is_waiting(v))
            continue;
        queued++;
        denser += is_denser(&v->request, request);
    }
    return queued + (is_short ? 0 : denser) < s->queue_max_length;
}
