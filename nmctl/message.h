/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Messages of nmctl: "nmctl: <message>" on stderr. A message is one line. On a terminal it is wrapped between words. */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "util/macros.h"

/* Prints a message. Replaces control characters, which a container's name may contain. */
void nm_message(const char *format, ...) nm_printf(1, 2);

/* Prints a message that replaces the previous message of this function, unless another message was printed in between.
 * Only for terminals that nm_message_can_rewrite() accepts. */
void nm_message_again(const char *format, ...) nm_printf(1, 2);
/* Erases the message of nm_message_again() from the terminal. */
void nm_message_erase(void);
/* Returns whether stderr is a terminal that can move the cursor and nmctl is in the foreground. While nmctl is in the
 * background, another program may write to the terminal. */
bool nm_message_can_rewrite(void);

/* Sets the stream for messages and the stream's width (0: unlimited). NULL: stderr. While a full-screen picture is
 * shown, messages are part of the picture. */
void nm_message_set_stream(FILE *f, unsigned width);

_Noreturn void nm_message_oom(void);
/* Returns the formatted text, which the caller frees. Ends the program if memory runs out. */
nm_printf(1, 0) char *nm_xvasprintf(const char *format, va_list ap);
