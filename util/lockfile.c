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
#include "util/macros.h"

static const struct flock whole_file = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

/* Whoever holds the lock may end between the refusal and the question. */
static int ask_holder(int fd, pid_t *ret)
{
    struct flock lock = whole_file;

    if (fcntl(fd, F_GETLK, &lock) < 0)
        return -errno;
    *ret = lock.l_type == F_UNLCK ? 0 : lock.l_pid > 0 ? lock.l_pid : -EBUSY;
    return 0;
}

/* A lock on a file that was removed meanwhile excludes nobody who comes later. */
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
        r = ask_holder(fd, ret_holder);
        return r < 0 ? r : -EBUSY;
    }
    if (r < 0)
        return r;
    if (!is_at_path(fd, path))
        return -EAGAIN;
    (void)STEAL_FD(fd); /* open until the process ends */
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

pid_t nm_lockfile_holder(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    pid_t holder = 0;
    int r;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    r = ask_holder(fd, &holder);
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
