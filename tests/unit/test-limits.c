/* SPDX-License-Identifier: Apache-2.0 */

/* agent/node/ on the fake backend: the kernel's limits of containers that start, pause or end while these limits
 * change. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/journal/containers.h"
#include "agent/node/cgroups.h"
#include "agent/manager/manager-internal.h"
#include "agent/priority.h"
#include "cgroup/backend-fake.h"
#include "tests/unit/manager-fixture.h"
#include "util/clock.h"
#include "util/fileio.h"

/* ---- squeeze --------------------------------------------------------------- */

static void squeeze(struct manager_fixture *w, uint64_t millicores)
{
    struct nm_policy_verdict v = {.squeeze_millicores = millicores, .squeeze_reason = NM_REASON_CPU_OVER_BETA};

    nm_limits_squeeze(w->m, &v);
    manager_fixture_settle(w);
}

/* A paused container also gets the new quota. Otherwise the container would run without the quota later, because no
 * later step sets it. */
static void test_a_paused_container_gets_the_new_quota(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *runs = manager_fixture_add(w, "runs", NM_OPPORTUNISTIC, NM_RUNNING);
    struct nm_live_container *paused = manager_fixture_add(w, "paused", NM_OPPORTUNISTIC, NM_RUNNING);
    struct nm_live_container *pausing = manager_fixture_add(w, "pausing", NM_OPPORTUNISTIC, NM_RUNNING);

    squeeze(w, 900);
    assert_file(paused, "cpu.max", "30000 100000");
    paused->c->view.state = NM_PAUSED;
    pausing->c->view.state = NM_PAUSING;
    squeeze(w, 600);
    assert_file(runs, "cpu.max", "60000 100000");
    assert_file(paused, "cpu.max", "30000 100000");
    squeeze(w, NM_NO_SQUEEZE);
    assert_file(runs, "cpu.max", "max 100000");
    assert_file(paused, "cpu.max", "max 100000");
    assert_file(pausing, "cpu.max", "max 100000");
}

/* A container in KILLING keeps its high CPU limits: no quota and no idle class is set again. */
static void test_the_cpu_limits_of_a_killed_container_remain_high(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "dies", NM_OPPORTUNISTIC, NM_RUNNING);

    squeeze(w, 500);
    l->c->view.state = NM_KILLING;
    nm_cgroup_lift_cpu_limits(l->cg);
    squeeze(w, NM_NO_SQUEEZE);
    assert_file(l, "cpu.idle", "0");
}

/* A process that is about to be killed gets more CPU time than others, so that it frees its memory soon. */
static void test_a_dying_process_gets_a_high_priority(void **state)
{
    const struct nm_priority p = {.schedule = true, .dying = true};
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip();
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    assert_int_equal(nm_priority_set(pid, &p), 0);
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid), -5);
    assert_int_equal(sched_getscheduler(pid), SCHED_OTHER);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- promises ---------------------------------------------------------------- */

static uint64_t slice_low(const struct manager_fixture *w)
{
    uint64_t is = 1;

    assert_int_equal(nm_cgroup_slice_read_low(w->m->backend, &is), 0);
    return is;
}

/* Changes of containers request a round. This round sets the slice's limits once for all changes. */
static void test_the_limits_of_the_slice_are_set_once_per_round(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l[] = {manager_fixture_add(w, "one", NM_OPPORTUNISTIC, NM_RUNNING),
                                     manager_fixture_add(w, "two", NM_OPPORTUNISTIC, NM_RUNNING)};
    unsigned calls = nm_fake_n_calls(w->m->backend, NM_FAKE_SET_SLICE_LIMITS);

    for (size_t i = 0; i < NM_ARRAY_SIZE(l); i++)
        assert_int_equal(nm_manager_promote(w->m, &manager_fixture_admin, l[i]->c->id, &(struct nm_problem){0}), 0);
    assert_true(w->m->round.triggers != 0);
    nm_round_run_requested(w->m);
    manager_fixture_settle(w);
    assert_int_equal(slice_low(w), 128 * MIB);
    assert_int_equal(nm_fake_n_calls(w->m->backend, NM_FAKE_SET_SLICE_LIMITS), calls + 1);
}

/* ---- changes during a start ---------------------------------------------------- */

static bool has_cgroup(const struct nm_live_container *l)
{
    return l->cg;
}

static bool runs(const struct nm_live_container *l)
{
    return l->c->view.state == NM_RUNNING;
}

static bool has_ended(const struct nm_live_container *l)
{
    return manager_fixture_shim_is_gone(l);
}

static void end(struct manager_fixture *w, const struct nm_live_container *l, pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    manager_fixture_wait(w, l, has_ended);
}

/* Waits for the command without running nmd's event loop. */
static pid_t wait_for_command(const struct nm_live_container *l)
{
    uint64_t deadline = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;
    struct nm_launch_record record = {0};
    char dir[NM_DIR_SIZE];

    nm_files_container_dir(l->m, l->c->id, dir);
    while (record.pid == 0 && nm_now_usec() < deadline)
        if (nm_launch_record_read(dir, &record) < 0)
            (void)poll(NULL, 0, 1);
    assert_true(record.pid > 0);
    return record.pid;
}

/* Writes the process into the fake's cgroup.procs, because no kernel moves it there. */
static void put_into_cgroup(const struct nm_live_container *l, pid_t pid)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%d\n", (int)pid);
    assert_true(nm_write_file_at(l->cg->dir_fd, "cgroup.procs", text) >= 0);
}

static long oom_score_adj(pid_t pid)
{
    char path[48], text[16];

    (void)snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
    assert_true(nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) >= 0);
    return strtol(text, NULL, 10);
}

/* Starts a guaranteed container until its cgroup exists and its gate is open. changed: demotes the container while the
 * cgroup is being created. */
static struct nm_live_container *launch(struct manager_fixture *w, bool changed)
{
    static const char *const argv[] = {"/bin/sleep", "100", NULL};
    struct nm_live_container *l = manager_fixture_submit(w, "early", NM_GUARANTEED, argv);

    nm_round_run_requested(w->m);
    assert_true(nm_run_phase_is_creating(l->phase));
    if (changed)
        assert_int_equal(nm_manager_demote(w->m, &manager_fixture_admin, "early", &(struct nm_problem){0}), 0);
    manager_fixture_wait(w, l, has_cgroup);
    return l;
}

/* The container is demoted after its OOM score was set, and after the backend got its limits. */
static void test_a_change_while_the_cgroup_is_created_takes_effect(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = launch(w, true);
    pid_t pid = wait_for_command(l);

    put_into_cgroup(l, pid);
    manager_fixture_wait(w, l, runs);
    manager_fixture_settle(w);
    assert_file(l, "cpu.idle", "1");
    assert_file(l, "memory.low", "0");
    assert_int_equal(oom_score_adj(pid), 1000);
    end(w, l, pid);
}

/* The container is changed when its cgroup exists, but before the command is in the cgroup. */
static void test_a_change_before_the_command_starts_takes_effect(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = launch(w, false);
    pid_t pid = wait_for_command(l);

    assert_int_equal(nm_manager_demote(w->m, &manager_fixture_admin, "early", &(struct nm_problem){0}), 0);
    put_into_cgroup(l, pid);
    assert_true(oom_score_adj(pid) < 1000);
    manager_fixture_wait(w, l, runs);
    assert_file(l, "cpu.idle", "1");
    assert_int_equal(oom_score_adj(pid), 1000);
    end(w, l, pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_dying_process_gets_a_high_priority),
        cmocka_unit_test_setup_teardown(test_a_paused_container_gets_the_new_quota, manager_fixture_set_up,
                                        manager_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_the_cpu_limits_of_a_killed_container_remain_high, manager_fixture_set_up,
                                        manager_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_the_limits_of_the_slice_are_set_once_per_round, manager_fixture_set_up,
                                        manager_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_a_change_while_the_cgroup_is_created_takes_effect, manager_fixture_set_up,
                                        manager_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_a_change_before_the_command_starts_takes_effect, manager_fixture_set_up,
                                        manager_fixture_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
