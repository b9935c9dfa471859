/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Writes that aren't on disk yet. */

#include <stddef.h>

#include "agent/store/store.h"

/* A write that is not on disk yet: SQL with its values in it. `key` says which row it is about: the
 * newest one per row is all that is needed. */
struct nm_store_pending {
    char *sql;
    char key[NM_STORE_KEY_SIZE + 16]; /* "container:ID", "command:ID", "blob:ID", "decision:N", "value:KEY" */
};

struct nm_store_queue {
    struct nm_store_pending *items;
    size_t n, capacity, n_decisions;
};

/* Its SQL replaces a row of the table of decisions. */
bool nm_store_pending_is_decision(const struct nm_store_pending *p);
/* Appends. Takes a copy of key and the string `sql` (sqlite3_malloc'ed; freed also on failure). */
int nm_store_queue_add(struct nm_store_queue *q, const char *key, char *sql);
/* The same in place of an older item of the same key. */
int nm_store_queue_put(struct nm_store_queue *q, const char *key, char *sql);
/* All of `from` behind what `to` has, each in place of older items of its key. -ENOMEM: it is lost; it never is if `to`
 * is empty. */
int nm_store_queue_move(struct nm_store_queue *from, struct nm_store_queue *to);
void nm_store_queue_done(struct nm_store_queue *q);
