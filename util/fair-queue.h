/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fair queue of work items. Each item belongs to a key (for instance a user), and keys take turns, so that a key with
 * hundreds of items delays the first item of another key by one item only. The items of a key may be divided into parts
 * (for instance one per application). Parts take turns within the turns of their key, so more parts don't give a key
 * more turns. Items of one part keep their order. The queue does no I/O and allocates no memory: the list pointers are
 * members of the items.
 *
 * nm_fair_put() walks the waiting keys and the parts of its own key, not the items. All other functions take constant
 * time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nm_fair_ring {
    NM_FAIR_ITEMS, /* the items of one part */
    NM_FAIR_PARTS, /* the first item of each part of one key */
    NM_FAIR_KEYS,  /* for each key, the item whose turn is next among its parts */
    NM_FAIR_RINGS,
};

/* Embedded into the waiting object. All pointers are NULL while the item is in no nm_fair_queue. A NULL pointer means
 * that the item isn't linked into that ring. */
struct nm_fair_item {
    struct {
        struct nm_fair_item *next, *prev;
    } in[NM_FAIR_RINGS];
    uint64_t key, part;
};

/* A zeroed queue is empty. */
struct nm_fair_queue {
    struct nm_fair_item *first; /* the item whose turn is next */
};

static inline bool nm_fair_waits(const struct nm_fair_item *t)
{
    return t->in[NM_FAIR_ITEMS].next;
}

/* Appends the item to its part. The first item of a part waits for one item of each other part of the key, and the
 * first item of a key waits for one item of each other key. */
void nm_fair_put(struct nm_fair_queue *queue, struct nm_fair_item *t, uint64_t key, uint64_t part);
/* Removes the next item and returns it. Returns NULL if the queue is empty. */
struct nm_fair_item *nm_fair_take(struct nm_fair_queue *queue);
/* Removes this item before its turn. */
void nm_fair_remove(struct nm_fair_queue *queue, struct nm_fair_item *t);
