/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A shim, and its command's process before the exec, with each of their system calls failing once (failing-shim.c).
 * Whatever fails: nmd receives an end; a command that is reported not to have run has not run; a command that ran has
 * reported its exit status and all of its output, or that some output is lost; and if neither `gate` nor record exists,
 * no command ran, because a restarted nmd relies on this. The same follows for nmd's own half of a launch.
 */

#include "tests/unit/launch-world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/launch/shim.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/failing-calls.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/frame.h"

#define MOST_CALLS 24 /* maximum calls of one name; the resets of 64 signals aren't all tested */

struct trouble {
    const char *call;
    int error;
};

static char struck_file[96], ran_file[96], plan[192], script[256];

/* Makes an empty file that all users may write. */
static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    assert_true(fd >= 0 && fchmod(fd, 0666) == 0);
    (void)close(fd);
}

static size_t size_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (size_t)st.st_size;
}

/* Prepares a shim whose nth call fails, and a command that leaves a mark when it runs. */
static void begin(struct world *w, const struct trouble *t, unsigned n)
{
    char path[160];

    (void)snprintf(struck_file, sizeof struck_file, "%s/struck", w->root);
    (void)snprintf(ran_file, sizeof ran_file, "%s/ran", w->root);
    (void)snprintf(plan, sizeof plan, "%s:%u:%d:%s", t->call, n, t->error, struck_file);
    (void)snprintf(script, sizeof script, "echo ran >>%s; echo out", ran_file);
    make_file(struck_file);
    make_file(ran_file);
    (void)snprintf(path, sizeof path, "%s/stdout", w->logs);
    (void)unlink(path);
    w->shim = NM_TEST_FAILING_SHIM;
    w->id = plan;
    w->n_started = w->n_ended = 0;
    w->without_record = false;
    shell(w, script);
}

static bool has_struck(void)
{
    return size_of(struck_file) > 0;
}

static bool has_run(void)
{
    assert_true(size_of(ran_file) <= 4); /* once at most */
    return size_of(ran_file) == 4;
}

/* The hangup of its terminal may have killed the command before it did anything. */
static bool was_hung_up(const struct world *w)
{
    return w->rows > 0 && w->ended.exit_signal == SIGHUP;
}

static void look_at_end(struct world *w, const char *expected_output)
{
    struct nm_launch_record r;

    assert_int_equal(w->n_ended, 1);
    if (w->without_record) {
        if (!nm_launch_gate_was_open(w->dir) && nm_launch_record_read(w->dir, &r) == -ENOENT)
            assert_false(has_run());
        return;
    }
    if (w->ended.failed_stage != NM_LAUNCH_STAGE_NONE) {
        assert_false(has_run());
        assert_int_equal(w->n_started, 0);
        assert_true(w->ended.failed_errno > 0);
        return;
    }
    assert_int_equal(w->n_started, 1);
    if (was_hung_up(w))
        return;
    assert_true(has_run());
    assert_int_equal(w->ended.exit_code, 0);
    if (expected_output && w->ended.output_lost_bytes == 0)
        assert_string_equal(output(w, "stdout"), expected_output);
}

/* The shim allocates memory once. Later allocations belong to the coverage runtime, which would abort without
 * memory. */
static unsigned most_of(const struct trouble *t)
{
    return nm_streq(t->call, "malloc") ? 1 : MOST_CALLS;
}

/* Runs the shim with the first, second, ... call failing, until no call fails any more. Returns the number of failed
 * calls. */
static unsigned try_each(struct world *w, const struct trouble *t, void (*run_it)(struct world *w))
{
    unsigned n = 0;
    bool struck;

    do {
        begin(w, t, ++n);
        run_it(w);
        struck = has_struck();
        if (!struck) { /* no call failed */
            assert_false(w->without_record);
            assert_int_equal(w->ended.failed_stage, NM_LAUNCH_STAGE_NONE);
        }
        forget(w);
    } while (struck && n < most_of(t));
    return n - 1;
}

static void run_plain(struct world *w)
{
    assert_int_equal(launch(w), 0);
    (void)nm_launch_open_gate(w->launch);
    wait_for(w, &w->n_ended);
    look_at_end(w, "out\n");
}

static const struct trouble plain_troubles[] = {
    {"open", EMFILE},     {"openat", EMFILE},   {"openat", ENOSPC},     {"calloc", ENOMEM},
    {"asprintf", ENOMEM}, {"fstat", EIO},         {"pread", EIO},      {"pipe2", EMFILE},
    {"fchown", EPERM},    {"fcntl", EMFILE},    {"dup2", EMFILE},       {"dup3", EMFILE},    {"signalfd", ENFILE},
    {"fork", EAGAIN},     {"setsid", EPERM},    {"socketpair", EMFILE}, {"prctl", EPERM},    {"syscall", EPERM},
    {"setgroups", EPERM}, {"chdir", EACCES},    {"setresgid", EAGAIN},  {"fchdir", EACCES},  {"setresuid", EAGAIN},
    {"write", ENOSPC},    {"pwrite", ENOSPC},   {"getresuid", EFAULT},  {"renameat", EIO},   {"ftruncate", EIO},
    {"fsync", EIO},       {"send", EPIPE},      {"recv", ECONNRESET},   {"recv", EINTR},     {"read", EINTR},
    {"poll", EINTR},      {"waitpid", EINTR},   {"getrlimit", EPERM},
};

static void test_plain(void **state)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(plain_troubles); i++)
        (void)try_each(*state, &plain_troubles[i], run_plain);
}

/* Runs the command as another user, in its own namespaces. */
static void test_confined(void **state)
{
    static const struct trouble troubles[] = {
        {"unshare", ENOSPC}, {"mount", EPERM},      {"mount", ENOENT},     {"send", ENOBUFS},   {"recv", ECONNRESET},
        {"recv", EINTR},     {"read", EINTR},       {"openat", EMFILE},    {"open", EMFILE},    {"write", EPERM},
        {"dup3", EMFILE},    {"fchown", EPERM},     {"setresuid", EAGAIN}, {"prctl", EPERM},    {"setgroups", EPERM},
        {"syscall", EPERM},  {"getresuid", EFAULT}, {"waitpid", EINTR},    {"fchdir", EACCES},
    };
    struct world *w = *state;

    use_user(w, "nobody");
    if (nm_launch_probe_confinement() < 0)
        skip();
    w->confine = true;
    for (size_t i = 0; i < NM_ARRAY_SIZE(troubles); i++)
        (void)try_each(w, &troubles[i], run_plain);
}

/* ---- with a peer on the connection -------------------------------------------------------------------------- */

struct heard {
    bool is_over, has_end;
    struct nm_frame in;
    struct nm_frame_end end;
    char output[256];
    size_t n;
};

static void take_frame(struct heard *h)
{
    size_t n = nm_frame_size(&h->in);

    switch (nm_frame_type(&h->in)) {
    case NM_FRAME_STDOUT:
        assert_true(h->n + n < sizeof h->output);
        memcpy(h->output + h->n, nm_frame_body(&h->in), n);
        h->n += n;
        break;
    case NM_FRAME_END:
        assert_int_equal(nm_frame_parse_end(&h->in, &h->end), 0);
        h->has_end = true;
        break;
    default:
        assert_true(nm_frame_type(&h->in) == NM_FRAME_TAKEN || nm_frame_type(&h->in) == NM_FRAME_STDERR);
    }
    h->in.len = 0;
}

static void hear(int fd, struct heard *h)
{
    ssize_t n;

    while ((n = recv(fd, h->in.data + h->in.len, nm_frame_wants(&h->in), MSG_DONTWAIT)) > 0) {
        int r = nm_frame_took(&h->in, (size_t)n);

        assert_true(r >= 0);
        if (r == NM_FRAME_E_WHOLE)
            take_frame(h);
    }
    h->is_over = h->is_over || n == 0 || errno != EAGAIN;
}

/* Reads the connection until both the shim and the connection have ended. */
static void hear_all(struct world *w, int fd, const unsigned *n_ended, struct heard *h)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;

    *h = (struct heard){0};
    while (*n_ended == 0 || !h->is_over) {
        if (nm_now_usec() > until)
            fail_msg("%s: no end is heard", plan);
        assert_true(sd_event_run(w->event, 5000) >= 0);
        hear(fd, h);
    }
}

static void send_frame(int fd, const struct nm_frame *f)
{
    (void)send(fd, f->data, f->len, MSG_NOSIGNAL); /* the receiver may have ended */
}

static void send_input(int fd, const char *text)
{
    struct nm_frame f = {0};

    memcpy(f.data + NM_FRAME_HEAD, text, strlen(text));
    nm_frame_make(&f, NM_FRAME_INPUT, strlen(text));
    send_frame(fd, &f);
}

static void send_size(int fd)
{
    struct nm_frame f = {0};

    nm_frame_make_size(&f, 30, 90);
    send_frame(fd, &f);
}

/* A failure to pass on input ends the input, but not the command. */
static void run_with_input(struct world *w)
{
    struct heard h;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    (void)snprintf(script, sizeof script, "echo ran >>%s; cat", ran_file);
    w->input_fd = pair[1];
    assert_int_equal(launch(w), 0);
    (void)close(pair[1]);
    send_input(pair[0], "hello");
    send_input(pair[0], "");
    (void)nm_launch_open_gate(w->launch);
    hear_all(w, pair[0], &w->n_ended, &h);
    (void)close(pair[0]);
    look_at_end(w, has_struck() ? NULL : "hello");
}

static void test_input(void **state)
{
    static const struct trouble troubles[] = {
        {"pipe2", EMFILE}, {"fchown", EPERM},    {"fcntl", EMFILE}, {"send", EPIPE},
        {"send", EINTR},   {"send", EAGAIN},     {"recv", EAGAIN},  {"recv", ECONNRESET},
        {"write", EAGAIN}, {"write", EPIPE},     {"write", EINTR},  {"poll", EINTR},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(troubles); i++)
        (void)try_each(*state, &troubles[i], run_with_input);
}

static void run_with_terminal(struct world *w)
{
    struct heard h;
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    (void)snprintf(script, sizeof script, "trap '' HUP; echo ran >>%s; echo out; true", ran_file);
    w->input_fd = pair[1];
    w->rows = 24;
    w->columns = 80;
    assert_int_equal(launch(w), 0);
    (void)close(pair[1]);
    send_size(pair[0]);
    send_input(pair[0], "typed\n");
    (void)nm_launch_open_gate(w->launch);
    hear_all(w, pair[0], &w->n_ended, &h);
    (void)close(pair[0]);
    look_at_end(w, NULL);
    if (!has_struck())
        assert_non_null(strstr(h.output, "out\r\n"));
}

static void test_terminal(void **state)
{
    static const struct trouble troubles[] = {
        {"open", EMFILE}, {"ioctl", EIO},  {"fchown", EPERM},    {"dup3", EMFILE}, {"fcntl", EMFILE},
        {"send", EPIPE},  {"send", EINTR}, {"send", EAGAIN},     {"recv", EINTR},  {"recv", ECONNRESET},
        {"write", EIO},   {"poll", EINTR}, {"write", EAGAIN},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(troubles); i++)
        (void)try_each(*state, &troubles[i], run_with_terminal);
}

/* ---- another command in a container ------------------------------------------------------------------------- */

static unsigned n_sessions_ended;
static uint16_t session_rows; /* terminal rows of the session; 0: no terminal */

static void on_session(struct nm_launch *l, enum nm_launch_phase phase, const struct nm_launch_record *r,
                       void *userdata)
{
    (void)l;
    (void)userdata;
    assert_int_equal(phase, NM_LAUNCH_ENDED);
    assert_null(r);
    n_sessions_ended++;
}

static struct nm_launch *begin_session(struct world *w, const char *shim, const char *command, int client_fd)
{
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL}, *env[] = {(char *)"MORE=1", NULL};
    _cleanup_close_ int shim_fd = open(shim, O_PATH | O_CLOEXEC);
    struct nm_launch *l = NULL;
    struct nm_command c = w->command;
    const struct nm_launch_params p = {
        .shim_fd = shim_fd,
        .cgroup_fd = -EBADF,
        .container_id = plan,
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

static void look_at_session(const struct heard *h)
{
    if (!h->has_end) {
        assert_true(has_struck());
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

static bool try_session(struct world *w, const struct trouble *t, unsigned n)
{
    struct nm_launch *l;
    struct heard h;
    int pair[2];

    begin(w, t, n);
    (void)snprintf(script, sizeof script, "echo ran >>%s; echo $MORE; %s", ran_file,
                   session_rows > 0 ? "" : "cat >/dev/null");
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    l = begin_session(w, NM_TEST_FAILING_SHIM, script, pair[1]);
    (void)close(pair[1]);
    if (session_rows == 0) {
        send_input(pair[0], "hello");
        send_input(pair[0], "");
    }
    (void)nm_launch_open_gate(l);
    hear_all(w, pair[0], &n_sessions_ended, &h);
    look_at_session(&h);
    if (!has_struck())
        assert_true(h.has_end && h.output[0] == '1');
    (void)close(pair[0]);
    nm_launch_free(l);
    return has_struck();
}

static void begin_container(struct world *w)
{
    shell(w, "exec sleep 1000");
    assert_int_equal(launch(w), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_started);
}

static void end_container(struct world *w)
{
    assert_int_equal(kill(nm_launch_shim_pid(w->launch), SIGKILL), 0);
    wait_for(w, &w->n_ended);
}

static const struct trouble session_troubles[] = {
    {"open", EMFILE},     {"pipe2", EMFILE}, {"fchown", EPERM},      {"fcntl", EMFILE}, {"signalfd", ENFILE},
    {"fork", EAGAIN},     {"dup2", EMFILE},  {"socketpair", EMFILE}, {"dup3", EMFILE},  {"setns", EPERM},
    {"calloc", ENOMEM},   {"malloc", ENOMEM}, {"fstatfs", EIO},      {"send", EINTR},   {"send", EPIPE},
    {"send", EAGAIN},     {"recv", EINTR},   {"recv", ECONNRESET},   {"write", EAGAIN}, {"write", EPIPE},
    {"write", EINTR},     {"read", EINTR},   {"poll", EINTR},        {"ioctl", EIO},
};

static void try_sessions(struct world *w)
{
    begin_container(w);
    for (size_t i = 0; i < NM_ARRAY_SIZE(session_troubles); i++)
        for (unsigned n = 1; try_session(w, &session_troubles[i], n) && n < most_of(&session_troubles[i]); n++)
            ;
    end_container(w);
}

static void test_session(void **state)
{
    try_sessions(*state);
}

static void test_session_with_terminal(void **state)
{
    session_rows = 24;
    try_sessions(*state);
    session_rows = 0;
}

static void test_session_confined(void **state)
{
    struct world *w = *state;

    use_user(w, "nobody");
    if (nm_launch_probe_confinement() < 0)
        skip();
    w->confine = true;
    try_sessions(w);
}

/* A peer that sends an invalid frame is treated like one that closed the connection: the command gets a hangup and
 * ends. */
static void test_session_abused(void **state)
{
    static const struct {
        const char *name, *frame;
        size_t size;
    } bad[] = {
        {"no such frame", "Z\0\0\0", 4},
        {"signal 0", "S\0\0\1\0", 5},
        {"signal 64", "S\0\0\1\100", 5},
        {"two signals", "S\0\0\2\1\1", 6},
        {"half a size", "W\0\0\2\1\1", 6},
        {"a frame without end", "I\0\177\377", 4},
        {"an end", "X\0\0\4\0\0\0\0", 8},
    };
    struct world *w = *state;

    begin_container(w);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        struct nm_launch *l;
        struct heard h;
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        l = begin_session(w, getenv("NMD_SHIM") ?: NM_TEST_SHIM, "exec sleep 1000", pair[1]);
        (void)close(pair[1]);
        assert_int_equal(nm_launch_open_gate(l), 0);
        assert_int_equal(send(pair[0], bad[i].frame, bad[i].size, MSG_NOSIGNAL), bad[i].size);
        hear_all(w, pair[0], &n_sessions_ended, &h);
        if (h.has_end)
            fail_msg("%s: the session is said to have ended in good order", bad[i].name);
        (void)close(pair[0]);
        nm_launch_free(l);
    }
    end_container(w);
}

/* ---- nmd's own half ----------------------------------------------------------------------------------------- */

#define MOST_OF_CHILD 40 /* failures in nmd's forked child can't be seen here */

static void no_child_is_left(struct world *w)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    siginfo_t info;

    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        assert_true(nm_now_usec() < until);
        assert_true(sd_event_run(w->event, 5000) >= 0);
    }
    assert_int_equal(errno, ECHILD);
}

/* A failed launch leaves no process and has run no command. */
static void look_at_launch(struct world *w, int r)
{
    if (r < 0) {
        assert_null(w->launch);
        assert_false(has_run());
    } else {
        (void)nm_launch_open_gate(w->launch);
        wait_for(w, &w->n_ended);
        look_at_end(w, "out\n");
    }
    forget(w);
    no_child_is_left(w);
}

static void test_nmd(void **state)
{
    static const struct trouble none = {"none", 0}, troubles[] = {
        {"socketpair", EMFILE}, {"fcntl", EMFILE}, {"fork", EAGAIN},        {"syscall", ENOSYS}, {"unlinkat", EIO},
        {"pidfd_open", EMFILE}, {"fstat", EIO},    {"memfd_create", EMFILE}, {"dup2", EBUSY},    {"write", ENOSPC},
        {"pread", EIO},
    };
    static const unsigned kinds[] = {FAIL_MEMORY, FAIL_EVENT, FAIL_OPEN};
    struct world *w = *state;
    bool failed;

    for (size_t i = 0; i < NM_ARRAY_SIZE(troubles); i++) {
        unsigned n = 0;

        do {
            int r;

            begin(w, &none, 1);
            w->shim = NULL;
            fail_call(troubles[i].call, ++n, troubles[i].error);
            r = launch(w);
            failed = fail_call_stop();
            look_at_launch(w, r);
        } while (failed || n < 3);
    }
    for (size_t i = 0; i < NM_ARRAY_SIZE(kinds); i++)
        for (unsigned n = 1; n <= MOST_OF_CHILD; n++) {
            int r;

            begin(w, &none, 1);
            w->shim = NULL;
            fail_nth(kinds[i], n);
            r = launch(w);
            (void)fail_stop();
            look_at_launch(w, r);
        }
}

static void on_adopted(struct nm_launch *l, enum nm_launch_phase phase, const struct nm_launch_record *r,
                       void *userdata)
{
    (void)l, (void)phase, (void)r;
    ++*(unsigned *)userdata;
}

/* Without memory or a watch the adoption of a shim may fail. The shim keeps running in either case. */
static void test_adopt(void **state)
{
    static const unsigned kinds[] = {FAIL_MEMORY, FAIL_EVENT, FAIL_OPEN};
    static const struct trouble troubles[] = {{"pidfd_open", EMFILE}, {"pread", EIO}};
    struct world *w = *state;
    struct nm_launch *l;
    unsigned heard, n_tries = NM_ARRAY_SIZE(kinds) + NM_ARRAY_SIZE(troubles);
    pid_t shim;
    bool failed;

    begin_container(w);
    shim = nm_launch_shim_pid(w->launch);
    for (unsigned i = 0; i < n_tries; i++) {
        unsigned n = 0;

        do {
            const struct trouble *t = i < NM_ARRAY_SIZE(kinds) ? NULL : &troubles[i - NM_ARRAY_SIZE(kinds)];
            int r;

            n++;
            l = NULL;
            heard = 0;
            if (t)
                fail_call(t->call, n, t->error);
            else
                fail_nth(kinds[i], n);
            r = nm_launch_adopt(w->dir, shim, nm_launch_shim_start_ticks(w->launch), w->event, on_adopted, &heard, &l);
            failed = t ? fail_call_stop() : fail_stop();
            assert_true(r < 0 ? !l : !!l);
            assert_true(failed || r == 0);
            while (r == 0 && !failed && heard == 0)
                assert_true(sd_event_run(w->event, 100000) >= 0);
            nm_launch_free(l);
            assert_true(nm_launch_shim_lives(shim, nm_launch_shim_start_ticks(w->launch)));
        } while (failed);
    }
    assert_int_equal(w->n_ended, 0);
    end_container(w);
}

/* The probe for namespaces has a result whichever call fails. */
static void test_probe(void **state)
{
    static const struct trouble troubles[] = {
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
    for (size_t i = 0; i < NM_ARRAY_SIZE(troubles); i++) {
        const struct trouble *t = &troubles[i];
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
        launch_test(test_plain),
        launch_test(test_confined),
        launch_test(test_input),
        launch_test(test_terminal),
        launch_test(test_session),
        launch_test(test_session_with_terminal),
        launch_test(test_session_confined),
        launch_test(test_session_abused),
        launch_test(test_nmd),
        launch_test(test_adopt),
        launch_test(test_probe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
