/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Kills children of an earlier nmd that have not executed their program. A shim is created in its container's cgroup.
 * If the cgroup is frozen at that time, or the process is stopped, the process stays a copy of nmd with all of nmd's
 * descriptors, because O_CLOEXEC takes effect only at exec. The copy keeps the sockets of the ended nmd listening, so
 * that the next nmd can't bind its ports and its socket. The container's command has not started, so it is safe to kill
 * the copy.
 *
 * A container may run nmd's program, too. Unlike a container, the copy has the lock file in the state directory open.
 * Only root can open this file, and this process holds the lock. Any other process with the file open has therefore
 * inherited the descriptor by fork().
 */

#include "nmd/instance.h"

#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/parse.h"

#define END_MSEC 2000 /* time limit for the end of a killed process, which may be frozen */

/* Gets the program's name without its directory and without " (deleted)", which the kernel appends after an upgrade. */
static int program_of(int proc, char ret[static PATH_MAX])
{
    char path[PATH_MAX], *deleted;
    ssize_t n = readlinkat(proc, "exe", path, sizeof path - 1);

    if (n < 0)
        return -errno;
    path[n] = '\0';
    deleted = strstr(path, " (deleted)");
    if (deleted)
        *deleted = '\0';
    (void)snprintf(ret, PATH_MAX, "%s", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    return 0;
}

static bool is_in_slice(int proc, const char *slice)
{
    char text[PATH_MAX + 4096], part[80];
    const char *line;

    if (nm_read_file_at(proc, "cgroup", text, sizeof text, NULL) < 0)
        return false;
    line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    (void)snprintf(part, sizeof part, "/%s/", slice);
    return line && strstr(line, part);
}

static bool has_open(int proc, const struct stat *file)
{
    _cleanup_closedir_ DIR *dir = NULL;
    int fd = openat(proc, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dirent *e;
    struct stat st;

    if (fd < 0 || !(dir = fdopendir(fd))) {
        (void)nm_close(fd);
        return false;
    }
    while ((e = readdir(dir)))
        if (fstatat(dirfd(dir), e->d_name, &st, 0) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino)
            return true;
    return false;
}

static void end(int proc, pid_t pid)
{
    /* the check of `proc` below shows that the pid was not reused before pidfd_open() */
    _cleanup_close_ int pidfd = pidfd_open(pid, 0);
    struct pollfd p = {.fd = pidfd, .events = POLLIN};

    if (pidfd < 0 || faccessat(proc, "exe", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    nm_notice("process %d is what an earlier nmd left of a start, with its sockets; it has run nothing and is killed",
              pid);
    if (pidfd_send_signal(pidfd, SIGKILL, NULL, 0) == 0 && poll(&p, 1, END_MSEC) == 0)
        nm_warning("process %d doesn't end; sockets that it holds can't be used", pid);
}

static void look_at(int procs, const char *name, const char *slice, const char *program, const struct stat *lock)
{
    _cleanup_close_ int proc = -EBADF;
    char other[PATH_MAX];
    uint64_t pid;

    if (nm_parse_u64(name, &pid) < 0 || pid > INT_MAX || (pid_t)pid == getpid())
        return;
    proc = openat(procs, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (proc >= 0 && program_of(proc, other) == 0 && nm_streq(other, program) && is_in_slice(proc, slice) &&
        has_open(proc, lock))
        end(proc, (pid_t)pid);
}

void nm_instance_end_children(const struct nm_instance *i)
{
    _cleanup_closedir_ DIR *dir = opendir("/proc");
    _cleanup_close_ int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char path[PATH_MAX], program[PATH_MAX];
    const struct dirent *e;
    struct stat lock;

    (void)snprintf(path, sizeof path, "%.4080s/" NM_INSTANCE_LOCK_NAME, i->state_dir);
    if (!dir || self < 0 || program_of(self, program) < 0 || stat(path, &lock) < 0)
        return;
    while ((e = readdir(dir)))
        look_at(dirfd(dir), e->d_name, i->slice, program, &lock);
}
