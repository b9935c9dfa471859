/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Durations of an operation, as Hadoop's MutableRate shows them: their number since the start, and the mean of the
 * newest ones. Hadoop takes the mean of the last interval of ten seconds in which the operation occurred.
 */

#include "util/clock.h"
#include "util/macros.h"

#define NM_YARN_RATE_INTERVAL_USEC (10 * NM_USEC_PER_SEC)

struct nm_yarn_rate {
    uint64_t n;
    uint64_t begun_usec, interval_n, interval_sum_usec; /* the newest interval: its begin, and its durations */
};

static inline void nm_yarn_rate_add(struct nm_yarn_rate *r, uint64_t duration_usec, uint64_t now_usec)
{
    if (r->n == 0 || now_usec - r->begun_usec >= NM_YARN_RATE_INTERVAL_USEC) {
        r->begun_usec = now_usec;
        r->interval_n = r->interval_sum_usec = 0;
    }
    r->n++;
    r->interval_n++;
    r->interval_sum_usec += duration_usec;
}

/* Returns the mean in milliseconds; 0 without durations. */
static inline double nm_yarn_rate_mean_msec(const struct nm_yarn_rate *r)
{
    return r->interval_n > 0 ? (double)r->interval_sum_usec / 1000.0 / (double)r->interval_n : 0;
}
