/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The newest write of each row that could not be written yet. The queue is bounded: containers by their number, and
 * decisions, which are history and not state, by DECISIONS_MAX; the oldest decisions are dropped first. The writes of a
 * transaction in progress are kept in order without a search for their rows, because as a rule they are soon discarded.
 */

#include "agent/store/store-internal.h"

#include <assert.h>
#include <errno.h>
#include <sqlite3.h>

#define DECISIONS_MAX 1000
#define DECISION_PREFIX "decision:"

bool nm_store_pending_is_decision(const struct nm_store_pending *p)
{
    return strncmp(p->key, DECISION_PREFIX, strlen(DECISION_PREFIX)) == 0;
}

/*
 * ---- values ------------------------------------------------------------------------------------
 *
 * Each write of a transaction is copied, so a copy must be cheap: it has the values and not their SQL. For SQL
 * (sqlite3_expanded_sql()), SQLite would parse the statement again, which took a sixth of nmd's work for a launch.
 */

void nm_store_values_bind(sqlite3_stmt *stmt, const struct nm_store_value *values, int n)
{
    for (int i = 0; i < n; i++) {
        const struct nm_store_value *v = &values[i];

        if (!v->data)
            (void)sqlite3_bind_int64(stmt, i + 1, v->number);
        else if (v->is_blob)
            (void)sqlite3_bind_blob(stmt, i + 1, v->data, (int)v->size, SQLITE_STATIC);
        else
            (void)sqlite3_bind_text(stmt, i + 1, v->data, (int)v->size, SQLITE_STATIC);
    }
}

struct nm_store_values *nm_store_values_copy(const struct nm_store_value *values, int n)
{
    size_t size = sizeof(struct nm_store_values) + (size_t)n * sizeof *values;
    struct nm_store_values *copy;
    char *data;

    for (int i = 0; i < n; i++)
        size += values[i].size;
    copy = malloc(size);
    if (!copy)
        return NULL;
    copy->n = n;
    data = (char *)&copy->all[n];
    for (int i = 0; i < n; i++) {
        copy->all[i] = values[i];
        if (!values[i].data)
            continue;
        memcpy(data, values[i].data, values[i].size);
        copy->all[i].data = data;
        data += values[i].size;
    }
    return copy;
}

/* ---- the queue --------------------------------------------------------------------------------- */

static void drop(struct nm_store_pending *p)
{
    free(p->values);
    p->values = NULL;
}

/* Moves the remaining items together after some items were dropped. */
static void close_up(struct nm_store_queue *q)
{
    size_t n = 0;

    q->n_decisions = 0;
    for (size_t i = 0; i < q->n; i++) {
        if (!q->items[i].values)
            continue;
        q->items[n] = q->items[i];
        q->n_decisions += nm_store_pending_is_decision(&q->items[n++]);
    }
    q->n = n;
}

static void drop_oldest_decisions(struct nm_store_queue *q)
{
    size_t excess = q->n_decisions > DECISIONS_MAX ? q->n_decisions - DECISIONS_MAX : 0;

    if (excess == 0)
        return;
    for (size_t i = 0; i < q->n && excess > 0; i++) {
        if (!nm_store_pending_is_decision(&q->items[i]))
            continue;
        drop(&q->items[i]);
        excess--;
    }
    close_up(q);
}

/* Sorts by row, and within a row by age. */
static int by_key(const void *a, const void *b)
{
    const struct nm_store_pending *const *x = a, *const *y = b;
    int r = strcmp((*x)->key, (*y)->key);

    return r != 0 ? r : *x < *y ? -1 : *x > *y;
}

static void drop_all_but_newest(struct nm_store_queue *q)
{
    _cleanup_free_ const struct nm_store_pending **sorted = reallocarray(NULL, q->n, sizeof *sorted);

    if (!sorted)
        return; /* no item is dropped: more is written than necessary, but in the right order */
    for (size_t i = 0; i < q->n; i++)
        sorted[i] = &q->items[i];
    qsort(sorted, q->n, sizeof *sorted, by_key);
    for (size_t i = 0; i + 1 < q->n; i++)
        if (nm_streq(sorted[i]->key, sorted[i + 1]->key))
            drop(&q->items[sorted[i] - q->items]);
    close_up(q);
}

static int reserve(struct nm_store_queue *q, size_t n)
{
    size_t capacity = NM_MAX(n, q->capacity ? 2 * q->capacity : (size_t)16);
    struct nm_store_pending *items;

    if (n <= q->capacity)
        return 0;
    items = reallocarray(q->items, capacity, sizeof *items);
    if (!items)
        return -ENOMEM;
    q->items = items;
    q->capacity = capacity;
    return 0;
}

int nm_store_queue_add(struct nm_store_queue *q, const char *key, enum nm_store_stmt which,
                       struct nm_store_values *values)
{
    struct nm_store_pending *p;

    assert(key[0] && strlen(key) < sizeof p->key);
    if (!values || reserve(q, q->n + 1) < 0) {
        free(values);
        return -ENOMEM;
    }
    p = &q->items[q->n++];
    (void)snprintf(p->key, sizeof p->key, "%s", key);
    p->which = which;
    p->values = values;
    q->n_decisions += nm_store_pending_is_decision(p);
    return 0;
}

/* Searches from the end, because the later item counts if a row has two. */
static struct nm_store_pending *find(const struct nm_store_queue *q, const char *key)
{
    for (size_t i = q->n; i-- > 0;)
        if (nm_streq(q->items[i].key, key))
            return &q->items[i];
    return NULL;
}

int nm_store_queue_replace(struct nm_store_queue *q, const char *key, enum nm_store_stmt which,
                           struct nm_store_values *values)
{
    struct nm_store_pending *p = find(q, key);
    int r;

    if (p && values) {
        drop(p);
        p->which = which;
        p->values = values;
        return 0;
    }
    r = nm_store_queue_add(q, key, which, values);
    drop_oldest_decisions(q);
    return r;
}

int nm_store_queue_move(struct nm_store_queue *from, struct nm_store_queue *to)
{
    assert(from != to);
    if (to->n == 0) { /* an empty queue takes the items over without an allocation */
        struct nm_store_queue empty = *to;

        *to = *from;
        *from = empty;
    } else if (from->n > 0) {
        if (reserve(to, to->n + from->n) < 0) {
            nm_store_queue_done(from);
            return -ENOMEM;
        }
        memcpy(to->items + to->n, from->items, from->n * sizeof *from->items);
        to->n += from->n;
        from->n = 0;
        nm_store_queue_done(from);
    }
    drop_all_but_newest(to);
    drop_oldest_decisions(to);
    return 0;
}

void nm_store_queue_done(struct nm_store_queue *q)
{
    for (size_t i = 0; i < q->n; i++)
        free(q->items[i].values);
    free(q->items);
    *q = (struct nm_store_queue){0};
}
