/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The work of the journal for one container or one request does not depend on the number of rows. The same calls are
 * made with a small and with a large journal, and each SQL statement must execute the same number of SQLite's
 * instructions in both. A plan that names an index may still read a whole table (a range of all numbers, with a further
 * condition on each row), so the instructions are counted. The plans are also compared, because a scan that ends early
 * by chance has no more instructions.
 */

#include "tests/unit/store-fixture.h"

#include <inttypes.h>
#include <sqlite3.h>

#include "agent/store/store-internal.h"

#define N_STATEMENTS 64
#define ONE "container_1763769112_000007" /* the container of the calls, see make() */

enum size { SMALL, LARGE, N_SIZES };
static const unsigned n_rows[N_SIZES] = {50, 500};

static struct {
    struct {
        char *sql;
        int64_t steps[N_SIZES]; /* the most instructions of one execution */
    } all[N_STATEMENTS];
    unsigned n;
    enum size size;
    bool is_recording;
} seen;

static void record(const char *sql, int steps)
{
    unsigned i = 0;

    while (i < seen.n && strcmp(seen.all[i].sql, sql) != 0)
        i++;
    assert_true(i < N_STATEMENTS);
    if (i == seen.n)
        seen.all[seen.n++].sql = strdup(sql);
    seen.all[i].steps[seen.size] = NM_MAX(seen.all[i].steps[seen.size], (int64_t)steps);
}

/* SQLite calls this function when a statement has ended. Pending decisions are merged in a database in memory
 * (store-decision.c). It has few rows, and its cost is not recorded. */
static int on_statement(unsigned event, void *db, void *stmt, void *nsec)
{
    int steps = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 1);

    (void)event, (void)nsec;
    if (seen.is_recording && *sqlite3_db_filename(db, "main"))
        record(sqlite3_sql(stmt), steps);
    return 0;
}

static int on_open(sqlite3 *db, char **message, const struct sqlite3_api_routines *api)
{
    (void)message, (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_PROFILE, on_statement, db);
}

static int begin(void **state)
{
    memset(&seen, 0, sizeof seen);
    return set_up(state);
}

static int end(void **state)
{
    seen.is_recording = false;
    for (unsigned i = 0; i < seen.n; i++)
        free(seen.all[i].sql);
    return tear_down(state);
}

/* Replaces SQLite's function. SQLite parses the statement again in it. */
static unsigned n_expanded;

char *sqlite3_expanded_sql(sqlite3_stmt *stmt)
{
    n_expanded++;
    return sqlite3_mprintf("%s", sqlite3_sql(stmt));
}

/* ---- the journal, and the calls --------------------------------------------------------------- */

static void put_blob(struct fixture *w, unsigned seq)
{
    _cleanup_(nm_container_freep) struct nm_container *c = make(seq);

    assert_int_equal(nm_container_set_blob(c, "blob", 4), 0);
    assert_int_equal(nm_store_put_container(w->store, c), 0);
    assert_int_equal(nm_store_put_blob(w->store, c), 0);
}

/* Makes a journal with n rows in each table. A fixed number of them belongs to the container of the calls. */
static void fill(struct fixture *w, unsigned n)
{
    char text[NM_ID_SIZE];

    open_store(w, "boot");
    (void)nm_store_begin(w->store);
    for (unsigned i = 1; i <= n; i++) {
        put_blob(w, i);
        (void)snprintf(text, sizeof text, "container_1763769112_%06u", 1000 + i);
        put_decision(w, i, i == 10 || i == 20 || i == 30 ? ONE : text, 0);
        (void)snprintf(text, sizeof text, "other.%06u", i);
        assert_int_equal(nm_store_put_value(w->store, text, "value"), 0);
    }
    assert_int_equal(nm_store_put_value(w->store, "app.1", "value"), 0);
    assert_int_equal(nm_store_put_value(w->store, "app.2", "value"), 0);
    assert_int_equal(nm_store_commit(w->store), 0);
}

static void count_value(const char *key, const char *value, void *userdata)
{
    assert_true(key && value);
    ++*(unsigned *)userdata;
}

static void write_containers(struct fixture *w, unsigned n)
{
    _cleanup_(nm_container_freep) struct nm_container *c = make(7);

    put(w, 7, 0);
    assert_int_equal(nm_store_put_command(w->store, c), 0);
    assert_int_equal(nm_store_put_blob(w->store, c), 0); /* removes the blob */
    put_blob(w, 7);
    put_blob(w, n + 1);
    assert_int_equal(nm_store_delete_container(w->store, ONE), 0);
}

static void read_and_write_values(struct fixture *w)
{
    char text[16];
    unsigned n = 0;

    assert_int_equal(nm_store_load_values(w->store, "app.", count_value, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(nm_store_put_value(w->store, "other.000003", "x"), 0);
    assert_int_equal(nm_store_get_value(w->store, "other.000003", text, sizeof text), 0);
    assert_int_equal(nm_store_delete_value(w->store, "other.000003"), 0);
}

static void read_and_write_decisions(struct fixture *w, unsigned n)
{
    load_decisions(w, ONE, 1);
    assert_int_equal(w->n_decisions, 1);
    load_decisions(w, ONE, 8);
    assert_int_equal(w->n_decisions, 3);
    load_decisions(w, "container_of_no_decision", 1);
    assert_int_equal(w->n_decisions, 0);
    load_decisions(w, NULL, 8);
    assert_int_equal(w->n_decisions, 8);
    w->n_decisions = 0;
    assert_int_equal(nm_store_load_decisions(w->store, NULL, 40, 8, on_decision, w), 0);
    assert_int_equal(w->n_decisions, 8);
    put_decision(w, 20, ONE, 0); /* its outcome */
    put_decision(w, n + 1, ONE, 0);
    assert_int_equal(nm_store_trim_decisions(w->store, n), 0); /* removes one */
}

/* Makes all calls that nmd makes for a container or a request. */
static void make_calls(struct fixture *w, unsigned n)
{
    seen.is_recording = true;
    read_and_write_decisions(w, n);
    read_and_write_values(w);
    write_containers(w, n);
    seen.is_recording = false;
}

static void measure(struct fixture *w)
{
    for (seen.size = SMALL; seen.size < N_SIZES; seen.size++) {
        fill(w, n_rows[seen.size]);
        make_calls(w, n_rows[seen.size]);
        close_store(w);
        assert_int_equal(unlink(w->file), 0);
    }
}

/* ---- the tests -------------------------------------------------------------------------------- */

/* Prints SQLite's plan of a statement, and returns whether the plan reads a whole table. The result of a subquery is in
 * parentheses. */
static bool scans(sqlite3 *db, const char *sql)
{
    char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
    bool is_scan = false;
    sqlite3_stmt *stmt;

    assert_int_equal(sqlite3_prepare_v2(db, explain, -1, &stmt, NULL), SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *step = (const char *)sqlite3_column_text(stmt, 3);

        if (strncmp(step, "SCAN ", 5) != 0 || step[5] == '(')
            continue;
        print_message("%s: %s\n", sql, step);
        is_scan = true;
    }
    (void)sqlite3_finalize(stmt);
    sqlite3_free(explain);
    return is_scan;
}

static bool grows(unsigned i)
{
    const int64_t *steps = seen.all[i].steps;

    if (steps[LARGE] == steps[SMALL])
        return false;
    print_message("%s: %" PRIi64 " instructions with %u rows, %" PRIi64 " with %u rows\n", seen.all[i].sql,
                  steps[SMALL], n_rows[SMALL], steps[LARGE], n_rows[LARGE]);
    return true;
}

static void test_the_cost_of_a_call_does_not_depend_on_the_number_of_rows(void **state)
{
    unsigned n_bad = 0;

    measure(*state);
    assert_true(seen.n >= 15);
    for (unsigned i = 0; i < seen.n; i++)
        n_bad += grows(i);
    assert_int_equal(n_bad, 0);
}

static void test_no_statement_scans_a_table(void **state)
{
    struct fixture *w = *state;
    unsigned n_bad = 0;

    measure(w);
    fill(w, n_rows[SMALL]);
    for (unsigned i = 0; i < seen.n; i++)
        n_bad += scans(w->store->db, seen.all[i].sql);
    for (int i = 0; i < NM_STMT_COUNT; i++)
        n_bad += scans(w->store->db, sqlite3_sql(w->store->stmt[i]));
    assert_int_equal(n_bad, 0);
}

/* To find and to move a row that cannot be read, the journal reads no other row. Only the load reads all rows. */
static void test_bad_rows_are_moved_without_a_scan(void **state)
{
    struct fixture *w = *state;
    unsigned n_bad = 0;

    fill(w, n_rows[SMALL]);
    close_store(w);
    run_sql(w, "UPDATE containers SET vcores_milli = -1 WHERE id = '" ONE "'");
    open_store(w, "boot");
    seen.is_recording = true;
    load(w);
    seen.is_recording = false;
    assert_int_equal(w->n_bad, 1);
    for (unsigned i = 0; i < seen.n; i++)
        if (strncmp(seen.all[i].sql, "DELETE ", 7) == 0 || strncmp(seen.all[i].sql, "INSERT ", 7) == 0)
            n_bad += scans(w->store->db, seen.all[i].sql);
    assert_int_equal(n_bad, 0);
}

/* Returns whether the checks of this test find the fault of a query by container. */
static bool is_detected(struct fixture *w, const char *sql)
{
    sqlite3_stmt *stmt;

    for (seen.size = SMALL; seen.size < N_SIZES; seen.size++) {
        fill(w, n_rows[seen.size]);
        assert_int_equal(sqlite3_prepare_v2(w->store->db, sql, -1, &stmt, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_bind_text(stmt, 1, ONE, -1, SQLITE_STATIC), SQLITE_OK);
        seen.is_recording = true;
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        (void)sqlite3_finalize(stmt);
        seen.is_recording = false;
        close_store(w);
        assert_int_equal(unlink(w->file), 0);
    }
    return grows(seen.n - 1);
}

/* The copies of writes, which a transaction keeps until its commit, have no SQL. */
static void test_a_write_parses_no_sql_again(void **state)
{
    struct fixture *w = *state;

    fill(w, n_rows[SMALL]);
    write_containers(w, n_rows[SMALL]);
    read_and_write_values(w);
    assert_int_equal(n_expanded, 0);
    close_store(w);
}

static void test_a_query_that_reads_the_whole_history_is_detected(void **state)
{
    assert_true(is_detected(*state, "SELECT max(number) FROM decisions WHERE (?1 IS NULL OR container_id = ?1) AND "
                                    "number < 100000"));
    assert_false(is_detected(*state, "SELECT max(number) FROM decisions WHERE container_id = ?1 AND number < 100000"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_cost_of_a_call_does_not_depend_on_the_number_of_rows, begin, end),
        cmocka_unit_test_setup_teardown(test_no_statement_scans_a_table, begin, end),
        cmocka_unit_test_setup_teardown(test_bad_rows_are_moved_without_a_scan, begin, end),
        cmocka_unit_test_setup_teardown(test_a_write_parses_no_sql_again, begin, end),
        cmocka_unit_test_setup_teardown(test_a_query_that_reads_the_whole_history_is_detected, begin, end),
    };

    if (sqlite3_auto_extension((void (*)(void))on_open) != SQLITE_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
