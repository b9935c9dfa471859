/* SPDX-License-Identifier: Apache-2.0 */

/* A whole node and its ResourceManager: what the node says of itself when no container can be started on it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "rpc/yarn/launch/launcher-state.h"
#include "rpc/yarn/node/node-state.h"
#include "rpc/yarn/yarn-state.h"
#include "tests/unit/tracker-world.h"
#include "util/clock.h"

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

/* The last local directory has gone, and a container has failed of it. The ResourceManager hears of that with the next
 * heartbeat: not after the two minutes from one look at the disks to the next, nor after those for which bad health has
 * to last. */
static void test_no_directory(void **state)
{
    struct tracker_world *w = *state;
    char path[300], elsewhere[300];
    uint64_t began_usec;

    tracker_join(w);
    tracker_run_beats(w, 2);
    assert_true(w->healthy);
    assert_false(w->yarn->hosting->node->is_out);
    (void)snprintf(path, sizeof path, "%s/local", w->node->tree.path);
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", w->node->tree.path);
    assert_int_equal(rename(path, elsewhere), 0);
    began_usec = nm_now_usec();
    nm_yarn_dirs_doubt(&w->yarn->hosting->launcher->local);
    tracker_run_until(w, is_unhealthy);
    assert_in_range(nm_now_usec() - began_usec, 0, NM_REPORT_UNHEALTHY_USEC - 1);
    assert_begins(w->health, "0 of 1 yarn.nodemanager.local-dirs are good; ");
    tracker_run_beats(w, 2);
    assert_true(w->yarn->hosting->node->is_out);
    assert_int_equal(rename(elsewhere, path), 0);
    nm_yarn_dirs_doubt(&w->yarn->hosting->launcher->local);
    tracker_run_until(w, is_healthy);
    tracker_run_beats(w, 2);
    assert_false(w->yarn->hosting->node->is_out);
    assert_int_equal(w->registrations, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tracker_set_up, tracker_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_no_directory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
