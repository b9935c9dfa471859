/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Explains to users why nmd takes no memory back although memory is above the preemption threshold (beta). Pure
 * functions. The figures are from the newest round.
 */

#include "agent/policy/policy.h"

struct nm_over_beta {
    const struct nm_policy_settings *settings;
    bool shadow;             /* decisions are recorded but not carried out (shadow mode) */
    bool stale;              /* the newest sample is too old for a decision */
    uint64_t used_bytes;     /* U */
    uint64_t in_use_bytes;   /* U without reservations */
    uint64_t guaranteed_bytes, others_bytes; /* parts of `used_bytes` */
    uint64_t takeable_bytes; /* memory of opportunistic containers that may be victims */
    uint64_t ending_bytes;   /* memory of containers that are being killed or reclaimed */
    uint32_t kills_last_minute;
    enum nm_reason preempt_wait_reason; /* the newest verdict's preempt_wait_reason */
};

/* Writes full sentences to buf. Returns false and sets buf to "" if memory is not above the threshold or is already
 * being taken back. */
bool nm_over_beta_explain(const struct nm_over_beta *o, char *buf, size_t size);
