/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A ring of points, mapped once. Its pages become resident as the history grows, which takes hours for long spans.
 * Each point stands for a step of time, so that a screen can show all of them. The samples within a step become one
 * point with the mean of their amounts. So the ring covers its span even if samples are frequent. Points older than the
 * span are dropped even if samples are rare.
 */

#include "monitor/monitor.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define STEPS 600u
/* A span that begins and ends within steps touches one more step. One more point ensures that a whole span is always
 * kept. */
#define POINTS (STEPS + 2)

struct nm_history {
    uint64_t span_usec, step_usec;
    unsigned first, n;
    struct nm_history_use sum[NM_HISTORY_PARTS]; /* sums over the n_sum samples of the newest point */
    unsigned n_sum;
    struct nm_history_point *points; /* POINTS of them */
};

#define RING_BYTES (POINTS * sizeof(struct nm_history_point))

int nm_history_new(uint64_t span_usec, struct nm_history **ret)
{
    struct nm_history *h;
    void *ring;

    assert(ret);
    if (span_usec == 0)
        return -EINVAL;
    h = calloc(1, sizeof *h);
    if (!h)
        return -ENOMEM;
    ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED) {
        free(h);
        return -ENOMEM;
    }
    *h = (struct nm_history){
        .span_usec = span_usec, .step_usec = NM_MAX(span_usec / STEPS, UINT64_C(1)), .points = ring};
    *ret = h;
    return 0;
}

struct nm_history *nm_history_free(struct nm_history *h)
{
    if (h)
        (void)munmap(h->points, RING_BYTES);
    free(h);
    return NULL;
}

static struct nm_history_point *point(struct nm_history *h, unsigned i)
{
    return &h->points[(h->first + i) % POINTS];
}

static void drop_oldest(struct nm_history *h)
{
    h->first = (h->first + 1) % POINTS;
    h->n--;
}

/* Merges a sample into the newest point. The sum is kept, so that rounding does not shift the mean. Counts are taken
 * from the newest sample, since a mean could be a fraction of a container. Pressure and cost of a sample are the
 * highest values, which a mean would hide. */
static void merge(struct nm_history *h, struct nm_history_point *to, const struct nm_history_point *from)
{
    const struct nm_history_point was = *to;

    *to = *from;
    to->sample_cost_usec = NM_MAX(was.sample_cost_usec, from->sample_cost_usec);
    for (int k = 0; k < NM_HISTORY_PRESSURES; k++)
        if (was.pressure[k] > to->pressure[k])
            to->pressure[k] = was.pressure[k];
    h->n_sum++;
    for (int k = 0; k < NM_HISTORY_PARTS; k++) {
        h->sum[k].memory_bytes = nm_add_u64(h->sum[k].memory_bytes, from->use[k].memory_bytes);
        h->sum[k].cpu_millicores = nm_add_u64(h->sum[k].cpu_millicores, from->use[k].cpu_millicores);
        to->use[k].memory_bytes = h->sum[k].memory_bytes / h->n_sum;
        to->use[k].cpu_millicores = h->sum[k].cpu_millicores / h->n_sum;
    }
}

void nm_history_add(struct nm_history *h, const struct nm_history_point *p)
{
    struct nm_history_point *newest = h->n > 0 ? point(h, h->n - 1) : NULL;

    assert(!newest || p->at_usec >= newest->at_usec);
    if (newest && newest->at_usec / h->step_usec == p->at_usec / h->step_usec) {
        merge(h, newest, p);
    } else {
        if (h->n == POINTS)
            drop_oldest(h);
        *point(h, h->n++) = *p;
        memcpy(h->sum, p->use, sizeof h->sum);
        h->n_sum = 1;
    }
    while (nm_add_u64(point(h, 0)->at_usec, h->span_usec) < p->at_usec)
        drop_oldest(h);
}

unsigned nm_history_n(const struct nm_history *h)
{
    return h->n;
}

uint64_t nm_history_step_usec(const struct nm_history *h)
{
    return h->step_usec;
}

const struct nm_history_point *nm_history_get(const struct nm_history *h, unsigned i)
{
    return i < h->n ? &h->points[(h->first + i) % POINTS] : NULL;
}

/* Uses a binary search: points are sorted by time. */
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

/* The samples of the last remaining point are no longer known: the point counts as one sample. */
void nm_history_cut(struct nm_history *h, uint64_t at_usec)
{
    unsigned n = h->n;

    while (h->n > 0 && point(h, h->n - 1)->at_usec > at_usec)
        h->n--;
    if (h->n == n || h->n == 0)
        return;
    memcpy(h->sum, point(h, h->n - 1)->use, sizeof h->sum);
    h->n_sum = 1;
}

int nm_history_set_span(struct nm_history *h, uint64_t span_usec)
{
    _cleanup_(nm_history_freep) struct nm_history *other = NULL;
    struct nm_history former;
    int r = nm_history_new(span_usec, &other);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < h->n; i++)
        nm_history_add(other, point(h, i));
    former = *h;
    *h = *other;
    *other = former;
    return 0;
}
