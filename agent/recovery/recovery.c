/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Re-adoption. On start there are three witnesses of what an earlier nmd left: the journal (what
 * was meant), the live cgroups under the slice (what is), and the shims with their records (how
 * commands began and ended). They are compared container by container:
 *
 *   journal   cgroup   shim           what is done
 *   prepared  -        -              NEW again, for its owner to make it ready
 *   queued    -        -              waits on, at its old place
 *   admitted  any      at its gate    waited for: either it starts after all, or it leaves
 *   admitted  any      gone, no gate  nothing ran: queued again, when its cgroup is empty
 *   admitted  yes      started        adopted as running
 *   running.. yes      alive          adopted in the state that cgroup.events shows
 *   running.. yes      gone           its record says how it ended; what it left is killed, being
 *                                     ours by journal and inode
 *   run again any      any            what still runs is ended; then NEW again
 *   running.. no       gone           ended by its record, else by the kill that the journal had
 *                                     announced, else killed from outside, else lost
 *   -         any      any            its copy (container-snapshot.h) takes the row's place
 *   -         yes      no copy        an orphan: thawed if frozen, reported, never killed
 *
 * After a reboot (another boot id) what lived is reported lost, unless its shim had seen the end.
 * What waited waits on if nmd had been stopped in good order; after a crash of the host its row
 * doesn't prove that it never ran, and it is lost as well.
 * Nothing is killed here that can't be attributed, and nothing is started twice: only a shim that is
 * gone and was never let through its gate proves that nothing ran.
 */

#include "agent/recovery/recovery.h"

#include <assert.h>
#include <inttypes.h>

#include "agent/message-ids.h"
#include "agent/store/container-snapshot.h"
#include "agent/journal/container-files.h"
#include "agent/lifecycle/actions.h"
#include "agent/requests/drain.h"
#include "agent/lifecycle/container-end.h"
#include "agent/journal/journal.h"
#include "agent/journal/persist.h"
#include "agent/lifecycle/container-events.h"
#include "agent/node/container-limits.h"
#include "agent/journal/lists.h"
#include "agent/journal/event-ring.h"
#include "agent/journal/decision-record.h"
#include "agent/node/removable.h"
#include "agent/node/manager-settings.h"
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
    bool journal_lost; /* it doesn't know of containers that it ought to */
    bool rows_stale;   /* what it knows may be older than what happened */
    int error;         /* a cgroup that was listed could not be kept */
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

/* CLOCK_BOOTTIME has begun anew: what an ended container keeps of it is only its age. */
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

/* Ends what nobody has seen end, unless its shim has. what: how it was lost, which says what it did then. */
static void end_unseen(struct finding *f, struct nm_container *c, const char *what)
{
    /* An OOM kill of an earlier boot isn't looked into. */
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

/* It waits on, if it is sure that it never ran: a row that says so proves it only if it is the last
 * one that was written, and a journal that was closed has lost none. One whose start was under way
 * when the host went down has run nothing either, for no gate is opened before the cgroup has been
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

    if (r < 0 && r != -ESRCH) /* there, but not to be watched: its cgroup will show the end */
        nm_err("%s: its shim can't be watched: %s; ignoring", c->id, strerror(-r));
    return r;
}

/* A row that could not be written in time knows less than the copy beside the shim's records. */
static void borrow_from_copy(struct nm_live_container *l, const char *dir)
{
    _cleanup_(nm_container_freep) struct nm_container *copy = NULL;
    bool same_boot;

    if (l->c->shim_pid || nm_container_snapshot_read(dir, l->m->journal.boot_id, &same_boot, &copy) < 0 || !same_boot)
        return;
    l->c->shim_pid = copy->shim_pid;
    l->c->shim_start_ticks = copy->shim_start_ticks;
}

/* Admitted, as far as the journal goes. Its record, or the gate alone, may say more. Returns whether nothing shows that
 * its shim has left the gate. */
static bool settle_launch(struct nm_live_container *l, const char *dir)
{
    struct nm_container *c = l->c;
    struct nm_launch_record record;
    int r = nm_launch_record_read(dir, &record);

    if (r == -ENOENT && !nm_launch_gate_was_open(dir))
        return true;
    if (r >= 0 && record.failed_stage != NM_LAUNCH_STAGE_NONE)
        return false; /* its end follows */
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

/* Not with the whole slice: somebody has frozen that, and thaws it again. */
static bool is_frozen_itself(const struct nm_live_container *l, const struct nm_cgroup_events *e)
{
    bool is;

    return e->frozen && nm_cgroup_read_freeze(l->cg, &is) >= 0 && is;
}

static void end_run(struct nm_live_container *l, const struct nm_cgroup_events *e)
{
    l->todo = l->c->kill_deadline_usec > nm_now_usec() && !e->frozen ? NM_TODO_TERMINATE : NM_TODO_KILL;
}

/* The kernel's word on whether it is frozen outranks the journal's; the journal's on what should
 * become of it is then done. */
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
        /* By a person's echo, or by a pause that could not be journalled: it gets a deadline. One
         * that is guaranteed is thawed instead, when it is observed. */
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
        nm_warning("the cgroup of %s is not the one that nmd made (inode %" PRIu64 ", not %" PRIu64
                   "): left alone",
                   c->id, cg->inode, c->cgroup_inode);
        cg = nm_cgroup_free(cg);
    }
    return cg;
}

static bool was_launched(struct finding *f, const struct nm_container *c, const char *dir)
{
    return !nm_policy_container_is_waiting(&c->view) || find_cgroup(f, c->id) || nm_launch_gate_was_open(dir);
}

/* One that has run for long is known as soon as this nmd has measured it: that its request counted again
 * for some periods after each restart would keep others waiting for nothing. */
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

/* Takes c. */
static void take_in(struct finding *f, struct nm_container *c)
{
    struct nm_policy_container *v = &c->view;
    char dir[NM_DIR_SIZE];
    struct nm_live_container *l;

    assert(c->view.state != NM_COMPLETED);
    if (v->state == NM_LOCALIZING)
        v->state = NM_NEW; /* whoever was at it has gone with that nmd */
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
 * A journal that has lost its newest transactions tells of what was. Copies are written apart from it, and win: they
 * have each change that a person has made. What waits has a copy for as long as it does; a row alone is no proof that
 * it hasn't been killed, or started, since. *c: taken, if there is something better. Returns whether it may go on.
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
    if (nm_lists_by_id(m, c->id)) { /* the journal was replaced meanwhile, and is read once more */
        nm_container_free(c);
        return;
    }
    m->journal.next_seq = NM_MAX(m->journal.next_seq, c->view.seq + 1);
    if (!bring_up_to_date(f, &c)) {
        end_unseen(f, c, "the journal has lost what became of it: that was damaged, and it was last heard of");
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

/* ---- what the journal doesn't know --------------------------------------- */

/* An id that was given out is never given out again, whatever the journal remembers. */
static void skip_number(struct nm_manager *m, const char *id)
{
    uint64_t epoch, seq;

    if (nm_id_parse(id, &epoch, &seq) && epoch == m->journal.opened.epoch)
        m->journal.next_seq = NM_MAX(m->journal.next_seq, seq + 1);
}

/* It came after the journal's newest: what is there is older than this container, and has no say about its files. Of an
 * id that its owner chose only the copy, if there is one, tells when it came. */
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
                     "%s is not in the journal; what is known of it is taken from its copy in %s",
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
    /* Its row was deleted, and nmd died before the rest was. */
    if (!f->journal_lost && !lives)
        nm_files_forget(f->m, id);
}

static void keep_orphan(struct nm_manager *m, struct nm_cgroup *cg, const char *id, bool frozen)
{
    struct nm_cgroup **p = reallocarray(m->orphans.all, m->orphans.n + 1, sizeof *p);

    if (frozen)
        (void)nm_cgroup_freeze(cg, false);
    nm_log_container(LOG_WARNING, id, NULL, NM_MESSAGE_FOREIGN,
                     "%s is in the slice but not in the journal, nor has it a copy: left alone%s. "
                     "If nobody needs it: echo 1 > %s/cgroup.kill",
                     cg->name, frozen ? " and thawed" : "", cg->path);
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

/* ---- all of it ----------------------------------------------------------- */

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

/* Rows come by number; those that were rebuilt, in whatever order their directories are found. */
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
    if (r == -EUCLEAN || r == -EIO) { /* damage that no check had found, half way through */
        (void)nm_store_commit(m->store);
        nm_journal_replace(m);
        f->journal_lost = true;
        (void)nm_store_begin(m->store);
        r = nm_store_load_containers(m->store, recover_one, f, &n_bad);
    }
    if (n_bad) {
        nm_err("%u entries of the journal could not be read; they are set aside in it (bad_containers, bad_commands)",
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

/* First everything is taken in, then what was left half done is done: a kill may end a container at
 * once. */
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
                                   ? "still draining: the nmd before this one died amid it"
                                   : "still draining, as before the restart; 'nmctl undrain' ends that");
    nm_drain_carry_out(m, NULL);
}

static void tell(struct finding *f)
{
    struct nm_manager *m = f->m;
    char text[200], log[100] = "";

    if (m->journal.opened.was_damaged) {
        if (m->journal.opened.was_rolled_back)
            (void)snprintf(log, sizeof log, " (of the %u pages in its log, %u are sound)",
                           m->journal.opened.log_promised, m->journal.opened.log_frames);
        (void)snprintf(text, sizeof text, "%s; %u containers were rebuilt from their copies", log, f->rebuilt);
        nm_journal_tell_damage(m, &m->journal.opened, text);
    }
    if (!f->adopted && !f->queued && !f->lost && !m->orphans.n)
        return;
    (void)snprintf(text, sizeof text,
                   "after the restart: %u containers adopted, %u still queued, %u lost, %zu cgroups "
                   "that aren't known",
                   f->adopted, f->queued, f->lost, m->orphans.n);
    nm_events_tell_node(m, text);
}

int nm_recovery_run(struct nm_manager *m, char **ret_message)
{
    struct finding f = {.m = m,
                        .journal_lost = m->journal.opened.is_new || m->journal.opened.was_damaged,
                        .rows_stale = m->journal.opened.was_rolled_back};
    int r = m->backend->ops->list(m->backend, on_cgroup, &f);

    /* Without that list, or with holes in it, containers would look as if their cgroups had gone. */
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
        tell(&f);
    }
    for (size_t i = 0; i < f.n; i++)
        nm_cgroup_free(f.found[i].cg);
    free(f.found);
    return r < 0 ? r : 0;
}
