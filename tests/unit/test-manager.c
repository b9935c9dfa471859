/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The complete manager in one process, with a real journal, real shims and commands, and cgroups of the fake backend,
 * where the test acts as the kernel. The node's figures don't change. No test sleeps: the loop runs until a condition
 * is true, or until the loop is idle.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>

#include "agent/requests/requests.h"
#include "tests/unit/limit-files.h"
#include "tests/unit/manager-fixture.h"
#include "tests/unit/run-until.h"
#include "agent/journal/containers.h"
#include "agent/journal/decision-record.h"
#include "agent/journal/records.h"
#include "agent/journal/journal.h"
#include "agent/lifecycle/lifecycle-internal.h"
#include "agent/manager/manager-internal.h"
#include "agent/node/sampling.h"
#include "cgroup/backend-fake.h"
#include "util/clock.h"

#define DEADLINE_USEC (60 * NM_USEC_PER_SEC)
#define HOUR_USEC (3600 * NM_USEC_PER_SEC)
#define TEST(name) cmocka_unit_test_setup_teardown(name, manager_fixture_set_up_real, manager_fixture_tear_down)

static const struct nm_caller admin = {.admin = true};

#define RUN_UNTIL(w, condition) RUN_UNTIL_WITHIN(w, DEADLINE_USEC, condition)

/* Ends the event loop, so that it accepts no more sources. */
static void end_loop(struct manager_fixture *w)
{
    assert_true(sd_event_exit(w->event, 0) >= 0);
    assert_true(sd_event_loop(w->event) >= 0);
}

static struct nm_live_container *submit(struct manager_fixture *w, const char *script)
{
    const char *argv[] = {"/bin/sh", "-c", script, NULL};

    return manager_fixture_submit(w, "it", NM_GUARANTEED, argv);
}

static struct nm_live_container *run(struct manager_fixture *w, const char *script)
{
    struct nm_live_container *l = submit(w, script);

    RUN_UNTIL(w, l->c->view.state == NM_RUNNING);
    return l;
}

#define JOURNAL_IS_FULL 1024 /* a limit on the size of files that is large enough for all other files */

/* ---- timers -------------------------------------------------------------------------------------- */

static unsigned n_turns_of(struct manager_fixture *w, sd_event_source *timer)
{
    uint64_t due = 0, now = nm_now_usec();
    unsigned n = 0;

    while (n < 100 && sd_event_source_get_time(timer, &due) >= 0 && due <= now) {
        assert_true(sd_event_run(w->event, 0) >= 0);
        n++;
    }
    return n;
}

/* The host was suspended for eight hours. The timer expired during the suspend, and housekeeping runs once. */
static void test_housekeeping_runs_once_after_a_suspend(void **state)
{
    struct manager_fixture *w = *state;
    uint64_t due;

    manager_fixture_start(w);
    due = nm_sub_u64(nm_now_usec(), 8 * HOUR_USEC);
    w->m->timers.upkeep->housekeeping_due_usec = due;
    assert_true(sd_event_source_set_time(w->m->timers.upkeep->housekeeping, due) >= 0);
    assert_in_range(n_turns_of(w, w->m->timers.upkeep->housekeeping), 1, 2);
    assert_true(w->m->timers.upkeep->housekeeping_due_usec > nm_now_usec());
}

/* A node without containers is sampled every two periods. The first container returns to one period, and is decided on
 * with a sample that is not older than a period. */
static void test_a_node_without_containers_is_sampled_less_often(void **state)
{
    struct manager_fixture *w = *state;
    uint64_t samples, now;

    manager_fixture_start(w);
    assert_true(w->m->timers.is_idle);
    assert_in_range(w->m->timers.sample_due_usec - w->m->sampled.at_usec, 2 * HOUR_USEC - HOUR_USEC / 4,
                    2 * HOUR_USEC + HOUR_USEC / 4);
    samples = w->m->counters.samples;
    (void)run(w, "exec sleep 1000");
    assert_false(w->m->timers.is_idle);
    assert_true(w->m->timers.sample_due_usec <= w->m->sampled.at_usec + HOUR_USEC);
    assert_int_equal(w->m->counters.samples, samples); /* the sample was new */

    now = nm_now_usec();
    w->m->config->period_usec = 3 * NM_USEC_PER_SEC;
    w->m->timers.is_idle = true;
    w->m->sampled.at_usec = now - 5 * NM_USEC_PER_SEC;
    nm_round(w->m, NM_TRIGGER_CHANGE);
    assert_int_equal(w->m->counters.samples, samples + 1);
    assert_in_range(w->m->timers.sample_due_usec, now + 3 * NM_USEC_PER_SEC, nm_now_usec() + 3 * NM_USEC_PER_SEC);
    w->m->config->period_usec = HOUR_USEC;
}

/* If nmd can't make the timer of the grace period, it kills immediately. Otherwise the kill would never continue. */
static void test_a_kill_whose_timer_can_not_be_made_skips_the_grace_period(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l;

    manager_fixture_start(w);
    l = run(w, "exec sleep 1000");
    end_loop(w);
    l->c->view.state = NM_KILLING;
    l->c->view.kill_deadline_usec = nm_now_usec() + HOUR_USEC;
    nm_kill_terminate(l);
    assert_int_equal(kill(l->c->pid, SIGKILL), 0);
    assert_file(l, "cgroup.kill", "1");
}

/* A drain is refused if no timer for its deadline can be made. The refused request changes no state. */
static void test_a_drain_whose_timer_can_not_be_made_is_refused(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_problem problem;

    manager_fixture_start(w);
    assert_int_equal(nm_manager_drain(w->m, &admin, manager_fixture_drain(HOUR_USEC), &problem), 0);
    assert_int_equal(nm_manager_undrain(w->m, &admin, &problem), 0);
    end_loop(w);
    assert_true(nm_manager_drain(w->m, &admin, &(struct nm_drain_order){HOUR_USEC, true, false}, &problem) < 0);
    assert_false(w->m->drain.is_on);
    assert_true(w->m->drain.deadline_usec == UINT64_MAX);
    assert_int_equal(nm_manager_drain(w->m, &admin, manager_fixture_drain(UINT64_MAX), &problem), 0);
    assert_true(w->m->drain.is_on);
}

static void restart_amid_drain(struct manager_fixture *w, bool crash)
{
    if (!crash)
        nm_manager_prepare_exit(w->m);
    manager_fixture_restart(w);
}

/* A drain with the option "until restart" ends when nmd exits normally, and continues after a crash of nmd. A drain
 * without this option continues after both, even if the drain is requested again with the option. */
static void test_a_drain_until_a_restart_survives_a_crash(void **state)
{
    static const struct {
        bool first, until_restart, crash, goes_on;
    } cases[] = {
        {true, true, false, false}, {true, true, true, true}, {true, false, false, true}, {false, true, false, true},
    };
    struct nm_drain_order order = {.deadline_usec = UINT64_MAX};
    struct manager_fixture *w = *state;
    struct nm_problem problem;
    struct nm_status status;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        manager_fixture_start(w);
        order.until_restart = cases[i].first;
        assert_int_equal(nm_manager_drain(w->m, &admin, &order, &problem), 0);
        order.until_restart = cases[i].until_restart;
        assert_int_equal(nm_manager_drain(w->m, &admin, &order, &problem), 0);
        restart_amid_drain(w, cases[i].crash);
        nm_manager_get_status(w->m, &status);
        assert_int_equal(status.state, cases[i].goes_on ? NM_NODE_DRAINING : NM_NODE_RUNNING);
        assert_int_equal(status.drain_until_restart, cases[i].crash);
        if (cases[i].goes_on)
            assert_int_equal(nm_manager_undrain(w->m, &admin, &problem), 0);
    }
}

/* The summary has the same figures as the status, which also reads files. */
static void test_the_summary_has_the_figures_of_the_status(void **state)
{
    struct nm_drain_order order = {.deadline_usec = UINT64_MAX};
    struct manager_fixture *w = *state;
    struct nm_status summary, status;
    struct nm_problem problem;

    manager_fixture_start(w);
    (void)run(w, "exec sleep 1000");
    nm_health_set_journal(w->m->health, "this test says so");
    assert_int_equal(nm_manager_drain(w->m, &admin, &order, &problem), 0);
    nm_manager_get_summary(w->m, &summary);
    nm_manager_get_status(w->m, &status);
    assert_int_equal(summary.state, NM_NODE_DRAINING);
    assert_int_equal(summary.guaranteed_running, 1);
    assert_false(summary.healthy);
    assert_string_equal(summary.health_reason, status.health_reason);
    assert_int_equal(status.state, summary.state);
    assert_int_equal(status.guaranteed_running, summary.guaranteed_running);
    assert_memory_equal(&status.allocated, &summary.allocated, sizeof status.allocated);
    assert_memory_equal(&status.capacity, &summary.capacity, sizeof status.capacity);
    assert_memory_equal(&status.configured, &summary.configured, sizeof status.configured);
    assert_int_equal(status.configured_vcores_milli, summary.configured_vcores_milli);
    assert_int_equal(status.node.memory_total_bytes, summary.node.memory_total_bytes);
    assert_int_equal(status.settings.queue_max_length, summary.settings.queue_max_length);
    assert_true(summary.backend == w->m->backend);
    assert_int_equal(summary.n_notes, 0);
    assert_true(status.n_notes > 0);
}

/* ---- a container that can't be measured ---------------------------------------------------------- */

static void write_cpu_stat(const struct nm_live_container *l, size_t padding)
{
    int fd = openat(l->cg->dir_fd, "cpu.stat", O_WRONLY | O_TRUNC | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_true(dprintf(fd, "usage_usec 0\nuser_usec 0\nsystem_usec 0\nmore %0*d\n", (int)padding, 0) > 0);
    assert_int_equal(close(fd), 0);
}

static uint64_t counted_bytes(const struct nm_live_container *l, uint64_t now_usec)
{
    return nm_estimate(&l->m->settings, &l->c->view, now_usec).memory_bytes;
}

/* A file is too long to be read for some time. The last measured figures count only for a limited time. */
static void test_the_last_figures_count_for_a_limited_time_if_a_file_is_too_long(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l;
    uint64_t at, stale;

    manager_fixture_start(w);
    l = run(w, "exec sleep 1000");
    l->c->view.n_samples = l->c->view.state_samples = 1000; /* the figures are no longer new */
    l->c->view.started_usec = l->c->view.state_usec = 1;
    at = nm_now_usec();
    stale = at + w->m->settings.sample_max_age_usec + 1;
    nm_sample_live(l, at);
    assert_int_equal(l->c->view.unread_usec, 0);
    write_cpu_stat(l, 4096);
    nm_sample_live(l, at + 1);
    nm_sample_live(l, stale - 1);
    assert_int_equal(l->c->view.unread_usec, at);
    assert_false(l->run.unread_logged);
    assert_true(counted_bytes(l, stale - 1) < l->c->view.request.memory_bytes);
    nm_sample_live(l, stale);
    assert_int_equal(l->c->view.unread_usec, at);
    assert_true(l->run.unread_logged);
    assert_int_equal(counted_bytes(l, stale), l->c->view.request.memory_bytes);
    write_cpu_stat(l, 1);
    nm_sample_live(l, stale + 1);
    assert_int_equal(l->c->view.unread_usec, 0);
    assert_false(l->run.unread_logged);
    assert_true(counted_bytes(l, stale + 1) < l->c->view.request.memory_bytes);
}

/* ---- a journal that can't be written ------------------------------------------------------------- */

static void test_nmd_starts_although_the_disk_is_full(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_status status;

    w->m = nm_manager_free(w->m);
    fake_tree_unlink(&w->tree, "state/nmd.db");
    limit_files(JOURNAL_IS_FULL);
    manager_fixture_restart(w);
    limit_files(RLIM_INFINITY);
    assert_int_equal(w->m->journal.error, -EFBIG);
    nm_manager_get_status(w->m, &status);
    assert_false(status.healthy);
    assert_non_null(strstr(status.health_reason, "journal"));
    nm_record_store_result(w->m, nm_store_flush(w->m->store));
    nm_manager_get_status(w->m, &status);
    assert_true(status.healthy);
}

static void test_the_breaker_can_be_closed_although_the_disk_is_full(void **state)
{
    struct nm_policy_memory memory = {.kills_usec = {1}};
    struct manager_fixture *w = *state;
    struct nm_problem problem;

    assert_int_equal(nm_manager_close_breaker(w->m, &admin, &problem), 0);
    memory.breaker_until_usec = nm_now_usec() + HOUR_USEC;
    nm_policy_set_memory(w->m->policy, &memory);
    nm_durable_save(w->m);
    limit_files(JOURNAL_IS_FULL);
    assert_int_equal(nm_manager_close_breaker(w->m, &admin, &problem), NM_AGENT_E_UNAVAILABLE);
    limit_files(RLIM_INFINITY);
    assert_non_null(strstr(problem.message, "The breaker is closed, but this isn't saved yet"));
    nm_policy_get_memory(w->m->policy, &memory);
    assert_true(memory.breaker_until_usec <= nm_now_usec());
}

/* ---- failed starts ------------------------------------------------------------------------------- */

/* Runs the event loop while systemd refuses all new units. */
static unsigned turns_while_shut_down(struct manager_fixture *w, unsigned most)
{
    unsigned n = 0;

    for (bool more = true; more && n < most; n++) {
        nm_fake_fail_next(w->m->backend, NM_FAKE_CREATE, -ESHUTDOWN);
        more = sd_event_run(w->event, 0) > 0;
    }
    nm_fake_fail_next(w->m->backend, NM_FAKE_CREATE, 0);
    return n;
}

static void test_a_failed_start_is_repeated_with_the_next_sample(void **state)
{
    struct manager_fixture *w = *state;
    const struct nm_container *c;
    struct nm_live_container *l;

    manager_fixture_start(w);
    l = submit(w, "exit 0");
    c = l->c;
    assert_in_range(turns_while_shut_down(w, 500), 1, 100);
    assert_int_equal(nm_fake_n_calls(w->m->backend, NM_FAKE_CREATE), 1);
    assert_int_equal(c->view.state, NM_SCHEDULED);
    assert_false(c->view.admitted);
    assert_int_equal(nm_manager_queue_reason(w->m, c), NM_REASON_NONE);
    nm_round_request(w->m, NM_TRIGGER_CHANGE); /* another change requests a round */
    assert_in_range(turns_while_shut_down(w, 500), 1, 100);
    assert_int_equal(nm_fake_n_calls(w->m->backend, NM_FAKE_CREATE), 1);
    l->retry_usec = nm_now_usec();
    assert_true(sd_event_source_set_time(w->m->timers.sample, l->retry_usec) >= 0);
    RUN_UNTIL(w, l->cg);
    assert_int_equal(nm_fake_n_calls(w->m->backend, NM_FAKE_CREATE), 2);
    RUN_UNTIL(w, manager_fixture_shim_is_gone(l));
    assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
    RUN_UNTIL(w, c->view.state == NM_COMPLETED);
    assert_int_equal(c->exit_reason, NM_EXIT_EXITED);
}

/* After a start that has run no command, the messages and figures of this start don't affect the next start. */
static void test_a_failed_start_does_not_affect_the_next_start(void **state)
{
    struct manager_fixture *w = *state;
    const struct nm_container *c;
    struct nm_status status;
    struct nm_live_container *l;

    manager_fixture_start(w);
    l = submit(w, "exit 0");
    c = l->c;
    nm_fake_fail_next(w->m->backend, NM_FAKE_CREATE, -ESHUTDOWN);
    RUN_UNTIL(w, nm_run_phase_is_ending(l->phase));
    l->run.unkillable = l->run.stopped = l->run.oom_reported = l->run.global_oom = true;
    nm_lists_report_unkillable(w->m);
    nm_manager_get_status(w->m, &status);
    assert_false(status.healthy);
    l->run.claim.bytes = l->run.sample.memory_bytes = 1;
    (void)snprintf(l->c->message, sizeof l->c->message, "systemd is stopping its scope");
    l->c->oom_kills = l->c->memory_peak_bytes = 1;
    assert_true(l->run.output_max_bytes > 0);
    RUN_UNTIL(w, !nm_run_phase_is_ending(l->phase));
    nm_manager_get_status(w->m, &status);
    assert_true(status.healthy);
    assert_false(l->run.unkillable || l->run.stopped || l->run.oom_reported || l->run.global_oom);
    assert_int_equal(l->run.output_max_bytes, 0);
    assert_int_equal(l->run.claim.bytes + l->run.sample.memory_bytes, 0);
    assert_string_equal(c->message, "");
    assert_int_equal(c->oom_kills + c->memory_peak_bytes, 0);
    assert_int_equal(c->shim_pid, 0);
    assert_false(c->view.admitted);
}

/* ---- commands in containers ---------------------------------------------------------------------- */

static int exec(struct manager_fixture *w, const struct nm_live_container *l, bool is_admin, struct nm_problem *p)
{
    static const char *const argv[] = {"/bin/true", NULL};
    const struct nm_caller who = {.uid = geteuid(), .gid = getegid(), .pid = getpid(), .admin = is_admin};
    const struct nm_exec e = {.argv = argv};
    uint64_t number;
    int fds[2], r;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    r = nm_manager_exec(w->m, &who, l->c->id, &e, fds[0], &number, p);
    assert_int_equal(close(fds[0]) + close(fds[1]), 0);
    return r;
}

/* Each command is a child process of nmd that must be reaped. Their number is therefore limited, per container and per
 * user. */
static void test_the_number_of_commands_run_in_containers_is_limited(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_problem p;
    struct nm_live_container *l;

    manager_fixture_configure(w, "[node]\nsystem-reserved-memory = 200M\nvcores = 16\n[health]\ndisk-min-free = 0\n");
    manager_fixture_restart(w);
    manager_fixture_start(w);
    for (unsigned i = 0; i < 4; i++) {
        l = run(w, "exec sleep 1000");
        (void)snprintf(l->c->name, sizeof l->c->name, "it%u", i);
        for (unsigned n = 0; n < 16; n++)
            if (exec(w, l, false, &p) != 0)
                fail_msg("%s", p.message);
        assert_int_equal(exec(w, l, true, &p), NM_AGENT_E_UNAVAILABLE);
        assert_non_null(strstr(p.message, "16 commands that 'exec' started in this container"));
    }
    l = submit(w, "exec sleep 1000");
    assert_int_equal(exec(w, l, true, &p), NM_AGENT_E_CONFLICT); /* the container is not running yet */
    RUN_UNTIL(w, l->c->view.state == NM_RUNNING);
    assert_int_equal(exec(w, l, false, &p), NM_AGENT_E_UNAVAILABLE);
    assert_non_null(strstr(p.message, "64 commands that 'exec' started in your containers"));
    assert_int_equal(exec(w, l, true, &p), 0);
    assert_int_equal(nm_sessions_count(w->m->sessions), 65);
    for (size_t i = 0; i < w->m->live.n; i++)
        assert_int_equal(kill(w->m->live.all[i]->c->pid, SIGKILL), 0);
}

static void test_a_command_is_refused_if_nmd_has_no_descriptors(void **state)
{
    struct manager_fixture *w = *state;
    struct rlimit before, few;
    struct nm_problem p;
    struct nm_live_container *l;

    manager_fixture_start(w);
    l = run(w, "exec sleep 1000");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 48;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(exec(w, l, true, &p), NM_AGENT_E_UNAVAILABLE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_string_equal(p.thing, "descriptors");
    assert_int_equal(nm_sessions_count(w->m->sessions), 0);
    assert_int_equal(kill(l->c->pid, SIGKILL), 0);
}

/* ---- rounds between samples ---------------------------------------------------------------------- */

/* Changes memory.events just after a sample that took this long. Returns whether the change requests a round. */
static bool is_looked_at(struct manager_fixture *w, const struct nm_live_container *l,
                         const struct nm_cgroup_memory_events *e,
                         uint64_t cost_usec)
{
    w->m->round.triggers = 0;
    w->m->sampled.at_usec = nm_now_usec();
    w->m->sampled.cost_usec = cost_usec;
    assert_int_equal(nm_fake_set_memory_events(l->cg, e), 0);
    manager_fixture_settle(w);
    return w->m->round.triggers & 1U << NM_TRIGGER_PRESSURE;
}

/* The memory.events of a container that reads files at its memory limit change all the time. */
static void test_rounds_for_memory_events_are_limited(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "reads", NM_OPPORTUNISTIC, NM_RUNNING);

    assert_true(is_looked_at(w, l, &(struct nm_cgroup_memory_events){.max = 1}, 0));
    assert_false(is_looked_at(w, l, &(struct nm_cgroup_memory_events){.max = 20}, HOUR_USEC));
    assert_true(is_looked_at(w, l, &(struct nm_cgroup_memory_events){.max = 30, .oom = 1, .oom_kill = 1}, HOUR_USEC));
    assert_false(is_looked_at(w, l, &(struct nm_cgroup_memory_events){.max = 40, .oom = 1, .oom_kill = 1}, HOUR_USEC));
    assert_true(is_looked_at(w, l, &(struct nm_cgroup_memory_events){.max = 50, .oom = 1, .oom_kill = 1}, 0));
}

/* A round that would kill a container for its deadline finds that the kernel has already OOM-killed the container,
 * before the watch of memory.events could report this. */
static void test_an_oom_kill_is_recorded_instead_of_a_kill_for_a_deadline(void **state)
{
    const struct nm_cgroup_memory_events killed = {.max = 1, .oom_kill = 1};
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "paused", NM_OPPORTUNISTIC, NM_PAUSED);

    assert_int_equal(nm_cgroup_freeze(l->cg, true), 0);
    manager_fixture_settle(w);
    l->memory_watch = nm_cgroup_watch_free(l->memory_watch);
    assert_int_equal(nm_fake_set_memory_events(l->cg, &killed), 0);
    /* the expired deadline is another reason to kill the container */
    l->c->view.paused_usec = l->c->view.pause_deadline_usec = 1;
    nm_round(w->m, NM_TRIGGER_CHANGE);
    manager_fixture_settle(w);
    assert_int_equal(l->decision.kind, NM_DECISION_KILL);
    assert_int_equal(l->decision.reason, NM_REASON_KERNEL_OOM);
    assert_int_equal(l->c->view.state, NM_PAUSED);
    l->run.oom_kill_usec = 1; /* processes still exist long after the kill */
    nm_round(w->m, NM_TRIGGER_CHANGE);
    manager_fixture_settle(w);
    assert_int_equal(l->decision.reason, NM_REASON_PAUSE_DEADLINE);
}

static void assert_by(struct nm_live_container *l, const char *name)
{
    nm_record_by(l, NM_DECISION_PAUSE, NM_REASON_USER, &(struct nm_caller){.uid = 4000000001});
    assert_string_equal(l->decision.by_user, name);
}

static void test_user_and_group_names_are_looked_up_once(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_RUNNING);

    assert_by(l, "4000000001");
    (void)snprintf(w->m->decisions->name, sizeof w->m->decisions->name, "somebody");
    assert_by(l, "somebody");
    w->m->decisions->name_usec -= NM_USEC_PER_SEC * 3600;
    assert_by(l, "4000000001");
}

/* ---- removable nodes ----------------------------------------------------------------------------- */

static uint64_t removable_since(struct manager_fixture *w)
{
    struct nm_status status;

    nm_manager_get_status(w->m, &status);
    return status.removable_since_realtime_usec;
}

static void test_an_empty_node_is_removable(void **state)
{
    struct manager_fixture *w = *state;
    const struct nm_container *c;
    uint64_t first = removable_since(w);
    struct nm_problem problem;
    struct nm_live_container *l;

    assert_true(first > 0 && first <= nm_realtime_usec());
    manager_fixture_start(w);
    assert_int_equal(nm_manager_drain(w->m, &admin, manager_fixture_drain(UINT64_MAX), &problem), 0);
    assert_int_equal(removable_since(w), first); /* draining doesn't change whether the node is removable */
    assert_int_equal(nm_manager_undrain(w->m, &admin, &problem), 0);
    l = submit(w, "exit 0");
    c = l->c;
    assert_int_equal(removable_since(w), 0); /* the container is queued */
    RUN_UNTIL(w, manager_fixture_shim_is_gone(l));
    assert_int_equal(removable_since(w), 0); /* processes that the command has left are still in the cgroup */
    assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
    RUN_UNTIL(w, c->view.state == NM_COMPLETED);
    assert_true(removable_since(w) >= c->finished_realtime_usec);
    assert_true(removable_since(w) <= nm_realtime_usec());
}

static void test_the_time_since_which_the_node_is_removable_survives_a_restart(void **state)
{
    struct manager_fixture *w = *state;
    uint64_t since = nm_realtime_usec() - HOUR_USEC;

    w->m->removable_since_usec = since;
    nm_durable_save(w->m);
    manager_fixture_restart(w);
    assert_int_equal(removable_since(w), since);
    /* the clock was set back: since when the node is removable is unknown */
    w->m->removable_since_usec = nm_realtime_usec() + HOUR_USEC;
    nm_durable_save(w->m);
    manager_fixture_restart(w);
    assert_in_range(removable_since(w), since + HOUR_USEC, nm_realtime_usec());
}

/* A container started and ended, and nmd crashed before a round had saved this. */
static void test_a_removable_time_that_was_not_saved_is_not_used(void **state)
{
    struct manager_fixture *w = *state;
    const struct nm_container *c;
    struct nm_live_container *l;
    uint64_t ended;

    manager_fixture_start(w);
    l = submit(w, "exit 0");
    c = l->c;
    RUN_UNTIL(w, manager_fixture_shim_is_gone(l));
    assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
    RUN_UNTIL(w, c->view.state == NM_COMPLETED);
    ended = c->finished_realtime_usec;
    w->m->removable_since_usec = ended - HOUR_USEC;
    nm_durable_save(w->m);
    manager_fixture_restart(w);
    assert_int_equal(removable_since(w), ended);
}

static void test_a_node_with_unknown_cgroups_is_not_removable(void **state)
{
    struct manager_fixture *w = *state;

    w->m->unowned.orphans.n = 1; /* an unknown cgroup with processes */
    nm_removable_update(w->m);
    assert_int_equal(w->m->removable_since_usec, 0);
    w->m->unowned.orphans.n = 0;
    nm_removable_update(w->m);
    assert_true(w->m->removable_since_usec > 0);
}

/* Prints the numbers of the events as "1 2!", with a mark after an event that isn't on disk. */
static void print_event(const struct nm_event_record *e, void *userdata)
{
    fprintf(userdata, "%s%u%s", ftell(userdata) > 0 ? " " : "", (unsigned)e->number, e->is_unsaved ? "!" : "");
}

static void assert_events(struct manager_fixture *w, uint64_t after, const char *expected)
{
    char text[256] = "";
    FILE *f = fmemopen(text, sizeof text, "w");

    assert_non_null(f);
    nm_manager_foreach_event(w->m, NULL, after, print_event, f);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, expected);
}

/* Returns the descriptor of this process whose file name ends with `end`. */
static int find_descriptor(const char *end)
{
    char link[40], path[PATH_MAX];

    for (int fd = 3; fd < 1024; fd++) {
        ssize_t n;

        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        n = readlink(link, path, sizeof path - 1);
        if (n >= (ssize_t)strlen(end) && memcmp(path + n - strlen(end), end, strlen(end)) == 0)
            return fd;
    }
    fail_msg("no file *%s is open", end);
    return -1;
}

/* An event that can't be written is marked in the list, and is written as soon as the disk permits. */
static void test_an_unsaved_event_is_marked_and_written_later(void **state)
{
    struct manager_fixture *w = *state;
    const uint64_t before = nm_events_newest(w->m->events)->number;
    const int fd = find_descriptor("/events"), copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    char expected[256];

    nm_events_publish_node(w->m, "one");
    assert_int_equal(dup2(full, fd), fd);
    nm_events_publish_node(w->m, "two");
    nm_events_publish_node(w->m, "three");
    (void)snprintf(expected, sizeof expected, "%u %u! %u!", (unsigned)before + 1, (unsigned)before + 2,
                   (unsigned)before + 3);
    assert_events(w, before, expected);
    assert_int_equal(dup2(copy, fd), fd);
    assert_int_equal(close(copy) + close(full), 0);
    nm_record_store_result(w->m, 0); /* nmd writes the journal successfully */
    (void)snprintf(expected, sizeof expected, "%u %u %u", (unsigned)before + 1, (unsigned)before + 2,
                   (unsigned)before + 3);
    assert_events(w, before, expected);
    manager_fixture_restart(w);
    assert_events(w, before, expected);
}

/* Returns the flags of a directory of the fixture, or -1 (all flags) if its file system is not ext4. Then clears some
 * of the flags. */
static int flags_of(const struct manager_fixture *w, const char *name, int clear)
{
    char path[96];
    struct statfs fs;
    int fd, flags;

    (void)snprintf(path, sizeof path, "%s/state/%s", w->tree.path, name);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0 && fstatfs(fd, &fs) == 0);
    if (fs.f_type != EXT4_SUPER_MAGIC || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        flags = -1;
    else if (clear)
        assert_int_equal(ioctl(fd, FS_IOC_SETFLAGS, &(int){flags & ~clear}), 0);
    (void)close(fd);
    return flags;
}

static void test_ext4_distributes_the_directories_of_containers(void **state)
{
    struct manager_fixture *w = *state;

    assert_true(flags_of(w, "containers", 0) & FS_TOPDIR_FL);
    assert_true(flags_of(w, "logs", 0) & FS_TOPDIR_FL);
}

/* The directory may have other contents than logs. */
static void test_a_configured_directory_of_logs_is_not_marked_for_ext4(void **state)
{
    struct manager_fixture *w = *state;
    char *const configured = w->m->config->log_dir;

    if (flags_of(w, "logs", FS_TOPDIR_FL) < 0)
        skip();
    w->m->config->log_dir = w->m->log_dir;
    nm_files_prepare(w->m);
    w->m->config->log_dir = configured;
    assert_false(flags_of(w, "logs", 0) & FS_TOPDIR_FL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_housekeeping_runs_once_after_a_suspend),
        TEST(test_a_node_without_containers_is_sampled_less_often),
        TEST(test_a_kill_whose_timer_can_not_be_made_skips_the_grace_period),
        TEST(test_a_drain_whose_timer_can_not_be_made_is_refused),
        TEST(test_a_drain_until_a_restart_survives_a_crash),
        TEST(test_the_summary_has_the_figures_of_the_status),
        TEST(test_the_last_figures_count_for_a_limited_time_if_a_file_is_too_long),
        TEST(test_nmd_starts_although_the_disk_is_full),
        TEST(test_the_breaker_can_be_closed_although_the_disk_is_full),
        TEST(test_a_failed_start_is_repeated_with_the_next_sample),
        TEST(test_a_failed_start_does_not_affect_the_next_start),
        TEST(test_the_number_of_commands_run_in_containers_is_limited),
        TEST(test_a_command_is_refused_if_nmd_has_no_descriptors),
        TEST(test_rounds_for_memory_events_are_limited),
        TEST(test_an_oom_kill_is_recorded_instead_of_a_kill_for_a_deadline),
        TEST(test_user_and_group_names_are_looked_up_once),
        TEST(test_an_empty_node_is_removable),
        TEST(test_the_time_since_which_the_node_is_removable_survives_a_restart),
        TEST(test_a_removable_time_that_was_not_saved_is_not_used),
        TEST(test_a_node_with_unknown_cgroups_is_not_removable),
        TEST(test_an_unsaved_event_is_marked_and_written_later),
        TEST(test_ext4_distributes_the_directories_of_containers),
        TEST(test_a_configured_directory_of_logs_is_not_marked_for_ext4),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
