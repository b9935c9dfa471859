/* SPDX-License-Identifier: Apache-2.0 */

/*
 * smaps_rollup takes the lock of the target's address space. Others can hold that for long: a fork
 * of a large process under memory pressure, or, on purpose, a process whose page fault waits for a
 * FUSE server of its own. Whoever reads the file waits as long, and nmd, whose only thread watches
 * over everybody else, must not. So a short-lived child does it. The wait is killable, and the
 * child dies with nmd.
 */

#include "monitor/pagewalk.h"

#include <assert.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "monitor/kread.h"
#include "monitor/parse.h"
#include "util/inherited.h"

/* Proportional share of one process; its resident bytes if the kernel won't tell (too old, or not
 * allowed). */
static uint64_t proportional_bytes(const char *proc_root, pid_t pid, uint64_t resident_bytes)
{
    _cleanup_close_ int fd = -EBADF;
    struct nm_proc_memory m;
    char path[256], buf[4096];

    (void)snprintf(path, sizeof path, "%s/%d/smaps_rollup", proc_root, (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || nm_monitor_read(fd, buf, sizeof buf) < 0 ||
        nm_monitor_parse_smaps_rollup(buf, &m) < 0)
        return resident_bytes;
    return m.anon_bytes + m.shmem_bytes;
}

/* The child. Allocates nothing. */
static _Noreturn void walk(pid_t nmd, int fd, const char *proc_root, const pid_t *pids, const uint64_t *bytes,
                           unsigned n, uint64_t max_bytes)
{
    struct nm_pagewalk_result result = {0};

    nm_inherited_end_with(nmd);
    /* nmd's descriptors must not live on in here: sockets, locks, pipes to containers. */
    if (dup2(fd, 0) < 0 || close_range(1, ~0U, 0) < 0)
        _exit(1);
    for (unsigned i = 0; i < n && result.resident_bytes < max_bytes; i++) {
        if (bytes[i] == 0)
            continue;
        result.resident_bytes += bytes[i];
        result.unique_bytes += proportional_bytes(proc_root, pids[i], bytes[i]);
    }
    _exit(write(0, &result, sizeof result) == sizeof result ? 0 : 1);
}

/*
 * Children that were killed and are not yet dead. That may take a while: if the target has died
 * meanwhile, the child holds its address space last and gives gigabytes of pages back on its
 * behalf. They are nobody's any more, hence not in a struct.
 */
static pid_t dying[32];

static bool is_reaped(pid_t pid, int flags)
{
    pid_t r;

    do
        r = waitpid(pid, NULL, flags);
    while (r < 0 && errno == EINTR);
    return r != 0;
}

static void reap(pid_t pid)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(dying); i++) {
        if (dying[i] > 0 && is_reaped(dying[i], WNOHANG))
            dying[i] = 0;
        if (dying[i] == 0 && pid > 0) {
            dying[i] = is_reaped(pid, WNOHANG) ? 0 : pid;
            pid = 0;
        }
    }
    if (pid > 0)
        (void)is_reaped(pid, 0);
}

void nm_pagewalk_done(struct nm_pagewalk *w)
{
    if (w->pid == 0)
        return;
    (void)kill(w->pid, SIGKILL);
    reap(w->pid);
    w->pid = 0;
    w->fd = nm_close(w->fd);
}

int nm_pagewalk_start(struct nm_pagewalk *w, const char *proc_root, const pid_t *pids,
                      const uint64_t *bytes, unsigned n, uint64_t max_bytes)
{
    _cleanup_close_ int read_fd = -EBADF, write_fd = -EBADF;
    const pid_t self = getpid();
    int fds[2];
    pid_t pid;

    assert(w->pid == 0); /* one at a time: its result is asked for first */
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    read_fd = fds[0];
    write_fd = fds[1];
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        walk(self, write_fd, proc_root, pids, bytes, n, max_bytes);
    w->pid = pid;
    w->fd = STEAL_FD(read_fd);
    return 0;
}

int nm_pagewalk_collect(struct nm_pagewalk *w, int timeout_msec, struct nm_pagewalk_result *ret)
{
    struct pollfd poll_fd = {.fd = w->fd, .events = POLLIN};
    struct nm_pagewalk_result result;
    ssize_t n;

    assert(w->pid != 0 && ret);
    (void)poll(&poll_fd, 1, timeout_msec);
    n = read(w->fd, &result, sizeof result);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return -EAGAIN;
    nm_pagewalk_done(w);
    if (n != sizeof result)
        return -EIO; /* killed, or out of memory */
    *ret = result;
    return 0;
}
