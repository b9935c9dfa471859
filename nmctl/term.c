/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See term.h. Texts come from nmd, and therefore partly from users who submit containers. An escape sequence in a
 * command line or a log message must not reach the operator's terminal.
 */

#include "nmctl/term.h"

#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <wchar.h>
#include <wctype.h>

#include "util/macros.h"
#include "util/parse.h"

/* Updates the size. An output that isn't a terminal has width 0 (unlimited), unless COLUMNS gives the width, as for a
 * pipe that leads to a terminal. */
void nm_term_resize(struct nm_term *t, int fd)
{
    const char *columns = getenv("COLUMNS");
    struct winsize w = {0};
    uint64_t v;

    t->width = t->tty ? 80 : 0;
    t->height = 24;
    if (t->tty && ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 && w.ws_row > 0) {
        t->width = w.ws_col;
        t->height = w.ws_row;
    } else if (columns && nm_parse_u64(columns, &v) == 0 && v >= 20 && v <= 1000)
        t->width = (unsigned)v;
}

/* Returns whether output may have UTF-8. musl has no other encoding, and uses it for each locale except C and POSIX,
 * and also without a locale. */
static bool locale_names_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *name = NULL;

    for (size_t i = 0; i < NM_ARRAY_SIZE(variables) && !(name && *name); i++)
        name = getenv(variables[i]);
    return name && (strcasestr(name, "UTF-8") || strcasestr(name, "UTF8"));
}

/* Is called before the first output that needs it, and not at the program's start, because glibc takes time for it and
 * `run` usually doesn't need it. */
void nm_term_set_locale(void)
{
#ifdef __GLIBC__
    const bool knows_encodings = true;
#else
    const bool knows_encodings = false;
#endif

    (void)setlocale(LC_CTYPE, knows_encodings || locale_names_utf8() ? "" : "C");
}

void nm_term_init(struct nm_term *t, int fd, bool no_color)
{
    const char *name = getenv("TERM"), *no = getenv("NO_COLOR");

    nm_term_set_locale();
    t->utf8 = nm_streq(nl_langinfo(CODESET), "UTF-8");
    t->tty = isatty(fd);
    t->color = t->tty && !no_color && !(no && *no) && name && !nm_streq(name, "dumb");
    nm_term_resize(t, fd);
}

/* Returns one of the eight basic colours, which users configure to be readable on their background. */
const char *nm_term_on(const struct nm_term *t, enum nm_style s)
{
    static const char *const on[] = {
        [NM_STYLE_NONE] = "",
        [NM_STYLE_BOLD] = "\033[1m",
        [NM_STYLE_DIM] = "\033[2m",
        [NM_STYLE_GUARANTEED] = "\033[36m",
        [NM_STYLE_OPPORTUNISTIC] = "\033[35m",
        [NM_STYLE_GOOD] = "\033[32m",
        [NM_STYLE_WARN] = "\033[33m",
        [NM_STYLE_BAD] = "\033[1;31m",
    };

    return t->color ? on[s] : "";
}

const char *nm_term_off(const struct nm_term *t, enum nm_style s)
{
    return t->color && s != NM_STYLE_NONE ? "\033[0m" : "";
}

/* Returns the bytes and columns of the character at s. Returns false if the character must not be printed. */
static bool take_character(const char *s, size_t *ret_bytes, unsigned *ret_columns)
{
    mbstate_t state = {0};
    wchar_t c;
    size_t n = mbrtowc(&c, s, MB_CUR_MAX, &state);
    int w;

    *ret_bytes = 1;
    *ret_columns = 1;
    if (n == 0 || n == (size_t)-1 || n == (size_t)-2)
        return false;
    *ret_bytes = n;
    /* musl's C locale has surrogates for the bytes that aren't ASCII, and mbrtowc() accepts them */
    w = c >= 0xd800 && c <= 0xdfff ? -1 : wcwidth(c);
    if (w < 0)
        return false;
    *ret_columns = (unsigned)w;
    return true;
}

/* Replaces unprintable characters by '?'. Works in place, because the text never becomes longer. */
char *nm_term_clean(char *text)
{
    char *out = text;

    for (const char *p = text; *p;) {
        size_t n;
        unsigned columns;

        if (take_character(p, &n, &columns)) {
            memmove(out, p, n);
            out += n;
        } else
            *out++ = '?';
        p += n;
    }
    *out = '\0';
    return text;
}

/* Returns the width in columns: East Asian characters take two columns, combining characters take no column. */
unsigned nm_term_columns(const char *text)
{
    unsigned total = 0;

    while (*text) {
        size_t n;
        unsigned columns;

        (void)take_character(text, &n, &columns);
        total += columns;
        text += n;
    }
    return total;
}

/* Truncates a text. nm_table_add() allocates the room for the ellipsis. */
void nm_term_cut(const struct nm_term *t, char *buf, unsigned columns)
{
    const char *ellipsis = t->utf8 ? "…" : "~";
    unsigned used = 0;
    char *p = buf;

    if (nm_term_columns(buf) <= columns)
        return;
    while (*p) {
        size_t n;
        unsigned w;

        (void)take_character(p, &n, &w);
        if (used + w + 1 > columns)
            break;
        used += w;
        p += n;
    }
    memcpy(p, columns > 0 ? ellipsis : "", (columns > 0 ? strlen(ellipsis) : 0) + 1);
}

/* Returns the size of the element at s: a character, or a complete escape sequence, which has no width. */
static void take_element(const char *s, size_t *ret_bytes, unsigned *ret_columns)
{
    size_t n;

    if (strncmp(s, "\033[", 2) != 0) {
        (void)take_character(s, ret_bytes, ret_columns);
        return;
    }
    n = 2 + strspn(s + 2, "0123456789;");
    *ret_bytes = n + (s[n] != '\0');
    *ret_columns = 0;
}

/* Returns how much of the text up to `end` fits into the columns. Ends at the last blank, if there is one. */
static size_t fitting(const char *text, const char *end, unsigned columns)
{
    const char *p = text, *blank = NULL;
    unsigned used = 0;

    while (p < end) {
        size_t n;
        unsigned w;

        take_element(p, &n, &w);
        if (*p == ' ' && used > 0)
            blank = p;
        if (used + w > columns)
            return (size_t)((blank ? blank : p > text ? p : p + n) - text);
        used += w;
        p += n;
    }
    return (size_t)(end - text);
}

/* Returns the length of n bytes without trailing blanks. A line break between two words replaces all blanks there. */
static size_t without_blanks(const char *text, size_t n)
{
    while (n > 0 && text[n - 1] == ' ')
        n--;
    return n;
}

/* Wraps one line. The indentation of the line isn't a position for a line break. */
static unsigned wrap_line(FILE *f, const char *line, const char *end, unsigned width, unsigned indent)
{
    size_t lead = strspn(line, " ");
    const char *from = line + NM_MIN(lead, (size_t)(end - line));
    unsigned lines = 1, room = width > lead ? width - (unsigned)lead : 1;
    size_t n = fitting(from, end, room);

    (void)fwrite(line, 1, (size_t)(from - line) + (from + n < end ? without_blanks(from, n) : n), f);
    for (from += n; from < end; from += n) {
        from += strspn(from, " "); /* stops at the end of the line, a newline or the NUL */
        if (from == end)
            break;
        n = fitting(from, end, width > indent ? width - indent : 1);
        (void)fprintf(f, "\n%*s%.*s", (int)indent, "", (int)(from + n < end ? without_blanks(from, n) : n), from);
        lines++;
    }
    (void)fputc('\n', f);
    return lines;
}

unsigned nm_term_wrap(FILE *f, const char *text, unsigned width, unsigned indent)
{
    unsigned lines = 0;

    while (*text) {
        const char *end = text + strcspn(text, "\n");

        lines += wrap_line(f, text, end, width > 0 ? width : UINT_MAX, indent);
        text = end + (*end == '\n');
    }
    return lines;
}

unsigned nm_term_rows(const char *text, unsigned width)
{
    unsigned rows = 0;

    while (*text) {
        const char *end = text + strcspn(text, "\n");
        unsigned columns = 0;

        while (text < end) {
            size_t n;
            unsigned w;

            take_element(text, &n, &w);
            columns += w;
            text += n;
        }
        rows += width > 0 && columns > 0 ? (columns - 1) / width + 1 : 1;
        text = end + (*end == '\n');
    }
    return rows;
}
