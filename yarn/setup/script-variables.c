/* SPDX-License-Identifier: Apache-2.0 */

/* See facts-parts.h. */

#include "yarn/setup/facts-parts.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "util/macros.h"

struct text {
    const char *at, *end;
};

static bool is_blank(char c)
{
    return isspace((unsigned char)c);
}

static void skip_blanks(struct text *t)
{
    while (t->at < t->end && is_blank(*t->at))
        t->at++;
}

static bool begins_with(const struct text *t, const char *word)
{
    const size_t n = strlen(word);

    return (size_t)(t->end - t->at) >= n && memcmp(t->at, word, n) == 0;
}

/* Skips a keyword such as "export" or "declare -x". Returns whether there was a keyword. */
static bool skip_keyword(struct text *t)
{
    static const char *const words[] = {"export", "declare", "typeset", "readonly"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++) {
        struct text rest = {t->at + strlen(words[i]), t->end};

        if (!begins_with(t, words[i]) || rest.at == rest.end || !is_blank(*rest.at))
            continue;
        for (skip_blanks(&rest); rest.at < rest.end && *rest.at == '-'; skip_blanks(&rest))
            while (rest.at < rest.end && !is_blank(*rest.at))
                rest.at++;
        *t = rest;
        return true;
    }
    return false;
}

/* Takes a word, which may be inside quotes. Returns the quote character, '\0' if the word isn't quoted, or -1 if the
 * closing quote is missing. */
static int take_word(struct text *t, struct text *ret)
{
    const char quote = t->at < t->end && (*t->at == '"' || *t->at == '\'') ? *t->at : '\0';

    if (quote) {
        const char *close = memchr(t->at + 1, quote, (size_t)(t->end - t->at - 1));

        if (!close)
            return -1;
        *ret = (struct text){t->at + 1, close};
        t->at = close + 1;
        return quote;
    }
    ret->at = t->at;
    while (t->at < t->end && !is_blank(*t->at) && !strchr(";&|", *t->at))
        t->at++;
    ret->end = t->at;
    return '\0';
}

static bool is_literal(const struct text *v)
{
    for (const char *p = v->at; p < v->end; p++)
        if (strchr("$`\\\"'", *p))
            return false;
    return true;
}

/* Examines a value that contains an expansion of the shell. */
static enum nm_setup_line check_expansion(const char *name, struct text *v)
{
    static const char *const operators[] = {":-", ":=", "-", "="};
    struct text t = *v;

    t.at++; /* skip '$'; the code below doesn't match any other character */
    if (*v->at == '$' && begins_with(&t, name) && t.at + strlen(name) == t.end)
        return NM_SETUP_LINE_OTHER;
    if (!begins_with(v, "${") || v->end[-1] != '}')
        return NM_SETUP_LINE_UNCLEAR;
    t = (struct text){t.at + 1, t.end - 1};
    if (!begins_with(&t, name))
        return NM_SETUP_LINE_UNCLEAR;
    t.at += strlen(name);
    if (t.at == t.end)
        return NM_SETUP_LINE_OTHER;
    for (size_t i = 0; i < NM_ARRAY_SIZE(operators); i++) {
        const struct text value = {t.at + strlen(operators[i]), t.end};

        if (!begins_with(&t, operators[i]))
            continue;
        *v = value;
        return value.at == value.end ? NM_SETUP_LINE_OTHER
               : is_literal(&value)  ? NM_SETUP_LINE_DEFAULT
                                     : NM_SETUP_LINE_UNCLEAR;
    }
    return NM_SETUP_LINE_UNCLEAR;
}

/* Returns whether the line ends after the assignment. In a line "NAME=VALUE command", the assignment applies only to
 * the command and not to the following lines. */
static bool ends_well(const struct text *rest, bool has_keyword)
{
    struct text t = *rest;

    skip_blanks(&t);
    return t.at == t.end || *t.at == ';' || begins_with(&t, "&&") ||
           (t.at > rest->at && (*t.at == '#' || has_keyword));
}

/* Examines the rest of the line after "NAME=". */
static enum nm_setup_line check_value(struct text *t, const char *name, bool has_keyword, struct text *ret)
{
    struct text v;
    const int quote = take_word(t, &v);
    enum nm_setup_line kind = NM_SETUP_LINE_VALUE;

    if (quote < 0 || !ends_well(t, has_keyword))
        return NM_SETUP_LINE_UNCLEAR;
    if (v.at == v.end)
        return NM_SETUP_LINE_OTHER;
    if (quote != '\'' && !is_literal(&v))
        kind = check_expansion(name, &v);
    *ret = v;
    return kind;
}

/* Returns whether the line contains an assignment to the variable, outside of a comment. */
static bool is_set_in(const struct text *t, const char *name)
{
    const size_t n = strlen(name);

    for (const char *p = t->at; p < t->end; p++) {
        const bool is_first = p == t->at || is_blank(p[-1]) || strchr(";&|({", p[-1]);

        if (is_first && *p == '#')
            return false;
        if (is_first && (size_t)(t->end - p) > n && memcmp(p, name, n) == 0 && p[n] == '=')
            return true;
    }
    return false;
}

enum nm_setup_line nm_setup_script_line(const char *line, size_t size, const char *name, const char **ret,
                                        size_t *ret_size)
{
    struct text t = {line, line + size}, value = {line, line};
    enum nm_setup_line kind;
    bool has_keyword;

    skip_blanks(&t);
    has_keyword = skip_keyword(&t);
    if (begins_with(&t, name) && begins_with(&(struct text){t.at + strlen(name), t.end}, "=")) {
        t.at += strlen(name) + 1;
        kind = check_value(&t, name, has_keyword, &value);
    } else {
        kind = NM_SETUP_LINE_OTHER;
    }
    if (is_set_in(&t, name)) /* this is also true for a second assignment in the same line */
        kind = NM_SETUP_LINE_UNCLEAR;
    if (kind == NM_SETUP_LINE_VALUE || kind == NM_SETUP_LINE_DEFAULT) {
        *ret = value.at;
        *ret_size = (size_t)(value.end - value.at);
    }
    return kind;
}
