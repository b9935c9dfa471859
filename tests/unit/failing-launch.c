/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/unit/failing-launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "util/clock.h"

static char failed_file[96], ran_file[96], plan[192], script[256];

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

const char *failing_shim_id(void)
{
    return plan;
}

const char *mark_run(const char *before, const char *after)
{
    (void)snprintf(script, sizeof script, "%secho ran >>%s; %s", before, ran_file, after);
    return script;
}

void prepare_failing_shim(struct fixture *w, const struct failing_call *t, unsigned n)
{
    char path[160];

    (void)snprintf(failed_file, sizeof failed_file, "%s/failed", w->root);
    (void)snprintf(ran_file, sizeof ran_file, "%s/ran", w->root);
    (void)snprintf(plan, sizeof plan, "%s:%u:%d:%s", t->call, n, t->error, failed_file);
    make_file(failed_file);
    make_file(ran_file);
    (void)snprintf(path, sizeof path, "%s/stdout", w->logs);
    (void)unlink(path);
    w->shim = NM_TEST_FAILING_SHIM;
    w->id = plan;
    w->n_started = w->n_ended = 0;
    w->without_record = false;
    shell(w, mark_run("", "echo out"));
}

bool has_failed(void)
{
    return size_of(failed_file) > 0;
}

bool has_run(void)
{
    assert_true(size_of(ran_file) <= 4); /* the command ran at most once */
    return size_of(ran_file) == 4;
}

/* Returns whether the hangup of the terminal killed the command. Such a command may not have written anything yet. */
static bool was_hung_up(const struct fixture *w)
{
    return w->rows > 0 && w->ended.exit_signal == SIGHUP;
}

void assert_end_is_consistent(struct fixture *w, const char *expected_output)
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

unsigned most_of(const struct failing_call *t)
{
    return nm_streq(t->call, "malloc") ? 1 : MOST_CALLS;
}

unsigned run_with_each_failure(struct fixture *w, const struct failing_call *t, void (*run_it)(struct fixture *w))
{
    unsigned n = 0;
    bool failed;

    do {
        prepare_failing_shim(w, t, ++n);
        run_it(w);
        failed = has_failed();
        if (!failed) { /* the code makes fewer than n calls */
            assert_false(w->without_record);
            assert_int_equal(w->ended.failed_stage, NM_LAUNCH_STAGE_NONE);
        }
        free_launch(w);
    } while (failed && n < most_of(t));
    return n - 1;
}

static void take_frame(struct received *h)
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

static void receive(int fd, struct received *h)
{
    ssize_t n;

    while ((n = recv(fd, h->in.data + h->in.len, nm_frame_missing_bytes(&h->in), MSG_DONTWAIT)) > 0) {
        int r = nm_frame_received(&h->in, (size_t)n);

        assert_true(r >= 0);
        if (r == NM_FRAME_E_WHOLE)
            take_frame(h);
    }
    h->is_over = h->is_over || n == 0 || errno != EAGAIN;
}

void receive_all(struct fixture *w, int fd, const unsigned *n_ended, struct received *h)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;

    *h = (struct received){0};
    while (*n_ended == 0 || !h->is_over) {
        if (nm_now_usec() > until)
            fail_msg("%s: the end of the container is not reported", plan);
        assert_true(sd_event_run(w->event, 5000) >= 0);
        receive(fd, h);
    }
}

static void send_frame(int fd, const struct nm_frame *f)
{
    (void)send(fd, f->data, f->len, MSG_NOSIGNAL); /* the receiver may have ended */
}

void send_input(int fd, const char *text)
{
    struct nm_frame f = {0};

    memcpy(f.data + NM_FRAME_HEAD, text, strlen(text));
    nm_frame_make(&f, NM_FRAME_INPUT, strlen(text));
    send_frame(fd, &f);
}

void begin_container(struct fixture *w)
{
    shell(w, "exec sleep 1000");
    assert_int_equal(launch(w), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_started);
}

void end_container(struct fixture *w)
{
    assert_int_equal(kill(nm_launch_shim_pid(w->launch), SIGKILL), 0);
    wait_for(w, &w->n_ended);
}
