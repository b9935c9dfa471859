/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The CPU time that jobs or applications may use. Work is booked before it is done. A job may do NM_SHUFFLE_BURST_USEC
 * of work without waiting. After that, all jobs that compete have equal parts of the time that all of them may use
 * together. No job has less than NM_SHUFFLE_SHARE_PERCENT of one CPU.
 *
 * A job competes if it books more than half of NM_SHUFFLE_SHARE_PERCENT in NM_SHUFFLE_WINDOW_USEC. So jobs that fetch
 * little don't slow down another one. The caller protects both structs with a lock.
 */

#include <stdint.h>

#define NM_SHUFFLE_BURST_USEC UINT64_C(1000000)
#define NM_SHUFFLE_SHARE_PERCENT 25u
#define NM_SHUFFLE_NODE_PERCENT 75u /* part of the node's CPUs that all jobs may use together */
#define NM_SHUFFLE_WINDOW_USEC UINT64_C(100000)
#define NM_SHUFFLE_WAIT_MAX_USEC UINT64_C(30000000)

/* What all jobs have together. */
struct nm_shuffle_shares {
    uint64_t percent;     /* of one CPU; less than NM_SHUFFLE_SHARE_PERCENT: each job has NM_SHUFFLE_SHARE_PERCENT */
    uint64_t window;      /* number of the window of the last booking */
    unsigned n, n_before; /* jobs that compete in this window, and in the one before */
};

/* The work of a job. A struct initialized with {} is a share without work. */
struct nm_shuffle_share {
    uint64_t owed;    /* booked work that the share has not covered yet, in hundredths of a microsecond */
    uint64_t at_usec; /* time of `owed` */
    uint64_t window, window_usec; /* the last window with a booking, and the work that was booked in it */
};

/* Books work, and returns how long to wait before it may start. Returns -EBUSY, without booking the work, if the booked
 * work would take longer than NM_SHUFFLE_WAIT_MAX_USEC beside many other jobs. */
int nm_shuffle_share_book(struct nm_shuffle_shares *shares, struct nm_shuffle_share *share, uint64_t work_usec,
                          uint64_t now_usec, uint64_t *ret_wait_usec);

/* Books work that was done already, because it took more time than was booked before. */
void nm_shuffle_share_owe(struct nm_shuffle_shares *shares, struct nm_shuffle_share *share, uint64_t work_usec,
                          uint64_t now_usec);

/* Returns NM_SHUFFLE_NODE_PERCENT of the CPUs that this process may use, in percent of one CPU. */
uint64_t nm_shuffle_share_of_node(void);
