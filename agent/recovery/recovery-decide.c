/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A decision is journalled when it is taken, and again when its outcome is known. If nmd dies before the outcome is
 * known, the journal has a decision without an outcome. The next nmd derives the outcome from the container's state, or
 * continues the action, so that every decision gets an outcome.
 */

#include "agent/recovery/recovery.h"

#include <assert.h>

#include "agent/journal/records.h"
#include "util/clock.h"

static void take(const struct nm_decision *d, void *userdata)
{
    *(struct nm_decision *)userdata = *d;
}

static bool load_newest(struct nm_manager *m, const char *id, struct nm_decision *ret)
{
    *ret = (struct nm_decision){0};
    return nm_store_load_decisions(m->store, id, UINT64_MAX, 1, take, ret) >= 0 && ret->number > 0;
}

enum result { RESULT_OPEN, RESULT_DONE, RESULT_NOT_DONE };

static enum result done_if(bool done)
{
    return done ? RESULT_DONE : RESULT_NOT_DONE;
}

static enum result result_of(const struct nm_decision *d, const struct nm_policy_container *v)
{
    bool was_paused = v->state == NM_PAUSED;

    switch (d->kind) {
    case NM_DECISION_ADMIT:
        if (v->state == NM_SCHEDULED)
            return v->admitted ? RESULT_OPEN : RESULT_NOT_DONE;
        return RESULT_DONE;
    case NM_DECISION_PAUSE:
        return v->state == NM_PAUSING ? RESULT_OPEN : done_if(was_paused);
    case NM_DECISION_RESUME:
        return v->state == NM_RESUMING ? RESULT_OPEN : done_if(v->state == NM_RUNNING);
    case NM_DECISION_KILL:
    case NM_DECISION_SHED:
        /* the handling of the container's end sets the outcome */
        if (d->reason == NM_REASON_KERNEL_OOM)
            return RESULT_OPEN;
        return v->state == NM_KILLING ? RESULT_OPEN : RESULT_NOT_DONE;
    case NM_DECISION_RESTART:
        return nm_policy_container_is_waiting(v) ? RESULT_DONE : RESULT_OPEN;
    case NM_DECISION_PROMOTE:
        return done_if(v->type == NM_GUARANTEED);
    case NM_DECISION_DEMOTE:
        return done_if(v->type == NM_OPPORTUNISTIC);
    case NM_DECISION_UPDATE: /* an update is journalled together with its change */
        return RESULT_DONE;
    default:
        return RESULT_NOT_DONE;
    }
}

void nm_recovery_reopen_decision(struct nm_live_container *l)
{
    const struct nm_policy_container *v = &l->c->view;
    struct nm_decision *d = &l->decision;

    assert(!l->decision_open);
    if (!load_newest(l->m, l->c->id, d))
        return;
    l->use_before = d->predicted;
    if (d->kind == NM_DECISION_QUEUE) { /* so that the same reason is not recorded again */
        l->queue_recorded.reason = d->reason;
        l->queue_recorded.usec = d->decided_usec;
    }
    /* The earlier nmd died after the pause and before the sample that shows how much the pause has freed. */
    if (d->outcome == NM_OUTCOME_DONE && !d->regained_known && d->kind == NM_DECISION_PAUSE &&
        v->state == NM_PAUSED)
        l->regain_due = true;
    if (d->outcome != NM_OUTCOME_PENDING)
        return;
    l->decision_open = true;
    switch (result_of(d, v)) {
    case RESULT_OPEN:
        break;
    case RESULT_DONE:
        nm_record_effective(l);
        break;
    case RESULT_NOT_DONE:
        nm_record_failed(l, "nmd was restarted before the action was carried out");
        if (d->kind == NM_DECISION_RECLAIM) /* the policy may reclaim again, which does no harm */
            l->c->view.reclaimed = false;
        break;
    }
}

void nm_recovery_close_decision(struct nm_manager *m, const char *id, const char *why)
{
    struct nm_decision d;

    assert(id && why);
    if (!load_newest(m, id, &d) || d.outcome != NM_OUTCOME_PENDING)
        return;
    d.outcome = NM_OUTCOME_FAILED;
    (void)snprintf(d.error, sizeof d.error, "%s", why);
    nm_record_store_result(m, nm_store_put_decision(m->store, &d));
}
