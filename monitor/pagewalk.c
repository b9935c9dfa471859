/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads smaps_rollup, which takes the lock of the target's address space. Other processes can hold this lock for long:
 * a fork of a large process under memory pressure, or deliberately a process whose page fault waits for its own FUSE
 * server. A reader of the file waits until the lock is released. nmd must not wait, because its only thread serves all
 * containers. So a short-lived child reads the file. The child's wait is killable, and the child dies with nmd.
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

/* Returns -ESRCH if the process no longer has memory. Some kernels detect this only at the read, and nm_monitor_read()
 * then returns -ENOENT. -ENOENT at open() means that the kernel does not have the file, or that the process no longer
 * exists. */
static int read_rollup(const char *proc_root, pid_t pid, char *buf, size_t size)
{
    _cleanup_close_ int fd = -EBADF;
    char path[256];
    int r;

    (void)snprintf(path, sizeof path, "%s/%d/smaps_rollup", proc_root, (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    r = nm_monitor_read(fd, buf, size);
    return r == -ENOENT ? -ESRCH : r;
}

static bool process_exists(const char *proc_root, pid_t pid)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/%d", proc_root, (int)pid);
    return access(path, F_OK) == 0;
}

/* Adds one process with its proportional share, or with its resident bytes if the kernel does not provide the share
 * (too old, or not permitted). A process that has ended has freed its memory. Its resident bytes must not be used
 * instead: they would count as distinct, although a forked worker shares most of its pages with its parent. */
static void add_process(struct nm_pagewalk_sum *sum, const char *proc_root, pid_t pid, uint64_t resident_bytes)
{
    struct nm_proc_memory m = {.anon_bytes = resident_bytes};
    char buf[4096];
    int r = read_rollup(proc_root, pid, buf, sizeof buf);

    if (r == -ESRCH || (r == -ENOENT && !process_exists(proc_root, pid)))
        return;
    if (r >= 0 && nm_monitor_parse_smaps_rollup(buf, &m) < 0)
        m = (struct nm_proc_memory){.anon_bytes = resident_bytes};
    sum->resident_bytes += resident_bytes;
    sum->unique_bytes += m.anon_bytes + m.shmem_bytes;
}

static void add_processes(struct nm_pagewalk_sum *sum, const char *proc_root, const pid_t *pids,
                          const uint64_t *bytes, unsigned n, uint64_t max_bytes)
{
    for (unsigned i = 0; i < n && sum->resident_bytes < max_bytes; i++)
        if (bytes[i] > 0)
            add_process(sum, proc_root, pids[i], bytes[i]);
}

/* Runs in the child and allocates no memory. */
static _Noreturn void walk(pid_t nmd, int fd, const char *proc_root, const pid_t *pids, const uint64_t *bytes,
                           unsigned n, unsigned n_large, uint64_t max_bytes)
{
    struct nm_pagewalk_result result = {0};

    nm_inherited_end_with(nmd);
    /* The child must not keep nmd's descriptors open: sockets, locks, pipes to containers. */
    if (dup2(fd, 0) < 0 || close_range(1, ~0U, 0) < 0)
        _exit(1);
    add_processes(&result.large, proc_root, pids, bytes, n_large, max_bytes);
    add_processes(&result.others, proc_root, pids + n_large, bytes + n_large, n - n_large, max_bytes);
    _exit(write(0, &result, sizeof result) == sizeof result ? 0 : 1);
}

/*
 * Killed children that have not yet ended. Their end may take a while: if the target has died meanwhile, the child is
 * the last user of its address space and frees gigabytes of pages. These children no longer belong to a sampler, so the
 * list is global.
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

void nm_pagewalk_reap(void)
{
    reap(0);
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

int nm_pagewalk_start(struct nm_pagewalk *w, const char *proc_root, const pid_t *pids, const uint64_t *bytes,
                      unsigned n, unsigned n_large, uint64_t max_bytes)
{
    _cleanup_close_ int read_fd = -EBADF, write_fd = -EBADF;
    const pid_t self = getpid();
    int fds[2];
    pid_t pid;

    assert(n_large <= n);
    assert(w->pid == 0); /* there is one walk at a time: collect the result of the previous walk first */
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    read_fd = fds[0];
    write_fd = fds[1];
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        walk(self, write_fd, proc_root, pids, bytes, n, n_large, max_bytes);
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
        return -EIO; /* the child was killed, or ran out of memory */
    *ret = result;
    return 0;
}
