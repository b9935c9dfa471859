/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Recovery: takes over the containers of an earlier nmd after a restart. There are three sources: the journal (the
 * intended states), the live cgroups in the slice (the present states), and the shims with their records (how commands
 * started and ended). For each container, these sources are compared:
 *
 *   journal   cgroup   shim           action
 *   prepared  -        -              becomes NEW again, and its owner prepares it again
 *   queued    -        -              stays queued at the same position
 *   admitted  any      at its gate    wait: the shim either starts the command or exits
 *   admitted  any      gone, no gate  the command has not run: queued again when its cgroup is empty
 *   admitted  yes      started        adopted as running
 *   running.. yes      alive          adopted in the state that cgroup.events shows
 *   running.. yes      gone           ended according to its record; remaining processes are killed, as
 *                                     journal and inode prove that they belong to the container
 *   run again any      any            remaining processes are ended; then NEW again
 *   running.. no       gone           the end is taken from the record, else from the kill in the journal;
 *                                     else it was killed by another process, or it is lost
 *   -         any      any            the snapshot (container-snapshot.h) replaces the missing row
 *   -         yes      no snapshot    an orphan: thawed if frozen, reported, never killed
 *
 * "gone": the shim has exited. "no gate": the file `gate` does not exist, so the shim has not started the command.
 *
 * After a reboot (another boot id), containers that were running are reported as lost, unless the shim has recorded
 * the end. Queued containers remain queued if nmd was stopped normally. After a crash of the host, the row of a queued
 * container does not prove that the container never ran, because later rows may be missing. So this container is
 * reported as lost, too.
 *
 * Recovery never kills a process that it can't attribute to a container, and never starts a command twice. The only
 * proof that a command did not run is a shim that has exited without passing its gate.
 */

#include "agent/recovery/recovery.h"

#include <assert.h>
#include <inttypes.h>

#include "agent/message-ids.h"
#include "agent/store/container-snapshot.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/journal/journal.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/requests/requests.h"
#include "agent/node/cgroups.h"
#include "agent/node/node-settings.h"
#include "agent/node/sampling.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"

struct found {
    struct nm_cgroup *cg;
    char id[NM_ID_SIZE];
};

struct finding {
    struct nm_manager *m;
    struct found *found;
    size_t n;
    bool journal_lost; /* the journal may lack containers */
    bool rows_stale;   /* the journal was rolled back, so its rows may be outdated */
    bool rows_on_disk; /* the rows are in a sound file, and were not copied from another one */
    int error;         /* a listed cgroup could not be stored */
    unsigned adopted, queued, lost, rebuilt;
};

static void on_cgroup(struct nm_cgroup *cg, const char *container_id, void *userdata)
{
    struct finding *f = userdata;
    struct found *p = reallocarray(f->found, f->n + 1, sizeof *p);

    if (!p) {
        f->error = -ENOMEM;
        nm_cgroup_free(cg);
        return;
    }
    f->found = p;
    p[f->n] = (struct found){.cg = cg};
    (void)snprintf(p[f->n++].id, sizeof p->id, "%s", container_id);
}

static int by_container_id(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->id, ((const struct found *)b)->id);
}

/* The cgroups are sorted, because each container and each directory leads to a search. */
static struct found *find_cgroup(struct finding *f, const char *id)
{
    struct found key = {0}, *found;

    if (f->n == 0 || (size_t)snprintf(key.id, sizeof key.id, "%s", id) >= sizeof key.id)
        return NULL;
    found = bsearch(&key, f->found, f->n, sizeof *f->found, by_container_id);
    return found && found->cg ? found : NULL;
}

static void add_ended(struct finding *f, struct nm_container *c)
{
    if (nm_lists_add_ended(f->m, c) < 0)
        nm_container_free(c);
    else
        nm_lists_index(f->m, c);
}

/* ---- after a reboot ------------------------------------------------------ */

/* Converts the times of an ended container to the new CLOCK_BOOTTIME, which starts at 0 with each boot. The age since
 * the end and the run time are computed from the realtime clock. */
static void rebase(struct nm_container *c)
{
    uint64_t age = nm_sub_u64(nm_realtime_usec(), c->finished_realtime_usec);
    uint64_t run = nm_sub_u64(c->finished_realtime_usec, c->started_realtime_usec);

    c->finished_usec = nm_sub_u64(nm_now_usec(), age);
    if (c->view.started_usec)
        c->view.started_usec = nm_sub_u64(c->finished_usec, run);
}

static const char *doing(const struct nm_policy_container *v)
{
    switch (v->state) {
    case NM_NEW:
    case NM_LOCALIZING:
        return "was being prepared";
    case NM_SCHEDULED:
        return v->admitted ? "was being started" : "waited in the queue";
    case NM_PAUSED:
        return "was paused";
    case NM_KILLING:
        return "was being killed";
    default:
        return "ran";
    }
}

/* Ends a container whose end was not reported to nmd. Uses the shim's record of the end if there is one. Otherwise the
 * container is lost, and `what` is the text that says how. */
static void end_unseen(struct finding *f, struct nm_container *c, const char *what)
{
    /* The causes of OOM kills before the reboot can't be determined any more. */
    struct nm_live_container l = {.m = f->m, .c = c, .run.oom_reported = true};
    char dir[NM_DIR_SIZE];

    assert(c->view.state != NM_COMPLETED);
    nm_files_container_dir(f->m, c->id, dir);
    if (nm_launch_record_read(dir, &l.end) >= 0 && l.end.phase == NM_LAUNCH_ENDED) {
        l.has_end = true;
        nm_end_classify(&l);
        c->finished_realtime_usec = l.end.ended_realtime_usec;
    } else {
        c->exit_reason = NM_EXIT_LOST;
        c->exit_code = -1;
        (void)snprintf(c->message, sizeof c->message, "%s while it %s", what, doing(&c->view));
        c->finished_realtime_usec = nm_realtime_usec();
        f->lost++;
    }
    c->view.state = NM_COMPLETED;
    c->view.measured = (struct nm_resources){0};
    if (f->m->journal.opened.same_boot)
        c->finished_usec = l.has_end ? l.end.ended_usec : nm_now_usec();
    else
        rebase(c);
    (void)nm_store_put_container(f->m->store, c);
    nm_recovery_close_decision(f->m, c->id, what);
    nm_log_container(LOG_WARNING, c->id, NULL,
                     c->exit_reason == NM_EXIT_LOST ? NM_MESSAGE_LOST : NM_MESSAGE_ENDED,
                     "%s: %s (%s)", c->id, nm_exit_reason_name(c->exit_reason), c->message);
    add_ended(f, c);
}

static void after_reboot(struct finding *f, struct nm_container *c)
{
    end_unseen(f, c, "the host was rebooted");
}

/* Returns whether a container may remain queued after a reboot, because it is certain that it never ran. The row of the
 * container proves this only if no later row was lost, and only a journal that was closed normally has lost no rows. An
 * admitted container without a journalled cgroup has not run either, because nmd journals the cgroup before it opens
 * the gate. */
static bool waited_through_reboot(struct finding *f, const struct nm_container *c)
{
    char dir[NM_DIR_SIZE];

    nm_files_container_dir(f->m, c->id, dir);
    return f->m->journal.opened.was_closed && c->view.state <= NM_SCHEDULED &&
           (!c->view.admitted || c->cgroup_inode == 0) && !nm_launch_gate_was_open(dir);
}

static void queue_again(struct nm_container *c)
{
    uint64_t age = nm_sub_u64(nm_realtime_usec(), c->submitted_realtime_usec);

    c->view.submitted_usec = nm_sub_u64(nm_now_usec(), age);
    nm_container_drop_start(c);
}

/* ---- one container ------------------------------------------------------- */

static int adopt_shim(struct nm_live_container *l, const char *dir)
{
    struct nm_container *c = l->c;
    int r = nm_launch_adopt(dir, c->shim_pid, c->shim_start_ticks, l->m->event, nm_container_events_launched, l,
                            &l->launch);

    if (r < 0 && r != -ESRCH) /* the shim exists but can't be watched; an empty cgroup will show its end */
        nm_err("%s: its shim can't be watched: %s; ignoring", c->id, strerror(-r));
    return r;
}

/* If the journal's row has no shim, because it could not be written before the gate was opened, copies the shim's pid
 * and start time from the container's snapshot. */
static void complete_from_snapshot(struct nm_live_container *l, const char *dir)
{
    _cleanup_(nm_container_freep) struct nm_container *copy = NULL;
    bool same_boot;

    if (l->c->shim_pid || nm_container_snapshot_read(dir, l->m->journal.boot_id, &same_boot, &copy) < 0 || !same_boot)
        return;
    l->c->shim_pid = copy->shim_pid;
    l->c->shim_start_ticks = copy->shim_start_ticks;
}

/* Determines whether the command of an admitted container has started. The shim's record or the gate file may be newer
 * than the journal. Returns true if neither the record nor the gate file exists, so that the shim has not passed its
 * gate. */
static bool determine_launch(struct nm_live_container *l, const char *dir)
{
    struct nm_container *c = l->c;
    struct nm_launch_record record;
    int r = nm_launch_record_read(dir, &record);

    if (r == -ENOENT && !nm_launch_gate_was_open(dir))
        return true;
    if (r >= 0 && record.failed_stage != NM_LAUNCH_STAGE_NONE)
        return false; /* the command failed to start; nm_end_check() handles the end */
    c->view.state = NM_RUNNING;
    if (c->view.started_usec == 0)
        c->view.started_usec = nm_now_usec();
    if (r < 0)
        return false;
    c->pid = record.pid;
    c->view.started_usec = record.started_usec;
    c->started_realtime_usec = record.started_realtime_usec;
    return false;
}

/* Returns whether the container's own cgroup.freeze is set. If instead the whole slice is frozen, another program has
 * frozen it and must thaw it. */
static bool is_frozen_itself(const struct nm_live_container *l, const struct nm_cgroup_events *e)
{
    bool is_set;

    return e->frozen && nm_cgroup_read_freeze(l->cg, &is_set) >= 0 && is_set;
}

static void end_run(struct nm_live_container *l, const struct nm_cgroup_events *e)
{
    l->todo = l->c->view.kill_deadline_usec > nm_now_usec() && !e->frozen ? NM_TODO_TERMINATE : NM_TODO_KILL;
}

/* Determines the container's state. The kernel shows whether the container is frozen, and the journal has the intended
 * state. l->todo is set to the action that is still missing, and resume_actions() carries it out later. */
static void determine_state(struct nm_live_container *l)
{
    struct nm_cgroup_events e = {0};
    struct nm_policy_container *v = &l->c->view;

    if (!l->cg || nm_cgroup_read_events(l->cg, &e) < 0)
        return;
    if (nm_container_is_being_ended(l->c)) {
        end_run(l, &e);
        return;
    }
    switch (v->state) {
    case NM_PAUSING:
        l->todo = NM_TODO_FREEZE;
        break;
    case NM_RESUMING:
        l->todo = NM_TODO_THAW;
        break;
    case NM_PAUSED:
        if (!e.frozen) {
            v->state = NM_RUNNING;
            v->pause_deadline_usec = UINT64_MAX;
        }
        break;
    case NM_RUNNING:
        /* Another program has frozen the container through cgroupfs, or a pause could not be journalled. An
         * opportunistic container counts as paused and gets a deadline. A guaranteed container is thawed by
         * nm_container_events_observe(). */
        if (v->type == NM_OPPORTUNISTIC && is_frozen_itself(l, &e)) {
            v->state = NM_PAUSED;
            v->paused_usec = nm_now_usec();
            v->pause_deadline_usec = v->paused_usec + l->m->settings.pause_deadline_usec;
        }
        break;
    default:
        break;
    }
}

static struct nm_cgroup *take_cgroup(struct finding *f, const struct nm_container *c)
{
    struct found *found = find_cgroup(f, c->id);
    struct nm_cgroup *cg = found ? STEAL_PTR(found->cg) : NULL;

    if (cg && c->cgroup_inode && cg->inode != c->cgroup_inode) {
        nm_warning("the cgroup of %s is not the one that nmd created (inode %" PRIu64 ", not %" PRIu64 "); nmd does "
                   "not use it",
                   c->id, cg->inode, c->cgroup_inode);
        cg = nm_cgroup_free(cg);
    }
    return cg;
}

static bool was_launched(struct finding *f, const struct nm_container *c, const char *dir)
{
    return !nm_policy_container_is_waiting(&c->view) || find_cgroup(f, c->id) || nm_launch_gate_was_open(dir);
}

/* Ends the warm-up of a container that has run longer than the warm-up time with the first sample of this nmd.
 * Otherwise the container's request would count again for some periods after each restart of nmd, and other containers
 * would have to wait. */
static void trust_next_sample(const struct nm_manager *m, struct nm_policy_container *v)
{
    uint32_t n = m->settings.warmup_samples;

    if (nm_sub_u64(nm_now_usec(), v->started_usec) >= m->settings.warmup_usec)
        v->n_samples = n > 0 ? n - 1 : 0;
}

static void adopt(struct finding *f, struct nm_live_container *l, const char *dir)
{
    struct nm_container *c = l->c;
    struct nm_cgroup *cg = take_cgroup(f, c);
    bool at_gate, shim_gone;

    assert(!l->cg && !l->launch);
    l->run.adopted = true;
    l->run.oom_reported = c->oom_kills > 0;
    c->view.admitted = true;
    if (cg && nm_container_events_attach(l, cg) < 0)
        nm_warning("%s: its cgroup can't be watched; ignoring", c->id);
    else if (cg)
        nm_sample_live(l, nm_now_usec());
    complete_from_snapshot(l, dir);
    shim_gone = adopt_shim(l, dir) == -ESRCH;
    nm_container_events_exclude_shim(l);
    at_gate = c->view.state <= NM_SCHEDULED && determine_launch(l, dir);
    nm_run_phase_set(&l->phase, at_gate ? (shim_gone ? NM_RUN_WITHDRAWN : NM_RUN_AT_GATE)
                                        : (shim_gone ? NM_RUN_SHIM_GONE : NM_RUN_LAUNCHED));
    determine_state(l);
    trust_next_sample(f->m, &c->view);
    f->adopted++;
}

/* Adds a container that has not ended to the lists, and adopts its run. Takes ownership of c. is_row: c is a
 * row of the journal's file, written since the host's last boot. Such a row is only written again if it has changed.
 * Usually nothing has changed, and the rows of a thousand containers are not written. */
static void adopt_container(struct finding *f, struct nm_container *c, bool is_row)
{
    const struct nm_container row = *c; /* its pointers are c's, which do not change here */
    struct nm_policy_container *v = &c->view;
    char dir[NM_DIR_SIZE];
    struct nm_live_container *l;

    assert(c->view.state != NM_COMPLETED);
    if (v->state == NM_LOCALIZING)
        v->state = NM_NEW; /* the preparation was interrupted when the earlier nmd exited */
    v->n_samples = v->state_samples = 0;
    v->state_usec = nm_now_usec();
    v->measured = (struct nm_resources){0};
    (void)nm_settings_scale(f->m, c);
    if (nm_lists_add_live(f->m, c, &l) < 0) {
        nm_container_free(c);
        return;
    }
    nm_files_container_dir(f->m, c->id, dir);
    if (was_launched(f, c, dir))
        adopt(f, l, dir);
    else
        f->queued++;
    nm_recovery_reopen_decision(l);
    if (!is_row || nm_store_container_differs(&row, c))
        (void)nm_persist_journal(l);
}

/*
 * Replaces an outdated row by the container's snapshot. A journal that has lost its newest transactions has outdated
 * rows. Snapshots are separate files, and contain each change that a user has made. A queued container always has a
 * snapshot. If its snapshot is missing, the container may have been started or killed after the row was written.
 * Returns whether the container may continue; *c is replaced if there is a snapshot.
 */
static bool bring_up_to_date(struct finding *f, struct nm_container **c)
{
    struct nm_container *copy;
    char dir[NM_DIR_SIZE];
    bool same_boot;

    if (!f->rows_stale || (*c)->view.state == NM_COMPLETED || !f->m->journal.opened.same_boot)
        return true;
    nm_files_container_dir(f->m, (*c)->id, dir);
    if (nm_container_snapshot_read(dir, f->m->journal.boot_id, &same_boot, &copy) < 0)
        return was_launched(f, *c, dir);
    if (same_boot) {
        nm_container_free(*c);
        *c = copy;
        f->rebuilt++;
    } else {
        nm_container_free(copy);
    }
    return true;
}

static void recover_one(struct nm_container *c, void *userdata)
{
    struct finding *f = userdata;
    struct nm_manager *m = f->m;

    assert(c->id[0]);
    if (nm_lists_by_id(m, c->id)) { /* this row was already read before the damaged journal was replaced */
        nm_container_free(c);
        return;
    }
    m->journal.next_seq = NM_MAX(m->journal.next_seq, c->view.seq + 1);
    if (!bring_up_to_date(f, &c)) {
        end_unseen(f, c, "the journal was damaged, and the container's end is unknown; its last known state was "
                         "recorded");
        return;
    }
    if (c->view.state != NM_COMPLETED)
        c->view.app = nm_lists_app(m, c->app);
    if (c->view.state == NM_COMPLETED) {
        if (!m->journal.opened.same_boot) {
            rebase(c);
            (void)nm_store_put_container(m->store, c);
        }
        add_ended(f, c);
    } else if (m->journal.opened.same_boot) {
        adopt_container(f, c, f->rows_on_disk);
    } else if (waited_through_reboot(f, c)) {
        queue_again(c);
        adopt_container(f, c, false);
    } else {
        after_reboot(f, c);
    }
}

/* ---- containers missing in the journal -------------------------------------- */

/* Makes sure that the id is not used again, even if the journal has lost the container. */
static void skip_number(struct nm_manager *m, const char *id)
{
    uint64_t epoch, seq;

    if (nm_id_parse(id, &epoch, &seq) && epoch == m->journal.opened.epoch)
        m->journal.next_seq = NM_MAX(m->journal.next_seq, seq + 1);
}

/* Returns whether the container is newer than the newest row of the journal. Then a missing row does not mean that the
 * container was removed, and its files must not be deleted. An id that the owner chose has no arrival number. Then the
 * number in the snapshot is compared, if there is a snapshot. */
static bool is_newer_than_journal(const struct nm_manager *m, const char *id, const struct nm_container *copy)
{
    uint64_t epoch, seq;

    if (nm_id_parse(id, &epoch, &seq))
        return epoch == m->journal.opened.epoch ? seq > m->journal.opened.last_seq : epoch > m->journal.opened.epoch;
    return copy && copy->view.seq > m->journal.opened.last_seq;
}

static void rebuild(struct finding *f, struct nm_container *c, bool same_boot)
{
    struct nm_manager *m = f->m;

    nm_log_container(LOG_WARNING, c->id, NULL, NM_MESSAGE_STORE,
                     "%s is not in the journal; nmd restores it from its container.json in %s",
                     c->id, m->state_dir);
    f->rebuilt++;
    m->journal.next_seq = NM_MAX(m->journal.next_seq, c->view.seq + 1);
    c->view.app = nm_lists_app(m, c->app);
    if (same_boot)
        adopt_container(f, c, false);
    else
        after_reboot(f, c);
}

static void on_directory(const char *id, void *userdata)
{
    struct finding *f = userdata;
    struct nm_container *c = NULL;
    char dir[NM_DIR_SIZE];
    bool same_boot = false, lives;

    skip_number(f->m, id);
    if (nm_lists_by_id(f->m, id))
        return;
    lives = find_cgroup(f, id);
    nm_files_container_dir(f->m, id, dir);
    (void)nm_container_snapshot_read(dir, f->m->journal.boot_id, &same_boot, &c);
    f->journal_lost = f->journal_lost || is_newer_than_journal(f->m, id, c);
    if (c && same_boot)
        lives = lives || nm_launch_shim_exists(c->shim_pid, c->shim_start_ticks);
    if (c && (f->journal_lost || lives)) {
        rebuild(f, c, same_boot);
        return;
    }
    nm_container_free(c);
    /* The container was removed from the journal, but nmd died before it deleted the files. */
    if (!f->journal_lost && !lives)
        nm_files_drop(f->m, id);
}

static void keep_orphan(struct nm_manager *m, struct nm_cgroup *cg, const char *id, bool frozen)
{
    if (frozen)
        (void)nm_cgroup_freeze(cg, false);
    nm_log_container(LOG_WARNING, id, NULL, NM_MESSAGE_FOREIGN,
                     "%s: the cgroup is in the slice, but neither in the journal nor in a container.json; nmd doesn't "
                     "kill it%s. To end it: echo 1 > %s/cgroup.kill",
                     cg->name, frozen ? ", but has thawed it" : "", cg->path);
    (void)nm_cgroup_list_add(&m->unowned.orphans, cg);
}

static void handle_orphans(struct finding *f)
{
    struct nm_manager *m = f->m;

    for (size_t i = 0; i < f->n; i++) {
        struct nm_cgroup *cg = f->found[i].cg;
        struct nm_cgroup_events e = {0};

        if (!cg)
            continue;
        skip_number(m, f->found[i].id);
        if (nm_cgroup_read_events(cg, &e) >= 0 && e.populated) {
            keep_orphan(m, cg, f->found[i].id, e.frozen);
            continue;
        }
        (void)nm_cgroups_remove(m, cg);
        nm_cgroup_free(cg);
    }
    f->n = 0;
}

void nm_recovery_check_orphans(struct nm_manager *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->unowned.orphans.n; i++) {
        struct nm_cgroup *cg = m->unowned.orphans.all[i];
        struct nm_cgroup_events e = {0};
        int r = nm_cgroup_read_events(cg, &e);

        if (r >= 0 && e.populated) {
            m->unowned.orphans.all[kept++] = cg;
            continue;
        }
        if (r >= 0)
            (void)nm_cgroups_remove(m, cg);
        nm_cgroup_free(cg);
    }
    m->unowned.orphans.n = kept;
    nm_removable_update(m);
}

/* ---- the steps of recovery ----------------------------------------------- */

static int by_seq(const void *a, const void *b)
{
    const struct nm_live_container *const *x = a, *const *y = b;

    return (*x)->c->view.seq < (*y)->c->view.seq ? -1 : (*x)->c->view.seq > (*y)->c->view.seq;
}

static int by_end(const void *a, const void *b)
{
    const struct nm_container *const *x = a, *const *y = b;

    return (*x)->finished_usec < (*y)->finished_usec ? -1 : (*x)->finished_usec > (*y)->finished_usec;
}

/* Sorts the containers by arrival and by end. Rows are read in the order of arrival, but containers restored from
 * snapshots are in the order of their directories. */
static void put_in_order(struct nm_manager *m)
{
    if (m->live.n > 1)
        qsort(m->live.all, m->live.n, sizeof *m->live.all, by_seq);
    for (size_t i = 0; i < m->live.n; i++)
        m->live.views[i] = &m->live.all[i]->c->view;
    if (m->ended.n > 1)
        qsort(m->ended.all, m->ended.n, sizeof *m->ended.all, by_end);
}

static int load(struct finding *f)
{
    struct nm_manager *m = f->m;
    unsigned n_bad = 0;
    int r;

    (void)nm_store_begin(m->store);
    r = nm_store_load_containers(m->store, recover_one, f, &n_bad);
    if (r == -EUCLEAN || r == -EIO) { /* the journal is damaged, and the check at its opening has not detected this */
        (void)nm_store_commit(m->store);
        nm_journal_replace(m);
        f->journal_lost = true;
        f->rows_on_disk = false;
        (void)nm_store_begin(m->store);
        r = nm_store_load_containers(m->store, recover_one, f, &n_bad);
    }
    if (n_bad) {
        nm_err("%u rows of the journal could not be read; nmd has moved them to its tables bad_containers and "
               "bad_commands",
               n_bad);
        f->journal_lost = true;
    }
    if (r >= 0)
        r = nm_files_foreach(m, on_directory, f);
    NM_FAULT("recovery-before-commit");
    nm_record_store_result(m, nm_store_commit(m->store));
    NM_FAULT("recovery-after-commit");
    if (r >= 0)
        nm_store_mark_open(m->store);
    return r;
}

/* Carries out unfinished actions. Must run after all containers were adopted, because a kill may end a container
 * immediately. */
static void resume_actions(struct nm_manager *m)
{
    for (size_t i = m->live.n; i-- > 0;) {
        struct nm_live_container *l = m->live.all[i];

        if (l->run.adopted)
            nm_limits_adopt(l);
        if (l->todo != NM_TODO_NOTHING)
            nm_act_carry_out(l);
        else
            nm_container_events_observe(l);
        nm_end_check(l);
    }
    nm_recovery_restore_limits(m);
    if (!m->drain.is_on)
        return;
    (void)nm_drain_arm(m, m->drain.deadline_usec);
    nm_events_publish_node(m, m->drain.until_restart
                                   ? "still draining: the previous nmd died during the drain"
                                   : "still draining, as before the restart; 'nmctl undrain' ends the drain");
    nm_drain_carry_out(m, NULL);
}

static void report_finding(struct finding *f)
{
    struct nm_manager *m = f->m;
    char text[200], log[100] = "";

    if (m->journal.opened.was_damaged) {
        if (m->journal.opened.was_rolled_back)
            (void)snprintf(log, sizeof log, " (of the %u pages in its log, %u are intact)",
                           m->journal.opened.log_promised, m->journal.opened.log_frames);
        (void)snprintf(text, sizeof text, "%s; %u containers were rebuilt from their container.json", log, f->rebuilt);
        nm_journal_report_damage(m, &m->journal.opened, text);
    }
    if (!f->adopted && !f->queued && !f->lost && !m->unowned.orphans.n)
        return;
    (void)snprintf(text, sizeof text,
                   "after the restart: %u containers adopted, %u still queued, %u lost, %zu unknown cgroups",
                   f->adopted, f->queued, f->lost, m->unowned.orphans.n);
    nm_events_publish_node(m, text);
}

int nm_recovery_run(struct nm_manager *m, char **ret_message)
{
    struct finding f = {.m = m,
                        .journal_lost = m->journal.opened.is_new || m->journal.opened.was_damaged,
                        .rows_stale = m->journal.opened.was_rolled_back,
                        .rows_on_disk = !m->journal.opened.was_damaged && m->journal.opened.problem == 0};
    int r = m->backend->ops->list(m->backend, on_cgroup, &f);

    /* A missing or incomplete list of cgroups is an error: recovery would treat running containers as ended. */
    if (r >= 0)
        r = f.error;
    if (r < 0)
        (void)nm_fail(ret_message, r, "the cgroups below %s can't be listed: %s", m->backend->slice, strerror(-r));
    if (r >= 0) {
        if (f.n > 1)
            qsort(f.found, f.n, sizeof *f.found, by_container_id);
        r = load(&f);
    }
    if (r >= 0) {
        handle_orphans(&f);
        put_in_order(m);
        resume_actions(m);
        nm_removable_recover(m);
        report_finding(&f);
    }
    for (size_t i = 0; i < f.n; i++)
        nm_cgroup_free(f.found[i].cg);
    free(f.found);
    return r < 0 ? r : 0;
}
