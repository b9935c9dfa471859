/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The journal's writes. Every write is a prepared statement that names its row by a key. One that
 * fails because the disk is full (or gone, or read-only) is kept as text in memory, in place of an
 * older one of the same row, and written as soon as there is room; the caller is told, and nothing
 * else changes for it. SQLite may roll a whole transaction back when one write in it fails, so what
 * was written since the begin is kept likewise until the commit has worked.
 */

#include "agent/store/store.h"

#include <errno.h>
#include <inttypes.h>

#include "agent/store/store-internal.h"
#include "util/clock.h"

#define RETRY_USEC (200 * NM_USEC_PER_MSEC)

/* `code` is an extended one: nm_store_connect() asks for them. */
int nm_store_error(sqlite3 *db, int code)
{
    int sys = db ? sqlite3_system_errno(db) : 0;

    /* A quota or a limit on file size isn't SQLITE_FULL, and errno has often been overwritten by
     * the clean-up. */
    if (code == SQLITE_IOERR_WRITE && sys != EIO)
        return -ENOSPC;
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EUCLEAN;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_TOOBIG:
        return -E2BIG;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        if (sys == ENOSPC || sys == EDQUOT || sys == EFBIG)
            return -ENOSPC;
        return sys == EACCES || sys == EROFS || sys == EMFILE ? -sys : -EIO;
    default:
        return -EINVAL;
    }
}

/* Worth keeping the write for: the obstacle is not the write itself. */
static bool is_retryable(int r)
{
    return r == -ENOSPC || r == -EIO || r == -EROFS || r == -EBUSY ||
           r == -EMFILE || r == -EUCLEAN;
}

int nm_store_exec(sqlite3 *db, const char *sql)
{
    return nm_store_error(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static int step(struct nm_store *s, sqlite3_stmt *stmt)
{
    int r = nm_store_error(s->db, sqlite3_step(stmt));

    (void)sqlite3_reset(stmt);
    return r;
}

/* Writes the queue in one transaction. An item that can never be written (its row makes no sense)
 * is let go. */
static int write_queue(struct nm_store *s)
{
    int r = nm_store_exec(s->db, "BEGIN IMMEDIATE");

    for (size_t i = 0; r >= 0 && i < s->pending.n; i++) {
        r = nm_store_exec(s->db, s->pending.items[i].sql);
        if (r == -EINVAL)
            r = 0;
    }
    if (r >= 0)
        r = nm_store_exec(s->db, "COMMIT");
    if (r < 0 && !sqlite3_get_autocommit(s->db))
        (void)nm_store_exec(s->db, "ROLLBACK");
    return r;
}

/* From memory to the file, which by now can be made. What is pending is all there is: rows that the
 * file may have had when it could not be opened were not seen by anybody. */
static int move_to_disk(struct nm_store *s)
{
    int r;

    nm_store_disconnect(s);
    r = nm_store_connect(s, s->path);
    if (r >= 0)
        r = nm_store_exec(s->db, "DELETE FROM containers; DELETE FROM commands;");
    if (r >= 0) {
        s->on_disk = true;
        return 0;
    }
    nm_store_disconnect(s);
    return nm_store_connect(s, ":memory:") < 0 ? -ENOMEM : r;
}

static int flush(struct nm_store *s)
{
    int r = s->on_disk ? 0 : move_to_disk(s);

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

/* With a full disk and much to do, not every write should try everything again. */
static int flush_unless_just_failed(struct nm_store *s)
{
    return nm_now_usec() < s->retry_usec ? s->backlog_error : flush(s);
}

/* SQLite goes on with a file that has lost its name; whatever is written then is lost with the last descriptor. */
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

static int write_in_transaction(struct nm_store *s, sqlite3_stmt *stmt, const char *row)
{
    int r = nm_store_queue_put(&s->logged, row, sqlite3_expanded_sql(stmt));

    if (s->transaction_error == 0)
        s->transaction_error = r < 0 ? r : step(s, stmt);
    return s->transaction_error;
}

int nm_store_write(struct nm_store *s, enum nm_store_stmt which, const char *kind, const char *key)
{
    sqlite3_stmt *stmt = s->stmt[which];
    char row[sizeof((struct nm_store_pending *)NULL)->key];
    int r;

    (void)snprintf(row, sizeof row, "%s:%s", kind, key);
    if (s->depth > 0)
        return write_in_transaction(s, stmt, row);
    if (has_backlog(s)) {
        r = nm_store_queue_put(&s->pending, row, sqlite3_expanded_sql(stmt));
        return r < 0 ? r : flush_unless_just_failed(s);
    }
    r = step(s, stmt);
    if (!is_retryable(r))
        return r;
    s->backlog_error = r;
    return nm_store_queue_put(&s->pending, row, sqlite3_expanded_sql(stmt)) < 0 ? -ENOMEM : r;
}

int nm_store_begin(struct nm_store *s)
{
    if (s->depth++ > 0)
        return 0;
    s->transaction_error = has_backlog(s) ? flush_unless_just_failed(s) : 0;
    if (s->transaction_error == 0)
        s->transaction_error = nm_store_exec(s->db, "BEGIN IMMEDIATE");
    return 0;
}

int nm_store_commit(struct nm_store *s)
{
    int r = s->transaction_error;

    if (s->depth == 0)
        return -EPROTO;
    if (--s->depth > 0)
        return 0;
    if (r == 0)
        r = nm_store_exec(s->db, "COMMIT");
    if (r == 0) {
        nm_store_queue_done(&s->logged);
        return 0;
    }
    if (!sqlite3_get_autocommit(s->db))
        (void)nm_store_exec(s->db, "ROLLBACK");
    nm_store_queue_move(&s->logged, &s->pending);
    s->backlog_error = r;
    /* one write that makes no sense must not take the others with it */
    return r == -EINVAL ? flush(s) ?: r : r;
}

int nm_store_put_value(struct nm_store *s, const char *key, const char *value)
{
    sqlite3_stmt *stmt = s->stmt[NM_STMT_PUT_VALUE];

    if (strlen(key) >= NM_STORE_KEY_SIZE)
        return -EINVAL;
    (void)sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(stmt, 2, value, -1, SQLITE_STATIC);
    return nm_store_write(s, NM_STMT_PUT_VALUE, "value", key);
}

int nm_store_get_value(struct nm_store *s, const char *key, char *buf, size_t size)
{
    sqlite3_stmt *stmt = s->stmt[NM_STMT_GET_VALUE];
    int code, r = -ENOENT;

    (void)sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
    code = sqlite3_step(stmt);
    if (code == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);

        if (!text)
            r = -EBADMSG;
        else
            r = (size_t)snprintf(buf, size, "%s", text) < size ? 0 : -E2BIG;
    } else if (code != SQLITE_DONE)
        r = nm_store_error(s->db, code);
    (void)sqlite3_reset(stmt);
    return r;
}

int nm_store_delete_value(struct nm_store *s, const char *key)
{
    (void)sqlite3_bind_text(s->stmt[NM_STMT_DELETE_VALUE], 1, key, -1, SQLITE_STATIC);
    return nm_store_write(s, NM_STMT_DELETE_VALUE, "value", key);
}

int nm_store_load_values(struct nm_store *s, const char *prefix, nm_store_value_cb_t cb, void *userdata)
{
    static const char sql[] = "SELECT key, value FROM key_values WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key";
    sqlite3_stmt *stmt;
    int code = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);

    if (code != SQLITE_OK)
        return nm_store_error(s->db, code);
    (void)sqlite3_bind_text(stmt, 1, prefix, -1, SQLITE_STATIC);
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(stmt, 0);
        const char *value = (const char *)sqlite3_column_text(stmt, 1);

        if (key && value)
            cb(key, value, userdata);
    }
    (void)sqlite3_finalize(stmt);
    return nm_store_error(s->db, code);
}

int nm_store_put_decision(struct nm_store *s, const struct nm_decision *d)
{
    sqlite3_stmt *stmt = s->stmt[NM_STMT_PUT_DECISION];
    json_t *json = nm_decision_to_json(d);
    _cleanup_free_ char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    char number[24];

    json_decref(json);
    if (!text)
        return -ENOMEM;
    (void)snprintf(number, sizeof number, "%" PRIu64, d->number);
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)d->number);
    (void)sqlite3_bind_text(stmt, 2, d->container_id, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(stmt, 3, text, -1, SQLITE_STATIC);
    return nm_store_write(s, NM_STMT_PUT_DECISION, "decision", number);
}

int nm_store_trim_decisions(struct nm_store *s, uint64_t keep_max)
{
    sqlite3_stmt *stmt = s->stmt[NM_STMT_TRIM_DECISIONS];

    if (keep_max == 0)
        return 0;
    (void)sqlite3_bind_int64(stmt, 1, (int64_t)NM_MIN(keep_max, (uint64_t)INT64_MAX));
    return nm_store_write(s, NM_STMT_TRIM_DECISIONS, "trim", "decisions");
}

/* A row that can't be read is history lost, no more: it is passed over. */
static void take_decision(sqlite3_stmt *stmt, nm_store_decision_cb_t cb, void *userdata)
{
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    json_t *json = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    struct nm_decision d;

    if (json && nm_decision_from_json(json, &d) == 0)
        cb(&d, userdata);
    json_decref(json);
}

int nm_store_load_decisions(struct nm_store *s, const char *container_id, unsigned max,
                            nm_store_decision_cb_t cb, void *userdata)
{
    static const char sql[] =
        "SELECT json FROM (SELECT number, json FROM decisions "
        "WHERE ?1 IS NULL OR container_id = ?1 ORDER BY number DESC LIMIT ?2) ORDER BY number";
    sqlite3_stmt *stmt;
    int code = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);

    if (code != SQLITE_OK)
        return nm_store_error(s->db, code);
    (void)sqlite3_bind_text(stmt, 1, container_id, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(stmt, 2, max);
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW)
        take_decision(stmt, cb, userdata);
    (void)sqlite3_finalize(stmt);
    return nm_store_error(s->db, code);
}
