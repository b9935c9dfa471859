/* SPDX-License-Identifier: Apache-2.0 */

#include "agent/store/store-sql.h"

#include <errno.h>

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
        return sys == EACCES || sys == EROFS || sys == EMFILE || sys == ENFILE || sys == ENOMEM ? -sys : -EIO;
    default:
        return -EINVAL;
    }
}

int nm_store_exec(sqlite3 *db, const char *sql)
{
    return nm_store_error(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

int nm_store_query_int64(sqlite3 *db, const char *sql, int64_t *ret)
{
    sqlite3_stmt *stmt;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

    if (code != SQLITE_OK)
        return nm_store_error(db, code);
    code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? -ENOENT : nm_store_error(db, code);
}
