/* SPDX-License-Identifier: Apache-2.0 */

/* See observers.h. */

#include "yarn/cm-protocol/observers.h"

static void remove_at(struct nm_observers *o, size_t i)
{
    o->list[i] = o->list[--o->n];
}

/* Removes this observer's former number, and what is too old. */
static void clean(struct nm_observers *o, uint64_t number, uint64_t now_usec)
{
    for (size_t i = 0; i < o->n;)
        if (o->list[i].number == number || now_usec - o->list[i].told_usec > NM_OBSERVERS_USEC)
            remove_at(o, i);
        else
            i++;
}

static size_t oldest(const struct nm_observers *o)
{
    size_t found = 0;

    for (size_t i = 1; i < o->n; i++)
        if (o->list[i].told_usec < o->list[found].told_usec)
            found = i;
    return found;
}

int64_t nm_observers_tell(struct nm_observers *o, uint64_t number, int64_t memory_mib, uint64_t now_usec)
{
    int64_t sum_mib = 0;

    clean(o, number, now_usec);
    for (size_t i = 0; i < o->n; i++)
        sum_mib += o->list[i].memory_mib;
    if (memory_mib <= 0)
        return sum_mib;
    if (o->n == NM_OBSERVERS_MAX)
        remove_at(o, oldest(o));
    o->list[o->n].number = number;
    o->list[o->n].told_usec = now_usec;
    o->list[o->n++].memory_mib = NM_MIN(memory_mib, (int64_t)INT32_MAX);
    return sum_mib;
}
