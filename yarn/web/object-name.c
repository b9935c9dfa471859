/* SPDX-License-Identifier: Apache-2.0 */

/* See object-name.h. Values in quotes are not supported, because no bean of nmd has one: a pattern with a quote is
 * valid and matches no bean. */

#include "yarn/web/object-name.h"

#include <stdint.h>
#include <string.h>

#define PROPERTIES_MAX 32u /* each one is compared with the others, and Hadoop's names have three at most */

struct word {
    const char *text;
    size_t size;
};

struct property {
    struct word key, value;
    bool is_star; /* the property "*" */
};

/* Returns whether the text matches the pattern. The newest '*' takes one more character after each mismatch, so the
 * time is limited by the product of both lengths. */
static bool globs(struct word pattern, struct word text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, taken = 0;

    while (t < text.size) {
        if (p < pattern.size && pattern.text[p] == '*') {
            star = p++;
            taken = t;
        } else if (p < pattern.size && (pattern.text[p] == '?' || pattern.text[p] == text.text[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++taken;
        } else
            return false;
    }
    while (p < pattern.size && pattern.text[p] == '*')
        p++;
    return p == pattern.size;
}

static bool is_equal(struct word a, struct word b)
{
    return a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
}

static struct word domain_of(const char *name)
{
    return (struct word){name, strcspn(name, ":")};
}

/* Takes the next property from *list. Returns false at the end of the list. */
static bool take(const char **list, struct property *ret)
{
    const char *p = *list, *value;
    size_t n = strcspn(p, ","), key;

    if (!*p)
        return false;
    key = strcspn(p, "=,");
    value = key < n ? p + key + 1 : p + n;
    *ret = (struct property){{p, key}, {value, (size_t)(p + n - value)}, n == 1 && *p == '*'};
    *list = p + n + (p[n] == ',');
    return true;
}

/* Returns whether the list has a property with this key that matches the value. */
static bool has(const char *list, const struct property *wanted)
{
    struct property p;

    while (take(&list, &p))
        if (is_equal(p.key, wanted->key))
            return globs(wanted->value, p.value);
    return false;
}

static size_t count(const char *list, bool *ret_star)
{
    struct property p;
    size_t n = 0;

    *ret_star = false;
    while (take(&list, &p)) {
        *ret_star |= p.is_star;
        n += !p.is_star;
    }
    return n;
}

static bool is_valid(const struct property *p)
{
    if (p->is_star)
        return true;
    /* a value follows the key */
    return p->key.size > 0 && p->key.text[p->key.size] == '=' && p->value.size > 0 &&
           !memchr(p->key.text, '*', p->key.size) && !memchr(p->key.text, '?', p->key.size) &&
           !memchr(p->value.text, ':', p->value.size) && !memchr(p->value.text, '=', p->value.size);
}

bool nm_yarn_object_name_is_valid(const char *text)
{
    const struct word domain = domain_of(text);
    const char *list = text + domain.size + 1;
    bool has_star = false;
    struct property p;
    size_t n = 0;

    if (!*text) /* Java takes this as "*:*" */
        return true;
    if (text[domain.size] != ':' || !*list || list[strlen(list) - 1] == ',')
        return false;
    if (strchr(list, '"'))
        return true;
    while (take(&list, &p)) {
        const char *rest = list;

        if (++n > PROPERTIES_MAX || !is_valid(&p) || (p.is_star && has_star))
            return false;
        has_star |= p.is_star;
        /* a key occurs only once */
        for (struct property q; !p.is_star && take(&rest, &q);)
            if (is_equal(p.key, q.key))
                return false;
    }
    return true;
}

bool nm_yarn_object_name_matches(const char *pattern, const char *name)
{
    const char *text = *pattern ? pattern : "*:*";
    const struct word domain = domain_of(text);
    const char *wanted = text + domain.size + 1, *list = strchr(name, ':') + 1;
    bool more, star;
    struct property p;

    if (!globs(domain, domain_of(name)) || strchr(wanted, '"'))
        return false;
    if (count(wanted, &more) != count(list, &star) && !more)
        return false;
    while (take(&wanted, &p))
        if (!p.is_star && !has(list, &p))
            return false;
    return true;
}
