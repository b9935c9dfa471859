/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The internal structure of the store; only this folder includes this header. The files are layers, and tests/style
 * checks that no file uses a layer above its own. From the lowest:
 *
 *   store.h             the public interface
 *   store-columns.c     containers' columns, one table
 *   store-json.c        lists of words as JSON
 *   container-snapshot.c              container.json, the copy beside each container
 *   wal-mark.c          the expected length of the journal's log
 *   store-sql.c         SQLite's results as errors
 *   store-pending.c     writes that are not on disk yet
 *   store-state.h       this file: the struct
 *   store-schema.c      tables, and the statements that write them
 *   store-connect.c     opening and closing a file
 *   store-write.c       writes, alone and in a transaction, and the handling of failed writes
 *   store-value.c, store-decision.c, store-container.c
 *                       the three kinds of rows
 *   store-salvage.c     reading a damaged file
 *   store-open.c        opening and closing the store
 */

#include <sqlite3.h>

#include "agent/store/store.h"
#include "agent/store/wal-mark.h"
#include "agent/store/store-pending.h"

/* Stored as user_version. A file of another version is set aside. A file that only lacks columns added later gets them
 * (nm_store_schema_complete()), and still works with the version that made it. */
#define NM_STORE_SCHEMA 1
/* the store's keys among the values */
#define NM_STORE_LAST_SEQ "store.last_seq"
#define NM_STORE_EPOCH "store.epoch"
#define NM_STORE_BOOT_ID "store.boot_id"
#define NM_STORE_BOOT "store.boot"
#define NM_STORE_CLOSED "store.closed" /* exists while the file is closed, if it was closed properly */

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
    bool seen_file;               /* the memory has all rows of the file */
    bool on_disk;                 /* false: kept in memory, until the file can be made */
    bool in_use;                  /* the rows were processed, and actions follow that the rows do not record */
    unsigned depth;               /* nesting depth of begin/commit */
    int transaction_error;        /* the first error since begin */
    struct nm_store_queue logged; /* writes since begin; lost if the commit fails */
    struct nm_store_queue pending;
    int backlog_error;            /* reason why `pending` could not be written */
    uint64_t retry_usec;          /* no automatic retry before this time */
    int64_t boot;                 /* number of this boot, in every row */
    uint64_t last_seq;
};
