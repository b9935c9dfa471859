/* SPDX-License-Identifier: Apache-2.0 */

/* nm-spark-shuffle as a service of the node: its applications, their secrets, and its restarts. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/remove-tree.h"
#include "util/fileio.h"
#include "yarn/launch/spark-service.h"

#define APPLICATION "application_1700000000000_0001"

struct fixture {
    char root[64], state[96];
    sd_event *event;
    struct nm_yarn_settings *settings;
    struct nm_yarn_spark *spark;
    char *user;
};

static char last_message[400];

static void on_reported(int level, const char *sentence)
{
    (void)level;
    (void)snprintf(last_message, sizeof last_message, "%s", sentence);
}

static int try_program(struct fixture *w, const char *program, char **ret_message)
{
    const struct nm_yarn_spark_params params = {
        .event = w->event, .settings = w->settings, .program = program, .state_dir = w->state,
        .report_cb = on_reported};

    return nm_yarn_spark_new(&params, &w->spark, ret_message);
}

static void start_service(struct fixture *w)
{
    char *message = NULL;

    if (try_program(w, "./nm-spark-shuffle", &message) < 0)
        fail_msg("%s", message ?: "no message");
}

static struct nm_yarn_settings *read_settings(const char *root)
{
    struct nm_yarn_settings *s;
    struct nm_yarn_conf *c;
    char text[600];

    (void)snprintf(text, sizeof text,
                   "<configuration><property><name>yarn.nodemanager.local-dirs</name><value>%s</value></property>"
                   "<property><name>spark.shuffle.service.port</name><value>0</value></property>"
                   "<property><name>spark.authenticate</name><value>true</value></property></configuration>", root);
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), NULL), 0);
    assert_int_equal(nm_yarn_settings_read(c, NULL, NULL, &s, NULL), 0);
    (void)nm_yarn_conf_free(c);
    return s;
}

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    (void)strcpy(w->root, "/tmp/nmd-test-yspark.XXXXXX");
    assert_non_null(mkdtemp(w->root));
    assert_int_equal(chmod(w->root, 0755), 0);
    (void)snprintf(w->state, sizeof w->state, "%s/state", w->root);
    assert_true(sd_event_new(&w->event) >= 0);
    w->user = strdup(getpwuid(geteuid())->pw_name);
    w->settings = read_settings(w->root);
    start_service(w);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    (void)nm_yarn_spark_free(w->spark);
    (void)nm_yarn_settings_free(w->settings);
    (void)sd_event_unref(w->event);
    (void)remove_tree(w->root);
    free(w->user);
    free(w);
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
        cmocka_unit_test_setup_teardown(test_a_missing_program_is_reported, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
