/* SPDX-License-Identifier: Apache-2.0 */

/* See service.h. */

#include "yarn/setup/service.h"

#include <limits.h>
#include <string.h>

#include "util/error.h"
#include "util/fileio.h"

/* Returns whether the host's init is systemd. The file is named "systemd" in all directories that distributions use. */
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

/* Finds the nmd that uses the state directory. A link in the path leads to a directory below the root directory, never
 * to that of this host's own nmd. */
static pid_t find_nmd(const struct nm_setup_wish *w, int root)
{
    _cleanup_close_ int fd = nm_open_in_root(root, w->state_dir, O_PATH | O_DIRECTORY);
    char path[40];

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return w->holder ? w->holder(path) : -EOPNOTSUPP;
}

/* Determines how nmd is started. A running systemd has made /run/systemd/system (sd_booted(3)). Below --root this
 * directory may be missing because the host isn't running. The host's init program then shows whether systemd will
 * start nmd, unless an nmd is running already. */
struct nm_setup_service nm_setup_service_look(const struct nm_setup_wish *w)
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
