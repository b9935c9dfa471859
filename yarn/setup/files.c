/* SPDX-License-Identifier: Apache-2.0 */

/* See files.h. */

#include "yarn/setup/files.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "util/error.h"
#include "util/fileio.h"

/* Opens the parent directory of the path, in which the caller makes changes and which it passes to fsync(). */
static int open_above(const char *root, const char *path, const char **ret_name)
{
    _cleanup_free_ char *dir = NULL;
    const char *slash = strrchr(path, '/');

    if (asprintf(&dir, "%s%.*s", root, (int)(slash - path), path) < 0) {
        dir = NULL;
        return -ENOMEM;
    }
    *ret_name = slash + 1;
    return nm_open_no_links(*dir ? dir : "/", O_RDONLY | O_DIRECTORY);
}

static int write_new(int dir, const char *name, const char *text, mode_t mode)
{
    _cleanup_close_ int fd =
        RET_NERRNO(openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    int r = fd < 0 ? fd : nm_write_all(fd, text, strlen(text));

    if (r >= 0)
        r = RET_NERRNO(fchmod(fd, mode));
    return r < 0 ? r : RET_NERRNO(fsync(fd));
}

int nm_setup_write_file(const char *root, const char *path, const char *text, mode_t mode)
{
    const char *name;
    _cleanup_close_ int dir = open_above(root, path, &name);
    char tmp[NAME_MAX + 1];
    int r;

    if (dir < 0)
        return dir;
    if ((size_t)snprintf(tmp, sizeof tmp, NM_SETUP_NEW_NAME, name) >= sizeof tmp)
        return -ENAMETOOLONG;
    (void)unlinkat(dir, tmp, 0); /* an interrupted setup may have left this file */
    r = write_new(dir, tmp, text, mode);
    if (r >= 0)
        r = RET_NERRNO(renameat(dir, tmp, dir, name));
    if (r < 0)
        (void)unlinkat(dir, tmp, 0);
    return r < 0 ? r : RET_NERRNO(fsync(dir));
}

static int set_owner(int fd, uid_t uid, gid_t gid, mode_t mode)
{
    if (fchown(fd, uid, gid) < 0 || fchmod(fd, mode) < 0)
        return -errno;
    return RET_NERRNO(fsync(fd));
}

int nm_setup_make_dir(const char *root, const char *path, uid_t uid, gid_t gid, mode_t mode)
{
    const char *name;
    _cleanup_close_ int dir = open_above(root, path, &name);
    int r = dir < 0 ? dir : RET_NERRNO(mkdirat(dir, name, 0700));

    if (r < 0)
        return r;
    _cleanup_close_ int fd = RET_NERRNO(openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));

    r = fd < 0 ? fd : set_owner(fd, uid, gid, mode);
    return r < 0 ? r : RET_NERRNO(fsync(dir));
}

int nm_setup_change_dir(const char *root, const char *path, uid_t old_uid, gid_t old_gid, mode_t old_mode, uid_t uid,
                        gid_t gid, mode_t mode)
{
    const char *name;
    _cleanup_close_ int dir = open_above(root, path, &name);
    _cleanup_close_ int fd = dir < 0 ? dir : RET_NERRNO(openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
                                                                              O_NOFOLLOW));
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != old_uid || st.st_gid != old_gid || (st.st_mode & 07777) != old_mode)
        return -ESTALE;
    return set_owner(fd, uid, gid, mode);
}

/* Returns a descriptor of the directory with the first `size` bytes of the path. If this directory doesn't exist,
 * returns its nearest existing parent directory. */
static int open_nearest(const char *root, const char *path, size_t size)
{
    for (;;) {
        _cleanup_free_ char *full = NULL;
        int fd;

        if (asprintf(&full, "%s%.*s", root, (int)size, path) < 0) {
            full = NULL;
            return -ENOMEM;
        }
        fd = nm_open_no_links(*full ? full : "/", O_PATH | O_DIRECTORY);
        if (fd != -ENOENT || size == 0)
            return fd;
        while (size > 0 && path[--size] != '/') {}
    }
}

int nm_setup_check_write(const char *root, const char *path, bool itself)
{
    const size_t size = itself ? strlen(path) : (size_t)(strrchr(path, '/') - path);
    _cleanup_close_ int dir = open_nearest(root, path, size);
    struct statvfs fs;

    if (dir < 0)
        return dir;
    if (fstatvfs(dir, &fs) < 0)
        return -errno;
    if (fs.f_flag & ST_RDONLY)
        return -EROFS;
    if (itself || (geteuid() != 0 && !*root)) /* root makes the real changes in the host's own root directory */
        return 0;
    return RET_NERRNO(faccessat(dir, ".", W_OK | X_OK, AT_EACCESS));
}

static int remove_at(const char *root, const char *path, int flags)
{
    const char *name;
    _cleanup_close_ int dir = open_above(root, path, &name);
    int r = dir < 0 ? dir : RET_NERRNO(unlinkat(dir, name, flags));

    if (r == -ENOENT)
        return 0;
    return r < 0 ? r : RET_NERRNO(fsync(dir));
}

int nm_setup_remove_file(const char *root, const char *path)
{
    return remove_at(root, path, 0);
}

int nm_setup_remove_dir(const char *root, const char *path)
{
    return remove_at(root, path, AT_REMOVEDIR);
}
