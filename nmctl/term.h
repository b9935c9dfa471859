/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Capabilities of an output: width, UTF-8, colours. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct nm_term {
    bool tty, utf8, color;
    unsigned width, height; /* size of a terminal; width 0: unlimited (a pipe or file) */
};

enum nm_style {
    NM_STYLE_NONE,
    NM_STYLE_BOLD,
    NM_STYLE_DIM,
    NM_STYLE_GUARANTEED,
    NM_STYLE_OPPORTUNISTIC,
    NM_STYLE_GOOD,
    NM_STYLE_WARN,
    NM_STYLE_BAD,
};

/* Determines the capabilities from the descriptor, the locale, TERM, NO_COLOR and COLUMNS. Sets the program's LC_CTYPE
 * from the environment. */
void nm_term_init(struct nm_term *t, int fd, bool no_color);
/* Updates the size after SIGWINCH. */
void nm_term_resize(struct nm_term *t, int fd);

/* Return escape sequences, or "" without colours. */
const char *nm_term_on(const struct nm_term *t, enum nm_style s);
const char *nm_term_off(const struct nm_term *t, enum nm_style s);

/* Replaces control characters and bytes that are invalid in the locale, in place. Returns text. */
char *nm_term_clean(char *text);
/* Returns the number of columns of a text. */
unsigned nm_term_columns(const char *text);
/* Writes lines of text, each wrapped between words at `width` columns (0: unlimited). Continuation lines are indented
 * by `indent` blanks. Escape sequences for colours have no width. Returns the number of lines written. */
unsigned nm_term_wrap(FILE *f, const char *text, unsigned width, unsigned indent);
/* Returns the number of rows that the lines of text occupy on a terminal of `width` columns (0: unlimited), which
 * wraps long lines. */
unsigned nm_term_rows(const char *text, unsigned width);
/* Truncates a text to at most `columns`, in place, with an ellipsis at the end. buf must hold 4 bytes more than the
 * text. */
void nm_term_cut(const struct nm_term *t, char *buf, unsigned columns);
