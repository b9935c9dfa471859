/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decisions, deadlines and the journal use CLOCK_BOOTTIME in microseconds, because it never steps and continues across
 * restarts of nmd within one boot. Times for people (submitted_usec and the like) and in tokens use CLOCK_REALTIME.
 */

#include <stdint.h>
#include <time.h>

#include "util/fault.h"

static inline uint64_t nm_clock_usec(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static inline uint64_t nm_now_usec(void)
{
    return nm_clock_usec(CLOCK_BOOTTIME);
}

static inline uint64_t nm_realtime_usec(void)
{
    return nm_clock_usec(CLOCK_REALTIME) + (uint64_t)NM_FAULT_STEPPED_USEC;
}

/* Returns the time of a clock for durations that continue over a restart of nmd or a reboot: CLOCK_REALTIME at the
 * first call of this process, plus the time since then. It doesn't step when CLOCK_REALTIME is set. */
uint64_t nm_steady_usec(void);

/* Returns CLOCK_REALTIME in milliseconds, the unit of Hadoop's messages. */
static inline int64_t nm_realtime_msec(void)
{
    return (int64_t)(nm_realtime_usec() / 1000);
}
