/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Records when a container's output was written. Each stream of a log (output.h) has a file of points beside it, in the
 * order in which they were made. A point says: the output from this byte on was written at this time or later. The log
 * itself stays byte for byte what the command wrote.
 *
 * A point is made for output written at least a millisecond after the previous point. The number of points is limited,
 * so that their file takes at most a sixteenth of the log's limit. When the file is full, points of output that is no
 * longer kept are removed. If that is not enough, every second point is removed, and from then on points are made half
 * as often. In a log of very many writes a byte's time may thus be that of earlier output, but never of later output.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NM_OUTPUT_TIMES_SHARE 16 /* fraction of the log's limit */
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

/* Notes that the bytes about to be written at `offset` are written now. log_max_bytes: the stream's limit (0: no
 * limit); kept_from: the first byte that is still kept. If the point cannot be written, the next call makes a point. */
void nm_output_times_note(struct nm_output_times *t, int dir_fd, const char *stream, uint64_t log_max_bytes,
                          uint64_t offset, uint64_t kept_from);
void nm_output_times_close(struct nm_output_times *t);

/* Removes all points but the newest. */
void nm_output_times_shorten(int dir_fd, const char *stream);

/* ---- reading --------------------------------------------------------------- */

/* A reader of the times, which advances together with a reader of the output. */
struct nm_output_times_reader {
    int fd;     /* negative: no times exist */
    uint64_t i; /* number of points before `next` */
    struct nm_output_point at, next; /* the last point that applies, and its successor */
    bool has_at, has_next;
};

/* Initializes the reader, which takes ownership of the descriptor. */
void nm_output_times_reader_init(struct nm_output_times_reader *r, int fd);
void nm_output_times_reader_done(struct nm_output_times_reader *r);
/* Returns when the byte at `offset` was written, or 0 if the time is not known. Call it with ascending offsets. */
uint64_t nm_output_times_of(struct nm_output_times_reader *r, uint64_t offset);
/* Returns whether the file was replaced, so that newer points are in another file. */
bool nm_output_times_reader_is_old(const struct nm_output_times_reader *r);
/* Returns the first byte that was written at this time or later; UINT64_MAX if no such byte is known. */
uint64_t nm_output_times_since(int fd, uint64_t realtime_usec);
