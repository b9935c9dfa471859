/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Execution of actions. Each action has two steps. The first step sets the intended state and journals it. The second
 * step changes the kernel's state. The journal is committed between the two steps. So after a crash, the journal may
 * have an action that the kernel does not have, but never the reverse. container-events.c receives the actual results
 * later.
 */

#include "agent/lifecycle/lifecycle-internal.h"

#include <assert.h>

#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "util/clock.h"

/* ---- second step: change the kernel's state -------------------------------- */

void nm_act_carry_out(struct nm_live_container *l)
{
    enum nm_todo todo = l->todo;

    assert(l->phase != NM_RUN_REMOVED);
    l->todo = NM_TODO_NOTHING;
    switch (todo) {
    case NM_TODO_NOTHING:
        break;
    case NM_TODO_LAUNCH:
        nm_start_soon(l);
        break;
    case NM_TODO_FREEZE:
        nm_freeze_set(l, true);
        break;
    case NM_TODO_THAW:
        nm_freeze_set(l, false);
        break;
    case NM_TODO_RECLAIM:
        nm_reclaim_start(l);
        break;
    case NM_TODO_TERMINATE:
        nm_kill_terminate(l);
        break;
    case NM_TODO_KILL:
        if (l->cg)
            nm_kill_all(l);
        else
            nm_end_check(l);
        break;
    }
}

/* ---- first step: journal the action ---------------------------------------- */

/* Carries out an action immediately. During a round, only notes the action: the round carries it out after it has
 * journalled all its actions. */
static void schedule(struct nm_live_container *l, enum nm_todo todo)
{
    l->todo = todo;
    if (!l->m->round.is_on)
        nm_act_carry_out(l);
}

void nm_act_admit(struct nm_live_container *l)
{
    struct nm_policy_container *v = &l->c->view;

    assert(v->state == NM_SCHEDULED && !v->admitted);
    v->admitted = true;
    v->started_usec = nm_now_usec();
    l->c->started_realtime_usec = nm_realtime_usec();
    nm_record_count(l->m, NM_COUNT_ADMITTED, l->decision.reason);
    (void)nm_persist_journal(l);
    assert(l->m->round.is_on); /* the round launches admitted containers or queues their start */
    schedule(l, NM_TODO_LAUNCH);
}

void nm_act_pause(struct nm_live_container *l, bool by_user)
{
    struct nm_policy_container *v = &l->c->view;

    assert(v->state == NM_RUNNING);
    v->paused_usec = nm_now_usec();
    v->pause_deadline_usec = v->paused_usec + l->m->settings.pause_deadline_usec;
    v->last_cpu_millicores = v->measured.cpu_millicores;
    v->user_paused = by_user;
    v->reclaimed = false;
    l->use_before = v->measured;
    nm_persist_set_state(l, NM_PAUSING);
    if (by_user)
        (void)nm_persist_snapshot(l); /* a user's request must survive the loss of the journal */
    schedule(l, NM_TODO_FREEZE);
}

void nm_act_resume(struct nm_live_container *l)
{
    struct nm_policy_container *v = &l->c->view;
    bool by_user = v->user_paused;

    assert(v->state == NM_PAUSED || v->state == NM_PAUSING);
    v->user_paused = false;
    l->use_before = v->measured;
    nm_persist_set_state(l, NM_RESUMING);
    if (by_user)
        (void)nm_persist_snapshot(l);
    schedule(l, NM_TODO_THAW);
}

void nm_act_reclaim(struct nm_live_container *l, uint64_t bytes, uint64_t within_usec)
{
    struct nm_policy_container *v = &l->c->view;

    assert(bytes > 0);
    if (v->state == NM_PAUSED) {
        v->reclaimed = true;
    } else {
        v->reclaimed_usec = nm_now_usec();
        l->m->counters.running_reclaims++;
    }
    l->reclaim_worker.bytes = bytes;
    l->reclaim_worker.within_usec = within_usec;
    l->use_before = l->c->view.measured;
    (void)nm_persist_journal(l);
    schedule(l, NM_TODO_RECLAIM);
}

/* Sets the cause of the container's end. Is called once, by the first action that ends the container. Later kills don't
 * change the cause. */
static void note_cause(struct nm_live_container *l, enum nm_exit_reason reason)
{
    assert(l->c->kill_reason == NM_EXIT_NONE);
    l->c->kill_reason = reason;
    if (reason == NM_EXIT_LOCALIZATION_FAILED)
        return; /* the cause is not a decision */
    l->c->exit_cause = l->decision.reason;
    l->c->exit_decision = l->decision.number;
}

void nm_act_discard(struct nm_live_container *l, enum nm_exit_reason reason)
{
    assert(!l->cg && !l->launch && l->phase == NM_RUN_NONE && !nm_start_is_due(l));
    assert(reason != NM_EXIT_NONE);
    note_cause(l, reason);
    nm_run_phase_set(&l->phase, NM_RUN_SHIM_GONE);
    if (reason == NM_EXIT_SHED)
        nm_record_count(l->m, NM_COUNT_SHED, l->decision.reason);
    nm_record_acted(l);
    nm_persist_set_state(l, NM_KILLING);
    schedule(l, NM_TODO_KILL);
}

/* Ends the run. The caller has already journalled that the container runs again. */
void nm_act_rerun(struct nm_live_container *l)
{
    uint64_t grace = l->m->config->kill_grace_usec;

    assert(l->c->rerun && l->c->view.state == NM_RUNNING && !l->m->round.is_on);
    schedule(l, grace ? NM_TODO_TERMINATE : NM_TODO_KILL);
}

void nm_act_kill(struct nm_live_container *l, enum nm_exit_reason reason, bool now)
{
    struct nm_policy_container *v = &l->c->view;
    /* A frozen container can't handle SIGTERM, so it gets no grace period. It must not be thawed for SIGTERM, because
     * it was paused for lack of resources. */
    bool paused = v->state == NM_PAUSED || v->state == NM_PAUSING;
    uint64_t grace = now || paused ? 0 : l->m->config->kill_grace_usec;

    assert(v->state != NM_COMPLETED && reason != NM_EXIT_NONE);
    if (nm_policy_container_is_waiting(v) || nm_start_cancel(l)) {
        nm_act_discard(l, reason);
        return;
    }
    if (nm_end_is_complete(l))
        return;
    if (v->state != NM_KILLING) {
        note_cause(l, reason);
        l->c->view.kill_deadline_usec = grace ? nm_now_usec() + grace : 0;
        l->use_before = v->measured;
        nm_persist_set_state(l, NM_KILLING);
        if (grace)
            (void)nm_persist_snapshot(l);
    }
    if (l->phase == NM_RUN_CREATING)
        nm_run_phase_set(&l->phase, NM_RUN_KILL_PENDING);
    if (l->phase == NM_RUN_KILL_PENDING)
        return; /* created() in container-start.c continues the kill */
    schedule(l, grace ? NM_TODO_TERMINATE : NM_TODO_KILL);
}
