/* SPDX-License-Identifier: Apache-2.0 */

/* A whole node and its ResourceManager: the health that the node reports when no container can be started on it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "tests/unit/tracker-world.h"
#include "tests/unit/yarn-starts.h"
#include "util/clock.h"
#include "yarn/launch/launcher-state.h"
#include "yarn/node/node-state.h"
#include "yarn/yarn-state.h"

static bool is_unhealthy(const struct tracker_world *w)
{
    return !w->healthy;
}

static bool is_healthy(const struct tracker_world *w)
{
    return w->healthy;
}

static void assert_begins(const char *text, const char *words)
{
    if (strncmp(text, words, strlen(words)) != 0)
        fail_msg("'%s' doesn't begin with '%s'", text, words);
}

/* ---- directories -------------------------------------------------------------------------- */

/* The last local directory has failed, and a container has failed because of it. The ResourceManager gets this with
 * the next heartbeat, without the two minutes between checks of the disks and without the time for which bad health
 * has to last. */
static void test_a_node_without_a_directory_is_unhealthy(void **state)
{
    struct tracker_world *w = *state;
    char path[300], elsewhere[300];
    uint64_t began_usec;

    tracker_join(w);
    tracker_run_beats(w, 2);
    assert_true(w->healthy);
    assert_false(w->yarn->services->node->is_out);
    (void)snprintf(path, sizeof path, "%s/local", w->node->tree.path);
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", w->node->tree.path);
    assert_int_equal(rename(path, elsewhere), 0);
    began_usec = nm_now_usec();
    nm_yarn_dirs_doubt(&w->yarn->services->launcher->local);
    tracker_run_until(w, is_unhealthy);
    assert_in_range(nm_now_usec() - began_usec, 0, NM_REPORT_UNHEALTHY_USEC - 1);
    assert_begins(w->health, "0 of 1 yarn.nodemanager.local-dirs are good; ");
    tracker_run_beats(w, 2);
    assert_true(w->yarn->services->node->is_out);
    assert_int_equal(rename(elsewhere, path), 0);
    nm_yarn_dirs_doubt(&w->yarn->services->launcher->local);
    tracker_run_until(w, is_healthy);
    tracker_run_beats(w, 2);
    assert_false(w->yarn->services->node->is_out);
    assert_int_equal(w->registrations, 1);
}

/* ---- draining ----------------------------------------------------------------------------- */

static void start_one(struct tracker_world *w, struct wanted *a, int64_t number, int64_t mib, bool opportunistic)
{
    struct nm_exception why;

    want(a, number, mib, opportunistic, 0);
    if (start(w->yarn->services->node, a, "true", &why) != 0)
        fail_msg("%s", why.message);
}

/* Returns the exit status of a container that has ended, and 0 before its end. */
static int32_t end_of(struct tracker_world *w, const struct wanted *a)
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

static void stop(struct tracker_world *w, const struct wanted *a)
{
    struct nm_exception why;

    assert_int_equal(nm_yarn_node_stop(w->yarn->services->node, &a->ids.container, NM_YARN_KILLED_BY_MASTER, "Enough.",
                                       &why), 0);
}

static void run_until_registered(struct tracker_world *w, unsigned n)
{
    while (w->registrations < n)
        tracker_run_beats(w, 1);
    tracker_run_beats(w, 1);
    assert_int_equal(w->registrations, n);
}

static void join_with_one(struct tracker_world *w, struct wanted *a)
{
    assert_int_equal(chmod(w->node->tree.path, 0755), 0); /* the container's user needs to traverse it */
    tracker_join(w);
    tracker_run_beats(w, 2);
    assert_int_equal(w->offered_mib, 800);
    start_one(w, a, 1, 256, false);
    w->node->m->drain.is_on = true; /* as by nmctl, but accepted containers stay */
}

/* A draining node with containers offers only their memory and stays healthy, since an unhealthy node's containers
 * are killed. Without containers it is unhealthy. Containers that arrive meanwhile are sent back and don't count as
 * failed. */
static void test_a_draining_node_offers_only_used_memory(void **state)
{
    struct tracker_world *w = *state;
    struct wanted a, b, c;

    join_with_one(w, &a);
    start_one(w, &b, 2, 64, false);
    assert_int_equal(end_of(w, &b), NM_YARN_ABORTED); /* the ResourceManager doesn't know of it yet */
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
    assert_int_equal(w->registrations, 2); /* the ResourceManager shuts down a node without memory */
    w->node->m->drain.is_on = false;
    run_until_registered(w, 3);
    assert_int_equal(w->offered_mib, 800);
    assert_true(w->healthy);
}

/* The node reports the end of its last container before it becomes unhealthy. Without containers it becomes
 * unhealthy at once. */
static void test_an_empty_draining_node_is_unhealthy(void **state)
{
    struct tracker_world *w = *state;
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
    assert_string_equal(tracker_shown(w).unhealthy, w->health); /* the state that the ResourceManager knows */
    assert_string_equal(tracker_shown(w).state, "running");
    assert_int_equal(w->registrations, 1);
    w->node->m->drain.is_on = false;
    tracker_run_until(w, is_healthy);
    tracker_run_beats(w, 2);
    assert_string_equal(tracker_shown(w).unhealthy, "");
}

/* A ResourceManager with its own size for the node keeps sending containers: their refusals must count as failures. */
static void test_a_draining_node_refuses_further_containers(void **state)
{
    struct tracker_world *w = *state;
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
        TEST(test_a_node_without_a_directory_is_unhealthy),
        TEST(test_a_draining_node_offers_only_used_memory),
        TEST(test_an_empty_draining_node_is_unhealthy),
        TEST(test_a_draining_node_refuses_further_containers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
