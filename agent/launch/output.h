/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stores a container's output on disk. The command writes into pipes. Its shim copies the bytes into files that only
 * root can access. So the command can't truncate or enlarge these files, nor exceed their limit. If the standard output
 * were a regular file, the size of this one file could not be limited: RLIMIT_FSIZE applies to all files, project
 * quotas are rarely available, and until a periodic check of the size a command may write 2 GB.
 *
 * A log has at most two files, each of half the limit:
 *
 *   stdout         the newest bytes
 *   stdout.BASE    the bytes before them; BASE: number of output bytes before the first byte of this file
 *
 * When `stdout` is full, the older file is removed, `stdout` is renamed to stdout.BASE, and a new `stdout` is created.
 * Each file except the first starts with a head: a line that nmd adds, with the number of output bytes before this
 * file. So a file stdout.BASE has a head if BASE is above 0. `stdout` has a head if there is an older file, unless
 * there was no disk space for the head or the file was truncated. A log that nmd has shortened after the container's
 * end has only one file, stdout.BASE.
 *
 * The times at which the output was written are in separate files of the same directory (output-times.h).
 *
 * Output that can't be written (no space left, an I/O error) is discarded and counted. When the file can be written
 * again, a line in the log reports the number of discarded bytes. So a full disk neither blocks nor ends a container.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/launch/output-times.h"

#define NM_OUTPUT_MIN_BYTES (64U << 10) /* minimum limit of a stream */
#define NM_OUTPUT_HEAD_MAX 160          /* maximum length of a head */
#define NM_OUTPUT_NAME_SIZE 40
#define NM_OUTPUT_N_STREAMS 2
extern const char *const nm_output_streams[NM_OUTPUT_N_STREAMS];

/* The writer of one stream. */
struct nm_output {
    int dir_fd; /* descriptor of the log's directory; borrowed */
    int fd;     /* descriptor of the newest file */
    const char *name;
    uint64_t max_bytes; /* limit of the stream on disk; 0: no limit */
    uint64_t base;      /* number of output bytes before the newest file */
    uint64_t size;      /* size of the newest file */
    uint64_t head;      /* length of the newest file's head */
    uint64_t older;     /* base of the older file, if there is one */
    bool has_older, in_line;
    uint64_t lost;      /* lost bytes not yet reported by a line */
    uint64_t lost_total;
    int error;          /* reason for the loss */
    struct nm_output_times times;
};

/* Opens or creates the newest file. Returns -ELOOP if it is not a regular file, or has several hard links. */
int nm_output_open(int dir_fd, const char *name, uint64_t max_bytes, struct nm_output *ret);
/* Writes output. Counts bytes that can't be written as lost. */
void nm_output_write(struct nm_output *o, const char *data, size_t n);
/* Writes a line that reports lost bytes, if the file can be written again, and closes the file. */
void nm_output_close(struct nm_output *o);

/* Writes the name of an older file, such as stdout.BASE, to buf. */
void nm_output_older_name(const char *name, uint64_t base, char buf[NM_OUTPUT_NAME_SIZE]);
/* Returns whether `file` is the name of an older file of the stream `name`, and its BASE. */
bool nm_output_parse_older(const char *name, const char *file, uint64_t *ret_base);
/* Writes a head to buf. Returns its length, or 0 if the buffer is too small. */
size_t nm_output_print_head(uint64_t base, const char *why, char buf[NM_OUTPUT_HEAD_MAX]);
