/* SPDX-License-Identifier: Apache-2.0 */

/* The state of application masters that a restarted nmd restores, also after nmd was killed while writing the state. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "remove-tree.h"
#include "util/fault.h"
#include "util/fileio.h"
#include "yarn-tokens.h"
#include "yarn/id-messages.h"
#include "yarn/proxy/proxy-store.h"

struct fixture {
    char dir[64];
    struct nm_yarn_proxy_store store;
    /* the application master that was loaded last */
    unsigned loaded;
    struct nm_yarn_stored_master seen;
    char submitter[32], token[200], asks[200], placed[2][20], hosts[2][20], lending[20], wish[20];
};

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    (void)strcpy(w->dir, "/tmp/nmd-test-proxy-store.XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    assert_int_equal(nm_yarn_proxy_store_open(w->dir, w->dir, &w->store), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    nm_yarn_proxy_store_done(&w->store);
    remove_tree(w->dir);
    free(w);
    return 0;
}

static const struct nm_yarn_attempt_id attempt = {{TOKENS_RM, 7}, 2};
#define MASTER_NAME "appattempt_1410901177871_0007_000002"

/* Makes an application master with pending asks. Its pointers refer to constants. */
static struct nm_yarn_stored_master make_master(void)
{
    static const struct nm_yarn_stored_node nodes[] = {{"a", 1}, {"b", 65535}};
    static struct nm_bytes placed[2];
    struct nm_yarn_stored_master m = {.attempt = attempt, .submitter = "alice@corp", .response_id = 41};

    placed[0] = nm_bytes_of("one");
    placed[1] = (struct nm_bytes){0};
    m.token = (struct nm_token){nm_bytes_of("identifier"), nm_bytes_of("password"), nm_bytes_of(NM_TOKEN_KIND_AMRM),
                                nm_bytes_of("")};
    m.used_key = tokens_key(-3, 3);
    m.given_key = tokens_key(INT32_MAX, 4);
    m.registered = nm_bytes_of("answer");
    m.asks = (struct nm_bytes){(const uint8_t *)"a\0sk", 4};
    m.has_number = true;
    m.last_number = -8;
    m.placed = placed;
    m.n_placed = 2;
    m.known_nodes = nodes;
    m.n_known_nodes = 2;
    m.lending = nm_bytes_of("books");
    m.wish = "overflow:60";
    return m;
}

static void copy(char *to, size_t size, struct nm_bytes b)
{
    assert_true(b.size < size);
    (void)memcpy(to, b.size > 0 ? b.data : (const uint8_t *)"", b.size);
    to[b.size] = '\0';
}

static void on_master(const struct nm_yarn_stored_master *m, void *userdata)
{
    struct fixture *w = userdata;

    w->loaded++;
    w->seen = *m;
    (void)snprintf(w->submitter, sizeof w->submitter, "%s", m->submitter);
    copy(w->token, sizeof w->token, m->token.password);
    copy(w->asks, sizeof w->asks, m->asks);
    copy(w->lending, sizeof w->lending, m->lending);
    (void)snprintf(w->wish, sizeof w->wish, "%s", m->wish ?: "none");
    assert_true(m->n_placed <= 2 && m->n_known_nodes <= 2);
    for (size_t i = 0; i < m->n_placed; i++)
        copy(w->placed[i], sizeof w->placed[i], m->placed[i]);
    for (size_t i = 0; i < m->n_known_nodes; i++)
        (void)snprintf(w->hosts[i], sizeof w->hosts[i], "%s:%d", m->known_nodes[i].host, m->known_nodes[i].port);
}

static char reported[400];

static void on_report(int level, const char *sentence)
{
    assert_int_equal(level, LOG_WARNING);
    (void)snprintf(reported, sizeof reported, "%s", sentence);
}

/* Loads the state as the next nmd does. Returns the number of application masters. */
static unsigned load(struct fixture *w)
{
    struct nm_yarn_proxy_store next;

    w->loaded = 0;
    reported[0] = '\0';
    assert_int_equal(nm_yarn_proxy_store_open(w->dir, w->dir, &next), 0);
    next.report_cb = on_report;
    assert_int_equal(nm_yarn_proxy_store_load_masters(&next, on_master, w), 0);
    nm_yarn_proxy_store_done(&next);
    return w->loaded;
}

static void test_an_application_master_is_read_as_it_was_saved(void **state)
{
    struct nm_yarn_stored_master m = make_master();
    struct fixture *w = *state;
    char path[160];
    struct stat st;

    assert_int_equal(load(w), 0);
    assert_int_equal(nm_yarn_proxy_store_master(&w->store, &m), 0);
    assert_int_equal(load(w), 1);
    assert_true(nm_yarn_same_attempt(&w->seen.attempt, &attempt));
    assert_string_equal(w->submitter, "alice@corp");
    assert_string_equal(w->token, "password");
    assert_int_equal(w->seen.token.kind.size, strlen(NM_TOKEN_KIND_AMRM));
    assert_memory_equal(&w->seen.used_key, &m.used_key, sizeof m.used_key);
    assert_memory_equal(&w->seen.given_key, &m.given_key, sizeof m.given_key);
    assert_int_equal(w->seen.registered.size, 6);
    assert_memory_equal(w->asks, "a\0sk", 5);
    assert_true(w->seen.has_number);
    assert_int_equal(w->seen.last_number, -8);
    assert_int_equal(w->seen.response_id, 41);
    assert_int_equal(w->seen.n_placed, 2);
    assert_string_equal(w->placed[0], "one");
    assert_string_equal(w->placed[1], "");
    assert_int_equal(w->seen.n_known_nodes, 2);
    assert_string_equal(w->hosts[1], "b:65535");
    assert_string_equal(w->lending, "books");
    assert_string_equal(w->wish, "overflow:60");

    (void)snprintf(path, sizeof path, "%s/masters/" MASTER_NAME, w->dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    (void)snprintf(path, sizeof path, "%s/masters", w->dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

static void test_a_damaged_application_master_is_removed_and_reported(void **state)
{
    const struct nm_yarn_stored_master m = make_master();
    struct fixture *w = *state;
    char path[160];

    assert_int_equal(nm_yarn_proxy_store_master(&w->store, &m), 0);
    assert_int_equal(load(w), 1);
    assert_string_equal(reported, "");
    (void)snprintf(path, sizeof path, "%s/masters/" MASTER_NAME, w->dir);
    assert_int_equal(truncate(path, 20), 0);
    assert_int_equal(load(w), 0);
    assert_non_null(strstr(reported, "The state of the application master " MASTER_NAME " is damaged"));
    assert_int_equal(access(path, F_OK), -1);
}

/* An application master that has been launched and has not called yet is saved. A second attempt is added, and both are
 * removed. */
static void test_application_masters_are_saved_and_removed(void **state)
{
    struct nm_yarn_stored_master m = {.attempt = attempt, .submitter = "ada"};
    struct fixture *w = *state;

    assert_int_equal(nm_yarn_proxy_store_master(&w->store, &m), 0);
    assert_int_equal(load(w), 1);
    assert_false(w->seen.has_number);
    assert_int_equal(w->seen.used_key.size, 0);
    assert_int_equal(w->seen.given_key.size, 0);
    assert_int_equal(w->seen.registered.size, 0);
    assert_int_equal(w->seen.n_placed, 0);
    m.attempt.number = 3;
    assert_int_equal(nm_yarn_proxy_store_master(&w->store, &m), 0);
    assert_int_equal(load(w), 2);
    nm_yarn_proxy_store_drop(&w->store, &attempt);
    nm_yarn_proxy_store_drop(&w->store, &attempt);
    assert_int_equal(load(w), 1);
    assert_int_equal(w->seen.attempt.number, 3);
    nm_yarn_proxy_store_drop(&w->store, &m.attempt);
    assert_int_equal(load(w), 0);
}

static void test_state_that_is_too_large_is_not_saved(void **state)
{
    _cleanup_free_ uint8_t *much = calloc(1, NM_YARN_MASTER_FILE_MAX_BYTES);
    struct nm_yarn_stored_master m = make_master();
    struct fixture *w = *state;

    assert_int_equal(nm_yarn_proxy_store_master(&w->store, &m), 0);
    m.asks = (struct nm_bytes){much, NM_YARN_MASTER_FILE_MAX_BYTES};
    assert_int_equal(nm_yarn_proxy_store_master(&w->store, &m), -EFBIG);
    assert_int_equal(load(w), 1); /* the state that was saved before */
    assert_memory_equal(w->asks, "a\0sk", 5);
}

/* A file whose contents don't match its name is not used, and is removed. */
static void test_a_file_with_a_wrong_name_is_removed(void **state)
{
    static const char *const names[] = {"appattempt_1_0001_000001", "something",
                                        "appattempt_1410901177871_0007_000003"};
    struct nm_yarn_stored_master m = make_master();
    struct fixture *w = *state;
    char good[4096];
    size_t size;

    assert_int_equal(nm_yarn_proxy_store_master(&w->store, &m), 0);
    assert_int_equal(nm_read_file_at(w->store.masters_fd, MASTER_NAME, good, sizeof good, &size), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++) {
        assert_int_equal(nm_write_bytes_atomic_at(w->store.masters_fd, names[i], good, i == 0 ? 5 : size, 0600), 0);
        assert_int_equal(load(w), 1);
        assert_int_equal(faccessat(w->store.masters_fd, names[i], F_OK, 0), -1);
    }
    for (size_t n = 0; n < size; n++) { /* the file may be cut at any byte */
        assert_int_equal(nm_write_bytes_atomic_at(w->store.masters_fd, MASTER_NAME, good, n, 0600), 0);
        assert_true(load(w) <= 1);
    }
    m.submitter = "../root";
    assert_int_equal(nm_yarn_proxy_store_master(&w->store, &m), 0);
    assert_int_equal(load(w), 0);
}

/* ---- keys --------------------------------------------------------------------------------- */

static void test_keys_are_read_as_they_were_saved(void **state)
{
    struct nm_yarn_local_keys k = {.every_usec = 5, .delay_usec = 2}, read = {.every_usec = 9, .delay_usec = 3};
    struct fixture *w = *state;
    struct stat st;

    assert_int_equal(nm_yarn_proxy_store_load_keys(&w->store, &read), 0);
    assert_int_equal(read.current.size, 0);
    k.current = tokens_key(INT32_MAX, 1);
    k.rolled_usec = 77;
    assert_int_equal(nm_yarn_proxy_store_keys(&w->store, &k), 0);
    assert_int_equal(nm_yarn_proxy_store_load_keys(&w->store, &read), 0);
    assert_int_equal(read.current.id, INT32_MAX);
    assert_int_equal(read.next.size, 0);
    k.next = tokens_key(0, 9);
    assert_int_equal(nm_yarn_proxy_store_keys(&w->store, &k), 0);
    assert_int_equal(nm_yarn_proxy_store_load_keys(&w->store, &read), 0);
    assert_memory_equal(&read.next, &k.next, sizeof k.next);
    assert_memory_equal(&read.current, &k.current, sizeof k.current);
    assert_int_equal(read.rolled_usec, 77);
    assert_int_equal(read.every_usec, 9); /* the configured interval applies after the restart */
    assert_int_equal(fstatat(w->store.dir_fd, "master-keys", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);

    assert_int_equal(nm_write_file_atomic_at(w->store.dir_fd, "master-keys", "\x0a\x7f", 0600), 0);
    k = read;
    assert_int_equal(nm_yarn_proxy_store_load_keys(&w->store, &read), 0);
    assert_memory_equal(&read, &k, sizeof k);
}

/* ---- crash of nmd ------------------------------------------------------------------------- */

#ifdef NM_FAULT_INJECTION
/* Runs `operation` in a child process that is killed at this step. */
static void die_at(struct fixture *w, const char *step, void (*operation)(struct fixture *w))
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setenv("NMD_FAULT", step, 1);
        operation(w);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void write_next(struct fixture *w)
{
    struct nm_yarn_stored_master m = make_master();

    m.last_number = -9;
    m.response_id = 42;
    m.n_placed = 1;
    (void)nm_yarn_proxy_store_master(&w->store, &m);
}

static void write_keys(struct fixture *w)
{
    struct nm_yarn_local_keys k = {.current = tokens_key(4, 4), .next = tokens_key(5, 5), .rolled_usec = 8};

    (void)nm_yarn_proxy_store_keys(&w->store, &k);
}

static void drop(struct fixture *w)
{
    nm_yarn_proxy_store_drop(&w->store, &attempt);
}

/* At whatever step nmd is killed, the saved numbers, asks and containers belong to the same point in time. */
static void test_after_a_crash_at_each_step_the_saved_state_is_consistent(void **state)
{
    struct nm_yarn_local_keys keys = {.current = tokens_key(4, 4), .rolled_usec = 7};
    struct nm_yarn_stored_master m = make_master();
    struct fixture *w = *state;

    assert_int_equal(nm_yarn_proxy_store_master(&w->store, &m), 0);
    die_at(w, "before-master-kept", write_next);
    assert_int_equal(load(w), 1);
    assert_int_equal(w->seen.last_number, -8);
    assert_int_equal(w->seen.response_id, 41);
    assert_int_equal(w->seen.n_placed, 2);
    die_at(w, "after-master-kept", write_next);
    assert_int_equal(load(w), 1);
    assert_int_equal(w->seen.last_number, -9);
    assert_int_equal(w->seen.response_id, 42);
    assert_int_equal(w->seen.n_placed, 1);

    assert_int_equal(nm_yarn_proxy_store_keys(&w->store, &keys), 0);
    die_at(w, "before-master-keys", write_keys);
    assert_int_equal(nm_yarn_proxy_store_load_keys(&w->store, &keys), 0);
    assert_int_equal(keys.next.size, 0);
    die_at(w, "after-master-keys", write_keys);
    assert_int_equal(nm_yarn_proxy_store_load_keys(&w->store, &keys), 0);
    assert_int_equal(keys.next.id, 5);

    die_at(w, "before-master-dropped", drop);
    assert_int_equal(load(w), 1);
    die_at(w, "after-master-dropped", drop);
    assert_int_equal(load(w), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_application_master_is_read_as_it_was_saved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_damaged_application_master_is_removed_and_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_application_masters_are_saved_and_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_state_that_is_too_large_is_not_saved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_with_a_wrong_name_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys_are_read_as_they_were_saved, set_up, tear_down),
#ifdef NM_FAULT_INJECTION
        cmocka_unit_test_setup_teardown(test_after_a_crash_at_each_step_the_saved_state_is_consistent,
                                        set_up, tear_down),
#endif
    };

    return cmocka_run_group_tests_name("yarn-proxy-store", tests, NULL, NULL);
}
