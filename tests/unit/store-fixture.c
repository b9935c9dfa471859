/* SPDX-License-Identifier: Apache-2.0 */

/* See store-fixture.h. */

#include "tests/unit/store-fixture.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/store/store-internal.h"
#include "tests/unit/remove-tree.h"

int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    strcpy(w->dir, "/tmp/nm-test-store-XXXXXX");
    if (!mkdtemp(w->dir))
        return -1;
    (void)snprintf(w->file, sizeof w->file, "%s/nmd.db", w->dir);
    *state = w;
    return 0;
}

static void unload(struct fixture *w)
{
    for (unsigned i = 0; i < w->n_loaded; i++)
        nm_container_free(w->loaded[i]);
    w->n_loaded = w->n_decisions = 0;
}

int tear_down(void **state)
{
    struct fixture *w = *state;

    unload(w);
    nm_store_free(w->store);
    (void)remove_tree(w->dir);
    free(w);
    return 0;
}

void open_store(struct fixture *w, const char *boot_id)
{
    assert_int_equal(nm_store_open(w->dir, boot_id, &w->store, &w->opened), 0);
}

void close_store(struct fixture *w)
{
    w->store = nm_store_free(w->store);
}

static void on_container(struct nm_container *c, void *userdata)
{
    struct fixture *w = userdata;

    assert_true(w->n_loaded < N_LOADED);
    w->loaded[w->n_loaded++] = c;
}

void load(struct fixture *w)
{
    unload(w);
    assert_int_equal(nm_store_load_containers(w->store, on_container, w, &w->n_bad), 0);
}

void on_decision(const struct nm_decision *d, void *userdata)
{
    struct fixture *w = userdata;

    assert_true(w->n_decisions < NM_ARRAY_SIZE(w->decisions));
    w->decisions[w->n_decisions++] = *d;
}

struct nm_container *make(unsigned seq)
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

/* Compares all members except pointers as bytes. Padding doesn't differ, because both structs come from calloc(). */
void assert_same(const struct nm_container *a, const struct nm_container *b)
{
    struct nm_container x, y;

    memcpy(&x, a, sizeof x); /* an assignment might not copy padding */
    memcpy(&y, b, sizeof y);
    x.view.owner = y.view.owner = NULL; /* belongs to the manager and isn't stored */
    memset(&x.command, 0, sizeof x.command);
    memset(&y.command, 0, sizeof y.command);
    memset(&x.blob, 0, sizeof x.blob);
    memset(&y.blob, 0, sizeof y.blob);
    x.log_dir = y.log_dir = NULL;
    assert_memory_equal(&x, &y, sizeof x);
    for (int i = 0; a->command.argv[i] || b->command.argv[i]; i++)
        assert_string_equal(a->command.argv[i], b->command.argv[i]);
    for (int i = 0; a->command.env[i] || b->command.env[i]; i++)
        assert_string_equal(a->command.env[i], b->command.env[i]);
    assert_string_equal(a->log_dir ?: "", b->log_dir ?: "");
    assert_int_equal(a->blob.bytes, b->blob.bytes);
    if (a->blob.bytes > 0)
        assert_memory_equal(a->blob.data, b->blob.data, a->blob.bytes);
    assert_int_equal(a->command.uid, b->command.uid);
    assert_int_equal(a->command.gid, b->command.gid);
    assert_int_equal(a->command.no_new_privs, b->command.no_new_privs);
    assert_string_equal(a->command.workdir, b->command.workdir);
    assert_string_equal(a->command.user, b->command.user);
}

void put(struct fixture *w, unsigned seq, int expected)
{
    _cleanup_(nm_container_freep) struct nm_container *c = make(seq);

    assert_int_equal(nm_store_put_container(w->store, c), expected);
}

/* Runs SQL on the closed file, as another program might. */
void run_sql(const struct fixture *w, const char *sql)
{
    char *message = NULL;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(w->file, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int64_t query(const struct fixture *w, const char *sql)
{
    int64_t v = -1;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(w->file, &db), SQLITE_OK);
    assert_int_equal(nm_store_query_int64(db, sql, &v), 0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return v;
}

void put_decision(struct fixture *w, uint64_t number, const char *id, int expected)
{
    struct nm_decision d = {.number = number, .kind = NM_DECISION_KILL, .n_candidates = 0};

    strcpy(d.container_id, id);
    assert_int_equal(nm_store_put_decision(w->store, &d), expected);
}

void load_decisions(struct fixture *w, const char *id, unsigned max)
{
    w->n_decisions = 0;
    assert_int_equal(nm_store_load_decisions(w->store, id, UINT64_MAX, max, on_decision, w), 0);
}

/* Leaves a journal as a killed nmd does, with `n` containers and decisions. */
void leave_log(struct fixture *w, unsigned n)
{
    static unsigned number; /* differs in each call, because unchanged rows aren't written */
    pid_t pid;
    int status;

    number += n;
    pid = fork();
    if (pid == 0) {
        open_store(w, "boot");
        for (unsigned i = 1; i <= n; i++)
            put(w, i, 0);
        for (unsigned i = 1; i <= n; i++)
            put_decision(w, number + i, "c", 0);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}
