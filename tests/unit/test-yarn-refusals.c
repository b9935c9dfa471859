/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Exit codes of containers whose start this node refuses, on a complete manager. The exit code decides what the
 * application master does next. A container whose end doesn't count as a failure is immediately requested again.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "tests/unit/fake-launcher.h"
#include "tests/unit/yarn-starts.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_launcher_set_up, manager_fixture_tear_down_real)

/* Checks that the start is refused with this exit code and message. Acknowledges the end of the container. */
static void assert_ends(struct nm_yarn_node *n, struct wanted *a, int32_t code, const char *words)
{
    Yarn__ContainerStatus *s = NULL;
    struct nm_exception why;
    struct nm_arena arena;

    nm_arena_init(&arena, 1 << 16, NULL);
    assert_int_equal(start(n, a, "true", &why), 0);
    assert_int_equal(nm_yarn_node_status(n, &a->ids.container, &arena, &s, &why), 0);
    assert_int_equal(s->state, 3);
    assert_int_equal(s->exit_status, code);
    if (!strstr(s->diagnostics, words))
        fail_msg("'%s' isn't in '%s'", words, s->diagnostics);
    nm_arena_done(&arena);
    nm_yarn_node_acknowledge(n, &a->ids.container);
}

/* A container that can't fit on the node counts as a failure, whatever its execution type. With exit code -108 it
 * wouldn't count, and would be requested again with the next heartbeat. */
static void test_a_container_larger_than_the_node_counts_as_a_failure(void **state)
{
    struct nm_yarn_node *n = fake_launcher_node(*state);
    struct wanted a;

    want(&a, 1, 5000, true, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "larger than the node");
    want(&a, 2, 5000, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "larger than the node");
    assert_int_equal(fake_launcher.n_no_room, 0); /* smaller containers may fit */
    nm_yarn_node_free(n);
}

/* A temporary lack of room for an opportunistic container doesn't count as a failure, unless the ResourceManager knows
 * of it and sends the container all the same. */
static void test_a_temporary_lack_of_room_does_not_count_as_a_failure(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct wanted a;

    w->m->settings.queue_max_length = 0;
    want(&a, 1, 64, true, 0);
    assert_ends(n, &a, NM_YARN_KILLED_BY_NODE, "queue");
    assert_int_equal(fake_launcher.n_no_room, 1);
    fake_launcher.sent_although_full = true;
    want(&a, 2, 64, true, 0);
    assert_ends(n, &a, NM_YARN_INVALID,
                "The ResourceManager has been informed that there is no room and continues to send");
    nm_yarn_node_free(n);
}

/* Without a good directory, a start counts as a failure until the ResourceManager knows that the node is unhealthy. If
 * it didn't count, each start would immediately be requested again, without a limit. */
static void test_without_a_good_directory_a_start_counts_as_a_failure(void **state)
{
    struct nm_yarn_node *n = fake_launcher_node(*state);
    struct wanted a;

    fake_launcher.no_dirs = "No directory is good";
    want(&a, 1, 64, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "No directory is good. The ResourceManager is informed with the node's next");
    nm_yarn_node_set_reported_unhealthy(n, true);
    want(&a, 2, 64, false, 0);
    assert_ends(n, &a, NM_YARN_DISKS_FAILED, "No directory is good");
    nm_yarn_node_set_reported_unhealthy(n, false);
    want(&a, 3, 64, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "counts as a failure");
    nm_yarn_node_free(n);
}

/* The ResourceManager can know of only one limit of a node: that there is no room for opportunistic containers. */
static void test_only_a_lack_of_room_for_opportunistic_containers_is_reported(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct wanted a;

    want(&a, 1, 64, false, 0);
    assert_int_equal(start(n, &a, "true", &why), 0);
    w->m->config->max_containers = 1;
    want(&a, 2, 64, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "as many as max-containers allows. Try again when some have ended. The "
                "ResourceManager hasn't been informed of this");
    want(&a, 3, 64, true, 0);
    assert_int_equal(fake_launcher.n_no_room, 0);
    assert_ends(n, &a, NM_YARN_KILLED_BY_NODE, "as many as max-containers allows");
    assert_int_equal(fake_launcher.n_no_room, 1);
    fake_launcher.sent_although_full = true;
    want(&a, 6, 64, true, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "as many as max-containers allows. Try again when some have ended. The "
                "ResourceManager has been informed that there is no room");
    fake_launcher.sent_although_full = false;
    w->m->config->max_containers = 1000;
    w->m->ended.n_results = NM_RESULTS_MAX;
    want(&a, 4, 64, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "the maximum is 5000");
    want(&a, 5, 64, true, 0);
    assert_ends(n, &a, NM_YARN_KILLED_BY_NODE, "the maximum is 5000");
    assert_int_equal(fake_launcher.n_no_room, 3);
    w->m->ended.n_results = 0;
    nm_yarn_node_free(n);
}

/* A refusal by a draining node doesn't count as a failure if the ResourceManager sends no more containers or will soon
 * stop sending them. Otherwise it counts. */
static void test_a_refusal_by_a_draining_node_counts_if_containers_keep_arriving(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct wanted a, first;

    w->m->drain.is_on = true;
    want(&a, 1, 64, false, 0);
    /* the next heartbeats report that the node is unhealthy */
    assert_ends(n, &a, NM_YARN_ABORTED, "The node is draining");
    want(&a, 2, 64, true, 0);
    assert_ends(n, &a, NM_YARN_KILLED_BY_NODE, "The node is draining");
    w->m->drain.is_on = false;
    want(&first, 3, 64, true, 0);
    assert_int_equal(start(n, &first, "true", &why), 0);
    w->m->drain.is_on = true;
    want(&a, 4, 64, false, 0); /* if all its containers are opportunistic, the node can't report that it has no room */
    assert_ends(n, &a, NM_YARN_INVALID, "still counts on its resources");
    nm_yarn_node_set_reported_unhealthy(n, true);
    want(&a, 6, 64, false, 0);
    assert_ends(n, &a, NM_YARN_ABORTED, "doesn't count as a failure");
    nm_yarn_node_set_reported_unhealthy(n, false);
    w->m->drain.is_on = false;
    want(&first, 7, 64, false, 0);
    assert_int_equal(start(n, &first, "true", &why), 0);
    w->m->drain.is_on = true;
    want(&a, 8, 64, false, 0);
    assert_ends(n, &a, NM_YARN_ABORTED, "doesn't count as a failure");
    nm_yarn_node_set_rm_uses_full_size(n, true);
    want(&a, 9, 64, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "counts as a failure");
    nm_yarn_node_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_container_larger_than_the_node_counts_as_a_failure),
        TEST(test_a_temporary_lack_of_room_does_not_count_as_a_failure),
        TEST(test_without_a_good_directory_a_start_counts_as_a_failure),
        TEST(test_only_a_lack_of_room_for_opportunistic_containers_is_reported),
        TEST(test_a_refusal_by_a_draining_node_counts_if_containers_keep_arriving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
