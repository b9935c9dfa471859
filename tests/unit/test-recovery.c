/* SPDX-License-Identifier: Apache-2.0 */

/*
 * agent/recovery/recovery.c: a restarted nmd restores containers from the journal, from cgroups that still exist after
 * the end of the former nmd, and from the files of nm-shim. The process of the test takes the part of each live
 * nm-shim.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>

#include "agent/journal/containers.h"
#include "agent/node/cgroups.h"
#include "agent/recovery/recovery.h"
#include "agent/store/container-snapshot.h"
#include "cgroup/backend-fake.h"
#include "tests/unit/persistent-cgroups.h"
#include "util/clock.h"
#include "util/fileio.h"

#define HOUR_USEC (3600 * NM_USEC_PER_SEC)
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static char word[] = "/bin/it", someone[] = "someone", nowhere[] = "";
static char *words[] = {word, NULL};

static int set_up(void **state)
{
    if (manager_fixture_set_up(state) < 0)
        return -1;
    persistent_cgroups(*state);
    manager_fixture_restart(*state);
    return 0;
}

static int tear_down(void **state)
{
    persistent_cgroups(NULL);
    return manager_fixture_tear_down(state);
}

static uint64_t own_start_ticks(void)
{
    char text[1024], *p;

    assert_true(nm_read_file_at(AT_FDCWD, "/proc/self/stat", text, sizeof text, NULL) >= 0);
    p = strrchr(text, ')');
    for (unsigned i = 0; i < 20; i++)
        p = strchr(p + 1, ' ');
    return strtoull(p + 1, NULL, 10);
}

static void fill(struct nm_container *c, bool lives)
{
    const struct nm_command command = {.argv = words, .user = someone, .workdir = nowhere};

    assert_int_equal(nm_command_copy(&command, &c->command), 0);
    c->vcores_milli = 1000;
    c->submitted_realtime_usec = c->started_realtime_usec = nm_realtime_usec() - HOUR_USEC;
    c->shim_pid = lives ? getpid() : 1000000000;
    c->shim_start_ticks = lives ? own_start_ticks() : 1;
}

/* Adds a container to the journal, and makes its cgroup. */
static struct nm_live_container *add(struct manager_fixture *w, const char *name, enum nm_execution_type type,
                                     enum nm_state state,
                                     bool shim_lives)
{
    struct nm_live_container *l = manager_fixture_add(w, name, type, state);

    fill(l->c, shim_lives);
    assert_int_equal(nm_persist_journal(l), 0);
    return l;
}

static void leave_record(struct manager_fixture *w, const char *id, const struct nm_launch_record *r)
{
    char text[NM_LAUNCH_RECORD_SIZE];

    assert_true(nm_launch_record_print(r, text, sizeof text) >= 0);
    manager_fixture_leave_file(w, id, NM_LAUNCH_RECORD_FILE, text);
}

static bool has_dir(struct manager_fixture *w, const char *id)
{
    char name[160];

    (void)snprintf(name, sizeof name, "state/containers/%s", id);
    return fake_tree_has(&w->tree, name);
}

static const struct nm_container *named(struct manager_fixture *w, const char *name)
{
    for (size_t i = 0; i < w->m->ended.n; i++)
        if (nm_streq(w->m->ended.all[i]->name, name))
            return w->m->ended.all[i];
    assert_non_null(manager_fixture_find(w, name));
    return manager_fixture_find(w, name)->c;
}

/* ---- states ------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    enum nm_execution_type type;
    enum nm_state state;
    bool frozen, rerun, graceful;
    enum nm_state after;
    char freeze; /* the expected content of cgroup.freeze after the restart */
    bool killed;
} states[] = {
    {"pausing", NM_OPPORTUNISTIC, NM_PAUSING, .after = NM_PAUSING, .freeze = '1'},
    {"pausing-frozen", NM_OPPORTUNISTIC, NM_PAUSING, .frozen = true, .after = NM_PAUSED, .freeze = '1'},
    {"resuming", NM_OPPORTUNISTIC, NM_RESUMING, .after = NM_RUNNING, .freeze = '0'},
    {"paused", NM_OPPORTUNISTIC, NM_PAUSED, .frozen = true, .after = NM_PAUSED, .freeze = '1'},
    {"paused-thawed", NM_OPPORTUNISTIC, NM_PAUSED, .after = NM_RUNNING, .freeze = '0'},
    {"runs", NM_GUARANTEED, NM_RUNNING, .after = NM_RUNNING, .freeze = '0'},
    {"runs-frozen", NM_OPPORTUNISTIC, NM_RUNNING, .frozen = true, .after = NM_PAUSED, .freeze = '1'},
    {"guaranteed-frozen", NM_GUARANTEED, NM_RUNNING, .frozen = true, .after = NM_RUNNING, .freeze = '0'},
    {"being-killed", NM_OPPORTUNISTIC, NM_KILLING, .after = NM_KILLING, .freeze = '0', .killed = true},
    {"being-killed-frozen", NM_OPPORTUNISTIC, NM_KILLING, .frozen = true, .graceful = true, .after = NM_KILLING,
     .freeze = '1', .killed = true},
    {"told-to-end", NM_OPPORTUNISTIC, NM_KILLING, .graceful = true, .after = NM_KILLING, .freeze = '0'},
    {"to-run-again", NM_GUARANTEED, NM_RUNNING, .rerun = true, .after = NM_RUNNING, .freeze = '0', .killed = true},
};

static void test_each_container_state_is_restored(void **state)
{
    struct manager_fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(states); i++) {
        struct nm_live_container *l = add(w, states[i].name, states[i].type, states[i].state, true);

        l->events_watch = nm_cgroup_watch_free(l->events_watch); /* prevents that the first nmd notices the change */
        l->c->rerun = states[i].rerun;
        l->c->view.kill_deadline_usec = states[i].graceful ? nm_now_usec() + HOUR_USEC : 1;
        l->c->kill_reason = states[i].state == NM_KILLING ? NM_EXIT_KILLED : NM_EXIT_NONE;
        assert_true(nm_write_file_at(l->cg->dir_fd, "cgroup.freeze", states[i].frozen ? "1" : "0") >= 0);
        assert_int_equal(nm_fake_set_events(l->cg, true, states[i].frozen), 0);
        assert_int_equal(nm_persist_journal(l), 0);
    }
    manager_fixture_restart(w);
    assert_int_equal(w->m->live.n, NM_ARRAY_SIZE(states));
    for (size_t i = 0; i < NM_ARRAY_SIZE(states); i++) {
        struct nm_live_container *l = manager_fixture_find(w, states[i].name);
        char text[16];

        if (l->c->view.state != states[i].after || nm_run_phase_is_killed(l->phase) != states[i].killed)
            fail_msg("%s: %s", states[i].name, nm_state_name(l->c->view.state));
        assert_true(l->run.adopted && l->launch && l->cg);
        assert_int_equal(nm_fake_read(l->cg, "cgroup.freeze", text, sizeof text), 0);
        if (text[0] != states[i].freeze)
            fail_msg("%s: %c", states[i].name, text[0]);
    }
    assert_true(manager_fixture_find(w, "runs-frozen")->c->view.pause_deadline_usec < UINT64_MAX);
    assert_non_null(manager_fixture_find(w, "told-to-end")->kill.timer);
}

/* The limits are compared in turns after the start. A container that is being killed keeps its limits. */
static void test_limits_are_restored_after_the_start(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it", NM_GUARANTEED, NM_RUNNING, true),
                             *dies = add(w, "dies", NM_GUARANTEED, NM_KILLING, true);

    dies->c->kill_reason = NM_EXIT_KILLED;
    assert_int_equal(nm_persist_journal(dies), 0);
    assert_true(nm_write_file_at(l->cg->dir_fd, "memory.max", "1234567936") >= 0);
    assert_true(nm_write_file_at(dies->cg->dir_fd, "memory.max", "1234567936") >= 0);
    manager_fixture_restart(w);
    l = manager_fixture_find(w, "it");
    dies = manager_fixture_find(w, "dies");
    assert_int_equal(l->limits.memory_max_bytes, 64 * MIB);
    assert_false(l->restore_due || dies->restore_due);
    assert_null(w->m->timers.restore);
    assert_file(l, "memory.max", "67108864");
    assert_file(dies, "memory.max", "1234567936");
}

static int64_t journalled_memory(const struct manager_fixture *w, const char *name)
{
    return manager_fixture_journalled(w, "containers", "measured_memory_bytes", manager_fixture_find(w, name)->c->id);
}

/* A row whose container is found as the journal says is not written again. Measurements show which row was written. */
static void test_only_rows_that_have_changed_are_written(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *same = add(w, "same", NM_GUARANTEED, NM_RUNNING, true),
                             *changed = add(w, "changed", NM_OPPORTUNISTIC, NM_PAUSED, true);

    same->c->view.measured.memory_bytes = changed->c->view.measured.memory_bytes = 12345;
    assert_int_equal(nm_persist_journal(same), 0);
    assert_int_equal(nm_persist_journal(changed), 0);
    assert_int_equal(nm_fake_set_events(changed->cg, true, false), 0); /* another process has thawed it */
    manager_fixture_restart(w);
    assert_int_equal(manager_fixture_find(w, "changed")->c->view.state, NM_RUNNING);
    assert_int_equal(journalled_memory(w, "same"), 12345);
    assert_int_not_equal(journalled_memory(w, "changed"), 12345);
}

/* ---- interrupted starts ------------------------------------------------------------------------ */

static struct nm_live_container *add_admitted(struct manager_fixture *w, const char *name)
{
    return add(w, name, NM_GUARANTEED, NM_SCHEDULED, false);
}

static void test_starts_that_a_restart_interrupted_are_continued(void **state)
{
    const struct nm_launch_record began = {.phase = NM_LAUNCH_STARTED, .pid = 1000000000, .started_usec = 7,
                                           .started_realtime_usec = 8};
    const struct nm_launch_record failed = {.phase = NM_LAUNCH_ENDED, .failed_stage = NM_LAUNCH_STAGE_EXEC,
                                            .failed_errno = ENOENT};
    struct manager_fixture *w = *state;
    struct nm_live_container *began_l = add_admitted(w, "began"), *past_gate = add_admitted(w, "past-gate"),
                   *could_not = add_admitted(w, "could-not"), *nothing = add_admitted(w, "nothing");

    leave_record(w, began_l->c->id, &began);
    manager_fixture_leave_file(w, past_gate->c->id, NM_LAUNCH_GATE_FILE, "");
    leave_record(w, could_not->c->id, &failed);
    assert_int_equal(nm_fake_set_events(could_not->cg, false, false), 0);
    assert_int_equal(nm_fake_set_events(nothing->cg, false, false), 0);
    for (size_t i = 0; i < w->m->live.n; i++)
        assert_int_equal(nm_persist_journal(w->m->live.all[i]), 0);
    manager_fixture_restart(w);
    assert_int_equal(manager_fixture_find(w, "began")->c->pid, 1000000000);
    assert_int_equal(manager_fixture_find(w, "began")->c->view.started_usec, 7);
    assert_int_equal(named(w, "began")->view.state, NM_RUNNING);
    /* nm-shim has exited, and processes of the command remain */
    assert_true(nm_run_phase_is_killed(manager_fixture_find(w, "began")->phase));
    assert_int_equal(named(w, "past-gate")->view.state, NM_RUNNING);
    assert_int_equal(named(w, "could-not")->view.state, NM_COMPLETED);
    assert_int_equal(named(w, "could-not")->exit_reason, NM_EXIT_NOT_FOUND);
    assert_int_equal(named(w, "nothing")->view.state, NM_SCHEDULED);
    assert_false(named(w, "nothing")->view.admitted);
    manager_fixture_find(w, "began")->c->pid = 0;
}

/* ---- cgroups ----------------------------------------------------------------------------------- */

/* The cgroup with the container's name has another inode number, so another program has created it. */
static void test_a_cgroup_with_another_inode_is_not_adopted(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it", NM_OPPORTUNISTIC, NM_RUNNING, true);
    char id[NM_ID_SIZE];

    memcpy(id, l->c->id, sizeof id);
    l->c->cgroup_inode++;
    assert_int_equal(nm_persist_journal(l), 0);
    manager_fixture_restart(w);
    l = manager_fixture_find(w, "it");
    assert_non_null(l);
    assert_null(l->cg);
    assert_true(persistent_cgroups_has(w, id));
    assert_int_equal(w->m->unowned.orphans.n, 0);
}

static void test_cgroups_without_a_row_in_the_journal_are_reported(void **state)
{
    struct manager_fixture *w = *state;
    const struct nm_submit s = {.id = "container_e1_1_0001", .owner = "upstream", .argv = (const char *const *)words};
    const struct nm_container *c;
    struct nm_problem problem;
    struct nm_status status;
    char text[16];

    persistent_cgroups_add(w, "container_99_000001", true, true);
    persistent_cgroups_add(w, "container_99_000002", false, false);
    persistent_cgroups_add(w, "container_e1_1_0001", true, false);
    manager_fixture_restart(w);
    assert_int_equal(w->m->unowned.orphans.n, 2);
    assert_false(persistent_cgroups_has(w, "container_99_000002")); /* a cgroup without processes is removed */
    for (size_t i = 0; i < w->m->unowned.orphans.n; i++) {
        assert_int_equal(nm_fake_read(w->m->unowned.orphans.all[i], "cgroup.freeze", text, sizeof text), 0);
        assert_int_equal(text[0], '0');
    }
    nm_manager_get_status(w->m, &status);
    assert_int_equal(status.removable_since_realtime_usec, 0);
    assert_int_equal(manager_fixture_try(w, &s, &c, &problem), NM_AGENT_E_CONFLICT);
    persistent_cgroups_set(w, "container_99_000001", false, false);
    nm_fake_fail_next(w->m->backend, NM_FAKE_REMOVE, -EBUSY); /* one call doesn't remove all cgroups below it */
    nm_recovery_check_orphans(w->m);
    assert_int_equal(w->m->unowned.orphans.n, 1);
    nm_cgroups_remove_leftovers(w->m);
    assert_false(persistent_cgroups_has(w, "container_99_000001"));
    persistent_cgroups_set(w, "container_e1_1_0001", false, false);
    nm_recovery_check_orphans(w->m);
    nm_manager_get_status(w->m, &status);
    assert_true(status.removable_since_realtime_usec > 0);
}

/* ---- files without a row in the journal -------------------------------------------------------- */

static void remove_journal(struct manager_fixture *w)
{
    w->m = nm_manager_free(w->m);
    fake_tree_unlink(&w->tree, "state/nmd.db");
    manager_fixture_restart(w);
}

/* After the journal is lost, the snapshots in the containers' directories still exist. */
static void test_after_the_loss_of_the_journal_snapshots_are_used(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *runs = add(w, "runs", NM_OPPORTUNISTIC, NM_RUNNING, true);
    struct nm_live_container *waits = add(w, "waits", NM_OPPORTUNISTIC, NM_SCHEDULED, false);
    char foreign[NM_ID_SIZE], boot_id[sizeof w->m->journal.boot_id];

    waits->c->view.admitted = false;
    assert_int_equal(nm_fake_set_events(waits->cg, false, false), 0);
    assert_int_equal(nm_persist_write_snapshot(runs), 0);
    assert_int_equal(nm_persist_write_snapshot(waits), 0);
    memcpy(boot_id, w->m->journal.boot_id, sizeof boot_id);
    strcpy(w->m->journal.boot_id, "another boot");
    assert_int_equal(nm_persist_write_snapshot(add(w, "of-before", NM_OPPORTUNISTIC, NM_RUNNING, false)), 0);
    memcpy(w->m->journal.boot_id, boot_id, sizeof boot_id);
    memcpy(foreign, "container_98_000001", 20);
    manager_fixture_leave_file(w, foreign, NM_SNAPSHOT_FILE, "{}");
    remove_journal(w);
    assert_int_equal(named(w, "runs")->view.state, NM_RUNNING);
    assert_non_null(manager_fixture_find(w, "runs")->cg);
    assert_int_equal(named(w, "of-before")->view.state, NM_COMPLETED);
    assert_int_equal(named(w, "of-before")->exit_reason, NM_EXIT_LOST);
    assert_string_equal(named(w, "of-before")->message, "the host was rebooted while it ran");
    assert_true(has_dir(w, foreign)); /* if the journal is lost, an unknown directory may belong to a container */
    manager_fixture_restart(w);
    assert_int_equal(named(w, "runs")->view.state, NM_RUNNING);
    assert_int_equal(named(w, "of-before")->exit_reason, NM_EXIT_LOST);
}

/* nmd crashed after writing the row and before creating the container's directory. */
static void test_a_container_without_a_directory_is_restored_from_its_row(void **state)
{
    struct manager_fixture *w = *state;
    char id[NM_ID_SIZE];

    nm_id_print(w->m->journal.opened.epoch, 1, id);
    (void)add(w, "later", NM_OPPORTUNISTIC, NM_RUNNING, true);
    (void)add(w, "last", NM_OPPORTUNISTIC, NM_RUNNING, true);
    manager_fixture_restart(w);
    nm_id_print(w->m->journal.opened.epoch, 0, id);
    manager_fixture_leave_file(w, id, NM_LAUNCH_GATE_FILE, "");
    manager_fixture_restart(w);
    assert_false(has_dir(w, id));
    assert_int_equal(w->m->live.n, 2);
}

/* ---- another boot ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    enum nm_state state;
    bool admitted;
    uint64_t inode;
    const char *lost; /* NULL: the container stays queued */
    const char *crashed;
} boots[] = {
    {"waits", NM_SCHEDULED, .crashed = "the host was rebooted while it waited in the queue"},
    {"prepared", NM_LOCALIZING, .crashed = "the host was rebooted while it was being prepared"},
    {"admitted", NM_SCHEDULED, .admitted = true, .crashed = "the host was rebooted while it was being started"},
    {"started", NM_SCHEDULED, .admitted = true, .inode = 1, .lost = "the host was rebooted while it was being started"},
    {"runs", NM_RUNNING, .admitted = true, .inode = 1, .lost = "the host was rebooted while it ran"},
    {"paused", NM_PAUSED, .admitted = true, .inode = 1, .lost = "the host was rebooted while it was paused"},
    {"killed", NM_KILLING, .admitted = true, .inode = 1, .lost = "the host was rebooted while it was being killed"},
};

/* Leaves a journal of an earlier boot. The nmd of that boot has either closed the journal or crashed. */
static void leave_journal(struct manager_fixture *w, bool crashed)
{
    struct nm_store_opened opened;
    struct nm_store *store;

    w->m = nm_manager_free(w->m);
    fake_tree_unlink(&w->tree, "state/nmd.db");
    assert_int_equal(nm_store_open(w->state, "another boot", &store, &opened), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(boots) + 1; i++) {
        const struct nm_launch_record ended = {.phase = NM_LAUNCH_ENDED, .pid = 7, .exit_code = 5, .ended_usec = 1,
                                               .ended_realtime_usec = nm_realtime_usec() - HOUR_USEC};
        bool has_record = i == NM_ARRAY_SIZE(boots);
        _cleanup_(nm_container_freep) struct nm_container *c = NULL;

        assert_int_equal(nm_container_new(&c), 0);
        fill(c, false);
        c->view.seq = i + 1;
        nm_id_print(opened.epoch, c->view.seq, c->id);
        (void)snprintf(c->name, sizeof c->name, "%s", has_record ? "ended" : boots[i].name);
        (void)snprintf(c->owner, sizeof c->owner, "local");
        c->view.type = NM_OPPORTUNISTIC;
        c->view.request = (struct nm_resources){.memory_bytes = 64 * MIB, .cpu_millicores = 1000};
        c->view.state = has_record ? NM_RUNNING : boots[i].state;
        c->view.admitted = has_record || boots[i].admitted;
        c->view.pause_deadline_usec = UINT64_MAX;
        c->cgroup_inode = has_record ? 1 : boots[i].inode;
        if (has_record)
            leave_record(w, c->id, &ended);
        assert_int_equal(nm_store_put_container(store, c), 0);
    }
    nm_store_mark_open(store);
    if (!crashed)
        nm_store_free(store);
}

/* Leaves a journal whose nmd crashed. A process that is killed doesn't close its store. */
static void leave_journal_in_a_crash(struct manager_fixture *w)
{
    int status;
    pid_t pid;

    w->m = nm_manager_free(w->m);
    pid = fork();
    if (pid == 0) {
        leave_journal(w, true);
        (void)kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static void assert_boot(struct manager_fixture *w, size_t i, const char *lost)
{
    const struct nm_container *c = named(w, boots[i].name);

    if (!lost) {
        assert_true(nm_policy_container_is_waiting(&c->view));
        assert_false(c->view.admitted);
        return;
    }
    assert_int_equal(c->view.state, NM_COMPLETED);
    assert_int_equal(c->exit_reason, NM_EXIT_LOST);
    assert_string_equal(c->message, lost);
}

static void test_after_a_reboot_running_containers_are_reported_as_lost(void **state)
{
    struct manager_fixture *w = *state;

    for (unsigned crashed = 0; crashed < 2; crashed++) {
        if (crashed)
            leave_journal_in_a_crash(w);
        else
            leave_journal(w, false);
        manager_fixture_restart(w);
        for (size_t i = 0; i < NM_ARRAY_SIZE(boots); i++)
            assert_boot(w, i, boots[i].lost ?: crashed ? boots[i].crashed : NULL);
        assert_int_equal(named(w, "ended")->exit_code, 5);
        assert_int_equal(named(w, "ended")->exit_reason, NM_EXIT_EXITED);
        assert_true(named(w, "ended")->finished_usec <= nm_now_usec());
    }
    manager_fixture_restart(w); /* another restart of nmd changes no data */
    assert_int_equal(named(w, "ended")->exit_code, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_each_container_state_is_restored),
        TEST(test_limits_are_restored_after_the_start),
        TEST(test_only_rows_that_have_changed_are_written),
        TEST(test_starts_that_a_restart_interrupted_are_continued),
        TEST(test_a_cgroup_with_another_inode_is_not_adopted),
        TEST(test_cgroups_without_a_row_in_the_journal_are_reported),
        TEST(test_after_the_loss_of_the_journal_snapshots_are_used),
        TEST(test_a_container_without_a_directory_is_restored_from_its_row),
        TEST(test_after_a_reboot_running_containers_are_reported_as_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
