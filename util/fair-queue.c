/* SPDX-License-Identifier: Apache-2.0 */

#include "util/fair-queue.h"

#include <assert.h>
#include <stddef.h>

static struct nm_fair_item *first_of(const struct nm_fair_queue *queue, uint64_t key)
{
    struct nm_fair_item *t = queue->first;

    while (t && t->key != key) {
        t = t->next_key;
        if (t == queue->first)
            return NULL;
    }
    return t;
}

static void add_key(struct nm_fair_queue *queue, struct nm_fair_item *t)
{
    struct nm_fair_item *first = queue->first ?: t;

    t->next_key = first;
    t->prev_key = first->prev_key ?: t;
    t->prev_key->next_key = first->prev_key = t;
    queue->first = first;
}

void nm_fair_put(struct nm_fair_queue *queue, struct nm_fair_item *t, uint64_t key)
{
    struct nm_fair_item *first = first_of(queue, key);

    assert(!nm_fair_waits(t));
    *t = (struct nm_fair_item){.next = first ?: t, .prev = first ? first->prev : t, .key = key};
    t->prev->next = t->next->prev = t;
    if (!first)
        add_key(queue, t);
}

/* The key's place in the ring is the next item's, or goes with the last one. */
static void pass_key_on(struct nm_fair_queue *queue, struct nm_fair_item *t)
{
    struct nm_fair_item *heir = t->next != t ? t->next : NULL;

    if (heir) {
        heir->next_key = t->next_key != t ? t->next_key : heir;
        heir->prev_key = t->prev_key != t ? t->prev_key : heir;
    }
    t->prev_key->next_key = heir ?: t->next_key;
    t->next_key->prev_key = heir ?: t->prev_key;
    if (queue->first == t)
        queue->first = heir ?: (t->next_key != t ? t->next_key : NULL);
}

void nm_fair_leave(struct nm_fair_queue *queue, struct nm_fair_item *t)
{
    assert(nm_fair_waits(t));
    if (t->next_key)
        pass_key_on(queue, t);
    t->prev->next = t->next;
    t->next->prev = t->prev;
    *t = (struct nm_fair_item){0};
}

struct nm_fair_item *nm_fair_take(struct nm_fair_queue *queue)
{
    struct nm_fair_item *t = queue->first;

    if (!t)
        return NULL;
    queue->first = t->next_key; /* its key's next item has a turn after those of all others */
    nm_fair_leave(queue, t);
    return t;
}
