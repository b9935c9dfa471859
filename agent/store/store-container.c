/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Containers as rows. Writing and reading follow the table of columns (store-columns.c). The command (argv, env,
 * directory), which can be large and seldom changes, has a separate table, and so has the owner's blob. A change of
 * state thus rewrites only a few hundred bytes.
 *
 * Rows are checked when they are read, because the file may have undetected damage or may have been written by another
 * program. A row with a wrong type, a number out of range, an unknown word or an invalid name is rejected.
 */

#include <assert.h>
#include <errno.h>

#include "agent/store/store-columns.h"
#include "agent/store/store-json.h"
#include "agent/store/store-internal.h"
#include "util/json-text.h"

#define N_COLUMNS ((int)nm_store_n_columns)
#define COLUMNS_MAX 64
#define BLOB_COLUMN (N_COLUMNS + 7) /* after the command's columns */

/* ---- writing -------------------------------------------------------------------------------------------------- */

static int bind_text(sqlite3_stmt *stmt, int i, const char *text)
{
    return sqlite3_bind_text(stmt, i, text, -1, SQLITE_STATIC);
}

static struct nm_store_value column_value(const struct nm_store_column *col, const struct nm_container *c)
{
    return nm_store_kind_is_text(col->kind) ? nm_store_text(nm_store_column_text(col, c))
                                            : nm_store_number(nm_store_column_number(col, c));
}

/* Returns -EILSEQ for bytes that are not UTF-8, which JSON cannot hold. Requests come as JSON, so they have no such
 * bytes. */
static int strv_to_text(char *const *v, char **ret)
{
    json_t *array = NULL;
    int r = nm_store_strv_to_json(v, &array);
    char *text;

    if (r < 0)
        return r;
    text = nm_json_text(array, JSON_COMPACT);
    json_decref(array);
    if (!text)
        return -ENOMEM;
    *ret = text;
    return 0;
}

/* Checks whether the command is stored, to avoid writing it again: the command seldom changes, and command and blob
 * have most of the bytes. */
static bool has_command(struct nm_store *s, const struct nm_container *c)
{
    sqlite3_stmt *stmt = s->stmt[NM_STMT_HAS_COMMAND];
    bool has;

    (void)bind_text(stmt, 1, c->id);
    (void)sqlite3_bind_int(stmt, 2, c->blob.bytes > 0);
    has = sqlite3_step(stmt) == SQLITE_ROW;
    (void)sqlite3_reset(stmt);
    return has;
}

static int write_command(struct nm_store *s, const char *id, const struct nm_command *c, const char *argv,
                         const char *env)
{
    const struct nm_store_value values[] = {
        nm_store_text(id),
        nm_store_text(argv),
        nm_store_text(env),
        nm_store_text(c->workdir ?: ""),
        nm_store_text(c->user ?: ""),
        nm_store_number(c->uid),
        nm_store_number(c->gid),
        nm_store_number(c->no_new_privs),
    };

    return nm_store_write(s, NM_STMT_PUT_COMMAND, "command", id, values, NM_ARRAY_SIZE(values));
}

int nm_store_put_command(struct nm_store *s, const struct nm_container *c)
{
    _cleanup_free_ char *argv = NULL, *env = NULL;
    int r = strv_to_text(c->command.argv, &argv);

    if (r >= 0)
        r = strv_to_text(c->command.env, &env);
    return r < 0 ? r : write_command(s, c->id, &c->command, argv, env);
}

int nm_store_put_blob(struct nm_store *s, const struct nm_container *c)
{
    bool any = c->blob.bytes > 0;
    const struct nm_store_value values[] = {
        nm_store_text(c->id), {.data = c->blob.data, .size = c->blob.bytes, .is_blob = true}};

    assert(c->id[0] && c->blob.bytes <= NM_BLOB_MAX);
    return nm_store_write(s, any ? NM_STMT_PUT_BLOB : NM_STMT_DELETE_BLOB, "blob", c->id, values, any ? 2 : 1);
}

static int put_row(struct nm_store *s, const struct nm_container *c)
{
    struct nm_store_value values[COLUMNS_MAX + 1];

    assert(c->id[0] && s->boot > 0 && N_COLUMNS <= COLUMNS_MAX);
    for (int i = 0; i < N_COLUMNS; i++)
        values[i] = column_value(&nm_store_columns[i], c);
    values[N_COLUMNS] = nm_store_number(s->boot);
    return nm_store_write(s, NM_STMT_PUT_CONTAINER, "container", c->id, values, N_COLUMNS + 1);
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
    r = nm_store_put_command(s, c);
    if (r != -EILSEQ && r != -ENOMEM) {
        (void)put_row(s, c);
        if (c->blob.bytes > 0)
            (void)nm_store_put_blob(s, c);
        (void)put_last_seq(s, c->view.seq);
    }
    k = nm_store_commit(s);
    return r < 0 ? r : k;
}

int nm_store_put_container(struct nm_store *s, const struct nm_container *c)
{
    return has_command(s, c) ? put_row(s, c) : put_new(s, c);
}

bool nm_store_container_differs(const struct nm_container *a, const struct nm_container *b)
{
    for (int i = 0; i < N_COLUMNS; i++) {
        const struct nm_store_column *col = &nm_store_columns[i];

        if (col->is_measured)
            continue;
        if (nm_store_kind_is_text(col->kind)
                ? !nm_streq(nm_store_column_text(col, a), nm_store_column_text(col, b))
                : nm_store_column_number(col, a) != nm_store_column_number(col, b))
            return true;
    }
    return false;
}

int nm_store_delete_container(struct nm_store *s, const char *id)
{
    static const struct {
        enum nm_store_stmt which;
        const char *kind;
    } all[] = {
        {NM_STMT_DELETE_CONTAINER, "container"}, {NM_STMT_DELETE_COMMAND, "command"}, {NM_STMT_DELETE_BLOB, "blob"}};
    int r = 0, k;

    assert(id[0]);
    (void)nm_store_begin(s);
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        k = nm_store_write(s, all[i].which, all[i].kind, id, (struct nm_store_value[]){nm_store_text(id)}, 1);
        r = r < 0 ? r : k;
    }
    k = nm_store_commit(s);
    return r < 0 ? r : k;
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

/* Reads a text without NUL bytes inside. The text is valid until the next step. */
static int read_text(sqlite3_stmt *stmt, int i, const char **ret)
{
    const char *text;

    if (sqlite3_column_type(stmt, i) != SQLITE_TEXT)
        return -EBADMSG;
    text = (const char *)sqlite3_column_text(stmt, i);
    if (!text) /* SQLite had to copy the text from another page, and memory is short */
        return -ENOMEM;
    if (strlen(text) != (size_t)sqlite3_column_bytes(stmt, i))
        return -EBADMSG;
    *ret = text;
    return 0;
}

static int read_column(sqlite3_stmt *stmt, int i, const struct nm_store_column *col, struct nm_container *c)
{
    const char *text;

    if (nm_store_kind_is_text(col->kind)) {
        int r = read_text(stmt, i, &text);

        return r < 0 ? r : nm_store_column_set_text(col, text, c);
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

static int read_strv(sqlite3_stmt *stmt, int i, char ***ret)
{
    json_t *array = NULL;
    const char *text;
    int r = read_text(stmt, i, &text);

    if (r >= 0)
        r = nm_store_json_parse(text, strlen(text), &array);
    if (r >= 0)
        r = nm_store_strv_from_json(array, ret);
    json_decref(array);
    return r;
}

static int read_word(sqlite3_stmt *stmt, int i, char **ret)
{
    const char *text;
    char *copy;
    int r = read_text(stmt, i, &text);

    if (r < 0)
        return r;
    copy = strdup(text);
    if (!copy)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

static int empty_strv(char ***ret)
{
    char **v = nm_strv_pack(NULL, 0);

    if (!v)
        return -ENOMEM;
    *ret = v;
    return 0;
}

/* Reads the command's columns from column i on. The environment of an ended container is not read, because nmd does not
 * keep it (nm_lists_add_ended()), and there may be thousands of such containers. */
static int read_command(sqlite3_stmt *stmt, int i, bool has_ended, struct nm_command *cmd)
{
    int64_t no_new_privs = sqlite3_column_int64(stmt, i + 6);
    int r = read_strv(stmt, i, &cmd->argv);

    if (r >= 0)
        r = has_ended ? empty_strv(&cmd->env) : read_strv(stmt, i + 1, &cmd->env);
    if (r >= 0)
        r = read_word(stmt, i + 2, &cmd->workdir);
    if (r >= 0)
        r = read_word(stmt, i + 3, &cmd->user);
    if (r < 0)
        return r;
    if (read_id(stmt, i + 4, &cmd->uid) < 0 || read_id(stmt, i + 5, &cmd->gid) < 0 ||
        sqlite3_column_type(stmt, i + 6) != SQLITE_INTEGER || no_new_privs < 0 || no_new_privs > 1)
        return -EBADMSG;
    cmd->no_new_privs = no_new_privs;
    return nm_store_command_is_valid(cmd) ? 0 : -EBADMSG;
}

static int read_blob(sqlite3_stmt *stmt, int i, struct nm_container *c)
{
    int type = sqlite3_column_type(stmt, i), size = sqlite3_column_bytes(stmt, i);

    if (type == SQLITE_NULL)
        return 0;
    if (type != SQLITE_BLOB || size <= 0 || (unsigned)size > NM_BLOB_MAX)
        return -EBADMSG;
    return nm_container_set_blob(c, sqlite3_column_blob(stmt, i), (size_t)size);
}

static int read_row(sqlite3_stmt *stmt, struct nm_container **ret)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    int r = nm_container_new(&c);

    for (int i = 0; r >= 0 && i < N_COLUMNS; i++)
        r = read_column(stmt, i, &nm_store_columns[i], c);
    if (r >= 0)
        r = read_command(stmt, N_COLUMNS, c->view.state == NM_COMPLETED, &c->command);
    if (r >= 0)
        r = read_blob(stmt, BLOB_COLUMN, c);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(c);
    return 0;
}

/* The ids of bad rows, as stored, of any type. */
struct bad_rows {
    sqlite3_value **ids;
    unsigned n;
};

static void note_bad(struct bad_rows *b, sqlite3_stmt *row)
{
    sqlite3_value **ids = reallocarray(b->ids, b->n + 1, sizeof *ids);

    if (!ids)
        return;
    b->ids = ids;
    b->ids[b->n] = sqlite3_value_dup(sqlite3_column_value(row, 0));
    b->n += b->ids[b->n] != NULL;
}

/* Runs a statement. id: the only parameter of the statement. */
static int exec_with(sqlite3 *db, const char *format, const char *table, const sqlite3_value *id)
{
    char *sql = sqlite3_mprintf(format, table, table);
    sqlite3_stmt *stmt = NULL;
    int r = sql ? nm_store_error(db, sqlite3_prepare_v2(db, sql, -1, &stmt, NULL)) : -ENOMEM;

    if (r >= 0 && id)
        (void)sqlite3_bind_value(stmt, 1, id);
    if (r >= 0)
        r = nm_store_error(db, sqlite3_step(stmt));
    (void)sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return r;
}

static int move_bad(sqlite3 *db, const char *table, const struct bad_rows *b)
{
    int r = exec_with(db, "CREATE TABLE IF NOT EXISTS bad_%s AS SELECT * FROM %s WHERE 0", table, NULL);

    for (unsigned i = 0; r >= 0 && i < b->n; i++) {
        r = exec_with(db, "INSERT INTO bad_%s SELECT * FROM %s WHERE id IS ?", table, b->ids[i]);
        if (r >= 0)
            r = exec_with(db, "DELETE FROM %s WHERE id IS ?", table, b->ids[i]);
    }
    return r;
}

/* Moves invalid rows with their commands to a separate table, where an operator can inspect them. Invalid rows are thus
 * reported once, and the container's snapshot can replace the row. */
static void set_aside(struct nm_store *s, struct bad_rows *b)
{
    if (b->n > 0 && nm_store_exec(s->db, "SAVEPOINT bad") >= 0) {
        if (move_bad(s->db, "containers", b) < 0 || move_bad(s->db, "commands", b) < 0 ||
            move_bad(s->db, "owner_blobs", b) < 0)
            (void)nm_store_exec(s->db, "ROLLBACK TO bad");
        (void)nm_store_exec(s->db, "RELEASE bad");
    }
    for (unsigned i = 0; i < b->n; i++)
        sqlite3_value_free(b->ids[i]);
    free(b->ids);
    *b = (struct bad_rows){0};
}

int nm_store_load_containers(struct nm_store *s, nm_store_container_cb_t cb, void *userdata, unsigned *ret_n_bad)
{
    char *sql = nm_store_schema_select_containers();
    struct bad_rows bad = {0};
    unsigned n_bad = 0;
    sqlite3_stmt *stmt;
    int code, r = 0;

    assert(cb && ret_n_bad);
    if (!sql)
        return -ENOMEM;
    code = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return nm_store_error(s->db, code);
    while (r != -ENOMEM && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        struct nm_container *c;

        r = read_row(stmt, &c);
        if (r >= 0)
            cb(c, userdata);
        else if (r != -ENOMEM) { /* -ENOMEM does not mean that the row is bad */
            n_bad++;
            note_bad(&bad, stmt);
        }
    }
    (void)sqlite3_finalize(stmt);
    set_aside(s, &bad);
    *ret_n_bad = n_bad;
    return r == -ENOMEM ? r : nm_store_error(s->db, code);
}
