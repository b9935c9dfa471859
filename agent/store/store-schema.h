/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/store/store-state.h"

/* Makes all tables in an empty database. */
int nm_store_schema_make(sqlite3 *db);
/* Adds tables and columns that an older journal lacks. */
int nm_store_schema_complete(sqlite3 *db);
/* Returns the text of a writing statement; free it with sqlite3_free(). NULL: out of memory. */
char *nm_store_schema_statement(enum nm_store_stmt which);
/* Returns a query of all columns of all containers, followed by command and owner's blob; free it with
 * sqlite3_free(). */
char *nm_store_schema_select_containers(void);
