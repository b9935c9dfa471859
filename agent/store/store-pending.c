/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What could not be written yet, newest state per row. The queue is bounded: containers by their
 * number, and decisions, which are history and not state, by DECISIONS_MAX, the oldest being
 * dropped first.
 */

#include "agent/store/store-pending.h"

#include <assert.h>
#include <errno.h>
#include <sqlite3.h>

#define DECISIONS_MAX 1000
#define DECISION_PREFIX "decision:"

static bool is_decision(const struct nm_store_pending *p)
{
    return strncmp(p->key, DECISION_PREFIX, strlen(DECISION_PREFIX)) == 0;
}

static void remove_at(struct nm_store_queue *q, size_t i)
{
    q->bytes -= strlen(q->items[i].sql);
    sqlite3_free(q->items[i].sql);
    memmove(&q->items[i], &q->items[i + 1], (q->n - i - 1) * sizeof *q->items);
    q->n--;
}

static void drop_oldest_decision(struct nm_store_queue *q)
{
    size_t count = 0;

    for (size_t i = 0; i < q->n; i++)
        count += is_decision(&q->items[i]);
    if (count <= DECISIONS_MAX)
        return;
    for (size_t i = 0; i < q->n; i++)
        if (is_decision(&q->items[i])) {
            remove_at(q, i);
            return;
        }
}

static int grow(struct nm_store_queue *q)
{
    size_t capacity = q->capacity ? 2 * q->capacity : 16;
    struct nm_store_pending *items = reallocarray(q->items, capacity, sizeof *items);

    if (!items)
        return -ENOMEM;
    q->items = items;
    q->capacity = capacity;
    return 0;
}

int nm_store_queue_put(struct nm_store_queue *q, const char *key, char *sql)
{
    struct nm_store_pending *p = NULL;

    assert(key[0] && strlen(key) < sizeof p->key);
    if (!sql)
        return -ENOMEM;
    for (size_t i = 0; i < q->n && !p; i++)
        if (nm_streq(q->items[i].key, key))
            p = &q->items[i];
    if (p) {
        q->bytes -= strlen(p->sql);
        sqlite3_free(p->sql);
    } else {
        if (q->n == q->capacity && grow(q) < 0) {
            sqlite3_free(sql);
            return -ENOMEM;
        }
        p = &q->items[q->n++];
        (void)snprintf(p->key, sizeof p->key, "%s", key);
    }
    p->sql = sql;
    q->bytes += strlen(sql);
    drop_oldest_decision(q);
    return 0;
}

void nm_store_queue_move(struct nm_store_queue *from, struct nm_store_queue *to)
{
    assert(from != to);
    for (size_t i = 0; i < from->n; i++)
        (void)nm_store_queue_put(to, from->items[i].key, from->items[i].sql);
    from->n = from->bytes = 0;
}

void nm_store_queue_done(struct nm_store_queue *q)
{
    for (size_t i = 0; i < q->n; i++)
        sqlite3_free(q->items[i].sql);
    free(q->items);
    *q = (struct nm_store_queue){0};
}
