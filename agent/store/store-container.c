/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Containers as rows. Schema, writing and reading all follow the table of columns (store-columns.c).
 * The command (argv, env, directory), which can be large and never changes, has a table of its own,
 * so that a change of state rewrites a few hundred bytes.
 *
 * Rows are read with suspicion: the file may be damaged in a way that no check finds, or written by another hand. A
 * row with a wrong type, a number out of range, an unknown word or a name that is none is no container.
 */

#include <errno.h>

#include "agent/store/store-columns.h"
#include "agent/store/store-internal.h"
#include "agent/store/store-json.h"

#define N_COLUMNS ((int)nm_store_n_columns)

/* Not in the struct: which boot the row is of. */
#define BOOT_COLUMN "boot"

static const char *column_type(enum nm_store_kind kind)
{
    return nm_store_kind_is_text(kind) ? "TEXT" : "INTEGER";
}

/* WITHOUT ROWID: the id is the key, and one tree less has to be written for each change. */
char *nm_store_container_schema(void)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    sqlite3_str_appendall(sql, "CREATE TABLE containers (");
    for (int i = 0; i < N_COLUMNS; i++)
        sqlite3_str_appendf(sql, "%s %s NOT NULL%s, ", nm_store_columns[i].name, column_type(nm_store_columns[i].kind),
                            i == 0 ? " PRIMARY KEY" : "");
    sqlite3_str_appendall(sql, BOOT_COLUMN " INTEGER NOT NULL) WITHOUT ROWID");
    return sqlite3_str_finish(sql);
}

char *nm_store_container_upsert(void)
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

/* ---- writing -------------------------------------------------------------------------------------------------- */

static int bind_text(sqlite3_stmt *stmt, int i, const char *text)
{
    return sqlite3_bind_text(stmt, i, text, -1, SQLITE_STATIC);
}

static void bind_column(sqlite3_stmt *stmt, int i, const struct nm_store_column *col, const struct nm_container *c)
{
    if (nm_store_kind_is_text(col->kind))
        (void)bind_text(stmt, i, nm_store_column_text(col, c));
    else
        (void)sqlite3_bind_int64(stmt, i, nm_store_column_number(col, c));
}

/* -EILSEQ: JSON holds no bytes that aren't UTF-8. Requests come as JSON, so there should be none. */
static int strv_to_text(char *const *v, char **ret)
{
    json_t *array = NULL;
    int r = nm_store_strv_to_json(v, &array);
    char *text = r < 0 ? NULL : json_dumps(array, JSON_COMPACT);

    json_decref(array);
    if (r < 0)
        return r;
    if (!text)
        return -ENOMEM;
    *ret = text;
    return 0;
}

/* Asked before it is written: a command never changes, and is most of the bytes. */
static bool has_command(struct nm_store *s, const char *id)
{
    sqlite3_stmt *stmt = s->stmt[NM_STMT_HAS_COMMAND];
    bool has;

    (void)bind_text(stmt, 1, id);
    has = sqlite3_step(stmt) == SQLITE_ROW;
    (void)sqlite3_reset(stmt);
    return has;
}

static int put_command(struct nm_store *s, const struct nm_container *c)
{
    sqlite3_stmt *stmt = s->stmt[NM_STMT_PUT_COMMAND];
    _cleanup_free_ char *argv = NULL, *env = NULL;
    int r = strv_to_text(c->command.argv, &argv);

    if (r >= 0)
        r = strv_to_text(c->command.env, &env);
    if (r < 0)
        return r;
    (void)bind_text(stmt, 1, c->id);
    (void)bind_text(stmt, 2, argv);
    (void)bind_text(stmt, 3, env);
    (void)bind_text(stmt, 4, c->command.workdir ?: "");
    (void)bind_text(stmt, 5, c->command.user ?: "");
    (void)sqlite3_bind_int64(stmt, 6, c->command.uid);
    (void)sqlite3_bind_int64(stmt, 7, c->command.gid);
    (void)sqlite3_bind_int(stmt, 8, c->command.no_new_privs);
    return nm_store_write(s, NM_STMT_PUT_COMMAND, "command", c->id);
}

static int put_row(struct nm_store *s, const struct nm_container *c)
{
    sqlite3_stmt *stmt = s->stmt[NM_STMT_PUT_CONTAINER];

    for (int i = 0; i < N_COLUMNS; i++)
        bind_column(stmt, i + 1, &nm_store_columns[i], c);
    (void)sqlite3_bind_int64(stmt, N_COLUMNS + 1, s->boot);
    return nm_store_write(s, NM_STMT_PUT_CONTAINER, "container", c->id);
}

static int put_last_seq(struct nm_store *s, uint64_t seq)
{
    char text[24];

    if (seq <= s->last_seq)
        return 0;
    s->last_seq = seq;
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)seq);
    return nm_store_put_value(s, NM_STORE_LAST_SEQ, text);
}

static int put_new(struct nm_store *s, const struct nm_container *c)
{
    int r, k;

    (void)nm_store_begin(s);
    r = put_command(s, c);
    if (r != -EILSEQ && r != -ENOMEM) {
        (void)put_row(s, c);
        (void)put_last_seq(s, c->view.seq);
    }
    k = nm_store_commit(s);
    return r < 0 ? r : k;
}

int nm_store_put_container(struct nm_store *s, const struct nm_container *c)
{
    return has_command(s, c->id) ? put_row(s, c) : put_new(s, c);
}

int nm_store_delete_container(struct nm_store *s, const char *id)
{
    int r, k;

    (void)nm_store_begin(s);
    (void)bind_text(s->stmt[NM_STMT_DELETE_CONTAINER], 1, id);
    r = nm_store_write(s, NM_STMT_DELETE_CONTAINER, "container", id);
    (void)bind_text(s->stmt[NM_STMT_DELETE_COMMAND], 1, id);
    k = nm_store_write(s, NM_STMT_DELETE_COMMAND, "command", id);
    if (r >= 0)
        r = k;
    k = nm_store_commit(s);
    return r < 0 ? r : k;
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

/* A text without NUL bytes inside, or NULL. Valid until the next step. */
static const char *read_text(sqlite3_stmt *stmt, int i)
{
    const char *text;

    if (sqlite3_column_type(stmt, i) != SQLITE_TEXT)
        return NULL;
    text = (const char *)sqlite3_column_text(stmt, i);
    return text && strlen(text) == (size_t)sqlite3_column_bytes(stmt, i) ? text : NULL;
}

static int read_column(sqlite3_stmt *stmt, int i, const struct nm_store_column *col, struct nm_container *c)
{
    const char *text;

    if (nm_store_kind_is_text(col->kind)) {
        text = read_text(stmt, i);
        return text ? nm_store_column_set_text(col, text, c) : -EBADMSG;
    }
    if (sqlite3_column_type(stmt, i) != SQLITE_INTEGER)
        return -EBADMSG;
    return nm_store_column_set_number(col, sqlite3_column_int64(stmt, i), c);
}

static int read_id(sqlite3_stmt *stmt, int i, uint32_t *ret)
{
    int64_t v = sqlite3_column_int64(stmt, i);

    if (sqlite3_column_type(stmt, i) != SQLITE_INTEGER || v < 0 || v >= UINT32_MAX)
        return -EBADMSG;
    *ret = (uint32_t)v;
    return 0;
}

static int strv_from_text(const char *text, char ***ret)
{
    json_t *array = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    int r = nm_store_strv_from_json(array, ret);

    json_decref(array);
    return r;
}

static int read_command(sqlite3_stmt *stmt, int i, struct nm_command *cmd)
{
    const char *workdir = read_text(stmt, i + 2), *user = read_text(stmt, i + 3);
    int64_t no_new_privs = sqlite3_column_int64(stmt, i + 6);
    int r = strv_from_text(read_text(stmt, i), &cmd->argv);

    if (r >= 0)
        r = strv_from_text(read_text(stmt, i + 1), &cmd->env);
    if (r < 0)
        return r;
    if (!workdir || !user)
        return -EBADMSG;
    cmd->workdir = strdup(workdir);
    cmd->user = strdup(user);
    if (!cmd->workdir || !cmd->user)
        return -ENOMEM;
    if (read_id(stmt, i + 4, &cmd->uid) < 0 || read_id(stmt, i + 5, &cmd->gid) < 0 ||
        sqlite3_column_type(stmt, i + 6) != SQLITE_INTEGER || no_new_privs < 0 || no_new_privs > 1)
        return -EBADMSG;
    cmd->no_new_privs = no_new_privs;
    return nm_store_command_is_sane(cmd) ? 0 : -EBADMSG;
}

static int read_row(sqlite3_stmt *stmt, struct nm_container **ret)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    int r = nm_container_new(&c);

    for (int i = 0; r >= 0 && i < N_COLUMNS; i++)
        r = read_column(stmt, i, &nm_store_columns[i], c);
    if (r >= 0)
        r = read_command(stmt, N_COLUMNS, &c->command);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(c);
    return 0;
}

static char *load_sql(void)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    sqlite3_str_appendall(sql, "SELECT ");
    for (int i = 0; i < N_COLUMNS; i++)
        sqlite3_str_appendf(sql, "c.%s, ", nm_store_columns[i].name);
    sqlite3_str_appendall(sql, "m.argv, m.env, m.workdir, m.user, m.uid, m.gid, m.no_new_privs "
                               "FROM containers c LEFT JOIN commands m ON m.id = c.id ORDER BY c.seq");
    return sqlite3_str_finish(sql);
}

int nm_store_load_containers(struct nm_store *s, nm_store_container_cb_t cb, void *userdata, unsigned *ret_n_bad)
{
    char *sql = load_sql();
    unsigned n_bad = 0;
    sqlite3_stmt *stmt;
    int code;

    if (!sql)
        return -ENOMEM;
    code = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return nm_store_error(s->db, code);
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct nm_container *c;

        if (read_row(stmt, &c) < 0)
            n_bad++;
        else
            cb(c, userdata);
    }
    (void)sqlite3_finalize(stmt);
    *ret_n_bad = n_bad;
    return nm_store_error(s->db, code);
}
