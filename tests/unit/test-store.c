/* SPDX-License-Identifier: Apache-2.0 */

/* The journal with real files: rows are read as they were written, also after a SIGKILL and after a reboot. The test
 * also measures the cost of writes. */

#include "tests/unit/store-fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "agent/store/container-snapshot.h"
#include "agent/store/store-internal.h"
#include "util/clock.h"

static unsigned n_synced;

/* Counts calls of SQLite. */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
    n_synced++;
    return (int)syscall(SYS_fdatasync, fd);
}

/* Each column has a different value, so that a mix-up of columns is noticed. */
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
    c->view.kill_deadline_usec = n + 22;
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
    c->exit_cause = NM_REASON_MEMORY_OVER_BETA;
    c->exit_decision = n + 23;
    c->owner_code = -105;
    c->keep_result = true;
    c->view.cpu_is_share = true;
    assert_int_equal(nm_container_set_log_dir(c, "/var/log/owner/it"), 0);
    memset(c->message, 'm', sizeof c->message - 1);
    assert_int_equal(nm_container_set_blob(c, "\0\xff\n'", 4), 0);
    return c;
}

static void test_measurements_are_no_difference_of_rows(void **state)
{
    _cleanup_(nm_container_freep) struct nm_container *a = make_full(), *b = make_full();

    (void)state;
    assert_false(nm_store_container_differs(a, b));
    b->view.measured.memory_bytes++;
    b->view.cpu_usage_usec++;
    b->memory_peak_bytes++;
    assert_false(nm_store_container_differs(a, b));
    b->exit_code++;
    assert_true(nm_store_container_differs(a, b));
    b->exit_code--;
    b->message[0]++;
    assert_true(nm_store_container_differs(a, b));
    b->message[0]--;
    assert_int_equal(nm_container_set_log_dir(b, "/var/log/owner/other"), 0);
    assert_true(nm_store_container_differs(a, b));
}

static void test_rows_are_read_as_they_were_written(void **state)
{
    struct fixture *w = *state;
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

/* A journal of the first version lacks later columns. Its rows can be read, and so can rows that an nmd of the first
 * version writes after a downgrade. */
static void test_a_journal_of_the_first_version_is_read(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make_full();

    open_store(w, "boot");
    assert_int_equal(nm_store_put_container(w->store, c), 0);
    close_store(w);
    run_sql(w, "ALTER TABLE containers DROP COLUMN exit_cause; ALTER TABLE containers DROP COLUMN exit_decision;"
               "ALTER TABLE containers DROP COLUMN owner_code; ALTER TABLE containers DROP COLUMN keep_result;"
               "ALTER TABLE containers DROP COLUMN log_dir;"
               "ALTER TABLE containers DROP COLUMN cpu_is_share;"
               "DROP TABLE owner_blobs; CREATE TABLE bad_containers AS SELECT * FROM containers WHERE 0");
    c->exit_cause = NM_REASON_NONE;
    c->exit_decision = 0;
    c->owner_code = 0;
    c->keep_result = false;
    c->view.cpu_is_share = false;
    assert_int_equal(nm_container_set_log_dir(c, ""), 0);
    assert_int_equal(nm_container_set_blob(c, NULL, 0), 0);
    open_store(w, "boot");
    assert_false(w->opened.was_damaged);
    load(w);
    assert_int_equal(w->n_bad, 0);
    assert_int_equal(w->n_loaded, 1);
    assert_same(w->loaded[0], c);
    c->exit_cause = NM_REASON_SHED;
    assert_int_equal(nm_store_put_container(w->store, c), 0);
    close_store(w);
    run_sql(w, "UPDATE containers SET vcores_milli = -1"); /* an invalid row is moved to another table */
    open_store(w, "boot");
    load(w);
    assert_int_equal(w->n_bad, 1);
    close_store(w);
    assert_int_equal(query(w, "SELECT count(*) FROM bad_containers WHERE exit_cause = 'shed'"), 1);
}

static void test_a_blob_is_read_as_it_was_written(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);
    char *large = calloc(1, NM_BLOB_MAX);

    assert_non_null(large);
    large[NM_BLOB_MAX - 1] = 'x';
    assert_int_equal(nm_container_set_blob(c, large, NM_BLOB_MAX), 0);
    free(large);
    open_store(w, "boot");
    (void)nm_store_begin(w->store); /* a failure inside a transaction would otherwise store the blob as text */
    assert_int_equal(nm_store_put_container(w->store, c), 0);
    assert_int_equal(nm_store_commit(w->store), 0);
    load(w);
    assert_same(w->loaded[0], c);
    assert_int_equal(nm_container_set_blob(c, "other", 5), 0);
    assert_int_equal(nm_store_put_blob(w->store, c), 0);
    close_store(w);
    open_store(w, "boot");
    load(w);
    assert_same(w->loaded[0], c);
    assert_int_equal(nm_container_set_blob(c, NULL, 0), 0);
    assert_int_equal(nm_store_put_blob(w->store, c), 0);
    load(w);
    assert_same(w->loaded[0], c);
    assert_int_equal(nm_container_set_blob(c, "again", 5), 0);
    assert_int_equal(nm_store_put_container(w->store, c), 0); /* only the journal lacked the blob */
    load(w);
    assert_same(w->loaded[0], c);
    assert_int_equal(nm_store_delete_container(w->store, c->id), 0);
    close_store(w);
    assert_int_equal(query(w, "SELECT count(*) FROM owner_blobs"), 0);
}

/* If a sentence was cut within a character, only the incomplete character is dropped. */
static void test_a_sentence_cut_within_a_character_loses_only_this_character(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1), *again = NULL;
    char dir[128];
    bool same_boot;

    for (size_t i = 0; i < 75; i++)
        memcpy(c->message + 2 * i, "\xc3\xa9", 2);
    memcpy(c->message + 150, "\xc3", 2);
    snprintf(dir, sizeof dir, "%s/%s", w->dir, c->id);
    assert_int_equal(nm_container_snapshot_write(dir, "boot", c), 0);
    assert_int_equal(nm_container_snapshot_read(dir, "boot", &same_boot, &again), 0);
    assert_int_equal(strlen(again->message), 150);
    assert_memory_equal(again->message, c->message, 150);
}

static void test_rows_are_updated_and_deleted(void **state)
{
    struct fixture *w = *state;
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
    assert_int_equal(w->n_loaded, 3); /* rows are in the order of arrival */
    assert_int_equal(w->loaded[0]->view.seq, 1);
    assert_same(w->loaded[1], c);
    assert_int_equal(nm_store_delete_container(w->store, c->id), 0);
    assert_int_equal(nm_store_delete_container(w->store, "no-such"), 0);
    close_store(w);
    open_store(w, "boot");
    load(w);
    assert_int_equal(w->n_loaded, 2);
    assert_int_equal(w->loaded[1]->view.seq, 3);
    /* A number is never used again, even after its container has been deleted. */
    assert_int_equal(nm_store_delete_container(w->store, w->loaded[1]->id), 0);
    close_store(w);
    open_store(w, "boot");
    assert_int_equal(w->opened.last_seq, 3);
}

/* nmd is killed with SIGKILL while the store is open. All committed rows are found afterwards. */
static void test_a_kill_of_nmd_loses_no_committed_row(void **state)
{
    struct fixture *w = *state;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        open_store(w, "boot");
        for (unsigned i = 1; i <= 50; i++)
            put(w, i, 0);
        (void)nm_store_begin(w->store);
        put(w, 51, 0); /* this row was not committed */
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

static void test_the_store_recognizes_another_boot_of_the_host(void **state)
{
    struct fixture *w = *state;
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
    /* nmd is killed after it has handled the first container. */
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

/* After a crash of the host the journal counts as not closed properly until an nmd has started with it. An nmd that
 * fails to start doesn't change this. */
static void test_the_store_knows_whether_it_was_closed_properly(void **state)
{
    struct fixture *w = *state;

    leave_log(w, 1);
    for (int i = 0; i < 2; i++) {
        open_store(w, "another boot");
        assert_false(w->opened.was_closed);
        close_store(w);
    }
    open_store(w, "another boot");
    nm_store_mark_open(w->store);
    close_store(w);
    for (int i = 0; i < 2; i++) {
        open_store(w, "another boot");
        assert_true(w->opened.was_closed);
        close_store(w);
    }
}

static void test_values_are_read_as_they_were_written(void **state)
{
    struct fixture *w = *state;
    char buf[8], long_key[NM_STORE_KEY_SIZE + 1] = "";

    open_store(w, "boot");
    assert_int_equal(nm_store_get_value(w->store, "k", buf, sizeof buf), -ENOENT);
    assert_int_equal(nm_store_put_value(w->store, "k", "v'\"1"), 0);
    assert_int_equal(nm_store_get_value(w->store, "k", buf, sizeof buf), 0);
    assert_string_equal(buf, "v'\"1");
    assert_int_equal(nm_store_put_value(w->store, "k", "12345678"), 0);
    assert_int_equal(nm_store_get_value(w->store, "k", buf, sizeof buf), -E2BIG);
    memset(long_key, 'k', NM_STORE_KEY_SIZE);
    assert_int_equal(nm_store_put_value(w->store, long_key, "v"), -EINVAL);
}

static void test_a_transaction_is_written_completely_or_not_at_all(void **state)
{
    struct fixture *w = *state;

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

static void test_decisions_are_read_as_they_were_written(void **state)
{
    struct fixture *w = *state;

    open_store(w, "boot");
    for (uint64_t i = 1; i <= 10; i++)
        put_decision(w, i, i % 2 ? "odd" : "even", 0);
    put_decision(w, 4, "even", 0); /* the same decision again, now with its outcome */
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

static void test_a_second_process_can_not_open_the_store(void **state)
{
    struct fixture *w = *state;
    struct nm_store *other;
    struct nm_store_opened opened;

    open_store(w, "boot");
    put(w, 1, 0);
    assert_int_equal(nm_store_open(w->dir, "boot", &other, &opened), -EBUSY);
    put(w, 2, 0);
}

static void test_a_missing_directory_is_an_error(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(nm_store_open("/no/such/dir", "boot", &w->store, &w->opened), -ENOENT);
    assert_null(w->store);
}

/* ---- cost of writes ------------------------------------------------------------------ */

/* A write doesn't sync the file, since a sync takes milliseconds. Only checkpoints of the log sync the file. The test
 * prints the measured time but doesn't check it, since the machine may be busy. */
static void test_a_write_of_the_journal_does_not_sync_the_file(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);
    uint64_t best = UINT64_MAX;

    open_store(w, "boot");
    /* so that closing the store leaves a mark, which the next use of the store removes */
    nm_store_mark_open(w->store);
    close_store(w);
    open_store(w, "boot");
    n_synced = 0;
    nm_store_mark_open(w->store);
    assert_true(n_synced > 0); /* the mark was synced, and the test counts syncs */
    for (unsigned i = 1; i <= 500; i++)
        put(w, i, 0);
    n_synced = 0;
    for (int round = 0; round < 20; round++) {
        uint64_t begin = nm_now_usec();

        for (int i = 0; i < 50; i++) {
            c->view.cpu_usage_usec = (uint64_t)i;
            assert_int_equal(nm_store_put_container(w->store, c), 0);
        }
        best = NM_MIN(best, (nm_now_usec() - begin) / 50);
    }
    print_message("put_container: %llu us\n", (unsigned long long)best);
    assert_int_equal(n_synced, 0);
    nm_store_checkpoint(w->store);
    assert_true(n_synced > 0);
    n_synced = 0;
    nm_store_checkpoint(w->store); /* the first checkpoint has emptied the log, so this one syncs nothing */
    assert_int_equal(n_synced, 0);
}

static clock_t cost_of(struct fixture *w, unsigned first, unsigned n)
{
    clock_t begin = clock();
    char key[32];

    for (unsigned i = first; i < first + n; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        assert_int_equal(nm_store_put_value(w->store, key, "value"), 0);
    }
    return clock() - begin;
}

/* After a reboot the ends of all containers are written in one transaction. In a long transaction a write takes no more
 * time than in a short one. */
static void test_a_long_transaction_does_not_slow_writes(void **state)
{
    struct fixture *w = *state;
    clock_t first, last;

    open_store(w, "boot");
    assert_int_equal(nm_store_begin(w->store), 0);
    first = cost_of(w, 0, 2000);
    (void)cost_of(w, 2000, 36000);
    last = cost_of(w, 38000, 2000);
    assert_int_equal(nm_store_commit(w->store), 0);
    print_message("2000 writes: %ld us, after 38,000 other writes: %ld us\n", (long)first, (long)last);
    assert_true(last < 10 * first); /* the factor was 38 before this was fixed */
}

static int count_steps(void *userdata)
{
    ++*(unsigned *)userdata;
    return 0;
}

/* Reads the newest decision about container 1. Returns the number of steps of SQLite's virtual machine, in hundreds. */
static unsigned steps_to_newest(struct fixture *w)
{
    unsigned steps = 0;

    sqlite3_progress_handler(w->store->db, 100, count_steps, &steps);
    load_decisions(w, "container_1763769112_000001", 1);
    sqlite3_progress_handler(w->store->db, 0, NULL, NULL);
    assert_int_equal(w->n_decisions, 1);
    assert_int_equal(w->decisions[0].number, 1);
    return steps;
}

/* Recovery reads the newest decision about each container. With a long history this takes no more steps than with a
 * short one. */
static void test_a_long_history_does_not_slow_the_search_for_a_decision(void **state)
{
    struct fixture *w = *state;
    char id[NM_ID_SIZE];
    unsigned steps;

    open_store(w, "boot");
    (void)nm_store_begin(w->store);
    for (unsigned i = 1; i <= 5000; i++) {
        (void)snprintf(id, sizeof id, "container_1763769112_%06u", i);
        put_decision(w, i, id, 0);
    }
    assert_int_equal(nm_store_commit(w->store), 0);
    steps = steps_to_newest(w);
    print_message("steps to the oldest of 5,000 decisions: %u00\n", steps);
    assert_in_range(steps, 0, 5); /* a scan of all rows takes more than 5,000 steps */
}

#define store_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_measurements_are_no_difference_of_rows),
        store_test(test_rows_are_read_as_they_were_written),
        store_test(test_a_journal_of_the_first_version_is_read),
        store_test(test_a_blob_is_read_as_it_was_written),
        store_test(test_a_sentence_cut_within_a_character_loses_only_this_character),
        store_test(test_rows_are_updated_and_deleted),
        store_test(test_a_kill_of_nmd_loses_no_committed_row),
        store_test(test_the_store_recognizes_another_boot_of_the_host),
        store_test(test_the_store_knows_whether_it_was_closed_properly),
        store_test(test_values_are_read_as_they_were_written),
        store_test(test_a_transaction_is_written_completely_or_not_at_all),
        store_test(test_decisions_are_read_as_they_were_written),
        store_test(test_a_second_process_can_not_open_the_store),
        store_test(test_a_missing_directory_is_an_error),
        store_test(test_a_write_of_the_journal_does_not_sync_the_file),
        store_test(test_a_long_transaction_does_not_slow_writes),
        store_test(test_a_long_history_does_not_slow_the_search_for_a_decision),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
