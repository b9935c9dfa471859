/* SPDX-License-Identifier: Apache-2.0 */

/* The node's health: its script, its disks, and processes that can't be killed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/fail-nth.h"
#include "tests/unit/health-fixture.h"
#include "util/fileio.h"

static void on_change(bool healthy, const char *reason, void *userdata)
{
    struct health_fixture *f = userdata;

    f->n_changes++;
    f->healthy = healthy;
    (void)snprintf(f->reason, sizeof f->reason, "%s", reason);
}

static struct nm_health *start(struct health_fixture *f)
{
    struct nm_health *h = NULL;

    assert_int_equal(
        nm_health_new(f->event, f->config, f->directory, f->directory, on_change, f, &h), 0);
    return h;
}

static void set_script(struct health_fixture *f, const char *path)
{
    free(f->config->health_script);
    f->config->health_script = strdup(path);
}

/* The script tests whether a file exists. The health changes when the file is made or removed. */
static void test_the_health_follows_the_result_of_the_script(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct health_fixture *f = *state;
    char path[128], lines[256], flag[128];
    const char *reason;

    (void)snprintf(flag, sizeof flag, "%s/flag", f->directory);
    (void)snprintf(lines, sizeof lines, "[ ! -e %s ] || echo ERROR flag is up", flag);
    write_script(flag, "");
    set_script(f, make_script(f, "s", lines, path, sizeof path));
    h = start(f);
    assert_false(nm_health_get(h, &reason)); /* before the first result no change is reported */
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
    struct health_fixture *f = *state;
    char path[128];

    f->config->health_timeout_usec = 200 * NM_USEC_PER_MSEC;
    set_script(f, make_script(f, "s", "exec sleep 1000", path, sizeof path));
    h = start(f);
    RUN_UNTIL(f, f->n_changes == 1);
    assert_false(f->healthy);
    assert_string_equal(f->reason, "the health script did not end in time");
    /* Another script, which succeeds: the first script's result is discarded. */
    set_script(f, make_script(f, "good", "exit 1", path, sizeof path));
    assert_int_equal(nm_health_reconfigure(h, f->config), 0);
    RUN_UNTIL(f, f->n_changes == 2);
    assert_true(f->healthy);
}

static bool is_unkillable;
static pid_t killed; /* the process group that is_unkillable has protected, as an argument of kill() */

int __real_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal);

int __wrap_kill(pid_t pid, int signal)
{
    if (!is_unkillable)
        return __real_kill(pid, signal);
    killed = pid;
    return 0;
}

/* The configuration changes while the old script still hangs in the kernel after its time-out. The new script starts as
 * soon as the old one has ended, not a period later. */
static void test_a_new_script_starts_after_the_end_of_a_script_that_hangs(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct health_fixture *f = *state;
    char path[128];

    is_unkillable = true;
    f->config->health_timeout_usec = 200 * NM_USEC_PER_MSEC;
    f->config->health_period_usec = 3600 * NM_USEC_PER_SEC;
    set_script(f, make_script(f, "s", "exec sleep 1000", path, sizeof path));
    h = start(f);
    RUN_UNTIL(f, f->n_changes == 1);
    assert_string_equal(f->reason, "the health script did not end in time");
    set_script(f, make_script(f, "new", "echo ERROR x", path, sizeof path));
    assert_int_equal(nm_health_reconfigure(h, f->config), 0);
    RUN_UNTIL(f, f->healthy); /* the new script can't start yet */
    is_unkillable = false;
    assert_int_equal(kill(killed, SIGKILL), 0);
    RUN_UNTIL(f, f->n_changes == 3);
    assert_string_equal(f->reason, "the health script says: ERROR x");
}

/* A script that can't be run, or that fails without reporting an error of the node, must not make the node
 * unhealthy. */
static void test_a_script_that_fails_leaves_the_node_healthy(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct health_fixture *f = *state;
    char path[128], lines[256], count[128];
    struct stat st;
    const char *reason;

    set_script(f, "/no/such/script");
    h = start(f);
    (void)snprintf(count, sizeof count, "%s/count", f->directory);
    (void)snprintf(lines, sizeof lines, "echo >>%s; exit 9", count);
    set_script(f, make_script(f, "s", lines, path, sizeof path));
    assert_true(sd_event_run(f->event, 100 * NM_USEC_PER_MSEC) >= 0); /* tries to run the missing script */
    assert_int_equal(nm_health_reconfigure(h, f->config), 0);
    RUN_UNTIL(f, stat(count, &st) == 0 && st.st_size >= 3); /* the script has run three times */
    assert_int_equal(f->n_changes, 0);
    assert_true(nm_health_get(h, &reason));
}

static void test_containers_that_can_not_be_killed_make_the_node_unhealthy(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct health_fixture *f = *state;

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
    struct health_fixture *f = *state;
    const char *reason;

    f->config->disk_min_free = 1.01;
    h = start(f);
    assert_false(nm_health_get(h, &reason));
    assert_int_equal(strncmp(reason, "only ", 5), 0);
    assert_non_null(strstr(reason, f->directory));
    assert_null(strstr(reason, ";"));  /* a file system is reported once */
    assert_int_equal(f->n_changes, 0); /* the callback is not called within nm_health_new() */
    f->config->disk_min_free = 0;
    assert_int_equal(nm_health_reconfigure(h, f->config), 0);
    RUN_UNTIL(f, f->n_changes == 1);
    assert_true(f->healthy);
}

/* For a log directory that doesn't exist yet, the free space of the file system is checked on which the directory will
 * be made. */
static void test_the_space_for_a_missing_directory_is_that_of_its_future_file_system(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct health_fixture *f = *state;
    char path[128];
    const char *reason;

    f->config->disk_min_free = 1e-12;
    (void)snprintf(path, sizeof path, "%s/not/yet", f->directory);
    assert_int_equal(nm_health_new(f->event, f->config, path, path, on_change, f, &h), 0);
    if (!nm_health_get(h, &reason))
        fail_msg("%s", reason);
}

static void test_all_reasons_of_an_unhealthy_node_are_reported(void **state)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct health_fixture *f = *state;
    char path[128];

    set_script(f, make_script(f, "s", "echo ERROR x", path, sizeof path));
    h = start(f);
    nm_health_set_unkillable(h, 3);
    RUN_UNTIL(f, f->n_changes == 2);
    assert_string_equal(f->reason, "the health script says: ERROR x; 3 containers can't be killed");
}

static int try_health(void *userdata)
{
    _cleanup_(nm_health_freep) struct nm_health *h = NULL;
    struct health_fixture *f = userdata;
    int r = nm_health_new(f->event, f->config, f->directory, "/tmp", on_change, f, &h);

    return r < 0 ? r : nm_health_reconfigure(h, f->config);
}

static void test_each_failed_allocation_of_a_check_is_an_error(void **state)
{
    assert_true(fail_each(try_health, *state) >= 4);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, health_fixture_set_up, health_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_health_follows_the_result_of_the_script),
        TEST(test_a_script_that_hangs_makes_the_node_unhealthy),
        TEST(test_a_new_script_starts_after_the_end_of_a_script_that_hangs),
        TEST(test_a_script_that_fails_leaves_the_node_healthy),
        TEST(test_containers_that_can_not_be_killed_make_the_node_unhealthy),
        TEST(test_a_full_disk_makes_the_node_unhealthy),
        TEST(test_the_space_for_a_missing_directory_is_that_of_its_future_file_system),
        TEST(test_all_reasons_of_an_unhealthy_node_are_reported),
        TEST(test_each_failed_allocation_of_a_check_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
