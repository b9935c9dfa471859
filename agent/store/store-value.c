/* SPDX-License-Identifier: Apache-2.0 */

/* Named small texts in the journal. */

#include "agent/store/store.h"

#include <assert.h>
#include <errno.h>

#include "agent/store/store-internal.h"

int nm_store_put_value(struct nm_store *s, const char *key, const char *value)
{
    assert(key && value);
    if (strlen(key) >= NM_STORE_KEY_SIZE)
        return -EINVAL;
    return nm_store_write(s, NM_STMT_PUT_VALUE, "value", key,
                          (struct nm_store_value[]){nm_store_text(key), nm_store_text(value)}, 2);
}

int nm_store_get_value(struct nm_store *s, const char *key, char *buf, size_t size)
{
    sqlite3_stmt *stmt = s->stmt[NM_STMT_GET_VALUE];
    int code, r = -ENOENT;

    assert(key && size > 0);
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
    return nm_store_write(s, NM_STMT_DELETE_VALUE, "value", key, (struct nm_store_value[]){nm_store_text(key)}, 1);
}

/* Binds the range of the keys that begin with the prefix. A condition on a part of the key, such as substr(), would
 * make SQLite read all values. `after` is a buffer that must be valid as long as the statement. */
static void bind_prefix(sqlite3_stmt *stmt, const char *prefix, char after[static NM_STORE_KEY_SIZE])
{
    size_t n = strlen(prefix);

    assert(n < NM_STORE_KEY_SIZE && (n == 0 || (unsigned char)prefix[n - 1] < 0x7f));
    (void)sqlite3_bind_text(stmt, 1, prefix, -1, SQLITE_STATIC);
    if (n == 0) {
        (void)sqlite3_bind_zeroblob(stmt, 2, 0); /* SQLite sorts each text before each blob */
        return;
    }
    memcpy(after, prefix, n + 1);
    after[n - 1]++;
    (void)sqlite3_bind_text(stmt, 2, after, -1, SQLITE_STATIC);
}

int nm_store_load_values(struct nm_store *s, const char *prefix, nm_store_value_cb_t cb, void *userdata)
{
    static const char sql[] = "SELECT key, value FROM key_values WHERE key >= ? AND key < ? ORDER BY key";
    char after[NM_STORE_KEY_SIZE];
    sqlite3_stmt *stmt;
    int code = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);

    if (code != SQLITE_OK)
        return nm_store_error(s->db, code);
    bind_prefix(stmt, prefix, after);
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(stmt, 0);
        const char *value = (const char *)sqlite3_column_text(stmt, 1);

        if (key && value)
            cb(key, value, userdata);
    }
    (void)sqlite3_finalize(stmt);
    return nm_store_error(s->db, code);
}
