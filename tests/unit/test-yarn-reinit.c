/* SPDX-License-Identifier: Apache-2.0 */

/* Restart, re-initialization, roll back and localization of a running container. YARN services make these requests. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "tests/unit/reinit-fixture.h"

/* Makes the preparation that was started last fail. During a re-initialization the container keeps running. If the
 * re-initialization fails, the container keeps its resources. */
static void fail_preparation(void)
{
    struct nm_yarn_preparation *p = fake_launcher.newest;

    p->failed = true;
    p->listener.ended(p, -EROFS, "The disk is read-only.", p->listener.userdata);
}

static void test_a_restart_runs_the_command_again(void **state)
{
    struct reinit_fixture o;
    pid_t pid;

    start_container(&o, *state, false, SLEEPS);
    pid = o.l->c->pid;
    assert_int_equal(request_restart(&o), 0);
    assert_diagnostics(&o, 1, "Container will be Restarted.");
    assert_refused(&o, request_restart(&o),
                   "Cannot perform RE_INIT on [container_1410901177871_0001_01_000005]. Current state is "
                   "[REINITIALIZING_AWAITING_KILL, isReInitializing=true]. Container Execution Type is [GUARANTEED].");
    assert_runs_again(&o, SLEEPS);
    assert_true(o.l->c->pid != pid);
    assert_diagnostics(&o, 2, "Restarted");
    assert_localized(&o, "a=2 b=2");
    nm_yarn_node_free(o.n);
}

/* The disk with the container's directories has failed. The container gets other directories once per start. A
 * restarted nmd knows the new directories. */
static void test_a_restarted_container_moves_to_a_directory_on_a_good_disk(void **state)
{
    struct manager_fixture *w = *state;
    struct reinit_fixture o;

    start_container(&o, w, false, SLEEPS);
    assert_int_equal(request_restart(&o), 0);
    wait_for_end(&o, true);
    manager_fixture_wait(w, o.l, is_new);
    fake_launcher.elsewhere = "/var/tmp";
    fail_preparation();
    assert_non_null(fake_launcher.newest);
    assert_string_equal(o.l->c->command.workdir, "/var/tmp");
    assert_string_equal(o.l->c->log_dir, "/var/tmp");
    nm_yarn_node_free(o.n);
    manager_fixture_restart(w);
    o.n = fake_launcher_node(w);
    o.l = w->m->live.all[0];
    assert_string_equal(o.l->c->command.workdir, "/var/tmp");
    /* the restarted nmd permits one more move, because it doesn't know of the first move */
    fake_launcher.elsewhere = "/tmp";
    fail_preparation();
    assert_string_equal(o.l->c->log_dir, "/tmp");
    fail_preparation();
    manager_fixture_settle(w);
    assert_int_equal(fake_launcher.n_preparations, 0);
    nm_yarn_node_free(o.n);
}

static void test_a_committed_reinitialization_is_final(void **state)
{
    static const char *const names[] = {"b", "c", NULL};
    struct context c;
    struct reinit_fixture o;

    start_container(&o, *state, false, SLEEPS);
    assert_int_equal(request_reinit(&o, make_context(&c, OTHER_COMMAND, names), false), 0);
    assert_true(fake_launcher.newest->fetches);
    assert_diagnostics(&o, 2, "Container will be Re-initialized.");
    assert_refused(&o, request_commit(&o), "Cannot perform COMMIT");
    assert_non_null(strstr(o.why.message, "[REINITIALIZING, isReInitializing=true]"));
    finish_fetching(0);
    assert_diagnostics(&o, 1, "");
    assert_runs_again(&o, OTHER_COMMAND);
    assert_localized(&o, "b=2 c=2 a=2");
    assert_int_equal(request_commit(&o), 0);
    assert_refused(&o, request_commit(&o), "Nothing to Commit !!");
    assert_refused(&o, request_roll_back(&o), "Nothing to rollback to !!");
    nm_yarn_node_free(o.n);
}

static void test_a_roll_back_restores_the_former_command(void **state)
{
    struct context c;
    struct reinit_fixture o;

    start_container(&o, *state, false, SLEEPS);
    assert_int_equal(request_reinit(&o, make_context(&c, OTHER_COMMAND, NULL), false), 0);
    finish_fetching(0);
    assert_runs_again(&o, OTHER_COMMAND);
    assert_int_equal(request_restart(&o), 0); /* a further roll back is possible */
    assert_runs_again(&o, OTHER_COMMAND);
    assert_int_equal(request_roll_back(&o), 0);
    assert_diagnostics(&o, 1, "Container upgrade will be Rolled-back.");
    assert_runs_again(&o, SLEEPS);
    assert_localized(&o, "a=2 b=2");
    assert_int_equal(request_roll_back(&o), NM_YARN_REFUSED);
    nm_yarn_node_free(o.n);
}

static void test_an_automatic_commit_is_final(void **state)
{
    struct context c;
    struct reinit_fixture o;

    start_container(&o, *state, false, SLEEPS);
    assert_int_equal(request_reinit(&o, make_context(&c, "sleep 0.3; exit 5", NULL), true), 0);
    finish_fetching(0);
    assert_runs_again(&o, "sleep 0.3; exit 5");
    assert_int_equal(request_roll_back(&o), NM_YARN_REFUSED);
    wait_for_end(&o, false);
    assert_ended(&o, 5, "exit code 5");
    nm_yarn_node_free(o.n);
}

/* A re-initialized container that fails before the commit is rolled back automatically, but only once. */
static void test_a_container_that_fails_before_the_commit_is_rolled_back_once(void **state)
{
    struct context c;
    struct reinit_fixture o;

    start_container(&o, *state, false, SLEEPS);
    assert_int_equal(request_reinit(&o, make_context(&c, "sleep 0.3; exit 5", NULL), false), 0);
    finish_fetching(0);
    assert_runs_again(&o, "sleep 0.3; exit 5");
    wait_for_end(&o, false);
    assert_true(is_new(o.l));
    assert_diagnostics(&o, 1, "Container Re-init Auto Rolled-Back.");
    finish_preparation(&o);
    assert_string_equal(o.l->c->command.argv[2], SLEEPS);
    (void)kill(o.l->c->pid, SIGSEGV);
    wait_for_end(&o, false);
    assert_ended(&o, 128 + SIGSEGV, "Auto Rolled-Back");
    nm_yarn_node_free(o.n);
}

/* A killed container isn't rolled back, since a kill doesn't count as a failure. */
static void test_a_container_killed_before_the_commit_is_not_rolled_back(void **state)
{
    struct context c;
    struct reinit_fixture o;

    start_container(&o, *state, false, SLEEPS);
    assert_int_equal(request_reinit(&o, make_context(&c, OTHER_COMMAND, NULL), false), 0);
    finish_fetching(0);
    assert_runs_again(&o, OTHER_COMMAND);
    wait_for_end(&o, true);
    assert_ended(&o, 137, "Container killed on request. Exit code is 137");
    nm_yarn_node_free(o.n);
}

static void test_a_failed_localization_does_not_change_the_container(void **state)
{
    static const char *const names[] = {"c", NULL};
    struct context c;
    struct reinit_fixture o;
    pid_t pid;

    start_container(&o, *state, false, SLEEPS);
    pid = o.l->c->pid;
    assert_int_equal(request_reinit(&o, make_context(&c, "true", names), false), 0);
    finish_fetching(-ENOENT);
    assert_diagnostics(&o, 2, "Container aborting re-initialization.. There is no such file.");
    assert_int_equal(o.l->c->pid, pid);
    assert_false(o.l->c->rerun);
    assert_localized(&o, "a=2 b=2 c=3");
    assert_refused(&o, request_roll_back(&o), "Nothing to rollback to !!");
    assert_int_equal(request_reinit(&o, make_context(&c, OTHER_COMMAND, NULL), true), 0);
    nm_yarn_node_free(o.n);
}

/* Resources that were localized while the container was running are also available after its restart. */
static void test_resources_localized_later_are_available_after_a_restart(void **state)
{
    static const char *const more[] = {"c", NULL}, *const wrong[] = {"d", NULL};
    struct context c;
    struct reinit_fixture o;

    start_container(&o, *state, false, SLEEPS);
    assert_int_equal(request_localization(&o, make_context(&c, NULL, more)), 0);
    assert_true(fake_launcher.newest->links);
    finish_fetching(0);
    assert_int_equal(request_localization(&o, make_context(&c, NULL, wrong)), 0);
    finish_fetching(-ENOENT);
    assert_diagnostics(&o, 2, "There is no such file.");
    assert_localized(&o, "a=2 b=2 d=3 c=2");
    assert_int_equal(request_restart(&o), 0);
    assert_runs_again(&o, SLEEPS);
    assert_localized(&o, "c=2 a=2 b=2");
    nm_yarn_node_free(o.n);
}

static void test_requests_for_a_queued_or_unknown_container_are_refused(void **state)
{
    struct context c;
    struct reinit_fixture o;

    start_container(&o, *state, true, SLEEPS);
    assert_refused(&o, request_localization(&o, make_context(&c, NULL, NULL)),
                   "Cannot perform LOCALIZE on [container_1410901177871_0001_01_000005]. Current state is "
                   "[RUNNING, isReInitializing=false]. Container Execution Type is [OPPORTUNISTIC].");
    assert_int_equal(request_reinit(&o, make_context(&c, "true", NULL), true), NM_YARN_REFUSED);
    o.ids.container.id = 6;
    assert_refused(&o, request_restart(&o), "Specified container_");
    assert_non_null(strstr(o.why.message, " does not exist!"));
    nm_yarn_node_free(o.n);
}

/* nmd is restarted while the former run ends. The new nmd prepares the run that was requested before. */
static void test_a_restarted_nmd_prepares_the_requested_run(void **state)
{
    struct manager_fixture *w = *state;
    struct context c;
    struct reinit_fixture o;

    start_container(&o, w, false, SLEEPS);
    assert_int_equal(request_reinit(&o, make_context(&c, OTHER_COMMAND, NULL), false), 0);
    finish_fetching(0);
    nm_yarn_node_free(o.n);
    manager_fixture_restart(w);
    o.n = fake_launcher_node(w);
    o.l = w->m->live.all[0];
    assert_true(fake_launcher.newest->retains);
    manager_fixture_start(w);
    (void)kill(o.l->c->pid, SIGKILL);
    manager_fixture_wait(w, o.l, is_new);
    finish_preparation(&o);
    assert_string_equal(o.l->c->command.argv[2], OTHER_COMMAND);
    assert_int_equal(request_roll_back(&o), 0);
    nm_yarn_node_free(o.n);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_launcher_set_up, manager_fixture_tear_down_real)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_a_restart_runs_the_command_again),
        TEST(test_a_restarted_container_moves_to_a_directory_on_a_good_disk),
        TEST(test_a_committed_reinitialization_is_final),
        TEST(test_a_roll_back_restores_the_former_command),
        TEST(test_an_automatic_commit_is_final),
        TEST(test_a_container_that_fails_before_the_commit_is_rolled_back_once),
        TEST(test_a_container_killed_before_the_commit_is_not_rolled_back),
        TEST(test_a_failed_localization_does_not_change_the_container),
        TEST(test_resources_localized_later_are_available_after_a_restart),
        TEST(test_requests_for_a_queued_or_unknown_container_are_refused),
        TEST(test_a_restarted_nmd_prepares_the_requested_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
