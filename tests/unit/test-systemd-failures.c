/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The systemd backend when memory or other resources are missing: each library call that can fail does so once. In each
 * case an operation either doesn't begin or completes exactly once, a failed operation is undone, and the next
 * operation succeeds.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/fail-nth.h"
#include "tests/unit/systemd-fixture.h"
#include "util/clock.h"
#include "util/error.h"

#define FAIL_ALL (FAIL_MEMORY | FAIL_BUS | FAIL_EVENT | FAIL_OPEN)

static bool is_shortage(int r)
{
    return r == -ENOMEM || r == -EMFILE;
}

static void test_each_failed_call_during_the_start_of_the_backend_is_an_error(void **state)
{
    struct fixture *w = *state;
    bool failed = true;

    for (unsigned n = 1; failed; n++) {
        int r;

        fail_nth(FAIL_ALL, n);
        r = fixture_start(w);
        failed = fail_stop();
        if (r != 0 && (!is_shortage(r) || w->b))
            fail_msg("failure of call %u: %d", n, r);
        free(w->message);
        w->message = NULL;
        w->b = nm_cgroup_backend_free(w->b);
        if (fake_tree_has(&w->dir, "root/" SLICE))
            drop_cgroup(w, "");
    }
    assert_int_equal(fixture_start(w), 0);
}

/* Checks that the operation either failed to begin or completes once. Without a timer for its deadline, the operation
 * may complete only at its deadline. */
static void ends_once(struct fixture *w, int r, const struct answer *a)
{
    if (r < 0) {
        assert_true(is_shortage(r));
        assert_int_equal(a->n_calls, 0);
        return;
    }
    if (a->n_calls == 0)
        run_until_called(w, a);
    assert_int_equal(a->n_calls, 1);
    if (a->result != 0 && !is_shortage(a->result))
        fail_msg("the operation ended with %d, %s", a->result, a->message);
}

static void create_or_fail(struct fixture *w, bool job_is_early)
{
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    bool failed = true;

    l.io_weight = 10;
    l.oom_group = true;
    for (unsigned n = 1; failed; n++) {
        struct answer a = {0};
        int r;

        if (job_is_early)
            fake_systemd_answer(w->systemd,
                                &(struct fake_answer){.method = "StartTransientUnit", .job_is_early = true});
        fail_nth(FAIL_ALL, n);
        r = w->b->ops->create(w->b, "c1", "a test", getpid(), &l, on_done, &a);
        for (unsigned i = 0; r == 0 && a.n_calls == 0 && i < 50; i++)
            (void)sd_event_run(w->event, 20 * NM_USEC_PER_MSEC);
        failed = fail_stop();
        ends_once(w, r, &a);
        assert_true((a.cg != NULL) == (r == 0 && a.result == 0));
        nm_cgroup_free(a.cg);
        if (fake_tree_has(&w->dir, "root/" SLICE "/nmtest-c1.scope"))
            drop_cgroup(w, "nmtest-c1.scope");
        fake_systemd_clear_calls(w->systemd);
    }
    nm_cgroup_free(created(w, "c2"));
}

static void test_each_failed_call_during_the_creation_of_a_scope_is_an_error(void **state)
{
    create_or_fail(*state, false);
}

/* systemd reports the end of a job before nmd knows the name of the job. nmd remembers the end until it knows the
 * name. */
static void test_the_end_of_a_job_is_remembered_until_its_name_is_known(void **state)
{
    create_or_fail(*state, true);
}

static void test_each_failed_call_while_setting_limits_is_an_error(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = created(w, "c1");
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    bool failed = true;

    l.oom_group = true;
    for (unsigned n = 1; failed; n++) {
        struct answer a = {0};
        int r;

        fail_nth(FAIL_ALL, n);
        r = w->b->ops->set_limits(w->b, cg, &l, on_done, &a);
        for (unsigned i = 0; r == 0 && a.n_calls == 0 && i < 50; i++)
            (void)sd_event_run(w->event, 20 * NM_USEC_PER_MSEC);
        failed = fail_stop();
        ends_once(w, r, &a);
        assert_null(a.cg);
        fake_systemd_clear_calls(w->systemd);
    }
    nm_cgroup_free(cg);
}

static void test_each_failed_step_of_a_reconnection_is_repeated(void **state)
{
    struct fixture *w = *state;
    bool failed = true;

    fake_systemd_clear_calls(w->systemd);
    for (unsigned n = 1; failed; n++) {
        struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
        struct answer a = {0};

        fake_systemd_answer(w->systemd, &(struct fake_answer){.method = "StartTransientUnit", .hangs_up = true});
        assert_int_equal(w->b->ops->create(w->b, "c1", "", getpid(), &l, on_done, &a), 0);
        fail_nth(FAIL_ALL, n);
        for (unsigned i = 0; !fake_systemd_was_called(w->systemd, "Subscribe") && i < 1000; i++)
            (void)sd_event_run(w->event, 5 * NM_USEC_PER_MSEC);
        failed = fail_stop();
        ends_once(w, 0, &a);
        if (fake_tree_has(&w->dir, "root/" SLICE "/nmtest-c1.scope"))
            drop_cgroup(w, "nmtest-c1.scope");
        nm_cgroup_free(a.cg);
        fake_systemd_clear_calls(w->systemd);
    }
    nm_cgroup_free(created(w, "c2"));
}

/* A subscription that has failed is repeated, since systemd sends no signals without a subscription. */
static void test_a_failed_subscription_is_repeated(void **state)
{
    struct fixture *w = *state;
    bool failed = true;

    for (unsigned n = 1; failed; n++) {
        fake_systemd_clear_calls(w->systemd);
        fake_systemd_emit_owner(w->systemd, ":1.9");
        fail_nth(FAIL_ALL, n);
        run_until_received(w, "Subscribe", 1);
        failed = fail_stop();
        run_a_while(w);
    }
    nm_cgroup_free(created(w, "c1"));
}

static void take(struct nm_cgroup *cg, const char *id, void *userdata)
{
    unsigned *n = userdata;

    assert_string_equal(id, "c1");
    ++*n;
    nm_cgroup_free(cg);
}

/* Tests the operations that complete without waiting for systemd. */
static void test_each_failed_call_of_immediate_operations_is_an_error(void **state)
{
    struct fixture *w = *state;
    struct nm_cgroup *cg = created(w, "c1");
    bool failed = true;

    fake_tree_write(&w->dir, "root/" SLICE "/nmtest-c1.scope/cgroup.events", "populated 0\nfrozen 0\n");
    for (unsigned n = 1; failed; n++) {
        unsigned n_listed = 0;
        int listed, removed;

        fail_nth(FAIL_ALL, n);
        listed = w->b->ops->list(w->b, take, &n_listed);
        removed = w->b->ops->remove(w->b, cg);
        failed = fail_stop();
        assert_true(listed == 0 || is_shortage(listed));
        assert_int_equal(n_listed, listed == 0);
        assert_true(removed == 0 || is_shortage(removed));
    }
    nm_cgroup_free(cg);
}

#define started(f) cmocka_unit_test_setup_teardown(f, fixture_private, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_failed_call_during_the_start_of_the_backend_is_an_error,
                                        fixture_alone, fixture_teardown),
        started(test_each_failed_call_during_the_creation_of_a_scope_is_an_error),
        started(test_the_end_of_a_job_is_remembered_until_its_name_is_known),
        started(test_each_failed_call_while_setting_limits_is_an_error),
        cmocka_unit_test_setup_teardown(test_each_failed_step_of_a_reconnection_is_repeated, fixture_bus,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_a_failed_subscription_is_repeated, fixture_bus, fixture_teardown),
        started(test_each_failed_call_of_immediate_operations_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
