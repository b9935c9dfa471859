/* SPDX-License-Identifier: Apache-2.0 */

/* agent/manager/ on the fake backend: what the kernel is told to hold, when that changes at an awkward moment. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/manager/manager-limits.h"
#include "agent/manager/manager-round.h"
#include "cgroup/backend-fake.h"
#include "tests/unit/manager-world.h"

/* ---- squeeze --------------------------------------------------------------- */

static void squeeze(struct manager_world *w, uint64_t millicores)
{
    struct nm_policy_verdict v = {.squeeze_millicores = millicores, .squeeze_reason = NM_REASON_CPU_OVER_BETA};

    nm_limits_squeeze(w->m, &v);
    manager_world_settle(w);
}

/* It runs again when the squeeze is over, and nobody would look at it then. */
static void test_what_is_paused_is_let_go_with_the_others(void **state)
{
    struct manager_world *w = *state;
    struct nm_live *runs = manager_world_add(w, "runs", NM_OPPORTUNISTIC, NM_RUNNING);
    struct nm_live *paused = manager_world_add(w, "paused", NM_OPPORTUNISTIC, NM_RUNNING);
    struct nm_live *pausing = manager_world_add(w, "pausing", NM_OPPORTUNISTIC, NM_RUNNING);

    squeeze(w, 900);
    assert_file(paused, "cpu.max", "30000 100000");
    paused->c->view.state = NM_PAUSED;
    pausing->c->view.state = NM_PAUSING;
    squeeze(w, 600);
    assert_file(runs, "cpu.max", "60000 100000");
    assert_file(paused, "cpu.max", "30000 100000");
    squeeze(w, NM_NO_SQUEEZE);
    assert_file(runs, "cpu.max", "max 100000");
    assert_file(paused, "cpu.max", "max 100000");
    assert_file(pausing, "cpu.max", "max 100000");
}

/* The dying are hastened: neither a quota nor the idle class comes back over them. */
static void test_what_is_killed_stays_hastened(void **state)
{
    struct manager_world *w = *state;
    struct nm_live *l = manager_world_add(w, "dies", NM_OPPORTUNISTIC, NM_RUNNING);

    squeeze(w, 500);
    l->c->view.state = NM_KILLING;
    nm_cgroup_hasten(l->cg);
    squeeze(w, NM_NO_SQUEEZE);
    assert_file(l, "cpu.idle", "0");
}

/* ---- promises ---------------------------------------------------------------- */

static uint64_t slice_low(const struct manager_world *w)
{
    uint64_t is = 1;

    assert_int_equal(nm_cgroup_slice_read_low(w->m->backend, &is), 0);
    return is;
}

/* Once for all that changed, however many they are: in the round that they ask for. */
static void test_the_slice_follows_in_the_round(void **state)
{
    struct manager_world *w = *state;
    struct nm_live *l[] = {manager_world_add(w, "one", NM_OPPORTUNISTIC, NM_RUNNING),
                           manager_world_add(w, "two", NM_OPPORTUNISTIC, NM_RUNNING)};
    unsigned calls = nm_fake_n_calls(w->m->backend, NM_FAKE_SET_SLICE_LIMITS);

    for (size_t i = 0; i < NM_ARRAY_SIZE(l); i++)
        assert_int_equal(nm_manager_promote(w->m, &(struct nm_caller){.admin = true}, l[i]->c->id,
                                            &(struct nm_problem){0}), 0);
    assert_true(w->m->kicks != 0);
    nm_round_kicked(w->m);
    manager_world_settle(w);
    assert_int_equal(slice_low(w), 128 * MIB);
    assert_int_equal(nm_fake_n_calls(w->m->backend, NM_FAKE_SET_SLICE_LIMITS), calls + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_paused_is_let_go_with_the_others, manager_world_set_up,
                                        manager_world_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_killed_stays_hastened, manager_world_set_up,
                                        manager_world_tear_down),
        cmocka_unit_test_setup_teardown(test_the_slice_follows_in_the_round, manager_world_set_up,
                                        manager_world_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
