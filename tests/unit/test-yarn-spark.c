/* SPDX-License-Identifier: Apache-2.0 */

/* nm-spark-shuffle as a service of the node: its applications, their secrets, and its restarts. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/aux-service-fixture.h"
#include "tests/unit/fail-nth.h"
#include "util/fileio.h"
#include "yarn/launch/aux-server.h"
#include "yarn/launch/spark-service.h"

static int try_program(struct fixture *w, const char *program, char **ret_message)
{
    const struct nm_yarn_spark_params params = {
        .event = w->event, .settings = w->settings, .program = program, .state_dir = w->state,
        .report_cb = aux_service_report};

    return nm_yarn_spark_new(&params, &w->spark, ret_message);
}

static void start_service(struct fixture *w)
{
    char *message = NULL;

    if (try_program(w, "./nm-spark-shuffle", &message) < 0)
        fail_msg("%s", message ?: "no message");
}

static int set_up(void **state)
{
    struct fixture *w = aux_service_fixture_new(PROPERTY("spark.shuffle.service.port", "0")
                                                PROPERTY("spark.authenticate", "true")
                                                PROPERTY("yarn.nodemanager.aux-services", "spark_shuffle"));

    start_service(w);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    (void)nm_yarn_spark_free(w->spark);
    aux_service_fixture_free(w);
    return 0;
}

static int add(struct fixture *w, const char *data)
{
    return nm_yarn_spark_add(w->spark, "alice", w->user, APPLICATION, nm_bytes_of(data));
}

/* Reads the file that nmd keeps for the application. Returns "" if the file does not exist. */
static const char *saved(const struct fixture *w)
{
    static char text[1024];
    char path[256];

    (void)snprintf(path, sizeof path, "%s/spark/" APPLICATION, w->state);
    if (nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) < 0)
        return "";
    return text;
}

static bool has_executors(const struct fixture *w)
{
    char path[256];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/spark/executors/" APPLICATION, w->state);
    return stat(path, &st) == 0;
}

static void test_secrets_are_kept(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(add(w, "ab"), 0);
    assert_non_null(strstr(saved(w), "\"key\":\"6162\""));
    assert_int_equal(add(w, "ab"), 0);
    assert_int_equal(add(w, ""), 0);
    assert_non_null(strstr(saved(w), "\"key\":\"\""));
    w->spark = nm_yarn_spark_free(w->spark);
    start_service(w);
    assert_non_null(strstr(saved(w), "\"key\":\"\""));
    nm_yarn_spark_end_application(w->spark, APPLICATION);
    assert_string_equal(saved(w), "");
}

static void test_data_may_be_json(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(add(w, "{\"secret\":\"ab\",\"spark.yarn.shuffle.server.recovery.disabled\":false}"), 0);
    assert_non_null(strstr(saved(w), "\"key\":\"6162\""));
    assert_int_equal(add(w, "{\"secret\":\"ab\",\"spark.yarn.shuffle.server.recovery.disabled\":true}"), 0);
    assert_string_equal(saved(w), ""); /* the application asks not to be stored */
    assert_int_equal(add(w, "{\"spark.yarn.shuffle.server.recovery.disabled\":true}"), 0);
    assert_int_equal(add(w, "123"), 0); /* JSON, but a secret */
    assert_non_null(strstr(saved(w), "\"key\":\"313233\""));
}

static void test_invalid_data_is_refused(void **state)
{
    struct fixture *w = *state;
    char secret[300];

    memset(secret, 'x', sizeof secret);
    secret[257] = '\0';
    assert_int_equal(add(w, secret), -EBADMSG);
    secret[256] = '\0';
    assert_int_equal(add(w, secret), 0);
    assert_int_equal(nm_yarn_spark_add(w->spark, "alice", "no-such-user", APPLICATION, nm_bytes_of("")), -ENOENT);
    assert_int_equal(nm_yarn_spark_add(w->spark, "alice", w->user, "../x", nm_bytes_of("")), -EBADMSG);
}

/* nmd also removes what the process has stored, because the process may not be running. */
static void test_the_end_of_an_application_removes_its_executors(void **state)
{
    struct fixture *w = *state;
    char path[256];
    FILE *f;

    assert_int_equal(add(w, "ab"), 0);
    (void)snprintf(path, sizeof path, "%s/spark/executors/" APPLICATION, w->state);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    assert_true(has_executors(w));
    nm_yarn_spark_end_application(w->spark, APPLICATION);
    assert_false(has_executors(w));
    nm_yarn_spark_end_application(w->spark, APPLICATION);
}

/* What the process counts is reported when it has answered a request for figures. */
static void test_the_state_of_the_process_is_reported(void **state)
{
    struct nm_yarn_shuffle_figures figures;
    struct fixture *w = *state;
    const pid_t pid = find_child();
    struct nm_yarn_aux_state t;
    uint64_t since_usec;
    uint16_t port;

    assert_string_equal(nm_yarn_spark_name(w->spark), "spark_shuffle");
    nm_yarn_spark_get_state(w->spark, &t);
    assert_string_equal(t.program, "nm-spark-shuffle");
    assert_true(t.is_up && t.port > 0);
    assert_int_equal(t.restarts, 0);
    assert_string_equal(t.trouble, "");
    since_usec = t.since_realtime_usec;
    port = t.port;
    assert_int_equal(add(w, "ab"), 0);
    assert_int_equal(nm_yarn_spark_count(w->spark), 1);
    nm_yarn_spark_get_figures(w->spark, &figures);
    assert_int_equal(figures.executors + figures.streams + figures.slow + figures.refused, 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    RUN_UNTIL(w, (nm_yarn_spark_get_state(w->spark, &t), !t.is_up));
    assert_string_equal(t.trouble, "nm-spark-shuffle was killed by signal 9");
    assert_string_equal(last_message, "nm-spark-shuffle was killed by signal 9; restarting it");
    assert_true(t.since_realtime_usec > since_usec);
    RUN_UNTIL(w, (nm_yarn_spark_get_state(w->spark, &t), t.is_up));
    assert_int_equal(t.restarts, 1);
    assert_int_equal(t.port, port);
    assert_non_null(strstr(last_message, "nm-spark-shuffle listens at port "));
    nm_yarn_spark_end_application(w->spark, APPLICATION);
    assert_int_equal(nm_yarn_spark_count(w->spark), 0);
}

/* Returns whether the process was started with this option. */
static bool has_option(const char *option)
{
    char path[40], text[4096];
    size_t size = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)find_child());
    assert_int_equal(nm_read_file_at(AT_FDCWD, path, text, sizeof text, &size), 0);
    return memmem(text, size, option, strlen(option) + 1);
}

static void use_properties(struct fixture *w, const char *properties)
{
    w->spark = nm_yarn_spark_free(w->spark);
    nm_yarn_settings_free(w->settings);
    w->settings = aux_service_settings(w, properties);
}

#define SERVICE PROPERTY("yarn.nodemanager.aux-services", "spark_shuffle")

static void test_limits_are_passed_on(void **state)
{
    static const char *const all[] = {"--max-chunks=7", "--timeout=600", "--backlog=99", "--keep-alive"};
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        assert_false(has_option(all[i]));
    assert_false(has_option("--timeout=120"));
    use_properties(w, SERVICE PROPERTY("spark.shuffle.service.port", "0") PROPERTY("spark.network.timeout", "10min")
                   PROPERTY("spark.shuffle.maxChunksBeingTransferred", "7") PROPERTY("spark.shuffle.io.backLog", "99")
                   PROPERTY("spark.shuffle.io.enableTcpKeepAlive", "true"));
    start_service(w);
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        assert_true(has_option(all[i]));
}

/* Occupies a port. Returns the socket. */
static int occupy(uint16_t *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

/* spark.yarn.shuffle.stopOnFailure */
static void test_a_port_in_use_may_stop_the_service_alone(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_aux_state t;
    char properties[600], *message = NULL;
    uint16_t port;
    int fd = occupy(&port);

    (void)snprintf(properties, sizeof properties, SERVICE PROPERTY("spark.shuffle.service.port", "%u"), port);
    use_properties(w, properties);
    assert_int_equal(nm_yarn_spark_check(w->settings, "./nm-spark-shuffle", false, &message), -EADDRINUSE);
    free(STEAL_PTR(message));
    assert_int_equal(try_program(w, "./nm-spark-shuffle", &message), -EADDRINUSE);
    assert_non_null(strstr(message, "nm-spark-shuffle doesn't listen: "));
    free(message);
    assert_null(w->spark);
    strcat(properties, PROPERTY("spark.yarn.shuffle.stopOnFailure", "false"));
    use_properties(w, properties);
    assert_int_equal(nm_yarn_spark_check(w->settings, "./nm-spark-shuffle", false, NULL), 0);
    start_service(w);
    assert_non_null(strstr(last_message, "; nmd continues without it, and starts it again"));
    nm_yarn_spark_get_state(w->spark, &t);
    assert_false(t.is_up);
    assert_int_equal(t.restarts, 1);
    assert_non_null(strstr(t.trouble, "doesn't listen"));
    assert_int_equal(add(w, "ab"), 0); /* containers start nevertheless */
    nm_close(fd);
    RUN_UNTIL(w, (nm_yarn_spark_get_state(w->spark, &t), t.is_up));
    assert_int_equal(t.port, port);
    assert_int_equal(nm_yarn_spark_count(w->spark), 1);
}

/* ---- calls that fail --------------------------------------------------------------------------- */

static void start_with_failures(void *userdata)
{
    struct fixture *w = userdata;
    char *message = NULL;
    int r = try_program(w, "./nm-spark-shuffle", &message);
    unsigned kinds = fail_pause();

    if (r < 0) {
        assert_null(w->spark);
        assert_true(!message || *message);
    } else {
        w->spark = nm_yarn_spark_free(w->spark);
    }
    assert_int_equal(find_child(), 0);
    free(message);
    fail_resume(kinds);
}

/* A start either succeeds completely or fails. A later start knows all applications. */
static void test_a_failed_start_loses_no_application(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(add(w, "ab"), 0);
    w->spark = nm_yarn_spark_free(w->spark);
    assert_true(fail_each_of(FAIL_MEMORY, start_with_failures, w) > 5);
    assert_true(fail_each_of(FAIL_PROCESS | FAIL_EVENT, start_with_failures, w) > 5);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, start_with_failures, w) > 5);
    start_service(w);
    assert_int_equal(nm_yarn_spark_count(w->spark), 1);
    assert_non_null(strstr(saved(w), "\"key\":\"6162\""));
}

static void add_with_failures(void *userdata)
{
    static const char data[] = "{\"secret\":\"ab\",\"spark.yarn.shuffle.server.recovery.disabled\":false}";
    struct fixture *w = userdata;
    int r = add(w, data);
    unsigned kinds = fail_pause();

    if (r < 0) {
        assert_int_equal(r, -ENOMEM);
        assert_int_equal(add(w, data), 0); /* as for the next container of the application */
    }
    assert_int_equal(nm_yarn_spark_count(w->spark), 1);
    fail_resume(kinds);
    nm_yarn_spark_end_application(w->spark, APPLICATION);
    kinds = fail_pause();
    assert_int_equal(nm_yarn_spark_count(w->spark), 0);
    /* makes a new object, since restarts are delayed after the process has ended several times */
    w->spark = nm_yarn_spark_free(w->spark);
    start_service(w);
    fail_resume(kinds);
}

/* Whatever call fails, an application that is accepted is known, with its whole secret, and an ended one is not. */
static void test_accepted_applications_are_known_whatever_call_fails(void **state)
{
    struct fixture *w = *state;

    assert_true(fail_each_of(FAIL_MEMORY, add_with_failures, w) > 5);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, add_with_failures, w) > 2);
}

static void test_a_missing_program_is_reported(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_spark *first = w->spark;
    char *message = NULL;

    assert_int_equal(nm_yarn_spark_check(w->settings, "./nm-spark-shuffle", true, NULL), 0);
    assert_int_equal(nm_yarn_spark_check(w->settings, "/no/such", true, &message), -ENOENT);
    assert_string_equal(message, "/no/such: No such file or directory");
    free(message);
    assert_int_equal(try_program(w, "/no/such", &message), -ENOENT);
    assert_string_equal(message, "/no/such: No such file or directory");
    free(message);
    assert_ptr_equal(w->spark, first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_secrets_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_data_may_be_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_data_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_end_of_an_application_removes_its_executors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_state_of_the_process_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits_are_passed_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_port_in_use_may_stop_the_service_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failed_start_loses_no_application, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_accepted_applications_are_known_whatever_call_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_missing_program_is_reported, set_up, tear_down),
    };

    (void)signal(SIGPIPE, SIG_IGN); /* as in nmd */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
