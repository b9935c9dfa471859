/* SPDX-License-Identifier: Apache-2.0 */

/* The journal when it can't be written, on a full disk or without memory. */

#include "tests/unit/store-fixture.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/unit/limit-files.h"

static void limit_files_to_log(const struct fixture *w)
{
    char log[128];
    struct stat st;

    (void)snprintf(log, sizeof log, "%s-wal", w->file);
    assert_int_equal(stat(log, &st), 0);
    limit_files((rlim_t)st.st_size);
}

static void test_rows_are_kept_in_memory_while_the_disk_is_full(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);

    open_store(w, "boot");
    assert_int_equal(nm_store_put_container(w->store, c), 0);
    limit_files_to_log(w);
    c->view.state = NM_RUNNING;
    assert_int_equal(nm_store_put_container(w->store, c), -EFBIG);
    c->view.state = NM_KILLING; /* the backlog keeps only the newest state of the row */
    assert_int_equal(nm_store_put_container(w->store, c), -EFBIG);
    put(w, 2, -EFBIG);
    put(w, 3, -EFBIG);
    put_decision(w, 1, c->id, -EFBIG);
    assert_int_equal(nm_store_put_value(w->store, "k", "v"), -EFBIG);
    assert_int_equal(nm_store_delete_container(w->store, "container_1763769112_000003"), -EFBIG);
    assert_int_equal(nm_store_flush(w->store), -EFBIG);
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

/* A write fails inside a transaction after the first write of the transaction has succeeded. */
static void test_a_failed_transaction_is_kept_in_memory(void **state)
{
    struct fixture *w = *state;

    open_store(w, "boot");
    put(w, 1, 0);
    limit_files_to_log(w);
    (void)nm_store_begin(w->store);
    for (unsigned i = 2; i <= 20; i++) {
        _cleanup_(nm_container_freep) struct nm_container *c = make(i);

        (void)nm_store_put_container(w->store, c);
    }
    assert_int_equal(nm_store_commit(w->store), -EFBIG);
    put(w, 21, -EFBIG);
    limit_files(RLIM_INFINITY);
    assert_int_equal(nm_store_flush(w->store), 0);
    put(w, 22, 0);
    load(w);
    assert_int_equal(w->n_loaded, 22);
}

static void test_a_store_opens_on_a_full_disk(void **state)
{
    struct fixture *w = *state;

    limit_files(0);
    open_store(w, "boot");
    assert_int_equal(w->opened.problem, -EFBIG);
    assert_true(w->opened.epoch > 0);
    put(w, 1, -EFBIG);
    put(w, 1, -EFBIG);
    load(w);
    assert_int_equal(nm_store_flush(w->store), -EFBIG);
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

/* The database can't be written: it left WAL mode, and to enter WAL mode again needs a write. It can't be read either,
 * since the name of its log is a dangling symlink. Before this nmd exits without having started, the disk has free
 * space again. The next nmd finds all rows unchanged. */
static void test_a_failed_start_on_a_full_disk_loses_no_row(void **state)
{
    struct fixture *w = *state;
    char log[128];

    open_store(w, "boot");
    for (unsigned i = 1; i <= 3; i++)
        put(w, i, 0);
    close_store(w);
    run_sql(w, "PRAGMA journal_mode = DELETE");
    (void)snprintf(log, sizeof log, "%s-wal", w->file);
    assert_int_equal(symlink("nowhere", log), 0);
    limit_files(0);
    open_store(w, "boot");
    assert_int_equal(w->opened.problem, -EFBIG);
    load(w);
    assert_int_equal(w->n_loaded, 0);
    limit_files(RLIM_INFINITY);
    assert_int_equal(unlink(log), 0);
    close_store(w);
    open_store(w, "boot");
    assert_false(w->opened.was_damaged);
    load(w);
    assert_int_equal(w->n_loaded, 3);
}

/* Replaces functions of libc that SQLite calls. */
#define REPLACES_LIBC __attribute__((visibility("default")))

static unsigned n_syncs;

REPLACES_LIBC int fdatasync(int fd)
{
    n_syncs++;
    return (int)syscall(SYS_fdatasync, fd);
}

REPLACES_LIBC int fsync(int fd)
{
    n_syncs++;
    return (int)syscall(SYS_fsync, fd);
}

/* The mark that the file is in use is synced before any container starts, immediately or when the disk has free space.
 * No other write waits for a sync. */
static void test_the_mark_that_the_journal_is_in_use_is_synced(void **state)
{
    struct fixture *w = *state;
    unsigned before;

    open_store(w, "boot");
    nm_store_mark_open(w->store);
    close_store(w);
    open_store(w, "boot");
    assert_true(w->opened.was_closed);
    put(w, 1, 0); /* SQLite always syncs the first write of a log */
    before = n_syncs;
    nm_store_mark_open(w->store);
    assert_true(n_syncs > before);
    close_store(w);
    open_store(w, "boot");
    assert_true(w->opened.was_closed);
    put(w, 2, 0);
    limit_files_to_log(w);
    nm_store_mark_open(w->store);
    limit_files(RLIM_INFINITY);
    before = n_syncs;
    assert_int_equal(nm_store_flush(w->store), 0);
    assert_true(n_syncs > before);
    before = n_syncs;
    put(w, 3, 0);
    assert_int_equal(n_syncs, before);
}

/* Replaces a function of libc that the store calls. */
static bool no_memory;

void *reallocarray(void *old, size_t n, size_t size)
{
    if (!no_memory)
        return realloc(old, n * size);
    errno = ENOMEM;
    return NULL;
}

static void begin_with(struct fixture *w, unsigned first, unsigned last)
{
    (void)nm_store_begin(w->store);
    for (unsigned i = first; i <= last; i++) {
        _cleanup_(nm_container_freep) struct nm_container *c = make(i);

        (void)nm_store_put_container(w->store, c);
    }
}

/* Rows that the store reports as kept in memory are not lost, and need no further allocation if the backlog is empty.
 * All other rows are reported as lost. */
static void test_rows_kept_in_memory_need_no_further_allocation(void **state)
{
    struct fixture *w = *state;

    open_store(w, "boot");
    put(w, 1, 0);
    limit_files_to_log(w);
    begin_with(w, 2, 11);
    no_memory = true;
    assert_int_equal(nm_store_commit(w->store), -EFBIG);
    no_memory = false;
    begin_with(w, 12, 41);
    no_memory = true;
    assert_int_equal(nm_store_commit(w->store), -ENOMEM);
    no_memory = false;
    begin_with(w, 42, 42);
    assert_int_equal(nm_store_commit(w->store), -EFBIG);
    limit_files(RLIM_INFINITY);
    assert_int_equal(nm_store_flush(w->store), 0);
    load(w);
    assert_int_equal(w->n_loaded, 12);
    assert_int_equal(w->loaded[10]->view.seq, 11);
    assert_int_equal(w->loaded[11]->view.seq, 42);
}

/* The backlog keeps the newest state of each row, both within one transaction and in several successive
 * transactions. */
static void test_the_backlog_keeps_the_newest_state_of_each_row(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);

    open_store(w, "boot");
    put(w, 2, 0);
    limit_files_to_log(w);
    for (int round = 0; round < 3; round++) {
        begin_with(w, 3, 3);
        (void)nm_store_delete_container(w->store, "container_1763769112_000003");
        for (uint64_t usage = 1; usage <= 3; usage++) {
            c->view.cpu_usage_usec = 10 * (uint64_t)round + usage;
            (void)nm_store_put_container(w->store, c);
        }
        for (uint64_t i = 1; i <= 1100; i++) {
            struct nm_decision d = {.number = i, .kind = NM_DECISION_KILL};

            (void)nm_store_put_decision(w->store, &d);
        }
        assert_int_equal(nm_store_commit(w->store), -EFBIG);
    }
    c->view.state = NM_KILLING;
    assert_int_equal(nm_store_put_container(w->store, c), -EFBIG);
    limit_files(RLIM_INFINITY);
    assert_int_equal(nm_store_flush(w->store), 0);
    load(w);
    assert_int_equal(w->n_loaded, 2);
    assert_same(w->loaded[0], c);
    load_decisions(w, NULL, 2);
    assert_int_equal(w->decisions[1].number, 1100);
    close_store(w);
    assert_int_equal(query(w, "SELECT count(*) FROM decisions"), 1000);
    assert_int_equal(query(w, "SELECT min(number) FROM decisions"), 101);
}

/* On a full file system SQLite gets ENOSPC. The other tests use a limit on the size of files, which gives another
 * error. */
static void test_rows_are_kept_in_memory_on_a_file_system_that_is_really_full(void **state)
{
    struct fixture *w = *state;
    char path[128];
    unsigned n = 0;
    int r = 0, fd;

    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0)
        skip();
    assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    assert_int_equal(mount("none", w->dir, "tmpfs", 0, "size=512k"), 0);
    (void)snprintf(path, sizeof path, "%s/filler", w->dir);
    open_store(w, "boot");
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, path, sizeof path) > 0)
        ;
    (void)close(fd);
    while (r == 0 && n < 500) {
        _cleanup_(nm_container_freep) struct nm_container *c = make(++n);

        r = nm_store_put_container(w->store, c);
    }
    assert_int_equal(r, -ENOSPC);
    put(w, n + 1, -ENOSPC);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(nm_store_flush(w->store), 0);
    close_store(w);
    open_store(w, "boot");
    load(w);
    assert_int_equal(w->n_loaded, n + 1);
    close_store(w);
    assert_int_equal(umount2(w->dir, MNT_DETACH), 0);
}

/* Thousands of decisions that can't be written need a limited amount of memory, and don't displace rows of
 * containers. */
static void test_a_long_backlog_needs_a_limited_amount_of_memory(void **state)
{
    struct fixture *w = *state;

    open_store(w, "boot");
    put(w, 1, 0);
    limit_files_to_log(w);
    put(w, 2, -EFBIG);
    for (uint64_t i = 1; i <= 1500; i++)
        put_decision(w, i, "c", -EFBIG);
    limit_files(RLIM_INFINITY);
    close_store(w); /* the store writes the backlog */
    assert_int_equal(query(w, "SELECT count(*) FROM decisions"), 1000);
    open_store(w, "boot");
    assert_int_equal(w->opened.last_decision, 1500);
    load(w);
    assert_int_equal(w->n_loaded, 2);
}

/* Compares the numbers of the decisions with a text such as "1 2! 3!". A "!" marks a decision that is not on disk
 * yet. */
static void assert_shown(struct fixture *w, const char *id, unsigned max, const char *expected)
{
    char text[256] = "";
    size_t n = 0;

    load_decisions(w, id, max);
    for (unsigned i = 0; i < w->n_decisions; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%u%s", i ? " " : "", (unsigned)w->decisions[i].number,
                              w->decisions[i].is_unsaved ? "!" : "");
    assert_string_equal(text, expected);
}

/* Decisions that have not been written yet are shown in their newest state and in order. They are marked until they
 * have been written. */
static void test_decisions_not_on_disk_yet_are_marked(void **state)
{
    const struct nm_decision known = {
        .number = 2, .kind = NM_DECISION_PAUSE, .container_id = "c_b", .outcome = NM_OUTCOME_DONE};
    struct fixture *w = *state;

    open_store(w, "boot");
    put_decision(w, 1, "c_a", 0);
    put_decision(w, 2, "c_b", 0);
    assert_shown(w, NULL, 10, "1 2");
    limit_files_to_log(w);
    assert_int_equal(nm_store_put_decision(w->store, &known), -EFBIG);
    (void)nm_store_begin(w->store);
    put_decision(w, 3, "c_a", -EFBIG);
    assert_int_equal(nm_store_commit(w->store), -EFBIG);
    assert_shown(w, NULL, 10, "1 2! 3!");
    assert_int_equal(w->decisions[1].outcome, NM_OUTCOME_DONE);
    assert_shown(w, NULL, 2, "2! 3!");
    assert_shown(w, "c_a", 10, "1 3!");
    w->n_decisions = 0;
    assert_int_equal(nm_store_load_decisions(w->store, NULL, 3, 1, on_decision, w), 0);
    assert_int_equal(w->n_decisions, 1);
    assert_int_equal(w->decisions[0].number, 2);
    limit_files(RLIM_INFINITY);
    assert_int_equal(nm_store_flush(w->store), 0);
    assert_shown(w, NULL, 10, "1 2 3");
    assert_int_equal(w->decisions[1].outcome, NM_OUTCOME_DONE);
}

#define store_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_rows_are_kept_in_memory_while_the_disk_is_full),
        store_test(test_a_failed_transaction_is_kept_in_memory),
        store_test(test_rows_kept_in_memory_need_no_further_allocation),
        store_test(test_the_backlog_keeps_the_newest_state_of_each_row),
        store_test(test_a_store_opens_on_a_full_disk),
        store_test(test_a_failed_start_on_a_full_disk_loses_no_row),
        store_test(test_the_mark_that_the_journal_is_in_use_is_synced),
        store_test(test_rows_are_kept_in_memory_on_a_file_system_that_is_really_full),
        store_test(test_a_long_backlog_needs_a_limited_amount_of_memory),
        store_test(test_decisions_not_on_disk_yet_are_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
