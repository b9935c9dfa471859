/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads and replaces whole files that other processes read at the same time, and locks beside them. */

#include <stddef.h>
#include <sys/types.h>

/* Reads a file; the text is NUL-terminated and freed by the caller. -E2BIG: the file is larger than `most`. Other
 * errors, such as -EISDIR, are passed on. */
int nm_scale_read_file(const char *path, size_t most, char **ret, size_t *ret_size);

/*
 * Replaces a file so that a reader sees either the old or the new contents, even after a crash of the host: temporary
 * file, fsync, rename, fsync of the directory. Mode and owner are preserved; a new file gets `mode`. A symbolic link is
 * followed, and its target is replaced.
 */
int nm_scale_replace_file(const char *path, const char *text, mode_t mode);

/* Takes an exclusive lock on PATH.lock, which is created if need be and never removed. Closing the descriptor releases
 * the lock. -EWOULDBLOCK: another process holds it. */
int nm_scale_lock(const char *path, int *ret_fd);

/* Makes the directories above a path. */
int nm_scale_make_parents(const char *path);
