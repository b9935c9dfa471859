/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The life of an owner's container, from its preparation to the acknowledgement of its result, when nmd crashes at one
 * step. The journal, the shims and the commands are real. The next nmd finds the data that the journal contained at the
 * crash, receives the same requests again, and completes the container.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/stat.h>

#include "tests/unit/manager-fixture.h"
#include "agent/journal/containers.h"
#include "cgroup/backend-fake.h"
#include "util/fault.h"

#define OWNER "upstream"
#define ID "container_e17_1410901177871_0001_01_000005"
#define TEST(name) cmocka_unit_test_setup_teardown(name, manager_fixture_set_up_real, manager_fixture_tear_down_real)

#ifdef NM_FAULT_INJECTION
static bool is_running(const struct nm_live_container *l)
{
    return l->c->view.state == NM_RUNNING && l->c->pid > 0;
}

/* Each run of the command appends one byte to a file of the test. */
static struct nm_container *find_or_submit(struct manager_fixture *w)
{
    const char *const argv[] = {"/bin/sh", "-c", "printf x >>\"$0/runs\"; exec sleep 1000", w->tree.path, NULL};
    const struct nm_submit s = {.type = NM_GUARANTEED, .memory_bytes = 64 * MIB, .vcores_milli = 1000, .argv = argv,
                                .owner = OWNER, .id = ID, .blob = {(void *)(uintptr_t)"one", 3}, .prepare = true,
                                .keep_result = true};

    return nm_lists_by_id(w->m, ID) ?: manager_fixture_submit_as(w, &s)->c;
}

static long runs(const struct manager_fixture *w)
{
    char path[96];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/runs", w->tree.path);
    return stat(path, &st) == 0 ? st.st_size : 0;
}

static void end_it(struct manager_fixture *w, struct nm_live_container *l)
{
    const struct nm_end end = {.code = -106};
    struct nm_problem p;

    manager_fixture_wait(w, l, is_running);
    while (runs(w) == 0 && kill(l->c->pid, 0) == 0)
        (void)usleep(1000);
    assert_int_equal(nm_manager_end(w->m, OWNER, ID, &end, &p), 0);
    assert_int_equal(kill(l->c->pid, SIGKILL), 0); /* the fake cgroup's kill sends no signal to processes */
    manager_fixture_wait(w, l, manager_fixture_shim_is_gone);
    if (l->cg) /* NULL if a former nmd created the cgroup */
        assert_int_equal(nm_fake_set_events(l->cg, false, false), 0);
    manager_fixture_settle(w);
}

static void continue_after_death(struct manager_fixture *w)
{
    const struct nm_move move = {.workdir = "/", .log_dir = w->tree.path, .blob = {(void *)(uintptr_t)"two", 3}};
    struct nm_container *c;
    struct nm_problem p;

    manager_fixture_start(w);
    c = find_or_submit(w);
    if (nm_policy_container_in_preparation(&c->view) && !c->log_dir)
        assert_int_equal(nm_manager_move(w->m, OWNER, ID, &move, &p), 0);
    if (nm_policy_container_in_preparation(&c->view))
        assert_int_equal(nm_manager_prepared(w->m, OWNER, ID, &p), 0);
    if (nm_lists_live_of(c))
        end_it(w, nm_lists_live_of(c));
    assert_int_equal(c->view.state, NM_COMPLETED);
    assert_int_equal(c->owner_code, -106);
    if (c->keep_result)
        assert_int_equal(nm_manager_acknowledge(w->m, OWNER, ID, &p), 0);
    (void)nm_lists_drop_ended(w->m, UINT64_MAX);
    assert_null(nm_lists_by_id(w->m, ID));
}

struct death {
    const char *step;
    enum nm_state found;
    bool kept; /* nmd keeps the result until the owner acknowledges it */
};

static void finish_after(struct manager_fixture *w, const struct death *d)
{
    const struct nm_container *c;

    manager_fixture_die(w, d->step, continue_after_death);
    manager_fixture_restart(w);
    c = nm_lists_by_id(w->m, ID);
    assert_non_null(c);
    assert_int_equal(c->view.state, d->found);
    assert_int_equal(c->keep_result, d->kept);
    assert_int_equal(c->blob.bytes, d->kept ? 3 : 0);
    if (d->kept)
        assert_memory_equal(c->blob.data, c->log_dir ? "two" : "one", 3);
    assert_int_equal(c->log_dir != NULL, !nm_streq(d->step, "submit-journalled"));
    continue_after_death(w);
    assert_int_equal(runs(w), 1);
    fake_tree_unlink(&w->tree, "runs");
}

static void test_a_crash_of_nmd_at_each_step_loses_no_container(void **state)
{
    static const struct death deaths[] = {
        {"submit-journalled", NM_NEW, true},
        {"moved-journalled", NM_NEW, true},
        {"prepared-journalled", NM_SCHEDULED, true},
        {"running-journalled", NM_RUNNING, true},
        {"end-journalled", NM_COMPLETED, true},
        {"acknowledged-before-commit", NM_COMPLETED, true},
        {"acknowledged-journalled", NM_COMPLETED, false},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(deaths); i++)
        finish_after(*state, &deaths[i]);
}
#else
static void test_a_crash_of_nmd_at_each_step_loses_no_container(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    static const struct CMUnitTest tests[] = {TEST(test_a_crash_of_nmd_at_each_step_loses_no_container)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
