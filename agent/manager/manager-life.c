/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What containers do by themselves, heard from the shim (started, ended), from cgroup.events
 * (frozen, empty) and from memory.events (out of memory).
 *
 * A container has ended when two things are true: its command is over (or never ran) and its cgroup
 * is empty. Only then are its resources free. Whatever the command left running is killed in
 * between.
 */

#include "agent/manager/manager.h"

#include <limits.h>
#include <signal.h>

#include "agent/message-ids.h"
#include "agent/store/copy.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"
#include "util/parse.h"

int nm_life_journal(struct nm_live *l)
{
    int r = nm_store_put_container(l->m->store, l->c);

    nm_record_store_result(l->m, r);
    return r;
}

static int write_copy(struct nm_live *l)
{
    char dir[NM_DIR_SIZE];
    int r;

    nm_manager_container_dir(l->m, l->c->id, dir);
    r = nm_copy_write(dir, l->m->boot_id, l->c);
    l->has_copy = l->has_copy || r >= 0;
    if (r < 0)
        nm_debug("%s: no copy of its journal entry: %s", l->c->id, strerror(-r));
    return r;
}

int nm_life_copy(struct nm_live *l)
{
    int r;

    if (l->c->shim_pid == 0 && !l->has_copy)
        return 0; /* the round sees to it, if it is going to wait */
    r = write_copy(l);
    NM_FAULT("copy-written");
    return r;
}

void nm_life_copy_waiting(struct nm_live *l)
{
    if (l->has_copy || l->c->view.state != NM_SCHEDULED || l->c->view.admitted)
        return;
    (void)write_copy(l);
    NM_FAULT("waiting-copied");
}

/* Of what never ran nothing is kept: a copy that still says that it waits would start it after all,
 * should the journal be lost. */
static void forget_what_never_ran(const struct nm_live *l)
{
    char dir[NM_DIR_SIZE];

    nm_manager_container_dir(l->m, l->c->id, dir);
    if (l->c->pid || l->c->shim_pid || nm_launch_gate_was_open(dir))
        return;
    nm_files_forget(l->m, l->c->id);
    NM_FAULT("waiting-forgotten");
}

void nm_life_set_state(struct nm_live *l, enum nm_state to)
{
    enum nm_state from = l->c->view.state;

    if (from == to)
        return;
    if (nm_container_set_state(l->c, to) < 0) {
        nm_err("%s can't go from %s to %s; ignoring", l->c->id, nm_state_name(from),
               nm_state_name(to));
        return;
    }
    l->c->view.state_usec = nm_now_usec();
    l->c->view.state_samples = 0;
    (void)nm_life_journal(l);
    nm_record_state_event(l, from, to);
}

/* ---- freezing, emptiness ------------------------------------------------- */

static void now_paused(struct nm_live *l)
{
    nm_life_set_state(l, NM_PAUSED);
    if (!l->c->view.user_paused)
        l->m->counters.paused++;
    nm_record_effective(l);
    l->regain_due = true;
    nm_manager_kick(l->m);
}

static void now_resumed(struct nm_live *l)
{
    struct nm_view *v = &l->c->view;

    v->pause_deadline_usec = UINT64_MAX;
    v->paused_usec = 0;
    nm_life_set_state(l, NM_RUNNING);
    if (l->decision.reason != NM_REASON_USER)
        l->m->counters.resumed++;
    nm_record_effective(l);
    nm_manager_kick(l->m);
}

/* Only what is written in the container's own cgroup.freeze: somebody may have frozen the whole
 * slice, and knows why. */
static void put_back_freeze(struct nm_live *l, bool frozen)
{
    bool is;

    if (nm_cgroup_read_freeze(l->cg, &is) < 0 || is == frozen)
        return;
    l->m->counters.drift_repairs++;
    nm_log_container(LOG_WARNING, l->c->id, NULL, NM_MESSAGE_DRIFT,
                     "%s was %s by something else than nmd; put back (nmctl %s does it for good)",
                     l->c->id, is ? "frozen" : "thawed", is ? "pause" : "resume");
    (void)nm_cgroup_freeze(l->cg, frozen);
}

void nm_life_observe(struct nm_live *l)
{
    struct nm_cgroup_events e = {0};
    int r = l->cg ? nm_cgroup_read_events(l->cg, &e) : -ENOENT;

    if (r < 0 && r != -ENOENT)
        nm_debug("%s: cgroup.events: %s", l->c->id, strerror(-r));
    if (r >= 0 && e.frozen && l->c->view.state == NM_PAUSING)
        now_paused(l);
    else if (r >= 0 && !e.frozen && l->c->view.state == NM_RESUMING)
        now_resumed(l);
    else if (r >= 0 && e.frozen && l->c->view.state == NM_RUNNING)
        put_back_freeze(l, false);
    else if (r >= 0 && !e.frozen && l->c->view.state == NM_PAUSED)
        put_back_freeze(l, true);
    if (r == -ENOENT || (r >= 0 && !e.populated))
        nm_life_check_end(l);
}

void nm_life_count_oom_kills(struct nm_live *l, uint64_t n)
{
    if (n <= l->c->oom_kills)
        return;
    l->m->counters.kernel_oom_kills += n - l->c->oom_kills;
    l->c->oom_kills = n;
}

static void on_memory_events(struct nm_live *l)
{
    struct nm_cgroup_memory_events e;

    if (!l->cg || nm_cgroup_read_memory_events(l->cg, &e) < 0)
        return;
    if (e.oom_kill > l->c->oom_kills) {
        nm_life_count_oom_kills(l, e.oom_kill);
        nm_live_sample(l, nm_now_usec());
        (void)nm_life_journal(l);
    }
    /* Near its limit or over it: the node may be in trouble as well. */
    nm_manager_round(l->m, NM_TRIGGER_PRESSURE);
}

static void on_watch(enum nm_cgroup_watch_kind kind, bool gone, void *userdata)
{
    struct nm_live *l = userdata;

    if (kind == NM_CGROUP_WATCH_MEMORY_EVENTS && !gone)
        on_memory_events(l);
    else
        nm_life_observe(l);
}

/* Only a shim that is held by a pidfd: the number alone may be a process of the container by now. */
void nm_life_tell_shim(struct nm_live *l)
{
    if (l->sampler)
        nm_cgroup_sampler_set_shim(
            l->sampler, l->launch && !l->shim_gone ? nm_launch_shim_pid(l->launch) : 0);
}

int nm_life_attach(struct nm_live *l, struct nm_cgroup *cg)
{
    struct nm_manager *m = l->m;
    bool memory = m->backend->feature[NM_CGROUP_MEMORY_LIMITS];
    int r;

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
    nm_life_tell_shim(l);
    nm_live_sample(l, nm_now_usec());
    return 0;
}

/* ---- start --------------------------------------------------------------- */

static void started(struct nm_live *l, const struct nm_launch_record *r)
{
    l->c->pid = r->pid;
    if (l->c->view.state != NM_SCHEDULED)
        return; /* killed meanwhile, or adopted further on */
    /* view.started_usec stays the time of admission: those of one round start side by side, and
     * which of them was scheduled first must not turn the order in which they give way. */
    l->c->started_realtime_usec =
        r->started_realtime_usec ? r->started_realtime_usec : nm_realtime_usec();
    if (!l->m->backend->feature[NM_CGROUP_CPU_WEIGHT] && l->c->view.type == NM_OPPORTUNISTIC)
        nm_act_priority(l);
    nm_life_set_state(l, NM_RUNNING);
    NM_FAULT("running-journalled");
    nm_record_effective(l);
}

void nm_life_launched(struct nm_launch *launch, enum nm_launch_phase phase,
                      const struct nm_launch_record *r, void *userdata)
{
    struct nm_live *l = userdata;

    (void)launch;
    if (r && r->phase >= NM_LAUNCH_STARTED && r->failed_stage == NM_LAUNCH_STAGE_NONE)
        started(l, r);
    if (phase != NM_LAUNCH_ENDED)
        return;
    NM_FAULT("end-heard");
    l->shim_gone = true;
    nm_life_tell_shim(l);
    if (r) {
        l->end = *r;
        l->has_end = true;
    }
    nm_live_sample(l, nm_now_usec());
    /* Not here: the launch can't be freed inside its own callback. The event loop comes back
     * through the cgroup's emptiness or, when that was already seen, through this round. */
    nm_life_check_end(l);
}

/* Before anything ran: the container ends here, and says why. */
void nm_life_fail_launch(struct nm_live *l, enum nm_launch_stage stage, int error,
                         const char *message)
{
    l->end = (struct nm_launch_record){
        .phase = NM_LAUNCH_ENDED, .failed_stage = stage, .failed_errno = error};
    l->has_end = true;
    if (message)
        (void)snprintf(l->c->message, sizeof l->c->message, "%s", message);
    l->launch = nm_launch_free(l->launch); /* a shim at its gate leaves */
    l->shim_gone = true;
    nm_life_check_end(l);
}

/* ---- end ----------------------------------------------------------------- */

static enum nm_exit_reason launch_failure(const struct nm_launch_record *r)
{
    switch (r->failed_stage) {
    case NM_LAUNCH_STAGE_USER:
        return NM_EXIT_BAD_USER;
    case NM_LAUNCH_STAGE_WORKDIR:
        return NM_EXIT_BAD_WORKDIR;
    case NM_LAUNCH_STAGE_EXEC:
        if (r->failed_errno == ENOENT || r->failed_errno == ENOTDIR)
            return NM_EXIT_NOT_FOUND;
        if (r->failed_errno == EACCES || r->failed_errno == EPERM || r->failed_errno == ENOEXEC)
            return NM_EXIT_NOT_EXECUTABLE;
        return NM_EXIT_LAUNCH_FAILED;
    case NM_LAUNCH_STAGE_NONE:
    case NM_LAUNCH_STAGE_SHIM:
    case NM_LAUNCH_STAGE_LOGS:
    case NM_LAUNCH_STAGE_COUNT:
        break;
    }
    return NM_EXIT_LAUNCH_FAILED;
}

static const char shim_killed_early[] = "its shim was killed from outside nmd before it started the "
                                        "command";

static void explain_failure(struct nm_live *l)
{
    struct nm_container *c = l->c;
    const char *error = strerror(l->end.failed_errno);

    if (c->message[0])
        return;
    if (l->end.failed_stage == NM_LAUNCH_STAGE_LOGS && (l->end.failed_errno == ELOOP || l->end.failed_errno == ENXIO))
        error = "what is there is a link or a pipe, and not the plain file that nmd makes";
    switch (c->exit_reason) {
    case NM_EXIT_NOT_FOUND:
        (void)snprintf(c->message, sizeof c->message, "command not found: %s", c->command.argv[0]);
        break;
    case NM_EXIT_NOT_EXECUTABLE:
        (void)snprintf(c->message, sizeof c->message,
                       "permission denied or not executable: %s (%s)", c->command.argv[0], error);
        break;
    case NM_EXIT_BAD_WORKDIR:
        (void)snprintf(c->message, sizeof c->message, "can't enter the working directory %s: %s",
                       c->command.workdir, error);
        break;
    case NM_EXIT_BAD_USER:
        (void)snprintf(c->message, sizeof c->message, "can't become user %s: %s", c->command.user,
                       error);
        break;
    default:
        if (l->end.failed_stage == NM_LAUNCH_STAGE_SHIM && l->end.failed_errno == EPIPE) {
            (void)snprintf(c->message, sizeof c->message, "%s", shim_killed_early);
            break;
        }
        (void)snprintf(c->message, sizeof c->message, "%s: %s",
                       nm_launch_stage_name(l->end.failed_stage), error);
        break;
    }
}

static void end_of_command(struct nm_live *l)
{
    struct nm_container *c = l->c;

    c->exit_signal = l->end.exit_signal;
    if (l->end.exit_signal) {
        c->exit_code = 128 + l->end.exit_signal;
        c->exit_reason =
            l->end.exit_signal == SIGKILL && c->oom_kills > 0 ? NM_EXIT_OOM : NM_EXIT_SIGNALED;
    } else {
        c->exit_code = l->end.exit_code;
        /* A shell whose child was taken by the OOM killer reports 137 itself. */
        c->exit_reason =
            l->end.exit_code == 128 + SIGKILL && c->oom_kills > 0 ? NM_EXIT_OOM : NM_EXIT_EXITED;
    }
}

/* The cgroup may be seen empty before the shim's end is heard; what it wrote last is there all the
 * same. */
static void read_last_words(struct nm_live *l)
{
    char dir[NM_DIR_SIZE];
    struct nm_launch_record r;

    if (l->has_end || l->c->shim_pid == 0)
        return;
    nm_manager_container_dir(l->m, l->c->id, dir);
    if (nm_launch_record_read(dir, &r) < 0)
        return;
    if (l->c->pid == 0)
        l->c->pid = r.pid;
    if (r.phase == NM_LAUNCH_ENDED) {
        l->end = r;
        l->has_end = true;
    }
}

/*
 * A shim that goes without a last word was killed. What it left tells how far it had come. Without
 * the file of its gate it has run nothing; with it, the command was killed together with it, or had
 * ended in the same instant, which nobody can know any more and nobody is told otherwise. If this
 * nmd finds it so, it can't even tell who did it: an earlier one may have, which could not write its
 * journal. And if the whole directory has gone, somebody removed it, and nothing is known.
 */
static const char *how_shim_was_killed(const struct nm_live *l)
{
    if (l->adopted && !l->launch)
        return "its shim was killed before it saw the command end, and the journal doesn't say that "
               "nmd did it; what still ran was killed with it";
    if (l->c->pid == 0)
        return "its shim was killed from outside nmd while it started the command";
    return "its shim was killed from outside nmd, before it saw the command end; what still ran was "
           "killed with it";
}

static void end_without_record(struct nm_live *l)
{
    struct nm_container *c = l->c;
    char dir[NM_DIR_SIZE];
    const char *message;

    nm_manager_container_dir(l->m, c->id, dir);
    if (nm_launch_gate_was_open(dir)) {
        c->exit_signal = SIGKILL;
        c->exit_code = 128 + SIGKILL;
        c->exit_reason = NM_EXIT_SIGNALED;
        message = how_shim_was_killed(l);
    } else if (c->pid == 0 && access(dir, F_OK) == 0) {
        c->exit_code = 125;
        c->exit_reason = NM_EXIT_LAUNCH_FAILED;
        message = shim_killed_early;
    } else {
        c->exit_code = -1;
        c->exit_reason = NM_EXIT_LOST;
        message = "its shim's records were removed, so how it ended is not known";
    }
    if (!c->message[0])
        (void)snprintf(c->message, sizeof c->message, "%s", message);
}

void nm_life_judge_end(struct nm_live *l)
{
    struct nm_container *c = l->c;
    char peak[32];

    read_last_words(l);
    if (l->has_end) {
        nm_life_count_oom_kills(l, l->end.oom_kills);
        c->memory_peak_bytes = NM_MAX(c->memory_peak_bytes, l->end.memory_peak_bytes);
    }
    if (l->has_end && l->end.failed_stage != NM_LAUNCH_STAGE_NONE) {
        c->exit_reason = launch_failure(&l->end);
        c->exit_code = c->exit_reason == NM_EXIT_NOT_FOUND        ? 127
                       : c->exit_reason == NM_EXIT_NOT_EXECUTABLE ? 126
                                                                  : 125;
        explain_failure(l);
    } else if (l->has_end && l->end.phase == NM_LAUNCH_ENDED) {
        end_of_command(l);
    } else if (c->oom_kills > 0) {
        c->exit_signal = SIGKILL;
        c->exit_code = 128 + SIGKILL;
        c->exit_reason = NM_EXIT_OOM;
    } else if (c->kill_reason != NM_EXIT_NONE) {
        bool ran = c->pid > 0;

        c->exit_signal = ran ? SIGKILL : 0;
        c->exit_code = ran ? 128 + SIGKILL : -1;
    } else {
        end_without_record(l);
    }
    /* A command that ends by itself while a kill is on its way was still killed, unless it was done
     * before. */
    if (c->kill_reason != NM_EXIT_NONE && c->exit_reason != NM_EXIT_OOM)
        c->exit_reason = c->kill_reason;
    if (c->exit_reason == NM_EXIT_OOM && !c->message[0])
        (void)snprintf(c->message, sizeof c->message,
                       "the kernel's OOM killer took it; its memory peaked at %s",
                       nm_format_size(c->memory_peak_bytes, peak, sizeof peak));
}

static void learn(struct nm_live *l)
{
    struct nm_manager *m = l->m;
    const struct nm_container *c = l->c;
    struct nm_app *app = &m->apps[c->view.app];
    int64_t run = (int64_t)nm_sub_u64(c->finished_usec, c->view.started_usec), mean;

    m->counters.completed++;
    m->app_views[c->view.app].completed++;
    if (c->exit_reason == NM_EXIT_EXITED && c->exit_code == 0 && app->name[0]) {
        app->n_runs++;
        /* A mean that forgets: the newest 16 runs weigh most. */
        mean = (int64_t)app->mean_run_usec;
        app->mean_run_usec = (uint64_t)(mean + (run - mean) / NM_MIN((int64_t)app->n_runs, 16));
    }
    if (c->exit_reason == NM_EXIT_PREEMPTED || c->exit_reason == NM_EXIT_PAUSE_DEADLINE) {
        m->counters.killed++;
        m->counters.wasted_cpu_usec += c->view.cpu_usage_usec;
    }
}

static void remove_cgroup(struct nm_live *l)
{
    struct nm_manager *m = l->m;

    if (l->cg && m->backend->ops->remove(m->backend, l->cg) < 0)
        nm_debug("%s: its cgroup could not be removed", l->c->id);
}

/* The end, what it did to decisions and counters, and what was learnt from it are one transaction.
 * The cgroup goes last: until the journal has the end, it may be a witness. */
static void finish(struct nm_live *l)
{
    struct nm_manager *m = l->m;
    struct nm_container *c = l->c;

    (void)nm_store_begin(m->store);
    nm_life_judge_end(l);
    forget_what_never_ran(l);
    c->finished_usec = l->has_end && l->end.ended_usec ? l->end.ended_usec : nm_now_usec();
    c->finished_realtime_usec =
        l->has_end && l->end.ended_realtime_usec ? l->end.ended_realtime_usec : nm_realtime_usec();
    c->view.measured = (struct nm_resources){0};
    if (l->decision_open && l->decision.kind == NM_DECISION_KILL) {
        nm_record_effective(l);
        nm_record_regained(l, &l->use_before);
    } else if (l->decision_open && l->decision.kind == NM_DECISION_ADMIT && c->pid == 0) {
        nm_record_failed(l, c->message);
    } else {
        nm_record_effective(l);
    }
    learn(l);
    nm_life_set_state(l, NM_COMPLETED);
    nm_memory_save(m);
    nm_memory_save_app(m, c->view.app);
    NM_FAULT("end-before-commit");
    nm_record_store_result(m, nm_store_commit(m->store));
    NM_FAULT("end-journalled");
    remove_cgroup(l);
    NM_FAULT("cgroup-removed");
    nm_manager_remove_live(l);
    nm_manager_kick(m);
}

/* Nothing of it has run. */
static bool never_ran(const struct nm_live *l)
{
    char dir[NM_DIR_SIZE];
    struct nm_launch_record r;

    if (!l->at_gate || l->has_end || l->c->view.state != NM_SCHEDULED)
        return false;
    nm_manager_container_dir(l->m, l->c->id, dir);
    return !nm_launch_gate_was_open(dir) && nm_launch_record_read(dir, &r) == -ENOENT;
}

static void back_into_queue(struct nm_live *l)
{
    struct nm_manager *m = l->m;
    struct nm_container *c = l->c;

    l->ending = l->at_gate = l->shim_gone = l->killed = l->adopted = false;
    l->launch = nm_launch_free(l->launch);
    remove_cgroup(l);
    l->events_watch = nm_cgroup_watch_free(l->events_watch);
    l->memory_watch = nm_cgroup_watch_free(l->memory_watch);
    l->sampler = nm_cgroup_sampler_free(l->sampler);
    l->cg = nm_cgroup_free(l->cg);
    c->view.admitted = false;
    c->view.started_usec = c->started_realtime_usec = 0;
    c->view.n_samples = 0;
    c->view.measured = (struct nm_resources){0};
    c->shim_pid = 0;
    c->shim_start_ticks = c->cgroup_inode = 0;
    (void)nm_life_journal(l);
    NM_FAULT("queued-again");
    (void)write_copy(l);
    nm_record_failed(l, "it could not be started then, and waits again");
    if (m->draining)
        nm_manager_carry_out_drain(m, NULL);
    nm_manager_kick(m);
}

static int on_end(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_live *l = userdata;

    (void)s, (void)usec;
    l->end_source = sd_event_source_disable_unref(l->end_source);
    if (never_ran(l))
        back_into_queue(l);
    else
        finish(l);
    return 0;
}

/* The end is dealt with in a turn of its own: whoever noticed it (a watch, the shim's callback, a
 * request, a round) may still hold pointers to the container. */
static void finish_soon(struct nm_live *l)
{
    l->kill_timer = sd_event_source_disable_unref(l->kill_timer);
    if (sd_event_add_time(l->m->event, &l->end_source, CLOCK_BOOTTIME, 0, 1, on_end, l) < 0)
        nm_err("%s: out of memory while ending it", l->c->id);
}

bool nm_life_is_over(const struct nm_live *l)
{
    return l->ending && l->c->view.state != NM_SCHEDULED;
}

void nm_life_hold_launch(struct nm_live *l)
{
    l->at_gate = true;
    l->launch = nm_launch_free(l->launch); /* a shim at its gate leaves */
    l->shim_gone = true;
    nm_life_check_end(l);
}

void nm_life_check_end(struct nm_live *l)
{
    struct nm_cgroup_events e = {0};
    int r = l->cg ? nm_cgroup_read_events(l->cg, &e) : -ENOENT;
    bool empty = r == -ENOENT || (r >= 0 && !e.populated);

    if (l->creating || l->ending || (l->c->view.state == NM_SCHEDULED && !l->c->view.admitted))
        return;
    /* The shim is in the cgroup, too: where that is empty, there is none. */
    if (!l->shim_gone && !(empty && l->cg && (l->killed || !l->launch)))
        return;
    if (!empty) {
        /* The command is over, but it left processes behind. */
        if (!l->killed) {
            l->killed = true;
            (void)nm_cgroup_kill(l->cg);
        }
        return;
    }
    l->ending = true;
    finish_soon(l);
}
