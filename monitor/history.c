/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A ring of points, allocated once. Adding overwrites the oldest, so that the newest ten minutes
 * are there whatever happens.
 */

#include "monitor/monitor.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define POINTS_MAX 6001u

struct nm_history {
    unsigned first, n, size;
    struct nm_history_point *points;
};

/* One more point than periods: n periods have n + 1 ends. */
static unsigned points_for(uint64_t span_usec, uint64_t period_usec)
{
    uint64_t periods = span_usec / period_usec;

    return periods >= POINTS_MAX - 1 ? POINTS_MAX : (unsigned)periods + 1;
}

int nm_history_new(uint64_t span_usec, uint64_t period_usec, struct nm_history **ret)
{
    _cleanup_(nm_history_freep) struct nm_history *h = NULL;

    assert(ret);
    if (period_usec == 0)
        return -EINVAL;
    h = calloc(1, sizeof *h);
    if (!h)
        return -ENOMEM;
    h->size = points_for(span_usec, period_usec);
    h->points = calloc(h->size, sizeof *h->points);
    if (!h->points)
        return -ENOMEM;
    *ret = STEAL_PTR(h);
    return 0;
}

struct nm_history *nm_history_free(struct nm_history *h)
{
    if (h)
        free(h->points);
    free(h);
    return NULL;
}

void nm_history_add(struct nm_history *h, const struct nm_history_point *p)
{
    assert(h && p);
    if (h->n < h->size) {
        h->points[(h->first + h->n++) % h->size] = *p;
    } else {
        h->points[h->first] = *p;
        h->first = (h->first + 1) % h->size;
    }
}

unsigned nm_history_n(const struct nm_history *h)
{
    return h->n;
}

const struct nm_history_point *nm_history_get(const struct nm_history *h, unsigned i)
{
    return i < h->n ? &h->points[(h->first + i) % h->size] : NULL;
}

/* By halves: points are in the order of their times. */
unsigned nm_history_since(const struct nm_history *h, uint64_t at_usec)
{
    unsigned from = 0, to = h->n;

    while (from < to) {
        unsigned middle = from + (to - from) / 2;

        if (nm_history_get(h, middle)->at_usec < at_usec)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

int nm_history_resize(struct nm_history *h, uint64_t span_usec, uint64_t period_usec)
{
    struct nm_history_point *points;
    unsigned size, n;

    if (period_usec == 0)
        return -EINVAL;
    size = points_for(span_usec, period_usec);
    points = calloc(size, sizeof *points);
    if (!points)
        return -ENOMEM;
    n = NM_MIN(h->n, size);
    for (unsigned i = 0; i < n; i++)
        points[i] = *nm_history_get(h, h->n - n + i);
    free(h->points);
    *h = (struct nm_history){.n = n, .size = size, .points = points};
    return 0;
}
