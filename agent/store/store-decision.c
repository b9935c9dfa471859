/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decisions. A row has the decision's number, and all other figures as JSON. Decisions that cannot be written are also
 * shown, with a mark, because people need explanations when the disk is full.
 */

#include "agent/store/store.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "agent/store/store-internal.h"
#include "util/json-text.h"

int nm_store_put_decision(struct nm_store *s, const struct nm_decision *d)
{
    sqlite3_stmt *stmt = s->stmt[NM_STMT_PUT_DECISION];
    json_t *json = nm_decision_to_json(d);
    _cleanup_free_ char *text = nm_json_text(json, JSON_COMPACT);
    char number[24];

    assert(d->number > 0);
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

/* A row that cannot be read is skipped: only a part of the history is lost. */
static void take_decision(sqlite3_stmt *stmt, nm_store_decision_cb_t cb, void *userdata)
{
    const char *text = (const char *)sqlite3_column_text(stmt, 2);
    json_t *json = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    struct nm_decision d;

    if (json && nm_decision_from_json(json, &d) == 0) {
        d.is_unsaved = sqlite3_column_int(stmt, 3) != 0;
        cb(&d, userdata);
    }
    json_decref(json);
}

/* The parameters of a query. */
struct query {
    const char *container_id;
    uint64_t before;
    unsigned max;
};

/* Prepares the query. `unsaved`: an SQL expression. The caller finalizes the statement. Recovery has a query for each
 * container. A single condition for both cases (?1 IS NULL OR ...) would make SQLite scan the whole history instead of
 * using the index. */
static int prepare(sqlite3 *db, const struct query *q, const char *unsaved, sqlite3_stmt **ret)
{
    char *sql = sqlite3_mprintf("SELECT * FROM (SELECT number, container_id, json, %s FROM decisions "
                                "WHERE number < ? %s ORDER BY number DESC LIMIT ?) ORDER BY number",
                                unsaved, q->container_id ? "AND container_id = ?" : "");
    int code = sql ? sqlite3_prepare_v2(db, sql, -1, ret, NULL) : SQLITE_NOMEM, i = 1;

    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return nm_store_error(db, code);
    (void)sqlite3_bind_int64(*ret, i++, (int64_t)NM_MIN(q->before, (uint64_t)INT64_MAX));
    if (q->container_id)
        (void)sqlite3_bind_text(*ret, i++, q->container_id, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(*ret, i, q->max);
    return 0;
}

static int show(sqlite3 *db, const struct query *q, const char *unsaved, nm_store_decision_cb_t cb, void *userdata)
{
    sqlite3_stmt *stmt;
    int r = prepare(db, q, unsaved, &stmt), code;

    if (r < 0)
        return r;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW)
        take_decision(stmt, cb, userdata);
    (void)sqlite3_finalize(stmt);
    return nm_store_error(db, code);
}

/* Copies the journal's decisions that match the query. */
static int copy_saved(sqlite3 *from, const struct query *q, sqlite3 *to)
{
    sqlite3_stmt *select, *insert;
    int r = prepare(from, q, "0", &select), code;

    if (r < 0)
        return r;
    code = sqlite3_prepare_v2(to, "INSERT INTO decisions VALUES (?, ?, ?, 0)", -1, &insert, NULL);
    r = nm_store_error(to, code);
    while (r >= 0 && (code = sqlite3_step(select)) == SQLITE_ROW) {
        for (int i = 0; i < 3; i++)
            (void)sqlite3_bind_value(insert, i + 1, sqlite3_column_value(select, i));
        r = nm_store_error(to, sqlite3_step(insert));
        (void)sqlite3_reset(insert);
    }
    if (r >= 0)
        r = nm_store_error(from, code);
    (void)sqlite3_finalize(insert);
    (void)sqlite3_finalize(select);
    return r;
}

/* Merges stored and pending decisions in a database in memory, where pending decisions replace older records. The
 * number of decisions is limited by a page of decisions and the queue's limit (store-pending.c). */
static int show_with_pending(struct nm_store *s, const struct query *q, nm_store_decision_cb_t cb, void *userdata)
{
    sqlite3 *db = NULL;
    int r = nm_store_error(db, sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                                                    SQLITE_OPEN_NOMUTEX, NULL));

    if (r >= 0)
        r = nm_store_exec(db, "CREATE TABLE decisions (number INTEGER PRIMARY KEY, container_id TEXT, json TEXT,"
                              " unsaved INTEGER DEFAULT 1); BEGIN");
    if (r >= 0)
        r = copy_saved(s->db, q, db);
    for (size_t i = 0; r >= 0 && i < s->pending.n; i++)
        if (nm_store_pending_is_decision(&s->pending.items[i]))
            r = nm_store_exec(db, s->pending.items[i].sql);
    if (r >= 0)
        r = show(db, q, "unsaved", cb, userdata);
    (void)sqlite3_close(db);
    return r;
}

int nm_store_load_decisions(struct nm_store *s, const char *container_id, uint64_t before,
                            unsigned max, nm_store_decision_cb_t cb, void *userdata)
{
    const struct query q = {container_id, before, max};

    assert(cb && max > 0);
    return s->pending.n_decisions > 0 ? show_with_pending(s, &q, cb, userdata) : show(s->db, &q, "0", cb, userdata);
}
