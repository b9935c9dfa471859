/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Handles events of containers: the shim's reports (started, ended), changes of cgroup.events (frozen, empty) and of
 * memory.events (out of memory), and systemd's stops of scopes.
 */

#include "agent/lifecycle/lifecycle-internal.h"

#include <assert.h>

#include "agent/message-ids.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/node/cgroups.h"
#include "agent/node/sampling.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"

/* ---- freezing, emptiness --------------------------------------------------- */

static void now_paused(struct nm_live_container *l)
{
    assert(l->c->view.state == NM_PAUSING);
    nm_persist_set_state(l, NM_PAUSED);
    if (!l->c->view.user_paused)
        nm_record_count(l->m, NM_COUNT_PAUSED, l->decision.reason);
    nm_record_effective(l);
    l->regain_due = true;
    nm_round_request(l->m, NM_TRIGGER_CHANGE);
}

static void now_resumed(struct nm_live_container *l)
{
    struct nm_policy_container *v = &l->c->view;

    assert(l->c->view.state == NM_RESUMING);
    v->pause_deadline_usec = UINT64_MAX;
    v->paused_usec = 0;
    nm_persist_set_state(l, NM_RUNNING);
    if (l->decision.reason != NM_REASON_USER && l->decision.reason != NM_REASON_FREEZE_HANGS)
        nm_record_count(l->m, NM_COUNT_RESUMED, l->decision.reason);
    nm_record_effective(l);
    nm_round_request(l->m, NM_TRIGGER_CHANGE);
}

/* Writes the container's cgroup.freeze again after another process has changed it. If another process has frozen the
 * whole slice, the container's own cgroup.freeze is unchanged, and nmd does nothing. */
static void restore_freeze(struct nm_live_container *l, bool frozen)
{
    bool is_frozen;

    if (nm_cgroup_read_freeze(l->cg, &is_frozen) < 0 || is_frozen == frozen)
        return;
    l->m->counters.drift_repairs++;
    nm_log_container(LOG_WARNING, l->c->id, NULL, NM_MESSAGE_DRIFT,
                     "%s was %s by another process; nmd restores the earlier state; to change the state, use nmctl %s",
                     l->c->id, is_frozen ? "frozen" : "thawed", is_frozen ? "pause" : "resume");
    (void)nm_cgroup_freeze(l->cg, frozen);
}

void nm_container_events_observe(struct nm_live_container *l)
{
    struct nm_cgroup_events e = {0};
    int r = l->cg ? nm_cgroup_read_events(l->cg, &e) : -ENOENT;

    assert(l->phase != NM_RUN_REMOVED);
    if (r < 0 && r != -ENOENT)
        nm_debug("%s: can't read cgroup.events: %s", l->c->id, strerror(-r));
    if (r >= 0 && e.frozen && l->c->view.state == NM_PAUSING)
        now_paused(l);
    else if (r >= 0 && !e.frozen && l->c->view.state == NM_RESUMING)
        now_resumed(l);
    else if (r >= 0 && e.frozen && l->c->view.state == NM_RUNNING)
        restore_freeze(l, false);
    else if (r >= 0 && !e.frozen && l->c->view.state == NM_PAUSED)
        restore_freeze(l, true);
    if (r == -ENOENT || (r >= 0 && !e.populated))
        nm_end_is_empty(l);
}

/* Handles a change of memory.events: the container has reached its memory limit, or a process was OOM-killed. The node
 * may be short of memory, too, so a round is requested. A container that reads files at its own limit causes such
 * events constantly without harm to other containers. So the round is requested only if a sample is affordable. The
 * growth probe watches the node's memory meanwhile. */
static void on_memory_events(struct nm_live_container *l)
{
    uint64_t now = nm_now_usec();

    if (nm_sample_find_oom_kill(l)) {
        nm_sample_live(l, now);
        (void)nm_persist_journal(l);
        nm_round_request(l->m, NM_TRIGGER_PRESSURE);
    } else if (nm_sample_is_affordable(l->m, now)) {
        nm_round_request(l->m, NM_TRIGGER_PRESSURE);
    }
}

static void on_watch(enum nm_cgroup_watch_kind kind, bool gone, void *userdata)
{
    struct nm_live_container *l = userdata;

    if (kind == NM_CGROUP_WATCH_MEMORY_EVENTS && !gone)
        on_memory_events(l);
    else
        nm_container_events_observe(l);
}

/* Tells the sampler which process is the shim, so that the shim is not in the container's figures. Without a pidfd, the
 * pid may now belong to another process of the container, so no process is excluded. */
void nm_container_events_exclude_shim(struct nm_live_container *l)
{
    if (l->sampler)
        nm_cgroup_sampler_set_shim(
            l->sampler, l->launch && !nm_launch_is_gone(l->launch) ? nm_launch_shim_pid(l->launch) : 0);
}

int nm_container_events_attach(struct nm_live_container *l, struct nm_cgroup *cg)
{
    struct nm_manager *m = l->m;
    bool memory = m->backend->feature[NM_CGROUP_MEMORY_LIMITS];
    int r;

    assert(cg && !l->cg && !l->events_watch);
    l->cg = cg;
    l->c->cgroup_inode = cg->inode;
    r = nm_cgroup_watch_new(m->event, cg, NM_CGROUP_WATCH_EVENTS, on_watch, l, &l->events_watch);
    if (r < 0)
        return r;
    if (memory)
        (void)nm_cgroup_watch_new(m->event, cg, NM_CGROUP_WATCH_MEMORY_EVENTS, on_watch, l,
                                  &l->memory_watch);
    r = nm_cgroup_sampler_new(cg, memory, m->proc_root, &l->sampler);
    if (r < 0)
        return r;
    nm_limits_set_network(l);
    nm_container_events_exclude_shim(l);
    return 0;
}

/* ---- start ----------------------------------------------------------------- */

static void started(struct nm_live_container *l, const struct nm_launch_record *r)
{
    l->c->pid = r->pid;
    l->run.output_max_bytes = r->output_max_bytes; /* the limit may be that of an earlier nmd */
    if (l->phase == NM_RUN_AT_GATE)
        nm_run_phase_set(&l->phase, NM_RUN_LAUNCHED);
    if (l->c->view.state != NM_SCHEDULED)
        return; /* the container was killed meanwhile, or adopted in a later state */
    /* view.started_usec keeps the time of the admission. The policy chooses the latest-started container as the victim.
     * Containers of one round start in parallel, and their order must not depend on the kernel's scheduling. */
    l->c->started_realtime_usec =
        r->started_realtime_usec ? r->started_realtime_usec : nm_realtime_usec();
    nm_limits_started(l);
    nm_persist_set_state(l, NM_RUNNING);
    NM_FAULT("running-journalled");
    nm_record_effective(l);
}

void nm_container_events_launched(struct nm_launch *launch, enum nm_launch_phase phase,
                                  const struct nm_launch_record *r, void *userdata)
{
    struct nm_live_container *l = userdata;

    (void)launch;
    if (r && r->phase >= NM_LAUNCH_STARTED && r->failed_stage == NM_LAUNCH_STAGE_NONE)
        started(l, r);
    if (phase != NM_LAUNCH_ENDED)
        return;
    NM_FAULT("end-heard");
    nm_run_phase_note_shim_end(&l->phase, r);
    nm_container_events_exclude_shim(l);
    if (r) {
        l->end = *r;
        l->has_end = true;
    }
    nm_sample_live(l, nm_now_usec());
    /* The launch must not be freed inside its own callback. The end is handled in a later turn, when the cgroup is
     * empty. */
    nm_end_check(l);
}

/* ---- stops by systemd ----------------------------------------------------- */

/* Handles a stop of a container's scope by systemd. The command may ignore SIGTERM. Then the container runs until
 * systemd's time-out (TimeoutStopSec=, by default 90 s), so its state remains RUNNING. */
void nm_container_events_stopped(const char *container_id, void *userdata)
{
    struct nm_manager *m = userdata;
    struct nm_container *c = container_id ? nm_lists_by_id(m, container_id) : NULL;
    struct nm_live_container *l = c ? nm_lists_live_of(c) : NULL;
    char text[200];

    assert(m);
    if (!container_id) {
        (void)snprintf(text, sizeof text,
                       "systemd stops %s and all containers in it without a request from nmd (systemctl stop, or "
                       "shutdown of the host)", m->backend->slice);
        nm_events_publish_node(m, text);
        return;
    }
    if (!l || !l->cg || l->run.stopped || c->kill_reason != NM_EXIT_NONE)
        return;
    l->run.stopped = true;
    (void)snprintf(c->message, sizeof c->message,
                   "systemd is stopping its scope without a request from nmd: SIGKILL follows SIGTERM");
    if (!nm_run_phase_is_ending(l->phase))
        (void)nm_persist_journal(l);
    (void)snprintf(text, sizeof text, "systemd stops the scope of %s without a request from nmd (systemctl stop, or "
                                      "shutdown of the host)", c->id);
    nm_events_publish_node(m, text);
}
