/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Code that all backends share: names, the slice's directory, listing.
 *
 * Every backend names a container's cgroup SLICE-ID.scope, by systemd's rule that a unit's name begins with its slice's
 * name. So a host can change its backend, and a cgroup with another name does not belong to nmd.
 */

#include "cgroup/backend.h"

#include <assert.h>
#include <stdarg.h>

#include "cgroup/attr.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/parse.h"

#define SCOPE_SUFFIX ".scope"

/* mkdir returns EAGAIN at cgroup.max.descendants; the other errors are described in cgroups(7). */
const char *nm_backend_explain(int r)
{
    switch (r) {
    case -EAGAIN:
    case -ENOSPC:
        return "the cgroup tree is full (cgroup.max.descendants or cgroup.max.depth of a parent "
               "is reached)";
    case -EACCES:
    case -EPERM:
        return "not allowed: this cgroup isn't delegated to this user";
    case -EROFS:
        return "the cgroup2 mount is read-only";
    case -ESRCH:
        return "the process has ended already";
    case -EEXIST:
        return "a cgroup of that name exists and isn't empty";
    default:
        return NULL;
    }
}

/* Reads the number after `key` in one of the cgroup's files. Returns UINT64_MAX if the value is "max" or the file
 * cannot be read. */
static uint64_t read_limit(int dir_fd, const char *file, const char *key)
{
    char text[256];
    const char *p;
    uint64_t v;

    if (nm_attr_read(dir_fd, file, text, sizeof text) < 0)
        return UINT64_MAX;
    p = strstr(text, key);
    if (!p)
        return UINT64_MAX;
    p += strlen(key);
    text[(size_t)(p - text) + strcspn(p, "\n")] = '\0';
    return nm_parse_u64(p, &v) < 0 ? UINT64_MAX : v;
}

/* A limit applies to the whole subtree, so every ancestor is checked. The mount's root and the directories above it
 * have no such files. */
bool nm_backend_is_full(const struct nm_cgroup_backend *b)
{
    _cleanup_close_ int fd = b->slice_fd >= 0 ? openat(b->slice_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC)
                                              : -EBADF;

    for (uint64_t depth = 1; fd >= 0 && nm_attr_exists(fd, "cgroup.max.descendants"); depth++) {
        uint64_t n = read_limit(fd, "cgroup.stat", "nr_descendants ");
        int above;

        if (n != UINT64_MAX && n >= read_limit(fd, "cgroup.max.descendants", ""))
            return true;
        if (depth > read_limit(fd, "cgroup.max.depth", ""))
            return true;
        above = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        (void)nm_close(fd);
        fd = above;
    }
    return false;
}

/* ---- shared functions ------------------------------------------------------------------------ */

int nm_backend_init(struct nm_cgroup_backend *b, const struct nm_cgroup_ops *ops, const char *slice)
{
    size_t stem = strlen(slice) - strlen(SLICE_SUFFIX);

    assert(ops->set_slice_limits && ops->create && ops->set_limits && ops->remove && ops->list &&
           ops->attach_helper && ops->free);
    assert(strlen(slice) > strlen(SLICE_SUFFIX));
    b->ops = ops;
    b->slice_fd = b->net_priority_fd = -EBADF;
    b->slice = strdup(slice);
    if (asprintf(&b->prefix, "%.*s-", (int)stem, slice) < 0)
        b->prefix = NULL;
    return b->slice && b->prefix ? 0 : -ENOMEM;
}

void nm_backend_done(struct nm_cgroup_backend *b)
{
    b->slice_fd = nm_close(b->slice_fd);
    b->net_priority_fd = nm_close(b->net_priority_fd);
    free(b->slice);
    free(b->prefix);
    free(b->slice_path);
}

int nm_backend_open_slice(struct nm_cgroup_backend *b)
{
    int fd;

    assert(b->slice_path);
    fd = open(b->slice_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    nm_close(b->slice_fd);
    b->slice_fd = fd;
    return 0;
}

int nm_backend_scope_name(const struct nm_cgroup_backend *b, const char *container_id,
                          char name[NM_BACKEND_NAME_MAX])
{
    int n;

    assert(b->prefix && container_id);
    if (!nm_name_is_valid(container_id))
        return -EINVAL;
    n = snprintf(name, NM_BACKEND_NAME_MAX, "%s%s" SCOPE_SUFFIX, b->prefix, container_id);
    return n < NM_BACKEND_NAME_MAX ? 0 : -ENAMETOOLONG;
}

int nm_backend_open_scope(const struct nm_cgroup_backend *b, const char *name,
                          struct nm_cgroup **ret)
{
    _cleanup_free_ char *path = NULL;

    assert(b->slice_path && name);
    if (asprintf(&path, "%s/%s", b->slice_path, name) < 0)
        return -ENOMEM;
    return nm_cgroup_open(path, name, ret);
}

/* Makes "nm_shuffle.scope" for nm.slice. The "_" distinguishes it from the scopes of containers, which begin with
 * "nm-", and from the cgroups of any other slice. */
int nm_backend_helper_name(const struct nm_cgroup_backend *b, const char *helper, char name[NM_BACKEND_NAME_MAX])
{
    int n;

    if (!nm_name_is_valid(helper))
        return -EINVAL;
    n = snprintf(name, NM_BACKEND_NAME_MAX, "%.*s_%s" SCOPE_SUFFIX, (int)strlen(b->prefix) - 1, b->prefix, helper);
    return n < NM_BACKEND_NAME_MAX ? 0 : -ENAMETOOLONG;
}

int nm_backend_open_beside(const struct nm_cgroup_backend *b, const char *name, struct nm_cgroup **ret)
{
    const char *slash = strrchr(b->slice_path, '/');
    _cleanup_free_ char *path = NULL;

    assert(slash && name);
    if (asprintf(&path, "%.*s/%s", (int)(slash - b->slice_path), b->slice_path, name) < 0)
        return -ENOMEM;
    return nm_cgroup_open(path, name, ret);
}

int nm_cgroup_container_id(const struct nm_cgroup_backend *b, const char *name, char *buf,
                           size_t size)
{
    size_t prefix = strlen(b->prefix), suffix = strlen(SCOPE_SUFFIX), len = strlen(name), id;

    assert(size > 0);
    if (len <= prefix + suffix || strncmp(name, b->prefix, prefix) != 0 ||
        !nm_streq(name + len - suffix, SCOPE_SUFFIX))
        return -EINVAL;
    id = len - prefix - suffix;
    if (id >= size)
        return -EINVAL;
    memmove(buf, name + prefix, id);
    buf[id] = '\0';
    return nm_name_is_valid(buf) ? 0 : -EINVAL;
}

typedef int (*scope_fn_t)(struct nm_cgroup_backend *b, const char *name, const char *id,
                          void *userdata);

static int for_each_scope(struct nm_cgroup_backend *b, scope_fn_t fn, void *userdata)
{
    _cleanup_closedir_ DIR *dir = NULL;
    int r = nm_opendir_at(b->slice_fd, &dir);

    if (r < 0)
        return r;
    for (struct dirent *de; (de = readdir(dir));) {
        char id[NM_BACKEND_NAME_MAX];

        if (de->d_type != DT_DIR || nm_cgroup_container_id(b, de->d_name, id, sizeof id) < 0)
            continue;
        r = fn(b, de->d_name, id, userdata);
        if (r < 0)
            return r;
    }
    return 0;
}

struct list_call {
    nm_cgroup_list_cb_t cb;
    void *userdata;
};

static int list_one(struct nm_cgroup_backend *b, const char *name, const char *id, void *userdata)
{
    const struct list_call *call = userdata;
    struct nm_cgroup *cg;
    int r = nm_backend_open_scope(b, name, &cg);

    if (r < 0)
        return r == -ENOENT ? 0 : r;
    call->cb(cg, id, call->userdata);
    return 0;
}

int nm_backend_list(struct nm_cgroup_backend *b, nm_cgroup_list_cb_t cb, void *userdata)
{
    struct list_call call = {.cb = cb, .userdata = userdata};

    if (!nm_attr_cgroup_exists(b->slice_fd)) { /* the slice was stopped and may have been started again */
        int r = nm_backend_open_slice(b);
        if (r < 0)
            return r == -ENOENT ? 0 : r;
    }
    return for_each_scope(b, list_one, &call);
}

static int refuse_any(struct nm_cgroup_backend *b, const char *name, const char *id, void *userdata)
{
    (void)b;
    (void)name;
    (void)id;
    (void)userdata;
    return -EBUSY;
}

/* Checks for scopes and also for processes anywhere below the slice, since other programs may have put processes
 * there. */
bool nm_backend_slice_is_empty(const struct nm_cgroup_backend *b)
{
    struct nm_cgroup_events events = {.populated = true};
    const struct nm_cgroup slice = {.dir_fd = b->slice_fd};

    return for_each_scope((struct nm_cgroup_backend *)b, refuse_any, NULL) >= 0 &&
           nm_cgroup_read_events(&slice, &events) >= 0 && !events.populated;
}

struct nm_cgroup_backend *nm_cgroup_backend_free(struct nm_cgroup_backend *b)
{
    if (b)
        b->ops->free(b);
    return NULL;
}
