/* SPDX-License-Identifier: Apache-2.0 */

/* Requests of users about existing containers: pause, resume, kill and remove. change.c has promote, demote and
 * update. */

#include "agent/state/manager-state.h"

#include <assert.h>

#include "agent/problem.h"
#include "agent/requests/requests-internal.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"

/* Returns what to do if the container's state doesn't allow a pause or a resume. */
static const char *state_advice(enum nm_state s)
{
    switch (s) {
    case NM_NEW:
    case NM_LOCALIZING:
    case NM_SCHEDULED:
        return "It has not started: 'nmctl explain' shows why, and 'nmctl kill' takes it out of the queue.";
    case NM_RUNNING:
        return "It is not paused, so there is nothing to do.";
    default:
        return "Try again in a moment; 'nmctl show' shows its state.";
    }
}

static int wrong_state(const struct nm_container *c, const char *what, const char *allowed,
                       struct nm_problem *p)
{
    assert(c->view.state != NM_COMPLETED);
    return nm_problem_set(p, NM_AGENT_E_CONFLICT, "state", nm_state_name(c->view.state),
                          "Container %s is %s and can't be %s: it must be %s. %s", c->id,
                          nm_state_word(c->view.state), what, allowed, state_advice(c->view.state));
}

/* Pauses a container. If the policy has already paused it, the pause becomes a pause by the user, which the policy does
 * not end. */
int nm_manager_pause(struct nm_manager *m, const struct nm_caller *who, const char *id,
                     struct nm_problem *ret_problem)
{
    struct nm_live_container *l;
    int r = nm_access_find_live(m, who, id, &l, ret_problem);

    if (r != 0)
        return r;
    if (!m->backend->feature[NM_CGROUP_FREEZE])
        return nm_problem_set(ret_problem, NM_AGENT_E_UNAVAILABLE, "freeze", "",
                              "Containers can't be paused here: %s.",
                              m->backend->missing[NM_CGROUP_FREEZE]);
    if (l->c->view.state == NM_PAUSED || l->c->view.state == NM_PAUSING) {
        l->c->view.user_paused =
            true; /* the policy may have paused it; from now on, only a user resumes it */
        (void)nm_persist_journal(l);
        (void)nm_persist_snapshot(l);
        return nm_persist_answer(m, l->c->id, "is paused", ret_problem);
    }
    if (l->c->view.state != NM_RUNNING)
        return wrong_state(l->c, "paused", "RUNNING", ret_problem);
    nm_record_by(l, NM_DECISION_PAUSE, NM_REASON_USER, who);
    nm_act_pause(l, true);
    return nm_persist_answer(m, l->c->id, "is paused", ret_problem);
}

/* Resumes a container, even if its pause is still in progress. The policy may pause the container again when CPU is
 * short. */
int nm_manager_resume(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem)
{
    struct nm_live_container *l;
    int r = nm_access_find_live(m, who, id, &l, ret_problem);

    if (r != 0)
        return r;
    if (l->c->view.state != NM_PAUSED && l->c->view.state != NM_PAUSING)
        return wrong_state(l->c, "resumed", "PAUSED", ret_problem);
    nm_record_by(l, NM_DECISION_RESUME, NM_REASON_USER, who);
    nm_act_resume(l);
    return nm_persist_answer(m, l->c->id, "is resumed", ret_problem);
}

/* Kills a container. A second kill of the same container succeeds, too. With `now`, it ends the grace period. */
int nm_manager_kill(struct nm_manager *m, const struct nm_caller *who, const char *id, bool now,
                    struct nm_problem *ret_problem)
{
    struct nm_container *c;
    struct nm_live_container *l;
    char end[NM_STATE_TEXT_SIZE];
    int r = nm_access_find(m, who, id, &c, ret_problem);

    if (r != 0)
        return r;
    l = nm_lists_live_of(c);
    if (!l)
        return nm_problem_set(ret_problem, NM_AGENT_E_CONFLICT, "id", id,
                              "Container %s has ended already (%s). 'nmctl explain' shows why, and 'nmctl rm' removes "
                              "its record and its logs.", c->id, nm_container_state_text(c, end, sizeof end));
    if ((c->view.state == NM_KILLING && !now) || nm_end_is_complete(l))
        return 0;
    if (c->view.state != NM_KILLING)
        nm_record_by(l, NM_DECISION_KILL, NM_REASON_USER, who);
    nm_act_kill(l, NM_EXIT_KILLED, now);
    return nm_persist_answer(m, c->id, "is being killed", ret_problem);
}

int nm_manager_remove(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem)
{
    struct nm_container *c;
    int r = nm_access_find(m, who, id, &c, ret_problem);

    if (r != 0)
        return r;
    if (c->view.state != NM_COMPLETED || nm_lists_live_of(c))
        return nm_problem_set(ret_problem, NM_AGENT_E_CONFLICT, "state", nm_state_name(c->view.state),
                              "Container %s is %s, and only ended containers can be removed. 'nmctl kill' ends it, "
                              "'nmctl rm --force' ends and removes it.", c->id, nm_state_word(c->view.state));
    if (c->keep_result)
        return nm_problem_set(ret_problem, NM_AGENT_E_CONFLICT, "id", id,
                              "The result of container %s is kept until its owner (%s) has acknowledged it.", c->id,
                              c->owner);
    nm_lists_remove_ended(m, c);
    return 0;
}
