/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Finds and kills children of an earlier nmd that have not executed their program. nmd creates a shim in its
 * container's cgroup. If the cgroup is frozen at that time, or another process stops the shim before its execve(), the
 * shim stays a copy of nmd with all of nmd's descriptors, because O_CLOEXEC closes them only at execve(). The copy
 * keeps the sockets open after nmd has ended, so the next nmd could bind neither its ports nor its socket. The copy has
 * not run any part of the command, so it can be killed.
 *
 * A process is such a copy if all of the following is true. It has nmd's user as real, effective and saved user, so
 * that another user can't imitate a copy. It has not executed a program since its fork(), which the kernel shows as
 * PF_FORKNOEXEC. It has one of nmd's lock files open; this nmd has locked these files, so only a child of an earlier
 * nmd can have them open. Program file, cgroup and command line aren't compared, because an upgrade or an option may
 * have changed them.
 */

#include "nmd/instance.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/parse.h"

#define END_MSEC 2000 /* time for the kernel to end a killed process, even a frozen one */
#define FORKNOEXEC 0x40U /* PF_FORKNOEXEC of the kernel's include/linux/sched.h */
/* nmd opens its lock files before other files, so the descriptors of lock files have low numbers. */
#define DESCRIPTORS_MAX 64

struct lock_files {
    char paths[NM_INSTANCE_LOCKS_MAX][PATH_MAX];
};

/* Returns whether the process has not executed a program since its fork(). `stat`: the process's file of this name,
 * which the kernel returns as a whole with the first read. */
static bool is_unexecuted(int dir_fd, const char *stat)
{
    _cleanup_close_ int fd = openat(dir_fd, stat, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    char text[1024];
    const char *end;
    unsigned flags;

    if (fd < 0 || (n = read(fd, text, sizeof text - 1)) <= 0)
        return false;
    text[n] = '\0';
    end = strrchr(text, ')'); /* the name of the command precedes the ')' and may contain any character */
    return end && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && (flags & FORKNOEXEC);
}

static bool is_of_own_user(int proc)
{
    char text[4096];
    const char *line;
    uid_t real, effective, saved;

    if (nm_read_file_at(proc, "status", text, sizeof text, NULL) < 0)
        return false;
    line = strstr(text, "\nUid:");
    return line && sscanf(line, "\nUid: %u %u %u", &real, &effective, &saved) == 3 && real == geteuid() &&
           effective == geteuid() && saved == geteuid();
}

/* Compares the paths of descriptors instead of calling stat() on the files, because a file on a network may not
 * respond. Does not list the descriptors, because the kernel makes an entry for each of them, and a process of another
 * program may have a hundred thousand. */
static bool has_open(int proc, const struct lock_files *locks)
{
    _cleanup_close_ int dir_fd = openat(proc, "fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char path[PATH_MAX], name[16];

    for (unsigned i = 0; dir_fd >= 0 && i < DESCRIPTORS_MAX; i++) {
        ssize_t n;

        (void)snprintf(name, sizeof name, "%u", i);
        n = readlinkat(dir_fd, name, path, sizeof path - 1);
        path[n > 0 ? n : 0] = '\0';
        for (size_t k = 0; n > 0 && k < NM_INSTANCE_LOCKS_MAX; k++)
            if (nm_streq(path, locks->paths[k]))
                return true;
    }
    return false;
}

static void end(int proc, pid_t pid)
{
    /* the process still exists in /proc, so the pidfd is for this process and not for a later process with the same
     * pid */
    _cleanup_close_ int pidfd = pidfd_open(pid, 0);
    struct pollfd p = {.fd = pidfd, .events = POLLIN};

    if (pidfd < 0 || faccessat(proc, "stat", F_OK, 0) < 0)
        return;
    nm_notice("process %d is a copy of an earlier nmd that had not yet started its program, and holds the sockets of "
              "that nmd; it is killed",
              pid);
    if (pidfd_send_signal(pidfd, SIGKILL, NULL, 0) == 0 && poll(&p, 1, END_MSEC) == 0)
        nm_warning("process %d doesn't end; the sockets that it holds can't be used", pid);
}

/* Nearly all processes have executed a program, and a node may have tens of thousands of processes. So the first check
 * opens only one file. */
static void examine(int procs, const char *name, pid_t own, const struct lock_files *locks)
{
    _cleanup_close_ int proc = -EBADF;
    char stat[32];
    uint64_t pid;

    if (nm_parse_u64(name, &pid) < 0 || pid > INT_MAX || (pid_t)pid == own)
        return;
    (void)snprintf(stat, sizeof stat, "%d/stat", (int)pid);
    if (!is_unexecuted(procs, stat))
        return;
    proc = openat(procs, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (proc >= 0 && is_unexecuted(proc, "stat") && is_of_own_user(proc) && has_open(proc, locks))
        end(proc, (pid_t)pid);
}

void nm_instance_end_children(const struct nm_instance *i)
{
    _cleanup_closedir_ DIR *dir = opendir("/proc");
    struct lock_files locks;
    const pid_t own = getpid();
    const struct dirent *e;

    nm_instance_find_locks(i, locks.paths);
    while (dir && (e = readdir(dir)))
        examine(dirfd(dir), e->d_name, own, &locks);
}
