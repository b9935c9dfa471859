/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Carries out an admission: starts the shim, creates its cgroup, and opens the gate.
 *
 * A start takes some milliseconds of nmd's time, and one round may admit hundreds of containers. So admitted containers
 * wait in a queue of starts. Each turn of the event loop starts a few of them, and nmd answers clients between the
 * turns. Users take turns in this queue, and so do the applications of one cluster user (util/fair-queue.h). So a user
 * with hundreds of starts does not delay other users. After a crash, the journal has the queued containers as admitted
 * without a shim, as if nmd had died just before the launch.
 */

#include "agent/lifecycle/lifecycle-internal.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>

#include "agent/users.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/node/cgroups.h"
#include "agent/node/node-settings.h"
#include "agent/node/sampling.h"
#include "util/fault.h"
#include "util/fnv1a.h"
#include "util/log.h"
#include "util/loop.h"

struct nm_starts *nm_starts_new(const char *shim_path)
{
    struct nm_starts *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->shim_fd = -EBADF;
    s->confinement = nm_launch_probe_confinement();
    s->shim_path = strdup(shim_path);
    s->spawner = nm_spawner_new();
    return s->shim_path && s->spawner ? s : nm_starts_free(s);
}

struct nm_starts *nm_starts_free(struct nm_starts *s)
{
    if (!s)
        return NULL;
    sd_event_source_disable_unref(s->source);
    (void)nm_close(s->shim_fd);
    nm_spawner_free(s->spawner);
    free(s->shim_path);
    free(s);
    return NULL;
}

static int on_starts(sd_event_source *source, void *userdata)
{
    (void)source;
    nm_start_some(userdata);
    return 0;
}

int nm_starts_begin(struct nm_manager *m)
{
    return nm_loop_add_work(m->event, "starts", on_starts, m, &m->starts->source);
}

bool nm_starts_are_queued(const struct nm_starts *s)
{
    return s->queue.first;
}

uint32_t nm_starts_n_opportunistic(const struct nm_starts *s)
{
    return s->n_opportunistic;
}

int nm_starts_confinement(const struct nm_starts *s)
{
    return s->confinement;
}

int nm_start_open_shim(struct nm_manager *m)
{
    struct nm_starts *s = m->starts;

    if (s->shim_fd < 0)
        s->shim_fd = RET_NERRNO(open(s->shim_path, O_PATH | O_CLOEXEC));
    return s->shim_fd;
}

/*
 * Journals the shim before its gate opens. After that, the start can't be undone, so a restarted nmd must know which
 * shim has passed its gate. Either the journal or the container's snapshot, which is beside the shim's record, names
 * the shim. If neither the journal nor the snapshot can be written (a full disk), the start is given up. If the journal
 * was written, the snapshot is written after the gate opens. It is unlikely that nmd dies and the journal is lost at
 * the same moment, so the command does not wait for a second file.
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
    if (result == -ESHUTDOWN && !kill_pending) { /* the host shuts down; the container usually starts after the next
                                                    boot */
        nm_end_withdraw_launch(l);
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
        nm_end_withdraw_launch(l);
        return;
    }
    nm_run_phase_set(&l->phase, nm_launch_is_gone(l->launch) ? NM_RUN_SHIM_GONE : NM_RUN_LAUNCHED);
    if (kill_pending) {
        nm_sample_live(l, nm_now_usec());
        nm_kill_all(l);
        return;
    }
    nm_limits_created(l);
    r = nm_launch_open_gate(l->launch);
    if (r < 0)
        nm_debug("%s: the shim ended before its gate opened", l->c->id); /* launch.c reports the shim's end */
    NM_FAULT("gate-open");
    if (r >= 0 && l->input_fd > 0) { /* the shim has its own copy of the descriptor now */
        (void)nm_close(l->input_fd);
        l->input_fd = 0;
    }
    /* the command waits neither for its first sample, which only later rates are compared with, nor for the snapshot */
    nm_sample_live(l, nm_now_usec());
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
        .spawner = m->starts->spawner,
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
        .confine = m->config->confine && m->starts->confinement == 0,
        .private_ipc = m->config->private_ipc,
        .event = m->event,
    };

    nm_files_container_dir(m, l->c->id, dir);
    if ((size_t)snprintf(logs, sizeof logs, "%s/%s", m->log_dir, l->c->id) >= sizeof logs)
        return -ENAMETOOLONG;
    /* An error of prepare() is ignored here, because create() then fails as well and provides the error message. */
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

/* Returns whether the user may still run containers. The configuration may have become stricter since the submission or
 * the container's last run. The permission to submit for another user was checked at submission and is not checked
 * again. */
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
        nm_end_withdraw_launch(l);
        return;
    }
    if (r < 0) {
        (void)snprintf(why, sizeof why, "%s: %s",
                       r == -EPERM || r == -ELOOP || r == -ENOTDIR
                           ? "its directory for the record or the logs was not created by nmd"
                           : "the shim could not be started",
                       strerror(-r));
        nm_end_fail_launch(l, NM_LAUNCH_STAGE_SHIM, -r, why);
        return;
    }
    l->c->shim_pid = nm_launch_shim_pid(l->launch);
    l->c->shim_start_ticks = nm_launch_shim_start_ticks(l->launch);
    /* A restarted nmd finds a shim that waits at its gate by its cgroup, or else by its pid in the journal. */
    if (!nm_launch_started_in_cgroup(l->launch))
        (void)nm_persist_journal(l);
    NM_FAULT("shim-journalled");
    nm_record_acted(l);
    l->limits = nm_cgroup_limits_for_container(m, l->c);
    nm_run_phase_set(&l->phase, NM_RUN_CREATING);
    (void)snprintf(description, sizeof description, "nmd container %s",
                   nm_container_label(l->c, label, sizeof label));
    r = m->backend->ops->create(m->backend, l->c->id, description, l->c->shim_pid, &l->limits,
                                created, l);
    if (r < 0 && nm_run_phase_is_creating(l->phase))
        nm_end_fail_launch(l, NM_LAUNCH_STAGE_SHIM, -r, "its cgroup could not be created");
}

/* Returns the key of the user in the queue of starts: the submitter's uid and the uid of the command. All containers of
 * a YARN cluster have the same submitter, nmd, but their commands run as the accounts of the cluster's users. */
static uint64_t starter_of(const struct nm_container *c)
{
    return (uint64_t)c->submitter_uid << 32 | c->command.uid;
}

/* Puts a container into the queue of starts. Users take turns. Within the turns of one user, the user's applications
 * take turns, so a user with many applications gets no more turns. If all users of a cluster share one account, only
 * applications take turns. */
void nm_start_soon(struct nm_live_container *l)
{
    const char *app = nm_streq(l->c->owner, "local") ? "" : l->c->app;
    struct nm_starts *s = l->m->starts;

    assert(l->c->view.admitted);
    nm_fair_put(&s->queue, &l->start.item, starter_of(l->c), nm_fnv1a_64(app));
    l->start.counts = l->c->view.type == NM_OPPORTUNISTIC;
    s->n_opportunistic += l->start.counts;
}

bool nm_start_is_due(const struct nm_live_container *l)
{
    return nm_fair_waits(&l->start.item);
}

bool nm_start_cancel(struct nm_live_container *l)
{
    if (!nm_start_is_due(l))
        return false;
    nm_fair_remove(&l->m->starts->queue, &l->start.item);
    l->m->starts->n_opportunistic -= l->start.counts;
    return true;
}

static struct nm_live_container *take_next(struct nm_starts *s)
{
    struct nm_fair_item *t = nm_fair_take(&s->queue);
    struct nm_live_container *l = t ? NM_CONTAINER_OF(t, struct nm_live_container, start.item) : NULL;

    if (l)
        s->n_opportunistic -= l->start.counts;
    return l;
}

void nm_start_some(struct nm_manager *m)
{
    uint64_t end_usec = nm_now_usec() + NM_LOOP_TURN_USEC;
    struct nm_starts *s = m->starts;
    struct nm_live_container *l;

    while ((l = take_next(s))) {
        launch(l);
        if (s->source && nm_now_usec() >= end_usec)
            break;
    }
    if (!m->round.is_on)
        nm_slice_follow(m); /* a round updates the slice's limits at its end */
    if (nm_starts_are_queued(s))
        (void)nm_loop_schedule_work(s->source);
}
