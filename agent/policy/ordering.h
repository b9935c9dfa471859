/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sorting without allocation, and the orders of the queue. An order is a list of unsigned keys; the smallest key comes
 * first. The last key always contains the unique arrival number, so the result never depends on the order in which the
 * views were passed in.
 */

#include "agent/policy/policy-types.h"

struct nm_sort_entry {
    uint64_t k[2];
    uint32_t index; /* into input.views */
    uint32_t note;  /* for use by the caller */
};

/* Sorts by merge sort, in O(n log n) in the worst case. The C library's qsort() is not used, because it would allocate
 * memory. scratch: n entries. */
void nm_sort(struct nm_sort_entry *entries, struct nm_sort_entry *scratch, size_t n);

/* Computes the sort keys of a queued container for the configured order. */
void nm_queue_keys(const struct nm_policy_settings *s, const struct nm_policy_input *in,
                   const struct nm_policy_container *v, uint64_t ret_keys[2]);
