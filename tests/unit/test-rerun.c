/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A container whose owner runs another command in it, on a complete manager with real journal, shims and commands. The
 * test suites with real cgroups test which processes the end of the former run kills, since fake cgroups have no member
 * processes.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>

#include "tests/unit/manager-fixture.h"
#include "agent/journal/containers.h"
#include "cgroup/backend-fake.h"
#include "util/clock.h"
#include "util/fault.h"

#define OWNER "upstream"
#define ID "container_e17_1410901177871_0001_01_000005"
#define TEST(name) cmocka_unit_test_setup_teardown(name, manager_fixture_set_up_started, manager_fixture_tear_down_real)

static const char *const first_argv[] = {"/bin/sh", "-c", "exec sleep 1000", NULL};
static const char *const other_argv[] = {"/bin/sh", "-c", "[ \"$A\" = b ] && exec sleep 2000", NULL};
static const char *const fourth_argv[] = {"/bin/sh", "-c", "exit 4", NULL};
static const char *const other_env[] = {"A=b", NULL};

static bool is_running(const struct nm_live_container *l)
{
    return l->c->view.state == NM_RUNNING && !l->c->rerun;
}

static bool is_new(const struct nm_live_container *l)
{
    return l->c->view.state == NM_NEW;
}

static struct nm_live_container *live(const struct manager_fixture *w)
{
    struct nm_container *c = nm_lists_by_id(w->m, ID);

    assert_non_null(c);
    assert_non_null(nm_lists_live_of(c));
    return nm_lists_live_of(c);
}

static struct nm_live_container *submit(struct manager_fixture *w, enum nm_execution_type type, const char *const *argv)
{
    struct nm_submit s = {.type = type, .memory_bytes = 64 * MIB, .vcores_milli = 1000, .argv = argv, .owner = OWNER,
                          .id = ID, .blob = {(void *)(uintptr_t)"one", 3}, .cpu_is_share = true};
    struct nm_live_container *l = manager_fixture_submit_as(w, &s);

    manager_fixture_wait(w, l, is_running);
    return l;
}

static int rerun(struct manager_fixture *w, const struct nm_rerun *r)
{
    struct nm_problem p;

    return nm_manager_rerun(w->m, OWNER, ID, r, &p);
}

/* Kills the processes as the kernel would, since the fake cgroup's kill sends no signal. */
static void end_processes(struct manager_fixture *w, struct nm_live_container *l)
{
    if (l->c->pid > 0)
        (void)kill(l->c->pid, SIGKILL);
    manager_fixture_wait(w, l, manager_fixture_shim_is_gone);
    if (l->cg)
        assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
}

static void begin_next(struct manager_fixture *w, struct nm_live_container *l)
{
    struct nm_problem p;

    manager_fixture_wait(w, l, is_new);
    assert_int_equal(nm_manager_prepared(w->m, OWNER, ID, &p), 0);
    manager_fixture_wait(w, l, is_running);
}

/* ---- further runs --------------------------------------------------------------------------------- */

struct state_log {
    char states[200];
};

static void add_state(const struct nm_event *e, void *userdata)
{
    struct state_log *h = userdata;

    if (e->kind != NM_EVENT_STATE)
        return;
    strncat(h->states, nm_state_name(e->to), sizeof h->states - strlen(h->states) - 1);
    strncat(h->states, " ", sizeof h->states - strlen(h->states) - 1);
}

static void test_a_rerun_runs_another_command_in_the_same_container(void **state)
{
    struct nm_rerun r = {.argv = other_argv, .env = other_env, .blob = &(struct nm_blob){(void *)(uintptr_t)"two", 3}};
    struct nm_subscription *subscription;
    struct manager_fixture *w = *state;
    struct state_log state_log = {0};
    struct nm_live_container *l = submit(w, NM_GUARANTEED, first_argv);
    uint64_t seq = l->c->view.seq;
    pid_t pid = l->c->pid;

    assert_int_equal(nm_manager_subscribe(w->m, add_state, &state_log, &subscription), 0);
    assert_int_equal(rerun(w, &r), 0);
    assert_int_equal(l->c->view.state, NM_RUNNING);
    assert_int_equal(rerun(w, &r), NM_AGENT_E_CONFLICT);
    assert_int_equal(l->decision.kind, NM_DECISION_RESTART);
    assert_int_equal(l->decision.reason, NM_REASON_OWNER);
    end_processes(w, l);
    manager_fixture_wait(w, l, is_new);
    assert_false(fake_tree_has(&w->tree, "state/containers/" ID "/gate"));
    assert_int_equal(l->decision.outcome, NM_OUTCOME_DONE);
    begin_next(w, l);
    assert_string_equal(state_log.states, "NEW SCHEDULED RUNNING ");
    assert_ptr_equal(live(w), l);
    assert_true(l->c->pid > 0 && l->c->pid != pid);
    assert_int_equal(l->c->view.seq, seq);
    assert_int_equal(l->c->view.type, NM_GUARANTEED);
    assert_int_equal(l->c->view.request.memory_bytes, 64 * MIB);
    assert_true(l->c->view.cpu_is_share);
    assert_string_equal(l->c->command.argv[2], other_argv[2]);
    assert_memory_equal(l->c->blob.data, "two", 3);
    assert_int_equal(kill(l->c->pid, 0), 0);
    (void)nm_subscription_free(subscription);
}

/* When the second run ends, the container ends, with the figures of the second run. */
static void test_the_container_ends_with_the_result_of_the_second_run(void **state)
{
    static const char *const fails[] = {"/bin/sh", "-c", "exit 3", NULL};
    struct nm_rerun r = {.argv = fails};
    struct manager_fixture *w = *state;
    struct nm_live_container *l = submit(w, NM_GUARANTEED, first_argv);
    const struct nm_container *c = l->c;
    struct nm_problem p;

    assert_int_equal(rerun(w, &r), 0);
    end_processes(w, l);
    manager_fixture_wait(w, l, is_new);
    assert_int_equal(nm_manager_prepared(w->m, OWNER, ID, &p), 0);
    for (uint64_t end = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;
         !manager_fixture_shim_is_gone(l) && nm_now_usec() < end;)
        assert_true(sd_event_run(w->event, 100 * NM_USEC_PER_MSEC) >= 0);
    assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
    manager_fixture_settle(w);
    assert_int_equal(c->view.state, NM_COMPLETED);
    assert_int_equal(c->exit_reason, NM_EXIT_EXITED);
    assert_int_equal(c->exit_code, 3);
}

static void test_a_rerun_can_run_the_same_command_again(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = submit(w, NM_OPPORTUNISTIC, first_argv);

    assert_int_equal(rerun(w, &(struct nm_rerun){0}), 0);
    end_processes(w, l);
    begin_next(w, l);
    assert_string_equal(l->c->command.argv[2], first_argv[2]);
    assert_memory_equal(l->c->blob.data, "one", 3);
}

static void test_a_rerun_is_refused_in_states_that_do_not_permit_it(void **state)
{
    static const char *const none[] = {"", NULL};
    struct nm_rerun r = {0}, bad = {.argv = none};
    struct manager_fixture *w = *state;
    struct nm_problem p;

    assert_int_equal(rerun(w, &r), NM_AGENT_E_NOT_FOUND);
    (void)submit(w, NM_OPPORTUNISTIC, first_argv);
    assert_int_equal(nm_manager_rerun(w->m, "another", ID, &r, &p), NM_AGENT_E_NOT_FOUND);
    assert_int_equal(rerun(w, &bad), NM_AGENT_E_INVALID);
    assert_false(live(w)->c->rerun);
    assert_int_equal(nm_manager_pause(w->m, &manager_fixture_admin, ID, &p), 0);
    assert_int_equal(rerun(w, &r), NM_AGENT_E_CONFLICT);
    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, ID, true, &p), 0);
    assert_int_equal(rerun(w, &r), NM_AGENT_E_CONFLICT);
}

static void test_a_draining_node_refuses_a_rerun(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_problem p;

    (void)submit(w, NM_GUARANTEED, first_argv);
    assert_int_equal(nm_manager_drain(w->m, &manager_fixture_admin, manager_fixture_drain(UINT64_MAX), &p), 0);
    assert_int_equal(rerun(w, &(struct nm_rerun){0}), NM_AGENT_E_UNAVAILABLE);
    assert_false(live(w)->c->rerun);
}

/* A kill of the container while the former run ends prevents the next run. The container ends. */
static void test_a_kill_while_the_former_run_ends_ends_the_container(void **state)
{
    struct nm_end e = {.code = -105, .message = "its master asked for it"};
    struct manager_fixture *w = *state;
    struct nm_live_container *l = submit(w, NM_GUARANTEED, first_argv);
    const struct nm_container *c = l->c;
    struct nm_problem p;

    assert_int_equal(rerun(w, &(struct nm_rerun){0}), 0);
    assert_int_equal(nm_manager_end(w->m, OWNER, ID, &e, &p), 0);
    assert_int_equal(c->view.state, NM_KILLING);
    end_processes(w, l);
    manager_fixture_settle(w);
    assert_int_equal(c->view.state, NM_COMPLETED);
    assert_int_equal(c->exit_reason, NM_EXIT_KILLED);
    assert_int_equal(c->owner_code, -105);
}

/* ---- the owner decides on a rerun when the command exits -------------------------------------------- */

struct asked {
    struct manager_fixture *w;
    unsigned n;
    int code;
};

static void ask(const struct nm_container *c, void *userdata)
{
    struct asked *a = userdata;

    a->n++;
    a->code = c->exit_code;
    if (c->exit_code == 3)
        assert_int_equal(rerun(a->w, &(struct nm_rerun){.argv = fourth_argv}), 0);
}

static void wait_for_own_end(struct manager_fixture *w, struct nm_live_container *l)
{
    manager_fixture_wait(w, l, manager_fixture_shim_is_gone);
    assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
    manager_fixture_settle(w);
}

static void test_the_owner_is_asked_for_a_rerun_when_the_command_exits(void **state)
{
    static const char *const fails[] = {"/bin/sh", "-c", "sleep 0.2; exit 3", NULL};
    struct manager_fixture *w = *state;
    struct asked a = {.w = w};
    struct nm_live_container *l;
    const struct nm_container *c;
    struct nm_problem p;

    nm_manager_set_end_callback(w->m, OWNER, ask, &a);
    l = submit(w, NM_GUARANTEED, fails);
    c = l->c;
    wait_for_own_end(w, l);
    assert_int_equal(a.n, 1);
    assert_int_equal(a.code, 3);
    assert_int_equal(c->view.state, NM_NEW);
    assert_int_equal(c->exit_reason, NM_EXIT_NONE);
    assert_int_equal(c->exit_code, -1);
    assert_int_equal(nm_manager_prepared(w->m, OWNER, ID, &p), 0);
    wait_for_own_end(w, l);
    assert_int_equal(a.n, 2);
    assert_int_equal(c->view.state, NM_COMPLETED);
    assert_int_equal(c->exit_code, 4);
    nm_manager_set_end_callback(w->m, OWNER, NULL, NULL);
}

/* ---- restarts of nmd ------------------------------------------------------------------------------ */

static struct nm_live_container *restart(struct manager_fixture *w)
{
    manager_fixture_restart(w);
    manager_fixture_start(w);
    return live(w);
}

static void test_a_restart_of_nmd_during_the_former_run_continues_the_rerun(void **state)
{
    struct nm_rerun r = {.argv = other_argv, .env = other_env};
    struct manager_fixture *w = *state;
    struct nm_live_container *l = submit(w, NM_GUARANTEED, first_argv);
    pid_t pid = l->c->pid;

    assert_int_equal(rerun(w, &r), 0);
    l = restart(w);
    assert_true(l->c->rerun);
    assert_int_equal(l->c->pid, pid);
    end_processes(w, l);
    manager_fixture_wait(w, l, is_new);
    l = restart(w);
    assert_int_equal(l->c->view.state, NM_NEW);
    begin_next(w, l);
    assert_string_equal(l->c->command.argv[2], other_argv[2]);
    assert_string_equal(l->c->command.env[0], "A=b");
    l = restart(w);
    assert_int_equal(l->c->view.state, NM_RUNNING);
}

/* nmd crashed after it had removed the files of nm-shim, and the journal already contained the next run. */
static void test_a_crash_of_nmd_before_the_new_run_continues_the_rerun(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = submit(w, NM_GUARANTEED, first_argv);
    pid_t pid = l->c->pid;

    assert_int_equal(rerun(w, &(struct nm_rerun){0}), 0);
    w->m = nm_manager_free(w->m);
    assert_int_equal(kill(pid, SIGKILL), 0);
    while (!fake_tree_has(&w->tree, "state/containers/" ID "/record") || kill(pid, 0) == 0)
        (void)usleep(1000);
    fake_tree_unlink(&w->tree, "state/containers/" ID "/record");
    fake_tree_unlink(&w->tree, "state/containers/" ID "/gate");
    l = restart(w);
    begin_next(w, l);
    assert_true(l->c->pid != pid);
}

#ifdef NM_FAULT_INJECTION
static void run_again(struct manager_fixture *w)
{
    struct nm_live_container *l;

    manager_fixture_start(w);
    l = submit(w, NM_GUARANTEED, first_argv);
    (void)rerun(w, &(struct nm_rerun){.argv = other_argv, .env = other_env});
    end_processes(w, l);
    manager_fixture_wait(w, l, is_new);
}

static void finish_after(struct manager_fixture *w, const char *step)
{
    struct nm_problem p;
    struct nm_live_container *l;

    manager_fixture_die(w, step, run_again);
    l = restart(w);
    if (l->c->view.state != NM_NEW) {
        assert_true(l->c->rerun);
        end_processes(w, l);
    }
    begin_next(w, l);
    assert_string_equal(l->c->command.argv[2], other_argv[2]);
    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, ID, true, &p), 0);
    end_processes(w, l);
    manager_fixture_settle(w);
    (void)nm_lists_drop_ended(w->m, UINT64_MAX);
    assert_null(nm_lists_by_id(w->m, ID));
}

static void test_a_crash_of_nmd_at_each_step_continues_the_rerun(void **state)
{
    static const char *const steps[] = {"rerun-journalled", "before-term", "after-term", "term-journalled", "end-heard",
                                        "rerun-forgotten", "rerun-new"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(steps); i++)
        finish_after(*state, steps[i]);
}
#else
static void test_a_crash_of_nmd_at_each_step_continues_the_rerun(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_a_rerun_runs_another_command_in_the_same_container),
        TEST(test_the_container_ends_with_the_result_of_the_second_run),
        TEST(test_a_rerun_can_run_the_same_command_again),
        TEST(test_a_rerun_is_refused_in_states_that_do_not_permit_it),
        TEST(test_a_draining_node_refuses_a_rerun),
        TEST(test_a_kill_while_the_former_run_ends_ends_the_container),
        TEST(test_the_owner_is_asked_for_a_rerun_when_the_command_exits),
        TEST(test_a_restart_of_nmd_during_the_former_run_continues_the_rerun),
        TEST(test_a_crash_of_nmd_before_the_new_run_continues_the_rerun),
        TEST(test_a_crash_of_nmd_at_each_step_continues_the_rerun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
