/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Outcomes of a step of an answer, and what the answer then waits for. */

#include <stdint.h>

/* Time after which a connection lets the requests of others run: an answer of a slow disk or with a large index, or
 * many requests that the client has sent in advance. */
#define NM_SHUFFLE_TURN_USEC (20 * NM_USEC_PER_MSEC)

/* NM_SHUFFLE_E_CLOSE: the answer is complete, and the connection must close. NM_SHUFFLE_E_WAIT: the answer must
 * continue after a wait. NM_SHUFFLE_E_TURN: it can continue, but has run for so long that others should run first, or
 * its connection has another owner now (shuffle/task-queue.h). */
enum { NM_SHUFFLE_E_CLOSE = 1, NM_SHUFFLE_E_WAIT, NM_SHUFFLE_E_TURN };

/* What an answer waits for: events of poll() on its connection, or the time. The events are 0 if only the time counts.
 * A reducer that disconnects during the wait ends the answer. */
struct nm_shuffle_wait {
    short events;
    uint64_t until_usec;
};

/* Waits in the calling thread until the wait is over, for at most max_usec. Returns 0 if it is over, -EAGAIN if it is
 * not, -ECONNRESET if the other side has closed or the connection was shut down. Received bytes stay in the socket. */
int nm_shuffle_wait_in_thread(int fd, const struct nm_shuffle_wait *wait, uint64_t max_usec);
