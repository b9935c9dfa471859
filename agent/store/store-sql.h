/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What SQLite says, in our words. */

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* SQLite's extended result as -errno: -ENOSPC, -EDQUOT, -EFBIG,
 * -EIO, -EUCLEAN (damaged), -EBUSY (another process has it), ... 0 for
 * the results that aren't errors. db may be NULL. */
int nm_store_error(sqlite3 *db, int code);
int nm_store_exec(sqlite3 *db, const char *sql);
/* The first column of the first row as a number. -ENOENT: there is no row. */
int nm_store_query_int64(sqlite3 *db, const char *sql, int64_t *ret);
