/* SPDX-License-Identifier: Apache-2.0 */

/* nm-shuffle as a service of the node: its jobs, its port, its program, and its restarts. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/shuffle-service-fixture.h"
#include "util/fileio.h"

static void test_jobs_are_added_and_removed(void **state)
{
    struct fixture *w = *state;

    assert_true(port_of(w) > 0);
    assert_int_equal(request_status(w, KEY), UNKNOWN);
    assert_int_equal(add_job(w, w->user, KEY), 0);
    RUN_UNTIL(w, request_status(w, KEY) == KNOWN);
    assert_int_equal(add_job(w, w->user, KEY), 0); /* each container of the application adds the same job */
    assert_int_equal(add_job(w, w->user, "another"), 0);
    RUN_UNTIL(w, request_status(w, "another") == KNOWN);
    nm_yarn_shuffle_end_application(w->shuffle, APPLICATION);
    RUN_UNTIL(w, request_status(w, "another") == UNKNOWN);
    nm_yarn_shuffle_end_application(w->shuffle, APPLICATION);
}

static void test_invalid_data_of_a_job_is_refused(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(nm_yarn_shuffle_add(w->shuffle, "alice", w->user, APPLICATION, nm_bytes_of("no token")), -EBADMSG);
    assert_int_equal(add_job(w, w->user, ""), -EBADMSG);
    assert_int_equal(add_job(w, "no-such-user", KEY), -ENOENT);
    /* A refusal by nm-shuffle is reported. The service continues. */
    assert_int_equal(add_job_of(w, "application_x", w->user, KEY), 0);
    RUN_UNTIL(w, strstr(last_message, "nm-shuffle refused its input: job: 'job_x' is not a job's id"));
    assert_int_equal(add_job(w, w->user, KEY), 0);
    RUN_UNTIL(w, request_status(w, KEY) == KNOWN);
}

/* nm-shuffle is killed, and then nmd is restarted. The jobs and the port remain the same. */
static void test_jobs_and_port_survive_restarts(void **state)
{
    struct fixture *w = *state;
    const uint16_t port = port_of(w);
    const pid_t pid = find_child();

    assert_int_equal(add_job(w, w->user, KEY), 0);
    RUN_UNTIL(w, request_status(w, KEY) == KNOWN);
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    RUN_UNTIL(w, find_child() != pid && request_status(w, KEY) == KNOWN);
    assert_int_equal(port_of(w), port);
    w->shuffle = nm_yarn_shuffle_free(w->shuffle);
    assert_int_equal(find_child(), 0);
    start_service(w);
    assert_int_equal(port_of(w), port);
    RUN_UNTIL(w, request_status(w, KEY) == KNOWN);
}

static uint64_t count_failed(struct fixture *w)
{
    struct nm_yarn_shuffle_figures f;

    nm_yarn_shuffle_get_figures(w->shuffle, &f);
    return f.outputs_failed;
}

/* The figures arrive after a request for them. A new nm-shuffle process begins with 0, and its figures are added to
 * those of the former process. */
static void test_figures_survive_a_restart_of_nm_shuffle(void **state)
{
    struct fixture *w = *state;
    const pid_t pid = find_child();
    uint64_t n;

    assert_int_equal(count_failed(w), 0);
    assert_int_equal(add_job(w, w->user, KEY), 0);
    RUN_UNTIL(w, request_status(w, KEY) == KNOWN); /* the output doesn't exist */
    RUN_UNTIL(w, count_failed(w) > 0);
    n = count_failed(w);
    assert_int_equal(kill(pid, SIGKILL), 0);
    RUN_UNTIL(w, find_child() != pid && request_status(w, KEY) == KNOWN);
    RUN_UNTIL(w, count_failed(w) > n);
}

/* nm-shuffle gets a nice value, since this test has no manager that could give it a CPU weight. */
static void test_without_a_manager_nm_shuffle_gets_a_nice_value(void **state)
{
    struct fixture *w = *state;

    w->shuffle = nm_yarn_shuffle_free(w->shuffle);
    start_service(w);
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)find_child()), 10);
    assert_non_null(strstr(last_message, "nm-shuffle runs at nice 10, because this host has no CPU weights"));
}

static bool has_argument(const char *argument)
{
    char path[40], text[2000];
    size_t size = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)find_child());
    assert_int_equal(nm_read_file_at(AT_FDCWD, path, text, sizeof text, &size), 0);
    return memmem(text, size, argument, strlen(argument) + 1);
}

/* Hadoop's default removes outputs from the page cache. */
static void test_the_page_cache_is_kept_on_request(void **state)
{
    struct fixture *w = *state;

    assert_false(has_argument("--keep-page-cache"));
    w->shuffle = nm_yarn_shuffle_free(w->shuffle);
    w->settings->shuffle_drops_cache = false;
    start_service(w);
    assert_true(has_argument("--keep-page-cache"));
}

static void test_a_port_of_the_shuffle_that_is_in_use_is_reported(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_settings *other = read_settings(w, port_of(w)), *own = w->settings;
    struct nm_yarn_shuffle *first = w->shuffle;
    char *message = NULL;

    w->settings = other;
    assert_int_equal(try_service(w, &message), -EADDRINUSE);
    assert_non_null(strstr(message, "in use"));
    free(message);
    w->settings = own;
    w->shuffle = first;
    (void)nm_yarn_settings_free(other);
}

static void write_port(const struct fixture *w, const char *text)
{
    char path[100];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/shuffle/port", w->state);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* An invalid saved port is ignored. nm-shuffle listens at another port. */
static void test_an_invalid_saved_port_is_ignored(void **state)
{
    static const char *const bad[] = {"", "x\n", "70000\n", "-1\n", "99999999999999999999\n", "0\n"};
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        w->shuffle = nm_yarn_shuffle_free(w->shuffle);
        write_port(w, bad[i]);
        start_service(w);
        assert_true(port_of(w) > 0);
    }
}

/* Another process has opened the saved port while nmd was stopped. */
static void test_a_saved_port_that_another_process_uses_is_replaced(void **state)
{
    struct fixture *w = *state;
    const uint16_t port = port_of(w);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(add_job(w, w->user, KEY), 0);
    w->shuffle = nm_yarn_shuffle_free(w->shuffle);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 1), 0);
    start_service(w);
    assert_int_not_equal(port_of(w), port);
    RUN_UNTIL(w, request_status(w, KEY) == KNOWN);
}

static void test_a_missing_nm_shuffle_program_is_reported(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_shuffle *first = w->shuffle;
    char *message = NULL;

    assert_int_equal(nm_yarn_shuffle_check(w->settings, "./nm-shuffle", true, NULL), 0);
    assert_int_equal(nm_yarn_shuffle_check(w->settings, "/no/nm-shuffle", true, &message), -ENOENT);
    assert_string_equal(message, "/no/nm-shuffle: No such file or directory");
    free(message);
    assert_int_equal(try_program(w, "/no/nm-shuffle", &message), -ENOENT);
    assert_string_equal(message, "/no/nm-shuffle: No such file or directory");
    free(message);
    assert_int_equal(try_program(w, "/bin/true", &message), -EADDRINUSE);
    assert_string_equal(message, "nm-shuffle doesn't listen: it doesn't respond");
    free(message);
    assert_ptr_equal(w->shuffle, first);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, shuffle_service_set_up, shuffle_service_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_jobs_are_added_and_removed),
        TEST(test_invalid_data_of_a_job_is_refused),
        TEST(test_jobs_and_port_survive_restarts),
        TEST(test_figures_survive_a_restart_of_nm_shuffle),
        TEST(test_without_a_manager_nm_shuffle_gets_a_nice_value),
        TEST(test_the_page_cache_is_kept_on_request),
        TEST(test_a_port_of_the_shuffle_that_is_in_use_is_reported),
        TEST(test_an_invalid_saved_port_is_ignored),
        TEST(test_a_saved_port_that_another_process_uses_is_replaced),
        TEST(test_a_missing_nm_shuffle_program_is_reported),
    };

    (void)signal(SIGPIPE, SIG_IGN); /* as in nmd */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
