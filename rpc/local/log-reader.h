/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads one stream of a container's output in order, over the files that it may be kept in (agent/launch/output.h) and
 * while they are written. Where bytes are missing at the place that is to be read, because they were cut, it goes on
 * with the next that are there, and the line with which their file begins says so.
 */

#include "agent/status.h"

struct nm_log_reader {
    struct nm_manager *manager;
    struct nm_caller caller;
    char container_id[NM_ID_SIZE], stream[8];
    uint64_t from, tail; /* where to begin: at this byte of output, or at the newest lines; UINT64_MAX: no tail */
    struct nm_output_piece piece;
    uint64_t next;       /* of the open file: what is read next, its head included */
    uint64_t until;      /* no further than this byte of output */
    bool is_open;
};

/* `from` and `tail` are set by the caller, the rest by this. */
void nm_log_reader_init(struct nm_log_reader *r, struct nm_manager *m, const struct nm_caller *who, const char *id,
                        const char *stream);
/* Opens the first file. Returns 0, also if there is none yet, or as a handler does. */
int nm_log_reader_open(struct nm_log_reader *r, struct nm_problem *ret_problem);
/* Whoever doesn't follow comes to an end, however fast the log grows: what there is by now. *ret_size: how much is to
 * be read; *ret_whole: nothing of it has been cut so far, or will be in a moment. Returns 0, or as a handler does. */
int nm_log_reader_stop_at_end(struct nm_log_reader *r, uint64_t *ret_size, bool *ret_whole,
                              struct nm_problem *ret_problem);
/* The next bytes; 0: there are none yet, or -errno. *ret_moved: another file is open now, to be watched. */
ssize_t nm_log_reader_read(struct nm_log_reader *r, char *buf, size_t max, bool *ret_moved);
/* Nothing was written yet that is kept. */
bool nm_log_reader_is_empty(const struct nm_log_reader *r);
/* In the output: the byte that is read next. */
uint64_t nm_log_reader_position(const struct nm_log_reader *r);
/* And the first of the `n` that were read last; for a line of nmd's own, the byte that follows it. */
uint64_t nm_log_reader_begin_of(const struct nm_log_reader *r, size_t n);
void nm_log_reader_done(struct nm_log_reader *r);
