/* SPDX-License-Identifier: Apache-2.0 */

/* The nice values of sessions. A process that was just forked must not change the session of its parent. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/autogroup.h"
#include "util/fileio.h"

#define ATTEMPTS 500

#define NO_NICE 100 /* no nice value of a group */

static bool kernel_has_autogroups(void)
{
    return access("/proc/self/autogroup", F_OK) == 0;
}

/* Returns the nice value of a process's session. The file is empty for the group that the kernel starts with, where
 * processes stay until one of them makes a session. */
static int nice_of(pid_t pid)
{
    char path[64], text[64];
    int nice = NO_NICE;
    size_t len;

    snprintf(path, sizeof path, "/proc/%d/autogroup", pid);
    if (nm_read_file_at(AT_FDCWD, path, text, sizeof text, &len) >= 0 && len > 0)
        assert_int_equal(sscanf(text, "/autogroup-%*d nice %d", &nice), 1);
    return nice;
}

/* Forks a process that makes a session if it is told so. */
static pid_t fork_child(bool makes_session)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    if (makes_session)
        (void)setsid();
    for (;;)
        pause();
}

static void end_child(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_a_child_in_the_same_session_changes_nothing(void **state)
{
    const int before = nice_of(getpid());
    pid_t pid = fork_child(false);

    (void)state;
    assert_int_equal(nm_autogroup_set_nice(pid, 19), NM_AUTOGROUP_E_OWN);
    assert_int_equal(nice_of(getpid()), before);
    end_child(pid);
}

/* While a child calls setsid(), it has its own session for a short time before it leaves the parent's group. */
static void test_a_child_that_makes_a_session_does_not_change_the_old_one(void **state)
{
    const int before = nice_of(getpid());

    (void)state;
    if (!kernel_has_autogroups())
        skip();
    for (int i = 0; i < ATTEMPTS; i++) {
        pid_t pid = fork_child(true);
        int r;

        while ((r = nm_autogroup_set_nice(pid, 19)) == NM_AUTOGROUP_E_OWN)
            assert_int_equal(nice_of(getpid()), before);
        /* -EAGAIN: without CAP_SYS_ADMIN, the kernel permits ten changes per second */
        assert_true(r == 0 || r == -EAGAIN);
        assert_int_equal(nice_of(getpid()), before);
        if (r == 0)
            assert_int_equal(nice_of(pid), 19);
        end_child(pid);
    }
}

static void test_a_process_that_does_not_exist_is_an_error(void **state)
{
    pid_t pid = fork_child(true);

    (void)state;
    end_child(pid);
    assert_int_equal(nm_autogroup_set_nice(pid, 19), -ENOENT);
}

/* The test's own session must keep its nice value, so a child changes its own. */
static void test_a_process_sets_the_nice_value_of_its_session(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    if (!kernel_has_autogroups())
        skip();
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(setsid() < 0 || nm_autogroup_set_own_nice(7) < 0 || nice_of(getpid()) != 7);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_in_the_same_session_changes_nothing),
        cmocka_unit_test(test_a_child_that_makes_a_session_does_not_change_the_old_one),
        cmocka_unit_test(test_a_process_that_does_not_exist_is_an_error),
        cmocka_unit_test(test_a_process_sets_the_nice_value_of_its_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
