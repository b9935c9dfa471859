/* SPDX-License-Identifier: Apache-2.0 */

/* agent/health.h with real scripts in a real event loop. No test sleeps: the loop runs until a condition is true. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/fail-nth.h"
#include "tests/unit/remove-tree.h"
#include "tests/unit/run-until.h"
#include "agent/health-script.h"
#include "agent/health.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/log.h"

#define DEADLINE_USEC (60 * NM_USEC_PER_SEC)

struct fixture {
    char directory[64];
    sd_event *event;
    struct nm_config *config;
    /* results that the callbacks received */
    unsigned n_verdicts;
    struct nm_health_verdict verdict;
    unsigned n_changes;
    bool healthy;
    char reason[NM_HEALTH_REASON_SIZE];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    nm_log_set_level(LOG_ERR);
    if (!f)
        return -1;
    (void)snprintf(f->directory, sizeof f->directory, "/tmp/nmd-test-health-XXXXXX");
    if (!mkdtemp(f->directory) || sd_event_new(&f->event) < 0 ||
        nm_config_new_defaults(&f->config) < 0)
        return -1;
    f->config->disk_min_free = 0; /* the disk of the build machine must not affect the tests */
    f->config->health_period_usec = 20 * NM_USEC_PER_MSEC;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    sd_event_unref(f->event);
    nm_config_free(f->config);
    (void)remove_tree(f->directory);
    free(f);
    return 0;
}

static void write_script(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* Makes <directory>/<name> with these lines after "#!/bin/sh". Each text needs its own file, because a running
 * script can't be written. */
static const char *script(struct fixture *f, const char *name, const char *lines, char *path,
                          size_t size)
{
    char text[512];

    (void)snprintf(path, size, "%s/%s", f->directory, name);
    (void)snprintf(text, sizeof text, "#!/bin/sh\n%s\n", lines);
    write_script(path, text);
    return path;
}

#define RUN_UNTIL(w, condition) RUN_UNTIL_WITHIN(w, DEADLINE_USEC, condition)

/* ---- one run ---- */

static void on_verdict(const struct nm_health_verdict *v, void *userdata)
{
    struct fixture *f = userdata;

    f->n_verdicts++;
    f->verdict = *v;
}

static void run(struct fixture *f, const char *lines)
{
    _cleanup_(nm_health_script_freep) struct nm_health_script *s = NULL;
    char path[128];

    f->n_verdicts = 0;
    (void)snprintf(path, sizeof path, "%s/s", f->directory);
    (void)unlink(path);
    script(f, "s", lines, path, sizeof path);
    assert_int_equal(nm_health_script_new(f->event, path, DEADLINE_USEC, on_verdict, f, &s), 0);
    RUN_UNTIL(f, f->n_verdicts > 0);
    assert_int_equal(f->n_verdicts, 1);
    assert_false(nm_health_script_is_running(s));
    assert_false(f->verdict.timed_out);
}

static void test_the_output_decides_the_health(void **state)
{
    static const struct {
        const char *lines, *error;
        int exit_code, exit_signal;
    } rows[] = {
        {"exit 0", "", 0, 0},
        {"echo all is well", "", 0, 0},
        {"echo ERROR disk is on fire", "ERROR disk is on fire", 0, 0},
        {"printf 'ERROR'", "ERROR", 0, 0}, /* no newline */
        {"echo fine; echo ERRORS; exit 3", "ERRORS", 3, 0},
        {"echo 'ERROR one'; echo 'ERROR two'", "ERROR one", 0, 0},
        {"echo ' ERROR indented'; echo 'an ERROR inside'; echo error", "", 0, 0},
        {"exit 7", "", 7, 0},
        {"kill -TERM $$", "", -1, SIGTERM},
        {"echo 'ERROR on stderr' >&2", "", 0, 0},
        {"printf 'ERROR \\033[31mred\\n'", "ERROR ?[31mred", 0, 0},
        {"printf '%0300d\\nERROR late\\n' 1", "ERROR late", 0, 0},
        {"[ $(env | wc -l) -le 5 ] && [ -z \"$HOME\" ] || echo ERROR environment", "", 0, 0},
        {"[ $(ls /proc/self/fd | wc -l) -le 4 ] || echo ERROR descriptors", "", 0, 0},
        {"read x; [ -z \"$x\" ] || echo ERROR input; [ \"$PWD\" = / ] || echo ERROR $PWD", "", 0,
         0},
    };
    struct fixture *f = *state;

    assert_int_equal(setenv("HOME", "/root", 1), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        run(f, rows[i].lines);
        if (!nm_streq(f->verdict.error, rows[i].error) ||
            f->verdict.exit_code != rows[i].exit_code ||
            f->verdict.exit_signal != rows[i].exit_signal)
            fail_msg("\"%s\": got \"%s\", %d, %d", rows[i].lines, f->verdict.error,
                     f->verdict.exit_code, f->verdict.exit_signal);
    }
}

/* A very long line is shortened, not split into two. */
static void test_a_long_error_is_shortened(void **state)
{
    struct fixture *f = *state;

    run(f, "printf 'ERROR %0500d\\n' 1");
    assert_int_equal(strlen(f->verdict.error), sizeof f->verdict.error - 1);
}

/* Endless output is read only to a limit. The script gets SIGPIPE. */
static void test_endless_output_is_read_to_a_limit(void **state)
{
    run(*state, "exec yes");
    assert_int_equal(((struct fixture *)*state)->verdict.exit_signal, SIGPIPE);
}

static bool is_gone(pid_t pid)
{
    char path[64], stat[512];
    const char *end;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (nm_read_file_at(AT_FDCWD, path, stat, sizeof stat, NULL) < 0)
        return true;
    end = strrchr(stat, ')'); /* a zombie that waits for init counts as ended */
    return end && end[1] == ' ' && (end[2] == 'Z' || end[2] == 'X');
}

static pid_t read_pid(struct fixture *f)
{
    char path[128], text[32];

    (void)snprintf(path, sizeof path, "%s/pid", f->directory);
    if (nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) < 0 || !strchr(text, '\n'))
        return 0;
    return (pid_t)atoi(text);
}

/* Processes that the script leaves in its process group are killed, and don't delay its result. */
static void test_leftover_processes_are_killed(void **state)
{
    struct fixture *f = *state;
    char lines[256];

    (void)snprintf(lines, sizeof lines, "sleep 1000 & echo $! >%s/pid; echo ERROR x", f->directory);
    run(f, lines);
    assert_string_equal(f->verdict.error, "ERROR x");
    assert_true(read_pid(f) > 0);
    RUN_UNTIL(f, is_gone(read_pid(f)));
}

static void test_a_script_is_killed_after_its_timeout(void **state)
{
    _cleanup_(nm_health_script_freep) struct nm_health_script *s = NULL;
    struct fixture *f = *state;
    char path[128], lines[256];

    (void)snprintf(lines, sizeof lines,
                   "trap '' TERM; sleep 1000 & echo $! >%s/pid; echo fine; wait", f->directory);
    script(f, "s", lines, path, sizeof path);
    assert_int_equal(
        nm_health_script_new(f->event, path, 300 * NM_USEC_PER_MSEC, on_verdict, f, &s), 0);
    assert_true(nm_health_script_is_running(s));
    RUN_UNTIL(f, f->n_verdicts > 0);
    assert_true(f->verdict.timed_out);
    RUN_UNTIL(f, !nm_health_script_is_running(s));
    RUN_UNTIL(f, is_gone(read_pid(f)));
    assert_int_equal(f->n_verdicts, 1);
}

static void test_a_check_can_be_freed_while_it_runs(void **state)
{
    _cleanup_(nm_health_script_freep) struct nm_health_script *s = NULL;
    struct fixture *f = *state;
    char path[128], lines[256];
    pid_t pid;

    (void)snprintf(lines, sizeof lines, "echo $$ >%s/pid; exec sleep 1000", f->directory);
    script(f, "s", lines, path, sizeof path);
    assert_int_equal(nm_health_script_new(f->event, path, DEADLINE_USEC, on_verdict, f, &s), 0);
    RUN_UNTIL(f, read_pid(f) > 0);
    pid = read_pid(f);
    s = nm_health_script_free(s);
    RUN_UNTIL(f, is_gone(pid));
    assert_int_equal(f->n_verdicts, 0);
}

static void test_a_script_that_can_not_be_run_is_reported(void **state)
{
    struct nm_health_script *s = NULL;
    struct fixture *f = *state;
    char path[128];

    assert_int_equal(nm_health_script_new(f->event, "/no/such/script", 1, on_verdict, f, &s),
                     -ENOENT);
    script(f, "s", "exit 0", path, sizeof path);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(nm_health_script_new(f->event, path, 1, on_verdict, f, &s), -EACCES);
    (void)snprintf(path, sizeof path, "%s/text", f->directory);
    write_script(path, "#!/bin/sh\n");
    assert_int_equal(nm_health_script_check(path), 0);
    write_script(path, "#! /no/such/interpreter -x\n");
    assert_int_equal(nm_health_script_check(path), -ENOENT);
    write_script(path, "#!/etc/passwd\n"); /* the interpreter isn't executable */
    assert_int_equal(nm_health_script_check(path), -EACCES);
    write_script(path, "");
    assert_int_equal(nm_health_script_check(path), -ENOEXEC);
    write_script(path, "\177ELF");
    assert_int_equal(nm_health_script_check(path), 0);
    write_script(path, "no interpreter\n");
    assert_int_equal(nm_health_script_check(path), -ENOEXEC);
    assert_int_equal(nm_health_script_new(f->event, path, 1, on_verdict, f, &s), -ENOEXEC);
    assert_null(s);
}

/* ---- the node's health ---- */

static void on_change(bool healthy, const char *reason, void *userdata)
{
    struct fixture *f = userdata;

    f->n_changes++;
    f->healthy = healthy;
    (void)snprintf(f->reason, sizeof f->reason, "%s", reason);
}

static struct nm_health *start(struct fixture *f)
{
    struct nm_health *h = NULL;

    assert_int_equal(
        nm_health_new(f->event, f->config, f->directory, f->directory, on_change, f, &h), 0);
    return h;
}

static void set_script(struct fixture *f, const char *path)
{
    free(f->config->health_script);
    f->config->health_script = strdup(path);
}

/* The result changes from good to bad and back when a file that the script looks for comes and goes. */
static void test_the_health_follows_the_script(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct fixture *f = *state;
    char path[128], lines[256], flag[128];
    const char *reason;

    (void)snprintf(flag, sizeof flag, "%s/flag", f->directory);
    (void)snprintf(lines, sizeof lines, "[ ! -e %s ] || echo ERROR flag is up", flag);
    write_script(flag, "");
    set_script(f, script(f, "s", lines, path, sizeof path));
    h = start(f);
    assert_false(nm_health_get(h, &reason)); /* without a result no change is reported */
    assert_string_equal(reason, "the health script has not ended yet");
    assert_int_equal(f->n_changes, 0);
    RUN_UNTIL(f, f->n_changes == 1);
    assert_false(f->healthy);
    assert_string_equal(f->reason, "the health script says: ERROR flag is up");
    assert_false(nm_health_get(h, &reason));
    assert_string_equal(reason, f->reason);
    assert_int_equal(unlink(flag), 0);
    RUN_UNTIL(f, f->n_changes == 2);
    assert_true(f->healthy);
    assert_string_equal(f->reason, "");
    assert_true(nm_health_get(h, &reason));
    assert_string_equal(reason, "");
}

static void test_a_script_that_hangs_makes_the_node_unhealthy(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct fixture *f = *state;
    char path[128];

    f->config->health_timeout_usec = 200 * NM_USEC_PER_MSEC;
    set_script(f, script(f, "s", "exec sleep 1000", path, sizeof path));
    h = start(f);
    RUN_UNTIL(f, f->n_changes == 1);
    assert_false(f->healthy);
    assert_string_equal(f->reason, "the health script did not end in time");
    /* Another script, which succeeds: the first script's result is discarded. */
    set_script(f, script(f, "good", "exit 1", path, sizeof path));
    assert_int_equal(nm_health_reconfigure(h, f->config), 0);
    RUN_UNTIL(f, f->n_changes == 2);
    assert_true(f->healthy);
}

/* A script that can't be run or that fails otherwise must not make the node unhealthy. */
static void test_a_broken_script_leaves_the_node_healthy(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct fixture *f = *state;
    char path[128], lines[256], count[128];
    struct stat st;
    const char *reason;

    set_script(f, "/no/such/script");
    h = start(f);
    (void)snprintf(count, sizeof count, "%s/count", f->directory);
    (void)snprintf(lines, sizeof lines, "echo >>%s; exit 9", count);
    set_script(f, script(f, "s", lines, path, sizeof path));
    assert_true(sd_event_run(f->event, 100 * NM_USEC_PER_MSEC) >= 0); /* runs the missing script */
    assert_int_equal(nm_health_reconfigure(h, f->config), 0);
    RUN_UNTIL(f, stat(count, &st) == 0 && st.st_size >= 3); /* three rounds */
    assert_int_equal(f->n_changes, 0);
    assert_true(nm_health_get(h, &reason));
}

static void test_containers_that_can_not_be_killed_make_the_node_unhealthy(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct fixture *f = *state;

    h = start(f);
    nm_health_set_unkillable(h, 0);
    assert_int_equal(f->n_changes, 0);
    nm_health_set_unkillable(h, 1);
    assert_string_equal(f->reason, "1 container can't be killed");
    nm_health_set_unkillable(h, 1);
    assert_int_equal(f->n_changes, 1);
    nm_health_set_unkillable(h, 2);
    assert_string_equal(f->reason, "2 containers can't be killed");
    assert_false(f->healthy);
    nm_health_set_unkillable(h, 0);
    assert_true(f->healthy);
    assert_int_equal(f->n_changes, 3);
}

/* The required free space exceeds the size of any file system. */
static void test_a_full_disk_makes_the_node_unhealthy(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct fixture *f = *state;
    const char *reason;

    f->config->disk_min_free = 1.01;
    h = start(f);
    assert_false(nm_health_get(h, &reason));
    assert_int_equal(strncmp(reason, "only ", 5), 0);
    assert_non_null(strstr(reason, f->directory));
    assert_null(strstr(reason, ";"));  /* a file system is reported once */
    assert_int_equal(f->n_changes, 0); /* not called within nm_health_new() */
    f->config->disk_min_free = 0;
    assert_int_equal(nm_health_reconfigure(h, f->config), 0);
    RUN_UNTIL(f, f->n_changes == 1);
    assert_true(f->healthy);
}

/* A log directory that doesn't exist yet is judged by the file system on which it will be made. */
static void test_a_missing_directory_is_judged_by_its_file_system(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct fixture *f = *state;
    char path[128];
    const char *reason;

    f->config->disk_min_free = 1e-12;
    (void)snprintf(path, sizeof path, "%s/not/yet", f->directory);
    assert_int_equal(nm_health_new(f->event, f->config, path, path, on_change, f, &h), 0);
    if (!nm_health_get(h, &reason))
        fail_msg("%s", reason);
}

static void test_several_reasons_are_reported(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct fixture *f = *state;
    char path[128];

    set_script(f, script(f, "s", "echo ERROR x", path, sizeof path));
    h = start(f);
    nm_health_set_unkillable(h, 3);
    RUN_UNTIL(f, f->n_changes == 2);
    assert_string_equal(f->reason, "the health script says: ERROR x; 3 containers can't be killed");
}

/* ---- no memory, no descriptors ---- */

/* Reaps killed scripts. A script that is freed while it runs is killed, but not waited for. */
static void fetch_children(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/* Without event sources the script isn't run, and no process is left. */
static void test_without_event_sources_no_script_is_run(void **state)
{
    struct fixture *f = *state;
    char path[128];
    bool failed = true;

    fetch_children();
    (void)script(f, "s", "exec sleep 1000", path, sizeof path);
    for (unsigned n = 1; failed; n++) {
        struct nm_health_script *s = NULL;
        int r;

        fail_nth(FAIL_EVENT | FAIL_MEMORY, n);
        r = nm_health_script_new(f->event, path, DEADLINE_USEC, on_verdict, f, &s);
        failed = fail_stop();
        assert_int_equal(r, failed ? -ENOMEM : 0);
        if (failed) {
            assert_null(s);
            assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
            assert_int_equal(errno, ECHILD);
        }
        nm_health_script_free(s);
    }
    fetch_children();
}

static void test_without_descriptors_no_script_is_run(void **state)
{
    struct fixture *f = *state;
    struct nm_health_script *s = NULL;
    struct rlimit before, few;
    char path[128];
    int r = -EMFILE, next;

    fetch_children();
    (void)script(f, "s", "exec sleep 1000", path, sizeof path);
    next = dup(STDIN_FILENO);
    assert_int_equal(close(next), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    for (rlim_t n = (rlim_t)next; r < 0; n++) {
        few.rlim_cur = n;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        r = nm_health_script_new(f->event, path, DEADLINE_USEC, on_verdict, f, &s);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_true(r == 0 || r == -EMFILE);
        if (r < 0)
            assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
    nm_health_script_free(s);
    fetch_children();
}

static int try_health(void *userdata)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct fixture *f = userdata;
    int r = nm_health_new(f->event, f->config, f->directory, "/tmp", on_change, f, &h);

    return r < 0 ? r : nm_health_reconfigure(h, f->config);
}

static void test_each_failed_allocation_of_a_check_is_an_error(void **state)
{
    assert_true(fail_each(try_health, *state) >= 4);
}

int main(void)
{
#define WITH_FIXTURE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(test_the_output_decides_the_health),          WITH_FIXTURE(test_a_long_error_is_shortened),
        WITH_FIXTURE(test_endless_output_is_read_to_a_limit),    WITH_FIXTURE(test_leftover_processes_are_killed),
        WITH_FIXTURE(test_a_script_is_killed_after_its_timeout),
        WITH_FIXTURE(test_a_check_can_be_freed_while_it_runs),
        WITH_FIXTURE(test_a_script_that_can_not_be_run_is_reported),
        WITH_FIXTURE(test_the_health_follows_the_script),
        WITH_FIXTURE(test_a_script_that_hangs_makes_the_node_unhealthy),
        WITH_FIXTURE(test_a_broken_script_leaves_the_node_healthy),
        WITH_FIXTURE(test_containers_that_can_not_be_killed_make_the_node_unhealthy),
        WITH_FIXTURE(test_a_full_disk_makes_the_node_unhealthy),
        WITH_FIXTURE(test_a_missing_directory_is_judged_by_its_file_system),
        WITH_FIXTURE(test_several_reasons_are_reported),
        WITH_FIXTURE(test_without_event_sources_no_script_is_run),
        WITH_FIXTURE(test_without_descriptors_no_script_is_run),
        WITH_FIXTURE(test_each_failed_allocation_of_a_check_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
