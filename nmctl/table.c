/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See table.h. When a row is wider than the terminal, the columns that may be cut give up width,
 * the widest first, down to their least; if that is not enough those are left out that can be
 * spared; and then the terminal wraps, which loses nothing.
 */

#include "nmctl/table.h"

#include <assert.h>
#include <stdarg.h>

#include "nmctl/say.h"

#define GAP 2

struct cell {
    char *text;
    unsigned width;
    enum nm_style style;
};

struct nm_table {
    const struct nm_column *columns;
    size_t n_columns;
    bool *left_out; /* of each column */
    struct cell *cells;
    size_t n_cells, size;
};

struct nm_table *nm_table_new(const struct nm_column *columns, size_t n)
{
    struct nm_table *t = calloc(1, sizeof *t);

    if (!t)
        nm_say_oom();
    t->left_out = calloc(n, sizeof *t->left_out);
    if (!t->left_out)
        nm_say_oom();
    t->columns = columns;
    t->n_columns = n;
    return t;
}

struct nm_table *nm_table_free(struct nm_table *t)
{
    if (!t)
        return NULL;
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i].text);
    free(t->cells);
    free(t->left_out);
    free(t);
    return NULL;
}

/* Cleaned on its way in: no cell can reach the terminal with an escape sequence in it. */
void nm_table_add(struct nm_table *t, enum nm_style style, const char *format, ...)
{
    struct cell *c;
    char *text = NULL, *padded;
    va_list ap;
    int n;

    if (t->n_cells == t->size) {
        size_t size = t->size ? t->size * 2 : 64;
        struct cell *p = reallocarray(t->cells, size, sizeof *p);

        if (!p)
            nm_say_oom();
        t->cells = p;
        t->size = size;
    }
    va_start(ap, format);
    n = vasprintf(&text, format, ap);
    va_end(ap);
    /* room for the ellipsis, should it be cut */
    if (n < 0 || !(padded = realloc(text, (size_t)n + 5)))
        nm_say_oom();
    c = &t->cells[t->n_cells++];
    c->text = nm_term_clean(padded);
    c->width = nm_term_columns(padded);
    c->style = style;
}

size_t nm_table_rows(const struct nm_table *t)
{
    return t->n_cells / t->n_columns;
}

/* The widest cell of each column, its title included. */
static void measure(const struct nm_table *t, unsigned *widths)
{
    for (size_t c = 0; c < t->n_columns; c++)
        widths[c] = nm_term_columns(t->columns[c].title);
    for (size_t i = 0; i < t->n_cells; i++) {
        size_t c = i % t->n_columns;
        widths[c] = NM_MAX(widths[c], t->cells[i].width);
    }
}

/* The least that a line takes. */
static unsigned least_width(const struct nm_table *t, const unsigned *widths)
{
    unsigned total = 0;

    for (size_t c = 0; c < t->n_columns; c++)
        if (!t->left_out[c])
            total += GAP + (t->columns[c].least > 0 ? NM_MIN(widths[c], t->columns[c].least) : widths[c]);
    return total - GAP;
}

static void leave_out(struct nm_table *t, const unsigned *widths, unsigned room)
{
    while (least_width(t, widths) > room) {
        size_t next = t->n_columns;

        for (size_t c = 0; c < t->n_columns; c++)
            if (t->columns[c].spare > 0 && !t->left_out[c] &&
                (next == t->n_columns || t->columns[c].spare < t->columns[next].spare))
                next = c;
        if (next == t->n_columns)
            return;
        t->left_out[next] = true;
    }
}

/* One column of the terminal at a time from whoever has most: rows are few, and it is even. */
static void fit(const struct nm_table *t, unsigned *widths, unsigned room)
{
    unsigned total = 0;

    for (size_t c = 0; c < t->n_columns; c++)
        total += t->left_out[c] ? 0 : widths[c] + GAP;
    total -= GAP;
    while (total > room) {
        size_t widest = t->n_columns;

        for (size_t c = 0; c < t->n_columns; c++)
            if (!t->left_out[c] && t->columns[c].least > 0 && widths[c] > t->columns[c].least &&
                (widest == t->n_columns || widths[c] > widths[widest]))
                widest = c;
        if (widest == t->n_columns)
            return;
        widths[widest]--;
        total--;
    }
}

/* The style is put around the text alone, so that no line ends in coloured blanks. */
static void print_cell(const struct nm_table *t, FILE *f, const struct nm_term *term, size_t column,
                       unsigned width, const char *text, unsigned text_width, enum nm_style style)
{
    int pad = (int)(width - text_width);
    bool last = true;

    if (t->left_out[column])
        return;
    for (size_t c = column + 1; c < t->n_columns; c++)
        last = last && t->left_out[c];
    if (t->columns[column].right)
        fprintf(f, "%*s", pad, "");
    fprintf(f, "%s%s%s", nm_term_on(term, style), text, nm_term_off(term, style));
    if (!last) /* no blanks at the end of a line */
        fprintf(f, "%*s", (t->columns[column].right ? 0 : pad) + GAP, "");
}

/* Cells are cut in place: a table is printed once. */
void nm_table_print(struct nm_table *t, FILE *f, const struct nm_term *term, size_t max_rows)
{
    _cleanup_free_ unsigned *widths = calloc(t->n_columns, sizeof *widths);
    size_t rows = nm_table_rows(t);

    assert(t->n_cells % t->n_columns == 0);
    if (!widths)
        nm_say_oom();
    measure(t, widths);
    if (term->width > 0) {
        leave_out(t, widths, term->width);
        fit(t, widths, term->width);
    }
    for (size_t c = 0; c < t->n_columns; c++)
        print_cell(t, f, term, c, widths[c], t->columns[c].title,
                   nm_term_columns(t->columns[c].title), NM_STYLE_BOLD);
    (void)fputc('\n', f);
    if (max_rows > 0)
        rows = NM_MIN(rows, max_rows);
    for (size_t i = 0; i < rows * t->n_columns; i++) {
        size_t c = i % t->n_columns;
        struct cell *cell = &t->cells[i];

        if (cell->width > widths[c]) {
            nm_term_cut(term, cell->text, widths[c]);
            cell->width = nm_term_columns(cell->text);
        }
        print_cell(t, f, term, c, widths[c], cell->text, cell->width, cell->style);
        if (c + 1 == t->n_columns)
            (void)fputc('\n', f);
    }
}
