/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The journal when memory or the disk fails once, at each possible place: SQLite uses the test's own memory functions
 * and system calls. After each failure, all writes that were reported as done are found, no row is incomplete, and a
 * lack of memory isn't taken for damage.
 */

#include "tests/unit/store-world.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/store/container-snapshot.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/failing-calls.h"
#include "tests/unit/remove-tree.h"

/* ---- replacements for SQLite and jansson -------------------------------------------------------------------- */

static sqlite3_mem_methods real_memory;

static void *sqlite_malloc(int size)
{
    return fail_here(FAIL_MEMORY) ? NULL : real_memory.xMalloc(size);
}

static void *sqlite_realloc(void *old, int size)
{
    return fail_here(FAIL_MEMORY) ? NULL : real_memory.xRealloc(old, size);
}

static void *json_memory(size_t size)
{
    return malloc(size); /* malloc() is wrapped in this test */
}

static int failing_open(const char *path, int flags, int mode)
{
    return call_fails("sqlite-open") ? -1 : open(path, flags, mode);
}

static ssize_t failing_read(int fd, void *data, size_t size, off_t at)
{
    return call_fails("sqlite-read") ? -1 : pread(fd, data, size, at);
}

static ssize_t failing_write(int fd, const void *data, size_t size, off_t at)
{
    return call_fails("sqlite-write") ? -1 : pwrite(fd, data, size, at);
}

static int failing_truncate(int fd, off_t size)
{
    return call_fails("sqlite-truncate") ? -1 : ftruncate(fd, size);
}

static int failing_stat(int fd, struct stat *st)
{
    return call_fails("sqlite-stat") ? -1 : fstat(fd, st);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    (void)fd;
    return call_fails("sqlite-sync") ? -1 : 0; /* a power failure isn't simulated */
}

/* ---- stories ------------------------------------------------------------------------------------------------ */

#define N_BEFORE 3u /* containers in the file before anything fails */

/* The reported results of one life of a store. */
struct told {
    int open;
    bool is_there; /* the new container is written, or is kept for later */
};

struct story {
    void (*prepare)(struct world *w);
    void (*live)(struct world *w, struct told *t); /* runs while something fails */
    bool damaged; /* earlier rows may be missing if the store reports that */
};

static struct nm_container *the_new, *the_old[N_BEFORE]; /* containers */

static void make_containers(void)
{
    for (unsigned i = 0; i < N_BEFORE; i++)
        the_old[i] = make(i + 1);
    the_new = make(N_BEFORE + 1);
    assert_int_equal(nm_container_set_blob(the_new, "blob", 4), 0);
    assert_int_equal(nm_container_set_log_dir(the_new, "/var/log/it"), 0);
}

static int drop_containers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_BEFORE; i++)
        the_old[i] = nm_container_free(the_old[i]);
    the_new = nm_container_free(the_new);
    return 0;
}

static void empty(struct world *w)
{
    assert_int_equal(remove_tree(w->dir), 0);
    assert_int_equal(mkdir(w->dir, 0700), 0);
}

static void fill(struct world *w)
{
    open_store(w, "boot");
    nm_store_take_into_use(w->store);
    for (unsigned i = 1; i <= N_BEFORE; i++)
        put(w, i, 0);
    put_decision(w, 1, "c", 0);
    assert_int_equal(nm_store_put_value(w->store, "k", "v"), 0);
    close_store(w);
}

static bool is_kept(int r)
{
    return r == 0 || r == -ENOSPC || r == -EIO || r == -EROFS || r == -EBUSY || r == -EMFILE || r == -EUCLEAN;
}

static void count_container(struct nm_container *c, void *userdata)
{
    ++*(unsigned *)userdata;
    nm_container_free(c);
}

static void count_decision(const struct nm_decision *d, void *userdata)
{
    assert_true(d->number > 0);
    ++*(unsigned *)userdata;
}

static void count_value(const char *key, const char *value, void *userdata)
{
    assert_true(*key && value);
    ++*(unsigned *)userdata;
}

/* Reading returns all rows or an error. */
static void read_all(struct world *w)
{
    unsigned n = 0, n_bad = 0, n_decisions = 0, n_values = 0;
    char text[16];
    int r = nm_store_load_containers(w->store, count_container, &n, &n_bad);

    assert_int_equal(n_bad, 0);
    assert_true(r < 0 || n == N_BEFORE || w->opened.saved.incomplete || w->opened.is_new || w->opened.problem < 0);
    r = nm_store_load_decisions(w->store, NULL, UINT64_MAX, 10, count_decision, &n_decisions);
    assert_true(n_decisions <= 1);
    r = nm_store_load_values(w->store, "k", count_value, &n_values);
    assert_true(n_values <= 1);
    r = nm_store_get_value(w->store, "k", text, sizeof text);
    assert_true(r < 0 || nm_streq(text, "v"));
}

static void write_in_ways(struct world *w, struct told *t)
{
    const struct nm_decision d = {.number = 2, .kind = NM_DECISION_KILL};

    t->is_there = is_kept(nm_store_put_container(w->store, the_new));
    (void)nm_store_put_decision(w->store, &d);
    (void)nm_store_trim_decisions(w->store, 1000);
    (void)nm_store_begin(w->store);
    (void)nm_store_put_value(w->store, "k", "v");
    (void)nm_store_delete_value(w->store, "other");
    (void)nm_store_commit(w->store);
    (void)nm_store_flush(w->store);
}

/* The whole life of a store: it is opened, read, written in several ways, and closed. */
static void live(struct world *w, struct told *t)
{
    t->open = nm_store_open(w->dir, "boot", &w->store, &w->opened);
    if (t->open < 0) {
        assert_null(w->store);
        return;
    }
    nm_store_take_into_use(w->store);
    read_all(w);
    write_in_ways(w, t);
    close_store(w);
}

/* The life of a store whose file is set aside in the middle. */
static void live_and_restart(struct world *w, struct told *t)
{
    t->open = nm_store_open(w->dir, "boot", &w->store, &w->opened);
    if (t->open < 0)
        return;
    nm_store_take_into_use(w->store);
    if (nm_store_restart(w->store, &w->opened) < 0)
        w->opened.saved.incomplete = true;
    for (unsigned i = 0; i < N_BEFORE; i++) /* writes all known containers, as the manager does */
        if (!is_kept(nm_store_put_container(w->store, the_old[i])))
            w->opened.saved.incomplete = true;
    write_in_ways(w, t);
    close_store(w);
}

/* Opens the file again without failures. */
static void look(struct world *w, const struct story *story, const struct told *t)
{
    bool may_lack = story->damaged && (t->open < 0 || w->opened.saved.incomplete);
    unsigned n_new = 0;

    open_store(w, "boot");
    assert_int_equal(w->opened.problem, 0);
    load(w);
    assert_true(w->n_bad == 0 || may_lack); /* a command may not have been saved */
    for (unsigned i = 0; i < w->n_loaded; i++)
        if (nm_streq(w->loaded[i]->id, the_new->id)) {
            assert_same(w->loaded[i], the_new);
            n_new++;
        }
    if (story->prepare && !may_lack)
        assert_int_equal(w->n_loaded - n_new, N_BEFORE);
    if (t->open == 0 && t->is_there)
        assert_int_equal(n_new, 1);
    close_store(w);
}

static void begin(struct world *w, const struct story *story, struct told *t)
{
    empty(w);
    if (story->prepare)
        story->prepare(w);
    *t = (struct told){0};
    w->store = NULL;
    w->opened = (struct nm_store_opened){0};
}

static void lose_a_table(struct world *w)
{
    fill(w);
    run_sql(w, "DROP TABLE decisions");
}

static void grow_older(struct world *w)
{
    fill(w);
    run_sql(w, "ALTER TABLE containers DROP COLUMN log_dir; DROP TABLE owner_blobs;"
               "CREATE TABLE bad_containers AS SELECT * FROM containers WHERE 0");
}

static const struct story stories[] = {
    {NULL, live, false},       /* a new file */
    {fill, live, false},       /* an existing file */
    {grow_older, live, false}, /* a file of an earlier version */
    {lose_a_table, live, true},
    {fill, live_and_restart, true},
};

/* ---- memory ------------------------------------------------------------------------------------------------- */

/* Returns the next allocation to fail. SQLite allocates some thousand times, so the steps become larger. */
static unsigned next(unsigned n)
{
    return n + 1 + n / 100;
}

static void run_without_memory(struct world *w, const struct story *story)
{
    struct told told;
    bool failed;

    for (unsigned n = 1;; n = next(n)) {
        begin(w, story, &told);
        fail_nth(FAIL_MEMORY, n);
        story->live(w, &told);
        failed = fail_stop();
        assert_true(told.open == 0 || told.open == -ENOMEM);
        assert_true(story->damaged || !w->opened.was_damaged);
        look(w, story, &told);
        if (!failed)
            return;
    }
}

static void test_no_memory(void **state)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(stories); i++)
        run_without_memory(*state, &stories[i]);
}

/* ---- the disk ----------------------------------------------------------------------------------------------- */

struct trouble {
    const char *call;
    int error;
};

static void run_with(struct world *w, const struct story *story, const struct trouble *trouble)
{
    struct told told;
    bool failed;

    for (unsigned n = 1;; n++) {
        begin(w, story, &told);
        fail_call(trouble->call, n, trouble->error);
        story->live(w, &told);
        failed = fail_call_stop();
        look(w, story, &told);
        if (!failed)
            return;
    }
}

static void test_disk(void **state)
{
    static const struct trouble troubles[] = {
        {"sqlite-open", EMFILE},  {"sqlite-open", EACCES},     {"sqlite-open", ENOSPC},  {"sqlite-read", EIO},
        {"sqlite-write", ENOSPC}, {"sqlite-write", EIO},       {"sqlite-write", EDQUOT}, {"sqlite-sync", EIO},
        {"sqlite-stat", EIO},     {"sqlite-truncate", ENOSPC}, {"pwrite", EIO},          {"pread", EIO},
        {"ftruncate", EIO},       {"fstat", EIO},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(stories); i++)
        for (size_t k = 0; k < NM_ARRAY_SIZE(troubles); k++)
            run_with(*state, &stories[i], &troubles[k]);
}

/* Each error has its own advice, since the wrong advice would mislead an administrator. */
static void test_each_trouble_has_its_name(void **state)
{
    static const int errors[] = {EIO, ENOSPC, EDQUOT, EFBIG};
    struct world *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(errors); i++) {
        const char *advice = nm_store_advice(-errors[i]);

        empty(w);
        open_store(w, "boot");
        nm_store_take_into_use(w->store);
        fail_call("sqlite-write", 1, errors[i]);
        assert_int_equal(nm_store_put_value(w->store, "k", "v"), -errors[i]);
        (void)fail_call_stop();
        assert_int_equal(nm_store_flush(w->store), 0); /* the value was kept in memory */
        assert_int_equal(nm_store_put_value(w->store, "k", "w"), 0);
        assert_non_null(advice);
        assert_int_equal(strstr(advice, "space") != NULL, errors[i] == ENOSPC || errors[i] == EDQUOT);
        close_store(w);
    }
}

/* ---- invalid rows ------------------------------------------------------------------------------------------- */

static void spoil_a_row(struct world *w)
{
    fill(w);
    run_sql(w, "UPDATE containers SET vcores_milli = -1 WHERE seq = 2");
}

/* After a failure the row is either moved away completely or still in place. */
static void test_bad_row(void **state)
{
    static const struct story story = {spoil_a_row, NULL, false};
    struct world *w = *state;
    struct told told;
    bool failed;

    for (unsigned n = 1;; n = next(n)) {
        unsigned n_good = 0, n_bad = 0;
        int r;

        begin(w, &story, &told);
        open_store(w, "boot");
        fail_nth(FAIL_MEMORY, n);
        r = nm_store_load_containers(w->store, count_container, &n_good, &n_bad);
        failed = fail_stop();
        assert_true(r == -ENOMEM || (r == 0 && n_good == N_BEFORE - 1 && n_bad == 1));
        close_store(w);
        open_store(w, "boot");
        load(w);
        assert_int_equal(w->n_loaded, N_BEFORE - 1);
        close_store(w);
        assert_int_equal(query(w, "SELECT count(*) FROM containers"), N_BEFORE - 1);
        assert_int_equal(query(w, "SELECT count(*) FROM bad_containers"), 1);
        assert_int_equal(query(w, "SELECT count(*) FROM bad_commands"), 1);
        if (!failed)
            return;
    }
}

/* ---- the copy ----------------------------------------------------------------------------------------------- */

/* The copy is the old one or the new one, and never a part. */
static void look_at_copy(const char *dir, int written, const char *new_name)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    bool same_boot;

    assert_int_equal(nm_container_snapshot_read(dir, "boot", &same_boot, &c), 0);
    assert_true(same_boot);
    assert_int_equal(c->blob.bytes, 4);
    assert_true(nm_streq(c->name, new_name) || (written < 0 && nm_streq(c->name, "first")));
}

static void read_copy(const char *dir, int error)
{
    struct nm_container *c = NULL;
    bool same_boot;
    int r = nm_container_snapshot_read(dir, "boot", &same_boot, &c);

    assert_true(r == 0 || ((r == error || r == -EBADMSG) && !c)); /* jansson doesn't distinguish the two errors */
    nm_container_free(c);
}

static void test_copy(void **state)
{
    static const struct trouble troubles[] = {{"write", ENOSPC}, {"fsync", EIO}, {"renameat", EIO},
                                              {"pread", EIO},    {"read", EIO},  {"fstat", EIO}};
    struct world *w = *state;
    struct nm_container *c = the_new;
    char dir[160];
    bool failed = true;
    int r;

    (void)snprintf(dir, sizeof dir, "%s/c/%s", w->dir, c->id);
    strcpy(c->name, "first");
    assert_int_equal(nm_container_snapshot_write(dir, "boot", c), 0);
    strcpy(c->name, "second");
    for (unsigned n = 1; failed; n++) {
        fail_nth(FAIL_MEMORY, n);
        r = nm_container_snapshot_write(dir, "boot", c);
        read_copy(dir, -ENOMEM);
        failed = fail_stop();
        assert_true(r == 0 || r == -ENOMEM || r == -EILSEQ);
        look_at_copy(dir, r, "second");
    }
    failed = true;
    for (unsigned n = 1; failed; n++) {
        fail_nth(FAIL_OPEN, n);
        r = nm_container_snapshot_write(dir, "boot", c);
        read_copy(dir, -EMFILE);
        failed = fail_stop();
        assert_true(r == 0 || r == -EMFILE);
        look_at_copy(dir, r, "second");
    }
    for (size_t i = 0; i < NM_ARRAY_SIZE(troubles); i++) {
        failed = true;
        for (unsigned n = 1; failed; n++) {
            fail_call(troubles[i].call, n, troubles[i].error);
            r = nm_container_snapshot_write(dir, "boot", c);
            read_copy(dir, -troubles[i].error);
            failed = fail_call_stop();
            assert_true(r == 0 || r == -troubles[i].error);
            look_at_copy(dir, r, "second");
        }
    }
}

static int set_up_sqlite(void **state)
{
    static const struct {
        const char *name;
        sqlite3_syscall_ptr call;
    } calls[] = {
        {"open", (sqlite3_syscall_ptr)failing_open},
        {"pread", (sqlite3_syscall_ptr)failing_read},
        {"pread64", (sqlite3_syscall_ptr)failing_read},
        {"pwrite", (sqlite3_syscall_ptr)failing_write},
        {"pwrite64", (sqlite3_syscall_ptr)failing_write},
        {"fstat", (sqlite3_syscall_ptr)failing_stat},
        {"ftruncate", (sqlite3_syscall_ptr)failing_truncate},
    };
    sqlite3_mem_methods memory;
    sqlite3_vfs *vfs;

    (void)state;
    json_set_alloc_funcs(json_memory, free);
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory) != SQLITE_OK)
        return -1;
    memory = real_memory;
    memory.xMalloc = sqlite_malloc;
    memory.xRealloc = sqlite_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &memory) != SQLITE_OK)
        return -1;
    vfs = sqlite3_vfs_find(NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(calls); i++)
        (void)vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call); /* only one of pread and pread64 exists */
    make_containers();
    return 0;
}

#define store_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_no_memory),
        store_test(test_disk),
        store_test(test_each_trouble_has_its_name),
        store_test(test_bad_row),
        store_test(test_copy),
    };

    return cmocka_run_group_tests(tests, set_up_sqlite, drop_containers);
}
