/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Exit codes of starts that this node refuses, on a whole manager. The code decides what the cluster does next: a
 * container whose end doesn't count as a failure is requested again at once.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "tests/unit/fake-launcher.h"
#include "tests/unit/yarn-starts.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, manager_world_tear_down_real)

static int set_up(void **state)
{
    if (manager_world_set_up_real(state) < 0)
        return -1;
    fake_launcher_reset();
    manager_world_start(*state);
    return 0;
}

/* Expects that the start is refused with this code and message. Acknowledges the end. */
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

/* A container that never fits counts as a failure for both types. With -108 it wouldn't count and would be requested
 * again with the next heartbeat. */
static void test_a_container_larger_than_the_node_fails(void **state)
{
    struct nm_yarn_node *n = fake_launcher_node(*state);
    struct wanted a;

    want(&a, 1, 5000, true, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "larger than the node");
    want(&a, 2, 5000, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "larger than the node");
    assert_int_equal(fake_launcher.n_no_room, 0); /* other containers may fit */
    nm_yarn_node_free(n);
}

/* A temporary lack of room doesn't count as a failure of the opportunistic container, unless the ResourceManager
 * knows of it and sends the container nevertheless. */
static void test_a_temporary_lack_of_room_is_no_failure(void **state)
{
    struct manager_world *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct wanted a;

    w->m->settings.queue_max_length = 0;
    want(&a, 1, 64, true, 0);
    assert_ends(n, &a, NM_YARN_KILLED_BY_NODE, "queue");
    assert_int_equal(fake_launcher.n_no_room, 1);
    fake_launcher.sent_all_the_same = true;
    want(&a, 2, 64, true, 0);
    assert_ends(n, &a, NM_YARN_INVALID,
                "The ResourceManager has been informed that there is no room and continues to send");
    nm_yarn_node_free(n);
}

/* Without a good directory a start counts as a failure until the ResourceManager knows that the node is unhealthy.
 * Ends that don't count would lead to new requests at once, without a limit. */
static void test_without_a_good_directory_a_start_fails(void **state)
{
    struct nm_yarn_node *n = fake_launcher_node(*state);
    struct wanted a;

    fake_launcher.no_dirs = "No directory is good";
    want(&a, 1, 64, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "No directory is good. The ResourceManager is informed with the node's next");
    nm_yarn_node_set_out(n, true);
    want(&a, 2, 64, false, 0);
    assert_ends(n, &a, NM_YARN_DISKS_FAILED, "No directory is good");
    nm_yarn_node_set_out(n, false);
    want(&a, 3, 64, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "counts as a failure");
    nm_yarn_node_free(n);
}

/* The only limit of the node that the ResourceManager can know is the lack of room for opportunistic containers. */
static void test_only_a_lack_of_room_is_a_limit_of_the_node(void **state)
{
    struct manager_world *w = *state;
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
    fake_launcher.sent_all_the_same = true;
    want(&a, 6, 64, true, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "as many as max-containers allows. Try again when some have ended. The "
                "ResourceManager has been informed that there is no room");
    fake_launcher.sent_all_the_same = false;
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

/* Refusals of a draining node don't count as failures only if the ResourceManager sends no more containers, or soon
 * stops sending them. */
static void test_a_refusal_of_a_draining_node_counts_by_its_cause(void **state)
{
    struct manager_world *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct wanted a, first;

    w->m->drain.is_on = true;
    want(&a, 1, 64, false, 0);
    assert_ends(n, &a, NM_YARN_ABORTED, "The node is draining"); /* the next heartbeats report an unhealthy node */
    want(&a, 2, 64, true, 0);
    assert_ends(n, &a, NM_YARN_KILLED_BY_NODE, "The node is draining");
    w->m->drain.is_on = false;
    want(&first, 3, 64, true, 0);
    assert_int_equal(start(n, &first, "true", &why), 0);
    w->m->drain.is_on = true;
    want(&a, 4, 64, false, 0); /* with opportunistic containers only, the node can't report that it has no room */
    assert_ends(n, &a, NM_YARN_INVALID, "still counts on its resources");
    nm_yarn_node_set_out(n, true);
    want(&a, 6, 64, false, 0);
    assert_ends(n, &a, NM_YARN_ABORTED, "doesn't count as a failure");
    nm_yarn_node_set_out(n, false);
    w->m->drain.is_on = false;
    want(&first, 7, 64, false, 0);
    assert_int_equal(start(n, &first, "true", &why), 0);
    w->m->drain.is_on = true;
    want(&a, 8, 64, false, 0);
    assert_ends(n, &a, NM_YARN_ABORTED, "doesn't count as a failure");
    nm_yarn_node_set_counted_on(n, true);
    want(&a, 9, 64, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "counts as a failure");
    nm_yarn_node_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_container_larger_than_the_node_fails),
        TEST(test_a_temporary_lack_of_room_is_no_failure),
        TEST(test_without_a_good_directory_a_start_fails),
        TEST(test_only_a_lack_of_room_is_a_limit_of_the_node),
        TEST(test_a_refusal_of_a_draining_node_counts_by_its_cause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
