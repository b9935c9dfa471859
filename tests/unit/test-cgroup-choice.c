/* SPDX-License-Identifier: Apache-2.0 */

/* The choice of the backend if several backends are possible, and the check whether the chosen backend can start. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <systemd/sd-bus.h>

#include "cgroup/backend.h"
#include "tests/unit/systemd-fixture.h"
#include "util/error.h"

static int mount_find_fails;

int __real_nm_mount_find(const char *mountinfo, char **ret);
int __wrap_nm_mount_find(const char *mountinfo, char **ret);

int __wrap_nm_mount_find(const char *mountinfo, char **ret)
{
    return mount_find_fails < 0 ? mount_find_fails : __real_nm_mount_find(mountinfo, ret);
}

static const char *chosen(struct fixture *w)
{
    const struct nm_cgroup_backend_params params = {
        .kind = NM_CGROUP_BACKEND_AUTO, .slice = SLICE, .cgroup_root = w->root, .event = w->event};
    const char *name;

    assert_int_equal(nm_cgroup_backend_new(&params, &w->b, &w->message), 0);
    name = w->b->ops->name;
    w->b = nm_cgroup_backend_free(w->b);
    if (fake_tree_has(&w->dir, "root/" SLICE))
        drop_cgroup(w, "");
    return name;
}

static void test_the_backend_follows_the_configuration_and_the_host(void **state)
{
    struct fixture *w = *state;

    fixture_set_booted(1);
    assert_string_equal(chosen(w), "systemd");
    fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit",
                                                          .error = SD_BUS_ERROR_ACCESS_DENIED});
    assert_string_equal(chosen(w), "direct"); /* systemd is running, but has no manager for this user */
    fixture_set_booted(0);
    assert_string_equal(chosen(w), "direct");
    fixture_set_booted(-ENOMEM);
    assert_int_equal(nm_cgroup_systemd_is_available(), 0);
    fixture_set_booted(1);
    fixture_set_user(0);
    assert_int_equal(nm_cgroup_systemd_is_available(), 1);
    fixture_set_user(1000);
    assert_int_equal(nm_cgroup_systemd_is_available(), 1);
    fake_systemd_disconnect(w->systemd);
    assert_int_equal(nm_cgroup_systemd_is_available(), 0); /* this user has no manager */
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    assert_int_equal(nm_cgroup_systemd_is_available(), 0);
}

/* Returns the result of nm_cgroup_backend_check(). Asserts that the check made no file or directory. */
static int check(struct fixture *w, enum nm_cgroup_backend_kind kind)
{
    const struct nm_cgroup_backend_params params = {
        .kind = kind, .slice = SLICE, .cgroup_root = w->root, .event = w->event};
    int r;

    free(w->message);
    w->message = NULL;
    r = nm_cgroup_backend_check(&params, &w->message);
    assert_false(fake_tree_has(&w->dir, "root/" SLICE));
    assert_false(fake_systemd_was_called(w->systemd, "StartTransientUnit"));
    return r;
}

static void test_the_check_names_the_chosen_backend(void **state)
{
    struct fixture *w = *state;

    fixture_set_booted(1);
    assert_int_equal(check(w, NM_CGROUP_BACKEND_SYSTEMD), 0);
    assert_int_equal(check(w, NM_CGROUP_BACKEND_AUTO), 0);
    assert_true(fake_systemd_was_called(w->systemd, "Subscribe"));
    fixture_set_booted(0);
    fake_systemd_clear_calls(w->systemd);
    assert_int_equal(check(w, NM_CGROUP_BACKEND_AUTO), 0); /* the direct backend could start */
    assert_false(fake_systemd_was_called(w->systemd, "Subscribe"));
    fake_systemd_disconnect(w->systemd);
    fixture_set_booted(1);
    assert_int_equal(check(w, NM_CGROUP_BACKEND_AUTO), 0);
    assert_true(check(w, NM_CGROUP_BACKEND_SYSTEMD) < 0);
    assert_non_null(strstr(w->message, "no connection to the systemd user manager: "));
    fake_systemd_reconnect(w->systemd);
    (void)strcat(w->root, "/cgroup.controllers"); /* a path of a file instead of a directory */
    assert_int_equal(check(w, NM_CGROUP_BACKEND_DIRECT), -ENOTDIR);
    assert_non_null(strstr(w->message, "can't create the slice "));
    assert_int_equal(check(w, NM_CGROUP_BACKEND_FAKE), 0);
}

static void test_without_a_mount_no_backend_starts(void **state)
{
    struct nm_cgroup_backend_params params = {.kind = NM_CGROUP_BACKEND_DIRECT, .slice = SLICE};
    struct fixture *w = *state;

    mount_find_fails = -ENOENT;
    assert_int_equal(nm_cgroup_backend_new(&params, &w->b, &w->message), -ENOENT);
    assert_non_null(strstr(w->message, "no cgroup2 file system is mounted: mount one"));
    free(w->message);
    w->message = NULL;
    mount_find_fails = -EACCES;
    assert_int_equal(nm_cgroup_backend_check(&params, &w->message), -EACCES);
    assert_string_equal(w->message, "/proc/self/mountinfo: Permission denied");
    mount_find_fails = 0;
    params.slice = "two--steps.slice";
    assert_int_equal(nm_cgroup_backend_check(&params, NULL), -EINVAL);
    assert_null(w->b);
}

/* Without an event loop the direct backend is chosen, even if systemd runs. */
static void test_without_an_event_loop_the_direct_backend_is_chosen(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup_backend_params params = {
        .kind = NM_CGROUP_BACKEND_AUTO, .slice = SLICE, .cgroup_root = w->root};

    fixture_set_booted(1);
    assert_int_equal(nm_cgroup_backend_check(&params, NULL), 0);
    assert_int_equal(nm_cgroup_backend_new(&params, &w->b, NULL), 0);
    assert_string_equal(w->b->ops->name, "direct");
    params.kind = NM_CGROUP_BACKEND_SYSTEMD;
    assert_int_equal(nm_cgroup_backend_check(&params, &w->message), -EINVAL);
    assert_string_equal(w->message, "the systemd backend needs an event loop");
}

#define alone(f) cmocka_unit_test_setup_teardown(f, fixture_alone, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        alone(test_the_backend_follows_the_configuration_and_the_host),
        alone(test_the_check_names_the_chosen_backend),
        alone(test_without_a_mount_no_backend_starts),
        alone(test_without_an_event_loop_the_direct_backend_is_chosen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
