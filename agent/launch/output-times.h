/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * When a container's output was written: beside each stream of a log (output.h) a file of points "what comes from this
 * byte of the output on was written at this time or later", in the order in which they were made. The log itself stays
 * what the command wrote, to the byte.
 *
 * A point is made for what is written a millisecond or more after the point before. There is a most of them, so that
 * the file takes up no more than a sixteenth of what the log may: when it is full, those of output that is no longer
 * kept go, and if that isn't enough every second one, and points are made half as often from then on. So in a log of
 * very many writes a time is that of somewhat earlier output, never of later.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NM_OUTPUT_TIMES_SHARE 16 /* of the log's limit */
#define NM_OUTPUT_TIMES_NAME_SIZE 24
#define NM_OUTPUT_TIMES_KEPT 256 /* when the log of an ended container is shortened */

struct nm_output_point {
    uint64_t offset; /* of the output */
    uint64_t realtime_usec;
};

/* The writer of one stream's. */
struct nm_output_times {
    int fd;          /* of its file; negative: not opened yet */
    uint64_t n, max; /* points that there are and may be; max 0: not known yet */
    uint64_t apart_usec, last_usec;
};
#define NM_OUTPUT_TIMES_NULL ((struct nm_output_times){.fd = -EBADF})

/* "stdout.times" */
void nm_output_times_name(const char *stream, char buf[NM_OUTPUT_TIMES_NAME_SIZE]);

/* What is about to be written at `offset` is written now. log_max_bytes: the stream's limit (0: none); kept_from: what
 * is before that byte is gone. A point that can't be written is made up for with the next bytes. */
void nm_output_times_note(struct nm_output_times *t, int dir_fd, const char *stream, uint64_t log_max_bytes,
                          uint64_t offset, uint64_t kept_from);
void nm_output_times_close(struct nm_output_times *t);

/* Leaves the newest points. */
void nm_output_times_shorten(int dir_fd, const char *stream);

/* ---- reading --------------------------------------------------------------- */

/* Moves along with a reader of the output. */
struct nm_output_times_reader {
    int fd;     /* negative: there are no times */
    uint64_t i; /* points before `next` */
    struct nm_output_point at, next; /* the last one that holds, and the one after it */
    bool has_at, has_next;
};

/* Takes the descriptor. */
void nm_output_times_reader_init(struct nm_output_times_reader *r, int fd);
void nm_output_times_reader_done(struct nm_output_times_reader *r);
/* When the byte at `offset` was written, or 0: not known. To be asked in the order of bytes. */
uint64_t nm_output_times_of(struct nm_output_times_reader *r, uint64_t offset);
/* Has its file been replaced, so that what comes is told in another? */
bool nm_output_times_reader_is_old(const struct nm_output_times_reader *r);
/* From which byte on it was written at this time or later; UINT64_MAX: nothing was, as far as is known. */
uint64_t nm_output_times_since(int fd, uint64_t realtime_usec);
