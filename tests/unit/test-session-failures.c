/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Another command in a running container, when each system call of its nm-shim fails once, and when the peer sends
 * invalid frames.
 */

#include "tests/unit/failing-launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "agent/launch/shim.h"
#include "util/fileio.h"

static unsigned n_sessions_ended;
static uint16_t session_rows; /* number of terminal rows of the session; 0: no terminal */

static void on_session(struct nm_launch *l, enum nm_launch_phase phase, const struct nm_launch_record *r,
                       void *userdata)
{
    (void)l;
    (void)userdata;
    assert_int_equal(phase, NM_LAUNCH_ENDED);
    assert_null(r);
    n_sessions_ended++;
}

static struct nm_launch *begin_session(struct fixture *w, const char *shim, const char *command, int client_fd)
{
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL}, *env[] = {(char *)"MORE=1", NULL};
    _cleanup_close_ int shim_fd = open(shim, O_PATH | O_CLOEXEC);
    struct nm_launch *l = NULL;
    struct nm_command c = w->command;
    const struct nm_launch_params p = {
        .shim_fd = shim_fd,
        .cgroup_fd = -EBADF,
        .container_id = failing_shim_id(),
        .command = &c,
        .confine = w->confine,
        .private_ipc = w->confine,
        .rows = session_rows,
        .columns = session_rows,
        .event = w->event,
    };
    const struct nm_shim_session session = {
        .shim_pid = nm_launch_shim_pid(w->launch), .command_pid = w->started.pid, .n_more = 1, .input = true};

    c.argv = argv;
    c.env = env;
    n_sessions_ended = 0;
    assert_int_equal(nm_launch_session_new(&p, &session, nm_launch_shim_pidfd(w->launch), client_fd, on_session, NULL,
                                           &l), 0);
    return l;
}

static void assert_session_end_is_consistent(const struct received *h)
{
    if (!h->has_end) {
        assert_true(has_failed());
        return;
    }
    if (h->end.stage != NM_LAUNCH_STAGE_NONE) {
        assert_false(has_run());
        assert_true(h->end.error > 0);
        return;
    }
    assert_true(has_run());
    assert_int_equal(h->end.code, 0);
}

static bool try_session(struct fixture *w, const struct failing_call *t, unsigned n)
{
    struct nm_launch *l;
    const char *script;
    struct received h;
    int pair[2];

    prepare_failing_shim(w, t, n);
    script = mark_run("", session_rows > 0 ? "echo $MORE" : "echo $MORE; cat >/dev/null");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    l = begin_session(w, NM_TEST_FAILING_SHIM, script, pair[1]);
    (void)close(pair[1]);
    if (session_rows == 0) {
        send_input(pair[0], "hello");
        send_input(pair[0], "");
    }
    (void)nm_launch_open_gate(l);
    receive_all(w, pair[0], &n_sessions_ended, &h);
    assert_session_end_is_consistent(&h);
    if (!has_failed())
        assert_true(h.has_end && h.output[0] == '1');
    (void)close(pair[0]);
    nm_launch_free(l);
    return has_failed();
}

static const struct failing_call session_failures[] = {
    {"open", EMFILE},     {"pipe2", EMFILE}, {"fchown", EPERM},      {"fcntl", EMFILE}, {"signalfd", ENFILE},
    {"fork", EAGAIN},     {"dup2", EMFILE},  {"socketpair", EMFILE}, {"dup3", EMFILE},  {"setns", EPERM},
    {"calloc", ENOMEM},   {"malloc", ENOMEM}, {"fstatfs", EIO},      {"send", EINTR},   {"send", EPIPE},
    {"send", EAGAIN},     {"recv", EINTR},   {"recv", ECONNRESET},   {"write", EAGAIN}, {"write", EPIPE},
    {"write", EINTR},     {"read", EINTR},   {"poll", EINTR},        {"ioctl", EIO},
};

static void try_sessions(struct fixture *w)
{
    begin_container(w);
    for (size_t i = 0; i < NM_ARRAY_SIZE(session_failures); i++)
        for (unsigned n = 1; try_session(w, &session_failures[i], n) && n < most_of(&session_failures[i]); n++)
            ;
    end_container(w);
}

static void test_a_session_ends_consistently_after_each_failed_call(void **state)
{
    try_sessions(*state);
}

static void test_a_session_with_a_terminal_ends_consistently_after_each_failed_call(void **state)
{
    session_rows = 24;
    try_sessions(*state);
    session_rows = 0;
}

static void test_a_confined_session_ends_consistently_after_each_failed_call(void **state)
{
    struct fixture *w = *state;

    use_user(w, "nobody");
    if (nm_launch_probe_confinement() < 0)
        skip();
    w->confine = true;
    try_sessions(w);
}

/* A peer that sends an invalid frame is treated as if it had closed the connection. The command gets SIGHUP, and the
 * session ends. */
static void test_a_session_ends_when_the_peer_sends_an_invalid_frame(void **state)
{
    static const struct {
        const char *name, *frame;
        size_t size;
    } bad[] = {
        {"unknown frame type", "Z\0\0\0", 4},
        {"signal 0", "S\0\0\1\0", 5},
        {"signal 64", "S\0\0\1\100", 5},
        {"two signals", "S\0\0\2\1\1", 6},
        {"incomplete window size", "W\0\0\2\1\1", 6},
        {"a frame longer than the data", "I\0\177\377", 4},
        {"an end frame from the peer", "X\0\0\4\0\0\0\0", 8},
    };
    struct fixture *w = *state;

    begin_container(w);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        struct nm_launch *l;
        struct received h;
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        l = begin_session(w, getenv("NMD_SHIM") ?: NM_TEST_SHIM, "exec sleep 1000", pair[1]);
        (void)close(pair[1]);
        assert_int_equal(nm_launch_open_gate(l), 0);
        assert_int_equal(send(pair[0], bad[i].frame, bad[i].size, MSG_NOSIGNAL), bad[i].size);
        receive_all(w, pair[0], &n_sessions_ended, &h);
        if (h.has_end)
            fail_msg("%s: the session reports a normal end", bad[i].name);
        (void)close(pair[0]);
        nm_launch_free(l);
    }
    end_container(w);
}

#define launch_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        launch_test(test_a_session_ends_consistently_after_each_failed_call),
        launch_test(test_a_session_with_a_terminal_ends_consistently_after_each_failed_call),
        launch_test(test_a_confined_session_ends_consistently_after_each_failed_call),
        launch_test(test_a_session_ends_when_the_peer_sends_an_invalid_frame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
