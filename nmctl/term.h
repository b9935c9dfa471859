/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the place that is written to can show: its width, UTF-8, colours. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct nm_term {
    bool tty, utf8, color;
    unsigned width, height; /* of a terminal; width 0: not limited (a pipe or file) */
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

/* Looks at the descriptor, the locale, TERM, NO_COLOR and COLUMNS. Sets the program's LC_CTYPE from
 * the environment. */
void nm_term_init(struct nm_term *t, int fd, bool no_color);
/* The size anew, after SIGWINCH. */
void nm_term_resize(struct nm_term *t, int fd);

/* Escape sequences, or "" where there are no colours. */
const char *nm_term_on(const struct nm_term *t, enum nm_style s);
const char *nm_term_off(const struct nm_term *t, enum nm_style s);

/* Replaces control characters and what is no character of the locale, in place. Returns text. */
char *nm_term_clean(char *text);
/* Columns that a text takes. */
unsigned nm_term_columns(const char *text);
/* Writes text of lines, each broken between words to fit `width` columns (0: as it is) and going on below itself,
 * behind `indent` blanks. Escape sequences for colours take no room. Returns how many lines it has become. */
unsigned nm_term_wrap(FILE *f, const char *text, unsigned width, unsigned indent);
/* Returns how many rows the lines of text take on a terminal of `width` columns (0: not limited), which breaks those
 * that are longer. */
unsigned nm_term_rows(const char *text, unsigned width);
/* Cuts a text to at most `columns`, in place, ending it with an ellipsis; buf must hold 4 bytes
 * more than the text. */
void nm_term_cut(const struct nm_term *t, char *buf, unsigned columns);
