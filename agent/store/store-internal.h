/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the store's own files: store.c (writes), store-open.c, store-container.c,
 * store-pending.c, store-salvage.c. */

#include <sqlite3.h>

#include "agent/store/store.h"

#define NM_STORE_FILE "nmd.db"
/* user_version. Another one's file is set aside; a later version must migrate this one's */
#define NM_STORE_SCHEMA 1
/* its keys among the values */
#define NM_STORE_LAST_SEQ "store.last_seq"
#define NM_STORE_EPOCH "store.epoch"
#define NM_STORE_BOOT_ID "store.boot_id"
#define NM_STORE_BOOT "store.boot"
#define NM_STORE_CLOSED "store.closed" /* there while nobody has the file open, if all went well */

enum nm_store_stmt {
    NM_STMT_PUT_CONTAINER,
    NM_STMT_HAS_COMMAND,
    NM_STMT_PUT_COMMAND,
    NM_STMT_DELETE_CONTAINER,
    NM_STMT_DELETE_COMMAND,
    NM_STMT_PUT_DECISION,
    NM_STMT_TRIM_DECISIONS,
    NM_STMT_PUT_VALUE,
    NM_STMT_GET_VALUE,
    NM_STMT_DELETE_VALUE,
    NM_STMT_COUNT,
};

/* A write that is not on disk yet: SQL with its values in it. `key` says which row it is about: the
 * newest one per row is all that is needed. */
struct nm_store_pending {
    char *sql;
    char key[NM_STORE_KEY_SIZE + 16]; /* "container:ID", "command:ID", "decision:N", "value:KEY" */
};

struct nm_store_queue {
    struct nm_store_pending *items;
    size_t n, capacity, bytes;
};

struct nm_store {
    sqlite3 *db;
    sqlite3_stmt *stmt[NM_STMT_COUNT];
    char *path;
    char boot_id[64];
    bool on_disk;                 /* false: in memory, until the file can be made */
    unsigned depth;               /* of begin/commit */
    int transaction_error;        /* the first one since begin */
    struct nm_store_queue logged; /* written since begin; lost if the commit fails */
    struct nm_store_queue pending;
    int backlog_error;            /* what stood in the way of `pending` */
    uint64_t retry_usec;          /* don't try again before, unless asked to */
    int64_t boot;                 /* number of this boot, in every row */
    uint64_t last_seq;
};

/* SQLite's result as -errno: -ENOSPC, -EIO, -EUCLEAN (damaged), -EBUSY (another process has it),
 * ... */
int nm_store_error(sqlite3 *db, int code);
int nm_store_exec(sqlite3 *db, const char *sql);

/* Steps a bound writing statement and resets it. What fails for want of room is queued. */
int nm_store_write(struct nm_store *s, enum nm_store_stmt which, const char *kind, const char *key);

/* Appends, in place of an older item of the same key. Takes a copy of key and the string `sql`
 * (sqlite3_malloc'ed; freed also on failure). */
int nm_store_queue_put(struct nm_store_queue *q, const char *key, char *sql);
void nm_store_queue_move(struct nm_store_queue *from, struct nm_store_queue *to);
void nm_store_queue_done(struct nm_store_queue *q);

/* From the table of columns in store-container.c; sqlite3_free() the result. */
char *nm_store_container_schema(void);
char *nm_store_container_upsert(void);

/* Opens or makes the file, with its schema, and prepares all statements. */
int nm_store_connect(struct nm_store *s, const char *filename);
void nm_store_disconnect(struct nm_store *s);

/* Copies what can be read of a damaged database into s, whose file is new. `old` stays open, and is
 * not written to. */
void nm_store_salvage(struct nm_store *s, sqlite3 *old, struct nm_store_saved *ret);
void nm_store_salvage_file(struct nm_store *s, const char *path, struct nm_store_saved *ret);
