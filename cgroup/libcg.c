/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See libcg.h. libcgroup has one table of mounts per process, filled by cgroup_init(), and logs to stdout by default;
 * this file sets up both once. libcgroup's create call maps all errors of mkdir to one code. A caller that must
 * distinguish "the tree is full" from "not allowed" repeats the mkdir itself, as backend-direct.c does.
 */

#include "cgroup/libcg.h"

#include <assert.h>
#include <libcgroup.h>

#include "cgroup/attr.h"
#include "util/fileio.h"
#include "util/log.h"

static const char *const ours[] = {"memory", "cpu", "pids"};

/* Converts libcgroup's codes to -errno. For ECGOTHER the library stores the current errno per thread. */
static int to_errno(int ecg)
{
    switch (ecg) {
    case 0:
        return 0;
    case ECGOTHER: {
        int e = cgroup_get_last_errno();
        return e > 0 ? -e : -EIO;
    }
    case ECGROUPNOTEXIST:
    case ECGROUPVALUENOTEXIST:
        return -ENOENT;
    case ECGROUPNOTOWNER:
    case ECGROUPNOTALLOWED:
        return -EPERM;
    case ECGNONEMPTY:
        return -EBUSY;
    case ECGINVAL:
        return -EINVAL;
    case ECGROUPNOTMOUNTED:
    case ECGROUPSUBSYSNOTMOUNTED:
    case ECGROUPNOTINITIALIZED:
        return -EOPNOTSUPP;
    default:
        return -EIO;
    }
}

static void nm_printf(3, 0) log_line(void *userdata, int level, const char *format, va_list ap)
{
    char text[512];

    (void)userdata;
    (void)level;
    (void)vsnprintf(text, sizeof text, format, ap);
    text[strcspn(text, "\n")] = '\0';
    nm_debug("libcgroup: %s", text);
}

/* libcgroup uses the first mount that it finds, which on a hybrid host may be a mount of version 1. */
static bool is_mounted_at(const char *controller, const char *root)
{
    char *point = NULL;
    bool same;

    if (cgroup_get_subsys_mount_point(controller, &point) != 0)
        return false;
    same = nm_streq(point, root);
    free(point);
    return same;
}

static bool has_ours(const char *controllers)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(ours); i++)
        if (nm_attr_has_word(controllers, ours[i]))
            return true;
    return false;
}

bool nm_libcg_init(const char *root)
{
    _cleanup_close_ int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char controllers[512];

    if (fd < 0 ||
        nm_read_file_at(fd, "cgroup.controllers", controllers, sizeof controllers, NULL) < 0)
        return false;
    /* check before cgroup_init() fills its table, which occupies most of a megabyte */
    if (!has_ours(controllers))
        return false;
    cgroup_set_logger(log_line, CGROUP_LOG_ERROR, NULL);
    if (cgroup_init() != 0)
        return false;
    cgroup_set_logger(log_line, CGROUP_LOG_ERROR, NULL); /* cgroup_init() resets the logger */
    for (size_t i = 0; i < NM_ARRAY_SIZE(ours); i++)
        if (nm_attr_has_word(controllers, ours[i]) && !is_mounted_at(ours[i], root))
            return false;
    return true;
}

static void free_group(struct cgroup **g)
{
    if (*g)
        cgroup_free(g);
}

static int fill(struct cgroup *g, const struct nm_limits_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct cgroup_controller *c = cgroup_get_controller(g, files[i].controller);

        if (!c)
            c = cgroup_add_controller(g, files[i].controller);
        if (!c)
            return -ENOMEM;
        if (cgroup_set_value_string(c, files[i].file, files[i].text) != 0)
            return -ENOMEM;
    }
    return 0;
}

int nm_libcg_set(const char *name, const struct nm_limits_file *files, size_t n)
{
    _cleanup_(free_group) struct cgroup *g = cgroup_new_cgroup(name);
    int r;

    assert(name && *name);
    if (!g)
        return -ENOMEM;
    r = fill(g, files, n);
    return r < 0 ? r : to_errno(cgroup_modify_cgroup(g));
}

/* On v2 all controllers share one directory: naming one is sufficient, and naming two would remove the directory
 * twice. */
static struct cgroup *new_with_any_controller(const char *name)
{
    _cleanup_(free_group) struct cgroup *g = cgroup_new_cgroup(name);

    for (size_t i = 0; g && i < NM_ARRAY_SIZE(ours); i++) {
        char *point = NULL;

        if (cgroup_get_subsys_mount_point(ours[i], &point) != 0)
            continue;
        free(point);
        return cgroup_add_controller(g, ours[i]) ? STEAL_PTR(g) : NULL;
    }
    return NULL;
}

/* The argument 1 makes libcgroup keep the owner and mode that the kernel sets, for root. */
int nm_libcg_create(const char *name)
{
    _cleanup_(free_group) struct cgroup *g = new_with_any_controller(name);

    return g ? to_errno(cgroup_create_cgroup(g, 1)) : -ENOMEM;
}

int nm_libcg_remove(const char *name)
{
    _cleanup_(free_group) struct cgroup *g = new_with_any_controller(name);

    assert(name && *name); /* nmd never owns the mount itself */
    return g ? to_errno(cgroup_delete_cgroup_ext(g, CGFLAG_DELETE_EMPTY_ONLY)) : -ENOMEM;
}
