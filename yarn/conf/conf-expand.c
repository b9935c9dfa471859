/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Expands ${...} in values. As in Hadoop, the first variable that contains no other variable is replaced. This is
 * repeated until the text has no variable, or until a variable is unknown. The text is then returned with the unknown
 * variable in it.
 */

#include "yarn/conf/conf.h"

#include <assert.h>
#include <ctype.h>
#include <pwd.h>

#define SUBSTITUTIONS_MAX 20 /* limit per value, same as in Hadoop */
#define EXPANDED_MAX (256u << 10)
#define SHOWN_SIZE 120

/* Finds the first "${...}" that contains no other "$". Returns the start and the length of the text between the
 * braces. */
static const char *find_variable(const char *text, size_t *ret_len)
{
    for (const char *p = strstr(text, "${"); p; p = strstr(p + 1, "${")) {
        size_t len = strcspn(p + 2, "}$ ");

        if (len > 0 && p[2 + len] == '}') {
            *ret_len = len;
            return p + 2;
        }
    }
    return NULL;
}

/* Returns the value of ${env.NAME}, ${env.NAME-text} or ${env.NAME:-text}. spec: the part after "env.". NULL: the
 * variable is unknown. */
static const char *from_environment(char *spec)
{
    char *dash = strchr(spec, '-');
    bool or_empty = dash && dash > spec && dash[-1] == ':';
    const char *value;

    if (dash)
        dash[or_empty ? -1 : 0] = '\0';
    value = getenv(spec);
    if (dash && (!value || (or_empty && !*value)))
        return dash + 1;
    return value;
}

/* Returns the value of one of Java's system properties that configurations use. */
static const char *from_java(const char *name)
{
    const struct passwd *pw;

    if (nm_streq(name, "java.io.tmpdir"))
        return "/tmp";
    if (!nm_streq(name, "user.name") && !nm_streq(name, "user.home"))
        return NULL;
    pw = getpwuid(geteuid());
    return !pw ? NULL : nm_streq(name, "user.name") ? pw->pw_name : pw->pw_dir;
}

static const char *value_of(const struct nm_yarn_conf *c, char *name)
{
    const struct nm_yarn_property *p;
    const char *value;

    if (strncmp(name, "env.", 4) == 0)
        return from_environment(name + 4);
    value = from_java(name);
    if (value)
        return value;
    p = nm_yarn_conf_find(c, name);
    return p ? p->value : NULL;
}

/* Returns the text without surrounding blanks. Such blanks come from the indentation of XML files. */
static const char *trimmed(const char *text, size_t *ret_len)
{
    size_t len;

    while (isspace((unsigned char)*text))
        text++;
    for (len = strlen(text); len > 0 && isspace((unsigned char)text[len - 1]); len--)
        ;
    *ret_len = len;
    return text;
}

/* Returns 1 if a variable was replaced, 0 if the text has no variable or its next variable is unknown. */
static int replace_one(const struct nm_yarn_conf *c, char **text)
{
    _cleanup_free_ char *name = NULL;
    const char *at, *value;
    size_t len, value_len;
    char *longer;

    at = find_variable(*text, &len);
    if (!at)
        return 0;
    name = strndup(at, len);
    if (!name)
        return -ENOMEM;
    value = value_of(c, name);
    if (!value)
        return 0;
    value = trimmed(value, &value_len);
    if (strlen(*text) + value_len > EXPANDED_MAX)
        return -E2BIG;
    if (asprintf(&longer, "%.*s%.*s%s", (int)(at - 2 - *text), *text, (int)value_len, value, at + len + 1) < 0)
        return -ENOMEM;
    free(*text);
    *text = longer;
    return 1;
}

int nm_yarn_conf_expand(const struct nm_yarn_conf *c, const char *name, char **ret)
{
    const struct nm_yarn_property *p = nm_yarn_conf_find(c, name);
    _cleanup_free_ char *text = NULL;
    const char *value;
    size_t len;
    int r = 1;

    if (!p)
        return -ENOENT;
    text = strdup(p->value);
    if (!text)
        return -ENOMEM;
    for (unsigned n = 0; r == 1 && n < SUBSTITUTIONS_MAX; n++)
        r = replace_one(c, &text);
    if (r == 1 && (r = replace_one(c, &text)) > 0)
        r = -ELOOP;
    if (r < 0)
        return r;
    value = trimmed(text, &len);
    value = strndup(value, len);
    if (!value)
        return -ENOMEM;
    *ret = (char *)value;
    return 0;
}

int nm_yarn_conf_expand_or_report(const struct nm_yarn_conf *c, const char *name, char **ret, char **ret_message)
{
    const struct nm_yarn_property *p = nm_yarn_conf_find(c, name);
    char shown[SHOWN_SIZE], file[200];
    int r = nm_yarn_conf_expand(c, name, ret);

    assert(p);
    if (r == -ELOOP || r == -E2BIG)
        return nm_fail(ret_message, r, "%s: %s = '%s': the variables in the value refer to each other in a circle, or "
                                       "the expanded value is too long",
                       nm_yarn_conf_printable(p->file ?: "by default", file, sizeof file), name,
                       nm_yarn_conf_printable(p->value, shown, sizeof shown));
    return r;
}
