/* SPDX-License-Identifier: Apache-2.0 */

/* See output.h. The shim uses this code to write output. nmd uses it to write the output that a killed shim has left in
 * its pipes. This file uses only libc, because the shim is linked with it. */

#include "agent/launch/output.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/error.h"
#include "util/parse.h"

const char *const nm_output_streams[NM_OUTPUT_N_STREAMS] = {"stdout", "stderr"};

void nm_output_older_name(const char *name, uint64_t base, char buf[NM_OUTPUT_NAME_SIZE])
{
    (void)snprintf(buf, NM_OUTPUT_NAME_SIZE, "%s.%" PRIu64, name, base);
}

bool nm_output_parse_older(const char *name, const char *file, uint64_t *ret_base)
{
    size_t n = strlen(name);

    return strncmp(file, name, n) == 0 && file[n] == '.' && nm_parse_u64(file + n + 1, ret_base) >= 0;
}

size_t nm_output_print_head(uint64_t base, const char *why, char buf[NM_OUTPUT_HEAD_MAX])
{
    int n = snprintf(buf, NM_OUTPUT_HEAD_MAX, "[nmd: %" PRIu64 " bytes of output came before this line; %s]\n", base,
                     why);

    return n > 0 && n < NM_OUTPUT_HEAD_MAX ? (size_t)n : 0;
}

/* Opens a regular file. With O_NONBLOCK, the open does not block if the name is a FIFO. */
static int open_file(int dir_fd, const char *name, int flags, struct stat *ret_st)
{
    _cleanup_close_ int fd = openat(dir_fd, name,
                                    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK |
                                        flags, 0600);
    struct stat st;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        return -ELOOP;
    *ret_st = st;
    return STEAL_FD(fd);
}

int nm_output_open(int dir_fd, const char *name, uint64_t max_bytes, struct nm_output *ret)
{
    struct stat st;
    int fd = open_file(dir_fd, name, 0, &st);

    if (fd < 0)
        return fd;
    *ret = (struct nm_output){
        .dir_fd = dir_fd, .fd = fd, .name = name, .max_bytes = max_bytes, .size = (uint64_t)st.st_size,
        .times = NM_OUTPUT_TIMES_NULL};
    return 0;
}

/* Writes a line that nmd adds to the output. If only a part of the line could be written, removes this part. A short
 * write does not return its reason (no space, a limit on the size of files), so the write is repeated to get an
 * errno. */
static int write_line(struct nm_output *o, const char *text, size_t n)
{
    size_t done = 0;
    ssize_t k = 0;
    int r;

    while (done < n && (k = write(o->fd, text + done, n - done)) > 0)
        done += (size_t)k;
    r = k < 0 ? -errno : -EIO;
    if (done == n) {
        o->size += n;
        return 0;
    }
    if (done > 0 && ftruncate(o->fd, (off_t)o->size) < 0)
        o->size += done; /* a part of the line remains in the file */
    return r;
}

static int write_head(struct nm_output *o)
{
    char head[NM_OUTPUT_HEAD_MAX], why[64];
    int r;

    assert(o->base > 0 && o->size == 0);
    (void)snprintf(why, sizeof why, "only the newest %" PRIu64 " KiB of the log are kept", o->max_bytes >> 10);
    r = write_line(o, head, nm_output_print_head(o->base, why, head));
    o->head = r < 0 ? 0 : o->size;
    return r;
}

/* Removes the older file. Truncates it first, so that its space is freed even if a slow reader has the file open. */
static int remove_older(struct nm_output *o)
{
    _cleanup_close_ int fd = -EBADF;
    char name[NM_OUTPUT_NAME_SIZE];

    nm_output_older_name(o->name, o->older, name);
    fd = openat(o->dir_fd, name, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
    if (unlinkat(o->dir_fd, name, 0) < 0 && errno != ENOENT)
        return -errno;
    o->has_older = false;
    return 0;
}

/* Renames the stream's file to `older`, and `fresh` to the stream's name. With a hard link, a file with the stream's
 * name exists at every moment, and a reader that watches the old file with inotify is notified, because its link count
 * changes. If the file system has no hard links, the file is renamed. */
static int exchange(const struct nm_output *o, const char *older, const char *fresh)
{
    if (linkat(o->dir_fd, o->name, o->dir_fd, older, 0) < 0 &&
        renameat(o->dir_fd, o->name, o->dir_fd, older) < 0)
        return -errno;
    return RET_NERRNO(renameat(o->dir_fd, fresh, o->dir_fd, o->name));
}

static int rotate(struct nm_output *o)
{
    char older[NM_OUTPUT_NAME_SIZE], fresh[NM_OUTPUT_NAME_SIZE];
    _cleanup_close_ int fd = -EBADF;
    struct stat st;
    int r = o->has_older ? remove_older(o) : 0;

    assert(o->max_bytes > 0 && o->fd >= 0);
    if (r < 0)
        return r;
    nm_output_older_name(o->name, o->base, older);
    (void)snprintf(fresh, sizeof fresh, ".%s.new", o->name);
    fd = open_file(o->dir_fd, fresh, O_TRUNC, &st);
    if (fd < 0)
        return fd;
    r = exchange(o, older, fresh);
    if (r < 0)
        return r;
    o->older = o->base;
    o->has_older = true;
    o->base += o->size - o->head;
    o->size = o->head = 0;
    (void)close(o->fd);
    o->fd = STEAL_FD(fd);
    return 0;
}

static int make_room(struct nm_output *o)
{
    int r = 0;

    if (o->max_bytes > 0 && o->size >= o->max_bytes / 2)
        r = rotate(o);
    /* write the head of a new file; if this fails, the file gets no head once it has output */
    if (r == 0 && o->base > 0 && o->size == 0)
        r = write_head(o);
    return r;
}

static int report_loss(struct nm_output *o)
{
    char text[160];
    int n, r;

    if (o->lost == 0)
        return 0;
    n = snprintf(text, sizeof text, "%s[nmd: %" PRIu64 " bytes of output are missing here: %s]\n",
                 o->in_line ? "\n" : "", o->lost, strerror(-o->error));
    r = write_line(o, text, NM_MIN((size_t)n, sizeof text - 1));
    if (r < 0)
        return r;
    o->lost = 0;
    o->in_line = false;
    return 0;
}

static void lose(struct nm_output *o, uint64_t n, int error)
{
    o->lost += n;
    o->lost_total += n;
    o->error = error;
}

static ssize_t write_some(struct nm_output *o, const char *data, size_t n)
{
    ssize_t k;

    if (o->max_bytes > 0 && o->size < o->max_bytes / 2)
        n = NM_MIN(n, (size_t)(o->max_bytes / 2 - o->size));
    /* record the time before the bytes are written, so that a reader of the bytes finds their time */
    nm_output_times_note(&o->times, o->dir_fd, o->name, o->max_bytes, o->base + o->size - o->head,
                         o->has_older ? o->older : o->base);
    do
        k = write(o->fd, data, n);
    while (k < 0 && errno == EINTR);
    if (k <= 0)
        return k < 0 ? -errno : -EIO;
    o->size += (uint64_t)k;
    o->in_line = data[k - 1] != '\n';
    return k;
}

void nm_output_write(struct nm_output *o, const char *data, size_t n)
{
    assert(o->max_bytes == 0 || o->max_bytes >= NM_OUTPUT_MIN_BYTES);
    while (n > 0) {
        int r = make_room(o);
        ssize_t k = r < 0 ? r : 0;

        if (k == 0)
            k = report_loss(o) ?: write_some(o, data, n);
        if (k < 0) {
            lose(o, n, (int)k);
            return;
        }
        data += k;
        n -= (size_t)k;
    }
}

void nm_output_close(struct nm_output *o)
{
    if (o->fd >= 0)
        (void)report_loss(o);
    o->fd = nm_close(o->fd);
    nm_output_times_close(&o->times);
}
