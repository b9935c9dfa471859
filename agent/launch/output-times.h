/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Records when a container's output was written. Beside each stream of a log (output.h), there is a file of points, in
 * the order of their creation. A point means: the output from this byte on was written at this time or later. The times
 * are in a separate file, so that the log has exactly the bytes that the command has written.
 *
 * A point is made for output written at least a millisecond after the previous point. The number of points is limited,
 * so that their file takes at most a sixteenth of the log's limit. When the file is full, points of removed output are
 * removed. If more than half of the points remain, every second point is removed, and from then on points are made half
 * as often. So in a log with very many writes, the time found for a byte may be too early, but is never too late.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NM_OUTPUT_TIMES_SHARE 16 /* the file's maximum size as a fraction of the log's limit */
#define NM_OUTPUT_TIMES_NAME_SIZE 24
#define NM_OUTPUT_TIMES_KEPT 256 /* points left when the log of an ended container is shortened */

struct nm_output_point {
    uint64_t offset; /* byte of the output */
    uint64_t realtime_usec;
};

/* The writer of the times of one stream. */
struct nm_output_times {
    int fd;          /* descriptor of the file; negative: not opened yet */
    uint64_t n, max; /* number of points and its limit; max 0: not known yet */
    uint64_t apart_usec, last_usec;
};
#define NM_OUTPUT_TIMES_NULL ((struct nm_output_times){.fd = -EBADF})

/* Returns the file's name, such as "stdout.times". */
void nm_output_times_name(const char *stream, char buf[NM_OUTPUT_TIMES_NAME_SIZE]);

/* Records the present time for the bytes that the caller will write at `offset`. log_max_bytes: the stream's limit (0:
 * no limit). kept_from: offset of the first byte that was not removed from the log. If the point can't be written, the
 * next call makes a point. */
void nm_output_times_note(struct nm_output_times *t, int dir_fd, const char *stream, uint64_t log_max_bytes,
                          uint64_t offset, uint64_t kept_from);
void nm_output_times_close(struct nm_output_times *t);

/* Removes all points except the newest NM_OUTPUT_TIMES_KEPT points. */
void nm_output_times_shorten(int dir_fd, const char *stream);

/* ---- reading --------------------------------------------------------------- */

/* A reader of the times, which advances together with a reader of the output. */
struct nm_output_times_reader {
    int fd;     /* negative: no times exist */
    uint64_t i; /* number of points before `next` */
    struct nm_output_point at, next; /* the last point at or before the requested offset, and the next point */
    bool has_at, has_next;
};

/* Initializes the reader, which takes ownership of the descriptor. */
void nm_output_times_reader_init(struct nm_output_times_reader *r, int fd);
void nm_output_times_reader_done(struct nm_output_times_reader *r);
/* Returns when the byte at `offset` was written, or 0 if the time is not known. Call it with ascending offsets. */
uint64_t nm_output_times_of(struct nm_output_times_reader *r, uint64_t offset);
/* Returns whether the file was replaced, so that newer points are in the new file. */
bool nm_output_times_reader_is_old(const struct nm_output_times_reader *r);
/* Returns the offset of the first byte that was written at this time or later, or UINT64_MAX if no such byte is
 * known. */
uint64_t nm_output_times_since(int fd, uint64_t realtime_usec);
