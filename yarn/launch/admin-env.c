/* SPDX-License-Identifier: Apache-2.0 */

/* See variables.h. */

#include "yarn/launch/variables.h"

#include <errno.h>
#include <stdlib.h>

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define DIGITS "0123456789"

struct nm_yarn_env *nm_yarn_env_find(struct nm_yarn_env *env, size_t n, const char *name)
{
    while (n-- > 0)
        if (nm_streq(env[n].name, name))
            return &env[n];
    return NULL;
}

size_t nm_yarn_admin_env_room(const struct nm_yarn_settings *s)
{
    size_t n = s->n_admin_variables + 1;

    for (const char *p = s->admin_env; *p; p++)
        n += *p == ',';
    return n;
}

/* Appends a value to a variable, after a colon, as in a list of directories. */
static int append(struct nm_arena *arena, struct nm_yarn_env *e, const char *value)
{
    e->value = nm_arena_print(arena, "%s:%s", e->value, value);
    return e->value ? 0 : -ENOMEM;
}

/* ---- variables to set --------------------------------------------------------------------- */

static int read_list(const char *text, struct nm_arena *arena, struct nm_yarn_env *list, size_t *n)
{
    for (const char *p = text; *p; p += *p == ',') {
        size_t size = strcspn(p, ",");
        char *name = nm_arena_print(arena, "%.*s", (int)size, p), *equals = name ? strchr(name, '=') : NULL;
        struct nm_yarn_env *there;

        if (!name)
            return -ENOMEM;
        p += size;
        if (!equals)
            continue;
        *equals = '\0';
        name += strspn(name, " \t");
        there = nm_yarn_env_find(list, *n, name);
        if (!there)
            list[(*n)++] = (struct nm_yarn_env){name, equals + 1};
        else if (append(arena, there, equals + 1) < 0)
            return -ENOMEM;
    }
    return 0;
}

static void read_properties(const struct nm_yarn_settings *s, struct nm_yarn_env *list, size_t *n)
{
    for (size_t i = 0; i < s->n_admin_variables; i++) {
        const struct nm_yarn_variable *v = &s->admin_variables[i];
        struct nm_yarn_env *there = nm_yarn_env_find(list, *n, v->name);

        if (there)
            there->value = v->value;
        else
            list[(*n)++] = (struct nm_yarn_env){v->name, v->value};
    }
}

/* ---- substitution ------------------------------------------------------------------------- */

/* Returns the length of the name that follows a '$' at the start of the text, or 0 if there is none. */
static size_t name_size(const char *text)
{
    return *text == '$' && strspn(text + 1, LETTERS) > 0 ? strspn(text + 1, LETTERS DIGITS) : 0;
}

/* Returns the value after the replacement of each $NAME. NULL: no memory. */
static const char *expand(struct nm_arena *arena, struct nm_yarn_env *env, size_t n, const char *value)
{
    const char *done = "";

    while (done && *value) {
        size_t plain = 0, size = 0;
        const char *name = "", *found = "";
        struct nm_yarn_env *e;

        while (value[plain] && (size = name_size(value + plain)) == 0)
            plain++;
        if (size > 0) {
            name = nm_arena_print(arena, "%.*s", (int)size, value + plain + 1);
            e = name ? nm_yarn_env_find(env, n, name) : NULL;
            found = e ? e->value : name ? getenv(name) ?: "" : NULL;
        }
        done = found ? nm_arena_print(arena, "%s%.*s%s", done, (int)plain, value, found) : NULL;
        value += plain + (size > 0 ? size + 1 : 0);
    }
    return done;
}

/* Sets a variable, or appends to its value. An empty value is skipped, because appending it would add only a ':'. */
static int put(struct nm_arena *arena, const struct nm_yarn_env *variable, struct nm_yarn_env *env, size_t *n)
{
    const char *value = expand(arena, env, *n, variable->value);
    struct nm_yarn_env *there;

    if (!value)
        return -ENOMEM;
    if (!*value || !nm_yarn_env_is_name(variable->name))
        return 0;
    there = nm_yarn_env_find(env, *n, variable->name);
    if (there)
        return nm_streq(there->value, value) ? 0 : append(arena, there, value);
    env[(*n)++] = (struct nm_yarn_env){variable->name, value};
    return 0;
}

int nm_yarn_admin_env_put(const struct nm_yarn_settings *s, struct nm_arena *arena, struct nm_yarn_env *env, size_t *n)
{
    struct nm_yarn_env *list = nm_arena_alloc(arena, nm_yarn_admin_env_room(s) * sizeof *list);
    size_t n_list = 0;
    int r = list ? read_list(s->admin_env, arena, list, &n_list) : -ENOMEM;

    if (r == 0)
        read_properties(s, list, &n_list);
    for (size_t i = 0; r == 0 && i < n_list; i++)
        r = put(arena, &list[i], env, n);
    return r;
}
