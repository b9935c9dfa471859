/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/lockfile.h"

struct fixture {
    char dir[64], path[80];
};

static int set_up(void **state)
{
    static struct fixture w;

    w = (struct fixture){.dir = "/tmp/nm-lockfile.XXXXXX"};
    if (!mkdtemp(w.dir))
        return -1;
    (void)snprintf(w.path, sizeof w.path, "%s/lock", w.dir);
    *state = &w;
    return 0;
}

static int tear_down(void **state)
{
    const struct fixture *w = *state;

    (void)unlink(w->path);
    return rmdir(w->dir);
}

/* Starts a process that holds the lock until it is killed. */
static pid_t hold(const char *path)
{
    int pair[2];
    char byte;
    pid_t pid, holder;

    assert_int_equal(pipe(pair), 0);
    pid = fork();
    if (pid == 0) {
        byte = nm_lockfile_take(path, 0, &holder) == 0 ? '+' : '-';
        (void)!write(pair[1], &byte, 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(pair[0], &byte, 1), 1);
    assert_int_equal(byte, '+');
    (void)close(pair[0]);
    (void)close(pair[1]);
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_a_refused_lock_names_the_process_that_holds_it(void **state)
{
    const struct fixture *w = *state;
    char buf[NM_LOCKFILE_HOLDER_SIZE], expected[32];
    pid_t pid, holder = -1;

    assert_int_equal(nm_lockfile_holder(w->path), 0);
    pid = hold(w->path);
    assert_int_equal(nm_lockfile_take(w->path, 0, &holder), -EBUSY);
    assert_int_equal(holder, pid);
    assert_int_equal(nm_lockfile_holder(w->path), pid);
    (void)snprintf(expected, sizeof expected, "pid %d", (int)pid);
    assert_string_equal(nm_lockfile_name_holder(holder, buf), expected);
    end(pid);
    assert_int_equal(nm_lockfile_holder(w->path), 0);
    assert_int_equal(nm_lockfile_take(w->path, 0, &holder), 0);
    assert_int_equal(nm_lockfile_take(w->path, 0, &holder), 0); /* this process holds the lock already */
}

/* The lock ends with the process that took it, even if a child of that process is still running. */
static void test_a_lock_ends_when_the_process_exits(void **state)
{
    const struct fixture *w = *state;
    pid_t holder, pid = fork();
    int status;

    if (pid == 0) {
        if (nm_lockfile_take(w->path, 0, &holder) < 0)
            _exit(1);
        if (fork() == 0) {
            (void)sleep(3);
            _exit(0);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(nm_lockfile_take(w->path, 0, &holder), 0);
}

static void test_a_process_can_wait_for_a_lock(void **state)
{
    const struct fixture *w = *state;
    pid_t pid = hold(w->path), helper, holder;
    uint64_t begun = nm_now_usec();

    assert_int_equal(nm_lockfile_take(w->path, 100 * NM_USEC_PER_MSEC, &holder), -EBUSY);
    assert_true(nm_now_usec() - begun >= 100 * NM_USEC_PER_MSEC);
    helper = fork();
    if (helper == 0) {
        (void)usleep(100000);
        _exit(kill(pid, SIGKILL) == 0 ? 0 : 1);
    }
    assert_int_equal(nm_lockfile_take(w->path, 20 * NM_USEC_PER_SEC, &holder), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(waitpid(helper, NULL, 0), helper);
}

static void test_a_lock_held_by_another_process_is_refused(void **state)
{
    const struct fixture *w = *state;
    pid_t holder = 1;

    assert_int_equal(symlink("/nowhere", w->path), 0);
    assert_int_equal(nm_lockfile_take(w->path, 0, &holder), -ELOOP);
    assert_int_equal(nm_lockfile_holder(w->path), -ELOOP);
    assert_int_equal(unlink(w->path), 0);
    assert_int_equal(mkfifo(w->path, 0600), 0);
    assert_int_equal(nm_lockfile_take(w->path, 0, &holder), -EBADMSG);
    assert_int_equal(nm_lockfile_take("/nowhere/lock", 0, &holder), -ENOENT);
    assert_int_equal(holder, 1);
}

/* Lets another process lock the byte. Returns 0 if it gets the lock, or -EBUSY if this process holds the lock. */
static int lock_in_child(const char *path, int64_t offset)
{
    const pid_t child = fork();
    pid_t holder = -1;
    int status;

    if (child == 0) {
        const pid_t parent = getppid();
        const int own = open(path, O_RDWR | O_CLOEXEC);
        const int r = own < 0 ? own : nm_lockfile_take_byte(own, offset, 0, &holder);

        _exit(r == -EBUSY && holder == parent ? EBUSY : r == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return -WEXITSTATUS(status);
}

/* Each byte of the file is a separate lock. One descriptor holds all locks of this process. */
static void test_each_byte_of_the_file_is_a_separate_lock(void **state)
{
    const struct fixture *w = *state;
    const int fd = open(w->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    pid_t holder = -1;

    assert_true(fd >= 0);
    assert_int_equal(nm_lockfile_take_byte(fd, 5, 0, &holder), 0);
    assert_int_equal(nm_lockfile_take_byte(fd, INT64_MAX, 0, &holder), 0);
    assert_int_equal(lock_in_child(w->path, 6), 0);
    assert_int_equal(lock_in_child(w->path, 5), -EBUSY);
    assert_int_equal(lock_in_child(w->path, INT64_MAX), -EBUSY);
    nm_lockfile_drop_byte(fd, 5);
    assert_int_equal(lock_in_child(w->path, 5), 0);
    assert_int_equal(lock_in_child(w->path, INT64_MAX), -EBUSY);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_byte_of_the_file_is_a_separate_lock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_refused_lock_names_the_process_that_holds_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_lock_ends_when_the_process_exits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_process_can_wait_for_a_lock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_lock_held_by_another_process_is_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
