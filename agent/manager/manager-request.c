/* SPDX-License-Identifier: Apache-2.0 */

/* What people ask for containers that are there: pause, resume, kill, promote, demote, update. */

#include "agent/manager/manager-state.h"

#include <assert.h>

#include "agent/problem.h"
#include "agent/manager/manager-access.h"
#include "agent/manager/manager-act.h"
#include "agent/manager/manager-end.h"
#include "agent/manager/manager-keep.h"
#include "agent/manager/manager-kick.h"
#include "agent/manager/manager-limits.h"
#include "agent/manager/manager-lists.h"
#include "agent/manager/manager-record.h"
#include "agent/manager/manager-sample.h"
#include "agent/manager/manager-share.h"
#include "agent/manager/manager-submit.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/parse.h"

static int wrong_state(const struct nm_container *c, const char *what, const char *allowed,
                       struct nm_problem *p)
{
    assert(c->view.state != NM_COMPLETED);
    return nm_problem_set(p, NM_AGENT_E_CONFLICT, "state", nm_state_name(c->view.state),
                          "Container %s is %s and can't be %s: it must be %s.", c->id,
                          nm_state_name(c->view.state), what, allowed);
}

/* A person's pause of what the policy had paused makes it theirs: it then outlives the cause of the
 * first. */
int nm_manager_pause(struct nm_manager *m, const struct nm_caller *who, const char *id,
                     struct nm_problem *ret_problem)
{
    struct nm_live *l;
    int r = nm_access_find_live(m, who, id, &l, ret_problem);

    if (r != 0)
        return r;
    if (!m->backend->feature[NM_CGROUP_FREEZE])
        return nm_problem_set(ret_problem, NM_AGENT_E_UNAVAILABLE, "freeze", "",
                              "Containers can't be paused here: %s.",
                              m->backend->missing[NM_CGROUP_FREEZE]);
    if (l->c->view.state == NM_PAUSED || l->c->view.state == NM_PAUSING) {
        l->c->view.user_paused =
            true; /* policy had paused it: now it stays until a person resumes it */
        (void)nm_keep_journal(l);
        (void)nm_keep_copy(l);
        return nm_keep_answer(m, l->c->id, "is paused", ret_problem);
    }
    if (l->c->view.state != NM_RUNNING)
        return wrong_state(l->c, "paused", "RUNNING", ret_problem);
    nm_record_by(l, NM_DECISION_PAUSE, NM_REASON_USER, who);
    nm_act_pause(l, true);
    return nm_keep_answer(m, l->c->id, "is paused", ret_problem);
}

/* Also what is still being paused; the policy may pause it again, when CPU is short. */
int nm_manager_resume(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem)
{
    struct nm_live *l;
    int r = nm_access_find_live(m, who, id, &l, ret_problem);

    if (r != 0)
        return r;
    if (l->c->view.state != NM_PAUSED && l->c->view.state != NM_PAUSING)
        return wrong_state(l->c, "resumed", "PAUSED", ret_problem);
    nm_record_by(l, NM_DECISION_RESUME, NM_REASON_USER, who);
    nm_act_resume(l);
    return nm_keep_answer(m, l->c->id, "is resumed", ret_problem);
}

/* Twice is not an error: the second time, with `now`, ends the time of grace. */
int nm_manager_kill(struct nm_manager *m, const struct nm_caller *who, const char *id, bool now,
                    struct nm_problem *ret_problem)
{
    struct nm_container *c;
    struct nm_live *l;
    char end[64];
    int r = nm_access_find(m, who, id, &c, ret_problem);

    if (r != 0)
        return r;
    l = nm_lists_live_of(c);
    if (!l)
        return nm_problem_set(ret_problem, NM_AGENT_E_CONFLICT, "id", id,
                              "Container %s has ended already (%s).", c->id,
                              nm_container_end_text(c, end, sizeof end));
    if ((c->view.state == NM_KILLING && !now) || nm_end_is_over(l))
        return 0;
    if (c->view.state != NM_KILLING)
        nm_record_by(l, NM_DECISION_KILL, NM_REASON_USER, who);
    nm_act_kill(l, NM_EXIT_KILLED, now);
    return nm_keep_answer(m, c->id, "is being killed", ret_problem);
}

/* ---- promote, demote, update ----------------------------------------------- */

/* In place: the limits of the cgroup change, and no process is moved. A promise that can't be kept
 * is refused, as at submission; to give one up is always possible, but for what still waits: it
 * needs a place in the queue. */
static int change_type(struct nm_manager *m, const struct nm_caller *who, const char *id,
                       enum nm_execution_type to, struct nm_problem *p)
{
    struct nm_live *l;
    struct nm_view *v;
    enum nm_reason reason;
    int r = nm_access_find_live(m, who, id, &l, p);

    assert(p);
    if (r == 0)
        r = nm_keep_check(m, p);
    if (r != 0)
        return r;
    v = &l->c->view;
    if (v->type == to)
        return nm_problem_set(p, NM_AGENT_E_CONFLICT, "execution_type", nm_execution_type_name(to),
                              "Container %s is %s already.", l->c->id, nm_execution_type_name(to));
    if (to == NM_GUARANTEED || nm_view_is_waiting(v)) {
        reason = nm_policy_check_request(&m->settings, m->views, m->n_live, to, &v->request, v);
        if (reason != NM_REASON_NONE)
            return nm_submit_refuse(m, reason, &v->request, p);
        r = to == NM_OPPORTUNISTIC ? nm_share_check_queue(m, who, p) : 0;
        if (r != 0)
            return r;
    }
    v->type = to;
    (void)nm_store_begin(m->store);
    nm_record_by(l, to == NM_GUARANTEED ? NM_DECISION_PROMOTE : NM_DECISION_DEMOTE, NM_REASON_USER,
                 who);
    (void)nm_keep_journal(l);
    nm_record_store_result(m, nm_store_commit(m->store));
    (void)nm_keep_copy(l);
    NM_FAULT("type-journalled");
    nm_limits_apply(l);
    nm_limits_set_priority(l);
    nm_record_acted(l);
    nm_record_effective(l);
    /* What was paused to give way has the right of way now. */
    if (to == NM_GUARANTEED && (v->state == NM_PAUSED || v->state == NM_PAUSING) &&
        !v->user_paused) {
        nm_record_by(l, NM_DECISION_RESUME, NM_REASON_GUARANTEED, who);
        nm_act_resume(l);
    }
    nm_kick(m, NM_TRIGGER_CHANGE);
    return nm_keep_answer(m, l->c->id, to == NM_GUARANTEED ? "is promoted" : "is demoted", p);
}

int nm_manager_promote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                       struct nm_problem *ret_problem)
{
    return change_type(m, who, id, NM_GUARANTEED, ret_problem);
}

int nm_manager_demote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem)
{
    return change_type(m, who, id, NM_OPPORTUNISTIC, ret_problem);
}

static int check_shrink(const struct nm_live *l, uint64_t memory_bytes, struct nm_problem *p)
{
    char want[32], has[32];

    /* A limit that isn't lowered makes nothing worse, however much is used. */
    if (memory_bytes >= l->c->view.request.memory_bytes || memory_bytes >= l->c->view.measured.memory_bytes)
        return 0;
    nm_format_size(memory_bytes, want, sizeof want);
    return nm_problem_set(
        p, NM_AGENT_E_CONFLICT, "memory", want,
        "Container %s uses %s now: with a limit of %s the kernel would kill it at once.", l->c->id,
        nm_format_size(l->c->view.measured.memory_bytes, has, sizeof has), want);
}

/* Checked as a new request would be, without what it holds already. The queue's length is no
 * reason: it has its place. */
int nm_manager_update(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      uint64_t memory_bytes, uint32_t vcores_milli, struct nm_problem *ret_problem)
{
    struct nm_live *l;
    struct nm_resources request;
    enum nm_reason reason;
    int r = nm_access_find_live(m, who, id, &l, ret_problem);

    assert(ret_problem);
    if (r == 0)
        r = nm_keep_check(m, ret_problem);
    if (r != 0)
        return r;
    if (!memory_bytes && !vcores_milli)
        return nm_problem_set(ret_problem, NM_AGENT_E_INVALID, "memory_bytes", "",
                              "Nothing to change: give memory, vcores, or both.");
    r = memory_bytes ? nm_submit_check_memory(memory_bytes, ret_problem) : 0;
    if (r != 0)
        return r;
    request.memory_bytes = memory_bytes ? memory_bytes : l->c->view.request.memory_bytes;
    request.cpu_millicores =
        vcores_milli ? nm_submit_millicores(m, vcores_milli) : l->c->view.request.cpu_millicores;
    reason = nm_policy_check_request(&m->settings, m->views, m->n_live, l->c->view.type, &request,
                                     &l->c->view);
    if (reason != NM_REASON_NONE && reason != NM_REASON_QUEUE_FULL)
        return nm_submit_refuse(m, reason, &request, ret_problem);
    nm_sample_live(l, nm_now_usec());
    r = check_shrink(l, request.memory_bytes, ret_problem);
    if (r != 0)
        return r;
    l->c->view.request = request;
    if (vcores_milli)
        l->c->vcores_milli = vcores_milli;
    (void)nm_store_begin(m->store);
    nm_record_by(l, NM_DECISION_UPDATE, NM_REASON_USER, who);
    (void)nm_keep_journal(l);
    nm_record_store_result(m, nm_store_commit(m->store));
    (void)nm_keep_copy(l);
    NM_FAULT("update-journalled");
    nm_limits_apply(l);
    nm_record_acted(l);
    nm_record_effective(l);
    nm_kick(m, NM_TRIGGER_CHANGE);
    return nm_keep_answer(m, l->c->id, "is updated", ret_problem);
}
