/* SPDX-License-Identifier: Apache-2.0 */

/* See allocator-state.h. */

#include "yarn/allocator/allocator-state.h"

#include <assert.h>
#include <errno.h>

static struct nm_yarn_ask_entry *ask_free(struct nm_yarn_ask_entry *ask)
{
    if (!ask)
        return NULL;
    nm_yarn_ask_names_done(&ask->hosts);
    nm_yarn_ask_names_done(&ask->racks);
    free(ask->partition);
    free(ask);
    return NULL;
}
NM_DEFINE_CLEANUP(struct nm_yarn_ask_entry *, ask_free)

void nm_yarn_ask_table_done(struct nm_yarn_ask_table *t)
{
    for (size_t i = 0; i < t->n; i++)
        ask_free(t->list[i]);
    free(t->list);
    *t = (struct nm_yarn_ask_table){};
}

/* ---- search ------------------------------------------------------------------------------------- */

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int order_of(const struct nm_yarn_ask_entry *a, const struct nm_yarn_ask *b)
{
    return ORDER(a->priority, b->priority)
               ?: ORDER(a->request_id, b->request_id)
               ?: ORDER(a->size.memory_mib, b->size.memory_mib)
               ?: ORDER(a->size.vcores, b->size.vcores);
}

static size_t position_of(const struct nm_yarn_ask_table *t, const struct nm_yarn_ask *ask, bool *ret_found)
{
    size_t low = 0, high = t->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (order_of(t->list[middle], ask) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_found = low < t->n && order_of(t->list[low], ask) == 0;
    return low;
}

/* ---- changes ------------------------------------------------------------------------------------ */

static int insert(struct nm_yarn_ask_table *t, size_t at, const struct nm_yarn_ask *from)
{
    _cleanup_(ask_freep) struct nm_yarn_ask_entry *ask = calloc(1, sizeof *ask);

    if (!ask)
        return -ENOMEM;
    if (t->n == t->allocated) {
        size_t n = t->allocated ? 2 * t->allocated : 8;
        struct nm_yarn_ask_entry **list = realloc(t->list, n * sizeof(*list));

        if (!list)
            return -ENOMEM;
        t->list = list;
        t->allocated = n;
    }
    ask->priority = from->priority;
    ask->request_id = from->request_id;
    ask->size = from->size;
    ask->relax = true;
    memmove(&t->list[at + 1], &t->list[at], (t->n - at) * sizeof(t->list[0]));
    t->list[at] = STEAL_PTR(ask);
    t->n++;
    t->revision++;
    return 0;
}

static void remove_at(struct nm_yarn_ask_table *t, size_t i)
{
    t->n_locations -= t->list[i]->hosts.n + t->list[i]->racks.n;
    ask_free(t->list[i]);
    t->n--;
    memmove(&t->list[i], &t->list[i + 1], (t->n - i) * sizeof(t->list[0]));
    t->revision++;
}

static void remove_location(struct nm_yarn_ask_table *t, struct nm_yarn_ask_names *names, const char *name)
{
    if (!nm_yarn_ask_names_remove(names, name))
        return;
    t->n_locations--;
    t->revision++;
}

static int put_location(struct nm_yarn_ask_table *t, struct nm_yarn_ask_entry *ask, const struct nm_yarn_ask *from)
{
    struct nm_yarn_ask_names *names = from->where[0] == '/' ? &ask->racks : &ask->hosts;
    size_t before = names->n;
    int r;

    if (from->count == 0) {
        remove_location(t, names, from->where);
        return 0;
    }
    if (t->n_locations >= NM_YARN_ALLOC_LOCATIONS_MAX && !nm_yarn_ask_names_find(names, from->where))
        return NM_YARN_ALLOC_TOO_MUCH;
    r = nm_yarn_ask_names_set(names, from->where, from->count, from->relax);
    if (r < 0)
        return r;
    t->n_locations += names->n - before;
    t->revision += (uint64_t)r;
    return 0;
}

static int put_total(struct nm_yarn_ask_table *t, struct nm_yarn_ask_entry *ask, const struct nm_yarn_ask *from,
                     uint64_t now_usec)
{
    const char *partition = from->partition && from->partition[0] ? from->partition : NULL;

    if (!nm_streq(ask->partition ?: "", partition ?: "")) {
        char *copy = partition ? strdup(partition) : NULL;

        if (partition && !copy)
            return -ENOMEM;
        free(ask->partition);
        ask->partition = copy;
        t->revision++;
    }
    if (ask->count != from->count || ask->relax != from->relax)
        t->revision++;
    if (from->count == 0)
        ask->since_usec = 0;
    else if (ask->count == 0)
        ask->since_usec = now_usec;
    ask->count = from->count;
    ask->relax = from->relax;
    return 0;
}

bool nm_yarn_ask_name_is_valid(const char *name)
{
    return name && name[0] && strnlen(name, NM_YARN_ALLOC_NAME_MAX + 1) <= NM_YARN_ALLOC_NAME_MAX;
}

static bool is_good(const struct nm_yarn_ask *ask)
{
    return ask->count >= 0 && ask->size.memory_mib >= 0 && ask->size.vcores >= 0 &&
    nm_yarn_ask_name_is_valid(ask->where) &&
           (!ask->partition || !ask->partition[0] || nm_yarn_ask_name_is_valid(ask->partition));
}

int nm_yarn_ask_table_put(struct nm_yarn_ask_table *t, const struct nm_yarn_ask *ask, uint64_t now_usec)
{
    bool found;
    size_t i = position_of(t, ask, &found);
    int r;

    if (!is_good(ask))
        return NM_YARN_ALLOC_INVALID;
    if (!found) {
        if (ask->count == 0)
            return 0;
        if (t->n >= NM_YARN_ALLOC_ASKS_MAX)
            return NM_YARN_ALLOC_TOO_MUCH;
        r = insert(t, i, ask);
        if (r < 0)
            return r;
    }
    r = nm_streq(ask->where, "*") ? put_total(t, t->list[i], ask, now_usec) : put_location(t, t->list[i], ask);
    if (t->list[i]->count == 0 && t->list[i]->hosts.n + t->list[i]->racks.n == 0)
        remove_at(t, i);
    return r;
}

static void charge_location(struct nm_yarn_ask_table *t, struct nm_yarn_ask_names *names, const char *name)
{
    struct nm_yarn_ask_name *there = nm_yarn_ask_names_find(names, name);

    assert(there);
    if (--there->count == 0)
        remove_location(t, names, name);
}

bool nm_yarn_ask_table_charge(struct nm_yarn_ask_table *t, size_t i, const char *host, const char *rack)
{
    struct nm_yarn_ask_entry *ask = t->list[i];

    assert(ask->count > 0);
    t->revision++;
    if (--ask->count == 0) {
        remove_at(t, i);
        return true;
    }
    if (host)
        charge_location(t, &ask->hosts, host);
    if (rack)
        charge_location(t, &ask->racks, rack);
    return false;
}

uint64_t nm_yarn_ask_table_outstanding(const struct nm_yarn_ask_table *t)
{
    uint64_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        n += (uint64_t)t->list[i]->count;
    return n;
}
