/* SPDX-License-Identifier: Apache-2.0 */

/* See share.h. */

#include "shuffle/share.h"

#include <errno.h>

#include "util/macros.h"

/* Books the work in a leaky bucket: work of a given duration occupies the share for four times as long
 * (NM_SHUFFLE_SHARE_PERCENT), and may start early by the size of a burst (NM_SHUFFLE_BURST_USEC). */
int nm_shuffle_share_book(uint64_t *booked_usec, uint64_t work_usec, uint64_t now_usec, uint64_t *ret_wait_usec)
{
    const uint64_t ahead_usec = NM_SHUFFLE_BURST_USEC * 100 / NM_SHUFFLE_SHARE_PERCENT;
    const uint64_t from_usec = NM_MAX(*booked_usec, now_usec);
    const uint64_t wait_usec = nm_sub_u64(from_usec, nm_add_u64(now_usec, ahead_usec));

    if (wait_usec > NM_SHUFFLE_WAIT_MAX_USEC)
        return -EBUSY;
    *booked_usec = nm_add_u64(from_usec, work_usec * 100 / NM_SHUFFLE_SHARE_PERCENT);
    *ret_wait_usec = wait_usec;
    return 0;
}
