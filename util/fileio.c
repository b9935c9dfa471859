/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See fileio.h. The kernel's attribute files impose two rules. A read must fetch the whole file at once from offset 0,
 * because two reads may return values of different times. A write must be a single write(2), because the kernel parses
 * each write as a complete command.
 */

#include "util/fileio.h"

#include <assert.h>
#include <errno.h>
#include <libgen.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "util/error.h"
#include "util/macros.h"

int nm_pread_file(int fd, char *buf, size_t size, size_t *ret_len)
{
    size_t len = 0;

    assert(fd >= 0 && buf);
    if (size == 0)
        return -E2BIG;
    for (;;) {
        ssize_t n = pread(fd, buf + len, size - len, (off_t)len);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        if (n == 0)
            break;
        len += (size_t)n;
        if (len == size)
            return -E2BIG;
    }
    buf[len] = '\0';
    if (ret_len)
        *ret_len = len;
    return 0;
}

int nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len)
{
    _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return -errno;
    return nm_pread_file(fd, buf, size, ret_len);
}

int nm_pread_plain_file(int fd, char *buf, size_t size, size_t *ret_len)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? -EISDIR : -EBADMSG;
    return nm_pread_file(fd, buf, size, ret_len);
}

int nm_read_plain_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len)
{
    _cleanup_close_ int fd = RET_NERRNO(openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));

    return fd < 0 ? fd : nm_pread_plain_file(fd, buf, size, ret_len);
}

int nm_read_regular_at(int dir_fd, const char *name, size_t max, uint8_t **ret, size_t *ret_size)
{
    _cleanup_close_ int fd = RET_NERRNO(openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    _cleanup_free_ uint8_t *data = NULL;
    struct stat st;
    int r;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > max)
        return -EBADMSG;
    data = malloc((size_t)st.st_size + 1);
    if (!data)
        return -ENOMEM;
    r = nm_pread_file(fd, (char *)data, (size_t)st.st_size + 1, ret_size);
    if (r < 0)
        return r == -E2BIG ? -EBADMSG : r;
    *ret = STEAL_PTR(data);
    return 0;
}

int nm_read_to_end(int fd, size_t max, char **ret, size_t *ret_size)
{
    _cleanup_free_ char *text = malloc(max + 1);
    size_t size = 0;

    if (!text)
        return -ENOMEM;
    for (;;) {
        ssize_t n = read(fd, text + size, max + 1 - size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        size += (size_t)n;
        if (size > max)
            return -E2BIG;
    }
    *ret_size = size;
    *ret = STEAL_PTR(text);
    return 0;
}

int nm_fdopendir(int fd, DIR **ret)
{
    _cleanup_close_ int owned = fd;
    DIR *dir;

    if (fd < 0)
        return fd;
    dir = fdopendir(fd);
    if (!dir)
        return -errno;
    (void)STEAL_FD(owned);
    *ret = dir;
    return 0;
}

int nm_opendir_at(int dir_fd, DIR **ret)
{
    return nm_fdopendir(RET_NERRNO(openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), ret);
}

int nm_open_regular_at(int dir_fd, const char *name)
{
    _cleanup_close_ int fd = RET_NERRNO(
        openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600));
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    return S_ISREG(st.st_mode) ? STEAL_FD(fd) : -EBADMSG;
}

int nm_write_file_at(int dir_fd, const char *name, const char *text)
{
    _cleanup_close_ int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    size_t len = strlen(text);
    ssize_t n;

    if (fd < 0)
        return -errno;
    do
        n = write(fd, text, len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    return (size_t)n == len ? 0 : -EIO;
}

int nm_write_all(int fd, const char *data, size_t size)
{
    assert(fd >= 0 && (data || size == 0));
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

int nm_pwrite_all(int fd, const char *data, size_t size, off_t offset)
{
    assert(fd >= 0 && (data || size == 0));
    while (size > 0) {
        ssize_t n = pwrite(fd, data, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        data += n;
        size -= (size_t)n;
        offset += n;
    }
    return 0;
}

static int write_new(int dir_fd, const char *name, const char *data, size_t size, mode_t mode)
{
    _cleanup_close_ int fd =
        openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);

    return fd < 0 ? -errno : nm_write_all(fd, data, size);
}

int nm_write_bytes_atomic_at(int dir_fd, const char *name, const void *data, size_t size, mode_t mode)
{
    char tmp[256];
    int r;

    assert(name[0] && data && !(mode & ~(mode_t)07777));
    if ((size_t)snprintf(tmp, sizeof tmp, ".%s.new", name) >= sizeof tmp)
        return -ENAMETOOLONG;
    r = write_new(dir_fd, tmp, data, size, mode);
    if (r >= 0)
        r = RET_NERRNO(renameat(dir_fd, tmp, dir_fd, name));
    if (r < 0)
        (void)unlinkat(dir_fd, tmp, 0);
    return r;
}

int nm_write_file_atomic_at(int dir_fd, const char *name, const char *text, mode_t mode)
{
    return nm_write_bytes_atomic_at(dir_fd, name, text, strlen(text), mode);
}

static int make_parents(const char *path, mode_t mode)
{
    _cleanup_free_ char *copy = strdup(path);

    if (!copy)
        return -ENOMEM;
    for (char *p = copy + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (mkdir(copy, mode) < 0 && errno != EEXIST)
            return -errno;
        *p = '/';
    }
    return 0;
}

int nm_mkdir_p(const char *path, mode_t mode)
{
    int r = RET_NERRNO(mkdir(path, mode));
    struct stat st;

    if (r == -ENOENT && *path) { /* usually, all parents exist */
        r = make_parents(path, mode);
        if (r >= 0)
            r = RET_NERRNO(mkdir(path, mode));
    }
    if (r != -EEXIST)
        return r;
    /* An existing path must be a directory, or a symlink to one. */
    if (stat(path, &st) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int nm_check_mkdir_p(const char *path)
{
    _cleanup_free_ char *copy = strdup(path);
    struct stat st;
    char *dir;

    if (!copy)
        return -ENOMEM;
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
    if (errno != ENOENT || !*path || lstat(path, &st) == 0)
        return -errno; /* a dangling symlink exists, so mkdir() would fail with the same error */
    /* find the nearest existing parent, in which the first directory would be created */
    for (dir = dirname(copy); stat(dir, &st) < 0; dir = dirname(dir))
        if (errno != ENOENT || !dir[1])
            return -errno;
    return S_ISDIR(st.st_mode) ? RET_NERRNO(faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS)) : -ENOTDIR;
}

static int open_how(int root_fd, const char *path, const struct open_how *how)
{
    for (int tries = 0;; tries++) {
        int r = RET_NERRNO(syscall(SYS_openat2, root_fd, path, how, sizeof *how));
        /* EAGAIN: a rename or mount happened while the kernel resolved ".."; openat2(2) recommends to retry. */
        if (r != -EINTR && (r != -EAGAIN || tries >= 8))
            return r;
    }
}

int nm_open_beneath(int root_fd, const char *path, int flags)
{
    const struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };

    assert(root_fd >= 0 && !(flags & O_CREAT));
    return open_how(root_fd, path, &how);
}

int nm_open_plain_beneath(int root_fd, const char *path, int flags)
{
    const struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };

    assert(root_fd >= 0 && !(flags & O_CREAT));
    return open_how(root_fd, path, &how);
}

int nm_open_in_root(int root_fd, const char *path, int flags)
{
    const struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };

    assert(root_fd >= 0 && !(flags & O_CREAT));
    return open_how(root_fd, path, &how);
}

int nm_open_no_links(const char *path, int flags)
{
    const struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };

    assert(*path == '/' && !(flags & O_CREAT));
    return open_how(AT_FDCWD, path, &how);
}

int nm_check_private_dir(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    return (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH))
               ? 0
               : -EPERM;
}

#define DEPTH_MAX 64

/* Returns whether other users can't replace entries that they don't own: the directory belongs to root or this user,
 * and others can't write to it unless it has the sticky bit. */
static bool is_safe_dir(const struct stat *st)
{
    return S_ISDIR(st->st_mode) && (st->st_uid == 0 || st->st_uid == geteuid()) &&
           (!(st->st_mode & (S_IWGRP | S_IWOTH)) || (st->st_mode & S_ISVTX));
}

int nm_check_parent_dirs(int dir_fd)
{
    _cleanup_close_ int at = RET_NERRNO(fcntl(dir_fd, F_DUPFD_CLOEXEC, 0));
    struct stat here, there;

    if (at < 0)
        return at;
    if (fstat(at, &here) < 0)
        return -errno;
    for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
        int above;

        if (!is_safe_dir(&here))
            return -EPERM;
        above = RET_NERRNO(openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (above < 0)
            return above;
        (void)nm_close(at);
        at = above;
        if (fstat(at, &there) < 0)
            return -errno;
        if (here.st_dev == there.st_dev && here.st_ino == there.st_ino)
            return 0;
        here = there;
    }
    return -ELOOP;
}

void nm_closefrom(int fd)
{
    assert(fd > STDERR_FILENO);
    if (syscall(SYS_close_range, (unsigned)fd, ~0U, 0) == 0)
        return;
    /* close_range(2) failed, for instance because of a system call filter */
    for (int end = (int)sysconf(_SC_OPEN_MAX); fd < end; fd++)
        (void)close(fd);
}
