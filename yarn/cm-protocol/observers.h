/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The containers that other nodes' nmd would lend on this node, while nmd.lending is "observe". No container runs, so
 * only those who observe know of them. Each tells this node with its questions how much memory they have, and learns
 * what the others have told. So the room of this node isn't counted by several of them. Whoever has a master's token
 * can tell numbers, so they are used for nothing but such counts.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

#define NM_OBSERVERS_MAX 64u /* a further one replaces the one that has told nothing for the longest time */
#define NM_OBSERVERS_USEC (30 * NM_USEC_PER_SEC) /* what was told counts for this time */

struct nm_observers {
    struct {
        uint64_t number, told_usec;
        int64_t memory_mib;
    } list[NM_OBSERVERS_MAX];
    size_t n;
};

/* Notes what an observer tells (0: nothing). Returns what the others have told. */
int64_t nm_observers_tell(struct nm_observers *o, uint64_t number, int64_t memory_mib, uint64_t now_usec);
