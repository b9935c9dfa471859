/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See used-tokens.h. The list is unsorted and searched linearly. Each start creates a process, which takes much more
 * time than a few thousand comparisons.
 */

#include "yarn/cm-protocol/used-tokens.h"

#include <assert.h>
#include <errno.h>

#include "yarn/id-messages.h"

struct used {
    struct nm_yarn_container_id id;
    int64_t expires_msec;
};

struct nm_yarn_used {
    struct used *list;
    size_t n, allocated;
    uint64_t changes;
};

int nm_yarn_used_new(struct nm_yarn_used **ret)
{
    struct nm_yarn_used *u = calloc(1, sizeof *u);

    if (!u)
        return -ENOMEM;
    *ret = u;
    return 0;
}

struct nm_yarn_used *nm_yarn_used_free(struct nm_yarn_used *u)
{
    if (!u)
        return NULL;
    free(u->list);
    free(u);
    return NULL;
}

bool nm_yarn_used_has(const struct nm_yarn_used *u, const struct nm_yarn_container_id *id)
{
    for (size_t i = 0; i < u->n; i++)
        if (nm_yarn_same_container(&u->list[i].id, id))
            return true;
    return false;
}

static void drop_expired(struct nm_yarn_used *u, int64_t now_msec)
{
    for (size_t i = 0; i < u->n;)
        if (u->list[i].expires_msec < now_msec)
            u->list[i] = u->list[--u->n];
        else
            i++;
}

int nm_yarn_used_make_room(struct nm_yarn_used *u, int64_t now_msec)
{
    size_t n = u->allocated ? 2 * u->allocated : 16;
    struct used *list;

    drop_expired(u, now_msec);
    if (u->n < u->allocated)
        return 0;
    if (n > NM_YARN_USED_MAX)
        return -ENOBUFS;
    list = realloc(u->list, n * sizeof *list);
    if (!list)
        return -ENOMEM;
    u->list = list;
    u->allocated = n;
    return 0;
}

void nm_yarn_used_add(struct nm_yarn_used *u, const struct nm_yarn_container_id *id, int64_t expires_msec)
{
    assert(u->n < u->allocated);
    u->list[u->n++] = (struct used){*id, expires_msec};
    u->changes++;
}

bool nm_yarn_used_get(const struct nm_yarn_used *u, size_t i, struct nm_yarn_container_id *ret,
                      int64_t *ret_expires_msec)
{
    if (i >= u->n)
        return false;
    *ret = u->list[i].id;
    *ret_expires_msec = u->list[i].expires_msec;
    return true;
}

uint64_t nm_yarn_used_changes(const struct nm_yarn_used *u)
{
    return u->changes;
}
