/* SPDX-License-Identifier: Apache-2.0 */

/* See share.h. */

#include "shuffle/share.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "util/macros.h"

#define PER_USEC UINT64_C(100) /* units of nm_shuffle_share.owed */
#define COMPETES_USEC (NM_SHUFFLE_WINDOW_USEC * NM_SHUFFLE_SHARE_PERCENT / 100 / 2)

uint64_t nm_shuffle_share_of_node(void)
{
    cpu_set_t set;
    long n;

    /* the kernel refuses this size of set on a machine with more CPUs */
    n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    return (uint64_t)NM_MAX(n, 1L) * NM_SHUFFLE_NODE_PERCENT;
}

/* Begins a window. A thread may have read the clock before another one that has begun the window already. */
static void begin_window(struct nm_shuffle_shares *s, uint64_t window)
{
    if (window <= s->window)
        return;
    s->n_before = window == s->window + 1 ? s->n : 0;
    s->n = 0;
    s->window = window;
}

/* Counts the job as soon as it competes in this window. */
static void count(struct nm_shuffle_shares *s, struct nm_shuffle_share *a, uint64_t work_usec)
{
    uint64_t before_usec;

    if (a->window != s->window)
        a->window_usec = 0;
    a->window = s->window;
    before_usec = a->window_usec;
    a->window_usec = nm_add_u64(before_usec, work_usec);
    s->n += before_usec <= COMPETES_USEC && a->window_usec > COMPETES_USEC;
}

/* Returns the percentage of one CPU that each job has. The window that has just begun has seen few bookings, so the
 * one before counts, too. */
static uint64_t share(const struct nm_shuffle_shares *s)
{
    const unsigned n = NM_MAX(s->n, s->n_before);

    return NM_MAX(s->percent / (n ?: 1), (uint64_t)NM_SHUFFLE_SHARE_PERCENT);
}

/* Drains what the share has covered since the last booking. Returns the share. */
static uint64_t drain(struct nm_shuffle_shares *s, struct nm_shuffle_share *a, uint64_t now_usec)
{
    uint64_t percent;

    begin_window(s, now_usec / NM_SHUFFLE_WINDOW_USEC);
    percent = share(s);
    a->owed = nm_sub_u64(a->owed, nm_sub_u64(now_usec, a->at_usec) * percent);
    a->at_usec = NM_MAX(a->at_usec, now_usec);
    return percent;
}

static void add(struct nm_shuffle_shares *s, struct nm_shuffle_share *a, uint64_t work_usec)
{
    count(s, a, work_usec);
    a->owed = nm_add_u64(a->owed, work_usec * PER_USEC);
}

/* A leaky bucket: the share drains it, and work waits while it has more than a burst. Its capacity doesn't depend on
 * the share, because another job may begin to compete at any time: what one job has booked must then end soon. */
int nm_shuffle_share_book(struct nm_shuffle_shares *s, struct nm_shuffle_share *a, uint64_t work_usec,
                          uint64_t now_usec, uint64_t *ret_wait_usec)
{
    const uint64_t percent = drain(s, a, now_usec), beyond = nm_sub_u64(a->owed, NM_SHUFFLE_BURST_USEC * PER_USEC);

    if (beyond > NM_SHUFFLE_WAIT_MAX_USEC * NM_SHUFFLE_SHARE_PERCENT)
        return -EBUSY;
    add(s, a, work_usec);
    *ret_wait_usec = beyond / percent;
    return 0;
}

void nm_shuffle_share_owe(struct nm_shuffle_shares *s, struct nm_shuffle_share *a, uint64_t work_usec,
                          uint64_t now_usec)
{
    (void)drain(s, a, now_usec);
    add(s, a, work_usec);
}
