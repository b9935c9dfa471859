/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Copies the sound rows of a damaged journal into the new one. SQLite reads a table up to the first invalid page. So
 * each table is read from its beginning and from its end, and the rows between the two places at which reading stops
 * are read one by one. The old file is not written, because an operator may want to inspect it.
 *
 * The copied rows are not checked here. Like all rows, they are checked when they are loaded. Two things are not
 * copied. The first is the store's epoch: assigned ids may be among the lost rows, and no id may be assigned twice. The
 * second is the live containers if the file's boot is unknown: their process ids and times would have another meaning.
 */

#include "agent/store/store-internal.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>

#include "util/clock.h"

#define GAP_MAX 20000 /* maximum number of rows read one by one in a table */
#define TIME_LIMIT_USEC (3 * NM_USEC_PER_SEC) /* damage can make a reader loop */
#define STEP_OPS 10000

/* A table of the journal. The key is the first column. */
struct table {
    const char *name, *key, *filter;
    unsigned *saved;
};

/* The last key read, if the next keys follow by counting: a decision's number, or a container's number in its epoch. */
struct position {
    bool known, is_id;
    uint64_t epoch, number;
};

struct salvage {
    struct nm_store *s;
    sqlite3 *old;
    const struct table *t;
    sqlite3_stmt *insert;
    struct position first_unread, last_unread;
    uint64_t until_usec;
    bool incomplete;
};

static int out_of_time(void *userdata)
{
    return nm_now_usec() > *(const uint64_t *)userdata;
}

static struct position position_of(sqlite3_stmt *row)
{
    struct position p = {0};
    const char *text;

    if (sqlite3_column_type(row, 0) == SQLITE_INTEGER) {
        int64_t n = sqlite3_column_int64(row, 0);

        return (struct position){.known = n > 0, .number = (uint64_t)n};
    }
    text = (const char *)sqlite3_column_text(row, 0);
    p.is_id = true;
    p.known = text && nm_id_parse(text, &p.epoch, &p.number);
    return p;
}

static void bind_position(sqlite3_stmt *stmt, const struct position *p)
{
    char id[NM_ID_SIZE];

    if (!p->is_id) {
        (void)sqlite3_bind_int64(stmt, 1, (int64_t)p->number);
        return;
    }
    nm_id_print(p->epoch, p->number, id);
    (void)sqlite3_bind_text(stmt, 1, id, -1, SQLITE_TRANSIENT);
}

static void keep_row(struct salvage *v, sqlite3_stmt *row)
{
    int n = sqlite3_column_count(row);

    for (int i = 0; i < n; i++)
        (void)sqlite3_bind_value(v->insert, i + 1, sqlite3_column_value(row, i));
    if (sqlite3_step(v->insert) != SQLITE_DONE)
        v->incomplete = true;
    else if (sqlite3_changes(v->s->db) > 0)
        ++*v->t->saved;
    (void)sqlite3_reset(v->insert);
}

/* Uses the column names of the old table, which may have fewer columns. A table with other names is not nmd's table. */
static int prepare_insert(struct salvage *v, sqlite3_stmt *row)
{
    int n = sqlite3_column_count(row), code;
    sqlite3_str *sql;
    char *text;

    if (v->insert)
        return 0;
    sql = sqlite3_str_new(NULL);
    sqlite3_str_appendf(sql, "INSERT INTO %s (", v->t->name);
    for (int i = 0; i < n; i++)
        sqlite3_str_appendf(sql, "%s\"%w\"", i ? ", " : "", sqlite3_column_name(row, i));
    sqlite3_str_appendall(sql, ") VALUES (?");
    for (int i = 1; i < n; i++)
        sqlite3_str_appendall(sql, ", ?");
    sqlite3_str_appendall(sql, ") ON CONFLICT DO NOTHING");
    text = sqlite3_str_finish(sql);
    code = text ? sqlite3_prepare_v2(v->s->db, text, -1, &v->insert, NULL) : SQLITE_NOMEM;
    sqlite3_free(text);
    return code == SQLITE_OK ? 0 : -EBADMSG;
}

static sqlite3_stmt *select_rows(struct salvage *v, const char *rest)
{
    sqlite3_stmt *stmt = NULL;
    char *sql = sqlite3_mprintf("SELECT * FROM %s WHERE (%s) %s", v->t->name, v->t->filter, rest);

    if (sql && sqlite3_prepare_v2(v->old, sql, -1, &stmt, NULL) == SQLITE_OK &&
        prepare_insert(v, stmt) < 0) {
        (void)sqlite3_finalize(stmt);
        stmt = NULL;
    }
    sqlite3_free(sql);
    return stmt;
}

/* Reads rows in this direction. Returns whether the reading reached the other end of the table. */
static bool read_from(struct salvage *v, const char *direction, struct position *ret_last)
{
    char rest[64];
    sqlite3_stmt *row;
    int code;

    (void)snprintf(rest, sizeof rest, "ORDER BY %s %s", v->t->key, direction);
    row = select_rows(v, rest);
    if (!row)
        return false;
    while ((code = sqlite3_step(row)) == SQLITE_ROW && !out_of_time(&v->until_usec)) {
        keep_row(v, row);
        *ret_last = position_of(row);
    }
    (void)sqlite3_finalize(row);
    return code == SQLITE_DONE;
}

static void read_between(struct salvage *v, struct position from, const struct position *to)
{
    char rest[64];
    sqlite3_stmt *row;

    (void)snprintf(rest, sizeof rest, "AND %s = ?", v->t->key);
    row = select_rows(v, rest);
    while (row && ++from.number < to->number && !out_of_time(&v->until_usec)) {
        bind_position(row, &from);
        if (sqlite3_step(row) == SQLITE_ROW)
            keep_row(v, row);
        (void)sqlite3_reset(row);
    }
    (void)sqlite3_finalize(row);
}

/* Reads the rows between the places at which reading from both ends stopped. If one end cannot be read at all, the
 * other end shows where to read. */
static void read_gap(struct salvage *v)
{
    struct position from = v->first_unread, to = v->last_unread;

    if (!from.known && !to.known)
        return;
    if (!from.known) {
        from = to;
        from.number = nm_sub_u64(to.number, GAP_MAX);
    }
    if (!to.known || to.epoch != from.epoch) {
        to = from;
        to.number = from.number + GAP_MAX;
    }
    from.number = NM_MAX(from.number, nm_sub_u64(to.number, GAP_MAX));
    read_between(v, from, &to);
}

/* Returns whether the table is missing, as in an older journal. */
static bool lacks(sqlite3 *db, const char *table)
{
    char *sql = sqlite3_mprintf("SELECT count(*) FROM sqlite_schema WHERE name = %Q", table);
    int64_t n = 0;
    int r = sql ? nm_store_query_int64(db, sql, &n) : -ENOMEM;

    sqlite3_free(sql);
    return r >= 0 && n == 0;
}

static void save_table(struct salvage *v, const struct table *t)
{
    if (lacks(v->old, t->name))
        return;
    v->t = t;
    v->first_unread = v->last_unread = (struct position){0};
    if (!read_from(v, "ASC", &v->first_unread)) {
        v->incomplete = true;
        (void)read_from(v, "DESC", &v->last_unread);
        read_gap(v);
    }
    (void)sqlite3_finalize(v->insert);
    v->insert = NULL;
}

static bool is_ours(sqlite3 *db)
{
    int64_t version;

    return nm_store_query_int64(db, "PRAGMA user_version", &version) == 0 && version == NM_STORE_SCHEMA;
}

static bool has_boot_id(struct nm_store *s)
{
    char text[64];

    return nm_store_get_value(s, NM_STORE_BOOT_ID, text, sizeof text) == 0 &&
           nm_store_get_value(s, NM_STORE_BOOT, text, sizeof text) == 0;
}

void nm_store_salvage(struct nm_store *s, sqlite3 *old, struct nm_store_saved *ret)
{
    unsigned values = 0, commands = 0, blobs = 0;
    struct nm_store_saved saved = {0};
    struct salvage v = {
        .s = s, .old = old, .until_usec = nm_now_usec() + TIME_LIMIT_USEC};
    const struct table all[] = {
        {"key_values", "key", "key NOT IN ('" NM_STORE_EPOCH "', '" NM_STORE_CLOSED "')", &values},
        {"commands", "id", "1", &commands},
        {"owner_blobs", "id", "1", &blobs},
        {"containers", "id", "1", &saved.n_containers},
        {"decisions", "number", "1", &saved.n_decisions},
    };

    assert(s->db && old && s->db != old);
    ret->incomplete = true;
    if (!is_ours(old) || nm_store_exec(s->db, "BEGIN IMMEDIATE") < 0)
        return;
    sqlite3_progress_handler(old, STEP_OPS, out_of_time, &v.until_usec);
    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++) {
        struct table t = all[i];

        if (t.saved == &saved.n_containers && !has_boot_id(s))
            t.filter = "state = 'COMPLETED'";
        save_table(&v, &t);
    }
    sqlite3_progress_handler(old, 0, NULL, NULL);
    if (nm_store_exec(s->db, "COMMIT") < 0) {
        (void)nm_store_exec(s->db, "ROLLBACK");
        return;
    }
    saved.incomplete = v.incomplete;
    *ret = saved;
}

/* Opens the file for reading and writing, because reading the log requires a lock. The file is not written. */
static int open_old(const char *path, sqlite3 **ret)
{
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(
        path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, NULL);

    if (code == SQLITE_OK) {
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        code = sqlite3_exec(db,
                            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cell_size_check = ON;"
                            "PRAGMA trusted_schema = OFF; PRAGMA mmap_size = 0",
                            NULL, NULL, NULL);
    }
    if (code != SQLITE_OK) {
        (void)sqlite3_close(db);
        return -EUCLEAN;
    }
    *ret = db;
    return 0;
}

/* Prints a file's name as a URI. */
static int print_uri(const char *path, char *buf, size_t size)
{
    size_t n = (size_t)snprintf(buf, size, "file:");

    for (; *path && n + 4 < size; path++)
        n += (size_t)snprintf(buf + n, size - n, strchr("%?#", *path) ? "%%%02X" : "%c", (unsigned char)*path);
    return *path || (size_t)snprintf(buf + n, size - n, "?immutable=1") >= size - n ? -ENAMETOOLONG : 0;
}

int nm_store_open_closed(const char *path, sqlite3 **ret)
{
    char log[512], uri[1600];
    sqlite3 *db = NULL;
    struct stat st;

    if ((size_t)snprintf(log, sizeof log, "%s-wal", path) >= sizeof log || print_uri(path, uri, sizeof uri) < 0)
        return -ENAMETOOLONG;
    if ((lstat(log, &st) == 0 && st.st_size > 0) || lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return -ENOENT;
    if (sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        (void)sqlite3_close(db);
        return -EUCLEAN;
    }
    *ret = db;
    return 0;
}

/* Removes the empty log that SQLite has made while it read the file. */
static void remove_empty_log(const char *path)
{
    char log[512];
    struct stat st;

    if ((size_t)snprintf(log, sizeof log, "%s-wal", path) < sizeof log && lstat(log, &st) == 0 &&
        S_ISREG(st.st_mode) && st.st_size == 0)
        (void)unlink(log);
}

void nm_store_salvage_file(struct nm_store *s, const char *path, struct nm_store_saved *ret)
{
    sqlite3 *old;

    ret->incomplete = true;
    if (open_old(path, &old) < 0)
        return;
    nm_store_salvage(s, old, ret);
    (void)sqlite3_close(old);
    remove_empty_log(path);
}
