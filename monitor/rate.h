/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts an increasing counter to a rate. Samples are taken at irregular times: a pressure event may request a sample
 * just after the periodic sample. Over so short a time a rate is noise (the kernel accounts in ticks of up to 10 ms).
 * So the previous rate and its base are kept until at least NM_RATE_MIN_USEC have passed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/macros.h"

#define NM_RATE_MIN_USEC (50 * NM_USEC_PER_MSEC) /* half of the shortest sampling period */

struct nm_rate {
    uint64_t at_usec, count; /* base of the next difference */
    uint64_t per_sec;        /* the latest rate */
    bool primed, valid;
};

/*
 * Adds a reading. Afterwards per_sec is the rate, if valid. A counter (or clock) that went backwards was reset: the
 * rate is then invalid until the next reading. Returns whether there is a new rate.
 */
static inline bool nm_rate_update_over(struct nm_rate *r, uint64_t now_usec, uint64_t count,
                                       uint64_t least_usec)
{
    uint64_t elapsed;

    if (r->primed && now_usec >= r->at_usec && count >= r->count) {
        elapsed = now_usec - r->at_usec;
        if (elapsed < least_usec)
            return false;
        r->per_sec = (uint64_t)((unsigned __int128)(count - r->count) * NM_USEC_PER_SEC / elapsed);
        r->valid = true;
    } else {
        r->per_sec = 0;
        r->valid = false;
    }
    r->at_usec = now_usec;
    r->count = count;
    r->primed = true;
    return r->valid;
}

static inline void nm_rate_update(struct nm_rate *r, uint64_t now_usec, uint64_t count)
{
    (void)nm_rate_update_over(r, now_usec, count, NM_RATE_MIN_USEC);
}
