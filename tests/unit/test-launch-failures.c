/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Each system call of a shim, and of its command's process before the exec, fails once. After each failure: nmd
 * receives the end. A command has not run if nmd received that it has not run. If the command ran, nmd received its
 * exit status, and all of its output or a report that output is lost. If neither `gate` nor the record exists, the
 * command has not run, because a restarted nmd relies on this.
 */

#include "tests/unit/failing-launch.h"

#include <errno.h>
#include <sys/socket.h>

static void run_plain(struct fixture *w)
{
    assert_int_equal(launch(w), 0);
    (void)nm_launch_open_gate(w->launch);
    wait_for(w, &w->n_ended);
    assert_end_is_consistent(w, "out\n");
}

static const struct failing_call plain_failures[] = {
    {"open", EMFILE},     {"openat", EMFILE},   {"openat", ENOSPC},     {"calloc", ENOMEM},
    {"asprintf", ENOMEM}, {"fstat", EIO},         {"pread", EIO},      {"pipe2", EMFILE},
    {"fchown", EPERM},    {"fcntl", EMFILE},    {"dup2", EMFILE},       {"dup3", EMFILE},    {"signalfd", ENFILE},
    {"fork", EAGAIN},     {"setsid", EPERM},    {"socketpair", EMFILE}, {"prctl", EPERM},    {"syscall", EPERM},
    {"setgroups", EPERM}, {"chdir", EACCES},    {"setresgid", EAGAIN},  {"fchdir", EACCES},  {"setresuid", EAGAIN},
    {"write", ENOSPC},    {"pwrite", ENOSPC},   {"getresuid", EFAULT},  {"renameat", EIO},   {"ftruncate", EIO},
    {"linkat", EPERM},    {"fsync", EIO},       {"send", EPIPE},      {"recv", ECONNRESET},   {"recv", EINTR},
    {"read", EINTR},      {"poll", EINTR},      {"waitpid", EINTR},   {"getrlimit", EPERM},
};

static void test_the_reported_end_of_a_plain_launch_is_true_after_each_failure(void **state)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(plain_failures); i++)
        (void)run_with_each_failure(*state, &plain_failures[i], run_plain);
}

/* Runs the command as another user, in its own namespaces. */
static void test_the_reported_end_of_a_confined_launch_is_true_after_each_failure(void **state)
{
    static const struct failing_call failures[] = {
        {"unshare", ENOSPC}, {"mount", EPERM},      {"mount", ENOENT},     {"send", ENOBUFS},   {"recv", ECONNRESET},
        {"recv", EINTR},     {"read", EINTR},       {"openat", EMFILE},    {"open", EMFILE},    {"write", EPERM},
        {"dup3", EMFILE},    {"fchown", EPERM},     {"setresuid", EAGAIN}, {"prctl", EPERM},    {"setgroups", EPERM},
        {"syscall", EPERM},  {"getresuid", EFAULT}, {"waitpid", EINTR},    {"fchdir", EACCES},
    };
    struct fixture *w = *state;

    use_user(w, "nobody");
    if (nm_launch_probe_confinement() < 0)
        skip();
    w->confine = true;
    for (size_t i = 0; i < NM_ARRAY_SIZE(failures); i++)
        (void)run_with_each_failure(w, &failures[i], run_plain);
}

static void send_size(int fd)
{
    struct nm_frame f = {0};

    nm_frame_make_size(&f, 30, 90);
    (void)send(fd, f.data, f.len, MSG_NOSIGNAL); /* the receiver may have ended */
}

/* If input can't be passed on, the input of the command ends, but the command continues. */
static void run_with_input(struct fixture *w)
{
    struct received h;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    shell(w, mark_run("", "cat"));
    w->input_fd = pair[1];
    assert_int_equal(launch(w), 0);
    (void)close(pair[1]);
    send_input(pair[0], "hello");
    send_input(pair[0], "");
    (void)nm_launch_open_gate(w->launch);
    receive_all(w, pair[0], &w->n_ended, &h);
    (void)close(pair[0]);
    assert_end_is_consistent(w, has_failed() ? NULL : "hello");
}

static void test_the_reported_end_of_a_launch_with_input_is_true_after_each_failure(void **state)
{
    static const struct failing_call failures[] = {
        {"pipe2", EMFILE}, {"fchown", EPERM},    {"fcntl", EMFILE}, {"send", EPIPE},
        {"send", EINTR},   {"send", EAGAIN},     {"recv", EAGAIN},  {"recv", ECONNRESET},
        {"write", EAGAIN}, {"write", EPIPE},     {"write", EINTR},  {"poll", EINTR},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(failures); i++)
        (void)run_with_each_failure(*state, &failures[i], run_with_input);
}

static void run_with_terminal(struct fixture *w)
{
    struct received h;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    shell(w, mark_run("trap '' HUP; ", "echo out; true"));
    w->input_fd = pair[1];
    w->rows = 24;
    w->columns = 80;
    assert_int_equal(launch(w), 0);
    (void)close(pair[1]);
    send_size(pair[0]);
    send_input(pair[0], "typed\n");
    (void)nm_launch_open_gate(w->launch);
    receive_all(w, pair[0], &w->n_ended, &h);
    (void)close(pair[0]);
    assert_end_is_consistent(w, NULL);
    if (!has_failed())
        assert_non_null(strstr(h.output, "out\r\n"));
}

static void test_the_reported_end_of_a_launch_with_a_terminal_is_true_after_each_failure(void **state)
{
    static const struct failing_call failures[] = {
        {"open", EMFILE}, {"ioctl", EIO},  {"fchown", EPERM},    {"dup3", EMFILE}, {"fcntl", EMFILE},
        {"send", EPIPE},  {"send", EINTR}, {"send", EAGAIN},     {"recv", EINTR},  {"recv", ECONNRESET},
        {"write", EIO},   {"poll", EINTR}, {"write", EAGAIN},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(failures); i++)
        (void)run_with_each_failure(*state, &failures[i], run_with_terminal);
}

#define launch_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        launch_test(test_the_reported_end_of_a_plain_launch_is_true_after_each_failure),
        launch_test(test_the_reported_end_of_a_confined_launch_is_true_after_each_failure),
        launch_test(test_the_reported_end_of_a_launch_with_input_is_true_after_each_failure),
        launch_test(test_the_reported_end_of_a_launch_with_a_terminal_is_true_after_each_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
