/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Queues of writes that are not on disk yet. */

#include <stddef.h>

#include "agent/store/store.h"

/* A write that is not on disk yet: SQL that includes its values. `key` names the row: only the newest write of each row
 * is needed. */
struct nm_store_pending {
    char *sql;
    char key[NM_STORE_KEY_SIZE + 16]; /* "container:ID", "command:ID", "blob:ID", "decision:N", "value:KEY" */
};

struct nm_store_queue {
    struct nm_store_pending *items;
    size_t n, capacity, n_decisions;
};

/* Returns whether the write replaces a row in the table of decisions. */
bool nm_store_pending_is_decision(const struct nm_store_pending *p);
/* Appends an item. Copies key and takes ownership of `sql` (sqlite3_malloc'ed; freed also on failure). */
int nm_store_queue_add(struct nm_store_queue *q, const char *key, char *sql);
/* Does the same, but replaces an older item of the same key. */
int nm_store_queue_put(struct nm_store_queue *q, const char *key, char *sql);
/* Moves all items of `from` to the end of `to` and drops older items with the same keys. Returns -ENOMEM if the items
 * are lost, which cannot happen if `to` is empty. */
int nm_store_queue_move(struct nm_store_queue *from, struct nm_store_queue *to);
void nm_store_queue_done(struct nm_store_queue *q);
