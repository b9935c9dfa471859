/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See procmem-internal.h. The kernel lists processes in the order of their forks, so the list is sorted already unless
 * ids have wrapped around. Heapsort sorts it in place, and no order that a container chooses makes it slow.
 */

#include "monitor/procmem-internal.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "util/macros.h"

void nm_proctable_done(struct nm_proctable *t)
{
    free(t->all);
    *t = (struct nm_proctable){0};
}

struct nm_proc_figures *nm_proctable_get(struct nm_proctable *t)
{
    return t->all ?: t->own;
}

static bool is_sorted(const pid_t *pids, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        if (pids[i - 1] > pids[i])
            return false;
    return true;
}

static void swap_pids(pid_t *a, pid_t *b)
{
    pid_t kept = *a;

    *a = *b;
    *b = kept;
}

static void sift_down(pid_t *pids, unsigned at, unsigned n)
{
    for (unsigned child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && pids[child + 1] > pids[child])
            child++;
        if (pids[at] >= pids[child])
            return;
        swap_pids(&pids[at], &pids[child]);
    }
}

static void sort(pid_t *pids, unsigned n)
{
    if (is_sorted(pids, n))
        return;
    for (unsigned i = n / 2; i-- > 0;)
        sift_down(pids, i, n);
    for (unsigned end = n; end-- > 1;) {
        swap_pids(&pids[0], &pids[end]);
        sift_down(pids, 0, end);
    }
}

/* Removes the processes that are no longer listed. Returns the number of the remaining processes. */
static unsigned drop_ended(struct nm_proctable *t, const pid_t *pids, unsigned n)
{
    struct nm_proc_figures *all = nm_proctable_get(t);
    unsigned kept = 0;

    for (unsigned i = 0, k = 0; i < t->n; i++) {
        while (k < n && pids[k] < all[i].pid)
            k++;
        if (k < n && pids[k] == all[i].pid) {
            all[kept++] = all[i];
            k++;
        }
    }
    return kept;
}

/* Returns how many of n processes fit into the array. The array doubles, so that a container whose processes come and
 * go causes no allocation in most samples. */
static unsigned make_room(struct nm_proctable *t, unsigned n)
{
    unsigned size = NM_MAX(t->size, NM_PROCTABLE_OWN);
    struct nm_proc_figures *all;

    while (size < n)
        size *= 2;
    if (size <= NM_MAX(t->size, NM_PROCTABLE_OWN))
        return n;
    all = realloc(t->all, size * sizeof *all);
    if (!all)
        return NM_MAX(t->size, NM_PROCTABLE_OWN);
    if (!t->all)
        memcpy(all, t->own, sizeof t->own);
    t->all = all;
    t->size = size;
    return n;
}

/* Merges from the end, where there is room, so that each entry moves once. */
static void merge(struct nm_proctable *t, const pid_t *pids, unsigned n)
{
    struct nm_proc_figures *all = nm_proctable_get(t);
    unsigned old = t->n;

    assert(old <= n);
    for (unsigned at = n; at-- > 0;) {
        if (old > 0 && all[old - 1].pid == pids[at])
            all[at] = all[--old];
        else
            all[at] = (struct nm_proc_figures){.pid = pids[at]};
    }
    t->n = n;
}

void nm_proctable_update(struct nm_proctable *t, pid_t *pids, unsigned n)
{
    unsigned room;

    assert(t && (pids || n == 0));
    sort(pids, n);
    room = make_room(t, n);
    t->n_beyond = n - room;
    t->n = drop_ended(t, pids, room);
    merge(t, pids, room);
}

unsigned nm_proctable_after(const struct nm_proctable *t, pid_t pid)
{
    const struct nm_proc_figures *all = t->all ?: t->own;
    unsigned low = 0, high = t->n;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (all[middle].pid > pid)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
