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
    json_t *json = nm_decision_to_json(d);
    _cleanup_free_ char *text = nm_json_text(json, JSON_COMPACT);
    char number[24];

    assert(d->number > 0);
    json_decref(json);
    if (!text)
        return -ENOMEM;
    (void)snprintf(number, sizeof number, "%" PRIu64, d->number);
    return nm_store_write(s, NM_STMT_PUT_DECISION, "decision", number,
                          (struct nm_store_value[]){nm_store_number((int64_t)d->number),
                                                    nm_store_text(d->container_id), nm_store_text(text)},
                          3);
}

int nm_store_trim_decisions(struct nm_store *s, uint64_t keep_max)
{
    const struct nm_store_value keep = nm_store_number((int64_t)NM_MIN(keep_max, (uint64_t)INT64_MAX));

    return keep_max == 0 ? 0 : nm_store_write(s, NM_STMT_TRIM_DECISIONS, "trim", "decisions", &keep, 1);
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

static void bind(sqlite3_stmt *stmt, const struct query *q)
{
    int i = 1;

    (void)sqlite3_bind_int64(stmt, i++, (int64_t)NM_MIN(q->before, (uint64_t)INT64_MAX));
    if (q->container_id)
        (void)sqlite3_bind_text(stmt, i++, q->container_id, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(stmt, i, q->max);
}

/* Returns the query of the journal's decisions. It is prepared once, because recovery has a query for each
 * container. */
static sqlite3_stmt *select_saved(struct nm_store *s, const struct query *q)
{
    sqlite3_stmt *stmt = s->stmt[q->container_id ? NM_STMT_DECISIONS_OF : NM_STMT_DECISIONS];

    bind(stmt, q);
    return stmt;
}

/* Calls cb for each row. Returns the result of the last step. */
static int take_decisions(sqlite3_stmt *stmt, nm_store_decision_cb_t cb, void *userdata)
{
    int code;

    while ((code = sqlite3_step(stmt)) == SQLITE_ROW)
        take_decision(stmt, cb, userdata);
    return code;
}

static int show_saved(struct nm_store *s, const struct query *q, nm_store_decision_cb_t cb, void *userdata)
{
    sqlite3_stmt *stmt = select_saved(s, q);
    int r = nm_store_error(s->db, take_decisions(stmt, cb, userdata));

    (void)sqlite3_reset(stmt);
    return r;
}

static int show_merged(sqlite3 *db, const struct query *q, nm_store_decision_cb_t cb, void *userdata)
{
    const char *sql = q->container_id ? NM_STORE_DECISIONS_SQL("unsaved", NM_STORE_OF_CONTAINER)
                                      : NM_STORE_DECISIONS_SQL("unsaved", "");
    sqlite3_stmt *stmt;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

    if (code != SQLITE_OK)
        return nm_store_error(db, code);
    bind(stmt, q);
    code = take_decisions(stmt, cb, userdata);
    (void)sqlite3_finalize(stmt);
    return nm_store_error(db, code);
}

/* Copies the journal's decisions that match the query. */
static int copy_saved(struct nm_store *s, const struct query *q, sqlite3 *to)
{
    sqlite3_stmt *select = select_saved(s, q), *insert;
    int code = sqlite3_prepare_v2(to, "INSERT INTO decisions VALUES (?, ?, ?, 0)", -1, &insert, NULL);
    int r = nm_store_error(to, code);

    while (r >= 0 && (code = sqlite3_step(select)) == SQLITE_ROW) {
        for (int i = 0; i < 3; i++)
            (void)sqlite3_bind_value(insert, i + 1, sqlite3_column_value(select, i));
        r = nm_store_error(to, sqlite3_step(insert));
        (void)sqlite3_reset(insert);
    }
    if (r >= 0)
        r = nm_store_error(s->db, code);
    (void)sqlite3_finalize(insert);
    (void)sqlite3_reset(select);
    return r;
}

static int copy_pending(const struct nm_store *s, sqlite3 *to)
{
    static const char sql[] = "INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, 1)";
    sqlite3_stmt *insert;
    int r = nm_store_error(to, sqlite3_prepare_v2(to, sql, -1, &insert, NULL));

    for (size_t i = 0; r >= 0 && i < s->pending.n; i++) {
        const struct nm_store_pending *p = &s->pending.items[i];

        if (!nm_store_pending_is_decision(p))
            continue;
        assert(p->which == NM_STMT_PUT_DECISION && p->values->n == 3);
        nm_store_values_bind(insert, p->values->all, p->values->n);
        r = nm_store_error(to, sqlite3_step(insert));
        (void)sqlite3_reset(insert);
    }
    (void)sqlite3_finalize(insert);
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
                              " unsaved INTEGER); BEGIN");
    if (r >= 0)
        r = copy_saved(s, q, db);
    if (r >= 0)
        r = copy_pending(s, db);
    if (r >= 0)
        r = show_merged(db, q, cb, userdata);
    (void)sqlite3_close(db);
    return r;
}

int nm_store_load_decisions(struct nm_store *s, const char *container_id, uint64_t before,
                            unsigned max, nm_store_decision_cb_t cb, void *userdata)
{
    const struct query q = {container_id, before, max};

    assert(cb && max > 0);
    return s->pending.n_decisions > 0 ? show_with_pending(s, &q, cb, userdata) : show_saved(s, &q, cb, userdata);
}
