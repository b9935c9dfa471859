/* SPDX-License-Identifier: Apache-2.0 */

/* See output-times.h. The shim uses this code to write the times. nmd uses it to read the times, and to write the last
 * output of a killed shim. This file uses only libc, because the shim is linked with it. */

#include "agent/launch/output-times.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/macros.h"

#define POINT_BYTES sizeof(struct nm_output_point)
#define APART_USEC 1000
#define APART_MAX_USEC (UINT64_C(3600) * 1000000)
#define LEAST_POINTS 256
#define MOST_POINTS 65536
#define BLOCK 256 /* points per read */

void nm_output_times_name(const char *stream, char buf[NM_OUTPUT_TIMES_NAME_SIZE])
{
    (void)snprintf(buf, NM_OUTPUT_TIMES_NAME_SIZE, "%s.times", stream);
}

static uint64_t now_usec(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint64_t points_for(uint64_t log_max_bytes)
{
    uint64_t n = log_max_bytes / NM_OUTPUT_TIMES_SHARE / POINT_BYTES;

    if (log_max_bytes == 0 || n > MOST_POINTS)
        return MOST_POINTS;
    return n < LEAST_POINTS ? LEAST_POINTS : n;
}

static int open_file(int dir_fd, const char *name, int flags, struct stat *ret_st)
{
    _cleanup_close_ int fd = openat(dir_fd, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);

    if (fd < 0)
        return -errno;
    if (fstat(fd, ret_st) < 0)
        return -errno;
    if (!S_ISREG(ret_st->st_mode) || ret_st->st_nlink != 1)
        return -ELOOP;
    return STEAL_FD(fd);
}

static bool read_point(int fd, uint64_t i, struct nm_output_point *ret)
{
    return pread(fd, ret, POINT_BYTES, (off_t)(i * POINT_BYTES)) == (ssize_t)POINT_BYTES;
}

/* Creates the file when the first output is written, so that the start of a container does not wait for it. */
static int open_times(struct nm_output_times *t, int dir_fd, const char *stream, uint64_t log_max_bytes)
{
    char name[NM_OUTPUT_TIMES_NAME_SIZE];
    struct nm_output_point last;
    struct stat st;

    nm_output_times_name(stream, name);
    t->fd = open_file(dir_fd, name, O_RDWR | O_CREAT | O_APPEND, &st);
    if (t->fd < 0)
        return t->fd;
    t->n = (uint64_t)st.st_size / POINT_BYTES;
    t->max = points_for(log_max_bytes);
    t->apart_usec = APART_USEC;
    t->last_usec = t->n > 0 && read_point(t->fd, t->n - 1, &last) ? last.realtime_usec : 0;
    return 0;
}

/* Returns the index of the last point at or before the byte `offset`, by binary search. */
static uint64_t find_offset(int fd, uint64_t n, uint64_t offset)
{
    uint64_t low = 0, high = n;
    struct nm_output_point p;

    while (low + 1 < high) {
        uint64_t middle = low + (high - low) / 2;

        if (!read_point(fd, middle, &p))
            break;
        if (p.offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Copies every `step`th point from the point `first` on. With a step of 2, the newest point may not be copied. This
 * does no harm, because the next output makes a new point. */
static int copy_points(int from, uint64_t first, uint64_t n, unsigned step, int to, uint64_t *ret_n)
{
    struct nm_output_point in[BLOCK], out[BLOCK];
    uint64_t copied = 0;
    int r;

    for (uint64_t i = first; i < n;) {
        size_t want = (size_t)(n - i < BLOCK ? n - i : BLOCK), k = 0;

        if (pread(from, in, want * POINT_BYTES, (off_t)(i * POINT_BYTES)) != (ssize_t)(want * POINT_BYTES))
            return -EIO;
        for (size_t j = 0; j < want; j++)
            if ((i + j - first) % step == 0)
                out[k++] = in[j];
        r = nm_write_all(to, (const char *)out, k * POINT_BYTES);
        if (r < 0)
            return r;
        copied += k;
        i += want;
    }
    *ret_n = copied;
    return 0;
}

/* Removes points. Writes the remaining points to a new file, so that a reader of the old file does not get wrong
 * times. */
static int thin(struct nm_output_times *t, int dir_fd, const char *stream, uint64_t kept_from)
{
    char name[NM_OUTPUT_TIMES_NAME_SIZE], fresh[NM_OUTPUT_TIMES_NAME_SIZE + 8];
    uint64_t first = find_offset(t->fd, t->n, kept_from), n = 0;
    unsigned step = t->n - first > t->max / 2 ? 2 : 1;
    _cleanup_close_ int fd = -EBADF;
    struct stat st;
    int r;

    nm_output_times_name(stream, name);
    (void)snprintf(fresh, sizeof fresh, ".%s.new", name);
    fd = open_file(dir_fd, fresh, O_RDWR | O_CREAT | O_APPEND | O_TRUNC, &st);
    if (fd < 0)
        return fd;
    r = copy_points(t->fd, first, t->n, step, fd, &n);
    if (r >= 0)
        r = RET_NERRNO(renameat(dir_fd, fresh, dir_fd, name));
    if (r < 0) {
        (void)unlinkat(dir_fd, fresh, 0);
        return r;
    }
    (void)close(t->fd);
    t->fd = STEAL_FD(fd);
    t->n = n;
    t->apart_usec = step == 2 ? t->apart_usec * 2 : t->apart_usec / 2;
    t->apart_usec = NM_MIN(NM_MAX(t->apart_usec, (uint64_t)APART_USEC), (uint64_t)APART_MAX_USEC);
    return 0;
}

/* Adds a point if enough time has passed since the last point, or if the clock was set back. */
void nm_output_times_note(struct nm_output_times *t, int dir_fd, const char *stream, uint64_t log_max_bytes,
                          uint64_t offset, uint64_t kept_from)
{
    struct nm_output_point p = {offset, now_usec()};
    ssize_t n;

    if (t->last_usec != 0 && p.realtime_usec >= t->last_usec && p.realtime_usec - t->last_usec < t->apart_usec)
        return;
    if (t->fd < 0 && open_times(t, dir_fd, stream, log_max_bytes) < 0)
        return;
    if (t->n >= t->max && thin(t, dir_fd, stream, kept_from) < 0)
        return;
    n = write(t->fd, &p, sizeof p);
    if (n == (ssize_t)sizeof p) {
        t->n++;
        t->last_usec = p.realtime_usec;
    } else if (n > 0) {
        (void)!ftruncate(t->fd, (off_t)(t->n * POINT_BYTES)); /* remove a partly written point */
    }
}

void nm_output_times_close(struct nm_output_times *t)
{
    t->fd = nm_close(t->fd);
}

/* Changes the file itself, because there may be no disk space for a copy. */
void nm_output_times_shorten(int dir_fd, const char *stream)
{
    struct nm_output_point kept[NM_OUTPUT_TIMES_KEPT];
    char name[NM_OUTPUT_TIMES_NAME_SIZE];
    _cleanup_close_ int fd = -EBADF;
    struct stat st;
    uint64_t n;

    nm_output_times_name(stream, name);
    fd = open_file(dir_fd, name, O_RDWR, &st);
    n = fd < 0 ? 0 : (uint64_t)st.st_size / POINT_BYTES;
    if (n <= NM_OUTPUT_TIMES_KEPT)
        return;
    if (pread(fd, kept, sizeof kept, (off_t)((n - NM_OUTPUT_TIMES_KEPT) * POINT_BYTES)) != (ssize_t)sizeof kept ||
        pwrite(fd, kept, sizeof kept, 0) != (ssize_t)sizeof kept || ftruncate(fd, sizeof kept) < 0)
        (void)unlinkat(dir_fd, name, 0);
}

/* ---- reading --------------------------------------------------------------- */

void nm_output_times_reader_init(struct nm_output_times_reader *r, int fd)
{
    *r = (struct nm_output_times_reader){.fd = fd};
}

void nm_output_times_reader_done(struct nm_output_times_reader *r)
{
    r->fd = nm_close(r->fd);
}

static uint64_t count_points(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size / POINT_BYTES : 0;
}

/* Sets the reader to the point of its first offset. Later calls have ascending offsets, so they only read a few more
 * points. */
static void begin(struct nm_output_times_reader *r, uint64_t offset)
{
    uint64_t n = count_points(r->fd);

    r->i = n > 0 ? find_offset(r->fd, n, offset) : 0;
}

uint64_t nm_output_times_of(struct nm_output_times_reader *r, uint64_t offset)
{
    if (r->fd < 0)
        return 0;
    if (!r->has_at && !r->has_next)
        begin(r, offset);
    for (;;) {
        if (!r->has_next)
            r->has_next = read_point(r->fd, r->i, &r->next);
        if (!r->has_next || r->next.offset > offset)
            break;
        r->at = r->next;
        r->has_at = true;
        r->has_next = false;
        r->i++;
    }
    return r->has_at ? r->at.realtime_usec : 0;
}

bool nm_output_times_reader_is_old(const struct nm_output_times_reader *r)
{
    struct stat st;

    return r->fd < 0 || (fstat(r->fd, &st) == 0 && st.st_nlink == 0);
}

/* Searches backwards from the newest point. If the clock was set, points are not sorted by time, and the caller wants
 * the newest output. */
uint64_t nm_output_times_since(int fd, uint64_t realtime_usec)
{
    struct nm_output_point block[BLOCK];
    uint64_t n = count_points(fd), found = UINT64_MAX;

    while (n > 0) {
        uint64_t k = n < BLOCK ? n : BLOCK;

        if (pread(fd, block, k * POINT_BYTES, (off_t)((n - k) * POINT_BYTES)) != (ssize_t)(k * POINT_BYTES))
            break;
        for (uint64_t i = k; i-- > 0;) {
            if (block[i].realtime_usec < realtime_usec)
                return found;
            found = block[i].offset;
        }
        n -= k;
    }
    return found;
}
