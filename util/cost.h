/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What something costs those who wait for this thread, by which its user is charged (quota.h): time, but not that in
 * which the kernel gave the CPU to others though the thread would have gone on. On a busy host that is most of it, and
 * a user who had asked for next to nothing would wait NM_RATION_PAUSE times as long for what isn't his.
 */

#include <sys/resource.h>

#include "util/clock.h"

struct nm_spent {
    uint64_t wall_usec, cpu_usec;
    long waits; /* of the thread's own accord: for a disk, for instance */
};

static inline struct nm_spent nm_spent_now(void)
{
    struct rusage u = {0};

    (void)getrusage(RUSAGE_THREAD, &u);
    return (struct nm_spent){
        .wall_usec = nm_now_usec(),
        .cpu_usec = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
                    (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec),
        .waits = u.ru_nvcsw,
    };
}

/* From one to the other. */
static inline uint64_t nm_spent_usec(const struct nm_spent *from, const struct nm_spent *to)
{
    uint64_t wall_usec = to->wall_usec - from->wall_usec, cpu_usec = to->cpu_usec - from->cpu_usec;

    return to->waits == from->waits && cpu_usec < wall_usec ? cpu_usec : wall_usec;
}
