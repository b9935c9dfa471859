/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See java-regex.h: classes of characters. PCRE2 has neither unions nor intersections of classes. Each class stands for
 * one character, so "A and B" is written as (?=A)B, and "A or B" as (?:A|B).
 */

#include <stdlib.h>
#include <string.h>

#include "localize/pattern/java-regex.h"
#include "util/error.h"

#define MAX_DEPTH 8U
#define MAX_POINT 0x10ffffU

/* ---- escapes ---- */

struct range {
    unsigned low, high;
};

/* POSIX names. In Java they cover only ASCII. */
static const struct {
    const char *name;
    struct range ranges[5];
} posix_sets[] = {
    {"Lower", {{'a', 'z'}}},
    {"Upper", {{'A', 'Z'}}},
    {"ASCII", {{0, 0x7f}}},
    {"Alpha", {{'A', 'Z'}, {'a', 'z'}}},
    {"Digit", {{'0', '9'}}},
    {"Alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {"Punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
    {"Graph", {{'!', '~'}}},
    {"Print", {{' ', '~'}}},
    {"Blank", {{'\t', '\t'}, {' ', ' '}}},
    {"Cntrl", {{0, 0x1f}, {0x7f, 0x7f}}},
    {"XDigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
    {"Space", {{'\t', '\r'}, {' ', ' '}}},
};

/* C and Cn are missing, because versions of Java disagree about their characters. */
static const char *const categories[] = {"L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Me", "Mc", "N",  "Nd",
                                         "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm",
                                         "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp", "Cc", "Cf", "Co"};

/* Prints the ranges, which are in ascending order. If `negated` is true, prints the gaps between the ranges. */
static void print_ranges(const struct range *ranges, size_t n, bool negated, char *buf, size_t size)
{
    unsigned next = 0;
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < n && (i == 0 || ranges[i].high > 0); i++) {
        unsigned low = negated ? next : ranges[i].low, high = negated ? ranges[i].low - 1 : ranges[i].high;

        next = ranges[i].high + 1;
        if (negated && ranges[i].low == low)
            continue;
        used += (size_t)snprintf(buf + used, size - used, "\\x{%x}-\\x{%x}", low, high);
    }
    if (negated)
        (void)snprintf(buf + used, size - used, "\\x{%x}-\\x{%x}", next, MAX_POINT);
}

/* Reads {Name} or one letter after \p or \P. */
static int property(struct nm_java_regex *r, bool negated, struct nm_java_escape *ret)
{
    size_t size = *r->at == '{' ? strcspn(r->at, "}") : 1;
    const char *name = *r->at == '{' ? r->at + 1 : r->at;
    const size_t length = *r->at == '{' ? size - 1 : 1;

    if (!*r->at || (*r->at == '{' && r->at[size] != '}'))
        return nm_java_refuse(r, "\\p must be followed by {Name} or a letter");
    for (size_t i = 0; i < NM_ARRAY_SIZE(posix_sets); i++)
        if (strlen(posix_sets[i].name) == length && memcmp(posix_sets[i].name, name, length) == 0) {
            if (r->ignores_case && i < 2)
                return nm_java_refuse(r, "Java versions disagree about \\p{Lower} and \\p{Upper} with (?i)");
            print_ranges(posix_sets[i].ranges, NM_ARRAY_SIZE(posix_sets[i].ranges), negated, ret->buf,
                         sizeof ret->buf);
            ret->set = ret->buf;
        }
    for (size_t i = 0; i < NM_ARRAY_SIZE(categories); i++)
        if (strlen(categories[i]) == length && memcmp(categories[i], name, length) == 0) {
            if (r->ignores_case && *name == 'L')
                return nm_java_refuse(r, "Java versions disagree about \\p{Lu} and the other categories of letters "
                                         "with (?i)");
            (void)snprintf(ret->buf, sizeof ret->buf, "\\%c{%s}", negated ? 'P' : 'p', categories[i]);
            ret->set = ret->buf;
        }
    if (!ret->set)
        return nm_java_refuse(r, "nmd supports only the ASCII sets (Lower, Alnum, ...) and general categories (Lu, "
                                 "Nd, ...) in \\p{..}");
    r->at += size + (*r->at == '{');
    return 0;
}

/* Reads up to three octal digits after \0. If there are three digits, the first digit must be below 4. */
static int octal(struct nm_java_regex *r, unsigned *ret)
{
    unsigned n = 0, c = 0;

    for (; n < 3 && *r->at >= '0' && *r->at <= '7' && (n < 2 || c < 040); n++)
        c = c * 8 + (unsigned)(*r->at++ - '0');
    *ret = c;
    return n > 0 ? 0 : nm_java_refuse(r, "\\0 must be followed by an octal digit");
}

static int hex_digits(struct nm_java_regex *r, size_t n, unsigned *ret)
{
    char digits[8] = "";

    (void)memcpy(digits, r->at, strnlen(r->at, n));
    if (strspn(digits, "0123456789abcdefABCDEF") != n)
        return nm_java_refuse(r, "hexadecimal digits are missing");
    *ret = (unsigned)strtoul(digits, NULL, 16); /* at most six digits, which were checked above */
    r->at += n;
    return 0;
}

/* Reads \xhh, \x{h..h} or \uhhhh. Two consecutive \uhhhh may be a surrogate pair. */
static int hexadecimal(struct nm_java_regex *r, bool is_u, unsigned *ret)
{
    unsigned low;
    int e;

    if (!is_u && *r->at == '{') {
        const size_t n = strcspn(++r->at, "}");

        e = n == 0 || n > 6 ? nm_java_refuse(r, "\\x{..} must have one to six digits") : hex_digits(r, n, ret);
        if (e == 0 && *r->at++ != '}')
            e = nm_java_refuse(r, "\\x{..} isn't closed");
    } else {
        e = hex_digits(r, is_u ? 4 : 2, ret);
    }
    if (e == 0 && is_u && *ret >= 0xd800 && *ret < 0xdc00 && strncmp(r->at, "\\u", 2) == 0) {
        r->at += 2;
        e = hex_digits(r, 4, &low);
        if (e == 0 && low >= 0xdc00 && low < 0xe000)
            *ret = 0x10000 + ((*ret & 0x3ffU) << 10) + (low & 0x3ffU);
    }
    if (e == 0 && (*ret > MAX_POINT || (*ret >= 0xd800 && *ret < 0xe000)))
        e = nm_java_refuse(r, "the code point is a surrogate or above 10ffff");
    return e;
}

/* Reads a letter that stands for one character. Returns 1 if the letter has another meaning. */
static int control(struct nm_java_regex *r, char letter, unsigned *ret)
{
    static const char letters[] = "tnrfae", meanings[] = "\t\n\r\f\a\033";
    const char *found = strchr(letters, letter);

    if (found) {
        *ret = (unsigned char)meanings[found - letters];
        return 0;
    }
    switch (letter) {
    case '0':
        return octal(r, ret);
    case 'x':
    case 'u':
        return hexadecimal(r, letter == 'u', ret);
    case 'c':
        if (!*r->at || (unsigned char)*r->at >= 0x80)
            return nm_java_refuse(r, "\\c must be followed by an ASCII character");
        *ret = (unsigned char)*r->at++ ^ 64U;
        return 0;
    default:
        return 1;
    }
}

int nm_java_escape(struct nm_java_regex *r, struct nm_java_escape *ret)
{
    static const char *const sets[] = {"\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\h", "\\H", "\\v", "\\V"};
    const char letter = *r->at;
    int e;

    *ret = (struct nm_java_escape){0};
    if (!letter)
        return nm_java_refuse(r, "the pattern ends with a backslash");
    for (size_t i = 0; i < NM_ARRAY_SIZE(sets); i++)
        if (letter == sets[i][1]) {
            ret->set = sets[i];
            r->at++;
            return 0;
        }
    if ((unsigned char)letter >= 0x80) {
        ret->c = nm_java_take(r);
        return 0;
    }
    r->at++;
    if (letter == 'p' || letter == 'P')
        return property(r, letter == 'P', ret);
    e = control(r, letter, &ret->c);
    if (e <= 0)
        return e;
    if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9'))
        return nm_java_refuse(r, "nmd doesn't support this escape");
    ret->c = (unsigned char)letter;
    return 0;
}

/* ---- classes ---- */

/* One operand of a class. A class [..] consists of operands separated by &&. Each operand is a union of items and
 * nested classes. */
struct operand {
    FILE *items, *classes;
    char *items_text, *classes_text;
    size_t items_size, classes_size;
    unsigned n_items, n_classes;
};

static int operand_begin(struct operand *o)
{
    *o = (struct operand){0};
    o->items = open_memstream(&o->items_text, &o->items_size);
    o->classes = open_memstream(&o->classes_text, &o->classes_size);
    return o->items && o->classes ? 0 : -ENOMEM;
}

static void operand_done(struct operand *o)
{
    if (o->items)
        (void)fclose(o->items);
    if (o->classes)
        (void)fclose(o->classes);
    free(o->items_text);
    free(o->classes_text);
}

static unsigned most(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static void put_range(FILE *out, unsigned low, unsigned high)
{
    if (low > high)
        return;
    nm_java_put(out, low);
    if (high > low) {
        (void)fputc('-', out);
        nm_java_put(out, high);
    }
}

/* Writes a range. With (?i) also writes the range's ASCII letters in the other case. */
static void put_item(const struct nm_java_regex *r, FILE *out, unsigned low, unsigned high)
{
    put_range(out, low, high);
    if (!r->ignores_case)
        return;
    put_range(out, most(low, 'a') - 0x20, most(least(high, 'z'), 0x40) - 0x20);
    put_range(out, most(low, 'A') + 0x20, least(high, 'Z') + 0x20);
}

/* Reads a character or an escape. */
static int class_escape(struct nm_java_regex *r, struct nm_java_escape *ret)
{
    if (nm_java_is_at(r, "\\")) {
        r->at++;
        return nm_java_escape(r, ret);
    }
    *ret = (struct nm_java_escape){.c = nm_java_take(r)};
    return 0;
}

/* Translates one character, a range or a set. A '-' makes a range unless it is the last character. */
static int item(struct nm_java_regex *r, FILE *out)
{
    struct nm_java_escape low, high;
    int e = class_escape(r, &low);

    if (e < 0)
        return e;
    nm_java_skip_marks(r);
    if (low.set) {
        if (nm_java_is_at(r, "-") && !nm_java_is_at(r, "-]") && low.set[1] == 'v')
            return nm_java_refuse(r, "Java versions disagree about \\v before a -");
        (void)fputs(low.set, out);
        return 0;
    }
    high = low;
    if (nm_java_is_at(r, "-") && !nm_java_is_at(r, "-]")) {
        r->at++;
        if (!*r->at || nm_java_is_at(r, "[") || nm_java_is_at(r, "\\Q") || nm_java_is_at(r, "\\E"))
            return nm_java_refuse(r, "a range has no end");
        e = class_escape(r, &high);
        if (e < 0)
            return e;
        if (high.set || high.c < low.c)
            return nm_java_refuse(r, "the end of a range must be one character, and not less than the beginning");
    }
    put_item(r, out, low.c, high.c);
    return 0;
}

/* Translates a nested class, after its '['. */
static int inner(struct nm_java_regex *r, struct operand *o)
{
    FILE *out = r->out;
    int e;

    if (o->n_classes++ > 0)
        (void)fputc('|', o->classes);
    r->out = o->classes;
    e = nm_java_class(r);
    r->out = out;
    return e;
}

/* Reads an operand up to "&&" or "]". In a right operand, refuses items after a nested class, because Java ignores some
 * of them. */
static int read_operand(struct nm_java_regex *r, bool is_first, struct operand *o)
{
    for (nm_java_skip_marks(r); *r->at; nm_java_skip_marks(r)) {
        const bool is_empty = o->n_items + o->n_classes == 0;
        int e;

        if (nm_java_is_at(r, "&&") && !is_empty)
            return 0;
        if (nm_java_is_at(r, "]") && !(is_first && is_empty))
            return is_empty ? nm_java_refuse(r, "an operand is missing after &&") : 0;
        if (is_empty && nm_java_is_at(r, is_first ? "&&" : "&"))
            return nm_java_refuse(r, "an operand is missing before &&, or there is one & too many");
        if (nm_java_is_at(r, "[")) {
            r->at++;
            e = inner(r, o);
        } else if (!is_first && o->n_classes > 0) {
            return nm_java_refuse(r, "Java ignores characters after a class in brackets behind &&");
        } else {
            o->n_items++;
            e = item(r, o->items);
        }
        if (e < 0)
            return e;
    }
    return nm_java_refuse(r, "a class isn't closed");
}

static int put_operand(FILE *out, struct operand *o, bool negated)
{
    if (fflush(o->items) != 0 || fflush(o->classes) != 0)
        return -ENOMEM;
    if (o->n_classes > 0)
        (void)fputs("(?:", out);
    if (o->n_items > 0)
        (void)fprintf(out, "[%s%s]%s", negated ? "^" : "", o->items_text, o->n_classes > 0 ? "|" : "");
    if (o->n_classes > 0)
        (void)fprintf(out, "%s)", o->classes_text);
    return 0;
}

/* Translates one operand. *ret_more: an "&&" follows it. */
static int class_operand(struct nm_java_regex *r, bool is_first, bool negated, bool *ret_more)
{
    _cleanup_(operand_done) struct operand o;
    int e = operand_begin(&o);

    if (e == 0)
        e = read_operand(r, is_first, &o);
    if (e < 0)
        return e;
    *ret_more = nm_java_is_at(r, "&&");
    if (negated && (*ret_more || o.n_classes > 0))
        return nm_java_refuse(r, "Java versions disagree about ^ in a class with && or a nested class");
    if (*ret_more)
        (void)fputs("(?=", r->out);
    e = put_operand(r->out, &o, negated);
    if (*ret_more)
        (void)fputc(')', r->out);
    r->at += *ret_more ? 2 : 1;
    return e;
}

int nm_java_class(struct nm_java_regex *r)
{
    const bool negated = nm_java_is_at(r, "^");
    bool more = true;
    int e = 0;

    if (++r->class_depth > MAX_DEPTH)
        return nm_java_refuse(r, "classes are nested too deeply");
    r->at += negated;
    (void)fputs("(?:", r->out);
    for (bool is_first = true; e == 0 && more; is_first = false)
        e = class_operand(r, is_first, negated, &more);
    (void)fputc(')', r->out);
    r->class_depth--;
    return e;
}
