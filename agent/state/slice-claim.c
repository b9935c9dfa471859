/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The part of the slice's protection that guaranteed containers don't use would protect the slice's idle page cache
 * from the rest of the node (memory_recursiveprot). So each container claims only the memory that it holds plus one
 * step, because a container may grow faster than samples are taken and needs the claim beforehand. A claim rises at
 * once, and falls when no higher claim was needed for a minute. A new or increased promise is claimed entirely for
 * that minute, because it is likely to be used.
 *
 * Claims are rounded to steps, so that small variations don't cause a call to systemd with each sample.
 */

#include "agent/state/slice-claim.h"

#include "agent/types.h"
#include "util/clock.h"

#define STEP_SHARE 32
#define STEP_MIN_BYTES (UINT64_C(8) << 20)

static uint64_t wanted(const struct nm_slice_claim *c, uint64_t charged_bytes)
{
    uint64_t step = NM_MAX(c->promised_bytes / STEP_SHARE, STEP_MIN_BYTES);
    uint64_t grown = c->seen_usec > 0 ? nm_sub_u64(charged_bytes, c->charged_bytes) : 0;
    uint64_t ahead = charged_bytes + NM_MAX(step, grown);

    return NM_MIN((ahead + step - 1) / step * step, c->promised_bytes);
}

uint64_t nm_slice_claim(struct nm_slice_claim *c, uint64_t promised_bytes, uint64_t charged_bytes, uint64_t at_usec)
{
    uint64_t now_wanted;

    if (promised_bytes > c->promised_bytes) {
        c->bytes = promised_bytes;
        c->peak_bytes = 0;
        c->since_usec = at_usec;
    }
    c->promised_bytes = promised_bytes;
    c->bytes = NM_MIN(c->bytes, promised_bytes);
    if (charged_bytes == 0 || at_usec == c->seen_usec)
        return c->bytes;
    now_wanted = wanted(c, charged_bytes);
    c->charged_bytes = charged_bytes;
    c->seen_usec = at_usec;
    if (c->since_usec == 0)
        c->since_usec = at_usec;
    c->peak_bytes = NM_MAX(c->peak_bytes, now_wanted);
    if (now_wanted >= c->bytes) {
        c->bytes = c->peak_bytes = now_wanted;
        c->since_usec = at_usec;
    } else if (at_usec - c->since_usec >= NM_SLICE_CLAIM_HOLD_USEC) {
        c->bytes = c->peak_bytes;
        c->peak_bytes = now_wanted;
        c->since_usec = at_usec;
    }
    return c->bytes;
}
