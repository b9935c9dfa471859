/* SPDX-License-Identifier: Apache-2.0 */

/* Commands of nmd, and the command line. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "spark-fixture.h"
#include "spark/cli.h"
#include "spark/control.h"
#include "util/macros.h"

static struct spark_fixture fixture;
static struct nm_spark_service service;

static int set_up(void **state)
{
    (void)state;
    spark_fixture_new(&fixture);
    service = (struct nm_spark_service){};
    assert_int_equal(nm_spark_applications_new(&fixture.locals, -EBADF, &service.applications), 0);
    return nm_shuffle_connections_new(4, &service.connections);
}

static int tear_down(void **state)
{
    (void)state;
    nm_spark_applications_free(service.applications);
    nm_shuffle_connections_free(service.connections);
    spark_fixture_done(&fixture);
    return 0;
}

static bool answers(const char *line, const char *what)
{
    _cleanup_free_ char *reply = NULL;

    nm_spark_control(&service, line, strlen(line), &reply);
    assert_non_null(reply);
    if (!strstr(reply, what))
        print_message("%s is answered: %s\n", line, reply);
    return strstr(reply, what) && !strchr(reply, '\n');
}

#define ADD(app, user, uid, secret, stored) \
    "{\"add\": {\"application\": \"" app "\", \"user\": \"" user "\", \"uid\": " uid ", \"secret\": " secret \
    ", \"stored\": " stored "}}"

static void test_an_application_is_added_and_removed(void **state)
{
    struct nm_spark_application app;
    uint8_t secret[NM_SPARK_SECRET_MAX];
    size_t size;

    (void)state;
    assert_true(answers(ADD("application_1_1", "_x$", "7", "\"00ffA1\"", "true"), "{\"ok\": {}}"));
    assert_int_equal(nm_spark_applications_find(service.applications, "application_1_1", &app), 0);
    assert_string_equal(app.user, "_x$");
    assert_int_equal(app.uid, 7);
    assert_int_equal(nm_spark_applications_secret(service.applications, "application_1_1", secret, &size), 0);
    assert_int_equal(size, 3);
    assert_memory_equal(secret, "\x00\xff\xa1", 3);
    assert_true(answers(ADD("application_1_1", "y", "8", "\"\"", "false"), "{\"ok\": {}}"));
    assert_int_equal(nm_spark_applications_secret(service.applications, "application_1_1", secret, &size), 0);
    assert_int_equal(size, 0);
    assert_int_equal(nm_spark_applications_settle(service.applications, "application_1_1",
                                                  &(struct nm_spark_usage){3, 1, 99, 2, 1, 4, 1}, 0, 1), 0);
    assert_true(answers("{\"remove\": {\"application\": \"application_1_1\"}}",
                        "{\"ok\": {\"ended\": {\"application\": \"application_1_1\", \"open\": 1, \"streams\": 4, "
                        "\"stalled\": 1, \"slow\": 2, \"outputs_ok\": 3, \"outputs_failed\": 1, "
                        "\"sent_bytes\": 99}}}"));
    assert_true(answers("{\"remove\": {\"application\": \"application_1_1\"}}", "is unknown"));
}

static void test_invalid_commands_are_refused(void **state)
{
    static const struct {
        const char *line, *what;
    } all[] = {
        {"", "not JSON"},
        {"[]", "must have one of add, remove and count"},
        {"{\"add\": 1}", "is not an application's id"},
        {ADD("job_1_1", "x", "7", "\"\"", "true"), "is not an application's id"},
        {ADD("application_1_", "x", "7", "\"\"", "true"), "is not an application's id"},
        {ADD("application_1_1/..", "x", "7", "\"\"", "true"), "is not an application's id"},
        {ADD("application_1", "x", "7", "\"\"", "true"), "is not an application's id"},
        {ADD("application_1_1", "..", "7", "\"\"", "true"), "not a valid user name"},
        {ADD("application_1_1", "a/b", "7", "\"\"", "true"), "not a valid user name"},
        {ADD("application_1_1", "x", "-7", "\"\"", "true"), "uid: must be"},
        {ADD("application_1_1", "x", "7", "\"0\"", "true"), "secret: must be"},
        {ADD("application_1_1", "x", "7", "7", "true"), "secret: must be"},
        {ADD("application_1_1", "x", "7", "\"\"", "1"), "stored: must be"},
        {"{\"remove\": {}}", "is not an application's id"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        assert_true(answers(all[i].line, all[i].what));
    assert_int_equal(nm_spark_applications_count(service.applications).applications, 0);
}

static void test_figures_are_counted(void **state)
{
    (void)state;
    assert_true(answers(ADD("application_1_1", "x", "7", "\"\"", "true"), "{\"ok\": {}}"));
    atomic_fetch_add(&service.count.sent_bytes, 5);
    assert_true(answers("{\"count\": {}}",
                        "{\"ok\": {\"open\": 0, \"connections\": 0, \"refused\": 0, \"slow\": 0, \"applications\": 1, "
                        "\"executors\": 0, \"not_stored\": 0, \"streams\": 0, \"outputs_ok\": 0, "
                        "\"outputs_failed\": 0, \"sent_bytes\": 5, \"stalled\": 0, "
                        "\"top\": [{\"application\": \"application_1_1\", \"open\": 0, \"streams\": 0, "
                        "\"stalled\": 0, \"slow\": 0, \"outputs_ok\": 0, \"outputs_failed\": 0, "
                        "\"sent_bytes\": 0}]}}"));
}

/* nmd reads lines of 20 KiB. */
static void test_the_longest_answer_fits_into_a_line(void **state)
{
    const struct nm_spark_usage most = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    _cleanup_free_ char *reply = NULL;

    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        struct nm_spark_application a = {.user = "x"};

        snprintf(a.id, sizeof a.id, "application_%020u_%030u", i, i);
        assert_int_equal(nm_spark_applications_add(service.applications, &a, (struct nm_bytes){}, false), 0);
        assert_int_equal(nm_spark_applications_settle(service.applications, a.id, &most, 0, 1), 0);
    }
    nm_spark_control(&service, "{\"count\": {}}", strlen("{\"count\": {}}"), &reply);
    assert_non_null(reply);
    assert_true(strlen(reply) < 20 << 10);
    assert_string_equal(reply + strlen(reply) - 4, "}]}}");
}

/* Runs the program without main(), and returns its first line and its last one. */
static int run(const char *commands, const char *listen, const char *state_dir, char ret[static 512])
{
    char *dirs[] = {fixture.local_names[0], fixture.local_names[1], NULL};
    const struct nm_spark_options o = {.listen = listen, .max_connections = 4, .state = state_dir, .dirs = dirs};
    FILE *in = fmemopen((char *)commands, strlen(commands), "r"), *out = fmemopen(ret, 512, "w");
    int r;

    assert_non_null(in);
    assert_non_null(out);
    r = nm_spark_run(&o, in, out);
    fclose(in);
    fclose(out);
    return r;
}

static void test_the_program_serves_until_its_input_ends(void **state)
{
    char text[512] = "";

    (void)state;
    assert_int_equal(run("{\"count\": {}}\n", "127.0.0.1:0", fixture.dir, text), 0);
    assert_int_equal(strncmp(text, "{\"listening\": ", strlen("{\"listening\": ")), 0);
    assert_non_null(strstr(text, "\"sent_bytes\": 0, \"stalled\": 0, \"top\": []}}\n"));
    assert_int_equal(run("\n", "127.0.0.1:x", NULL, text), -EINVAL);
    assert_int_equal(run("\n", "127.0.0.1:0", "/no/such/directory", text), -ENOENT);
}

static int parse(const char *const *argv)
{
    struct nm_spark_options o;
    int argc = 0;

    while (argv[argc])
        argc++;
    return nm_spark_parse_argv(argc, (char **)argv, &o);
}

static void test_the_command_line_is_checked(void **state)
{
    (void)state;
    assert_int_equal(parse((const char *const[]){"nm-spark-shuffle", "/a", NULL}), 0);
    assert_int_equal(parse((const char *const[]){"nm-spark-shuffle", NULL}), -EINVAL);
    assert_int_equal(parse((const char *const[]){"nm-spark-shuffle", "--max-connections=0", "/a", NULL}), -EINVAL);
    assert_int_equal(parse((const char *const[]){"nm-spark-shuffle", "--help", NULL}), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_application_is_added_and_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_commands_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_figures_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_longest_answer_fits_into_a_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_program_serves_until_its_input_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_command_line_is_checked, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
