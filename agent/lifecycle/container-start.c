/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The second half of an admission: the shim, its cgroup, and the gate that lets it begin.
 *
 * A start takes nmd some milliseconds, and hundreds may be admitted at once. So they wait, each turn of the event loop
 * takes a few, and whoever asks nmd something gets an answer in between. Users, and of one user a cluster's
 * applications, take turns (util/fair-queue.h): one that has hundreds doesn't keep another's waiting. What a crash
 * leaves there is admitted by the journal and has no shim, as if nmd had died just ahead of its launch.
 */

#include "agent/lifecycle/container-start.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>

#include "agent/users.h"
#include "agent/journal/container-files.h"
#include "agent/lifecycle/container-end.h"
#include "agent/journal/persist.h"
#include "agent/lifecycle/container-kill.h"
#include "agent/lifecycle/container-events.h"
#include "agent/node/container-limits.h"
#include "agent/node/output-share.h"
#include "agent/journal/decision-record.h"
#include "agent/node/node-slice.h"
#include "util/fault.h"
#include "util/fnv1a.h"
#include "util/log.h"
#include "util/loop.h"

int nm_start_open_shim(struct nm_manager *m)
{
    if (m->starts.shim_fd < 0)
        m->starts.shim_fd = RET_NERRNO(open(m->starts.shim_path, O_PATH | O_CLOEXEC));
    return m->starts.shim_fd;
}

/*
 * Past the gate there is no way back, so a restarted nmd must be able to see that it was passed and
 * whose shim that is: in the journal, or in the copy beside the shim's records. With neither (a
 * disk is full) nothing is started. With both, the copy need not come first: that the journal is
 * lost as well, in the moment in which nmd dies, is not worth a file's making in each command's way.
 */
static int persist_before_gate(struct nm_live_container *l, bool *ret_copied)
{
    int r = nm_persist_journal(l);

    NM_FAULT("cgroup-journalled");
    *ret_copied = r < 0;
    return r < 0 ? nm_persist_snapshot(l) : 0;
}

static void created(int result, struct nm_cgroup *cg, const char *message, void *userdata)
{
    struct nm_live_container *l = userdata;
    bool copied, kill_pending = l->phase == NM_RUN_KILL_PENDING;
    int r;

    assert(!l->cg && l->launch && nm_run_phase_is_creating(l->phase));
    if (result == -ESHUTDOWN && !kill_pending) { /* the host goes down: for the next boot, as a rule */
        nm_end_hold_launch(l);
        return;
    }
    if (result < 0) {
        nm_end_fail_launch(l, NM_LAUNCH_STAGE_SHIM, -result, message);
        return;
    }
    NM_FAULT("cgroup-created");
    r = nm_container_events_attach(l, cg);
    if (r < 0) {
        nm_end_fail_launch(l, NM_LAUNCH_STAGE_SHIM, -r, "its cgroup can't be watched");
        return;
    }
    r = persist_before_gate(l, &copied);
    if (r < 0) {
        nm_end_hold_launch(l);
        return;
    }
    nm_run_phase_set(&l->phase, nm_launch_is_gone(l->launch) ? NM_RUN_SHIM_GONE : NM_RUN_LAUNCHED);
    if (kill_pending) {
        nm_kill_all(l);
        return;
    }
    nm_limits_created(l);
    r = nm_launch_open_gate(l->launch);
    if (r < 0)
        nm_debug("%s: the shim went before its gate opened", l->c->id); /* its end follows */
    NM_FAULT("gate-open");
    if (r >= 0 && l->input_fd > 0) { /* the shim's from here on */
        (void)nm_close(l->input_fd);
        l->input_fd = 0;
    }
    if (!copied)
        (void)nm_persist_snapshot(l);
}

static int start_shim(struct nm_live_container *l)
{
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = NULL;
    struct nm_manager *m = l->m;
    char dir[NM_DIR_SIZE], logs[PATH_MAX];
    int r;
    struct nm_launch_params p = {
        .shim_fd = nm_start_open_shim(m),
        .container_dir = dir,
        .log_dir = logs,
        .container_id = l->c->id,
        .command = &l->c->command,
        .cgroup_fd = -EBADF,
        .input_fd = l->input_fd,
        .rows = l->input_fd > 0 ? l->rows : 0,
        .columns = l->input_fd > 0 ? l->columns : 0,
        .oom_score_adj = nm_limits_oom_score_adj(l->c),
        .output_max_bytes = nm_output_allowance(m),
        .confine = m->config->confine && m->confinement == 0,
        .private_ipc = m->config->private_ipc,
        .event = m->event,
    };

    nm_files_container_dir(m, l->c->id, dir);
    if ((size_t)snprintf(logs, sizeof logs, "%s/%s", m->log_dir, l->c->id) >= sizeof logs)
        return -ENAMETOOLONG;
    /* Where that fails, create() fails as well, and has the words for it. */
    if (m->backend->ops->prepare && m->backend->ops->prepare(m->backend, l->c->id, &cg) >= 0) {
        p.cgroup_fd = cg->dir_fd;
        NM_FAULT("cgroup-prepared");
    }
    r = nm_launch_new(&p, nm_container_events_launched, l, &l->launch);
    l->run.output_max_bytes = p.output_max_bytes;
    if (r < 0 && cg)
        (void)m->backend->ops->remove(m->backend, cg);
    return r;
}

/* The rules may have become stricter while it waited, or between two starts. Whether somebody may
 * act for another was settled when it was submitted. */
static bool user_is_allowed(struct nm_live_container *l, struct nm_problem *ret_problem)
{
    const struct nm_command *command = &l->c->command;
    const struct nm_caller who = {.uid = l->c->submitter_uid, .admin = true};
    const struct nm_user user = {.uid = command->uid, .gid = command->gid, .name = command->user};

    return nm_users_may_run(l->m->config, &who, geteuid(), true, &user, ret_problem) == 0;
}

static void launch(struct nm_live_container *l)
{
    struct nm_manager *m = l->m;
    struct nm_problem problem;
    char description[160], label[160], why[160];
    int r;

    assert(!l->launch && l->phase == NM_RUN_NONE);
    assert(l->c->view.admitted);
    if (!user_is_allowed(l, &problem)) {
        nm_end_fail_launch(l, NM_LAUNCH_STAGE_USER, EPERM, problem.message);
        return;
    }
    l->limits_due = l->priority_due = false;
    r = start_shim(l);
    NM_FAULT("shim-started");
    if (r == -ENOSPC || r == -EDQUOT) {
        nm_end_hold_launch(l);
        return;
    }
    if (r < 0) {
        (void)snprintf(why, sizeof why, "%s: %s",
                       r == -EPERM || r == -ELOOP || r == -ENOTDIR
                           ? "its directory for the record or the logs is not one that nmd has made"
                           : "the shim could not be started",
                       strerror(-r));
        nm_end_fail_launch(l, NM_LAUNCH_STAGE_SHIM, -r, why);
        return;
    }
    l->c->shim_pid = nm_launch_shim_pid(l->launch);
    l->c->shim_start_ticks = nm_launch_shim_start_ticks(l->launch);
    (void)nm_persist_journal(l);
    NM_FAULT("shim-journalled");
    nm_record_acted(l);
    l->limits = nm_limits_for(m, l->c);
    nm_run_phase_set(&l->phase, NM_RUN_CREATING);
    (void)snprintf(description, sizeof description, "nmd container %s",
                   nm_container_label(l->c, label, sizeof label));
    r = m->backend->ops->create(m->backend, l->c->id, description, l->c->shim_pid, &l->limits,
                                created, l);
    if (r < 0 && nm_run_phase_is_creating(l->phase))
        nm_end_fail_launch(l, NM_LAUNCH_STAGE_SHIM, -r, "its cgroup could not be made");
}

/* Whose turn a start takes: that of the submitter and of the account that the command runs as. A cluster's containers
 * all have the same submitter, which is nmd, but the accounts of the cluster's users. */
static uint64_t starter_of(const struct nm_container *c)
{
    return (uint64_t)c->submitter_uid << 32 | c->command.uid;
}

/* Users take turns, and in the turns of each user the applications: a user with many of these gets no more turns. Where
 * all users of a cluster have one account, only the applications take turns. */
void nm_start_soon(struct nm_live_container *l)
{
    const char *app = nm_streq(l->c->owner, "local") ? "" : l->c->app;
    struct nm_manager *m = l->m;

    assert(l->c->view.admitted);
    nm_fair_put(&m->starts.queue, &l->start, starter_of(l->c), nm_fnv1a_64(app));
    l->start_counts = l->c->view.type == NM_OPPORTUNISTIC;
    m->starts.n_opportunistic += l->start_counts;
}

bool nm_start_is_due(const struct nm_live_container *l)
{
    return nm_fair_waits(&l->start);
}

bool nm_start_cancel(struct nm_live_container *l)
{
    if (!nm_start_is_due(l))
        return false;
    nm_fair_leave(&l->m->starts.queue, &l->start);
    l->m->starts.n_opportunistic -= l->start_counts;
    return true;
}

static struct nm_live_container *take_next(struct nm_manager *m)
{
    struct nm_fair_item *t = nm_fair_take(&m->starts.queue);
    struct nm_live_container *l = t ? NM_CONTAINER_OF(t, struct nm_live_container, start) : NULL;

    if (l)
        m->starts.n_opportunistic -= l->start_counts;
    return l;
}

void nm_start_some(struct nm_manager *m)
{
    uint64_t end_usec = nm_now_usec() + NM_LOOP_TURN_USEC;
    struct nm_live_container *l;

    while ((l = take_next(m))) {
        launch(l);
        if (m->starts.source && nm_now_usec() >= end_usec)
            break;
    }
    if (!m->round.is_on)
        nm_slice_follow(m); /* a round sees to it by itself */
    if (m->starts.queue.first)
        (void)nm_loop_want(m->starts.source);
}
