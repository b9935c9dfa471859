/* SPDX-License-Identifier: Apache-2.0 */

/* A second implementation of the rules, with doubles and some quadratic loops for clarity; see policy-oracle.h. */

#include "tests/unit/policy-oracle-facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

nm_printf(2, 3) static const char *wrong(struct oracle *o, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(o->message, sizeof(o->message), format, ap);
    va_end(ap);
    return o->message;
}

/* ---- single actions -------------------------------------------------------------------------- */

static bool is_threshold(const struct nm_policy_action *a)
{
    return a->reason == NM_REASON_MEMORY_OVER_BETA || a->reason == NM_REASON_CPU_OVER_BETA ||
           a->reason == NM_REASON_FROZEN_MEMORY || a->reason == NM_REASON_RUNNING_MEMORY;
}

static const char *check_victim(struct oracle *o, const struct facts *f,
                                const struct nm_policy_action *a)
{
    const struct nm_policy_container *v = a->target;

    if (v->type == NM_GUARANTEED)
        return wrong(o, "guaranteed container %" PRIu64 " is a victim", v->seq);
    if (v->exempt)
        return wrong(o, "application master %" PRIu64 " is a victim", v->seq);
    if (!f->fresh)
        return wrong(o, "container %" PRIu64 " is a victim without a fresh sample", v->seq);
    if (a->type == NM_ACTION_KILL && a->resource == NM_CPU &&
        a->reason != NM_REASON_PAUSE_DEADLINE && f->s->pause_enabled)
        return "a container is killed for CPU although pausing is on";
    if (a->type == NM_ACTION_PAUSE && (!f->s->pause_enabled || !f->s->can_freeze))
        return "a container is paused although pausing is off or impossible";
    if (a->type == NM_ACTION_PAUSE && a->resource != NM_CPU)
        return "a container is paused for memory";
    if (is_threshold(a) && !f->s->over_allocation)
        return "resources are taken back at a threshold although over-allocation is off";
    if (a->reason == NM_REASON_PAUSE_DEADLINE && f->in->now_usec < v->pause_deadline_usec)
        return "a container is killed before its pause deadline";
    if (a->predicted.memory_bytes == 0 && a->predicted.cpu_millicores == 0 &&
        a->reason != NM_REASON_PAUSE_DEADLINE)
        return "a victim frees no resource";
    return NULL;
}

/* Returns whether memory may run out within two samples. If so, one sample after the victims' end is enough. */
static bool memory_may_run_out(const struct oracle *o, const struct facts *f)
{
    double brink = f->beta[NM_MEMORY] + floor((f->capacity[NM_MEMORY] - f->beta[NM_MEMORY]) / 2);

    return f->in_use[NM_MEMORY] - f->pending_measured[NM_MEMORY] > brink &&
           o->gone_usec != UINT64_MAX &&
           f->in->node.at_usec >= o->gone_usec + 50 * NM_USEC_PER_MSEC;
}

static const char *check_threshold(struct oracle *o, const struct facts *f,
                                   const struct nm_policy_action *a)
{
    int k = a->resource;

    if (!is_threshold(a))
        return NULL;
    if (!o->has_new_sample)
        return "resources are taken back at a threshold without a new sample";
    if (f->in_use[k] - f->pending_measured[k] <= f->beta[k])
        return wrong(o, "%s is taken back, but its use is not over beta: %.0f - %.0f <= %.0f",
                     k ? "CPU" : "memory", f->in_use[k], f->pending_measured[k], f->beta[k]);
    if (k == NM_CPU && f->in->trigger == NM_TRIGGER_PRESSURE)
        return "CPU is taken back in a round for memory pressure";
    if (k == NM_CPU &&
        (o->run_over_beta < f->s->cpu_samples ||
         8 * (f->in->node.at_usec - o->run_began) + o->run_period <
             8 * (f->s->cpu_samples - 1) * o->run_period))
        return wrong(o, "CPU is taken back after %u samples of %u", o->run_over_beta,
                     f->s->cpu_samples);
    /* a kill follows a reclaim from running containers as soon as a sample shows that the reclaim wasn't enough */
    if (k == NM_MEMORY && (o->asked_running || memory_may_run_out(o, f)))
        return NULL;
    if (o->ever_taken[k] && o->quiet[k] < NM_MAX(2U, f->s->settle_samples))
        return wrong(o, "%s is taken back %u samples after the last victims were gone",
                     k ? "CPU" : "memory", o->quiet[k]);
    return NULL;
}

/* Checks reclaims from running containers. They must free as much memory as is over beta, so that no container is
 * killed. They may use half of the free swap at most, and reclaim half of a container's memory at most. */
static const char *check_running_reclaim(struct oracle *o, const struct facts *f)
{
    double sum = 0, over = f->in_use[NM_MEMORY] - f->pending_measured[NM_MEMORY] - f->beta[NM_MEMORY];
    size_t n_kills = 0;

    for (size_t i = 0; i < f->v->n_actions; i++) {
        const struct nm_policy_action *a = &f->v->actions[i];
        const struct nm_policy_container *v = a->target;

        n_kills += a->type == NM_ACTION_KILL && a->reason == NM_REASON_MEMORY_OVER_BETA;
        if (a->reason == NM_REASON_FROZEN_MEMORY || a->reason == NM_REASON_PAUSE_DEADLINE)
            over -= (double)a->predicted.memory_bytes;
        if (a->reason != NM_REASON_RUNNING_MEMORY)
            continue;
        sum += (double)a->predicted.memory_bytes;
        if (v->state != NM_RUNNING || 2 * a->predicted.memory_bytes > v->measured.memory_bytes ||
            (v->reclaimed_usec && f->in->now_usec < v->reclaimed_usec + 60 * NM_USEC_PER_SEC))
            return wrong(o, "container %" PRIu64 " is reclaimed by too much, or again too soon", v->seq);
        if (a->within_usec == 0 || a->within_usec > f->s->reclaim_usec || !f->s->can_reclaim)
            return "memory of a running container is reclaimed although reclaiming is off, or without a time limit";
    }
    if (sum > 0 && (n_kills > 0 || sum < over || 2 * sum > (double)f->in->node.swap_free_bytes))
        return wrong(o, "%.0f bytes are reclaimed, %.0f are over beta, %zu are killed", sum, over, n_kills);
    return NULL;
}

static bool unsettled(const struct oracle *o, const struct facts *f)
{
    for (int k = 0; k < 2; k++)
        if (o->ever_taken[k] && o->quiet[k] < NM_MAX(2U, f->s->settle_samples))
            return true;
    return false;
}

static const struct nm_policy_action *action_on(const struct facts *f, const struct nm_policy_container *v)
{
    for (size_t i = 0; i < f->v->n_actions; i++)
        if (f->v->actions[i].target == v)
            return &f->v->actions[i];
    return NULL;
}

/* Returns the swapped memory of the containers that stay paused in this round. This memory returns when they run again.
 * Paused containers that are resumed or killed in this round are counted elsewhere. */
static double in_swap_of_paused(const struct facts *f)
{
    double sum = 0;

    for (size_t i = 0; i < f->in->n_views; i++) {
        const struct nm_policy_container *v = f->in->views[i];
        const struct nm_policy_action *a = action_on(f, v);

        if (v->state == NM_PAUSED &&
            (!a || (a->type != NM_ACTION_RESUME && a->type != NM_ACTION_KILL)))
            sum += facts_returning(f, v);
    }
    return sum;
}

static bool shares_cpu(const struct facts *f)
{
    return f->s->guard_stall && f->beta[NM_CPU] >= f->capacity[NM_CPU] + (double)f->s->reserve.cpu_millicores;
}

static const char *check_admission(struct oracle *o, const struct facts *f,
                                   const struct nm_policy_action *a, const double used[2],
                                   const double allocated[2])
{
    const struct nm_policy_container *v = a->target;
    bool plain = true, over = f->s->over_allocation;
    double in_swap = in_swap_of_paused(f);

    if (!queued(v))
        return "a container that is not queued is admitted";
    if (!f->fresh || f->in->draining || f->in->unhealthy)
        return "an admission without a fresh sample, or while draining or unhealthy";
    if (v->type == NM_GUARANTEED)
        return NULL;
    if (!f->cpu_known)
        return "an opportunistic admission without a CPU figure";
    if (over && f->in->now_usec < o->breaker_until)
        return "an opportunistic admission while the breaker is open";
    if (over && unsettled(o, f))
        return "an opportunistic admission before the last victims have settled";
    if (f->s->uplink_threshold > 0 && f->in->node.uplink_utilization > f->s->uplink_threshold)
        return "an opportunistic admission with a saturated uplink";
    for (int k = 0; k < 2; k++) {
        double after = used[k] + get(&v->request, k) + (k == NM_MEMORY ? in_swap : 0);
        double shared = k == NM_CPU && shares_cpu(f) ? ceil(get(&v->request, k) / 2) : 0;

        plain = plain && allocated[k] + get(&v->request, k) <= f->offered[k] &&
                used[k] < f->queue_beta[k] && after <= f->offered[k];
        over = over && used[k] < f->queue_alpha[k] && after - shared <= f->queue_beta[k];
    }
    if (f->v->margin_bytes > 0 && !facts_ends_before_surge(f, v) &&
        used[NM_MEMORY] + get(&v->request, NM_MEMORY) + (double)f->v->margin_bytes > f->queue_beta[NM_MEMORY])
        return wrong(o, "container %" PRIu64 " is admitted into the surge margin", v->seq);
    if (!plain && !over)
        return wrong(o, "container %" PRIu64 " is admitted, but fits by no rule", v->seq);
    return NULL;
}

static const char *check_resume(struct oracle *o, const struct facts *f,
                                const struct nm_policy_action *a, const double used[2],
                                size_t n_resumed)
{
    const struct nm_policy_container *v = a->target;
    double after = used[NM_CPU] + resume_cpu(f, v);
    bool alone = f->n_active + n_resumed == 0 && used[NM_CPU] < floor(f->alpha[NM_CPU] / 2) &&
                 f->in->now_usec - v->paused_usec >= f->s->pause_deadline_usec / 16;

    if (a->reason == NM_REASON_FREEZE_HANGS)
        return v->state == NM_PAUSING && stuck(f, v) ? NULL : "a freeze is given up too early";
    if (v->state != NM_PAUSED)
        return "a container that is not paused is resumed";
    if (a->reason == NM_REASON_PAUSE_EXPIRED)
        return v->type == NM_GUARANTEED || v->exempt ? NULL
                                                     : "an opportunistic pause ends by resuming";
    if (v->user_paused)
        return "the policy ends a pause that a user requested";
    if (v->type == NM_GUARANTEED)
        return NULL;
    if (!f->cpu_known)
        return "a container is resumed without a CPU figure";
    if (f->s->over_allocation && unsettled(o, f))
        return "a container is resumed before the last victims have settled";
    if (used[NM_CPU] >= f->alpha[NM_CPU] || (after > f->beta[NM_CPU] && !alone))
        return wrong(o, "container %" PRIu64 " is resumed at CPU %.0f + %.0f, beta %.0f", v->seq,
                     used[NM_CPU], resume_cpu(f, v), f->beta[NM_CPU]);
    if (f->s->over_allocation && f->in_use[NM_MEMORY] > f->beta[NM_MEMORY])
        return "a container is resumed while memory is over beta";
    if (facts_returning(f, v) > 0 && used[NM_MEMORY] + facts_returning(f, v) > f->beta[NM_MEMORY])
        return wrong(o, "container %" PRIu64 " is resumed at %.0f, with %.0f in swap, beta %.0f",
                     v->seq, used[NM_MEMORY], facts_returning(f, v), f->beta[NM_MEMORY]);
    return NULL;
}

/* ---- all actions of a round ------------------------------------------------------------------ */

/* Checks the actions in order, and adds up the resources that they grant. */
static const char *check_actions(struct oracle *o, const struct facts *f)
{
    double used[2] = {f->used[0], f->used[1]}, allocated[2] = {f->allocated[0], f->allocated[1]};
    size_t n_resumed = 0;

    for (size_t i = 0; i < f->v->n_actions; i++) {
        const struct nm_policy_action *a = &f->v->actions[i];
        const char *r = NULL;

        for (size_t j = 0; j < i; j++)
            if (f->v->actions[j].target == a->target)
                return wrong(o, "two actions on container %" PRIu64, a->target->seq);
        if (a->type == NM_ACTION_ADMIT)
            r = check_admission(o, f, a, used, allocated);
        else if (a->type == NM_ACTION_RESUME)
            r = check_resume(o, f, a, used, n_resumed);
        else if (a->type != NM_ACTION_SHED)
            r = check_victim(o, f, a);
        if (r)
            return r;
        for (int k = 0; k < 2; k++)
            if (a->type == NM_ACTION_ADMIT) {
                used[k] += get(&a->target->request, k);
                allocated[k] += get(&a->target->request, k);
            }
        if (a->type == NM_ACTION_RESUME && a->reason != NM_REASON_FREEZE_HANGS) {
            used[NM_CPU] += resume_cpu(f, a->target);
            used[NM_MEMORY] += facts_returning(f, a->target);
            n_resumed +=
                a->target->type == NM_OPPORTUNISTIC && a->reason == NM_REASON_BELOW_THRESHOLD;
        }
    }
    return NULL;
}

/* Checks that each victim for this reason was needed: without it, the credits would not meet the need. */
static const char *check_all_needed(struct oracle *o, const struct facts *f, enum nm_reason reason,
                                    int k, double need)
{
    double sum = 0, least = INFINITY;
    const struct nm_policy_action *list = NULL;

    for (size_t i = 0; i < f->v->n_actions; i++) {
        const struct nm_policy_action *a = &f->v->actions[i];

        if (a->reason != reason || (int)a->resource != k)
            continue;
        sum += get(&a->predicted, k);
        least = fmin(least, get(&a->predicted, k));
        list = a;
    }
    if (!list)
        return NULL;
    if (sum - least >= need)
        return wrong(
            o, "more victims than needed for %s (reason %d): %.0f of %.0f, the least brings %.0f",
            k ? "CPU" : "memory", reason, sum, need, least);
    /* victims may free too little only if no other usable victim was left, or the budget of kills was used up */
    if (sum >= need || (reason != NM_REASON_ROOM_FOR_GUARANTEED && list->type == NM_ACTION_KILL))
        return NULL;
    for (uint32_t i = list->first_candidate; i < list->first_candidate + list->n_candidates; i++)
        if (f->v->candidates[i].passed_over == NM_PASSED_NOT_NEEDED ||
            f->v->candidates[i].passed_over == NM_PASSED_MIN_RUNTIME)
            return wrong(o,
                         "%s is still short (%.0f of %.0f), but container %" PRIu64 " was spared",
                         k ? "CPU" : "memory", sum, need, f->v->candidates[i].view->seq);
    return NULL;
}

static const char *check_threshold_need(struct oracle *o, const struct facts *f)
{
    double reclaimed = 0, killed_cpu = 0;
    const char *r;

    for (size_t i = 0; i < f->v->n_actions; i++) {
        const struct nm_policy_action *a = &f->v->actions[i];

        if (a->type == NM_ACTION_RECLAIM)
            reclaimed += (double)a->predicted.memory_bytes;
        if (a->type == NM_ACTION_KILL && a->resource == NM_MEMORY &&
            a->target->state != NM_PAUSED && a->target->state != NM_PAUSING)
            killed_cpu += (double)a->target->measured.cpu_millicores;
    }
    /* The policy subtracts at least these amounts. Kills for pause deadlines are omitted: they only reduce the need. */
    r = check_all_needed(o, f, NM_REASON_MEMORY_OVER_BETA, NM_MEMORY,
                         f->in_use[NM_MEMORY] - f->pending_measured[NM_MEMORY] - reclaimed -
                             f->beta[NM_MEMORY]);
    if (r)
        return r;
    return check_all_needed(o, f, NM_REASON_CPU_OVER_BETA, NM_CPU,
                            f->in_use[NM_CPU] - f->pending_measured[NM_CPU] - killed_cpu -
                                f->beta[NM_CPU]);
}

/* Adds guaranteed requests in arrival order: to `used` while they fit, and all others to `claims`. */
static void admit_and_claim(const struct facts *f, double used[2], double claims[2])
{
    double promised[2] = {f->promised[0], f->promised[1]};
    bool waiting = false;
    uint64_t last = 0;

    for (size_t n = 0; n < f->n_guaranteed_queued; n++) {
        const struct nm_policy_container *next = NULL;
        bool allowed = true, fits = !waiting;

        for (size_t i = 0; i < f->in->n_views; i++) {
            const struct nm_policy_container *v = f->in->views[i];

            if (queued(v) && v->type == NM_GUARANTEED && v->seq > last &&
                (!next || v->seq < next->seq))
                next = v;
        }
        last = next->seq;
        for (int k = 0; k < 2; k++) {
            if (k == NM_CPU && next->cpu_is_share)
                continue;
            allowed = allowed && promised[k] + get(&next->request, k) <= f->capacity[k];
            fits = fits && used[k] + get(&next->request, k) <= f->beta[k];
        }
        if (!allowed)
            return;
        waiting = waiting || !fits;
        for (int k = 0; k < 2; k++) {
            promised[k] += promise(next, k);
            if (waiting)
                claims[k] += promise(next, k);
            else
                used[k] += get(&next->request, k);
        }
    }
}

/* Adds the expected credit of the victims for this reason and resource, by the estimates that count in U. */
static void add_expected(const struct facts *f, double pending[2], enum nm_reason reason,
                         int resource)
{
    for (size_t i = 0; i < f->v->n_actions; i++) {
        const struct nm_policy_action *a = &f->v->actions[i];
        const struct nm_policy_container *v = a->target;

        if (a->reason != reason || (int)a->resource != resource)
            continue;
        if (a->type == NM_ACTION_RECLAIM)
            pending[NM_MEMORY] += (double)a->predicted.memory_bytes;
        if (a->type == NM_ACTION_KILL)
            pending[NM_MEMORY] += facts_estimate(f, v, NM_MEMORY);
        if ((a->type == NM_ACTION_KILL && v->state != NM_PAUSING) || a->type == NM_ACTION_PAUSE)
            pending[NM_CPU] += facts_estimate(f, v, NM_CPU);
    }
}

static const char *check_room_need(struct oracle *o, const struct facts *f)
{
    double used[2] = {f->used[0], f->used[1]}, claims[2] = {0};
    double pending[2] = {f->pending_estimate[0], f->pending_estimate[1]};
    const char *r;

    if (!f->fresh || f->in->draining || f->in->unhealthy)
        return NULL;
    for (size_t i = 0; i < f->v->n_actions; i++)
        if (f->v->actions[i].reason == NM_REASON_PAUSE_EXPIRED) {
            used[NM_CPU] += resume_cpu(f, f->v->actions[i].target);
            used[NM_MEMORY] += facts_returning(f, f->v->actions[i].target);
        }
    admit_and_claim(f, used, claims);
    add_expected(f, pending, NM_REASON_PAUSE_DEADLINE, NM_MEMORY);
    add_expected(f, pending, NM_REASON_FROZEN_MEMORY, NM_MEMORY);
    add_expected(f, pending, NM_REASON_MEMORY_OVER_BETA, NM_MEMORY);
    r = check_all_needed(o, f, NM_REASON_ROOM_FOR_GUARANTEED, NM_MEMORY,
                         used[NM_MEMORY] + claims[NM_MEMORY] - pending[NM_MEMORY] -
                             f->beta[NM_MEMORY]);
    if (r)
        return r;
    add_expected(f, pending, NM_REASON_ROOM_FOR_GUARANTEED, NM_MEMORY);
    add_expected(f, pending, NM_REASON_CPU_OVER_BETA, NM_CPU);
    return check_all_needed(o, f, NM_REASON_ROOM_FOR_GUARANTEED, NM_CPU,
                            claims[NM_CPU] > 0
                                ? used[NM_CPU] + claims[NM_CPU] - pending[NM_CPU] - f->beta[NM_CPU] : 0);
}

/* Checks that a guaranteed container waits for victims only if there are victims, and that no opportunistic container
 * starts while a guaranteed container waits. */
static const char *check_guaranteed(struct oracle *o, const struct facts *f)
{
    bool waits_for = false;

    if (f->n_guaranteed_queued == 0 || !f->fresh || f->in->draining || f->in->unhealthy)
        return NULL;
    for (size_t i = 0; i < f->in->n_views; i++) {
        const struct nm_policy_container *v = f->in->views[i];
        const struct nm_policy_action *a = action_on(f, v);

        waits_for = waits_for ||
                    ((v->state == NM_KILLING || v->state == NM_PAUSING) && !stuck(f, v)) ||
                    (a && (a->type == NM_ACTION_KILL || a->type == NM_ACTION_PAUSE ||
                           a->type == NM_ACTION_RECLAIM));
    }
    if (!waits_for && f->v->guaranteed_reason == NM_REASON_WAITING_FOR_VICTIMS)
        return wrong(o, "guaranteed container %" PRIu64 " waits for victims, but there is no victim",
                     f->v->guaranteed_head->seq);
    for (size_t i = 0; i < f->v->n_actions; i++)
        if (f->v->guaranteed_reason != NM_REASON_NONE && f->v->actions[i].type == NM_ACTION_ADMIT &&
            f->v->actions[i].target->type == NM_OPPORTUNISTIC)
            return "an opportunistic container starts while a guaranteed one waits";
    return NULL;
}

/* Checks that paused containers resume in the order of their arrival. Pauses by users are not counted. */
static const char *check_resume_order(struct oracle *o, const struct facts *f)
{
    uint64_t first_paused = UINT64_MAX, last_resumed = 0;

    for (size_t i = 0; i < f->in->n_views; i++) {
        const struct nm_policy_container *v = f->in->views[i];
        const struct nm_policy_action *a = action_on(f, v);

        if (v->state != NM_PAUSED || v->user_paused || v->type == NM_GUARANTEED)
            continue;
        if (!a)
            first_paused = NM_MIN(first_paused, v->seq);
        else if (a->type == NM_ACTION_RESUME && a->reason == NM_REASON_BELOW_THRESHOLD)
            last_resumed = NM_MAX(last_resumed, v->seq);
    }
    if (last_resumed > first_paused)
        return wrong(o, "container %" PRIu64 " is resumed before %" PRIu64, last_resumed, first_paused);
    return NULL;
}

static const char *check_deadlines(struct oracle *o, const struct facts *f)
{
    uint32_t awake = NM_MAX(2U, f->s->settle_samples); /* samples that must follow a suspend of the host */

    for (size_t i = 0; i < f->in->n_views; i++) {
        const struct nm_policy_container *v = f->in->views[i];
        const struct nm_policy_action *a = action_on(f, v);

        if (v->state == NM_PAUSING && stuck(f, v) && !a)
            return wrong(o, "container %" PRIu64 " stays in PAUSING for ever", v->seq);
        if (v->state != NM_PAUSED)
            continue;
        if (v->pause_deadline_usec == UINT64_MAX)
            return wrong(o, "paused container %" PRIu64 " has no deadline", v->seq);
        if (a && a->reason == NM_REASON_PAUSE_DEADLINE && o->awake_samples < 1 + awake)
            return wrong(o, "container %" PRIu64 " is killed for the time in which the host was suspended", v->seq);
        if (f->fresh && f->in->now_usec >= v->pause_deadline_usec && !a && o->awake_samples > 1 + awake)
            return wrong(o, "container %" PRIu64 " stays paused past its deadline", v->seq);
    }
    return NULL;
}

/* All containers of a queue, or only those under the upstream's limit, or only the others. left: number of containers
 * that stay in the queue. */
struct queue_part {
    size_t left;
    double asked[2];
    uint64_t newest_kept, oldest_shed;
};

static void count_queued(struct queue_part *l, const struct nm_policy_container *v, const struct nm_policy_action *a)
{
    l->left += !a;
    l->asked[NM_MEMORY] += get(&v->request, NM_MEMORY);
    l->asked[NM_CPU] += get(&v->request, NM_CPU);
    if (a && a->type == NM_ACTION_SHED && a->reason == NM_REASON_SHED)
        l->oldest_shed = NM_MIN(l->oldest_shed, v->seq);
    else if (!a)
        l->newest_kept = NM_MAX(l->newest_kept, v->seq);
}

/* Returns whether the container can certainly start: the node is empty or no other container is queued, no container is
 * paused, and no limit holds the whole queue. Returns false in other cases, which aren't checked. */
static bool could_start(const struct oracle *o, const struct facts *f, const struct nm_policy_container *v)
{
    bool plain = true, over = f->s->over_allocation, empty = true, paused = false;

    for (size_t i = 0; i < f->in->n_views; i++) {
        empty = empty && (queued(f->in->views[i]) || nm_policy_container_in_preparation(f->in->views[i]));
        paused = paused || f->in->views[i]->state == NM_PAUSED;
    }
    if (paused || (!empty && f->n_queued > 1) || f->n_guaranteed_queued > 0)
        return false;
    if (!f->cpu_known || f->in->draining || f->in->unhealthy || f->v->margin_bytes > 0 ||
        f->v->squeeze_millicores != NM_NO_SQUEEZE)
        return false;
    if (over && (f->in->now_usec < o->breaker_until || unsettled(o, f)))
        return false;
    if (f->s->uplink_threshold > 0 && f->in->node.uplink_utilization > f->s->uplink_threshold)
        return false;
    for (int k = 0; k < 2; k++) {
        double after = f->used[k] + get(&v->request, k);

        plain = plain && f->allocated[k] + get(&v->request, k) <= f->offered[k] &&
                f->used[k] < f->queue_beta[k] && after <= f->offered[k];
        over = over && f->used[k] < f->queue_alpha[k] && after <= f->queue_beta[k];
    }
    return plain || over;
}

/* Returns whether the container would fit if only the system used the node. cpu_part: part of its CPU request. */
static bool fits_alone(const struct oracle *o, const struct facts *f, const struct nm_policy_container *v,
                       double cpu_part)
{
    bool plain = true, over = f->s->over_allocation;

    for (int k = 0; k < 2; k++) {
        double used = f->s->over_allocation ? o->system[k] : 0, request = get(&v->request, k);

        plain = plain && used < f->queue_beta[k] && used + request <= f->offered[k];
        over = over && used < f->queue_alpha[k] && used + request * (k == NM_CPU ? cpu_part : 1) <= f->queue_beta[k];
    }
    return plain || over;
}

/* Returns whether the container has waited too long, independently of other containers. */
static bool waits_too_long(const struct oracle *o, const struct facts *f, const struct nm_policy_container *v,
                           double cpu_part)
{
    const uint64_t wait = f->s->give_back_usec, waits = f->in->now_usec - v->state_usec;

    return waits >= 20 * wait || (waits >= 10 * wait && !fits_alone(o, f, v, cpu_part));
}

/* Checks that a container is given back only after the waiting time, and that it is given back if no container was
 * admitted, resumed or ended during that time. A container that is admitted in this round may have taken the free
 * resources. */
static const char *check_wait(struct oracle *o, const struct facts *f, const struct nm_policy_container *v,
                              const struct nm_policy_action *a)
{
    const uint64_t wait = f->s->give_back_usec, waits = f->in->now_usec - v->state_usec;
    const uint64_t still = f->in->now_usec - o->moved_usec;

    if (a && a->reason == NM_REASON_WAITED_TOO_LONG && (!v->limited || wait == 0))
        return wrong(o, "container %" PRIu64 " is given back, but no upstream can take it", v->seq);
    if (a && a->reason == NM_REASON_WAITED_TOO_LONG && (waits < wait || still < wait) && !waits_too_long(o, f, v, 1))
        return wrong(o, "container %" PRIu64 " is given back before its time", v->seq);
    if (a && a->reason == NM_REASON_WAITED_TOO_LONG && still > 0 && could_start(o, f, v))
        return wrong(o, "container %" PRIu64 " is given back, and could start", v->seq);
    if (!a && v->limited && wait > 0 && ((waits >= 10 * wait && still >= 10 * wait) || waits_too_long(o, f, v, 0.4)))
        return wrong(o, "container %" PRIu64 " waits for ever", v->seq);
    return NULL;
}

static bool is_active(const struct nm_policy_container *v)
{
    return v->type == NM_OPPORTUNISTIC && !queued(v) && !nm_policy_container_in_preparation(v) &&
           v->state != NM_PAUSED && v->state != NM_KILLING && v->state != NM_COMPLETED;
}

static void note_moves(struct oracle *o, const struct facts *f)
{
    bool active = false;

    for (size_t i = 0; i < f->in->n_views; i++)
        active = active || is_active(f->in->views[i]);
    if (o->moved_usec == 0 || (o->was_active && !active))
        o->moved_usec = f->in->now_usec;
    o->was_active = active;
    for (size_t i = 0; i < f->v->n_actions; i++) {
        const struct nm_policy_action *a = &f->v->actions[i];

        if (a->type == NM_ACTION_RESUME || (a->type == NM_ACTION_ADMIT && a->target->type == NM_OPPORTUNISTIC))
            o->moved_usec = f->in->now_usec;
    }
}

static const char *check_queue(struct oracle *o, const struct facts *f)
{
    const char *wrong_wait = NULL;
    struct queue_part all = {.oldest_shed = UINT64_MAX}, limited = all, others = all;
    size_t left, given_back = 0;

    note_moves(o, f);
    for (size_t i = 0; i < f->in->n_views; i++) {
        const struct nm_policy_container *v = f->in->views[i];
        const struct nm_policy_action *a = action_on(f, v);

        if (!queued(v) || v->type != NM_OPPORTUNISTIC)
            continue;
        wrong_wait = wrong_wait ?: check_wait(o, f, v, a);
        given_back += a && a->reason == NM_REASON_WAITED_TOO_LONG;
        count_queued(&all, v, a);
        count_queued(v->limited ? &limited : &others, v, a);
    }
    if (wrong_wait)
        return wrong_wait;
    left = all.left;
    for (int k = 0; k < 2 && f->s->queue_policy == NM_QUEUE_BY_RESOURCES; k++)
        if (all.asked[k] > f->capacity[k])
            return wrong(o, "the queued containers request %.0f, more than the capacity", all.asked[k]);
    if (f->s->queue_policy == NM_QUEUE_BY_LENGTH && f->n_queued > f->s->queue_max_length)
        return wrong(o, "%zu containers are queued, the limit is %u", f->n_queued, f->s->queue_max_length);
    if (left > f->in->shed_to)
        return wrong(o, "%zu containers stay queued, the limit is %u", left, f->in->shed_to);
    if (limited.left > f->in->shed_limited_to)
        return wrong(o, "%zu limited containers stay queued, the limit is %u", limited.left, f->in->shed_limited_to);
    if (limited.oldest_shed < limited.newest_kept)
        return wrong(o, "container %" PRIu64 " is shed, but not the newer %" PRIu64, limited.oldest_shed,
                     limited.newest_kept);
    if (others.oldest_shed < all.newest_kept)
        return wrong(o, "container %" PRIu64 " is shed, but not the newer %" PRIu64, others.oldest_shed,
                     all.newest_kept);
    if (given_back == 0 && all.oldest_shed != UINT64_MAX && left < f->in->shed_to &&
        limited.left < f->in->shed_limited_to)
        return "more containers are shed than the limits require";
    if (left > 0 && f->v->queue_reason == NM_REASON_NONE)
        return "containers are queued without a queue reason";
    return NULL;
}

/* ---- memory of the history ------------------------------------------------------------------- */

static void note_over_beta(struct oracle *o, const struct facts *f)
{
    if (!f->cpu_known || !f->s->over_allocation || f->in_use[NM_CPU] <= f->beta[NM_CPU] ||
        f->beta[NM_CPU] >= f->capacity[NM_CPU] + (double)f->s->reserve.cpu_millicores) {
        o->run_over_beta = 0;
        return;
    }
    if (o->run_over_beta++ == 0) {
        o->run_began = f->in->node.at_usec;
        o->run_period = o->period;
    }
}

static void tick(struct oracle *o, const struct facts *f)
{
    o->has_new_sample =
        f->fresh && f->in->trigger != NM_TRIGGER_CHANGE && f->in->node.at_usec != o->compared_at;
    if (o->gone_usec == UINT64_MAX && f->n_pending[NM_MEMORY] == 0)
        o->gone_usec = f->in->now_usec;
    if (o->has_new_sample)
        o->compared_at = f->in->node.at_usec;
    if (f->in->suspended_usec > o->suspended + NM_USEC_PER_SEC)
        o->awake_samples = 0;
    o->suspended = f->in->suspended_usec;
    o->period = f->s->period_usec;
    o->run_period = NM_MIN(o->run_period, o->period);
    if (f->in->trigger == NM_TRIGGER_EXTRA_SAMPLE && o->has_new_sample && o->run_over_beta == 0)
        note_over_beta(o, f);
    if (f->in->trigger != NM_TRIGGER_SAMPLE || (f->fresh && !o->has_new_sample))
        return;
    note_over_beta(o, f);
    o->awake_samples += f->cpu_known;
    for (int k = 0; f->fresh && k < 2; k++)
        if (f->n_pending[k] == 0)
            o->quiet[k]++;
}

static const char *check_budget(struct oracle *o, const struct facts *f)
{
    uint32_t budget = NM_MIN(f->s->kills_per_minute, 64U), spent = 0, now = 0;

    for (size_t i = 0; i < NM_MIN(o->n_kills, NM_ARRAY_SIZE(o->kills)); i++)
        if (f->in->now_usec - o->kills[i] < 60 * NM_USEC_PER_SEC)
            spent++;
    for (size_t i = 0; i < f->v->n_actions; i++) {
        const struct nm_policy_action *a = &f->v->actions[i];

        now += a->type == NM_ACTION_KILL && is_threshold(a);
    }
    return now > 0 && spent + now > budget
               ? wrong(o, "%u kills in the last minute and %u in this round, the budget is %u", spent, now, budget)
               : NULL;
}

static void remember_kills(struct oracle *o, const struct facts *f)
{
    bool load = f->in->kernel_kills > 0;

    for (size_t i = 0; i < f->v->n_actions; i++) {
        const struct nm_policy_action *a = &f->v->actions[i];

        if (a->type != NM_ACTION_KILL || a->reason == NM_REASON_ROOM_FOR_HEAD ||
            (a->reason == NM_REASON_PAUSE_DEADLINE && a->target->user_paused))
            continue;
        o->kills[o->n_kills++ % NM_ARRAY_SIZE(o->kills)] = f->in->now_usec;
        load = load || a->reason != NM_REASON_ROOM_FOR_GUARANTEED;
    }
    if (!load)
        return;
    if (o->last_kill > 0 && o->breaker_hold > 0 &&
        f->in->now_usec <= o->last_kill + 2 * o->breaker_hold)
        o->breaker_hold = NM_MIN(2 * o->breaker_hold, 2 * f->s->breaker_usec);
    else
        o->breaker_hold = f->s->breaker_usec;
    o->breaker_until = f->in->now_usec + o->breaker_hold;
    o->last_kill = f->in->now_usec;
}

static void remember_taking(struct oracle *o, const struct facts *f, bool for_head)
{
    for (size_t i = 0; i < f->v->n_actions; i++) {
        const struct nm_policy_action *a = &f->v->actions[i];
        bool memory = a->type == NM_ACTION_RECLAIM || a->type == NM_ACTION_KILL;
        bool cpu = a->type == NM_ACTION_PAUSE || a->type == NM_ACTION_KILL;

        if (a->reason == NM_REASON_PAUSE_DEADLINE || for_head != (a->reason == NM_REASON_ROOM_FOR_HEAD))
            continue;
        for (int k = 0; k < 2; k++)
            if (k == NM_MEMORY ? memory : cpu) {
                o->quiet[k] = 0;
                o->taken_usec[k] = f->in->now_usec;
                o->gone_usec = k == NM_MEMORY ? UINT64_MAX : o->gone_usec;
                o->ever_taken[k] = true;
            }
        if (cpu)
            o->run_over_beta = 0;
        if (memory)
            o->asked_running = a->reason == NM_REASON_RUNNING_MEMORY;
    }
    o->sample_at = f->in->node.valid ? f->in->node.at_usec : o->sample_at;
}

static const char *check_figures(struct oracle *o, const struct facts *f)
{
    for (int k = 0; k < 2; k++) {
        if (get(&f->v->used, k) != f->used[k])
            return wrong(o, "U of %s is %.0f, should be %.0f", k ? "CPU" : "memory",
                         get(&f->v->used, k), f->used[k]);
        if (get(&f->v->in_use, k) != f->in_use[k])
            return wrong(o, "%s in use is %.0f, should be %.0f", k ? "CPU" : "memory",
                         get(&f->v->in_use, k), f->in_use[k]);
    }
    if (f->v->margin_bytes + f->v->surge_usec > 0 &&
        (!f->s->over_allocation || f->s->margin_usec == 0 || f->v->margin_until_usec <= f->in->now_usec ||
         f->v->margin_until_usec > f->in->now_usec + 5 * f->s->margin_usec))
        return wrong(o, "a surge margin of %" PRIu64 " bytes for %" PRIu64 " us", f->v->margin_bytes,
                     f->v->margin_until_usec - f->in->now_usec);
    if (f->v->squeeze_millicores != NM_NO_SQUEEZE &&
        (!f->s->can_squeeze || !f->s->over_allocation || f->n_active == 0 ||
         (double)f->v->squeeze_millicores <
             (double)f->n_active * (double)f->s->squeeze_floor_millicores))
        return wrong(o, "a squeeze to %" PRIu64 " with %zu containers", f->v->squeeze_millicores,
                     f->n_active);
    return NULL;
}

const char *oracle_check(struct oracle *o, const struct simulation *w)
{
    struct facts f;
    const char *r;

    facts_gather(o, &f, w);
    tick(o, &f);
    r = check_figures(o, &f);
    r = r ? r : check_budget(o, &f);
    if (r)
        return r;
    remember_kills(o, &f);
    for (size_t i = 0; i < f.v->n_actions && !r; i++)
        r = check_threshold(o, &f, &f.v->actions[i]);
    /* Memory or CPU that is taken back also holds admissions. Memory for the head of the queue is freed last. */
    remember_taking(o, &f, false);
    r = r ? r : check_actions(o, &f);
    r = r ? r : check_running_reclaim(o, &f);
    remember_taking(o, &f, true);
    r = r ? r : check_threshold_need(o, &f);
    r = r ? r : check_room_need(o, &f);
    r = r ? r : check_guaranteed(o, &f);
    r = r ? r : check_resume_order(o, &f);
    r = r ? r : check_deadlines(o, &f);
    return r ? r : check_queue(o, &f);
}
