/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmd's side of a log (output.h): reading, measuring and shortening it. Directories are read with suspicion: nothing
 * but a plain file is opened, and none through a link. */

#include "agent/launch/output.h"

/* One of the files of a log. */
struct nm_output_piece {
    int fd;        /* the caller's */
    uint64_t base; /* bytes of output before its first */
    uint64_t head; /* bytes at its beginning that are no output */
    bool newest;   /* none comes after it, as yet */
};

/* Opens the file that has the byte of output `from`, or else the next one that is kept; the newest if there is none
 * (yet). -ENOENT: there is no log. -ELOOP, -EBADMSG and the like: there is something that is no plain file. */
int nm_output_piece_open(int dir_fd, const char *stream, uint64_t from, struct nm_output_piece *ret);

/* The plain file of that name that a program has written itself, as this user: all of it is output. -ENOENT, -ELOOP,
 * -EBADMSG as above; -EPERM: it is somebody else's. */
int nm_output_own_open(int dir_fd, const char *stream, uid_t uid, struct nm_output_piece *ret);

/* When a stream's bytes were written (output-times.h). -ENOENT: that isn't known; else as above. */
int nm_output_times_open(int dir_fd, const char *stream, int *ret_fd);

/* Is there an older file? */
int nm_output_find_older(int dir_fd, const char *stream, bool *ret_has, uint64_t *ret_base);

/* What the logs in this directory take up on disk. */
uint64_t nm_output_disk_bytes(int dir_fd);

/* Of a container that has ended: leaves about `keep` bytes of each stream, the newest, behind a line that says so.
 * Needs no space. Returns how much less is on disk, or -errno. */
int64_t nm_output_shorten(int dir_fd, uint64_t keep);
