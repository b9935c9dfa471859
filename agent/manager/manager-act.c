/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Carrying actions out. Each action has two halves. The first sets the state that is meant and
 * journals it; the second touches the kernel. Between them lies the journal's commit, so that after
 * a crash the journal is ahead of the kernel and never behind it. What really happened is heard
 * later, in manager-life.c.
 */

#include "agent/manager/manager.h"

#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "agent/message-ids.h"
#include "agent/priority.h"
#include "agent/users.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fileio.h"
#include "util/log.h"

/* A killed cgroup that isn't empty after this long has processes stuck in the kernel (state D). */
#define UNKILLABLE_USEC (10 * NM_USEC_PER_SEC)

int nm_oom_score_adj(const struct nm_container *c)
{
    return c->view.type == NM_OPPORTUNISTIC ? 1000 : 0;
}

static struct nm_cgroup_limits limits_for(const struct nm_manager *m, const struct nm_container *c)
{
    struct nm_cgroup_limits limits = NM_CGROUP_LIMITS_NONE;
    const struct nm_view *v = &c->view;
    uint64_t weight;

    limits.memory_max_bytes = v->request.memory_bytes;
    limits.oom_group = true;
    limits.pids_max = m->config->pids_max;
    if (v->type == NM_OPPORTUNISTIC) {
        limits.cpu_idle = true;
        return limits;
    }
    limits.memory_min_bytes = v->request.memory_bytes;
    /* The whole scale (1 .. 10000) for the whole node, so that shares are in proportion to vcores. */
    weight = 10000 * v->request.cpu_millicores /
             NM_MAX(m->settings.capacity.cpu_millicores, (uint64_t)1);
    limits.cpu_weight = (uint32_t)NM_MIN(NM_MAX(weight, (uint64_t)1), (uint64_t)10000);
    return limits;
}

/* ---- admit --------------------------------------------------------------- */

/*
 * Past the gate there is no way back, so a restarted nmd must be able to see that it was passed and
 * whose shim that is: in the journal, or in the copy beside the shim's records. With neither (a
 * disk is full) nothing is started. With both, the copy need not come first: that the journal is
 * lost as well, in the moment in which nmd dies, is not worth a file's making in each command's way.
 */
static int leave_word(struct nm_live *l, bool *ret_copied)
{
    int r = nm_life_journal(l);

    NM_FAULT("cgroup-journalled");
    *ret_copied = r < 0;
    return r < 0 ? nm_life_copy(l) : 0;
}

static void created(int result, struct nm_cgroup *cg, const char *message, void *userdata)
{
    struct nm_live *l = userdata;
    bool copied;
    int r;

    l->creating = false;
    if (result == -ESHUTDOWN && !l->doomed) { /* the host goes down: it waits for the next boot */
        nm_life_hold_launch(l);
        return;
    }
    if (result < 0) {
        nm_life_fail_launch(l, NM_LAUNCH_STAGE_SHIM, -result, message);
        return;
    }
    NM_FAULT("cgroup-created");
    r = nm_life_attach(l, cg);
    if (r < 0) {
        nm_life_fail_launch(l, NM_LAUNCH_STAGE_SHIM, -r, "its cgroup can't be watched");
        return;
    }
    r = leave_word(l, &copied);
    if (r < 0) {
        nm_life_hold_launch(l);
        return;
    }
    if (l->doomed) {
        l->todo = NM_TODO_KILL;
        nm_act_carry_out(l);
        return;
    }
    r = nm_launch_open_gate(l->launch);
    if (r < 0)
        nm_debug("%s: the shim went before its gate opened", l->c->id); /* its end follows */
    NM_FAULT("gate-open");
    if (!copied)
        (void)nm_life_copy(l);
}

static int start_shim(struct nm_live *l)
{
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = NULL;
    struct nm_manager *m = l->m;
    char dir[NM_DIR_SIZE], logs[PATH_MAX];
    int r;
    struct nm_launch_params p = {
        .shim_fd = nm_manager_open_shim(m),
        .container_dir = dir,
        .log_dir = logs,
        .container_id = l->c->id,
        .command = &l->c->command,
        .cgroup_fd = -EBADF,
        .oom_score_adj = nm_oom_score_adj(l->c),
        .event = m->event,
    };

    nm_manager_container_dir(m, l->c->id, dir);
    if ((size_t)snprintf(logs, sizeof logs, "%s/%s", m->log_dir, l->c->id) >= sizeof logs)
        return -ENAMETOOLONG;
    /* Where that fails, create() fails as well, and has the words for it. */
    if (m->backend->ops->prepare && m->backend->ops->prepare(m->backend, l->c->id, &cg) >= 0) {
        p.cgroup_fd = cg->dir_fd;
        NM_FAULT("cgroup-prepared");
    }
    r = nm_launch_new(&p, nm_life_launched, l, &l->launch);
    if (r < 0 && cg)
        (void)m->backend->ops->remove(m->backend, cg);
    return r;
}

void nm_act_admit(struct nm_live *l)
{
    struct nm_view *v = &l->c->view;

    v->admitted = true;
    v->started_usec = nm_now_usec();
    l->c->started_realtime_usec = nm_realtime_usec();
    l->m->counters.admitted++;
    (void)nm_life_journal(l);
    l->todo = NM_TODO_LAUNCH;
    if (!l->m->in_round)
        nm_act_carry_out(l);
}

/* The rules may have become stricter while it waited, or between two starts. Whether somebody may
 * act for another was settled when it was submitted. */
static bool user_is_allowed(struct nm_live *l, struct nm_problem *ret_problem)
{
    const struct nm_command *command = &l->c->command;
    const struct nm_caller who = {.uid = l->c->submitter_uid, .admin = true};
    const struct nm_user user = {.uid = command->uid, .gid = command->gid, .name = command->user};

    return nm_users_may_run(l->m->config, &who, geteuid(), true, &user, ret_problem) == 0;
}

static void launch(struct nm_live *l)
{
    struct nm_manager *m = l->m;
    struct nm_problem problem;
    char description[160], label[160], why[160];
    int r;

    if (!user_is_allowed(l, &problem)) {
        nm_life_fail_launch(l, NM_LAUNCH_STAGE_USER, EPERM, problem.message);
        return;
    }
    r = start_shim(l);
    NM_FAULT("shim-started");
    if (r == -ENOSPC || r == -EDQUOT) {
        nm_life_hold_launch(l);
        return;
    }
    if (r < 0) {
        (void)snprintf(why, sizeof why, "%s: %s",
                       r == -EPERM || r == -ELOOP || r == -ENOTDIR
                           ? "its directory for the record or the logs is not one that nmd has made"
                           : "the shim could not be started",
                       strerror(-r));
        nm_life_fail_launch(l, NM_LAUNCH_STAGE_SHIM, -r, why);
        return;
    }
    l->c->shim_pid = nm_launch_shim_pid(l->launch);
    l->c->shim_start_ticks = nm_launch_shim_start_ticks(l->launch);
    (void)nm_life_journal(l);
    NM_FAULT("shim-journalled");
    nm_record_acted(l);
    l->limits = limits_for(m, l->c);
    l->creating = true;
    (void)snprintf(description, sizeof description, "nmd container %s",
                   nm_container_label(l->c, label, sizeof label));
    r = m->backend->ops->create(m->backend, l->c->id, description, l->c->shim_pid, &l->limits,
                                created, l);
    if (r < 0 && l->creating) {
        l->creating = false;
        nm_life_fail_launch(l, NM_LAUNCH_STAGE_SHIM, -r, "its cgroup could not be made");
    }
}

/* ---- pause and resume ---------------------------------------------------- */

void nm_act_pause(struct nm_live *l, bool by_user)
{
    struct nm_view *v = &l->c->view;

    v->paused_usec = nm_now_usec();
    v->pause_deadline_usec = v->paused_usec + l->m->settings.pause_deadline_usec;
    v->last_cpu_millicores = NM_MAX(v->measured.cpu_millicores, (uint64_t)0);
    v->user_paused = by_user;
    v->reclaimed = false;
    l->use_before = v->measured;
    nm_life_set_state(l, NM_PAUSING);
    if (by_user)
        (void)nm_life_copy(l); /* a person's wish is not to be lost with the journal */
    l->todo = NM_TODO_FREEZE;
    if (!l->m->in_round)
        nm_act_carry_out(l);
}

static void freeze(struct nm_live *l, bool frozen)
{
    int r;

    NM_FAULT(frozen ? "before-freeze" : "before-thaw");
    r = l->cg ? nm_cgroup_freeze(l->cg, frozen) : -ENOENT;
    NM_FAULT(frozen ? "after-freeze" : "after-thaw");
    nm_record_acted(l);
    if (r == -ENOENT) {
        nm_life_check_end(l);
        return;
    }
    if (r < 0) {
        nm_warning("%s: can't be %s: %s", l->c->id, frozen ? "paused" : "resumed", strerror(-r));
        nm_record_failed(l, strerror(-r));
        if (frozen)
            l->c->view.pause_deadline_usec = UINT64_MAX;
        nm_life_set_state(l, frozen ? NM_RUNNING : NM_PAUSED);
        return;
    }
    /* Small cgroups are frozen before the write returns; the event would only come a turn later. */
    nm_life_observe(l);
}

void nm_act_resume(struct nm_live *l)
{
    struct nm_view *v = &l->c->view;
    bool by_user = v->user_paused;

    v->user_paused = false;
    l->use_before = v->measured;
    nm_life_set_state(l, NM_RESUMING);
    if (by_user)
        (void)nm_life_copy(l);
    l->todo = NM_TODO_THAW;
    if (!l->m->in_round)
        nm_act_carry_out(l);
}

/* ---- reclaim ------------------------------------------------------------- */

static int reclaimed(sd_event_source *s, const siginfo_t *si, void *userdata)
{
    struct nm_live *l = userdata;

    (void)s;
    l->reclaim_child = sd_event_source_disable_unref(l->reclaim_child);
    l->c->view.reclaiming = false;
    /* Whether all or a part of it: what counts is what the next sample shows. */
    if (si->si_code == CLD_EXITED && (si->si_status == 0 || si->si_status == EAGAIN)) {
        nm_live_sample(l, nm_now_usec());
        l->m->counters.reclaimed_bytes +=
            nm_sub_u64(l->use_before.memory_bytes, l->c->view.measured.memory_bytes);
        nm_record_effective(l);
    } else {
        nm_record_failed(l, si->si_code == CLD_EXITED ? strerror(si->si_status)
                                                      : "the worker was killed");
    }
    nm_manager_kick(l->m);
    return 0;
}

void nm_act_reclaim(struct nm_live *l, uint64_t bytes)
{
    l->c->view.reclaimed = true;
    l->reclaim_bytes = bytes;
    l->use_before = l->c->view.measured;
    (void)nm_life_journal(l);
    l->todo = NM_TODO_RECLAIM;
    if (!l->m->in_round)
        nm_act_carry_out(l);
}

/* It must not keep what is nmd's (the lock, the gates of shims) beyond nmd's end, nor outlive it.
 */
static _Noreturn void reclaim_worker(const struct nm_live *l)
{
    struct nm_cgroup cg = {.dir_fd = STDERR_FILENO + 1};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (dup2(l->cg->dir_fd, cg.dir_fd) < 0)
        _exit(errno & 0xff);
    closefrom(cg.dir_fd + 1);
    _exit(-nm_cgroup_reclaim(&cg, l->reclaim_bytes) & 0xff);
}

/* Writing memory.reclaim blocks until the kernel has done it, which swapping can make seconds: a
 * worker does it. */
static void reclaim(struct nm_live *l)
{
    pid_t pid;
    int r;

    if (!l->cg || l->reclaim_child)
        return;
    NM_FAULT("before-reclaim");
    pid = fork();
    if (pid == 0)
        reclaim_worker(l);
    NM_FAULT("after-reclaim");
    r = pid < 0 ? -errno
                : sd_event_add_child(l->m->event, &l->reclaim_child, pid, WEXITED, reclaimed, l);
    l->c->view.reclaiming = r >= 0;
    nm_record_acted(l);
    if (r < 0)
        nm_record_failed(l, strerror(-r));
}

/* ---- kill ---------------------------------------------------------------- */

static int on_unkillable(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_live *l = userdata;

    (void)s, (void)usec;
    if (!l->unkillable) {
        l->unkillable = true;
        l->m->counters.unkillable++;
        nm_manager_tell_unkillable(l->m);
        nm_log_container(LOG_ERR, l->c->id, NULL, NM_MESSAGE_UNKILLABLE,
                         "%s can't be killed: its processes don't end 10 s after SIGKILL, they "
                         "hang in the kernel",
                         l->c->id);
    }
    nm_life_check_end(l);
    return 0;
}

static void set_kill_timer(struct nm_live *l, uint64_t after_usec, sd_event_time_handler_t handler)
{
    l->kill_timer = sd_event_source_disable_unref(l->kill_timer);
    (void)sd_event_add_time_relative(l->m->event, &l->kill_timer, CLOCK_BOOTTIME, after_usec, 1000,
                                     handler, l);
}

static struct nm_priority priority_of(const struct nm_live *l)
{
    return (struct nm_priority){
        .oom_score_adj = nm_oom_score_adj(l->c),
        .schedule = !l->m->backend->feature[NM_CGROUP_CPU_WEIGHT],
        .background = l->c->view.type == NM_OPPORTUNISTIC,
    };
}

/* The dying give their memory back on their own CPU time: background work is let to the front for it. */
static void hasten(struct nm_live *l)
{
    struct nm_priority p = priority_of(l);

    if (l->c->view.type != NM_OPPORTUNISTIC)
        return;
    nm_cgroup_hasten(l->cg);
    p.background = false;
    if (p.schedule)
        nm_priority_set_all(l->cg, l->c->shim_pid, &p);
}

static void kill_all(struct nm_live *l)
{
    int r;

    NM_FAULT("before-kill");
    nm_live_sample(l, nm_now_usec()); /* what it really held, a moment before it lets go */
    l->use_before = l->c->view.measured;
    if (l->cg)
        hasten(l);
    r = l->cg ? nm_cgroup_kill(l->cg) : -ENOENT;
    NM_FAULT("after-kill");
    l->killed = true;
    nm_record_acted(l);
    if (r < 0 && r != -ENOENT) {
        nm_err("%s: can't be killed: %s", l->c->id, strerror(-r));
        nm_record_failed(l, strerror(-r));
    }
    set_kill_timer(l, UNKILLABLE_USEC, on_unkillable);
    nm_life_observe(l);
}

static int on_grace_over(sd_event_source *s, uint64_t usec, void *userdata)
{
    (void)s, (void)usec;
    kill_all(userdata);
    return 0;
}

/* By an earlier nmd, which has left word of it. Many programs take a second SIGTERM as "never mind
 * the tidying up". */
static bool was_told_to_end(const struct nm_live *l)
{
    return l->adopted && l->decision_open && l->decision.kind == NM_DECISION_KILL &&
           l->decision.acted_usec != 0;
}

static int tell_to_end(struct nm_live *l)
{
    int r;

    if (was_told_to_end(l))
        return 0;
    NM_FAULT("before-term");
    r = nm_cgroup_signal(l->cg, SIGTERM, l->c->shim_pid);
    NM_FAULT("after-term");
    if (r >= 0)
        nm_record_told(l);
    NM_FAULT("term-journalled");
    return r;
}

static void terminate(struct nm_live *l)
{
    uint64_t now = nm_now_usec(), deadline = l->c->kill_deadline_usec;

    if (!l->cg || now >= deadline || tell_to_end(l) < 0) {
        kill_all(l);
        return;
    }
    set_kill_timer(l, deadline - now, on_grace_over);
}

void nm_act_discard(struct nm_live *l, enum nm_exit_reason reason)
{
    l->c->kill_reason = reason;
    l->shim_gone = true;
    if (reason == NM_EXIT_SHED)
        l->m->counters.shed++;
    nm_record_acted(l);
    nm_life_set_state(l, NM_KILLING);
    l->todo = NM_TODO_KILL;
    if (!l->m->in_round)
        nm_act_carry_out(l);
}

void nm_act_kill(struct nm_live *l, enum nm_exit_reason reason, bool now)
{
    struct nm_view *v = &l->c->view;
    /* What is frozen can't hear SIGTERM, and must not be thawed for it: it was paused because there
     * is no room. */
    bool paused = v->state == NM_PAUSED || v->state == NM_PAUSING;
    uint64_t grace = now || paused ? 0 : l->m->config->kill_grace_usec;

    if (v->state == NM_SCHEDULED && !v->admitted) {
        nm_act_discard(l, reason);
        return;
    }
    if (nm_life_is_over(l))
        return;
    if (v->state != NM_KILLING) {
        l->c->kill_reason = reason;
        l->c->kill_deadline_usec = grace ? nm_now_usec() + grace : 0;
        l->use_before = v->measured;
        nm_life_set_state(l, NM_KILLING);
        if (grace)
            (void)nm_life_copy(l);
    }
    if (l->creating) {
        l->doomed = true; /* created() goes on from here */
        return;
    }
    l->todo = grace ? NM_TODO_TERMINATE : NM_TODO_KILL;
    if (!l->m->in_round)
        nm_act_carry_out(l);
}

/* ---- the second half ----------------------------------------------------- */

void nm_act_carry_out(struct nm_live *l)
{
    enum nm_todo todo = l->todo;

    l->todo = NM_TODO_NOTHING;
    switch (todo) {
    case NM_TODO_NOTHING:
        break;
    case NM_TODO_LAUNCH:
        launch(l);
        break;
    case NM_TODO_FREEZE:
        freeze(l, true);
        break;
    case NM_TODO_THAW:
        freeze(l, false);
        break;
    case NM_TODO_RECLAIM:
        reclaim(l);
        break;
    case NM_TODO_TERMINATE:
        terminate(l);
        break;
    case NM_TODO_KILL:
        if (l->cg)
            kill_all(l);
        else
            nm_life_check_end(l);
        break;
    }
}

/* ---- limits in place ----------------------------------------------------- */

static void limits_set(int result, struct nm_cgroup *cg, const char *message, void *userdata)
{
    struct nm_live *l = userdata;

    nm_cgroup_free(cg);
    l->limits_in_flight--;
    if (l->removed) {
        if (!l->limits_in_flight)
            free(l);
        return;
    }
    if (result < 0 && result != -ENOENT)
        nm_warning("%s: limits can't be changed: %s; ignoring", l->c->id,
                   message ? message : strerror(-result));
}

static void set_limits(struct nm_live *l)
{
    int r;

    if (!l->cg)
        return; /* the limits are set when its cgroup is made */
    l->limits_in_flight++;
    r = l->m->backend->ops->set_limits(l->m->backend, l->cg, &l->limits, limits_set, l);
    if (r < 0)
        limits_set(r, NULL, NULL, l);
}

void nm_act_limits(struct nm_live *l)
{
    uint64_t quota = l->c->view.type == NM_OPPORTUNISTIC && l->cg ? l->limits.cpu_quota_millicores
                                                                  : NM_CGROUP_NONE;

    l->limits = limits_for(l->m, l->c);
    l->limits.cpu_quota_millicores = quota;
    set_limits(l);
}

/* An unprivileged process may raise its own score, and that is its affair; but one that still has
 * what the other type of container begins with was missed when the type changed. */
static bool has_oom_score_of_other_type(const struct nm_live *l)
{
    char path[48], text[16];
    bool opportunistic = l->c->view.type == NM_OPPORTUNISTIC;
    long score;

    (void)snprintf(path, sizeof path, "/proc/%d/oom_score_adj", l->c->pid);
    if (l->c->pid <= 0 || nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) < 0)
        return false;
    score = strtol(text, NULL, 10);
    return opportunistic ? score < nm_oom_score_adj(l->c) : score == 1000;
}

void nm_act_put_right(struct nm_live *l)
{
    l->limits = limits_for(l->m, l->c);
    if (!l->cg || l->c->view.state == NM_KILLING)
        return;
    if (nm_cgroup_check_drift(l->m->backend, l->cg, &l->limits) > 0) {
        nm_debug("%s: limits put right after the restart", l->c->id);
        (void)nm_cgroup_set_oom_group(l->cg, l->limits.oom_group);
        set_limits(l);
    }
    if (!l->m->backend->feature[NM_CGROUP_CPU_WEIGHT] || has_oom_score_of_other_type(l))
        nm_act_priority(l);
}

void nm_act_priority(struct nm_live *l)
{
    struct nm_priority p = priority_of(l);

    if (l->cg)
        nm_priority_set_all(l->cg, l->c->shim_pid, &p);
}

static bool differs_much(uint64_t a, uint64_t b)
{
    if (a == NM_CGROUP_NONE || b == NM_CGROUP_NONE)
        return a != b;
    return a * 20 < b * 19 || a * 19 > b * 20;
}

static uint64_t sum_of_squeezed(const struct nm_manager *m)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < m->n_live; i++)
        if (m->views[i]->type == NM_OPPORTUNISTIC && m->views[i]->state == NM_RUNNING)
            sum += m->views[i]->request.cpu_millicores;
    return sum;
}

static void tell_squeeze(struct nm_manager *m, uint64_t total)
{
    bool was = m->squeeze_millicores != NM_NO_SQUEEZE, is = total != NM_NO_SQUEEZE;
    char text[160];

    m->squeeze_millicores = total;
    if (was == is)
        return;
    if (is)
        (void)snprintf(text, sizeof text,
                       "opportunistic containers together are held to %.2f CPUs: CPU use is over "
                       "the preemption threshold",
                       (double)total / 1000);
    else
        (void)snprintf(text, sizeof text, "opportunistic containers may use all free CPU again");
    nm_record_node_event(m, text);
}

/* The quota is shared out in proportion to the requests. Small corrections (under 5 %) aren't worth
 * a write. */
void nm_act_squeeze(struct nm_manager *m, uint64_t total)
{
    uint64_t sum;

    if (total == NM_NO_SQUEEZE && m->squeeze_millicores == NM_NO_SQUEEZE)
        return;
    sum = NM_MAX(sum_of_squeezed(m), (uint64_t)1);
    for (size_t i = 0; i < m->n_live; i++) {
        struct nm_live *l = m->live[i];
        const struct nm_view *v = &l->c->view;
        uint64_t quota = NM_CGROUP_NONE;

        if (v->type != NM_OPPORTUNISTIC || v->state != NM_RUNNING || !l->cg)
            continue;
        if (total != NM_NO_SQUEEZE)
            quota = NM_MAX(m->settings.squeeze_floor_millicores,
                           total * v->request.cpu_millicores / sum);
        if (!differs_much(quota, l->limits.cpu_quota_millicores))
            continue;
        l->limits.cpu_quota_millicores = quota;
        set_limits(l);
    }
    tell_squeeze(m, total);
}

/* ---- drift --------------------------------------------------------------- */

/* Somebody else may write to our cgroups (an operator's echo, another agent). What differs is
 * reported and put back. */
void nm_act_check_drift(struct nm_manager *m)
{
    for (size_t i = 0; i < m->n_live; i++) {
        struct nm_live *l = m->live[i];
        int drift;

        if (!l->cg || l->limits_in_flight || l->c->view.state == NM_KILLING)
            continue;
        drift = nm_cgroup_check_drift(m->backend, l->cg, &l->limits);
        if (drift <= 0)
            continue;
        for (int d = 0; d < NM_CGROUP_DRIFT_COUNT; d++) {
            if (!(drift & 1 << d))
                continue;
            m->counters.drift_repairs++;
            nm_log_container(LOG_WARNING, l->c->id, NULL, NM_MESSAGE_DRIFT,
                             "%s of %s was changed by something else than nmd; put back",
                             nm_cgroup_drift_file((enum nm_cgroup_drift)d), l->c->id);
        }
        (void)nm_cgroup_set_oom_group(l->cg, l->limits.oom_group);
        set_limits(l);
    }
}
