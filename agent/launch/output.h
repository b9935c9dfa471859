/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stores a container's output on disk. The command writes into pipes. Its shim copies the bytes into files that only
 * root can access, so the command can neither truncate nor inflate them, nor exceed a limit. (If the standard output
 * was a plain file, the kernel could not limit this file alone: RLIMIT_FSIZE applies to all files, few file systems and
 * administrators use project quotas, and a periodic check of the size is 2 GB late.)
 *
 * A log has at most two files, each of half the limit:
 *
 *   stdout         the newest bytes
 *   stdout.BASE    the bytes before them; BASE: number of output bytes before the first byte of this file
 *
 * When `stdout` is full, the older file is removed, `stdout` takes its place and a new file is begun. Each file but the
 * first starts with a head: a line of nmd's own, not output, that says how many bytes came before. So a file has a head
 * if its BASE is above 0. `stdout` has a head if there is an older file, unless there was no room for the head or the
 * file was truncated. A log that nmd has shortened after the container's end has one file, stdout.BASE.
 *
 * The times of the output are in files beside it (output-times.h).
 *
 * Output that cannot be written (no space left, an I/O error) is lost and counted. A line reports the loss as soon as
 * there is room again. So a full disk neither blocks nor ends a container.
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

/* Opens or makes the newest file. Returns -ELOOP if the newest file is not a plain file with a single name. */
int nm_output_open(int dir_fd, const char *name, uint64_t max_bytes, struct nm_output *ret);
/* Writes output. Bytes that cannot be written are counted as lost. */
void nm_output_write(struct nm_output *o, const char *data, size_t n);
/* Reports lost bytes, if a line can be written by now, and closes the file. */
void nm_output_close(struct nm_output *o);

/* Returns the name of an older file: stdout.BASE */
void nm_output_older_name(const char *name, uint64_t base, char buf[NM_OUTPUT_NAME_SIZE]);
/* Parses the name of an older file: returns whether `file` is an older file of this stream. */
bool nm_output_parse_older(const char *name, const char *file, uint64_t *ret_base);
/* Returns the length of the head, or 0 if the buffer is too small. */
size_t nm_output_print_head(uint64_t base, const char *why, char buf[NM_OUTPUT_HEAD_MAX]);
