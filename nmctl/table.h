/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Tables with columns as wide as their widest cell, fitted to the width of the terminal. */

#include <limits.h>
#include <stdio.h>

#include "nmctl/term.h"
#include "util/macros.h"

struct nm_column {
    const char *title;
    bool right;     /* align right, for numbers */
    unsigned least; /* minimum width when the terminal is narrow; 0: never truncated */
    unsigned spare; /* order of omission if the minimum width still is too wide, lowest first; 0: never omitted */
};

/* `least` of a last column that is wrapped between words instead of truncated. In a narrow terminal the text of such a
 * column is printed below its row. */
#define NM_COLUMN_WRAPS UINT_MAX

struct nm_table;

/* Creates a table. `columns` must outlive it. Ends the program if memory runs out. */
struct nm_table *nm_table_new(const struct nm_column *columns, size_t n);
struct nm_table *nm_table_free(struct nm_table *t);
NM_DEFINE_CLEANUP(struct nm_table *, nm_table_free)

/* Adds the next cell, row by row. */
void nm_table_add(struct nm_table *t, enum nm_style style, const char *format, ...) nm_printf(3, 4);
size_t nm_table_rows(const struct nm_table *t);

/* Prints the titles and at most max_rows rows (0: all). */
void nm_table_print(struct nm_table *t, FILE *f, const struct nm_term *term, size_t max_rows);
