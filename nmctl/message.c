/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See message.h. All messages pass through this file, so that each message has the same prefix and contains no control
 * characters. Messages go to stderr. While a full-screen picture is shown, they go into the picture, because output on
 * stderr would damage it.
 */

#include "nmctl/message.h"

#include <stdarg.h>

#include "nmctl/nmctl.h"
#include "nmctl/term.h"
#include "util/error.h"

#define INDENT 7 /* columns of "nmctl: " */

static FILE *sink;
static unsigned sink_width;
static char *rewritable; /* the last message, if the next message may replace it; otherwise NULL */

void nm_message_set_stream(FILE *f, unsigned width)
{
    sink = f;
    sink_width = width;
}

/* Queries the width of the terminal each time, because messages are rare and the window may have been resized. */
static unsigned width_of_stderr(void)
{
    struct nm_term term;

    nm_term_init(&term, STDERR_FILENO, true);
    return term.width;
}

/* Erases the message. Computes the number of its rows again, because a terminal that has become narrower has wrapped
 * its lines. */
void nm_message_erase(void)
{
    if (rewritable) /* move up by the number of rows and clear to the end of the screen */
        fprintf(stderr, "\033[%uF\033[J", nm_term_rows(rewritable, width_of_stderr()));
    free(STEAL_PTR(rewritable));
}

/* Prints a message. Returns the written text, which the caller frees. */
nm_printf(1, 0) static char *print_message(const char *format, va_list ap)
{
    char *written = NULL;
    size_t size;
    FILE *f = open_memstream(&written, &size);
    _cleanup_free_ char *text = NULL, *line = NULL;

    nm_term_set_locale();
    text = nm_xvasprintf(format, ap);
    if (asprintf(&line, "nmctl: %s", nm_term_clean(text)) < 0)
        nm_message_oom();
    if (!f)
        nm_message_oom();
    (void)nm_term_wrap(f, line, sink ? sink_width : width_of_stderr(), INDENT);
    if (fclose(f) != 0)
        nm_message_oom();
    nm_message_erase();
    (void)fputs(written, sink ? sink : stderr);
    return written;
}

void nm_message(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    free(print_message(format, ap));
    va_end(ap);
}

void nm_message_again(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    rewritable = print_message(format, ap);
    va_end(ap);
}

bool nm_message_can_rewrite(void)
{
    const char *name = getenv("TERM");

    return !sink && isatty(STDERR_FILENO) && name && !nm_streq(name, "dumb") &&
           tcgetpgrp(STDERR_FILENO) == getpgrp();
}

char *nm_xvasprintf(const char *format, va_list ap)
{
    char *text = nm_strdup_vprintf(format, ap);

    if (!text)
        nm_message_oom();
    return text;
}

void nm_message_oom(void)
{
    (void)fputs("nmctl: out of memory\n", stderr);
    exit(NM_CTL_FAILED);
}
