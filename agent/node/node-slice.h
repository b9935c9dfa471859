/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state of node-slice.c. Only node-slice.c and its tests use this header; cgroups.h has the other functions. */

#include "agent/node/cgroups.h"

/* The values of the slice's memory.low that an administrator and nmd have set. All zeros: nmd has set no value yet. */
struct nm_slice_note {
    uint64_t own_bytes;      /* the administrator's value; 0 if the administrator has set no value */
    uint64_t asked_bytes[4]; /* values that nmd set and that differ from own_bytes, the newest first */
    bool unsaved;
};

struct nm_slice {
    struct nm_cgroup_limits limits; /* the limits that were set last */
    struct nm_slice_note note;
    uint64_t claimed_bytes;
    bool is_busy, again; /* is_busy: a call that sets limits is in progress. again: a second call must follow */
    bool limit_due;      /* memory in use exceeds the reduced capacity, so memory.max is not lowered yet */
};

/* Updates the claim of a container and returns its size, at most promised_bytes. charged_bytes: the container's
 * memory.current in the sample of the time at_usec; 0: unknown, or no sample yet. A second call with the same sample
 * leaves the claim unchanged. */
uint64_t nm_slice_claim(struct nm_slice_claim *c, uint64_t promised_bytes, uint64_t charged_bytes, uint64_t at_usec);
