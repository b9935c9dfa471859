/* SPDX-License-Identifier: Apache-2.0 */

/* See java-regex.h. Functions have the names of their counterparts in the parser of java.util.regex.Pattern. */

#include "localize/pattern/java-regex.h"

#include <stdlib.h>
#include <string.h>

#include "util/error.h"
#include "util/utf8.h"

#define MAX_DEPTH 50U /* PCRE2's limit is 250, and a class may need several levels */
#define LINE_ENDS "\\n\\r\\x{85}\\x{2028}\\x{2029}"
/* Java's $ matches before a line end at the end of the text, but not between the two characters of a line end. */
#define BEFORE_LAST_LINE_END "(?=(?:\\r\\n|(?<!\\r)\\n|[\\r\\x{85}\\x{2028}\\x{2029}])?\\z)"

static int sequence(struct nm_java_regex *r, bool in_group);

/* If this text comes next, skips it. Returns whether it was skipped. */
static bool take(struct nm_java_regex *r, const char *text)
{
    if (!nm_java_is_at(r, text))
        return false;
    r->at += strlen(text);
    return true;
}

static bool is_letter(unsigned c)
{
    return nm_java_other_case(c) != c;
}

static bool is_digit(unsigned c)
{
    return c >= '0' && c <= '9';
}

static void put_literal(struct nm_java_regex *r, unsigned c)
{
    if (r->ignores_case && is_letter(c))
        (void)fprintf(r->out, "[%c%c]", c, nm_java_other_case(c));
    else
        nm_java_put(r->out, c);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Reads the letters of (?is-is) or (?is-is: after the question mark. */
static int flags(struct nm_java_regex *r)
{
    bool on = true;

    for (; *r->at && *r->at != ')' && *r->at != ':'; r->at++)
        if (*r->at == '-' && on)
            on = false;
        else if (*r->at == 'i')
            r->ignores_case = on;
        else if (*r->at == 's')
            r->dots_all = on;
        else
            return nm_java_refuse(r, "nmd supports only the flags i and s");
    return *r->at ? 0 : nm_java_refuse(r, "a group isn't closed");
}

/* Reads a group's name. Java allows only letters and digits. PCRE2 allows other characters, too. */
static int name(struct nm_java_regex *r)
{
    const char *begin = r->at;

    while (is_letter((unsigned char)*r->at) || (r->at > begin && is_digit((unsigned char)*r->at)))
        r->at++;
    if (r->at == begin || *r->at != '>')
        return nm_java_refuse(r, "the name of a group must consist of letters and digits, begin with a letter and end "
                                 "with >");
    (void)fprintf(r->out, "(?<%.*s>", (int)(r->at - begin), begin);
    r->at++;
    return 0;
}

/* Reads the kind of a group after "(". Returns 1 if the parentheses contain only flags, because then they are no group.
 * *ret_number: number of a capturing group. *ret_assertion: the group is an assertion. */
static int begin_group(struct nm_java_regex *r, unsigned *ret_number, bool *ret_assertion)
{
    static const char *const plain[] = {"?:", "?>", "?=", "?!", "?<=", "?<!"};
    int e = 0;

    for (size_t i = 0; i < NM_ARRAY_SIZE(plain); i++)
        if (take(r, plain[i])) {
            *ret_assertion = i > 1;
            (void)fprintf(r->out, "(%s", plain[i]);
            return 0;
        }
    if (take(r, "?<")) {
        *ret_number = ++r->n_groups;
        return name(r);
    }
    if (take(r, "?")) {
        e = flags(r);
        if (e < 0)
            return e;
        if (*r->at++ == ')')
            return 1;
        (void)fputs("(?:", r->out);
        return 0;
    }
    *ret_number = ++r->n_groups;
    (void)fputc('(', r->out);
    return 0;
}

/* Translates a group after its "(". Flags that are set in a group are valid until the end of the group. */
static int group(struct nm_java_regex *r, bool *ret_repeats)
{
    const bool ignored_case = r->ignores_case, dotted_all = r->dots_all;
    unsigned number = 0;
    bool is_assertion = false;
    int e = begin_group(r, &number, &is_assertion);

    *ret_repeats = e == 0 && !is_assertion;
    if (e != 0)
        return e < 0 ? e : 0;
    if (++r->depth > MAX_DEPTH)
        return nm_java_refuse(r, "groups are nested too deeply");
    e = sequence(r, true);
    if (e < 0)
        return e;
    r->depth--;
    r->at++;
    (void)fputc(')', r->out);
    r->ignores_case = ignored_case;
    r->dots_all = dotted_all;
    if (number > 0 && number < NM_ARRAY_SIZE(r->is_closed))
        r->is_closed[number] = true;
    return 0;
}

/* ---- anchors and characters ------------------------------------------------------------------ */

/* Translates an escape that is invalid in a class, after its backslash. Returns 1 for any other escape. */
static int anchor_or_escape(struct nm_java_regex *r, bool *ret_repeats)
{
    const char c = *r->at;

    *ret_repeats = false;
    if (is_digit((unsigned char)c) && c != '0') {
        if (r->ignores_case || is_digit((unsigned char)r->at[1]) || !r->is_closed[c - '0'])
            return nm_java_refuse(r, "a back reference must be to one of the first nine groups, after the end of this "
                                     "group, and without (?i)");
        (void)fprintf(r->out, "\\g{%c}", c);
        *ret_repeats = true;
    } else if (c == 'Z') {
        (void)fputs(BEFORE_LAST_LINE_END, r->out);
    } else if (c == 'b' || c == 'B') {
        if (r->at[1] == '{')
            return nm_java_refuse(r, "nmd doesn't support \\b{..}");
        r->is_ascii = true;
        (void)fprintf(r->out, "\\%c", c);
    } else if (c == 'A' || c == 'z' || c == 'G') {
        (void)fprintf(r->out, "\\%c", c);
    } else {
        return 1;
    }
    r->at++;
    return 0;
}

static int backslash(struct nm_java_regex *r, bool *ret_repeats)
{
    struct nm_java_escape escape;
    int e = anchor_or_escape(r, ret_repeats);

    if (e <= 0)
        return e;
    *ret_repeats = true;
    e = nm_java_escape(r, &escape);
    if (e < 0)
        return e;
    if (escape.set)
        (void)fprintf(r->out, "[%s]", escape.set);
    else
        put_literal(r, escape.c);
    return 0;
}

/* Translates one atom. *ret_repeats: a quantifier may follow. Java also allows quantifiers after other atoms, but they
 * have no effect there. */
static int atom(struct nm_java_regex *r, bool *ret_repeats)
{
    *ret_repeats = true;
    if (take(r, "\\"))
        return backslash(r, ret_repeats);
    if (take(r, "["))
        return nm_java_class(r);
    if (take(r, "("))
        return group(r, ret_repeats);
    if (take(r, ".")) {
        (void)fputs(r->dots_all ? "(?s:.)" : "[^" LINE_ENDS "]", r->out);
    } else if (take(r, "^")) {
        *ret_repeats = false;
        (void)fputs("\\A", r->out);
    } else if (take(r, "$")) {
        *ret_repeats = false;
        (void)fputs(BEFORE_LAST_LINE_END, r->out);
    } else if (!r->is_quoting && strchr("*+?{", *r->at)) {
        return nm_java_refuse(r, "a quantifier has no operand");
    } else {
        put_literal(r, nm_java_take(r));
    }
    return 0;
}

/* ---- quantifiers ----------------------------------------------------------------------------- */

/* Reads {n}, {n,} or {n,m}. Other braces are text in PCRE2, but an error in Java. */
static int braces(struct nm_java_regex *r)
{
    const char *begin = r->at;
    size_t digits = strspn(++r->at, "0123456789");

    r->at += digits;
    if (digits > 0 && *r->at == ',')
        r->at += 1 + strspn(r->at + 1, "0123456789");
    if (digits == 0 || *r->at != '}')
        return nm_java_refuse(r, "{ must be followed by a number of repetitions");
    r->at++;
    (void)fprintf(r->out, "%.*s", (int)(r->at - begin), begin);
    return 0;
}

static bool is_quantifier(const struct nm_java_regex *r)
{
    return !r->is_quoting && *r->at && strchr("*+?{", *r->at);
}

static int quantifier(struct nm_java_regex *r, bool repeats)
{
    int e = 0;

    nm_java_skip_marks(r);
    if (!is_quantifier(r))
        return 0;
    if (!repeats)
        return nm_java_refuse(r, "an assertion can't have a quantifier");
    if (*r->at == '{')
        e = braces(r);
    else
        (void)fputc(*r->at++, r->out);
    if (e < 0)
        return e;
    if (nm_java_is_at(r, "?") || nm_java_is_at(r, "+"))
        (void)fputc(*r->at++, r->out);
    return is_quantifier(r) ? nm_java_refuse(r, "there are two quantifiers in sequence") : 0;
}

/* Translates up to the group's ')' or to the end. */
static int sequence(struct nm_java_regex *r, bool in_group)
{
    for (nm_java_skip_marks(r); *r->at; nm_java_skip_marks(r)) {
        bool repeats;
        int e;

        if (nm_java_is_at(r, ")"))
            return in_group ? 0 : nm_java_refuse(r, "there is a ) without a (");
        if (take(r, "|")) {
            (void)fputc('|', r->out);
            continue;
        }
        e = atom(r, &repeats);
        if (e >= 0)
            e = quantifier(r, repeats);
        if (e < 0)
            return e;
    }
    return in_group ? nm_java_refuse(r, "a group isn't closed") : 0;
}

int nm_java_regex_translate(const char *text, char **ret, bool *ret_is_ascii, char **ret_message)
{
    struct nm_java_regex r = {.text = text, .at = text, .message = ret_message};
    _cleanup_free_ char *out = NULL;
    size_t size;
    int e;

    r.out = open_memstream(&out, &size);
    if (!r.out)
        return -ENOMEM;
    e = sequence(&r, false);
    if (fclose(r.out) != 0)
        return -ENOMEM;
    if (e < 0)
        return e;
    *ret = STEAL_PTR(out);
    *ret_is_ascii = r.is_ascii;
    return 0;
}
