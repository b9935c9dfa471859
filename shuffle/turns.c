/* SPDX-License-Identifier: Apache-2.0 */

/* See turns.h. */

#include "shuffle/turns.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>

#include "util/clock.h"

/* Time for which a thread waits itself while other threads are free: a client that has more to fetch sends its next
 * request at once, and one that reads fast has soon read a part of the answer. */
#define STAY_USEC (20 * NM_USEC_PER_MSEC)

int nm_shuffle_turns_wait(struct nm_shuffle_turns *t, const struct nm_shuffle_wait *wait)
{
    int r;

    static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT, "poll() and epoll have the same events");
    t->idle.events = (uint32_t)wait->events;
    t->idle.deadline_usec = wait->until_usec;
    r = nm_shuffle_idle_add(t->loop->idle, &t->idle);
    if (r < 0)
        t->loop->end(t, r);
    return r;
}

void nm_shuffle_turns_submit(struct nm_shuffle_turns *t)
{
    int r = nm_shuffle_pool_submit(t->loop->pool, &t->task);

    if (r < 0)
        t->loop->end(t, r);
}

/* Waits, or passes the connection to the loop. Returns whether this thread still has the connection, and the result of
 * the wait. */
static bool stays(struct nm_shuffle_turns *t, const struct nm_shuffle_wait *wait, int *ret_result)
{
    const bool is_short = wait->events != 0 || wait->until_usec <= nm_now_usec() + STAY_USEC;

    *ret_result = -EAGAIN;
    if (is_short && nm_shuffle_pool_has_room(t->loop->pool))
        *ret_result = nm_shuffle_wait_in_thread(t->idle.fd, wait, STAY_USEC);
    if (*ret_result == -EAGAIN)
        (void)nm_shuffle_turns_wait(t, wait);
    return *ret_result != -EAGAIN;
}

void nm_shuffle_turns_serve(struct nm_shuffle_task *task)
{
    struct nm_shuffle_turns *t = NM_CONTAINER_OF(task, struct nm_shuffle_turns, task);
    struct nm_shuffle_wait wait = {};
    int r;

    do {
        r = t->loop->answer(t, &wait);
        if (r == NM_SHUFFLE_E_WAIT && !stays(t, &wait, &r))
            return;
        if (r == NM_SHUFFLE_E_TURN && !nm_shuffle_pool_may_continue(t->loop->pool, task)) {
            nm_shuffle_turns_submit(t);
            return;
        }
    } while (r == 0 || r == NM_SHUFFLE_E_TURN);
    t->loop->end(t, r);
}
