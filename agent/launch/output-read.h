/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads, measures and shortens a log (output.h) for nmd. The directories' contents are not trusted: only plain files
 * are opened, and no links are followed. */

#include "agent/launch/output.h"

/* One of the files of a log. */
struct nm_output_piece {
    int fd;        /* owned by the caller */
    uint64_t base; /* number of output bytes before the first byte of this file */
    uint64_t head; /* number of bytes at the file's beginning that are not output */
    bool newest;   /* no newer file exists yet */
};

/* Opens the file that has the byte `from` of the output, or else the next file that is kept, or the newest file if no
 * file has the byte (yet). Returns -ENOENT if there is no log, and -ELOOP, -EBADMSG or the like if the name is not a
 * plain file. */
int nm_output_piece_open(int dir_fd, const char *stream, uint64_t from, struct nm_output_piece *ret);

/* Opens a plain file of that name that a program has written itself as this user; all its bytes are output. Returns
 * -ENOENT, -ELOOP and -EBADMSG as above, or -EPERM if another user owns the file. */
int nm_output_own_open(int dir_fd, const char *stream, uid_t uid, struct nm_output_piece *ret);

/* Opens the times at which a stream's bytes were written (output-times.h). Returns -ENOENT if the times are not known,
 * or the errors above. */
int nm_output_times_open(int dir_fd, const char *stream, int *ret_fd);

/* Finds out whether there is an older file. */
int nm_output_find_older(int dir_fd, const char *stream, bool *ret_has, uint64_t *ret_base);

/* Returns the disk space that the logs in this directory occupy. */
uint64_t nm_output_disk_bytes(int dir_fd);

/* Shortens the log of an ended container to about `keep` bytes of each stream, the newest, after a line that reports
 * the cut. Needs no disk space. Returns the number of bytes freed on disk, or -errno. */
int64_t nm_output_shorten(int dir_fd, uint64_t keep);
