/* SPDX-License-Identifier: Apache-2.0 */

/* A complete node and its ResourceManager: the health that the node reports when it can start no container. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "tests/unit/tracker-fixture.h"
#include "tests/unit/yarn-starts.h"
#include "util/clock.h"
#include "yarn/launch/launcher-state.h"
#include "yarn/node/node-state.h"
#include "yarn/yarn-state.h"

static bool is_unhealthy(const struct tracker_fixture *w)
{
    return !w->healthy;
}

static bool is_healthy(const struct tracker_fixture *w)
{
    return w->healthy;
}

static void assert_begins(const char *text, const char *words)
{
    if (strncmp(text, words, strlen(words)) != 0)
        fail_msg("'%s' doesn't begin with '%s'", text, words);
}

/* ---- directories that have failed --------------------------------------------------------- */

/* The last local directory has failed, and a container has failed for this reason. The node reports its bad health with
 * the next heartbeat. It doesn't wait for the next check of the disks, which takes place every two minutes, nor for the
 * time for which other causes of bad health must last. */
static void test_a_node_without_a_good_directory_is_unhealthy(void **state)
{
    struct tracker_fixture *w = *state;
    char path[300], elsewhere[300];
    uint64_t began_usec;

    tracker_join(w);
    tracker_run_beats(w, 2);
    assert_true(w->healthy);
    assert_false(w->yarn->services->node->reported_unhealthy);
    (void)snprintf(path, sizeof path, "%s/local", w->node->tree.path);
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", w->node->tree.path);
    assert_int_equal(rename(path, elsewhere), 0);
    began_usec = nm_now_usec();
    nm_yarn_dirs_schedule_check(&w->yarn->services->launcher->local);
    tracker_run_until(w, is_unhealthy);
    assert_in_range(nm_now_usec() - began_usec, 0, NM_YARN_HEARTBEAT_UNHEALTHY_USEC - 1);
    assert_begins(w->health, "1/1 local-dirs have errors:  [ ");
    tracker_run_beats(w, 2);
    assert_true(w->yarn->services->node->reported_unhealthy);
    assert_int_equal(rename(elsewhere, path), 0);
    nm_yarn_dirs_schedule_check(&w->yarn->services->launcher->local);
    tracker_run_until(w, is_healthy);
    tracker_run_beats(w, 2);
    assert_false(w->yarn->services->node->reported_unhealthy);
    assert_int_equal(w->registrations, 1);
}

/* ---- draining nodes ----------------------------------------------------------------------- */

static void start_one(struct tracker_fixture *w, struct wanted *a, int64_t number, int64_t mib, bool opportunistic)
{
    struct nm_exception why;

    want(a, number, mib, opportunistic, 0);
    if (start(w->yarn->services->node, a, "true", &why) != 0)
        fail_msg("%s", why.message);
}

/* Returns the exit status of a container that has ended, or 0 while the container has not ended. */
static int32_t end_of(struct tracker_fixture *w, const struct wanted *a)
{
    Yarn__ContainerStatus *s = NULL;
    struct nm_exception why;
    struct nm_arena arena;
    int32_t code;

    nm_arena_init(&arena, 1 << 16, NULL);
    assert_int_equal(nm_yarn_node_status(w->yarn->services->node, &a->ids.container, &arena, &s, &why), 0);
    code = s->state == 3 ? s->exit_status : 0;
    nm_arena_done(&arena);
    return code;
}

static void stop(struct tracker_fixture *w, const struct wanted *a)
{
    struct nm_exception why;

    assert_int_equal(nm_yarn_node_stop(w->yarn->services->node, &a->ids.container, NM_YARN_KILLED_BY_MASTER, "Enough.",
                                       &why), 0);
}

static void run_until_registered(struct tracker_fixture *w, unsigned n)
{
    while (w->registrations < n)
        tracker_run_beats(w, 1);
    tracker_run_beats(w, 1);
    assert_int_equal(w->registrations, n);
}

static void join_with_one(struct tracker_fixture *w, struct wanted *a)
{
    /* the container's user must be able to traverse this directory */
    assert_int_equal(chmod(w->node->tree.path, 0755), 0);
    tracker_join(w);
    tracker_run_beats(w, 2);
    assert_int_equal(w->offered_mib, 800);
    start_one(w, a, 1, 256, false);
    /* as nmctl drain requests, except that containers which the node has accepted stay */
    w->node->m->drain.is_on = true;
}

/* A draining node with containers offers only their memory. It stays healthy, since the ResourceManager kills the
 * containers of an unhealthy node. Without containers, the draining node is unhealthy. Containers that arrive meanwhile
 * are sent back, and don't count as failed. */
static void test_a_draining_node_offers_only_the_memory_of_its_containers(void **state)
{
    struct tracker_fixture *w = *state;
    struct wanted a, b, c;

    join_with_one(w, &a);
    start_one(w, &b, 2, 64, false);
    assert_int_equal(end_of(w, &b), NM_YARN_ABORTED); /* the ResourceManager doesn't know of this container yet */
    run_until_registered(w, 2);
    assert_int_equal(w->offered_mib, 256);
    assert_true(w->healthy);
    start_one(w, &c, 3, 64, false);
    assert_int_equal(end_of(w, &c), NM_YARN_ABORTED);
    tracker_run_beats(w, 3);
    assert_true(w->healthy);
    assert_int_equal(end_of(w, &a), 0);
    stop(w, &a);
    tracker_run_until(w, is_unhealthy);
    assert_begins(w->health, "draining: ");
    assert_int_equal(end_of(w, &a), NM_YARN_KILLED_BY_MASTER);
    assert_int_equal(w->registrations, 2); /* the ResourceManager would shut down a node without memory */
    w->node->m->drain.is_on = false;
    run_until_registered(w, 3);
    assert_int_equal(w->offered_mib, 800);
    assert_true(w->healthy);
}

/* The node reports the end of its last container before it reports bad health. If it has no container when draining
 * begins, it becomes unhealthy immediately. */
static void test_an_empty_draining_node_is_unhealthy(void **state)
{
    struct tracker_fixture *w = *state;
    struct wanted a;

    tracker_join(w);
    tracker_run_beats(w, NM_YARN_EMPTY_BEATS);
    w->node->m->drain.is_on = true;
    start_one(w, &a, 1, 64, false);
    assert_int_equal(end_of(w, &a), NM_YARN_ABORTED);
    tracker_run_until(w, is_unhealthy);
    assert_begins(w->health, "draining: ");
    tracker_run_beats(w, 3);
    assert_false(w->healthy);
    /* the state of the container that the ResourceManager knows */
    assert_string_equal(tracker_shown(w).unhealthy, w->health);
    assert_string_equal(tracker_shown(w).state, "running");
    assert_int_equal(w->registrations, 1);
    w->node->m->drain.is_on = false;
    tracker_run_until(w, is_healthy);
    tracker_run_beats(w, 2);
    assert_string_equal(tracker_shown(w).unhealthy, "");
}

/* A ResourceManager that uses its own value for the node's size ignores the smaller size that a draining node offers,
 * and keeps sending containers. Each container that the node refuses must count as failed. */
static void test_a_draining_node_refuses_further_containers(void **state)
{
    struct tracker_fixture *w = *state;
    struct wanted a, b;

    join_with_one(w, &a);
    w->memory_mib = 600;
    run_until_registered(w, 2);
    assert_int_equal(w->offered_mib, 256);
    start_one(w, &b, 2, 64, false);
    assert_int_equal(end_of(w, &b), NM_YARN_INVALID);
    stop(w, &a);
    tracker_run_until(w, is_unhealthy);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tracker_set_up, tracker_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_node_without_a_good_directory_is_unhealthy),
        TEST(test_a_draining_node_offers_only_the_memory_of_its_containers),
        TEST(test_an_empty_draining_node_is_unhealthy),
        TEST(test_a_draining_node_refuses_further_containers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
