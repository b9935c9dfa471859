/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See term.h. A column shows the part that covers the column's centre. Parts have different glyphs and colours. Marks
 * stay visible inside the bar.
 */

#include "nmctl/term.h"

#include "nmctl/message.h"

static const struct {
    enum nm_style style;
    const char *utf8, *ascii, *name;
} styles[] = {
    [NM_BAR_GUARANTEED] = {NM_STYLE_GUARANTEED, "█", "#", "guaranteed"},
    [NM_BAR_OPPORTUNISTIC] = {NM_STYLE_OPPORTUNISTIC, "▓", "=", "opportunistic"},
    [NM_BAR_RESERVED] = {NM_STYLE_WARN, "▒", "+", "reserved"},
    [NM_BAR_OTHERS] = {NM_STYLE_DIM, "░", "-", "others"},
};

/* Returns the column of a share. Shares beyond the end use the last column. */
static unsigned column_of(const struct nm_bar *b, double share)
{
    double at = share / b->top * b->width;

    return at >= b->width ? b->width - 1 : (unsigned)at;
}

/* Returns the part that covers a share of capacity, or NM_BAR_PARTS beyond the last part. */
static enum nm_bar_part part_at(const struct nm_bar *b, double share)
{
    double end = 0;

    for (int i = 0; i < NM_BAR_PARTS; i++) {
        end += b->parts[i];
        if (share < end)
            return (enum nm_bar_part)i;
    }
    return NM_BAR_PARTS;
}

/* Prints a column. A mark replaces the glyph of the part but has the mark's colour: beta is always red. */
static void print_column(const struct nm_bar *b, unsigned column, FILE *f,
                         const struct nm_term *term)
{
    enum nm_bar_part part = part_at(b, (column + 0.5) / b->width * b->top);
    bool beta = b->beta > 0 && column == column_of(b, b->beta);
    bool alpha = b->alpha > 0 && column == column_of(b, b->alpha);
    enum nm_style style = part < NM_BAR_PARTS ? styles[part].style : NM_STYLE_DIM;
    const char *glyph;

    if (alpha || beta) {
        style = beta ? NM_STYLE_BAD : NM_STYLE_WARN;
        glyph = !term->utf8 ? "|" : part < NM_BAR_PARTS ? "┃" : "│";
    } else if (part < NM_BAR_PARTS)
        glyph = term->utf8 ? styles[part].utf8 : styles[part].ascii;
    else if (b->top > 1 && column == column_of(b, 1.0))
        glyph = term->utf8 ? "┊" : ":";
    else
        glyph = term->utf8 ? "·" : ".";
    fprintf(f, "%s%s%s", nm_term_on(term, style), glyph, nm_term_off(term, style));
}

void nm_bar_print(const struct nm_bar *b, FILE *f, const struct nm_term *term)
{
    for (unsigned i = 0; i < b->width; i++)
        print_column(b, i, f, term);
}

/* Prints the labels of the marks. If two marks share a column, the more severe one is labelled. */
void nm_bar_print_scale(const struct nm_bar *b, FILE *f, const struct nm_term *term)
{
    unsigned alpha = b->alpha > 0 ? column_of(b, b->alpha) : b->width;
    unsigned beta = b->beta > 0 ? column_of(b, b->beta) : b->width;
    unsigned full = b->top > 1 ? column_of(b, 1.0) : b->width;

    for (unsigned i = 0; i < b->width; i++) {
        if (i == beta)
            fprintf(f, "%s%s%s", nm_term_on(term, NM_STYLE_BAD), term->utf8 ? "β" : "b",
                    nm_term_off(term, NM_STYLE_BAD));
        else if (i == alpha)
            fprintf(f, "%s%s%s", nm_term_on(term, NM_STYLE_WARN), term->utf8 ? "α" : "a",
                    nm_term_off(term, NM_STYLE_WARN));
        else
            (void)fputc(i == full ? 'C' : ' ', f);
    }
}

/* Prints the legend with the bar's glyphs, so that a reader can use it without colours. */
void nm_bar_print_legend(FILE *f, const struct nm_term *term)
{
    for (int i = 0; i < NM_BAR_PARTS; i++)
        fprintf(f, "%s%s%s%s %s", i > 0 ? "  " : "", nm_term_on(term, styles[i].style),
                term->utf8 ? styles[i].utf8 : styles[i].ascii, nm_term_off(term, styles[i].style), styles[i].name);
}
