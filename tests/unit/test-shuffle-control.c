/* SPDX-License-Identifier: Apache-2.0 */

/* nm-shuffle adds and removes jobs as JSON lines request. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "shuffle/server.h"
#include "util/error.h"

static struct nm_shuffle_service service;

static int set_up(void **state)
{
    (void)state;
    service = (struct nm_shuffle_service){0};
    return nm_shuffle_jobs_new(&service.jobs) < 0 || nm_shuffle_connections_new(1, &service.connections) < 0;
}

static int tear_down(void **state)
{
    (void)state;
    nm_shuffle_jobs_free(service.jobs);
    nm_shuffle_connections_free(service.connections);
    return 0;
}

static bool answers(const char *line, const char *what)
{
    _cleanup_free_ char *reply = NULL;

    nm_shuffle_control(&service, line, strlen(line), &reply);
    assert_non_null(reply);
    if (!strstr(reply, what))
        print_message("%s is answered: %s\n", line, reply);
    return strstr(reply, what) && !strchr(reply, '\n');
}

static void test_a_job_is_added_and_removed(void **state)
{
    struct nm_shuffle_job job;

    (void)state;
    assert_true(
        answers("{\"add\": {\"job\": \"job_1_1\", \"user\": \"_x$\", \"uid\": 7, \"key\": \"00ffA1\"}}",
                "{\"ok\": {}}"));
    assert_int_equal(nm_shuffle_jobs_find(service.jobs, nm_bytes_of("job_1_1"), &job), 0);
    assert_string_equal(job.user, "_x$");
    assert_int_equal(job.uid, 7);
    assert_int_equal(job.key_size, 3);
    assert_memory_equal(job.key, "\x00\xff\xa1", 3);
    assert_true(
        answers("{\"add\": {\"job\": \"job_1_1\", \"user\": \"y\", \"uid\": 8, \"key\": \"01\"}}", "{\"ok\": {}}"));
    assert_int_equal(nm_shuffle_jobs_find(service.jobs, nm_bytes_of("job_1_1"), &job), 0);
    assert_int_equal(job.uid, 8);
    assert_int_equal(job.key_size, 1);
    assert_true(answers("{\"remove\": {\"job\": \"job_1_1\"}}", "{\"ok\": {}}"));
    assert_true(answers("{\"remove\": {\"job\": \"job_1_1\"}}", "'job_1_1' is unknown"));
    assert_int_equal(nm_shuffle_jobs_find(service.jobs, nm_bytes_of("job_1_1"), &job), -ENOENT);
    assert_true(answers("{\"count\": {}}", "\"open\": 0"));
}

static void test_an_invalid_line_of_json_is_refused(void **state)
{
    static const char *const bad[][2] = {
        {"", "not JSON"},
        {"{", "not JSON"},
        {"[]", "one of add, remove and count"},
        {"{\"ad\": 1}", "one of add, remove and count"},
        {"{\"add\": 1}", "job: ''"},
        {"{\"add\": {\"job\": \"job_1_1/\"}}", "job: 'job_1_1/'"},
        {"{\"add\": {\"job\": \"job_1_1\", \"uid\": 1, \"key\": \"00\"}}", "user: ''"},
        {"{\"add\": {\"job\": \"job_1_1\", \"user\": \"..\", \"uid\": 1, \"key\": \"00\"}}", "user: '..'"},
        {"{\"add\": {\"job\": \"job_1_1\", \"user\": \"a/b\", \"uid\": 1, \"key\": \"00\"}}", "user: 'a/b'"},
        {"{\"add\": {\"job\": \"job_1_1\", \"user\": \"a\", \"key\": \"00\"}}", "uid:"},
        {"{\"add\": {\"job\": \"job_1_1\", \"user\": \"a\", \"uid\": -1, \"key\": \"00\"}}", "uid:"},
        {"{\"add\": {\"job\": \"job_1_1\", \"user\": \"a\", \"uid\": 4294967295, \"key\": \"00\"}}", "uid:"},
        {"{\"add\": {\"job\": \"job_1_1\", \"user\": \"a\", \"uid\": 1}}", "key:"},
        {"{\"add\": {\"job\": \"job_1_1\", \"user\": \"a\", \"uid\": 1, \"key\": \"\"}}", "key:"},
        {"{\"add\": {\"job\": \"job_1_1\", \"user\": \"a\", \"uid\": 1, \"key\": \"0g\"}}", "key:"},
        {"{\"remove\": {}}", "'' is unknown"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++)
        assert_true(answers(bad[i][0], bad[i][1]));
}

static void test_a_job_key_that_is_too_long_is_refused(void **state)
{
    char line[512];

    (void)state;
    snprintf(line, sizeof line, "{\"add\": {\"job\": \"job_1_1\", \"user\": \"a\", \"uid\": 1, \"key\": \"%0130d\"}}",
             0);
    assert_true(answers(line, "key: must be 1 to 64 bytes"));
}

static void test_too_many_jobs_are_refused(void **state)
{
    struct nm_shuffle_job job = {.user = "a", .key_size = 1};

    (void)state;
    for (unsigned i = 0; i < NM_SHUFFLE_JOBS_MAX; i++) {
        snprintf(job.id, sizeof job.id, "job_1_%u", i);
        assert_int_equal(nm_shuffle_jobs_add(service.jobs, &job), 0);
    }
    assert_true(answers("{\"add\": {\"job\": \"job_2_1\", \"user\": \"a\", \"uid\": 1, \"key\": \"00\"}}",
                        "job: the limit of 20000 jobs is reached"));
}

static void test_lines_are_read_to_the_end_of_the_file(void **state)
{
    char in[] = "{\"count\": {}}\nx\n", out[512] = "";
    FILE *from = fmemopen(in, strlen(in), "r"), *to = fmemopen(out, sizeof out, "w");

    (void)state;
    assert_int_equal(nm_shuffle_control_run(&service, from, to), 0);
    fclose(from);
    fclose(to);
    assert_non_null(strstr(out, "\"sent_bytes\": 0}}\n{\"error\": "));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_job_is_added_and_removed),
        TEST(test_an_invalid_line_of_json_is_refused),
        TEST(test_a_job_key_that_is_too_long_is_refused),
        TEST(test_too_many_jobs_are_refused),
        TEST(test_lines_are_read_to_the_end_of_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
