/* SPDX-License-Identifier: Apache-2.0 */

/* See system.h. */

#include "nmscale/system.h"

#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "util/error.h"
#include "util/fileio.h"

/* Reads a file. O_NONBLOCK: a FIFO without a writer would block nmscale forever. */
int nm_scale_read_file(const char *path, size_t most, char **ret, size_t *ret_size)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    _cleanup_free_ char *text = NULL;
    struct stat st;
    size_t len = 0;
    int r;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
    if ((uint64_t)st.st_size > most)
        return -E2BIG;
    /* one byte for the NUL, and one byte to detect that the file has grown */
    text = malloc((size_t)st.st_size + 2);
    if (!text)
        return -ENOMEM;
    r = nm_pread_file(fd, text, (size_t)st.st_size + 2, &len);
    if (r < 0)
        return r;
    *ret_size = len;
    *ret = STEAL_PTR(text);
    return 0;
}

/* Copies mode and owner of the old file. For a new file uses the caller's mode. Only root can change the owner of a
 * file. A failure to preserve the group is ignored. A failure to preserve the owner is an error, because the
 * ResourceManager might no longer be able to read the file. */
static int copy_mode(int fd, const char *path, mode_t mode)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return errno == ENOENT ? RET_NERRNO(fchmod(fd, mode)) : -errno;
    if (fchown(fd, st.st_uid, st.st_gid) < 0 && st.st_uid != geteuid())
        return -errno;
    return RET_NERRNO(fchmod(fd, st.st_mode & 07777));
}

/* Writes and syncs the file before the rename. Without the sync, the exclude file could be empty after a crash of the
 * host, which would readmit nodes that were given back. */
static int write_synced(int fd, const char *path, const char *text, mode_t mode)
{
    int r = copy_mode(fd, path, mode);

    if (r >= 0)
        r = nm_write_all(fd, text, strlen(text));
    return r < 0 ? r : RET_NERRNO(fsync(fd));
}

/* Syncs the directory. Without this sync, rename() isn't durable. */
static int sync_parent(const char *path)
{
    size_t n = strlen(path);
    _cleanup_free_ char *dir = strdup(path);
    _cleanup_close_ int fd = -EBADF;

    if (!dir)
        return -ENOMEM;
    while (n > 0 && dir[n - 1] != '/')
        n--;
    dir[n] = '\0';
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return RET_NERRNO(fsync(fd));
}

/* Resolves symbolic links. A configuration file is often a link into a tree under version control, and replacing the
 * link would not change the file in that tree. The result is a path with a slash. Links are followed as far as their
 * targets exist. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);

    if (!real && errno == ENOENT)
        real = strchr(path, '/') ? strdup(path) : NULL;
    if (!real && errno == ENOENT && asprintf(&real, "./%s", path) < 0)
        real = NULL;
    return real;
}

int nm_scale_replace_file(const char *path, const char *text, mode_t mode)
{
    _cleanup_free_ char *real = resolve(path), *temporary = NULL;
    _cleanup_close_ int fd = -EBADF;
    int r;

    if (!real)
        return errno ? -errno : -ENOMEM;
    if (asprintf(&temporary, "%s.XXXXXX", real) < 0) {
        temporary = NULL;
        return -ENOMEM;
    }
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    r = write_synced(fd, real, text, mode);
    if (r >= 0)
        r = RET_NERRNO(rename(temporary, real));
    if (r < 0) {
        (void)unlink(temporary);
        return r;
    }
    return sync_parent(real);
}

/* Takes a lock on a separate file. The file itself is replaced, so a lock on its old inode would not exclude other
 * processes. The lock file is never removed. Otherwise a process that waits for the removed file and a process that
 * creates a new file could both get a lock. */
int nm_scale_lock(const char *path, int *ret_fd)
{
    _cleanup_free_ char *name = NULL;
    _cleanup_close_ int fd = -EBADF;

    if (asprintf(&name, "%s.lock", path) < 0) {
        name = NULL;
        return -ENOMEM;
    }
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (fd < 0)
        return -errno;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0)
        if (errno != EINTR)
            return -errno;
    *ret_fd = STEAL_FD(fd);
    return 0;
}

int nm_scale_make_parents(const char *path)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *dir = NULL;

    if (!slash || slash == path)
        return 0;
    dir = strndup(path, (size_t)(slash - path));
    return dir ? nm_mkdir_p(dir, 0755) : -ENOMEM;
}
