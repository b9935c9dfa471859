/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nmd's part of a launch, and the adoption of a shim. Each call fails once. After a failed launch no process remains,
 * and no command has run. A shim keeps running whether it is adopted or not.
 */

#include "tests/unit/failing-launch.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/launch/shim.h"
#include "tests/unit/failure.h"
#include "util/clock.h"

#define MOST_OF_CHILD 40 /* number of tested calls of nmd's forked child, because this process can't see the child's
                            failures */

static void no_child_is_left(struct fixture *w)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    siginfo_t info;

    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        assert_true(nm_now_usec() < until);
        assert_true(sd_event_run(w->event, 5000) >= 0);
    }
    assert_int_equal(errno, ECHILD);
}

/* Asserts that after a failed launch no process remains and no command has run. */
static void assert_launch_is_consistent(struct fixture *w, int r)
{
    if (r < 0) {
        assert_null(w->launch);
        assert_false(has_run());
    } else {
        (void)nm_launch_open_gate(w->launch);
        wait_for(w, &w->n_ended);
        assert_end_is_consistent(w, "out\n");
    }
    free_launch(w);
    if (!w->spawner)
        no_child_is_left(w);
}

/* Launches the usual shim. Returns whether a call has failed. */
static bool launch_with(struct fixture *w, const struct failure *f, unsigned n)
{
    static const struct failing_call none = {"none", 0};
    bool failed;
    int r;

    prepare_failing_shim(w, &none, 1);
    w->shim = NULL;
    failure_arm(f, n);
    r = launch(w);
    failed = failure_disarm(f);
    assert_launch_is_consistent(w, r);
    return failed;
}

static void test_a_launch_with_a_failing_call_runs_no_command_or_reports_its_end(void **state)
{
    static const struct failure failures[] = {
        {0, "socketpair", EMFILE}, {0, "fcntl", EMFILE}, {0, "fork", EAGAIN},         {0, "syscall", ENOSYS},
        {0, "unlinkat", EIO},      {0, "pidfd_open", EMFILE}, {0, "fstat", EIO},      {0, "memfd_create", EMFILE},
        {0, "dup2", EBUSY},        {0, "write", ENOSPC}, {0, "pread", EIO},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(failures); i++)
        for (unsigned n = 1; launch_with(*state, &failures[i], n) || n < 3; n++)
            ;
}

/* Launches the usual shim with a new spawner, whose process does not exist yet, or exists. The account is known.
 * Returns whether a call has failed. */
static bool spawn_with(struct fixture *w, const struct failure *f, unsigned n, bool exists)
{
    bool failed;

    w->spawner = nm_spawner_new();
    assert_non_null(w->spawner);
    for (int i = 0; i <= exists; i++)
        assert_false(launch_with(w, &(struct failure){0, "none", 0}, 1));
    assert_int_equal(nm_spawner_pid(w->spawner) > 0, exists);
    failed = launch_with(w, f, n);
    w->spawner = nm_spawner_free(w->spawner);
    no_child_is_left(w);
    return failed;
}

/* nmd forks the shim itself if the spawner fails. */
static void test_a_launch_with_a_failing_spawner_runs_no_command_or_reports_its_end(void **state)
{
    static const struct failure failures[] = {
        {0, "socketpair", EMFILE}, {0, "setsockopt", ENOMEM}, {0, "fork", EAGAIN},      {0, "sendmsg", EPIPE},
        {0, "sendmsg", EAGAIN},    {0, "recv", EINTR},        {0, "recv", EIO},       {0, "fcntl", EMFILE},
        {0, "unlinkat", EIO},      {0, "pidfd_open", EMFILE}, {0, "fstat", EIO},      {0, "memfd_create", EMFILE},
        {0, "write", ENOSPC},      {0, "pread", EIO},         {0, "waitpid", EINTR},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(failures); i++)
        for (int exists = 0; exists <= 1; exists++)
            for (unsigned n = 1; spawn_with(*state, &failures[i], n, exists) || n < 3; n++)
                ;
    for (unsigned n = 1; n <= MOST_OF_CHILD; n++)
        (void)spawn_with(*state, &(struct failure){FAIL_MEMORY, NULL, 0}, n, n % 2);
}

static void test_a_launch_without_memory_or_descriptors_runs_no_command_or_reports_its_end(void **state)
{
    static const struct failure failures[] = {{FAIL_MEMORY, NULL, 0}, {FAIL_EVENT, NULL, 0}, {FAIL_OPEN, NULL, 0}};

    for (size_t i = 0; i < NM_ARRAY_SIZE(failures); i++)
        for (unsigned n = 1; n <= MOST_OF_CHILD; n++)
            (void)launch_with(*state, &failures[i], n);
}

static void on_adopted(struct nm_launch *l, enum nm_launch_phase phase, const struct nm_launch_record *r,
                       void *userdata)
{
    (void)l, (void)phase, (void)r;
    ++*(unsigned *)userdata;
}

/* Adopts the shim of the running container. Returns whether a call has failed. */
static bool adopt_with(struct fixture *w, const struct failure *f, unsigned n)
{
    const pid_t shim = nm_launch_shim_pid(w->launch);
    const uint64_t start_ticks = nm_launch_shim_start_ticks(w->launch);
    struct nm_launch *l = NULL;
    unsigned n_events = 0;
    bool failed;
    int r;

    failure_arm(f, n);
    r = nm_launch_adopt(w->dir, shim, start_ticks, w->event, on_adopted, &n_events, &l);
    failed = failure_disarm(f);
    assert_true(r < 0 ? !l : !!l);
    assert_true(failed || r == 0);
    while (r == 0 && !failed && n_events == 0)
        assert_true(sd_event_run(w->event, 100000) >= 0);
    nm_launch_free(l);
    assert_true(nm_launch_shim_exists(shim, start_ticks));
    return failed;
}

/* The adoption of a shim may fail if an allocation or a watch fails. The shim keeps running. */
static void test_a_shim_outlives_a_failed_adoption(void **state)
{
    static const struct failure failures[] = {
        {FAIL_MEMORY, NULL, 0}, {FAIL_EVENT, NULL, 0}, {FAIL_OPEN, NULL, 0},
        {0, "pidfd_open", EMFILE}, {0, "pread", EIO},
    };
    struct fixture *w = *state;

    begin_container(w);
    for (size_t i = 0; i < NM_ARRAY_SIZE(failures); i++)
        for (unsigned n = 1; adopt_with(w, &failures[i], n); n++)
            ;
    assert_int_equal(w->n_ended, 0);
    end_container(w);
}

/* The probe for namespaces returns a result, whichever of its calls fails. */
static void test_the_probe_for_namespaces_returns_a_result_after_any_failure(void **state)
{
    static const struct failing_call failures[] = {
        {"socketpair", EMFILE}, {"fork", EAGAIN},        {"unshare", ENOSPC}, {"unshare", EINVAL}, {"mount", EPERM},
        {"send", EPIPE},        {"recv", ECONNRESET},    {"write", EPERM},    {"waitpid", EINTR},
    };

    (void)state;
    if (geteuid() != 0) {
        assert_int_equal(nm_launch_probe_confinement(), -EPERM);
        return;
    }
    if (nm_launch_probe_confinement() < 0)
        skip();
    for (size_t i = 0; i < NM_ARRAY_SIZE(failures); i++) {
        const struct failing_call *t = &failures[i];
        int r;

        fail_call(t->call, 1, t->error);
        r = nm_launch_probe_confinement();
        (void)fail_call_stop();
        assert_true(t->error == EINTR ? r == 0 : r == -t->error || r == -EPIPE);
        assert_true(r == 0 || *nm_launch_no_confinement(r));
    }
    assert_non_null(strstr(nm_launch_no_confinement(-ENOSPC), "max_user_namespaces"));
    assert_string_equal(nm_launch_no_confinement(-EINVAL), nm_launch_no_confinement(-ENOSYS));
    assert_string_equal(nm_launch_no_confinement(-EIO), strerror(EIO));
}

#define launch_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        launch_test(test_a_launch_with_a_failing_call_runs_no_command_or_reports_its_end),
        launch_test(test_a_launch_with_a_failing_spawner_runs_no_command_or_reports_its_end),
        launch_test(test_a_launch_without_memory_or_descriptors_runs_no_command_or_reports_its_end),
        launch_test(test_a_shim_outlives_a_failed_adoption),
        launch_test(test_the_probe_for_namespaces_returns_a_result_after_any_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
