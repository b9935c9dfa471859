/* SPDX-License-Identifier: Apache-2.0 */

/* A complete node and its ResourceManager: the size of the node as configured and as the ResourceManager sets it, and
 * the unregistration of the node. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cgroup/backend-fake.h"
#include "tests/unit/tracker-fixture.h"
#include "util/clock.h"
#include "yarn/yarn-state.h"

/* A reload of the configuration changes the size of the node. The node registers again to report the new size. */
static void test_a_reload_changes_the_size_of_the_node(void **state)
{
    struct tracker_fixture *w = *state;
    struct nm_problem problem;

    tracker_join(w);
    tracker_run_beats(w, 1);
    assert_int_equal(w->offered_mib, 800);
    manager_fixture_configure(w->node, "[node]\nsystem-reserved-memory = 300M\n");
    assert_int_equal(nm_manager_reload(w->node->m, &problem), 0);
    while (w->registrations < 2)
        tracker_run_beats(w, 1);
    assert_int_equal(w->offered_mib, 700);
}

static void count(void *userdata)
{
    ++*(unsigned *)userdata;
}

static bool has_unregistered(const struct tracker_fixture *w)
{
    return w->unregistrations > 0;
}

static void leave(struct tracker_fixture *w)
{
    const uint64_t deadline = nm_now_usec() + 60 * NM_USEC_PER_SEC;
    unsigned done = 0;

    w->unregistrations = 0;
    assert_true(nm_yarn_unregister(w->yarn, count, &done));
    assert_true(nm_yarn_unregister(w->yarn, count, &done)); /* a second request completes at the same time */
    while (done == 0) {
        assert_true(nm_now_usec() < deadline);
        assert_true(sd_event_run(w->node->event, 100 * NM_USEC_PER_MSEC) >= 0);
    }
    assert_int_equal(done, 1);
    w->yarn = nm_yarn_free(w->yarn);
}

static uint64_t offered_mib(const struct tracker_fixture *w)
{
    return w->node->m->settings.offered.memory_bytes / MIB;
}

/* A size that the ResourceManager sets takes effect immediately. It survives a restart of nmd, but not an
 * unregistration. */
static void test_a_size_set_by_the_resourcemanager_survives_a_restart(void **state)
{
    struct tracker_fixture *w = *state;
    unsigned registrations;

    w->memory_mib = 600;
    tracker_join(w);
    tracker_run_beats(w, 2);
    assert_int_equal(offered_mib(w), 600);
    w->memory_mib = 0;
    w->yarn = nm_yarn_free(w->yarn); /* without unregistering, as after SIGKILL */
    nm_manager_set_size(w->node->m, 0, 0);
    registrations = w->registrations;
    tracker_join(w);
    assert_int_equal(offered_mib(w), 600);
    tracker_run_beats(w, 2);
    assert_true(w->registrations > registrations);
    assert_int_equal(w->offered_mib, 600);
    assert_int_equal(tracker_shown(w).vcores, 3);
    assert_int_equal(offered_mib(w), 600);
    leave(w);
    w->yarn = nm_yarn_free(w->yarn);
    nm_manager_set_size(w->node->m, 0, 0);
    tracker_join(w);
    tracker_run_beats(w, 2);
    assert_int_equal(w->offered_mib, 800);
    assert_int_equal(offered_mib(w), 800);
}

static bool has_size_zero(const struct tracker_fixture *w)
{
    struct nm_upstream shown = tracker_shown(w);

    return shown.sized && shown.memory_bytes == 0 && shown.vcores == 0;
}

/* A size of 0 takes effect until the node registers again. The node then registers with its configured size, since the
 * ResourceManager would refuse 0. */
static void test_a_size_of_zero_is_in_effect_until_the_next_registration(void **state)
{
    struct tracker_fixture *w = *state;

    tracker_join(w);
    tracker_run_beats(w, 2);
    assert_int_equal(offered_mib(w), 800);
    w->add_actions = tracker_set_size_zero;
    tracker_run_until(w, has_size_zero);
    assert_int_equal(offered_mib(w), 1); /* the smallest size that a node can offer */
    tracker_run_beats(w, 2);
    assert_true(has_size_zero(w));
    w->action = YARN__ACTION__RESYNC;
    for (unsigned before = w->registrations; w->registrations == before;)
        tracker_run_beats(w, 1);
    tracker_run_beats(w, 1);
    assert_int_equal(w->offered_mib, 800);
    assert_false(tracker_shown(w).sized);
    assert_int_equal(offered_mib(w), 800);
}

/* A size of 0 survives a restart of nmd, as any other size does. */
static void test_a_size_of_zero_survives_a_restart(void **state)
{
    struct tracker_fixture *w = *state;

    tracker_join(w);
    tracker_run_beats(w, 2);
    w->add_actions = tracker_set_size_zero;
    tracker_run_until(w, has_size_zero);
    w->add_actions = NULL;
    w->yarn = nm_yarn_free(w->yarn); /* without unregistering, as after SIGKILL */
    nm_manager_set_size(w->node->m, 0, 0);
    tracker_join(w);
    assert_int_equal(offered_mib(w), 1);
}

static void test_a_node_that_is_stopped_unregisters(void **state)
{
    struct tracker_fixture *w = *state;
    unsigned done = 0;

    tracker_join(w);
    assert_false(nm_yarn_unregister(w->yarn, count, &done)); /* the node isn't registered yet */
    tracker_run_beats(w, 1);
    w->settings->recovery = w->settings->supervised = true;
    assert_false(nm_yarn_unregister(w->yarn, count, &done)); /* the node will register again */
    w->settings->supervised = false;
    leave(w);
    assert_true(has_unregistered(w));

    tracker_join(w); /* the ResourceManager doesn't answer any more, so the node waits only briefly */
    tracker_run_beats(w, 1);
    w->holds = true;
    leave(w);
    w->holds = false;
    assert_int_equal(done, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tracker_set_up, tracker_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_reload_changes_the_size_of_the_node),
        TEST(test_a_size_set_by_the_resourcemanager_survives_a_restart),
        TEST(test_a_size_of_zero_is_in_effect_until_the_next_registration),
        TEST(test_a_size_of_zero_survives_a_restart),
        TEST(test_a_node_that_is_stopped_unregisters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
