/* SPDX-License-Identifier: Apache-2.0 */

/* Tests agent/node/manager-settings.c on the fake backend: the configuration or the size of the node changes while
 * containers run. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/journal/containers.h"
#include "agent/node/sampling.h"
#include "agent/node/node-settings.h"
#include "cgroup/backend-fake.h"
#include "tests/unit/manager-fixture.h"
#include "util/clock.h"
#include "util/fileio.h"

static void reload(struct manager_fixture *w, const char *text)
{
    struct nm_problem problem = {0};

    manager_fixture_configure(w, text);
    assert_int_equal(nm_manager_reload(w->m, &problem), 0);
    manager_fixture_settle(w);
}

/* ---- the slice's limit ------------------------------------------------------- */

static void assert_slice_max(const struct manager_fixture *w, uint64_t mib)
{
    char text[32];

    assert_int_equal(nm_read_file_at(w->m->backend->slice_fd, "memory.max", text, sizeof text, NULL), 0);
    assert_int_equal(strtoull(text, NULL, 10), mib * MIB);
}

static void in_use(struct manager_fixture *w, uint64_t mib)
{
    w->m->round.verdict.in_use.memory_bytes = mib * MIB;
    nm_settings_follow_node(w->m); /* as nmd does after each sample */
    manager_fixture_settle(w);
}

/* The kernel immediately OOM-kills processes if memory.max is set below the memory in use. nmd therefore lowers
 * memory.max only after the policy has taken memory back. */
static void test_a_slice_limit_below_the_use_is_set_later(void **state)
{
    struct manager_fixture *w = *state;

    assert_slice_max(w, 800);
    in_use(w, 500);
    reload(w, "[node]\nmemory = 400M\n");
    assert_int_equal(w->m->settings.capacity.memory_bytes, 400 * MIB);
    assert_slice_max(w, 800);
    in_use(w, 401);
    assert_slice_max(w, 800);
    in_use(w, 400);
    assert_slice_max(w, 400);
}

static void test_a_slice_limit_above_the_use_is_set_immediately(void **state)
{
    struct manager_fixture *w = *state;

    in_use(w, 300);
    reload(w, "[node]\nmemory = 400M\n");
    assert_slice_max(w, 400);
    in_use(w, 700); /* in_use includes the memory that the rest of the system uses, so it may exceed the new limit */
    reload(w, "[node]\nmemory = 600M\n");
    assert_slice_max(w, 600);
}

/* ---- the CPU weight of the helper's cgroup ------------------------------------ */

static struct {
    unsigned n;
    int result;
} placed;

static void on_placed(int result, const char *message, void *userdata)
{
    assert_ptr_equal(userdata, &placed);
    assert_true((result < 0) == (message != NULL));
    placed.n++;
    placed.result = result;
}

static void assert_helper_weight(struct manager_fixture *w, const char *expected)
{
    char text[32];

    manager_fixture_settle(w);
    assert_int_equal(nm_read_file_at(w->m->backend->slice_fd, "../nmtest_shuffle.scope/cpu.weight", text, sizeof text,
                                     NULL), 0);
    assert_string_equal(text, expected);
}

/* The helper's share of the slice's CPU weight is half of the share of a container with one CPU. */
static void test_the_cpu_weight_of_a_helper_follows_the_size_of_the_node(void **state)
{
    struct manager_fixture *w = *state;

    placed.n = 0;
    assert_int_equal(nm_write_file_at(w->m->backend->slice_fd, "cpu.weight", "200\n"), 0);
    nm_fake_fail_next(w->m->backend, NM_FAKE_ATTACH_HELPER, -EACCES);
    assert_int_equal(nm_manager_attach_helper(w->m, "shuffle", getpid(), on_placed, &placed), 0);
    manager_fixture_settle(w);
    assert_int_equal(placed.n, 1);
    assert_int_equal(placed.result, -EACCES);
    assert_int_equal(nm_manager_attach_helper(w->m, "shuffle", getpid(), on_placed, &placed), 0);
    assert_helper_weight(w, "25");
    assert_int_equal(placed.n, 2);
    assert_int_equal(placed.result, 0);
    assert_int_equal(nm_write_file_at(w->m->backend->slice_fd, "cpu.weight", "100\n"), 0);
    reload(w, "[node]\nsystem-reserved-vcores = 3\n");
    assert_helper_weight(w, "50");
    reload(w, "[node]\nvcores = 8\n"); /* one vcore is half a CPU here */
    assert_helper_weight(w, "6");
    nm_fake_set_feature(w->m->backend, NM_CGROUP_CPU_WEIGHT, "a test");
    assert_false(nm_manager_can_attach_helper(w->m));
    assert_int_equal(nm_manager_attach_helper(w->m, "shuffle", getpid(), on_placed, &placed), -EOPNOTSUPP);
}

/* ---- the size that an upstream requests -------------------------------------- */

/* The slice's memory.max is raised to the size that the upstream requests, up to the host's memory. nmd doesn't lower
 * it below the memory in use. */
static void test_the_slice_limit_follows_the_size_that_an_upstream_requests(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_status s;

    reload(w, "[node]\nmemory = 400M\n");
    assert_slice_max(w, 400);
    nm_manager_set_size(w->m, 600 * MIB, 4);
    manager_fixture_settle(w);
    assert_slice_max(w, 600);
    reload(w, "[node]\nmemory = 400M\n[queue]\nmax-length = 7\n");
    assert_slice_max(w, 600);
    nm_manager_set_size(w->m, 5000 * MIB, 4);
    manager_fixture_settle(w);
    nm_manager_get_status(w->m, &s);
    assert_int_equal(s.configured.memory_bytes, 400 * MIB);
    assert_int_equal(s.capacity.memory_bytes, (1000 - 256) * MIB); /* the smallest memory reserve of the system */
    assert_slice_max(w, 1000 - 256);
    assert_non_null(strstr(s.notes[s.n_notes - 1], "expects 4.9 GiB"));

    nm_manager_set_size(w->m, 100 * MIB, 1);
    manager_fixture_settle(w);
    assert_slice_max(w, 400);
    assert_int_equal(w->m->settings.offered.memory_bytes, 100 * MIB);
    assert_int_equal(w->m->settings.offered.cpu_millicores, 1000);
    nm_manager_get_status(w->m, &s);
    assert_int_equal(s.offered.memory_bytes, 100 * MIB);
    assert_int_equal(s.offered_vcores_milli, 1000);
    assert_int_equal(s.capacity.memory_bytes, 400 * MIB);
    nm_manager_set_size(w->m, 0, 0);
    assert_int_equal(w->m->settings.offered.memory_bytes, 400 * MIB);
    nm_manager_get_status(w->m, &s);
    assert_int_equal(s.offered.memory_bytes, 400 * MIB);

    /* At the start nmd accepted the configured memory with a smaller reserve. An upstream that requests exactly this
     * size gets it, too. */
    reload(w, "[node]\nmemory = 800M\n");
    nm_manager_set_size(w->m, 800 * MIB, 2);
    manager_fixture_settle(w);
    nm_manager_get_status(w->m, &s);
    assert_int_equal(s.configured.memory_bytes, 800 * MIB);
    assert_int_equal(s.capacity.memory_bytes, 800 * MIB);
}

/* ---- vcores ------------------------------------------------------------------ */

static const char *const argv_of_all[] = {"/bin/true", NULL};

static uint64_t millicores(const struct manager_fixture *w, const char *name)
{
    const struct nm_live_container *l = manager_fixture_find(w, name);

    assert_non_null(l);
    assert_int_equal(l->c->vcores_milli, 1000);
    return l->c->view.request.cpu_millicores;
}

/* After a change of the vcores, a waiting or running container has the same CPU shares as a new container that requests
 * as many vcores. */
static void test_a_changed_number_of_vcores_changes_the_cpu_shares(void **state)
{
    struct manager_fixture *w = *state;
    const struct nm_live_container *runs;

    runs = manager_fixture_add(w, "runs", NM_GUARANTEED, NM_RUNNING);
    (void)manager_fixture_submit(w, "waits", NM_OPPORTUNISTIC, argv_of_all);
    assert_int_equal(millicores(w, "waits"), 1000);
    assert_file(runs, "cpu.weight", "2500");
    reload(w, "[node]\nvcores = 8\n");
    assert_int_equal(millicores(w, "waits"), 500);
    assert_int_equal(millicores(w, "runs"), 500);
    assert_file(runs, "cpu.weight", "1250");
    manager_fixture_node(w, 1000, 2);
    assert_int_equal(nm_sample_all(w->m, false), 0);
    nm_settings_follow_node(w->m);
    assert_int_equal(millicores(w, "waits"), 250);
    assert_int_equal(millicores(w, "runs"), 250);
    reload(w, "");
    assert_int_equal(millicores(w, "waits"), 1000);
    assert_int_equal(millicores(w, "runs"), 1000);
}

/* The timers and watches that exist already use the new values. */
static void test_a_reload_changes_timers_and_watches(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_problem problem;
    uint64_t due;

    manager_fixture_start(w);
    reload(w, "[sampling]\nperiod = 7s\nhistory = 20min\npressure-stall = 100ms\n");
    assert_int_equal(w->m->config->period_usec, 7 * NM_USEC_PER_SEC);
    assert_true(sd_event_source_get_time(w->m->timers.sample, &due) >= 0);
    assert_true(due == w->m->timers.sample_due_usec);
    assert_in_range(due, nm_now_usec(), nm_now_usec() + 7 * NM_USEC_PER_SEC);
    manager_fixture_configure(w, "[sampling]\nperiod = never\n");
    (void)nm_manager_reload(w->m, &problem);
}

/* The journal, or the snapshot that replaces it, contains the number of vcores that a former nmd used. */
static void test_vcores_changed_while_nmd_was_stopped_change_the_cpu_shares(void **state)
{
    struct manager_fixture *w = *state;

    manager_fixture_configure(w, "[node]\nvcores = 4\n");
    manager_fixture_restart(w);
    (void)manager_fixture_submit(w, "waits", NM_OPPORTUNISTIC, argv_of_all);
    manager_fixture_node(w, 1000, 2);
    manager_fixture_restart(w);
    assert_int_equal(millicores(w, "waits"), 500);
    nm_persist_snapshot_waiting(manager_fixture_find(w, "waits"));
    w->m = nm_manager_free(w->m);
    fake_tree_unlink(&w->tree, "state/nmd.db");
    manager_fixture_node(w, 1000, 8);
    manager_fixture_restart(w);
    assert_int_equal(millicores(w, "waits"), 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_slice_limit_below_the_use_is_set_later,
                                        manager_fixture_set_up, manager_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_a_slice_limit_above_the_use_is_set_immediately, manager_fixture_set_up,
                                        manager_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_the_cpu_weight_of_a_helper_follows_the_size_of_the_node,
                                        manager_fixture_set_up, manager_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_the_slice_limit_follows_the_size_that_an_upstream_requests,
                                        manager_fixture_set_up, manager_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_a_changed_number_of_vcores_changes_the_cpu_shares, manager_fixture_set_up,
                                        manager_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_a_reload_changes_timers_and_watches,
                                        manager_fixture_set_up, manager_fixture_tear_down),
        cmocka_unit_test_setup_teardown(test_vcores_changed_while_nmd_was_stopped_change_the_cpu_shares,
                                        manager_fixture_set_up, manager_fixture_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
