/* SPDX-License-Identifier: Apache-2.0 */

/* See user-file.h. */

#include "shuffle/user-file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include "util/error.h"

int nm_shuffle_open_local(const char *name)
{
    int fd = RET_NERRNO(open(name, O_PATH | O_DIRECTORY | O_CLOEXEC));

    return fd == -ENOTDIR ? -ENOENT : fd;
}

/* Opens a path without following links. */
static int open_beneath(int dir, const char *path, uint64_t flags)
{
    const struct open_how how = {
        .flags = flags,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    int fd = RET_NERRNO(syscall(SYS_openat2, dir, path, &how, sizeof how));

    return fd == -ENOTDIR ? -ENOENT : fd;
}

int nm_shuffle_open_beneath(int dir, const char *path, int *ret_fd)
{
    int fd = open_beneath(dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

int nm_shuffle_check_file(uid_t uid, const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == uid ? 0 : -EPERM;
}

/* With O_NONBLOCK a FIFO does not block the open. */
#define FILE_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)

/* Takes over the descriptor, also if it is a negative error. */
static int check_opened(int opened, uid_t uid, struct stat *ret_st, int *ret_fd)
{
    _cleanup_close_ int fd = opened;
    struct stat st;
    int r;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if ((r = nm_shuffle_check_file(uid, &st)) < 0)
        return r;
    *ret_st = st;
    *ret_fd = STEAL_FD(fd);
    return 0;
}

int nm_shuffle_open_file(int dir, uid_t uid, const char *name, struct stat *ret_st, int *ret_fd)
{
    return check_opened(RET_NERRNO(openat(dir, name, FILE_FLAGS)), uid, ret_st, ret_fd);
}

int nm_shuffle_open_file_beneath(int dir, uid_t uid, const char *path, struct stat *ret_st, int *ret_fd)
{
    return check_opened(open_beneath(dir, path, FILE_FLAGS), uid, ret_st, ret_fd);
}
