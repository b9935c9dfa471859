/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See term.h. If a row is wider than the terminal, the columns that may be truncated are narrowed to their minimum
 * width, the widest column first. If the row is still too wide, columns that may be omitted are omitted. If it is still
 * too wide, the terminal wraps the row, so that no data is lost. A last column with sentences is wrapped between words
 * instead of truncated.
 */

#include "nmctl/term.h"

#include <assert.h>
#include <stdarg.h>

#include "nmctl/message.h"

#define GAP 2

struct cell {
    char *text;
    unsigned width;
    enum nm_style style;
};

struct nm_table {
    const struct nm_column *columns;
    size_t n_columns;
    bool *left_out; /* for each column: whether the column is omitted */
    struct cell *cells;
    size_t n_cells, size;
};

struct nm_table *nm_table_new(const struct nm_column *columns, size_t n)
{
    struct nm_table *t = calloc(1, sizeof *t);

    if (!t)
        nm_message_oom();
    t->left_out = calloc(n, sizeof *t->left_out);
    if (!t->left_out)
        nm_message_oom();
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

/* Adds a cell. Removes control characters, so that cells contain no escape sequences. */
void nm_table_add(struct nm_table *t, enum nm_style style, const char *format, ...)
{
    struct cell *c;
    char *text, *padded;
    va_list ap;

    if (t->n_cells == t->size) {
        size_t size = t->size ? t->size * 2 : 64;
        struct cell *p = reallocarray(t->cells, size, sizeof *p);

        if (!p)
            nm_message_oom();
        t->cells = p;
        t->size = size;
    }
    va_start(ap, format);
    text = nm_xvasprintf(format, ap);
    va_end(ap);
    padded = realloc(text, strlen(text) + 5); /* includes room for the ellipsis that nm_term_cut() may append */
    if (!padded)
        nm_message_oom();
    c = &t->cells[t->n_cells++];
    c->text = nm_term_clean(padded);
    c->width = nm_term_columns(padded);
    c->style = style;
}

size_t nm_table_rows(const struct nm_table *t)
{
    return t->n_cells / t->n_columns;
}

/* Computes the width of the widest cell of each column, including its title. */
static void measure(const struct nm_table *t, unsigned *widths)
{
    for (size_t c = 0; c < t->n_columns; c++)
        widths[c] = nm_term_columns(t->columns[c].title);
    for (size_t i = 0; i < t->n_cells; i++) {
        size_t c = i % t->n_columns;
        widths[c] = NM_MAX(widths[c], t->cells[i].width);
    }
}

/* Returns the minimum width of a row. */
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

/* Narrows the columns, each time the widest column by one character. This is fast enough for few columns and gives
 * similar widths. */
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

/* Prints a cell. The style applies to the text alone, so that blanks aren't coloured. */
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
    if (!last) /* print no blanks at the end of a line */
        fprintf(f, "%*s", (t->columns[column].right ? 0 : pad) + GAP, "");
}

/* ---- a last column that wraps ---------------------------------------------------------------- */

#define WRAPS_LEAST 30 /* minimum number of columns for wrapped text; if fewer are left, the text is printed below the
                          row */
#define BELOW 4        /* indentation of text below the row */

/* Returns the offset at which the last column is wrapped between words. Returns 0 if the last column isn't wrapped, or
 * if all columns fit. Returns BELOW if the text of the last column is printed on separate lines; then the other columns
 * share the whole width. */
static unsigned start_of_last(struct nm_table *t, unsigned *widths, unsigned width)
{
    size_t last = t->n_columns - 1;
    unsigned start = 0;

    if (t->columns[last].least != NM_COLUMN_WRAPS || width == 0)
        return 0;
    for (size_t c = 0; c < last; c++)
        start += widths[c] + GAP;
    if (start + widths[last] <= width)
        return 0;
    if (start + WRAPS_LEAST <= width) {
        widths[last] = width - start;
        return start;
    }
    t->left_out[last] = true;
    return BELOW;
}

/* Prints a row with a wrapped last column. `line`: the row as printed with unlimited width. */
static void print_wrapping_row(const struct nm_table *t, FILE *f, const struct nm_term *term, const char *line,
                               const struct cell *last, unsigned start)
{
    _cleanup_free_ char *below = NULL;

    if (!t->left_out[t->n_columns - 1]) {
        (void)nm_term_wrap(f, line, term->width, start);
        return;
    }
    (void)fprintf(f, "%s\n", line);
    if (asprintf(&below, "%*s%s%s%s", BELOW, "", nm_term_on(term, last->style), last->text,
                 nm_term_off(term, last->style)) < 0)
        nm_message_oom();
    if (*last->text)
        (void)nm_term_wrap(f, below, term->width, BELOW);
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Prints a row without its newline. Truncates cells in place, because a table is printed only once. */
static void print_row(struct nm_table *t, FILE *f, const struct nm_term *term, const unsigned *widths, struct cell *row,
                      bool wraps)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        struct cell *cell = &row[c];
        bool cuts = cell->width > widths[c] && !(wraps && c + 1 == t->n_columns);

        if (cuts) {
            nm_term_cut(term, cell->text, widths[c]);
            cell->width = nm_term_columns(cell->text);
        }
        print_cell(t, f, term, c, NM_MAX(widths[c], cell->width), cell->text, cell->width, cell->style);
    }
}

static void print_whole_row(struct nm_table *t, FILE *f, const struct nm_term *term, const unsigned *widths,
                            struct cell *row, unsigned start)
{
    _cleanup_free_ char *line = NULL;
    size_t size;
    FILE *memory;

    if (start == 0) {
        print_row(t, f, term, widths, row, false);
        (void)fputc('\n', f);
        return;
    }
    memory = open_memstream(&line, &size);
    if (!memory)
        nm_message_oom();
    print_row(t, memory, term, widths, row, true);
    if (fclose(memory) != 0)
        nm_message_oom();
    print_wrapping_row(t, f, term, line, &row[t->n_columns - 1], start);
}

void nm_table_print(struct nm_table *t, FILE *f, const struct nm_term *term, size_t max_rows)
{
    _cleanup_free_ unsigned *widths = calloc(t->n_columns, sizeof *widths);
    size_t rows = nm_table_rows(t);
    unsigned start;

    assert(t->n_cells % t->n_columns == 0);
    if (!widths)
        nm_message_oom();
    measure(t, widths);
    start = start_of_last(t, widths, term->width);
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
    for (size_t i = 0; i < rows; i++)
        print_whole_row(t, f, term, widths, &t->cells[i * t->n_columns], start);
}
