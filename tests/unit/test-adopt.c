/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Adoption of shims: nmd is killed at different moments, and another process adopts the shims that keep running. The
 * tests are repeated with a full disk, and in a cgroup that is frozen or killed. The tests with a disk or a cgroup need
 * root.
 */

#include "tests/unit/launch-fixture.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/unit/own-cgroup.h"
#include "util/clock.h"
#include "util/fileio.h"

static unsigned n_inotify;

/* Counts calls of libsystemd. */
__attribute__((visibility("default"))) int inotify_init1(int flags)
{
    n_inotify++;
    return (int)syscall(SYS_inotify_init1, flags);
}

struct handed_over {
    pid_t shim, pid;
    uint64_t ticks;
};

/* Forks a process that takes the role of an nmd that dies by SIGKILL. The process launches the container, waits for
 * STARTED if `until_started`, and kills itself. */
static struct handed_over launch_and_die(struct fixture *w, bool open_gate, bool until_started)
{
    struct handed_over h = {0};
    int fds[2], status;
    pid_t nmd;

    assert_int_equal(pipe(fds), 0);
    nmd = fork();
    assert_true(nmd >= 0);
    if (nmd == 0) {
        w->event = NULL; /* an event loop can't be used after a fork */
        if (sd_event_new(&w->event) < 0 || launch(w) < 0 ||
            (open_gate && nm_launch_open_gate(w->launch) < 0))
            _exit(1);
        if (until_started)
            wait_for(w, &w->n_started);
        h.shim = nm_launch_shim_pid(w->launch);
        h.ticks = nm_launch_shim_start_ticks(w->launch);
        h.pid = w->started.pid;
        if (write(fds[1], &h, sizeof h) == sizeof h)
            (void)kill(getpid(), SIGKILL);
        _exit(1);
    }
    (void)close(fds[1]); /* if the child fails, read() returns the end of the file and doesn't block */
    assert_int_equal(read(fds[0], &h, sizeof h), sizeof h);
    assert_int_equal(waitpid(nmd, &status, 0), nmd);
    assert_true(WIFSIGNALED(status));
    (void)close(fds[0]);
    /* the child used its own copy of the loop, so the loop of this process can still be used */
    return h;
}

static int adopt(struct fixture *w, const struct handed_over *h)
{
    return nm_launch_adopt(w->dir, h->shim, h->ticks, w->event, on_launch, w, &w->launch);
}

static void release_command(const struct fixture *w)
{
    char path[128];
    int fd;

    (void)snprintf(path, sizeof path, "%s/go", w->root);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    (void)close(fd);
}

/* Sets a command that ends with 17 after release_command(). */
static void use_waiting_command(struct fixture *w, char *script, size_t size)
{
    (void)snprintf(script, size, "while [ ! -e %s/go ]; do sleep 0.02; done; exit 17", w->root);
    shell(w, script);
}

static void test_a_running_shim_is_adopted(void **state)
{
    struct fixture *w = *state;
    struct handed_over h;
    char script[160];

    use_waiting_command(w, script, sizeof script);
    h = launch_and_die(w, true, true);
    n_inotify = 0;
    assert_int_equal(adopt(w, &h), 0);
    assert_int_equal(n_inotify, 0); /* closing the descriptor again would block for 8 ms */
    assert_int_equal(w->n_started, 0); /* the callback isn't called inside nm_launch_adopt() */
    wait_for(w, &w->n_started);
    assert_int_equal(w->started.pid, h.pid);
    assert_int_equal(nm_launch_open_gate(w->launch), -EPIPE);
    release_command(w);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->n_started, 1);
    assert_int_equal(w->ended.exit_code, 17);
}

/* The shim is adopted after its gate was opened and before the command starts. nmd detects the start by a watch of the
 * directory. */
static void test_a_shim_is_adopted_before_its_command_starts(void **state)
{
    struct fixture *w = *state;
    struct handed_over h;
    char script[160];

    use_waiting_command(w, script, sizeof script);
    h = launch_and_die(w, true, false);
    assert_int_equal(adopt(w, &h), 0);
    wait_for(w, &w->n_started);
    assert_true(w->started.pid > 1);
    release_command(w);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->ended.exit_code, 17);
}

static void test_a_shim_ends_if_nmd_dies_before_the_gate(void **state)
{
    struct fixture *w = *state;
    struct nm_launch_record r;
    struct handed_over h;

    shell(w, "echo must not run");
    h = launch_and_die(w, false, false);
    wait_until_dead(h.shim);
    /* neither the record nor the file `gate` exists, so the container may be launched again */
    assert_int_equal(nm_launch_record_read(w->dir, &r), -ENOENT);
    assert_false(nm_launch_gate_was_open(w->dir));
    assert_nothing_written(w);
}

static void test_an_end_while_no_nmd_runs_is_reported_to_the_next_nmd(void **state)
{
    struct fixture *w = *state;
    struct nm_launch_record r;
    struct handed_over h;

    shell(w, "exit 9");
    h = launch_and_die(w, true, false);
    wait_until_dead(h.shim);
    if (adopt(w, &h) == 0) { /* a zombie, if PID 1 has not reaped it yet */
        wait_for(w, &w->n_ended);
        assert_int_equal(w->n_started, 1);
        assert_int_equal(w->ended.exit_code, 9);
    }
    assert_int_equal(nm_launch_record_read(w->dir, &r), 0);
    assert_int_equal(r.exit_code, 9);
}

static void test_a_killed_shim_has_no_exit_status(void **state)
{
    struct fixture *w = *state;
    struct handed_over h;

    set_argv(w, (char *)"sleep", (char *)"1000");
    h = launch_and_die(w, true, true);
    assert_int_equal(adopt(w, &h), 0);
    wait_for(w, &w->n_started);
    assert_int_equal(kill(h.shim, SIGKILL), 0);
    wait_for(w, &w->n_ended);
    assert_true(w->without_record);
}

static void test_another_process_with_the_pid_of_a_shim_is_not_adopted(void **state)
{
    struct fixture *w = *state;
    struct handed_over h = {.shim = getpid(), .ticks = 1};

    assert_int_equal(nm_mkdir_p(w->dir, 0700), 0);
    assert_int_equal(adopt(w, &h), -ESRCH);
    h.shim = 0;
    assert_int_equal(adopt(w, &h), -ESRCH);
    h.shim = INT32_MAX;
    assert_int_equal(adopt(w, &h), -ESRCH);
    assert_null(w->launch);
}

/* The end of the container is reported although another process has overwritten the record. */
static void test_the_end_is_reported_although_the_record_was_overwritten(void **state)
{
    struct fixture *w = *state;
    struct handed_over h;
    char path[128], script[160];
    int fd;

    use_waiting_command(w, script, sizeof script);
    h = launch_and_die(w, true, true);
    (void)snprintf(path, sizeof path, "%s/record", w->dir);
    fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, "rubbish", 7), 7);
    (void)close(fd);
    assert_int_equal(adopt(w, &h), 0);
    release_command(w);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->n_started, 1);
    assert_int_equal(w->ended.exit_code, 17);
}

/* ---- a full disk --------------------------------------------------------------------- */

/* Mounts a file system of 64 KiB at the container's directory, in a mount namespace of this process. */
static void use_small_disk(struct fixture *w)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0)
        skip();
    assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    assert_int_equal(nm_mkdir_p(w->dir, 0700), 0);
    assert_int_equal(mount("none", w->dir, "tmpfs", 0, "size=64k,mode=700"), 0);
}

static void fill_disk(const struct fixture *w)
{
    static const char page[4096];
    char path[128];
    int fd;

    (void)snprintf(path, sizeof path, "%s/filler", w->dir);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    while (write(fd, page, sizeof page) > 0)
        ;
    assert_int_equal(errno, ENOSPC);
    (void)close(fd);
}

static void free_disk(struct fixture *w)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/filler", w->dir);
    (void)unlink(path);
}

static void wait_for_reserve(const struct fixture *w)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    char path[128];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/.record.end", w->dir);
    while (stat(path, &st) < 0 || st.st_size == 0) {
        assert_true(nm_now_usec() < until);
        (void)poll(NULL, 0, 5);
    }
}

/* The disk becomes full while the command runs, and no nmd is running when the command ends. The shim writes the record
 * into a file that it reserved before. */
static void test_the_exit_status_is_recorded_although_the_disk_is_full(void **state)
{
    struct fixture *w = *state;
    struct nm_launch_record r;
    struct handed_over h;
    char script[160];

    use_small_disk(w);
    use_waiting_command(w, script, sizeof script);
    h = launch_and_die(w, true, true);
    wait_for_reserve(w);
    fill_disk(w);
    release_command(w);
    wait_until_dead(h.shim);
    assert_int_equal(nm_launch_record_read(w->dir, &r), 0);
    assert_int_equal(r.exit_code, 17);
    (void)umount2(w->dir, MNT_DETACH);
}

/* The disk is full from the start. The shim keeps running and holds the exit status until there is space or an nmd
 * connects. */
static void test_on_a_full_disk_the_shim_runs_until_nmd_has_the_exit_status(void **state)
{
    struct fixture *w = *state;
    struct nm_launch_record r;
    struct handed_over h;
    char script[160];

    use_small_disk(w);
    fill_disk(w);
    use_waiting_command(w, script, sizeof script);
    h = launch_and_die(w, true, true);
    assert_int_equal(nm_launch_record_read(w->dir, &r), -ENOENT);
    n_inotify = 0;
    assert_int_equal(adopt(w, &h), 0);
    assert_int_equal(n_inotify, 1); /* without a record, the directory is watched */
    release_command(w);
    wait_until_dead(h.pid);
    free_disk(w);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->n_started, 1);
    assert_int_equal(w->ended.exit_code, 17);
    (void)umount2(w->dir, MNT_DETACH);
}

/* If an nmd is connected, it gets the exit status over the connection, also on a full disk. */
static void test_a_connected_nmd_gets_the_exit_status_on_a_full_disk(void **state)
{
    struct fixture *w = *state;

    use_small_disk(w);
    fill_disk(w);
    shell(w, "exit 17");
    run(w);
    assert_int_equal(w->n_started, 1);
    assert_int_equal(w->ended.exit_code, 17);
    (void)umount2(w->dir, MNT_DETACH);
}

/* ---- in a cgroup --------------------------------------------------------------------- */

static int write_cgroup(const struct fixture *w, const char *file, const char *text)
{
    char path[192];

    (void)snprintf(path, sizeof path, "%s/%s", w->cgroup, file);
    return nm_write_file_at(AT_FDCWD, path, text);
}

/* Makes a cgroup, which the teardown removes. */
static void make_cgroup(struct fixture *w)
{
    make_own_cgroup(w->cgroup, sizeof w->cgroup);
    if (write_cgroup(w, "cgroup.freeze", "0") != 0)
        skip(); /* the kernel has no freezer */
}

static void enter_cgroup(struct fixture *w, pid_t pid)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%d", pid);
    assert_int_equal(write_cgroup(w, "cgroup.procs", text), 0);
}

static void wait_for_event(const struct fixture *w, const char *line)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    char path[192], text[256];

    (void)snprintf(path, sizeof path, "%s/cgroup.events", w->cgroup);
    do {
        assert_true(nm_now_usec() < until);
        assert_int_equal(nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL), 0);
    } while (!strstr(text, line));
}

/* All processes in the cgroup are killed together, including the shim. nmd detects the end, but the exit status is
 * unknown. */
static void test_a_killed_cgroup_ends_without_an_exit_status(void **state)
{
    struct fixture *w = *state;

    make_cgroup(w);
    shell(w, "sleep 1000 & sleep 1000");
    assert_int_equal(launch(w), 0);
    enter_cgroup(w, nm_launch_shim_pid(w->launch));
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_started);
    assert_int_equal(write_cgroup(w, "cgroup.kill", "1"), 0);
    wait_for(w, &w->n_ended);
    assert_true(w->without_record);
    wait_for_event(w, "populated 0");
}

/* nmd dies while the container is frozen. The next nmd adopts the frozen container and thaws it. */
static void test_a_frozen_container_is_adopted_and_thawed(void **state)
{
    struct fixture *w = *state;
    struct handed_over h;
    char script[160];

    make_cgroup(w);
    use_waiting_command(w, script, sizeof script);
    h = launch_and_die(w, true, true);
    enter_cgroup(w, h.shim);
    enter_cgroup(w, h.pid);
    assert_int_equal(write_cgroup(w, "cgroup.freeze", "1"), 0);
    wait_for_event(w, "frozen 1");
    release_command(w);
    assert_int_equal(adopt(w, &h), 0);
    wait_for(w, &w->n_started);
    assert_int_equal(w->started.pid, h.pid);
    assert_int_equal(w->n_ended, 0);
    assert_int_equal(write_cgroup(w, "cgroup.freeze", "0"), 0);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->ended.exit_code, 17);
}

/* The shim is frozen at its gate and killed while frozen. */
static void test_a_shim_killed_while_frozen_at_its_gate_has_run_no_command(void **state)
{
    struct fixture *w = *state;

    make_cgroup(w);
    shell(w, "echo must not run");
    assert_int_equal(launch(w), 0);
    enter_cgroup(w, nm_launch_shim_pid(w->launch));
    assert_int_equal(write_cgroup(w, "cgroup.freeze", "1"), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    assert_int_equal(write_cgroup(w, "cgroup.kill", "1"), 0);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->n_started, 0);
    wait_for_event(w, "populated 0");
}

#define launch_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        launch_test(test_a_running_shim_is_adopted),
        launch_test(test_a_shim_is_adopted_before_its_command_starts),
        launch_test(test_a_shim_ends_if_nmd_dies_before_the_gate),
        launch_test(test_an_end_while_no_nmd_runs_is_reported_to_the_next_nmd),
        launch_test(test_a_killed_shim_has_no_exit_status),
        launch_test(test_another_process_with_the_pid_of_a_shim_is_not_adopted),
        launch_test(test_the_end_is_reported_although_the_record_was_overwritten),
        launch_test(test_the_exit_status_is_recorded_although_the_disk_is_full),
        launch_test(test_on_a_full_disk_the_shim_runs_until_nmd_has_the_exit_status),
        launch_test(test_a_connected_nmd_gets_the_exit_status_on_a_full_disk),
        launch_test(test_a_killed_cgroup_ends_without_an_exit_status),
        launch_test(test_a_frozen_container_is_adopted_and_thawed),
        launch_test(test_a_shim_killed_while_frozen_at_its_gate_has_run_no_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
