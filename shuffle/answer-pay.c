/* SPDX-License-Identifier: Apache-2.0 */

/* See answer-pay.h. */

#include "shuffle/answer-pay.h"

#include "util/clock.h"
#include "util/error.h"

/* Work that is worth a look at the connection, which costs a microsecond. */
#define POLLED_WORK_USEC 100u
/* Pause before a new try to book. An answer that has begun must be completed, so its sending waits while no more work
 * can be booked. */
#define BUSY_PAUSE_USEC (200 * NM_USEC_PER_MSEC)

static int wait_for_time(struct nm_shuffle_answer *a, uint64_t until_usec)
{
    a->wait = (struct nm_shuffle_wait){0, until_usec};
    return NM_SHUFFLE_E_WAIT;
}

/* Books work. Returns NM_SHUFFLE_E_WAIT if it may start only later. Detects a closed connection only before a large
 * piece of work: a wait ends when the connection closes. *ret_booked is false after -errno, and if the booking must
 * be repeated after the wait. */
static int book(struct nm_shuffle_answer *a, uint64_t work_usec, bool *ret_booked)
{
    const uint64_t now_usec = nm_now_usec();
    uint64_t wait_usec;
    int r = nm_shuffle_jobs_charge(a->service->jobs, a->job.id, work_usec, now_usec, &wait_usec);

    *ret_booked = r == 0;
    if (r == -ENOENT)
        return -ECONNRESET; /* the job has ended since its request was accepted */
    if (r == -EBUSY && nm_shuffle_answer_is_sending(a))
        return now_usec > a->deadline_usec ? -ETIMEDOUT : wait_for_time(a, now_usec + BUSY_PAUSE_USEC);
    if (r < 0)
        return r;
    if (wait_usec > 0)
        return wait_for_time(a, now_usec + wait_usec);
    if (work_usec < POLLED_WORK_USEC)
        return 0;
    r = nm_shuffle_wait_in_thread(a->fd, &(struct nm_shuffle_wait){0, now_usec}, 0);
    return r == -ECONNRESET ? r : 0;
}

int nm_shuffle_pay(struct nm_shuffle_answer *a, uint64_t work_usec)
{
    return a->is_paid ? 0 : book(a, work_usec, &a->is_paid);
}

/* Charges the part of a check that an earlier attempt has not paid. An attempt needs what all its checks cost. */
static int pay_check(uint64_t index_bytes, void *userdata)
{
    struct nm_shuffle_answer *a = userdata;
    bool is_booked;
    int r;

    a->checked_bytes = nm_add_u64(a->checked_bytes, index_bytes);
    if (a->checked_bytes <= a->paid_check_bytes)
        return 0;
    r = book(a, (a->checked_bytes - a->paid_check_bytes) * NM_SHUFFLE_CHECK_PRICE_USEC_PER_MB / 1000000, &is_booked);
    if (is_booked)
        a->paid_check_bytes = a->checked_bytes;
    return r == NM_SHUFFLE_E_WAIT ? -EINPROGRESS : r;
}

struct nm_shuffle_account nm_shuffle_lookup_account(struct nm_shuffle_answer *a)
{
    a->checked_bytes = 0;
    return (struct nm_shuffle_account){pay_check, a};
}
