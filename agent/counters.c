/* SPDX-License-Identifier: Apache-2.0 */

/* See counters.h. */

#include "agent/counters.h"

const uint64_t nm_histogram_bounds_usec[NM_HISTOGRAM_BUCKETS] = {
    1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 5000000, 30000000,
};

void nm_histogram_add(struct nm_histogram *h, uint64_t usec)
{
    size_t i = 0;

    while (i < NM_HISTOGRAM_BUCKETS && usec > nm_histogram_bounds_usec[i])
        i++;
    h->count[i]++;
    h->sum_usec += usec;
    h->n++;
}
