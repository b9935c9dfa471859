/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory stands above the preemption threshold, and nothing is taken back: there is always a reason, and whoever
 * looks at the node wants to know it. Pure; the figures are those of the newest round.
 */

#include "agent/policy/policy.h"

struct nm_over_beta {
    const struct nm_policy_settings *settings;
    bool shadow;             /* the node is run without over-allocation, which is only tried on paper */
    bool stale;              /* there is no sample that a decision could go by */
    uint64_t used_bytes;     /* U */
    uint64_t in_use_bytes;   /* without what is only reserved */
    uint64_t guaranteed_bytes, others_bytes; /* of that */
    uint64_t takeable_bytes; /* of opportunistic containers that may be taken back */
    uint64_t ending_bytes;   /* of containers that are being ended, or put into swap */
    uint32_t kills_last_minute;
    enum nm_reason hold;     /* the newest verdict's preempt_hold */
};

/* Whole sentences into buf. False: memory isn't above the threshold, or something is being done about it; buf is
 * "". */
bool nm_over_beta_explain(const struct nm_over_beta *o, char *buf, size_t size);
