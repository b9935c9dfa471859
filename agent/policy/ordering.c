/* SPDX-License-Identifier: Apache-2.0 */

/* Sorting and the orders of the queue; see ordering.h. */

#include "agent/policy/ordering.h"

#include <assert.h>

/* Compares without a branch, because the result is random and the processor can't predict it. */
static bool comes_before(const struct nm_sort_entry *a, const struct nm_sort_entry *b)
{
    unsigned __int128 x = (unsigned __int128)a->k[0] << 64 | a->k[1];
    unsigned __int128 y = (unsigned __int128)b->k[0] << 64 | b->k[1];

    return x < y;
}

/* Sorts short runs in place first. Most lists are shorter than one run. */
#define RUN 8

static void insertion_sort(struct nm_sort_entry *e, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct nm_sort_entry x = e[i];
        size_t j = i;

        for (; j > 0 && comes_before(&x, &e[j - 1]); j--)
            e[j] = e[j - 1];
        e[j] = x;
    }
}

static void merge(const struct nm_sort_entry *from, struct nm_sort_entry *to, size_t middle,
                  size_t n)
{
    const struct nm_sort_entry *a = from,
                               *b = from + middle, *const a_end = b, *const b_end = from + n;

    assert(middle <= n);
    while (a < a_end && b < b_end) {
        bool take_b = comes_before(b, a);

        const struct nm_sort_entry *next[2] = {a, b};

        *to++ = *next[take_b];
        a += !take_b;
        b += take_b;
    }
    memcpy(to, a, (size_t)(a_end - a) * sizeof(*a));
    to += a_end - a;
    memcpy(to, b, (size_t)(b_end - b) * sizeof(*b));
}

void nm_sort(struct nm_sort_entry *entries, struct nm_sort_entry *scratch, size_t n)
{
    struct nm_sort_entry *from = entries, *to = scratch;

    assert(n == 0 || (entries && scratch && entries != scratch));
    for (size_t i = 0; i < n; i += RUN)
        insertion_sort(entries + i, NM_MIN((size_t)RUN, n - i));
    for (size_t width = RUN; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width)
            merge(from + i, to + i, NM_MIN(width, n - i), NM_MIN(2 * width, n - i));
        struct nm_sort_entry *swap = from;
        from = to;
        to = swap;
    }
    if (from != entries)
        memcpy(entries, from, n * sizeof(*entries));
}

/* Returns the larger of the request's shares of memory and CPU, in billionths. */
static uint64_t dominant_share(const struct nm_policy_settings *s,
                               const struct nm_resources *request)
{
    double share = 0;

    for (enum nm_resource r = NM_MEMORY; r < NM_RESOURCE_COUNT; r++) {
        uint64_t capacity = nm_resources_get(&s->capacity, r);

        if (capacity > 0)
            share = NM_MAX(share, (double)nm_resources_get(request, r) / (double)capacity);
    }
    return (uint64_t)(NM_MIN(share, 1e9) * 1e9);
}

/* Returns the completed share of the container's application, in billionths; 0 without a known application. */
static uint64_t completed_share(const struct nm_policy_input *in, uint32_t app)
{
    const struct nm_policy_app *a;
    uint64_t total;

    if (app >= in->n_apps)
        return 0;
    a = &in->apps[app];
    total = (uint64_t)a->completed + a->running + a->queued;
    return total > 0 ? (uint64_t)a->completed * UINT64_C(1000000000) / total : 0;
}

void nm_queue_keys(const struct nm_policy_settings *s, const struct nm_policy_input *in,
                   const struct nm_policy_container *v, uint64_t ret_keys[2])
{
    ret_keys[0] = 0;
    ret_keys[1] = v->seq;
    switch (s->queue_order) {
    case NM_QUEUE_FIFO:
        break;
    case NM_QUEUE_SMALLEST_FIRST:
        ret_keys[0] = dominant_share(s, &v->request);
        break;
    case NM_QUEUE_SHORTEST_EXPECTED_FIRST:
        ret_keys[0] = v->expected_usec > 0 ? v->expected_usec : UINT64_MAX;
        break;
    case NM_QUEUE_NEARLY_DONE_APP_FIRST:
        ret_keys[0] = ~completed_share(in, v->app);
        break;
    }
}
