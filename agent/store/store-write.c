/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writes to the journal. Each write is a prepared statement that names its row by a key. A write that fails because the
 * disk is full (or missing, or read-only) is kept in memory. It replaces an older write of the same row, and is
 * repeated as soon as the disk has space. The caller only receives the error code. SQLite may roll a whole transaction
 * back if one write in it fails, so the writes since begin are also kept until the commit has succeeded.
 */

#include "agent/store/store-internal.h"

#include <assert.h>
#include <errno.h>

#include "util/clock.h"

#define RETRY_USEC (200 * NM_USEC_PER_MSEC)

/* Returns whether the write should be kept, because the error is not caused by the write itself. */
static bool is_retryable(int r)
{
    return nm_store_has_no_room(r) || r == -EIO || r == -EROFS || r == -EBUSY ||
           r == -EMFILE || r == -ENFILE || r == -EUCLEAN;
}

static int step(struct nm_store *s, sqlite3_stmt *stmt)
{
    int r = nm_store_error(s->db, sqlite3_step(stmt));

    (void)sqlite3_reset(stmt);
    return r;
}

static int step_with(struct nm_store *s, enum nm_store_stmt which, const struct nm_store_value *values, int n)
{
    sqlite3_stmt *stmt = s->stmt[which];
    int r;

    nm_store_values_bind(stmt, values, n);
    r = step(s, stmt);
    (void)sqlite3_clear_bindings(stmt); /* the values may be freed */
    return r;
}

/* Writes the queue in one transaction. An item that can never be written (its row is invalid) is dropped. All writes
 * are synced, because the queue may contain the mark that the file is in use, which must survive a power cut. */
static int write_queue(struct nm_store *s)
{
    int r;

    (void)nm_store_exec(s->db, "PRAGMA synchronous = FULL");
    r = nm_store_exec(s->db, "BEGIN IMMEDIATE");
    for (size_t i = 0; r >= 0 && i < s->pending.n; i++) {
        const struct nm_store_pending *p = &s->pending.items[i];

        r = step_with(s, p->which, p->values->all, p->values->n);
        if (r == -EINVAL)
            r = 0;
    }
    if (r >= 0)
        r = nm_store_exec(s->db, "COMMIT");
    if (r < 0 && !sqlite3_get_autocommit(s->db))
        (void)nm_store_exec(s->db, "ROLLBACK");
    (void)nm_store_exec(s->db, "PRAGMA synchronous = NORMAL");
    return r;
}

/* Moves the store from memory to the file, which can be made now. Rows that the file already has are deleted unless
 * they were read before, because nmd does not know their containers. */
static int move_to_disk(struct nm_store *s)
{
    struct nm_store_connection memory = nm_store_part(s);
    int r = nm_store_connect(s, s->path);

    if (r >= 0 && !s->has_file_rows)
        r = nm_store_exec(s->db, "DELETE FROM containers; DELETE FROM commands; DELETE FROM owner_blobs;");
    if (r < 0) { /* rows that were read from the file are still needed */
        nm_store_disconnect(s);
        nm_store_rejoin(s, &memory);
        return r;
    }
    s->on_disk = true;
    nm_store_close(&memory);
    return 0;
}

static int flush(struct nm_store *s)
{
    int r;

    assert(s->db && sqlite3_get_autocommit(s->db)); /* no transaction is open */
    r = s->on_disk ? 0 : move_to_disk(s);
    if (r >= 0 && s->pending.n > 0)
        r = write_queue(s);
    if (r < 0) {
        s->retry_usec = nm_now_usec() + RETRY_USEC;
        s->backlog_error = r;
        return r;
    }
    nm_store_queue_done(&s->pending);
    return 0;
}

static bool has_backlog(const struct nm_store *s)
{
    return !s->on_disk || s->pending.n > 0;
}

/* Flushes the failed writes, unless a flush has failed just before: on a full disk, not every write should try the
 * failed writes again. */
static int flush_unless_just_failed(struct nm_store *s)
{
    return nm_now_usec() < s->retry_usec ? s->backlog_error : flush(s);
}

/* SQLite continues to use a file that was renamed or removed; such writes are lost when the file is closed. */
static bool has_moved(struct nm_store *s)
{
    int moved = 0;

    return s->on_disk && sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved;
}

int nm_store_flush(struct nm_store *s)
{
    if (s->depth > 0)
        return 0;
    if (has_moved(s))
        return -EUCLEAN;
    return has_backlog(s) ? flush(s) : 0;
}

static int write_in_transaction(struct nm_store *s, enum nm_store_stmt which, const char *row,
                                const struct nm_store_value *values, int n)
{
    int r = nm_store_queue_add(&s->logged, row, which, nm_store_values_copy(values, n));

    if (s->transaction_error == 0)
        s->transaction_error = r < 0 ? r : step_with(s, which, values, n);
    return s->transaction_error;
}

int nm_store_write(struct nm_store *s, enum nm_store_stmt which, const char *kind, const char *key,
                   const struct nm_store_value *values, int n)
{
    char row[sizeof((struct nm_store_pending *)NULL)->key];
    int r;

    assert(which < NM_STMT_COUNT && s->stmt[which]);
    (void)snprintf(row, sizeof row, "%s:%s", kind, key);
    if (s->depth > 0)
        return write_in_transaction(s, which, row, values, n);
    if (has_backlog(s)) {
        r = nm_store_queue_replace(&s->pending, row, which, nm_store_values_copy(values, n));
        return r < 0 ? r : flush_unless_just_failed(s);
    }
    r = step_with(s, which, values, n);
    if (!is_retryable(r))
        return r;
    s->backlog_error = r;
    return nm_store_queue_replace(&s->pending, row, which, nm_store_values_copy(values, n)) < 0 ? -ENOMEM : r;
}

bool nm_store_in_transaction(const struct nm_store *s)
{
    return s->depth > 0;
}

int nm_store_begin(struct nm_store *s)
{
    if (s->depth++ > 0)
        return 0;
    s->transaction_error = has_backlog(s) ? flush_unless_just_failed(s) : 0;
    if (s->transaction_error == 0)
        s->transaction_error = step(s, s->stmt[NM_STMT_BEGIN]);
    return 0;
}

int nm_store_commit(struct nm_store *s)
{
    int r = s->transaction_error, k;

    assert(s->db);
    if (s->depth == 0)
        return -EPROTO;
    if (--s->depth > 0)
        return 0;
    if (r == 0)
        r = step(s, s->stmt[NM_STMT_COMMIT]);
    if (r == 0) {
        nm_store_queue_done(&s->logged);
        return 0;
    }
    if (!sqlite3_get_autocommit(s->db))
        (void)nm_store_exec(s->db, "ROLLBACK");
    k = nm_store_queue_move(&s->logged, &s->pending);
    s->backlog_error = r;
    if (k < 0)
        return k;
    /* one invalid write must not discard the other writes */
    return r == -EINVAL ? flush(s) ?: r : r;
}
