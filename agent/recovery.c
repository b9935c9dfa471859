/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Re-adoption. On start there are three witnesses of what an earlier nmd left: the journal (what was meant), the live
 * cgroups under the slice (what is), and the shims' records (how commands ended). They are compared container by container:
 *
 *   journal   cgroup   shim      what is done
 *   queued    -        -         queued again, at its old place
 *   admitted  any      waiting   its gate never opened, it leaves by itself: queued again
 *   admitted  yes      started   adopted as running
 *   running.. yes      alive     adopted in the state that cgroup.events shows
 *   running.. yes      gone      record says how it ended; what it left in the cgroup is killed, being ours by journal and inode
 *   running.. no       gone      ended by its record, else by the kill that the journal had announced, else lost
 *   -         yes      -         an orphan: thawed if frozen, reported, never killed
 *
 * After a reboot (another boot id) everything that lived is reported lost. Nothing is killed here that can't be attributed.
 */

#include "agent/manager.h"

#include <dirent.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>

#include "agent/message-ids.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/log.h"

struct found {
    struct nm_cgroup *cg;
    char id[NM_ID_SIZE];
};

struct finding {
    struct nm_manager *m;
    struct found *found;
    size_t n;
    unsigned adopted, queued, ended, lost, orphans;
};

static void on_cgroup(struct nm_cgroup *cg, const char *container_id, void *userdata)
{
    struct finding *f = userdata;
    struct found *p = reallocarray(f->found, f->n + 1, sizeof *p);

    if (!p) {
        nm_cgroup_free(cg);
        return;
    }
    f->found = p;
    p[f->n] = (struct found){.cg = cg};
    (void)snprintf(p[f->n++].id, sizeof p->id, "%s", container_id);
}

static struct nm_cgroup *take_cgroup(struct finding *f, const char *id)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->found[i].cg && nm_streq(f->found[i].id, id))
            return STEAL_PTR(f->found[i].cg);
    return NULL;
}

static void end_as(struct finding *f, struct nm_container *c, enum nm_exit_reason reason, const char *message)
{
    c->view.state = NM_COMPLETED;
    c->exit_reason = reason;
    c->exit_code = -1;
    c->finished_usec = nm_now_usec();
    c->finished_realtime_usec = nm_realtime_usec();
    (void)snprintf(c->message, sizeof c->message, "%s", message);
    (void)nm_store_put_container(f->m->store, c);
    nm_log_container(LOG_WARNING, c->id, NULL, NM_MESSAGE_LOST, "%s: %s (%s)", c->id, nm_exit_reason_name(reason), message);
    nm_manager_index(f->m, c);
    if (nm_manager_add_ended(f->m, c) < 0)
        nm_container_free(c);
}

/* Without its gate opened nothing ran; whatever was made for it is made again. */
static void requeue(struct finding *f, struct nm_live *l)
{
    struct nm_container *c = l->c;

    c->view.admitted = false;
    c->view.started_usec = 0;
    c->started_realtime_usec = 0;
    c->shim_pid = 0;
    c->shim_start_ticks = 0;
    c->cgroup_inode = 0;
    (void)nm_life_journal(l);
    f->queued++;
}

static int adopt_shim(struct nm_live *l)
{
    char dir[PATH_MAX];
    int r;

    if (l->c->shim_pid == 0)
        return -ESRCH;
    if ((size_t)snprintf(dir, sizeof dir, "%s/containers/%s", l->m->state_dir, l->c->id) >= sizeof dir)
        return -ENAMETOOLONG;
    r = nm_launch_adopt(dir, l->c->shim_pid, l->c->shim_start_ticks, l->m->event, nm_life_launched, l, &l->launch);
    if (r < 0)
        l->shim_gone = true;
    return r;
}

static bool record_started(const struct nm_live *l, struct nm_launch_record *r)
{
    char dir[PATH_MAX];

    return (size_t)snprintf(dir, sizeof dir, "%s/containers/%s", l->m->state_dir, l->c->id) < sizeof dir &&
           nm_launch_record_read(dir, r) >= 0 && r->phase >= NM_LAUNCH_STARTED;
}

/* The kernel's word on whether it is frozen outranks the journal's; the journal's on whether it should be is then done. */
static void settle_state(struct nm_live *l)
{
    struct nm_cgroup_events e = {0};
    struct nm_view *v = &l->c->view;

    if (!l->cg || nm_cgroup_read_events(l->cg, &e) < 0)
        return;
    switch (v->state) {
    case NM_PAUSING:
        l->todo = NM_TODO_FREEZE;
        break;
    case NM_RESUMING:
        l->todo = NM_TODO_THAW;
        break;
    case NM_KILLING:
        l->todo = NM_TODO_KILL;
        break;
    case NM_PAUSED:
        if (!e.frozen)
            v->state = NM_RUNNING;
        break;
    case NM_RUNNING:
        if (e.frozen) { /* by a person's echo, or by a pause whose journal entry was lost: it gets a deadline */
            v->state = NM_PAUSED;
            v->paused_usec = nm_now_usec();
            v->pause_deadline_usec = v->paused_usec + l->m->settings.pause_deadline_usec;
        }
        break;
    default:
        break;
    }
}

static void adopt(struct finding *f, struct nm_live *l, struct nm_cgroup *cg)
{
    struct nm_launch_record record;
    struct nm_container *c = l->c;

    l->adopted = true;
    if (c->view.state == NM_SCHEDULED && !record_started(l, &record)) {
        if (cg && nm_cgroup_kill(cg) >= 0) /* the waiting shim alone; the journal and its name say that it is ours */
            (void)l->m->backend->ops->remove(l->m->backend, cg);
        nm_cgroup_free(cg);
        requeue(f, l);
        return;
    }
    if (cg && c->cgroup_inode && cg->inode != c->cgroup_inode) {
        nm_warning("the cgroup of %s is not the one that nmd made (inode %" PRIu64 ", not %" PRIu64 "): left alone", c->id,
                   cg->inode, c->cgroup_inode);
        cg = nm_cgroup_free(cg);
    }
    if (cg && nm_life_attach(l, cg) < 0)
        nm_warning("%s: its cgroup can't be watched; ignoring", c->id);
    nm_act_limits_expected(l);
    (void)adopt_shim(l);
    if (c->view.state == NM_SCHEDULED && record_started(l, &record)) {
        c->pid = record.pid;
        c->view.started_usec = record.started_usec;
        c->started_realtime_usec = record.started_realtime_usec;
        c->view.state = NM_RUNNING;
    }
    settle_state(l);
    (void)nm_life_journal(l);
    f->adopted++;
}

static void recover_one(struct nm_container *c, void *userdata)
{
    struct finding *f = userdata;
    struct nm_manager *m = f->m;
    struct nm_live *l;

    m->next_seq = NM_MAX(m->next_seq, c->view.seq + 1);
    c->view.app = nm_manager_app(m, c->app);
    if (c->view.state == NM_COMPLETED) {
        nm_manager_index(m, c);
        if (nm_manager_add_ended(m, c) < 0)
            nm_container_free(c);
        f->ended++;
        return;
    }
    if (!m->opened.same_boot) {
        end_as(f, c, NM_EXIT_LOST, "the host was rebooted while it was there");
        f->lost++;
        return;
    }
    c->view.n_samples = 0;
    c->view.state_samples = 0;
    c->view.state_usec = nm_now_usec();
    c->view.measured = (struct nm_resources){0};
    if (nm_manager_add_live(m, c, &l) < 0) {
        nm_container_free(c);
        return;
    }
    if (c->view.state == NM_SCHEDULED && !c->view.admitted) {
        requeue(f, l);
        return;
    }
    adopt(f, l, take_cgroup(f, c->id));
}

static void deal_with_orphans(struct finding *f)
{
    for (size_t i = 0; i < f->n; i++) {
        struct nm_cgroup *cg = f->found[i].cg;
        struct nm_cgroup_events e = {0};

        if (!cg)
            continue;
        if (nm_cgroup_read_events(cg, &e) >= 0 && !e.populated) {
            (void)f->m->backend->ops->remove(f->m->backend, cg);
        } else {
            f->orphans++;
            if (e.frozen)
                (void)nm_cgroup_freeze(cg, false);
            nm_log_container(LOG_WARNING, f->found[i].id, NULL, NM_MESSAGE_FOREIGN,
                             "%s is in the slice but not in the journal: left alone%s. If nobody needs it: echo 1 > %s/cgroup.kill",
                             cg->name, e.frozen ? " and thawed" : "", cg->path);
        }
        nm_cgroup_free(cg);
    }
    free(f->found);
}

static void resume_drain(struct nm_manager *m)
{
    char value[32];

    if (nm_store_get_value(m->store, "drain", value, sizeof value) < 0 || nm_streq(value, "0"))
        return;
    m->draining = true;
    m->drain_deadline_usec = m->opened.same_boot ? strtoull(value, NULL, 10) : UINT64_MAX;
    (void)nm_manager_arm_drain(m);
    nm_record_node_event(m, "still draining, as before the restart");
}

/* First everything is taken in, then what was left half done is done: a kill may end a container at once. */
static void go_on(struct nm_manager *m)
{
    for (size_t i = m->n_live; i-- > 0;) {
        struct nm_live *l = m->live[i];

        if (l->todo != NM_TODO_NOTHING)
            nm_act_carry_out(l);
        else
            nm_life_observe(l);
        nm_life_check_end(l);
    }
}

int nm_recovery_run(struct nm_manager *m)
{
    struct finding f = {.m = m};
    unsigned n_bad = 0;
    int r = m->backend->ops->list(m->backend, on_cgroup, &f);

    if (r < 0)
        nm_warning("the cgroups below %s can't be listed: %s; ignoring", m->backend->slice, strerror(-r));
    (void)nm_store_begin(m->store);
    r = nm_store_load_containers(m->store, recover_one, &f, &n_bad);
    nm_record_store_result(m, nm_store_commit(m->store));
    deal_with_orphans(&f);
    if (r < 0)
        return r;
    if (n_bad)
        nm_err("%u entries of the journal could not be read and were left out", n_bad);
    resume_drain(m);
    go_on(m);
    if (f.adopted || f.queued || f.lost || f.orphans)
        nm_notice("after the restart: %u containers adopted, %u queued again, %u lost, %u orphans", f.adopted, f.queued,
                  f.lost, f.orphans);
    return 0;
}

/* ---- files of ended containers ------------------------------------------- */

static int unlink_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

/* Two or three small files each, all of them ours and none made by the container: no worker is needed for that. */
void nm_manager_forget_files(struct nm_manager *m, const char *id)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s/containers/%s", m->state_dir, id) < sizeof path)
        (void)nftw(path, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", m->log_dir, id) < sizeof path)
        (void)nftw(path, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}
