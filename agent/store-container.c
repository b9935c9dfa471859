/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Containers as rows. One table of columns describes name, type and place of each field; schema, writing and reading all
 * follow it. The command (argv, env, directory), which can be large and never changes, has a table of its own, so that
 * a change of state rewrites a few hundred bytes.
 *
 * Rows are read with suspicion: the file may be damaged in a way that no check finds, or written by another hand. A
 * row with a wrong type, a number out of range, an unknown word or a name that is none is no container.
 */

#include <errno.h>
#include <jansson.h>

#include "agent/store-internal.h"
#include "util/parse.h"

enum kind {
    KIND_COUNT,   /* uint64_t; larger than INT64_MAX is written as that */
    KIND_BITS,    /* uint64_t, any value (an inode, "never") */
    KIND_U32,
    KIND_ID,      /* uid_t; not -1 */
    KIND_I32,     /* int32_t */
    KIND_PID,
    KIND_BOOL,
    KIND_WORD,    /* char[]: a valid name */
    KIND_NAME,    /* the same, or empty */
    KIND_TEXT,    /* char[]: anything that fits */
    KIND_TYPE,    /* enums, by name */
    KIND_STATE,
    KIND_REASON,
};

struct column {
    const char *name;
    enum kind kind;
    size_t offset, size;
};

#define C(name, kind, field) \
    {name, kind, offsetof(struct nm_container, field), sizeof(((struct nm_container *)NULL)->field)}

static const struct column columns[] = {
    C("id", KIND_WORD, id), /* the first: primary key */
    C("seq", KIND_COUNT, view.seq),
    C("name", KIND_NAME, name),
    C("app", KIND_NAME, app),
    C("owner", KIND_WORD, owner),
    C("submitter_uid", KIND_ID, submitter_uid),
    C("type", KIND_TYPE, view.type),
    C("state", KIND_STATE, view.state),
    C("admitted", KIND_BOOL, view.admitted),
    C("exempt", KIND_BOOL, view.exempt),
    C("user_paused", KIND_BOOL, view.user_paused),
    C("reclaimed", KIND_BOOL, view.reclaimed),
    C("memory_bytes", KIND_COUNT, view.request.memory_bytes),
    C("cpu_millicores", KIND_COUNT, view.request.cpu_millicores),
    C("vcores_milli", KIND_U32, vcores_milli),
    C("measured_memory_bytes", KIND_COUNT, view.measured.memory_bytes),
    C("measured_cpu_millicores", KIND_COUNT, view.measured.cpu_millicores),
    C("n_samples", KIND_U32, view.n_samples),
    C("submitted_usec", KIND_COUNT, view.submitted_usec),
    C("started_usec", KIND_COUNT, view.started_usec),
    C("paused_usec", KIND_COUNT, view.paused_usec),
    C("pause_deadline_usec", KIND_BITS, view.pause_deadline_usec),
    C("last_cpu_millicores", KIND_COUNT, view.last_cpu_millicores),
    C("cpu_usage_usec", KIND_COUNT, view.cpu_usage_usec),
    C("min_runtime_usec", KIND_COUNT, view.min_runtime_usec),
    C("expected_usec", KIND_COUNT, view.expected_usec),
    C("submitted_realtime_usec", KIND_COUNT, submitted_realtime_usec),
    C("started_realtime_usec", KIND_COUNT, started_realtime_usec),
    C("finished_realtime_usec", KIND_COUNT, finished_realtime_usec),
    C("finished_usec", KIND_COUNT, finished_usec),
    C("shim_pid", KIND_PID, shim_pid),
    C("shim_start_ticks", KIND_COUNT, shim_start_ticks),
    C("pid", KIND_PID, pid),
    C("cgroup_inode", KIND_BITS, cgroup_inode),
    C("exit_code", KIND_I32, exit_code),
    C("exit_signal", KIND_I32, exit_signal),
    C("exit_reason", KIND_REASON, exit_reason),
    C("kill_reason", KIND_REASON, kill_reason),
    C("memory_peak_bytes", KIND_COUNT, memory_peak_bytes),
    C("swap_bytes", KIND_COUNT, swap_bytes),
    C("oom_kills", KIND_COUNT, oom_kills),
    C("message", KIND_TEXT, message),
};

#define N_COLUMNS ((int)NM_ARRAY_SIZE(columns))

/* Not in the struct: which boot the row is of. */
#define BOOT_COLUMN "boot"

static const char *column_type(enum kind kind)
{
    return kind < KIND_WORD ? "INTEGER" : "TEXT";
}

char *nm_store_container_schema(void)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    sqlite3_str_appendall(sql, "CREATE TABLE containers (");
    for (int i = 0; i < N_COLUMNS; i++)
        sqlite3_str_appendf(sql, "%s %s NOT NULL%s, ", columns[i].name, column_type(columns[i].kind),
                            i == 0 ? " PRIMARY KEY" : "");
    sqlite3_str_appendall(sql, BOOT_COLUMN " INTEGER NOT NULL) WITHOUT ROWID");
    return sqlite3_str_finish(sql);
}

char *nm_store_container_upsert(void)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);

    sqlite3_str_appendall(sql, "INSERT INTO containers (");
    for (int i = 0; i < N_COLUMNS; i++)
        sqlite3_str_appendf(sql, "%s, ", columns[i].name);
    sqlite3_str_appendall(sql, BOOT_COLUMN ") VALUES (");
    for (int i = 0; i < N_COLUMNS; i++)
        sqlite3_str_appendall(sql, "?, ");
    sqlite3_str_appendall(sql, "?) ON CONFLICT (id) DO UPDATE SET ");
    for (int i = 1; i < N_COLUMNS; i++)
        sqlite3_str_appendf(sql, "%s = excluded.%s, ", columns[i].name, columns[i].name);
    sqlite3_str_appendall(sql, BOOT_COLUMN " = excluded." BOOT_COLUMN);
    return sqlite3_str_finish(sql);
}

/* ---- writing -------------------------------------------------------------------------------------------------- */

static int bind_text(sqlite3_stmt *stmt, int i, const char *text)
{
    return sqlite3_bind_text(stmt, i, text, -1, SQLITE_STATIC);
}

static void bind_column(sqlite3_stmt *stmt, int i, const struct column *col, const struct nm_container *c)
{
    const void *p = (const char *)c + col->offset;

    switch (col->kind) {
    case KIND_COUNT:
        (void)sqlite3_bind_int64(stmt, i, (int64_t)NM_MIN(*(const uint64_t *)p, (uint64_t)INT64_MAX));
        break;
    case KIND_BITS:
        (void)sqlite3_bind_int64(stmt, i, (int64_t) * (const uint64_t *)p);
        break;
    case KIND_U32:
    case KIND_ID:
        (void)sqlite3_bind_int64(stmt, i, *(const uint32_t *)p);
        break;
    case KIND_I32:
    case KIND_PID:
        (void)sqlite3_bind_int64(stmt, i, *(const int32_t *)p);
        break;
    case KIND_BOOL:
        (void)sqlite3_bind_int(stmt, i, *(const bool *)p);
        break;
    case KIND_WORD:
    case KIND_NAME:
    case KIND_TEXT:
        (void)bind_text(stmt, i, p);
        break;
    case KIND_TYPE:
        (void)bind_text(stmt, i, nm_execution_type_name(*(const enum nm_execution_type *)p));
        break;
    case KIND_STATE:
        (void)bind_text(stmt, i, nm_state_name(*(const enum nm_state *)p));
        break;
    case KIND_REASON:
        (void)bind_text(stmt, i, nm_exit_reason_name(*(const enum nm_exit_reason *)p));
        break;
    }
}

/* -EILSEQ: JSON holds no bytes that aren't UTF-8. Requests come as JSON, so there should be none. */
static int strv_to_json(char *const *v, char **ret)
{
    json_t *array = json_array();
    char *text = NULL;
    int r = array ? 0 : -ENOMEM;

    for (; r == 0 && v && *v; v++)
        if (json_array_append_new(array, json_string(*v)) < 0)
            r = -EILSEQ;
    if (r == 0)
        text = json_dumps(array, JSON_COMPACT);
    json_decref(array);
    if (r < 0)
        return r;
    if (!text)
        return -ENOMEM;
    *ret = text;
    return 0;
}

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
    int r = strv_to_json(c->command.argv, &argv);

    if (r >= 0)
        r = strv_to_json(c->command.env, &env);
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
        bind_column(stmt, i + 1, &columns[i], c);
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

static int read_int(sqlite3_stmt *stmt, int i, int64_t min, int64_t max, int64_t *ret)
{
    int64_t v;

    if (sqlite3_column_type(stmt, i) != SQLITE_INTEGER)
        return -EBADMSG;
    v = sqlite3_column_int64(stmt, i);
    if (v < min || v > max)
        return -EBADMSG;
    *ret = v;
    return 0;
}

/* A text without NUL bytes inside, or NULL. Valid until the next step. */
static const char *read_text(sqlite3_stmt *stmt, int i)
{
    const char *text;

    if (sqlite3_column_type(stmt, i) != SQLITE_TEXT)
        return NULL;
    text = (const char *)sqlite3_column_text(stmt, i);
    return text && strlen(text) == (size_t)sqlite3_column_bytes(stmt, i) ? text : NULL;
}

static int read_integer_column(sqlite3_stmt *stmt, int i, enum kind kind, void *p)
{
    static const struct {
        int64_t min, max;
    } ranges[] = {
        [KIND_COUNT] = {0, INT64_MAX},       [KIND_BITS] = {INT64_MIN, INT64_MAX},
        [KIND_U32] = {0, UINT32_MAX},        [KIND_ID] = {0, UINT32_MAX - 1},
        [KIND_I32] = {INT32_MIN, INT32_MAX}, [KIND_PID] = {0, INT32_MAX},
        [KIND_BOOL] = {0, 1},
    };
    int64_t v;
    int r = read_int(stmt, i, ranges[kind].min, ranges[kind].max, &v);

    if (r < 0)
        return r;
    if (kind == KIND_BOOL)
        *(bool *)p = v != 0;
    else if (kind == KIND_COUNT || kind == KIND_BITS)
        *(uint64_t *)p = (uint64_t)v;
    else if (kind == KIND_U32 || kind == KIND_ID)
        *(uint32_t *)p = (uint32_t)v;
    else
        *(int32_t *)p = (int32_t)v;
    return 0;
}

static int read_text_column(sqlite3_stmt *stmt, int i, const struct column *col, void *p)
{
    const char *text = read_text(stmt, i);

    if (!text)
        return -EBADMSG;
    switch (col->kind) {
    case KIND_TYPE:
        return nm_execution_type_from_string(text, p);
    case KIND_STATE:
        return nm_state_from_string(text, p);
    case KIND_REASON:
        return nm_exit_reason_from_string(text, p);
    case KIND_NAME:
        if (!*text)
            break;
        /* fall through */
    case KIND_WORD:
        if (!nm_name_is_valid(text))
            return -EBADMSG;
        break;
    default:
        break;
    }
    if (strlen(text) >= col->size)
        return -EBADMSG;
    strcpy(p, text);
    return 0;
}

static int strv_from_json(const char *text, char ***ret)
{
    json_t *array = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    size_t n = json_array_size(array);
    char **v = json_is_array(array) ? calloc(n + 1, sizeof *v) : NULL;
    int r = v ? 0 : -EBADMSG;

    for (size_t i = 0; r == 0 && i < n; i++) {
        const char *s = json_string_value(json_array_get(array, i));

        v[i] = s ? strdup(s) : NULL;
        if (!v[i])
            r = -EBADMSG;
    }
    json_decref(array);
    /* also on failure, for the container's destructor to free: `ret` is a field of it */
    *ret = v;
    return r;
}

static int read_command(sqlite3_stmt *stmt, int i, struct nm_command *cmd)
{
    const char *workdir = read_text(stmt, i + 2), *user = read_text(stmt, i + 3);
    int r = strv_from_json(read_text(stmt, i), &cmd->argv);

    if (r >= 0)
        r = strv_from_json(read_text(stmt, i + 1), &cmd->env);
    if (r < 0)
        return r;
    if (!cmd->argv[0] || !workdir || !user)
        return -EBADMSG;
    for (char **e = cmd->env; *e; e++)
        if (**e == '=' || !strchr(*e, '='))
            return -EBADMSG;
    cmd->workdir = strdup(workdir);
    cmd->user = strdup(user);
    if (!cmd->workdir || !cmd->user)
        return -ENOMEM;
    if (read_integer_column(stmt, i + 4, KIND_ID, &cmd->uid) < 0 ||
        read_integer_column(stmt, i + 5, KIND_ID, &cmd->gid) < 0)
        return -EBADMSG;
    return read_integer_column(stmt, i + 6, KIND_BOOL, &cmd->no_new_privs);
}

static int read_row(sqlite3_stmt *stmt, struct nm_container **ret)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    int r = nm_container_new(&c);

    for (int i = 0; r >= 0 && i < N_COLUMNS; i++) {
        const struct column *col = &columns[i];
        void *p = (char *)c + col->offset;

        r = col->kind < KIND_WORD ? read_integer_column(stmt, i, col->kind, p)
                                  : read_text_column(stmt, i, col, p);
    }
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
        sqlite3_str_appendf(sql, "c.%s, ", columns[i].name);
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
