/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Tables whose columns are as wide as their widest cell, and that fit into the terminal. */

#include <limits.h>
#include <stdio.h>

#include "nmctl/term.h"
#include "util/macros.h"

struct nm_column {
    const char *title;
    bool right;     /* numbers */
    unsigned least; /* columns it may be cut to when the terminal is narrow; 0: never cut */
    unsigned spare; /* left out where even that is too wide: the lowest first; 0: never */
};

/* `least` of a last column that is never cut: it is broken between words, in a narrow terminal below its row. */
#define NM_COLUMN_WRAPS UINT_MAX

struct nm_table;

/* `columns` must outlive the table. Running out of memory ends the program. */
struct nm_table *nm_table_new(const struct nm_column *columns, size_t n);
struct nm_table *nm_table_free(struct nm_table *t);
NM_DEFINE_CLEANUP(struct nm_table *, nm_table_free)

/* The next cell, row by row. */
void nm_table_add(struct nm_table *t, enum nm_style style, const char *format, ...) nm_printf(3, 4);
size_t nm_table_rows(const struct nm_table *t);

/* At most max_rows rows (0: all), below the titles. */
void nm_table_print(struct nm_table *t, FILE *f, const struct nm_term *term, size_t max_rows);
