/* SPDX-License-Identifier: Apache-2.0 */

/* The journal, on real files: what goes in comes out, and what a damaged, full or foreign file does. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <glob.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/store.h"
#include "util/clock.h"

#define N_LOADED 600

struct world {
    char dir[64], file[96];
    struct nm_store *store;
    struct nm_store_opened opened;
    struct nm_container *loaded[N_LOADED];
    unsigned n_loaded, n_bad;
    struct nm_decision decisions[32];
    unsigned n_decisions;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);

    strcpy(w->dir, "/tmp/nm-test-store-XXXXXX");
    if (!mkdtemp(w->dir))
        return -1;
    (void)snprintf(w->file, sizeof w->file, "%s/nmd.db", w->dir);
    *state = w;
    return 0;
}

static void unload(struct world *w)
{
    for (unsigned i = 0; i < w->n_loaded; i++)
        nm_container_free(w->loaded[i]);
    w->n_loaded = w->n_decisions = 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    unload(w);
    nm_store_free(w->store);
    (void)nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(w);
    return 0;
}

static void open_store(struct world *w, const char *boot_id)
{
    assert_int_equal(nm_store_open(w->dir, boot_id, &w->store, &w->opened), 0);
}

static void close_store(struct world *w)
{
    w->store = nm_store_free(w->store);
}

static void on_container(struct nm_container *c, void *userdata)
{
    struct world *w = userdata;

    assert_true(w->n_loaded < N_LOADED);
    w->loaded[w->n_loaded++] = c;
}

static void load(struct world *w)
{
    unload(w);
    assert_int_equal(nm_store_load_containers(w->store, on_container, w, &w->n_bad), 0);
}

static void on_decision(const struct nm_decision *d, void *userdata)
{
    struct world *w = userdata;

    assert_true(w->n_decisions < NM_ARRAY_SIZE(w->decisions));
    w->decisions[w->n_decisions++] = *d;
}

static struct nm_container *make(unsigned seq)
{
    char *argv[] = {(char *)"/bin/echo", (char *)"", (char *)"\"quoted\"\n\tü", NULL};
    char *env[] = {(char *)"A=1", (char *)"B=", (char *)"C=x=y", NULL};
    const struct nm_command command = {
        .argv = argv, .env = env, .workdir = (char *)"/tmp", .user = (char *)"nobody", .uid = 65534,
        .gid = UINT32_MAX - 1, .no_new_privs = true,
    };
    struct nm_container *c;

    assert_int_equal(nm_container_new(&c), 0);
    (void)snprintf(c->id, sizeof c->id, "container_1763769112_%06u", seq);
    strcpy(c->owner, "local");
    c->view.seq = seq;
    c->view.state = NM_SCHEDULED;
    assert_int_equal(nm_command_copy(&command, &c->command), 0);
    return c;
}

/* Every column another value, so that two that were mixed up would be seen. */
static struct nm_container *make_full(void)
{
    struct nm_container *c = make(7);
    uint64_t n = 1000;

    strcpy(c->name, "name");
    strcpy(c->app, "app");
    c->submitter_uid = 1001;
    c->view.type = NM_OPPORTUNISTIC;
    c->view.state = NM_PAUSED;
    c->view.admitted = c->view.user_paused = true;
    c->view.request = (struct nm_resources){n + 1, n + 2};
    c->vcores_milli = UINT32_MAX;
    c->view.measured = (struct nm_resources){n + 3, n + 4};
    c->view.n_samples = 5;
    c->view.submitted_usec = n + 6;
    c->view.started_usec = n + 7;
    c->view.paused_usec = n + 8;
    c->view.pause_deadline_usec = n + 9;
    c->view.last_cpu_millicores = n + 10;
    c->view.cpu_usage_usec = n + 11;
    c->view.min_runtime_usec = n + 12;
    c->view.expected_usec = n + 13;
    c->submitted_realtime_usec = n + 14;
    c->started_realtime_usec = n + 15;
    c->finished_realtime_usec = n + 16;
    c->finished_usec = n + 17;
    c->shim_pid = 18;
    c->shim_start_ticks = INT64_MAX;
    c->pid = INT32_MAX;
    c->cgroup_inode = UINT64_C(0xfedcba9876543210);
    c->exit_code = -1;
    c->exit_signal = 9;
    c->exit_reason = NM_EXIT_OOM;
    c->kill_reason = NM_EXIT_PREEMPTED;
    c->memory_peak_bytes = n + 19;
    c->swap_bytes = n + 20;
    c->oom_kills = 21;
    memset(c->message, 'm', sizeof c->message - 1);
    return c;
}

/* All of the struct but its pointers is plain data without holes that matter: both come from calloc. */
static void assert_same(const struct nm_container *a, const struct nm_container *b)
{
    struct nm_container x = *a, y = *b;

    x.view.owner = y.view.owner = NULL; /* the manager's own, not stored */
    x.command.argv = y.command.argv = x.command.env = y.command.env = NULL;
    x.command.workdir = y.command.workdir = x.command.user = y.command.user = NULL;
    assert_memory_equal(&x, &y, sizeof x);
    for (int i = 0; a->command.argv[i] || b->command.argv[i]; i++)
        assert_string_equal(a->command.argv[i], b->command.argv[i]);
    for (int i = 0; a->command.env[i] || b->command.env[i]; i++)
        assert_string_equal(a->command.env[i], b->command.env[i]);
    assert_string_equal(a->command.workdir, b->command.workdir);
    assert_string_equal(a->command.user, b->command.user);
}

static void put(struct world *w, unsigned seq, int expected)
{
    _cleanup_(nm_container_freep) struct nm_container *c = make(seq);

    assert_int_equal(nm_store_put_container(w->store, c), expected);
}

/* Runs SQL on the closed file, as another hand might. */
static void run_sql(const struct world *w, const char *sql)
{
    char *message = NULL;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(w->file, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_round_trip(void **state)
{
    struct world *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make_full();
    struct stat st;

    open_store(w, "boot");
    assert_int_equal(stat(w->file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_false(w->opened.was_damaged);
    assert_int_equal(w->opened.problem, 0);
    assert_true(w->opened.epoch > 1700000000);
    assert_int_equal(nm_store_put_container(w->store, c), 0);
    close_store(w);
    open_store(w, "boot");
    assert_true(w->opened.same_boot);
    assert_int_equal(w->opened.last_seq, 7);
    load(w);
    assert_int_equal(w->n_bad, 0);
    assert_int_equal(w->n_loaded, 1);
    assert_same(w->loaded[0], c);
}

static void test_update_and_delete(void **state)
{
    struct world *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(2);

    open_store(w, "boot");
    put(w, 3, 0);
    assert_int_equal(nm_store_put_container(w->store, c), 0);
    c->view.state = NM_RUNNING;
    c->view.pause_deadline_usec = UINT64_MAX;
    c->exit_code = 255;
    assert_int_equal(nm_store_put_container(w->store, c), 0);
    put(w, 1, 0);
    load(w);
    assert_int_equal(w->n_loaded, 3); /* in the order of arrival */
    assert_int_equal(w->loaded[0]->view.seq, 1);
    assert_same(w->loaded[1], c);
    assert_int_equal(nm_store_delete_container(w->store, c->id), 0);
    assert_int_equal(nm_store_delete_container(w->store, "no-such"), 0);
    close_store(w);
    open_store(w, "boot");
    load(w);
    assert_int_equal(w->n_loaded, 2);
    assert_int_equal(w->loaded[1]->view.seq, 3);
    /* a number once given is not given again, even if its container is forgotten */
    assert_int_equal(nm_store_delete_container(w->store, w->loaded[1]->id), 0);
    close_store(w);
    open_store(w, "boot");
    assert_int_equal(w->opened.last_seq, 3);
}

/* nmd dies by SIGKILL with the store open: what was put is there. */
static void test_killed(void **state)
{
    struct world *w = *state;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        open_store(w, "boot");
        for (unsigned i = 1; i <= 50; i++)
            put(w, i, 0);
        (void)nm_store_begin(w->store);
        put(w, 51, 0); /* not committed */
        (void)kill(getpid(), SIGKILL);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    open_store(w, "boot");
    assert_true(w->opened.same_boot);
    assert_false(w->opened.was_damaged);
    load(w);
    assert_int_equal(w->n_loaded, 50);
}

static void test_boots(void **state)
{
    struct world *w = *state;
    uint64_t epoch;

    open_store(w, "one");
    assert_true(w->opened.same_boot);
    epoch = w->opened.epoch;
    put(w, 1, 0);
    put(w, 2, 0);
    close_store(w);
    open_store(w, "two");
    assert_false(w->opened.same_boot);
    assert_int_equal(w->opened.epoch, epoch);
    /* nmd gets as far as the first of them, and dies */
    load(w);
    w->loaded[0]->view.state = NM_COMPLETED;
    assert_int_equal(nm_store_put_container(w->store, w->loaded[0]), 0);
    close_store(w);
    open_store(w, "two");
    assert_false(w->opened.same_boot);
    load(w);
    w->loaded[1]->view.state = NM_COMPLETED;
    assert_int_equal(nm_store_put_container(w->store, w->loaded[1]), 0);
    close_store(w);
    open_store(w, "two");
    assert_true(w->opened.same_boot);
}

static void test_values(void **state)
{
    struct world *w = *state;
    char buf[8], long_key[NM_ID_SIZE + 1] = "";

    open_store(w, "boot");
    assert_int_equal(nm_store_get_value(w->store, "k", buf, sizeof buf), -ENOENT);
    assert_int_equal(nm_store_put_value(w->store, "k", "v'\"1"), 0);
    assert_int_equal(nm_store_get_value(w->store, "k", buf, sizeof buf), 0);
    assert_string_equal(buf, "v'\"1");
    assert_int_equal(nm_store_put_value(w->store, "k", "12345678"), 0);
    assert_int_equal(nm_store_get_value(w->store, "k", buf, sizeof buf), -E2BIG);
    memset(long_key, 'k', NM_ID_SIZE);
    assert_int_equal(nm_store_put_value(w->store, long_key, "v"), -EINVAL);
}

static void test_transactions(void **state)
{
    struct world *w = *state;

    open_store(w, "boot");
    assert_int_equal(nm_store_commit(w->store), -EPROTO);
    assert_int_equal(nm_store_begin(w->store), 0);
    assert_int_equal(nm_store_begin(w->store), 0);
    put(w, 1, 0);
    assert_int_equal(nm_store_commit(w->store), 0);
    put(w, 2, 0);
    assert_int_equal(nm_store_commit(w->store), 0);
    close_store(w);
    open_store(w, "boot");
    load(w);
    assert_int_equal(w->n_loaded, 2);
}

static void put_decision(struct world *w, uint64_t number, const char *id, int expected)
{
    struct nm_decision d = {.number = number, .kind = NM_DECISION_KILL, .n_candidates = 0};

    strcpy(d.container_id, id);
    assert_int_equal(nm_store_put_decision(w->store, &d), expected);
}

static void load_decisions(struct world *w, const char *id, unsigned max)
{
    w->n_decisions = 0;
    assert_int_equal(nm_store_load_decisions(w->store, id, max, on_decision, w), 0);
}

static void test_decisions(void **state)
{
    struct world *w = *state;

    open_store(w, "boot");
    for (uint64_t i = 1; i <= 10; i++)
        put_decision(w, i, i % 2 ? "odd" : "even", 0);
    put_decision(w, 4, "even", 0); /* again, with its outcome */
    load_decisions(w, NULL, 3);
    assert_int_equal(w->n_decisions, 3);
    assert_int_equal(w->decisions[0].number, 8);
    assert_int_equal(w->decisions[2].number, 10);
    load_decisions(w, "even", 100);
    assert_int_equal(w->n_decisions, 5);
    assert_int_equal(w->decisions[0].number, 2);
    assert_string_equal(w->decisions[0].container_id, "even");
    assert_int_equal(nm_store_trim_decisions(w->store, 4), 0);
    close_store(w);
    run_sql(w, "UPDATE decisions SET json = '{' WHERE number = 9");
    open_store(w, "boot");
    assert_int_equal(w->opened.last_decision, 10);
    load_decisions(w, NULL, 100);
    assert_int_equal(w->n_decisions, 3);
    assert_int_equal(w->decisions[0].number, 7);
    assert_int_equal(w->decisions[1].number, 8);
    assert_int_equal(w->decisions[2].number, 10);
}

static void test_second_daemon(void **state)
{
    struct world *w = *state;
    struct nm_store *other;
    struct nm_store_opened opened;

    open_store(w, "boot");
    put(w, 1, 0);
    assert_int_equal(nm_store_open(w->dir, "boot", &other, &opened), -EBUSY);
    put(w, 2, 0);
}

static void test_no_directory(void **state)
{
    struct world *w = *state;

    assert_int_equal(nm_store_open("/no/such/dir", "boot", &w->store, &w->opened), -ENOENT);
    assert_null(w->store);
}

/* ---- damage --------------------------------------------------------------------------------------------------- */

static void fill_and_close(struct world *w)
{
    open_store(w, "boot");
    for (unsigned i = 1; i <= 500; i++)
        put(w, i, 0);
    close_store(w);
}

static void check_set_aside(struct world *w)
{
    struct stat st;

    open_store(w, "boot");
    assert_true(w->opened.was_damaged);
    assert_int_equal(lstat(w->opened.set_aside, &st), 0);
    assert_int_equal(w->opened.last_seq, 0);
    load(w);
    assert_int_equal(w->n_loaded, 0);
    put(w, 1, 0);
    close_store(w);
    open_store(w, "boot");
    assert_false(w->opened.was_damaged);
    load(w);
    assert_int_equal(w->n_loaded, 1);
}

static void overwrite(const struct world *w, off_t offset, size_t n, int byte)
{
    int fd = open(w->file, O_WRONLY | O_CLOEXEC);
    char *junk = malloc(n);

    memset(junk, byte, n);
    assert_int_equal(pwrite(fd, junk, n, offset), n);
    free(junk);
    (void)close(fd);
}

static void test_garbage_header(void **state)
{
    struct world *w = *state;

    fill_and_close(w);
    overwrite(w, 0, 64, 0xa5);
    check_set_aside(w);
}

static void test_garbage_pages(void **state)
{
    struct world *w = *state;

    fill_and_close(w);
    overwrite(w, 2 * 4096, 8 * 4096, 0xa5);
    check_set_aside(w);
}

static void test_truncated(void **state)
{
    struct world *w = *state;
    struct stat st;

    fill_and_close(w);
    assert_int_equal(stat(w->file, &st), 0);
    assert_int_equal(truncate(w->file, st.st_size / 2 / 4096 * 4096), 0);
    check_set_aside(w);
}

static void test_cut_mid_page(void **state)
{
    struct world *w = *state;

    fill_and_close(w);
    assert_int_equal(truncate(w->file, 100), 0);
    check_set_aside(w);
}

static void test_not_a_database(void **state)
{
    struct world *w = *state;
    int fd = open(w->file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, "This is a note, not a database. It is long enough to be looked at.\n", 67), 67);
    (void)close(fd);
    check_set_aside(w);
}

static void test_wrong_version(void **state)
{
    struct world *w = *state;

    fill_and_close(w);
    run_sql(w, "PRAGMA user_version = 4711");
    check_set_aside(w);
}

static void test_wrong_tables(void **state)
{
    struct world *w = *state;

    fill_and_close(w);
    run_sql(w, "ALTER TABLE containers DROP COLUMN message");
    check_set_aside(w);
}

static void test_foreign_database(void **state)
{
    struct world *w = *state;

    run_sql(w, "CREATE TABLE t (x)");
    check_set_aside(w);
}

static void test_directory_in_place(void **state)
{
    struct world *w = *state;

    assert_int_equal(mkdir(w->file, 0700), 0);
    check_set_aside(w);
}

static void test_link_in_place(void **state)
{
    struct world *w = *state;
    char target[96];

    (void)snprintf(target, sizeof target, "%s/elsewhere", w->dir);
    assert_int_equal(symlink(target, w->file), 0);
    check_set_aside(w);
    assert_int_equal(access(target, F_OK), -1);
}

/* Twice in the same second: no damaged file overwrites another. */
static void test_damaged_twice(void **state)
{
    struct world *w = *state;
    char pattern[128];
    glob_t g;

    for (int i = 0; i < 2; i++) {
        open_store(w, "boot");
        put(w, 1, 0);
        close_store(w);
        overwrite(w, 0, 64, 0xa5);
        open_store(w, "boot");
        assert_true(w->opened.was_damaged);
        close_store(w);
    }
    (void)snprintf(pattern, sizeof pattern, "%s.damaged-*", w->file);
    assert_int_equal(glob(pattern, 0, NULL, &g), 0);
    assert_int_equal(g.gl_pathc, 2);
    globfree(&g);
}

/* A log that was half written, or scribbled over, costs its last transactions and no more. */
static void test_garbage_log(void **state)
{
    struct world *w = *state;
    char log[128];
    pid_t pid = fork();
    int status, fd;

    if (pid == 0) {
        open_store(w, "boot");
        put(w, 1, 0);
        _exit(0); /* without closing: the log stays */
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)snprintf(log, sizeof log, "%s-wal", w->file);
    fd = open(log, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(write(fd, "garbage", 7), 7);
    (void)close(fd);
    open_store(w, "boot");
    assert_false(w->opened.was_damaged);
    load(w);
    assert_int_equal(w->n_loaded, 1);
}

static void test_restart(void **state)
{
    struct world *w = *state;
    uint64_t epoch;

    open_store(w, "boot");
    epoch = w->opened.epoch;
    put(w, 1, 0);
    assert_int_equal(nm_store_restart(w->store, &w->opened), 0);
    assert_true(w->opened.was_damaged);
    assert_true(w->opened.epoch >= epoch);
    put(w, 2, 0);
    close_store(w);
    open_store(w, "boot");
    load(w);
    assert_int_equal(w->n_loaded, 1);
    assert_int_equal(w->loaded[0]->view.seq, 2);
}

static void test_bad_rows(void **state)
{
    struct world *w = *state;
    static const char *const damages[] = {
        "UPDATE containers SET state = 'SLEEPING' WHERE seq = 1",
        "UPDATE containers SET type = 'guaranteed ' WHERE seq = 2",
        "UPDATE containers SET exit_reason = x'00' WHERE seq = 3",
        "UPDATE containers SET memory_bytes = 'much' WHERE seq = 4",
        "UPDATE containers SET memory_bytes = -1 WHERE seq = 5",
        "UPDATE containers SET memory_bytes = 1e300 WHERE seq = 6",
        "UPDATE containers SET pid = 4294967296 WHERE seq = 7",
        "UPDATE containers SET submitter_uid = 4294967295 WHERE seq = 8",
        "UPDATE containers SET admitted = 2 WHERE seq = 9",
        "UPDATE containers SET name = '../../etc' WHERE seq = 10",
        "UPDATE containers SET id = 'a/b' WHERE seq = 11",
        "UPDATE containers SET id = '' WHERE seq = 12",
        "UPDATE containers SET message = printf('%.*c', 160, 'm') WHERE seq = 13",
        "UPDATE containers SET owner = 'a-much-too-long-owner' WHERE seq = 14",
        "UPDATE commands SET argv = '[]' WHERE id LIKE '%000015'",
        "UPDATE commands SET argv = '{}' WHERE id LIKE '%000016'",
        "UPDATE commands SET argv = '[\"a\", 1]' WHERE id LIKE '%000017'",
        "UPDATE commands SET argv = '[\"a\"' WHERE id LIKE '%000018'",
        "UPDATE commands SET argv = '[\"a\\u0000b\"]' WHERE id LIKE '%000019'",
        "UPDATE commands SET env = '[\"A\"]' WHERE id LIKE '%000020'",
        "UPDATE commands SET env = '[\"=A\"]' WHERE id LIKE '%000021'",
        "UPDATE commands SET uid = -1 WHERE id LIKE '%000022'",
        "UPDATE commands SET user = x'ff' WHERE id LIKE '%000023'",
        "DELETE FROM commands WHERE id LIKE '%000024'",
        "UPDATE containers SET name = 'a' || char(0) || 'b' WHERE seq = 25",
    };
    unsigned n = NM_ARRAY_SIZE(damages);

    open_store(w, "boot");
    for (unsigned i = 1; i <= n + 1; i++)
        put(w, i, 0);
    close_store(w);
    for (unsigned i = 0; i < n; i++)
        run_sql(w, damages[i]);
    open_store(w, "boot");
    assert_false(w->opened.was_damaged);
    load(w);
    assert_int_equal(w->n_bad, n);
    assert_int_equal(w->n_loaded, 1);
    assert_int_equal(w->loaded[0]->view.seq, n + 1);
}

static void test_not_utf8(void **state)
{
    struct world *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);

    open_store(w, "boot");
    free(c->command.argv[0]);
    c->command.argv[0] = strdup("\xff\xfe");
    assert_int_equal(nm_store_put_container(w->store, c), -EILSEQ);
    load(w);
    assert_int_equal(w->n_loaded + w->n_bad, 0);
}

/* ---- a full disk ---------------------------------------------------------------------------------------------- */

/* No file may grow beyond `bytes`: the writes fail as on a full disk, for this process only and without root. */
static void limit_files(rlim_t bytes)
{
    struct rlimit rl;

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &rl), 0);
    rl.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &rl), 0);
}

static void limit_files_to_log(const struct world *w)
{
    char log[128];
    struct stat st;

    (void)snprintf(log, sizeof log, "%s-wal", w->file);
    assert_int_equal(stat(log, &st), 0);
    limit_files((rlim_t)st.st_size);
}

static void test_full_disk(void **state)
{
    struct world *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);

    open_store(w, "boot");
    assert_int_equal(nm_store_put_container(w->store, c), 0);
    limit_files_to_log(w);
    c->view.state = NM_RUNNING;
    assert_int_equal(nm_store_put_container(w->store, c), -ENOSPC);
    c->view.state = NM_KILLING; /* the newest state is what counts */
    assert_int_equal(nm_store_put_container(w->store, c), -ENOSPC);
    put(w, 2, -ENOSPC);
    put(w, 3, -ENOSPC);
    put_decision(w, 1, c->id, -ENOSPC);
    assert_int_equal(nm_store_put_value(w->store, "k", "v"), -ENOSPC);
    assert_int_equal(nm_store_delete_container(w->store, "container_1763769112_000003"), -ENOSPC);
    assert_int_equal(nm_store_flush(w->store), -ENOSPC);
    limit_files(RLIM_INFINITY);
    assert_int_equal(nm_store_flush(w->store), 0);
    assert_int_equal(nm_store_flush(w->store), 0);
    close_store(w);
    open_store(w, "boot");
    load(w);
    assert_int_equal(w->n_loaded, 2);
    assert_same(w->loaded[0], c);
    assert_int_equal(w->loaded[1]->view.seq, 2);
    assert_int_equal(w->opened.last_seq, 3);
    load_decisions(w, c->id, 10);
    assert_int_equal(w->n_decisions, 1);
    assert_int_equal(nm_store_get_value(w->store, "k", (char[8]){0}, 8), 0);
}

/* The failure strikes inside a transaction, of which the first part had gone well. */
static void test_full_disk_in_transaction(void **state)
{
    struct world *w = *state;

    open_store(w, "boot");
    put(w, 1, 0);
    limit_files_to_log(w);
    (void)nm_store_begin(w->store);
    for (unsigned i = 2; i <= 20; i++) {
        _cleanup_(nm_container_freep) struct nm_container *c = make(i);

        (void)nm_store_put_container(w->store, c);
    }
    assert_int_equal(nm_store_commit(w->store), -ENOSPC);
    put(w, 21, -ENOSPC);
    limit_files(RLIM_INFINITY);
    assert_int_equal(nm_store_flush(w->store), 0);
    put(w, 22, 0);
    load(w);
    assert_int_equal(w->n_loaded, 22);
}

static void test_full_disk_at_start(void **state)
{
    struct world *w = *state;

    limit_files(0);
    open_store(w, "boot");
    assert_int_equal(w->opened.problem, -ENOSPC);
    assert_true(w->opened.epoch > 0);
    put(w, 1, -ENOSPC);
    put(w, 1, -ENOSPC);
    load(w);
    assert_int_equal(nm_store_flush(w->store), -ENOSPC);
    limit_files(RLIM_INFINITY);
    assert_int_equal(nm_store_flush(w->store), 0);
    put(w, 2, 0);
    load(w);
    assert_int_equal(w->n_loaded, 2);
    close_store(w);
    open_store(w, "boot");
    assert_int_equal(w->opened.problem, 0);
    assert_true(w->opened.same_boot);
    assert_int_equal(w->opened.last_seq, 2);
}

/* Thousands of decisions while nothing can be written take a bounded amount of memory, and no container's place. */
static void test_full_disk_for_long(void **state)
{
    struct world *w = *state;
    int64_t n = 0;
    sqlite3_stmt *stmt;
    sqlite3 *db;

    open_store(w, "boot");
    put(w, 1, 0);
    limit_files_to_log(w);
    put(w, 2, -ENOSPC);
    for (uint64_t i = 1; i <= 1500; i++)
        put_decision(w, i, "c", -ENOSPC);
    limit_files(RLIM_INFINITY);
    close_store(w); /* flushes */
    assert_int_equal(sqlite3_open(w->file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM decisions", -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    n = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    assert_int_equal(n, 1000);
    open_store(w, "boot");
    assert_int_equal(w->opened.last_decision, 1500);
    load(w);
    assert_int_equal(w->n_loaded, 2);
}

/* ---- cost ----------------------------------------------------------------------------------------------------- */

/* Generous against a busy machine: the point is that the cost is not one of a synced write (milliseconds). */
static void test_cost(void **state)
{
    struct world *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);
    uint64_t best = UINT64_MAX;

    open_store(w, "boot");
    for (unsigned i = 1; i <= 500; i++)
        put(w, i, 0);
    for (int round = 0; round < 20; round++) {
        uint64_t begin = nm_now_usec();

        for (int i = 0; i < 50; i++) {
            c->view.cpu_usage_usec = (uint64_t)i;
            assert_int_equal(nm_store_put_container(w->store, c), 0);
        }
        best = NM_MIN(best, (nm_now_usec() - begin) / 50);
    }
    print_message("put_container: %llu us\n", (unsigned long long)best);
    assert_true(best < 1000);
}

#define store_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_round_trip),
        store_test(test_update_and_delete),
        store_test(test_killed),
        store_test(test_boots),
        store_test(test_values),
        store_test(test_transactions),
        store_test(test_decisions),
        store_test(test_second_daemon),
        store_test(test_no_directory),
        store_test(test_garbage_header),
        store_test(test_garbage_pages),
        store_test(test_truncated),
        store_test(test_cut_mid_page),
        store_test(test_not_a_database),
        store_test(test_wrong_version),
        store_test(test_wrong_tables),
        store_test(test_foreign_database),
        store_test(test_directory_in_place),
        store_test(test_link_in_place),
        store_test(test_damaged_twice),
        store_test(test_garbage_log),
        store_test(test_restart),
        store_test(test_bad_rows),
        store_test(test_not_utf8),
        store_test(test_full_disk),
        store_test(test_full_disk_in_transaction),
        store_test(test_full_disk_at_start),
        store_test(test_full_disk_for_long),
        store_test(test_cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
