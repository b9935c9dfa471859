/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Progress of nmsim on standard error: the step, how far it is, and the time since nmsim was started. A thread prints
 * it whenever standard error has been silent for two seconds, so a step that waits (for a pipe, for gnuplot) is covered
 * as well as one that computes. On a terminal the progress is one line that is rewritten, elsewhere a new line each
 * time.
 *
 * There is one progress per process. Without nm_progress_start() the other functions only store their arguments.
 */

#include <stdint.h>

#include "util/macros.h"

/* Starts the thread. Failure is not reported: the work itself does not need it. */
void nm_progress_start(void);
/* Ends the thread, and removes the line from the terminal. Has no effect without a thread. */
void nm_progress_stop(void);

/* Sets the name of the step that begins now. */
nm_printf(1, 2) void nm_progress_step(const char *format, ...);
/* Ends the step and removes the line from the terminal, so that something else can be printed. */
void nm_progress_pause(void);
/* Sets how much of the step is done, in any unit. whole = 0: the total is not known, and `done` is the number of a
 * line. Costs two stores. */
void nm_progress_at(uint64_t done, uint64_t whole);
