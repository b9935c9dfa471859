/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* How much of what it was promised a guaranteed container lays claim to. All zeros at its start. */
struct nm_slice_claim {
    uint64_t promised_bytes, bytes;
    uint64_t peak_bytes, since_usec; /* the most that was wanted since then */
    uint64_t charged_bytes, seen_usec; /* of the newest sample that was looked at */
};

#define NM_SLICE_CLAIM_HOLD_USEC (60 * NM_USEC_PER_SEC)

/* charged_bytes: its memory.current in the sample of at_usec; 0: not known, or none yet. Returns the claim, at most
 * promised_bytes. The same sample twice changes nothing. */
uint64_t nm_slice_claim(struct nm_slice_claim *c, uint64_t promised_bytes, uint64_t charged_bytes, uint64_t at_usec);
