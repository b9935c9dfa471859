/* SPDX-License-Identifier: Apache-2.0 */

/* The journal when its files are damaged, belong to another program, or contain invalid rows. */

#include "tests/unit/store-fixture.h"

#include <errno.h>
#include <glob.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- damaged files ------------------------------------------------------------------- */

static void fill_and_close(struct fixture *w)
{
    open_store(w, "boot");
    for (unsigned i = 1; i <= 500; i++)
        put(w, i, 0);
    close_store(w);
}

static void open_damaged(struct fixture *w)
{
    struct stat st;

    open_store(w, "boot");
    assert_true(w->opened.was_damaged);
    assert_int_equal(lstat(w->opened.set_aside, &st), 0);
    load(w);
    assert_int_equal(w->opened.saved.n_containers, w->n_loaded + w->n_bad);
}

/* Checks that no container of the file can be used. */
static void check_set_aside(struct fixture *w)
{
    open_damaged(w);
    assert_true(w->opened.saved.incomplete);
    assert_int_equal(w->n_loaded, 0);
    put(w, 1, 0);
    close_store(w);
    open_store(w, "boot");
    assert_false(w->opened.was_damaged);
    load(w);
    assert_int_equal(w->n_loaded, 1);
}

static void overwrite(const struct fixture *w, off_t offset, size_t n, int byte)
{
    int fd = open(w->file, O_WRONLY | O_CLOEXEC);
    char *junk = malloc(n);

    memset(junk, byte, n);
    assert_int_equal(pwrite(fd, junk, n, offset), n);
    free(junk);
    (void)close(fd);
}

static void test_a_file_with_a_damaged_header_is_set_aside(void **state)
{
    struct fixture *w = *state;

    fill_and_close(w);
    overwrite(w, 0, 64, 0xa5);
    check_set_aside(w);
}

/* The root pages of all tables are on these pages. */
static void test_a_file_with_damaged_root_pages_is_set_aside(void **state)
{
    struct fixture *w = *state;

    fill_and_close(w);
    overwrite(w, 4096, 8 * 4096, 0xa5);
    check_set_aside(w);
}

static void test_a_truncated_file_is_reported(void **state)
{
    struct fixture *w = *state;
    struct stat st;

    fill_and_close(w);
    assert_int_equal(stat(w->file, &st), 0);
    assert_int_equal(truncate(w->file, st.st_size / 2 / 4096 * 4096), 0);
    open_damaged(w);
    assert_true(w->opened.saved.incomplete);
    assert_true(w->n_loaded < 500);
}

/* Returns the offset of the leaf page with this container in the table of containers. The container is recognized by
 * its state and by a missing command. Returns -1 if the row is between two leaf pages of the B-tree. */
static off_t leaf_of(const struct fixture *w, unsigned seq)
{
    int fd = open(w->file, O_RDONLY | O_CLOEXEC);
    char page[4096], id[NM_ID_SIZE];
    off_t offset = 0, found = -1;

    (void)snprintf(id, sizeof id, "container_1763769112_%06u", seq);
    while (found < 0 && pread(fd, page, sizeof page, offset) == (ssize_t)sizeof page) {
        if (page[0] == 0x0a && memmem(page, sizeof page, id, strlen(id)) &&
            memmem(page, sizeof page, "SCHEDULED", 9))
            found = offset;
        offset += (off_t)sizeof page;
    }
    (void)close(fd);
    return found;
}

/* Overwrites the leaf page of this container, or of the next container that is on a leaf page. Returns the number of
 * that container. */
static unsigned overwrite_leaf(const struct fixture *w, unsigned seq)
{
    off_t leaf;

    for (; (leaf = leaf_of(w, seq)) < 0; seq++)
        assert_true(seq < 500);
    overwrite(w, leaf, 4096, 0xa5);
    return seq;
}

static bool is_loaded(const struct fixture *w, uint64_t seq)
{
    for (unsigned i = 0; i < w->n_loaded; i++)
        if (w->loaded[i]->view.seq == seq)
            return true;
    return false;
}

/* Two pages are unreadable. The rows before, between and after these pages are recovered, and so are the decisions and
 * the values. */
static void test_rows_outside_of_damaged_pages_are_recovered(void **state)
{
    struct fixture *w = *state;
    unsigned first, second;
    uint64_t epoch;
    char text[8];

    open_store(w, "boot");
    epoch = w->opened.epoch;
    for (unsigned i = 1; i <= 20; i++)
        put_decision(w, i, "container_1763769112_000250", 0);
    assert_int_equal(nm_store_put_value(w->store, "k", "v"), 0);
    close_store(w);
    fill_and_close(w);
    first = overwrite_leaf(w, 100);
    second = overwrite_leaf(w, 400);
    open_damaged(w);
    assert_true(w->opened.same_boot);
    assert_true(w->opened.saved.incomplete);
    assert_int_equal(w->n_bad, 0);
    assert_true(w->n_loaded > 400 && w->n_loaded < 500);
    assert_true(is_loaded(w, 1) && is_loaded(w, 250) && is_loaded(w, 500));
    assert_false(is_loaded(w, first) || is_loaded(w, second));
    assert_int_equal(w->opened.saved.n_decisions, 20);
    assert_int_equal(w->opened.last_decision, 20);
    assert_int_equal(w->opened.last_seq, 500);
    assert_int_equal(nm_store_get_value(w->store, "k", text, sizeof text), 0);
    assert_true(w->opened.is_new); /* new containers get new ids, since lost rows may have used other ids */
    assert_true(w->opened.epoch >= epoch);
}

/* The boot id of the rows is unknown, so only containers that have ended are taken over. */
static void test_if_the_boot_id_is_lost_only_ended_containers_are_kept(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);

    fill_and_close(w);
    open_store(w, "boot");
    c->view.state = NM_COMPLETED;
    assert_int_equal(nm_store_put_container(w->store, c), 0);
    assert_int_equal(nm_store_delete_value(w->store, "store.boot_id"), 0);
    close_store(w);
    (void)overwrite_leaf(w, 400);
    open_damaged(w);
    assert_int_equal(w->n_loaded, 1);
    assert_int_equal(w->loaded[0]->view.state, NM_COMPLETED);
}

static void test_a_file_truncated_within_a_page_is_set_aside(void **state)
{
    struct fixture *w = *state;

    fill_and_close(w);
    assert_int_equal(truncate(w->file, 100), 0);
    check_set_aside(w);
}

static void test_a_file_that_is_not_a_database_is_replaced(void **state)
{
    struct fixture *w = *state;
    int fd = open(w->file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_int_equal(
        write(fd, "This is a note, not a database. It is long enough to be looked at.\n", 67), 67);
    (void)close(fd);
    check_set_aside(w);
}

static void test_a_journal_of_a_later_version_is_replaced(void **state)
{
    struct fixture *w = *state;

    fill_and_close(w);
    run_sql(w, "PRAGMA user_version = 4711");
    check_set_aside(w);
}

static void test_a_database_with_wrong_tables_is_replaced(void **state)
{
    struct fixture *w = *state;

    fill_and_close(w);
    run_sql(w, "ALTER TABLE containers DROP COLUMN message");
    check_set_aside(w);
}

static void test_a_database_of_another_program_is_replaced(void **state)
{
    struct fixture *w = *state;

    run_sql(w, "CREATE TABLE t (x)");
    check_set_aside(w);
}

static void test_a_directory_in_place_of_the_file_is_set_aside(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(mkdir(w->file, 0700), 0);
    check_set_aside(w);
}

static void test_a_symlink_in_place_of_the_file_is_not_followed(void **state)
{
    struct fixture *w = *state;
    char target[96];

    (void)snprintf(target, sizeof target, "%s/elsewhere", w->dir);
    assert_int_equal(symlink(target, w->file), 0);
    check_set_aside(w);
    assert_int_equal(access(target, F_OK), -1);
}

/* If the journal is found damaged twice within the same second, both damaged files are kept. */
static void test_two_files_damaged_within_a_second_are_both_kept(void **state)
{
    struct fixture *w = *state;
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

/* A log that was written partially, or that was partially overwritten, loses only its last transactions. */
static void test_a_damaged_log_loses_only_its_last_transactions(void **state)
{
    struct fixture *w = *state;
    char log[128];
    pid_t pid = fork();
    int status, fd;

    if (pid == 0) {
        open_store(w, "boot");
        put(w, 1, 0);
        _exit(0); /* the store isn't closed, so that the log isn't removed */
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

static off_t log_size(const struct fixture *w, char log[static 128])
{
    struct stat st;

    (void)snprintf(log, 128, "%s-wal", w->file);
    assert_int_equal(stat(log, &st), 0);
    return st.st_size;
}

static void flip(const char *file, off_t at)
{
    int fd = open(file, O_RDWR | O_CLOEXEC);
    char byte;

    if (pread(fd, &byte, 1, at) != 1)
        fail_msg("%s has no byte %lld", file, (long long)at);
    byte = (char)(byte ^ 0x10);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    (void)close(fd);
}

/* One flipped byte in SQLite's log makes SQLite ignore all later frames. The store detects a flipped byte at any
 * position: in the header, in the first frame, and in the last frame. */
static void test_a_flipped_byte_in_the_log_is_detected(void **state)
{
    struct fixture *w = *state;
    const int percent[] = {0, 1, 50, 99};
    char log[128], path[300];

    for (size_t i = 0; i < NM_ARRAY_SIZE(percent); i++) {
        off_t size;

        leave_log(w, 20);
        size = log_size(w, log);
        flip(log, percent[i] == 99 ? size - 50 : percent[i] == 0 ? 17 : 32 + 24 + (size - 4200) * percent[i] / 100);
        open_store(w, "boot");
        assert_true(w->opened.was_damaged && w->opened.was_rolled_back);
        assert_true(w->opened.log_frames < w->opened.log_promised);
        assert_true(w->opened.saved.incomplete);
        (void)snprintf(path, sizeof path, "%s-wal", w->opened.set_aside);
        assert_int_equal(access(path, F_OK), 0); /* the damaged file is kept for an examination */
        put(w, 30, 0);
        close_store(w);
        open_store(w, "boot"); /* the damage is reported only once */
        assert_false(w->opened.was_damaged || w->opened.was_rolled_back);
        load(w);
        assert_true(is_loaded(w, 30));
        close_store(w);
        assert_int_equal(unlink(w->file), 0);
    }
}

static void test_a_removed_log_is_detected(void **state)
{
    struct fixture *w = *state;
    char log[128];

    leave_log(w, 5);
    (void)log_size(w, log);
    assert_int_equal(unlink(log), 0);
    open_store(w, "boot");
    assert_true(w->opened.was_rolled_back);
    assert_int_equal(w->opened.log_frames, 0);
}

/* A log that remains after nmd was killed is not reported as damaged. This holds for a log of any length, after any
 * number of checkpoints, with a partial frame after the committed frames, of another boot, and with a missing or
 * invalid mark. */
static void test_a_log_left_by_a_killed_nmd_is_not_reported_as_damaged(void **state)
{
    struct fixture *w = *state;
    char log[128], mark[160];
    int fd;

    for (unsigned n = 1; n <= 500; n += 233) {
        leave_log(w, n);
        open_store(w, "boot");
        assert_false(w->opened.was_damaged);
        load(w);
        assert_true(w->n_loaded >= n);
        close_store(w);
    }
    leave_log(w, 3);
    (void)log_size(w, log);
    fd = open(log, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, log, 100), 100);
    (void)close(fd);
    open_store(w, "boot");
    assert_false(w->opened.was_damaged);
    close_store(w);
    (void)snprintf(mark, sizeof mark, "%s-mark", w->file);
    for (int i = 0; i < 3; i++) {
        leave_log(w, 3);
        flip(log, 32 + 24 + 100);
        if (i == 1)
            assert_int_equal(unlink(mark), 0);
        if (i == 2)
            flip(mark, 80);
        open_store(w, i == 0 ? "another boot" : "boot");
        assert_false(w->opened.was_rolled_back);
        close_store(w);
    }
}

/* When nmd has no more descriptors or inodes, the store doesn't report damage. The file stays in its place,
 * unchanged. */
static void test_a_lack_of_descriptors_is_not_reported_as_damage(void **state)
{
    struct fixture *w = *state;
    struct rlimit rl, few;
    int r;

    open_store(w, "boot");
    put(w, 1, 0);
    close_store(w);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &rl), 0);
    for (rlim_t n = 3; n < 8; n++) {
        few = (struct rlimit){n, rl.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        r = nm_store_open(w->dir, "boot", &w->store, &w->opened);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &rl), 0);
        assert_true(r == 0 || r == -EMFILE);
        if (r == 0) {
            assert_false(w->opened.was_damaged);
            close_store(w);
        }
    }
    open_store(w, "boot");
    assert_false(w->opened.was_damaged);
    load(w);
    assert_int_equal(w->n_loaded, 1);
}

/* An unreadable row is reported once. The row and its command are moved to other tables, so that another row with this
 * id can be written. */
static void test_an_unreadable_row_is_reported_once(void **state)
{
    struct fixture *w = *state;

    open_store(w, "boot");
    put(w, 1, 0);
    put(w, 2, 0);
    close_store(w);
    run_sql(w, "UPDATE commands SET argv = '[' WHERE id LIKE '%000001'");
    open_store(w, "boot");
    load(w);
    assert_int_equal(w->n_bad, 1);
    assert_int_equal(w->n_loaded, 1);
    load(w);
    assert_int_equal(w->n_bad, 0);
    put(w, 1, 0); /* for example with the data of the container's snapshot */
    close_store(w);
    assert_int_equal(query(w, "SELECT count(*) FROM bad_commands WHERE argv = '['"), 1);
    open_store(w, "boot");
    load(w);
    assert_int_equal(w->n_bad, 0);
    assert_int_equal(w->n_loaded, 2);
}

static void test_a_damaged_file_is_replaced_while_nmd_is_running(void **state)
{
    struct fixture *w = *state;
    uint64_t epoch;

    open_store(w, "boot");
    epoch = w->opened.epoch;
    put(w, 1, 0);
    put_decision(w, 7, "c", 0);
    assert_int_equal(nm_store_restart(w->store, &w->opened), 0);
    assert_true(w->opened.was_damaged);
    assert_true(w->opened.epoch >= epoch);
    put(w, 2, 0);
    close_store(w);
    open_store(w, "boot");
    load(w);
    assert_int_equal(w->n_loaded, 2);
    assert_int_equal(w->opened.last_decision, 7);
}

/* The file has been removed while the store has it open. The store still recovers its contents. */
static void test_the_contents_of_a_removed_file_are_recovered(void **state)
{
    struct fixture *w = *state;
    char log[128];

    open_store(w, "boot");
    put(w, 1, 0);
    put_decision(w, 7, "c", 0);
    (void)snprintf(log, sizeof log, "%s-wal", w->file);
    assert_int_equal(unlink(w->file), 0);
    assert_int_equal(unlink(log), 0);
    assert_int_equal(nm_store_flush(w->store), -EUCLEAN);
    assert_int_equal(nm_store_restart(w->store, &w->opened), 0);
    assert_false(w->opened.saved.incomplete);
    put(w, 2, 0);
    assert_int_equal(access(log, F_OK), 0);
    close_store(w);
    open_store(w, "boot");
    load(w);
    assert_int_equal(w->n_loaded, 2);
    assert_int_equal(w->opened.last_decision, 7);
}

static void test_unreadable_rows_are_moved_to_another_table(void **state)
{
    struct fixture *w = *state;
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

static void test_text_that_is_not_utf8_is_refused(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);

    open_store(w, "boot");
    free(c->command.argv);
    c->command.argv = nm_strv_pack((const char *[]){"\xff\xfe"}, 1);
    assert_int_equal(nm_store_put_container(w->store, c), -EILSEQ);
    load(w);
    assert_int_equal(w->n_loaded + w->n_bad, 0);
}

#define store_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_a_file_with_a_damaged_header_is_set_aside),
        store_test(test_a_file_with_damaged_root_pages_is_set_aside),
        store_test(test_a_truncated_file_is_reported),
        store_test(test_rows_outside_of_damaged_pages_are_recovered),
        store_test(test_if_the_boot_id_is_lost_only_ended_containers_are_kept),
        store_test(test_a_file_truncated_within_a_page_is_set_aside),
        store_test(test_a_file_that_is_not_a_database_is_replaced),
        store_test(test_a_journal_of_a_later_version_is_replaced),
        store_test(test_a_database_with_wrong_tables_is_replaced),
        store_test(test_a_database_of_another_program_is_replaced),
        store_test(test_a_directory_in_place_of_the_file_is_set_aside),
        store_test(test_a_symlink_in_place_of_the_file_is_not_followed),
        store_test(test_two_files_damaged_within_a_second_are_both_kept),
        store_test(test_a_damaged_log_loses_only_its_last_transactions),
        store_test(test_a_flipped_byte_in_the_log_is_detected),
        store_test(test_a_removed_log_is_detected),
        store_test(test_a_log_left_by_a_killed_nmd_is_not_reported_as_damaged),
        store_test(test_a_lack_of_descriptors_is_not_reported_as_damage),
        store_test(test_an_unreadable_row_is_reported_once),
        store_test(test_a_damaged_file_is_replaced_while_nmd_is_running),
        store_test(test_the_contents_of_a_removed_file_are_recovered),
        store_test(test_unreadable_rows_are_moved_to_another_table),
        store_test(test_text_that_is_not_utf8_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
