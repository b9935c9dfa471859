/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Translates SQLite's results to this project's errors. */

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Converts SQLite's extended result to -errno: -ENOSPC, -EDQUOT, -EFBIG, -EIO, -EUCLEAN (damaged), -EBUSY (another
 * process has the file open), ... Returns 0 for results that are not errors. db may be NULL. */
int nm_store_error(sqlite3 *db, int code);
int nm_store_exec(sqlite3 *db, const char *sql);
/* Returns the first column of the first row as a number. -ENOENT: there is no row. */
int nm_store_query_int64(sqlite3 *db, const char *sql, int64_t *ret);
