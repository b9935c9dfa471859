/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes values in the journal's rows, and the file itself. The first byte of the input chooses the change:
 *
 *   even: the rest is put into one column of one row of a valid file, as text or as a number;
 *   odd:  the rest overwrites a part of a valid file.
 *
 * nmd may report damage when it opens and loads the file, but the loaded data must be valid. Files are on /dev/shm if
 * it exists.
 */

#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "agent/store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const columns[] = {
    "containers:id",
    "containers:seq",
    "containers:name",
    "containers:app",
    "containers:owner",
    "containers:submitter_uid",
    "containers:type",
    "containers:state",
    "containers:admitted",
    "containers:memory_bytes",
    "containers:vcores_milli",
    "containers:pause_deadline_usec",
    "containers:shim_pid",
    "containers:exit_code",
    "containers:exit_reason",
    "containers:kill_reason",
    "containers:message",
    "containers:boot",
    "commands:argv",
    "commands:env",
    "commands:workdir",
    "commands:user",
    "commands:uid",
    "commands:no_new_privs",
    "decisions:number",
    "decisions:container_id",
    "decisions:json",
    "key_values:value",
    "key_values:key",
    "containers:exit_cause",
    "containers:exit_decision",
    "containers:owner_code",
    "owner_blobs:data",
    "containers:keep_result",
};

static char dir[64], file[96];

static void remove_dir(void)
{
    static const char *const names[] = {"nmd.db", "nmd.db-wal", "nmd.db-journal"};
    char path[128];

    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

static void make_dir(void)
{
    struct stat st;

    if (*dir)
        return;
    (void)snprintf(dir, sizeof dir, "%s/nm-fuzz-store-XXXXXX",
                   stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(dir))
        abort();
    (void)snprintf(file, sizeof file, "%s/nmd.db", dir);
    (void)atexit(remove_dir);
}

static struct nm_store *open_store(void)
{
    struct nm_store_opened o;
    struct nm_store *s;

    if (nm_store_open(dir, "boot", &s, &o) < 0)
        abort();
    if (o.was_damaged)
        (void)unlink(o.set_aside);
    return s;
}

static void put_container(struct nm_store *s)
{
    struct nm_container c = {
        .id = "container_1_000001", .owner = "local", .view = {.seq = 1, .state = NM_RUNNING}};

    c.command = (struct nm_command){
        .argv = (char *[]){(char *)"sleep", (char *)"1", NULL},
        .env = (char *[]){(char *)"A=1", NULL},
        .workdir = (char *)"/",
        .user = (char *)"root",
    };
    c.blob = (struct nm_blob){.data = (void *)(uintptr_t)"blob", .bytes = 4};
    if (nm_store_put_container(s, &c) < 0)
        abort();
}

static void copy_file(uint8_t *bytes, size_t *size, bool out)
{
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ssize_t n = out ? write(fd, bytes, *size) : read(fd, bytes, *size);

    if (n < 0 || (out && (ftruncate(fd, n) < 0 || (size_t)n != *size)))
        abort();
    *size = (size_t)n;
    (void)close(fd);
}

/* Makes a valid file in the first call. Later calls copy this file, because a copy is much faster. */
static void make_good_file(void)
{
    static uint8_t bytes[1 << 18];
    static size_t size;
    struct nm_decision d = {.number = 1, .container_id = "container_1_000001"};
    struct nm_store *s;

    if (size > 0) {
        copy_file(bytes, &size, true);
        return;
    }
    s = open_store();
    put_container(s);
    if (nm_store_put_decision(s, &d) < 0)
        abort();
    nm_store_free(s);
    size = sizeof bytes;
    copy_file(bytes, &size, false);
}

static void damage_row(const uint8_t *data, size_t size)
{
    const char *column = columns[data[0] % NM_ARRAY_SIZE(columns)], *colon = strchr(column, ':');
    char sql[128];
    sqlite3_stmt *stmt;
    sqlite3 *db;

    (void)snprintf(sql, sizeof sql, "UPDATE OR IGNORE %.*s SET %s = ?", (int)(colon - column),
                   column, colon + 1);
    if (sqlite3_open(file, &db) != SQLITE_OK ||
        sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        abort();
    if (size == 9) {
        int64_t v;

        memcpy(&v, data + 1, sizeof v);
        (void)sqlite3_bind_int64(stmt, 1, v);
    } else
        (void)sqlite3_bind_text(stmt, 1, (const char *)data + 1, (int)size - 1, SQLITE_STATIC);
    (void)sqlite3_step(stmt);
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
}

static void damage_file(const uint8_t *data, size_t size)
{
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    off_t offset = (off_t)data[0] * 256 + data[1];

    if (fd < 0 || pwrite(fd, data + 2, size - 2, offset) < 0)
        abort();
    (void)close(fd);
}

static void check_container(struct nm_container *c, void *userdata)
{
    (void)userdata;
    if (!*c->id || strlen(c->id) >= NM_ID_SIZE || c->view.state >= NM_STATE_COUNT ||
        !c->command.argv || !c->command.argv[0] || !c->command.user ||
        c->command.uid == (uid_t)-1 || c->shim_pid < 0 || c->blob.bytes > NM_BLOB_MAX)
        abort();
    nm_container_free(c);
}

static void check_decision(const struct nm_decision *d, void *userdata)
{
    char text[512];

    (void)userdata;
    (void)nm_decision_summary(d, text, sizeof text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_store *s;
    char value[64];
    unsigned n_bad;

    if (size < 3 || size > 4096)
        return 0;
    make_dir();
    make_good_file();
    if (data[0] % 2)
        damage_file(data + 1, size - 1);
    else
        damage_row(data + 1, size - 1);
    s = open_store();
    (void)nm_store_load_containers(s, check_container, NULL, &n_bad);
    (void)nm_store_load_decisions(s, NULL, UINT64_MAX, 100, check_decision, NULL);
    (void)nm_store_get_value(s, "store.epoch", value, sizeof value);
    /* whatever the damage is, a transaction can begin */
    if (nm_store_begin(s) < 0)
        abort();
    (void)nm_store_commit(s);
    nm_store_free(s);
    return 0;
}
