/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Signals to the processes of a cgroup with few or many processes, and the kill of a cgroup. If a process has ended
 * meanwhile, the call still succeeds. No other process is signalled.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "cgroup/procs.h"
#include "tests/unit/fake-processes.h"
#include "util/fileio.h"

#define KILL_ROUNDS 8 /* number of times that one call kills the listed processes on a kernel without cgroup.kill */

/* ---- few processes --------------------------------------------------------------------------- */

/* Sends SIGTERM to the few processes of the fixture, which takes one turn. */
static int signal_all(struct fixture *w)
{
    struct nm_procs_pass *p = NULL;
    sd_event *event = NULL;
    int r;

    assert_true(sd_event_new(&event) >= 0);
    r = nm_cgroup_signal(event, w->cg, SIGTERM, 0, &p);
    assert_false(nm_procs_pass_is_on(p));
    nm_procs_pass_free(p);
    sd_event_unref(event);
    return r;
}

static void test_a_signal_reaches_each_member(void **state)
{
    struct fixture *w = *state;

    kernel.member = "0::/" NAME "\n";
    assert_int_equal(signal_all(w), 0);
    assert_int_equal(kernel.n_signals, 2);
}

static void test_a_failed_signal_is_reported_unless_the_process_has_ended(void **state)
{
    static const struct {
        int pidfd_open_fails, send_fails, expected;
    } cases[] = {
        {ESRCH, 0, 0}, {EMFILE, 0, -EMFILE}, {0, ESRCH, 0}, {0, EPERM, -EPERM},
    };
    struct fixture *w = *state;

    kernel.member = "0::/" NAME "\n";
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        kernel.pidfd_open_fails = cases[i].pidfd_open_fails;
        kernel.send_fails = cases[i].send_fails;
        assert_int_equal(signal_all(w), cases[i].expected);
    }
    kernel.pidfd_open_fails = EMFILE;
    assert_int_equal(nm_cgroup_kill(w->cg), -EMFILE);
    assert_int_equal(kernel.n_signals, 0);
}

static void test_a_process_of_another_cgroup_gets_no_signal(void **state)
{
    struct fixture *w = *state;

    kernel.member = "0::/somewhere-else\n";
    assert_int_equal(signal_all(w), 0);
    assert_int_equal(kernel.n_signals, 0);
}

/* Processes that remain in the list are killed a limited number of times. The caller waits for their end, and must
 * repeat the call. */
static void test_processes_that_remain_listed_are_killed_a_limited_number_of_times(void **state)
{
    struct fixture *w = *state;

    kernel.member = "0::/" NAME "\n";
    assert_int_equal(nm_cgroup_kill(w->cg), 0);
    assert_int_equal(kernel.n_signals, KILL_ROUNDS * 2);
    fake_tree_write(&w->dir, "cgroup.procs", "");
    assert_int_equal(nm_cgroup_kill(w->cg), 0);
    assert_int_equal(kernel.n_signals, KILL_ROUNDS * 2);
}

static void test_with_cgroup_kill_no_signal_is_sent(void **state)
{
    struct fixture *w = *state;

    kernel.member = "0::/" NAME "\n";
    fake_tree_write(&w->dir, "cgroup.kill", "");
    assert_int_equal(nm_cgroup_kill(w->cg), 0);
    assert_int_equal(kernel.n_signals, 0);
}

/* ---- many processes -------------------------------------------------------------------------- */

static void run_until_over(sd_event *event, const struct nm_procs_pass *p)
{
    while (nm_procs_pass_is_on(p))
        assert_true(sd_event_run(event, UINT64_MAX) >= 0);
}

/* All processes except the process 3 get the signal. */
static void test_a_signal_to_many_processes_can_exclude_one_process(void **state)
{
    enum { N = 500 };
    struct fixture *w = *state;
    struct nm_procs_pass *p = NULL;
    sd_event *event = NULL;

    kernel.member = "0::/" NAME "\n";
    write_processes(w, "cgroup.procs", 1, N);
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(nm_cgroup_signal(event, w->cg, SIGTERM, 3, &p), 0);
    assert_in_range(kernel.n_signals, 1, NM_PROCS_PASS_PER_TURN);
    run_until_over(event, p);
    assert_int_equal(kernel.n_signals, N - 1);
    nm_procs_pass_free(p);
    sd_event_unref(event);
}

static int end_result;

static void note_end(int r, void *userdata)
{
    (void)userdata;
    end_result = r;
}

/* The first error is reported. The remaining processes still get the signal. */
static void test_a_failed_signal_to_one_of_many_processes_is_reported(void **state)
{
    enum { N = 500 };
    struct fixture *w = *state;
    struct nm_procs_pass *p = NULL;
    sd_event *event = NULL;

    kernel.member = "0::/" NAME "\n";
    write_processes(w, "cgroup.procs", 1, N);
    assert_true(sd_event_new(&event) >= 0);
    kernel.send_fails = EPERM;
    assert_int_equal(nm_cgroup_signal(event, w->cg, SIGTERM, 0, &p), -EPERM);
    kernel.send_fails = 0;
    nm_procs_pass_set_ended(p, note_end, NULL);
    run_until_over(event, p);
    assert_in_range(kernel.n_signals, N - NM_PROCS_PASS_PER_TURN, N - 1);
    assert_int_equal(end_result, -EPERM);
    nm_procs_pass_free(p);
    sd_event_unref(event);
}

static int kill_error;

static void on_kill_failed(const char *name, int r)
{
    assert_string_equal(name, NAME);
    kill_error = r;
}

static void assert_was_killed(struct fixture *w)
{
    char text[8];

    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    assert_int_equal(nm_read_file_at(w->cg->dir_fd, "cgroup.kill", text, sizeof text, NULL), 0);
    assert_string_equal(text, "1");
    fake_tree_write(&w->dir, "cgroup.kill", "");
}

/* Returns an event loop that can watch child processes, which needs SIGCHLD to be blocked. */
static sd_event *begin_to_watch_children(sigset_t *ret_old)
{
    sigset_t child;
    sd_event *event = NULL;

    assert_int_equal(sigemptyset(&child), 0);
    assert_int_equal(sigaddset(&child, SIGCHLD), 0);
    assert_int_equal(sigprocmask(SIG_BLOCK, &child, ret_old), 0);
    assert_true(sd_event_new(&event) >= 0);
    return event;
}

static void end_to_watch_children(sd_event *event, const sigset_t *old)
{
    sd_event_unref(event);
    assert_int_equal(sigprocmask(SIG_SETMASK, old, NULL), 0);
}

/* nmd itself kills a small cgroup. For a cgroup with many tasks nmd forks a child, which kills the cgroup and is then
 * reaped. */
static void test_small_and_large_cgroups_are_killed(void **state)
{
    struct fixture *w = *state;
    sigset_t old;
    sd_event *event = begin_to_watch_children(&old);

    kill_error = 0;
    fake_tree_write(&w->dir, "cgroup.kill", "");
    fake_tree_write(&w->dir, "cgroup.threads", "100\n200\n");
    assert_int_equal(nm_cgroup_kill_in(event, w->cg, on_kill_failed), 0);
    assert_was_killed(w);
    write_processes(w, "cgroup.threads", 1, 1000);
    assert_int_equal(nm_cgroup_kill_in(event, w->cg, on_kill_failed), 0);
    assert_true(sd_event_run(event, UINT64_MAX) >= 0);
    assert_was_killed(w);
    assert_int_equal(kill_error, 0);
    end_to_watch_children(event, &old);
}

static void test_a_failed_kill_by_a_child_process_is_reported(void **state)
{
    struct fixture *w = *state;
    sigset_t old;
    sd_event *event = begin_to_watch_children(&old);

    write_processes(w, "cgroup.threads", 1, 1000);
    fake_tree_write(&w->dir, "cgroup.kill/is-a-directory", "");
    assert_int_equal(nm_cgroup_kill_in(event, w->cg, on_kill_failed), 0);
    assert_true(sd_event_run(event, UINT64_MAX) >= 0);
    assert_int_equal(kill_error, -EISDIR);
    end_to_watch_children(event, &old);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_processes_set_up, fake_processes_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_signal_reaches_each_member),
        TEST(test_a_failed_signal_is_reported_unless_the_process_has_ended),
        TEST(test_a_process_of_another_cgroup_gets_no_signal),
        TEST(test_processes_that_remain_listed_are_killed_a_limited_number_of_times),
        TEST(test_with_cgroup_kill_no_signal_is_sent),
        TEST(test_a_signal_to_many_processes_can_exclude_one_process),
        TEST(test_a_failed_signal_to_one_of_many_processes_is_reported),
        TEST(test_small_and_large_cgroups_are_killed),
        TEST(test_a_failed_kill_by_a_child_process_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
