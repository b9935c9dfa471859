/* SPDX-License-Identifier: Apache-2.0 */

/* See clock.h. */

#include "util/clock.h"

uint64_t nm_steady_usec(void)
{
    static uint64_t offset_usec;

    if (offset_usec == 0)
        offset_usec = nm_realtime_usec() - nm_now_usec();
    return nm_now_usec() + offset_usec;
}
