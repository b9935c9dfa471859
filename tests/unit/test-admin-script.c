/* SPDX-License-Identifier: Apache-2.0 */

/* One run of a script of the operator: its output, its processes, its timeout, and failures to start it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/fail-nth.h"
#include "tests/unit/health-fixture.h"
#include "util/fileio.h"

static int start(struct health_fixture *f, const char *path, uint64_t timeout_usec, struct nm_admin_script **ret)
{
    const struct nm_admin_script_params p = {.path = path, .timeout_usec = timeout_usec, .cb = on_verdict,
                                             .userdata = f};

    return nm_admin_script_new(f->event, &p, ret);
}

static void run(struct health_fixture *f, const char *lines)
{
    _cleanup_(nm_admin_script_freep) struct nm_admin_script *s = NULL;
    char path[128];

    f->n_verdicts = 0;
    (void)snprintf(path, sizeof path, "%s/s", f->directory);
    (void)unlink(path);
    make_script(f, "s", lines, path, sizeof path);
    assert_int_equal(start(f, path, DEADLINE_USEC, &s), 0);
    RUN_UNTIL(f, f->n_verdicts > 0);
    assert_int_equal(f->n_verdicts, 1);
    assert_false(nm_admin_script_is_running(s));
    assert_false(f->verdict.timed_out);
    assert_true(f->verdict.has_ended);
}

/* The lines of the script, each in brackets. */
static char lines_of_script[4096];

static void on_line(const char *line, void *userdata)
{
    const size_t n = strlen(lines_of_script);

    (void)userdata;
    (void)snprintf(lines_of_script + n, sizeof lines_of_script - n, "[%s]", line);
}

static void run_with_args(struct health_fixture *f, const char *lines, char *const *args)
{
    _cleanup_(nm_admin_script_freep) struct nm_admin_script *s = NULL;
    char path[128];
    struct nm_admin_script_params p = {.path = path, .args = args, .timeout_usec = DEADLINE_USEC, .cb = on_verdict,
                                       .line_cb = on_line, .userdata = f};

    f->n_verdicts = 0;
    lines_of_script[0] = '\0';
    (void)snprintf(path, sizeof path, "%s/s", f->directory);
    (void)unlink(path);
    make_script(f, "s", lines, path, sizeof path);
    assert_int_equal(nm_admin_script_new(f->event, &p, &s), 0);
    RUN_UNTIL(f, f->n_verdicts > 0);
}

/* The lines of the output reach the callback as they are, except that NUL is replaced and that long lines are cut. */
static void test_the_lines_of_the_output(void **state)
{
    char *const args[] = {(char *)"one", (char *)"two words", NULL};
    struct health_fixture *f = *state;

    run_with_args(f, "for a; do echo \"<$a>\"; done", args);
    assert_string_equal(lines_of_script, "[<one>][<two words>]");
    run_with_args(f, "printf '\\tone\\001\\000\\r\\n\\nlast'", NULL);
    assert_string_equal(lines_of_script, "[\tone\001?\r][][last]");
    run_with_args(f, "printf '%02000d\\n' 1", NULL);
    assert_int_equal(strlen(lines_of_script), NM_ADMIN_SCRIPT_LINE_MAX + 2);
}

static int print_lines(FILE *out, void *userdata)
{
    const struct health_fixture *f = userdata;

    if (f->n_changes > 0) /* more than a pipe holds, and more than the limit */
        for (unsigned i = 0; i < 100000; i++)
            fprintf(out, "%09u\n", i);
    fprintf(out, "a line\n%s", fcntl(STDERR_FILENO + 1, F_GETFD) < 0 ? "no descriptors" : "a descriptor");
    return 7;
}

/* A function runs in a child as a script does: with its output, its limit and its exit status. */
static void test_a_function_runs_in_a_child(void **state)
{
    struct health_fixture *f = *state;
    struct nm_admin_script_params p = {.function = print_lines, .timeout_usec = DEADLINE_USEC, .cb = on_verdict,
                                       .line_cb = on_line, .userdata = f};
    struct nm_admin_script *s = NULL;

    lines_of_script[0] = '\0';
    assert_int_equal(nm_admin_script_new(f->event, &p, &s), 0);
    RUN_UNTIL(f, f->n_verdicts > 0);
    assert_string_equal(lines_of_script, "[a line][no descriptors]");
    assert_int_equal(f->verdict.exit_code, 7);
    assert_false(f->verdict.is_cut);
    s = nm_admin_script_free(s);
    f->n_verdicts = 0;
    f->n_changes = 1;
    p.line_cb = NULL;
    assert_int_equal(nm_admin_script_new(f->event, &p, &s), 0);
    RUN_UNTIL(f, f->n_verdicts > 0);
    assert_true(f->verdict.is_cut);
    s = nm_admin_script_free(s);
    f->n_verdicts = 0;
    p.output_max = 2 << 20;
    assert_int_equal(nm_admin_script_new(f->event, &p, &s), 0);
    RUN_UNTIL(f, f->n_verdicts > 0);
    assert_false(f->verdict.is_cut);
    assert_int_equal(f->verdict.exit_code, 7);
    nm_admin_script_free(s);
}

static void test_too_many_arguments(void **state)
{
    struct health_fixture *f = *state;
    struct nm_admin_script *s = NULL;
    char path[128], *args[66] = {};
    struct nm_admin_script_params p = {.path = path, .args = args, .timeout_usec = 1, .cb = on_verdict, .userdata = f};

    make_script(f, "s", "exit 0", path, sizeof path);
    for (size_t i = 0; i < 65; i++)
        args[i] = (char *)"x";
    assert_int_equal(nm_admin_script_new(f->event, &p, &s), -E2BIG);
    assert_null(s);
}

static void test_the_output_of_the_script_decides_the_health(void **state)
{
    static const struct {
        const char *lines, *error;
        int exit_code, exit_signal;
    } rows[] = {
        {"exit 0", "", 0, 0},
        {"echo all is well", "", 0, 0},
        {"echo ERROR disk is on fire", "ERROR disk is on fire", 0, 0},
        {"printf 'ERROR'", "ERROR", 0, 0}, /* no newline at the end */
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
    struct health_fixture *f = *state;

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

/* A very long line is shortened, and not split into two lines. */
static void test_a_long_error_of_a_script_is_shortened(void **state)
{
    struct health_fixture *f = *state;

    run(f, "printf 'ERROR %0500d\\n' 1");
    assert_int_equal(strlen(f->verdict.error), sizeof f->verdict.error - 1);
}

/* Endless output is read only to a limit. The script gets SIGPIPE. */
static void test_endless_output_of_a_script_is_read_to_a_limit(void **state)
{
    run(*state, "exec yes");
    assert_int_equal(((struct health_fixture *)*state)->verdict.exit_signal, SIGPIPE);
    assert_true(((struct health_fixture *)*state)->verdict.is_cut);
    run(*state, "echo short");
    assert_false(((struct health_fixture *)*state)->verdict.is_cut);
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

static pid_t read_pid(struct health_fixture *f)
{
    char path[128], text[32];

    (void)snprintf(path, sizeof path, "%s/pid", f->directory);
    if (nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) < 0 || !strchr(text, '\n'))
        return 0;
    return (pid_t)atoi(text);
}

/* Processes that the script leaves in its process group are killed, and don't delay its result. */
static void test_processes_that_a_script_leaves_behind_are_killed(void **state)
{
    struct health_fixture *f = *state;
    char lines[256];

    (void)snprintf(lines, sizeof lines, "sleep 1000 & echo $! >%s/pid; echo ERROR x", f->directory);
    run(f, lines);
    assert_string_equal(f->verdict.error, "ERROR x");
    assert_true(read_pid(f) > 0);
    RUN_UNTIL(f, is_gone(read_pid(f)));
}

/* The time-out is reported at once, and the end of the killed script afterwards. */
static void test_a_script_is_killed_after_its_timeout(void **state)
{
    _cleanup_(nm_admin_script_freep) struct nm_admin_script *s = NULL;
    struct health_fixture *f = *state;
    char path[128], lines[256];

    (void)snprintf(lines, sizeof lines,
                   "trap '' TERM; sleep 1000 & echo $! >%s/pid; echo fine; wait", f->directory);
    make_script(f, "s", lines, path, sizeof path);
    assert_int_equal(
        start(f, path, 300 * NM_USEC_PER_MSEC, &s), 0);
    assert_true(nm_admin_script_is_running(s));
    RUN_UNTIL(f, f->n_verdicts > 0);
    assert_true(f->verdict.timed_out && !f->verdict.has_ended);
    RUN_UNTIL(f, !nm_admin_script_is_running(s));
    RUN_UNTIL(f, is_gone(read_pid(f)));
    assert_int_equal(f->n_verdicts, 2);
    assert_true(f->verdict.timed_out && f->verdict.has_ended);
}

static void test_a_check_can_be_freed_while_its_script_runs(void **state)
{
    _cleanup_(nm_admin_script_freep) struct nm_admin_script *s = NULL;
    struct health_fixture *f = *state;
    char path[128], lines[256];
    pid_t pid;

    (void)snprintf(lines, sizeof lines, "echo $$ >%s/pid; exec sleep 1000", f->directory);
    make_script(f, "s", lines, path, sizeof path);
    assert_int_equal(start(f, path, DEADLINE_USEC, &s), 0);
    RUN_UNTIL(f, read_pid(f) > 0);
    pid = read_pid(f);
    s = nm_admin_script_free(s);
    RUN_UNTIL(f, is_gone(pid));
    assert_int_equal(f->n_verdicts, 0);
}

static void test_a_script_that_can_not_be_run_is_reported(void **state)
{
    struct nm_admin_script *s = NULL;
    struct health_fixture *f = *state;
    char path[128];

    assert_int_equal(start(f, "/no/such/script", 1, &s),
                     -ENOENT);
    make_script(f, "s", "exit 0", path, sizeof path);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(start(f, path, 1, &s), -EACCES);
    (void)snprintf(path, sizeof path, "%s/text", f->directory);
    write_script(path, "#!/bin/sh\n");
    assert_int_equal(nm_admin_script_check(path), 0);
    write_script(path, "#! /no/such/interpreter -x\n");
    assert_int_equal(nm_admin_script_check(path), -ENOENT);
    write_script(path, "#!/etc/passwd\n"); /* the interpreter isn't executable */
    assert_int_equal(nm_admin_script_check(path), -EACCES);
    write_script(path, "");
    assert_int_equal(nm_admin_script_check(path), -ENOEXEC);
    write_script(path, "\177ELF");
    assert_int_equal(nm_admin_script_check(path), 0);
    write_script(path, "no interpreter\n");
    assert_int_equal(nm_admin_script_check(path), -ENOEXEC);
    assert_int_equal(start(f, path, 1, &s), -ENOEXEC);
    assert_null(s);
}

/* Reaps killed scripts. When a check is freed while its script runs, the script is killed, but not waited for. */
static void fetch_children(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/* If no event source can be made, the script isn't run, and no process remains. */
static void test_if_an_event_source_can_not_be_made_no_script_is_run(void **state)
{
    struct health_fixture *f = *state;
    char path[128];
    bool failed = true;

    fetch_children();
    (void)make_script(f, "s", "exec sleep 1000", path, sizeof path);
    for (unsigned n = 1; failed; n++) {
        struct nm_admin_script *s = NULL;
        int r;

        fail_nth(FAIL_EVENT | FAIL_MEMORY, n);
        r = start(f, path, DEADLINE_USEC, &s);
        failed = fail_stop();
        assert_int_equal(r, failed ? -ENOMEM : 0);
        if (failed) {
            assert_null(s);
            assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
            assert_int_equal(errno, ECHILD);
        }
        nm_admin_script_free(s);
    }
    fetch_children();
}

static void test_if_descriptors_are_missing_no_script_is_run(void **state)
{
    struct health_fixture *f = *state;
    struct nm_admin_script *s = NULL;
    struct rlimit before, few;
    char path[128];
    int r = -EMFILE, next;

    fetch_children();
    (void)make_script(f, "s", "exec sleep 1000", path, sizeof path);
    next = dup(STDIN_FILENO);
    assert_int_equal(close(next), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    for (rlim_t n = (rlim_t)next; r < 0; n++) {
        few.rlim_cur = n;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        r = start(f, path, DEADLINE_USEC, &s);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_true(r == 0 || r == -EMFILE);
        if (r < 0)
            assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
    nm_admin_script_free(s);
    fetch_children();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, health_fixture_set_up, health_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_output_of_the_script_decides_the_health),
        TEST(test_the_lines_of_the_output),
        TEST(test_a_function_runs_in_a_child),
        TEST(test_too_many_arguments),
        TEST(test_a_long_error_of_a_script_is_shortened),
        TEST(test_endless_output_of_a_script_is_read_to_a_limit),
        TEST(test_processes_that_a_script_leaves_behind_are_killed),
        TEST(test_a_script_is_killed_after_its_timeout),
        TEST(test_a_check_can_be_freed_while_its_script_runs),
        TEST(test_a_script_that_can_not_be_run_is_reported),
        TEST(test_if_an_event_source_can_not_be_made_no_script_is_run),
        TEST(test_if_descriptors_are_missing_no_script_is_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
