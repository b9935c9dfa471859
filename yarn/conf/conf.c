/* SPDX-License-Identifier: Apache-2.0 */

/* See conf.h. The set is an array sorted by name. */

#include "yarn/conf/conf-set.h"

#include <assert.h>
#include <ctype.h>

#include "util/array.h"

struct nm_yarn_conf {
    struct nm_yarn_property *properties;
    size_t n, room;
    char **files;
    size_t n_files;
    unsigned n_includes;
};

int nm_yarn_conf_new(struct nm_yarn_conf **ret)
{
    struct nm_yarn_conf *c = calloc(1, sizeof *c);

    if (!c)
        return -ENOMEM;
    *ret = c;
    return 0;
}

struct nm_yarn_conf *nm_yarn_conf_free(struct nm_yarn_conf *c)
{
    if (!c)
        return NULL;
    for (size_t i = 0; i < c->n; i++) {
        free(c->properties[i].name);
        free(c->properties[i].value);
    }
    for (size_t i = 0; i < c->n_files; i++)
        free(c->files[i]);
    free(c->properties);
    free(c->files);
    free(c);
    return NULL;
}

const char *nm_yarn_conf_printable(const char *text, char *buf, size_t size)
{
    size_t len = strlen(text), n = NM_MIN(len, size - 4);

    assert(size > 4);
    for (size_t i = 0; i < n; i++)
        buf[i] = (char)(isprint((unsigned char)text[i]) ? text[i] : '?');
    memcpy(buf + n, n < len ? "..." : "", n < len ? 4 : 1);
    return buf;
}

/* ---- the set ------------------------------------------------------------------------------ */

const struct nm_yarn_property *nm_yarn_conf_find(const struct nm_yarn_conf *c, const char *name)
{
    bool there;
    size_t i = nm_bsearch_name(c->properties, c->n, sizeof *c->properties, name, &there);

    return there ? &c->properties[i] : NULL;
}

size_t nm_yarn_conf_count(const struct nm_yarn_conf *c)
{
    return c->n;
}

const struct nm_yarn_property *nm_yarn_conf_at(const struct nm_yarn_conf *c, size_t i)
{
    assert(i < c->n);
    return &c->properties[i];
}

static int insert(struct nm_yarn_conf *c, size_t at, const struct nm_yarn_property *p)
{
    if (c->n == c->room) {
        size_t room = c->room ? 2 * c->room : 128;
        struct nm_yarn_property *larger = reallocarray(c->properties, room, sizeof *larger);

        if (!larger)
            return -ENOMEM;
        c->properties = larger;
        c->room = room;
    }
    memmove(c->properties + at + 1, c->properties + at, (c->n - at) * sizeof *p);
    c->properties[at] = *p;
    c->n++;
    return 0;
}

int nm_yarn_conf_put(struct nm_yarn_conf *c, const char *file, const char *name, const char *value, bool final)
{
    _cleanup_free_ char *name_copy = NULL, *value_copy = strdup(value);
    struct nm_yarn_property *p;
    bool there;
    size_t at = nm_bsearch_name(c->properties, c->n, sizeof *c->properties, name, &there);
    int r;

    if (!value_copy)
        return -ENOMEM;
    if (there) {
        p = &c->properties[at];
        if (p->final)
            return 0;
        free(p->value);
        *p = (struct nm_yarn_property){p->name, STEAL_PTR(value_copy), file, final};
        return 0;
    }
    if (c->n == NM_YARN_CONF_PROPERTIES_MAX)
        return -E2BIG;
    name_copy = strdup(name);
    if (!name_copy)
        return -ENOMEM;
    r = insert(c, at, &(struct nm_yarn_property){name_copy, value_copy, file, final});
    if (r == 0)
        name_copy = value_copy = NULL;
    return r;
}

int nm_yarn_conf_set_default(struct nm_yarn_conf *c, const char *name, const char *value)
{
    return nm_yarn_conf_put(c, NULL, name, value, false);
}

const char *nm_yarn_conf_intern_file(struct nm_yarn_conf *c, const char *file)
{
    char **larger = reallocarray(c->files, c->n_files + 1, sizeof *larger);

    if (!larger)
        return NULL;
    c->files = larger;
    larger[c->n_files] = strdup(file);
    return larger[c->n_files] ? larger[c->n_files++] : NULL;
}

bool nm_yarn_conf_count_include(struct nm_yarn_conf *c)
{
    return c->n_includes < NM_YARN_CONF_INCLUDES_MAX && ++c->n_includes;
}
