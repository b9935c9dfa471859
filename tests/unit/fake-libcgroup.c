/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdint.h>
#include <sys/stat.h>

#include "tests/unit/fake-libcgroup.h"
#include "util/error.h"

struct fake_libcgroup fake_libcgroup;

int fake_libcgroup_alone(void **state)
{
    int r = fixture_alone(state);

    memset(&fake_libcgroup, 0, sizeof fake_libcgroup);
    fake_libcgroup.w = *state;
    return r;
}

int fake_libcgroup_started(void **state)
{
    assert_int_equal(fake_libcgroup_alone(state), 0);
    fixture_begin(fake_libcgroup.w);
    assert_int_equal(fake_libcgroup.n_inits, 1);
    return 0;
}

void fake_libcgroup_log(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fake_libcgroup.logger(NULL, CGROUP_LOG_ERROR, format, ap);
    va_end(ap);
}

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
    fake_libcgroup.n_inits++;
    fake_libcgroup.logger = NULL; /* cgroup_init() sets its own logger, which writes to stdout */
    return fake_libcgroup.init_fails;
}

void __wrap_cgroup_set_logger(cgroup_logger_callback logger, int level, void *userdata)
{
    assert_int_equal(level, CGROUP_LOG_ERROR);
    assert_null(userdata);
    fake_libcgroup.logger = logger;
}

int __wrap_cgroup_get_subsys_mount_point(const char *controller, char **ret)
{
    char root[80];

    (void)controller;
    if (fake_libcgroup.mounts_none)
        return ECGROUPNOTEXIST;
    (void)snprintf(root, sizeof root, "%s/root", fake_libcgroup.w->dir.path);
    *ret = strdup(fake_libcgroup.mounted_at ? fake_libcgroup.mounted_at : root);
    assert_non_null(*ret);
    return 0;
}

static bool memory_is_out(void)
{
    return fake_libcgroup.memory_left > 0 && --fake_libcgroup.memory_left == 0;
}

struct cgroup *__wrap_cgroup_new_cgroup(const char *name)
{
    if (memory_is_out())
        return NULL;
    (void)snprintf(fake_libcgroup.name, sizeof fake_libcgroup.name, "%s", name);
    fake_libcgroup.n_values = 0;
    return __real_cgroup_new_cgroup(name);
}

struct cgroup_controller *__wrap_cgroup_add_controller(struct cgroup *g, const char *name)
{
    return memory_is_out() ? NULL : __real_cgroup_add_controller(g, name);
}

int __wrap_cgroup_set_value_string(struct cgroup_controller *c, const char *file, const char *text)
{
    struct fake_libcgroup_value *value;

    if (memory_is_out())
        return ECGFAIL;
    assert_true(fake_libcgroup.n_values < NM_ARRAY_SIZE(fake_libcgroup.values));
    value = &fake_libcgroup.values[fake_libcgroup.n_values++];
    (void)snprintf(value->file, sizeof value->file, "%s", file);
    (void)snprintf(value->text, sizeof value->text, "%s", text);
    return __real_cgroup_set_value_string(c, file, text);
}

static void write_in_group(const char *file, const char *text)
{
    char name[128];

    (void)snprintf(name, sizeof name, "root/%s/%s", fake_libcgroup.name, file);
    fake_tree_write(&fake_libcgroup.w->dir, name, text);
}

int __wrap_cgroup_modify_cgroup(struct cgroup *g)
{
    assert_non_null(g);
    if (fake_libcgroup.fails)
        return fake_libcgroup.fails;
    fake_libcgroup.n_modified++;
    for (size_t i = 0; i < fake_libcgroup.n_values; i++)
        write_in_group(fake_libcgroup.values[i].file, fake_libcgroup.values[i].text);
    return 0;
}

int __wrap_cgroup_create_cgroup(struct cgroup *g, int ignore_ownership)
{
    assert_non_null(g);
    assert_int_equal(ignore_ownership, 1);
    if (fake_libcgroup.fails)
        return fake_libcgroup.fails;
    fake_libcgroup.n_created++;
    if (!fake_libcgroup.does_nothing)
        write_in_group("cgroup.procs", "");
    return 0;
}

int __wrap_cgroup_delete_cgroup_ext(struct cgroup *g, int flags)
{
    char path[256];

    assert_non_null(g);
    assert_int_equal(flags, CGFLAG_DELETE_EMPTY_ONLY);
    if (fake_libcgroup.fails)
        return fake_libcgroup.fails;
    fake_libcgroup.n_deleted++;
    (void)snprintf(path, sizeof path, "%s/root/%s", fake_libcgroup.w->dir.path, fake_libcgroup.name);
    return fake_libcgroup.does_nothing || remove_tree(path) == 0 ? 0 : ECGFAIL;
}

int __wrap_cgroup_get_last_errno(void)
{
    return fake_libcgroup.last_errno;
}
