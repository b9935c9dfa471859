/* SPDX-License-Identifier: Apache-2.0 */

/* See launch-internal.h. */

#include "agent/launch/launch-internal.h"

#include <assert.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "agent/launch/output-read.h"
#include "agent/launch/shim.h"
#include "util/fileio.h"

#define BLOCK 16384

/* Opens a pipe of the shim through /proc/PID/fd. A shim of an earlier version may have another file at this number. */
static int open_pipe(pid_t shim, int number)
{
    _cleanup_close_ int fd = -EBADF;
    char path[64];
    struct stat st;

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", shim, number);
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) ? STEAL_FD(fd) : -EBADF;
}

void nm_output_drain_open(struct nm_output_drain *w, pid_t pid, const char *log_dir)
{
    assert(pid > 1 && log_dir);
    if (w->log_dir)
        return;
    w->log_dir = strdup(log_dir);
    for (int i = 0; w->log_dir && i < NM_OUTPUT_N_STREAMS; i++)
        w->fd[i] = open_pipe(pid, NM_SHIM_FD_OUTPUT + i);
}

/* Opens the log for writing. Restores the writer's state from the files that the shim has written. */
static int reopen(int dir_fd, const char *name, uint64_t max_bytes, struct nm_output *ret)
{
    struct nm_output_piece p;
    uint64_t older;
    bool has_older;
    int r;

    if (faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    r = nm_output_piece_open(dir_fd, name, UINT64_MAX, &p);
    if (r < 0)
        return r;
    (void)nm_close(p.fd);
    r = nm_output_find_older(dir_fd, name, &has_older, &older);
    if (r >= 0)
        r = nm_output_open(dir_fd, name, max_bytes, ret);
    if (r < 0)
        return r;
    ret->base = p.base;
    ret->head = p.head;
    ret->in_line = ret->size > p.head;
    ret->older = older;
    ret->has_older = has_older;
    return 0;
}

/* Copies only the present content of the pipe. A process that has left the cgroup may still have the pipe open and
 * write forever. */
static void drain(int fd, struct nm_output *o)
{
    char data[BLOCK];
    int left = 0;

    if (ioctl(fd, FIONREAD, &left) < 0)
        return;
    while (left > 0) {
        ssize_t n = read(fd, data, NM_MIN((size_t)left, sizeof data));

        if (n <= 0)
            break;
        nm_output_write(o, data, (size_t)n);
        left -= (int)n;
    }
}

static bool holds_something(int fd)
{
    int left = 0;

    return fd >= 0 && ioctl(fd, FIONREAD, &left) == 0 && left > 0;
}

void nm_output_drain_write(struct nm_output_drain *w, uint64_t max_bytes)
{
    _cleanup_close_ int dir = w->log_dir ? open(w->log_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -EBADF;

    for (int i = 0; dir >= 0 && i < NM_OUTPUT_N_STREAMS; i++) {
        struct nm_output o;

        if (!holds_something(w->fd[i]) || reopen(dir, nm_output_streams[i], max_bytes, &o) < 0)
            continue;
        drain(w->fd[i], &o);
        nm_output_close(&o);
    }
    nm_output_drain_close(w);
}

void nm_output_drain_close(struct nm_output_drain *w)
{
    for (int i = 0; i < NM_OUTPUT_N_STREAMS; i++)
        w->fd[i] = nm_close(w->fd[i]);
    free(w->log_dir);
    w->log_dir = NULL;
}
