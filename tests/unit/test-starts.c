/* SPDX-License-Identifier: Apache-2.0 */

/* agent/lifecycle/container-start.c with real shims: starts that fail, and the reason of each failure. */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/resource.h>

#include "agent/journal/containers.h"
#include "agent/manager/manager-internal.h"
#include "agent/lifecycle/lifecycle-internal.h"
#include "cgroup/backend-fake.h"
#include "tests/unit/manager-fixture.h"
#include "util/clock.h"
#include "util/loop.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, manager_fixture_set_up_started, manager_fixture_tear_down_real)

/* Submits a container whose command creates a file if it runs. */
static struct nm_live_container *submit(struct manager_fixture *w)
{
    static char script[128];
    static const char *argv[] = {"/bin/sh", "-c", script, NULL};

    (void)snprintf(script, sizeof script, "> %s/ran", w->tree.path);
    return manager_fixture_submit(w, "it", NM_GUARANTEED, argv);
}

static void run_to_end(struct manager_fixture *w, const struct nm_container *c)
{
    uint64_t deadline = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;

    while (c->view.state != NM_COMPLETED && nm_now_usec() < deadline) {
        const struct nm_live_container *l = nm_lists_live_of(c);

        if (l->cg && (manager_fixture_shim_is_gone(l) || nm_run_phase_is_killed(l->phase)))
            assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
        assert_true(sd_event_run(w->event, 10 * NM_USEC_PER_MSEC) >= 0);
    }
    assert_int_equal(c->view.state, NM_COMPLETED);
    assert_false(fake_tree_has(&w->tree, "ran"));
}

static void assert_launch_failed(struct manager_fixture *w, const struct nm_container *c, const char *substring)
{
    run_to_end(w, c);
    assert_int_equal(c->exit_reason, NM_EXIT_LAUNCH_FAILED);
    if (!strstr(c->message, substring))
        fail_msg("%s", c->message);
}

static void test_a_kill_during_the_creation_of_the_cgroup_ends_the_container(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = submit(w);
    const struct nm_container *c = l->c;

    nm_round_run_requested(w->m);
    assert_true(nm_run_phase_is_creating(l->phase));
    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, c->id, true, &(struct nm_problem){0}), 0);
    assert_int_equal(l->phase, NM_RUN_KILL_PENDING);
    run_to_end(w, c);
    assert_int_equal(c->exit_reason, NM_EXIT_KILLED);
}

static void test_a_cgroup_that_can_not_be_made_ends_the_container(void **state)
{
    struct manager_fixture *w = *state;
    const struct nm_container *c = submit(w)->c;

    nm_fake_fail_next(w->m->backend, NM_FAKE_CREATE, -EIO);
    assert_launch_failed(w, c, "the test said so");
}

/* Neither the journal nor the snapshot can record the shim, so nmd doesn't let the shim start the command. The
 * container starts when the disk has free space again. */
static void test_no_command_is_started_if_its_shim_can_not_be_recorded(void **state)
{
    const struct rlimit none = {0, RLIM_INFINITY}, any = {RLIM_INFINITY, RLIM_INFINITY};
    struct manager_fixture *w = *state;
    struct nm_live_container *l = submit(w);
    uint64_t deadline = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;

    nm_round_run_requested(w->m);
    assert_true(nm_run_phase_is_creating(l->phase));
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    while (l->c->view.admitted && nm_now_usec() < deadline) {
        assert_true(sd_event_run(w->event, 10 * NM_USEC_PER_MSEC) >= 0);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, l->cg ? &any : &none), 0);
        if (l->cg)
            assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &any), 0);
    assert_int_equal(l->c->view.state, NM_SCHEDULED);
    assert_false(l->c->view.admitted);
    assert_int_equal(l->c->shim_pid, 0);
    assert_string_equal(l->decision.error, "it could not be started at that time and was queued again");
    assert_false(fake_tree_has(&w->tree, "ran"));
}

static void test_a_container_without_a_path_for_logs_does_not_start(void **state)
{
    struct manager_fixture *w = *state;
    const struct nm_container *c = submit(w)->c;
    char *longest = malloc(4090);

    memset(longest, 'x', 4089);
    longest[4089] = '\0';
    free(w->m->log_dir);
    w->m->log_dir = longest;
    assert_launch_failed(w, c, "the shim could not be started: File name too long");
}

static void test_a_missing_nm_shim_program_ends_the_container(void **state)
{
    struct manager_fixture *w = *state;
    const struct nm_container *c = submit(w)->c;

    w->m->starts->shim_fd = nm_close(w->m->starts->shim_fd);
    free(w->m->starts->shim_path);
    w->m->starts->shim_path = strdup("/nowhere/nm-shim");
    assert_launch_failed(w, c, "the shim could not be started: No such file or directory");
}

/* The administrator made the rules for users stricter while the container was queued. */
static void test_a_queued_container_of_a_user_no_longer_allowed_is_not_started(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = submit(w);
    const struct nm_container *c = l->c;

    l->c->submitter_uid = 3999999999;
    w->m->config->min_uid = UINT32_MAX;
    run_to_end(w, c);
    assert_int_equal(c->exit_reason, NM_EXIT_BAD_USER);
    assert_non_null(strstr(c->message, "min-uid"));
}

/* ---- many starts -------------------------------------------------------------------------- */

/* more containers than any machine can start in one turn of the event loop */
#define MANY 60U

static struct nm_live_container **submit_many(struct manager_fixture *w)
{
    static const char *argv[] = {"/bin/sleep", "600", NULL};
    static struct nm_live_container *all[MANY];

    for (unsigned i = 0; i < MANY; i++) {
        char name[16];
        const struct nm_submit s = {
            .type = NM_GUARANTEED, .name = name, .memory_bytes = MIB, .vcores_milli = 10, .argv = argv};

        (void)snprintf(name, sizeof name, "many-%u", i);
        all[i] = manager_fixture_submit_as(w, &s);
    }
    return all;
}

static unsigned count_due(struct nm_live_container *const *all)
{
    unsigned n = 0;

    for (unsigned i = 0; i < MANY; i++) {
        assert_true(all[i]->c->view.admitted);
        assert_true(nm_start_is_due(all[i]) == !all[i]->c->shim_pid);
        assert_false(n > 0 && !nm_start_is_due(all[i])); /* containers start in the order of the queue */
        n += nm_start_is_due(all[i]);
    }
    return n;
}

static int on_request(sd_event_source *s, void *userdata)
{
    unsigned *n = userdata;

    ++*n;
    return nm_loop_schedule_work(s);
}

/* Between the starts, a work source that is always ready and a sample that is due get their turns. Neither of them
 * stops the starts. */
static void test_other_work_gets_turns_between_many_starts(void **state)
{
    _cleanup_(sd_event_source_disable_unrefp) sd_event_source *request = NULL;
    struct manager_fixture *w = *state;
    struct nm_live_container **all = submit_many(w);
    unsigned due, before, requests = 0, turns = 0, samples = 0;
    uint64_t deadline = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;

    nm_round_run_requested(w->m);
    due = before = count_due(all);
    assert_in_range(due, 1, MANY - 1);
    assert_int_equal(nm_loop_add_work(w->event, "request", on_request, &requests, &request), 0);
    assert_int_equal(nm_loop_schedule_work(request), 0);
    nm_round_request(w->m, NM_TRIGGER_EXTRA_SAMPLE);
    for (; due > 0 && nm_now_usec() < deadline; before = due) {
        uint64_t sampled = w->m->counters.samples;

        assert_true(sd_event_run(w->event, 10 * NM_USEC_PER_MSEC) >= 0);
        due = count_due(all);
        turns += due < before;
        samples += due > 0 && w->m->counters.samples > sampled;
        assert_true(requests + 1 >= turns);
    }
    assert_int_equal(due, 0);
    assert_true(turns > 1);
    assert_int_equal(samples, 1);
}

static void test_a_container_killed_before_its_start_runs_no_command(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container **all = submit_many(w);
    const struct nm_container *last = all[MANY - 1]->c, *other = all[MANY - 2]->c;
    uint64_t deadline = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;

    nm_round_run_requested(w->m);
    assert_true(nm_start_is_due(all[MANY - 1]));
    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, last->id, false, &(struct nm_problem){0}), 0);
    while ((last->view.state != NM_COMPLETED || !other->pid) && nm_now_usec() < deadline)
        assert_true(sd_event_run(w->event, 10 * NM_USEC_PER_MSEC) >= 0);
    assert_int_equal(last->view.state, NM_COMPLETED);
    assert_int_equal(last->exit_reason, NM_EXIT_KILLED);
    assert_int_equal(last->shim_pid, 0);
    assert_int_equal(last->pid, 0);
    assert_true(other->pid > 0);
    assert_null(w->m->starts->queue.first);
}

/* A container of another user starts after the first container of this user, and not after all containers of this user.
 * The same applies to applications. */
static void test_starts_of_different_users_take_turns(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container **all = submit_many(w);
    const struct nm_container *first = all[0]->c, *second = all[1]->c;
    struct nm_container *other = all[MANY - 1]->c, *of_app = all[MANY - 2]->c;
    uint64_t deadline = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;

    other->submitter_uid = other->command.uid = other->command.gid = 65534;
    (void)snprintf(of_app->owner, sizeof of_app->owner, "cluster");
    (void)snprintf(of_app->app, sizeof of_app->app, "app");
    nm_round_run_requested(w->m);
    while (w->m->starts->queue.first && nm_now_usec() < deadline)
        assert_true(sd_event_run(w->event, 10 * NM_USEC_PER_MSEC) >= 0);
    assert_null(w->m->starts->queue.first);
    if (first->shim_pid > second->shim_pid)
        skip(); /* the kernel's pid counter wrapped in the meantime */
    assert_in_range(of_app->shim_pid, first->shim_pid, second->shim_pid);
    assert_in_range(other->shim_pid, first->shim_pid, second->shim_pid);
}

/* A user gets the same number of turns with many applications as with one application. */
static void assert_turns_of_users(struct manager_fixture *w, uid_t submitter_of_others)
{
    struct nm_live_container **all = submit_many(w);
    struct nm_container *c[4] = {all[0]->c, all[1]->c, all[MANY - 2]->c, all[MANY - 1]->c};
    uint64_t deadline = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;

    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(all[i]->c->owner, sizeof all[i]->c->owner, "cluster");
        (void)snprintf(all[i]->c->app, sizeof all[i]->c->app, "app-%u", i);
    }
    for (unsigned i = 2; i < 4; i++) {
        c[i]->submitter_uid = submitter_of_others;
        c[i]->command.uid = c[i]->command.gid = 65534;
    }
    nm_round_run_requested(w->m);
    while (w->m->starts->queue.first && nm_now_usec() < deadline)
        assert_true(sd_event_run(w->event, 10 * NM_USEC_PER_MSEC) >= 0);
    assert_null(w->m->starts->queue.first);
    if (c[0]->shim_pid > c[1]->shim_pid)
        skip(); /* the kernel's pid counter wrapped in the meantime */
    assert_in_range(c[2]->shim_pid, c[0]->shim_pid, c[1]->shim_pid);
    assert_in_range(c[3]->shim_pid, c[1]->shim_pid, all[2]->c->shim_pid);
}

static void test_starts_of_different_applications_of_a_user_take_turns(void **state)
{
    assert_turns_of_users(*state, 65534);
}

/* nmd has submitted all containers of the cluster's users, so the submitter is the same for all of them. */
static void test_starts_of_different_users_of_a_cluster_take_turns(void **state)
{
    assert_turns_of_users(*state, geteuid());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_kill_during_the_creation_of_the_cgroup_ends_the_container),
        TEST(test_a_cgroup_that_can_not_be_made_ends_the_container),
        TEST(test_no_command_is_started_if_its_shim_can_not_be_recorded),
        TEST(test_a_container_without_a_path_for_logs_does_not_start),
        TEST(test_a_missing_nm_shim_program_ends_the_container),
        TEST(test_a_queued_container_of_a_user_no_longer_allowed_is_not_started),
        TEST(test_other_work_gets_turns_between_many_starts),
        TEST(test_a_container_killed_before_its_start_runs_no_command),
        TEST(test_starts_of_different_users_of_a_cluster_take_turns),
        TEST(test_starts_of_different_users_take_turns),
        TEST(test_starts_of_different_applications_of_a_user_take_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
