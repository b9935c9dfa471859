/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The direct backend with libcgroup. The test replaces the calls of the library that would read mounts or use the
 * kernel: they do the same to a tree of plain files, or fail with the real errors. The library's data in memory is
 * real.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <libcgroup.h>
#include <sys/stat.h>

#include "cgroup/libcg.h"
#include "tests/unit/direct-world.h"
#include "util/error.h"
#include "util/log.h"

static struct {
    struct world *w;
    const char *mounted_at; /* NULL: at the usual place */
    bool mounts_none;
    int init_fails;
    unsigned n_inits;
    cgroup_logger_callback logger;
    int fails; /* result of each call that uses the kernel */
    int last_errno;
    bool does_nothing; /* but reports success */
    unsigned n_created, n_modified, n_deleted;
    unsigned memory_left; /* 1: the next allocation fails */
    char name[80];        /* name of the group that was made last */
    struct {
        char file[32], text[64];
    } values[16];
    size_t n_values;
} lib;

/* ---- libcgroup ------------------------------------------------------------------------------- */

int __wrap_cgroup_init(void);
void __wrap_cgroup_set_logger(cgroup_logger_callback logger, int level, void *userdata);
int __wrap_cgroup_get_subsys_mount_point(const char *controller, char **ret);
struct cgroup *__real_cgroup_new_cgroup(const char *name);
struct cgroup *__wrap_cgroup_new_cgroup(const char *name);
struct cgroup_controller *__real_cgroup_add_controller(struct cgroup *g, const char *name);
struct cgroup_controller *__wrap_cgroup_add_controller(struct cgroup *g, const char *name);
int __real_cgroup_set_value_string(struct cgroup_controller *c, const char *file, const char *text);
int __wrap_cgroup_set_value_string(struct cgroup_controller *c, const char *file, const char *text);
int __wrap_cgroup_modify_cgroup(struct cgroup *g);
int __wrap_cgroup_create_cgroup(struct cgroup *g, int ignore_ownership);
int __wrap_cgroup_delete_cgroup_ext(struct cgroup *g, int flags);
int __wrap_cgroup_get_last_errno(void);

int __wrap_cgroup_init(void)
{
    lib.n_inits++;
    lib.logger = NULL; /* cgroup_init() sets its own logger, which writes to stdout */
    return lib.init_fails;
}

void __wrap_cgroup_set_logger(cgroup_logger_callback logger, int level, void *userdata)
{
    assert_int_equal(level, CGROUP_LOG_ERROR);
    assert_null(userdata);
    lib.logger = logger;
}

int __wrap_cgroup_get_subsys_mount_point(const char *controller, char **ret)
{
    char root[80];

    (void)controller;
    if (lib.mounts_none)
        return ECGROUPNOTEXIST;
    (void)snprintf(root, sizeof root, "%s/root", lib.w->dir.path);
    *ret = strdup(lib.mounted_at ? lib.mounted_at : root);
    assert_non_null(*ret);
    return 0;
}

static bool memory_is_out(void)
{
    return lib.memory_left > 0 && --lib.memory_left == 0;
}

struct cgroup *__wrap_cgroup_new_cgroup(const char *name)
{
    if (memory_is_out())
        return NULL;
    (void)snprintf(lib.name, sizeof lib.name, "%s", name);
    lib.n_values = 0;
    return __real_cgroup_new_cgroup(name);
}

struct cgroup_controller *__wrap_cgroup_add_controller(struct cgroup *g, const char *name)
{
    return memory_is_out() ? NULL : __real_cgroup_add_controller(g, name);
}

int __wrap_cgroup_set_value_string(struct cgroup_controller *c, const char *file, const char *text)
{
    if (memory_is_out())
        return ECGFAIL;
    assert_true(lib.n_values < NM_ARRAY_SIZE(lib.values));
    (void)snprintf(lib.values[lib.n_values].file, sizeof lib.values[0].file, "%s", file);
    (void)snprintf(lib.values[lib.n_values++].text, sizeof lib.values[0].text, "%s", text);
    return __real_cgroup_set_value_string(c, file, text);
}

static void write_in_group(const char *file, const char *text)
{
    char name[128];

    (void)snprintf(name, sizeof name, "root/%s/%s", lib.name, file);
    fake_tree_write(&lib.w->dir, name, text);
}

int __wrap_cgroup_modify_cgroup(struct cgroup *g)
{
    assert_non_null(g);
    if (lib.fails)
        return lib.fails;
    lib.n_modified++;
    for (size_t i = 0; i < lib.n_values; i++)
        write_in_group(lib.values[i].file, lib.values[i].text);
    return 0;
}

int __wrap_cgroup_create_cgroup(struct cgroup *g, int ignore_ownership)
{
    assert_non_null(g);
    assert_int_equal(ignore_ownership, 1);
    if (lib.fails)
        return lib.fails;
    lib.n_created++;
    if (!lib.does_nothing)
        write_in_group("cgroup.procs", "");
    return 0;
}

int __wrap_cgroup_delete_cgroup_ext(struct cgroup *g, int flags)
{
    char path[256];

    assert_non_null(g);
    assert_int_equal(flags, CGFLAG_DELETE_EMPTY_ONLY);
    if (lib.fails)
        return lib.fails;
    lib.n_deleted++;
    (void)snprintf(path, sizeof path, "%s/root/%s", lib.w->dir.path, lib.name);
    return lib.does_nothing || remove_tree(path) == 0 ? 0 : ECGFAIL;
}

int __wrap_cgroup_get_last_errno(void)
{
    return lib.last_errno;
}

/* ---- the world ------------------------------------------------------------------------------- */

static int alone(void **state)
{
    int r = world_alone(state);

    memset(&lib, 0, sizeof lib);
    lib.w = *state;
    return r;
}

/* Starts the backend, which reads the mount point through the library. */
static int started(void **state)
{
    assert_int_equal(alone(state), 0);
    world_begin(lib.w);
    assert_int_equal(lib.n_inits, 1);
    return 0;
}

static bool init(const struct world *w)
{
    char root[80];

    (void)snprintf(root, sizeof root, "%s/root", w->dir.path);
    return nm_libcg_init(root);
}

static void log_with(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    lib.logger(NULL, CGROUP_LOG_ERROR, format, ap);
    va_end(ap);
}

/* ---- starting -------------------------------------------------------------------------------- */

/* A failure of the library isn't an error: the backend works without it. */
static void test_where_it_cannot_serve(void **state)
{
    struct world *w = *state;

    assert_true(init(w));
    lib.init_fails = ECGFAIL;
    assert_false(init(w));
    lib.init_fails = 0;
    lib.mounted_at = "/sys/fs/cgroup/memory"; /* a version 1 mount beside cgroup2 */
    assert_false(init(w));
    lib.mounts_none = true;
    assert_false(init(w));
    assert_false(nm_libcg_init("/nonexistent/cgroup"));
    lib = (typeof(lib)){.w = w};
    fake_tree_write(&w->dir, "root/cgroup.controllers", "io rdma\n");
    assert_false(init(w));
    fake_tree_unlink(&w->dir, "root/cgroup.controllers");
    assert_false(init(w));
    assert_int_equal(lib.n_inits, 0); /* the library isn't initialized, because that would read all mounts in vain */
}

/* Messages of the library go to the log at debug level, and never to stdout. */
static void test_its_words(void **state)
{
    char text[2000];

    assert_true(init(*state));
    assert_non_null(lib.logger); /* set again after cgroup_init() had set its own */
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_with("%s", text);
    log_with("two\nlines\n");
    log_with("%s", "");
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void test_life(void **state)
{
    struct world *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct nm_cgroup *cg = NULL;
    struct answer a = {0};

    assert_int_equal(w->b->ops->prepare(w->b, "c2", &cg), 0);
    assert_int_equal(lib.n_created, 1);
    assert_string_equal(lib.name, SLICE "/nmtest-c2.scope");
    assert_true(fake_tree_has(&w->dir, "root/" SLICE "/nmtest-c2.scope/cgroup.procs"));
    assert_int_equal(w->b->ops->set_limits(w->b, cg, &l, on_done, &a), 0);
    assert_int_equal(a.result, 0);
    assert_int_equal(lib.n_modified, 1);
    nm_cgroup_free(w->cg);
    w->cg = cg;
    assert_file(w, "memory.max", "8388608");
    assert_file(w, "cpu.max", "150000 100000");
    assert_file(w, "pids.max", "7");
    assert_int_equal(w->b->ops->set_slice_limits(w->b, &l, on_done, &a), 0);
    assert_string_equal(lib.name, SLICE);
    assert_int_equal(w->b->ops->remove(w->b, cg), 0);
    assert_int_equal(lib.n_deleted, 1);
    assert_false(fake_tree_has(&w->dir, "root/" SLICE "/nmtest-c2.scope"));
}

/* The library reports success for an existing group, so the backend checks in the kernel whether the group existed. */
static void test_a_name_that_is_taken(void **state)
{
    struct world *w = *state;
    struct nm_cgroup *cg = NULL;

    assert_int_equal(w->b->ops->prepare(w->b, "c1", &cg), -EEXIST);
    assert_null(cg);
    assert_int_equal(lib.n_created, 0);
}

static void test_its_codes(void **state)
{
    static const struct {
        int ecg, last_errno, expected;
    } cases[] = {
        {0, 0, 0},
        {ECGOTHER, EAGAIN, -EAGAIN},
        {ECGOTHER, 0, -EIO}, /* it forgot */
        {ECGROUPNOTEXIST, EAGAIN, -ENOENT},
        {ECGROUPVALUENOTEXIST, 0, -ENOENT},
        {ECGROUPNOTOWNER, 0, -EPERM},
        {ECGROUPNOTALLOWED, 0, -EPERM},
        {ECGNONEMPTY, 0, -EBUSY},
        {ECGINVAL, 0, -EINVAL},
        {ECGROUPNOTMOUNTED, 0, -EOPNOTSUPP},
        {ECGROUPSUBSYSNOTMOUNTED, 0, -EOPNOTSUPP},
        {ECGROUPNOTINITIALIZED, 0, -EOPNOTSUPP},
        {ECGCANTSETVALUE, 0, -EIO},
    };
    static const struct nm_limits_file file = {.controller = "memory", .file = "memory.max", .text = "max"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        lib.fails = cases[i].ecg;
        lib.last_errno = cases[i].last_errno;
        assert_int_equal(nm_libcg_create(SLICE "/c"), cases[i].expected);
        assert_int_equal(nm_libcg_set(SLICE "/c", &file, 1), cases[i].expected);
        assert_int_equal(nm_libcg_remove(SLICE "/c"), cases[i].expected);
    }
}

/* After any failure of the library the backend uses plain files, and reports the error of this second attempt. */
static void test_the_plain_way_instead(void **state)
{
    struct world *w = *state;
    struct nm_cgroup_limits l = some_limits();
    struct nm_cgroup *cg = NULL;
    struct answer a = {0};

    lib.fails = ECGOTHER;
    lib.last_errno = EINVAL;
    assert_int_equal(w->b->ops->prepare(w->b, "c2", &cg), 0);
    assert_int_equal(w->b->ops->remove(w->b, cg), 0);
    nm_cgroup_free(cg);
    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);
    assert_int_equal(a.result, 0);
    assert_file(w, "memory.max", "8388608");
    fake_tree_unlink(&w->dir, SCOPE "memory.max");
    fake_tree_write(&w->dir, SCOPE "memory.max/it-is-a-directory", "");
    assert_int_equal(w->b->ops->set_limits(w->b, w->cg, &l, on_done, &a), 0);
    assert_int_equal(a.result, -EISDIR);
}

/* After a removal that the library only reported, the backend checks and removes the group. */
static void test_it_says_what_is_not_so(void **state)
{
    struct world *w = *state;
    struct nm_cgroup *cg = NULL;

    lib.does_nothing = true;
    assert_int_equal(w->b->ops->prepare(w->b, "c2", &cg), -ENOENT);
    assert_null(cg);
    lib.does_nothing = false;
    lib.fails = ECGFAIL;
    assert_int_equal(w->b->ops->prepare(w->b, "c2", &cg), 0);
    lib.fails = 0;
    lib.does_nothing = true;
    assert_int_equal(w->b->ops->remove(w->b, cg), 0);
    assert_false(fake_tree_has(&w->dir, "root/" SLICE "/nmtest-c2.scope"));
    nm_cgroup_free(cg);
}

/* Each allocation fails once: the library isn't called with incomplete data. */
static void test_no_memory(void **state)
{
    static const struct nm_limits_file files[] = {
        {.controller = "memory", .file = "memory.max", .text = "max"},
        {.controller = "memory", .file = "memory.low", .text = "0"},
        {.controller = "cpu", .file = "cpu.idle", .text = "1"},
    };
    unsigned n;
    int r = -ENOMEM;

    (void)state;
    for (n = 1; r != 0; n++) {
        lib.memory_left = n;
        r = nm_libcg_set(SLICE "/c", files, NM_ARRAY_SIZE(files));
        assert_int_equal(r, lib.memory_left == 0 ? -ENOMEM : 0);
        assert_int_equal(lib.n_modified, r == 0);
    }
    assert_int_equal(n - 2, 6); /* one for the group, two for controllers, three for values */
    for (n = 1; n <= 2; n++) {
        lib.memory_left = n;
        assert_int_equal(nm_libcg_create(SLICE "/c"), -ENOMEM);
        lib.memory_left = n;
        assert_int_equal(nm_libcg_remove(SLICE "/c"), -ENOMEM);
    }
    assert_true(lib.n_created == 0 && lib.n_deleted == 0);
    lib.mounts_none = true;
    assert_int_equal(nm_libcg_create(SLICE "/c"), -ENOMEM);
}

#define alone(f) cmocka_unit_test_setup_teardown(f, alone, world_teardown)
#define started(f) cmocka_unit_test_setup_teardown(f, started, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        alone(test_where_it_cannot_serve),
        alone(test_its_words),
        started(test_life),
        started(test_a_name_that_is_taken),
        alone(test_its_codes),
        started(test_the_plain_way_instead),
        started(test_it_says_what_is_not_so),
        alone(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
