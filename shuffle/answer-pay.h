/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Charges the work for an answer to its job. */

#include "shuffle/answer-state.h"

/* Prices that a job's account is charged. For a request: its head of up to 16 KiB is parsed and signed. For each name,
 * even if repeated: it is compared with the names before it, and its file is opened, sent and closed. For each map: its
 * files are opened in each directory, and each MB of its index is checked (zlib's crc32() processes some 1,700 MB per
 * second); reading the records of a range costs the same. For each part of a range: its head is made twice and sent,
 * which takes some 0.2 us. For each MiB sent: at this price a job may fetch 2.5 GB per second. */
#define NM_SHUFFLE_REQUEST_PRICE_USEC 40u
#define NM_SHUFFLE_NAME_PRICE_USEC 5u
#define NM_SHUFFLE_LOOKUP_PRICE_USEC 5u
#define NM_SHUFFLE_PART_PRICE_USEC 1u
#define NM_SHUFFLE_CHECK_PRICE_USEC_PER_MB 1000u
#define NM_SHUFFLE_SEND_PRICE_USEC_PER_MIB 100u

/* Books the work of the current step before the work is done, unless it is booked already. Otherwise a user could
 * make this process, which runs outside of any container's limits, work without end. Returns 0, NM_SHUFFLE_E_WAIT if
 * the job's share does not permit the work yet, -EBUSY if the request must be refused, or another -errno. A step
 * that has been sent sets is_paid to false. */
int nm_shuffle_pay(struct nm_shuffle_answer *a, uint64_t work_usec);

/* Begins an attempt of a lookup, and returns its account. spend() returns -EINPROGRESS if the job's share does not
 * permit the check yet: then the step must wait (NM_SHUFFLE_E_WAIT), and the lookup must be repeated. */
struct nm_shuffle_account nm_shuffle_lookup_account(struct nm_shuffle_answer *a);
