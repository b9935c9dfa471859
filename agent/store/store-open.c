/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Opens the journal, even if the file is damaged or missing. A file that is damaged, or of an unknown layout, is
 * renamed together with its log. A new file is begun with the sound rows of the old file (store-salvage.c). The
 * renaming comes first: if reading a damaged file crashes nmd, the next nmd does not read it again. If no file can be
 * made (the disk is full), the store works in memory until a file can be made.
 *
 * Each row has a number that stands for the boot id under which it was written. So rows of an earlier boot are
 * recognized even if nmd is killed before it has processed all of them.
 */

#include "agent/store/store.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "agent/store/store-internal.h"
#include "util/clock.h"
#include "util/parse.h"

/* ---- a damaged file ------------------------------------------------------------------ */

static int rename_with_suffix(const char *path, const char *to, const char *suffix)
{
    char a[512], b[512];

    if ((size_t)snprintf(a, sizeof a, "%s%s", path, suffix) >= sizeof a ||
        (size_t)snprintf(b, sizeof b, "%s%s", to, suffix) >= sizeof b)
        return -ENAMETOOLONG;
    return rename(a, b) < 0 && errno != ENOENT ? -errno : 0;
}

/* Renames SQLite's log together with the file: without its log the file would be older, and the log would corrupt a new
 * file. */
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

/* Reads the file into memory if even a log cannot be made. This works if the file was closed. */
static void read_into_memory(struct nm_store *s, struct nm_store_opened *o)
{
    sqlite3 *old;

    if (nm_store_open_closed(s->path, &old) < 0)
        return;
    nm_store_salvage(s, old, &o->saved);
    s->has_file_rows = !o->saved.incomplete;
    (void)sqlite3_close(old);
}

/* Opens the file, or a new file in place of a damaged file, or a database in memory. */
static int connect_or_use_memory(struct nm_store *s, struct nm_store_opened *o)
{
    int r = nm_wal_mark_check(s->path, s->boot_id, &o->log_frames, &o->log_promised);

    o->was_rolled_back = r < 0;
    r = r < 0 ? r : nm_store_connect(s, s->path);
    if (is_damage(r)) {
        nm_store_disconnect(s);
        r = set_aside(s->path, o->set_aside, sizeof o->set_aside);
        o->was_damaged = r >= 0;
        if (r >= 0)
            r = nm_store_connect(s, s->path);
        if (r >= 0)
            nm_store_salvage_file(s, o->set_aside, &o->saved);
        /* rows of the old file are copied only into a new file */
        o->saved.incomplete = o->saved.incomplete || o->was_rolled_back || r < 0;
    }
    s->on_disk = r >= 0;
    if (!nm_store_has_no_room(r) && r != -EIO)
        return r;
    o->problem = r;
    s->backlog_error = r;
    nm_store_disconnect(s);
    r = nm_store_connect(s, ":memory:");
    if (r >= 0)
        read_into_memory(s, o);
    return r;
}

/* ---- values about the store itself --------------------------------------------------- */

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
    (void)nm_store_put_value(s, key, text); /* kept in memory if it cannot be written now */
}

/* Returns whether a container of an earlier boot is stored as live. */
static bool has_foreign_rows(struct nm_store *s)
{
    char sql[128];
    int64_t n;

    (void)snprintf(
        sql, sizeof sql,
        "SELECT count(*) FROM containers WHERE state != 'COMPLETED' AND boot != %" PRIi64, s->boot);
    return nm_store_query_int64(s->db, sql, &n) == 0 && n > 0;
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
    return last == 0; /* a new store has no rows of an earlier boot */
}

static void read_state(struct nm_store *s, const char *boot_id, struct nm_store_opened *o)
{
    char text[64];
    int64_t v = 0;

    assert(s->db && s->depth == 0 && boot_id[0]);
    o->was_closed = nm_store_get_value(s, NM_STORE_CLOSED, text, sizeof text) == 0;
    o->same_boot = read_boot(s, boot_id);
    o->epoch = get_u64(s, NM_STORE_EPOCH);
    if (o->epoch == 0) {
        o->is_new = true;
        o->epoch = nm_realtime_usec() / NM_USEC_PER_SEC;
        put_u64(s, NM_STORE_EPOCH, o->epoch);
    }
    o->last_seq = get_u64(s, NM_STORE_LAST_SEQ);
    if (nm_store_query_int64(s->db, "SELECT max(seq) FROM containers", &v) == 0 && v > 0)
        o->last_seq = NM_MAX(o->last_seq, (uint64_t)v);
    s->last_seq = o->last_seq;
    v = 0;
    if (nm_store_query_int64(s->db, "SELECT max(number) FROM decisions", &v) == 0 && v > 0)
        o->last_decision = (uint64_t)v;
}

int nm_store_open(const char *dir, const char *boot_id, struct nm_store **ret,
                  struct nm_store_opened *ret_opened)
{
    _cleanup_(nm_store_freep) struct nm_store *s = calloc(1, sizeof *s);
    struct nm_store_opened o = {0};
    int r;

    if (s)
        s->mark = (struct nm_wal_mark)NM_WAL_MARK_NULL;
    if (!s || asprintf(&s->path, "%s/" NM_STORE_FILE, dir) < 0)
        return -ENOMEM;
    (void)snprintf(s->boot_id, sizeof s->boot_id, "%s", boot_id);
    r = connect_or_use_memory(s, &o);
    if (r < 0) {
        nm_store_disconnect(s); /* no write has to be flushed, and nmd does not own the file */
        return r;
    }
    read_state(s, s->boot_id, &o);
    *ret_opened = o;
    *ret = STEAL_PTR(s);
    return 0;
}

int nm_store_restart(struct nm_store *s, struct nm_store_opened *ret_opened)
{
    struct nm_store_opened o = {.was_damaged = true};
    sqlite3 *old;
    int r;

    if (s->depth > 0)
        return -EPROTO;
    /* The file is left open, because it can be read even after its rename. Closing it must not touch a new file of the
     * old name. */
    old = nm_store_detach(s);
    r = set_aside(s->path, o.set_aside, sizeof o.set_aside);
    s->retry_usec = 0;
    r = r < 0 ? r : connect_or_use_memory(s, &o);
    if (r >= 0)
        nm_store_salvage(s, old, &o.saved);
    (void)sqlite3_close(old);
    if (r < 0) {
        /* An empty store fits into memory and is better than an error. */
        nm_store_disconnect(s);
        s->on_disk = false;
        s->backlog_error = r;
        return nm_store_connect(s, ":memory:") < 0 ? -ENOMEM : r;
    }
    read_state(s, s->boot_id, &o);
    *ret_opened = o;
    return 0;
}

/* Later writes are not synced and may be lost in a power cut. The mark that the file is in use must survive a power
 * cut, so the mark is synced. */
void nm_store_mark_open(struct nm_store *s)
{
    s->in_use = true;
    (void)nm_store_exec(s->db, "PRAGMA synchronous = FULL");
    (void)nm_store_delete_value(s, NM_STORE_CLOSED);
    (void)nm_store_exec(s->db, "PRAGMA synchronous = NORMAL");
}

/* Marks the file as closed; closing then checkpoints and syncs the log. An nmd that only opened the file, or could not
 * read it, does not know whether the rows are complete, so it leaves the mark unchanged. */
static void mark_closed(struct nm_store *s)
{
    if (!s->on_disk && !s->in_use)
        return;
    if (nm_store_flush(s) >= 0 && s->in_use)
        (void)nm_store_put_value(s, NM_STORE_CLOSED, s->boot_id);
}

struct nm_store *nm_store_free(struct nm_store *s)
{
    if (!s)
        return NULL;
    if (s->db && s->depth == 0)
        mark_closed(s);
    nm_store_disconnect(s);
    nm_store_queue_done(&s->logged);
    nm_store_queue_done(&s->pending);
    free(s->path);
    free(s);
    return NULL;
}
