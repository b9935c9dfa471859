/* SPDX-License-Identifier: Apache-2.0 */

/* Requests of owners about their containers, in addition to the requests of users. An owner is a part of nmd, so its
 * permissions are not checked. But each request is checked against the container's state, since the owner may have
 * bugs, and the container may have ended before the request. */

#include "agent/state/manager-state.h"

#include <assert.h>
#include <signal.h>

#include "agent/problem.h"
#include "agent/requests/requests-internal.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "util/fault.h"

/* Finds a container of the owner. If there is no such container, returns NULL and fills in *p. */
static struct nm_container *find(struct nm_manager *m, const char *owner, const char *id, struct nm_problem *p)
{
    struct nm_container *c = nm_lists_by_id(m, id);

    assert(owner && *owner && p);
    if (c && nm_streq(c->owner, owner))
        return c;
    (void)nm_problem_set(p, NM_AGENT_E_NOT_FOUND, "id", id, "There is no container '%.63s' of %s here.", id, owner);
    return NULL;
}

static struct nm_live_container *find_live(struct nm_manager *m, const char *owner, const char *id,
                                           struct nm_problem *p)
{
    struct nm_container *c = find(m, owner, id, p);
    struct nm_live_container *l = c ? nm_lists_live_of(c) : NULL;
    char end[64];

    if (c && !l)
        (void)nm_problem_set(p, NM_AGENT_E_CONFLICT, "id", id, "Container %s has ended already (%s).", id,
                             nm_container_end_text(c, end, sizeof end));
    return l;
}

int nm_manager_end(struct nm_manager *m, const char *owner, const char *id, const struct nm_end *e,
                   struct nm_problem *ret_problem)
{
    struct nm_live_container *l = find_live(m, owner, id, ret_problem);

    assert(e && e->code != 0);
    if (!l)
        return ret_problem->outcome;
    if ((l->c->view.state == NM_KILLING && !e->now) || nm_end_is_complete(l))
        return 0;
    if (l->c->view.state != NM_KILLING) {
        l->c->owner_code = e->code;
        (void)snprintf(l->c->message, sizeof l->c->message, "%s", e->message ? e->message : "");
        nm_record_by(l, NM_DECISION_KILL, NM_REASON_OWNER, NULL);
    }
    nm_act_kill(l, NM_EXIT_KILLED, e->now);
    return nm_persist_answer(m, id, "is being killed", ret_problem);
}

static int kill_now(struct nm_manager *m, struct nm_live_container *l, struct nm_problem *p)
{
    if (nm_end_is_complete(l))
        return 0;
    if (l->c->view.state != NM_KILLING)
        nm_record_by(l, NM_DECISION_KILL, NM_REASON_OWNER, NULL);
    nm_act_kill(l, NM_EXIT_KILLED, true);
    return nm_persist_answer(m, l->c->id, "is being killed", p);
}

/* Returns whether the container's processes can receive a signal now. A paused container would receive it only after
 * its resume, and a container that is starting has no command yet. */
static bool can_receive_signal(const struct nm_live_container *l)
{
    switch (l->c->view.state) {
    case NM_RUNNING:
    case NM_RESUMING:
        return l->cg;
    case NM_KILLING:
        return l->cg && !nm_run_phase_is_killed(l->phase) && !nm_end_is_complete(l);
    default:
        return false;
    }
}

/* Sends a signal. A signal changes no state of nmd, so signals are not journalled. */
int nm_manager_signal(struct nm_manager *m, const char *owner, const char *id, int signo,
                      struct nm_problem *ret_problem)
{
    struct nm_live_container *l = find_live(m, owner, id, ret_problem);
    int r;

    assert(signo > 0 && signo < _NSIG);
    if (!l)
        return ret_problem->outcome;
    if (signo == SIGKILL)
        return kill_now(m, l, ret_problem);
    if (!can_receive_signal(l))
        return nm_problem_set(ret_problem, NM_AGENT_E_CONFLICT, "state", nm_state_name(l->c->view.state),
                              "Container %s is %s: none of its processes can receive SIG%s now.", id,
                              nm_state_word(l->c->view.state), sigabbrev_np(signo) ?: "RT");
    r = nm_kill_signal(l, signo);
    if (r == -ENOENT)
        return 0; /* the cgroup was removed, since all processes have exited */
    return r;
}

int nm_manager_change(struct nm_manager *m, const char *owner, const char *id, const struct nm_change *c,
                      struct nm_problem *ret_problem)
{
    struct nm_live_container *l = find_live(m, owner, id, ret_problem);

    return l ? nm_change_owned(l, c, ret_problem) : (int)ret_problem->outcome;
}

int nm_manager_set_blob(struct nm_manager *m, const char *owner, const char *id, const struct nm_blob *blob,
                        struct nm_problem *ret_problem)
{
    return nm_manager_change(m, owner, id, &(struct nm_change){.blob = blob}, ret_problem);
}

int nm_manager_set_devices(struct nm_manager *m, const char *owner, const char *id, uint32_t major, uint64_t minors,
                           struct nm_problem *ret_problem)
{
    struct nm_live_container *l = find_live(m, owner, id, ret_problem);

    if (!l)
        return ret_problem->outcome;
    l->c->devices = (struct nm_cgroup_devices){.restricts = true, .major = major, .minors = minors};
    return 0;
}

bool nm_manager_restricts_devices(const struct nm_manager *m)
{
    return m->backend->restricts_devices;
}

static struct nm_live_container *find_in_preparation(struct nm_manager *m, const char *owner, const char *id,
                                                     struct nm_problem *p)
{
    struct nm_live_container *l = find_live(m, owner, id, p);

    if (!l || nm_policy_container_in_preparation(&l->c->view))
        return l;
    (void)nm_problem_set(p, NM_AGENT_E_CONFLICT, "state", nm_state_name(l->c->view.state),
                         "Container %s is %s, and no longer NEW or LOCALIZING.", id, nm_state_word(l->c->view.state));
    return NULL;
}

int nm_manager_progress(struct nm_manager *m, const char *owner, const char *id, const char *text,
                        struct nm_problem *ret_problem)
{
    struct nm_live_container *l = find_in_preparation(m, owner, id, ret_problem);

    if (!l)
        return ret_problem->outcome;
    (void)snprintf(l->c->progress, sizeof l->c->progress, "%s", text);
    nm_persist_set_state(l, NM_LOCALIZING);
    return 0;
}

int nm_manager_prepared(struct nm_manager *m, const char *owner, const char *id, struct nm_problem *ret_problem)
{
    struct nm_live_container *l = find_in_preparation(m, owner, id, ret_problem);

    if (!l)
        return ret_problem->outcome;
    l->c->progress[0] = '\0';
    nm_persist_set_state(l, NM_SCHEDULED);
    NM_FAULT("prepared-journalled");
    nm_round_request(m, NM_TRIGGER_CHANGE);
    return nm_persist_answer(m, id, "is in the queue", ret_problem);
}

int nm_manager_prepare_failed(struct nm_manager *m, const char *owner, const char *id, const char *why,
                              struct nm_problem *ret_problem)
{
    struct nm_live_container *l = find_in_preparation(m, owner, id, ret_problem);

    if (!l)
        return ret_problem->outcome;
    (void)snprintf(l->c->message, sizeof l->c->message, "%s", why);
    nm_act_discard(l, NM_EXIT_LOCALIZATION_FAILED);
    return nm_persist_answer(m, id, "has ended", ret_problem);
}

int nm_manager_move(struct nm_manager *m, const char *owner, const char *id, const struct nm_move *move,
                    struct nm_problem *ret_problem)
{
    struct nm_live_container *l = find_in_preparation(m, owner, id, ret_problem);

    return l ? nm_change_move(l, move, ret_problem) : (int)ret_problem->outcome;
}

int nm_manager_rerun(struct nm_manager *m, const char *owner, const char *id, const struct nm_rerun *rerun,
                     struct nm_problem *ret_problem)
{
    struct nm_live_container *l = find_live(m, owner, id, ret_problem);

    return l ? nm_rerun_owned(l, rerun, ret_problem) : (int)ret_problem->outcome;
}

void nm_manager_set_end_callback(struct nm_manager *m, const char *owner,
                                 void (*ask)(const struct nm_container *c, void *userdata), void *userdata)
{
    assert(owner && *owner && strlen(owner) < sizeof m->owners.asked);
    assert(!m->owners.ask || nm_streq(m->owners.asked, owner));
    (void)snprintf(m->owners.asked, sizeof m->owners.asked, "%s", owner);
    m->owners.ask = ask;
    m->owners.ask_userdata = userdata;
}

/* Requests a round only while a container of the owner waits. An upstream sets the limit with each heartbeat, and most
 * nodes have an empty queue. */
void nm_manager_set_queue_limit(struct nm_manager *m, const char *owner, uint32_t limit)
{
    bool any_waits = false;

    assert(owner && *owner && strlen(owner) < sizeof m->owners.limited);
    assert(!m->owners.limited[0] || nm_streq(m->owners.limited, owner));
    if (!m->owners.limited[0])
        (void)snprintf(m->owners.limited, sizeof m->owners.limited, "%s", owner);
    m->owners.queue_limit = limit;
    for (size_t i = 0; i < m->live.n; i++) {
        struct nm_policy_container *v = m->live.views[i];

        v->limited = nm_streq(m->live.all[i]->c->owner, m->owners.limited);
        any_waits |= v->limited && v->type == NM_OPPORTUNISTIC && nm_policy_container_is_waiting(v);
    }
    m->owners.limit_due = any_waits && limit != UINT32_MAX;
    if (any_waits)
        nm_round_request(m, NM_TRIGGER_CHANGE);
}

void nm_manager_report_event(struct nm_manager *m, int level, const char *text)
{
    nm_events_publish_node_at(m, level, text);
}

int nm_manager_acknowledge(struct nm_manager *m, const char *owner, const char *id, struct nm_problem *ret_problem)
{
    struct nm_container *c = find(m, owner, id, ret_problem);

    if (!c)
        return ret_problem->outcome;
    if (nm_lists_live_of(c))
        return nm_problem_set(ret_problem, NM_AGENT_E_CONFLICT, "state", nm_state_name(c->view.state),
                              "Container %s is %s: it has not ended yet.", id, nm_state_word(c->view.state));
    if (!c->keep_result)
        return 0;
    (void)nm_store_begin(m->store);
    nm_lists_release(m, c);
    (void)nm_store_put_container(m->store, c);
    NM_FAULT("acknowledged-before-commit");
    nm_record_store_result(m, nm_store_commit(m->store));
    NM_FAULT("acknowledged-journalled");
    return nm_persist_answer(m, id, "is acknowledged", ret_problem);
}

void nm_manager_foreach_of(struct nm_manager *m, const char *owner,
                           void (*cb)(const struct nm_container *c, void *userdata), void *userdata)
{
    for (size_t i = 0; i < m->live.n; i++)
        if (nm_streq(m->live.all[i]->c->owner, owner))
            cb(m->live.all[i]->c, userdata);
    for (size_t i = 0; i < m->ended.n; i++)
        if (nm_streq(m->ended.all[i]->owner, owner))
            cb(m->ended.all[i], userdata);
}
