/* SPDX-License-Identifier: Apache-2.0 */

/* See script.h. */

#include "yarn/launch/script.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>

#include "rpc/hadoop/bytes.h"
#include "util/error.h"

/* ---- markers ------------------------------------------------------------------------------ */

/* Returns the replacement for the marker at the start of the text, and the marker's length. NULL: the text doesn't
 * start with a marker. */
static const char *marker_at(const char *text, const struct nm_yarn_markers *m, size_t *ret_size)
{
    const struct {
        const char *marker, *value;
    } all[] = {{"<LOG_DIR>", m->log_dir}, {"<CPS>", ":"}, {"<ADD_OPENS>", m->add_opens}, {"{{", "$"}, {"}}", ""}};

    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        *ret_size = strlen(all[i].marker);
        if (strncmp(text, all[i].marker, *ret_size) == 0)
            return all[i].value;
    }
    return NULL;
}

int nm_yarn_expand(const char *text, const struct nm_yarn_markers *markers, char **ret)
{
    char *buffer = NULL;
    size_t length, size;
    FILE *out = open_memstream(&buffer, &length);

    if (!out)
        return -ENOMEM;
    while (*text) {
        const char *value = *text == '<' || *text == '{' || *text == '}' ? marker_at(text, markers, &size) : NULL;

        if (value)
            (void)fputs(value, out);
        else
            (void)fputc(*text, out);
        text += value ? size : 1;
    }
    if (fclose(out) != 0) { /* fclose() can fail only for lack of memory */
        free(buffer);
        return -ENOMEM;
    }
    *ret = buffer;
    return 0;
}

/* ---- names -------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return c == '_' || isalpha((unsigned char)c);
}

static size_t name_size(const char *text)
{
    size_t n = 0;

    while (is_letter(text[n]) || (n > 0 && isdigit((unsigned char)text[n])))
        n++;
    return n;
}

bool nm_yarn_env_is_name(const char *name)
{
    return *name && name[name_size(name)] == '\0';
}

/* Finds the next reference $NAME or ${NAME...} in a value, and moves *text behind the reference. A backslash escapes
 * the next character. Returns false if the value has no further reference. */
static bool next_reference(const char **text, struct nm_bytes *ret)
{
    for (const char *at = *text; *at; at++) {
        const char *name = at + 1 + (at[1] == '{');

        if (*at == '\\' && at[1])
            at++;
        else if (*at == '$' && name_size(name) > 0) {
            *ret = (struct nm_bytes){(const uint8_t *)name, name_size(name)};
            *text = name + ret->size;
            return true;
        }
    }
    return false;
}

/* ---- order -------------------------------------------------------------------------------- */

enum mark { NEW, OPEN, DONE };

struct order {
    const struct nm_yarn_env *from;
    const struct nm_yarn_env **by_name; /* for each name, the last variable with that name */
    size_t n_names;
    uint8_t *marks; /* one mark for each variable in `from` */
    struct nm_yarn_env *to;
    size_t n;
    size_t *path;       /* variables whose references are being examined, the outermost first */
    const char **texts; /* for each element of `path`, the part of its value that has not been examined yet */
};

static int compare(const void *a, const void *b)
{
    const struct nm_yarn_env *x = *(const struct nm_yarn_env *const *)a, *y = *(const struct nm_yarn_env *const *)b;
    int c = strcmp(x->name, y->name);

    return c != 0 ? c : (x > y) - (x < y);
}

/* Compares a name with a name that is part of a text and doesn't end with a NUL. */
static int compare_name(const void *key, const void *element)
{
    const struct nm_bytes *name = key;
    const struct nm_yarn_env *e = *(const struct nm_yarn_env *const *)element;
    int c = strncmp((const char *)name->data, e->name, name->size);

    return c != 0 ? c : e->name[name->size] ? -1 : 0;
}

static void index_names(struct order *o, size_t n)
{
    for (size_t i = 0; i < n; i++)
        o->by_name[i] = &o->from[i];
    qsort(o->by_name, n, sizeof *o->by_name, compare);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !nm_streq(o->by_name[i]->name, o->by_name[i + 1]->name))
            o->by_name[o->n_names++] = o->by_name[i];
}

static bool find(const struct order *o, struct nm_bytes name, size_t *ret)
{
    const struct nm_yarn_env *const *found = bsearch(&name, o->by_name, o->n_names, sizeof *o->by_name, compare_name);

    if (!found)
        return false;
    *ret = (size_t)(*found - o->from);
    return true;
}

/* Finds the next referenced variable that isn't in the result yet. Skips variables in `path`, because such a reference
 * is part of a cycle. */
static bool next_needed(struct order *o, size_t depth, size_t *ret)
{
    struct nm_bytes name;

    while (next_reference(&o->texts[depth], &name))
        if (find(o, name, ret) && o->marks[*ret] == NEW)
            return true;
    return false;
}

static void open_one(struct order *o, size_t depth, size_t i)
{
    o->marks[i] = OPEN;
    o->path[depth] = i;
    o->texts[depth] = o->from[i].value;
}

/* Searches depth first. The search keeps its path in an array and doesn't recurse, because a long chain of variables
 * could exceed the stack. */
static void visit(struct order *o, size_t first)
{
    size_t depth = 0, next;

    open_one(o, 0, first);
    for (;;) {
        if (next_needed(o, depth, &next)) {
            open_one(o, ++depth, next);
            continue;
        }
        o->marks[o->path[depth]] = DONE;
        o->to[o->n++] = o->from[o->path[depth]];
        if (depth-- == 0)
            return;
    }
}

int nm_yarn_env_order(struct nm_yarn_env *env, size_t n)
{
    _cleanup_free_ const struct nm_yarn_env **by_name = calloc(n + 1, sizeof *by_name);
    _cleanup_free_ struct nm_yarn_env *to = calloc(n + 1, sizeof *to);
    _cleanup_free_ size_t *path = calloc(n + 1, sizeof *path);
    _cleanup_free_ const char **texts = calloc(n + 1, sizeof *texts);
    _cleanup_free_ uint8_t *marks = calloc(n + 1, sizeof *marks);
    struct order o = {.from = env, .by_name = by_name, .marks = marks, .to = to, .path = path, .texts = texts};

    if (!by_name || !to || !path || !texts || !marks)
        return -ENOMEM;
    index_names(&o, n);
    for (size_t i = 0; i < n; i++)
        if (marks[i] == NEW)
            visit(&o, i);
    memcpy(env, to, n * sizeof *env);
    return 0;
}
