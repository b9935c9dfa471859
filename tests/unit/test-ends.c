/* SPDX-License-Identifier: Apache-2.0 */

/*
 * agent/lifecycle/: the end of a container that nmd reports for each possible record of the shim. Also containers that
 * can't be killed, containers whose limits can't be set, and containers that have ended before the backend answers.
 */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/lifecycle/lifecycle-internal.h"
#include "agent/node/cgroups.h"
#include "agent/node/sampling.h"
#include "cgroup/backend-fake.h"
#include "tests/unit/manager-fixture.h"
#include "util/clock.h"
#include "util/fileio.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, manager_fixture_set_up, manager_fixture_tear_down)

static char word[] = "/bin/it", where[] = "/nowhere", someone[] = "someone";
static char *const words[] = {word, NULL};

static struct nm_live_container *add(struct manager_fixture *w, const char *name)
{
    const struct nm_command command = {.argv = (char **)(uintptr_t)words, .workdir = where, .user = someone};
    struct nm_live_container *l = manager_fixture_add(w, name, NM_OPPORTUNISTIC, NM_RUNNING);

    assert_int_equal(nm_command_copy(&command, &l->c->command), 0);
    return l;
}

static void write_file(int dir_fd, const char *file, const char *text)
{
    _cleanup_close_ int fd = openat(dir_fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* ---- final records ---------------------------------------------------------------------------- */

static const struct {
    enum nm_launch_stage stage;
    int error;
    enum nm_exit_reason reason;
    int code;
    const char *substring;
} failures[] = {
    {NM_LAUNCH_STAGE_USER, EPERM, NM_EXIT_BAD_USER, 125, "can't become user someone: Operation not permitted"},
    {NM_LAUNCH_STAGE_WORKDIR, ENOENT, NM_EXIT_BAD_WORKDIR, 125,
     "can't enter the working directory /nowhere: No such file or directory"},
    {NM_LAUNCH_STAGE_EXEC, ENOENT, NM_EXIT_NOT_FOUND, 127, "command not found: /bin/it"},
    {NM_LAUNCH_STAGE_EXEC, ENOTDIR, NM_EXIT_NOT_FOUND, 127, "command not found: /bin/it"},
    {NM_LAUNCH_STAGE_EXEC, EACCES, NM_EXIT_NOT_EXECUTABLE, 126, "not executable: /bin/it (Permission denied)"},
    {NM_LAUNCH_STAGE_EXEC, EPERM, NM_EXIT_NOT_EXECUTABLE, 126, "(Operation not permitted)"},
    {NM_LAUNCH_STAGE_EXEC, ENOEXEC, NM_EXIT_NOT_EXECUTABLE, 126, "(Exec format error)"},
    {NM_LAUNCH_STAGE_EXEC, ENOMEM, NM_EXIT_LAUNCH_FAILED, 125, "Cannot allocate memory"},
    {NM_LAUNCH_STAGE_LOGS, ELOOP, NM_EXIT_LAUNCH_FAILED, 125, "a link or a pipe"},
    {NM_LAUNCH_STAGE_LOGS, ENXIO, NM_EXIT_LAUNCH_FAILED, 125, "a link or a pipe"},
    {NM_LAUNCH_STAGE_LOGS, ENOSPC, NM_EXIT_LAUNCH_FAILED, 125, "No space left on device"},
    {NM_LAUNCH_STAGE_CONFINE, EPERM, NM_EXIT_LAUNCH_FAILED, 125, "Operation not permitted"},
    {NM_LAUNCH_STAGE_SHIM, EPIPE, NM_EXIT_LAUNCH_FAILED, 125, "its shim was killed from outside nmd before"},
    {NM_LAUNCH_STAGE_SHIM, EAGAIN, NM_EXIT_LAUNCH_FAILED, 125, "Resource temporarily unavailable"},
};

static void drop_end(struct nm_live_container *l)
{
    nm_container_drop_end(l->c);
    l->c->message[0] = '\0';
    l->c->exit_reason = NM_EXIT_NONE;
    l->c->oom_kills = 0;
    l->has_end = l->run.global_oom = l->run.oom_reported = l->run.stopped = false;
}

static void test_a_container_that_could_not_start_reports_the_reason(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it");

    for (size_t i = 0; i < NM_ARRAY_SIZE(failures); i++) {
        l->end = (struct nm_launch_record){.phase = NM_LAUNCH_ENDED, .failed_stage = failures[i].stage,
                                           .failed_errno = failures[i].error};
        l->has_end = true;
        nm_end_classify(l);
        assert_int_equal(l->c->exit_reason, failures[i].reason);
        assert_int_equal(l->c->exit_code, failures[i].code);
        if (!strstr(l->c->message, failures[i].substring))
            fail_msg("%zu: %s", i, l->c->message);
        drop_end(l);
    }
}

struct end_case {
    int exit_code, exit_signal;
    uint64_t oom_kills, ooms, lost_bytes;
    bool stopped;
    enum nm_exit_reason kill, reason;
    int code;
    const char *substring;
};

static const struct end_case end_cases[] = {
    {.exit_code = 3, .reason = NM_EXIT_EXITED, .code = 3, .substring = ""},
    {.exit_code = 0, .lost_bytes = 7, .reason = NM_EXIT_EXITED,
     .substring = "7 bytes of its output could not be written"},
    {.exit_signal = SIGSEGV, .reason = NM_EXIT_SIGNALED, .code = 128 + SIGSEGV, .substring = ""},
    {.exit_signal = SIGTERM, .reason = NM_EXIT_SIGNALED, .code = 128 + SIGTERM,
     .substring = "SIGTERM was not sent by nmd"},
    {.exit_signal = SIGHUP, .reason = NM_EXIT_SIGNALED, .code = 128 + SIGHUP,
     .substring = "SIGHUP was not sent by nmd"},
    {.exit_signal = SIGINT, .reason = NM_EXIT_SIGNALED, .code = 128 + SIGINT,
     .substring = "SIGINT was not sent by nmd"},
    {.exit_signal = SIGKILL, .oom_kills = 1, .ooms = 1, .reason = NM_EXIT_OOM, .code = 128 + SIGKILL,
     .substring = "the kernel's OOM killer killed it;"},
    {.exit_signal = SIGKILL, .oom_kills = 1, .reason = NM_EXIT_OOM, .code = 128 + SIGKILL,
     .substring = "killed it, because the slice or the node ran out of memory"},
    {.exit_code = 128 + SIGKILL, .oom_kills = 2, .ooms = 1, .reason = NM_EXIT_OOM, .code = 128 + SIGKILL,
     .substring = "the kernel's OOM killer killed it;"}, /* the exit status of a shell whose child was killed */
    {.exit_code = 128 + SIGKILL, .reason = NM_EXIT_EXITED, .code = 128 + SIGKILL, .substring = ""},
    {.exit_code = 0, .kill = NM_EXIT_KILLED, .reason = NM_EXIT_KILLED, .substring = ""},
    {.exit_signal = SIGTERM, .kill = NM_EXIT_PREEMPTED, .reason = NM_EXIT_PREEMPTED, .code = 128 + SIGTERM,
     .substring = ""},
    {.exit_signal = SIGKILL, .oom_kills = 1, .ooms = 1, .kill = NM_EXIT_KILLED, .reason = NM_EXIT_OOM,
     .code = 128 + SIGKILL, .substring = "the kernel's OOM killer killed it"},
    {.exit_signal = SIGTERM, .stopped = true, .reason = NM_EXIT_STOPPED, .code = 128 + SIGTERM,
     .substring = "systemd stopped its scope"},
    {.exit_signal = SIGTERM, .stopped = true, .kill = NM_EXIT_KILLED, .reason = NM_EXIT_KILLED, .code = 128 + SIGTERM,
     .substring = ""},
};

static void test_each_kind_of_end_has_its_exit_reason_and_exit_code(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it");

    for (size_t i = 0; i < NM_ARRAY_SIZE(end_cases); i++) {
        const struct end_case *is = &end_cases[i];

        l->c->pid = getpid();
        l->end = (struct nm_launch_record){.phase = NM_LAUNCH_ENDED, .exit_code = is->exit_code,
                                           .exit_signal = is->exit_signal, .oom_kills = is->oom_kills,
                                           .ooms = is->ooms, .output_lost_bytes = is->lost_bytes};
        l->has_end = true;
        l->run.stopped = is->stopped;
        l->c->kill_reason = is->kill;
        nm_end_classify(l);
        if (l->c->exit_reason != is->reason || l->c->exit_code != is->code)
            fail_msg("%zu: %s, %d", i, nm_exit_reason_name(l->c->exit_reason), l->c->exit_code);
        if (is->substring[0] ? !strstr(l->c->message, is->substring) : l->c->message[0] != '\0')
            fail_msg("%zu: %s", i, l->c->message);
        drop_end(l);
        l->c->kill_reason = NM_EXIT_NONE;
    }
    l->c->pid = 0;
}

static void assert_classified(struct nm_live_container *l, enum nm_exit_reason reason, int code, const char *substring)
{
    nm_end_classify(l);
    assert_int_equal(l->c->exit_reason, reason);
    assert_int_equal(l->c->exit_code, code);
    if (!strstr(l->c->message, substring))
        fail_msg("%s", l->c->message);
    drop_end(l);
}

/* A killed shim has reported no end. Its files show whether the command had started. */
static void test_the_files_of_a_killed_shim_show_whether_the_command_started(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it");

    assert_classified(l, NM_EXIT_LOST, -1, "its shim's records were removed");
    manager_fixture_leave_file(w, l->c->id, "other", "");
    assert_classified(l, NM_EXIT_LAUNCH_FAILED, 125, "before it started the command");
    manager_fixture_leave_file(w, l->c->id, NM_LAUNCH_GATE_FILE, "");
    assert_classified(l, NM_EXIT_SIGNALED, 137, "while it started the command");
    l->c->pid = 1000000000;
    assert_classified(l, NM_EXIT_SIGNALED, 137, "before it recorded the command's end; remaining processes");
    l->run.adopted = true;
    assert_classified(l, NM_EXIT_SIGNALED, 137, "the journal doesn't show that nmd killed it");
    l->c->oom_kills = 1;
    assert_classified(l, NM_EXIT_OOM, 137, "the kernel's OOM killer killed it");
    l->c->kill_reason = NM_EXIT_KILLED;
    assert_classified(l, NM_EXIT_KILLED, 137, "");
    l->c->pid = 0;
    assert_classified(l, NM_EXIT_KILLED, -1, "");
    l->c->kill_reason = NM_EXIT_NONE;
    /* the shim's record exists, but its end has not been received */
    l->c->shim_pid = 1000000000;
    manager_fixture_leave_file(w, l->c->id, NM_LAUNCH_RECORD_FILE, "no record\n");
    assert_classified(l, NM_EXIT_SIGNALED, 137, "");
    l->c->shim_pid = 0;
}

/* If memory.events can't be watched, only the next sample detects the kill. */
static void test_without_a_watch_a_sample_detects_a_kill_by_the_kernel(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it");

    l->memory_watch = nm_cgroup_watch_free(l->memory_watch);
    l->sampler = nm_cgroup_sampler_free(l->sampler);
    write_file(l->cg->dir_fd, "memory.stat",
               "anon 4096\nshmem 0\nkernel 0\nunevictable 0\ninactive_anon 0\nactive_anon 4096\n");
    assert_int_equal(nm_cgroup_sampler_new(l->cg, true, "/proc", &l->sampler), 0);
    assert_int_equal(nm_fake_set_memory_events(l->cg, &(struct nm_cgroup_memory_events){.oom_kill = 2}), 0);
    nm_sample_live(l, nm_now_usec());
    assert_int_equal(l->c->oom_kills, 2);
    assert_true(l->run.oom_reported && l->run.global_oom); /* the container's own limit wasn't reached */
    assert_int_equal(w->m->sampled.kernel_kills, 1);
    assert_int_equal(l->decision.reason, NM_REASON_KERNEL_OOM);
    nm_sample_live(l, nm_now_usec());
    assert_int_equal(w->m->sampled.kernel_kills, 1);
}

/* The slice was removed and made again. nmd reads the files of the new slice. */
static void test_after_its_removal_the_files_of_the_new_slice_are_read(void **state)
{
    struct manager_fixture *w = *state;

    uint64_t usec;
    unsigned slice, first;

    assert_true(nm_write_file_at(w->m->backend->slice_fd, "cpu.stat", "") < 0);
    assert_true(nm_sample_slice_cpu(w->m, &usec, &slice) < 0);
    write_file(w->m->backend->slice_fd, "cpu.stat", "usage_usec 1\n");
    nm_sample_open_slice(w->m);
    assert_int_equal(nm_sample_slice_cpu(w->m, &usec, &first), 0);
    assert_int_equal(usec, 1);
    nm_sample_open_slice(w->m); /* a second call has no effect */
    assert_int_equal(nm_sample_slice_cpu(w->m, &usec, &slice), 0);
    assert_int_equal(slice, first);
    write_file(w->m->backend->slice_fd, "memory.stat", "anon 5\n");
    write_file(w->m->backend->slice_fd, "cpu.stat", "nonsense\n");
    assert_true(nm_sample_slice_cpu(w->m, &usec, &slice) < 0);
    write_file(w->m->backend->slice_fd, "cpu.stat", "usage_usec 2\n");
    assert_true(nm_sample_slice_cpu(w->m, &usec, &slice) < 0); /* until nm_sample_open_slice() opens the file again */
    nm_sample_open_slice(w->m);
    assert_int_equal(nm_sample_slice_cpu(w->m, &usec, &slice), 0);
    assert_int_not_equal(slice, first);
    write_file(w->m->backend->slice_fd, "memory.stat", "anon nonsense\n");
    (void)nm_sample_all(w->m, false);
    assert_true(nm_sample_slice_cpu(w->m, &usec, &slice) < 0);
}

/* ---- containers that don't end ---------------------------------------------------------------- */

static bool has_ended(const struct nm_live_container *l)
{
    return nm_run_phase_is_ending(l->phase);
}

static void test_a_container_that_can_not_be_killed_makes_the_node_unhealthy(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it");
    struct nm_status status;
    uint64_t deadline = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;

    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, l->c->id, true, &(struct nm_problem){0}), 0);
    assert_true(nm_run_phase_is_killed(l->phase) && l->kill.timer);
    l->kill.begun_usec = 1; /* long ago */
    l->c->view.shrunk_usec = 0;
    while (!l->run.unkillable && nm_now_usec() < deadline)
        assert_true(sd_event_run(w->event, 100 * NM_USEC_PER_MSEC) >= 0);
    assert_true(l->run.unkillable && l->kill.n > 1);
    assert_int_equal(w->m->counters.unkillable, 1);
    nm_manager_get_status(w->m, &status);
    assert_false(status.healthy);
    assert_int_equal(nm_fake_set_events(l->cg, false, false), 0); /* finally the processes have ended */
    manager_fixture_wait(w, l, has_ended);
    manager_fixture_settle(w);
    nm_manager_get_status(w->m, &status);
    assert_true(status.healthy || !strstr(status.health_reason, "kill"));
}

/* The container's cgroup.kill can't be written. The error is reported, and the kill is repeated. */
static void test_a_failed_kill_is_reported_and_repeated(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it");

    assert_int_equal(unlinkat(l->cg->dir_fd, "cgroup.kill", 0), 0);
    assert_int_equal(mkdirat(l->cg->dir_fd, "cgroup.kill", 0700), 0);
    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, l->c->id, true, &(struct nm_problem){0}), 0);
    assert_int_equal(l->c->view.state, NM_KILLING);
    assert_false(l->decision_open);
    assert_int_equal(l->decision.outcome, NM_OUTCOME_FAILED);
    assert_string_equal(l->decision.error, "Is a directory");
    assert_true(nm_run_phase_is_killed(l->phase) && l->kill.timer);
    assert_int_equal(unlinkat(l->cg->dir_fd, "cgroup.kill", AT_REMOVEDIR), 0);
}

static void remove_cgroup(const struct nm_live_container *l)
{
    assert_int_equal(remove_tree(l->cg->path), 0);
}

/* Another process has removed the container's cgroup, as systemctl stop does. Requests to freeze or kill find no
 * processes, and nmd reports the end of the container. */
static void test_a_container_whose_cgroup_was_removed_ends(void **state)
{
    static const enum nm_state states[] = {NM_RUNNING, NM_PAUSED, NM_KILLING};
    struct manager_fixture *w = *state;
    struct nm_problem p;

    for (size_t i = 0; i < NM_ARRAY_SIZE(states); i++) {
        struct nm_live_container *l = add(w, "it");
        const struct nm_container *c = l->c;

        nm_run_phase_set(&l->phase, NM_RUN_SHIM_GONE);
        l->c->view.state = states[i];
        remove_cgroup(l);
        if (states[i] == NM_RUNNING)
            assert_int_equal(nm_manager_pause(w->m, &manager_fixture_admin, c->id, &p), 0);
        else if (states[i] == NM_PAUSED)
            assert_int_equal(nm_manager_resume(w->m, &manager_fixture_admin, c->id, &p), 0);
        else
            nm_kill_all(l);
        manager_fixture_settle(w);
        assert_int_equal(c->view.state, NM_COMPLETED);
    }
}

/* Journals a container with a variable of this length, ends it, and returns the size of its command in the journal. */
static int64_t bytes_after_end(struct manager_fixture *w, size_t length)
{
    struct nm_live_container *l = add(w, "it");
    const struct nm_container *c = l->c;
    char *variable = calloc(1, length + 1);

    memset(variable, 'x', length);
    variable[1] = '=';
    free(l->c->command.env);
    l->c->command.env = nm_strv_pack((const char *const[]){variable}, 1);
    free(variable);
    assert_int_equal(nm_persist_journal(l), 0);
    assert_true(manager_fixture_journalled(w, "commands", "length(argv) + length(env)", c->id) > (int64_t)length);
    nm_run_phase_set(&l->phase, NM_RUN_SHIM_GONE);
    l->c->view.state = NM_KILLING;
    remove_cgroup(l);
    nm_kill_all(l);
    manager_fixture_settle(w);
    assert_int_equal(c->view.state, NM_COMPLETED);
    return manager_fixture_journalled(w, "commands", "length(argv) + length(env)", c->id);
}

/* The journal keeps of an ended container's long command what nmd keeps. A short command isn't written again. */
static void test_a_long_command_of_an_ended_container_is_shortened_in_the_journal(void **state)
{
    struct manager_fixture *w = *state;

    assert_in_range(bytes_after_end(w, 100000), 1, NM_ENDED_COMMAND_BYTES);
    assert_in_range(bytes_after_end(w, 2000), 2000, 2100);
    manager_fixture_restart(w);
    assert_int_equal(w->m->ended.n, 2);
    for (size_t i = 0; i < w->m->ended.n; i++) {
        assert_string_equal(w->m->ended.all[i]->command.argv[0], word);
        assert_null(w->m->ended.all[i]->command.env[0]);
    }
}

/* The container has left more cgroups below its own than one call removes. Housekeeping removes the rest. */
static void test_the_removal_of_a_cgroup_is_repeated_until_it_is_complete(void **state)
{
    struct manager_fixture *w = *state;
    _cleanup_free_ char *path = NULL;

    for (int n = 0; n < 2; n++) {
        struct nm_live_container *l = add(w, "it");

        free(path);
        path = strdup(l->cg->path);
        nm_run_phase_set(&l->phase, NM_RUN_SHIM_GONE);
        nm_fake_fail_next(w->m->backend, NM_FAKE_REMOVE, -EBUSY);
        assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
        manager_fixture_settle(w);
        assert_int_equal(w->m->live.n, 0);
        assert_int_equal(w->m->unowned.leftovers.n, n + 1);
        nm_fake_fail_next(w->m->backend, NM_FAKE_REMOVE, -EBUSY);
        nm_cgroups_remove_leftovers(w->m);
        assert_int_equal(w->m->unowned.leftovers.n, n + 1);
        assert_int_equal(access(path, F_OK), 0);
    }
    nm_cgroups_remove_leftovers(w->m);
    assert_int_equal(w->m->unowned.leftovers.n, 0);
    assert_int_equal(access(path, F_OK), -1);
}

/* An owner may give the id of an ended container to another one. */
static void test_the_cgroup_of_a_live_container_is_no_leftover(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it");

    nm_fake_fail_next(w->m->backend, NM_FAKE_REMOVE, -EBUSY);
    assert_int_equal(nm_cgroups_remove(w->m, l->cg), 0);
    assert_int_equal(w->m->unowned.leftovers.n, 1);
    assert_int_equal(nm_fake_set_events(l->cg, false, false), 0); /* removed, if it were a leftover */
    nm_cgroups_remove_leftovers(w->m);
    assert_int_equal(w->m->unowned.leftovers.n, 0);
    assert_int_equal(access(l->cg->path, F_OK), 0);
}

/* ---- limits ------------------------------------------------------------------------------------ */

static void test_a_container_whose_limits_can_not_be_set_keeps_running(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it");

    nm_fake_fail_next(w->m->backend, NM_FAKE_SET_LIMITS, -EIO);
    nm_limits_apply(l);
    assert_int_equal(l->limits_in_flight, 1);
    manager_fixture_settle(w);
    assert_int_equal(l->limits_in_flight, 0);
    nm_fake_fail_next(w->m->backend, NM_FAKE_SET_LIMITS, -ENOENT);
    nm_limits_apply(l);
    manager_fixture_settle(w);
    assert_int_equal(l->limits_in_flight, 0);
    assert_int_equal(l->c->view.state, NM_RUNNING);
}

/* Until the backend has answered, it has a pointer to the container. The container must therefore not be freed before
 * the answer. */
static void test_a_container_is_not_freed_before_its_limits_are_answered(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it");
    const struct nm_container *c = l->c;

    nm_limits_apply(l);
    nm_limits_apply(l);
    l->c->view.state = NM_COMPLETED;
    nm_run_phase_set(&l->phase, NM_RUN_ENDING);
    nm_lists_remove_live(l);
    assert_int_equal(w->m->live.n, 0);
    assert_true(l->phase == NM_RUN_REMOVED && l->limits_in_flight == 2);
    manager_fixture_settle(w); /* frees the container exactly once */
    assert_ptr_equal(nm_lists_by_id(w->m, c->id), c);
}

static void overwrite(const struct nm_live_container *l, const char *file, const char *text)
{
    assert_true(nm_write_file_at(l->cg->dir_fd, file, text) >= 0);
}

static void test_limits_that_another_program_changed_are_restored(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it"), *dies = add(w, "dies"), *changes = add(w, "changes");
    char text[64];

    manager_fixture_start(w);
    dies->c->view.state = NM_KILLING;
    changes->limits_in_flight++;
    overwrite(l, "memory.max", "1234567936");
    overwrite(dies, "memory.max", "1234567936");
    nm_limits_check_drift(w->m);
    manager_fixture_settle(w);
    assert_true(w->m->counters.drift_repairs >= 1);
    assert_file(l, "memory.max", "67108864");
    assert_int_equal(nm_fake_read(dies->cg, "memory.max", text, sizeof text), 0);
    assert_string_equal(text, "1234567936"); /* the limits of a container in KILLING aren't restored */
    changes->limits_in_flight--;
    dies->c->view.state = NM_RUNNING;
}

/* A restarted nmd finds limits that an earlier nmd set for another type or capacity. */
static void test_a_restarted_nmd_corrects_limits(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it");

    l->c->pid = getpid(); /* this process's OOM score is that of another type */
    overwrite(l, "memory.max", "1234567936");
    nm_limits_restore(l);
    manager_fixture_settle(w);
    assert_file(l, "memory.max", "67108864");
    l->c->view.state = NM_KILLING;
    overwrite(l, "memory.max", "1234567936");
    nm_limits_restore(l);
    manager_fixture_settle(w);
    assert_file(l, "memory.max", "1234567936");
    l->c->pid = 0;
}

/* ---- stopped, frozen or thawed by other programs --------------------------------------------- */

static void test_the_diagnostics_name_a_stop_by_systemd(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "it");
    const struct nm_event_record *e;

    nm_container_events_stopped(NULL, w->m);
    e = nm_events_newest(w->m->events);
    assert_non_null(strstr(e->text, "systemd stops nmtest.slice and all containers in it"));
    nm_container_events_stopped("container_1_000099", w->m); /* no container has this id */
    nm_container_events_stopped(l->c->id, w->m);
    assert_true(l->run.stopped);
    assert_non_null(strstr(l->c->message, "systemd is stopping its scope"));
    e = nm_events_newest(w->m->events);
    assert_non_null(strstr(e->text, l->c->id));
    nm_container_events_stopped(l->c->id, w->m); /* the backend reports the stop twice */
    assert_ptr_equal(e, nm_events_newest(w->m->events));
}

static int asked_freeze(const struct nm_live_container *l)
{
    char text[16];

    assert_int_equal(nm_fake_read(l->cg, "cgroup.freeze", text, sizeof text), 0);
    return text[0];
}

/* nmd reverts a freeze or a thaw by another process, unless the whole slice was frozen. */
static void test_a_freeze_by_another_process_is_undone(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_live_container *l = add(w, "runs"), *paused = add(w, "paused");

    paused->c->view.state = NM_PAUSED;
    overwrite(l, "cgroup.freeze", "1");
    assert_int_equal(nm_fake_set_events(l->cg, true, true), 0);
    assert_int_equal(nm_fake_set_events(paused->cg, true, false), 0);
    manager_fixture_settle(w);
    assert_int_equal(asked_freeze(l), '0');
    assert_int_equal(asked_freeze(paused), '1');
    assert_int_equal(w->m->counters.drift_repairs, 2);
    assert_int_equal(nm_fake_set_events(l->cg, true, true), 0); /* frozen by the slice's cgroup.freeze: the
                                                                   container's own file has 0 */
    manager_fixture_settle(w);
    assert_int_equal(w->m->counters.drift_repairs, 2);
    overwrite(l, "cgroup.events", "nonsense\n");
    nm_container_events_observe(l);
    assert_int_equal(l->c->view.state, NM_RUNNING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_container_that_could_not_start_reports_the_reason),
        TEST(test_each_kind_of_end_has_its_exit_reason_and_exit_code),
        TEST(test_the_files_of_a_killed_shim_show_whether_the_command_started),
        TEST(test_without_a_watch_a_sample_detects_a_kill_by_the_kernel),
        TEST(test_after_its_removal_the_files_of_the_new_slice_are_read),
        TEST(test_a_container_that_can_not_be_killed_makes_the_node_unhealthy),
        TEST(test_a_failed_kill_is_reported_and_repeated),
        TEST(test_a_container_whose_cgroup_was_removed_ends),
        TEST(test_a_long_command_of_an_ended_container_is_shortened_in_the_journal),
        TEST(test_the_removal_of_a_cgroup_is_repeated_until_it_is_complete),
        TEST(test_the_cgroup_of_a_live_container_is_no_leftover),
        TEST(test_a_container_whose_limits_can_not_be_set_keeps_running),
        TEST(test_a_container_is_not_freed_before_its_limits_are_answered),
        TEST(test_limits_that_another_program_changed_are_restored),
        TEST(test_a_restarted_nmd_corrects_limits),
        TEST(test_the_diagnostics_name_a_stop_by_systemd),
        TEST(test_a_freeze_by_another_process_is_undone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
