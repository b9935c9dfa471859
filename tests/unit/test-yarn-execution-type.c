/* SPDX-License-Identifier: Apache-2.0 */

/* The execution type of a container in heartbeats, in registrations, and in the answers to the application master. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/reinit-fixture.h"

static int32_t type_in_heartbeat(struct reinit_fixture *o)
{
    Yarn__NodeStatus status = YARN__NODE_STATUS__INIT;
    struct nm_arena arena;
    int32_t type;

    nm_arena_init(&arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_report(o->n, &arena, &status), 0);
    assert_int_equal(status.n_containers, 1);
    type = status.containers[0]->execution_type;
    nm_arena_done(&arena);
    return type;
}

static void assert_type_elsewhere(struct reinit_fixture *o, int32_t type)
{
    Yarn__RegisterRequest request = YARN__REGISTER_REQUEST__INIT;
    struct nm_arena arena;

    assert_int_equal(container_status(o, &arena)->execution_type, type);
    nm_arena_done(&arena);
    nm_arena_init(&arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_report_all(o->n, &arena, &request), 0);
    assert_int_equal(request.n_containers, 1);
    assert_int_equal(request.containers[0]->execution_type, type);
    nm_arena_done(&arena);
}

/* A heartbeat reports an opportunistic container as guaranteed until the container has ended, since the ResourceManager
 * would otherwise regard it as lost. Application masters and registrations get the real execution type. */
static void test_only_heartbeats_report_an_opportunistic_container_as_guaranteed(void **state)
{
    enum { GUARANTEED = 1, OPPORTUNISTIC = 2 };
    struct reinit_fixture o;

    start_container(&o, *state, true, SLEEPS);
    assert_int_equal(type_in_heartbeat(&o), GUARANTEED);
    assert_type_elsewhere(&o, OPPORTUNISTIC);
    assert_int_equal(nm_yarn_node_stop(o.n, &o.ids.container, NM_YARN_KILLED_BY_RM, "Away.", &o.why), 0);
    assert_int_equal(type_in_heartbeat(&o), GUARANTEED);
    wait_for_end(&o, true);
    assert_int_equal(type_in_heartbeat(&o), OPPORTUNISTIC);
    assert_type_elsewhere(&o, OPPORTUNISTIC);
    nm_yarn_node_free(o.n);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_launcher_set_up, manager_fixture_tear_down_real)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_only_heartbeats_report_an_opportunistic_container_as_guaranteed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
