/* SPDX-License-Identifier: Apache-2.0 */

/* Decisions: a number, and the rest as JSON. */

#include "agent/store/store.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "agent/store/store-json.h"
#include "agent/store/store-sql.h"
#include "agent/store/store-write.h"

int nm_store_put_decision(struct nm_store *s, const struct nm_decision *d)
{
    sqlite3_stmt *stmt = s->stmt[NM_STMT_PUT_DECISION];
    json_t *json = nm_decision_to_json(d);
    _cleanup_free_ char *text = NULL;
    int r = json ? nm_store_json_print(json, &text) : -ENOMEM;
    char number[24];

    assert(d->number > 0);
    json_decref(json);
    if (r < 0)
        return r;
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

int nm_store_load_decisions(struct nm_store *s, const char *container_id, uint64_t before,
                            unsigned max, nm_store_decision_cb_t cb, void *userdata)
{
    static const char sql[] =
        "SELECT json FROM (SELECT number, json FROM decisions "
        "WHERE (?1 IS NULL OR container_id = ?1) AND number < ?3 ORDER BY number DESC LIMIT ?2) "
        "ORDER BY number";
    sqlite3_stmt *stmt;
    int code = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);

    assert(cb && max > 0);
    if (code != SQLITE_OK)
        return nm_store_error(s->db, code);
    (void)sqlite3_bind_text(stmt, 1, container_id, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(stmt, 2, max);
    (void)sqlite3_bind_int64(stmt, 3, (int64_t)NM_MIN(before, (uint64_t)INT64_MAX));
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW)
        take_decision(stmt, cb, userdata);
    (void)sqlite3_finalize(stmt);
    return nm_store_error(s->db, code);
}
