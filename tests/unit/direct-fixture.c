/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/direct-fixture.h"

#include "util/error.h"

int fixture_start(struct fixture *w)
{
    char root[80];
    const struct nm_cgroup_backend_params params = {
        .kind = NM_CGROUP_BACKEND_DIRECT, .slice = SLICE, .cgroup_root = root};

    (void)snprintf(root, sizeof root, "%s/root", w->dir.path);
    return nm_cgroup_backend_new(&params, &w->b, &w->message);
}

int fixture_alone(void **state)
{
    static const char *const slice_files[] = {"cgroup.procs", "memory.reclaim", "memory.swap.max", "cpu.idle",
                                              "cgroup.freeze", "cgroup.kill", "memory.pressure", "io.weight"};
    static const char *const scope_files[] = {"cgroup.procs", "memory.max", "memory.low", "memory.min",
                                              "memory.oom.group", "cpu.weight", "cpu.idle", "cpu.max", "pids.max",
                                              "io.weight"};
    struct fixture *w = calloc(1, sizeof *w);
    char name[128];

    assert_non_null(w);
    fake_tree_init(&w->dir);
    fake_tree_write(&w->dir, "root/cgroup.controllers", "cpu io memory pids\n");
    fake_tree_write(&w->dir, "root/cgroup.subtree_control", "");
    fake_tree_write(&w->dir, "root/" SLICE "/cgroup.controllers", "cpu io memory pids\n");
    fake_tree_write(&w->dir, "root/" SLICE "/cgroup.subtree_control", "cpu io memory pids\n");
    for (size_t i = 0; i < NM_ARRAY_SIZE(slice_files); i++) {
        (void)snprintf(name, sizeof name, "root/" SLICE "/%s", slice_files[i]);
        fake_tree_write(&w->dir, name, "0\n");
    }
    for (size_t i = 0; i < NM_ARRAY_SIZE(scope_files); i++) {
        (void)snprintf(name, sizeof name, SCOPE "%s", scope_files[i]);
        fake_tree_write(&w->dir, name, "");
    }
    *state = w;
    return 0;
}

void fixture_begin(struct fixture *w)
{
    assert_int_equal(fixture_start(w), 0);
    /* The kernel's file lists all enabled controllers. In this plain file, only the last written text is left. */
    fake_tree_write(&w->dir, "root/" SLICE "/cgroup.subtree_control", "cpu io memory pids\n");
    for (enum nm_cgroup_feature f = 0; f < NM_CGROUP_FEATURE_COUNT; f++)
        w->b->feature[f] = true;
    assert_int_equal(nm_backend_open_scope(w->b, "nmtest-c1.scope", &w->cg), 0);
}

int fixture_started(void **state)
{
    assert_int_equal(fixture_alone(state), 0);
    fixture_begin(*state);
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *w = *state;

    nm_cgroup_free(w->cg);
    nm_cgroup_backend_free(w->b);
    fake_tree_done(&w->dir);
    free(w->message);
    free(w);
    return 0;
}

void assert_file(const struct fixture *w, const char *file, const char *expected)
{
    char text[256];

    assert_true(nm_read_file_at(w->cg->dir_fd, file, text, sizeof text, NULL) >= 0);
    assert_string_equal(text, expected);
}

void on_done(int result, struct nm_cgroup *cg, const char *message, void *userdata)
{
    struct answer *a = userdata;

    a->n_calls++;
    a->result = result;
    (void)snprintf(a->message, sizeof a->message, "%s", message ? message : "");
    assert_null(cg);
}

struct nm_cgroup_limits some_limits(void)
{
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;

    l.memory_max_bytes = 8 << 20;
    l.cpu_weight = 250;
    l.cpu_quota_millicores = 1500;
    l.pids_max = 7;
    l.io_weight = 10;
    l.oom_group = true;
    return l;
}
