/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Measures the time for which a piece of work occupies this thread. The user who caused the work is charged for it
 * (quota.h). Time in which the runnable thread had lost the CPU to other processes doesn't count: on a busy host this
 * is most of the time, and users would wait NM_QUOTA_PAUSE times as long for load that they didn't cause.
 */

#include <sys/resource.h>

#include "util/clock.h"

struct nm_cost {
    uint64_t wall_usec, cpu_usec;
    long waits; /* voluntary context switches, such as waits for a disk */
};

static inline struct nm_cost nm_cost_now(void)
{
    struct rusage u = {0};

    (void)getrusage(RUSAGE_THREAD, &u);
    return (struct nm_cost){
        .wall_usec = nm_now_usec(),
        .cpu_usec = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
                    (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec),
        .waits = u.ru_nvcsw,
    };
}

/* Returns the time to charge between two measurements. */
static inline uint64_t nm_cost_usec(const struct nm_cost *from, const struct nm_cost *to)
{
    uint64_t wall_usec = to->wall_usec - from->wall_usec, cpu_usec = to->cpu_usec - from->cpu_usec;

    return to->waits == from->waits && cpu_usec < wall_usec ? cpu_usec : wall_usec;
}
