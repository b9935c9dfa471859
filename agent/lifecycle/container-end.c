/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Detects and handles the end of containers.
 *
 * A container has ended when its command has ended (or never ran) and its cgroup is empty. Only then are its resources
 * free. nmd kills processes that still run after the command's end.
 */

#include "agent/lifecycle/lifecycle-internal.h"

#include <assert.h>
#include <limits.h>
#include <signal.h>

#include "agent/message-ids.h"
#include "agent/store/container-snapshot.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/journal/journal.h"
#include "agent/node/cgroups.h"
#include "agent/node/sampling.h"
#include "agent/node/node-settings.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"
#include "util/parse.h"

#define STOP_MESSAGE_WAIT_USEC (250 * NM_USEC_PER_MSEC)
#define LONG_COMMAND_BYTES 4096 /* a page of the journal */

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
    case NM_LAUNCH_STAGE_CONFINE:
    case NM_LAUNCH_STAGE_COUNT:
        break;
    }
    return NM_EXIT_LAUNCH_FAILED;
}

static const char shim_killed_early[] = "its shim was killed from outside nmd before it started the "
                                        "command";

static void explain_failure(struct nm_live_container *l)
{
    struct nm_container *c = l->c;
    const char *error = strerror(l->end.failed_errno);

    if (c->message[0])
        return;
    if (l->end.failed_stage == NM_LAUNCH_STAGE_LOGS && (l->end.failed_errno == ELOOP || l->end.failed_errno == ENXIO))
        error = "the file is a link or a pipe, not the regular file that nmd creates";
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

static void end_of_command(struct nm_live_container *l)
{
    struct nm_container *c = l->c;

    c->exit_signal = l->end.exit_signal;
    if (l->end.exit_signal) {
        c->exit_code = 128 + l->end.exit_signal;
        c->exit_reason =
            l->end.exit_signal == SIGKILL && c->oom_kills > 0 ? NM_EXIT_OOM : NM_EXIT_SIGNALED;
    } else {
        c->exit_code = l->end.exit_code;
        /* A shell exits with 137 if the OOM killer has killed its child. */
        c->exit_reason =
            l->end.exit_code == 128 + SIGKILL && c->oom_kills > 0 ? NM_EXIT_OOM : NM_EXIT_EXITED;
    }
}

/* Reads the shim's last record. The record exists even if nmd has found the cgroup empty before it received the report
 * of the shim's end. */
static void read_final_record(struct nm_live_container *l)
{
    char dir[NM_DIR_SIZE];
    struct nm_launch_record r;

    if (l->has_end || l->c->shim_pid == 0)
        return;
    nm_files_container_dir(l->m, l->c->id, dir);
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
 * Returns a sentence on how a shim without a final record was killed. The caller has found the gate file. So the
 * command was killed together with the shim, or had ended at the same moment, and nmd can't distinguish these cases. If
 * this nmd did not watch the shim, nmd can't know which process killed it: an earlier nmd that could not write its
 * journal may have done so.
 */
static const char *how_shim_was_killed(const struct nm_live_container *l)
{
    if (l->run.adopted && !l->launch)
        return "its shim was killed before it recorded the command's end, and the journal doesn't show that nmd "
               "killed it; remaining processes were killed with it";
    if (l->c->pid == 0)
        return "its shim was killed from outside nmd while it started the command";
    return "its shim was killed from outside nmd, before it recorded the command's end; remaining processes were "
           "killed with it";
}

/* Sets the exit reason of a container whose shim left no final record. Without the gate file, the command has not run.
 * If the whole directory is missing, another program has removed it, and the exit reason is unknown. */
static void end_without_record(struct nm_live_container *l)
{
    struct nm_container *c = l->c;
    char dir[NM_DIR_SIZE];
    const char *message;

    nm_files_container_dir(l->m, c->id, dir);
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
        message = "its shim's records were removed, so it is not known how it ended";
    }
    if (!c->message[0])
        (void)snprintf(c->message, sizeof c->message, "%s", message);
}

/* Returns whether the signal is usually sent by another process and not caused by a program error. */
static bool is_external_signal(int signal)
{
    return signal == SIGTERM || signal == SIGKILL || signal == SIGINT || signal == SIGHUP;
}

/* Returns whether the slice or the node was out of memory. Either this nmd has detected it, or the shim has recorded it
 * while no nmd or an earlier nmd was running. */
static bool was_global_oom(const struct nm_live_container *l)
{
    return l->run.global_oom || (l->has_end && l->end.oom_kills > 0 && l->end.ooms == 0);
}

/* Corrects the cause if the exit reason differs from the reason of the kill, for example because the kernel's OOM
 * killer was faster than nmd. */
static void correct_cause(struct nm_live_container *l)
{
    struct nm_container *c = l->c;
    bool reported = l->decision.kind == NM_DECISION_KILL && l->decision.reason == NM_REASON_KERNEL_OOM;

    if (c->exit_reason == c->kill_reason)
        return;
    c->exit_cause = c->exit_reason == NM_EXIT_OOM && was_global_oom(l) ? NM_REASON_KERNEL_OOM : NM_REASON_NONE;
    c->exit_decision = c->exit_cause != NM_REASON_NONE && reported ? l->decision.number : 0;
}

void nm_end_classify(struct nm_live_container *l)
{
    struct nm_container *c = l->c;
    char peak[32];

    assert(l->c->exit_reason == NM_EXIT_NONE);
    read_final_record(l);
    if (l->has_end) {
        nm_sample_count_oom_kills(l, l->end.oom_kills, l->end.ooms);
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
    /* A command that exits after the begin of a kill counts as killed. A command that ended before the kill has no kill
     * reason. */
    if (c->kill_reason != NM_EXIT_NONE && c->exit_reason != NM_EXIT_OOM)
        c->exit_reason = c->kill_reason;
    if (l->run.stopped && c->kill_reason == NM_EXIT_NONE && c->pid > 0 && c->exit_reason != NM_EXIT_OOM) {
        c->exit_reason = NM_EXIT_STOPPED;
        (void)snprintf(c->message, sizeof c->message,
                       "systemd stopped its scope without a request from nmd (systemctl stop, or shutdown of the "
                       "host)");
    }
    correct_cause(l);
    if (c->exit_reason == NM_EXIT_SIGNALED && !c->message[0] && is_external_signal(c->exit_signal))
        (void)snprintf(c->message, sizeof c->message,
                       "SIG%s was not sent by nmd: it came from outside (kill, systemctl kill), or from the container",
                       sigabbrev_np(c->exit_signal));
    if (c->exit_reason == NM_EXIT_OOM && !c->message[0])
        (void)snprintf(c->message, sizeof c->message, "the kernel's OOM killer killed it%s; its memory peaked at %s",
                       was_global_oom(l)
                           ? ", because the slice or the node ran out of memory and not because of its own limit"
                                      : "",
                       nm_format_size(c->memory_peak_bytes, peak, sizeof peak));
    if (l->has_end && l->end.output_lost_bytes > 0 && !c->message[0])
        (void)snprintf(c->message, sizeof c->message, "%llu bytes of its output could not be written to its log",
                       (unsigned long long)l->end.output_lost_bytes);
}

/* ---- after the end --------------------------------------------------------- */

/* Deletes the files of a container that never ran. Its snapshot has the state SCHEDULED. If the journal were lost, a
 * later nmd would read the snapshot and start the container. */
static void remove_files_if_never_ran(const struct nm_live_container *l)
{
    char dir[NM_DIR_SIZE];

    nm_files_container_dir(l->m, l->c->id, dir);
    if (l->c->pid || l->c->shim_pid || nm_launch_gate_was_open(dir))
        return;
    nm_files_drop(l->m, l->c->id);
    NM_FAULT("waiting-forgotten");
}

static void update_app_stats(struct nm_live_container *l)
{
    struct nm_manager *m = l->m;
    const struct nm_container *c = l->c;
    struct nm_app *app = &m->apps.all[c->view.app];
    int64_t run = (int64_t)nm_sub_u64(c->finished_usec, c->view.started_usec), mean;

    assert(c->view.app < m->apps.n);
    m->counters.completed++;
    m->apps.views[c->view.app].completed++;
    if (c->exit_reason == NM_EXIT_EXITED && c->exit_code == 0 && app->name[0]) {
        app->n_runs++;
        /* A moving average over about 16 runs. */
        mean = (int64_t)app->mean_run_usec;
        app->mean_run_usec = (uint64_t)(mean + (run - mean) / NM_MIN((int64_t)app->n_runs, 16));
    }
    if (c->exit_reason == NM_EXIT_PREEMPTED || c->exit_reason == NM_EXIT_PAUSE_DEADLINE) {
        nm_record_count(m, NM_COUNT_KILLED, c->exit_cause);
        m->counters.wasted_cpu_usec += c->view.cpu_usage_usec;
    }
}

static void remove_cgroup(struct nm_live_container *l)
{
    if (l->cg && nm_cgroups_remove(l->m, l->cg) < 0)
        nm_debug("%s: its cgroup could not be removed", l->c->id);
}

/* Replaces a long command in the journal by the part that nmd keeps of it (nm_lists_add_ended()). Thousands of ended
 * containers with half a megabyte each would fill the disk, and the next nmd would read all of it at its start. A short
 * command is not replaced, because a write at each end costs more than reading the command once. */
static void shorten_command(struct nm_live_container *l)
{
    struct nm_command *command = &l->c->command;

    if (nm_command_bytes(command) <= LONG_COMMAND_BYTES)
        return;
    nm_command_shorten(command, NM_ENDED_COMMAND_BYTES);
    (void)nm_store_put_command(l->m->store, l->c); /* the commit returns the result of all writes */
}

/* Journals the end, the results of decisions, the counters and the application's statistics in one transaction. The
 * cgroup is removed last, because recovery needs it as evidence until the end is journalled. */
static void finish(struct nm_live_container *l)
{
    struct nm_manager *m = l->m;
    struct nm_container *c = l->c;

    assert(nm_run_phase_is_ending(l->phase) && l->c->view.state != NM_COMPLETED);
    assert(!m->round.is_on);
    (void)nm_store_begin(m->store);
    if (c->exit_reason == NM_EXIT_NONE)
        nm_end_classify(l);
    remove_files_if_never_ran(l);
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
    update_app_stats(l);
    nm_persist_set_state(l, NM_COMPLETED);
    shorten_command(l);
    nm_durable_save(m);
    nm_durable_save_app(m, c->view.app);
    NM_FAULT("end-before-commit");
    nm_record_store_result(m, nm_store_commit(m->store));
    NM_FAULT("end-journalled");
    nm_output_ended(m, c);
    remove_cgroup(l);
    NM_FAULT("cgroup-removed");
    nm_lists_remove_live(l);
    nm_removable_update(m);
    nm_round_request(m, NM_TRIGGER_CHANGE);
}

/* Returns whether the start was given up and the command has not run. */
static bool never_ran(const struct nm_live_container *l)
{
    char dir[NM_DIR_SIZE];
    struct nm_launch_record r;

    if (l->phase != NM_RUN_REQUEUEING || l->has_end || l->c->view.state != NM_SCHEDULED)
        return false;
    nm_files_container_dir(l->m, l->c->id, dir);
    return !nm_launch_gate_was_open(dir) && nm_launch_record_read(dir, &r) == -ENOENT;
}

/* Resets the state of a start whose command did not run. */
static void drop_start(struct nm_live_container *l)
{
    bool was_unkillable = l->run.unkillable;

    nm_run_phase_set(&l->phase, NM_RUN_NONE);
    l->run = (struct nm_run){0};
    l->c->view.unread_usec = 0;
    l->launch = nm_launch_free(l->launch);
    remove_cgroup(l);
    l->events_watch = nm_cgroup_watch_free(l->events_watch);
    l->memory_watch = nm_cgroup_watch_free(l->memory_watch);
    l->sampler = nm_cgroup_sampler_free(l->sampler);
    nm_lists_end_passes(l);
    l->cg = nm_cgroup_free(l->cg);
    if (was_unkillable)
        nm_lists_report_unkillable(l->m);
}

/* Queues a container again after a failed start. The next start waits for a sample, because the cause (a full disk, a
 * shutdown of systemd) still exists in the next turn. Otherwise the round that is requested here would immediately
 * start the container again, in an endless loop. */
static void requeue(struct nm_live_container *l)
{
    struct nm_manager *m = l->m;

    assert(l->c->view.state == NM_SCHEDULED && l->c->view.admitted);
    l->retry_usec = l->run.adopted ? 0 : m->timers.sample_due_usec;
    drop_start(l);
    nm_container_drop_start(l->c);
    (void)nm_persist_journal(l);
    NM_FAULT("queued-again");
    (void)nm_persist_write_snapshot(l);
    nm_record_failed(l, "it could not be started at that time and was queued again");
    m->drain.due = m->drain.is_on; /* the next round ends the queued container */
    nm_round_request(m, NM_TRIGGER_CHANGE);
}

/* Returns whether the container runs again after this run. A kill by nmd, or a stop of the scope by systemd, always
 * ends the container. Otherwise the container's owner decides. */
static bool is_to_run_again(struct nm_live_container *l)
{
    struct nm_manager *m = l->m;
    struct nm_container *c = l->c;

    if (c->view.state < NM_RUNNING || c->view.state >= NM_KILLING || c->kill_reason != NM_EXIT_NONE || l->run.stopped)
        return false;
    if (!c->rerun && m->owners.ask && nm_streq(c->owner, m->owners.asked)) {
        nm_end_classify(l);
        nm_run_phase_set(&l->phase, NM_RUN_ASKING_OWNER);
        m->owners.ask(c, m->owners.ask_userdata);
        nm_run_phase_set(&l->phase, NM_RUN_ENDING);
    }
    return c->rerun;
}

/* Resets the container for its next run. The shim's files are deleted before the state NEW is journalled, because they
 * must not count as evidence about the next run. If nmd dies before NEW is journalled, the journal still shows that the
 * container is to run again, and a restarted nmd repeats this function. */
static int run_again(struct nm_live_container *l)
{
    struct nm_manager *m = l->m;
    enum nm_state from = l->c->view.state;
    char dir[NM_DIR_SIZE];
    int r;

    nm_files_container_dir(m, l->c->id, dir);
    r = nm_launch_drop(dir);
    if (r < 0)
        return r;
    NM_FAULT("rerun-forgotten");
    l->has_end = false;
    l->retry_usec = 0;
    drop_start(l);
    (void)nm_container_set_state(l->c, NM_NEW);
    nm_container_drop_run(l->c);
    l->c->view.state_usec = nm_now_usec();
    l->c->view.state_samples = 0;
    (void)nm_store_begin(m->store);
    (void)nm_persist_journal(l);
    nm_record_effective(l);
    nm_record_store_result(m, nm_store_commit(m->store));
    NM_FAULT("rerun-new");
    (void)nm_persist_write_snapshot(l);
    nm_events_publish_state(l, from, NM_NEW);
    nm_round_request(m, NM_TRIGGER_CHANGE);
    return 0;
}

static int on_end(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_live_container *l = userdata;

    (void)s, (void)usec;
    l->end_source = sd_event_source_disable_unref(l->end_source);
    if (never_ran(l))
        requeue(l);
    else if (!is_to_run_again(l) || run_again(l) < 0)
        finish(l);
    return 0;
}

/*
 * Returns whether the container may have ended because systemd stopped its scope. systemd sends a D-Bus message about
 * the stop before it sends SIGTERM. Even so, nmd may receive the container's end before the message, so the handling of
 * the end must wait for STOP_MESSAGE_WAIT_USEC.
 */
static bool may_have_been_stopped(const struct nm_live_container *l)
{
    if (!l->m->backend->reports_stops || l->run.stopped || l->c->kill_reason != NM_EXIT_NONE || l->c->rerun ||
        l->c->pid == 0)
        return false;
    return !l->has_end || l->end.exit_signal == SIGTERM || l->end.exit_signal == SIGKILL ||
           l->end.exit_code == 128 + SIGTERM;
}

/* Schedules the handling of the end in another turn, because the caller (a watch, the shim's callback, a request or a
 * round) may still use pointers to the container. */
static bool finish_soon(struct nm_live_container *l)
{
    uint64_t delay = may_have_been_stopped(l) ? STOP_MESSAGE_WAIT_USEC : 0;

    assert(!l->end_source);
    l->kill.timer = sd_event_source_disable_unref(l->kill.timer);
    if (sd_event_add_time_relative(l->m->event, &l->end_source, CLOCK_BOOTTIME, delay, 1, on_end, l) >= 0)
        return true;
    nm_err("%s: out of memory while ending it; trying again soon", l->c->id);
    return false;
}

bool nm_end_is_complete(const struct nm_live_container *l)
{
    return nm_run_phase_is_ending(l->phase) && l->c->view.state != NM_SCHEDULED;
}

/* ---- kills ----------------------------------------------------------------- */

/* A process may be moved into the cgroup just after a kill. So the cgroup is checked and killed again until it has no
 * processes. The interval between two checks doubles from the first to the second value. The first check is early,
 * because usually one kill is enough. */
#define FIRST_KILL_CHECK_USEC (100 * NM_USEC_PER_MSEC)
#define MAX_KILL_CHECK_USEC (5 * NM_USEC_PER_SEC)
/* A container that has neither ended nor released memory after this time is reported. */
#define UNKILLABLE_USEC (10 * NM_USEC_PER_SEC)

static void report_unkillable(struct nm_live_container *l)
{
    struct nm_cgroup_leftover_procs s = {0};
    char who[160];

    if (l->cg)
        (void)nm_cgroup_leftover_procs(l->cg, &s);
    nm_cgroup_leftover_procs_print(&s, who, sizeof who);
    l->run.unkillable = true;
    l->m->counters.unkillable++;
    nm_lists_report_unkillable(l->m);
    nm_log_container(LOG_ERR, l->c->id, NULL, NM_MESSAGE_UNKILLABLE,
                     "%s can't be killed: 10 s after SIGKILL, and after %u more, %s; nmd keeps sending SIGKILL",
                     l->c->id, l->kill.n - 1, who);
}

static bool frees_memory(const struct nm_live_container *l, uint64_t now)
{
    return now - NM_MAX(l->kill.begun_usec, l->c->view.shrunk_usec) < UNKILLABLE_USEC;
}

static void schedule_kill_check(struct nm_live_container *l);

static void report_kill_failed(const char *name, int r)
{
    nm_err("cgroup %s can't be killed: %s; trying again", name, strerror(-r));
}

static int on_kill_check(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_live_container *l = userdata;
    uint64_t now = nm_now_usec();

    (void)s, (void)usec;
    nm_end_check(l);
    if (nm_run_phase_is_ending(l->phase))
        return 0;
    nm_sample_live(l, now);
    if (l->cg)
        (void)nm_cgroup_kill_in(l->m->event, l->cg, report_kill_failed);
    l->kill.n++;
    if (!l->run.unkillable && !frees_memory(l, now))
        report_unkillable(l);
    schedule_kill_check(l);
    return 0;
}

static void schedule_kill_check(struct nm_live_container *l)
{
    l->kill.timer = sd_event_source_disable_unref(l->kill.timer);
    if (sd_event_add_time_relative(l->m->event, &l->kill.timer, CLOCK_BOOTTIME, l->kill.check_usec, 1000, on_kill_check,
                                   l) < 0)
        nm_err("%s: out of memory while killing it; trying again soon", l->c->id);
    l->kill.check_usec = NM_MIN(2 * l->kill.check_usec, MAX_KILL_CHECK_USEC);
}

int nm_end_kill(struct nm_live_container *l)
{
    int r = l->cg ? nm_cgroup_kill_in(l->m->event, l->cg, report_kill_failed) : -ENOENT;

    nm_run_phase_note_sigkill(&l->phase);
    l->kill.n = 1;
    l->kill.begun_usec = nm_now_usec();
    l->kill.check_usec = FIRST_KILL_CHECK_USEC;
    schedule_kill_check(l);
    return r;
}

/* ---- detection of the end -------------------------------------------------- */

static void check_end(struct nm_live_container *l, bool empty)
{
    assert(l->phase != NM_RUN_REMOVED);
    if (nm_run_phase_is_creating(l->phase) || nm_run_phase_is_ending(l->phase) ||
        nm_policy_container_is_waiting(&l->c->view))
        return;
    /* The shim is in the cgroup, too. If the cgroup is empty, the shim has ended. */
    if (!nm_run_phase_is_shim_gone(l->phase) &&
        !(empty && l->cg && (nm_run_phase_is_killed(l->phase) || !l->launch)))
        return;
    if (!empty) {
        /* The command has ended, but processes that it started still run. */
        if (!nm_run_phase_is_killed(l->phase))
            (void)nm_end_kill(l);
        return;
    }
    if (finish_soon(l))
        nm_run_phase_note_empty(&l->phase);
}

void nm_end_check(struct nm_live_container *l)
{
    struct nm_cgroup_events e = {0};
    int r = l->cg ? nm_cgroup_read_events(l->cg, &e) : -ENOENT;

    check_end(l, r == -ENOENT || (r >= 0 && !e.populated));
}

void nm_end_is_empty(struct nm_live_container *l)
{
    check_end(l, true);
}

/* Checks all containers again. If memory was short when nmd scheduled the handling of an end or the next check after a
 * kill, no timer exists, and the container would remain. */
void nm_end_check_all(struct nm_manager *m)
{
    for (size_t i = 0; i < m->live.n; i++) {
        struct nm_live_container *l = m->live.all[i];

        if (!nm_run_phase_is_shim_gone(l->phase) && !nm_run_phase_is_killed(l->phase))
            continue;
        nm_end_check(l);
        if (nm_run_phase_is_killed(l->phase) && !l->kill.timer)
            schedule_kill_check(l);
    }
}

/* Ends a container before its command ran, with the given reason. */
void nm_end_fail_launch(struct nm_live_container *l, enum nm_launch_stage stage, int error,
                         const char *message)
{
    assert(stage != NM_LAUNCH_STAGE_NONE && error > 0);
    l->end = (struct nm_launch_record){
        .phase = NM_LAUNCH_ENDED, .failed_stage = stage, .failed_errno = error};
    l->has_end = true;
    if (message)
        (void)snprintf(l->c->message, sizeof l->c->message, "%s", message);
    nm_run_phase_set(&l->phase, NM_RUN_SHIM_GONE);
    l->launch = nm_launch_free(l->launch); /* a shim that waits at its gate exits */
    nm_end_check(l);
}

void nm_end_withdraw_launch(struct nm_live_container *l)
{
    assert(l->c->view.admitted);
    nm_run_phase_set(&l->phase, NM_RUN_WITHDRAWN);
    l->launch = nm_launch_free(l->launch); /* a shim that waits at its gate exits */
    nm_end_check(l);
}
