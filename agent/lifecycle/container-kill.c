/* SPDX-License-Identifier: Apache-2.0 */

/* Carries out a kill, and ends a run before the container's next run: sends SIGTERM, waits for the grace period, and
 * sends SIGKILL to all processes. */

#include "agent/lifecycle/lifecycle-internal.h"

#include <assert.h>
#include <signal.h>
#include <string.h>

#include "agent/node/cgroups.h"
#include "agent/node/sampling.h"
#include "agent/node/node-settings.h"
#include "agent/journal/records.h"
#include "cgroup/procs.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"

/* Raises the CPU priority of an opportunistic container that is being killed: its processes need CPU time to exit and
 * free their memory. */
static void lift_cpu_limits(struct nm_live_container *l)
{
    struct nm_priority p = nm_limits_priority_of(l);

    if (l->c->view.type != NM_OPPORTUNISTIC)
        return;
    nm_cgroup_lift_cpu_limits(l->cg);
    p.background = false;
    p.dying = true;
    if (p.schedule)
        nm_priority_set_all(&l->priority_pass, l->m->event, l->cg, l->c->shim_pid, &p);
}

void nm_kill_all(struct nm_live_container *l)
{
    int r;

    assert(nm_container_is_being_ended(l->c));
    NM_FAULT("before-kill");
    nm_sample_live(l, nm_now_usec()); /* measure the container's use just before the kill */
    l->use_before = l->c->view.measured;
    if (l->cg)
        lift_cpu_limits(l);
    nm_output_read_last(l);
    r = nm_end_kill(l);
    NM_FAULT("after-kill");
    nm_record_acted(l);
    if (r < 0 && r != -ENOENT) {
        nm_err("%s: can't be killed: %s", l->c->id, strerror(-r));
        nm_record_failed(l, strerror(-r));
    }
    nm_container_events_observe(l);
}

static int on_grace_over(sd_event_source *s, uint64_t usec, void *userdata)
{
    (void)s, (void)usec;
    nm_kill_all(userdata);
    return 0;
}

static void on_signal_sent(int r, void *userdata);

static int begin_signal(struct nm_live_container *l, int signo)
{
    int r = nm_cgroup_signal(l->m->event, l->cg, signo, l->c->shim_pid, &l->signals.pass);

    l->signals.sent = signo;
    if (r >= 0)
        nm_procs_pass_set_ended(l->signals.pass, on_signal_sent, l);
    return r;
}

/* Is called after a signal was sent to all processes. Journals a SIGTERM only now: if nmd is restarted earlier, it
 * sends SIGTERM to all processes again. Then sends the next requested signal. */
static void on_signal_sent(int r, void *userdata)
{
    struct nm_live_container *l = userdata;
    int signo = ffsll((long long)l->signals.due);

    if (r >= 0 && l->signals.sent == SIGTERM && nm_container_is_being_ended(l->c))
        nm_record_commit(l);
    if (signo == 0 || !l->cg)
        return;
    l->signals.due &= ~(UINT64_C(1) << (signo - 1));
    if (begin_signal(l, signo) < 0)
        l->signals.due = 0; /* the cgroup was removed */
}

int nm_kill_signal(struct nm_live_container *l, int signo)
{
    assert(l->cg && signo > 0 && signo <= 64);
    if (!nm_procs_pass_is_on(l->signals.pass))
        return begin_signal(l, signo);
    l->signals.due |= UINT64_C(1) << (signo - 1);
    return 0;
}

/* Returns whether an earlier nmd has already sent SIGTERM, according to the journal. Many programs skip their cleanup
 * at a second SIGTERM. */
static bool sigterm_was_sent(const struct nm_live_container *l)
{
    return l->run.adopted && l->decision_open && l->decision.acted_usec != 0 &&
           (l->decision.kind == NM_DECISION_KILL || l->decision.kind == NM_DECISION_RESTART);
}

static int send_sigterm(struct nm_live_container *l)
{
    int r;

    if (sigterm_was_sent(l))
        return 0;
    NM_FAULT("before-term");
    r = nm_kill_signal(l, SIGTERM);
    NM_FAULT("after-term");
    if (r >= 0 && !nm_procs_pass_is_on(l->signals.pass))
        nm_record_commit(l);
    NM_FAULT("term-journalled");
    return r;
}

void nm_kill_terminate(struct nm_live_container *l)
{
    uint64_t now = nm_now_usec(), deadline = l->c->view.kill_deadline_usec;

    assert(nm_container_is_being_ended(l->c));
    if (!l->cg || now >= deadline || send_sigterm(l) < 0) {
        nm_kill_all(l);
        return;
    }
    l->kill.timer = sd_event_source_disable_unref(l->kill.timer);
    if (sd_event_add_time_relative(l->m->event, &l->kill.timer, CLOCK_BOOTTIME, deadline - now, 1000, on_grace_over,
                                   l) < 0)
        nm_kill_all(l); /* without the timer, SIGKILL would never follow */
}
