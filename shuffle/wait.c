/* SPDX-License-Identifier: Apache-2.0 */

/* See wait.h. */

#include "shuffle/wait.h"

#include <errno.h>
#include <poll.h>

#include "util/clock.h"
#include "util/macros.h"

/* A longer time would not fit into poll()'s milliseconds. */
#define LONGEST_POLL_USEC (3600 * NM_USEC_PER_SEC)

int nm_shuffle_wait_in_thread(int fd, const struct nm_shuffle_wait *wait, uint64_t max_usec)
{
    const uint64_t end_usec = NM_MIN(wait->until_usec, nm_add_u64(nm_now_usec(), max_usec));
    struct pollfd p = {.fd = fd, .events = (short)(wait->events | POLLRDHUP)};

    for (;;) {
        const uint64_t left_usec = NM_MIN(nm_sub_u64(end_usec, nm_now_usec()), LONGEST_POLL_USEC);
        int r = poll(&p, 1, (int)((left_usec + NM_USEC_PER_MSEC - 1) / NM_USEC_PER_MSEC));

        if (r > 0)
            return p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL) ? -ECONNRESET : 0;
        if (r < 0 && errno != EINTR)
            return -EAGAIN; /* the loop waits instead, without the memory that poll() needs */
        if (r == 0 && nm_now_usec() >= end_usec)
            return end_usec == wait->until_usec ? 0 : -EAGAIN;
    }
}
