/* SPDX-License-Identifier: Apache-2.0 */

/*
 * agent/lifecycle/: freezing, thawing and reclaiming that fail, and decisions without an outcome in the journal of a
 * restarted nmd. Each row of the table in recovery-decide.c is tested.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/lifecycle/lifecycle.h"
#include "agent/journal/containers.h"
#include "agent/recovery/recovery.h"
#include "cgroup/backend-fake.h"
#include "tests/unit/manager-fixture.h"
#include "util/clock.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, manager_fixture_set_up, manager_fixture_tear_down)

/* Replaces a file of the cgroup by a directory, so that it can't be written. */
static void make_unwritable(const struct nm_live_container *l, const char *file)
{
    assert_int_equal(unlinkat(l->cg->dir_fd, file, 0), 0);
    assert_int_equal(mkdirat(l->cg->dir_fd, file, 0700), 0);
}

static void write_file(const struct nm_live_container *l, const char *file, const char *text)
{
    _cleanup_close_ int fd = openat(l->cg->dir_fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void open_decision(struct nm_live_container *l, enum nm_decision_kind kind)
{
    l->decision = (struct nm_decision){.number = 1000, .kind = kind, .reason = NM_REASON_MEMORY_OVER_BETA};
    (void)snprintf(l->decision.container_id, sizeof l->decision.container_id, "%s", l->c->id);
    l->decision_open = true;
}

static void assert_failed(const struct nm_live_container *l, const char *why)
{
    assert_false(l->decision_open);
    assert_int_equal(l->decision.outcome, NM_OUTCOME_FAILED);
    assert_non_null(strstr(l->decision.error, why));
}

/* ---- freezing -------------------------------------------------------------------------------- */

static void test_a_container_that_can_not_be_frozen_keeps_running(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_RUNNING);

    make_unwritable(l, "cgroup.freeze");
    open_decision(l, NM_DECISION_PAUSE);
    nm_act_pause(l, false);
    assert_int_equal(l->c->view.state, NM_RUNNING);
    assert_true(l->c->view.pause_deadline_usec == UINT64_MAX);
    assert_true(l->c->view.freeze_failed_usec > 0); /* from now on other containers are chosen first */
    assert_failed(l, "Is a directory");
}

static void test_a_container_that_can_not_be_thawed_stays_paused(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_PAUSED);

    make_unwritable(l, "cgroup.freeze");
    open_decision(l, NM_DECISION_RESUME);
    nm_act_resume(l);
    assert_int_equal(l->c->view.state, NM_PAUSED);
    assert_failed(l, "Is a directory");
}

static void test_a_freeze_that_takes_too_long_is_undone(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_PAUSING);

    open_decision(l, NM_DECISION_PAUSE);
    nm_freeze_given_up(l);
    assert_failed(l, "it was not frozen within 10 s");
    assert_true(l->c->view.freeze_failed_usec > 0);
    open_decision(l, NM_DECISION_KILL); /* another decision is open now, and must stay open */
    nm_freeze_given_up(l);
    assert_true(l->decision_open);
}

/* ---- reclaiming ------------------------------------------------------------------------------ */

static bool is_reclaimed(const struct nm_live_container *l)
{
    return !l->reclaim_worker.child;
}

/* A reclaim that frees no memory in its time succeeds. The decision records the measured gain. */
static void test_a_reclaim_that_frees_no_memory_succeeds(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_RUNNING);
    char text[64];

    write_file(l, "memory.swap.current", "0\n");
    write_file(l, "memory.swap.max", "0\n");
    open_decision(l, NM_DECISION_RECLAIM);
    nm_act_reclaim(l, 8 * MIB, 20 * NM_USEC_PER_MSEC);
    assert_int_equal(w->m->counters.running_reclaims, 1);
    assert_true(l->c->view.reclaiming && l->reclaim_worker.child && !l->c->view.reclaimed);
    nm_act_reclaim(l, 8 * MIB, 20 * NM_USEC_PER_MSEC); /* starts no second worker for the container */
    manager_fixture_wait(w, l, is_reclaimed);
    assert_false(l->c->view.reclaiming);
    assert_false(l->decision_open);
    assert_int_equal(l->decision.outcome, NM_OUTCOME_DONE);
    assert_true(l->regain_due);
    assert_int_equal(nm_fake_read(l->cg, "memory.swap.max", text, sizeof text), 0);
    assert_int_equal(strncmp(text, "max", 3), 0); /* memory.swap.max is limited only while the worker runs */
}

static void test_a_failed_reclaim_is_reported(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_PAUSED);

    (void)unlinkat(l->cg->dir_fd, "memory.swap.current", 0); /* as on a kernel that doesn't account swap */
    open_decision(l, NM_DECISION_RECLAIM);
    nm_act_reclaim(l, 8 * MIB, 0);
    assert_true(l->c->view.reclaimed);
    assert_int_equal(w->m->counters.running_reclaims, 0); /* not counted, because the container is paused */
    manager_fixture_wait(w, l, is_reclaimed);
    assert_failed(l, strerror(EOPNOTSUPP));
}

/* Starts a worker that hangs in the kernel, as in a write to a slow disk. Here the worker opens a pipe without a
 * reader. */
static struct nm_live_container *begin_to_hang(struct manager_fixture *w, uint64_t within_usec)
{
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_RUNNING);

    write_file(l, "memory.swap.current", "0\n");
    write_file(l, "memory.swap.max", "0\n");
    assert_int_equal(unlinkat(l->cg->dir_fd, "memory.reclaim", 0), 0);
    assert_int_equal(mkfifoat(l->cg->dir_fd, "memory.reclaim", 0600), 0);
    open_decision(l, NM_DECISION_RECLAIM);
    nm_act_reclaim(l, 8 * MIB, within_usec);
    assert_non_null(l->reclaim_worker.child);
    return l;
}

static void test_a_reclaim_that_hangs_is_killed(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = begin_to_hang(w, NM_USEC_PER_MSEC);

    manager_fixture_wait(w, l, is_reclaimed); /* nmd kills the worker at the end of its time */
    assert_true(l->reclaim_worker.late);
    assert_failed(l, "swap is too slow: ");
    assert_int_equal(nm_reclaim_bytes_per_sec(w->m), 1);
    assert_null(l->reclaim_worker.timer);
}

/* The kill of a container ends its reclaim. The decision records the gain if the reclaim ran long enough. */
static void test_the_kill_of_a_container_ends_its_reclaim(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l;

    for (unsigned late = 0; late < 2; late++) {
        l = begin_to_hang(w, 3600 * NM_USEC_PER_SEC);
        if (late)
            l->reclaim_worker.begun_usec -= NM_USEC_PER_SEC;
        nm_reclaim_supersede(l);
        if (late)
            assert_failed(l, "swap is too slow: ");
        manager_fixture_wait(w, l, is_reclaimed);
        if (!late)
            assert_failed(l, "the worker was killed");
        nm_reclaim_supersede(l); /* has no effect, because no reclaim is running */
        l->decision_open = false;
    }
}

/* The worker is reaped although its container no longer exists. */
static void test_a_worker_of_an_ended_container_is_reaped(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = begin_to_hang(w, 3600 * NM_USEC_PER_SEC);
    siginfo_t gone = {0};
    pid_t pid;

    assert_true(sd_event_source_get_child_pid(l->reclaim_worker.child, &pid) >= 0);
    l->c->view.state = NM_COMPLETED;
    nm_run_phase_set(&l->phase, NM_RUN_ENDING);
    nm_lists_remove_live(l);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &gone, WEXITED | WNOWAIT), 0);
    manager_fixture_settle(w);
    assert_int_equal(waitid(P_PID, (id_t)pid, &gone, WEXITED | WNOWAIT), -1);
    assert_int_equal(errno, ECHILD);
}

/* The worker is killed immediately if the event loop can't watch it. */
static void test_a_reclaim_that_can_not_be_watched_is_killed(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_RUNNING);

    open_decision(l, NM_DECISION_RECLAIM);
    assert_true(sd_event_exit(w->event, 0) >= 0);
    assert_true(sd_event_loop(w->event) >= 0);
    nm_act_reclaim(l, 8 * MIB, 0);
    assert_null(l->reclaim_worker.child);
    assert_false(l->c->view.reclaiming);
    assert_failed(l, strerror(ESTALE));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* ---- decisions without an outcome ------------------------------------------------------------ */

enum result { OPEN, DONE, NOT_DONE };

static const struct {
    enum nm_decision_kind kind;
    enum nm_reason reason;
    enum nm_execution_type type;
    enum nm_state state;
    bool admitted;
    enum result result;
} rows[] = {
    {NM_DECISION_ADMIT, NM_REASON_GUARANTEED, NM_GUARANTEED, NM_SCHEDULED, true, OPEN},
    {NM_DECISION_ADMIT, NM_REASON_GUARANTEED, NM_GUARANTEED, NM_SCHEDULED, false, NOT_DONE},
    {NM_DECISION_ADMIT, NM_REASON_GUARANTEED, NM_GUARANTEED, NM_RUNNING, true, DONE},
    {NM_DECISION_PAUSE, NM_REASON_CPU_OVER_BETA, NM_OPPORTUNISTIC, NM_PAUSING, true, OPEN},
    {NM_DECISION_PAUSE, NM_REASON_CPU_OVER_BETA, NM_OPPORTUNISTIC, NM_PAUSED, true, DONE},
    {NM_DECISION_PAUSE, NM_REASON_CPU_OVER_BETA, NM_OPPORTUNISTIC, NM_RUNNING, true, NOT_DONE},
    {NM_DECISION_RESUME, NM_REASON_BELOW_THRESHOLD, NM_OPPORTUNISTIC, NM_RESUMING, true, OPEN},
    {NM_DECISION_RESUME, NM_REASON_BELOW_THRESHOLD, NM_OPPORTUNISTIC, NM_RUNNING, true, DONE},
    {NM_DECISION_RESUME, NM_REASON_BELOW_THRESHOLD, NM_OPPORTUNISTIC, NM_PAUSED, true, NOT_DONE},
    {NM_DECISION_KILL, NM_REASON_MEMORY_OVER_BETA, NM_OPPORTUNISTIC, NM_KILLING, true, OPEN},
    {NM_DECISION_KILL, NM_REASON_MEMORY_OVER_BETA, NM_OPPORTUNISTIC, NM_RUNNING, true, NOT_DONE},
    {NM_DECISION_KILL, NM_REASON_KERNEL_OOM, NM_OPPORTUNISTIC, NM_RUNNING, true, OPEN},
    {NM_DECISION_SHED, NM_REASON_CPU_OVER_BETA, NM_OPPORTUNISTIC, NM_SCHEDULED, false, NOT_DONE},
    {NM_DECISION_RESTART, NM_REASON_USER, NM_GUARANTEED, NM_SCHEDULED, false, DONE},
    {NM_DECISION_RESTART, NM_REASON_USER, NM_GUARANTEED, NM_RUNNING, true, OPEN},
    {NM_DECISION_PROMOTE, NM_REASON_USER, NM_GUARANTEED, NM_RUNNING, true, DONE},
    {NM_DECISION_PROMOTE, NM_REASON_USER, NM_OPPORTUNISTIC, NM_RUNNING, true, NOT_DONE},
    {NM_DECISION_DEMOTE, NM_REASON_USER, NM_OPPORTUNISTIC, NM_RUNNING, true, DONE},
    {NM_DECISION_DEMOTE, NM_REASON_USER, NM_GUARANTEED, NM_RUNNING, true, NOT_DONE},
    {NM_DECISION_UPDATE, NM_REASON_USER, NM_GUARANTEED, NM_RUNNING, true, DONE},
    {NM_DECISION_RECLAIM, NM_REASON_MEMORY_OVER_BETA, NM_OPPORTUNISTIC, NM_PAUSED, true, NOT_DONE},
};

static void put_pending(struct manager_fixture *w, const char *id, size_t row)
{
    struct nm_decision d = {.number = 1000 + row, .kind = rows[row].kind, .reason = rows[row].reason,
                            .outcome = NM_OUTCOME_PENDING, .decided_usec = 1};

    (void)snprintf(d.container_id, sizeof d.container_id, "%s", id);
    assert_int_equal(nm_store_put_decision(w->m->store, &d), 0);
}

static void take(const struct nm_decision *d, void *userdata)
{
    *(struct nm_decision *)userdata = *d;
}

static struct nm_decision newest(struct manager_fixture *w, const char *id)
{
    struct nm_decision d = {0};

    assert_true(nm_store_load_decisions(w->m->store, id, UINT64_MAX, 1, take, &d) >= 0);
    return d;
}

static void test_a_restart_gives_each_open_decision_an_outcome(void **state)
{
    struct manager_fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        char name[16];
        struct nm_decision kept;
        struct nm_live_container *l;
        enum result result;

        (void)snprintf(name, sizeof name, "row%zu", i);
        l = manager_fixture_add(w, name, rows[i].type, rows[i].state);
        l->c->view.admitted = rows[i].admitted;
        l->c->view.reclaimed = true;
        put_pending(w, l->c->id, i);
        nm_recovery_reopen_decision(l);
        kept = newest(w, l->c->id);
        result = l->decision_open ? OPEN : kept.outcome == NM_OUTCOME_DONE ? DONE : NOT_DONE;
        if (result != rows[i].result)
            fail_msg("row %zu: %d", i, result);
        assert_int_equal(kept.outcome, result == OPEN ? NM_OUTCOME_PENDING
                                       : result == DONE  ? NM_OUTCOME_DONE : NM_OUTCOME_FAILED);
        if (result == NOT_DONE)
            assert_string_equal(kept.error, "nmd was restarted before the action was carried out");
        assert_int_equal(l->c->view.reclaimed, rows[i].kind != NM_DECISION_RECLAIM); /* a reclaim must be repeated */
    }
}

static void test_a_restart_closes_open_decisions_of_ended_containers(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_PAUSED);
    struct nm_decision d;

    nm_recovery_reopen_decision(l); /* has no effect, because there is no open decision */
    assert_false(l->decision_open);
    nm_recovery_close_decision(w->m, l->c->id, "it went");
    put_pending(w, l->c->id, 4);
    nm_recovery_close_decision(w->m, l->c->id, "it went");
    d = newest(w, l->c->id);
    assert_int_equal(d.outcome, NM_OUTCOME_FAILED);
    assert_string_equal(d.error, "it went");
    nm_recovery_close_decision(w->m, l->c->id, "it went twice");
    d = newest(w, l->c->id);
    assert_string_equal(d.error, "it went"); /* unchanged, because the decision had an outcome already */
}

/* The container is paused, but no sample has shown yet how much the pause freed. */
static void test_the_gain_of_a_pause_is_unknown_until_the_next_sample(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_PAUSED);
    struct nm_decision d = {.number = 1000, .kind = NM_DECISION_PAUSE, .outcome = NM_OUTCOME_DONE};

    (void)snprintf(d.container_id, sizeof d.container_id, "%s", l->c->id);
    assert_int_equal(nm_store_put_decision(w->m->store, &d), 0);
    nm_recovery_reopen_decision(l);
    assert_true(l->regain_due && !l->decision_open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_container_that_can_not_be_frozen_keeps_running),
        TEST(test_a_container_that_can_not_be_thawed_stays_paused),
        TEST(test_a_freeze_that_takes_too_long_is_undone),
        TEST(test_a_reclaim_that_frees_no_memory_succeeds),
        TEST(test_a_failed_reclaim_is_reported),
        TEST(test_a_reclaim_that_hangs_is_killed),
        TEST(test_the_kill_of_a_container_ends_its_reclaim),
        TEST(test_a_worker_of_an_ended_container_is_reaped),
        TEST(test_a_reclaim_that_can_not_be_watched_is_killed),
        TEST(test_a_restart_gives_each_open_decision_an_outcome),
        TEST(test_a_restart_closes_open_decisions_of_ended_containers),
        TEST(test_the_gain_of_a_pause_is_unknown_until_the_next_sample),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
