/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The journal when memory or the disk fails once, at each possible call. After each failure, all writes that were
 * reported as done are found, no row is incomplete, and a lack of memory isn't reported as damage.
 */

#include "tests/unit/sqlite-failures.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/remove-tree.h"

/* ---- what a store is used for ------------------------------------------------------------------------------- */

#define N_BEFORE 3u /* number of containers in the file before any call fails */

/* The results that a store reported while it was open. */
struct reported {
    int open;
    bool is_kept; /* the new container has been written, or is kept in memory for a later write */
};

struct story {
    void (*prepare)(struct fixture *w);
    void (*use_store)(struct fixture *w, struct reported *t); /* called while a call of the store fails */
    bool damaged; /* earlier rows may be missing only if the store has reported this */
};

static struct nm_container *new_container, *old_containers[N_BEFORE]; /* number of containers */

static int make_containers(void **state)
{
    (void)state;
    if (sqlite_failures_begin() < 0)
        return -1;
    for (unsigned i = 0; i < N_BEFORE; i++)
        old_containers[i] = make(i + 1);
    new_container = make(N_BEFORE + 1);
    assert_int_equal(nm_container_set_blob(new_container, "blob", 4), 0);
    assert_int_equal(nm_container_set_log_dir(new_container, "/var/log/it"), 0);
    return 0;
}

static int drop_containers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < N_BEFORE; i++)
        old_containers[i] = nm_container_free(old_containers[i]);
    new_container = nm_container_free(new_container);
    return 0;
}

static void empty(struct fixture *w)
{
    assert_int_equal(remove_tree(w->dir), 0);
    assert_int_equal(mkdir(w->dir, 0700), 0);
}

static void fill(struct fixture *w)
{
    open_store(w, "boot");
    nm_store_mark_open(w->store);
    for (unsigned i = 1; i <= N_BEFORE; i++)
        put(w, i, 0);
    put_decision(w, 1, "c", 0);
    assert_int_equal(nm_store_put_value(w->store, "k", "v"), 0);
    close_store(w);
}

/* Returns whether a write with this result has been done, or is kept in memory for a later write. */
static bool is_kept_in_memory_or_file(int r)
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

/* A read returns all rows or an error. */
static void read_all(struct fixture *w)
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

static void write_all_kinds(struct fixture *w, struct reported *t)
{
    const struct nm_decision d = {.number = 2, .kind = NM_DECISION_KILL};

    t->is_kept = is_kept_in_memory_or_file(nm_store_put_container(w->store, new_container));
    (void)nm_store_put_decision(w->store, &d);
    (void)nm_store_trim_decisions(w->store, 1000);
    (void)nm_store_begin(w->store);
    (void)nm_store_put_value(w->store, "k", "v");
    (void)nm_store_delete_value(w->store, "other");
    (void)nm_store_commit(w->store);
    (void)nm_store_flush(w->store);
}

/* A store is opened, read, written in several ways, and closed. */
static void use_store(struct fixture *w, struct reported *t)
{
    t->open = nm_store_open(w->dir, "boot", &w->store, &w->opened);
    if (t->open < 0) {
        assert_null(w->store);
        return;
    }
    nm_store_mark_open(w->store);
    read_all(w);
    write_all_kinds(w, t);
    close_store(w);
}

/* A store whose file is set aside as damaged while the store is open. */
static void use_and_restart(struct fixture *w, struct reported *t)
{
    t->open = nm_store_open(w->dir, "boot", &w->store, &w->opened);
    if (t->open < 0)
        return;
    nm_store_mark_open(w->store);
    if (nm_store_restart(w->store, &w->opened) < 0)
        w->opened.saved.incomplete = true;
    for (unsigned i = 0; i < N_BEFORE; i++) /* writes all known containers again, as the manager does */
        if (!is_kept_in_memory_or_file(nm_store_put_container(w->store, old_containers[i])))
            w->opened.saved.incomplete = true;
    write_all_kinds(w, t);
    close_store(w);
}

/* Opens the file again while no call fails. */
static void check_after(struct fixture *w, const struct story *story, const struct reported *t)
{
    bool may_lack = story->damaged && (t->open < 0 || w->opened.saved.incomplete);
    unsigned n_new = 0;

    open_store(w, "boot");
    assert_int_equal(w->opened.problem, 0);
    load(w);
    assert_true(w->n_bad == 0 || may_lack); /* a command may not have been saved */
    for (unsigned i = 0; i < w->n_loaded; i++)
        if (nm_streq(w->loaded[i]->id, new_container->id)) {
            assert_same(w->loaded[i], new_container);
            n_new++;
        }
    if (story->prepare && !may_lack)
        assert_int_equal(w->n_loaded - n_new, N_BEFORE);
    if (t->open == 0 && t->is_kept)
        assert_int_equal(n_new, 1);
    close_store(w);
}

static void copy_file(int from_dir_fd, int to_dir_fd, const char *name)
{
    _cleanup_close_ int from = openat(from_dir_fd, name, O_RDONLY | O_CLOEXEC);
    _cleanup_close_ int to = openat(to_dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char data[16384];
    ssize_t n;

    assert_true(from >= 0 && to >= 0);
    while ((n = read(from, data, sizeof data)) > 0)
        assert_int_equal(write(to, data, (size_t)n), n);
    assert_int_equal(n, 0);
}

static void copy_files(const char *from, const char *to)
{
    _cleanup_closedir_ DIR *d = opendir(from);
    _cleanup_close_ int to_fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dirent *e;

    assert_true(d && to_fd >= 0);
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            copy_file(dirfd(d), to_fd, e->d_name);
}

/* Prepares the files of a story once, and copies them for each later failure, because writing them takes longer. */
static void prepare(struct fixture *w, const struct story *story)
{
    static void (*prepared_by)(struct fixture *w);
    char copy[sizeof w->dir + sizeof ".copy"];

    (void)snprintf(copy, sizeof copy, "%s.copy", w->dir);
    if (prepared_by == story->prepare && access(copy, F_OK) == 0) {
        copy_files(copy, w->dir);
        return;
    }
    story->prepare(w);
    (void)remove_tree(copy);
    assert_int_equal(mkdir(copy, 0700), 0);
    copy_files(w->dir, copy);
    prepared_by = story->prepare;
}

static int tear_down_copy(void **state)
{
    struct fixture *w = *state;
    char copy[sizeof w->dir + sizeof ".copy"];

    (void)snprintf(copy, sizeof copy, "%s.copy", w->dir);
    (void)remove_tree(copy);
    return tear_down(state);
}

static void begin(struct fixture *w, const struct story *story, struct reported *t)
{
    empty(w);
    if (story->prepare)
        prepare(w, story);
    *t = (struct reported){0};
    w->store = NULL;
    w->opened = (struct nm_store_opened){0};
}

static void lose_a_table(struct fixture *w)
{
    fill(w);
    run_sql(w, "DROP TABLE decisions");
}

static void grow_older(struct fixture *w)
{
    fill(w);
    run_sql(w, "ALTER TABLE containers DROP COLUMN log_dir; DROP TABLE owner_blobs;"
               "CREATE TABLE bad_containers AS SELECT * FROM containers WHERE 0");
}

static const struct story stories[] = {
    {NULL, use_store, false},  /* a new file */
    {fill, use_store, false},  /* a file that exists already */
    {grow_older, use_store, false}, /* a file of an earlier version */
    {lose_a_table, use_store, true},
    {fill, use_and_restart, true},
};

/* ---- memory ------------------------------------------------------------------------------------------------- */

/* Returns the number of the next allocation that fails. SQLite makes some thousand allocations, so the steps become
 * larger. */
static unsigned next(unsigned n)
{
    return n + 1 + n / 100;
}

static void run_without_memory(struct fixture *w, const struct story *story)
{
    struct reported reported;
    bool failed;

    for (unsigned n = 1;; n = next(n)) {
        begin(w, story, &reported);
        fail_nth(FAIL_MEMORY, n);
        story->use_store(w, &reported);
        failed = fail_stop();
        assert_true(reported.open == 0 || reported.open == -ENOMEM);
        assert_true(story->damaged || !w->opened.was_damaged);
        check_after(w, story, &reported);
        if (!failed)
            return;
    }
}

static void test_no_write_is_lost_if_an_allocation_fails(void **state)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(stories); i++)
        run_without_memory(*state, &stories[i]);
}

/* ---- the disk ----------------------------------------------------------------------------------------------- */

struct trouble {
    const char *call;
    int error;
};

static void run_with(struct fixture *w, const struct story *story, const struct trouble *trouble)
{
    struct reported reported;
    bool failed;

    for (unsigned n = 1;; n++) {
        begin(w, story, &reported);
        fail_call(trouble->call, n, trouble->error);
        story->use_store(w, &reported);
        failed = fail_call_stop();
        check_after(w, story, &reported);
        if (!failed)
            return;
    }
}

static void test_no_write_is_lost_on_a_failing_disk(void **state)
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

/* Each error message has its own advice, since wrong advice would mislead an administrator. */
static void test_the_advice_mentions_disk_space_only_if_space_is_missing(void **state)
{
    static const struct {
        int error;
        bool names_space;
    } cases[] = {{EIO, false}, {ENOSPC, true}, {EDQUOT, true}, {EFBIG, false}};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        const char *advice = nm_store_error_advice(-cases[i].error);

        assert_non_null(advice);
        assert_int_equal(strstr(advice, "space") != NULL, cases[i].names_space);
    }
}

static void test_a_write_that_fails_once_is_kept_in_memory(void **state)
{
    static const int errors[] = {EIO, ENOSPC, EDQUOT, EFBIG};
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(errors); i++) {
        empty(w);
        open_store(w, "boot");
        nm_store_mark_open(w->store);

        fail_call("sqlite-write", 1, errors[i]);
        assert_int_equal(nm_store_put_value(w->store, "k", "v"), -errors[i]);
        (void)fail_call_stop();

        assert_int_equal(nm_store_flush(w->store), 0);
        assert_int_equal(nm_store_put_value(w->store, "k", "w"), 0);
        close_store(w);
    }
}

/* ---- invalid rows ------------------------------------------------------------------------------------------- */

static void damage_a_row(struct fixture *w)
{
    fill(w);
    run_sql(w, "UPDATE containers SET vcores_milli = -1 WHERE seq = 2");
}

/* The row is moved from the table containers to bad_containers, and its command is moved to bad_commands. */
static void assert_bad_row_is_moved(struct fixture *w)
{
    assert_int_equal(w->n_loaded, N_BEFORE - 1);
    assert_int_equal(query(w, "SELECT count(*) FROM containers"), N_BEFORE - 1);
    assert_int_equal(query(w, "SELECT count(*) FROM bad_containers"), 1);
    assert_int_equal(query(w, "SELECT count(*) FROM bad_commands"), 1);
}

/* After a failure the row either has been moved completely or is still in its table. */
static void test_an_unreadable_row_is_moved_completely_or_not_at_all(void **state)
{
    static const struct story story = {damage_a_row, NULL, false};
    struct fixture *w = *state;
    struct reported reported;
    bool failed = true;

    for (unsigned n = 1; failed; n = next(n)) {
        unsigned n_good = 0, n_bad = 0;
        int r;

        begin(w, &story, &reported);
        open_store(w, "boot");

        fail_nth(FAIL_MEMORY, n);
        r = nm_store_load_containers(w->store, count_container, &n_good, &n_bad);
        failed = fail_stop();

        assert_true(r == -ENOMEM || (r == 0 && n_good == N_BEFORE - 1 && n_bad == 1));
        close_store(w);
        open_store(w, "boot");
        load(w);
        close_store(w);
        assert_bad_row_is_moved(w);
    }
}

#define store_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down_copy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_no_write_is_lost_if_an_allocation_fails),
        store_test(test_no_write_is_lost_on_a_failing_disk),
        cmocka_unit_test(test_the_advice_mentions_disk_space_only_if_space_is_missing),
        store_test(test_a_write_that_fails_once_is_kept_in_memory),
        store_test(test_an_unreadable_row_is_moved_completely_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, make_containers, drop_containers);
}
