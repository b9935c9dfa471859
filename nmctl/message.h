/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Messages of nmctl: "nmctl: <message>" on stderr. A message is one line; for a terminal it is broken between words. */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "util/macros.h"

/* Control characters (a name may come from anywhere) are replaced before they reach the terminal.
 */
void nm_message(const char *format, ...) nm_printf(1, 2);

/* As nm_message(), in place of the last one that was said so, if nothing was said since: for a terminal that may be
 * rewritten. */
void nm_message_again(const char *format, ...) nm_printf(1, 2);
/* Takes what was said so from the terminal. */
void nm_message_no_more(void);
/* Is stderr a terminal with a cursor that moves, and ours now? Another program in the foreground writes there, too. */
bool nm_message_can_rewrite(void);

/* Sets the stream for messages, and its width (0: not limited). NULL: stderr. While a full-screen picture is drawn,
 * messages are part of the picture. */
void nm_message_to(FILE *f, unsigned width);

_Noreturn void nm_message_oom(void);
/* Returns the formatted text, which the caller frees. Ends the program where there is no memory for it. */
nm_printf(1, 0) char *nm_xvasprintf(const char *format, va_list ap);

/* The nearest word to `given` if it is near enough to be meant, else NULL. */
const char *nm_message_nearest(const char *given, const char *const *words, size_t n);
