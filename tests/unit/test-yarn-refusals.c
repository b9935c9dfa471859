/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Which exit code a start gets that this node refuses, on a whole manager. It decides what the cluster does next: what
 * isn't counted as a failure is tried again at once.
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

/* A start that is refused ends with this code, and says so; then it is forgotten. */
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

/* What never fits is a failure of either type: -108 isn't counted, and is asked for again with the next heartbeat. */
static void test_larger_than_the_node(void **state)
{
    struct nm_yarn_node *n = fake_launcher_node(*state);
    struct wanted a;

    want(&a, 1, 5000, true, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "larger than the node");
    want(&a, 2, 5000, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "larger than the node");
    assert_int_equal(fake_launcher.n_no_room, 0); /* others may fit */
    nm_yarn_node_free(n);
}

/* What is only too much for the moment isn't the opportunistic container's failure, unless it is sent although the
 * ResourceManager knows. */
static void test_full_for_now(void **state)
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
    assert_ends(n, &a, NM_YARN_INVALID, "The ResourceManager has heard that there is no room and goes on sending");
    nm_yarn_node_free(n);
}

/* Without a good directory a start fails, and counts, until the ResourceManager knows that the node is unhealthy: what
 * isn't counted comes back at once, and there is no limit to that. */
static void test_no_directory(void **state)
{
    struct nm_yarn_node *n = fake_launcher_node(*state);
    struct wanted a;

    fake_launcher.no_place = "No directory is good";
    want(&a, 1, 64, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "No directory is good. The ResourceManager hears of it with the node's next");
    nm_yarn_node_set_out(n, true);
    want(&a, 2, 64, false, 0);
    assert_ends(n, &a, NM_YARN_DISKS_FAILED, "No directory is good");
    nm_yarn_node_set_out(n, false);
    want(&a, 3, 64, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "counts as a failure");
    nm_yarn_node_free(n);
}

/* Of the node's own limits the ResourceManager knows nothing but that there is no room for opportunistic ones. */
static void test_limits_of_the_node(void **state)
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
                "ResourceManager doesn't know of it");
    want(&a, 3, 64, true, 0);
    assert_int_equal(fake_launcher.n_no_room, 0);
    assert_ends(n, &a, NM_YARN_KILLED_BY_NODE, "as many as max-containers allows");
    assert_int_equal(fake_launcher.n_no_room, 1);
    fake_launcher.sent_all_the_same = true;
    want(&a, 6, 64, true, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "as many as max-containers allows. Try again when some have ended. The "
                "ResourceManager has heard that there is no room");
    fake_launcher.sent_all_the_same = false;
    w->m->config->max_containers = 1000;
    w->m->ended.n_results = NM_RESULTS_MAX;
    want(&a, 4, 64, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "as many as a node keeps (5000)");
    want(&a, 5, 64, true, 0);
    assert_ends(n, &a, NM_YARN_KILLED_BY_NODE, "as many as a node keeps (5000)");
    assert_int_equal(fake_launcher.n_no_room, 3);
    w->m->ended.n_results = 0;
    nm_yarn_node_free(n);
}

/* A draining node's refusals are no failures only where the ResourceManager sends no more, or soon won't. */
static void test_draining(void **state)
{
    struct manager_world *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_exception why;
    struct wanted a, first;

    w->m->drain.is_on = true;
    want(&a, 1, 64, false, 0);
    assert_ends(n, &a, NM_YARN_ABORTED, "The node is draining"); /* it is unhealthy with the next heartbeats */
    want(&a, 2, 64, true, 0);
    assert_ends(n, &a, NM_YARN_KILLED_BY_NODE, "The node is draining");
    w->m->drain.is_on = false;
    want(&first, 3, 64, true, 0);
    assert_int_equal(start(n, &first, "true", &why), 0);
    w->m->drain.is_on = true;
    want(&a, 4, 64, false, 0); /* beside opportunistic ones alone the node can't say that it has no room */
    assert_ends(n, &a, NM_YARN_INVALID, "still counts on room here");
    nm_yarn_node_set_out(n, true);
    want(&a, 6, 64, false, 0);
    assert_ends(n, &a, NM_YARN_ABORTED, "no failure");
    nm_yarn_node_set_out(n, false);
    w->m->drain.is_on = false;
    want(&first, 7, 64, false, 0);
    assert_int_equal(start(n, &first, "true", &why), 0);
    w->m->drain.is_on = true;
    want(&a, 8, 64, false, 0);
    assert_ends(n, &a, NM_YARN_ABORTED, "no failure");
    nm_yarn_node_set_counted_on(n, true);
    want(&a, 9, 64, false, 0);
    assert_ends(n, &a, NM_YARN_INVALID, "counts as a failure");
    nm_yarn_node_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_larger_than_the_node),
        TEST(test_full_for_now),
        TEST(test_no_directory),
        TEST(test_limits_of_the_node),
        TEST(test_draining),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
