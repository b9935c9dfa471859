/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The direct backend: nmd makes the cgroupfs directories itself, for hosts without systemd.
 *
 * If the mount has controllers, libcgroup makes, sets and removes the groups, after this file has enabled the
 * controllers in every ancestor's cgroup.subtree_control. If the mount has no controllers (a hybrid host), or is a fake
 * tree, libcgroup does not work: this file then makes, writes and removes the directories. This file also repeats a
 * failed operation of libcgroup in this way, because libcgroup hides mkdir's error.
 *
 * Root's slice is at the top of the mount. Any other user's slice is below the user's own cgroup, which must be
 * delegated. There the kernel's "no internal processes" rule applies: a cgroup with processes of its own cannot enable
 * controllers for its children. So a daemon that is alone in its cgroup first moves itself into a leaf below.
 *
 * All operations are complete when they return and call their callbacks inline.
 */

#include "cgroup/backend.h"

#include <assert.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "cgroup/attr.h"
#include "cgroup/libcg.h"
#include "cgroup/limits.h"
#include "cgroup/procs.h"
#include "util/fileio.h"
#include "util/log.h"

static const char *const controllers[] = {"memory", "cpu", "pids", "io"};

struct direct {
    struct nm_cgroup_backend base;
    char *root;
    const char *group; /* the slice's name for libcgroup: slice_path below root */
    bool use_libcgroup;
    bool has_slice_limits;
    struct nm_cgroup_limits slice_limits;
    char *helper_paths[3]; /* the cgroups of the last placed helpers, or NULL */
};

static struct direct *direct_of(struct nm_cgroup_backend *b)
{
    return (struct direct *)b; /* base is the first member */
}

/* ---- the slice ------------------------------------------------------------------------------- */

static int count(pid_t pid, void *userdata)
{
    unsigned *n = userdata;

    if (pid != getpid())
        ++*n;
    return 0;
}

/* Moves this process from the cgroup of dir_fd into a leaf below it, if no other process is in that cgroup. */
static int move_down(int dir_fd)
{
    static const char leaf[] = "nmd-daemon";
    const struct nm_cgroup cg = {.dir_fd = dir_fd};
    struct nm_cgroup_events events;
    _cleanup_close_ int leaf_fd = -EBADF;
    unsigned others = 0;

    /* The root cgroup has no cgroup.events, and the rule that processes are only in leaves does not apply to it. */
    if (nm_cgroup_read_events(&cg, &events) < 0)
        return -EBUSY;
    if (nm_procs_walk(dir_fd, count, &others) < 0 || others > 0)
        return -EBUSY;
    if (mkdirat(dir_fd, leaf, 0755) < 0 && errno != EEXIST)
        return -errno;
    leaf_fd = openat(dir_fd, leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (leaf_fd < 0)
        return -errno;
    return nm_attr_write(leaf_fd, "cgroup.procs", "0"); /* 0 stands for the writing process */
}

/* Writes one controller at a time: the kernel accepts or rejects a whole line, and a controller that is not available
 * (cpu while realtime tasks exist) must not prevent the other controllers. */
static void enable_controllers(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char available[512];

    if (fd < 0 || nm_attr_read(fd, "cgroup.controllers", available, sizeof available) < 0)
        return;
    for (size_t i = 0; i < NM_ARRAY_SIZE(controllers); i++) {
        char text[32];
        int r;

        if (!nm_attr_has_word(available, controllers[i]))
            continue;
        (void)snprintf(text, sizeof text, "+%s", controllers[i]);
        r = nm_attr_write(fd, "cgroup.subtree_control", text);
        if (r == -EBUSY && move_down(fd) >= 0)
            r = nm_attr_write(fd, "cgroup.subtree_control", text);
        if (r < 0)
            nm_debug("cgroup: can't write %s to cgroup.subtree_control of %s: %s", text, path, strerror(-r));
    }
}

/* Enables the controllers from the mount down to the slice. nmd has no access to ancestors above a delegated cgroup, so
 * errors there are expected. */
static int enable_down_to_slice(struct direct *d)
{
    _cleanup_free_ char *path = strdup(d->base.slice_path);
    size_t root = strlen(d->root);

    if (!path)
        return -ENOMEM;
    for (char *p = path + root; *p; p++) {
        if (*p != '/' || p == path)
            continue;
        *p = '\0';
        enable_controllers(path);
        *p = '/';
    }
    enable_controllers(path);
    return 0;
}

static int make_slice(struct direct *d)
{
    int r;

    if (mkdir(d->base.slice_path, 0755) < 0 && errno != EEXIST)
        return -errno;
    r = enable_down_to_slice(d);
    return r < 0 ? r : nm_backend_open_slice(&d->base);
}

/* Puts root's slice at the top, and any other user's slice below the cgroup of this process, which the user must be
 * able to write. */
static int choose_base(const char *root, char **ret, char **ret_message)
{
    _cleanup_free_ char *own = NULL, *base = NULL;
    int r;

    if (geteuid() == 0 || access(root, W_OK) == 0) {
        *ret = strdup(root);
        return *ret ? 0 : -ENOMEM;
    }
    r = nm_mount_own_cgroup("/proc/self/cgroup", &own);
    if (r < 0)
        return nm_fail(ret_message, r, "/proc/self/cgroup: no cgroup2 entry");
    if (asprintf(&base, "%s%s", root, nm_streq(own, "/") ? "" : own) < 0)
        return -ENOMEM;
    if (access(base, W_OK) < 0)
        return nm_fail(ret_message, -EACCES,
                       "cgroup %s isn't delegated to this user: run as root, or under "
                       "'systemd-run --user --scope -p Delegate=yes'",
                       base);
    *ret = STEAL_PTR(base);
    return 0;
}

/* ---- one group ------------------------------------------------------------------------------- */

/* Fills in the files of the limits that can be set on this host. The status reports the other limits to the
 * operator. */
static size_t settable(const struct direct *d, const struct nm_cgroup_limits *l,
                       struct nm_limits_file files[NM_LIMITS_MAX_FILES])
{
    const bool *has = d->base.feature;
    size_t n = nm_limits_files(l, has[NM_CGROUP_CPU_IDLE], files), kept = 0;

    for (size_t i = 0; i < n; i++) {
        const char *c = files[i].controller;

        if ((nm_streq(c, "memory") && has[NM_CGROUP_MEMORY_LIMITS]) ||
            (nm_streq(c, "cpu") && has[NM_CGROUP_CPU_WEIGHT]) || (nm_streq(c, "pids") &&
                                                                  has[NM_CGROUP_PIDS]))
            files[kept++] = files[i];
    }
    return kept;
}

static int write_files(int dir_fd, const struct nm_limits_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int r = nm_attr_write(dir_fd, files[i].file, files[i].text);

        if (r == -EOPNOTSUPP) /* a kernel with the memory controller may lack memory.oom.group, which is newer */
            continue;
        if (r < 0)
            return r;
    }
    return 0;
}

/* "default 10" applies to all devices. Errors are ignored: no promise depends on this weight. */
static void write_io(const struct direct *d, int dir_fd, uint32_t weight)
{
    const char *file = weight > 0 && d->base.feature[NM_CGROUP_IO_WEIGHT] ? nm_limits_io_file(dir_fd) : NULL;
    char text[32];

    (void)snprintf(text, sizeof text, "default %u", weight);
    if (file && nm_attr_write(dir_fd, file, text) < 0)
        nm_debug("cgroup: %s can't be written", file);
}

static int apply(const struct direct *d, int dir_fd, const char *group,
                 const struct nm_cgroup_limits *l)
{
    struct nm_limits_file files[NM_LIMITS_MAX_FILES];
    size_t n = settable(d, l, files);

    assert(dir_fd >= 0 && group && l);
    write_io(d, dir_fd, l->io_weight);
    if (d->use_libcgroup && nm_libcg_set(group, files, n) >= 0)
        return 0;
    return write_files(dir_fd, files, n);
}

/* Makes the group's name for libcgroup: "<slice's group>/<scope>". */
static int group_name(const struct direct *d, const char *scope, char buf[PATH_MAX])
{
    int n = snprintf(buf, PATH_MAX, "%s/%s", d->group, scope);

    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int make_directory(struct direct *d, const char *scope)
{
    if (mkdirat(d->base.slice_fd, scope, 0755) >= 0)
        return 0;
    /* An empty group was left by a start that failed halfway, and can be replaced. */
    if (errno == EEXIST && unlinkat(d->base.slice_fd, scope, AT_REMOVEDIR) >= 0 &&
        mkdirat(d->base.slice_fd, scope, 0755) >= 0)
        return 0;
    return errno == EBUSY || errno == ENOTEMPTY ? -EEXIST : -errno;
}

static int make_group(struct direct *d, const char *scope)
{
    char group[PATH_MAX];
    int r = group_name(d, scope, group);

    if (r < 0)
        return r;
    /* libcgroup returns success for a group that exists. The code below then finds out with mkdir() whether the group
     * is in use. */
    if (d->use_libcgroup && !nm_attr_exists(d->base.slice_fd, scope) &&
        nm_libcg_create(group) >= 0)
        return 0;
    r = make_directory(d, scope);
    if (r == -ENOENT) { /* another process removed the empty slice */
        r = make_slice(d);
        if (r >= 0 && d->has_slice_limits)
            r = apply(d, d->base.slice_fd, d->group, &d->slice_limits);
        if (r >= 0)
            r = make_directory(d, scope);
    }
    return r;
}

static int remove_group(struct direct *d, const char *scope)
{
    char group[PATH_MAX];
    int r = d->use_libcgroup ? group_name(d, scope, group) : -EOPNOTSUPP;

    if (r >= 0)
        r = nm_libcg_remove(group);
    if (r >= 0 && !nm_attr_exists(d->base.slice_fd, scope))
        return 0;
    if (unlinkat(d->base.slice_fd, scope, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return errno == ENOTEMPTY ? -EBUSY : -errno;
    return 0;
}

/* ---- the ops table --------------------------------------------------------------------------- */

static int direct_prepare(struct nm_cgroup_backend *b, const char *container_id,
                          struct nm_cgroup **ret)
{
    char scope[NM_BACKEND_NAME_MAX];
    int r = nm_backend_scope_name(b, container_id, scope);

    if (r >= 0)
        r = make_group(direct_of(b), scope);
    if (r < 0)
        return r;
    r = nm_backend_open_scope(b, scope, ret);
    if (r < 0)
        (void)remove_group(direct_of(b), scope);
    return r;
}

static int create_scope(struct direct *d, const char *scope, pid_t pid,
                        const struct nm_cgroup_limits *l,
                        struct nm_cgroup **ret, const char **ret_stage)
{
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = NULL;
    bool born_there = nm_procs_is_member(pid, scope);
    char group[PATH_MAX];
    int r;

    *ret_stage = "can't create the cgroup";
    r = born_there ? 0 : make_group(d, scope);
    if (r < 0)
        return r;
    r = nm_backend_open_scope(&d->base, scope, &cg);
    if (r >= 0) {
        *ret_stage = "can't set the limits of";
        r = group_name(d, scope, group);
    }
    if (r >= 0)
        r = apply(d, cg->dir_fd, group, l);
    if (r >= 0 && !born_there) {
        *ret_stage = "can't move the process into";
        r = nm_cgroup_move_in(cg, pid);
    }
    if (r < 0) {
        if (born_there && cg)
            /* the cgroup has only the shim, which waits at its gate */
            (void)nm_attr_write(cg->dir_fd, "cgroup.kill", "1");
        (void)remove_group(d, scope); /* if the shim has not exited yet, the function that handles its exit removes the
                                         cgroup */
        return r;
    }
    *ret = STEAL_PTR(cg);
    return 0;
}

static int direct_create(struct nm_cgroup_backend *b, const char *container_id,
                         const char *description, pid_t pid,
                         const struct nm_cgroup_limits *limits,
                         nm_cgroup_done_cb_t cb, void *userdata)
{
    char scope[NM_BACKEND_NAME_MAX], message[512];
    struct nm_cgroup *cg = NULL;
    const char *stage, *why;
    int r;

    assert(limits && cb);
    (void)description;
    r = nm_backend_scope_name(b, container_id, scope);
    if (r < 0)
        return r;
    r = create_scope(direct_of(b), scope, pid, limits, &cg, &stage);
    if (r >= 0) {
        cb(0, cg, NULL, userdata);
        return 0;
    }
    why = nm_backend_explain(r);
    (void)snprintf(message, sizeof message, "%s %s: %s", stage, scope, why ? why : strerror(-r));
    cb(r, NULL, message, userdata);
    return 0;
}

static void report(int r, const char *what, nm_cgroup_done_cb_t cb, void *userdata)
{
    char message[256];

    if (!cb)
        return;
    (void)snprintf(message, sizeof message, "can't set the limits of %s: %s", what,
                   strerror(r < 0 ? -r : 0));
    cb(r < 0 ? r : 0, NULL, r < 0 ? message : NULL, userdata);
}

static int direct_set_limits(struct nm_cgroup_backend *b, const struct nm_cgroup *cg,
                             const struct nm_cgroup_limits *limits,
                             nm_cgroup_done_cb_t cb, void *userdata)
{
    struct direct *d = direct_of(b);
    char group[PATH_MAX];
    int r = group_name(d, cg->name, group);

    if (r >= 0)
        r = apply(d, cg->dir_fd, group, limits);
    report(r, cg->name, cb, userdata);
    return 0;
}

static int direct_set_slice_limits(struct nm_cgroup_backend *b,
                                   const struct nm_cgroup_limits *limits,
                                   nm_cgroup_done_cb_t cb, void *userdata)
{
    struct direct *d = direct_of(b);
    int r = 0;

    if (!nm_attr_cgroup_exists(b->slice_fd))
        r = make_slice(d);
    if (r >= 0)
        r = apply(d, b->slice_fd, d->group, limits);
    if (r >= 0) {
        d->slice_limits = *limits;
        d->has_slice_limits = true;
    }
    report(r, b->slice, cb, userdata);
    return 0;
}

/* Usually the cgroup has no subdirectories, and no search for them is necessary. */
static int direct_remove(struct nm_cgroup_backend *b, const struct nm_cgroup *cg)
{
    struct direct *d = direct_of(b);

    assert(cg && cg->dir_fd >= 0);
    if (!d->use_libcgroup && (unlinkat(d->base.slice_fd, cg->name, AT_REMOVEDIR) >= 0 || errno == ENOENT))
        return 0;
    if (nm_attr_cgroup_exists(cg->dir_fd)) {
        int r = nm_procs_prune(cg->dir_fd);
        if (r < 0 && r != -ENOENT)
            return r;
    }
    return remove_group(d, cg->name);
}

/* Keeps the path of a helper's cgroup, which is removed at the end. There are at most three helpers. */
static void keep_path(struct direct *d, char *path)
{
    size_t i = 0;

    while (i + 1 < NM_ARRAY_SIZE(d->helper_paths) && d->helper_paths[i] && !nm_streq(d->helper_paths[i], path))
        i++;
    free(d->helper_paths[i]);
    d->helper_paths[i] = path;
}

/* Reuses the cgroup of an earlier nmd. The earlier helper may still be in the cgroup, with the same limits. */
static int start_beside(struct direct *d, const char *scope, pid_t pid, const struct nm_cgroup_limits *l,
                        struct nm_cgroup **ret)
{
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = NULL;
    struct nm_limits_file files[NM_LIMITS_MAX_FILES];
    _cleanup_free_ char *path = NULL;
    int r;

    if (asprintf(&path, "%.*s%s", (int)(strlen(d->base.slice_path) - strlen(d->base.slice)), d->base.slice_path,
                 scope) < 0)
        return -ENOMEM;
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return -errno;
    r = nm_cgroup_open(path, scope, &cg);
    if (r >= 0)
        r = write_files(cg->dir_fd, files, settable(d, l, files));
    if (r >= 0)
        r = nm_cgroup_move_in(cg, pid);
    if (r < 0) {
        (void)rmdir(path); /* fails while a process is in the cgroup */
        return r;
    }
    keep_path(d, STEAL_PTR(path));
    *ret = STEAL_PTR(cg);
    return 0;
}

static int direct_attach_helper(struct nm_cgroup_backend *b, const char *name, pid_t pid,
                                const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata)
{
    char scope[NM_BACKEND_NAME_MAX], message[512];
    struct nm_cgroup *cg = NULL;
    const char *why;
    int r = nm_backend_helper_name(b, name, scope);

    if (r < 0)
        return r;
    r = start_beside(direct_of(b), scope, pid, limits, &cg);
    why = r < 0 ? nm_backend_explain(r) ?: strerror(-r) : "";
    (void)snprintf(message, sizeof message, "%s: %s", scope, why);
    cb(r, cg, r < 0 ? message : NULL, userdata);
    return 0;
}

static void direct_free(struct nm_cgroup_backend *b)
{
    struct direct *d = direct_of(b);

    /* rmdir fails on a slice that is not empty, as intended. */
    if (b->slice_fd >= 0)
        (void)rmdir(b->slice_path);
    for (size_t i = 0; i < NM_ARRAY_SIZE(d->helper_paths); i++) {
        if (d->helper_paths[i])
            (void)rmdir(d->helper_paths[i]);
        free(d->helper_paths[i]);
    }
    free(d->root);
    nm_backend_done(b);
    free(d);
}

static const struct nm_cgroup_ops direct_ops = {
    .name = "direct",
    .set_slice_limits = direct_set_slice_limits,
    .prepare = direct_prepare,
    .create = direct_create,
    .set_limits = direct_set_limits,
    .remove = direct_remove,
    .list = nm_backend_list,
    .attach_helper = direct_attach_helper,
    .free = direct_free,
};

/* ---- opening --------------------------------------------------------------------------------- */

static int init_paths(struct direct *d, const struct nm_backend_host *host, char **ret_message)
{
    _cleanup_free_ char *base = NULL;
    int r = nm_backend_init(&d->base, &direct_ops, host->slice);

    if (r < 0)
        return r;
    d->root = strdup(host->root);
    if (!d->root)
        return -ENOMEM;
    r = choose_base(host->root, &base, ret_message);
    if (r < 0)
        return r;
    if (asprintf(&d->base.slice_path, "%s/%s", base, host->slice) < 0) {
        d->base.slice_path = NULL;
        return -ENOMEM;
    }
    d->group = d->base.slice_path + strlen(d->root);
    d->group += strspn(d->group, "/");
    return 0;
}

static int probe(struct direct *d)
{
    _cleanup_close_ int root_fd = open(d->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (root_fd < 0)
        return -errno;
    nm_probe_features(&d->base, &(struct nm_probe_params){.root_fd = root_fd,
                                                          .swaps = "/proc/swaps",
                                                          .check_delegation = true,
                                                          .has_idle_property = true});
    nm_netprio_probe(&d->base);
    return 0;
}

static void cleanup_direct(struct direct **d)
{
    if (*d)
        direct_free(&(*d)->base);
}

/* Makes a backend whose paths are set, without accessing any cgroup. */
static int prepare(const struct nm_backend_host *host, struct direct **ret, char **ret_message)
{
    _cleanup_(cleanup_direct) struct direct *d = calloc(1, sizeof *d);
    int r;

    if (!d)
        return -ENOMEM;
    d->base.slice_fd = d->base.net_priority_fd = -EBADF;
    r = init_paths(d, host, ret_message);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(d);
    return 0;
}

static int refuse_slice(const struct direct *d, int r, char **ret_message)
{
    const char *why = nm_backend_explain(r);

    return nm_fail(ret_message, r, "can't create the slice %s: %s", d->base.slice_path, why ? why : strerror(-r));
}

int nm_cgroup_direct_new(const struct nm_backend_host *host, struct nm_cgroup_backend **ret,
                         char **ret_message)
{
    _cleanup_(cleanup_direct) struct direct *d = NULL;
    int r;

    assert(host->slice && host->root && ret);
    r = prepare(host, &d, ret_message);
    if (r < 0)
        return r;
    d->use_libcgroup = nm_libcg_init(d->root);
    r = make_slice(d);
    if (r < 0)
        return refuse_slice(d, r, ret_message);
    r = probe(d);
    if (r < 0)
        return r;
    *ret = &STEAL_PTR(d)->base;
    return 0;
}

int nm_cgroup_direct_check(const struct nm_backend_host *host, char **ret_message)
{
    _cleanup_(cleanup_direct) struct direct *d = NULL;
    int r = prepare(host, &d, ret_message);

    if (r < 0)
        return r;
    r = nm_check_mkdir_p(d->base.slice_path);
    return r < 0 ? refuse_slice(d, r, ret_message) : 0;
}
