/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/store/store-state.h"

/* Opens or makes the file with its schema, and prepares all statements. ":memory:" opens a database in memory. After a
 * failure the store may be partly open: call nm_store_disconnect(). */
int nm_store_connect(struct nm_store *s, const char *filename);
void nm_store_disconnect(struct nm_store *s);
/* Takes the connection away from s and leaves it open for reading. s then has no connection. Closing the returned
 * connection does not change its file. */
sqlite3 *nm_store_detach(struct nm_store *s);

/* A connection to a database in memory, kept while the store tries to open a file. After nm_store_part() s has no
 * connection until it connects or rejoins. */
struct nm_store_connection {
    sqlite3 *db;
    sqlite3_stmt *stmt[NM_STMT_COUNT];
};
struct nm_store_connection nm_store_part(struct nm_store *s);
void nm_store_rejoin(struct nm_store *s, const struct nm_store_connection *c);
void nm_store_close(struct nm_store_connection *c);
