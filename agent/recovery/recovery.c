/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Recovery after a restart of nmd. Three sources show what an earlier nmd left: the journal (intents), the live
 * cgroups under the slice (the present state), and the shims with their records (how commands began and ended). These
 * sources are compared for each container:
 *
 *   journal   cgroup   shim           action
 *   prepared  -        -              becomes NEW again, for its owner to prepare it
 *   queued    -        -              keeps waiting at its old place
 *   admitted  any      at its gate    wait: the shim either starts the command or exits
 *   admitted  any      gone, no gate  the command has not run: queued again, when its cgroup is empty
 *   admitted  yes      started        adopted as running
 *   running.. yes      alive          adopted in the state that cgroup.events shows
 *   running.. yes      gone           ended according to its record; remaining processes are killed, as
 *                                     journal and inode prove that they belong to the container
 *   run again any      any            remaining processes are ended; then NEW again
 *   running.. no       gone           ended according to its record, else by the kill that the journal
 *                                     announced, else killed from outside, else lost
 *   -         any      any            the copy (container-snapshot.h) replaces the missing row
 *   -         yes      no copy        an orphan: thawed if frozen, reported, never killed
 *
 * After a reboot (another boot id) containers that were running are reported lost, unless the shim had recorded the
 * end. Waiting containers keep waiting if nmd had been stopped properly. After a crash of the host the row of a
 * waiting container doesn't prove that it never ran, so it is lost as well. Recovery kills no process whose owner it
 * does not know, and starts no command twice: only a shim that has gone and never passed its gate proves that the
 * command did not run.
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
#include "agent/node/node.h"
#include "agent/recovery/recovery-decide.h"
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
    bool rows_stale;   /* rows of the journal may be older than the last changes */
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

static struct found *find_cgroup(struct finding *f, const char *id)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->found[i].cg && nm_streq(f->found[i].id, id))
            return &f->found[i];
    return NULL;
}

static void add_ended(struct finding *f, struct nm_container *c)
{
    if (nm_lists_add_ended(f->m, c) < 0)
        nm_container_free(c);
    else
        nm_lists_index(f->m, c);
}

/* ---- after a reboot ------------------------------------------------------ */

/* CLOCK_BOOTTIME has started again. Of the container's times, only the age of an ended container remains valid. */
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

/* Ends a container whose end no nmd has seen, unless its shim has recorded it. what: the text that says how the
 * container was lost. */
static void end_unseen(struct finding *f, struct nm_container *c, const char *what)
{
    /* Oom kills of an earlier boot can't be examined. */
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

/* Returns whether a waiting container may keep waiting after a reboot, because it certainly never ran. Its row proves
 * that only if no later row of the container was written and lost, and a journal that was closed has lost no rows. A
 * container whose start was in progress has not run either, because a gate is opened only after the cgroup was
 * journalled. */
static bool waited_through_reboot(struct finding *f, const struct nm_container *c)
{
    char dir[NM_DIR_SIZE];

    nm_files_container_dir(f->m, c->id, dir);
    return f->m->journal.opened.was_closed && c->view.state <= NM_SCHEDULED &&
           (!c->view.admitted || c->cgroup_inode == 0) && !nm_launch_gate_was_open(dir);
}

static void queue_anew(struct nm_container *c)
{
    uint64_t age = nm_sub_u64(nm_realtime_usec(), c->submitted_realtime_usec);

    c->view.submitted_usec = nm_sub_u64(nm_now_usec(), age);
    nm_container_forget_start(c);
}

/* ---- one container ------------------------------------------------------- */

static int adopt_shim(struct nm_live_container *l, const char *dir)
{
    struct nm_container *c = l->c;
    int r = nm_launch_adopt(dir, c->shim_pid, c->shim_start_ticks, l->m->event, nm_container_events_launched, l,
                            &l->launch);

    if (r < 0 && r != -ESRCH) /* the shim exists but can't be watched; the cgroup will show its end */
        nm_err("%s: its shim can't be watched: %s; ignoring", c->id, strerror(-r));
    return r;
}

/* Completes a row from the copy beside the shim's records, if the row could not be written in time. */
static void borrow_from_copy(struct nm_live_container *l, const char *dir)
{
    _cleanup_(nm_container_freep) struct nm_container *copy = NULL;
    bool same_boot;

    if (l->c->shim_pid || nm_container_snapshot_read(dir, l->m->journal.boot_id, &same_boot, &copy) < 0 || !same_boot)
        return;
    l->c->shim_pid = copy->shim_pid;
    l->c->shim_start_ticks = copy->shim_start_ticks;
}

/* Determines how far an admitted container has come; its record or the gate file may show more than the journal.
 * Returns true if neither journal nor files show that the shim has passed its gate. */
static bool settle_launch(struct nm_live_container *l, const char *dir)
{
    struct nm_container *c = l->c;
    struct nm_launch_record record;
    int r = nm_launch_record_read(dir, &record);

    if (r == -ENOENT && !nm_launch_gate_was_open(dir))
        return true;
    if (r >= 0 && record.failed_stage != NM_LAUNCH_STAGE_NONE)
        return false; /* the container's end is handled next */
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

/* Returns whether the container itself is frozen. If the whole slice is frozen, another process has done that and will
 * thaw it. */
static bool is_frozen_itself(const struct nm_live_container *l, const struct nm_cgroup_events *e)
{
    bool is;

    return e->frozen && nm_cgroup_read_freeze(l->cg, &is) >= 0 && is;
}

static void end_run(struct nm_live_container *l, const struct nm_cgroup_events *e)
{
    l->todo = l->c->kill_deadline_usec > nm_now_usec() && !e->frozen ? NM_TODO_TERMINATE : NM_TODO_KILL;
}

/* Reconciles the states. Whether the container is frozen is taken from the kernel, the intended state from the journal,
 * and the remaining action is carried out afterwards. */
static void settle_state(struct nm_live_container *l)
{
    struct nm_cgroup_events e = {0};
    struct nm_policy_container *v = &l->c->view;

    if (!l->cg || nm_cgroup_read_events(l->cg, &e) < 0)
        return;
    if (l->c->rerun && v->state < NM_KILLING) {
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
    case NM_KILLING:
        end_run(l, &e);
        break;
    case NM_PAUSED:
        if (!e.frozen) {
            v->state = NM_RUNNING;
            v->pause_deadline_usec = UINT64_MAX;
        }
        break;
    case NM_RUNNING:
        /* A person has frozen the container through cgroupfs, or a pause could not be journalled. The container gets a
         * deadline. A guaranteed container is thawed instead, when it is observed. */
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

/* Ends the warm-up of a long-running container with the first sample of this nmd. Otherwise its request would count
 * again for some periods after each restart, and delay other containers needlessly. */
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
    borrow_from_copy(l, dir);
    shim_gone = adopt_shim(l, dir) == -ESRCH;
    nm_container_events_tell_shim(l);
    at_gate = c->view.state <= NM_SCHEDULED && settle_launch(l, dir);
    nm_run_phase_set(&l->phase, at_gate ? (shim_gone ? NM_RUN_WITHDRAWN : NM_RUN_AT_GATE)
                                        : (shim_gone ? NM_RUN_SHIM_GONE : NM_RUN_LAUNCHED));
    settle_state(l);
    trust_next_sample(f->m, &c->view);
    f->adopted++;
}

/* Adds a container of the journal to the lists. Takes ownership of c. */
static void take_in(struct finding *f, struct nm_container *c)
{
    struct nm_policy_container *v = &c->view;
    char dir[NM_DIR_SIZE];
    struct nm_live_container *l;

    assert(c->view.state != NM_COMPLETED);
    if (v->state == NM_LOCALIZING)
        v->state = NM_NEW; /* the preparation ended with the earlier nmd */
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
    (void)nm_persist_journal(l);
}

/*
 * Replaces an outdated row. A journal that has lost its newest transactions has old data. Copies are written separately
 * and are preferred, since they contain each change made by a person. A waiting container always has a copy, so its row
 * alone does not prove that the container was not killed or started later. *c: replaced if there is better data.
 * Returns whether the container may continue.
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
    if (nm_lists_by_id(m, c->id)) { /* the journal was replaced meanwhile and is read again */
        nm_container_free(c);
        return;
    }
    m->journal.next_seq = NM_MAX(m->journal.next_seq, c->view.seq + 1);
    if (!bring_up_to_date(f, &c)) {
        end_unseen(f, c, "the journal was damaged and its end is unknown; its last known state was recorded");
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
        take_in(f, c);
    } else if (waited_through_reboot(f, c)) {
        queue_anew(c);
        take_in(f, c);
    } else {
        after_reboot(f, c);
    }
}

/* ---- containers missing in the journal -------------------------------------- */

/* Ids are never used twice, even if the journal has lost the container. */
static void skip_number(struct nm_manager *m, const char *id)
{
    uint64_t epoch, seq;

    if (nm_id_parse(id, &epoch, &seq) && epoch == m->journal.opened.epoch)
        m->journal.next_seq = NM_MAX(m->journal.next_seq, seq + 1);
}

/* Returns whether the container was created after the journal's newest data, so that the journal can't decide about its
 * files. For an id that the owner chose, only the copy shows the time, if a copy exists. */
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
        take_in(f, c);
    else
        after_reboot(f, c);
}

static void on_directory(const char *id, void *userdata)
{
    struct finding *f = userdata;
    struct nm_container *c = NULL;
    char dir[NM_DIR_SIZE];
    bool same_boot = false, lives = find_cgroup(f, id);

    skip_number(f->m, id);
    if (nm_lists_by_id(f->m, id))
        return;
    nm_files_container_dir(f->m, id, dir);
    (void)nm_container_snapshot_read(dir, f->m->journal.boot_id, &same_boot, &c);
    f->journal_lost = f->journal_lost || is_newer_than_journal(f->m, id, c);
    if (c && same_boot)
        lives = lives || nm_launch_shim_lives(c->shim_pid, c->shim_start_ticks);
    if (c && (f->journal_lost || lives)) {
        rebuild(f, c, same_boot);
        return;
    }
    nm_container_free(c);
    /* The row was deleted, but nmd died before it deleted the files. */
    if (!f->journal_lost && !lives)
        nm_files_forget(f->m, id);
}

static void keep_orphan(struct nm_manager *m, struct nm_cgroup *cg, const char *id, bool frozen)
{
    struct nm_cgroup **p = reallocarray(m->orphans.all, m->orphans.n + 1, sizeof *p);

    if (frozen)
        (void)nm_cgroup_freeze(cg, false);
    nm_log_container(LOG_WARNING, id, NULL, NM_MESSAGE_FOREIGN,
                     "%s: the cgroup is in the slice, but neither in the journal nor in a container.json; nmd doesn't "
                     "kill it%s. To end it: echo 1 > %s/cgroup.kill",
                     cg->name, frozen ? ", but has thawed it" : "", cg->path);
    if (!p) {
        nm_cgroup_free(cg);
        return;
    }
    m->orphans.all = p;
    p[m->orphans.n++] = cg;
}

static void deal_with_orphans(struct finding *f)
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
        (void)m->backend->ops->remove(m->backend, cg);
        nm_cgroup_free(cg);
    }
    f->n = 0;
}

void nm_recovery_check_orphans(struct nm_manager *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->orphans.n; i++) {
        struct nm_cgroup *cg = m->orphans.all[i];
        struct nm_cgroup_events e = {0};
        int r = nm_cgroup_read_events(cg, &e);

        if (r >= 0 && e.populated) {
            m->orphans.all[kept++] = cg;
            continue;
        }
        if (r >= 0)
            (void)m->backend->ops->remove(m->backend, cg);
        nm_cgroup_free(cg);
    }
    m->orphans.n = kept;
    nm_removable_look(m);
}

/* ---- recovery as a whole ------------------------------------------------- */

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

/* Sorts the containers. Rows are read by number, but rebuilt containers come in the order of their directories. */
static void put_in_order(struct nm_manager *m)
{
    if (m->lives.n > 1)
        qsort(m->lives.all, m->lives.n, sizeof *m->lives.all, by_seq);
    for (size_t i = 0; i < m->lives.n; i++)
        m->lives.views[i] = &m->lives.all[i]->c->view;
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
    if (r == -EUCLEAN || r == -EIO) { /* damage that no check had found before */
        (void)nm_store_commit(m->store);
        nm_journal_replace(m);
        f->journal_lost = true;
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
        nm_store_take_into_use(m->store);
    return r;
}

/* Carries out unfinished actions after all containers were adopted, because a kill may end a container at once. */
static void go_on(struct nm_manager *m)
{
    for (size_t i = m->lives.n; i-- > 0;) {
        struct nm_live_container *l = m->lives.all[i];

        if (l->run.adopted)
            nm_limits_put_right(l);
        if (l->todo != NM_TODO_NOTHING)
            nm_act_carry_out(l);
        else
            nm_container_events_observe(l);
        nm_end_check(l);
    }
    if (!m->drain.is_on)
        return;
    (void)nm_drain_arm(m, m->drain.deadline_usec);
    nm_events_tell_node(m, m->drain.until_restart
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
        nm_journal_tell_damage(m, &m->journal.opened, text);
    }
    if (!f->adopted && !f->queued && !f->lost && !m->orphans.n)
        return;
    (void)snprintf(text, sizeof text,
                   "after the restart: %u containers adopted, %u still queued, %u lost, %zu unknown cgroups",
                   f->adopted, f->queued, f->lost, m->orphans.n);
    nm_events_tell_node(m, text);
}

int nm_recovery_run(struct nm_manager *m, char **ret_message)
{
    struct finding f = {.m = m,
                        .journal_lost = m->journal.opened.is_new || m->journal.opened.was_damaged,
                        .rows_stale = m->journal.opened.was_rolled_back};
    int r = m->backend->ops->list(m->backend, on_cgroup, &f);

    /* If the list of cgroups is missing or incomplete, some cgroups would seem to have gone. */
    if (r >= 0)
        r = f.error;
    if (r < 0)
        (void)nm_fail(ret_message, r, "the cgroups below %s can't be listed: %s", m->backend->slice, strerror(-r));
    if (r >= 0)
        r = load(&f);
    if (r >= 0) {
        deal_with_orphans(&f);
        put_in_order(m);
        go_on(m);
        nm_removable_recover(m);
        report_finding(&f);
    }
    for (size_t i = 0; i < f.n; i++)
        nm_cgroup_free(f.found[i].cg);
    free(f.found);
    return r < 0 ? r : 0;
}
