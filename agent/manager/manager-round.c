/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One round: sample (monitor/), decide (policy.c), hand the actions out (manager-act.c). Sampling
 * reuses open descriptors and the policy its workspace, so that a round on a node in trouble needs
 * no memory of its own.
 */

#include "agent/manager/manager.h"

#include "agent/message-ids.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"

/* Two pressure events in quick succession tell nothing that one sample doesn't. */
#define FRESH_ENOUGH_USEC (20 * NM_USEC_PER_MSEC)

void nm_live_sample(struct nm_live *l, uint64_t now_usec)
{
    struct nm_view *v = &l->c->view;
    struct nm_cgroup_sample s;

    if (!l->sampler || nm_cgroup_sampler_sample(l->sampler, now_usec, &s) < 0)
        return; /* gone: its end is on the way */
    l->sample = s;
    v->measured.memory_bytes = s.memory_bytes;
    if (s.cpu_valid) {
        v->measured.cpu_millicores = s.cpu_millicores;
        v->n_samples++;
    }
    v->cpu_usage_usec = s.cpu_usage_usec;
    l->c->memory_peak_bytes = NM_MAX(l->c->memory_peak_bytes, s.memory_peak_bytes);
    l->c->swap_bytes = s.swap_bytes;
    nm_life_count_oom_kills(l, s.oom_kills);
}

static void settle_regained(struct nm_live *l)
{
    struct nm_resources regained;

    if (!l->regain_due)
        return;
    l->regain_due = false;
    regained.memory_bytes =
        nm_sub_u64(l->use_before.memory_bytes, l->c->view.measured.memory_bytes);
    regained.cpu_millicores =
        nm_sub_u64(l->use_before.cpu_millicores, l->c->view.measured.cpu_millicores);
    nm_record_regained(l, &regained);
}

static void sample_links(struct nm_manager *m, uint64_t now)
{
    m->uplink_utilization = 0;
    if (!m->link_sampler ||
        nm_link_sampler_sample(m->link_sampler, now, m->links, &m->n_links) < 0)
        return;
    for (unsigned i = 0; i < m->n_links; i++)
        if (m->links[i].uplink)
            m->uplink_utilization = NM_MAX(m->uplink_utilization, m->links[i].utilization);
}

int nm_manager_sample(struct nm_manager *m)
{
    uint64_t now = nm_now_usec();
    struct nm_node_sample node;
    int r = nm_node_sampler_sample(m->node_sampler, now, &node);

    /* A failed node sample makes the policy's view stale by and by; nothing is admitted or killed
     * on it. */
    if (r >= 0) {
        m->node = node;
        m->node_valid = true;
    } else {
        if (m->node_valid)
            nm_log_container(
                LOG_ERR, NULL, NULL, NM_MESSAGE_NO_SAMPLE,
                "the node's memory and CPU can't be read (%s): nothing is admitted or taken back",
                strerror(-r));
        m->node_valid = false;
    }
    nm_glance_collect(m);
    for (size_t i = 0; i < m->n_live; i++) {
        nm_live_sample(m->live[i], now);
        m->views[i]->state_samples++;
        settle_regained(m->live[i]);
    }
    sample_links(m, now);
    m->last_sample_usec = now;
    m->sample_cost_usec = nm_now_usec() - now;
    m->counters.samples++;
    return r;
}

static void count_apps(struct nm_manager *m)
{
    for (size_t i = 0; i < m->n_apps; i++)
        m->app_views[i].running = m->app_views[i].queued = 0;
    for (size_t i = 0; i < m->n_live; i++) {
        const struct nm_view *v = m->views[i];

        if (v->state == NM_SCHEDULED && !v->admitted)
            m->app_views[v->app].queued++;
        else
            m->app_views[v->app].running++;
    }
}

static struct nm_policy_input make_input(struct nm_manager *m, enum nm_policy_trigger trigger)
{
    const char *reason;

    count_apps(m);
    return (struct nm_policy_input){
        .trigger = trigger,
        .now_usec = nm_now_usec(),
        .node =
            {
                .valid = m->node_valid,
                .cpu_valid = m->node.cpu_valid,
                .at_usec = m->node.at_usec,
                .used = {.memory_bytes =
                             nm_sub_u64(m->node.memory_total_bytes, m->node.memory_available_bytes),
                         .cpu_millicores = m->node.cpu_busy_millicores},
                .swap_free_bytes = m->node.swap_free_bytes,
                .uplink_utilization = m->uplink_utilization,
            },
        .views = m->views,
        .n_views = m->n_live,
        .apps = m->app_views,
        .n_apps = m->n_apps,
        .draining = m->draining,
        .unhealthy = m->health && !nm_health_get(m->health, &reason),
        .shed_to = UINT32_MAX,
    };
}

static void act(struct nm_live *l, const struct nm_policy_action *a,
                const struct nm_policy_verdict *v)
{
    static const enum nm_decision_kind kinds[] = {
        [NM_ACTION_ADMIT] = NM_DECISION_ADMIT,     [NM_ACTION_PAUSE] = NM_DECISION_PAUSE,
        [NM_ACTION_RESUME] = NM_DECISION_RESUME,   [NM_ACTION_RECLAIM] = NM_DECISION_RECLAIM,
        [NM_ACTION_KILL] = NM_DECISION_KILL,       [NM_ACTION_SHED] = NM_DECISION_SHED,
    };

    if (nm_life_is_over(l)) /* since the samples that this was decided on */
        return;
    nm_record_begin(l, kinds[a->type], a, v, a->reason);
    switch (a->type) {
    case NM_ACTION_ADMIT:
        nm_act_admit(l);
        break;
    case NM_ACTION_PAUSE:
        nm_act_pause(l, false);
        break;
    case NM_ACTION_RESUME:
        nm_act_resume(l);
        break;
    case NM_ACTION_RECLAIM:
        nm_act_reclaim(l, a->predicted.memory_bytes);
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

/* On a node near a threshold the reason flips with every sample; one record in this time will do.
 */
#define TELL_AGAIN_USEC (10 * NM_USEC_PER_SEC)

/* Why something waits is worth a record when it begins to wait and when the reason changes, not in
 * every round. */
static void tell_waiting(const struct nm_policy_verdict *v, enum nm_reason hold,
                         const struct nm_view *view)
{
    uint64_t now = nm_now_usec();
    struct nm_live *l;

    if (hold == NM_REASON_NONE || !view)
        return;
    l = view->owner;
    if (l->queue_told == hold || (l->queue_told_usec && now - l->queue_told_usec < TELL_AGAIN_USEC))
        return;
    l->queue_told = hold;
    l->queue_told_usec = now;
    nm_record_begin(l, NM_DECISION_QUEUE, NULL, v, hold);
    nm_record_effective(l);
}

static void tell_hold(struct nm_manager *m, const struct nm_policy_verdict *v)
{
    const struct nm_live *l;

    tell_waiting(v, v->guaranteed_hold, v->guaranteed_hold_view);
    tell_waiting(v, v->hold, v->hold_view);
    if (v->hold == NM_REASON_BREAKER && m->hold != NM_REASON_BREAKER)
        nm_log_container(LOG_NOTICE, NULL, NULL, NM_MESSAGE_BREAKER,
                         "nothing opportunistic is admitted for a while: containers were killed");
    m->hold = v->hold;
    m->hold_id[0] = '\0';
    if (v->hold == NM_REASON_NONE || !v->hold_view)
        return;
    l = v->hold_view->owner;
    (void)snprintf(m->hold_id, sizeof m->hold_id, "%s", l->c->id);
}

/*
 * Shadow mode: the node is run by the plain rule (no over-allocation, nothing taken back), and a
 * second policy, with over-allocation on, is asked what it would have done. It sees the same
 * containers, so what it says about a container is told once, until it says something else.
 */
static void decide_in_shadow(struct nm_manager *m, const struct nm_policy_input *in)
{
    struct nm_policy_settings s = m->settings;
    struct nm_policy_verdict v;

    s.over_allocation = true;
    nm_policy_decide(m->shadow_policy, &s, in, &v);
    for (size_t i = 0; i < v.n_actions; i++) {
        struct nm_live *l = v.actions[i].target->owner;
        enum nm_decision_kind kind = NM_DECISION_ADMIT;

        switch (v.actions[i].type) {
        case NM_ACTION_ADMIT: kind = NM_DECISION_ADMIT; break;
        case NM_ACTION_PAUSE: kind = NM_DECISION_PAUSE; break;
        case NM_ACTION_RESUME: kind = NM_DECISION_RESUME; break;
        case NM_ACTION_RECLAIM: kind = NM_DECISION_RECLAIM; break;
        case NM_ACTION_KILL: kind = NM_DECISION_KILL; break;
        case NM_ACTION_SHED: kind = NM_DECISION_SHED; break;
        }
        if (l->shadow_any && l->shadow_told == kind)
            continue;
        l->shadow_any = true;
        l->shadow_told = kind;
        nm_record_shadow(l, kind, &v.actions[i], &v);
    }
}

static void keep_history(struct nm_manager *m, const struct nm_policy_verdict *v)
{
    struct nm_history_point p = {.at_usec = m->last_sample_usec,
                                 .realtime_usec = nm_realtime_usec()};

    p.memory_used_bytes = v->used.memory_bytes;
    p.cpu_used_millicores = (uint32_t)v->used.cpu_millicores;
    p.guaranteed_memory_allocated_bytes = v->allocated_guaranteed.memory_bytes;
    p.opportunistic_memory_allocated_bytes = v->allocated_opportunistic.memory_bytes;
    p.guaranteed_cpu_allocated_millicores = (uint32_t)v->allocated_guaranteed.cpu_millicores;
    p.opportunistic_cpu_allocated_millicores = (uint32_t)v->allocated_opportunistic.cpu_millicores;
    for (size_t i = 0; i < m->n_live; i++) {
        const struct nm_view *w = m->views[i];
        bool guaranteed = w->type == NM_GUARANTEED;

        if (w->state == NM_SCHEDULED && !w->admitted) {
            p.queued++;
            continue;
        }
        if (w->state == NM_PAUSED || w->state == NM_PAUSING)
            p.paused++;
        else if (guaranteed)
            p.guaranteed_running++;
        else
            p.opportunistic_running++;
        *(guaranteed ? &p.guaranteed_memory_used_bytes : &p.opportunistic_memory_used_bytes) +=
            w->measured.memory_bytes;
        *(guaranteed ? &p.guaranteed_cpu_millicores : &p.opportunistic_cpu_millicores) +=
            (uint32_t)w->measured.cpu_millicores;
    }
    p.uplink_permille = (uint32_t)(m->uplink_utilization * 1000);
    p.sample_cost_usec = (uint32_t)m->sample_cost_usec;
    nm_history_add(m->history, &p);
}

static void check_invariants(struct nm_manager *m, const struct nm_policy_settings *s,
                             const struct nm_policy_input *in, const struct nm_policy_verdict *v)
{
    const char *broken = nm_policy_check_invariants(s, in, v);

    if (broken && !m->invariant_broken)
        nm_err("a rule of the policy does not hold, please report this with the output of 'nmctl "
               "explain --last 20': %s",
               broken);
    m->invariant_broken = broken != NULL;
}

/*
 * Every intent of the round goes to the journal in one transaction, and only when that is committed
 * is anything done: a crash in between leaves a journal that says more than happened, which
 * recovery can see, never less.
 */
static void carry_out(struct nm_manager *m, const struct nm_policy_verdict *v)
{
    (void)nm_store_begin(m->store);
    for (size_t i = 0; i < v->n_actions; i++)
        act(v->actions[i].target->owner, &v->actions[i], v);
    tell_hold(m, v);
    nm_memory_save(m);
    NM_FAULT("round-before-commit");
    nm_record_store_result(m, nm_store_commit(m->store));
    NM_FAULT("round-after-commit");
    /* In the policy's order: first in the queue, first to run. None goes from the array meanwhile,
     * for ends have a turn of their own. */
    for (size_t i = 0; i < v->n_actions; i++)
        nm_act_carry_out(v->actions[i].target->owner);
    for (size_t i = 0; i < m->n_live; i++)
        nm_life_copy_waiting(m->live[i]);
}

static void decide_and_act(struct nm_manager *m, enum nm_policy_trigger trigger)
{
    struct nm_policy_input in = make_input(m, trigger);
    struct nm_policy_settings s = m->settings;
    struct nm_policy_verdict *v = &m->verdict;

    if (m->config->shadow) {
        decide_in_shadow(m, &in);
        s.over_allocation = false;
    }
    m->decided_usec = in.now_usec;
    if (m->shed_due)
        in.shed_to = s.queue_max_length;
    m->shed_due = false;
    nm_policy_decide(m->policy, &s, &in, v);
    check_invariants(m, &s, &in, v);
    if (trigger != NM_TRIGGER_CHANGE && m->recorder)
        nm_recorder_sample(m->recorder);
    if (trigger == NM_TRIGGER_SAMPLE)
        keep_history(m, v);
    carry_out(m, v);
    nm_glance_rearm(m, v, trigger != NM_TRIGGER_CHANGE);
    nm_act_squeeze(m, v->squeeze_millicores);
    if (m->wake_timer) {
        (void)sd_event_source_set_time(m->wake_timer, v->wake_usec);
        (void)sd_event_source_set_enabled(
            m->wake_timer, v->wake_usec == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
    }
}

void nm_manager_round(struct nm_manager *m, enum nm_policy_trigger trigger)
{
    uint64_t now = nm_now_usec();

    if (m->in_round) {
        nm_manager_kick(m);
        return;
    }
    if (trigger == NM_TRIGGER_PRESSURE && now - m->last_sample_usec < FRESH_ENOUGH_USEC)
        return;
    if (m->store_error == -EUCLEAN)
        nm_recovery_replace_journal(m);
    m->in_round = true;
    m->cause_usec = m->cpu_event_usec ? m->cpu_event_usec : now;
    if (trigger != NM_TRIGGER_CHANGE ||
        now - m->last_sample_usec > m->settings.sample_max_age_usec)
        (void)nm_manager_sample(m);
    decide_and_act(m, trigger);
    m->in_round = false;
}
