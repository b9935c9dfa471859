/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs a command to its end: no shell, words divided by blanks, standard input from /dev/null, both outputs kept (the
 * last few KiB). It has a process group of its own, so that a Ctrl-C that is for nmscale doesn't reach it half-way.
 */

#include <stddef.h>
#include <stdint.h>

/* 0; otherwise a sentence, and -ENOENT (no such command), -ETIMEDOUT (killed), -ECHILD (this process ignores SIGCHLD,
 * so that nobody knows how it ended), or -EREMOTEIO (it failed; the sentence has what it said). `more` are further
 * words, NULL at the end. */
int nm_scale_command(const char *words, const char *const *more, uint64_t timeout_usec, char **ret_message);
