/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The host as nmscale uses it: whole files that other processes read at the same time, locks beside them, and
 * commands. */

#include <stddef.h>
#include <stdint.h>
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

/* ---- command.c ------------------------------------------------------------------------------- */

/*
 * Runs a command and waits for it: no shell, words separated by blanks, standard input from /dev/null, the last few KiB
 * of both outputs kept. The command has a process group of its own, so that a Ctrl-C for nmscale doesn't interrupt it
 * half-way.
 *
 * Returns 0, or a sentence and -ENOENT (no such command), -ETIMEDOUT (killed), -ECHILD (this process ignores SIGCHLD,
 * so the exit status is lost), or -EREMOTEIO (the command failed; the sentence has its output). `more` are further
 * words, NULL at the end.
 */
int nm_scale_command(const char *words, const char *const *more, uint64_t timeout_usec, char **ret_message);
