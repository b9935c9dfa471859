/* SPDX-License-Identifier: Apache-2.0 */

/* See lockfile.h. */

#include "util/lockfile.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/macros.h"

static const struct flock whole_file = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

/* Finds the lock's holder. The holder may end between the failed lock attempt and this query. */
static int query_holder(int fd, const struct flock *what, pid_t *ret)
{
    struct flock lock = *what;

    if (fcntl(fd, F_GETLK, &lock) < 0)
        return -errno;
    *ret = lock.l_type == F_UNLCK ? 0 : lock.l_pid > 0 ? lock.l_pid : -EBUSY;
    return 0;
}

/* Returns whether fd still is the file at path. A lock on a removed file doesn't exclude processes that create the file
 * again. */
static bool is_at_path(int fd, const char *path)
{
    struct stat open_file, named;

    return fstat(fd, &open_file) == 0 && lstat(path, &named) == 0 && open_file.st_dev == named.st_dev &&
           open_file.st_ino == named.st_ino;
}

static int try_lock(const char *path, pid_t *ret_holder)
{
    _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat st;
    int r;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EBADMSG;
    r = RET_NERRNO(fcntl(fd, F_SETLK, &whole_file));
    if (r == -EACCES || r == -EAGAIN) {
        r = query_holder(fd, &whole_file, ret_holder);
        return r < 0 ? r : -EBUSY;
    }
    if (r < 0)
        return r;
    if (!is_at_path(fd, path))
        return -EAGAIN;
    (void)STEAL_FD(fd); /* the descriptor stays open until the process ends, since closing it would release the lock */
    return 0;
}

int nm_lockfile_take(const char *path, uint64_t wait_usec, pid_t *ret_holder)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    uint64_t until = nm_now_usec() + wait_usec;
    pid_t holder = 0;
    int r;

    for (;;) {
        r = try_lock(path, &holder);
        if ((r != -EBUSY && r != -EAGAIN) || nm_now_usec() >= until)
            break;
        (void)nanosleep(&pause, NULL);
    }
    if (r == -EBUSY)
        *ret_holder = NM_MAX(holder, 0);
    return r;
}

int nm_lockfile_take_byte(int fd, int64_t offset, uint64_t wait_usec, pid_t *ret_holder)
{
    const struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    uint64_t until = nm_now_usec() + wait_usec;
    pid_t holder = 0;
    int r;

    for (;;) {
        r = RET_NERRNO(fcntl(fd, F_SETLK, &byte));
        if ((r != -EACCES && r != -EAGAIN) || nm_now_usec() >= until)
            break;
        (void)nanosleep(&pause, NULL);
    }
    if (r != -EACCES && r != -EAGAIN)
        return r;
    r = query_holder(fd, &byte, &holder);
    if (r < 0)
        return r;
    *ret_holder = NM_MAX(holder, 0);
    return -EBUSY;
}

void nm_lockfile_drop_byte(int fd, int64_t offset)
{
    const struct flock byte = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};

    (void)fcntl(fd, F_SETLK, &byte);
}

pid_t nm_lockfile_holder(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    pid_t holder = 0;
    int r;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    r = query_holder(fd, &whole_file, &holder);
    return r < 0 ? r : holder;
}

const char *nm_lockfile_name_holder(pid_t holder, char buf[NM_LOCKFILE_HOLDER_SIZE])
{
    if (holder > 0)
        (void)snprintf(buf, NM_LOCKFILE_HOLDER_SIZE, "pid %d", (int)holder);
    else
        (void)snprintf(buf, NM_LOCKFILE_HOLDER_SIZE, "in another PID namespace");
    return buf;
}

/* ---- directory of locks that depend on the user alone ---------------------------------------- */

static bool is_own_dir(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static void name_dir(char buf[PATH_MAX])
{
    if (geteuid() == 0) {
        (void)snprintf(buf, PATH_MAX, "/run/nmd");
        return;
    }
    (void)snprintf(buf, PATH_MAX, "/run/user/%u", geteuid());
    if (is_own_dir(buf))
        (void)snprintf(buf, PATH_MAX, "/run/user/%u/nmd", geteuid());
    else
        (void)snprintf(buf, PATH_MAX, "/tmp/nmd-%u", geteuid());
}

static int check_own(const char *dir)
{
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd < 0 ? -errno : nm_check_private_dir(fd);
}

int nm_lockfile_dir(char buf[PATH_MAX])
{
    mode_t mask;
    int r;

    name_dir(buf);
    mask = umask(022); /* root's directory must be accessible to others, because it may contain the socket */
    r = nm_mkdir_p(buf, 0755);
    (void)umask(mask);
    return r < 0 ? r : check_own(buf);
}
