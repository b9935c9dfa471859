/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs a command and waits for it: no shell, words separated by blanks, standard input from /dev/null, the last few KiB
 * of both outputs kept. The command has a process group of its own, so that a Ctrl-C for nmscale doesn't interrupt it
 * half-way.
 */

#include <stddef.h>
#include <stdint.h>

/* Returns 0, or a sentence and -ENOENT (no such command), -ETIMEDOUT (killed), -ECHILD (this process ignores SIGCHLD,
 * so the exit status is lost), or -EREMOTEIO (the command failed; the sentence has its output). `more` are further
 * words, NULL at the end. */
int nm_scale_command(const char *words, const char *const *more, uint64_t timeout_usec, char **ret_message);
