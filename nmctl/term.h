/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Output for people: capabilities of an output (width, UTF-8, colours), texts that fit it, bars and tables. */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "util/macros.h"

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

/* Sets the program's LC_CTYPE from the environment. */
void nm_term_set_locale(void);
/* Determines the capabilities from the descriptor, the locale, TERM, NO_COLOR and COLUMNS. Sets LC_CTYPE as well. */
void nm_term_init(struct nm_term *t, int fd, bool no_color);
/* Updates the size after SIGWINCH. */
void nm_term_resize(struct nm_term *t, int fd);

/* Return escape sequences, or "" if the output has no colours. */
const char *nm_term_on(const struct nm_term *t, enum nm_style s);
const char *nm_term_off(const struct nm_term *t, enum nm_style s);

/* Replaces control characters and bytes that are invalid in the locale, in place. Returns text. */
char *nm_term_clean(char *text);
/* Returns the number of columns of a text. */
unsigned nm_term_columns(const char *text);
/* Writes lines of text, each wrapped between words at `width` columns (0: unlimited). Continuation lines are indented
 * by `indent` blanks. Escape sequences for colours have no width. Returns the number of lines written. */
unsigned nm_term_wrap(FILE *f, const char *text, unsigned width, unsigned indent);
/* Returns the number of rows that the lines of text occupy on a terminal that has `width` columns (0: unlimited) and
 * wraps long lines. */
unsigned nm_term_rows(const char *text, unsigned width);
/* Truncates a text to at most `columns`, in place, with an ellipsis at the end. buf must hold 4 bytes more than the
 * text. */
void nm_term_cut(const struct nm_term *t, char *buf, unsigned columns);

/* ---- bars ------------------------------------------------------------------------------------ */

/* Horizontal bars that show use relative to capacity, with marks for thresholds. */

enum nm_bar_part { NM_BAR_GUARANTEED, NM_BAR_OPPORTUNISTIC, NM_BAR_RESERVED, NM_BAR_OTHERS, NM_BAR_PARTS };

struct nm_bar {
    double parts[NM_BAR_PARTS]; /* shares of capacity, drawn one after the other */
    double alpha, beta;         /* shares of capacity; 0: no mark */
    double top;                 /* share of capacity that the right end represents, 1 or more */
    unsigned width;             /* number of columns */
};

void nm_bar_print(const struct nm_bar *b, FILE *f, const struct nm_term *term);
/* Prints the line above the bars that labels the marks: "a" and "b" for alpha and beta. If capacity isn't the right end
 * of the bars, also labels capacity. */
void nm_bar_print_scale(const struct nm_bar *b, FILE *f, const struct nm_term *term);
/* Prints a legend of the bar's parts. */
void nm_bar_print_legend(FILE *f, const struct nm_term *term);

/* ---- tables ---------------------------------------------------------------------------------- */

/* Tables with columns as wide as their widest cell, fitted to the width of the terminal. */

struct nm_column {
    const char *title;
    bool right;     /* align right, for numbers */
    unsigned least; /* minimum width when the terminal is narrow; 0: never truncated */
    unsigned spare; /* order of omission if the row is too wide even at minimum widths, lowest first; 0: never
                       omitted */
};

/* Value of `least` for a last column that is wrapped between words instead of truncated. On a narrow terminal the text
 * of this column is printed below its row. */
#define NM_COLUMN_WRAPS UINT_MAX

struct nm_table;

/* Creates a table. `columns` must outlive the table. Ends the program if memory runs out. */
struct nm_table *nm_table_new(const struct nm_column *columns, size_t n);
struct nm_table *nm_table_free(struct nm_table *t);
NM_DEFINE_CLEANUP(struct nm_table *, nm_table_free)

/* Adds the next cell, row by row. */
void nm_table_add(struct nm_table *t, enum nm_style style, const char *format, ...) nm_printf(3, 4);
size_t nm_table_rows(const struct nm_table *t);

/* Prints the titles and at most max_rows rows (0: all). */
void nm_table_print(struct nm_table *t, FILE *f, const struct nm_term *term, size_t max_rows);
