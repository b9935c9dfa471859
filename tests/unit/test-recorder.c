/* SPDX-License-Identifier: Apache-2.0 */

/* nmd --record: which files it accepts, which events it records, and the end of a recording when the disk is full. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "agent/lifecycle/lifecycle.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/manager/manager-internal.h"
#include "tests/unit/limit-files.h"
#include "tests/unit/manager-fixture.h"
#include "util/clock.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, manager_fixture_set_up, manager_fixture_tear_down)

static char path[128], text[1 << 16];

static const char *at(struct manager_fixture *w, const char *name)
{
    (void)snprintf(path, sizeof path, "%s/%s", w->tree.path, name);
    return path;
}

static const char *read_trace(struct manager_fixture *w)
{
    assert_int_equal(nm_read_file_at(AT_FDCWD, at(w, "trace"), text, sizeof text, NULL), 0);
    return text;
}

static void begin(struct manager_fixture *w)
{
    char *message = NULL;

    if (nm_manager_record(w->m, at(w, "trace"), &message) < 0)
        fail_msg("%s", message);
}

static void end(struct manager_fixture *w)
{
    w->m->recorder = nm_recorder_free(w->m->recorder);
}

/* ---- the file of a recording ------------------------------------------------------------------- */

/* nmd --check-config reports the same error as the start of nmd. */
static void assert_refused(struct manager_fixture *w, const char *name, int r, const char *substring)
{
    char *message = NULL;

    assert_int_equal(nm_manager_check_record(at(w, name), &message), r);
    if (!strstr(message, substring))
        fail_msg("%s", message);
    free(message);
    assert_int_equal(nm_manager_record(w->m, at(w, name), &message), r);
    if (!strstr(message, substring))
        fail_msg("%s", message);
    free(message);
    assert_null(w->m->recorder);
    assert_false(nm_events_have_subscribers(w->m->events));
}

static void test_a_file_that_is_not_a_trace_is_not_overwritten(void **state)
{
    struct manager_fixture *w = *state;

    fake_tree_write(&w->tree, "letter", "Dear nmd,\n");
    assert_refused(w, "letter", -EEXIST, "the file exists and is not a trace");
    assert_int_equal(nm_read_file_at(AT_FDCWD, at(w, "letter"), text, sizeof text, NULL), 0);
    assert_string_equal(text, "Dear nmd,\n");
    assert_int_equal(mkfifo(at(w, "fifo"), 0600), 0);
    assert_refused(w, "fifo", -EINVAL, "it must be a regular file");
    assert_int_equal(symlink("letter", at(w, "link")), 0);
    assert_refused(w, "link", -ELOOP, "can't be written");
    assert_refused(w, "nowhere/trace", -ENOENT, "can't be written: No such file or directory");
}

static void test_an_existing_trace_is_renamed_by_a_new_recording(void **state)
{
    struct manager_fixture *w = *state;
    char *message = NULL;

    fake_tree_write(&w->tree, "empty", "");
    assert_int_equal(nm_manager_check_record(at(w, "empty"), &message), 0);
    /* the check finds that the file can be created */
    assert_int_equal(nm_manager_check_record(at(w, "trace"), &message), 0);
    assert_false(fake_tree_has(&w->tree, "trace"));
    begin(w);
    end(w);
    assert_int_equal(nm_manager_check_record(at(w, "trace"), &message), 0);
    begin(w);
    end(w);
    assert_true(fake_tree_has(&w->tree, "trace.1"));
    assert_non_null(strstr(read_trace(w), "\"stop\""));
}

/* ---- full disk ---------------------------------------------------------------------------------- */

static void test_without_space_on_the_disk_no_recording_is_started(void **state)
{
    struct manager_fixture *w = *state;
    char *message = NULL;

    limit_files(10);
    assert_int_equal(nm_manager_record(w->m, at(w, "trace"), &message), -EFBIG);
    limit_files(RLIM_INFINITY);
    assert_non_null(strstr(message, "can't be written: File too large"));
    free(message);
    assert_null(w->m->recorder);
    assert_false(nm_events_have_subscribers(w->m->events));
}

/* The file has only complete lines and can be replayed. nmd keeps running. */
static void test_a_recording_that_runs_out_of_space_can_be_replayed(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_RUNNING);
    struct stat st;
    off_t size;

    w->m->sampled.node_valid = true;
    begin(w);
    assert_int_equal(stat(at(w, "trace"), &st), 0);
    size = st.st_size; /* the file has only the header; the later lines are still in memory */
    limit_files((rlim_t)size + 20);
    nm_act_pause(l, true);
    nm_persist_set_state(l, NM_PAUSED);
    for (unsigned i = 0; i < 3000; i++) { /* waits until nmd has written its buffer */
        l->c->view.measured.memory_bytes++;
        nm_recorder_sample(w->m->recorder);
    }
    limit_files(RLIM_INFINITY);
    assert_int_equal(stat(at(w, "trace"), &st), 0);
    assert_int_equal(st.st_size, size);
    assert_non_null(manager_fixture_add(w, "later", NM_OPPORTUNISTIC, NM_RUNNING));
    nm_persist_set_state(l, NM_RESUMING);
    nm_persist_set_state(l, NM_RUNNING);
    l->c->view.type = NM_GUARANTEED;
    nm_recorder_sample(w->m->recorder);
    end(w);
    assert_int_equal(stat(at(w, "trace"), &st), 0);
    assert_int_equal(st.st_size, size);
}

/* ---- recorded events ---------------------------------------------------------------------------- */

static unsigned count(const char *haystack, const char *needle)
{
    unsigned n = 0;

    for (const char *p = haystack; (p = strstr(p, needle)); p++)
        n++;
    return n;
}

static void test_each_event_is_recorded(void **state)
{
    static const char *const argv[] = {"/bin/true", NULL};
    const struct nm_submit too_large = {.type = NM_GUARANTEED, .name = "large", .memory_bytes = 1 << 30,
                                        .vcores_milli = 1000, .argv = argv};
    const struct nm_submit prepared = {.type = NM_OPPORTUNISTIC, .name = "prepared", .argv = argv, .owner = "upstream",
                                       .prepare = true};
    struct manager_fixture *w = *state;
    struct nm_live_container *l = manager_fixture_add(w, "it", NM_OPPORTUNISTIC, NM_RUNNING), *frozen, *p;
    const struct nm_container *c;
    struct nm_problem problem;
    const char *trace;

    frozen = manager_fixture_add(w, "frozen", NM_OPPORTUNISTIC, NM_RUNNING);
    manager_fixture_start(w);
    frozen->c->view.state = NM_PAUSED;
    begin(w);
    frozen->c->view.state = NM_RUNNING;
    assert_int_equal(manager_fixture_try(w, &too_large, &c, &problem), NM_AGENT_E_TOO_LARGE);
    p = manager_fixture_submit_as(w, &prepared);
    nm_act_pause(l, true);
    nm_persist_set_state(l, NM_PAUSED);
    nm_persist_set_state(l, NM_RESUMING);
    nm_persist_set_state(l, NM_RUNNING);
    l->c->view.type = NM_GUARANTEED; /* promotion of the container */
    l->c->view.measured.memory_bytes = 7 * MIB;
    nm_round(w->m, NM_TRIGGER_SAMPLE);
    nm_recorder_sample(w->m->recorder);
    nm_act_discard(p, NM_EXIT_KILLED); /* the preparation of the container was not recorded */
    manager_fixture_settle(w);
    /* without a valid sample, the round is not recorded, since it can't be replayed */
    w->m->sampled.node_valid = false;
    nm_recorder_sample(w->m->recorder);
    w->m->sampled.node_valid = true;
    nm_persist_set_state(l, NM_KILLING);
    nm_persist_set_state(l, NM_COMPLETED);
    l->c->view.state = NM_RUNNING;
    end(w);
    trace = read_trace(w);
    assert_int_equal(count(trace, "\"refused\""), 1);
    assert_non_null(strstr(trace, "\"large\""));
    assert_int_equal(count(trace, "\"submit\""), 2);
    assert_int_equal(count(trace, "\"ran\""), 2);
    assert_int_equal(count(trace, "\"ev\":\"pause\""), 2);
    assert_int_equal(count(trace, "\"ev\":\"resume\""), 1);
    assert_int_equal(count(trace, "\"ev\":\"kill\""), 1);
    assert_int_equal(count(trace, "\"ev\":\"change\""), 1);
    assert_int_equal(count(trace, "\"ev\":\"end\""), 1);
    assert_int_equal(count(trace, "\"ev\":\"stop\""), 1);
    assert_true(count(trace, "\"ev\":\"sample\"") >= 2);
    assert_int_equal(count(trace, "prepared"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_file_that_is_not_a_trace_is_not_overwritten),
        TEST(test_an_existing_trace_is_renamed_by_a_new_recording),
        TEST(test_without_space_on_the_disk_no_recording_is_started),
        TEST(test_a_recording_that_runs_out_of_space_can_be_replayed),
        TEST(test_each_event_is_recorded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
