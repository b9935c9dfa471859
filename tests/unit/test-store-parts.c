/* SPDX-License-Identifier: Apache-2.0 */

/* Parts of the journal whose files another program has written: the snapshot of a container, and the log with its mark.
 * The test also covers the conversion of SQLite's errors. */

#include "tests/unit/store-fixture.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/store/container-snapshot.h"
#include "agent/store/wal-mark.h"
#include "agent/store/store-internal.h"

/* ---- the snapshot of a container ---------------------------------------------------------------------------- */

static char snapshot_dir[160], snapshot_file[192], blob_file[192];

static void write_copy(struct fixture *w)
{
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);

    (void)snprintf(snapshot_dir, sizeof snapshot_dir, "%s/%s", w->dir, c->id);
    (void)snprintf(snapshot_file, sizeof snapshot_file, "%s/" NM_SNAPSHOT_FILE, snapshot_dir);
    (void)snprintf(blob_file, sizeof blob_file, "%s/" NM_SNAPSHOT_BLOB_FILE, snapshot_dir);
    assert_int_equal(nm_container_set_blob(c, "blob", 4), 0);
    assert_int_equal(nm_container_snapshot_write(snapshot_dir, "boot", c), 0);
}

static int read_copy(void)
{
    struct nm_container *c = NULL;
    bool same_boot;
    int r = nm_container_snapshot_read(snapshot_dir, "boot", &same_boot, &c);

    assert_true(r == 0 ? !!c : !c);
    nm_container_free(c);
    return r;
}

/* Changes a member of the snapshot. path has the names of members, separated by dots. value is JSON, or NULL to remove
 * the member. */
static void change_copy(const char *path, const char *value)
{
    json_t *top = json_load_file(snapshot_file, 0, NULL), *j = top;
    char names[64], *name = names, *dot;

    assert_non_null(top);
    (void)snprintf(names, sizeof names, "%s", path);
    for (; (dot = strchr(name, '.')); name = dot + 1) {
        *dot = '\0';
        j = json_object_get(j, name);
    }
    assert_non_null(json_object_get(j, name));
    if (value)
        assert_int_equal(json_object_set_new(j, name, json_loads(value, JSON_DECODE_ANY, NULL)), 0);
    else
        assert_int_equal(json_object_del(j, name), 0);
    assert_int_equal(json_dump_file(top, snapshot_file, 0), 0);
    json_decref(top);
}

static void test_an_invalid_change_of_a_snapshot_is_refused(void **state)
{
    static const char *const changes[][2] = {
        {"format", "2"},
        {"format", NULL},
        {"boot_id", "7"},
        {"boot_id", NULL},
        {"container", NULL},
        {"container", "[]"},
        {"container.id", "\"container_1763769112_000002\""}, /* the id of another container */
        {"container.id", "\"../1\""},
        {"container.seq", "\"1\""},
        {"container.seq", "-1"},
        {"container.seq", NULL},
        {"container.name", "1"},
        {"container.name", "\"a/b\""},
        {"container.state", "\"ASLEEP\""},
        {"container.exit_reason", "\"boredom\""},
        {"container.exit_cause", "\"why\""},
        {"container.pid", "4294967296"},
        {"container.vcores_milli", "1.5"},
        {"container.log_dir", "\"var/log\""},
        {"container.owner", "\"a-much-too-long-owner-of-it\""},
        {"container.command", NULL},
        {"container.command.argv", "[]"},
        {"container.command.argv", "{}"},
        {"container.command.argv", "[1]"},
        {"container.command.env", NULL},
        {"container.command.env", "[\"A\"]"},
        {"container.command.env", "[\"=A\"]"},
        {"container.command.workdir", "1"},
        {"container.command.user", NULL},
        {"container.command.uid", "\"0\""},
        {"container.command.uid", "-1"},
        {"container.command.uid", "4294967295"},
        {"container.command.gid", "0.5"},
        {"container.command.gid", "-1"},
        {"container.command.gid", "4294967295"},
        {"container.command.no_new_privs", "1"},
    };
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(changes); i++) {
        int r;

        write_copy(w);
        assert_int_equal(read_copy(), 0);
        change_copy(changes[i][0], changes[i][1]);
        r = read_copy();
        if (r != -EBADMSG && r != -EINVAL)
            fail_msg("%s = %s: %d", changes[i][0], changes[i][1], r);
    }
}

/* Reads a snapshot of an earlier version, which lacks later members. */
static void test_a_snapshot_of_an_earlier_version_is_read(void **state)
{
    write_copy(*state);
    change_copy("container.log_dir", NULL);
    change_copy("container.exit_cause", NULL);
    assert_int_equal(read_copy(), 0);
}

static void test_a_snapshot_that_is_not_a_regular_file_is_refused(void **state)
{
    struct fixture *w = *state;

    write_copy(w);
    assert_int_equal(unlink(blob_file), 0);
    assert_int_equal(read_copy(), -EBADMSG); /* the snapshot refers to the file of the blob, which is missing */
    assert_int_equal(symlink("/etc/passwd", blob_file), 0);
    assert_int_equal(read_copy(), -ELOOP);
    write_copy(w);
    assert_int_equal(read_copy(), 0);
    assert_int_equal(truncate(blob_file, NM_BLOB_MAX + 1), 0);
    assert_int_equal(read_copy(), -EBADMSG);
    write_copy(w);
    assert_int_equal(truncate(snapshot_file, 10), 0);
    assert_int_equal(read_copy(), -EBADMSG);
    assert_int_equal(truncate(snapshot_file, 100 << 20), 0);
    assert_int_equal(read_copy(), -EBADMSG);
    assert_int_equal(unlink(snapshot_file), 0);
    assert_int_equal(read_copy(), -ENOENT);
    assert_int_equal(mkfifo(snapshot_file, 0600), 0);
    assert_int_equal(read_copy(), -EBADMSG);
}

/* A text that JSON can't represent is refused, and the old snapshot remains. */
static void test_a_snapshot_that_is_not_utf8_is_not_written(void **state)
{
    static char bad[] = "\xff\xfe";
    struct fixture *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);
    char **words[] = {&c->command.workdir, &c->command.user};

    write_copy(w);
    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++) {
        char *good = *words[i];

        *words[i] = bad;
        assert_int_equal(nm_container_snapshot_write(snapshot_dir, "boot", c), -EILSEQ);
        *words[i] = good;
        assert_int_equal(read_copy(), 0);
    }
    free(c->command.env);
    c->command.env = nm_strv_pack((const char *[]){"A=\xff"}, 1);
    assert_int_equal(nm_container_snapshot_write(snapshot_dir, "boot", c), -EILSEQ);
    strcpy(c->name, "\xff");
    assert_int_equal(nm_container_snapshot_write(snapshot_dir, "boot", c), -EILSEQ);
    assert_int_equal(read_copy(), 0);
}

/* The directory of the snapshot can't be created. */
static void test_a_snapshot_that_can_not_be_written_is_an_error(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);
    char path[128];

    (void)snprintf(path, sizeof path, "%s/file", w->dir);
    assert_int_equal(close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    assert_int_equal(nm_container_snapshot_write(path, "boot", c), -ENOTDIR);
    (void)snprintf(path, sizeof path, "%s/file/1", w->dir);
    assert_int_equal(nm_container_snapshot_write(path, "boot", c), -ENOTDIR);
}

/* ---- the mark of the log ------------------------------------------------------------------------------------ */

/* Offsets of numbers in the header of SQLite's log and in its first frame. */
enum { MAGIC = 0, PAGE = 8, SALT = 16, SALT_2 = 20, SUM = 24, SUM_2 = 28, FRAME_SALT = 32 + 8, FRAME_SUM_2 = 32 + 20 };

static uint32_t number_at(const char *file, off_t at)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    uint32_t v;

    assert_int_equal(pread(fd, &v, sizeof v, at), sizeof v);
    (void)close(fd);
    return be32toh(v);
}

static void set_number(const char *file, off_t at, uint32_t v)
{
    int fd = open(file, O_WRONLY | O_CLOEXEC);

    v = htobe32(v);
    assert_int_equal(pwrite(fd, &v, sizeof v, at), sizeof v);
    (void)close(fd);
}

static int check_mark(const struct fixture *w, uint32_t *ret_frames)
{
    uint32_t promised = 0;
    int r;

    *ret_frames = UINT32_MAX;
    r = nm_wal_mark_check(w->file, "boot", ret_frames, &promised);
    assert_true(r == 0 || (r == -EUCLEAN && *ret_frames < promised));
    return r;
}

static void test_a_changed_log_is_detected(void **state)
{
    static const struct {
        off_t at;
        uint32_t flip;
    } changes[] = {
        {MAGIC, 0x100}, {PAGE, 4096 ^ 100},    {PAGE, 4096 ^ 516}, {PAGE, 4096 ^ 131072}, {SALT, 0x1000},
        {SALT_2, 1},    {SUM, 1},              {SUM_2, 1},         {FRAME_SALT, 1},       {FRAME_SUM_2, 1},
    };
    struct fixture *w = *state;
    char log[128];
    uint32_t frames, v;

    leave_log(w, 3);
    (void)snprintf(log, sizeof log, "%s-wal", w->file);
    assert_int_equal(check_mark(w, &frames), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(changes); i++) {
        v = number_at(log, changes[i].at);
        set_number(log, changes[i].at, v ^ changes[i].flip);
        assert_int_equal(check_mark(w, &frames), -EUCLEAN);
        assert_int_equal(frames, 0);
        set_number(log, changes[i].at, v);
        assert_int_equal(check_mark(w, &frames), 0);
    }
    v = number_at(log, SALT);
    set_number(log, SALT, v + 1); /* the log has been replaced by the next one, which has no mark yet */
    assert_int_equal(check_mark(w, &frames), 0);
    assert_int_equal(truncate(log, 10), 0);
    assert_int_equal(check_mark(w, &frames), -EUCLEAN);
}

static void set_time(const char *file, time_t sec, long nsec)
{
    const struct timespec t[2] = {{.tv_sec = sec, .tv_nsec = nsec}, {.tv_sec = sec, .tv_nsec = nsec}};

    assert_int_equal(utimensat(AT_FDCWD, file, t, 0), 0);
}

/* An empty log has lost transactions, unless a checkpoint has copied its contents to the database since the mark. */
static void test_an_emptied_log_is_detected(void **state)
{
    struct fixture *w = *state;
    char log[128], mark[128];
    uint32_t frames;

    leave_log(w, 3);
    (void)snprintf(log, sizeof log, "%s-wal", w->file);
    (void)snprintf(mark, sizeof mark, "%s" NM_WAL_MARK_SUFFIX, w->file);
    assert_int_equal(truncate(log, 0), 0);
    set_time(mark, 1000, 500);
    set_time(w->file, 1000, 400);
    assert_int_equal(check_mark(w, &frames), -EUCLEAN);
    set_time(w->file, 1000, 600);
    assert_int_equal(check_mark(w, &frames), 0);
    set_time(w->file, 999, 600);
    assert_int_equal(check_mark(w, &frames), -EUCLEAN);
    set_time(w->file, 1001, 0);
    assert_int_equal(check_mark(w, &frames), 0);
    assert_int_equal(unlink(w->file), 0); /* a missing database can't have been replaced by an older one */
    assert_int_equal(check_mark(w, &frames), 0);
    assert_int_equal(unlink(log), 0);
    assert_int_equal(symlink("nowhere", log), 0);
    assert_int_equal(check_mark(w, &frames), 0); /* opening the database will report this error */
}

static void test_a_changed_mark_is_detected(void **state)
{
    struct fixture *w = *state;
    char mark[128], log[128];
    uint32_t frames, v;

    leave_log(w, 3);
    (void)snprintf(mark, sizeof mark, "%s" NM_WAL_MARK_SUFFIX, w->file);
    (void)snprintf(log, sizeof log, "%s-wal", w->file);
    assert_int_equal(truncate(log, 10), 0);
    assert_int_equal(check_mark(w, &frames), -EUCLEAN);
    v = number_at(mark, 0);
    set_number(mark, 0, ~v);
    assert_int_equal(check_mark(w, &frames), 0);
    set_number(mark, 0, v);
    assert_int_equal(check_mark(w, &frames), -EUCLEAN);
    assert_int_equal(truncate(mark, 20), 0);
    assert_int_equal(check_mark(w, &frames), 0);
}

/* Without a mark, the state of the log is unknown, and all other functions work. */
static void test_without_a_mark_the_state_of_the_log_is_unknown(void **state)
{
    struct nm_wal_mark k = NM_WAL_MARK_NULL;
    struct fixture *w = *state;
    uint32_t frames, promised;
    char path[600];

    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(nm_wal_mark_check(path, "boot", &frames, &promised), 0);
    nm_wal_mark_open(&k, path, "boot");
    assert_true(k.fd < 0);
    nm_wal_mark_put(&k, 1);
    nm_wal_mark_done(&k);
    nm_wal_mark_open(&k, "/no/such/dir/nmd.db", "boot");
    assert_true(k.fd < 0);
    nm_wal_mark_put(&k, 1);
    nm_wal_mark_clear(&k);
    nm_wal_mark_done(&k);
    nm_wal_mark_open(&k, w->file, "boot");
    assert_true(k.fd >= 0);
    nm_wal_mark_put(&k, 1); /* the log does not exist */
    assert_int_equal(nm_wal_mark_check(w->file, "boot", &frames, &promised), 0);
    nm_wal_mark_done(&k);
}

/* ---- errors of SQLite --------------------------------------------------------------------------------------- */

static void test_error_codes_of_sqlite_are_converted_to_errno(void **state)
{
    static const struct {
        int code, error;
    } codes[] = {
        {SQLITE_OK, 0},
        {SQLITE_ROW, 0},
        {SQLITE_DONE, 0},
        {SQLITE_FULL, -ENOSPC},
        {SQLITE_CORRUPT, -EUCLEAN},
        {SQLITE_CORRUPT_VTAB, -EUCLEAN},
        {SQLITE_NOTADB, -EUCLEAN},
        {SQLITE_NOMEM, -ENOMEM},
        {SQLITE_BUSY, -EBUSY},
        {SQLITE_LOCKED, -EBUSY},
        {SQLITE_READONLY, -EROFS},
        {SQLITE_PERM, -EACCES},
        {SQLITE_AUTH, -EACCES},
        {SQLITE_TOOBIG, -E2BIG},
        {SQLITE_IOERR_READ, -EIO},
        {SQLITE_CANTOPEN, -EIO},
        {SQLITE_CONSTRAINT, -EINVAL},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(codes); i++)
        assert_int_equal(nm_store_error(NULL, codes[i].code), codes[i].error);
}

static void test_a_query_that_returns_no_row_is_an_error(void **state)
{
    int64_t v = 7;
    sqlite3 *db;

    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(nm_store_query_int64(db, "SELECT 1 WHERE 0", &v), -ENOENT);
    assert_int_equal(nm_store_query_int64(db, "SELECT nothing", &v), -EINVAL);
    assert_int_equal(v, 7);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

#define store_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_an_invalid_change_of_a_snapshot_is_refused),
        store_test(test_a_snapshot_of_an_earlier_version_is_read),
        store_test(test_a_snapshot_that_is_not_a_regular_file_is_refused),
        store_test(test_a_snapshot_that_is_not_utf8_is_not_written),
        store_test(test_a_snapshot_that_can_not_be_written_is_an_error),
        store_test(test_a_changed_log_is_detected),
        store_test(test_an_emptied_log_is_detected),
        store_test(test_a_changed_mark_is_detected),
        store_test(test_without_a_mark_the_state_of_the_log_is_unknown),
        cmocka_unit_test(test_error_codes_of_sqlite_are_converted_to_errno),
        cmocka_unit_test(test_a_query_that_returns_no_row_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
