/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Opens, checks and closes one file; store-open.c handles files that cannot be opened. The file is locked exclusively
 * while it is open, because two nmds on one state directory would kill each other's containers. The lock also avoids
 * the shared-memory index of WAL mode and the locking of each transaction.
 */

#include "agent/store/store-internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "util/clock.h"

/* A longer check is stopped; bad rows are then found when they are read. */
#define CHECK_LIMIT_USEC (2 * NM_USEC_PER_SEC)
#define CHECK_STEP_OPS 100000
/* Pages in the log from which nm_store_checkpoint() empties it, and from which the next commit does. A checkpoint syncs
 * the files, which takes milliseconds, and the commit may be the one before a kill. */
#define CHECKPOINT_FRAMES 500
#define CHECKPOINT_FRAMES_MAX 4000
#define BUSY_TIMEOUT_MSEC 2000 /* enough time for an earlier nmd to exit */

/* A small cache suffices: after startup a write reads one or two pages. */
static const char pragmas_sql[] = "PRAGMA locking_mode = EXCLUSIVE;"
                                  "PRAGMA cache_size = -128;"
                                  "PRAGMA mmap_size = 0;"
                                  "PRAGMA temp_store = MEMORY;"
                                  "PRAGMA trusted_schema = OFF;"
                                  "PRAGMA cell_size_check = ON;"
                                  "PRAGMA journal_mode = WAL;"
                                  "PRAGMA synchronous = NORMAL;"
                                  "PRAGMA journal_size_limit = 1048576;";

static int check_timed_out(void *userdata)
{
    return nm_now_usec() > *(const uint64_t *)userdata;
}

static int check(sqlite3 *db)
{
    uint64_t until = nm_now_usec() + CHECK_LIMIT_USEC;
    sqlite3_stmt *stmt;
    int code = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &stmt, NULL);
    bool bad = false;

    if (code != SQLITE_OK)
        return nm_store_error(db, code);
    sqlite3_progress_handler(db, CHECK_STEP_OPS, check_timed_out, &until);
    code = sqlite3_step(stmt);
    if (code == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);

        bad = !text || !nm_streq(text, "ok");
    }
    (void)sqlite3_finalize(stmt);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    if (code == SQLITE_INTERRUPT)
        return 0;
    return bad ? -EUCLEAN : nm_store_error(db, code);
}

static int ensure_schema(sqlite3 *db)
{
    int64_t version, n_tables;
    int r = nm_store_query_int64(db, "PRAGMA user_version", &version);

    if (r >= 0)
        r = nm_store_query_int64(db, "SELECT count(*) FROM sqlite_schema", &n_tables);
    if (r < 0)
        return r;
    if (version == 0 && n_tables == 0)
        return nm_store_schema_make(db);
    r = version == NM_STORE_SCHEMA ? check(db) : -EUCLEAN;
    return r < 0 ? r : nm_store_schema_complete(db);
}

static int prepare_one(struct nm_store *s, enum nm_store_stmt which)
{
    char *sql = nm_store_schema_statement(which);
    int code = SQLITE_NOMEM;

    if (sql)
        code = sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[which], NULL);
    sqlite3_free(sql);
    /* SQLITE_ERROR: tables or columns are missing */
    return (code & 0xff) == SQLITE_ERROR ? -EUCLEAN : nm_store_error(s->db, code);
}

static int prepare_all(struct nm_store *s)
{
    int r = 0;

    for (int i = 0; r >= 0 && i < NM_STMT_COUNT; i++)
        r = prepare_one(s, (enum nm_store_stmt)i);
    return r;
}

/* Makes the file before SQLite opens it, so that it has the right mode from the start. SQLite takes an empty file as a
 * new database. */
static int make_file(const char *path)
{
    _cleanup_close_ int fd =
        open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat st;

    if (fd < 0)
        return errno == ELOOP || errno == EISDIR || errno == ENXIO ? -EUCLEAN : -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    return S_ISREG(st.st_mode) ? 0 : -EUCLEAN;
}

/* Finds the reason why the file cannot be opened, because SQLite does not report it. If this function can open the
 * file, its content is damaged. */
static int why_not(const char *path)
{
    char log[512];

    if ((size_t)snprintf(log, sizeof log, "%s-wal", path) >= sizeof log)
        return -ENAMETOOLONG;
    for (int i = 0; i < 2; i++) {
        int fd = open(i ? log : path, O_RDWR | (i ? O_CREAT : 0) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

        if (fd < 0)
            return -errno;
        (void)close(fd);
    }
    return -EIO;
}

/* Replaces SQLite's own hook, which only checkpoints a long log. */
static int on_commit(void *userdata, sqlite3 *db, const char *schema, int n)
{
    struct nm_store *s = userdata;

    (void)schema;
    nm_wal_mark_put(&s->mark, (uint32_t)n);
    s->checkpoint_due = n >= CHECKPOINT_FRAMES;
    if (n >= CHECKPOINT_FRAMES_MAX)
        (void)sqlite3_wal_checkpoint(db, NULL);
    return SQLITE_OK;
}

void nm_store_checkpoint(struct nm_store *s)
{
    assert(s->depth == 0);
    if (!s->checkpoint_due || !s->on_disk)
        return;
    s->checkpoint_due = false;
    (void)sqlite3_wal_checkpoint(s->db, NULL);
}

int nm_store_connect(struct nm_store *s, const char *filename)
{
    int r = filename[0] == ':' ? 0 : make_file(filename), code;

    assert(!s->db && s->mark.fd < 0);

    if (r < 0)
        return r;
    code = sqlite3_open_v2(filename, &s->db,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return code == SQLITE_CANTOPEN ? why_not(filename) : nm_store_error(s->db, code);
    (void)sqlite3_extended_result_codes(s->db, 1);
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 128, 128);
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_busy_timeout(s->db, BUSY_TIMEOUT_MSEC);
    r = nm_store_exec(s->db, pragmas_sql);
    if (r >= 0)
        r = ensure_schema(s->db);
    if (r >= 0)
        r = prepare_all(s);
    if (r == -EIO && filename[0] != ':' && (sqlite3_extended_errcode(s->db) & 0xff) == SQLITE_CANTOPEN)
        r = why_not(filename);
    if (r >= 0 && filename[0] != ':') {
        nm_wal_mark_open(&s->mark, filename, s->boot_id);
        (void)sqlite3_wal_hook(s->db, on_commit, s);
    }
    /* The file was just opened for writing, so -EROFS means that its header has an invalid format number, which forbids
     * writing. */
    return r == -EROFS ? -EUCLEAN : r;
}

static void drop_statements(struct nm_store *s)
{
    for (int i = 0; i < NM_STMT_COUNT; i++) {
        (void)sqlite3_finalize(s->stmt[i]);
        s->stmt[i] = NULL;
    }
}

void nm_store_disconnect(struct nm_store *s)
{
    drop_statements(s);
    nm_wal_mark_clear(&s->mark); /* closing checkpoints and removes the log */
    nm_wal_mark_done(&s->mark);
    (void)sqlite3_close(s->db);
    s->db = NULL;
}

sqlite3 *nm_store_detach(struct nm_store *s)
{
    sqlite3 *db = s->db;

    assert(db && s->depth == 0);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    drop_statements(s);
    nm_wal_mark_clear(&s->mark);
    nm_wal_mark_done(&s->mark);
    s->db = NULL;
    return db;
}

struct nm_store_connection nm_store_part(struct nm_store *s)
{
    struct nm_store_connection c = {.db = s->db};

    assert(s->db && !s->on_disk && s->mark.fd < 0);
    memcpy(c.stmt, s->stmt, sizeof c.stmt);
    memset(s->stmt, 0, sizeof s->stmt);
    s->db = NULL;
    return c;
}

void nm_store_rejoin(struct nm_store *s, const struct nm_store_connection *c)
{
    assert(!s->db && c->db);
    memcpy(s->stmt, c->stmt, sizeof s->stmt);
    s->db = c->db;
}

void nm_store_close(struct nm_store_connection *c)
{
    for (int i = 0; i < NM_STMT_COUNT; i++)
        (void)sqlite3_finalize(c->stmt[i]);
    (void)sqlite3_close(c->db);
    *c = (struct nm_store_connection){0};
}
