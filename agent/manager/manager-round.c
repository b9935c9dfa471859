/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One round: takes a sample, decides (policy.c), and carries out the actions (actions.c). The policy's workspace is
 * allocated at the start of nmd, so a round allocates no memory when the node is short of memory.
 */

#include "agent/manager/manager-internal.h"

#include <assert.h>

#include "agent/message-ids.h"
#include "agent/node/cgroups.h"
#include "agent/node/sampling.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/journal/journal.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"

/* A pressure event within this time after a sample causes no new sample. */
#define FRESH_ENOUGH_USEC (20 * NM_USEC_PER_MSEC)

struct nm_round_internal {
    sd_event_source *wake_timer;
    bool invariant_broken; /* the newest round violated a rule of the policy */
};

struct nm_round_internal *nm_round_internal_new(void)
{
    return calloc(1, sizeof(struct nm_round_internal));
}

struct nm_round_internal *nm_round_internal_free(struct nm_round_internal *i)
{
    if (i)
        sd_event_source_disable_unref(i->wake_timer);
    free(i);
    return NULL;
}

static void count_apps(struct nm_manager *m)
{
    for (size_t i = 0; i < m->apps.n; i++)
        m->apps.views[i].running = m->apps.views[i].queued = 0;
    for (size_t i = 0; i < m->live.n; i++) {
        const struct nm_policy_container *v = m->live.views[i];

        if (nm_policy_container_is_waiting(v))
            m->apps.views[v->app].queued++;
        else
            m->apps.views[v->app].running++;
    }
}

static struct nm_policy_input make_input(struct nm_manager *m, enum nm_policy_trigger trigger)
{
    uint32_t kernel_kills = m->sampled.kernel_kills;
    const char *reason;

    m->sampled.kernel_kills = 0;
    count_apps(m);
    return (struct nm_policy_input){
        .trigger = trigger,
        .now_usec = nm_now_usec(),
        .suspended_usec = m->sampled.suspended_usec,
        .node =
            {
                .valid = m->sampled.node_valid,
                .cpu_valid = m->sampled.node.cpu_valid,
                .at_usec = m->sampled.node.at_usec,
                .used = {.memory_bytes =
                             nm_sub_u64(m->sampled.node.memory_total_bytes, m->sampled.node.memory_available_bytes),
                         .cpu_millicores = m->sampled.node.cpu_busy_millicores},
                .slice_unowned_bytes = m->sampled.slice_unowned_bytes,
                .swap_free_bytes = m->sampled.node.swap_free_bytes,
                .uplink_utilization = m->sampled.uplink_utilization,
            },
        .reclaim_bytes_per_sec = nm_reclaim_bytes_per_sec(m),
        .views = m->live.views,
        .n_views = m->live.n,
        .apps = m->apps.views,
        .n_apps = m->apps.n,
        .n_starting = nm_starts_n_opportunistic(m->starts),
        .draining = m->drain.is_on,
        .unhealthy = m->health && !nm_health_get(m->health, &reason),
        .kernel_kills = kernel_kills,
        .shed_to = UINT32_MAX,
        .shed_limited_to = m->owners.limit_due ? m->owners.queue_limit : UINT32_MAX,
    };
}

static const enum nm_decision_kind kinds[] = {
    [NM_ACTION_ADMIT] = NM_DECISION_ADMIT,     [NM_ACTION_PAUSE] = NM_DECISION_PAUSE,
    [NM_ACTION_RESUME] = NM_DECISION_RESUME,   [NM_ACTION_RECLAIM] = NM_DECISION_RECLAIM,
    [NM_ACTION_KILL] = NM_DECISION_KILL,       [NM_ACTION_SHED] = NM_DECISION_SHED,
};

static void act(struct nm_live_container *l, const struct nm_policy_action *a,
                const struct nm_policy_verdict *v)
{
    assert(a->target == &l->c->view);
    if (nm_end_is_complete(l)) /* the container has ended after the sample that the policy used */
        return;
    if (a->type == NM_ACTION_ADMIT && l->m->round.decided_usec < l->retry_usec)
        return;
    if (a->reason == NM_REASON_FREEZE_HANGS)
        nm_freeze_given_up(l);
    if (a->type == NM_ACTION_KILL && nm_sample_was_oom_killed(l)) { /* the kernel was faster; its OOM kill is the cause
                                                                       of the end */
        (void)nm_persist_journal(l);
        return;
    }
    if (a->type == NM_ACTION_KILL)
        nm_reclaim_supersede(l);
    nm_record_begin(l, kinds[a->type], a, v, a->reason);
    switch (a->type) {
    case NM_ACTION_ADMIT:
        l->c->view.passed = a->on_behalf_of != NULL;
        nm_act_admit(l);
        break;
    case NM_ACTION_PAUSE:
        nm_act_pause(l, false);
        break;
    case NM_ACTION_RESUME:
        nm_act_resume(l);
        break;
    case NM_ACTION_RECLAIM:
        nm_act_reclaim(l, a->predicted.memory_bytes, a->within_usec);
        break;
    case NM_ACTION_KILL:
        nm_act_kill(
            l, a->reason == NM_REASON_PAUSE_DEADLINE ? NM_EXIT_PAUSE_DEADLINE : NM_EXIT_PREEMPTED,
            true);
        break;
    case NM_ACTION_SHED:
        nm_act_discard(l, NM_EXIT_SHED);
        break;
    }
}

/* A reason for waiting is recorded at most once in this time, because on a node near a threshold the reason changes
 * with every sample. */
#define REPORT_AGAIN_USEC (10 * NM_USEC_PER_SEC)

/* Records why a container waits, but only when the wait begins or the reason changes, and not in every round. */
static void report_waiting(const struct nm_policy_verdict *v, enum nm_reason reason,
                           const struct nm_policy_container *view)
{
    uint64_t now = nm_now_usec();
    struct nm_live_container *l;

    assert(v);
    if (reason == NM_REASON_NONE || !view)
        return;
    l = view->owner;
    if (l->queue_recorded.reason == reason ||
        (l->queue_recorded.usec && now - l->queue_recorded.usec < REPORT_AGAIN_USEC))
        return;
    l->queue_recorded.reason = reason;
    l->queue_recorded.usec = now;
    nm_record_begin(l, NM_DECISION_QUEUE, NULL, v, reason);
    nm_record_effective(l);
}

static void record_queue_reasons(struct nm_manager *m, const struct nm_policy_verdict *v)
{
    const struct nm_live_container *l;

    report_waiting(v, v->guaranteed_reason, v->guaranteed_head);
    report_waiting(v, v->queue_reason, v->queue_head);
    if (v->queue_reason == NM_REASON_BREAKER && m->round.queue_reason != NM_REASON_BREAKER)
        nm_log_container(LOG_NOTICE, NULL, NULL, NM_MESSAGE_BREAKER,
                         "no opportunistic container is admitted for some time, because containers were killed");
    m->round.queue_reason = v->queue_reason;
    m->round.queue_head_id[0] = '\0';
    if (v->queue_reason == NM_REASON_NONE || !v->queue_head)
        return;
    l = v->queue_head->owner;
    (void)snprintf(m->round.queue_head_id, sizeof m->round.queue_head_id, "%s", l->c->id);
}

/*
 * Runs the shadow policy. In shadow mode, nmd acts on the policy without over-allocation, which takes resources back
 * only to make room for guaranteed containers. This function runs a second policy with over-allocation, and records
 * what nmd would have done. The second policy gets the same containers in each round, so its decision about a container
 * is recorded only if it differs from the last recorded decision.
 */
static void decide_in_shadow(struct nm_manager *m, const struct nm_policy_input *in)
{
    struct nm_policy_settings s = m->settings;
    struct nm_policy_verdict v;

    s.over_allocation = true;
    nm_policy_decide(m->shadow_policy, &s, in, &v);
    for (size_t i = 0; i < v.n_actions; i++) {
        struct nm_live_container *l = v.actions[i].target->owner;
        enum nm_decision_kind kind = kinds[v.actions[i].type];

        if (l->shadow.any && l->shadow.kind == kind)
            continue;
        l->shadow.any = true;
        l->shadow.kind = kind;
        nm_record_shadow(l, kind, &v.actions[i], &v);
    }
}

static struct nm_history_use history_use(const struct nm_resources *r)
{
    return (struct nm_history_use){r->memory_bytes, r->cpu_millicores};
}

static uint16_t permille(double percent)
{
    return (uint16_t)(10 * NM_MAX(NM_MIN(percent, 100.0), 0.0));
}

/* Adds a point to the history for each sample, including additional samples after growth or a pressure event. */
static void keep_history(struct nm_manager *m)
{
    struct nm_history_point p = {.at_usec = m->sampled.at_usec, .realtime_usec = nm_realtime_usec()};
    struct nm_status s;

    memset(&s, 0, NM_STATUS_SUMMARY_SIZE);
    nm_usage_fill(m, &s);
    p.use[NM_HISTORY_USED_BY_GUARANTEED] = history_use(&s.used_by[NM_GUARANTEED]);
    p.use[NM_HISTORY_USED_BY_OPPORTUNISTIC] = history_use(&s.used_by[NM_OPPORTUNISTIC]);
    p.use[NM_HISTORY_USED_BY_OTHERS] = history_use(&s.used_by_others);
    p.use[NM_HISTORY_RESERVED] = history_use(&s.reserved);
    p.use[NM_HISTORY_ALLOCATED_GUARANTEED] = history_use(&s.allocated[NM_GUARANTEED]);
    p.use[NM_HISTORY_ALLOCATED_OPPORTUNISTIC] = history_use(&s.allocated[NM_OPPORTUNISTIC]);
    p.guaranteed_running = (uint16_t)s.guaranteed_running;
    p.opportunistic_running = (uint16_t)s.opportunistic_running;
    p.paused = (uint16_t)s.paused;
    p.queued = (uint16_t)s.queued;
    p.uplink_permille = (uint32_t)(m->sampled.uplink_utilization * 1000);
    p.sample_cost_usec = (uint32_t)m->sampled.cost_usec;
    p.pressure[NM_HISTORY_MEMORY_SOME] = permille(m->sampled.node.memory_pressure_some_avg10);
    p.pressure[NM_HISTORY_MEMORY_FULL] = permille(m->sampled.node.memory_pressure_full_avg10);
    p.pressure[NM_HISTORY_CPU_SOME] = permille(m->sampled.node.cpu_pressure_some_avg10);
    nm_saved_history_add_point(m, &p);
}

static void check_invariants(struct nm_manager *m, const struct nm_policy_settings *s,
                             const struct nm_policy_input *in, const struct nm_policy_verdict *v)
{
    const char *broken = nm_policy_check_invariants(s, in, v);

    if (broken && !m->round.internal->invariant_broken)
        nm_err("a rule of the policy was violated; please report this with the output of 'nmctl explain --last 20': %s",
               broken);
    m->round.internal->invariant_broken = broken != NULL;
}

/*
 * Journals all actions of the round in one transaction, and carries them out only after the commit. After a crash, the
 * journal may have actions that were not carried out, but all actions that were carried out are in the journal.
 * Recovery finds the actions that were not carried out.
 */
static void carry_out(struct nm_manager *m, const struct nm_policy_verdict *v)
{
    bool starts_were_queued;

    /* Without containers there is no action, and seldom a write, so a transaction is not worth its cost. */
    if (m->live.n == 0 && m->journal.error == 0) {
        record_queue_reasons(m, v);
        nm_durable_save(m);
        return;
    }
    (void)nm_store_begin(m->store);
    for (size_t i = 0; i < v->n_actions; i++)
        act(v->actions[i].target->owner, &v->actions[i], v);
    record_queue_reasons(m, v);
    nm_durable_save(m);
    NM_FAULT("round-before-commit");
    nm_record_store_result(m, nm_store_commit(m->store));
    NM_FAULT("round-after-commit");
    /* Use the order of the policy, so that the first container in the queue starts first. The array of actions does not
     * change in this loop, since ends of containers are handled in other turns. */
    starts_were_queued = nm_starts_are_queued(m->starts);
    for (size_t i = 0; i < v->n_actions; i++)
        nm_act_carry_out(v->actions[i].target->owner);
    if (!starts_were_queued) /* if starts were already queued, the event source for starts is already enabled */
        nm_start_some(m);
    for (size_t i = 0; i < m->live.n; i++)
        nm_persist_snapshot_waiting(m->live.all[i]);
}

static void set_wake_timer(sd_event_source *timer, uint64_t wake_usec)
{
    if (!timer)
        return;
    (void)sd_event_source_set_time(timer, wake_usec);
    (void)sd_event_source_set_enabled(timer, wake_usec == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static void decide_and_act(struct nm_manager *m, enum nm_policy_trigger trigger)
{
    struct nm_policy_input in = make_input(m, trigger);
    struct nm_policy_settings s = m->settings;
    struct nm_policy_verdict *v = &m->round.verdict;

    if (m->config->shadow) {
        decide_in_shadow(m, &in);
        s.over_allocation = false;
    }
    m->round.decided_usec = in.now_usec;
    if (m->round.shed_due && s.queue_policy == NM_QUEUE_BY_LENGTH)
        in.shed_to = s.queue_max_length;
    m->round.shed_due = m->owners.limit_due = false;
    nm_policy_decide(m->policy, &s, &in, v);
    check_invariants(m, &s, &in, v);
    if (trigger != NM_TRIGGER_CHANGE && m->recorder)
        nm_recorder_sample(m->recorder);
    if (trigger != NM_TRIGGER_CHANGE) {
        m->round.preempt_wait_reason = v->preempt_wait_reason;
        keep_history(m);
    }
    carry_out(m, v);
    nm_growth_probe_rearm(m, v, trigger != NM_TRIGGER_CHANGE);
    nm_limits_squeeze(m, v);
    nm_slice_follow(m); /* one call for all containers that ended, started or changed their type */
    set_wake_timer(m->round.internal->wake_timer, v->wake_usec);
}

/* Returns to one sample per period after the node had no container. Returns whether the newest sample is older than a
 * period, so that the first container after the pause is decided on with a sample as fresh as on any other node. */
static bool end_idle_pause(struct nm_manager *m, uint64_t now_usec)
{
    uint64_t due = m->sampled.at_usec + m->config->period_usec;
    bool is_old = due <= now_usec;

    if (!m->timers.is_idle || m->live.n == 0)
        return false;
    m->timers.is_idle = false;
    m->timers.sample_due_usec = is_old ? now_usec + m->config->period_usec : due;
    (void)sd_event_source_set_time(m->timers.sample, m->timers.sample_due_usec);
    return is_old;
}

void nm_round(struct nm_manager *m, enum nm_policy_trigger trigger)
{
    uint64_t now = nm_now_usec();
    bool is_old = end_idle_pause(m, now);

    assert(!m->round.is_on); /* code that runs inside a round must use nm_round_request() */
    if (m->journal.error == -EUCLEAN)
        nm_journal_replace(m);
    m->round.is_on = true;
    m->round.cause_usec = nm_growth_probe_event_usec(m->growth_probe) ?: now;
    if (trigger != NM_TRIGGER_CHANGE || is_old ||
        now - m->sampled.at_usec > m->settings.sample_max_age_usec)
        (void)nm_sample_all(m, trigger == NM_TRIGGER_PRESSURE || trigger == NM_TRIGGER_EXTRA_SAMPLE);
    decide_and_act(m, trigger);
    m->round.is_on = false;
}

static int on_wake(sd_event_source *s, uint64_t usec, void *userdata)
{
    (void)s, (void)usec;
    nm_round(userdata, NM_TRIGGER_CHANGE);
    return 0;
}

int nm_round_add_wake_timer(struct nm_manager *m)
{
    return sd_event_add_time(m->event, &m->round.internal->wake_timer, CLOCK_BOOTTIME, UINT64_MAX, 1000, on_wake, m);
}

void nm_round_run_requested(struct nm_manager *m)
{
    unsigned triggers = m->round.triggers;

    m->round.triggers = 0;
    if (triggers & 1U << NM_TRIGGER_EXTRA_SAMPLE)
        nm_round(m, NM_TRIGGER_EXTRA_SAMPLE);
    else if (triggers & 1U << NM_TRIGGER_PRESSURE && nm_now_usec() - m->sampled.at_usec >= FRESH_ENOUGH_USEC)
        nm_round(m, NM_TRIGGER_PRESSURE);
    else if (triggers & 1U << NM_TRIGGER_CHANGE)
        nm_round(m, NM_TRIGGER_CHANGE);
    else
        nm_growth_probe_again(m);
}
