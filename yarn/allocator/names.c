/* SPDX-License-Identifier: Apache-2.0 */

/* See allocator-state.h. */

#include "yarn/allocator/allocator-state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/macros.h"

void nm_yarn_ask_names_done(struct nm_yarn_ask_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->list[i].name);
    free(names->list);
    *names = (struct nm_yarn_ask_names){};
}

struct nm_yarn_ask_name *nm_yarn_ask_names_find(const struct nm_yarn_ask_names *names, const char *name)
{
    bool found;
    size_t i = nm_bsearch_name(names->list, names->n, sizeof *names->list, name, &found);

    return found ? &names->list[i] : NULL;
}

static int make_room(struct nm_yarn_ask_names *names)
{
    size_t n = names->allocated ? 2 * names->allocated : 4;
    struct nm_yarn_ask_name *list;

    if (names->n < names->allocated)
        return 0;
    list = realloc(names->list, n * sizeof *list);
    if (!list)
        return -ENOMEM;
    names->list = list;
    names->allocated = n;
    return 0;
}

static int insert(struct nm_yarn_ask_names *names, size_t at, const struct nm_yarn_ask_name *what)
{
    _cleanup_free_ char *copy = strdup(what->name);

    if (!copy || make_room(names) < 0)
        return -ENOMEM;
    memmove(&names->list[at + 1], &names->list[at], (names->n - at) * sizeof names->list[0]);
    names->list[at] = (struct nm_yarn_ask_name){STEAL_PTR(copy), what->count, what->relax};
    names->n++;
    return 1;
}

int nm_yarn_ask_names_set(struct nm_yarn_ask_names *names, const char *name, int32_t count, bool relax)
{
    bool found;
    size_t i = nm_bsearch_name(names->list, names->n, sizeof *names->list, name, &found);
    struct nm_yarn_ask_name *there;

    if (!found)
        return insert(names, i, &(struct nm_yarn_ask_name){(char *)name, count, relax});
    there = &names->list[i];
    if (there->count == count && there->relax == relax)
        return 0;
    there->count = count;
    there->relax = relax;
    return 1;
}

bool nm_yarn_ask_names_remove(struct nm_yarn_ask_names *names, const char *name)
{
    bool found;
    size_t i = nm_bsearch_name(names->list, names->n, sizeof *names->list, name, &found);

    if (!found)
        return false;
    free(names->list[i].name);
    names->n--;
    memmove(&names->list[i], &names->list[i + 1], (names->n - i) * sizeof names->list[0]);
    return true;
}
