/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whole files that others read at the same time, and locks beside them. */

#include <stddef.h>
#include <sys/types.h>

/* NUL-terminated, freed by the caller. -E2BIG: larger than most; -EISDIR and the like as they come. */
int nm_scale_read_file(const char *path, size_t most, char **ret, size_t *ret_size);

/*
 * A reader sees the old contents or the new, and so does whoever reads after a crash of the host: temporary file,
 * fsync, rename, fsync of the directory. Mode and owner stay as they are; a new file gets `mode`. A symbolic link is
 * followed: what it leads to is replaced.
 */
int nm_scale_replace_file(const char *path, const char *text, mode_t mode);

/* An exclusive lock on PATH.lock, which is made when it isn't there and left behind. Closing the descriptor lets go.
 * -EWOULDBLOCK: somebody has it. */
int nm_scale_lock(const char *path, int *ret_fd);

/* The directories above a path. */
int nm_scale_make_parents(const char *path);
