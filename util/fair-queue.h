/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whose turn it is: items of work wait, each for somebody (a key), and everybody has one turn after another. So one who
 * has hundreds of items delays another one's first item by one of them. What one has may be in parts, an application
 * each for instance: the parts take turns among the turns of their key, so that parts bring no more turns. Items of one
 * part keep their order. Pure, and without memory of its own: the lists are in the items.
 *
 * nm_fair_put() walks the keys that wait and the parts of its own key, not the items. All else takes the same time
 * however many wait.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nm_fair_ring {
    NM_FAIR_ITEMS, /* of one part */
    NM_FAIR_PARTS, /* of one key: the first item of each */
    NM_FAIR_KEYS,  /* the item of each key whose turn is next among its parts */
    NM_FAIR_RINGS,
};

/* Embedded into what waits; zeroes while it is in no nm_fair_queue. NULL: it isn't in that ring. */
struct nm_fair_item {
    struct {
        struct nm_fair_item *next, *prev;
    } in[NM_FAIR_RINGS];
    uint64_t key, part;
};

/* Zeroes: nobody waits. */
struct nm_fair_queue {
    struct nm_fair_item *first; /* whose turn is next */
};

static inline bool nm_fair_waits(const struct nm_fair_item *t)
{
    return t->in[NM_FAIR_ITEMS].next;
}

/* Puts it behind the other items of its part. The first item of a part has its turn after one of each other part of the
 * key, and the first item of a key after one of each other key. */
void nm_fair_put(struct nm_fair_queue *queue, struct nm_fair_item *t, uint64_t key, uint64_t part);
/* Takes the next one out. NULL: nobody waits. */
struct nm_fair_item *nm_fair_take(struct nm_fair_queue *queue);
/* Takes this one out, whose turn has not come. */
void nm_fair_leave(struct nm_fair_queue *queue, struct nm_fair_item *t);
