/* SPDX-License-Identifier: Apache-2.0 */

/* See facts.h. */

#include "yarn/setup/facts.h"

#include <limits.h>
#include <string.h>

#include "util/error.h"
#include "util/fileio.h"
#include "yarn/launch/user.h"
#include "yarn/setup/facts-parts.h"

/* ---- facts for a plan --------------------------------------------------------------------- */

static int examine_dirs(const struct nm_setup_request *w, char *const *names, struct nm_arena *a,
                        struct nm_setup_facts *f, char **ret_message)
{
    int r = 0;

    for (size_t i = 0; r == 0 && names[i]; i++) {
        const char *path = nm_setup_path_normalize(a, names[i]);

        if (!path)
            return -ENOMEM;
        if (!nm_setup_is_plain(path))
            return nm_fail(ret_message, -EINVAL,
                           "the directory '%s' from the cluster's files can't be set up: its path must be absolute, "
                           "contain only letters, digits and characters of '/._+@-', and have no part '..'", names[i]);
        r = nm_setup_path_examine(a, w->root, path, &f->dirs[f->n_dirs]);
        f->n_dirs += r == 0;
    }
    return r;
}

static int examine_all(const struct nm_setup_request *w, const struct nm_yarn_settings *s, struct nm_arena *a,
                       struct nm_setup_facts *f, char **ret_message)
{
    int r;

    f->dirs = nm_arena_alloc(a, (NM_STRV_LENGTH(s->local_dirs) + NM_STRV_LENGTH(s->log_dirs) + 1) * sizeof *f->dirs);
    if (!f->dirs)
        return -ENOMEM;
    r = nm_setup_path_examine(a, w->root, w->config_path, &f->config);
    if (r == 0)
        r = nm_setup_path_examine(a, w->root, w->unit_path, &f->unit);
    if (r == 0)
        r = nm_setup_path_examine(a, w->root, w->state_dir, &f->state);
    if (r == 0)
        r = examine_dirs(w, s->local_dirs, a, f, ret_message);
    return r == 0 ? examine_dirs(w, s->log_dirs, a, f, ret_message) : r;
}

/* Determines the name with which the node registers, without using a name service. */
static int name_node(const struct nm_yarn_settings *s, struct nm_arena *a, struct nm_setup_facts *f)
{
    char own[HOST_NAME_MAX + 1] = "localhost";

    (void)gethostname(own, sizeof own);
    own[sizeof own - 1] = '\0';
    f->node_name = nm_arena_print(a, "%s", nm_streq(s->node.host, "0.0.0.0") ? own : s->node.host);
    return f->node_name ? 0 : -ENOMEM;
}

int nm_setup_facts_gather(const struct nm_setup_request *w, const struct nm_yarn_settings *s, struct nm_arena *a,
                          struct nm_setup_facts *ret, char **ret_message)
{
    struct nm_setup_facts f = {.uid = geteuid(), .gid = getegid()};
    _cleanup_free_ char *manifest = NULL;
    uid_t uid;
    gid_t gid;
    int r = asprintf(&manifest, "%s%s", w->root, w->manifest_path) < 0 ? -ENOMEM : 0;

    if (r < 0)
        manifest = NULL;
    if (r == 0)
        r = nm_setup_manifest_load(a, manifest, &f.manifest, ret_message);
    if (r == 0)
        r = examine_all(w, s, a, &f, ret_message);
    if (r == 0)
        r = nm_setup_find_programs(w, a, &f, ret_message);
    if (r == 0)
        r = name_node(s, a, &f);
    if (r == 0)
        r = nm_setup_list_hosts(s, a, &f);
    if (r == 0)
        r = nm_setup_resolve(w, a, &f);
    if (r < 0)
        return r;
    nm_setup_try_hosts(w, &f);
    r = nm_yarn_user_find(s->local_user, &uid, &gid);
    f.has_local_user = r == 0;
    if (r == -ENOMEM)
        return r;
    *ret = f;
    return 0;
}

/* ---- the service nmd ---------------------------------------------------------------------- */

/* Returns whether the init program of the host is systemd. The directory of the program differs between distributions,
 * but the program is always called "systemd". */
static bool boots_systemd(int root)
{
    _cleanup_close_ int fd = nm_open_in_root(root, "/sbin/init", O_PATH);
    char link[40], path[PATH_MAX];
    const char *slash;
    ssize_t n;

    if (fd < 0)
        return false;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return false;
    path[n] = '\0';
    slash = strrchr(path, '/');
    return slash && nm_streq(slash + 1, "systemd");
}

/* Finds the nmd that uses the state directory. If the path contains a link, it is resolved below the root directory. So
 * the result is never the nmd of this host if --root names another directory. */
static pid_t find_nmd(const struct nm_setup_request *w, int root)
{
    _cleanup_close_ int fd = nm_open_in_root(root, w->state_dir, O_PATH | O_DIRECTORY);
    char path[40];

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return w->holder ? w->holder(path) : -EOPNOTSUPP;
}

/* Determines how nmd is started. A running systemd has made /run/systemd/system (sd_booted(3)). Below --root this
 * directory may be missing because that host isn't running. If no nmd is running, the host's init program then shows
 * whether systemd will start nmd. */
struct nm_setup_service nm_setup_service_examine(const struct nm_setup_request *w)
{
    _cleanup_close_ int root = RET_NERRNO(open(*w->root ? w->root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    _cleanup_close_ int run = root < 0 ? root : nm_open_in_root(root, "/run/systemd/system", O_PATH | O_DIRECTORY);
    struct nm_setup_service s = {.by_systemd = run >= 0, .pid = root};

    if (root < 0 || s.by_systemd)
        return s;
    s.pid = find_nmd(w, root);
    s.by_systemd = *w->root && s.pid <= 0 && boots_systemd(root);
    return s;
}
