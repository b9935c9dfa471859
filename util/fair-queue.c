/* SPDX-License-Identifier: Apache-2.0 */

#include "util/fair-queue.h"

#include <assert.h>

/* ---- rings -------------------------------------------------------------------------------- */

/* Inserts t ahead of `before`, so that t is the last item of the ring that starts there. If before is NULL, t forms a
 * new ring. */
static void join(enum nm_fair_ring ring, struct nm_fair_item *t, struct nm_fair_item *before)
{
    struct nm_fair_item *next = before ?: t, *prev = before ? before->in[ring].prev : t;

    t->in[ring].next = next;
    t->in[ring].prev = prev;
    prev->in[ring].next = next->in[ring].prev = t;
}

/* Removes t from its ring. A successor that isn't NULL takes t's place. */
static void unlink_item(enum nm_fair_ring ring, struct nm_fair_item *t, struct nm_fair_item *successor)
{
    if (successor)
        join(ring, successor, t);
    t->in[ring].prev->in[ring].next = t->in[ring].next;
    t->in[ring].next->in[ring].prev = t->in[ring].prev;
    t->in[ring].next = t->in[ring].prev = NULL;
}

/* Returns the next item of the ring, or NULL if t is alone. */
static struct nm_fair_item *other_than(enum nm_fair_ring ring, const struct nm_fair_item *t)
{
    return t->in[ring].next != t ? t->in[ring].next : NULL;
}

/* ---- the queue ---------------------------------------------------------------------------- */

static struct nm_fair_item *head_of_key(const struct nm_fair_queue *queue, uint64_t key)
{
    struct nm_fair_item *t = queue->first;

    while (t && t->key != key) {
        t = t->in[NM_FAIR_KEYS].next;
        if (t == queue->first)
            return NULL;
    }
    return t;
}

static struct nm_fair_item *head_of_part(struct nm_fair_item *head, uint64_t part)
{
    struct nm_fair_item *t = head;

    while (t && t->part != part) {
        t = t->in[NM_FAIR_PARTS].next;
        if (t == head)
            return NULL;
    }
    return t;
}

void nm_fair_put(struct nm_fair_queue *queue, struct nm_fair_item *t, uint64_t key, uint64_t part)
{
    struct nm_fair_item *of_key = head_of_key(queue, key), *of_part = head_of_part(of_key, part);

    assert(!nm_fair_waits(t));
    *t = (struct nm_fair_item){.key = key, .part = part};
    join(NM_FAIR_ITEMS, t, of_part);
    if (!of_part)
        join(NM_FAIR_PARTS, t, of_key);
    if (!of_key)
        join(NM_FAIR_KEYS, t, queue->first);
    if (!queue->first)
        queue->first = t;
}

/* Gives t's place among the keys to the key's next item. If `successor` is NULL, the key leaves the ring. */
static void hand_over_key(struct nm_fair_queue *queue, struct nm_fair_item *t, struct nm_fair_item *successor)
{
    if (queue->first == t)
        queue->first = successor ?: other_than(NM_FAIR_KEYS, t);
    unlink_item(NM_FAIR_KEYS, t, successor);
}

void nm_fair_remove(struct nm_fair_queue *queue, struct nm_fair_item *t)
{
    struct nm_fair_item *successor = other_than(NM_FAIR_ITEMS, t);

    assert(nm_fair_waits(t));
    /* the next item takes t's places in the rings of keys and parts; without a next item, key and part leave their
     * rings */
    if (t->in[NM_FAIR_KEYS].next)
        hand_over_key(queue, t, successor ?: other_than(NM_FAIR_PARTS, t));
    if (t->in[NM_FAIR_PARTS].next)
        unlink_item(NM_FAIR_PARTS, t, successor);
    unlink_item(NM_FAIR_ITEMS, t, NULL);
    *t = (struct nm_fair_item){0};
}

struct nm_fair_item *nm_fair_take(struct nm_fair_queue *queue)
{
    struct nm_fair_item *t = queue->first, *of_part;

    if (!t)
        return NULL;
    /* the other parts of the key, and then all other keys, have their turns before the next item */
    of_part = other_than(NM_FAIR_PARTS, t);
    queue->first = t->in[NM_FAIR_KEYS].next;
    if (of_part) {
        if (queue->first == t)
            queue->first = of_part;
        unlink_item(NM_FAIR_KEYS, t, of_part);
    }
    nm_fair_remove(queue, t);
    return t;
}
