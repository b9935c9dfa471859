/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Checks that the verdict of a round keeps the invariants of the policy. The checks share no code with the stages that
 * must maintain them. The checks are cheap enough for every round: one pass over views and actions.
 */

#include "agent/policy/policy.h"

static bool fresh(const struct nm_policy_settings *s, const struct nm_policy_input *in)
{
    return in->node.valid && (in->now_usec <= in->node.at_usec ||
                              in->now_usec - in->node.at_usec <= s->sample_max_age_usec);
}

static const char *check_victim(const struct nm_policy_action *a)
{
    if (a->target->type == NM_GUARANTEED)
        return "a guaranteed container is a victim";
    if (a->target->exempt)
        return "an application master is a victim";
    if (a->type == NM_ACTION_PAUSE && a->target->state != NM_RUNNING)
        return "a container that does not run is paused";
    if (a->type == NM_ACTION_RECLAIM &&
        a->target->state != (a->reason == NM_REASON_RUNNING_MEMORY ? NM_RUNNING : NM_PAUSED))
        return "memory is reclaimed from a container that is not paused";
    if (a->type == NM_ACTION_KILL &&
        (a->target->state == NM_KILLING || a->target->state == NM_COMPLETED))
        return "a dying container is killed again";
    return NULL;
}

/* Returns whether opportunistic containers compete for CPU only with each other. */
static bool shares_cpu(const struct nm_policy_settings *s)
{
    return s->guard_stall && (double)s->capacity.cpu_millicores * s->preemption_threshold.cpu >=
                                 (double)(s->capacity.cpu_millicores + s->reserve.cpu_millicores);
}

/* Checks the admission of an opportunistic container: U + request (half of the CPU request, where containers share
 * CPUs) stays within beta*C or, by the plain rule, within C. */
static const char *check_room(const struct nm_policy_settings *s, const struct nm_policy_action *a)
{
    for (enum nm_resource k = NM_MEMORY; k < NM_RESOURCE_COUNT; k++) {
        double limit = (double)nm_resources_get(&s->capacity, k);
        double after =
            (double)nm_resources_get(&a->used, k) + (double)nm_resources_get(&a->predicted, k);

        if (a->reason == NM_REASON_OVER_ALLOCATION)
            limit *= nm_fractions_get(&s->preemption_threshold, k);
        if (k == NM_CPU && a->reason == NM_REASON_OVER_ALLOCATION && shares_cpu(s))
            after -= (double)((a->predicted.cpu_millicores + 1) / 2);
        if (after > limit)
            return k == NM_MEMORY ? "an admission takes estimated memory over the limit"
                                  : "an admission takes estimated CPU over the limit";
    }
    return NULL;
}

static const char *check_admission(const struct nm_policy_settings *s,
                                   const struct nm_policy_input *in,
                                   const struct nm_policy_action *a)
{
    if (a->target->state != NM_SCHEDULED || a->target->admitted)
        return "a container that is not queued is admitted";
    if (in->draining || in->unhealthy)
        return "a container is admitted while the node drains or is unhealthy";
    if (!fresh(s, in))
        return "a container is admitted without a fresh sample";
    if (a->reason == NM_REASON_OVER_ALLOCATION && !s->over_allocation)
        return "over-allocation is off, but used";
    return a->target->type == NM_OPPORTUNISTIC ? check_room(s, a) : NULL;
}

/* Memory that returns from swap must fit. Otherwise the resume would cause the container's kill. */
static const char *check_resume(const struct nm_policy_settings *s,
                                const struct nm_policy_action *a)
{
    double after = (double)a->used.memory_bytes + (double)a->predicted.memory_bytes;

    if (a->reason == NM_REASON_FREEZE_HANGS && a->target->state == NM_PAUSING)
        return NULL;
    if (a->target->state != NM_PAUSED)
        return "a container that is not paused is resumed";
    if (a->reason == NM_REASON_BELOW_THRESHOLD && s->over_allocation &&
        a->predicted.memory_bytes > 0 &&
        after > (double)s->capacity.memory_bytes * s->preemption_threshold.memory)
        return "a resume takes estimated memory over the limit";
    return NULL;
}

static const char *check_action(const struct nm_policy_settings *s,
                                const struct nm_policy_input *in, const struct nm_policy_action *a)
{
    switch (a->type) {
    case NM_ACTION_ADMIT:
        return check_admission(s, in, a);
    case NM_ACTION_KILL:
        if (!fresh(s, in))
            return "a container is killed without a fresh sample";
        return check_victim(a);
    case NM_ACTION_PAUSE:
    case NM_ACTION_RECLAIM:
        return check_victim(a);
    case NM_ACTION_RESUME:
        return check_resume(s, a);
    case NM_ACTION_SHED:
        if (a->target->state != NM_SCHEDULED || a->target->admitted ||
            a->target->type != NM_OPPORTUNISTIC)
            return "a container that is not in the queue is shed";
        if (a->reason == NM_REASON_WAITED_TOO_LONG &&
            (!a->target->limited || s->give_back_usec == 0 ||
             nm_sub_u64(in->now_usec, a->target->state_usec) < s->give_back_usec))
            return "a container is given back before its time";
        return NULL;
    }
    return "an action of an unknown type";
}

/* No rule may admit a container into the surge margin, unless even a run that takes a third longer than expected ends
 * before the surge. */
static const char *check_margin(const struct nm_policy_settings *s, const struct nm_policy_input *in,
                                const struct nm_policy_verdict *v, const struct nm_policy_action *a)
{
    double after = (double)a->used.memory_bytes + (double)a->predicted.memory_bytes;
    double end = (double)in->now_usec + (double)a->target->expected_usec * 4 / 3;

    if (v->margin_bytes == 0 || a->type != NM_ACTION_ADMIT || a->target->type == NM_GUARANTEED)
        return NULL;
    if (a->target->expected_usec > 0 && !a->target->exempt && end < (double)v->surge_usec + 1)
        return NULL;
    return after + (double)v->margin_bytes >
                   (double)s->capacity.memory_bytes * s->preemption_threshold.memory
               ? "an admission goes into the surge margin"
               : NULL;
}

const char *nm_policy_check_invariants(const struct nm_policy_settings *s,
                                       const struct nm_policy_input *in,
                                       const struct nm_policy_verdict *v)
{
    size_t queued = 0, limited = 0;

    for (size_t i = 0; i < in->n_views; i++) {
        const struct nm_policy_container *view = in->views[i];

        if (view->state == NM_PAUSED && view->pause_deadline_usec == UINT64_MAX)
            return "a paused container has no deadline";
        if (view->state == NM_SCHEDULED && !view->admitted && view->type == NM_OPPORTUNISTIC) {
            queued++;
            limited += view->limited;
        }
    }
    for (size_t i = 0; i < v->n_actions; i++) {
        const struct nm_policy_action *a = &v->actions[i];
        const char *broken = check_action(s, in, a);

        broken = broken ? broken : check_margin(s, in, v, a);
        if (broken)
            return broken;
        if (a->type == NM_ACTION_SHED ||
            (a->type == NM_ACTION_ADMIT && a->target->type == NM_OPPORTUNISTIC)) {
            queued--;
            limited -= a->target->limited;
        }
    }
    return queued > in->shed_to || limited > in->shed_limited_to ? "the queue stays longer than its limit" : NULL;
}
