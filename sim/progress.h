/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Progress of nmsim on standard error: the step, its completed part, and the time since nmsim was started. A thread
 * prints the progress whenever standard error has been silent for two seconds. The progress is therefore also printed
 * during steps that only wait, for instance for a pipe or for gnuplot. On a terminal the progress is one line that is
 * rewritten. Otherwise a new line is printed each time.
 *
 * A process has only one progress. Without nm_progress_start() the other functions only store their arguments.
 */

#include <stdint.h>

#include "util/macros.h"

/* Starts the thread. A failure isn't reported, because the replay doesn't need the thread. */
void nm_progress_start(void);
/* Ends the thread, and removes the line from the terminal. Has no effect if no thread is running. */
void nm_progress_stop(void);

/* Sets the name of the step that begins. */
nm_printf(1, 2) void nm_progress_step(const char *format, ...);
/* Ends the step and removes the line from the terminal, so that other text can be printed. */
void nm_progress_pause(void);
/* Sets the completed part of the step, in any unit. whole = 0: the total isn't known, and `done` is the number of a
 * line. The function only writes two variables. */
void nm_progress_at(uint64_t done, uint64_t whole);
