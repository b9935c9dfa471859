/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The store's state, as its files see it; nothing outside this folder includes this header. They are layers, and
 * tests/style holds that none uses one above it. From the ground up:
 *
 *   store.h             what others see
 *   store-columns.c     containers' columns, one table
 *   store-json.c        lists of words as JSON
 *   container-snapshot.c              container.json, the copy beside each container
 *   wal-mark.c        how far the journal had come
 *   store-sql.c         what SQLite says
 *   store-pending.c     what isn't on disk yet
 *   store-state.h       this: the struct
 *   store-schema.c      tables, and the statements that write them
 *   store-connect.c     a file is opened and closed
 *   store-write.c       how a write goes, alone and in a transaction, and what becomes of one that fails
 *   store-value.c, store-decision.c, store-container.c
 *                       the three kinds of rows
 *   store-salvage.c     what can be read of a damaged file
 *   store-open.c        birth and death
 */

#include <sqlite3.h>

#include "agent/store/store.h"
#include "agent/store/wal-mark.h"
#include "agent/store/store-pending.h"

/* user_version. Another one's file is set aside. One that only lacks columns which came later is given them
 * (nm_store_schema_complete()), and can still be used by the version that made it */
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
    NM_STMT_PUT_BLOB,
    NM_STMT_DELETE_CONTAINER,
    NM_STMT_DELETE_COMMAND,
    NM_STMT_DELETE_BLOB,
    NM_STMT_PUT_DECISION,
    NM_STMT_TRIM_DECISIONS,
    NM_STMT_PUT_VALUE,
    NM_STMT_GET_VALUE,
    NM_STMT_DELETE_VALUE,
    NM_STMT_COUNT,
};

struct nm_store {
    sqlite3 *db;
    sqlite3_stmt *stmt[NM_STMT_COUNT];
    char *path;
    char boot_id[64];
    struct nm_wal_mark mark;
    bool seen_file;               /* what is in memory has all that the file had */
    bool on_disk;                 /* false: in memory, until the file can be made */
    bool in_use;                  /* its rows have been dealt with, and things are done that they don't tell of */
    unsigned depth;               /* of begin/commit */
    int transaction_error;        /* the first one since begin */
    struct nm_store_queue logged; /* written since begin; lost if the commit fails */
    struct nm_store_queue pending;
    int backlog_error;            /* what stood in the way of `pending` */
    uint64_t retry_usec;          /* don't try again before, unless asked to */
    int64_t boot;                 /* number of this boot, in every row */
    uint64_t last_seq;
};
