/* SPDX-License-Identifier: Apache-2.0 */

/* Draining the node: no containers are admitted, waiting containers are discarded, and running containers may finish
 * until the deadline. */

#include "agent/requests/requests-internal.h"

#include <assert.h>

#include "agent/problem.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/journal/journal.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/parse.h"

static void kill_where(struct nm_manager *m, bool opportunistic_only, bool now,
                       enum nm_reason reason, const struct nm_caller *who)
{
    for (size_t i = m->live.n; i-- > 0;) {
        struct nm_live_container *l = m->live.all[i];
        const struct nm_policy_container *v = &l->c->view;

        if (v->state == NM_KILLING || nm_end_is_complete(l) || (opportunistic_only && v->type != NM_OPPORTUNISTIC))
            continue;
        nm_record_by(l, NM_DECISION_KILL, reason, who);
        nm_act_kill(l, NM_EXIT_DRAINED, now);
    }
}

static int on_drain_deadline(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_manager *m = userdata;

    (void)s, (void)usec;
    nm_events_publish_node(m, "the deadline of the drain has passed: containers that are still running are ended");
    kill_where(m, false, false, NM_REASON_DRAIN_DEADLINE, NULL);
    return 0;
}

int nm_drain_arm(struct nm_manager *m, uint64_t deadline_usec)
{
    sd_event_source *timer = NULL;
    int r = 0;

    assert(m->event);
    if (deadline_usec != UINT64_MAX)
        r = sd_event_add_time(m->event, &timer, CLOCK_BOOTTIME, deadline_usec, 1000, on_drain_deadline, m);
    if (r < 0)
        return r;
    (void)sd_event_source_disable_unref(m->drain.timer);
    m->drain.timer = timer;
    m->drain.deadline_usec = deadline_usec;
    return 0;
}

void nm_drain_carry_out(struct nm_manager *m, const struct nm_caller *who)
{
    assert(m->drain.is_on);
    /* Discard waiting containers, since they would never start. */
    for (size_t i = m->live.n; i-- > 0;)
        if (nm_policy_container_is_waiting(m->live.views[i])) {
            nm_record_by(m->live.all[i], NM_DECISION_SHED, NM_REASON_DRAINING, who);
            nm_act_kill(m->live.all[i], NM_EXIT_DRAINED, true);
        }
    if (m->drain.opportunistic)
        kill_where(m, true, false, NM_REASON_DRAINING, who);
}

static size_t count_waiting(const struct nm_manager *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->live.n; i++)
        n += nm_policy_container_is_waiting(m->live.views[i]);
    return n;
}

static void report_draining(struct nm_manager *m, uint64_t deadline_usec)
{
    char text[220], when[32], discarded[64] = "";
    size_t n = count_waiting(m);

    if (n > 0)
        (void)snprintf(discarded, sizeof discarded, "; discarding %zu waiting container%s", n, n == 1 ? "" : "s");
    if (m->drain.deadline_usec == UINT64_MAX)
        (void)snprintf(text, sizeof text, "draining: no more containers are admitted; running containers may "
                                          "finish%s", discarded);
    else if (deadline_usec == 0)
        (void)snprintf(text, sizeof text, "draining: no more containers are admitted; running containers are ended%s",
                       discarded);
    else
        (void)snprintf(text, sizeof text, "draining: no more containers are admitted; containers that are still "
                                          "running %s from now are ended%s",
                       nm_format_duration(deadline_usec, when, sizeof when), discarded);
    nm_events_publish_node(m, text);
}

/* Starts a drain. Journals the drain before all other steps, so that a restarted nmd admits no containers if this nmd
 * dies during these steps. A second drain changes the deadline, but can't change a drain without until_restart into a
 * drain that ends at nmd's restart. */
int nm_manager_drain(struct nm_manager *m, const struct nm_caller *who, const struct nm_drain_order *order,
                     struct nm_problem *ret_problem)
{
    uint64_t now = nm_now_usec(), deadline_usec = order->deadline_usec;
    int r = nm_access_want_admin(who, "drain", ret_problem);

    if (r == 0)
        r = nm_drain_arm(m, deadline_usec > UINT64_MAX - now ? UINT64_MAX : now + deadline_usec);
    if (r != 0)
        return r;
    m->drain.until_restart = order->until_restart && (!m->drain.is_on || m->drain.until_restart);
    m->drain.is_on = true;
    m->drain.opportunistic = order->kill_opportunistic;
    nm_durable_save_drain(m);
    NM_FAULT("drain-journalled");
    report_draining(m, deadline_usec);
    nm_drain_carry_out(m, who);
    nm_round_request(m, NM_TRIGGER_CHANGE);
    return nm_persist_answer(m, "The node", "is draining", ret_problem);
}

static void end_drain(struct nm_manager *m)
{
    m->drain.is_on = false;
    m->drain.until_restart = false;
    m->drain.deadline_usec = UINT64_MAX;
    m->drain.timer = sd_event_source_disable_unref(m->drain.timer);
    nm_durable_save_drain(m);
}

int nm_manager_undrain(struct nm_manager *m, const struct nm_caller *who,
                       struct nm_problem *ret_problem)
{
    int r = nm_access_want_admin(who, "undrain", ret_problem);

    if (r != 0)
        return r;
    if (!m->drain.is_on)
        return nm_problem_set(ret_problem, NM_AGENT_E_CONFLICT, "node", "running",
                              "The node is not draining: it admits containers.");
    end_drain(m);
    nm_events_publish_node(m, "no longer draining: containers are admitted again");
    nm_round_request(m, NM_TRIGGER_CHANGE);
    return nm_persist_answer(m, "The node", "no longer drains", ret_problem);
}

/* Is called before nmd exits normally. If nmd dies without this call, the next nmd continues the drain. */
void nm_manager_prepare_exit(struct nm_manager *m)
{
    if (m->drain.until_restart)
        end_drain(m);
}

/* Ends the stop of admissions by the breaker. Journals the policy's memory immediately, since the next round journals
 * it only together with other changes. */
int nm_manager_close_breaker(struct nm_manager *m, const struct nm_caller *who,
                             struct nm_problem *ret_problem)
{
    int r = nm_access_want_admin(who, "close the breaker", ret_problem);

    if (r != 0)
        return r;
    if (nm_policy_close_breaker(m->policy, nm_now_usec()))
        nm_events_publish_node(m, "breaker closed by an administrator: opportunistic containers are admitted again");
    nm_durable_save(m);
    nm_round_request(m, NM_TRIGGER_CHANGE);
    return nm_persist_answer(m, "The breaker", "is closed", ret_problem);
}
