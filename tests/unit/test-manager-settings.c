/* SPDX-License-Identifier: Apache-2.0 */

/* agent/manager/manager-settings.c on the fake backend: a configuration or a node that changes under containers. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/manager/manager-settings.h"
#include "tests/unit/manager-world.h"
#include "util/fileio.h"

static void reload(struct manager_world *w, const char *text)
{
    struct nm_problem problem = {0};

    manager_world_configure(w, text);
    assert_int_equal(nm_manager_reload(w->m, &problem), 0);
    manager_world_settle(w);
}

/* ---- the slice's limit ------------------------------------------------------- */

static void assert_slice_max(const struct manager_world *w, uint64_t mib)
{
    char text[32];

    assert_int_equal(nm_read_file_at(w->m->backend->slice_fd, "memory.max", text, sizeof text, NULL), 0);
    assert_int_equal(strtoull(text, NULL, 10), mib * MIB);
}

static void in_use(struct manager_world *w, uint64_t mib)
{
    w->m->verdict.in_use.memory_bytes = mib * MIB;
    nm_settings_follow_node(w->m); /* as after each sample */
    manager_world_settle(w);
}

/* Below what is held the kernel kills at once: the policy takes back first, whom it finds right. */
static void test_a_limit_below_use_waits(void **state)
{
    struct manager_world *w = *state;

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

static void test_a_limit_above_use_is_set_at_once(void **state)
{
    struct manager_world *w = *state;

    in_use(w, 300);
    reload(w, "[node]\nmemory = 400M\n");
    assert_slice_max(w, 400);
    in_use(w, 700); /* with what the rest of the system uses */
    reload(w, "[node]\nmemory = 600M\n");
    assert_slice_max(w, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_limit_below_use_waits, manager_world_set_up, manager_world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_limit_above_use_is_set_at_once, manager_world_set_up,
                                        manager_world_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
