/* SPDX-License-Identifier: Apache-2.0 */

/* See descriptors.h. The rules are those of Hadoop's NodeLabelUtil, ConfigurationNodeAttributesProvider and
 * ScriptBasedNode*Provider. Blanks are what Java's trim() removes: all characters up to the space. */

#include "yarn/labels/descriptors.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_LINE "NODE_PARTITION:"
#define ATTRIBUTE_LINE "NODE_ATTRIBUTE:"
#define TYPE "STRING" /* the only type of attributes */

struct span {
    const char *text;
    size_t n;
};

void nm_yarn_descriptors_done(struct nm_yarn_descriptors *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->items[i].name);
        free(d->items[i].value);
    }
    free(d->items);
    *d = (struct nm_yarn_descriptors){};
}

static struct span trim(struct span s)
{
    while (s.n > 0 && (unsigned char)s.text[0] <= ' ')
        s = (struct span){s.text + 1, s.n - 1};
    while (s.n > 0 && (unsigned char)s.text[s.n - 1] <= ' ')
        s.n--;
    return s;
}

/* Cuts the text before the first separator off *rest. */
static struct span cut(struct span *rest, char separator)
{
    const char *end = memchr(rest->text, separator, rest->n);
    struct span s = {rest->text, end ? (size_t)(end - rest->text) : rest->n};

    rest->text += s.n + (end != NULL);
    rest->n -= s.n + (end != NULL);
    return s;
}

/* Removes separators at the end, because Java's split() drops empty parts at the end. */
static struct span without_last(struct span s, char separator)
{
    while (s.n > 0 && s.text[s.n - 1] == separator)
        s.n--;
    return s;
}

/* ---- sets --------------------------------------------------------------------------------- */

/* Adds a copy. has_value false: a label. */
static int add(struct nm_yarn_descriptors *d, struct span name, struct span value, bool has_value)
{
    struct nm_yarn_descriptor *items = reallocarray(d->items, d->n + 1, sizeof *items), *one;

    if (!items)
        return -ENOMEM;
    d->items = items;
    one = &items[d->n];
    *one = (struct nm_yarn_descriptor){.name = strndup(name.text, name.n),
                                       .value = has_value ? strndup(value.text, value.n) : NULL};
    d->n++;
    return one->name && (one->value || !has_value) ? 0 : -ENOMEM;
}

int nm_yarn_descriptors_copy(const struct nm_yarn_descriptors *from, struct nm_yarn_descriptors *ret)
{
    struct nm_yarn_descriptors copy = {};

    for (size_t i = 0; i < from->n; i++) {
        const struct nm_yarn_descriptor *one = &from->items[i];
        const char *value = one->value ?: "";

        if (add(&copy, (struct span){one->name, strlen(one->name)}, (struct span){value, strlen(value)},
                one->value) < 0) {
            nm_yarn_descriptors_done(&copy);
            return -ENOMEM;
        }
    }
    *ret = copy;
    return 0;
}

bool nm_yarn_descriptors_equal(const struct nm_yarn_descriptors *a, const struct nm_yarn_descriptors *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->items[i].name, b->items[i].name) != 0 ||
            strcmp(a->items[i].value ?: "", b->items[i].value ?: "") != 0)
            return false;
    return true;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct nm_yarn_descriptor *)a)->name, ((const struct nm_yarn_descriptor *)b)->name);
}

/* ---- rules -------------------------------------------------------------------------------- */

/* Returns whether the text begins with a letter or digit and otherwise has only letters, digits and `more`. */
static bool is_word(const char *text, const char *more)
{
    static const char begins[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    if (!*text || !strchr(begins, *text))
        return false;
    for (const char *p = text; *p; p++)
        if (!strchr(begins, *p) && !strchr(more, *p))
            return false;
    return true;
}

static int check_one(enum nm_yarn_descriptor_kind kind, const struct nm_yarn_descriptor *one, char **ret_message)
{
    const bool is_label = kind == NM_YARN_LABEL;
    const char *value = one->value ?: "";

    if (strlen(one->name) > NM_YARN_DESCRIPTOR_MAX || strlen(value) > NM_YARN_DESCRIPTOR_MAX)
        return nm_fail(ret_message, -EINVAL, "a name or value is longer than %u characters", NM_YARN_DESCRIPTOR_MAX);
    if (!is_word(one->name, "-_"))
        return nm_fail(ret_message, -EINVAL, "the %s '%s' must begin with a letter or digit, and may otherwise have "
                                             "only letters, digits, - and _", is_label ? "label" : "attribute",
                       one->name);
    if (*value && !is_word(value, "-_."))
        return nm_fail(ret_message, -EINVAL, "the value '%s' of the attribute %s must begin with a letter or digit, "
                                             "and may otherwise have only letters, digits, -, _ and dots", value,
                       one->name);
    return 0;
}

int nm_yarn_descriptors_finish(enum nm_yarn_descriptor_kind kind, struct nm_yarn_descriptors *d, char **ret_message)
{
    for (size_t i = 0; i < d->n; i++) {
        int r = check_one(kind, &d->items[i], ret_message);

        if (r < 0)
            return r;
    }
    if (d->n > 0)
        qsort(d->items, d->n, sizeof *d->items, compare);
    for (size_t i = 1; i < d->n; i++)
        if (compare(&d->items[i - 1], &d->items[i]) == 0)
            return nm_fail(ret_message, -EINVAL, "the attribute %s is declared twice", d->items[i].name);
    return 0;
}

/* ---- texts -------------------------------------------------------------------------------- */

/* Adds an attribute NAME,STRING,VALUE. A name with a prefix is invalid, because the node sets the prefix. */
static int add_attribute(struct nm_yarn_descriptors *d, struct span text, char **ret_message)
{
    struct span rest = without_last(text, ','), name = trim(cut(&rest, ',')), type = cut(&rest, ',');
    const bool is_short = rest.n == 0;
    struct span value = trim(cut(&rest, ','));

    if (is_short || rest.n > 0 || type.n != strlen(TYPE) || memcmp(type.text, TYPE, type.n) != 0)
        return nm_fail(ret_message, -EINVAL, "'%.*s' is not NAME," TYPE ",VALUE", (int)text.n, text.text);
    if (memchr(name.text, '/', name.n))
        return nm_fail(ret_message, -EINVAL, "the name '%.*s' of an attribute has a prefix", (int)name.n, name.text);
    if (d->n == NM_YARN_DESCRIPTORS_MAX)
        return nm_fail(ret_message, -EINVAL, "there are more than %u attributes", NM_YARN_DESCRIPTORS_MAX);
    return add(d, name, value, true);
}

static int set_label(struct nm_yarn_descriptors *d, struct span name)
{
    nm_yarn_descriptors_done(d);
    return add(d, trim(name), (struct span){}, false);
}

int nm_yarn_descriptors_add_line(enum nm_yarn_descriptor_kind kind, const char *line, struct nm_yarn_descriptors *d,
                                 char **ret_message)
{
    const char *begin = kind == NM_YARN_LABEL ? LABEL_LINE : ATTRIBUTE_LINE;
    struct span s = trim((struct span){line, strlen(line)});

    if (s.n < strlen(begin) || memcmp(s.text, begin, strlen(begin)) != 0)
        return 0;
    s = (struct span){s.text + strlen(begin), s.n - strlen(begin)};
    return kind == NM_YARN_LABEL ? set_label(d, s) : add_attribute(d, s, ret_message);
}

int nm_yarn_descriptors_read(enum nm_yarn_descriptor_kind kind, const char *text, struct nm_yarn_descriptors *ret,
                             char **ret_message)
{
    struct span rest = trim((struct span){text, strlen(text)});
    struct nm_yarn_descriptors d = {};
    int r = 0;

    if (kind == NM_YARN_LABEL && rest.n > 0)
        r = set_label(&d, rest);
    if (kind == NM_YARN_ATTRIBUTE)
        for (rest = without_last(rest, ':'); r == 0 && rest.n > 0;)
            r = add_attribute(&d, cut(&rest, ':'), ret_message);
    if (r == 0)
        r = nm_yarn_descriptors_finish(kind, &d, ret_message);
    if (r < 0)
        nm_yarn_descriptors_done(&d);
    else
        *ret = d;
    return r;
}

/* ---- display ------------------------------------------------------------------------------ */

const char *nm_yarn_descriptors_print(const struct nm_yarn_descriptors *d, char *buf, size_t size)
{
    size_t n = 0;

    assert(size > 0);
    (void)snprintf(buf, size, "%s", d->n == 0 ? "none" : "");
    for (size_t i = 0; i < d->n && n < size - 1; i++) {
        const struct nm_yarn_descriptor *one = &d->items[i];

        (void)snprintf(buf + n, size - n, "%s%s%s%s", i > 0 ? ", " : "", one->name, one->value ? "=" : "",
                       one->value ?: "");
        n = strlen(buf);
    }
    return buf;
}

json_t *nm_yarn_descriptors_to_json(enum nm_yarn_descriptor_kind kind, const struct nm_yarn_descriptors *d)
{
    json_t *j = kind == NM_YARN_LABEL ? json_array() : json_object();
    int r = j ? 0 : -1;

    for (size_t i = 0; r == 0 && i < d->n; i++)
        r = kind == NM_YARN_LABEL ? json_array_append_new(j, json_string(d->items[i].name))
                                  : json_object_set_new(j, d->items[i].name, json_string(d->items[i].value));
    if (r == 0)
        return j;
    json_decref(j);
    return NULL;
}
