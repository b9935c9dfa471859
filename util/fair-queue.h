/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whose turn it is: items of work wait, each for somebody (a key), and everybody has one turn after another. So one who
 * has hundreds of items delays another one's first item by one of them. Items of one key keep their order. Pure, and
 * without memory of its own: the lists are in the items.
 *
 * nm_fair_put() walks the keys that wait, not the items. All else takes the same time however many wait.
 */

#include <stdbool.h>
#include <stdint.h>

/* Embedded into what waits; zeroes while it is in no nm_fair_queue. */
struct nm_fair_item {
    struct nm_fair_item *next, *prev;         /* a ring of one key's items */
    struct nm_fair_item *next_key, *prev_key; /* of the first item of each key: a ring of these; else NULL */
    uint64_t key;
};

/* Zeroes: nobody waits. */
struct nm_fair_queue {
    struct nm_fair_item *first; /* whose turn is next */
};

static inline bool nm_fair_waits(const struct nm_fair_item *t)
{
    return t->next;
}

/* Puts it behind the other items of its key. The first item of a key has its turn after one of each other key. */
void nm_fair_put(struct nm_fair_queue *queue, struct nm_fair_item *t, uint64_t key);
/* Takes the next one out. NULL: nobody waits. */
struct nm_fair_item *nm_fair_take(struct nm_fair_queue *queue);
/* Takes this one out, whose turn has not come. */
void nm_fair_leave(struct nm_fair_queue *queue, struct nm_fair_item *t);
