/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The internal structure of the store, and the functions that its files share; only this folder and tests include this
 * header. Functions return 0 or -errno. The files are layers: tests/style has their order.
 */

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/store/store.h"
#include "agent/store/wal-mark.h"

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
    NM_STMT_DECISIONS,
    NM_STMT_DECISIONS_OF, /* of one container */
    NM_STMT_PUT_VALUE,
    NM_STMT_GET_VALUE,
    NM_STMT_DELETE_VALUE,
    NM_STMT_BEGIN,
    NM_STMT_COMMIT,
    NM_STMT_COUNT,
};

/* A query of the newest decisions. `unsaved`: an SQL expression. Parameters: the limit of the numbers, the container's
 * id, the number of rows. There is a query for one container and one for all, because a single condition for both cases
 * (?1 IS NULL OR ...) would make SQLite scan the whole history instead of using the index. */
#define NM_STORE_DECISIONS_SQL(unsaved, condition) \
    "SELECT * FROM (SELECT number, container_id, json, " unsaved " FROM decisions " \
    "WHERE number < ? " condition "ORDER BY number DESC LIMIT ?) ORDER BY number"
#define NM_STORE_OF_CONTAINER "AND container_id = ? "

/* The value of a parameter. NULL data: an integer, which is `number`. */
struct nm_store_value {
    const void *data;
    size_t size;
    int64_t number;
    bool is_blob; /* otherwise the data is a text */
};

/* Copied values of one write; see store-pending.c. */
struct nm_store_values {
    int n;
    struct nm_store_value all[]; /* followed by their data */
};

static inline struct nm_store_value nm_store_text(const char *text)
{
    return (struct nm_store_value){.data = text, .size = strlen(text)};
}

static inline struct nm_store_value nm_store_number(int64_t number)
{
    return (struct nm_store_value){.number = number};
}

/* A write that is not on disk yet: a statement and its values. `key` names the row: only the newest write of each row
 * is needed. */
struct nm_store_pending {
    struct nm_store_values *values;
    enum nm_store_stmt which;
    char key[NM_STORE_KEY_SIZE + 16]; /* "container:ID", "command:ID", "blob:ID", "decision:N", "value:KEY" */
};

struct nm_store_queue {
    struct nm_store_pending *items;
    size_t n, capacity, n_decisions;
};

struct nm_store {
    sqlite3 *db;
    sqlite3_stmt *stmt[NM_STMT_COUNT];
    char *path;
    char boot_id[64];
    struct nm_wal_mark mark;
    bool checkpoint_due;          /* the log is long */
    bool has_file_rows;           /* the database in memory has all rows of the file */
    bool on_disk;                 /* false: kept in memory, until the file can be made */
    bool in_use;                  /* the rows were processed, and nmd now takes actions that the rows do not record */
    unsigned depth;               /* nesting depth of begin/commit */
    int transaction_error;        /* the first error since begin */
    struct nm_store_queue logged; /* writes since begin; lost if the commit fails */
    struct nm_store_queue pending;
    int backlog_error;            /* reason why `pending` could not be written */
    uint64_t retry_usec;          /* no automatic retry before this time */
    int64_t boot;                 /* number of this boot, in every row */
    uint64_t last_seq;
};

/* ---- store-sql.c: SQLite's results as errors ------------------------------------------------- */

/* Converts SQLite's extended result to -errno: -ENOSPC, -EDQUOT, -EFBIG, -EIO, -EUCLEAN (damaged), -EBUSY (another
 * process has the file open), ... Returns 0 for results that are not errors. db may be NULL. */
int nm_store_error(sqlite3 *db, int code);
int nm_store_exec(sqlite3 *db, const char *sql);
/* Returns the first column of the first row as a number. -ENOENT: there is no row. */
int nm_store_query_int64(sqlite3 *db, const char *sql, int64_t *ret);

/* ---- store-pending.c ------------------------------------------------------------------------- */

/* Returns whether the write replaces a row in the table of decisions. */
bool nm_store_pending_is_decision(const struct nm_store_pending *p);
/* Binds values to the parameters of the statement. They must stay valid until the statement has run. */
void nm_store_values_bind(sqlite3_stmt *stmt, const struct nm_store_value *values, int n);
struct nm_store_values *nm_store_values_copy(const struct nm_store_value *values, int n); /* NULL: out of memory */
/* Appends an item. Copies key and takes ownership of `values` (freed also on failure; NULL is -ENOMEM). */
int nm_store_queue_add(struct nm_store_queue *q, const char *key, enum nm_store_stmt which,
                       struct nm_store_values *values);
/* Appends an item as nm_store_queue_add() does, but replaces an older item of the same key. */
int nm_store_queue_replace(struct nm_store_queue *q, const char *key, enum nm_store_stmt which,
                           struct nm_store_values *values);
/* Moves all items of `from` to the end of `to` and drops older items with the same keys. Returns -ENOMEM if the items
 * are lost, which cannot happen if `to` is empty. */
int nm_store_queue_move(struct nm_store_queue *from, struct nm_store_queue *to);
void nm_store_queue_done(struct nm_store_queue *q);

/* ---- store-schema.c -------------------------------------------------------------------------- */

/* Makes all tables in an empty database. */
int nm_store_schema_make(sqlite3 *db);
/* Adds tables and columns that an older journal lacks. */
int nm_store_schema_complete(sqlite3 *db);
/* Returns the text of a writing statement; free it with sqlite3_free(). NULL: out of memory. */
char *nm_store_schema_statement(enum nm_store_stmt which);
/* Returns a query of all columns of all containers, followed by command and owner's blob; free it with
 * sqlite3_free(). */
char *nm_store_schema_select_containers(void);

/* ---- store-connect.c ------------------------------------------------------------------------- */

/* Opens or makes the file with its schema, and prepares all statements. ":memory:" opens a database in memory. After a
 * failure the store may be partly open: call nm_store_disconnect(). */
int nm_store_connect(struct nm_store *s, const char *filename);
void nm_store_disconnect(struct nm_store *s);
/* Takes the connection away from s and leaves it open for reading. s then has no connection. Closing the returned
 * connection does not change its file. */
sqlite3 *nm_store_detach(struct nm_store *s);

/* A connection to a database in memory, kept while the store tries to open a file. After nm_store_part() s has no
 * connection until it connects or rejoins. */
struct nm_store_connection {
    sqlite3 *db;
    sqlite3_stmt *stmt[NM_STMT_COUNT];
};
struct nm_store_connection nm_store_part(struct nm_store *s);
void nm_store_rejoin(struct nm_store *s, const struct nm_store_connection *c);
void nm_store_close(struct nm_store_connection *c);

/* ---- store-write.c --------------------------------------------------------------------------- */

/* Runs a writing statement with n values. A write that fails for lack of space is queued under `kind` and `key`; only
 * the newest write of each row is kept. */
int nm_store_write(struct nm_store *s, enum nm_store_stmt which, const char *kind, const char *key,
                   const struct nm_store_value *values, int n);

/* ---- store-salvage.c ------------------------------------------------------------------------- */

/* Copies the readable rows of a damaged database into s, whose file is new. `old` stays open and is not written. */
void nm_store_salvage(struct nm_store *s, sqlite3 *old, struct nm_store_saved *ret);
/* Opens a file that has no log (WAL) without making one: no file is written beside it. */
int nm_store_open_closed(const char *path, sqlite3 **ret);
void nm_store_salvage_file(struct nm_store *s, const char *path, struct nm_store_saved *ret);
