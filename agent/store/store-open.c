/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Opening the journal, whatever state it is in. A file that is damaged, or of a layout that this
 * version doesn't know, is renamed together with its log and a new one begun, with what is sound in
 * the old one (store-salvage.c). The renaming comes first: should a damaged file be the death of its
 * reader, the next nmd is spared. Where no file can be made (the disk is full), the store works
 * in memory until one can.
 *
 * The file is locked exclusively while it is open: two nmds on one state directory would each kill
 * what the other runs. The lock also spares the shared-memory index of WAL mode and the locking of
 * each transaction.
 *
 * Which boot: each row carries a number that stands for the boot id under which it was written. So
 * rows of a former boot are known as such even if nmd is killed before it has dealt with all of
 * them.
 */

#include "agent/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "agent/store/store-internal.h"
#include "util/clock.h"
#include "util/parse.h"

/* a check that takes longer is cut short: bad rows are found later */
#define CHECK_LIMIT_USEC (2 * NM_USEC_PER_SEC)
#define CHECK_STEP_OPS 100000
#define BUSY_TIMEOUT_MSEC 2000 /* an nmd that is just being replaced */

static const char tables_sql[] =
    "CREATE TABLE commands (id TEXT NOT NULL PRIMARY KEY, argv TEXT NOT NULL, env TEXT NOT NULL,"
    " workdir TEXT NOT NULL, user TEXT NOT NULL, uid INTEGER NOT NULL, gid INTEGER NOT NULL,"
    " no_new_privs INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE decisions (number INTEGER PRIMARY KEY, container_id TEXT NOT NULL,"
    " json TEXT NOT NULL);"
    "CREATE INDEX decisions_of_container ON decisions (container_id);"
    "CREATE TABLE key_values (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;";

/* The cache is small: what is read after the start is a page or two per write. */
static const char pragmas_sql[] = "PRAGMA locking_mode = EXCLUSIVE;"
                                  "PRAGMA cache_size = -128;"
                                  "PRAGMA mmap_size = 0;"
                                  "PRAGMA temp_store = MEMORY;"
                                  "PRAGMA trusted_schema = OFF;"
                                  "PRAGMA cell_size_check = ON;"
                                  "PRAGMA journal_mode = WAL;"
                                  "PRAGMA synchronous = NORMAL;"
                                  "PRAGMA wal_autocheckpoint = 500;"
                                  "PRAGMA journal_size_limit = 1048576;";

static const char *const statements[NM_STMT_COUNT] = {
    [NM_STMT_HAS_COMMAND] = "SELECT 1 FROM commands WHERE id = ?",
    [NM_STMT_PUT_COMMAND] =
        "INSERT OR REPLACE INTO commands (id, argv, env, workdir, user, uid, gid, no_new_privs) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    [NM_STMT_DELETE_CONTAINER] = "DELETE FROM containers WHERE id = ?",
    [NM_STMT_DELETE_COMMAND] = "DELETE FROM commands WHERE id = ?",
    [NM_STMT_PUT_DECISION] =
        "INSERT OR REPLACE INTO decisions (number, container_id, json) VALUES (?, ?, ?)",
    [NM_STMT_TRIM_DECISIONS] =
        "DELETE FROM decisions WHERE number <= (SELECT max(number) FROM decisions) - ?",
    [NM_STMT_PUT_VALUE] = "INSERT OR REPLACE INTO key_values (key, value) VALUES (?, ?)",
    [NM_STMT_GET_VALUE] = "SELECT value FROM key_values WHERE key = ?",
    [NM_STMT_DELETE_VALUE] = "DELETE FROM key_values WHERE key = ?",
};

/* The first column of the first row as a number. */
static int query_int64(sqlite3 *db, const char *sql, int64_t *ret)
{
    sqlite3_stmt *stmt;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

    if (code != SQLITE_OK)
        return nm_store_error(db, code);
    code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? -ENOENT : nm_store_error(db, code);
}

static int check_goes_on(void *userdata)
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
    sqlite3_progress_handler(db, CHECK_STEP_OPS, check_goes_on, &until);
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

static int make_schema(sqlite3 *db)
{
    char *containers = nm_store_container_schema(), version[48];
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
        r = nm_store_exec(db, version);
    if (r >= 0)
        r = nm_store_exec(db, "COMMIT");
    sqlite3_free(containers);
    return r;
}

static int ensure_schema(sqlite3 *db)
{
    int64_t version, n_tables;
    int r = query_int64(db, "PRAGMA user_version", &version);

    if (r >= 0)
        r = query_int64(db, "SELECT count(*) FROM sqlite_schema", &n_tables);
    if (r < 0)
        return r;
    if (version == 0 && n_tables == 0)
        return make_schema(db);
    return version == NM_STORE_SCHEMA ? check(db) : -EUCLEAN;
}

static int prepare_one(struct nm_store *s, enum nm_store_stmt which, const char *sql)
{
    int code = sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[which], NULL);

    /* SQLITE_ERROR: it has not the tables and columns that it should have */
    return (code & 0xff) == SQLITE_ERROR ? -EUCLEAN : nm_store_error(s->db, code);
}

static int prepare_all(struct nm_store *s)
{
    char *upsert = nm_store_container_upsert();
    int r = upsert ? prepare_one(s, NM_STMT_PUT_CONTAINER, upsert) : -ENOMEM;

    sqlite3_free(upsert);
    for (int i = 0; r >= 0 && i < NM_STMT_COUNT; i++)
        if (statements[i])
            r = prepare_one(s, (enum nm_store_stmt)i, statements[i]);
    return r;
}

/* The file with the right mode from the start; an empty one is a new database to SQLite. */
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

int nm_store_connect(struct nm_store *s, const char *filename)
{
    int r = filename[0] == ':' ? 0 : make_file(filename), code;

    if (r < 0)
        return r;
    code = sqlite3_open_v2(filename, &s->db,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return nm_store_error(s->db, code);
    (void)sqlite3_extended_result_codes(s->db, 1);
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 128, 128);
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_busy_timeout(s->db, BUSY_TIMEOUT_MSEC);
    r = nm_store_exec(s->db, pragmas_sql);
    if (r >= 0)
        r = ensure_schema(s->db);
    if (r >= 0)
        r = prepare_all(s);
    /* The file has just been opened for writing: it is its header that forbids it, by a format that
     * is none. */
    return r == -EROFS ? -EUCLEAN : r;
}

static void forget_statements(struct nm_store *s)
{
    for (int i = 0; i < NM_STMT_COUNT; i++) {
        (void)sqlite3_finalize(s->stmt[i]);
        s->stmt[i] = NULL;
    }
}

void nm_store_disconnect(struct nm_store *s)
{
    forget_statements(s);
    (void)sqlite3_close(s->db);
    s->db = NULL;
}

/* ---- a damaged file ------------------------------------------------------------------ */

static int rename_with_suffix(const char *path, const char *to, const char *suffix)
{
    char a[512], b[512];

    if ((size_t)snprintf(a, sizeof a, "%s%s", path, suffix) >= sizeof a ||
        (size_t)snprintf(b, sizeof b, "%s%s", to, suffix) >= sizeof b)
        return -ENAMETOOLONG;
    return rename(a, b) < 0 && errno != ENOENT ? -errno : 0;
}

/* SQLite's log goes along: without it the file would be older, beside a new file it would be
 * poison. */
static int set_aside(const char *path, char *ret_to, size_t size)
{
    uint64_t now = nm_realtime_usec() / NM_USEC_PER_SEC;
    int r;

    for (unsigned i = 0;; i++) {
        struct stat st;

        if ((size_t)snprintf(ret_to, size, i ? "%s.damaged-%" PRIu64 "-%u" : "%s.damaged-%" PRIu64,
                             path, now, i) >= size)
            return -ENAMETOOLONG;
        if (lstat(ret_to, &st) < 0)
            break;
    }
    r = rename_with_suffix(path, ret_to, "");
    if (r >= 0)
        r = rename_with_suffix(path, ret_to, "-wal");
    if (r >= 0)
        r = rename_with_suffix(path, ret_to, "-journal");
    return r;
}

static bool is_damage(int r)
{
    return r == -EUCLEAN || r == -EIO || r == -EINVAL;
}

/* The file, or a new one in place of a damaged one, or none. */
static int connect_somehow(struct nm_store *s, struct nm_store_opened *o)
{
    int r = nm_store_connect(s, s->path);

    if (is_damage(r)) {
        nm_store_disconnect(s);
        r = set_aside(s->path, o->set_aside, sizeof o->set_aside);
        o->was_damaged = r >= 0;
        if (r >= 0)
            r = nm_store_connect(s, s->path);
        if (r >= 0)
            nm_store_salvage_file(s, o->set_aside, &o->saved);
    }
    s->on_disk = r >= 0;
    if (r != -ENOSPC && r != -EIO)
        return r;
    o->problem = r;
    s->backlog_error = r;
    nm_store_disconnect(s);
    return nm_store_connect(s, ":memory:");
}

/* ---- what the file says about itself ------------------------------------------------- */

static uint64_t get_u64(struct nm_store *s, const char *key)
{
    char text[24];
    uint64_t v;

    if (nm_store_get_value(s, key, text, sizeof text) < 0 || nm_parse_u64(text, &v) < 0)
        return 0;
    return v;
}

static void put_u64(struct nm_store *s, const char *key, uint64_t v)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, v);
    (void)nm_store_put_value(s, key, text); /* kept in memory if it can't be written now */
}

/* Does a container of a former boot stand there as living? */
static bool has_foreign_rows(struct nm_store *s)
{
    char sql[128];
    int64_t n;

    (void)snprintf(
        sql, sizeof sql,
        "SELECT count(*) FROM containers WHERE state != 'COMPLETED' AND boot != %" PRIi64, s->boot);
    return query_int64(s->db, sql, &n) == 0 && n > 0;
}

static bool read_boot(struct nm_store *s, const char *boot_id)
{
    uint64_t now = nm_realtime_usec() / NM_USEC_PER_SEC, last = get_u64(s, NM_STORE_BOOT);
    char text[64];

    if (last > 0 && last < INT64_MAX &&
        nm_store_get_value(s, NM_STORE_BOOT_ID, text, sizeof text) == 0 &&
        nm_streq(text, boot_id)) {
        s->boot = (int64_t)last;
        return !has_foreign_rows(s);
    }
    s->boot = (int64_t)(last < INT64_MAX ? NM_MAX(now, last + 1) : now);
    (void)nm_store_begin(s);
    put_u64(s, NM_STORE_BOOT, (uint64_t)s->boot);
    (void)nm_store_put_value(s, NM_STORE_BOOT_ID, boot_id);
    (void)nm_store_commit(s);
    return last == 0; /* a new store has no rows of a former boot */
}

static void read_state(struct nm_store *s, const char *boot_id, struct nm_store_opened *o)
{
    char text[64];
    int64_t v = 0;

    o->was_closed = nm_store_get_value(s, NM_STORE_CLOSED, text, sizeof text) == 0;
    o->same_boot = read_boot(s, boot_id);
    o->epoch = get_u64(s, NM_STORE_EPOCH);
    if (o->epoch == 0) {
        o->is_new = true;
        o->epoch = nm_realtime_usec() / NM_USEC_PER_SEC;
        put_u64(s, NM_STORE_EPOCH, o->epoch);
    }
    o->last_seq = get_u64(s, NM_STORE_LAST_SEQ);
    if (query_int64(s->db, "SELECT max(seq) FROM containers", &v) == 0 && v > 0)
        o->last_seq = NM_MAX(o->last_seq, (uint64_t)v);
    s->last_seq = o->last_seq;
    v = 0;
    if (query_int64(s->db, "SELECT max(number) FROM decisions", &v) == 0 && v > 0)
        o->last_decision = (uint64_t)v;
}

int nm_store_open(const char *dir, const char *boot_id, struct nm_store **ret,
                  struct nm_store_opened *ret_opened)
{
    _cleanup_(nm_store_freep) struct nm_store *s = calloc(1, sizeof *s);
    struct nm_store_opened o = {0};
    int r;

    if (!s || asprintf(&s->path, "%s/" NM_STORE_FILE, dir) < 0)
        return -ENOMEM;
    (void)snprintf(s->boot_id, sizeof s->boot_id, "%s", boot_id);
    r = connect_somehow(s, &o);
    if (r < 0)
        return r;
    read_state(s, s->boot_id, &o);
    *ret_opened = o;
    *ret = STEAL_PTR(s);
    return 0;
}

int nm_store_restart(struct nm_store *s, struct nm_store_opened *ret_opened)
{
    struct nm_store_opened o = {.was_damaged = true};
    sqlite3 *old = s->db;
    int r;

    if (s->depth > 0)
        return -EPROTO;
    /* The file is left open: it can be read even when it has lost its name. Closing it must not
     * touch what has the name then. */
    (void)sqlite3_db_config(old, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    forget_statements(s);
    s->db = NULL;
    r = set_aside(s->path, o.set_aside, sizeof o.set_aside);
    s->retry_usec = 0;
    r = r < 0 ? r : connect_somehow(s, &o);
    if (r >= 0)
        nm_store_salvage(s, old, &o.saved);
    (void)sqlite3_close(old);
    if (r < 0) {
        /* memory has always room for an empty store: better than none */
        nm_store_disconnect(s);
        s->on_disk = false;
        s->backlog_error = r;
        return nm_store_connect(s, ":memory:") < 0 ? -ENOMEM : r;
    }
    read_state(s, s->boot_id, &o);
    *ret_opened = o;
    return 0;
}

/* What follows will be written as quickly as ever, and may be lost in a power cut; that the file is
 * in use must not be. */
void nm_store_take_into_use(struct nm_store *s)
{
    (void)nm_store_exec(s->db, "PRAGMA synchronous = FULL");
    (void)nm_store_delete_value(s, NM_STORE_CLOSED);
    (void)nm_store_exec(s->db, "PRAGMA synchronous = NORMAL");
}

/* Closing the file takes the log in, and makes sure of both. */
static void close_for_good(struct nm_store *s)
{
    if (nm_store_flush(s) >= 0)
        (void)nm_store_put_value(s, NM_STORE_CLOSED, s->boot_id);
}

struct nm_store *nm_store_free(struct nm_store *s)
{
    if (!s)
        return NULL;
    if (s->db && s->depth == 0)
        close_for_good(s);
    nm_store_disconnect(s);
    nm_store_queue_done(&s->logged);
    nm_store_queue_done(&s->pending);
    free(s->path);
    free(s);
    return NULL;
}
