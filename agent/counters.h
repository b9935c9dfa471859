/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Counters and histograms of the agent and of upstreams. */

#include "agent/policy/policy-types.h"

/* Events that are also counted separately for each reason. */
enum nm_counted {
    NM_COUNT_ADMITTED,
    NM_COUNT_REFUSED,
    NM_COUNT_PAUSED,
    NM_COUNT_RESUMED,
    NM_COUNT_KILLED,
    NM_COUNT_SHED,
    NM_COUNTED,
};

struct nm_counters {
    uint64_t submitted, admitted, refused, completed;
    uint64_t paused, resumed, killed, shed, reclaimed_bytes, running_reclaims; /* actions of the policy */
    uint64_t kernel_oom_kills;
    uint64_t wasted_cpu_usec;    /* CPU time of opportunistic containers that were killed */
    uint64_t samples, late_samples, pressure_events, drift_repairs, unkillable;
    uint64_t by_reason[NM_COUNTED][NM_REASON_COUNT]; /* without events counted by an older version of nmd, which are
                                                        only in the totals */
};

/* Upper bounds of the buckets of the reaction-time histogram. The last bucket counts all larger values. */
#define NM_HISTOGRAM_BUCKETS 12
struct nm_histogram {
    uint64_t count[NM_HISTOGRAM_BUCKETS + 1];
    uint64_t sum_usec, n;
};
extern const uint64_t nm_histogram_bounds_usec[NM_HISTOGRAM_BUCKETS];
void nm_histogram_add(struct nm_histogram *h, uint64_t usec);
