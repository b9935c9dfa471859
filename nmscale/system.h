/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The functions of the host that nmscale uses: files that other processes read at the same time, locks beside these
 * files, and commands. */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads a file. The text is NUL-terminated, and the caller frees it. -E2BIG: the file is larger than `most`. Other
 * errors, such as -EISDIR, are returned unchanged. */
int nm_scale_read_file(const char *path, size_t most, char **ret, size_t *ret_size);

/*
 * Replaces a file so that a reader sees either the old or the new contents, even after a crash of the host. For this
 * purpose the function writes a temporary file, and then calls fsync() on this file, rename(), and fsync() on the
 * directory. Mode and owner are preserved; a new file gets `mode`. If the path is a symbolic link, its target is
 * replaced.
 */
int nm_scale_replace_file(const char *path, const char *text, mode_t mode);

/* Takes an exclusive lock on PATH.lock. The lock file is created if it doesn't exist, and is never removed. Closing the
 * descriptor releases the lock. -EWOULDBLOCK: another process holds the lock. */
int nm_scale_lock(const char *path, int *ret_fd);

/* Makes the directories above a path. */
int nm_scale_make_parents(const char *path);

/* ---- run-command.c ------------------------------------------------------------------------------- */

/*
 * Runs a command without a shell and waits for the command. Words are separated by blanks. Standard input is /dev/null,
 * and the last few KiB of both outputs are kept. The command has its own process group, so that a Ctrl-C for nmscale
 * doesn't interrupt the command.
 *
 * Returns 0, or a sentence and -ENOENT (no such command), -ETIMEDOUT (killed), -ECHILD (this process ignores SIGCHLD,
 * so the exit status isn't available), or -EREMOTEIO (the command failed; the sentence contains its output). `more` are
 * further words, with NULL at the end.
 */
int nm_scale_command(const char *words, const char *const *more, uint64_t timeout_usec, char **ret_message);
