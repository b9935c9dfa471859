/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* The part of a guaranteed container's promised memory that the slice must protect now. All zeros at the container's
 * start. */
struct nm_slice_claim {
    uint64_t promised_bytes, bytes;
    uint64_t peak_bytes, since_usec; /* the largest need since since_usec */
    uint64_t charged_bytes, seen_usec; /* figure and time of the newest evaluated sample */
};

#define NM_SLICE_CLAIM_HOLD_USEC (60 * NM_USEC_PER_SEC)

/* Updates and returns the claim, at most promised_bytes. charged_bytes: the container's memory.current in the sample of
 * at_usec; 0: unknown, or no sample yet. A second call with the same sample has no effect. */
uint64_t nm_slice_claim(struct nm_slice_claim *c, uint64_t promised_bytes, uint64_t charged_bytes, uint64_t at_usec);
