/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sorting without allocation, and the orders of the queue. An order is a row of unsigned keys, the
 * smallest first; the last key is always (made of) the arrival number, which is unique, so that the
 * outcome never depends on the order in which the views were handed in.
 */

#include "agent/policy/policy-types.h"

struct nm_sort_entry {
    uint64_t k[2];
    uint32_t index; /* into input.views */
    uint32_t note;  /* the user's own */
};

/* Merge sort: n log n in the worst case, which the C library's qsort() buys with an allocation.
 * scratch: n entries. */
void nm_sort(struct nm_sort_entry *entries, struct nm_sort_entry *scratch, size_t n);

/* Keys of a queued container in the given order. */
void nm_queue_keys(const struct nm_policy_settings *s, const struct nm_policy_input *in,
                   const struct nm_policy_container *v, uint64_t ret_keys[2]);
