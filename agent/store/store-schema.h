/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/store/store-state.h"

/* Makes all tables in an empty database. */
int nm_store_schema_make(sqlite3 *db);
/* Adds what came later than the tables of an older journal. */
int nm_store_schema_complete(sqlite3 *db);
/* The text of a writing statement; sqlite3_free() it. NULL: out of memory. */
char *nm_store_schema_statement(enum nm_store_stmt which);
/* All columns of all containers, their command's and their owner's blob after them; sqlite3_free() the result. */
char *nm_store_schema_select_containers(void);
