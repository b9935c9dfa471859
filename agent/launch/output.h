/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A container's output on disk. The command writes into pipes; its shim takes the bytes out of them and puts them into
 * files that belong to nobody else: who writes can neither cut nor bloat them, and can't outrun a limit. (With a plain
 * file as standard output the kernel knows no limit for it alone: RLIMIT_FSIZE holds for all files, project quotas
 * are few file systems' and few administrators', and who looks at the size now and then is 2 GB late.)
 *
 * A log has two files at most, of half the limit each:
 *
 *   stdout         the newest bytes
 *   stdout.BASE    those before; BASE: how many bytes of output were written before its first
 *
 * When `stdout` is full, the older file is removed, `stdout` takes its place and a new one is begun. Each file but the
 * first begins with a line of ours that says how much came before (its head, which is no output); so a file has a
 * head if its BASE is above 0, and `stdout` has one if there is an older file, unless there was no room for it, or
 * somebody has cut it off. A log that nmd has shortened after the container's end has one file, stdout.BASE.
 *
 * When it was written is beside them (output-times.h).
 *
 * What can't be written (no space left, an I/O error) is lost and counted, and a line says so as soon as there is room
 * again: a full disk neither blocks a container nor ends it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/launch/output-times.h"

#define NM_OUTPUT_MIN_BYTES (64U << 10) /* the least limit of a stream */
#define NM_OUTPUT_HEAD_MAX 160          /* no head is longer */
#define NM_OUTPUT_NAME_SIZE 40
#define NM_OUTPUT_N_STREAMS 2
extern const char *const nm_output_streams[NM_OUTPUT_N_STREAMS];

/* The writer of one stream. */
struct nm_output {
    int dir_fd; /* not ours to close */
    int fd;     /* of the newest file */
    const char *name;
    uint64_t max_bytes; /* of the stream, on disk; 0: no limit */
    uint64_t base;      /* bytes of output before the newest file's first */
    uint64_t size;      /* of the newest file */
    uint64_t head;      /* how much of it is its head */
    uint64_t older;     /* base of the older file, if there is one */
    bool has_older, in_line;
    uint64_t lost;      /* bytes that no line has told of yet */
    uint64_t lost_total;
    int error;          /* why they were lost */
    struct nm_output_times times;
};

/* Opens the newest file, or makes it. It has to be a plain file with one name (-ELOOP). */
int nm_output_open(int dir_fd, const char *name, uint64_t max_bytes, struct nm_output *ret);
/* What can't be written is counted. */
void nm_output_write(struct nm_output *o, const char *data, size_t n);
/* Tells of what was lost, if that can be written by now. */
void nm_output_close(struct nm_output *o);

/* stdout.BASE */
void nm_output_older_name(const char *name, uint64_t base, char buf[NM_OUTPUT_NAME_SIZE]);
/* The same backwards: is `file` an older file of this stream? */
bool nm_output_parse_older(const char *name, const char *file, uint64_t *ret_base);
/* Its length, or 0 if there is no room. */
size_t nm_output_print_head(uint64_t base, const char *why, char buf[NM_OUTPUT_HEAD_MAX]);
