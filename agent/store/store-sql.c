/* SPDX-License-Identifier: Apache-2.0 */

/* Translates SQLite's results to this project's errors. */

#include "agent/store/store-internal.h"

#include <errno.h>

#include "util/macros.h"

/* Returns the errno of a failed write to the log or the database. SQLite keeps this errno per file, whereas its own
 * errno often stems from the clean-up that follows. */
static int write_errno(sqlite3 *db)
{
    static const int files[] = {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER};

    for (size_t i = 0; i < NM_ARRAY_SIZE(files); i++) {
        sqlite3_file *file = NULL;
        int error = 0;

        if (sqlite3_file_control(db, "main", files[i], &file) == SQLITE_OK && file && file->pMethods &&
            file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error) == SQLITE_OK && error > 0)
            return error;
    }
    return EIO;
}

bool nm_store_has_no_room(int r)
{
    return r == -ENOSPC || r == -EDQUOT || r == -EFBIG;
}

const char *nm_store_error_advice(int r)
{
    switch (r) {
    case -ENOSPC:
        return "free some space there";
    case -EDQUOT:
        return "free some space there, or raise the quota of nmd's user";
    case -EFBIG:
        return "raise nmd's limit on the size of files (LimitFSIZE= of its unit, ulimit -f)";
    case -EROFS:
        return "mount the file system read-write; the kernel's log (dmesg) may show why it isn't";
    case -EIO:
        return "look for disk errors in the kernel's log (dmesg)";
    default:
        return NULL;
    }
}

/* `code` is an extended result, which nm_store_connect() has enabled. */
int nm_store_error(sqlite3 *db, int code)
{
    int sys = db ? sqlite3_system_errno(db) : 0;

    /* SQLite reports SQLITE_FULL neither for a quota nor for a limit on file size. */
    if (db && code == SQLITE_IOERR_WRITE)
        sys = write_errno(db);
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
        return sys == ENOSPC || sys == EDQUOT || sys == EFBIG || sys == EACCES || sys == EROFS || sys == EMFILE ||
                       sys == ENFILE || sys == ENOMEM
                   ? -sys
                   : -EIO;
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
