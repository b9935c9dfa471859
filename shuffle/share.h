/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The share of the node's CPU that one job or application may use. Its work is booked before it is done. A job may do
 * NM_SHUFFLE_BURST_USEC of work without waiting, and otherwise use NM_SHUFFLE_SHARE_PERCENT of one CPU.
 */

#include <stdint.h>

#define NM_SHUFFLE_BURST_USEC UINT64_C(1000000)
#define NM_SHUFFLE_SHARE_PERCENT 25u
#define NM_SHUFFLE_WAIT_MAX_USEC UINT64_C(30000000)

/* Books work, and returns how long to wait before it may start. *booked_usec: the time until which the share is used, 0
 * at first. Returns -EBUSY, without booking the work, if the booked work takes longer than
 * NM_SHUFFLE_WAIT_MAX_USEC. */
int nm_shuffle_share_book(uint64_t *booked_usec, uint64_t work_usec, uint64_t now_usec, uint64_t *ret_wait_usec);
