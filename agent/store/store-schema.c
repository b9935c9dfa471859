/* SPDX-License-Identifier: Apache-2.0 */

/* Tables and statements. The SQL table of containers has the columns of nm_store_columns (store-columns.c). */

#include "agent/store/store-internal.h"

#include <assert.h>
#include <errno.h>

#include "agent/store/store-columns.h"

#define N_COLUMNS ((int)nm_store_n_columns)

static const char tables_sql[] =
    "CREATE TABLE commands (id TEXT NOT NULL PRIMARY KEY, argv TEXT NOT NULL, env TEXT NOT NULL,"
    " workdir TEXT NOT NULL, user TEXT NOT NULL, uid INTEGER NOT NULL, gid INTEGER NOT NULL,"
    " no_new_privs INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE decisions (number INTEGER PRIMARY KEY, container_id TEXT NOT NULL,"
    " json TEXT NOT NULL);"
    "CREATE INDEX decisions_of_container ON decisions (container_id);"
    "CREATE TABLE key_values (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;";

/* This table was added in a later version than the other tables. */
static const char blobs_sql[] = "CREATE TABLE IF NOT EXISTS owner_blobs (id TEXT NOT NULL PRIMARY KEY,"
                                " data BLOB NOT NULL) WITHOUT ROWID";

static const char *const statements[NM_STMT_COUNT] = {
    [NM_STMT_HAS_COMMAND] = "SELECT 1 FROM commands WHERE id = ?1 AND "
                            "(?2 = 0 OR EXISTS (SELECT 1 FROM owner_blobs WHERE id = ?1))",
    [NM_STMT_PUT_COMMAND] =
        "INSERT OR REPLACE INTO commands (id, argv, env, workdir, user, uid, gid, no_new_privs) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    [NM_STMT_DELETE_CONTAINER] = "DELETE FROM containers WHERE id = ?",
    [NM_STMT_PUT_BLOB] = "INSERT OR REPLACE INTO owner_blobs (id, data) VALUES (?, ?)",
    [NM_STMT_DELETE_BLOB] = "DELETE FROM owner_blobs WHERE id = ?",
    [NM_STMT_DELETE_COMMAND] = "DELETE FROM commands WHERE id = ?",
    [NM_STMT_PUT_DECISION] =
        "INSERT OR REPLACE INTO decisions (number, container_id, json) VALUES (?, ?, ?)",
    [NM_STMT_TRIM_DECISIONS] =
        "DELETE FROM decisions WHERE number <= (SELECT max(number) FROM decisions) - ?",
    [NM_STMT_DECISIONS] = NM_STORE_DECISIONS_SQL("0", ""),
    [NM_STMT_DECISIONS_OF] = NM_STORE_DECISIONS_SQL("0", NM_STORE_OF_CONTAINER),
    [NM_STMT_PUT_VALUE] = "INSERT OR REPLACE INTO key_values (key, value) VALUES (?, ?)",
    [NM_STMT_GET_VALUE] = "SELECT value FROM key_values WHERE key = ?",
    [NM_STMT_DELETE_VALUE] = "DELETE FROM key_values WHERE key = ?",
    [NM_STMT_BEGIN] = "BEGIN IMMEDIATE",
    [NM_STMT_COMMIT] = "COMMIT",
};

/* Column that is not in the struct: the boot under which the row was written. */
#define BOOT_COLUMN "boot"

static const char *column_type(enum nm_store_kind kind)
{
    return nm_store_kind_is_text(kind) ? "TEXT" : "INTEGER";
}

/* Columns added later have a default, for older rows and for rows that an older nmd writes after a downgrade. */
static void append_column(sqlite3_str *sql, const struct nm_store_column *col)
{
    sqlite3_str_appendf(sql, "%s %s NOT NULL", col->name, column_type(col->kind));
    if (col->later)
        sqlite3_str_appendf(sql, " DEFAULT %s", col->later);
}

/* WITHOUT ROWID makes the id the key of the table, so that SQLite need not write a second B-tree for each change. */
static char *containers_table(void)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    sqlite3_str_appendall(sql, "CREATE TABLE containers (");
    for (int i = 0; i < N_COLUMNS; i++) {
        append_column(sql, &nm_store_columns[i]);
        sqlite3_str_appendall(sql, i == 0 ? " PRIMARY KEY, " : ", ");
    }
    sqlite3_str_appendall(sql, BOOT_COLUMN " INTEGER NOT NULL) WITHOUT ROWID");
    return sqlite3_str_finish(sql);
}

static char *containers_upsert(void)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    sqlite3_str_appendall(sql, "INSERT INTO containers (");
    for (int i = 0; i < N_COLUMNS; i++)
        sqlite3_str_appendf(sql, "%s, ", nm_store_columns[i].name);
    sqlite3_str_appendall(sql, BOOT_COLUMN ") VALUES (");
    for (int i = 0; i < N_COLUMNS; i++)
        sqlite3_str_appendall(sql, "?, ");
    sqlite3_str_appendall(sql, "?) ON CONFLICT (id) DO UPDATE SET ");
    for (int i = 1; i < N_COLUMNS; i++)
        sqlite3_str_appendf(sql, "%s = excluded.%s, ", nm_store_columns[i].name, nm_store_columns[i].name);
    sqlite3_str_appendall(sql, BOOT_COLUMN " = excluded." BOOT_COLUMN);
    return sqlite3_str_finish(sql);
}

int nm_store_schema_make(sqlite3 *db)
{
    char *containers = containers_table(), version[48];
    int r;

    if (!containers)
        return -ENOMEM;
    (void)snprintf(version, sizeof version, "PRAGMA user_version = %d", NM_STORE_SCHEMA);
    r = nm_store_exec(db, "BEGIN IMMEDIATE");
    if (r >= 0)
        r = nm_store_exec(db, containers);
    if (r >= 0)
        r = nm_store_exec(db, tables_sql);
    if (r >= 0)
        r = nm_store_exec(db, blobs_sql);
    if (r >= 0)
        r = nm_store_exec(db, version);
    if (r >= 0)
        r = nm_store_exec(db, "COMMIT");
    sqlite3_free(containers);
    return r;
}

static int has_column(sqlite3 *db, const char *table, const char *column)
{
    char *sql = sqlite3_mprintf("SELECT count(*) FROM pragma_table_info(%Q) WHERE name = %Q", table, column);
    int64_t n = 0;
    int r = sql ? nm_store_query_int64(db, sql, &n) : -ENOMEM;

    sqlite3_free(sql);
    return r < 0 ? r : n > 0;
}

static int add_column(sqlite3 *db, const char *table, const struct nm_store_column *col)
{
    sqlite3_str *str = sqlite3_str_new(NULL);
    char *sql;
    int r;

    sqlite3_str_appendf(str, "ALTER TABLE %s ADD COLUMN ", table);
    append_column(str, col);
    sql = sqlite3_str_finish(str);
    r = sql ? nm_store_exec(db, sql) : -ENOMEM;
    sqlite3_free(sql);
    return r;
}

static int complete_table(sqlite3 *db, const char *table)
{
    int r = 0;

    for (int i = 0; r >= 0 && i < N_COLUMNS; i++) {
        const struct nm_store_column *col = &nm_store_columns[i];

        r = col->later ? has_column(db, table, col->name) : 1;
        if (r == 0)
            r = add_column(db, table, col);
    }
    return r;
}

int nm_store_schema_complete(sqlite3 *db)
{
    int64_t n_bad = 0;
    int r = complete_table(db, "containers");

    /* Bad rows are moved with all their columns, so both tables need the same columns. */
    if (r >= 0)
        r = nm_store_query_int64(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'bad_containers'", &n_bad);
    if (r >= 0 && n_bad > 0)
        r = complete_table(db, "bad_containers");
    if (r >= 0)
        r = nm_store_exec(db, blobs_sql);
    return r < 0 ? r : 0;
}

char *nm_store_schema_statement(enum nm_store_stmt which)
{
    assert(which < NM_STMT_COUNT);
    return which == NM_STMT_PUT_CONTAINER ? containers_upsert() : sqlite3_mprintf("%s", statements[which]);
}

char *nm_store_schema_select_containers(void)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    sqlite3_str_appendall(sql, "SELECT ");
    for (int i = 0; i < N_COLUMNS; i++)
        sqlite3_str_appendf(sql, "c.%s, ", nm_store_columns[i].name);
    sqlite3_str_appendall(sql, "m.argv, m.env, m.workdir, m.user, m.uid, m.gid, m.no_new_privs, b.data "
                               "FROM containers c LEFT JOIN commands m ON m.id = c.id "
                               "LEFT JOIN owner_blobs b ON b.id = c.id ORDER BY c.seq");
    return sqlite3_str_finish(sql);
}
