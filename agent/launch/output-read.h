/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads, measures and shortens a log (output.h) for nmd. The contents of the log directory are not trusted: only
 * regular files are opened, and symbolic links are not followed. */

#include "agent/launch/output.h"

/* One of the files of a log. */
struct nm_output_piece {
    int fd;        /* owned by the caller */
    uint64_t base; /* number of output bytes before the first byte of this file */
    uint64_t head; /* length of the head: bytes at the file's beginning that are not output */
    bool newest;   /* no newer file exists yet */
};

/* Opens the file with the byte `from` of the output. If this byte was removed, opens the oldest file. If the byte was
 * not written yet, opens the newest file. Returns -ENOENT if there is no log, and -ELOOP, -EBADMSG or a similar error
 * if the name is not a regular file. */
int nm_output_piece_open(int dir_fd, const char *stream, uint64_t from, struct nm_output_piece *ret);

/* Opens a regular file that a container's program has written without the shim. All bytes of the file are output.
 * Returns the errors of nm_output_piece_open(), or -EPERM if the file's owner is not `uid`. */
int nm_output_own_open(int dir_fd, const char *stream, uid_t uid, struct nm_output_piece *ret);

/* Opens the file with the times at which a stream's bytes were written (output-times.h). Returns -ENOENT if there is no
 * such file, or the errors of nm_output_piece_open(). */
int nm_output_times_open(int dir_fd, const char *stream, int *ret_fd);

/* Returns in *ret_has whether the stream has an older file, and in *ret_base the BASE of its name. */
int nm_output_find_older(int dir_fd, const char *stream, bool *ret_has, uint64_t *ret_base);

/* Returns the disk space that the logs in this directory occupy. */
uint64_t nm_output_disk_bytes(int dir_fd);

/* Shortens the log of an ended container to about the newest `keep` bytes of each stream, with a head that reports the
 * cut. Requires no free disk space. Returns the number of bytes freed on disk, or -errno. */
int64_t nm_output_shorten(int dir_fd, uint64_t keep);
