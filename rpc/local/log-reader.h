/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads one output stream of a container in order while the stream is being written. The stream may be stored in
 * several files (agent/launch/output.h). If the bytes at the current position have been cut, the reader continues with
 * the next bytes that exist. The first line of their file reports the cut.
 */

#include "agent/status.h"

struct nm_log_reader {
    struct nm_manager *manager;
    struct nm_caller caller;
    char container_id[NM_ID_SIZE], stream[8];
    uint64_t from, tail; /* start: byte of the output, or number of newest lines; tail UINT64_MAX: start at `from` */
    struct nm_output_piece piece;
    uint64_t next;       /* position in the open file, including its head */
    uint64_t until;      /* end position in the output */
    bool is_open;
};

/* Initializes the reader. The caller then sets `from` and `tail`. */
void nm_log_reader_init(struct nm_log_reader *r, struct nm_manager *m, const struct nm_caller *who, const char *id,
                        const char *stream);
/* Opens the first file. Returns 0, also if no file exists yet, or an error as a handler does. */
int nm_log_reader_open(struct nm_log_reader *r, struct nm_problem *ret_problem);
/* Limits the reader to the output that exists now, so that a reader that doesn't follow the output ends even if the log
 * grows quickly. *ret_size: number of bytes to read. *ret_whole: these bytes haven't been cut and won't be cut soon.
 * Returns 0, or an error as a handler does. */
int nm_log_reader_stop_at_end(struct nm_log_reader *r, uint64_t *ret_size, bool *ret_whole,
                              struct nm_problem *ret_problem);
/* Reads the next bytes. Returns 0 if no more bytes exist yet, or -errno. *ret_moved: another file was opened, and the
 * caller should watch it. */
ssize_t nm_log_reader_read(struct nm_log_reader *r, char *buf, size_t max, bool *ret_moved);
/* Returns whether no output is stored yet. */
bool nm_log_reader_is_empty(const struct nm_log_reader *r);
/* Returns the position in the output of the next byte to read. */
uint64_t nm_log_reader_position(const struct nm_log_reader *r);
/* Returns the position of the first of the `n` bytes that were read last. For a line that nmd inserted, returns the
 * position of the byte after the line. */
uint64_t nm_log_reader_begin_of(const struct nm_log_reader *r, size_t n);
void nm_log_reader_done(struct nm_log_reader *r);

/* Maximum distance from the end of the file in which the last lines are searched, so that a huge file can't block the
 * event loop. */
#define NM_TAIL_MAX_BYTES (INT64_C(4) << 20)

/* Returns the offset between `begin` and `end` at which the last *lines lines of the file begin, and subtracts the
 * lines found from *lines. A last line without newline counts. followed: another file continues after `end`, so a
 * newline just before `end` begins a line. Searches at most NM_TAIL_MAX_BYTES before the end. Returns `end` if reading
 * fails. */
off_t nm_tail_offset(int fd, off_t begin, off_t end, bool followed, uint64_t *lines);
